/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of all platforms in one flat, stable order: GPUs, accelerators,
 * CPUs, others; within these by platform, PCI address and UUID. A platform may
 * have no devices. A platform or device that fails is left out, with its
 * reason in a warning, so that the others remain usable. Also the search for a
 * device by text. */
#include "device/device.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "device/cl_info.h"
#include "device/listing.h"

enum { PLATFORM_NOT_FOUND = -1001 }; /* cl_khr_icd: the loader found none */

/* Devices collected so far. Devices that `list` has in `extra` are reused,
 * since callers hold pointers to them. */
struct gathering {
    const struct xl__devices *list;
    xl_device **devices;
    size_t n, cap;
    struct xl__str platforms; /* "A, B": for messages */
    struct xl__str left_out;
};

static xl_device *find_id(xl_device *const *devices, size_t n, cl_device_id id)
{
    for (size_t i = 0; i < n; i++)
        if (devices[i]->id == id)
            return devices[i];
    return NULL;
}

/* -- order ---------------------------------------------------------------- */

/* A simulator that reports several types counts as a CPU. */
static int type_rank(const xl_device *dev)
{
    const struct xl__limits *l = &dev->limits;
    if (xl__is(l, XL__F_is_cpu))
        return 2;
    if (xl__is(l, XL__F_is_gpu))
        return 0;
    return xl__is(l, XL__F_is_accelerator) ? 1 : 3;
}

static int compare_devices(const xl_device *a, const xl_device *b)
{
    static const enum xl__fact_id keys[] = {XL__F_platform, XL__F_pci,
                                            XL__F_uuid};
    int order = type_rank(a) - type_rank(b);
    for (size_t i = 0; i < sizeof keys / sizeof *keys && order == 0; i++)
        order = strcmp(xl__text(&a->limits, keys[i]),
                       xl__text(&b->limits, keys[i]));
    return order;
}

/* Insertion sort. It is stable: equal devices keep the order of the drivers.
 */
static void sort_devices(xl_device **devices, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        xl_device *moving = devices[i];
        size_t at = i;
        for (; at > 0 && compare_devices(devices[at - 1], moving) > 0; at--)
            devices[at] = devices[at - 1];
        devices[at] = moving;
    }
}

/* Are both texts known and equal? */
static bool same_text(const xl_device *a, const xl_device *b,
                      enum xl__fact_id id)
{
    const char *x = xl__text(&a->limits, id);
    return *x && strcmp(x, xl__text(&b->limits, id)) == 0;
}

/* Equal UUIDs mean the same device; different ones do not mean different
 * devices, since drivers disagree about a card's UUID (GE-05). Equal PCI
 * addresses mean the same device only under different platforms: under one
 * platform, several devices of a card share its address. */
static bool is_same_silicon(const xl_device *a, const xl_device *b)
{
    if (same_text(a, b, XL__F_uuid))
        return true;
    return a->platform != b->platform && same_text(a, b, XL__F_pci);
}

static void number_devices(xl_device **devices, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t first = 0;
        while (first < i && !is_same_silicon(devices[first], devices[i]))
            first++;
        devices[i]->index = (unsigned)i;
        devices[i]->same_as = (unsigned)first;
    }
}

/* -- querying the platforms ----------------------------------------------- */

static void add_left_out(struct gathering *g, const char *what,
                         const char *name, const char *why)
{
    xl__str_printf(&g->left_out, "%s%s %s: %s", g->left_out.len ? "\n" : "",
                   what, name, why);
}

static xl_status gather_device(struct gathering *g, cl_device_id id,
                               struct xl__error *e)
{
    struct xl__error own = {0};
    xl_device *dev = find_id(g->list->extra, g->list->n_extra, id);
    xl_status status = XL_OK;
    if (!xl__grow(&g->devices, &g->cap, g->n + 1, sizeof *g->devices))
        return xl__error_set(e, XL_NO_MEMORY, "out of memory for devices");
    if (!dev)
        status = xl__device_create(g->list, &(struct xl__asked){.id = id},
                                   &dev, &own);
    if (status == XL_NO_MEMORY)
        xl__error_set(e, status, "%s", xl__str_text(&own.detail));
    else if (status != XL_OK)
        add_left_out(g, "a device of", xl__str_text(&g->platforms),
                     xl__str_text(&own.detail));
    else
        g->devices[g->n++] = dev;
    xl__error_clear(&own);
    return status == XL_NO_MEMORY ? status : XL_OK;
}

static const char *code_name(cl_int code)
{
    const char *name = xl__cl_name(code);
    return name ? name : "unknown code";
}

