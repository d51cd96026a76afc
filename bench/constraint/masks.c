/* SPDX-License-Identifier: MIT */
/* Times masks: replays answers token by token under their constraints.
 * Input: a model or vocabulary file and JSON lines {"name", "kind", "constraint", "answer"}; a kind
 * is schema, gbnf, regex or choice. Output: one JSON object on stdout with times in microseconds.
 * Threads: one. Bounds: the engine's own limits. Each mask is asked for once, as decoding does; the
 * matcher is new for every line, so nothing was seen before. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "text/constraint/front.h"
#include "text/constraint/matcher.h"

struct bench {
    struct power_vocab *vocab;
    struct power_token_trie *trie;
    double *times;
    size_t n_times, room;
    double *compiles;
    size_t n_compiles;
    size_t refused;
};

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare_doubles(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double percentile(double *values, size_t n, double part) {
    if (n == 0) return 0;
    qsort(values, n, sizeof *values, compare_doubles);
    return values[(size_t)((double)(n - 1) * part)];
}

static bool add_time(struct bench *b, double us) {
    if (b->n_times == b->room) {
        b->room = b->room ? b->room * 2 : 1024;
        double *grown = realloc(b->times, b->room * sizeof *grown);
        if (!grown) return false;
        b->times = grown;
    }
    b->times[b->n_times++] = us;
    return true;
}

static power_status compile(struct power_grammar *g, const char *kind, struct power_text text,
                            power_expr *out, power_error *error) {
    static const struct power_schema_options options;
    if (strcmp(kind, "gbnf") == 0) return power_gbnf_compile(g, text, out, error);
    if (strcmp(kind, "regex") == 0) return power_regex_compile(g, text, out, error);
    if (strcmp(kind, "choice") == 0) return power_choice_compile(g, text, out, error);
    return power_schema_compile(g, text, &options, out, error);
}

/* Every token of the answer, and the end. */
static bool replay(struct bench *b, struct power_matcher *m, struct power_text answer,
                   power_error *error) {
    const struct power_tokenize_options plain = {.parse_special = false};
    struct power_match match = power_matcher_start(m);
    uint32_t *ids = malloc((answer.length + 1) * sizeof *ids);
    size_t n = 0;
    bool done = ids && power_vocab_encode(b->vocab, answer, &plain, ids, answer.length + 1, &n,
                                          error) == POWER_OK;
    for (size_t i = 0; i <= n && done; i++) {
        const uint64_t *mask;
        uint32_t count, only;
        double from = now_us();
        done = power_matcher_mask(m, match, &mask, &count, &only, error) == POWER_OK &&
               add_time(b, now_us() - from);
        if (done && i < n) done = power_matcher_accept(m, &match, ids[i], error) == POWER_OK;
    }
    if (done && !power_matcher_can_end(m, match)) {
        snprintf(error->message, sizeof error->message, "the answer is not complete");
        done = false;
    }
    power_matcher_release(m, match);
    free(ids);
    return done;
}

static bool run_line(struct bench *b, const char *kind, struct power_text text,
                     struct power_text answer, power_error *error) {
    struct power_grammar *g = NULL;
    struct power_matcher *m = NULL;
    power_expr root;
    double from = now_us();
    bool done =
        power_grammar_create(&power_default_allocator, NULL, &g, error) == POWER_OK &&
        compile(g, kind, text, &root, error) == POWER_OK &&
        power_grammar_freeze(g, root, error) == POWER_OK &&
        power_matcher_create(&power_default_allocator, g, b->trie, NULL, &m, error) == POWER_OK;
    b->compiles[b->n_compiles++] = now_us() - from;
    done = done && replay(b, m, answer, error);
    power_matcher_destroy(m);
    power_grammar_destroy(g);
    return done;
}

static struct power_text text_of(const json_t *value) {
    return (struct power_text){json_string_value(value), json_string_length(value)};
}

