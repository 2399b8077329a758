#include <gtest/gtest.h>

#include "tools/doctor/facts.h"

namespace rocksieve::tools {
namespace {

using Kind = PolicyFacts::Kind;

TEST(PolicyFacts, Kinds) {
  const std::pair<const char*, Kind> kCases[] = {
      {"", Kind::kNotStated},
      {"nullptr", Kind::kNone},
      {"rocksieve.bloom:10", Kind::kOurs},
      {"{id=rocksieve.ribbon:1%;}", Kind::kOurs},
      {"{id=rocksieve.ribbon:1%}", Kind::kOurs},
      {"bloomfilter:10:false", Kind::kBuiltin},
      {"bloomfilter:9.5", Kind::kBuiltin},
      {"ribbonfilter:10:0", Kind::kBuiltin},
      {"rocksdb.BuiltinBloomFilter", Kind::kBuiltin},
      {"rocksieve.blom:10", Kind::kUnknown},
      {"rocksieve", Kind::kUnknown},
      {"rocksive.bloom:10", Kind::kUnknown},
      {"bloomfilter:x", Kind::kUnknown},
      {"acme.Filter", Kind::kUnknown},
  };
  for (const auto& [words, kind] : kCases) {
    const PolicyFacts facts = PolicyFacts::Describe(words);
    EXPECT_EQ(facts.kind, kind) << words;
    EXPECT_EQ(facts.works(), kind == Kind::kOurs || kind == Kind::kBuiltin) << words;
    EXPECT_EQ(facts.error.empty(), kind != Kind::kUnknown) << words;
  }
}

TEST(PolicyFacts, StoredNames) {
  const std::string builtin = PolicyFacts::Describe("bloomfilter:10").stored_name;
  EXPECT_EQ(builtin, kBuiltinStoredName);
  EXPECT_EQ(PolicyFacts::Describe("ribbonfilter:10").stored_name, builtin);
  EXPECT_EQ(PolicyFacts::Describe("rocksieve.bloom:10").stored_name, builtin);
  EXPECT_EQ(PolicyFacts::Describe("rocksieve.bloom:10:own-name").stored_name, kOwnStoredName);
}

}  // namespace
}  // namespace rocksieve::tools