static xl_status gather_platform(struct gathering *g, cl_platform_id platform,
                                 struct xl__error *e)
{
    char *name = xl__platform_text(platform, CL_PLATFORM_NAME);
    const char *shown = name ? name : "(unnamed)";
    cl_device_id *ids = NULL;
    cl_uint n = 0, filled = 0;
    xl_status status = XL_OK;
    cl_int code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &n);
    xl__str_printf(&g->platforms, "%s%s", g->platforms.len ? ", " : "", shown);
    if (code == CL_SUCCESS && n) {
        ids = xl__calloc(n, sizeof *ids);
        if (!ids) {
            status = xl__error_set(e, XL_NO_MEMORY, "out of memory for ids");
            goto fail;
        }
        code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, n, ids, &filled);
        n = filled < n ? filled : n;
    }
    if (code != CL_SUCCESS && code != CL_DEVICE_NOT_FOUND) {
        add_left_out(g, "platform", shown, code_name(code));
        goto fail;
    }
    for (cl_uint i = 0; ids && i < n; i++)
        TRY(gather_device(g, ids[i], e));
fail:
    free(ids);
    free(name);
    return status;
}

static xl_status get_platforms(cl_platform_id **out, cl_uint *n,
                               struct xl__error *e)
{
    cl_uint filled = 0;
    cl_int code = clGetPlatformIDs(0, NULL, n);
    *out = NULL;
    if (code == PLATFORM_NOT_FOUND || (code == CL_SUCCESS && *n == 0))
        return xl__error_set(
            e, XL_NO_PLATFORM,
            "no OpenCL driver was found: install the driver of your device's "
            "vendor (a package that provides opencl-icd), then run "
            "`clbench doctor`");
    if (code != CL_SUCCESS)
        return xl__cl_check(e, code, "clGetPlatformIDs()", __FILE__, __LINE__);
    *out = xl__calloc(*n, sizeof **out);
    if (!*out)
        return xl__error_set(e, XL_NO_MEMORY, "out of memory for platforms");
    code = clGetPlatformIDs(*n, *out, &filled);
    if (filled < *n)
        *n = filled;
    return xl__cl_check(e, code, "clGetPlatformIDs()", __FILE__, __LINE__);
}

static xl_status gather_listing(struct gathering *g, struct xl__devices *list,
                                struct xl__error *e)
{
    xl_status status = XL_OK;

    if (!list->listed)
        TRY(xl__listing_read(list->listing, strlen(list->listing),
                             &list->listed, e));
    for (const struct xl__listed *d = list->listed; d;
         d = xl__listing_next(d)) {
        if (!xl__grow(&g->devices, &g->cap, g->n + 1, sizeof *g->devices))
            TRY(xl__error_set(e, XL_NO_MEMORY, "out of memory for devices"));
        TRY(xl__device_create(list, &(struct xl__asked){.listed = d},
                              &g->devices[g->n], e));
        g->n++;
    }
fail:
    return status;
}

static xl_status fail_no_device(const struct gathering *g, struct xl__error *e)
{
    const char *left_out = xl__str_text(&g->left_out);
    return xl__error_set(e, XL_NO_DEVICE,
                         "no platform reports a device (platforms: %s)%s%s; "
                         "run `clbench doctor` to find what is missing",
                         xl__str_text(&g->platforms), *left_out ? "; " : "",
                         left_out);
}

/* Moves the collected devices into the list. Cannot fail. */
static void move_into_list(struct xl__devices *list, struct gathering *g)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < list->n_extra; i++)
        if (!find_id(g->devices, g->n, list->extra[i]->id))
            list->extra[kept++] = list->extra[i];
    list->n_extra = kept;
    sort_devices(g->devices, g->n);
    number_devices(g->devices, g->n);
    free(list->flat);
    list->flat = g->devices;
    list->n_flat = (unsigned)g->n;
    free(list->left_out);
    list->left_out = g->left_out.len ? xl__str_steal(&g->left_out) : NULL;
}

static void free_gathered(struct gathering *g)
{
    for (size_t i = 0; i < g->n; i++)
        if (!find_id(g->list->extra, g->list->n_extra, g->devices[i]->id))
            xl__device_destroy(g->devices[i]);
    free(g->devices);
}

xl_status xl__devices_enumerate(struct xl__devices *list, struct xl__error *e)
{
    struct gathering g = {.list = list};
    cl_platform_id *platforms = NULL;
    cl_uint n = 0;
    xl_status status;
    if (list->n_flat)
        return XL_OK;
    if (list->listing)
        TRY(gather_listing(&g, list, e));
    else
        TRY(get_platforms(&platforms, &n, e));
    for (cl_uint i = 0; i < n; i++)
        TRY(gather_platform(&g, platforms[i], e));
    if (g.n == 0)
        TRY(fail_no_device(&g, e));
    move_into_list(list, &g);
fail:
    if (status != XL_OK)
        free_gathered(&g);
    free(platforms);
    xl__str_clear(&g.platforms);
    xl__str_clear(&g.left_out);
    return status;
}

