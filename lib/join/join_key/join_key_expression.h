// SPDX-License-Identifier: Apache-2.0
// What rows are joined on, if not their whole keys: a value that is extracted from key or value.
//
// As text, for --left-on and --right-on (docs/join_keys.md):
//
//   key                          the whole key
//   row                          key and value, as join_key_source.h has it
//   row.without_value()          the same, and rows are given as keys alone
//   value.json(/customer/id)     a JSON pointer (RFC 6901) into the value
//   value.field(|,3)             the third field, counted from 1, between delimiters
//   key.bytes(2,8)               8 bytes from offset 2, counted from 0; from the end if negative
//   key.bytes(0,8).uint_be()     a binary number as decimal text, as JSON would have it
//   @name                        a function that the program registered
//
// Steps follow one another, each on what the one before gave. A row's join key is NULL if a step
// finds nothing: it then matches nothing, like NULL in SQL.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include <absl/status/statusor.h>

#include "lib/join/rows/source.h"

namespace rocksieve::join {

// Puts the join key of a row into *join_key; false if it is NULL.
using ExtractFunction = std::function<bool(const Row& row, std::string* join_key)>;
using NamedExtractors = std::map<std::string, ExtractFunction, std::less<>>;

inline constexpr char kWholeRow[] = "row";
inline constexpr char kWholeRowWithoutValue[] = "row.without_value()";

inline bool IsWholeRow(std::string_view text) {
  return text == kWholeRow || text == kWholeRowWithoutValue;
}
// Whether no two rows of a database have the same one, and each has one. Empty: the whole key.
inline bool IsUniqueJoinKey(std::string_view text) {
  return text.empty() || text == "key" || IsWholeRow(text);
}

class JoinKeyExpression {
 public:
  // The whole key.
  JoinKeyExpression() = default;
  // `name` is how it is written: "@name".
  JoinKeyExpression(std::string name, ExtractFunction function);
  // The whole key of rows whose values are whole, too, as those of kWholeRow; none that Parse()
  // reads.
  static JoinKeyExpression KeyOfWholeRow();

  // InvalidArgument with what is wrong, where, and what there is instead.
  static absl::StatusOr<JoinKeyExpression> Parse(std::string_view text,
                                                 const NamedExtractors& named = {});

  // Equal for equal expressions; Parse() reads it.
  const std::string& text() const { return text_; }
  // Rows are joined by their keys as they are.
  bool is_whole_key() const { return text_ == "key"; }
  // Rows are joined by keys and values.
  bool is_whole_row() const { return IsWholeRow(text_); }
  bool gives_values() const { return text_ != kWholeRowWithoutValue; }
  bool is_key_of_whole_row() const { return text_ == kKeyOfWholeRow; }

  // Of the key, if that is all: "key.bytes(0,8)". Such join keys come in the order of the keys
  // (join_key_source.h). 0 otherwise.
  size_t key_prefix_bytes() const { return key_prefix_bytes_; }

  bool Extract(const Row& row, std::string* join_key) const { return extract_(row, join_key); }

 private:
  static constexpr char kKeyOfWholeRow[] = "row by its key";

  std::string text_ = "key";
  size_t key_prefix_bytes_ = 0;
  ExtractFunction extract_ = [](const Row& row, std::string* join_key) {
    join_key->assign(row.key);
    return true;
  };
};

}  // namespace rocksieve::join
