# SPDX-License-Identifier: Apache-2.0
"""The golden blocks of tests/golden/: how they are read, and what they must be (golden_test.py)."""

import functools
import json
import pathlib

import rocksieve_format as fmt

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
COLUMNS = 96

FAMILIES = {"bloom": fmt.BLOOM, "cuckoo": fmt.CUCKOO, "ribbon": fmt.RIBBON, "range": fmt.RANGE}


def numbered(count, pattern="key%d"):
    return {"pattern": pattern, "count": count}


def counted(first, step, count):
    """Numbers of eight bytes, the most significant first; they wrap round."""
    return {"first": first, "step": step, "count": count}


def listed(*keys):
    return [key.hex() for key in keys]


def counting_bytes(size):
    return bytes(i % 251 for i in range(size))


PREFIX = b"0123456789abcdef0123456789abcdef"  # as long as range keys get
# On both sides of each length at which the hash function changes its ways.
HASH_LENGTHS = (0, 1, 2, 3, 4, 8, 9, 16, 17, 32, 33, 64, 65, 96, 97, 128, 129, 240, 241, 320, 321)
SALT = 0x0123456789ABCDEF

# (name, amount, keys, salt)
BLOOM_GOLDEN = [
    ("no_keys", "10", numbered(0), None),
    ("no_keys_salted", "10", numbered(0), SALT),
    ("one_key", "10", listed(b"apple"), None),
    ("empty_key", "10", listed(b""), None),
    ("1_probe", "1.5", numbered(2000), None),
    ("2_probes", "2.5", numbered(1000), None),
    ("3_probes", "3.6", numbered(1000), None),
    ("4_probes", "5", numbered(1000), None),
    ("5_probes", "6.3", numbered(1000), None),
    ("6_probes", "7.2", numbered(1000), None),
    ("8_probes", "10", numbered(1000), None),
    ("12_probes", "16", numbered(500), None),
    ("16_probes", "24", numbered(500), None),
    ("most_bits", "64", numbered(200), None),
    ("salted", "10", numbered(200), SALT),
    ("key_lengths", "10", listed(*map(counting_bytes, HASH_LENGTHS)), None),
    # Both range keys are cut, but only that of the largest shows it.
    ("cut_range", "12", numbered(50, PREFIX.decode() + "%d"), None),
    # The largest key that fits and one that does not look the same once they are cut.
    ("cut_largest", "12", listed(b"!", PREFIX + b"+", PREFIX), None),
    ("uncut_largest", "12", listed(PREFIX[:31] + b"+", PREFIX), None),
    ("thorough", "10:thorough", numbered(500), None),
    ("fast", "10:fast", numbered(500), None),
    ("duplicates", "20", listed(b"a", b"a", b"b", b"a", b"b", b"b", b"c"), None),
]
CUCKOO_GOLDEN = [
    ("no_keys", "10", numbered(0), None),
    ("no_keys_salted", "10", numbered(0), SALT),
    ("one_key", "10", listed(b"apple"), None),
    ("empty_key", "10", listed(b""), None),
    ("small", "12", numbered(20), None),
    ("fewest_bits", "2.5", numbered(1000), None),
    ("mixed_widths", "8.7", numbered(300), None),
    ("28_and_29_bits", "30.5", numbered(200), None),
    ("wide", "45", numbered(200), None),
    ("60_and_61_bits", "63.5", numbered(700), None),
    ("two_shards", "5.3", numbered(7000), None),
    ("salted", "10", numbered(200), SALT),
    ("key_lengths", "16", listed(*map(counting_bytes, HASH_LENGTHS)), None),
    ("thorough", "10:thorough", numbered(500), None),
    ("duplicates", "50", listed(b"a", b"a", b"b", b"a", b"b", b"b", b"c"), None),
    # Placed at the fourth retry only.
    ("retried", "16", numbered(13, "pear%d"), None),
    # Three keys that share one window in all attempts.
    ("unbuildable", "64", listed(b"key15453", b"key19005", b"key49086"), None),
]
# Of eight bytes, and such that under each reseed two of their hashes are 1 and 2**63 + 1, which have
# the same row in the small form, whatever the seed.
UNSOLVABLE = ("cc3c837bc8e4f09e", "07bc16a602ec90ab",
              "75a2bfb8d4e93a4b", "00b3b143f854f8b5",
              "e9e93ac5d4731b57", "453f8951fbb8aa44",
              "5812312e484d618a", "729ed58b51139df5")
