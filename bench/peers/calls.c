/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of ours in a row, for torch_peer.py: made here, since what a Python
 * loop adds to each call is a good part of a small product's time. They are
 * dealt over queues, each with an operation of its own: one queue's products
 * need not wait for the other's. */
#include <crosslane/crosslane.h>

#include <stddef.h>
#include <string.h>

/* Work that is not flushed may wait for the host; a flush takes time itself.
 * Two queues overlap only as far as both know their work (NV-44). */
enum { FLUSH_ALONE = 64, FLUSH_BESIDE = 2 };

xl_status peer_calls_gemm(xl_queue *const *q, const xl_gemm *const *op,
                          size_t n_queues, size_t n);
xl_status peer_calls_softmax(xl_queue *const *q, const xl_softmax *const *op,
                             size_t n_queues, size_t n);
size_t peer_size_of(const char *name);

static void flush(xl_queue *const *q, size_t n_queues, size_t turn)
{
    if (turn % (n_queues == 1 ? FLUSH_ALONE : FLUSH_BESIDE) != 0)
        return;
    for (size_t i = 0; i < n_queues; i++)
        (void)clFlush(xl_queue_cl(q[i]));
}

/* `n` calls on each queue. */
xl_status peer_calls_gemm(xl_queue *const *q, const xl_gemm *const *op,
                          size_t n_queues, size_t n)
{
    xl_status status = XL_OK;
    for (size_t turn = 0; turn < n; turn++) {
        for (size_t i = 0; i < n_queues && status == XL_OK; i++)
            status = xl_gemm_run(q[i], op[i], NULL);
        flush(q, n_queues, turn);
    }
    return status;
}

xl_status peer_calls_softmax(xl_queue *const *q, const xl_softmax *const *op,
                             size_t n_queues, size_t n)
{
    xl_status status = XL_OK;
    for (size_t turn = 0; turn < n; turn++) {
        for (size_t i = 0; i < n_queues && status == XL_OK; i++)
            status = xl_softmax_run(q[i], op[i], NULL);
        flush(q, n_queues, turn);
    }
    return status;
}

/* Of a struct by its name without xl_, so that the script's own can be
 * compared; 0: it is not passed. */
size_t peer_size_of(const char *name)
{
    static const struct {
        const char *name;
        size_t size;
    } structs[] = {
        {"mat", sizeof(xl_mat)},
        {"tensor", sizeof(xl_tensor)},
        {"binding", sizeof(xl_binding)},
        {"gemm", sizeof(xl_gemm)},
        {"softmax", sizeof(xl_softmax)},
        {"choice", sizeof(xl_choice)},
        {"fact", sizeof(xl_fact)},
        {"expr_args", sizeof(xl_expr_args)},
        {"expr_kernel", sizeof(xl_expr_kernel)},
    };
    for (size_t i = 0; i < sizeof structs / sizeof *structs; i++)
        if (strcmp(structs[i].name, name) == 0)
            return structs[i].size;
    return 0;
}
