/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the launch overhead of the first device with libcrosslane-measure,
 * as an application would. */
#include <crosslane/crosslane.h>
#include <crosslane/measure.h>

#include <stdio.h>

static void count_row(const xl_row *row, void *arg)
{
    unsigned *rows = (unsigned *)arg;
    printf("%s %s: %g %s, %s\n", row->op, row->variant, row->value, row->unit,
           xl_verdict_name(row->verdict));
    ++*rows;
}

int main(void)
{
    const xl_probing how = {true, 1, NULL, NULL};
    unsigned rows = 0;
    xl_lib *lib = NULL;
    xl_queue *q = NULL;
    if (xl_open(NULL, &lib) != XL_OK ||
        xl_queue_create(lib, xl_device_at(lib, 0), &q) != XL_OK ||
        xl_probe_run(q, "launch", &how, count_row, &rows) != XL_OK)
        printf("failed: %s\n", q ? xl_error_detail(q) : xl_lib_error(lib));
    xl_queue_destroy(q);
    xl_close(lib);
    return rows > 0 ? 0 : 1;
}
