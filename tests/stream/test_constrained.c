/* SPDX-License-Identifier: MIT */
/* Generation under constraints: every answer is a text of the language, whatever the sampling, the
 * company and the chunks; where a constraint begins; what ends an answer; who holds whom.
 * Input: tiny models and scripted ones, whose wishes are known. Output: texts, ids, statuses.
 * Threads: one, and several in company. Bounds: tiny models. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "harness.h"
#include "power/power.h"

#define MOST 320u

struct answer {
    char text[4096], token_bytes[4096];
    size_t length, n_token_bytes;
    uint32_t ids[MOST], n, n_flushes;
    float logprobs[MOST];
    power_top_logprob top[MOST][POWER_MAX_TOP_LOGPROBS];
    uint64_t offsets[MOST];
    power_session *cancels; /* after three tokens */
    power_generate_result result;
};

static int take(void *context, const power_delta *delta) {
    struct answer *a = context;
    assert_true(a->length + delta->text_bytes < sizeof a->text && a->n < MOST);
    memcpy(a->text + a->length, delta->text, delta->text_bytes);
    a->length += delta->text_bytes;
    if (delta->id == UINT32_MAX) {
        a->n_flushes++;
        return 0;
    }
    memcpy(a->token_bytes + a->n_token_bytes, delta->token_bytes, delta->n_token_bytes);
    a->n_token_bytes += delta->n_token_bytes;
    a->logprobs[a->n] = delta->logprob;
    a->offsets[a->n] = delta->text_offset;
    memcpy(a->top[a->n], delta->top, delta->n_top * sizeof *delta->top);
    a->ids[a->n++] = delta->id;
    if (a->cancels && a->n == 3) power_session_cancel(a->cancels);
    return 0;
}

static power_constraint *constrain(const struct harness *h, power_constraint_kind kind,
                                   const char *text) {
    power_constraint *constraint = NULL;
    power_constraint_options options;
    power_error error = {0};
    power_constraint_options_init(&options);
    options.kind = kind;
    harness_must(power_constraint_open(h->model, text, strlen(text), &options, &constraint, &error),
                 &error, text);
    return constraint;
}

static power_generate_options ask(struct answer *answer, const uint32_t *ids, size_t n_ids) {
    power_generate_options options;
    memset(answer, 0, sizeof *answer);
    answer->result.struct_size = sizeof answer->result;
    power_generate_options_init(&options);
    options.ids = ids;
    options.n_ids = n_ids;
    options.on_delta = take;
    options.context = answer;
    return options;
}

static void generate(power_session *session, const power_generate_options *options) {
    struct answer *answer = options->context;
    power_error error = {0};
    harness_must(power_session_truncate(session, 0, &error), &error, "truncate");
    harness_must(power_generate(session, options, &answer->result, &error), &error, "generate");
}

static bool accepts(power_constraint *constraint, const struct answer *answer) {
    int accepted = 0;
    power_error error = {0};
    harness_must(
        power_constraint_accepts(constraint, answer->text, answer->length, &accepted, &error),
        &error, "accepts");
    return accepted != 0;
}

static size_t prompt(const struct harness *h, const char *text, uint32_t *ids) {
    size_t n = 0;
    power_error error = {0};
    harness_must(power_tokenize(h->model, text, strlen(text), 1, 0, ids, 64, &n, &error), &error,
                 text);
    return n;
}

static void open_script(struct harness *h) {
    const struct harness_options options = harness_defaults();
    harness_open(h, harness_data("cases/gguf/script-text.gguf"), &options);
}

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"maxLength\":8},"
    "\"n\":{\"type\":\"integer\",\"minimum\":-5,\"maximum\":40},"
    "\"list\":{\"type\":\"array\",\"items\":{\"enum\":[\"a\",true,null]},\"maxItems\":3}},"
    "\"required\":[\"name\",\"n\",\"list\"],\"additionalProperties\":false}";

/* ---- the language ---- */

