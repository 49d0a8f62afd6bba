/* SPDX-License-Identifier: Apache-2.0 */
/* The one option table. Parsing, --help, the man page and the completions all
 * read it; adding an option is a row here, a field in struct settings and its
 * name in the commands that take it. */
#include "cli/args.h"

#include <stddef.h>
#include <string.h>

#include "cli/command.h"

/* In the order of xl_dtype. */
static const char *const dtypes[] = {
    "f32", "f16", "bf16", "f64",    "i32",    "i8",
    "u8",  "bool", "f8e4m3", "f8e5m2", NULL};
/* In the order of xl_accuracy. */
static const char *const accuracies[] = {"full", "split", "fast", NULL};
/* Bit 0: A transposed, bit 1: B transposed. */
static const char *const transposes[] = {"nn", "tn", "nt", "tt", NULL};

static const char *const layouts[] = {"nchw", "nhwc", NULL};

#define AT(field) offsetof(struct settings, field)

/* clang-format off */
const struct option_row option_rows[] = {
    {"device", 'd', OPT_TEXT, "N|NAME|UUID|PCI",
     "the device: its number in 'clbench devices', part of its name, its UUID "
     "or its PCI address; 0 when not given", NULL, AT(device), false, NULL},
    {"all-devices", 'a', OPT_FLAG, NULL,
     "every device, side by side in one table", NULL, AT(all_devices), false,
     NULL},
    {"variant", 'v', OPT_TEXT, "NAME|all",
     "force one variant, or run each that applies; 'clbench explain' lists "
     "them", NULL, AT(variant), false, NULL},
    {"dtype", 't', OPT_CHOICE, "f32|f16|bf16|f64|i8|f8e4m3|f8e5m2",
     "type of the elements; sums are in f32, of f64 in f64, of i8 in i32 "
     "(gemm alone takes these and the 8-bit floats, whose C is bf16)", dtypes,
     AT(dtype), false, NULL},
    {"accuracy", 0, OPT_CHOICE, "full|split|fast",
     "what a product may trade for speed: nothing; products of f32 made of "
     "parts; f32 rounded to 11 bits and 8-bit floats summed as the matrix "
     "engine does", accuracies, AT(accuracy), false, NULL},
    {"trans", 0, OPT_CHOICE, "nn|nt|tn|tt",
     "which of A and B is transposed, in this order", transposes, AT(trans),
     false, NULL},
    {"layout", 0, OPT_CHOICE, "nchw|nhwc",
     "how images lie in memory: a channel's pixels together, with filters "
     "KCRS, or a pixel's channels, with filters KRSC; nchw when not given",
     layouts, AT(layout), false, NULL},
    {"stride", 0, OPT_COUNT, "N",
     "rows and columns from one place of the filter to the next; 1 when not "
     "given", NULL, AT(stride), false, NULL},
    {"pad", 0, OPT_SIZE, "N",
     "rows and columns of zeros on each side of an image; none when not "
     "given", NULL, AT(pad), false, NULL},
    {"dilation", 0, OPT_COUNT, "N",
     "rows and columns from one element of the filter to the next; 1 when "
     "not given", NULL, AT(dilation), false, NULL},
    {"groups", 0, OPT_COUNT, "N",
     "groups of channels, each with filters of its own; 1 when not given",
     NULL, AT(groups), false, NULL},
    {"batch", 0, OPT_COUNT, "N",
     "products of a call, each with matrices of its own; of plan: sequences "
     "that are decoded together", NULL, AT(batch), false, NULL},
    {"shapes", 0, OPT_LIST, "FILE|NAME",
     "shapes from a file, or from one that comes with clbench (--list names "
     "them); may be given again. Options stand above what its lines say",
     NULL, AT(shape_files), false, NULL},
    {"sweep", 0, OPT_TEXT, "WHAT=FROM:TO[:STEP]",
     "time every size of WHAT: m, n, k, several as 'nmk', or ld, the leading "
     "dimensions; without a SHAPE all three sides grow together", NULL,
     AT(sweep), false, NULL},
    {"reads", 0, OPT_FLAG, NULL,
     "count what square tiles of 8 to 128 read from global memory, beside "
     "their measured rates", NULL, AT(reads), false, NULL},
    {"cliff", 0, OPT_COUNT, "N",
     "time N random shapes and compare each with twice the roofline's bound "
     "and a launch; exit code 5 when one is slower", NULL, AT(cliff), false,
     NULL},
    {"stages", 0, OPT_TEXT, "NAME,...",
     "the work, one stage after another: qk or linear first, then softmax, "
     "gelu or pv; qk when not given", NULL, AT(stages), false, NULL},
    {"mode", 0, OPT_LIST, "NAME,...",
     "only these ways to move the data: pageable, pinned, overlapped, mapped, "
     "resident; may be given again", NULL, AT(modes), false, NULL},
    {"chunks", 0, OPT_COUNT, "N",
     "overlapped: cut into N equal chunks; chosen from the measured rates "
     "when not given", NULL, AT(chunks), false, NULL},
    {"buffers", 0, OPT_COUNT, "N",
     "overlapped: chunks take turns in N places on the device; 2 when not "
     "given", NULL, AT(buffers), false, NULL},
    {"calls", 0, OPT_COUNT, "N",
     "runs that are waited for together; 1 when not given", NULL, AT(calls),
     false, NULL},
    {"tile", 0, OPT_TEXT, "ROWSxCOLS",
     "split into tiles of this size, and run nothing", NULL, AT(tile), false,
     NULL},
    {"units", 0, OPT_COUNT, "N",
     "as if there were N compute units, and run nothing", NULL, AT(units),
     false, NULL},
    {"portability", 0, OPT_FLAG, NULL,
     "harmonic means of efficiencies over the devices of all files", NULL,
     AT(portability), false, NULL},
    {"shape", 0, OPT_LIST, "NAME=SHAPE[:TYPE],...",
     "sizes of a name, parted by x: x=4096x4096, x=1e8, and its type if not "
     "--dtype: f32, f16, bf16, i32, i8, u8, bool; may be given again. What is "
     "read and not given has the first shape; what is assigned has its "
     "value's", NULL, AT(shapes), false, NULL},
    {"scalar", 0, OPT_LIST, "NAME=VALUE[:i32],...",
     "a name that is one number, f32 unless i32 is said; may be given again",
     NULL, AT(scalars), false, NULL},
    {"range", 0, OPT_LIST, "NAME=LO:HI,...",
     "data of a name: uniform from LO to HI, or 'index', each element's place "
     "in its row; near-normal numbers when not given", NULL, AT(ranges),
     false, NULL},
    {"fast-math", 0, OPT_FLAG, NULL,
     "allow native functions and inexact algebra", NULL, AT(fast_math), false,
     NULL},
    {"explain", 0, OPT_FLAG, NULL,
     "say what each kernel computes, why, and what it moves; time nothing",
     NULL, AT(explain), false, NULL},
    {"source", 0, OPT_FLAG, NULL,
     "as --explain, with the OpenCL C of each kernel", NULL, AT(source),
     false, NULL},
    {"json", 'j', OPT_TEXT, "FILE",
     "also write the results to FILE as JSON (schema clbench/1), rewritten "
     "after each part; '-', or nothing behind it at the end of the line: "
     "standard output, without tables", NULL, AT(json), false, "-"},
    {"csv", 0, OPT_TEXT, "FILE",
     "write the results to FILE as CSV, a row a line, for a spreadsheet; "
     "'-': standard output, without tables", NULL, AT(csv), false, "-"},
    {"markdown", 0, OPT_TEXT, "FILE",
     "write the tables to FILE as Markdown; '-': standard output, without "
     "tables", NULL, AT(markdown), false, "-"},
    {"html", 0, OPT_TEXT, "FILE",
     "write the results to FILE as one HTML page, with its pictures in it, "
     "for a browser; it needs no network", NULL, AT(html), false, "-"},
    {"svg", 0, OPT_TEXT, "FOLDER",
     "draw the pictures that the results have, an SVG file each in FOLDER, "
     "made if it is not there; split, plan: one picture, FILE or in FOLDER/",
     NULL, AT(svg), false, NULL},
    {"trace", 0, OPT_TEXT, "FILE",
     "also write what ran when, calls, queues and engines, to FILE as "
     "trace-event JSON, for Perfetto (ui.perfetto.dev) or chrome://tracing",
     NULL, AT(trace), false, NULL},
    {"seed", 's', OPT_UINT, "N",
     "seed of all random data; 1 when not given", NULL, AT(seed), false,
     NULL},
    {"quick", 0, OPT_FLAG, NULL,
     "fewer cases and repeats: seconds", NULL, AT(quick), false, NULL},
    {"full", 0, OPT_FLAG, NULL,
     "every case, more repeats: minutes", NULL, AT(full), false, NULL},
    {"max-time", 'm', OPT_SECONDS, "S",
     "stop the whole run after S seconds and keep what there is", NULL,
     AT(max_time_s), false, NULL},
    {"budget", 0, OPT_SECONDS, "90s|5m|1h",
     "time for all shapes together, shared among them; 5m when not given",
     NULL, AT(budget_s), false, NULL},
    {"tries", 0, OPT_COUNT, "N",
     "try at most N candidates for a shape, then go on with the next", NULL,
     AT(tries), false, NULL},
    {"patience", 0, OPT_SECONDS, "90s|5m|1h",
     "what says nothing for so long hangs: a driver, 60s when not given; a "
     "candidate, 20s beyond what its runs should take",
     NULL, AT(patience_s), false, NULL},
    {"interval", 'i', OPT_SECONDS, "0.5s|1m",
     "time from one reading to the next; 1s when not given", NULL,
     AT(interval_s), false, NULL},
    {"count", 'c', OPT_COUNT, "N", "stop after N readings", NULL, AT(count),
     false, NULL},
    {"output", 'o', OPT_TEXT, "FILE",
     "keep what was found in FILE, beside what it has, and not in the user's "
     "settings", NULL, AT(output), false, NULL},
    {"dry-run", 'n', OPT_FLAG, NULL,
     "list the candidates, best first by the model; try nothing", NULL,
     AT(dry_run), false, NULL},
    {"model", 0, OPT_TEXT, "NAME|config.json",
     "a language model: one that --list names, or the config.json that comes "
     "with it; other options stand above what it says", NULL, AT(plan.model),
     false, NULL},
    {"params", 0, OPT_TEXT, "N",
     "its weights, all of them: 14e9, 14B", NULL, AT(plan.params), false,
     NULL},
    {"active", 0, OPT_TEXT, "N",
     "of a mixture of experts, the weights that one token meets; with "
     "--experts", NULL, AT(plan.active), false, NULL},
    {"experts", 0, OPT_TEXT, "USED/ALL",
     "experts of a layer that one token is sent to, and all of them: 2/8",
     NULL, AT(plan.experts), false, NULL},
    {"layers", 0, OPT_TEXT, "N", "its layers", NULL, AT(plan.layers), false,
     NULL},
    {"kv-heads", 0, OPT_TEXT, "N",
     "heads whose keys and values are kept: with grouped queries fewer than "
     "query heads", NULL, AT(plan.kv_heads), false, NULL},
    {"head-dim", 0, OPT_TEXT, "N", "numbers in a key and in a value", NULL,
     AT(plan.head_dim), false, NULL},
    {"weights", 0, OPT_TEXT, "TYPE[/BLOCK]|BITS",
     "how weights are stored: f32, f16, bf16, fp8, int8, int4, with one f16 "
     "scale for BLOCK of them if it is said (int4/32), or bits a weight with "
     "all that belongs to it (4.5); f16 when not given", NULL,
     AT(plan.weights), false, NULL},
    {"kv", 0, OPT_TEXT, "TYPE[/BLOCK]|BITS",
     "how keys and values are stored, likewise; f16 when not given", NULL,
     AT(plan.kv), false, NULL},
    {"context", 0, OPT_TEXT, "TOKENS",
     "tokens of a sequence, k for 1024 of them: 32k; 8192 when not given",
     NULL, AT(plan.context), false, NULL},
    {"training", 0, OPT_FLAG, NULL,
     "also the memory for training all weights with Adam", NULL,
     AT(plan.training), false, NULL},
    {"from", 0, OPT_LIST, "FILE",
     "the devices of a result file, as they were measured there; may be given "
     "again", NULL, AT(plan.from), false, NULL},
    {"bandwidth", 0, OPT_TEXT, "B/s",
     "plan for a device of these rates, and open none: of its memory, "
     "1008GB/s", NULL, AT(plan.bandwidth), false, NULL},
    {"peak", 0, OPT_TEXT, "FLOP/s",
     "its arithmetic, as fast as products of these types can be: 165TFLOP/s",
     NULL, AT(plan.peak), false, NULL},
    {"memory", 0, OPT_TEXT, "B", "its memory: 24GB, 22.5GiB", NULL,
     AT(plan.memory), false, NULL},
    {"link", 0, OPT_TEXT, "B/s",
     "what weights come over when they are loaded: 31.5GB/s", NULL,
     AT(plan.link), false, NULL},
    {"strict", 0, OPT_FLAG, NULL,
     "a rejected row is a failure: exit code 1", NULL, AT(strict), false,
     NULL},
    {"list", 'l', OPT_FLAG, NULL,
     "list what there is, each with what is known of it, and stop", NULL,
     AT(list), false, NULL},
    {"damaged", 0, OPT_FLAG, NULL,
     "clear: remove only damaged entries", NULL, AT(damaged), false, NULL},
    {"fail-on", 0, OPT_LIST, "slower:P%|rejected|missing,...",
     "exit code 5 when a row or an op is slower by more than P percent, its "
     "whole interval considered; when a row that had a time is rejected or "
     "fails; when a row is missing", NULL, AT(fail_on), false, NULL},
    {"margin", 0, OPT_PERCENT, "P%",
     "differences up to P percent are none; 2% when not given", NULL,
     AT(margin), false, NULL},
    {"noise", 0, OPT_PERCENT, "P%",
     "two runs of the same differ by P percent; found out when not given",
     NULL, AT(noise), false, NULL},
    {"quiet", 'q', OPT_FLAG, NULL,
     "results and errors alone: no progress, warnings or advice", NULL,
     AT(quiet), true, NULL},
    {"help", 'h', OPT_FLAG, NULL, "show this help and stop", NULL, AT(help),
     true, NULL},
    {"version", 'V', OPT_FLAG, NULL,
     "show the versions of the program and of the library, and stop", NULL,
     AT(version), true, NULL},
    {NULL, 0, OPT_FLAG, NULL, NULL, NULL, 0, false, NULL},
};
/* clang-format on */

_Static_assert(sizeof(xl_dtype) == sizeof(int) &&
                   sizeof(xl_accuracy) == sizeof(int),
               "OPT_CHOICE stores an int");
_Static_assert(sizeof option_rows / sizeof *option_rows <= OPTIONS_MOST,
               "settings.given has a place for each");

const struct option_row *option_find(const char *name)
{
    for (const struct option_row *row = option_rows; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}

const char *option_choice(const struct option_row *row, int value)
{
    for (int i = 0; row->choices && row->choices[i]; i++)
        if (i == value)
            return row->choices[i];
    return NULL;
}

bool command_takes(const struct command *c, const struct option_row *row)
{
    if (row->common)
        return true;
    for (const char *const *name = c->options; name && *name; name++)
        if (strcmp(*name, row->name) == 0)
            return true;
    return false;
}
