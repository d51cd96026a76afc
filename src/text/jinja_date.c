/* SPDX-License-Identifier: MIT */
/* Job: strftime in UTC and English. Input: a format, the rendering's time. Output: text.
 * Threads: one per rendering. Bounds: constant time a directive. */
#include <stdio.h>

#include "text/jinja.h"

struct date {
    int64_t year;
    unsigned month, day, hour, minute, second, weekday, yearday; /* month, day from 1 */
};

static struct date date_of(int64_t unix_s) {
    int64_t days = unix_s / 86400, rest = unix_s % 86400;
    if (rest < 0) {
        rest += 86400;
        days--;
    }
    /* years begin in March, counted in eras of 400 years from 0000-03-01 */
    int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    struct date d;
    d.day = (unsigned)(doy - (153 * mp + 2) / 5 + 1);
    d.month = (unsigned)(mp < 10 ? mp + 3 : mp - 9);
    d.year = yoe + era * 400 + (d.month <= 2);
    d.hour = (unsigned)(rest / 3600);
    d.minute = (unsigned)(rest / 60 % 60);
    d.second = (unsigned)(rest % 60);
    d.weekday = (unsigned)(((days % 7) + 11) % 7); /* 1970-01-01 was a Thursday; 0 is Sunday */
    static const unsigned before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    bool leap = (d.year % 4 == 0 && d.year % 100 != 0) || d.year % 400 == 0;
    d.yearday = before[d.month - 1] + d.day - 1 + (leap && d.month > 2);
    return d;
}

static const char *const day_names[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                        "Thursday", "Friday", "Saturday"};
static const char *const month_names[] = {"January",   "February", "March",    "April",
                                          "May",       "June",     "July",     "August",
                                          "September", "October",  "November", "December"};

/* Directives that stand for others. */
static const struct {
    char letter;
    const char *format;
} compounds[] = {
    {'F', "%Y-%m-%d"}, {'T', "%H:%M:%S"}, {'X', "%H:%M:%S"},    {'R', "%H:%M"},
    {'D', "%m/%d/%y"}, {'x', "%m/%d/%y"}, {'r', "%I:%M:%S %p"}, {'c', "%a %b %e %H:%M:%S %Y"}};

/* A number, its width and what fills it; false when the letter is no number. */
static bool number_of(const struct date *d, char letter, long long *value, int *width) {
    static const char letters[] = "YCymdHIMSUWejwu";
    const unsigned century_year = (unsigned)(((d->year % 100) + 100) % 100);
    const long long values[] = {d->year,
                                d->year / 100,
                                century_year,
                                d->month,
                                d->day,
                                d->hour,
                                d->hour % 12 ? d->hour % 12 : 12,
                                d->minute,
                                d->second,
                                (d->yearday + 7 - d->weekday) / 7,
                                (d->yearday + 7 - (d->weekday + 6) % 7) / 7,
                                d->day,
                                d->yearday + 1,
                                d->weekday,
                                d->weekday ? d->weekday : 7};
    const char *found = letter ? strchr(letters, letter) : NULL;
    if (!found) return false;
    *value = values[found - letters];
    *width = letter == 'Y' || letter == 'w' || letter == 'u' ? 1 : letter == 'j' ? 3 : 2;
    return true;
}

/* A word, or NULL. */
static const char *word_of(const struct date *d, char letter) {
    switch (letter) {
    case 'a':
    case 'A':
        return day_names[d->weekday];
    case 'b':
    case 'h':
    case 'B':
        return month_names[d->month - 1];
    case 'p':
        return d->hour < 12 ? "AM" : "PM";
    case 'f':
        return "000000";
    case 'Z':
    case 'z':
        return ""; /* a time without a zone */
    case 'n':
        return "\n";
    case 't':
        return "\t";
    case '%':
        return "%";
    default:
        return NULL;
    }
}

static bool put_format(struct jinja_render *r, const struct date *d, struct power_text f,
                       struct jinja_buffer *out);

/* One directive; `plain`: without filling (%-d). */
static bool put_directive(struct jinja_render *r, const struct date *d, char letter, bool plain,
                          struct jinja_buffer *out) {
    char text[32];
    long long value;
    int width;
    for (size_t i = 0; i < sizeof compounds / sizeof *compounds; i++) {
        if (compounds[i].letter == letter)
            return put_format(r, d, power_text_of(compounds[i].format), out);
    }
    const char *word = word_of(d, letter);
    if (word) {
        bool brief = letter == 'a' || letter == 'b' || letter == 'h';
        return power_jinja_put(r, out, (struct power_text){word, brief ? 3 : strlen(word)});
    }
    if (!number_of(d, letter, &value, &width))
        return power_jinja_raise(r, POWER_UNSUPPORTED, "strftime directive '%%%c' is not supported",
                                 letter >= 0x20 && letter < 0x7F ? letter : '?');
    if (plain)
        snprintf(text, sizeof text, "%lld", value);
    else
        snprintf(text, sizeof text, letter == 'e' ? "%*lld" : "%0*lld", width, value);
    return power_jinja_put(r, out, power_text_of(text));
}

static bool put_format(struct jinja_render *r, const struct date *d, struct power_text f,
                       struct jinja_buffer *out) {
    bool ok = true;
    for (size_t at = 0; ok && at < f.length; at++) {
        if (f.bytes[at] != '%' || at + 1 >= f.length) {
            ok = power_jinja_put(r, out, (struct power_text){f.bytes + at, 1});
            continue;
        }
        bool plain = f.bytes[at + 1] == '-' && at + 2 < f.length;
        ok = put_directive(r, d, f.bytes[at + 1 + plain], plain, out);
        at += 1u + plain;
    }
    return ok;
}

bool power_jinja_strftime(struct jinja_render *r, struct power_text format,
                          struct jinja_value *out) {
    struct date d = date_of(r->now_unix_s);
    struct jinja_buffer buffer;
    power_jinja_scratch(r, &buffer);
    return power_jinja_finish_text(r, &buffer, put_format(r, &d, format, &buffer), out);
}
