/* SPDX-License-Identifier: MIT */
/* Automata over code points read byte by byte: UTF-8, and the spellings of a JSON string.
 * Input: a place (state, spelling so far) and a byte. Output: the next place, or that there is
 * none. Threads: any. Bounds: a search over the edges of one state. A spelling stands for the code
 * points that it can still become, one range (two for \u with surrogate pairs ahead); it is kept
 * only while an edge meets that range. As every state of the automaton can reach acceptance, every
 * place that is kept can, too. */
#include "text/constraint/state.h"

/* A spelling: stage in the upper 8 bits, value below. */
enum stage {
    STAGE_START,
    STAGE_UTF8_1, /* so many continuation bytes are missing; value: the bits so far */
    STAGE_UTF8_2,
    STAGE_UTF8_3,
    STAGE_ESCAPE,    /* behind a backslash */
    STAGE_HEX_0,     /* behind \u and so many digits */
    STAGE_HEX_3 = 8, /* value: the digits */
    STAGE_LOW_SLASH, /* behind a high surrogate; value: its 10 bits */
    STAGE_LOW_U,     /* and a backslash */
    STAGE_LOW_0,     /* and \u and digits; value: high << 12 | digits */
    STAGE_LOW_3 = 14
};
#define SPELLING(stage, value) ((uint32_t)(stage) << 24 | (value))
#define VALUE(spelling) ((spelling)&0xFFFFFF)

enum { HIGH_FIRST = 0xD800, LOW_FIRST = 0xDC00, LOW_LAST = 0xDFFF };

