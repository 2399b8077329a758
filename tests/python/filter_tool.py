"""The C++ side of a comparison: the program of tests/tools/filter_tool.cc."""

import subprocess

import rocksieve_format as fmt


class Difference(Exception):
    pass


def to_hex(data):
    return data.hex() or "-"


def from_hex(text):
    return b"" if text == "-" else bytes.fromhex(text)


class Tool:
    """The C++ side. Remembers what it was asked last, for the report of a difference."""

    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, bufsize=1 << 20)
        self.request = self.answer = ""

    def ask(self, *words):
        self.request = " ".join(words)
        self.answer = ""
        try:
            self.process.stdin.write(self.request + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise Difference(f"filter_tool ended with code {self.process.wait()}")
        self.answer = line.rstrip("\n")
        return self.answer.split(" ")

    def close(self):
        self.request = self.answer = ""
        self.process.stdin.close()
        if self.process.wait() != 0:  # a sanitizer may have its last word at the end
            raise Difference(f"filter_tool ended with code {self.process.returncode}")

    def build(self, spec, keys):
        return from_hex(self.ask("build", spec, *map(to_hex, keys))[0])

    def query(self, block, keys):
        """The state and a string of 0 and 1."""
        state, answers = self.ask("query", to_hex(block), *map(to_hex, keys))
        return state, answers

    def info(self, block):
        return self.ask("info", to_hex(block))

    def hash(self, salt, keys):
        block = fmt.encode_bloom([], 10, salt)  # the least that has a salt
        return [int(word) for word in self.ask("hash", to_hex(block), *map(to_hex, keys))]


def require_equal(what, cpp, python):
    if cpp != python:
        raise Difference(f"{what}:\n  C++:    {cpp}\n  Python: {python}")
