// Builds blocks of any family.
#include "lib/filter/builder.h"

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
  for (uint64_t hash : hashes) checksum ^= hash;
  return checksum;
}

// What the spec allows the filter, times `factor`.
Budget BudgetOf(const FilterSpec& spec, double factor = 1) {
  Budget budget;
  budget.is_rate = spec.unit == FilterSpec::Unit::kFalsePositiveRate;
  budget.amount = spec.amount;
  budget.factor = factor;
  budget.frame_bits = 8.0 * static_cast<double>(FrameBytesWithoutRange(spec.salted));
  budget.thorough = spec.thorough;
  return budget;
}

FilterBlock BuildBlock(const FilterSpec& spec, double factor, HashList hashes, uint64_t salt,
                       const KeyRange& range) {
  const FamilyEntry& family = *FindFamily(spec.family);
  FilterBlockInfo info;
  info.family = spec.family;
  info.key_count = hashes.size();
  info.salted = spec.salted;
  info.salt = salt;
  const size_t tail_bytes = FrameBytes(spec.salted, range) - kBlockHeaderBytes;
  Payload payload =
      family.build(std::move(hashes), BudgetOf(spec, factor), kBlockHeaderBytes, tail_bytes);
  info.parameter = payload.parameter;
  info.payload = {payload.data.get() + kBlockHeaderBytes, payload.size};
  FilterBlock block;
  block.saturated_fraction = family.saturated_fraction(info);
  block.size = SealBlock(info, range, payload.data.get());
  block.data = std::move(payload.data);
  return block;
}

}  // namespace

BlockBuilder::BlockBuilder(const FilterSpec& spec) : spec_(Valid(spec)), salt_(FreshSalt(spec)) {}

void BlockBuilder::SetSpec(const FilterSpec& spec) {
  if (Valid(spec).salted != spec_.salted) {
    throw std::invalid_argument("a builder cannot change whether its filters are salted, from " +
                                spec_.ToString() + " to " + spec.ToString());
  }
  spec_ = spec;
}

void BlockBuilder::AddKey(std::string_view key) {
  const uint64_t hash = HashKey(key, salt_);
  range_.Cover(key);
  const size_t size = hashes_.size();
  // Keys come sorted and prefixes repeat, so most duplicates are adjacent.
  if (size != 0 && hashes_.back() == hash) return;
  hashes_.push_back(hash);
  if (keep_for_verification_) {
    checksum_ ^= hash;
    if (size == 0) finished_hashes_.clear();
  }
}

FilterBlock BlockBuilder::Finish(double budget_factor) {
  if (keep_for_verification_) finished_hashes_ = hashes_;
  FilterBlock block = BuildBlock(spec_, budget_factor, std::move(hashes_), salt_, range_);
  finished_checksum_ = std::exchange(checksum_, 0);
  hashes_ = HashList();
  range_ = KeyRange();
  salt_ = FreshSalt(spec_);
  return block;
}

std::string BlockBuilder::Verify(std::string_view block) const {
  if (Checksum(finished_hashes_) != finished_checksum_) {
    return "the keys' hashes changed in memory while the filter was built";
  }
  const OpenedFilter opened = OpenFilter(block);
  if (opened.filter == nullptr) return "the filter block is not what was built";
  for (uint64_t hash : finished_hashes_) {
    if (!opened.filter->MayContainHash(hash)) return "the filter block misses a key";
  }
  return "";
}

double BlockBuilder::FactorWithin(size_t block_bytes) const {
  const FamilyEntry& family = *FindFamily(spec_.family);
  const auto frame = static_cast<double>(FrameBytes(spec_.salted, range_));
  auto fits = [&](double factor) {
    const double bits = family.expected_payload_bits(key_count(), BudgetOf(spec_, factor));
    return frame + family.most_size_factor * bits / 8 <= static_cast<double>(block_bytes);
  };
  double fitting = 0.5, too_large = 2;
  for (int step = 0; step < 16; step++) {
    const double middle = (fitting + too_large) / 2;
    (fits(middle) ? fitting : too_large) = middle;
  }
  return fitting;
}

size_t EstimateBlockBytes(const FilterSpec& spec, size_t keys) {
  const double bits = FindFamily(spec.family)->expected_payload_bits(keys, BudgetOf(spec));
  return FrameBytesWithoutRange(spec.salted) + static_cast<size_t>(bits / 8 + 1);
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
  return BuildBlock(spec, 1, std::move(hashes), kDefaultSalt, KeyRange());
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
  return FindFamily(spec.family)->expected_rate(keys, BudgetOf(spec));
}

}  // namespace rocksieve
