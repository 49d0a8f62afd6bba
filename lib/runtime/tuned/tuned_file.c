/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing and formatting of files of tuned sets (JSON). Users edit these
 * files, so the type and length of every field are checked before it is used.
 */
#include "runtime/tuned/tuned_file.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/alloc.h"

static const char FORMAT[] = "crosslane tuned sets";
enum { DIGITS = 9 }; /* of a time */

static const char *const scopes[XL__N_TUNED_SCOPES] = {
    [XL__TUNED_DEVICE] = "device",
    [XL__TUNED_ARCH] = "arch",
    [XL__TUNED_VENDOR] = "vendor",
};

/* Members that are texts, in the order they are written. */
struct text {
    const char *name;
    size_t offset, cap;
    bool may_be_empty;
};

#define TEXT(type, member, name, may_be_empty)                                \
    {                                                                         \
        name, offsetof(type, member), sizeof(((type *)0)->member),            \
            may_be_empty                                                      \
    }
static const struct text head[] = {
    TEXT(struct xl__tuned_file, device, "name", false),
    TEXT(struct xl__tuned_file, platform, "platform", true),
    TEXT(struct xl__tuned_file, arch, "arch", true),
    TEXT(struct xl__tuned_file, vendor, "vendor", true),
};
static const struct text what[] = {
    TEXT(struct xl__tuned_set, op, "op", false),
    TEXT(struct xl__tuned_set, shape_class, "class", false),
    TEXT(struct xl__tuned_set, variant, "variant", false),
    TEXT(struct xl__tuned_set, tunables, "tunables", true),
};
static const struct text profile[] = {
    TEXT(xl_profile, driver, "driver", true),
    TEXT(xl_profile, date, "date", true),
    TEXT(xl_profile, library, "library", true),
};
static const struct text evidence[] = {
    TEXT(struct xl__tuned_set, driver, "driver", true),
    TEXT(struct xl__tuned_set, date, "date", true),
    TEXT(struct xl__tuned_set, library, "library", true),
    TEXT(struct xl__tuned_set, sources, "sources", true),
};
#undef TEXT
#define N(array) (sizeof array / sizeof *array)

/* -- reading --------------------------------------------------------------- */

static bool read_texts(const json_t *object, const struct text *list, size_t n,
                       void *out, struct xl__str *why)
{
    for (size_t i = 0; i < n; i++) {
        const json_t *member = json_object_get(object, list[i].name);
        const char *text = json_string_value(member);
        const bool is_there = text && *text;
        if ((!is_there && !list[i].may_be_empty) || (member && !text) ||
            (text && strlen(text) >= list[i].cap)) {
            xl__str_printf(why, "\"%s\" is %s", list[i].name,
                           is_there ? "too long" : "not a text");
            return false;
        }
        xl__strcpy((char *)out + list[i].offset, list[i].cap,
                   text ? text : "");
    }
    return true;
}

/* A number of at least `least`; absent is `otherwise`. */
static bool read_number(const json_t *object, const char *name, double least,
                        double otherwise, double *out, struct xl__str *why)
{
    const json_t *member = json_object_get(object, name);
    *out = member ? json_number_value(member) : otherwise;
    if (!member || (json_is_number(member) && *out >= least))
        return true;
    xl__str_printf(why, "\"%s\" is no such number", name);
    return false;
}

static bool read_set(const json_t *object, struct xl__tuned_set *set,
                     struct xl__str *why)
{
    double runs;
    if (!read_texts(object, what, N(what), set, why) ||
        !read_texts(object, evidence, N(evidence), set, why) ||
        !read_number(object, "median_ns", 0, NAN, &set->median_ns, why) ||
        !read_number(object, "mad_ns", 0, NAN, &set->mad_ns, why) ||
        !read_number(object, "gain", 0, NAN, &set->gain, why) ||
        !read_number(object, "runs", 0, 0, &runs, why))
        return false;
    set->runs = runs < UINT_MAX ? (unsigned)runs : UINT_MAX;
    return true;
}

static xl_status read_sets(const json_t *list, struct xl__tuned_file *out,
                           struct xl__str *why)
{
    if (!json_is_array(list)) {
        xl__str_add(why, "it has no list \"sets\"");
        return XL_CORRUPT;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct xl__tuned_set set;
        memset(&set, 0, sizeof set);
        if (!read_set(json_array_get(list, i), &set, why)) {
            xl__str_printf(why, " in set %zu", i + 1);
            return XL_CORRUPT;
        }
        if (!xl__tuned_file_put(out, &set))
            return XL_NO_MEMORY;
    }
    return XL_OK;
}

/* A name that is longer than the room is cut, and so is of no fact. */
static bool read_profile(const json_t *object, xl_profile *out,
                         struct xl__str *why)
{
    json_t *rates = json_object_get(object, "rates"), *value;
    const char *name;
    if (!object)
        return true;
    if (!read_texts(object, profile, N(profile), out, why))
        return false;
    if (json_object_size(rates) > XL_PROFILE_RATES) {
        xl__str_printf(why, "\"profile\" has more than %d rates",
                       XL_PROFILE_RATES);
        return false;
    }
    json_object_foreach(rates, name, value) {
        const double x = json_number_value(value);
        if (!(x > 0)) {
            xl__str_printf(why, "\"%s\" is not a positive number", name);
            return false;
        }
        xl_rate *rate = &out->rates[out->n_rates++];
        xl__strcpy(rate->fact, sizeof rate->fact, name);
        rate->value = x;
    }
    return true;
}

