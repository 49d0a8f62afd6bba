/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the runs of two set-ups in one document. A further run of a side is
 * a pass over its rows; the second side is another device of the document. */
#include "compare/rounds.h"

#include <stdint.h>

#include "base/str.h"
#include "results/json.h"

static bool is_same_row(const json_t *a, const json_t *b)
{
    return json_equal(json_object_get(a, "id"), json_object_get(b, "id")) &&
           json_equal(json_object_get(a, "device"),
                      json_object_get(b, "device"));
}

/* The row of `rows` that is row i of `of`: as many equal ones precede it. */
static const json_t *find_row(const json_t *rows, const json_t *of, size_t i)
{
    const json_t *row = json_array_get(of, i);
    size_t n_before = 0;
    for (size_t j = 0; j < i; j++)
        n_before += is_same_row(row, json_array_get(of, j));
    for (size_t j = 0; j < json_array_size(rows); j++)
        if (is_same_row(row, json_array_get(rows, j)) && n_before-- == 0)
            return json_array_get(rows, j);
    return NULL;
}

static json_t *pass_of(const json_t *row)
{
    static const char *const members[] = {"runs", "samples_ns", "clock",
                                          "value", "unit"};
    json_t *out = json_object();
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        json_put(out, members[i],
                 json_deep_copy(json_object_get(row, members[i])));
    return out;
}

static bool is_timed(const json_t *row)
{
    const char *verdict = json_text_at(row, "verdict");
    return xl__streq(verdict, "ok") || xl__streq(verdict, "suspicious");
}

void rounds_add(json_t *first, const json_t *more)
{
    json_t *rows = json_object_get(first, "rows");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *row = json_array_get(rows, i);
        const json_t *again = find_row(json_object_get(more, "rows"), rows, i);
        json_t *passes = json_object_get(row, "passes");
        if (!again || !is_timed(again))
            continue;
        if (!passes) {
            json_put(row, "passes", json_array());
            passes = json_object_get(row, "passes");
        }
        json_add(passes, pass_of(again));
        const json_t *own = json_object_get(again, "passes");
        for (size_t k = 0; k < json_array_size(own); k++)
            json_add(passes, json_deep_copy(json_array_get(own, k)));
    }
}

/* Numbers of devices of b, beyond those of any machine. */
enum { FIRST_OF_B = 1000 };

static void add_to(json_t *object, const char *member, json_int_t n)
{
    const json_t *was = json_object_get(object, member);
    if (json_is_integer(was))
        json_put(object, member, json_integer(json_integer_value(was) + n));
}

/* Gives the devices of a side names of their own. What identifies the chip
 * would make those of both sides one. */
static void rename_devices(json_t *document, char side)
{
    json_t *devices = json_object_get(document, "devices");
    for (size_t i = 0; i < json_array_size(devices); i++) {
        json_t *device = json_array_get(devices, i);
        struct xl__str name = {0};
        xl__str_printf(&name, "%s (%c)", json_text_at(device, "name"), side);
        json_put(device, "name", json_text(xl__str_text(&name)));
        json_put(device, "uuid", json_null());
        json_put(device, "pci", json_null());
        xl__str_clear(&name);
    }
}

/* Adds the entries of a list of `from` to that of `to`. */
static void append_list(json_t *to, const json_t *from, const char *name)
{
    json_t *list = json_object_get(to, name);
    const json_t *more = json_object_get(from, name);
    for (size_t i = 0; i < json_array_size(more); i++)
        json_add(list, json_deep_copy(json_array_get(more, i)));
}

json_t *rounds_join(const json_t *a, const json_t *b)
{
    static const char *const lists[] = {"devices", "parts", "rows"};
    json_t *out = json_deep_copy(a), *other = json_deep_copy(b);
    const json_int_t n_parts =
        (json_int_t)json_array_size(json_object_get(a, "parts"));
    rename_devices(out, 'a');
    rename_devices(other, 'b');
    json_t *devices = json_object_get(other, "devices");
    for (size_t i = 0; i < json_array_size(devices); i++)
        add_to(json_array_get(devices, i), "index", FIRST_OF_B);
    json_t *rows = json_object_get(other, "rows");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        add_to(json_array_get(rows, i), "device", FIRST_OF_B);
        add_to(json_array_get(rows, i), "part", n_parts);
    }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        append_list(out, other, lists[i]);
    json_decref(other);
    return out;
}
