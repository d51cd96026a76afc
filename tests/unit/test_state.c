/* SPDX-License-Identifier: MIT */
/* State as transactions: random histories of several sequences against a device that only keeps
 * tags. Input: a seed. Output: after every operation, each piece holds exactly what its sequence's
 * ids say. Threads: one. Bounds: a few blocks and slots.
 *
 * The device here knows nothing of models: a KV row is its id, a recurrent plane is a hash folded
 * over ids in order (so a replay from a wrong place or of a wrong row shows), a history row is its
 * id. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/state.h"

enum { FULL, WINDOW, RECURRENT, CONV, N_PIECES };
#define SEQS 4u
#define CONTEXT 400u
#define STEP_ROWS 70u
#define KERNEL 4u
#define BROKEN 0xdeadbeefu

static const struct power_piece pieces[N_PIECES] = {
    [FULL] = {.kind = POWER_PIECE_KV, .n_layers = 1},
    [WINDOW] = {.kind = POWER_PIECE_KV, .n_layers = 1, .window = 50},
    [RECURRENT] = {.kind = POWER_PIECE_RECURRENT, .n_layers = 1},
    [CONV] = {.kind = POWER_PIECE_CONV, .n_layers = 1, .kernel = KERNEL},
};
static const struct power_piece_bytes bytes[N_PIECES] = {
    [FULL] = {.block_bytes = 256, .export_row_bytes = 4},
    [WINDOW] = {.block_bytes = 256, .export_row_bytes = 4},
    [RECURRENT] = {.slot_bytes = 8, .export_fixed_bytes = 8},
    [CONV] = {.slot_bytes = 8, .export_row_bytes = 4},
};

/* ---- a device of tags ---- */

struct slot {
    uint64_t head, base, spare;
    uint32_t *log, *spare_log, *history;
    uint64_t spare_from, spare_rows;
};

struct device {
    struct power_device_base device; /* first */
    uint32_t undo;
    uint32_t (*blocks[2])[64]; /* FULL, WINDOW */
    struct slot *slots[2];     /* RECURRENT, CONV; both have the same shape here */
    uint32_t n_units[N_PIECES];
    uint64_t log_capacity, history_capacity;
    uint32_t n_buffers;
};

static struct device *device_of(struct power_device *d) {
    return (struct device *)(void *)d;
}

static power_status buffer_create(struct power_device *d, uint64_t n,
                                  struct power_device_buffer **out, power_error *error) {
    (void)n;
    (void)error;
    device_of(d)->n_buffers++;
    *out = malloc(1);
    return POWER_OK;
}

static void buffer_destroy(struct power_device *d, struct power_device_buffer *buffer) {
    device_of(d)->n_buffers--;
    free(buffer);
}

static const struct power_device_ops ops = {.buffer_create = buffer_create,
                                            .buffer_destroy = buffer_destroy};

static uint64_t fold(uint64_t hash, uint32_t id) {
    return (hash ^ id) * 0x100000001b3u + 1;
}

static void copy_slot(struct device *d, struct slot *to, const struct slot *from) {
    uint32_t *log = to->log, *spare_log = to->spare_log, *history = to->history;
    memcpy(log, from->log, d->log_capacity * sizeof *log);
    memcpy(spare_log, from->spare_log, d->undo * sizeof *log);
    memcpy(history, from->history, d->history_capacity * sizeof *log);
    *to = *from;
    to->log = log;
    to->spare_log = spare_log;
    to->history = history;
}

static void replay(struct device *d, struct slot *slot, const struct power_state_command *c) {
    uint64_t *plane = c->kind == POWER_STATE_REPLAY_HEAD ? &slot->head : &slot->base;
    if (c->kind == POWER_STATE_REPLAY_HEAD) slot->head = slot->base;
    assert_true(c->to - c->from <= d->log_capacity);
    for (uint64_t p = c->from; p < c->to; p++)
        *plane = fold(*plane, slot->log[p % d->log_capacity]);
}

