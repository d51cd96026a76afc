/* SPDX-License-Identifier: MIT */
/* State on the device: rollback by replay, forks, save and load between devices; marks of faulty
 * rows; the memory plan; runs that allocate nothing; steps that are refused. Input: the random
 * model. Output: cmocka's verdict. Threads: the pool's. Bounds: plan_kit.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "device/cpu/plan.h"
#include "plan_model.h"

#define TOTAL 34
#define UNDO 4 /* the kit's undo_rows */

struct run {
    struct model m;
    struct kit_step step;
    struct power_state_command commands[16];
    uint32_t n_commands;
    uint32_t faults[KIT_MAX_ROWS];
    float logits[KIT_MAX_ROWS * VOCAB];
};

static struct run *open_run(uint32_t threads, uint32_t features, bool apart, bool fusion) {
    struct run *r = calloc(1, sizeof *r);
    model_open(&r->m, threads, features, apart, fusion);
    return r;
}

static void close_run(struct run *r) {
    kit_close(&r->m.kit);
    free(r);
}

static void command(struct run *r, enum power_state_command_kind kind, uint32_t piece, uint32_t a,
                    uint32_t b, uint64_t from, uint64_t to) {
    r->commands[r->n_commands++] = (struct power_state_command){
        .kind = kind, .piece = piece, .a = a, .b = b, .from = from, .to = to};
}

/* Rows [from, from + n) of sequence `seq` after the commands; the ids are those of sequence 1. */
static power_status try_rows(struct run *r, uint32_t seq, uint32_t from, uint32_t n, uint64_t base,
                             power_error *error) {
    kit_step_make(&r->m.kit, &r->step, seq, 1, &from, &n, VOCAB);
    struct kit_step same;
    kit_step_make(&r->m.kit, &same, 1, 1, &from, &n, VOCAB);
    memcpy(r->step.ids, same.ids, sizeof same.ids);
    r->step.base_pos[0] = base;
    r->step.step.commands = r->commands;
    r->step.step.n_commands = r->n_commands;
    r->n_commands = 0;
    struct kit_io io = {r->m.logits, NULL, r->logits, (size_t)n * VOCAB};
    return kit_run(&r->m.kit, &r->step.step, NULL, &io, n ? 1 : 0, r->faults, error);
}

static void rows(struct run *r, uint32_t seq, uint32_t from, uint32_t n, uint64_t base) {
    power_error error = {0};
    kit_must(try_rows(r, seq, from, n, base, &error), &error, "rows");
}

/* The logits of every row, computed in one step. */
static float *straight(void) {
    float *out = calloc((size_t)TOTAL * VOCAB, sizeof *out);
    struct run *r = open_run(1, 0, false, true);
    rows(r, 1, 0, TOTAL, 0);
    memcpy(out, r->logits, (size_t)TOTAL * VOCAB * sizeof *out);
    close_run(r);
    return out;
}

static void same(const struct run *r, const float *all, uint32_t from, uint32_t n,
                 const char *what) {
    for (size_t i = 0; i < (size_t)n * VOCAB; i++)
        if (memcmp(&r->logits[i], &all[(size_t)from * VOCAB + i], sizeof(float)) != 0)
            fail_msg("%s: row %zu differs", what, from + i / VOCAB);
}

static void test_rollback(void **state) {
    (void)state;
    float *all = straight();
    for (int apart = 0; apart < 2; apart++) {
        struct run *r = open_run(2, UINT32_MAX, apart, true);
        rows(r, 1, 0, 20, 0); /* longer than undo_rows: the spare plane is at 16 */
        command(r, POWER_STATE_SPARE_TO_BASE, PIECE_DELTA, 1, 0, 16, 16);
        rows(r, 1, 20, 3, 16);
        same(r, all, 20, 3, "after a long step");
        command(r, POWER_STATE_REPLAY_HEAD, PIECE_DELTA, 1, 0, 16, 21); /* two rows back */
        rows(r, 1, 21, 2, 16);
        same(r, all, 21, 2, "after a short rollback");
        command(r, POWER_STATE_REPLAY_BASE, PIECE_DELTA, 1, 0, 16, 19); /* base moves up */
        command(r, POWER_STATE_REPLAY_HEAD, PIECE_DELTA, 1, 0, 19, 20);
        rows(r, 1, 20, 4, 19);
        same(r, all, 20, 4, "after base moved up");
        /* A long step that fails leaves the log alone: back to 23 from base 19. */
        rows(r, 1, 24, 10, 19);
        command(r, POWER_STATE_REPLAY_HEAD, PIECE_DELTA, 1, 0, 19, 23);
        rows(r, 1, 23, 1, 19);
        same(r, all, 23, 1, "after a long step that failed");
        /* A long step of which 8 of 10 rows are kept. */
        rows(r, 1, 24, 10, 19);
        command(r, POWER_STATE_SPARE_TO_BASE, PIECE_DELTA, 1, 0, 30, 30);
        command(r, POWER_STATE_REPLAY_HEAD, PIECE_DELTA, 1, 0, 30, 32);
        rows(r, 1, 32, 2, 30);
        same(r, all, 32, 2, "after a partial commit");
        close_run(r);
    }
    free(all);
}

