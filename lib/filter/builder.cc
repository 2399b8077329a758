// Builds blocks of any family.
#include <random>
#include <stdexcept>
#include <utility>

#include <rocksieve/filter.h>

#include "lib/filter/build_block.h"
#include "lib/filter/family.h"
#include "lib/filter/spec_text.h"
#include "lib/format/block.h"
#include "lib/format/key_range.h"
#include "lib/hash/hash_set.h"
#include "lib/hash/key_hash.h"

namespace rocksieve {
namespace {

uint64_t FreshSalt(const FilterSpec& spec) {
  if (!spec.salted) return kDefaultSalt;
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

void ThrowUnlessValid(const FilterSpec& spec) {
  const std::string error = SpecError(spec);
  if (!error.empty()) throw std::invalid_argument(error);
}

uint64_t Checksum(const HashList& hashes) {
  uint64_t checksum = 0;
  for (uint64_t hash : hashes) checksum ^= hash;
  return checksum;
}

}  // namespace

struct FilterBuilder::State {
  uint64_t salt = kDefaultSalt;
  HashList hashes;
  KeyRange range;
  bool keep_for_verification = false;
  // What the hashes add up to as they came in, and those of the last block.
  uint64_t checksum = 0;
  HashList finished_hashes;
  uint64_t finished_checksum = 0;
};

FilterBuilder::FilterBuilder(const FilterSpec& spec)
    : spec_(spec), state_(std::make_unique<State>()) {
  ThrowUnlessValid(spec);
  state_->salt = FreshSalt(spec_);
}

FilterBuilder::~FilterBuilder() = default;

void FilterBuilder::SetSpec(const FilterSpec& spec) {
  ThrowUnlessValid(spec);
  if (spec.salted != spec_.salted) {
    throw std::invalid_argument("a builder cannot change whether its filters are salted, from " +
                                spec_.ToString() + " to " + spec.ToString());
  }
  spec_ = spec;
}

void FilterBuilder::AddKey(std::string_view key) {
  State& state = *state_;
  const uint64_t hash = HashKey(key, state.salt);
  state.range.Cover(key);
  const size_t size = state.hashes.size();
  // Keys come sorted and prefixes repeat, so most duplicates are adjacent.
  if (size != 0 && state.hashes.back() == hash) return;
  state.hashes.push_back(hash);
  if (state.keep_for_verification) {
    state.checksum ^= hash;
    if (size == 0) state.finished_hashes.clear();
  }
}

size_t FilterBuilder::key_count() const { return state_->hashes.size(); }

FilterBlock FilterBuilder::Finish(double budget_factor) {
  State& state = *state_;
  if (state.keep_for_verification) state.finished_hashes = state.hashes;
  FilterBlock block =
      BuildBlock(spec_, budget_factor, std::move(state.hashes), state.salt, state.range);

  state.finished_checksum = std::exchange(state.checksum, 0);
  state.hashes = HashList();
  state.range = KeyRange();
  state.salt = FreshSalt(spec_);
  return block;
}

void FilterBuilder::KeepKeysForVerification() { state_->keep_for_verification = true; }

std::string FilterBuilder::Verify(std::string_view block) const {
  const State& state = *state_;
  if (Checksum(state.finished_hashes) != state.finished_checksum) {
    return "the keys' hashes changed in memory while the filter was built";
  }
  const OpenedFilter opened = OpenFilter(block);
  if (opened.filter == nullptr) return "the filter block is not what was built";
  for (uint64_t hash : state.finished_hashes) {
    if (!opened.filter->MayContainHash(hash)) return "the filter block misses a key";
  }
  return "";
}

double FilterBuilder::FactorWithin(size_t block_bytes) const {
  const FamilyEntry& family = *FindFamily(spec_.family);
  const auto frame = static_cast<double>(FrameBytes(spec_.salted, state_->range));
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

size_t FilterBuilder::EstimateBlockBytes(size_t keys) const {
  const double bits = FindFamily(spec_.family)->expected_payload_bits(keys, BudgetOf(spec_, 1));
  return FrameBytesWithoutRange(spec_.salted) + static_cast<size_t>(bits / 8 + 1);
}

size_t FilterBuilder::EstimateKeyCount(size_t block_bytes) const {
  size_t fits = 0;
  size_t too_many = 16 * block_bytes + 2;  // no family serves as little as half a bit per key
  while (too_many - fits > 1) {
    const size_t middle = fits + (too_many - fits) / 2;
    (EstimateBlockBytes(middle) <= block_bytes ? fits : too_many) = middle;
  }
  return fits;
}

double ExpectedFalsePositiveRate(const FilterSpec& spec, uint64_t keys) {
  return FindFamily(spec.family)->expected_rate(keys, BudgetOf(spec, 1));
}

}  // namespace rocksieve
