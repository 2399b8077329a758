# SPDX-License-Identifier: Apache-2.0
"""XXH3-64 with a seed: the key hash and the check word of filter blocks; and xxHash's older hashes,
which table files may have as checksums. They come from the library of the package libxxhash-dev."""

import ctypes

MASK64 = (1 << 64) - 1
LIBRARY = ctypes.CDLL("libxxhash.so.0")


def hash_function(name, number):
    function = LIBRARY[name]
    function.argtypes, function.restype = (ctypes.c_char_p, ctypes.c_size_t, number), number
    return lambda data, seed=0: function(bytes(data), len(data), seed)


xxh3_64 = hash_function("XXH3_64bits_withSeed", ctypes.c_uint64)
xxh64 = hash_function("XXH64", ctypes.c_uint64)
xxh32 = hash_function("XXH32", ctypes.c_uint32)
