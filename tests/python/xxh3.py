# SPDX-License-Identifier: Apache-2.0
"""XXH3-64 with a seed, in plain Python: the key hash and the check word of filter blocks.

Written after the published algorithm (xxHash 0.8.1), to be read beside it: slow and obvious.
"""

MASK64 = (1 << 64) - 1

PRIME32_1, PRIME32_2, PRIME32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
PRIME64_1, PRIME64_2, PRIME64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
PRIME64_4, PRIME64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
PRIME_MX1, PRIME_MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25

SECRET = bytes.fromhex("""
    b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f
    cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c
    3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8
    a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364
    eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e
    2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e
""")
SECRET_SIZE_MIN = 136  # the shortest secret that is allowed; it fixes one offset below

STRIPE = 64
SECRET_STEP = 8  # bytes by which the secret moves on from one stripe to the next
STRIPES_PER_BLOCK = (len(SECRET) - STRIPE) // SECRET_STEP
BLOCK = STRIPE * STRIPES_PER_BLOCK


def u32(data, at):
    return int.from_bytes(data[at:at + 4], "little")


def u64(data, at):
    return int.from_bytes(data[at:at + 8], "little")


def swap32(x):
    return int.from_bytes(x.to_bytes(4, "little"), "big")


def swap64(x):
    return int.from_bytes(x.to_bytes(8, "little"), "big")


def rotl64(x, count):
    return ((x << count) | (x >> (64 - count))) & MASK64


def fold_product(a, b):
    """The two halves of the 128-bit product, xored."""
    product = a * b
    return (product & MASK64) ^ (product >> 64)


def avalanche(h):
    h ^= h >> 37
    h = h * PRIME_MX1 & MASK64
    return h ^ (h >> 32)


def avalanche_xxh64(h):
    h ^= h >> 33
    h = h * PRIME64_2 & MASK64
    h ^= h >> 29
    h = h * PRIME64_3 & MASK64
    return h ^ (h >> 32)


def mix16(data, at, secret_at, seed):
    return fold_product(
        u64(data, at) ^ ((u64(SECRET, secret_at) + seed) & MASK64),
        u64(data, at + 8) ^ ((u64(SECRET, secret_at + 8) - seed) & MASK64))


def hash_0_to_16(data, seed):
    n = len(data)
    if n == 0:
        return avalanche_xxh64(seed ^ u64(SECRET, 56) ^ u64(SECRET, 64))
    if n <= 3:
        combined = data[0] << 16 | data[n >> 1] << 24 | data[n - 1] | n << 8
        flip = ((u32(SECRET, 0) ^ u32(SECRET, 4)) + seed) & MASK64
        return avalanche_xxh64(combined ^ flip)
    if n <= 8:
        seed ^= swap32(seed & 0xFFFFFFFF) << 32
        flip = ((u64(SECRET, 8) ^ u64(SECRET, 16)) - seed) & MASK64
        h = (u32(data, n - 4) + (u32(data, 0) << 32)) ^ flip
        h ^= rotl64(h, 49) ^ rotl64(h, 24)
        h = h * PRIME_MX2 & MASK64
        h ^= (h >> 35) + n
        h = h * PRIME_MX2 & MASK64
        return h ^ (h >> 28)
    low = u64(data, 0) ^ (((u64(SECRET, 24) ^ u64(SECRET, 32)) + seed) & MASK64)
    high = u64(data, n - 8) ^ (((u64(SECRET, 40) ^ u64(SECRET, 48)) - seed) & MASK64)
    return avalanche((n + swap64(low) + high + fold_product(low, high)) & MASK64)


def hash_17_to_128(data, seed):
    n = len(data)
    total = n * PRIME64_1
    # Sixteen bytes from either end, in turns, until the halves meet.
    for i in range((n - 1) // 32 + 1):
        total += mix16(data, 16 * i, 32 * i, seed)
        total += mix16(data, n - 16 * (i + 1), 32 * i + 16, seed)
    return avalanche(total & MASK64)


def hash_129_to_240(data, seed):
    n = len(data)
    total = n * PRIME64_1
    for i in range(8):
        total += mix16(data, 16 * i, 16 * i, seed)
    total = avalanche(total & MASK64)
    for i in range(8, n // 16):
        total += mix16(data, 16 * i, 16 * (i - 8) + 3, seed)
    total += mix16(data, n - 16, SECRET_SIZE_MIN - 17, seed)
    return avalanche(total & MASK64)


def words(data, at):
    """The eight 64-bit words of a stripe."""
    return [u64(data, at + 8 * i) for i in range(8)]


def accumulate(acc, data_words, secret_words):
    for i in range(8):
        keyed = data_words[i] ^ secret_words[i]
        acc[i ^ 1] = (acc[i ^ 1] + data_words[i]) & MASK64
        acc[i] = (acc[i] + (keyed & 0xFFFFFFFF) * (keyed >> 32)) & MASK64


def scramble(acc, secret_words):
    for i in range(8):
        acc[i] = (acc[i] ^ (acc[i] >> 47) ^ secret_words[i]) * PRIME32_1 & MASK64


def seeded_secret(seed):
    parts = []
    for at in range(0, len(SECRET), 16):
        parts.append(((u64(SECRET, at) + seed) & MASK64).to_bytes(8, "little"))
        parts.append(((u64(SECRET, at + 8) - seed) & MASK64).to_bytes(8, "little"))
    return b"".join(parts)


def hash_long(data, seed):
    secret = seeded_secret(seed)
    stripe_secrets = [words(secret, SECRET_STEP * i) for i in range(STRIPES_PER_BLOCK)]
    scramble_secret = words(secret, len(secret) - STRIPE)
    acc = [PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3, PRIME64_4, PRIME32_2, PRIME64_5, PRIME32_1]

    # The last stripe, full or not, is left to the end, where the last 64 bytes are taken whole.
    for stripe in range((len(data) - 1) // STRIPE):
        place_in_block = stripe % STRIPES_PER_BLOCK
        accumulate(acc, words(data, STRIPE * stripe), stripe_secrets[place_in_block])
        if place_in_block == STRIPES_PER_BLOCK - 1:
            scramble(acc, scramble_secret)
    accumulate(acc, words(data, len(data) - STRIPE), words(secret, len(secret) - STRIPE - 7))

    total = len(data) * PRIME64_1
    for i in range(4):
        total += fold_product(acc[2 * i] ^ u64(secret, 11 + 16 * i),
                              acc[2 * i + 1] ^ u64(secret, 19 + 16 * i))
    return avalanche(total & MASK64)


def xxh3_64(data, seed=0):
    n = len(data)
    if n <= 16:
        return hash_0_to_16(data, seed)
    if n <= 128:
        return hash_17_to_128(data, seed)
    if n <= 240:
        return hash_129_to_240(data, seed)
    return hash_long(data, seed)
