/* SPDX-License-Identifier: MIT */
/* Formatted values: what `%` and str.format share.
 * Input: a specification and a value. Output: text appended to a buffer.
 * Threads: one per rendering. Bounds: width and precision are limited, see below. */
#ifndef POWER_TEXT_JINJA_FORMAT_H
#define POWER_TEXT_JINJA_FORMAT_H

#include "text/jinja.h"

#define JINJA_MAX_WIDTH 100000
#define JINJA_MAX_PRECISION 500 /* of a float */

struct jinja_spec {
    struct power_text fill;
    char align; /* '<', '>', '^', '='; 0: by type */
    char sign;  /* '-', '+', ' ' */
    char grouping;
    char type; /* 0: by value */
    bool alternate, no_negative_zero;
    int64_t width, precision; /* -1: none */
};

/* A whole number as d, b, o, x or X; precision is the least number of digits. */
bool power_jinja_put_whole(struct jinja_render *r, struct jinja_buffer *out,
                           const struct jinja_spec *s, struct jinja_value v);
/* e, f, g, E, F, G, % or 0 (as repr, or as g with a fraction at least). */
bool power_jinja_put_float(struct jinja_render *r, struct jinja_buffer *out,
                           const struct jinja_spec *s, double value);
bool power_jinja_put_text(struct jinja_render *r, struct jinja_buffer *out,
                          const struct jinja_spec *s, struct power_text text);
/* The character of a code point. */
bool power_jinja_put_code(struct jinja_render *r, struct jinja_buffer *out,
                          const struct jinja_spec *s, struct jinja_value v);
/* ascii(v) of Python */
bool power_jinja_ascii(struct jinja_render *r, struct jinja_value v, struct jinja_value *out);

#endif
