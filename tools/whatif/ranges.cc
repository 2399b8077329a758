// SPDX-License-Identifier: Apache-2.0
#include "support/return_if_error.h"
#include "tools/whatif/whatif.h"

#include <algorithm>
#include <string_view>

#include <rocksieve/filter.h>

#include "plugin/probe/probe_tree.h"
#include "support/files.h"
#include "support/parallel.h"
#include "support/text.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

constexpr const char* kRangeSpecs[] = {"rocksieve.range:10", "rocksieve.range:12",
                                       "rocksieve.range:16"};
constexpr uint64_t kMadeRanges = 10000, kMostOwnRanges = 20000;
// Of keys that filters are built from.
constexpr size_t kMostRunKeys = 200000, kMostRunBytes = 64 << 20, kFilesOfALevel = 3;

// Ranges of a kind, and what they meet in the tree as it is.
struct KindOfRange : EmptyRanges {
  TreeProbes now;
  double blocks_per_pass = 1;
};

// Of the filters of one candidate.
struct PassCount {
  double asked = 0, passed = 0;
};

// Keys of a file that stand next to each other there.
struct KeyRun {
  std::vector<std::string> keys;
  bool is_whole = false;

  bool Holds(const EmptyRange& range) const {
    return is_whole || (keys.front() < range.begin && range.end <= keys.back());
  }
};

// From where some of the ranges are.
KeyRun ReadKeyRun(const Tree& tree, const TreeFile& file, const std::vector<EmptyRange>& ranges,
                  KeySpan met) {
  KeyRun run;
  const TableKeys keys(tree.family, file);
  if (!keys.ok()) return run;
  run.is_whole = file.properties.entries <= kMostRunKeys;
  if (run.is_whole) {
    keys->SeekToFirst();
  } else {
    const double share =
        static_cast<double>(kMostRunKeys) / static_cast<double>(file.properties.entries);
    const auto skipped = static_cast<size_t>(static_cast<double>(met.size()) * (1 - share) / 2);
    keys->Seek(ranges[met.begin + skipped].begin);
  }
  size_t bytes = 0;
  for (; keys->Valid() && run.keys.size() < kMostRunKeys && bytes < kMostRunBytes; keys->Next()) {
    run.keys.push_back(keys->key().ToString());
    bytes += run.keys.back().size() + sizeof(std::string);
  }
  run.is_whole = run.is_whole && !keys->Valid();
  return run;
}

class Comparison {
 public:
  Comparison(const Tree& tree, const std::vector<PolicySpec>& candidates,
             std::vector<KindOfRange>* kinds)
      : tree_(tree),
        candidates_(candidates),
        kinds_(*kinds),
        counts_(tree.levels.size(), std::vector<std::vector<PassCount>>(
                                        candidates.size(), std::vector<PassCount>(kinds->size()))) {
  }

  Status Run(Progress* progress) {
    progress->Begin("building range filters for column family " + tree_.family.name,
                    tree_.levels.size());
    for (size_t level = 0; level < tree_.levels.size(); level++) {
      for (const size_t file : SomeFiles(level)) BuildAndAsk(level, file);
      RETURN_IF_ERROR(Advanced(progress));
    }
    return Status::OK();
  }

  // Files that are searched per range; negative if unknown.
  double Passes(size_t candidate, size_t kind) const {
    double passes = 0;
    PassCount all;
    for (const auto& level : counts_) {
      all.asked += level[candidate][kind].asked;
      all.passed += level[candidate][kind].passed;
    }
    for (size_t level = 0; level < counts_.size(); level++) {
      double met = 0;
      for (const FileProbes& file : kinds_[kind].now.levels[level]) {
        met += static_cast<double>(file.lookups);
      }
      if (met == 0) continue;
      const PassCount& own = counts_[level][candidate][kind];
      const PassCount& count = own.asked > 0 ? own : all;
      if (count.asked == 0) return -1;
      passes += met * count.passed / count.asked;
    }
    return passes / static_cast<double>(kinds_[kind].ranges.size());
  }

 private:
  KeySpan Met(size_t level, size_t file, size_t kind) const {
    return RangesThatMeet(tree_.levels[level], file, kinds_[kind].ranges);
  }

