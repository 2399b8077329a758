// SPDX-License-Identifier: Apache-2.0
#include "lib/join/session/range_result.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/join/join_key/join_key_source.h"

namespace rocksieve::join {
namespace {

constexpr double kTextbookBitsPerKey = 10;
constexpr double kTextbookProbes = 7;  // the best number for 10 bits: 10 ln 2

// Bloom's formula: with so many bits per key, each probe finds a bit set with this probability.
double TextbookFalsePositiveRate() {
  return std::pow(1 - std::exp(-kTextbookProbes / kTextbookBitsPerKey), kTextbookProbes);
}

void AddTraffic(const WireBytes& more, WireBytes* sum) {
  sum->planning += more.planning;
  sum->filters += more.filters;
  sum->verification += more.verification;
  sum->payload += more.payload;
}

}  // namespace

std::string PartsOf(const RangeReport& report) {
  if (report.parts.empty()) return report.equal ? "equal" : "none";
  std::string text;
  for (const Part part : report.parts) {
    if (!text.empty()) text += ' ';
    text += NameOf(part);
  }
  return text;
}

double ShippedKeysBytes(const RangeReport& report) {
  const uint64_t fewer = std::min(report.client_keys, report.server_keys);
  return static_cast<double>(fewer) * report.bits_per_key / 8;
}

double TextbookBloomJoinBytes(const RangeReport& report) {
  const auto [fewer, more] = std::minmax(report.client_keys, report.server_keys);
  const double passing =
      static_cast<double>(report.matched_keys) +
      static_cast<double>(more - report.matched_keys) * TextbookFalsePositiveRate();
  return (static_cast<double>(fewer) * kTextbookBitsPerKey + passing * report.bits_per_key) / 8;
}

RangeSummary SummaryOf(const RangeReport& range, const std::string& address) {
  RangeSummary summary;
  summary.address = address;
  summary.begin = range.interval.begin;
  summary.end = range.interval.end;
  summary.equal = range.equal;
  summary.moves = PartsOf(range);
  summary.local_keys = range.client_keys;
  summary.remote_keys = range.server_keys;
  summary.matched_keys = range.matched_keys;
  summary.rows_received = range.rows_received;
  summary.keys_pruned = range.keys_pruned;
  summary.local_false_positives = range.client_false_positives;
  summary.remote_false_positives = range.server_false_positives;
  summary.repeats = range.repeats;
  summary.sent = range.sent;
  summary.received = range.received;
  summary.round_trips = range.round_trips;
  summary.seconds = range.milliseconds / 1000;
  summary.shipped_keys_bytes = static_cast<uint64_t>(ShippedKeysBytes(range));
  summary.textbook_bloom_join_bytes = static_cast<uint64_t>(TextbookBloomJoinBytes(range));
  return summary;
}

void AddStatistics(const Statistics& more, Statistics* sum) {
  sum->matched_keys += more.matched_keys;
  sum->local_only_keys += more.local_only_keys;
  sum->remote_only_keys += more.remote_only_keys;
  sum->rows_received += more.rows_received;
  sum->local_absent_rows += more.local_absent_rows;
  sum->remote_absent_rows += more.remote_absent_rows;
  sum->ranges += more.ranges;
  sum->equal_ranges += more.equal_ranges;
  sum->repeated_ranges += more.repeated_ranges;
  sum->ranges_by_list += more.ranges_by_list;
  sum->ranges_by_keys += more.ranges_by_keys;
  sum->ranges_by_symbols += more.ranges_by_symbols;
  sum->ranges_by_sketch += more.ranges_by_sketch;
  sum->filters += more.filters;
  sum->keys_hashed += more.keys_hashed;
  sum->filters_built += more.filters_built;
  sum->existing_choice = more.existing_choice;
  sum->sst_filters += more.sst_filters;
  sum->sst_filter_bytes += more.sst_filter_bytes;
  sum->sst_filters_pruned_keys += more.sst_filters_pruned_keys;
  sum->sst_filters_withdrawn_ranges += more.sst_filters_withdrawn_ranges;
  sum->keys_pruned += more.keys_pruned;
  sum->false_positives += more.false_positives;
  sum->shipped_keys_bytes += more.shipped_keys_bytes;
  sum->textbook_bloom_join_bytes += more.textbook_bloom_join_bytes;
  AddTraffic(more.sent, &sum->sent);
  AddTraffic(more.received, &sum->received);
}

void AddRange(const RangeReport& range, Statistics* sum) {
  sum->matched_keys += range.matched_keys;
  sum->local_only_keys += range.client_keys - range.matched_keys;
  sum->remote_only_keys += range.server_keys - range.matched_keys;
  sum->rows_received += range.rows_received;
  sum->keys_pruned += range.keys_pruned;
  sum->false_positives += range.client_false_positives + range.server_false_positives;
  sum->shipped_keys_bytes += static_cast<uint64_t>(ShippedKeysBytes(range));
  sum->textbook_bloom_join_bytes += static_cast<uint64_t>(TextbookBloomJoinBytes(range));
}

namespace {

// Of a row that is joined on all of it, what stands for its key alone.
std::string_view KeyOf(const Row& row, bool whole_rows) {
  return row.key.substr(0, row.key.size() - (whole_rows ? kWholeRowDigestBytes : 0));
}

absl::Status Contradiction(const char* what) { return absl::AbortedError(what); }

}  // namespace

RangeResult::RangeResult(Operation operation, ReconciledRange range, const ResultLimits& limits,
                         Source* source, Sink* sink)
    : operation_(operation),
      range_(std::move(range)),
      limits_(limits),
      sink_(sink),
      summer_(range_.salt),
      reader_(/*with_keys=*/!SendsMatched(operation), limits.most_row_bytes, limits.memory,
              /*expects_known=*/limits.comparison == Comparison::kRows),
      own_(source, range_.interval),
      matched_(range_.matched) {}

bool RangeResult::NextOwnRow() {
  own_started_ = true;
  return has_own_row_ = own_.Next(&own_row_);
}

absl::Status RangeResult::Receive(std::string_view batch) {
  return reader_.Read(batch, [this](const Row& row, bool new_key) {
    const absl::Status status = CheckRow(row, new_key);
    if (!status.ok()) return status;
    return SendsMatched(operation_) ? TakeMatchedRow(row, new_key) : TakeUnmatchedRow(row, new_key);
  });
}

absl::Status RangeResult::CheckRow(const Row& row, bool new_key) {
  rows_received_++;
  // As it goes to the sink.
  bytes_received_ +=
      row.value.size() + (SendsMatched(operation_) && !new_key ? own_row_.key : row.key).size() + 1;
  if (bytes_received_ > limits_.most_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the other side sends more than ", limits_.most_bytes,
                     " bytes of rows in a range of keys, which have to wait for its proof: use "
                     "smaller ranges, or a temporary directory with more room"));
  }
  if (new_key || compares()) return absl::OkStatus();
  if (limits_.keys_are_unique) {
    return absl::InvalidArgumentError("the other side sent two rows of one key");
  }
  return absl::OkStatus();
}

