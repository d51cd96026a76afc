/* SPDX-License-Identifier: MIT */
/* Job: evaluate expressions. Input: syntax trees. Output: values.
 * Threads: one per rendering. Bounds: each node takes a step and a level of nesting.
 * Attributes and items are looked up as Jinja2's sandbox does: `a.b` tries methods, then items;
 * `a['b']` items, then methods; what is missing is undefined and fails only when it is used. */
#include "text/jinja.h"
#include "text/utf8.h"

/* ---- undefined ---- */

bool power_jinja_undefined(struct jinja_render *r, struct power_text name,
                           const struct jinja_value *owner, bool unsafe, struct jinja_value *out) {
    struct jinja_hole *hole = power_arena_alloc(&r->arena, 1, sizeof *hole);
    if (!hole) return power_jinja_no_memory(r);
    hole->name = name;
    hole->owner = owner ? power_jinja_type_name(*owner) : NULL;
    hole->unsafe = unsafe;
    *out = (struct jinja_value){.type = JINJA_UNDEFINED, .as.hole = hole};
    return true;
}

bool power_jinja_raise_undefined(struct jinja_render *r, struct jinja_value v) {
    const struct jinja_hole *hole = v.as.hole;
    if (!hole) return power_jinja_raise(r, POWER_INVALID, "a value is undefined");
    struct power_quoted name = power_quote(hole->name.bytes, hole->name.length);
    if (hole->unsafe)
        return power_jinja_raise(r, POWER_INVALID,
                                 "access to attribute '%s' of '%s' object is unsafe", name.text,
                                 hole->owner);
    if (hole->parameter)
        return power_jinja_raise(r, POWER_INVALID, "parameter '%s' was not provided", name.text);
    if (!hole->owner) return power_jinja_raise(r, POWER_INVALID, "'%s' is undefined", name.text);
    return power_jinja_raise(r, POWER_INVALID, "'%s object' has no attribute '%s'", hole->owner,
                             name.text);
}

/* ---- attributes and items ---- */

static bool method_value(struct jinja_render *r, struct jinja_value self, int id,
                         struct power_text name, struct jinja_value *out) {
    struct jinja_object *object = power_jinja_object(r, JINJA_METHOD);
    if (!object) return false;
    object->self = self;
    object->id = id;
    object->name = name;
    *out = power_jinja_of_object(object);
    return true;
}

static bool object_attribute(struct jinja_render *r, struct jinja_value v, struct power_text name,
                             struct jinja_value *out, bool *found) {
    struct jinja_object *object = v.as.object;
    *found = true;
    if (object->kind == JINJA_NAMESPACE) {
        const struct jinja_value *value = power_jinja_dict_find(object->dict, name);
        if (value) *out = *value;
        *found = value != NULL;
        return true;
    }
    if (object->kind == JINJA_LOOP)
        return power_jinja_loop_attribute(r, object->loop, name, out, found);
    if (object->kind == JINJA_CYCLER && power_text_equal(name, POWER_TEXT("current"))) {
        *out = object->list->items[object->at];
        return true;
    }
    *found = false;
    return true;
}

/* A method or an attribute of an object; *found tells. */
static bool attribute(struct jinja_render *r, struct jinja_value v, struct power_text name,
                      struct jinja_value *out, bool *found) {
    *found = false;
    if (v.type == JINJA_OBJECT) {
        if (!object_attribute(r, v, name, out, found) || *found) return r->status == POWER_OK;
    }
    if (!power_jinja_data_attribute(r, v, name, out, found) || *found) return r->status == POWER_OK;
    bool unsafe = false;
    int id = power_jinja_method_find(v, name, &unsafe);
    *found = id >= 0 || unsafe;
    if (unsafe) return power_jinja_undefined(r, name, &v, true, out);
    return id < 0 || method_value(r, v, id, name, out);
}

