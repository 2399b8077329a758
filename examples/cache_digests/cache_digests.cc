// SPDX-License-Identifier: Apache-2.0
// Two caching proxies that tell each other what they hold by a filter, instead of asking each other
// about everything that they lack.
//
//   cache_digests ADDRESS SIBLING OBJECTS [SPEC]   has room for so many objects
//
// Reads the requests of its clients, a URL on each line, and two commands:
//   digest    asks the sibling for its digest (Squid does so every hour); prints its size
//   report    prints what the requests since the last report took
//
// Sources: Rousskov and Wessels, "Cache digests", 1998; Fan et al., "Summary cache: a scalable
// wide-area web cache sharing protocol", 2000.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <rocksieve/filter.h>

#include "examples/transport/transport.h"

namespace {

constexpr const char* kDefaultSpec = "rocksieve.ribbon:1%";
constexpr std::string_view kAskDigest = "digest", kAskObject = "object ";
// The first byte of the answer to kAskObject.
constexpr char kHere = 'h', kGone = 'g', kNeverHere = 'n';

// The objects that a proxy keeps: as many as it has room for, and of these the last used.
class LruCache {
 public:
  explicit LruCache(size_t capacity) : capacity_(capacity) {}

  // What is there of the URL, which is then the last used.
  std::optional<std::string> Find(const std::string& url) {
    const auto found = places_.find(url);
    if (found == places_.end()) return std::nullopt;
    objects_.splice(objects_.begin(), objects_, found->second);
    return found->second->second;
  }

  // REQUIRES: it is not there yet. Returns the URL that had to go, if one had.
  std::optional<std::string> Insert(const std::string& url, std::string object) {
    objects_.emplace_front(url, std::move(object));
    places_.emplace(url, objects_.begin());
    if (objects_.size() <= capacity_) return std::nullopt;
    std::string oldest = objects_.back().first;
    places_.erase(oldest);
    objects_.pop_back();
    return oldest;
  }

  // URLs and objects, the last used first.
  const std::list<std::pair<std::string, std::string>>& objects() const { return objects_; }

 private:
  const size_t capacity_;
  std::list<std::pair<std::string, std::string>> objects_;
  std::unordered_map<std::string, decltype(objects_)::iterator> places_;
};

// What both threads of a proxy use: that of its own clients, and that which answers the sibling.
class SharedCache {
 public:
  SharedCache(size_t capacity, const rocksieve::FilterSpec& spec) : cache_(capacity), spec_(spec) {}

  std::optional<std::string> Find(const std::string& url) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return cache_.Find(url);
  }

  void Insert(const std::string& url, const std::string& object) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::optional<std::string> evicted = cache_.Insert(url, object);
    if (evicted) gone_since_digest_.insert(*evicted);
  }

  std::string AnswerSibling(std::string_view request) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (request == kAskDigest) return Digest();
    if (request.substr(0, kAskObject.size()) != kAskObject) return "";
    const std::string url(request.substr(kAskObject.size()));
    const std::optional<std::string> object = cache_.Find(url);
    if (object) return kHere + *object;
    return std::string(1, gone_since_digest_.count(url) != 0 ? kGone : kNeverHere);
  }

 private:
  // The keys are all known when the digest is made, and nothing is added to it: a static filter,
  // which is a third smaller than the Bloom filter that digests usually are.
  std::string Digest() {
    rocksieve::FilterBuilder builder(spec_);
    for (const auto& [url, object] : cache_.objects()) builder.AddKey(url);
    gone_since_digest_.clear();
    return std::string(builder.Finish().view());
  }

  std::mutex mutex_;
  LruCache cache_;
  std::unordered_set<std::string> gone_since_digest_;
  const rocksieve::FilterSpec spec_;
};

struct Counts {
  uint64_t requests = 0, hits = 0, sibling_hits = 0;
  uint64_t old_digest = 0, false_positives = 0;  // asked the sibling in vain
  uint64_t fetched = 0;                          // from the origin
};