static void run_command(struct device *d, const struct power_state_command *c) {
    struct slot *slots = c->piece >= RECURRENT ? d->slots[c->piece - RECURRENT] : NULL;
    switch (c->kind) {
    case POWER_STATE_COPY_BLOCK:
        memcpy(d->blocks[c->piece][c->b], d->blocks[c->piece][c->a], sizeof d->blocks[0][0]);
        break;
    case POWER_STATE_ZERO_SLOT:
        slots[c->a].head = slots[c->a].base = 0;
        break;
    case POWER_STATE_COPY_SLOT:
        copy_slot(d, &slots[c->b], &slots[c->a]);
        break;
    case POWER_STATE_REPLAY_HEAD:
    case POWER_STATE_REPLAY_BASE:
        replay(d, &slots[c->a], c);
        break;
    case POWER_STATE_SPARE_TO_BASE:
        slots[c->a].base = slots[c->a].spare;
        for (uint64_t i = 0; i < slots[c->a].spare_rows; i++) {
            slots[c->a].log[(slots[c->a].spare_from + i) % d->log_capacity] =
                slots[c->a].spare_log[i];
        }
        break;
    case POWER_STATE_EXPORT:
    case POWER_STATE_IMPORT:
        fail_msg("not here");
    }
}

static power_status flush(void *context, power_error *error) {
    struct power_state_pool *pool = context;
    (void)error;
    for (uint32_t i = 0; i < pool->n_commands; i++) {
        run_command(device_of(pool->device), &pool->commands[i]);
    }
    power_state_ran(pool);
    return POWER_OK;
}

/* What a step does to the state of one sequence. */
static void run_rows(struct power_state_pool *pool, const struct power_seq_state *s,
                     const uint32_t *ids) {
    struct device *d = device_of(pool->device);
    uint32_t n = s->begun, undo = d->undo;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t p = s->length + i;
        for (int k = FULL; k <= WINDOW; k++)
            d->blocks[k][s->pieces[k].table[p / 64]][p % 64] = ids[i];
        struct slot *r = &d->slots[0][s->pieces[RECURRENT].slot];
        d->slots[1][s->pieces[CONV].slot].history[p % d->history_capacity] = ids[i];
        if (n <= undo) {
            assert_true(p - s->pieces[RECURRENT].base_pos < d->log_capacity);
            r->log[p % d->log_capacity] = ids[i];
        } else if (i >= n - undo) {
            if (i == n - undo) r->spare = r->head;
            r->spare_log[i - (n - undo)] = ids[i];
        }
        r->head = fold(r->head, ids[i]);
        if (undo == 0 && i + 1 == n) r->spare = r->head;
    }
    if (n > undo) {
        d->slots[0][s->pieces[RECURRENT].slot].spare_from = s->length + n - undo;
        d->slots[0][s->pieces[RECURRENT].slot].spare_rows = undo;
    }
}

static void device_init(struct device *d, const struct power_state_pool *pool, uint32_t undo) {
    d->undo = undo;
    d->log_capacity = undo ? 4ull * undo : 1;
    d->history_capacity = KERNEL - 1 + undo + STEP_ROWS;
    for (int k = FULL; k <= WINDOW; k++) {
        d->blocks[k] = calloc(pool->blocks[k].n_blocks, sizeof *d->blocks[k]);
    }
    for (int k = RECURRENT; k <= CONV; k++) {
        uint32_t n = pool->blocks[k].n_blocks;
        d->n_units[k] = n;
        d->slots[k - RECURRENT] = calloc(n, sizeof(struct slot));
        for (uint32_t i = 0; i < n; i++) {
            struct slot *slot = &d->slots[k - RECURRENT][i];
            *slot = (struct slot){.head = BROKEN, .base = BROKEN, .spare = BROKEN};
            slot->log = calloc(d->log_capacity, sizeof *slot->log);
            slot->spare_log = calloc(undo + 1u, sizeof *slot->log);
            slot->history = calloc(d->history_capacity, sizeof *slot->log);
        }
    }
}

static void device_finish(struct device *d) {
    for (int k = 0; k < 2; k++) {
        free(d->blocks[k]);
        for (uint32_t i = 0; i < d->n_units[RECURRENT + k]; i++) {
            free(d->slots[k][i].log);
            free(d->slots[k][i].spare_log);
            free(d->slots[k][i].history);
        }
        free(d->slots[k]);
    }
}

/* ---- the truth beside it ---- */

struct truth {
    uint32_t ids[CONTEXT];
    uint32_t n;
};

struct world {
    struct device device;
    struct power_state_pool pool;
    struct power_seq_state seqs[SEQS], shadow;
    struct truth truths[SEQS], shadow_truth;
    uint64_t seed;
    uint32_t next_id;
};

