/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of calls of crosslane, for torch_gemm.py: a loop in Python adds a
 * good part of a small product's time to each call. With several queues, each
 * has an op of its own, and its products do not wait for another queue's. */
#include <crosslane/crosslane.h>

#include <pthread.h>
#include <stddef.h>
#include <string.h>

/* Commands that are not flushed may wait for the host, but a flush takes time
 * itself. Two queues overlap only while both have commands, and a thread takes
 * about as long to enqueue a small product as the product runs (NV-44, NV-51):
 * each queue has a thread. */
enum { FLUSH_ONE_QUEUE = 64, FLUSH_SEVERAL = 8, MOST_QUEUES = 4 };

/* One call of an op. */
typedef xl_status (*run_fn)(xl_queue *q, const void *op);

#define XL_PEER_CALLS(name)                                                   \
    xl_status peer_calls_##name(xl_queue *const *q, const void *const *op,    \
                                size_t n_queues, size_t n);                   \
    static xl_status run_##name(xl_queue *q, const void *op)                  \
    {                                                                         \
        return xl_##name##_run(q, op, NULL);                                  \
    }                                                                         \
    xl_status peer_calls_##name(xl_queue *const *q, const void *const *op,    \
                                size_t n_queues, size_t n)                    \
    {                                                                         \
        return enqueue_batch(run_##name, q, op, n_queues, n);                 \
    }

size_t peer_size_of(const char *name);

/* One queue's calls. */
struct calls {
    run_fn run;
    xl_queue *q;
    const void *op;
    size_t n, flush_every;
    xl_status status;
};

static void *run_queue(void *arg)
{
    struct calls *c = arg;
    for (size_t i = 0; i < c->n && c->status == XL_OK; i++) {
        c->status = c->run(c->q, c->op);
        if (i % c->flush_every == 0)
            (void)clFlush(xl_queue_cl(c->q));
    }
    return NULL;
}

static xl_status run_queues(struct calls *c, size_t n_queues)
{
    pthread_t thread[MOST_QUEUES];
    size_t started = 1;
    while (started < n_queues &&
           pthread_create(&thread[started], NULL, run_queue, &c[started]) == 0)
        started++;
    run_queue(&c[0]);
    for (size_t i = 1; i < started; i++)
        pthread_join(thread[i], NULL);
    if (started < n_queues)
        return XL_NO_MEMORY;
    for (size_t i = 0; i < n_queues; i++)
        if (c[i].status != XL_OK)
            return c[i].status;
    return XL_OK;
}

/* `n` calls on each queue, each with an op of its own. */
static xl_status enqueue_batch(run_fn run, xl_queue *const *q,
                               const void *const *op, size_t n_queues,
                               size_t n)
{
    struct calls c[MOST_QUEUES] = {0};
    if (n_queues == 0 || n_queues > MOST_QUEUES)
        return XL_BAD_ARGUMENT;
    for (size_t i = 0; i < n_queues; i++)
        c[i] = (struct calls){.run = run,
                              .q = q[i],
                              .op = op[i],
                              .n = n,
                              .flush_every = n_queues == 1 ? FLUSH_ONE_QUEUE
                                                           : FLUSH_SEVERAL};
    return run_queues(c, n_queues);
}

XL_PEER_CALLS(gemm)
XL_PEER_CALLS(softmax)
XL_PEER_CALLS(norm)
XL_PEER_CALLS(conv)
XL_PEER_CALLS(attention)

/* The size of a struct by its name without xl_, to be compared with the
 * script's declaration; 0: unknown name. */
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
        {"norm", sizeof(xl_norm)},
        {"conv", sizeof(xl_conv)},
        {"heads", sizeof(xl_heads)},
        {"attention", sizeof(xl_attention)},
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