class Proxy {
 public:
  Proxy(SharedCache* cache, std::string sibling) : cache_(cache), address_(std::move(sibling)) {}

  std::string Get(const std::string& url) {
    counts_.requests++;
    if (const std::optional<std::string> own = cache_->Find(url)) {
      counts_.hits++;
      return *own;
    }
    std::optional<std::string> object = AskSibling(url);
    if (!object) {
      counts_.fetched++;
      object = "what the origin has at " + url;
    }
    cache_->Insert(url, *object);
    return *object;
  }

  void FetchDigest() {
    try {
      if (!sibling_) sibling_ = std::make_unique<Connection>(address_);
      digest_ = {};  // before its bytes go
      block_ = sibling_->Ask(kAskDigest);
      digest_ = rocksieve::OpenFilter(block_);
      if (!digest_.filter) throw std::runtime_error("what " + address_ + " sent is no digest");
    } catch (const std::runtime_error& error) {
      LoseSibling(error);
    }
    std::printf("digest: %zu bytes for %ju URLs\n", digest_.filter ? block_.size() : 0,
                uintmax_t{digest_.info.key_count});
  }

  void Report() {
    const Counts& c = counts_;
    std::printf("%ju requests: %ju from here, %ju from the sibling, %ju from the origin\n",
                uintmax_t{c.requests}, uintmax_t{c.hits}, uintmax_t{c.sibling_hits},
                uintmax_t{c.fetched});
    std::printf(
        "asked the sibling %ju times instead of %ju; in vain: %ju since its digest is old, "
        "%ju since it errs\n",
        uintmax_t{c.sibling_hits + c.old_digest + c.false_positives},
        uintmax_t{c.requests - c.hits}, uintmax_t{c.old_digest}, uintmax_t{c.false_positives});
    counts_ = {};
  }

 private:
  std::optional<std::string> AskSibling(const std::string& url) {
    if (!digest_.filter || !digest_.filter->MayContain(url)) return std::nullopt;
    try {
      const std::string answer = sibling_->Ask(std::string(kAskObject) + url);
      if (!answer.empty() && answer[0] == kHere) {
        counts_.sibling_hits++;
        return answer.substr(1);
      }
      (answer == std::string(1, kGone) ? counts_.old_digest : counts_.false_positives)++;
    } catch (const std::runtime_error& error) {
      LoseSibling(error);
    }
    return std::nullopt;
  }

  // Until the next digest the proxy is alone.
  void LoseSibling(const std::runtime_error& error) {
    std::fprintf(stderr, "cache_digests: %s\n", error.what());
    sibling_.reset();
    digest_ = {};
  }

  SharedCache* const cache_;
  const std::string address_;
  std::unique_ptr<Connection> sibling_;
  std::string block_;
  rocksieve::OpenedFilter digest_;  // reads block_
  Counts counts_;
};

int Run(const std::string& address, const std::string& sibling, size_t objects,
        const rocksieve::FilterSpec& spec) {
  SharedCache cache(objects, spec);
  const Server server(address,
                      [&cache](std::string_view request) { return cache.AnswerSibling(request); });
  std::fprintf(stderr, "listening at %s\n", server.address().c_str());
  Proxy proxy(&cache, sibling);
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "digest") {
      proxy.FetchDigest();
    } else if (line == "report") {
      proxy.Report();
    } else {
      proxy.Get(line);
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const size_t objects = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 0;
  if ((argc != 4 && argc != 5) || objects == 0) {
    std::cerr << "usage: cache_digests ADDRESS SIBLING OBJECTS [SPEC]\n";
    return 2;
  }
  rocksieve::FilterSpec spec;
  const std::string problem =
      rocksieve::FilterSpec::Parse(argc == 5 ? argv[4] : kDefaultSpec, &spec);
  if (!problem.empty()) throw std::runtime_error(problem);
  return Run(argv[1], argv[2], objects, spec);
} catch (const std::exception& error) {
  std::cerr << "cache_digests: " << error.what() << '\n';
  return 1;
}
