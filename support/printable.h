// Bytes for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rocksieve {

// As it is if all of it can be printed, else in hexadecimal digits with 0x before them.
std::string PrintableKey(std::string_view key);

std::string HexNumber(uint64_t number);
std::string HexBytes(std::string_view bytes);

// What HexBytes() wrote, in capitals too, and with 0x before it or not. False if it is something
// else, or nothing.
bool FromHexBytes(std::string_view text, std::string* bytes);

// Lines of 16 bytes: where they stand in the file, their digits, and what can be printed of them.
std::string HexDump(std::string_view bytes, uint64_t offset);

}  // namespace rocksieve
