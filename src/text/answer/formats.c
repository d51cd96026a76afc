/* SPDX-License-Identifier: MIT */
/* Job: the formats in which models write reasoning and calls; which of them a template asks for.
 * Input: a template's text, or a name. Output: static descriptions.
 * Threads: any. Bounds: one pass over the template for each row of the two tables. */
#include "text/answer/internal.h"

/* What is not said is NULL and means the same as "". */
static const struct power_answer_calls calls[] = {
    {.name = "harmony",
     .shape = ANSWER_HARMONY,
     .call_open = "<|channel|>",
     .prefix = "functions."},
    {.name = "mcp",
     .shape = ANSWER_NAMED,
     .flags = ANSWER_WORD,
     .section_open = "<use_mcp_tool>",
     .section_close = "</use_mcp_tool>",
     .call_open = "<server_name>",
     .skip = "<tool_name>",
     .before_name = "</server_name>\n",
     .name_end = "</tool_name>",
     .args_open = "<arguments>",
     .args_close = "</arguments>",
     .space = "\n"},
    {.name = "deepseek-v3.2",
     .shape = ANSWER_XML,
     .flags = ANSWER_TYPED,
     .section_open = "<｜DSML｜function_calls>",
     .section_close = "</｜DSML｜function_calls>",
     .call_open = "<｜DSML｜invoke name=\"",
     .name_end = "\">",
     .param_open = "<｜DSML｜parameter name=\"",
     .key_end = "\"",
     .value_open = " string=\"true\">",
     .value_else = " string=\"false\">",
     .value_end = "</｜DSML｜parameter>",
     .call_close = "</｜DSML｜invoke>",
     .space = "\n"},
    {.name = "deepseek",
     .shape = ANSWER_NAMED,
     .flags = ANSWER_LONE,
     .section_open = "<｜tool▁calls▁begin｜>",
     .section_close = "<｜tool▁calls▁end｜>",
     .call_open = "<｜tool▁call▁begin｜>",
     .skip = "<｜tool▁sep｜>",
     .before_name = "function",
     .args_open = "```json",
     .args_close = "```",
     .call_close = "<｜tool▁call▁end｜>",
     .space = "\n"},
    {.name = "deepseek-v3.1",
     .shape = ANSWER_NAMED,
     .flags = ANSWER_LONE,
     .section_open = "<｜tool▁calls▁begin｜>",
     .section_close = "<｜tool▁calls▁end｜>",
     .call_open = "<｜tool▁call▁begin｜>",
     .name_end = "<｜tool▁sep｜>",
     .call_close = "<｜tool▁call▁end｜>"},
    {.name = "kimi",
     .shape = ANSWER_NAMED,
     .flags = ANSWER_LONE | ANSWER_INSIDE | ANSWER_NUMBER,
     .section_open = "<|tool_calls_section_begin|>",
     .section_close = "<|tool_calls_section_end|>",
     .call_open = "<|tool_call_begin|>",
     .prefix = "functions.",
     .name_end = "<|tool_call_argument_begin|>",
     .call_close = "<|tool_call_end|>"},
    {.name = "mistral",
     .shape = ANSWER_NAMED,
     .call_open = "[TOOL_CALLS]",
     .name_end = "[ARGS]",
     .id_mark = "[CALL_ID]"},
    {.name = "mistral-json",
     .shape = ANSWER_OBJECT,
     .flags = ANSWER_ARRAY,
     .call_open = "[TOOL_CALLS]"},
    {.name = "command-r",
     .shape = ANSWER_OBJECT,
     .flags = ANSWER_ARRAY,
     .call_open = "<|START_ACTION|>",
     .call_close = "<|END_ACTION|>",
     .id_key = "tool_call_id",
     .name_key = "tool_name",
     .args_key = "parameters",
     .drop = {"<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"}},
    {.name = "apertus",
     .shape = ANSWER_KEYED,
     .flags = ANSWER_ARRAY | ANSWER_INSIDE,
     .call_open = "<|tools_prefix|>",
     .call_close = "<|tools_suffix|>"},
    {.name = "gemma",
     .shape = ANSWER_GEMMA,
     .call_open = "<|tool_call>call:",
     .call_close = "<tool_call|>",
     .quote = "<|\"|>"},
    {.name = "function-gemma",
     .shape = ANSWER_GEMMA,
     .call_open = "<start_function_call>call:",
     .call_close = "<end_function_call>",
     .quote = "<escape>"},
    {.name = "minimax",
     .shape = ANSWER_XML,
     .section_open = "<minimax:tool_call>",
     .section_close = "</minimax:tool_call>",
     .call_open = "<invoke name=\"",
     .name_end = "\">",
     .param_open = "<parameter name=\"",
     .key_end = "\">",
     .value_end = "</parameter>",
     .call_close = "</invoke>",
     .space = "\n"},
    {.name = "seed",
     .shape = ANSWER_XML,
     .section_open = "<seed:tool_call>",
     .section_close = "</seed:tool_call>",
     .call_open = "<function=",
     .name_end = ">",
     .param_open = "<parameter=",
     .key_end = ">",
     .value_end = "</parameter>",
     .call_close = "</function>",
     .space = "\n"},
    {.name = "glm",
     .shape = ANSWER_XML,
     .call_open = "<tool_call>",
     .param_open = "<arg_key>",
     .key_end = "</arg_key>",
     .value_open = "<arg_value>",
     .value_end = "</arg_value>",
     .call_close = "</tool_call>"},
    {.name = "qwen-xml",
     .shape = ANSWER_XML,
     .flags = ANSWER_LONE | ANSWER_NEWLINES | ANSWER_EACH,
     .section_open = "<tool_call>",
     .section_close = "</tool_call>",
     .call_open = "<function=",
     .name_end = ">",
     .param_open = "<parameter=",
     .key_end = ">",
     .value_end = "</parameter>",
     .call_close = "</function>",
     .space = "\n"},
    {.name = "functionary-v3.1",
     .shape = ANSWER_NAMED,
     .call_open = "<function=",
     .name_end = ">",
     .call_close = "</function>"},
    {.name = "functionary-v3.2",
     .shape = ANSWER_NAMED,
     .flags = ANSWER_WEAK | ANSWER_RECIPIENT,
     .call_open = ">>>",
     .space = "\n"},
    {.name = "firefunction",
     .shape = ANSWER_OBJECT,
     .flags = ANSWER_ARRAY | ANSWER_WEAK,
     .call_open = "functools"},
    {.name = "gigachat",
     .shape = ANSWER_OBJECT,
     .call_open = "function call<|role_sep|>",
     .other_open = "<|message_sep|>\n\nfunction call<|role_sep|>",
     .call_close = "<|message_sep|>",
     .space = "\n"},
    {.name = "apriel",
     .shape = ANSWER_OBJECT,
     .flags = ANSWER_ARRAY | ANSWER_INSIDE,
     .call_open = "<tool_calls>",
     .call_close = "</tool_calls>"},
    {.name = "nemotron",
     .shape = ANSWER_OBJECT,
     .flags = ANSWER_ARRAY,
     .call_open = "<TOOLCALL>",
     .call_close = "</TOOLCALL>"},
    {.name = "phi-4",
     .shape = ANSWER_OBJECT,
     .flags = ANSWER_ARRAY,
     .call_open = "<|tool_call|>",
     .call_close = "<|/tool_call|>"},
    {.name = "granite",
     .shape = ANSWER_OBJECT,
     .flags = ANSWER_ARRAY,
     .call_open = "<|tool_call|>",
     .other_open = "<tool_call>"},
    {.name = "internlm",
     .shape = ANSWER_OBJECT,
     .call_open = "<|action_start|><|plugin|>",
     .call_close = "<|action_end|>",
     .args_key = "parameters",
     .space = "\n"},
    {.name = "hermes",
     .shape = ANSWER_OBJECT,
     .call_open = "<tool_call>",
     .call_close = "</tool_call>",
     .space = "\n"},
    {.name = "olmo",
     .shape = ANSWER_PYTHON,
     .call_open = "<function_calls>",
     .call_close = "</function_calls>",
     .space = "\n"},
    {.name = "lfm2",
     .shape = ANSWER_PYTHON,
     .flags = ANSWER_LIST_ONLY,
     .call_open = "<|tool_call_start|>",
     .call_close = "<|tool_call_end|>"},
    {.name = "llama3",
     .shape = ANSWER_OBJECT,
     .flags = ANSWER_KEEP | ANSWER_WEAK | ANSWER_AT_START,
     .call_open = "{",
     .other_open = "<|python_tag|>",
     .args_key = "parameters"},
    {.name = "json",
     .shape = ANSWER_OBJECT,
     .flags = ANSWER_KEEP | ANSWER_WEAK | ANSWER_AT_START,
     .call_open = "{"},
};
enum { N_CALLS = sizeof calls / sizeof calls[0] };

