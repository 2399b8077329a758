// SPDX-License-Identifier: Apache-2.0
#include "support/chart.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <vector>

#include "support/text.h"

namespace rocksieve {
namespace {

constexpr double kLegendX = 712, kLegendStep = 24;

// Where the curves are in a drawing.
struct Frame {
  double width = 960, height = 560;
  double left = 84, right = 690, top = 74, bottom = 470;
};

Frame FrameOf(const PageDrawing& drawing) {
  constexpr double kLeft = 52, kRight = 26, kTop = 12, kBottom = 30, kSecondLine = 16;
  Frame frame;
  frame.width = drawing.width;
  frame.height = drawing.height;
  frame.left = kLeft;
  frame.right = drawing.width - kRight;
  frame.top = kTop;
  frame.bottom = drawing.height - kBottom - (drawing.second_lines ? kSecondLine : 0);
  return frame;
}

// Okabe and Ito's colours, which the colour-blind can tell apart.
constexpr const char* kColours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                    "#E69F00", "#56B4E9", "#000000"};

// With one digit after the point: a tenth of a pixel.
std::string Coordinate(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", value);
  return text;
}

class Drawing {
 public:
  // `page`: null for a document of its own.
  explicit Drawing(const Chart& chart, const PageDrawing* page = nullptr)
      : chart_(chart),
        page_(page),
        frame_(page == nullptr ? Frame() : FrameOf(*page)),
        decades_(DecadesOf(chart)),
        steps_(StepsOf(chart)) {}

  std::string Draw() {
    if (page_ == nullptr) {
      BeginDocument();
    } else {
      BeginInPage();
    }
    Grid();
    for (size_t i = 0; i < chart_.series.size(); i++) Series(chart_.series[i], i);
    for (size_t i = 0; i < chart_.marks.size(); i++) Mark(chart_.marks[i], i);
    return svg_ + "</svg>\n";
  }

 private:
  void BeginDocument() {
    svg_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + Coordinate(frame_.width) +
           " " + Coordinate(frame_.height) + "\" width=\"" + Coordinate(frame_.width) +
           "\" height=\"" + Coordinate(frame_.height) +
           "\" font-family=\"sans-serif\" font-size=\"13\">\n" +
           "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
    Text(frame_.left, 30, chart_.title, "start", "font-size=\"18\" font-weight=\"bold\"");
    Text(frame_.left, 52, chart_.subtitle, "start", "fill=\"#555555\"");
  }

  void BeginInPage() {
    const std::string id = EscapedMarkup(page_->id);
    svg_ = "<svg viewBox=\"0 0 " + Coordinate(frame_.width) + " " + Coordinate(frame_.height) +
           "\" role=\"img\" aria-labelledby=\"" + id + "-title " + id +
           "-desc\" font-size=\"13\">\n" + "<title id=\"" + id + "-title\">" +
           EscapedMarkup(chart_.title) + "</title>\n" + "<desc id=\"" + id + "-desc\">" +
           EscapedMarkup(page_->description) + "</desc>\n";
  }

  // The attribute that gives a line its colour.
  std::string Stroke(const char* colour, const char* name) const {
    return page_ != nullptr ? std::string("class=\"") + name + "\""
                            : std::string("stroke=\"") + colour + "\"";
  }

  std::string StrokeOfSeries(size_t index) const {
    return Stroke(kColours[index % std::size(kColours)], ClassOfSeries(index).c_str());
  }

  double X(double x) const {
    return frame_.left +
           (frame_.right - frame_.left) * (x - chart_.x_min) / (chart_.x_max - chart_.x_min);
  }
  double Y(double y) const {
    const double share =
        chart_.linear_y ? y / (steps_.step * steps_.count)
                        : (std::log10(y) - decades_.lowest) / (decades_.highest - decades_.lowest);
    return frame_.bottom - (frame_.bottom - frame_.top) * share;
  }

