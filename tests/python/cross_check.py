#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the C++ code with the Python reading of docs/formats/, on random filters.

    cross_check.py FILTER_TOOL [--seed=N] [--filters=N] [--seconds=N]

FILTER_TOOL is the program of tests/tools/filter_tool.cc. Every filter is built by both sides, and
the bytes must be equal; then both are asked about its keys, about other keys, and about blocks that
were damaged on purpose. Stops at the first difference, writes down how to see it again, and exits
with 1.
"""

import argparse
import bisect
import json
import random
import subprocess
import sys
import time

import rocksieve_format as fmt
from cross_check_cases import (DAMAGES, MIN_BITS, other_keys, random_bits, random_key_count,
                               random_keys, random_range_keys, random_range_options, random_ranges,
                               random_rate)

FAMILY_NAMES = {fmt.BLOOM: "bloom", fmt.CUCKOO: "cuckoo", fmt.RIBBON: "ribbon", fmt.RANGE: "range"}
MAX_ASKED = 300  # of the keys of one filter
DAMAGES_PER_RANDOM_FILTER = 8
DAMAGES_PER_CHOSEN_FILTER = 40

# Numbers of keys "key%d" of which three share one window in all attempts to build their shard, or
# in all but the last.
HARD_TO_BUILD = (
    [15453, 19005, 49086],
    list(range(3069)) + [7308234, 10655654, 70944445],
    list(range(3069)) + [30261487, 33981479, 49281121],
)


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

    def build(self, spec, keys, options=fmt.RangeOptions()):
        verb = "partition" if options.is_partition else "build"
        verb = verb if options.is_ordered else "unordered"
        return from_hex(self.ask(verb, spec, *map(to_hex, keys))[0])

    def query(self, block, keys):
        """The state, a string of 0 and 1, and another for the hashes of the keys."""
        state, answers, by_hash = self.ask("query", to_hex(block), *map(to_hex, keys))
        return state, answers, by_hash

    def ranges(self, block, ranges):
        """A string of 0 and 1."""
        bounds = [to_hex(bound) for one in ranges for bound in one]
        return self.ask("ranges", to_hex(block), *bounds)[1]

    def info(self, block):
        return self.ask("info", to_hex(block))

    def hash(self, salt, keys):
        block = fmt.encode_bloom([], 10, salt)  # the least that has a salt
        return [int(word) for word in self.ask("hash", to_hex(block), *map(to_hex, keys))]


def require_equal(what, cpp, python):
    if cpp != python:
        raise Difference(f"{what}:\n  C++:    {cpp}\n  Python: {python}")


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


def check_reading(tool, what, data, keys, ranges):
    """Both sides must say the same of any bytes. Returns what Python read."""
    block = fmt.parse_block(data)
    require_equal(f"{what}: what the block says", tool.info(data), info_words(block))
    state, answers, by_hash = tool.query(data, keys)
    require_equal(f"{what}: state when asked", state, block.state)
    expected = "".join("01"[fmt.query(block, key)] for key in keys)
    require_equal(f"{what}: answers", answers, expected)
    expected = "".join("01"[fmt.query_hash(block, key)] for key in keys)
    require_equal(f"{what}: answers to hashes", by_hash, expected)
    of_ranges = tool.ranges(data, ranges)
    for (begin, end), answer in zip(ranges, of_ranges, strict=True):
        require_equal(f"{what}: answer to {to_hex(begin)} {to_hex(end)}", answer,
                      "01"[fmt.query_range(block, begin, end)])
    if block.state != fmt.INTACT and "0" in answers + of_ranges:
        raise Difference(f"{what}: an unreadable block denied a key or a range")
    return block


def encode_as_planned_by(block, keys, thorough, fast):
    """The bytes for a spec that gives a rate: what a model decided is taken from the block."""
    added = fmt.without_adjacent_duplicates(keys)
    hashes = [fmt.key_hash(key, block.salt) for key in added]
    parameter = block.parameter
    compact = fmt.has_compact_frame(block.family, len(added))
    if not added:
        payload = b""
    elif block.family == fmt.RIBBON:
        columns = fmt.ribbon_columns(block)
        first_wide = 0
        if fmt.ribbon_form(block) == fmt.GENERAL:
            first_wide = fmt.read_ribbon_payload(block).first_wide
        parameter, payload = fmt.ribbon_payload(
            hashes, thorough, columns, lambda groups: (columns, first_wide), compact)
    elif block.family == fmt.BLOOM:
        lines = len(block.payload) // fmt.LINE_SIZE
        payload = fmt.bloom_payload(hashes, lines, fmt.probe_count_of(block), thorough, fast)
    else:
        load, keys_per_shard = fmt.THOROUGH if thorough else fmt.USUAL
        shards, _, _ = fmt.cuckoo_plan(len(added), MIN_BITS[fmt.CUCKOO], block.salt, load,
                                       keys_per_shard)
        first_wide = fmt.read_cuckoo_payload(block).first_wide
        payload = fmt.cuckoo_payload(fmt.split_into_shards(hashes, shards), block.parameter,
                                     first_wide, load)
    return fmt.encode_block(block.family, parameter, len(added), payload, block.salt, added,
                            compact)


def check_ranges(what, block, keys, ranges):
    """Ranges that are denied must be empty; of a partition, end at or before its largest key."""
    keys = sorted(keys)
    for begin, end in ranges:
        if fmt.query_range(block, begin, end):
            continue
        at = bisect.bisect_left(keys, begin)
        if at < len(keys) and keys[at] < end:
            raise Difference(f"{what}: lost the range {to_hex(begin)} {to_hex(end)}")
        if fmt.read_range_payload(block).is_partition and end > keys[-1]:
            raise Difference(f"{what}: denied the next partition {to_hex(begin)} {to_hex(end)}")


def check_filter(tool, rng, family, amount, salted, keys, damages, thorough=False,
                 options=fmt.RangeOptions(), fast=False):
    """The options are of filters of RANGE; `fast` is one of BLOOM."""
    spec = f"rocksieve.{FAMILY_NAMES[family]}:{amount}"
    for name, is_set in (("salted", salted), ("thorough", thorough), ("fast", fast)):
        spec += f":{name}" if is_set else ""
    spec += options.spec_text()
    what = f"{spec} of {len(keys)} keys" + (f", {options}" if family == fmt.RANGE else "")

    data = tool.build(spec, keys, options)
    build_request, build_answer = tool.request, tool.answer
    asked_present = rng.sample(keys, min(len(keys), MAX_ASKED))
    asked = asked_present + other_keys(rng, keys, 40)
    ranges = random_ranges(rng, keys, 200 if family == fmt.RANGE else 4)
    block = check_reading(tool, what, data, asked, ranges)
    if block.state != fmt.INTACT:
        raise Difference(f"{what}: the block just built is {block.state}")
    require_equal(f"{what}: whether salted", block.salt is not None, salted)
    for key in asked_present:
        if not fmt.query(block, key):
            raise Difference(f"{what}: lost the key {to_hex(key)}")
    check_ranges(what, block, keys, ranges)

    if family == fmt.RANGE:
        rate = float(amount[:-1]) / 100 if amount.endswith("%") else None
        bits_per_key = 0 if rate else float(amount)
        expected = fmt.encode_range(keys, bits_per_key, block.salt, thorough, options, rate)
    elif amount.endswith("%"):
        expected = encode_as_planned_by(block, keys, thorough, fast)
    else:
        more = {"fast": True} if fast else {}
        expected = fmt.encode(family, keys, float(amount), block.salt, thorough, **more)
    if data != expected:
        tool.request, tool.answer = build_request, build_answer
        first = next((i for i, (a, b) in enumerate(zip(data, expected)) if a != b), "the end")
        raise Difference(f"{what}: bytes differ first at {first} (sizes {len(data)} in C++, "
                         f"{len(expected)} in Python)\n  Python: {to_hex(expected)}")

    for _ in range(damages):
        damage = rng.choice(DAMAGES)
        check_reading(tool, f"{what}, {damage.__name__}", damage(rng, data), asked[:60],
                      ranges[:60])


def check_random_filter(tool, rng):
    family = rng.choice(list(FAMILY_NAMES))
    amount = random_rate(rng) if rng.random() < 0.1 else random_bits(rng, family)
    salted = rng.random() < 0.2
    thorough = rng.random() < 0.2
    fast = family == fmt.BLOOM and not thorough and rng.random() < 0.2
    count = random_key_count(rng)
    options = fmt.RangeOptions()
    if family == fmt.RANGE:
        options = random_range_options(rng)
    keys = (random_range_keys if family == fmt.RANGE else random_keys)(rng, count)
    check_filter(tool, rng, family, amount, salted, keys, DAMAGES_PER_RANDOM_FILTER, thorough,
                 options, fast)


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
    for keys in ([], [b""], numbered(range(700))):
        check_filter(tool, rng, fmt.BLOOM, "10", False, keys, DAMAGES_PER_CHOSEN_FILTER, fast=True)
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
    # Ranges: the last number of codes that are laid out once, and the first; one group of buckets,
    # two; consecutive numbers, and such that lie too close together to be exact.
    for count in (1, 2, 63, 64, 65, 2047, 2049):
        hashed = [(i * 0x9E3779B97F4A7C15 % 2**64).to_bytes(8, "big") for i in range(count)]
        exact = [(10**12 + 3 * i).to_bytes(8, "big") for i in range(count)]
        for numbers in (hashed, exact, exact + [(10**15).to_bytes(8, "big")]):
            check(fmt.RANGE, "12", numbers)
    check(fmt.RANGE, "12", [i.to_bytes(8, "big") for i in (*range(1100), 200000)])
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
