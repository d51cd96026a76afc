/* SPDX-License-Identifier: MIT */
/* See scenario.h. Job: run one scenario. Input: a model. Output: a digest.
 * Threads: the caller's and those of the company. Bounds: prompts up to 600 tokens. */
#include "scenario.h"

#include "company.h"
#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROMPT_MAX 600u
#define CONTEXT 640u
#define SAMPLED 8u

const uint32_t scenario_masks[] = {0, POWER_CPU_AVX2, POWER_CPU_AVX2 | POWER_CPU_AVX512,
                                   UINT32_MAX};
const char *const scenario_mask_names[] = {"ref", "avx2", "avx512", "all"};
const uint32_t scenario_threads[] = {1, 2, 3};
const uint32_t scenario_chunks[] = {1, 7, 64, 512, PROMPT_MAX};
const uint32_t scenario_company[] = {0, 3, 12};
const uint32_t scenario_prompts[] = {3, 60, 200, 257, 600};
const power_kv_type scenario_kv[] = {POWER_KV_F16, POWER_KV_F32, POWER_KV_Q8_0};
const uint8_t scenario_sizes[AXIS_COUNT] = {4, 3, 2, 3, 5, 3, STATE_COUNT, 5};

void scenario_print(const struct scenario *s) {
    static const char *const kv[] = {"f16", "f32", "q8_0"};
    static const char *const states[] = {"fresh", "continued", "forked", "rolled back", "restored"};
    printf("isa %s, threads %u, fusion %s, kv %s, chunk %u, company %u, state %s, prompt %u\n",
           scenario_mask_names[s->at[AXIS_ISA]], scenario_threads[s->at[AXIS_THREADS]],
           s->at[AXIS_FUSION] ? "off" : "on", kv[s->at[AXIS_KV]],
           scenario_chunks[s->at[AXIS_CHUNK]], scenario_company[s->at[AXIS_COMPANY]],
           states[s->at[AXIS_STATE]], scenario_prompts[s->at[AXIS_PROMPT]]);
}

static struct harness_options options(const struct scenario *s) {
    struct harness_options o = harness_defaults();
    o.cpu_mask = scenario_masks[s->at[AXIS_ISA]];
    o.threads = scenario_threads[s->at[AXIS_THREADS]];
    o.no_fusion = s->at[AXIS_FUSION];
    o.kv = scenario_kv[s->at[AXIS_KV]];
    o.chunk_rows = scenario_chunks[s->at[AXIS_CHUNK]];
    o.context = CONTEXT;
    o.beyond_trained = 1;
    o.prefill_rows = PROMPT_MAX;
    o.max_sequences = 16;
    return o;
}

void scenario_open(struct scenario_bench *bench, const char *self, const char *path,
                   const struct scenario *s) {
    struct harness_options o = options(s);
    *bench = (struct scenario_bench){.path = path, .self = self, .opened = *s};
    harness_open(&bench->h, path, &o);
    power_session_close(bench->h.session);
    bench->h.session = NULL;
}

void scenario_close(struct scenario_bench *bench) {
    harness_close(&bench->h);
}

/* The same ids for every scenario of a model. */
static void prompt_ids(uint32_t *ids, uint32_t n, uint32_t n_vocab) {
    for (uint32_t i = 0; i < n; i++)
        ids[i] = (uint32_t)(((uint64_t)(i + 7) * 2654435761u >> 7) % n_vocab);
}

/* Bytes that the digest covers. */
struct record {
    unsigned char *bytes;
    size_t length, capacity;
};

static void put(struct record *r, const void *bytes, size_t length) {
    if (r->length + length > r->capacity) {
        r->capacity = 2 * (r->length + length);
        r->bytes = realloc(r->bytes, r->capacity);
        if (!r->bytes) abort();
    }
    memcpy(r->bytes + r->length, bytes, length);
    r->length += length;
}

static void evaluate(struct scenario_bench *b, power_session *session, const uint32_t *ids,
                     size_t n, struct record *out) {
    if (!n) return;
    float *logits = harness_logits(&b->h, session, ids, n);
    put(out, logits, n * b->h.info.n_vocab * sizeof *logits);
    free(logits);
}

static int take_token(void *context, const power_delta *delta) {
    put(context, &delta->id, sizeof delta->id);
    put(context, &delta->logprob, sizeof delta->logprob);
    return 0;
}

/* Tokens sampled after the prompt, at temperature 0 and 0.8, each from the same state. */
static void sample(power_session *session, uint32_t last, struct record *out) {
    static const float temperatures[] = {0.0f, 0.8f};
    uint32_t length = power_session_length(session);
    for (size_t i = 0; i < 2; i++) {
        power_error error = {0};
        power_generate_options g;
        power_generate_result result = {.struct_size = sizeof result};
        harness_must(power_session_truncate(session, length - 1, &error), &error, "truncate");
        power_generate_options_init(&g);
        g.ids = &last;
        g.n_ids = 1;
        g.max_tokens = SAMPLED;
        g.ignore_end_tokens = 1;
        g.sampling.temperature = temperatures[i];
        g.sampling.seed = 11;
        g.on_delta = take_token;
        g.context = out;
        harness_must(power_generate(session, &g, &result, &error), &error, "generate");
        harness_must(power_session_truncate(session, length, &error), &error, "truncate");
    }
}

