// SPDX-License-Identifier: Apache-2.0
#include "lib/join/session/range_result.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/join/join_key/join_key_source.h"
#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

constexpr double kTextbookBitsPerKey = 10;
constexpr double kTextbookProbes = 7;  // the best number for 10 bits: 10 ln 2

// Bloom's formula: with so many bits per key, each probe finds a bit set with this probability.
double TextbookFalsePositiveRate() {
  return std::pow(1 - std::exp(-kTextbookProbes / kTextbookBitsPerKey), kTextbookProbes);
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
  const uint64_t fewer = std::min(report.local_keys, report.remote_keys);
  return static_cast<double>(fewer) * report.bits_per_key / 8;
}

double TextbookBloomJoinBytes(const RangeReport& report) {
  const auto [fewer, more] = std::minmax(report.local_keys, report.remote_keys);
  const double passing =
      static_cast<double>(report.matched_keys) +
      static_cast<double>(more - report.matched_keys) * TextbookFalsePositiveRate();
  return (static_cast<double>(fewer) * kTextbookBitsPerKey + passing * report.bits_per_key) / 8;
}

void AddStatistics(const Statistics& more, Statistics* sum) {
  using S = Statistics;
  constexpr uint64_t S::*kCounts[] = {
      &S::matched_keys,       &S::local_only_keys,    &S::remote_only_keys,
      &S::rows_received,      &S::local_absent_rows,  &S::remote_absent_rows,
      &S::ranges,             &S::equal_ranges,       &S::repeated_ranges,
      &S::ranges_by_list,     &S::ranges_by_keys,     &S::ranges_by_symbols,
      &S::ranges_by_sketch,   &S::filters,            &S::keys_hashed,
      &S::filters_built,      &S::sst_filters,        &S::sst_filter_bytes,
      &S::keys_pruned,        &S::false_positives,    &S::sst_filters_pruned_keys,
      &S::shipped_keys_bytes, &S::textbook_bloom_join_bytes, &S::sst_filters_withdrawn_ranges};
  for (const auto count : kCounts) sum->*count += more.*count;
  for (const auto traffic : {&S::sent, &S::received}) {
    for (const auto bytes : {&WireBytes::planning, &WireBytes::filters, &WireBytes::verification,
                             &WireBytes::payload}) {
      sum->*traffic.*bytes += more.*traffic.*bytes;
    }
  }
  sum->existing_choice = more.existing_choice;
}

void AddRange(const RangeReport& range, Statistics* sum) {
  sum->matched_keys += range.matched_keys;
  sum->local_only_keys += range.local_keys - range.matched_keys;
  sum->remote_only_keys += range.remote_keys - range.matched_keys;
  sum->rows_received += range.rows_received;
  sum->keys_pruned += range.keys_pruned;
  sum->false_positives += range.local_false_positives + range.remote_false_positives;
  sum->shipped_keys_bytes += range.shipped_keys_bytes;
  sum->textbook_bloom_join_bytes += range.textbook_bloom_join_bytes;
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
    RETURN_IF_ERROR(CheckRow(row, new_key));
    return SendsMatched(operation_) ? TakeMatchedRow(row, new_key) : TakeUnmatchedRow(row, new_key);
  });
}

namespace {

absl::Status TooManyUnproven(uint64_t most_bytes, const char* rows, const char* remedy) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "the other side sends more than ", most_bytes, " bytes of rows ", rows,
      ", which have to wait for its proof: use ", remedy, "a temporary directory with more room"));
}

}  // namespace

