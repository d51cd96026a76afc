/* SPDX-License-Identifier: MIT */
/* Job: the JSON pull reader. Input: untrusted text. Output: events.
 * Threads: one per reader.
 * Bounds: constant stack; every byte is read once; scratch holds one unescaped string. */
#include "text/json.h"

#include "text/utf8.h"

void power_json_init(struct power_json *json, const power_allocator *allocator,
                     struct power_text text, const char *what, power_error *error) {
    memset(json, 0, sizeof *json);
    json->text = text;
    json->want_value = true;
    json->error = error;
    json->what = what;
    power_buffer_init(&json->scratch, allocator, text.length + 8);
}

void power_json_finish(struct power_json *json) {
    power_buffer_finish(&json->scratch);
}

power_status power_json_status(const struct power_json *json) {
    return json->error && json->error->status != POWER_OK ? json->error->status : POWER_CORRUPT;
}

static enum power_json_event fail(struct power_json *json, const char *fault) {
    json->done = true;
    (void)power_fail_at(json->error, POWER_CORRUPT, json->at, "%s: %s at byte %zu", json->what,
                        fault, json->at);
    return POWER_JSON_FAIL;
}

static void skip_space(struct power_json *json) {
    while (json->at < json->text.length) {
        char c = json->text.bytes[json->at];
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return;
        json->at++;
    }
}

static int peek(const struct power_json *json) {
    return json->at < json->text.length ? (unsigned char)json->text.bytes[json->at] : -1;
}

