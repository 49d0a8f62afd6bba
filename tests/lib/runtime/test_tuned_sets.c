/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of tuned sets without a device: parsing of files, which set is found
 * for which device, invalid files, several writers and killed writers; and the
 * texts of shape classes and tunables. */
#include "support/support.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/files.h"
#include "base/os/paths.h"
#include "ops/path/size_buckets.h"
#include "ops/path/tunables.h"
#include "ops/variants.h"
#include "runtime/tuned/tuned_sets.h"
#include "targets/targets.h"

/* -- helpers ---------------------------------------------------------------*/

/* A database that counts its warnings and keeps the last. */
struct fixture {
    struct xl__tuned_sets db;
    unsigned n_warnings;
    char last[512];
};

static void note_warning(const char *text, void *arg)
{
    struct fixture *f = arg;
    f->n_warnings++;
    xl__strcpy(f->last, sizeof f->last, text);
}

static void open_db(struct fixture *f, const char *user, const char *system)
{
    memset(f, 0, sizeof *f);
    f->db.warn = note_warning;
    f->db.warn_arg = f;
    assert_int_equal(xl__tuned_sets_init(&f->db, user, system, false), XL_OK);
}

static void close_db(struct fixture *f)
{
    xl__tuned_sets_clear(&f->db);
}

/* A device of these texts. */
static void make_device(xl_device *dev, const char *name, const char *arch)
{
    struct xl__limits *l = &dev->limits;
    memset(dev, 0, sizeof *dev);
    dev->vendor = &xl__vendor_generic;
    xl__limits_init(l);
    xl__limits_answer_text(l, XL__F_name, name, NULL);
    xl__limits_answer_text(l, XL__F_platform, "Test Platform", NULL);
    xl__limits_answer_text(l, XL__F_arch, arch, NULL);
    xl__limits_answer_text(l, XL__F_driver, "1.0", NULL);
}

static void clear_device(xl_device *dev)
{
    xl__limits_clear(&dev->limits);
}

static struct xl__tuned_set make_set(const char *shape_class,
                                     const char *tunables)
{
    struct xl__tuned_set set;
    memset(&set, 0, sizeof set);
    xl__strcpy(set.op, sizeof set.op, "gemm");
    xl__strcpy(set.shape_class, sizeof set.shape_class, shape_class);
    xl__strcpy(set.variant, sizeof set.variant, "gemm_tiled");
    xl__strcpy(set.tunables, sizeof set.tunables, tunables);
    xl__strcpy(set.driver, sizeof set.driver, "1.0");
    xl__strcpy(set.date, sizeof set.date, "2026-01-01T00:00:00Z");
    set.median_ns = 1000;
    set.mad_ns = 1;
    set.gain = 1.25;
    set.runs = 64;
    return set;
}

static void save(struct fixture *f, const xl_device *dev, const char *class,
                 const char *tunables, const char *path)
{
    struct xl__error e = {0};
    const struct xl__tuned_set set = make_set(class, tunables);
    assert_status(xl__tuned_sets_save(
                      &f->db, dev,
                      &(struct xl__tuned_change){.set = &set, .path = path},
                      &e),
                  XL_OK, xl__str_text(&e.detail));
    xl__error_clear(&e);
}

/* The strongest set's tunables for a class; "" when there is none. */
static const char *found(struct fixture *f, const xl_device *dev,
                         const char *class)
{
    struct xl__tuned_match m;
    return xl__tuned_sets_find(&f->db, dev, "gemm", class, &m, 1)
               ? m.set->tunables
               : "";
}

static void write_text(const char *dir, const char *name, const char *text)
{
    char *path = xl__path_join(dir, name);
    assert_int_equal(xl__file_replace(path, text, strlen(text)), XL_OK);
    free(path);
}

static char *read_text(const char *path)
{
    char *text;
    size_t len;
    assert_int_equal(xl__file_read(path, &text, &len), XL_OK);
    return text;
}

/* scratch() keeps one folder at a time: copies, to be freed. */
static char *folder(const char *name)
{
    return xl__strdup(test_scratch(name));
}

/* A file with one set, whose tunables distinguish it. */
static void write_file(const char *dir, const char *name,
                       const struct xl__tuned_file *head, const char *tunables)
{
    struct xl__tuned_file file = *head;
    struct xl__str text = {0};
    const struct xl__tuned_set set = make_set("c", tunables);
    assert_true(xl__tuned_file_put(&file, &set));
    xl__tuned_file_format(&file, &text);
    write_text(dir, name, xl__str_text(&text));
    xl__str_clear(&text);
    xl__tuned_file_clear(&file);
}

