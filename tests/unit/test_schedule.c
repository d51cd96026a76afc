/* SPDX-License-Identifier: MIT */
/* The scheduler's pure function: decode first, prefill in chunks, outputs inside their limit.
 * Input: demands. Output: shares. Threads: one. Bounds: none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/schedule.h"

static const struct power_schedule_limits limits = {
    .prefill_rows = 100, .max_seqs = 8, .max_outs = 12};

static struct power_demand prefill(uint32_t rows, uint32_t chunk) {
    return (struct power_demand){.rows = rows, .chunk_rows = chunk};
}

static const struct power_demand decode = {.rows = 1, .decode = true};

static void nothing_wants_nothing(void **state) {
    struct power_share shares[4];
    struct power_demand idle[2] = {{0}, {0}};
    (void)state;
    assert_int_equal(power_schedule(NULL, 0, 0, &limits, shares), 0);
    assert_int_equal(power_schedule(idle, 2, 0, &limits, shares), 0);
}

static void decode_comes_first(void **state) {
    struct power_demand demands[4] = {prefill(500, 64), decode, prefill(500, 64), decode};
    struct power_share shares[4];
    (void)state;
    assert_int_equal(power_schedule(demands, 4, 0, &limits, shares), 4);
    assert_int_equal(shares[0].demand, 1);
    assert_int_equal(shares[1].demand, 3);
    assert_int_equal(shares[0].n_rows, 1);
    assert_int_equal(shares[0].n_outs, 1);
    assert_int_equal(shares[2].demand, 0);
    assert_int_equal(shares[2].n_rows, 64);
    assert_int_equal(shares[3].demand, 2);
    assert_int_equal(shares[3].n_rows, 36); /* what is left of 100 */
}

static void prefill_turns_around(void **state) {
    struct power_demand demands[3] = {prefill(500, 100), prefill(500, 100), prefill(500, 100)};
    struct power_share shares[3];
    (void)state;
    for (uint32_t first = 0; first < 3; first++) {
        assert_int_equal(power_schedule(demands, 3, first, &limits, shares), 1);
        assert_int_equal(shares[0].demand, first);
    }
}

static void sequences_are_bounded(void **state) {
    struct power_demand demands[20];
    struct power_share shares[20];
    (void)state;
    for (int i = 0; i < 20; i++)
        demands[i] = decode;
    assert_int_equal(power_schedule(demands, 20, 0, &limits, shares), 8);
}

static void last_row_brings_an_output(void **state) {
    struct power_demand demand = prefill(30, 20);
    struct power_share share;
    (void)state;
    demand.last_wanted = true;
    assert_int_equal(power_schedule(&demand, 1, 0, &limits, &share), 1);
    assert_int_equal(share.n_rows, 20);
    assert_int_equal(share.n_outs, 0);
    demand.rows = 10;
    assert_int_equal(power_schedule(&demand, 1, 0, &limits, &share), 1);
    assert_int_equal(share.n_rows, 10);
    assert_int_equal(share.n_outs, 1);
}

/* Every row wanted: a share ends before the output that does not fit, and the walk over several
 * steps delivers each wanted row once. */
static void wanted_rows_fit(void **state) {
    uint32_t wanted[90], taken = 0;
    (void)state;
    for (uint32_t i = 0; i < 90; i++)
        wanted[i] = i;
    struct power_demand demand = prefill(90, 64);
    size_t delivered = 0;
    while (taken < 90) {
        struct power_share share;
        demand.rows = 90 - taken;
        demand.wanted = wanted + delivered;
        demand.n_wanted = 90 - delivered;
        demand.wanted_base = taken;
        assert_int_equal(power_schedule(&demand, 1, 0, &limits, &share), 1);
        assert_true(share.n_rows > 0 && share.n_outs <= limits.max_outs);
        assert_int_equal(share.n_outs, share.n_rows);
        taken += share.n_rows;
        delivered += share.n_outs;
    }
    assert_int_equal(delivered, 90);
}

static void sparse_rows_do_not_cut(void **state) {
    const uint32_t wanted[3] = {5, 40, 89};
    struct power_demand demand = prefill(90, 90);
    struct power_share share;
    (void)state;
    demand.wanted = wanted;
    demand.n_wanted = 3;
    assert_int_equal(power_schedule(&demand, 1, 0, &limits, &share), 1);
    assert_int_equal(share.n_rows, 90);
    assert_int_equal(share.n_outs, 3);
}

static void outputs_run_out_before_the_last_row(void **state) {
    struct power_schedule_limits tight = {.prefill_rows = 100, .max_seqs = 8, .max_outs = 1};
    struct power_demand demands[2] = {prefill(4, 100), prefill(4, 100)};
    struct power_share shares[2];
    (void)state;
    demands[0].last_wanted = demands[1].last_wanted = true;
    assert_int_equal(power_schedule(demands, 2, 0, &tight, shares), 2);
    assert_int_equal(shares[0].n_rows, 4);
    assert_int_equal(shares[0].n_outs, 1);
    assert_int_equal(shares[1].n_rows, 3); /* the last row waits for an output */
    assert_int_equal(shares[1].n_outs, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_wants_nothing),
        cmocka_unit_test(decode_comes_first),
        cmocka_unit_test(prefill_turns_around),
        cmocka_unit_test(sequences_are_bounded),
        cmocka_unit_test(last_row_brings_an_output),
        cmocka_unit_test(wanted_rows_fit),
        cmocka_unit_test(sparse_rows_do_not_cut),
        cmocka_unit_test(outputs_run_out_before_the_last_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
