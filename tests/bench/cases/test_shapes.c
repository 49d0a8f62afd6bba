/* SPDX-License-Identifier: Apache-2.0 */
/* Files of shapes, and what the modes of `clbench gemm` and `clbench compare`
 * compute: tiles, waves, reads, bounds, portability. No device, no driver. */
#include "commands.h"
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/os/files.h"
#include "cases/shape_file.h"
#include "compare/compare.h"
#include "compare/portability.h"
#include "tiling/cliffs.h"
#include "tiling/sweep.h"
#include "tiling/tiles.h"
#include "timing/run_cases.h"

static void assert_near(double got, double want, double tol)
{
    if (!(fabs(got - want) <= tol))
        fail_msg("%.9g, not %.9g", got, want);
}

/* -- files ---------------------------------------------------------------- */

/* A file with this text; its name. */
static const char *write_shapes(const char *text)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/s.txt", test_scratch("shapes"));
    assert_int_equal(xl__file_replace(path, text, strlen(text)), XL_OK);
    return path;
}

static struct settings no_settings(void)
{
    return (struct settings){
        .dtype = XL_N_DTYPES, .trans = -1};
}

static void lines_are_names_shapes_and_options(void **state)
{
    static const char text[] = "# a comment\n"
                               "\n"
                               "  first one:  64x32x16  f16 nt # behind\r\n"
                               "8\tbatch=7 dtype=bf16\n"
                               "last: 5x6x7";
    struct shape_file f;
    struct xl__str why = {0};
    (void)state;
    assert_true(shape_file_read(write_shapes(text), &f, &why));
    assert_int_equal(f.n, 3);
    assert_string_equal(f.line[0].name, "first one");
    assert_string_equal(f.line[0].word[0].text, "64x32x16");
    assert_int_equal(f.line[0].number, 3);
    assert_int_equal(f.line[0].word[0].column, 15);
    assert_null(f.line[1].name);
    assert_string_equal(f.line[2].word[0].text, "5x6x7");
    struct settings set = no_settings();
    assert_true(shape_file_settings(&f, 0, &cmd_gemm, &set, &why));
    assert_int_equal(set.dtype, XL_F16);
    assert_int_equal(set.trans, 2);
    assert_string_equal(set.case_name, "first one");
    set = no_settings();
    assert_true(shape_file_settings(&f, 1, &cmd_gemm, &set, &why));
    assert_true(set.batch == 7 && set.dtype == XL_BF16 && set.trans == -1);
    shape_file_clear(&f);
    xl__str_clear(&why);
}

static void options_stand_above_lines(void **state)
{
    struct shape_file f;
    struct xl__str why = {0};
    struct settings set = no_settings();
    (void)state;
    assert_true(option_set(option_find("dtype"), "f32", &set));
    assert_true(shape_file_read(write_shapes("8 f16 tn batch=3\n"), &f, &why));
    assert_true(shape_file_settings(&f, 0, &cmd_gemm, &set, &why));
    assert_int_equal(set.dtype, XL_F32);
    assert_int_equal(set.trans, 1);
    assert_true(set.batch == 3);
    shape_file_clear(&f);
    xl__str_clear(&why);
}

/* Errors in the format and in options of a line. */
static void errors_have_a_position(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "has no shapes; give one a line"},
        {"# only this\n", "has no shapes"},
        {"8\n: 8\n", ":2:1: a name is missing before ':'"},
        {"8\nname:\n", ":2:6: 'name' has no shape"},
        {"8 f16 f17\n",
         ":1:7: invalid option 'f17' of a shape; must be one of "
         "dtype="},
        {"\n\n  a: 8 batch=0", ":3:8: invalid option 'batch=0'"},
        {"8 batch=", ":1:3: invalid option 'batch='"},
        {"8 device=0", ":1:3: invalid option 'device=0'"},
        {"8 stride=2", ":1:3: invalid option 'stride=2'"},
        {"8 nn=1", ":1:3: invalid option 'nn=1'"},
        {"1 2 3 4 5 6 7 8 9", ":1:17: a line has at most 8 words"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct shape_file f;
        struct xl__str why = {0};
        struct settings set = no_settings();
        bool is_fine = shape_file_read(write_shapes(cases[i].text), &f, &why);
        for (size_t l = 0; is_fine && l < f.n; l++)
            is_fine = shape_file_settings(&f, l, &cmd_gemm, &set, &why);
        assert_false(is_fine);
        if (!strstr(xl__str_text(&why), cases[i].says))
            fail_msg("'%s': %s", cases[i].text, xl__str_text(&why));
        shape_file_clear(&f);
        xl__str_clear(&why);
    }
}

