// SPDX-License-Identifier: Apache-2.0
// rocksieve filter: a filter of lines as a file, and lines that may be in it.
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>

#include <rocksieve/filter.h>
#include <rocksieve/filter_spec.h>

#include "support/pending_file.h"
#include "support/text.h"
#include "tools/command/command.h"
#include "tools/command/key_lines.h"
#include "tools/filter/filter_file.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

constexpr char kBuild[] = "build", kQuery[] = "query";
constexpr uint64_t kManyKeys = 5'000'000;  // whose filter takes a second or so

struct FilterOptions {
  std::string action, file;
  KeyLines lines;
  std::string spec, output;
  bool invert = false, count = false;
};

Json Described(const std::string& path, const FilterBlockInfo& info, size_t bytes) {
  const auto keys = static_cast<double>(info.key_count);
  return {{"file", path},
          {"filter_bytes", bytes},
          {"filter_keys", info.key_count},
          {"bits_per_key",
           info.key_count > 0 ? Json(8 * static_cast<double>(bytes) / keys) : Json(nullptr)},
          {"predicted_false_positive_rate", ExpectedFalsePositiveRate(info)},
          {"salted", info.salted}};
}

Status Published(PendingFile* file, std::string_view bytes) {
  std::string error;
  if (file->Append(bytes, &error) && file->Publish(&error) == 0) return Status::OK();
  return Status::IOError(error);
}

Status BuildFilter(const FilterOptions& options, Progress* progress, Json* document) {
  const auto start = std::chrono::steady_clock::now();
  FilterSpec spec;
  const std::string wrong = FilterSpec::Parse(options.spec, &spec);
  if (!wrong.empty()) return Status::InvalidArgument("--spec: " + wrong);
  std::string error;
  const std::unique_ptr<PendingFile> file = PendingFile::Create(options.output, &error);
  if (file == nullptr) return Status::IOError(error);

  FilterBuilder builder(spec);
  LinesRead read;
  Status status = ForEachKey(
      options.lines, "reading keys", progress,
      [&](std::string_view, std::string_view key) {
        builder.AddKey(key);
        return Status::OK();
      },
      &read);
  if (!status.ok()) return status;
  if (builder.key_count() > kManyKeys) progress->Begin("building the filter");
  const FilterBlock block = builder.Finish();
  if (InterruptSignal() != 0) return Status::Aborted("interrupted");
  status = Published(file.get(), block.view());
  if (!status.ok()) return status;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  *document = Described(options.output, OpenFilter(block.view()).info, block.size);
  document->update({{"spec", spec.ToString()},
                    {"lines", read.lines},
                    {"input_bytes", read.bytes},
                    {"saturated_fraction", block.saturated_fraction},
                    {"seconds", seconds.count()}});
  return status;
}

std::string BuiltInWords(const Json& built) {
  std::string words =
      Filled("{file}: {filter_bytes} bytes for ", built) + Counted(built["filter_keys"], "key");
  if (built["filter_keys"] != 0) {
    words += Filled(
        ", {bits_per_key:.2} bits per key; {predicted_false_positive_rate:%3} % of "
        "other lines pass",
        built);
  }
  words += ".\n";
  if (built["saturated_fraction"] != 0) {
    words += Filled(
        "It answers \"maybe\" to {saturated_fraction:%3} % of all keys: its keys were "
        "chosen against it. Build it with the option salted.\n",
        built);
  }
  return words;
}

// Prints lines as they come. On a terminal people see each at once.
class LinePrinter {
 public:
  void Print(std::string_view line) {
    std::cout << line << '\n';
    if (terminal_) std::cout.flush();
  }

 private:
  const bool terminal_ = isatty(STDOUT_FILENO) == 1;
};

