// SPDX-License-Identifier: Apache-2.0
#include <rocksieve/estimate/shingles.h>

#include <stdexcept>

namespace rocksieve {
namespace {

// The words, made small, with one space behind each.
struct Words {
  std::string text;
  std::vector<size_t> begins;  // one more than there are words: where the next one would begin

  size_t count() const { return begins.size() - 1; }
  // From the first word to before the end.
  std::string_view Run(size_t first, size_t end) const {
    return std::string_view(text).substr(begins[first], begins[end] - 1 - begins[first]);
  }
};

bool IsOfWord(unsigned char c) {
  return c >= 128 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

Words Split(std::string_view text) {
  Words words;
  words.text.reserve(text.size() + 1);
  words.begins.push_back(0);
  for (size_t i = 0; i < text.size(); i++) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (!IsOfWord(c)) continue;
    words.text.push_back(static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c));
    if (i + 1 < text.size() && IsOfWord(static_cast<unsigned char>(text[i + 1]))) continue;
    words.text.push_back(' ');
    words.begins.push_back(words.text.size());
  }
  return words;
}

}  // namespace

void VisitByteShingles(std::string_view text, size_t shingle_bytes, const ShingleVisitor& visit) {
  if (shingle_bytes == 0) {
    throw std::invalid_argument("VisitByteShingles: shingle_bytes is 0, but must be at least 1");
  }
  if (text.empty()) return;
  if (text.size() < shingle_bytes) return visit(text);
  for (size_t i = 0; i + shingle_bytes <= text.size(); i++) visit(text.substr(i, shingle_bytes));
}

void VisitWordShingles(std::string_view text, size_t shingle_words, const ShingleVisitor& visit) {
  if (shingle_words == 0) {
    throw std::invalid_argument("VisitWordShingles: shingle_words is 0, but must be at least 1");
  }
  const Words words = Split(text);
  if (words.count() == 0) return;
  if (words.count() < shingle_words) return visit(words.Run(0, words.count()));
  for (size_t i = 0; i + shingle_words <= words.count(); i++) {
    visit(words.Run(i, i + shingle_words));
  }
}

const std::vector<std::string>& EnglishStopWords() {
  static const std::vector<std::string>& words = *new std::vector<std::string>{
      "a",      "about", "above",   "after",   "again",   "against", "all",    "also",    "am",
      "an",     "and",   "any",     "are",     "as",      "at",      "be",     "because", "been",
      "before", "being", "below",   "between", "both",    "but",     "by",     "can",     "cannot",
      "could",  "did",   "do",      "does",    "doing",   "down",    "during", "each",    "few",
      "for",    "from",  "further", "had",     "has",     "have",    "having", "he",      "her",
      "here",   "hers",  "herself", "him",     "himself", "his",     "how",    "i",       "if",
      "in",     "into",  "is",      "it",      "its",     "itself",  "just",   "may",     "me",
      "might",  "more",  "most",    "must",    "my",      "myself",  "no",     "nor",     "not",
      "now",    "of",    "off",     "on",      "once",    "only",    "or",     "other",   "our",
      "ours",   "out",   "over",    "own",     "same",    "shall",   "she",    "should",  "so",
      "some",   "such",  "than",    "that",    "the",     "their",   "theirs", "them",    "then",
      "there",  "these", "they",    "this",    "those",   "through", "to",     "too",     "under",
      "until",  "up",    "upon",    "us",      "very",    "was",     "we",     "were",    "what",
      "when",   "where", "which",   "while",   "who",     "whom",    "whose",  "why",     "will",
      "with",   "would", "you",     "your",    "yours",   "yourself"};
  return words;
}

SpotShingler::SpotShingler(const SpotOptions& options)
    : anchors_(options.anchors.begin(), options.anchors.end()),
      skipped_(options.stop_words.begin(), options.stop_words.end()),
      distance_(options.distance),
      chain_(options.chain) {
  if (anchors_.empty()) {
    throw std::invalid_argument(
        "SpotOptions: anchors is empty; give some frequent words of the "
        "texts' language, such as a, an, the, is");
  }
  if (distance_ == 0 || chain_ == 0) {
    throw std::invalid_argument("SpotOptions: distance and chain must be at least 1");
  }
  skipped_.insert(anchors_.begin(), anchors_.end());
}

void SpotShingler::Visit(std::string_view text, const ShingleVisitor& visit) const {
  struct Anchor {
    size_t word;
    size_t next_content;  // the first word behind it that is not skipped, as an index of `content`
  };
  const Words words = Split(text);
  std::vector<size_t> content;  // words that are not skipped
  std::vector<Anchor> spots;
  for (size_t i = 0; i < words.count(); i++) {
    const std::string word(words.Run(i, i + 1));
    if (skipped_.count(word) == 0) content.push_back(i);
    if (anchors_.count(word) != 0) spots.push_back({i, content.size()});
  }
  std::string shingle;
  for (const Anchor& spot : spots) {
    // The last word of the chain is number chain * distance behind the anchor.
    const size_t behind = content.size() - spot.next_content;
    if (behind / distance_ < chain_) continue;
    shingle = words.Run(spot.word, spot.word + 1);
    for (size_t i = 1; i <= chain_; i++) {
      const size_t word = content[spot.next_content + i * distance_ - 1];
      shingle += ':';
      shingle += words.Run(word, word + 1);
    }
    visit(shingle);
  }
}

}  // namespace rocksieve
