import unittest

import tables
from envelope import PAGE, expect_golden, expect_in_page, golden

KEYS = [f"key{i}" for i in range(40)]


class CuckooFilter(unittest.TestCase):
    # Where the writer puts an entry is its own affair, so golden bytes come from the C++ program;
    # but what is in them follows from the keys.
    def expect_entries(self, data, keys):
        decoded = tables.CuckooFilter(data)
        self.assertEqual(decoded.entries(), sorted(decoded.entry(key) for key in keys))
        return decoded

    def test_document(self):
        section = PAGE[PAGE.index("## Cuckoo filter"):]
        data = bytes.fromhex(section.split("all bytes:\n`")[1].split("`")[0])
        decoded = self.expect_entries(data, ["apple", "pear", "apple", "plum"])
        self.assertEqual((decoded.m, decoded.f, decoded.seed), (3, 7, 5))

    def test_golden(self):
        # Full but for two slots: most were moved.
        for name, m, f, seed in [("cuckoo_full_11_bits", 10, 11, 1), ("cuckoo_wide", 13, 32, 2)]:
            with self.subTest(name):
                keys = [f"key{i}" for i in range(4 * m - 2)]
                decoded = self.expect_entries(golden(name), keys)
                self.assertEqual((decoded.m, decoded.f, decoded.seed), (m, f, seed))

    def test_other_bucket_is_an_involution(self):
        filter = tables.CuckooFilter(golden("cuckoo_full_11_bits"))
        for filter.m in range(1, 40):
            for fingerprint in range(1, 20):
                for bucket in range(filter.m):
                    other = filter.other_bucket(bucket, fingerprint)
                    self.assertEqual(filter.other_bucket(other, fingerprint), bucket)


class CuckooTable(unittest.TestCase):
    def test_document(self):
        expect_in_page(self, tables.cuckoo_table(["plum", "pear", "apple", ""], 7))

    def test_golden(self):
        expect_golden(self, "cuckoo_table", tables.cuckoo_table(KEYS + ["long" * 50], 2**64 - 1))


class HashCompaction(unittest.TestCase):
    def encode(self, m, w, seed, keys):
        table = tables.HashCompaction(m, w, seed)
        for key in keys:
            table.add(key)
        return table.encode()

    def test_document(self):
        expect_in_page(self, self.encode(7, 11, 9, ["apple", "pear", "plum", "fig"]))

    def test_golden(self):
        for name, m, w, seed in [("hash_compaction_9_bits", 47, 9, 0),
                                 ("hash_compaction_48_bits", 41, 48, 3)]:
            with self.subTest(name):
                expect_golden(self, name, self.encode(m, w, seed, KEYS))
                decoded = tables.decode_hash_compaction(golden(name))
                self.assertTrue(all(decoded.may_contain(key) for key in KEYS))


if __name__ == "__main__":
    unittest.main()
