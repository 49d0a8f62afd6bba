/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the program cache on disk: a damaged, foreign or incomplete entry
 * is never returned, and a failure of a folder is at most a warning. */
#include "support/support.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/mount.h>
#endif

#include "base/os/files.h"
#include "base/hash.h"
#include "base/os/paths.h"
#include "base/str.h"
#include "runtime/context.h"

enum { MIB = 1 << 20, HOUR_S = 3600 };

static const char KEY[] = "source=1\noptions=-DX=2\ndevice=d\ndriver=1.0\n";
static const unsigned char PAYLOAD[] = {0, 'E', 'L', 'F', 0, 255, 7};

/* -- helpers ---------------------------------------------------------------*/

/* A store that counts its warnings and keeps the last. */
struct fixture {
    struct xl__store store;
    unsigned n_warnings;
    char last[512];
};

static void note_warning(const char *text, void *arg)
{
    struct fixture *f = arg;
    f->n_warnings++;
    xl__strcpy(f->last, sizeof(f->last), text);
}

static void open_store(struct fixture *f, const char *dir, const char *system,
                       uint64_t limit)
{
    memset(f, 0, sizeof(*f));
    assert_int_equal(
        xl__store_init(&f->store, dir, system, limit, note_warning, f), XL_OK);
}

/* Is PAYLOAD there, whole? A hit with anything else fails the test. */
static bool has_payload(struct fixture *f, const char *key)
{
    struct xl__entry e;
    if (!xl__store_get(&f->store, key, &e))
        return false;
    assert_int_equal(e.n_bytes, sizeof(PAYLOAD));
    assert_memory_equal(e.payload, PAYLOAD, sizeof(PAYLOAD));
    assert_int_equal(e.trust, XL__PASSED);
    free(e.payload);
    return true;
}

static void put_payload(struct fixture *f, const char *key)
{
    xl__store_put(&f->store, key, PAYLOAD, sizeof(PAYLOAD), XL__PASSED);
}

static void put_zeros(struct fixture *f, const char *key, size_t n_bytes)
{
    void *zeros = calloc(n_bytes, 1);
    xl__store_put(&f->store, key, zeros, n_bytes, XL__PASSED);
    free(zeros);
}

