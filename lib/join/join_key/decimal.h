// Decimal numbers as text, so that equal numbers are equal text: exactly, however many digits they
// have.
#pragma once

#include <string>
#include <string_view>

namespace rocksieve::join {

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Takes the digits at the front of *text.
std::string_view TakeDigits(std::string_view* text);

// "1", "1.0", "+01", "10e-1" and "1E0" all give "1". False if the text is no number: an optional
// sign, digits with at most one point among, before or behind them, an optional exponent of at most
// 2^40 either way.
//
// Written with digits and a point where that takes no more than 20 zeros that the number does not
// have as digits, else as 1.5e+300. No number has leading zeros, zeros at the end of a fraction, or
// the sign of a plus; zero has none at all.
bool CanonicalDecimal(std::string_view text, std::string* canonical);

}  // namespace rocksieve::join
