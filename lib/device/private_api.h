/* SPDX-License-Identifier: Apache-2.0 */
/* Marks the internal functions that libcrosslane exports to
 * libcrosslane-measure of the same version, under the symbol version
 * CROSSLANE_PRIVATE. They may change in any release: an application must not
 * call them. */
#ifndef XL_DEVICE_PRIVATE_API_H
#define XL_DEVICE_PRIVATE_API_H

#include <crosslane/cl.h>

#define XL__PRIVATE_API XL_API

#endif
