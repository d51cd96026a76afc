/* SPDX-License-Identifier: MIT */
/* Job: a model's chat templates: finds them, compiles them, chooses one.
 * Input: the model's files. Output: templates by name. Threads: one opens; choosing any.
 * Bounds: MAX_TEMPLATES a model; each as large as its file's reader allows. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "engine/model.h"

#define MAX_TEMPLATES 32

static struct power_model_template *find(const struct power_model *model, const char *name) {
    for (uint32_t i = 0; i < model->n_templates; i++) {
        if (strcmp(model->templates[i].name, name) == 0) return &model->templates[i];
    }
    return NULL;
}

/* The first of a name stays. A template that does not compile is not the model's end: only
 * rendering with it fails. */
static power_status add(struct power_model *model, struct power_text name, struct power_text text,
                        power_error *error) {
    if (text.length == 0) return POWER_OK;
    if (!model->templates)
        model->templates =
            power_arena_alloc(&model->arena, MAX_TEMPLATES, sizeof *model->templates);
    char *copy = power_arena_text(&model->arena, name.bytes, name.length);
    char *body = power_arena_text(&model->arena, text.bytes, text.length);
    if (!model->templates || !copy || !body)
        return power_fail_memory(error, text.length, "a chat template");
    if (find(model, copy)) return POWER_OK;
    if (model->n_templates == MAX_TEMPLATES)
        return power_fail(error, POWER_LIMIT, "more than %d chat templates", MAX_TEMPLATES);
    struct power_model_template *t = &model->templates[model->n_templates++];
    t->name = copy;
    t->text = body;
    power_status status = power_template_compile(
        model->host.allocator, (struct power_text){body, text.length}, &t->compiled, &t->error);
    if (status == POWER_NO_MEMORY && error) *error = t->error;
    if (status == POWER_NO_MEMORY) return status;
    if (status != POWER_OK)
        power_model_log(model, POWER_LOG_WARNING, "chat template", t->error.message);
    return POWER_OK;
}

/* tokenizer.chat_template and tokenizer.chat_template.NAME */
static power_status add_metas(struct power_model *model, power_error *error) {
    static const char key[] = "tokenizer.chat_template";
    const struct power_source *source = model->source;
    power_status status = POWER_OK;
    for (uint32_t i = 0; status == POWER_OK && i < source->n_metas; i++) {
        struct power_text name = source->metas[i].key, text = {0};
        if (source->metas[i].type != POWER_META_TEXT || name.length < sizeof key - 1 ||
            memcmp(name.bytes, key, sizeof key - 1) != 0)
            continue;
        text = source->metas[i].value.text;
        name.bytes += sizeof key - 1;
        name.length -= sizeof key - 1;
        if (name.length == 0)
            status = add(model, POWER_TEXT("default"), text, error);
        else if (name.bytes[0] == '.' && name.length > 1)
            status = add(model, (struct power_text){name.bytes + 1, name.length - 1}, text, error);
    }
    return status;
}

/* tokenizer_config.json: "chat_template" is a text, or a list of named ones. */
static power_status add_config(struct power_model *model, power_error *error) {
    struct power_text json = model->source->tokenizer_config_json;
    if (json.length == 0) return POWER_OK;
    json_t *root = json_loadb(json.bytes, json.length, 0, NULL), *entry;
    const json_t *found = json_object_get(root, "chat_template");
    power_status status = POWER_OK;
    size_t index;
    if (json_is_string(found))
        status = add(model, POWER_TEXT("default"), power_text_of(json_string_value(found)), error);
    json_array_foreach(found, index, entry) {
        const char *name = json_string_value(json_object_get(entry, "name"));
        const char *text = json_string_value(json_object_get(entry, "template"));
        if (status == POWER_OK && name && text)
            status = add(model, power_text_of(name), power_text_of(text), error);
    }
    json_decref(root);
    return status;
}

power_status power_model_open_templates(struct power_model *model, power_error *error) {
    const struct power_source *s = model->source;
    power_status status = add_metas(model, error);
    if (status == POWER_OK)
        status = add(model, POWER_TEXT("default"), s->chat_template_file, error);
    if (status == POWER_OK)
        status = add(model, POWER_TEXT("tool_use"), s->tool_template_file, error);
    if (status == POWER_OK) status = add(model, POWER_TEXT("rag"), s->rag_template_file, error);
    if (status == POWER_OK) status = add_config(model, error);
    if (status != POWER_OK || model->n_templates == 0) return status;
    const struct power_model_template *shown = find(model, "default");
    model->chat_template = (shown ? shown : &model->templates[0])->text;
    return POWER_OK;
}

void power_model_close_templates(struct power_model *model) {
    for (uint32_t i = 0; i < model->n_templates; i++)
        power_template_destroy(model->templates[i].compiled);
}

power_status power_model_choose_template(const struct power_model *model, const char *name,
                                         bool tools, const struct power_template **out,
                                         power_error *error) {
    const struct power_model_template *t = NULL;
    if (model->n_templates == 0)
        return power_fail(error, POWER_NOT_FOUND, "the model has no chat template");
    if (name) {
        t = find(model, name);
    } else {
        if (tools) t = find(model, "tool_use");
        if (!t) t = find(model, "default");
    }
    if (!t) {
        char names[200] = "";
        size_t n = 0;
        for (uint32_t i = 0; i < model->n_templates && n + 68 < sizeof names; i++) {
            const char *one = model->templates[i].name;
            n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "",
                                  power_quote(one, strlen(one)).text);
        }
        return power_fail(error, POWER_NOT_FOUND, "no chat template \"%s\", there is: %s",
                          name ? power_quote(name, strlen(name)).text : "default", names);
    }
    if (!t->compiled) {
        if (error) *error = t->error;
        return t->error.status;
    }
    *out = t->compiled;
    return POWER_OK;
}
