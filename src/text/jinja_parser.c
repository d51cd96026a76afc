/* SPDX-License-Identifier: MIT */
/* Job: statements of a template to a syntax tree. Input: tokens. Output: lists of nodes.
 * Threads: compiling one. Bounds: nesting of at most POWER_JINJA_MAX_EXPRESSION.
 * Tags that would need other templates (extends, include, import) are read and fail when they are
 * reached, as in Jinja2 without a loader. */
#include "text/jinja.h"

#define MAX_BLOCKS 1000

static struct jinja_node *body(struct jinja_compiler *c, const char *const *ends, bool *ok);

static bool expect_block_end(struct jinja_compiler *c) {
    if (power_jinja_peek(c)->kind == TOKEN_BLOCK_END) {
        c->at++;
        return true;
    }
    power_jinja_unexpected(c);
    return false;
}

static bool expect_name(struct jinja_compiler *c, struct power_text *out) {
    const struct jinja_token *t = power_jinja_peek(c);
    if (t->kind != TOKEN_NAME) {
        power_jinja_unexpected(c);
        return false;
    }
    *out = t->text;
    c->at++;
    return true;
}

/* A body up to `end`, which is taken with its tag's end. */
static bool body_until(struct jinja_compiler *c, const char *end, struct jinja_node **out) {
    const char *ends[] = {end, NULL};
    bool ok = true;
    *out = body(c, ends, &ok);
    if (!ok) return false;
    c->at++;
    return expect_block_end(c);
}

static bool is_reserved(struct power_text name) {
    static const char *const words[] = {"true", "false", "none", "True", "False", "None"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (power_text_equal(name, power_text_of(words[i]))) return true;
    }
    return false;
}

static struct jinja_node *read_target(struct jinja_compiler *c, bool with_namespace,
                                      const char *until);

static struct jinja_node *target_part(struct jinja_compiler *c, bool with_namespace) {
    const struct jinja_token *t = power_jinja_peek(c);
    if (power_jinja_skip_op(c, "(")) {
        struct jinja_node *inner = read_target(c, with_namespace, NULL);
        return inner && power_jinja_expect_op(c, ")") ? inner : NULL;
    }
    if (t->kind != TOKEN_NAME || is_reserved(t->text)) {
        power_jinja_syntax(c, t->line, t->column, "can't assign to \"%s\"",
                           power_quote(t->text.bytes, t->text.length).text);
        return NULL;
    }
    struct jinja_node *node = power_jinja_node(c, NODE_NAME, t);
    if (!node) return NULL;
    c->at++;
    node->text = t->text;
    if (!with_namespace || !power_jinja_is_op(c, ".")) return node;
    c->at++;
    node->kind = NODE_NAMESPACE_TARGET;
    node->text2 = node->text;
    return expect_name(c, &node->text) ? node : NULL;
}

static struct jinja_node *read_target(struct jinja_compiler *c, bool with_namespace,
                                      const char *until) {
    const struct jinja_token *at = power_jinja_peek(c);
    struct jinja_node *first = target_part(c, with_namespace);
    if (!first || !power_jinja_is_op(c, ",")) return first;
    struct jinja_node *node = power_jinja_node(c, NODE_TUPLE, at);
    if (!node) return NULL;
    struct jinja_node **tail = &node->list;
    *tail = first;
    while (power_jinja_skip_op(c, ",")) {
        if (power_jinja_is_op(c, "=") || power_jinja_is_op(c, ")") ||
            (until && power_jinja_is_name(c, until)))
            break;
        tail = &(*tail)->next;
        if (!(*tail = target_part(c, with_namespace))) return NULL;
    }
    return power_jinja_seal(c, node);
}

static bool read_for(struct jinja_compiler *c, struct jinja_node *node) {
    static const char *const ends[] = {"else", "endfor", NULL};
    node->a = read_target(c, false, "in");
    if (!node->a) return false;
    if (!power_jinja_skip_name(c, "in")) return power_jinja_unexpected(c) != NULL;
    node->b = power_jinja_tuple(c, false, "recursive");
    if (!node->b) return false;
    if (power_jinja_skip_name(c, "if") && !(node->c = power_jinja_expression(c, true)))
        return false;
    node->flag = power_jinja_skip_name(c, "recursive");
    if (!expect_block_end(c)) return false;
    bool ok = true;
    c->loops++;
    unsigned soft = c->soft;
    c->soft = 0; /* a loop begins a frame of its own */
    node->list = body(c, ends, &ok);
    c->loops--;
    if (ok && power_jinja_skip_name(c, "else"))
        ok = expect_block_end(c) && body_until(c, "endfor", &node->other);
    else if (ok)
        ok = power_jinja_skip_name(c, "endfor") && expect_block_end(c);
    c->soft = soft;
    return ok;
}

