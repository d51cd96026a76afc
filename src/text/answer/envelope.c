/* SPDX-License-Identifier: MIT */
/* Job: the grammar of calls as a format writes them.
 * Input: a format, the request's tools and choice. Output: an expression of the caller's grammar.
 * Threads: one a grammar. Bounds: the grammar's limits; tools as tools.c reads them. */
#include "text/answer/internal.h"

#include "text/constraint/matcher.h"
#include "text/vocab.h"

typedef struct answer_envelope envelope;

enum { MAX_PARTS = 16 };

/* ---- pieces ---- */

static power_expr in_row(envelope *e, const power_expr *parts, size_t n) {
    return power_grammar_sequence(e->g, parts, n);
}

static power_expr maybe(envelope *e, power_expr part) {
    return power_grammar_repeat(e->g, part, 0, 1);
}

/* A control token whose spelling begins at `at`; the longest. */
static uint32_t control_at(const envelope *e, struct power_text text, size_t at,
                           size_t *out_length) {
    for (size_t n = text.length - at; n > 1; n--) {
        uint32_t id = power_vocab_find(e->vocab, (struct power_text){text.bytes + at, n});
        if (id == POWER_NO_TOKEN || power_vocab_token_type(e->vocab, id) != POWER_TOKEN_CONTROL)
            continue;
        *out_length = n;
        return id;
    }
    return POWER_NO_TOKEN;
}

power_expr answer_write_text(envelope *e, struct power_text text) {
    return power_grammar_literal(e->g, text);
}

/* Marks of the format: where the vocabulary has a control token for one, that token it must be. */
power_expr answer_write(envelope *e, const char *mark) {
    struct power_text text = power_text_of(mark ? mark : "");
    power_expr parts[MAX_PARTS];
    size_t n = 0, from = 0, length = 0;
    if (!e->vocab || text.length < 2) return answer_write_text(e, text);
    for (size_t at = 0; at < text.length && n + 2 < MAX_PARTS; at += length) {
        uint32_t id = control_at(e, text, at, &length);
        if (id == POWER_NO_TOKEN) {
            length = 1;
            continue;
        }
        char bytes[POWER_CONTROL_BYTES];
        if (at > from)
            parts[n++] = answer_write_text(e, (struct power_text){text.bytes + from, at - from});
        power_control_bytes(id, bytes);
        parts[n++] = answer_write_text(e, (struct power_text){bytes, sizeof bytes});
        from = at + length;
    }
    if (from < text.length)
        parts[n++] =
            answer_write_text(e, (struct power_text){text.bytes + from, text.length - from});
    return in_row(e, parts, n);
}

static power_expr set_of(envelope *e, const char *bytes, uint32_t min, uint32_t max) {
    uint64_t set[4] = {0};
    for (; *bytes; bytes++)
        set[(unsigned char)*bytes >> 6] |= UINT64_C(1) << ((unsigned char)*bytes & 63);
    return power_grammar_repeat(e->g, power_grammar_bytes(e->g, set), min, max);
}

static power_expr number(envelope *e) {
    return set_of(e, "0123456789", 1, 3);
}

/* Between the brackets of an array of calls: a line break and an indent, as some templates write.
 */
static power_expr room(envelope *e) {
    if (e->request->schema.whitespace == POWER_WHITESPACE_COMPACT) return power_grammar_empty(e->g);
    const power_expr parts[] = {set_of(e, "\n", 0, 1), set_of(e, " ", 0, 4)};
    return in_row(e, parts, 2);
}

power_expr answer_fail_tool(envelope *e, power_status status, const char *message) {
    if (e->status != POWER_OK) return 0;
    char copy[200];
    size_t n = strlen(message) < sizeof copy ? strlen(message) : sizeof copy - 1;
    memcpy(copy, message, n);
    copy[n] = 0;
    e->status = power_fail(e->error, status, "tool \"%s\": %s",
                           power_quote(e->tool->name.bytes, e->tool->name.length).text, copy);
    return 0;
}