/* At any sampling: with bias against it, penalties, a small top-k that the wish of the model fills.
 */
static void every_answer_is_in_the_language(void **state) {
    struct harness h;
    struct answer a;
    uint32_t ids[64], whole = 0;
    (void)state;
    open_script(&h);
    size_t n_ids = prompt(&h, "say b", ids);
    power_constraint *const kinds[] = {
        constrain(&h, POWER_CONSTRAINT_SCHEMA, schema),
        constrain(&h, POWER_CONSTRAINT_REGEX, "[a-f]{2,5}(, [0-9]{1,3}){1,2}!"),
        constrain(&h, POWER_CONSTRAINT_CHOICE, "[\"ABCDE\",\"ABD\",\"\\u00e9t\\u00e9\",\"HIJ\"]"),
        constrain(&h, POWER_CONSTRAINT_GRAMMAR, "root ::= \"(\" (root | [xyz]) \")\"")};
    for (uint32_t round = 0; round < 120; round++) {
        power_generate_options options = ask(&a, ids, n_ids);
        const power_bias bias[] = {{275, 1000.0f}, {'9', -2.0f}, {')', 3.0f}};
        options.constraint = kinds[round % 4];
        options.max_tokens = 120;
        options.sampling.seed = round;
        options.sampling.temperature = round % 3 == 0 ? 0.0f : round % 3 == 1 ? 1.0f : 30.0f;
        options.sampling.top_k = round % 5 == 0 ? 1 : round % 5 == 1 ? 40 : 0;
        options.sampling.top_p = round % 7 < 3 ? 0.9f : 1.0f;
        options.sampling.min_p = round % 2 ? 0.05f : 0.0f;
        options.sampling.repetition_penalty = round % 4 < 2 ? 1.0f : 1.3f;
        options.sampling.frequency_penalty = round % 8 < 4 ? 0.0f : 0.2f;
        options.sampling.biases = bias;
        options.sampling.n_biases = round % 2 ? 3 : 0;
        generate(h.session, &options);
        if (a.result.finish == POWER_FINISH_LENGTH) continue;
        assert_int_equal(a.result.finish, POWER_FINISH_STOP);
        assert_true(a.result.end_id != UINT32_MAX);
        assert_int_equal(a.result.output_tokens, a.n + 1);
        if (!accepts(kinds[round % 4], &a)) fail_msg("round %u: %s", round, a.text);
        whole++;
    }
    assert_true(whole >= 100);
    for (int i = 0; i < 4; i++)
        power_constraint_close(kinds[i]);
    harness_close(&h);
}

/* Two ways to one answer: what the constraint leaves to the model is what the model wants. */
static void the_model_chooses_among_what_may_come(void **state) {
    struct harness h;
    struct answer a;
    uint32_t ids[64];
    (void)state;
    open_script(&h);
    size_t n_ids = prompt(&h, "say b", ids);
    power_constraint *free_choice = constrain(&h, POWER_CONSTRAINT_REGEX, "[A-Z]+");
    power_constraint *short_one = constrain(&h, POWER_CONSTRAINT_CHOICE, "[\"ABCDEFG\"]");
    power_generate_options options = ask(&a, ids, n_ids);
    options.sampling.temperature = 0;
    options.constraint = free_choice;
    generate(h.session, &options);
    assert_string_equal(a.text, "ABCDEFGHIJ");
    options = ask(&a, ids, n_ids);
    options.sampling.temperature = 0;
    options.constraint = short_one;
    generate(h.session, &options);
    assert_string_equal(a.text, "ABCDEFG");
    power_constraint_close(free_choice);
    power_constraint_close(short_one);
    harness_close(&h);
}

/* ---- the same bytes ---- */

struct company {
    power_session *session;
    power_generate_options options;
};

static void *one_of_many(void *context) {
    struct company *c = context;
    for (int i = 0; i < 5; i++)
        generate(c->session, &c->options);
    return NULL;
}

