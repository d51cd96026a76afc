/* SPDX-License-Identifier: MIT */
/* Job: the syntax of regular expressions (ECMA-262, the tolerant side of its unicode mode).
 * Input: an expression. Output: its tree.
 * Threads: one an operation. Bounds: linear in the text, constant stack.
 *
 * Differences from the unicode mode: a character that needs no escape may have one, `]` and `}`
 * and a `{` that begins no quantifier stand for themselves, and a hyphen beside a class is one. */
#include "text/constraint/regex.h"

enum { NUMBER_MAX = 1000000000 };

/* An open group, or the whole expression. */
struct frame {
    uint32_t node;        /* the lookahead that its choice belongs to; REGEX_NO_NODE: none */
    uint32_t first, last; /* alternatives that are complete */
    uint32_t item_first, item_last;
    size_t open; /* where it was opened */
};
#define TOP(r) ((struct frame *)(r)->frames.items + ((r)->frames.count - 1))

static int peek(const struct regex *r, size_t ahead) {
    return ahead < r->text.length - r->at ? (unsigned char)r->text.bytes[r->at + ahead] : -1;
}

static uint32_t new_node(struct regex *r, enum regex_kind kind) {
    if (!power_regular_room(r->w, &r->nodes, 1, sizeof(struct regex_node))) return REGEX_NO_NODE;
    REGEX_NODES(r)
    [r->nodes.count] =
        (struct regex_node){.kind = (uint8_t)kind, .child = REGEX_NO_NODE, .next = REGEX_NO_NODE};
    return (uint32_t)r->nodes.count++;
}

static void append(struct regex *r, uint32_t *first, uint32_t *last, uint32_t node) {
    if (*last == REGEX_NO_NODE)
        *first = node;
    else
        REGEX_NODES(r)[*last].next = node;
    *last = node;
}

static bool append_item(struct regex *r, uint32_t node) {
    if (node == REGEX_NO_NODE) return false;
    append(r, &TOP(r)->item_first, &TOP(r)->item_last, node);
    return true;
}

/* A list of nodes as one: none is the empty text, one is itself. */
static uint32_t join(struct regex *r, enum regex_kind kind, uint32_t first, uint32_t last) {
    if (first == REGEX_NO_NODE) return new_node(r, REGEX_EMPTY);
    if (first == last) return first;
    uint32_t node = new_node(r, kind);
    if (node == REGEX_NO_NODE) return node;
    bool consumes = false;
    for (uint32_t i = first; i != REGEX_NO_NODE; i = REGEX_NODES(r)[i].next)
        consumes = consumes || REGEX_NODES(r)[i].consumes;
    REGEX_NODES(r)[node].child = first;
    REGEX_NODES(r)[node].consumes = consumes;
    return node;
}

/* ---- groups ---- */

static bool open_frame(struct regex *r, uint32_t node, size_t open) {
    if (!power_regular_room(r->w, &r->frames, 1, sizeof(struct frame))) return false;
    r->frames.count++;
    *TOP(r) =
        (struct frame){node, REGEX_NO_NODE, REGEX_NO_NODE, REGEX_NO_NODE, REGEX_NO_NODE, open};
    return true;
}

static bool end_alternative(struct regex *r) {
    struct frame *top = TOP(r);
    uint32_t node = join(r, REGEX_SEQUENCE, top->item_first, top->item_last);
    if (node == REGEX_NO_NODE) return false;
    append(r, &top->first, &top->last, node);
    top->item_first = top->item_last = REGEX_NO_NODE;
    return true;
}

/* The choice of the frame's alternatives; the frame is left. */
static bool close_frame(struct regex *r, uint32_t *out_node) {
    if (!end_alternative(r)) return false;
    struct frame frame = *TOP(r);
    r->frames.count--;
    *out_node = join(r, REGEX_CHOICE, frame.first, frame.last);
    if (*out_node == REGEX_NO_NODE) return false;
    if (frame.node == REGEX_NO_NODE) return true;
    REGEX_NODES(r)[frame.node].child = *out_node;
    REGEX_NODES(r)[frame.node].number = r->n_looks++;
    *out_node = frame.node;
    return true;
}

/* Letters, digits, `_`, `$` and what is not ASCII; not a digit first. */
static bool in_name(int c, bool first) {
    if (c >= '0' && c <= '9') return !first;
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c >= 0x80;
}

static bool skip_name(struct regex *r) {
    size_t begin = r->at;
    while (in_name(peek(r, 0), r->at == begin))
        r->at++;
    if (r->at == begin || peek(r, 0) != '>')
        return power_regex_fault(r, POWER_INVALID, begin, "the group has no proper name");
    r->at++;
    return true;
}

