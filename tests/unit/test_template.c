/* SPDX-License-Identifier: MIT */
/* Job: the template engine beyond what public chat templates use.
 * Input: small templates. Output: the text that Jinja2 3.1.6 gave in the configuration of
 * transformers, or errors with line and column; limits hold. */
#include <time.h>

#include "text/template.h"
#include "text_support.h"

static const char variables[] =
    "{\"s\": \"Hello World\", \"u\": \"Gr\\u00fc\\u00dfe\", \"n\": 5, \"f\": 2.5, \"l\": [3, 1, 2],"
    " \"d\": {\"b\": 1, \"a\": [true, null, 1.5]}, \"e\": \"\", \"x\": \"<a>&'\\\"\","
    " \"m\": [{\"role\": \"user\", \"n\": 2}, {\"role\": \"bot\", \"n\": 1}]}";

static power_status render(const char *text, const struct power_template_limits *limits,
                           struct power_buffer *out, power_error *error) {
    struct power_template *t = NULL;
    *error = (power_error){0};
    power_buffer_init(out, &power_default_allocator, (size_t)1 << 24);
    power_status status =
        power_template_compile(&power_default_allocator, power_text_of(text), &t, error);
    if (status != POWER_OK) return status;
    status = power_template_render(t, power_text_of(variables), 1773500966, limits, out, error);
    power_template_destroy(t);
    return status;
}

