// SPDX-License-Identifier: Apache-2.0
// An allow-list for mail: what comes from somebody to whom our users write is delivered at once,
// the rest is looked at by a slow scanner first.
//
//   mail_allowlist directory ADDRESS PEOPLE [SEED]   for so many people; until its input ends
//   mail_allowlist gate ADDRESS                      decides about mail
//
// The gate reads lines: "to ADDRESS" for mail that a user sent, "from ADDRESS" for mail that came
// (the sender being proven by DKIM or the like), and "report".
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <unordered_set>

#include <rocksieve/dynamic/bloom_filter.h>

#include "examples/transport/transport.h"

namespace {

using rocksieve::BloomFilter;
using rocksieve::BloomFilterOptions;

constexpr double kRate = 0.001;  // of spam from strangers that is delivered without a look
constexpr const char *kYes = "y", *kNo = "n";
constexpr std::string_view kAskFilter = "filter", kAdd = "add ", kAskExact = "knows ";

bool TakeWord(std::string_view word, std::string_view* line) {
  if (line->substr(0, word.size()) != word) return false;
  line->remove_prefix(word.size());
  return true;
}

// Has the list itself, which is nobody else's business, and a filter of it for the gates.
int RunDirectory(const std::string& address, uint64_t people, uint64_t seed) {
  BloomFilterOptions options = BloomFilterOptions::ForKeys(people, kRate);
  // Who knows the seed can look for senders' addresses that pass, at home and without end.
  options.seed = seed;
  BloomFilter filter(options);
  std::unordered_set<std::string> list;
  const Server server(address, [&](std::string_view request) -> std::string {
    if (request == kAskFilter) return filter.Serialize();
    if (TakeWord(kAdd, &request)) {
      filter.Add(request);
      return list.emplace(request).second ? kYes : kNo;
    }
    if (TakeWord(kAskExact, &request)) return list.count(std::string(request)) != 0 ? kYes : kNo;
    return "";
  });
  std::printf("%s\n", server.address().c_str());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return 0;
}

class Gate {
 public:
  explicit Gate(const std::string& address) : directory_(address) {
    std::string error;
    const std::string bytes = directory_.Ask(kAskFilter);
    filter_ = BloomFilter::Deserialize(bytes, &error);
    if (!filter_) throw std::runtime_error("no filter from " + address + ": " + error);
    filter_bytes_ = bytes.size();
  }

  // Whoever is written to may answer: at once, since the filter here takes him as well.
  void OnSent(std::string_view recipient) {
    filter_->Add(recipient);
    // Even if the filter had him: by mistake, perhaps, and then he would be missing in the next
    // one.
    if (directory_.Ask(std::string(kAdd).append(recipient)) == kYes) added_++;
  }

  void OnReceived(std::string_view sender) {
    if (!filter_->MayContain(sender)) {
      scanned_++;
      return;
    }
    delivered_++;
    // Not part of the gate's work, which asks nobody: to count what the filter lets through.
    if (directory_.Ask(std::string(kAskExact).append(sender)) == kNo) strangers_++;
  }

  void Report() const {
    const rocksieve::Estimate people = filter_->EstimateKeys();
    std::printf(
        "filter: %zu bytes; %ju people added here, %.0f in it by its own estimate (+- %.0f)\n",
        filter_bytes_, uintmax_t{added_}, people.value, people.standard_error);
    std::printf("delivered at once: %ju, of them from strangers: %ju; scanned: %ju\n",
                uintmax_t{delivered_}, uintmax_t{strangers_}, uintmax_t{scanned_});
    std::printf("strangers who pass: %.3f %% (promised as it is now filled: %.3f %%)\n",
                100.0 * static_cast<double>(strangers_) /
                    static_cast<double>(std::max<uint64_t>(strangers_ + scanned_, 1)),
                100.0 * filter_->ExpectedFalsePositiveRate());
  }

 private:
  Connection directory_;
  std::optional<BloomFilter> filter_;
  size_t filter_bytes_ = 0;
  uint64_t added_ = 0, delivered_ = 0, strangers_ = 0, scanned_ = 0;
};

int RunGate(const std::string& address) {
  Gate gate(address);
  for (std::string line; std::getline(std::cin, line);) {
    std::string_view rest = line;
    if (TakeWord("to ", &rest)) {
      gate.OnSent(rest);
    } else if (TakeWord("from ", &rest)) {
      gate.OnReceived(rest);
    } else if (line == "report") {
      gate.Report();
    } else {
      throw std::runtime_error("neither \"to ADDRESS\" nor \"from ADDRESS\" nor \"report\": " +
                               line);
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "directory" && (argc == 4 || argc == 5)) {
    const uint64_t seed = argc == 5
                              ? std::strtoull(argv[4], nullptr, 10)
                              : (uint64_t{std::random_device()()} << 32) | std::random_device()();
    return RunDirectory(argv[2], std::strtoull(argv[3], nullptr, 10), seed);
  }
  if (role == "gate" && argc == 3) return RunGate(argv[2]);
  std::cerr << "usage: mail_allowlist directory ADDRESS PEOPLE [SEED] | gate ADDRESS\n";
  return 2;
} catch (const std::exception& error) {
  std::cerr << "mail_allowlist: " << error.what() << '\n';
  return 1;
}