static bool read_if(struct jinja_compiler *c, struct jinja_node *node) {
    static const char *const ends[] = {"elif", "else", "endif", NULL};
    struct jinja_node *first = node;
    bool ok = true;
    c->soft++;
    for (;;) {
        node->a = power_jinja_tuple(c, false, NULL);
        ok = node->a && expect_block_end(c);
        if (ok) node->list = body(c, ends, &ok);
        const struct jinja_token *t = power_jinja_peek(c);
        if (!ok || !power_jinja_skip_name(c, "elif")) break;
        struct jinja_node *next = power_jinja_node(c, NODE_IF, t);
        if (!next) return false;
        node->other = next;
        node->flag = true; /* `other` is an elif */
        node = next;
    }
    if (ok && power_jinja_skip_name(c, "else"))
        ok = expect_block_end(c) && body_until(c, "endif", &node->other);
    else if (ok)
        ok = power_jinja_skip_name(c, "endif") && expect_block_end(c);
    c->soft--;
    /* a chain of elifs does not nest: the executor walks it */
    for (struct jinja_node *n = first; ok; n = n->other) {
        struct jinja_node *other = n->flag ? n->other : NULL;
        struct jinja_node *kept = n->other;
        if (other) n->other = NULL;
        ok = power_jinja_seal(c, n) != NULL;
        n->other = kept;
        if (other && other->depth > first->depth) first->depth = other->depth;
        if (!other) break;
    }
    return ok;
}

static bool read_set(struct jinja_compiler *c, struct jinja_node *node) {
    node->a = read_target(c, true, NULL);
    if (!node->a) return false;
    if (power_jinja_skip_op(c, "=")) {
        node->b = power_jinja_tuple(c, true, NULL);
        return node->b && expect_block_end(c);
    }
    node->kind = NODE_SET_BLOCK;
    c->soft = 0; /* a frame of its own; the caller restores it */
    c->frames++;
    if (power_jinja_is_op(c, "|") && !(node->b = power_jinja_filters(c, NULL, false))) return false;
    return expect_block_end(c) && body_until(c, "endset", &node->list);
}

/* (a, b=1, ...) */
static bool read_parameters(struct jinja_compiler *c, struct jinja_node *node) {
    struct jinja_node **tail = &node->other;
    bool defaults = false;
    if (!power_jinja_expect_op(c, "(")) return false;
    while (!power_jinja_is_op(c, ")")) {
        if (node->other && !power_jinja_expect_op(c, ",")) return false;
        struct jinja_node *p = power_jinja_node(c, NODE_PARAM, power_jinja_peek(c));
        if (!p || !expect_name(c, &p->text)) return false;
        if (is_reserved(p->text))
            return power_jinja_syntax(c, p->line, p->column, "can't assign to \"%s\"",
                                      power_quote(p->text.bytes, p->text.length).text);
        if (power_jinja_skip_op(c, "=")) {
            defaults = true;
            if (!(p->a = power_jinja_expression(c, true))) return false;
        } else if (defaults) {
            return power_jinja_syntax(c, p->line, p->column,
                                      "non-default argument follows default argument");
        }
        for (const struct jinja_node *q = node->other; q; q = q->next) {
            if (power_text_equal(q->text, p->text))
                return power_jinja_syntax(c, p->line, p->column, "parameter \"%s\" twice",
                                          power_quote(p->text.bytes, p->text.length).text);
        }
        if (!(*tail = power_jinja_seal(c, p))) return false;
        tail = &p->next;
    }
    return power_jinja_expect_op(c, ")");
}

/* The parameters are read, the tag's end is next. */
static bool macro_body(struct jinja_compiler *c, struct jinja_node *node, const char *end) {
    struct jinja_node *outer = c->macro;
    unsigned loops = c->loops, soft = c->soft;
    c->macro = node;
    c->loops = c->soft = 0;
    bool ok = expect_block_end(c) && body_until(c, end, &node->list);
    c->macro = outer;
    if (outer) { /* what an inner macro reads counts for the outer one too, as in Jinja2 */
        outer->varargs = outer->varargs || node->varargs;
        outer->kwargs = outer->kwargs || node->kwargs;
        outer->caller = outer->caller || node->caller;
    }
    c->loops = loops;
    c->soft = soft;
    return ok;
}

