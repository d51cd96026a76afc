# SPDX-License-Identifier: MIT
"""Random templates over everything a template can reach. Expressions are made for a type, so that
most templates render; now and then the type is another one, so that errors are compared too."""

import json
import random

UNSUPPORTED = 2  # the status of what Power refuses by name

TEXTS = ["", "a", "hello", "Hello World", " pad  ded ", "x,y,,z", "a b\tc", "line1\nline2\r\nline3", "-12", "3.5",
         "0x1F", "1_000", "é", "Straße", "日本語 テキスト", "😀 ok", "İı ŉ ﬁ", "don't", "say \"hi\"", "<b>bold</b>", "a & b",
         "UPPER lower", "tab\there", "100%", "{0} {x}", "%s", "1e3", "nan", "ab" * 9, "\\back", "ǆungla", "ⅷ x²", "\u00a0x\u2003",
         "the quick brown fox jumps over the lazy dog", "it's 'q'", "Σίσυφος ΣΑΣ", "a-b_c d.e", "[x](y)", "\x1c\x1d|\x85", "ß"]
ASCII = "abcdefghijklmnopqrstuvwxyz"

VARIABLES = {
    "s": "Hello, World", "t": "  two\nlines  ", "e": "", "u": "Grüße 世界 😀", "h": "<p class=\"x\">it's & that</p>",
    "n": 7, "m": -3, "z": 0, "big": 12345678901234567890123, "half": 2.5, "neg": -0.0, "tiny": 1e-7, "huge": 1e300, "third": 1 / 3,
    "yes": True, "no": False, "nil": None,
    "l": [3, 1, 2], "words": ["pear", "Apple", "fig", "apple", "Äpfel"], "mixed": [1, "a", None, 2.5, True, [1, 2], {"k": "v"}],
    "empty": [], "nested": [[1, [2, 3]], [4, [5, 6]]], "floats": [0.1, 2.0, -1.5, 1e22],
    "d": {"a": 1, "b": "two", "c": [1, 2], "items": "shadow"}, "ed": {}, "deep": {"x": {"y": {"z": [10, {"w": "deep"}]}}},
    "rows": [{"name": "ann", "age": 30, "tags": ["x", "y"]}, {"name": "Bob", "age": 25, "tags": []},
             {"name": "cy", "age": 30, "tags": ["z"]}],
    "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi <|im_end|>"},
                 {"role": "assistant", "content": None,
                  "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": {"q": "é", "n": [1, 2.0]}}}]},
                 {"role": "tool", "content": "ok", "tool_call_id": "c1"}],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}}],
    "bos_token": "<s>", "add_generation_prompt": True,
}
NAMES = {
    "text": ["s", "t", "e", "u", "h", "bos_token"], "int": ["n", "m", "z", "big", "yes"],
    "float": ["half", "neg", "tiny", "huge", "third"], "bool": ["yes", "no"],
    "list": ["l", "words", "mixed", "empty", "nested", "floats", "rows", "messages"], "dict": ["d", "ed", "deep"],
}
TYPES = list(NAMES)


def quoted(text):
    """A literal of the template language; some escapes on purpose."""
    out = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\x1c", "\\x1c").replace("\x1d", "\\x1d")
    if "'" in out and '"' not in out:
        return '"' + out + '"'
    return "'" + out.replace("'", "\\'") + "'"


