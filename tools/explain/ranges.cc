// SPDX-License-Identifier: Apache-2.0
#include "tools/explain/ranges.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "plugin/database/database.h"
#include "plugin/probe/key_space.h"
#include "plugin/probe/probe_tree.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

constexpr uint64_t kRangesOfAKind = 10000;
constexpr uint64_t kUsualLengths[] = {16, 256, 4096};
constexpr size_t kMostLengths = 8;

// Of the files of a level, or of all.
struct RangeTotals {
  double lookups = 0, passes = 0, predicted = 0;
  double lookups_of_filters = 0, passes_of_filters = 0, predicted_of_filters = 0;

  void Add(const FileProbes& file) {
    const auto met = static_cast<double>(file.lookups), passed = static_cast<double>(file.passes);
    lookups += met;
    passes += passed;
    predicted += file.predicted;
    if (!file.filter_answers) return;
    lookups_of_filters += met;
    passes_of_filters += passed;
    predicted_of_filters += file.predicted;
  }

  Json InJson(uint64_t ranges) const {
    const auto all = static_cast<double>(std::max<uint64_t>(1, ranges));
    const auto rate = [&](double passed) {
      return lookups_of_filters > 0 ? Json(passed / lookups_of_filters) : Json(nullptr);
    };
    return {{"predicted_pass_rate", rate(predicted_of_filters)},
            {"measured_pass_rate", rate(passes_of_filters)},
            {"filter_queries", static_cast<uint64_t>(lookups_of_filters)},
            {"files_per_empty_range", lookups / all},
            {"passes_per_empty_range", passes / all}};
  }
};

Json KindJson(const Tree& tree, const RangeKind& kind, const TreeProbes& probes,
              const BlockReads& reads) {
  RangeTotals all;
  Json levels = Json::array();
  for (size_t i = 0; i < tree.levels.size(); i++) {
    RangeTotals totals;
    for (const FileProbes& file : probes.levels[i]) {
      totals.Add(file);
      all.Add(file);
    }
    levels.push_back({{"level", tree.levels[i].level}});
    levels.back().update(totals.InJson(probes.keys));
  }
  Json json = {{"kind", kind.is_prefix ? "prefix" : "numbers"},
               {"length", kind.length},
               {"empty_ranges", probes.keys}};
  json.update(all.InJson(probes.keys));
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

Status ExplainRanges(const Database& database, size_t family, const Tree& tree,
                     const std::vector<uint64_t>& lengths, Progress* progress, Json* ranges,
                     std::vector<std::string>* notes) {
  *ranges = Json::array();
  if (tree.levels.empty()) return Status::OK();
  if (tree.family.comparator.get() != rocksdb::BytewiseComparator()) {
    notes->push_back(
        "ranges are not looked at: the order of keys is not bytewise, and no filter "
        "answers for ranges of another");
    return Status::OK();
  }
  std::vector<RangeKind> kinds;
  for (const uint64_t length : lengths) kinds.push_back({/*is_prefix=*/false, length});
  for (const uint64_t length : PrefixLengths(tree)) kinds.push_back({/*is_prefix=*/true, length});
  std::vector<std::vector<EmptyRange>> made;
  Status status = MakeEmptyRanges(database, family, tree, kinds, kRangesOfAKind, progress, &made);
  if (!status.ok()) {
    if (status.IsAborted()) return status;
    notes->push_back("ranges are not looked at: keys could not be read (" + MessageOf(status) +
                     ")");
    return Status::OK();
  }
  bool any_answers = false;
  for (size_t i = 0; i < kinds.size(); i++) {
    TreeProbes probes;
    status = ProbeRanges(tree, &made[i], progress, &probes);
    if (!status.ok()) return status;
    for (const auto& level : probes.levels) {
      for (const FileProbes& file : level) any_answers |= file.filter_answers;
    }
    ranges->push_back(
        KindJson(tree, kinds[i], probes, MeasureRangeReads(database, family, tree, made[i])));
  }
  if (!any_answers) {
    notes->push_back(
        "no filter is asked for ranges: that takes filter_policy=rocksieve.range:12, "
        "prefix_extractor=rocksieve.range, and files written with both");
  }
  return Status::OK();
}

}  // namespace rocksieve::tools