static bool open_group(struct regex *r) {
    size_t open = r->at++;
    if (peek(r, 0) != '?') return open_frame(r, REGEX_NO_NODE, open);
    int kind = peek(r, 1), third = peek(r, 2);
    r->at += 2;
    if (kind == ':') return open_frame(r, REGEX_NO_NODE, open);
    if (kind == '=' || kind == '!') {
        uint32_t node = new_node(r, REGEX_LOOK);
        if (node == REGEX_NO_NODE) return false;
        REGEX_NODES(r)[node].negative = kind == '!';
        return open_frame(r, node, open);
    }
    if (kind == '<' && (third == '=' || third == '!'))
        return power_regex_fault(r, POWER_UNSUPPORTED, open, "lookbehind is not supported");
    if (kind == '<') return skip_name(r) && open_frame(r, REGEX_NO_NODE, open);
    if ((kind >= 'a' && kind <= 'z') || kind == '-')
        return power_regex_fault(r, POWER_UNSUPPORTED, open,
                                 "a group with modifiers is not supported");
    return power_regex_fault(r, POWER_INVALID, open, "unknown kind of group");
}

static bool close_group(struct regex *r) {
    uint32_t node;
    if (r->frames.count == 1)
        return power_regex_fault(r, POWER_INVALID, r->at, "a parenthesis is closed, none is open");
    r->at++;
    return close_frame(r, &node) && append_item(r, node);
}

/* ---- quantifiers ---- */

static uint32_t number(struct regex *r, size_t *at) {
    uint32_t value = 0;
    for (; *at < r->text.length; ++*at) {
        char c = r->text.bytes[*at];
        if (c < '0' || c > '9') break;
        value = value > NUMBER_MAX / 10 ? NUMBER_MAX : value * 10 + (uint32_t)(c - '0');
    }
    return value;
}

/* At `{`: whether a quantifier begins here. Moves behind it if so. */
static bool braces(struct regex *r, uint32_t *min, uint32_t *max) {
    size_t at = r->at + 1, begin = at;
    *min = number(r, &at);
    bool has_min = at > begin;
    *max = *min;
    if (at < r->text.length && r->text.bytes[at] == ',') {
        size_t digits = ++at;
        *max = number(r, &at);
        if (at == digits) *max = UINT32_MAX;
        has_min = has_min || at > digits; /* {,3}: refused by the caller */
    }
    if (!has_min || at >= r->text.length || r->text.bytes[at] != '}') return false;
    r->at = at + 1;
    return true;
}

/* Whether a quantifier stands here; moves behind it, with its `?` for laziness. */
static bool quantifier(struct regex *r, uint32_t *min, uint32_t *max) {
    int c = peek(r, 0);
    if (c == '{') {
        if (!braces(r, min, max)) return false;
    } else if (c == '*' || c == '+' || c == '?') {
        *min = c == '+';
        *max = c == '?' ? 1 : UINT32_MAX;
        r->at++;
    } else {
        return false;
    }
    r->at += peek(r, 0) == '?';
    return true;
}

/* (x{a,b}){c,d} is x{ac,bd} where the counts leave no gap. */
static bool merge_repeats(struct regex_node *node, uint32_t min, uint32_t max) {
    uint64_t a = node->min, b = node->max, c = min, d = max;
    if (node->kind != REGEX_REPEAT || max == 0) return false;
    bool endless = node->max == UINT32_MAX || max == UINT32_MAX;
    uint64_t least = c > 0 ? c : 1; /* copies where a gap would be widest */
    if (node->max != UINT32_MAX && max != least && (least + 1) * a > least * b + 1) return false;
    if (c == 0 && a > 1) return false;
    if (a * c >= NUMBER_MAX || (!endless && b * d >= NUMBER_MAX)) return false;
    if (node->max == 0) return false;
    node->min = (uint32_t)(a * c);
    node->max = endless ? UINT32_MAX : (uint32_t)(b * d);
    return true;
}

/* Makes the last item a repeat of itself. What never consumes is repeated once at most. */
static bool repeat_item(struct regex *r, uint32_t item, uint32_t min, uint32_t max) {
    if (!REGEX_NODES(r)[item].consumes) {
        min = min > 1 ? 1 : min;
        max = max > 1 ? 1 : max;
    }
    if (min == 1 && max == 1) return true;
    if (merge_repeats(&REGEX_NODES(r)[item], min, max)) return true;
    uint32_t child = new_node(r, REGEX_EMPTY);
    if (child == REGEX_NO_NODE) return false;
    struct regex_node *node = &REGEX_NODES(r)[item];
    REGEX_NODES(r)[child] = *node;
    REGEX_NODES(r)[child].next = REGEX_NO_NODE;
    node->kind = REGEX_REPEAT;
    node->child = child;
    node->min = min;
    node->max = max;
    node->consumes = node->consumes && max > 0;
    return true;
}

