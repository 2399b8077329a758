// SPDX-License-Identifier: Apache-2.0
#include "tools/explain/explain.h"

#include <algorithm>
#include <cmath>

#include <rocksdb/version.h>

#include "plugin/database/policy_spec.h"
#include "plugin/database/tree.h"
#include "plugin/probe/probe_tree.h"
#include "support/return_if_error.h"
#include "support/text.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

// Adds up files: those of a level, or all.
struct Totals {
  uint64_t files = 0, without_filter = 0, entries = 0, deletions = 0, bytes = 0, filter_bytes = 0;
  ProbeSums probes;

  void Add(const TreeFile& file, const FileProbes& probed) {
    files++;
    without_filter += file.error.empty() && !file.filter.exists() ? 1 : 0;
    entries += file.properties.entries;
    deletions += file.properties.deletions;
    bytes += file.bytes;
    filter_bytes += file.filter.bytes;
    probes.Add(probed);
  }

  // Of so many missing keys.
  Json InJson(double keys) const {
    const double bits =
        entries == 0 ? 0 : 8 * static_cast<double>(filter_bytes) / static_cast<double>(entries);
    // Of the files with filters, as often as they are asked.
    const auto rate = [&](double passes) {
      return probes.filter_lookups > 0 ? NumberOrNull(passes / probes.filter_lookups) : Json();
    };
    return {{"files", files},
            {"files_without_filter", without_filter},
            {"keys", entries},
            {"deletions", deletions},
            {"file_bytes", bytes},
            {"filter_bytes", filter_bytes},
            {"bits_per_key", bits},
            {"predicted_false_positive_rate", rate(probes.filter_predicted)},
            {"measured_false_positive_rate", rate(probes.filter_passes)},
            {"filter_lookups", static_cast<uint64_t>(probes.filter_lookups)},
            {"files_per_missing_lookup", probes.lookups / keys},
            {"passes_per_missing_lookup", probes.passes / keys}};
  }
};

// The filters of a level, by family.
Json FiltersOf(const TreeLevel& level) {
  Json filters = Json::array();
  for (const TreeFile& file : level.files) {
    const FilterSummary& filter = file.filter;
    auto group = std::find_if(filters.begin(), filters.end(),
                              [&](const Json& g) { return g["family"] == filter.family; });
    if (group == filters.end()) {
      const Json setting = filter.setting.unit.empty() ? Json() : Json(filter.setting.value);
      filters.push_back({{"family", filter.family},
                         {"files", 0},
                         {"partitioned_files", 0},
                         {"keys", 0},
                         {"bytes", 0},
                         {"setting", TextOrNull(filter.setting.unit)},
                         {"setting_min", setting},
                         {"setting_max", setting}});
      group = filters.end() - 1;
    }
    const auto add = [&](const char* field, uint64_t more) {
      (*group)[field] = (*group)[field].get<uint64_t>() + more;
    };
    add("files", 1);
    add("partitioned_files", filter.layout == FilterLayout::kPartitioned ? 1 : 0);
    add("keys", filter.entries);
    add("bytes", filter.bytes);
    if (filter.setting.unit.empty()) {
      for (const char* field : {"setting", "setting_min", "setting_max"}) (*group)[field] = nullptr;
    }
    if ((*group)["setting"].is_null()) continue;
    const double value = filter.setting.value;
    (*group)["setting_min"] = std::min((*group)["setting_min"].get<double>(), value);
    (*group)["setting_max"] = std::max((*group)["setting_max"].get<double>(), value);
  }
  return filters;
}

Json FileJson(const TreeFile& file, const FileProbes& probes) {
  return {{"name", file.name},
          {"level", file.level},
          {"keys", file.properties.entries},
          {"deletions", file.properties.deletions},
          {"file_bytes", file.bytes},
          {"filter_bytes", file.filter.bytes},
          {"family", file.filter.family},
          {"parameters", file.filter.parameters},
          {"partitions", file.filter.partitions},
          {"predicted_false_positive_rate",
           file.filter.exists() ? NumberOrNull(file.filter.predicted_rate) : Json(nullptr)},
          {"lookups", probes.lookups},
          {"passes", probes.passes},
          {"error", TextOrNull(file.error)}};
}

