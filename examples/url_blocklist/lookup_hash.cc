#include "examples/url_blocklist/lookup_hash.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace {

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

}  // namespace

std::string LookupHash(std::string_view expression) {
  std::string hash(kHashBytes, '\0');
  if (EVP_Digest(expression.data(), expression.size(), reinterpret_cast<unsigned char*>(&hash[0]),
                 nullptr, EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("SHA-256 is not to be had from OpenSSL");
  }
  return hash;
}

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
