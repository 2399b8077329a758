// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>

#include "support/chart.h"
#include "support/files.h"
#include "support/return_if_error.h"
#include "support/text.h"
#include "tools/command/command.h"
#include "tools/whatif/whatif.h"

namespace rocksieve::tools {
namespace {

constexpr size_t kWidth = 100, kDrawingWidth = 80;

using Kind = Column::Kind;

std::string Percentage(const Json& share) { return Significant(100 * share.get<double>(), 3); }

std::string Seconds(const Json& seconds) {
  return Fixed(seconds.get<double>(), seconds.get<double>() < 1 ? 3 : 1);
}

std::string BitsOfLevel(const Json& level) {
  return Filled(level["entries"] == 0 ? "-" : "{filter_bits_per_entry:.2}", level);
}

std::string BytesRead(const Json& bytes) {
  return bytes < 100 ? Significant(bytes.get<double>(), 3) : Fixed(bytes.get<double>(), 0);
}

std::string PolicyTable(const Json& family) {
  Json rows = Json::array({family["now"]});
  rows[0]["spec"] = "now";
  for (const Json& policy : family["policies"]) rows.push_back(policy);
  if (family["entries"] == 0) {
    for (Json& row : rows) row["filter_bits_per_entry"] = nullptr;
  }
  std::vector<Column> columns = {{"spec", "", "policy", Kind::kText},
                                 {"filter_bytes", "filter", "bytes", Kind::kFixed, 0, nullptr, 3},
                                 {"filter_bits_per_entry", "bits per", "entry"},
                                 {"expected_useless_reads_per_missing_lookup", "useless reads per",
                                  "1,000 missing keys", Kind::kAligned, 0, ReadsPerThousand}};
  if (!family["cache_advice"].is_null()) {
    columns.push_back({"bytes_read_through_cache_per_missing_lookup", "bytes read", "through cache",
                       Kind::kAligned, 0, BytesRead});
  }
  columns.push_back({"build_seconds", "build,", "s", Kind::kFixed, 0, Seconds, 1});
  columns.push_back({"probe_nanoseconds_per_missing_lookup", "probes, ns", "per missing key",
                     Kind::kFixed, 0, nullptr, 2});
  return ForPeople(columns, rows);
}

// Bits per entry and rate of some policies, level by level; of the filters that are there, too.
std::string LevelTable(const Json& family, size_t begin, size_t end) {
  Json rows = family["now"]["levels"];
  for (Json& row : rows) row["filters"] = Json::array({row});
  std::vector<Column> columns = {
      {"level", "level", "", Kind::kFixed, 0},
      {"files", "files", "", Kind::kFixed, 0, nullptr, 2},
      {"entries", "entries", "", Kind::kFixed, 0, nullptr, 3},
      {"files_asked_per_missing_lookup", "asked", "per miss", Kind::kFixed, 2, nullptr, 1}};
  const auto add_columns = [&](const std::string& head, size_t filter) {
    const std::string field = "/filters/" + std::to_string(filter);
    columns.push_back({field, head, "bits", Kind::kFixed, 0, BitsOfLevel});
    columns.push_back(
        {field + "/false_positive_rate", "rate", "%", Kind::kAligned, 0, Percentage});
  };
  add_columns("now:", 0);
  std::string names;
  for (size_t i = begin; i < end; i++) {
    const Json& policy = family["policies"][i];
    for (size_t level = 0; level < rows.size(); level++) {
      rows[level]["filters"].push_back(policy["levels"][level]);
    }
    const std::string number = "(" + std::to_string(i + 1) + ")";
    add_columns(number, 1 + i - begin);
    names += number + Filled(" {spec}\n", policy);
  }
  return ForPeople(columns, rows) + names;
}

std::string LevelTables(const Json& family) {
  const size_t policies_per_table = TextColumns(kWidth) < kWidth ? 1 : 3;
  const size_t policies = family["policies"].size();
  std::string text;
  size_t begin = 0;
  do {
    const size_t end = std::min(begin + policies_per_table, policies);
    text += (begin == 0 ? "" : "\n") + LevelTable(family, begin, end);
    begin = end;
  } while (begin < policies);
  return text;
}

std::string BudgetTable(const Json& budgets) {
  constexpr char kReads[] = "expected_useless_reads_per_missing_lookup";
  std::vector<Column> columns = {{"filter_bits_per_entry", "bits per", "entry", Kind::kFixed, 0},
                                 {"filter_bytes", "filter", "bytes", Kind::kFixed, 0, nullptr, 1}};
  for (const auto& [family, reads] : budgets[0][kReads].items()) {
    const size_t cut = std::min(family.find_first_of(" ."), family.size());
    columns.push_back({"/" + std::string(kReads) + "/" + family, family.substr(0, cut),
                       family.substr(cut), Kind::kAligned, 0, ReadsPerThousand,
                       columns.size() == 2 ? 2 : 0});
  }
  return ForPeople(columns, budgets);
}

std::string UnitOfRanges(const Json& kind) {
  if (kind["kind"] == "own") return "of yours";
  return kind["kind"] == "prefix" ? "prefix" : kind["length"] == 1 ? "number" : "numbers";
}

std::string RangesTable(const Json& ranges) {
  std::vector<Column> columns = {{"spec", "", "policy", Kind::kText},
                                 {"filter_bits_per_entry", "bits per", "entry"}};
  for (size_t i = 0; i < ranges["kinds"].size(); i++) {
    const Json& kind = ranges["kinds"][i];
    columns.push_back(
        {"/expected_useless_reads_per_empty_range/" + std::to_string(i),
         kind["length"].is_null() ? "ranges" : Filled("{length}", kind),
         UnitOfRanges(kind), Kind::kAligned, 0, ReadsPerThousand});
  }
  columns.push_back({"expected_useless_reads_per_missing_lookup", "missing", "keys", Kind::kAligned,
                     0, ReadsPerThousand});
  return ForPeople(columns, ranges["policies"]);
}

std::string Paragraph(const std::string& text) { return Wrapped(text, TextColumns(kWidth)) + "\n"; }

// Why more memory does not mean fewer reads everywhere; empty where it does.
std::string RisesOf(const Json& budgets) {
  for (const auto& [family, first] :
       budgets[0]["expected_useless_reads_per_missing_lookup"].items()) {
    for (size_t i = 1; i < budgets.size(); i++) {
      const auto reads = [&family = family, &budgets](size_t at) {
        return budgets[at]["expected_useless_reads_per_missing_lookup"][family];
      };
      const Json before = reads(i - 1), after = reads(i);
      if (before.is_null() || after.is_null() || after <= before) continue;
      const bool automatic = family.find(".auto") != std::string::npos;
      return Paragraph(
          "Note: " + family + Filled(" rises from {filter_bits_per_entry}", budgets[i - 1]) +
          Filled(" to {filter_bits_per_entry} bits: ", budgets[i]) +
          (automatic ? "it chooses what costs the least time, and so few reads are left that "
                       "filters which are faster to probe are worth more than the last of them "
                       "(one in 100,000 lookups)."
                     : "its sizes are rounded, and not each is better than the one below."));
    }
  }
  return "";
}

// What the bytes read are of.
std::string CacheInWords(const Json& cache, const Json& family) {
  if (cache.is_null()) return "";
  return Paragraph(
             Filled("Bytes read: per lookup of a missing key, through a block cache of {bytes} "
                    "bytes with high_pri_pool_ratio={high_pri_pool_ratio:2}, which only this "
                    "column family uses, and with cache_index_and_filter_blocks=true",
                    cache) +
             (family["filters_are_cached"] ? "" : " (now it is false)") +
             ". A model reckons them, which knows no lookups of present keys: these need room for "
             "data.") +
         "\n";
}

std::string Section(bool own_probes, const Chart& chart, const Json& cache, const Json& family) {
  std::string text = Paragraph(
      Filled("Column family {name}: ", family) + Counted(family["entries"], "entry") + " in " +
      Counted(family["files"], "file") +
      ". Each file with the filter that the policy would give it at its own level; missing keys " +
      (own_probes ? "are those of --probes." : "distributed like the data."));
  for (const Json& warning : family["warnings"]) {
    text += Paragraph("Warning: " + warning.get<std::string>());
  }
  text +=
      "\n" + PolicyTable(family) + "\n" + CacheInWords(cache, family) + LevelTables(family) + "\n";
  text += "Useless reads per 1,000 missing keys, each family in the same memory:\n\n" +
          BudgetTable(family["budgets"]) + RisesOf(family["budgets"]) + "\n" +
          TerminalDrawing(chart, TextColumns(kDrawingWidth)) + "\n";
  if (!family["ranges"].is_null()) {
    text +=
        Paragraph(
            "Useless reads per 1,000 ranges without a key, of iterators with an upper bound and "
            "prefix_extractor=rocksieve.range, and per 1,000 missing keys:") +
        "\n" + RangesTable(family["ranges"]) + "\n";
  }
  const Json& advice = family["recommendation"];
  text +=
      Paragraph(Filled(advice["spec"].is_null() ? "{reason}" : "Recommended: {reason}", advice));
  if (!family["cache_advice"].is_null()) {
    text += Paragraph(Filled("For such a block cache: {reason}", family["cache_advice"]));
  }
  return text + "\n" +
         Paragraph(
             "Times were measured in this process just now, on one thread: filters of "
             "200,000 keys, in memory.");
}

using rocksdb::Status;

struct Flags {
  WhatIfOptions options;
  std::string bits = "6..20";
  std::string plot;
  uint64_t cache_bytes = 0;
};

constexpr int kLeastBits = 1, kMostBits = 32;

// "6..20"
Status ParseBits(const std::string& text, WhatIfOptions* options) {
  int least = 0, most = 0, end = 0;
  const bool whole = std::sscanf(text.c_str(), "%9d..%9d%n", &least, &most, &end) == 2 &&
                     static_cast<size_t>(end) == text.size();
  if (!whole || least < kLeastBits || most > kMostBits || least >= most) {
    return Status::InvalidArgument(
        "\"" + text +
        "\" is not a range of bits per entry: allowed are two whole numbers from 1 to 32, the "
        "smaller one first, as in --bits=6..20");
  }
  options->least_bits = least;
  options->most_bits = most;
  return Status::OK();
}

// If a picture is wanted.
Status Plot(const Flags& flags, const std::vector<Chart>& charts) {
  if (flags.plot.empty()) return Status::OK();
  if (charts.size() != 1) {
    return Status::InvalidArgument(
        charts.empty()
            ? "--plot: no column family looked at has table files, so there is nothing to draw"
            : "--plot draws one column family, but several have files: choose one "
              "with --column-family");
  }
  const std::string picture = SvgDrawing(charts[0]);
  OutputPlace place;
  std::string why;
  if (FindOutputPlace(flags.plot, &place, &why)) {
    bool in_place = place.is_stream;
    if (!in_place) {
      const std::unique_ptr<PendingFile> file = PendingFile::Create(place.path, &why);
      const bool appended = file != nullptr && file->Append(picture, &why);
      const int number = appended ? file->Publish(&why) : 0;
      if (appended && number == 0) return Status::OK();
      // A file that can be written, and not replaced.
      std::error_code error;
      in_place = (file == nullptr || number == EBUSY) && std::filesystem::exists(place.path, error);
    }
    if (in_place) {
      std::ofstream file(place.path, std::ios::binary);
      file << picture;
      file.close();
      if (!file.fail()) return Status::OK();
      why = std::strerror(errno);
    }
  }
  return Status::InvalidArgument("cannot write the picture to " + flags.plot + ": " + why +
                                 "\nName another file with --plot.");
}

std::string InWords(bool own_probes, const std::vector<Chart>& charts, const Json& document) {
  if (charts.empty()) {
    return "No column family looked at has table files, so there is nothing to filter yet.\n";
  }
  std::string text;
  for (size_t i = 0; i < charts.size(); i++) {
    text += (text.empty() ? "" : "\n") +
            Section(own_probes, charts[i], document["block_cache"], document["column_families"][i]);
  }
  return text;
}

// Gives back --ranges.
Option* AddFlags(Parser* parser, Flags* flags) {
  WhatIfOptions* options = &flags->options;
  AddText(parser, "--db", &options->database, "DIR", "the database; it is only read")->required();
  AddText(parser, "--spec", &options->specs, "SPEC",
          "a policy, ours or RocksDB's; may be repeated");
  AddText(parser, "--bits", &flags->bits, "FROM..TO", "budgets, in bits per entry. Default: 6..20");
  const auto is_drawn = [](const std::string& path) {
    const std::string extension = std::filesystem::path(path).extension();
    return extension.empty() || extension == ".svg"
               ? ""
               : "draws SVG, which programs do not look for in *" + extension + "; name a *.svg";
  };
  AddText(parser, "--plot", &flags->plot, "FILE", "write the picture there, as SVG")
      ->check(is_drawn);
  AddText(parser, "--column-family", &options->column_families, "NAME",
          "only this one; may be repeated. Default: all");
  Option* const probes = AddText(parser, "--probes", &options->probes, "FILE",
                                      "missing keys of your own, one per line, - for stdin");
  parser->add_flag("--hex", options->probes_are_hex, "the keys in FILE are in hexadecimal digits")
      ->needs(probes);
  Option* const ranges = parser
      ->add_flag("--ranges{}", options->ranges,
                 "iterators over ranges without keys as well, made like the data; --ranges=FILE: "
                 "of yours, lines of begin, TAB and end, with the escapes of joins")
      ->type_name("FILE");
  parser
      ->add_option("--read-us", options->read_us,
                   "time of a block read, for the advice. Default: 80")
      ->type_name("NUMBER")
      ->check(Between(std::numeric_limits<double>::min(), std::numeric_limits<double>::max()));
  constexpr uint64_t kMostCacheBytes = 1'000'000'000'000'000;
  Option* const cache =
      parser
          ->add_option("--cache", flags->cache_bytes,
                       "what missing keys read through a block cache of this size, such as "
                       "512MB, and the budget that suits it")
          ->type_name("BYTES")
          ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true) &
                      CLI::Range(uint64_t{1}, kMostCacheBytes));
  parser
      ->add_option("--high-pri-pool-ratio", options->block_cache.high_pri_pool_ratio,
                   "of that block cache, as of RocksDB's. Default: 0.5")
      ->type_name("NUMBER")
      ->needs(cache)
      ->check(Between(0, 1));
  return ranges;
}

}  // namespace