// What is known of a column family before it is put together.
struct Facts {
  const Tree& tree;
  bool own_probes = false;
  MissingKeys made = {};
  TreeProbes probes = {};
  BlockReads reads = {};
  Json ranges = Json::array();
  std::vector<std::string> range_notes = {};
  bool filters_are_cached = false;  // in the block cache, all or some
  // Some filters are of an unknown policy, and count as none.
  bool reads_are_upper_bound = false;
};

std::string Percent(uint64_t part, uint64_t whole) {
  return Fixed(100 * static_cast<double>(part) / static_cast<double>(whole), 1) + " %";
}

// Of a column family with a budget of bytes; empty if its filters are what that says.
std::string NoteOnBudget(const Tree& tree) {
  constexpr double kUsuallyAtMost = 1.1;  // docs/design/auto.md
  PolicySpec policy;
  if (!PolicySpec::Parse(tree.family.filter_policy, &policy).ok()) return "";
  const AutoSpec* const budget = policy.automatic();
  if (budget == nullptr || budget->bytes == 0) return "";
  const auto bytes = static_cast<double>(budget->bytes);
  const auto taken = static_cast<double>(tree.filter_bytes());
  if (taken > kUsuallyAtMost * bytes) {
    return "filters take " + Fixed(100 * (taken / bytes - 1), 0) + " % more than " + policy.text() +
           " may: those of earlier policies stay until their files are rewritten; a compaction of "
           "everything does that at once";
  }
  const double useful = budget->ForAllocator().BitsOf(static_cast<double>(tree.entries())) / 8;
  if (useful >= bytes) return "";
  return policy.text() + " has more than so few entries can use: of it they get " +
         Fixed(useful, 0) + " bytes at most";
}

// Where a program that takes its options from the OPTIONS file gets no answer from filters.
std::string NoteOnPolicy(const Tree& tree) {
  const std::string& words = tree.family.filter_policy;
  const std::string program = ": a program that takes its options from there ";
  if (words == "nullptr") {
    return "the OPTIONS file names no filter policy" + program + "asks none of these filters";
  }
  PolicySpec policy;
  const bool is_known = PolicySpec::Parse(words, &policy).ok();
  if (words.empty() || (is_known && words.find("rocksieve") != std::string::npos)) return "";
  const auto files = tree.files();
  const bool any_unasked = std::any_of(files.begin(), files.end(), [=](const TreeFile* file) {
    return is_known ? file->filter.family.rfind("rocksieve", 0) == 0 : file->filter.exists();
  });
  if (!any_unasked) return "";
  return "the OPTIONS file names " + words +
         (is_known ? program + "asks none of the filters that are rocksieve's"
                   : ", which is unknown here: a program that does not know it either asks none "
                     "of these filters");
}

std::vector<std::string> NotesOn(const Facts& facts) {
  const ColumnFamily& described = facts.tree.family;
  const bool intact = facts.tree.Problems().empty();
  std::vector<std::string> notes;
  if (!described.comparator_known) {
    notes.push_back("the comparator " + described.comparator_name +
                    " is not in this program, so it is unknown which files a lookup comes to; "
                    "rates of filters are right, and reads are not told");
  }
  if (facts.made.from_ranges_only) {
    notes.push_back("keys could not be read" + (intact ? " (" + facts.made.why + ")" : "") +
                    ": the probes lie between the first and the last keys of files");
  }
  if (described.optimize_filters_for_hits) {
    notes.push_back(
        "optimize_filters_for_hits is on: lookups do not ask the filters of the last "
        "level, if it has any");
  }
  const bool asks_prefixes = !described.whole_key_filtering;
  if (asks_prefixes && described.prefix_extractor_name.empty()) {
    notes.push_back(
        "whole_key_filtering is off and there is no prefix extractor: no lookup asks a "
        "filter");
  } else if (asks_prefixes && described.prefix_extractor == nullptr) {
    notes.push_back("the prefix extractor " + described.prefix_extractor_name +
                    " is not in this program: its filters count as absent");
  } else if (asks_prefixes) {
    notes.push_back("filters are asked for prefixes (" + described.prefix_extractor_name +
                    "): keys with a prefix that the data has are let through; predicted rates are "
                    "those of prefixes that it has not");
  }
  const std::string on_policy = NoteOnPolicy(facts.tree);
  if (!on_policy.empty()) notes.push_back(on_policy);
  if (facts.reads_are_upper_bound) {
    notes.push_back(
        "some filters are of a policy that neither rocksieve nor RocksDB has; they "
        "count as absent");
  }
  if (!facts.reads.error.empty() && described.comparator_known && intact) {
    notes.push_back("some lookups failed, so the reads are those of the others: " +
                    facts.reads.error);
  }
  if (facts.reads.keys_found > 0) {
    notes.push_back(Percent(facts.reads.keys_found, facts.reads.keys_tried) +
                    " of the probes, of a sample, are keys of the database; they count as reads "
                    "in vain. --probes wants missing keys only");
  }
  const std::string on_budget = NoteOnBudget(facts.tree);
  if (!on_budget.empty()) notes.push_back(on_budget);
  if (facts.filters_are_cached) {
    notes.push_back(
        "filters are in the block cache: where it is smaller than they are, lookups read filters "
        "as well, which are not among these data blocks; rocksieve whatif --cache=SIZE reckons "
        "how much that is");
  }
  notes.insert(notes.end(), facts.range_notes.begin(), facts.range_notes.end());
  return notes;
}