class Generator:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.json = json.dumps(VARIABLES, ensure_ascii=False)

    def case(self):
        self.local, self.loops, self.macros, self.blocks = [], 0, [], 0
        return self.body(self.r.randint(0, 3), self.r.randint(1, 3)), VARIABLES, self.json

    def pick(self, *options):
        return self.r.choice(options)

    def odds(self, n):
        return self.r.randrange(n) == 0

    # ---- expressions ----

    def expr(self, kind=None, depth=3):
        """An expression of a type; None: of any."""
        kind = kind or self.pick(*TYPES, "any")
        if self.odds(40):
            kind = self.pick(*TYPES, "any")
        if kind == "any":
            return self.any(depth)
        if depth <= 0 or self.odds(4):
            return self.leaf(kind)
        text = getattr(self, kind)(depth - 1)
        return text if self.odds(8) else f"({text})"

    def leaf(self, kind):
        if self.local and self.odds(6):
            return self.pick(*self.local)
        if self.odds(2) and kind in NAMES:
            return self.pick(*NAMES[kind])
        if kind == "text":
            return quoted(self.pick(*TEXTS))
        if kind == "int":
            return self.pick("0", "1", "2", "3", "-1", "10", "255", "1_000", "0x1f", "0o17", "0b101", "9223372036854775807",
                             "18446744073709551616", "-5", "99999999999", str(self.r.randint(-50, 50)))
        if kind == "float":
            return self.pick("0.5", "1.0", "-2.25", "1e3", "1.5e-5", "3.14159", "1e16", "123456789.125", "0.1", "2.5", "1_0.5")
        if kind == "bool":
            return self.pick("true", "false", "True", "False")
        if kind == "list":
            return self.pick("[]", "[1, 2, 3]", "['a', 'b', 'c']", "(1, 2)", "[none, 1]", "range(5)", "range(2, 10, 3)", "()", "('x',)",
                             "[[1, 'a'], [2, 'b']]", "range(5, 0, -2)")
        if kind == "dict":
            return self.pick("{}", "{'a': 1, 'b': 2}", "{'k': [1, 2], 'n': none}", "{1: 'one', 2.5: 'x', none: 3}", "dict(a=1, z='q')")
        return "none"

    def any(self, depth):
        d = depth - 1
        if depth <= 0:
            return self.pick("none", "missing", "nil", "d.nothing", "n", "s", "l")
        return self.pick(
            lambda: self.expr(self.pick(*TYPES), d), lambda: "missing", lambda: "none", lambda: f"{self.expr('dict', d)}.{self.key()}",
            lambda: f"{self.expr('dict', d)}[{self.expr('text', 0)}]", lambda: f"{self.expr('list', d)}[{self.small()}]",
            lambda: f"{self.expr('list', d)} | {self.pick('first', 'last', 'min', 'max')}",
            lambda: f"{self.expr('any', d)} or {self.expr('any', d)}", lambda: f"{self.expr('any', d)} and {self.expr('any', d)}",
            lambda: f"{self.expr('any', d)} if {self.expr('bool', d)} else {self.expr('any', d)}",
            lambda: f"{self.expr('any', d)} if {self.expr('bool', d)}",
            lambda: f"{self.expr('any', d)} | default({self.expr('any', d)}{self.pick('', ', true', ', boolean=true')})",
            lambda: f"{self.expr('dict', d)}.get({self.expr('text', 0)}{self.pick('', ', 1', ', none')})",
            lambda: f"messages[{self.small()}].{self.pick('role', 'content', 'tool_calls', 'name')}",
            lambda: f"{self.expr('any', d)} | attr({quoted(self.key())})", lambda: f"rows[{self.small()}]['{self.pick('name', 'age', 'tags', 'x')}']",
            lambda: f"{self.expr('any', d)}.{self.pick('__class__', '_x', 'real', 'foo', 'append', 'update', 'format', 'upper')}"
                    if self.odds(4) else self.expr("text", d),
            lambda: self.macro_call(d), lambda: self.loop_part(),
            lambda: self.pick("cycler('a', 'b').next()", "joiner('|')()", "namespace(a=1).a", "dict([('a', 1)]).a", "range(3) | list",
                              "self", "cycler(1, 2).current", "loop", "caller", "namespace()", "strftime_now('%Y-%m-%d')", "lipsum"),
        )()

    def macro_call(self, d):
        if not self.macros:
            return self.expr("text", d)
        name = self.pick(*self.macros)
        args = [self.expr(None, d) for _ in range(self.r.randint(0, 3))]
        if self.odds(3):
            args.append(f"{self.pick('b', 'c', 'other')}={self.expr(None, d)}")
        if self.odds(12):
            return f"{name}.{self.pick('name', 'arguments', 'catch_kwargs', 'catch_varargs', 'caller')}"
        if self.odds(12):
            args.append("*" + self.expr("list", 0))
        if self.odds(12):
            args.append("**" + self.expr("dict", 0))
        return f"{name}({', '.join(args)})"

    def loop_part(self):
        if not self.loops:
            return self.pick("n", "loop")
        return "loop." + self.pick("index", "index0", "revindex", "revindex0", "first", "last", "length", "depth", "depth0", "previtem",
                                   "nextitem", "cycle('odd', 'even')", "cycle(1, 2, 3)", "changed(n)", "changed(loop.index // 2)", "nothing")

    def key(self):
        return self.pick("a", "b", "c", "k", "x", "y", "items", "keys", "role", "content", "name", "nothing", "get", "z", "values")

    def small(self):
        return self.pick("0", "1", "2", "-1", "-2", "n", "m", "5", "z", "true")

    def slice(self):
        part = lambda: self.pick("", "", "1", "2", "-1", "-3", "0", "100", "n", "none", "-100", "big")
        return f"[{part()}:{part()}]" if not self.odds(3) else f"[{part()}:{part()}:{self.pick('', '1', '2', '-1', '-2', '3', 'm', '0' if self.odds(4) else '1')}]"

    def count(self):
        return self.pick("", ", 1", ", 2", ", -1", ", 0")

    def text(self, d):
        e = lambda kind: self.expr(kind, d)
        q = lambda: quoted(self.pick(*TEXTS))
        c = lambda: quoted(self.pick(" ", "a", "ab", "l", ",", "-", "\n", "o", "", "é", "<", "xy"))
        return self.pick(
            lambda: f"{e('text')} + {e('text')}", lambda: f"{e(None)} ~ {e(None)}", lambda: f"{e('text')} ~ {e('int')} ~ {e('any')}",
            lambda: f"{e('text')} * {self.small()}", lambda: f"{e('text')}{self.slice()}", lambda: f"{e('text')}[{self.small()}]",
            lambda: f"{e('text')}.{self.pick('upper', 'lower', 'title', 'capitalize', 'swapcase', 'strip', 'lstrip', 'rstrip', 'casefold')}()",
            lambda: f"{e('text')}.{self.pick('strip', 'lstrip', 'rstrip')}({c()})",
            lambda: f"{e('text')}.replace({c()}, {q()}{self.count()})", lambda: f"{e('text')} | replace({c()}, {q()}{self.count()})",
            lambda: f"{e('text')}.{self.pick('removeprefix', 'removesuffix')}({c()})",
            lambda: f"{e('text')}.{self.pick('center', 'ljust', 'rjust')}({self.r.randint(0, 20)}{self.pick('', ', ' + c())})",
            lambda: f"{e('text')}.{self.pick('zfill', 'expandtabs')}({self.r.randint(0, 12)})",
            lambda: f"{c()}.join({self.pick('words', 'l', 's', 'd', 'empty')})", lambda: f"{e('list')} | join({self.pick('', c())})",
            lambda: f"rows | join({c()}, attribute='{self.pick('name', 'age', 'tags.0', 'no')}')",
            lambda: f"{e('text')} | {self.pick('upper', 'lower', 'title', 'capitalize', 'trim', 'string', 'e', 'escape', 'safe', 'forceescape', 'striptags', 'urlencode', 'reverse')}",
            lambda: f"{e(None)} | {self.pick('string', 'string', 'e', 'safe', 'title', 'upper', 'capitalize', 'trim', 'urlencode', 'striptags', 'pprint', 'forceescape')}",
            lambda: f"{e('text')} | {self.pick('center', 'truncate', 'indent', 'wordwrap')}({self.r.randint(1, 30)})",
            lambda: f"{e('text')} | truncate({self.r.randint(3, 12)}, {self.pick('true', 'false')}, {c()}, {self.pick('0', '2', '5')})",
            lambda: f"{e('text')} | indent({self.pick('2', '0', quoted('> '), '4, true', 'first=true', '3, true, true', 'blank=true')})",
            lambda: f"{e('text')} | wordwrap({self.r.randint(1, 15)}{self.pick('', ', false', ', true', ', break_on_hyphens=false', ', wrapstring=' + c())})",
            lambda: f"{e(None)} | tojson{self.pick('', '', '(indent=2)', '(indent=0)', '(ensure_ascii=true)', '(sort_keys=true)', '(indent=4, sort_keys=true)', '(separators=(%s, %s))' % (quoted(','), quoted(':')), '(indent=%s)' % quoted('->'))}",
            lambda: f"{quoted(self.format_text())}.format({self.format_args(d)})", lambda: f"{quoted(self.percent_text())} % {self.percent_args(d)}",
            lambda: f"{quoted(self.percent_text())} | format({', '.join(e(None) for _ in range(self.r.randint(1, 2)))})",
            lambda: f"{e('int')} | filesizeformat{self.pick('', '(true)')}", lambda: f"{e('dict')} | xmlattr{self.pick('', '(false)')}",
            lambda: f"{quoted(self.pick('see http://a.io/x?y=1 now', 'www.example.com, (foo@bar.org) mailto:a@b.co', 'https://x.org.', '<http://a.b>'))} | urlize{self.pick('', '(10)', '(nofollow=true)', '(target=%s)' % quoted('_blank'), '(rel=%s)' % quoted('me'))}",
            lambda: f"{e('text')} if {e('bool')} else {e('text')}", lambda: self.macro_call(d),
            lambda: f"strftime_now({quoted(self.pick('%d %b %Y', '%H:%M:%S', '%A, %B %d', '%j %U %w', '%y/%m/%d %I %p', '%%', '%-d', '%e', '%F %T', 'x'))})",
            lambda: f"{e('text')} | {self.pick('d', 'default')}({q()})", lambda: f"{e('text')}.partition({c()}){self.pick('[0]', '[2]', '')}",
            lambda: f"{e('text')}.split({self.pick('', c(), c() + ', 1')})[{self.small()}]", lambda: f"{q()} {q()}",
        )()

    def format_text(self):
        spec = self.pick("", ":5", ":>8", ":<6", ":^9", ":*^7", ":.2f", ":05d", ":,", ":+d", ":x", ":#b", ":e", ":%", ":s", ":.3", "!r", "!s:>4",
                         ":g", ":_d", ":o", ":X", ":n", ":=+6d", ":.0f", ":é>4", ":10.3g", ":,.2f", "!a", ": d", ":c", ":#x", ":-^5", ":z.1f", ":{1}")
        field = self.pick("", "0", "1", "name", "0[0]", "0.a", "name[k]", "a.b")
        return self.pick("", "x ", "{{}} ") + "{" + field + spec + "}" + self.pick("", " {}", "{{", " y")

    def format_args(self, d):
        args = [self.expr(self.pick("int", "float", "text", None), d) for _ in range(self.r.randint(0, 2))]
        if self.odds(2):
            args.append("name=" + self.expr(None, d))
        return ", ".join(args)

    def percent_text(self):
        one = lambda: "%" + self.pick("", "", "-", "+", "0", "#", " ") + self.pick("", "", "5", "3", "08") + self.pick("", "", ".2", ".0") + \
            self.pick("s", "d", "f", "r", "x", "e", "g", "i", "c", "%", "o", "X", "G", "a", "F", "E", "u", "s", "d", "y" if self.odds(4) else "s")
        return self.pick("", "v=") + one() + self.pick("", "", " " + one(), "%%", "|")

    def percent_args(self, d):
        return self.pick(lambda: self.expr(self.pick("int", "float", "text", None), d),
                         lambda: "(" + ", ".join(self.expr(self.pick("int", "float", "text"), d) for _ in range(2)) + ")",
                         lambda: "{'a': 1}", lambda: "(1,)")()

    def int(self, d):
        e = lambda kind: self.expr(kind, d)
        return self.pick(
            lambda: f"{e('int')} {self.pick('+', '-', '*', '//', '%', '+', '-')} {e('int')}", lambda: f"{e(self.pick('text', 'list', 'dict'))} | {self.pick('length', 'count')}",
            lambda: f"{e('int')} ** {self.pick('2', '3', '0', '10', '64', 'n')}", lambda: f"-{e('int')}", lambda: f"+{e('bool')}",
            lambda: f"{e(self.pick('text', 'int', 'float', None))} | int{self.pick('', '', '(5)', '(default=-1)', '(0, 16)', '(base=2)')}",
            lambda: f"{e('int')} | abs", lambda: f"{e('text')}.{self.pick('find', 'rfind', 'count', 'index', 'rindex')}({quoted(self.pick('a', 'l', 'o', ' ', '', 'zz'))}{self.pick('', ', 1', ', 1, 4', ', -3')})",
            lambda: f"{e('list')} | sum{self.pick('', '(start=10)')}", lambda: f"rows | sum(attribute='age')",
            lambda: f"l | {self.pick('first', 'last', 'min', 'max')}", lambda: f"{e('text')} | wordcount",
            lambda: f"{e('list')}.{self.pick('index', 'count')}({self.small()})", lambda: f"{e('float')} | round | int",
            lambda: f"{e('int')} | round({self.pick('', '2', '-1', '0', '1, %s' % quoted('floor'))})", lambda: f"{e('int')} if {e('bool')} else {e('int')}",
            lambda: f"n.{self.pick('real', 'imag', 'numerator', 'denominator', 'bit_length()')}" if self.odds(3) else self.loop_part(),
            lambda: f"{self.pick('range(7)', 'range(1, 9, 2)')}.{self.pick('start', 'stop', 'step', 'index(3)', 'count(2)')}",
        )()

    def float(self, d):
        e = lambda kind: self.expr(kind, d)
        return self.pick(
            lambda: f"{e(self.pick('float', 'int'))} {self.pick('+', '-', '*', '/', '//', '%')} {e('float')}", lambda: f"{e('int')} / {e('int')}",
            lambda: f"{e(self.pick('text', 'int', 'float', None))} | float{self.pick('', '', '(1.5)')}", lambda: f"{e('float')} | round({self.r.randint(-2, 4)}{self.pick('', ', ' + quoted('ceil'), ', ' + quoted('floor'), ', ' + quoted('common'))})",
            lambda: f"{e('float')} ** {self.pick('2', '0.5', '-1', '3')}", lambda: f"{e('float')} | abs", lambda: f"-{e('float')}", lambda: f"floats | {self.pick('sum', 'max', 'min', 'first')}",
        )()

    def bool(self, d):
        e = lambda kind: self.expr(kind, d)
        op = lambda: self.pick("==", "!=", "<", "<=", ">", ">=")
        same = self.pick("int", "text", "float", "list", None)
        return self.pick(
            lambda: f"{e(same)} {op()} {e(same)}", lambda: f"{e('any')} {self.pick('==', '!=')} {e('any')}", lambda: f"not {e('any')}",
            lambda: f"{e('int')} {op()} {e('float')} {op()} {e('int')}", lambda: f"{e('text')} {self.pick('in', 'not in')} {e('text')}",
            lambda: f"{e(None)} {self.pick('in', 'not in')} {e(self.pick('list', 'dict'))}", lambda: f"{e('bool')} {self.pick('and', 'or')} {e('bool')}",
            lambda: f"{e('any')} is {self.pick('', 'not ')}{self.pick('defined', 'undefined', 'none', 'string', 'number', 'integer', 'float', 'boolean', 'true', 'false', 'mapping', 'sequence', 'iterable', 'callable', 'escaped', 'lower', 'upper')}",
            lambda: f"{e('int')} is {self.pick('odd', 'even', 'divisibleby(3)', 'divisibleby 2', 'eq 7', 'gt(2)', 'lessthan 5', 'in [1, 2]', 'sameas n', 'ne 1', 'ge 0', 'le(9)')}",
            lambda: f"{e('text')} is {self.pick('lower', 'upper', 'in words', 'filter', 'test', 'eq s', 'sameas s', 'string')}",
            lambda: f"{e('text')}.{self.pick('startswith', 'endswith')}({self.pick(quoted('a'), quoted(' '), '(%s, %s)' % (quoted('H'), quoted('x')), quoted('') + ', 1', quoted('e') + ', 1, 3')})",
            lambda: f"{e('text')}.{self.pick('isalpha', 'isdigit', 'isalnum', 'isspace', 'islower', 'isupper', 'istitle', 'isnumeric', 'isdecimal', 'isascii', 'isidentifier', 'isprintable')}()",
            lambda: f"{quoted(self.pick('upper', 'nope', 'tojson', 'defined', 'odd'))} is {self.pick('filter', 'test')}",
            lambda: f"{e('any')} is {self.pick('sameas', 'eq', 'in')} {self.pick('none', 'true', 'l', 's')}",
            lambda: self.pick("loop.first", "loop.last", "loop.changed(n)") if self.loops else "yes",
        )()

    def list(self, d):
        e = lambda kind: self.expr(kind, d)
        test = lambda: self.pick("'odd'", "'none'", "'string'", "'number'", "'defined'", "'gt', 1", "'in', [1, 2]", "'equalto', 2", "'mapping'", "")
        attribute = lambda: self.pick("'name'", "'age'", "'tags'", "'age', 'gt', 26", "'name', 'in', words", "'tags', 'undefined'", "'no'", "'name', 'equalto', 'Bob'")
        flag = lambda *names: ", ".join(f"{n}={self.pick('true', 'false')}" for n in names if self.odds(3))
        return self.pick(
            lambda: f"[{', '.join(e(None) for _ in range(self.r.randint(0, 4)))}]", lambda: f"({e(None)}, {e(None)})", lambda: f"{self.pick(*NAMES['list'])}{self.slice()}",
            lambda: f"{e('list')} + {e('list')}", lambda: f"{e('list')} * {self.small()}", lambda: f"{e('list')} | sort({flag('reverse', 'case_sensitive')})",
            lambda: f"words | sort({flag('reverse', 'case_sensitive')})", lambda: f"rows | sort(attribute='{self.pick('age', 'name', 'age,name', 'tags')}')",
            lambda: f"{e('list')} | {self.pick('reverse', 'list', 'unique', 'unique')} | list", lambda: f"words | unique({flag('case_sensitive')}) | list",
            lambda: f"{e('list')} | {self.pick('select', 'reject')}({test()}) | list", lambda: f"rows | {self.pick('selectattr', 'rejectattr')}({attribute()}) | list",
            lambda: f"{e('list')} | map({self.pick(quoted('string'), quoted('upper'), quoted('int'), quoted('length'), quoted('abs'), quoted('default') + ', 5', quoted('tojson'), quoted('replace') + ', %s, %s' % (quoted('a'), quoted('b')), 'attribute=' + quoted('name'), 'attribute=0', 'attribute=%s, default=9' % quoted('no'))}) | list",
            lambda: f"rows | map(attribute='{self.pick('name', 'age', 'tags', 'tags.0', 'no')}'{self.pick('', ', default=0')}) | list",
            lambda: f"{e('list')} | {self.pick('batch', 'slice')}({self.r.randint(1, 4)}{self.pick('', ', 0', ', ' + quoted('-'))}) | list",
            lambda: f"rows | groupby('{self.pick('age', 'name', 'no')}'{self.pick('', ', default=1', ', case_sensitive=true')}) | {self.pick('list', 'length', 'first', 'map(attribute=0) | list')}",
            lambda: f"{e('dict')} | dictsort{self.pick('', '(true)', '(by=%s)' % quoted('value'), '(reverse=true)', '(false, %s, true)' % quoted('key'))}",
            lambda: f"{e('dict')}.{self.pick('keys', 'values', 'items')}(){self.pick('', ' | list')}", lambda: f"{e('dict')} | items | list", lambda: f"{e('dict')} | list",
            lambda: f"{e('text')}.split({self.pick('', quoted(','), quoted(' ') + ', 1', 'none, 1', quoted('l'))})", lambda: f"{e('text')}.rsplit({self.pick('', quoted(' ') + ', 1', 'maxsplit=1')})",
            lambda: f"{e('text')}.splitlines({self.pick('', 'true')})", lambda: f"{e('text')}.{self.pick('partition', 'rpartition')}({quoted(self.pick(' ', 'o', ','))})",
            lambda: f"{e('text')} | list", lambda: f"range({self.pick('3', 'n', '1, 4', '0, 9, 4', '5, 0, -1', 'm')})", lambda: f"{e('list')}.copy()",
            lambda: f"rows[{self.small()}].tags", lambda: f"{self.pick('l', 'words', 'mixed', 'd')} | {self.pick('reverse', 'map(%s)' % quoted('upper'), 'select', 'unique')}",
        )()

    def dict(self, d):
        e = lambda kind: self.expr(kind, d)
        return self.pick(
            lambda: "{" + ", ".join(f"{self.pick(quoted('a'), quoted('k'), '1', 'n', 's', '2.0', 'none')}: {e(None)}" for _ in range(self.r.randint(0, 3))) + "}",
            lambda: f"dict({self.pick('', 'd', 'd, ')}{self.pick('', 'x=' + e(None)) if self.odds(2) else ''})", lambda: "deep.x", lambda: "deep.x.y", lambda: f"rows[{self.small()}]",
            lambda: f"messages[{self.small()}]", lambda: f"{e('dict')}.copy()", lambda: f"dict({e('dict')}, {self.pick('a', 'q')}={e(None)})",
            lambda: "dict([['a', 1], ['b', 2]])", lambda: f"dict(**{e('dict')})", lambda: "tools[0].function",
        )()

    # ---- statements ----

    def body(self, depth, count):
        return "".join(self.statement(depth) for _ in range(count))

    def tag(self, inside):
        left, right = self.pick("", "", "", "-", "+"), self.pick("", "", "", "-", "+")
        return "{%" + left + self.pick(" ", " ", "", "  ") + inside + self.pick(" ", " ", "\n") + right + "%}"

    def data(self):
        return self.pick("", " ", "\n", "  \n", "text", " text\n", "\n\n  ", "a\n  b\n", "é\n", "  {# note #}\n", "{#- x -#} ", "{{ '{{' }}", "\t", "{ ", " }", "%}",
                         "{% raw %}{{ x }}{% endraw %}", "{%- raw -%} {% x %} {%- endraw +%}\n", "# x\n", "\r\n", " }}")

    def output(self):
        kind = self.pick(*TYPES, "text", "text", "any")
        minus = self.pick("", "", "", "-")
        return "{{" + minus + " " + getattr(self, kind)(self.r.randint(1, 2)) + " " + self.pick("", "", "", "-") + "}}"

    def statement(self, depth):
        if depth <= 0 or self.odds(2):
            return self.data() + self.output() + self.data()
        return self.data() + self.pick(self.if_, self.for_, self.for_, self.set_, self.set_, self.set_block, self.macro, self.call, self.filter_block,
                                       self.namespace, self.with_, self.block, self.generation, self.scoped, self.recursive, self.rare)(depth - 1) + self.data()

    def if_(self, depth):
        out = self.tag("if " + self.expr(self.pick("bool", "any"), 2)) + self.body(depth, 1)
        while self.odds(3):
            out += self.tag("elif " + self.expr("bool", 2)) + self.body(depth, 1)
        if self.odds(2):
            out += self.tag("else") + self.body(depth, 1)
        return out + self.tag("endif")

    def for_(self, depth):
        kind = self.r.randrange(3)
        if kind == 0:
            target, items = "k, v", self.expr("dict", 1) + self.pick(".items()", ".items()", " | items", " | dictsort")
        elif kind == 1:
            target, items = "x", self.expr("list", 2)
        else:
            target, items = self.pick("row", "x"), self.pick("rows", "l", "words", "messages", "range(4)", "d", "s", "nested", "empty", "missing", "nil")
        condition = self.pick("", "", "", " if " + self.pick("x", "x is string", "loop.first", "not x", "x != 2", self.expr("bool", 1)))
        saved, names = list(self.local), target.replace(",", " ").split()
        self.local += names
        self.loops += 1
        inside = self.body(depth, self.r.randint(1, 2))
        if self.odds(5):
            inside += self.tag("if " + self.expr("bool", 1)) + self.tag(self.pick("break", "continue")) + self.tag("endif") + self.body(0, 1)
        self.loops -= 1
        self.local = saved
        other = self.tag("else") + self.body(depth, 1) if self.odds(5) else ""
        return self.tag(f"for {target} in {items}{condition}") + inside + other + self.tag("endfor")

    def recursive(self, depth):
        inside = self.pick("{{ x }}", "{{ x[0] }}", "{{ loop.depth }}:", "{{ loop.index }}")
        call = self.pick("{{ loop(x[1]) }}", "{% if x is not number %}{{ loop(x) }}{% endif %}", "{{ loop(x) if x is iterable and x is not string }}", "{{ loop(x.tags) }}")
        return self.tag(f"for x in {self.pick('nested', 'mixed', 'rows', '[[1, [2]], 3]')} recursive") + inside + call + self.tag("endfor")

    def set_(self, depth):
        name = self.pick("x", "y", "v", "s", "l", "q")
        if self.odds(8):
            return self.tag(f"set {self.pick('a, b', 'q, v', '(a, b)')} = {self.pick('(1, 2)', 'l', 'd', self.expr('list', 1), '1, 2')}")
        text = self.tag(f"set {name} = {self.expr(None, 2)}")
        self.local.append(name)
        return text

    def set_block(self, depth):
        name = self.pick("x", "y", "blk")
        text = self.tag(f"set {name}{self.pick('', '', ' | upper', ' | trim', ' | indent(2)')}") + self.body(depth, 1) + self.tag("endset")
        self.local.append(name)
        return text + "{{ " + name + " }}"

    def macro(self, depth):
        name = self.pick("mac", "fmt", "show")
        parameters = self.pick("", "a", "a, b", "a, b=1", "a='x', b=a", "a, b=n, c=[]", "a, a" if self.odds(8) else "a")
        saved, loops = list(self.local), self.loops
        self.local, self.loops = [p for p in ("a", "b", "c") if p in parameters], 0
        extra = self.pick("", "", "{{ varargs }}", "{{ kwargs }}", "{{ caller() }}", "{{ caller is defined }}", "{{ varargs | length }}{{ kwargs.other }}")
        inside = self.body(depth, 1) + extra
        self.local, self.loops = saved, loops
        self.macros.append(name)
        return self.tag(f"macro {name}({parameters})") + inside + self.tag("endmacro")

    def call(self, depth):
        name = self.pick(*self.macros) if self.macros else self.pick("mac", "loop", "n")
        parameters = self.pick("", "", "(p)", "(p, q=2)")
        return self.tag(f"call{parameters} {name}({self.pick('', '1', 's', '1, 2', 'b=3')})") + self.body(depth, 1) + self.tag("endcall")

    def filter_block(self, depth):
        return self.tag("filter " + self.pick("upper", "trim", "indent(2)", "replace('a', 'b')", "upper | trim", "length", "e", "title", "wordcount")) + \
            self.body(depth, 1) + self.tag("endfilter")

    def namespace(self, depth):
        inside = self.tag(f"set ns.{self.pick('a', 'b')} = {self.pick('ns.a + 1', 'x', 'loop.index', '[ns.a]', self.expr(None, 1))}")
        self.loops += 1
        more = self.body(0, 1)
        self.loops -= 1
        return self.tag(f"set ns = namespace({self.pick('a=0', 'a=0, b=s', 'd', 'dict(a=1)')})") + \
            self.tag("for x in " + self.pick("l", "range(3)", "rows")) + inside + more + self.tag("endfor") + "{{ ns.a }}|{{ ns.b }}"

    def with_(self, depth):
        name = self.pick("x", "w")
        saved = list(self.local)
        self.local.append(name)
        inside = self.body(depth, 1)
        self.local = saved
        return self.tag(f"with {self.pick('', name + ' = ' + self.expr(None, 1), name + ' = 1, y = ' + name)}") + inside + self.tag("endwith")

    def block(self, depth):
        self.blocks += 1
        name = f"b{self.blocks if not self.odds(12) else 1}"
        extra = self.pick("", "", "", "{{ self.b1() }}" if self.blocks > 1 else "", "{{ super() }}" if self.odds(4) else "")
        return self.tag(f"block {name}{self.pick('', '', ' scoped', ' required' if self.odds(6) else '')}") + self.body(depth, 1) + extra + \
            self.tag("endblock" + self.pick("", " " + name))

    def generation(self, depth):
        return self.tag("generation") + self.body(depth, 1) + self.tag("endgeneration")

    def scoped(self, depth):
        return self.tag("if " + self.expr("bool", 1)) + self.tag(f"set x = {self.expr(None, 1)}") + self.tag("endif") + "{{ x }}"

    def rare(self, depth):
        return self.pick(
            lambda: self.tag("include 'x'" + self.pick("", " ignore missing", " without context")), lambda: self.tag("import 'x' as y"), lambda: self.tag("extends 'x'"),
            lambda: self.tag("from 'x' import y"), lambda: "{{ raise_exception('no ' ~ n) }}", lambda: self.tag("autoescape " + self.pick("true", "false")) + self.body(depth, 1) + self.tag("endautoescape"),
            lambda: "{{ s | nofilter }}", lambda: "{{ s is notest }}", lambda: "{% if no %}{{ s | nofilter }}{% endif %}", lambda: "{{ x. }}", lambda: "{% endfor %}", lambda: "{{ 1 +", lambda: "{% set x %}",
            lambda: "{{ 'a' 'b' }}", lambda: "{% do 1 %}", lambda: "{{ n.__class__ }}", lambda: "{{ s.format_map(d) }}", lambda: "{{ [1, 2].append(3) }}", lambda: "{{ d.update({}) }}", lambda: "{{ range(1000000) | length }}",
            lambda: "{% set d.x = 1 %}", lambda: "{{ {}[[]] }}", lambda: "{{ l | random }}" if self.odds(3) else "{{ l }}", lambda: "{# open", lambda: "{{ '\\u00e9\\x41\\n' }}", lambda: "{% for x in l %}{{ loop.index }}{% endfor x %}",
            lambda: "{{ (1, 2)[0] }}{{ (1).real }}{{ 1.0.is_integer() }}", lambda: "{{ s['upper']() }}{{ d['items'] }}{{ d.items }}", lambda: "{{ not s in words }}{{ 2 ** 3 ** 2 }}{{ -2 ** 2 }}{{ 1 < 2 < 3 }}",
            lambda: "{{ a if b }}|{{ missing.x }}", lambda: "{{ missing }}|{{ missing is defined }}|{{ missing | length }}", lambda: "{% print 1 %}", lambda: "{{ true and 'x' or 'y' }}{{ none ~ 1 }}{{ [] ~ {} }}",
        )()
