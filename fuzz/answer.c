/* SPDX-License-Identifier: MIT */
/* Fuzz target of the answer parser. Input: a byte that chooses the format, one with flags, then the
 * answer. Output: none; events that differ when the answer comes a byte at a time, or that break a
 * promise of the header, trap. Threads: one. Bounds: calls of 64 KiB. */
#include "text/answer/answer.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

struct seen {
    struct power_buffer text;
    int last;
    uint32_t calls;
    bool open;
};

static void put(struct seen *s, const char *bytes, size_t n) {
    if (!power_buffer_append(&s->text, bytes, n)) __builtin_trap();
}

static int on_event(void *context, const power_answer_event *event) {
    struct seen *s = context;
    bool joins = event->kind == POWER_ANSWER_TEXT || event->kind == POWER_ANSWER_REASONING ||
                 event->kind == POWER_ANSWER_ARGUMENTS;
    char mark = (char)('0' + (int)event->kind);
    if (joins && !event->text_bytes) __builtin_trap();
    if (event->kind == POWER_ANSWER_CALL &&
        (event->call != s->calls++ || s->open || !event->text_bytes))
        __builtin_trap();
    if ((event->kind == POWER_ANSWER_ARGUMENTS || event->kind == POWER_ANSWER_CALL_END) &&
        !s->open && event->kind != POWER_ANSWER_CALL)
        __builtin_trap();
    if (!joins || s->last != (int)event->kind) put(s, &mark, 1);
    s->last = joins ? (int)event->kind : -1;
    if (event->kind != POWER_ANSWER_ARGUMENTS) s->open = event->kind == POWER_ANSWER_CALL;
    put(s, event->text, event->text_bytes);
    put(s, event->id, event->id_bytes);
    return 0;
}

static void run(struct seen *s, const struct power_answer_format *format, unsigned flags,
                struct power_text raw, size_t step) {
    static const char tools[] = "[{\"name\":\"f\",\"parameters\":{\"properties\":{\"a\":{\"type\":"
                                "\"string\"},\"b\":{\"type\":"
                                "\"integer\"},\"c\":{\"type\":[\"string\",\"null\"]}}}}]";
    const struct power_answer_parser_options options = {.tools = !(flags & 1),
                                                        .reasoning_open = flags & 2,
                                                        .tools_json = POWER_TEXT(tools),
                                                        .max_call_bytes = 65536,
                                                        .on_event = on_event,
                                                        .context = s};
    struct power_answer_parser *parser = NULL;
    power_error error = {0};
    *s = (struct seen){.last = -1};
    power_buffer_init(&s->text, &power_default_allocator, (size_t)1 << 26);
    if (power_answer_parser_create(&power_default_allocator, format, &options, &parser, &error))
        __builtin_trap();
    for (size_t at = 0; at < raw.length; at += step) {
        size_t n = raw.length - at < step ? raw.length - at : step;
        struct power_text piece = {raw.bytes + at, n};
        if (power_answer_parser_push(parser, piece, &error)) __builtin_trap();
    }
    if (power_answer_parser_finish(parser, flags & 4, &error)) __builtin_trap();
    power_answer_parser_destroy(parser);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    static const char *const reasonings[] = {"",          "think", "apriel",  "mistral",
                                             "command-r", "gemma", "granite", "harmony"};
    struct power_answer_format format;
    struct seen whole, bytes;
    if (size < 3) return 0;
    size_t n = 0;
    while (power_answer_format_list(n))
        n++;
    const char *name = power_answer_format_list(data[0] % n);
    if (!power_answer_format_named(power_text_of(name), power_text_of(reasonings[data[1] >> 3 & 7]),
                                   &format))
        __builtin_trap();
    struct power_text raw = {(const char *)data + 2, size - 2};
    run(&whole, &format, data[1], raw, raw.length);
    run(&bytes, &format, data[1], raw, 1);
    if (whole.text.length != bytes.text.length ||
        (whole.text.length && memcmp(whole.text.bytes, bytes.text.bytes, whole.text.length) != 0))
        __builtin_trap();
    power_buffer_finish(&whole.text);
    power_buffer_finish(&bytes.text);
    return 0;
}