static bool run_file(struct bench *b, const char *path) {
    FILE *file = fopen(path, "rb");
    char *line = NULL;
    size_t room = 0;
    if (!file) return false;
    while (getline(&line, &room, file) > 0) {
        power_error error = {0};
        json_t *entry = json_loads(line, 0, NULL);
        const char *name = json_string_value(json_object_get(entry, "name"));
        const char *kind = json_string_value(json_object_get(entry, "kind"));
        double *grown = realloc(b->compiles, (b->n_compiles + 1) * sizeof *grown);
        if (!entry || !name || !kind || !grown) {
            fprintf(stderr, "%s: a line is not as it should be\n", path);
            exit(1);
        }
        b->compiles = grown;
        size_t first = b->n_times;
        if (!run_line(b, kind, text_of(json_object_get(entry, "constraint")),
                      text_of(json_object_get(entry, "answer")), &error)) {
            fprintf(stderr, "%s: %s\n", name, error.message);
            b->refused++;
        }
        if (getenv("MASKS_VERBOSE") && b->n_times > first) {
            size_t n = b->n_times - first;
            double *copy = malloc(n * sizeof *copy);
            if (copy) memcpy(copy, b->times + first, n * sizeof *copy);
            if (copy) {
                fprintf(stderr,
                        "%-24s %4zu masks, median %7.1f us, max %8.1f us, compile %8.0f us\n", name,
                        n, percentile(copy, n, 0.5), percentile(copy, n, 1),
                        b->compiles[b->n_compiles - 1]);
            }
            free(copy);
        }
        json_decref(entry);
    }
    free(line);
    fclose(file);
    return true;
}

static bool open_vocab(struct bench *b, const char *path, power_error *error) {
    struct power_source_options options = {.use_mmap = true};
    struct power_source *source = NULL;
    if (power_source_open(&power_default_allocator, path, &options, &source, error) != POWER_OK)
        return false;
    power_status status = power_vocab_create(&power_default_allocator, source, &b->vocab, error);
    power_source_close(source);
    return status == POWER_OK;
}

int main(int argc, char **argv) {
    struct bench b = {0};
    power_error error = {0};
    if (argc != 3) {
        fprintf(stderr, "usage: %s MODEL LINES\n", argv[0]);
        return 2;
    }
    if (!open_vocab(&b, argv[1], &error)) {
        fprintf(stderr, "%s: %s\n", argv[1], error.message);
        return 1;
    }
    double from = now_us();
    if (power_token_trie_create(&power_default_allocator, b.vocab, &b.trie, &error) != POWER_OK) {
        fprintf(stderr, "%s: %s\n", argv[1], error.message);
        return 1;
    }
    double trie_us = now_us() - from;
    if (!run_file(&b, argv[2])) {
        fprintf(stderr, "%s: cannot be read\n", argv[2]);
        return 1;
    }
    double sum = 0;
    for (size_t i = 0; i < b.n_times; i++)
        sum += b.times[i];
    printf("{\"masks\": %zu, \"refused\": %zu, \"mean_us\": %.2f, \"median_us\": %.2f, "
           "\"p90_us\": %.2f, \"p99_us\": %.2f, \"max_us\": %.2f, \"compile_median_us\": %.0f, "
           "\"compile_max_us\": %.0f, \"trie_us\": %.0f}\n",
           b.n_times, b.refused, b.n_times ? sum / (double)b.n_times : 0,
           percentile(b.times, b.n_times, 0.5), percentile(b.times, b.n_times, 0.9),
           percentile(b.times, b.n_times, 0.99), percentile(b.times, b.n_times, 1),
           percentile(b.compiles, b.n_compiles, 0.5), percentile(b.compiles, b.n_compiles, 1),
           trie_us);
    power_token_trie_destroy(b.trie);
    power_vocab_destroy(b.vocab);
    free(b.times);
    free(b.compiles);
    return b.refused ? 1 : 0;
}
