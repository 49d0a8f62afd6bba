/* SPDX-License-Identifier: Apache-2.0 */
/* Program files without a device: entries go from one folder to another
 * unchanged, and a file with any fault is refused as a whole. */
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/os/files.h"
#include "base/str.h"
#include "runtime/context.h"
#include "runtime/store/program_file.h"

enum { MIB = 1 << 20, N_KEYS = 3, AT_VERSION = 4, AT_HASH = 24 };

static const char *const keys[N_KEYS] = {"crosslane\nsource a\n",
                                         "crosslane\nsource b\n",
                                         "crosslane\nsource b\nverdict\n"};
static const char payload[] = "\0ELF\0 a binary";

static char folder[1024], file_path[1100];

static void ignore_warning(const char *text, void *arg)
{
    (void)text;
    (void)arg;
}

/* A store in a new, empty folder. */
static void open_store(struct xl__store *s, const char *name, uint64_t limit)
{
    assert_int_equal(xl__store_init(s, test_scratch(name), NULL, limit,
                                    ignore_warning, NULL),
                     XL_OK);
}

static bool accepts_all(const char *key, size_t len, void *arg)
{
    (void)key;
    (void)len;
    (void)arg;
    return true;
}

static bool accepts_b(const char *key, size_t len, void *arg)
{
    (void)arg;
    return len >= strlen(keys[1]) &&
           memcmp(key, keys[1], strlen(keys[1])) == 0;
}

static const struct xl__key_filter all = {accepts_all, NULL};
static const struct xl__key_filter only_b = {accepts_b, NULL};

/* Two programs, and a verdict without bytes. */
static void fill_store(struct xl__store *s)
{
    xl__store_put(s, keys[0], payload, sizeof payload, XL__UNTESTED);
    xl__store_put(s, keys[1], payload, sizeof payload, XL__UNTESTED);
    xl__store_put(s, keys[2], NULL, 0, XL__PASSED);
}

static uint64_t entries_of(struct xl__store *s)
{
    xl_cache_stats stats;
    assert_int_equal(xl__store_stats(s, &stats), XL_OK);
    assert_int_equal(stats.n_damaged, 0);
    return stats.n_entries;
}

/* The bytes of a file of all three entries. */
static char *make_file(size_t *len)
{
    struct xl__store s;
    struct xl__error e = {0};
    xl_cache_copy copy = {0};
    char *bytes;
    open_store(&s, "from", MIB);
    fill_store(&s);
    xl__strcpy(folder, sizeof folder, s.dir);
    snprintf(file_path, sizeof file_path, "%s/programs.xlpf", folder);
    assert_status(xl__store_export(&s, file_path, &all, &copy, &e), XL_OK,
                  xl__str_text(&e.detail));
    assert_int_equal(copy.n_copied, N_KEYS);
    assert_int_equal(xl__file_read(file_path, &bytes, len), XL_OK);
    xl__store_clear(&s);
    return bytes;
}

/* Import these bytes into a store. */
static xl_status import_bytes(struct xl__store *s, const void *bytes,
                              size_t len, const struct xl__key_filter *filter,
                              xl_cache_copy *copy, struct xl__error *e)
{
    *copy = (xl_cache_copy){0};
    xl__error_reset(e);
    assert_int_equal(xl__file_replace(file_path, bytes, len), XL_OK);
    return xl__store_import(s, file_path, filter, copy, e);
}

