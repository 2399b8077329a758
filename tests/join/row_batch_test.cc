// SPDX-License-Identifier: Apache-2.0
// Rows in batches: giant ones, and batches that want more memory than they may.
#include "lib/join/rows/row_batch.h"

#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lib/format/byte_io.h"
#include "lib/join/rows/compression.h"
#include "tests/join/support.h"

namespace rocksieve::join {
namespace {

std::vector<std::string> Batches(const Table& rows, bool with_keys) {
  RowBatchWriter writer(with_keys);
  std::vector<std::string> batches;
  for (const auto& [key, value] : rows) {
    writer.Add({key, value});
    while (writer.pending_bytes() >= kRowBatchBytes) writer.TakeBatch(&batches.emplace_back());
  }
  writer.TakeBatch(&batches.emplace_back());
  return batches;
}

Table ReadAll(const std::vector<std::string>& batches, RowBatchReader* reader) {
  Table rows;
  for (const std::string& batch : batches) {
    const absl::Status status = reader->Read(batch, [&](const Row& row, bool) {
      rows.emplace_back(row.key, row.value);
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
  }
  EXPECT_TRUE(reader->between_rows());
  return rows;
}

TEST(RowBatch, RowsOfEverySizeComeBack) {
  std::mt19937_64 random(31);
  Table rows;
  for (int i = 0; i < 300; i++) {
    const size_t bytes = i % 100 == 50 ? 700'000 : random() % (size_t{1} << (random() % 18));
    std::string value(bytes, '\0');
    for (char& byte : value) byte = static_cast<char>(random());
    std::string key = std::to_string(100'000 + i / 2) + std::string(i % 7 == 0 ? 200'000 : 0, 'k');
    rows.emplace_back(std::move(key), std::move(value));
  }
  std::sort(rows.begin(), rows.end());
  const std::vector<std::string> batches = Batches(rows, /*with_keys=*/true);
  for (const std::string& batch : batches) EXPECT_LT(batch.size(), kRowBatchBytes + 1000);
  RowBatchReader reader(/*with_keys=*/true);
  EXPECT_TRUE(ReadAll(batches, &reader) == rows);
}

TEST(RowBatch, ABatchIsNotUnpackedToMoreThanOneHolds) {
  std::string bomb;
  AppendCompressed(std::string(kRowBatchBytes + 1, '\0'), &bomb);
  EXPECT_LT(bomb.size(), 100u);
  RowBatchReader reader(/*with_keys=*/true);
  EXPECT_TRUE(absl::IsInvalidArgument(
      reader.Read(bomb, [](const Row&, bool) { return absl::OkStatus(); })));
}

TEST(RowBatch, ARowThatIsTooLargeIsRefusedAtItsBeginning) {
  const Table rows = {{"key", std::string(1'000'000, 'v')}};
  RowBatchReader enough(/*with_keys=*/true, 1'000'010), too_little(/*with_keys=*/true, 900'000);
  const std::vector<std::string> batches = Batches(rows, /*with_keys=*/true);
  EXPECT_TRUE(ReadAll(batches, &enough) == rows);
  const absl::Status status =
      too_little.Read(batches.front(), [](const Row&, bool) { return absl::OkStatus(); });
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
}

TEST(RowBatch, AnEndlessKeyIsRefused) {
  RowBatchReader reader(/*with_keys=*/true, 1'000'000);
  std::string head, batch;
  ByteWriter out(&head);
  out.Varint(1);  // no value, a new key
  out.Varint(0);
  out.Varint(50'000'000);
  AppendCompressed(head, &batch);
  absl::Status status = reader.Read(batch, [](const Row&, bool) { return absl::OkStatus(); });
  int batches = 0;
  for (; status.ok() && batches < 1000; batches++) {
    batch.clear();
    AppendCompressed(std::string(kRowBatchBytes, 'k'), &batch);
    status = reader.Read(batch, [](const Row&, bool) { return absl::OkStatus(); });
  }
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_LE(batches, 10);
}

// The receiver knows the keys of some rows, which may be the first.
TEST(RowBatch, RowsOfKnownKeys) {
  RowBatchWriter writer(/*with_keys=*/true);
  writer.AddKnown("known");
  writer.Add({"key", "value"});
  writer.AddKnown("");
  EXPECT_EQ(writer.rows(), 3u);
  std::string batch;
  writer.TakeBatch(&batch);
  std::vector<std::string> rows;
  const auto take = [&rows](const Row& row, bool new_key) {
    rows.push_back(new_key ? std::string(row.key) + "=" + std::string(row.value)
                           : std::string(row.value));
    return absl::OkStatus();
  };
  RowBatchReader reader(/*with_keys=*/true, kDefaultMostRowBytes, nullptr, /*expects_known=*/true);
  EXPECT_TRUE(reader.Read(batch, take).ok());
  EXPECT_EQ(rows, (std::vector<std::string>{"known", "key=value", ""}));
  RowBatchReader other(/*with_keys=*/true);
  EXPECT_FALSE(other.Read(batch, take).ok());
}

}  // namespace
}  // namespace rocksieve::join