  void Text(double x, double y, const std::string& text, const char* anchor,
            const std::string& attributes = "") {
    if (text.empty()) return;
    svg_ += "<text x=\"" + Coordinate(x) + "\" y=\"" + Coordinate(y) + "\" text-anchor=\"" +
            anchor + "\" " + attributes + ">" + EscapedMarkup(text) + "</text>\n";
  }

  void Line(double x1, double y1, double x2, double y2, const std::string& attributes) {
    svg_ += "<line x1=\"" + Coordinate(x1) + "\" y1=\"" + Coordinate(y1) + "\" x2=\"" +
            Coordinate(x2) + "\" y2=\"" + Coordinate(y2) + "\" " + attributes + "/>\n";
  }

  void LineAt(double y, const std::string& stroke) {
    Line(frame_.left, Y(y), frame_.right, Y(y), stroke);
  }

  void LabelledLineAt(double y) {
    LineAt(y, Stroke("#cccccc", "grid"));
    char label[32];
    std::snprintf(label, sizeof(label), "%g", y);
    Text(frame_.left - 8, Y(y) + 4, label, "end");
  }

  void LogarithmicGrid() {
    for (int decade = decades_.lowest; decade <= decades_.highest; decade++) {
      const double power = std::pow(10, decade);
      for (int digit = 2; digit <= 9 && decade < decades_.highest; digit++) {
        LineAt(digit * power, Stroke("#f0f0f0", "minor"));
      }
      LabelledLineAt(power);
    }
  }

  void Grid() {
    if (chart_.linear_y) {
      for (int i = 0; i <= steps_.count; i++) LabelledLineAt(i * steps_.step);
    } else {
      LogarithmicGrid();
    }
    for (const ChartTick& tick : chart_.ticks) {
      const double x = X(tick.x);
      Line(x, frame_.top, x, frame_.bottom, Stroke("#eeeeee", "minor"));
      Line(x, frame_.bottom, x, frame_.bottom + 5, Stroke("#333333", "axis"));
      Text(x, frame_.bottom + 20, tick.label, "middle");
      if (page_ != nullptr && !page_->second_lines) continue;
      Text(x, frame_.bottom + 36, tick.second_line, "middle",
           (page_ != nullptr ? "class=\"soft\"" : "fill=\"#777777\"") +
               std::string(" font-size=\"11\""));
    }
    Line(frame_.left, frame_.top, frame_.left, frame_.bottom, Stroke("#333333", "axis"));
    Line(frame_.left, frame_.bottom, frame_.right, frame_.bottom, Stroke("#333333", "axis"));
    if (page_ != nullptr) return;
    Text((frame_.left + frame_.right) / 2, frame_.bottom + 62, chart_.x_label, "middle");
    const double middle = (frame_.top + frame_.bottom) / 2;
    Text(24, middle, chart_.y_label, "middle",
         "transform=\"rotate(-90 24 " + Coordinate(middle) + ")\"");
  }

  // At the point where the segment from a to b leaves the chart's range, or b.
  ChartPoint CutAt(const ChartPoint& a, const ChartPoint& b, double x) const {
    const double share = (x - a.x) / (b.x - a.x);
    if (chart_.linear_y) return {x, a.y * (1 - share) + b.y * share};
    return {x, std::exp(std::log(a.y) * (1 - share) + std::log(b.y) * share)};
  }

  // With short strokes across its ends. Below the chart's range it is cut off.
  void ErrorBar(const ChartPoint& point, const std::string& colour) {
    constexpr double kHalfStroke = 3;
    const double least = chart_.linear_y ? 0 : std::pow(10, static_cast<double>(decades_.lowest));
    const double x = X(point.x), top = Y(point.y + point.y_error),
                 bottom = Y(std::max(point.y - point.y_error, least));
    const std::string stroke = "stroke-width=\"1.2\" " + colour;
    Line(x, top, x, bottom, stroke);
    Line(x - kHalfStroke, top, x + kHalfStroke, top, stroke);
    Line(x - kHalfStroke, bottom, x + kHalfStroke, bottom, stroke);
  }

