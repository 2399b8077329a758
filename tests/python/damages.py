"""Ways to damage a filter block; the resealed ones have a check word that is right."""

import rocksieve_format as fmt


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
