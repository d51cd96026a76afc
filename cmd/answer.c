/* SPDX-License-Identifier: MIT */
/* Answers taken apart for the commands: what is said, what was thought, which tools are called.
 * Input: deltas. Output: text on stdout, reasoning dimmed on a terminal's stderr, calls as JSON.
 * Owning thread: main. Bounds: the answer's length. */
#include "answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void add_tool_args(struct arg_table *table, struct tool_args *t) {
    const struct arg list[] = {
        {ARG_GROUP, NULL, 0, NULL, "tools", NULL, 0, 0},
        {ARG_TEXT, "tools", 0, "FILE",
         "functions that the model may call: a JSON array as in OpenAI's API; calls are printed as "
         "lines of JSON",
         &t->tools, 0, 0},
        {ARG_TEXT, "tool-choice", 0, "HOW",
         "auto, required, or a function's name; the last two force a valid call, auto holds calls "
         "to their schemas where a function is \"strict\" (default: auto)",
         &t->choice, 0, 0},
        {ARG_FLAG, "parallel-calls", 0, NULL, "a forced answer may hold more than one call",
         &t->parallel, 0, 0},
        {ARG_TEXT, "answer-format", 0, "NAME",
         "how the model writes calls: a name that power doctor lists; NAME+think: after reasoning "
         "(default: by the chat template)",
         &t->format, 0, 0}};
    args_extend(table, list, sizeof list / sizeof list[0]);
}

int check_tool_args(const char *command, const struct tool_args *t, bool constrained, bool raw) {
    bool forced = t->choice && strcmp(t->choice, "auto") != 0;
    const char *wrong = NULL;
    if (!t->tools && (t->choice || t->parallel || t->format))
        wrong = "--tool-choice, --parallel-calls and --answer-format belong to --tools";
    else if (t->tools && raw)
        wrong = "--tools needs a chat template: it excludes --raw";
    else if (forced && constrained)
        wrong = "--tool-choice excludes other constraints";
    else if (t->parallel && !forced)
        wrong = "--parallel-calls belongs to --tool-choice required or a function's name";
    if (!wrong) return -1;
    fail_text(command, "%s", wrong);
    return EXIT_USAGE;
}

int read_tools(const char *command, const struct tool_args *t, char **out_json) {
    size_t bytes = 0;
    int rc = read_text(command, t->tools, out_json, &bytes);
    if (rc >= 0) return rc;
    if (strlen(*out_json) == bytes) return -1;
    return fail_text(command, "%s: holds a NUL byte", t->tools);
}

/* OpenAI's "strict": true, in a function or beside it: its arguments shall obey its schema. */
static bool any_strict(const char *tools_json) {
    json_t *tools = json_loads(tools_json, 0, NULL);
    bool found = false;
    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *tool = json_array_get(tools, i);
        found = found || json_is_true(json_object_get(tool, "strict")) ||
                json_is_true(json_object_get(json_object_get(tool, "function"), "strict"));
    }
    json_decref(tools);
    return found;
}

int open_tools(const char *command, const struct tool_args *t, const char *tools_json,
               power_model *model, power_constraint **out) {
    power_error error = {.offset = POWER_NO_OFFSET};
    power_tools_options options;
    bool automatic = !t->choice || !strcmp(t->choice, "auto");
    if (automatic && !any_strict(tools_json)) return -1;
    if (*out)
        return fail_text(
            command, "%s: \"strict\" excludes --schema, --grammar, --regex and --choice", t->tools);
    power_tools_options_init(&options);
    bool required = t->choice && !strcmp(t->choice, "required");
    options.tools_json = tools_json;
    options.choice = automatic  ? POWER_TOOL_CHOICE_AUTO
                     : required ? POWER_TOOL_CHOICE_REQUIRED
                                : POWER_TOOL_CHOICE_NAMED;
    options.name = automatic || required ? NULL : t->choice;
    options.parallel = automatic || t->parallel;
    options.format = t->format;
    if (!power_tools_constraint_open(model, &options, out, &error)) return -1;
    return fail_text(command, "%s: %s", t->tools, error.message);
}

static char *messages_of(const power_message *messages, size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(
            list, json_pack("{s:s,s:s}", "role", messages[i].role, "content", messages[i].content));
    char *text = json_array_size(list) == count ? json_dumps(list, 0) : NULL;
    json_decref(list);
    return text;
}

int render_tools(const char *command, const power_model *model, const power_message *messages,
                 size_t count, const char *tools_json, char **out, uint32_t **out_ids,
                 size_t *out_count) {
    power_error error = {.offset = POWER_NO_OFFSET};
    power_render_options options;
    size_t bytes = 0;
    power_render_options_init(&options);
    char *list = messages_of(messages, count);
    if (!list) return fail_text(command, "a message is not UTF-8, or there is no memory");
    options.messages_json = list;
    options.tools_json = tools_json;
    *out = NULL;
    *out_ids = NULL;
    power_status status = power_render_chat(model, &options, NULL, 0, &bytes, &error);
    if (status == POWER_LIMIT && bytes) *out = malloc(bytes + 1);
    if (*out) status = power_render_chat(model, &options, *out, bytes + 1, &bytes, &error);
    if (status == POWER_OK)
        status = power_render_tokens(model, &options, NULL, 0, out_count, &error);
    if (status == POWER_LIMIT && *out && *out_count)
        *out_ids = malloc(*out_count * sizeof **out_ids);
    if (*out_ids)
        status = power_render_tokens(model, &options, *out_ids, *out_count, out_count, &error);
    free(list);
    if (*out_ids && status == POWER_OK) return -1;
    free(*out);
    *out = NULL;
    return status == POWER_OK ? fail_text(command, "out of memory for the prompt")
                              : fail_with(command, &error);
}