  // Those that ranges come to, evenly spread.
  std::vector<size_t> SomeFiles(size_t level) const {
    std::vector<size_t> met;
    for (size_t file = 0; file < tree_.levels[level].files.size(); file++) {
      if (!tree_.levels[level].files[file].error.empty()) continue;
      if (MostMet(level, file) < kinds_.size()) met.push_back(file);
    }
    std::vector<size_t> some;
    const size_t count = std::min(met.size(), kFilesOfALevel);
    for (size_t i = 0; i < count; i++) some.push_back(met[(2 * i + 1) * met.size() / (2 * count)]);
    return some;
  }

  // The kind of which most ranges come to the file; kinds_.size() if none do.
  size_t MostMet(size_t level, size_t file) const {
    size_t most = kinds_.size(), ranges = 0;
    for (size_t kind = 0; kind < kinds_.size(); kind++) {
      const size_t met = Met(level, file, kind).size();
      if (met > ranges) {
        most = kind;
        ranges = met;
      }
    }
    return most;
  }

  void BuildAndAsk(size_t level, size_t file) {
    const size_t most = MostMet(level, file);
    const KeyRun run = ReadKeyRun(tree_, tree_.levels[level].files[file], kinds_[most].ranges,
                                  Met(level, file, most));
    if (run.keys.size() < 2) return;
    for (size_t candidate = 0; candidate < candidates_.size(); candidate++) {
      FilterBuilder builder(*candidates_[candidate].ours());
      for (const std::string& key : run.keys) builder.AddKey(key);
      const FilterBlock block = builder.Finish();
      const OpenedFilter opened = OpenFilter(block.view());
      for (size_t kind = 0; kind < kinds_.size(); kind++) {
        const KeySpan met = Met(level, file, kind);
        PassCount& count = counts_[level][candidate][kind];
        for (size_t i = met.begin; i < met.end; i++) {
          const EmptyRange& range = kinds_[kind].ranges[i];
          if (!run.Holds(range)) continue;
          count.asked++;
          count.passed += opened.filter->MayContainRange(range.begin, range.end) ? 1 : 0;
        }
      }
    }
  }

  const Tree& tree_;
  const std::vector<PolicySpec>& candidates_;
  const std::vector<KindOfRange>& kinds_;
  std::vector<std::vector<std::vector<PassCount>>> counts_;  // by level, candidate and kind
};

// The usual ones, and those of the user.
std::vector<PolicySpec> RangePolicies(const std::vector<PolicySpec>& specs) {
  std::vector<PolicySpec> candidates;
  for (const char* text : kRangeSpecs) {
    PolicySpec spec;
    if (PolicySpec::Parse(text, &spec).ok()) candidates.push_back(spec);
  }
  for (const PolicySpec& spec : specs) {
    const auto same = [&](const PolicySpec& other) { return other.text() == spec.text(); };
    if (spec.ours() == nullptr || !spec.answers_ranges() ||
        std::any_of(candidates.begin(), candidates.end(), same)) {
      continue;
    }
    candidates.push_back(spec);
  }
  return candidates;
}

// Of the user's ranges, those without a key.
Status EmptyOnes(const Tree& tree, const KeyRanges& own, Progress* progress,
                 std::vector<EmptyRange>* empty) {
  const AllKeys keys(tree);
  progress->Begin("looking for keys in the ranges", own.size());
  for (const auto& [begin, end] : own) {
    keys->Seek(begin);
    if (!keys->status().ok()) return keys->status();
    if (!keys->Valid() || keys->key().compare(end) >= 0) empty->push_back({begin, end, "", ""});
    RETURN_IF_ERROR(Advanced(progress));
  }
  return Status::OK();
}

Status FindRanges(const Tree& tree, const KeyRanges& own, Progress* progress,
                  std::vector<KindOfRange>* kinds) {
  if (!own.empty()) return EmptyOnes(tree, own, progress, &kinds->emplace_back().ranges);
  std::vector<EmptyRanges> made;
  const Status status = MakeEmptyRanges(tree, {1, 16, 256}, kMadeRanges, progress, &made);
  for (EmptyRanges& of_kind : made) kinds->push_back({std::move(of_kind), {}, 1});
  return status;
}

}  // namespace