static power_session *forked(power_session *session) {
    power_error error = {0};
    power_session *copy = NULL;
    harness_must(power_session_fork(session, &copy, &error), &error, "fork");
    power_session_close(session);
    return copy;
}

/* Tokens that are taken back again: 1 to 16 of them. */
static void stray(struct scenario_bench *b, power_session *session, uint32_t prompt) {
    power_error error = {0};
    uint32_t ids[16], n = 1 + prompt % 16, length = power_session_length(session);
    for (uint32_t i = 0; i < n; i++)
        ids[i] = (i * 37 + 5) % b->h.info.n_vocab;
    float *logits = harness_logits(&b->h, session, ids, n);
    free(logits);
    harness_must(power_session_truncate(session, length, &error), &error, "truncate");
}

static void write_file(const char *path, const void *bytes, size_t length) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, length, file) != length || fclose(file)) {
        perror(path);
        exit(1);
    }
}

static unsigned char *read_file(const char *path, size_t *out_length) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) {
        perror(path);
        exit(1);
    }
    long length = ftell(file);
    rewind(file);
    unsigned char *bytes = malloc((size_t)length + 1);
    *out_length = fread(bytes, 1, (size_t)length, file);
    fclose(file);
    return bytes;
}

static void save(power_session *session, const char *path) {
    power_error error = {0};
    size_t length = 0;
    power_status status = power_session_save(session, NULL, 0, &length, &error);
    if (status != POWER_LIMIT) harness_must(status, &error, "save");
    void *bytes = malloc(length);
    harness_must(power_session_save(session, bytes, length, &length, &error), &error, "save");
    write_file(path, bytes, length);
    free(bytes);
}

/* Hands the saved state to a new process and takes its record. */
static void restore_elsewhere(struct scenario_bench *b, const struct scenario *s,
                              power_session *session, struct record *out) {
    char state[64], record[64], at[AXIS_COUNT + 1];
    int status = 1;
    snprintf(state, sizeof state, "/tmp/power-digest-%d.state", (int)getpid());
    snprintf(record, sizeof record, "/tmp/power-digest-%d.record", (int)getpid());
    for (int i = 0; i < AXIS_COUNT; i++)
        at[i] = (char)('0' + s->at[i]);
    at[AXIS_COUNT] = 0;
    save(session, state);
    pid_t pid = fork();
    if (!pid) {
        execl(b->self, b->self, "--child", b->path, at, state, record, (char *)NULL);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status) {
        fprintf(stderr, "the second process failed: %d\n", status);
        exit(1);
    }
    size_t length;
    unsigned char *bytes = read_file(record, &length);
    put(out, bytes, length);
    free(bytes);
    unlink(state);
    unlink(record);
}

struct power_digest scenario_run(struct scenario_bench *b, const struct scenario *s) {
    uint32_t ids[PROMPT_MAX], n = scenario_prompts[s->at[AXIS_PROMPT]], half = n / 2;
    enum scenario_state state = (enum scenario_state)s->at[AXIS_STATE];
    struct harness_options o = options(s);
    struct record record = {0};
    struct power_digest digest;
    prompt_ids(ids, n, b->h.info.n_vocab);
    struct company *company = company_start(&b->h, &o, scenario_company[s->at[AXIS_COMPANY]], half);
    power_session *session = harness_session(&b->h, &o);
    if (state == STATE_FRESH) half = 0;
    evaluate(b, session, ids, half, &record);
    if (state == STATE_FORKED) session = forked(session);
    if (state == STATE_ROLLED_BACK) stray(b, session, n);
    if (state == STATE_RESTORED) {
        restore_elsewhere(b, s, session, &record);
    } else {
        evaluate(b, session, ids + half, n - half, &record);
        sample(session, ids[n - 1], &record);
    }
    power_session_close(session);
    company_stop(company);
    if (power_sha256_once(record.bytes, record.length, &digest)) exit(1);
    free(record.bytes);
    return digest;
}

int scenario_child(int argc, char **argv) {
    struct scenario s = {{0}};
    struct scenario_bench b;
    struct record record = {0};
    uint32_t ids[PROMPT_MAX];
    size_t length;
    power_error error = {0};
    if (argc != 4 || strlen(argv[1]) != AXIS_COUNT) return 2;
    for (int i = 0; i < AXIS_COUNT; i++)
        s.at[i] = (uint8_t)(argv[1][i] - '0');
    uint32_t n = scenario_prompts[s.at[AXIS_PROMPT]], half = n / 2;
    struct harness_options o = options(&s);
    scenario_open(&b, "", argv[0], &s);
    prompt_ids(ids, n, b.h.info.n_vocab);
    unsigned char *bytes = read_file(argv[2], &length);
    power_session *session = harness_session(&b.h, &o);
    harness_must(power_session_load(session, bytes, length, &error), &error, "load");
    free(bytes);
    evaluate(&b, session, ids + half, n - half, &record);
    sample(session, ids[n - 1], &record);
    write_file(argv[3], record.bytes, record.length);
    free(record.bytes);
    power_session_close(session);
    scenario_close(&b);
    return 0;
}