static uint32_t roll(struct world *w, uint32_t n) {
    w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(w->seed >> 33) % n;
}

static void world_open(struct world *w, uint32_t undo, uint64_t seed) {
    const struct power_state_limits limits = {.max_sequences = SEQS,
                                              .max_context = CONTEXT,
                                              .max_tokens = SEQS * CONTEXT,
                                              .undo_rows = undo,
                                              .step_rows = STEP_ROWS};
    power_error error;
    memset(w, 0, sizeof *w);
    w->device.device.ops = &ops;
    w->seed = seed;
    assert_int_equal(power_state_pool_init(&w->pool, &power_default_allocator,
                                           (struct power_device *)(void *)&w->device, pieces,
                                           N_PIECES, bytes, &limits, &error),
                     POWER_OK);
    w->pool.flush = flush;
    w->pool.flush_context = &w->pool;
    device_init(&w->device, &w->pool, undo);
    for (uint32_t i = 0; i < SEQS; i++) {
        power_state_bind(&w->pool, &w->seqs[i], i);
        assert_int_equal(power_state_open(&w->pool, &w->seqs[i], CONTEXT, &error), POWER_OK);
    }
    power_state_bind(&w->pool, &w->shadow, SEQS);
    assert_int_equal(power_state_open_shadow(&w->pool, &w->shadow, &error), POWER_OK);
}

/* Everything comes back: no block is lost, none is held twice. */
static void world_close(struct world *w) {
    for (uint32_t i = 0; i < SEQS; i++)
        power_state_close(&w->pool, &w->seqs[i]);
    power_state_close(&w->pool, &w->shadow);
    for (uint32_t p = 0; p < N_PIECES; p++) {
        assert_int_equal(w->pool.blocks[p].n_free, w->pool.blocks[p].n_blocks);
    }
    assert_int_equal(w->pool.reserved_tokens, 0);
    device_finish(&w->device);
    power_state_pool_finish(&w->pool);
    assert_int_equal(w->device.n_buffers, 0);
}

static void check(struct world *w, const struct power_seq_state *s, const struct truth *t) {
    struct device *d = &w->device;
    uint64_t hash = 0;
    assert_int_equal(flush(&w->pool, NULL), POWER_OK);
    assert_int_equal(s->length, t->n);
    uint32_t from = power_kv_first_needed(&pieces[WINDOW], s->floor);
    for (uint32_t p = 0; p < t->n; p++) {
        assert_int_equal(d->blocks[FULL][s->pieces[FULL].table[p / 64]][p % 64], t->ids[p]);
        if (p >= from) {
            assert_int_equal(d->blocks[WINDOW][s->pieces[WINDOW].table[p / 64]][p % 64], t->ids[p]);
        }
        if (p + KERNEL > t->n) {
            const struct slot *conv = &d->slots[1][s->pieces[CONV].slot];
            assert_int_equal(conv->history[p % d->history_capacity], t->ids[p]);
        }
        hash = fold(hash, t->ids[p]);
    }
    assert_true(d->slots[0][s->pieces[RECURRENT].slot].head == hash);
    uint32_t held = s->pieces[WINDOW].end - s->pieces[WINDOW].first;
    assert_true(held <= power_state_blocks(&pieces[WINDOW], CONTEXT, &w->pool.limits));
}

static void check_all(struct world *w) {
    for (uint32_t i = 0; i < SEQS; i++)
        check(w, &w->seqs[i], &w->truths[i]);
}

/* ---- random operations ---- */

