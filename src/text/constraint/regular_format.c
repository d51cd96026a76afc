/* SPDX-License-Identifier: MIT */
/* Job: the named formats of JSON Schema as automata.
 * Input: a name. Output: the language of the RFC that the specification names.
 * Threads: one an arena. Bounds: the space's limit; `time` and `date-time` take some 11,000 states,
 * nearly all of them for leap seconds.
 *
 * Not counted are the lengths that RFC 1123 and RFC 5321 put on whole host names and mail addresses
 * (what is longer may be refused by a receiver, it is no other syntax). General address literals
 * of RFC 5321 are left out: no tag but IPv6 is registered. */
#include <assert.h>
#include <stdio.h>

#include "text/constraint/regular_internal.h"

/* Productions; <name> stands for another one, and for two that depend on the format: <more> for
 * the letters beyond ASCII that IRIs and international mail have, <private> for those of queries
 * only. */
struct production {
    const char *name, *regex;
};

static const struct production PRODUCTIONS[] = {
    /* RFC 3986 section 3.2.2, the syntax of RFC 4291 addresses */
    {"hex", "[0-9A-Fa-f]"},
    {"octet", "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"},
    {"ipv4", "(?:<octet>(?:\\.<octet>){3})"},
    {"h16", "<hex>{1,4}"},
    {"ls32", "(?:<h16>:<h16>|<ipv4>)"},
    {"ipv6", "(?:(?:<h16>:){6}<ls32>|::(?:<h16>:){5}<ls32>|(?:<h16>)?::(?:<h16>:){4}<ls32>|"
             "(?:(?:<h16>:)?<h16>)?::(?:<h16>:){3}<ls32>|"
             "(?:(?:<h16>:){0,2}<h16>)?::(?:<h16>:){2}<ls32>|"
             "(?:(?:<h16>:){0,3}<h16>)?::<h16>:<ls32>|(?:(?:<h16>:){0,4}<h16>)?::<ls32>|"
             "(?:(?:<h16>:){0,5}<h16>)?::<h16>|(?:(?:<h16>:){0,6}<h16>)?::)"},
    /* RFC 5321 section 4.1.3: `::` stands for two groups at least, octets may begin with zeros */
    {"snum", "(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]?[0-9])"},
    {"v4", "(?:<snum>(?:\\.<snum>){3})"},
    {"v6", "(?:<h16>(?::<h16>){7}|::(?:<h16>(?::<h16>){0,5})?|<h16>::(?:<h16>(?::<h16>){0,4})?|"
           "<h16>:<h16>::(?:<h16>(?::<h16>){0,3})?|"
           "<h16>(?::<h16>){2}::(?:<h16>(?::<h16>){0,2})?|"
           "<h16>(?::<h16>){3}::(?:<h16>(?::<h16>)?)?|<h16>(?::<h16>){4}::(?:<h16>)?|"
           "<h16>(?::<h16>){5}::)"},
    {"v6v4", "(?:<h16>(?::<h16>){5}:|::(?:<h16>:){0,4}|<h16>::(?:<h16>:){0,3}|"
             "<h16>:<h16>::(?:<h16>:){0,2}|<h16>(?::<h16>){2}::(?:<h16>:)?|"
             "<h16>(?::<h16>){3}::)<v4>"},
    {"literal", "\\[(?:<v4>|[Ii][Pp][Vv]6:(?:<v6>|<v6v4>))\\]"},
    /* RFC 5321 section 4.1.2, RFC 6531 section 3.3, RFC 1123 section 2.1 */
    {"atext", "[A-Za-z0-9!#$%&'*+/=?^_`{|}~<more>-]"},
    {"quoted", "\"(?:[ !#-\\[\\]-~<more>]|\\\\[ -~])*\""},
    {"letter", "A-Za-z0-9<more>"},
    {"subdomain", "[<letter>](?:[<letter>-]*[<letter>])?"},
    {"mail", "(?:<atext>+(?:\\.<atext>+)*|<quoted>)@"
             "(?:<subdomain>(?:\\.<subdomain>)*|<literal>)"},
    {"label", "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"},
    /* RFC 3986 appendix A, RFC 3987 section 2.2 */
    {"percent", "%<hex><hex>"},
    {"name", "A-Za-z0-9._~!$&'()*+,;=<more>"},
    {"host", "(?:\\[(?:<ipv6>|[vV]<hex>+\\.[A-Za-z0-9._~!$&'()*+,;=:-]+)\\]|"
             "(?:[<name>-]|<percent>)*)"},
    {"authority", "(?:(?:[<name>:-]|<percent>)*@)?<host>(?::[0-9]*)?"},
    {"pchar", "(?:[<name>:@-]|<percent>)"},
    {"segments", "(?:/<pchar>*)*"},
    {"rooted", "//<authority><segments>|/(?:<pchar>+<segments>)?"},
    {"tail", "(?:\\?(?:[<name><private>:@/?-]|<percent>)*)?(?:#(?:[<name>:@/?-]|<percent>)*)?"},
    {"uri", "[A-Za-z][A-Za-z0-9+.-]*:(?:<rooted>|<pchar>+<segments>)?<tail>"},
    {"relative", "(?:<rooted>|(?:[<name>@-]|<percent>)+<segments>)?<tail>"},
    /* RFC 3339 section 5.6, days of months and leap years by its appendix C */
    {"leap-year", "(?:[0-9][0-9](?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"},
    {"date", "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|"
             "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))|"
             "<leap-year>-02-29)"},
    {"fraction", "(?:\\.[0-9]+)?"},
    {"offset", "(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"},
    {"time", "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]<fraction><offset>"},
    /* RFC 3339 appendix A */
    {"clock", "T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)"},
    {"days", "(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)"},
    {"base64", "[A-Za-z0-9+/]"},
    /* RFC 6901, RFC 6570 section 2 */
    {"pointer", "(?:/(?:[^~/]|~[01])*)*"},
    {"varchar", "(?:[A-Za-z0-9_]|<percent>)"},
    {"variable", "<varchar>(?:\\.?<varchar>)*(?::[1-9][0-9]{0,3}|\\*)?"},
};

