/* SPDX-License-Identifier: MIT */
/* Languages of JSON numbers: bounds, whole numbers, multiples, by exact decimal comparison.
 * Input: numbers of the schema. Output: for each condition the spellings that satisfy it, and those
 * that do not.
 * Threads: one a compilation. Bounds: those of schema_decimal.c.
 *
 * A number without any condition may be spelt in each way that JSON has. Under a condition these
 * spellings are decided: plain ones (-0.50) of any length, and exponent forms with one digit before
 * the point and at most 20 behind it (1.5e+07, 2E3, 0e5). Other exponent forms are in neither set,
 * and so are exponent forms under multipleOf, unless every whole number is a multiple. A number
 * that equals one of a list has only spellings of bounded length: no more than four zeros behind
 * the digits that it needs, and at most four digits of an exponent. */
#include <stdio.h>

#include "text/constraint/schema.h"

enum phase { START, SIGNED, ZERO, WHOLE, POINT, FRACTION, E_MARK, E_SIGN, E_DIGITS };
enum { MANTISSA = 20 }; /* digits behind the point of an exponent form */

/* A state as one number: 0 is the start. */
struct place {
    unsigned phase;    /* 4 bits */
    bool minus;        /* 1 */
    bool nonzero;      /* 1: some digit so far is not 0 */
    bool single;       /* 1: may still become an exponent form */
    unsigned plain;    /* 3: relation of the digits so far to the bound's, same places */
    unsigned leading;  /* 3: the same from the first digit on */
    unsigned whole;    /* 12: digits before the point */
    unsigned behind;   /* 12: digits behind the point */
    bool e_minus;      /* 1 */
    unsigned exponent; /* 16 */
    unsigned last;     /* 6: place of the last digit behind the point that is not 0 */
};

static uint64_t pack(struct place p) {
    uint64_t code = p.phase;
    code = code << 1 | p.minus;
    code = code << 1 | p.nonzero;
    code = code << 1 | p.single;
    code = code << 3 | p.plain;
    code = code << 3 | p.leading;
    code = code << 12 | p.whole;
    code = code << 12 | p.behind;
    code = code << 1 | p.e_minus;
    code = code << 16 | p.exponent;
    return code << 6 | p.last;
}

static unsigned take(uint64_t *code, unsigned bits) {
    unsigned value = (unsigned)(*code & ((1u << bits) - 1));
    *code >>= bits;
    return value;
}

static struct place unpack(uint64_t code) {
    struct place p = {0};
    p.last = take(&code, 6);
    p.exponent = take(&code, 16);
    p.e_minus = take(&code, 1) != 0;
    p.behind = take(&code, 12);
    p.whole = take(&code, 12);
    p.leading = take(&code, 3);
    p.plain = take(&code, 3);
    p.single = take(&code, 1) != 0;
    p.nonzero = take(&code, 1) != 0;
    p.minus = take(&code, 1) != 0;
    p.phase = take(&code, 4);
    return p;
}

static unsigned relation(int difference) {
    return difference < 0 ? RELATION_LESS : difference > 0 ? RELATION_MORE : RELATION_EQUAL;
}

/* What every machine shares: the grammar of numbers. False: the character cannot stand here.
 * *digit is set for digits of the mantissa only. */
static bool step(struct place *p, char c, int *digit) {
    bool is_digit = c >= '0' && c <= '9';
    *digit = -1;
    if (is_digit && p->phase >= E_MARK) {
        p->phase = E_DIGITS;
        return true;
    }
    if (is_digit) {
        if (p->phase == ZERO) return false;
        *digit = c - '0';
        if (p->phase <= SIGNED)
            p->phase = c == '0' ? ZERO : WHOLE;
        else if (p->phase == POINT)
            p->phase = FRACTION;
        return true;
    }
    unsigned from = p->phase;
    if (c == '-' && from == START) {
        p->phase = SIGNED;
        p->minus = true;
        return true;
    }
    if (c == '.' && (from == ZERO || from == WHOLE)) {
        p->phase = POINT;
        return true;
    }
    if ((c == 'e' || c == 'E') && (from == ZERO || from == WHOLE || from == FRACTION)) {
        p->phase = E_MARK;
        return true;
    }
    if ((c == '-' || c == '+') && from == E_MARK) {
        p->phase = E_SIGN;
        p->e_minus = c == '-';
        return true;
    }
    return false;
}

static bool is_whole(unsigned phase) {
    return phase == ZERO || phase == WHOLE || phase == FRACTION || phase == E_DIGITS;
}