static void same_answer(const struct answer *a, const struct answer *b) {
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->ids, b->ids, a->n * sizeof a->ids[0]);
    assert_memory_equal(a->logprobs, b->logprobs, a->n * sizeof a->logprobs[0]);
    assert_int_equal(a->length, b->length);
    assert_memory_equal(a->text, b->text, a->length);
    assert_int_equal(a->result.finish, b->result.finish);
}

static void company_threads_and_chunks_change_nothing(void **state) {
    struct answer alone[4], got;
    (void)state;
    for (uint32_t round = 0; round < 3; round++) {
        struct harness h;
        struct company company[4];
        pthread_t threads[4];
        struct answer answers[4];
        uint32_t ids[64];
        struct harness_options o = harness_defaults();
        o.threads = 1 + round;
        o.chunk_rows = round == 1 ? 1 : 0;
        o.cpu_mask = round == 2 ? 0 : UINT32_MAX;
        harness_open(&h, harness_tiny("llama"), &o);
        size_t n_ids = prompt(&h, "the cat", ids);
        power_constraint *constraint = constrain(&h, POWER_CONSTRAINT_SCHEMA, schema);
        for (uint32_t i = 0; i < 4; i++) {
            company[i].session = i ? harness_session(&h, &o) : h.session;
            company[i].options = ask(&answers[i], ids, n_ids);
            company[i].options.sampling.seed = i;
            company[i].options.sampling.temperature = 1.0f;
            company[i].options.max_tokens = 60;
            company[i].options.constraint = i < 3 ? constraint : NULL; /* one is free */
            power_generate_options options = company[i].options;
            options.context = round ? &got : &alone[i];
            memset(options.context, 0, sizeof got);
            ((struct answer *)options.context)->result.struct_size = sizeof got.result;
            generate(company[i].session, &options);
            if (round) same_answer(&got, &alone[i]);
        }
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, one_of_many, &company[i]);
        for (int i = 0; i < 4; i++) {
            pthread_join(threads[i], NULL);
            /* five answers in a row went into one buffer: the last begins where four end */
            assert_int_equal(answers[i].n, 5 * alone[i].n);
            for (uint32_t k = 0; k < answers[i].n; k++)
                assert_int_equal(answers[i].ids[k], alone[i].ids[k % alone[i].n]);
            if (i) power_session_close(company[i].session);
        }
        power_constraint_close(constraint);
        harness_close(&h);
    }
}

/* ---- where it begins ---- */

static void text_of(struct harness *h, power_constraint *constraint, const char *after,
                    const char *prefix, struct answer *a) {
    uint32_t ids[64];
    size_t n_ids = prompt(h, "say b", ids);
    power_generate_options options = ask(a, ids, n_ids);
    options.sampling.temperature = 0;
    options.max_tokens = 40;
    options.constraint = constraint;
    options.constraint_after = after;
    options.constraint_prefix = prefix;
    options.constraint_prefix_bytes = prefix ? strlen(prefix) : 0;
    generate(h->session, &options);
}

static void a_constraint_begins_after_a_text(void **state) {
    struct harness h;
    struct answer a;
    (void)state;
    open_script(&h);
    power_constraint *digits = constrain(&h, POWER_CONSTRAINT_REGEX, "[0-9]{3}");
    power_constraint *inside = constrain(&h, POWER_CONSTRAINT_REGEX, "EF[0-9]{2}");
    text_of(&h, digits, "BC", NULL, &a); /* at a token's end */
    assert_int_equal(a.length, 6);
    assert_memory_equal(a.text, "ABC", 3);
    assert_int_equal(strspn(a.text + 3, "0123456789"), 3);
    text_of(&h, inside, "CD", NULL, &a); /* inside the token DEF, which goes on as it may */
    assert_int_equal(a.ids[1], 276);
    assert_memory_equal(a.text, "ABCDEF", 6);
    assert_int_equal(strspn(a.text + 6, "0123456789"), 2);
    text_of(&h, digits, "CD", NULL, &a); /* the same token, which may not go on like that */
    const char *at = strstr(a.text, "CD");
    if (a.result.finish == POWER_FINISH_STOP) {
        assert_non_null(at);
        assert_int_equal(strspn(at + 2, "0123456789"), 3);
    } else { /* nothing else leads there: the model may not end before */
        assert_int_equal(a.result.finish, POWER_FINISH_LENGTH);
        assert_null(at);
    }
    assert_true(a.ids[1] != 276);
    text_of(&h, digits, "never comes", NULL, &a);
    assert_int_equal(a.result.finish, POWER_FINISH_LENGTH);
    assert_int_equal(a.n, 40);
    power_constraint_close(digits);
    power_constraint_close(inside);
    harness_close(&h);
}

