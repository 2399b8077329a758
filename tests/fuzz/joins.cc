// SPDX-License-Identifier: Apache-2.0
// What the two sides of a join send each other, in parts, and what rows are joined on.
#include <algorithm>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include "lib/format/bit_coder.h"
#include "lib/format/byte_io.h"
#include "lib/hash/key_hash.h"
#include "lib/join/existing/existing_filters.h"
#include "lib/join/join_key/join_key_expression.h"
#include "lib/join/join_key/json_pointer.h"
#include "lib/join/matching/matching_range.h"
#include "lib/join/rows/row_batch.h"
#include "lib/join/session/messages.h"
#include "lib/transport/frame.h"
#include "support/text.h"
#include "tests/fuzz/target.h"

// The frames of the transport: one direction's messages as a row of bytes, in pieces.
//
// Oracle: cut otherwise, the bytes are the same messages or the same error; what a writer makes of
// the messages is read as these.
namespace rocksieve::join {
namespace {

constexpr uint64_t kMostMessageBytes = 1000;

struct Frames {
  std::vector<std::string> messages;
  absl::Status status;
};

Frames ReadAll(std::string_view bytes, size_t piece_bytes) {
  Frames read;
  FrameReader reader(kMostMessageBytes);
  for (size_t at = 0; at < bytes.size() && read.status.ok(); at += piece_bytes) {
    const fuzz::ExactCopy piece(bytes.substr(at, piece_bytes));
    read.status = reader.Add(piece.view());
    while (read.status.ok()) {
      const absl::StatusOr<std::optional<std::string_view>> message = reader.Next();
      read.status = message.status();
      if (!message.ok() || !message->has_value()) break;
      FUZZ_CHECK(!(*message)->empty() && (*message)->size() <= kMostMessageBytes);
      read.messages.emplace_back(**message);
    }
  }
  return read;
}

}  // namespace
}  // namespace rocksieve::join

FUZZ_TARGET(frames) {
  using namespace rocksieve::join;
  rocksieve::fuzz::Choices choices(input);
  const size_t piece_bytes = 1 + choices.UpTo(255);
  const std::string_view bytes = choices.Rest();
  const Frames whole = ReadAll(bytes, bytes.size() + 1), cut = ReadAll(bytes, piece_bytes);
  FUZZ_CHECK(whole.messages == cut.messages);
  FUZZ_CHECK(whole.status.code() == cut.status.code());
  FrameWriter writer;
  for (const std::string& message : whole.messages) writer.Add(message);
  std::string written;
  while (writer.pending_bytes() > 0) written += writer.TakePiece();
  FUZZ_CHECK(writer.TakePiece().empty());
  const Frames again = ReadAll(written, piece_bytes);
  FUZZ_CHECK(again.status.ok() && again.messages == whole.messages);
}

// A message of the join from the other side. The first byte chooses whether its check is made
// right, so that changed fields get in.
//
// Oracle: what is decoded is encoded to bytes that decode to the same again.
FUZZ_TARGET(messages) {
  using namespace rocksieve;
  fuzz::Choices choices(input);
  const bool right = choices.Flag();
  std::string bytes(choices.Rest());
  if (right) ByteWriter(&bytes).U32(static_cast<uint32_t>(HashKey(bytes, 0)));
  const fuzz::ExactCopy copy(bytes);
  const absl::StatusOr<join::Message> message = join::Decode(copy.view());
  if (!message.ok()) {
    FUZZ_CHECK(!message.status().message().empty());
    return;
  }
  const std::string encoded = join::Encode(*message);
  const absl::StatusOr<join::Message> again = join::Decode(encoded);
  FUZZ_CHECK(again.ok() && again->index() == message->index());
  FUZZ_CHECK(join::Encode(*again) == encoded);
  // The least rates and long failures are read as others, all else has one form.
  const bool one_form = !std::holds_alternative<join::Failure>(*message) &&
                        !std::holds_alternative<join::Hello>(*message) &&
                        !std::holds_alternative<join::HelloAnswer>(*message);
  FUZZ_CHECK(!one_form || encoded == bytes);
}