static uint64_t any_next(const void *context, uint64_t state, char c) {
    (void)context;
    struct place p = unpack(state);
    int digit;
    if (!step(&p, c, &digit)) return MACHINE_DEAD;
    return pack((struct place){.phase = p.phase});
}

static bool any_accepts(const void *context, uint64_t state) {
    (void)context;
    return is_whole(unpack(state).phase);
}

/* Comparison with a bound. */
struct bound {
    struct schema_decimal value;
    unsigned wanted;  /* relations that are accepted */
    unsigned whole;   /* digits of |bound| before the point */
    unsigned behind;  /* and behind it */
    unsigned e_most;  /* |exponent| of the bound plus one: more makes no difference */
    int32_t exponent; /* of d.ddd form */
};

static int bound_digit(const struct bound *b, int64_t i) {
    return i >= 0 && i < (int64_t)b->value.n ? b->value.digits[i] - '0' : 0;
}

static void compare_whole(const struct bound *b, struct place *p, int digit) {
    if (p->phase == ZERO) {
        p->plain = RELATION_EQUAL; /* no digit that counts */
        p->leading = RELATION_EQUAL;
        p->single = true;
        return;
    }
    if (p->whole == 0) {
        p->single = true;
        p->leading = relation(digit - bound_digit(b, 0));
        p->plain = RELATION_EQUAL;
    } else {
        p->single = false;
        p->leading = 0;
    }
    if (p->plain == RELATION_EQUAL) p->plain = relation(digit - bound_digit(b, p->whole));
    p->whole++;
    if (p->whole > b->whole) {
        p->plain = RELATION_MORE;
        p->whole = b->whole + 1;
    }
}

/* At the point, or the end: fewer digits than the bound's are less. */
static void end_whole(const struct bound *b, struct place *p) {
    if (p->whole < b->whole) p->plain = RELATION_LESS;
    p->whole = 0;
}

static void compare_fraction(const struct bound *b, struct place *p, int digit) {
    if (p->plain == RELATION_EQUAL)
        p->plain = relation(digit - bound_digit(b, (int64_t)b->value.point + p->behind));
    if (p->single && p->nonzero && p->leading == RELATION_EQUAL)
        p->leading = relation(digit - bound_digit(b, (int64_t)p->behind + 1));
    p->behind++;
    if (p->behind > MANTISSA) {
        p->single = false;
        p->leading = 0;
    }
    if (p->single) return;
    /* Behind the bound's own digits only one bit is left to know: whether all were 0. */
    if (p->plain != RELATION_EQUAL || p->behind > b->behind) p->behind = b->behind + MANTISSA + 1;
}

static uint64_t compare_next(const void *context, uint64_t state, char c) {
    const struct bound *b = context;
    struct place p = unpack(state);
    unsigned from = p.phase;
    int digit;
    if (!step(&p, c, &digit)) return MACHINE_DEAD;
    if (digit > 0) p.nonzero = true;
    if (digit >= 0 && from < POINT) compare_whole(b, &p, digit);
    if (p.phase == POINT) end_whole(b, &p);
    if (digit >= 0 && p.phase == FRACTION) {
        if (p.nonzero && !unpack(state).nonzero) {
            p.single = false; /* 0.5e3: not of the forms that are decided */
            p.leading = 0;
        }
        compare_fraction(b, &p, digit);
    }
    if (p.phase == E_MARK) {
        if (!p.single) return MACHINE_DEAD;
        if (p.leading == RELATION_EQUAL && p.nonzero && p.behind + 1 < b->value.n)
            p.leading = RELATION_LESS; /* the bound's digits go on */
        p.behind = p.whole = p.plain = 0;
    }
    if (p.phase == E_DIGITS) {
        p.exponent = p.exponent * 10 + (unsigned)(c - '0');
        if (p.exponent > b->e_most) p.exponent = b->e_most;
    }
    return pack(p);
}

/* Relation of the absolute values at the end of a text. */
static unsigned magnitude(const struct bound *b, struct place p) {
    if (!p.nonzero) return b->value.n ? RELATION_LESS : RELATION_EQUAL;
    if (b->value.n == 0) return RELATION_MORE;
    if (p.phase == E_DIGITS) {
        int32_t e = p.e_minus ? -(int32_t)p.exponent : (int32_t)p.exponent;
        return e == b->exponent ? p.leading : relation(e < b->exponent ? -1 : 1);
    }
    if (p.phase != FRACTION) {
        end_whole(b, &p);
        p.behind = 0;
    }
    if (p.plain == RELATION_EQUAL && p.behind < b->behind) return RELATION_LESS;
    return p.plain;
}

