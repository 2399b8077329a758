// SPDX-License-Identifier: Apache-2.0
#include "bench/experiments/near_search.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <rocksieve/estimate/shingles.h>

#include "bench/clock.h"
#include "bench/program.h"

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

// 1 for two empty sets, as for equal ones.
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
  const double start = bench::CpuClock::Seconds();
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
  pairs.cpu_seconds = bench::CpuClock::Seconds() - start;
  pairs.compared = corpus.sets.size() * (corpus.sets.size() - 1) / 2;
  return pairs;
}

size_t BinOf(double similarity) {
  // 0.3 * 10 is below 3 in floating point; no two similarities that differ are as near.
  return std::min(static_cast<size_t>(10 * similarity + 1e-9), kBins - 1);
}

MinHash SignatureOf(const ElementSet& set, const MinHashOptions& options) {
  MinHash signature(options);
  for (const uint32_t& element : set) {
    signature.Add({reinterpret_cast<const char*>(&element), sizeof(element)});
  }
  return signature;
}

using IdPair = std::pair<uint64_t, uint64_t>;

void CountBins(const AllPairs& truth, const std::vector<MinHash>& signatures,
               const std::vector<IdPair>& candidates, SearchRuns* runs) {
  const LshOptions& options = runs->options;
  for (const SimilarPair& pair : truth.listed) {
    const double similarity = pair.similarity;
    const double error =
        MinHash::Jaccard(signatures[pair.a], signatures[pair.b]).value - similarity;
    BinCounts& bin = runs->bins[BinOf(similarity)];
    bin.pairs++;
    bin.similarity += similarity;
    bin.met += std::binary_search(candidates.begin(), candidates.end(), IdPair(pair.a, pair.b));
    bin.within_003 += std::abs(error) <= 0.03 ? 1 : 0;
    bin.error += error;
    bin.squared_error += error * error;
    bin.expected_squared +=
        similarity * (1 - similarity) / static_cast<double>(options.signature.size);
    bin.expected_met += options.banding.CandidateProbability(similarity);
  }
}

// Under one seed.
void Search(const Corpus& corpus, const CorpusRuns& of, double threshold, SearchRuns* runs) {
  double start = bench::CpuClock::Seconds();
  std::vector<MinHash> signatures;
  for (const ElementSet& set : corpus.sets) {
    signatures.push_back(SignatureOf(set, runs->options.signature));
  }
  runs->signing_seconds += bench::CpuClock::Seconds() - start;

  start = bench::CpuClock::Seconds();
  LshIndex index(runs->options);
  for (size_t i = 0; i < signatures.size(); i++) index.Add(i, signatures[i]);
  const std::vector<IdPair> candidates = index.CandidatePairs();
  uint64_t found = 0;
  for (const auto& [a, b] : candidates) {
    found += JaccardOf(corpus.sets[a], corpus.sets[b]) >= threshold ? 1 : 0;
  }
  runs->search_seconds += bench::CpuClock::Seconds() - start;

  runs->candidates += candidates.size();
  runs->found += found;
  if (of.similar > 0) {
    runs->recalls.push_back(static_cast<double>(found) / static_cast<double>(of.similar));
  }
  for (const auto& [a, b] : candidates) {
    if (MinHash::Jaccard(signatures[a], signatures[b]).value < threshold) continue;
    runs->found_by_estimate++;
    runs->wrong_by_estimate += JaccardOf(corpus.sets[a], corpus.sets[b]) < threshold ? 1 : 0;
  }
  CountBins(of.truth, signatures, candidates, runs);
}

ExpectedCandidates Expect(const AllPairs& truth, const LshBanding& banding, double threshold) {
  ExpectedCandidates expected;
  for (const SimilarPair& pair : truth.listed) {
    const double probability = banding.CandidateProbability(pair.similarity);
    expected.all += probability;
    if (pair.similarity >= threshold) expected.similar += probability;
  }
  for (size_t i = 0; i < truth.unlisted.size(); i++) {
    // Unrelated sets are many, and share nothing; of the others the middle of their thousandth.
    const double similarity = i == 0 ? 0 : (static_cast<double>(i) + 0.5) / 1000;
    expected.all +=
        static_cast<double>(truth.unlisted[i]) * banding.CandidateProbability(similarity);
  }
  return expected;
}

SearchRuns RunSeeds(const Corpus& corpus, const CorpusRuns& of, MinHashMethod method,
                    const LshBanding& banding, const RunSettings& settings) {
  SearchRuns runs;
  runs.options.signature.size = settings.places;
  runs.options.signature.method = method;
  runs.options.banding = banding;
  runs.expected = Expect(of.truth, banding, settings.threshold);
  runs.bins.resize(kBins);
  runs.seeds = settings.seeds;
  for (uint64_t seed = 0; seed < settings.seeds; seed++) {
    runs.options.signature.seed = seed;
    Search(corpus, of, settings.threshold, &runs);
  }
  return runs;
}

}  // namespace

Corpus InstalledDescriptions(const std::string& directory) {
  const std::string file_name = directory + "/descriptions";
  bench::RunCommand("dpkg-query --show --showformat='${Package}\n${Description}\001' > '" +
                    file_name + "'");
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
  bench::RunCommand("apt-cache dumpavail > '" + file_name + "'");
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

CorpusRuns RunSearches(const Corpus& corpus, const RunSettings& settings) {
  CorpusRuns runs;
  runs.name = corpus.name;
  runs.about = corpus.about;
  runs.sets = corpus.sets.size();
  runs.truth = CompareAllPairs(corpus);
  for (const SimilarPair& pair : runs.truth.listed) {
    runs.similar += pair.similarity >= settings.threshold ? 1 : 0;
  }
  // Equally bad to miss and to look in vain; and a miss four times as bad.
  for (const double miss_weight : {1.0, 4.0}) {
    const LshBanding banding =
        LshBanding::ForThreshold(settings.places, settings.threshold, miss_weight);
    for (const MinHashMethod method :
         {MinHashMethod::kIndependent, MinHashMethod::kOnePermutation}) {
      runs.searches.push_back(RunSeeds(corpus, runs, method, banding, settings));
    }
  }
  return runs;
}

}  // namespace rocksieve::experiments
