/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of a device that is not here, from some of its facts. */
#ifndef TESTS_SUPPORT_TEST_LIMITS_H
#define TESTS_SUPPORT_TEST_LIMITS_H

#include "device/facts.h"

struct test_fact {
    enum xl__fact_id id;
    double value; /* below 0: unknown */
};

/* Sets `l`, which xl__limits_clear() frees. */
static inline void test_limits(struct xl__limits *l,
                               const struct test_fact *facts, size_t n)
{
    xl__limits_init(l);
    for (size_t i = 0; i < n; i++) {
        if (facts[i].value >= 0)
            xl__limits_correct(l, facts[i].id, facts[i].value, XL_ASSUMED,
                               "GE-01");
    }
}

#endif
