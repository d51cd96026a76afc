/* SPDX-License-Identifier: MIT */
/* The builder: shape rules accept what they should and refuse everything else with a reason; the
 * first error stays; quantised rows are shared; equal graphs have equal listings.
 * Input: small graphs. Output: cmocka's verdict. Threads: one. Bounds: none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "graph/graph.h"

static struct power_graph *create(void) {
    struct power_graph *g = NULL;
    power_error error = {0};
    assert_int_equal(power_graph_create_internal(&power_default_allocator, &g, &error), POWER_OK);
    power_graph_set_label(g, "here");
    return g;
}

/* Values that the cases below choose from; one fresh graph a case. */
struct values {
    power_value t64;                /* [T, 64] */
    power_value t32;                /* [T, 32] */
    power_value t256;               /* [T, 256] */
    power_value two_t64;            /* [2T, 64] */
    power_value o64;                /* [O, 64] */
    power_value t1;                 /* [T, 1] */
    power_value c64;                /* [5, 64] */
    power_value k64;                /* [64, 8] */
    power_value v64, v32, v1;       /* vectors */
    power_value w, wq, wk, experts; /* [16, 64] F32, Q8_0, [16, 256] Q4_K, 3 x [16, 64] F32 */
    power_value q32, routes, e16, state, conv, plane, ids, out_rows, rope;
    power_value filter; /* [64, 4] */
    power_value none;
};

static power_value weight(struct power_graph *g, enum power_dtype dtype, uint64_t rows,
                          uint64_t cols, uint32_t slices) {
    struct power_weight_slice slice = {0, 0, rows, cols, slices, dtype};
    return power_graph_add_weight(g, &slice);
}

static power_value input(struct power_graph *g, struct power_dim rows, int64_t cols) {
    struct power_dim dims[2] = {rows, power_dim_const(cols)};
    return power_graph_add_input(g, "x", POWER_DTYPE_F32, 2, dims);
}

static void add_states(struct power_graph *g, struct values *v) {
    struct power_piece kv = {.kind = POWER_PIECE_KV,
                             .n_layers = 1,
                             .n_kv_heads = 2,
                             .k_dim = 32,
                             .v_dim = 32,
                             .kv_dtype = POWER_DTYPE_F16};
    struct power_piece conv = {
        .kind = POWER_PIECE_CONV, .n_layers = 1, .channels = 64, .kernel = 4};
    struct power_piece plane = {.kind = POWER_PIECE_RECURRENT,
                                .n_layers = 1,
                                .n_heads = 2,
                                .n_k_heads = 1,
                                .d_k = 32,
                                .d_v = 32};
    v->state = power_graph_add_state(g, power_graph_add_piece(g, &kv), 0);
    v->conv = power_graph_add_state(g, power_graph_add_piece(g, &conv), 0);
    v->plane = power_graph_add_state(g, power_graph_add_piece(g, &plane), 0);
}

