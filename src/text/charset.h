/* SPDX-License-Identifier: MIT */
/* Sets of characters that normalizers and pre-tokenizers of tokenizer.json ask for.
 * Input: code points. Output: membership.
 * Threads: any. Bounds: constant time (small tables, binary search).
 * BERT's sets are those of the published tokenizers, whose tables are of Unicode 8 (punctuation,
 * marks) and 11 (compatibility forms): what was assigned later is in none of them. */
#ifndef POWER_TEXT_CHARSET_H
#define POWER_TEXT_CHARSET_H

#include <stdbool.h>
#include <stdint.h>

bool power_is_space(uint32_t code); /* White_Space */
/* \w: Alphabetic, M, Nd, Pc, Join_Control */
bool power_is_word(uint32_t code);
bool power_is_bert_punctuation(uint32_t code);
bool power_is_bert_control(uint32_t code); /* removed by clean_text */
bool power_is_bert_cjk(uint32_t code);     /* set apart by handle_chinese_chars */
bool power_is_bert_accent(uint32_t code);  /* removed by BertNormalizer's strip_accents */
bool power_is_mark(uint32_t code);         /* removed by StripAccents */
/* Compatibility decompositions that are younger than the published tokenizers' tables. */
bool power_is_young_compat(uint32_t code);
/* May join with what stands before it, in the canonical or the compatibility forms. */
bool power_is_combining(uint32_t code, bool compatible);
/* Lower case as Unicode's full mapping: 1 or 2 code points. */
unsigned power_lower(uint32_t code, uint32_t out[2]);

#endif
