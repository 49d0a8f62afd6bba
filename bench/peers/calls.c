/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of ours in a row, for torch_peer.py: made here, since what a Python
 * loop adds to each call is a good part of a small product's time. They are
 * dealt over queues, each with an operation of its own: one queue's products
 * need not wait for the other's. */
#include <crosslane/crosslane.h>

#include <pthread.h>
#include <stddef.h>
#include <string.h>

/* Work that is not flushed may wait for the host; a flush takes time itself.
 * Two queues overlap only as far as both know their work, and one thread takes
 * about as long over a launch as a small product over its own (NV-44, NV-51):
 * each queue has a thread. */
enum { FLUSH_ALONE = 64, FLUSH_BESIDE = 8, MOST_QUEUES = 4 };

xl_status peer_calls_gemm(xl_queue *const *q, const xl_gemm *const *op,
                          size_t n_queues, size_t n);
xl_status peer_calls_softmax(xl_queue *const *q, const xl_softmax *const *op,
                             size_t n_queues, size_t n);
size_t peer_size_of(const char *name);

/* One queue's calls. */
struct calls {
    xl_queue *q;
    const xl_gemm *gemm; /* one of the two */
    const xl_softmax *softmax;
    size_t n, flush_every;
    xl_status status;
};

static void *make_calls(void *arg)
{
    struct calls *c = arg;
    for (size_t turn = 0; turn < c->n && c->status == XL_OK; turn++) {
        c->status = c->gemm ? xl_gemm_run(c->q, c->gemm, NULL)
                            : xl_softmax_run(c->q, c->softmax, NULL);
        if (turn % c->flush_every == 0)
            (void)clFlush(xl_queue_cl(c->q));
    }
    return NULL;
}

static xl_status make_all(struct calls *c, size_t n_queues)
{
    pthread_t thread[MOST_QUEUES];
    size_t started = 1;
    while (started < n_queues && pthread_create(&thread[started], NULL,
                                                make_calls, &c[started]) == 0)
        started++;
    make_calls(&c[0]);
    for (size_t i = 1; i < started; i++)
        pthread_join(thread[i], NULL);
    if (started < n_queues)
        return XL_NO_MEMORY;
    for (size_t i = 0; i < n_queues; i++)
        if (c[i].status != XL_OK)
            return c[i].status;
    return XL_OK;
}

/* `n` calls on each queue, of one op or the other. */
static xl_status deal(xl_queue *const *q, const xl_gemm *const *gemm,
                      const xl_softmax *const *softmax, size_t n_queues,
                      size_t n)
{
    struct calls c[MOST_QUEUES] = {0};
    if (n_queues == 0 || n_queues > MOST_QUEUES)
        return XL_BAD_ARGUMENT;
    for (size_t i = 0; i < n_queues; i++)
        c[i] = (struct calls){
            .q = q[i],
            .gemm = gemm ? gemm[i] : NULL,
            .softmax = softmax ? softmax[i] : NULL,
            .n = n,
            .flush_every = n_queues == 1 ? FLUSH_ALONE : FLUSH_BESIDE};
    return make_all(c, n_queues);
}

xl_status peer_calls_gemm(xl_queue *const *q, const xl_gemm *const *op,
                          size_t n_queues, size_t n)
{
    return deal(q, op, NULL, n_queues, n);
}

xl_status peer_calls_softmax(xl_queue *const *q, const xl_softmax *const *op,
                             size_t n_queues, size_t n)
{
    return deal(q, NULL, op, n_queues, n);
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