static const struct {
    const char *text, *want;
} texts[] = {
    /* values and operators */
    {"{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** 10 }} {{ 2 ** -1 }}",
     "3 -4 2 3.5 1024 0.5"},
    {"{{ 1e16 }} {{ 1e15 }} {{ 0.0001 }} {{ 0.00001 }} {{ 1.0 }} {{ 0.1 + 0.2 }}",
     "1e+16 1000000000000000.0 0.0001 1e-05 1.0 0.30000000000000004"},
    {"{{ 1 == 1.0 }} {{ true == 1 }} {{ '1' == 1 }} {{ [1] == (1,) }} {{ 1 < 2 < 3 }}",
     "True True False False True"},
    {"{{ 'a' 'b' ~ 1 ~ none }} {{ 'ab' * 2 }} {{ [1] + [2] }} {{ 'x' in 'xyz' }}",
     "ab1None abab [1, 2] True"},
    {"{{ [1, 'a', \"it's\", none, true, (1,), {'k': 'v'}] }}",
     "[1, 'a', \"it's\", None, True, (1,), {'k': 'v'}]"},
    {"{{ 'a\\n\\t\\\\' }}|{{ ['a\\n\\u00e9\\x01'] }}", "a\n\t\\|['a\\n\xC3\xA9\\x01']"},
    {"{{ 1 if e else 2 }}{{ 1 if e }}{{ (e or 'x') and 'y' }}{{ not e }}", "2yTrue"},
    {"{{ s[0] }}{{ s[-1] }} {{ s[1:4] }} {{ s[::-1] }} {{ u[2:4] }} {{ u|length }} {{ l[5] }}",
     "Hd ell dlroW olleH \xC3\xBC\xC3\x9F 5 "},
    /* undefined */
    {"{{ nope }}{{ nope is defined }}{{ m[0].nope is undefined }}{{ nope|default('D') }}",
     "FalseTrueD"},
    {"{% for i in nope %}{{ i }}{% else %}none{% endfor %}{{ nope|length }}", "none0"},
    /* dictionaries: methods first with a dot, keys first with brackets */
    {"{{ d.a }} {{ d.get('zz', 7) }} {{ d.items()|list }} {{ d|dictsort }} {{ 'b' in d }}",
     "[True, None, 1.5] 7 [('b', 1), ('a', [True, None, 1.5])] [('a', [True, None, 1.5]), "
     "('b', 1)] True"},
    {"{{ d|tojson }} {{ x|tojson }}\n{{ d|tojson(indent=2) }}",
     "{\"b\": 1, \"a\": [true, null, 1.5]} \"<a>&'\\\"\"\n{\n  \"b\": 1,\n  \"a\": [\n    true,\n"
     "    null,\n    1.5\n  ]\n}"},
    /* filters and tests */
    {"{{ l|sort }} {{ l|sort(reverse=true) }} {{ l|max }} {{ l|sum }} {{ l|reverse|list }}",
     "[1, 2, 3] [3, 2, 1] 3 6 [2, 1, 3]"},
    {"{{ m|map(attribute='role')|join(', ') }} {{ m|selectattr('n', 'gt', 1)|list|length }}",
     "user, bot 1"},
    {"{{ m|sort(attribute='n')|map(attribute='role')|list }}{{ m|groupby('role')|length }}",
     "['bot', 'user']2"},
    {"{{ 'a b-c (d'|title }} {{ s|upper }} {{ s|replace('l', 'L', 2) }} {{ '%03d|%s'|format(7, "
     "'x') }}",
     "A B-C (D HELLO WORLD HeLLo World 007|x"},
    {"{{ 'a\nb\n\nc'|indent(2) }}", "a\n  b\n\n  c"},
    {"{{ x|e }} {{ ('<b>'|safe) + '<i>' }} {{ '<'|safe }}",
     "&lt;a&gt;&amp;&#39;&#34; <b>&lt;i&gt; <"},
    {"{{ '42'|int + 1 }} {{ 'x'|int(9) }} {{ '3.7'|int }} {{ 2.5|round|int }} {{ 2.675|round(2) }}",
     "43 9 3 2 2.67"},
    {"{{ 3 is odd }}{{ 4 is divisibleby 2 }}{{ 'a' is string }}{{ d is mapping }}{{ 3 is in l }}",
     "TrueTrueTrueTrueTrue"},
    {"{{ s.split() }} {{ 'a,b,,c'.split(',', 1) }} {{ ' x '.strip() }}|{{ s.title().swapcase() }}",
     "['Hello', 'World'] ['a', 'b,,c'] x|hELLO wORLD"},
    {"{{ '{} {1} {k!r:>5}'|replace('{1}', '') }}{{ '{0}-{k:>4}'.format(1, k='z') }}",
     "{}  {k!r:>5}1-   z"},
    {"{{ l|map('string')|reverse }} {{ l|reverse|reverse }} {{ l|slice(2)|reverse|length }} "
     "{{ l|reverse|list }}",
     "['2', '1', '3'] [3, 1, 2] 2 [2, 1, 3]"},
    /* scopes and loops */
    {"{% set a = 1 %}{% for i in l %}{% set a = i %}{% endfor %}{{ a }}", "1"},
    {"{% set ns = namespace(a=0) %}{% for i in l %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a }}",
     "6"},
    {"{% for i in l if i > 1 %}{{ loop.index }}/{{ loop.length }}{{ ',' if not loop.last }}{% "
     "endfor %}",
     "1/2,2/2"},
    {"{% for i in l %}{% if i == 1 %}{% continue %}{% endif %}{{ i }}{% endfor %}", "32"},
    {"{% for i in l %}{% break %}{% else %}all broken{% endfor %}", "all broken"},
    {"{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "b=1;a=[True, None, 1.5];"},
    {"{% for x in [[1, [2]], [3, []]] recursive %}{{ loop.depth }}:{{ x[0] }}{% endfor %}",
     "1:11:3"},
    {"{% macro f(a, b=2) %}{{ a }}{{ b }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, c=3) }}",
     "12(){'c': 3}"},
    {"{% macro w() %}[{{ caller('x') }}]{% endmacro %}{% call(v) w() %}in {{ v }}{% endcall %}",
     "[in x]"},
    {"{% set b %}a{{ n }}{% endset %}{{ b|upper }}{% filter upper %}x{% endfilter %}", "A5X"},
    {"{% with a = 1, b = n %}{{ a + b }}{% endwith %}{{ a }}", "6"},
    /* set later in the same scope: undefined until then, though the caller gave one */
    {"{% for i in l %}[{{ n }}]{% endfor %}{% set n = 1 %}{{ n }}", "[][][]1"},
    {"{{ n }}{% for i in l %}{{ n }}{% endfor %}{% set n = 1 %}{{ n }}", "55551"},
    /* a block sees what was set before it, else what the caller gave; it knows no other scope */
    {"{% block a %}{{ n }}{% endblock %}{% set n = 1 %}{% block b %}{{ n }}{% endblock %}", "51"},
    {"{% for i in l %}{% block a scoped %}{{ n }}{{ i }},{% endblock %}{% set n = 2 %}{% endfor %}",
     "53,51,52,"},
    {"{% set n = nope %}{% block a %}{{ n is defined }}{% endblock %}", "False"},
    {"{{ n }}{% block a %}{% for i in e %}{% else %}[{{ n }}]{% endfor %}{% set n = 1 %}{{ n }}"
     "{% endblock %}",
     "5[]1"},
    {"{% generation %}g{% endgeneration %}{% raw %}{{ x }}{% endraw %}{# c #}", "g{{ x }}"},
    /* white space */
    {"a\n  {%- if true %} b {% endif -%}\n c", "a b c"},
    {"  {% if true %}\n  x\n  {%+ endif +%}\ny\n", "  x\n  \ny"},
    {"{{ 9223372036854775807 + 1 }} {{ 2 ** 100 // 3 % 1000007 }} {{ -(7 ** 40) // 10 }}",
     "9223372036854775808 232878 -636680576090902798574143513922401"},
    {"{{ 18446744073709551616 == 2.0 ** 64 }} {{ (2 ** 70) / 3 }} {{ '{:,}'.format(2 ** 65) }}",
     "True 3.935305402391371e+20 36,893,488,147,419,103,232"},
    {"{{ '\u01c6 \u00df \ufb01 \u03a3\u0391\u03a3'.upper() }} {{ '\u03a3\u0391\u03a3'.lower() }} "
     "{{ '\ufb01'.title() }}",
     "\xC7\x84 SS FI \xCE\xA3\xCE\x91\xCE\xA3 \xCF\x83\xCE\xB1\xCF\x82 Fi"},
    {"{{ '\u2177 \u01c5 \u24b6'.swapcase() }} {{ 'A\uff0e\u03a3'.lower() }}",
     "\xE2\x85\xA7 \xC7\x85 \xE2\x93\x90 a\xEF\xBC\x8E\xCF\x82"},
    {"{{ '\u03a3\u0391\u03a3-\u03a3\u0391\u03a3&'|title }}",
     "\xCE\xA3\xCE\xB1\xCF\x82-\xCE\xA3\xCE\xB1\xCF\x82&"},
    {"{{ strftime_now('%Y-%m-%d %H:%M:%S %A %-d %b %j') }}",
     "2026-03-14 15:09:26 Saturday 14 Mar 073"},
};

static void test_texts(void **state) {
    (void)state;
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct power_buffer out;
        power_error error;
        power_status status = render(texts[i].text, NULL, &out, &error);
        const char *got = status == POWER_OK ? (out.bytes ? out.bytes : "") : error.message;
        if (status != POWER_OK || strcmp(got, texts[i].want) != 0) {
            print_message("  %s\n    got  %s\n    want %s\n", texts[i].text, got, texts[i].want);
            wrong++;
        }
        power_buffer_finish(&out);
    }
    assert_int_equal(wrong, 0);
}

