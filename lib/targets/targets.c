/* SPDX-License-Identifier: Apache-2.0 */
/* The tables in the order they are asked. The platform decides before the
 * device's ids do: a layered runtime passes the chip's vendor id through but
 * is not the vendor's own driver (GE-01). */
#include "targets/targets.h"

const struct xl__vendor *const xl__vendors[] = {
    &xl__vendor_nvidia,
    &xl__vendor_amd,
    &xl__vendor_intel,
    &xl__vendor_cpu,
    &xl__vendor_generic, /* takes anything */
    NULL,
};

const struct xl__vendor *xl__vendor_pick(const struct xl__limits *l)
{
    size_t i = 0;

    while (!xl__vendors[i]->matches(l))
        i++;
    return xl__vendors[i];
}