  void Series(const ChartSeries& series, size_t index) {
    const std::string colour = StrokeOfSeries(index);
    const std::string stroke = "fill=\"none\" stroke-width=\"2.5\" " + colour +
                               (series.dashed ? " stroke-dasharray=\"7 4\"" : "");
    std::string points;
    const auto add = [&](const ChartPoint& point) {
      points += Coordinate(X(point.x)) + "," + Coordinate(Y(point.y)) + " ";
    };
    const ChartPoint* before = nullptr;
    for (const ChartPoint& point : series.points) {
      if (point.y <= 0) continue;
      const bool inside = point.x >= chart_.x_min && point.x <= chart_.x_max;
      if (before != nullptr && before->x < chart_.x_min && point.x > chart_.x_min) {
        add(CutAt(*before, point, chart_.x_min));
      }
      if (inside) add(point);
      if (inside && point.y_error > 0) ErrorBar(point, colour);
      if (before != nullptr && before->x < chart_.x_max && point.x > chart_.x_max) {
        add(CutAt(*before, point, chart_.x_max));
      }
      before = &point;
    }
    svg_ += "<polyline " + stroke + " points=\"" + points + "\"/>\n";
    if (page_ != nullptr) return;
    const double y = frame_.top + 10 + kLegendStep * static_cast<double>(index);
    svg_ += "<polyline " + stroke + " points=\"" + Coordinate(kLegendX) + "," + Coordinate(y) +
            " " + Coordinate(kLegendX + 30) + "," + Coordinate(y) + "\"/>\n";
    Text(kLegendX + 38, y + 4, series.name, "start");
  }

  // Numbered, since labels at the points would cover one another.
  void Mark(const ChartMark& mark, size_t index) {
    const double legend_y =
        frame_.top + 22 + kLegendStep * static_cast<double>(chart_.series.size() + index);
    const bool inside =
        mark.point.x >= chart_.x_min && mark.point.x <= chart_.x_max && mark.point.y > 0;
    const std::string number = std::to_string(index + 1);
    if (inside) Numbered(X(mark.point.x), Y(mark.point.y), number);
    if (page_ != nullptr) return;
    Numbered(kLegendX + 15, legend_y, number);
    Text(kLegendX + 38, legend_y + 4, mark.name + (inside ? "" : " (not in the picture)"), "start");
  }

  void Numbered(double x, double y, const std::string& number) {
    svg_ += "<circle cx=\"" + Coordinate(x) + "\" cy=\"" + Coordinate(y) + "\" r=\"8\" " +
            (page_ != nullptr ? "class=\"mark\"" : "fill=\"#ffffff\" stroke=\"#333333\"") +
            " stroke-width=\"1.5\"/>\n";
    Text(x, y + 4, number, "middle", "font-size=\"11\"");
  }

  const Chart& chart_;
  const PageDrawing* const page_;
  const Frame frame_;
  const Decades decades_;
  const Steps steps_;
  std::string svg_;
};

constexpr size_t kAxisColumns = 8;
constexpr int kMostRowsPerDecade = 6, kRows = 18;

// Of columns that are written over from left to right, never outside of the line.
void Put(const std::string& text, size_t at, std::string* line) {
  if (line->size() < at + text.size()) line->resize(at + text.size(), ' ');
  line->replace(at, text.size(), text);
}

std::string WithoutTrailingBlanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// Centred, but not beyond the right end.
size_t Centred(double x, size_t size, size_t end) {
  const auto half = static_cast<double>(size) / 2;
  const auto begin = static_cast<size_t>(std::max(0.0, std::round(x - half + 0.5)));
  return std::min(begin, end - std::min(end, size));
}

}  // namespace

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

std::string SvgDrawing(const Chart& chart) { return Drawing(chart).Draw(); }