static void round_trip(void **state)
{
    struct xl__store s;
    struct xl__error e = {0};
    struct xl__entry entry;
    xl_cache_copy copy;
    size_t len;
    char *bytes = make_file(&len);
    (void)state;
    open_store(&s, "to", MIB);
    xl__store_put(&s, keys[0], "other", 5, XL__UNTESTED);
    assert_status(import_bytes(&s, bytes, len, &only_b, &copy, &e), XL_OK,
                  xl__str_text(&e.detail));
    assert_int_equal(copy.n_copied, 2);
    assert_int_equal(copy.n_foreign, 1);
    assert_status(import_bytes(&s, bytes, len, &all, &copy, &e), XL_OK,
                  xl__str_text(&e.detail));
    assert_int_equal(copy.n_copied, 0);
    assert_int_equal(copy.n_known, N_KEYS);
    assert_true(xl__store_get(&s, keys[0], &entry)); /* the store's own */
    assert_int_equal(entry.n_bytes, 5);
    free(entry.payload);
    assert_true(xl__store_get(&s, keys[1], &entry));
    assert_int_equal(entry.n_bytes, sizeof payload);
    assert_memory_equal(entry.payload, payload, sizeof payload);
    free(entry.payload);
    assert_true(xl__store_get(&s, keys[2], &entry));
    assert_int_equal(entry.trust, XL__PASSED);
    assert_int_equal(entry.n_bytes, 0);
    xl__store_clear(&s);
    xl__error_clear(&e);
    free(bytes);
}

/* An entry without a program gives way to one that has it. */
static void program_replaces_none(void **state)
{
    struct xl__store s;
    struct xl__error e = {0};
    struct xl__entry entry;
    xl_cache_copy copy;
    size_t len;
    char *bytes = make_file(&len);
    (void)state;
    open_store(&s, "to", MIB);
    xl__store_put(&s, keys[1], NULL, 0, XL__UNTESTED);
    assert_status(import_bytes(&s, bytes, len, &all, &copy, &e), XL_OK,
                  xl__str_text(&e.detail));
    assert_int_equal(copy.n_copied, N_KEYS);
    assert_true(xl__store_get(&s, keys[1], &entry));
    assert_int_equal(entry.n_bytes, sizeof payload);
    free(entry.payload);
    xl__store_clear(&s);
    xl__error_clear(&e);
    free(bytes);
}

/* -- faults ----------------------------------------------------------------
 */

static void expect_refused(struct xl__store *s, const void *bytes, size_t len,
                           const char *what, size_t at)
{
    struct xl__error e = {0};
    xl_cache_copy copy;
    const xl_status got = import_bytes(s, bytes, len, &all, &copy, &e);
    if (got != XL_CORRUPT && got != XL_BAD_ARGUMENT)
        fail_msg("%s at %zu: %s", what, at, xl_status_name(got));
    if (!strstr(xl__str_text(&e.detail), "programs.xlpf"))
        fail_msg("%s at %zu: %s", what, at, xl__str_text(&e.detail));
    if (copy.n_copied + entries_of(s) != 0)
        fail_msg("%s at %zu: entries were added", what, at);
    xl__error_clear(&e);
}

static void every_truncation(void **state)
{
    struct xl__store s;
    size_t len;
    char *bytes = make_file(&len);
    (void)state;
    open_store(&s, "to", MIB);
    for (size_t n = 0; n < len; n++)
        expect_refused(&s, bytes, n, "the file ends", n);
    char *longer = calloc(len + 1, 1);
    memcpy(longer, bytes, len);
    expect_refused(&s, longer, len + 1, "a byte more", len);
    xl__store_clear(&s);
    free(longer);
    free(bytes);
}

static void every_flipped_byte(void **state)
{
    static const unsigned char masks[] = {0x01, 0x80, 0xff};
    struct xl__store s;
    size_t len;
    char *bytes = make_file(&len);
    (void)state;
    open_store(&s, "to", MIB);
    for (size_t at = 0; at < len; at++) {
        for (unsigned i = 0; i < sizeof masks; i++) {
            bytes[at] = (char)(bytes[at] ^ masks[i]);
            expect_refused(&s, bytes, len, "a byte flipped", at);
            bytes[at] = (char)(bytes[at] ^ masks[i]);
        }
    }
    xl__store_clear(&s);
    free(bytes);
}

