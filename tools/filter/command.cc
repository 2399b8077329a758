// SPDX-License-Identifier: Apache-2.0
// rocksieve filter: a filter of lines as a file, and lines that may be in it.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include <rocksieve/estimate/hyper_log_log.h>
#include <rocksieve/estimate/k_minimum_values.h>
#include <rocksieve/filter.h>
#include <rocksieve/filter_spec.h>

#include "support/files.h"
#include "support/return_if_error.h"
#include "support/text.h"
#include "tools/command/command.h"
#include "tools/command/key_lines.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

// 0, or the system's number of an error.
int ReadWhole(const std::string& path, std::string* bytes) {
  struct stat attributes = {};
  if (stat(path.c_str(), &attributes) != 0) return errno;
  if (!S_ISREG(attributes.st_mode)) return S_ISDIR(attributes.st_mode) ? EISDIR : EINVAL;
  std::ifstream file(path, std::ios::binary);
  if (!file) return errno;
  bytes->assign(std::istreambuf_iterator<char>(file), {});
  return 0;
}

const char* WhatIsWrong(BlockState state) {
  switch (state) {
    case BlockState::kIntact:
      break;
    case BlockState::kForeign:
      return " is not a filter of rocksieve filter build. Of table files (*.sst), rocksieve "
             "inspect shows the filters.";
    case BlockState::kDamaged:
      return " is a damaged filter: its bytes are not those that were written, and no answer of it "
             "can be trusted. Build it again from its keys: rocksieve filter build";
    case BlockState::kFutureVersion:
      return " is a filter of a later version of rocksieve. Query it with that one.";
  }
  return "";
}

// A filter as a file: the bytes of one filter block (docs/formats/block.md), and nothing else. An
// error names the file, says what is wrong with it, and what helps.
Status ReadFilter(const std::string& path, std::string* bytes, OpenedFilter* opened) {
  const int error = ReadWhole(path, bytes);
  if (error == EINVAL) return Status::InvalidArgument(path + " is no regular file");
  if (error != 0) {
    return Status::IOError("cannot read the filter " + path + ": " + std::strerror(error));
  }
  *opened = OpenFilter(*bytes);
  return opened->state == BlockState::kIntact
             ? Status::OK()
             : Status::Corruption(path + WhatIsWrong(opened->state));
}

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
  RETURN_IF_ERROR(ForEachKey(
      options.lines, "reading keys", progress,
      [&](std::string_view, std::string_view key) {
        builder.AddKey(key);
        return Status::OK();
      },
      &read));
  if (builder.key_count() > kManyKeys) progress->Begin("building the filter");
  const FilterBlock block = builder.Finish();
  if (InterruptSignal() != 0) return Status::Aborted("interrupted");
  RETURN_IF_ERROR(Published(file.get(), block.view()));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  *document = Described(options.output, OpenFilter(block.view()).info, block.size);
  document->update({{"spec", spec.ToString()},
                    {"lines", read.lines},
                    {"input_bytes", read.bytes},
                    {"saturated_fraction", block.saturated_fraction},
                    {"seconds", seconds.count()}});
  return Status::OK();
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

