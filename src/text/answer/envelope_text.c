/* SPDX-License-Identifier: MIT */
/* Job: parameters and texts that formats write without JSON around them.
 * Input: a tool's schema. Output: expressions of the caller's grammar.
 * Threads: one a grammar. Bounds: the grammar's limits; what a schema says that cannot be enforced
 * here is refused with its JSON pointer. */
#include <stdio.h>
#include <stdlib.h>

#include "text/answer/internal.h"
#include "text/json.h"

typedef struct answer_envelope envelope;

/* ---- what a schema says ---- */

static const char *const notes[] = {"description", "title",     "default", "examples",
                                    "$comment",    "$schema",   "$id",     "deprecated",
                                    "readOnly",    "writeOnly", "strict",  "additionalProperties",
                                    "nullable"};

static bool is_note(struct power_text key) {
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
        if (power_text_equal(key, power_text_of(notes[i]))) return true;
    }
    return false;
}

static struct power_text *place_of(struct answer_schema *s, struct power_text key) {
    const struct {
        const char *key;
        struct power_text *place;
    } known[] = {{"type", &s->type},           {"properties", &s->properties},
                 {"required", &s->required},   {"definitions", &s->definitions},
                 {"$defs", &s->defs},          {"pattern", &s->pattern},
                 {"format", &s->format},       {"enum", &s->values},
                 {"const", &s->only},          {"minLength", &s->min_length},
                 {"maxLength", &s->max_length}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (power_text_equal(key, power_text_of(known[i].key))) return known[i].place;
    }
    return NULL;
}

/* Where the value that comes next in the reader begins. */
static size_t value_start(const struct power_json *json) {
    size_t at = json->at;
    while (at < json->text.length &&
           (answer_is_space((unsigned char)json->text.bytes[at]) || json->text.bytes[at] == ':'))
        at++;
    return at;
}

/* Reads over the next value; its text. */
static bool take_value(struct power_json *json, struct power_text *out) {
    size_t start = value_start(json);
    if (!power_json_skip(json, power_json_next(json))) return false;
    *out = answer_trimmed((struct power_text){json->text.bytes + start, json->at - start});
    return true;
}

power_status answer_schema_read(struct power_arena *arena, struct power_text text,
                                struct answer_schema *out, power_error *error) {
    struct power_json json;
    power_status status = POWER_OK;
    *out = (struct answer_schema){0};
    power_json_init(&json, arena->allocator, text, "a schema", error);
    enum power_json_event event = power_json_next(&json);
    while (event == POWER_JSON_OBJECT && status == POWER_OK) {
        if (power_json_next(&json) != POWER_JSON_KEY) break;
        struct power_text *place = place_of(out, json.value), value;
        if (!place && !out->other.length && !is_note(json.value)) {
            out->other.bytes = power_arena_text(arena, json.value.bytes, json.value.length);
            out->other.length = json.value.length;
        }
        if (out->other.length && !out->other.bytes)
            status = power_fail_memory(error, out->other.length, "a schema");
        else if (!take_value(&json, &value))
            status = power_json_status(&json);
        else if (place)
            *place = value;
    }
    power_json_finish(&json);
    return status;
}

/* ---- texts ---- */

static const struct power_regular_space *space_of(envelope *e) {
    return power_grammar_space(e->g);
}

static bool good(envelope *e, power_status status, const power_error *error) {
    if (status == POWER_OK || e->status != POWER_OK) return e->status == POWER_OK;
    if (e->tool)
        (void)answer_fail_tool(e, status, error->message);
    else
        e->status = power_fail(e->error, status, "%s", error->message);
    return false;
}

/* A reader that failed in a text that was read before: memory is out. Always false. */
static bool failed(envelope *e, const struct power_json *json, const power_error *error) {
    (void)good(e, power_json_status(json), error);
    return false;
}

static bool no_memory(envelope *e) {
    power_error error;
    return good(e, power_fail_memory(&error, e->arena.used_bytes, "a schema"), &error);
}

