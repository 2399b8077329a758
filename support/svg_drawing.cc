#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "support/chart.h"

namespace rocksieve {
namespace {

constexpr double kWidth = 960, kHeight = 560;
constexpr double kLeft = 84, kRight = 690, kTop = 74, kBottom = 470;
constexpr double kLegendX = 712, kLegendStep = 24;

// Okabe and Ito's colours, which the colour-blind can tell apart.
constexpr const char* kColours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                    "#E69F00", "#56B4E9", "#000000"};

std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

// With one digit after the point: a tenth of a pixel.
std::string Coordinate(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", value);
  return text;
}

class Drawing {
 public:
  explicit Drawing(const Chart& chart)
      : chart_(chart), decades_(DecadesOf(chart)), steps_(StepsOf(chart)) {}

  std::string Draw() {
    svg_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + Coordinate(kWidth) + " " +
           Coordinate(kHeight) + "\" width=\"" + Coordinate(kWidth) + "\" height=\"" +
           Coordinate(kHeight) + "\" font-family=\"sans-serif\" font-size=\"13\">\n" +
           "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
    Text(kLeft, 30, chart_.title, "start", "font-size=\"18\" font-weight=\"bold\"");
    Text(kLeft, 52, chart_.subtitle, "start", "fill=\"#555555\"");
    Grid();
    for (size_t i = 0; i < chart_.series.size(); i++) Series(chart_.series[i], i);
    for (size_t i = 0; i < chart_.marks.size(); i++) Mark(chart_.marks[i], i);
    return svg_ + "</svg>\n";
  }

 private:
  double X(double x) const {
    return kLeft + (kRight - kLeft) * (x - chart_.x_min) / (chart_.x_max - chart_.x_min);
  }
  double Y(double y) const {
    const double share =
        chart_.linear_y ? y / (steps_.step * steps_.count)
                        : (std::log10(y) - decades_.lowest) / (decades_.highest - decades_.lowest);
    return kBottom - (kBottom - kTop) * share;
  }

  void Text(double x, double y, const std::string& text, const char* anchor,
            const std::string& attributes = "") {
    if (text.empty()) return;
    svg_ += "<text x=\"" + Coordinate(x) + "\" y=\"" + Coordinate(y) + "\" text-anchor=\"" +
            anchor + "\" " + attributes + ">" + Escaped(text) + "</text>\n";
  }

  void Line(double x1, double y1, double x2, double y2, const std::string& attributes) {
    svg_ += "<line x1=\"" + Coordinate(x1) + "\" y1=\"" + Coordinate(y1) + "\" x2=\"" +
            Coordinate(x2) + "\" y2=\"" + Coordinate(y2) + "\" " + attributes + "/>\n";
  }

  void LineAt(double y, const char* colour) {
    Line(kLeft, Y(y), kRight, Y(y), std::string("stroke=\"") + colour + "\"");
  }

  void LabelledLineAt(double y) {
    LineAt(y, "#cccccc");
    char label[32];
    std::snprintf(label, sizeof(label), "%g", y);
    Text(kLeft - 8, Y(y) + 4, label, "end");
  }

  void LogarithmicGrid() {
    for (int decade = decades_.lowest; decade <= decades_.highest; decade++) {
      const double power = std::pow(10, decade);
      for (int digit = 2; digit <= 9 && decade < decades_.highest; digit++) {
        LineAt(digit * power, "#f0f0f0");
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
      Line(x, kTop, x, kBottom, "stroke=\"#eeeeee\"");
      Line(x, kBottom, x, kBottom + 5, "stroke=\"#333333\"");
      Text(x, kBottom + 20, tick.label, "middle");
      Text(x, kBottom + 36, tick.second_line, "middle", "fill=\"#777777\" font-size=\"11\"");
    }
    Line(kLeft, kTop, kLeft, kBottom, "stroke=\"#333333\"");
    Line(kLeft, kBottom, kRight, kBottom, "stroke=\"#333333\"");
    Text((kLeft + kRight) / 2, kBottom + 62, chart_.x_label, "middle");
    const double middle = (kTop + kBottom) / 2;
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
  void ErrorBar(const ChartPoint& point, const char* colour) {
    constexpr double kHalfStroke = 3;
    const double least = chart_.linear_y ? 0 : std::pow(10, static_cast<double>(decades_.lowest));
    const double x = X(point.x), top = Y(point.y + point.y_error),
                 bottom = Y(std::max(point.y - point.y_error, least));
    const std::string stroke = std::string("stroke-width=\"1.2\" stroke=\"") + colour + "\"";
    Line(x, top, x, bottom, stroke);
    Line(x - kHalfStroke, top, x + kHalfStroke, top, stroke);
    Line(x - kHalfStroke, bottom, x + kHalfStroke, bottom, stroke);
  }

  void Series(const ChartSeries& series, size_t index) {
    const char* colour = kColours[index % std::size(kColours)];
    const std::string stroke = std::string("fill=\"none\" stroke-width=\"2.5\" stroke=\"") +
                               colour + "\"" + (series.dashed ? " stroke-dasharray=\"7 4\"" : "");
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
    const double y = kTop + 10 + kLegendStep * static_cast<double>(index);
    svg_ += "<polyline " + stroke + " points=\"" + Coordinate(kLegendX) + "," + Coordinate(y) +
            " " + Coordinate(kLegendX + 30) + "," + Coordinate(y) + "\"/>\n";
    Text(kLegendX + 38, y + 4, series.name, "start");
  }

  // Numbered, since labels at the points would cover one another.
  void Mark(const ChartMark& mark, size_t index) {
    const double legend_y =
        kTop + 22 + kLegendStep * static_cast<double>(chart_.series.size() + index);
    const bool inside =
        mark.point.x >= chart_.x_min && mark.point.x <= chart_.x_max && mark.point.y > 0;
    const std::string number = std::to_string(index + 1);
    if (inside) Numbered(X(mark.point.x), Y(mark.point.y), number);
    Numbered(kLegendX + 15, legend_y, number);
    Text(kLegendX + 38, legend_y + 4, mark.name + (inside ? "" : " (not in the picture)"), "start");
  }

  void Numbered(double x, double y, const std::string& number) {
    svg_ += "<circle cx=\"" + Coordinate(x) + "\" cy=\"" + Coordinate(y) +
            "\" r=\"8\" fill=\"#ffffff\" stroke=\"#333333\" stroke-width=\"1.5\"/>\n";
    Text(x, y + 4, number, "middle", "font-size=\"11\"");
  }

  const Chart& chart_;
  const Decades decades_;
  const Steps steps_;
  std::string svg_;
};

}  // namespace

std::string SvgDrawing(const Chart& chart) { return Drawing(chart).Draw(); }

}  // namespace rocksieve
