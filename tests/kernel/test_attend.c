/* SPDX-License-Identifier: MIT */
/* Attention of every path against ref/, bit for bit.
 * Input: a paged pool whose dead slots hold NaN and whose dropped blocks cannot be read. Output:
 * test results. Threads: one. Bounds: none. */
#include "paths_check.h"

enum { MOST_KEYS = 1100, MOST_BLOCKS = (MOST_KEYS + 63) / 64, N_KV_HEADS = 2 };

/* One call: shapes, the pool and the rows. */
struct scene {
    struct power_kv_layout layout;
    struct power_attend a;
    unsigned char *pool;
    uint32_t blocks[MOST_BLOCKS];
    uint32_t n_keys, n_queries;
    float *q;
    size_t out_bytes;
};

struct shape {
    enum power_dtype dtype;
    uint32_t k_dim, v_dim, n_keys, n_rows, group, window;
    float cap;
    enum fill q_fill, kv_fill;
};

static struct power_cpu_kernels ref;

/* Blocks in a shuffled order; those below the window of the first row are dropped. */
static void fill_pool(struct scene *s, const struct shape *shape, struct dice *dice) {
    const uint32_t n_blocks = (shape->n_keys + 63) / 64;
    const uint32_t first = s->a.first_pos + 1, window = shape->window;
    const uint32_t lo = window && first > window ? first - window : 0;
    for (uint32_t i = 0; i < n_blocks; i++)
        s->blocks[i] = i;
    for (uint32_t i = n_blocks; i > 1; i--) {
        const uint32_t j = roll_below(dice, i), other = s->blocks[j];
        s->blocks[j] = s->blocks[i - 1];
        s->blocks[i - 1] = other;
    }
    s->pool = malloc(n_blocks * s->layout.block_bytes);
    assert_non_null(s->pool);
    memset(s->pool, 0xff, n_blocks * s->layout.block_bytes);
    for (uint32_t key = lo; key < shape->n_keys; key++) {
        float *k = floats(dice, (size_t)N_KV_HEADS * shape->k_dim, shape->kv_fill);
        float *v = floats(dice, (size_t)N_KV_HEADS * shape->v_dim, shape->kv_fill);
        (void)ref.kv_append(&s->layout, s->pool + s->blocks[key / 64] * s->layout.block_bytes,
                            key % 64, k, v);
        free(k);
        free(v);
    }
    for (uint32_t i = 0; i < lo / 64; i++)
        s->blocks[i] = UINT32_MAX;
}

static void set_scene(struct scene *s, const struct shape *shape, struct dice *dice) {
    const struct power_piece piece = {.kind = POWER_PIECE_KV,
                                      .n_layers = 1,
                                      .n_kv_heads = N_KV_HEADS,
                                      .k_dim = shape->k_dim,
                                      .v_dim = shape->v_dim,
                                      .kv_dtype = shape->dtype};
    const uint32_t n_heads = N_KV_HEADS * shape->group;
    const size_t q_stride = (size_t)n_heads * shape->k_dim + 3;
    *s = (struct scene){.n_keys = shape->n_keys};
    assert_true(power_kv_layout_init(&s->layout, &piece));
    s->a = (struct power_attend){.layout = &s->layout,
                                 .n_heads = n_heads,
                                 .window = shape->window,
                                 .scale = 0.125f,
                                 .cap = shape->cap,
                                 .q_stride = q_stride,
                                 .out_stride = (size_t)n_heads * shape->v_dim + 5,
                                 .first_pos = shape->n_keys - shape->n_rows,
                                 .n_rows = shape->n_rows};
    fill_pool(s, shape, dice);
    s->q = floats(dice, shape->n_rows * q_stride, shape->q_fill);
    s->out_bytes = shape->n_rows * s->a.out_stride * sizeof(float);
    s->a.pool = s->pool;
    s->a.blocks = s->blocks;
    s->a.q = s->q;
}

static void *scratch; /* guarded */

static float *run_scene(struct scene *s, power_attend_fn attend) {
    float *out = guarded(s->out_bytes);
    s->a.out = out;
    for (uint32_t h = 0; h < N_KV_HEADS; h++)
        attend(&s->a, h, scratch);
    return out;
}

static void check_shape(const struct shape *shape, struct dice *dice) {
    struct scene s;
    char what[160];
    snprintf(what, sizeof what,
             "attend dtype %d k %u v %u keys %u rows %u group %u window %u cap %g",
             (int)shape->dtype, shape->k_dim, shape->v_dim, shape->n_keys, shape->n_rows,
             shape->group, shape->window, (double)shape->cap);
    set_scene(&s, shape, dice);
    float *want = run_scene(&s, ref.attend);
    for (int i = 0; i < N_PATHS; i++) {
        struct power_cpu_kernels table = {0};
        if ((power_cpu_features() & all_paths[i].features) != all_paths[i].features) continue;
        power_kernels_x86_attend(&table, all_paths[i].features);
        power_kernels_arm(&table, all_paths[i].features);
        float *got = run_scene(&s, table.attend);
        check_floats(want, got, s.out_bytes / sizeof(float), what, all_paths[i].name);
        guarded_free(got, s.out_bytes);
    }
    guarded_free(want, s.out_bytes);
    free(s.q);
    free(s.pool);
}

static const enum power_dtype types[] = {POWER_DTYPE_F32, POWER_DTYPE_F16, POWER_DTYPE_Q8_0};
static const uint32_t key_counts[] = {1, 63, 64, 255, 256, 257, 513, 600};
static const uint32_t windows[] = {0, 0, 1, 32, 512};
#if defined(__SANITIZE_ADDRESS__) || defined(POWER_TEST_EMULATED)
enum { STEP = 6 }; /* every sixth case: the reference is slow under a sanitizer, or emulated */
#else
enum { STEP = 1 };
#endif
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define PICK(list, dice) (list)[roll_below(dice, COUNT(list))]

