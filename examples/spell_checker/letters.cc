#include "examples/spell_checker/letters.h"

#include <climits>
#include <cwchar>
#include <cwctype>

namespace {

constexpr wchar_t kNoLetter = L'\xfffd', kApostrophe = L'\'', kTypesetApostrophe = L'\x2019';

bool IsLetter(wchar_t c) { return std::iswalpha(static_cast<wint_t>(c)) != 0; }

}  // namespace

std::wstring FromUtf8(std::string_view text) {
  std::wstring result;
  std::mbstate_t state{};
  while (!text.empty()) {
    wchar_t letter = kNoLetter;
    size_t length = std::mbrtowc(&letter, text.data(), text.size(), &state);
    if (length > text.size()) {  // no UTF-8, or cut off
      letter = kNoLetter;
      length = 1;
      state = {};
    }
    result += letter;
    text.remove_prefix(length == 0 ? 1 : length);  // 0: the byte was 0
  }
  return result;
}

std::string ToUtf8(const std::wstring& text) {
  std::string result;
  std::mbstate_t state{};
  char bytes[MB_LEN_MAX];
  for (wchar_t letter : text) {
    const size_t length = std::wcrtomb(bytes, letter, &state);
    if (length <= sizeof(bytes)) result.append(bytes, length);
  }
  return result;
}

std::vector<std::wstring> WordsOf(std::string_view line) {
  std::vector<std::wstring> words;
  std::wstring word;
  const auto end_word = [&] {
    while (!word.empty() && word.back() == kApostrophe) word.pop_back();
    if (word.size() >= 2) words.push_back(word);
    word.clear();
  };
  for (wchar_t c : FromUtf8(line)) {
    const bool apostrophe = c == kApostrophe || c == kTypesetApostrophe;
    if (IsLetter(c)) {
      word += c;
    } else if (apostrophe && !word.empty()) {
      word += kApostrophe;
    } else {
      end_word();
    }
  }
  end_word();
  return words;
}

bool IsCapitalised(const std::wstring& word) {
  return !word.empty() && std::iswupper(static_cast<wint_t>(word[0])) != 0;
}

std::wstring Uncapitalised(std::wstring word) {
  if (!word.empty()) word[0] = static_cast<wchar_t>(std::towlower(static_cast<wint_t>(word[0])));
  return word;
}

std::wstring Capitalised(std::wstring word) {
  if (!word.empty()) word[0] = static_cast<wchar_t>(std::towupper(static_cast<wint_t>(word[0])));
  return word;
}

std::wstring Lowered(std::wstring word) {
  for (wchar_t& c : word) c = static_cast<wchar_t>(std::towlower(static_cast<wint_t>(c)));
  return word;
}
