/* SPDX-License-Identifier: MIT */
/* Job: renders templates for differential.py. Input: JSON lines {"t": template, "v": variables as
 * JSON text} on stdin. Output: a JSON line each: {"text"} or {"error"}; with "plain" in the
 * request also the origin of each byte as a text of 0 and 1.
 * Threads: one. Bounds: as the engine's. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "text/template.h"

#define NOW 1773500966 /* 2026-03-14T15:09:26 */

static power_status render(const json_t *request, struct power_buffer *out,
                           struct power_buffer *plain, power_error *error) {
    const json_t *text = json_object_get(request, "t"), *variables = json_object_get(request, "v");
    struct power_template *t = NULL;
    power_status status = power_template_compile(
        &power_default_allocator,
        (struct power_text){json_string_value(text), json_string_length(text)}, &t, error);
    if (status != POWER_OK) return status;
    struct power_template_input input = {
        .variables = {json_string_value(variables), json_string_length(variables)},
        .now_unix_s = NOW};
    status = power_template_run(t, &input, NULL, out,
                                json_object_get(request, "plain") ? plain : NULL, error);
    power_template_destroy(t);
    return status;
}

static json_t *answer(const json_t *request) {
    struct power_buffer out, plain;
    power_error error = {0};
    power_buffer_init(&out, &power_default_allocator, (size_t)1 << 26);
    power_buffer_init(&plain, &power_default_allocator, (size_t)1 << 26);
    power_status status = render(request, &out, &plain, &error);
    json_t *result = status == POWER_OK
                         ? json_pack("{s:s%}", "text", out.bytes ? out.bytes : "", out.length)
                         : json_pack("{s:s, s:i}", "error", error.message, "status", (int)status);
    for (size_t i = 0; i < plain.length; i++)
        plain.bytes[i] = (char)('0' + plain.bytes[i]);
    if (result && plain.length)
        json_object_set_new(result, "plain", json_stringn(plain.bytes, plain.length));
    power_buffer_finish(&out);
    power_buffer_finish(&plain);
    return result ? result : json_pack("{s:s}", "broken", "the text is not UTF-8");
}

int main(void) {
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    while ((n = getline(&line, &room, stdin)) > 0) {
        json_error_t where;
        json_t *request = json_loadb(line, (size_t)n, JSON_ALLOW_NUL, &where);
        if (!request) {
            fprintf(stderr, "bad request: %s\n", where.text);
            return 1;
        }
        json_t *result = answer(request);
        json_dumpf(result, stdout, JSON_COMPACT);
        putchar('\n');
        fflush(stdout);
        json_decref(result);
        json_decref(request);
    }
    free(line);
    return 0;
}
