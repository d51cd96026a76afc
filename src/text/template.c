/* SPDX-License-Identifier: MIT */
/* Job: templates as an object: compiled once, rendered with variables.
 * Input: template text; variables as JSON. Output: text.
 * Threads: compiling one, rendering any. Bounds: the limits of the call; values take at most
 * sixteen times the output's limit and 64 MiB. */
#define POWER_JINJA_BODIES
#include <stdarg.h>
#include <stdio.h>

#include "base/hash.h"
#include "text/template_internal.h"

#define DEFAULT_STEPS 10000000u
#define DEFAULT_OUTPUT ((size_t)16 << 20)
#define DEFAULT_DEPTH 200u
#define LEVELS_A_DEPTH 10u /* evaluations that one nested statement or call may stack up */

bool power_jinja_raise(struct jinja_render *r, power_status status, const char *format, ...) {
    char text[200];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (r->status != POWER_OK) return false; /* the first fault counts */
    r->status = r->at ? power_fail(r->error, status, "template line %u, column %u: %s", r->at->line,
                                   r->at->column, text)
                      : power_fail(r->error, status, "template: %s", text);
    return false;
}

bool power_jinja_no_memory(struct jinja_render *r) {
    if (r->arena.used_bytes > r->arena.max_bytes / 2)
        return power_jinja_raise(r, POWER_LIMIT, "values take more than %zu bytes",
                                 r->arena.max_bytes);
    return power_jinja_raise(r, POWER_NO_MEMORY, "out of memory");
}

bool power_jinja_steps(struct jinja_render *r, uint64_t n) {
    if (n <= r->steps_left) {
        r->steps_left -= n;
        return true;
    }
    return power_jinja_raise(r, POWER_LIMIT, "too many steps");
}

bool power_jinja_walk_steps(struct jinja_render *r, struct jinja_value v) {
    return v.type != JINJA_TEXT || power_jinja_steps(r, v.length / 16);
}

bool power_jinja_enter(struct jinja_render *r) {
    if (r->depth >= r->max_depth) return power_jinja_raise(r, POWER_LIMIT, "nesting is too deep");
    r->depth++;
    return true;
}

void power_jinja_leave(struct jinja_render *r) {
    r->depth--;
}

power_status power_template_compile(const power_allocator *allocator, struct power_text text,
                                    struct power_template **out, power_error *error) {
    struct power_template *t = power_alloc(allocator, 1, sizeof *t);
    if (!t) return power_fail_memory(error, sizeof *t, "template");
    t->allocator = allocator;
    /* a token and a node or two a byte is more than any template has */
    power_arena_init(&t->arena, allocator,
                     text.length < SIZE_MAX / 2048 ? text.length * 1024 + ((size_t)1 << 20)
                                                   : SIZE_MAX);
    struct jinja_compiler c = {.arena = &t->arena, .error = error};
    c.status = power_hash_key(t->hash_key, error);
    if (c.status == POWER_OK && power_jinja_lex(&c, text)) t->body = power_jinja_parse(&c);
    if (t->body) (void)power_jinja_scopes(&c, t->body, &t->hidden);
    if (c.status != POWER_OK) {
        power_template_destroy(t);
        return c.status;
    }
    *out = t;
    return POWER_OK;
}

void power_template_destroy(struct power_template *t) {
    if (!t) return;
    power_arena_finish(&t->arena);
    power_release(t->allocator, t, 1, sizeof *t);
}

/* ---- rendering ---- */

static void begin(struct jinja_render *r, const struct power_template *t,
                  const struct power_template_input *input,
                  const struct power_template_limits *limits) {
    r->now_unix_s = input->now_unix_s;
    r->template_arena = &t->arena;
    r->hash_key = t->hash_key;
    r->steps_left = limits->max_steps ? limits->max_steps : DEFAULT_STEPS;
    r->max_output_bytes = limits->max_output_bytes ? limits->max_output_bytes : DEFAULT_OUTPUT;
    uint32_t depth = limits->max_depth ? limits->max_depth : DEFAULT_DEPTH;
    r->max_depth = (depth < 1000 ? depth : 1000) * LEVELS_A_DEPTH;
    size_t room = r->max_output_bytes < SIZE_MAX / 32 ? r->max_output_bytes * 16 : SIZE_MAX / 2;
    power_arena_init(&r->arena, t->allocator,
                     room + ((size_t)64 << 20) +
                         (input->variables.length + input->messages.length + input->tools.length) *
                             16);
}

power_status power_template_run(const struct power_template *t,
                                const struct power_template_input *input,
                                const struct power_template_limits *limits,
                                struct power_buffer *out, struct power_buffer *out_plain,
                                power_error *error) {
    static const struct power_template_limits defaults = {0};
    struct jinja_render r = {.error = error, .keeps_origins = out_plain != NULL};
    struct jinja_frame base = {0};
    struct jinja_buffer text;
    begin(&r, t, input, limits ? limits : &defaults);
    power_jinja_scratch(&r, &text);
    r.out = &text;
    r.frame = &base;
    bool ok = power_template_variables(&r, input) && power_jinja_hide(&r, t->hidden) &&
              power_jinja_exec(&r, t->body);
    size_t length = text.text.length;
    if (ok && input->chat && input->continue_final_message)
        ok = power_template_cut(&r, (struct power_text){text.text.bytes, length}, &length);
    if (!ok) (void)power_jinja_raise(&r, POWER_INVALID, "not a value that fits here");
    if (ok && length && out_plain &&
        (!power_buffer_reserve(out, length) ||
         !power_buffer_append(out_plain, text.origins.bytes, length)))
        ok = false;
    if (ok && length) ok = power_buffer_append(out, text.text.bytes, length);
    if (!ok && r.status == POWER_OK) r.status = power_fail_memory(error, length, "template output");
    power_jinja_drop(&text);
    power_arena_finish(&r.arena);
    return r.status;
}

power_status power_template_render(const struct power_template *t, struct power_text variables_json,
                                   int64_t now_unix_s, const struct power_template_limits *limits,
                                   struct power_buffer *out, power_error *error) {
    struct power_template_input input = {.variables = variables_json, .now_unix_s = now_unix_s};
    return power_template_run(t, &input, limits, out, NULL, error);
}
