// SPDX-License-Identifier: Apache-2.0
// What messages are made of: sorted numbers, flags, short hashes, key lists, row batches, packed
// rows, zstd streams. The first byte chooses which; where bytes come compressed, the second whether
// they are compressed here, so that changed ones come to what reads the raw bytes.
//
// Oracle: what is read and written again is the same; the two ways to uncompress agree; nothing is
// larger than its limit.
#include <span>
#include <vector>

#include "lib/format/bit_coder.h"
#include "lib/join/matching/candidates.h"
#include "lib/join/rows/compression.h"
#include "lib/join/rows/row_batch.h"
#include "tests/fuzz/target.h"

namespace rocksieve::join {
namespace {

using fuzz::Choices;

constexpr uint64_t kMostRawBytes = 1 << 20;

void ReadSorted(Choices* choices) {
  const int extra_bits = static_cast<int>(choices->UpTo(64));
  const uint64_t largest = choices->Number();
  const uint64_t most = choices->UpTo(100000);
  const fuzz::ExactCopy bytes(choices->Rest());
  ByteReader in(bytes.view());
  SortedValues read;
  if (!DecodeSorted(&in, largest, extra_bits, most, &read)) return;
  FUZZ_CHECK(read.values.size() <= most && std::is_sorted(read.values.begin(), read.values.end()));
  FUZZ_CHECK(read.values.empty() || read.values.back() <= largest);
  std::string written;
  ByteWriter out(&written);
  EncodeSorted(read.values, read.extras, extra_bits, &out);
  ByteReader again(written);
  SortedValues second;
  FUZZ_CHECK(DecodeSorted(&again, largest, extra_bits, most, &second) && again.Finished());
  FUZZ_CHECK(second.values == read.values && second.extras == read.extras);
}

void ReadFlags(Choices* choices) {
  const size_t count = choices->UpTo(100000);
  const fuzz::ExactCopy bytes(choices->Rest());
  ByteReader in(bytes.view());
  PageVector<uint8_t> flags;
  if (!DecodeFlags(&in, count, &flags)) return;
  FUZZ_CHECK(flags.size() == count);
  std::string written;
  ByteWriter out(&written);
  EncodeFlags(flags, &out);
  ByteReader again(written);
  PageVector<uint8_t> second;
  FUZZ_CHECK(DecodeFlags(&again, count, &second) && again.Finished() && second == flags);
}

void ReadHashes(Choices* choices) {
  const uint64_t salt = choices->Byte(), most = choices->UpTo(100000);
  const fuzz::ExactCopy bytes(choices->Rest());
  ByteReader in(bytes.view());
  ShortHashes list;
  if (!ReadHashList(&in, most, salt, &list)) return;
  FUZZ_CHECK(list.values.size() <= most && std::is_sorted(list.values.begin(), list.values.end()));
}

// As it stands there, or compressed here.
std::string MaybeCompressed(Choices* choices) {
  const bool compress = choices->Flag();
  if (!compress) return std::string(choices->Rest());
  std::string compressed;
  AppendCompressed(choices->Rest(), &compressed);
  return compressed;
}

void UncompressBoth(Choices* choices) {
  const uint64_t most = choices->UpTo(kMostRawBytes);
  const std::string input = MaybeCompressed(choices);
  const fuzz::ExactCopy bytes(input);
  std::string whole, pieces;
  const bool read = Uncompress(bytes.view(), most, &whole);
  const bool read_pieces = UncompressPieces(bytes.view(), most, [&](std::string_view piece) {
    pieces += piece;
    return pieces.size() <= most;
  });
  FUZZ_CHECK(read == read_pieces);
  if (!read) return;
  FUZZ_CHECK(whole.size() <= most && whole == pieces);
}

void ReadKeys(Choices* choices) {
  const uint64_t most = choices->UpTo(1000), longest = choices->UpTo(1000);
  const std::string input = MaybeCompressed(choices);
  const fuzz::ExactCopy bytes(input);
  std::vector<std::string> keys;
  uint64_t visited = 0;
  const absl::Status status =
      ReadKeyList(bytes.view(), most, longest, [&](std::optional<std::string_view> key) {
        visited++;
        FUZZ_CHECK(!key || key->size() <= longest);
        if (key) keys.emplace_back(*key);
      });
  FUZZ_CHECK(visited <= most);
  if (!status.ok() || keys.size() != visited) return;
  std::string written;
  KeyListWriter writer;
  for (const std::string& key : keys) writer.Add(key);
  writer.Finish(&written);
  std::vector<std::string> second;
  FUZZ_CHECK(ReadKeyList(written, most, longest, [&](std::optional<std::string_view> key) {
               second.emplace_back(key.value());
             }).ok());
  FUZZ_CHECK(second == keys);
}

// Two batches, so that rows are cut between them.
void ReadRows(Choices* choices) {
  constexpr uint64_t kMostRowBytes = 10000;
  const bool with_keys = choices->Flag();
  RowBatchReader reader(with_keys, kMostRowBytes);
  const std::string first(choices->Bytes(choices->UpTo(0xFFFF)));
  const bool compress = choices->Flag();
  uint64_t rows = 0;
  for (const std::string& input : {first, std::string(choices->Rest())}) {
    std::string batch;
    if (compress) AppendCompressed(input, &batch);
    const fuzz::ExactCopy bytes(compress ? batch : input);
    const absl::Status status = reader.Read(bytes.view(), [&](const Row& row, bool) {
      FUZZ_CHECK(row.key.size() + row.value.size() <= kMostRowBytes);
      FUZZ_CHECK(with_keys || row.key.empty());
      fuzz::Use(row);
      rows++;
      return absl::OkStatus();
    });
    if (!status.ok()) return;
    fuzz::Use(reader.between_rows());
  }
}

void ReadPackedRow(Choices* choices) {
  const fuzz::ExactCopy bytes(choices->Rest());
  Row row;
  if (!UnpackRow(bytes.view(), &row)) return;
  std::string packed;
  PackRow(row, &packed);
  FUZZ_CHECK(packed == bytes.view());
}

}  // namespace
}  // namespace rocksieve::join

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocksieve::join;
  rocksieve::fuzz::Choices choices(data, size);
  switch (choices.UpTo(6)) {
    case 0:
      ReadSorted(&choices);
      break;
    case 1:
      ReadFlags(&choices);
      break;
    case 2:
      ReadHashes(&choices);
      break;
    case 3:
      UncompressBoth(&choices);
      break;
    case 4:
      ReadKeys(&choices);
      break;
    case 5:
      ReadRows(&choices);
      break;
    default:
      ReadPackedRow(&choices);
  }
  return 0;
}
