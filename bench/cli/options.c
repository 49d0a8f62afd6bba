/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all options, and the parser of the command line.
 *
 * Parser, --help, man page and shell completions read the one table, so they
 * always agree. A new option is a row of option_rows, a field of struct
 * settings, and its name in the list of each command that takes it.
 *
 * Options and positional arguments may come in any order, and the options that
 * are valid depend on the command. So the command line is read twice: the
 * first pass finds the command (the first positional argument), the second
 * stores options and positional arguments in struct settings. */
#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <crosslane/sampling.h>

#include "base/alloc.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/console.h"

/* In the order of xl_dtype. */
static const char *const dtypes[] = {"f32",    "f16",    "bf16", "f64",
                                     "i32",    "i8",     "u8",   "bool",
                                     "f8e4m3", "f8e5m2", NULL};
/* In the order of xl_qformat. */
static const char *const formats[] = {"q4_0", "q4_1", "q5_0",   "q8_0",
                                      "q4_k", "q6_k", "iq4_nl", "mxfp4",
                                      "int4", "int8", "fp8",    NULL};
/* In the order of xl_accuracy. */
static const char *const accuracies[] = {"full", "split", "fast", NULL};
/* In the order of xl_activations. */
static const char *const activations[] = {"given", "i8", "f8", NULL};
/* Bit 0: A transposed, bit 1: B transposed. */
static const char *const transposes[] = {"nn", "tn", "nt", "tt", NULL};

/* In the order of enum roofs_kind. */
static const char *const roofs[] = {"kept", "fresh", "theoretical", NULL};

static const char *const layouts[] = {"nchw", "nhwc", NULL};
static const char *const passes[] = {"forward", "backward-data",
                                     "backward-filters", NULL};

#define AT(field) offsetof(struct settings, field)

