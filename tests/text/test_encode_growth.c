/* SPDX-License-Identifier: MIT */
/* Ten times the text takes at most twelve times the steps, in a thread with 64 KiB of stack: texts
 * of one character over and over, for each tokenizer there is and for each pre-tokenizer by itself.
 * A step is a basic block: the tokenizer's sources are compiled with -fsanitize-coverage=trace-pc
 * into this program, so that the compiler calls the counter below from every one of them. */
#include <pthread.h>

#include "../unit/text_support.h"
#include "text/split.h"

#define LARGE ((size_t)100000)      /* of a tokenizer's text; the small one is a tenth */
#define SPLIT_LARGE ((size_t)30000) /* of a pre-tokenizer's */
#define STACK_BYTES ((size_t)65536)

void __sanitizer_cov_trace_pc(void);

static size_t steps;

__attribute__((no_sanitize_coverage)) void __sanitizer_cov_trace_pc(void) {
    steps++;
}

static const char *const units[] = {
    "a",        "A", " ", "\n", "\xE4\xB8\xAD", "\xF0\x9F\x98\x80", ".",
    "\xCC\x81", "0", "'", "<",  "\xC3\xA9",     "\xE2\x96\x81",     "\t"};

struct job {
    const struct power_vocab *vocab;
    const struct power_splitter *splitter;
    struct power_text text;
    size_t steps, pieces;
    uint32_t *ids;
    bool ok;
};

static bool count_piece(void *context, struct power_text piece) {
    struct job *job = context;
    job->pieces += piece.length > 0;
    return true;
}

static void *run(void *context) {
    struct job *job = context;
    struct power_tokenize_options options = {.parse_special = true, .add_special = true};
    power_error error = {0};
    steps = 0;
    if (job->vocab)
        job->ok = power_vocab_encode(job->vocab, job->text, &options, job->ids, LARGE + 64,
                                     &job->pieces, &error) == POWER_OK;
    else
        job->ok = power_split(job->splitter->stages, job->text, count_piece, job);
    job->steps = steps;
    return NULL;
}

static void run_in_small_stack(struct job *job) {
    pthread_attr_t attributes;
    pthread_t thread;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, STACK_BYTES), 0);
    assert_int_equal(pthread_create(&thread, &attributes, run, job), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
}

static char *repeat(const char *unit, size_t *out_length) {
    size_t n = strlen(unit), times = LARGE / n;
    char *bytes = malloc(n * times + 1);
    assert_non_null(bytes);
    for (size_t i = 0; i < times; i++)
        memcpy(bytes + i * n, unit, n);
    *out_length = n * times;
    return bytes;
}

static double check_growth(const char *name, struct job job) {
    double worst = 0;
    job.ids = malloc((LARGE + 64) * sizeof *job.ids);
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        size_t length, n = strlen(units[u]);
        char *bytes = repeat(units[u], &length);
        struct job small = job, large = job;
        size_t tenth = (job.vocab ? LARGE : SPLIT_LARGE) / 10 / n * n;
        small.text = (struct power_text){bytes, tenth};
        large.text = (struct power_text){bytes, tenth * 10};
        run_in_small_stack(&small);
        run_in_small_stack(&large);
        assert_true(small.ok && large.ok);
        assert_true(small.steps > 20); /* the counter counts */
        double growth = (double)large.steps / (double)small.steps;
        if (growth > worst) worst = growth;
        if (growth > 12)
            fail_msg("%s: %zu then %zu steps for ten times \"%s\"", name, small.steps, large.steps,
                     units[u]);
        free(bytes);
    }
    free(job.ids);
    return worst;
}

static void test_splitters(void **state) {
    (void)state;
    const struct power_splitter *splitter;
    double worst = 0;
    size_t n = 0;
    for (; (splitter = power_splitter_at(n)); n++) {
        double growth = check_growth(splitter->names, (struct job){.splitter = splitter});
        if (growth > worst) worst = growth;
    }
    print_message("%zu pre-tokenizers: at most %.2f times the steps\n", n, worst);
    assert_true(n > 30);
}

static size_t check_file(const char *path) {
    power_error error;
    if (access(path, R_OK) != 0) return 0;
    struct power_vocab *vocab = open_vocab(path, &error);
    if (!vocab && error.status == POWER_UNSUPPORTED) return 0;
    if (!vocab) fail_msg("%s: %s", path, error.message);
    double growth = check_growth(path, (struct job){.vocab = vocab});
    const char *name = strrchr(path, '/');
    if (growth > 10.5) print_message("  %s: %.2f\n", name ? name + 1 : path, growth);
    power_vocab_destroy(vocab);
    return 1;
}

/* One of each kind of tokenizer. */
static void test_vocabularies(void **state) {
    (void)state;
    static const char *const models[] = {"qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
                                         "gemma-3-270m-q4_k_m.gguf"};
    static const char *const tiny[] = {"llama/model.safetensors", "bert/model.gguf",
                                       "xlm-roberta/model.gguf"};
    static const char *const public[] = {"gpt-2", "llama-spm", "deepseek-coder", "bert-bge"};
    bool shared = access(SHARED_DATA "/tiny-models", R_OK) == 0;
    char path[1024];
    size_t n = 0;
    for (size_t i = 0; i < sizeof tiny / sizeof *tiny; i++) {
        snprintf(path, sizeof path, "%s/tiny-models/%s", shared ? SHARED_DATA : POWER_TEST_DATA,
                 tiny[i]);
        n += check_file(path);
    }
    for (size_t i = 0; i < sizeof public / sizeof *public; i++) {
        snprintf(path, sizeof path, SHARED_DATA "/tokenizers/%s.gguf", public[i]);
        n += check_file(path);
    }
    for (size_t i = 0; i < 2; i++) {
        if (cached_model(models[i], path, sizeof path)) n += check_file(path);
    }
    print_message("%zu vocabularies\n", n);
    assert_true(n > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_splitters),
                                       cmocka_unit_test(test_vocabularies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
