/* SPDX-License-Identifier: MIT */
/* Job: numbers and texts padded, signed and grouped as Python formats them.
 * Input: a specification and a value. Output: text appended to a buffer.
 * Threads: one per rendering. Bounds: JINJA_MAX_WIDTH, JINJA_MAX_PRECISION. */
#include "text/jinja_format.h"

#include <math.h>
#include <stdio.h>

#include "text/utf8.h"

static bool put_fill(struct jinja_render *r, struct jinja_buffer *out, const struct jinja_spec *s,
                     int64_t n) {
    bool ok = true;
    for (int64_t i = 0; ok && i < n; i++)
        ok = power_jinja_put(r, out, s->fill);
    return ok;
}

static bool put_padded(struct jinja_render *r, struct jinja_buffer *out, const struct jinja_spec *s,
                       struct power_text sign, struct power_text body, char align) {
    int64_t spare = s->width - (int64_t)(power_utf8_count(sign) + power_utf8_count(body));
    if (spare < 0) spare = 0;
    if (s->align) align = s->align;
    int64_t before = align == '<' || align == '=' ? 0 : align == '^' ? spare / 2 : spare;
    int64_t middle = align == '=' ? spare : 0;
    return put_fill(r, out, s, before) && power_jinja_put(r, out, sign) &&
           put_fill(r, out, s, middle) && power_jinja_put(r, out, body) &&
           put_fill(r, out, s, spare - before - middle);
}

/* The digits before the point in groups, zeros in front where they fill up to the width. */
static bool group(struct jinja_render *r, const struct jinja_spec *s, size_t sign_length,
                  struct power_text *body) {
    size_t whole = 0, size = s->type && strchr("boxX", s->type) ? 4 : 3, n = 0;
    while (whole < body->length && strchr("0123456789abcdefABCDEF", body->bytes[whole]) &&
           body->bytes[whole])
        whole++;
    if (size == 3) whole = strspn(body->bytes, "0123456789");
    size_t rest = body->length - whole, least = 0;
    bool zeros = s->align == '=' && power_text_equal(s->fill, POWER_TEXT("0"));
    if (zeros && s->width > (int64_t)(sign_length + rest))
        least = (size_t)s->width - sign_length - rest;
    size_t most = (whole + least) * 2 + rest + 4;
    char *text = power_arena_alloc(&r->arena, most + 1, 1);
    if (!text) return power_jinja_no_memory(r);
    char *end = text + most - rest, *at = end;
    memcpy(end, body->bytes + whole, rest);
    for (size_t left = whole; left > 0 || (size_t)(end - at) < least; n++) {
        if (n > 0 && n % size == 0) *--at = s->grouping;
        *--at = left > 0 ? body->bytes[--left] : '0';
    }
    *body = (struct power_text){at, (size_t)(end - at) + rest};
    return true;
}

static bool put_number(struct jinja_render *r, struct jinja_buffer *out, const struct jinja_spec *s,
                       bool negative, const char *prefix, struct power_text body) {
    char sign[4];
    snprintf(sign, sizeof sign, "%s%s",
             negative         ? "-"
             : s->sign == '+' ? "+"
             : s->sign == ' ' ? " "
                              : "",
             prefix);
    if (s->grouping && !group(r, s, strlen(sign), &body)) return false;
    return put_padded(r, out, s, power_text_of(sign), body, '>');
}

bool power_jinja_put_whole(struct jinja_render *r, struct jinja_buffer *out,
                           const struct jinja_spec *s, struct jinja_value v) {
    static const struct {
        char type;
        unsigned base;
        const char *prefix;
    } bases[] = {{'b', 2, "0b"}, {'o', 8, "0o"}, {'x', 16, "0x"}, {'X', 16, "0X"}};
    unsigned base = 10;
    const char *prefix = "";
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        if (bases[i].type != s->type) continue;
        base = bases[i].base;
        if (s->alternate) prefix = bases[i].prefix;
    }
    struct power_text digits;
    if (!power_jinja_whole_digits(r, v, base, s->type == 'X', &digits)) return false;
    if (s->precision > (int64_t)digits.length) {
        char *wide = power_arena_alloc(&r->arena, (size_t)s->precision + 1, 1);
        if (!wide) return power_jinja_no_memory(r);
        size_t zeros = (size_t)s->precision - digits.length;
        memset(wide, '0', zeros);
        memcpy(wide + zeros, digits.bytes, digits.length);
        digits = (struct power_text){wide, (size_t)s->precision};
    }
    return put_number(r, out, s, power_jinja_whole_negative(v), prefix, digits);
}