static void test_fork(void **state) {
    (void)state;
    float *all = straight();
    struct run *r = open_run(2, UINT32_MAX, true, true);
    rows(r, 1, 0, 20, 0);
    command(r, POWER_STATE_COPY_SLOT, PIECE_DELTA, 1, 2, 0, 0);
    command(r, POWER_STATE_COPY_SLOT, PIECE_CONV, 1, 2, 0, 0);
    command(r, POWER_STATE_COPY_BLOCK, PIECE_FULL, KIT_BLOCKS, 2 * KIT_BLOCKS, 0, 0);
    command(r, POWER_STATE_COPY_BLOCK, PIECE_WINDOW, KIT_BLOCKS, 2 * KIT_BLOCKS, 0, 0);
    rows(r, 2, 20, 14, 16);
    same(r, all, 20, 14, "fork");
    rows(r, 1, 20, 14, 16);
    same(r, all, 20, 14, "origin of a fork");
    /* A slot that is used again starts from zero. */
    command(r, POWER_STATE_ZERO_SLOT, PIECE_DELTA, 2, 0, 0, 0);
    command(r, POWER_STATE_ZERO_SLOT, PIECE_CONV, 2, 0, 0, 0);
    rows(r, 2, 0, TOTAL, 0);
    same(r, all, 0, TOTAL, "slot used again");
    close_run(r);
    free(all);
}

/* Moves the state of `length` positions of sequence 1 to sequence 2 of another device. */
static void move_state(struct run *from, struct run *to, uint32_t length) {
    power_error error = {0};
    struct kit *a = &from->m.kit, *b = &to->m.kit;
    for (uint32_t i = 0; i < a->graph->n_pieces; i++) {
        struct power_piece_bytes bytes;
        struct power_device_buffer *out = NULL, *in = NULL;
        kit_must(a->ops->piece_bytes(a->device, &a->graph->pieces[i], &a->limits, &bytes, &error),
                 &error, "bytes");
        uint32_t first = i == PIECE_CONV ? length - 3 : 0, blocks_a[1] = {KIT_BLOCKS};
        uint32_t blocks_b[1] = {2 * KIT_BLOCKS};
        size_t n = (size_t)(bytes.export_row_bytes * (length - first) + bytes.export_fixed_bytes);
        kit_must(a->ops->buffer_create(a->device, n, &out, &error), &error, "buffer");
        command(from, POWER_STATE_EXPORT, i, 1, 0, first, length);
        from->commands[0].blocks = blocks_a;
        from->commands[0].buffer = out;
        rows(from, 1, 0, 0, 0); /* a step of commands only */
        void *canonical = malloc(n);
        kit_must(a->ops->download(a->device, out, 0, canonical, n, &error), &error, "download");
        kit_must(b->ops->buffer_create(b->device, n, &in, &error), &error, "buffer");
        kit_must(b->ops->upload(b->device, in, 0, canonical, n, &error), &error, "upload");
        command(to, POWER_STATE_IMPORT, i, 2, 0, first, length);
        to->commands[0].blocks = blocks_b;
        to->commands[0].buffer = in;
        rows(to, 2, 0, 0, 0);
        free(canonical);
        a->ops->buffer_destroy(a->device, out);
        b->ops->buffer_destroy(b->device, in);
    }
}

static void test_save_and_load(void **state) {
    (void)state;
    float *all = straight();
    struct run *a = open_run(1, UINT32_MAX, false, true), *b = open_run(2, 0, true, false);
    rows(a, 1, 0, 21, 0);
    move_state(a, b, 21);
    rows(b, 2, 21, 3, 21);
    same(b, all, 21, 3, "loaded on another device");
    /* What was loaded is a base, too. */
    command(b, POWER_STATE_REPLAY_HEAD, PIECE_DELTA, 2, 0, 21, 22);
    rows(b, 2, 22, 12, 21);
    same(b, all, 22, 12, "rolled back after a load");
    close_run(a);
    close_run(b);
    free(all);
}

/* ---- faults ---- */