/* -- finding -------------------------------------------------------------- */

static bool same_letters(const char *a, const char *b)
{
    while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b)) {
        a++;
        b++;
    }
    return *a == *b;
}

static bool is_address(const xl_device *dev, const char *text)
{
    const char *pci = xl__text(&dev->limits, XL__F_pci);
    const char *no_domain = strchr(pci, ':');
    return (*pci && same_letters(pci, text)) ||
           (no_domain && same_letters(no_domain + 1, text)) ||
           (*text && same_letters(xl__text(&dev->limits, XL__F_uuid), text));
}

static bool is_named(const xl_device *dev, const char *text)
{
    return same_letters(xl__text(&dev->limits, XL__F_name), text);
}

static bool has_in_name(const xl_device *dev, const char *text)
{
    return xl__str_contains(xl__text(&dev->limits, XL__F_name), text);
}

static void list_devices(const struct xl__devices *list, struct xl__str *out)
{
    for (unsigned i = 0; i < list->n_flat; i++) {
        const struct xl__limits *l = &list->flat[i]->limits;
        xl__str_printf(out, "\n  %u  %s  (%s)", i, xl__text(l, XL__F_name),
                       xl__text(l, XL__F_platform));
    }
}

static xl_status fail_to_find(const struct xl__devices *list, xl_status status,
                              const char *text, struct xl__error *e)
{
    struct xl__str devices_text = {0};
    list_devices(list, &devices_text);
    xl__error_set(e, status, "%s '%s'; available devices:%s",
                  status == XL_AMBIGUOUS ? "more than one device matches"
                                         : "no device matches",
                  text, xl__str_text(&devices_text));
    xl__str_clear(&devices_text);
    return status;
}

static xl_status find_index(const struct xl__devices *list, const char *text,
                            xl_device **out, struct xl__error *e)
{
    unsigned index = 0;
    for (const char *c = text; *c && index <= list->n_flat; c++)
        index = index * 10 + (unsigned)(*c - '0');
    if (index >= list->n_flat)
        return fail_to_find(list, XL_NO_DEVICE, text, e);
    *out = list->flat[index];
    return XL_OK;
}

xl_status xl__devices_find(const struct xl__devices *list, const char *text,
                           xl_device **out, struct xl__error *e)
{
    /* From the most to the least specific; the first test that any device
     * passes decides. */
    static bool (*const tests[])(const xl_device *, const char *) = {
        is_address, is_named, has_in_name};
    *out = NULL;
    if (*text == '\0')
        return fail_to_find(list, XL_NO_DEVICE, text, e);
    if (text[strspn(text, "0123456789")] == '\0')
        return find_index(list, text, out, e);
    for (size_t w = 0; w < sizeof tests / sizeof *tests; w++) {
        xl_device *found = NULL;
        for (unsigned i = 0; i < list->n_flat; i++) {
            if (!tests[w](list->flat[i], text))
                continue;
            if (found)
                return fail_to_find(list, XL_AMBIGUOUS, text, e);
            found = list->flat[i];
        }
        *out = found;
        if (found)
            return XL_OK;
    }
    return fail_to_find(list, XL_NO_DEVICE, text, e);
}

xl_status xl__devices_of(struct xl__devices *list, cl_device_id id,
                         xl_device **out, struct xl__error *e)
{
    size_t cap = list->n_extra;
    xl_status status;
    *out = find_id(list->flat, list->n_flat, id);
    if (!*out)
        *out = find_id(list->extra, list->n_extra, id);
    if (*out)
        return XL_OK;
    if (!xl__grow(&list->extra, &cap, cap + 1, sizeof *list->extra))
        return xl__error_set(e, XL_NO_MEMORY, "out of memory for a device");
    TRY(xl__device_create(list, &(struct xl__asked){.id = id}, out, e));
    list->extra[list->n_extra++] = *out;
fail:
    return status;
}

void xl__devices_clear(struct xl__devices *list)
{
    for (unsigned i = 0; i < list->n_flat; i++)
        xl__device_destroy(list->flat[i]);
    for (unsigned i = 0; i < list->n_extra; i++)
        xl__device_destroy(list->extra[i]);
    free(list->flat);
    free(list->extra);
    free(list->left_out);
    free(list->listing);
    xl__listing_destroy(list->listed);
    *list = (struct xl__devices){0};
}