static const char UCSCHAR[] =
    "\\u00A0-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFEF\\u{10000}-\\u{1FFFD}\\u{20000}-\\u{2FFFD}"
    "\\u{30000}-\\u{3FFFD}\\u{40000}-\\u{4FFFD}\\u{50000}-\\u{5FFFD}\\u{60000}-\\u{6FFFD}"
    "\\u{70000}-\\u{7FFFD}\\u{80000}-\\u{8FFFD}\\u{90000}-\\u{9FFFD}\\u{A0000}-\\u{AFFFD}"
    "\\u{B0000}-\\u{BFFFD}\\u{C0000}-\\u{CFFFD}\\u{D0000}-\\u{DFFFD}\\u{E1000}-\\u{EFFFD}";
static const char IPRIVATE[] = "\\uE000-\\uF8FF\\u{F0000}-\\u{FFFFD}\\u{100000}-\\u{10FFFD}";
static const char BEYOND_ASCII[] = "\\u0080-\\u{10FFFF}";

static const struct format {
    const char *name, *regex, *more, *private;
} FORMATS[] = {
    {"date", "<date>", "", ""},
    {"time", "(?:<time>", "", ""},                /* leap seconds and a parenthesis follow */
    {"date-time", "<date>[Tt](?:<time>", "", ""}, /* likewise */
    {"duration", "P(?:[0-9]+W|<days>(?:<clock>)?|<clock>)", "", ""},
    {"uuid", "<hex>{8}-(?:<hex>{4}-){3}<hex>{12}", "", ""}, /* RFC 4122 section 3 */
    {"email", "<mail>", "", ""},
    {"idn-email", "<mail>", BEYOND_ASCII, ""},
    {"hostname", "<label>(?:\\.<label>)*", "", ""},
    {"ipv4", "<ipv4>", "", ""},
    {"ipv6", "<ipv6>", "", ""},
    {"uri", "<uri>", "", ""},
    {"uri-reference", "<uri>|<relative>", "", ""},
    {"iri", "<uri>", UCSCHAR, IPRIVATE},
    {"iri-reference", "<uri>|<relative>", UCSCHAR, IPRIVATE},
    {"uri-template",
     "(?:[!#$&(-;=?-\\[\\]_a-z~<more><private>]|<percent>|"
     "\\{[+#./;?&=,!@|]?<variable>(?:,<variable>)*\\})*",
     UCSCHAR, IPRIVATE},
    {"json-pointer", "<pointer>", "", ""},
    /* OpenAPI's "byte": RFC 4648 section 4, with the padding */
    {"byte", "(?:<base64>{4})*(?:<base64>{2}(?:==|<base64>=))?", "", ""},
    /* What OpenAPI says of a value's storage or display, and pydantic of a text's use, excludes
     * no text. */
    {"float", "[^]*", "", ""},
    {"double", "[^]*", "", ""},
    {"password", "[^]*", "", ""},
    {"binary", "[^]*", "", ""},
    {"path", "[^]*", "", ""},
    {"relative-json-pointer", "(?:0|[1-9][0-9]*)(?:#|<pointer>)", "", ""},
};

