# SPDX-License-Identifier: MIT
"""Writes the renderings of chats that ../shared/data/chat-templates/golden.json lacks, made by Jinja2
as transformers' apply_chat_template calls it.

    make_goldens.py TEMPLATES_FOLDER OUT.json
"""

import copy
import json
import pathlib
import sys

import reference

WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "Weather at a place.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}
ASK = {"role": "user", "content": "Weather in Oslo?"}


def call(arguments, number=1):
    return {"id": f"call1234{number}", "type": "function", "function": {"name": "get_weather", "arguments": arguments}}


def chat(*messages, **more):
    return {"messages": list(messages), **more}


CALLED = [call('{"city": "Oslo", "days": 3, "big": 12345678901234567890123, "f": 1.0}')]
REPLY = {"role": "tool", "name": "get_weather", "tool_call_id": "call12341", "content": "{\"t\": 3}"}
SCENARIOS = {
    "developer": chat({"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Hi"}),
    "prefill": chat({"role": "user", "content": "Name a fruit."}, {"role": "assistant", "content": "The fruit is an "},
                    continue_final_message=True),
    "prefill_parts": chat({"role": "user", "content": "Name a fruit."},
                          {"role": "assistant", "content": [{"type": "text", "text": "An apple"}]}, continue_final_message=True),
    "parallel": chat(ASK, {"role": "assistant", "content": "", "tool_calls": [call('{"city": "Oslo"}'), call('{"city": "Bergen"}', 2)]},
                     REPLY, {**REPLY, "tool_call_id": "call12342", "content": "5"}, tools=[WEATHER]),
    "string_arguments": chat(ASK, {"role": "assistant", "content": "", "tool_calls": CALLED}, REPLY, tools=[WEATHER]),
    "broken_arguments": chat(ASK, {"role": "assistant", "content": "", "tool_calls": [call("{city: Oslo")]}, REPLY, tools=[WEATHER]),
    "call_without_content": chat(ASK, {"role": "assistant", "tool_calls": CALLED}, REPLY, tools=[WEATHER]),
    "call_null_content": chat(ASK, {"role": "assistant", "content": None, "tool_calls": CALLED}, REPLY, tools=[WEATHER]),
    "call_with_content": chat(ASK, {"role": "assistant", "content": "Let me see.", "tool_calls": CALLED}, REPLY, tools=[WEATHER]),
    "parts": chat({"role": "user", "content": [{"type": "text", "text": "One "}, {"type": "text", "text": "two"}]}),
    "functions": chat(ASK, variables={"functions": json.dumps([WEATHER["function"]])}),
    "functions_list": chat(ASK, variables={"functions": [WEATHER["function"]], "datetime": "2026-03-14"}),
    "no_thinking": chat(ASK, variables={"enable_thinking": False}),
    "thinking": chat(ASK, variables={"enable_thinking": True, "thinking": True, "reasoning_effort": "high"}),
    "reasoning": chat(ASK, {"role": "assistant", "content": "Cold.", "reasoning_content": "It is winter.", "reasoning": "It is winter."},
                      {"role": "user", "content": "Sure?"}),
    "documents": chat(ASK, variables={"documents": [{"title": "Oslo", "text": "Cold."}]}),
    "no_prompt": chat(ASK, no_generation_prompt=True),
    "empty": chat(),
}


def readable(call):
    """The call with arguments as an object where their text is one."""
    function = call.get("function", call)
    try:
        value = json.loads(function["arguments"])
    except (ValueError, TypeError, KeyError):
        return
    if isinstance(value, dict):
        function["arguments"] = value


def cut(text, message):
    final = message["content"]
    if isinstance(final, list):
        final = next(part["text"] for part in reversed(final) if "text" in part)
    at = text.rindex(final.strip())
    whole = text[at:at + len(final.lstrip())] == final
    return text[:at + len(final.lstrip() if whole else final.strip())]


def render(env, template, scenario):
    messages = copy.deepcopy(scenario["messages"])
    for message in messages:
        for one in message.get("tool_calls") or []:
            readable(one)
    go_on = scenario.get("continue_final_message", False)
    variables = {"messages": messages, "tools": scenario.get("tools"), "documents": None, "bos_token": "<s>", "eos_token": "</s>",
                 "add_generation_prompt": not go_on and not scenario.get("no_generation_prompt", False)}
    variables.update(copy.deepcopy(scenario.get("variables", {})))
    text, fault = reference.render(env, template, variables)
    if text is None or not go_on:
        return text
    try:
        return cut(text, messages[-1])
    except ValueError:
        return None


def main():
    env, out = reference.environment(), {"scenarios": SCENARIOS, "renderings": {}}
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.jinja")):
        template = path.read_text(encoding="utf-8")
        out["renderings"][path.name] = {name: render(env, template, s) for name, s in SCENARIOS.items()}
    text = json.dumps(out, ensure_ascii=False, indent=0, separators=(",", ":"))
    pathlib.Path(sys.argv[2]).write_text(text + "\n", encoding="utf-8")
    made = [x for r in out["renderings"].values() for x in r.values()]
    print(f"{len(made)} renderings, {sum(x is None for x in made)} of them raise")


if __name__ == "__main__":
    main()
