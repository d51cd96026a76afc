/* SPDX-License-Identifier: MIT */
/* Job: print how a splitter cuts texts, for tests/text/split_agree.py.
 * Input: `--names`, or a name and on stdin records of a 4-byte little-endian length and a text.
 * Output: the names of each splitter, one line each; or for each text a line of piece lengths.
 * Threads: one. Bounds: texts of at most 16 MiB. */
#include <stdio.h>
#include <stdlib.h>

#include "text/split.h"

static bool print_piece(void *context, struct power_text piece) {
    (void)context;
    printf("%zu ", piece.length);
    return true;
}

static int print_names(void) {
    const struct power_splitter *splitter;
    for (size_t i = 0; (splitter = power_splitter_at(i)); i++)
        printf("%s%s\n", splitter->names, splitter->characters ? " (characters)" : "");
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    if (strcmp(argv[1], "--names") == 0) return print_names();
    const struct power_splitter *splitter = power_splitter_find(power_text_of(argv[1]));
    if (!splitter) return 3;
    unsigned char head[4];
    while (fread(head, 1, 4, stdin) == 4) {
        size_t n = (size_t)head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16;
        char *text = malloc(n + 1);
        if (!text || fread(text, 1, n, stdin) != n) return 4;
        (void)power_split(splitter->stages, (struct power_text){text, n}, print_piece, NULL);
        putchar('\n');
        free(text);
    }
    return 0;
}
