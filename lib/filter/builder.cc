// SPDX-License-Identifier: Apache-2.0
// Builds blocks of any family.
#include "lib/filter/builder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <stdexcept>
#include <utility>

#include "lib/filter/family.h"
#include "lib/filter/spec.h"
#include "lib/format/block.h"

namespace rocksieve {
namespace {

uint64_t FreshSalt(const FilterSpec& spec) {
  if (!spec.salted) return kDefaultSalt;
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

const FilterSpec& Valid(const FilterSpec& spec) {
  const std::string error = SpecError(spec);
  if (!error.empty()) throw std::invalid_argument(error);
  return spec;
}

uint64_t Checksum(const HashList& hashes) {
  uint64_t checksum = 0;
  hashes.ForEach([&](uint64_t hash) { checksum ^= hash; });
  return checksum;
}

FrameVersion FrameVersionOf(const FilterSpec& spec, uint64_t keys) {
  return FrameVersionFor(*FindFamily(spec.family), keys);
}

// What the spec allows the filter, times `factor`.
Budget BudgetOf(const FilterSpec& spec, FrameVersion version, double factor = 1) {
  Budget budget;
  budget.is_rate = spec.unit == FilterSpec::Unit::kFalsePositiveRate;
  budget.amount = spec.amount;
  budget.factor = factor;
  budget.frame_bits = 8.0 * static_cast<double>(FrameBytesWithoutRange(version, spec.salted));
  budget.thorough = spec.thorough;
  budget.fast = spec.fast;
  budget.compact = version == FrameVersion::kCompact;
  return budget;
}

// The payload of a block that got `factor` times the memory of its spec; a few blocks have more.
double FittingPayloadBytes(const FilterSpec& spec, size_t keys, double factor) {
  const FamilyEntry& family = *FindFamily(spec.family);
  const Budget budget = BudgetOf(spec, FrameVersionOf(spec, keys), factor);
  return family.most_size_factor * family.expected_payload_bits(keys, budget) / 8;
}

// See BlockBuilder::FactorWithin().
double FactorFor(const FilterSpec& spec, size_t keys, size_t frame_bytes, size_t block_bytes) {
  auto fits = [&](double factor) {
    return static_cast<double>(frame_bytes) + FittingPayloadBytes(spec, keys, factor) <=
           static_cast<double>(block_bytes);
  };
  double fitting = 0.5, too_large = 2;
  for (int step = 0; step < 16; step++) {
    const double middle = (fitting + too_large) / 2;
    (fits(middle) ? fitting : too_large) = middle;
  }
  return fitting;
}

// `build(head_room, tail_room)` makes the payload.
template <typename Build>
FilterBlock BuildBlock(const FilterSpec& spec, FrameVersion version, uint64_t keys, uint64_t salt,
                       const KeyRange& range, Build build) {
  const FamilyEntry& family = *FindFamily(spec.family);
  FilterBlockInfo info;
  info.family = spec.family;
  info.key_count = keys;
  info.salted = spec.salted;
  info.salt = salt;
  // The full frame is the larger one.
  const size_t most_frame_bytes = FrameBytes(FrameVersion::kFull, spec.salted, range);
  const size_t head_room = HeaderBytes(version);
  Payload payload = build(head_room, most_frame_bytes - head_room);
  info.parameter = payload.parameter;
  if (FrameBytes(version, spec.salted, range) + payload.size < kLeastBlockBytes) {
    // Of many keys, but hardly any different ones.
    version = FrameVersion::kFull;
    std::memmove(payload.data.get() + HeaderBytes(version), payload.data.get() + head_room,
                 payload.size);
  }
  info.payload = {payload.data.get() + HeaderBytes(version), payload.size};
  FilterBlock block;
  block.saturated_fraction = family.saturated_fraction(info);
  block.size = SealBlock(version, info, range, payload.data.get());
  block.data = std::move(payload.data);
  return block;
}

FilterBlock BuildBlockOfHashes(const FilterSpec& spec, FrameVersion version, double factor,
                               HashList hashes, uint64_t salt, const KeyRange& range) {
  const uint64_t count = hashes.size();
  return BuildBlock(spec, version, count, salt, range, [&](size_t head_room, size_t tail_room) {
    return FindFamily(spec.family)
        ->build(std::move(hashes), BudgetOf(spec, version, factor), head_room, tail_room);
  });
}

bool IsKeyed(const FilterSpec& spec) { return FindFamily(spec.family)->build_of_keys != nullptr; }

}  // namespace

BlockBuilder::BlockBuilder(const FilterSpec& spec)
    : spec_(Valid(spec)), salt_(FreshSalt(spec)), hasher_(salt_), is_keyed_(IsKeyed(spec)) {}

void BlockBuilder::SetSpec(const FilterSpec& spec) {
  if (Valid(spec).salted != spec_.salted) {
    throw std::invalid_argument("a builder cannot change whether its filters are salted, from " +
                                spec_.ToString() + " to " + spec.ToString());
  }
  if (IsKeyed(spec) && !is_keyed_) {
    throw std::invalid_argument("a builder of hashes has no keys to build of, from " +
                                spec_.ToString() + " to " + spec.ToString());
  }
  spec_ = spec;
}

void BlockBuilder::AddToKeys(std::string_view key) {
  range_.Cover(key);
  const uint64_t before = keys_.size();
  keys_.Add(key);
  if (keep_for_verification_ && keys_.size() > before) {
    checksum_ ^= HashKey(key, salt_);
    if (before == 0) finished_keys_.Clear();
  }
}

void BlockBuilder::AddKeyAndAlt(std::string_view key, std::string_view alt) {
  if (is_keyed_) {
    AddToKeys(alt);
    AddToKeys(key);
    return;
  }
  const uint64_t hash = HashKey(key, salt_), alt_hash = HashKey(alt, salt_);
  range_.Cover(alt);
  range_.Cover(key);
  std::optional<uint64_t> last_key;
  if (!hashes_.empty()) last_key = hashes_.back();
  const std::optional<uint64_t> last_alt = std::exchange(last_alt_, alt_hash);
  // The key comes second, to be found at the end of the list by the next call.
  if (alt_hash != last_alt && alt_hash != last_key && alt_hash != hash) AddHash(alt_hash);
  if (hash != last_key && hash != last_alt) AddHash(hash);
}

void BlockBuilder::KeepForVerification(uint64_t hash) {
  checksum_ ^= hash;
  if (hashes_.empty()) finished_hashes_.clear();
}

FilterBlock BlockBuilder::BuildOfKeys(double budget_factor) {
  if (keys_.size() == 0) {
    return BuildBlockOfHashes(spec_, FrameVersion::kFull, budget_factor, {}, salt_, range_);
  }
  // Before they are sorted, which drops what was added twice.
  if (keep_for_verification_) finished_keys_ = keys_;
  keys_.Sort();
  request_.options.prefix_lengths = spec_.prefix_lengths;
  request_.options.order_depth = spec_.order_bytes;
  request_.salt = salt_;
  const FrameVersion version = FrameVersionOf(spec_, keys_.size());
  const auto build = [&](size_t head_room, size_t tail_room) {
    const Budget budget = BudgetOf(spec_, version, budget_factor);
    return FindFamily(spec_.family)->build_of_keys(keys_, budget, request_, head_room, tail_room);
  };
  return BuildBlock(spec_, version, keys_.size(), salt_, range_, build);
}

FilterBlock BlockBuilder::BuildOfHashes(double budget_factor) {
  const auto add_keys_to = [this](HashList* hashes) {
    keys_.ForEach([&](std::string_view key, size_t) { hashes->push_back(HashKey(key, salt_)); });
  };
  if (keep_for_verification_) {
    finished_hashes_ = hashes_;
    add_keys_to(&finished_hashes_);  // before they are sorted, which drops what was added twice
  }
  keys_.Sort();
  add_keys_to(&hashes_);
  const FrameVersion version = FrameVersionOf(spec_, hashes_.size());
  return BuildBlockOfHashes(spec_, version, budget_factor, std::move(hashes_), salt_, range_);
}

void BlockBuilder::StartAfresh() {
  keys_.Clear();
  finished_checksum_ = std::exchange(checksum_, 0);
  hashes_ = HashList();
  last_alt_.reset();
  range_ = KeyRange();
  salt_ = FreshSalt(spec_);
  hasher_ = KeyHasher(salt_);
}

FilterBlock BlockBuilder::Finish(double budget_factor) {
  finished_keyed_ = IsKeyed(spec_);
  finished_salt_ = salt_;
  FilterBlock block;
  try {
    block = finished_keyed_ ? BuildOfKeys(budget_factor) : BuildOfHashes(budget_factor);
  } catch (...) {
    StartAfresh();  // the hashes may be gone
    throw;
  }
  StartAfresh();
  return block;
}

std::string BlockBuilder::VerifyKeys(std::string_view block) const {
  const OpenedFilter opened = OpenFilter(block);
  if (opened.filter == nullptr) return "the filter block is not what was built";
  uint64_t checksum = 0;
  bool has_all = true;
  std::string end;
  finished_keys_.ForEach([&](std::string_view key, size_t) {
    checksum ^= HashKey(key, finished_salt_);
    end.assign(key).push_back('\0');
    has_all = has_all && opened.filter->MayContain(key) && opened.filter->MayContainRange(key, end);
  });
  if (checksum != finished_checksum_) {
    return "the keys changed in memory while the filter was built";
  }
  return has_all ? "" : "the filter block misses a key";
}

std::string BlockBuilder::Verify(std::string_view block) const {
  if (finished_keyed_) return VerifyKeys(block);
  if (Checksum(finished_hashes_) != finished_checksum_) {
    return "the keys' hashes changed in memory while the filter was built";
  }
  const OpenedFilter opened = OpenFilter(block);
  if (opened.filter == nullptr) return "the filter block is not what was built";
  bool has_all = true;
  finished_hashes_.ForEach(
      [&](uint64_t hash) { has_all = has_all && opened.filter->MayContainHash(hash); });
  return has_all ? "" : "the filter block misses a key";
}

size_t BlockBuilder::FittingBlockBytes() const {
  return FrameBytes(FrameVersionOf(spec_, key_count()), spec_.salted, range_) +
         static_cast<size_t>(std::ceil(FittingPayloadBytes(spec_, key_count(), 1)));
}

double BlockBuilder::FactorWithin(size_t block_bytes) const {
  const FrameVersion version = FrameVersionOf(spec_, key_count());
  return FactorFor(spec_, key_count(), FrameBytes(version, spec_.salted, range_), block_bytes);
}

size_t EstimateBlockBytes(const FilterSpec& spec, size_t keys) {
  const FrameVersion version = FrameVersionOf(spec, keys);
  const double bits = FindFamily(spec.family)->expected_payload_bits(keys, BudgetOf(spec, version));
  return FrameBytesWithoutRange(version, spec.salted) + static_cast<size_t>(bits / 8 + 1);
}

size_t MostBlockBytes(const FilterSpec& spec, size_t keys) {
  const FamilyEntry& family = *FindFamily(spec.family);
  const Budget budget = BudgetOf(spec, FrameVersionOf(spec, keys));
  const double expected = family.expected_payload_bits(keys, budget) / 8;
  const double part_share = std::min(1.0, family.part_keys / static_cast<double>(keys + 1));
  // What is constant is for filters of a few keys.
  const double growth = family.most_part_growth * (part_share * expected + 128) + 16;
  return FrameBytesWithoutRange(FrameVersion::kFull, spec.salted) + 2 * kMaxRangeKeyBytes +
         static_cast<size_t>(1.01 * family.most_size_factor * expected + growth);
}

double EstimateRate(const FilterSpec& spec, size_t keys, size_t block_bytes) {
  const FrameVersion version = FrameVersionOf(spec, keys);
  const size_t frame_bytes = FrameBytesWithoutRange(version, spec.salted);
  const double factor = FactorFor(spec, keys, frame_bytes, block_bytes);
  return FindFamily(spec.family)->expected_rate(keys, BudgetOf(spec, version, factor));
}

size_t EstimateKeyCount(const FilterSpec& spec, size_t block_bytes) {
  size_t fits = 0;
  size_t too_many = 16 * block_bytes + 2;  // no family serves as little as half a bit per key
  while (too_many - fits > 1) {
    const size_t middle = fits + (too_many - fits) / 2;
    (EstimateBlockBytes(spec, middle) <= block_bytes ? fits : too_many) = middle;
  }
  return fits;
}

FilterBlock BuildFilterOfHashes(const FilterSpec& spec, HashList hashes) {
  // A peer may be of a release that reads this frame alone, and needs the filter.
  return BuildBlockOfHashes(spec, FrameVersion::kFull, 1, std::move(hashes), kDefaultSalt,
                            KeyRange());
}

struct FilterBuilder::State {
  BlockBuilder builder;
};

FilterBuilder::FilterBuilder(const FilterSpec& spec)
    : spec_(spec), state_(new State{BlockBuilder(spec)}) {}
FilterBuilder::~FilterBuilder() = default;
void FilterBuilder::AddKey(std::string_view key) { state_->builder.AddKey(key); }
size_t FilterBuilder::key_count() const { return state_->builder.key_count(); }
FilterBlock FilterBuilder::Finish() { return state_->builder.Finish(); }

double ExpectedFalsePositiveRate(const FilterSpec& spec, uint64_t keys) {
  return FindFamily(spec.family)->expected_rate(keys, BudgetOf(spec, FrameVersionOf(spec, keys)));
}

}  // namespace rocksieve
