// SPDX-License-Identifier: Apache-2.0
#include "plugin/probe/empty_ranges.h"

#include <algorithm>
#include <set>
#include <utility>

#include "plugin/probe/neighbours.h"
#include "support/parallel.h"

namespace rocksieve {
namespace {

using rocksdb::Status;

constexpr uint64_t kRangeSeed = 20261123;
constexpr uint64_t kMostPlaces = 4000;
constexpr uint64_t kPairsOfAPlace = 3;
constexpr int kMostPrefixes = 4;  // that are tried one after the other

// The last eight bytes of a key as a number.
struct Tail {
  explicit Tail(std::string_view key) {
    const size_t bytes = std::min<size_t>(8, key.size());
    for (const char c : key.substr(key.size() - bytes))
      number = number << 8 | static_cast<uint8_t>(c);
    most = bytes == 8 ? UINT64_MAX : (uint64_t{1} << 8 * bytes) - 1;
  }
  uint64_t number = 0, most = 0;
};

class RangeMaker {
 public:
  RangeMaker(const Database& database, size_t family, const Tree& tree)
      : keys_(database, family, tree) {}

  Status Make(const Database& database, size_t family, const Tree& tree,
              const std::vector<RangeKind>& kinds, uint64_t count, Progress* progress) {
    const uint64_t places = std::min({kMostPlaces, count, std::max<uint64_t>(1, tree.entries())});
    const uint64_t all_pairs = std::min(tree.entries(), places * kPairsOfAPlace);
    const uint64_t per_pair = std::max<uint64_t>(1, count / std::max<uint64_t>(1, all_pairs));
    ranges.resize(kinds.size());
    progress->Begin("making empty ranges for column family " + tree.family.name, places);
    Status status;
    const auto take = [&](uint64_t pairs) {
      std::string key = keys_->Valid() ? keys_->key().ToString() : "";
      pairs = std::max(pairs, kPairsOfAPlace);
      for (uint64_t i = 0; i < pairs && keys_->Valid() && status.ok(); i++) {
        keys_->Next();
        if (!keys_->Valid()) return;
        std::string next = keys_->key().ToString();
        for (size_t kind = 0; kind < kinds.size(); kind++) {
          if (kinds[kind].is_prefix) continue;
          AddBetween(key, next, kinds[kind].length, i, per_pair, &ranges[kind]);
        }
        const bool is_new_place = i == 0 || pairs > kPairsOfAPlace;
        if (is_new_place) before_.push_back(key);
        key = std::move(next);
        if (is_new_place) status = Advanced(progress);
      }
    };
    const Status visited = VisitPlaces(database, family, tree, places, keys_.get(), &random_, take);
    if (!visited.ok() || !status.ok()) return visited.ok() ? status : visited;
    for (size_t i = 0; i < kinds.size(); i++) {
      if (!kinds[i].is_prefix) continue;
      progress->Begin("looking for absent prefixes in column family " + tree.family.name,
                      before_.size());
      for (const std::string& key : before_) {
        AddPrefix(key, kinds[i].length, &ranges[i]);
        status = Advanced(progress);
        if (!status.ok()) return status;
      }
    }
    for (std::vector<EmptyRange>& of_kind : ranges) RemoveEqual(&of_kind);
    return keys_->status();
  }

  std::vector<std::vector<EmptyRange>> ranges;  // by kind

 private:
  // Of one length.
  static void RemoveEqual(std::vector<EmptyRange>* found) {
    std::sort(found->begin(), found->end(),
              [](const EmptyRange& a, const EmptyRange& b) { return a.begin < b.begin; });
    const auto end =
        std::unique(found->begin(), found->end(),
                    [](const EmptyRange& a, const EmptyRange& b) { return a.begin == b.begin; });
    found->erase(end, found->end());
  }

  // Between two neighbours, by turns right after `low` and anywhere.
  void AddBetween(const std::string& low, const std::string& high, uint64_t length, uint64_t pair,
                  uint64_t count, std::vector<EmptyRange>* found) {
    const Tail tail(low);
    uint64_t room = tail.most - tail.number;
    const size_t lead = low.size() - std::min<size_t>(8, low.size());
    if (high.size() == low.size() && high.compare(0, lead, low, 0, lead) == 0) {
      room = Tail(high).number - tail.number;
    }
    if (room <= length) return;
    for (uint64_t i = 0; i < count; i++) {
      EmptyRange range;
      range.begin = range.end = low;
      const uint64_t most = room - length;  // from 1 on
      const uint64_t at =
          (pair + i) % 2 == 0 ? 1 : std::uniform_int_distribution<uint64_t>(1, most)(random_);
      if (!AddToKey(at, &range.begin) || !AddToKey(at + length, &range.end)) return;
      if (range.end > high) continue;
      range.before = low;
      range.after = high;
      found->push_back(std::move(range));
      if (most == 1) return;
    }
  }

  // The first prefix without keys among the next ones.
  void AddPrefix(const std::string& key, uint64_t length, std::vector<EmptyRange>* found) {
    if (key.size() < length) return;
    EmptyRange range;
    range.before = key;
    for (int i = 0; i < kMostPrefixes; i++) {
      range.begin = range.before.substr(0, length);
      if (!EndOfPrefix(&range.begin)) return;
      range.begin.resize(length, '\0');
      range.end = range.begin;
      if (!EndOfPrefix(&range.end)) return;
      keys_->Seek(range.begin);
      if (!keys_->Valid()) return;  // behind the data
      range.after = keys_->key().ToString();
      if (range.after >= range.end) {
        found->push_back(std::move(range));
        return;
      }
      if (range.after.size() < length) return;
      range.before = range.after;
    }
  }

  AllKeys keys_;
  Random random_{kRangeSeed};
  std::vector<std::string> before_;  // the keys of the places
};

}  // namespace

bool AddToKey(uint64_t number, std::string* key) {
  const Tail tail(*key);
  if (key->empty() || number > tail.most - tail.number) return false;
  uint64_t sum = tail.number + number;
  for (size_t i = 0; i < std::min<size_t>(8, key->size()); i++) {
    (*key)[key->size() - 1 - i] = static_cast<char>(sum);
    sum >>= 8;
  }
  return true;
}

bool EndOfPrefix(std::string* prefix) {
  while (!prefix->empty() && prefix->back() == '\xff') prefix->pop_back();
  if (prefix->empty()) return false;
  prefix->back() = static_cast<char>(static_cast<uint8_t>(prefix->back()) + 1);
  return true;
}

std::vector<uint64_t> PrefixLengths(const Tree& tree) {
  std::set<uint64_t> lengths;
  for (const TreeFile* file : tree.files()) {
    lengths.insert(file->filter.prefix_lengths.begin(), file->filter.prefix_lengths.end());
  }
  return {lengths.begin(), lengths.end()};
}

Status MakeEmptyRanges(const Database& database, size_t family, const Tree& tree,
                       const std::vector<RangeKind>& kinds, uint64_t count, Progress* progress,
                       std::vector<std::vector<EmptyRange>>* ranges) {
  RangeMaker maker(database, family, tree);
  const Status status = maker.Make(database, family, tree, kinds, count, progress);
  *ranges = std::move(maker.ranges);
  return status;
}

}  // namespace rocksieve
