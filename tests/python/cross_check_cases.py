# SPDX-License-Identifier: Apache-2.0
"""What to build, random amounts for specs and random keys, and ways to damage what was built."""

import rocksieve_format as fmt

MIN_BITS = {fmt.BLOOM: 1, fmt.CUCKOO: 2.5, fmt.RIBBON: 1, fmt.RANGE: 6}
MAX_BITS = {fmt.BLOOM: 64, fmt.CUCKOO: 64, fmt.RIBBON: 32, fmt.RANGE: 32}


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


ODD_BYTES = b"\0\1a\xfe\xff"


def random_range_keys(rng, count):
    """Keys that have order, prefixes or neighbours; or none of these."""
    kind = rng.choice(["numbers", "close numbers", "entities and times", "paths", "odd bytes",
                       "any"])
    start = rng.getrandbits(62)

    def key():
        if kind == "numbers":
            return rng.getrandbits(64).to_bytes(8, "big")
        if kind == "close numbers":
            return (start + rng.randrange(20 * count + 1)).to_bytes(8, "big")
        if kind == "entities and times":
            entity = rng.randrange(count // 20 + 1) * 0x9E3779B97F4A7C15 % 2**64
            return entity.to_bytes(8, "big") + rng.randrange(400).to_bytes(8, "big")
        if kind == "paths":
            return b"user/%d/%d" % (rng.randrange(90), rng.randrange(1000))
        return bytes(rng.choice(ODD_BYTES) for _ in range(rng.randint(0, 12)))

    if kind == "any":
        return random_keys(rng, count)
    keys = [key() for _ in range(count)]
    if rng.random() < 0.7:
        keys.sort()
    return keys


def random_range_options(rng):
    prefixes = ()
    if rng.random() < 0.1:
        return fmt.RangeOptions(is_ordered=False)
    if rng.random() < 0.5:
        lengths = rng.sample(range(1, rng.choice([10, 20, 256])), rng.randint(1, 4))
        prefixes = tuple(sorted(lengths))
    order = rng.choice([0, 8, 16, 255, rng.randint(0, 20)]) if rng.random() < 0.4 else None
    return fmt.RangeOptions(prefixes, order, rng.random() < 0.3)


def random_ranges(rng, keys, count):
    """Pairs (begin, end), most of them near keys; some are empty, or turned round."""

    def some_key():
        if not keys or rng.random() < 0.2:
            return bytes(rng.choice(ODD_BYTES) for _ in range(rng.randint(0, 12)))
        return rng.choice(keys)

    def moved(key, most):
        """Another of its length, further on by up to `most` where it is taken as a number."""
        number = int.from_bytes(key, "big") + rng.randint(0, most)
        return (number % 256 ** len(key)).to_bytes(len(key), "big")

    ranges = []
    for _ in range(count):
        begin = some_key()
        kind = rng.randrange(6)
        if kind == 0:
            end = some_key()
        elif kind == 1:
            end = begin + rng.choice([b"\0", b"\1", b"\0\0", b"\xff"])
        elif kind == 2:  # all that begin so
            begin = begin[:rng.randint(0, len(begin))]
            end = moved(begin, 1)
        elif kind == 3:
            begin = moved(begin, 3)
            end = moved(begin, rng.choice([1, 4, 16, 300, 3000]))
        elif kind == 4:
            begin = moved(begin, 3) + rng.choice([b"", b"\0"])
            end = moved(begin, 300)[:rng.randint(0, len(begin))]
        else:
            end = begin
            begin = moved(begin, 2)[:rng.randint(0, len(begin))]
        ranges.append((begin, end))
    return ranges


def other_keys(rng, keys, count):
    """Keys that most likely were not added, some of them close to those that were."""
    others = [rng.randbytes(rng.randint(0, 40)) for _ in range(count)]
    for key in rng.sample(keys, min(len(keys), count // 4)):
        others.append(key + b"\0")
        others.append(key[:-1])
    return others


# Ways to damage a filter block; the resealed ones have a check word that is right.

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
