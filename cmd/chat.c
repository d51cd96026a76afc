/* SPDX-License-Identifier: MIT */
/* power chat: a conversation. Input: lines from a terminal or a pipe. Output: answers as they come.
 * Owning thread: main. Bounds: the conversation must fit the context; nothing is dropped unasked.
 */
#include "answer.h"
#include "chat_turns.h"
#include "common.h"

#include <editline/readline.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char name[] = "chat";

struct chat {
    struct model_args m;
    struct sampling_args s;
    const char *system;
    struct opened o;
    struct turns turns;
    struct sampling_lists lists;
    uint32_t asked;
    power_generate_options g;
    struct spoken spoken; /* the answer at hand: its reasoning is no part of the conversation */
};

static const char help[] = "/help    this text\n"
                           "/clear   forget the conversation (the system message stays)\n"
                           "/drop    forget the oldest question and its answer\n"
                           "/quit    leave (also Ctrl-D)\n"
                           "Ctrl-C stops an answer, not the program\n";

static int on_delta(void *context, const power_delta *delta) {
    struct chat *c = context;
    return !spoken_push(&c->spoken, delta);
}

/* Keeps the part of the state that the new prompt shares, so that only the rest is evaluated. */
static int keep_prefix(struct chat *c, const uint32_t *ids, size_t count, size_t *out_kept) {
    power_error error = {.offset = POWER_NO_OFFSET};
    const uint32_t *have = power_session_tokens(c->o.session);
    uint32_t length = power_session_length(c->o.session), same = 0;
    while (same < length && same + 1 < count && have[same] == ids[same])
        same++;
    if (same < length && power_session_truncate(c->o.session, same, &error)) {
        /* A recurrent state goes back a few tokens only: start over. */
        same = 0;
        if (power_session_truncate(c->o.session, 0, &error)) return fail_with(name, &error);
    }
    *out_kept = same;
    return -1;
}

static int say_full(const struct chat *c, size_t needed) {
    fprintf(stderr,
            "the conversation has %zu tokens, the context holds %u: /drop forgets the oldest "
            "question, /clear everything\n",
            needed, c->o.context);
    return -1;
}

/* Whether the answer begins inside the reasoning, the text of the prompt tells. */
static int begin_answer(struct chat *c) {
    char *prompt = NULL;
    size_t bytes = 0;
    int rc = render_messages(name, c->o.model, c->turns.list, c->turns.count, &prompt, &bytes);
    if (rc < 0) rc = spoken_open(name, &c->spoken, c->o.model, NULL, NULL, prompt, true);
    free(prompt);
    return rc;
}

/* What was said is a turn; what was thought is none. */
static int end_answer(struct chat *c, power_status status, power_finish finish, bool *out_kept) {
    struct spoken *s = &c->spoken;
    bool cut = status != POWER_OK || finish != POWER_FINISH_STOP;
    bool written = spoken_finish(s, cut) && write_out("\n", 1);
    *out_kept = written && s->text_bytes != 0 && (!status || status == POWER_CANCELLED);
    bool room = !*out_kept || turns_add(&c->turns, "assistant", s->text, s->text_bytes);
    spoken_close(s);
    if (!written) return write_failed(name);
    return room ? -1 : fail_text(name, "the conversation has too many turns");
}

/* One question that is already among the turns. Returns -1 to go on, else an exit status. */
static int answer(struct chat *c, bool *out_kept_turn) {
    power_error error = {.offset = POWER_NO_OFFSET};
    power_generate_result result = {.struct_size = sizeof result};
    uint32_t *ids = NULL;
    size_t count = 0, kept = 0;
    *out_kept_turn = false;
    int rc = render_ids(name, c->o.model, c->turns.list, c->turns.count, &ids, &count);
    if (rc >= 0) return -1; /* said already; the question is taken back */
    if (count >= c->o.context) return free(ids), say_full(c, count);
    rc = keep_prefix(c, ids, count, &kept);
    if (rc >= 0) return free(ids), rc;
    c->g.ids = ids + kept;
    c->g.n_ids = count - kept;
    c->g.sampling.choice = c->asked++; /* each answer draws noise of its own */
    rc = begin_answer(c);
    if (rc >= 0) return free(ids), -1;
    interrupt_clear();
    interrupt_watch(c->o.session);
    power_status status = power_generate(c->o.session, &c->g, &result, &error);
    /* A Ctrl-C that came just after the last answer's end is not meant for this one. */
    if (status == POWER_CANCELLED && !interrupted())
        status = power_generate(c->o.session, &c->g, &result, &error);
    interrupt_watch(NULL); /* at the prompt there is nothing to cancel */
    free(ids);
    rc = end_answer(c, status, result.finish, out_kept_turn);
    if (rc >= 0) return rc;
    if (status == POWER_CONTEXT_FULL) return say_full(c, count);
    if (status && status != POWER_CANCELLED) {
        fail_with(name, &error);
        return -1;
    }
    if (!status && result.finish == POWER_FINISH_LENGTH)
        fprintf(stderr, "the answer was cut at --max-tokens %u\n", c->g.max_tokens);
    if (!status && result.finish == POWER_FINISH_CONTEXT)
        return say_full(c, power_session_length(c->o.session));
    return -1;
}