power_expr answer_arguments(envelope *e) {
    power_error error = {.offset = POWER_NO_OFFSET};
    struct power_text text = e->tool->parameters;
    struct answer_schema schema;
    power_expr out = 0;
    if (!text.length) return answer_write_text(e, POWER_TEXT("{}"));
    power_status status = answer_schema_read(&e->arena, text, &schema, &error);
    if (status == POWER_OK && !schema.type.length) {
        /* Arguments are an object, whether the schema says so or not. */
        static const char begin[] = "{\"type\":\"object\"";
        size_t n = sizeof begin - 1;
        char *with = power_arena_alloc(&e->arena, text.length + n + 1, 1);
        if (!with) return answer_fail_tool(e, POWER_NO_MEMORY, "no memory for its schema");
        bool empty = true;
        for (size_t i = 1; i + 1 < text.length; i++)
            empty = empty && answer_is_space((unsigned char)text.bytes[i]);
        memcpy(with, begin, n);
        if (!empty) with[n++] = ',';
        memcpy(with + n, text.bytes + 1, text.length - 1);
        text = (struct power_text){with, n + text.length - 1};
    } else if (status == POWER_OK && !power_text_equal(schema.type, POWER_TEXT("\"object\""))) {
        return answer_fail_tool(e, POWER_UNSUPPORTED,
                                "the type of its parameters (#/type) is not \"object\"");
    }
    if (status == POWER_OK)
        status = power_schema_compile(e->g, text, &e->request->schema, &out, &error);
    return status == POWER_OK ? out : answer_fail_tool(e, status, error.message);
}

/* ---- one call ---- */

static power_expr json_name(envelope *e) {
    /* Names hold nothing that JSON must escape: tools.c sees to it. */
    return answer_write_text(e, e->tool->name);
}

static power_expr key_of(envelope *e, const char *before, const char *key, const char *after) {
    const power_expr parts[] = {answer_write_text(e, power_text_of(before)),
                                answer_write_text(e, power_text_of(key)),
                                answer_write_text(e, power_text_of(after))};
    return in_row(e, parts, 3);
}

static power_expr object_call(envelope *e) {
    const struct power_answer_calls *c = e->calls;
    if (c->shape == ANSWER_KEYED) {
        const power_expr parts[] = {answer_write(e, "{\""), json_name(e), answer_write(e, "\": "),
                                    answer_arguments(e), answer_write(e, "}")};
        return in_row(e, parts, 5);
    }
    power_expr id = power_grammar_empty(e->g);
    if (c->id_key) {
        const power_expr parts[] = {key_of(e, "\"", c->id_key, "\": \""), number(e),
                                    answer_write(e, "\", ")};
        id = in_row(e, parts, 3);
    }
    const power_expr parts[] = {
        answer_write(e, "{"),
        id,
        key_of(e, "\"", c->name_key ? c->name_key : "name", "\": \""),
        json_name(e),
        key_of(e, "\", \"", c->args_key ? c->args_key : "arguments", "\": "),
        answer_arguments(e),
        answer_write(e, "}")};
    return in_row(e, parts, sizeof parts / sizeof parts[0]);
}

static power_expr named_call(envelope *e) {
    static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    const struct power_answer_calls *c = e->calls;
    power_expr empty = power_grammar_empty(e->g);
    bool colon = c->flags & ANSWER_NUMBER, inner = answer_has(c->args_open);
    const power_expr index[] = {answer_write(e, ":"), number(e)};
    const power_expr parts[] = {c->flags & ANSWER_WORD ? set_of(e, word, 1, 64) : empty,
                                answer_write(e, c->before_name),
                                answer_write(e, c->skip),
                                answer_write(e, c->prefix),
                                answer_write_text(e, e->tool->name),
                                colon ? in_row(e, index, 2) : empty,
                                answer_write(e, c->name_end),
                                answer_write(e, c->space),
                                answer_write(e, c->args_open),
                                inner ? answer_write(e, c->space) : empty,
                                answer_arguments(e),
                                inner ? answer_write(e, c->space) : empty,
                                answer_write(e, c->args_close)};
    return in_row(e, parts, sizeof parts / sizeof parts[0]);
}

static power_expr parameters_call(envelope *e) {
    const struct power_answer_calls *c = e->calls;
    bool gemma = c->shape == ANSWER_GEMMA, python = c->shape == ANSWER_PYTHON;
    const power_expr parts[] = {answer_write_text(e, e->tool->name),
                                answer_write(e, gemma    ? "{"
                                                : python ? "("
                                                         : c->name_end),
                                gemma || python ? power_grammar_empty(e->g)
                                                : answer_write(e, c->space),
                                answer_parameters(e),
                                answer_write(e, gemma    ? "}"
                                                : python ? ")"
                                                         : "")};
    return in_row(e, parts, 5);
}

static power_expr harmony_call(envelope *e) {
    const power_expr parts[] = {
        answer_write(e, "<|channel|>commentary to=functions."), answer_write_text(e, e->tool->name),
        answer_write(e, " <|constrain|>json<|message|>"), answer_arguments(e)};
    return in_row(e, parts, 4);
}

