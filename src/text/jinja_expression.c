/* SPDX-License-Identifier: MIT */
/* Job: expressions of a template to syntax trees. Input: tokens. Output: nodes.
 * Threads: compiling one. Bounds: nesting of at most POWER_JINJA_MAX_EXPRESSION.
 * One function a level of precedence, from the condition down to the primary. */
#include "text/jinja.h"

const struct jinja_token *power_jinja_peek(const struct jinja_compiler *c) {
    return &c->tokens.items[c->at];
}

const struct jinja_token *power_jinja_take(struct jinja_compiler *c) {
    const struct jinja_token *token = &c->tokens.items[c->at];
    if (token->kind != TOKEN_END) c->at++;
    return token;
}

static bool token_is(const struct jinja_token *token, enum jinja_token_kind kind,
                     const char *text) {
    return token->kind == kind && power_text_equal(token->text, power_text_of(text));
}

bool power_jinja_is_op(const struct jinja_compiler *c, const char *op) {
    return token_is(power_jinja_peek(c), TOKEN_OPERATOR, op);
}

bool power_jinja_is_name(const struct jinja_compiler *c, const char *name) {
    return token_is(power_jinja_peek(c), TOKEN_NAME, name);
}

bool power_jinja_skip_op(struct jinja_compiler *c, const char *op) {
    if (!power_jinja_is_op(c, op)) return false;
    c->at++;
    return true;
}

bool power_jinja_skip_name(struct jinja_compiler *c, const char *name) {
    if (!power_jinja_is_name(c, name)) return false;
    c->at++;
    return true;
}

struct jinja_node *power_jinja_unexpected(struct jinja_compiler *c) {
    const struct jinja_token *t = power_jinja_peek(c);
    if (t->kind == TOKEN_END)
        power_jinja_syntax(c, t->line, t->column, "unexpected end of template");
    else
        power_jinja_syntax(c, t->line, t->column, "unexpected \"%s\"",
                           power_quote(t->text.bytes, t->text.length).text);
    return NULL;
}

bool power_jinja_expect_op(struct jinja_compiler *c, const char *op) {
    if (power_jinja_skip_op(c, op)) return true;
    const struct jinja_token *t = power_jinja_peek(c);
    return power_jinja_syntax(c, t->line, t->column, "expected \"%s\", found \"%s\"", op,
                              power_quote(t->text.bytes, t->text.length).text);
}

struct jinja_node *power_jinja_node(struct jinja_compiler *c, enum jinja_kind kind,
                                    const struct jinja_token *at) {
    struct jinja_node *node = power_arena_alloc(c->arena, 1, sizeof *node);
    if (!node) {
        c->status = power_fail_memory(c->error, sizeof *node, "template");
        return NULL;
    }
    node->kind = kind;
    node->line = at->line;
    node->column = at->column;
    node->id = -1;
    return node;
}

static unsigned depth_of(const struct jinja_node *list) {
    unsigned depth = 0;
    for (; list; list = list->next) {
        if (list->depth > depth) depth = list->depth;
    }
    return depth;
}

struct jinja_node *power_jinja_seal(struct jinja_compiler *c, struct jinja_node *node) {
    const struct jinja_node *one[] = {node->a, node->b, node->c};
    unsigned depth = depth_of(node->list);
    for (size_t i = 0; i < 3; i++) {
        if (one[i] && one[i]->depth > depth) depth = one[i]->depth;
    }
    unsigned other = depth_of(node->other);
    depth = (other > depth ? other : depth) + 1;
    if (depth > POWER_JINJA_MAX_EXPRESSION) {
        power_jinja_syntax(c, node->line, node->column, "nesting is deeper than %d",
                           POWER_JINJA_MAX_EXPRESSION);
        return NULL;
    }
    node->depth = (uint16_t)depth;
    return node;
}

