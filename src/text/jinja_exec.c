/* SPDX-License-Identifier: MIT */
/* Job: run the statements of a template: output, scopes, loops, macros.
 * Input: syntax trees. Output: text in the rendering's buffer.
 * Threads: one per rendering. Bounds: each node takes a step; bodies, macros and recursive loops
 * take a level of nesting. Scopes as in Jinja2: each turn of a loop, a macro, a `with` and a block
 * has its own; `if` has none. What is set inside is gone after; a namespace keeps what is set on
 * it. */
#include "text/jinja.h"

/* ---- scopes ---- */

static struct jinja_frame *push_frame(struct jinja_render *r, struct jinja_frame *parent) {
    struct jinja_frame *frame = power_arena_alloc(&r->arena, 1, sizeof *frame);
    if (!frame) {
        (void)power_jinja_no_memory(r);
        return NULL;
    }
    frame->parent = parent;
    return frame;
}

static bool bind(struct jinja_render *r, struct jinja_frame *frame, struct power_text name,
                 struct jinja_value v) {
    for (uint32_t i = 0; i < frame->count; i++) {
        if (!power_text_equal(frame->bindings[i].name, name)) continue;
        frame->bindings[i].value = v;
        frame->bindings[i].hidden = false;
        return true;
    }
    if (frame->count == frame->capacity) {
        uint32_t capacity = frame->capacity ? frame->capacity * 2 : 4;
        struct jinja_binding *bindings = power_arena_alloc(&r->arena, capacity, sizeof *bindings);
        if (!bindings) return power_jinja_no_memory(r);
        if (frame->count) memcpy(bindings, frame->bindings, frame->count * sizeof *bindings);
        frame->bindings = bindings;
        frame->capacity = capacity;
    }
    frame->bindings[frame->count++] = (struct jinja_binding){name, v, false};
    return true;
}

const struct jinja_value *power_jinja_lookup(const struct jinja_render *r, struct power_text name) {
    bool outside = false; /* of a block */
    for (const struct jinja_frame *frame = r->frame; frame; frame = frame->parent) {
        for (uint32_t i = 0; i < frame->count; i++) {
            const struct jinja_binding *binding = &frame->bindings[i];
            if (!power_text_equal(binding->name, name)) continue;
            if (!(outside && binding->hidden)) return &binding->value;
        }
        outside = outside || frame->block;
    }
    return power_jinja_dict_find(r->context, name);
}

/* Names that begin undefined in the scope just opened. */
bool power_jinja_hide(struct jinja_render *r, const struct jinja_node *hidden) {
    for (; hidden; hidden = hidden->next) {
        struct jinja_value v;
        if (!power_jinja_undefined(r, hidden->text, NULL, false, &v) ||
            !bind(r, r->frame, hidden->text, v))
            return false;
        r->frame->bindings[r->frame->count - 1].hidden = true;
    }
    return true;
}

/* ---- assignment ---- */

static bool assign(struct jinja_render *r, const struct jinja_node *target, struct jinja_value v);

static bool unpack(struct jinja_render *r, const struct jinja_node *target, struct jinja_value v) {
    struct jinja_list *list;
    if (v.type == JINJA_UNDEFINED) return power_jinja_raise_undefined(r, v);
    if (!power_jinja_iterate(r, v, &list)) return false;
    size_t want = 0;
    for (const struct jinja_node *n = target->list; n; n = n->next)
        want++;
    if (want != list->count)
        return power_jinja_raise(r, POWER_INVALID,
                                 list->count > want
                                     ? "too many values to unpack (expected %zu, got %zu)"
                                     : "not enough values to unpack (expected %zu, got %zu)",
                                 want, list->count);
    size_t i = 0;
    for (const struct jinja_node *n = target->list; n; n = n->next) {
        if (!assign(r, n, list->items[i++])) return false;
    }
    return true;
}

static bool assign(struct jinja_render *r, const struct jinja_node *target, struct jinja_value v) {
    if (target->kind == NODE_NAME) return bind(r, r->frame, target->text, v);
    if (target->kind == NODE_TUPLE) return unpack(r, target, v);
    const struct jinja_value *owner = power_jinja_lookup(r, target->text2);
    if (!owner || owner->type != JINJA_OBJECT || owner->as.object->kind != JINJA_NAMESPACE) {
        r->at = target;
        return power_jinja_raise(r, POWER_INVALID,
                                 "cannot assign attribute on non-namespace object \"%s\"",
                                 power_quote(target->text2.bytes, target->text2.length).text);
    }
    return power_jinja_dict_set(r, owner->as.object->dict, power_jinja_borrow(target->text), v);
}

