// SPDX-License-Identifier: Apache-2.0
// Specs of a filter and of a whole tree's budget.
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rocksieve/filter_spec.h>

#include "lib/budget/auto_spec.h"
#include "lib/filter/builder.h"
#include "tests/support.h"

namespace rocksieve {
namespace {

// Specs: what is understood, the canonical form, and errors that help.

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

// Specs of a whole tree's budget: what is understood, the canonical form, and errors that help.

std::string CanonicalAuto(std::string_view text) {
  AutoSpec spec;
  const std::string error = AutoSpec::Parse(text, &spec);
  return error.empty() ? spec.ToString() : error;
}

TEST(AutoSpec, IsReadAsWritten) {
  AutoSpec spec;
  ASSERT_EQ(AutoSpec::Parse("rocksieve.auto:7.5:bloom+cuckoo:salted:read-ns-2000", &spec), "");
  EXPECT_EQ(spec.bits_per_entry, 7.5);
  EXPECT_EQ(spec.families, (std::vector<Family>{Family::kBloom, Family::kCuckoo}));
  EXPECT_TRUE(spec.options.salted);
  EXPECT_FALSE(spec.options.verified);
  EXPECT_EQ(spec.cost_model.read_ns, 2000);
  EXPECT_EQ(spec.ForAllocator().families, (std::vector<Family>{Family::kBloom, Family::kCuckoo}));
}

TEST(AutoSpec, HasOneCanonicalForm) {
  EXPECT_EQ(CanonicalAuto("rocksieve.auto:10"), "rocksieve.auto:10");
  EXPECT_EQ(CanonicalAuto("rocksieve.auto:010.50"), "rocksieve.auto:10.5");
  EXPECT_EQ(CanonicalAuto("rocksieve.auto:10:ribbon"), "rocksieve.auto:10:ribbon");
  EXPECT_EQ(CanonicalAuto("rocksieve.auto:10:ribbon+bloom"), "rocksieve.auto:10:bloom+ribbon");
  EXPECT_EQ(CanonicalAuto("rocksieve.auto:10:ribbon+cuckoo+bloom"), "rocksieve.auto:10");
  EXPECT_EQ(CanonicalAuto("rocksieve.auto:10:range"), "rocksieve.auto:10:range");
  EXPECT_EQ(CanonicalAuto("rocksieve.auto:10:range+ribbon"), "rocksieve.auto:10:ribbon+range");
  EXPECT_EQ(CanonicalAuto("rocksieve.auto:10:ribbon+cuckoo+range+bloom"),
            "rocksieve.auto:10:range");
  EXPECT_EQ(CanonicalAuto("rocksieve.auto:10:range:order-8:salted:prefixes-3-5:read-ns-5"),
            "rocksieve.auto:10:range:salted:prefixes-3-5:order-8:read-ns-5");
  EXPECT_EQ(CanonicalAuto("rocksieve.auto:10:even:bloom-ns-7:salted"),
            "rocksieve.auto:10:salted:even:bloom-ns-7");
  EXPECT_EQ(CanonicalAuto("rocksieve.auto:10:verified:own-name:salted:thorough"),
            "rocksieve.auto:10:own-name:salted:thorough:verified");
  EXPECT_EQ(CanonicalAuto("rocksieve.auto:10:ribbon-ns-0:read-ns-80000:bloom-ns-7.5"),
            "rocksieve.auto:10:bloom-ns-7.5:ribbon-ns-0");
  const std::string tiny = "rocksieve.auto:10:ribbon-ns-0." + std::string(300, '0') + "8";
  EXPECT_EQ(CanonicalAuto(tiny), tiny);
  for (const char* text : {"rocksieve.auto:10:bloom+cuckoo:salted:read-ns-123"}) {
    EXPECT_EQ(CanonicalAuto(CanonicalAuto(text)), CanonicalAuto(text));
  }
}

TEST(AutoSpec, TakesABudgetOfBytes) {
  AutoSpec spec;
  ASSERT_EQ(AutoSpec::Parse("rocksieve.auto:512MB:ribbon", &spec), "");
  EXPECT_EQ(spec.bytes, 512'000'000u);
  EXPECT_EQ(spec.BudgetBytes(1e12), 512e6);
  EXPECT_EQ(spec.ForAllocator().bytes, 512'000'000u);
  ASSERT_EQ(AutoSpec::Parse("rocksieve.auto:8", &spec), "");
  EXPECT_EQ(spec.bytes, 0u);
  EXPECT_EQ(spec.BudgetBytes(1000), 1000);
  for (const auto& [text, canonical] :
       {std::pair("512MB", "512MB"), std::pair("0.5GB", "500MB"), std::pair("512MiB", "512MiB"),
        std::pair("1024KiB", "1MiB"), std::pair("1.5GiB", "1536MiB"), std::pair("2000kB", "2MB"),
        std::pair("1001B", "1001B"), std::pair("1000B", "1kB"), std::pair("1000TB", "1000TB"),
        std::pair("1.0005kB", "1kB"), std::pair("0512.0MB", "512MB")}) {
    const std::string name = "rocksieve.auto:";
    EXPECT_EQ(CanonicalAuto(name + text), name + canonical);
    EXPECT_EQ(CanonicalAuto(name + canonical), name + canonical);
  }
}

struct AutoMistake {
  const char* text;
  const char* named;  // what the message must name
};

class AutoSpecMistake : public testing::TestWithParam<AutoMistake> {};

TEST_P(AutoSpecMistake, IsNamedWithARemedy) {
  AutoSpec spec;
  spec.bits_per_entry = 3;
  const std::string error = AutoSpec::Parse(GetParam().text, &spec);
  EXPECT_THAT(error, HasSubstr(GetParam().text));
  EXPECT_THAT(error, HasSubstr(GetParam().named));
  EXPECT_THAT(error, HasSubstr("for example"));
  EXPECT_EQ(spec.bits_per_entry, 3);
}

INSTANTIATE_TEST_SUITE_P(
    All, AutoSpecMistake,
    testing::Values(AutoMistake{"rocksieve.auto", "\"\" is not a budget"},
                    AutoMistake{"rocksieve.auto:", "\"\" is not a budget"},
                    AutoMistake{"rocksieve.auto:0.5", "1 to 32"},
                    AutoMistake{"rocksieve.auto:33", "1 to 32"},
                    AutoMistake{"rocksieve.auto:1%", "\"1%\" is not a budget"},
                    AutoMistake{"rocksieve.auto:nan", "\"nan\""},
                    AutoMistake{"rocksieve.auto:512", "1kB to 1000TB"},
                    AutoMistake{"rocksieve.auto:512M", "with a unit: B, kB, MB"},
                    AutoMistake{"rocksieve.auto:512mb", "\"512mb\" is not a budget"},
                    AutoMistake{"rocksieve.auto:999B", "1kB to 1000TB"},
                    AutoMistake{"rocksieve.auto:0MB", "1kB to 1000TB"},
                    AutoMistake{"rocksieve.auto:1001TB", "1kB to 1000TB"},
                    AutoMistake{"rocksieve.auto:MB", "\"MB\" is not a budget"},
                    AutoMistake{"rocksieve.auto:-5MB", "\"-5MB\" is not a budget"},
                    AutoMistake{"rocksieve.auto:1.2.3MB", "\"1.2.3MB\" is not a budget"},
                    AutoMistake{"rocksieve.auto:1e3MB", "\"1e3MB\" is not a budget"},
                    AutoMistake{"rocksieve.auto:10:512MB", "\"512MB\" is not one of the options"},
                    AutoMistake{"rocksieve.auto:10:", "\"\" is not one of the options"},
                    AutoMistake{"rocksieve.auto:10:blom+ribbon", "\"blom\""},
                    AutoMistake{"rocksieve.auto:10:bloom+", "\"\" is not one of the families"},
                    AutoMistake{"rocksieve.auto:10:bloom+bloom", "twice"},
                    AutoMistake{"rocksieve.auto:10:range+range", "twice"},
                    AutoMistake{"rocksieve.auto:10:prefixes-8", "not one of the options"},
                    AutoMistake{"rocksieve.auto:10:range:prefixes-8:prefixes-9", "twice"},
                    AutoMistake{"rocksieve.auto:10:range:prefixes-0", "lengths of prefixes"},
                    AutoMistake{"rocksieve.auto:10:range:fast", "prefixes-N-.., order-N"},
                    AutoMistake{"rocksieve.auto:10:salted:bloom", "right after the budget"},
                    AutoMistake{"rocksieve.auto:10:salted:salted", "twice"},
                    AutoMistake{"rocksieve.auto:10:even:even", "\"even\" is there twice"},
                    AutoMistake{"rocksieve.auto:10:read-ns", "read-ns-80000"},
                    AutoMistake{"rocksieve.auto:10:read-ns-0", "1 to"},
                    AutoMistake{"rocksieve.auto:10:ribbon-ns-9x", "\"ribbon-ns-9x\""},
                    AutoMistake{"rocksieve.auto:10:fast", "\"fast\" is not one of the options"}));

TEST(AutoSpec, IsTheOnesThatBeginSo) {
  EXPECT_TRUE(AutoSpec::IsMeant("rocksieve.auto:10"));
  EXPECT_TRUE(AutoSpec::IsMeant("rocksieve.auto"));
  EXPECT_FALSE(AutoSpec::IsMeant("rocksieve.automatic:10"));
  EXPECT_FALSE(AutoSpec::IsMeant("rocksieve.bloom:10"));
}

TEST(AutoSpec, IsNoSpecOfOneFilter) {
  FilterSpec spec;
  EXPECT_THAT(FilterSpec::Parse("rocksieve.auto:10", &spec), HasSubstr("filter policy"));
}

TEST(AutoSpec, BuildsWhatWasChosen) {
  AutoSpec spec;
  ASSERT_EQ(AutoSpec::Parse("rocksieve.auto:10:verified", &spec), "");
  const Allocator allocator(spec.ForAllocator());
  for (double bits = 1; bits < 40; bits += 0.37) {
    const FilterChoice choice = allocator.HullFor(10000).Choose(bits);
    const FilterSpec filter = spec.SpecFor(choice);
    EXPECT_TRUE(filter.verified);
    FilterSpec again;
    EXPECT_EQ(FilterSpec::Parse(filter.ToString(), &again), "");
    EXPECT_NEAR(8.0 * static_cast<double>(EstimateBlockBytes(again, 10000)) / 10000,
                choice.bits_per_key, 0.1);
  }
}

TEST(AutoSpec, KeepsDepthsToRangeFilters) {
  AutoSpec spec;
  ASSERT_EQ(AutoSpec::Parse("rocksieve.auto:10:range:prefixes-8", &spec), "");
  FilterChoice choice;
  choice.setting = 12;
  for (const auto& [family, text] : {std::pair(Family::kRange, "rocksieve.range:12:prefixes-8"),
                                     std::pair(Family::kRibbon, "rocksieve.ribbon:12")}) {
    choice.family = family;
    EXPECT_EQ(spec.SpecFor(choice).ToString(), text);
  }
  EXPECT_EQ(spec.ForRangeAllocator().families, std::vector<Family>{Family::kRange});
}

TEST(Builder, OfKeysBuildsOfHashesAsWell) {
  const std::vector<std::string> keys = NumberedKeys(3000);
  for (const char* salted : {"", ":salted"}) {
    const FilterSpec range = Spec("rocksieve.range:12" + std::string(salted));
    const FilterSpec ribbon = Spec("rocksieve.ribbon:10" + std::string(salted));
    BlockBuilder builder(range);
    builder.KeepKeysForVerification();
    // One filter after the other, as partitions are built.
    for (const FilterSpec& spec : {ribbon, range, ribbon}) {
      for (const std::string& key : keys) builder.AddKey(key);
      builder.SetSpec(spec);
      FilterBlock block = builder.Finish();
      EXPECT_EQ(builder.Verify(block.view()), "");
      if (!spec.salted) {
        EXPECT_EQ(block.view(), BuildFilter(spec, keys).view());
      }
      block.data[20] ^= 1;
      EXPECT_NE(builder.Verify(block.view()), "");
    }
  }
  // Prefixes that come again between the keys count once.
  BlockBuilder with_prefixes(Spec("rocksieve.range:12"));
  with_prefixes.KeepKeysForVerification();
  for (const std::string& key : keys) with_prefixes.AddKeyAndAlt(key, "key");
  with_prefixes.SetSpec(Spec("rocksieve.ribbon:10"));
  const FilterBlock block = with_prefixes.Finish();
  EXPECT_EQ(with_prefixes.Verify(block.view()), "");
  EXPECT_EQ(OpenFilter(block.view()).info.key_count, keys.size() + 1);
  BlockBuilder of_hashes(Spec("rocksieve.ribbon:10"));
  EXPECT_THROW(of_hashes.SetSpec(Spec("rocksieve.range:12")), std::invalid_argument);
}

TEST(Builder, ChangesItsSpecWhenItHasTheKeys) {
  const std::vector<std::string> keys = NumberedKeys(3000);
  BlockBuilder builder(Spec("rocksieve.bloom:10"));
  for (const std::string& key : keys) builder.AddKey(key);
  builder.SetSpec(Spec("rocksieve.ribbon:0.1%"));
  const FilterBlock block = builder.Finish();
  EXPECT_EQ(block.view(), BuildFilter(Spec("rocksieve.ribbon:0.1%"), keys).view());
  EXPECT_THROW(builder.SetSpec(Spec("rocksieve.bloom:10:salted")), std::invalid_argument);
}

}  // namespace
}  // namespace rocksieve