// Bytes that rocksieve.auto may give to the filters of so many entries; null of another policy.
Json BudgetOf(const ColumnFamily& described, uint64_t entries) {
  PolicySpec policy;
  if (!PolicySpec::Parse(described.filter_policy, &policy).ok() || policy.automatic() == nullptr) {
    return nullptr;
  }
  return std::llround(policy.automatic()->BudgetBytes(static_cast<double>(entries)));
}

Json FamilyJson(const Facts& facts) {
  const ColumnFamily& described = facts.tree.family;
  const auto keys = static_cast<double>(std::max<uint64_t>(facts.probes.keys, 1));
  Totals all;
  Json levels = Json::array(), files = Json::array();
  for (size_t i = 0; i < facts.tree.levels.size(); i++) {
    const TreeLevel& level = facts.tree.levels[i];
    Totals totals;
    for (size_t j = 0; j < level.files.size(); j++) {
      const FileProbes& probes = facts.probes.levels[i][j];
      totals.Add(level.files[j], probes);
      all.Add(level.files[j], probes);
      files.push_back(FileJson(level.files[j], probes));
    }
    levels.push_back({{"level", level.level}});
    levels.back().update(totals.InJson(keys));
    levels.back()["filters"] = FiltersOf(level);
  }
  // Data blocks that a lookup of a missing key reads in vain; unknown if the order of keys is.
  const auto reads = [&](double passes) {
    return described.comparator_known ? Json(facts.reads.per_pass * passes) : Json(nullptr);
  };
  Json json = {
      {"name", described.name},
      {"expected_useless_reads_per_missing_lookup", reads(facts.probes.passes)},
      {"expected_useless_reads_95",
       {reads(facts.probes.passes_low_95), reads(facts.probes.passes_high_95)}},
      {"expected_useless_reads_is_upper_bound", facts.reads_are_upper_bound},
      {"predicted_useless_reads_per_missing_lookup", reads(all.probes.predicted / keys)},
      {"useless_reads_per_missing_lookup_without_filters", reads(facts.probes.files_met)},
      {"share_of_files_without_filter",
       all.files == 0 ? 0
                      : static_cast<double>(all.without_filter) / static_cast<double>(all.files)}};
  json.update(all.InJson(keys));
  json.update({{"data_blocks_read_per_pass", facts.reads.per_pass},
               {"probes",
                {{"keys", facts.probes.keys},
                 {"source", facts.own_probes ? "file" : "made"},
                 {"sample_keys", facts.reads.keys_tried},
                 {"sample_keys_found", facts.reads.keys_found}}},
               {"filter_policy", TextOrNull(described.filter_policy)},
               {"filter_budget_bytes", BudgetOf(described, json["keys"])},
               {"whole_key_filtering", described.whole_key_filtering},
               {"prefix_extractor", TextOrNull(described.prefix_extractor_name)},
               {"optimize_filters_for_hits", described.optimize_filters_for_hits},
               {"comparator", described.comparator_name},
               {"levels", levels},
               {"ranges", facts.ranges},
               {"table_files", files},
               {"notes", NotesOn(facts)},
               {"problems", facts.tree.Problems()}});
  return json;
}

