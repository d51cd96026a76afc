/* SPDX-License-Identifier: MIT */
/* Job: the variables of a rendering, made ready as the transformers library makes them for a chat.
 * Input: JSON texts. Output: the rendering's context. Threads: one per rendering.
 * Bounds: those of the JSON reader; linear in the messages. */
#include "text/template_internal.h"

/* A message's role is part of a control token's spelling in some templates ('<|' + role + '|>').
 * Names of roles that everybody uses are no spelling of anything alone. */
static bool own_role(struct jinja_render *r, struct jinja_dict *message) {
    static const char *const known[] = {"system",  "user",      "assistant",
                                        "tool",    "developer", "function",
                                        "ipython", "model",     "observation"};
    struct jinja_value copy;
    const struct jinja_value *role = power_jinja_dict_find(message, POWER_TEXT("role"));
    if (!role || role->type != JINJA_TEXT) return true;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        if (!power_text_equal(power_jinja_text(*role), power_text_of(known[k]))) continue;
        return power_jinja_copy_own(r, power_text_of(known[k]), &copy) &&
               power_jinja_dict_set(r, message, power_jinja_borrow(POWER_TEXT("role")), copy);
    }
    return true;
}

/* "arguments" of a function that are an object written as text become that object. */
static bool read_arguments(struct jinja_render *r, struct jinja_dict *function) {
    static const struct power_text key = {"arguments", 9};
    const struct jinja_value *text = power_jinja_dict_find(function, key);
    struct jinja_value object = {0};
    power_error ignored = {0}, *error = r->error;
    if (!text || text->type != JINJA_TEXT) return true;
    r->error = &ignored;
    bool ok = power_jinja_from_json(r, power_jinja_text(*text), "arguments", false, &object);
    r->error = error;
    if (!ok && r->status == POWER_CORRUPT) r->status = POWER_OK; /* no JSON: it stays a text */
    if (r->status != POWER_OK) {
        if (r->error) *r->error = ignored;
        return false;
    }
    return !ok || object.type != JINJA_DICT ||
           power_jinja_dict_set(r, function, power_jinja_borrow(key), object);
}

static bool read_calls(struct jinja_render *r, struct jinja_dict *message) {
    const struct jinja_value *calls = power_jinja_dict_find(message, POWER_TEXT("tool_calls"));
    const struct jinja_value *old = power_jinja_dict_find(message, POWER_TEXT("function_call"));
    bool ok = !old || old->type != JINJA_DICT || read_arguments(r, old->as.dict);
    if (!calls || calls->type != JINJA_LIST) return ok;
    for (size_t i = 0; ok && i < calls->as.list->count; i++) {
        struct jinja_value call = calls->as.list->items[i];
        if (call.type != JINJA_DICT) continue;
        const struct jinja_value *function =
            power_jinja_dict_find(call.as.dict, POWER_TEXT("function"));
        ok = read_arguments(r, function && function->type == JINJA_DICT ? function->as.dict
                                                                        : call.as.dict);
    }
    return ok;
}

static bool prepare_messages(struct jinja_render *r, const struct jinja_dict *variables,
                             bool calls) {
    const struct jinja_value *messages = power_jinja_dict_find(variables, POWER_TEXT("messages"));
    bool ok = true;
    if (!messages || messages->type != JINJA_LIST) return true;
    for (size_t i = 0; ok && i < messages->as.list->count; i++) {
        struct jinja_value message = messages->as.list->items[i];
        if (message.type != JINJA_DICT) continue;
        ok = (!r->keeps_origins || own_role(r, message.as.dict)) &&
             (!calls || read_calls(r, message.as.dict));
    }
    return ok;
}

static bool set(struct jinja_render *r, struct jinja_dict *dict, const char *name,
                struct jinja_value v) {
    return power_jinja_dict_set(r, dict, power_jinja_borrow(power_text_of(name)), v);
}

static bool has(const struct jinja_dict *dict, const char *name) {
    return power_jinja_dict_find(dict, power_text_of(name)) != NULL;
}

