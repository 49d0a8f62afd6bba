/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix instructions of a device as a table. */
#ifndef CLBENCH_MATRIX_TABLE_H
#define CLBENCH_MATRIX_TABLE_H

#include <crosslane/device.h>

/* Prints nothing for a device without. */
void matrix_table_print(const xl_device *dev, unsigned width);

#endif