static void missing_files_list_those_available(void **state)
{
    struct shape_file f;
    struct xl__str why = {0};
    (void)state;
    assert_false(shape_file_read("gemm_lm", &f, &why));
    assert_non_null(strstr(xl__str_text(&why), " gemm_llm "));
    assert_non_null(strstr(xl__str_text(&why), "./gemm_lm"));
    shape_file_clear(&f);
    xl__str_reset(&why);
    assert_false(shape_file_read("./no/such", &f, &why));
    assert_non_null(strstr(xl__str_text(&why), "'./no/such' cannot be read"));
    shape_file_clear(&f);
    xl__str_clear(&why);
}

/* Those that come with clbench: each line is a case, named but once. */
static void shipped_shapes_are_whole(void **state)
{
    (void)state;
    unsigned n_gemm = 0;
    for (const struct embedded *t = shape_texts; t->name; t++) {
        struct shape_file f;
        struct xl__str why = {0};
        char name[64], said[160];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(t->name, "."),
                 t->name);
        if (!shape_file_read(name, &f, &why))
            fail_msg("%s", xl__str_text(&why));
        for (size_t i = 0; i < f.n; i++)
            for (size_t j = 0; j < i; j++)
                if (f.line[i].name && f.line[j].name)
                    assert_string_not_equal(f.line[i].name, f.line[j].name);
        for (size_t i = 0; i < f.n && strncmp(name, "gemm", 4) == 0; i++) {
            struct gemm_case c = {.name = NULL};
            struct settings set = no_settings();
            if (!shape_file_settings(&f, i, &cmd_gemm, &set, &why) ||
                !bench_gemm.parse(&set, f.line[i].word[0].text, &c, said,
                                  sizeof said))
                fail_msg("%s line %u: %s%s", name, f.line[i].number,
                         xl__str_text(&why), said);
            n_gemm++;
        }
        shape_file_clear(&f);
        xl__str_clear(&why);
    }
    assert_true(n_gemm > 80);
}

/* -- tiles ---------------------------------------------------------------- */

/* Tiles of 256 x 128 on 108 and on 132 compute units: worked out by hand. */
static void sawtooth_is_as_worked_out(void **state)
{
    static const struct {
        size_t n;
        double tiles, waves_108, waves_132, fill_132;
    } cases[] = {
        {1792, 98, 1, 1, 0.74},
        {1793, 120, 2, 1, 0.91},
        {2048, 128, 2, 1, 0.97},
        {2049, 153, 2, 2, 0.58},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const size_t n = cases[i].n;
        const struct tile_cover c = tile_cover(n, n, 256, 128);
        assert_near(c.tiles, cases[i].tiles, 0);
        assert_near(tile_waves(c.tiles, 108).waves, cases[i].waves_108, 0);
        assert_near(tile_waves(c.tiles, 132).waves, cases[i].waves_132, 0);
        assert_near(tile_waves(c.tiles, 132).fill, cases[i].fill_132, 0.005);
    }
    assert_near(tile_cover(2049, 2049, 256, 128).area, 0.837, 0.0005);
    assert_near(tile_cover(2048, 2048, 256, 128).area, 1, 0);
}

/* Reads of an operand counted one by one, as tiles make them. */
static double reads_of_a(const size_t mnk[3], size_t tile)
{
    double reads = 0;
    for (size_t j = 0; j < mnk[1]; j += tile)
        for (size_t i = 0; i < mnk[0]; i++)
            reads += (double)mnk[2];
    return reads / ((double)mnk[0] * (double)mnk[2]);
}

static void reads_fall_with_the_tile(void **state)
{
    static const size_t cube[3] = {1024, 1024, 1024}, odd[3] = {100, 90, 17};
    (void)state;
    for (size_t tile = 8; tile <= 128; tile *= 2) {
        const struct tile_reads f32 = tile_reads(cube, tile, 4);
        const struct tile_reads f16 = tile_reads(cube, tile, 2);
        assert_near(f32.per_a, 1024.0 / (double)tile, 0);
        assert_near(f32.per_b, 1024.0 / (double)tile, 0);
        assert_near(f32.flop_per_byte, (double)tile / 4, 1e-9);
        assert_near(f16.flop_per_byte, (double)tile / 2, 1e-9);
        assert_near(tile_reads(odd, tile, 4).per_a, reads_of_a(odd, tile), 0);
    }
    assert_near(tile_reads(cube, 1, 4).per_a, 1024, 0);
}