/* Where the header comment says it is; free() it. */
static char *path_of(const struct fixture *f, const char *key)
{
    struct xl__str path = {0};
    char hex[XL__HASH128_TEXT];
    xl__hash128_hex(key, strlen(key), hex);
    xl__str_printf(&path, "%s/%d/%.2s/%s", f->store.dir, XL__STORE_FORMAT, hex,
                   hex);
    return xl__str_steal(&path);
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static void set_age(const char *path, time_t seconds)
{
    struct timespec t = {time(NULL) - seconds, 0};
    struct timespec both[2] = {t, t};
    assert_int_equal(utimensat(AT_FDCWD, path, both, 0), 0);
}

struct files {
    unsigned n_entries, n_temporaries;
    char temporary[1024]; /* the last one's path */
};

static bool count_file(const char *path, void *arg)
{
    struct files *files = arg;
    const char *name = xl__path_name(path);
    bool is_temporary = strncmp(name, XL__TEMPORARY_PREFIX,
                                sizeof(XL__TEMPORARY_PREFIX) - 1) == 0;
    files->n_entries += !is_temporary;
    files->n_temporaries += is_temporary;
    if (is_temporary)
        xl__strcpy(files->temporary, sizeof(files->temporary), path);
    return true;
}

static struct files files_below(const char *dir)
{
    struct files files = {0};
    xl__dir_scan(dir, count_file, &files);
    return files;
}

/* -- hits and misses -------------------------------------------------------*/

static void round_trip(void **state)
{
    (void)state;
    struct fixture f;
    struct xl__entry e;
    open_store(&f, test_scratch("round"), NULL, MIB);
    assert_false(has_payload(&f, KEY));
    put_payload(&f, KEY);
    assert_true(has_payload(&f, KEY));
    /* No payload: what is known of an external step. The last write wins. */
    xl__store_put(&f.store, KEY, NULL, 0, XL__FAILED);
    assert_true(xl__store_get(&f.store, KEY, &e));
    assert_null(e.payload);
    assert_int_equal(e.n_bytes, 0);
    assert_int_equal(e.trust, XL__FAILED);
    assert_false(has_payload(&f, "another key"));
    xl__store_drop(&f.store, KEY);
    assert_false(xl__store_get(&f.store, KEY, &e));
    assert_int_equal(f.store.writes, 2);
    assert_int_equal(f.n_warnings, 0);
    char *path = path_of(&f, KEY);
    put_payload(&f, KEY);
    assert_true(exists(path)); /* the path that the header promises */
    free(path);
    xl__store_clear(&f.store);
}

static void off_is_quiet(void **state)
{
    (void)state;
    static const char *const none[] = {NULL, ""};
    for (int i = 0; i < 2; i++) {
        struct fixture f;
        xl_cache_stats stats;
        open_store(&f, none[i], none[i], MIB);
        put_payload(&f, KEY);
        assert_false(has_payload(&f, KEY));
        xl__store_drop(&f.store, KEY);
        assert_int_equal(xl__store_stats(&f.store, &stats), XL_OK);
        assert_int_equal(stats.n_entries, 0);
        assert_int_equal(xl__store_remove(&f.store, false, NULL), XL_OK);
        assert_int_equal(f.n_warnings, 0);
        xl__store_clear(&f.store);
    }
}

/* An entry of `bytes` must be a miss, with a warning, and be gone. */
static void expect_damaged(const char *dir, const char *path,
                           const char *bytes, size_t len)
{
    struct fixture f;
    open_store(&f, dir, NULL, MIB);
    assert_int_equal(xl__file_replace(path, bytes, len), XL_OK);
    assert_false(has_payload(&f, KEY));
    assert_int_equal(f.n_warnings, 1);
    assert_non_null(strstr(f.last, "damaged"));
    assert_false(exists(path));
    xl__store_clear(&f.store);
}

/* Every bit flipped, cut at every length, and with one byte too many. */
static void damage_is_a_miss(void **state)
{
    (void)state;
    enum { BITS = 8 };
    const char *dir = test_scratch("damage");
    struct fixture f;
    char *bytes, *longer;
    size_t len;
    open_store(&f, dir, NULL, MIB);
    put_payload(&f, KEY);
    char *path = path_of(&f, KEY);
    assert_int_equal(xl__file_read(path, &bytes, &len), XL_OK);
    for (size_t i = 0; i < len * BITS; i++) {
        bytes[i / BITS] ^= (char)(1 << i % BITS);
        expect_damaged(dir, path, bytes, len);
        bytes[i / BITS] ^= (char)(1 << i % BITS);
    }
    for (size_t cut = 0; cut < len; cut++)
        expect_damaged(dir, path, bytes, cut);
    longer = calloc(len + 1, 1);
    memcpy(longer, bytes, len);
    expect_damaged(dir, path, longer, len + 1);
    put_payload(&f, KEY); /* and is whole again once it was built again */
    assert_true(has_payload(&f, KEY));
    assert_int_equal(f.n_warnings, 0);
    free(longer);
    free(bytes);
    free(path);
    xl__store_clear(&f.store);
}

/* A good checksum does not excuse lengths, verdicts or keys that make no
 * sense: these bytes are sealed after they were changed. */
static void sealed_nonsense_is_a_miss(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        unsigned char value;
    } changes[] = {{0, 'Y'},  {4, 3},  {7, 1},    {8, 0}, {8, 200},
                   {15, 128}, {16, 0}, {23, 255}, {24, 0}};
    enum { AT_KEY_LEN = 8, AT_PAYLOAD_LEN = 16 };
    const struct xl__entry_view view = {XL__PASSED, KEY, sizeof(KEY) - 1,
                                        PAYLOAD, sizeof(PAYLOAD)};
    struct xl__entry_view out;
    size_t len;
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        unsigned char *bytes = xl__entry_pack(&view, &len);
        assert_true(xl__entry_parse(bytes, len, &out));
        bytes[changes[i].at] = changes[i].value;
        xl__hash128(bytes, len - XL__HASH128_BYTES,
                    bytes + len - XL__HASH128_BYTES);
        assert_false(xl__entry_parse(bytes, len, &out));
        free(bytes);
    }
    /* Lengths that agree only because their sum wraps around: a key one byte
     * longer than there is, a payload of -1. */
    const struct xl__entry_view text = {XL__PASSED, "key", 3, "text", 4};
    unsigned char *bytes = xl__entry_pack(&text, &len);
    bytes[AT_KEY_LEN] = 3 + 4 + 1;
    memset(bytes + AT_PAYLOAD_LEN, 255, 8);
    xl__hash128(bytes, len - XL__HASH128_BYTES,
                bytes + len - XL__HASH128_BYTES);
    assert_false(xl__entry_parse(bytes, len, &out));
    free(bytes);
}

