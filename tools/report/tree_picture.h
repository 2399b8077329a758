// SPDX-License-Identifier: Apache-2.0
// The tree of a column family as a picture: a strip for each level, in it a cell for each file, in
// the order of keys, filled as high as the bits per key of its filter. Of however many files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/report/html.h"

namespace rocksieve::tools {

struct PictureFile {
  std::string name;
  int level = 0;
  uint64_t keys = 0, bytes = 0, filter_bytes = 0;
  std::string filter;  // its family; "none"
  bool unreadable = false;
};

// Classes of colours by family of filter, so that all pictures have the same.
using Colours = std::map<std::string, std::string>;

inline constexpr size_t kMostCells = 96;  // of a level: more files share cells

// `files`: by level, in it in the order of keys. `id`: of no other picture in the page. Size: at
// most some 40 kB for each level.
Html TreePicture(const std::string& id, const std::vector<PictureFile>& files,
                 const Colours& colours);

}  // namespace rocksieve::tools
