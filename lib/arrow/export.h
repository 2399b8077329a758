// SPDX-License-Identifier: Apache-2.0
// Schemas and arrays for consumers of Arrow's C data interface.
//
// Source: https://arrow.apache.org/docs/format/CDataInterface.html
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <rocksieve/c_arrow.h>

namespace rocksieve::arrow {

struct Field {
  std::string format;  // "z": binary, "b": booleans, "+s": a struct of the children
  std::string name = {};
  bool nullable = false;
  std::vector<Field> children = {};
};

// Fills *out, which is the consumer's to release.
void Export(const Field& field, ArrowSchema* out);

struct Column {
  int64_t length = 0, null_count = 0;
  std::vector<const void*> buffers = {};  // the first one is of validity, null if nothing is null
  std::vector<Column> children = {};
};

// Likewise. The buffers live as long as `owner`, which each part of the array holds.
void Export(const Column& column, const std::shared_ptr<const void>& owner, ArrowArray* out);

}  // namespace rocksieve::arrow
