/* SPDX-License-Identifier: MIT */
/* Job: methods that tell what a text is made of. Input: a text. Output: a bool.
 * Threads: one per rendering. Bounds: linear in the text. */
#include "text/jinja_methods.h"
#include "text/split_class.h"

static bool is_kind(int id, struct power_char c) {
    switch (id) {
    case M_ISALNUM:
        return c.class & (POWER_CLASS_L | POWER_CLASS_N);
    case M_ISALPHA:
        return c.class & POWER_CLASS_L;
    case M_ISSPACE:
        return power_jinja_is_space(c.code);
    case M_ISASCII:
        return c.code < 0x80;
    case M_ISPRINTABLE:
        return power_jinja_is_printable(c.code);
    case M_ISIDENTIFIER:
        return power_jinja_is_name_part(c.code, false);
    default:
        return c.class & POWER_CLASS_N; /* isdigit, isdecimal, isnumeric */
    }
}

static bool cased(int id, struct power_text self) {
    bool some = false, inside = false, ok = true;
    for (size_t at = 0; ok && at < self.length;) {
        struct power_char c = power_char_at(self, at);
        bool upper = c.class & POWER_CLASS_UPPER, lower = c.class & POWER_CLASS_LOWER;
        some = some || upper || lower;
        if (id == M_ISLOWER) ok = !upper;
        if (id == M_ISUPPER) ok = !lower;
        if (id == M_ISTITLE) ok = upper ? !inside : lower ? inside : true;
        inside = upper || lower;
        at += c.length;
    }
    return ok && some;
}

bool power_jinja_predicate(struct jinja_render *r, int id, const char *name, struct power_text self,
                           const struct jinja_args *args, struct jinja_value *out) {
    if (args->count || args->n_keywords)
        return power_jinja_raise(r, POWER_INVALID, "%s() takes no arguments", name);
    bool ok = self.length > 0 || id == M_ISASCII || id == M_ISPRINTABLE;
    if (ok && id == M_ISIDENTIFIER) {
        struct power_char first = power_char_at(self, 0);
        ok = power_jinja_is_name_part(first.code, true);
    }
    if (id == M_ISLOWER || id == M_ISUPPER || id == M_ISTITLE) {
        ok = cased(id, self);
    } else {
        for (size_t at = 0; ok && at < self.length;) {
            struct power_char c = power_char_at(self, at);
            ok = is_kind(id, c);
            at += c.length;
        }
    }
    *out = power_jinja_bool(ok);
    return power_jinja_steps(r, self.length / 16);
}
