"""What to build: random amounts for specs, and random keys."""

import rocksieve_format as fmt

MIN_BITS = {fmt.BLOOM: 1, fmt.CUCKOO: 2.5, fmt.RIBBON: 1}
MAX_BITS = {fmt.BLOOM: 64, fmt.CUCKOO: 64, fmt.RIBBON: 32}


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