/* -- files -----------------------------------------------------------------*/

static void test_round_trip(void **state)
{
    struct xl__tuned_file file, again;
    struct xl__str text = {0}, second = {0}, why = {0};
    xl_device dev;
    (void)state;
    make_device(&dev, "a \"device\" \\ of \x80 signs", "arch");
    xl__tuned_device_head(&dev, &file);
    for (int i = 9; i >= 0; i--) {
        char class[16];
        snprintf(class, sizeof class, "c%d", i * 7 % 10);
        const struct xl__tuned_set set = make_set(class, "TM=64 TN=32");
        assert_true(xl__tuned_file_put(&file, &set));
    }
    xl__tuned_file_format(&file, &text);
    assert_false(text.broken);
    assert_status(xl__tuned_file_parse(text.text, text.len, &again, &why),
                  XL_OK, xl__str_text(&why));
    assert_int_equal(again.n_sets, 10);
    assert_true(xl__tuned_same_device(&file, &again));
    for (size_t i = 0; i + 1 < again.n_sets; i++)
        assert_true(strcmp(again.sets[i].shape_class,
                           again.sets[i + 1].shape_class) < 0);
    assert_memory_equal(&again.sets[3], &file.sets[3], sizeof *file.sets);
    xl__tuned_file_format(&again, &second);
    assert_string_equal(xl__str_text(&second), xl__str_text(&text));
    xl__tuned_file_clear(&file);
    xl__tuned_file_clear(&again);
    xl__str_clear(&text);
    xl__str_clear(&second);
    clear_device(&dev);
}

#define HEAD "{\"format\": \"crosslane tuned sets\", \"schema\": 1, "
#define DEVICE "\"device\": {\"name\": \"d\"}, \"for\": \"device\", "
#define SET "\"op\": \"gemm\", \"class\": \"c\", \"variant\": \"v\""

