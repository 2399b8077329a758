#include "experiments/near_duplicates/pictures.h"

#include "support/chart.h"
#include "support/text.h"

namespace rocksieve::experiments {

Picture MeetingPicture(const std::vector<CorpusRuns>& all) {
  const LshBanding banding = all.at(0).searches.at(0).options.banding;
  Chart chart;
  chart.title = "Pairs that share a band of their signatures";
  chart.subtitle = std::to_string(banding.bands) + " bands of " + std::to_string(banding.rows) +
                   " rows; expected: 1 - (1 - J^rows)^bands";
  chart.x_label = "Jaccard similarity";
  chart.y_label = "percent of the pairs";
  chart.linear_y = true;
  for (int tenth = 0; tenth <= 10; tenth += 2) {
    chart.ticks.push_back({0.1 * tenth, Fixed(0.1 * tenth, 1), ""});
  }
  ChartSeries expected{"expected", {}, true};
  for (int percent = 1; percent <= 100; percent++) {
    expected.points.push_back({0.01 * percent, 100 * banding.CandidateProbability(0.01 * percent)});
  }
  chart.series.push_back(expected);
  for (const CorpusRuns& runs : all) {
    ChartSeries seen{runs.name, {}, false};
    for (size_t i = 1; i < kBins; i++) {
      const BinCounts& bin = runs.searches.at(0).bins[i];
      if (bin.met == 0) continue;
      const auto pairs = static_cast<double>(bin.pairs);
      seen.points.push_back({bin.similarity / pairs, 100 * static_cast<double>(bin.met) / pairs});
    }
    chart.series.push_back(seen);
  }
  return {"near_duplicates_meet", SvgDrawing(chart)};
}

}  // namespace rocksieve::experiments
