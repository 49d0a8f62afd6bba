/* SPDX-License-Identifier: Apache-2.0 */
/* The best figure of an op on a device. */
#ifndef CLBENCH_HTML_BEST_H
#define CLBENCH_HTML_BEST_H

#include "report/html_page.h"

/* The highest rate of ours among the rows of a group, of one type if `dtype`
 * is given: those that can be quoted first, then the suspicious ones. NULL:
 * there is no rate. */
const struct html_row *html_best_of(const struct html_page *page,
                                    const struct html_group *group,
                                    size_t i_device, const char *dtype);

#endif
