/* SPDX-License-Identifier: Apache-2.0 */
/* Every warning and its remedy, as one table in the order of XL_WARN_MAP. The
 * advice depends on the options in use, so that it never names an option that
 * is given already. */
#include "results/warnings.h"

#include <crosslane/measure.h>

struct warning {
    const char *text;
    const char *advice;       /* NULL: none */
    const char *advice_quick; /* instead, with --quick, which is the
                                 default of the suite; NULL: the same */
};

#define CODE_OF(name, text) [XL_WARN_BIT_##name] = text,
static const char *const codes[] = {XL_WARN_MAP(CODE_OF)};
#undef CODE_OF

/* clang-format off */
static const struct warning warnings[XL_N_WARN] = {
    [XL_WARN_BIT_NOISY] = {
        .text = "the spread stayed wide",
        .advice = "close other programs, or compare medians only",
        .advice_quick = "run with --full, so that more runs are taken"},
    [XL_WARN_BIT_TOO_SHORT] = {
        .text = "a batch of runs took less than 1 ms",
        .advice = "take a larger shape"},
    [XL_WARN_BIT_WALL_CLOCK] = {
        .text = "timed by the wall clock: the event times are not "
                "reliable"},
    [XL_WARN_BIT_CLOCK_DRIFT] = {
        .text = "later runs were slower than earlier ones",
        .advice = "the device may lower its clock: let it cool, check its "
                  "power limit"},
    [XL_WARN_BIT_FEW_RUNS] = {
        .text = "few runs were taken",
        .advice = "allow more time with --max-time, or use --full",
        .advice_quick = "run with --full"},
    [XL_WARN_BIT_OUTLIERS] = {
        .text = "more than one run in ten was an outlier",
        .advice = "another program may be using the device"},
    [XL_WARN_BIT_POWER_LIMIT] = {
        .text = "the power limit held the clock down",
        .advice = "usual under full load; compare runs at the same limit"},
    [XL_WARN_BIT_SHARED] = {
        .text = "other programs took more than a tenth of the device",
        .advice = "close them, or compare medians only"},
};
/* clang-format on */

const char *warn_code(unsigned bit)
{
    return bit < XL_N_WARN ? codes[bit] : "?";
}

const char *warn_text(unsigned bit)
{
    return bit < XL_N_WARN && warnings[bit].text ? warnings[bit].text : "";
}

const char *warn_advice(unsigned bit, const struct settings *set)
{
    if (bit >= XL_N_WARN)
        return NULL;
    const struct warning *w = &warnings[bit];
    return set->quick && w->advice_quick ? w->advice_quick : w->advice;
}