static void a_constraint_goes_on_behind_a_prefix(void **state) {
    struct harness h;
    struct answer a;
    power_error error = {0};
    (void)state;
    open_script(&h);
    power_constraint *constraint = constrain(&h, POWER_CONSTRAINT_CHOICE, "[\"xyABC\",\"DEF\"]");
    text_of(&h, constraint, NULL, "xy", &a);
    assert_string_equal(a.text, "ABC");
    text_of(&h, constraint, NULL, NULL, &a);
    assert_string_equal(a.text, "DEF");
    uint32_t ids[64];
    power_generate_options options = ask(&a, ids, prompt(&h, "say b", ids));
    options.constraint = constraint;
    options.constraint_prefix = "z";
    options.constraint_prefix_bytes = 1;
    assert_int_equal(power_generate(h.session, &options, NULL, &error), POWER_INVALID);
    options.constraint_after = "z";
    assert_int_equal(power_generate(h.session, &options, NULL, &error), POWER_INVALID);
    power_constraint_close(constraint);
    harness_close(&h);
}

/* ---- stop strings and tokens ---- */

static void stop_strings_cut_inside_tokens(void **state) {
    struct harness h;
    struct answer a;
    uint32_t ids[64];
    const power_stop_text stops[] = {{"HIJ", 3}, {"EFG", 3}, {"CDEFG", 5}, {"zzz", 3}};
    (void)state;
    open_script(&h);
    power_generate_options options = ask(&a, ids, prompt(&h, "say b", ids));
    options.sampling.temperature = 0;
    options.stops = stops;
    options.n_stops = 4;
    options.n_top_logprobs = 4;
    generate(h.session, &options);
    assert_string_equal(a.text, "AB");
    assert_string_equal(a.token_bytes, "ABCDEFG");
    assert_int_equal(a.result.finish, POWER_FINISH_STOP);
    assert_int_equal(a.result.stop, 2);
    assert_int_equal(a.result.end_id, UINT32_MAX);
    assert_int_equal(a.result.output_tokens, 3);
    assert_int_equal(power_session_length(h.session), (uint32_t)options.n_ids + 2);
    const uint64_t offsets[] = {0, 3, 6};
    assert_memory_equal(a.offsets, offsets, sizeof offsets);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(a.top[i][0].id, a.ids[i]); /* the scripted wish is the most probable */
        assert_true(a.top[i][0].logprob == a.logprobs[i]);
        for (int k = 1; k < 4; k++)
            assert_true(a.top[i][k].logprob < a.top[i][k - 1].logprob ||
                        (a.top[i][k].logprob == a.top[i][k - 1].logprob &&
                         a.top[i][k].id > a.top[i][k - 1].id));
    }
    /* Without a listener the same end. */
    options.on_delta = NULL;
    power_error error = {0};
    power_generate_result result = {.struct_size = sizeof result};
    assert_int_equal(power_session_truncate(h.session, 0, &error), POWER_OK);
    assert_int_equal(power_generate(h.session, &options, &result, &error), POWER_OK);
    assert_int_equal(result.stop, 2);
    assert_int_equal(result.output_tokens, 3);
    /* What a stop string held back leaves at the end. */
    const power_stop_text held[] = {{"HIJK", 4}};
    options = ask(&a, ids, options.n_ids);
    options.sampling.temperature = 0;
    options.stops = held;
    options.n_stops = 1;
    generate(h.session, &options);
    assert_string_equal(a.text, "ABCDEFGHIJ");
    assert_int_equal(a.n_flushes, 1);
    assert_int_equal(a.result.stop, UINT32_MAX);
    harness_close(&h);
}

