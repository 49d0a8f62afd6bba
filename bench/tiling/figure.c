/* SPDX-License-Identifier: Apache-2.0 */
/* The figure "split" of a report: draws the picture of `clbench split` from a
 * result file. */
#include "charts/figure_data.h"
#include "tiling/json.h"
#include "tiling/measurement.h"
#include "tiling/picture.h"

static bool draw_result_file(const struct result_file *file,
                             const json_t *device, struct xl__str *out)
{
    struct tiling_report report;
    if (!tiling_read_json(figure_entry(file, device, "split"), &report))
        return false;
    tiling_svg(&report, out);
    tiling_report_clear(&report);
    return true;
}

const struct figure figure_split = {
    .name = "split",
    .title = "Split",
    .about =
        "How a result is divided into tiles and which compute unit ran each: "
        "by position, by time, and how many units were active. Colours show "
        "when a tile began, or, if all begin at once, the unit.",
    .draw = draw_result_file,
};