/* Texts without the mark, out of `all`. */
static bool without(envelope *e, struct power_regular *all, struct power_text mark, bool at_start) {
    const struct power_regular_space *space = space_of(e);
    struct power_regular any, middle, bad;
    power_error error = {.offset = POWER_NO_OFFSET};
    power_status status = power_regular_length(space, 0, UINT32_MAX, &any, &error);
    if (status == POWER_OK) status = power_regular_literal(space, mark, &middle, &error);
    if (status == POWER_OK) status = power_regular_concat(space, &middle, &any, &bad, &error);
    if (status == POWER_OK && !at_start)
        status = power_regular_concat(space, &any, &bad, &bad, &error);
    if (status == POWER_OK && at_start) {
        struct power_regular blank;
        status = power_regular_parse(space, POWER_TEXT("[ \\t\\r\\n]*"), POWER_REGEX_WHOLE, &blank,
                                     &error);
        if (status == POWER_OK) status = power_regular_concat(space, &blank, &bad, &bad, &error);
    }
    if (status == POWER_OK) status = power_regular_subtract(space, all, &bad, all, &error);
    return good(e, status, &error);
}

power_expr answer_free_text(envelope *e, const char *const *marks, size_t n) {
    struct power_regular text;
    power_error error = {.offset = POWER_NO_OFFSET};
    e->tool = NULL;
    power_status status = power_regular_length(space_of(e), 0, UINT32_MAX, &text, &error);
    if (!good(e, status, &error)) return 0;
    for (size_t i = 0; i < n; i++) {
        struct power_text mark = power_text_of(marks[i]);
        if (!without(e, &text, mark, mark.length == 1)) return 0;
    }
    return power_grammar_regular(e->g, &text, POWER_AS_UTF8);
}

/* ---- one parameter ---- */

/* The end of a value in text: its closing mark. */
static const char *end_mark(const envelope *e) {
    return e->calls->shape == ANSWER_GEMMA ? e->calls->quote : e->calls->value_end;
}

static power_expr refuse(envelope *e, struct power_text key, const char *keyword) {
    char message[200];
    (void)snprintf(message, sizeof message,
                   "#/properties/%s/%s cannot be enforced in the format \"%s\"",
                   power_quote(key.bytes, key.length).text, keyword, e->calls->name);
    return answer_fail_tool(e, POWER_UNSUPPORTED, message);
}

/* A JSON string's text. */
static bool string_of(envelope *e, struct power_text json, struct power_text *out) {
    if (json.length < 2 || json.bytes[0] != '"') return false;
    char *bytes = power_arena_alloc(&e->arena, json.length, 1);
    struct power_text inside = {json.bytes + 1, json.length - 2};
    out->bytes = bytes;
    return (bytes || no_memory(e)) && answer_json_decode(inside, bytes, json.length, &out->length);
}

/* The strings of a list of JSON values, or of one value, as one language. Values of other types are
 * none of a string's. */
static bool values_language(envelope *e, struct power_text list, struct power_regular *out,
                            power_error *error) {
    struct power_json json;
    size_t n = 0; /* a string takes three bytes of the list, or two alone */
    struct power_regular *parts = power_arena_alloc(&e->arena, list.length / 3 + 1, sizeof *parts);
    if (!parts) return no_memory(e);
    power_json_init(&json, e->arena.allocator, list, "enum", error);
    enum power_json_event event = power_json_next(&json);
    bool array = event == POWER_JSON_ARRAY, ok = true;
    if (array) event = power_json_next(&json);
    while (ok && event != POWER_JSON_ARRAY_END && event != POWER_JSON_END) {
        if (event == POWER_JSON_STRING)
            ok = good(e, power_regular_literal(space_of(e), json.value, &parts[n++], error), error);
        else
            ok = power_json_skip(&json, event) || failed(e, &json, error);
        if (ok) event = power_json_next(&json);
    }
    power_json_finish(&json);
    return ok && n && good(e, power_regular_union(space_of(e), parts, n, out, error), error);
}

