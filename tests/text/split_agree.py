# SPDX-License-Identifier: MIT
"""Compare our pre-tokenizers with the published split expressions, run by another engine.

usage: split_agree.py PROGRAM [--texts N] [--engine regex|tokenizers] [NAME...]

PROGRAM is test_split_print. For each name that it knows the expressions below, as the authors of the
models publish them in tokenizer.json (or in the code of their tokenizer), run by PyPI's `regex`, must
cut N generated texts exactly as we do. The texts stress contractions, digits, line ends, unusual
white space, marks, scripts, emoji and code points without a character; they keep to characters that
Unicode 14 has, so that the versions of the engines don't matter. With --engine tokenizers the same
expressions are run by Oniguruma, as the authors' library does.
"""

import random
import struct
import subprocess
import sys
import unicodedata

S = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
B = r"[^\r\n\p{L}\p{N}]?"
UP, LOW = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
END = r"\s*[\r\n]+|\s+(?!\S)|\s+"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = S + "|" + B + r"\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + END
QWEN2 = S + "|" + B + r"\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + END
GPT4O = (B + UP + "*" + LOW + "+" + S + "?|" + B + UP + "+" + LOW + "*" + S
         + r"?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + END)
PUNCT_START = r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|"
DEEPSEEK3 = (PUNCT_START + r"[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|" + END)
BLOOM = r" ?[^(\s|.,!?…。，、।۔،)]+"
CJK, KANA = "[一-龥ࠀ-一가-\ud7ff]+", "[一-龥\u3040-ゟ゠-ヿ]+"
WIDE_MARKS = "!-/:-~！-／：-～‘-‟\u3000-。"
CASED = ("A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-"
         "ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-\u1f7dᾀ-ᾴᾶ-ᾼ\u1fbeῂ-ῄῆ-ῌῐ-\u1fd3ῖ-\u1fdbῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ"
         "\u2126ℨ\u212a-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-"
         "𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃")
NOT_HAN = r"&&[^\p{Han}]]"
KIMI = (r"[\p{Han}]+|" + B + "[" + UP[1:-1] + NOT_HAN + "*[" + LOW[1:-1] + NOT_HAN + "+" + S + "?|"
        + B + "[" + UP[1:-1] + NOT_HAN + "+[" + LOW[1:-1] + NOT_HAN + "*" + S
        + r"?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + END)
CASCADE = "|".join(r"\s{%d}(?!\S)" % (1 << i) for i in range(9, 1, -1)) + r"|\s{1,2}(?!\S)|\s{1}"
# Oniguruma's \b: its words are letters, marks, Nd, Nl, connectors, letters in circles and the other
# numbers of Latin-1.
WORD = (r"[\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\u00b2\u00b3\u00b9\u00bc-\u00be\u24b6-\u24e9"
        r"\U0001f130-\U0001f149\U0001f150-\U0001f169\U0001f170-\U0001f189]")
AYA_DIGITS = r"\d{1,3}(?=(?:\d{3})*(?!" + WORD + "))"
YOUTU = ("[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥\u3040-ゟ゠-ヿ]+")
ASIAN = ("[一-鿿㐀-䶿豈-\ufaff\u3040-ゟ゠-ヿ･-ﾟ⼀-\u2fdfเ-\u0e7f\u0e80-\u0effក-"
         "\u17ffက-႟ꩠ-ꩿꧠ-\ua9ff가-\ud7afᄀ-ᇿ]+")
BYTES = "byte alphabet"  # the stages that follow see one character for each byte

TABLE = {
    "default": [r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"],
    "gpt-2 gpt2 jais phi-2 jina-es jina-de jina-v2-es jina-v2-de jina-v1-en jina-v2-code roberta-bpe "
    "gigachat mellum trillion granite-docling exaone4 a.x-4.0 mpt olmo modern-bert": [GPT2],
    "llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano dbrx smaug-bpe "
    "chatglm-bpe glm4 glm5": [LLAMA3],
    "minicpm5": [r"\p{N}{1,3}", S + "|" + B + r"\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|" + END],
    "jais-2": [S + "|" + B + r"\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|" + CASCADE],
    "qwen2 deepseek-r1-qwen kormo f2llmv2 stablelm2 hunyuan megrez solar-open grok-2": [QWEN2],
    "bailingmoe bailingmoe2 llada-moe": [
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|"
        r"\s*[\r\n]|\s+(?!\S)|\s+"],
    "laguna": [r"[^\n]+|[\n]+", QWEN2],
    "ufakzeka": [QWEN2[len(S) + 1:]],
    "seed-coder": [S + "|" + B + r"\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}" + "\r\n]+|" + END],
    "exaone-moe": [S + "|" + B + r"(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|"
                   r"\s*[\r\n]|\s+(?!\S)|\s+"],
    "qwen35": [S + "|" + B + r"[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + END],
    "gpt-4o llama4 o200k kanana2 talkie minimax-m2 granite-embed-multi-97m": [GPT4O],
    "tiny_aya cohere2moe": [AYA_DIGITS, GPT4O],
    "youtu": [YOUTU, GPT4O.replace("{1,3}", "")],
    "kimi-k2": [KIMI],
    "tekken": [GPT4O.replace(S + "?", "").replace("{1,3}", "")],
    "deepseek-llm": ["[\r\n]", r"\s?[" + CASED + "]+", r"\s?[" + WIDE_MARKS + "]+", r"\s+$", CJK,
                     r"\p{N}"],
    "deepseek-coder": ["[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", CJK, r"\p{N}"],
    "deepseek-v3 hunyuan-dense joyai-llm hy_v4": [r"\p{N}{1,3}", KANA, DEEPSEEK3],
    "spark2_5": [r"\p{N}{1,3}", KANA, PUNCT_START + r"[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"
                 r" ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+", r"\p{N}"],
    # digits in threes from the right, however long the run
    "afmoe": [r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))", ASIAN, DEEPSEEK3],
    "starcoder refact smollm codeshell exaone minerva-7b mellum2 command-r": [r"\p{N}", GPT2],
    "falcon": [r"[\p{P}\$\+<=>\^~\|`]+", GPT2, BYTES, r"\p{N}+", "[0-9][0-9][0-9]"],
    "superbpe": [r"\p{N}+", r"(?=(\d{3})+(?!\d))"],
    "bloom gpt3-finnish poro-chat": [BLOOM],
    "viking": [BLOOM, r"\p{N}"],
    "chameleon": ["<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", r"([\t\n]|    |  )",
                  r"\p{N}", r"[\p{P}!-/:-@\[-`{-~]", GPT2],
    "gemma4 granite-embed-multi-311m sarvam-moe": [r"[^\n]+|[\n]+"],
}


def byte_alphabet():
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table, extra = {b: chr(b) for b in plain}, 0
    for b in range(256):
        if b not in table:
            table[b] = chr(0x100 + extra)
            extra += 1
    return table


ALPHABET = byte_alphabet()


def isolate(expression, pieces):
    out = []
    for piece in pieces:
        at = 0
        for m in expression.finditer(piece):
            out += [piece[at:m.start()], m.group()]
            at = m.end()
        out.append(piece[at:])
    return [p for p in out if p]


class ByRegex:
    def __init__(self, stages):
        import regex
        flags = {KIMI: regex.V1}
        self.stages = [s if s is BYTES else regex.compile(s, flags.get(s, regex.V0)) for s in stages]

    def lengths(self, text):
        pieces, in_bytes = [text] if text else [], False
        for stage in self.stages:
            if stage is BYTES:
                pieces = ["".join(ALPHABET[b] for b in p.encode()) for p in pieces]
                in_bytes = True
            else:
                pieces = isolate(stage, pieces)
        return [len(p) if in_bytes else len(p.encode()) for p in pieces]


class ByTokenizers:
    def __init__(self, stages):
        from tokenizers import Regex, pre_tokenizers as pre
        parts, self.in_bytes = [], False
        for stage in stages:
            if stage is BYTES:
                parts.append(pre.ByteLevel(add_prefix_space=False, use_regex=False))
                self.in_bytes = True
            else:
                stage = stage.replace(AYA_DIGITS, r"\d{1,3}(?=(?:\d{3})*\b)")
                parts.append(pre.Split(Regex(stage), "isolated"))
        self.splitter = pre.Sequence(parts)

    def lengths(self, text):
        pieces = [p for p, _ in self.splitter.pre_tokenize_str(text)]
        return [len(p) if self.in_bytes else len(p.encode()) for p in pieces]


def by_category():
    groups = {}
    for code in range(0x110000):
        category = unicodedata.category(chr(code))
        if category not in ("Cn", "Cs", "Co"):
            groups.setdefault(category, []).append(chr(code))
    return groups


NO_CHARACTER = ["\u0378", "\uffff", "\U0001fffe", "\ue000", "\U000e0fff", "\U00100000"]
SPACES = [" ", " ", " ", "  ", "   ", "    ", "\t", "\n", "\r\n", "\r", "\n\n", "\u00a0", "\u3000",
          "\u2028", "\x85", "\x0b", "\x0c", "\x1c", "\u200b", "\u2009", " \n", "\n ", " \n \n  "]
APOSTROPHES = ["'s", "'S", "'t", "'re", "'RE", "'Ve", "'m", "'ll", "'LL", "'lL", "'d", "'x", "'", "''",
               "'\u017f", "\u2019s", "'l", "'r", "n't", " 's"]
WORDS = ["the", "The", "THE", "camelCase", "HTTPServer", "naïve", "ΑΒγδ", "Привет", "мир", "ǅ", "ʰ",
         "中文", "漢字", "ひらがな", "カタカナ", "ー", "한국어", "ㄱㅏ", "ㄅㄆ", "ไทย", "ລາວ", "हिन्दी", "العربية",
         "〇", "々", "⺀", "ｶﾅ", "a\u0301", "\u0301", "\u0903", "\u20dd", "é", "ß", "ſ", "K", "ﬁ", "Ａ"]
NUMBERS = ["1", "12", "123", "1234", "12345", "123456", "1234567", "٣٤٥٦", "½", "²", "Ⅻ", "①", "1½", "12a",
           "1,234.5", "0x1F", "１２３", "3_4", "123ⓐ", "99\u0301"]
MARKS = [".", ",", "!", "?", "...", "…", "。", "，", "、", "।", "۔", "،", "(", ")", "|", "[", "]", "{}", "/",
         "//", "$", "+", "<=>", "^", "`", "~", "_", "-", "—", "“", "”", "€", "©", "→", "！", "；", "\\", "#!",
         ".\n", "./\n", ")\r\n/", "'", '"', "@a", ":b"]
EMOJI = ["😀", "👩\u200d👩\u200d👧", "👍🏽", "🇺🇸", "❤\ufe0f", "\u200d", "\ufeff", "\u00ad"]
SPECIAL = ["<sentinel:12>", "<sentinel:>", "IMGIMGABZ", "IMGIMGZ", "IMGIMGABCDEZ", "a b c", "a  b"]


def make_text(rng, groups):
    pools = [SPACES, SPACES, APOSTROPHES, WORDS, WORDS, NUMBERS, MARKS, EMOJI, NO_CHARACTER, SPECIAL]
    names = sorted(groups)
    parts = []
    for _ in range(rng.randrange(0, 24)):
        kind = rng.randrange(0, 16)
        if kind < len(pools):
            parts.append(rng.choice(pools[kind]))
        elif kind == 10:
            parts.append(rng.choice(" \t\u3000") * rng.randrange(1, 40))
        elif kind == 11:
            parts.append("".join(rng.choice("0123456789") for _ in range(rng.randrange(1, 12))))
        elif kind == 12:
            parts.append("".join(rng.choice("abcXYZ ") for _ in range(rng.randrange(1, 10))))
        else:
            parts += [rng.choice(groups[rng.choice(names)]) for _ in range(rng.randrange(1, 4))]
    if rng.randrange(60) == 0:
        parts.append(" " * rng.randrange(200, 1600))
    return "".join(parts)


def ours(program, name, texts):
    data = b"".join(struct.pack("<I", len(t)) + t for t in (t.encode() for t in texts))
    out = subprocess.run([program, name], input=data, stdout=subprocess.PIPE, check=True).stdout
    return [[int(n) for n in line.split()] for line in out.decode().split("\n")[:-1]]


def check_name(program, name, witness, texts):
    wrong = 0
    for text, got in zip(texts, ours(program, name, texts), strict=True):
        want = witness.lengths(text)
        if want == got:
            continue
        wrong += 1
        if wrong <= 3:
            print(f"{name}: {text!r}\n  ours      {got}\n  published {want}")
    return wrong


def main():
    args = sys.argv[1:]
    program, count, engine = args.pop(0), 2000, ByRegex
    while args and args[0].startswith("--"):
        option, value = args.pop(0), args.pop(0)
        if option == "--texts":
            count = int(value)
        else:
            engine = {"regex": ByRegex, "tokenizers": ByTokenizers}[value]
    try:
        __import__("regex" if engine is ByRegex else "tokenizers")
    except ImportError as e:
        print(f"SKIP: {e}")
        return 77
    known = subprocess.run([program, "--names"], stdout=subprocess.PIPE, check=True, text=True).stdout
    known = set(known.replace("(characters)", "").split())
    published = {name: stages for names, stages in TABLE.items() for name in names.split()}
    wrong = 0
    for name in sorted(known ^ set(published)):
        print(f"{name}: known to one side only")
        wrong += 1
    groups = by_category()
    texts = [make_text(random.Random(i), groups) for i in range(count)]
    for name in args or sorted(known & set(published)):
        wrong += check_name(program, name, engine(published[name]), texts)
    print(f"{len(args or known)} pre-tokenizers, {count} texts each: {wrong} differences")
    return 1 if wrong else 0


sys.exit(main())
