// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/text.h"
#include "tools/command/command.h"
#include "tools/inspect/inspect.h"

namespace rocksieve::tools {
namespace {

constexpr size_t kWidth = 96;

// Three significant digits, without zeros at the end.
std::string Percent(const Json& rate) {
  if (rate.is_null()) return "-";
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", 100 * rate.get<double>());
  return text;
}

std::string WithoutCommas(const Json& number) { return number.dump(); }

std::string Bytes(const Json& hex) {
  std::string bytes;
  FromHexBytes(hex.get<std::string>(), &bytes);
  return bytes;
}

std::string KeyOf(const Json& hex) { return PrintableKey(Bytes(hex)); }

std::string NameOr(const Json& name, const char* otherwise) {
  return name.is_null() ? otherwise : name.get<std::string>();
}

std::string FileLines(const Json& file) {
  if (file["format_version"].is_null()) {  // it is no table
    return Filled("{file}: {file_bytes} bytes, a filter by itself\n", file);
  }
  std::string filters = file["filters_whole_keys"] ? "whole keys" : "";
  if (file["filters_prefixes"]) {
    filters += Filled(
        filters.empty() ? "prefixes ({prefix_extractor})" : ", and prefixes ({prefix_extractor})",
        file);
  }
  return Filled("{file}: {file_bytes} bytes, ", file) + Counted(file["keys"], "key") + " (" +
         Counted(file["deletions"], "deletion") + "), column family " +
         NameOr(file["column_family"], "unknown") +
         Filled("\nTable format {format_version}, checksum {checksum}, ", file) +
         (file["compression"].is_null() ? "" : Filled("compression {compression}, ", file)) +
         Filled("comparator {comparator}\n", file) + "Filter policy " +
         NameOr(file["filter_policy"], "none") + (filters.empty() ? "" : ", of " + filters) + "\n";
}

using Labelled = std::vector<std::pair<std::string, std::string>>;

// What there is to say of a single block.
void AddBlock(const Json& block, Labelled* rows) {
  rows->emplace_back("family", Filled("{family}", block));
  if (!block["parameters"].is_null()) rows->emplace_back("parameters", block["parameters"]);
  const Json& header = block["header"];
  if (!header.is_null()) {
    rows->emplace_back(
        "header", Filled("family {family_number}, parameter {parameter}, ", header) +
                      Counted(header["key_count"], "key") + ", " +
                      Filled(header["salt_hex"].is_null() ? "no salt" : "salt {salt_hex}", header) +
                      Filled(", check word {check_word_hex}", header));
    rows->emplace_back("range", KeyOf(header["smallest_hex"]) + " to " +
                                    KeyOf(header["largest_hex"]) +
                                    (header["largest_cut"] ? "..." : ""));
  }
  if (!block["load"].is_null()) rows->emplace_back("load", Filled("{load:.3} {load_unit}", block));
  if (!block["fill"].is_null()) {
    rows->emplace_back("fill", Filled("{fill:%.2} % of {fill_of}", block));
  }
}

std::string LeftAligned(const Labelled& rows) {
  size_t width = 0;
  for (const auto& [label, text] : rows) width = std::max(width, label.size());
  std::string lines;
  for (const auto& [label, text] : rows) {
    lines += "  " + label + std::string(width + 2 - label.size(), ' ') + text + "\n";
  }
  return lines;
}

std::string Shortened(const std::string& text) {
  constexpr size_t kMost = 20;
  return text.size() <= kMost ? text : text.substr(0, kMost - 2) + "..";
}

// Foreign blocks do not say where their keys begin.
std::string FirstKeyOf(const Json& block) {
  return block["header"].is_null() ? "" : Shortened(KeyOf(block["header"]["smallest_hex"]));
}

std::string LastKeyOf(const Json& block) {
  return Shortened(
      KeyOf(block["header"].is_null() ? block["last_key_hex"] : block["header"]["largest_hex"]));
}

std::string PartitionTable(Json blocks) {
  using Kind = Column::Kind;
  for (size_t i = 0; i < blocks.size(); i++) blocks[i]["number"] = i + 1;
  return ForPeople(
      {{"number", "", "no.", Kind::kFixed, 0, WithoutCommas},
       {"offset", "", "offset", Kind::kFixed, 0, WithoutCommas, 2},
       {"bytes", "", "bytes", Kind::kFixed, 0, WithoutCommas, 3},
       {"keys", "", "keys", Kind::kFixed, 0},
       {"bits_per_key", "bits", "per key"},
       {"predicted_false_positive_rate", "predicted", "rate, %", Kind::kPercent, 3, Percent, 4},
       {"probed_false_positive_rate", "probed", "rate, %", Kind::kPercent, 3, Percent},
       {"load", "load", "", Kind::kFixed, 3, nullptr, 1},
       {"", "", "first key", Kind::kText, 0, FirstKeyOf},
       {"", "", "last key", Kind::kText, 0, LastKeyOf}},
      blocks);
}

std::string FilterLines(const Json& filter) {
  if (filter["layout"] == "none") return "It has no filter.\n";
  const Json& blocks = filter["blocks"];
  const bool partitioned = filter["layout"] == "partitioned";
  const std::string pieces =
      partitioned ? std::to_string(blocks.size()) + " partitions, index" : "one block";
  Labelled rows = {{"layout", pieces + " at offset " + WithoutCommas(filter["offset"])}};
  if (!filter["stored_as"].is_null()) {
    rows.emplace_back("stored as", Filled("{stored_as}", filter));
  }
  rows.emplace_back("size", Filled("{filter_bytes} bytes, ", filter) +
                                Counted(filter["filter_keys"], "key") +
                                Filled(", {bits_per_key:.2} bits per key", filter));
  if (partitioned && !blocks.empty()) {
    const auto largest =
        std::max_element(blocks.begin(), blocks.end(),
                         [](const Json& a, const Json& b) { return a["keys"] < b["keys"]; });
    rows.emplace_back("largest", Filled("{family}, {parameters}", *largest));
  } else if (!blocks.empty()) {
    AddBlock(blocks[0], &rows);
  }
  rows.emplace_back("predicted",
                    Percent(filter["predicted_false_positive_rate"]) + " % false positives");
  if (!filter["probed_false_positive_rate"].is_null()) {
    rows.emplace_back("probed", Percent(filter["probed_false_positive_rate"]) +
                                    Filled(" % false positives, of {probes} random keys", filter));
  }
  return "Filter:\n" + LeftAligned(rows) +
         (partitioned && !blocks.empty() ? "\n" + PartitionTable(blocks) : "");
}

std::string DamageLines(const Json& filter) {
  if (filter["ok"]) return "";
  std::string text = "\n";
  for (const Json& problem : filter["problems"]) {
    text += Wrapped("Damaged: " + problem.get<std::string>() + ".", TextColumns(kWidth)) + "\n";
  }
  for (const Json& block : filter["blocks"]) {
    for (const Json& part : block.value("damaged_parts", Json::array())) {
      text +=
          "  At offset " + WithoutCommas(block["offset"]) + ": " + part.get<std::string>() + "\n";
    }
  }
  return text + Wrapped(filter["remedy"], TextColumns(kWidth)) + "\n";
}

std::string InWords(const Json& inspection) {
  std::string text =
      FileLines(inspection) + "\n" + FilterLines(inspection) + DamageLines(inspection);
  for (const Json& block : inspection["blocks"]) {
    if (!block.contains("bytes_hex")) continue;
    const std::string bytes = Bytes(block["bytes_hex"]);
    text += "\nBlock at offset " + WithoutCommas(block["offset"]) + ", " +
            std::to_string(bytes.size()) + " bytes:\n" + HexDump(bytes, block["offset"]);
  }
  return text;
}

}  // namespace

Command AddInspectCommand(Parser* parent) {
  const auto path = std::make_shared<std::string>();
  const auto hex = std::make_shared<bool>(false);
  Parser* parser = AddParser(
      parent,
      {.name = "inspect",
       .summary = "the filter of one table file",
       .description =
           "Shows what the filter block says of itself, how full it is, and the rate of false "
           "positives that it promises and has; for a partitioned filter, each partition and the "
           "keys it is for. Knows the filters of rocksieve and RocksDB, those of rocksieve filter "
           "build, too, and names damaged blocks. Reads no keys, and writes nothing.",
       .exit_codes = "0 done; 1 the filter is damaged; 2 could not run, or bad usage",
       .example = "Example:\n  rocksieve inspect /var/lib/app/db/000123.sst"});
  parser->add_option("FILE", *path, "the table file")->type_name("FILE.sst")->required();
  parser->add_flag("--hex", *hex, "the bytes of the filter blocks as well");
  return Reporting(parser, [=](Progress* progress, Report* report) {
    report->words = InWords;
    return Inspect(*path, *hex, progress, &report->document);
  });
}

}  // namespace rocksieve::tools