/* A node of two children, which may be NULL after a failure. */
static struct jinja_node *join(struct jinja_compiler *c, enum jinja_kind kind, enum jinja_op op,
                               const struct jinja_token *at, struct jinja_node *a,
                               struct jinja_node *b) {
    struct jinja_node *node = a && b ? power_jinja_node(c, kind, at) : NULL;
    if (!node) return NULL;
    node->op = op;
    node->a = a;
    node->b = b;
    return power_jinja_seal(c, node);
}

static struct jinja_node *constant(struct jinja_compiler *c, const struct jinja_token *at,
                                   struct jinja_value value) {
    struct jinja_node *node = power_jinja_node(c, NODE_CONST, at);
    if (node) node->value = value;
    return node;
}

static bool enter(struct jinja_compiler *c) {
    const struct jinja_token *t = power_jinja_peek(c);
    if (c->depth++ < POWER_JINJA_MAX_EXPRESSION) return true;
    return power_jinja_syntax(c, t->line, t->column, "nesting is deeper than %d",
                              POWER_JINJA_MAX_EXPRESSION);
}

/* ---- primaries ---- */

static struct jinja_node *name_or_word(struct jinja_compiler *c) {
    const struct jinja_token *t = power_jinja_take(c);
    if (token_is(t, TOKEN_NAME, "true") || token_is(t, TOKEN_NAME, "True"))
        return constant(c, t, power_jinja_bool(true));
    if (token_is(t, TOKEN_NAME, "false") || token_is(t, TOKEN_NAME, "False"))
        return constant(c, t, power_jinja_bool(false));
    if (token_is(t, TOKEN_NAME, "none") || token_is(t, TOKEN_NAME, "None"))
        return constant(c, t, power_jinja_none());
    struct jinja_node *node = power_jinja_node(c, NODE_NAME, t);
    if (!node) return NULL;
    node->text = t->text;
    if (c->macro && power_text_equal(t->text, POWER_TEXT("varargs"))) c->macro->varargs = true;
    if (c->macro && power_text_equal(t->text, POWER_TEXT("kwargs"))) c->macro->kwargs = true;
    if (c->macro && power_text_equal(t->text, POWER_TEXT("caller"))) c->macro->caller = true;
    return node;
}

/* Strings side by side are one. */
static struct jinja_node *string(struct jinja_compiler *c) {
    const struct jinja_token *first = power_jinja_take(c);
    struct power_text text = first->text;
    while (power_jinja_peek(c)->kind == TOKEN_STRING) {
        struct power_text more = power_jinja_take(c)->text;
        char *both = power_arena_alloc(c->arena, text.length + more.length + 1, 1);
        if (!both) {
            c->status = power_fail_memory(c->error, text.length, "template");
            return NULL;
        }
        if (text.length) memcpy(both, text.bytes, text.length);
        if (more.length) memcpy(both + text.length, more.bytes, more.length);
        text = (struct power_text){both, text.length + more.length};
    }
    return constant(c, first, power_jinja_borrow(text));
}

static struct jinja_node *list_literal(struct jinja_compiler *c) {
    struct jinja_node *node = power_jinja_node(c, NODE_LIST, power_jinja_take(c));
    struct jinja_node **tail = node ? &node->list : NULL;
    while (node && !power_jinja_is_op(c, "]")) {
        if (node->list && !power_jinja_expect_op(c, ",")) return NULL;
        if (power_jinja_is_op(c, "]")) break;
        if (!(*tail = power_jinja_expression(c, true))) return NULL;
        tail = &(*tail)->next;
    }
    return node && power_jinja_expect_op(c, "]") ? power_jinja_seal(c, node) : NULL;
}

static struct jinja_node *dict_literal(struct jinja_compiler *c) {
    struct jinja_node *node = power_jinja_node(c, NODE_DICT, power_jinja_take(c));
    struct jinja_node **tail = node ? &node->list : NULL;
    while (node && !power_jinja_is_op(c, "}")) {
        if (node->list && !power_jinja_expect_op(c, ",")) return NULL;
        if (power_jinja_is_op(c, "}")) break;
        const struct jinja_token *at = power_jinja_peek(c);
        struct jinja_node *key = power_jinja_expression(c, true);
        if (!key || !power_jinja_expect_op(c, ":")) return NULL;
        *tail = join(c, NODE_PAIR, OP_NONE, at, key, power_jinja_expression(c, true));
        if (!*tail) return NULL;
        tail = &(*tail)->next;
    }
    return node && power_jinja_expect_op(c, "}") ? power_jinja_seal(c, node) : NULL;
}

