// SPDX-License-Identifier: Apache-2.0
// rocksieve distinct: how many different lines there are.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>

#include <rocksieve/estimate/hyper_log_log.h>
#include <rocksieve/estimate/k_minimum_values.h>

#include "support/text.h"
#include "tools/command/command.h"
#include "tools/command/key_lines.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

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
  const Status status = ForEachKey(
      lines, "counting", progress,
      [&](std::string_view, std::string_view key) {
        estimator.Add(key);
        return Status::OK();
      },
      &read);
  if (!status.ok()) return status;
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
  return status;
}

Status CountDistinct(const DistinctOptions& options, Progress* progress, Json* document) {
  double error = 0;
  Status status = ParsePercent(options.error, &error);
  if (!status.ok()) return status;
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

Command AddDistinctCommand(Parser* parent) {
  const auto options = std::make_shared<DistinctOptions>();
  Parser* parser = AddParser(
      parent,
      {.name = "distinct",
       .summary = "how many different lines there are, in little memory",
       .description =
           "Estimates it, and says how far off that may be. Its memory does not grow with the "
           "input. k-minimum-values keeps as many hashes of 16 bytes as the square of 1 / error, "
           "10,000 at 1%, and is exact up to that count. hyper-log-log takes one or two bytes "
           "instead of 16, but between 2.5 and 5 times as many distinct lines as it has bytes it "
           "counts up to 2.5% too many.",
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
