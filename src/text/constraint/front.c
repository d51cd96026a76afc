/* SPDX-License-Identifier: MIT */
/* Job: regular expressions and lists of choices as constraints.
 * Input: untrusted text. Output: an expression of the grammar.
 * Threads: one a grammar. Bounds: the limits of the grammar and of automata; a list that is too
 * large for one automaton becomes a choice of literals. */
#include "text/constraint/front.h"
#include "text/constraint/regular_internal.h"
#include "text/json.h"

power_status power_regex_compile(struct power_grammar *g, struct power_text regex, power_expr *out,
                                 power_error *error) {
    struct power_regular language;
    power_status status =
        power_regular_parse(power_grammar_space(g), regex, POWER_REGEX_WHOLE, &language, error);
    if (status != POWER_OK) return status;
    if (power_regular_is_empty(&language))
        return power_fail(error, POWER_INVALID, "the regular expression matches no text");
    *out = power_grammar_regular(g, &language, POWER_AS_UTF8);
    return POWER_OK;
}

/* The strings of a list, in work memory. */
struct choices {
    struct regular_work *w;
    struct power_json json;
    struct regular_list texts; /* struct power_text */
};

static bool add_text(struct choices *c) {
    struct power_text value = c->json.value;
    if (!power_regular_room(c->w, &c->texts, 1, sizeof value)) return false;
    char *copy = power_regular_alloc(c->w, value.length + 1, 1);
    if (!copy) return false;
    if (value.length) memcpy(copy, value.bytes, value.length);
    ((struct power_text *)c->texts.items)[c->texts.count++] =
        (struct power_text){copy, value.length};
    return true;
}

static bool read_choices(struct choices *c) {
    enum power_json_event event = power_json_next(&c->json);
    if (event != POWER_JSON_ARRAY && event != POWER_JSON_FAIL)
        return power_regular_fault(c->w, POWER_INVALID, "choices are no JSON array");
    while (event != POWER_JSON_FAIL && event != POWER_JSON_ARRAY_END) {
        event = power_json_next(&c->json);
        if (event == POWER_JSON_FAIL || event == POWER_JSON_ARRAY_END) break;
        if (event != POWER_JSON_STRING)
            return power_regular_fault(c->w, POWER_INVALID, "choice \"/%zu\" is no string",
                                       c->texts.count);
        if (!add_text(c)) return false;
    }
    if (event != POWER_JSON_FAIL && power_json_next(&c->json) == POWER_JSON_END) {
        return c->texts.count > 0 ||
               power_regular_fault(c->w, POWER_INVALID, "no choices are given");
    }
    if (c->w->status == POWER_OK) c->w->status = power_json_status(&c->json);
    return false;
}

/* All texts as one automaton, which shares their beginnings and ends. */
static bool make_union(const struct power_regular_space *space, const struct choices *c,
                       struct power_regular *out) {
    size_t n = c->texts.count;
    const struct power_text *texts = c->texts.items;
    struct power_arena arena;
    power_arena_init(&arena, space->arena->allocator, REGULAR_WORK_BYTES);
    const struct power_regular_space inner = {&arena, space->max_states};
    struct power_regular *parts = power_arena_alloc(&arena, n, sizeof *parts);
    power_status status = parts ? POWER_OK : POWER_NO_MEMORY;
    for (size_t i = 0; i < n && status == POWER_OK; i++)
        status = power_regular_literal(&inner, texts[i], &parts[i], NULL);
    if (status == POWER_OK) status = power_regular_union(space, parts, n, out, NULL);
    power_arena_finish(&arena);
    return status == POWER_OK;
}

static bool build_choices(struct power_grammar *g, struct choices *c, power_expr *out) {
    const struct power_text *texts = c->texts.items;
    struct power_regular language;
    if (make_union(power_grammar_space(g), c, &language)) {
        *out = power_grammar_regular(g, &language, POWER_AS_UTF8);
        return true;
    }
    struct regular_list parts = {0};
    for (size_t i = 0; i < c->texts.count; i++) {
        power_expr part =
            texts[i].length ? power_grammar_literal(g, texts[i]) : power_grammar_empty(g);
        if (!power_regular_push_u32(c->w, &parts, part)) return false;
    }
    *out = power_grammar_choice(g, parts.items, parts.count);
    return true;
}

power_status power_choice_compile(struct power_grammar *g, struct power_text json, power_expr *out,
                                  power_error *error) {
    struct regular_work w;
    const struct power_regular_space *space = power_grammar_space(g);
    power_regular_begin(&w, space, error);
    struct choices c = {.w = &w};
    power_json_init(&c.json, space->arena->allocator, json, "choices", error);
    if (read_choices(&c)) (void)build_choices(g, &c, out);
    power_json_finish(&c.json);
    if (w.status == POWER_CORRUPT) { /* the caller's text, not a file's */
        w.status = POWER_INVALID;
        if (error) error->status = POWER_INVALID;
    }
    return power_regular_end(&w);
}
