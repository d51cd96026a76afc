/* SPDX-License-Identifier: MIT */
/* Stop strings against a search by hand: the first that ends wins, of those that end together the
 * longest, and exactly what could still become one waits.
 * Input: random strings over few letters. Output: places compared. Threads: one.
 * Bounds: short strings, and one set of the largest size that is taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "text/stream/stops.h"

static uint32_t next_random(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

static struct power_stops *make(const struct power_text *texts, size_t n) {
    struct power_stops *stops = NULL;
    power_error error;
    assert_int_equal(power_stops_create(&power_default_allocator, texts, n, &stops, &error),
                     POWER_OK);
    return stops;
}

/* ---- by hand ---- */

static bool ends_with(const char *text, size_t length, struct power_text stop) {
    return stop.length <= length &&
           memcmp(text + length - stop.length, stop.bytes, stop.length) == 0;
}

static uint32_t ended(const char *text, size_t length, const struct power_text *stops, size_t n) {
    uint32_t best = POWER_NO_STOP;
    for (size_t i = 0; i < n; i++) {
        if (!ends_with(text, length, stops[i])) continue;
        if (best == POWER_NO_STOP || stops[i].length > stops[best].length) best = (uint32_t)i;
    }
    return best;
}

/* Whether the text goes on to the end of `stop`, `take` bytes of which it has, before another ends.
 */
static bool can_come(const char *text, size_t length, size_t take, const struct power_text *stops,
                     size_t n, size_t stop) {
    char whole[64];
    memcpy(whole, text, length);
    for (size_t k = take; k < stops[stop].length; k++) {
        if (k > take && ended(whole, length, stops, n) != POWER_NO_STOP) return false;
        whole[length++] = stops[stop].bytes[k];
    }
    return true;
}

/* The longest end of the text with which a stop string begins that can still come. */
static size_t waits(const char *text, size_t length, const struct power_text *stops, size_t n) {
    for (size_t take = length; take > 0; take--) {
        for (size_t i = 0; i < n; i++) {
            if (stops[i].length > take && memcmp(stops[i].bytes, text + length - take, take) == 0 &&
                can_come(text, length, take, stops, n, i)) {
                return take;
            }
        }
    }
    return 0;
}

static void agrees_with_a_search_by_hand(void **state) {
    uint64_t seed = 7;
    (void)state;
    for (uint32_t round = 0; round < 4000; round++) {
        char bytes[8][9], text[40];
        struct power_text texts[8];
        size_t n = 1 + next_random(&seed) % 8, length = 1 + next_random(&seed) % 40;
        uint32_t letters = 1 + next_random(&seed) % 3;
        for (size_t i = 0; i < n; i++) {
            texts[i] = (struct power_text){bytes[i], 1 + next_random(&seed) % 9};
            for (size_t k = 0; k < texts[i].length; k++)
                bytes[i][k] = (char)('a' + next_random(&seed) % letters);
        }
        for (size_t k = 0; k < length; k++)
            text[k] = (char)('a' + next_random(&seed) % letters);
        struct power_stops *stops = make(texts, n);
        uint32_t place = 0;
        for (size_t k = 0; k < length; k++) {
            place = power_stops_next(stops, place, (unsigned char)text[k]);
            assert_int_equal(power_stops_waiting(stops, place), waits(text, k + 1, texts, n));
            assert_int_equal(power_stops_ended(stops, place), ended(text, k + 1, texts, n));
        }
        power_stops_destroy(stops);
    }
}

/* ---- limits ---- */

static void what_is_refused(void **state) {
    struct power_stops *stops = NULL;
    power_error error;
    (void)state;
    const struct power_text empty[] = {POWER_TEXT("a"), POWER_TEXT("")};
    assert_int_equal(power_stops_create(&power_default_allocator, empty, 2, &stops, &error),
                     POWER_INVALID);
    assert_non_null(strstr(error.message, "1"));
    struct power_text *many = calloc(POWER_MAX_STOPS + 1, sizeof *many);
    char *bytes = calloc(1, POWER_MAX_STOP_BYTES + 1);
    for (size_t i = 0; i <= POWER_MAX_STOPS; i++)
        many[i] = POWER_TEXT("x");
    assert_int_equal(
        power_stops_create(&power_default_allocator, many, POWER_MAX_STOPS + 1, &stops, &error),
        POWER_LIMIT);
    assert_non_null(strstr(error.message, "4097"));
    assert_non_null(strstr(error.message, "4096"));
    const struct power_text large = {bytes, POWER_MAX_STOP_BYTES + 1};
    assert_int_equal(power_stops_create(&power_default_allocator, &large, 1, &stops, &error),
                     POWER_LIMIT);
    assert_null(stops);
    free(bytes);
    free(many);
}

/* 4,096 strings of 1 KiB, alike but for their ends, and a text that stays close to all of them. */
static void many_long_strings_take_linear_time(void **state) {
    const size_t n = 4096, length = 1024;
    char *bytes = malloc(n * length);
    struct power_text *texts = calloc(n, sizeof *texts);
    (void)state;
    memset(bytes, 'a', n * length);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0, rest = i; k < 7; k++, rest /= 10)
            bytes[i * length + length - 2 - k] = (char)('0' + rest % 10);
        bytes[i * length + length - 1] = 'b';
        bytes[i * length + i % (length - 8)] = (char)('c' + i % 20);
        texts[i] = (struct power_text){bytes + i * length, length};
    }
    clock_t start = clock();
    struct power_stops *stops = make(texts, n);
    uint32_t place = 0;
    for (size_t k = 0; k < (size_t)1 << 20; k++)
        place = power_stops_next(stops, place, 'a');
    assert_true(power_stops_waiting(stops, place) >= length - 9);
    for (size_t k = 0; k < length; k++)
        place = power_stops_next(stops, place, (unsigned char)texts[77].bytes[k]);
    assert_int_equal(power_stops_ended(stops, place), 77);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    printf("4096 strings of 1 KiB: %.2f s\n", seconds);
    assert_true(seconds < 30); /* a search by hand would take hours */
    power_stops_destroy(stops);
    free(texts);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_a_search_by_hand),
                                       cmocka_unit_test(what_is_refused),
                                       cmocka_unit_test(many_long_strings_take_linear_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
