/* SPDX-License-Identifier: MIT */
/* Job: scanners for the expressions that are a class of literal ranges.
 * Input: text, a place. Output: end of the match.
 * Threads: any. Bounds: a binary search for each character.
 * Source: the ranges as the authors of deepseek, youtu and afmoe publish them; Scripts.txt. */
#include "text/split_scan.h"

struct range {
    uint32_t first, last;
};

/* deepseek-coder, deepseek-llm: ideographs, U+0800 to U+4E00, Hangul */
static const struct range cjk[] = {{0x800, 0x9FA5}, {0xAC00, 0xD7FF}};
/* deepseek-v3: ideographs, kana */
static const struct range cjk_kana[] = {{0x3040, 0x30FF}, {0x4E00, 0x9FA5}};
/* afmoe: ideographs, kana, radicals, Thai, Lao, Khmer, Myanmar, Hangul */
static const struct range asian[] = {{0xE40, 0xEFF},   {0x1000, 0x109F}, {0x1100, 0x11FF},
                                     {0x1780, 0x17FF}, {0x2F00, 0x2FDF}, {0x3040, 0x30FF},
                                     {0x3400, 0x4DBF}, {0x4E00, 0xFAFF}, {0xFF65, 0xFF9F}};
/* youtu */
static const struct range hangul[] = {{0x3131, 0x318E}, {0xAC00, 0xD7A3}};
/* youtu */
static const struct range wide_marks[] = {{0x2014, 0x2014}, {0x2018, 0x2019}, {0x201C, 0x201D},
                                          {0x2026, 0x2026}, {0x3001, 0x303F}, {0xFE30, 0xFE4F},
                                          {0xFF01, 0xFF01}, {0xFF0C, 0xFF0C}, {0xFF1A, 0xFF1B}};
/* youtu */
static const struct range bopomofo[] = {{0x3105, 0x312F}};
/* deepseek-llm: letters that have case, as of the Unicode version of its authors */
static const struct range cased[] = {
    {0x41, 0x5A},       {0x61, 0x7A},       {0xB5, 0xB5},       {0xC0, 0xD6},
    {0xD8, 0xF6},       {0xF8, 0x1BA},      {0x1BC, 0x1BF},     {0x1C4, 0x293},
    {0x295, 0x2AF},     {0x370, 0x373},     {0x376, 0x377},     {0x37B, 0x37D},
    {0x37F, 0x37F},     {0x386, 0x386},     {0x388, 0x38A},     {0x38C, 0x38C},
    {0x38E, 0x3A1},     {0x3A3, 0x3F5},     {0x3F7, 0x481},     {0x48A, 0x52F},
    {0x531, 0x556},     {0x10A0, 0x10C5},   {0x13A0, 0x13F5},   {0x13F8, 0x13FD},
    {0x1C90, 0x1CBA},   {0x1CBD, 0x1CBF},   {0x1D00, 0x1D2B},   {0x1D6B, 0x1D77},
    {0x1D79, 0x1D9A},   {0x1E00, 0x1F15},   {0x1F18, 0x1F1D},   {0x1F20, 0x1F45},
    {0x1F48, 0x1F4D},   {0x1F50, 0x1F57},   {0x1F59, 0x1F59},   {0x1F5B, 0x1F5B},
    {0x1F5D, 0x1F5D},   {0x1F5F, 0x1F7D},   {0x1F80, 0x1FB4},   {0x1FB6, 0x1FBC},
    {0x1FBE, 0x1FBE},   {0x1FC2, 0x1FC4},   {0x1FC6, 0x1FCC},   {0x1FD0, 0x1FD3},
    {0x1FD6, 0x1FDB},   {0x1FE0, 0x1FEC},   {0x1FF2, 0x1FF4},   {0x1FF6, 0x1FFC},
    {0x2102, 0x2102},   {0x2107, 0x2107},   {0x210A, 0x2113},   {0x2115, 0x2115},
    {0x2119, 0x211D},   {0x2124, 0x2124},   {0x2126, 0x2126},   {0x2128, 0x2128},
    {0x212A, 0x212D},   {0x212F, 0x2134},   {0x2139, 0x2139},   {0x213C, 0x213F},
    {0x2145, 0x2149},   {0x214E, 0x214E},   {0x2183, 0x2184},   {0x2C00, 0x2C7B},
    {0x2C7E, 0x2CE4},   {0x2CEB, 0x2CEE},   {0x2CF2, 0x2CF3},   {0xA640, 0xA66D},
    {0xA680, 0xA69B},   {0xA722, 0xA76F},   {0xA771, 0xA787},   {0xA78B, 0xA78E},
    {0xAB70, 0xABBF},   {0xFB00, 0xFB06},   {0xFB13, 0xFB17},   {0xFF21, 0xFF3A},
    {0xFF41, 0xFF5A},   {0x10400, 0x1044F}, {0x104B0, 0x104D3}, {0x104D8, 0x104FB},
    {0x10C80, 0x10CB2}, {0x10CC0, 0x10CF2}, {0x118A0, 0x118DF}, {0x1E900, 0x1E943}};