static struct jinja_node *parentheses(struct jinja_compiler *c) {
    const struct jinja_token *at = power_jinja_take(c);
    if (power_jinja_skip_op(c, ")")) return power_jinja_node(c, NODE_TUPLE, at);
    struct jinja_node *node = power_jinja_tuple(c, true, NULL);
    return node && power_jinja_expect_op(c, ")") ? node : NULL;
}

static struct jinja_node *big_integer(struct jinja_compiler *c) {
    const struct jinja_token *t = power_jinja_take(c);
    struct jinja_node *node = power_jinja_node(c, NODE_BIG, t);
    if (!node) return NULL;
    node->text = t->text;
    node->id = (int)t->as.i;
    return node;
}

static struct jinja_node *primary(struct jinja_compiler *c) {
    const struct jinja_token *t = power_jinja_peek(c);
    if (t->kind == TOKEN_NAME) return name_or_word(c);
    if (t->kind == TOKEN_STRING) return string(c);
    if (t->kind == TOKEN_INTEGER) return constant(c, power_jinja_take(c), power_jinja_int(t->as.i));
    if (t->kind == TOKEN_FLOAT) return constant(c, power_jinja_take(c), power_jinja_float(t->as.f));
    if (t->kind == TOKEN_BIG) return big_integer(c);
    if (power_jinja_is_op(c, "(")) return parentheses(c);
    if (power_jinja_is_op(c, "[")) return list_literal(c);
    if (power_jinja_is_op(c, "{")) return dict_literal(c);
    return power_jinja_unexpected(c);
}

/* ---- postfix: attributes, items, calls, filters, tests ---- */

static struct jinja_node *slice_or_index(struct jinja_compiler *c) {
    const struct jinja_token *at = power_jinja_peek(c);
    struct jinja_node *part[3] = {NULL, NULL, NULL};
    int n = 0;
    while (!power_jinja_is_op(c, "]") && !power_jinja_is_op(c, ",")) {
        if (power_jinja_skip_op(c, ":")) {
            if (++n > 2) return power_jinja_unexpected(c);
            continue;
        }
        if (part[n]) return power_jinja_unexpected(c);
        if (!(part[n] = power_jinja_expression(c, true))) return NULL;
    }
    if (n == 0) return part[0] ? part[0] : power_jinja_unexpected(c);
    struct jinja_node *node = power_jinja_node(c, NODE_SLICE, at);
    if (!node) return NULL;
    node->a = part[0];
    node->b = part[1];
    node->c = part[2];
    return power_jinja_seal(c, node);
}

/* The index behind `[`; several make a tuple. */
static struct jinja_node *subscript(struct jinja_compiler *c) {
    const struct jinja_token *at = power_jinja_peek(c);
    struct jinja_node *first = slice_or_index(c);
    if (!first || !power_jinja_is_op(c, ",")) return first;
    struct jinja_node *tuple = power_jinja_node(c, NODE_TUPLE, at);
    if (!tuple) return NULL;
    struct jinja_node **tail = &tuple->list;
    *tail = first;
    while (power_jinja_skip_op(c, ",")) {
        tail = &(*tail)->next;
        if (!(*tail = slice_or_index(c))) return NULL;
    }
    return power_jinja_seal(c, tuple);
}