static const char *production(const struct format *format, struct power_text name) {
    if (power_text_equal(name, POWER_TEXT("more"))) return format->more;
    if (power_text_equal(name, POWER_TEXT("private"))) return format->private;
    for (size_t i = 0; i < sizeof PRODUCTIONS / sizeof *PRODUCTIONS; i++) {
        if (power_text_equal(name, power_text_of(PRODUCTIONS[i].name))) return PRODUCTIONS[i].regex;
    }
    return "";
}

/* Appends the format's expression, with every <name> replaced. Productions nest a few levels. */
static bool append_expression(struct power_buffer *out, const struct format *format) {
    enum { LEVELS = 16 };
    const char *at[LEVELS] = {format->regex};
    size_t level = 1;
    while (level > 0) {
        const char **from = &at[level - 1];
        size_t plain = strcspn(*from, "<");
        if (!power_buffer_append(out, *from, plain)) return false;
        *from += plain;
        if (**from == '\0') {
            level--;
            continue;
        }
        struct power_text name = {*from + 1, strcspn(*from, ">") - 1};
        *from += name.length + 2;
        assert(level < LEVELS);
        at[level++] = production(format, name);
    }
    return true;
}

/* A leap second is the last of a day in UTC: 23:59:60 less the offset. One line a minute of local
 * time, each with the one offset of either sign that fits. */
static bool append_leap_seconds(struct power_buffer *out) {
    enum { DAY = 24 * 60 };
    for (int t = 0; t < DAY; t++) {
        int plus = (t + 1) % DAY, minus = DAY - 1 - t;
        char line[96];
        int n = snprintf(line, sizeof line,
                         "|%02d:%02d:60(?:\\.[0-9]+)?(?:\\+%02d:%02d|-%02d:%02d%s)", t / 60, t % 60,
                         plus / 60, plus % 60, minus / 60, minus % 60, minus == 0 ? "|[Zz]" : "");
        if (n <= 0 || !power_buffer_append(out, line, (size_t)n)) return false;
    }
    return power_buffer_append(out, ")", 1);
}

power_status power_regular_format(const struct power_regular_space *space, struct power_text name,
                                  struct power_regular *out, power_error *error) {
    const struct format *format = FORMATS, *end = FORMATS + sizeof FORMATS / sizeof *FORMATS;
    while (format < end && !power_text_equal(name, power_text_of(format->name)))
        format++;
    if (format == end)
        return power_fail(error, POWER_NOT_FOUND, "format \"%s\" is not known",
                          power_quote(name.bytes, name.length).text);
    struct power_buffer regex;
    const size_t most = (size_t)1 << 20;
    power_buffer_init(&regex, space->arena->allocator, most);
    bool timed = strstr(format->regex, "<time>") != NULL;
    bool made = append_expression(&regex, format) && (!timed || append_leap_seconds(&regex));
    struct power_text text = {regex.bytes, regex.length};
    power_status status = made ? power_regular_parse(space, text, POWER_REGEX_WHOLE, out, error)
                               : power_fail_memory(error, most, "a format");
    power_buffer_finish(&regex);
    return status;
}
