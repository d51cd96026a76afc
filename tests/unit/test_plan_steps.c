/* SPDX-License-Identifier: MIT */
/* Operators that need a step or state, each in a plan of its own, against direct calls of the
 * reference kernels on memory that the test lays out itself.
 * Input: random rows of two sequences. Output: cmocka's verdict. Threads: two. Bounds: plan_kit.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan_kit.h"

#define N 64    /* width of the rows here */
#define FIRST 5 /* rows of the first sequence */
#define SECOND 4
#define ROWS (FIRST + SECOND)

static struct power_cpu_kernels REF;

struct stepped {
    struct kit kit;
    struct kit_step step;
    power_value in[5];
    uint32_t width[5], n_in;
    float x[5][ROWS * 256], out[ROWS * 1024], want[ROWS * 1024];
};

static struct stepped *open_stepped(void) {
    struct stepped *s = calloc(1, sizeof *s);
    kit_open(&s->kit, 2, UINT32_MAX, true, true);
    for (int i = 0; i < 5; i++)
        for (size_t j = 0; j < ROWS * 256; j++)
            s->x[i][j] = kit_random_float(&s->kit.seed);
    return s;
}

static power_value input(struct stepped *s, uint32_t width) {
    struct power_dim dims[2] = {power_dim_sym(POWER_SYM_ROWS), power_dim_const(width)};
    s->width[s->n_in] = width;
    s->in[s->n_in] = power_graph_add_input(s->kit.graph, "x", POWER_DTYPE_F32, 2, dims);
    return s->in[s->n_in++];
}

/* Two sequences from position 0; all inputs bound; `y` compared with `want`. */
static void run_stepped(struct stepped *s, power_value y, uint32_t n_out, const char *what) {
    power_error error = {0};
    uint32_t length[2] = {0, 0}, n[2] = {FIRST, SECOND};
    power_graph_mark_output(s->kit.graph, y, "y");
    kit_compile(&s->kit);
    kit_step_make(&s->kit, &s->step, 0, 2, length, n, 16);
    struct kit_io io[6] = {{y, NULL, s->out, ROWS * n_out}};
    for (uint32_t i = 0; i < s->n_in; i++)
        io[i + 1] = (struct kit_io){s->in[i], s->x[i], NULL, ROWS * s->width[i]};
    kit_must(kit_run(&s->kit, &s->step.step, NULL, io, s->n_in + 1, NULL, &error), &error, what);
}

static void compare(struct stepped *s, uint32_t n_out, const char *what) {
    for (size_t i = 0; i < (size_t)ROWS * n_out; i++)
        if (memcmp(&s->out[i], &s->want[i], sizeof *s->out) != 0)
            fail_msg("%s: row %zu column %zu is %a, expected %a", what, i / n_out, i % n_out,
                     (double)s->out[i], (double)s->want[i]);
    kit_close(&s->kit);
    free(s);
}

static uint32_t add_rope(struct stepped *s, uint32_t rot) {
    float freq[32] = {1};
    struct power_rope_table table = {.rot_dim = rot, .inv_freq = freq};
    return power_graph_add_rope(s->kit.graph, &table);
}

static void test_rope(void **state) {
    (void)state;
    for (int mode = POWER_ROPE_HALVES; mode <= POWER_ROPE_ADJACENT; mode++) {
        struct stepped *s = open_stepped();
        uint32_t rope = add_rope(s, 16); /* half of each head of 32 */
        power_value y =
            power_graph_rope(s->kit.graph, input(s, N), rope, 32, (enum power_rope_mode)mode);
        run_stepped(s, y, N, "rope");
        for (size_t r = 0; r < ROWS; r++) {
            const float *cos = s->step.rope + r * 16;
            REF.rope(s->x[0] + r * N, s->want + r * N, 2, 32, 16, (enum power_rope_mode)mode, cos,
                     cos + 8);
        }
        compare(s, N, "rope");
    }
}

static void test_embed_and_select(void **state) {
    (void)state;
    struct stepped *s = open_stepped();
    struct power_graph *g = s->kit.graph;
    power_value in[2] = {kit_weight(&s->kit, POWER_DTYPE_Q4_0, 16, N, 1),
                         power_graph_add_index(g, POWER_INDEX_IDS, 0)};
    power_value x = power_graph_add_op(g, POWER_OP_EMBED, in, 2, NULL, NULL);
    power_value select[2] = {x, power_graph_add_index(g, POWER_INDEX_OUT_ROWS, 0)};
    power_value y = power_graph_add_op(g, POWER_OP_SELECT_ROWS, select, 2, NULL, NULL);
    unsigned char raw[16 * N / 32 * 18];
    power_error error = {0};
    kit_must(s->kit.ops->download(s->kit.device, s->kit.weights[0].raw, 0, raw, sizeof raw, &error),
             &error, "download");
    run_stepped(s, y, N, "embed");
    for (size_t r = 0; r < ROWS; r++)
        REF.dequantise(POWER_DTYPE_Q4_0, raw + s->step.ids[r] * (N / 32 * 18), N, s->want + r * N);
    compare(s, N, "embed");
}

