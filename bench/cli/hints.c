/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of advice: by status, by vendor, by platform, by driver. This is
 * the only file of clbench that may name vendors. */
#include "cli/hints.h"

#include <ctype.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>

#include <crosslane/cl.h>

#include "base/str.h"

struct status_advice {
    xl_status status;
    const char *text;
};

static const struct status_advice by_status[] = {
    {XL_NO_PLATFORM,
     "`clbench doctor` reports which driver is missing and what to install"},
    {XL_NO_DEVICE, "`clbench devices` lists the devices; `clbench doctor` "
                   "reports why one may be hidden"},
    {XL_AMBIGUOUS, "give the number of the device: --device N"},
    {XL_UNSUPPORTED,
     "`clbench OP SHAPE --explain` prints why each variant was not chosen"},
    {XL_BUILD_FAILED, "the driver's compiler failed on a kernel: try a newer "
                      "driver, and report the log above"},
    {XL_UNTRUSTED, "this driver computes wrong results: try a newer one, and "
                   "report its version (`clbench doctor`)"},
    {XL_WRONG_RESULT,
     "`clbench verify` lists the variants with wrong results"},
    {XL_NO_MEMORY, "out of host memory: give smaller shapes"},
    {XL_IO, "check the path, its permissions and the free space on its disk"},
    {XL_NO_SPACE, "the disk is full: free some space, or set XL_CACHE_DIR to "
                  "another folder (off: no cache)"},
    {XL_CORRUPT, "`clbench cache verify` lists damaged entries, `clbench "
                 "cache clear --damaged` removes them"},
    {CL_MEM_OBJECT_ALLOCATION_FAILURE,
     "out of device memory: give smaller shapes, and check what else runs on "
     "the device"},
    {CL_OUT_OF_HOST_MEMORY,
     "the driver ran out of memory: give smaller shapes, and check what else "
     "runs on this machine"},
    {CL_INVALID_BUFFER_SIZE,
     "larger than the largest allocation: see max_alloc_bytes of `clbench "
     "limits`"},
    {CL_OUT_OF_RESOURCES,
     "the device was lost, or a watchdog stopped a long kernel: check the "
     "kernel log (dmesg), then try smaller shapes"},
    {CL_DEVICE_NOT_AVAILABLE,
     "the device is busy, in exclusive use by another program, or was lost: "
     "check what else runs on it, or reset it"},
    {CL_COMPILER_NOT_AVAILABLE,
     "this driver has no compiler at run time: install its full package"},
    {CL_INVALID_COMMAND_QUEUE,
     "the queue was lost with its device: check the kernel log (dmesg)"},
    {XL_OK, NULL},
};

const char *advice_for_status(xl_status status)
{
    const struct status_advice *a = by_status;
    while (a->text && a->status != status)
        a++;
    return a->text;
}

const char *const *advice_variables(void)
{
    static const char *const names[] = {
        "OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "OPENCL_VENDOR_PATH",
        "OPENCL_LAYERS", "OCL_ICD_PLATFORM_SORT", "OCL_ICD_DEFAULT_PLATFORM",
        "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
        "NVIDIA_DRIVER_CAPABILITIES", "CUDA_CACHE_DISABLE",
        "CUDA_MPS_PIPE_DIRECTORY",
        "GPU_DEVICE_ORDINAL", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
        "HSA_OVERRIDE_GFX_VERSION", "HSA_CU_MASK", "ROC_GLOBAL_CU_MASK",
        "GPU_MAX_WORKGROUP_SIZE", "GPU_SINGLE_ALLOC_PERCENT",
        "AMD_OCL_BUILD_OPTIONS", "AMD_OCL_BUILD_OPTIONS_APPEND",
        "ZE_AFFINITY_MASK", "ZE_FLAT_DEVICE_HIERARCHY",
        "NEO_CACHE_PERSISTENT", "OverrideDefaultFP64Settings",
        "CL_CONFIG_CPU_TBB_NUM_WORKERS", "CL_CONFIG_USE_VECTORIZER",
        "RUSTICL_ENABLE", "RUSTICL_FEATURES", "RUSTICL_DEVICE_TYPE",
        "RUSTICL_CL_VERSION", "LP_NUM_THREADS",
        "POCL_DEVICES", "POCL_AFFINITY", "POCL_MAX_PTHREAD_COUNT",
        "POCL_CPU_MAX_CU_COUNT", "POCL_WORK_GROUP_METHOD",
        "POCL_KERNEL_CACHE", "POCL_CACHE_DIR", "POCL_MEMORY_LIMIT",
        "XL_CL_DIR", "XL_CACHE_DIR", NULL};
    return names;
}

#define IN_CONTAINER_ICD                                                      \
    " The container needs the driver's library, its file in "                 \
    "/etc/OpenCL/vendors, and the device nodes."