// Existing SST filters as they arrive: a stream in pieces, then a sweep of keys that rise. Half of
// the choices say how to cut it, the rest is the stream; filter blocks in it can be of any format.
//
// Oracle: cut otherwise, the stream is the same filters or the same error; the set stays within its
// limit; a sweep passes a key if and only if it lies within the fences of a filter that passes it,
// or cannot be read.
namespace rocksieve::join {
namespace {

constexpr uint64_t kMostBytes = 1 << 16;
constexpr size_t kFewFilters = 500;  // in which no sweep gives up because too many overlap

// Stands for RocksDB's formats.
class FirstByteFilter final : public KeyFilter {
 public:
  explicit FirstByteFilter(std::string_view block) : block_(block) {}
  bool MayContain(std::string_view key) const override {
    return !key.empty() && block_.find(key.front()) != std::string_view::npos;
  }

 private:
  const std::string_view block_;
};

std::unique_ptr<KeyFilter> DecodeFirstBytes(std::string_view block) {
  if (block.size() % 3 == 0) return nullptr;
  return std::make_unique<FirstByteFilter>(block);
}

// The first `count` filters of a stream that was taken that far.
std::vector<ExistingFilter> FiltersIn(std::string_view stream, size_t count) {
  std::vector<ExistingFilter> filters;
  ByteReader in(stream);
  while (filters.size() < count) {
    ByteReader one(in.Bytes(in.Varint()));
    ExistingFilter& filter = filters.emplace_back();
    filter.format = static_cast<FilterFormat>(one.U8());
    filter.smallest = one.String();
    filter.largest = one.String();
    filter.block = one.Rest();
    FUZZ_CHECK(one.ok());
  }
  return filters;
}

bool Passes(const ExistingFilter& filter, std::string_view key) {
  if (key < filter.smallest || key > filter.largest) return false;
  if (filter.format == FilterFormat::kOurs) {
    const OpenedFilter opened = OpenFilter(filter.block);
    return opened.filter == nullptr || opened.filter->MayContain(key);
  }
  if (filter.format != FilterFormat::kRocksDbBuiltin) return true;
  const std::unique_ptr<KeyFilter> decoded = DecodeFirstBytes(filter.block);
  return decoded == nullptr || decoded->MayContain(key);
}

void CheckSweep(const ExistingFilterSet& set, const std::vector<ExistingFilter>& filters) {
  ExistingFilterSet::Sweep sweep(set);
  for (int i = 0; i < 256; i++) {
    const std::string key = {static_cast<char>(i), 'k'};
    const bool may_contain = sweep.MayContain(key);
    if (filters.size() > kFewFilters) continue;
    FUZZ_CHECK(may_contain ==
               std::any_of(filters.begin(), filters.end(),
                           [&key](const ExistingFilter& filter) { return Passes(filter, key); }));
  }
}

}  // namespace
}  // namespace rocksieve::join

FUZZ_TARGET(existing_filters) {
  using namespace rocksieve::join;
  rocksieve::fuzz::Choices choices(input);
  const size_t piece_bytes = 1 + choices.UpTo(255);
  const std::string_view stream = choices.Rest();
  ExistingFilterSet whole(DecodeFirstBytes), cut(DecodeFirstBytes);
  MemoryHold no_limit, no_limit_either;
  ExistingFilterAssembler at_once(&whole, kMostBytes, &no_limit);
  ExistingFilterAssembler by_pieces(&cut, kMostBytes, &no_limit_either);
  const rocksieve::fuzz::ExactCopy all(stream);
  const absl::Status status = at_once.Add(all.view());
  absl::Status cut_status;
  for (size_t at = 0; at < stream.size() && cut_status.ok(); at += piece_bytes) {
    const rocksieve::fuzz::ExactCopy piece(stream.substr(at, piece_bytes));
    cut_status = by_pieces.Add(piece.view());
  }
  FUZZ_CHECK(status.code() == cut_status.code());
  FUZZ_CHECK(whole.size() == cut.size() && whole.bytes() == cut.bytes());
  FUZZ_CHECK(whole.DigestOf(whole.size()) == cut.DigestOf(cut.size()));
  if (status.ok()) FUZZ_CHECK(at_once.AtBoundary() == by_pieces.AtBoundary());
  CheckSweep(whole, FiltersIn(stream, whole.size()));
  whole.Complete();
  const std::optional<std::string> no_end;
  FUZZ_CHECK(whole.Covers(no_end));
}

