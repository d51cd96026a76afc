/* SPDX-License-Identifier: MIT */
/* Job: sets of characters for normalizers and pre-tokenizers.
 * Input: code points. Output: membership.
 * Threads: any. Bounds: constant time.
 * The tables list exceptions to utf8proc's categories; they were read off the published tokenizers
 * by asking them about every code point (tests/text/charsets.py does it again). */
#include "text/charset.h"

#include <stddef.h>

#include <utf8proc.h>

struct range {
    uint32_t first, last;
};

static const struct range young_accents[] = {
    {0x7FD, 0x7FD},     {0x898, 0x8E1},     {0x9FE, 0x9FE},     {0xAFA, 0xAFF},
    {0xB55, 0xB55},     {0xC04, 0xC3C},     {0xD00, 0xD00},     {0xD3B, 0xD3C},
    {0xD81, 0xD81},     {0xEBA, 0xEBA},     {0xECE, 0xECE},     {0x180F, 0x1886},
    {0x1ABF, 0x1ACE},   {0x1DF6, 0x1DFB},   {0xA82C, 0xA82C},   {0xA8C5, 0xA8C5},
    {0xA8FF, 0xA8FF},   {0xA9BD, 0xA9BD},   {0x10D24, 0x10F85}, {0x11070, 0x11074},
    {0x110C2, 0x110C2}, {0x111C9, 0x111C9}, {0x111CF, 0x111CF}, {0x1123E, 0x11241},
    {0x1133B, 0x1133B}, {0x11438, 0x1145E}, {0x1182F, 0x13455}, {0x16F4F, 0x16F4F},
    {0x16FE4, 0x16FE4}, {0x1CF00, 0x1CF46}, {0x1E000, 0x1E4EF}, {0x1E944, 0x1E94A}};

static const struct range young_marks[] = {
    {0x7FD, 0x7FD},     {0x898, 0x8D3},     {0x9FE, 0x9FE},     {0xAFA, 0xAFF},
    {0xB55, 0xB55},     {0xC04, 0xC3C},     {0xCF3, 0xD00},     {0xD3B, 0xD3C},
    {0xD81, 0xD81},     {0xEBA, 0xEBA},     {0xECE, 0xECE},     {0x1715, 0x1715},
    {0x180F, 0x180F},   {0x1ABF, 0x1ACE},   {0x1CF7, 0x1CF7},   {0x1DF6, 0x1DFA},
    {0xA82C, 0xA82C},   {0xA8FF, 0xA8FF},   {0x10D24, 0x10F85}, {0x11070, 0x11074},
    {0x110C2, 0x110C2}, {0x11145, 0x11146}, {0x111C9, 0x111C9}, {0x111CE, 0x111CF},
    {0x11241, 0x11241}, {0x1133B, 0x1133B}, {0x1145E, 0x1145E}, {0x1182C, 0x11A99},
    {0x11D31, 0x13455}, {0x16F4F, 0x16F4F}, {0x16F7F, 0x16F87}, {0x16FE4, 0x16FF1},
    {0x1CF00, 0x1CF46}, {0x1E08F, 0x1E4EF}};

static const struct range young_punctuation[] = {
    {0x61D, 0x61D},     {0x9FD, 0xA76},     {0xC77, 0xC84},     {0x1B7D, 0x1B7E},
    {0x2E43, 0x2E4F},   {0x2E52, 0x2E5D},   {0x10EAD, 0x10F89}, {0x1144B, 0x1145D},
    {0x11660, 0x116B9}, {0x1183B, 0x11FFF}, {0x12FF1, 0x12FF2}, {0x16E97, 0x16FE2},
    {0x1E95E, 0x1E95F}};

static const struct range young_compat[] = {
    {0x32FF, 0x32FF},   {0xA7F2, 0xA7F4},   {0xAB69, 0xAB69},  {0x10781, 0x107BA},
    {0x1E030, 0x1E06D}, {0x1F16C, 0x1F16C}, {0x1FBF0, 0x1FBF9}};

