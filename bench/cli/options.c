/* SPDX-License-Identifier: Apache-2.0 */
/* The one option table. Parsing, --help, the man page and the completions all
 * read it; adding an option is a row here, a field in struct settings and its
 * name in the commands that take it. */
#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/console.h"

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

/*@@ The text of an option's value, by its kind. */

static bool read_uint(const char *text, uint64_t *out)
{
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, hex ? 16 : 10);
    *out = value;
    return isdigit((unsigned char)*text) && !*end && errno == 0;
}

/* A number of at least 0 with nothing but `tail` allowed behind it. */
static bool read_real(const char *text, char tail, double *out)
{
    char *end = NULL;
    *out = strtod(text, &end);
    bool is_decimal = isdigit((unsigned char)*text) || *text == '.';
    end += *end == tail;
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

static bool read_choice(const char *text, const char *const *choices, int *out)
{
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

/* A whole number from `least` on. */
static bool read_count(const char *text, size_t least, size_t *out)
{
    uint64_t value = 0;
    if (!read_uint(text, &value) || value < least)
        return false;
    *out = (size_t)value;
    return *out == value;
}

static bool store(const struct option_row *row, const char *text, void *field)
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
    return store(row, text, (char *)set + row->offset);
}

bool option_is_given(const struct option_row *row, const struct settings *set)
{
    return set->given[row - option_rows];
}

const char *option_asks(enum option_kind kind)
{
    switch (kind) {
    case OPT_UINT:
    case OPT_SIZE:
        return ", a whole number";
    case OPT_COUNT:
        return ", a whole number from 1 on";
    case OPT_SECONDS:
        return ", a time above 0, in seconds or with s, m or h behind it";
    case OPT_PERCENT:
        return ", a percentage";
    default:
        return "";
    }
}

/*@@ The reader of the command line. Options may stand anywhere among the words;
 * the first word names the command, so the line is read twice: once for that
 * word, once for what the command takes. */

/* -- one item of the command line at a time ------------------------------- */

struct cursor {
    char **argv;
    int argc, at;
    const char *letters; /* rest of "-qh", or NULL */
    bool only_words;     /* after "--" */
};

struct item {
    const char *text; /* as written: "--device", "-d", "1024" */
    bool is_option;
    const struct option_row *row; /* NULL: no such option */
    const char *value;            /* NULL: none given */
    bool value_joined;            /* "--name=value" */
    char spelling[3];             /* "-d", for messages */
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

static const struct option_row *find_n(const char *name, size_t len)
{
    for (const struct option_row *row = option_rows; row->name; row++)
        if (strlen(row->name) == len && strncmp(row->name, name, len) == 0)
            return row;
    return NULL;
}

static const struct option_row *find_letter(char letter)
{
    for (const struct option_row *row = option_rows; row->name; row++)
        if (row->letter == letter && letter)
            return row;
    return NULL;
}

/* The value in the next argument, if the option wants one. */
static void take_value(struct cursor *c, struct item *item)
{
    if (!item->row || item->row->kind == OPT_FLAG || item->value)
        return;
    if (c->at < c->argc)
        item->value = c->argv[c->at++];
    else
        item->value = item->row->bare;
}

static void read_long(struct cursor *c, struct item *item)
{
    const char *name = item->text + 2;
    size_t len = strcspn(name, "=");
    item->row = find_n(name, len);
    item->value_joined = name[len] == '=';
    if (item->value_joined)
        item->value = name + len + 1;
    take_value(c, item);
}

static void read_letter(struct cursor *c, struct item *item)
{
    char letter = *c->letters++;
    memcpy(item->spelling, (char[]){'-', letter, '\0'}, 3);
    item->text = item->spelling;
    item->row = find_letter(letter);
    bool wants = item->row && item->row->kind != OPT_FLAG;
    if (wants && *c->letters) {
        item->value = c->letters + (*c->letters == '=');
        c->letters = NULL;
    }
    if (c->letters && !*c->letters)
        c->letters = NULL;
    take_value(c, item);
}

/* The next item; false at the end of the line. */
static bool next_item(struct cursor *c, struct item *item)
{
    *item = (struct item){.is_option = true};
    if (!c->letters) {
        if (c->at >= c->argc)
            return false;
        item->text = c->argv[c->at++];
        if (!c->only_words && strcmp(item->text, "--") == 0) {
            c->only_words = true;
            return next_item(c, item);
        }
        item->is_option =
            !c->only_words && item->text[0] == '-' && item->text[1];
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

/* -- complaints ----------------------------------------------------------- */

static bool complain(const struct command *c, const char *fmt, ...)
    XL__PRINTF(2, 3);

/* One line: what is wrong, and where to read on. */
static bool complain(const struct command *c, const char *fmt, ...)
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

static bool unknown_option(const struct command *c, const char *text)
{
    enum { MOST = 64 };
    const char *names[MOST + 1] = {NULL};
    unsigned n = 0;
    for (const struct option_row *r = option_rows; r->name && n < MOST; r++)
        if (command_takes(c, r))
            names[n++] = r->name;
    const char *near = text[1] == '-' ? text_nearest(text + 2, names) : NULL;
    if (near)
        return complain(c, "unknown option '%s'; did you mean '--%s'?", text,
                        near);
    return complain(c, "unknown option '%s'", text);
}

static bool unknown_command(const char *text)
{
    enum { MOST = 64 };
    const char *names[MOST + 1] = {NULL};
    for (unsigned i = 0; commands_all()[i] && i < MOST; i++)
        names[i] = commands_all()[i]->name;
    const char *near = text_nearest(text, names);
    if (near)
        return complain(NULL, "unknown command '%s'; did you mean '%s'?", text,
                        near);
    return complain(NULL, "unknown command '%s'", text);
}

/* -- the whole line ------------------------------------------------------- */

/* "help COMMAND" is "COMMAND --help". */
static const struct command *find_command(int argc, char **argv,
                                          const char **name, bool *is_help)
{
    struct cursor c = {argv, argc, 1, NULL, false};
    struct item item;
    *name = "";
    *is_help = false;
    while (next_item(&c, &item)) {
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
        return unknown_option(c, item->text);
    if (!command_takes(c, row)) {
        const char *whose = *c->name ? c->name : "the suite";
        return complain(c, "%s does not take --%s", whose, row->name);
    }
    if (row->kind == OPT_FLAG && item->value_joined)
        return complain(c, "--%s takes no value", row->name);
    if (row->kind != OPT_FLAG && !item->value)
        return complain(c, "--%s wants a value: %s", row->name, row->value);
    if (!option_set(row, item->value, set))
        return complain(c, "--%s: '%s' will not do; give %s%s", row->name,
                        item->value, row->value, option_asks(row->kind));
    return true;
}

static bool check_whole(const struct command *c, const struct settings *set)
{
    if (set->help || set->version)
        return true;
    if (set->quick && set->full)
        return complain(c, "--quick and --full exclude each other");
    if (set->device && set->all_devices)
        return complain(c, "--device and --all-devices exclude each other");
    if (set->n_words < c->min_words && !set->list)
        return complain(c, "too few arguments; usage: clbench %s %s", c->name,
                        c->words ? c->words : "");
    if (set->n_words > c->max_words)
        return complain(c, "what is '%s' for? usage: clbench %s%s%s",
                        set->words[c->max_words], c->name,
                        *c->name && c->words ? " " : "",
                        c->words ? c->words : "");
    return true;
}

bool args_parse(int argc, char **argv, struct settings *set,
                const struct command **command)
{
    *set = (struct settings){
        .dtype = XL_N_DTYPES, .trans = -1, .layout = -1, .seed = 1,
        .margin = NAN, .noise = NAN};
    const char *name = NULL;
    *command = find_command(argc, argv, &name, &set->help);
    if (!*command)
        return unknown_command(name);
    set->words = xl__calloc((size_t)argc + 1, sizeof *set->words);
    if (!set->words)
        return complain(*command, "out of memory");
    struct cursor c = {argv, argc, 1, NULL, false};
    struct item item;
    bool named = *name == '\0';
    while (next_item(&c, &item)) {
        if (item.is_option) {
            if (!set_option(*command, &item, set))
                return false;
        } else if (!named) {
            named = true;
        } else {
            set->words[set->n_words++] = item.text;
        }
    }
    return check_whole(*command, set);
}

void args_free(struct settings *set)
{
    free(set->words);
    set->words = NULL;
    set->n_words = 0;
}
