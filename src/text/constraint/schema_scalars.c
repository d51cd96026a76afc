/* SPDX-License-Identifier: MIT */
/* Keywords of numbers and strings.
 * Input: a schema object. Output: its form, narrowed.
 * Threads: one a compilation.
 * Bounds: automata as of the grammar's space. */
#include <stdio.h>

#include "text/constraint/schema.h"

static bool narrow(struct schema *s, struct schema_form *form, struct schema_numbers more) {
    struct schema_form other = *s->any;
    other.numbers = more;
    const struct schema_form *both = power_schema_conjoin(s, form, &other);
    if (both) form->numbers = both->numbers;
    return both != NULL;
}

static bool number_words(struct schema *s, uint32_t at, struct schema_form *form) {
    static const struct {
        const char *word;
        unsigned relations;
    } bounds[] = {{"minimum", RELATION_MORE | RELATION_EQUAL},
                  {"maximum", RELATION_LESS | RELATION_EQUAL},
                  {"exclusiveMinimum", RELATION_MORE},
                  {"exclusiveMaximum", RELATION_LESS}};
    struct schema_numbers more;
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        uint32_t value = power_schema_get(s, at, bounds[i].word);
        if (value == SCHEMA_NONE) continue;
        s->blame = value;
        const struct power_regular *yes = power_schema_compare(s, value, bounds[i].relations);
        if (!yes || !power_schema_numbers(s, yes, &more) || !narrow(s, form, more)) return false;
    }
    uint32_t value = power_schema_get(s, at, "multipleOf");
    if (value == SCHEMA_NONE) return true;
    s->blame = value;
    return power_schema_multiple(s, value, &more) && narrow(s, form, more);
}

static bool length_words(struct schema *s, uint32_t at, struct schema_form *form) {
    uint32_t min = power_schema_get(s, at, "minLength"), count;
    uint32_t max = power_schema_get(s, at, "maxLength");
    if (min != SCHEMA_NONE) {
        if (!power_schema_count(s, min, &count)) return false;
        if (count == SCHEMA_MANY)
            return power_schema_fail(s, POWER_LIMIT, min, "no text is that long");
        if (form->strings.min < count) form->strings.min = count;
    }
    if (max != SCHEMA_NONE) {
        if (!power_schema_count(s, max, &count)) return false;
        if (form->strings.max > count) form->strings.max = count;
    }
    return true;
}

static bool narrow_strings(struct schema *s, struct schema_form *form,
                           const struct power_regular *more) {
    if (!more) return false;
    form->strings.language =
        form->strings.language ? power_schema_and(s, form->strings.language, more) : more;
    return form->strings.language != NULL;
}

static const struct power_regular *find_known(const struct schema *s, bool format,
                                              struct power_text text) {
    for (uint32_t i = 0; i < s->n_known; i++)
        if (s->known[i].format == format && power_text_equal(s->known[i].text, text))
            return s->known[i].language;
    return NULL;
}

static const struct power_regular *remember(struct schema *s, bool format, struct power_text text,
                                            const struct power_regular *made) {
    if (made->n_states == 0) made = s->no_text;
    if (s->n_known < SCHEMA_KNOWN)
        s->known[s->n_known++] = (struct schema_known){format, text, made};
    return made;
}

const struct power_regular *power_schema_pattern(struct schema *s, uint32_t at,
                                                 struct power_text text) {
    const struct power_regular *known = find_known(s, false, text);
    if (known) return known;
    struct power_regular *made = power_schema_alloc(s, 1, sizeof *made);
    power_error why = {0};
    if (!made) return NULL;
    power_status status = power_regular_parse(&s->space, text, POWER_REGEX_SEARCH, made, &why);
    return power_schema_check(s, status, at, &why) ? remember(s, false, text, made) : NULL;
}

static const struct power_regular *format_language(struct schema *s, uint32_t at) {
    struct power_text name = s->values[at].text;
    const struct power_regular *known = find_known(s, true, name);
    if (known) return known;
    struct power_regular *made = power_schema_alloc(s, 1, sizeof *made);
    power_error why = {0};
    if (!made) return NULL;
    power_status status = power_regular_format(&s->space, name, made, &why);
    if (status == POWER_NOT_FOUND) {
        char fault[128];
        (void)snprintf(fault, sizeof fault, "format \"%s\" is not known",
                       power_quote(name.bytes, name.length).text);
        (void)power_schema_fail(s, POWER_UNSUPPORTED, at, fault);
        return NULL;
    }
    return power_schema_check(s, status, at, &why) ? remember(s, true, name, made) : NULL;
}

/* Formats of OpenAPI's registry that say something of numbers: their bounds, both included. */
struct number_format {
    const char *name, *least, *most; /* digits; `least` below zero, or zero where it is empty */
};

static const struct number_format *number_format(struct power_text name) {
    static const struct number_format list[] = {
        {"int8", "128", "127"},
        {"int16", "32768", "32767"},
        {"int32", "2147483648", "2147483647"},
        {"int64", "9223372036854775808", "9223372036854775807"},
        {"uint8", "", "255"},
        {"uint16", "", "65535"},
        {"uint32", "", "4294967295"},
        {"uint64", "", "18446744073709551615"},
        {"double-int", "9007199254740991", "9007199254740991"}};
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        if (power_text_equal(name, power_text_of(list[i].name))) return &list[i];
    return NULL;
}

static bool narrow_format(struct schema *s, uint32_t at, struct schema_form *form,
                          const struct number_format *format) {
    uint32_t n_least = (uint32_t)strlen(format->least), n_most = (uint32_t)strlen(format->most);
    const struct schema_decimal least = {n_least > 0, format->least, n_least, (int32_t)n_least};
    const struct schema_decimal most = {false, format->most, n_most, (int32_t)n_most};
    const struct schema_decimal *values[] = {&least, &most};
    const unsigned relations[] = {RELATION_MORE | RELATION_EQUAL, RELATION_LESS | RELATION_EQUAL};
    struct schema_numbers more;
    for (size_t i = 0; i < 2; i++) {
        const struct power_regular *yes = power_schema_compare_to(s, at, values[i], relations[i]);
        if (!yes || !power_schema_numbers(s, yes, &more) || !narrow(s, form, more)) return false;
    }
    return narrow(s, form, s->whole);
}

static bool is_string(struct schema *s, uint32_t at) {
    return at == SCHEMA_NONE || s->values[at].type == SCHEMA_STRING ||
           power_schema_fail(s, POWER_INVALID, at, "must be a string");
}

static bool pattern_words(struct schema *s, uint32_t at, struct schema_form *form) {
    uint32_t pattern = power_schema_get(s, at, "pattern");
    uint32_t format = power_schema_get(s, at, "format");
    if (!is_string(s, pattern) || !is_string(s, format)) return false;
    if (pattern != SCHEMA_NONE) {
        s->blame = pattern;
        if (!narrow_strings(s, form, power_schema_pattern(s, pattern, s->values[pattern].text)))
            return false;
    }
    if (format == SCHEMA_NONE) return true;
    s->blame = format;
    const struct number_format *numbers = number_format(s->values[format].text);
    if (numbers) return narrow_format(s, format, form, numbers);
    return narrow_strings(s, form, format_language(s, format));
}

bool power_schema_scalar_words(struct schema *s, uint32_t at, struct schema_form *form) {
    uint32_t old = s->blame;
    if (!number_words(s, at, form) || !length_words(s, at, form) || !pattern_words(s, at, form))
        return false;
    s->blame = old;
    return true;
}
