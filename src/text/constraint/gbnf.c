/* SPDX-License-Identifier: MIT */
/* Job: grammars in llama.cpp's dialect of GBNF (grammars/README.md there).
 * Input: untrusted text. Output: expressions of a grammar; the rule `root`.
 * Threads: one a grammar. Bounds: linear in the text, constant stack, the grammar's limits.
 *
 * Beyond the dialect: `_` in names, `{,m}`. Stricter: a rule is defined once, a class is not empty,
 * escapes are code points, and a repeat beyond 2,000 is exact. Tokens (`<name>`, `<[id]>`) are
 * refused: what they stand for has no bytes. */
#include <stdarg.h>
#include <stdio.h>

#include "base/hash.h"
#include "text/constraint/front.h"
#include "text/constraint/regular_internal.h"
#include "text/utf8.h"

struct rule {
    struct power_text name;
    size_t first_use;
    power_expr expr;
    bool defined;
};

/* A parenthesis, or a rule's body. Items and alternatives lie on two stacks. */
struct group {
    size_t items, alternatives; /* where those of this group begin */
    size_t open;
};

struct gbnf {
    struct power_grammar *g;
    struct regular_work w; /* work memory */
    struct power_text text;
    size_t at;
    struct regular_list groups, items, alternatives, rules;
    struct regular_list literal; /* the bytes of one, as characters */
    struct power_index *names;
};
#define RULES(p) ((struct rule *)(p)->rules.items)
#define TOP(p) ((struct group *)(p)->groups.items + ((p)->groups.count - 1))

POWER_PRINTF(4, 5)
static bool fault(struct gbnf *p, power_status status, size_t at, const char *format, ...) {
    if (p->w.status != POWER_OK) return false;
    char text[200];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    size_t line = 1, begin = 0;
    for (size_t i = 0; i < at; i++) {
        if (p->text.bytes[i] != '\n') continue;
        line++;
        begin = i + 1;
    }
    struct power_text before = {p->text.bytes + begin, at - begin};
    p->w.status = power_fail_at(p->w.error, status, at, "grammar line %zu, column %zu: %s", line,
                                power_utf8_count(before) + 1, text);
    return false;
}

static int peek(const struct gbnf *p, size_t ahead) {
    return ahead < p->text.length - p->at ? (unsigned char)p->text.bytes[p->at + ahead] : -1;
}

