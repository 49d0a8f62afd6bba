/* SPDX-License-Identifier: Apache-2.0 */
/* The stub driver's platforms and devices, and its entry point for the loader:
 * clGetExtensionFunctionAddress returns clIcdGetPlatformIDsKHR, which fills
 * the dispatch table. Functions have hidden visibility, so that the table
 * never points into the loader. */
#include "stub.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { MAX_PLATFORMS = 8 };

static struct _cl_platform_id platforms[MAX_PLATFORMS];
static struct _cl_device_id devices[MAX_PLATFORMS][STUB_MAX_DEVICES];
static cl_uint n_platforms;

cl_icd_dispatch stub_table;

/* Stands in every slot that is not written. Enough for those that return a
 * cl_int; the few others are not called. */
static cl_int unimplemented(void) { return CL_INVALID_OPERATION; }

static const char *platform_text(cl_platform_info key)
{
    switch (key) {
    case CL_PLATFORM_PROFILE:
        return "FULL_PROFILE";
    case CL_PLATFORM_VERSION:
        return "OpenCL 3.0 stub";
    case CL_PLATFORM_NAME:
        return "Stub";
    case CL_PLATFORM_VENDOR:
        return "crosslane tests";
    case CL_PLATFORM_EXTENSIONS:
        return "cl_khr_icd";
    case CL_PLATFORM_ICD_SUFFIX_KHR:
        return "STUB";
    default:
        return NULL;
    }
}

cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id p, cl_platform_info key,
                                     size_t cap, void *out, size_t *n_out)
{
    STUB_ENTER(clGetPlatformInfo);
    if (!stub_is(p, STUB_PLATFORM))
        return CL_INVALID_PLATFORM;
    const cl_int code =
        answer_give(p->device->answers, ANSWER_PLATFORM, key, cap, out, n_out);
    if (code != ANSWER_NONE)
        return code;
    const char *text = platform_text(key);
    return text ? answer_bytes(text, strlen(text) + 1, cap, out, n_out)
                : CL_INVALID_VALUE;
}

cl_int CL_API_CALL clGetDeviceIDs(cl_platform_id p, cl_device_type wanted,
                                  cl_uint cap, cl_device_id *out,
                                  cl_uint *n_out)
{
    STUB_ENTER(clGetDeviceIDs);
    if (!stub_is(p, STUB_PLATFORM))
        return CL_INVALID_PLATFORM;
    cl_uint n = 0;
    for (cl_uint i = 0; i < p->n_devices; i++) {
        cl_device_type type = CL_DEVICE_TYPE_GPU;
        (void)answer_give(p->device[i].answers, ANSWER_DEVICE, CL_DEVICE_TYPE,
                          sizeof type, &type, NULL);
        if (type == 0 || !(wanted & (type | CL_DEVICE_TYPE_DEFAULT)))
            continue;
        if (out && n < cap)
            out[n] = &p->device[i];
        n++;
    }
    if (n_out)
        *n_out = n;
    return n > 0 ? CL_SUCCESS : CL_DEVICE_NOT_FOUND;
}

cl_int CL_API_CALL clGetDeviceInfo(cl_device_id d, cl_device_info key,
                                   size_t cap, void *out, size_t *n_out)
{
    STUB_ENTER(clGetDeviceInfo);
    if (!stub_is(d, STUB_DEVICE))
        return CL_INVALID_DEVICE;
    if (key == CL_DEVICE_PLATFORM)
        return answer_bytes(&d->platform, sizeof d->platform, cap, out,
                            n_out);
    const cl_int code =
        answer_give(d->answers, ANSWER_DEVICE, key, cap, out, n_out);
    return code == ANSWER_NONE ? CL_INVALID_VALUE : code;
}

cl_int CL_API_CALL clRetainDevice(cl_device_id d)
{
    STUB_ENTER(clRetainDevice);
    return stub_is(d, STUB_DEVICE) ? CL_SUCCESS : CL_INVALID_DEVICE;
}

cl_int CL_API_CALL clReleaseDevice(cl_device_id d)
{
    STUB_ENTER(clReleaseDevice);
    return stub_is(d, STUB_DEVICE) ? CL_SUCCESS : CL_INVALID_DEVICE;
}

/* clGetDeviceCooperativeMatrixInfoKHR() of the draft (GE-37). */
static cl_int CL_API_CALL cooperative_info(cl_device_id d, cl_uint key,
                                           size_t input_size,
                                           const void *input, size_t cap,
                                           void *out, size_t *n_out)
{
    (void)input_size;
    (void)input;
    return clGetDeviceInfo(d, key, cap, out, n_out);
}

static void *CL_API_CALL extension_address(cl_platform_id p, const char *name)
{
    cl_int(CL_API_CALL *const info)(cl_device_id, cl_uint, size_t,
                                    const void *, size_t, void *, size_t *) =
        cooperative_info;
    void *found = stub_extension(name);
    (void)p;
    if (strcmp(name, "clGetDeviceCooperativeMatrixInfoKHR") == 0)
        memcpy(&found, &info, sizeof found);
    return found ? found : stub_control(name);
}

static void fill_table(void)
{
    void (*const nothing)(void) = (void (*)(void))unimplemented;
    unsigned char *slot = (unsigned char *)&stub_table;

    for (size_t at = 0; at < sizeof stub_table; at += sizeof nothing)
        memcpy(slot + at, &nothing, sizeof nothing);
#define FILL(name) stub_table.name = name;
    STUB_ENTRIES(FILL)
#undef FILL
    stub_table.clGetExtensionFunctionAddressForPlatform = extension_address;
}

/* The place of an object that lives as long as the process. */
static void init_object(struct stub_object *o, enum stub_kind kind)
{
    o->dispatch = &stub_table;
    o->kind = kind;
    atomic_init(&o->refs, 1);
}

/* Of the answer files in `paths`, which is cut. */
static void add_platform(char *paths)
{
    cl_platform_id p = &platforms[n_platforms];

    p->device = devices[n_platforms++];
    init_object(&p->base, STUB_PLATFORM);
    for (char *path = strtok(paths, "+");
         path && p->n_devices < STUB_MAX_DEVICES; path = strtok(NULL, "+")) {
        cl_device_id d = &p->device[p->n_devices++];
        init_object(&d->base, STUB_DEVICE);
        d->answers = answers_read(path);
        d->platform = p;
    }
}

static void read_platforms(void)
{
    const char *list = getenv("XL_STUB_DEVICE");
    char path[1024];

    while (list && *list && n_platforms < MAX_PLATFORMS) {
        const size_t n = strcspn(list, ",");
        if (n > 0 && n < sizeof path) {
            memcpy(path, list, n);
            path[n] = '\0';
            add_platform(path);
        }
        list += n + (list[n] == ',');
    }
}

static cl_int CL_API_CALL platform_ids(cl_uint cap, cl_platform_id *out,
                                       cl_uint *n_out)
{
    if (!stub_table.clGetPlatformInfo) {
        fill_table();
        read_platforms();
    }
    if (n_out)
        *n_out = n_platforms;
    for (cl_uint i = 0; out && i < cap && i < n_platforms; i++)
        out[i] = &platforms[i];
    return n_platforms > 0 ? CL_SUCCESS : CL_PLATFORM_NOT_FOUND_KHR;
}

EXPORT void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
    void (*found)(void) = NULL;
    void *address = NULL;

    if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0)
        found = (void (*)(void))platform_ids;
    else if (strcmp(name, "clGetPlatformInfo") == 0)
        found = (void (*)(void))clGetPlatformInfo;
    else
        return stub_control(name);
    memcpy(&address, &found, sizeof address);
    return address;
}