static struct jinja_node *access(struct jinja_compiler *c, struct jinja_node *owner) {
    const struct jinja_token *at = power_jinja_take(c);
    if (at->text.bytes[0] == '[') {
        struct jinja_node *node = join(c, NODE_ITEM, OP_NONE, at, owner, subscript(c));
        return node && power_jinja_expect_op(c, "]") ? node : NULL;
    }
    const struct jinja_token *t = power_jinja_take(c);
    if (t->kind == TOKEN_INTEGER)
        return join(c, NODE_ITEM, OP_NONE, at, owner, constant(c, t, power_jinja_int(t->as.i)));
    if (t->kind != TOKEN_NAME) {
        power_jinja_syntax(c, t->line, t->column, "expected a name or a number after \".\"");
        return NULL;
    }
    struct jinja_node *node = power_jinja_node(c, NODE_ATTRIBUTE, at);
    if (!node) return NULL;
    node->a = owner;
    node->text = t->text;
    return power_jinja_seal(c, node);
}

static struct jinja_node *argument(struct jinja_compiler *c) {
    struct jinja_node *node = power_jinja_node(c, NODE_ARG, power_jinja_peek(c));
    if (!node) return NULL;
    const struct jinja_token *t = power_jinja_peek(c);
    if (power_jinja_skip_op(c, "**")) {
        node->arg = ARG_DICT;
    } else if (power_jinja_skip_op(c, "*")) {
        node->arg = ARG_LIST;
    } else if (t->kind == TOKEN_NAME && token_is(t + 1, TOKEN_OPERATOR, "=")) {
        node->arg = ARG_KEYWORD;
        node->text = t->text;
        c->at += 2;
    }
    node->a = power_jinja_expression(c, true);
    return node->a ? power_jinja_seal(c, node) : NULL;
}

/* The order of arguments: positions, *list and keywords, **dict. */
static bool argument_fits(struct jinja_compiler *c, const struct jinja_node *node, unsigned *seen) {
    static const unsigned after[] = {1u << ARG_KEYWORD | 1u << ARG_LIST | 1u << ARG_DICT,
                                     1u << ARG_DICT, 1u << ARG_LIST | 1u << ARG_DICT,
                                     1u << ARG_DICT};
    if (*seen & after[node->arg])
        return power_jinja_syntax(c, node->line, node->column,
                                  "invalid syntax for function call expression");
    *seen |= 1u << node->arg;
    return true;
}

static struct jinja_node *call_suffix(struct jinja_compiler *c, struct jinja_node *callee) {
    struct jinja_node *node = power_jinja_node(c, NODE_CALL, power_jinja_peek(c));
    if (!node || !power_jinja_expect_op(c, "(")) return NULL;
    node->a = callee;
    struct jinja_node **tail = &node->list;
    unsigned seen = 0;
    while (!power_jinja_is_op(c, ")")) {
        if (node->list && !power_jinja_expect_op(c, ",")) return NULL;
        if (power_jinja_is_op(c, ")")) break;
        if (!(*tail = argument(c)) || !argument_fits(c, *tail, &seen)) return NULL;
        tail = &(*tail)->next;
    }
    if (!power_jinja_expect_op(c, ")")) return NULL;
    return callee ? power_jinja_seal(c, node) : node;
}

static struct jinja_node *postfix(struct jinja_compiler *c, struct jinja_node *node) {
    while (node) {
        if (power_jinja_is_op(c, ".") || power_jinja_is_op(c, "["))
            node = access(c, node);
        else if (power_jinja_is_op(c, "("))
            node = call_suffix(c, node);
        else
            break;
    }
    return node;
}

/* name or name.name */
static bool dotted_name(struct jinja_compiler *c, struct power_text *out) {
    const struct jinja_token *t = power_jinja_take(c);
    if (t->kind != TOKEN_NAME) return power_jinja_syntax(c, t->line, t->column, "expected a name");
    *out = t->text;
    while (power_jinja_is_op(c, ".") && t[2].kind == TOKEN_NAME) {
        c->at += 2;
        size_t length = (size_t)(t[2].text.bytes + t[2].text.length - out->bytes);
        *out = (struct power_text){out->bytes, length};
        t += 2;
    }
    return true;
}

static bool unknown(struct jinja_compiler *c, const struct jinja_node *node) {
    return power_jinja_syntax(c, node->line, node->column, "no %s named \"%s\"",
                              node->kind == NODE_FILTER ? "filter" : "test",
                              power_quote(node->text.bytes, node->text.length).text);
}

