/* SPDX-License-Identifier: Apache-2.0 */
/* Calls: begin, end, what is passed on, and their statistics, which
 * XL_CLBLAST=stats prints when the program ends. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "clblast/routine.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/os/paths.h"

static _Atomic(struct xl__routine *) listed;

static void list_once(struct xl__routine *r)
{
    if (atomic_exchange(&r->is_listed, true))
        return;
    r->next = atomic_load(&listed);
    while (!atomic_compare_exchange_weak(&listed, &r->next, r))
        continue;
}

xl_status xl__routine_begin(struct xl__routine_call *call,
                            struct xl__routine *routine,
                            cl_command_queue *queue, cl_event *event)
{
    *call = (struct xl__routine_call){.routine = routine,
                                      .sync = {XL_SYNC_INIT, .done = event}};
    list_once(routine);
    if (queue && *queue)
        call->wrapped = xl__wrapped_take(*queue, &call->q);
    return call->wrapped ? XL_OK : XL_UNSUPPORTED;
}

bool xl__routine_end(struct xl__routine_call *call, xl_status status)
{
    /* crosslane's own codes end where they begin: status.h. */
    const bool is_served = status > XL_BAD_ARGUMENT;
    atomic_fetch_add(
        is_served ? &call->routine->n_served : &call->routine->n_passed, 1);
    if (call->wrapped)
        xl__wrapped_drop(call->wrapped);
    return is_served;
}

void *xl__routine_behind(struct xl__routine *r)
{
    void *found = atomic_load(&r->behind);
    if (!found)
        found = dlsym(RTLD_NEXT, r->mangled);
    /* A program that opened CLBlast at run time may have it for itself. */
    if (!found) {
        void *library = dlopen("libclblast.so.1", RTLD_NOW | RTLD_LOCAL);
        found = library ? dlsym(library, r->mangled) : NULL;
    }
    atomic_store(&r->behind, found);
    return found;
}

__attribute__((destructor)) static void print_statistics(void)
{
    const char *mode = xl__getenv("XL_CLBLAST");
    unsigned long n_served = 0, n_passed = 0;
    if (!atomic_load(&listed) || !mode || strcmp(mode, "stats") != 0)
        return; /* among others, in the processes that drivers start */
    for (struct xl__routine *r = atomic_load(&listed); r; r = r->next) {
        n_served += atomic_load(&r->n_served);
        n_passed += atomic_load(&r->n_passed);
    }
    fprintf(stderr, "crosslane-clblast: %lu calls served, %lu passed on",
            n_served, n_passed);
    for (struct xl__routine *r = atomic_load(&listed); r; r = r->next)
        fprintf(stderr, "; %s %lu, %lu", r->name, atomic_load(&r->n_served),
                atomic_load(&r->n_passed));
    fputc('\n', stderr);
}
