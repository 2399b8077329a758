#include "experiments/hyphenation/pictures.h"

#include <algorithm>

#include "support/chart.h"
#include "support/text.h"

namespace rocksieve::experiments {
namespace {

using MeanOfResult = Mean HyphenationResult::*;

// A line for each candidate; those without a rate, a dashed one from end to end.
std::string Draw(const HyphenationResults& results, const char* title, const char* y_label,
                 MeanOfResult mean) {
  Chart chart;
  chart.title = title;
  chart.subtitle = Thousands(results.exceptions) + " exceptions, " + Thousands(results.words) +
                   " words; bars: 95 % confidence";
  chart.x_label = "false-positive rate asked for, percent";
  chart.y_label = y_label;
  chart.linear_y = true;
  chart.x_min = 0;
  for (const HyphenationResult& result : results.results) {
    chart.x_max = std::max(chart.x_max, 100 * result.rate);
  }
  for (const double tick : {1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0}) {
    chart.ticks.push_back({tick, Fixed(tick, 0), ""});
  }
  for (const HyphenationResult& result : results.results) {
    if (chart.series.empty() || chart.series.back().name != result.candidate) {
      chart.series.push_back({result.candidate, {}, result.exact});
    }
    const Mean& value = result.*mean;
    auto& points = chart.series.back().points;
    points.push_back({100 * result.rate, value.value, value.half_width});
    if (result.exact) points.push_back({chart.x_max, value.value, value.half_width});
  }
  return SvgDrawing(chart);
}

}  // namespace

std::vector<Picture> HyphenationPictures(const HyphenationResults& results,
                                         const std::string& prefix) {
  std::vector<Picture> pictures;
  pictures.push_back({prefix + "hyphenation_initialisation",
                      Draw(results, "Initialisation: the exceptions into the set", "microseconds",
                           &HyphenationResult::initialisation_us)});
  pictures.push_back({prefix + "hyphenation_lookups",
                      Draw(results, "Lookups: the set, and for its hits the exact table",
                           "nanoseconds per word", &HyphenationResult::lookup_ns)});
  pictures.push_back(
      {prefix + "hyphenation_run", Draw(results, "Whole run: lookups and patterns",
                                        "nanoseconds per word", &HyphenationResult::run_ns)});
  return pictures;
}

}  // namespace rocksieve::experiments
