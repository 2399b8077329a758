// SPDX-License-Identifier: Apache-2.0
#include "plugin/probe/probe_tree.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <map>
#include <unordered_set>

#include <rocksdb/version.h>

#include "support/files.h"
#include "support/parallel.h"
#include "support/text.h"

namespace rocksieve {
namespace {

constexpr int kAttempts = 8;

// Evenly distributed indexes below small limits, four from each draw.
class SmallRandom {
 public:
  explicit SmallRandom(Random* random) : random_(random) {}
  size_t Below(size_t limit) {
    if (left_ == 0) {
      bits_ = (*random_)();
      left_ = 4;
    }
    const auto index = static_cast<size_t>(((bits_ & 0xFFFF) * limit) >> 16);
    bits_ >>= 16;
    left_--;
    return index;
  }

 private:
  Random* const random_;
  uint64_t bits_ = 0;
  int left_ = 0;
};

using rocksdb::Status;

constexpr uint64_t kSeed = 20260102;
constexpr uint64_t kMostGaps = 4000;
constexpr int kTries = 4;
constexpr uint64_t kMostBytesOfKeys = 256 << 20;
constexpr uint64_t kEnoughPart = 10;  // a tenth of the keys that are wanted are enough

// Makes keys that look like those of a database. Two things are learned of these: which bytes they
// have at which place (digits stay digits, dashes dashes), and how alike neighbours are: a key of
// UUIDs shares a few bytes with its neighbours, one of "user17/item4" mostly all up to the slash. For
// filters of prefixes that decides whether the prefix of a missing key is there.
class KeyShape {
 public:
  // Three keys that follow each other in the database.
  void Learn(std::string_view before, std::string_view key, std::string_view after) {
    Learn(key);
    const auto [fewer, more] = std::minmax({CommonBytes(before, key), CommonBytes(key, after)});
    more_in_common_[fewer].push_back(more - fewer);
  }

  void Learn(std::string_view key) {
    for (size_t i = 0; i < key.size(); i++) {
      const size_t place = std::min(i, kPlaces);
      const auto byte = static_cast<uint8_t>(key[i]);
      if (seen_at_[place][byte]) continue;
      seen_at_[place][byte] = true;
      bytes_at_[place] += key[i];
    }
  }

  // How many of its first bytes a key between two neighbours might share with one of them, if
  // these two have `common` bytes in common: as it is with the keys learned.
  size_t LikelyCommonBytes(size_t common, Random* random) const {
    if (more_in_common_.empty()) return common;
    auto found = more_in_common_.lower_bound(common);
    if (found == more_in_common_.end()) found--;
    const std::vector<size_t>& more = found->second;
    return common + more[std::uniform_int_distribution<size_t>(0, more.size() - 1)(*random)];
  }

  // A key of the length of `like` that has its first `keep` bytes, others as the keys learned, and
  // lies bytewise between `low` and `high`. Empty if a few attempts give none.
  std::string Variation(std::string_view like, size_t keep, std::string_view low,
                        std::string_view high, Random* random) const {
    SmallRandom small(random);
    std::string key(like.substr(0, keep));
    for (int attempt = 0; attempt < kAttempts; attempt++) {
      key.resize(keep);
      bool on_low = low.substr(0, keep) == key, on_high = high.substr(0, keep) == key, fits = true;
      for (size_t place = keep; place < like.size() && fits; place++) {
        const std::string& bytes = BytesAt(place);
        key += bytes[small.Below(bytes.size())];
        // As far as it is the beginning of an end, the next byte decides.
        const std::string_view byte(&key.back(), 1);
        fits =
            !(on_low && byte < low.substr(place, 1)) && !(on_high && byte > high.substr(place, 1));
        on_low = on_low && byte == low.substr(place, 1);
        on_high = on_high && byte == high.substr(place, 1);
      }
      if (fits) return key;
    }
    return "";
  }

  // The key, and one to eight bytes more.
  std::string Longer(std::string_view key, Random* random) const {
    SmallRandom small(random);
    std::string longer(key);
    for (size_t more = 1 + small.Below(8); more > 0; more--) {
      const std::string& bytes = BytesAt(longer.size());
      longer += bytes[small.Below(bytes.size())];
    }
    return longer;
  }

 private:
  static constexpr size_t kPlaces = 64;  // all further ones are taken together