// What rows are joined on: expressions from a command line, JSON values of rows; and rows as lines
// of text. The first byte chooses which.
//
// Oracle: an expression's text is read as the same expression; a JSON scalar is that which another
// parser finds; what was escaped can be had back.
namespace rocksieve::join {
namespace {

using fuzz::Choices;
using Json = nlohmann::json;

void ParseExpression(Choices* choices) {
  const fuzz::ExactCopy text(choices->String()), key(choices->String()), value(choices->Rest());
  const absl::StatusOr<JoinKeyExpression> expression = JoinKeyExpression::Parse(text.view());
  if (!expression.ok()) return FUZZ_CHECK(!expression.status().message().empty());
  const absl::StatusOr<JoinKeyExpression> again = JoinKeyExpression::Parse(expression->text());
  FUZZ_CHECK(again.ok() && again->text() == expression->text());
  std::string first, second;
  const bool has = expression->Extract({key.view(), value.view()}, &first);
  FUZZ_CHECK(has == again->Extract({key.view(), value.view()}, &second));
  FUZZ_CHECK(!has || first == second);
}

void FindInJson(Choices* choices) {
  const fuzz::ExactCopy text(choices->String()), json(choices->Rest());
  const absl::StatusOr<JsonPointer> pointer = JsonPointer::Parse(text.view());
  if (!pointer.ok()) return;
  std::string scalar;
  const bool found = pointer->Find(json.view(), &scalar);
  // A zero byte is no JSON, and the end of the text for the other parser.
  if (json.view().find('\0') != std::string_view::npos) return FUZZ_CHECK(!found);
  const Json document = Json::parse(json.view(), nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return;  // or has a number that is no finite double
  const Json* place = nullptr;
  try {
    const Json::json_pointer other{std::string(text.view())};
    if (document.contains(other)) place = &document.at(other);
  } catch (const Json::exception&) {
    return;  // an index that is none, which we take for no place
  }
  const bool expected = place != nullptr && !place->is_null() && !place->is_structured();
  // Too small for a double, and for us if its exponent is beyond 2^40.
  if (expected && !found && place->is_number_float() && place->get<double>() == 0) return;
  FUZZ_CHECK(found == expected);
  if (!found) return;
  if (place->is_string()) FUZZ_CHECK(scalar == place->get_ref<const std::string&>());
  if (place->is_boolean()) FUZZ_CHECK(scalar == (place->get<bool>() ? "true" : "false"));
  if (place->is_number_integer()) FUZZ_CHECK(scalar == place->dump());
}

void WriteLine(Choices* choices) {
  const fuzz::ExactCopy bytes(choices->Rest());
  std::string line, again;
  AppendEscapedText(bytes.view(), &line);
  for (size_t i = 0; i < line.size(); i++) {
    FUZZ_CHECK(std::string_view("\t\n\r\0", 4).find(line[i]) == std::string_view::npos);
    if (line[i] != '\\') {
      again.push_back(line[i]);
      continue;
    }
    const size_t which = std::string_view("\\tnr0").find(line.at(++i));
    again.push_back(std::string_view("\\\t\n\r\0", 5).at(which));
  }
  FUZZ_CHECK(again == bytes.view());
}

}  // namespace
}  // namespace rocksieve::join

FUZZ_TARGET(join_key_expression) {
  using namespace rocksieve;
  using namespace rocksieve::join;
  fuzz::Choices choices(input);
  static constexpr void (*kReaders[])(fuzz::Choices*) = {
      ParseExpression, FindInJson, WriteLine};
  kReaders[choices.UpTo(2)](&choices);
}

// What messages are made of: sorted numbers, flags, short hashes, key lists, row batches, packed
// rows, zstd streams. The first byte chooses which; where bytes come compressed, the second whether
// they are compressed here, so that changed ones come to what reads the raw bytes.
//
// Oracle: what is read and written again is the same; the two ways to uncompress agree; nothing is
// larger than its limit.
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

FUZZ_TARGET(lists) {
  using namespace rocksieve;
  using namespace rocksieve::join;
  fuzz::Choices choices(input);
  static constexpr void (*kReaders[])(fuzz::Choices*) = {
      ReadSorted, ReadFlags, ReadHashes, UncompressBoth, ReadKeys, ReadRows, ReadPackedRow};
  kReaders[choices.UpTo(6)](&choices);
}