/* deepseek-llm: punctuation, ASCII, wide, general */
static const struct range marks[] = {{0x21, 0x2F},     {0x3A, 0x7E},     {0x2018, 0x201F},
                                     {0x3000, 0x3002}, {0xFF01, 0xFF0F}, {0xFF1A, 0xFF5E}};
/* Script=Han */
static const struct range han[] = {
    {0x2E80, 0x2E99},   {0x2E9B, 0x2EF3},   {0x2F00, 0x2FD5},   {0x3005, 0x3005},
    {0x3007, 0x3007},   {0x3021, 0x3029},   {0x3038, 0x303B},   {0x3400, 0x4DBF},
    {0x4E00, 0x9FFF},   {0xF900, 0xFA6D},   {0xFA70, 0xFAD9},   {0x16FE2, 0x16FE3},
    {0x16FF0, 0x16FF1}, {0x20000, 0x2A6DF}, {0x2A700, 0x2B739}, {0x2B740, 0x2B81D},
    {0x2B820, 0x2CEA1}, {0x2CEB0, 0x2EBE0}, {0x2EBF0, 0x2EE5D}, {0x2F800, 0x2FA1D},
    {0x30000, 0x3134A}, {0x31350, 0x323AF}};

struct ranges {
    const struct range *items;
    size_t count;
};

#define RANGES(table)                                                                              \
    { table, sizeof table / sizeof *table }

static bool in_ranges(struct ranges set, uint32_t code) {
    size_t low = 0, high = set.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (code > set.items[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low < set.count && code >= set.items[low].first;
}

bool power_class_is_han(uint32_t code) {
    if (code < 0x2E80) return false;
    return in_ranges((struct ranges)RANGES(han), code);
}

static size_t scan_set(struct ranges set, struct power_text text, size_t at) {
    for (;;) {
        struct power_char c = power_char_at(text, at);
        if (c.length == 0 || !in_ranges(set, c.code)) return at;
        at += c.length;
    }
}

/* \s?[...]+ ; the space may itself be of the class */
static size_t scan_spaced(struct ranges set, struct power_text text, size_t at) {
    struct power_char c = power_char_at(text, at);
    if (c.class & POWER_CLASS_SPACE) {
        size_t end = scan_set(set, text, at + c.length);
        if (end > at + c.length) return end;
    }
    return scan_set(set, text, at);
}

size_t power_scan_ranges(enum power_split_kind kind, struct power_text text, size_t at) {
    static const struct ranges youtu[] = {RANGES(hangul), RANGES(wide_marks), RANGES(bopomofo),
                                          RANGES(cjk_kana)};
    if (kind == POWER_SPLIT_DEEPSEEK_LETTERS)
        return scan_spaced((struct ranges)RANGES(cased), text, at);
    if (kind == POWER_SPLIT_DEEPSEEK_PUNCT)
        return scan_spaced((struct ranges)RANGES(marks), text, at);
    if (kind == POWER_SPLIT_CJK) return scan_set((struct ranges)RANGES(cjk), text, at);
    if (kind == POWER_SPLIT_CJK_KANA) return scan_set((struct ranges)RANGES(cjk_kana), text, at);
    if (kind == POWER_SPLIT_ASIAN) return scan_set((struct ranges)RANGES(asian), text, at);
    for (size_t i = 0; kind == POWER_SPLIT_YOUTU && i < sizeof youtu / sizeof *youtu; i++) {
        size_t end = scan_set(youtu[i], text, at);
        if (end > at) return end;
    }
    return at;
}
