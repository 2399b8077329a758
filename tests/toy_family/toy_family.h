// SPDX-License-Identifier: Apache-2.0
// A family that exists only in tests: what a new one takes, and a proof that nothing else needs to
// know of it. One bit of each key, in a table of as many bits as the budget has.
#pragma once

#include "lib/filter/family.h"

namespace rocksieve {

extern const FamilyEntry kToyFamily;

}  // namespace rocksieve
