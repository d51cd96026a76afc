# SPDX-License-Identifier: MIT
"""Writes tests/data/answers/FORMAT.json: answers of models and what they say.

Each format has a writer of its own here, after what the model's chat template (or its authors'
documentation) writes. Expected events follow from what was put in, not from any parser.
Usage: write_answers.py OUTDIR [--check]
"""
import json
import pathlib
import sys

TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "unit": {"type": "string", "enum": ["C", "F"]},
                       "days": {"type": "integer"}, "hourly": {"type": "boolean"},
                       "place": {"type": "object"}, "tags": {"type": "array"},
                       "note": {"type": ["string", "null"]}},
        "required": ["city"]}}},
    {"type": "function", "function": {"name": "add", "parameters": {
        "type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        "required": ["a", "b"]}}},
    {"type": "function", "function": {"name": "now", "parameters": {
        "type": "object", "properties": {}}}},
]
STRINGS = {"city", "unit", "text"}


def dump(value):
    return json.dumps(value, ensure_ascii=False)


def xml_value(key, value):
    return value if isinstance(value, str) else dump(value)


def python_value(value):
    return repr(value)


def gemma_value(value, quote):
    if isinstance(value, str):
        return quote + value + quote
    if isinstance(value, bool) or value is None:
        return dump(value)
    if isinstance(value, dict):
        return "{" + ",".join(quote + k + quote + ":" + gemma_value(v, quote)
                              for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(gemma_value(v, quote) for v in value) + "]"
    return dump(value)


def each(write, between=""):
    return lambda calls: between.join(write(n, a, i) for i, (n, a) in enumerate(calls))


def objects(open_, close, name="name", args="arguments"):
    return lambda calls: open_ + "[" + ", ".join(
        '{"%s": %s, "%s": %s}' % (name, dump(n), args, dump(a)) for n, a in calls) + "]" + close


def xml(call_open, name_end, param_open, key_end, value_end, call_close, nl, pad=""):
    def write(name, args, _):
        text = call_open + name + name_end + nl
        for k, v in args.items():
            text += param_open + k + key_end + pad + xml_value(k, v) + pad + value_end + nl
        return text + call_close
    return write


def dsml(name, args, _):
    text = '<｜DSML｜invoke name="%s">\n' % name
    for k, v in args.items():
        text += '<｜DSML｜parameter name="%s" string="%s">%s</｜DSML｜parameter>\n' % (
            k, "true" if isinstance(v, str) else "false", xml_value(k, v))
    return text + "</｜DSML｜invoke>\n"


def around(open_, close, inner):
    return lambda calls: open_ + inner(calls) + close


def gemma(open_, close, quote):
    return each(lambda n, a, _: open_ + "call:" + n + "{" + ",".join(
        k + ":" + gemma_value(v, quote) for k, v in a.items()) + "}" + close)


def python_calls(between):
    return lambda calls: between.join(
        n + "(" + ", ".join(k + "=" + python_value(v) for k, v in a.items()) + ")"
        for n, a in calls)


def harmony(calls):
    return "".join(
        '<|start|>assistant<|channel|>commentary to=functions.%s <|constrain|>json<|message|>%s<|call|>'
        % (n, dump(a)) for n, a in calls)


# name: (writer of calls, reasoning open, reasoning close, what text is wrapped in)
F = {
    "hermes": (each(lambda n, a, _: '<tool_call>\n{"name": %s, "arguments": %s}\n</tool_call>'
                    % (dump(n), dump(a)), "\n"), "think"),
    "mcp": (lambda calls: "\n<use_mcp_tool>" + "".join(
        "\n<server_name>generic-extras</server_name>\n<tool_name>%s</tool_name>\n<arguments>\n%s\n"
        "</arguments>" % (n, dump(a)) for n, a in calls) + "\n</use_mcp_tool>", "think"),
    "deepseek-v3.2": (around("\n\n<｜DSML｜function_calls>\n", "</｜DSML｜function_calls>", each(dsml)),
                      "think"),
    "deepseek": (around("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", each(
        lambda n, a, _: "<｜tool▁call▁begin｜>function<｜tool▁sep｜>%s\n```json\n%s\n```"
                        "<｜tool▁call▁end｜>" % (n, dump(a)), "\n")), "think"),
    "deepseek-v3.1": (around("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", each(
        lambda n, a, _: "<｜tool▁call▁begin｜>%s<｜tool▁sep｜>%s<｜tool▁call▁end｜>" % (n, dump(a)))),
        "think"),
    "kimi": (around("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", each(
        lambda n, a, i: "<|tool_call_begin|>functions.%s:%d<|tool_call_argument_begin|>%s"
                        "<|tool_call_end|>" % (n, i, dump(a)))), "think"),
    "mistral": (each(lambda n, a, _: "[TOOL_CALLS]%s[ARGS]%s" % (n, dump(a))), "mistral"),
    "mistral-json": (objects("[TOOL_CALLS]", ""), "mistral"),
    "command-r": (objects("<|START_ACTION|>", "<|END_ACTION|>", "tool_name", "parameters"),
                  "command-r"),
    "apertus": (lambda calls: "<|tools_prefix|>[" + ", ".join(
        "{%s: %s}" % (dump(n), dump(a)) for n, a in calls) + "]<|tools_suffix|>", "apertus"),
    "gemma": (gemma("<|tool_call>", "<tool_call|>", '<|"|>'), "gemma"),
    "function-gemma": (gemma("<start_function_call>", "<end_function_call>", "<escape>"), None),
    "minimax": (around("<minimax:tool_call>\n", "</minimax:tool_call>", each(xml(
        '<invoke name="', '">', '<parameter name="', '">', "</parameter>", "</invoke>\n", "\n"))),
        "think"),
    "seed": (around("<seed:tool_call>\n", "</seed:tool_call>", each(xml(
        "<function=", ">", "<parameter=", ">", "</parameter>", "</function>\n", "\n"))), "seed"),
    "glm": (each(lambda n, a, _: "<tool_call>" + n + "\n" + "".join(
        "<arg_key>%s</arg_key>\n<arg_value>%s</arg_value>\n" % (k, xml_value(k, v))
        for k, v in a.items()) + "</tool_call>", "\n"), "think"),
    "qwen-xml": (each(lambda n, a, i: "<tool_call>\n" + xml(
        "<function=", ">", "<parameter=", ">", "</parameter>", "</function>", "\n", "\n")(n, a, i)
        + "\n</tool_call>", "\n"), "think"),
    "functionary-v3.1": (each(lambda n, a, _: "<function=%s>%s</function>" % (n, dump(a))), None),
    "functionary-v3.2": (each(lambda n, a, _: ">>>%s\n%s" % (n, dump(a))), None),
    "firefunction": (objects(" functools", ""), None),
    "gigachat": (each(lambda n, a, _: '<|message_sep|>\n\nfunction call<|role_sep|>\n{"name": %s, '
                                      '"arguments": %s}' % (dump(n), dump(a))), None),
    "apriel": (objects("\n<tool_calls>", "</tool_calls>"), "apriel"),
    "nemotron": (objects("<TOOLCALL>", "</TOOLCALL>"), "think"),
    "phi-4": (objects("<|tool_call|>", "<|/tool_call|>"), "think"),
    "granite": (objects("<|tool_call|>", ""), "granite"),
    "internlm": (each(lambda n, a, _: '<|action_start|><|plugin|>\n{"name": %s, "parameters": %s}'
                                      "<|action_end|>" % (dump(n), dump(a)), "\n"), "think"),
    "olmo": (around("<function_calls>\n", "\n</function_calls>", python_calls("\n")), "think"),
    "lfm2": (around("<|tool_call_start|>[", "]<|tool_call_end|>", python_calls(", ")), "think"),
    "llama3": (each(lambda n, a, _: '{"name": %s, "parameters": %s}' % (dump(n), dump(a)), "; "),
               None),
    "json": (each(lambda n, a, _: '{"name": %s, "arguments": %s}' % (dump(n), dump(a)), "\n"), None),
    "harmony": (harmony, "harmony"),
}
MARKS = {"think": ("<think>", "</think>"), "granite": ("<think>", "</think>"),
         "mistral": ("[THINK]", "[/THINK]"), "seed": ("<seed:think>", "</seed:think>"),
         "command-r": ("<|START_THINKING|>", "<|END_THINKING|>"),
         "gemma": ("<|channel>thought\n", "<channel|>"),
         "apertus": ("<|inner_prefix|>", "<|inner_suffix|>"),
         "apriel": (None, "[BEGIN FINAL RESPONSE]"),
         "harmony": ("<|channel|>analysis<|message|>", "<|end|>")}

# Where the text of an answer cannot stand before a call.
ALONE = {"llama3", "json"}
KIMI_ID = "functions.%s:%d"


def events_of(fmt, calls, first=0):
    out = []
    for i, (n, a) in enumerate(calls):
        ident = KIMI_ID % (n, i) if fmt == "kimi" else ""
        out.append(["call", n, dump(a), ident])
    return out


def wrap(fmt, text):
    if fmt == "harmony":
        return "<|channel|>final<|message|>" + text + "<|return|>"
    if fmt == "functionary-v3.2":
        return "all\n" + text
    if fmt == "command-r":
        return "<|START_RESPONSE|>" + text + "<|END_RESPONSE|>"
    return text


def start(fmt, written):
    """A prompt that ends with the opening mark leaves it out of the answer."""
    if fmt == "functionary-v3.2":
        return written[3:]
    if fmt == "harmony":
        return written[len("<|start|>assistant"):]
    return written


def cases_of(fmt):
    write, reasoning = F[fmt]
    oslo = [("get_weather", {"city": "Oslo"})]
    two = [("get_weather", {"city": "Oslo", "unit": "C", "days": 2}), ("add", {"a": 1, "b": -2.5})]
    hard = [("get_weather", {"city": "São \"Paulo\"\\ <b> & 'x'\nline 2\t😀",
                             "place": {"lat": 1.5, "names": ["a", "b: {c}"], "none": None},
                             "tags": [1, "two", [True, False, {}], []]})]
    out = []

    def add(ident, raw, events, **more):
        out.append({"id": ident, "raw": raw, "events": events, **more})

    add("one", start(fmt, write(oslo)), events_of(fmt, oslo))
    add("two", start(fmt, write(two)), events_of(fmt, two))
    add("hard", start(fmt, write(hard)), events_of(fmt, hard))
    add("no-arguments", start(fmt, write([("now", {})])), events_of(fmt, [("now", {})]))
    add("space-after", start(fmt, write(oslo)) + "\n\n \t", events_of(fmt, oslo))
    add("unknown-function", start(fmt, write([("nowhere.else-2", {"x": 1})])),
        events_of(fmt, [("nowhere.else-2", {"x": 1})]))
    text = "The sum is 3 < 4 and <b>x</b> | {y} [z]."
    add("text", wrap(fmt, text), [["text", text]])
    add("text-of-marks", wrap(fmt, "< <t <| [T [ fun <tool> <thin done"),
        [["text", "< <t <| [T [ fun <tool> <thin done"]])
    add("unicode-text", wrap(fmt, "  Grüße, 世界! 😀"), [["text", "  Grüße, 世界! 😀"]])
    add("empty", "", [])
    if fmt not in ALONE:
        lead = "Let me look. "
        body = write(oslo)
        space = len(body) - len(body.lstrip())
        written = wrap(fmt, lead) + body
        if fmt == "command-r":
            add("text-then-call", written, [["text", lead]] + events_of(fmt, oslo))
        else:
            add("text-then-call", written, [["text", lead + body[:space]]] + events_of(fmt, oslo))
        if fmt not in ("harmony", "functionary-v3.2", "command-r"):
            add("call-then-text", write(oslo) + "\n\nDone.\n",
                events_of(fmt, oslo) + [["text", "Done.\n"]])
    cut = start(fmt, write([("get_weather", {"city": "Oslo and Bergen"})]))
    add("cut", cut[:cut.index("and")] , [["open", "get_weather", None,
        KIMI_ID % ("get_weather", 0) if fmt == "kimi" else ""]], cut=True)
    if reasoning:
        open_, close = MARKS[reasoning]
        think = "I add\n\n2 < 3 & so on"
        if fmt == "harmony":
            body, answer = write(oslo), "<|start|>assistant<|channel|>final<|message|>4"
        else:
            body, answer = write(oslo), "\n\n4"
        if open_:
            add("reasoning", open_ + "\n" + think + "\n" + close + answer,
                [["reasoning", think], ["text", "4"]])
            add("reasoning-call", open_ + think + close + body,
                [["reasoning", think]] + events_of(fmt, oslo))
        add("reasoning-open", think + " \n" + close + answer,
            [["reasoning", think], ["text", "4"]], reasoning_open=True)
        add("reasoning-cut", think + " </th", [["reasoning", think + " </th"]], cut=True,
            reasoning_open=True)
    out += MORE.get(fmt, [])
    return out


def case(ident, raw, events, **more):
    return {"id": ident, "raw": raw, "events": events, **more}


W = ["call", "get_weather", '{"city": "Oslo"}', ""]
MORE = {
    "hermes": [
        case("other-order", '<tool_call>{"arguments": {"city": "Oslo"}, "name": "get_weather"}</tool_call>',
             [W]),
        case("id-after", '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}, "id": "c1"}</tool_call>',
             [W[:3] + ["c1"]]),
        case("string-arguments", '<tool_call>{"name": "get_weather", "arguments": "{\\"city\\": \\"Oslo\\"}"}</tool_call>',
             [W]),
        case("array", '<tool_call>[{"name": "get_weather", "arguments": {"city": "Oslo"}}, '
             '{"name": "now"}]</tool_call>', [W, ["call", "now", "{}", ""]]),
        case("missing-close", '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
             '<tool_call>\n{"name": "now", "arguments": {}}', [W, ["call", "now", "{}", ""]]),
        case("malformed", 'A <tool_call>{"name": "get_weather", "arguments": {city}}</tool_call> B',
             [["text", "A "], ["open", "get_weather", "{", ""], ["malformed"],
              ["text", '<tool_call>{"name": "get_weather", "arguments": {city}}</tool_call> B']]),
        case("malformed-then-call", '<tool_call><tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>',
             [["malformed"], ["text", "<tool_call>"], W]),
        case("mark-in-text", "Use <tool_call> to call.", [["text", "Use "], ["malformed"],
             ["text", "<tool_call> to call."]]),
        case("no-name", '<tool_call>{"arguments": {}}</tool_call>',
             [["malformed"], ["text", '<tool_call>{"arguments": {}}</tool_call>']]),
        case("not-closed", '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"',
             [["open", "get_weather", '{"city": "Oslo"', ""], ["malformed"],
              ["text", '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"']]),
        case("cut-in-name", '<tool_call>{"name": "get_w', [], cut=True),
        case("cut-in-close", '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool',
             [W], cut=True),
        case("no-tools", '<tool_call>{"name": "now", "arguments": {}}</tool_call>',
             [["text", '<tool_call>{"name": "now", "arguments": {}}</tool_call>']], tools=False),
        case("think-in-text", "Say <think> aloud </think>.", [["text", "Say <think> aloud </think>."]]),
        case("think-closed-at-start", "</think>\n\nYes", [["text", "Yes"]]),
        case("think-again", "\n<think>\nx\n</think>\n", [["reasoning", "x"]], reasoning_open=True),
        case("call-in-thoughts", "<think>maybe <tool_call>{} </think>no",
             [["reasoning", "maybe <tool_call>{}"], ["text", "no"]]),
        case("arguments-null", '<tool_call>{"name": "now", "arguments": null}</tool_call>',
             [["call", "now", "{}", ""]]),
        case("arguments-array", '<tool_call>{"name": "now", "arguments": []}</tool_call>',
             [["malformed"], ["text", '<tool_call>{"name": "now", "arguments": []}</tool_call>']]),
        case("escaped-name", '<tool_call>{"name": "get_\\u0077eather", "arguments": {"city": "Oslo"}}</tool_call>',
             [W]),
        case("control-in-string", '<tool_call>{"name": "now", "arguments": {"a": "b\nc"}}</tool_call>',
             [["open", "now", '{"a": "b', ""], ["malformed"],
              ["text", '<tool_call>{"name": "now", "arguments": {"a": "b\nc"}}</tool_call>']]),
        case("only-space", " \n ", [["text", " \n "]]),
    ],
    "mistral": [
        case("call-id", '[TOOL_CALLS]get_weather[CALL_ID]abc123XYZ[ARGS]{"city": "Oslo"}',
             [W[:3] + ["abc123XYZ"]]),
        case("old-array", '[TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Oslo"}, "id": "a1b2c3d4e"}]',
             [W[:3] + ["a1b2c3d4e"]]),
        case("malformed", "[TOOL_CALLS]get weather", [["malformed"], ["text", "[TOOL_CALLS]get weather"]]),
    ],
    "mistral-json": [
        case("id-first", '[TOOL_CALLS][{"id": "a1", "name": "get_weather", "arguments": {"city": "Oslo"}}]',
             [W[:3] + ["a1"]]),
    ],
    "command-r": [
        case("template", '<|START_THINKING|>plan<|END_THINKING|><|START_ACTION|>[\n    {"tool_call_id": "0", '
             '"tool_name": "get_weather", "parameters": {"city": "Oslo"}}\n]<|END_ACTION|>',
             [["reasoning", "plan"], W[:3] + ["0"]]),
    ],
    "apriel": [
        case("template", '\n<tool_calls>[{"name": "get_weather", "arguments": {"city": "Oslo"}, "id": "call12345"}]</tool_calls>',
             [W[:3] + ["call12345"]]),
        case("call-in-thoughts", 'I call.\n<tool_calls>[{"name": "get_weather", "arguments": {"city": "Oslo"}}]</tool_calls>',
             [["reasoning", "I call."], W], reasoning_open=True),
        case("final", "Thinking.\n[BEGIN FINAL RESPONSE]\n4\n[END FINAL RESPONSE]",
             [["reasoning", "Thinking."], ["text", "4\n"]], reasoning_open=True),
    ],
    "qwen-xml": [
        case("lone", "<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>", [W]),
        case("types", "<tool_call>\n<function=get_weather>\n<parameter=city>\n123\n</parameter>\n"
             "<parameter=days>\n7\n</parameter>\n<parameter=hourly>\nTrue\n</parameter>\n<parameter=note>\nNone\n"
             "</parameter>\n<parameter=unit>\nnull\n</parameter>\n<parameter=other>\n[1]\n</parameter>\n</function>\n</tool_call>",
             [["call", "get_weather", '{"city": "123", "days": 7, "hourly": true, "note": null, "unit": "null", "other": [1]}', ""]]),
        case("wrong-type", "<tool_call>\n<function=get_weather>\n<parameter=days>\nmany\n</parameter>\n</function>\n</tool_call>",
             [["call", "get_weather", '{"days": "many"}', ""]]),
        case("lines", "<tool_call>\n<function=get_weather>\n<parameter=city>\n\n a\n</b>\n\n</parameter>\n</function>\n</tool_call>",
             [["call", "get_weather", '{"city": "\\n a\\n</b>\\n"}', ""]]),
        case("empty-value", "<tool_call>\n<function=get_weather>\n<parameter=city>\n</parameter>\n</function>\n</tool_call>",
             [["call", "get_weather", '{"city": ""}', ""]]),
        case("key-twice", "<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n<parameter=a>\n2\n</parameter>\n</function>\n</tool_call>",
             [["open", "add", '{"a": 1', ""], ["malformed"],
              ["text", "<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n<parameter=a>\n2\n</parameter>\n</function>\n</tool_call>"]]),
        case("not-xml", "<tool_call>\n{}\n</tool_call>", [["malformed"], ["text", "<tool_call>\n{}\n</tool_call>"]]),
    ],
    "glm": [
        case("compact", "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Oslo</arg_value></tool_call>", [W]),
        case("after-think", "</think><tool_call>now</tool_call>", [["call", "now", "{}", ""]]),
    ],
    "deepseek-v3.2": [
        case("typed", '<｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n<｜DSML｜parameter name="x" string="true">1'
             '</｜DSML｜parameter>\n<｜DSML｜parameter name="y" string="false">1</｜DSML｜parameter>\n</｜DSML｜invoke>\n'
             '</｜DSML｜function_calls>', [["call", "f", '{"x": "1", "y": 1}', ""]]),
    ],
    "gemma": [
        case("words", '<|tool_call>call:get_weather{city:Oslo , hourly:True,note:None}<tool_call|>',
             [["call", "get_weather", '{"city": "Oslo", "hourly": true, "note": null}', ""]]),
        case("json-quotes", '<|tool_call>call:get_weather{city:"Oslo"}<tool_call|>', [W]),
        case("no-thoughts", '<|channel>thought\n<channel|>Hi', [["text", "Hi"]]),
    ],
    "lfm2": [
        case("python", "<|tool_call_start|>[get_weather(city=\"a\\n\\x41\\u00e9'\", days=2, hourly=True, "
             "note=None, place={'k': [1, 2,],})]<|tool_call_end|>",
             [["call", "get_weather", '{"city": "a\\nAé\'", "days": 2, "hourly": true, "note": null, "place": {"k": [1, 2]}}', ""]]),
        case("no-keyword", '<|tool_call_start|>[now(3)]<|tool_call_end|>',
             [["open", "now", "{", ""], ["malformed"], ["text", '<|tool_call_start|>[now(3)]<|tool_call_end|>']]),
    ],
    "llama3": [
        case("python-tag", '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Oslo"}}', [W]),
        case("built-in", '<|python_tag|>brave_search.call(query="Oslo")',
             [["call", "brave_search", '{"query": "Oslo"}', ""]]),
        case("typed", '{"type": "function", "name": "get_weather", "parameters": {"city": "Oslo"}}', [W]),
        case("json-answer", '{"name": "Ada", "age": 36}', [["text", '{"name": "Ada", "age": 36}']]),
        case("other-json", '{"answer": {"name": "x"}}', [["text", '{"answer": {"name": "x"}}']]),
        case("later-brace", 'Set {"name": "get_weather", "parameters": {}}',
             [["text", 'Set {"name": "get_weather", "parameters": {}}']]),
        case("code", "<|python_tag|>print(1)", [["open", "print", "{", ""], ["malformed"],
             ["text", "<|python_tag|>print(1)"]]),
    ],
    "functionary-v3.2": [
        case("all-then-call", 'all\nLooking.>>>get_weather\n{"city": "Oslo"}', [["text", "Looking."], W]),
        case("prompt-in-text", "all\n>>> print(1)\n1", [["text", ">>> print(1)\n1"]]),
        case("no-tools", 'get_weather\n{"city": 1}', [["text", 'get_weather\n{"city": 1}']], tools=False),
    ],
    "harmony": [
        case("analysis-call", '<|channel|>analysis<|message|>Need it.<|end|><|start|>assistant<|channel|>commentary '
             'to=functions.get_weather <|constrain|>json<|message|>{"city": "Oslo"}<|call|>',
             [["reasoning", "Need it."], W]),
        case("recipient-first", '<|start|>assistant to=functions.get_weather<|channel|>commentary json<|message|>{"city": "Oslo"}', [W]),
        case("preamble", '<|channel|>commentary<|message|>Looking.<|end|><|start|>assistant<|channel|>final<|message|>Done.',
             [["text", "Looking.Done."]]),
        case("plain", "Just text.", [["text", "Just text."]]),
        case("no-tools", '<|channel|>commentary to=functions.now<|message|>{}',
             [["text", '<|channel|>commentary to=functions.now<|message|>{}']], tools=False),
        case("malformed", '<|channel|>commentary to=functions.now<|message|>now()',
             [["malformed"], ["text", '<|channel|>commentary to=functions.now<|message|>now()']]),
    ],
    "kimi": [
        case("lone", '<|tool_call_begin|>functions.get_weather:7<|tool_call_argument_begin|>{"city": "Oslo"}<|tool_call_end|>',
             [W[:3] + ["functions.get_weather:7"]]),
        case("no-arguments-at-all", "<|tool_calls_section_begin|><|tool_call_begin|>functions.now:0"
             "<|tool_call_argument_begin|><|tool_call_end|><|tool_calls_section_end|>",
             [["call", "now", "{}", "functions.now:0"]]),
        case("inside-thoughts", '<think>so<|tool_calls_section_begin|><|tool_call_begin|>functions.now:0'
             '<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>',
             [["reasoning", "so"], ["call", "now", "{}", "functions.now:0"]]),
    ],
    "granite": [
        case("response", "<think>a</think><response>b</response>", [["reasoning", "a"], ["text", "b"]]),
        case("other-mark", '<tool_call>[{"name": "get_weather", "arguments": {"city": "Oslo"}}]', [W]),
    ],
}


def document(fmt):
    return {"format": fmt, "reasoning": F[fmt][1], "tools": TOOLS, "cases": cases_of(fmt)}


def main():
    out = pathlib.Path(sys.argv[1])
    bad = 0
    for fmt in F:
        text = json.dumps(document(fmt), ensure_ascii=False, indent=1) + "\n"
        path = out / (fmt + ".json")
        if "--check" in sys.argv:
            bad += not path.exists() or path.read_text(encoding="utf-8") != text
        else:
            path.write_text(text, encoding="utf-8")
    sys.exit(bad != 0)


main()