/* Four hexadecimal digits at `at`; -1 when they are not there. */
static int32_t hex4(const struct power_json *json, size_t at) {
    int32_t value = 0;
    if (json->text.length - at < 4 || at > json->text.length) return -1;
    for (size_t i = 0; i < 4; i++) {
        char c = json->text.bytes[at + i];
        int32_t digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* The escape at json->at (its backslash) as UTF-8 in `out`; 0 when it is broken. */
static size_t read_escape(struct power_json *json, char out[4]) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (json->text.length - json->at < 2) return 0;
    char c = json->text.bytes[json->at + 1];
    const char *found = c ? strchr(from, c) : NULL;
    if (found) {
        json->at += 2;
        out[0] = to[found - from];
        return 1;
    }
    if (c != 'u') return 0;
    int32_t high = hex4(json, json->at + 2);
    if (high < 0 || (high >= 0xDC00 && high < 0xE000)) return 0;
    json->at += 6;
    if (high < 0xD800 || high >= 0xE000) return power_utf8_put((uint32_t)high, out);
    if (json->text.length - json->at < 6 || json->text.bytes[json->at] != '\\' ||
        json->text.bytes[json->at + 1] != 'u')
        return 0;
    int32_t low = hex4(json, json->at + 2);
    if (low < 0xDC00 || low >= 0xE000) return 0;
    json->at += 6;
    return power_utf8_put(0x10000u + ((uint32_t)(high - 0xD800) << 10) + (uint32_t)(low - 0xDC00),
                          out);
}

/* Runs of plain bytes up to the next quote, backslash or control byte. */
static size_t plain_run(const struct power_json *json) {
    size_t at = json->at;
    while (at < json->text.length) {
        unsigned char c = (unsigned char)json->text.bytes[at];
        if (c == '"' || c == '\\' || c < 0x20) break;
        at++;
    }
    return at - json->at;
}

/* json->at is past the opening quote. */
static bool read_string(struct power_json *json) {
    size_t run = plain_run(json);
    const char *start = json->text.bytes + json->at;
    json->at += run;
    if (peek(json) == '"') { /* no escape: borrowed from the text */
        json->value = (struct power_text){start, run};
        json->at++;
        return power_utf8_check(json->value) == json->value.length ||
               (fail(json, "broken UTF-8"), false);
    }
    power_buffer_clear(&json->scratch);
    bool fits = power_buffer_append(&json->scratch, start, run);
    while (fits && peek(json) == '\\') {
        char bytes[4];
        size_t n = read_escape(json, bytes);
        if (n == 0) return fail(json, "bad escape"), false;
        fits = power_buffer_append(&json->scratch, bytes, n);
        run = plain_run(json);
        fits = fits && power_buffer_append(&json->scratch, json->text.bytes + json->at, run);
        json->at += run;
    }
    if (!fits) {
        json->done = true;
        return (void)power_fail_memory(json->error, json->scratch.length, json->what), false;
    }
    if (peek(json) != '"') return fail(json, "unclosed string or control byte in it"), false;
    json->at++;
    json->value = (struct power_text){json->scratch.bytes, json->scratch.length};
    return power_utf8_check(json->value) == json->value.length ||
           (fail(json, "broken UTF-8"), false);
}

static size_t digits(struct power_json *json) {
    size_t n = 0;
    while (peek(json) >= '0' && peek(json) <= '9') {
        json->at++;
        n++;
    }
    return n;
}

static enum power_json_event read_number(struct power_json *json) {
    size_t start = json->at;
    if (peek(json) == '-') json->at++;
    bool zero = peek(json) == '0';
    size_t n = digits(json);
    if (n == 0 || (zero && n > 1)) return fail(json, "bad number");
    if (peek(json) == '.') {
        json->at++;
        if (digits(json) == 0) return fail(json, "bad number");
    }
    if (peek(json) == 'e' || peek(json) == 'E') {
        json->at++;
        if (peek(json) == '+' || peek(json) == '-') json->at++;
        if (digits(json) == 0) return fail(json, "bad number");
    }
    json->value = (struct power_text){json->text.bytes + start, json->at - start};
    return POWER_JSON_NUMBER;
}

static enum power_json_event read_word(struct power_json *json, struct power_text word,
                                       enum power_json_event event) {
    if (json->text.length - json->at < word.length ||
        memcmp(json->text.bytes + json->at, word.bytes, word.length) != 0)
        return fail(json, "unknown word");
    json->at += word.length;
    return event;
}

static enum power_json_event open_level(struct power_json *json, bool object) {
    if (json->depth == POWER_JSON_DEPTH) return fail(json, "nesting is too deep");
    json->in_object[json->depth++] = object;
    json->at++;
    json->after_value = false;
    return object ? POWER_JSON_OBJECT : POWER_JSON_ARRAY;
}

static enum power_json_event close_level(struct power_json *json) {
    bool object = json->in_object[--json->depth];
    json->at++;
    json->after_value = true;
    return object ? POWER_JSON_OBJECT_END : POWER_JSON_ARRAY_END;
}

static enum power_json_event read_value(struct power_json *json) {
    json->after_value = true;
    switch (peek(json)) {
    case '{':
        return open_level(json, true);
    case '[':
        return open_level(json, false);
    case '"':
        json->at++;
        return read_string(json) ? POWER_JSON_STRING : POWER_JSON_FAIL;
    case 't':
        return read_word(json, POWER_TEXT("true"), POWER_JSON_TRUE);
    case 'f':
        return read_word(json, POWER_TEXT("false"), POWER_JSON_FALSE);
    case 'n':
        return read_word(json, POWER_TEXT("null"), POWER_JSON_NULL);
    case -1:
        return fail(json, "unexpected end");
    default:
        return read_number(json);
    }
}

static enum power_json_event read_key(struct power_json *json) {
    if (peek(json) != '"') return fail(json, "a key must be a string");
    json->at++;
    if (!read_string(json)) return POWER_JSON_FAIL;
    struct power_text key = json->value;
    skip_space(json);
    if (peek(json) != ':') return fail(json, "missing ':'");
    json->at++;
    json->value = key;
    json->want_value = true;
    return POWER_JSON_KEY;
}

enum power_json_event power_json_next(struct power_json *json) {
    if (json->done) return fail(json, "read past the end");
    skip_space(json);
    if (json->want_value) {
        json->want_value = false;
        return read_value(json);
    }
    if (json->depth == 0) {
        if (json->at != json->text.length) return fail(json, "text after the value");
        json->done = true;
        return POWER_JSON_END;
    }
    bool object = json->in_object[json->depth - 1];
    if (peek(json) == (object ? '}' : ']')) return close_level(json);
    if (json->after_value) {
        if (peek(json) != ',') return fail(json, "missing ','");
        json->at++;
        json->after_value = false;
        skip_space(json);
        if (peek(json) == '}' || peek(json) == ']') return fail(json, "a ',' too many");
    }
    return object ? read_key(json) : read_value(json);
}

bool power_json_skip(struct power_json *json, enum power_json_event event) {
    if (event == POWER_JSON_FAIL) return false;
    if (event != POWER_JSON_OBJECT && event != POWER_JSON_ARRAY) return true;
    uint32_t outside = json->depth - 1;
    while (json->depth > outside) {
        if (power_json_next(json) == POWER_JSON_FAIL) return false;
    }
    return true;
}
