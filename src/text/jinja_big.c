/* SPDX-License-Identifier: MIT */
/* Job: integers of more than 64 bits, exact as Python's.
 * Input: integers of any size. Output: the same; what fits in 64 bits becomes a plain integer.
 * Threads: one per rendering. Bounds: at most JINJA_MAX_BITS bits, beyond that is an error; time is
 * quadratic in the limbs and taken from the rendering's steps. */
#include <math.h>

#include "text/jinja.h"

#define MAX_LIMBS (JINJA_MAX_BITS / 32)

struct jinja_big {
    bool negative;
    uint32_t count; /* the highest limb is not 0 */
    uint32_t limbs[];
};

/* A borrowed view; `small` holds the limbs of a plain integer. */
struct whole {
    bool negative;
    uint32_t count;
    const uint32_t *limbs;
    uint32_t small[2];
};

bool power_jinja_is_whole(struct jinja_value v) {
    return v.type == JINJA_BOOL || v.type == JINJA_INT || v.type == JINJA_BIG;
}

static void view(struct jinja_value v, struct whole *out) {
    if (v.type == JINJA_BIG) {
        *out = (struct whole){v.as.big->negative, v.as.big->count, v.as.big->limbs, {0, 0}};
        return;
    }
    int64_t i = v.type == JINJA_BOOL ? v.as.b : v.as.i;
    uint64_t magnitude = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
    out->negative = i < 0;
    out->small[0] = (uint32_t)magnitude;
    out->small[1] = (uint32_t)(magnitude >> 32);
    out->count = out->small[1] ? 2 : out->small[0] ? 1 : 0;
    out->limbs = out->small;
}

static bool too_large(struct jinja_render *r) {
    return power_jinja_raise(r, POWER_LIMIT, "an integer has more than %d bits", JINJA_MAX_BITS);
}

static uint32_t *room(struct jinja_render *r, size_t limbs) {
    uint32_t *at = power_arena_alloc(&r->arena, limbs + 1, sizeof *at);
    if (!at) (void)power_jinja_no_memory(r);
    return at;
}

/* The value of a sign and limbs, leading zeros allowed. */
static bool make(struct jinja_render *r, bool negative, const uint32_t *limbs, size_t count,
                 struct jinja_value *out) {
    while (count && limbs[count - 1] == 0)
        count--;
    if (count <= 2) {
        uint64_t m = (count > 0 ? limbs[0] : 0) | (uint64_t)(count > 1 ? limbs[1] : 0) << 32;
        if (m <= (uint64_t)INT64_MAX + negative) {
            *out = power_jinja_int(negative ? (int64_t)(0 - m) : (int64_t)m);
            return true;
        }
    }
    if (count > MAX_LIMBS) return too_large(r);
    struct jinja_big *big =
        power_arena_alloc(&r->arena, 1, sizeof *big + count * sizeof *big->limbs);
    if (!big) return power_jinja_no_memory(r);
    big->negative = negative;
    big->count = (uint32_t)count;
    memcpy(big->limbs, limbs, count * sizeof *limbs);
    *out = (struct jinja_value){.type = JINJA_BIG, .as.big = big};
    return true;
}

static int compare(const struct whole *a, const struct whole *b) {
    if (a->count != b->count) return a->count > b->count ? 1 : -1;
    for (uint32_t i = a->count; i-- > 0;) {
        if (a->limbs[i] != b->limbs[i]) return a->limbs[i] > b->limbs[i] ? 1 : -1;
    }
    return 0;
}

int power_jinja_whole_order(struct jinja_value a, struct jinja_value b) {
    struct whole x, y;
    view(a, &x);
    view(b, &y);
    if (x.negative != y.negative) return x.negative ? -1 : 1;
    return x.negative ? compare(&y, &x) : compare(&x, &y);
}

