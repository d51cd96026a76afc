/* SPDX-License-Identifier: MIT */
/* Job: the tools of a request: names, schemas, and the types of parameters.
 * Input: OpenAI's `tools` as JSON, untrusted. Output: a list in the caller's arena.
 * Threads: any. Bounds: the arena's maximum; nesting as text/json.h says. */
#include "text/answer/internal.h"

#include "text/json.h"

enum { MAX_TOOLS = 4096, MAX_PARAMETERS = 4096 };

struct reading {
    struct power_arena *arena;
    struct power_json json;
    power_error *error;
    size_t number; /* of the tool at hand */
};

static power_status broken(struct reading *r, const char *what) {
    return power_fail(r->error, POWER_INVALID, "tools[%zu]: %s", r->number, what);
}

static power_status no_memory(struct reading *r) {
    return power_fail_memory(r->error, r->arena->used_bytes, "the tools");
}

static bool skip(struct reading *r) {
    return power_json_skip(&r->json, power_json_next(&r->json));
}

static bool key_is(const struct reading *r, const char *name) {
    return power_text_equal(r->json.value, power_text_of(name));
}

static uint32_t type_named(struct power_text name) {
    if (power_text_equal(name, POWER_TEXT("string"))) return ANSWER_TYPE_STRING;
    if (power_text_equal(name, POWER_TEXT("boolean"))) return ANSWER_TYPE_BOOLEAN;
    if (power_text_equal(name, POWER_TEXT("null"))) return ANSWER_TYPE_NULL;
    return ANSWER_TYPE_OTHER;
}

static uint32_t type_of_event(enum power_json_event event) {
    if (event == POWER_JSON_STRING) return ANSWER_TYPE_STRING;
    if (event == POWER_JSON_TRUE || event == POWER_JSON_FALSE) return ANSWER_TYPE_BOOLEAN;
    return event == POWER_JSON_NULL ? ANSWER_TYPE_NULL : ANSWER_TYPE_OTHER;
}

/* A name of a type or a list of them. */
static bool read_type(struct reading *r, uint32_t *types) {
    enum power_json_event event = power_json_next(&r->json);
    if (event == POWER_JSON_STRING) {
        *types |= type_named(r->json.value);
        return true;
    }
    if (event != POWER_JSON_ARRAY) return power_json_skip(&r->json, event);
    while ((event = power_json_next(&r->json)) != POWER_JSON_ARRAY_END) {
        if (event == POWER_JSON_STRING)
            *types |= type_named(r->json.value);
        else if (!power_json_skip(&r->json, event))
            return false;
    }
    return true;
}

/* The types of the values of `enum`, or of `const`. */
static bool read_values(struct reading *r, bool list, uint32_t *types) {
    enum power_json_event event = power_json_next(&r->json);
    if (!list || event != POWER_JSON_ARRAY) {
        *types |= type_of_event(event);
        return power_json_skip(&r->json, event);
    }
    while ((event = power_json_next(&r->json)) != POWER_JSON_ARRAY_END) {
        if (event == POWER_JSON_FAIL) return false;
        *types |= type_of_event(event);
        if (!power_json_skip(&r->json, event)) return false;
    }
    return true;
}

/* The types that a schema allows, as far as it says so plainly: `type` before `enum` and `const`
 * before the `type`s in anyOf and oneOf. */
static bool read_types(struct reading *r, enum power_json_event event, uint32_t *out, int level);

static bool read_choices(struct reading *r, uint32_t *types, int level) {
    enum power_json_event event = power_json_next(&r->json);
    if (event != POWER_JSON_ARRAY) return power_json_skip(&r->json, event);
    bool plain = true;
    uint32_t all = 0;
    while ((event = power_json_next(&r->json)) != POWER_JSON_ARRAY_END) {
        uint32_t one = 0;
        if (event == POWER_JSON_FAIL || !read_types(r, event, &one, level + 1)) return false;
        plain = plain && one;
        all |= one;
    }
    if (plain) *types |= all;
    return true;
}

