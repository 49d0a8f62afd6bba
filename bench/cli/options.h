/* SPDX-License-Identifier: Apache-2.0 */
/* The one option table: it parses, and makes --help, the man page and the
 * shell completions. */
#ifndef CLBENCH_CLI_OPTIONS_H
#define CLBENCH_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <crosslane/ops.h>

/* The values of an option that may be given again and again. */
enum { OPTION_TIMES = 64 };
struct option_list {
    const char *value[OPTION_TIMES];
    unsigned n;
};

enum { OPTIONS_MOST = 128 }; /* rows of the option table */

/* Of `clbench plan`: quantities as they were written; NULL: not given. */
struct plan_settings {
    const char *model, *params, *active, *experts, *layers, *kv_heads;
    const char *head_dim, *weights, *kv, *context;
    const char *bandwidth, *peak, *link, *memory; /* of a device */
    struct option_list from; /* result files whose devices are planned for */
    bool training;
};

/* Everything the command line can set. */
struct settings {
    const char *device;     /* NULL: device 0 */
    bool all_devices;
    const char *variant;    /* NULL: the library's choice; "all": each */
    xl_dtype dtype;         /* XL_N_DTYPES: not given */
    int trans;              /* bit 0: A transposed, bit 1: B; -1: not given */
    xl_accuracy accuracy;
    /* Files of results. NULL: none; "-": standard output. */
    const char *json, *csv, *markdown, *html;
    uint64_t seed;
    bool quick, full;       /* neither: the default extent */
    double max_time_s;      /* 0: no bound */
    bool strict, quiet, help, version;
    bool list;              /* limits: name every fact; probe: every probe */
    bool damaged;           /* cache clear: damaged entries alone */
    double budget_s;   /* tune; 0: not given */
    double patience_s; /* tune, doctor; 0: not given */
    double interval_s;      /* top; 0: not given */
    size_t count;           /* top: readings; 0: not given */
    size_t tries;           /* tune: candidates of a class; 0: no bound */
    const char *output;     /* tune: where sets are saved; NULL: settings */
    bool dry_run;           /* tune: list candidates alone */
    struct option_list fail_on; /* compare: gates */
    double margin, noise;   /* compare: in percent; NaN: not given */
    struct option_list shapes, scalars, ranges; /* expr: what names are */
    bool fast_math, explain, source;            /* expr */
    int layout;             /* conv: an xl_layout; -1: not given */
    size_t stride, pad, dilation, groups; /* conv; 0: not given */
    struct option_list shape_files; /* gemm, conv: files of shapes */
    size_t batch;           /* products of a call; 0: not given */
    size_t calls;           /* peers: runs waited for together; 0: one */
    const char *sweep;      /* gemm: "n=1780:2060"; NULL: none */
    bool reads;             /* gemm: count global reads by tile */
    size_t cliff;           /* gemm: random shapes against a bound; 0: none */
    const char *tile;       /* split: "256x128"; NULL: the library's */
    size_t units;           /* split: compute units; 0: the device's */
    const char *svg;        /* a folder for pictures; split: or a file; NULL:
                               none */
    bool portability;       /* compare: over the devices of all files */
    const char *trace;      /* NULL: none */
    struct option_list modes; /* pipeline; none: every one */
    const char *stages;     /* pipeline: "qk,softmax"; NULL: not given */
    size_t chunks, buffers; /* pipeline; 0: chosen */
    const char *case_name;  /* of a line of a shape file; NULL: none */
    struct plan_settings plan;
    bool given[OPTIONS_MOST]; /* of option_rows, by place */
    const char **words;     /* positional, without the command */
    unsigned n_words;
};

enum option_kind {
    OPT_FLAG, OPT_TEXT, OPT_UINT, OPT_SECONDS, OPT_PERCENT, OPT_CHOICE,
    OPT_COUNT, /* from 1 on */
    OPT_SIZE,  /* from 0 on */
    OPT_LIST   /* may be given again */
};

struct option_row {
    const char *name;       /* long, without dashes */
    char letter;            /* 0: none */
    enum option_kind kind;
    const char *value;      /* "N|NAME|UUID|PCI"; NULL for a flag */
    const char *help;
    const char *const *choices; /* OPT_CHOICE: NULL-terminated */
    size_t offset;          /* of the field in struct settings */
    bool common;            /* every command takes it */
    const char *bare;       /* its value when it stands last, alone; or NULL */
};

extern const struct option_row option_rows[]; /* NULL name last */

struct command;

/* Parse. Finds the command (the suite when none is named). On bad usage writes
 * one line to stderr with what to do, and returns false. */
bool args_parse(int argc, char **argv, struct settings *set,
                const struct command **command);
void args_free(struct settings *set);
const struct option_row *option_find(const char *name);
/* Set what the row stands for; false: the text will not do. */
bool option_set(const struct option_row *row, const char *text,
                struct settings *set);
/* What a value must be where a letter stands for it: ", a whole number"; ""
 * where help spells it out. */
const char *option_asks(enum option_kind kind);
bool option_is_given(const struct option_row *row, const struct settings *set);
/* The name of an OPT_CHOICE's value; NULL when it was not given. */
const char *option_choice(const struct option_row *row, int value);
bool command_takes(const struct command *c, const struct option_row *row);
/* `command` NULL: the program's own help. */
void args_help(FILE *to, const struct command *command);
/* The whole manual as a man page (roff). */
void args_man(FILE *to);
/* "bash", "zsh", "fish"; false for another shell. */
bool args_completion(FILE *to, const char *shell);

#endif