static const struct power_answer_reasoning reasonings[] = {
    {.name = "harmony",
     .open = "<|channel|>analysis<|message|>",
     .close = "<|end|>",
     .anywhere = true},
    {.name = "mistral", .open = "[THINK]", .close = "[/THINK]", .anywhere = true},
    {.name = "command-r",
     .open = "<|START_THINKING|>",
     .close = "<|END_THINKING|>",
     .anywhere = true,
     .drop = {"<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"}},
    {.name = "gemma", .open = "<|channel>thought", .close = "<channel|>", .anywhere = true},
    {.name = "apertus", .open = "<|inner_prefix|>", .close = "<|inner_suffix|>", .anywhere = true},
    {.name = "seed", .open = "<seed:think>", .close = "</seed:think>"},
    {.name = "apriel",
     .open = "",
     .close = "[BEGIN FINAL RESPONSE]",
     .starts_open = true,
     .drop = {"[END FINAL RESPONSE]"}},
    {.name = "granite",
     .open = "<think>",
     .close = "</think>",
     .drop = {"<response>", "</response>"}},
    {.name = "think", .open = "<think>", .close = "</think>"},
};
enum { N_REASONINGS = sizeof reasonings / sizeof reasonings[0] };

/* The first row whose texts all stand in the template decides. */
struct rule {
    const char *texts[2];
    const char *name;
};
static const struct rule call_rules[] = {
    {{"<|channel|>", "<|message|>"}, "harmony"},
    {{"<use_mcp_tool>", NULL}, "mcp"},
    {{"｜DSML｜", NULL}, "deepseek-v3.2"},
    {{"<｜tool▁calls▁begin｜>", "```json"}, "deepseek"},
    {{"<｜tool▁calls▁begin｜>", NULL}, "deepseek-v3.1"},
    {{"<|tool_calls_section_begin|>", NULL}, "kimi"},
    {{"[TOOL_CALLS]", "[ARGS]"}, "mistral"},
    {{"[TOOL_CALLS]", NULL}, "mistral-json"},
    {{"<|START_ACTION|>", NULL}, "command-r"},
    {{"<|tools_prefix|>", NULL}, "apertus"},
    {{"<|tool_call>call:", NULL}, "gemma"},
    {{"<start_function_call>", NULL}, "function-gemma"},
    {{"<minimax:tool_call>", NULL}, "minimax"},
    {{"<seed:tool_call>", NULL}, "seed"},
    {{"<arg_key>", NULL}, "glm"},
    {{"<function=", "<parameter="}, "qwen-xml"},
    {{"<function=", NULL}, "functionary-v3.1"},
    {{">>>", "recipient"}, "functionary-v3.2"},
    {{"functools[", NULL}, "firefunction"},
    {{"<|role_sep|>", "function call"}, "gigachat"},
    {{"<tool_calls>[", NULL}, "apriel"},
    {{"<TOOLCALL>", NULL}, "nemotron"},
    {{"<|/tool_call|>", NULL}, "phi-4"},
    {{"<|tool_call|>", NULL}, "granite"},
    {{"<|action_start|>", NULL}, "internlm"},
    {{"<tool_call>", NULL}, "hermes"},
    {{"<function_calls>", NULL}, "olmo"},
    {{"<|tool_call_start|>", NULL}, "lfm2"},
    {{"List of tools: ", "keep_past_thinking"}, "lfm2"},
    {{"{\"name\": function name, \"parameters\":", NULL}, "llama3"},
    {{"<|python_tag|>", NULL}, "llama3"},
    {{"{\"name\": ", "\"arguments\": "}, "json"},
};
static const struct rule reasoning_rules[] = {
    {{"<|channel|>", "<|message|>"}, "harmony"},
    {{"[THINK]", NULL}, "mistral"},
    {{"<|START_THINKING|>", NULL}, "command-r"},
    {{"<|channel>thought", NULL}, "gemma"},
    {{"<|inner_prefix|>", NULL}, "apertus"},
    {{"<seed:think>", NULL}, "seed"},
    {{"[BEGIN FINAL RESPONSE]", NULL}, "apriel"},
    {{"<think>", "<response>"}, "granite"},
    {{"<think>", NULL}, "think"},
    {{"</think>", NULL}, "think"},
};

