/* SPDX-License-Identifier: MIT */
/* The program: picks the command. Input: argv. Output: the command's exit status.
 * Owning thread: main. Bounds: none. */
#include "common.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

struct entry {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
};

static const struct entry entries[] = {
    {"run", "answer one prompt", command_run},
    {"chat", "talk with a model", command_chat},
    {"perplexity", "how well a model predicts a text", command_perplexity},
    {"show", "what a model file holds and needs", command_show},
    {"tokenize", "text to token ids and back", command_tokenize},
    {"template", "messages to the text a chat template makes", command_template},
    {"bench", "prefill and decode rates of this machine", command_bench},
    {"doctor", "what this build and machine can do", command_doctor},
};
#define COUNT (sizeof entries / sizeof entries[0])

static void print_help(void) {
    printf("power runs AI models from verified files inside hard bounds.\n\n"
           "usage: power COMMAND [options] ...\n\ncommands\n");
    for (size_t i = 0; i < COUNT; i++)
        printf("  %-12s %s\n", entries[i].name, entries[i].summary);
    printf("\n  --help       this text; power COMMAND --help explains a command\n"
           "  --version    the version\n\n"
           "exit status: 0 done, 1 failure, 2 wrong usage, 3 a constrained answer was cut,\n"
           "130 interrupted\n"
           "example: power run model.gguf \"Why is the sky blue?\"\n");
}

static int run_command(const char *command, int argc, char **argv) {
    for (size_t i = 0; i < COUNT; i++)
        if (!strcmp(command, entries[i].name)) return entries[i].run(argc, argv);
    fprintf(stderr, "power: unknown command \"%.40s\" (see power --help)\n", command);
    return EXIT_USAGE;
}

/* A closed stream would get the number of the next file that is opened, and texts would go there.
 * What holds the number now refuses as a closed stream does. */
static void hold_streams(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0) (void)open("/dev/null", fd ? O_RDONLY : O_WRONLY);
}

int main(int argc, char **argv) {
    char text[] = "--help", *help = text;
    hold_streams();
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of the write */
    if (argc < 2) {
        fputs("power: which command? (see power --help)\n", stderr);
        return EXIT_USAGE;
    }
    if (!strcmp(argv[1], "help") && argc > 2) return run_command(argv[2], 1, &help);
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        print_help();
        return fflush(stdout) || ferror(stdout) ? EXIT_FAILED : EXIT_OK;
    }
    if (!strcmp(argv[1], "--version")) {
        printf("power %s\n", power_version());
        return fflush(stdout) || ferror(stdout) ? EXIT_FAILED : EXIT_OK;
    }
    return run_command(argv[1], argc - 2, argv + 2);
}