static struct values add_values(struct power_graph *g) {
    struct values v = {0};
    struct power_dim t = power_dim_sym(POWER_SYM_ROWS), two_t = {POWER_SYM_ROWS, 2, 0};
    struct power_dim n64 = power_dim_const(64), n32 = power_dim_const(32), n1 = power_dim_const(1);
    v.t64 = input(g, t, 64);
    v.t32 = input(g, t, 32);
    v.t256 = input(g, t, 256);
    v.two_t64 = input(g, two_t, 64);
    v.o64 = input(g, power_dim_sym(POWER_SYM_OUTPUTS), 64);
    v.t1 = input(g, t, 1);
    v.c64 = input(g, power_dim_const(5), 64);
    v.k64 = input(g, power_dim_const(64), 8);
    v.v64 = power_graph_add_input(g, "x", POWER_DTYPE_F32, 1, &n64);
    v.v32 = power_graph_add_input(g, "x", POWER_DTYPE_F32, 1, &n32);
    v.v1 = power_graph_add_input(g, "x", POWER_DTYPE_F32, 1, &n1);
    v.w = weight(g, POWER_DTYPE_F32, 16, 64, 1);
    v.wq = weight(g, POWER_DTYPE_Q8_0, 16, 64, 1);
    v.wk = weight(g, POWER_DTYPE_Q4_K, 16, 256, 1);
    v.experts = weight(g, POWER_DTYPE_F32, 16, 64, 32);
    v.filter = weight(g, POWER_DTYPE_F32, 64, 4, 1);
    add_states(g, &v);
    float freq[16] = {1};
    struct power_rope_table rope = {.rot_dim = 32, .inv_freq = freq};
    v.rope = power_graph_add_index(g, POWER_INDEX_ROPE, power_graph_add_rope(g, &rope));
    v.ids = power_graph_add_index(g, POWER_INDEX_IDS, 0);
    v.out_rows = power_graph_add_index(g, POWER_INDEX_OUT_ROWS, 0);
    struct power_op_attr block = {.i = {32}}, route = {.i = {2}};
    v.q32 = power_graph_add_op(g, POWER_OP_QUANTISE, &v.t64, 1, &block, NULL);
    v.routes = power_graph_add_op(g, POWER_OP_ROUTE, &v.t32, 1, &route, NULL);
    v.e16 = power_graph_linear_grouped(g, v.t64, v.experts, v.routes);
    assert_int_equal(g->error.status, POWER_OK);
    return v;
}

#define AT(member) (offsetof(struct values, member) / sizeof(power_value))

struct shape_case {
    enum power_op code;
    uint32_t n_in;
    size_t in[6];
    int64_t i[3];
    float f[2];
    const char *error; /* part of the message; NULL: accepted */
};

