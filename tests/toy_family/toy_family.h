// SPDX-License-Identifier: Apache-2.0
// A family that exists only in tests: what a new one takes, and a proof that nothing else needs to
// know of it. One bit of each key, in a table of as many bits as the budget has.
#pragma once

#include "lib/filter/family.h"

namespace rocksieve {

extern const FamilyEntry kToyFamily;

// Adds a family to the others for as long as it lives. REQUIRES: number and name are not in use.
class ScopedFamily {
 public:
  explicit ScopedFamily(const FamilyEntry* entry) { Families().push_back(entry); }
  ~ScopedFamily() { Families().pop_back(); }
  ScopedFamily(const ScopedFamily&) = delete;
  ScopedFamily& operator=(const ScopedFamily&) = delete;
};

}  // namespace rocksieve
