/* SPDX-License-Identifier: MIT */
/* Says of texts whether they are in a regular language, for scripts that know it otherwise.
 * Input: JSON lines {"regex" or "format": text, "dialect": "whole" or "search", "texts": [...]}.
 * Output: a line each: one 0 or 1 a text, or the name of the status, a space and the message.
 * Threads: one. Bounds: those of the automata. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/constraint/regular.h"

static struct power_text text_of(const json_t *value) {
    return (struct power_text){json_string_value(value), json_string_length(value)};
}

static power_status make(const struct power_regular_space *space, const json_t *line,
                         struct power_regular *out, power_error *error) {
    const json_t *format = json_object_get(line, "format");
    const char *dialect = json_string_value(json_object_get(line, "dialect"));
    if (format) return power_regular_format(space, text_of(format), out, error);
    bool search = dialect && strcmp(dialect, "search") == 0;
    return power_regular_parse(space, text_of(json_object_get(line, "regex")),
                               search ? POWER_REGEX_SEARCH : POWER_REGEX_WHOLE, out, error);
}

static void answer(const json_t *line) {
    struct power_arena arena;
    power_error error = {0};
    struct power_regular language;
    power_arena_init(&arena, &power_default_allocator, (size_t)64 << 20);
    const struct power_regular_space space = {&arena, 0};
    if (make(&space, line, &language, &error) != POWER_OK) {
        printf("%s %s\n", power_status_name(error.status), error.message);
    } else {
        const json_t *texts = json_object_get(line, "texts");
        for (size_t i = 0; i < json_array_size(texts); i++)
            putchar(power_regular_contains(&language, text_of(json_array_get(texts, i))) ? '1' : '0');
        putchar('\n');
    }
    power_arena_finish(&arena);
}

int main(void) {
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        json_t *value = json_loads(line, JSON_ALLOW_NUL, NULL);
        if (!value) return 1;
        answer(value);
        json_decref(value);
        fflush(stdout);
    }
    free(line);
    return 0;
}
