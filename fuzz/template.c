/* SPDX-License-Identifier: MIT */
/* Fuzz target of the template engine. Input: a template, then optionally a NUL and variables as
 * JSON. Output: none; each byte of the text has an origin. Threads: one. Bounds: 200,000 steps and
 * 1 MiB of output a run. */
#include "text/template.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    static const char variables[] =
        "{\"s\":\"ab \\u00e9\\n\",\"n\":5,\"f\":2.5,\"l\":[3,\"x\",null],\"d\":{\"a\":1,\"k\":{}},"
        "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"tools\":[],\"bos_token\":\"<s>\"}";
    const struct power_template_limits limits = {200000, (size_t)1 << 20, 50};
    const unsigned char *end = size ? memchr(data, 0, size) : NULL;
    size_t length = end ? (size_t)(end - data) : size;
    struct power_text text = {(const char *)data, length};
    struct power_text json = power_text_of(variables);
    if (end) json = (struct power_text){(const char *)end + 1, size - length - 1};
    struct power_template *t = NULL;
    power_error error = {0};
    if (power_template_compile(&power_default_allocator, text, &t, &error) != POWER_OK) {
        if (error.status == POWER_OK || !error.message[0]) __builtin_trap();
        return 0;
    }
    struct power_buffer out, plain;
    power_buffer_init(&out, &power_default_allocator, (size_t)2 << 20);
    power_buffer_init(&plain, &power_default_allocator, (size_t)2 << 20);
    struct power_template_input input = {.variables = json, .now_unix_s = 1773500966};
    input.own = POWER_TEXT("{\"eos_token\":\"</s>\"}");
    input.chat = size & 1;
    input.add_generation_prompt = true;
    input.continue_final_message = (size & 7) == 7;
    power_status status = power_template_run(t, &input, &limits, &out, &plain, &error);
    if (status != POWER_OK && (error.status == POWER_OK || !error.message[0])) __builtin_trap();
    if (status == POWER_OK && out.length != plain.length) __builtin_trap();
    power_buffer_finish(&plain);
    power_buffer_finish(&out);
    power_template_destroy(t);
    return 0;
}