static bool length_of(struct power_text json, uint32_t missing, uint32_t *out) {
    char text[32];
    if (!json.length) {
        *out = missing;
        return true;
    }
    if (json.length >= sizeof text) return false;
    memcpy(text, json.bytes, json.length);
    text[json.length] = 0;
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    *out = (uint32_t)value;
    return !*end && value < UINT32_MAX && text[0] != '-';
}

/* Narrows the language by one keyword; false with e->status set. */
static bool narrow(envelope *e, struct power_regular *text, power_status status,
                   const struct power_regular *by, const power_error *error) {
    power_error own = {.offset = POWER_NO_OFFSET};
    if (!good(e, status, error)) return false;
    return good(e, power_regular_intersect(space_of(e), text, by, text, &own), &own);
}

static power_expr string_value(envelope *e, struct power_text key, const struct answer_schema *s) {
    const struct power_regular_space *space = space_of(e);
    struct power_regular text, by;
    struct power_text words;
    power_error error = {.offset = POWER_NO_OFFSET};
    uint32_t min, max;
    if (s->other.length) {
        char name[64];
        (void)snprintf(name, sizeof name, "%.*s", (int)s->other.length, s->other.bytes);
        return refuse(e, key, name);
    }
    if (!length_of(s->min_length, 0, &min)) return refuse(e, key, "minLength");
    if (!length_of(s->max_length, UINT32_MAX, &max)) return refuse(e, key, "maxLength");
    power_status status = power_regular_length(space, min, max, &text, &error);
    if (!good(e, status, &error)) return 0;
    struct power_text lists[] = {s->values, s->only};
    for (size_t i = 0; i < 2; i++) {
        if (!lists[i].length) continue;
        if (!values_language(e, lists[i], &by, &error)) return refuse(e, key, i ? "const" : "enum");
        if (!narrow(e, &text, POWER_OK, &by, &error)) return 0;
    }
    if (s->pattern.length) {
        if (!string_of(e, s->pattern, &words)) return refuse(e, key, "pattern");
        status = power_regular_parse(space, words, POWER_REGEX_SEARCH, &by, &error);
        if (!narrow(e, &text, status, &by, &error)) return 0;
    }
    if (s->format.length) {
        if (!string_of(e, s->format, &words)) return refuse(e, key, "format");
        status = power_regular_format(space, words, &by, &error);
        if (status == POWER_NOT_FOUND) return refuse(e, key, "format");
        if (!narrow(e, &text, status, &by, &error)) return 0;
    }
    if (!without(e, &text, power_text_of(end_mark(e)), false)) return 0;
    return power_grammar_regular(e->g, &text, POWER_AS_UTF8);
}

/* The schema of a parameter with the definitions that it may point into. */
static bool with_definitions(envelope *e, const struct answer_schema *root, struct power_text one,
                             struct power_text *out) {
    size_t n = one.length + root->defs.length + root->definitions.length + 64, at = 0;
    char *text = power_arena_alloc(&e->arena, n, 1);
    const char *rest = one.bytes + 1, *end = one.bytes + one.length;
    if (!text) return false;
    while (rest < end && answer_is_space((unsigned char)*rest))
        rest++;
    bool empty = *rest == '}';
    text[at++] = '{';
    if (root->defs.length)
        at += (size_t)snprintf(text + at, n - at, "\"$defs\":%.*s%s", (int)root->defs.length,
                               root->defs.bytes, empty && !root->definitions.length ? "" : ",");
    if (root->definitions.length)
        at += (size_t)snprintf(text + at, n - at, "\"definitions\":%.*s%s",
                               (int)root->definitions.length, root->definitions.bytes,
                               empty ? "" : ",");
    memcpy(text + at, rest, (size_t)(end - rest));
    *out = (struct power_text){text, at + (size_t)(end - rest)};
    return true;
}

static power_expr json_value(envelope *e, const struct answer_schema *root,
                             struct power_text schema) {
    power_error error = {.offset = POWER_NO_OFFSET};
    struct power_text text = schema;
    power_expr out = 0;
    if (schema.length && schema.bytes[0] == '{' && !with_definitions(e, root, schema, &text))
        return answer_fail_tool(e, POWER_NO_MEMORY, "no memory for its schema");
    power_status status = power_schema_compile(e->g, text, &e->request->schema, &out, &error);
    return status == POWER_OK ? out : answer_fail_tool(e, status, error.message);
}