static bool compare_accepts(const void *context, uint64_t state) {
    const struct bound *b = context;
    struct place p = unpack(state);
    if (!is_whole(p.phase)) return false;
    int left = !p.nonzero ? 0 : p.minus ? -1 : 1;
    int right = b->value.n == 0 ? 0 : b->value.negative ? -1 : 1;
    unsigned found = relation(left - right);
    if (left == right && left != 0) {
        found = magnitude(b, p);
        if (left < 0 && found != RELATION_EQUAL)
            found = found == RELATION_LESS ? RELATION_MORE : RELATION_LESS;
    }
    return (found & b->wanted) != 0;
}

const struct power_regular *power_schema_compare_to(struct schema *s, uint32_t at,
                                                    const struct schema_decimal *value,
                                                    unsigned relations) {
    struct bound b = {.wanted = relations, .value = *value};
    const struct power_regular *out;
    int64_t behind = (int64_t)b.value.n - b.value.point;
    b.whole = b.value.n > 0 && b.value.point > 0 ? (unsigned)b.value.point : 0;
    b.behind = b.value.n > 0 && behind > 0 ? (unsigned)behind : 0;
    b.exponent = b.value.point - 1;
    b.e_most = (unsigned)(b.exponent < 0 ? -b.exponent : b.exponent) + 1;
    struct schema_machine machine = {compare_next, compare_accepts, &b};
    return power_schema_machine(s, at, &machine, &out) ? out : NULL;
}

const struct power_regular *power_schema_compare(struct schema *s, uint32_t at,
                                                 unsigned relations) {
    struct schema_decimal value;
    if (!power_schema_decimal(s, at, &value)) return NULL;
    return power_schema_compare_to(s, at, &value, relations);
}

/* The `no` side keeps the long spellings: what is left out of `yes` is no other number. */
bool power_schema_equal_numbers(struct schema *s, const struct power_regular *parts, uint32_t n,
                                uint32_t digits, struct schema_numbers *out) {
    enum { ZEROS = 4 };
    char text[64];
    struct power_regular brief;
    power_error why = {0};
    const struct power_regular *all = power_schema_union(s, parts, n);
    if (!all || !power_schema_numbers(s, all, out)) return false;
    (void)snprintf(text, sizeof text, "[-0-9]*(\\.[0-9]{1,%u})?([eE][-+]?[0-9]{1,%d})?",
                   digits + ZEROS, ZEROS);
    power_status status =
        power_regular_parse(&s->space, power_text_of(text), POWER_REGEX_WHOLE, &brief, &why);
    if (!power_schema_check(s, status, s->blame, &why)) return false;
    out->yes = power_schema_and(s, all, &brief);
    return out->yes != NULL;
}

bool power_schema_numbers(struct schema *s, const struct power_regular *yes,
                          struct schema_numbers *out) {
    *out = (struct schema_numbers){yes, power_schema_minus(s, s->decided, yes)};
    return out->no != NULL;
}

/* Whole numbers. `plain`: MORE once a digit behind the point is not 0. */
struct whole {
    bool wanted, exponents_only;
};

static uint64_t whole_next(const void *context, uint64_t state, char c) {
    (void)context;
    struct place p = unpack(state);
    unsigned from = p.phase;
    int digit;
    if (!step(&p, c, &digit)) return MACHINE_DEAD;
    if (digit >= 0 && from < POINT) {
        p.single = from <= SIGNED;
        p.nonzero = p.phase == WHOLE;
    }
    if (digit >= 0 && p.phase == FRACTION) {
        p.behind++;
        if (digit > 0) {
            p.plain = RELATION_MORE;
            p.last = p.behind;
        }
        if (p.behind > MANTISSA || (digit > 0 && !p.nonzero)) p.single = false;
        if (!p.single) p.behind = p.last = 0;
    }
    if (p.phase == E_MARK) {
        if (!p.single) return MACHINE_DEAD;
        p.behind = p.plain = 0;
    }
    if (p.phase == E_DIGITS) {
        unsigned most = p.last > 0 ? p.last : 1;
        p.exponent = p.exponent * 10 + (unsigned)(c - '0');
        if (p.exponent > most) p.exponent = most;
    }
    p.minus = false;
    return pack(p);
}

