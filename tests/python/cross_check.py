#!/usr/bin/env python3
"""Compares the C++ code with the Python reading of docs/formats/, on random filters.

    cross_check.py FILTER_TOOL [--seed=N] [--filters=N] [--seconds=N]

FILTER_TOOL is the program of tests/tools/filter_tool.cc. Every filter is built by both sides, and
the bytes must be equal; then both are asked about its keys, about other keys, and about blocks that
were damaged on purpose. Stops at the first difference, writes down how to see it again, and exits
with 1.
"""

import argparse
import json
import random
import subprocess
import sys
import time

import rocksieve_format as fmt

FAMILY_NAMES = {fmt.BLOOM: "bloom", fmt.CUCKOO: "cuckoo", fmt.RIBBON: "ribbon"}
MIN_BITS = {fmt.BLOOM: 1, fmt.CUCKOO: 2.5, fmt.RIBBON: 1}
MAX_BITS = {fmt.BLOOM: 64, fmt.CUCKOO: 64, fmt.RIBBON: 32}
MAX_ASKED = 300  # of the keys of one filter
DAMAGES_PER_RANDOM_FILTER = 8
DAMAGES_PER_CHOSEN_FILTER = 40


class Difference(Exception):
    pass


# Numbers of keys "key%d" of which three share one window in all attempts to build their shard, or
# in all but the last.
HARD_TO_BUILD = (
    [15453, 19005, 49086],
    list(range(3069)) + [7308234, 10655654, 70944445],
    list(range(3069)) + [30261487, 33981479, 49281121],
)


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


# ---- What to build -------------------------------------------------------------------------------


def random_bits(rng, family):
    """Bits per key, as the text of a spec."""
    low, high = MIN_BITS[family], MAX_BITS[family]
    kind = rng.random()
    if kind < 0.1:
        return str(low)
    if kind < 0.2:
        return str(high)
    if kind < 0.5:
        return str(rng.randint(int(low + 0.5), high))
    # Small amounts get their share: that is where the number of probes changes.
    amount = rng.uniform(low, 20 if kind < 0.75 else high)
    return f"{amount:.{rng.randint(1, 9)}f}"


def random_rate(rng):
    """A false-positive rate in percent, as the text of a spec."""
    return f"{10 ** rng.uniform(-4, 1.69):.6f}%"


def random_key_count(rng):
    kind = rng.random()
    if kind < 0.5:
        return rng.randint(0, 16)
    if kind < 0.985:
        return int(16 * 16 ** rng.random())
    return int(256 * 20 ** rng.random())


