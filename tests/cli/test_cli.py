#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The program as people use it: answers, exit codes, pipes, full disks, terminals, JSON.

    test_cli.py POWER TESTS_DATA

The models are scripted (tests/data/cases): the last byte of the prompt picks the answer. Standard library
only. Ends with `N passed, N failed`.
"""
import hashlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

power, data = sys.argv[1], sys.argv[2]
text = f"{data}/cases/gguf/script-text.gguf"
llama = f"{data}/tiny-models/llama/model.gguf"
greedy = ["--temperature", "0"]
passed, failed = 0, 0


def check(name, good, detail=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print(f"FAIL {name}: {detail}"[:2000], flush=True)


def run(*args, stdin="", env=None):
    p = subprocess.run([power, *args], input=stdin.encode(), capture_output=True, timeout=120,
                       env={**os.environ, **(env or {})})
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def expect(name, got, code, out=None, err=None):
    """Exit code, stdout (equal, or a compiled pattern), stderr (pattern)."""
    good = got[0] == code
    if out is not None:
        good = good and (out.search(got[1]) is not None if isinstance(out, re.Pattern) else got[1] == out)
    if err is not None:
        good = good and re.search(err, got[2]) is not None
    check(name, good, got)


def one_line(name, got, err):
    expect(name, got, 2, "", err)
    check(name + " (one line)", got[2].count("\n") == 1, got)


def test_help():
    expect("--help", run("--help"), 0, re.compile(r"usage: power COMMAND"), "^$")
    expect("--version", run("--version"), 0, re.compile(r"^power \d+\.\d+\.\d+\n$"))
    for command in "run chat perplexity show tokenize template bench doctor".split():
        expect(f"{command} --help", run(command, "--help"), 0, re.compile(r"usage: power .*example: ", re.S), "^$")
        check(f"{command} -h", run(command, "-h") == run(command, "--help") == run("help", command))
    one_line("no command", run(), "which command")
    one_line("unknown command", run("frobnicate"), "frobnicate")


def test_usage():
    one_line("unknown option", run("run", text, "x", "--frobnicate"), "--frobnicate")
    one_line("no model", run("run"), "missing argument")
    one_line("text and file", run("tokenize", text, "x", "--file", llama), "both given")
    one_line("seed beyond JSON", run("run", text, "x", "--seed", "9223372036854775808"), "2\\^63")
    one_line("too many", run("show", text, "more"), "too many")
    one_line("missing value", run("run", text, "x", "--threads"), "--threads")
    for option, value in [("--threads", "0"), ("--threads", "x"), ("--threads", "-1"), ("--threads", "1e3"),
                          ("--ctx", "0"), ("--ctx", "99999999999999999999"), ("--temperature", "nan"),
                          ("--temperature", "-1"), ("--temperature", "1e-5"), ("--top-p", "1.5"), ("--top-k", "1.5"), ("--memory", "8X"),
                          ("--seed", "x"), ("--kv", "f8"), ("--cpu-mask", "mmx"), ("--sha256", "abc"),
                          ("--logit-bias", "5"), ("--stop-id", "x"), ("--max-tokens", "0"), ("--verify", "maybe")]:
        one_line(f"{option} {value}", run("run", text, "x", option, value), re.escape(option.strip("-").split("-")[0]))


def test_run():
    expect("answer", run("run", text, "say b", *greedy), 0, "ABCDEFGHIJ\n", "^$")
    expect("pipe", run("run", text, *greedy, stdin="say a\n"), 0, "Hello world out\n")
    expect("file", run("run", text, "--file", "-", *greedy, stdin="say a"), 0, "Hello world out\n")
    expect("split UTF-8", run("run", text, "say h", *greedy), 0, "\U0001f638\n")
    expect("max tokens", run("run", text, "say b", "-n", "2", *greedy), 0, "ABCDEF\n")
    expect("bias forbids", run("run", text, "say b", "-n", "1", "--logit-bias", "275=-1000", *greedy), 0, re.compile("^(?!ABC)"))
    expect("stop id", run("run", text, "say b", "--stop-id", "71", *greedy), 0, "ABCDEF\n")
    code, out, err = run("run", text, "say b", "--json", *greedy)
    answer = json.loads(out)
    check("json", code == 0 and answer["text"] == "ABCDEFGHIJ" and answer["ids"] == [275, 276, 71, 277, 74]
          and answer["finish"] == "stop" and answer["usage"]["output_tokens"] >= 5, answer)
    expect("stats", run("run", text, "say b", "--stats", *greedy), 0, "ABCDEFGHIJ\n", r"tokens/s.*TTFT.*peak memory")
    expect("random seed is said", run("run", llama, "channel", "--seed", "random", "-n", "4"), 0, None, r"^seed \d+")
    seeds = [run("run", llama, "channel is", "-n", "12", "--seed", s, "--temperature", "1.5")[1] for s in "1121"]
    check("seed decides", seeds[0] == seeds[1] == seeds[3] != seeds[2], seeds)
    masks = [run("run", llama, "channel is", "-n", "12", "--seed", "3", *o) for o in
             ([], ["--cpu-mask", "none"], ["--cpu-mask", "avx2"], ["--threads", "3"], ["--no-mmap"], ["--no-pack"], ["--no-fusion"], ["--chunk", "1"])]
    check("the same bytes by every path", len({m[:2] for m in masks}) == 1, masks)


def test_constraints():
    with tempfile.TemporaryDirectory() as folder:
        constraints(f"{folder}/schema.json", f"{folder}/grammar.gbnf")


def constraints(schema_file, grammar_file):
    with open(schema_file, "w") as f:
        f.write('{"type":"object","properties":{"b":{"enum":["x","y"]},"a":{"type":"boolean"}},"required":["a","b"],"additionalProperties":false}')
    with open(grammar_file, "w") as f:
        f.write('root ::= "x" [0-9] | "y"\n')
    schema = ["--schema", schema_file]
    code, out, err = run("run", text, "say b", *schema, *greedy)
    check("schema", code == 0 and set(json.loads(out)) == {"a", "b"} and out.index('"b"') < out.index('"a"'), (out, err))
    compact = run("run", text, "say b", *schema, "--json-space", "compact", "--seed", "5", "--temperature", "5")
    check("compact", compact[0] == 0 and not re.search(r"\s", compact[1].rstrip("\n")), compact)
    orders = {run("run", text, "say b", *schema, "--any-order", "--temperature", "5", "--seed", str(i))[1].find('"b"') > 2 for i in range(12)}
    check("any order", orders == {True, False}, orders)
    expect("grammar", run("run", text, "say b", "--grammar", grammar_file, *greedy), 0, re.compile(r"^(x[0-9]|y)\n$"))
    expect("regex", run("run", text, "say b", "--regex", "[0-9]{3}", *greedy), 0, re.compile(r"^[0-9]{3}\n$"))
    expect("choice", run("run", text, "say b", "--choice", "ABCDE", "--choice", "ABCDx", *greedy), 0, re.compile("^ABCD[Ex]\n$"))
    expect("leading space", run("run", text, "say b", "--regex", "a", "--leading-space", "2", "--logit-bias", "32=1000", *greedy), 0, "  a\n")
    expect("after", run("run", text, "say b", "--regex", "[0-9]{2}", "--constraint-after", "BC", *greedy), 0, re.compile(r"^ABC[0-9]{2}\n$"))
    expect("cut", run("run", text, "say b", "--regex", "[0-9]{9}", "-n", "3", *greedy), 3, re.compile(r"^[0-9]{3}\n$"), "cut.*length")
    expect("a bad regex", run("run", text, "say b", "--regex", "(a"), 1, "", "--regex")
    expect("no such file", run("run", text, "say b", "--schema", "/nonexistent"), 1, "", "No such file")
    expect("cut by a stop id", run("run", text, "say b", "--choice", "ABCDEFG", "--stop-id", "71", *greedy), 3, "ABCDEF\n", "cut.*stop")
    one_line("two constraints", run("run", text, "x", "--regex", "a", "--choice", "b"), "exclude each other")
    one_line("any order of nothing", run("run", text, "x", "--regex", "a", "--any-order"), "belong to --schema")
    one_line("after nothing", run("run", text, "x", "--constraint-after", "a"), "belong to a constraint")
    one_line("a wrong space", run("run", text, "x", *schema, "--json-space", "wide"), "json-space")
    one_line("logprobs without json", run("run", text, "x", "--logprobs", "2"), "--json")
    one_line("an empty stop", run("run", text, "x", "--stop", ""), "--stop")


def test_stops():
    expect("stop", run("run", text, "say b", "--stop", "EFG", *greedy), 0, "ABCD\n", "^$")
    expect("first to end, then longest", run("run", text, "say b", "--stop", "HI", "--stop", "FG", "--stop", "DEFG", *greedy), 0, "ABC\n")
    expect("no stop comes", run("run", text, "say b", "--stop", "JK", *greedy), 0, "ABCDEFGHIJ\n")
    answer = json.loads(run("run", text, "say b", "--stop", "zz", "--stop", "EFG", "--json", "--logprobs", "3", *greedy)[1])
    tokens = answer["tokens"]
    check("stop in JSON", answer["finish"] == "stop" and answer["stop"] == "EFG" and answer["end_id"] is None
          and answer["usage"]["output_tokens"] == 3, answer)
    check("logprobs", [bytes(t["bytes"]) for t in tokens] == [b"ABC", b"DEF", b"G"] and [t["text_offset"] for t in tokens] == [0, 3, 6]
          and all(len(t["top"]) == 3 and t["top"][0]["id"] == t["id"] and t["top"][0]["logprob"] == t["logprob"] for t in tokens), tokens)
    answer = json.loads(run("run", text, "say b", "--json", *greedy)[1])
    check("end in JSON", answer["stop"] is None and answer["end_id"] == 257 and answer["usage"]["output_tokens"] == 6 and "tokens" not in answer, answer)
    answer = json.loads(run("run", text, "say b", "-n", "2", "--json", *greedy)[1])
    check("length in JSON", answer["finish"] == "length" and answer["end_id"] is None, answer)
    code, out, err = run("chat", text, "--stop", "G", *greedy, stdin="say b\n")
    check("chat stops", code == 0 and "ABCDEF\n" in out and "G" not in out, (out, err))
    code, out, err = run("chat", text, "-n", "2", *greedy, stdin="say b\n")
    check("chat says that it cut", code == 0 and "--max-tokens 2" in err, (out, err))


def test_refusals():
    expect("context", run("run", text, "say b", "--ctx", "4"), 1, "", r"11.*4")
    expect("trained context", run("run", text, "say b", "--ctx", "100000"), 1, "", r"100000.*1024")
    expect("memory", run("run", text, "say b", "--memory", "1K"), 1, "", r"1024|memory")
    expect("no file", run("run", "/nonexistent.gguf", "x"), 1, "", "No such file")
    expect("a directory", run("run", "/", "x"), 1, "", "power run: ")
    real = hashlib.sha256(open(text, "rb").read()).hexdigest()
    expect("digest", run("run", text, "x", "--sha256", "0" * 64, "--verify", "always"), 1, "", f"digest is {real}.*{'0' * 64}")
    expect("invalid text", subprocess_bytes(["run", text, "--raw"], b"ab\xff"), 1, "", "offset 2|UTF-8")
    expect("chat needs a template", run("chat", llama), 1, "", "template")
    expect("empty bias id", run("run", llama, "channel", "--logit-bias", "99999=1"), 1, "", "99999")


def subprocess_bytes(args, stdin):
    p = subprocess.run([power, *args], input=stdin, capture_output=True, timeout=120)
    return p.returncode, p.stdout.decode(errors="replace"), p.stderr.decode()


def test_output():
    with open("/dev/full", "wb") as full:
        p = subprocess.run([power, "run", text, "say b", *greedy], stdout=full, stderr=subprocess.PIPE, timeout=120)
    check("full disk", p.returncode == 1 and b"No space left" in p.stderr, p)
    for args in ["--help"], ["run", "--help"], ["doctor"], ["run", text, "say b", *greedy]:
        p = subprocess.run(["sh", "-c", '"$@" >&-', "sh", power, *args], timeout=120)
        check(f"closed stdout {args}", p.returncode == 1, p)
    p = subprocess.Popen([power, "run", llama, "channel", "--ignore-end", "--ctx", "512"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    p.stdout.close()
    check("closed pipe", p.wait(timeout=120) == 1 and p.stderr.read() == b"", p.returncode)
    for command in (["doctor"], ["show", text], ["tokenize", text, "say b"], ["bench", text, "-p", "8", "-n", "2", "-r", "1", "--no-probe"]):
        code, out, err = run(*command, "--json")
        try:
            json.loads(out)
            check(f"{command[0]} --json", code == 0, err)
        except ValueError as error:
            check(f"{command[0]} --json", False, f"{error}: {out}")


def test_others():
    expect("tokenize", run("tokenize", text, "say b"), 0, '115\t"s"\t0-1\n97\t"a"\t1-2\n121\t"y"\t2-3\n32\t" "\t3-4\n98\t"b"\t4-5\n')
    expect("tokenize with two wishes", run("tokenize", text, "a", "--parse-special", "--no-parse-special"), 2, "", "both given")
    for pre, ids in (("llama-bpe", "64 292 65"), ("gpt-2", "64 198 198 65")):  # llama-bpe keeps lines' ends together
        out = run("tokenize", llama, "a\n\nb", "--plain", "--pre", pre)
        check(f"tokenize --pre {pre}", [line.split("\t")[0] for line in out[1].splitlines()] == ids.split(), out)
    check("tokenize a file", run("tokenize", text, "--file", "-", stdin="say b") == run("tokenize", text, "say b"))
    expect("tokenize, unknown pre-tokenizer", run("tokenize", text, "a", "--pre", "no-such"), 1, "", "no-such")
    expect("tokenize broken bytes", run("tokenize", text, b"a\xff\xc3"), 1, "", "byte 1")
    expect("tokenize broken bytes, replaced", run("tokenize", text, b"a\xff\xc3", "--replace-invalid"), 0, re.compile(r'^97\t"a"\t0-1\n(\d+\t"\\x[0-9a-f]+"\t\d-\d\n){6}$'))
    expect("detokenize", run("tokenize", text, "-d", "275 276,71"), 0, "ABCDEFG\n")
    expect("detokenize a bad id", run("tokenize", text, "-d", "275 x"), 1, "", '"x" is not a token id')
    expect("detokenize beyond the vocabulary", run("tokenize", text, "-d", "99999999"), 1, "", "99999999, the vocabulary has")
    expect("detokenize a NUL", run("tokenize", text, "-d", stdin="275\0 276"), 1, "", "NUL")
    for flag in (["--plain"], ["--replace-invalid"], ["--pre", "gpt-2"]):
        expect("detokenize " + flag[0], run("tokenize", text, "-d", "275", *flag), 2, "", "excludes")
    expect("tokenize half a character", run("tokenize", text, "é"), 0, re.compile(r'"\\xc3"\t0-1\n.*"\\xa9"\t1-2\n$', re.S))
    code, out, err = run("tokenize", text, "é", "--json")
    check("tokenize half a character --json", code == 0 and [t.get("bytes") for t in json.loads(out)] == [[195], [169]], (out, err))
    expect("context hint", run("run", llama, "--raw", "a long prompt", "--ctx", "2"), 1, "", "see --ctx")
    expect("trained hint", run("run", llama, "--raw", "a", "--ctx", "100000"), 1, "", "see --beyond-trained")
    expect("bench without probe", run("bench", text, "-p", "8", "-n", "2", "-r", "1", "--no-probe"), 0, re.compile(r"^(?!.*probe).*peak memory", re.S))
    code, out, err = run("run", llama, "--raw", "a", "-n", "1", "--seed", "random", "--json")
    check("random seed", code == 0 and err == f"seed {json.loads(out)['seed']}\n", (out, err))
    code, out, err = run("run", llama, "--raw", "the cat sat", "-n", "8", *greedy, "--json")
    check("ids are tokens", code == 0 and max(json.loads(out)["ids"]) < 320, (out, err))
    expect("show", run("show", text), 0, re.compile(r"architecture\s+llama.*end tokens\s+257 </s>.*MiB state for 1024 tokens", re.S))
    expect("show tensors", run("show", text, "--tensors", "--metadata"), 0, re.compile(r"general.architecture\s+llama.*token_embd.weight\s+Q8_0", re.S))
    code, out, _ = run("show", text, "--digest", "--json")
    sum_ = subprocess.run(["sha256sum", text], capture_output=True, text=True).stdout.split()[0]
    check("show digest", code == 0 and json.loads(out)["sha256"] == sum_, out[:300])
    expect("doctor", run("doctor"), 0, re.compile(r"models\s+.*qwen35.*\ntool_formats\s+.*hermes", re.S))
    expect("perplexity", run("perplexity", llama, "-", stdin="channel is only a matter of time"), 0, re.compile(r"^perplexity \d"))
    expect("perplexity too long", run("perplexity", llama, "-", "--ctx", "8", stdin="channel is only " * 9), 1, "", r"tokens.*8")


def test_chat():
    lines = "say b\n/help\nsay a\n/drop\n/clear\n/what\nsay c\n/quit\nsay d\n"
    code, out, err = run("chat", text, *greedy, stdin=lines)
    check("chat", code == 0 and out.startswith("ABCDEFGHIJ\n/help") and "Hello world out\n" in out
          and out.endswith("ipsum dolor sit amet\n") and "/what" in err, (code, out, err))
    code, out, err = run("chat", text, "--ctx", "40", *greedy, stdin="say b\nsay b\nsay b\nsay b\n/clear\nsay a\n")
    check("chat says a full context", re.search(r"context holds 40", err) and out.endswith("Hello world out\n"), (out, err))


def read_until(fd, what, seconds=30):
    got, end = b"", time.monotonic() + seconds
    while what not in got and time.monotonic() < end:
        if select.select([fd], [], [], 0.2)[0]:
            try:
                got += os.read(fd, 4096)
            except OSError:
                break
    return got


def test_terminal():
    pid, fd = pty.fork()
    if not pid:
        os.execv(power, [power, "chat", text, "--temperature", "0"])
    read_until(fd, b"> ")
    os.write(fd, b"say a\r")
    got = read_until(fd, b"out")
    check("terminal answers", b"Hello world out" in got, got)
    read_until(fd, b"> ")
    os.kill(pid, signal.SIGINT)  # at the prompt: the program stays
    time.sleep(0.3)
    os.write(fd, b"\rsay a\r")
    check("Ctrl-C leaves the program up", b"Hello world out" in read_until(fd, b"out"))
    os.write(fd, b"/quit\r")
    _, status = os.waitpid(pid, 0)
    check("terminal leaves with 0", os.waitstatus_to_exitcode(status) == 0, status)


def test_interrupt():
    codes = []
    while len(codes) < 5 and 130 not in codes:  # a short answer may be over before the signal comes
        p = subprocess.Popen([power, "run", llama, "channel", "--ignore-end", "--ctx", "512", "--cpu-mask", "none", "--no-fusion"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        os.read(p.stdout.fileno(), 1)
        p.send_signal(signal.SIGINT)
        p.communicate(timeout=60)
        codes.append(p.returncode)
    check("interrupted run", codes[-1] == 130 and all(c == 0 for c in codes[:-1]), codes)


def test_effects():
    """Options that nothing above shows to have an effect."""
    base = ["run", llama, "channel is", "-n", "48", "--ignore-end", *greedy]
    plain = run(*base)[1]
    for option, value in [("--repetition-penalty", "3"), ("--presence-penalty", "8"), ("--frequency-penalty", "8")]:
        check(f"{option} has an effect", run(*base, option, value)[1] != plain, plain)
    hot = ["run", llama, "channel is", "-n", "48", "--ignore-end", "--temperature", "2"]
    check("--min-p 1 leaves the likeliest", run(*hot, "--min-p", "1", "--top-k", "0", "--top-p", "1")[1] == plain)
    check("--top-k 1 leaves the likeliest", run(*hot, "--top-k", "1")[1] == plain)
    for wrong in (["--special", "--tools", "x"], ["--raw", "--system", "x"]):
        expect(" ".join(wrong), run("run", text, "say b", *wrong), 2, "", "excludes")
    one_line("chat --special", run("chat", text, "--special"), "unknown option \"--special\"")
    check("chat --help lists no --special", "--special" not in run("chat", "--help")[1])
    expect("--pre without a name", run("tokenize", text, "a", "--pre", ""), 2, "", "empty")
    expect("chat with a NUL", run("chat", text, "-n", "2", stdin="say\0 b\n"), 0, "", "NUL byte is left out")
    check("--special", "</s>" in run("run", text, "say b", "--ignore-end", "--special", "-n", "8", *greedy)[1])
    tokens = [json.loads(run("run", text, "say b", "--json", *o, *greedy)[1])["usage"]["prompt_tokens"] for o in ([], ["--system", "be brief"])]
    check("--system", tokens[0] < tokens[1], tokens)
    expect("show --template", run("show", text, "--template"), 0, re.compile(r"^{%.*endfor %}\Z", re.S), "^$")
    expect("show --template without one", run("show", llama, "--template"), 1, "", "no chat template")
    mistral = f"{data}/tiny-models/mistral/model.gguf"
    ids = {o: run("tokenize", mistral, "a</s>", *o.split())[1].count("\n") for o in ("", "--plain", "--parse-special")}
    check("--plain and --parse-special", ids["--plain"] == ids[""] - 1 and ids["--parse-special"] < ids[""], ids)
    check("--top-p 0.0001 leaves the likeliest", run(*hot, "--min-p", "0", "--top-k", "0", "--top-p", "0.0001")[1] == plain)
    check("... and --top-p 1 does not", run(*hot, "--min-p", "0", "--top-k", "0", "--top-p", "1")[1] != plain)
    expect("tokenize --detokenize", run("tokenize", text, "--detokenize", "275 276"), 0, "ABCDEF\n")


def test_models():
    """Options of models and of measurements."""
    words = "channel is only a matter of time"
    values = [run("perplexity", llama, "-", "--kv", kv, stdin=words)[1] for kv in ("f16", "f32", "q8_0", "f16")]
    check("--kv", values[0] == values[3] and len(set(values)) == 3, values)
    mistral = f"{data}/tiny-models/mistral/model.gguf"
    counts = [json.loads(run("perplexity", mistral, "-", "--json", *o, stdin="a</s>b")[1])["tokens"] for o in ([], ["--parse-special"])]
    check("perplexity --parse-special", counts[1] < counts[0], counts)
    far = ["run", llama, "--raw", "a", "--ctx", "100000", "-n", "2", *greedy]
    check("--beyond-trained", run(*far)[0] == 1 and run(*far, "--beyond-trained")[0] == 0)
    sizes = [json.loads(run("show", text, "--json", *o)[1])["memory"]["state_bytes"] for o in ([], ["--kv", "f32"], ["--ctx", "512"])]
    check("show --kv and --ctx", 1.8 < sizes[1] / sizes[0] < 2.2 and 1.8 < sizes[0] / sizes[2] < 2.2, sizes)
    bench = json.loads(run("bench", text, "--prompt", "9", "--output", "3", "--rounds", "2", "--no-probe", "--threads", "1", "--json")[1])
    check("bench --prompt, --output, --rounds", (bench["prompt_tokens"], bench["output_tokens"], bench["rounds"], bench["threads"]) == (9, 3, 2, 1), bench)
    expect("bench beyond its context", run("bench", text, "-p", "9", "-n", "3", "-r", "1", "--no-probe", "--ctx", "8"), 1, "", "8")
    for value in ("--prompt", "--output", "--rounds"):
        one_line(f"bench {value} 0", run("bench", text, value, "0"), value)
    with tempfile.TemporaryDirectory() as cache:
        for when, kept in (("never", False), ("once", True)):
            for _ in range(20):  # the program may be done before the digest is, which is then given up
                got = run("run", text, "say b", "--verify", when, *greedy, env={"XDG_CACHE_HOME": cache})
                if got[0] or os.path.exists(f"{cache}/power/digests"):
                    break
            check(f"--verify {when}", got[0] == 0 and os.path.exists(f"{cache}/power/digests") == kept, got)
    real = hashlib.sha256(open(text, "rb").read()).hexdigest()
    expect("--sha256 of the file", run("run", text, "say b", "--sha256", real, "--verify", "always", *greedy), 0, "ABCDEFGHIJ\n")


def test_tools():
    """Forced calls, by a model that never saw one."""
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/tools.json", "w") as f:
            json.dump([{"name": n, "parameters": {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"],
                                                  "additionalProperties": False}} for n in ("f", "g")], f)
        with open(f"{folder}/any.json", "w") as f:
            f.write("{}")
        tools = ["run", text, "say b", "--tools", f"{folder}/tools.json"]
        hermes = [*tools, "--answer-format", "hermes"]
        line = r'^{"name":"%s","arguments":{"a":(true|false)}}\n'
        expect("--tool-choice required", run(*hermes, "--tool-choice", "required", "--seed", "4", "--temperature", "3"), 0, re.compile(line % "[fg]" + r"\Z"), "^$")
        expect("--tool-choice NAME", run(*hermes, "--tool-choice", "g", *greedy), 0, re.compile(line % "g" + r"\Z"), "^$")
        expect("--tool-choice auto", run(*hermes, *greedy), 0, "ABCDEFGHIJ\n", "^$")
        expect("an unknown function", run(*hermes, "--tool-choice", "h"), 1, "", 'no tool has the name "h"')
        expect("--answer-format is missing", run(*tools, "--tool-choice", "f"), 1, "", "chat template has no format")
        expect("--answer-format is unknown", run(*tools, "--answer-format", "none"), 1, "", "none")
        answer = json.loads(run(*tools, "--answer-format", "llama3", "--tool-choice", "f", "--json", *greedy)[1])
        check("--answer-format", "<tool_call>" not in answer["text"] and answer["tool_calls"][0]["name"] == "f", answer)
        endless = [*hermes, "--tool-choice", "f", "--logit-bias", "257=-100", "-n", "150", *greedy]
        check("one call", run(*endless)[1].count('"f"') == 1)
        check("--parallel-calls", run(*endless, "--parallel-calls")[1].count('"f"') == 2)
        deep = {n: run("run", text, "say b", "--schema", f"{folder}/any.json", "--any-depth", n, "--logit-bias", "91=1000", *greedy)[1].count("[") for n in "123"}
        check("--any-depth", deep["1"] + 2 == deep["2"] + 1 == deep["3"], deep)
        for wrong, why in ((["--tool-choice", "f"], "belong to --tools"), (["--tools", "x", "--raw"], "excludes --raw"),
                           (["--tools", "x", "--parallel-calls"], "belongs to --tool-choice"), (["--any-depth", "2"], "belong to --schema"),
                           (["--tools", "x", "--tool-choice", "f", "--regex", "a"], "excludes other constraints")):
            one_line(" ".join(wrong), run("run", text, "x", *wrong), why)


for test in (test_help, test_usage, test_run, test_constraints, test_stops, test_refusals, test_output, test_others, test_chat, test_terminal, test_interrupt, test_effects, test_models, test_tools):
    test()
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed or not passed else 0)