static bool resolve(struct jinja_compiler *c, struct jinja_node *node) {
    node->id = node->kind == NODE_FILTER ? power_jinja_filter_find(node->text)
                                         : power_jinja_test_find(node->text);
    if (node->id >= 0) return true;
    if (!c->soft) return unknown(c, node);
    if (!c->unknown) c->unknown = node;
    return true;
}

struct jinja_node *power_jinja_filters(struct jinja_compiler *c, struct jinja_node *input,
                                       bool first_without_pipe) {
    bool first = first_without_pipe;
    struct jinja_node *node = input;
    while (first || power_jinja_is_op(c, "|")) {
        if (!first) c->at++;
        first = false;
        struct jinja_node *filter = power_jinja_node(c, NODE_FILTER, power_jinja_peek(c));
        if (!filter || !dotted_name(c, &filter->text) || !resolve(c, filter)) return NULL;
        filter->a = node;
        if (power_jinja_is_op(c, "(")) {
            struct jinja_node *call = call_suffix(c, NULL);
            if (!call) return NULL;
            filter->list = call->list;
        }
        if (!(node = power_jinja_seal(c, filter))) return NULL;
    }
    return node;
}

static bool starts_argument(const struct jinja_compiler *c) {
    const struct jinja_token *t = power_jinja_peek(c);
    if (t->kind == TOKEN_STRING || t->kind == TOKEN_INTEGER || t->kind == TOKEN_BIG ||
        t->kind == TOKEN_FLOAT)
        return true;
    if (t->kind == TOKEN_NAME)
        return !power_jinja_is_name(c, "else") && !power_jinja_is_name(c, "or") &&
               !power_jinja_is_name(c, "and") && !power_jinja_is_name(c, "is");
    return power_jinja_is_op(c, "[") || power_jinja_is_op(c, "{");
}

static struct jinja_node *test(struct jinja_compiler *c, struct jinja_node *input) {
    const struct jinja_token *at = power_jinja_take(c); /* is */
    bool negated = power_jinja_skip_name(c, "not");
    struct jinja_node *node = power_jinja_node(c, NODE_TEST, power_jinja_peek(c));
    if (!node || !dotted_name(c, &node->text) || !resolve(c, node)) return NULL;
    node->a = input;
    if (power_jinja_is_op(c, "(")) {
        struct jinja_node *call = call_suffix(c, NULL);
        if (!call) return NULL;
        node->list = call->list;
    } else if (starts_argument(c)) {
        struct jinja_node *arg = power_jinja_node(c, NODE_ARG, power_jinja_peek(c));
        if (!arg || !(arg->a = postfix(c, primary(c)))) return NULL;
        if (!(node->list = power_jinja_seal(c, arg))) return NULL;
    } else if (power_jinja_is_name(c, "is")) {
        power_jinja_syntax(c, at->line, at->column, "tests can't be chained with \"is\"");
        return NULL;
    }
    node = power_jinja_seal(c, node);
    if (!negated || !node) return node;
    struct jinja_node *inverse = power_jinja_node(c, NODE_UNARY, at);
    if (!inverse) return NULL;
    inverse->op = OP_NOT;
    inverse->a = node;
    return power_jinja_seal(c, inverse);
}

/* Filters, tests and calls of their results. */
static struct jinja_node *filtered(struct jinja_compiler *c, struct jinja_node *node) {
    while (node) {
        if (power_jinja_is_op(c, "|"))
            node = power_jinja_filters(c, node, false);
        else if (power_jinja_is_name(c, "is"))
            node = test(c, node);
        else if (power_jinja_is_op(c, "("))
            node = call_suffix(c, node);
        else
            break;
    }
    return node;
}

/* ---- operators ---- */

