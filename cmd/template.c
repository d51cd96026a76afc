/* SPDX-License-Identifier: MIT */
/* `power template`: renders messages by a chat template.
 * Input: a template file or a model, messages as JSON. Output: the text, or JSON with its ids.
 * Threads: main. Bounds: files of at most TEXT_MAX bytes; the template's budgets. */
#include "common.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static const char name[] = "template";

struct template {
    struct opened o;
    power_render_options options;
    struct arg_list sets;
    const char *messages, *tools, *now;
    int json, plain_prompt, go_on;
    char *text, *messages_text, *tools_text, *variables;
};

/* ---- options ---- */

static int two(const char *at) {
    if (at[0] < '0' || at[0] > '9' || at[1] < '0' || at[1] > '9') return -1;
    return (at[0] - '0') * 10 + at[1] - '0';
}

/* Days since 1970-01-01 of a day of the Gregorian calendar. */
static int64_t days_of(int64_t year, int month, int day) {
    int64_t y = year - (month <= 2), era = y / 400, yoe = y - era * 400;
    int64_t doy = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

/* YYYY-MM-DD, with THH:MM:SS and a Z behind it or not; UTC. */
static bool read_time(const char *text, int64_t *out) {
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    size_t n = strlen(text);
    if (n == 20 && text[19] == 'Z') n = 19;
    if ((n != 10 && n != 19) || text[4] != '-' || text[7] != '-') return false;
    int high = two(text), low = two(text + 2), month = two(text + 5), day = two(text + 8);
    int hour = 0, minute = 0, second = 0;
    if (n == 19) {
        if ((text[10] != 'T' && text[10] != ' ') || text[13] != ':' || text[16] != ':')
            return false;
        hour = two(text + 11);
        minute = two(text + 14);
        second = two(text + 17);
    }
    int64_t year = (int64_t)high * 100 + low;
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (high < 0 || low < 0 || month < 1 || month > 12 || day < 1 ||
        day > lengths[month - 1] + (month == 2 && leap) || hour < 0 || hour > 23 || minute < 0 ||
        minute > 59 || second < 0 || second > 59)
        return false;
    *out = days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
    return true;
}

/* Whether another option says what a variable is. */
static bool is_given(const struct template *t, const char *key) {
    if (!strcmp(key, "messages")) return t->messages != NULL;
    if (!strcmp(key, "tools")) return t->tools != NULL;
    return !strcmp(key, "add_generation_prompt") && (t->plain_prompt || t->go_on);
}

/* NAME=JSON, ...: one JSON object as text. What is no JSON is refused. */
static int read_sets(struct template *t) {
    json_t *all = json_object();
    for (size_t i = 0; all && i < t->sets.count; i++) {
        const char *item = t->sets.items[i], *equals = strchr(item, '=');
        json_error_t where;
        json_t *value = equals ? json_loads(equals + 1, JSON_DECODE_ANY, &where) : NULL;
        char key[128];
        if (!equals || equals == item || equals - item >= (int)sizeof key || !value) {
            json_decref(value);
            json_decref(all);
            return fail_text(name, "--set \"%s\": NAME=JSON is wanted",
                             power_quote(item, strlen(item)).text),
                   EXIT_USAGE;
        }
        snprintf(key, sizeof key, "%.*s", (int)(equals - item), item);
        const char *wrong = json_object_get(all, key)          ? "was given before"
                            : is_given(t, key)                 ? "is given by another option"
                            : json_object_set(all, key, value) ? "is not UTF-8"
                                                               : NULL;
        json_decref(value);
        if (!wrong) continue;
        fail_text(name, "--set \"%s\": the name %s", power_quote(item, strlen(item)).text, wrong);
        json_decref(all);
        return EXIT_USAGE;
    }
    t->variables = all && t->sets.count ? json_dumps(all, 0) : NULL;
    json_decref(all);
    t->options.variables_json = t->variables;
    return -1;
}

static int read_json(const char *path, const char *what, char **out) {
    size_t bytes;
    int rc = read_text(name, path, out, &bytes);
    if (rc < 0 && memchr(*out, 0, bytes)) rc = fail_text(name, "%s hold a NUL byte", what);
    if (rc < 0 && bytes == 0) rc = fail_text(name, "%s: \"%s\" is empty", what, path);
    return rc;
}

/* A GGUF or SafeTensors artifact, or else the text of a template. A pipe is not looked into: what
 * is read of it is gone. */
static bool is_model(const char *path) {
    char head[8] = "";
    struct stat about;
    if (stat(path, &about) || !(S_ISREG(about.st_mode) || S_ISDIR(about.st_mode))) return false;
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    size_t n = fread(head, 1, sizeof head, file);
    bool folder = n == 0 && ferror(file);
    fclose(file);
    size_t length = strlen(path);
    return folder || (n >= 4 && memcmp(head, "GGUF", 4) == 0) ||
           (length > 12 && strcmp(path + length - 12, ".safetensors") == 0);
}

/* ---- output ---- */

static int render(struct template *t, char **out, size_t *out_bytes) {
    power_error error = {.offset = POWER_NO_OFFSET};
    size_t capacity = 0;
    *out = NULL;
    for (;;) {
        *out_bytes = SIZE_MAX; /* stays where a budget is used up */
        power_status status =
            power_render_chat(t->o.model, &t->options, *out, capacity, out_bytes, &error);
        if (status == POWER_OK) return -1;
        if (status != POWER_LIMIT || *out_bytes == SIZE_MAX || *out) {
            free(*out);
            *out = NULL;
            return fail_with(name, &error);
        }
        capacity = *out_bytes + 1;
        *out = malloc(capacity);
        if (!*out) return fail_text(name, "out of memory for the text");
    }
}

static int print_json_form(struct template *t, const char *text, size_t bytes) {
    json_t *list = NULL;
    if (t->o.model) {
        power_error error = {.offset = POWER_NO_OFFSET};
        size_t count = 0;
        uint32_t *ids = NULL;
        power_status status = power_render_tokens(t->o.model, &t->options, NULL, 0, &count, &error);
        if (status == POWER_LIMIT && count) {
            ids = malloc(count * sizeof *ids);
            if (!ids) return fail_text(name, "out of memory for %zu ids", count);
            status = power_render_tokens(t->o.model, &t->options, ids, count, &count, &error);
        }
        list = json_array();
        for (size_t i = 0; status == POWER_OK && i < count; i++)
            json_array_append_new(list, json_integer((json_int_t)ids[i]));
        free(ids);
        if (status != POWER_OK) return json_decref(list), fail_with(name, &error);
    }
    json_t *all = json_pack("{s:o}", "text", json_text(text, bytes));
    if (list) json_object_set_new(all, "ids", list);
    return print_json(name, all);
}

static int print(struct template *t) {
    char *text = NULL;
    size_t bytes = 0;
    int rc = render(t, &text, &bytes);
    if (rc >= 0) return rc;
    rc = EXIT_OK;
    if (t->json)
        rc = print_json_form(t, text, bytes);
    else if (!write_out(text, bytes))
        rc = write_failed(name);
    free(text);
    return rc;
}

static int open_all(struct template *t, const char *path) {
    struct model_args m;
    size_t bytes;
    model_args_init(&m);
    if (t->now && !read_time(t->now, &t->options.now_unix_s))
        return fail_text(name, "--now \"%.40s\": YYYY-MM-DD or YYYY-MM-DDTHH:MM:SS is wanted",
                         t->now),
               EXIT_USAGE;
    if (!t->now) t->options.now_unix_s = (int64_t)time(NULL); /* one time for text and ids */
    t->options.has_now = 1;
    t->options.no_generation_prompt = t->plain_prompt;
    t->options.continue_final_message = t->go_on;
    int rc = read_sets(t);
    if (rc < 0 && t->messages) rc = read_json(t->messages, "the messages", &t->messages_text);
    if (rc < 0 && t->tools) rc = read_json(t->tools, "the tools", &t->tools_text);
    if (rc >= 0) return rc;
    t->options.messages_json = t->messages_text;
    t->options.tools_json = t->tools_text;
    if (is_model(path)) return open_model(name, &m, path, true, &t->o);
    rc = read_text(name, path, &t->text, &bytes);
    if (rc < 0 && memchr(t->text, 0, bytes)) rc = fail_text(name, "the template holds a NUL byte");
    t->options.template_text = t->text;
    return rc;
}

int command_template(int argc, char **argv) {
    static const struct command command = {
        "template",
        "FILE|MODEL --messages FILE",
        "Renders messages by a chat template: a file's, or one of a model.",
        "power template model.gguf --messages chat.json --set enable_thinking=false",
        1,
        1};
    struct template t = {0};
    power_render_options_init(&t.options);
    const struct arg args[] = {
        {ARG_TEXT, "messages", 'm', "FILE", "messages as a JSON array (- is stdin)", &t.messages, 0,
         0},
        {ARG_TEXT, "tools", 0, "FILE", "tools as a JSON array (default: none)", &t.tools, 0, 0},
        {ARG_LIST, "set", 0, "NAME=JSON", "one more variable; may be given several times", &t.sets,
         0, 0},
        {ARG_FLAG, "no-generation-prompt", 0, NULL, "do not open an answer", &t.plain_prompt, 0, 0},
        {ARG_FLAG, "continue", 0, NULL, "end where the last message's content ends", &t.go_on, 0,
         0},
        {ARG_TEXT, "name", 0, "NAME",
         "the model's template of this name (default: tool_use with tools, else default)",
         &t.options.template_name, 0, 0},
        {ARG_TEXT, "now", 0, "TIME",
         "the template's clock, UTC: YYYY-MM-DD or YYYY-MM-DDTHH:MM:SS (default: the machine's)",
         &t.now, 0, 0},
        {ARG_FLAG, "json", 0, NULL, "print JSON; with a model, the ids too", &t.json, 0, 0},
        {ARG_END, NULL, 0, NULL, NULL, NULL, 0, 0}};
    const char *positionals[1];
    size_t count = 0;
    int rc = args_parse(&command, args, argc, argv, positionals, &count);
    if (rc >= 0) return rc;
    if (!t.messages && !t.sets.count) return fail_text(name, "--messages is missing"), EXIT_USAGE;
    if ((t.messages && !strcmp(t.messages, "-")) + (t.tools && !strcmp(t.tools, "-")) +
            !strcmp(positionals[0], "-") >
        1)
        return fail_text(name, "only one of the files can be stdin"), EXIT_USAGE;
    rc = open_all(&t, positionals[0]);
    if (rc < 0 && t.options.template_name && !t.o.model)
        rc = (fail_text(name, "--name is for a model's templates"), EXIT_USAGE);
    if (rc < 0) rc = print(&t);
    close_all(&t.o);
    free(t.text);
    free(t.messages_text);
    free(t.tools_text);
    free(t.variables);
    return rc;
}