static void test_attention(void **state) {
    (void)state;
    static const enum power_dtype TYPES[] = {POWER_DTYPE_F32, POWER_DTYPE_F16, POWER_DTYPE_Q8_0};
    for (int t = 0; t < 3; t++) {
        struct stepped *s = open_stepped();
        struct power_graph *g = s->kit.graph;
        struct power_piece piece = {.kind = POWER_PIECE_KV,
                                    .n_layers = 2,
                                    .n_kv_heads = 2,
                                    .k_dim = 32,
                                    .v_dim = 32,
                                    .window = t == 1 ? 3 : 0,
                                    .kv_dtype = TYPES[t]};
        power_value q = input(s, 128), k = input(s, N), v = input(s, N);
        power_value kv = power_graph_add_state(g, power_graph_add_piece(g, &piece), 1);
        kv = power_graph_kv_append(g, kv, k, v);
        power_value y = power_graph_attend(g, q, kv, 4, 0.2f, 5.0f);
        run_stepped(s, y, 128, "attend");
        struct power_kv_layout layout;
        assert_true(power_kv_layout_init(&layout, &piece));
        unsigned char *pool = aligned_alloc(64, layout.block_bytes * 2);
        void *scratch = aligned_alloc(64, POWER_ATTEND_SCRATCH);
        memset(pool, 0, layout.block_bytes * 2);
        for (uint32_t seq = 0; seq < 2; seq++) {
            uint32_t first = seq ? FIRST : 0, n = seq ? SECOND : FIRST;
            unsigned char *layer = pool + seq * layout.block_bytes + layout.layer_bytes;
            for (uint32_t r = 0; r < n; r++)
                (void)REF.kv_append(&layout, layer, r, s->x[1] + (first + r) * N,
                                    s->x[2] + (first + r) * N);
            struct power_attend a = {.layout = &layout,
                                     .pool = pool + layout.layer_bytes,
                                     .blocks = &seq,
                                     .n_heads = 4,
                                     .window = piece.window,
                                     .scale = 0.2f,
                                     .cap = 5.0f,
                                     .q = s->x[0] + first * 128,
                                     .q_stride = 128,
                                     .out = s->want + first * 128,
                                     .out_stride = 128,
                                     .n_rows = n};
            for (uint32_t head = 0; head < 2; head++)
                REF.attend(&a, head, scratch);
        }
        free(pool);
        free(scratch);
        compare(s, 128, power_dtype_info((uint32_t)TYPES[t]).name);
    }
}

static void test_conv(void **state) {
    (void)state;
    struct stepped *s = open_stepped();
    struct power_graph *g = s->kit.graph;
    struct power_piece piece = {
        .kind = POWER_PIECE_CONV, .n_layers = 1, .channels = N, .kernel = 4};
    power_value in[3] = {input(s, N), power_graph_add_state(g, power_graph_add_piece(g, &piece), 0),
                         kit_weight(&s->kit, POWER_DTYPE_F16, N, 4, 1)};
    power_value outs[2], y = power_graph_add_op(g, POWER_OP_CONV_STEP, in, 3, NULL, outs);
    unsigned char raw[N * 8];
    float w[N * 4];
    power_error error = {0};
    kit_must(s->kit.ops->download(s->kit.device, s->kit.weights[0].raw, 0, raw, sizeof raw, &error),
             &error, "download");
    REF.dequantise(POWER_DTYPE_F16, raw, N * 4, w);
    run_stepped(s, y, N, "conv_step");
    for (size_t r = 0; r < ROWS; r++) {
        size_t first = r < FIRST ? 0 : FIRST;
        const float *taps[4];
        for (size_t j = 0; j < 4; j++)
            taps[j] = r + j < first + 3 ? NULL : s->x[0] + (r + j - 3) * N;
        REF.conv_step(taps, w, N, 4, s->want + r * N);
    }
    compare(s, N, "conv_step");
}

static void test_delta(void **state) {
    (void)state;
    for (int rule = 0; rule < 2; rule++) {
        struct stepped *s = open_stepped();
        struct power_graph *g = s->kit.graph;
        struct power_piece piece = {.kind = POWER_PIECE_RECURRENT,
                                    .n_layers = 1,
                                    .n_heads = 4,
                                    .n_k_heads = 2,
                                    .d_k = 16,
                                    .d_v = 8};
        power_value in[6] = {input(s, 32), input(s, 32), input(s, 32), input(s, 4), input(s, 4)};
        in[5] = power_graph_add_state(g, power_graph_add_piece(g, &piece), 0);
        struct power_op_attr attr = {.i = {rule}};
        power_value outs[2], y = power_graph_add_op(g, POWER_OP_DELTA_RULE, in, 6, &attr, outs);
        run_stepped(s, y, 32, "delta_rule");
        for (uint32_t h = 0; h < 4; h++) {
            float plane[16 * 8] = {0};
            uint32_t key = rule ? h % 2 : h / 2;
            for (size_t r = 0; r < ROWS; r++) {
                if (r == FIRST) memset(plane, 0, sizeof plane);
                REF.delta(plane, 16, 8, s->x[0] + r * 32 + key * 16, s->x[1] + r * 32 + key * 16,
                          s->x[2] + r * 32 + h * 8, s->x[3][r * 4 + h], s->x[4][r * 4 + h],
                          s->want + r * 32 + h * 8);
            }
        }
        compare(s, 32, rule ? "delta_rule, key heads in turn" : "delta_rule");
    }
}

