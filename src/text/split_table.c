/* SPDX-License-Identifier: MIT */
/* Job: which splitter a name or a published expression stands for.
 * Input: names as in tokenizer.ggml.pre, expressions as in tokenizer.json. Output: stages.
 * Threads: any. Bounds: tables. */
#include "text/split.h"

#define GPT2                                                                                       \
    { .kind = POWER_SPLIT_GPT2 }
#define CL100K(n)                                                                                  \
    { .kind = POWER_SPLIT_CL100K, .width = (n) }
#define DIGITS(n)                                                                                  \
    { .kind = POWER_SPLIT_DIGITS, .width = (n) }
#define ONLY(k)                                                                                    \
    { .kind = POWER_SPLIT_##k }

static const struct power_splitter splitters[] = {
    {.names = "default", .stages = {ONLY(PUNCT_NO_GRAVE), GPT2, DIGITS(0), ONLY(ASCII_3)}},
    {.names = "gpt-2 gpt2 mpt olmo jais phi-2 jina-es jina-de jina-v2-es jina-v2-de jina-v1-en "
              "jina-v2-code roberta-bpe gigachat mellum trillion granite-docling",
     .stages = {GPT2}},
    {.names = "llama-bpe llama3 llama-v3 falcon3 falcon-h1",
     .stages = {CL100K(3)},
     .whole_words = true,
     .add_bos = true},
    {.names = "dbrx smaug-bpe chatglm-bpe glm4", .stages = {CL100K(3)}},
    {.names = "qwen2 deepseek-r1-qwen", .stages = {CL100K(1)}, .nfc = true},
    {.names = "stablelm2 hunyuan megrez", .stages = {CL100K(1)}},
    {.names = "qwen35",
     .stages = {{.kind = POWER_SPLIT_CL100K, .width = 1, .marks = true}},
     .nfc = true},
    {.names = "gpt-4o llama4 o200k",
     .stages = {{.kind = POWER_SPLIT_O200K, .width = 3, .contractions = true}}},
    {.names = "tekken",
     .stages = {{.kind = POWER_SPLIT_O200K, .width = 1}},
     .whole_words = true,
     .add_bos = true},
    {.names = "deepseek-coder",
     .stages = {ONLY(NEWLINE), ONLY(SPACE_LETTERS), ONLY(SPACE_PUNCT), ONLY(CJK), DIGITS(1)}},
    {.names = "deepseek-v3", .stages = {DIGITS(3), ONLY(CJK_KANA), ONLY(DEEPSEEK3)}},
    {.names = "starcoder refact command-r smollm codeshell exaone minerva-7b",
     .stages = {DIGITS(1), GPT2}},
    {.names = "falcon", .stages = {ONLY(PUNCT), GPT2, DIGITS(0), ONLY(ASCII_3)}},
    {.names = "bloom gpt3-finnish poro-chat", .stages = {ONLY(BLOOM)}},
    {.names = "viking", .stages = {ONLY(BLOOM), DIGITS(1)}},
};

/* The same as published in tokenizer.json, backslashes as they stand after JSON. */
#define SPACES "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define CONTRACTED "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define UPPERS "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWERS "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define BEFORE "[^\\r\\n\\p{L}\\p{N}]?"
#define GPT2_WORDS "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+"

static const struct {
    const char *expression;
    struct power_split_stage stage;
} expressions[] = {
    {GPT2_WORDS "|\\s+(?!\\S)|\\s+", GPT2},
    {GPT2_WORDS "|\\s+(?!\\S)", GPT2},
    {CONTRACTED "|" BEFORE "\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" SPACES, CL100K(3)},
    {CONTRACTED "|" BEFORE "\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" SPACES, CL100K(1)},
    {CONTRACTED "|" BEFORE "[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" SPACES,
     {.kind = POWER_SPLIT_CL100K, .width = 1, .marks = true}},
    {BEFORE UPPERS "*" LOWERS "+" CONTRACTED "?|" BEFORE UPPERS "+" LOWERS "*" CONTRACTED
                   "?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" SPACES,
     {.kind = POWER_SPLIT_O200K, .width = 3, .contractions = true}},
    {BEFORE UPPERS "*" LOWERS "+|" BEFORE UPPERS "+" LOWERS
                   "*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" SPACES,
     {.kind = POWER_SPLIT_O200K, .width = 1}},
    {"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?"
     "[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|" SPACES,
     ONLY(DEEPSEEK3)},
    {"\\p{N}{1,3}", DIGITS(3)},
    {"\\p{N}", DIGITS(1)},
    {"\\p{N}+", DIGITS(0)},
    {"[0-9][0-9][0-9]", ONLY(ASCII_3)},
    {"[\\r\\n]", ONLY(NEWLINE)},
    {"[\r\n]", ONLY(NEWLINE)},
    {"\\s?\\p{L}+", ONLY(SPACE_LETTERS)},
    {"\\s?\\p{P}+", ONLY(SPACE_PUNCT)},
    {"[一-龥ࠀ-一가-퟿]+", ONLY(CJK)},
    {"[一-龥぀-ゟ゠-ヿ]+", ONLY(CJK_KANA)},
    {" ?[^(\\s|[.,!?…。，、।۔،])]+", ONLY(BLOOM)},
};

static bool has_name(const char *names, struct power_text name) {
    while (*names) {
        size_t n = strcspn(names, " ");
        if (power_text_equal((struct power_text){names, n}, name)) return true;
        names += n + (names[n] == ' ');
    }
    return false;
}

const struct power_splitter *power_splitter_find(struct power_text name) {
    for (size_t i = 0; i < sizeof splitters / sizeof *splitters; i++) {
        if (has_name(splitters[i].names, name)) return &splitters[i];
    }
    return NULL;
}

bool power_split_stage_of(struct power_text expression, struct power_split_stage *out) {
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++) {
        if (!power_text_equal(power_text_of(expressions[i].expression), expression)) continue;
        *out = expressions[i].stage;
        return true;
    }
    return false;
}
