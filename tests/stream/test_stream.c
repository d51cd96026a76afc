/* SPDX-License-Identifier: MIT */
/* The stage between tokens and a client: the table of cases with its exact deltas, and random texts
 * cut at random against a search by hand over the whole text.
 * Input: tests/data/cases/stream.json, made-up bytes. Output: texts compared. Threads: one.
 * Bounds: short texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "text/stream/stream.h"
#include "text/utf8.h"

#define MOST 64u

struct answer {
    char text[4096];
    size_t length;
    char deltas[MOST][512]; /* those that are not empty */
    size_t n_deltas;
    uint32_t stop;
};

static void take(struct answer *answer, struct power_text text) {
    if (text.length == 0) return;
    assert_int_equal(power_utf8_check(text), text.length);
    memcpy(answer->text + answer->length, text.bytes, text.length);
    answer->length += text.length;
    answer->text[answer->length] = '\0';
    memcpy(answer->deltas[answer->n_deltas], text.bytes, text.length);
    answer->deltas[answer->n_deltas++][text.length] = '\0';
}

static void stream_all(struct answer *answer, const struct power_text *pieces, size_t n_pieces,
                       const struct power_text *stops, size_t n_stops) {
    struct power_stops *automaton = NULL;
    struct power_stream stream;
    struct power_text text;
    power_error error;
    memset(answer, 0, sizeof *answer);
    if (n_stops) {
        assert_int_equal(
            power_stops_create(&power_default_allocator, stops, n_stops, &automaton, &error),
            POWER_OK);
    }
    power_stream_init(&stream, &power_default_allocator, NULL, automaton, false, 1 << 20);
    for (size_t i = 0; i < n_pieces; i++) {
        assert_int_equal(power_stream_push(&stream, pieces[i], &text, &error), POWER_OK);
        take(answer, text);
    }
    assert_int_equal(power_stream_flush(&stream, &text, &error), POWER_OK);
    take(answer, text);
    answer->stop = stream.stop;
    power_stream_finish(&stream);
    power_stops_destroy(automaton);
}

/* ---- the table ---- */

static size_t piece_bytes(const json_t *piece, char out[64]) {
    const char *text = json_string_value(piece);
    const char *hex = json_string_value(json_object_get(piece, "hex"));
    size_t n = 0;
    if (text) {
        n = strlen(text);
        memcpy(out, text, n);
        return n;
    }
    assert_non_null(hex);
    for (; hex[2 * n]; n++) {
        unsigned value;
        assert_int_equal(sscanf(hex + 2 * n, "%2x", &value), 1);
        out[n] = (char)value;
    }
    return n;
}

/* "stop_repeat": so many stop strings of so many bytes, none of which comes. */
static size_t repeated_stops(const json_t *entry, struct power_text **out, char **out_bytes) {
    size_t count = (size_t)json_integer_value(json_object_get(entry, "count"));
    size_t length = (size_t)json_integer_value(json_object_get(entry, "bytes"));
    *out_bytes = malloc(count * length);
    *out = calloc(count, sizeof **out);
    for (size_t i = 0; i < count; i++) {
        char *bytes = *out_bytes + i * length;
        for (size_t k = 0; k < length; k++)
            bytes[k] = "abc"[k % 3];
        for (size_t k = 0, rest = i; k < 8; k++, rest /= 10)
            bytes[length - 2 - k] = (char)('0' + rest % 10);
        bytes[length - 1] = 'x';
        (*out)[i] = (struct power_text){bytes, length};
    }
    return count;
}

static void run_case(const json_t *entry) {
    const json_t *pieces = json_object_get(entry, "pieces"), *stop = json_object_get(entry, "stop");
    const json_t *repeat = json_object_get(entry, "stop_repeat");
    const json_t *deltas = json_object_get(entry, "deltas");
    char bytes[MOST][64], *repeated_bytes = NULL;
    struct power_text parts[MOST], few[8], *stops = few, *repeated = NULL;
    size_t n = json_array_size(pieces), n_stops = json_array_size(stop);
    struct answer answer;
    assert_true(n <= MOST && n_stops <= 8);
    for (size_t i = 0; i < n; i++)
        parts[i] = (struct power_text){bytes[i], piece_bytes(json_array_get(pieces, i), bytes[i])};
    for (size_t i = 0; i < n_stops; i++)
        few[i] = power_text_of(json_string_value(json_array_get(stop, i)));
    if (repeat) {
        n_stops = repeated_stops(repeat, &repeated, &repeated_bytes);
        stops = repeated;
    }
    stream_all(&answer, parts, n, stops, n_stops);
    assert_string_equal(answer.text, json_string_value(json_object_get(entry, "text")));
    assert_int_equal(answer.stop != POWER_NO_STOP, stop != NULL && !deltas);
    for (size_t i = 0; i < json_array_size(deltas); i++)
        assert_string_equal(answer.deltas[i], json_string_value(json_array_get(deltas, i)));
    if (deltas) assert_int_equal(answer.n_deltas, json_array_size(deltas));
    free(repeated);
    free(repeated_bytes);
}

static void the_table_of_cases(void **state) {
    json_error_t where;
    json_t *root = json_load_file(POWER_TEST_DATA "/cases/stream.json", 0, &where);
    const json_t *cases = json_object_get(root, "cases");
    size_t n = 0;
    (void)state;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *entry = json_array_get(cases, i);
        if (!json_object_get(entry, "pieces")) continue; /* the answer parser's */
        run_case(entry);
        n++;
    }
    assert_int_equal(n, 10);
    json_decref(root);
}

/* ---- at random, against the whole text ---- */

