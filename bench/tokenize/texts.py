# SPDX-License-Identifier: MIT
"""Three texts for bench/tokenize from what lies on the machine: English, code and Chinese.

usage: texts.py FOLDER [BYTES]

Writes FOLDER/english.txt, code.txt and chinese.txt, each at most BYTES (1,000,000) long: licences and
documentation; the sources of Python's library; the messages of programs in Chinese (their .mo files).
"""

import gettext
import glob
import gzip
import os
import sys
import sysconfig


def read(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
        return f.read().decode("utf-8", "replace")


def english():
    yield from (read(p) for p in sorted(glob.glob("/usr/share/common-licenses/*")) if os.path.isfile(p))
    for pattern in ("README*", "NEWS*", "*.txt", "FAQ*", "changelog*"):
        for path in sorted(glob.glob("/usr/share/doc/*/" + pattern)):
            if os.path.isfile(path):
                yield read(path)


def code():
    for path in sorted(glob.glob(sysconfig.get_path("stdlib") + "/*.py")):
        yield read(path)


def is_chinese(text):
    return sum("\u4e00" <= c <= "\u9fff" for c in text) * 2 > len(text)


def chinese():
    for path in sorted(glob.glob("/usr/share/locale/zh_CN/LC_MESSAGES/*.mo")):
        with open(path, "rb") as f:
            messages = gettext.GNUTranslations(f)._catalog.values()
        yield "".join(m + ("\n" if len(m) > 40 else "") for m in messages
                      if isinstance(m, str) and is_chinese(m))


def main():
    folder, limit = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    os.makedirs(folder, exist_ok=True)
    for make in (english, code, chinese):
        data = b""
        for part in make():
            data += part.encode()
            if len(data) >= limit:
                break
        with open(os.path.join(folder, make.__name__ + ".txt"), "wb") as f:
            f.write(data[:limit].decode("utf-8", "ignore").encode())
        print(f"{make.__name__}: {min(len(data), limit)} bytes")


main()
