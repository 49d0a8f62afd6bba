/* SPDX-License-Identifier: Apache-2.0 */
/* What a trial's child writes and its parent reads: lines of a mark, a kind
 * and fields, parted by tabs. */
#ifndef CLBENCH_TRIAL_LINES_H
#define CLBENCH_TRIAL_LINES_H

/* Set in the child: the library to load first, or empty. */
#define TRIAL_VARIABLE "CLBENCH_DOCTOR_CHILD"

enum { TRIAL_MOST_FIELDS = 8 };

#define TRIAL_MARK "@clbench "
#define TRIAL_STEP "step"             /* what is done next */
#define TRIAL_LOADER "loader"         /* name, version */
#define TRIAL_UNLOADABLE "unloadable" /* why */
#define TRIAL_PLATFORM "platform"     /* name, version, number of devices */
#define TRIAL_DEVICE "device" /* index, name, platform, driver, version of
                                 OpenCL, PCI address, type */
#define TRIAL_WORKS "works"           /* index */
#define TRIAL_FAILS "fails"           /* index, why */
#define TRIAL_REFUSAL "refusal"       /* why no device is seen */
#define TRIAL_DONE "done"

#endif
