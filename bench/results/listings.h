/* SPDX-License-Identifier: Apache-2.0 */
/* `--as`: devices that are not here, from the output of `clinfo --raw`: a file
 * of the user, or one that comes with clbench (vendor-notes/devices). */
#ifndef CLBENCH_RESULTS_LISTINGS_H
#define CLBENCH_RESULTS_LISTINGS_H

#include "cli/session.h"
#include "results/embedded.h"

extern const struct embedded device_texts[]; /* NULL name last */

/* With --as: the devices of the session become those of its listing. Before
 * session_open(). An exit_code, after a message. */
int listing_choose(struct session *s);
/* Print the devices that come with clbench, and where each is from. */
void listings_print(void);

#endif
