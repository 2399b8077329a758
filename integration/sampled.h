// SPDX-License-Identifier: Apache-2.0
// Tests so many or so long that a run takes a sample of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string_view>

#include <gtest/gtest.h>

#include "integration/seed.h"

namespace rocksieve {

// A fixture that skips tests, after its constructor, unless ROCKSIEVE_THOROUGH=1. `Base` is
// testing::Test: one in `kOneIn` of the suite's tests runs. Or testing::TestWithParam: of each test
// one in `kOneIn` of the cases. At least one, and others with another seed.
template <typename Base, size_t kOneIn>
class Sampled : public Base {
 protected:
  void SetUp() override {
    const Place place = PlaceOfThis();
    const size_t one_in = std::min(kOneIn, place.among);
    if (std::getenv("ROCKSIEVE_THOROUGH") == nullptr &&
        place.number % one_in != SeedOfThisRun() % one_in) {
      GTEST_SKIP() << "not in this run's sample: ROCKSIEVE_THOROUGH=1 takes all";
    }
  }

 private:
  struct Place {
    size_t number = 0, among = 0;
  };

  // Among the cases of the same test, or without parameters among the tests.
  static Place PlaceOfThis() {
    const testing::UnitTest* const all = testing::UnitTest::GetInstance();
    const testing::TestInfo* const current = all->current_test_info();
    const auto counts = [current](const testing::TestInfo* other) {
      if (current->value_param() == nullptr) return true;
      const auto test_of = [](std::string_view name) { return name.substr(0, name.find('/')); };
      return test_of(other->name()) == test_of(current->name());
    };
    Place place;
    for (int i = 0; i < all->current_test_suite()->total_test_count(); i++) {
      const testing::TestInfo* const other = all->current_test_suite()->GetTestInfo(i);
      if (other == current) place.number = place.among;
      if (counts(other)) place.among++;
    }
    return place;
  }
};

}  // namespace rocksieve