Command AddWhatIfCommand(Parser* parent) {
  const auto flags = std::make_shared<Flags>();
  Parser* parser = AddParser(
      parent,
      {.name = "whatif",
       .summary = "what other filters would do on the tree of a database",
       .description =
           "Predicts memory, rates, useless reads and times, as if each file were "
           "rewritten at its level; compares families; recommends one. Times filters for "
           "a second.",
       .exit_codes = "0 done; 2 could not run, or bad usage",
       .example = "Example:\n"
                  "  rocksieve whatif --db=/data/db --spec=rocksieve.auto:10 --plot=reads.svg"});
  Option* const ranges = AddFlags(parser, flags.get());
  return Reporting(parser, [flags, ranges](Progress* progress, Report* report) {
    std::vector<Chart> charts;
    flags->options.with_ranges = ranges->count() > 0;
    flags->options.block_cache.bytes = static_cast<double>(flags->cache_bytes);
    flags->options.block_cache.shard_bits = UsualShardBits(flags->cache_bytes);
    RETURN_IF_ERROR(ParseBits(flags->bits, &flags->options));
    RETURN_IF_ERROR(RunWhatIf(flags->options, progress, &report->document, &charts));
    report->words = [own_probes = !flags->options.probes.empty(), charts](const Json& document) {
      return InWords(own_probes, charts, document);
    };
    return Plot(*flags, charts);
  });
}

}  // namespace rocksieve::tools