static const struct {
    const char *text, *names; /* the message has it */
    power_status status;
} errors[] = {
    {"{% if %}", "line 1, column 7", POWER_INVALID},
    {"a\n{{ 1 + }}", "line 2, column 8", POWER_INVALID},
    {"{% for x in l %}", "endfor", POWER_INVALID},
    {"{{ x|nofilter }}", "nofilter", POWER_INVALID},
    {"{{ x is notest }}", "notest", POWER_INVALID},
    {"{% if true %}{{ x|nofilter }}{% endif %}", "nofilter", POWER_INVALID},
    {"{% include 'x' %}", "include", POWER_INVALID},
    {"{% break %}", "break", POWER_INVALID},
    {"{{ 'a }}", "unclosed string", POWER_INVALID},
    {"{# a", "unclosed comment", POWER_INVALID},
    {"{{ (1] }}", "bracket", POWER_INVALID},
    {"{% set true = 1 %}", "true", POWER_INVALID},
    {"{{ nope.more }}", "'nope' is undefined", POWER_INVALID},
    {"{{ m[0].nope.more }}", "'dict object' has no attribute 'nope'", POWER_INVALID},
    {"{{ nope() }}", "nope", POWER_INVALID},
    {"{{ 'a' + 1 }}", "can only concatenate str", POWER_INVALID},
    {"{{ 1 + 'a' }}", "unsupported operand", POWER_INVALID},
    {"{{ l.append(1) }}", "unsafe", POWER_INVALID},
    {"{{ ''.__class__.mro() }}", "unsafe", POWER_INVALID},
    {"{% set d.a = 1 %}", "non-namespace", POWER_INVALID},
    {"{{ 1 / 0 }}", "division by zero", POWER_INVALID},
    {"{{ 1 < 'a' }}", "'<' not supported", POWER_INVALID},
    {"{% for a, b in l %}{% endfor %}", "not iterable", POWER_INVALID},
    {"{{ 2 ** 20000 }}", "more than 16384 bits", POWER_LIMIT},
    {"{{ 10 ** 4500 }}", "more than 4300 digits", POWER_INVALID},
    {"{{ l | urlize }}", "urlize", POWER_UNSUPPORTED},
    {"{% autoescape true %}{% endautoescape %}", "autoescape", POWER_UNSUPPORTED},
    {"{{ self.x() }}", "self", POWER_UNSUPPORTED},
    {"{{ raise_exception('no tools') }}", "no tools", POWER_INVALID},
    {"{{ strftime_now('%Q') }}", "%Q", POWER_UNSUPPORTED},
    {"{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}", "not more than 1", POWER_INVALID},
};

