/* SPDX-License-Identifier: MIT */
/* Public functions on chat templates: render, and render to tokens.
 * Input: messages and variables of callers. Output: texts and ids in callers' buffers.
 * Threads: any; nothing of the model changes. Bounds: the callers' capacities, told when too small;
 * the budgets of the options. */
#include <jansson.h>
#include <string.h>
#include <time.h>

#include "api/text.h"

void power_render_options_init(power_render_options *options) {
    if (!options) return;
    *options = (power_render_options){.struct_size = sizeof *options};
}

/* ---- what the model itself says ---- */

static bool add_token(json_t *own, const power_model *model, const char *name, uint32_t id,
                      bool always) {
    struct power_text piece = {0};
    if (model && model->vocab && id != POWER_NO_TOKEN) piece = power_vocab_piece(model->vocab, id);
    if (piece.length == 0 && !always) return true;
    json_t *text = json_stringn(piece.bytes ? piece.bytes : "", piece.length);
    return json_object_set_new(own, name, text ? text : json_string("")) == 0;
}

/* bos_token and the like as a JSON object; the caller frees. NULL without memory. */
static char *own_variables(const power_model *model) {
    struct power_vocab_info none = {.bos = POWER_NO_TOKEN, .eos = POWER_NO_TOKEN};
    const struct power_vocab_info *info = &none;
    none.unk = none.pad = POWER_NO_TOKEN;
    if (model && model->vocab) info = power_vocab_info(model->vocab);
    json_t *own = json_object();
    bool made = own && add_token(own, model, "bos_token", info->bos, true) &&
                add_token(own, model, "eos_token", info->eos, true) &&
                add_token(own, model, "unk_token", info->unk, false) &&
                add_token(own, model, "pad_token", info->pad, false);
    char *text = made ? json_dumps(own, 0) : NULL;
    json_decref(own);
    return text;
}

/* ---- rendering ---- */

struct rendering {
    const power_model *model;
    const power_allocator *allocator;
    struct power_template_input input;
    struct power_template_limits limits;
    const struct power_template *chosen;
    struct power_template *compiled; /* of template_text */
    struct power_buffer text, plain;
    char *own, *messages; /* JSON made here */
};

static void rendering_init(struct rendering *r, const power_model *model) {
    *r = (struct rendering){.model = model, .allocator = &power_default_allocator};
    if (model) r->allocator = model->host.allocator;
    power_buffer_init(&r->text, r->allocator, POWER_API_TEXT_BYTES);
    power_buffer_init(&r->plain, r->allocator, POWER_API_TEXT_BYTES);
    r->input.now_unix_s = (int64_t)time(NULL);
}

static void rendering_finish(struct rendering *r) {
    power_buffer_finish(&r->text);
    power_buffer_finish(&r->plain);
    power_template_destroy(r->compiled);
    free(r->own);
    free(r->messages);
}

static power_status choose(struct rendering *r, const char *name, const char *text, bool tools,
                           power_error *error) {
    if (!text) return power_model_choose_template(r->model, name, tools, &r->chosen, error);
    power_status status =
        power_template_compile(r->allocator, power_text_of(text), &r->compiled, error);
    r->chosen = r->compiled;
    return status;
}

static power_status run(struct rendering *r, bool with_origins, power_error *error) {
    r->own = own_variables(r->model);
    if (!r->own)
        return power_fail(error, POWER_NO_MEMORY, "no memory for the template's variables");
    r->input.own = power_text_of(r->own);
    return power_template_run(r->chosen, &r->input, &r->limits, &r->text,
                              with_origins ? &r->plain : NULL, error);
}

static power_status check_options(const power_model *model, const power_render_options *o,
                                  power_error *error) {
    if (!model && !o->template_text)
        return power_fail(error, POWER_INVALID, "neither a model nor a template is given");
    if (o->messages && o->messages_json)
        return power_fail(error, POWER_INVALID, "messages and messages_json are both given");
    if (!o->messages && o->n_messages)
        return power_fail(error, POWER_INVALID, "messages is NULL, n_messages is %zu",
                          o->n_messages);
    if (o->max_bytes > POWER_API_TEXT_BYTES)
        return power_fail(error, POWER_INVALID, "max_bytes is %llu, at most %zu",
                          (unsigned long long)o->max_bytes, POWER_API_TEXT_BYTES);
    return POWER_OK;
}

static bool add_message(json_t *list, const power_message *message) {
    json_t *one = json_object();
    bool good = json_object_set_new(one, "role", json_string(message->role)) == 0 &&
                json_object_set_new(one, "content", json_string(message->content)) == 0;
    if (good) return json_array_append_new(list, one) == 0;
    json_decref(one);
    return false;
}