static uint32_t next_random(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

/* The text of all bytes, by the WHATWG rule. */
static size_t decode(struct power_text bytes, char *out) {
    size_t n = 0, at = 0;
    while (at < bytes.length) {
        size_t length;
        if (power_utf8_get(bytes, at, &length, NULL) == POWER_UTF8_BROKEN) {
            memcpy(out + n, "\xEF\xBF\xBD", 3);
            n += 3;
        } else {
            memcpy(out + n, bytes.bytes + at, length);
            n += length;
        }
        at += length;
    }
    return n;
}

struct sample {
    char bytes[64];
    size_t length;
    char stops[4][16];
    struct power_text texts[4];
    size_t n_stops;
};

static void make_sample(struct sample *s, uint64_t *seed) {
    static const char *const letters[] = {"a",    "b",    "\xC3\xA9",    "\xC3", "\xF0\x9F\x98\xB8",
                                          "\x98", "\xA9", "\xEF\xBF\xBD"};
    s->length = 0;
    while (s->length < 40) {
        const char *letter = letters[next_random(seed) % 8];
        size_t n = strlen(letter);
        memcpy(s->bytes + s->length, letter, n);
        s->length += n;
    }
    s->n_stops = next_random(seed) % 4;
    for (size_t i = 0; i < s->n_stops; i++) {
        size_t n = 0;
        for (uint32_t k = 1 + next_random(seed) % 3; k > 0; k--) {
            static const char *const valid[] = {"a", "b", "\xC3\xA9", "\xEF\xBF\xBD"};
            const char *letter = valid[next_random(seed) % 4];
            memcpy(s->stops[i] + n, letter, strlen(letter));
            n += strlen(letter);
        }
        s->texts[i] = (struct power_text){s->stops[i], n};
    }
}

/* Where the whole text is cut, and by which. */
static size_t cut_of(const char *text, size_t length, const struct sample *s, uint32_t *out_stop) {
    for (size_t end = 1; end <= length; end++) {
        size_t longest = 0;
        for (size_t i = 0; i < s->n_stops; i++) {
            size_t n = s->texts[i].length;
            if (n > end || n <= longest || memcmp(text + end - n, s->texts[i].bytes, n) != 0)
                continue;
            longest = n;
            *out_stop = (uint32_t)i;
        }
        if (longest) return end - longest;
    }
    *out_stop = POWER_NO_STOP;
    return length;
}

/* Text that is out although a stop string that begins in it could still come, or text that waits
 * although none could: both are told by trying every continuation of a character and a stop. */
static bool could_still_stop(const char *text, size_t given, const char *bytes, size_t n_bytes,
                             const struct sample *s) {
    char more[128], whole[512];
    uint32_t stop;
    (void)text;
    for (size_t i = 0; i < s->n_stops; i++) {
        for (size_t from = 0; from <= s->texts[i].length; from++) {
            size_t rest = s->texts[i].length - from;
            memcpy(more, bytes, n_bytes);
            memcpy(more + n_bytes, s->texts[i].bytes + from, rest);
            size_t n = decode((struct power_text){more, n_bytes + rest}, whole);
            if (cut_of(whole, n, s, &stop) <= given && stop != POWER_NO_STOP) return true;
        }
    }
    return false;
}

static void any_cut_gives_the_same_text(void **state) {
    uint64_t seed = 3;
    (void)state;
    for (uint32_t round = 0; round < 20000; round++) {
        struct sample s;
        struct power_text pieces[64];
        char whole[256];
        struct answer answer;
        uint32_t stop;
        size_t n_pieces = 0;
        make_sample(&s, &seed);
        for (size_t at = 0; at < s.length;) {
            size_t n = 1 + next_random(&seed) % 6;
            if (n > s.length - at) n = s.length - at;
            pieces[n_pieces++] = (struct power_text){s.bytes + at, n};
            at += n;
        }
        stream_all(&answer, pieces, n_pieces, s.texts, s.n_stops);
        size_t length = decode((struct power_text){s.bytes, s.length}, whole);
        length = cut_of(whole, length, &s, &stop);
        assert_int_equal(answer.length, length);
        assert_memory_equal(answer.text, whole, length);
        assert_int_equal(answer.stop, stop);
    }
}

/* After each piece: nothing more could have gone out, and nothing too early did. */
static void exactly_what_could_match_waits(void **state) {
    uint64_t seed = 11;
    (void)state;
    for (uint32_t round = 0; round < 3000; round++) {
        struct sample s;
        struct power_stops *stops = NULL;
        struct power_stream stream;
        struct power_text text;
        char whole[256];
        size_t given = 0;
        uint32_t stop;
        make_sample(&s, &seed);
        assert_int_equal(
            power_stops_create(&power_default_allocator, s.texts, s.n_stops, &stops, NULL),
            POWER_OK);
        power_stream_init(&stream, &power_default_allocator, NULL, stops, false, 1 << 20);
        for (size_t at = 0; at < s.length && stream.stop == POWER_NO_STOP; at++) {
            const struct power_text piece = {s.bytes + at, 1};
            assert_int_equal(power_stream_push(&stream, piece, &text, NULL), POWER_OK);
            given += text.length;
            size_t certain =
                decode((struct power_text){s.bytes, at + 1 - stream.detokenizer.n_held}, whole);
            if (stream.stop != POWER_NO_STOP) break;
            assert_int_equal(cut_of(whole, certain, &s, &stop), certain);
            if (given < certain) /* the next character has to wait */
                assert_true(could_still_stop(whole, given, s.bytes, at + 1, &s));
            if (given > 0) /* no stop string can begin before what is out */
                assert_false(could_still_stop(whole, given - 1, s.bytes, at + 1, &s));
        }
        power_stream_finish(&stream);
        power_stops_destroy(stops);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_table_of_cases),
                                       cmocka_unit_test(any_cut_gives_the_same_text),
                                       cmocka_unit_test(exactly_what_could_match_waits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