/* Rows, group, window and cap drawn for one type, head size and key count. */
static struct shape draw(enum power_dtype dtype, uint32_t k_dim, uint32_t v_dim, uint32_t n_keys,
                         struct dice *dice) {
    static const uint32_t groups[] = {1, 2, 3, 7};
    const uint32_t rows = 1 + roll_below(dice, POWER_ATTEND_ROWS);
    struct shape shape = {.dtype = dtype,
                          .k_dim = k_dim,
                          .v_dim = v_dim,
                          .n_keys = n_keys,
                          .n_rows = rows < n_keys ? rows : n_keys,
                          .group = PICK(groups, dice),
                          .window = PICK(windows, dice),
                          .cap = roll_below(dice, 3) ? 0.0f : 30.0f};
    if (n_keys * k_dim > 300 * 100 / STEP && shape.group > 1) shape.n_rows = 1 + shape.n_rows % 3;
    return shape;
}

static void test_shapes(void **state) {
    static const uint32_t dims[][2] = {{64, 64},  {96, 96}, {128, 128}, {256, 256},
                                       {32, 96},  {16, 16}, {24, 24},   {80, 80},
                                       {48, 112}, {7, 5},   {300, 40},  {576, 512}};
    struct dice dice = {88172645463325252u};
    (void)state;
    for (size_t t = 0; t < COUNT(types); t++) {
        const size_t n_dims = types[t] == POWER_DTYPE_Q8_0 ? 5 : COUNT(dims);
        for (size_t d = 0; d < n_dims; d++) {
            for (size_t k = d % STEP; k < COUNT(key_counts); k += STEP) {
                const struct shape shape =
                    draw(types[t], dims[d][0], dims[d][1], key_counts[k], &dice);
                check_shape(&shape, &dice);
            }
        }
    }
}

/* Every row count, and groups that make tiles of every size. */
static void check_rows(enum power_dtype dtype, uint32_t rows, struct dice *dice) {
    for (uint32_t group = 1 + rows % STEP; group <= 3; group += STEP) {
        const struct shape shape = {.dtype = dtype,
                                    .k_dim = 64,
                                    .v_dim = 64,
                                    .n_keys = 257 + rows,
                                    .n_rows = rows,
                                    .group = group,
                                    .window = rows % 3 ? 0 : 40};
        check_shape(&shape, dice);
    }
}

static void test_rows(void **state) {
    struct dice dice = {2463534242u};
    (void)state;
    for (size_t t = 0; t < COUNT(types); t++) {
        for (uint32_t rows = 1; rows <= POWER_ATTEND_ROWS; rows++) {
            check_rows(types[t], rows, &dice);
        }
    }
}

static void check_window(enum power_dtype dtype, uint32_t window, struct dice *dice) {
    for (uint32_t n_keys = 590; n_keys <= 600; n_keys += 5) {
        const struct shape shape = {.dtype = dtype,
                                    .k_dim = 64,
                                    .v_dim = 96,
                                    .n_keys = n_keys,
                                    .n_rows = 16,
                                    .group = 1,
                                    .window = window};
        check_shape(&shape, dice);
    }
}

static void test_windows(void **state) {
    static const uint32_t sizes[] = {1, 32, 255, 256, 257, 512};
    struct dice dice = {362436069u};
    (void)state;
    for (size_t t = 0; t < COUNT(types); t++) {
        for (size_t w = t % STEP; w < COUNT(sizes); w += STEP) {
            check_window(types[t], sizes[w], &dice);
        }
    }
}

/* More queries than one pass holds: multi-query attention, and a head too wide for the scratch. */
static void test_passes(void **state) {
    struct dice dice = {521288629u};
    const struct shape many = {.dtype = POWER_DTYPE_F16,
                               .k_dim = 64,
                               .v_dim = 64,
                               .n_keys = 70,
                               .n_rows = 16,
                               .group = 13};
    const struct shape wide = {.dtype = POWER_DTYPE_F32,
                               .k_dim = 40,
                               .v_dim = 3900,
                               .n_keys = 65,
                               .n_rows = 2,
                               .group = 1};
    (void)state;
    check_shape(&many, &dice);
    check_shape(&wide, &dice);
}

/* Rows of zeros, tiny, huge, infinite and NaN values. */
static void test_values(void **state) {
    struct dice dice = {88675123u};
    (void)state;
    for (size_t t = 0; t < COUNT(types); t++) {
        for (int fill = (int)t % STEP; fill < N_FILLS * N_FILLS; fill += STEP) {
            struct shape shape = draw(types[t], 64, 64, 1 + roll_below(&dice, 300), &dice);
            shape.q_fill = (enum fill)(fill / N_FILLS);
            shape.kv_fill = (enum fill)(fill % N_FILLS);
            check_shape(&shape, &dice);
        }
    }
}

static int set_up(void **state) {
    (void)state;
    for (int i = 0; i < N_PATHS; i++) {
        struct power_cpu_kernels table;
        (void)path_table(&all_paths[i], &table);
    }
    power_kernels_ref(&ref);
    scratch = guarded(POWER_ATTEND_SCRATCH);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    guarded_free(scratch, POWER_ATTEND_SCRATCH);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes), cmocka_unit_test(test_rows), cmocka_unit_test(test_windows),
        cmocka_unit_test(test_passes), cmocka_unit_test(test_values)};
    struct power_fp_state state = power_fp_enter();
    const int failed = cmocka_run_group_tests(tests, set_up, tear_down);
    power_fp_leave(state);
    return failed;
}
