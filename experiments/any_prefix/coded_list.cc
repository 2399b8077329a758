// SPDX-License-Identifier: Apache-2.0
// The keys themselves, as a sorted list: what each shares with the one before, and its other
// characters by a static model of contexts and an arithmetic coder. As far as two keys can be told
// apart they are there; what comes behind is cut after some bits, as many as the budget affords.
// So answers are exact up to the cut, "may" behind it, for prefixes of any length and for ranges.
//
// The list is read in blocks of 32 keys. The shortest strings that tell two neighbouring blocks
// apart are a list of the same kind, of which every 32nd is kept as it is: two blocks are decoded
// for a query.
//
// Sources: front coding as in sorted dictionaries; shortest separators as in R. Bayer, K.
// Unterauer, "Prefix B-trees", 1977.
#include <algorithm>
#include <cmath>
#include <limits>

#include "experiments/any_prefix/context_model.h"
#include "experiments/any_prefix/prefix_filter.h"
#include "experiments/any_prefix/range_coder.h"

namespace rocksieve::experiments {
namespace {

constexpr size_t kBlock = 32;
constexpr size_t kLongest = 256;
constexpr double kExact = std::numeric_limits<double>::infinity();
// A separator kept as it is: its bytes, its length, and where its block begins.
constexpr uint64_t kBitsPerPointer = 8 + 32;

// Numbers, as differences from what a string shares with the one before.
class NumberModel {
 public:
  NumberModel() = default;
  // REQUIRES: as many `shared` as numbers, or more.
  NumberModel(const std::vector<size_t>& shared, const std::vector<size_t>& numbers) {
    std::unordered_map<Symbol, uint64_t> counts[kClasses];
    for (size_t i = 0; i < numbers.size(); i++) {
      counts[ClassOf(shared[i])][SymbolOf(shared[i], numbers[i])]++;
    }
    for (size_t i = 0; i < kClasses; i++) {
      if (counts[i].empty()) counts[i][SymbolOf(0, 0)] = 1;
      of_class_.emplace_back(counts[i]);
      size_bits_ += 8 + of_class_.back().symbols() * (9 + Distribution::kBitsPerFrequency);
    }
  }

  void Put(size_t shared, size_t number, RangeEncoder* encoder) const {
    encoder->Put(of_class_[ClassOf(shared)].PartOf(SymbolOf(shared, number)));
  }
  size_t Get(size_t shared, RangeDecoder* decoder) const {
    Distribution::Part part;
    return decoder->Get(of_class_[ClassOf(shared)], &part) + shared - kLongest;
  }
  uint64_t size_bits() const { return size_bits_; }

 private:
  static constexpr size_t kClasses = 20;
  static Symbol SymbolOf(size_t shared, size_t number) {
    return static_cast<Symbol>(number + kLongest - shared);
  }
  static size_t ClassOf(size_t shared) {
    return shared < 12 ? shared : std::min(kClasses - 1, 12 + (shared - 12) / 8);
  }

  std::vector<Distribution> of_class_;
  uint64_t size_bits_ = 0;
};

// How many bytes of a string are to be told, and then no more than so many bits.
struct Cut {
  size_t depth = kLongest;  // no string is longer
  double bits = kExact;
};

class StringList {
 public:
  StringList() = default;
  // Strings that are equal when cut to its depth count once.
  StringList(const SortedKeys& sorted, Cut cut, const ContextModel* model)
      : cut_(cut), model_(model) {
    std::vector<std::string_view> strings;
    std::vector<size_t> shared;
    for (const std::string& string : sorted) {
      const std::string_view told = std::string_view(string).substr(0, cut.depth);
      const size_t common = strings.empty() ? 0 : CommonBytes(strings.back(), told);
      if (!strings.empty() && common == told.size()) continue;
      shared.push_back(common);
      strings.push_back(told);
    }
    size_ = strings.size();
    Encode(strings, &shared);
  }

  // Of beginnings of strings that the model knows, which end where none of these does: with their
  // lengths instead of ends.
  static StringList OfBeginnings(const SortedKeys& sorted, const ContextModel* model) {
    StringList list;
    list.model_ = model;
    list.size_ = sorted.size();
    list.with_lengths_ = true;
    std::vector<size_t> shared, lengths;
    for (size_t i = 0; i < sorted.size(); i++) {
      shared.push_back(i == 0 ? 0 : CommonBytes(sorted[i - 1], sorted[i]));
      lengths.push_back(sorted[i].size());
    }
    list.length_model_ = NumberModel(shared, lengths);
    list.Encode({sorted.begin(), sorted.end()}, &shared);
    return list;
  }

