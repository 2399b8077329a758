// Specs: what is understood, the canonical form, and errors that help.
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rocksieve/filter_spec.h>

namespace rocksieve {
namespace {

using ::testing::HasSubstr;

std::string Canonical(std::string_view text) {
  FilterSpec spec;
  const std::string error = FilterSpec::Parse(text, &spec);
  return error.empty() ? spec.ToString() : error;
}

TEST(Spec, IsReadAsWritten) {
  FilterSpec spec;
  ASSERT_EQ(FilterSpec::Parse("rocksieve.cuckoo:12.5", &spec), "");
  EXPECT_EQ(spec.family, Family::kCuckoo);
  EXPECT_EQ(spec.unit, FilterSpec::Unit::kBitsPerKey);
  EXPECT_EQ(spec.amount, 12.5);
  EXPECT_FALSE(spec.salted);

  ASSERT_EQ(FilterSpec::Parse("rocksieve.bloom:0.1%:salted", &spec), "");
  EXPECT_EQ(spec.family, Family::kBloom);
  EXPECT_EQ(spec.unit, FilterSpec::Unit::kFalsePositiveRate);
  EXPECT_DOUBLE_EQ(spec.amount, 0.001);
  EXPECT_TRUE(spec.salted);
}

TEST(Spec, HasOneCanonicalForm) {
  EXPECT_EQ(Canonical("rocksieve.bloom:10"), "rocksieve.bloom:10");
  EXPECT_EQ(Canonical("rocksieve.bloom:10.0"), "rocksieve.bloom:10");
  EXPECT_EQ(Canonical("rocksieve.bloom:013.70"), "rocksieve.bloom:13.7");
  EXPECT_EQ(Canonical("rocksieve.cuckoo:50%"), "rocksieve.cuckoo:50%");
  EXPECT_EQ(Canonical("rocksieve.cuckoo:0.10%:salted"), "rocksieve.cuckoo:0.1%:salted");
  EXPECT_EQ(Canonical("rocksieve.bloom:0.0001%"), "rocksieve.bloom:0.0001%");
  EXPECT_EQ(Canonical("rocksieve.bloom:64"), "rocksieve.bloom:64");
  EXPECT_EQ(Canonical("rocksieve.bloom:10:verified:salted:own-name:thorough"),
            "rocksieve.bloom:10:own-name:salted:thorough:verified");
}

TEST(Spec, EveryPercentageOfFourDecimalsIsItsOwnCanonicalForm) {
  for (int units = 1; units <= 500000; units += 7) {
    std::string text =
        std::to_string(units / 10000) + "." + std::to_string(10000 + units % 10000).substr(1);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    ASSERT_EQ(Canonical("rocksieve.bloom:" + text + "%"), "rocksieve.bloom:" + text + "%");
  }
}

struct Mistake {
  const char* text;
  const char* named;  // what the message must name
};

TEST(Spec, MistakesAreNamedWithWhatIsAllowedAndAnExample) {
  const Mistake mistakes[] = {
      {"", "\"\""},
      {"rocksieve", "must begin with rocksieve.FAMILY"},
      {"rocksieve.", "bloom, cuckoo, ribbon"},
      {"Rocksieve.bloom:10", "must begin with rocksieve.FAMILY"},
      {"rocksieve.blom:10", "\"blom\""},
      {"rocksieve.BLOOM:10", "\"BLOOM\""},
      {"rocksieve.bloom", "1 to 64 bits per key"},
      {"rocksieve.bloom:", "1 to 64 bits per key"},
      {"rocksieve.bloom:ten", "\"ten\""},
      {"rocksieve.bloom:0", "1 to 64 bits per key"},
      {"rocksieve.bloom:0.99", "1 to 64 bits per key"},
      {"rocksieve.bloom:64.01", "1 to 64 bits per key"},
      {"rocksieve.cuckoo:2.4", "2.5 to 64 bits per key"},
      {"rocksieve.ribbon:33", "1 to 32 bits per key"},
      {"rocksieve.bloom:-10", "\"-10\""},
      {"rocksieve.bloom:+10", "\"+10\""},
      {"rocksieve.bloom:1e1", "\"1e1\""},
      {"rocksieve.bloom:0x10", "\"0x10\""},
      {"rocksieve.bloom:nan", "\"nan\""},
      {"rocksieve.bloom:inf", "\"inf\""},
      {"rocksieve.bloom:1.2.3", "\"1.2.3\""},
      {"rocksieve.bloom:.", "\".\""},
      {"rocksieve.bloom: 10", "\" 10\""},
      {"rocksieve.bloom:10 ", "\"10 \""},
      {"rocksieve.bloom:10,5", "\"10,5\""},
      {"rocksieve.bloom:%", "50% to 0.0001%"},
      {"rocksieve.bloom:51%", "50% to 0.0001%"},
      {"rocksieve.bloom:0%", "50% to 0.0001%"},
      {"rocksieve.ribbon:0.00000002%", "50% to 0.000000025%"},
      {"rocksieve.bloom:0.00009%", "50% to 0.0001%"},
      {"rocksieve.bloom:10%%", "\"10%%\""},
      {"rocksieve.bloom:10:", "\"\""},
      {"rocksieve.bloom:10:salt", "\"salt\""},
      {"rocksieve.bloom:10::salted", "\"\""},
      {"rocksieve.bloom:10:salted:", "\"\""},
      {"rocksieve.bloom:10:salted:salted", "there twice"},
      {"rocksieve.bloom:99999999999999999999999999999999999999", "1 to 64 bits per key"},
  };
  for (const Mistake& mistake : mistakes) {
    FilterSpec spec;
    spec.amount = 77;
    const std::string error = FilterSpec::Parse(mistake.text, &spec);
    EXPECT_THAT(error, HasSubstr(std::string(mistake.text)));
    EXPECT_THAT(error, HasSubstr(mistake.named));
    EXPECT_THAT(error, HasSubstr("for example rocksieve.")) << error;
    EXPECT_EQ(spec.amount, 77) << "changed by " << mistake.text;
  }
}

TEST(Spec, AnEndlessTextMakesNoEndlessMessage) {
  FilterSpec spec;
  EXPECT_LT(FilterSpec::Parse("rocksieve.bloom:" + std::string(1 << 20, '9'), &spec).size(), 1000u);
}

}  // namespace
}  // namespace rocksieve
