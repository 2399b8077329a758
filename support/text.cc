// SPDX-License-Identifier: Apache-2.0
#include "support/text.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <sstream>

namespace rocksieve {
namespace {

// What stands behind a backslash for a byte, and the bytes in the same order.
constexpr std::string_view kEscapeLetters = "\\tnr0", kEscapedBytes("\\\t\n\r\0", 5);

// Puts commas between the groups of three digits before the point, if there is one.
std::string WithCommas(const std::string& number) {
  const size_t point = std::min(number.find('.'), number.size());
  std::string result;
  for (size_t i = 0; i < number.size(); i++) {
    const bool group_begins = i > 0 && i < point && (point - i) % 3 == 0;
    if (group_begins && number[i - 1] != '-') result += ',';
    result += number[i];
  }
  return result;
}

bool CanBePrinted(char byte) { return byte >= ' ' && byte <= '~'; }

}  // namespace

std::string Thousands(uint64_t number) { return WithCommas(std::to_string(number)); }

std::string Counted(uint64_t number, const std::string& noun) {
  const bool in_y = !noun.empty() && noun.back() == 'y' && noun != "key";
  const std::string plural = in_y ? noun.substr(0, noun.size() - 1) + "ies" : noun + "s";
  return Thousands(number) + " " + (number == 1 ? noun : plural);
}

std::string Fixed(double number, int digits) {
  char text[400];  // the largest double has 309 digits before the point
  std::snprintf(text, sizeof(text), "%.*f", digits, number);
  return WithCommas(text);
}

std::string ShortBytes(double bytes) {
  const char* units[] = {"B", "kB", "MB", "GB", "TB"};
  size_t unit = 0;
  for (; bytes >= 999.5 && unit + 1 < std::size(units); unit++) bytes /= 1000;
  return Fixed(bytes, bytes < 9.95 && unit > 0 ? 1 : 0) + " " + units[unit];
}

size_t TerminalColumns(int descriptor) {
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

size_t TextColumns(size_t usual) {
  const size_t columns = TerminalColumns(STDOUT_FILENO);
  return columns == 0 ? usual : std::min(usual, columns);
}

std::string Wrapped(const std::string& text, size_t width) {
  std::istringstream words(text);
  std::string result, word;
  size_t column = 0;
  while (words >> word) {
    if (column > 0 && column + 1 + word.size() > width) {
      result += "\n";
      column = 0;
    } else if (column > 0) {
      result += " ";
      column++;
    }
    result += word;
    column += word.size();
  }
  return result;
}

std::string WithinColumns(const std::string& text, size_t columns) {
  if (columns == 0) return text;
  std::istringstream lines(text);
  std::string result, line;
  while (std::getline(lines, line)) {
    const size_t indent = std::min(line.find_first_not_of(' '), line.size());
    if (line.size() <= columns || indent + 1 >= columns) {
      result += line + "\n";
      continue;
    }
    std::istringstream broken(Wrapped(line, columns - indent));
    while (std::getline(broken, line)) result += std::string(indent, ' ') + line + "\n";
  }
  return result;
}

std::string Escaped(std::string_view text, const std::map<char, std::string_view>& by) {
  std::string escaped;
  for (const char c : text) {
    const auto found = by.find(c);
    escaped += found == by.end() ? std::string_view(&c, 1) : found->second;
  }
  return escaped;
}

std::string HexBytes(std::string_view bytes) {
  static const char kDigits[] = "0123456789abcdef";
  std::string text;
  for (char byte : bytes) {
    text += kDigits[static_cast<uint8_t>(byte) >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

bool FromHexBytes(std::string_view text, std::string* bytes) {
  if (text.rfind("0x", 0) == 0) text.remove_prefix(2);
  if (text.empty() || text.size() % 2 != 0) return false;
  bytes->clear();
  for (size_t i = 0; i < text.size(); i += 2) {
    uint8_t byte = 0;
    const char* const end = text.data() + i + 2;
    if (std::from_chars(text.data() + i, end, byte, 16).ptr != end) return false;
    *bytes += static_cast<char>(byte);
  }
  return true;
}

std::string HexNumber(uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%016llx", static_cast<unsigned long long>(number));
  return text;
}

void AppendEscapedText(std::string_view bytes, std::string* escaped) {
  while (!bytes.empty()) {
    const size_t plain = std::min(bytes.find_first_of(kEscapedBytes), bytes.size());
    escaped->append(bytes.substr(0, plain));
    bytes.remove_prefix(plain);
    if (bytes.empty()) break;
    escaped->push_back('\\');
    escaped->push_back(kEscapeLetters[kEscapedBytes.find(bytes.front())]);
    bytes.remove_prefix(1);
  }
}

bool FromEscapedText(std::string_view escaped, std::string* bytes) {
  bytes->clear();
  for (size_t i = 0; i < escaped.size(); i++) {
    if (escaped[i] != '\\') {
      *bytes += escaped[i];
      continue;
    }
    const size_t which =
        ++i < escaped.size() ? kEscapeLetters.find(escaped[i]) : std::string_view::npos;
    if (which == std::string_view::npos) return false;
    *bytes += kEscapedBytes[which];
  }
  return true;
}

size_t FirstUtf8(std::string_view text, uint32_t* code) {
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const auto lead = static_cast<uint8_t>(text.front());
  *code = lead;
  if (lead < 0x80) return 1;
  const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return 0;
  *code = lead & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; i++) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if ((byte & 0xc0) != 0x80) return 0;
    *code = *code << 6 | (byte & 0x3fu);
  }
  const bool surrogate = *code >= 0xd800 && *code < 0xe000;
  return *code < kLeast[bytes] || *code > 0x10ffff || surrogate ? 0 : bytes;
}

std::string WithoutControls(std::string_view text) {
  std::string harmless;
  for (size_t at = 0; at < text.size(); at++) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const unsigned char next = at + 1 < text.size() ? static_cast<unsigned char>(text[at + 1]) : 0;
    const bool is_long_control = byte == 0xc2 && next >= 0x80 && next <= 0x9f;
    const bool is_control = byte == 0x7f || (byte < ' ' && byte != '\n' && byte != '\t');
    if (is_long_control) at++;
    harmless += is_control || is_long_control ? ' ' : text[at];
  }
  return harmless;
}

std::string PrintableKey(std::string_view key) {
  if (std::all_of(key.begin(), key.end(), CanBePrinted)) return std::string(key);
  return "0x" + HexBytes(key);
}

std::string HexDump(std::string_view bytes, uint64_t offset) {
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 16) {
    const std::string_view row = bytes.substr(at, 16);
    char head[24];
    std::snprintf(head, sizeof(head), "%010llx ", static_cast<unsigned long long>(offset + at));
    text += head;
    for (size_t i = 0; i < 16; i++) {
      if (i % 8 == 0) text += ' ';
      text += i < row.size() ? HexBytes(row.substr(i, 1)) + " " : "   ";
    }
    text += " |";
    for (char byte : row) text += CanBePrinted(byte) ? byte : '.';
    text += "|\n";
  }
  return text;
}

// Damerau, Communications of the ACM 7:3, 1964; as optimal string alignment.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> distance(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); i++) {
    for (size_t j = 0; j <= b.size(); j++) {
      size_t& here = distance[i][j];
      if (i == 0 || j == 0) {
        here = i + j;
        continue;
      }
      here = std::min({distance[i - 1][j] + 1, distance[i][j - 1] + 1,
                       distance[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        here = std::min(here, distance[i - 2][j - 2] + 1);
      }
    }
  }
  return distance[a.size()][b.size()];
}

std::string UtcText(std::time_t time, const char* format) {
  std::tm parts = {};
  gmtime_r(&time, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof(text), format, &parts)};
}

std::string UtcNow(const char* format) { return UtcText(std::time(nullptr), format); }

}  // namespace rocksieve