  const std::string& BytesAt(size_t place) const {
    static const std::string kIfNoneKnown = "0";
    place = std::min(place, kPlaces);
    // Beyond the longest key, as at its end.
    while (place > 0 && bytes_at_[place].empty()) place--;
    return bytes_at_[place].empty() ? kIfNoneKnown : bytes_at_[place];
  }

  // In the order of their first appearance.
  std::array<std::string, kPlaces + 1> bytes_at_;
  std::array<std::bitset<256>, kPlaces + 1> seen_at_;
  // Of keys whose neighbours have n bytes in common: how many more the key has with one of them.
  std::map<size_t, std::vector<size_t>> more_in_common_;
};

// Two neighbours in the database, in its order.
struct Gap {
  std::string low, high;
};

class Maker {
 public:
  explicit Maker(const Tree& tree) : tree_(tree), random_(kSeed) {}

  // Finds neighbours all over the data. Not OK if the data cannot be read.
  Status FindGaps(uint64_t count) {
    if (!tree_.family.comparator_known) {
      return Status::NotSupported("the order of its keys is unknown here");
    }
    const AllKeys keys(tree_);
    return VisitPlaces(tree_, count, keys.get(), &random_,
                       [&](uint64_t pairs) { TakeGaps(keys.get(), pairs); });
  }

  // Without reading keys: between the ends of each file.
  void TakeRangesOfFiles() {
    from_ranges_ = true;
    gaps_.clear();
    for (const TreeFile* file : tree_.files()) {
      Learn(file->smallest);
      Learn(file->largest);
      gaps_.push_back({file->smallest, file->largest});
    }
  }

  Status MakeKeys(uint64_t count, Progress* progress, std::vector<std::string>* keys) {
    uint64_t bytes = 1;
    for (const Gap& gap : gaps_) bytes += std::max(gap.low.size(), gap.high.size());
    const uint64_t mean = bytes / std::max<uint64_t>(gaps_.size(), 1) + 1;
    count = std::min(count, std::max<uint64_t>(kMostBytesOfKeys / mean, 1));
    // Of keys that were not read, all of one length may be there.
    may_be_longer_ = from_ranges_ || least_bytes_ != most_bytes_;
    const Status status = MakeKeysInGaps(count, progress, keys);
    // Nearly all numbers are there: too few keys are left to measure by. To a range filter, which
    // may keep no more of a key than its number, longer ones would be the stored number once more.
    const bool enough = HasRangeFilters() ? !keys->empty() : keys->size() >= count / kEnoughPart;
    if (!status.ok() || enough || may_be_longer_) return status;
    may_be_longer_ = true;
    keys->clear();
    return MakeKeysInGaps(count, progress, keys);
  }

  bool empty() const { return gaps_.empty(); }

 private:
  Status MakeKeysInGaps(uint64_t count, Progress* progress, std::vector<std::string>* keys) {
    std::unordered_set<std::string> seen;
    for (size_t gap = 0; gap < gaps_.size(); gap++) {
      seen.clear();
      gap_is_full_ = false;
      const uint64_t until = count * (gap + 1) / gaps_.size();
      while (keys->size() < until) {
        std::string key = KeyIn(gaps_[gap], &seen);
        const Status status = Advanced(progress);
        if (!status.ok()) return status;
        if (key.empty()) break;
        keys->push_back(std::move(key));
      }
    }
    return Status::OK();
  }

  bool HasRangeFilters() const {
    for (const TreeFile* file : tree_.files()) {
      if (file->filter.answers_ranges) return true;
    }
    return false;
  }

  void Learn(const std::string& key) {
    shape_.Learn(key);
    least_bytes_ = std::min(least_bytes_, key.size());
    most_bytes_ = std::max(most_bytes_, key.size());
  }

  void TakeGaps(rocksdb::Iterator* keys, uint64_t count) {
    std::string before, key;
    for (uint64_t i = 0; i <= count && keys->Valid(); i++) {
      std::string after = keys->key().ToString();
      Learn(after);
      if (i > 0) gaps_.push_back({key, after});
      if (i > 1) shape_.Learn(before, key, after);
      before = std::move(key);
      key = std::move(after);
      keys->Next();
    }
    if (!before.empty() && keys->Valid()) {
      shape_.Learn(before, key, std::string_view(keys->key().data(), keys->key().size()));
    }
  }

  bool IsIn(const Gap& gap, const std::string& key) const {
    return tree_.family.Compare(gap.low, key) < 0 && tree_.family.Compare(key, gap.high) < 0;
  }

