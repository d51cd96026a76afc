/* SPDX-License-Identifier: MIT */
/* One digest: whatever the kernels, threads, fusion, chunks, company and history, the bits are the
 * same. Input: MODE MODEL...; modes: pairs (a covering array in which every pair of values occurs),
 * product (all combinations), spoiled (one kernel differs in the last bit: must be noticed).
 * Output: `N passed, N failed`. Threads: see scenario.h. Bounds: see scenario.h. */
#include "scenario.h"

#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct axes {
    uint8_t sizes[AXIS_COUNT];
    uint8_t isa[4]; /* the paths this machine has, as indices of scenario_masks */
};

/* reference: the plain C path too (slow: small models only). */
static struct axes machine_axes(int reference, uint32_t kv_types) {
    struct axes a;
    uint32_t have = power_cpu_features();
    uint8_t n = 0;
    memcpy(a.sizes, scenario_sizes, sizeof a.sizes);
    if (reference) a.isa[n++] = 0;
    if (have & POWER_CPU_AVX2) a.isa[n++] = 1;
    if (have & POWER_CPU_AVX512) a.isa[n++] = 2;
    if (have & POWER_CPU_AVX512_VNNI) a.isa[n++] = 3;
    a.sizes[AXIS_ISA] = n;
    a.sizes[AXIS_KV] = (uint8_t)kv_types;
    return a;
}

/* Baselines by KV type and prompt: the first scenario seen sets them. */
struct baselines {
    struct power_digest digest[3][5];
    int known[3][5];
    struct scenario first[3][5];
    unsigned passed, failed;
};

static void compare(struct baselines *b, const struct scenario *s, struct power_digest got) {
    uint8_t kv = s->at[AXIS_KV], prompt = s->at[AXIS_PROMPT];
    if (!b->known[kv][prompt]) {
        b->known[kv][prompt] = 1;
        b->digest[kv][prompt] = got;
        b->first[kv][prompt] = *s;
        return;
    }
    if (!memcmp(&b->digest[kv][prompt], &got, sizeof got)) {
        b->passed++;
        return;
    }
    b->failed++;
    printf("DIFFERENT: ");
    scenario_print(s);
    printf("     from: ");
    scenario_print(&b->first[kv][prompt]);
}

static int same_bench(const struct scenario *a, const struct scenario *b) {
    return a->at[AXIS_ISA] == b->at[AXIS_ISA] && a->at[AXIS_THREADS] == b->at[AXIS_THREADS] &&
           a->at[AXIS_FUSION] == b->at[AXIS_FUSION];
}

struct runner {
    const char *self, *path;
    struct axes axes;
    struct scenario_bench bench;
    int open, spoil;
    struct baselines baselines;
};

static void run_one(struct runner *r, struct scenario s) {
    s.at[AXIS_ISA] = r->axes.isa[s.at[AXIS_ISA]];
    if (r->open && !same_bench(&r->bench.opened, &s)) {
        scenario_close(&r->bench);
        r->open = 0;
    }
    if (!r->open) {
        scenario_open(&r->bench, r->self, r->path, &s);
        if (r->spoil && s.at[AXIS_ISA] == r->axes.isa[r->axes.sizes[AXIS_ISA] - 1])
            scenario_spoil(&r->bench);
        r->open = 1;
    }
    compare(&r->baselines, &s, scenario_run(&r->bench, &s));
}

/* Prompts are dealt out over the product, the long ones (slow) to one row in sixteen each. */
static uint8_t prompt_of(unsigned row) {
    static const uint8_t deal[16] = {4, 0, 1, 3, 0, 1, 2, 0, 1, 0, 1, 0, 1, 0, 1, 0};
    unsigned sum = 0;
    for (; row; row /= 15)
        sum += row % 15;
    return deal[sum % 16];
}

static void run_product(struct runner *r) {
    struct scenario s = {{0}};
    for (unsigned row = 0;; row++) {
        int axis = AXIS_PROMPT - 1; /* the last axis of the product */
        s.at[AXIS_PROMPT] = prompt_of(row);
        if (row % 500 == 0) printf("%s: %u\n", r->path, row);
        run_one(r, s);
        while (axis >= 0 && ++s.at[axis] == r->axes.sizes[axis])
            s.at[axis--] = 0;
        if (axis < 0) return;
    }
}

/* ---- covering array: greedy, each row takes the values that cover most pairs not yet seen ---- */

struct pairs {
    uint8_t seen[AXIS_COUNT][8][AXIS_COUNT][8];
};

