// SPDX-License-Identifier: Apache-2.0
// A chart of curves: a line for each series over a linear axis to the right, on a logarithmic axis
// upwards, in an SVG file on a linear one as well. Drawn as an SVG file or with characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rocksieve {

struct ChartPoint {
  double x = 0, y = 0;  // only points with y > 0 can be drawn
  double y_error = 0;   // half the length of its error bar; drawn in SVG files only
};

struct ChartSeries {
  std::string name;
  std::vector<ChartPoint> points;  // with rising x
  bool dashed = false;
};

// A single point, with a label beside it.
struct ChartMark {
  std::string name;
  ChartPoint point;
};

struct ChartTick {
  double x = 0;
  std::string label, second_line;
};

struct Chart {
  std::string title, subtitle;
  std::string x_label, y_label;
  double x_min = 0, x_max = 1;
  bool linear_y = false;  // from 0 upwards, in SVG files; drawings in characters are logarithmic
  std::vector<ChartTick> ticks;
  std::vector<ChartSeries> series;
  std::vector<ChartMark> marks;
};

// The powers of ten that enclose all that can be drawn; at least one decade apart.
struct Decades {
  int lowest = -1, highest = 0;
};
Decades DecadesOf(const Chart& chart);

// Steps of 1, 2 or 5 times a power of ten that reach from 0 to all that can be drawn, error bars
// included: five to thirteen of them. For a linear axis.
struct Steps {
  double step = 1;
  int count = 1;
};
Steps StepsOf(const Chart& chart);

// The height of a series at x, between its points on the logarithmic axis. Negative beyond them.
double HeightAt(const ChartSeries& series, double x);

// A whole SVG document, without scripts, fonts or anything else from outside.
std::string SvgDrawing(const Chart& chart);

// A drawing within a page of HTML: curves, axes and marks alone, so wide and high. What the chart
// and its axes are called, and its legend, are the page's to say. Colours are those of its style
// sheet, for the classes that ClassOfSeries() names and for "grid", "minor", "axis" and "mark".
struct PageDrawing {
  std::string id;           // of this drawing, in the page
  std::string description;  // for those who do not see it
  double width = 720, height = 400;
  bool second_lines = true;  // of ticks
};
std::string SvgForPage(const Chart& chart, const PageDrawing& drawing);

// Of the series with that number, from 0: "c1" to "c7", and again.
std::string ClassOfSeries(size_t index);

// The text as XML and HTML have it, between tags and in attributes. REQUIRES: it is UTF-8.
std::string EscapedMarkup(std::string_view text);

// A chart for people at a terminal.

// ASCII characters, at most `width` columns; one letter for each series, explained below.
std::string TerminalDrawing(const Chart& chart, size_t width);

}  // namespace rocksieve
