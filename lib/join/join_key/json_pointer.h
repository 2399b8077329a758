// SPDX-License-Identifier: Apache-2.0
// The scalar at a place in a JSON document, as text that can be joined on; and decimal numbers so
// that equal ones are equal text: exactly, however many digits they have.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <absl/status/statusor.h>

namespace rocksieve::join {

// "1", "1.0", "+01", "10e-1" and "1E0" all give "1". False if the text is no number: an optional
// sign, digits with at most one point among, before or behind them, an optional exponent of at most
// 2^40 either way.
//
// Written with digits and a point where that takes no more than 20 zeros that the number does not
// have as digits, else as 1.5e+300. No number has leading zeros, zeros at the end of a fraction, or
// the sign of a plus; zero has none at all.
bool CanonicalDecimal(std::string_view text, std::string* canonical);

class JsonPointer {
 public:
  // RFC 6901: "" is the whole document, "/a/0" the first element of the member a; ~1 is a slash in
  // a name, ~0 a tilde. Indexes of arrays are digits without leading zeros.
  static absl::StatusOr<JsonPointer> Parse(std::string_view text);

  // A string gives its characters in UTF-8, a number its decimal value (CanonicalDecimal()), true
  // and false these words. False if there is no such place, null or no scalar is there, or the text
  // is not JSON. Of equal names in an object the last one counts.
  bool Find(std::string_view json, std::string* scalar) const;

 private:
  std::vector<std::string> names_;
};

}  // namespace rocksieve::join