Status ExplainFamily(const ExplainOptions& options, Keys keys, Progress* progress, Facts* facts) {
  const Tree& tree = facts->tree;
  facts->own_probes = !options.probes.empty();
  if (!facts->own_probes) {
    RETURN_IF_ERROR(MakeMissingKeys(tree, options.probe_count, progress, &facts->made));
    keys = std::move(facts->made.keys);
  }
  RETURN_IF_ERROR(ProbeTree(tree, &keys, progress, &facts->probes));
  facts->reads = MeasureBlockReads(tree, keys);
  const bool caches_filters = CachesFilters(tree.database->options(), tree.family.name);
  for (const TreeFile* file : tree.files()) {
    facts->reads_are_upper_bound |= !file->filter.can_be_asked;
    facts->filters_are_cached |= file->filter.layout == FilterLayout::kPartitioned ||
                                 (file->filter.exists() && caches_filters);
  }
  if (options.range_lengths.empty()) return Status::OK();
  return ExplainRanges(tree, options.range_lengths, progress, &facts->ranges, &facts->range_notes);
}

}  // namespace

Status Explain(const ExplainOptions& options, Progress* progress, Json* explanation,
               const DatabaseTrees* opened) {
  Keys keys;
  DatabaseTrees own;
  if (opened == nullptr) {
    opened = &own;
    RETURN_IF_ERROR(OpenAndReadTrees(options.directory, options.column_families, progress, &own));
  }
  if (!options.probes.empty()) {
    RETURN_IF_ERROR(ReadProbeKeys(options.probes, options.probes_are_hex, &keys));
  }
  bool ok = true;
  Json families = Json::array();
  const std::vector<std::string>& names = options.column_families;
  for (const Tree& tree : opened->trees) {
    const std::string& name = tree.family.name;
    if (!names.empty() && std::find(names.begin(), names.end(), name) == names.end()) continue;
    Facts facts{tree};
    RETURN_IF_ERROR(ExplainFamily(options, keys, progress, &facts));
    families.push_back(FamilyJson(facts));
    ok = ok && families.back()["problems"].empty();
  }
  const Database& database = *opened->database;
  *explanation = {{"rocksieve_version", ROCKSIEVE_VERSION},
                  {"rocksdb_version", rocksdb::GetRocksVersionAsString()},
                  {"database", database.directory()},
                  {"options_file", TextOrNull(database.options().file_name())},
                  {"write_ahead_log_bytes", database.write_ahead_log_bytes()},
                  {"ok", ok},
                  {"column_families", families}};
  return Status::OK();
}

const char kDamageRemedy[] =
    "A damaged filter loses no key: lookups read the file as if it had none, and a compaction "
    "writes a new one; rocksieve inspect FILE.sst says more. What a file needs that cannot be "
    "read, rocksieve doctor says.";

std::string LevelName(const Json& level) {
  return level.is_number() ? "L" + level.dump() : level.get<std::string>();
}

std::string PerThousand(const Json& passes) { return Significant(1000 * passes.get<double>(), 3); }

Json SettingOf(const Json& group) {
  if (group["setting"].is_null()) return nullptr;
  const auto text = [&](const char* field) {
    const auto number = group[field].get<double>();
    return Fixed(number, number == std::floor(number) ? 0 : 1);
  };
  const std::string least = text("setting_min"), most = text("setting_max");
  return (least == most ? least : least + " to " + most) + " " + group["setting"].get<std::string>();
}

std::string NameOfRange(const Json& kind) {
  return kind["kind"] == "prefix" ? Filled("prefix of {length}", kind)
                                  : Counted(kind["length"], "number");
}

std::string UselessReadsWords(const Json& family) {
  std::string words =
      "{expected_useless_reads_per_missing_lookup:3} data blocks in vain (95 %: "
      "{/expected_useless_reads_95/0:3} to {/expected_useless_reads_95/1:3}; from {/probes/keys}";
  words += family["probes"]["source"] == "file" ? " keys of yours" : " random keys";
  words +=
      "; predicted: {predicted_useless_reads_per_missing_lookup:3}). Without filters: "
      "{useless_reads_per_missing_lookup_without_filters:3}. {share_of_files_without_filter:%.1} % "
      "of the files have no filter.";
  return Filled(words, family);
}

}  // namespace rocksieve::tools
