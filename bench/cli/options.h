/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the command line: the table that describes them, the settings
 * that they are parsed into, and the parser. --help, the man page and the
 * shell completions are generated from the same table. */
#ifndef CLBENCH_CLI_OPTIONS_H
#define CLBENCH_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <crosslane/qgemm.h>
#include <crosslane/softmax.h>

/* The values of a repeatable option. */
enum { OPTION_TIMES = 64 };
struct option_list {
    const char *value[OPTION_TIMES];
    unsigned n;
};

enum { OPTIONS_MOST = 128 }; /* rows of the option table */

/* Options of `clbench plan` and `clbench model`: quantities as text; NULL: not
 * given. */
struct plan_settings {
    const char *model, *params, *active, *experts, *layers, *kv_heads;
    const char *head_dim, *weights, *kv, *context;
    const char *bandwidth, *peak, *link, *memory; /* of a device */
    struct option_list from; /* result files with the devices to plan for */
    bool training;
    size_t prompt, tokens; /* model; 0: not given */
    const char *gguf, *ids; /* model: a file; a prompt */
    const char *contexts, *batches; /* model: lists */
};

/* Options of `clbench kernel`: formulas and files as text; NULL: not given. */
struct kernel_settings {
    const char *name, *global, *local, *bytes, *flop, *options;
    const char *against, *check; /* FILE[:KERNEL][@GLOBAL[@LOCAL]] */
    struct option_list sizes, args, defines;
    double tolerance; /* NaN: not given */
};

/* --roofs: what the rate of a row is compared with. */
enum roofs_kind { ROOFS_KEPT, ROOFS_FRESH, ROOFS_THEORETICAL };

/* All that the command line can set. */
struct settings {
    const char *device; /* NULL: device 0 */
    bool all_devices;
    const char *as; /* a listing of devices; NULL: those of this machine */
    const char *variant;     /* NULL: the library's choice; "all": every one */
    const char *same_kernel; /* a variant to run on each device; or NULL */
    xl_dtype dtype, dtype_b; /* XL_N_DTYPES: not given */
    int trans;               /* bit 0: A transposed, bit 1: B; -1: not given */
    xl_accuracy accuracy;
    /* Files of results. NULL: none; "-": standard output. */
    const char *json, *csv, *markdown, *html;
    uint64_t seed;
    bool quick, full;  /* neither: the default extent */
    int roofs;         /* an enum roofs_kind */
    double max_time_s; /* 0: no limit */
    size_t runs;       /* of a row; 0: its own */
    size_t warmup;     /* likewise, if given */
    double min_time_s; /* of a row; 0: no bound */
    bool cold;         /* caches are emptied before each run */
    bool strict, describe, quiet, help, version;
    bool list;                  /* limits: list all facts; probe: all probes */
    bool verbose;               /* devices: with all facts */
    bool damaged;               /* cache clear: only damaged entries */
    double budget_s;            /* tune; 0: not given */
    double patience_s;          /* tune, doctor; 0: not given */
    double interval_s;          /* top; 0: not given */
    size_t rounds;              /* ab; 0: not given */
    size_t count;               /* top: readings; 0: not given */
    size_t tries;               /* tune: candidates of a class; 0: no limit */
    const char *output;         /* tune: file of the sets; NULL: the user's */
    bool dry_run;               /* tune: only list candidates */
    struct option_list with; /* compare, site: runs that come with clbench */
    struct option_list fail_on; /* compare: gates */
    double margin, noise;       /* compare: in percent; NaN: not given */
    struct option_list shapes, scalars, ranges; /* expr */
    bool fast_math, explain, source;            /* expr */
    int layout; /* conv: an xl_layout; -1: not given */
    int pass;   /* conv: an xl_conv_pass */
    size_t stride, pad, dilation, groups; /* conv; 0: not given */
    struct option_list shape_files;       /* gemm, conv: files of shapes */
    bool log;                             /* softmax */
    bool rms, residual;                   /* norm; rms also qgemm */
    bool pair;                            /* qgemm */
    bool backward;                        /* softmax, norm */
    bool causal;                          /* attention */
    size_t share, window;                 /* attention; 0: not given */
    int format;        /* qgemm, qconvert: an xl_qformat; -1: not given */
    size_t group;      /* qgemm, of int4 and fp8; 0: not given */
    bool dequantise;   /* qconvert */
    xl_activations activations; /* qgemm, model */
    size_t batch;      /* products of a call; 0: not given */
    size_t heads;      /* products for each of these; 0: not given */
    size_t calls;      /* peers: runs per wait; 0: one */
    const char *sweep; /* gemm: "n=1780:2060"; NULL: none */
    bool reads;        /* gemm: count global reads by tile */
    size_t cliff;      /* gemm: number of random shapes; 0: none */
    const char *tile;  /* split: "256x128"; NULL: the library's */
    size_t units;      /* split: compute units; 0: the device's */
    const char *svg;   /* folder of the pictures; split, plan: or a file;
                          NULL: none */
    bool schema;       /* report: print the schema of result files */
    const char *bug;   /* report: a variant whose result is wrong; or NULL */
    bool portability;  /* compare: over the devices of all files */
    const char *trace; /* NULL: none */
    struct option_list modes; /* pipeline; empty: all */
    const char *stages;       /* pipeline: "qk,softmax"; NULL: not given */
    size_t chunks, buffers;   /* pipeline; 0: chosen */
    const char *case_name;    /* name of a line of a shape file; NULL: none */
    struct plan_settings plan;
    struct kernel_settings kernel;
    bool given[OPTIONS_MOST]; /* by index into option_rows */
    const char **words;       /* positional arguments, without the command */
    unsigned n_words;
};