static void another_version(void **state)
{
    struct xl__store s;
    struct xl__error e = {0};
    xl_cache_copy copy;
    size_t len;
    char *bytes = make_file(&len);
    (void)state;
    open_store(&s, "to", MIB);
    bytes[AT_VERSION]++;
    xl__hash128(bytes, AT_HASH, (unsigned char *)bytes + AT_HASH);
    assert_int_equal(import_bytes(&s, bytes, len, &all, &copy, &e),
                     XL_BAD_ARGUMENT);
    assert_non_null(strstr(xl__str_text(&e.detail), "version 2"));
    xl__store_clear(&s);
    xl__error_clear(&e);
    free(bytes);
}

/* The folder of the final entry cannot be made: the entries before it are
 * removed again. */
static void nothing_half_imported(void **state)
{
    struct xl__store s;
    struct xl__error e = {0};
    struct xl__str root = {0}, shelf = {0};
    xl_cache_copy copy;
    char hex[XL__HASH128_TEXT];
    size_t len;
    char *bytes = make_file(&len);
    (void)state;
    for (unsigned i = 0; i < N_KEYS; i++) {
        open_store(&s, "to", MIB);
        xl__str_printf(&root, "%s/%d", s.dir, XL__STORE_FORMAT);
        assert_int_equal(xl__dir_create(root.text, NULL), XL_OK);
        xl__hash128_hex(keys[i], strlen(keys[i]), hex);
        xl__str_printf(&shelf, "%s/%.2s", root.text, hex);
        assert_int_equal(xl__file_replace(shelf.text, "x", 1), XL_OK);
        assert_int_equal(import_bytes(&s, bytes, len, &all, &copy, &e), XL_IO);
        assert_non_null(strstr(xl__str_text(&e.detail), s.dir));
        assert_int_equal(copy.n_copied, 0);
        assert_int_equal(entries_of(&s), 0);
        xl__str_clear(&root);
        xl__str_clear(&shelf);
        xl__store_clear(&s);
    }
    xl__error_clear(&e);
    free(bytes);
}

static void no_room(void **state)
{
    struct xl__store s;
    struct xl__error e = {0};
    xl_cache_copy copy;
    size_t len;
    char *bytes = make_file(&len);
    (void)state;
    open_store(&s, "to", sizeof payload); /* fewer than all have */
    assert_int_equal(import_bytes(&s, bytes, len, &all, &copy, &e),
                     XL_NO_SPACE);
    assert_int_equal(entries_of(&s), 0);
    xl__store_clear(&s);
    open_store(&s, "to", MIB);
    fill_store(&s);
    xl__error_reset(&e);
    assert_int_equal(xl__store_export(&s, "/dev/full", &all, &copy, &e),
                     XL_NO_SPACE);
    xl__store_clear(&s);
    xl__error_clear(&e);
    free(bytes);
}

static void bad_paths(void **state)
{
    struct xl__store s, off;
    struct xl__error e = {0};
    xl_cache_copy copy;
    size_t len;
    char *bytes = make_file(&len);
    (void)state;
    open_store(&s, "to", MIB);
    assert_int_equal(
        xl__store_import(&s, "/nowhere/programs", &all, &copy, &e), XL_IO);
    assert_non_null(strstr(xl__str_text(&e.detail), "/nowhere/programs"));
    xl__error_reset(&e);
    assert_int_equal(
        xl__store_export(&s, "/nowhere/programs", &all, &copy, &e), XL_IO);
    assert_non_null(strstr(xl__str_text(&e.detail), "/nowhere/programs"));
    xl__error_reset(&e);
    assert_int_equal(
        xl__store_init(&off, NULL, NULL, MIB, ignore_warning, NULL), XL_OK);
    assert_int_equal(import_bytes(&off, bytes, len, &all, &copy, &e), XL_IO);
    assert_non_null(strstr(xl__str_text(&e.detail), "the cache is off"));
    xl__store_clear(&off);
    xl__store_clear(&s);
    xl__error_clear(&e);
    free(bytes);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(program_replaces_none),
        cmocka_unit_test(every_truncation),
        cmocka_unit_test(every_flipped_byte),
        cmocka_unit_test(another_version),
        cmocka_unit_test(nothing_half_imported),
        cmocka_unit_test(no_room),
        cmocka_unit_test(bad_paths),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
