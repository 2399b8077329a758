// Text as letters: UTF-8 in and out, words of a line, capitals. In any script whose words are
// letters; knows nothing of languages.
//
// REQUIRES of all: std::setlocale(LC_CTYPE, "C.UTF-8").
#pragma once

#include <string>
#include <string_view>
#include <vector>

// Bytes that are no UTF-8 become U+FFFD, which is no letter.
std::wstring FromUtf8(std::string_view text);
std::string ToUtf8(const std::wstring& text);

// Runs of at least two letters, with apostrophes inside: "the dog's tail" has three words.
std::vector<std::wstring> WordsOf(std::string_view line);

bool IsCapitalised(const std::wstring& word);
// With a small, or a capital, first letter; the others as they are.
std::wstring Uncapitalised(std::wstring word);
std::wstring Capitalised(std::wstring word);
// With all letters small.
std::wstring Lowered(std::wstring word);