/* ---- captured output ---- */

static bool capture(struct jinja_render *r, const struct jinja_node *list,
                    struct jinja_value *out) {
    struct jinja_buffer buffer, *outer = r->out;
    power_jinja_scratch(r, &buffer);
    r->out = &buffer;
    bool ok = power_jinja_exec(r, list);
    r->out = outer;
    return power_jinja_finish_text(r, &buffer, ok, out);
}

/* The filters of a filter block, innermost first. */
static bool apply_filters(struct jinja_render *r, const struct jinja_node *filter,
                          struct jinja_value input, struct jinja_value *out) {
    struct jinja_args args;
    if (filter->a && !apply_filters(r, filter->a, input, &input)) return false;
    if (!power_jinja_args(r, filter->list, &input, &args)) return false;
    r->at = filter;
    return power_jinja_filter(r, filter->id, &args, out);
}

/* What a filter block or a call block makes is joined to the output, and must be text. */
static bool put_only_text(struct jinja_render *r, struct jinja_value v) {
    if (v.type == JINJA_TEXT) return power_jinja_put(r, r->out, power_jinja_text(v));
    return power_jinja_raise(r, POWER_INVALID, "expected str instance, %s found",
                             power_jinja_type_name(v));
}

static bool exec_filter_block(struct jinja_render *r, const struct jinja_node *node) {
    struct jinja_value text;
    struct jinja_frame *outer = r->frame;
    if (!(r->frame = push_frame(r, outer))) return false;
    bool ok = power_jinja_hide(r, node->hidden) && capture(r, node->list, &text) &&
              apply_filters(r, node->b, text, &text);
    r->frame = outer;
    return ok && put_only_text(r, text);
}

static bool exec_set_block(struct jinja_render *r, const struct jinja_node *node) {
    struct jinja_value text;
    struct jinja_frame *outer = r->frame;
    if (!(r->frame = push_frame(r, outer))) return false;
    bool ok = power_jinja_hide(r, node->hidden) && capture(r, node->list, &text) &&
              (!node->b || apply_filters(r, node->b, text, &text));
    r->frame = outer;
    return ok && assign(r, node->a, text);
}

/* ---- loops ---- */

/* The items that pass the loop's condition, which sees the target only. */
static bool select_items(struct jinja_render *r, const struct jinja_node *node,
                         struct jinja_list **items) {
    if (!node->c) return true;
    struct jinja_list *kept = power_jinja_list(r, JINJA_PLAIN_LIST, 0);
    struct jinja_frame *outer = r->frame;
    if (!kept || !(r->frame = push_frame(r, outer))) return false;
    bool ok = true;
    for (size_t i = 0; ok && i < (*items)->count; i++) {
        struct jinja_value test;
        r->frame->count = 0;
        ok = assign(r, node->a, (*items)->items[i]) && power_jinja_eval(r, node->c, &test) &&
             (!power_jinja_truth(test) || power_jinja_push(r, kept, (*items)->items[i]));
    }
    r->frame = outer;
    *items = kept;
    return ok;
}

static bool run_turn(struct jinja_render *r, const struct jinja_node *node,
                     struct jinja_object *loop, struct jinja_value item) {
    struct jinja_frame *frame = r->frame;
    if (frame->captured) {
        if (!(frame = push_frame(r, frame->parent))) return false;
        r->frame = frame;
    }
    frame->count = 0;
    if (!bind(r, frame, POWER_TEXT("loop"), power_jinja_of_object(loop)) ||
        !power_jinja_hide(r, node->hidden) || !assign(r, node->a, item))
        return false;
    return power_jinja_exec(r, node->list);
}

static bool run_else(struct jinja_render *r, const struct jinja_node *node) {
    struct jinja_frame *outer = r->frame;
    if (!node->other) return true;
    if (!(r->frame = push_frame(r, outer))) return false;
    bool ok = power_jinja_exec(r, node->other);
    r->frame = outer;
    return ok;
}

static bool run_turns(struct jinja_render *r, const struct jinja_node *node,
                      struct jinja_object *object, bool *out_completed) {
    struct jinja_loop *loop = object->loop;
    for (size_t i = 0; i < loop->items->count; i++) {
        loop->index0 = i;
        if (!power_jinja_steps(r, 1) || !run_turn(r, node, object, loop->items->items[i]))
            return false;
        if (r->flow == FLOW_NEXT) *out_completed = true;
        if (r->flow == FLOW_BREAK) break;
        r->flow = FLOW_NEXT;
    }
    r->flow = FLOW_NEXT;
    return true;
}