/* clang-format off */
const struct option_row option_rows[] = {
    {"device", 'd', OPT_TEXT, "N|NAME|UUID|PCI",
     "the device: its number in 'clbench devices', part of its name, its UUID "
     "or its PCI address; 0 when not given", NULL, AT(device), false, NULL},
    {"all-devices", 'a', OPT_FLAG, NULL,
     "all devices, side by side in one table", NULL, AT(all_devices), false,
     NULL},
    {"as", 0, OPT_TEXT, "FILE|NAME",
     "devices that are not here: FILE is what 'clinfo --raw' prints where they "
     "are, NAME one that 'clbench devices --list' prints; nothing is built or "
     "run", NULL, AT(as), false, NULL},
    {"variant", 'v', OPT_TEXT, "NAME|all",
     "force one variant, or run each that supports the case; 'clbench "
     "explain' lists them", NULL, AT(variant), false, NULL},
    {"same-kernel", 0, OPT_TEXT, "NAME",
     "also run this variant on each device, and show it in a table of its own",
     NULL, AT(same_kernel), false, NULL},
    {"dtype", 't', OPT_CHOICE, "f32|f16|bf16|f64|i8|u8|f8e4m3|f8e5m2",
     "element type; sums are in f32, for f64 in f64, for i8 and u8 in i32 "
     "(f64, bytes and the 8-bit floats, whose C is bf16: gemm only)", dtypes,
     AT(dtype), false, NULL},
    {"dtype-b", 0, OPT_CHOICE, "f32|f16|bf16|i8|u8|f8e4m3|f8e5m2",
     "element type of B, where it is not A's, which --dtype gives", dtypes,
     AT(dtype_b), false, NULL},
    {"accuracy", 0, OPT_CHOICE, "full|split|fast",
     "what a product may trade for speed: nothing; f32 as a sum of narrow "
     "terms; f32 rounded to 11 bits and 8-bit floats with the matrix engine's "
     "own sums. A convolution: Winograd's F(2x2, 3x3); also F(4x4, 3x3). "
     "Attention: of f32, as of products",
     accuracies, AT(accuracy), false, NULL},
    {"trans", 0, OPT_CHOICE, "nn|nt|tn|tt",
     "which of A and B is transposed, in this order", transposes, AT(trans),
     false, NULL},
    {"pass", 0, OPT_CHOICE, "forward|backward-data|backward-filters",
     "the result, or the gradient of the images or of the filters; forward "
     "when not given", passes, AT(pass), false, NULL},
    {"layout", 0, OPT_CHOICE, "nchw|nhwc",
     "memory layout of images: nchw with filters KCRS, or nhwc with filters "
     "KRSC; nchw when not given", layouts, AT(layout), false, NULL},
    {"stride", 0, OPT_COUNT, "N",
     "step of the filter in rows and columns; 1 when not given", NULL,
     AT(stride), false, NULL},
    {"pad", 0, OPT_SIZE, "N",
     "rows and columns of zeros on each side of an image; 0 when not given",
     NULL, AT(pad), false, NULL},
    {"dilation", 0, OPT_COUNT, "N",
     "distance of the filter's elements in rows and columns; 1 when not given",
     NULL, AT(dilation), false, NULL},
    {"groups", 0, OPT_COUNT, "N",
     "groups of channels, each with filters of its own; 1 when not given",
     NULL, AT(groups), false, NULL},
    {"log", 0, OPT_FLAG, NULL,
     "the logarithm of the softmax, as for a loss", NULL, AT(log), false, NULL},
    {"rms", 0, OPT_FLAG, NULL,
     "an RMS norm with scale; otherwise a layer norm with scale and bias. "
     "qgemm: rows of A are normed on their way into the product", NULL,
     AT(rms), false, NULL},
    {"pair", 0, OPT_FLAG, NULL,
     "W is two matrices of N / 2 rows, whose products y and y2 are joined in "
     "the kernel: relu(y) * y2",
     NULL, AT(pair), false, NULL},
    {"residual", 0, OPT_FLAG, NULL,
     "a residual is added before the norm, and the sum is stored", NULL,
     AT(residual), false, NULL},
    {"backward", 0, OPT_FLAG, NULL,
     "the gradients, from that of the result; in tune they are ops such as "
     "norm_backward",
     NULL, AT(backward), false, NULL},
    {"causal", 0, OPT_FLAG, NULL,
     "a query sees the keys up to its own place, the last query the last key",
     NULL, AT(causal), false, NULL},
    {"share", 0, OPT_COUNT, "N",
     "so many heads of queries read one head of keys and values; 1 when not "
     "given", NULL, AT(share), false, NULL},
    {"format", 0, OPT_CHOICE,
     "q4_0|q4_1|q5_0|q8_0|q4_k|q6_k|iq4_nl|mxfp4|int4|int8|fp8",
     "format of the weights; q4_0 when not given", formats, AT(format), false,
     NULL},
    {"group", 0, OPT_COUNT, "N",
     "columns of weights of int4 that share a scale and a zero; 128 when not "
     "given; of fp8 rows and columns that share a scale; those of a row when "
     "not given", NULL, AT(group), false, NULL},
    {"dequantise", 0, OPT_FLAG, NULL, "from quantised blocks to --dtype", NULL,
     AT(dequantise), false, NULL},
    {"activations", 0, OPT_CHOICE, "given|i8|f8",
     "how the rows beside quantised weights are multiplied: as they are, or "
     "quantised on the way to bytes, or beside fp8 with scales by row to E4M3, "
     "which changes results", activations,
     AT(activations), false, NULL},
    {"window", 0, OPT_COUNT, "N",
     "a query sees the keys less than N from its place; all when not given",
     NULL, AT(window), false, NULL},
    {"batch", 0, OPT_COUNT, "N",
     "products in one call, each with its own matrices; plan, model: "
     "sequences that are decoded together", NULL, AT(batch), false, NULL},
    {"heads", 0, OPT_COUNT, "N",
     "so many products for each of --batch, as the heads of a sequence: their "
     "matrices lie side by side, line by line", NULL, AT(heads), false, NULL},
    {"shapes", 0, OPT_LIST, "FILE|NAME",
     "shapes from a file, or from one that comes with clbench (--list prints "
     "the names); repeatable. Options of the command line override those of a "
     "line", NULL, AT(shape_files), false, NULL},
    {"sweep", 0, OPT_TEXT, "WHAT=FROM:TO[:STEP]",
     "time each size of WHAT: m, n, k, several as 'nmk', or ld, the leading "
     "dimensions; without a SHAPE m, n and k are equal", NULL, AT(sweep),
     false, NULL},
    {"reads", 0, OPT_FLAG, NULL,
     "count what tiles read from global memory, with measured times: square "
     "tiles of a product; of attention, over keys and over the rows of a "
     "block", NULL, AT(reads), false, NULL},
    {"cliff", 0, OPT_COUNT, "N",
     "time N random shapes and compare each with twice the roofline's bound "
     "and a launch; exit code 5 when one is slower", NULL, AT(cliff), false,
     NULL},
    {"stages", 0, OPT_TEXT, "NAME,...",
     "the stages in order: qk or linear first, then softmax, gelu or pv; qk "
     "when not given", NULL, AT(stages), false, NULL},
    {"mode", 0, OPT_LIST, "NAME,...",
     "only these transfer modes: pageable, pinned, overlapped, mapped, "
     "resident; repeatable", NULL, AT(modes), false, NULL},
    {"chunks", 0, OPT_COUNT, "N",
     "overlapped: cut into N equal chunks; chosen from the measured rates "
     "when not given", NULL, AT(chunks), false, NULL},
    {"buffers", 0, OPT_COUNT, "N",
     "overlapped: N buffers on the device, which the chunks use in rotation; "
     "2 when not given", NULL, AT(buffers), false, NULL},
    {"calls", 0, OPT_COUNT, "N",
     "runs between two waits for the device; 1 when not given", NULL,
     AT(calls), false, NULL},
    {"tile", 0, OPT_TEXT, "ROWSxCOLS",
     "compute the split for tiles of this size; run nothing", NULL, AT(tile),
     false, NULL},
    {"units", 0, OPT_COUNT, "N",
     "compute the split for N compute units; run nothing", NULL, AT(units),
     false, NULL},
    {"portability", 0, OPT_FLAG, NULL,
     "harmonic means of efficiencies over the devices of all files", NULL,
     AT(portability), false, NULL},
    {"shape", 0, OPT_LIST, "NAME=SHAPE[:TYPE],...",
     "sizes of a name, separated by x: x=4096x4096, x=1e8; and its type if "
     "not --dtype: f64, f32, f16, bf16, i64, i32, i8, u32, u16, u8, bool; "
     "repeatable. A name that "
     "is read and not given has the first shape, one that is assigned the "
     "shape of its value", NULL, AT(shapes), false, NULL},
    {"scalar", 0, OPT_LIST, "NAME=VALUE[:TYPE],...",
     "a scalar of f32, or of f64, i64 or i32; repeatable", NULL, AT(scalars), false,
     NULL},
    {"range", 0, OPT_LIST, "NAME=LO:HI,...",
     "data of a name: uniform from LO to HI, or 'index', each element's "
     "position in its row; nearly normal when not given", NULL, AT(ranges),
     false, NULL},
    {"fast-math", 0, OPT_FLAG, NULL,
     "permit native functions and inexact algebra", NULL, AT(fast_math), false,
     NULL},
    {"explain", 0, OPT_FLAG, NULL,
     "print the limits that the library used with their sources, the variants "
     "in order, why each before the chosen one was not chosen, tile and "
     "work-group, and the bound by the device's peaks; of an expression what "
     "each kernel computes, why, and what it moves. Nothing is timed",
     NULL, AT(explain), false, NULL},
    {"source", 0, OPT_FLAG, NULL,
     "as --explain, with the OpenCL C of each kernel", NULL, AT(source), false,
     NULL},
    {"json", 'j', OPT_TEXT, "FILE",
     "also write the results to FILE as JSON (schema clbench/1), rewritten "
     "after each section; '-', or no value at the end of the command line: "
     "standard output, without tables", NULL, AT(json), false, "-"},
    {"csv", 0, OPT_TEXT, "FILE",
     "write the results to FILE as CSV, one line for each row; '-': standard "
     "output, without tables", NULL, AT(csv), false, "-"},
    {"markdown", 0, OPT_TEXT, "FILE",
     "write the tables to FILE as Markdown; '-': standard output, without "
     "tables", NULL, AT(markdown), false, "-"},
    {"html", 0, OPT_TEXT, "FILE",
     "write the results to FILE as one HTML page with its charts; it needs no "
     "network", NULL, AT(html), false, "-"},
    {"svg", 0, OPT_TEXT, "FOLDER",
     "write the charts of the results as SVG files to FOLDER, which is "
     "created if necessary; split, plan: one chart, FILE or in FOLDER/", NULL,
     AT(svg), false, NULL},
    {"trace", 0, OPT_TEXT, "FILE",
     "also write the times of calls, queues and engines to FILE as "
     "trace-event JSON, for Perfetto (ui.perfetto.dev) or chrome://tracing",
     NULL, AT(trace), false, NULL},
    {"seed", 's', OPT_UINT, "N", "seed of all random data; 1 when not given",
     NULL, AT(seed), false, NULL},
    {"quick", 0, OPT_FLAG, NULL, "fewer cases and repetitions: seconds", NULL,
     AT(quick), false, NULL},
    {"full", 0, OPT_FLAG, NULL, "all cases, more repetitions: minutes", NULL,
     AT(full), false, NULL},
    {"roofs", 0, OPT_CHOICE, "kept|fresh|theoretical",
     "roofs of rows: the best seen on this device so far (kept, when not "
     "given), those of this run only, or those of units, lanes and clock",
     roofs, AT(roofs), false, NULL},
    {"max-time", 'm', OPT_SECONDS, "S",
     "stop the run after S seconds and keep the results so far", NULL,
     AT(max_time_s), false, NULL},
    {"runs", 0, OPT_COUNT, "N",
     "take N samples of each row, at most 1024, whatever their spread; until "
     "the median is known when not given", NULL, AT(runs), false, NULL},
    {"warmup", 0, OPT_SIZE, "N",
     "discard N runs of each row, at most 1024, before the first sample, "
     "besides the one whose result is checked; 1 to 3 when not given", NULL,
     AT(warmup), false, NULL},
    {"min-time", 0, OPT_SECONDS, "S",
     "take samples of each row for at least S seconds, or 1024 of them", NULL,
     AT(min_time_s), false, NULL},
    {"cold", 0, OPT_FLAG, NULL,
     "before each run write a buffer of twice the last-level cache, so that "
     "caches have none of the data (128 MiB where the device does not state "
     "its cache; at most its largest buffer); a sample is one run", NULL,
     AT(cold), false, NULL},
    {"budget", 0, OPT_SECONDS, "90s|5m|1h",
     "time for all shapes together; 5m when not given", NULL, AT(budget_s),
     false, NULL},
    {"tries", 0, OPT_COUNT, "N", "try at most N candidates for each shape",
     NULL, AT(tries), false, NULL},
    {"patience", 0, OPT_SECONDS, "90s|5m|1h",
     "time without output after which a child process is taken to hang: a "
     "driver, 60s when not given; a candidate, 20s beyond the expected time "
     "of its runs", NULL, AT(patience_s), false, NULL},
    {"interval", 'i', OPT_SECONDS, "0.5s|1m",
     "time between two readings; 1s when not given", NULL, AT(interval_s),
     false, NULL},
    {"count", 'c', OPT_COUNT, "N", "stop after N readings", NULL, AT(count),
     false, NULL},
    {"rounds", 0, OPT_COUNT, "N",
     "stop after N rounds; 10 when not given", NULL, AT(rounds), false, NULL},
    {"output", 'o', OPT_TEXT, "FILE",
     "add the tuned sets or the profile to FILE instead of the user's "
     "settings; report --bug: the folder, bug-VARIANT when not given", NULL,
     AT(output), false, NULL},
    {"dry-run", 'n', OPT_FLAG, NULL,
     "list the candidates in the order of the model's times; run nothing",
     NULL, AT(dry_run), false, NULL},
    {"model", 0, OPT_TEXT, "NAME|config.json",
     "a language model: a name that --list prints, or its config.json; other "
     "options override it", NULL, AT(plan.model), false, NULL},
    {"params", 0, OPT_TEXT, "N", "number of all weights: 14e9, 14B", NULL,
     AT(plan.params), false, NULL},
    {"active", 0, OPT_TEXT, "N",
     "mixture of experts: number of weights that one token uses; with "
     "--experts", NULL, AT(plan.active), false, NULL},
    {"experts", 0, OPT_TEXT, "USED/ALL",
     "experts of a layer that one token uses, and all of them: 2/8", NULL,
     AT(plan.experts), false, NULL},
    {"layers", 0, OPT_TEXT, "N",
     "number of layers; model: run the first N of them", NULL,
     AT(plan.layers), false, NULL},
    {"kv-heads", 0, OPT_TEXT, "N",
     "heads of keys and values: with grouped queries fewer than query heads",
     NULL, AT(plan.kv_heads), false, NULL},
    {"head-dim", 0, OPT_TEXT, "N",
     "elements of a key, and of a value, of one head", NULL, AT(plan.head_dim),
     false, NULL},
    {"weights", 0, OPT_TEXT, "TYPE[/BLOCK]|BITS",
     "storage of weights: f32, f16, bf16, fp8, int8, int4, with an f16 scale "
     "for each BLOCK of them if given (int4/32), or a format as q4_0 and q8_0; "
     "model: fp8 in blocks of 128 x 128, fp8/channel; plan: also bits per weight including scales (4.5); f16 when not "
     "given", NULL, AT(plan.weights), false, NULL},
    {"kv", 0, OPT_TEXT, "TYPE[/BLOCK]|BITS",
     "storage of keys and values, likewise; f16 when not given", NULL,
     AT(plan.kv), false, NULL},
    {"context", 0, OPT_TEXT, "TOKENS",
     "tokens of a sequence, k for 1024 of them: 32k; 8192 when not given, "
     "model: 4096", NULL, AT(plan.context), false, NULL},
    {"contexts", 0, OPT_TEXT, "TOKENS,...",
     "also time decoding at each of these contexts, with each of --batches",
     NULL, AT(plan.contexts), false, NULL},
    {"batches", 0, OPT_TEXT, "N,...",
     "also time decoding of each of so many sequences, at each of --contexts",
     NULL, AT(plan.batches), false, NULL},
    {"prompt", 0, OPT_COUNT, "TOKENS",
     "tokens of the prompt that is timed; 512 when not given", NULL,
     AT(plan.prompt), false, NULL},
    {"tokens", 0, OPT_COUNT, "N",
     "steps of decoding in a run, up to the end of the context; 4 when not "
     "given. With --ids: ids to choose; 32 when not given", NULL,
     AT(plan.tokens), false, NULL},
    {"gguf", 0, OPT_TEXT, "FILE",
     "the model and the weights of a file of ggml", NULL, AT(plan.gguf),
     false, NULL},
    {"ids", 0, OPT_TEXT, "ID,...",
     "the ids of a prompt: print the ids that the model chooses behind it, "
     "each the most likely one; time nothing", NULL, AT(plan.ids), false,
     NULL},
    {"training", 0, OPT_FLAG, NULL,
     "also the memory for training all weights with Adam", NULL,
     AT(plan.training), false, NULL},
    {"from", 0, OPT_LIST, "FILE",
     "the devices of a result file, with the rates measured there; repeatable",
     NULL, AT(plan.from), false, NULL},
    {"bandwidth", 0, OPT_TEXT, "B/s",
     "memory bandwidth of a device to plan for, instead of those present: "
     "1008GB/s", NULL, AT(plan.bandwidth), false, NULL},
    {"peak", 0, OPT_TEXT, "FLOP/s",
     "its arithmetic rate for products of these types: 165TFLOP/s", NULL,
     AT(plan.peak), false, NULL},
    {"memory", 0, OPT_TEXT, "B", "its memory size: 24GB, 22.5GiB", NULL,
     AT(plan.memory), false, NULL},
    {"link", 0, OPT_TEXT, "B/s",
     "its link to the host, over which weights are loaded: 31.5GB/s", NULL,
     AT(plan.link), false, NULL},
    {"name", 0, OPT_TEXT, "KERNEL",
     "the kernel, where FILE has more than one; or FILE:KERNEL", NULL,
     AT(kernel.name), false, NULL},
    {"size", 0, OPT_LIST, "NAME=VALUE[,VALUE...],...",
     "a name for formulas and its values, each a case of its own; a value may "
     "be a formula over the sizes before it; repeatable", NULL,
     AT(kernel.sizes), false, NULL},
    {"arg", 0, OPT_LIST, "in|out|inout|local:TYPE:LENGTH[:DATA] or TYPE=VALUE",
     "an argument of the kernel, in their order: a buffer, local memory or a "
     "scalar. TYPE is float, half, uint, float4 and so on, or f32, f16, bf16, "
     "u32; DATA of what is read is normal (when not given), zeros, iota or "
     "below=FORMULA, random integers; repeatable", NULL, AT(kernel.args),
     false, NULL},
    {"global", 0, OPT_TEXT, "FORMULA[,FORMULA...]",
     "the work-items of the launch in each dimension", NULL,
     AT(kernel.global), false, NULL},
    {"local", 0, OPT_TEXT, "FORMULA[,FORMULA...]",
     "those of a work-group; the driver's choice when not given", NULL,
     AT(kernel.local), false, NULL},
    {"bytes", 0, OPT_TEXT, "FORMULA",
     "the bytes that a run reads and writes in memory, counted; for its rate "
     "and roof", NULL, AT(kernel.bytes), false, NULL},
    {"flop", 0, OPT_TEXT, "FORMULA",
     "the floating-point operations of a run, counted; likewise", NULL,
     AT(kernel.flop), false, NULL},
    {"define", 'D', OPT_LIST, "NAME[=VALUE[,VALUE...]]",
     "a macro of the build and its values, each a variant of its own; "
     "formulas may use it; repeatable", NULL, AT(kernel.defines), false,
     NULL},
    {"options", 0, OPT_TEXT, "TEXT",
     "further options of the OpenCL compiler: '-cl-std=CL2.0 -cl-mad-enable'",
     NULL, AT(kernel.options), false, NULL},
    {"against", 0, OPT_TEXT, "FILE[:KERNEL][@GLOBAL[@LOCAL]]",
     "time another kernel with the same arguments beside it, interleaved; the "
     "launch is the same unless given", NULL, AT(kernel.against), false,
     NULL},
    {"check", 0, OPT_TEXT, "FILE[:KERNEL][@GLOBAL[@LOCAL]]",
     "compare the results with those of another kernel with the same "
     "arguments, before and after the timing; a wrong one is a rejected row",
     NULL, AT(kernel.check), false, NULL},
    {"tolerance", 0, OPT_REAL, "X",
     "what floats may differ by, relative to the larger one of the expected "
     "value and the root mean square of its buffer; 1.5e-5 for f32 when not "
     "given, integers are exact", NULL, AT(kernel.tolerance), false, NULL},
    {"describe", 0, OPT_FLAG, NULL,
     "print with each table what it measures and what may mislead it", NULL,
     AT(describe), false, NULL},
    {"strict", 0, OPT_FLAG, NULL, "a rejected row is a failure: exit code 1",
     NULL, AT(strict), false, NULL},
    {"list", 'l', OPT_FLAG, NULL,
     "list the available items with a description, and stop", NULL, AT(list),
     false, NULL},
    {"bug", 0, OPT_TEXT, "VARIANT",
     "look for a wrong result of this variant, and write a folder that "
     "reproduces it without crosslane", NULL, AT(bug), false, NULL},
    {"schema", 0, OPT_FLAG, NULL,
     "print the JSON Schema of result files, and stop", NULL, AT(schema),
     false, NULL},
    {"verbose", 'v', OPT_FLAG, NULL,
     "print all facts of each device, with their sources", NULL, AT(verbose),
     false, NULL},
    {"damaged", 0, OPT_FLAG, NULL, "clear: remove only damaged entries", NULL,
     AT(damaged), false, NULL},
    {"with", 0, OPT_LIST, "FILE|NAME",
     "also a run that comes with clbench, by its NAME, or a FILE; repeatable",
     NULL, AT(with), false, NULL},
    {"fail-on", 0, OPT_LIST, "slower:P%|rejected|missing,...",
     "exit code 5 when the whole interval of a row, of an operation or of "
     "all together exceeds P percent; when a row that had a time is rejected or fails; when a row is "
     "missing", NULL, AT(fail_on), false, NULL},
    {"margin", 0, OPT_PERCENT, "P%",
     "a difference of up to P percent counts as none; 5% when not given", NULL,
     AT(margin), false, NULL},
    {"noise", 0, OPT_PERCENT, "P%",
     "noise between two runs, in percent; estimated when not given", NULL,
     AT(noise), false, NULL},
    {"quiet", 'q', OPT_FLAG, NULL,
     "only results and errors: no progress, warnings or advice", NULL,
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
                   sizeof(xl_accuracy) == sizeof(int) &&
                   sizeof(xl_activations) == sizeof(int),
               "OPT_CHOICE stores an int");
_Static_assert(sizeof option_rows / sizeof *option_rows <= OPTIONS_MOST,
               "settings.given has an element for each row");

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

/* -- values ----------------------------------------------------------------
 */

static bool read_uint(const char *text, uint64_t *out)
{
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, hex ? 16 : 10);
    *out = value;
    return isdigit((unsigned char)*text) && !*end && errno == 0;
}