/* repr, or %g with `precision` that always shows a fraction or an exponent. */
static int plain_digits(const struct jinja_spec *s, double magnitude, char *out, size_t room) {
    if (s->precision < 0) {
        size_t n = power_jinja_float_text(magnitude, out);
        return (int)n;
    }
    int precision = s->precision ? (int)s->precision : 1;
    snprintf(out, room, "%.*e", precision - 1, magnitude);
    const char *e = strchr(out, 'e');
    int exponent = 0;
    if (e) (void)sscanf(e + 1, "%d", &exponent);
    if (e && exponent >= precision - 1 && exponent < precision && magnitude != 0) {
        /* %g would write the whole number without its exponent */
        const char *last = e;
        while (!s->alternate && last > out && (last[-1] == '0' || last[-1] == '.') &&
               memchr(out, '.', (size_t)(last - out)))
            last--;
        memmove(out + (last - out), e, strlen(e) + 1);
        return (int)strlen(out);
    }
    int n = snprintf(out, room, s->alternate ? "%#.*g" : "%.*g", precision, magnitude);
    if (!strpbrk(out, ".en")) n += snprintf(out + n, room - (size_t)n, ".0");
    return n;
}

static int float_digits(const struct jinja_spec *s, double magnitude, char *out, size_t room) {
    int precision = s->precision < 0 ? 6 : (int)s->precision;
    char type = s->type == '%' ? 'f' : s->type == 'n' ? 'g' : s->type;
    if (!type) return plain_digits(s, magnitude, out, room);
    const char format[] = {'%',
                           s->alternate ? '#' : '.',
                           s->alternate ? '.' : '*',
                           s->alternate ? '*' : type,
                           s->alternate ? type : 0,
                           0};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    int n = snprintf(out, room, format, precision, magnitude);
#pragma GCC diagnostic pop
    if (s->type == '%') n += snprintf(out + n, room - (size_t)n, "%%");
    return n;
}

bool power_jinja_put_float(struct jinja_render *r, struct jinja_buffer *out,
                           const struct jinja_spec *s, double value) {
    char digits[JINJA_MAX_PRECISION + 400];
    if (s->precision > JINJA_MAX_PRECISION)
        return power_jinja_raise(r, POWER_LIMIT, "a float with more than %d digits",
                                 JINJA_MAX_PRECISION);
    bool negative = signbit(value) && !isnan(value);
    double magnitude = fabs(s->type == '%' ? value * 100 : value);
    if (isnan(value)) magnitude = (double)NAN;
    int n = float_digits(s, magnitude, digits, sizeof digits - 4);
    if (n < 0 || n > (int)sizeof digits - 4)
        return power_jinja_raise(r, POWER_LIMIT, "a number is too long");
    for (char *c = digits; *c; c++) {
        if (*c == ',') *c = '.'; /* by locale */
    }
    if (isnan(value)) /* never with a sign */
        snprintf(digits, sizeof digits, "%s%s", s->type && strchr("EFG", s->type) ? "NAN" : "nan",
                 s->type == '%' ? "%" : "");
    if (s->no_negative_zero && negative) {
        bool some = false;
        for (const char *c = digits; *c && *c != 'e' && *c != 'E'; c++)
            some = some || (*c >= '1' && *c <= '9') || *c == 'i' || *c == 'I';
        negative = some;
    }
    return put_number(r, out, s, negative, "", power_text_of(digits));
}

bool power_jinja_put_text(struct jinja_render *r, struct jinja_buffer *out,
                          const struct jinja_spec *s, struct power_text text) {
    if (s->precision >= 0) text.length = power_jinja_offset(text, (size_t)s->precision);
    return put_padded(r, out, s, POWER_TEXT(""), text, '<');
}

bool power_jinja_put_code(struct jinja_render *r, struct jinja_buffer *out,
                          const struct jinja_spec *s, struct jinja_value v) {
    int64_t code = power_jinja_whole_clamp(v);
    char bytes[4];
    if (code < 0 || code > 0x10FFFF)
        return power_jinja_raise(r, POWER_INVALID, "%%c arg not in range(0x110000)");
    if (code >= 0xD800 && code < 0xE000)
        return power_jinja_raise(r, POWER_UNSUPPORTED, "a surrogate is not supported");
    struct power_text text = {bytes, power_utf8_put((uint32_t)code, bytes)};
    return put_padded(r, out, s, POWER_TEXT(""), text, '>');
}

bool power_jinja_ascii(struct jinja_render *r, struct jinja_value v, struct jinja_value *out) {
    struct jinja_buffer buffer;
    struct jinja_value text;
    power_jinja_scratch(r, &buffer);
    if (!power_jinja_finish_text(r, &buffer, power_jinja_repr(r, v, &buffer), &text)) return false;
    power_jinja_scratch(r, &buffer);
    bool ok = true;
    struct power_text all = power_jinja_text(text);
    for (size_t at = 0, length; ok && at < all.length; at += length) {
        uint32_t code = power_utf8_get(all, at, &length, NULL);
        char escape[12];
        if (code < 0x80) {
            ok = power_jinja_put(r, &buffer, (struct power_text){all.bytes + at, length});
            continue;
        }
        snprintf(escape, sizeof escape,
                 code < 0x100     ? "\\x%02x"
                 : code < 0x10000 ? "\\u%04x"
                                  : "\\U%08x",
                 code);
        ok = power_jinja_put(r, &buffer, power_text_of(escape));
    }
    return power_jinja_finish_text(r, &buffer, ok, out);
}
