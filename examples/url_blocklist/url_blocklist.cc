// SPDX-License-Identifier: Apache-2.0
// A browser that asks whether URLs are dangerous without telling anybody which it visits.
//
//   url_blocklist server LIST ADDRESS [SPEC]   LIST: expressions, one a line; until its input ends
//   url_blocklist browser ADDRESS              reads URLs; gives those that are on the list
//
// The browser has a filter of 32-bit prefixes of hashes. Only for a prefix that passes it asks the
// server, with that prefix, and gets the whole hashes that begin with it.
#include <openssl/evp.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <rocksieve/filter.h>

#include "examples/transport/transport.h"

namespace {

// What a URL is looked up by: hashes of the expressions that a blocklist may have for it.
// Source: Google Safe Browsing, Update API v4, "URLs and Hashing".
//
// SHA-256: one way, so that a list does not give away its URLs, and nobody can make a harmless URL
// that is taken for another one.
constexpr size_t kHashBytes = 32, kPrefixBytes = 4;

std::string LookupHash(std::string_view expression) {
  std::string hash(kHashBytes, '\0');
  if (EVP_Digest(expression.data(), expression.size(), reinterpret_cast<unsigned char*>(&hash[0]),
                 nullptr, EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("SHA-256 is not to be had from OpenSSL");
  }
  return hash;
}

constexpr size_t kMostShorterHosts = 4, kMostFolders = 4, kComponentsOfShorterHosts = 5;

std::vector<std::string> Hosts(std::string host) {
  std::transform(host.begin(), host.end(), host.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::vector<std::string> hosts = {host};
  std::vector<size_t> begins;  // of components but the first
  for (size_t i = 0; i < host.size(); i++) {
    if (host[i] == '.') begins.push_back(i + 1);
  }
  // The last component alone would be a top-level domain.
  if (!begins.empty()) begins.pop_back();
  const size_t most = kComponentsOfShorterHosts - 1;
  const size_t skipped = begins.size() > most ? begins.size() - most : 0;
  for (size_t i = skipped; i < begins.size() && hosts.size() <= kMostShorterHosts; i++) {
    hosts.push_back(host.substr(begins[i]));
  }
  return hosts;
}

std::vector<std::string> Paths(std::string_view path_and_query) {
  const std::string_view path = path_and_query.substr(0, path_and_query.find('?'));
  std::vector<std::string> paths = {std::string(path_and_query), std::string(path)};
  size_t folders = 0;
  for (size_t i = 0; i < path.size() && folders < kMostFolders; i++) {
    if (path[i] != '/') continue;
    folders++;
    paths.emplace_back(path.substr(0, i + 1));
  }
  return paths;
}

// The host and up to four shorter ones of its last five components, each with the path and query,
// the path, and up to four of its folders, from the top. "http://a.b.example/1/2.html?q" has
// "a.b.example/1/2.html?q", "a.b.example/1/2.html", "a.b.example/", "a.b.example/1/", and the same
// for "b.example". Without scheme, user, port and fragment, the host in lower case. Percent signs
// and numeric addresses are left as they are, which a real client must not do.
std::vector<std::string> Expressions(std::string_view url) {
  url = url.substr(0, url.find('#'));
  const size_t scheme = url.find("://");
  if (scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  const size_t slash = std::min(url.find_first_of("/?"), url.size());
  std::string_view host = url.substr(0, slash);
  const size_t user = host.rfind('@');
  if (user != std::string_view::npos) host.remove_prefix(user + 1);
  host = host.substr(0, host.find(':'));
  std::string path(url.substr(slash));
  if (path.empty() || path[0] != '/') path.insert(0, 1, '/');
  std::vector<std::string> expressions;
  for (const std::string& shorter : Hosts(std::string(host))) {
    for (const std::string& part : Paths(path)) {
      const std::string expression = shorter + part;
      if (std::find(expressions.begin(), expressions.end(), expression) == expressions.end()) {
        expressions.push_back(expression);
      }
    }
  }
  return expressions;
}

constexpr const char* kDefaultSpec = "rocksieve.ribbon:0.1%";
constexpr std::string_view kAskFilter = "filter", kAskPrefix = "prefix";

std::string Hex(std::string_view bytes) {
  std::string text;
  char digits[3];
  for (unsigned char byte : bytes) {
    std::snprintf(digits, sizeof(digits), "%02x", byte);
    text += digits;
  }
  return text;
}

int Serve(const std::string& list, const std::string& address, const std::string& spec_text) {
  rocksieve::FilterSpec spec;
  const std::string problem = rocksieve::FilterSpec::Parse(spec_text, &spec);
  if (!problem.empty()) throw std::runtime_error(problem);
  std::multimap<std::string, std::string> hashes;  // by their prefixes
  rocksieve::FilterBuilder builder(spec);
  std::ifstream file(list);
  for (std::string expression; std::getline(file, expression);) {
    const std::string hash = LookupHash(expression);
    hashes.emplace(hash.substr(0, kPrefixBytes), hash);
    builder.AddKey(std::string_view(hash).substr(0, kPrefixBytes));
  }
  if (hashes.empty()) throw std::runtime_error("no expressions in " + list);
  const rocksieve::FilterBlock block = builder.Finish();

  const auto answer = [&](std::string_view request) -> std::string {
    if (request == kAskFilter) return std::string(block.view());
    if (request.substr(0, kAskPrefix.size()) != kAskPrefix) return "";
    const std::string prefix(request.substr(kAskPrefix.size()));
    const auto [begin, end] = hashes.equal_range(prefix);
    std::string reply;
    for (auto hash = begin; hash != end; ++hash) reply += hash->second;
    // All that it learns of what is visited.
    std::printf("asked about %s: %zu on the list\n", Hex(prefix).c_str(),
                reply.size() / kHashBytes);
    return reply;
  };
  const Server server(address, answer);
  std::fprintf(stderr, "%zu expressions, listening at %s\n", hashes.size(),
               server.address().c_str());
  while (std::getchar() != EOF) {
  }
  return 0;
}

struct Counts {
  uint64_t urls = 0, url_bytes = 0, expressions = 0;
  // Of the distinct prefixes that passed the filter, which are those that the server was asked for.
  uint64_t confirmed = 0, filter_errors = 0, prefix_collisions = 0;
  uint64_t blocked_urls = 0;
};

class Browser {
 public:
  explicit Browser(const std::string& address)
      : server_(address), block_(server_.Ask(kAskFilter)), opened_(rocksieve::OpenFilter(block_)) {
    if (!opened_.filter) throw std::runtime_error("what " + address + " sent is no filter");
    filter_bytes_ = server_.bytes_sent() + server_.bytes_received();
  }

  bool IsBlocked(const std::string& url) {
    counts_.urls++;
    counts_.url_bytes += url.size();
    for (const std::string& expression : Expressions(url)) {
      counts_.expressions++;
      const std::string hash = LookupHash(expression), prefix = hash.substr(0, kPrefixBytes);
      if (opened_.filter->MayContain(prefix) && IsConfirmed(prefix, hash)) {
        counts_.blocked_urls++;
        return true;
      }
    }
    return false;
  }

  void Print() const {
    const Counts& c = counts_;
    const uint64_t asked = c.confirmed + c.filter_errors + c.prefix_collisions;
    std::printf("%ju URLs with %ju expressions: %ju blocked\n", uintmax_t{c.urls},
                uintmax_t{c.expressions}, uintmax_t{c.blocked_urls});
    std::printf(
        "filter: %zu bytes for %ju prefixes, %.2f bits each instead of 32\n", block_.size(),
        uintmax_t{opened_.info.key_count},
        8.0 * static_cast<double>(block_.size()) / static_cast<double>(opened_.info.key_count));
    std::printf(
        "%ju prefixes asked for: %ju confirmed, %ju passed the filter by mistake, "
        "%ju were of another hash\n",
        uintmax_t{asked}, uintmax_t{c.confirmed}, uintmax_t{c.filter_errors},
        uintmax_t{c.prefix_collisions});
    std::printf(
        "sent and received: %ju bytes once for the filter, %ju for prefixes; the URLs have "
        "%ju\n",
        uintmax_t{filter_bytes_},
        uintmax_t{server_.bytes_sent() + server_.bytes_received() - filter_bytes_},
        uintmax_t{c.url_bytes});
  }

 private:
  bool IsConfirmed(const std::string& prefix, const std::string& hash) {
    auto known = replies_.find(prefix);
    if (known == replies_.end()) {
      const std::string reply = server_.Ask(std::string(kAskPrefix) + prefix);
      if (reply.size() % kHashBytes != 0) throw std::runtime_error("the server sent no hashes");
      known = replies_.emplace(prefix, reply).first;
      if (reply.empty()) {
        counts_.filter_errors++;
      } else if (Has(reply, hash)) {
        counts_.confirmed++;
      } else {
        counts_.prefix_collisions++;
      }
    }
    return Has(known->second, hash);
  }

  static bool Has(const std::string& hashes, const std::string& hash) {
    for (size_t at = 0; at < hashes.size(); at += kHashBytes) {
      if (hashes.compare(at, kHashBytes, hash) == 0) return true;
    }
    return false;
  }

  Connection server_;
  const std::string block_;
  const rocksieve::OpenedFilter opened_;
  uint64_t filter_bytes_ = 0;
  Counts counts_;
  std::map<std::string, std::string> replies_;  // a real browser forgets them after some time
};

int Browse(const std::string& address) {
  Browser browser(address);
  for (std::string url; std::getline(std::cin, url);) {
    if (browser.IsBlocked(url)) std::printf("blocked: %s\n", url.c_str());
  }
  browser.Print();
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "server" && (argc == 4 || argc == 5)) {
    return Serve(argv[2], argv[3], argc == 5 ? argv[4] : kDefaultSpec);
  }
  if (role == "browser" && argc == 3) return Browse(argv[2]);
  std::cerr << "usage: url_blocklist server LIST ADDRESS [SPEC] | browser ADDRESS\n";
  return 2;
} catch (const std::exception& error) {
  std::cerr << "url_blocklist: " << error.what() << '\n';
  return 1;
}