static void test_errors(void **state) {
    (void)state;
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        struct power_buffer out;
        power_error error;
        power_status status = render(errors[i].text, NULL, &out, &error);
        if (status != errors[i].status || !strstr(error.message, errors[i].names) ||
            !strstr(error.message, "line ")) {
            print_message("  %s: status %d, %s\n", errors[i].text, status, error.message);
            wrong++;
        }
        assert_int_equal(out.length, 0);
        power_buffer_finish(&out);
    }
    assert_int_equal(wrong, 0);
}

static void test_limits(void **state) {
    (void)state;
    static const char *const endless[] = {
        "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}"
        "{% endfor %}",
        "{{ 'x' * 99999999999 }}",
        "{{ range(100001) }}",
        "{{ ('%9999s' * 9999) % (1,) }}",
    };
    for (size_t i = 0; i < sizeof endless / sizeof *endless; i++) {
        struct power_buffer out;
        power_error error;
        power_status status = render(endless[i], NULL, &out, &error);
        if (status != POWER_LIMIT && i != 5) fail_msg("%s: %d", endless[i], status);
        assert_true(status != POWER_OK);
        power_buffer_finish(&out);
    }
    struct power_template_limits limits = {.max_output_bytes = 10};
    struct power_buffer out;
    power_error error;
    assert_int_equal(render("{{ s }}", &limits, &out, &error), POWER_LIMIT);
    power_buffer_finish(&out);
    limits = (struct power_template_limits){.max_steps = 5};
    assert_int_equal(render("{{ 1 }}{{ 2 }}{{ 3 }}", &limits, &out, &error), POWER_LIMIT);
    power_buffer_finish(&out);
}

/* Deep nesting in every form is an error, not a stack overflow. */
static void test_deep(void **state) {
    (void)state;
    static const char *const units[][2] = {
        {"(", ")"},           {"[", "]"},  {"{1:", "}"}, {"-", ""},  {"not ", ""},
        {"1 if 1 else ", ""}, {"a[", "]"}, {"f(", ")"},  {"1+", ""}, {"(1 if 1 else ", ")"}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        struct power_buffer text, out;
        power_error error;
        power_buffer_init(&text, &power_default_allocator, (size_t)1 << 22);
        assert_true(power_buffer_append(&text, "{{ ", 3));
        for (int k = 0; k < 20000; k++)
            assert_true(power_buffer_append(&text, units[i][0], strlen(units[i][0])));
        assert_true(power_buffer_append(&text, "1", 1));
        for (int k = 0; k < 20000; k++)
            assert_true(power_buffer_append(&text, units[i][1], strlen(units[i][1])));
        assert_true(power_buffer_append(&text, " }}", 3));
        assert_int_equal(render(text.bytes, NULL, &out, &error), POWER_INVALID);
        power_buffer_finish(&text);
        power_buffer_finish(&out);
    }
    char nested[6000] = "";
    for (int k = 0; k < 600; k++)
        strcat(nested, "{%if 1%}");
    struct power_buffer out;
    power_error error;
    assert_int_equal(render(nested, NULL, &out, &error), POWER_INVALID);
    power_buffer_finish(&out);
}

/* A chain of elifs does not nest, however long it is. */
static void test_long_chain(void **state) {
    struct power_buffer text, out;
    power_error error;
    (void)state;
    power_buffer_init(&text, &power_default_allocator, (size_t)1 << 23);
    assert_true(power_buffer_append(&text, "{% if 0 %}", 10));
    for (int k = 0; k < 300000; k++)
        assert_true(power_buffer_append(&text, "{% elif 0 %}", 12));
    assert_true(power_buffer_append(&text, "{% else %}end{% endif %}", 24));
    assert_int_equal(render(text.bytes, NULL, &out, &error), POWER_OK);
    assert_string_equal(out.bytes, "end");
    power_buffer_finish(&text);
    power_buffer_finish(&out);
}

