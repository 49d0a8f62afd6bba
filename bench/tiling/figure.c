/* SPDX-License-Identifier: Apache-2.0 */
/* Which unit ran which tile, from `clbench split`: its own picture again. */
#include "charts/figure_data.h"
#include "tiling/json.h"
#include "tiling/measurement.h"
#include "tiling/picture.h"

static bool draw(const struct result_file *file, const json_t *device,
                 struct xl__str *out)
{
    struct split_page page;
    if (!split_read(figure_entry(file, device, "split"), &page))
        return false;
    split_svg(&page, out);
    split_page_clear(&page);
    return true;
}

const struct figure figure_split = {
    .name = "split",
    .title = "Split",
    .about =
        "How a result is cut into tiles and which compute unit ran each: by "
        "place, by time, and how many units had work. Colours tell when a tile "
        "was begun, or, where all begin at once, the unit.",
    .draw = draw,
};