Status ReadKeyRanges(const std::string& path, KeyRanges* ranges) {
  LineReader lines(path);
  const auto wrong = [&](const std::string& what) {
    return Status::InvalidArgument(
        lines.name() + ", line " + std::to_string(lines.line_number()) + ": " + what +
        ". A line of --ranges is the first key of a range, a TAB, and "
        "the key at which it ends; \\t, \\n, \\r, \\0 and \\\\ stand for "
        "such bytes in keys.");
  };
  std::string_view line;
  uint64_t step = 1;
  for (uint64_t number = 0; lines.Next(&line);) {
    if (line.empty()) continue;
    const size_t tab = line.find('\t');
    if (tab == std::string_view::npos) return wrong("it has no TAB");
    std::string begin, end;
    if (!FromEscapedText(line.substr(0, tab), &begin) ||
        !FromEscapedText(line.substr(tab + 1), &end)) {
      return wrong("after a backslash stands one of \\ t n r 0");
    }
    if (begin >= end) return wrong("the range ends where it begins, or before");
    if (number++ % step != 0) continue;
    ranges->emplace_back(std::move(begin), std::move(end));
    if (ranges->size() < 2 * kMostOwnRanges) continue;
    for (size_t i = 0; i < kMostOwnRanges; i++) std::swap((*ranges)[i], (*ranges)[2 * i]);
    ranges->resize(kMostOwnRanges);
    step *= 2;
  }
  if (lines.interrupted()) return Status::Aborted(lines.error());
  if (!lines.error().empty()) return Status::InvalidArgument(lines.error());
  if (ranges->empty()) {
    return Status::InvalidArgument(lines.name() +
                                   " holds no ranges: it has no line that is not "
                                   "empty");
  }
  return Status::OK();
}

Status CompareForRanges(const PlannedTree& planned, const std::vector<PolicySpec>& specs,
                        const KeyRanges& own, Progress* progress, Json* document,
                        std::vector<std::string>* warnings) {
  const Tree& tree = *planned.tree;
  if (tree.family.comparator.get() != rocksdb::BytewiseComparator()) {
    warnings->push_back("ranges are not looked at: the order of keys is not bytewise");
    return Status::OK();
  }
  std::vector<KindOfRange> kinds;
  const Status status = FindRanges(tree, own, progress, &kinds);
  if (status.IsAborted()) return status;
  if (!status.ok()) {
    warnings->push_back("ranges are not looked at: keys could not be read (" + MessageOf(status) +
                        ")");
    return Status::OK();
  }
  if (!own.empty() && kinds[0].ranges.empty()) {
    warnings->push_back("every range of --ranges holds a key: no filter spares their reads");
  }
  std::erase_if(kinds, [](const KindOfRange& kind) { return kind.ranges.empty(); });
  Json kinds_json = Json::array();
  for (KindOfRange& kind : kinds) {
    RETURN_IF_ERROR(ProbeRanges(tree, &kind.ranges, progress, &kind.now));
    kind.blocks_per_pass = MeasureRangeReads(tree, kind.ranges).per_pass;
    kinds_json.push_back({{"kind", own.empty() ? kind.kind() : "own"},
                          {"length", own.empty() ? Json(kind.length) : Json()},
                          {"empty_ranges", kind.ranges.size()}});
  }
  const std::vector<PolicySpec> candidates = RangePolicies(specs);
  Comparison comparison(tree, candidates, &kinds);
  RETURN_IF_ERROR(comparison.Run(progress));

  Json policies = Json::array();
  const auto add = [&](const std::string& spec, const Prediction& prediction, const auto& passes) {
    Json reads = Json::array();
    for (size_t kind = 0; kind < kinds.size(); kind++) {
      const double passed = passes(kind);
      reads.push_back(passed < 0 ? Json(nullptr) : Json(passed * kinds[kind].blocks_per_pass));
    }
    const auto entries = static_cast<double>(std::max<uint64_t>(1, planned.Entries()));
    policies.push_back({{"spec", spec},
                        {"filter_bits_per_entry", 8 * prediction.filter_bytes / entries},
                        {"expected_useless_reads_per_empty_range", reads},
                        {"expected_useless_reads_per_missing_lookup", prediction.reads}});
  };
  add("now", PredictNow(planned), [&](size_t kind) { return kinds[kind].now.passes; });
  PolicySpec none;
  if (PolicySpec::Parse("none", &none).ok()) {
    add("none", Predict(planned, none), [&](size_t kind) { return kinds[kind].now.files_met; });
  }
  for (size_t i = 0; i < candidates.size(); i++) {
    add(candidates[i].text(), Predict(planned, candidates[i]),
        [&](size_t kind) { return comparison.Passes(i, kind); });
  }
  *document = {
      {"source", own.empty() ? "made" : "file"}, {"kinds", kinds_json}, {"policies", policies}};
  return Status::OK();
}

}  // namespace rocksieve::tools
