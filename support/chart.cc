#include "support/chart.h"

#include <algorithm>
#include <cmath>

namespace rocksieve {

Decades DecadesOf(const Chart& chart) {
  double lowest = 0, highest = 0;
  bool any = false;
  const auto include = [&](const ChartPoint& point) {
    if (point.y <= 0 || point.x < chart.x_min || point.x > chart.x_max) return;
    const double log = std::log10(point.y);
    lowest = any ? std::min(lowest, log) : log;
    highest = any ? std::max(highest, log) : log;
    any = true;
  };
  for (const ChartSeries& series : chart.series) {
    for (const ChartPoint& point : series.points) include(point);
  }
  for (const ChartMark& mark : chart.marks) include(mark.point);
  if (!any) return {};
  constexpr double kRounding = 1e-9;
  Decades decades;
  decades.lowest = static_cast<int>(std::floor(lowest + kRounding));
  decades.highest = static_cast<int>(std::ceil(highest - kRounding));
  if (decades.lowest == decades.highest) decades.lowest--;
  return decades;
}

Steps StepsOf(const Chart& chart) {
  double highest = 0;
  const auto include = [&](const ChartPoint& point) {
    if (point.x < chart.x_min || point.x > chart.x_max) return;
    highest = std::max(highest, point.y + point.y_error);
  };
  for (const ChartSeries& series : chart.series) {
    for (const ChartPoint& point : series.points) include(point);
  }
  for (const ChartMark& mark : chart.marks) include(mark.point);
  if (highest <= 0) return {};
  constexpr double kFewestSteps = 5;
  const double power = std::pow(10, std::floor(std::log10(highest / kFewestSteps)));
  Steps steps;
  steps.step = power;
  for (const double factor : {2.0, 5.0}) {
    if (factor * power * kFewestSteps <= highest) steps.step = factor * power;
  }
  constexpr double kRounding = 1e-9;
  steps.count = static_cast<int>(std::ceil(highest / steps.step - kRounding));
  return steps;
}

double HeightAt(const ChartSeries& series, double x) {
  const std::vector<ChartPoint>& points = series.points;
  const auto right = std::lower_bound(points.begin(), points.end(), x,
                                      [](const ChartPoint& p, double at) { return p.x < at; });
  if (right == points.end()) return -1;
  if (right->x == x) return right->y;
  if (right == points.begin()) return -1;
  const ChartPoint& left = *(right - 1);
  if (left.y <= 0 || right->y <= 0) return -1;
  const double share = (x - left.x) / (right->x - left.x);
  return std::exp(std::log(left.y) * (1 - share) + std::log(right->y) * share);
}

}  // namespace rocksieve