static bool read_types(struct reading *r, enum power_json_event event, uint32_t *out, int level) {
    uint32_t type = 0, values = 0, choices = 0;
    if (event != POWER_JSON_OBJECT || level > 1) return power_json_skip(&r->json, event);
    while ((event = power_json_next(&r->json)) == POWER_JSON_KEY) {
        bool ok;
        if (key_is(r, "type"))
            ok = read_type(r, &type);
        else if (key_is(r, "enum") || key_is(r, "const"))
            ok = read_values(r, key_is(r, "enum"), &values);
        else if (key_is(r, "anyOf") || key_is(r, "oneOf"))
            ok = read_choices(r, &choices, level);
        else
            ok = skip(r);
        if (!ok) return false;
    }
    *out = type ? type : values ? values : choices;
    return event == POWER_JSON_OBJECT_END;
}

static power_status read_properties(struct reading *r, struct answer_tool *tool) {
    struct answer_parameter list[64], *all = NULL;
    size_t count = 0, capacity = 64;
    enum power_json_event event = power_json_next(&r->json);
    if (event != POWER_JSON_OBJECT)
        return power_json_skip(&r->json, event) ? POWER_OK : power_json_status(&r->json);
    all = list;
    while ((event = power_json_next(&r->json)) == POWER_JSON_KEY) {
        if (count == MAX_PARAMETERS) return broken(r, "more than 4096 parameters");
        if (count == capacity) {
            struct answer_parameter *more = power_arena_alloc(r->arena, capacity * 2, sizeof *more);
            if (!more) return no_memory(r);
            memcpy(more, all, count * sizeof *more);
            all = more;
            capacity *= 2;
        }
        struct answer_parameter *one = &all[count++];
        *one = (struct answer_parameter){0};
        one->key.bytes = power_arena_text(r->arena, r->json.value.bytes, r->json.value.length);
        one->key.length = r->json.value.length;
        if (!one->key.bytes) return no_memory(r);
        if (!read_types(r, power_json_next(&r->json), &one->types, 0))
            return power_json_status(&r->json);
    }
    if (event != POWER_JSON_OBJECT_END) return power_json_status(&r->json);
    tool->list = power_arena_alloc(r->arena, count ? count : 1, sizeof *all);
    if (!tool->list) return no_memory(r);
    memcpy(tool->list, all, count * sizeof *all);
    tool->count = count;
    return POWER_OK;
}

static power_status read_parameters(struct reading *r, struct answer_tool *tool) {
    enum power_json_event event = power_json_next(&r->json);
    if (event == POWER_JSON_NULL) return POWER_OK;
    if (event != POWER_JSON_OBJECT) return broken(r, "\"parameters\" is no object");
    size_t start = r->json.at - 1;
    while ((event = power_json_next(&r->json)) == POWER_JSON_KEY) {
        power_status status = POWER_OK;
        if (key_is(r, "properties"))
            status = read_properties(r, tool);
        else if (!skip(r))
            status = power_json_status(&r->json);
        if (status != POWER_OK) return status;
    }
    if (event != POWER_JSON_OBJECT_END) return power_json_status(&r->json);
    tool->parameters = (struct power_text){r->json.text.bytes + start, r->json.at - start};
    return POWER_OK;
}

static power_status read_name(struct reading *r, struct answer_tool *tool) {
    if (power_json_next(&r->json) != POWER_JSON_STRING) return broken(r, "\"name\" is no string");
    if (tool->name.bytes) return broken(r, "\"name\" twice");
    struct power_text name = r->json.value;
    tool->name.bytes = power_arena_text(r->arena, name.bytes, name.length);
    tool->name.length = name.length;
    return tool->name.bytes ? POWER_OK : no_memory(r);
}