def random_keys(rng, count):
    kind = rng.choice(
        ["bytes", "short", "numbered", "long prefix", "few", "taking turns", "extreme"])
    start = rng.randint(0, 10**6)

    def key(i):
        if kind == "bytes":
            return rng.randbytes(rng.randint(0, 300))
        if kind == "short":
            return rng.randbytes(rng.randint(0, 3))
        if kind == "numbered":
            return b"key%08d" % (start + i)
        if kind == "long prefix":  # around the length at which range keys are cut
            return b"p" * rng.randint(29, 33) + rng.randbytes(rng.randint(0, 2))
        if kind == "few":
            return b"%d" % rng.randint(0, 1 + count // 3)
        if kind == "taking turns":  # many keys by count, few in truth: cuckoo shards without keys
            return b"key%d" % (start + i % 3)
        return bytes([rng.choice([0, 255])]) * rng.randint(0, 40)

    keys = [key(i) for i in range(count)]
    if kind == "taking turns" and rng.random() < 0.2:
        keys *= 3000 // max(1, count) + 1
    elif rng.random() < 0.5:
        keys.sort()  # as a database adds them; duplicates become adjacent
    return keys


def other_keys(rng, keys, count):
    """Keys that most likely were not added, some of them close to those that were."""
    others = [rng.randbytes(rng.randint(0, 40)) for _ in range(count)]
    for key in rng.sample(keys, min(len(keys), count // 4)):
        others.append(key + b"\0")
        others.append(key[:-1])
    return others


# ---- What to damage ------------------------------------------------------------------------------


def resealed(body):
    """A block with a check word that is right whatever the bytes before it say."""
    return fmt.seal(bytes(body))


def with_random_bytes(rng, block):
    damaged = bytearray(block)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        damaged[rng.randrange(len(damaged))] = rng.randrange(256)
    return bytes(damaged)


def with_one_bit_flipped(rng, block):
    damaged = bytearray(block)
    damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def cut_or_grown(rng, block):
    at = rng.choice([0, len(block), rng.randint(0, len(block))])
    if rng.random() < 0.5:
        return block[:at] + block[at + rng.randint(1, 40):]
    return block[:at] + rng.randbytes(rng.randint(1, 40)) + block[at:]


def with_some_marks(rng, block):
    """Keeps only some of the three marks, in a block of any size."""
    inside = rng.randbytes(rng.choice([0, 1, 10, 21, 22, 23, 100]))
    head, tail, trailer = fmt.HEAD_MAGIC, fmt.TAIL_MAGIC, fmt.TRAILER
    marks = [mark if rng.random() < 0.5 else rng.randbytes(len(mark))
             for mark in (head, tail, trailer)]
    return marks[0] + inside + marks[1] + marks[2]


def resealed_header(rng, block):
    body = bytearray(block[:-17])
    body[rng.randint(4, 15)] = rng.choice([0, 1, 2, 3, 8, 60, 61, 255, rng.randrange(256)])
    return resealed(body)


def resealed_lengths(rng, block):
    body = bytearray(block[:-17])
    body[rng.choice([-1, -2])] = rng.choice([0, 1, 2, 31, 32, 33, 127, 128, 160, 161, 255])
    return resealed(body)


def resealed_longer_range(rng, block):
    """Range keys that may be longer than is allowed, and are there."""
    body = bytearray(block[:-17])
    more = rng.randint(1, 40)
    body[-2:-2] = rng.randbytes(more)
    length = rng.choice([-1, -2])
    body[length] = (body[length] + more) % 256
    return resealed(body)


def resealed_payload_head(rng, block):
    """Changes one of the first 32-bit numbers of the payload: those of a cuckoo filter matter."""
    body = bytearray(block[:-17])
    at = 16 + 4 * rng.randint(0, 4)
    if at + 4 > len(body):
        return resealed(body)
    old = int.from_bytes(body[at:at + 4], "little")
    new = rng.choice([0, 1, 2, old + 1, old - 1, 2**31, 2**32 - 1, rng.getrandbits(32)])
    body[at:at + 4] = (new % 2**32).to_bytes(4, "little")
    return resealed(body)


def resealed_random_bytes(rng, block):
    return resealed(bytearray(with_random_bytes(rng, block[:-17])))


def resealed_cut_or_grown(rng, block):
    return resealed(bytearray(cut_or_grown(rng, block[:-17])))


DAMAGES = [
    with_random_bytes, with_one_bit_flipped, cut_or_grown, with_some_marks, resealed_header,
    resealed_lengths, resealed_longer_range, resealed_payload_head, resealed_random_bytes,
    resealed_cut_or_grown,
]


# ---- The checks ----------------------------------------------------------------------------------


def check_hashes(tool, rng):
    for salt in (None, 0, 1, 2**64 - 1, rng.getrandbits(64)):
        keys = [rng.randbytes(n) for n in list(range(400)) + [1023, 1024, 1025, 2048, 4097]]
        cpp = tool.hash(salt, keys)
        for key, value in zip(keys, cpp):
            require_equal(f"hash of {to_hex(key)} with salt {salt}", value, fmt.key_hash(key, salt))


def info_words(block):
    """What filter_tool should say of a block."""
    if block.state != fmt.INTACT:
        return [block.state]
    return [
        block.state, str(block.family), str(block.parameter), str(block.key_count),
        "-" if block.salt is None else str(block.salt), to_hex(block.payload),
        to_hex(block.smallest), to_hex(block.largest), str(int(block.largest_cut))]


def check_reading(tool, what, data, keys):
    """Both sides must say the same of any bytes. Returns what Python read."""
    block = fmt.parse_block(data)
    require_equal(f"{what}: what the block says", tool.info(data), info_words(block))
    state, answers = tool.query(data, keys)
    require_equal(f"{what}: state when asked", state, block.state)
    expected = "".join("01"[fmt.query(block, key)] for key in keys)
    require_equal(f"{what}: answers", answers, expected)
    if block.state != fmt.INTACT and "0" in answers:
        raise Difference(f"{what}: an unreadable block denied a key")
    return block


def encode_as_planned_by(block, keys, thorough):
    """The bytes for a spec that gives a rate: what a model decided is taken from the block."""
    added = fmt.without_adjacent_duplicates(keys)
    hashes = [fmt.key_hash(key, block.salt) for key in added]
    parameter = block.parameter
    if not added:
        payload = b""
    elif block.family == fmt.RIBBON:
        columns = fmt.ribbon_columns(block)
        first_wide = 0
        if fmt.ribbon_form(block) == fmt.GENERAL:
            first_wide = fmt.read_ribbon_payload(block).first_wide
        parameter, payload = fmt.ribbon_payload(
            hashes, thorough, columns, lambda groups: (columns, first_wide))
    elif block.family == fmt.BLOOM:
        lines = len(block.payload) // fmt.LINE_SIZE
        payload = fmt.bloom_payload(hashes, lines, fmt.probe_count_of(block), thorough)
    else:
        load, keys_per_shard = fmt.THOROUGH if thorough else fmt.USUAL
        shards, _, _ = fmt.cuckoo_plan(len(added), MIN_BITS[fmt.CUCKOO], block.salt, load,
                                       keys_per_shard)
        first_wide = fmt.read_cuckoo_payload(block).first_wide
        payload = fmt.cuckoo_payload(fmt.split_into_shards(hashes, shards), block.parameter,
                                     first_wide, load)
    return fmt.encode_block(block.family, parameter, len(added), payload, block.salt, added)


def check_filter(tool, rng, family, amount, salted, keys, damages, thorough=False):
    spec = f"rocksieve.{FAMILY_NAMES[family]}:{amount}"
    spec += (":salted" if salted else "") + (":thorough" if thorough else "")
    what = f"{spec} of {len(keys)} keys"

    data = tool.build(spec, keys)
    build_request, build_answer = tool.request, tool.answer
    asked_present = rng.sample(keys, min(len(keys), MAX_ASKED))
    asked = asked_present + other_keys(rng, keys, 40)
    block = check_reading(tool, what, data, asked)
    if block.state != fmt.INTACT:
        raise Difference(f"{what}: the block just built is {block.state}")
    require_equal(f"{what}: whether salted", block.salt is not None, salted)
    for key in asked_present:
        if not fmt.query(block, key):
            raise Difference(f"{what}: lost the key {to_hex(key)}")

    if amount.endswith("%"):
        expected = encode_as_planned_by(block, keys, thorough)
    else:
        expected = fmt.encode(family, keys, float(amount), block.salt, thorough)
    if data != expected:
        tool.request, tool.answer = build_request, build_answer
        first = next((i for i, (a, b) in enumerate(zip(data, expected)) if a != b), "the end")
        raise Difference(f"{what}: bytes differ first at {first} (sizes {len(data)} in C++, "
                         f"{len(expected)} in Python)\n  Python: {to_hex(expected)}")

    for _ in range(damages):
        damage = rng.choice(DAMAGES)
        check_reading(tool, f"{what}, {damage.__name__}", damage(rng, data), asked[:60])


def check_random_filter(tool, rng):
    family = rng.choice([fmt.BLOOM, fmt.CUCKOO, fmt.RIBBON])
    amount = random_rate(rng) if rng.random() < 0.1 else random_bits(rng, family)
    salted = rng.random() < 0.2
    thorough = rng.random() < 0.2
    keys = random_keys(rng, random_key_count(rng))
    check_filter(tool, rng, family, amount, salted, keys, DAMAGES_PER_RANDOM_FILTER, thorough)


def check_chosen_filters(tool, rng):

    def check(family, amount, keys, salted=False, thorough=False):
        check_filter(tool, rng, family, amount, salted, keys, DAMAGES_PER_CHOSEN_FILTER, thorough)

    def numbered(numbers):
        return [b"key%d" % i for i in numbers]

    for keys in ([], [b""], [b"", b""], [b"\0"]):
        for family in FAMILY_NAMES:
            for salted in (False, True):
                for thorough in (False, True):
                    check(family, "10", keys, salted, thorough)
    for numbers in HARD_TO_BUILD:
        for amount in ("2.5", "10", "64", "1%"):
            check(fmt.CUCKOO, amount, numbered(numbers))

    def check_bloom_of(lines, count):
        budget = min(lines * 512 + 280, lines * 512 / 0.97)  # with what the frame takes
        check(fmt.BLOOM, f"{budget / count:.9f}", numbered(range(count)))

    # Where the number of probes changes. Some of these lie on the very limit.
    for limit, _ in fmt.PROBES_BELOW:
        for lines in (7, 9, 11, 13):
            count = int(lines * 512 / limit)
            check_bloom_of(lines - 0.25, count)
            check_bloom_of(lines - 0.25, count + 1)
    # Where rounding up ends.
    for lines in (6.25, 7.25, 7.75, 8.25, 8.75):
        check_bloom_of(lines, 400)
    # 1347 * 8 - 280 bits are 20 lines and a half.
    check(fmt.BLOOM, "8", numbered(range(1347)))

    # The last size with one shard, and the first with two.
    for count in (3071, 3072):
        check(fmt.CUCKOO, "5.5", numbered(range(count)))
    for count in (12287, 12288):
        check(fmt.CUCKOO, "5.5", numbered(range(count)), thorough=True)

    # Where the form changes, and the number of buckets.
    for count in (63, 64, 65, 66, 306, 307, 1560, 1561, 3700, 3701):
        for thorough in (False, True):
            check(fmt.RIBBON, "7.5", numbered(range(count)), thorough=thorough)
    # 64 and 65 distinct keys, each added again later.
    for count in (64, 65):
        check(fmt.RIBBON, "9", 20 * numbered(range(count)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("filter_tool")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    parser.add_argument("--filters", type=int, default=3000)
    parser.add_argument("--first", type=int, default=0, help="number of the first filter")
    parser.add_argument("--seconds", type=float, default=50, help="stop after this time")
    parser.add_argument("--dump", default="cross_check_failure.json",
                        help="where to write what a difference needs to be seen again")
    args = parser.parse_args()

    print(f"seed {args.seed}", flush=True)
    tool = Tool(args.filter_tool)
    start = time.monotonic()
    done = 0
    number = args.first
    try:
        check_hashes(tool, random.Random(args.seed))
        check_chosen_filters(tool, random.Random(args.seed))
        while done < args.filters and time.monotonic() - start < args.seconds:
            check_random_filter(tool, random.Random(f"{args.seed}/{number}"))
            number += 1
            done += 1
        tool.close()
    except Difference as difference:
        with open(args.dump, "w", encoding="ascii") as dump:
            json.dump({"difference": str(difference), "request": tool.request,
                       "answer": tool.answer}, dump, indent=1)
        message = str(difference)
        print(message if len(message) < 2000 else message[:2000] + "...", file=sys.stderr)
        print(f"filter {number} of seed {args.seed}; in {args.dump}: the difference in full, the "
              f"request to filter_tool and its answer.\nTo see it again (unless the spec is "
              f"salted): --seed={args.seed} --first={number} --filters=1", file=sys.stderr)
        return 1
    print(f"{done} filters agree, {time.monotonic() - start:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
