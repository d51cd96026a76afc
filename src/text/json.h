/* SPDX-License-Identifier: MIT */
/* A pull reader for JSON (RFC 8259): one event at a time, nothing is built.
 * Input: untrusted text. Output: events with borrowed values.
 * Threads: a reader belongs to one thread.
 * Bounds: constant stack, nesting of at most POWER_JSON_DEPTH, one string's worth of scratch. */
#ifndef POWER_TEXT_JSON_H
#define POWER_TEXT_JSON_H

#include "base/memory.h"
#include "base/span.h"

#define POWER_JSON_DEPTH 512

enum power_json_event {
    POWER_JSON_FAIL, /* *error of the reader was written */
    POWER_JSON_END,
    POWER_JSON_OBJECT,
    POWER_JSON_OBJECT_END,
    POWER_JSON_ARRAY,
    POWER_JSON_ARRAY_END,
    POWER_JSON_KEY,
    POWER_JSON_STRING,
    POWER_JSON_NUMBER,
    POWER_JSON_TRUE,
    POWER_JSON_FALSE,
    POWER_JSON_NULL
};

struct power_json {
    struct power_text text;
    size_t at;
    uint32_t depth;
    unsigned char in_object[POWER_JSON_DEPTH]; /* one a level */
    bool want_value, after_value, done;
    struct power_buffer scratch;
    struct power_text
        value; /* of KEY, STRING (unescaped), NUMBER (as written); until the next event */
    power_error *error;
    const char *what; /* names the document in messages */
};

void power_json_init(struct power_json *json, const power_allocator *allocator,
                     struct power_text text, const char *what, power_error *error);
void power_json_finish(struct power_json *json);
enum power_json_event power_json_next(struct power_json *json);
/* Reads to the end of the value that `event` began. False when the text is broken. */
bool power_json_skip(struct power_json *json, enum power_json_event event);
/* Status of the failure last reported (never POWER_OK). */
power_status power_json_status(const struct power_json *json);

#endif