static bool in_name(int c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

/* Spaces and comments; newlines too where they end nothing. */
static void skip_space(struct gbnf *p, bool newlines) {
    for (int c = peek(p, 0);; c = peek(p, 0)) {
        if (c == '#') {
            while (peek(p, 0) >= 0 && peek(p, 0) != '\n' && peek(p, 0) != '\r')
                p->at++;
        } else if (c == ' ' || c == '\t' || (newlines && (c == '\n' || c == '\r'))) {
            p->at++;
        } else {
            return;
        }
    }
}

static bool nested(const struct gbnf *p) {
    return p->groups.count > 1;
}

/* ---- characters ---- */

static bool hex_code(struct gbnf *p, size_t digits, uint32_t *out) {
    uint32_t code = 0;
    size_t begin = p->at;
    for (size_t i = 0; i < digits; i++, p->at++) {
        int c = peek(p, 0);
        bool digit = c >= '0' && c <= '9', letter = (c | 32) >= 'a' && (c | 32) <= 'f';
        if (c < 0 || (!digit && !letter))
            return fault(p, POWER_INVALID, begin, "an escape needs %zu hexadecimal digits", digits);
        code = code << 4 | (uint32_t)(digit ? c - '0' : (c | 32) - 'a' + 10);
    }
    if (code > REGULAR_LAST_CODE || (code >= 0xD800 && code <= 0xDFFF))
        return fault(p, POWER_INVALID, begin, "the escape is no character");
    *out = code;
    return true;
}

/* Behind a backslash. */
static bool escape(struct gbnf *p, uint32_t *out) {
    size_t begin = p->at - 1;
    int c = peek(p, 0);
    p->at += c >= 0;
    switch (c) {
    case 'x':
        return hex_code(p, 2, out);
    case 'u':
        return hex_code(p, 4, out);
    case 'U':
        return hex_code(p, 8, out);
    case 't':
        return *out = '\t', true;
    case 'r':
        return *out = '\r', true;
    case 'n':
        return *out = '\n', true;
    case '\\':
    case '"':
    case '[':
    case ']':
    case '-':
    case '^':
        return *out = (uint32_t)c, true;
    default:
        return fault(p, POWER_INVALID, begin, "unknown escape");
    }
}

/* A character of a literal or a class that is opened at `open`. */
static bool character(struct gbnf *p, size_t open, const char *what, uint32_t *out) {
    size_t length;
    if (peek(p, 0) < 0) return fault(p, POWER_INVALID, open, "the %s is not closed", what);
    if (peek(p, 0) == '\\') {
        p->at++;
        return escape(p, out);
    }
    *out = power_utf8_get(p->text, p->at, &length, NULL);
    if (*out == POWER_UTF8_BROKEN) return fault(p, POWER_INVALID, p->at, "the text is not UTF-8");
    p->at += length;
    return true;
}

/* ---- items ---- */

static bool push_item(struct gbnf *p, power_expr item) {
    return power_regular_push_u32(&p->w, &p->items, item);
}

static bool parse_literal(struct gbnf *p) {
    size_t open = p->at++;
    p->literal.count = 0;
    while (peek(p, 0) != '"') {
        uint32_t code = 0;
        if (!character(p, open, "literal", &code)) return false;
        if (!power_regular_room(&p->w, &p->literal, 4, 1)) return false;
        p->literal.count += power_utf8_put(code, (char *)p->literal.items + p->literal.count);
    }
    p->at++;
    struct power_text text = {p->literal.items, p->literal.count};
    return push_item(p,
                     text.length ? power_grammar_literal(p->g, text) : power_grammar_empty(p->g));
}

/* One character of a set, which is normal. */
static bool push_set(struct gbnf *p, const struct regular_set *set) {
    struct power_regular language;
    power_status status = power_regular_one_of(power_grammar_space(p->g), set->ranges.items,
                                               set->ranges.count, &language, p->w.error);
    if (status != POWER_OK) {
        p->w.status = status;
        return false;
    }
    return push_item(p, power_grammar_regular(p->g, &language, POWER_AS_UTF8));
}

static bool parse_class(struct gbnf *p) {
    size_t open = p->at++;
    struct regular_set set = {0};
    bool negated = peek(p, 0) == '^';
    p->at += negated;
    while (peek(p, 0) != ']') {
        uint32_t first = 0, last;
        size_t begin = p->at;
        if (!character(p, open, "class", &first)) return false;
        last = first;
        if (peek(p, 0) == '-' && peek(p, 1) != ']') {
            p->at++;
            if (!character(p, open, "class", &last)) return false;
        }
        if (first > last)
            return fault(p, POWER_INVALID, begin, "the range of a class is out of order");
        if (!power_regular_set_add(&p->w, &set, first, last)) return false;
    }
    p->at++;
    if (set.ranges.count == 0) return fault(p, POWER_INVALID, open, "the class is empty");
    return power_regular_set_normalise(&p->w, &set) &&
           (!negated || power_regular_set_negate(&p->w, &set)) && push_set(p, &set);
}

static bool parse_any(struct gbnf *p) {
    struct regular_set set = {0};
    p->at++;
    return power_regular_set_negate(&p->w, &set) && push_set(p, &set);
}

/* The rule of a name, new at its first use. */
static bool rule_of(struct gbnf *p, struct power_text name, size_t at, uint32_t *out) {
    if (power_index_find(p->names, name, out)) return true;
    if (!power_regular_room(&p->w, &p->rules, 1, sizeof(struct rule))) return false;
    *out = (uint32_t)p->rules.count++;
    RULES(p)[*out] = (struct rule){name, at, power_grammar_rule(p->g, name), false};
    return power_index_add(p->names, name, *out);
}

static struct power_text parse_name(struct gbnf *p) {
    size_t begin = p->at;
    while (in_name(peek(p, 0)))
        p->at++;
    return (struct power_text){p->text.bytes + begin, p->at - begin};
}

static bool parse_reference(struct gbnf *p) {
    size_t begin = p->at;
    uint32_t rule;
    struct power_text name = parse_name(p);
    return rule_of(p, name, begin, &rule) && push_item(p, RULES(p)[rule].expr);
}

/* ---- repeats ---- */

static bool parse_number(struct gbnf *p, uint32_t *out, bool *out_there) {
    size_t begin = p->at;
    uint64_t value = 0;
    for (int c = peek(p, 0); c >= '0' && c <= '9'; c = peek(p, 0)) {
        value = value * 10 + (uint64_t)(c - '0');
        if (value >= UINT32_MAX)
            return fault(p, POWER_LIMIT, begin, "a repeat of %u or more", UINT32_MAX);
        p->at++;
    }
    *out_there = p->at > begin;
    if (*out_there) *out = (uint32_t)value;
    skip_space(p, nested(p));
    return true;
}

/* At a brace: {m}, {m,}, {m,n}, {,n}. */
static bool parse_counts(struct gbnf *p, uint32_t *min, uint32_t *max) {
    size_t open = p->at++;
    bool has_min = false, has_max = true;
    skip_space(p, nested(p));
    *min = 0;
    if (!parse_number(p, min, &has_min)) return false;
    *max = *min;
    if (peek(p, 0) == ',') {
        p->at++;
        skip_space(p, nested(p));
        *max = UINT32_MAX;
        if (!parse_number(p, max, &has_max)) return false;
        has_max = has_min || has_max;
    } else {
        has_max = has_min;
    }
    if (!has_max || peek(p, 0) != '}')
        return fault(p, POWER_INVALID, p->at, "a repeat is not like {m,n}");
    p->at++;
    if (*min > *max) return fault(p, POWER_INVALID, open, "a repeat from %u to %u", *min, *max);
    return true;
}

static bool parse_repeat(struct gbnf *p) {
    size_t begin = p->at;
    int c = peek(p, 0);
    uint32_t min = c == '+', max = c == '?' ? 1 : UINT32_MAX;
    if (p->items.count == TOP(p)->items) return fault(p, POWER_INVALID, begin, "nothing to repeat");
    if (c == '{') {
        if (!parse_counts(p, &min, &max)) return false;
    } else {
        p->at++;
    }
    power_expr *last = (power_expr *)p->items.items + (p->items.count - 1);
    *last = power_grammar_repeat(p->g, *last, min, max);
    return true;
}

/* ---- groups ---- */

static bool open_group(struct gbnf *p, size_t open) {
    if (!power_regular_room(&p->w, &p->groups, 1, sizeof(struct group))) return false;
    p->groups.count++;
    *TOP(p) = (struct group){p->items.count, p->alternatives.count, open};
    return true;
}

static bool end_alternative(struct gbnf *p) {
    size_t first = TOP(p)->items, n = p->items.count - first;
    const power_expr *items = n ? (const power_expr *)p->items.items + first : NULL;
    power_expr all = n == 0   ? power_grammar_empty(p->g)
                     : n == 1 ? items[0]
                              : power_grammar_sequence(p->g, items, n);
    p->items.count = first;
    return power_regular_push_u32(&p->w, &p->alternatives, all);
}

static bool close_group(struct gbnf *p, power_expr *out) {
    if (!end_alternative(p)) return false;
    size_t first = TOP(p)->alternatives, n = p->alternatives.count - first;
    const power_expr *alternatives = (const power_expr *)p->alternatives.items + first;
    *out = n == 1 ? alternatives[0] : power_grammar_choice(p->g, alternatives, n);
    p->alternatives.count = first;
    p->groups.count--;
    return true;
}

static bool parse_parenthesis(struct gbnf *p) {
    power_expr all = 0;
    size_t at = p->at++;
    if (p->text.bytes[at] == '(') {
        if (!open_group(p, at)) return false;
        skip_space(p, true);
        return true;
    }
    if (!nested(p)) return fault(p, POWER_INVALID, at, "a parenthesis is closed, none is open");
    return close_group(p, &all) && push_item(p, all);
}

static bool parse_alternative(struct gbnf *p) {
    p->at++;
    skip_space(p, true); /* a line may end behind the bar */
    return end_alternative(p);
}

static bool refuse(struct gbnf *p) {
    int c = peek(p, 0);
    if (c == '<' || (c == '!' && peek(p, 1) == '<'))
        return fault(p, POWER_UNSUPPORTED, p->at, "a token in angle brackets is not supported");
    if (c == ':') return fault(p, POWER_INVALID, p->at, "a rule begins inside a rule");
    if (c <= 32 || c >= 127) return fault(p, POWER_INVALID, p->at, "unexpected byte 0x%02x", c);
    return fault(p, POWER_INVALID, p->at, "unexpected \"%c\"", c);
}

static bool parse_item(struct gbnf *p) {
    int c = peek(p, 0);
    if (in_name(c)) return parse_reference(p);
    switch (c) {
    case '"':
        return parse_literal(p);
    case '[':
        return parse_class(p);
    case '.':
        return parse_any(p);
    case '(':
    case ')':
        return parse_parenthesis(p);
    case '|':
        return parse_alternative(p);
    case '*':
    case '+':
    case '?':
    case '{':
        return parse_repeat(p);
    default:
        return refuse(p);
    }
}

/* ---- rules ---- */

static bool parse_body(struct gbnf *p, power_expr *out) {
    skip_space(p, true);
    if (!open_group(p, p->at)) return false;
    while (peek(p, 0) >= 0 && (nested(p) || (peek(p, 0) != '\n' && peek(p, 0) != '\r'))) {
        if (!parse_item(p)) return false;
        skip_space(p, nested(p));
    }
    if (nested(p)) return fault(p, POWER_INVALID, TOP(p)->open, "the parenthesis is not closed");
    return close_group(p, out);
}

static bool parse_rule(struct gbnf *p) {
    size_t begin = p->at;
    uint32_t rule;
    power_expr body = 0;
    struct power_text name = parse_name(p);
    if (name.length == 0) return fault(p, POWER_INVALID, begin, "a rule begins with its name");
    skip_space(p, false);
    if (peek(p, 0) != ':' || peek(p, 1) != ':' || peek(p, 2) != '=')
        return fault(p, POWER_INVALID, p->at, "\"::=\" is missing behind a rule's name");
    p->at += 3;
    if (!rule_of(p, name, begin, &rule)) return false;
    if (RULES(p)[rule].defined)
        return fault(p, POWER_INVALID, begin, "rule \"%s\" is defined twice",
                     power_quote(name.bytes, name.length).text);
    RULES(p)[rule].defined = true;
    if (!parse_body(p, &body)) return false;
    power_grammar_define(p->g, RULES(p)[rule].expr, body);
    return true;
}

static bool parse_rules(struct gbnf *p, power_expr *out) {
    uint32_t root;
    for (skip_space(p, true); peek(p, 0) >= 0; skip_space(p, true)) {
        if (!parse_rule(p)) return false;
    }
    for (size_t i = 0; i < p->rules.count; i++) {
        const struct rule *rule = &RULES(p)[i];
        if (!rule->defined)
            return fault(p, POWER_INVALID, rule->first_use, "rule \"%s\" is not defined",
                         power_quote(rule->name.bytes, rule->name.length).text);
    }
    if (!power_index_find(p->names, POWER_TEXT("root"), &root))
        return fault(p, POWER_INVALID, p->text.length, "there is no rule \"root\"");
    *out = RULES(p)[root].expr;
    return true;
}

/* No more names than there are words. */
static size_t count_words(struct power_text text) {
    size_t n = 0;
    for (size_t i = 0; i < text.length; i++) {
        bool begins = i == 0 || !in_name((unsigned char)text.bytes[i - 1]);
        n += begins && in_name((unsigned char)text.bytes[i]);
    }
    return n;
}

power_status power_gbnf_compile(struct power_grammar *g, struct power_text text, power_expr *out,
                                power_error *error) {
    struct gbnf p = {.g = g, .text = text};
    const struct power_regular_space *space = power_grammar_space(g);
    power_status status =
        power_index_create(space->arena->allocator, count_words(text) + 1, &p.names, error);
    if (status != POWER_OK) return status;
    power_regular_begin(&p.w, space, error);
    (void)parse_rules(&p, out);
    power_index_destroy(p.names);
    return power_regular_end(&p.w);
}