/* The experts of a row by the plainest means: `used` times the largest of what is left. */
static void route_row(const float *logits, uint32_t n, uint32_t used, int mode, uint32_t *ids,
                      float *w) {
    float p[16], chosen[16];
    bool taken[16] = {false};
    REF.softmax(logits, n, p);
    for (uint32_t u = 0; u < used; u++) {
        uint32_t best = n;
        for (uint32_t e = 0; e < n; e++)
            if (!taken[e] && (best == n || logits[e] > logits[best])) best = e;
        taken[best] = true;
    }
    for (uint32_t e = 0, u = 0; e < n; e++)
        if (taken[e]) ids[u++] = e;
    for (uint32_t u = 0; u < used; u++)
        chosen[u] = logits[ids[u]];
    if (mode == POWER_ROUTE_TOPK_SOFTMAX) REF.softmax(chosen, used, w);
    for (uint32_t u = 0; mode == POWER_ROUTE_SOFTMAX_TOPK && u < used; u++)
        w[u] = p[ids[u]];
}

enum { EXPERTS = 8, USED = 3, OUT = 48 };

/* Row r of the answer: products of the chosen experts, combined in ascending id, the shared last.
 */
static void want_experts(struct stepped *s, const float *raw, size_t r, int mode, void *scratch) {
    uint32_t ids[USED];
    float weight[USED], row[OUT], *acc = s->want + r * OUT, sum = 0;
    route_row(s->x[0] + r * EXPERTS, EXPERTS, USED, mode, ids, weight);
    for (int u = 0; u < USED; u++)
        sum += weight[u];
    for (int u = 0; u < USED; u++) {
        if (!mode) weight[u] = weight[u] / (sum + 1e-9f);
        weight[u] *= 2.5f;
        struct power_product p = {.dtype = POWER_DTYPE_F32,
                                  .raw_stride = N * sizeof *raw,
                                  .k = N,
                                  .n_outs = OUT,
                                  .raw = (const unsigned char *)(raw + (size_t)ids[u] * OUT * N),
                                  .x = s->x[1] + r * N,
                                  .x_stride = N,
                                  .y = row,
                                  .y_stride = OUT};
        REF.product_raw[POWER_DTYPE_F32](&p, 0, 1, 0, OUT, scratch);
        for (size_t c = 0; c < OUT; c++)
            acc[c] = fmaf(weight[u], row[c], acc[c]);
    }
    for (size_t c = 0; c < OUT; c++)
        acc[c] = fmaf(s->x[3][r], s->x[2][r * OUT + c], acc[c]);
}

static void test_experts(void **state) {
    (void)state;
    for (int mode = 0; mode < 2; mode++) {
        struct stepped *s = open_stepped();
        struct power_graph *g = s->kit.graph;
        power_value logits = input(s, EXPERTS), x = input(s, N), shared = input(s, OUT);
        power_value gate = input(s, 1);
        struct power_op_attr attr = {.i = {USED, mode}, .f = {mode ? -1.0f : 1e-9f, 2.5f}};
        power_value routes = power_graph_add_op(g, POWER_OP_ROUTE, &logits, 1, &attr, NULL);
        power_value w = kit_weight(&s->kit, POWER_DTYPE_F32, OUT, N, EXPERTS);
        power_value in[4] = {power_graph_linear_grouped(g, x, w, routes), routes, shared, gate};
        power_value y = power_graph_add_op(g, POWER_OP_MOE_COMBINE, in, 4, NULL, NULL);
        float *raw = malloc(EXPERTS * OUT * N * sizeof *raw);
        void *scratch = aligned_alloc(64, POWER_PRODUCT_SCRATCH);
        power_error error = {0};
        kit_must(s->kit.ops->download(s->kit.device, s->kit.weights[0].raw, 0, raw,
                                      EXPERTS * OUT * N * sizeof *raw, &error),
                 &error, "download");
        run_stepped(s, y, OUT, "experts");
        for (size_t r = 0; r < ROWS; r++)
            want_experts(s, raw, r, mode, scratch);
        free(raw);
        free(scratch);
        compare(s, OUT, mode ? "experts, softmax of the chosen" : "experts");
    }
}

static int setup(void **state) {
    (void)state;
    power_kernels_ref(&REF);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rope),      cmocka_unit_test(test_embed_and_select),
        cmocka_unit_test(test_attention), cmocka_unit_test(test_conv),
        cmocka_unit_test(test_delta),     cmocka_unit_test(test_experts),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
