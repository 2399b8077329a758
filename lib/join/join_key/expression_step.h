// The steps that an expression is made of, by name.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/statusor.h>

namespace rocksieve::join {

// Gives `out`, which is not `in`; false if there is nothing.
using StepFunction = std::function<bool(std::string_view in, std::string* out)>;

struct ParsedStep {
  StepFunction apply;
  std::vector<std::string> arguments;  // in their canonical form
};

// `arguments` without escapes. The error is half a sentence: what is wrong with them.
absl::StatusOr<ParsedStep> MakeStep(std::string_view name,
                                    const std::vector<std::string>& arguments);

}  // namespace rocksieve::join
