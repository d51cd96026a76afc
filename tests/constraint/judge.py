# SPDX-License-Identifier: MIT
"""Asks the program `classify` about constraints; finds what the tests read outside the tree."""
import json
import os
import pathlib
import subprocess
import sys
import tarfile


class Judge:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, encoding="utf-8")

    def ask(self, texts, **constraint):
        """One 0 or 1 a text, or the status and message."""
        self.process.stdin.write(json.dumps({**constraint, "texts": texts}) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().rstrip("\n")

    def close(self):
        self.process.stdin.close()
        return self.process.wait()


def cache():
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "power"


def skip(reason):
    print("SKIP:", reason)
    sys.exit(77)


def members(place, wanted):
    """(name, text) of the files of a folder or source archive whose path holds `wanted`."""
    if place.is_dir():
        return [(str(path), path.read_text("utf-8")) for path in sorted(place.rglob("*"))
                if wanted in str(path) and path.is_file()]
    with tarfile.open(place) as archive:
        return [(member.name, archive.extractfile(member).read().decode("utf-8"))
                for member in archive if wanted in member.name and member.isfile()]