static const struct shape_case CASES[] = {
    {POWER_OP_SLICE, 1, {AT(t64)}, {16, 4, 12}, {0}, NULL},
    {POWER_OP_SLICE, 1, {AT(t64)}, {24, 0, 8}, {0}, "do not divide"},
    {POWER_OP_SLICE, 1, {AT(t64)}, {16, 8, 9}, {0}, "count is 9"},
    {POWER_OP_SLICE, 1, {AT(w)}, {16, 8, 8}, {0}, "not a tensor"},
    {POWER_OP_CONCAT, 2, {AT(t64), AT(t32)}, {0}, {0}, NULL},
    {POWER_OP_CONCAT, 2, {AT(t64), AT(o64)}, {0}, {0}, "[O, 64]"},
    {POWER_OP_CONCAT, 1, {AT(t64)}, {0}, {0}, "number of inputs"},
    {POWER_OP_QUANTISE, 1, {AT(t64)}, {32}, {0}, NULL},
    {POWER_OP_QUANTISE, 1, {AT(t64)}, {256}, {0}, "do not divide"},
    {POWER_OP_QUANTISE, 1, {AT(t64)}, {16}, {0}, "32 or 256"},
    {POWER_OP_LINEAR, 2, {AT(t64), AT(w)}, {0}, {0}, NULL},
    {POWER_OP_LINEAR, 2, {AT(t32), AT(w)}, {0}, {0}, "must be 64"},
    {POWER_OP_LINEAR, 2, {AT(t64), AT(wq)}, {0}, {0}, "not quantised rows"},
    {POWER_OP_LINEAR, 2, {AT(q32), AT(wq)}, {0}, {0}, NULL},
    {POWER_OP_LINEAR, 2, {AT(q32), AT(wk)}, {0}, {0}, "blocks of 32"},
    {POWER_OP_LINEAR, 2, {AT(t64), AT(t64)}, {0}, {0}, "not a weight"},
    {POWER_OP_LINEAR, 2, {AT(t64), AT(experts)}, {0}, {0}, "32 slices"},
    {POWER_OP_LINEAR, 3, {AT(t64), AT(w), AT(v64)}, {0}, {0}, "vector of 16"},
    {POWER_OP_LINEAR_GROUPED, 3, {AT(t64), AT(experts), AT(routes)}, {0}, {0}, NULL},
    {POWER_OP_LINEAR_GROUPED, 3, {AT(t64), AT(w), AT(routes)}, {0}, {0}, "32 experts"},
    {POWER_OP_LINEAR_GROUPED, 3, {AT(o64), AT(experts), AT(routes)}, {0}, {0}, "[E, n]"},
    {POWER_OP_LINEAR_GROUPED, 3, {AT(t64), AT(experts), AT(t64)}, {0}, {0}, "not routes"},
    {POWER_OP_MATMUL, 2, {AT(t64), AT(k64)}, {0}, {0}, NULL},
    {POWER_OP_MATMUL, 2, {AT(t32), AT(k64)}, {0}, {0}, "must be 64"},
    {POWER_OP_MATMUL, 2, {AT(t64), AT(t64)}, {0}, {0}, "constant k"},
    {POWER_OP_ADD, 2, {AT(t64), AT(t64)}, {0}, {0}, NULL},
    {POWER_OP_ADD, 2, {AT(t64), AT(v64)}, {0}, {0}, NULL},
    {POWER_OP_ADD, 2, {AT(t64), AT(v1)}, {0}, {0}, NULL},
    {POWER_OP_ADD, 2, {AT(t64), AT(t1)}, {0}, {0}, NULL},
    {POWER_OP_ADD, 2, {AT(t64), AT(t32)}, {0}, {0}, "do not fit"},
    {POWER_OP_SUB, 2, {AT(t64), AT(v32)}, {0}, {0}, "do not fit"},
    {POWER_OP_MUL, 2, {AT(t64), AT(two_t64)}, {0}, {0}, "[2*T, 64]"},
    {POWER_OP_DIV, 2, {AT(v64), AT(t64)}, {0}, {0}, "do not fit"},
    {POWER_OP_MIN, 2, {AT(t64), AT(o64)}, {0}, {0}, "do not fit"},
    {POWER_OP_MAX, 2, {AT(q32), AT(t64)}, {0}, {0}, "not a tensor"},
    {POWER_OP_SCALE, 1, {AT(routes)}, {0}, {2}, "not a tensor"},
    {POWER_OP_NEG, 1, {AT(state)}, {0}, {0}, "not a tensor"},
    {POWER_OP_ABS, 2, {AT(t64), AT(t64)}, {0}, {0}, "number of inputs"},
    {POWER_OP_SQRT, 1, {AT(ids)}, {0}, {0}, "not a tensor"},
    {POWER_OP_EXP, 1, {AT(w)}, {0}, {0}, "not a tensor"},
    {POWER_OP_LOG, 0, {0}, {0}, {0}, "number of inputs"},
    {POWER_OP_TANH, 1, {AT(none)}, {0}, {0}, "no value"},
    {POWER_OP_ERF, 1, {AT(q32)}, {0}, {0}, "not a tensor"},
    {POWER_OP_SIGMOID, 1, {AT(c64)}, {0}, {0}, NULL},
    {POWER_OP_SIGMOID, 1, {AT(plane)}, {0}, {0}, "not a tensor"},
    {POWER_OP_SILU, 1, {AT(q32)}, {0}, {0}, "not a tensor"},
    {POWER_OP_GELU_ERF, 1, {AT(q32)}, {0}, {0}, "not a tensor"},
    {POWER_OP_GELU_TANH, 1, {AT(q32)}, {0}, {0}, "not a tensor"},
    {POWER_OP_RELU, 1, {AT(q32)}, {0}, {0}, "not a tensor"},
    {POWER_OP_SOFTPLUS, 1, {AT(q32)}, {0}, {0}, "not a tensor"},
    {POWER_OP_SOFTCAP, 1, {AT(t64)}, {0}, {30}, NULL},
    {POWER_OP_SOFTCAP, 1, {AT(t64)}, {0}, {0}, "above 0"},
    {POWER_OP_GLU, 2, {AT(t64), AT(t64)}, {POWER_ACT_RELU}, {0}, NULL},
    {POWER_OP_GLU, 2, {AT(t64), AT(t32)}, {0}, {0}, "must be 64"},
    {POWER_OP_GLU, 2, {AT(t64), AT(t64)}, {9}, {0}, "activation is 9"},
    {POWER_OP_SUM, 1, {AT(t64)}, {16}, {0}, NULL},
    {POWER_OP_SUM, 1, {AT(t64)}, {17}, {0}, "do not divide"},
    {POWER_OP_MEAN, 1, {AT(t64)}, {-1}, {0}, "do not divide"},
    {POWER_OP_SOFTMAX, 1, {AT(t64)}, {128}, {0}, "do not divide"},
    {POWER_OP_RMS_NORM, 2, {AT(t64), AT(v32)}, {32}, {0}, NULL},
    {POWER_OP_RMS_NORM, 2, {AT(t64), AT(v64)}, {32}, {0}, NULL},
    {POWER_OP_RMS_NORM, 2, {AT(t64), AT(v32)}, {0}, {0}, "vector of 64"},
    {POWER_OP_LAYER_NORM, 3, {AT(t64), AT(v64), AT(v64)}, {0}, {0}, NULL},
    {POWER_OP_LAYER_NORM, 3, {AT(t64), AT(v64), AT(v32)}, {0}, {0}, "vector of 64"},
    {POWER_OP_L2_NORM, 1, {AT(t64)}, {48}, {0}, "do not divide"},
    {POWER_OP_L2_NORM_EPS, 1, {AT(t64)}, {48}, {0}, "do not divide"},
    {POWER_OP_ROPE, 2, {AT(t64), AT(rope)}, {32, 1}, {0}, NULL},
    {POWER_OP_ROPE, 2, {AT(t64), AT(rope)}, {16, 0}, {0}, "rotated dims is 32"},
    {POWER_OP_ROPE, 2, {AT(t64), AT(rope)}, {48, 0}, {0}, "do not divide"},
    {POWER_OP_ROPE, 2, {AT(t64), AT(ids)}, {32, 0}, {0}, "not a rope index"},
    {POWER_OP_ROPE, 2, {AT(o64), AT(rope)}, {32, 0}, {0}, "[T, n]"},
    {POWER_OP_ROPE, 2, {AT(t64), AT(rope)}, {32, 2}, {0}, "mode is 2"},
    {POWER_OP_KV_APPEND, 3, {AT(state), AT(t64), AT(t64)}, {0}, {0}, NULL},
    {POWER_OP_KV_APPEND, 3, {AT(state), AT(t64), AT(t32)}, {0}, {0}, "must be 64"},
    {POWER_OP_KV_APPEND, 3, {AT(conv), AT(t64), AT(t64)}, {0}, {0}, "another kind"},
    {POWER_OP_ATTEND, 2, {AT(t256), AT(state)}, {8}, {1, 0}, NULL},
    {POWER_OP_ATTEND, 2, {AT(t256), AT(state)}, {7}, {1, 0}, "do not divide"},
    {POWER_OP_ATTEND, 2, {AT(t64), AT(state)}, {8}, {1, 0}, "must be 256"},
    {POWER_OP_ATTEND, 2, {AT(t256), AT(state)}, {8}, {1, -1}, "negative"},
    {POWER_OP_CONV_STEP, 3, {AT(t64), AT(conv), AT(filter)}, {0}, {0}, NULL},
    {POWER_OP_CONV_STEP, 3, {AT(t64), AT(conv), AT(w)}, {0}, {0}, "must be [64, 4]"},
    {POWER_OP_CONV_STEP, 3, {AT(t32), AT(conv), AT(filter)}, {0}, {0}, "must be 64"},
    {POWER_OP_DELTA_RULE,
     6,
     {AT(t32), AT(t32), AT(t64), AT(t1), AT(t1), AT(plane)},
     {0},
     {0},
     "must be 2"},
    {POWER_OP_DELTA_RULE,
     6,
     {AT(t64), AT(t32), AT(t64), AT(t1), AT(t1), AT(plane)},
     {0},
     {0},
     "must be 32"},
    {POWER_OP_DELTA_RULE,
     6,
     {AT(t32), AT(t32), AT(t64), AT(t1), AT(t1), AT(state)},
     {0},
     {0},
     "another kind"},
    {POWER_OP_ROUTE, 1, {AT(t32)}, {33}, {0}, "experts used is 33"},
    {POWER_OP_ROUTE, 1, {AT(o64)}, {2}, {0}, "[T, n]"},
    {POWER_OP_MOE_COMBINE, 2, {AT(e16), AT(routes)}, {0}, {0}, NULL},
    {POWER_OP_MOE_COMBINE, 2, {AT(t64), AT(routes)}, {0}, {0}, "[E, n]"},
    {POWER_OP_MOE_COMBINE, 3, {AT(e16), AT(routes), AT(t64)}, {0}, {0}, "must be 16"},
    {POWER_OP_EMBED, 2, {AT(w), AT(ids)}, {0}, {0}, NULL},
    {POWER_OP_EMBED, 2, {AT(w), AT(out_rows)}, {0}, {0}, "the ids"},
    {POWER_OP_SELECT_ROWS, 2, {AT(t64), AT(out_rows)}, {0}, {0}, NULL},
    {POWER_OP_SELECT_ROWS, 2, {AT(o64), AT(out_rows)}, {0}, {0}, "[T, n]"},
};

