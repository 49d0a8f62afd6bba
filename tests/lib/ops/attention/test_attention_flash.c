/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of attention_flash without a device: large ones only where registers,
 * local memory of the device's own and items at a time have room. */
#include "ops/attention/attention.h"
#include "support/support.h"
#include "support/test_h200.h"

static void tiles(void **state)
{
    static const struct {
        size_t d;
        double has_local_mem, local_kib, registers;
        int tile[4];
    } expected[] = {
        {64, 1, 226, 255, {64, 32, 8, 8}},
        {128, 1, 226, 255, {64, 32, 8, 8}},
        {256, 1, 226, 255, {64, 64, 8, 16}},  /* sums of half as many rows */
        {128, 1, 226, 128, {64, 64, 16, 16}}, /* few registers */
        {128, 0, 226, 255, {64, 64, 16, 16}}, /* local memory in caches */
        {64, 1, 64, 255, {32, 32, 16, 8}},    /* half of it to another group */
        {64, 1, 100, 255, {64, 64, 8, 16}},   /* three groups of 64 items */
    };
    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const xl_attention a = {XL_ATTENTION_INIT, .n_batch = 4,
                                .n_heads = 16,     .n_kv_heads = 16,
                                .n_q = 4096,       .n_kv = 4096,
                                .d_head = expected[i].d};
        struct xl__attention_canonical c;
        struct xl__params params;
        struct xl__limits l;
        test_h200_limits(&l);
        const struct test_fact facts[] = {
            {XL__F_has_local_mem, expected[i].has_local_mem},
            {XL__F_local_mem_bytes, expected[i].local_kib * 1024},
            {XL__F_registers_per_item, expected[i].registers}};
        for (size_t k = 0; k < sizeof facts / sizeof *facts; k++)
            xl__limits_correct(&l, facts[k].id, facts[k].value, XL_ASSUMED,
                               "GE-01");
        xl__attention_set_sizes(&a, &c);
        xl__attention_flash.choose(&l, &c, &params);
        for (size_t k = 0; k < 4; k++)
            assert_int_equal(expected[i].tile[k], params.value[k]);
        xl__limits_clear(&l);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tiles)};
    test_args(argc, argv);
    return cmocka_run_group_tests_name("attention_flash", tests, NULL, NULL);
}