/* Gives token `id` an embedding that is not finite. */
static void poison_token(struct run *r, uint32_t id) {
    power_error error = {0};
    const struct power_device_weight *w = &r->m.kit.weights[0]; /* Q8_0, 34 bytes a block */
    unsigned char infinity[2] = {0x00, 0x7c};
    kit_must(
        r->m.kit.ops->upload(r->m.kit.device, w->raw, id * w->cols / 32 * 34, infinity, 2, &error),
        &error, "upload");
}

static void test_faults(void **state) {
    (void)state;
    float *all = straight();
    uint32_t expected = 0;
    for (int i = 0; i < 4; i++) {
        struct run *r = open_run(1 + (uint32_t)i, i == 1 ? 0 : UINT32_MAX, false, i % 2);
        uint32_t length[2] = {0, 0}, n[2] = {3, TOTAL - 10};
        kit_step_make(&r->m.kit, &r->step, 0, 2, length, n, VOCAB);
        poison_token(r, 95);
        for (uint32_t row = 0; row < r->step.step.n_rows; row++)
            if (r->step.ids[row] == 95) r->step.ids[row] = 94;
        uint32_t clean[TOTAL];
        memcpy(clean, r->step.ids + 3, (TOTAL - 10) * sizeof *clean);
        r->step.ids[1] = 95; /* row 1 of sequence 0 */
        power_error error = {0};
        struct kit_io io = {r->m.logits, NULL, r->logits, (size_t)r->step.step.n_rows * VOCAB};
        kit_must(kit_run(&r->m.kit, &r->step.step, NULL, &io, 1, r->faults, &error), &error, "run");
        assert_int_equal(r->faults[0], 0);
        assert_int_not_equal(r->faults[1], 0);
        if (expected == 0) expected = r->faults[1];
        assert_int_equal(r->faults[1], expected);
        enum power_op code = r->m.kit.graph->ops[expected - 1].code;
        assert_int_equal(code, POWER_OP_QUANTISE);
        for (uint32_t row = 3; row < r->step.step.n_rows; row++)
            assert_int_equal(r->faults[row], 0);
        bool same_ids = true; /* sequence 1's logits are those of a clean step */
        struct kit_step plain;
        kit_step_make(&r->m.kit, &plain, 1, 1, length, n + 1, VOCAB);
        for (uint32_t row = 0; row < TOTAL - 10; row++)
            same_ids &= plain.ids[row] == clean[row];
        if (same_ids)
            assert_memory_equal(r->logits + 3 * VOCAB, all, (TOTAL - 10) * VOCAB * sizeof *all);
        close_run(r);
    }
    free(all);
}

/* ---- the plan ---- */

static void test_memory_plan(void **state) {
    (void)state;
    for (int fusion = 0; fusion < 2; fusion++) {
        struct run *r = open_run(2, UINT32_MAX, false, fusion);
        const struct power_plan *p = r->m.kit.plan;
        uint32_t n_stored = 0, n_shared = 0;
        for (power_value i = 1; i < p->graph->n_values; i++) {
            const struct plan_value *a = &p->values[i];
            if (!a->stored || p->graph->values[i].kind == POWER_VALUE_WEIGHT) continue;
            n_stored++;
            assert_true(a->offset + a->bytes <= p->arena_bytes);
            assert_int_equal(a->offset % 64, 0);
            for (power_value j = 1; j < i; j++) {
                const struct plan_value *b = &p->values[j];
                if (!b->stored || p->graph->values[j].kind == POWER_VALUE_WEIGHT) continue;
                bool together = a->first_phase <= b->last_phase && b->first_phase <= a->last_phase;
                bool overlap = a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
                if (together && overlap) fail_msg("values %u and %u overlap", i, j);
                n_shared += overlap;
            }
        }
        assert_true(n_stored > 20);
        assert_true(n_shared > n_stored); /* memory is used again */
        struct power_plan_info info;
        r->m.kit.ops->plan_info(p, &info);
        assert_true(info.scratch_bytes >= p->arena_bytes);
        assert_true(fusion ? info.n_phases < 60 : info.n_phases > 60);
        close_run(r);
    }
}