static void run_case(const struct shape_case *c) {
    struct power_graph *g = create();
    struct values v = add_values(g);
    power_value all[sizeof v / sizeof(power_value)], in[6] = {0}, outs[POWER_GRAPH_MAX_OUT];
    memcpy(all, &v, sizeof v);
    for (uint32_t i = 0; i < c->n_in; i++)
        in[i] = all[c->in[i]];
    struct power_op_attr attr = {.i = {c->i[0], c->i[1], c->i[2]}, .f = {c->f[0], c->f[1]}};
    power_value out = power_graph_add_op(g, c->code, in, c->n_in, &attr, outs);
    const char *name = power_op_info(c->code)->name;
    if (!c->error) {
        if (g->error.status != POWER_OK) fail_msg("%s: %s", name, g->error.message);
        assert_int_not_equal(out, POWER_NO_VALUE);
    } else {
        assert_int_equal(out, POWER_NO_VALUE);
        if (!strstr(g->error.message, c->error) || !strstr(g->error.message, "\"here\"") ||
            !strstr(g->error.message, name))
            fail_msg("%s: \"%s\" is not in: %s", name, c->error, g->error.message);
    }
    power_graph_destroy_internal(g);
}

static void test_shape_rules(void **state) {
    (void)state;
    bool refused[POWER_OP_COUNT] = {false};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        run_case(&CASES[i]);
        refused[CASES[i].code] |= CASES[i].error != NULL;
    }
    for (int code = POWER_OP_NONE + 1; code < POWER_OP_COUNT; code++)
        if (code != POWER_OP_RESHAPE && !refused[code])
            fail_msg("%s has no case that is refused", power_op_info((enum power_op)code)->name);
}

