/* SPDX-License-Identifier: Apache-2.0 */
/* Which way do stripes run? Two convolutions, for edges and for scores. */
#include <stdio.h>
#include <stdlib.h>
#include <crosslane/crosslane.h>
enum { IMAGES = 64, SIDE = 32, OUT = SIDE - 2, WAYS = 4, AREA = SIDE * SIDE };
static const int way[WAYS][2] = {{1, 0}, {0, 1}, {1, 1}, {1, -1}};
static const float scores[WAYS][WAYS] = {
    {1, -1, 0, 0}, {-1, 1, 0, 0}, {0, 0, 1, -1}, {0, 0, -1, 1}};
static float images[IMAGES * AREA], edges[WAYS * 9];
static int best[IMAGES];
static cl_mem upload(xl_queue *q, const void *from, size_t bytes)
{
    cl_mem mem = NULL; /* an operation refuses NULL */
    if (!xl_buffer_create(q, bytes, &mem) && from)
        xl_buffer_write(q, mem, 0, from, bytes);
    return mem;
}

int main(void)
{
    for (int i = 0; i < IMAGES * AREA; i++) { /* with noise as bright */
        const int *w = way[i / AREA % WAYS], y = i % AREA / SIDE, x = i % SIDE;
        images[i] = (float)((w[0] * y + w[1] * x) & 2) + (float)(rand() % 3);
    }
    for (int i = 0; i < WAYS * 9; i++)
        edges[i] = (float)((i / 3 % 3 - 1) * way[i / 9][0] + (i % 3 - 1) * way[i / 9][1]);
    xl_lib *lib = NULL;
    xl_device *device;
    xl_queue *q;
    if (xl_open(NULL, &lib) || xl_device_find(lib, "0", &device) ||
        xl_queue_create(lib, device, &q))
        return puts(xl_lib_error(lib)), 1;
    const size_t shape[] = {IMAGES, WAYS, OUT * OUT};
    const size_t bytes = IMAGES * WAYS * OUT * OUT * sizeof(float);
    xl_conv c = {XL_CONV_INIT, .n = IMAGES, .c = 1, .h = SIDE, .w = SIDE,
                 .k = WAYS, .r = 3, .s = 3, .alpha = 1, .epilogue = {"y^2"}};
    c.in.mem.buf = upload(q, images, sizeof images);
    c.filters.mem.buf = upload(q, edges, sizeof edges);
    c.out.mem.buf = upload(q, NULL, bytes);
    xl_conv d = {XL_CONV_INIT, .n = IMAGES, .c = WAYS, .h = OUT, .w = OUT,
                 .k = WAYS, .r = 1, .s = 1, .in = c.out, .alpha = 1};
    d.filters.mem.buf = upload(q, scores, sizeof scores);
    d.out.mem.buf = upload(q, NULL, bytes);
    const cl_mem out = upload(q, NULL, sizeof best);
    const xl_binding names[] = {{"x", xl_tensor_dense(d.out.mem.buf, XL_F32, 3, shape), false, 0},
                                {"out", xl_tensor_dense(out, XL_I32, 1, shape), false, 0}};
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, names, 2, false, NULL, {0}};
    xl_expr *e;
    if (xl_conv_run(q, &c, NULL) || xl_conv_run(q, &d, NULL) ||
        xl_expr_compile(q, "argmax(mean(x, axis=2), axis=1)", &args, &e) ||
        xl_expr_run(q, e, &args, NULL) ||
        xl_buffer_read(q, out, 0, best, sizeof best))
        return puts(xl_error_detail(q)), 1;
    int n = 0;
    for (int i = 0; i < IMAGES; i++)
        n += best[i] == i % WAYS;
    return printf("%d of %d right\n", n, IMAGES), n < IMAGES;
}