absl::Status RangeResult::CheckRow(const Row& row, bool new_key) {
  rows_received_++;
  // As it goes to the sink.
  bytes_received_ +=
      row.value.size() + (SendsMatched(operation_) && !new_key ? own_row_.key : row.key).size() + 1;
  if (bytes_received_ > limits_.most_unproven_bytes) {
    return TooManyUnproven(limits_.most_unproven_bytes, "in a range of keys",
                           "smaller ranges, or ");
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
  RETURN_IF_ERROR(EmitLocalRowsBefore(&last_key_));
  if (has_own_row_ && KeyOf(own_row_, compares()) == row.key) {
    return Contradiction("the other side sent a row of a key that this side has");
  }
  return compares() ? GiveTheirRow(row.key, row.value) : sink_->Add(row, Side::kServer);
}

// The next of those of which this side has another version.
absl::Status RangeResult::TakeChangedRow(const Row& row) {
  if (!own_started_) NextOwnRow();
  while (has_own_row_ && !matched_.IsChanged(own_.ordinal())) {
    RETURN_IF_ERROR(GiveOwnRow());
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
    RETURN_IF_ERROR(GiveOwnRow());
    NextOwnRow();
  }
  return own_.status();
}

absl::Status RangeResult::Finish() {
  if (EmitsLocalRows(operation_) && !range_.matched.all) {  // else there are none to look for
    RETURN_IF_ERROR(EmitLocalRowsBefore(nullptr));
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

namespace {

uint64_t AbsentSaltOf(uint64_t session_salt) { return RangeSalt(session_salt, kAbsentRange, 0); }

}  // namespace

absl::Status SumAbsentRows(Source* source, uint64_t session_salt, SetSum* sum) {
  *sum = {};
  const std::unique_ptr<Cursor> cursor = source->ScanAbsent();
  if (cursor == nullptr) return absl::OkStatus();
  const uint64_t salt = AbsentSaltOf(session_salt);
  const SetSummer summer(salt);
  Row row;
  while (cursor->Next(&row)) summer.Add(HashKey128(row.value, salt), sum);
  return cursor->status();
}

absl::Status EmitAbsentRows(Source* source, Sink* sink, uint64_t* rows) {
  *rows = 0;
  const std::unique_ptr<Cursor> cursor = source->ScanAbsent();
  if (cursor == nullptr) return absl::OkStatus();
  Row row;
  for (; cursor->Next(&row); ++*rows) {
    if (sink == nullptr) continue;
    RETURN_IF_ERROR(sink->Add(row, Side::kClient));
  }
  return cursor->status();
}

AbsentRowsWriter::AbsentRowsWriter(Source* source, uint32_t attempt)
    : cursor_(source->ScanAbsent()), attempt_(attempt), batch_(/*with_keys=*/false) {}

absl::Status AbsentRowsWriter::Next(Rows* rows) {
  rows->range = kAbsentRange;
  rows->attempt = attempt_;
  Row row;
  while (batch_.pending_bytes() < kRowBatchBytes && !ended_) {
    ended_ = cursor_ == nullptr || !cursor_->Next(&row);
    if (!ended_) batch_.Add(row);
  }
  batch_.TakeBatch(&rows->batch);
  rows->last = ended_ && batch_.pending_bytes() == 0;
  return cursor_ == nullptr ? absl::OkStatus() : cursor_->status();
}

AbsentRowsReader::AbsentRowsReader(const SetSum& expected, uint64_t session_salt,
                                   const ResultLimits& limits, Sink* sink)
    : expected_(expected),
      salt_(AbsentSaltOf(session_salt)),
      summer_(salt_),
      most_bytes_(limits.most_unproven_bytes),
      sink_(sink),
      reader_(/*with_keys=*/false, limits.most_row_bytes, limits.memory) {}

absl::Status AbsentRowsReader::Receive(std::string_view batch) {
  return reader_.Read(batch, [this](const Row& row, bool) -> absl::Status {
    summer_.Add(HashKey128(row.value, salt_), &received_);
    if (received_.count > expected_.count) {
      return absl::AbortedError("the other side sent more rows than it said that it has");
    }
    received_bytes_ += row.value.size() + 1;
    if (received_bytes_ > most_bytes_) return TooManyUnproven(most_bytes_, "with a NULL key", "");
    return sink_->Add({"", row.value}, Side::kServer);
  });
}

absl::Status AbsentRowsReader::Finish() const {
  if (received_ == expected_ && reader_.between_rows()) return absl::OkStatus();
  return absl::AbortedError("the other side's rows do not add up to what it has");
}

}  // namespace rocksieve::join