static bool read_macro(struct jinja_compiler *c, struct jinja_node *node) {
    return expect_name(c, &node->text) && read_parameters(c, node) &&
           macro_body(c, node, "endmacro");
}

static bool read_call(struct jinja_compiler *c, struct jinja_node *node) {
    if (power_jinja_is_op(c, "(") && !read_parameters(c, node)) return false;
    const struct jinja_token *at = power_jinja_peek(c);
    node->a = power_jinja_expression(c, true);
    if (!node->a) return false;
    if (node->a->kind != NODE_CALL)
        return power_jinja_syntax(c, at->line, at->column, "expected call");
    node->text = POWER_TEXT("caller");
    return macro_body(c, node, "endcall");
}

static bool read_filter(struct jinja_compiler *c, struct jinja_node *node) {
    node->b = power_jinja_filters(c, NULL, true);
    return node->b && expect_block_end(c) && body_until(c, "endfilter", &node->list);
}

static bool read_with(struct jinja_compiler *c, struct jinja_node *node) {
    struct jinja_node **tail = &node->other;
    while (power_jinja_peek(c)->kind != TOKEN_BLOCK_END) {
        if (node->other && !power_jinja_expect_op(c, ",")) return false;
        struct jinja_node *set = power_jinja_node(c, NODE_SET, power_jinja_peek(c));
        if (!set || !(set->a = target_part(c, false)) || !power_jinja_expect_op(c, "=") ||
            !(set->b = power_jinja_expression(c, true)))
            return false;
        if (!(*tail = power_jinja_seal(c, set))) return false;
        tail = &set->next;
    }
    return expect_block_end(c) && body_until(c, "endwith", &node->list);
}

/* The caller of a call block: a scope of its own, which loop controls do not leave. */
static bool read_generation(struct jinja_compiler *c, struct jinja_node *node) {
    unsigned loops = c->loops;
    c->loops = 0;
    bool ok = expect_block_end(c) && body_until(c, "endgeneration", &node->list);
    c->loops = loops;
    return ok;
}

/* Only white space and comments may stand in a required block. */
static bool is_blank(const struct jinja_node *list) {
    for (; list; list = list->next) {
        if (list->kind != NODE_DATA) return false;
        if (power_jinja_strip(list->text, NULL, 3).length) return false;
    }
    return true;
}

static bool remember_block(struct jinja_compiler *c, struct jinja_node *node) {
    for (const struct jinja_node *n = c->blocks; n; n = n->other) {
        if (power_text_equal(n->text, node->text))
            return power_jinja_syntax(c, node->line, node->column, "block \"%s\" defined twice",
                                      power_quote(node->text.bytes, node->text.length).text);
    }
    if (++c->n_blocks > MAX_BLOCKS)
        return power_jinja_syntax(c, node->line, node->column, "more than %d blocks", MAX_BLOCKS);
    node->other = c->blocks;
    c->blocks = node;
    return true;
}

static bool read_block(struct jinja_compiler *c, struct jinja_node *node) {
    const char *ends[] = {"endblock", NULL};
    unsigned loops = c->loops;
    if (!expect_name(c, &node->text) || !remember_block(c, node)) return false;
    if (power_jinja_is_op(c, "-"))
        return power_jinja_syntax(c, node->line, node->column, "a block's name has no hyphens");
    node->kwargs = power_jinja_skip_name(c, "scoped");
    node->varargs = power_jinja_skip_name(c, "required");
    bool ok = expect_block_end(c);
    c->loops = 0;
    if (ok) node->list = body(c, ends, &ok);
    c->loops = loops;
    if (!ok) return false;
    if (node->varargs && !is_blank(node->list))
        return power_jinja_syntax(c, node->line, node->column,
                                  "required blocks can only contain comments or white space");
    c->at++;
    if (power_jinja_peek(c)->kind == TOKEN_NAME &&
        power_text_equal(power_jinja_peek(c)->text, node->text))
        c->at++; /* its name again */
    return expect_block_end(c);
}