/* ---- the answer ---- */

static bool append(char **text, size_t *length, size_t *capacity, const char *more, size_t n) {
    if (*length + n + 1 > *capacity) {
        size_t wanted = 2 * (*length + n) + 4096;
        char *bigger = realloc(*text, wanted);
        if (!bigger) return false;
        *text = bigger;
        *capacity = wanted;
    }
    memcpy(*text + *length, more, n);
    *length += n;
    (*text)[*length] = 0;
    return true;
}

static bool say(struct spoken *s, const power_answer_event *event) {
    if (!append(&s->text, &s->text_bytes, &s->text_capacity, event->text, event->text_bytes))
        return false;
    return !s->stream || write_out(event->text, event->text_bytes);
}

static bool think(struct spoken *s, const power_answer_event *event) {
    if (s->stream && isatty(STDERR_FILENO)) {
        bool dim = use_colour();
        fprintf(stderr, "%s%.*s%s", dim ? "\033[2m" : "", (int)event->text_bytes, event->text,
                dim ? "\033[0m" : "");
    }
    return append(&s->thoughts, &s->thoughts_bytes, &s->thoughts_capacity, event->text,
                  event->text_bytes);
}

/* JSON without the white space between its parts: digits and order as the model wrote them. */
static size_t pack_json(char *text, size_t n) {
    bool inside = false;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        if (!inside && strchr(" \t\r\n", c)) continue;
        text[kept++] = c;
        if (c == '"') inside = !inside;
        if (c == '\\' && inside && i + 1 < n) text[kept++] = text[++i];
    }
    return kept;
}

static bool print_call(struct spoken *s, const power_answer_event *event) {
    char *name =
        json_dumps(json_object_get(json_array_get(s->calls, json_array_size(s->calls) - 1), "name"),
                   JSON_ENCODE_ANY);
    json_t *id = event->id_bytes ? json_text(event->id, event->id_bytes) : NULL;
    char *id_text = id ? json_dumps(id, JSON_ENCODE_ANY) : NULL;
    size_t n = pack_json(s->arguments, s->arguments_bytes);
    bool ok = name && (!id || id_text) && (s->text_bytes == s->shown || write_out("\n", 1)) &&
              buffer_out("{\"name\":", 8) && buffer_out(name, strlen(name)) &&
              buffer_out(",\"arguments\":", 13) && buffer_out(s->arguments, n);
    if (ok && id_text) ok = buffer_out(",\"id\":", 6) && buffer_out(id_text, strlen(id_text));
    s->shown = s->text_bytes;
    free(name);
    free(id_text);
    json_decref(id);
    return ok && write_out("}\n", 2);
}

/* Arguments with a key twice, or with numbers that no JSON library's types hold, stay text. */
static bool end_call(struct spoken *s, const power_answer_event *event) {
    if (!s->arguments) return false;
    json_t *arguments = json_loadb(s->arguments, s->arguments_bytes, JSON_REJECT_DUPLICATES, NULL);
    json_t *call =
        json_pack("{s:o,s:o}", "name", json_text(s->name ? s->name : "", s->name_bytes),
                  "arguments", arguments ? arguments : json_text(s->arguments, s->arguments_bytes));
    if (event->id_bytes) json_object_set_new(call, "id", json_text(event->id, event->id_bytes));
    if (json_array_append_new(s->calls, call)) return false;
    return !s->stream || print_call(s, event);
}

static int on_event(void *context, const power_answer_event *event) {
    struct spoken *s = context;
    bool ok = true;
    switch (event->kind) {
    case POWER_ANSWER_TEXT:
        ok = say(s, event);
        break;
    case POWER_ANSWER_REASONING:
        ok = think(s, event);
        break;
    case POWER_ANSWER_CALL:
        s->name_bytes = s->arguments_bytes = 0;
        ok = append(&s->name, &s->name_bytes, &s->name_capacity, event->text, event->text_bytes);
        break;
    case POWER_ANSWER_ARGUMENTS:
        ok = append(&s->arguments, &s->arguments_bytes, &s->arguments_capacity, event->text,
                    event->text_bytes);
        break;
    case POWER_ANSWER_CALL_END:
        ok = end_call(s, event);
        break;
    case POWER_ANSWER_MALFORMED:
        break; /* its text comes as text */
    }
    return !ok;
}

int spoken_open(const char *command, struct spoken *s, power_model *model, const char *tools_json,
                const char *format, const char *prompt, bool stream) {
    power_error error = {.offset = POWER_NO_OFFSET};
    power_answer_options options;
    *s = (struct spoken){.stream = stream, .calls = json_array()};
    power_answer_options_init(&options);
    options.tools_json = tools_json;
    options.format = format;
    options.prompt = prompt;
    options.on_event = on_event;
    options.context = s;
    return power_answer_open(model, &options, &s->answer, &error) ? fail_with(command, &error) : -1;
}

bool spoken_push(struct spoken *s, const power_delta *delta) {
    power_error ignored;
    return power_answer_push(s->answer, delta, &ignored) == POWER_OK;
}

bool spoken_finish(struct spoken *s, bool cut) {
    power_error ignored;
    bool ok = power_answer_finish(s->answer, cut, &ignored) == POWER_OK;
    if (s->stream && s->thoughts_bytes && isatty(STDERR_FILENO) && !s->text_bytes)
        fputc('\n', stderr);
    return ok;
}

void spoken_close(struct spoken *s) {
    power_answer_close(s->answer);
    json_decref(s->calls);
    free(s->text);
    free(s->thoughts);
    free(s->name);
    free(s->arguments);
    *s = (struct spoken){0};
}