// The other side's rows of matched keys come without their keys, in key order.
absl::Status RangeResult::TakeMatchedRow(const Row& row, bool new_key) {
  if (new_key) {
    const uint32_t passed = own_.ordinal();  // meaningful only once started
    const bool started = own_started_;
    do {
      if (!NextOwnRow()) {
        if (!own_.status().ok()) return own_.status();
        return Contradiction("the other side sent rows of more keys than are matched");
      }
    } while ((started && own_.ordinal() == passed) || !matched_.IsMatched(own_.ordinal()));
    keys_received_++;
  }
  return sink_->Add({own_row_.key, row.value}, Side::kServer);
}

absl::Status RangeResult::TakeUnmatchedRow(const Row& row, bool new_key) {
  if (!new_key) return compares() ? TakeChangedRow(row) : sink_->Add(row, Side::kServer);
  if (!range_.interval.Contains(row.key) || (keys_received_ > 0 && row.key <= last_key_)) {
    return Contradiction("the other side sent rows out of order");
  }
  last_key_ = row.key;
  if (++keys_received_ > range_.theirs.count) {
    return Contradiction("the other side sent rows of more keys than it has");
  }
  summer_.Add(HashKey128(row.key, range_.salt), &received_);
  const absl::Status status = EmitLocalRowsBefore(&last_key_);
  if (!status.ok()) return status;
  if (has_own_row_ && KeyOf(own_row_, compares()) == row.key) {
    return Contradiction("the other side sent a row of a key that this side has");
  }
  return compares() ? GiveTheirRow(row.key, row.value) : sink_->Add(row, Side::kServer);
}

