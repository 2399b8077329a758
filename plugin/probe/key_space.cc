// SPDX-License-Identifier: Apache-2.0
#include "plugin/probe/probe_tree.h"

#include <algorithm>
#include <set>
#include <utility>

#include "support/parallel.h"

namespace rocksieve {
namespace {

using rocksdb::Status;

constexpr uint64_t kIntervals = 512;
constexpr size_t kMostBoundaries = 1024;
// Of a damaged index, RocksDB may tell sizes that do not become less with the interval.
constexpr uint64_t kMostSplits = 8 * kIntervals;
constexpr uint64_t kKeySpaceSeed = 20260101;
constexpr int kMostSteps = 8;  // from a random place on, so that neighbours in a block count alike

// The eight bytes from `from` on as a number that sorts like them; missing bytes are 0.
uint64_t EightBytes(std::string_view key, size_t from) {
  uint64_t number = 0;
  for (size_t i = from; i < from + 8; i++) {
    number = number << 8 | (i < key.size() ? static_cast<uint8_t>(key[i]) : 0);
  }
  return number;
}

// The ends of the files, in the comparator's order; about so many of them at most.
std::vector<std::string> Boundaries(const Tree& tree) {
  std::vector<std::string> keys;
  for (const TreeFile* file : tree.files()) {
    keys.push_back(file->smallest);
    keys.push_back(file->largest);
  }
  const auto before = [&](const std::string& a, const std::string& b) {
    return tree.family.Compare(a, b) < 0;
  };
  std::sort(keys.begin(), keys.end(), before);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  const size_t step = keys.size() / kMostBoundaries + 1;
  std::vector<std::string> some;
  for (size_t i = 0; i < keys.size(); i += step) some.push_back(keys[i]);
  if (!keys.empty() && some.back() != keys.back()) some.push_back(keys.back());
  return some;
}

// The key space, cut into intervals that hold about equally much data: by the ranges of the files,
// and within them by RocksDB's indexes (GetApproximateSizes), so that no data is read.
class KeySpace {
 public:
  KeySpace(const Tree& tree, Random* random) : tree_(tree), random_(random) {
    Random to_split(kKeySpaceSeed);
    const std::vector<std::string> keys = Boundaries(tree);
    std::vector<Interval> found;
    uint64_t bytes = 0;
    for (size_t i = 1; i < keys.size(); i++) {
      found.push_back(IntervalOf(keys[i - 1], keys[i]));
      bytes += found.back().bytes;
    }
    for (Interval& interval : found) Split(std::move(interval), bytes / kIntervals, &to_split);
    double sum = 0;
    for (const Interval& interval : intervals_) {
      bytes_up_to_.push_back(sum += static_cast<double>(interval.bytes));
    }
  }

  bool empty() const { return intervals_.empty(); }

  // Every piece of data is about as likely to be near. REQUIRES: !empty().
  std::string RandomPlace() const {
    const double at = std::uniform_real_distribution<double>(0, bytes_up_to_.back())(*random_);
    const auto found = std::upper_bound(bytes_up_to_.begin(), bytes_up_to_.end() - 1, at);
    const Interval& interval = intervals_[static_cast<size_t>(found - bytes_up_to_.begin())];
    return KeyBetween(interval.low, interval.high, random_);
  }

 private:
  struct Interval {
    std::string low, high;
    uint64_t bytes = 0;
  };

  Interval IntervalOf(const std::string& low, const std::string& high) const {
    rocksdb::SizeApproximationOptions options;
    options.include_memtables = false;
    options.include_files = true;
    const rocksdb::Range range(low, high);
    uint64_t bytes = 0;
    const Status status =
        tree_.database->db()->GetApproximateSizes(options, tree_.handle(), &range, 1, &bytes);
    return {low, high, status.ok() ? bytes : 0};
  }

  void Split(Interval interval, uint64_t enough, Random* random) {
    std::vector<Interval> todo = {std::move(interval)};
    while (!todo.empty()) {
      Interval now = std::move(todo.back());
      todo.pop_back();
      if (now.bytes == 0) continue;
      const std::string middle = KeyBetween(now.low, now.high, random);
      const bool can_split = middle != now.low && middle != now.high;
      if (now.bytes > enough && can_split && splits_ < kMostSplits) {
        splits_++;
        Interval low = IntervalOf(now.low, middle), high = IntervalOf(middle, now.high);
        // All in one data block: RocksDB's index tells no more.
        const bool one_block = low.bytes == 0 || high.bytes == 0;
        if (!one_block || now.bytes >= 2 * enough + (1 << 16)) {
          todo.push_back(std::move(low));
          todo.push_back(std::move(high));
          continue;
        }
      }
      intervals_.push_back(std::move(now));
    }
  }