/* ---- all parameters ---- */

struct parameter {
    struct power_text key;
    power_expr written;
    bool required;
};

static uint32_t types_of(const envelope *e, struct power_text key) {
    for (size_t i = 0; i < e->tool->count; i++) {
        if (power_text_equal(e->tool->list[i].key, key)) return e->tool->list[i].types;
    }
    return 0;
}

static bool key_fits(const envelope *e, struct power_text key) {
    bool word = e->calls->shape != ANSWER_XML;
    for (size_t i = 0; i < key.length; i++) {
        unsigned char c = (unsigned char)key.bytes[i];
        if (c < 0x20 || strchr("<>\"", c) || (word && strchr(" []{}()',=:", c))) return false;
    }
    return key.length && key.length < ANSWER_NAME;
}

static power_expr value_of(envelope *e, const struct answer_schema *root, struct power_text key,
                           struct power_text schema, bool *out_string) {
    struct answer_schema own;
    power_error error = {.offset = POWER_NO_OFFSET};
    bool python = e->calls->shape == ANSWER_PYTHON;
    *out_string = !python && types_of(e, key) == ANSWER_TYPE_STRING;
    if (!*out_string) return json_value(e, root, schema);
    if (!good(e, answer_schema_read(&e->arena, schema, &own, &error), &error)) return 0;
    return string_value(e, key, &own);
}

static power_expr written(envelope *e, const struct answer_schema *root, struct power_text key,
                          struct power_text schema) {
    const struct power_answer_calls *c = e->calls;
    bool string;
    if (!key_fits(e, key)) return refuse(e, key, "its name");
    power_expr value = value_of(e, root, key, schema, &string);
    power_expr empty = power_grammar_empty(e->g), name = answer_write_text(e, key);
    if (c->shape == ANSWER_PYTHON) {
        const power_expr parts[] = {name, answer_write(e, "="), value};
        return power_grammar_sequence(e->g, parts, 3);
    }
    if (c->shape == ANSWER_GEMMA) {
        power_expr quote = string ? answer_write(e, c->quote) : empty;
        const power_expr parts[] = {name, answer_write(e, ":"), quote, value, quote};
        return power_grammar_sequence(e->g, parts, 5);
    }
    power_expr line = c->flags & ANSWER_NEWLINES ? answer_write(e, "\n") : empty;
    bool other = (c->flags & ANSWER_TYPED) && !string;
    const power_expr parts[] = {answer_write(e, c->param_open),
                                name,
                                answer_write(e, c->key_end),
                                answer_write(e, other ? c->value_else : c->value_open),
                                line,
                                value,
                                line,
                                answer_write(e, c->value_end),
                                answer_write(e, c->space)};
    return power_grammar_sequence(e->g, parts, sizeof parts / sizeof parts[0]);
}

static bool is_required(envelope *e, struct power_text list, struct power_text key) {
    struct power_json json;
    power_error error = {.offset = POWER_NO_OFFSET};
    bool found = false;
    if (!list.length) return false;
    power_json_init(&json, e->arena.allocator, list, "required", &error);
    enum power_json_event event = power_json_next(&json);
    if (event == POWER_JSON_ARRAY) {
        while (!found && (event = power_json_next(&json)) == POWER_JSON_STRING)
            found = power_text_equal(json.value, key);
    }
    if (event == POWER_JSON_FAIL) (void)failed(e, &json, &error);
    power_json_finish(&json);
    return found;
}

