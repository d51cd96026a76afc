/* SPDX-License-Identifier: MIT */
/* Job: JSON (RFC 8259) checked a byte at a time.
 * Input: bytes. Output: more, done or bad; texts of strings, decoded.
 * Threads: one a checker. Bounds: ANSWER_DEPTH levels, constant work a byte. */
#include "text/answer/internal.h"

#include "text/utf8.h"

enum {
    VALUE,
    VALUE_OR_END, /* after [ */
    KEY_OR_END,   /* after { */
    KEY,
    COLON,
    AFTER,
    IN_KEY,
    IN_STRING,
    ESCAPE,
    ESCAPE_KEY,
    HEX,
    HEX_KEY,
    LITERAL,
    MINUS,
    ZERO,
    DIGITS,
    DOT,
    FRACTION,
    EXPONENT,
    EXPONENT_SIGN,
    EXPONENT_DIGITS
};

void answer_json_begin(struct answer_json *json) {
    *json = (struct answer_json){.state = VALUE};
}

bool answer_json_wants_value(const struct answer_json *json) {
    return json->state == VALUE || json->state == VALUE_OR_END;
}

bool answer_json_in_key(const struct answer_json *json) {
    return json->state == IN_KEY || json->state == ESCAPE_KEY || json->state == HEX_KEY;
}

bool answer_json_in_string(const struct answer_json *json) {
    return json->state >= IN_KEY && json->state <= HEX_KEY;
}

bool answer_json_value_ended(const struct answer_json *json) {
    return json->state == AFTER;
}

static bool in_object(const struct answer_json *json) {
    return answer_level_is_object(json->objects, json->depth - 1);
}

static enum answer_json_step ended(struct answer_json *json) {
    json->state = AFTER;
    return json->depth ? ANSWER_JSON_MORE : ANSWER_JSON_DONE;
}

static enum answer_json_step open_level(struct answer_json *json, bool object) {
    if (json->depth >= ANSWER_DEPTH) return ANSWER_JSON_BAD;
    answer_level_set(json->objects, json->depth++, object);
    json->state = object ? KEY_OR_END : VALUE_OR_END;
    return ANSWER_JSON_MORE;
}

static enum answer_json_step close_level(struct answer_json *json, bool object) {
    if (!json->depth || in_object(json) != object) return ANSWER_JSON_BAD;
    json->depth--;
    return ended(json);
}

static enum answer_json_step to(struct answer_json *json, unsigned char state) {
    json->state = state;
    return ANSWER_JSON_MORE;
}

static enum answer_json_step literal(struct answer_json *json, const char *rest) {
    json->literal = rest;
    return to(json, LITERAL);
}

static enum answer_json_step value(struct answer_json *json, unsigned char c) {
    if (answer_is_space(c)) return ANSWER_JSON_MORE;
    if (c == ']' && json->state == VALUE_OR_END) return close_level(json, false);
    if (c == '{' || c == '[') return open_level(json, c == '{');
    if (c == '"') return to(json, IN_STRING);
    if (c == '-') return to(json, MINUS);
    if (c == '0') return to(json, ZERO);
    if (c >= '1' && c <= '9') return to(json, DIGITS);
    if (c == 't') return literal(json, "rue");
    if (c == 'f') return literal(json, "alse");
    if (c == 'n') return literal(json, "ull");
    return ANSWER_JSON_BAD;
}

static enum answer_json_step after(struct answer_json *json, unsigned char c) {
    if (answer_is_space(c)) return ANSWER_JSON_MORE;
    if (!json->depth) return ANSWER_JSON_BAD;
    if (c == ',') return to(json, in_object(json) ? KEY : VALUE);
    if (c == '}' || c == ']') return close_level(json, c == '}');
    return ANSWER_JSON_BAD;
}