/* |a| + |b|, or |a| - |b| where |a| is not smaller. */
static void add_limbs(const struct whole *a, const struct whole *b, uint32_t *out) {
    uint64_t carry = 0;
    uint32_t n = a->count > b->count ? a->count : b->count;
    for (uint32_t i = 0; i < n; i++) {
        carry += (uint64_t)(i < a->count ? a->limbs[i] : 0) + (i < b->count ? b->limbs[i] : 0);
        out[i] = (uint32_t)carry;
        carry >>= 32;
    }
    out[n] = (uint32_t)carry;
}

static void subtract_limbs(const struct whole *a, const struct whole *b, uint32_t *out) {
    int64_t borrow = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        borrow += (int64_t)a->limbs[i] - (i < b->count ? b->limbs[i] : 0);
        out[i] = (uint32_t)borrow;
        borrow >>= 32;
    }
}

static bool add(struct jinja_render *r, struct whole a, struct whole b, struct jinja_value *out) {
    size_t n = (a.count > b.count ? a.count : b.count) + 1;
    uint32_t *sum = room(r, n);
    if (!sum) return false;
    if (a.negative == b.negative) {
        add_limbs(&a, &b, sum);
        return make(r, a.negative, sum, n, out);
    }
    bool larger = compare(&a, &b) >= 0;
    subtract_limbs(larger ? &a : &b, larger ? &b : &a, sum);
    return make(r, larger ? a.negative : b.negative, sum, n - 1, out);
}

static bool multiply(struct jinja_render *r, const struct whole *a, const struct whole *b,
                     struct jinja_value *out) {
    size_t n = (size_t)a->count + b->count;
    if (n > MAX_LIMBS + 2) return too_large(r);
    uint32_t *product = room(r, n);
    if (!product || !power_jinja_steps(r, (uint64_t)a->count * b->count / 16)) return false;
    for (uint32_t i = 0; i < a->count; i++) {
        uint64_t carry = 0;
        for (uint32_t k = 0; k < b->count; k++) {
            carry += (uint64_t)a->limbs[i] * b->limbs[k] + product[i + k];
            product[i + k] = (uint32_t)carry;
            carry >>= 32;
        }
        product[i + b->count] = (uint32_t)carry;
    }
    return make(r, a->negative != b->negative, product, n, out);
}

/* limbs /= by; returns the rest. */
static uint32_t divide_small(uint32_t *limbs, size_t count, uint32_t by) {
    uint64_t rest = 0;
    for (size_t i = count; i-- > 0;) {
        rest = rest << 32 | limbs[i];
        limbs[i] = (uint32_t)(rest / by);
        rest %= by;
    }
    return (uint32_t)rest;
}

/* out = limbs << bits, bits < 32; out has room for one limb more. */
static void shift_left(const uint32_t *limbs, size_t count, unsigned bits, uint32_t *out) {
    uint64_t carry = 0;
    for (size_t i = 0; i < count; i++) {
        carry |= (uint64_t)limbs[i] << bits;
        out[i] = (uint32_t)carry;
        carry >>= 32;
    }
    out[count] = (uint32_t)carry;
}

