// The scalar at a place in a JSON document, as text that can be joined on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <absl/status/statusor.h>

namespace rocksieve::join {

class JsonPointer {
 public:
  // RFC 6901: "" is the whole document, "/a/0" the first element of the member a; ~1 is a slash in
  // a name, ~0 a tilde. Indexes of arrays are digits without leading zeros.
  static absl::StatusOr<JsonPointer> Parse(std::string_view text);

  // A string gives its characters in UTF-8, a number its decimal value (decimal.h), true and false
  // these words. False if there is no such place, null or no scalar is there, or the text is not
  // JSON. Of equal names in an object the last one counts.
  bool Find(std::string_view json, std::string* scalar) const;

 private:
  std::vector<std::string> names_;
};

}  // namespace rocksieve::join