static bool list_item(struct jinja_render *r, struct jinja_value v, int64_t index,
                      struct jinja_value *out, bool *found) {
    (void)r;
    const struct jinja_list *list = v.as.list;
    *found = false;
    if (list->kind > JINJA_RANGE) return true;
    int64_t count = (int64_t)list->count;
    if (index < 0) index += count;
    if (index < 0 || index >= count) return true;
    *out = list->items[index];
    *found = true;
    return true;
}

static bool text_item(struct jinja_render *r, struct jinja_value v, int64_t index,
                      struct jinja_value *out, bool *found) {
    struct power_text text = power_jinja_text(v);
    if (!power_jinja_steps(r, text.length / 64)) return false;
    int64_t count = (int64_t)power_utf8_count(text);
    if (index < 0) index += count;
    *found = index >= 0 && index < count;
    if (!*found) return true;
    size_t at = power_jinja_offset(text, (size_t)index), length;
    (void)power_utf8_get(text, at, &length, NULL);
    *out = power_jinja_borrow((struct power_text){text.bytes + at, length});
    out->markup = v.markup;
    return true;
}

static bool item(struct jinja_render *r, struct jinja_value v, struct jinja_value key,
                 struct jinja_value *out, bool *found) {
    int64_t index;
    *found = false;
    if (v.type == JINJA_DICT) {
        const struct jinja_value *value = power_jinja_dict_get(v.as.dict, key);
        if (value) *out = *value;
        *found = value != NULL;
        return true;
    }
    if (!power_jinja_as_int(key, &index)) return true;
    if (v.type == JINJA_LIST) return list_item(r, v, index, out, found);
    return v.type != JINJA_TEXT || text_item(r, v, index, out, found);
}

static bool key_name(struct jinja_render *r, struct jinja_value key, struct power_text *out) {
    struct jinja_value text;
    if (!power_jinja_to_text(r, key, &text)) return false;
    *out = power_jinja_text(text);
    return true;
}

bool power_jinja_get_attribute(struct jinja_render *r, struct jinja_value v, struct power_text name,
                               struct jinja_value *out) {
    bool found, unsafe;
    if (v.type == JINJA_UNDEFINED) { /* it has some of its own, which the sandbox refuses */
        (void)power_jinja_method_find(v, name, &unsafe);
        return unsafe ? power_jinja_undefined(r, name, &v, true, out)
                      : power_jinja_raise_undefined(r, v);
    }
    if (!attribute(r, v, name, out, &found)) return false;
    if (found) return true;
    if (!item(r, v, power_jinja_borrow(name), out, &found)) return false;
    return found || power_jinja_undefined(r, name, &v, false, out);
}

bool power_jinja_get_item(struct jinja_render *r, struct jinja_value v, struct jinja_value key,
                          struct jinja_value *out) {
    bool found;
    struct power_text name;
    if (v.type == JINJA_UNDEFINED) return power_jinja_raise_undefined(r, v);
    if (!item(r, v, key, out, &found)) return false;
    if (found) return true;
    if (key.type == JINJA_TEXT) {
        if (!attribute(r, v, power_jinja_text(key), out, &found)) return false;
        if (found) return true;
    }
    return key_name(r, key, &name) && power_jinja_undefined(r, name, &v, false, out);
}

/* ---- walking ---- */

static bool characters(struct jinja_render *r, struct jinja_value v, struct jinja_list **out) {
    struct power_text text = power_jinja_text(v);
    if (!power_jinja_steps(r, text.length)) return false;
    struct jinja_list *list = power_jinja_list(r, JINJA_PLAIN_LIST, power_utf8_count(text));
    for (size_t at = 0, length; list && at < text.length; at += length) {
        (void)power_utf8_get(text, at, &length, NULL);
        struct jinja_value c = power_jinja_borrow((struct power_text){text.bytes + at, length});
        if (!power_jinja_push(r, list, c)) return false;
    }
    *out = list;
    return list != NULL;
}

