// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>

#include <rocksieve/filter_policy.h>

#include "support/text.h"
#include "tools/command/command.h"
#include "tools/demo/demo.h"

namespace rocksieve::tools {
namespace {

constexpr size_t kWidth = 100;

using Kind = Column::Kind;

std::string Paragraph(const std::string& text) { return Wrapped(text, kWidth) + "\n"; }

std::string Introduction(Json keys) {
  if (keys["source"] == "-") keys["source"] = "the standard input";
  keys["smallest"] = kSmallestValueBytes;
  keys["largest"] = kLargestValueBytes;
  return Paragraph(
      Filled("Distinct keys from {source}: {distinct}. Stored, with values of {smallest} to "
             "{largest} bytes: {present}. Held out, to be looked up as missing keys: {missing}.",
             keys));
}

std::string TreeTable(const Json& levels) {
  const auto name = [](const Json& level) { return Filled("level {level}", level); };
  const auto megabytes = [](const Json& bytes) { return Fixed(bytes.get<double>() / 1e6, 1); };
  return ForPeople({{"", "", "tree", Kind::kText, 0, name},
                    {"files", "", "files", Kind::kFixed, 0},
                    {"keys", "", "keys", Kind::kFixed, 0},
                    {"data_bytes", "", "data, MB", Kind::kFixed, 0, megabytes}},
                   levels);
}

std::string Checks(const Json& result) {
  if (result["ok"]) {
    return Paragraph("Checked: all " + std::to_string(result["filters"].size()) +
                     " trees have the same files in the same levels, with the same key ranges and "
                     "entries; in each, every stored key is found with its value, and none of the "
                     "missing keys is found.");
  }
  std::string text;
  for (const Json& sentence : result["failed_checks"]) {
    text += Paragraph("CHECK FAILED: " + sentence.get<std::string>());
  }
  return text;
}

std::string Percent(const Json& rate) {
  const auto percent = [&](const char* field) { return Fixed(100 * rate[field].get<double>(), 3); };
  return percent("rate") + " (" + percent("low_95") + "-" + percent("high_95") + ")";
}

std::string Comparison(const Json& filters) {
  return ForPeople({{"name", "", "filter", Kind::kText},
                    {"filter_bytes_per_key", "filter\nbytes", "per key", Kind::kFixed, 3},
                    {"data_block_reads_per_1000_missing_keys", "data block\nreads per",
                     "1000 miss.", Kind::kFixed, 1},
                    {"expected_false_positive_rate", "false positives\npredicted, % of",
                     "probes (95 % int.)", Kind::kFixed, 0, Percent},
                    {"observed_false_positive_rate", "false positives\nobserved, % of",
                     "probes (95 % int.)", Kind::kFixed, 0, Percent},
                    {"/missing_lookup_us/median", "us per\nmissing", "lookup"},
                    {"/present_lookup_us/median", "us per\npresent", "lookup"}},
                   filters);
}

constexpr char kNotes[] =
    R"(Reads: as RocksDB counts them, without a block cache. Predicted: what the filters promise, and where
95 % of such trees come out. Observed: in all lookups of missing keys (Wilson's interval). Times:
medians, with all files in the system's cache; where a read has to wait for a disk, it costs more.
)";

// The path of librocksieve.so beside the build in this process; its bare name if the system does
// not tell.
std::string PluginLibraryPath() {
  constexpr char kName[] = "librocksieve.so";
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&NewFilterPolicy), &info) == 0) return kName;
  std::error_code error;
  const auto build = std::filesystem::canonical(info.dli_fname, error);
  return error ? kName : build.parent_path() / kName;
}

std::string HowToTurnOn() {
  const std::string library = PluginLibraryPath();
  const bool splits = library.find_first_of(" :") != std::string::npos;
  return "To turn it on, name the filter where your program makes its table options\n"
         "    rocksieve::NewFilterPolicy(\"rocksieve.bloom:10\", &table_options.filter_policy);\n"
         "or in its option string or OPTIONS file\n"
         "    block_based_table_factory={filter_policy=rocksieve.bloom:10}\n"
         "and link librocksieve.so, or preload it into a program on the shared librocksdb:\n"
         "    LD_PRELOAD=" +
         (splits ? "/usr/lib/librocksieve.so" : library) + " PROGRAM\n" +
         (splits ? "(once it is there, or elsewhere without spaces and colons in its path: the\n"
                   "dynamic linker takes them for ends of names. Now it is " +
                       library + ")\n"
                 : "");
}

std::string Ranges(const Json& ranges) {
  const std::string introduction = Filled(
      "Ranges: {keys} events, keys of entity and time, 8 bytes each, in a tree of the same shape. "
      "Asked whether an entity has an event in the {range_times} units of time after one, which it "
      "has not, by iterators with an upper bound:",
      ranges);
  return Paragraph(introduction) + "\n" +
         ForPeople({{"name", "", "filter", Kind::kText},
                    {"data_block_reads_per_1000_ranges", "data block reads", "per 1000 ranges",
                     Kind::kFixed, 1}},
                   ranges["filters"]);
}

// What was compared, the table, what was saved, and how to turn the plugin on. At most 100 columns
// wide, but for long paths.
std::string InWords(const Json& result) {
  std::string text = Introduction(result["keys"]) + "\n" + TreeTable(result["tree"]) + "\n" +
                     Checks(result) + "\n" + Comparison(result["filters"]) + "\n" + kNotes + "\n" +
                     Paragraph(result["summary"]) + "\n" + Ranges(result["ranges"]) + "\n" +
                     HowToTurnOn();
  if (!result["kept_directory"].is_null()) {
    text += Filled("\nThe databases are kept in {kept_directory}.\n", result);
  }
  return text;
}

}  // namespace

Command AddDemoCommand(Parser* parent) {
  const auto options = std::make_shared<DemoOptions>();
  Parser* parser = AddParser(
      parent,
      {.name = "demo",
       .summary = "what lookups of missing keys cost with each filter",
       .description = "Builds one tree of real keys seven times: without filters, with RocksDB's "
                      "Bloom and Ribbon, with rocksieve.bloom, cuckoo, ribbon and auto. Checks "
                      "that no key is lost; compares memory, disk reads, false positives, and "
                      "times. Takes half a minute and 800 MB of disk.",
       .exit_codes = "0 done; 1 a check failed (a lost key); 2 could not run, or bad usage",
       .example = "Example, with the paths of files as keys:\n"
                  "  find /usr | rocksieve demo --keys=-"});
  AddText(parser, "--keys", &options->keys, "FILE",
          "one key per line, - for standard input. All bytes but newlines count "
          "(carriage returns too); empty and repeated lines do not. A random half is "
          "stored, the other half is looked up in vain. "
          "Default: /usr/share/dict/american-english-insane");
  const Command command = Reporting(parser, [options](Progress* progress, Report* report) {
    report->words = InWords;
    return RunDemo(*options, progress, &report->document);
  });
  AddText(parser, "--db-dir", &options->database_directory, "DIR",
          "build the databases in DIR, new or empty, and keep them. "
          "Default: a temporary directory, removed at the end");
  return command;
}

}  // namespace rocksieve::tools