static bool contains(struct power_text text, const char *part) {
    size_t n = strlen(part);
    const char *at = text.bytes, *end = text.bytes + text.length;
    while (n && at && (size_t)(end - at) >= n) {
        at = memchr(at, part[0], (size_t)(end - at) - n + 1);
        if (!at) return false;
        if (memcmp(at, part, n) == 0) return true;
        at++;
    }
    return false;
}

static const char *choose(struct power_text text, const struct rule *rules, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!contains(text, rules[i].texts[0])) continue;
        if (!rules[i].texts[1] || contains(text, rules[i].texts[1])) return rules[i].name;
    }
    return NULL;
}

static const struct power_answer_calls *find_calls(struct power_text name) {
    for (size_t i = 0; i < N_CALLS; i++) {
        if (power_text_equal(name, power_text_of(calls[i].name))) return &calls[i];
    }
    return NULL;
}

static const struct power_answer_reasoning *find_reasoning(struct power_text name) {
    for (size_t i = 0; i < N_REASONINGS; i++) {
        if (power_text_equal(name, power_text_of(reasonings[i].name))) return &reasonings[i];
    }
    return NULL;
}

struct power_answer_format power_answer_format_of(struct power_text chat_template) {
    struct power_answer_format format = {0};
    const char *name = choose(chat_template, call_rules, sizeof call_rules / sizeof call_rules[0]);
    if (name) format.calls = find_calls(power_text_of(name));
    name =
        choose(chat_template, reasoning_rules, sizeof reasoning_rules / sizeof reasoning_rules[0]);
    if (name) format.reasoning = find_reasoning(power_text_of(name));
    return format;
}