const struct advice_vendor advice_vendors[] = {
    {.name = "NVIDIA",
     .pci_id = 0x10de,
     .platforms = {"NVIDIA CUDA", NULL},
     .nodes = {"/dev/nvidiactl", "/dev/nvidia#", "/dev/nvidia-uvm", NULL},
     .groups = "video",
     .kernel_module = "nvidia",
     .install = "Install NVIDIA's driver with its OpenCL part: package "
                "nvidia-opencl-icd (Debian) or libnvidia-compute-NNN "
                "(Ubuntu), and reboot if the kernel module is not loaded "
                "(`nvidia-smi` must work first).",
     .container = "Start the container with the NVIDIA Container Toolkit "
                  "(`--gpus all`) and NVIDIA_DRIVER_CAPABILITIES=compute,"
                  "utility, and put the line libnvidia-opencl.so.1 into "
                  "/etc/OpenCL/vendors/nvidia.icd."},
    {.name = "AMD",
     .pci_id = 0x1002,
     .platforms = {"AMD Accelerated Parallel Processing", "rusticl", NULL},
     .nodes = {"/dev/kfd", "/dev/dri/renderD#", NULL},
     .groups = "render and video",
     .kernel_module = "amdgpu",
     .install = "Install ROCm's OpenCL (package rocm-opencl-runtime), or "
                "Mesa's (mesa-opencl-icd, with RUSTICL_ENABLE=radeonsi set).",
     .container = "Start the container with --device /dev/kfd --device "
                  "/dev/dri --group-add render --group-add video."
                  IN_CONTAINER_ICD},
    {.name = "Intel",
     .pci_id = 0x8086,
     .platforms = {"Intel(R) OpenCL", "rusticl", NULL},
     .nodes = {"/dev/dri/renderD#", NULL},
     .groups = "render and video",
     .kernel_module = "i915",
     .install = "Install Intel's compute runtime (package intel-opencl-icd); "
                "graphics older than 11th generation need its legacy1 build, "
                "discrete cards need resizable BAR switched on.",
     .container = "Start the container with --device /dev/dri --group-add "
                  "render." IN_CONTAINER_ICD},
    {.name = "Arm",
     .pci_id = 0,
     .platforms = {"ARM Platform", "rusticl", NULL},
     .nodes = {"/dev/mali0", NULL},
     .groups = "video or render",
     .kernel_module = "mali_kbase",
     .install = "Install the board maker's libmali with OpenCL and put its "
                "path into /etc/OpenCL/vendors/mali.icd; on Mesa set "
                "RUSTICL_ENABLE=panfrost.",
     .container = "Start the container with --device /dev/mali0."
                  IN_CONTAINER_ICD},
    {.name = "Qualcomm",
     .pci_id = 0,
     .platforms = {"QUALCOMM", "rusticl", NULL},
     .nodes = {"/dev/kgsl-3d0", NULL},
     .groups = "video or render",
     .kernel_module = "msm",
     .install = "Adreno's OpenCL comes with the system image (libOpenCL.so in "
                "/vendor/lib64); on Mesa set RUSTICL_ENABLE=freedreno.",
     .container = "Start the container with --device /dev/kgsl-3d0."
                  IN_CONTAINER_ICD},
    {.name = "Apple",
     .pci_id = 0x106b,
     .platforms = {"Apple", "rusticl", NULL},
     .nodes = {NULL},
     .groups = "",
     .kernel_module = "asahi",
     .install = "macOS brings OpenCL 1.2 with it, nothing to install; on "
                "Linux use Mesa with RUSTICL_ENABLE=asahi.",
     .container = "Containers on macOS are Linux machines without its GPU."},
    {.name = "CPU",
     .pci_id = 0,
     .platforms = {"Portable Computing Language", "Intel(R) OpenCL", NULL},
     .nodes = {NULL},
     .groups = "",
     .kernel_module = NULL,
     .install = "Any machine can run PoCL on its CPU: package "
                "pocl-opencl-icd; with Mesa's mesa-opencl-icd set "
                "RUSTICL_ENABLE=llvmpipe.",
     .container = "PoCL works in a container as it is: package "
                  "pocl-opencl-icd."},
    {.name = NULL},
};

const struct advice_platform advice_platforms[] = {
    {"rusticl", "RUSTICL_ENABLE must name the drivers that it may use: "
                "radeonsi, iris, nouveau, panfrost, freedreno, asahi, or "
                "llvmpipe for the CPU"},
    {"Clover", "this driver is retired: use rusticl, or remove it (package "
               "mesa-opencl-icd brings both)"},
    {"AMD Accelerated Parallel Processing",
     "it needs the kernel module amdgpu and access to /dev/kfd and "
     "/dev/dri: group render"},
    {"Intel(R) OpenCL", "it needs the kernel module i915 or xe and access to "
                        "/dev/dri: group render"},
    {"NVIDIA CUDA", "`nvidia-smi` must list a GPU first; "
                    "CUDA_VISIBLE_DEVICES may hide it"},
    {"Portable Computing Language", "POCL_DEVICES may name devices that it "
                                    "was built without: unset it"},
    {NULL, NULL},
};

enum { DECIMAL = 10 };

/* UINT_MAX: no version is suitable. */
const struct advice_driver advice_drivers[] = {
    {"NVIDIA CUDA", 520, 0, /* NV-06 */
     "half arithmetic is compiled natively from 520 on"},
    {"Portable Computing Language", 1, 9,
     "older versions fail to build kernels in paths with blanks"},
    {"Clover", UINT_MAX, 0,
     "this driver is retired and computes wrongly: use rusticl"},
    {NULL, 0, 0, NULL},
};

/* The first two numbers in a version. */
static void read_version(const char *text, unsigned long number[2])
{
    number[0] = number[1] = 0;
    while (*text && !isdigit((unsigned char)*text))
        text++;
    char *end = NULL;
    number[0] = strtoul(text, &end, DECIMAL);
    if (*end == '.')
        number[1] = strtoul(end + 1, NULL, DECIMAL);
}

bool advice_too_old(const char *platform, const char *version,
                    const struct advice_driver **row)
{
    unsigned long number[2];
    read_version(version, number);
    for (const struct advice_driver *d = advice_drivers; d->platform; d++) {
        if (!xl__str_contains(platform, d->platform))
            continue;
        bool is_known = number[0] != 0 || d->major == UINT_MAX;
        if (is_known && (number[0] < d->major ||
                         (number[0] == d->major && number[1] < d->minor))) {
            *row = d;
            return true;
        }
    }
    return false;
}
