/* SPDX-License-Identifier: MIT */
/* Job: names that a scope sets later than parts of it read them. Input: a syntax tree. Output: for
 * each scope the list of names that begin undefined in it.
 * Threads: compiling one. Bounds: MAX_NAMES names a scope, looked through one by one, by hash.
 * Jinja2 decides for each scope, before it runs, what a name means: one that is only ever set there
 * (outside `if`) and was not read before in the same scope is a variable of that scope from its
 * start, undefined until it is set, even if the caller passed a variable of that name. */
#include "text/jinja.h"

#define MAX_NAMES 1024

struct reference {
    struct power_text name;
    uint64_t hash;
};

struct scope {
    struct scope *parent;
    struct jinja_compiler *c;
    struct reference *items;
    size_t count, capacity;
    struct jinja_node *hidden;
    bool failed;
};

static uint64_t hash_of(struct power_text name) {
    uint64_t h = 0xCBF29CE484222325u;
    for (size_t i = 0; i < name.length; i++)
        h = (h ^ (unsigned char)name.bytes[i]) * 0x100000001B3u;
    return h;
}

static bool has(const struct scope *s, struct power_text name, uint64_t hash) {
    for (size_t i = 0; i < s->count; i++) {
        if (s->items[i].hash == hash && power_text_equal(s->items[i].name, name)) return true;
    }
    return false;
}

static bool known(const struct scope *s, struct power_text name, uint64_t hash) {
    for (; s; s = s->parent) {
        if (has(s, name, hash)) return true;
    }
    return false;
}

static void no_memory(struct scope *s, size_t bytes) {
    s->failed = true;
    s->c->status = power_fail_memory(s->c->error, bytes, "template");
}

static void add(struct scope *s, struct power_text name, uint64_t hash) {
    if (s->failed) return;
    if (s->count == MAX_NAMES) {
        s->failed = true;
        s->c->status = power_fail(s->c->error, POWER_LIMIT,
                                  "template: more than %d names in one scope", MAX_NAMES);
        return;
    }
    if (s->count == s->capacity) {
        size_t capacity = s->capacity ? s->capacity * 2 : 16;
        struct reference *items = power_arena_alloc(s->c->arena, capacity, sizeof *items);
        if (!items) {
            no_memory(s, capacity * sizeof *items);
            return;
        }
        if (s->count) memcpy(items, s->items, s->count * sizeof *items);
        s->items = items;
        s->capacity = capacity;
    }
    s->items[s->count++] = (struct reference){name, hash};
}

static void load(struct scope *s, struct power_text name) {
    uint64_t hash = hash_of(name);
    if (!known(s, name, hash)) add(s, name, hash);
}

static void declare(struct scope *s, struct power_text name) {
    uint64_t hash = hash_of(name);
    if (!has(s, name, hash)) add(s, name, hash);
}

static void store(struct scope *s, const struct jinja_node *at, struct power_text name,
                  bool in_if) {
    uint64_t hash = hash_of(name);
    if (has(s, name, hash)) return;
    add(s, name, hash);
    if (in_if || known(s->parent, name, hash)) return;
    struct jinja_node *node = power_arena_alloc(s->c->arena, 1, sizeof *node);
    if (!node) {
        no_memory(s, sizeof *node);
        return;
    }
    *node = (struct jinja_node){.kind = NODE_NAME, .line = at->line, .column = at->column};
    node->text = name;
    node->next = s->hidden;
    s->hidden = node;
}

/* Every name that an expression reads. */
static void loads(struct scope *s, const struct jinja_node *node) {
    if (!node) return;
    if (node->kind == NODE_NAME) load(s, node->text);
    loads(s, node->a);
    loads(s, node->b);
    loads(s, node->c);
    for (const struct jinja_node *n = node->list; n; n = n->next)
        loads(s, n);
}

