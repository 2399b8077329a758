#include "experiments/hyphenation/patterns.h"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "experiments/frame/program.h"

namespace rocksieve::experiments {
namespace {

constexpr char kPrepare[] = "/usr/share/libhyphen/substrings.pl";

}  // namespace

Patterns::Patterns(const std::string& directory) {
  const std::string raw = directory + "/patterns.txt", prepared = directory + "/patterns.dic";
  std::ofstream file(raw);
  for (const std::string& pattern : TexBlock(GroffDirectory() + "/hyphen.us", "patterns")) {
    file << pattern << "\n";
  }
  file.close();
  if (!file) throw std::runtime_error("cannot write " + raw);
  // The least numbers of letters before and after a hyphen are TeX's for American English.
  RunProgram({"perl", kPrepare, raw, prepared, "UTF-8", "2", "3"});
  dictionary_.reset(hnj_hyphen_load(prepared.c_str()));
  if (!dictionary_) throw std::runtime_error("libhyphen cannot load " + prepared);
}

HyphenPoints Patterns::PointsOf(const std::string& word) const {
  char marks[kMaxWordBytes + 5];  // as libhyphen asks for
  char** replacements = nullptr;  // these patterns have none, so nothing is allocated
  int *positions = nullptr, *cuts = nullptr;
  if (hnj_hyphen_hyphenate2(dictionary_.get(), word.c_str(), static_cast<int>(word.size()), marks,
                            nullptr, &replacements, &positions, &cuts) != 0) {
    return 0;
  }
  HyphenPoints points = 0;
  for (size_t i = 0; i < word.size(); i++) {
    points |= static_cast<HyphenPoints>(marks[i] & 1) << i;  // odd digits are hyphens
  }
  return points;
}

}  // namespace rocksieve::experiments