bool power_jinja_iterate(struct jinja_render *r, struct jinja_value v, struct jinja_list **out) {
    if (v.type == JINJA_TEXT) return characters(r, v, out);
    if (v.type == JINJA_LIST && v.as.list->kind != JINJA_ITERATOR) {
        *out = v.as.list;
        return power_jinja_steps(r, v.as.list->count);
    }
    struct jinja_list *list = NULL;
    if (v.type == JINJA_LIST || v.type == JINJA_DICT || v.type == JINJA_UNDEFINED)
        list = power_jinja_list(r, JINJA_PLAIN_LIST, 0);
    else
        return power_jinja_raise(r, POWER_INVALID, "'%s' object is not iterable",
                                 power_jinja_type_name(v));
    *out = list;
    if (!list || v.type == JINJA_UNDEFINED) return list != NULL;
    if (v.type == JINJA_LIST) {
        struct jinja_list *from = v.as.list;
        if (from->fault) return power_jinja_raise(r, POWER_INVALID, "%s", from->fault);
        list->items = from->items ? from->items + from->taken : NULL;
        list->count = list->capacity = from->count - from->taken;
        from->taken = from->count;
        return power_jinja_steps(r, list->count);
    }
    for (size_t i = 0; i < v.as.dict->count; i++) {
        if (!power_jinja_push(r, list, v.as.dict->entries[i].key)) return false;
    }
    return power_jinja_steps(r, list->count);
}

bool power_jinja_contains(struct jinja_render *r, struct jinja_value container,
                          struct jinja_value what, bool *out) {
    if (container.type == JINJA_DICT) {
        if (!power_jinja_hashable(what))
            return power_jinja_raise(r, POWER_INVALID, "unhashable type: '%s'",
                                     power_jinja_type_name(what));
        *out = power_jinja_dict_get(container.as.dict, what) != NULL;
        return true;
    }
    if (container.type == JINJA_TEXT) {
        if (what.type != JINJA_TEXT)
            return power_jinja_raise(r, POWER_INVALID,
                                     "'in <string>' requires string as left operand, not %s",
                                     power_jinja_type_name(what));
        *out = power_jinja_find(power_jinja_text(container), power_jinja_text(what), 0) != SIZE_MAX;
        return power_jinja_steps(r, container.length / 16);
    }
    struct jinja_list *list;
    if (container.type != JINJA_LIST && container.type != JINJA_UNDEFINED)
        return power_jinja_raise(r, POWER_INVALID, "argument of type '%s' is not iterable",
                                 power_jinja_type_name(container));
    if (!power_jinja_iterate(r, container, &list)) return false;
    *out = false;
    for (size_t i = 0; i < list->count && !*out; i++)
        *out = power_jinja_equal(r, list->items[i], what);
    return true;
}

/* ---- expressions ---- */

static bool eval_name(struct jinja_render *r, const struct jinja_node *node,
                      struct jinja_value *out) {
    const struct jinja_value *value = power_jinja_lookup(r, node->text);
    if (value) {
        *out = *value;
        return true;
    }
    if (power_jinja_global(r, node->text, out)) return true;
    return r->status == POWER_OK && power_jinja_undefined(r, node->text, NULL, false, out);
}

static bool eval_list(struct jinja_render *r, const struct jinja_node *node,
                      struct jinja_value *out) {
    struct jinja_list *list =
        power_jinja_list(r, node->kind == NODE_TUPLE ? JINJA_TUPLE : JINJA_PLAIN_LIST, 0);
    if (!list) return false;
    for (const struct jinja_node *n = node->list; n; n = n->next) {
        struct jinja_value value;
        if (!power_jinja_eval(r, n, &value) || !power_jinja_push(r, list, value)) return false;
    }
    *out = power_jinja_of_list(list);
    return true;
}

static bool eval_dict(struct jinja_render *r, const struct jinja_node *node,
                      struct jinja_value *out) {
    struct jinja_dict *dict = power_jinja_dict(r);
    if (!dict) return false;
    for (const struct jinja_node *n = node->list; n; n = n->next) {
        struct jinja_value key, value;
        if (!power_jinja_eval(r, n->a, &key) || !power_jinja_eval(r, n->b, &value) ||
            !power_jinja_dict_set(r, dict, key, value))
            return false;
    }
    *out = (struct jinja_value){.type = JINJA_DICT, .as.dict = dict};
    return true;
}

