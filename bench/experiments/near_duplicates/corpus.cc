// SPDX-License-Identifier: Apache-2.0
#include "bench/experiments/near_duplicates/corpus.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <rocksieve/estimate/shingles.h>

#include "bench/compare/clock.h"
#include "bench/experiments/frame/program.h"

namespace rocksieve::experiments {
namespace {

constexpr char kEndOfRecord = '\x01';
constexpr const char* kFileLists = "/var/lib/dpkg/info";

class CorpusMaker {
 public:
  CorpusMaker(const std::string& name, const std::string& about) {
    corpus_.name = name;
    corpus_.about = about;
  }

  void AddElement(std::string_view element) {
    const auto number = static_cast<uint32_t>(numbers_.size());
    set_.push_back(numbers_.emplace(element, number).first->second);
  }

  void EndSet(const std::string& title) {
    std::sort(set_.begin(), set_.end());
    set_.erase(std::unique(set_.begin(), set_.end()), set_.end());
    if (set_.size() >= kLeastElements) {
      corpus_.titles.push_back(title);
      corpus_.sets.push_back(set_);
    }
    set_.clear();
  }

  Corpus Take() { return std::move(corpus_); }

 private:
  Corpus corpus_;
  std::unordered_map<std::string, uint32_t> numbers_;
  ElementSet set_;
};

}  // namespace

Corpus InstalledDescriptions(const std::string& directory) {
  const std::string file_name = directory + "/descriptions";
  RunProgram({"dpkg-query", "--show",
              "--showformat=${Package}\n${Description}" + std::string(1, kEndOfRecord)},
             file_name);
  std::ifstream file(file_name);
  CorpusMaker maker("descriptions", "descriptions of installed packages, runs of 3 words");
  for (std::string record; std::getline(file, record, kEndOfRecord);) {
    const size_t line = record.find('\n');
    if (line == std::string::npos) continue;
    VisitWordShingles(std::string_view(record).substr(line), 3,
                      [&](std::string_view shingle) { maker.AddElement(shingle); });
    maker.EndSet(record.substr(0, line));
  }
  return maker.Take();
}

Corpus InstalledFiles() {
  std::vector<std::filesystem::path> lists;
  for (const auto& entry : std::filesystem::directory_iterator(kFileLists)) {
    if (entry.path().extension() == ".list") lists.push_back(entry.path());
  }
  std::sort(lists.begin(), lists.end());
  CorpusMaker maker("files", "names of the files of installed packages");
  for (const std::filesystem::path& list : lists) {
    std::vector<std::string> paths;
    std::unordered_set<std::string> folders;
    std::ifstream file(list);
    for (std::string path; std::getline(file, path);) {
      folders.insert(path.substr(0, path.rfind('/')));
      paths.push_back(std::move(path));
    }
    for (const std::string& path : paths) {
      if (folders.count(path) == 0) maker.AddElement(path.substr(path.rfind('/') + 1));
    }
    maker.EndSet(list.stem().string());
  }
  return maker.Take();
}

Corpus AvailableSummaries(const std::string& directory, size_t most_sets) {
  const std::string file_name = directory + "/available";
  RunProgram({"apt-cache", "dumpavail"}, file_name);
  constexpr std::string_view kPackage = "Package: ", kDescription = "Description: ";
  std::vector<std::pair<std::string, std::string>> summaries;
  std::ifstream file(file_name);
  std::string package;
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, kPackage.size(), kPackage) == 0) package = line.substr(kPackage.size());
    if (line.compare(0, kDescription.size(), kDescription) != 0) continue;
    summaries.emplace_back(package, line.substr(kDescription.size()));
  }
  file.close();
  std::filesystem::remove(file_name);  // 50 MB
  CorpusMaker maker("summaries", "lines that describe available packages, runs of 5 bytes");
  const size_t step = summaries.size() / most_sets + 1;
  for (size_t i = 0; i < summaries.size(); i += step) {
    VisitByteShingles(summaries[i].second, 5,
                      [&](std::string_view shingle) { maker.AddElement(shingle); });
    maker.EndSet(summaries[i].first);
  }
  return maker.Take();
}

double JaccardOf(const ElementSet& a, const ElementSet& b) {
  size_t both = 0, i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const uint32_t left = a[i], right = b[j];
    both += left == right ? 1 : 0;
    i += left <= right ? 1 : 0;
    j += right <= left ? 1 : 0;
  }
  const size_t either = a.size() + b.size() - both;
  return either == 0 ? 1 : static_cast<double>(both) / static_cast<double>(either);
}

AllPairs CompareAllPairs(const Corpus& corpus) {
  AllPairs pairs;
  const double start = bench::CpuClock::Nanoseconds();
  for (size_t a = 0; a < corpus.sets.size(); a++) {
    for (size_t b = a + 1; b < corpus.sets.size(); b++) {
      const double similarity = JaccardOf(corpus.sets[a], corpus.sets[b]);
      if (similarity < kLeastListedSimilarity) {
        pairs.unlisted[static_cast<size_t>(1000 * similarity)]++;
      } else {
        pairs.listed.push_back({static_cast<uint32_t>(a), static_cast<uint32_t>(b), similarity});
      }
    }
  }
  pairs.cpu_seconds = 1e-9 * (bench::CpuClock::Nanoseconds() - start);
  pairs.compared = corpus.sets.size() * (corpus.sets.size() - 1) / 2;
  return pairs;
}

}  // namespace rocksieve::experiments
