// SPDX-License-Identifier: Apache-2.0
#include "examples/spell_checker/dictionary.h"

#include <algorithm>
#include <climits>
#include <cwchar>
#include <cwctype>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace {

// Letters of loan words, used once in so many words, would only make wrong suggestions.
constexpr size_t kRareLetter = 1000;

constexpr wchar_t kNoLetter = L'\xfffd', kApostrophe = L'\'', kTypesetApostrophe = L'\x2019';

bool IsLetter(wchar_t c) { return std::iswalpha(static_cast<wint_t>(c)) != 0; }

}  // namespace

Dictionary::Dictionary(std::wstring letters, std::string block)
    : letters_(std::move(letters)), block_(block.begin(), block.end()) {
  opened_ = rocksieve::OpenFilter({block_.data(), block_.size()});
}

Dictionary Dictionary::OfWordList(const std::string& path, const rocksieve::FilterSpec& spec) {
  std::ifstream file(path);
  rocksieve::FilterBuilder builder(spec);
  std::map<wchar_t, size_t> uses;
  for (std::string word; std::getline(file, word);) {
    builder.AddKey(word);
    for (wchar_t c : FromUtf8(word)) {
      if (std::iswlower(static_cast<wint_t>(c)) != 0 || c == L'\'' || c == L'-') uses[c]++;
    }
  }
  const size_t words = builder.key_count();
  if (words == 0) throw std::runtime_error("no words in " + path);
  std::wstring letters;
  for (const auto& [letter, count] : uses) {
    if (count * kRareLetter >= words) letters += letter;
  }
  return Dictionary(std::move(letters), std::string(builder.Finish().view()));
}

Dictionary Dictionary::Load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string letters;
  std::getline(file, letters);
  std::ostringstream block;
  block << file.rdbuf();
  Dictionary dictionary(FromUtf8(letters), block.str());
  if (!dictionary.opened_.filter) {
    throw std::runtime_error(path + " is not a dictionary, or is damaged: make it again");
  }
  return dictionary;
}

void Dictionary::Save(const std::string& path) const {
  std::ofstream file(path, std::ios::binary);
  file << ToUtf8(letters_) << '\n';
  file.write(block_.data(), static_cast<std::streamsize>(block_.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

bool Dictionary::Has(const std::wstring& word) const {
  return opened_.filter->MayContain(ToUtf8(word));
}

bool Dictionary::Knows(const std::wstring& word) const {
  if (Has(word)) return true;
  if (!IsCapitalised(word)) return false;
  const std::wstring lowered = Lowered(word);
  return Has(Uncapitalised(word)) || Has(lowered) || Has(Capitalised(lowered));
}

std::vector<std::wstring> Dictionary::Suggestions(const std::wstring& word) const {
  std::vector<std::wstring> suggestions;
  const bool capitalised = IsCapitalised(word);
  for (const std::wstring& edit : EditsOf(Uncapitalised(word), letters_)) {
    const std::wstring suggestion = capitalised ? Capitalised(edit) : edit;
    if (!Has(edit) && !(capitalised && Has(suggestion))) continue;
    if (std::find(suggestions.begin(), suggestions.end(), suggestion) == suggestions.end()) {
      suggestions.push_back(suggestion);
    }
  }
  return suggestions;
}

std::vector<std::wstring> EditsOf(const std::wstring& word, const std::wstring& letters) {
  std::vector<std::wstring> edits;
  for (size_t i = 0; i + 1 < word.size(); i++) {
    if (word[i] == word[i + 1]) continue;
    edits.push_back(word);
    std::swap(edits.back()[i], edits.back()[i + 1]);
  }
  for (size_t i = 0; i < word.size(); i++) edits.push_back(std::wstring(word).erase(i, 1));
  for (size_t i = 0; i < word.size(); i++) {
    for (wchar_t letter : letters) {
      if (letter == word[i]) continue;
      edits.push_back(word);
      edits.back()[i] = letter;
    }
  }
  for (size_t i = 0; i <= word.size(); i++) {
    for (wchar_t letter : letters) edits.push_back(std::wstring(word).insert(i, 1, letter));
  }
  return edits;
}

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
