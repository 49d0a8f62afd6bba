/* SPDX-License-Identifier: Apache-2.0 */
/* Creates rows: sets all members to "unknown" (NaN, not 0) and appends shapes,
 * parameters and results by name. */
#include <crosslane/measure/row.h>

#include <math.h>
#include <string.h>

#include "base/str.h"
#include "sampling/sampler.h"

const char *xl_verdict_name(xl_verdict verdict)
{
    static const char *const names[] = {"ok", "suspicious", "rejected",
                                        "unsupported", "error"};
    if ((unsigned)verdict >= sizeof names / sizeof *names)
        return "error";
    return names[verdict];
}

void xl_diagnosis_init(xl_diagnosis *out)
{
    if (!out)
        return;
    memset(out, 0, sizeof *out);
    out->share = out->flop_per_s = out->bytes_per_s = NAN;
    out->busy = out->intensity = NAN;
    for (unsigned i = 0; i < XL_N_LIMITERS; i++)
        out->need_ns[i] = NAN;
}

void xl_row_init(xl_row *row, const char *op, const char *variant)
{
    if (!row)
        return;
    memset(row, 0, sizeof *row);
    xl__strcpy(row->op, sizeof row->op, op ? op : "");
    xl__strcpy(row->variant, sizeof row->variant, variant ? variant : "");
    row->dtype = XL_N_DTYPES;
    xl__samples_init(&row->samples);
    row->value = NAN;
    row->unit = "";
    row->roof.value = NAN;
    row->roof.unit = "";
    row->roof.name = "";
    row->verdict = XL_ROW_OK;
    row->launch = (xl_launch_use){NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    xl_diagnosis_init(&row->diagnosis);
}

/* NULL: there is no row, or its list is full, which makes it an error. */
static xl_param *append_param(xl_row *row, bool is_shape, const char *name)
{
    if (!row)
        return NULL;
    unsigned *n = is_shape ? &row->n_shape : &row->n_params;
    if (*n == XL_MAX_PARAMS) {
        row->verdict = XL_ROW_ERROR;
        xl__strfmt(row->reason, sizeof row->reason,
                   "no room for \"%s\": a row has at most %d %s",
                   name ? name : "", XL_MAX_PARAMS,
                   is_shape ? "sizes" : "parameters");
        return NULL;
    }
    xl_param *param = &(is_shape ? row->shape : row->params)[(*n)++];
    memset(param, 0, sizeof *param);
    xl__strcpy(param->name, sizeof param->name, name ? name : "");
    return param;
}

void xl_row_shape(xl_row *row, const char *name, double value)
{
    xl_param *param = append_param(row, true, name);
    if (param)
        param->value = value;
}

void xl_row_param(xl_row *row, const char *name, double value)
{
    xl_param *param = append_param(row, false, name);
    if (param)
        param->value = value;
}

void xl_row_found(xl_row *row, const char *name, double value)
{
    xl_param *param = append_param(row, false, name);
    if (param) {
        param->value = value;
        param->is_found = true;
    }
}

void xl_row_param_text(xl_row *row, const char *name, const char *text)
{
    xl_param *param = append_param(row, false, name);
    if (param) {
        param->value = NAN;
        xl__strcpy(param->text, sizeof param->text, text ? text : "");
    }
}