/* Every reader of a value runs in a later phase than its maker, or after it on the same row. */
static void test_order(void **state) {
    (void)state;
    struct run *r = open_run(1, 0, false, true);
    const struct power_plan *p = r->m.kit.plan;
    uint32_t *phase_of = calloc(p->graph->n_ops, sizeof *phase_of);
    uint32_t *place_of = calloc(p->graph->n_ops, sizeof *place_of), place = 0;
    for (uint32_t i = 0; i < p->n_phases; i++)
        for (uint32_t s = 0; s < p->phases[i].n_steps; s++) {
            const struct plan_step *step = &p->steps[p->phases[i].first_step + s];
            for (uint32_t j = 0; j < step->n_items; j++) {
                phase_of[p->items[step->first_item + j]] = i + 1;
                place_of[p->items[step->first_item + j]] = place++;
            }
        }
    for (uint32_t i = 0; i < p->graph->n_ops; i++) {
        const struct power_graph_op *op = &p->graph->ops[i];
        if (phase_of[i] == 0) continue; /* a view */
        for (uint32_t j = 0; j < op->n_in; j++) {
            uint32_t maker = p->graph->values[p->values[op->in[j]].root].producer;
            if (maker == 0 || phase_of[maker - 1] == 0) continue;
            assert_true(phase_of[maker - 1] <= phase_of[i]);
            if (phase_of[maker - 1] == phase_of[i]) assert_true(place_of[maker - 1] < place_of[i]);
        }
    }
    free(phase_of);
    free(place_of);
    close_run(r);
}

static void test_nothing_is_allocated(void **state) {
    (void)state;
    struct run *r = open_run(3, UINT32_MAX, false, true);
    power_error error = {0};
    struct power_device_buffer *logits = NULL;
    struct kit *kit = &r->m.kit;
    kit_must(kit->ops->buffer_create(kit->device, sizeof r->logits, &logits, &error), &error,
             "buffer");
    struct power_binding binding = {r->m.logits, logits, 0, sizeof r->logits};
    uint64_t before = kit->allocations;
    assert_true(before > 0);
    for (uint32_t i = 0; i < 20; i++) {
        uint32_t length = i * 2, n = 2;
        kit_step_make(kit, &r->step, 1, 1, &length, &n, VOCAB);
        struct power_run run = {
            .step = &r->step.step, .bindings = &binding, .n_bindings = 1, .pools = kit->pools};
        kit_must(kit->ops->submit(kit->device, kit->plan, &run, &error), &error, "submit");
    }
    assert_int_equal(kit->allocations, before);
    struct power_device_counters counters;
    power_cpu_device_counters(kit->device, &counters);
    assert_int_equal(counters.plans_compiled, 1);
    assert_int_equal(counters.runs, 20);
    kit->ops->buffer_destroy(kit->device, logits);
    close_run(r);
}

/* ---- refusals ---- */

static void refused(struct run *r, const char *reason) {
    power_error error = {0};
    struct kit_io io = {r->m.logits, NULL, r->logits, (size_t)r->step.step.n_rows * VOCAB};
    power_status status = kit_run(&r->m.kit, &r->step.step, NULL, &io, 1, NULL, &error);
    assert_int_not_equal(status, POWER_OK);
    if (!strstr(error.message, reason)) fail_msg("\"%s\" is not in: %s", reason, error.message);
}

static struct kit_step *fresh(struct run *r) {
    uint32_t length = 3, n = 3;
    kit_step_make(&r->m.kit, &r->step, 1, 1, &length, &n, VOCAB);
    return &r->step;
}

static void test_refused_steps(void **state) {
    (void)state;
    struct run *r = open_run(1, 0, false, true);
    fresh(r)->ids[1] = VOCAB;
    refused(r, "token id 96");
    fresh(r)->row_pos[2] = 9;
    refused(r, "not the next position");
    fresh(r)->row_seq[2] = 1;
    refused(r, "not the next position");
    fresh(r)->blocks[0] = KIT_BLOCKS * KIT_MAX_SEQS;
    refused(r, "outside the pool");
    fresh(r)->slots[0] = KIT_MAX_SEQS;
    refused(r, "outside the pool");
    fresh(r)->out_rows[0] = 3;
    refused(r, "output row 3");
    fresh(r)->step.n_rows = KIT_MAX_ROWS + 1;
    refused(r, "the plan holds");
    fresh(r)->step.rope[0] = NULL;
    refused(r, "rope table 0");
    fresh(r)->base_pos[0] = 4;
    refused(r, "the log");
    uint32_t length = 100, n = 3;
    kit_step_make(&r->m.kit, &r->step, 1, 1, &length, &n, VOCAB);
    r->step.base_pos[0] = 0;
    refused(r, "the log");
    fresh(r);
    command(r, POWER_STATE_COPY_BLOCK, PIECE_DELTA, 0, 1, 0, 0);
    r->step.step.commands = r->commands;
    r->step.step.n_commands = 1;
    refused(r, "not a kv piece");
    r->commands[0] = (struct power_state_command){
        .kind = POWER_STATE_REPLAY_HEAD, .piece = PIECE_DELTA, .from = 0, .to = 3 * UNDO + 1};
    refused(r, "the log holds");
    close_run(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rollback),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_save_and_load),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_memory_plan),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_nothing_is_allocated),
        cmocka_unit_test(test_refused_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