// The next of those of which this side has another version.
absl::Status RangeResult::TakeChangedRow(const Row& row) {
  if (!own_started_) NextOwnRow();
  while (has_own_row_ && !matched_.IsChanged(own_.ordinal())) {
    const absl::Status status = GiveOwnRow();
    if (!status.ok()) return status;
    NextOwnRow();
  }
  if (!has_own_row_) {
    if (!own_.status().ok()) return own_.status();
    return Contradiction("the other side sent more rows than are changed");
  }
  const std::string_view key = KeyOf(own_row_, /*whole_rows=*/true);
  if (row.value.substr(0, kWholeRowDigestBytes) == DigestBytesOf(own_row_.key)) {
    return Contradiction("the other side sent a row that is not changed");
  }
  last_key_ = key;
  absl::Status status = sink_->Add(own_row_, Side::kClient);
  if (status.ok()) status = GiveTheirRow(last_key_, row.value);
  NextOwnRow();
  return status;
}

absl::Status RangeResult::GiveTheirRow(std::string_view key, std::string_view value) {
  whole_key_ = key;
  if (limits_.comparison == Comparison::kKeys) {
    whole_key_.append(kWholeRowDigestBytes, '\0');
  } else if (value.size() < kWholeRowDigestBytes) {
    return absl::InvalidArgumentError("the other side sent a row without its digest");
  } else {
    whole_key_.append(value.substr(0, kWholeRowDigestBytes));
    value.remove_prefix(kWholeRowDigestBytes);
  }
  return sink_->Add({whole_key_, value}, Side::kServer);
}

absl::Status RangeResult::GiveOwnRow() {
  if (!EmitsLocalRows(operation_) || matched_.IsMatched(own_.ordinal())) return absl::OkStatus();
  const absl::Status status = sink_->Add(own_row_, Side::kClient);
  if (!status.ok() || !matched_.IsChanged(own_.ordinal())) return status;
  if (limits_.comparison == Comparison::kRows) {
    return Contradiction("the other side did not send every changed row");
  }
  return GiveTheirRow(KeyOf(own_row_, /*whole_rows=*/true), {});
}

// Null: all of them.
absl::Status RangeResult::EmitLocalRowsBefore(const std::string* key) {
  if (!own_started_) NextOwnRow();
  while (has_own_row_ && (key == nullptr || own_row_.key < *key)) {
    const absl::Status status = GiveOwnRow();
    if (!status.ok()) return status;
    NextOwnRow();
  }
  return own_.status();
}

absl::Status RangeResult::Finish() {
  if (EmitsLocalRows(operation_) && !range_.matched.all) {  // else there are none to look for
    const absl::Status status = EmitLocalRowsBefore(nullptr);
    if (!status.ok()) return status;
  }
  if (!reader_.between_rows()) {
    return Contradiction("the other side's rows end in the middle of one");
  }
  const uint64_t matched = range_.matched.all ? range_.mine.count : range_.matched.some.size();
  if (SendsMatched(operation_) && keys_received_ != matched) {
    return Contradiction("the other side did not send the rows of every matched key");
  }
  if (SendsUnmatched(operation_)) {
    // What this side has matched, from its own keys, and what it received must be all that the
    // other side has, which that side summed before it knew what would be matched.
    SetSum sum = received_;
    for (const Candidate& key : range_.matched.some) summer_.Add(key.hash, &sum);
    for (const Candidate& key : range_.matched.changed) summer_.Add(key.hash, &sum);
    if (range_.matched.all) sum += range_.mine;
    if (!(sum == range_.theirs)) {
      return Contradiction("the other side's rows do not add up to what it has");
    }
  }
  return absl::OkStatus();
}

}  // namespace rocksieve::join
