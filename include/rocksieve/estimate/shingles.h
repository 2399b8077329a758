// SPDX-License-Identifier: Apache-2.0
// A text as a set of short pieces, so that texts can be compared as sets: two that share most of
// their shingles are nearly the same, wherever their paragraphs stand.
//
//   MinHash signature(MinHashOptions{});
//   VisitWordShingles(text, 3, [&](std::string_view shingle) { signature.Add(shingle); });
//
// The same shingle comes as often as it stands in the text; MinHash, KMinimumValues and their like
// count it once. A text with fewer bytes or words than a shingle has is one shingle by itself, an
// empty one has none.
//
// A WORD is a run of ASCII letters, ASCII digits and bytes from 128 on (so that letters of UTF-8
// are kept whole); ASCII letters are made small. All else separates words, apostrophes too.
//
// Sources: Broder, "On the resemblance and containment of documents", 1997 (shingles); Theobald,
// Siddharth, Paepcke, "SpotSigs: robust and efficient near duplicate detection in large web
// collections", 2008 (those anchored at stop words).
//
// Thread safety: all of this from any number of threads at once.
// Cost: some 3 ns per byte of the text for words, and memory for a copy of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace rocksieve {

// The view is valid during the call only.
using ShingleVisitor = std::function<void(std::string_view shingle)>;

// All runs of so many bytes, as they are: for short texts and for any language; 5 for letters and
// messages, 9 for papers (Leskovec, Rajaraman, Ullman, "Mining of massive datasets", 3.2.2).
// Throws std::invalid_argument if shingle_bytes is 0.
void VisitByteShingles(std::string_view text, size_t shingle_bytes, const ShingleVisitor& visit);

// All runs of so many words, one space between them. Throws std::invalid_argument if it is 0.
void VisitWordShingles(std::string_view text, size_t shingle_words, const ShingleVisitor& visit);

// Some 130 words of English that say little by themselves: "the", "is", "to", "that", ...
const std::vector<std::string>& EnglishStopWords();

struct SpotOptions {
  // Words that begin a shingle, and those that are skipped in it; anchors are skipped as well.
  // Small letters, as words are here.
  std::vector<std::string> anchors = {"a", "an", "the", "is"};
  std::vector<std::string> stop_words = EnglishStopWords();
  // The chain is every `distance`-th of the following words that are not skipped, `chain` in all.
  size_t distance = 1;
  size_t chain = 2;
};

// Shingles that begin at stop words: "a:rally:kick" for "a rally to kick off". Running text is full
// of stop words; headlines, menus and advertisements are not, and so hardly take part. A text
// without anchors has no shingles, however long it is: use another kind for names and lists.
class SpotShingler {
 public:
  // Throws std::invalid_argument if there is no anchor, or distance or chain is 0.
  explicit SpotShingler(const SpotOptions& options);

  // The shingles whose chain ends before the text does, in the order of their anchors.
  void Visit(std::string_view text, const ShingleVisitor& visit) const;

 private:
  std::unordered_set<std::string> anchors_, skipped_;
  size_t distance_, chain_;
};

}  // namespace rocksieve