static struct jinja_node *unary(struct jinja_compiler *c, bool with_filters) {
    const struct jinja_token *at = power_jinja_peek(c);
    bool minus = power_jinja_is_op(c, "-");
    struct jinja_node *node;
    if (minus || power_jinja_is_op(c, "+")) {
        c->at++;
        if (!enter(c)) return NULL;
        struct jinja_node *operand = unary(c, false);
        c->depth--;
        node = operand ? power_jinja_node(c, NODE_UNARY, at) : NULL;
        if (!node) return NULL;
        node->op = minus ? OP_NEG : OP_POS;
        node->a = operand;
        node = power_jinja_seal(c, node);
    } else {
        node = primary(c);
    }
    node = postfix(c, node);
    return with_filters ? filtered(c, node) : node;
}

static struct jinja_node *power(struct jinja_compiler *c) {
    struct jinja_node *left = unary(c, true);
    while (left && power_jinja_is_op(c, "**")) {
        const struct jinja_token *at = power_jinja_take(c);
        left = join(c, NODE_BINARY, OP_POW, at, left, unary(c, true));
    }
    return left;
}

static struct jinja_node *product(struct jinja_compiler *c) {
    static const struct {
        const char *text;
        enum jinja_op op;
    } ops[] = {{"*", OP_MUL}, {"/", OP_DIV}, {"//", OP_FLOOR}, {"%", OP_MOD}};
    struct jinja_node *left = power(c);
    for (bool found = true; left && found;) {
        found = false;
        for (size_t i = 0; i < 4 && !found; i++) {
            const struct jinja_token *at = power_jinja_peek(c);
            if (!power_jinja_skip_op(c, ops[i].text)) continue;
            found = true;
            left = join(c, NODE_BINARY, ops[i].op, at, left, power(c));
        }
    }
    return left;
}

static struct jinja_node *concatenation(struct jinja_compiler *c) {
    struct jinja_node *first = product(c);
    if (!first || !power_jinja_is_op(c, "~")) return first;
    struct jinja_node *node = power_jinja_node(c, NODE_CONCAT, power_jinja_peek(c));
    if (!node) return NULL;
    struct jinja_node **tail = &node->list;
    *tail = first;
    while (power_jinja_skip_op(c, "~")) {
        tail = &(*tail)->next;
        if (!(*tail = product(c))) return NULL;
    }
    return power_jinja_seal(c, node);
}

static struct jinja_node *sum(struct jinja_compiler *c) {
    struct jinja_node *left = concatenation(c);
    while (left && (power_jinja_is_op(c, "+") || power_jinja_is_op(c, "-"))) {
        const struct jinja_token *at = power_jinja_take(c);
        enum jinja_op op = at->text.bytes[0] == '+' ? OP_ADD : OP_SUB;
        left = join(c, NODE_BINARY, op, at, left, concatenation(c));
    }
    return left;
}

static enum jinja_op compare_op(struct jinja_compiler *c) {
    static const struct {
        const char *text;
        enum jinja_op op;
    } ops[] = {{"==", OP_EQ}, {"!=", OP_NE}, {"<", OP_LT},
               {"<=", OP_LE}, {">", OP_GT},  {">=", OP_GE}};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (power_jinja_skip_op(c, ops[i].text)) return ops[i].op;
    }
    if (power_jinja_skip_name(c, "in")) return OP_IN;
    if (power_jinja_is_name(c, "not") && token_is(power_jinja_peek(c) + 1, TOKEN_NAME, "in")) {
        c->at += 2;
        return OP_NOT_IN;
    }
    return OP_NONE;
}

static struct jinja_node *comparison(struct jinja_compiler *c) {
    const struct jinja_token *at = power_jinja_peek(c);
    struct jinja_node *first = sum(c), *node = NULL, **tail = NULL;
    for (enum jinja_op op; first && (op = compare_op(c)) != OP_NONE;) {
        if (!node) {
            if (!(node = power_jinja_node(c, NODE_COMPARE, at))) return NULL;
            node->a = first;
            tail = &node->list;
        }
        struct jinja_node *operand = power_jinja_node(c, NODE_OPERAND, power_jinja_peek(c));
        if (!operand || !(operand->a = sum(c))) return NULL;
        operand->op = op;
        if (!(*tail = power_jinja_seal(c, operand))) return NULL;
        tail = &operand->next;
    }
    return node ? power_jinja_seal(c, node) : first;
}