static void lines_begin_at_powers_of_two(void **state)
{
    static const struct {
        size_t ld, bytes, align;
    } cases[] = {{2048, 2, 128}, {2049, 2, 2}, {2050, 2, 4},  {2052, 2, 8},
                 {2056, 2, 16},  {2049, 4, 4}, {2080, 4, 128}, {3, 1, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(tile_alignment(cases[i].ld, cases[i].bytes),
                         cases[i].align);
}

static void tunables_are_found_by_name(void **state)
{
    static const char text[] = "model: TM=64 ATN=3 TN=128 TK=0";
    size_t value = 0;
    (void)state;
    assert_true(tile_tunable(text, "TM", &value) && value == 64);
    assert_true(tile_tunable(text, "TN", &value) && value == 128);
    assert_false(tile_tunable(text, "RM", &value));
    assert_false(tile_tunable(text, "TK", &value));
    assert_false(tile_tunable("", "TM", &value));
}

/* -- sweeps --------------------------------------------------------------- */

static void sweeps_are_read(void **state)
{
    struct sweep s;
    char why[256] = "";
    (void)state;
    assert_true(sweep_read("n=1780:2060", &s, why, sizeof why));
    assert_true(s.n && !s.m && !s.k && !s.ld && s.step == 1);
    assert_int_equal(sweep_count(&s), 281);
    assert_true(sweep_read("nmk=8:20:5", &s, why, sizeof why));
    assert_true(s.n && s.m && s.k);
    assert_int_equal(sweep_count(&s), 3);
    assert_true(sweep_read("ld=2048:2056", &s, why, sizeof why));
    assert_true(s.ld && !s.n);
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "unknown size"},
        {"=1:2", "unknown size"},
        {"x=1:2", "unknown size"},
        {"nn=1:2", "unknown size"},
        {"n", "a range is missing"},
        {"n=5", "a range is missing"},
        {"n=5:", "a range is missing"},
        {"n=5:6:7:8", "a range is missing"},
        {"n=a:b", "a range is missing"},
        {"n=0:4", "the range is empty"},
        {"n=9:4", "the range is empty"},
        {"n=1:4:0", "the range is empty"},
        {"n=1:9999", "more than 4096"},
        {"n=1:2x", "a range is missing"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(sweep_read(bad[i].text, &s, why, sizeof why));
        if (!strstr(why, bad[i].says))
            fail_msg("'%s': %s", bad[i].text, why);
        assert_non_null(strstr(why, "WHAT=FROM:TO"));
    }
}

static void sweeps_change_cases(void **state)
{
    const struct gemm_case base = {
        .m = 10, .n = 20, .k = 30, .trans = 1, .in = XL_F32};
    struct sweep s;
    char why[256];
    struct gemm_case c = base;
    (void)state;
    assert_true(sweep_read("mk=50:60:10", &s, why, sizeof why));
    assert_true(sweep_apply(&s, 1, &c));
    assert_true(c.m == 60 && c.n == 20 && c.k == 60);
    /* Lines of A, stored transposed, have m elements; of B and C n. */
    c = base;
    assert_true(sweep_read("ld=20:22", &s, why, sizeof why));
    assert_true(sweep_apply(&s, 2, &c));
    assert_true(c.pad_a == 12 && c.pad_b == 2 && c.pad_c == 2);
    assert_true(sweep_read("ld=19:22", &s, why, sizeof why));
    assert_false(sweep_apply(&s, 0, &c));
}

/* -- cliffs --------------------------------------------------------------- */

static void random_shapes_are_of_all_kinds(void **state)
{
    enum { N = 2000 };
    struct xl__rng rng;
    unsigned n_thin = 0, n_large = 0;
    (void)state;
    xl__rng_seed(&rng, 1);
    for (int i = 0; i < N; i++) {
        size_t s[3], least = CLIFF_MAX_SIZE, most = 0;
        cliff_shape(&rng, s);
        for (int d = 0; d < 3; d++) {
            assert_true(s[d] >= 1 && s[d] <= CLIFF_MAX_SIZE);
            least = s[d] < least ? s[d] : least;
            most = s[d] > most ? s[d] : most;
        }
        assert_true(most <= CLIFF_RATIO * least);
        n_thin += most > 100 * least;
        n_large += least > 256;
    }
    assert_true(n_thin > N / 10 && n_large > N / 50);
}

static void bounds_take_the_level_that_fits(void **state)
{
    struct cliff_device dev = {.flop_per_s = 1e12,
                               .mem_bytes_per_s = 1e11,
                               .llc_bytes = 1e6,
                               .llc_bytes_per_s = 4e11,
                               .launch_ns = 1000};
    (void)state;
    struct cliff_bound b = cliff_bound(&dev, 1e9, 1e6);
    assert_near(b.bound_ns, 1e6, 1e-3);
    assert_near(b.allowed_ns, 2 * (1e6 + 1000), 1e-3);
    assert_string_equal(b.limit, "fma");
    b = cliff_bound(&dev, 1e6, 1e6);
    assert_near(b.bound_ns, 1e6 / 4e11 * 1e9, 1e-6);
    assert_string_equal(b.limit, "cache");
    b = cliff_bound(&dev, 1e6, 1e7);
    assert_near(b.allowed_ns, 2 * 1e5 + 2000, 1e-6);
    assert_string_equal(b.limit, "memory");
    b = cliff_bound(&dev, 1e3, 1e3);
    assert_string_equal(b.limit, "launch");
    dev.llc_bytes_per_s = (double)NAN;
    assert_string_equal(cliff_bound(&dev, 1e6, 1e6).limit, "memory");
}

/* -- compare -------------------------------------------------------------- */

static void portability_is_the_harmonic_mean(void **state)
{
    static const double some[] = {0.5, 1, 0.25}, none[] = {0.5, 0, 1};
    static const double unknown[] = {0.5, (double)NAN};
    (void)state;
    assert_near(portability(some, 3), 3 / (2 + 1 + 4.0), 1e-12);
    assert_near(portability(some, 1), 0.5, 0);
    assert_near(portability(none, 3), 0, 0);
    assert_near(portability(some, 0), 0, 0);
    assert_true(isnan(portability(unknown, 2)));
}

static const char peers_text[] =
    "{\"schema\":\"clbench/1\",\"devices\":[{\"index\":0,\"name\":\"d\"}],"
    "\"rows\":["
    "{\"id\":\"gemm/own/m=1/-/f32/hot\",\"variant\":\"own\",\"device\":0,"
    "\"verdict\":\"ok\",\"samples_ns\":[10,10,10,10,10],"
    "\"roof\":{\"frac\":0.5}},"
    "{\"id\":\"gemm/gemm_clblast/m=1/-/f32/hot\","
    "\"variant\":\"gemm_clblast\",\"device\":0,\"verdict\":\"ok\","
    "\"samples_ns\":[9,9,9,9,9]},"
    "{\"id\":\"gemm/peer_x/m=1/-/f32/hot\",\"variant\":\"peer_x\","
    "\"device\":0,\"verdict\":\"ok\",\"samples_ns\":[20,20,20,20,20]},"
    "{\"id\":\"gemm/gemm_clblast/m=2/-/f32/hot\","
    "\"variant\":\"gemm_clblast\",\"device\":0,\"verdict\":\"ok\","
    "\"samples_ns\":[9,9,9,9,9]}],"
    "\"pairs\":[{\"ours\":\"gemm/own/m=1/-/f32/hot\","
    "\"theirs\":\"gemm/peer_x/m=1/-/f32/hot\",\"ratio\":1.5,\"lo\":1.4,"
    "\"hi\":1.6}]}";

static void other_libraries_are_distinguished(void **state)
{
    struct result_file f;
    struct ratio p = {.ratio = 0};
    char why[256] = "";
    (void)state;
    assert_true(result_file_read(write_shapes(peers_text), &f, why, sizeof why));
    assert_true(result_has_peers(&f));
    assert_false(f.rows[0].is_other);
    assert_true(f.rows[1].is_other); /* ours ran as well */
    assert_true(f.rows[2].is_other);
    assert_false(f.rows[3].is_other); /* it is what was chosen */
    assert_string_equal(f.rows[0].case_id, f.rows[2].case_id);
    assert_string_equal(f.rows[0].case_id, "gemm/m=1/-/f32/hot");
    assert_near(f.rows[0].frac, 0.5, 0);
    assert_true(isnan(f.rows[1].frac));
    assert_true(result_interleaved(&f, &f.rows[2], &p));
    assert_true(p.ratio == 1.5 && p.lo == 1.4 && p.hi == 1.6);
    assert_false(result_interleaved(&f, &f.rows[1], &p));
    /* The fastest variant represents a case. */
    const struct result_set own = {.files = &f, .n_files = 1};
    assert_ptr_equal(result_set_fastest(&own, 0, &f.rows[1]), &f.rows[0]);
    const struct result_set other = {&f, 1, NULL, "gemm_clblast"};
    assert_ptr_equal(result_set_fastest(&other, 0, &f.rows[0]), &f.rows[1]);
    result_file_clear(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_names_shapes_and_options),
        cmocka_unit_test(options_stand_above_lines),
        cmocka_unit_test(errors_have_a_position),
        cmocka_unit_test(missing_files_list_those_available),
        cmocka_unit_test(shipped_shapes_are_whole),
        cmocka_unit_test(sawtooth_is_as_worked_out),
        cmocka_unit_test(reads_fall_with_the_tile),
        cmocka_unit_test(lines_begin_at_powers_of_two),
        cmocka_unit_test(tunables_are_found_by_name),
        cmocka_unit_test(sweeps_are_read),
        cmocka_unit_test(sweeps_change_cases),
        cmocka_unit_test(random_shapes_are_of_all_kinds),
        cmocka_unit_test(bounds_take_the_level_that_fits),
        cmocka_unit_test(portability_is_the_harmonic_mean),
        cmocka_unit_test(other_libraries_are_distinguished),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
