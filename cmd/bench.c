/* SPDX-License-Identifier: MIT */
/* power bench: prefill and decode rates, each with what the memory gave right after it.
 * Input: a model. Output: medians over rounds. Owning thread: main.
 * Bounds: prompt and answer must fit the context, which is sized for them. */
#include "common.h"

#include "os/os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROUNDS 99u

static const char name[] = "bench";

struct bench {
    struct model_args m;
    struct opened o;
    uint32_t prompt, output, rounds, threads;
    int json, probe_off;
    power_model_info info;
    double prefill[MAX_ROUNDS], decode[MAX_ROUNDS], prefill_probe[MAX_ROUNDS],
        decode_probe[MAX_ROUNDS];
};

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, uint32_t n) {
    qsort(values, n, sizeof *values, by_value);
    return n % 2 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

/* Ids spread over the vocabulary; the same every time. */
static uint32_t bench_id(const struct bench *b, uint32_t i) {
    return (uint32_t)((i * 2654435761u + 12345u) % b->info.n_vocab);
}

static int one_round(struct bench *b, const uint32_t *ids, float *logits, uint32_t round) {
    power_error error = {.offset = POWER_NO_OFFSET};
    uint32_t last = b->prompt - 1, zero = 0;
    if (power_session_truncate(b->o.session, 0, &error)) return fail_with(name, &error);
    uint64_t begin = power_clock_ns();
    if (power_session_evaluate(b->o.session, ids, b->prompt, &last, 1, logits, &error))
        return fail_with(name, &error);
    b->prefill[round] = (double)b->prompt * 1e9 / (double)(power_clock_ns() - begin);
    b->prefill_probe[round] = b->probe_off ? 0.0 : probe_memory(b->threads) * 1e-9;
    begin = power_clock_ns();
    for (uint32_t i = 0; i < b->output; i++) {
        uint32_t id = bench_id(b, b->prompt + i);
        if (power_session_evaluate(b->o.session, &id, 1, &zero, 1, logits, &error))
            return fail_with(name, &error);
    }
    b->decode[round] = (double)b->output * 1e9 / (double)(power_clock_ns() - begin);
    b->decode_probe[round] = b->probe_off ? 0.0 : probe_memory(b->threads) * 1e-9;
    return -1;
}

static int report(struct bench *b) {
    double prefill = median(b->prefill, b->rounds), decode = median(b->decode, b->rounds);
    double p1 = median(b->prefill_probe, b->rounds), p2 = median(b->decode_probe, b->rounds);
    double read = decode * (double)b->info.weights_bytes * 1e-9;
    const char *device = power_runtime_device(b->o.runtime);
    if (b->json)
        return print_json(name,
                          json_pack("{s:s,s:I,s:I,s:I,s:I,s:f,s:f,s:f,s:f,s:f,s:I}", "device",
                                    device, "threads", (json_int_t)b->threads, "prompt_tokens",
                                    (json_int_t)b->prompt, "output_tokens", (json_int_t)b->output,
                                    "rounds", (json_int_t)b->rounds, "prefill_tokens_per_s",
                                    prefill, "decode_tokens_per_s", decode, "prefill_probe_gb_s",
                                    p1, "probe_gb_s", p2, "decode_weight_gb_s", read,
                                    "peak_memory_bytes", (json_int_t)power_memory_peak()));
    char text[512], probe1[64] = "", probe2[64] = "";
    if (!b->probe_off) {
        snprintf(probe1, sizeof probe1, "  memory probe %6.1f GB/s", p1);
        snprintf(probe2, sizeof probe2, "  memory probe %6.1f GB/s", p2);
    }
    int n = snprintf(text, sizeof text,
                     "%s\n%-8s %5u tokens  %9.2f tokens/s%s\n"
                     "%-8s %5u tokens  %9.2f tokens/s%s  weights read at %.1f GB/s\n"
                     "medians of %u rounds, peak memory %.0f MiB\n",
                     device, "prefill", b->prompt, prefill, probe1, "decode", b->output, decode,
                     probe2, read, b->rounds, (double)power_memory_peak() / 1048576.0);
    return write_out(text, (size_t)n) ? EXIT_OK : write_failed(name);
}

static int measure(struct bench *b) {
    power_error error = {.offset = POWER_NO_OFFSET};
    b->info.struct_size = sizeof b->info;
    if (power_model_get_info(b->o.model, &b->info, &error)) return fail_with(name, &error);
    uint32_t *ids = malloc(b->prompt * sizeof *ids);
    float *logits = malloc(b->info.n_vocab * sizeof *logits);
    int rc = ids && logits ? -1 : fail_text(name, "out of memory");
    for (uint32_t i = 0; ids && i < b->prompt; i++)
        ids[i] = bench_id(b, i);
    double keep = b->prefill[0];
    if (rc < 0) rc = one_round(b, ids, logits, 0); /* warms caches up; overwritten below */
    b->prefill[0] = keep;
    for (uint32_t r = 0; rc < 0 && r < b->rounds; r++)
        rc = one_round(b, ids, logits, r);
    free(logits);
    free(ids);
    return rc < 0 ? report(b) : rc;
}

int command_bench(int argc, char **argv) {
    static const struct command command = {
        "bench",
        "MODEL",
        "Measures prefill and decode rates, each with a memory probe beside it.",
        "power bench model.gguf -t 2 -p 512 -n 64",
        1,
        1};
    struct bench b = {.prompt = 512, .output = 64, .rounds = 3};
    model_args_init(&b.m);
    struct arg_table table = {0};
    const struct arg first[] = {
        {ARG_GROUP, NULL, 0, NULL, "work", NULL, 0, 0},
        {ARG_U32, "prompt", 'p', "N", "tokens of prefill (default: 512)", &b.prompt, 1, 1u << 20},
        {ARG_U32, "output", 'n', "N", "tokens of decode (default: 64)", &b.output, 1, 1u << 20},
        {ARG_U32, "rounds", 'r', "N", "rounds, of which medians are shown (default: 3)", &b.rounds,
         1, MAX_ROUNDS},
        {ARG_FLAG, "no-probe", 0, NULL, "leave the memory probe out", &b.probe_off, 0, 0}};
    const struct arg last[] = {{ARG_GROUP, NULL, 0, NULL, "output", NULL, 0, 0},
                               {ARG_FLAG, "json", 0, NULL, "print JSON", &b.json, 0, 0}};
    args_extend(&table, first, sizeof first / sizeof first[0]);
    add_model_args(&table, &b.m, "context in tokens (default: what --prompt and --output need)");
    args_extend(&table, last, sizeof last / sizeof last[0]);
    const char *model;
    size_t count;
    int rc = args_parse(&command, table.list, argc, argv, &model, &count);
    if (rc >= 0) return rc;
    b.threads = b.m.threads ? b.m.threads : power_usable_cpus();
    b.m.tokens = (uint64_t)b.prompt + b.output;
    rc = open_model(name, &b.m, model, false, &b.o);
    if (rc < 0) rc = open_session(name, &b.m, b.prompt + b.output, &b.o);
    if (rc < 0) rc = measure(&b);
    close_all(&b.o);
    return rc;
}
