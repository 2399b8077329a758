#include "tools/demo/report.h"

#include <vector>

#include "support/text.h"
#include "tools/command/library_path.h"
#include "tools/demo/savings.h"
#include "tools/demo/value.h"

namespace rocksieve::tools {
namespace {

constexpr size_t kWidth = 100;

std::string Percent(const Share& share) {
  return Fixed(100 * share.value, 3) + " (" + Fixed(100 * share.low, 3) + "-" +
         Fixed(100 * share.high, 3) + ")";
}

std::string Introduction(const DemoResult& result) {
  return Wrapped(
             "Distinct keys from " +
                 (result.keys_source == "-" ? "the standard input" : result.keys_source) + ": " +
                 Thousands(result.present_keys + result.missing_keys) +
                 ". Stored, with values of " + std::to_string(kSmallestValueBytes) + " to " +
                 std::to_string(kLargestValueBytes) + " bytes: " + Thousands(result.present_keys) +
                 ". Held out, to be looked up as missing keys: " + Thousands(result.missing_keys) +
                 ".",
             kWidth) +
         "\n";
}

std::string Tree(const DemoResult& result) {
  std::vector<std::vector<std::string>> rows = {{"tree", "files", "keys", "data, MB"}};
  for (const LevelTotals& level : TotalsByLevel(result.tree)) {
    rows.push_back({"level " + std::to_string(level.level), Thousands(level.files),
                    Thousands(level.keys), Fixed(static_cast<double>(level.data_bytes) / 1e6, 1)});
  }
  return AlignedTable(rows);
}

std::string Checks(const DemoResult& result) {
  const std::vector<std::string> failed = result.FailedChecks();
  if (failed.empty()) {
    const std::string databases = std::to_string(result.variants.size());
    return Wrapped("Checked: all " + databases +
                       " trees have the same files in the same levels, with the same key ranges "
                       "and entries; in each, every stored key is found with its value, and none "
                       "of the missing keys is found.",
                   kWidth) +
           "\n";
  }
  std::string text;
  for (const std::string& sentence : failed) {
    text += Wrapped("CHECK FAILED: " + sentence, kWidth) + "\n";
  }
  return text;
}

std::string Comparison(const DemoResult& result) {
  std::vector<std::vector<std::string>> rows = {
      {"", "filter", "data block", "false positives", "false positives", "us per", "us per"},
      {"", "bytes", "reads per", "predicted, % of", "observed, % of", "missing", "present"},
      {"filter", "per key", "1000 miss.", "probes (95 % int.)", "probes (95 % int.)", "lookup",
       "lookup"}};
  for (const VariantResult& variant : result.variants) {
    const bool any_missing = variant.missing.keys > 0;
    rows.push_back({variant.name, Fixed(variant.FilterBytesPerKey(), 3),
                    any_missing ? Fixed(variant.ReadsPer1000Missing(), 1) : "-",
                    variant.HasRates() ? Percent(variant.expected_rate) : "-",
                    variant.HasRates() ? Percent(variant.ObservedRate()) : "-",
                    any_missing ? Fixed(variant.times.missing.median_us, 2) : "-",
                    Fixed(variant.times.present.median_us, 2)});
  }
  return AlignedTable(rows);
}

constexpr char kNotes[] =
    R"(Reads: as RocksDB counts them, without a block cache. Predicted: what the filters promise, and where
95 % of such trees come out. Observed: in all lookups of missing keys (Wilson's interval). Times:
medians, with all files in the system's cache; where a read has to wait for a disk, it costs more.
)";

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

}  // namespace

std::string TextReport(const DemoResult& result) {
  std::string text = Introduction(result) + "\n" + Tree(result) + "\n" + Checks(result) + "\n" +
                     Comparison(result) + "\n" + kNotes + "\n" +
                     Wrapped(SavingsSentence(result), kWidth) + "\n\n" + HowToTurnOn();
  if (!result.kept_directory.empty()) {
    text += "\nThe databases are kept in " + result.kept_directory + ".\n";
  }
  return text;
}

}  // namespace rocksieve::tools
