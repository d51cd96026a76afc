/* SPDX-License-Identifier: MIT */
/* The filters' own table: what the three files of filters give each other.
 * Input: arguments, the filtered value first. Output: a value.
 * Threads: one per rendering. Bounds: as the rendering's. */
#ifndef POWER_TEXT_JINJA_FILTERS_H
#define POWER_TEXT_JINJA_FILTERS_H

#include "text/jinja.h"

typedef bool (*power_jinja_filter_fn)(struct jinja_render *r, const struct jinja_args *args,
                                      struct jinja_value *out);

#define POWER_JINJA_SEQUENCE_FILTERS(X)                                                            \
    X(batch)                                                                                       \
    X(dictsort)                                                                                    \
    X(first)                                                                                       \
    X(groupby)                                                                                     \
    X(items)                                                                                       \
    X(join)                                                                                        \
    X(last)                                                                                        \
    X(length)                                                                                      \
    X(list)                                                                                        \
    X(map)                                                                                         \
    X(max)                                                                                         \
    X(min)                                                                                         \
    X(reject) X(rejectattr) X(reverse) X(select) X(selectattr) X(slice) X(sort) X(sum) X(unique)
#define POWER_JINJA_TEXT_FILTERS(X)                                                                \
    X(capitalize)                                                                                  \
    X(center)                                                                                      \
    X(format)                                                                                      \
    X(indent)                                                                                      \
    X(lower)                                                                                       \
    X(replace)                                                                                     \
    X(string)                                                                                      \
    X(striptags) X(title) X(trim) X(truncate) X(upper) X(urlencode) X(wordcount)

#define POWER_JINJA_PAGE_FILTERS(X) X(filesizeformat) X(wordwrap) X(xmlattr)
#define POWER_JINJA_NUMBER_FILTERS(X) X(abs) X(float) X(int) X(round)

#define POWER_JINJA_DECLARE(name)                                                                  \
    bool power_jinja_filter_##name(struct jinja_render *r, const struct jinja_args *args,          \
                                   struct jinja_value *out);
POWER_JINJA_SEQUENCE_FILTERS(POWER_JINJA_DECLARE)
POWER_JINJA_TEXT_FILTERS(POWER_JINJA_DECLARE)
POWER_JINJA_NUMBER_FILTERS(POWER_JINJA_DECLARE)
POWER_JINJA_PAGE_FILTERS(POWER_JINJA_DECLARE)
#undef POWER_JINJA_DECLARE

/* Text as float() takes it; false when it is no number. */
bool power_jinja_float_of_text(struct power_text text, double *out);

#endif
