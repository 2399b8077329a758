// SPDX-License-Identifier: Apache-2.0
#include "lib/join/session/reconciliation.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/join/existing/existing_filters.h"
#include "lib/join/join_key/join_key_source.h"
#include "lib/join/matching/cost_model.h"
#include "lib/join/matching/matching_range.h"
#include "lib/join/matching/value_comparison.h"
#include "lib/join/rows/row_batch.h"
#include "lib/sketch/estimators.h"
#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

// The first keys of a range, front-coded and compressed.
class Sample {
 public:
  void Add(std::string_view key) {
    if (full_) return;
    writer_.Add(key);
    keys_++;
    full_ = writer_.raw_bytes() >= kSampleBytes;
  }
  size_t keys() const { return keys_; }
  double FrontCodedBitsPerKey() const {
    return keys_ == 0 ? 0
                      : 8 * static_cast<double>(writer_.raw_bytes()) / static_cast<double>(keys_);
  }
  double BitsPerKey() {
    std::string packed;
    writer_.Finish(&packed);
    return keys_ == 0 ? 0 : 8 * static_cast<double>(packed.size()) / static_cast<double>(keys_);
  }

 private:
  static constexpr size_t kSampleBytes = 32 << 10;
  KeyListWriter writer_;
  size_t keys_ = 0;
  bool full_ = false;
};

constexpr char kWhat[] = "keys of a range";
constexpr size_t kFewSparseKeys = 50;
constexpr size_t kFirstCandidates = 256, kManyCandidates = 1 << 14, kMostAtOnce = 1 << 22;

// Room for more candidates, of at most so many; for as many as are expected, if there are many and
// there is memory: to copy them each time that their number has doubled costs as much again as to
// hash them.
absl::Status MakeRoom(uint64_t most_candidates, uint64_t expected, bool whole_rows, RangeKeys* keys,
                      MemoryHold* memory) {
  const uint64_t had = keys->candidates.capacity();
  const uint64_t each = sizeof(Candidate) + (whole_rows ? sizeof(uint64_t) : 0);
  uint64_t wanted = std::min(std::max<uint64_t>(2 * had, kFirstCandidates), most_candidates);
  const uint64_t at_once = std::min(std::max(wanted, expected), most_candidates);
  // Both while they are copied.
  const auto take = [&](uint64_t candidates) {
    return memory == nullptr ? absl::OkStatus() : memory->Resize((had + candidates) * each, kWhat);
  };
  if (had >= kManyCandidates && at_once > wanted && take(at_once).ok()) wanted = at_once;
  absl::Status status = take(wanted);
  if (!status.ok()) return status;
  keys->candidates.reserve(wanted);
  if (whole_rows) keys->digests.reserve(wanted);
  if (memory != nullptr) status = memory->Resize(wanted * each, kWhat);
  return status;
}

}  // namespace