/* As in Jinja2, `else` runs when no turn came to its end, be it that all were broken off. */
static bool run_loop(struct jinja_render *r, const struct jinja_node *node,
                     struct jinja_list *items, uint32_t depth0) {
    struct jinja_frame *outer = r->frame;
    bool completed = false;
    if (!select_items(r, node, &items)) return false;
    struct jinja_object *object = power_jinja_object(r, JINJA_LOOP);
    struct jinja_loop *loop = power_arena_alloc(&r->arena, 1, sizeof *loop);
    if (!object || !loop) return power_jinja_no_memory(r);
    *loop = (struct jinja_loop){.node = node, .outer = outer, .items = items, .depth0 = depth0};
    object->loop = loop;
    bool ok = (r->frame = push_frame(r, outer)) != NULL && run_turns(r, node, object, &completed);
    r->frame = outer;
    return ok && (completed || run_else(r, node));
}

static bool exec_for(struct jinja_render *r, const struct jinja_node *node) {
    struct jinja_value v;
    struct jinja_list *items;
    if (!power_jinja_eval(r, node->b, &v) || !power_jinja_iterate(r, v, &items)) return false;
    return run_loop(r, node, items, 0);
}

bool power_jinja_call_loop(struct jinja_render *r, struct jinja_loop *loop,
                           const struct jinja_args *args, struct jinja_value *out) {
    struct jinja_list *items;
    if (!loop->node->flag)
        return power_jinja_raise(r, POWER_INVALID,
                                 "the loop must have the 'recursive' marker to be called");
    if (args->count != 1 || args->n_keywords)
        return power_jinja_raise(r, POWER_INVALID, "a recursive loop takes one argument");
    if (!power_jinja_iterate(r, args->items[0], &items)) return false;
    struct jinja_buffer buffer, *outer_out = r->out;
    struct jinja_frame *outer = r->frame;
    power_jinja_scratch(r, &buffer);
    r->out = &buffer;
    r->frame = loop->outer;
    bool ok = power_jinja_enter(r) && run_loop(r, loop->node, items, loop->depth0 + 1);
    if (ok) power_jinja_leave(r);
    r->frame = outer;
    r->out = outer_out;
    return power_jinja_finish_text(r, &buffer, ok, out);
}

/* ---- macros ---- */

static bool takes_no(struct jinja_render *r, const struct jinja_object *macro,
                     struct power_text keyword) {
    return power_jinja_raise(r, POWER_INVALID, "macro '%s' takes no keyword argument '%s'",
                             power_quote(macro->name.bytes, macro->name.length).text,
                             power_quote(keyword.bytes, keyword.length).text);
}

static const struct jinja_value *keyword_of(const struct jinja_args *args, struct power_text name) {
    for (size_t i = 0; i < args->n_keywords; i++) {
        if (power_text_equal(args->keywords[i].name, name)) return &args->keywords[i].value;
    }
    return NULL;
}

static bool missing_parameter(struct jinja_render *r, const struct jinja_node *p,
                              struct jinja_value *out) {
    if (p->a) return power_jinja_eval(r, p->a, out);
    struct jinja_hole *hole = power_arena_alloc(&r->arena, 1, sizeof *hole);
    if (!hole) return power_jinja_no_memory(r);
    hole->name = p->text;
    hole->parameter = true;
    *out = (struct jinja_value){.type = JINJA_UNDEFINED, .as.hole = hole};
    return true;
}

/* Named parameters into the new frame; *out_used: positions they took. */
static bool bind_parameters(struct jinja_render *r, const struct jinja_object *macro,
                            const struct jinja_args *args, size_t *out_used) {
    size_t i = 0;
    for (const struct jinja_node *p = macro->node->other; p; p = p->next, i++) {
        const struct jinja_value *named = keyword_of(args, p->text);
        struct jinja_value v;
        if (i < args->count && named)
            return power_jinja_raise(r, POWER_INVALID, "macro '%s' got '%s' twice",
                                     power_quote(macro->name.bytes, macro->name.length).text,
                                     power_quote(p->text.bytes, p->text.length).text);
        if (i < args->count)
            v = args->items[i];
        else if (named)
            v = *named;
        else if (!missing_parameter(r, p, &v))
            return false;
        if (!bind(r, r->frame, p->text, v)) return false;
    }
    *out_used = i;
    return true;
}

