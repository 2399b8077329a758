#include "support/printable.h"

#include <algorithm>
#include <cstdio>

namespace rocksieve {
namespace {

bool CanBePrinted(char byte) { return byte >= ' ' && byte <= '~'; }

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

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
    const int high = HexDigit(text[i]), low = HexDigit(text[i + 1]);
    if (high < 0 || low < 0) return false;
    *bytes += static_cast<char>(high << 4 | low);
  }
  return true;
}

std::string HexNumber(uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%016llx", static_cast<unsigned long long>(number));
  return text;
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

}  // namespace rocksieve