/* Two keys of one hash, simulated by copying one's file to the other's place:
 * a miss, and no reason to warn. */
static void collision_is_a_miss(void **state)
{
    (void)state;
    const char *dir = test_scratch("collision");
    static const char *const others[] = {
        "source=1\noptions=-DX=3\ndevice=d\ndriver=1.0\n", "source=1", "",
        "source=1\noptions=-DX=2\ndevice=d\ndriver=1.0\nmore"};
    for (int i = 0; i < 4; i++) {
        struct fixture f;
        char *bytes;
        size_t len;
        open_store(&f, dir, NULL, MIB);
        put_payload(&f, KEY);
        put_payload(&f, others[i]); /* makes the folder */
        char *from = path_of(&f, KEY), *to = path_of(&f, others[i]);
        assert_int_equal(xl__file_read(from, &bytes, &len), XL_OK);
        assert_int_equal(xl__file_replace(to, bytes, len), XL_OK);
        assert_false(has_payload(&f, others[i]));
        put_payload(&f, others[i]);
        assert_true(has_payload(&f, others[i]));
        assert_true(has_payload(&f, KEY));
        assert_int_equal(f.n_warnings, 0);
        free(bytes);
        free(from);
        free(to);
        xl__store_clear(&f.store);
    }
}

/* -- folders that cannot be used -------------------------------------------*/

/* Tests may run as root, whom no mode stops: a folder below a plain file and
 * one that the system does not let anybody make stand for unwritable ones. */
static void unusable_folder_warns_once(void **state)
{
    (void)state;
    char *file = xl__path_join(test_scratch("unusable"), "file");
    char *below = xl__path_join(file, "cache");
    const char *const dirs[] = {below, "/proc/no-such/cache", file};
    assert_int_equal(xl__file_replace(file, "x", 1), XL_OK);
    for (int i = 0; i < 3; i++) {
        struct fixture f;
        open_store(&f, dirs[i], NULL, MIB);
        for (int again = 0; again < 3; again++) {
            assert_false(has_payload(&f, KEY));
            put_payload(&f, KEY);
        }
        assert_false(has_payload(&f, KEY));
        assert_int_equal(f.n_warnings, 1);
        assert_non_null(strstr(f.last, dirs[i]));
        xl__store_clear(&f.store);
    }
    free(below);
    free(file);
}

/* What others may write to is not read: it would be run by a driver. */
static void open_folder_is_refused(void **state)
{
    (void)state;
    const char *dir = test_scratch("open");
    static const mode_t modes[] = {0770, 0702};
    for (int i = 0; i < 2; i++) {
        struct fixture f;
        xl_cache_stats stats;
        open_store(&f, dir, NULL, MIB);
        put_payload(&f, KEY);
        assert_int_equal(chmod(dir, modes[i]), 0);
        assert_false(has_payload(&f, KEY));
        put_payload(&f, KEY);
        assert_int_equal(f.n_warnings, 1);
        assert_non_null(strstr(f.last, "other users may write to it"));
        assert_int_equal(xl__store_stats(&f.store, &stats), XL_IO);
        assert_int_equal(chmod(dir, 0700), 0);
        assert_true(has_payload(&f, KEY));
        xl__store_clear(&f.store);
    }
}

/* With the disk full: one warning, no leftover, earlier entries stand. */
static void fill_up(const char *dir)
{
    struct fixture f;
    open_store(&f, dir, NULL, 64 * MIB);
    put_payload(&f, KEY);
    put_zeros(&f, "large", 3 * MIB);
    put_zeros(&f, "large too", 3 * MIB);
    assert_int_equal(f.n_warnings, 1);
    assert_non_null(strstr(f.last, "the disk is full"));
    assert_true(has_payload(&f, KEY));
    assert_false(has_payload(&f, "large"));
    struct files files = files_below(dir);
    assert_int_equal(files.n_entries, 1);
    assert_int_equal(files.n_temporaries, 0);
    xl__store_clear(&f.store);
}

/* In a child: what it did to its limits goes with it, and the parent comes
 * back whatever failed. */
static bool child_succeeds(void (*work)(const char *dir), const char *dir)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        work(dir);
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child &&
           WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* A limit on file sizes ends a write half-way. */