static bool is_parameter(const struct jinja_node *macro, struct power_text name) {
    for (const struct jinja_node *p = macro->other; p; p = p->next) {
        if (power_text_equal(p->text, name)) return true;
    }
    return false;
}

/* varargs, kwargs and caller, where the body reads them. */
static bool bind_rest(struct jinja_render *r, const struct jinja_object *macro,
                      const struct jinja_args *args, size_t used) {
    const struct jinja_node *node = macro->node;
    struct jinja_list *rest = power_jinja_list(r, JINJA_TUPLE, 0);
    struct jinja_dict *named = power_jinja_dict(r);
    if (!rest || !named) return false;
    for (size_t i = used; i < args->count; i++) {
        if (!node->varargs)
            return power_jinja_raise(r, POWER_INVALID,
                                     "macro '%s' takes not more than %zu argument(s)",
                                     power_quote(macro->name.bytes, macro->name.length).text, used);
        if (!power_jinja_push(r, rest, args->items[i])) return false;
    }
    bool has_caller = false;
    for (size_t i = 0; i < args->n_keywords; i++) {
        struct power_text name = args->keywords[i].name;
        if (is_parameter(node, name)) continue;
        if (node->caller && power_text_equal(name, POWER_TEXT("caller"))) {
            has_caller = true;
            if (!bind(r, r->frame, name, args->keywords[i].value)) return false;
            continue;
        }
        if (!node->kwargs) return takes_no(r, macro, name);
        if (!power_jinja_dict_set(r, named, power_jinja_borrow(name), args->keywords[i].value))
            return false;
    }
    struct jinja_value none;
    if (node->caller && !has_caller && !is_parameter(node, POWER_TEXT("caller")) &&
        (!power_jinja_undefined(r, POWER_TEXT("caller"), NULL, false, &none) ||
         !bind(r, r->frame, POWER_TEXT("caller"), none)))
        return false;
    struct jinja_value dict = {.type = JINJA_DICT, .as.dict = named};
    return (!node->varargs ||
            bind(r, r->frame, POWER_TEXT("varargs"), power_jinja_of_list(rest))) &&
           (!node->kwargs || bind(r, r->frame, POWER_TEXT("kwargs"), dict));
}

bool power_jinja_call_macro(struct jinja_render *r, struct jinja_object *macro,
                            const struct jinja_args *args, struct jinja_value *out) {
    struct jinja_frame *outer = r->frame;
    enum jinja_flow flow = r->flow;
    size_t used = 0;
    if (!power_jinja_enter(r)) return false;
    r->flow = FLOW_NEXT;
    bool ok = (r->frame = push_frame(r, macro->frame)) != NULL &&
              power_jinja_hide(r, macro->node->hidden) && bind_parameters(r, macro, args, &used) &&
              bind_rest(r, macro, args, used) && capture(r, macro->node->list, out);
    r->frame = outer;
    r->flow = flow;
    power_jinja_leave(r);
    return ok;
}

static bool make_macro(struct jinja_render *r, const struct jinja_node *node,
                       struct jinja_value *out) {
    struct jinja_object *macro = power_jinja_object(r, JINJA_MACRO);
    if (!macro) return false;
    macro->node = node;
    macro->frame = r->frame;
    macro->name = node->text;
    for (struct jinja_frame *f = r->frame; f && !f->captured; f = f->parent)
        f->captured = true;
    *out = power_jinja_of_object(macro);
    return true;
}

static bool exec_call_block(struct jinja_render *r, const struct jinja_node *node) {
    struct jinja_value caller, callee, result;
    struct jinja_args args;
    if (!make_macro(r, node, &caller)) return false;
    caller.as.object->name = (struct power_text){0}; /* it has none of its own */
    if (!power_jinja_eval(r, node->a->a, &callee) ||
        !power_jinja_args(r, node->a->list, NULL, &args))
        return false;
    struct jinja_keyword *keywords =
        power_arena_alloc(&r->arena, args.n_keywords + 1, sizeof *keywords);
    if (!keywords) return power_jinja_no_memory(r);
    if (args.n_keywords) memcpy(keywords, args.keywords, args.n_keywords * sizeof *keywords);
    keywords[args.n_keywords++] = (struct jinja_keyword){POWER_TEXT("caller"), caller};
    args.keywords = keywords;
    return power_jinja_call(r, callee, &args, &result) && put_only_text(r, result);
}

/* ---- the rest ---- */

