/* SPDX-License-Identifier: MIT */
/* Job: template text to tokens. Input: the source. Output: all tokens, or a syntax error.
 * Threads: compiling one. Bounds: linear; tokens are fewer than the bytes plus two.
 * White space around tags is treated as with trim_blocks and lstrip_blocks. */
#include <stdarg.h>
#include <stdio.h>

#include "text/jinja.h"
#include "text/split_class.h"

struct lexer {
    struct jinja_compiler *c;
    struct power_text source; /* newlines are LF */
    size_t at;
    size_t counted, line_start; /* position of `line`: lines are counted up to `counted` */
    uint32_t line;
    bool line_starting; /* the last thing read ended with a newline, or nothing was read */
    char stack[POWER_JINJA_MAX_EXPRESSION]; /* closing brackets awaited */
    unsigned open;
};

bool power_jinja_syntax(struct jinja_compiler *c, uint32_t line, uint32_t column,
                        const char *format, ...) {
    char text[200];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (c->status == POWER_OK)
        c->status = power_fail(c->error, POWER_INVALID, "template line %u, column %u: %s", line,
                               column, text);
    return false;
}

static void position(struct lexer *l, size_t at, uint32_t *line, uint32_t *column) {
    for (; l->counted < at; l->counted++) {
        if (l->source.bytes[l->counted] != '\n') continue;
        l->line++;
        l->line_start = l->counted + 1;
    }
    *line = l->line;
    *column = (uint32_t)(at - l->line_start) + 1;
}

static bool fail(struct lexer *l, size_t at, const char *what) {
    uint32_t line, column;
    position(l, at, &line, &column);
    return power_jinja_syntax(l->c, line, column, "%s", what);
}

static struct jinja_token *add(struct lexer *l, enum jinja_token_kind kind, size_t from,
                               size_t to) {
    struct jinja_tokens *t = &l->c->tokens;
    if (t->count == t->capacity) {
        size_t capacity = t->capacity ? t->capacity * 2 : 128;
        struct jinja_token *items = power_arena_alloc(l->c->arena, capacity, sizeof *items);
        if (!items) {
            l->c->status = power_fail_memory(l->c->error, capacity * sizeof *items, "template");
            return NULL;
        }
        if (t->count) memcpy(items, t->items, t->count * sizeof *items);
        t->items = items;
        t->capacity = capacity;
    }
    struct jinja_token *token = &t->items[t->count++];
    token->kind = kind;
    token->text = (struct power_text){l->source.bytes + from, to - from};
    position(l, from, &token->line, &token->column);
    return token;
}

static bool starts(const struct lexer *l, size_t at, const char *what) {
    size_t n = strlen(what);
    return l->source.length - at >= n && memcmp(l->source.bytes + at, what, n) == 0;
}

static bool is_space_at(struct power_text text, size_t at, size_t *out_length) {
    uint32_t code = power_utf8_get(text, at, out_length, NULL);
    return power_jinja_is_space(code);
}

static size_t skip_space(const struct lexer *l, size_t at) {
    size_t length;
    while (at < l->source.length && is_space_at(l->source, at, &length))
        at += length;
    return at;
}

/* End of the data [from, to) once the white space that the tag at `to` eats is gone. */
static size_t strip_data(const struct lexer *l, size_t from, size_t to, char sign, bool variable) {
    struct power_text data = {l->source.bytes + from, to - from};
    if (sign == '-') return from + power_jinja_strip(data, NULL, 2).length;
    if (sign == '+' || variable) return to;
    size_t line = data.length;
    while (line > 0 && data.bytes[line - 1] != '\n')
        line--;
    if (line == 0 && !l->line_starting) return to;
    struct power_text tail = {data.bytes + line, data.length - line};
    return power_jinja_strip(tail, NULL, 2).length == 0 ? from + line : to;
}

/* The closing delimiter at `at` (after an optional sign): its end, or 0. `trim`: takes a newline.
 */
static size_t closing(const struct lexer *l, size_t at, const char *delimiter, bool trim) {
    char sign = at < l->source.length ? l->source.bytes[at] : 0;
    bool plus = sign == '+' && trim, minus = sign == '-';
    size_t body = at + (plus || minus);
    if (!starts(l, body, delimiter)) return 0;
    size_t end = body + 2;
    if (minus) return skip_space(l, end);
    if (trim && !plus && end < l->source.length && l->source.bytes[end] == '\n') end++;
    return end;
}

