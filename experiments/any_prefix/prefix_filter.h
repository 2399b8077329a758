// SPDX-License-Identifier: Apache-2.0
// The candidates of the experiment "any_prefix": filters that are asked whether any key begins with
// a string, of whatever length.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rocksieve::experiments {

class PrefixFilter {
 public:
  virtual ~PrefixFilter() = default;

  // False only if no key begins with it. REQUIRES: not empty.
  virtual bool MayHavePrefix(std::string_view prefix) const = 0;

  // False only if no key lies in [begin, end). Those that do not know the order say so always.
  virtual bool MayHaveRange(std::string_view /*begin*/, std::string_view /*end*/) const {
    return true;
  }

  // All that it takes, models and directories included.
  virtual uint64_t size_bits() const = 0;
};

// Distinct, not empty, in bytewise order; at most 255 bytes each. They need not outlive the filter.
using SortedKeys = std::vector<std::string>;

// The share of its bits that a filter gives to a model of its keys at most.
inline constexpr double kModelShare = 0.2;

struct PrefixCandidate {
  const char* name;
  bool any_range;  // it answers for ranges that are no prefixes, too
  std::unique_ptr<PrefixFilter> (*build)(const SortedKeys& keys, double bits_per_key);
};

// Each in a file of its name.
std::unique_ptr<PrefixFilter> BuildRangeFamily(const SortedKeys& keys, double bits_per_key);
std::unique_ptr<PrefixFilter> BuildEveryPrefix(const SortedKeys& keys, double bits_per_key);
std::unique_ptr<PrefixFilter> BuildWeightedPrefixes(const SortedKeys& keys, double bits_per_key);
std::unique_ptr<PrefixFilter> BuildPatriciaTrie(const SortedKeys& keys, double bits_per_key);
std::unique_ptr<PrefixFilter> BuildWeakPrefixSearch(const SortedKeys& keys, double bits_per_key);
std::unique_ptr<PrefixFilter> BuildOrderedCode(const SortedKeys& keys, double bits_per_key);
std::unique_ptr<PrefixFilter> BuildCodedList(const SortedKeys& keys, double bits_per_key);

// The least string above all that begin with `prefix`; "" if there is none.
std::string EndOfPrefix(std::string_view prefix);

}  // namespace rocksieve::experiments