RIBBON_GOLDEN = [
    ("no_keys", "10", numbered(0), None),
    ("no_keys_salted", "10", numbered(0), SALT),
    ("one_key", "10", listed(b"apple"), None),
    ("empty_key", "10", listed(b""), None),
    ("small", "12", numbered(20), None),
    ("largest_small", "32", numbered(64), None),
    ("smallest_general", "10", numbered(65), None),
    ("fewest_bits", "1", numbered(1000), None),
    ("mixed_widths", "8.7", numbered(300), None),
    ("16_and_17_columns", "18.4", numbered(200), None),
    ("30_and_31_columns", "31.3", numbered(400), None),
    ("32_columns", "32", listed(*(b"%d" % (i % 70) for i in range(100))), None),
    ("many_buckets", "2.4", numbered(3000), None),
    ("two_anchors", "1.3", numbered(33100), None),
    ("salted", "10", numbered(200), SALT),
    ("key_lengths", "16", listed(*map(counting_bytes, HASH_LENGTHS)), None),
    ("thorough", "10:thorough", numbered(1500), None),
    ("duplicates", "20", listed(b"a", b"a", b"b", b"a", b"b", b"b", b"c"), None),
    ("reseeded", "10", list(UNSOLVABLE[:2]), None),
    ("match_all", "10", list(UNSOLVABLE), None),
    # Enough of them for the compact frame; the second block would be too short in it.
    ("few_distinct", "10", listed(b"a", b"b") * 35, None),
    ("match_all_of_many", "10", list(UNSOLVABLE) * 9, None),
    ("cut_range", "12", numbered(70, "0123456789abcdef0123456789ab%dxyz"), None),
    ("common_beginning", "12", numbered(70, "0123456789ab%dcdef"), None),
]
# Blocks as version 1 wrote them, which later versions only read.
RIBBON_FULL_FRAME = [golden for golden in RIBBON_GOLDEN if golden[0] in (
    "smallest_general", "fewest_bits", "mixed_widths", "16_and_17_columns", "32_columns",
    "many_buckets", "salted", "thorough")] + [("30_and_31_columns", "31.9", numbered(400), None)]
SPREAD = 0x9E3779B97F4A7C15  # as a step, between numbers that look random
ENTITIES_AND_TIMES = [(entity * SPREAD % 2**64).to_bytes(8, "big") + (time * 60).to_bytes(8, "big")
                      for entity in range(6) for time in range(30)]
DIRECTORIES = [b"d%d/%d/%s" % (i % 4, i % 9, counting_bytes(i % 7).hex().encode())
               for i in range(160)]
RANGE_GOLDEN = [
    ("no_keys", "12", numbered(0), None),
    ("no_keys_salted", "12", numbered(0), SALT),
    ("one_key", "12", listed(b"apple"), None),
    ("empty_key", "12", listed(b""), None),
    ("numbers_hashed", "12", counted(0, SPREAD, 400), None),
    ("numbers_exact", "14", counted(1700000000000, 700, 400), None),
    ("numbers_consecutive", "16", counted(5, 1, 1500), None),
    ("two_groups", "10", counted(0, SPREAD, 2500), None),
    ("entities_and_times", "12", listed(*ENTITIES_AND_TIMES), None),
    ("salted", "12", counted(0, SPREAD, 100), SALT),
    ("strings", "12", numbered(300, "user%d/file"), None),
    ("prefixes", "14:prefixes-2-4", listed(*DIRECTORIES), None),
    ("prefixes_salted", "14:prefixes-2-4", listed(*DIRECTORIES), SALT),
    ("all_parts", "20:prefixes-1-2-3-4:order-5", numbered(200), None),
    ("order_only", "10:prefixes-1:order-40", numbered(100), None),
    ("keys_only", "10:order-0", numbered(5), None),
    ("odd_ends", "12:order-3", listed(b"a", b"a\0", b"a\0\0", b"a\0\0\0", b"a\xff", b"b"), None),
    ("fewest_bits", "6", counted(0, SPREAD, 300), None),
    ("thorough", "12:thorough:prefixes-4", numbered(300), None),
    ("duplicates", "20", listed(b"a", b"a", b"b", b"a", b"b", b"b", b"c"), None),
    ("partition", "12", counted(0, SPREAD, 100), None),
    ("partition_of_strings", "12:prefixes-5", numbered(100, "user%d/file"), None),
]