/* Some sequences step together, each keeps part of its rows: none, all, or what the rules allow. */
static void step(struct world *w) {
    uint32_t ids[SEQS][STEP_ROWS];
    bool in[SEQS] = {false};
    for (uint32_t i = 0; i < SEQS; i++) {
        struct power_seq_state *s = &w->seqs[i];
        uint32_t n = 1 + roll(w, roll(w, 2) ? STEP_ROWS : 4);
        if (roll(w, 3) == 0 || n > CONTEXT - s->length) continue;
        assert_int_equal(power_state_begin(&w->pool, s, n, NULL), POWER_OK);
        for (uint32_t r = 0; r < n; r++)
            ids[i][r] = ++w->next_id;
        in[i] = true;
    }
    bool submits = roll(w, 10) != 0; /* a refused submit runs nothing and keeps the commands */
    if (submits) flush(&w->pool, NULL);
    for (uint32_t i = 0; submits && i < SEQS; i++) {
        if (in[i]) run_rows(&w->pool, &w->seqs[i], ids[i]);
    }
    for (uint32_t i = 0; i < SEQS; i++) {
        if (!in[i]) continue;
        struct power_seq_state *s = &w->seqs[i];
        uint32_t n = s->begun, k = n;
        if (!submits || roll(w, 5) == 0)
            k = 0;
        else if (roll(w, 3) == 0)
            k = roll(w, n + 1);
        while (!power_state_can_commit(&w->pool, n, k))
            k++;
        memcpy(w->truths[i].ids + w->truths[i].n, ids[i], k * sizeof ids[0][0]);
        w->truths[i].n += k;
        power_state_commit(&w->pool, s, k);
    }
}

static void truncate_one(struct world *w) {
    uint32_t i = roll(w, SEQS);
    struct power_seq_state *s = &w->seqs[i];
    uint32_t back = roll(w, w->pool.limits.undo_rows + 3), before = s->length;
    uint32_t length = roll(w, 12) == 0 || back > before ? 0 : before - back;
    power_status status = power_state_truncate(&w->pool, s, length, NULL);
    if (length && length < s->floor) {
        assert_int_equal(status, POWER_LIMIT);
        assert_int_equal(s->length, before);
        return;
    }
    assert_int_equal(status, POWER_OK);
    w->truths[i].n = length;
}

static void fork_one(struct world *w) {
    uint32_t from = roll(w, SEQS), to = roll(w, SEQS);
    if (from == to) return;
    power_state_close(&w->pool, &w->seqs[to]);
    assert_int_equal(power_state_open(&w->pool, &w->seqs[to], CONTEXT, NULL), POWER_OK);
    assert_int_equal(power_state_share(&w->pool, &w->seqs[to], &w->seqs[from], NULL), POWER_OK);
    w->truths[to] = w->truths[from];
}

static void snapshot_or_restore(struct world *w) {
    uint32_t i = roll(w, SEQS);
    if (w->shadow_truth.n == 0) {
        assert_int_equal(power_state_share(&w->pool, &w->shadow, &w->seqs[i], NULL), POWER_OK);
        w->shadow_truth = w->truths[i];
        return;
    }
    if (roll(w, 2)) {
        assert_int_equal(power_state_restore(&w->pool, &w->seqs[i], &w->shadow, NULL), POWER_OK);
        w->truths[i] = w->shadow_truth;
    }
    power_state_clear(&w->pool, &w->shadow);
    w->shadow_truth.n = 0;
}

static void random_histories(void **state) {
    const uint32_t undos[] = {0, 1, 3, 16, 40};
    (void)state;
    for (uint32_t round = 0; round < 60; round++) {
        static struct world w; /* large; of this test alone */
        world_open(&w, undos[round % 5], round + 1);
        for (uint32_t i = 0; i < 150; i++) {
            uint32_t kind = roll(&w, 10);
            if (kind < 6)
                step(&w);
            else if (kind < 8)
                truncate_one(&w);
            else if (kind < 9)
                fork_one(&w);
            else
                snapshot_or_restore(&w);
            if (roll(&w, 3) == 0) check_all(&w);
        }
        check_all(&w);
        world_close(&w);
    }
}

/* ---- single facts ---- */

static void append(struct world *w, uint32_t i, uint32_t n) {
    uint32_t ids[STEP_ROWS];
    for (uint32_t r = 0; r < n; r++)
        ids[r] = ++w->next_id;
    assert_int_equal(power_state_begin(&w->pool, &w->seqs[i], n, NULL), POWER_OK);
    flush(&w->pool, NULL);
    run_rows(&w->pool, &w->seqs[i], ids);
    memcpy(w->truths[i].ids + w->truths[i].n, ids, n * sizeof ids[0]);
    w->truths[i].n += n;
    power_state_commit(&w->pool, &w->seqs[i], n);
}