  const Tree& tree_;
  Random* const random_;
  uint64_t splits_ = 0;
  std::vector<Interval> intervals_;
  std::vector<double> bytes_up_to_;  // of the intervals so far, for drawing one
};

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

// Adds to a key as a number, of its last eight bytes, the first one most significant. False, and
// the key is as it was, if there is no such key of its length.
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

class RangeMaker {
 public:
  explicit RangeMaker(const Tree& tree) : keys_(tree) {}

  Status Make(const Tree& tree, uint64_t count, Progress* progress,
              std::vector<EmptyRanges>* made) {
    const uint64_t places = std::min({kMostPlaces, count, std::max<uint64_t>(1, tree.entries())});
    const uint64_t all_pairs = std::min(tree.entries(), places * kPairsOfAPlace);
    const uint64_t per_pair = std::max<uint64_t>(1, count / std::max<uint64_t>(1, all_pairs));
    progress->Begin("making empty ranges for column family " + tree.family.name, places);
    Status status;
    const auto take = [&](uint64_t pairs) {
      std::string key = keys_->Valid() ? keys_->key().ToString() : "";
      pairs = std::max(pairs, kPairsOfAPlace);
      for (uint64_t i = 0; i < pairs && keys_->Valid() && status.ok(); i++) {
        keys_->Next();
        if (!keys_->Valid()) return;
        std::string next = keys_->key().ToString();
        for (EmptyRanges& kind : *made) {
          if (!kind.is_prefix) AddBetween(key, next, kind.length, i, per_pair, &kind.ranges);
        }
        const bool is_new_place = i == 0 || pairs > kPairsOfAPlace;
        if (is_new_place) before_.push_back(key);
        key = std::move(next);
        if (is_new_place) status = Advanced(progress);
      }
    };
    const Status visited = VisitPlaces(tree, places, keys_.get(), &random_, take);
    if (!visited.ok() || !status.ok()) return visited.ok() ? status : visited;
    for (EmptyRanges& kind : *made) {
      if (!kind.is_prefix) continue;
      progress->Begin("looking for absent prefixes in column family " + tree.family.name,
                      before_.size());
      for (const std::string& key : before_) {
        AddPrefix(key, kind.length, &kind.ranges);
        status = Advanced(progress);
        if (!status.ok()) return status;
      }
    }
    for (EmptyRanges& kind : *made) RemoveEqual(&kind.ranges);
    return keys_->status();
  }

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
      if (!AddToKey(1, &range.begin)) return;
      range.end = range.begin;
      if (!AddToKey(1, &range.end)) return;
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

size_t CommonBytes(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                             a.begin());
}

std::string KeyBetween(std::string_view low, std::string_view high, Random* random) {
  if (high < low) std::swap(low, high);  // a comparator that orders backwards
  const size_t common = CommonBytes(low, high);
  const uint64_t from = EightBytes(low, common), to = EightBytes(high, common);
  if (to - from < 2) return std::string(low);
  const uint64_t between = std::uniform_int_distribution<uint64_t>(from + 1, to - 1)(*random);
  std::string key(low.substr(0, common));
  for (int shift = 56; shift >= 0; shift -= 8) key += static_cast<char>(between >> shift);
  return key;
}

AllKeys::AllKeys(const Tree& tree)
    : latest_(tree.family.comparator->timestamp_size(), '\xFF'), timestamp_(latest_) {
  rocksdb::ReadOptions read;
  read.total_order_seek = true;
  read.fill_cache = false;
  if (!latest_.empty()) read.timestamp = &timestamp_;
  keys_.reset(tree.database->db()->NewIterator(read, tree.handle()));
}

Status VisitPlaces(const Tree& tree, uint64_t count, rocksdb::Iterator* keys, Random* random,
                   const std::function<void(uint64_t pairs)>& take) {
  const KeySpace space(tree, random);
  if (tree.entries() <= count || space.empty()) {
    keys->SeekToFirst();
    take(count);
    return keys->status();
  }
  for (uint64_t i = 0; i < count && keys->status().ok(); i++) {
    keys->Seek(space.RandomPlace());
    for (int steps = static_cast<int>((*random)() % kMostSteps); steps > 0 && keys->Valid();
         steps--) {
      keys->Next();
    }
    if (!keys->Valid()) keys->SeekToLast();
    take(1);
  }
  return keys->status();
}

Status MakeEmptyRanges(const Tree& tree, const std::vector<uint64_t>& lengths, uint64_t count,
                       Progress* progress, std::vector<EmptyRanges>* made) {
  std::set<uint64_t> prefixes;
  for (const TreeFile* file : tree.files()) {
    prefixes.insert(file->filter.prefix_lengths.begin(), file->filter.prefix_lengths.end());
  }
  for (const uint64_t length : lengths) made->push_back({/*is_prefix=*/false, length, {}});
  for (const uint64_t length : prefixes) made->push_back({/*is_prefix=*/true, length, {}});
  return RangeMaker(tree).Make(tree, count, progress, made);
}

}  // namespace rocksieve
