/* SPDX-License-Identifier: MIT */
/* Public functions on answers: reasoning, text and tool calls out of what a model says.
 * Input: deltas of a generation. Output: events on the caller's callback; constraints of calls.
 * Threads: an answer belongs to one thread. Bounds: as text/answer/answer.h says. */
#include "power/answer.h"

#include <string.h>

#include "api/constraint.h"
#include "api/runtime.h"
#include "text/answer/answer.h"

enum { LEADING_SPACE = 16 };      /* white space between reasoning and the calls */
enum { MOST_LEFT_OUT = 1 << 20 }; /* bytes: places of tokens that are held back at once */

/* A control token that is no mark: its spelling in the answer's text. */
struct left_out {
    uint64_t from, to;
};

struct power_answer {
    power_model *model; /* held */
    struct power_answer_format format;
    struct power_answer_parser *parser;
    uint64_t at;                   /* bytes of text that deltas brought */
    uint64_t offset;               /* where the last token began */
    unsigned char last[3];         /* bytes of tokens, the newest first */
    struct power_buffer left_outs; /* struct left_out, of what a stop string may hold back */
};

void power_answer_options_init(power_answer_options *options) {
    if (!options) return;
    *options = (power_answer_options){.struct_size = sizeof *options};
}

void power_tools_options_init(power_tools_options *options) {
    if (!options) return;
    *options = (power_tools_options){.struct_size = sizeof *options};
}

const char *power_answer_formats(size_t index) {
    return power_answer_format_list(index);
}

static struct power_text template_of(const power_model *model) {
    power_model_info info = {.struct_size = sizeof info};
    power_error ignored;
    if (power_model_get_info(model, &info, &ignored) != POWER_OK || !info.chat_template)
        return (struct power_text){"", 0};
    return power_text_of(info.chat_template);
}

/* "hermes" or "hermes+think"; without a name, what the template writes. */
static power_status format_of(const power_model *model, const char *name, bool tools,
                              struct power_answer_format *out, power_error *error) {
    if (name) {
        const char *plus = strchr(name, '+');
        struct power_text calls = {name, plus ? (size_t)(plus - name) : strlen(name)};
        if (power_answer_format_named(calls, power_text_of(plus ? plus + 1 : ""), out))
            return POWER_OK;
        return power_fail(error, POWER_INVALID, "no format of answers is called \"%s\"",
                          power_quote(name, strlen(name)).text);
    }
    struct power_text text = template_of(model);
    *out = power_answer_format_of(text);
    if (!tools || out->calls) return POWER_OK;
    if (!text.length)
        return power_fail(error, POWER_UNSUPPORTED,
                          "tools: the model has no chat template, so no format of calls");
    return power_fail(error, POWER_UNSUPPORTED,
                      "tools: the model's chat template has no format of calls that is known; "
                      "\"format\" can name one");
}

power_status power_answer_open(power_model *model, const power_answer_options *options,
                               power_answer **out_answer, power_error *error) {
    power_answer_options o;
    power_answer_options_init(&o);
    if (!model || !options || !out_answer)
        return power_fail(error, POWER_INVALID, "model, options or out_answer is NULL");
    power_status status =
        power_options_copy(&o, sizeof o, options, options->struct_size, "answer options", error);
    if (status != POWER_OK) return status;
    if (!o.on_event) return power_fail(error, POWER_INVALID, "answer options: no on_event");
    const power_allocator *allocator = model->host.allocator;
    power_answer *answer = power_alloc(allocator, 1, sizeof *answer);
    if (!answer) return power_fail_memory(error, sizeof *answer, "an answer");
    answer->model = model;
    power_buffer_init(&answer->left_outs, allocator, MOST_LEFT_OUT);
    status = format_of(model, o.format, o.tools_json != NULL, &answer->format, error);
    if (status == POWER_OK) {
        const struct power_answer_parser_options inner = {
            .tools = o.tools_json != NULL,
            .reasoning_open = o.prompt && power_answer_reasoning_is_open(&answer->format,
                                                                         power_text_of(o.prompt)),
            .tools_json = power_text_of(o.tools_json ? o.tools_json : ""),
            .max_call_bytes = o.max_call_bytes,
            .on_event = o.on_event,
            .context = o.context};
        status =
            power_answer_parser_create(allocator, &answer->format, &inner, &answer->parser, error);
    }
    if (status != POWER_OK) {
        power_release(allocator, answer, 1, sizeof *answer);
        return status;
    }
    power_model_hold(model);
    *out_answer = answer;
    return POWER_OK;
}

