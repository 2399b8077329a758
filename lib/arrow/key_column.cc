// SPDX-License-Identifier: Apache-2.0
#include "lib/arrow/key_column.h"

#include <charconv>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <system_error>

namespace rocksieve::arrow {
namespace {

constexpr int64_t kInlineViewBytes = 12;  // at most; longer values lie in a block

// Its first 4 bytes are those of the value.
struct LongView {
  int32_t length;
  char prefix[4];
  int32_t block;
  int32_t offset;
};
static_assert(sizeof(LongView) == 16);

[[noreturn]] void Refuse(const std::string& problem) { throw std::invalid_argument(problem); }

void Expect(bool holds, const char* what) {
  if (!holds) Refuse(std::string("this is no array of Arrow: ") + what);
}

void CheckArray(const ArrowArray& array, int64_t buffers) {
  Expect(array.length >= 0 && array.offset >= 0 && array.length <= INT64_MAX - array.offset,
         "its length or its offset is wrong");
  Expect(array.n_buffers >= buffers && (buffers == 0 || array.buffers != nullptr),
         "buffers are missing");
}

const uint8_t* ValidityOf(const ArrowArray& array) {
  return array.null_count == 0 ? nullptr : static_cast<const uint8_t*>(array.buffers[0]);
}

LongView LoadView(const char* views, int64_t i) {
  LongView view;
  std::memcpy(&view, views + i * int64_t{sizeof view}, sizeof view);
  return view;
}

// The child of that name; the only one if there is no name.
int64_t ChildOf(const ArrowSchema& schema, const char* column) {
  int64_t found = -1;
  std::string names;
  for (int64_t i = 0; i < schema.n_children; i++) {
    const char* const name = schema.children[i]->name == nullptr ? "" : schema.children[i]->name;
    names += (i == 0 ? "" : ", ") + std::string(name);
    if (column == nullptr ? schema.n_children == 1 : std::strcmp(name, column) == 0) {
      if (found >= 0) Refuse("several columns are named " + std::string(name));
      found = i;
    }
  }
  if (found < 0) {
    Refuse((column == nullptr ? "say which column has the keys"
                              : "there is no column " + std::string(column)) +
           "; there are " + (names.empty() ? "none" : names));
  }
  return found;
}

}  // namespace

KeyColumn::KeyColumn(const ArrowSchema* schema, const ArrowArray* array, const char* column) {
  Expect(schema != nullptr && schema->format != nullptr && schema->release != nullptr,
         "there is no schema");
  Expect(array != nullptr && array->release != nullptr, "it was released");
  size_ = array->length;
  if (std::strcmp(schema->format, "+s") != 0) {
    if (column != nullptr) Refuse("this array has no columns, and so none " + std::string(column));
    CheckArray(*array, 0);
    TakeLayout(*schema, *array);
    return;
  }
  CheckArray(*array, 1);
  Expect(schema->n_children == array->n_children, "it has other columns than its schema");
  const int64_t child = ChildOf(*schema, column);
  const ArrowArray& keys = *array->children[child];
  outer_offset_ = array->offset;
  outer_validity_ = ValidityOf(*array);
  Expect(keys.length >= 0 && keys.length - array->offset >= size_, "a column is too short");
  TakeLayout(*schema->children[child], keys);
}

void KeyColumn::TakeLayout(const ArrowSchema& schema, const ArrowArray& array) {
  const std::string format = schema.format == nullptr ? "" : schema.format;
  if (schema.dictionary != nullptr) Refuse("keys are in a dictionary: cast the column to binary");
  offset_ = array.offset;
  Expect(offset_ >= 0 && offset_ <= std::numeric_limits<int64_t>::max() - outer_offset_ - size_,
         "its offset is none");
  const int64_t first = offset_ + outer_offset_, last = first + size_;
  if (format == "n") {
    CheckArray(array, 0);
    return;
  }
  if (format == "z" || format == "u" || format == "Z" || format == "U") {
    CheckArray(array, 3);
    validity_ = ValidityOf(array);
    data_ = static_cast<const char*>(array.buffers[2]);
    if (format == "z" || format == "u") {
      layout_ = Layout::kOffsets32;
      offsets32_ = static_cast<const int32_t*>(array.buffers[1]);
      CheckOffsets(offsets32_, first, last);
    } else {
      layout_ = Layout::kOffsets64;
      offsets64_ = static_cast<const int64_t*>(array.buffers[1]);
      CheckOffsets(offsets64_, first, last);
    }
  } else if (format == "vz" || format == "vu") {
    CheckArray(array, 3);
    validity_ = ValidityOf(array);
    layout_ = Layout::kViews;
    data_ = static_cast<const char*>(array.buffers[1]);
    blocks_ = array.buffers + 2;
    CheckViews(array, first, last);
  } else if (format.rfind("w:", 0) == 0) {
    CheckArray(array, 2);
    validity_ = ValidityOf(array);
    layout_ = Layout::kFixed;
    data_ = static_cast<const char*>(array.buffers[1]);
    const char* const end = format.data() + format.size();
    const auto [stopped, result] = std::from_chars(format.data() + 2, end, width_);
    Expect(result == std::errc() && stopped == end && width_ >= 0, "its width is none");
    Expect(data_ != nullptr || size_ == 0 || width_ == 0, "buffers are missing");
  } else {
    Refuse("keys are binary or utf8, and no column of Arrow's format \"" + format +
           "\": cast it to binary");
  }
}

template <typename Offset>
void KeyColumn::CheckOffsets(const Offset* offsets, int64_t first, int64_t last) const {
  if (first == last) return;  // there need be no buffers
  Expect(offsets != nullptr, "buffers are missing");
  Offset before = offsets[first];
  bool rises = before >= 0;
  for (int64_t i = first + 1; i <= last; i++) {
    rises &= offsets[i] >= before;
    before = offsets[i];
  }
  Expect(rises, "its offsets fall");
  Expect(data_ != nullptr || offsets[last] == offsets[first], "buffers are missing");
}

void KeyColumn::CheckViews(const ArrowArray& array, int64_t first, int64_t last) const {
  if (first == last) return;
  Expect(data_ != nullptr, "buffers are missing");
  const int64_t blocks = array.n_buffers - 3;
  const auto* const bytes = static_cast<const int64_t*>(array.buffers[array.n_buffers - 1]);
  for (int64_t i = first; i < last; i++) {
    const LongView view = LoadView(data_, i);
    if (!IsValid(validity_, i) || (view.length >= 0 && view.length <= kInlineViewBytes)) continue;
    Expect(view.length >= 0 && view.block >= 0 && view.block < blocks && view.offset >= 0 &&
               bytes != nullptr && int64_t{view.offset} + view.length <= bytes[view.block],
           "a view points outside of its buffers");
  }
}

std::string_view KeyColumn::View(int64_t i) const {
  const LongView view = LoadView(data_, i);
  const auto length = static_cast<size_t>(view.length);
  if (view.length <= kInlineViewBytes) {
    return {data_ + i * int64_t{sizeof view} + sizeof view.length, length};
  }
  return {static_cast<const char*>(blocks_[view.block]) + view.offset, length};
}

}  // namespace rocksieve::arrow