static void fill_up_limited(const char *dir)
{
    const struct rlimit limit = {MIB, MIB};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    fill_up(dir);
}

static void limited_file_is_no_failure(void **state)
{
    (void)state;
    assert_true(child_succeeds(fill_up_limited, test_scratch("limited")));
}

static void full_disk_is_no_failure(void **state)
{
    (void)state;
#ifdef __linux__
    const char *dir = test_scratch("full");
    if (mount("tmpfs", dir, "tmpfs", 0, "size=2m,mode=0700") != 0)
        skip();
    bool succeeded = child_succeeds(fill_up, dir);
    assert_int_equal(umount(dir), 0);
    assert_true(succeeded);
#else
    skip();
#endif
}

/* -- several writers -------------------------------------------------------*/

enum { N_KEYS = 8, N_ROUNDS = 40, N_WRITERS = 2, N_BYTES = 20000 };

static void key_of(int i, char out[32])
{
    snprintf(out, 32, "key %d", i);
}

/* Each writer's payloads are of its own length and full of its own number. */
static void write_many(struct xl__store *s, int writer)
{
    unsigned char bytes[N_WRITERS * N_BYTES];
    size_t n_bytes = (size_t)N_BYTES * (size_t)(writer + 1);
    memset(bytes, writer + 1, n_bytes);
    for (int i = 0; i < N_ROUNDS * N_KEYS; i++) {
        char key[32];
        key_of(i % N_KEYS, key);
        xl__store_put(s, key, bytes, n_bytes, XL__PASSED);
    }
}

/* Whole and of one writer, or a miss. No assert: threads call it. */
enum seen { MISS, WHOLE, TORN };

static enum seen look_at(struct xl__store *s, int i)
{
    char key[32];
    struct xl__entry e;
    key_of(i, key);
    if (!xl__store_get(s, key, &e))
        return MISS;
    bool is_whole = e.n_bytes > 0 && e.n_bytes == N_BYTES * e.payload[0];
    for (size_t at = 1; is_whole && at < e.n_bytes; at++)
        is_whole = e.payload[at] == e.payload[0];
    free(e.payload);
    return is_whole ? WHOLE : TORN;
}

static void two_processes_write(void **state)
{
    (void)state;
    const char *dir = test_scratch("writers");
    struct fixture f;
    open_store(&f, dir, NULL, 64 * MIB);
    pid_t children[N_WRITERS];
    for (int i = 0; i < N_WRITERS; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            write_many(&f.store, i);
            _exit(f.n_warnings == 0 ? 0 : 1);
        }
    }
    for (int i = 0; i < 1000; i++)
        assert_int_not_equal(look_at(&f.store, i % N_KEYS), TORN);
    for (int i = 0; i < N_WRITERS; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    for (int i = 0; i < N_KEYS; i++)
        assert_int_equal(look_at(&f.store, i), WHOLE);
    assert_int_equal(f.n_warnings, 0);
    assert_int_equal(files_below(dir).n_temporaries, 0);
    xl__store_clear(&f.store);
}

static void *thread_writes(void *arg)
{
    write_many(arg, 0);
    return NULL;
}

/* Returns `arg` if it saw a torn entry. */
static void *thread_reads(void *arg)
{
    void *torn = NULL;
    for (int i = 0; i < 1000; i++)
        if (look_at(arg, i % N_KEYS) == TORN)
            torn = arg;
    return torn;
}

static void threads_share_a_store(void **state)
{
    (void)state;
    struct fixture f;
    pthread_t threads[4];
    open_store(&f, test_scratch("threads"), NULL, 100000); /* evicts, too */
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL,
                                        i < 2 ? thread_writes : thread_reads,
                                        &f.store),
                         0);
    for (int i = 0; i < 4; i++) {
        void *torn;
        assert_int_equal(pthread_join(threads[i], &torn), 0);
        assert_null(torn);
    }
    assert_int_equal(f.n_warnings, 0);
    xl__store_clear(&f.store);
}

static void two_stores_of_one_process(void **state)
{
    (void)state;
    const char *dir = test_scratch("two");
    struct fixture a, b;
    open_store(&a, dir, NULL, MIB);
    open_store(&b, dir, NULL, MIB);
    put_payload(&a, KEY);
    assert_true(has_payload(&b, KEY));
    xl__store_drop(&b.store, KEY);
    assert_false(has_payload(&a, KEY));
    assert_int_equal(a.n_warnings + b.n_warnings, 0);
    xl__store_clear(&a.store);
    xl__store_clear(&b.store);
}