static struct jinja_node *negation(struct jinja_compiler *c) {
    const struct jinja_token *at = power_jinja_peek(c);
    if (!power_jinja_skip_name(c, "not")) return comparison(c);
    if (!enter(c)) return NULL;
    struct jinja_node *operand = negation(c);
    c->depth--;
    struct jinja_node *node = operand ? power_jinja_node(c, NODE_UNARY, at) : NULL;
    if (!node) return NULL;
    node->op = OP_NOT;
    node->a = operand;
    return power_jinja_seal(c, node);
}

static struct jinja_node *conjunction(struct jinja_compiler *c) {
    struct jinja_node *left = negation(c);
    while (left && power_jinja_is_name(c, "and")) {
        const struct jinja_token *at = power_jinja_take(c);
        left = join(c, NODE_AND, OP_NONE, at, left, negation(c));
    }
    return left;
}

static struct jinja_node *disjunction(struct jinja_compiler *c) {
    struct jinja_node *left = conjunction(c);
    while (left && power_jinja_is_name(c, "or")) {
        const struct jinja_token *at = power_jinja_take(c);
        left = join(c, NODE_OR, OP_NONE, at, left, conjunction(c));
    }
    return left;
}

/* `a if b else c`: what stands in it may be skipped, so unknown filters wait. */
static struct jinja_node *condition(struct jinja_compiler *c) {
    const struct jinja_node *before = c->unknown;
    c->unknown = NULL;
    c->soft++; /* whether a condition follows is seen only behind it */
    struct jinja_node *left = disjunction(c);
    c->soft--;
    if (left && c->unknown && !c->soft && !power_jinja_is_name(c, "if")) {
        unknown(c, c->unknown);
        return NULL;
    }
    bool whole = !power_jinja_is_name(c, "if");
    if (before || !whole) c->unknown = before; /* in a condition all may be unknown */
    while (left && power_jinja_is_name(c, "if")) {
        struct jinja_node *node = power_jinja_node(c, NODE_COND, power_jinja_take(c));
        if (!node) return NULL;
        c->soft++;
        node->b = left;
        node->a = disjunction(c);
        bool otherwise = node->a && power_jinja_skip_name(c, "else");
        if (otherwise) node->c = power_jinja_expression(c, true);
        c->soft--;
        if (!node->a || (otherwise && !node->c)) return NULL;
        left = power_jinja_seal(c, node);
        c->unknown = before;
    }
    return left;
}

struct jinja_node *power_jinja_expression(struct jinja_compiler *c, bool with_condition) {
    if (!enter(c)) return NULL;
    struct jinja_node *node = with_condition ? condition(c) : disjunction(c);
    c->depth--;
    return node;
}

static bool tuple_ends(const struct jinja_compiler *c, const char *until) {
    const struct jinja_token *t = power_jinja_peek(c);
    if (t->kind == TOKEN_VARIABLE_END || t->kind == TOKEN_BLOCK_END || t->kind == TOKEN_END)
        return true;
    return power_jinja_is_op(c, ")") || (until && power_jinja_is_name(c, until));
}

struct jinja_node *power_jinja_tuple(struct jinja_compiler *c, bool with_condition,
                                     const char *until) {
    const struct jinja_token *at = power_jinja_peek(c);
    struct jinja_node *first = power_jinja_expression(c, with_condition);
    if (!first || !power_jinja_is_op(c, ",")) return first;
    struct jinja_node *node = power_jinja_node(c, NODE_TUPLE, at);
    if (!node) return NULL;
    struct jinja_node **tail = &node->list;
    *tail = first;
    while (power_jinja_skip_op(c, ",")) {
        if (tuple_ends(c, until)) break;
        tail = &(*tail)->next;
        if (!(*tail = power_jinja_expression(c, with_condition))) return NULL;
    }
    return power_jinja_seal(c, node);
}
