/* SPDX-License-Identifier: Apache-2.0 */
/* One variant on a device that has no matrix engine, by the emulation that
 * holds the engine's elements in the engine's lanes
 * (cl/common/matrix/emulated.clh). The device's vendor table has it alone,
 * once as it is and once with the tunables that the test wants. */
#ifndef TESTS_SUPPORT_EMULATED_VARIANT_H
#define TESTS_SUPPORT_EMULATED_VARIANT_H

#include "device/device.h"
#include "ops/variants.h"
#include "support/matrix_ops.h"
#include "support/support.h"

static struct {
    const struct xl__variant *own;
    struct xl__variant variant;
    const struct xl__variant *list[2];
    struct xl__vendor vendor;
    struct xl__params wanted; /* all 0: the model's choice */
} emulated;

static void emulated_choose(const struct xl__limits *l, const void *desc,
                            struct xl__params *out)
{
    static const struct xl__params none;
    if (memcmp(emulated.wanted.value, none.value, sizeof none.value) != 0)
        *out = emulated.wanted;
    else
        emulated.own->choose(l, desc, out);
}

static inline void emulated_open_with(struct test_device *t,
                                      const xl_options *options,
                                      enum xl__op_id op,
                                      const struct xl__variant *own)
{
    test_device_open(t, options);
    emulated.own = own;
    emulated.variant = *own;
    emulated.variant.choose = emulated_choose;
    emulated.list[0] = &emulated.variant;
    emulated.vendor = *t->device->vendor;
    emulated.vendor.variants[op] = emulated.list;
    t->device->vendor = &emulated.vendor;
    emulate_matrix_ops(&t->device->limits);
}

static inline void emulated_open(struct test_device *t, enum xl__op_id op,
                                 const struct xl__variant *own)
{
    const xl_options quick = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                              .cache_dir = ""};
    emulated_open_with(t, &quick, op, own);
}

#endif