absl::Status ScanKeys(Source* source, const KeyInterval& interval, uint64_t salt,
                      uint64_t most_keys, RangeKeys* keys, const ExistingFilterUse& existing,
                      MemoryHold* memory, bool whole_rows) {
  keys->candidates = {};
  keys->digests = {};
  if (memory != nullptr) memory->Release();
  keys->sum = keys->row_sum = {};
  const SetSummer summer(salt);
  keys->longest_key_bytes = 0;
  keys->next_key.reset();
  keys->uncovered = false;
  std::optional<ExistingFilterSet::Sweep> sweep;
  if (existing.set != nullptr) sweep.emplace(*existing.set);
  const std::unique_ptr<Cursor> cursor = source->Scan(interval);
  Sample sample, sparse;
  KeyHash128 last{};
  Row row;
  uint64_t scanned = 0;
  const uint64_t most_scanned = std::min<uint64_t>(
      existing.prunes ? kMostKeysPerCandidate * most_keys : most_keys, UINT32_MAX);
  while (cursor->Next(&row)) {
    uint64_t digest = 0;
    if (whole_rows && !TakeDigest(&row.key, &digest)) {
      return absl::InvalidArgumentError(
          "rows are to be compared that are not joined on all of them");
    }
    // Another row of the same key; keys whose hashes are equal are one key for the sums as well.
    const KeyHash128 hash = HashKey128(row.key, salt);
    if (hash == last && scanned > 0) continue;
    if (keys->candidates.size() == most_keys || scanned == most_scanned) {
      keys->next_key = row.key;
      break;
    }
    last = hash;
    const auto ordinal = static_cast<uint32_t>(scanned++);
    summer.Add(hash, &keys->sum);
    keys->longest_key_bytes = std::max<uint64_t>(keys->longest_key_bytes, row.key.size());
    sample.Add(row.key);
    if (hash.low % KeyBits::kSparse == 0) sparse.Add(row.key);
    if (sweep && !sweep->MayContain(row.key)) {
      if (existing.prunes) continue;
      keys->uncovered = true;
      sweep.reset();
    }
    if (keys->candidates.size() == keys->candidates.capacity()) {
      // Estimates are wrong by a percent or two.
      const uint64_t expected = std::min<uint64_t>(source->EstimateKeys(), kMostAtOnce);
      RETURN_IF_ERROR(MakeRoom(most_keys, expected + expected / 50, whole_rows, keys, memory));
    }
    if (whole_rows) {
      summer.Add(HashOfRow(hash, digest), &keys->row_sum);
      keys->digests.push_back(digest);
    }
    keys->candidates.push_back({hash, ordinal});
  }
  keys->bits.front_coded = sample.FrontCodedBitsPerKey();
  keys->bits.each = sample.BitsPerKey();
  keys->bits.each_sparse = sparse.keys() < kFewSparseKeys
                               ? keys->bits.each + std::log2(KeyBits::kSparse)
                               : sparse.BitsPerKey();
  keys->bits.all_keys = static_cast<double>(keys->sum.count);
  return cursor->status();
}

KeyReader ReaderOf(Source* source, KeyInterval interval, bool whole_rows) {
  return [source, interval = std::move(interval), whole_rows](
             std::span<const uint32_t> ordinals, Compression compression, uint64_t most_bytes,
             std::string* out) -> absl::Status {
    KeyListWriter keys(compression);
    OrdinalCursor cursor(source, interval);
    size_t added = 0;
    Row row;
    while (added < ordinals.size() && cursor.Next(&row)) {
      if (cursor.ordinal() != ordinals[added]) continue;
      if (whole_rows) row.key.remove_suffix(kWholeRowDigestBytes);
      keys.Add(row.key);
      added++;
      if (keys.compressed_bytes() > most_bytes) {
        return absl::ResourceExhaustedError(absl::StrCat(
            "the keys themselves would take more than the ", most_bytes,
            " bytes that a message may have: join with another strategy than \"keys\", with "
            "smaller ranges, or allow more on both sides"));
      }
    }
    if (!cursor.status().ok()) return cursor.status();
    if (added < ordinals.size()) return absl::DataLossError("the source lost keys since its scan");
    keys.Finish(out);
    return absl::OkStatus();
  };
}

namespace {

// Nothing if existing SST filters have dropped no keys of either side.
std::optional<CommonKeys> CommonByPruning(const OpenedRange& range, const RangeKeys& keys) {
  if (range.pruning.filters) {
    return CommonAfterExistingFilters(static_cast<double>(range.theirs.count),
                                      static_cast<double>(range.pruning.candidates),
                                      range.own_pass_rate);
  }
  if (!range.prunes) return std::nullopt;
  return CommonAfterExistingFilters(static_cast<double>(keys.sum.count),
                                    static_cast<double>(keys.candidates.size()),
                                    range.their_pass_rate);
}

}  // namespace

