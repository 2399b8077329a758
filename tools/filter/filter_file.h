// SPDX-License-Identifier: Apache-2.0
// A filter as a file: the bytes of one filter block (docs/formats/block.md), and nothing else.
#pragma once

#include <memory>
#include <string>

#include <rocksdb/status.h>
#include <rocksieve/filter.h>

namespace rocksieve::tools {

class FilterFile {
 public:
  // Reads it into memory. An error names the file, and says whether it cannot be read, is no
  // filter, is damaged, or comes from a later version, and what helps.
  static rocksdb::Status Open(const std::string& path, std::unique_ptr<FilterFile>* file);

  const Filter& filter() const { return *opened_.filter; }
  const FilterBlockInfo& info() const { return opened_.info; }
  size_t size() const { return bytes_.size(); }

 private:
  FilterFile() = default;

  std::string bytes_;
  OpenedFilter opened_;  // of those
};

}  // namespace rocksieve::tools
