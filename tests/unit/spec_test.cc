// SPDX-License-Identifier: Apache-2.0
// Specs of a filter and of a whole tree's budget.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rocksieve/filter_spec.h>

#include "lib/budget/auto_spec.h"
#include "lib/filter/builder.h"
#include "tests/support.h"
#include "tests/toy_family/toy_family.h"

namespace rocksieve {
namespace {

// Specs: what is understood, the canonical form, and errors that help.

using ::testing::HasSubstr;

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string Canonical(std::string_view text) {
  FilterSpec spec;
  const std::string error = FilterSpec::Parse(text, &spec);
  return error.empty() ? spec.ToString() : error;
}

TEST(Spec, HasOneCanonicalForm) {
  for (const auto& [text, canonical] : Pairs{
           {"rocksieve.bloom:10", "rocksieve.bloom:10"},
           {"rocksieve.bloom:10.0", "rocksieve.bloom:10"},
           {"rocksieve.bloom:013.70", "rocksieve.bloom:13.7"},
           {"rocksieve.cuckoo:50%", "rocksieve.cuckoo:50%"},
           {"rocksieve.cuckoo:0.10%:salted", "rocksieve.cuckoo:0.1%:salted"},
           {"rocksieve.bloom:0.0001%", "rocksieve.bloom:0.0001%"},
           {"rocksieve.bloom:64", "rocksieve.bloom:64"},
           {"rocksieve.bloom:10:verified:salted:own-name:thorough",
            "rocksieve.bloom:10:own-name:salted:thorough:verified"},
           {"rocksieve.bloom:10:salted:fast", "rocksieve.bloom:10:fast:salted"},
       }) {
    EXPECT_EQ(Canonical(text), canonical);
    EXPECT_EQ(Canonical(canonical), canonical);
  }
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

struct Mistakes {
  std::string named;  // what the message must name; if empty, the last word in quotes
  std::vector<std::string> texts;
};

// As the parser says them, which changes nothing.
template <typename Spec>
void ExpectNamed(const Mistakes& mistakes, const char* example) {
  for (const std::string& text : mistakes.texts) {
    Spec spec;
    const std::string before = spec.ToString();
    const std::string error = Spec::Parse(text, &spec);
    const std::string word = "\"" + text.substr(text.rfind(':') + 1) + "\"";
    for (const std::string& part : {text, mistakes.named.empty() ? word : mistakes.named}) {
      EXPECT_THAT(error, HasSubstr(part));
    }
    EXPECT_THAT(error, HasSubstr(example));
    EXPECT_EQ(spec.ToString(), before) << "changed by " << text;
  }
}

TEST(Spec, MistakesAreNamedWithWhatIsAllowedAndAnExample) {
  const Mistakes mistakes[] = {
      {"", {"rocksieve.bloom:ten", "rocksieve.bloom:-10", "rocksieve.bloom:+10",
            "rocksieve.bloom:1e1", "rocksieve.bloom:0x10", "rocksieve.bloom:nan",
            "rocksieve.bloom:inf", "rocksieve.bloom:1.2.3", "rocksieve.bloom:.",
            "rocksieve.bloom: 10", "rocksieve.bloom:10 ", "rocksieve.bloom:10,5",
            "rocksieve.bloom:10%%", "rocksieve.bloom:10:", "rocksieve.bloom:10:salt",
            "rocksieve.bloom:10:Salted", "rocksieve.bloom:10:salted:", "rocksieve.bloom:10:false",
            "rocksieve.ribbon:10:fast"}},
      {"\"\"", {"", "rocksieve.bloom:10::salted"}},
      {"\"BLOOM\"", {"rocksieve.BLOOM:10"}},
      {"\"blom\"", {"rocksieve.blom:10"}},
      {"1 to 32 bits per key", {"rocksieve.ribbon:33"}},
      {"1 to 64 bits per key", {"rocksieve.bloom", "rocksieve.bloom:", "rocksieve.bloom:0",
                                "rocksieve.bloom:0.99", "rocksieve.bloom:64.01",
                                "rocksieve.bloom:65", "rocksieve.bloom:salted:10",
                                "rocksieve.bloom:99999999999999999999999999999999999999"}},
      {"2.5 to 64 bits per key", {"rocksieve.cuckoo:2", "rocksieve.cuckoo:2.4",
                                  "rocksieve.cuckoo:65"}},
      {"50% to 0.000000025%", {"rocksieve.ribbon:0.00000002%"}},
      {"50% to 0.0001%", {"rocksieve.bloom:%", "rocksieve.bloom:51%", "rocksieve.bloom:60%",
                          "rocksieve.bloom:0%", "rocksieve.bloom:0.00009%"}},
      {"bloom, cuckoo, ribbon", {"rocksieve.", "rocksieve.Bloom:10", "rocksieve.bloom.cuckoo:10"}},
      {"must begin with rocksieve.FAMILY", {"rocksieve", "Rocksieve.bloom:10"}},
      {"there twice", {"rocksieve.bloom:10:salted:salted", "rocksieve.bloom:10:fast:fast"}},
      {"fast or thorough, not both", {"rocksieve.bloom:10:fast:thorough"}},
  };
  for (const Mistakes& row : mistakes) ExpectNamed<FilterSpec>(row, "for example rocksieve.");
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
  for (const auto& [text, canonical] : Pairs{
           {"rocksieve.auto:10", "rocksieve.auto:10"},
           {"rocksieve.auto:010.50", "rocksieve.auto:10.5"},
           {"rocksieve.auto:10:ribbon", "rocksieve.auto:10:ribbon"},
           {"rocksieve.auto:10:ribbon+bloom", "rocksieve.auto:10:bloom+ribbon"},
           {"rocksieve.auto:10:ribbon+cuckoo+bloom", "rocksieve.auto:10"},
           {"rocksieve.auto:10:range", "rocksieve.auto:10:range"},
           {"rocksieve.auto:10:range+ribbon", "rocksieve.auto:10:ribbon+range"},
           {"rocksieve.auto:10:ribbon+cuckoo+range+bloom", "rocksieve.auto:10:range"},
           {"rocksieve.auto:10:range:order-8:salted:prefixes-3-5:read-ns-5",
            "rocksieve.auto:10:range:salted:prefixes-3-5:order-8:read-ns-5"},
           {"rocksieve.auto:10:even:bloom-ns-7:salted", "rocksieve.auto:10:salted:even:bloom-ns-7"},
           {"rocksieve.auto:10:verified:own-name:salted:thorough",
            "rocksieve.auto:10:own-name:salted:thorough:verified"},
           {"rocksieve.auto:10:ribbon-ns-0:read-ns-80000:bloom-ns-7.5",
            "rocksieve.auto:10:bloom-ns-7.5:ribbon-ns-0"},
       }) {
    EXPECT_EQ(CanonicalAuto(text), canonical);
    EXPECT_EQ(CanonicalAuto(canonical), canonical);
  }
  const std::string tiny = "rocksieve.auto:10:ribbon-ns-0." + std::string(300, '0') + "8";
  EXPECT_EQ(CanonicalAuto(tiny), tiny);
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

TEST(AutoSpec, MistakesAreNamedWithARemedy) {
  const Mistakes mistakes[] = {
      {"", {"rocksieve.auto:nan", "rocksieve.auto:10:ribbon-ns-9x"}},
      {"\"\" is not a budget", {"rocksieve.auto", "rocksieve.auto:"}},
      {"\"\" is not one of the families", {"rocksieve.auto:10:bloom+"}},
      {"\"\" is not one of the options", {"rocksieve.auto:10:"}},
      {"\"-5MB\" is not a budget", {"rocksieve.auto:-5MB"}},
      {"\"1%\" is not a budget", {"rocksieve.auto:1%"}},
      {"\"1.2.3MB\" is not a budget", {"rocksieve.auto:1.2.3MB"}},
      {"\"1e3MB\" is not a budget", {"rocksieve.auto:1e3MB"}},
      {"\"512MB\" is not one of the options", {"rocksieve.auto:10:512MB"}},
      {"\"512mb\" is not a budget", {"rocksieve.auto:512mb"}},
      {"\"MB\" is not a budget", {"rocksieve.auto:MB"}},
      {"\"blom\"", {"rocksieve.auto:10:blom+ribbon"}},
      {"\"even\" is there twice", {"rocksieve.auto:10:even:even"}},
      {"\"fast\" is not one of the options", {"rocksieve.auto:10:fast"}},
      {"1 to", {"rocksieve.auto:10:read-ns-0"}},
      {"1 to 32", {"rocksieve.auto:0.5", "rocksieve.auto:33"}},
      {"1kB to 1000TB", {"rocksieve.auto:512", "rocksieve.auto:999B", "rocksieve.auto:0MB",
                         "rocksieve.auto:1001TB"}},
      {"lengths of prefixes", {"rocksieve.auto:10:range:prefixes-0"}},
      {"not one of the options", {"rocksieve.auto:10:prefixes-8"}},
      {"prefixes-N-.., order-N", {"rocksieve.auto:10:range:fast"}},
      {"read-ns-80000", {"rocksieve.auto:10:read-ns"}},
      {"right after the budget", {"rocksieve.auto:10:salted:bloom"}},
      {"twice", {"rocksieve.auto:10:bloom+bloom", "rocksieve.auto:10:range+range",
                 "rocksieve.auto:10:range:prefixes-8:prefixes-9",
                 "rocksieve.auto:10:salted:salted"}},
      {"with a unit: B, kB, MB", {"rocksieve.auto:512M"}},
  };
  for (const Mistakes& row : mistakes) ExpectNamed<AutoSpec>(row, "for example");
}

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

// A family that is added to the others is used through spec, builder and reader, and by auto.
// integration/databases_test.py has the same in RocksDB and in the command.

TEST(ToyFamily, IsUnknownUntilItIsAdded) {
  FilterSpec spec;
  EXPECT_NE(FilterSpec::Parse("rocksieve.toy:10", &spec), "");
  std::string block;
  {
    const ScopedFamily toy(&kToyFamily);
    ASSERT_EQ(FilterSpec::Parse("rocksieve.toy:10", &spec), "");
    block = std::string(BuildFilter(spec, NumberedKeys(100)).view());
    EXPECT_EQ(OpenFilter(block).state, BlockState::kIntact);
  }
  EXPECT_EQ(OpenFilter(block).state, BlockState::kFutureVersion);
  EXPECT_THROW(FilterBuilder builder(spec), std::invalid_argument);
}

TEST(ToyFamily, SpecsAreReadWrittenAndRefused) {
  const ScopedFamily toy(&kToyFamily);
  for (const char* text : {"rocksieve.toy:2", "rocksieve.toy:7.5:salted", "rocksieve.toy:5%"}) {
    FilterSpec spec;
    ASSERT_EQ(FilterSpec::Parse(text, &spec), "");
    EXPECT_EQ(spec.family, kToyFamily.family);
    EXPECT_EQ(spec.ToString(), text);
  }
  FilterSpec spec;
  EXPECT_NE(FilterSpec::Parse("rocksieve.toy:1", &spec).find("2 to 40"), std::string::npos);
  EXPECT_NE(FilterSpec::Parse("rocksieve.tov:1", &spec).find("bloom, cuckoo, ribbon, range, toy"),
            std::string::npos);
}

TEST(ToyFamily, FiltersHaveAllTheirKeysAndTheRateTheySay) {
  const ScopedFamily toy(&kToyFamily);
  for (const char* text : {"rocksieve.toy:4", "rocksieve.toy:20", "rocksieve.toy:10%:salted"}) {
    SCOPED_TRACE(text);
    FilterSpec spec;
    ASSERT_EQ(FilterSpec::Parse(text, &spec), "");
    const std::vector<std::string> keys = NumberedKeys(20000);
    const FilterBlock block = BuildFilter(spec, keys);
    const OpenedFilter opened = OpenFilter(block.view());
    ASSERT_NE(opened.filter, nullptr);
    for (const std::string& key : keys) ASSERT_TRUE(opened.filter->MayContain(key)) << key;
    size_t passed = 0;
    for (const std::string& key : keys) passed += opened.filter->MayContain(key + "?") ? 1 : 0;
    const double rate = static_cast<double>(passed) / static_cast<double>(keys.size());
    EXPECT_NEAR(rate, ExpectedFalsePositiveRate(opened.info), 0.02);
    EXPECT_NEAR(rate, ExpectedFalsePositiveRate(spec, keys.size()), 0.02);
  }
}

TEST(ToyFamily, AutoMayTakeIt) {
  const ScopedFamily toy(&kToyFamily);
  AutoSpec spec;
  ASSERT_EQ(AutoSpec::Parse("rocksieve.auto:10:toy:toy-ns-3", &spec), "");
  EXPECT_EQ(spec.ToString(), "rocksieve.auto:10:toy:toy-ns-3");
  const Allocator allocator(spec.ForAllocator());
  const FilterChoice choice = allocator.HullFor(100000).Choose(10);
  EXPECT_EQ(choice.family, kToyFamily.family);
  EXPECT_EQ(spec.SpecFor(choice).family, kToyFamily.family);
}

}  // namespace
}  // namespace rocksieve
