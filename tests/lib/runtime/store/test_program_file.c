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

/* Of each test: the bytes of a file, a store to import it to, and what the
 * last import said. */
static struct {
    char *bytes;
    size_t len;
    struct xl__store to;
    struct xl__error e;
    xl_cache_copy copy;
} f;

static int open_file(void **state)
{
    (void)state;
    memset(&f, 0, sizeof f);
    f.bytes = make_file(&f.len);
    open_store(&f.to, "to", MIB);
    return 0;
}

static int close_file(void **state)
{
    (void)state;
    xl__store_clear(&f.to);
    xl__error_clear(&f.e);
    free(f.bytes);
    return 0;
}

static void reopen_store(uint64_t limit)
{
    xl__store_clear(&f.to);
    open_store(&f.to, "to", limit);
}

/* Import these bytes into a store. */
static xl_status import_bytes(struct xl__store *s, const void *bytes,
                              size_t len, const struct xl__key_filter *filter)
{
    f.copy = (xl_cache_copy){0};
    xl__error_reset(&f.e);
    assert_int_equal(xl__file_replace(file_path, bytes, len), XL_OK);
    return xl__store_import(s, file_path, filter, &f.copy, &f.e);
}

static void round_trip(void **state)
{
    struct xl__entry entry;
    (void)state;
    xl__store_put(&f.to, keys[0], "other", 5, XL__UNTESTED);
    assert_status(import_bytes(&f.to, f.bytes, f.len, &only_b), XL_OK,
                  xl__str_text(&f.e.detail));
    assert_int_equal(f.copy.n_copied, 2);
    assert_int_equal(f.copy.n_foreign, 1);
    assert_status(import_bytes(&f.to, f.bytes, f.len, &all), XL_OK,
                  xl__str_text(&f.e.detail));
    assert_int_equal(f.copy.n_copied, 0);
    assert_int_equal(f.copy.n_known, N_KEYS);
    assert_true(xl__store_get(&f.to, keys[0], &entry)); /* the store's own */
    assert_int_equal(entry.n_bytes, 5);
    free(entry.payload);
    assert_true(xl__store_get(&f.to, keys[1], &entry));
    assert_int_equal(entry.n_bytes, sizeof payload);
    assert_memory_equal(entry.payload, payload, sizeof payload);
    free(entry.payload);
    assert_true(xl__store_get(&f.to, keys[2], &entry));
    assert_int_equal(entry.trust, XL__PASSED);
    assert_int_equal(entry.n_bytes, 0);
}

/* An entry without a program gives way to one that has it. */
static void program_replaces_none(void **state)
{
    struct xl__entry entry;
    (void)state;
    xl__store_put(&f.to, keys[1], NULL, 0, XL__UNTESTED);
    assert_status(import_bytes(&f.to, f.bytes, f.len, &all), XL_OK,
                  xl__str_text(&f.e.detail));
    assert_int_equal(f.copy.n_copied, N_KEYS);
    assert_true(xl__store_get(&f.to, keys[1], &entry));
    assert_int_equal(entry.n_bytes, sizeof payload);
    free(entry.payload);
}

/* -- faults ----------------------------------------------------------------
 */

static void expect_refused(const void *bytes, size_t len, const char *what,
                           size_t at)
{
    const xl_status got = import_bytes(&f.to, bytes, len, &all);
    const char *why = xl__str_text(&f.e.detail);
    if (got != XL_CORRUPT && got != XL_BAD_ARGUMENT)
        fail_msg("%s at %zu: %s", what, at, xl_status_name(got));
    if (!strstr(why, "programs.xlpf"))
        fail_msg("%s at %zu: %s", what, at, why);
    if (f.copy.n_copied + entries_of(&f.to) != 0)
        fail_msg("%s at %zu: entries were added", what, at);
}

static void every_truncation(void **state)
{
    (void)state;
    for (size_t n = 0; n < f.len; n++)
        expect_refused(f.bytes, n, "the file ends", n);
    char *longer = calloc(f.len + 1, 1);
    memcpy(longer, f.bytes, f.len);
    expect_refused(longer, f.len + 1, "a byte more", f.len);
    free(longer);
}