/* Names are looked through one by one: many in one scope are refused, not waited for. */
static void test_many_names(void **state) {
    (void)state;
    for (int n = 1000; n <= 100000; n *= 100) {
        struct power_buffer text, out;
        power_error error;
        char name[32];
        power_buffer_init(&text, &power_default_allocator, (size_t)1 << 22);
        for (int k = 0; k < n; k++) {
            int length = snprintf(name, sizeof name, "{{ a%d }}", k);
            assert_true(power_buffer_append(&text, name, (size_t)length));
        }
        assert_int_equal(render(text.bytes, NULL, &out, &error),
                         n == 1000 ? POWER_OK : POWER_LIMIT);
        power_buffer_finish(&text);
        power_buffer_finish(&out);
    }
}

/* The slowest search there is takes steps as it takes time. */
static void test_long_search(void **state) {
    struct power_buffer out;
    power_error error;
    (void)state;
    assert_int_equal(render("{{ ('a' * 2000000).rfind('b' ~ 'a' * 500000) }}", NULL, &out, &error),
                     POWER_LIMIT);
    power_buffer_finish(&out);
    assert_int_equal(render("{{ ('ab' * 2000).rfind('ba') }}", NULL, &out, &error), POWER_OK);
    assert_string_equal(out.bytes, "3997");
    power_buffer_finish(&out);
}

/* Lists that share parts: each turn doubles the items that a comparison meets. */
static void test_shared_parts(void **state) {
    (void)state;
    static const char *const ends[] = {"{{ ns.a == ns.b }}",
                                       "{{ ns.a in [ns.b] }}",
                                       "{{ [ns.b].count(ns.a) }}",
                                       "{{ ns.a is eq ns.b }}",
                                       "{{ {'k': ns.a} == {'k': ns.b} }}",
                                       "{{ [ns.a, ns.b]|sort }}",
                                       "{{ [ns.a, ns.b]|unique|list }}"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char text[400];
        bool tuples = strstr(ends[i], "unique") != NULL;
        snprintf(text, sizeof text,
                 "{%% set ns = namespace(a=%s, b=%s) %%}{%% for i in range(60) %%}"
                 "{%% set ns.a = %s %%}{%% set ns.b = %s %%}{%% endfor %%}%s",
                 tuples ? "()" : "[]", tuples ? "()" : "[]",
                 tuples ? "(ns.a, ns.a)" : "[ns.a, ns.a]", tuples ? "(ns.b, ns.b)" : "[ns.b, ns.b]",
                 ends[i]);
        struct power_buffer out;
        power_error error;
        power_status status = render(text, NULL, &out, &error);
        power_buffer_finish(&out);
        if (status != POWER_LIMIT || !strstr(error.message, "too many steps"))
            fail_msg("%s: %d, %s", ends[i], status, error.message);
    }
}

/* Work on long texts in a loop ends with the steps, however small the pieces are. */
static void test_long_texts(void **state) {
    (void)state;
    static const char *const works[] = {"s|upper", "s.swapcase()", "s.title()", "s|sort|first"};
    for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
        char text[200];
        snprintf(text, sizeof text,
                 "{%% set s = 'ab' * 100000 %%}{%% for i in range(100000) %%}{%% set x = %s %%}"
                 "{%% endfor %%}",
                 works[i]);
        struct power_template_limits limits = {.max_steps = 100000};
        struct power_buffer out;
        power_error error;
        power_status status = render(text, &limits, &out, &error);
        power_buffer_finish(&out);
        if (status != POWER_LIMIT || !strstr(error.message, "too many steps"))
            fail_msg("%s: %d, %s", works[i], status, error.message);
    }
}

/* One long word, or a run of dashes: the work once grew with the square of the length. */
static void test_long_words(void **state) {
    (void)state;
    static const char text[] = "{{ ('a' * 300000)|wordwrap(5)|length }} "
                               "{{ ('a' ~ '-' * 300000)|wordwrap(50)|length }} "
                               "{{ ('-' * 300000 ~ ' ')|wordwrap(50)|length }}";
    struct power_buffer out;
    power_error error;
    clock_t start = clock();
    if (render(text, NULL, &out, &error)) fail_msg("%s", error.message);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    assert_string_equal(out.bytes, "359999 306001 305999");
    power_buffer_finish(&out);
    if (seconds > 2) fail_msg("%.3f s", seconds);
}

