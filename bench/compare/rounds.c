/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the runs of two set-ups in one document. A further run of a side is
 * a pass over its rows; the second side has devices of its own. */
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

/* -- both sides ----------------------------------------------------------- */

/* Numbers of devices of b, beyond those of any machine. */
enum { FIRST_OF_B = 1000 };

/* What a document has once, and identifies a device. */
static const char *const once[] = {"tool", "host", "environment", "state"};
static const char *const identity[] = {"name", "uuid", "pci"};
enum { N_ONCE = sizeof once / sizeof *once,
       N_IDENTITY = sizeof identity / sizeof *identity };

static void copy_members(json_t *to, const json_t *from,
                         const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (json_object_get(from, names[i]))
            json_put(to, names[i],
                     json_deep_copy(json_object_get(from, names[i])));
}

static json_t *describe_side(const json_t *document, const char *setup)
{
    json_t *out = json_object(), *list = json_array();
    const json_t *devices = json_object_get(document, "devices");
    json_put(out, "setup", json_text(setup));
    copy_members(out, document, once, N_ONCE);
    for (size_t i = 0; i < json_array_size(devices); i++) {
        json_t *device = json_object();
        copy_members(device, json_array_get(devices, i), identity, N_IDENTITY);
        json_add(list, device);
    }
    json_put(out, "devices", list);
    return out;
}

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

json_t *rounds_join(const json_t *const document[2],
                    const char *const setup[2])
{
    static const char *const lists[] = {"devices", "parts", "rows"};
    json_t *out = json_deep_copy(document[0]);
    json_t *other = json_deep_copy(document[1]), *sides = json_array();
    const json_int_t n_parts =
        (json_int_t)json_array_size(json_object_get(out, "parts"));
    for (size_t i = 0; i < 2; i++)
        json_add(sides, describe_side(document[i], setup[i]));
    json_put(out, "sides", sides);
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

/* -- one side ------------------------------------------------------------- */

static const json_t *side_of(const json_t *both, size_t side)
{
    return json_array_get(json_object_get(both, "sides"), side);
}

const char *rounds_setup(const json_t *both, size_t side)
{
    return json_text_at(side_of(both, side), "setup");
}

/* Is a number that of a device of a side? */
static bool is_of_side(const json_t *number, size_t side)
{
    return (json_integer_value(number) >= FIRST_OF_B) == (side > 0);
}

json_t *rounds_side(const json_t *both, size_t side)
{
    const json_t *from = side_of(both, side);
    const json_t *names = json_object_get(from, "devices");
    const json_t *all = json_object_get(both, "devices");
    const json_t *all_rows = json_object_get(both, "rows");
    json_t *out = from ? json_copy((json_t *)(uintptr_t)both) : NULL;
    json_t *devices = json_array(), *rows = json_array();
    for (size_t i = 0; i < json_array_size(all); i++) {
        json_t *device = json_copy(json_array_get(all, i));
        if (is_of_side(json_object_get(device, "index"), side)) {
            copy_members(device, json_array_get(names, json_array_size(devices)),
                         identity, N_IDENTITY);
            json_add(devices, json_incref(device));
        }
        json_decref(device);
    }
    for (size_t i = 0; i < json_array_size(all_rows); i++) {
        json_t *row = json_array_get(all_rows, i);
        if (is_of_side(json_object_get(row, "device"), side))
            json_add(rows, json_incref(row));
    }
    copy_members(out, from, once, N_ONCE);
    if (out) {
        json_put(out, "devices", json_incref(devices));
        json_put(out, "rows", json_incref(rows));
    }
    json_decref(devices);
    json_decref(rows);
    return out;
}