static bool eval_slice(struct jinja_render *r, const struct jinja_node *node, struct jinja_value v,
                       struct jinja_value *out) {
    struct jinja_value part[3];
    const struct jinja_node *nodes[3] = {node->a, node->b, node->c};
    for (size_t i = 0; i < 3; i++) {
        part[i] = power_jinja_none();
        if (nodes[i] && !power_jinja_eval(r, nodes[i], &part[i])) return false;
    }
    if (v.type == JINJA_UNDEFINED) return power_jinja_raise_undefined(r, v);
    return power_jinja_slice(r, v, part[0], part[1], part[2], out);
}

static bool eval_item(struct jinja_render *r, const struct jinja_node *node,
                      struct jinja_value *out) {
    struct jinja_value owner, key;
    if (!power_jinja_eval(r, node->a, &owner)) return false;
    if (node->b->kind == NODE_SLICE) return eval_slice(r, node->b, owner, out);
    return power_jinja_eval(r, node->b, &key) && power_jinja_get_item(r, owner, key, out);
}

static bool count_args(struct jinja_render *r, const struct jinja_node *list,
                       struct jinja_args *out) {
    size_t n = 1, k = 0;
    for (const struct jinja_node *a = list; a; a = a->next) {
        n += a->arg == ARG_POSITION;
        k += a->arg == ARG_KEYWORD;
    }
    out->items = power_arena_alloc(&r->arena, n, sizeof *out->items);
    out->keywords = k ? power_arena_alloc(&r->arena, k, sizeof *out->keywords) : NULL;
    return (out->items && (out->keywords || !k)) || power_jinja_no_memory(r);
}

/* *list: its items behind those there are. */
static bool append_positions(struct jinja_render *r, struct jinja_value v, struct jinja_args *out) {
    struct jinja_list *list;
    if (!power_jinja_iterate(r, v, &list)) return false;
    size_t total = out->count + list->count;
    struct jinja_value *items = power_arena_alloc(&r->arena, total + 1, sizeof *items);
    if (!items) return power_jinja_no_memory(r);
    if (out->items && out->count) memcpy(items, out->items, out->count * sizeof *items);
    if (list->items && list->count)
        memcpy(items + out->count, list->items, list->count * sizeof *items);
    out->items = items;
    out->count = total;
    return true;
}

/* **dict: its entries behind those there are. */
static bool append_keywords(struct jinja_render *r, struct jinja_value v, struct jinja_args *out) {
    if (v.type != JINJA_DICT)
        return power_jinja_raise(r, POWER_INVALID, "argument after ** must be a mapping, not %s",
                                 power_jinja_type_name(v));
    size_t total = out->n_keywords + v.as.dict->count;
    struct jinja_keyword *keywords = power_arena_alloc(&r->arena, total + 1, sizeof *keywords);
    if (!keywords) return power_jinja_no_memory(r);
    if (out->n_keywords) memcpy(keywords, out->keywords, out->n_keywords * sizeof *keywords);
    for (size_t i = 0; i < v.as.dict->count; i++) {
        struct jinja_value key = v.as.dict->entries[i].key;
        if (key.type != JINJA_TEXT)
            return power_jinja_raise(r, POWER_INVALID, "keywords must be strings");
        keywords[out->n_keywords + i] =
            (struct jinja_keyword){power_jinja_text(key), v.as.dict->entries[i].value};
    }
    out->keywords = keywords;
    out->n_keywords = total;
    return true;
}