/* Each is refused, whole, with a phrase that names what is wrong. */
static void test_wrong_files(void **state)
{
    static const struct {
        const char *text, *why;
    } wrong[] = {
        {"", "line 1"},
        {"{\"format\": \"crosslane tuned sets\", \"schema\": 1,", "line 1"},
        {"[]", "no file of"},
        {"{}", "no file of"},
        {"{\"format\": \"something else\", \"schema\": 1}", "no file of"},
        {"{\"format\": \"crosslane tuned sets\"}", "no file of"},
        {"{\"format\": \"crosslane tuned sets\", \"schema\": 2}", "schema 1"},
        {"{\"format\": \"crosslane tuned sets\", \"schema\": 0}", "schema 1"},
        {HEAD "\"for\": \"all\"}", "\"for\""},
        {HEAD "\"for\": \"device\"}", "\"name\""},
        {HEAD DEVICE "\"sets\": 3}", "\"sets\""},
        {HEAD DEVICE "\"sets\": [3]}", "set 1"},
        {HEAD DEVICE "\"sets\": [{" SET "}, {\"op\": \"gemm\"}]}", "set 2"},
        {HEAD DEVICE "\"sets\": [{" SET ", \"median_ns\": -1}]}", "median_ns"},
        {HEAD DEVICE "\"profile\": {\"rates\": {\"launch_ns\": 0}}, "
                     "\"sets\": []}",
         "launch_ns"},
        {HEAD DEVICE "\"profile\": {\"driver\": 1, \"rates\": {}}, "
                     "\"sets\": []}",
         "driver"},
        {HEAD DEVICE "\"sets\": [{" SET ", \"runs\": \"9\"}]}", "runs"},
        {HEAD DEVICE "\"sets\": [{" SET ", \"tunables\": 7}]}", "tunables"},
        {HEAD DEVICE "\"sets\": [{" SET ", \"op\": \"gemm\"}]}", "line 1"},
        {HEAD DEVICE "\"sets\": [{" SET
                     ", \"library\": \"123456789012345678901234567890\"}]}",
         "too long"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct xl__tuned_file file;
        struct xl__str why = {0};
        const xl_status status = xl__tuned_file_parse(
            wrong[i].text, strlen(wrong[i].text), &file, &why);
        if (status != XL_CORRUPT || !strstr(xl__str_text(&why), wrong[i].why))
            fail_msg("%s: %s, \"%s\"", wrong[i].text, xl_status_name(status),
                     xl__str_text(&why));
        xl__tuned_file_clear(&file);
        xl__str_clear(&why);
    }
}

/* -- the ladder ------------------------------------------------------------*/

/* From the weakest to the strongest, each added set is the one found. */
static void test_ladder(void **state)
{
    xl_device dev, other;
    struct xl__tuned_file head, far;
    char *user = folder("user"), *system = folder("system");
    (void)state;
    make_device(&dev, "one", "sm_1");
    make_device(&other, "two", "sm_1");
    xl__tuned_device_head(&dev, &head);
    xl__tuned_device_head(&other, &far);
    static const struct {
        bool is_user, is_far;
        enum xl__tuned_scope scope;
        const char *arch;
    } rungs[] = {
        {false, true, XL__TUNED_VENDOR, "sm_9"},
        {false, true, XL__TUNED_ARCH, "sm_1"},
        {false, false, XL__TUNED_DEVICE, "sm_1"},
        {true, true, XL__TUNED_VENDOR, "sm_9"},
        {true, true, XL__TUNED_ARCH, "sm_1"},
        {true, false, XL__TUNED_DEVICE, "sm_1"},
    };
    for (size_t i = 0; i < sizeof rungs / sizeof *rungs; i++) {
        struct xl__tuned_file file = rungs[i].is_far ? far : head;
        struct fixture f;
        char name[16], tunables[16];
        file.scope = rungs[i].scope;
        xl__strcpy(file.arch, sizeof file.arch, rungs[i].arch);
        snprintf(name, sizeof name, "f%zu.json", i);
        snprintf(tunables, sizeof tunables, "TM=%zu", i);
        write_file(rungs[i].is_user ? user : system, name, &file, tunables);
        open_db(&f, user, system);
        assert_string_equal(found(&f, &dev, "c"), tunables);
        assert_string_equal(found(&f, &dev, "another"), "");
        struct xl__tuned_match all[8];
        assert_int_equal(xl__tuned_sets_find(&f.db, &dev, NULL, NULL, all, 8),
                         i + 1);
        assert_int_equal(f.n_warnings, 0);
        close_db(&f);
    }
    clear_device(&dev);
    clear_device(&other);
    free(user);
    free(system);
}

/* What is for one device is not for its neighbour. */
static void test_reach(void **state)
{
    xl_device dev, other;
    struct fixture f;
    struct xl__tuned_file head;
    char *user = folder("user");
    (void)state;
    make_device(&dev, "one", "");
    make_device(&other, "two", "");
    xl__tuned_device_head(&other, &head);
    write_file(user, "two.json", &head, "TM=2");
    head.scope = XL__TUNED_ARCH; /* no arch is no one's arch */
    write_file(user, "arch.json", &head, "TM=3");
    open_db(&f, user, NULL);
    assert_string_equal(found(&f, &dev, "c"), "");
    assert_string_not_equal(found(&f, &other, "c"), "");
    close_db(&f);
    memset(&f, 0, sizeof f);
    assert_int_equal(xl__tuned_sets_init(&f.db, user, user, true), XL_OK);
    assert_string_equal(found(&f, &other, "c"), "");
    close_db(&f);
    clear_device(&dev);
    clear_device(&other);
    free(user);
}

/* -- saving ----------------------------------------------------------------*/

struct names {
    unsigned n_json;
    char path[4][512]; /* of them */
};

static bool note_json(const char *path, void *arg)
{
    struct names *names = arg;
    const size_t len = strlen(path);
    if (len > 5 && strcmp(path + len - 5, ".json") == 0 && names->n_json < 4)
        xl__strcpy(names->path[names->n_json++], 512, path);
    return true;
}

static struct names list(const char *dir)
{
    struct names names = {0};
    assert_int_equal(xl__dir_scan(dir, note_json, &names), XL_OK);
    return names;
}

/* A set replaces the old one of its class whole; the others stand. */
static void test_merge(void **state)
{
    xl_device dev;
    struct fixture f;
    char *base = folder("merge"), *user = xl__path_join(base, "a/b");
    (void)state;
    make_device(&dev, "One Device (TM) 7", "sm_1");
    open_db(&f, user, NULL);
    assert_string_equal(found(&f, &dev, "c1"), "");
    save(&f, &dev, "c1", "TM=1", NULL);
    save(&f, &dev, "c2", "TM=2", NULL);
    assert_string_equal(found(&f, &dev, "c1"), "TM=1");
    save(&f, &dev, "c1", "TN=3", NULL);
    assert_string_equal(found(&f, &dev, "c1"), "TN=3");
    assert_string_equal(found(&f, &dev, "c2"), "TM=2");
    const struct names names = list(user);
    assert_int_equal(names.n_json, 1);
    assert_string_equal(xl__path_name(names.path[0]),
                        "one-device-tm-7-test-platform.json");
    assert_int_equal(f.n_warnings, 0);
    close_db(&f);
    clear_device(&dev);
    free(user);
    free(base);
}

/* A file that is not understood is said, passed over and never written to;
 * what is saved goes beside it, and is found. */
static void test_left_alone(void **state)
{
    static const char *const texts[] = {
        "not JSON at all",
        "{\"format\": \"crosslane tuned sets\", \"schema\": 2, \"news\": 1}",
        "{\"other\": \"file\"}",
        "",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        xl_device dev;
        struct fixture f;
        struct xl__error e = {0};
        char *user = folder("left");
        make_device(&dev, "one", "sm_1");
        write_text(user, "one-test-platform.json", texts[i]);
        char *path = xl__path_join(user, "one-test-platform.json");
        open_db(&f, user, NULL);
        assert_string_equal(found(&f, &dev, "c"), "");
        assert_int_equal(f.n_warnings, 1);
        assert_non_null(strstr(f.last, path));
        save(&f, &dev, "c", "TM=5", NULL);
        assert_string_equal(found(&f, &dev, "c"), "TM=5");
        char *text = read_text(path);
        assert_string_equal(text, texts[i]);
        free(text);
        assert_int_equal(list(user).n_json, 2);
        /* A path that was named is that one or none. */
        const struct xl__tuned_set set = make_set("c", "TM=6");
        assert_int_equal(
            xl__tuned_sets_save(
                &f.db, &dev,
                &(struct xl__tuned_change){.set = &set, .path = path}, &e),
            XL_CORRUPT);
        assert_non_null(strstr(xl__str_text(&e.detail), "is not changed"));
        xl__error_clear(&e);
        close_db(&f);
        clear_device(&dev);
        free(path);
        free(user);
    }
}

static void test_nowhere(void **state)
{
    xl_device dev;
    struct fixture f;
    struct xl__error e = {0};
    const struct xl__tuned_set set = make_set("c", "TM=1");
    (void)state;
    make_device(&dev, "one", "sm_1");
    open_db(&f, NULL, NULL);
    assert_int_equal(
        xl__tuned_sets_save(&f.db, &dev,
                            &(struct xl__tuned_change){.set = &set}, &e),
        XL_IO);
    assert_non_null(strstr(xl__str_text(&e.detail), "XL_TUNED_DIR"));
    xl__error_clear(&e);
    assert_int_equal(xl__tuned_sets_save(
                         &f.db, &dev,
                         &(struct xl__tuned_change){
                             .set = &set, .path = "/proc/no/such/place.json"},
                         &e),
                     XL_IO);
    assert_non_null(strstr(xl__str_text(&e.detail), "place.json"));
    xl__error_clear(&e);
    close_db(&f);
    clear_device(&dev);
}

/* -- profiles --------------------------------------------------------------*/

/* A profile is kept beside the sets, by which it is found as they are: the
 * user's before the system's, one of the device before one of its
 * architecture. It replaces rates in `limits`, and nothing else. */
static void test_profiles(void **state)
{
    static const char rates[] = "\"profile\": {\"driver\": \"0.9\", "
                                "\"date\": \"2026-01-02T00:00:00Z\", "
                                "\"rates\": {\"copy_bytes_per_s\": 5e11, "
                                "\"launch_ns\": 4000, "
                                "\"compute_units\": 7, \"speed\": 1}},\n";
    char *user = xl__strdup(test_scratch("profiles-user"));
    char *system = xl__strdup(test_scratch("profiles-system"));
    xl_device dev;
    struct fixture f;
    struct xl__error e = {0};
    xl_profile p = {.driver = "1.0",
                    .date = "2026-01-03T00:00:00Z",
                    .n_rates = 1,
                    .rates = {{"copy_bytes_per_s", 2e12}}};
    (void)state;
    make_device(&dev, "one", "sm_1");
    char text[1024];
    snprintf(text, sizeof text,
             "{\"format\": \"crosslane tuned sets\", \"schema\": 1,\n"
             "\"device\": {\"name\": \"other\", \"platform\": \"P\", "
             "\"arch\": \"sm_1\", \"vendor\": \"generic\"},\n"
             "\"for\": \"arch\",\n%s\"sets\": []}\n",
             rates);
    write_text(system, "arch.json", text);
    open_db(&f, user, system);
    xl__tuned_profile_apply(&dev, &f.db);
    /* Of the architecture: two rates; a fact that is no rate and a name that
     * is no fact are left out with a warning. */
    assert_true(xl__num(&dev.limits, XL__F_copy_bytes_per_s) == 5e11);
    assert_true(xl__num(&dev.limits, XL__F_launch_ns) == 4000);
    assert_true(isnan(xl__num(&dev.limits, XL__F_compute_units)));
    assert_int_equal(dev.limits.used[XL__F_launch_ns].source, XL_CALIBRATED);
    assert_int_equal(f.n_warnings, 2);
    assert_non_null(strstr(f.last, "speed"));
    /* The user's own, beside a set, which stays when it is replaced. */
    save(&f, &dev, "c", "TM=5", NULL);
    const struct xl__tuned_change change = {.profile = &p};
    for (unsigned i = 0; i < 2; i++) {
        p.rates[0].value = 2e12 * (i + 1);
        assert_status(xl__tuned_sets_save(&f.db, &dev, &change, &e), XL_OK,
                      xl__str_text(&e.detail));
        xl_profile got;
        xl__tuned_profile_find(&f.db, &dev, &got);
        assert_int_equal(got.n_rates, 1);
        assert_true(got.rates[0].value == p.rates[0].value);
        assert_string_equal(got.date, p.date);
        assert_non_null(strstr(got.origin, user));
        assert_string_equal(found(&f, &dev, "c"), "TM=5");
    }
    save(&f, &dev, "d", "TM=6", NULL); /* a set keeps the profile */
    xl__tuned_profile_find(&f.db, &dev, &p);
    assert_int_equal(p.n_rates, 1);
    assert_int_equal(list(user).n_json, 1);
    close_db(&f);
    /* Of two files of one rank the profile with the later date, whichever the
     * folder lists first. */
    const char *const dates[] = {"2026-01-01T00:00:00Z",
                                 "2026-01-05T00:00:00Z"};
    for (unsigned i = 0; i < 4; i++) {
        snprintf(text, sizeof text,
                 HEAD "\"device\": {\"name\": \"one\", "
                 "\"platform\": \"Test Platform\", \"arch\": \"sm_1\", "
                 "\"vendor\": \"generic\"}, \"for\": \"device\",\n"
                 "\"profile\": {\"driver\": \"1\", \"date\": \"%s\", "
                 "\"rates\": {\"launch_ns\": %u}},\n\"sets\": []}\n",
                 dates[(i / 2) ^ (i % 2)], ((i / 2) ^ (i % 2)) + 1);
        write_text(system, i % 2 ? "x.json" : "y.json", text);
        if (i % 2 == 0)
            continue;
        open_db(&f, NULL, system);
        xl__tuned_profile_find(&f.db, &dev, &p);
        assert_string_equal(p.date, dates[1]);
        assert_true(p.rates[0].value == 2);
        close_db(&f);
    }
    /* Off, and another device: none. */
    open_db(&f, user, NULL);
    f.db.is_off = true;
    xl__tuned_profile_find(&f.db, &dev, &p);
    assert_int_equal(p.n_rates, 0);
    f.db.is_off = false;
    clear_device(&dev);
    make_device(&dev, "two", "sm_2");
    xl__tuned_profile_find(&f.db, &dev, &p);
    assert_int_equal(p.n_rates, 0);
    close_db(&f);
    clear_device(&dev);
    free(user);
    free(system);
}

/* -- several at a time -----------------------------------------------------*/

enum { WRITERS = 6, EACH = 12 };

static void write_many(const char *user, int who)
{
    xl_device dev;
    struct fixture f;
    make_device(&dev, "one", "sm_1");
    open_db(&f, user, NULL);
    for (int i = 0; i < EACH; i++) {
        struct xl__error e = {0};
        char class[16];
        snprintf(class, sizeof class, "c%d.%d", who, i);
        const struct xl__tuned_set set = make_set(class, "TM=1");
        if (xl__tuned_sets_save(&f.db, &dev,
                                &(struct xl__tuned_change){.set = &set},
                                &e) != XL_OK)
            _exit(2);
    }
    _exit(0);
}

/* All that anybody saved is there. */
static void test_writers(void **state)
{
    xl_device dev;
    struct fixture f;
    struct xl__tuned_match all[WRITERS * EACH + 1];
    char *user = folder("writers");
    pid_t child[WRITERS];
    (void)state;
    for (int i = 0; i < WRITERS; i++) {
        child[i] = fork();
        assert_true(child[i] >= 0);
        if (child[i] == 0)
            write_many(user, i);
    }
    for (int i = 0; i < WRITERS; i++) {
        int status;
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    make_device(&dev, "one", "sm_1");
    open_db(&f, user, NULL);
    assert_int_equal(
        xl__tuned_sets_find(&f.db, &dev, NULL, NULL, all, WRITERS * EACH + 1),
        WRITERS * EACH);
    assert_int_equal(f.n_warnings, 0);
    close_db(&f);
    clear_device(&dev);
    free(user);
}

/* Whenever a writer is killed, the file is whole and its lock is free. */
static void test_killed_writer(void **state)
{
    enum { KILLS = 12, STEP_NS = 700000 };
    xl_device dev;
    char *user = folder("killed");
    (void)state;
    make_device(&dev, "one", "sm_1");
    for (int i = 0; i < KILLS; i++) {
        struct fixture f;
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            for (;;)
                write_many(user, i);
        const struct timespec wait = {0, (i + 1) * STEP_NS};
        nanosleep(&wait, NULL);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        open_db(&f, user, NULL);
        save(&f, &dev, "last", "TM=9", NULL);
        assert_string_equal(found(&f, &dev, "last"), "TM=9");
        assert_int_equal(f.n_warnings, 0);
        close_db(&f);
    }
    clear_device(&dev);
    free(user);
}

/* -- stale -----------------------------------------------------------------*/

static void test_stale(void **state)
{
    xl_device dev;
    struct fixture f;
    char why[160];
    char *cl = folder("cl");
    struct xl__error e = {0};
    struct xl__plan plan;
    (void)state;
    memset(&plan, 0, sizeof plan);
    make_device(&dev, "one", "sm_1");
    open_db(&f, NULL, NULL);
    f.db.cl_dir = cl;
    write_text(cl, "part.clh", "int part;\n");
    write_text(cl, "a.cl", "#include \"part.clh\"\nint a;\n");
    plan.n_steps = 2;
    plan.step[0].source = plan.step[1].source = "a.cl";
    struct xl__tuned_set set = make_set("c", "TM=1");
    assert_status(
        xl__plan_sources(&f.db, &plan, set.sources, sizeof set.sources, &e),
        XL_OK, xl__str_text(&e.detail));
    assert_int_equal(strlen(set.sources), strlen("a.cl:") + 16);
    assert_false(xl__tuned_is_stale(&f.db, &dev, &set, why, sizeof why));
    write_text(cl, "part.clh", "int part; /* changed */\n");
    assert_true(xl__tuned_is_stale(&f.db, &dev, &set, why, sizeof why));
    assert_non_null(strstr(why, "a.cl has changed"));
    write_text(cl, "part.clh", "int part;\n");
    assert_false(xl__tuned_is_stale(&f.db, &dev, &set, why, sizeof why));
    xl__strcpy(set.driver, sizeof set.driver, "0.9");
    assert_true(xl__tuned_is_stale(&f.db, &dev, &set, why, sizeof why));
    assert_non_null(strstr(why, "driver 0.9"));
    close_db(&f);
    clear_device(&dev);
    free(cl);
}

/* The sets that come with the library are ones that it can read. */
static void test_shipped(void **state)
{
    (void)state;
    for (const struct xl__embedded *s = xl__shipped; s->name; s++) {
        struct xl__tuned_file file;
        struct xl__str why = {0};
        assert_status(
            xl__tuned_file_parse((const char *)s->text, s->len, &file, &why),
            XL_OK, xl__str_text(&why));
        assert_true(file.n_sets > 0);
        xl__tuned_file_clear(&file);
    }
}

/* -- the texts of a set ----------------------------------------------------*/

/* A bucket holds itself, its neighbours are within a quarter, and sizes that
 * are just beside a power of two are in that power's. */
static void test_buckets(void **state)
{
    (void)state;
    for (size_t n = 1; n < 20000; n++) {
        const size_t b = xl__bucket(n), c = xl__bucket_coarse(n);
        assert_int_equal(xl__bucket(b), b);
        assert_true((double)n <= 1.25 * (double)b);
        assert_true((double)b <= 1.25 * (double)n);
        assert_true(xl__bucket(n + 1) >= b);
        assert_int_equal(c & (c - 1), 0);
        assert_true((double)c * (double)c <= 2 * (double)n * (double)n);
        assert_true((double)n * (double)n <= 2 * (double)c * (double)c);
    }
    for (size_t n = 1; n <= 4; n++)
        assert_int_equal(xl__bucket(n), n);
    assert_int_equal(xl__bucket(1000), 1024);
    assert_int_equal(xl__bucket(1023), 1024);
    assert_int_equal(xl__bucket(1025), 1024);
    assert_int_equal(xl__bucket((size_t)1 << 40), (size_t)1 << 40);
}

static void test_params(void **state)
{
    const struct xl__variant *v = &xl__softmax_online;
    static const char *const wrong[] = {
        "",
        "MODE=1",
        "MODE=1 WG=64 LANES=8 HELD=4 VW=4",
        "MODE=7 WG=64 LANES=8 "
        "HELD=4 VW=4 STREAM=1",
        "MODE=1 WG=64 LANES=8 HELD=4 VW=4 STREAM=1 VW=4",
        "MODE=1 WG=64 LANES=8 HELD=4 VW=4 STREAM=1 TM=8",
        "MODE=1 WG=64 LANES=8 HELD=4 STREAM=1 VW=4x",
        "MODE=1,WG=64",
        "MODE WG LANES HELD VW STREAM",
        "MODE= WG=64 LANES=8 HELD=4 VW=4 STREAM=1",
    };
    struct xl__params p = {{0}, NULL};
    char text[160], why[160];
    (void)state;
    assert_true(
        xl__params_parse(v, " WG=64 MODE=1  LANES=8 VW=4 STREAM=1 HELD=12 ",
                         &p, why, sizeof why));
    xl__params_text(v, &p, text, sizeof text);
    assert_string_equal(text, "MODE=1 WG=64 LANES=8 HELD=12 VW=4 STREAM=1");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (xl__params_parse(v, wrong[i], &p, why, sizeof why))
            fail_msg("taken: \"%s\"", wrong[i]);
    }
    assert_true(xl__params_parse(&xl__gemm_ref, "", &p, why, sizeof why));
    assert_false(xl__params_parse(&xl__gemm_ref, "TM=8", &p, why, sizeof why));
}

/* A value of each tunable with the most digits. */
static void set_longest(const struct xl__variant *v, struct xl__params *p)
{
    for (unsigned i = 0; i < xl__params_count(v); i++) {
        const int *legal = v->tunables[i].legal;
        for (; *legal; legal++)
            p->value[i] = *legal > p->value[i] ? *legal : p->value[i];
    }
}

/* The longest name and tunables of every variant have room where a candidate
 * and a tuned set keep them, and are read back. */
static void test_room(void **state)
{
    unsigned n = 0;
    (void)state;
    for (size_t at = 0; xl__targets.vendors[at]; at++) {
        for (unsigned op = 0; op < XL__N_OPS; op++) {
            const struct xl__variant *const *list =
                xl__targets.vendors[at]->variants[op];
            for (; list && *list; list++, n++) {
                struct xl__params p = {{0}, NULL}, again = p;
                char text[sizeof((xl_candidate *)0)->tunables], why[160];
                set_longest(*list, &p);
                xl__params_text(*list, &p, text, sizeof text);
                if (!xl__params_parse(*list, text, &again, why, sizeof why))
                    fail_msg("\"%s\": %s", text, why);
                assert_true(xl__params_same(*list, &p, &again));
                assert_true(strlen((*list)->name) <
                            sizeof((xl_candidate *)0)->variant);
            }
        }
    }
    assert_true(n > 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_wrong_files),
        cmocka_unit_test(test_ladder),
        cmocka_unit_test(test_reach),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_left_alone),
        cmocka_unit_test(test_nowhere),
        cmocka_unit_test(test_profiles),
        cmocka_unit_test(test_writers),
        cmocka_unit_test(test_killed_writer),
        cmocka_unit_test(test_stale),
        cmocka_unit_test(test_shipped),
        cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_params),
        cmocka_unit_test(test_room),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
