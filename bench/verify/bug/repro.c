/* SPDX-License-Identifier: Apache-2.0 */
static void check(cl_int code, const char *what)
{
    if (code != CL_SUCCESS)
        fprintf(stderr, "%s: OpenCL error %d\n", what, code), exit(2);
}

static cl_device_id find_device(const char *name)
{
    cl_platform_id platforms[16];
    cl_device_id devices[64];
    cl_uint n_platforms = 0, n;
    char text[256];
    check(clGetPlatformIDs(16, platforms, &n_platforms), "clGetPlatformIDs");
    for (cl_uint p = 0; p < n_platforms && p < 16; p++) {
        n = 0;
        clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 64, devices, &n);
        for (cl_uint d = 0; d < n && d < 64; d++) {
            clGetDeviceInfo(devices[d], CL_DEVICE_NAME, 256, text, NULL);
            if (strstr(text, name))
                return devices[d];
        }
    }
    fprintf(stderr, "no device with '%s' in its name\n", name), exit(2);
}

static void *read_file(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    check(f && fseek(f, 0, SEEK_END) == 0 ? CL_SUCCESS : -1, path);
    char *bytes = malloc((*n = (size_t)ftell(f)) + 1);
    rewind(f);
    check(fread(bytes, 1, *n, f) == *n ? CL_SUCCESS : -1, path);
    return fclose(f), (void *)bytes;
}

static void enqueue(cl_command_queue queue, cl_program p, const cl_mem *mem,
                    size_t i)
{
    cl_kernel k = clCreateKernel(p, launch[i].kernel, NULL);
    for (cl_uint a = 0; a < launch[i].n_args; a++) {
        const size_t r = launch[i].first_arg + a, at = (size_t)arg[r].at;
        const void *value = arg[r].kind == 'v' ? (const void *)&arg[r].at : 0;
        value = arg[r].kind == 'w' ? (const void *)&word[at] : value;
        value = arg[r].kind == 'b' ? (const void *)&mem[at] : value;
        check(clSetKernelArg(k, a, arg[r].bytes, value), "clSetKernelArg");
    }
    const size_t *local = *launch[i].local ? launch[i].local : NULL;
    check(clEnqueueNDRangeKernel(queue, k, launch[i].dims, launch[i].offset,
                                 launch[i].global, local, 0, NULL, NULL),
          launch[i].kernel);
}

int main(int argc, char **argv)
{
    cl_program built[COUNT(program)];
    cl_mem mem[COUNT(buffer)];
    char old[8], now[8], log[4096] = "";
    cl_int code;
    size_t n;
    cl_device_id device = find_device(argc > 1 ? argv[1] : device_name);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    check(code, "clCreateCommandQueue");
    for (size_t i = 0; i < COUNT(program); i++) {
        const void *text = read_file(program[i].file, &n);
        built[i] = CREATE(program[i], context, &device, &n, (void *)&text);
        code = clBuildProgram(built[i], 1, &device, program[i].options, 0, 0);
        clGetProgramBuildInfo(built[i], device, CL_PROGRAM_BUILD_LOG,
                              sizeof log, log, NULL);
        check(code, log);
    }
    const char *next = read_file("inputs.bin", &n);
    for (size_t i = 0; i < COUNT(buffer); i++) {
        const size_t bytes = buffer[i].bytes;
        char *host = malloc(bytes);
        for (size_t b = 0; b < bytes; b++)
            host[b] = buffer[i].is_filled
                          ? (char)(buffer[i].fill >> 8 * (b % 8))
                          : *next++;
        mem[i] =
            clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, bytes, host, &code);
        check(code, "clCreateBuffer");
        if (i == wrong.buffer)
            memcpy(old, host + wrong.at * sizeof(element), sizeof(element));
    }
    for (size_t i = 0; i < COUNT(launch); i++)
        enqueue(queue, built[launch[i].program], mem, i);
    const size_t size = sizeof(element);
    check(clEnqueueReadBuffer(queue, mem[wrong.buffer], CL_TRUE,
                              wrong.at * size, size, now, 0, NULL, NULL),
          "clEnqueueReadBuffer");
    const double got = value(now);
    const double right = wrong.is_outside ? value(old) : wrong.expected;
    int is_right = got == right || fabs(got - right) <= wrong.tolerance;
    is_right = isnan(right) ? isnan(got) : is_right;
    is_right = wrong.is_outside ? memcmp(now, old, size) == 0 : is_right;
    printf("element %zu of buffer %zu is %.9g, should be %.9g: %s\n", wrong.at,
           wrong.buffer, got, right, is_right ? "right" : "WRONG");
    return !is_right;
}