static void fork_copies_only_the_written_block(void **state) {
    static struct world w;
    (void)state;
    world_open(&w, 16, 1);
    append(&w, 0, 70);
    append(&w, 0, 30);
    uint32_t free_before = w.pool.blocks[FULL].n_free;
    power_state_close(&w.pool, &w.seqs[1]);
    assert_int_equal(power_state_open(&w.pool, &w.seqs[1], CONTEXT, NULL), POWER_OK);
    assert_int_equal(power_state_share(&w.pool, &w.seqs[1], &w.seqs[0], NULL), POWER_OK);
    w.truths[1] = w.truths[0];
    assert_int_equal(w.pool.blocks[FULL].n_free, free_before);
    append(&w, 1, 1);
    assert_int_equal(w.pool.blocks[FULL].n_free, free_before - 1);
    append(&w, 0, 1); /* alone on its block again */
    assert_int_equal(w.pool.blocks[FULL].n_free, free_before - 1);
    check_all(&w);
    world_close(&w);
}

static void a_window_keeps_its_live_span(void **state) {
    static struct world w;
    (void)state;
    world_open(&w, 16, 1);
    for (int i = 0; i < 5; i++)
        append(&w, 0, 70);
    assert_int_equal(w.seqs[0].length, 350);
    assert_int_equal(w.seqs[0].floor, 334);
    /* Needed from 334 - 49 = 285: block 4. */
    assert_int_equal(w.seqs[0].pieces[WINDOW].first, 4);
    assert_int_equal(w.seqs[0].pieces[FULL].first, 0);
    check_all(&w);
    world_close(&w);
}

static void refusals_give_both_numbers(void **state) {
    static struct world w;
    power_error error;
    (void)state;
    world_open(&w, 16, 1);
    struct power_seq_state extra;
    power_state_bind(&w.pool, &extra, 0);
    assert_int_equal(power_state_open(&w.pool, &extra, 1, &error), POWER_OVERLOADED);
    assert_non_null(strstr(error.message, "1600 of 1600"));
    for (int i = 0; i < 5; i++)
        append(&w, 0, 70);
    assert_int_equal(power_state_begin(&w.pool, &w.seqs[0], 51, &error), POWER_CONTEXT_FULL);
    assert_non_null(strstr(error.message, "350"));
    assert_non_null(strstr(error.message, "400"));
    assert_int_equal(power_state_truncate(&w.pool, &w.seqs[0], 333, &error), POWER_LIMIT);
    assert_non_null(strstr(error.message, "333"));
    assert_non_null(strstr(error.message, "334"));
    assert_int_equal(power_state_truncate(&w.pool, &w.seqs[0], 351, &error), POWER_LIMIT);
    check_all(&w);
    world_close(&w);
}

static void partial_commit_rules(void **state) {
    static struct world w;
    (void)state;
    world_open(&w, 16, 1);
    assert_true(power_state_can_commit(&w.pool, 17, 1));
    assert_true(power_state_can_commit(&w.pool, 17, 0));
    assert_true(power_state_can_commit(&w.pool, 18, 2));
    assert_false(power_state_can_commit(&w.pool, 18, 1));
    assert_true(power_state_can_commit(&w.pool, 70, 54));
    assert_false(power_state_can_commit(&w.pool, 70, 53));
    assert_true(power_state_can_commit(&w.pool, 70, 0));
    assert_false(power_state_can_commit(&w.pool, 5, 6));
    world_close(&w);
}

/* GRAPH.md: span W - 1 + undo + step, blocks ceil((span - 1) / 64) + 1. */
static void prices(void **state) {
    const struct power_state_limits limits = {
        .max_sequences = 1, .max_context = 100000, .undo_rows = 16, .step_rows = 512};
    struct power_piece window = {.kind = POWER_PIECE_KV, .window = 1024};
    (void)state;
    assert_int_equal(power_state_blocks(&window, 100000, &limits), (1551 - 1 + 63) / 64 + 1);
    assert_int_equal(power_state_blocks(&window, 100, &limits), 2);
    assert_int_equal(power_state_blocks(&pieces[FULL], 100000, &limits), 1563);
    assert_int_equal(power_state_price(pieces, N_PIECES, bytes, 128, &limits),
                     2 * 256 + 2 * 256 + 8 + 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_histories),
        cmocka_unit_test(fork_copies_only_the_written_block),
        cmocka_unit_test(a_window_keeps_its_live_span),
        cmocka_unit_test(refusals_give_both_numbers),
        cmocka_unit_test(partial_commit_rules),
        cmocka_unit_test(prices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