bool power_answer_format_named(struct power_text calls_name, struct power_text reasoning,
                               struct power_answer_format *out) {
    struct power_answer_format found = {find_calls(calls_name), find_reasoning(reasoning)};
    if ((calls_name.length && !found.calls) || (reasoning.length && !found.reasoning)) return false;
    *out = found;
    return true;
}

const char *power_answer_format_name(const struct power_answer_format *format) {
    return format->calls ? format->calls->name : "none";
}

const char *power_answer_format_list(size_t index) {
    return index < N_CALLS ? calls[index].name : NULL;
}

void power_answer_reasoning_marks(const struct power_answer_format *format,
                                  struct power_text *out_open, struct power_text *out_close) {
    const struct power_answer_reasoning *r = format->reasoning;
    *out_open = r ? power_text_of(r->open) : POWER_TEXT("");
    *out_close = r ? power_text_of(r->close) : POWER_TEXT("");
}

static bool ends_with(struct power_text text, const char *end) {
    size_t n = strlen(end);
    return n && text.length >= n && memcmp(text.bytes + text.length - n, end, n) == 0;
}

bool power_answer_reasoning_is_open(const struct power_answer_format *format,
                                    struct power_text prompt) {
    const struct power_answer_reasoning *r = format->reasoning;
    if (!r) return false;
    if (r->starts_open) return true;
    return ends_with(answer_trimmed(prompt), r->open);
}

bool power_answer_is_mark(const struct power_answer_format *format, struct power_text text) {
    if (!text.length) return false;
    char part[ANSWER_MARK];
    if (text.length >= sizeof part || memchr(text.bytes, 0, text.length)) return false;
    memcpy(part, text.bytes, text.length);
    part[text.length] = 0;
    const struct power_answer_calls *c = format->calls;
    const struct power_answer_reasoning *r = format->reasoning;
    if (c && c->shape == ANSWER_HARMONY) {
        static const char *const marks[] = {"<|channel|>", "<|message|>", "<|start|>",    "<|end|>",
                                            "<|call|>",    "<|return|>",  "<|constrain|>"};
        for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
            if (contains(power_text_of(marks[i]), part)) return true;
    }
    const char *const of_calls[] = {
        c ? c->section_open : NULL, c ? c->section_close : NULL, c ? c->call_open : NULL,
        c ? c->call_close : NULL,   c ? c->other_open : NULL,    c ? c->skip : NULL,
        c ? c->name_end : NULL,     c ? c->id_mark : NULL,       c ? c->args_open : NULL,
        c ? c->args_close : NULL,   c ? c->param_open : NULL,    c ? c->key_end : NULL,
        c ? c->value_open : NULL,   c ? c->value_else : NULL,    c ? c->value_end : NULL,
        c ? c->quote : NULL,        r ? r->open : NULL,          r ? r->close : NULL};
    for (size_t i = 0; i < sizeof of_calls / sizeof of_calls[0]; i++)
        if (of_calls[i] && contains(power_text_of(of_calls[i]), part)) return true;
    for (size_t i = 0; i < 4; i++) {
        if (c && c->drop[i] && contains(power_text_of(c->drop[i]), part)) return true;
        if (r && r->drop[i] && contains(power_text_of(r->drop[i]), part)) return true;
    }
    return false;
}
