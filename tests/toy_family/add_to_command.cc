// SPDX-License-Identifier: Apache-2.0
// Linked into a program, adds the toy family to it.
#include "tests/toy_family/toy_family.h"

namespace rocksieve {
namespace {

const ScopedFamily added(&kToyFamily);

}  // namespace
}  // namespace rocksieve
