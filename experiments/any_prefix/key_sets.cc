// SPDX-License-Identifier: Apache-2.0
#include "experiments/any_prefix/key_sets.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <unordered_set>

#include "experiments/frame/program.h"
#include "experiments/frame/word_list.h"

namespace rocksieve::experiments {
namespace {

using Generator = std::mt19937_64;

constexpr const char* kFileLists = "/var/lib/dpkg/info";
constexpr size_t kLongestKey = 255, kFewPackages = 5000;
constexpr size_t kHeldOut = 16;

std::vector<std::string> LinesOf(const std::string& file) {
  std::ifstream stream(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> PackageNames(const std::string& directory) {
  const std::string file = directory + "/any_prefix_packages";
  RunProgram({"apt-cache", "pkgnames"}, file);
  std::vector<std::string> names = LinesOf(file);
  if (names.size() < kFewPackages) {
    RunProgram({"dpkg-query", "--show", "--showformat=${Package}\\n"}, file);
    names = LinesOf(file);
  }
  std::filesystem::remove(file);
  return names;
}

std::vector<std::string> InstalledPaths() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(kFileLists)) {
    if (entry.path().extension() != ".list") continue;
    for (std::string& path : LinesOf(entry.path())) paths.push_back(std::move(path));
  }
  return paths;
}

// Of sites with some sections each, articles named by words or numbers. Sites and sections differ
// in size, as they do.
std::vector<std::string> MadeUrls(size_t count) {
  static const char* const kDomains[] = {".com", ".com", ".com", ".org", ".net", ".de", ".co.uk"};
  const std::vector<std::string> words = ShuffledDistinctWords();
  Generator random(2010);
  const auto word = [&](size_t most) {
    std::string text = words[random() % std::min(most, words.size())];
    text.erase(std::remove(text.begin(), text.end(), '\''), text.end());
    return text;
  };
  std::vector<std::string> urls, sections;
  while (urls.size() < count) {
    if (sections.empty() || random() % 8 == 0) {
      std::string site = random() % 3 == 0 || sections.empty()
                             ? (random() % 2 == 0 ? "https://www." : "https://") + word(20'000) +
                                   (random() % 3 == 0 ? "-" + word(2000) : "") +
                                   kDomains[random() % std::size(kDomains)] + "/"
                             : sections[random() % sections.size()];
      if (site.size() < 60) sections.push_back(site + word(300) + "/");
      continue;
    }
    std::string url = sections[random() % sections.size()];
    switch (random() % 3) {
      case 0:
        url += std::to_string(random() % 100'000) + "-";
        [[fallthrough]];
      case 1:
        url += word(5000) + "-" + word(50'000) + ".html";
        break;
      default:
        url += word(3000) + "?id=" + std::to_string(random() % 10'000'000);
    }
    urls.push_back(std::move(url));
  }
  return urls;
}

// The number of one of some entities, about 30 keys each, and a time.
std::vector<std::string> EntityNumbers(size_t count) {
  const auto append = [](uint64_t number, std::string* key) {
    for (int shift = 56; shift >= 0; shift -= 8) key->push_back(static_cast<char>(number >> shift));
  };
  Generator random(1);
  std::vector<std::string> keys(count);
  for (std::string& key : keys) {
    append(random() % (count / 30 + 1) * 0x9e3779b97f4a7c15, &key);
    append(random() % (1 << 20), &key);
  }
  return keys;
}

KeySample SampleOf(const std::string& name, const std::string& about, std::vector<std::string> keys,
                   size_t most_keys) {
  keys.erase(std::remove_if(
                 keys.begin(), keys.end(),
                 [](const std::string& key) { return key.empty() || key.size() > kLongestKey; }),
             keys.end());
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  Generator random(7);
  std::shuffle(keys.begin(), keys.end(), random);
  keys.resize(std::min(keys.size(), most_keys + most_keys / (kHeldOut - 1)));
  if (keys.size() < kHeldOut) throw std::runtime_error("any_prefix: no keys: " + about);
  KeySample sample{name, about, {}, {}};
  const auto held_out = static_cast<std::ptrdiff_t>(keys.size() / kHeldOut);
  sample.held_out.assign(keys.begin(), keys.begin() + held_out);
  sample.keys.assign(keys.begin() + held_out, keys.end());
  std::sort(sample.keys.begin(), sample.keys.end());
  return sample;
}

bool IsEmpty(const SortedKeys& keys, const KeyRange& range) {
  const auto next = std::lower_bound(keys.begin(), keys.end(), range.begin);
  return next == keys.end() || (!range.end.empty() && *next >= range.end);
}

bool IsAbsent(const SortedKeys& keys, const std::string& prefix) {
  return IsEmpty(keys, {prefix, EndOfPrefix(prefix)});
}

}  // namespace

std::vector<KeySample> AllKeySamples(const std::string& directory, size_t most_keys) {
  const auto sample = [&](const char* name, const char* about, std::vector<std::string> keys) {
    return SampleOf(name, about, std::move(keys), most_keys);
  };
  std::vector<KeySample> samples;
  samples.push_back(sample("words", "wamerican-insane, lower case", InsaneWords()));
  samples.push_back(sample("packages", "apt-cache pkgnames", PackageNames(directory)));
  samples.push_back(sample("paths", "of the installed packages", InstalledPaths()));
  samples.push_back(sample("URLs", "made of words and numbers", MadeUrls(60'000)));
  samples.push_back(sample("numbers", "entity and time, 8 bytes each", EntityNumbers(200'000)));
  return samples;
}

AbsentPrefixes AbsentPrefixesOf(const KeySample& sample, size_t length, size_t most) {
  AbsentPrefixes absent;
  Generator random(length);
  const auto random_key = [&]() -> const std::string& {
    return sample.keys[random() % sample.keys.size()];
  };
  std::unordered_set<std::string> drawn;
  for (size_t tries = 0; tries < 20 * most && absent.changed.size() < most; tries++) {
    const std::string& key = random_key();
    const std::string& other = random_key();
    if (key.size() < length) continue;
    std::string prefix = key.substr(0, length);
    prefix.back() = other[random() % other.size()];
    if (IsAbsent(sample.keys, prefix) && drawn.insert(prefix).second) {
      absent.changed.push_back(std::move(prefix));
    }
  }
  drawn.clear();
  for (const std::string& key : sample.held_out) {
    if (absent.held_out.size() >= most) break;
    if (key.size() < length) continue;
    std::string prefix = key.substr(0, length);
    if (IsAbsent(sample.keys, prefix) && drawn.insert(prefix).second) {
      absent.held_out.push_back(std::move(prefix));
    }
  }
  return absent;
}

std::vector<KeyRange> EmptyRestsOfDirectories(const KeySample& sample, size_t most) {
  std::vector<KeyRange> ranges;
  Generator random(24);
  for (size_t tries = 0; tries < 20 * most && ranges.size() < most; tries++) {
    const std::string& key = sample.keys[random() % sample.keys.size()];
    const size_t separator = key.find_last_of("/-.");
    const size_t cut = separator == std::string::npos ? key.size() / 2 : separator + 1;
    KeyRange range{key + '\0', EndOfPrefix(std::string_view(key).substr(0, cut))};
    if (range.begin < range.end && IsEmpty(sample.keys, range)) ranges.push_back(std::move(range));
  }
  return ranges;
}

}  // namespace rocksieve::experiments