/* After the brace of the function, or of the tool around it (level 0). */
static power_status read_function(struct reading *r, struct answer_tool *tool, int level) {
    enum power_json_event event;
    while ((event = power_json_next(&r->json)) == POWER_JSON_KEY) {
        power_status status = POWER_OK;
        if (key_is(r, "name")) {
            status = read_name(r, tool);
        } else if (key_is(r, "parameters")) {
            status = read_parameters(r, tool);
        } else if (level == 0 && key_is(r, "function")) {
            if (power_json_next(&r->json) != POWER_JSON_OBJECT)
                return broken(r, "\"function\" is no object");
            status = read_function(r, tool, 1);
        } else if (level == 0 && key_is(r, "type")) {
            if (power_json_next(&r->json) != POWER_JSON_STRING || !key_is(r, "function"))
                return broken(r, "\"type\" is not \"function\"");
        } else if (!skip(r)) {
            status = power_json_status(&r->json);
        }
        if (status != POWER_OK) return status;
    }
    return event == POWER_JSON_OBJECT_END ? POWER_OK : power_json_status(&r->json);
}

static power_status check_name(struct reading *r, const struct answer_tools *tools,
                               const struct answer_tool *tool) {
    if (!tool->name.length) return broken(r, "no name");
    if (tool->name.length >= ANSWER_NAME) return broken(r, "a name of more than 255 bytes");
    for (size_t i = 0; i < tool->name.length; i++) {
        unsigned char c = (unsigned char)tool->name.bytes[i];
        if (c <= ' ' || c == 0x7F || strchr("<>[]{}()\"'`,;=\\", c))
            return power_fail(r->error, POWER_INVALID,
                              "tools[%zu]: a name may not hold white space or <>[]{}()\"'`,;=\\",
                              r->number);
    }
    for (size_t i = 0; i + 1 < tools->count; i++) {
        if (power_text_equal(tools->list[i].name, tool->name))
            return power_fail(r->error, POWER_INVALID, "tools[%zu]: the name \"%s\" twice",
                              r->number, power_quote(tool->name.bytes, tool->name.length).text);
    }
    return POWER_OK;
}

static power_status read_tools(struct reading *r, struct answer_tools *out) {
    enum power_json_event event = power_json_next(&r->json);
    size_t capacity = 0;
    if (event == POWER_JSON_FAIL) return power_json_status(&r->json);
    if (event != POWER_JSON_ARRAY) return power_fail(r->error, POWER_INVALID, "tools: no array");
    while ((event = power_json_next(&r->json)) != POWER_JSON_ARRAY_END) {
        r->number = out->count;
        if (event == POWER_JSON_FAIL) return power_json_status(&r->json);
        if (event != POWER_JSON_OBJECT) return broken(r, "no object");
        if (out->count == MAX_TOOLS) return broken(r, "more than 4096 tools");
        if (out->count == capacity) {
            capacity = capacity ? capacity * 2 : 8;
            struct answer_tool *more = power_arena_alloc(r->arena, capacity, sizeof *more);
            if (!more) return no_memory(r);
            if (out->count) memcpy(more, out->list, out->count * sizeof *more);
            out->list = more;
        }
        struct answer_tool *tool = &out->list[out->count++];
        power_status status = read_function(r, tool, 0);
        if (status == POWER_OK) status = check_name(r, out, tool);
        if (status != POWER_OK) return status;
    }
    return power_json_next(&r->json) == POWER_JSON_END ? POWER_OK : power_json_status(&r->json);
}

power_status answer_tools_read(struct power_arena *arena, struct power_text json,
                               struct answer_tools *out, power_error *error) {
    struct reading r = {.arena = arena, .error = error};
    *out = (struct answer_tools){0};
    power_json_init(&r.json, arena->allocator, json, "tools", error);
    power_status status = read_tools(&r, out);
    power_json_finish(&r.json);
    if (status == POWER_CORRUPT && error) error->status = status = POWER_INVALID;
    if (status == POWER_CORRUPT) status = POWER_INVALID;
    return status;
}
