// SPDX-License-Identifier: Apache-2.0
// Specs as text, from an OPTIONS file or a command line.
//
// Oracle: what is taken has a canonical form, which is taken again and means the same; what is
// refused says why.
#include <rocksieve/filter_spec.h>

#include "tests/fuzz/target.h"
#include "lib/budget/auto_spec.h"

namespace rocksieve::fuzz {
namespace {

template <typename Spec>
void ParseAs(std::string_view text) {
  Spec spec;
  const std::string error = Spec::Parse(text, &spec);
  if (!error.empty()) return;
  const std::string canonical = spec.ToString();
  FUZZ_CHECK(canonical.find_first_of("=;{}") == std::string::npos);
  Spec again;
  FUZZ_CHECK(Spec::Parse(canonical, &again).empty());
  FUZZ_CHECK(again.ToString() == canonical);
}

}  // namespace
}  // namespace rocksieve::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocksieve;
  const fuzz::ExactCopy text(std::string_view(reinterpret_cast<const char*>(data), size));
  fuzz::ParseAs<FilterSpec>(text.view());
  fuzz::ParseAs<AutoSpec>(text.view());
  fuzz::Use(AutoSpec::IsMeant(text.view()));
  return 0;
}