/* Plain messages as the JSON that templates are given; r->messages owns it. */
static power_status write_messages(struct rendering *r, const power_message *messages,
                                   size_t n_messages, power_error *error) {
    json_t *list = json_array();
    power_status status = POWER_OK;
    for (size_t i = 0; i < n_messages && status == POWER_OK; i++) {
        if (!messages[i].role || !messages[i].content)
            status = power_fail(error, POWER_INVALID, "message %zu: role or content is NULL", i);
        else if (!add_message(list, &messages[i]))
            status =
                power_fail(error, POWER_INVALID, "message %zu: role or content is not UTF-8", i);
    }
    if (status == POWER_OK) r->messages = json_dumps(list, 0);
    json_decref(list);
    if (status == POWER_OK && !r->messages)
        return power_fail(error, POWER_NO_MEMORY, "no memory for the messages");
    return status;
}

static power_status render_options(struct rendering *r, const power_render_options *options,
                                   bool with_origins, power_error *error) {
    power_render_options copy, *o = &copy;
    power_render_options_init(o);
    if (!options) return power_fail(error, POWER_INVALID, "options is NULL");
    power_status status =
        power_options_copy(o, sizeof *o, options, options->struct_size, "render options", error);
    if (status == POWER_OK) status = check_options(r->model, o, error);
    if (status == POWER_OK)
        status = choose(r, o->template_name, o->template_text, o->tools_json != NULL, error);
    if (status == POWER_OK && o->messages)
        status = write_messages(r, o->messages, o->n_messages, error);
    if (status != POWER_OK) return status;
    r->input.chat = true;
    r->input.messages = power_text_of(o->messages ? r->messages : o->messages_json);
    r->input.tools = power_text_of(o->tools_json);
    r->input.variables = power_text_of(o->variables_json);
    r->input.add_generation_prompt = !o->no_generation_prompt;
    r->input.continue_final_message = o->continue_final_message != 0;
    if (o->has_now) r->input.now_unix_s = o->now_unix_s;
    r->limits = (struct power_template_limits){o->max_steps, (size_t)o->max_bytes, o->max_depth};
    return run(r, with_origins, error);
}

power_status power_render_chat(const power_model *model, const power_render_options *options,
                               char *out_text, size_t capacity, size_t *out_bytes,
                               power_error *error) {
    struct rendering r;
    if ((!out_text && capacity) || !out_bytes)
        return power_fail(error, POWER_INVALID, "out_text or out_bytes is NULL");
    rendering_init(&r, model);
    power_status status = render_options(&r, options, false, error);
    if (status == POWER_OK)
        status = power_api_hand_over(&r.text, out_text, capacity, out_bytes, error);
    rendering_finish(&r);
    return status;
}

power_status power_render_tokens(const power_model *model, const power_render_options *options,
                                 uint32_t *out_ids, size_t capacity, size_t *out_count,
                                 power_error *error) {
    struct rendering r;
    if (!model || (!out_ids && capacity) || !out_count)
        return power_fail(error, POWER_INVALID, "model, out_ids or out_count is NULL");
    power_status status = power_api_need_vocab(model, error);
    if (status != POWER_OK) return status;
    rendering_init(&r, model);
    status = render_options(&r, options, true, error);
    struct power_tokenize_options how = {.parse_special = true, .add_special = true};
    how.plain = (const unsigned char *)r.plain.bytes;
    if (status == POWER_OK)
        status = power_vocab_encode(
            model->vocab, (struct power_text){r.text.bytes ? r.text.bytes : "", r.text.length},
            &how, out_ids, capacity, out_count, error);
    rendering_finish(&r);
    return status;
}

/* ---- shorter forms ---- */

power_status power_render(const power_model *model, const power_message *messages,
                          size_t n_messages, int add_generation_prompt, char *out_text,
                          size_t capacity, size_t *out_bytes, power_error *error) {
    static const power_message none;
    power_render_options options;
    if (!model || (!messages && n_messages) || (!out_text && capacity) || !out_bytes)
        return power_fail(error, POWER_INVALID, "model, messages, out_text or out_bytes is NULL");
    power_render_options_init(&options);
    options.messages = messages ? messages : &none;
    options.n_messages = n_messages;
    options.no_generation_prompt = !add_generation_prompt;
    return power_render_chat(model, &options, out_text, capacity, out_bytes, error);
}

power_status power_render_json(const power_model *model, const char *variables_json, char *out_text,
                               size_t capacity, size_t *out_bytes, power_error *error) {
    struct rendering r;
    if (!model || !variables_json || (!out_text && capacity) || !out_bytes)
        return power_fail(error, POWER_INVALID, "model, variables, out_text or out_bytes is NULL");
    rendering_init(&r, model);
    r.input.variables = power_text_of(variables_json);
    power_status status = choose(&r, NULL, NULL, false, error);
    if (status == POWER_OK) status = run(&r, false, error);
    if (status == POWER_OK)
        status = power_api_hand_over(&r.text, out_text, capacity, out_bytes, error);
    rendering_finish(&r);
    return status;
}
