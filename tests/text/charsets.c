/* SPDX-License-Identifier: MIT */
/* The sets of characters of charset.h for a script. usage: charsets
 * Input: none. Output: a line for every code point that is a character: the code, a letter for each
 * set that holds it (u unassigned, s space, w word, p punctuation, c control, j CJK, a accent, m
 * mark, y young compatibility form), and its lower case in hexadecimal. Threads: one. Bounds:
 * 1,112,064 lines. */
#include <stdio.h>

#include <utf8proc.h>

#include "text/charset.h"

static bool is_unassigned(uint32_t code) {
    return utf8proc_category((utf8proc_int32_t)code) == UTF8PROC_CATEGORY_CN;
}

static const struct {
    bool (*holds)(uint32_t code);
    char letter;
} sets[] = {{is_unassigned, 'u'},         {power_is_space, 's'},
            {power_is_word, 'w'},         {power_is_bert_punctuation, 'p'},
            {power_is_bert_control, 'c'}, {power_is_bert_cjk, 'j'},
            {power_is_bert_accent, 'a'},  {power_is_mark, 'm'},
            {power_is_young_compat, 'y'}};

int main(void) {
    for (uint32_t code = 0; code < 0x110000; code++) {
        if (code >= 0xD800 && code < 0xE000) continue;
        uint32_t lower[2];
        unsigned n = power_lower(code, lower);
        printf("%x ", code);
        for (unsigned i = 0; i < sizeof sets / sizeof *sets; i++) {
            if (sets[i].holds(code)) putchar(sets[i].letter);
        }
        printf(n == 2 ? " %x %x\n" : " %x\n", lower[0], lower[1]);
    }
    return ferror(stdout) ? 1 : 0;
}
