// SPDX-License-Identifier: Apache-2.0
// Numbers, tables and bytes for people.
#pragma once

#include <cstdint>
#include <ctime>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rocksieve {

// 331612 -> "331,612".
std::string Thousands(uint64_t number);

// "1 file", "1,234 files", "2 entries".
std::string Counted(uint64_t number, const std::string& noun);

// By strftime(3), for at most 63 bytes. The second one is the present time.
std::string UtcText(std::time_t time, const char* format);
std::string UtcNow(const char* format = "%Y-%m-%dT%H:%M:%SZ");

// With so many digits after the point: Fixed(6712.25, 1) -> "6,712.2".
std::string Fixed(double number, int digits);

// "12.4 MB", in units of a million bytes and so on.
std::string ShortBytes(double bytes);

// Of the terminal that a descriptor is, which may be resized at any time; 0 if it is none.
size_t TerminalColumns(int descriptor);

// How wide text on the standard output may be: `usual`, or what its terminal has if that is less.
size_t TextColumns(size_t usual);

// Breaks lines at spaces so that none is wider than `width`, if its words allow it.
std::string Wrapped(const std::string& text, size_t width);

// Lines that are wider than so many columns are broken, with the indentation that they have; the
// others stay as they are. 0: any width.
std::string WithinColumns(const std::string& text, size_t columns);

// With some characters replaced: Escaped("a<b", {{'<', "&lt;"}}) is "a&lt;b".
std::string Escaped(std::string_view text, const std::map<char, std::string_view>& by);

// Backslash, TAB, line feed, carriage return and zero byte as \\ \t \n \r \0, all other bytes as
// they are: so that a row of a join stays one line, and can be had back (docs/join_keys.md).
void AppendEscapedText(std::string_view bytes, std::string* escaped);

// Undoes that. False if something else follows a backslash.
bool FromEscapedText(std::string_view escaped, std::string* bytes);

// How many bytes the first character of a text takes in UTF-8, and its code. 0 if it is none:
// neither longer forms than needed are, nor surrogates, nor what is beyond U+10FFFF (RFC 3629).
// REQUIRES: not empty.
size_t FirstUtf8(std::string_view text, uint32_t* code);

// With a space for each control character but newlines and tabs, those of two bytes in UTF-8
// (U+0080 to U+009F) as well: names in databases and bytes of peers do nothing to a terminal.
std::string WithoutControls(std::string_view text);

// As it is if all of it can be printed, else in hexadecimal digits with 0x before them.
std::string PrintableKey(std::string_view key);

std::string HexNumber(uint64_t number);
std::string HexBytes(std::string_view bytes);

// What HexBytes() wrote, in capitals too, and with 0x before it or not. False if it is something
// else, or nothing.
bool FromHexBytes(std::string_view text, std::string* bytes);

// Lines of 16 bytes: where they stand in the file, their digits, and what can be printed of them.
std::string HexDump(std::string_view bytes, uint64_t offset);

// Insertions, deletions, substitutions, and exchanges of neighbours that make one word of the other.
// Cost: their lengths multiplied.
size_t EditDistance(std::string_view a, std::string_view b);

}  // namespace rocksieve