static bool whole_accepts(const void *context, uint64_t state) {
    const struct whole *w = context;
    struct place p = unpack(state);
    if (!is_whole(p.phase) || (w->exponents_only && p.phase != E_DIGITS)) return false;
    bool whole = p.plain != RELATION_MORE;
    if (p.phase == E_DIGITS && p.nonzero)
        whole = p.e_minus ? p.exponent == 0 && p.last == 0 : p.exponent >= p.last;
    return whole == w->wanted;
}

/* Multiples of n / 10^scale among the plain spellings. */
struct multiple {
    uint64_t n;
    unsigned scale;
    bool wanted;
};
#define MULTIPLE_SHIFT 16

static uint64_t multiple_next(const void *context, uint64_t state, char c) {
    const struct multiple *m = context;
    struct place p = {.phase = state & 15, .behind = state >> 4 & 2047};
    bool never = (state >> 15 & 1) != 0;
    uint64_t rest = state >> MULTIPLE_SHIFT;
    int digit;
    if (!step(&p, c, &digit) || p.phase == E_MARK) return MACHINE_DEAD;
    if (digit >= 0 && p.phase == FRACTION) {
        if (p.behind == m->scale) {
            never = never || digit > 0;
        } else {
            p.behind++;
            rest = (rest * 10 + (uint64_t)digit) % m->n;
        }
    } else if (digit >= 0) {
        rest = (rest * 10 + (uint64_t)digit) % m->n;
    }
    if (p.phase == POINT && m->scale == 0 && rest != 0) never = true;
    if (never) rest = p.behind = 0;
    return rest << MULTIPLE_SHIFT | (uint64_t)never << 15 | (uint64_t)p.behind << 4 | p.phase;
}

static bool multiple_accepts(const void *context, uint64_t state) {
    const struct multiple *m = context;
    unsigned phase = state & 15, behind = state >> 4 & 2047;
    if (!is_whole(phase)) return false;
    bool never = (state >> 15 & 1) != 0;
    uint64_t rest = state >> MULTIPLE_SHIFT;
    for (; behind < m->scale && rest != 0; behind++)
        rest = rest * 10 % m->n;
    return (rest == 0 && !never) == m->wanted;
}

/* Whether every whole number is a multiple: n divides 10^scale. */
static bool divides_all(const struct multiple *m) {
    uint64_t rest = 1 % m->n;
    for (unsigned i = 0; i < m->scale && rest != 0; i++)
        rest = rest * 10 % m->n;
    return rest == 0;
}

bool power_schema_multiple(struct schema *s, uint32_t at, struct schema_numbers *out) {
    struct schema_decimal d;
    if (!power_schema_decimal(s, at, &d)) return false;
    if (d.n == 0 || d.negative) return power_schema_fail(s, POWER_INVALID, at, "must be above 0");
    struct multiple m = {0, 0, true};
    int32_t digits = d.point > (int32_t)d.n ? d.point : (int32_t)d.n;
    for (int32_t i = 0; i < digits && m.n < 1000000; i++)
        m.n = m.n * 10 + (uint64_t)((uint32_t)i < d.n ? d.digits[i] - '0' : 0);
    if (m.n >= 1000000)
        return power_schema_fail(s, POWER_LIMIT, at,
                                 "needs an automaton of more states than allowed");
    m.scale = (int32_t)d.n > d.point ? (unsigned)((int32_t)d.n - d.point) : 0;
    struct schema_machine machine = {multiple_next, multiple_accepts, &m};
    if (!power_schema_machine(s, at, &machine, &out->yes)) return false;
    m.wanted = false;
    if (!power_schema_machine(s, at, &machine, &out->no)) return false;
    if (!divides_all(&m)) return true;
    const struct whole exponents = {true, true};
    const struct power_regular *more;
    machine = (struct schema_machine){whole_next, whole_accepts, &exponents};
    if (!power_schema_machine(s, at, &machine, &more)) return false;
    out->yes = power_schema_or(s, out->yes, more);
    return out->yes != NULL;
}

bool power_schema_number_sets(struct schema *s) {
    struct schema_machine machine = {any_next, any_accepts, NULL};
    if (!power_schema_machine(s, 0, &machine, &s->all_numbers)) return false;
    struct whole whole = {true, false};
    machine = (struct schema_machine){whole_next, whole_accepts, &whole};
    if (!power_schema_machine(s, 0, &machine, &s->integers)) return false;
    whole.wanted = false;
    const struct power_regular *others;
    if (!power_schema_machine(s, 0, &machine, &others)) return false;
    s->decided = power_schema_or(s, s->integers, others);
    s->whole = (struct schema_numbers){s->integers, others};
    return s->decided != NULL;
}
