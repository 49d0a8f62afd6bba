/* SPDX-License-Identifier: Apache-2.0 */
/* Device profiles: rates of a device that xl_calibrate() of
 * libcrosslane-measure measured once, by which variants and tiles are then
 * selected in every process. Without a profile they are selected by rates that
 * are computed from the driver's facts, or assumed for the class of device.
 *
 * A profile is kept in the file of the device's tuned sets (crosslane/tune.h),
 * in the same folders and with the same order of preference. */
#ifndef CROSSLANE_PROFILE_H
#define CROSSLANE_PROFILE_H

#include <crosslane/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { XL_PROFILE_RATES = 32 };

/** A measured rate or time of a device. */
typedef struct xl_rate {
    char fact[32]; ///< name of the fact: xl_fact_name()
    double value;  ///< in the fact's unit; > 0
} xl_rate;

typedef struct xl_profile {
    char driver[128];  ///< with which it was measured
    char date[24];     ///< "2026-11-21T23:03:23Z"
    char library[24];  ///< version
    char origin[256];  ///< of xl_profile_find(): the file, or "shipped"
    unsigned n_rates;  ///< 0: no profile
    xl_rate rates[XL_PROFILE_RATES];
} xl_profile;

/** The profile by which a library that is opened now selects on this queue's
 *  device; n_rates is 0 if there is none. That of a library which is open
 *  already does not change.
 *  @return XL_OK; XL_BAD_ARGUMENT (a NULL) */
XL_API xl_status xl_profile_find(xl_queue *q, xl_profile *out);

/** Save the rates of a profile in the user's file for this queue's device, or
 *  in the file at @p path, in place of the profile that the file has; driver,
 *  date and library are those of this call. The file is read, merged and
 *  replaced under a lock, so it is complete at any time. Libraries that are
 *  opened later use it.
 *
 *  @return XL_OK; XL_BAD_ARGUMENT: a NULL, no rate or too many, a rate that is
 *          not a positive number, or of a fact that is not a rate; XL_IO, or
 *          XL_CORRUPT: the file at @p path is not of tuned sets or not of this
 *          device, and is as it was. The reason is in xl_error_detail(q) */
XL_API xl_status xl_profile_save(xl_queue *q, const xl_profile *profile,
                                 const char *path);

#ifdef __cplusplus
}
#endif
#endif