def entries():
    """How each block is made, as the lists above want it."""
    families = (("bloom", BLOOM_GOLDEN), ("cuckoo", CUCKOO_GOLDEN), ("ribbon", RIBBON_GOLDEN),
                ("range", RANGE_GOLDEN))
    for family, golden in families:
        for name, amount, keys, salt in golden:
            yield _entry(family, name, amount, keys, salt)
    for name, amount, keys, salt in RIBBON_FULL_FRAME:
        yield {**_entry("ribbon", f"{name}_in_full_frame", amount, keys, salt), "frame": 1}


def _entry(family, name, amount, keys, salt):
    return {
        "name": f"{family}_{name}",
        "spec": f"rocksieve.{family}:{amount}" + ("" if salt is None else ":salted"),
        "keys": keys,
        "salt": None if salt is None else f"{salt:016x}",
    }


def keys_of(entry):
    keys = entry["keys"]
    if isinstance(keys, list):
        return [bytes.fromhex(key) for key in keys]
    if "step" in keys:
        numbers = range(keys["first"], keys["first"] + keys["step"] * keys["count"], keys["step"])
        return [(number % 2**64).to_bytes(8, "big") for number in numbers]
    before, after = keys["pattern"].split("%d")
    return [f"{before}{i}{after}".encode() for i in range(keys["count"])]


def made(entry):
    family, amount, *options = entry["spec"].removeprefix("rocksieve.").split(":")
    salt = None if entry["salt"] is None else int(entry["salt"], 16)
    more = {}
    if family == "range":
        numbers = {name: tuple(map(int, rest)) for name, *rest in (o.split("-") for o in options)}
        more["options"] = fmt.RangeOptions(numbers.get("prefixes", ()),
                                           *numbers.get("order", (None,)),
                                           is_partition="partition" in entry["name"])
    if "fast" in options:
        more["fast"] = True
    if "frame" in entry:
        more["may_be_compact"] = False
    return fmt.encode(FAMILIES[family], keys_of(entry), float(amount), salt, "thorough" in options,
                      **more)


@functools.cache
def blocks():
    """What the encoder makes of all of them, by their names."""
    return {entry["name"]: made(entry) for entry in entries()}


def read_golden(file):
    """The bytes in tests/golden/FILE.json by their names; none if there is no such file."""
    path = GOLDEN / f"{file}.json"
    golden = json.loads(path.read_text(encoding="ascii")) if path.exists() else []
    return {entry["name"]: bytes.fromhex("".join(entry["bytes"])) for entry in golden}


def golden_text(golden):
    """The text of a file: (how it is made, bytes) of each block, its hex in lines of its own."""
    texts = []
    for entry, data in golden:
        digits = data.hex()
        lines = [f'"{digits[i:i + COLUMNS]}"' for i in range(0, len(digits), COLUMNS)]
        texts.append(json.dumps(entry)[:-1] + ', "bytes": [\n' + ",\n".join(lines) + "]}")
    return "[\n" + ",\n".join(texts) + "\n]\n"


def expected_text(family):
    return golden_text((entry, blocks()[entry["name"]]) for entry in entries()
                       if entry["name"].startswith(family))


def write_golden(file, text):
    (GOLDEN / f"{file}.json").write_text(text, encoding="ascii")