static power_expr one_call(envelope *e) {
    switch (e->calls->shape) {
    case ANSWER_OBJECT:
    case ANSWER_KEYED:
        return object_call(e);
    case ANSWER_NAMED:
        return named_call(e);
    case ANSWER_XML:
    case ANSWER_GEMMA:
    case ANSWER_PYTHON:
        return parameters_call(e);
    case ANSWER_HARMONY:
        break;
    }
    return harmony_call(e);
}

/* A call to any function that the request allows. */
static power_expr any_call(envelope *e, const struct answer_tools *tools) {
    power_expr *list = power_arena_alloc(&e->arena, tools->count + 1, sizeof *list);
    size_t n = 0;
    if (!list) {
        e->status = power_fail_memory(e->error, tools->count, "the tools");
        return 0;
    }
    for (size_t i = 0; i < tools->count && e->status == POWER_OK; i++) {
        e->tool = &tools->list[i];
        if (e->request->choice == POWER_TOOLS_NAMED &&
            !power_text_equal(e->tool->name, e->request->name))
            continue;
        list[n++] = one_call(e);
    }
    if (e->status != POWER_OK) return 0;
    if (n) return power_grammar_choice(e->g, list, n);
    if (e->request->choice == POWER_TOOLS_NAMED)
        e->status = power_fail(e->error, POWER_NOT_FOUND, "no tool has the name \"%s\"",
                               power_quote(e->request->name.bytes, e->request->name.length).text);
    else
        e->status = power_fail(e->error, POWER_INVALID, "tools: there is none to call");
    return 0;
}

/* ---- all calls ---- */

/* `first`, then any number of `more` where the request allows it. */
static power_expr several(envelope *e, power_expr first, power_expr more) {
    if (!e->request->parallel) return first;
    const power_expr parts[] = {first, power_grammar_repeat(e->g, more, 0, UINT32_MAX)};
    return in_row(e, parts, 2);
}

static power_expr array_of(envelope *e, power_expr call) {
    const power_expr more[] = {answer_write(e, ","), room(e), call};
    const power_expr parts[] = {answer_write(e, "["), room(e), several(e, call, in_row(e, more, 3)),
                                room(e), answer_write(e, "]")};
    return in_row(e, parts, 5);
}

/* A call between its own marks. */
static power_expr marked(envelope *e, power_expr call) {
    const struct power_answer_calls *c = e->calls;
    bool spaced = c->shape == ANSWER_OBJECT;
    power_expr empty = power_grammar_empty(e->g);
    power_expr space = spaced ? answer_write(e, c->space) : empty;
    const power_expr parts[] = {c->flags & ANSWER_KEEP ? empty : answer_write(e, c->call_open),
                                space, call, answer_has(c->call_close) ? space : empty,
                                answer_write(e, c->call_close)};
    return in_row(e, parts, 5);
}

static power_expr python_calls(envelope *e, power_expr call) {
    const struct power_answer_calls *c = e->calls;
    bool list = c->flags & ANSWER_LIST_ONLY;
    const power_expr more[] = {answer_write(e, list ? ", " : "\n"), call};
    const power_expr parts[] = {answer_write(e, c->call_open), answer_write(e, list ? "[" : "\n"),
                                several(e, call, in_row(e, more, 2)),
                                answer_write(e, list ? "]" : "\n"), answer_write(e, c->call_close)};
    return in_row(e, parts, 5);
}

static power_expr in_section(envelope *e, power_expr call) {
    const struct power_answer_calls *c = e->calls;
    bool each = c->flags & ANSWER_EACH;
    power_expr space = answer_write(e, c->space);
    const power_expr next[] = {space, call};
    power_expr inner = each ? call : several(e, call, in_row(e, next, 2));
    const power_expr parts[] = {answer_write(e, c->section_open), space, inner, space,
                                answer_write(e, c->section_close)};
    power_expr section = in_row(e, parts, 5);
    const power_expr again[] = {space, section};
    return each ? several(e, section, in_row(e, again, 2)) : section;
}

/* The prompt ends with the mark of the first call. */
static power_expr by_recipient(envelope *e, power_expr call) {
    const power_expr more[] = {answer_write(e, e->calls->call_open), call};
    return several(e, call, in_row(e, more, 2));
}