/* Kill a writer until it leaves a temporary behind. */
static void kill_a_writer(struct fixture *f, struct files *left)
{
    for (int i = 0; i < 200; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            for (;;)
                put_zeros(f, "victim", 4 * MIB);
        struct files files = {0};
        while (files.n_temporaries == 0)
            files = files_below(f->store.dir);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        *left = files_below(f->store.dir);
        if (left->n_temporaries > 0)
            return;
    }
    fail_msg("no temporary was left in 200 tries");
}

/* What a killed writer leaves is no entry, has no effect, and goes with the
 * first write of a store opened an hour later. */
static void killed_writer_is_harmless(void **state)
{
    (void)state;
    struct fixture f, later;
    struct files left;
    open_store(&f, test_scratch("killed"), NULL, 64 * MIB);
    put_payload(&f, KEY);
    kill_a_writer(&f, &left);
    assert_true(has_payload(&f, KEY));
    struct xl__entry e;
    if (xl__store_get(&f.store, "victim", &e)) { /* whole, or not at all */
        assert_int_equal(e.n_bytes, 4 * MIB);
        free(e.payload);
    }
    open_store(&later, f.store.dir, NULL, 64 * MIB);
    put_payload(&later, KEY);
    assert_true(exists(left.temporary)); /* its writer may be alive */
    xl__store_clear(&later.store);
    set_age(left.temporary, 2 * HOUR_S);
    open_store(&later, f.store.dir, NULL, 64 * MIB);
    put_payload(&later, KEY);
    assert_false(exists(left.temporary));
    assert_true(has_payload(&later, KEY));
    assert_int_equal(f.n_warnings + later.n_warnings, 0);
    xl__store_clear(&later.store);
    xl__store_clear(&f.store);
}

/* -- eviction --------------------------------------------------------------*/

/* Thirty entries of 10 KB where 100 KB may stay: the newest do. */
static void eviction_keeps_the_newest(void **state)
{
    (void)state;
    enum { N = 30, EACH = 10000, LIMIT = 100000 };
    const char *dir = test_scratch("evict");
    struct fixture f;
    xl_cache_stats stats;
    char key[32];
    open_store(&f, dir, NULL, LIMIT);
    for (int i = 0; i < N; i++) {
        key_of(i, key);
        put_zeros(&f, key, EACH);
        char *path = path_of(&f, key);
        assert_true(exists(path)); /* what was just written stays */
        set_age(path, N - i);      /* clocks of files may be coarse */
        free(path);
    }
    assert_int_equal(xl__store_stats(&f.store, &stats), XL_OK);
    assert_true(stats.bytes <= LIMIT && stats.bytes >= LIMIT / 2);
    for (int i = 0; i < N; i++) {
        key_of(i, key);
        char *path = path_of(&f, key);
        assert_int_equal(exists(path), i >= N - (int)stats.n_entries);
        free(path);
    }
    put_zeros(&f, "over the limit", LIMIT);
    assert_int_equal(f.n_warnings, 1);
    assert_non_null(strstr(f.last, "limit"));
    xl__store_clear(&f.store);
}

/* A server's clock may be ahead of ours: what was just written stays all the
 * same, though every other file looks newer. */
static void eviction_keeps_its_own_write(void **state)
{
    (void)state;
    enum { N = 15, EACH = 10000, LIMIT = 100000 };
    struct fixture f;
    char key[32];
    open_store(&f, test_scratch("ahead"), NULL, LIMIT);
    for (int i = 0; i < N; i++) {
        key_of(i, key);
        put_zeros(&f, key, EACH);
        char *path = path_of(&f, key);
        assert_true(exists(path));
        set_age(path, -HOUR_S);
        free(path);
    }
    /* A new file's time is now, an hour before the others'. */
    assert_int_equal(files_below(f.store.dir).n_entries, 9);
    xl__store_clear(&f.store);
}

