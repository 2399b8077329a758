// SPDX-License-Identifier: Apache-2.0
// The kernels of the ribbon family against slow, obvious code.
#include "lib/ribbon/kernel.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/format/block.h"
#include "lib/ribbon/builder.h"
#include "lib/ribbon/reader.h"
#include "tests/support.h"

namespace rocksieve::ribbon {
namespace {

// As docs/formats/ribbon.md says it, one column after the other.
bool ObviousQuery(const Table& table, uint64_t hash) {
  hash = Reseeded(hash, table.reseed);
  const auto bucket =
      static_cast<uint64_t>((static_cast<unsigned __int128>(hash) * table.buckets) >> 64);
  uint64_t first = 0, length = 0;
  for (uint64_t q = 0; q <= bucket; q++) {
    first += length;
    length = table.directory.At(q).groups;
  }
  const uint64_t y = hash * (0x9FB21C651E98DF25 + 2 * length);
  const uint64_t fingerprint = (hash * 0xD6E8FEB86659FD93) >> 32;
  uint64_t groups[3];
  groups[0] = first + (((y >> 32) * length) >> 32);
  groups[1] = groups[0] + 1;
  groups[2] = groups[0] + 4 + (y >> 30 & 3);
  bool wide = true;
  for (uint64_t& group : groups) {
    if (group >= table.layout.groups) group -= 8;
    wide = wide && group >= table.layout.first_wide_group;
  }
  for (int column = 0; column < table.layout.columns + wide; column++) {
    uint64_t selected = 0;
    for (int i = 0; i < 3; i++) {
      selected ^= table.group_bytes[table.layout.Byte(groups[i]) + static_cast<uint64_t>(column)] &
                  (y >> (32 + 8 * i) & 0xFF);
    }
    if (std::popcount(selected) % 2 != static_cast<int>(fingerprint >> column & 1)) return false;
  }
  return true;
}

FilterBlockInfo InfoOf(std::string_view payload, uint8_t parameter) {
  FilterBlockInfo info;
  info.family = Family::kRibbon;
  info.key_count = 1;
  info.parameter = parameter;
  info.payload = payload;
  return info;
}

// A payload of the general form with bytes that mean nothing. Buckets have lengths of all kinds
// where they are few, since many of these would stray too far.
std::string AnyPayload(int columns, uint64_t buckets, double narrow_share,
                       std::mt19937_64* random) {
  std::vector<uint32_t> offsets = {0};
  for (uint64_t q = 0; q < buckets; q++) {
    const uint64_t length = buckets > 3 ? 26 + (*random)() % 13 : 1 + (*random)() % 250;
    offsets.push_back(offsets.back() + static_cast<uint32_t>(std::max<uint64_t>(8, length)));
  }
  EXPECT_TRUE(DirectoryHolds(offsets));
  const uint64_t groups = offsets.back();
  const auto first_wide = static_cast<uint32_t>(
      narrow_share == 1 ? kNoWideGroups : narrow_share * static_cast<double>(groups));
  std::string payload(8 + DirectoryBytes(buckets), '\0');
  StoreLittleEndian32(payload.data(), static_cast<uint32_t>(buckets));
  StoreLittleEndian32(payload.data() + 4, first_wide);
  WriteDirectory(offsets, reinterpret_cast<uint8_t*>(payload.data()) + 8);
  for (uint64_t i = GroupByte(groups, columns, first_wide); i > 0; i--) {
    payload += static_cast<char>((*random)());
  }
  return payload;
}

TEST(RibbonKernel, AnswersAsTheObviousQueryOnAnyBytes) {
  std::mt19937_64 random(71);
  for (int columns = 1; columns <= 32; columns++) {
    for (double narrow_share : {1.0, 0.5, 0.0}) {
      if (columns == 32 && narrow_share < 1) continue;
      for (uint64_t buckets : {1, 2, 20, 300}) {
        for (int reseed : {0, 2}) {
          const std::string payload = AnyPayload(columns, buckets, narrow_share, &random);
          // What follows the payload, of which queries read as much as there is of a block's tail.
          const ExactCopy copy(payload + std::string(kReadableBytesPastPayload, '\x55'));
          const FilterBlockInfo info = InfoOf(copy.view().substr(0, payload.size()),
                                              static_cast<uint8_t>(columns + 64 * reseed));
          Table table;
          ASSERT_TRUE(ParseTable(info, &table));
          std::vector<std::unique_ptr<Filter>> filters;
          for (const Kernel* kernel : UsableKernels()) filters.push_back(Open(info, *kernel));
          for (int i = 0; i < 1000; i++) {
            const uint64_t hash = random();
            const bool expected = ObviousQuery(table, hash);
            for (size_t k = 0; k < filters.size(); k++) {
              ASSERT_EQ(filters[k]->MayContainHash(hash), expected)
                  << UsableKernels()[k]->name << ", " << columns << " columns, narrow share "
                  << narrow_share << ", hash " << hash;
            }
          }
        }
      }
    }
  }
}

TEST(RibbonKernel, BuildsTheSameBytesAndFindsEveryKeyAtEveryWidth) {
  std::mt19937_64 random(72);
  for (double width = 1; width <= 32; width += 0.5) {
    for (size_t keys : {1, 30, 64, 65, 300, 3000}) {
      HashList hashes;
      for (size_t i = 0; i < keys; i++) hashes.push_back(random());
      Plan plan;
      plan.width = width;
      const Payload portable = Build(hashes, plan, 0, kReadableBytesPastPayload, kPortableKernel);
      const std::string_view bytes(portable.data.get(), portable.size);
      for (const Kernel* kernel : UsableKernels()) {
        const Payload built = Build(hashes, plan, 0, kReadableBytesPastPayload, *kernel);
        ASSERT_TRUE(std::string_view(built.data.get(), built.size) == bytes) << kernel->name;
        const auto filter = Open(InfoOf(bytes, built.parameter), *kernel);
        ASSERT_NE(filter, nullptr);
        for (uint64_t hash : hashes) ASSERT_TRUE(filter->MayContainHash(hash)) << kernel->name;
      }
    }
  }
}

// Buckets that fail, backlogs of all sizes, crowded and nearly empty buckets, rows without a bit:
// what the kernels eliminate in their own ways.
TEST(RibbonKernel, BuildsTheSameBytesOfManyKeysAndOfChosenOnes) {
  std::mt19937_64 random(74);
  std::vector<std::vector<uint64_t>> sets(6);
  for (int i = 0; i < 20000; i++) {
    const uint64_t hash = random();
    sets[0].push_back(hash);
    sets[1].push_back(i < 5000 ? hash : hash >> 5);  // some buckets have six times as many
    sets[2].push_back(i % 3000 == 0 ? ~uint64_t{0} / 3 : hash);  // equal ones
    sets[3].push_back(hash & ~uint64_t{0xFFFFFF});               // rows that are alike
    sets[4].push_back(i == 0 ? 0 : hash);       // no bits in its row, whatever the length
    if (i < 700) sets[5].push_back(hash >> 1);  // half of the buckets have none
  }
  for (const std::vector<uint64_t>& set : sets) {
    for (double width : {1.0, 6.8, 12.0, 19.5}) {
      for (bool thorough : {false, true}) {
        Plan plan;
        plan.width = width;
        plan.thorough = thorough;
        const HashList hashes(set.begin(), set.end());
        const Payload portable = Build(hashes, plan, 0, kReadableBytesPastPayload, kPortableKernel);
        const std::string_view bytes(portable.data.get(), portable.size);
        EXPECT_GT(bytes.size(), 0u);
        for (const Kernel* kernel : UsableKernels()) {
          const Payload built = Build(hashes, plan, 0, kReadableBytesPastPayload, *kernel);
          ASSERT_EQ(built.parameter, portable.parameter) << kernel->name;
          ASSERT_TRUE(std::string_view(built.data.get(), built.size) == bytes)
              << kernel->name << ", set " << &set - sets.data() << ", " << width << " columns";
        }
      }
    }
  }
}

// With a compact head, the same groups are elsewhere: the answers must be those of the plain one.
TEST(RibbonKernel, ACompactHeadChangesNoAnswer) {
  std::mt19937_64 random(73);
  for (double width : {1.0, 1.4, 7.0, 10.0, 10.3, 30.5, 31.0, 31.5, 32.0}) {
    for (size_t keys : {65, 66, 300, 2000, 5000, 32767}) {
      HashList hashes;
      for (size_t i = 0; i < keys; i++) hashes.push_back(random());
      Plan plan;
      plan.width = width;
      const Payload plain = Build(hashes, plan, 0, kReadableBytesPastPayload, kPortableKernel);
      plan.compact = true;
      for (const Kernel* kernel : UsableKernels()) {
        const Payload built = Build(hashes, plan, 0, kReadableBytesPastPayload, *kernel);
        const size_t saved = width == 32 ? 0 : width == static_cast<int>(width) ? 10 : 8;
        ASSERT_EQ(built.size + saved, plain.size) << width << " columns, " << keys << " keys";
        const ExactCopy copy(std::string(built.data.get(), built.size) +
                             std::string(kReadableBytesPastPayload, '\x55'));
        const auto compact_filter =
            Open(InfoOf(copy.view().substr(0, built.size), built.parameter), *kernel);
        const auto plain_filter =
            Open(InfoOf({plain.data.get(), plain.size}, plain.parameter), *kernel);
        ASSERT_NE(compact_filter, nullptr);
        std::vector<uint64_t> asked(hashes.begin(), hashes.end());
        for (int i = 0; i < 1000; i++) asked.push_back(random());
        const std::unique_ptr<bool[]> answers(new bool[asked.size()]);
        compact_filter->MayContainHashes(asked.data(), asked.size(), answers.get());
        for (size_t i = 0; i < asked.size(); i++) {
          const bool expected = plain_filter->MayContainHash(asked[i]);
          ASSERT_TRUE(expected || i >= keys) << kernel->name;
          ASSERT_EQ(compact_filter->MayContainHash(asked[i]), expected) << kernel->name;
          ASSERT_EQ(answers[i], expected) << kernel->name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace rocksieve::ribbon