static void moved(struct lexer *l, size_t to) {
    if (to > l->at) l->line_starting = l->source.bytes[to - 1] == '\n';
    l->at = to;
}

static bool read_comment(struct lexer *l, size_t start) {
    for (size_t at = start; at + 1 < l->source.length; at++) {
        char c = l->source.bytes[at];
        if (c != '-' && c != '+' && c != '#') continue;
        size_t end = closing(l, at, "#}", true);
        if (!end) continue;
        moved(l, end);
        return true;
    }
    return fail(l, start, "unclosed comment");
}

/* `{% raw %}`: its end, or 0 when the tag at `at` is another. */
static size_t raw_begin(const struct lexer *l, size_t at) {
    at += 2;
    if (at < l->source.length && (l->source.bytes[at] == '-' || l->source.bytes[at] == '+')) at++;
    at = skip_space(l, at);
    if (!starts(l, at, "raw")) return 0;
    at = skip_space(l, at + 3);
    if (starts(l, at, "-%}")) return skip_space(l, at + 3);
    return starts(l, at, "%}") ? at + 2 : 0;
}

static bool add_data(struct lexer *l, size_t from, size_t to) {
    return from == to || add(l, TOKEN_DATA, from, to);
}

static bool read_raw(struct lexer *l, size_t start) {
    l->line_starting = start > 0 && l->source.bytes[start - 1] == '\n';
    for (size_t at = start; at + 1 < l->source.length; at++) {
        if (!starts(l, at, "{%")) continue;
        size_t word = at + 2;
        char sign = word < l->source.length ? l->source.bytes[word] : 0;
        if (sign == '-' || sign == '+') word++;
        word = skip_space(l, word);
        if (!starts(l, word, "endraw")) continue;
        size_t end = closing(l, skip_space(l, word + 6), "%}", true);
        if (!end) continue;
        size_t data = strip_data(l, start, at, sign, false);
        moved(l, end);
        return add_data(l, start, data);
    }
    if (start == l->source.length) { /* nothing behind it: Jinja2 does not miss the end */
        moved(l, start);
        return true;
    }
    return fail(l, start, "missing end of raw directive");
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The escape behind a backslash at `at`; writes it, returns its end, 0 when it is broken. */
static size_t read_escape(const struct lexer *l, size_t at, char *out, size_t *n) {
    static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
    char c = l->source.bytes[at];
    const char *simple = strchr(from, c);
    if (c == '\n') return at + 1; /* a line joined to the next */
    if (simple) {
        out[(*n)++] = to[simple - from];
        return at + 1;
    }
    unsigned digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    uint32_t code = 0;
    if (c >= '0' && c <= '7') {
        size_t end = at;
        while (end < at + 3 && end < l->source.length && l->source.bytes[end] >= '0' &&
               l->source.bytes[end] <= '7')
            code = code * 8 + (uint32_t)(l->source.bytes[end++] - '0');
        *n += power_utf8_put(code, out + *n);
        return end;
    }
    if (digits == 0) { /* an unknown escape stays as it is */
        out[(*n)++] = '\\';
        return at;
    }
    for (unsigned i = 0; i < digits; i++) {
        int digit = at + 1 + i < l->source.length ? hex_digit(l->source.bytes[at + 1 + i]) : -1;
        if (digit < 0 || code > 0x10FFFF) return 0;
        code = code * 16 + (uint32_t)digit;
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return 0;
    *n += power_utf8_put(code, out + *n);
    return at + 1 + digits;
}

static bool read_string(struct lexer *l) {
    char quote = l->source.bytes[l->at];
    size_t end = l->at + 1;
    bool plain = true;
    while (end < l->source.length && l->source.bytes[end] != quote) {
        if (l->source.bytes[end] == '\\') {
            plain = false;
            end++;
        }
        end++;
    }
    if (end >= l->source.length) return fail(l, l->at, "unclosed string");
    struct jinja_token *token = add(l, TOKEN_STRING, l->at, end + 1);
    if (!token) return false;
    size_t start = l->at + 1;
    moved(l, end + 1);
    token->text = (struct power_text){l->source.bytes + start, end - start};
    if (plain) return true;
    char *out = power_arena_alloc(l->c->arena, (end - start) * 2 + 1, 1);
    size_t n = 0;
    if (!out) {
        l->c->status = power_fail_memory(l->c->error, end - start, "template");
        return false;
    }
    for (size_t at = start; at < end;) {
        if (l->source.bytes[at] != '\\') {
            out[n++] = l->source.bytes[at++];
            continue;
        }
        size_t next = read_escape(l, at + 1, out, &n);
        if (!next) return fail(l, at, "bad escape in a string");
        at = next;
    }
    token->text = (struct power_text){out, n};
    return true;
}

static bool is_digit(const struct lexer *l, size_t at, unsigned base) {
    if (at >= l->source.length) return false;
    int digit = hex_digit(l->source.bytes[at]);
    return digit >= 0 && (unsigned)digit < base;
}

/* Digits with single underscores between; returns the end. */
static size_t digits(const struct lexer *l, size_t at, unsigned base) {
    while (is_digit(l, at, base) ||
           (at < l->source.length && l->source.bytes[at] == '_' && is_digit(l, at + 1, base)))
        at++;
    return at;
}

static bool put_big(struct lexer *l, size_t from, size_t body, size_t end, unsigned base) {
    struct jinja_token *token = add(l, TOKEN_BIG, from, end);
    if (!token) return false;
    token->text = (struct power_text){l->source.bytes + body, end - body};
    token->as.i = base;
    moved(l, end);
    return true;
}

static bool put_integer(struct lexer *l, size_t from, size_t body, size_t end, unsigned base) {
    int64_t value = 0;
    for (size_t i = body; i < end; i++) {
        if (l->source.bytes[i] == '_') continue;
        if (__builtin_mul_overflow(value, (int64_t)base, &value) ||
            __builtin_add_overflow(value, (int64_t)hex_digit(l->source.bytes[i]), &value))
            return put_big(l, from, body, end, base);
    }
    struct jinja_token *token = add(l, TOKEN_INTEGER, from, end);
    if (!token) return false;
    token->as.i = value;
    moved(l, end);
    return true;
}

static bool put_float(struct lexer *l, size_t from, size_t end) {
    char text[64];
    size_t n = 0;
    for (size_t i = from; i < end && n < sizeof text - 1; i++) {
        if (l->source.bytes[i] != '_') text[n++] = l->source.bytes[i];
    }
    if (n == sizeof text - 1) return fail(l, from, "number is too long");
    struct jinja_token *token = add(l, TOKEN_FLOAT, from, end);
    if (!token) return false;
    if (!power_jinja_parse_double((struct power_text){text, n}, &token->as.f))
        return fail(l, from, "bad number");
    moved(l, end);
    return true;
}

static bool read_number(struct lexer *l) {
    size_t from = l->at, end = digits(l, from, 10), exponent;
    bool after_dot = from > 0 && l->source.bytes[from - 1] == '.';
    const char *s = l->source.bytes;
    if (s[from] == '0' && from + 2 < l->source.length && !after_dot) {
        char kind = s[from + 1];
        unsigned base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 0;
        if (base && is_digit(l, from + 2, base))
            return put_integer(l, from, from + 2, digits(l, from + 2, base), base);
    }
    if (!after_dot) {
        size_t fraction = end;
        if (end < l->source.length && s[end] == '.' && is_digit(l, end + 1, 10))
            fraction = digits(l, end + 1, 10);
        exponent = fraction;
        if (exponent < l->source.length && (s[exponent] == 'e' || s[exponent] == 'E')) {
            exponent++;
            if (exponent < l->source.length && (s[exponent] == '+' || s[exponent] == '-'))
                exponent++;
            exponent = is_digit(l, exponent, 10) ? digits(l, exponent, 10) : fraction;
        }
        if (exponent > end) return put_float(l, from, exponent);
    }
    if (s[from] == '0') { /* a zero takes only zeros along */
        end = from + 1;
        while (end < l->source.length && s[end] == '0')
            end++;
    }
    return put_integer(l, from, from, end, 10);
}

static bool is_word(struct power_char c) {
    return c.length && (c.code == '_' || (c.class & (POWER_CLASS_L | POWER_CLASS_N)) ||
                        (c.code >= 0x80 && (c.class & POWER_CLASS_M)));
}

static bool read_name(struct lexer *l) {
    size_t end = l->at;
    for (struct power_char c = power_char_at(l->source, end); is_word(c);
         c = power_char_at(l->source, end))
        end += c.length;
    if (!add(l, TOKEN_NAME, l->at, end)) return false;
    moved(l, end);
    return true;
}

static bool read_operator(struct lexer *l) {
    static const char *const two[] = {"//", "**", "==", "!=", ">=", "<="};
    size_t n = 0;
    for (size_t i = 0; i < sizeof two / sizeof *two && !n; i++)
        n = starts(l, l->at, two[i]) ? 2 : 0;
    char c = l->source.bytes[l->at];
    if (!n && strchr("+-/*%~[](){}><=.:|,;", c)) n = 1;
    if (!n || !c) return fail(l, l->at, "unexpected character");
    if (n == 1 && strchr("([{", c)) {
        if (l->open == POWER_JINJA_MAX_EXPRESSION) return fail(l, l->at, "nesting is too deep");
        l->stack[l->open++] = c == '(' ? ')' : c == '[' ? ']' : '}';
    }
    if (n == 1 && strchr(")]}", c)) {
        if (l->open == 0 || l->stack[l->open - 1] != c) return fail(l, l->at, "unexpected bracket");
        l->open--;
    }
    if (!add(l, TOKEN_OPERATOR, l->at, l->at + n)) return false;
    moved(l, l->at + n);
    return true;
}

/* Inside {{ }} or {% %}, up to its end. */
static bool read_expression(struct lexer *l, bool variable) {
    const char *delimiter = variable ? "}}" : "%}";
    size_t start = l->at;
    l->open = 0;
    while (l->at < l->source.length) {
        size_t end = l->open ? 0 : closing(l, l->at, delimiter, !variable);
        if (end) {
            if (!add(l, variable ? TOKEN_VARIABLE_END : TOKEN_BLOCK_END, l->at, end)) return false;
            moved(l, end);
            return true;
        }
        size_t length;
        char c = l->source.bytes[l->at];
        bool ok = true;
        if (is_space_at(l->source, l->at, &length))
            moved(l, l->at + length);
        else if (c >= '0' && c <= '9')
            ok = read_number(l);
        else if (is_word(power_char_at(l->source, l->at)))
            ok = read_name(l);
        else if (c == '\'' || c == '"')
            ok = read_string(l);
        else
            ok = read_operator(l);
        if (!ok) return false;
    }
    return fail(l, start, "unexpected end of template inside a tag");
}

/* The tag at `at`; data from l->at on stands before it. */
static bool read_tag(struct lexer *l, size_t at) {
    char kind = l->source.bytes[at + 1];
    char sign = at + 2 < l->source.length ? l->source.bytes[at + 2] : 0;
    if (sign != '-' && sign != '+') sign = 0;
    bool variable = kind == '{';
    if (!add_data(l, l->at, strip_data(l, l->at, at, sign, variable))) return false;
    size_t body = at + 2 + (sign != 0);
    if (kind == '#') return read_comment(l, body);
    size_t raw = variable ? 0 : raw_begin(l, at);
    if (raw) return read_raw(l, raw);
    if (!add(l, variable ? TOKEN_VARIABLE_BEGIN : TOKEN_BLOCK_BEGIN, at, body)) return false;
    moved(l, body);
    return read_expression(l, variable);
}

/* CRLF and CR become LF; one newline at the end is dropped. */
static bool normalise(struct lexer *l, struct power_text source) {
    char *out = power_arena_alloc(l->c->arena, source.length + 1, 1);
    size_t n = 0;
    if (!out) {
        l->c->status = power_fail_memory(l->c->error, source.length, "template");
        return false;
    }
    for (size_t i = 0; i < source.length; i++) {
        char c = source.bytes[i];
        if (c == '\r' && i + 1 < source.length && source.bytes[i + 1] == '\n') continue;
        out[n++] = c == '\r' ? '\n' : c;
    }
    if (n && out[n - 1] == '\n') n--;
    l->source = (struct power_text){out, n};
    return true;
}

bool power_jinja_lex(struct jinja_compiler *c, struct power_text source) {
    struct lexer l = {.c = c, .line = 1, .line_starting = true};
    size_t broken = power_utf8_check(source);
    if (broken < source.length) {
        c->status = power_fail_at(c->error, POWER_INVALID, broken,
                                  "template is not UTF-8 at byte %zu", broken);
        return false;
    }
    if (!normalise(&l, source)) return false;
    while (l.at < l.source.length) {
        size_t at = l.at;
        while (at + 1 < l.source.length &&
               !(l.source.bytes[at] == '{' && strchr("{%#", l.source.bytes[at + 1]) &&
                 l.source.bytes[at + 1]))
            at++;
        if (at + 1 >= l.source.length) {
            if (!add_data(&l, l.at, l.source.length)) return false;
            break;
        }
        if (!read_tag(&l, at)) return false;
    }
    return add(&l, TOKEN_END, l.source.length, l.source.length);
}
