// SPDX-License-Identifier: Apache-2.0
// An OPTIONS file and its words for filter policies, as doctor and the other commands read them.
#include "plugin/database/column_family.h"

#include "tests/fuzz/target.h"
#include "tools/doctor/facts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocksieve;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const OptionsFile file = OptionsFile::Parse(text);
  for (const std::string name : {"default", "users", ""}) {
    FUZZ_CHECK(file.ColumnFamilyValue(name, "comparator").size() <= size);
    const std::string words = file.TableValue(name, "filter_policy");
    FUZZ_CHECK(words.size() <= size);
    const tools::PolicyFacts policy = tools::PolicyFacts::Describe(words);
    const bool stated = !words.empty();
    FUZZ_CHECK(stated == (policy.is_none() + policy.works() + policy.is_unknown() == 1));
  }
  fuzz::Use(file.Value("DBOptions", "max_open_files"));
  return 0;
}