  // Empty if nothing was found. `taken` says whether a key is a new one, in the gap.
  template <typename Taken>
  std::string KeyOfSameLength(const Gap& gap, const std::string& low, const std::string& high,
                              const Taken& taken) {
    const size_t common = CommonBytes(low, high);
    for (int i = 0; i < kTries; i++) {
      const std::string& like = random_() % 2 == 0 ? gap.low : gap.high;
      if (like.empty()) continue;
      const size_t keep = std::min(shape_.LikelyCommonBytes(common, &random_), like.size() - 1);
      std::string key = shape_.Variation(like, keep, low, high, &random_);
      if (!key.empty() && taken(key)) return key;
    }
    // Nothing fits so far ahead: as far ahead as possible, in long keys nearly.
    constexpr size_t kSteps = 16;
    const size_t size = std::max(low.size(), high.size());
    for (size_t keep = common; keep < size; keep += 1 + (keep - common) / kSteps) {
      for (const std::string* like : {&gap.low, &gap.high}) {
        if (keep >= like->size()) continue;
        std::string key = shape_.Variation(*like, keep, low, high, &random_);
        if (!key.empty() && taken(key)) return key;
      }
    }
    return "";
  }

  // Empty if nothing was found.
  std::string KeyIn(const Gap& gap, std::unordered_set<std::string>* seen) {
    const auto taken = [&](const std::string& key) {
      return IsIn(gap, key) && seen->insert(key).second;
    };
    const auto [low, high] = std::minmax(gap.low, gap.high);  // orders may be backwards
    std::string alike = gap_is_full_ ? "" : KeyOfSameLength(gap, low, high, taken);
    if (!alike.empty()) return alike;
    gap_is_full_ = true;
    if (!may_be_longer_) return "";
    for (int i = 0; i < kTries; i++) {
      for (const std::string* end : {&gap.low, &gap.high}) {
        std::string key = shape_.Longer(*end, &random_);
        if (taken(key)) return key;
      }
    }
    std::string key = KeyBetween(gap.low, gap.high, &random_);
    return taken(key) ? key : "";
  }

  const Tree& tree_;
  Random random_;
  KeyShape shape_;
  std::vector<Gap> gaps_;
  size_t least_bytes_ = SIZE_MAX, most_bytes_ = 0;  // of the keys learned
  bool from_ranges_ = false, may_be_longer_ = true;
  bool gap_is_full_ = false;  // no more keys of the same length were found in this one
};

}  // namespace

Status MakeMissingKeys(const Tree& tree, uint64_t count, Progress* progress, MissingKeys* missing) {
  *missing = MissingKeys();
  if (tree.levels.empty() || count == 0) return Status::OK();
  progress->Begin("making missing keys for column family " + tree.family.name, count);
  Maker maker(tree);
  const Status found = maker.FindGaps(std::min(kMostGaps, count));
  if (!found.ok() || maker.empty()) {
    missing->from_ranges_only = true;
    missing->why = found.ok() ? "it has fewer than two live keys" : MessageOf(found);
    if (missing->why.find("format_version") != std::string::npos) {
      missing->why += "; RocksDB " + rocksdb::GetRocksVersionAsString() +
                      ", which is in this program, is too old to read it";
    }
    maker.TakeRangesOfFiles();
  }
  return maker.MakeKeys(count, progress, &missing->keys);
}

Status ReadProbeKeys(const std::string& path, bool hex, std::vector<std::string>* keys) {
  LineReader lines(path);
  if (!lines.error().empty()) {
    return Status::InvalidArgument(lines.error() +
                                   "\nName a file of missing keys, one per line, with "
                                   "--probes=FILE.");
  }
  std::string_view line;
  std::string key;
  while (lines.Next(&line)) {
    if (line.empty()) continue;
    if (!hex) {
      keys->emplace_back(line);
    } else if (FromHexBytes(line, &key)) {
      keys->push_back(key);
    } else {
      return Status::InvalidArgument("line " + std::to_string(lines.line_number()) + " of " +
                                     lines.name() + " is no key in hexadecimal digits: \"" +
                                     std::string(line) + "\"");
    }
  }
  if (lines.interrupted()) return Status::Aborted(lines.error());
  if (!lines.error().empty()) return Status::InvalidArgument(lines.error());
  if (keys->empty()) {
    return Status::InvalidArgument(lines.name() +
                                   " holds no keys: it has no line that is not empty");
  }
  return Status::OK();
}

}  // namespace rocksieve