static void every_flipped_byte(void **state)
{
    static const unsigned char masks[] = {0x01, 0x80, 0xff};
    (void)state;
    for (size_t at = 0; at < f.len; at++) {
        for (unsigned i = 0; i < sizeof masks; i++) {
            f.bytes[at] = (char)(f.bytes[at] ^ masks[i]);
            expect_refused(f.bytes, f.len, "a byte flipped", at);
            f.bytes[at] = (char)(f.bytes[at] ^ masks[i]);
        }
    }
}

static void another_version(void **state)
{
    (void)state;
    f.bytes[AT_VERSION]++;
    xl__hash128(f.bytes, AT_HASH, (unsigned char *)f.bytes + AT_HASH);
    assert_int_equal(import_bytes(&f.to, f.bytes, f.len, &all),
                     XL_BAD_ARGUMENT);
    assert_non_null(strstr(xl__str_text(&f.e.detail), "version 2"));
}

/* The folder of the final entry cannot be made: the entries before it are
 * removed again. */
static void nothing_half_imported(void **state)
{
    struct xl__str root = {0}, shelf = {0};
    char hex[XL__HASH128_TEXT];
    (void)state;
    for (unsigned i = 0; i < N_KEYS; i++) {
        reopen_store(MIB);
        xl__str_printf(&root, "%s/%d", f.to.dir, XL__STORE_FORMAT);
        assert_int_equal(xl__dir_create(root.text, NULL), XL_OK);
        xl__hash128_hex(keys[i], strlen(keys[i]), hex);
        xl__str_printf(&shelf, "%s/%.2s", root.text, hex);
        assert_int_equal(xl__file_replace(shelf.text, "x", 1), XL_OK);
        assert_int_equal(import_bytes(&f.to, f.bytes, f.len, &all), XL_IO);
        assert_non_null(strstr(xl__str_text(&f.e.detail), f.to.dir));
        assert_int_equal(f.copy.n_copied, 0);
        assert_int_equal(entries_of(&f.to), 0);
        xl__str_clear(&root);
        xl__str_clear(&shelf);
    }
}

static void no_room(void **state)
{
    (void)state;
    reopen_store(sizeof payload); /* fewer than all have */
    assert_int_equal(import_bytes(&f.to, f.bytes, f.len, &all), XL_NO_SPACE);
    assert_int_equal(entries_of(&f.to), 0);
    reopen_store(MIB);
    fill_store(&f.to);
    xl__error_reset(&f.e);
    assert_int_equal(xl__store_export(&f.to, "/dev/full", &all, &f.copy, &f.e),
                     XL_NO_SPACE);
}

static void bad_paths(void **state)
{
    struct xl__store off;
    (void)state;
    assert_int_equal(
        xl__store_import(&f.to, "/nowhere/programs", &all, &f.copy, &f.e),
        XL_IO);
    assert_non_null(strstr(xl__str_text(&f.e.detail), "/nowhere/programs"));
    xl__error_reset(&f.e);
    assert_int_equal(
        xl__store_export(&f.to, "/nowhere/programs", &all, &f.copy, &f.e),
        XL_IO);
    assert_non_null(strstr(xl__str_text(&f.e.detail), "/nowhere/programs"));
    xl__error_reset(&f.e);
    assert_int_equal(
        xl__store_init(&off, NULL, NULL, MIB, ignore_warning, NULL), XL_OK);
    assert_int_equal(import_bytes(&off, f.bytes, f.len, &all), XL_IO);
    assert_non_null(strstr(xl__str_text(&f.e.detail), "the cache is off"));
    xl__store_clear(&off);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, open_file, close_file)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(round_trip),       TEST(program_replaces_none),
        TEST(every_truncation), TEST(every_flipped_byte),
        TEST(another_version),  TEST(nothing_half_imported),
        TEST(no_room),          TEST(bad_paths),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