/* In declared order; separators stand between those that are there. */
static power_expr in_order(envelope *e, const struct parameter *list, size_t n) {
    struct power_grammar *g = e->g;
    const struct power_answer_calls *c = e->calls;
    bool xml = c->shape == ANSWER_XML;
    power_expr comma = answer_write(e, xml ? "" : c->shape == ANSWER_GEMMA ? "," : ", ");
    power_expr first = power_grammar_empty(g), rest = first;
    for (size_t i = n; i-- > 0;) {
        const power_expr with_comma[] = {comma, list[i].written, rest};
        const power_expr alone[] = {list[i].written, rest};
        power_expr next = power_grammar_sequence(g, with_comma, 3);
        power_expr begin = power_grammar_sequence(g, alone, 2);
        if (!list[i].required) {
            const power_expr or_rest[] = {next, rest}, or_first[] = {begin, first};
            next = power_grammar_choice(g, or_rest, 2);
            begin = power_grammar_choice(g, or_first, 2);
        }
        rest = next;
        first = begin;
    }
    return first;
}

/* One read of `properties`: every parameter as it is written. */
static size_t read_parameters(envelope *e, const struct answer_schema *root,
                              struct parameter *list) {
    struct power_json json;
    size_t n = 0;
    power_error error = {.offset = POWER_NO_OFFSET};
    power_json_init(&json, e->arena.allocator, root->properties, "properties", &error);
    enum power_json_event event = power_json_next(&json);
    bool more = event == POWER_JSON_OBJECT;
    while (more && e->status == POWER_OK && n < e->tool->count) {
        if ((event = power_json_next(&json)) != POWER_JSON_KEY) break;
        struct power_text key = {power_arena_text(&e->arena, json.value.bytes, json.value.length),
                                 json.value.length};
        struct power_text schema;
        if (!key.bytes && !no_memory(e)) break;
        if (!take_value(&json, &schema) && !failed(e, &json, &error)) break;
        list[n++] = (struct parameter){key, written(e, root, key, schema),
                                       is_required(e, root->required, key)};
    }
    if (event == POWER_JSON_FAIL && root->properties.length) (void)failed(e, &json, &error);
    power_json_finish(&json);
    return n;
}

/* Every required name has to be a property: nothing else can be written. */
static bool all_required(envelope *e, const struct answer_schema *root) {
    struct power_json json;
    power_error error = {.offset = POWER_NO_OFFSET};
    bool ok = true;
    if (!root->required.length) return true;
    power_json_init(&json, e->arena.allocator, root->required, "required", &error);
    enum power_json_event event = power_json_next(&json);
    bool array = event == POWER_JSON_ARRAY;
    while (array && ok && (event = power_json_next(&json)) == POWER_JSON_STRING) {
        bool found = false;
        for (size_t i = 0; i < e->tool->count; i++)
            found = found || power_text_equal(e->tool->list[i].key, json.value);
        ok = found;
    }
    if (event == POWER_JSON_FAIL) ok = failed(e, &json, &error);
    power_json_finish(&json);
    return ok;
}

power_expr answer_parameters(envelope *e) {
    struct answer_schema root;
    power_error error = {.offset = POWER_NO_OFFSET};
    if (!e->tool->parameters.length) return power_grammar_empty(e->g);
    power_status status = answer_schema_read(&e->arena, e->tool->parameters, &root, &error);
    if (!good(e, status, &error)) return 0;
    if (root.type.length && !power_text_equal(root.type, POWER_TEXT("\"object\"")))
        return answer_fail_tool(e, POWER_UNSUPPORTED,
                                "the type of its parameters (#/type) is not \"object\"");
    if (root.other.length || root.values.length || root.only.length) {
        char message[160];
        struct power_text key = root.other.length    ? root.other
                                : root.values.length ? POWER_TEXT("enum")
                                                     : POWER_TEXT("const");
        (void)snprintf(message, sizeof message, "#/%s cannot be enforced in the format \"%s\"",
                       power_quote(key.bytes, key.length).text, e->calls->name);
        return answer_fail_tool(e, POWER_UNSUPPORTED, message);
    }
    if (!all_required(e, &root))
        return answer_fail_tool(e, POWER_UNSUPPORTED, "#/required names what is no property");
    struct parameter *list = power_arena_alloc(&e->arena, e->tool->count + 1, sizeof *list);
    if (!list) return answer_fail_tool(e, POWER_NO_MEMORY, "no memory for its parameters");
    size_t n = read_parameters(e, &root, list);
    return e->status == POWER_OK ? in_order(e, list, n) : 0;
}
