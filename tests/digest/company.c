/* SPDX-License-Identifier: MIT */
/* See company.h. Job: keep a model busy. Input: a model. Output: nothing. Threads: one a sequence.
 * Bounds: prompts of at most 80 tokens. */
#include "company.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define MEMBERS 16

struct company {
    struct harness *h;
    struct harness_options options;
    uint32_t count, seed;
    atomic_int stop;
    pthread_t threads[MEMBERS];
    struct member {
        struct company *company;
        uint32_t number;
    } members[MEMBERS];
};

static int until_stopped(void *context, const power_delta *delta) {
    struct company *c = context;
    (void)delta;
    return atomic_load(&c->stop);
}

static void visit(struct company *c, uint32_t number, uint32_t turn) {
    uint32_t ids[80], n = 1 + (number * 31 + turn * 17 + c->seed) % 80;
    power_error error = {0};
    power_generate_options g;
    power_generate_result result = {.struct_size = sizeof result};
    struct harness_options o = c->options;
    o.chunk_rows = 1 + (number * 13 + turn) % 40;
    for (uint32_t i = 0; i < n; i++)
        ids[i] = (i * 29 + number * 7 + turn) % c->h->info.n_vocab;
    power_session *session = harness_session(c->h, &o);
    power_generate_options_init(&g);
    g.ids = ids;
    g.n_ids = n;
    g.max_tokens = 1 + (turn + number) % 20;
    g.ignore_end_tokens = 1;
    g.sampling.seed = number;
    g.on_delta = until_stopped;
    g.context = c;
    harness_must(power_generate(session, &g, &result, &error), &error, "company");
    power_session_close(session);
}

static void *work(void *argument) {
    struct member *m = argument;
    for (uint32_t turn = 0; !atomic_load(&m->company->stop); turn++)
        visit(m->company, m->number, turn);
    return NULL;
}

struct company *company_start(struct harness *h, const struct harness_options *options,
                              uint32_t count, uint32_t seed) {
    struct company *c = calloc(1, sizeof *c);
    if (!c || count > MEMBERS) abort();
    c->h = h;
    c->options = *options;
    c->count = count;
    c->seed = seed;
    for (uint32_t i = 0; i < count; i++) {
        c->members[i] = (struct member){c, i};
        if (pthread_create(&c->threads[i], NULL, work, &c->members[i])) abort();
    }
    return c;
}

void company_stop(struct company *c) {
    atomic_store(&c->stop, 1);
    for (uint32_t i = 0; i < c->count; i++)
        pthread_join(c->threads[i], NULL);
    free(c);
}
