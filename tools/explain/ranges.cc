// SPDX-License-Identifier: Apache-2.0
#include "tools/explain/explain.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "plugin/probe/probe_tree.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

constexpr uint64_t kRangesOfAKind = 10000;
constexpr uint64_t kUsualLengths[] = {16, 256, 4096};
constexpr size_t kMostLengths = 8;

// Of the files of a level, or of all, asked for so many ranges.
Json SumsJson(const ProbeSums& sums, uint64_t ranges) {
  const auto all = static_cast<double>(std::max<uint64_t>(1, ranges));
  const auto rate = [&](double passed) {
    return sums.filter_lookups > 0 ? Json(passed / sums.filter_lookups) : Json();
  };
  return {{"predicted_pass_rate", rate(sums.filter_predicted)},
          {"measured_pass_rate", rate(sums.filter_passes)},
          {"filter_queries", static_cast<uint64_t>(sums.filter_lookups)},
          {"files_per_empty_range", sums.lookups / all},
          {"passes_per_empty_range", sums.passes / all}};
}

Json KindJson(const Tree& tree, const EmptyRanges& kind, const TreeProbes& probes,
              const BlockReads& reads) {
  ProbeSums all;
  Json levels = Json::array();
  for (size_t i = 0; i < tree.levels.size(); i++) {
    ProbeSums sums;
    for (const FileProbes& file : probes.levels[i]) {
      sums.Add(file);
      all.Add(file);
    }
    levels.push_back({{"level", tree.levels[i].level}});
    levels.back().update(SumsJson(sums, probes.keys));
  }
  Json json = {{"kind", kind.kind()}, {"length", kind.length}, {"empty_ranges", probes.keys}};
  json.update(SumsJson(all, probes.keys));
  const auto blocks = [&](double passes) {
    return probes.keys == 0 ? Json(nullptr) : Json(passes * reads.per_pass);
  };
  const double predicted = all.predicted / static_cast<double>(std::max<uint64_t>(1, probes.keys));
  json.update(
      {{"expected_useless_reads_per_empty_range", blocks(probes.passes)},
       {"expected_useless_reads_95", {blocks(probes.passes_low_95), blocks(probes.passes_high_95)}},
       {"predicted_useless_reads_per_empty_range", blocks(predicted)},
       {"useless_reads_per_empty_range_without_filters", blocks(probes.files_met)},
       {"data_blocks_read_per_pass", reads.per_pass},
       {"levels", levels}});
  return json;
}

}  // namespace

Status ParseRangeLengths(const std::string& text, std::vector<uint64_t>* lengths) {
  lengths->clear();
  if (text.empty()) lengths->assign(std::begin(kUsualLengths), std::end(kUsualLengths));
  std::string_view rest = text;
  while (!rest.empty()) {
    uint64_t length = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
    const auto taken = static_cast<size_t>(end - rest.data());
    const bool goes_on = taken < rest.size() && rest[taken] == ',' && taken + 1 < rest.size();
    if (error != std::errc() || length == 0 || (taken < rest.size() && !goes_on) ||
        lengths->size() == kMostLengths) {
      return Status::InvalidArgument(
          "\"" + text +
          "\" is not a list of lengths of ranges: allowed are up to eight whole numbers from 1 on, "
          "as in --ranges=16,256,4096");
    }
    lengths->push_back(length);
    rest.remove_prefix(goes_on ? taken + 1 : taken);
  }
  return Status::OK();
}

Status ExplainRanges(const Tree& tree, const std::vector<uint64_t>& lengths, Progress* progress,
                     Json* ranges, std::vector<std::string>* notes) {
  *ranges = Json::array();
  if (tree.levels.empty()) return Status::OK();
  if (tree.family.comparator.get() != rocksdb::BytewiseComparator()) {
    notes->push_back(
        "ranges are not looked at: the order of keys is not bytewise, and no filter "
        "answers for ranges of another");
    return Status::OK();
  }
  std::vector<EmptyRanges> made;
  Status status = MakeEmptyRanges(tree, lengths, kRangesOfAKind, progress, &made);
  if (!status.ok()) {
    if (status.IsAborted()) return status;
    notes->push_back("ranges are not looked at: keys could not be read (" + MessageOf(status) +
                     ")");
    return Status::OK();
  }
  bool any_made = false, any_answers = false;
  for (EmptyRanges& kind : made) {
    TreeProbes probes;
    any_made |= !kind.ranges.empty();
    status = ProbeRanges(tree, &kind.ranges, progress, &probes);
    if (!status.ok()) return status;
    for (const auto& level : probes.levels) {
      for (const FileProbes& file : level) any_answers |= file.filter_answers;
    }
    ranges->push_back(KindJson(tree, kind, probes, MeasureRangeReads(tree, kind.ranges)));
  }
  if (any_made && !any_answers) {
    notes->push_back(
        "no filter is asked for ranges: that takes filter_policy=rocksieve.range:12, "
        "prefix_extractor=rocksieve.range, and files written with both");
  }
  return Status::OK();
}

}  // namespace rocksieve::tools