  // What tells block b from the one before.
  const SortedKeys& separators() const { return separators_; }
  uint64_t size_bits() const {
    uint64_t largest = 1, least = ~uint64_t{0};
    for (size_t i = 0; i + 1 < begins_.size(); i++) {
      largest = std::max<uint64_t>(largest, begins_[i + 1] - begins_[i]);
      least = std::min<uint64_t>(least, begins_[i + 1] - begins_[i]);
    }
    // Lengths of blocks, as far as they differ; sums of 32 of them are with the separators kept.
    const auto entry_bits =
        static_cast<uint64_t>(std::ceil(std::log2(static_cast<double>(largest - least) + 1)));
    return 8 * bytes_.size() + (begins_.size() - 1) * entry_bits + shared_model_.size_bits() +
           length_model_.size_bits();
  }

  // Calls see(string, all) for each string of a block in order, until it returns true; `all` if
  // the whole string is known. Whether it did.
  template <typename See>
  bool Scan(size_t block, std::string_view separator, See see) const {
    RangeDecoder decoder(reinterpret_cast<const uint8_t*>(bytes_.data()) + begins_[block]);
    std::string text(separator);
    size_t shared = separator.empty() ? 0 : separator.size() - 1;
    const size_t count = std::min(kBlock, size_ - block * kBlock);
    for (size_t i = 0; i < count; i++) {
      const size_t next = shared_model_.Get(shared, &decoder);
      const size_t length = with_lengths_ ? length_model_.Get(shared, &decoder) : kLongest;
      Telling telling(*this, std::max(shared, next) + 1, length);
      while (telling.GoesOn(text.size())) {
        Distribution::Part part;
        const Symbol symbol = decoder.Get(model_->After(text, text.size()), &part);
        if (telling.Ends(symbol, text.size(), part)) break;
        text.push_back(static_cast<char>(symbol - 1));
      }
      if (see(text, telling.all())) return true;
      text.resize(std::min(text.size(), next));
      shared = next;
    }
    return false;
  }

 private:
  // How far a string is told: encoder and decoder see the same.
  class Telling {
   public:
    Telling(const StringList& list, size_t told, size_t length)
        : list_(list), told_(told), length_(length), all_(list.with_lengths_) {}
    bool GoesOn(size_t at) const {
      if (list_.with_lengths_) return at < length_;
      return at < list_.cut_.depth && (at < told_ || bits_ < list_.cut_.bits);
    }
    bool Ends(Symbol symbol, size_t at, Distribution::Part part) {
      if (symbol == kEndSymbol) return all_ = true;
      if (at >= told_) bits_ += part.bits();
      return false;
    }
    bool all() const { return all_; }

   private:
    const StringList& list_;
    const size_t told_, length_;
    double bits_ = 0;
    bool all_;
  };

  void Encode(const std::vector<std::string_view>& strings, std::vector<size_t>* shared) {
    shared->push_back(0);
    shared_model_ = NumberModel(*shared, {shared->begin() + 1, shared->end()});
    RangeEncoder encoder;
    for (size_t i = 0; i < strings.size(); i++) {
      const size_t common = (*shared)[i], next = (*shared)[i + 1];
      size_t at = common;
      if (i % kBlock == 0) {
        if (i > 0) bytes_ += encoder.Finish();
        begins_.push_back(bytes_.size());
        separators_.emplace_back(strings[i].substr(0, i == 0 ? 0 : common + 1));
        at = separators_.back().size();
      }
      shared_model_.Put(common, next, &encoder);
      if (with_lengths_) length_model_.Put(common, strings[i].size(), &encoder);
      Telling telling(*this, std::max(common, next) + 1, strings[i].size());
      for (; telling.GoesOn(at); at++) {
        const Symbol symbol = SymbolAt(strings[i], at);
        const Distribution::Part part = model_->After(strings[i], at).PartOf(symbol);
        encoder.Put(part);
        if (telling.Ends(symbol, at, part)) break;
      }
    }
    bytes_ += encoder.Finish();
    begins_.push_back(bytes_.size());
    bytes_.append(8, '\0');  // that may be read
  }