#define N_KEYS 30000u

/* The word of eight bytes that an earlier version, without a secret, gave this hash. */
static uint64_t old_word(uint64_t hash) {
    const uint64_t factors[] = {0xD6E8FEB86659FD93u, 0x9E3779B97F4A7C15u};
    uint64_t inverse[2];
    for (size_t k = 0; k < 2; k++) {
        inverse[k] = factors[k];
        for (int i = 0; i < 6; i++)
            inverse[k] *= 2 - factors[k] * inverse[k];
    }
    for (int turn = 0; turn < 2; turn++) {
        if (turn == 1) hash *= inverse[1];
        hash ^= hash >> 32;
        hash *= inverse[0];
        hash ^= hash >> 32;
    }
    return hash ^ 0xCBF29CE484222325u ^ 8;
}

/* {"key": 1, ...}: keys of eight bytes; crafted ones shared the low half of their hash. */
static char *json_of_keys(bool crafted) {
    size_t n = 0;
    char *json = malloc((size_t)N_KEYS * 64 + 64);
    assert_non_null(json);
    json[n++] = '{';
    uint32_t made = 0;
    for (uint64_t high = 1; made < N_KEYS; high++) {
        uint64_t word = crafted ? old_word(high << 32 | 77)
                                : (high * 0x9E3779B97F4A7C15u) & 0x7F7F7F7F7F7F7F7Fu;
        if (word & 0x8080808080808080u) continue;
        n += (size_t)sprintf(json + n, "%s\"", made++ ? ", " : "");
        for (int i = 0; i < 8; i++)
            n += (size_t)sprintf(json + n, "\\u%04x", (unsigned)(word >> 8 * i & 0xFF));
        n += (size_t)sprintf(json + n, "\": 1");
    }
    memcpy(json + n, "}", 2);
    return json;
}

static double seconds_to_read(bool crafted) {
    struct power_template *t = NULL;
    struct power_buffer out;
    power_error error = {0};
    char *json = json_of_keys(crafted);
    power_buffer_init(&out, &power_default_allocator, 1000);
    assert_int_equal(power_template_compile(&power_default_allocator, POWER_TEXT("x"), &t, &error),
                     POWER_OK);
    clock_t start = clock();
    if (power_template_render(t, power_text_of(json), 0, NULL, &out, &error))
        fail_msg("%s", error.message);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    power_template_destroy(t);
    power_buffer_finish(&out);
    free(json);
    return seconds;
}

/* A request whose keys would all meet in one place of the table. */
static void test_colliding_keys(void **state) {
    (void)state;
    double plain = seconds_to_read(false), crafted = seconds_to_read(true);
    if (crafted > 5 * plain + 0.1) fail_msg("%.3f s, crafted %.3f s", plain, crafted);
}

static void test_variables(void **state) {
    (void)state;
    static const struct {
        const char *json, *names;
    } cases[] = {{"[1]", "object"},
                 {"{\"a\": }", "variables"},
                 {"{\"a\": 1e}", "bad number"},
                 {"{\"a\": \"\xFF\"}", "UTF-8"},
                 {" ", "end"}};
    struct power_template *t = NULL;
    power_error error = {0};
    assert_int_equal(
        power_template_compile(&power_default_allocator, POWER_TEXT("{{ a }}"), &t, &error),
        POWER_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct power_buffer out;
        error = (power_error){0};
        power_buffer_init(&out, &power_default_allocator, 100);
        assert_true(power_template_render(t, power_text_of(cases[i].json), 0, NULL, &out, &error) !=
                    POWER_OK);
        if (!strstr(error.message, cases[i].names))
            fail_msg("%s: %s", cases[i].json, error.message);
        power_buffer_finish(&out);
    }
    power_template_destroy(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),          cmocka_unit_test(test_errors),
        cmocka_unit_test(test_limits),         cmocka_unit_test(test_deep),
        cmocka_unit_test(test_variables),      cmocka_unit_test(test_long_chain),
        cmocka_unit_test(test_many_names),     cmocka_unit_test(test_long_search),
        cmocka_unit_test(test_shared_parts),   cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_colliding_keys), cmocka_unit_test(test_long_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