static bool is_hex(unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static enum answer_json_step string(struct answer_json *json, unsigned char c) {
    bool key = answer_json_in_key(json);
    if (json->state == HEX || json->state == HEX_KEY) {
        if (!is_hex(c)) return ANSWER_JSON_BAD;
        if (--json->digits == 0) json->state = key ? IN_KEY : IN_STRING;
        return ANSWER_JSON_MORE;
    }
    if (json->state == ESCAPE || json->state == ESCAPE_KEY) {
        json->digits = 4;
        if (c == 'u') return to(json, key ? HEX_KEY : HEX);
        if (!c || !strchr("\"\\/bfnrt", c)) return ANSWER_JSON_BAD;
        return to(json, key ? IN_KEY : IN_STRING);
    }
    if (c == '\\') return to(json, key ? ESCAPE_KEY : ESCAPE);
    if (c == '"') return key ? to(json, COLON) : ended(json);
    return c < 0x20 ? ANSWER_JSON_BAD : ANSWER_JSON_MORE;
}

static bool is_digit(unsigned char c) {
    return c >= '0' && c <= '9';
}

static enum answer_json_step number(struct answer_json *json, unsigned char c) {
    unsigned char s = json->state;
    if (s == MINUS) return is_digit(c) ? to(json, c == '0' ? ZERO : DIGITS) : ANSWER_JSON_BAD;
    if (s == DOT) return is_digit(c) ? to(json, FRACTION) : ANSWER_JSON_BAD;
    if (s == EXPONENT && (c == '+' || c == '-')) return to(json, EXPONENT_SIGN);
    if (s == EXPONENT || s == EXPONENT_SIGN)
        return is_digit(c) ? to(json, EXPONENT_DIGITS) : ANSWER_JSON_BAD;
    if (is_digit(c) && s != ZERO) return ANSWER_JSON_MORE;
    if (c == '.' && (s == ZERO || s == DIGITS)) return to(json, DOT);
    if ((c == 'e' || c == 'E') && s != EXPONENT_DIGITS) return to(json, EXPONENT);
    json->state = AFTER;
    return after(json, c);
}

enum answer_json_step answer_json_feed(struct answer_json *json, unsigned char c) {
    switch (json->state) {
    case VALUE:
    case VALUE_OR_END:
        return value(json, c);
    case KEY_OR_END:
        if (c == '}') return close_level(json, true);
        /* fall through */
    case KEY:
        if (answer_is_space(c)) return ANSWER_JSON_MORE;
        return c == '"' ? to(json, IN_KEY) : ANSWER_JSON_BAD;
    case COLON:
        if (answer_is_space(c)) return ANSWER_JSON_MORE;
        return c == ':' ? to(json, VALUE) : ANSWER_JSON_BAD;
    case AFTER:
        return after(json, c);
    case LITERAL:
        if (c != (unsigned char)*json->literal++) return ANSWER_JSON_BAD;
        return *json->literal ? ANSWER_JSON_MORE : ended(json);
    default:
        return json->state >= MINUS ? number(json, c) : string(json, c);
    }
}

bool answer_json_whole(struct power_text text) {
    struct answer_json json;
    answer_json_begin(&json);
    text = answer_trimmed(text);
    for (size_t i = 0; i < text.length; i++) {
        enum answer_json_step step = answer_json_feed(&json, (unsigned char)text.bytes[i]);
        if (step == ANSWER_JSON_BAD) return false;
        if (step == ANSWER_JSON_DONE) return i + 1 == text.length;
    }
    /* A number ends with the text. */
    return json.depth == 0 && (json.state == ZERO || json.state == DIGITS ||
                               json.state == FRACTION || json.state == EXPONENT_DIGITS);
}

static uint32_t hex4(const char *at) {
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        unsigned char c = (unsigned char)at[i];
        value = value * 16 + (uint32_t)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    return value;
}

/* The character of \uXXXX at `at`; *out_used: bytes of the escape, 6 or 12. */
static uint32_t unicode_escape(const char *at, size_t left, size_t *out_used) {
    uint32_t high = hex4(at + 2);
    *out_used = 6;
    if (high < 0xD800 || high > 0xDFFF) return high;
    if (high < 0xDC00 && left >= 12 && at[6] == '\\' && at[7] == 'u') {
        uint32_t low = hex4(at + 8);
        if (low >= 0xDC00 && low <= 0xDFFF) {
            *out_used = 12;
            return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
        }
    }
    return 0xFFFD;
}

bool answer_json_decode(struct power_text inside, char *out, size_t capacity, size_t *out_length) {
    static const char from[] = "bfnrt", as[] = "\b\f\n\r\t";
    size_t n = 0;
    for (size_t i = 0; i < inside.length;) {
        char c = inside.bytes[i], bytes[4] = {c, 0, 0, 0};
        size_t used = 1, m = 1;
        if (c == '\\' && inside.bytes[i + 1] == 'u') {
            uint32_t code = unicode_escape(inside.bytes + i, inside.length - i, &used);
            m = power_utf8_put(code, bytes);
        } else if (c == '\\') {
            const char *at = strchr(from, inside.bytes[i + 1]);
            bytes[0] = at ? as[at - from] : inside.bytes[i + 1];
            used = 2;
        }
        if (capacity - n < m) return false;
        memcpy(out + n, bytes, m);
        n += m;
        i += used;
    }
    *out_length = n;
    return true;
}