/* One digit of the long division: rest[0..n] -= q * by, q as large as it can be. */
static uint32_t quotient_digit(uint32_t *rest, const uint32_t *by, size_t n) {
    uint64_t top = (uint64_t)rest[n] << 32 | rest[n - 1];
    uint64_t q = top / by[n - 1], left = top % by[n - 1];
    while (q >> 32 || (n > 1 && q * by[n - 2] > (left << 32 | rest[n - 2]))) {
        q--;
        left += by[n - 1];
        if (left >> 32) break;
    }
    int64_t borrow = 0;
    uint64_t carry = 0;
    for (size_t i = 0; i <= n; i++) {
        carry += i < n ? q * by[i] : 0;
        borrow += (int64_t)rest[i] - (int64_t)(uint32_t)carry;
        rest[i] = (uint32_t)borrow;
        borrow >>= 32;
        carry >>= 32;
    }
    if (borrow == 0) return (uint32_t)q;
    carry = 0; /* one too many: add it back */
    for (size_t i = 0; i <= n; i++) {
        carry += (uint64_t)rest[i] + (i < n ? by[i] : 0);
        rest[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return (uint32_t)q - 1;
}

/* |a| / |b| by long division; b is not 0. The quotient has a->count limbs, the rest b->count. */
static bool divide(struct jinja_render *r, const struct whole *a, const struct whole *b,
                   uint32_t **out_quotient, uint32_t **out_rest) {
    size_t n = b->count, m = a->count;
    uint32_t *rest = room(r, m + n + 2), *by = room(r, n + 1), *q = room(r, m + 1);
    if (!rest || !by || !q || !power_jinja_steps(r, (uint64_t)m * n / 16)) return false;
    unsigned bits = (unsigned)__builtin_clz(b->limbs[n - 1]);
    shift_left(b->limbs, n, bits, by);
    shift_left(a->limbs, m, bits, rest);
    for (size_t i = m >= n ? m - n + 1 : 0; i-- > 0;)
        q[i] = quotient_digit(rest + i, by, n);
    for (size_t i = 0; bits && i < n; i++)
        rest[i] = rest[i] >> bits | (uint32_t)((uint64_t)rest[i + 1] << (32 - bits));
    *out_quotient = q;
    *out_rest = rest;
    return true;
}

static bool is_zero(const uint32_t *limbs, size_t count) {
    while (count && limbs[count - 1] == 0)
        count--;
    return count == 0;
}

/* Rounded down as Python does; the rest has the divisor's sign. */
static bool floor_divide(struct jinja_render *r, bool want_rest, const struct whole *a,
                         const struct whole *b, struct jinja_value *out) {
    uint32_t *q, *rest;
    struct jinja_value one = power_jinja_int(-1), v;
    struct whole x;
    if (!divide(r, a, b, &q, &rest)) return false;
    bool down = a->negative != b->negative && !is_zero(rest, b->count);
    if (!want_rest) {
        if (!make(r, a->negative != b->negative, q, a->count, &v)) return false;
        *out = v;
        return !down || power_jinja_whole_op(r, OP_ADD, v, one, out);
    }
    if (!make(r, a->negative, rest, b->count, &v)) return false;
    *out = v;
    view(v, &x);
    return !down || add(r, x, *b, out);
}

static size_t bits_of(const uint32_t *limbs, size_t count) {
    while (count && limbs[count - 1] == 0)
        count--;
    return count ? count * 32 - (size_t)__builtin_clz(limbs[count - 1]) : 0;
}

static bool bit_at(const uint32_t *limbs, size_t bit) {
    return limbs[bit / 32] >> (bit % 32) & 1;
}

/* limbs * 2^exponent rounded to the nearest double, ties to even; `more`: something is below the
 * last bit. HUGE_VAL when it is too large. */
static double to_double(const uint32_t *limbs, size_t count, int64_t exponent, bool more) {
    int64_t bits = (int64_t)bits_of(limbs, count), keep = 53;
    if (bits + exponent < -1021) keep = bits + exponent + 1074; /* subnormal */
    if (keep < 0) return 0;
    int64_t cut = bits - keep;
    uint64_t mantissa = 0;
    for (int64_t i = bits - 1; i >= cut && i >= 0; i--)
        mantissa = mantissa << 1 | bit_at(limbs, (size_t)i);
    if (cut < 0) return ldexp((double)mantissa, (int)exponent);
    bool half = cut > 0 && bit_at(limbs, (size_t)cut - 1);
    for (int64_t i = 0; !more && i + 1 < cut; i++)
        more = bit_at(limbs, (size_t)i);
    if (half && (more || (mantissa & 1))) mantissa++;
    return ldexp((double)mantissa, (int)(exponent + cut));
}

double power_jinja_whole_double(struct jinja_value v) {
    struct whole w;
    view(v, &w);
    double d = to_double(w.limbs, w.count, 0, false);
    return w.negative ? -d : d;
}

/* The quotient as a double, correctly rounded. */
static bool true_divide(struct jinja_render *r, const struct whole *a, const struct whole *b,
                        struct jinja_value *out) {
    int64_t shift =
        66 + (int64_t)bits_of(b->limbs, b->count) - (int64_t)bits_of(a->limbs, a->count);
    if (shift < 0) shift = 0;
    size_t whole_limbs = (size_t)shift / 32, n = a->count + whole_limbs + 1;
    uint32_t *scaled = room(r, n), *q, *rest;
    if (!scaled) return false;
    shift_left(a->limbs, a->count, (unsigned)shift % 32, scaled + whole_limbs);
    struct whole wide = {false, (uint32_t)n, scaled, {0, 0}};
    if (!divide(r, &wide, b, &q, &rest)) return false;
    double d = to_double(q, n, -shift, !is_zero(rest, b->count));
    if (isinf(d))
        return power_jinja_raise(r, POWER_INVALID, "integer division result too large for a float");
    *out = power_jinja_float(a->negative != b->negative ? -d : d);
    return true;
}

static bool power(struct jinja_render *r, struct jinja_value base, struct jinja_value exponent,
                  struct jinja_value *out) {
    struct whole b, e;
    view(base, &b);
    view(exponent, &e);
    if (e.negative) {
        double x = power_jinja_whole_double(base), y = power_jinja_whole_double(exponent);
        if (isinf(x) || isinf(y))
            return power_jinja_raise(r, POWER_INVALID, "int too large to convert to float");
        if (b.count == 0)
            return power_jinja_raise(r, POWER_INVALID, "0.0 cannot be raised to a negative power");
        *out = power_jinja_float(pow(x, y));
        return true;
    }
    bool unit = b.count == 0 || (b.count == 1 && b.limbs[0] == 1);
    if (!unit && (e.count > 1 || (e.count == 1 && e.limbs[0] > JINJA_MAX_BITS)))
        return too_large(r);
    uint32_t times = e.count ? e.limbs[0] : 0;
    if (unit && e.count) times = 2 - (times & 1);
    *out = power_jinja_int(1);
    for (struct jinja_value square = base; times; times >>= 1) {
        if ((times & 1) && !power_jinja_whole_op(r, OP_MUL, *out, square, out)) return false;
        if (times > 1 && !power_jinja_whole_op(r, OP_MUL, square, square, &square)) return false;
    }
    return true;
}

bool power_jinja_whole_op(struct jinja_render *r, enum jinja_op op, struct jinja_value a,
                          struct jinja_value b, struct jinja_value *out) {
    struct whole x, y;
    view(a, &x);
    view(b, &y);
    if ((op == OP_DIV || op == OP_FLOOR || op == OP_MOD) && y.count == 0)
        return power_jinja_raise(r, POWER_INVALID,
                                 op == OP_DIV ? "division by zero"
                                              : "integer division or modulo by zero");
    switch ((int)op) {
    case OP_SUB:
        y.negative = !y.negative;
        return add(r, x, y, out);
    case OP_ADD:
        return add(r, x, y, out);
    case OP_MUL:
        return multiply(r, &x, &y, out);
    case OP_DIV:
        return true_divide(r, &x, &y, out);
    case OP_POW:
        return power(r, a, b, out);
    default:
        return floor_divide(r, op == OP_MOD, &x, &y, out);
    }
}

bool power_jinja_whole_negate(struct jinja_render *r, struct jinja_value v,
                              struct jinja_value *out) {
    return power_jinja_whole_op(r, OP_SUB, power_jinja_int(0), v, out);
}

bool power_jinja_whole_negative(struct jinja_value v) {
    struct whole w;
    view(v, &w);
    return w.negative;
}

int64_t power_jinja_whole_clamp(struct jinja_value v) {
    if (v.type == JINJA_BIG) return v.as.big->negative ? INT64_MIN : INT64_MAX;
    return v.type == JINJA_BOOL ? v.as.b : v.as.i;
}

size_t power_jinja_whole_bits(struct jinja_value v) {
    struct whole w;
    view(v, &w);
    return bits_of(w.limbs, w.count);
}

/* ---- text ---- */

bool power_jinja_whole_digits(struct jinja_render *r, struct jinja_value v, unsigned base,
                              bool upper, struct power_text *out) {
    struct whole w;
    view(v, &w);
    size_t most = bits_of(w.limbs, w.count) / (base >= 10 ? 3 : 1) + 2, n = most;
    char *text = power_arena_alloc(&r->arena, most + 1, 1);
    uint32_t *limbs = room(r, w.count);
    if (!text) return power_jinja_no_memory(r);
    if (!limbs || !power_jinja_steps(r, (uint64_t)w.count * w.count / 4)) return false;
    if (w.count) memcpy(limbs, w.limbs, w.count * sizeof *limbs);
    size_t count = w.count;
    uint32_t chunk = base == 10 ? 1000000000u : base;
    do {
        uint32_t rest = divide_small(limbs, count, chunk);
        while (count && limbs[count - 1] == 0)
            count--;
        for (uint32_t scale = chunk; scale > 1 && (count || rest || n == most); scale /= base) {
            text[--n] = (upper ? "0123456789ABCDEF" : "0123456789abcdef")[rest % base];
            rest /= base;
        }
    } while (count);
    *out = (struct power_text){text + n, most - n};
    if (base == 10 && out->length > JINJA_MAX_DIGITS)
        return power_jinja_raise(r, POWER_INVALID,
                                 "an integer has more than %d digits, which is the most that is "
                                 "converted to text",
                                 JINJA_MAX_DIGITS);
    return true;
}

bool power_jinja_whole_parse(struct jinja_render *r, struct power_text digits, unsigned base,
                             bool negative, struct jinja_value *out) {
    size_t count = 0, most = digits.length * 6 / 32 + 2;
    if (most > MAX_LIMBS + 2) return too_large(r);
    uint32_t *limbs = room(r, most);
    if (!limbs || !power_jinja_steps(r, (uint64_t)count * digits.length / 16)) return false;
    for (size_t i = 0; i < digits.length; i++) {
        char c = digits.bytes[i];
        if (c == '_') continue;
        uint64_t carry = (uint64_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
        for (size_t k = 0; k < count; k++) {
            carry += (uint64_t)limbs[k] * base;
            limbs[k] = (uint32_t)carry;
            carry >>= 32;
        }
        if (carry) limbs[count++] = (uint32_t)carry;
    }
    return make(r, negative, limbs, count, out);
}

/* The limbs of |f|, at most 36. */
static void limbs_of_double(double f, uint32_t limbs[36]) {
    int exponent;
    double fraction = frexp(fabs(f), &exponent); /* |f| = fraction * 2^exponent */
    memset(limbs, 0, 36 * sizeof *limbs);
    if (exponent <= 0) return;
    uint64_t mantissa = (uint64_t)ldexp(fraction, 53);
    int shift = exponent - 53;
    if (shift < 0) mantissa >>= -shift;
    unsigned from = shift > 0 ? (unsigned)shift : 0;
    for (unsigned i = 0; i < 64; i++) {
        if (mantissa >> i & 1) limbs[(from + i) / 32] |= 1u << ((from + i) % 32);
    }
}

int power_jinja_whole_beside(struct jinja_value v, double f) {
    struct whole w, other = {f < 0, 36, NULL, {0, 0}};
    uint32_t limbs[36];
    view(v, &w);
    if (isinf(f)) return f > 0 ? -1 : 1;
    limbs_of_double(f, limbs);
    while (other.count && limbs[other.count - 1] == 0)
        other.count--;
    other.limbs = limbs;
    if (w.negative != other.negative) return w.negative ? -1 : 1;
    return w.negative ? compare(&other, &w) : compare(&w, &other);
}

bool power_jinja_whole_of_double(struct jinja_render *r, double f, struct jinja_value *out) {
    uint32_t limbs[36];
    limbs_of_double(f, limbs);
    return make(r, f < 0, limbs, 36, out);
}
