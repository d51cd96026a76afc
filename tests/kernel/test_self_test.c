/* SPDX-License-Identifier: MIT */
/* The start-up self-test says yes to the right kernels and no to one wrong bit of any of them.
 * Input: kernel tables, some spoiled. Output: cmocka's verdict. Thread: one. Bounds: none. */
#include "paths_check.h"

#include "device/cpu/self_test.h"

static struct power_self_test_work *work;
static void *scratch;
static struct power_cpu_kernels right; /* the kernels that the spoiled ones call */

static bool passes(const struct power_cpu_kernels *table) {
    return power_kernels_self_test(table, work, scratch);
}

/* The last bit of one float. */
static void spoil(float *y) {
    uint32_t bits;
    memcpy(&bits, y, sizeof bits);
    bits ^= 1;
    memcpy(y, &bits, sizeof bits);
}

static void spoil_last(const struct power_product *p, uint32_t row, uint32_t n_rows, uint32_t out,
                       uint32_t n_outs) {
    /* The last output that is a number: one row of weights in three may give NaN. */
    for (uint32_t o = out + n_outs; o-- > out;) {
        float *y = p->y + (size_t)(row + n_rows - 1) * p->y_stride + o;
        if (*y != *y) continue;
        spoil(y);
        return;
    }
}
static void raw_wrong(const struct power_product *p, uint32_t row, uint32_t n_rows, uint32_t out,
                      uint32_t n_outs, void *memory) {
    right.product_raw[p->dtype](p, row, n_rows, out, n_outs, memory);
    spoil_last(p, row, n_rows, out, n_outs);
}
static void packed_wrong(const struct power_product *p, uint32_t row, uint32_t n_rows, uint32_t out,
                         uint32_t n_outs, void *memory) {
    right.product_packed[p->dtype](p, row, n_rows, out, n_outs, memory);
    if (n_rows == 1) spoil_last(p, row, n_rows, out, n_outs);
}
static uint32_t quantise_wrong(const float *x, uint32_t k, uint32_t block, int8_t *q, float *d,
                               int16_t *bsums) {
    const uint32_t bits = right.quantise(x, k, block, q, d, bsums);
    q[k - 1] = (int8_t)(q[k - 1] ^ 1);
    return bits;
}
static void norm_wrong(const float *x, const float *w, uint32_t n, float eps, float *y) {
    right.rms_norm(x, w, n, eps, y);
    spoil(y + n - 1);
}
static void attend_wrong(const struct power_attend *a, uint32_t kv_head, void *memory) {
    right.attend(a, kv_head, memory);
    if (a->layout->dtype == POWER_DTYPE_Q8_0) spoil(a->out);
}

/* Every path that this machine has, and the reference. */
static void check_table(const char *name) {
    if (!passes(&right)) fail_msg("the self-test refuses %s", name);
    for (uint32_t id = 0; id < POWER_DTYPE_LIMIT; id++) {
        struct power_cpu_kernels table = right;
        if (!right.product_raw[id]) continue;
        table.product_raw[id] = raw_wrong;
        if (passes(&table)) fail_msg("%s: a wrong raw product of type %u passes", name, id);
        table = right;
        if (!right.product_packed[id]) continue;
        table.product_packed[id] = packed_wrong;
        if (passes(&table)) fail_msg("%s: a wrong packed product of type %u passes", name, id);
    }
    struct power_cpu_kernels table = right;
    table.quantise = quantise_wrong;
    assert_false(passes(&table));
    table = right;
    table.rms_norm = norm_wrong;
    assert_false(passes(&table));
    table = right;
    table.attend = attend_wrong;
    assert_false(passes(&table));
}

static void test_tables(void **state) {
    (void)state;
    power_kernels_ref(&right);
    check_table("reference");
    /* The widest path only: each refusal runs the reference again. */
    power_cpu_kernels_init(&right, power_cpu_features());
    check_table("this machine's kernels");
}

/* As power_cpu_kernels_init, but the i8mm path is wrong, and with `worse` the dotprod path too. */
static bool worse;
static void init_wrong(struct power_cpu_kernels *table, uint32_t features) {
    power_kernels_ref(table);
    table->features = features;
    const uint32_t wrong = POWER_CPU_I8MM | (worse ? POWER_CPU_DOTPROD : 0);
    if (features & wrong) table->product_raw[POWER_DTYPE_Q4_K] = raw_wrong;
}

static void test_leaves_out(void **state) {
    const uint32_t all = POWER_CPU_NEON | POWER_CPU_DOTPROD | POWER_CPU_I8MM;
    struct power_cpu_kernels table;
    (void)state;
    power_kernels_ref(&right);
    worse = false;
    assert_int_equal(power_kernels_init_tested(init_wrong, &table, all, work, scratch),
                     POWER_CPU_I8MM);
    assert_int_equal(table.features, POWER_CPU_NEON | POWER_CPU_DOTPROD);
    worse = true;
    assert_int_equal(power_kernels_init_tested(init_wrong, &table, all, work, scratch),
                     POWER_CPU_I8MM | POWER_CPU_DOTPROD);
    assert_int_equal(table.features, POWER_CPU_NEON);
    assert_int_equal(power_kernels_init_tested(init_wrong, &table, POWER_CPU_NEON, work, scratch),
                     0);
    assert_true(table.product_raw[POWER_DTYPE_Q4_K] == right.product_raw[POWER_DTYPE_Q4_K]);
}

static int set_up(void **state) {
    (void)state;
    work = aligned_alloc(64, (sizeof *work + 63) / 64 * 64);
    scratch = aligned_alloc(64, POWER_PRODUCT_SCRATCH);
    return work && scratch ? 0 : 1;
}

static int tear_down(void **state) {
    (void)state;
    free(work);
    free(scratch);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tables),
                                       cmocka_unit_test(test_leaves_out)};
    struct power_fp_state state = power_fp_enter();
    const int failed = cmocka_run_group_tests(tests, set_up, tear_down);
    power_fp_leave(state);
    return failed;
}