static bool read_scope(const json_t *member, enum xl__tuned_scope *out)
{
    const char *text = json_string_value(member);
    for (int i = 0; text && i < XL__N_TUNED_SCOPES; i++) {
        if (strcmp(text, scopes[i]) == 0) {
            *out = (enum xl__tuned_scope)i;
            return true;
        }
    }
    return false;
}

static xl_status read_root(const json_t *root, struct xl__tuned_file *out,
                           struct xl__str *why)
{
    const json_t *schema = json_object_get(root, "schema");
    const char *format =
        json_string_value(json_object_get(root, "format"));
    if (!format || strcmp(format, FORMAT) != 0 || !json_is_integer(schema)) {
        xl__str_printf(why, "it is no file of \"%s\"", FORMAT);
        return XL_CORRUPT;
    }
    if (json_integer_value(schema) != XL__TUNED_SCHEMA) {
        xl__str_printf(why,
                       "its schema is %lld, this library reads schema %d",
                       (long long)json_integer_value(schema),
                       XL__TUNED_SCHEMA);
        return XL_CORRUPT;
    }
    if (!read_scope(json_object_get(root, "for"), &out->scope)) {
        xl__str_add(why, "\"for\" is not \"device\", \"arch\" or \"vendor\"");
        return XL_CORRUPT;
    }
    if (!read_texts(json_object_get(root, "device"), head, N(head), out, why))
        return XL_CORRUPT;
    if (!read_profile(json_object_get(root, "profile"), &out->profile, why))
        return XL_CORRUPT;
    return read_sets(json_object_get(root, "sets"), out, why);
}

xl_status xl__tuned_file_parse(const char *bytes, size_t len,
                               struct xl__tuned_file *out, struct xl__str *why)
{
    json_error_t error;
    memset(out, 0, sizeof *out);
    json_t *root = json_loadb(bytes, len, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        const bool is_full =
            json_error_code(&error) == json_error_out_of_memory;
        xl__str_printf(why, "line %d: %s", error.line, error.text);
        return is_full ? XL_NO_MEMORY : XL_CORRUPT;
    }
    const xl_status status = read_root(root, out, why);
    json_decref(root);
    return status;
}

/* -- writing --------------------------------------------------------------- */

static void write_texts(json_t *object, const struct text *list, size_t n,
                        const void *from)
{
    for (size_t i = 0; i < n; i++)
        json_object_set_new(
            object, list[i].name,
            json_string((const char *)from + list[i].offset));
}

static void write_number(json_t *object, const char *name, double x)
{
    if (isfinite(x))
        json_object_set_new(object, name, json_real(x));
}

/* One line; what memory is short for is missing, and read back as damaged. */
static void add_line(struct xl__str *out, json_t *object, const char *after)
{
    char *line = object ? json_dumps(object, JSON_REAL_PRECISION(DIGITS))
                        : NULL;
    if (line)
        xl__str_printf(out, "%s%s", line, after);
    else
        out->broken = true;
    free(line);
    json_decref(object);
}

static json_t *set_object(const struct xl__tuned_set *set)
{
    json_t *object = json_object();
    write_texts(object, what, N(what), set);
    write_number(object, "median_ns", set->median_ns);
    write_number(object, "mad_ns", set->mad_ns);
    json_object_set_new(object, "runs", json_integer(set->runs));
    write_number(object, "gain", set->gain);
    write_texts(object, evidence, N(evidence), set);
    return object;
}

static json_t *profile_object(const xl_profile *p)
{
    json_t *object = json_object(), *rates = json_object();
    write_texts(object, profile, N(profile), p);
    for (unsigned i = 0; i < p->n_rates; i++)
        write_number(rates, p->rates[i].fact, p->rates[i].value);
    json_object_set_new(object, "rates", rates);
    return object;
}

void xl__tuned_file_format(const struct xl__tuned_file *file,
                           struct xl__str *out)
{
    json_t *device = json_object();
    write_texts(device, head, N(head), file);
    xl__str_printf(out, "{\"format\": \"%s\", \"schema\": %d,\n\"device\": ",
                   FORMAT, XL__TUNED_SCHEMA);
    add_line(out, device, ",\n");
    xl__str_printf(out, "\"for\": \"%s\",\n", scopes[file->scope]);
    if (file->profile.n_rates > 0) {
        xl__str_add(out, "\"profile\": ");
        add_line(out, profile_object(&file->profile), ",\n");
    }
    xl__str_add(out, "\"sets\": [\n");
    for (size_t i = 0; i < file->n_sets; i++)
        add_line(out, set_object(&file->sets[i]),
                 i + 1 < file->n_sets ? ",\n" : "\n");
    xl__str_add(out, "]}\n");
}

/* -- sets ------------------------------------------------------------------ */

static int compare(const struct xl__tuned_set *a,
                   const struct xl__tuned_set *b)
{
    const int ops = strcmp(a->op, b->op);
    return ops != 0 ? ops : strcmp(a->shape_class, b->shape_class);
}

bool xl__tuned_file_put(struct xl__tuned_file *file,
                        const struct xl__tuned_set *set)
{
    size_t at = 0;
    while (at < file->n_sets && compare(&file->sets[at], set) < 0)
        at++;
    if (at < file->n_sets && compare(&file->sets[at], set) == 0) {
        file->sets[at] = *set;
        return true;
    }
    if (!xl__grow(&file->sets, &file->sets_cap, file->n_sets + 1,
                  sizeof *file->sets))
        return false;
    memmove(&file->sets[at + 1], &file->sets[at],
            (file->n_sets - at) * sizeof *file->sets);
    file->sets[at] = *set;
    file->n_sets++;
    return true;
}

void xl__tuned_file_clear(struct xl__tuned_file *file)
{
    free(file->sets);
    file->sets = NULL;
    file->n_sets = file->sets_cap = 0;
}