static void target(struct scope *s, const struct jinja_node *node, bool in_if, bool parameter) {
    if (node->kind == NODE_TUPLE) {
        for (const struct jinja_node *n = node->list; n; n = n->next)
            target(s, n, in_if, parameter);
    } else if (node->kind == NODE_NAMESPACE_TARGET) {
        load(s, node->text2);
    } else if (parameter) {
        declare(s, node->text);
    } else {
        store(s, node, node->text, in_if);
    }
}

static void walk(struct scope *s, const struct jinja_node *list, bool in_if);

/* A chain of elifs is as long as it likes: no recursion along it. */
static void walk_if(struct scope *s, const struct jinja_node *node) {
    for (; node->flag && node->other; node = node->other) {
        loads(s, node->a);
        walk(s, node->list, true);
    }
    loads(s, node->a);
    walk(s, node->list, true);
    walk(s, node->other, true);
}

/* What the statements of one scope read and set themselves, in order. */
static void walk(struct scope *s, const struct jinja_node *list, bool in_if) {
    for (const struct jinja_node *n = list; n && !s->failed; n = n->next) {
        switch ((int)n->kind) {
        case NODE_OUTPUT:
        case NODE_CALL_BLOCK:
            loads(s, n->a);
            break;
        case NODE_FOR:
            loads(s, n->b);
            break;
        case NODE_IF:
            walk_if(s, n);
            break;
        case NODE_SET:
            loads(s, n->b);
            target(s, n->a, in_if, false);
            break;
        case NODE_SET_BLOCK:
            target(s, n->a, in_if, false);
            break;
        case NODE_MACRO:
            store(s, n, n->text, in_if);
            break;
        case NODE_FILTER_BLOCK:
            loads(s, n->b);
            break;
        case NODE_WITH:
            for (const struct jinja_node *set = n->other; set; set = set->next)
                loads(s, set->b);
            break;
        case NODE_SCOPE:
            if (!n->flag) walk(s, n->list, in_if);
            break;
        default:
            break;
        }
    }
}

static void children(struct scope *s, struct jinja_node *list);

/* The scope that a statement opens. */
static void child(struct scope *parent, struct jinja_node *node) {
    const bool block = node->kind == NODE_BLOCK; /* knows nothing of the scopes around it */
    struct scope s = {.parent = block ? NULL : parent, .c = parent->c};
    if (node->kind == NODE_FOR) {
        target(&s, node->a, false, true);
        declare(&s, POWER_TEXT("loop"));
    }
    const bool plain = node->kind == NODE_FOR || block;
    for (const struct jinja_node *n = plain ? NULL : node->other; n; n = n->next) {
        if (n->kind == NODE_PARAM) declare(&s, n->text);
        if (n->kind == NODE_PARAM) loads(&s, n->a);
        if (n->kind == NODE_SET) target(&s, n->a, false, true);
    }
    walk(&s, node->list, false);
    children(&s, node->list);
    node->hidden = s.hidden;
    parent->failed = parent->failed || s.failed;
}

static void children_of_if(struct scope *s, struct jinja_node *node) {
    for (; node->flag && node->other; node = node->other)
        children(s, node->list);
    children(s, node->list);
    children(s, node->other);
}

static void children(struct scope *s, struct jinja_node *list) {
    for (struct jinja_node *n = list; n && !s->failed; n = n->next) {
        switch ((int)n->kind) {
        case NODE_IF:
            children_of_if(s, n);
            break;
        case NODE_FOR:
        case NODE_MACRO:
        case NODE_CALL_BLOCK:
        case NODE_FILTER_BLOCK:
        case NODE_SET_BLOCK:
        case NODE_WITH:
        case NODE_BLOCK:
            child(s, n);
            break;
        case NODE_SCOPE:
            if (n->flag)
                child(s, n);
            else
                children(s, n->list);
            break;
        default:
            break;
        }
        if (n->kind == NODE_FOR) children(s, n->other);
    }
}

bool power_jinja_scopes(struct jinja_compiler *c, struct jinja_node *body,
                        struct jinja_node **out_hidden) {
    struct scope s = {.c = c};
    walk(&s, body, false);
    children(&s, body);
    *out_hidden = s.hidden;
    return !s.failed;
}
