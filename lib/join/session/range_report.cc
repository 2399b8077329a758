// SPDX-License-Identifier: Apache-2.0
#include "lib/join/session/range_report.h"

#include <algorithm>
#include <cmath>

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

}  // namespace rocksieve::join