static bool set_list(struct jinja_render *r, struct jinja_dict *dict, const char *name,
                     struct power_text json) {
    struct jinja_value v;
    if (json.length == 0) return true;
    if (!power_jinja_from_json(r, json, name, false, &v)) return false;
    if (v.type != JINJA_LIST && v.type != JINJA_NONE)
        return power_jinja_raise(r, POWER_INVALID, "%s: not a JSON array", name);
    return set(r, dict, name, v);
}

/* What the template of a chat may count on. */
static bool complete(struct jinja_render *r, const struct power_template_input *input,
                     struct jinja_dict *dict) {
    bool prompt = input->add_generation_prompt && !input->continue_final_message;
    return set_list(r, dict, "messages", input->messages) &&
           set_list(r, dict, "tools", input->tools) &&
           (has(dict, "tools") || set(r, dict, "tools", power_jinja_none())) &&
           (has(dict, "documents") || set(r, dict, "documents", power_jinja_none())) &&
           ((has(dict, "add_generation_prompt") && !input->continue_final_message) ||
            set(r, dict, "add_generation_prompt", power_jinja_bool(prompt)));
}

static bool read_object(struct jinja_render *r, struct power_text json, bool own,
                        struct jinja_dict **out) {
    struct jinja_value v;
    if (json.length == 0) return (*out = power_jinja_dict(r)) != NULL;
    if (!power_jinja_from_json(r, json, "variables", own, &v)) return false;
    if (v.type != JINJA_DICT)
        return power_jinja_raise(r, POWER_INVALID, "variables are not a JSON object");
    *out = v.as.dict;
    return true;
}

bool power_template_variables(struct jinja_render *r, const struct power_template_input *input) {
    struct jinja_dict *given = NULL, *own = NULL;
    if (!read_object(r, input->variables, false, &given)) return false;
    if (input->chat && !complete(r, input, given)) return false;
    if (!prepare_messages(r, given, input->chat) || !read_object(r, input->own, true, &own))
        return false;
    r->context = given;
    for (size_t i = 0; i < own->count; i++) {
        const struct jinja_entry *e = &own->entries[i];
        if (!power_jinja_dict_get(given, e->key) &&
            !power_jinja_dict_set(r, given, e->key, e->value))
            return false;
    }
    return true;
}

/* ---- going on with the last message ---- */

/* The text of the last message: its content, or the last part of it that is a text. */
static bool final_text(struct jinja_render *r, struct power_text *out) {
    const struct jinja_value *messages = power_jinja_dict_find(r->context, POWER_TEXT("messages"));
    const struct jinja_value *content = NULL;
    if (messages && messages->type == JINJA_LIST && messages->as.list->count) {
        struct jinja_value last = messages->as.list->items[messages->as.list->count - 1];
        if (last.type == JINJA_DICT)
            content = power_jinja_dict_find(last.as.dict, POWER_TEXT("content"));
    }
    if (content && content->type == JINJA_LIST) {
        const struct jinja_list *parts = content->as.list;
        content = NULL;
        for (size_t i = parts->count; i-- > 0 && !content;) {
            if (parts->items[i].type == JINJA_DICT)
                content = power_jinja_dict_find(parts->items[i].as.dict, POWER_TEXT("text"));
        }
    }
    if (!content || content->type != JINJA_TEXT)
        return power_jinja_raise(r, POWER_INVALID, "the last message has no text to go on with");
    *out = power_jinja_text(*content);
    return true;
}

static bool is_at(struct power_text text, size_t at, struct power_text what) {
    return what.length <= text.length - at &&
           (what.length == 0 || memcmp(text.bytes + at, what.bytes, what.length) == 0);
}

bool power_template_cut(struct jinja_render *r, struct power_text text, size_t *out_length) {
    struct power_text all;
    r->at = NULL;
    if (!final_text(r, &all)) return false;
    struct power_text bare = power_jinja_strip(all, NULL, 3),
                      open = power_jinja_strip(all, NULL, 1);
    size_t at = text.length;
    if (!power_jinja_steps(r, text.length / 16 * (1 + bare.length / 64))) return false;
    for (; at > 0 && !is_at(text, at, bare);)
        at--;
    if (!is_at(text, at, bare))
        return power_jinja_raise(r, POWER_INVALID,
                                 "the last message can't be gone on with: the template changes it");
    bool whole = open.length == all.length && is_at(text, at, open);
    *out_length = at + (whole ? open.length : bare.length);
    return true;
}