/* A hit makes an entry young again; one within the hour costs no write. */
static void hits_are_remembered(void **state)
{
    (void)state;
    struct fixture f;
    struct xl__file_info info;
    open_store(&f, test_scratch("touch"), NULL, MIB);
    put_payload(&f, KEY);
    char *path = path_of(&f, KEY);
    for (int minutes = 30; minutes <= 90; minutes += 60) {
        set_age(path, minutes * 60);
        assert_true(has_payload(&f, KEY));
        assert_true(xl__file_stat(path, &info));
        int64_t age_s = (int64_t)time(NULL) - info.used_unix_ns / 1000000000;
        assert_int_equal(age_s > HOUR_S / 4, minutes < 60);
    }
    free(path);
    xl__store_clear(&f.store);
}

/* Other files in the folder are not ours to count or remove. */
static void strangers_are_left_alone(void **state)
{
    (void)state;
    const char *dir = test_scratch("strangers");
    static const char *const names[] = {"letter.txt", "1/notes", "1/ab/photo",
                                        "2/ab/newer-format"};
    struct fixture f;
    struct xl__str path = {0};
    uint64_t n_removed;
    open_store(&f, dir, NULL, 1000);
    put_payload(&f, KEY);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < 4; i++) {
            xl__str_reset(&path);
            xl__str_printf(&path, "%s/%s", dir, names[i]);
            if (pass == 1) {
                assert_true(exists(path.text));
                continue;
            }
            char *parent = xl__strdup(path.text);
            *strrchr(parent, '/') = 0;
            assert_int_equal(xl__dir_create(parent, NULL), XL_OK);
            assert_int_equal(xl__file_replace(path.text, parent, 20), XL_OK);
            set_age(path.text, 24 * HOUR_S);
            free(parent);
        }
        put_zeros(&f, "a", 500);
        put_zeros(&f, "b", 600); /* evicts */
        assert_int_equal(xl__store_remove(&f.store, true, &n_removed), XL_OK);
        assert_int_equal(n_removed, 0);
        assert_int_equal(xl__store_remove(&f.store, false, &n_removed), XL_OK);
        assert_int_equal(n_removed, 1);
    }
    xl__str_clear(&path);
    xl__store_clear(&f.store);
}

/* -- system folder, listing ------------------------------------------------*/

static void system_folder_is_second(void **state)
{
    (void)state;
    char *system = xl__strdup(test_scratch("system"));
    char *own = xl__strdup(test_scratch("own"));
    struct fixture admin, user;
    open_store(&admin, system, NULL, MIB);
    put_payload(&admin, KEY);
    open_store(&user, own, system, MIB);
    char *there = path_of(&admin, KEY), *here = path_of(&user, KEY);
    set_age(there, 24 * HOUR_S);
    assert_true(has_payload(&user, KEY));
    assert_false(exists(here));
    xl__store_drop(&user.store, KEY);
    assert_true(exists(there)); /* it is read only */
    xl__store_put(&user.store, KEY, NULL, 0, XL__FAILED);
    struct xl__entry e;
    assert_true(xl__store_get(&user.store, KEY, &e));
    assert_int_equal(e.trust, XL__FAILED); /* the user's comes first */
    xl__store_drop(&user.store, KEY);
    assert_int_equal(truncate(there, 30), 0);
    assert_false(has_payload(&user, KEY));
    assert_true(exists(there));
    assert_int_equal(user.n_warnings, 1);
    xl__store_clear(&user.store);
    xl__store_clear(&admin.store);
    free(there);
    free(here);
    free(own);
    free(system);
}

struct listing {
    unsigned n, n_system, n_damaged, n_with_key;
};

static void list_one(const xl_cache_entry *entry, void *arg)
{
    struct listing *l = arg;
    l->n++;
    l->n_system += entry->is_system;
    l->n_damaged += !entry->is_intact;
    l->n_with_key += strcmp(entry->key, KEY) == 0 &&
                     strcmp(entry->selfcheck, "passed") == 0;
    assert_true(entry->used_unix_s > 0 && exists(entry->path));
}