static void test_reshape(void **state) {
    (void)state;
    struct power_graph *g = create();
    struct values v = add_values(g);
    struct power_dim heads[2] = {{POWER_SYM_ROWS, 4, 0}, {POWER_SYM_NONE, 0, 16}};
    assert_int_not_equal(power_graph_reshape(g, v.t64, 2, heads), POWER_NO_VALUE);
    struct power_dim flat[2] = {{POWER_SYM_NONE, 0, 10}, {POWER_SYM_NONE, 0, 32}};
    assert_int_not_equal(power_graph_reshape(g, v.c64, 2, flat), POWER_NO_VALUE);
    assert_int_equal(g->error.status, POWER_OK);
    assert_int_equal(power_graph_reshape(g, v.c64, 2, heads), POWER_NO_VALUE);
    assert_non_null(strstr(g->error.message, "same number of elements"));
    power_graph_destroy_internal(g);
}

static void test_first_error_stays(void **state) {
    (void)state;
    struct power_graph *g = create();
    struct values v = add_values(g);
    power_graph_set_label(g, "blk.3.attn_q");
    assert_int_equal(power_graph_linear(g, v.t32, v.w, POWER_NO_VALUE), POWER_NO_VALUE);
    char first[256];
    memcpy(first, g->error.message, sizeof first);
    power_graph_set_label(g, "later");
    assert_int_equal(power_graph_linear(g, v.t64, v.w, v.v64), POWER_NO_VALUE);
    assert_int_equal(power_graph_linear(g, v.t64, v.w, POWER_NO_VALUE), POWER_NO_VALUE);
    assert_string_equal(g->error.message, first);
    power_error error = {0};
    assert_int_equal(power_graph_finish(g, &error), POWER_INVALID);
    assert_non_null(strstr(error.message, "blk.3.attn_q"));
    power_graph_destroy_internal(g);
}