Status QueryFilter(const FilterOptions& options, bool silent, Report* report) {
  std::string bytes;
  OpenedFilter opened;
  RETURN_IF_ERROR(ReadFilter(options.file, &bytes, &opened));
  const bool is_terminal = isatty(STDOUT_FILENO) == 1;  // where people see each line at once
  LinesRead read;
  uint64_t matches = 0;
  const Status status = ForEachKey(
      options.lines, "querying", /*progress=*/nullptr,
      [&](std::string_view line, std::string_view key) {
        if (opened.filter->MayContain(key) == options.invert) return Status::OK();
        matches++;
        if (!silent) std::cout << line << '\n';
        if (!silent && is_terminal) std::cout.flush();
        // What cannot be printed is said at the end.
        return std::cout ? Status::OK() : Status::Incomplete();
      },
      &read);
  if (!status.ok() && !status.IsIncomplete()) return status;
  report->found = matches > 0;
  report->document = Described(options.file, opened.info, bytes.size());
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

constexpr char kKMinimumValues[] = "k-minimum-values", kHyperLogLog[] = "hyper-log-log";
constexpr double kDeviationsOf95Percent = 1.96;

struct DistinctOptions {
  KeyLines lines;
  std::string estimator = kKMinimumValues;
  std::string error = "1%";  // standard error, of the count
};

Status ParsePercent(const std::string& text, double* share) {
  const char* const end = text.data() + text.size();
  const auto [stopped, result] = std::from_chars(text.data(), end, *share);
  if (result != std::errc() || stopped + 1 != end || *stopped != '%') {
    return Status::InvalidArgument("--error takes per cent, such as 1% or 0.25%, not " + text);
  }
  *share /= 100;
  return Status::OK();
}

// How it counts, beside what it found; the names are those of rocksieve/c.h.
template <typename Estimator>
Status Count(Estimator estimator, const KeyLines& lines, Progress* progress, Json* document) {
  const auto start = std::chrono::steady_clock::now();
  LinesRead read;
  RETURN_IF_ERROR(ForEachKey(
      lines, "counting", progress,
      [&](std::string_view, std::string_view key) {
        estimator.Add(key);
        return Status::OK();
      },
      &read));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const Estimate count = estimator.DistinctCount();
  const double off = kDeviationsOf95Percent * count.standard_error;
  // No fewer than none, no more than lines.
  const auto rounded = [&](double number) {
    return static_cast<uint64_t>(
        std::round(std::clamp(number, 0.0, static_cast<double>(read.lines))));
  };
  document->update({{"lines", read.lines},
                    {"input_bytes", read.bytes},
                    {"distinct", rounded(count.value)},
                    {"standard_error", count.standard_error},
                    {"low_95", rounded(count.value - off)},
                    {"high_95", rounded(count.value + off)},
                    {"exact", count.standard_error == 0},
                    {"memory_bytes", estimator.MemoryBytes()},
                    {"seconds", seconds.count()}});
  return Status::OK();
}

Status CountDistinct(const DistinctOptions& options, Progress* progress, Json* document) {
  double error = 0;
  RETURN_IF_ERROR(ParsePercent(options.error, &error));
  *document = {{"estimator", options.estimator}, {"error", error}};
  try {
    if (options.estimator == kHyperLogLog) {
      return Count(HyperLogLog(HyperLogLogOptions::ForError(error)), options.lines, progress,
                   document);
    }
    return Count(KMinimumValues(KMinimumValuesOptions::ForError(error)), options.lines, progress,
                 document);
  } catch (const std::invalid_argument&) {
    return Status::InvalidArgument(options.estimator + " counts within " +
                                   (options.estimator == kHyperLogLog ? "0.21%" : "0.1%") +
                                   " to 99%, not --error=" + options.error);
  }
}

std::string DistinctInWords(const Json& found) {
  std::string words = Filled("{distinct} distinct of ", found) + Counted(found["lines"], "line");
  if (found["exact"]) {
    words += ", exactly.\n";
  } else {
    Json shown = found;
    shown["share"] =
        found["standard_error"].get<double>() / std::max(1.0, found["distinct"].get<double>());
    words += Filled(
        ", standard error {standard_error:.0} ({share:%.2} %); 95 %: {low_95} to "
        "{high_95}.\n",
        shown);
  }
  return words + Filled("Counted by {estimator} in {memory_bytes} bytes of memory.\n", found);
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
    RETURN_IF_ERROR(CheckFilterFlags(*options, json));
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

// rocksieve distinct: how many different lines there are.

Command AddDistinctCommand(Parser* parent) {
  const auto options = std::make_shared<DistinctOptions>();
  Parser* parser = AddParser(
      parent,
      {.name = "distinct",
       .summary = "how many different lines there are, in little memory",
       .description =
           "Estimates it, and says how far off that may be. Its memory does not grow with the "
           "input. k-minimum-values keeps as many hashes of 16 bytes as the square of 1 / error, "
           "10,000 at 1%, and is exact up to that count. hyper-log-log takes 1 or 2 bytes instead "
           "of 16. If the distinct lines are 2.5 to 5 times its bytes, it counts up to 2.5% too "
           "many.",
       .exit_codes = "0 done; 2 could not run, or bad usage",
       .example = "Example, how many addresses a log has:\n"
                  "  cut -d' ' -f1 access.log | rocksieve distinct"});
  parser->add_option("--estimator", options->estimator, "how to count. Default: k-minimum-values")
      ->type_name("k-minimum-values|hyper-log-log")
      ->check([](const std::string& text) {
        return text == kKMinimumValues || text == kHyperLogLog
                   ? std::string()
                   : text + " is neither k-minimum-values nor hyper-log-log";
      });
  AddText(parser, "--error", &options->error, "PERCENT",
          "the standard error that is wanted, of the count. Default: 1%");
  AddKeyLinesFlags(parser, &options->lines);
  return Reporting(parser, [options](Progress* progress, Report* report) {
    report->words = DistinctInWords;
    return CountDistinct(*options, progress, &report->document);
  });
}

}  // namespace rocksieve::tools