/* Behind an item. */
static bool quantify(struct regex *r) {
    size_t begin = r->at;
    uint32_t min, max, item = TOP(r)->item_last;
    if (!quantifier(r, &min, &max)) return r->w->status == POWER_OK;
    if (r->text.bytes[begin] == '{' && r->text.bytes[begin + 1] == ',')
        return power_regex_fault(r, POWER_INVALID, begin, "a quantifier without its lower bound");
    if (min > max)
        return power_regex_fault(r, POWER_INVALID, begin, "a quantifier from %u to %u", min, max);
    return repeat_item(r, item, min, max);
}

/* ---- items ---- */

static bool append_set(struct regex *r, struct regular_set *set) {
    uint32_t node = new_node(r, REGEX_SET);
    if (node == REGEX_NO_NODE) return false;
    REGEX_NODES(r)[node].ranges = set->ranges.items;
    REGEX_NODES(r)[node].n_ranges = (uint32_t)set->ranges.count;
    REGEX_NODES(r)[node].consumes = true;
    return append_item(r, node);
}

static bool append_code(struct regex *r, uint32_t code) {
    struct regular_set set = {0};
    return power_regular_set_add(r->w, &set, code, code) &&
           power_regular_set_normalise(r->w, &set) && append_set(r, &set);
}

static bool append_condition(struct regex *r, enum regular_condition condition, size_t length) {
    uint32_t node = new_node(r, REGEX_CONDITION);
    if (node == REGEX_NO_NODE) return false;
    REGEX_NODES(r)[node].condition = (uint8_t)condition;
    r->at += length;
    size_t begin = r->at;
    uint32_t min, max;
    if (quantifier(r, &min, &max))
        return power_regex_fault(r, POWER_INVALID, begin, "an assertion is repeated");
    return append_item(r, node);
}

/* Everything but line terminators. */
static bool append_dot(struct regex *r) {
    struct regular_set set = {0};
    r->at++;
    return power_regular_set_add(r->w, &set, '\n', '\n') &&
           power_regular_set_add(r->w, &set, '\r', '\r') &&
           power_regular_set_add(r->w, &set, 0x2028, 0x2029) &&
           power_regular_set_normalise(r->w, &set) && power_regular_set_negate(r->w, &set) &&
           append_set(r, &set);
}

static bool append_escape(struct regex *r) {
    struct regular_set set = {0};
    uint32_t code;
    if (!power_regex_escape(r, false, &set, &code)) return false;
    return code != REGULAR_NONE ? append_code(r, code) : append_set(r, &set);
}

static bool append_class(struct regex *r) {
    struct regular_set set = {0};
    return power_regex_class(r, &set) && append_set(r, &set);
}

static bool parse_item(struct regex *r) {
    uint32_t code, min, max;
    size_t begin = r->at;
    switch (peek(r, 0)) {
    case '(':
        return open_group(r);
    case '|':
        r->at++;
        return end_alternative(r);
    case ')':
        return close_group(r) && quantify(r);
    case '^':
        return append_condition(r, REGULAR_AT_START, 1);
    case '$':
        return append_condition(r, REGULAR_AT_END, 1);
    case '.':
        return append_dot(r) && quantify(r);
    case '[':
        return append_class(r) && quantify(r);
    case '\\':
        if (peek(r, 1) == 'b') return append_condition(r, REGULAR_AT_WORD, 2);
        if (peek(r, 1) == 'B') return append_condition(r, REGULAR_NOT_WORD, 2);
        return append_escape(r) && quantify(r);
    default:
        if (quantifier(r, &min, &max))
            return power_regex_fault(r, POWER_INVALID, begin, "nothing to repeat");
        return power_regex_code(r, &code) && append_code(r, code) && quantify(r);
    }
}

bool power_regex_parse(struct regex *r) {
    if (!open_frame(r, REGEX_NO_NODE, 0)) return false;
    while (r->at < r->text.length) {
        if (!parse_item(r)) return false;
    }
    if (r->frames.count > 1)
        return power_regex_fault(r, POWER_INVALID, TOP(r)->open, "the parenthesis is not closed");
    return close_frame(r, &r->root);
}
