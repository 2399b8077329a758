// SPDX-License-Identifier: Apache-2.0
#include "tools/report/tree_picture.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "support/text.h"

namespace rocksieve::tools {
namespace {

constexpr double kWidth = 1000, kHeight = 44;  // of a strip
constexpr double kFloor = 1;                   // a filter, however small, can be seen
// A level with a tenth of the bytes is so much narrower.
constexpr double kPercentPerDecade = 15, kLeastPercent = 25;
constexpr double kBitsStep = 5;  // the scale is a multiple of it

using Files = std::vector<const PictureFile*>;

double Bits(uint64_t filter_bytes, uint64_t keys) {
  return keys == 0 ? 0 : 8 * static_cast<double>(filter_bytes) / static_cast<double>(keys);
}

// Neighbours with filters of one kind, which share a cell.
struct Cell {
  const PictureFile* first = nullptr;
  const PictureFile* last = nullptr;
  uint64_t files = 0, keys = 0, bytes = 0, filter_bytes = 0;

  bool IsLike(const PictureFile& file) const {
    return file.filter == first->filter && file.unreadable == first->unreadable;
  }
  void Add(const PictureFile& file) {
    if (first == nullptr) first = &file;
    last = &file;
    files++;
    keys += file.keys;
    bytes += file.bytes;
    filter_bytes += file.filter_bytes;
  }
};

// Of as many files each; of files of several kinds, a cell for each of them.
std::vector<Cell> CellsOf(const Files& files) {
  const size_t per_cell = (files.size() + kMostCells - 1) / kMostCells;
  std::vector<Cell> cells;
  for (size_t begin = 0; begin < files.size(); begin += per_cell) {
    std::vector<Cell> kinds;
    for (size_t i = begin; i < std::min(begin + per_cell, files.size()); i++) {
      auto cell = std::find_if(kinds.begin(), kinds.end(),
                               [&](const Cell& c) { return c.IsLike(*files[i]); });
      if (cell == kinds.end()) cell = kinds.insert(kinds.end(), Cell());
      cell->Add(*files[i]);
    }
    cells.insert(cells.end(), kinds.begin(), kinds.end());
  }
  return cells;
}

std::string FilterInWords(const Cell& cell) {
  if (cell.first->unreadable) return "cannot be read";
  if (cell.first->filter == "none") return "no filter";
  return cell.first->filter + ", " + Fixed(Bits(cell.filter_bytes, cell.keys), 2) + " bits per key";
}

std::string InWords(const Cell& cell) {
  const std::string who = cell.files == 1 ? cell.first->name
                                          : Counted(cell.files, "file") + ", " + cell.first->name +
                                                " to " + cell.last->name;
  return who + ": " + Counted(cell.keys, "key") + ", " +
         ShortBytes(static_cast<double>(cell.bytes)) + ", " + FilterInWords(cell);
}

Html CellPicture(const Cell& cell, double x, double width, double most_bits,
                 const Colours& colours) {
  const bool bare = cell.first->filter == "none" || cell.first->unreadable;
  const char* const box = cell.first->unreadable ? "cell bad" : bare ? "cell bare" : "cell";
  Html parts =
      Element("title", InWords(cell)) +
      EmptyElement(
          "rect",
          {{"class", box}, {"x", Short(x)}, {"width", Short(width)}, {"height", Short(kHeight)}});
  if (!bare) {
    const double share = std::min(1.0, Bits(cell.filter_bytes, cell.keys) / most_bits);
    const double height = std::max(kFloor, kHeight * share);
    const auto colour = colours.find(cell.first->filter);
    parts += EmptyElement("rect", {{"class", colour == colours.end() ? "c7" : colour->second},
                                   {"x", Short(x)},
                                   {"y", Short(kHeight - height)},
                                   {"width", Short(width)},
                                   {"height", Short(height)}});
  }
  return Element("g", parts);
}

// By keys, but so wide at least that each can be seen.
std::vector<double> WidthsOf(const std::vector<Cell>& cells, double room) {
  constexpr double kLeastShare = 0.15;  // of what all would have if they were equal
  const double least = kLeastShare * room / static_cast<double>(cells.size());
  double keys = 0, sum = 0;
  for (const Cell& cell : cells) keys += static_cast<double>(cell.keys);
  std::vector<double> widths;
  for (const Cell& cell : cells) {
    const double share = keys == 0 ? 0 : static_cast<double>(cell.keys) / keys;
    widths.push_back(std::max(least, room * share));
    sum += widths.back();
  }
  for (double& width : widths) width *= room / sum;
  return widths;
}

struct Level {
  int level = 0;
  Files files;
  uint64_t keys = 0, bytes = 0, filter_bytes = 0, bare = 0;
};

std::vector<Level> LevelsOf(const std::vector<PictureFile>& files) {
  std::vector<Level> levels;
  for (const PictureFile& file : files) {
    if (levels.empty() || levels.back().level != file.level) {
      levels.emplace_back().level = file.level;
    }
    Level& level = levels.back();
    level.files.push_back(&file);
    level.keys += file.keys;
    level.bytes += file.bytes;
    level.filter_bytes += file.filter_bytes;
    level.bare += file.filter == "none" || file.unreadable ? 1 : 0;
  }
  return levels;
}

std::string InWords(const Level& level) {
  std::string words = Counted(level.files.size(), "file") + ", " + Counted(level.keys, "key") +
                      ", " + ShortBytes(static_cast<double>(level.bytes)) + "; filters " +
                      ShortBytes(static_cast<double>(level.filter_bytes)) + ", " +
                      Fixed(Bits(level.filter_bytes, level.keys), 2) + " bits per key";
  if (level.bare > 0) words += "; without a filter: " + Counted(level.bare, "file");
  return words;
}

Html LevelPicture(const std::string& id, const Level& level, uint64_t most_bytes, double most_bits,
                  const Colours& colours) {
  const std::vector<Cell> cells = CellsOf(level.files);
  constexpr double kWidestGap = 4, kGapsShare = 200;
  const double gap = std::min(kWidestGap, kGapsShare / static_cast<double>(cells.size()));
  const double room = kWidth - gap * static_cast<double>(cells.size() - 1);
  Html parts = Element("title", {{"id", id + "-title"}}, "Level " + std::to_string(level.level)) +
               Element("desc", {{"id", id + "-desc"}}, InWords(level));
  const std::vector<double> widths = WidthsOf(cells, room);
  double x = 0;
  for (size_t i = 0; i < cells.size(); i++) {
    parts += CellPicture(cells[i], x, widths[i], most_bits, colours);
    x += widths[i] + gap;
  }
  const double decades = std::log10(static_cast<double>(std::max<uint64_t>(most_bytes, 1)) /
                                    static_cast<double>(std::max<uint64_t>(level.bytes, 1)));
  const double percent = std::max(kLeastPercent, 100 - kPercentPerDecade * decades);
  return Element(
      "div", {{"class", "level"}},
      Element("p", Element("b", "L" + std::to_string(level.level)) + " " + InWords(level)) +
          Element("svg",
                  {{"role", "img"},
                   {"aria-labelledby", id + "-title " + id + "-desc"},
                   {"viewBox", "0 0 " + Short(kWidth) + " " + Short(kHeight)},
                   {"preserveAspectRatio", "none"},
                   {"style", "width:" + Short(percent) + "%"}},
                  parts));
}

// The full height of a strip: what the levels have on average at most, and a fourth more.
double MostBits(const std::vector<Level>& levels) {
  double most = 0;
  for (const Level& level : levels) most = std::max(most, Bits(level.filter_bytes, level.keys));
  return kBitsStep * std::max(1.0, std::ceil(1.25 * most / kBitsStep));
}

Html Legend(const std::vector<PictureFile>& files, const Colours& colours) {
  std::map<std::string, uint64_t> counts;
  uint64_t unreadable = 0;
  for (const PictureFile& file : files) {
    (file.unreadable ? unreadable : counts[file.filter])++;
  }
  const auto entry = [](const std::string& colour, const std::string& name, uint64_t count) {
    const Html swatch =
        Element("svg",
                {{"class", "swatch"},
                 {"viewBox", "0 0 16 16"},
                 {"aria-hidden", "true"},
                 {"focusable", "false"}},
                EmptyElement("rect", {{"class", colour}, {"width", "16"}, {"height", "16"}}));
    return Element("li", swatch + " " + Shown(name) + ": " + Counted(count, "file"));
  };
  Html entries;
  for (const auto& [filter, count] : counts) {
    const auto colour = colours.find(filter);
    if (filter == "none") {
      entries += entry("cell bare", "no filter", count);
    } else {
      entries += entry(colour == colours.end() ? "c7" : colour->second, filter, count);
    }
  }
  if (unreadable > 0) entries += entry("cell bad", "cannot be read", unreadable);
  return Element("ul", {{"class", "legend"}}, entries);
}

}  // namespace

Html TreePicture(const std::string& id, const std::vector<PictureFile>& files,
                 const Colours& colours) {
  const std::vector<Level> levels = LevelsOf(files);
  const double most_bits = MostBits(levels);
  uint64_t most_bytes = 0;
  bool shared = false;
  for (const Level& level : levels) {
    most_bytes = std::max(most_bytes, level.bytes);
    shared |= level.files.size() > kMostCells;
  }
  Html strips;
  for (const Level& level : levels) {
    strips += LevelPicture(id + "-L" + std::to_string(level.level), level, most_bytes, most_bits,
                           colours);
  }
  const std::string how =
      "A strip is a level, a cell in it " +
      std::string(shared ? "a file, or several neighbours where a level has more than " +
                               std::to_string(kMostCells)
                         : "a file") +
      ", as wide as its share of the level's keys (but wide enough to be seen), and filled as high "
      "as its filter has bits per "
      "key: all of the height is " +
      Short(most_bits) + " and more. A level with a tenth of the bytes is " +
      Short(kPercentPerDecade) + " % narrower.";
  return Element("figure", {{"class", "tree"}},
                 strips + Legend(files, colours) + Element("figcaption", how));
}

}  // namespace rocksieve::tools