static unsigned gain(const struct pairs *p, const struct scenario *s, int axis, uint8_t value) {
    unsigned n = 0;
    for (int other = 0; other < axis; other++)
        n += !p->seen[other][s->at[other]][axis][value];
    return n;
}

static unsigned mark(struct pairs *p, const struct scenario *s) {
    unsigned n = 0;
    for (int a = 0; a < AXIS_COUNT; a++) {
        for (int b = a + 1; b < AXIS_COUNT; b++) {
            uint8_t *seen = &p->seen[a][s->at[a]][b][s->at[b]];
            n += !*seen;
            *seen = 1;
        }
    }
    return n;
}

/* The first pair not seen yet fixes two axes. */
static int next_pair(const struct pairs *p, const struct axes *axes, int out[4]) {
    for (int a = 0; a < AXIS_COUNT; a++)
        for (int b = a + 1; b < AXIS_COUNT; b++)
            for (int va = 0; va < axes->sizes[a]; va++)
                for (int vb = 0; vb < axes->sizes[b]; vb++)
                    if (!p->seen[a][va][b][vb])
                        return out[0] = a, out[1] = va, out[2] = b, out[3] = vb, 1;
    return 0;
}

static unsigned run_pairs(struct runner *r) {
    static struct pairs p;
    int fixed[4];
    unsigned rows = 0;
    memset(&p, 0, sizeof p);
    while (next_pair(&p, &r->axes, fixed)) {
        struct scenario s = {{0}};
        for (int axis = 0; axis < AXIS_COUNT; axis++) {
            unsigned best = 0;
            for (uint8_t i = 0; i < r->axes.sizes[axis]; i++) {
                uint8_t value = (uint8_t)((i + rows) % r->axes.sizes[axis]);
                unsigned g = gain(&p, &s, axis, value) + 1;
                if (g > best) best = g, s.at[axis] = value;
            }
            if (axis == fixed[0]) s.at[axis] = (uint8_t)fixed[1];
            if (axis == fixed[2]) s.at[axis] = (uint8_t)fixed[3];
        }
        mark(&p, &s);
        run_one(r, s);
        rows++;
    }
    return rows;
}

/* A baseline of every KV type and prompt by the plainest path, so that each row has something to
 * equal. */
static void run_baselines(struct runner *r) {
    for (uint8_t kv = 0; kv < r->axes.sizes[AXIS_KV]; kv++) {
        for (uint8_t prompt = 0; prompt < r->axes.sizes[AXIS_PROMPT]; prompt++) {
            struct scenario s = {{0}};
            s.at[AXIS_FUSION] = 1;
            s.at[AXIS_CHUNK] = 4;
            s.at[AXIS_KV] = kv;
            s.at[AXIS_PROMPT] = prompt;
            run_one(r, s);
        }
    }
}

/* Q8_0 keys and values where 32 divides the head size. */
static uint32_t kv_types(const char *path) {
    struct harness h;
    struct harness_options o = harness_defaults();
    o.beyond_trained = 1;
    harness_open(&h, path, &o);
    uint32_t n = h.info.head_dim % 32 ? 2 : 3;
    harness_close(&h);
    return n;
}

static void run_model(const char *mode, const char *self, const char *path, int reference,
                      unsigned *passed, unsigned *failed) {
    struct runner *r = calloc(1, sizeof *r);
    if (!r) abort();
    r->self = self;
    r->path = path;
    r->axes = machine_axes(reference, kv_types(path));
    r->spoil = !strcmp(mode, "spoiled");
    run_baselines(r);
    if (!strcmp(mode, "product")) {
        run_product(r);
    } else {
        printf("%s: %u rows\n", path, run_pairs(r));
    }
    if (r->open) scenario_close(&r->bench);
    *passed += r->baselines.passed;
    *failed += r->baselines.failed;
    free(r);
}

int main(int argc, char **argv) {
    if (argc > 2 && !strcmp(argv[1], "--child")) return scenario_child(argc - 2, argv + 2);
    int reference = argc > 1 && strcmp(argv[1], "pairs-fast") != 0;
    if (argc < 3) {
        fputs("usage: digest pairs|pairs-fast|product|spoiled MODEL...\n", stderr);
        return 2;
    }
    unsigned passed = 0, failed = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 2; i < argc; i++)
        run_model(argv[1], "/proc/self/exe", argv[i], reference, &passed, &failed);
    if (!strcmp(argv[1], "spoiled")) {
        printf("a kernel that differs in the last bit was noticed in %u of %u runs\n", failed,
               passed + failed);
        return failed ? 0 : 1;
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed || !passed;
}