/* [with context] or [without context] */
static void skip_context(struct jinja_compiler *c) {
    const struct jinja_token *t = power_jinja_peek(c);
    if (!power_jinja_is_name(c, "with") && !power_jinja_is_name(c, "without")) return;
    if (t[1].kind == TOKEN_NAME && power_text_equal(t[1].text, POWER_TEXT("context"))) c->at += 2;
}

/* a or a as b, ...; the names begin undefined */
static bool read_imported(struct jinja_compiler *c) {
    struct power_text name;
    bool more = true;
    for (size_t n = 0; more; n++) {
        const struct jinja_token *t = power_jinja_peek(c);
        if (!expect_name(c, &name)) return false;
        if (name.bytes[0] == '_')
            return power_jinja_syntax(c, t->line, t->column,
                                      "names starting with an underline can not be imported");
        if (power_jinja_skip_name(c, "as") && !expect_name(c, &name)) return false;
        skip_context(c);
        more = power_jinja_skip_op(c, ",");
    }
    return true;
}

/* include, import, from, extends: their grammar is read; no loader exists. */
static bool read_foreign(struct jinja_compiler *c, struct jinja_node *node) {
    struct power_text tag = c->tokens.items[c->at - 1].text, name;
    node->text = tag;
    if (c->frames && power_text_equal(tag, POWER_TEXT("extends")))
        return power_jinja_syntax(c, node->line, node->column,
                                  "extends stands in a scope that is not the top level");
    if (!(node->a = power_jinja_expression(c, true))) return false;
    if (power_text_equal(tag, POWER_TEXT("include"))) {
        if (power_jinja_skip_name(c, "ignore") && !power_jinja_skip_name(c, "missing"))
            return power_jinja_unexpected(c) != NULL;
        skip_context(c);
    } else if (power_text_equal(tag, POWER_TEXT("import"))) {
        if (!power_jinja_skip_name(c, "as") || !expect_name(c, &name))
            return power_jinja_unexpected(c) != NULL;
        skip_context(c);
    } else if (power_text_equal(tag, POWER_TEXT("from"))) {
        if (!power_jinja_skip_name(c, "import")) return power_jinja_unexpected(c) != NULL;
        if (!read_imported(c)) return false;
    }
    return expect_block_end(c);
}

/* Escaping can be switched off, where it is already. */
static bool read_autoescape(struct jinja_compiler *c, struct jinja_node *node) {
    node->text = c->tokens.items[c->at - 1].text;
    if (!(node->a = power_jinja_expression(c, true)) || !expect_block_end(c) ||
        !body_until(c, "endautoescape", &node->list))
        return false;
    bool off = node->a->kind == NODE_CONST && !power_jinja_truth(node->a->value);
    if (off) node->kind = NODE_SCOPE;
    node->a = NULL;
    return true;
}

/* print a, b */
static bool read_print(struct jinja_compiler *c, struct jinja_node *node) {
    struct jinja_node **tail = &node->list;
    while (power_jinja_peek(c)->kind != TOKEN_BLOCK_END) {
        if (node->list && !power_jinja_expect_op(c, ",")) return false;
        struct jinja_node *part = power_jinja_node(c, NODE_OUTPUT, power_jinja_peek(c));
        if (!part || !(part->a = power_jinja_expression(c, true))) return false;
        if (!(*tail = power_jinja_seal(c, part))) return false;
        tail = &part->next;
    }
    return expect_block_end(c);
}

static bool read_loop_control(struct jinja_compiler *c, struct jinja_node *node) {
    if (c->loops) return expect_block_end(c);
    return power_jinja_syntax(c, node->line, node->column, "\"%s\" outside a loop",
                              node->kind == NODE_BREAK ? "break" : "continue");
}

static const struct {
    const char *tag;
    enum jinja_kind kind;
    bool (*read)(struct jinja_compiler *c, struct jinja_node *node);
} tags[] = {{"for", NODE_FOR, read_for},
            {"if", NODE_IF, read_if},
            {"set", NODE_SET, read_set},
            {"macro", NODE_MACRO, read_macro},
            {"call", NODE_CALL_BLOCK, read_call},
            {"filter", NODE_FILTER_BLOCK, read_filter},
            {"with", NODE_WITH, read_with},
            {"generation", NODE_SCOPE, read_generation},
            {"block", NODE_BLOCK, read_block},
            {"include", NODE_FOREIGN, read_foreign},
            {"import", NODE_FOREIGN, read_foreign},
            {"from", NODE_FOREIGN, read_foreign},
            {"extends", NODE_FOREIGN, read_foreign},
            {"autoescape", NODE_FOREIGN, read_autoescape},
            {"print", NODE_SCOPE, read_print},
            {"break", NODE_BREAK, read_loop_control},
            {"continue", NODE_CONTINUE, read_loop_control}};

