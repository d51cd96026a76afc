/* SPDX-License-Identifier: MIT */
/* JSON Schema (draft 2020-12 and draft-07) to a grammar: every keyword is enforced exactly, or the
 * schema is refused with the keyword and its JSON pointer.
 * Input: untrusted text. Output: an expression of the grammar given.
 * Threads: one a grammar. Bounds: schema.h's; the stack is bounded by SCHEMA_MAX_DEPTH.
 *
 * Spacing (POWER_WHITESPACE_BOUNDED): after `[` and `{`, after a comma and before `]` and `}`:
 * nothing, one space, or one newline with up to 64 spaces or 16 tabs; after a colon: nothing or one
 * space; nowhere else any. So compact texts, Python's standard spacing and indented texts are in,
 * blank lines and trailing spaces are not. Nothing stands around the whole.
 *
 * Strings are spelt in every way that JSON has; keys in one (the shortest). No key stands twice.
 * `format` is always enforced, unless it excludes no value. $ref stays inside the document.
 * Draft-07 is what "$schema" says, or else 2020-12. */
#include "text/constraint/schema.h"

enum { DEFAULT_DEPTH = 16, MOST_DEPTH = 256 };

static bool read_dialect(struct schema *s) {
    uint32_t at = power_schema_get(s, 0, "$schema");
    if (at == SCHEMA_NONE) return true;
    if (s->values[at].type != SCHEMA_STRING)
        return power_schema_fail(s, POWER_INVALID, at, "must be a string");
    static const struct {
        const char *uri;
        bool draft7;
    } known[] = {{"https://json-schema.org/draft/2020-12/schema", false},
                 {"http://json-schema.org/draft-07/schema", true}};
    struct power_text text = s->values[at].text;
    if (text.length > 0 && text.bytes[text.length - 1] == '#') text.length--;
    for (size_t i = 0; i < 2; i++) {
        if (!power_text_equal(text, power_text_of(known[i].uri))) continue;
        s->draft7 = known[i].draft7;
        return true;
    }
    return power_schema_fail(s, POWER_UNSUPPORTED, at, "is neither draft 2020-12 nor draft-07");
}

static bool make_constants(struct schema *s) {
    struct power_regular *nothing = power_schema_alloc(s, 1, sizeof *nothing);
    struct power_regular *all = power_schema_alloc(s, 1, sizeof *all);
    struct schema_form *any = power_schema_new(s, NULL), *never = power_schema_new(s, NULL);
    struct schema_class *keys = power_schema_alloc(s, 1, sizeof *keys);
    power_error why = {0};
    if (!nothing || !all || !any || !never || !keys) return false;
    s->no_text = nothing;
    s->all_texts = all;
    power_status status = power_regular_length(&s->space, 0, UINT32_MAX, all, &why);
    if (!power_schema_check(s, status, 0, &why) || !power_schema_number_sets(s)) return false;
    *keys = (struct schema_class){all, NODE_ANY};
    const struct schema_array array = {.rest = NODE_ANY, .max = SCHEMA_MANY};
    const struct schema_object object = {.classes = keys, .n_classes = 1, .max = SCHEMA_MANY};
    any->null = any->no = any->yes = true;
    any->numbers = (struct schema_numbers){s->all_numbers, nothing};
    any->strings = (struct schema_strings){NULL, 0, SCHEMA_MANY};
    never->numbers = (struct schema_numbers){nothing, s->all_numbers};
    never->strings = (struct schema_strings){nothing, 0, SCHEMA_MANY};
    s->any = any;
    s->never = never;
    return power_schema_add_array(s, any, &array) && power_schema_add_object(s, any, &object);
}

static bool compile(struct schema *s, struct power_text json, power_expr *out) {
    if (!power_schema_read(s, json) || !read_dialect(s) || !power_schema_collect(s) ||
        !make_constants(s))
        return false;
    /* A first node sets the list up, whatever the root is. */
    if (!power_schema_value_node(s, 0)) return false;
    uint32_t root = power_schema_node(s, 0);
    return root && power_schema_live(s, root) && power_schema_emit(s, root, out);
}

static void release(struct schema *s) {
    const power_allocator *a = s->allocator;
    power_index_destroy(s->keys);
    power_index_destroy(s->targets);
    power_index_destroy(s->dynamic);
    power_release(a, s->values, s->max_values, sizeof *s->values);
    power_release(a, s->key_texts, s->max_keys, sizeof *s->key_texts);
    power_release(a, s->key_marks, s->max_keys, sizeof *s->key_marks);
    power_release(a, s->dynamic_twice, s->max_keys, sizeof *s->dynamic_twice);
    power_release(a, s->resources, s->max_resources, sizeof *s->resources);
    power_release(a, s->nodes, s->max_nodes, sizeof *s->nodes);
    power_release(a, s->slots, s->n_slots, sizeof *s->slots);
    power_release(a, s->order, s->max_order, sizeof *s->order);
    power_arena_finish(&s->arena);
}

power_status power_schema_compile(struct power_grammar *g, struct power_text schema_json,
                                  const struct power_schema_options *options, power_expr *out,
                                  power_error *error) {
    const struct power_regular_space *space = power_grammar_space(g);
    struct schema s = {.allocator = space->arena->allocator, .grammar = g, .error = error};
    if (options) s.options = *options;
    if (s.options.any_depth == 0) s.options.any_depth = DEFAULT_DEPTH;
    if (s.options.any_depth > MOST_DEPTH)
        return power_fail(error, POWER_LIMIT, "depth %u of free values is over the limit of %d",
                          s.options.any_depth, MOST_DEPTH);
    power_arena_init(&s.arena, s.allocator, SCHEMA_ARENA_BYTES);
    s.space = (struct power_regular_space){&s.arena, space->max_states};
    power_expr made = 0;
    bool done = compile(&s, schema_json, &made);
    release(&s);
    if (!done) return s.status;
    *out = made;
    return POWER_OK;
}