void power_answer_close(power_answer *answer) {
    if (!answer) return;
    power_model *model = answer->model;
    power_answer_parser_destroy(answer->parser);
    power_buffer_finish(&answer->left_outs);
    power_release(model->host.allocator, answer, 1, sizeof *answer);
    power_model_destroy(model);
}

power_status power_answer_push_text(power_answer *answer, const char *text, size_t text_bytes,
                                    power_error *error) {
    if (!answer || (!text && text_bytes))
        return power_fail(error, POWER_INVALID, "answer or text is NULL");
    return power_answer_parser_push(answer->parser,
                                    (struct power_text){text ? text : "", text_bytes}, error);
}

/* ---- control tokens that are no marks are not for the reader ---- */

static bool is_left_out(const power_answer *answer, const power_delta *delta,
                        struct power_text *out_piece) {
    const struct power_vocab *vocab = answer->model->vocab;
    if (!vocab || delta->id >= power_vocab_info(vocab)->n_tokens) return false;
    if (power_vocab_token_type(vocab, delta->id) != POWER_TOKEN_CONTROL) return false;
    *out_piece = power_vocab_piece(vocab, delta->id);
    return out_piece->length && !power_answer_is_mark(&answer->format, *out_piece);
}

static bool begins(struct power_text text, struct power_text with) {
    size_t n = text.length < with.length ? text.length : with.length;
    return n == 0 || memcmp(text.bytes, with.bytes, n) == 0;
}

/* Whether the tokens so far end inside a character. */
static bool under_way(const power_answer *answer) {
    for (size_t i = 0; i < sizeof answer->last; i++) {
        unsigned char byte = answer->last[i];
        if ((byte & 0xC0) == 0x80) continue;
        return (byte >= 0xC2) + (byte >= 0xE0) + (byte >= 0xF0) > (int)i;
    }
    return false;
}

static void remember(power_answer *answer, const power_delta *delta) {
    for (size_t i = 0; i < delta->n_token_bytes; i++) {
        memmove(answer->last + 1, answer->last, sizeof answer->last - 1);
        answer->last[0] = (unsigned char)delta->token_bytes[i];
    }
}

/* A stop string that it could still begin may hold back any part of a token's text, which then
 * comes with a later delta: the place in the answer tells what to leave out. */
static power_status leave_out(power_answer *answer, const power_delta *delta,
                              struct power_text piece, power_error *error) {
    static const struct power_text broken = {"\xEF\xBF\xBD", 3};
    struct left_out range = {delta->text_offset, 0};
    struct power_text seen = {"", 0};
    if (delta->text_bytes && range.from < answer->at + delta->text_bytes) {
        size_t before = (size_t)(range.from - answer->at);
        seen = (struct power_text){delta->text + before, delta->text_bytes - before};
    }
    if (seen.length ? begins(seen, broken) : under_way(answer)) { /* a character that it broke */
        size_t n = seen.length < broken.length ? seen.length : broken.length;
        seen = (struct power_text){seen.bytes + n, seen.length - n};
        range.from += broken.length;
    }
    if (!begins(seen, piece)) return POWER_OK;
    range.to = range.from + piece.length;
    if (power_buffer_append(&answer->left_outs, &range, sizeof range)) {
        return POWER_OK;
    }
    return power_fail_memory(error, sizeof range, "an answer");
}

/* A delta of the caller's own making: the token's text, if it is there, is the delta's end. */
static size_t spelled_at_end(const power_delta *delta, struct power_text piece) {
    if (piece.length > delta->text_bytes) return 0;
    const char *end = delta->text + delta->text_bytes - piece.length;
    return memcmp(end, piece.bytes, piece.length) == 0 ? piece.length : 0;
}

static power_status push_rest(power_answer *answer, const char *text, size_t n,
                              power_error *error) {
    struct power_buffer *list = &answer->left_outs;
    power_status status = POWER_OK;
    while (n && status == POWER_OK && list->length) {
        struct left_out range;
        memcpy(&range, list->bytes, sizeof range);
        bool before = range.from > answer->at, behind = range.to <= answer->at;
        uint64_t part = before ? range.from - answer->at : behind ? 0 : range.to - answer->at;
        size_t taken = part < n ? (size_t)part : n;
        if (before) status = power_answer_push_text(answer, text, taken, error);
        if (behind) {
            list->length -= sizeof range;
            memmove(list->bytes, list->bytes + sizeof range, list->length);
        }
        answer->at += taken;
        text += taken;
        n -= taken;
    }
    answer->at += n;
    return status == POWER_OK ? power_answer_push_text(answer, text, n, error) : status;
}