/* Tags whose content is a frame of its own: there an unknown filter is an error at once. */
static bool begins_frame(enum jinja_kind kind) {
    return kind == NODE_FILTER_BLOCK || kind == NODE_WITH || kind == NODE_SCOPE ||
           kind == NODE_BLOCK || kind == NODE_MACRO;
}

static struct jinja_node *statement(struct jinja_compiler *c) {
    const struct jinja_token *t = power_jinja_peek(c);
    if (t->kind != TOKEN_NAME) {
        power_jinja_syntax(c, t->line, t->column, "tag name expected");
        return NULL;
    }
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        if (!power_text_equal(t->text, power_text_of(tags[i].tag))) continue;
        struct jinja_node *node = power_jinja_node(c, tags[i].kind, t);
        c->at++;
        if (node) node->flag = false;
        bool scope = tags[i].read != read_print;
        unsigned soft = c->soft, frames = c->frames;
        if (begins_frame(tags[i].kind)) c->soft = 0;
        if (begins_frame(tags[i].kind) || tags[i].kind == NODE_FOR ||
            tags[i].kind == NODE_CALL_BLOCK)
            c->frames++;
        if (tags[i].kind == NODE_BLOCK) c->frames = 0;
        bool ok = node && tags[i].read(c, node);
        c->soft = soft;
        c->frames = frames;
        if (!ok) {
            if (c->status == POWER_OK) power_jinja_unexpected(c);
            return NULL;
        }
        if (node->kind == NODE_SCOPE) node->flag = scope;
        return node->kind == NODE_IF ? node : power_jinja_seal(c, node);
    }
    power_jinja_syntax(c, t->line, t->column, "unknown tag \"%s\"",
                       power_quote(t->text.bytes, t->text.length).text);
    return NULL;
}

static struct jinja_node *output(struct jinja_compiler *c) {
    struct jinja_node *node = power_jinja_node(c, NODE_OUTPUT, power_jinja_take(c));
    if (!node || !(node->a = power_jinja_tuple(c, true, NULL))) return NULL;
    if (power_jinja_peek(c)->kind != TOKEN_VARIABLE_END) return power_jinja_unexpected(c);
    c->at++;
    return power_jinja_seal(c, node);
}

static bool is_end(const struct jinja_compiler *c, const char *const *ends) {
    for (; ends && *ends; ends++) {
        if (power_jinja_is_name(c, *ends)) return true;
    }
    return false;
}

/* Nodes up to a tag of `ends`, whose name is next then; all of the template when `ends` is NULL. */
static struct jinja_node *body(struct jinja_compiler *c, const char *const *ends, bool *ok) {
    struct jinja_node *first = NULL, **tail = &first;
    *ok = false;
    if (++c->depth > POWER_JINJA_MAX_EXPRESSION) {
        const struct jinja_token *t = power_jinja_peek(c);
        power_jinja_syntax(c, t->line, t->column, "nesting is too deep");
        return NULL;
    }
    for (;;) {
        const struct jinja_token *t = power_jinja_peek(c);
        if (t->kind == TOKEN_END) {
            const char *last = "";
            for (size_t i = 0; ends && ends[i]; i++)
                last = ends[i];
            if (ends)
                power_jinja_syntax(c, t->line, t->column,
                                   "unexpected end of template, \"%s\" is missing", last);
            *ok = ends == NULL;
            break;
        }
        if (t->kind == TOKEN_DATA) {
            if ((*tail = power_jinja_node(c, NODE_DATA, t))) (*tail)->text = t->text;
            c->at++;
        } else if (t->kind == TOKEN_VARIABLE_BEGIN) {
            *tail = output(c);
        } else {
            c->at++; /* the tag's begin */
            if (is_end(c, ends)) {
                *ok = true;
                break;
            }
            *tail = statement(c);
        }
        if (!*tail) break;
        tail = &(*tail)->next;
    }
    c->depth--;
    return first;
}

struct jinja_node *power_jinja_parse(struct jinja_compiler *c) {
    bool ok;
    struct jinja_node *first = body(c, NULL, &ok);
    return ok ? first : NULL;
}
