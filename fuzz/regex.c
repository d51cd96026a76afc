/* SPDX-License-Identifier: MIT */
/* Fuzz target of regular expressions. Input: an expression, then optionally a NUL and a text.
 * Output: none; a broken promise traps. Threads: one. Bounds: 500 states an automaton.
 *
 * What is checked: the whole dialect's language is inside the search dialect's, a language and its
 * complement share no text and part the given one, and edges are in order. */
#include "text/constraint/regular.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { STATES = 500 };

static void check_order(const struct power_regular *a) {
    for (uint32_t s = 0; s < a->n_states; s++) {
        const struct power_regular_edge *edges = a->edges + a->states[s].first_edge;
        for (uint32_t e = 0; e < a->states[s].n_edges; e++) {
            if (edges[e].first > edges[e].last || edges[e].to >= a->n_states) __builtin_trap();
            if (e > 0 && edges[e - 1].last >= edges[e].first) __builtin_trap();
        }
    }
}

static void check_languages(const struct power_regular_space *space,
                            const struct power_regular *whole, const struct power_regular *search,
                            struct power_text text) {
    struct power_regular all, rest, common;
    if (power_regular_length(space, 0, UINT32_MAX, &all, NULL) != POWER_OK ||
        power_regular_subtract(space, &all, search, &rest, NULL) != POWER_OK ||
        power_regular_intersect(space, whole, &rest, &common, NULL) != POWER_OK)
        return;
    if (!power_regular_is_empty(&common)) __builtin_trap();
    bool valid = power_regular_contains(&all, text);
    if (valid != (power_regular_contains(search, text) || power_regular_contains(&rest, text)))
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    const unsigned char *end = size ? memchr(data, 0, size) : NULL;
    struct power_text regex = {(const char *)data, end ? (size_t)(end - data) : size};
    struct power_text text = {"", 0};
    if (end) text = (struct power_text){(const char *)end + 1, size - regex.length - 1};
    struct power_arena arena;
    struct power_regular languages[2] = {{0}};
    power_error error = {0};
    power_arena_init(&arena, &power_default_allocator, (size_t)64 << 20);
    const struct power_regular_space space = {&arena, STATES};
    power_status status =
        power_regular_parse(&space, regex, POWER_REGEX_WHOLE, &languages[0], &error);
    if (status == POWER_OK)
        status = power_regular_parse(&space, regex, POWER_REGEX_SEARCH, &languages[1], &error);
    if (status != POWER_OK) {
        if (error.status != status || !error.message[0]) __builtin_trap();
    } else {
        check_order(&languages[0]);
        check_order(&languages[1]);
        check_languages(&space, &languages[0], &languages[1], text);
    }
    power_arena_finish(&arena);
    return 0;
}