static void options_out_of_range_are_named(void **state) {
    struct harness h, other;
    struct answer a;
    uint32_t ids[64];
    power_error error = {0};
    (void)state;
    open_script(&h);
    open_script(&other);
    power_constraint *constraint = constrain(&other, POWER_CONSTRAINT_REGEX, "a");
    power_generate_options options = ask(&a, ids, prompt(&h, "say b", ids));
    options.constraint = constraint;
    assert_int_equal(power_generate(h.session, &options, NULL, &error), POWER_INVALID);
    assert_non_null(strstr(error.message, "another model"));
    assert_int_equal(power_generate(other.session, &options, NULL, &error), POWER_OK);
    options.ignore_end_tokens = 1;
    assert_int_equal(power_generate(other.session, &options, NULL, &error), POWER_INVALID);
    assert_non_null(strstr(error.message, "ignore_end_tokens"));
    options = ask(&a, ids, options.n_ids);
    options.constraint_after = "x";
    assert_int_equal(power_generate(h.session, &options, NULL, &error), POWER_INVALID);
    assert_non_null(strstr(error.message, "constraint_after"));
    options = ask(&a, ids, options.n_ids);
    options.n_top_logprobs = 21;
    assert_int_equal(power_generate(h.session, &options, NULL, &error), POWER_INVALID);
    assert_non_null(strstr(error.message, "n_top_logprobs"));
    const power_stop_text bad[] = {{"ok", 2}, {"a\xC3", 2}, {"", 0}};
    options = ask(&a, ids, options.n_ids);
    options.stops = bad;
    options.n_stops = 2;
    assert_int_equal(power_generate(h.session, &options, NULL, &error), POWER_INVALID);
    assert_int_equal(error.offset, 1);
    options.stops = bad + 2;
    options.n_stops = 1;
    assert_int_equal(power_generate(h.session, &options, NULL, &error), POWER_INVALID);
    power_constraint_close(constraint);
    harness_close(&other);
    harness_close(&h);
}

/* ---- opening, holding, cancelling ---- */

