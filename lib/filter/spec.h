// SPDX-License-Identifier: Apache-2.0
// The parts that the texts of all kinds of specs are made of.
#pragma once

#include <string>
#include <string_view>

#include <rocksieve/filter_spec.h>

namespace rocksieve {

inline constexpr std::string_view kSpecPrefix = "rocksieve.";

// In quotation marks, and cut if very long.
std::string QuotedSpec(std::string_view text);

// Shortest decimal that reads back as the same number, without an exponent.
std::string DecimalText(double value);

// Digits, perhaps a point and more digits; nothing else, so neither signs nor exponents nor "nan".
bool ParseDecimal(std::string_view text, double* value);

// Cuts off and returns what stands before the first colon.
std::string_view NextSpecPart(std::string_view* text);

// "own-name, salted, ..": options of every family.
std::string_view SpecOptionNames();

enum class OptionState { kSet, kUnknown, kTwice };
// One of SpecOptionNames(), or "fast" where families have it.
OptionState SetSpecOption(std::string_view name, FilterSpec* spec, bool has_fast = false);

// "prefixes-8-24" or "order-16": options of families whose filters are built of keys. False if the
// text is meant as neither; else *error says what is wrong with it, or is empty.
bool ParseDepths(std::string_view text, FilterSpec* spec, std::string* error);
inline constexpr const char* kDepthOptionNames = "prefixes-N-.., order-N";

// What is wrong with a spec that Parse() would not have made, in its words; else empty.
std::string SpecError(const FilterSpec& spec);

// ":own-name:salted", of those that are set.
std::string SpecOptionsText(const FilterSpec& spec);

// ":prefixes-8-24:order-16", what of it is set.
std::string DepthsText(const FilterSpec& spec);

}  // namespace rocksieve