power_status power_answer_push(power_answer *answer, const power_delta *delta, power_error *error) {
    if (!answer || !delta) return power_fail(error, POWER_INVALID, "answer or delta is NULL");
    if ((!delta->text && delta->text_bytes) || (!delta->token_bytes && delta->n_token_bytes))
        return power_fail(error, POWER_INVALID, "the delta's text or token_bytes is NULL");
    size_t n = delta->text_bytes;
    struct power_text piece;
    power_status status = POWER_OK;
    if (delta->text_offset < answer->offset) { /* another generation goes on with the answer */
        power_buffer_clear(&answer->left_outs);
        memset(answer->last, 0, sizeof answer->last);
        answer->at = 0;
    }
    answer->offset = delta->text_offset;
    if (is_left_out(answer, delta, &piece)) {
        if (delta->n_token_bytes && delta->text_offset >= answer->at)
            status = leave_out(answer, delta, piece, error);
        else
            n -= spelled_at_end(delta, piece);
    }
    remember(answer, delta);
    return status == POWER_OK ? push_rest(answer, delta->text, n, error) : status;
}

power_status power_answer_finish(power_answer *answer, int cut, power_error *error) {
    if (!answer) return power_fail(error, POWER_INVALID, "answer is NULL");
    return power_answer_parser_finish(answer->parser, cut != 0, error);
}

power_status power_model_answer_format(const power_model *model, power_answer_format_info *out_info,
                                       power_error *error) {
    if (!model || !out_info) return power_fail(error, POWER_INVALID, "model or out_info is NULL");
    if (out_info->struct_size != sizeof *out_info)
        return power_fail(error, POWER_INVALID, "answer format info: struct_size is %zu",
                          out_info->struct_size);
    struct power_text text = template_of(model), open, close;
    if (!text.length) return power_fail(error, POWER_NOT_FOUND, "the model has no chat template");
    struct power_answer_format format = power_answer_format_of(text);
    power_answer_reasoning_marks(&format, &open, &close);
    out_info->calls = format.calls ? power_answer_format_name(&format) : NULL;
    out_info->reasoning_open = open.bytes;
    out_info->reasoning_close = close.bytes;
    return POWER_OK;
}

/* ---- constraints ---- */

struct front {
    struct power_answer_format format;
    struct power_tool_request request; /* but for what the options say of schemas */
    const power_constraint_options *options;
    const struct power_vocab *vocab;
};

static power_status envelope(void *context, struct power_grammar *g, power_expr *out,
                             power_error *error) {
    struct front *front = context;
    front->request.schema = power_constraint_schema_options(front->options);
    return power_answer_envelope(g, &front->format, &front->request, front->vocab, out, error);
}

static power_status check_tools(const power_tools_options *o, power_error *error) {
    if (!o->tools_json) return power_fail(error, POWER_INVALID, "tools options: no tools_json");
    if ((unsigned)o->choice > POWER_TOOL_CHOICE_NAMED)
        return power_fail(error, POWER_INVALID,
                          "tools options: \"choice\" is %d, known are 0 to %d", (int)o->choice,
                          (int)POWER_TOOL_CHOICE_NAMED);
    if (o->choice == POWER_TOOL_CHOICE_NAMED && !o->name)
        return power_fail(error, POWER_INVALID, "tools options: a named choice without a name");
    return POWER_OK;
}

power_status power_tools_constraint_open(power_model *model, const power_tools_options *options,
                                         power_constraint **out_constraint, power_error *error) {
    static const enum power_tool_choice choices[] = {POWER_TOOLS_AUTO, POWER_TOOLS_REQUIRED,
                                                     POWER_TOOLS_NAMED};
    power_tools_options o;
    power_constraint_options c;
    struct front front = {0};
    power_tools_options_init(&o);
    power_constraint_options_init(&c);
    if (!model || !options || !out_constraint)
        return power_fail(error, POWER_INVALID, "model, options or out_constraint is NULL");
    power_status status =
        power_options_copy(&o, sizeof o, options, options->struct_size, "tools options", error);
    if (status == POWER_OK) status = check_tools(&o, error);
    if (status == POWER_OK && o.constraint)
        status = power_options_copy(&c, sizeof c, o.constraint, o.constraint->struct_size,
                                    "constraint options", error);
    if (status == POWER_OK) status = format_of(model, o.format, true, &front.format, error);
    if (status != POWER_OK) return status;
    if (front.format.reasoning && !c.leading_space) c.leading_space = LEADING_SPACE;
    front.vocab = model->vocab;
    front.request = (struct power_tool_request){.tools_json = power_text_of(o.tools_json),
                                                .choice = choices[o.choice],
                                                .name = power_text_of(o.name ? o.name : ""),
                                                .parallel = o.parallel != 0};
    front.options = &c;
    return power_constraint_create(model, &c, envelope, &front, out_constraint, error);
}
