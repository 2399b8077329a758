// SPDX-License-Identifier: Apache-2.0
#include "lib/join/join_key/join_key_source.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "lib/hash/key_hash.h"
#include "lib/join/rows/row_batch.h"
#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

// All rows are sorted together: the key of one with a NULL key is this byte, that of another one
// the other byte and its join key.
constexpr char kAbsent = 0, kPresent = 1;

std::unique_ptr<Cursor> WithoutFirstByte(std::unique_ptr<Cursor> rows) {
  return Over(std::move(rows), [](Cursor* from, Row* row) {
    if (!from->Next(row)) return false;
    row->key.remove_prefix(1);
    return true;
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<JoinKeySource>> JoinKeySource::Sort(
    Source* rows, const JoinKeyExpression& expression, const SortOptions& options) {
  RowSorter sorter(options);
  bool any_absent = false;
  const std::unique_ptr<Cursor> cursor = rows->Scan({});
  Row row;
  std::string extracted, key, packed;
  while (cursor->Next(&row)) {
    const bool present = expression.Extract(row, &extracted);
    key.assign(1, present ? kPresent : kAbsent);
    if (present) key.append(extracted);
    any_absent |= !present;
    PackRow(row, &packed);
    RETURN_IF_ERROR(sorter.Add({key, packed}));
  }
  if (!cursor->status().ok()) return cursor->status();
  ASSIGN_OR_RETURN(std::unique_ptr<Source> sorted, sorter.Finish());
  return std::unique_ptr<JoinKeySource>(new JoinKeySource(std::move(sorted), any_absent));
}

JoinKeySource::JoinKeySource(std::unique_ptr<Source> sorted, bool any_absent)
    : sorted_(std::move(sorted)),
      any_absent_(any_absent),
      keys_(sorted_->EstimateKeys() - (any_absent ? 1 : 0)) {}

std::unique_ptr<Cursor> JoinKeySource::Scan(const KeyInterval& interval) {
  KeyInterval present{kPresent + interval.begin, std::nullopt};
  if (interval.end) present.end = kPresent + *interval.end;
  return WithoutFirstByte(sorted_->Scan(present));
}

std::unique_ptr<Cursor> JoinKeySource::ScanAbsent() {
  if (!any_absent_) return nullptr;
  return WithoutFirstByte(sorted_->Scan({"", std::string(1, kPresent)}));
}

std::unique_ptr<Cursor> KeyPrefixSource::Scan(const KeyInterval& interval) {
  // Of a prefix in the interval, all keys are at least as large as its beginning; its end may lie
  // below keys whose prefix is in it.
  auto next = [interval, prefix_bytes = prefix_bytes_, packed = std::string(), ended = false](
                  Cursor* from, Row* row) mutable {
    Row whole;
    while (!ended && from->Next(&whole)) {
      if (whole.key.size() < prefix_bytes) continue;
      const std::string_view prefix = whole.key.substr(0, prefix_bytes);
      if (prefix < interval.begin) continue;
      ended = interval.end && prefix >= *interval.end;
      if (ended) return false;
      PackRow(whole, &packed);
      *row = {prefix, packed};
      return true;
    }
    ended = true;
    return false;
  };
  return Over(rows_->Scan({interval.begin, std::nullopt}), std::move(next));
}

std::unique_ptr<Cursor> KeyPrefixSource::ScanAbsent() {
  return Over(rows_->Scan({}), [prefix_bytes = prefix_bytes_, packed = std::string()](
                                   Cursor* from, Row* row) mutable {
    Row whole;
    while (from->Next(&whole)) {
      if (whole.key.size() >= prefix_bytes) continue;
      PackRow(whole, &packed);
      *row = {std::string_view(), packed};
      return true;
    }
    return false;
  });
}

namespace {

constexpr char kZero = '\x00', kZeroInKey = '\xFF', kEndOfKey = '\x01';

void AppendKey(std::string_view key, std::string* join_key) {
  for (;;) {
    const size_t zero = key.find(kZero);
    join_key->append(key.substr(0, zero));
    if (zero == std::string_view::npos) return;
    join_key->append({kZero, kZeroInKey});
    key.remove_prefix(zero + 1);
  }
}

// The longest key of which the bytes are the beginning.
std::string LongestKey(std::string_view join_key) {
  std::string key;
  for (size_t i = 0; i < join_key.size(); i++) {
    key.push_back(join_key[i]);
    if (join_key[i] != kZero) continue;
    if (i + 1 == join_key.size() || join_key[i + 1] != kZeroInKey) {
      key.pop_back();
      return key;
    }
    i++;
  }
  return key;
}

}  // namespace

void WholeRowJoinKey(const Row& row, std::string* join_key) {
  WholeRowJoinKey(row.key, XXH3_64bits(row.value.data(), row.value.size()), join_key);
}

void WholeRowJoinKey(std::string_view key, uint64_t value_hash, std::string* join_key) {
  constexpr size_t kEndBytes = 2 + kWholeRowDigestBytes;
  if (key.find(kZero) == std::string_view::npos) {
    join_key->resize(key.size() + kEndBytes);
    std::copy(key.begin(), key.end(), join_key->begin());
  } else {
    join_key->clear();
    AppendKey(key, join_key);
    join_key->resize(join_key->size() + kEndBytes);
  }
  char* const end = join_key->data() + join_key->size() - kEndBytes;
  end[0] = kZero;
  end[1] = kEndOfKey;
  XXH64_canonical_t hash;
  XXH64_canonicalFromHash(&hash, value_hash);
  std::memcpy(end + 2, hash.digest, kWholeRowDigestBytes);
}

uint64_t ValueHashOf(std::string_view digest) {
  XXH64_canonical_t hash;
  std::memcpy(hash.digest, digest.data(), kWholeRowDigestBytes);
  return XXH64_hashFromCanonical(&hash);
}

bool TakeDigest(std::string_view* join_key, uint64_t* digest) {
  if (join_key->size() < kWholeRowDigestBytes + 2) return false;
  XXH64_canonical_t bytes;
  DigestBytesOf(*join_key).copy(reinterpret_cast<char*>(bytes.digest), sizeof(bytes.digest));
  *digest = XXH64_hashFromCanonical(&bytes);
  join_key->remove_suffix(kWholeRowDigestBytes);
  return (*join_key)[join_key->size() - 2] == kZero && join_key->back() == kEndOfKey;
}

bool KeyOfWholeRow(std::string_view join_key, std::string* key) {
  key->clear();
  if (join_key.size() < kWholeRowDigestBytes) return false;
  join_key.remove_suffix(kWholeRowDigestBytes);
  const size_t end = join_key.size() - 2;  // of what stands for the key
  if (join_key.size() < 2 || join_key.substr(end) != std::string_view("\x00\x01", 2)) return false;
  *key = LongestKey(join_key.substr(0, end));
  std::string again;
  AppendKey(*key, &again);
  return again == join_key.substr(0, end);
}

// A key below the longest one that `begin` begins with is a beginning of it, and ends where it goes
// on with more than 00 01; or differs from it by a smaller byte. So is a key above that of `end`.
KeyInterval KeysOfWholeRows(const KeyInterval& join_keys) {
  KeyInterval keys{LongestKey(join_keys.begin), std::nullopt};
  if (join_keys.end) keys.end = LongestKey(*join_keys.end) + kZero;
  return keys;
}

KeyInterval WholeRowsOfKey(std::string_view key) {
  KeyInterval interval;
  AppendKey(key, &interval.begin);
  interval.end = interval.begin;
  interval.begin.append({kZero, kEndOfKey});
  interval.end->append({kZero, kEndOfKey + 1});
  return interval;
}

// Keys below K 00 are those up to K.
KeyInterval WholeRowsOfKeys(const KeyInterval& keys) {
  KeyInterval rows;
  if (!keys.begin.empty()) rows.begin = WholeRowsOfKey(keys.begin).begin;
  if (!keys.end) return rows;
  const bool after_a_key = !keys.end->empty() && keys.end->back() == kZero;
  rows.end = after_a_key ? WholeRowsOfKey(keys.end->substr(0, keys.end->size() - 1)).end
                         : WholeRowsOfKey(*keys.end).begin;
  return rows;
}

std::unique_ptr<Cursor> WholeRowSource::Scan(const KeyInterval& interval) {
  auto next = [interval, values = values_, join_key = std::string(), begun = false, ended = false](
                  Cursor* from, Row* row) mutable {
    Row whole;
    while (!ended && from->Next(&whole)) {
      WholeRowJoinKey(whole, &join_key);
      if (!begun && join_key < interval.begin) continue;
      begun = true;
      if (interval.end && join_key >= *interval.end) break;
      *row = {join_key, values == Values::kGiven ? whole.value : ""};
      return true;
    }
    ended = true;
    return false;
  };
  return Over(rows_->Scan(KeysOfWholeRows(interval)), std::move(next));
}

absl::Status UnpackingResultSink::Add(const Row& row, Side from) {
  const Form form = from == Side::kClient ? local_ : remote_;
  if (form == Form::kRow) return sink_->Add(row, from);
  if (form == Form::kByRow) {
    if (KeyOfWholeRow(row.key, &key_)) return sink_->Add({key_, row.value}, from);
    return absl::InvalidArgumentError("the other side sent a row that is not joined on all of it");
  }
  Row whole;
  if (UnpackRow(row.value, &whole)) return sink_->Add(whole, from);
  return absl::InvalidArgumentError(
      "the other side sent a row without its key: it does not join on an expression as it was "
      "asked to");
}

}  // namespace rocksieve::join