bool power_jinja_args(struct jinja_render *r, const struct jinja_node *list,
                      const struct jinja_value *first, struct jinja_args *out) {
    *out = (struct jinja_args){0};
    if (!count_args(r, list, out)) return false;
    if (first) out->items[out->count++] = *first;
    /* count_args leaves room for one in front; without it the room is spare */
    for (const struct jinja_node *a = list; a; a = a->next) {
        struct jinja_value value;
        bool ok = power_jinja_eval(r, a->a, &value);
        if (ok && a->arg == ARG_POSITION)
            out->items[out->count++] = value;
        else if (ok && a->arg == ARG_KEYWORD)
            out->keywords[out->n_keywords++] = (struct jinja_keyword){a->text, value};
        else if (ok)
            ok = a->arg == ARG_LIST ? append_positions(r, value, out)
                                    : append_keywords(r, value, out);
        if (!ok) return false;
    }
    return true;
}

static bool eval_call(struct jinja_render *r, const struct jinja_node *node,
                      struct jinja_value *out) {
    struct jinja_value callee;
    struct jinja_args args;
    return power_jinja_eval(r, node->a, &callee) && power_jinja_args(r, node->list, NULL, &args) &&
           power_jinja_call(r, callee, &args, out);
}

static bool eval_filter(struct jinja_render *r, const struct jinja_node *node,
                        struct jinja_value *out) {
    struct jinja_value input;
    struct jinja_args args;
    if (!power_jinja_eval(r, node->a, &input) || !power_jinja_args(r, node->list, &input, &args))
        return false;
    r->at = node;
    return power_jinja_filter(r, node->id, &args, out);
}

static bool eval_test(struct jinja_render *r, const struct jinja_node *node,
                      struct jinja_value *out) {
    struct jinja_value input;
    struct jinja_args args;
    bool result;
    if (!power_jinja_eval(r, node->a, &input) || !power_jinja_args(r, node->list, &input, &args))
        return false;
    r->at = node;
    if (!power_jinja_test(r, node->id, &args, &result)) return false;
    *out = power_jinja_bool(result);
    return true;
}

static bool eval_unary(struct jinja_render *r, const struct jinja_node *node,
                       struct jinja_value *out) {
    struct jinja_value v;
    if (!power_jinja_eval(r, node->a, &v)) return false;
    if (node->op == OP_NOT) {
        *out = power_jinja_bool(!power_jinja_truth(v));
        return true;
    }
    if (v.type == JINJA_UNDEFINED) return power_jinja_raise_undefined(r, v);
    if (!power_jinja_is_number(v))
        return power_jinja_raise(r, POWER_INVALID, "bad operand type for unary %s: '%s'",
                                 node->op == OP_NEG ? "-" : "+", power_jinja_type_name(v));
    if (v.type == JINJA_FLOAT) {
        *out = power_jinja_float(node->op == OP_NEG ? -v.as.f : v.as.f);
        return true;
    }
    if (node->op == OP_NEG) return power_jinja_whole_negate(r, v, out);
    *out = v.type == JINJA_BOOL ? power_jinja_int(v.as.b) : v;
    return true;
}

static bool eval_concat(struct jinja_render *r, const struct jinja_node *node,
                        struct jinja_value *out) {
    struct jinja_buffer buffer;
    power_jinja_scratch(r, &buffer);
    bool ok = true;
    for (const struct jinja_node *n = node->list; ok && n; n = n->next) {
        struct jinja_value value;
        ok = power_jinja_eval(r, n, &value) && power_jinja_str(r, value, &buffer);
    }
    return power_jinja_finish_text(r, &buffer, ok, out);
}

static bool compare_pair(struct jinja_render *r, enum jinja_op op, struct jinja_value a,
                         struct jinja_value b, bool *out) {
    int order = 0;
    if (op == OP_IN || op == OP_NOT_IN) {
        if (!power_jinja_contains(r, b, a, out)) return false;
        if (op == OP_NOT_IN) *out = !*out;
        return true;
    }
    if (op == OP_EQ || op == OP_NE) {
        *out = power_jinja_equal(r, a, b) == (op == OP_EQ);
        return true;
    }
    const char *sign = op == OP_LT ? "<" : op == OP_LE ? "<=" : op == OP_GT ? ">" : ">=";
    if (!power_jinja_order(r, a, b, sign, &order)) return false;
    if (order == 2)
        *out = false; /* not a number */
    else if (op == OP_LT || op == OP_LE)
        *out = order < (op == OP_LE ? 1 : 0);
    else
        *out = order > (op == OP_GE ? -1 : 0);
    return true;
}