static power_expr all_calls(envelope *e, power_expr call) {
    const struct power_answer_calls *c = e->calls;
    if (c->shape == ANSWER_PYTHON) return python_calls(e, call);
    if (c->flags & ANSWER_RECIPIENT) return by_recipient(e, call);
    if (c->shape == ANSWER_HARMONY) {
        const power_expr parts[] = {maybe(e, answer_write(e, "<|start|>assistant")), call};
        return in_row(e, parts, 2);
    }
    if (c->flags & ANSWER_ARRAY) return marked(e, array_of(e, call));
    power_expr one = marked(e, call);
    if (answer_has(c->section_open)) return in_section(e, one);
    const power_expr more[] = {answer_write(e, answer_has(c->space) ? c->space : ""), one};
    if (c->flags & ANSWER_KEEP) {
        const power_expr parted[] = {answer_write(e, "; "), one};
        return several(e, one, in_row(e, parted, 2));
    }
    return several(e, one, in_row(e, more, 2));
}

/* ---- or text ---- */

static power_expr plain_text(envelope *e) {
    const struct power_answer_calls *c = e->calls;
    const char *marks[12];
    size_t n = 0;
    const char *const all[] = {c->section_open, c->call_open, c->other_open};
    for (size_t i = 0; i < 3; i++) {
        if (answer_has(all[i])) marks[n++] = all[i];
    }
    for (size_t i = 0; i < 4; i++) {
        if (c->drop[i]) marks[n++] = c->drop[i];
    }
    if (c->shape == ANSWER_HARMONY) {
        static const char *const more[] = {"<|start|>", "<|end|>", "<|call|>", "<|return|>"};
        for (size_t i = 0; i < 4; i++)
            marks[n++] = more[i];
    }
    return answer_free_text(e, marks, n);
}

/* The text as the format frames it. */
static power_expr framed_text(envelope *e, power_expr text) {
    const struct power_answer_calls *c = e->calls;
    if (c->shape == ANSWER_HARMONY) {
        const power_expr parts[] = {maybe(e, answer_write(e, "<|start|>assistant")),
                                    answer_write(e, "<|channel|>final<|message|>"), text};
        return in_row(e, parts, 3);
    }
    if (c->flags & ANSWER_RECIPIENT) {
        const power_expr parts[] = {answer_write(e, "all\n"), text};
        return in_row(e, parts, 2);
    }
    if (!c->drop[1]) return text;
    const power_expr first[] = {answer_write(e, c->drop[0]), text, answer_write(e, c->drop[1])};
    power_expr choices[] = {text, in_row(e, first, 3), 0};
    if (c->drop[3]) {
        const power_expr second[] = {answer_write(e, c->drop[2]), text,
                                     answer_write(e, c->drop[3])};
        choices[2] = in_row(e, second, 3);
    }
    return power_grammar_choice(e->g, choices, c->drop[3] ? 3 : 2);
}

/* Free text, or calls, or calls after text. */
static power_expr or_text(envelope *e, power_expr calls) {
    const struct power_answer_calls *c = e->calls;
    power_expr text = plain_text(e);
    power_expr framed = framed_text(e, text);
    power_expr after = calls;
    if (c->flags & ANSWER_RECIPIENT) {
        const power_expr parts[] = {answer_write(e, c->call_open), calls};
        after = in_row(e, parts, 2);
    }
    const power_expr both[] = {framed, after};
    const power_expr choices[] = {framed, calls, in_row(e, both, 2)};
    /* Bare JSON is a call only at the answer's start, and a harmony message ends with a token that
     * ends the answer. */
    bool alone = (c->flags & ANSWER_AT_START) || c->shape == ANSWER_HARMONY;
    return power_grammar_choice(e->g, choices, alone ? 2 : 3);
}

power_status power_answer_envelope(struct power_grammar *g,
                                   const struct power_answer_format *format,
                                   const struct power_tool_request *request,
                                   const struct power_vocab *vocab, power_expr *out,
                                   power_error *error) {
    if (!format->calls)
        return power_fail(error, POWER_UNSUPPORTED,
                          "the model's chat template has no format of tool calls that is known");
    envelope e = {.g = g,
                  .calls = format->calls,
                  .request = request,
                  .vocab = vocab,
                  .error = error,
                  .status = POWER_OK};
    struct answer_tools tools;
    power_arena_init(&e.arena, power_grammar_space(g)->arena->allocator,
                     request->tools_json.length * 64 + 262144);
    e.status = answer_tools_read(&e.arena, request->tools_json, &tools, error);
    power_expr result = 0;
    if (e.status == POWER_OK) {
        power_expr call = any_call(&e, &tools);
        if (e.status == POWER_OK) result = all_calls(&e, call);
        if (e.status == POWER_OK && request->choice == POWER_TOOLS_AUTO)
            result = or_text(&e, result);
    }
    power_arena_finish(&e.arena);
    if (e.status == POWER_OK) *out = result;
    return e.status;
}