/* The first edge that ends at or behind `at`, or one past the last. */
static uint32_t find_edge(const struct power_regular *a, uint32_t q, uint32_t at) {
    const struct power_regular_state *state = &a->states[q];
    uint32_t low = state->first_edge, high = low + state->n_edges;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (a->edges[middle].last < at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool meets(const struct power_regular *a, uint32_t q, uint32_t first, uint32_t last) {
    if (first > last) return false;
    uint32_t edge = find_edge(a, q, first);
    const struct power_regular_state *state = &a->states[q];
    return edge < state->first_edge + state->n_edges && a->edges[edge].first <= last;
}

/* The same without surrogates, which an edge may run over. */
static bool meets_scalar(const struct power_regular *a, uint32_t q, uint32_t first, uint32_t last) {
    uint32_t low_last = last < HIGH_FIRST ? last : HIGH_FIRST - 1;
    uint32_t high_first = first > LOW_LAST ? first : LOW_LAST + 1;
    return meets(a, q, first, low_last) || meets(a, q, high_first, last);
}

static bool take(const struct power_regular *a, struct power_cursor *c, uint32_t code) {
    uint32_t edge = find_edge(a, c->state, code);
    const struct power_regular_state *state = &a->states[c->state];
    if (edge == state->first_edge + state->n_edges || a->edges[edge].first > code) return false;
    *c = (struct power_cursor){a->edges[edge].to, POWER_SPELL_START};
    return true;
}

/* ---- UTF-8 ---- */

/* The code points with `bits` and `missing` continuation bytes; the shortest form only. */
static bool utf8_range(uint32_t bits, uint32_t missing, bool three, uint32_t *first,
                       uint32_t *last) {
    *first = bits << (6 * missing);
    *last = *first + (1u << (6 * missing)) - 1;
    uint32_t least = missing == 3 ? 0x10000 : missing == 2 ? (three ? 0x800 : 0x10000) : 0x80;
    if (*first < least) *first = least;
    if (*last > 0x10FFFF) *last = 0x10FFFF;
    return *first <= *last;
}

static bool utf8_keep(const struct power_regular *a, struct power_cursor *c, uint32_t bits,
                      uint32_t missing, bool three) {
    uint32_t first, last;
    if (!utf8_range(bits, missing, three, &first, &last)) return false;
    if (!meets_scalar(a, c->state, first, last)) return false;
    c->spelling = SPELLING(STAGE_START + missing, bits);
    return true;
}

static bool utf8_lead(const struct power_regular *a, struct power_cursor *c, unsigned char byte) {
    if (byte < 0xC2 || byte > 0xF4) return false;
    if (byte < 0xE0) return utf8_keep(a, c, byte & 0x1F, 1, false);
    if (byte < 0xF0) return utf8_keep(a, c, byte & 0x0F, 2, true);
    return utf8_keep(a, c, byte & 0x07, 3, false);
}

/* With two bytes missing, less than 16 is the lead of three bytes: of four, U+10000 is 16 there. */
static bool utf8_next(const struct power_regular *a, struct power_cursor *c, unsigned char byte) {
    uint32_t missing = c->spelling >> 24, before = VALUE(c->spelling);
    if ((byte & 0xC0) != 0x80) return false;
    uint32_t bits = before << 6 | (byte & 0x3F);
    if (missing == 1) return take(a, c, bits);
    if (missing == 2 && before < 16 && (bits < 0x20 || (bits >= 0x360 && bits < 0x380))) {
        return false; /* longer than need be, or a surrogate */
    }
    if (missing == 3 && (bits < 16 || bits > 0x10F)) return false;
    return utf8_keep(a, c, bits, missing - 1, false);
}

/* ---- JSON ---- */

static int hex_value(unsigned char byte, bool lower_only) {
    if (byte >= '0' && byte <= '9') return byte - '0';
    if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F' && !lower_only) return byte - 'A' + 10;
    return -1;
}

static uint32_t short_escape(unsigned char byte) {
    static const char letters[] = "btnfr\"\\/", codes[] = "\b\t\n\f\r\"\\/";
    const char *at = byte ? strchr(letters, byte) : NULL;
    return at ? (uint32_t)codes[at - letters] : 0;
}

static bool has_short(uint32_t code) {
    return code >= 8 && code <= 13 && code != 11;
}

/* Whether one of first .. last can be taken where it is written \u: any code point; canonically
 * only the control characters without a shorter way. */
static bool meets_escaped(const struct power_program_regular *r, uint32_t q, uint32_t first,
                          uint32_t last) {
    const struct power_regular *a = &r->language;
    if (r->encoding != POWER_AS_JSON_CANONICAL) {
        if (meets_scalar(a, q, first, last)) return true;
        uint32_t low = first > HIGH_FIRST ? first : HIGH_FIRST;
        uint32_t high = last < LOW_FIRST - 1 ? last : LOW_FIRST - 1;
        return low <= high && meets(a, q, 0x10000 + ((low - HIGH_FIRST) << 10),
                                    0x10000 + ((high - HIGH_FIRST) << 10) + 0x3FF);
    }
    for (uint32_t code = first; code < 0x20 && code <= last; code++) {
        if (!has_short(code) && meets(a, q, code, code)) return true;
    }
    return false;
}

static bool escape(const struct power_program_regular *r, struct power_cursor *c,
                   unsigned char byte) {
    if (byte == 'u') {
        c->spelling = SPELLING(STAGE_HEX_0, 0);
        return meets_escaped(r, c->state, 0, 0xFFFF);
    }
    if (byte == '/' && r->encoding == POWER_AS_JSON_CANONICAL) return false;
    uint32_t code = short_escape(byte);
    return code && take(&r->language, c, code);
}

static bool hex_digit(const struct power_program_regular *r, struct power_cursor *c,
                      unsigned char byte) {
    int digit = hex_value(byte, r->encoding == POWER_AS_JSON_CANONICAL);
    uint32_t stage = c->spelling >> 24, value = VALUE(c->spelling) << 4 | (uint32_t)digit;
    if (digit < 0) return false;
    uint32_t missing = STAGE_HEX_3 - stage;
    if (missing) {
        c->spelling = SPELLING(stage + 1, value);
        return meets_escaped(r, c->state, value << (4 * missing),
                             ((value + 1) << (4 * missing)) - 1);
    }
    if (!meets_escaped(r, c->state, value, value)) return false;
    if (value >= HIGH_FIRST && value < LOW_FIRST) {
        c->spelling = SPELLING(STAGE_LOW_SLASH, value - HIGH_FIRST);
        return true;
    }
    return take(&r->language, c, value);
}

static bool low_digit(const struct power_program_regular *r, struct power_cursor *c,
                      unsigned char byte) {
    int digit = hex_value(byte, false);
    uint32_t stage = c->spelling >> 24, high = VALUE(c->spelling) >> 12;
    if (digit < 0) return false;
    uint32_t digits = ((VALUE(c->spelling) & 0xFFF) << 4 | (uint32_t)digit) & 0xFFFF;
    uint32_t missing = STAGE_LOW_3 - stage;
    uint32_t first = digits << (4 * missing), last = ((digits + 1) << (4 * missing)) - 1;
    if (first < LOW_FIRST) first = LOW_FIRST;
    if (last > LOW_LAST) last = LOW_LAST;
    uint32_t base = 0x10000 + (high << 10);
    if (first > last) return false;
    if (missing == 0) return take(&r->language, c, base + (first - LOW_FIRST));
    c->spelling = SPELLING(stage + 1, high << 12 | digits);
    return meets(&r->language, c->state, base + (first - LOW_FIRST), base + (last - LOW_FIRST));
}

static bool json_start(const struct power_program_regular *r, struct power_cursor *c,
                       unsigned char byte) {
    if (byte < 0x20 || byte == '"') return false;
    if (byte != '\\') return take(&r->language, c, byte);
    c->spelling = SPELLING(STAGE_ESCAPE, 0);
    if (r->encoding == POWER_AS_JSON) return r->language.states[c->state].n_edges > 0;
    return meets(&r->language, c->state, 0, 0x1F) || meets(&r->language, c->state, '"', '"') ||
           meets(&r->language, c->state, '\\', '\\');
}

bool power_cursor_step(const struct power_program_regular *r, struct power_cursor *cursor,
                       unsigned char byte) {
    uint32_t stage = cursor->spelling >> 24;
    if (stage == STAGE_START && byte >= 0x80) return utf8_lead(&r->language, cursor, byte);
    if (stage == STAGE_START && r->encoding == POWER_AS_UTF8) {
        return take(&r->language, cursor, byte);
    }
    if (stage == STAGE_START) return json_start(r, cursor, byte);
    if (stage <= STAGE_UTF8_3) return utf8_next(&r->language, cursor, byte);
    if (stage == STAGE_ESCAPE) return escape(r, cursor, byte);
    if (stage <= STAGE_HEX_3) return hex_digit(r, cursor, byte);
    if (stage >= STAGE_LOW_0) return low_digit(r, cursor, byte);
    uint32_t high = VALUE(cursor->spelling);
    if (byte != (stage == STAGE_LOW_SLASH ? '\\' : 'u')) return false;
    cursor->spelling =
        stage == STAGE_LOW_SLASH ? SPELLING(STAGE_LOW_U, high) : SPELLING(STAGE_LOW_0, high << 12);
    return true;
}

/* ---- bytes that may follow ---- */

static void set_range(uint64_t set[4], uint32_t first, uint32_t last) {
    for (uint32_t b = first; b <= last; b++)
        set[b >> 6] |= UINT64_C(1) << (b & 63);
}

static void maybe_ascii(const struct power_regular *a, uint32_t q, uint64_t set[4]) {
    const struct power_regular_state *state = &a->states[q];
    for (uint32_t i = 0; i < state->n_edges; i++) {
        const struct power_regular_edge *edge = &a->edges[state->first_edge + i];
        if (edge->first > 0x7F) break;
        uint32_t last = edge->last < 0x7F ? edge->last : 0x7F, first = edge->first;
        for (uint32_t w = 0; w < 2; w++) {
            uint32_t low = first > w * 64 ? first : w * 64;
            uint32_t high = last < w * 64 + 63 ? last : w * 64 + 63;
            if (low > high) continue;
            set[w] |= (UINT64_MAX >> (63 - (high - low))) << (low & 63);
        }
    }
}

void power_cursor_maybe(const struct power_program_regular *r, struct power_cursor cursor,
                        uint64_t set[4]) {
    const struct power_regular *a = &r->language;
    uint32_t stage = cursor.spelling >> 24;
    if (stage == STAGE_START) {
        uint64_t ascii[4] = {0};
        maybe_ascii(a, cursor.state, ascii);
        if (r->encoding != POWER_AS_UTF8) {
            struct power_cursor behind = cursor;
            ascii[0] &= ~(UINT64_C(0xFFFFFFFF) | UINT64_C(1) << '"');
            ascii[1] &= ~(UINT64_C(1) << ('\\' - 64));
            if (json_start(r, &behind, '\\')) ascii[1] |= UINT64_C(1) << ('\\' - 64);
        }
        set[0] |= ascii[0];
        set[1] |= ascii[1];
        if (meets(a, cursor.state, 0x80, 0x10FFFF)) set_range(set, 0xC2, 0xF4);
    } else if (stage <= STAGE_UTF8_3) {
        set_range(set, 0x80, 0xBF);
    } else if (stage == STAGE_LOW_SLASH || stage == STAGE_LOW_U) {
        set_range(set, stage == STAGE_LOW_U ? 'u' : '\\', stage == STAGE_LOW_U ? 'u' : '\\');
    } else {
        set_range(set, '"', '"');
        set_range(set, '/', '9');
        set_range(set, 'A', 'F');
        set_range(set, '\\', '\\');
        set_range(set, 'a', 'u');
    }
}

/* ---- counts ---- */

static uint64_t add_counts(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t count_range(const struct power_program_regular *r, uint32_t q, uint32_t first,
                            uint32_t last) {
    const struct power_regular *a = &r->language;
    const struct power_regular_state *state = &a->states[q];
    uint64_t sum = 0;
    for (uint32_t i = find_edge(a, q, first); i < state->first_edge + state->n_edges; i++) {
        const struct power_regular_edge *edge = &a->edges[i];
        if (edge->first > last) break;
        uint64_t low = edge->first > first ? edge->first : first;
        uint64_t high = edge->last < last ? edge->last : last;
        if (low > high) continue; /* no edge that ends before `first` is among them */
        uint64_t n = high - low + 1, each = r->counts[edge->to];
        sum = add_counts(sum, each > UINT64_MAX / n ? UINT64_MAX : each * n);
    }
    return sum;
}

/* Only canonical spellings are counted, of which each text has one. */
uint64_t power_cursor_count(const struct power_program_regular *r, struct power_cursor cursor) {
    uint32_t stage = cursor.spelling >> 24, value = VALUE(cursor.spelling), first, last;
    uint64_t sum = 0;
    if (stage == STAGE_START) return r->counts[cursor.state];
    if (stage <= STAGE_UTF8_3) {
        if (!utf8_range(value, stage, value < 16, &first, &last)) return 0;
        uint32_t low_last = last < HIGH_FIRST ? last : HIGH_FIRST - 1;
        if (first <= low_last) sum = count_range(r, cursor.state, first, low_last);
        first = first > LOW_LAST ? first : LOW_LAST + 1;
        return first <= last ? add_counts(sum, count_range(r, cursor.state, first, last)) : sum;
    }
    uint32_t missing = stage == STAGE_ESCAPE ? 4 : STAGE_HEX_3 + 1 - stage;
    for (uint32_t code = 0; code < 0x20; code++) {
        if (stage != STAGE_ESCAPE && (has_short(code) || code >> (4 * missing) != value)) continue;
        sum = add_counts(sum, count_range(r, cursor.state, code, code));
    }
    if (stage != STAGE_ESCAPE) return sum;
    sum = add_counts(sum, count_range(r, cursor.state, '"', '"'));
    return add_counts(sum, count_range(r, cursor.state, '\\', '\\'));
}