static void what_cannot_be_is_refused(void **state) {
    struct harness h;
    (void)state;
    open_script(&h);
    const struct {
        power_constraint_kind kind;
        const char *text;
        power_status status;
        const char *says;
    } cases[] = {
        {POWER_CONSTRAINT_SCHEMA, "{\"type\":\"strin\"}", POWER_INVALID, "/type"},
        {POWER_CONSTRAINT_SCHEMA, "{\"type\":", POWER_INVALID, ""},
        {POWER_CONSTRAINT_SCHEMA, "false", POWER_INVALID, ""},
        {POWER_CONSTRAINT_GRAMMAR, "root ::= \"a\" missing", POWER_INVALID, "missing"},
        {POWER_CONSTRAINT_GRAMMAR, "root ::= \"a\"\nb ::= [", POWER_INVALID, "line 2"},
        {POWER_CONSTRAINT_REGEX, "(a", POWER_INVALID, ""},
        {POWER_CONSTRAINT_CHOICE, "[]", POWER_INVALID, ""},
        {(power_constraint_kind)9, "x", POWER_INVALID, "kind"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        power_constraint *constraint = NULL;
        power_constraint_options options;
        power_error error = {0};
        power_constraint_options_init(&options);
        options.kind = cases[i].kind;
        power_status status = power_constraint_open(h.model, cases[i].text, strlen(cases[i].text),
                                                    &options, &constraint, &error);
        if (status != cases[i].status || !strstr(error.message, cases[i].says))
            fail_msg("%s: %s: %s", cases[i].text, power_status_name(status), error.message);
        assert_null(constraint);
    }
    harness_close(&h);
}

/* ---- options of a constraint ---- */

static power_constraint_options option(void) {
    power_constraint_options options;
    power_constraint_options_init(&options);
    return options;
}

static power_status judge(const struct harness *h, const power_constraint_options *options,
                          const char *language, const char *text, int *out) {
    power_constraint *constraint = NULL;
    power_error error = {0};
    power_status status =
        power_constraint_open(h->model, language, strlen(language), options, &constraint, &error);
    if (status == POWER_OK) {
        status = power_constraint_accepts(constraint, text, strlen(text), out, &error);
    }
    power_constraint_close(constraint);
    return status;
}

/* Each option turns the verdict on a text that has the other one by default. */
static void options_change_the_language(void **state) {
    static const char two[] = "{\"type\":\"object\",\"properties\":{\"a\":{\"const\":1},\"b\":"
                              "{\"const\":2}},\"additionalProperties\":false}";
    struct harness h;
    (void)state;
    open_script(&h);
    power_constraint_options order = option(), compact = option(), free = option(),
                             depth = option(), leading = option();
    order.any_order = 1;
    compact.space = POWER_JSON_SPACE_COMPACT;
    free.space = POWER_JSON_SPACE_FREE;
    depth.any_depth = 2;
    leading.leading_space = 2;
    const struct {
        const power_constraint_options *options;
        const char *language, *text;
        int verdict, by_default;
    } cases[] = {{&order, two, "{\"b\":2,\"a\":1}", 1, 0},
                 {&compact, two, "{\"a\": 1}", 0, 1},
                 {&compact, two, "{\"a\":1,\"b\":2}", 1, 1},
                 {&free, two, "{\"a\":\t \t\n\t 1}", 1, 0},
                 {&depth, "{}", "[[[1]]]", 0, 1},
                 {&depth, "{}", "[[1]]", 1, 1},
                 {&leading, two, "\n {\"a\":1}", 1, 0},
                 {&leading, two, "\n  {\"a\":1}", 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int with = -1, without = -1;
        assert_int_equal(judge(&h, cases[i].options, cases[i].language, cases[i].text, &with),
                         POWER_OK);
        assert_int_equal(judge(&h, NULL, cases[i].language, cases[i].text, &without), POWER_OK);
        if (with != cases[i].verdict || without != cases[i].by_default)
            fail_msg("%zu: %s: %d, by default %d", i, cases[i].text, with, without);
    }
    harness_close(&h);
}

static void budgets_are_kept(void **state) {
    static const char nested[] = "root ::= \"(\" root \")\" | \"x\"";
    static const char text[] = "((((((((((((((((x))))))))))))))))";
    struct harness h;
    (void)state;
    open_script(&h);
    power_constraint_options none = option(), nodes, bytes, match, open;
    none.kind = POWER_CONSTRAINT_GRAMMAR;
    nodes = bytes = match = open = none;
    nodes.max_nodes = 3;
    bytes.max_bytes = 64;
    match.max_match_bytes = 512;
    open.max_open = 8;
    const power_constraint_options *const tight[] = {&nodes, &bytes, &match, &open};
    int accepts = 0;
    assert_int_equal(judge(&h, &none, nested, text, &accepts), POWER_OK);
    assert_int_equal(accepts, 1);
    for (size_t i = 0; i < sizeof tight / sizeof tight[0]; i++) {
        power_status status = judge(&h, tight[i], nested, text, &accepts);
        if (status != POWER_LIMIT) fail_msg("%zu: %s", i, power_status_name(status));
    }
    harness_close(&h);
}

/* The first delta comes after the prompt was worked through, the others within decode_ns. */
static void times_are_told(void **state) {
    struct harness h;
    struct answer a;
    uint32_t ids[64];
    struct timespec before, after;
    (void)state;
    open_script(&h);
    power_generate_options options = ask(&a, ids, prompt(&h, "say b", ids));
    options.sampling.temperature = 0.0f;
    clock_gettime(CLOCK_MONOTONIC, &before);
    generate(h.session, &options);
    clock_gettime(CLOCK_MONOTONIC, &after);
    uint64_t all = (uint64_t)(after.tv_sec - before.tv_sec) * UINT64_C(1000000000) +
                   (uint64_t)after.tv_nsec - (uint64_t)before.tv_nsec;
    assert_true(a.result.output_tokens > 2);
    assert_true(a.result.prefill_ns > 0 && a.result.prefill_ns <= a.result.first_token_ns);
    assert_true(a.result.decode_ns > 0 && a.result.first_token_ns <= all);
    assert_true(a.result.prefill_ns + a.result.decode_ns <= all);
    harness_close(&h);
}

/* In any order: the model goes with the last that holds it. */
static void closing_in_any_order(void **state) {
    (void)state;
    for (uint32_t order = 0; order < 6; order++) {
        struct harness h;
        struct answer a;
        uint32_t ids[64];
        open_script(&h);
        power_constraint *constraint = constrain(&h, POWER_CONSTRAINT_REGEX, "[0-9]{2}");
        size_t n_ids = prompt(&h, "say b", ids);
        static const char orders[6][4] = {"msc", "mcs", "smc", "scm", "cms", "csm"};
        for (int i = 0; i < 3; i++) {
            char what = orders[order][i];
            if (what == 'm') power_model_close(h.model);
            if (what == 'c') power_constraint_close(constraint);
            if (what == 's') power_session_close(h.session);
            if (i == 0 && what == 'm') { /* both still work */
                power_generate_options options = ask(&a, ids, n_ids);
                options.constraint = constraint;
                generate(h.session, &options);
                assert_int_equal(a.length, 2);
            }
        }
        power_runtime_close(h.runtime);
    }
}

static void a_cancelled_answer_leaves_all_in_order(void **state) {
    struct harness h;
    struct answer a, again;
    uint32_t ids[64];
    power_error error = {0};
    (void)state;
    open_script(&h);
    power_constraint *constraint = constrain(&h, POWER_CONSTRAINT_REGEX, "[a-z]{200}");
    power_generate_options options = ask(&a, ids, prompt(&h, "say b", ids));
    options.constraint = constraint;
    a.cancels = h.session;
    assert_int_equal(power_generate(h.session, &options, NULL, &error), POWER_CANCELLED);
    assert_true(a.n >= 3 && a.n < 200);
    options = ask(&again, ids, options.n_ids);
    options.constraint = constraint;
    generate(h.session, &options);
    assert_int_equal(again.length, 200);
    assert_memory_equal(again.ids, a.ids, a.n * sizeof a.ids[0]);
    power_constraint_close(constraint);
    harness_close(&h);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_answer_is_in_the_language),
                                       cmocka_unit_test(the_model_chooses_among_what_may_come),
                                       cmocka_unit_test(company_threads_and_chunks_change_nothing),
                                       cmocka_unit_test(a_constraint_begins_after_a_text),
                                       cmocka_unit_test(a_constraint_goes_on_behind_a_prefix),
                                       cmocka_unit_test(stop_strings_cut_inside_tokens),
                                       cmocka_unit_test(options_out_of_range_are_named),
                                       cmocka_unit_test(what_cannot_be_is_refused),
                                       cmocka_unit_test(options_change_the_language),
                                       cmocka_unit_test(budgets_are_kept),
                                       cmocka_unit_test(times_are_told),
                                       cmocka_unit_test(closing_in_any_order),
                                       cmocka_unit_test(a_cancelled_answer_leaves_all_in_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