static void test_quantised_rows_are_shared(void **state) {
    (void)state;
    struct power_graph *g = create();
    struct values v = add_values(g);
    power_value a = power_graph_linear(g, v.t256, v.wk, POWER_NO_VALUE);
    uint32_t ops = g->n_ops;
    power_value b = power_graph_linear(g, v.t256, v.wk, POWER_NO_VALUE);
    assert_int_equal(g->n_ops, ops + 1);
    assert_int_equal(g->ops[g->values[a].producer - 1].in[0],
                     g->ops[g->values[b].producer - 1].in[0]);
    /* The other block is another value. */
    power_value w32 = weight(g, POWER_DTYPE_Q5_0, 16, 256, 1);
    (void)power_graph_linear(g, v.t256, w32, POWER_NO_VALUE);
    assert_int_equal(g->n_ops, ops + 3);
    power_graph_destroy_internal(g);
}

static void describe(float eps, struct power_buffer *out) {
    struct power_graph *g = create();
    struct values v = add_values(g);
    power_error error = {0};
    power_graph_mark_output(g, power_graph_rms_norm(g, v.t64, v.v64, 0, eps), "y");
    assert_int_equal(power_graph_finish(g, &error), POWER_OK);
    power_buffer_init(out, &power_default_allocator, 1 << 20);
    assert_int_equal(power_graph_describe(g, out, &error), POWER_OK);
    power_graph_destroy_internal(g);
}

static void test_describe(void **state) {
    (void)state;
    struct power_buffer a, b, c;
    describe(1e-5f, &a);
    describe(1e-5f, &b);
    describe(1e-6f, &c);
    assert_string_equal(a.bytes, b.bytes);
    assert_string_not_equal(a.bytes, c.bytes);
    assert_non_null(strstr(a.bytes, "rms_norm("));
    assert_non_null(strstr(a.bytes, "sha256 "));
    power_buffer_finish(&a);
    power_buffer_finish(&b);
    power_buffer_finish(&c);
}

static void test_pieces_and_weights(void **state) {
    (void)state;
    struct power_graph *g = create();
    struct power_piece q8 = {.kind = POWER_PIECE_KV,
                             .n_layers = 1,
                             .n_kv_heads = 1,
                             .k_dim = 40,
                             .v_dim = 32,
                             .kv_dtype = POWER_DTYPE_Q8_0};
    (void)power_graph_add_piece(g, &q8);
    assert_non_null(strstr(g->error.message, "32 divides"));
    power_graph_destroy_internal(g);
    g = create();
    assert_int_equal(weight(g, POWER_DTYPE_Q4_K, 4, 100, 1), POWER_NO_VALUE);
    assert_non_null(strstr(g->error.message, "whole blocks"));
    power_graph_destroy_internal(g);
    g = create();
    power_error error = {0};
    assert_int_equal(power_graph_finish(g, &error), POWER_INVALID);
    assert_non_null(strstr(error.message, "no output"));
    power_graph_destroy_internal(g);
    assert_int_equal(power_dtype_activation_block(POWER_DTYPE_Q6_K), 256);
    assert_int_equal(power_dtype_activation_block(POWER_DTYPE_NVFP4), 32);
    assert_int_equal(power_dtype_activation_block(POWER_DTYPE_Q1_0), 32);
    assert_int_equal(power_dtype_activation_block(POWER_DTYPE_BF16), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape_rules),       cmocka_unit_test(test_reshape),
        cmocka_unit_test(test_first_error_stays), cmocka_unit_test(test_quantised_rows_are_shared),
        cmocka_unit_test(test_describe),          cmocka_unit_test(test_pieces_and_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