/* A non-negative decimal number, with an optional `tail`; 0: none. */
static bool read_real(const char *text, char tail, double *out)
{
    char *end = NULL;
    *out = strtod(text, &end);
    bool is_decimal = isdigit((unsigned char)*text) || *text == '.';
    end += tail && *end == tail;
    return is_decimal && end > text && !*end && isfinite(*out);
}

/* "90", "90s", "1.5m", "2h". */
static bool read_seconds(const char *text, double *out)
{
    static const struct {
        char tail;
        double s;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (read_real(text, units[i].tail, out)) {
            *out *= units[i].s;
            return *out > 0;
        }
    return false;
}

static bool read_percent(const char *text, double *out)
{
    return read_real(text, '%', out);
}

/* Types by the names of C, OpenCL C and other tools. */
static const struct {
    const char *name, *type;
} type_aliases[] = {
    {"fp32", "f32"},    {"float", "f32"},      {"float32", "f32"},
    {"single", "f32"},  {"fp16", "f16"},       {"half", "f16"},
    {"float16", "f16"}, {"bfloat16", "bf16"},  {"fp64", "f64"},
    {"double", "f64"},  {"float64", "f64"},    {"int8", "i8"},
    {"char", "i8"},     {"uint8", "u8"},       {"uchar", "u8"},
    {"int32", "i32"},   {"int", "i32"},        {"fp8e4m3", "f8e4m3"},
    {"e4m3", "f8e4m3"}, {"fp8e5m2", "f8e5m2"}, {"e5m2", "f8e5m2"},
};

const char *option_type_name(const char *text)
{
    for (size_t i = 0; i < sizeof type_aliases / sizeof *type_aliases; i++)
        if (strcmp(type_aliases[i].name, text) == 0)
            return type_aliases[i].type;
    return text;
}

static bool read_choice(const char *text, const char *const *choices, int *out)
{
    text = choices == dtypes ? option_type_name(text) : text;
    for (int i = 0; choices[i]; i++)
        if (strcmp(choices[i], text) == 0) {
            *out = i;
            return true;
        }
    return false;
}

static bool read_list(const char *text, struct option_list *out)
{
    if (!*text || out->n == OPTION_TIMES)
        return false;
    out->value[out->n++] = text;
    return true;
}

/* An integer of at least `least`. */
static bool read_count(const char *text, size_t least, size_t *out)
{
    uint64_t value = 0;
    if (!read_uint(text, &value) || value < least)
        return false;
    *out = (size_t)value;
    return *out == value;
}

static bool store_value(const struct option_row *row, const char *text,
                        void *field)
{
    switch (row->kind) {
    case OPT_FLAG:
        *(bool *)field = true;
        return true;
    case OPT_TEXT:
        *(const char **)field = text;
        return *text != '\0';
    case OPT_UINT:
        return read_uint(text, field);
    case OPT_COUNT:
        return read_count(text, 1, field);
    case OPT_SIZE:
        return read_count(text, 0, field);
    case OPT_SECONDS:
        return read_seconds(text, field);
    case OPT_PERCENT:
        return read_percent(text, field);
    case OPT_REAL:
        return read_real(text, '\0', field);
    case OPT_CHOICE:
        return read_choice(text, row->choices, field);
    case OPT_LIST:
        return read_list(text, field);
    }
    return false;
}

bool option_set(const struct option_row *row, const char *text,
                struct settings *set)
{
    set->given[row - option_rows] = true;
    return store_value(row, text, (char *)set + row->offset);
}

bool option_is_given(const struct option_row *row, const struct settings *set)
{
    return set->given[row - option_rows];
}

const char *option_requirement(const struct option_row *row)
{
    switch (row->kind) {
    case OPT_UINT:
    case OPT_SIZE:
        return "a non-negative integer";
    case OPT_COUNT:
        return "a positive integer";
    case OPT_SECONDS:
        return "a positive time, in seconds or with a unit s, m or h: 90s";
    case OPT_PERCENT:
        return "a non-negative percentage: 5%";
    case OPT_REAL:
        return "a non-negative number: 1e-5";
    default:
        return row->value;
    }
}

bool option_is_among(const char *values, const char *text)
{
    const size_t n = strlen(text);
    for (const char *at = values; at; at = strchr(at, '|')) {
        at += *at == '|';
        if (strncmp(at, text, n) == 0 && (at[n] == '|' || at[n] == '\0'))
            return true;
    }
    return false;
}

const char *option_values(const struct command *c,
                          const struct option_row *row)
{
    return c && c->dtypes && row->offset == AT(dtype) ? c->dtypes : row->value;
}

/* -- items of the command line ---------------------------------------------
 */

/* The position in the command line. */
struct cursor {
    char **argv;
    int argc, i_arg;
    const char *letters;           /* the rest of "-qh", or NULL */
    bool is_past_dashes;           /* after "--": positional arguments only */
    const struct command *command; /* NULL: not known yet */
};

struct item {
    const char *text; /* as written: "--device", "-d", "1024" */
    bool is_option;
    const struct option_row *row; /* NULL: no such option */
    const char *value;            /* NULL: none given */
    bool is_value_joined;         /* "--name=value" */
    char letter[3];               /* "-d", for messages */
};

static const struct command *const *all_commands;

void commands_set(const struct command *const *list)
{
    all_commands = list;
}

const struct command *const *commands_all(void)
{
    return all_commands;
}

static const char *(*find_name)(const struct option_row *row, unsigned i);

void option_names_set(const char *(*name_at)(const struct option_row *row,
                                             unsigned i))
{
    find_name = name_at;
}

const char *option_name_at(const struct option_row *row, unsigned i)
{
    return find_name ? find_name(row, i) : NULL;
}

static const struct option_row *find_option_n(const char *name, size_t len)
{
    for (const struct option_row *row = option_rows; row->name; row++)
        if (strlen(row->name) == len && strncmp(row->name, name, len) == 0)
            return row;
    return NULL;
}

/* Two commands may have the same letter for options of their own: that of `c`,
 * or the first one if c has none. */
static const struct option_row *find_letter(const struct command *c,
                                            char letter)
{
    const struct option_row *first = NULL;
    for (const struct option_row *row = option_rows; row->name; row++) {
        if (row->letter != letter || !letter)
            continue;
        if (c && command_takes(c, row))
            return row;
        first = first ? first : row;
    }
    return first;
}

/* Take the value from the next argument, if the option requires one. */
static void read_value(struct cursor *c, struct item *item)
{
    if (!item->row || item->row->kind == OPT_FLAG || item->value)
        return;
    if (c->i_arg < c->argc)
        item->value = c->argv[c->i_arg++];
    else
        item->value = item->row->bare;
}

static void read_long(struct cursor *c, struct item *item)
{
    const char *name = item->text + 2;
    size_t len = strcspn(name, "=");
    item->row = find_option_n(name, len);
    item->is_value_joined = name[len] == '=';
    if (item->is_value_joined)
        item->value = name + len + 1;
    read_value(c, item);
}

static void read_letter(struct cursor *c, struct item *item)
{
    char letter = *c->letters++;
    memcpy(item->letter, (char[]){'-', letter, '\0'}, 3);
    item->text = item->letter;
    item->row = find_letter(c->command, letter);
    bool has_value = item->row && item->row->kind != OPT_FLAG;
    if (has_value && *c->letters) {
        item->value = c->letters + (*c->letters == '=');
        c->letters = NULL;
    }
    if (c->letters && !*c->letters)
        c->letters = NULL;
    read_value(c, item);
}

/* Read the next item; false at the end of the command line. */
static bool next_item(struct cursor *c, struct item *item)
{
    *item = (struct item){.is_option = true};
    if (!c->letters) {
        if (c->i_arg >= c->argc)
            return false;
        item->text = c->argv[c->i_arg++];
        if (!c->is_past_dashes && strcmp(item->text, "--") == 0) {
            c->is_past_dashes = true;
            return next_item(c, item);
        }
        item->is_option =
            !c->is_past_dashes && item->text[0] == '-' && item->text[1];
        if (!item->is_option)
            return true;
        if (item->text[1] == '-') {
            read_long(c, item);
            return true;
        }
        c->letters = item->text + 1;
    }
    read_letter(c, item);
    return true;
}

/* -- messages --------------------------------------------------------------
 */

static bool report_usage_error(const struct command *c, const char *fmt, ...)
    XL__PRINTF(2, 3);

/* Print one line: what is wrong, and the command that prints the help. */
static bool report_usage_error(const struct command *c, const char *fmt, ...)
{
    struct xl__str raw = {0}, clean = {0};
    va_list args;
    va_start(args, fmt);
    xl__str_vprintf(&raw, fmt, args);
    va_end(args);
    text_escape(&clean, xl__str_text(&raw));
    const char *name = c ? c->name : "";
    fprintf(stderr, "clbench: %s (see 'clbench%s%s --help')\n",
            xl__str_text(&clean), *name ? " " : "", name);
    xl__str_clear(&raw);
    xl__str_clear(&clean);
    return false;
}

static bool report_unknown_option(const struct command *c, const char *text)
{
    enum { MOST = 64 };
    const char *names[MOST + 1] = {NULL};
    unsigned n = 0;
    for (const struct option_row *r = option_rows; r->name && n < MOST; r++)
        if (command_takes(c, r))
            names[n++] = r->name;
    const char *nearest =
        text[1] == '-' ? text_nearest(text + 2, names) : NULL;
    if (nearest)
        return report_usage_error(
            c, "unknown option '%s'; did you mean '--%s'?", text, nearest);
    return report_usage_error(c, "unknown option '%s'", text);
}

/* What other programs call a command. */
static const struct {
    const char *name, *ours;
} other_names[] = {{"list", "devices"},
                   {"info", "devices --verbose"},
                   {"version", "--version"},
                   {"selftest", "verify"}};

static bool report_unknown_command(const char *text)
{
    enum { MOST = 64 };
    for (size_t i = 0; i < sizeof other_names / sizeof *other_names; i++)
        if (strcmp(text, other_names[i].name) == 0)
            return report_usage_error(
                NULL, "unknown command '%s'; did you mean '%s'?", text,
                other_names[i].ours);
    const char *names[MOST + 1] = {NULL};
    for (unsigned i = 0; commands_all()[i] && i < MOST; i++)
        names[i] = commands_all()[i]->name;
    const char *nearest = text_nearest(text, names);
    if (nearest)
        return report_usage_error(
            NULL, "unknown command '%s'; did you mean '%s'?", text, nearest);
    return report_usage_error(NULL, "unknown command '%s'", text);
}

/* -- the command line ------------------------------------------------------
 */

/* Find the command; `*name` is its text, "" when none is given. "help COMMAND"
 * is the same as "COMMAND --help". *unknown: an option before it that no
 * command has, whose value may have been read as the command; or NULL. */
static const struct command *find_command(int argc, char **argv,
                                          const char **name, bool *is_help,
                                          const char **unknown)
{
    struct cursor c = {argv, argc, 1, NULL, false, NULL};
    struct item item;
    *name = "";
    *unknown = NULL;
    *is_help = false;
    while (next_item(&c, &item)) {
        if (item.is_option && !item.row && !*unknown)
            *unknown = item.text;
        if (item.is_option)
            continue;
        if (*is_help || strcmp(item.text, "help") != 0) {
            *name = item.text;
            break;
        }
        *is_help = true;
    }
    for (unsigned i = 0; commands_all()[i]; i++)
        if (strcmp(commands_all()[i]->name, *name) == 0)
            return commands_all()[i];
    return NULL;
}

static bool set_option(const struct command *c, const struct item *item,
                       struct settings *set)
{
    const struct option_row *row = item->row;
    if (!row)
        return report_unknown_option(c, item->text);
    if (!command_takes(c, row)) {
        if (!*c->name)
            return report_usage_error(
                c, "option '--%s' is not valid without a command", row->name);
        return report_usage_error(
            c, "option '--%s' is not valid for command '%s'", row->name,
            c->name);
    }
    if (row->kind == OPT_FLAG && item->is_value_joined)
        return report_usage_error(c, "option '--%s' does not take a value",
                                  row->name);
    if (row->kind != OPT_FLAG && !item->value)
        return report_usage_error(c, "option '--%s' requires a value: %s",
                                  row->name, option_values(c, row));
    const bool is_read = option_set(row, item->value, set);
    const bool is_narrowed = option_values(c, row) != row->value;
    if (!is_read ||
        (is_narrowed && !option_is_among(option_values(c, row),
                                         option_type_name(item->value))))
        return report_usage_error(c, "invalid value '%s' for --%s: must be %s",
                                  item->value, row->name,
                                  is_narrowed ? option_values(c, row)
                                              : option_requirement(row));
    return true;
}

static bool check_settings(const struct command *c, const struct settings *set)
{
    if (set->help || set->version)
        return true;
    if (set->quick && set->full)
        return report_usage_error(c,
                                  "--quick and --full are mutually exclusive");
    if (set->runs > XL_MAX_SAMPLES || set->warmup > XL_MAX_SAMPLES)
        return report_usage_error(
            c, "invalid value '%zu' for --%s: must be at most %d",
            set->runs > XL_MAX_SAMPLES ? set->runs : set->warmup,
            set->runs > XL_MAX_SAMPLES ? "runs" : "warmup", XL_MAX_SAMPLES);
    if (set->runs > 0 && set->min_time_s > 0)
        return report_usage_error(
            c, "--runs and --min-time are mutually exclusive");
    if (set->device && set->all_devices)
        return report_usage_error(
            c, "--device and --all-devices are mutually exclusive");
    if (set->n_words < c->min_words && !set->list)
        return report_usage_error(c, "missing argument; usage: clbench %s %s",
                                  c->name, c->words ? c->words : "");
    if (set->n_words > c->max_words)
        return report_usage_error(
            c, "unexpected argument '%s'; usage: clbench %s%s%s",
            set->words[c->max_words], c->name, *c->name && c->words ? " " : "",
            c->words ? c->words : "");
    return true;
}

bool args_parse(int argc, char **argv, struct settings *set,
                const struct command **command)
{
    *set = (struct settings){.dtype = XL_N_DTYPES,
                             .dtype_b = XL_N_DTYPES,
                             .trans = -1,
                             .layout = -1,
                             .format = -1,
                             .seed = 1,
                             .margin = NAN,
                             .noise = NAN,
                             .kernel.tolerance = NAN};
    const char *name = NULL, *unknown = NULL;
    *command = find_command(argc, argv, &name, &set->help, &unknown);
    if (!*command && unknown)
        return report_unknown_option(commands_all()[0], unknown);
    if (!*command)
        return report_unknown_command(name);
    set->words = xl__calloc((size_t)argc + 1, sizeof *set->words);
    if (!set->words)
        return report_usage_error(*command, "out of memory");
    struct cursor c = {argv, argc, 1, NULL, false, *command};
    struct item item;
    bool is_command_read = *name == '\0';
    while (next_item(&c, &item)) {
        if (item.is_option) {
            if (!set_option(*command, &item, set))
                return false;
        } else if (!is_command_read) {
            is_command_read = true;
        } else {
            set->words[set->n_words++] = item.text;
        }
    }
    return check_settings(*command, set);
}

void args_free(struct settings *set)
{
    free(set->words);
    set->words = NULL;
    set->n_words = 0;
}