/* A line that starts with '/'. Returns -1 to go on, EXIT_OK to leave. */
static int command_line(struct chat *c, const char *line) {
    if (!strcmp(line, "/quit") || !strcmp(line, "/exit")) return EXIT_OK;
    if (!strcmp(line, "/help")) {
        write_out(help, sizeof help - 1);
    } else if (!strcmp(line, "/clear")) {
        turns_clear(&c->turns);
        fputs("the conversation is forgotten\n", stderr);
    } else if (!strcmp(line, "/drop")) {
        fputs(turns_drop(&c->turns) ? "the oldest question is forgotten\n" : "nothing to drop\n",
              stderr);
    } else {
        fprintf(stderr, "unknown command \"%.40s\", see /help\n", line);
    }
    return write_failed(name);
}

/* NULL at the end of the input; a line interrupted by Ctrl-C comes back empty. */
static char *next_line(bool terminal) {
    if (terminal) {
        char *line = readline("> ");
        if (line && *line) add_history(line);
        return line;
    }
    char *line = NULL;
    size_t capacity = 0;
    errno = 0;
    ssize_t n = getline(&line, &capacity, stdin);
    if (n < 0) {
        free(line);
        return NULL;
    }
    if (n && line[n - 1] == '\n') line[--n] = 0;
    if (strlen(line) != (size_t)n) {
        fputs("power chat: a line with a NUL byte is left out\n", stderr);
        *line = 0;
    }
    return line;
}

static int talk(struct chat *c) {
    bool terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    if (terminal) fputs("/help lists the commands\n", stderr);
    for (;;) {
        char *line = next_line(terminal);
        if (!line && interrupted()) {
            interrupt_clear();
            clearerr(stdin);
            if (write_out("\n", 1)) continue;
        }
        if (!line) break;
        int rc = -1;
        bool kept = true;
        if (line[0] == '/') {
            rc = command_line(c, line);
        } else if (line[0]) {
            if (!turns_add(&c->turns, "user", line, strlen(line)))
                rc = fail_text(name, "the conversation has too many turns");
            if (rc < 0) rc = answer(c, &kept);
            if (!kept) turns_remove_last(&c->turns);
        }
        free(line);
        if (rc >= 0) return rc;
    }
    if (terminal) write_out("\n", 1);
    return EXIT_OK;
}

static int need_template(struct chat *c) {
    power_error error = {.offset = POWER_NO_OFFSET};
    power_model_info info = {.struct_size = sizeof info};
    if (power_model_get_info(c->o.model, &info, &error)) return fail_with(name, &error);
    if (info.chat_template) return -1;
    return fail_text(name, "the model has no chat template; power run --raw continues a text");
}

int command_chat(int argc, char **argv) {
    static const struct command command = {"chat",
                                           "MODEL",
                                           "Talks with a model; /help lists what can be typed.",
                                           "power chat model.gguf --system \"Answer briefly.\"",
                                           1,
                                           1};
    struct chat *c = calloc(1, sizeof *c);
    if (!c) return fail_text(name, "out of memory");
    model_args_init(&c->m);
    sampling_args_init(&c->s);
    struct arg_table table = {0};
    const struct arg first[] = {
        {ARG_GROUP, NULL, 0, NULL, "conversation", NULL, 0, 0},
        {ARG_TEXT, "system", 's', "TEXT", "system message", &c->system, 0, 0}};
    args_extend(&table, first, sizeof first / sizeof first[0]);
    add_model_args(&table, &c->m, CTX_HELP);
    add_sampling_args(&table, &c->s);
    const char *model;
    size_t count;
    int rc = args_parse(&command, table.list, argc, argv, &model, &count);
    if (rc < 0) rc = open_model(name, &c->m, model, false, &c->o);
    if (rc < 0) rc = need_template(c);
    power_generate_options_init(&c->g);
    if (rc < 0) rc = apply_sampling(name, &c->s, c->o.model, &c->lists, &c->g);
    if (rc < 0) rc = open_session(name, &c->m, 0, &c->o);
    interrupt_watch(NULL);
    if (rc < 0 && c->system && !turns_add(&c->turns, "system", c->system, strlen(c->system)))
        rc = fail_text(name, "out of memory");
    c->g.on_delta = on_delta;
    c->g.show_special = 1; /* marks of reasoning may be control tokens */
    c->g.context = c;
    if (rc < 0) rc = talk(c);
    close_all(&c->o);
    turns_finish(&c->turns);
    free(c);
    return rc;
}
