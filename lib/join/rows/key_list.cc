// SPDX-License-Identifier: Apache-2.0
#include "lib/join/rows/key_list.h"

#include <algorithm>

#include "lib/format/byte_io.h"

namespace rocksieve::join {

void PackRow(const Row& row, std::string* packed) {
  packed->clear();
  ByteWriter out(packed);
  out.String(row.key);
  out.Bytes(row.value);
}

bool UnpackRow(std::string_view packed, Row* row) {
  ByteReader in(packed);
  row->key = in.String();
  row->value = in.Rest();
  return in.ok();
}

absl::Status UnpackingSink::Add(const Row& row, Side from) {
  if (!(from == Side::kClient ? client_ : server_)) return sink_->Add(row, from);
  Row whole;
  if (!UnpackRow(row.value, &whole)) {
    return absl::InvalidArgumentError(
        "the other side sent a row without its key: it does not join on an expression as it was "
        "asked to");
  }
  return sink_->Add(whole, from);
}

namespace {

// With what each key shares with the one before: what has to be hashed.
constexpr uint64_t kMostListedBytes = uint64_t{1} << 32;

constexpr size_t kMostHeadBytes = 2 * kMaxVarintBytes;  // of an entry, before the key's bytes

// Takes a list as it is unpacked.
class ListParser {
 public:
  using Visit = std::function<void(std::optional<std::string_view> key)>;

  ListParser(uint64_t most_keys, uint64_t longest_key_bytes, const Visit& visit)
      : most_keys_(most_keys), longest_(longest_key_bytes), visit_(visit) {}

  // False if it is none.
  bool Take(std::string_view piece) {
    while (!piece.empty() || EndsKey()) {
      if (EndsKey()) {
        in_key_ = false;
        if (++keys_ > most_keys_ || (listed_bytes_ += key_bytes_) > kMostListedBytes) return false;
        visit_(key_bytes_ <= longest_ ? std::optional<std::string_view>(key_) : std::nullopt);
      } else if (in_key_) {
        const uint64_t bytes = std::min<uint64_t>(missing_, piece.size());
        key_.append(piece.substr(0, std::min<uint64_t>(bytes, longest_ - key_.size())));
        missing_ -= bytes;
        piece.remove_prefix(bytes);
      } else if (!TakeHead(&piece)) {
        return false;
      }
    }
    return true;
  }

  bool between_keys() const { return !in_key_ && head_.empty(); }

 private:
  bool EndsKey() const { return in_key_ && missing_ == 0; }

  // The lengths, or what there is of them.
  bool TakeHead(std::string_view* piece) {
    const size_t had = head_.size();
    head_ += piece->substr(0, kMostHeadBytes - had);
    ByteReader in(head_);
    const uint64_t shared = in.Varint(key_bytes_);
    missing_ = in.Varint(kMostKeyBytes);
    if (!in.ok()) {  // the rest is in the next piece; or never comes
      piece->remove_prefix(head_.size() - had);
      return head_.size() < kMostHeadBytes;
    }
    piece->remove_prefix(head_.size() - in.remaining() - had);
    head_.clear();
    key_bytes_ = shared + missing_;
    // What is cut off of a key is never of one that is not cut off: that shares less.
    key_.resize(std::min(shared, longest_));
    in_key_ = true;
    return true;
  }

  const uint64_t most_keys_, longest_;
  const Visit& visit_;
  std::string head_;  // the beginning of an entry
  std::string key_;   // its first bytes, at most the longest
  uint64_t key_bytes_ = 0, missing_ = 0;
  uint64_t keys_ = 0, listed_bytes_ = 0;
  bool in_key_ = false;
};

}  // namespace

void KeyListWriter::Add(std::string_view key) {
  const auto differs = std::mismatch(key.begin(), key.end(), last_.begin(), last_.end());
  const auto shared = static_cast<size_t>(differs.first - key.begin());
  std::string head;
  ByteWriter out(&head);
  out.Varint(shared);
  out.Varint(key.size() - shared);
  compressor_.Add(head);
  compressor_.Add(key.substr(shared));
  last_.resize(shared);
  last_.append(key.substr(shared));
}

void KeyListWriter::Finish(std::string* out) {
  compressor_.Finish(out);
  last_.clear();
}

absl::Status ReadKeyList(std::string_view bytes, uint64_t most_keys, uint64_t longest_key_bytes,
                         const std::function<void(std::optional<std::string_view> key)>& visit) {
  ListParser parser(most_keys, longest_key_bytes, visit);
  const bool read = UncompressPieces(
      bytes, UINT64_MAX, [&parser](std::string_view piece) { return parser.Take(piece); });
  if (!read || !parser.between_keys()) {
    return absl::InvalidArgumentError("a list of keys is damaged");
  }
  return absl::OkStatus();
}

}  // namespace rocksieve::join