static void listing_tells_all(void **state)
{
    (void)state;
    char *system = xl__strdup(test_scratch("list-system"));
    struct fixture f, admin;
    struct listing l = {0};
    xl_cache_stats stats;
    uint64_t n_removed;
    open_store(&admin, system, NULL, MIB);
    open_store(&f, test_scratch("list"), system, MIB);
    put_payload(&admin, KEY);
    put_payload(&f, KEY);
    put_payload(&f, "second");
    char *path = path_of(&f, "second");
    assert_int_equal(truncate(path, 50), 0);
    assert_int_equal(xl__store_list(&f.store, list_one, &l), XL_OK);
    assert_int_equal(l.n, 3);
    assert_int_equal(l.n_system, 1);
    assert_int_equal(l.n_damaged, 1);
    assert_int_equal(l.n_with_key, 2);
    assert_true(exists(path)); /* looking removes nothing */
    assert_true(has_payload(&f, KEY));
    assert_int_equal(xl__store_stats(&f.store, &stats), XL_OK);
    assert_int_equal(stats.n_entries, 2);
    assert_int_equal(stats.n_damaged, 1);
    assert_int_equal(stats.writes, 2);
    assert_int_equal(stats.limit_bytes, MIB);
    assert_int_equal(stats.bytes, 50 + 40 + sizeof(KEY) - 1 + sizeof(PAYLOAD));
    assert_int_equal(xl__store_remove(&f.store, true, &n_removed), XL_OK);
    assert_int_equal(n_removed, 1);
    assert_int_equal(xl__store_remove(&f.store, false, &n_removed), XL_OK);
    assert_int_equal(n_removed, 1);
    assert_true(has_payload(&f, KEY)); /* the system's is still there */
    xl__store_clear(&f.store);
    xl__store_clear(&admin.store);
    free(path);
    free(system);
}

/* -- the public calls ------------------------------------------------------*/

static void note_log(xl_log_level level, const char *text, void *arg)
{
    assert_int_equal(level, XL_LOG_WARNING);
    note_warning(text, arg);
}

static void public_calls(void **state)
{
    (void)state;
    const char *dir = test_scratch("public");
    struct fixture f = {0};
    const xl_options options = {XL_OPTIONS_INIT, .log = note_log,
                                .log_arg = &f, .cache_dir = dir,
                                .cache_limit_bytes = MIB};
    struct listing l = {0};
    xl_cache_stats stats;
    uint64_t n_removed = 9;
    xl_lib *lib;
    assert_int_equal(xl_open(&options, &lib), XL_OK);
    assert_string_equal(xl_cache_dir(lib), dir);
    xl__store_put(&lib->store, KEY, PAYLOAD, sizeof(PAYLOAD), XL__PASSED);
    assert_int_equal(xl_cache_list(lib, list_one, &l), XL_OK);
    assert_int_equal(l.n_with_key, 1);
    assert_int_equal(xl_cache_stats_get(lib, &stats), XL_OK);
    assert_int_equal(stats.n_entries, 1);
    assert_int_equal(stats.limit_bytes, MIB);
    assert_int_equal(xl_cache_clear(lib, true, &n_removed), XL_OK);
    assert_int_equal(n_removed, 0);
    assert_int_equal(chmod(dir, 0777), 0);
    assert_int_equal(xl_cache_clear(lib, false, &n_removed), XL_IO);
    assert_non_null(strstr(xl_lib_error(lib), dir));
    assert_non_null(strstr(xl_lib_error(lib), "other users may write to it"));
    assert_int_equal(chmod(dir, 0700), 0);
    assert_int_equal(xl_cache_clear(lib, false, &n_removed), XL_OK);
    assert_int_equal(n_removed, 1);
    assert_string_equal(xl_lib_error(lib), "");
    assert_int_equal(f.n_warnings, 0);
    assert_int_equal(xl_cache_list(lib, NULL, NULL), XL_BAD_ARGUMENT);
    assert_int_equal(xl_cache_stats_get(lib, NULL), XL_BAD_ARGUMENT);
    assert_int_equal(xl_cache_clear(NULL, false, NULL), XL_BAD_ARGUMENT);
    assert_null(xl_cache_dir(NULL));
    xl_close(lib);
}

/* No HOME is a warning; a folder of "" is the off switch, and none. */
static void public_off(void **state)
{
    (void)state;
    struct fixture f = {0};
    xl_options options = {XL_OPTIONS_INIT, .log = note_log, .log_arg = &f,
                          .cache_dir = ""};
    char *cache = xl__strdup(getenv("XL_CACHE_DIR"));
    char *home = xl__strdup(getenv("HOME"));
    xl_lib *lib;
    assert_int_equal(xl_open(&options, &lib), XL_OK);
    assert_null(xl_cache_dir(lib));
    assert_int_equal(f.n_warnings, 0);
    xl_close(lib);
    test_setenv("XL_CACHE_DIR", NULL);
    test_setenv("XDG_CACHE_HOME", NULL);
    test_setenv("HOME", NULL);
    options.cache_dir = NULL;
    assert_int_equal(xl_open(&options, &lib), XL_OK);
    assert_null(xl_cache_dir(lib));
    assert_int_equal(f.n_warnings, 1);
    assert_non_null(strstr(f.last, "home"));
    xl_close(lib);
    test_setenv("XL_CACHE_DIR", cache);
    test_setenv("HOME", home);
    free(home);
    free(cache);
}

