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

// Cuts off and returns what stands before the first separator.
std::string_view NextSpecPart(std::string_view* text, char separator = ':');

// "own-name, salted, ..": options of every family.
std::string_view SpecOptionNames();

// One of SpecOptionNames(), or "fast" where families have it. False if the text is none; else
// *error says what is wrong with it, or stays empty.
bool SetSpecOption(std::string_view name, FilterSpec* spec, std::string* error,
                   bool has_fast = false);

// "prefixes-8-24" or "order-16", likewise: options of families whose filters are built of keys.
bool ParseDepths(std::string_view text, FilterSpec* spec, std::string* error);
inline constexpr const char* kDepthOptionNames = "prefixes-N-.., order-N";

// What is wrong with a spec that Parse() would not have made, in its words; else empty.
std::string SpecError(const FilterSpec& spec);

// ":own-name:salted", of those that are set.
std::string SpecOptionsText(const FilterSpec& spec);

// ":prefixes-8-24:order-16", what of it is set.
std::string DepthsText(const FilterSpec& spec);

}  // namespace rocksieve