Status QueryFilter(const FilterOptions& options, bool silent, Report* report) {
  std::unique_ptr<FilterFile> file;
  Status status = FilterFile::Open(options.file, &file);
  if (!status.ok()) return status;
  const Filter& filter = file->filter();
  LinePrinter printer;
  LinesRead read;
  uint64_t matches = 0;
  status = ForEachKey(
      options.lines, "querying", /*progress=*/nullptr,
      [&](std::string_view line, std::string_view key) {
        if (filter.MayContain(key) == options.invert) return Status::OK();
        matches++;
        if (!silent) printer.Print(line);
        // What cannot be printed is said at the end.
        return std::cout ? Status::OK() : Status::Incomplete();
      },
      &read);
  if (!status.ok() && !status.IsIncomplete()) return status;
  report->found = matches > 0;
  report->document = Described(options.file, file->info(), file->size());
  report->document.update({{"lines", read.lines},
                           {"input_bytes", read.bytes},
                           {"inverted", options.invert},
                           {"matches", matches}});
  return Status::OK();
}

// What flags mean for one of the two only.
Status CheckFilterFlags(const FilterOptions& options, bool json) {
  const bool builds = options.action == kBuild;
  const auto wrong = [](const std::string& text) { return Status::InvalidArgument(text); };
  if (builds && !options.file.empty()) {
    return wrong("filter build takes --output=FILE, and its keys from --input=FILE; what is " +
                 options.file + "?");
  }
  if (builds && (options.spec.empty() || options.output.empty())) {
    return wrong("filter build needs --spec=SPEC, such as rocksieve.ribbon:1%, and --output=FILE");
  }
  if (builds && (options.invert || options.count)) {
    return wrong("--invert and --count are for filter query");
  }
  if (!builds && options.file.empty()) return wrong("filter query needs the FILE of a filter");
  if (!builds && !(options.spec.empty() && options.output.empty())) {
    return wrong("--spec and --output are for filter build; what a filter is, it says itself");
  }
  if (!builds && options.count && json) return wrong("--json has the count: without --count");
  return Status::OK();
}

void AddFilterFlags(Parser* parser, FilterOptions* options) {
  parser->add_option("build|query", options->action, "build a filter, or query one")
      ->type_name("build|query")
      ->required()
      ->check([](const std::string& text) {
        return text == kBuild || text == kQuery ? std::string()
                                                : text + " is neither build nor query";
      });
  parser->add_option("file", options->file, "query: the filter")
      ->type_name("FILE")
      ->check(NotEmpty);
  AddText(parser, "--spec", &options->spec, "SPEC",
          "build: the filter, such as rocksieve.ribbon:1% or rocksieve.bloom:10");
  AddText(parser, "-o,--output", &options->output, "FILE",
          "build: the filter's file, which it replaces in one step");
  AddKeyLinesFlags(parser, &options->lines);
  parser->add_flag("--invert", options->invert,
                   "query: print the lines that are certainly not in it instead");
  parser->add_flag("--count", options->count, "query: print how many they are instead");
}

}  // namespace

Command AddFilterCommand(Parser* parent) {
  const auto options = std::make_shared<FilterOptions>();
  Parser* parser = AddParser(
      parent,
      {.name = "filter",
       .summary = "a filter of lines in a file, and the lines that may be in it",
       .description =
           "A line is a key. build keeps 8 bytes for each in memory, 21 as it builds; with "
           "rocksieve.range the keys themselves. query keeps the filter, and prints each line that "
           "may be among the keys: all that are, and few others. With --json, both print a "
           "document, query instead of the lines. A filter that is damaged is an error.",
       .exit_codes = "0 done, or some line was printed or counted; 1 none was; 2 could not run, or "
                     "bad usage",
       .example = "Example:\n"
                  "  cut -f1 seen.tsv | rocksieve filter build --spec=rocksieve.ribbon:1% -o seen\n"
                  "  cut -f1 new.tsv | rocksieve filter query seen --invert"});
  AddFilterFlags(parser, options.get());
  return Reporting(parser, [options](Progress* progress, Report* report) {
    const bool json = report->json;
    const Status status = CheckFilterFlags(*options, json);
    if (!status.ok()) return status;
    if (options->action == kBuild) {
      report->words = BuiltInWords;
      return BuildFilter(*options, progress, &report->document);
    }
    const bool counts = options->count;
    report->words = [counts](const Json& queried) {
      return counts ? queried["matches"].dump() + "\n" : std::string();
    };
    return QueryFilter(*options, counts || json, report);
  });
}

}  // namespace rocksieve::tools