/* The home folder of another user, where only root could create one: no cache,
 * and nothing is created. */
static void home_of_other_user(void **state)
{
    (void)state;
    struct fixture f = {0};
    const xl_options options = {XL_OPTIONS_INIT, .log = note_log,
                                .log_arg = &f};
    char *cache = xl__strdup(getenv("XL_CACHE_DIR"));
    char *home = xl__strdup(getenv("HOME"));
    const char *other = test_scratch("home");
    const bool is_root = geteuid() == 0;
    xl_lib *lib;
    if (is_root)
        assert_int_equal(chown(other, 12345, 12345), 0);
    test_setenv("XL_CACHE_DIR", NULL);
    test_setenv("XDG_CACHE_HOME", NULL);
    test_setenv("HOME", other);
    assert_int_equal(xl_open(&options, &lib), XL_OK);
    assert_int_equal(xl_cache_dir(lib) == NULL, is_root);
    assert_int_equal(f.n_warnings, is_root);
    xl_close(lib);
    /* A folder of the user himself, or of root, as /tmp is. */
    if (is_root)
        assert_int_equal(chown(other, 0, 0), 0);
    assert_int_equal(xl_open(&options, &lib), XL_OK);
    assert_non_null(xl_cache_dir(lib));
    xl_close(lib);
    test_setenv("XL_CACHE_DIR", cache);
    test_setenv("HOME", home);
    free(home);
    free(cache);
}

/* In a set-uid program of another user: 0 if the variable, which is set, is
 * not read. */
static int check_environment(void)
{
    const char *dir = xl__getenv("XL_CL_DIR");
    return dir == NULL && getenv("XL_CL_DIR") != NULL ? 0 : 1;
}

/* Runs this program as another user, by a copy with the set-uid bit. */
static void set_uid_reads_no_environment(void **state)
{
    enum { OTHER = 12345 };
    (void)state;
    char folder[64], copy[80], command[160];
    snprintf(folder, sizeof folder, "/tmp/xl_setuid_%ld", (long)getpid());
    if (geteuid() != 0 || mkdir(folder, 0755) != 0)
        return; /* only root can make the program */
    snprintf(copy, sizeof copy, "%s/p", folder);
    snprintf(command, sizeof command, "cp /proc/%ld/exe %s", (long)getpid(),
             copy);
    assert_int_equal(system(command), 0);
    assert_int_equal(chown(copy, OTHER, OTHER), 0);
    assert_int_equal(chmod(copy, 04755), 0);
    snprintf(command, sizeof command, "XL_CL_DIR=/x %s environment", copy);
    const int code = system(command);
    assert_true(remove(copy) == 0 && remove(folder) == 0);
    assert_int_equal(code, 0);
}

int main(int argc, char **argv)
{
    if (argc == 2 && xl__streq(argv[1], "environment"))
        _exit(check_environment());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(off_is_quiet),
        cmocka_unit_test(damage_is_a_miss),
        cmocka_unit_test(sealed_nonsense_is_a_miss),
        cmocka_unit_test(collision_is_a_miss),
        cmocka_unit_test(unusable_folder_warns_once),
        cmocka_unit_test(open_folder_is_refused),
        cmocka_unit_test(limited_file_is_no_failure),
        cmocka_unit_test(full_disk_is_no_failure),
        cmocka_unit_test(two_processes_write),
        cmocka_unit_test(threads_share_a_store),
        cmocka_unit_test(two_stores_of_one_process),
        cmocka_unit_test(killed_writer_is_harmless),
        cmocka_unit_test(eviction_keeps_the_newest),
        cmocka_unit_test(eviction_keeps_its_own_write),
        cmocka_unit_test(hits_are_remembered),
        cmocka_unit_test(strangers_are_left_alone),
        cmocka_unit_test(system_folder_is_second),
        cmocka_unit_test(listing_tells_all),
        cmocka_unit_test(public_calls),
        cmocka_unit_test(public_off),
        cmocka_unit_test(home_of_other_user),
        cmocka_unit_test(set_uid_reads_no_environment),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
