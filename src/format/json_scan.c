/* SPDX-License-Identifier: MIT */
/* The JSON scanner (RFC 8259, strict). Input: bytes. Output: pieces, or the first fault.
 * Threads: one.
 * Bounds: the text; skipping keeps one bit a level, 64 levels. */
#include "format/json_scan.h"

enum { DEPTH_MAX = 64 };

static bool fail(struct power_json_scan *scan, const char *fault) {
    if (!scan->fault) scan->fault = fault;
    return false;
}

void power_json_scan_init(struct power_json_scan *scan, char *bytes, size_t length) {
    *scan = (struct power_json_scan){.bytes = bytes, .length = length};
}

char power_json_scan_peek(struct power_json_scan *scan) {
    while (!scan->fault && scan->at < scan->length) {
        char c = scan->bytes[scan->at];
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return c;
        scan->at++;
    }
    return 0;
}

bool power_json_scan_expect(struct power_json_scan *scan, char c) {
    if (scan->fault) return false;
    if (power_json_scan_peek(scan) != c || scan->at >= scan->length) {
        switch (c) {
        case '{':
            return fail(scan, "an object is wanted");
        case '[':
            return fail(scan, "an array is wanted");
        case ':':
            return fail(scan, "a colon is wanted");
        case '"':
            return fail(scan, "a string is wanted");
        default:
            return fail(scan, "a comma or a closing bracket is wanted");
        }
    }
    scan->at++;
    return true;
}

