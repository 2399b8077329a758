// Specs of a whole tree's budget: what is understood, the canonical form, and errors that help.
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/budget/auto_spec.h"
#include "tests/support.h"

namespace rocksieve {
namespace {

using ::testing::HasSubstr;

std::string Canonical(std::string_view text) {
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
  EXPECT_EQ(Canonical("rocksieve.auto:10"), "rocksieve.auto:10");
  EXPECT_EQ(Canonical("rocksieve.auto:010.50"), "rocksieve.auto:10.5");
  EXPECT_EQ(Canonical("rocksieve.auto:10:ribbon"), "rocksieve.auto:10:ribbon");
  EXPECT_EQ(Canonical("rocksieve.auto:10:ribbon+bloom"), "rocksieve.auto:10:bloom+ribbon");
  EXPECT_EQ(Canonical("rocksieve.auto:10:ribbon+cuckoo+bloom"), "rocksieve.auto:10");
  EXPECT_EQ(Canonical("rocksieve.auto:10:verified:own-name:salted:thorough"),
            "rocksieve.auto:10:own-name:salted:thorough:verified");
  EXPECT_EQ(Canonical("rocksieve.auto:10:ribbon-ns-0:read-ns-80000:bloom-ns-7.5"),
            "rocksieve.auto:10:bloom-ns-7.5:ribbon-ns-0");
  for (const char* text : {"rocksieve.auto:10:bloom+cuckoo:salted:read-ns-123"}) {
    EXPECT_EQ(Canonical(Canonical(text)), Canonical(text));
  }
}

struct Mistake {
  const char* text;
  const char* named;  // what the message must name
};

class AutoSpecMistake : public testing::TestWithParam<Mistake> {};

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
    testing::Values(Mistake{"rocksieve.auto", "\"\" is not a budget"},
                    Mistake{"rocksieve.auto:", "\"\" is not a budget"},
                    Mistake{"rocksieve.auto:0.5", "1 to 32"},
                    Mistake{"rocksieve.auto:33", "1 to 32"},
                    Mistake{"rocksieve.auto:1%", "\"1%\" is not a budget"},
                    Mistake{"rocksieve.auto:nan", "\"nan\""},
                    Mistake{"rocksieve.auto:10:", "\"\" is not one of the options"},
                    Mistake{"rocksieve.auto:10:blom+ribbon", "\"blom\""},
                    Mistake{"rocksieve.auto:10:bloom+", "\"\" is not one of the families"},
                    Mistake{"rocksieve.auto:10:bloom+bloom", "twice"},
                    Mistake{"rocksieve.auto:10:salted:bloom", "right after the budget"},
                    Mistake{"rocksieve.auto:10:salted:salted", "twice"},
                    Mistake{"rocksieve.auto:10:read-ns", "read-ns-80000"},
                    Mistake{"rocksieve.auto:10:read-ns-0", "1 to"},
                    Mistake{"rocksieve.auto:10:ribbon-ns-9x", "\"ribbon-ns-9x\""},
                    Mistake{"rocksieve.auto:10:fast", "\"fast\" is not one of the options"}));

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
    FilterBuilder builder(again);
    EXPECT_NEAR(8.0 * static_cast<double>(builder.EstimateBlockBytes(10000)) / 10000,
                choice.bits_per_key, 0.1);
  }
}

TEST(Builder, ChangesItsSpecWhenItHasTheKeys) {
  const std::vector<std::string> keys = NumberedKeys(3000);
  FilterBuilder builder(Spec("rocksieve.bloom:10"));
  for (const std::string& key : keys) builder.AddKey(key);
  builder.SetSpec(Spec("rocksieve.ribbon:0.1%"));
  const FilterBlock block = builder.Finish();
  EXPECT_EQ(block.view(), BuildFilter(Spec("rocksieve.ribbon:0.1%"), keys).view());
  EXPECT_THROW(builder.SetSpec(Spec("rocksieve.bloom:10:salted")), std::invalid_argument);
}

}  // namespace
}  // namespace rocksieve