std::string SvgForPage(const Chart& chart, const PageDrawing& drawing) {
  return Drawing(chart, &drawing).Draw();
}

std::string ClassOfSeries(size_t index) {
  return "c" + std::to_string(index % std::size(kColours) + 1);
}

std::string EscapedMarkup(std::string_view text) {
  return Escaped(text, {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}});
}

std::string TerminalDrawing(const Chart& chart, size_t width) {
  const Decades decades = DecadesOf(chart);
  const int decade_count = decades.highest - decades.lowest;
  const int rows_per_decade = std::clamp(kRows / decade_count, 1, kMostRowsPerDecade);
  const auto rows = static_cast<size_t>(decade_count * rows_per_decade + 1);
  const size_t columns = std::max<size_t>(width, kAxisColumns + 10) - kAxisColumns - 1;
  std::vector<std::string> cells(rows, std::string(columns, ' '));

  const auto row_of = [&](double y) {
    const double row = (decades.highest - std::log10(y)) * rows_per_decade;
    return static_cast<size_t>(std::clamp(std::round(row), 0.0, static_cast<double>(rows - 1)));
  };
  const auto column_of = [&](double x) {
    return (x - chart.x_min) / (chart.x_max - chart.x_min) * static_cast<double>(columns - 1);
  };
  for (size_t i = 0; i < chart.series.size(); i++) {
    for (size_t column = 0; column < columns; column++) {
      const double x = chart.x_min + (chart.x_max - chart.x_min) * static_cast<double>(column) /
                                         static_cast<double>(columns - 1);
      const double y = HeightAt(chart.series[i], x);
      if (y > 0) cells[row_of(y)][column] = static_cast<char>('a' + i % 26);
    }
  }
  for (size_t i = 0; i < chart.marks.size(); i++) {
    const ChartPoint& point = chart.marks[i].point;
    if (point.y <= 0 || point.x < chart.x_min || point.x > chart.x_max) continue;
    const auto column = static_cast<size_t>(std::round(column_of(point.x)));
    cells[row_of(point.y)][column] = static_cast<char>('1' + i % 9);
  }

  std::string text = chart.y_label + "\n";
  for (size_t row = 0; row < rows; row++) {
    char label[32] = "";
    if (row % static_cast<size_t>(rows_per_decade) == 0) {
      const int decade = decades.highest - static_cast<int>(row) / rows_per_decade;
      std::snprintf(label, sizeof(label), "%g", std::pow(10, decade));
    }
    char line_start[64];
    std::snprintf(line_start, sizeof(line_start), "%*s |", static_cast<int>(kAxisColumns - 1),
                  label);
    text += WithoutTrailingBlanks(line_start + cells[row]) + "\n";
  }
  std::string axis = std::string(kAxisColumns, ' ') + "+" + std::string(columns, '-');
  std::string labels, second;
  for (const ChartTick& tick : chart.ticks) {
    const double x = static_cast<double>(kAxisColumns) + 1 + column_of(tick.x);
    axis[std::min(static_cast<size_t>(std::round(x)), axis.size() - 1)] = '+';
    Put(tick.label, Centred(x, tick.label.size(), width), &labels);
    Put(tick.second_line, Centred(x, tick.second_line.size(), width), &second);
  }
  text += axis + "\n" + WithoutTrailingBlanks(labels) + "\n";
  if (!WithoutTrailingBlanks(second).empty()) text += WithoutTrailingBlanks(second) + "\n";
  text += std::string(kAxisColumns + 1, ' ') + chart.x_label + "\n";
  for (size_t i = 0; i < chart.series.size(); i++) {
    text +=
        "  " + std::string(1, static_cast<char>('a' + i % 26)) + "  " + chart.series[i].name + "\n";
  }
  for (size_t i = 0; i < chart.marks.size(); i++) {
    text +=
        "  " + std::string(1, static_cast<char>('1' + i % 9)) + "  " + chart.marks[i].name + "\n";
  }
  return text;
}

}  // namespace rocksieve