bool power_json_scan_next(struct power_json_scan *scan, char close, bool *first) {
    bool at_first = *first;
    *first = false;
    if (scan->fault) return false;
    if (power_json_scan_peek(scan) == close) {
        scan->at++;
        return false;
    }
    return at_first || power_json_scan_expect(scan, ',');
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Four hexadecimal digits at `at`; negative where they are not there. */
static long hex4(const struct power_json_scan *scan, size_t at) {
    long value = 0;
    if (scan->length - at < 4) return -1;
    for (size_t i = 0; i < 4; i++) {
        int digit = hex_digit(scan->bytes[at + i]);
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

static size_t put_utf8(char *out, unsigned long c) {
    unsigned char *to = (unsigned char *)out;
    if (c < 0x80) {
        to[0] = (unsigned char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (unsigned char)(0xc0 | c >> 6);
        to[1] = (unsigned char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        to[0] = (unsigned char)(0xe0 | c >> 12);
        to[1] = (unsigned char)(0x80 | (c >> 6 & 63));
        to[2] = (unsigned char)(0x80 | (c & 63));
        return 3;
    }
    to[0] = (unsigned char)(0xf0 | c >> 18);
    to[1] = (unsigned char)(0x80 | (c >> 12 & 63));
    to[2] = (unsigned char)(0x80 | (c >> 6 & 63));
    to[3] = (unsigned char)(0x80 | (c & 63));
    return 4;
}

/* "\uXXXX", at its first digit; a pair of surrogates is one character, a lone one a fault. The text
 * of an escape is always longer than what it stands for. */
static bool unicode_escape(struct power_json_scan *scan, size_t *to) {
    long c = hex4(scan, scan->at);
    if (c < 0) return fail(scan, "a bad \\u escape");
    scan->at += 4;
    if (c >= 0xd800 && c < 0xe000) {
        bool pair = c < 0xdc00 && scan->length - scan->at >= 6 && scan->bytes[scan->at] == '\\' &&
                    scan->bytes[scan->at + 1] == 'u';
        long low = pair ? hex4(scan, scan->at + 2) : -1;
        if (low < 0xdc00 || low > 0xdfff) return fail(scan, "a lone surrogate");
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        scan->at += 6;
    }
    *to += put_utf8(scan->bytes + *to, (unsigned long)c);
    return true;
}

static bool escape(struct power_json_scan *scan, size_t *to) {
    static const char letters[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    if (scan->at >= scan->length) return fail(scan, "a string does not end");
    char c = scan->bytes[scan->at++];
    if (c == 'u') return unicode_escape(scan, to);
    const char *found = c ? strchr(letters, c) : NULL;
    if (!found) return fail(scan, "a bad escape");
    scan->bytes[(*to)++] = values[found - letters];
    return true;
}

bool power_json_scan_text(struct power_json_scan *scan, struct power_text *out) {
    if (!power_json_scan_expect(scan, '"')) return false;
    size_t start = scan->at, to = start;
    while (scan->at < scan->length) {
        char c = scan->bytes[scan->at++];
        if (c == '"') {
            scan->bytes[to] = '\0'; /* at the closing quote, or before it */
            *out = (struct power_text){scan->bytes + start, to - start};
            return true;
        }
        if ((unsigned char)c < 0x20) {
            scan->at--;
            return fail(scan, "a control byte in a string");
        }
        if (c == '\\') {
            if (!escape(scan, &to)) return false;
        } else {
            scan->bytes[to++] = c;
        }
    }
    return fail(scan, "a string does not end");
}

bool power_json_scan_key(struct power_json_scan *scan, struct power_text *out) {
    return power_json_scan_text(scan, out) && power_json_scan_expect(scan, ':');
}

bool power_json_scan_u64(struct power_json_scan *scan, uint64_t *out) {
    char c = power_json_scan_peek(scan);
    if (scan->fault) return false;
    if (c < '0' || c > '9') return fail(scan, "a whole number is wanted");
    uint64_t value = 0;
    size_t start = scan->at;
    while (scan->at < scan->length) {
        c = scan->bytes[scan->at];
        if (c < '0' || c > '9') break;
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(c - '0'), &value)) {
            return fail(scan, "a number is too large");
        }
        scan->at++;
    }
    if (scan->bytes[start] == '0' && scan->at - start > 1) {
        return fail(scan, "a number starts with a zero");
    }
    c = scan->at < scan->length ? scan->bytes[scan->at] : 0;
    if (c == '.' || c == 'e' || c == 'E') return fail(scan, "a whole number is wanted");
    *out = value;
    return true;
}

static size_t digits(struct power_json_scan *scan) {
    size_t start = scan->at;
    while (scan->at < scan->length && scan->bytes[scan->at] >= '0' &&
           scan->bytes[scan->at] <= '9') {
        scan->at++;
    }
    return scan->at - start;
}

static bool take(struct power_json_scan *scan, const char *any_of) {
    if (scan->at >= scan->length || !scan->bytes[scan->at]) return false;
    if (!strchr(any_of, scan->bytes[scan->at])) return false;
    scan->at++;
    return true;
}

static bool skip_number(struct power_json_scan *scan) {
    take(scan, "-");
    bool zero = scan->at < scan->length && scan->bytes[scan->at] == '0';
    size_t whole = digits(scan);
    if (whole == 0 || (zero && whole > 1)) return fail(scan, "a bad number");
    if (take(scan, ".") && digits(scan) == 0) return fail(scan, "a bad number");
    if (take(scan, "eE")) {
        take(scan, "+-");
        if (digits(scan) == 0) return fail(scan, "a bad number");
    }
    return true;
}

static bool skip_word(struct power_json_scan *scan) {
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < 3; i++) {
        size_t length = strlen(words[i]);
        if (scan->length - scan->at < length) continue;
        if (memcmp(scan->bytes + scan->at, words[i], length) != 0) continue;
        scan->at += length;
        return true;
    }
    return fail(scan, "a value is wanted");
}

/* A value that is neither an object nor an array. */
static bool skip_plain(struct power_json_scan *scan, char c) {
    struct power_text text;
    if (c == '"') return power_json_scan_text(scan, &text);
    if (c == '-' || (c >= '0' && c <= '9')) return skip_number(scan);
    return skip_word(scan);
}

bool power_json_scan_skip(struct power_json_scan *scan) {
    uint64_t objects = 0; /* bit d: level d is an object */
    unsigned depth = 0;
    struct power_text key;
    bool first = true;
    for (;;) {
        char c = power_json_scan_peek(scan);
        if (c == '{' || c == '[') {
            if (depth == DEPTH_MAX) return fail(scan, "values are nested too deep");
            scan->at++;
            objects = objects << 1 | (c == '{');
            depth++;
            first = true;
        } else if (!skip_plain(scan, c)) {
            return false;
        }
        while (depth > 0 && !power_json_scan_next(scan, objects & 1 ? '}' : ']', &first)) {
            if (scan->fault) return false;
            objects >>= 1;
            depth--;
            first = false;
        }
        if (depth == 0) return !scan->fault;
        if ((objects & 1) && !power_json_scan_key(scan, &key)) return false;
    }
}

bool power_json_scan_end(struct power_json_scan *scan) {
    (void)power_json_scan_peek(scan);
    if (scan->fault) return false;
    return scan->at == scan->length || fail(scan, "text after the end");
}