enum option_kind {
    OPT_FLAG,
    OPT_TEXT,
    OPT_UINT,
    OPT_SECONDS,
    OPT_PERCENT,
    OPT_REAL, /* double, 0 or more */
    OPT_CHOICE,
    OPT_COUNT, /* size_t, 1 or more */
    OPT_SIZE,  /* size_t, 0 or more */
    OPT_LIST   /* struct option_list: repeatable */
};

struct option_row {
    const char *name; /* long, without dashes */
    char letter;      /* 0: none */
    enum option_kind kind;
    const char *value; /* "N|NAME|UUID|PCI"; NULL for a flag */
    const char *help;
    const char *const *choices; /* OPT_CHOICE: NULL-terminated */
    size_t offset;              /* of the field in struct settings */
    bool common;                /* every command takes it */
    const char *bare; /* value as the last argument without one; or NULL */
};

extern const struct option_row option_rows[]; /* NULL name last */

/* The i-th name that an option takes besides files, up to a dot in it; NULL:
 * there are no more. Shells complete them. main() sets the function. */
void option_names_set(const char *(*name_at)(const struct option_row *row,
                                             unsigned i));
const char *option_name_at(const struct option_row *row, unsigned i);

struct command;

/* The commands of the program, which main() sets first; NULL-terminated. The
 * one whose name is "" runs when none is given. */
void commands_set(const struct command *const *list);
const struct command *const *commands_all(void);

/* Parse the command line into *set, and find the command (the suite when none
 * is given). On a usage error: print one line to stderr, with what is wrong
 * and where to read on, and return false. args_free() in any case. */
bool args_parse(int argc, char **argv, struct settings *set,
                const struct command **command);
void args_free(struct settings *set);
const struct option_row *option_find(const char *name);
/* Parse `text` as the option's value into its field; false: invalid. */
bool option_set(const struct option_row *row, const char *text,
                struct settings *set);
/* The name of an element type: "f32" of "fp32" or "float"; other texts are
 * returned. */
const char *option_type_name(const char *text);
/* What a value must be, for messages: "a positive integer", "nn|nt|tn|tt". */
const char *option_requirement(const struct option_row *row);
/* The same of one command: the types that its --dtype takes. */
struct command;
const char *option_values(const struct command *c,
                          const struct option_row *row);
/* Is a text one of "nn|nt|tn|tt"? */
bool option_is_among(const char *values, const char *text);
bool option_is_given(const struct option_row *row, const struct settings *set);
/* The text of a choice; NULL when `value` is none of them. */
const char *option_choice(const struct option_row *row, int value);
bool command_takes(const struct command *c, const struct option_row *row);
/* Print --help of a command; NULL: of the program. */
void args_help(FILE *to, const struct command *command);
/* Print the manual as a man page (roff). */
void args_man(FILE *to);
/* Print the completion of "bash", "zsh" or "fish"; false: another shell. */
bool args_completion(FILE *to, const char *shell);

#endif