static bool eval_compare(struct jinja_render *r, const struct jinja_node *node,
                         struct jinja_value *out) {
    struct jinja_value left, right;
    bool holds = true;
    if (!power_jinja_eval(r, node->a, &left)) return false;
    for (const struct jinja_node *n = node->list; holds && n; n = n->next) {
        if (!power_jinja_eval(r, n->a, &right)) return false;
        r->at = node;
        if (!compare_pair(r, n->op, left, right, &holds)) return false;
        left = right;
    }
    *out = power_jinja_bool(holds);
    return true;
}

static bool eval_condition(struct jinja_render *r, const struct jinja_node *node,
                           struct jinja_value *out) {
    struct jinja_value test;
    if (!power_jinja_eval(r, node->a, &test)) return false;
    const struct jinja_node *branch = power_jinja_truth(test) ? node->b : node->c;
    if (branch) return power_jinja_eval(r, branch, out);
    return power_jinja_undefined(r, POWER_TEXT("the inline if-expression"), NULL, false, out);
}

static bool eval_logic(struct jinja_render *r, const struct jinja_node *node,
                       struct jinja_value *out) {
    if (!power_jinja_eval(r, node->a, out)) return false;
    if (power_jinja_truth(*out) == (node->kind == NODE_OR)) return true;
    return power_jinja_eval(r, node->b, out);
}

static bool eval_binary(struct jinja_render *r, const struct jinja_node *node,
                        struct jinja_value *out) {
    struct jinja_value a, b;
    if (!power_jinja_eval(r, node->a, &a) || !power_jinja_eval(r, node->b, &b)) return false;
    r->at = node;
    return power_jinja_binary(r, node->op, a, b, out);
}

static bool eval_attribute(struct jinja_render *r, const struct jinja_node *node,
                           struct jinja_value *out) {
    struct jinja_value owner;
    if (!power_jinja_eval(r, node->a, &owner)) return false;
    r->at = node;
    return power_jinja_get_attribute(r, owner, node->text, out);
}

static bool eval_kind(struct jinja_render *r, const struct jinja_node *node,
                      struct jinja_value *out) {
    switch ((int)node->kind) {
    case NODE_CONST:
        *out = node->value;
        return true;
    case NODE_BIG:
        return power_jinja_whole_parse(r, node->text, (unsigned)node->id, false, out);
    case NODE_NAME:
        return eval_name(r, node, out);
    case NODE_LIST:
    case NODE_TUPLE:
        return eval_list(r, node, out);
    case NODE_DICT:
        return eval_dict(r, node, out);
    case NODE_ATTRIBUTE:
        return eval_attribute(r, node, out);
    case NODE_ITEM:
        return eval_item(r, node, out);
    case NODE_CALL:
        return eval_call(r, node, out);
    case NODE_FILTER:
        return eval_filter(r, node, out);
    case NODE_TEST:
        return eval_test(r, node, out);
    case NODE_UNARY:
        return eval_unary(r, node, out);
    case NODE_BINARY:
        return eval_binary(r, node, out);
    case NODE_AND:
    case NODE_OR:
        return eval_logic(r, node, out);
    case NODE_CONCAT:
        return eval_concat(r, node, out);
    case NODE_COMPARE:
        return eval_compare(r, node, out);
    case NODE_COND:
        return eval_condition(r, node, out);
    default:
        return power_jinja_raise(r, POWER_INVALID, "not an expression");
    }
}

bool power_jinja_eval(struct jinja_render *r, const struct jinja_node *node,
                      struct jinja_value *out) {
    if (!power_jinja_steps(r, 1) || !power_jinja_enter(r)) return false;
    const struct jinja_node *outer = r->at;
    r->at = node;
    bool ok = eval_kind(r, node, out);
    if (ok) r->at = outer; /* after a failure the position stays */
    power_jinja_leave(r);
    return ok;
}