  Cut cut_;
  const ContextModel* model_ = nullptr;
  size_t size_ = 0;
  bool with_lengths_ = false;
  NumberModel shared_model_, length_model_;
  std::string bytes_;
  std::vector<size_t> begins_;
  SortedKeys separators_;  // of the blocks; kept by the next list, or as they are
};

class CodedList : public PrefixFilter {
 public:
  CodedList(const SortedKeys& keys, double bits_per_key)
      : model_(ContextModel::Within(
            keys, 1, kModelShare * bits_per_key * static_cast<double>(keys.size()))) {
    const double budget = bits_per_key * static_cast<double>(keys.size());
    if (SizeOf(keys, Cut()) <= budget) return;
    if (SizeOf(keys, {kLongest, 0}) > budget) {
      // It is too large even without what comes behind: cut all at one depth.
      size_t low = 1, high = kLongest;
      while (low + 1 < high) {
        const size_t middle = (low + high) / 2;
        (SizeOf(keys, {middle, 0}) <= budget ? low : high) = middle;
      }
      SizeOf(keys, {low, 0});
      return;
    }
    const std::vector<std::vector<float>> tails = TailsOf(keys);
    double left = budget - static_cast<double>(size_bits_);
    double bits = 0;
    for (int attempt = 0; attempt < 5; attempt++) {
      bits = CutFor(tails, left);
      const double over = SizeOf(keys, {kLongest, bits}) - budget;
      if (over <= 0 && over > -0.003 * budget) return;
      left -= over + 0.001 * budget;
    }
    while (bits > 0 && SizeOf(keys, {kLongest, bits}) > budget)
      bits = std::max(0.0, bits * 0.98 - 0.1);
  }

  bool MayHavePrefix(std::string_view prefix) const override {
    const std::string end = EndOfPrefix(prefix);
    return MayHave(prefix, [&](const std::string& text) { return end.empty() || text < end; });
  }
  bool MayHaveRange(std::string_view begin, std::string_view end) const override {
    return MayHave(begin, [&](const std::string& text) { return text < end; });
  }
  uint64_t size_bits() const override { return size_bits_; }

 private:
  // Of each key, the bits of the characters that need not be told.
  std::vector<std::vector<float>> TailsOf(const SortedKeys& keys) const {
    std::vector<std::vector<float>> tails(keys.size());
    size_t shared = 0;
    for (size_t i = 0; i < keys.size(); i++) {
      const size_t next = i + 1 < keys.size() ? CommonBytes(keys[i], keys[i + 1]) : 0;
      for (size_t at = std::max(shared, next) + 1; at <= keys[i].size(); at++) {
        const auto part = model_.After(keys[i], at).PartOf(SymbolAt(keys[i], at));
        tails[i].push_back(static_cast<float>(part.bits()));
      }
      shared = next;
    }
    return tails;
  }

  // How many bits each tail may have before it is cut, so that all together have so many.
  static double CutFor(const std::vector<std::vector<float>>& tails, double all) {
    double low = 0, high = 512;
    for (int step = 0; step < 20; step++) {
      const double middle = (low + high) / 2;
      double sum = 0;
      for (const std::vector<float>& tail : tails) {
        double bits = 0;
        for (size_t i = 0; i < tail.size() && bits < middle; i++) bits += tail[i];
        sum += bits;
      }
      (sum <= all ? low : high) = middle;
    }
    return low;
  }

  // Builds the lists anew, and says what they take.
  double SizeOf(const SortedKeys& keys, Cut cut) {
    keys_ = StringList(keys, cut, &model_);
    index_ = StringList::OfBeginnings(keys_.separators(), &model_);
    double bits = static_cast<double>(model_.size_bits() + keys_.size_bits() + index_.size_bits());
    for (const std::string& separator : index_.separators()) {
      bits += static_cast<double>(kBitsPerPointer + 8 * separator.size());
    }
    size_bits_ = static_cast<uint64_t>(bits);
    return bits;
  }

  // Is a string at or above `begin` of which `below_end` is true, or one cut at a beginning of it?
  template <typename BelowEnd>
  bool MayHave(std::string_view begin, BelowEnd below_end) const {
    const SortedKeys& tops = index_.separators();
    const auto after = std::upper_bound(tops.begin(), tops.end(), begin);
    if (after != tops.end() && below_end(*after)) return true;
    // The last separator that is not above `begin`; the first one is "". If all of its block are
    // above, though what was kept of their first is not, it is the last of the block before.
    size_t block = 0;
    std::string separator;
    bool found = false;
    for (auto top = static_cast<size_t>(after - tops.begin()); !found && top-- > 0;) {
      block = top * kBlock;
      bool next_is_in = false;
      index_.Scan(top, tops[top], [&](const std::string& text, bool) {
        if (text > begin) return next_is_in = below_end(text), true;
        if (found) block++;
        found = true;
        separator = text;
        return false;
      });
      if (next_is_in) return true;
    }
    bool may = false;
    keys_.Scan(block, separator, [&](const std::string& text, bool all) {
      if (text < begin && (all || begin.substr(0, text.size()) != text)) return false;
      may = text < begin || below_end(text);
      return true;
    });
    return may;
  }

  ContextModel model_;
  StringList keys_, index_;
  uint64_t size_bits_ = 0;
};

}  // namespace

std::unique_ptr<PrefixFilter> BuildCodedList(const SortedKeys& keys, double bits_per_key) {
  return std::make_unique<CodedList>(keys, bits_per_key);
}

}  // namespace rocksieve::experiments