MatchingOptions OptionsFor(const OpenedRange& range, const RangeKeys& keys) {
  MatchingOptions options = range.options;
  options.their_count = static_cast<double>(range.their_candidates());
  options.longest_key_bytes = keys.longest_key_bytes;
  options.kept_bytes = VectorBytes(keys.digests);

  const uint64_t mine = keys.candidates.size();
  const uint64_t fewer = std::min(range.their_candidates(), mine);
  const std::optional<CommonKeys> pruned = CommonByPruning(range, keys);
  const double guess = pruned ? pruned->keys : static_cast<double>(fewer) / 2;
  options.common = range.common.value_or(guess);
  options.common_error = pruned ? pruned->standard_error
                                : CommonError(range.counters, options.common,
                                              static_cast<double>(mine), options.their_count);

  // With existing SST filters or without, ranges are reconciled as is cheapest.
  Strategy& strategy = options.planner.strategy;
  if (strategy == Strategy::kSstFilters) strategy = Strategy::kAuto;
  options.planner.keys = keys.bits;
  return options;
}

Reconciliation::Reconciliation(Source* source, const KeyInterval& interval, RangeKeys* keys,
                               const MatchingOptions& options, Of of)
    : options_(options),
      of_(of),
      may_be_told_(of == Of::kKeysThenValues && !options.is_client && !options.begins),
      reader_(ReaderOf(source, interval, /*whole_rows=*/of != Of::kKeys)),
      digests_(std::move(keys->digests)) {
  if (of == Of::kValuesOfSameKeys) {
    values_ = std::make_unique<ValueComparison>(std::move(keys->candidates), std::move(digests_),
                                                options, /*differ=*/true);
  } else {
    matching_ = std::make_unique<Matching>(std::move(keys->candidates), options, reader_);
  }
}

Reconciliation::State Reconciliation::state() const {
  return values_ == nullptr ? matching_->state() : values_->state();
}

absl::Status Reconciliation::NextStep(std::string* step) {
  if (values_ != nullptr) return values_->NextStep(step);
  const absl::Status status = matching_->NextStep(step);
  if (status.ok()) Advance();
  return status;
}

absl::Status Reconciliation::Receive(std::string_view step) {
  if (values_ != nullptr) return values_->Receive(step);
  const bool told = std::exchange(may_be_told_, false) && !step.empty() &&
                    static_cast<Part>(step.front()) == Part::kCommonKeys;
  if (told) return BeginAsTold(step);
  const absl::Status status = matching_->Receive(step);
  if (status.ok()) Advance();
  return status;
}

//   varint common keys, estimated | varint counters of the estimator
std::string Reconciliation::YieldStep(double common, size_t counters) {
  std::string step, body;
  ByteWriter out(&body);
  out.Varint(static_cast<uint64_t>(common));
  out.Varint(counters);
  AppendPart(Part::kCommonKeys, body, &step);
  return step;
}

absl::Status Reconciliation::BeginAsTold(std::string_view step) {
  ByteReader part(step);
  part.U8();
  ByteReader in(part.String());
  const double mine = static_cast<double>(matching_->matched().size());
  options_.common =
      static_cast<double>(in.Varint(static_cast<uint64_t>(std::min(mine, options_.their_count))));
  const auto counters = static_cast<size_t>(in.Varint(DifferenceEstimator::kMostCounters));
  if (!part.Finished() || !in.Finished()) return Nonsense("a damaged estimate");
  options_.common_error = CommonError(counters, options_.common, mine, options_.their_count);
  options_.begins = true;
  Candidates candidates = matching_->TakeMatched();
  matching_ = std::make_unique<Matching>(std::move(candidates), options_, reader_);
  return absl::OkStatus();
}

void Reconciliation::Advance() {
  if (matching_->state() != State::kReconciled) return;
  ending_ = matching_->ending();
  if (of_ == Of::kKeys) return;
  counts_ = matching_->counts();
  Candidates matched = matching_->TakeMatched();
  matching_.reset();
  values_ = std::make_unique<ValueComparison>(std::move(matched), std::move(digests_), options_,
                                              /*differ=*/false);
}

MatchedKeys Reconciliation::TakeMatched() {
  if (values_ == nullptr) return {/*all=*/false, matching_->TakeMatched()};
  return {/*all=*/false, values_->TakeEqual(), values_->TakeChanged()};
}

MatchingCounts Reconciliation::counts() const {
  if (values_ == nullptr) return matching_->counts();
  MatchingCounts counts = counts_;
  counts.turns += values_->counts().turns;
  return counts;
}

}  // namespace rocksieve::join