static bool exec_if(struct jinja_render *r, const struct jinja_node *node) {
    for (;;) {
        struct jinja_value test;
        if (!power_jinja_eval(r, node->a, &test)) return false;
        if (power_jinja_truth(test)) return power_jinja_exec(r, node->list);
        if (!node->flag) return power_jinja_exec(r, node->other);
        node = node->other;
    }
}

static bool exec_scope(struct jinja_render *r, const struct jinja_node *node) {
    struct jinja_frame *outer = r->frame, *inner = push_frame(r, outer);
    bool ok = inner != NULL;
    r->frame = inner;
    ok = ok && power_jinja_hide(r, node->hidden);
    r->frame = outer;
    for (const struct jinja_node *n = node->kind == NODE_WITH ? node->other : NULL; ok && n;
         n = n->next) {
        struct jinja_value v;
        ok = power_jinja_eval(r, n->b, &v); /* sees the scope outside */
        r->frame = inner;
        ok = ok && assign(r, n->a, v);
        r->frame = outer;
    }
    r->frame = inner;
    ok = ok && power_jinja_exec(r, node->list);
    r->frame = outer;
    return ok;
}

/* A block sees what the template's top level set, and the scopes around it only if it is scoped. */
static bool exec_block(struct jinja_render *r, const struct jinja_node *node) {
    struct jinja_frame *outer = r->frame, *top = outer;
    if (node->varargs)
        return power_jinja_raise(r, POWER_INVALID, "required block \"%s\" not found",
                                 power_quote(node->text.bytes, node->text.length).text);
    while (!node->kwargs && top->parent)
        top = top->parent;
    if (!(r->frame = push_frame(r, top))) return false;
    r->frame->block = true;
    bool ok = power_jinja_hide(r, node->hidden) && power_jinja_exec(r, node->list);
    r->frame = outer;
    return ok;
}

static bool exec_foreign(struct jinja_render *r, const struct jinja_node *node) {
    struct power_quoted tag = power_quote(node->text.bytes, node->text.length);
    if (!node->a)
        return power_jinja_raise(r, POWER_UNSUPPORTED, "\"%s\" that may be true is not supported",
                                 tag.text);
    return power_jinja_raise(r, POWER_INVALID, "\"%s\" finds no other templates", tag.text);
}

static bool exec_output(struct jinja_render *r, const struct jinja_node *node) {
    struct jinja_value v;
    return power_jinja_eval(r, node->a, &v) && power_jinja_str(r, v, r->out);
}

static bool exec_set(struct jinja_render *r, const struct jinja_node *node) {
    struct jinja_value v;
    return power_jinja_eval(r, node->b, &v) && assign(r, node->a, v);
}

static bool exec_macro(struct jinja_render *r, const struct jinja_node *node) {
    struct jinja_value macro;
    return make_macro(r, node, &macro) && bind(r, r->frame, node->text, macro);
}

static bool exec_node(struct jinja_render *r, const struct jinja_node *node) {
    switch ((int)node->kind) {
    case NODE_DATA:
        return power_jinja_put(r, r->out, node->text);
    case NODE_OUTPUT:
        return exec_output(r, node);
    case NODE_FOR:
        return exec_for(r, node);
    case NODE_IF:
        return exec_if(r, node);
    case NODE_SET:
        return exec_set(r, node);
    case NODE_SET_BLOCK:
        return exec_set_block(r, node);
    case NODE_MACRO:
        return exec_macro(r, node);
    case NODE_CALL_BLOCK:
        return exec_call_block(r, node);
    case NODE_FILTER_BLOCK:
        return exec_filter_block(r, node);
    case NODE_WITH:
        return exec_scope(r, node);
    case NODE_SCOPE:
        return node->flag ? exec_scope(r, node) : power_jinja_exec(r, node->list);
    case NODE_BLOCK:
        return exec_block(r, node);
    case NODE_FOREIGN:
        return exec_foreign(r, node);
    case NODE_BREAK:
        r->flow = FLOW_BREAK;
        return true;
    case NODE_CONTINUE:
        r->flow = FLOW_CONTINUE;
        return true;
    default:
        return power_jinja_raise(r, POWER_INVALID, "not a statement");
    }
}

bool power_jinja_exec(struct jinja_render *r, const struct jinja_node *list) {
    if (!power_jinja_enter(r)) return false;
    bool ok = true;
    for (const struct jinja_node *node = list; ok && node && r->flow == FLOW_NEXT;
         node = node->next) {
        r->at = node;
        ok = power_jinja_steps(r, 1) && exec_node(r, node);
    }
    power_jinja_leave(r);
    return ok;
}
