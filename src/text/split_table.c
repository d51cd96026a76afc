/* SPDX-License-Identifier: MIT */
/* Job: which splitter a name or a published expression stands for.
 * Input: names as in tokenizer.ggml.pre, expressions as in tokenizer.json. Output: stages.
 * Threads: any. Bounds: tables. */
#include "text/split.h"

#define GPT2                                                                                       \
    { .kind = POWER_SPLIT_GPT2 }
#define CL100K(n, more)                                                                            \
    { .kind = POWER_SPLIT_CL100K, .width = (n), .flags = (more) }
#define O200K(n, more)                                                                             \
    { .kind = POWER_SPLIT_O200K, .width = (n), .flags = (more) }
#define DEEPSEEK3(more)                                                                            \
    { .kind = POWER_SPLIT_DEEPSEEK3, .flags = (more) }
#define DIGITS(n)                                                                                  \
    { .kind = POWER_SPLIT_DIGITS, .width = (n) }
#define ONLY(k)                                                                                    \
    { .kind = POWER_SPLIT_##k }
#define SHORT POWER_SPLIT_CONTRACTIONS
#define O200K_ALL (POWER_SPLIT_CONTRACTIONS | POWER_SPLIT_TAIL_SLASH)

static const struct power_splitter splitters[] = {
    {.names = "default", .stages = {ONLY(PUNCT_NO_GRAVE), GPT2, DIGITS(0), ONLY(ASCII_3)}},
    {.names = "gpt-2 gpt2 jais phi-2 jina-es jina-de jina-v2-es jina-v2-de jina-v1-en "
              "jina-v2-code roberta-bpe gigachat mellum trillion granite-docling exaone4 a.x-4.0",
     .stages = {GPT2}},
    {.names = "mpt olmo modern-bert", .stages = {GPT2}, .nfc = true},
    {.names = "llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
     .stages = {CL100K(3, SHORT)},
     .whole_words = true,
     .add_bos = true},
    {.names = "dbrx smaug-bpe", .stages = {CL100K(3, SHORT)}},
    {.names = "chatglm-bpe", .stages = {CL100K(3, SHORT)}},
    {.names = "glm4 glm5", .stages = {CL100K(3, SHORT)}, .whole_words = true},
    {.names = "minicpm5", .stages = {DIGITS(3), CL100K(0, SHORT)}, .whole_words = true},
    {.names = "jais-2", .stages = {CL100K(3, SHORT | POWER_SPLIT_CASCADE)}},
    {.names = "qwen2 deepseek-r1-qwen kormo f2llmv2", .stages = {CL100K(1, SHORT)}, .nfc = true},
    {.names = "stablelm2 hunyuan megrez solar-open grok-2 bailingmoe bailingmoe2 llada-moe",
     .stages = {CL100K(1, SHORT)}},
    {.names = "laguna", .stages = {ONLY(LINES), CL100K(1, SHORT)}},
    {.names = "ufakzeka", .stages = {CL100K(1, 0)}},
    {.names = "seed-coder", .stages = {CL100K(1, SHORT | POWER_SPLIT_TAIL_NONE)}},
    {.names = "exaone-moe",
     .stages = {CL100K(1, SHORT | POWER_SPLIT_PHRASES | POWER_SPLIT_TAIL_ONE)}},
    {.names = "qwen35", .stages = {CL100K(1, SHORT | POWER_SPLIT_MARKS)}, .nfc = true},
    {.names = "gpt-4o llama4 o200k kanana2 talkie minimax-m2", .stages = {O200K(3, O200K_ALL)}},
    {.names = "granite-embed-multi-97m", .stages = {O200K(3, O200K_ALL)}, .whole_words = true},
    {.names = "tiny_aya cohere2moe", .stages = {ONLY(GROUPS), O200K(3, O200K_ALL)}, .nfc = true},
    {.names = "youtu", .stages = {ONLY(YOUTU), O200K(1, O200K_ALL)}, .whole_words = true},
    {.names = "kimi-k2", .stages = {O200K(3, SHORT | POWER_SPLIT_NO_HAN)}, .whole_words = true},
    {.names = "tekken",
     .stages = {O200K(1, POWER_SPLIT_TAIL_SLASH)},
     .whole_words = true,
     .add_bos = true},
    {.names = "deepseek-llm",
     .stages = {ONLY(NEWLINE), ONLY(DEEPSEEK_LETTERS), ONLY(DEEPSEEK_PUNCT), ONLY(END_SPACES),
                ONLY(CJK), DIGITS(1)}},
    {.names = "deepseek-coder",
     .stages = {ONLY(NEWLINE), ONLY(SPACE_LETTERS), ONLY(SPACE_PUNCT), ONLY(CJK), DIGITS(1)}},
    {.names = "deepseek-v3 hunyuan-dense joyai-llm hy_v4",
     .stages = {DIGITS(3), ONLY(CJK_KANA), DEEPSEEK3(0)}},
    {.names = "spark2_5",
     .stages = {DIGITS(3), ONLY(CJK_KANA), DEEPSEEK3(POWER_SPLIT_TAIL_NONE | POWER_SPLIT_LINE_ONE),
                DIGITS(1)}},
    {.names = "afmoe", .stages = {ONLY(N_GROUPS), ONLY(ASIAN), DEEPSEEK3(0)}},
    {.names = "starcoder refact smollm codeshell exaone minerva-7b mellum2",
     .stages = {DIGITS(1), GPT2}},
    {.names = "command-r", .stages = {DIGITS(1), GPT2}, .nfc = true},
    {.names = "falcon", .stages = {ONLY(PUNCT), GPT2, ONLY(BYTE_DIGITS), ONLY(ASCII_3)}},
    {.names = "superbpe", .stages = {DIGITS(0), ONLY(THOUSANDS)}},
    {.names = "bloom gpt3-finnish poro-chat", .stages = {ONLY(BLOOM)}},
    {.names = "viking", .stages = {ONLY(BLOOM), DIGITS(1)}},
    {.names = "chameleon",
     .stages = {ONLY(SENTINEL),
                ONLY(IMAGE),
                ONLY(INDENT),
                DIGITS(1),
                {.kind = POWER_SPLIT_PUNCT, .width = 1},
                GPT2},
     .add_bos = true},
    {.names = "gemma4 granite-embed-multi-311m sarvam-moe",
     .stages = {ONLY(LINES)},
     .characters = true},
};

/* The same as published in tokenizer.json, backslashes as they stand after JSON. */
#define SPACES "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define CONTRACTED "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define UPPERS "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWERS "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define BEFORE "[^\\r\\n\\p{L}\\p{N}]?"
#define CL100K_WORDS(digits) BEFORE "\\p{L}+|\\p{N}" digits "| ?[^\\s\\p{L}\\p{N}]+"
#define O200K_WORDS(end) BEFORE UPPERS "*" LOWERS "+" end "|" BEFORE UPPERS "+" LOWERS "*" end
#define GPT2_WORDS "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+"

static const struct {
    const char *expression;
    struct power_split_stage stage;
} expressions[] = {
    {GPT2_WORDS "|\\s+(?!\\S)|\\s+", GPT2},
    {GPT2_WORDS "|\\s+(?!\\S)", GPT2},
    {CONTRACTED "|" CL100K_WORDS("{1,3}") "[\\r\\n]*|" SPACES, CL100K(3, SHORT)},
    {CONTRACTED "|" CL100K_WORDS("") "[\\r\\n]*|" SPACES, CL100K(1, SHORT)},
    {CONTRACTED "|" CL100K_WORDS("+") "[\\r\\n]*|" SPACES, CL100K(0, SHORT)},
    {CL100K_WORDS("") "[\\r\\n]*|" SPACES, CL100K(1, 0)},
    {"'(?i:[sdmt]|ll|ve|re)|" BEFORE "+\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|"
     "\\s*[\\r\\n]|\\s+(?!\\S)|\\s+",
     CL100K(1, SHORT)},
    {CONTRACTED "|" BEFORE "\\p{L}+|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\r\n]+|\\s*[\r\n]+|"
                "\\s+(?!\\S)|\\s+",
     CL100K(1, SHORT | POWER_SPLIT_TAIL_NONE)},
    {CONTRACTED "|" CL100K_WORDS(
         "{1,3}") "[\\r\\n]*|\\s*[\\r\\n]+|\\s{512}(?!\\S)|\\s{256}(?!\\S)|"
                  "\\s{128}(?!\\S)|\\s{64}(?!\\S)|\\s{32}(?!\\S)|\\s{16}(?!\\S)|\\s{8}(?!\\S)|"
                  "\\s{4}(?!\\S)|\\s{1,2}(?!\\S)|\\s{1}",
     CL100K(3, SHORT | POWER_SPLIT_CASCADE)},
    {CONTRACTED "|" BEFORE "(?:\\p{L}\\p{M}*(?: \\p{L}\\p{M}*)*)+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+"
                "[\\r\\n/]?|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+",
     CL100K(1, SHORT | POWER_SPLIT_PHRASES | POWER_SPLIT_TAIL_ONE)},
    {CONTRACTED "|" BEFORE "[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" SPACES,
     CL100K(1, SHORT | POWER_SPLIT_MARKS)},
    {O200K_WORDS(CONTRACTED "?") "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" SPACES,
     O200K(3, O200K_ALL)},
    {O200K_WORDS(CONTRACTED "?") "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" SPACES,
     O200K(1, O200K_ALL)},
    {O200K_WORDS("") "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" SPACES,
     O200K(1, POWER_SPLIT_TAIL_SLASH)},
    {"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?"
     "[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|" SPACES,
     DEEPSEEK3(0)},
    {"\\d{1,3}(?=(?:\\d{3})*\\b)", ONLY(GROUPS)},
    {"(?=(\\d{3})+(?!\\d))", ONLY(THOUSANDS)},
    {"[^\\n]+|[\\n]+", ONLY(LINES)},
    {"\\s+$", ONLY(END_SPACES)},
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

const struct power_splitter *power_splitter_at(size_t index) {
    return index < sizeof splitters / sizeof *splitters ? &splitters[index] : NULL;
}

bool power_split_stage_of(struct power_text expression, struct power_split_stage *out) {
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++) {
        if (!power_text_equal(power_text_of(expressions[i].expression), expression)) continue;
        *out = expressions[i].stage;
        return true;
    }
    return false;
}
