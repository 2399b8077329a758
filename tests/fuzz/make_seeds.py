#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the first inputs of each target into tests/fuzz/corpus: from the golden files, from the examples
of docs/protocol.md and from the encoders in tests/python. What libFuzzer added to a corpus
(`./run fuzz --minimize`) and what was found stays where it is. A corpus, tests/fuzz/corpus/TARGET, has
an input in each line, "NAME HEX".

    tests/fuzz/make_seeds.py [ROCKSIEVE]
    tests/fuzz/make_seeds.py unpack TARGET DIRECTORY   writes each input of a corpus into a file NAME
    tests/fuzz/make_seeds.py add TARGET DIRECTORY      takes over the files whose bytes are not there yet,
                                                     each named by them

ROCKSIEVE, the command (build/bin/rocksieve), makes the databases of which table files, OPTIONS and
LOG are inputs; without it, those inputs stay as they are.
"""

import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/python"))

import sketch_format as f  # noqa: E402
from golden_files import FAMILIES, read_golden  # noqa: E402
from table_format import read_table  # noqa: E402

CORPUS = ROOT / "tests/fuzz/corpus"
MOST_BYTES = 6000  # of one input: larger ones take long and find no more


def read(target):
    """Inputs by their names."""
    path = CORPUS / target
    lines = path.read_text(encoding="ascii").splitlines() if path.exists() else []
    return {name: bytes.fromhex(data) for name, _, data in (line.partition(" ") for line in lines)}


def write_corpus(target, inputs):
    CORPUS.mkdir(exist_ok=True)
    text = "".join(f"{name} {data.hex()}\n" for name, data in sorted(inputs.items()))
    (CORPUS / target).write_text(text, encoding="ascii")


def unpack(target, directory):
    directory.mkdir(parents=True, exist_ok=True)
    for name, data in read(target).items():
        (directory / name).write_bytes(data)


def add(target, directory):
    inputs = read(target)
    for path in directory.iterdir():
        data = path.read_bytes()
        if data not in inputs.values():
            inputs[hashlib.sha1(data).hexdigest()] = data
    write_corpus(target, inputs)


def write(target, name, data):
    if len(data) <= MOST_BYTES:
        write_corpus(target, read(target) | {f"seed-{name}": data})


def golden_blocks():
    return {name: block for family in FAMILIES for name, block in read_golden(family).items()}


def string(data):
    """As Choices::String() reads it."""
    if len(data) < 255:
        return bytes([len(data)]) + data
    return b"\xff" + len(data).to_bytes(2, "big") + data


def short(value, width):
    return value.to_bytes(width, "big")


def filter_blocks():
    for name, block in golden_blocks().items():
        write("filter_block", name, b"\1" + block)
        if "one_key" in name or "salted" in name:
            write("filter_block", f"as_is_{name}", b"\0" + block)


def filter_builds():
    for family in range(3):
        for options, bits in ((0, 36), (1, 4), (3, 100)):
            keys = b"".join(string(key) + bytes([similar])
                            for key, similar in ((b"key", 200), (b"", 0), (b"apple", 3)))
            write("filter_build", f"{family}_{options}", bytes([family, options, bits, 85]) + keys)
            write("filter_build", f"{family}_{options}_none", bytes([family, options, bits, 85]))


def specs():
    for i, text in enumerate((
            "rocksieve.bloom:10", "rocksieve.cuckoo:12.5", "rocksieve.cuckoo:0.1%",
            "rocksieve.ribbon:10:salted:verified", "rocksieve.bloom:1:thorough:own-name",
            "rocksieve.auto:10", "rocksieve.auto:10:bloom+cuckoo:salted",
            "rocksieve.auto:12:read-ns-200000:ribbon-ns-80", "rocksieve.bloom:", "rocksieve.",
            "bloomfilter:10:false", "ribbonfilter:10:-1", "rocksdb.internal.FastLocalBloomFilter:9",
            "none", "nullptr", "")):
        write("spec", str(i), text.encode())
        write("policy_spec", str(i), text.encode())


def toolbox():
    for name, frame in read_golden("toolbox").items():
        write("toolbox", name, bytes([frame[5], 1]) + frame[14:-8])
        write("toolbox", f"as_is_{name}", bytes([frame[5], 0]) + frame)


def messages():
    page = (ROOT / "docs/protocol.md").read_text(encoding="utf-8")
    rows = re.search(r"\| message \| bytes \|\n\|---\|---\|\n((?:\|.*\n)*)", page).group(1)
    for name, data in re.findall(r"\| ([a-z ]+) \| `([0-9a-f]+)` \|", rows):
        message = bytes.fromhex(data)
        write("messages", name.replace(" ", "_"), b"\1" + message[:-4])
        write("messages", "as_is_" + name.replace(" ", "_"), b"\0" + message)
    turns = re.search(r"\| strategy, part \| bytes \|\n\|---\|---\|\n((?:\|.*\n)*)", page).group(1)
    for name, data in re.findall(r"\| ([a-z0-9 ]+) \| `([0-9a-f]+)` \|", turns):
        write("messages", "turn_" + name.replace(" ", "_"), b"\1\5\0" + bytes.fromhex(data))


def lists():
    numbers = f.sorted_numbers([5, 100, 100, 260, 1000], 7, [1, 2, 3, 0, 1], 2)
    write("lists", "sorted", b"\0" + bytes([2]) + short(1 << 20, 8) + short(1000, 3) + numbers)
    write("lists", "flags", b"\1" + short(100, 3) + bytes.fromhex("03031ba3d0"))
    write("lists", "hashes", b"\2\0" + short(1000, 3)
          + bytes.fromhex("03088d3601144716e3dce2db42" "05"))
    write("lists", "raw", b"\3" + short(5000, 3) + b"\1" + b"some text " * 20)
    keys = b"\0\5apple\3\3ly\0\4pear"
    write("lists", "keys", b"\4" + short(100, 2) + short(100, 2) + b"\1" + keys)
    rows = b"\5\0\5apple" + b"vv" + b"\4" + b"ww" + b"\3\1\4vocad" + b"x"
    write("lists", "rows", b"\5\1" + short(len(rows) // 2, 2) + b"\1" + rows)
    write("lists", "rows_without_keys", b"\5\0" + short(3, 2) + b"\1" + b"\5vv\4ww\3x")
    write("lists", "packed", b"\6\5applevalue")


def sketches():
    multiples = [i * f.GOLDEN & f.M64 for i in range(1, 60)]
    for groups, raw, parity in ((5, 1, [3, 5]), (1, 4, []), (9, 2, [9, 4, 4, 2])):
        sketch = f.PinSketch(multiples, 10, groups, raw, parity)
        message = sketch.plan() + sketch.sketch()
        more = sketch.answer([(raw + 1, 2), (raw + 2, 3)])
        for keys in (0, 20):
            write("sketches", f"pin_{groups}_{keys}", bytes([0, keys]) + string(message) + more)
    write("sketches", "request", bytes([1, 100, 20]) + string(b"\2\2\1\4\2") + string(b"\1\3\x20"))
    own = [f.splitmix64(7, i) for i in range(100)]
    cells = f.rateless_cells(own[3:] + multiples[:2], 20)
    write("sketches", "rateless", bytes([2, 32, 100]) + string(cells))
    write("sketches", "rateless_equal", bytes([2, 32, 0]) + string(f.rateless_cells([], 2)))
    narrow = f.rateless_cells([h & (1 << 40) - 1 for h in own[1:]], 8, 40)
    write("sketches", "rateless_narrow", bytes([2, 8, 100]) + string(narrow))
    write("sketches", "positions", bytes([3]) + short(200, 2) + bytes([8, 5, 3, 32])
          + bytes(range(64)))
    write("sketches", "estimator", b"\4" + short(7, 2) + bytes([100])
          + f.difference_estimator(multiples, 8, 3))


def existing_filters():
    blocks = golden_blocks()
    stream = b""
    for smallest, largest, kind, block in (
            (b"a", b"c", 1, blocks["bloom_one_key"]), (b"b", b"z", 2, b"xyz1"), (b"k", b"k", 0, b""),
            (b"m", b"zz", 1, b"damaged")):
        fields = bytes([kind]) + string(smallest) + string(largest) + block
        stream += f.varint(len(fields)) + fields
    for piece in (0, 6, 255):
        write("existing_filters", f"by_{piece}", bytes([piece]) + stream)


def join_key_expressions():
    document = (b'{"a": {"b": [1, -2.50e3, "text", true, null, {"c~/": 1e400}]}, "a": {"b": [7]},'
                b' "u": "\\u00e9\\ud83d\\ude00", "": 18446744073709551615}')
    for i, pointer in enumerate((b"/a/b/0", b"/a/b/5/c~0~1", b"/u", b"/", b"", b"/a/b/01", b"x")):
        write("join_key_expression", f"json_{i}", b"\1" + string(pointer) + document)
    for i, text in enumerate((b"key", b"value.json(/a/b/0)", b"value.field(|,3)", b"key.bytes(2,8)",
                              b"key.bytes(-4,4).uint_be()", b"@name", b"value.json(/u).bytes(0,2)")):
        write("join_key_expression", f"expression_{i}", b"\0" + string(text) + string(b"a key of bytes")
              + (document if b"json" in text else b"one|two|three"))
    write("join_key_expression", "line", b"\2k\\e\ty\0val\nue\r")


def frames():
    write("frames", "two", b"\7" + b"\3abc" + b"\5hello" + f.varint(300) + b"x" * 300)
    write("frames", "too_long", b"\xff" + f.varint(5000) + b"y")


def sessions():
    # SessionCase's choices, then steps of HostileWire.
    for operation in range(5):
        for strategy in range(10):
            case = (bytes([operation, strategy, 3, 9]) + short(40, 2) + short(300, 2)
                    + bytes([60 + strategy, 12, 15, 45 if strategy in (0, 9) else 0,
                             128 if strategy % 3 == 1 else 5]))
            write("client_session", f"{operation}_{strategy}", case)
            write("server_session", f"{operation}_{strategy}", case + b"\0")
    programs = {
        "repeat": b"\2" * 6, "hold": b"\0\3\0\3\0\3\0", "earlier": b"\0\0\5\0\5\1\5\2\4\1",
        "bytes": b"\x08\x02\x05\x01" * 4, "wrong_check": b"\0\x09\x02\x05\x01",
        "field": b"\0" + b"\x0a\x04\x00" * 6, "part": b"\0\0" + b"\x0b\x00\x03\x01\x00\x07" * 6,
        "drop": b"\0\0\0\1", "made_up": b"\0\0\6\0\0\0\0\0\0\6\1\0\0\6\0\0\0\0\0\0"}
    for name, program in programs.items():
        for strategy in (0, 2, 7):
            case = (bytes([(strategy + len(name)) % 5, strategy, 3, 9]) + short(40, 2)
                    + short(300, 2) + bytes([60, 12, 15, 45 if strategy == 0 else 0, 5]))
            write("client_session", f"{name}_{strategy}", case + program)
            write("server_session", f"{name}_{strategy}", case + b"\0" + program)


def comparisons():
    # As sessions(): whole rows, with and without the other side's digests and values.
    for rows in (0x40, 0x60):
        for strategy in (0, 1, 2, 7, 8):
            case = (bytes([3, strategy, 3, 9]) + short(900, 2) + short(900, 2)
                    + bytes([119, 12, 15, 0, rows]))
            same_keys = case[:-5] + bytes([119, 0, 0, 0, rows])
            for name, bytes_of_case in (("keys_and_values", case), ("values", same_keys)):
                name = f"compare_{rows:x}_{name}_{strategy}"
                program = b"" if strategy else b"\0\0" + b"\x0b\x00\x03\x01\x00\x07" * 6
                write("client_session", name, bytes_of_case + program)
                write("server_session", name, bytes_of_case + b"\0" + program)


def table_files():
    """What later releases of RocksDB wrote: footers that check themselves, other checksums."""
    for release in ("9.10.0", "11.8.1"):
        with tarfile.open(ROOT / f"tests/databases/rocksdb-{release}.tar.gz") as files:
            tables = [files.extractfile(member).read() for member in files
                      if member.name.endswith(".sst")]
        for file in tables:
            table = read_table(file)
            family = table.properties["rocksdb.column.family.name"].decode()
            if family in ("compressed", "partitioned", "unchecked"):
                write("sst_file", f"{release}_{family}", b"\1" + file)
            if family == "partitioned":
                write("sst_file", f"as_is_{release}", b"\0" + file)
                for block in ("meta_index", "rocksdb.properties", table.filter_name):
                    write("sst_block", f"{release}_{block.split('.')[0]}", table.meta[block])


def databases(command):
    specs = {"bloom": "rocksieve.bloom:10", "cuckoo": "rocksieve.cuckoo:12",
             "ribbon": "rocksieve.ribbon:10", "builtin_bloom": "bloomfilter:10",
             "builtin_ribbon": "ribbonfilter:10", "auto": "rocksieve.auto:10", "none": "none"}
    lines = b"".join(b"key%d\tvalue%d\n" % (i, i) for i in range(100, 140))
    for name, spec in specs.items():
        for partitioned in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                database = pathlib.Path(folder) / "db"
                subprocess.run([command, "load", f"--db={database}", f"--spec={spec}", "--input=-"]
                               + ["--partitioned"] * partitioned, input=lines, check=True,
                               stdout=subprocess.DEVNULL)
                kind = name + "_partitioned" * partitioned
                table = next(database.glob("*.sst")).read_bytes()
                write("sst_file", kind, b"\1" + table)
                for block, data in read_table(table).meta.items():
                    if block.startswith("fullfilter.") and name.startswith("builtin"):
                        write("builtin_filter", kind, b"\0" + short(40, 8) + data)
                    if block in ("meta_index", "rocksdb.properties") or block.startswith("part"):
                        write("sst_block", f"{kind}_{block.split('.')[0]}", data)
                if partitioned:
                    continue
                # Only what doctor looks for, and nothing of the machine.
                options = sorted(database.glob("OPTIONS-*"))[-1].read_text()
                wanted = ("[", "  filter_policy", "  comparator", "  max_open", "  block_cache",
                          "  rocksdb_version")
                write("options_file", kind, "".join(
                    line + "\n" for line in options.splitlines() if line.startswith(wanted)).encode())
                log = [line for line in (database / "LOG").read_text().splitlines()
                       if re.search(r"RocksDB version|Options for column|filter_policy:|block_cache|"
                                    r"capacity|num_shard_bits|prepopulate|rocksieve:", line)]
                log += ["STATISTICS:", "[db/db_impl.cc:1] STATISTICS:",
                        " rocksdb.block.cache.hit COUNT : 17"]
                write("log_file", kind, ("\n".join(log).replace(str(database), "/db") + "\n").encode())
    empty = bytes(64) + bytes([0xFF, 0, 6, 0, 0])
    write("builtin_filter", "new_bloom_by_hand", b"\0" + short(40, 8) + empty)
    write("builtin_filter", "legacy_by_hand", b"\0" + short(40, 8) + bytes(64) + b"\6\1\0\0\0")
    for name, block in golden_blocks().items():
        if "one_key" in name or "small" in name:
            write("builtin_filter", f"ours_{name}", b"\0" + short(40, 8) + block)


def tree_walks():
    """Any bytes are a history; longer ones are longer. Their first bytes say how tables are made."""
    for number, size in enumerate((400, 900, 1500, 2500) * 10):
        write("tree_walk", f"history_{number}",
              b"".join(hashlib.sha256(b"%d %d" % (number, i)).digest() for i in range(size // 32)))


def join_documents(command):
    """What a join, its analysis and its plan print, and each with changes for the target to make."""
    with tempfile.TemporaryDirectory() as folder:
        for name, numbers in (("left", range(40)), ("right", range(20, 60))):
            subprocess.run([command, "load", f"--db={folder}/{name}", "--spec=none", "--input=-"],
                           input=b"".join(b"key%d\tvalue\n" % i for i in numbers), check=True,
                           stdout=subprocess.DEVNULL)
        with subprocess.Popen([command, "serve", f"--db={folder}/right", "--listen=127.0.0.1:0",
                               "--insecure"], stdout=subprocess.PIPE, text=True) as server:
            port = server.stdout.readline().strip().rsplit(":", 1)[1]
            for name, flags in (("count", ()), ("analyze", ["--explain=analyze"]),
                                ("plan", ["--explain"])):
                text = subprocess.run(
                    [command, "join", f"--db={folder}/left", f"--remote=127.0.0.1:{port}",
                     "--op=count", "--insecure", "--json", *flags], check=True,
                    stdout=subprocess.PIPE).stdout
                text = json.dumps(json.loads(text)).replace(port, "9000").encode()
                write("join_document", name, text)
                write("join_document", f"{name}_changed", text + b"\0" + bytes(range(7, 60, 3)))
            server.terminate()


if __name__ == "__main__":
    if sys.argv[1:2] in (["unpack"], ["add"]):
        {"unpack": unpack, "add": add}[sys.argv[1]](sys.argv[2], pathlib.Path(sys.argv[3]))
        sys.exit()
    if len(sys.argv) > 1:
        databases(sys.argv[1])
        join_documents(sys.argv[1])
    for make in (filter_blocks, filter_builds, specs, toolbox, messages, lists, sketches,
                 existing_filters, join_key_expressions, frames, sessions, comparisons, table_files,
                 tree_walks):
        make()
