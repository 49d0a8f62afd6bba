/* SPDX-License-Identifier: Apache-2.0 */
/* How long a row will take, from an earlier row of the same kernel, type and
 * device: time goes with the larger of flop and bytes. */
#include <string.h>

#include "timing/run_cases.h"

static double work_of(const xl_row *row)
{
    return row->flop > row->bytes ? row->flop : row->bytes;
}

static bool is_like(const struct pace *p, const xl_device *dev,
                    const xl_row *row)
{
    return p->dev == dev && p->dtype == row->dtype &&
           strcmp(p->variant, row->variant) == 0;
}

void pace_note(struct paces *paces, const xl_device *dev, const xl_row *row,
               double ns)
{
    unsigned i = 0;
    while (i < paces->n && !is_like(&paces->list[i], dev, row))
        i++;
    if (i == paces->n)
        i = paces->n < MAX_PACES ? paces->n++ : 0;
    struct pace *p = &paces->list[i];
    p->dev = dev;
    p->dtype = row->dtype;
    memcpy(p->variant, row->variant, sizeof p->variant);
    p->ns_per_work = ns / work_of(row);
}

double pace_foresee(const struct paces *paces, const xl_device *dev,
                    const xl_row *row, double otherwise)
{
    for (unsigned i = 0; i < paces->n; i++)
        if (is_like(&paces->list[i], dev, row))
            return paces->list[i].ns_per_work * work_of(row);
    return otherwise;
}