static const struct range cjk[] = {{0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},
                                   {0x20000, 0x2A6DF}, {0x2A700, 0x2B81F}, {0x2B920, 0x2CEAF},
                                   {0x2F800, 0x2FA1F}};

static const struct range letter_symbols[] = {
    {0x24B6, 0x24E9}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};

static const struct range kept_formats[] = {
    {0x890, 0x891}, {0x8E2, 0x8E2}, {0x110CD, 0x110CD}, {0x13430, 0x1343F}};

#define IN(ranges, code) is_in(ranges, sizeof(ranges) / sizeof *(ranges), code)

static bool is_in(const struct range *ranges, size_t n, uint32_t code) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (code > ranges[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && code >= ranges[low].first;
}

static utf8proc_category_t category(uint32_t code) {
    return utf8proc_category((utf8proc_int32_t)code);
}

static bool is_category(uint32_t code, utf8proc_category_t first, utf8proc_category_t last) {
    utf8proc_category_t c = category(code);
    return c >= first && c <= last;
}

bool power_is_space(uint32_t code) {
    return (code >= 9 && code <= 13) || code == 32 || code == 0x85 || code == 0xA0 ||
           code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
           code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

bool power_is_word(uint32_t code) {
    if (code < 0x80)
        return (code >= '0' && code <= '9') || (code >= 'a' && code <= 'z') ||
               (code >= 'A' && code <= 'Z') || code == '_';
    utf8proc_category_t c = category(code);
    if (c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_NL) return true; /* L, M, Nd, Nl */
    return c == UTF8PROC_CATEGORY_PC || code == 0x200C || code == 0x200D ||
           IN(letter_symbols, code);
}

bool power_is_bert_punctuation(uint32_t code) {
    if (code < 0x80)
        return (code > 32 && code < '0') || (code > '9' && code < 'A') ||
               (code > 'Z' && code < 'a') || (code > 'z' && code < 127);
    if (code == 0x166D || code == 0x111C9) return true;
    return is_category(code, UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO) &&
           !IN(young_punctuation, code);
}

bool power_is_bert_control(uint32_t code) {
    if (code == '\t' || code == '\n' || code == '\r') return false;
    utf8proc_category_t c = category(code);
    if (c == UTF8PROC_CATEGORY_CF) return !IN(kept_formats, code);
    return c == UTF8PROC_CATEGORY_CC || c == UTF8PROC_CATEGORY_CO || code == 0xFFFD;
}

bool power_is_bert_cjk(uint32_t code) {
    return code >= 0x3400 && IN(cjk, code);
}

bool power_is_bert_accent(uint32_t code) {
    if (code < 0x300) return false;
    return code == 0x1734 || (category(code) == UTF8PROC_CATEGORY_MN && !IN(young_accents, code));
}

bool power_is_mark(uint32_t code) {
    if (code < 0x300) return false;
    if (code == 0x1CF2 || code == 0x1CF3) return true;
    return is_category(code, UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME) && !IN(young_marks, code);
}

bool power_is_young_compat(uint32_t code) {
    return code >= 0x32FF && IN(young_compat, code);
}

bool power_is_combining(uint32_t code, bool compatible) {
    if (code < 0x300) return false;
    if ((code >= 0x1160 && code <= 0x11FF) || (code >= 0xD7B0 && code <= 0xD7FF)) return true;
    if ((code >= 0x3131 && code <= 0x318E) || (code >= 0xFF9E && code <= 0xFFDC))
        return compatible; /* narrow and compatibility forms of such */
    return utf8proc_get_property((utf8proc_int32_t)code)->combining_class != 0 ||
           is_category(code, UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME);
}

unsigned power_lower(uint32_t code, uint32_t out[2]) {
    out[0] = code >= 'A' && code <= 'Z' ? code + 32
             : code < 0x80              ? code
                                        : (uint32_t)utf8proc_tolower((utf8proc_int32_t)code);
    if (code != 0x130) return 1;
    out[0] = 'i';
    out[1] = 0x307;
    return 2;
}
