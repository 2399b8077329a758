// SPDX-License-Identifier: Apache-2.0
#include "tools/report/html.h"

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

bool IsBare(const PictureFile& file) { return file.filter == "none" || file.unreadable; }

// Neighbours with filters of one kind, which share a cell; or a level.
struct Group {
  Files of;
  uint64_t keys = 0, bytes = 0, filter_bytes = 0, bare = 0;

  void Add(const PictureFile& file) {
    of.push_back(&file);
    keys += file.keys;
    bytes += file.bytes;
    filter_bytes += file.filter_bytes;
    bare += IsBare(file) ? 1 : 0;
  }
  const PictureFile& first() const { return *of.front(); }
  double bits() const { return Bits(filter_bytes, keys); }
  std::string BytesInWords() const {
    return Counted(keys, "key") + ", " + ShortBytes(static_cast<double>(bytes));
  }
  std::string BitsInWords() const { return Fixed(bits(), 2) + " bits per key"; }
};

// Of as many files each; of files of several kinds, a cell for each of them.
std::vector<Group> CellsOf(const Files& files) {
  const size_t per_cell = (files.size() + kMostCells - 1) / kMostCells;
  std::vector<Group> cells;
  for (size_t begin = 0; begin < files.size(); begin += per_cell) {
    std::vector<Group> kinds;
    for (size_t i = begin; i < std::min(begin + per_cell, files.size()); i++) {
      const auto is_like = [&](const Group& cell) {
        return cell.first().filter == files[i]->filter &&
               cell.first().unreadable == files[i]->unreadable;
      };
      auto cell = std::find_if(kinds.begin(), kinds.end(), is_like);
      if (cell == kinds.end()) cell = kinds.insert(kinds.end(), Group());
      cell->Add(*files[i]);
    }
    cells.insert(cells.end(), kinds.begin(), kinds.end());
  }
  return cells;
}

std::string CellInWords(const Group& cell) {
  const PictureFile& first = cell.first();
  const std::string who = cell.of.size() == 1 ? first.name
                                              : Counted(cell.of.size(), "file") + ", " +
                                                    first.name + " to " + cell.of.back()->name;
  return who + ": " + cell.BytesInWords() + ", " +
         (first.unreadable         ? "cannot be read"
          : first.filter == "none" ? "no filter"
                                   : first.filter + ", " + cell.BitsInWords());
}

Html CellPicture(const Group& cell, double x, double width, double most_bits,
                 const Colours& colours) {
  const bool bare = IsBare(cell.first());
  const char* const box = cell.first().unreadable ? "cell bad" : bare ? "cell bare" : "cell";
  Html parts =
      Element("title", CellInWords(cell)) +
      EmptyElement(
          "rect",
          {{"class", box}, {"x", Short(x)}, {"width", Short(width)}, {"height", Short(kHeight)}});
  if (!bare) {
    const double share = std::min(1.0, cell.bits() / most_bits);
    const double height = std::max(kFloor, kHeight * share);
    parts += EmptyElement("rect", {{"class", ColourOf(cell.first().filter, colours)},
                                   {"x", Short(x)},
                                   {"y", Short(kHeight - height)},
                                   {"width", Short(width)},
                                   {"height", Short(height)}});
  }
  return Element("g", parts);
}

// By keys, but so wide at least that each can be seen.
std::vector<double> WidthsOf(const std::vector<Group>& cells, double room) {
  constexpr double kLeastShare = 0.15;  // of what all would have if they were equal
  const double least = kLeastShare * room / static_cast<double>(cells.size());
  double keys = 0, sum = 0;
  for (const Group& cell : cells) keys += static_cast<double>(cell.keys);
  std::vector<double> widths;
  for (const Group& cell : cells) {
    const double share = keys == 0 ? 0 : static_cast<double>(cell.keys) / keys;
    widths.push_back(std::max(least, room * share));
    sum += widths.back();
  }
  for (double& width : widths) width *= room / sum;
  return widths;
}

// By number, as the files stand there.
using Levels = std::vector<std::pair<int, Group>>;

Levels LevelsOf(const std::vector<PictureFile>& files) {
  Levels levels;
  for (const PictureFile& file : files) {
    if (levels.empty() || levels.back().first != file.level) levels.push_back({file.level, {}});
    levels.back().second.Add(file);
  }
  return levels;
}

std::string LevelInWords(const Group& level) {
  std::string words = Counted(level.of.size(), "file") + ", " + level.BytesInWords() +
                      "; filters " + ShortBytes(static_cast<double>(level.filter_bytes)) + ", " +
                      level.BitsInWords();
  if (level.bare > 0) words += "; without a filter: " + Counted(level.bare, "file");
  return words;
}

Html LevelPicture(const std::string& picture, int number, const Group& level, uint64_t most_bytes,
                  double most_bits, const Colours& colours) {
  const std::string name = "L" + std::to_string(number), id = picture + "-" + name;
  const std::vector<Group> cells = CellsOf(level.of);
  constexpr double kWidestGap = 4, kGapsShare = 200;
  const double gap = std::min(kWidestGap, kGapsShare / static_cast<double>(cells.size()));
  const double room = kWidth - gap * static_cast<double>(cells.size() - 1);
  Html parts = Element("title", {{"id", id + "-title"}}, "Level " + std::to_string(number)) +
               Element("desc", {{"id", id + "-desc"}}, LevelInWords(level));
  const std::vector<double> widths = WidthsOf(cells, room);
  double x = 0;
  for (size_t i = 0; i < cells.size(); i++) {
    parts += CellPicture(cells[i], x, widths[i], most_bits, colours);
    x += widths[i] + gap;
  }
  const double decades = std::log10(static_cast<double>(std::max<uint64_t>(most_bytes, 1)) /
                                    static_cast<double>(std::max<uint64_t>(level.bytes, 1)));
  const double percent = std::max(kLeastPercent, 100 - kPercentPerDecade * decades);
  return Element("div", {{"class", "level"}},
                 Element("p", Element("b", name) + " " + LevelInWords(level)) +
                     Element("svg",
                             {{"role", "img"},
                              {"aria-labelledby", id + "-title " + id + "-desc"},
                              {"viewBox", "0 0 " + Short(kWidth) + " " + Short(kHeight)},
                              {"preserveAspectRatio", "none"},
                              {"style", "width:" + Short(percent) + "%"}},
                             parts));
}

// The full height of a strip: what the levels have on average at most, and a fourth more.
double MostBits(const Levels& levels) {
  double most = 0;
  for (const auto& [number, level] : levels) most = std::max(most, level.bits());
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
    entries += filter == "none" ? entry("cell bare", "no filter", count)
                                : entry(ColourOf(filter, colours), filter, count);
  }
  if (unreadable > 0) entries += entry("cell bad", "cannot be read", unreadable);
  return Element("ul", {{"class", "legend"}}, entries);
}

}  // namespace

std::string ColourOf(const std::string& filter, const Colours& colours) {
  const auto colour = colours.find(filter);
  return colour == colours.end() ? "c7" : colour->second;
}

Html TreePicture(const std::string& id, const std::vector<PictureFile>& files,
                 const Colours& colours) {
  const Levels levels = LevelsOf(files);
  const double most_bits = MostBits(levels);
  uint64_t most_bytes = 0;
  bool shared = false;
  for (const auto& [number, level] : levels) {
    most_bytes = std::max(most_bytes, level.bytes);
    shared |= level.of.size() > kMostCells;
  }
  Html strips;
  for (const auto& [number, level] : levels) {
    strips += LevelPicture(id, number, level, most_bytes, most_bits, colours);
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
