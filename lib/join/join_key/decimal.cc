#include "lib/join/join_key/decimal.h"

#include <charconv>
#include <cstdint>

namespace rocksieve::join {
namespace {

constexpr int64_t kMostZeros = 20;
constexpr int64_t kMostExponent = int64_t{1} << 40;

bool TakeSign(std::string_view* text) {
  const bool minus = !text->empty() && text->front() == '-';
  if (minus || (!text->empty() && text->front() == '+')) text->remove_prefix(1);
  return minus;
}

// The exponent behind an e; false if that is none, or beyond reason.
bool TakeExponent(std::string_view* text, int64_t* exponent) {
  *exponent = 0;
  if (text->empty() || (text->front() != 'e' && text->front() != 'E')) return true;
  text->remove_prefix(1);
  const bool minus = TakeSign(text);
  const std::string_view digits = TakeDigits(text);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), *exponent);
  if (digits.empty() || error != std::errc() || *exponent > kMostExponent) return false;
  if (minus) *exponent = -*exponent;
  return true;
}

}  // namespace

std::string_view TakeDigits(std::string_view* text) {
  size_t count = 0;
  while (count < text->size() && IsDigit((*text)[count])) count++;
  const std::string_view digits = text->substr(0, count);
  text->remove_prefix(count);
  return digits;
}

bool CanonicalDecimal(std::string_view text, std::string* canonical) {
  const bool minus = TakeSign(&text);
  std::string digits(TakeDigits(&text));
  std::string_view fraction;
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    fraction = TakeDigits(&text);
  }
  int64_t exponent = 0;
  if ((digits.empty() && fraction.empty()) || !TakeExponent(&text, &exponent) || !text.empty()) {
    return false;
  }
  // The number is 0.DIGITS times ten to the power of `point`, without zeros at either end.
  digits += fraction;
  int64_t point = static_cast<int64_t>(digits.size() - fraction.size()) + exponent;
  const size_t leading = digits.find_first_not_of('0');
  canonical->clear();
  if (leading == std::string::npos) {
    canonical->push_back('0');
    return true;
  }
  digits.erase(0, leading);
  point -= static_cast<int64_t>(leading);
  digits.erase(digits.find_last_not_of('0') + 1);
  const auto count = static_cast<int64_t>(digits.size());

  if (minus) canonical->push_back('-');
  if (point >= count && point - count <= kMostZeros) {
    canonical->append(digits).append(static_cast<size_t>(point - count), '0');
  } else if (point > 0 && point < count) {
    canonical->append(digits, 0, static_cast<size_t>(point)).push_back('.');
    canonical->append(digits, static_cast<size_t>(point));
  } else if (point <= 0 && -point <= kMostZeros) {
    canonical->append("0.").append(static_cast<size_t>(-point), '0').append(digits);
  } else {
    canonical->push_back(digits.front());
    if (count > 1) canonical->append(".").append(digits, 1);
    canonical->append(point > 0 ? "e+" : "e").append(std::to_string(point - 1));
  }
  return true;
}

}  // namespace rocksieve::join
