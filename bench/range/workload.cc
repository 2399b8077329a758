// SPDX-License-Identifier: Apache-2.0
#include "bench/range/figures.h"

#include <algorithm>
#include <random>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include "support/files.h"
#include "support/text.h"

namespace rocksieve::bench {
namespace {

using Generator = std::mt19937_64;

void MakeDistinct(std::vector<std::string>* keys) {
  std::sort(keys->begin(), keys->end());
  keys->erase(std::unique(keys->begin(), keys->end()), keys->end());
}

// The least string above all that begin with `prefix`; "" if there is none.
std::string EndOfPrefix(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (!prefix.empty()) prefix.back()++;
  return prefix;
}

RangeQuery PrefixQuery(const std::string& prefix) { return {prefix, EndOfPrefix(prefix)}; }

bool IsEmpty(const std::vector<std::string>& sorted, const RangeQuery& range) {
  const auto next = std::lower_bound(sorted.begin(), sorted.end(), range.begin);
  return next == sorted.end() || *next >= range.end;
}

// Draws queries of a kind until there are enough, or most are no use: those that are no range,
// those that were drawn before, and of an empty kind those that hold keys.
class Drawer {
 public:
  Drawer(const Workload& workload, uint64_t queries) : workload_(workload), queries_(queries) {}

  template <typename Make>
  QueryKind Draw(const std::string& name, bool empty, Make make) {
    QueryKind kind;
    kind.name = name;
    std::unordered_set<std::string> drawn;
    for (uint64_t tries = 0; tries < 20 * queries_ && kind.ranges.size() < queries_; tries++) {
      RangeQuery range = make(RandomKey());
      if (range.begin >= range.end || drawn.count(range.begin) > 0) continue;
      if (empty && !IsEmpty(workload_.sorted, range)) continue;
      drawn.insert(range.begin);
      kind.ranges.push_back(std::move(range));
    }
    return kind;
  }

  // From a key to the one that comes 16 later.
  QueryKind DrawSixteenKeys() {
    return Draw("range of 16 keys", false, [&](const std::string& key) {
      const auto at = std::lower_bound(workload_.sorted.begin(), workload_.sorted.end(), key);
      if (workload_.sorted.end() - at <= 16) return RangeQuery{};
      return RangeQuery{key, at[16]};
    });
  }

  // Present keys with one byte changed.
  template <typename MakeByte>
  std::vector<std::string> DrawAbsentKeys(uint64_t count, MakeByte make_byte) {
    std::vector<std::string> keys;
    for (uint64_t tries = 0; tries < 20 * count && keys.size() < count; tries++) {
      std::string key = RandomKey();
      key[random_() % key.size()] = make_byte();
      const auto& sorted = workload_.sorted;
      if (!std::binary_search(sorted.begin(), sorted.end(), key)) keys.push_back(std::move(key));
    }
    return keys;
  }

  uint64_t Random() { return random_(); }
  char RandomLetter() { return static_cast<char>('a' + random_() % 26); }

 private:
  const std::string& RandomKey() { return workload_.sorted[random_() % workload_.sorted.size()]; }

  const Workload& workload_;
  const uint64_t queries_;
  Generator random_{7};
};

constexpr uint64_t kKeysPerEntity = 30, kTimes = 1 << 20;

uint64_t NumberIn(const std::string& key, size_t at) {
  uint64_t number = 0;
  for (size_t i = at; i < at + 8; i++) number = number << 8 | static_cast<uint8_t>(key[i]);
  return number;
}

std::string EntityOf(const std::string& key) { return key.substr(0, 8); }

// [begin, begin + length) of an entity's times.
RangeQuery TimesOf(const std::string& entity, uint64_t begin, uint64_t length) {
  return {entity + BigEndian(begin), entity + BigEndian(begin + length)};
}

// From right after a key to the end of what shares its directory, or its name up to a dash or dot.
RangeQuery RestOfDirectory(const std::string& key) {
  const size_t cut = key.find_last_of("/-.");
  return {key + '\0', EndOfPrefix(key.substr(0, cut == std::string::npos ? key.size() : cut + 1))};
}

// Names, some of which are frequent.
class NameMaker {
 public:
  explicit NameMaker(Generator* random) : random_(*random) {
    static const char* const kSyllables[] = {"con", "fi",  "lib", "ma",  "ta", "ser", "vi",
                                             "ce",  "net", "py",  "rs",  "lo", "cal", "de",
                                             "bug", "in",  "tex", "uni", "co", "im",  "port",
                                             "al",  "ma",  "na",  "ger", "x",  "gl",  "ut"};
    for (int i = 0; i < 4000; i++) {
      std::string word;
      for (uint64_t left = 1 + random_() % 4; left > 0; left--) {
        word += kSyllables[random_() % std::size(kSyllables)];
      }
      words_.push_back(word);
    }
  }

  std::string Directory() {
    switch (random_() % 6) {
      case 0:
        return Word() + "-" + std::to_string(random_() % 5) + "." + std::to_string(random_() % 20);
      case 1:
        return Word() + "_" + Word();
      default:
        return Word();
    }
  }

  // A group of files that belong together: alike, or numbered.
  std::vector<std::string> Files() {
    static const char* const kEndings[] = {".h",  ".cc",  ".py",   ".txt", ".html", ".so.1",
                                           ".md", ".svg", ".json", ".mo",  ".gz",   ""};
    const std::string ending = kEndings[random_() % std::size(kEndings)];
    std::vector<std::string> names;
    const uint64_t first = random_() % 100;
    const bool numbered = random_() % 4 == 0;
    const std::string stem = Word();
    do {
      if (numbered) {
        names.push_back(stem + "-" + std::to_string(first + names.size()) + ending);
      } else {
        names.push_back((random_() % 3 == 0 ? stem + "_" : "") + Word() + ending);
      }
    } while (random_() % 5 != 0);
    return names;
  }

  const std::string& Word() {
    const uint64_t one = random_() % words_.size(), other = random_() % words_.size();
    return words_[one * other / words_.size()];
  }

 private:
  Generator& random_;
  std::vector<std::string> words_;
};

}  // namespace

std::string BigEndian(uint64_t number) {
  std::string bytes(8, '\0');
  for (size_t i = 0; i < 8; i++) bytes[i] = static_cast<char>(number >> (56 - 8 * i));
  return bytes;
}

Workload EntityWorkload(uint64_t keys, uint64_t queries, uint64_t absent_keys) {
  Workload workload;
  Generator random(1);
  const uint64_t entities = keys / kKeysPerEntity + 1;
  for (uint64_t i = 0; i < keys; i++) {
    const uint64_t entity = random() % entities * 0x9e3779b97f4a7c15;
    workload.sorted.push_back(BigEndian(entity) + BigEndian(random() % kTimes));
  }
  MakeDistinct(&workload.sorted);
  workload.keys = workload.sorted;
  std::shuffle(workload.keys.begin(), workload.keys.end(), random);

  Drawer drawer(workload, queries);
  for (const uint64_t length : {1, 16, 256, 4096}) {
    workload.kinds.push_back(
        drawer.Draw("empty, length " + std::to_string(length), true, [&](const std::string& key) {
          return TimesOf(EntityOf(key), drawer.Random() % kTimes, length);
        }));
  }
  for (const uint64_t length : {1, 16, 256}) {
    workload.kinds.push_back(drawer.Draw(
        "empty, just after a key, " + std::to_string(length), true, [&](const std::string& key) {
          return TimesOf(EntityOf(key), NumberIn(key, 8) + 1, length);
        }));
  }
  workload.kinds.push_back(drawer.Draw("empty, entity absent", true, [](const std::string& key) {
    const uint64_t entity = NumberIn(key, 0) + 12345;
    return RangeQuery{BigEndian(entity) + BigEndian(0), BigEndian(entity + 1) + BigEndian(0)};
  }));
  const std::vector<RangeQuery> sixteen = workload.kinds[1].ranges;
  workload.kinds.push_back({"empty, 16, no upper bound", Reading::kUnbounded, sixteen});
  workload.kinds.push_back({"empty, 16, backwards", Reading::kBackwards, sixteen});
  workload.kinds.push_back(
      drawer.Draw("a present key, length 16", false, [](const std::string& key) {
        return RangeQuery{key, EntityOf(key) + BigEndian(NumberIn(key, 8) + 16)};
      }));
  workload.kinds.push_back(drawer.DrawSixteenKeys());
  workload.absent_keys =
      drawer.DrawAbsentKeys(absent_keys, [&] { return static_cast<char>(drawer.Random()); });
  return workload;
}

Workload PathWorkload(std::vector<std::string> paths, uint64_t queries, uint64_t absent_keys) {
  Workload workload;
  workload.sorted = std::move(paths);
  MakeDistinct(&workload.sorted);
  if (!workload.sorted.empty() && workload.sorted[0].empty()) {
    workload.sorted.erase(workload.sorted.begin());
  }
  workload.keys = workload.sorted;
  Generator random(1);
  std::shuffle(workload.keys.begin(), workload.keys.end(), random);

  Drawer drawer(workload, queries);
  for (const size_t length : {8, 24}) {
    workload.kinds.push_back(drawer.Draw("absent prefix of length " + std::to_string(length), true,
                                         [&, length](const std::string& key) {
                                           if (key.size() < length) return RangeQuery{};
                                           std::string prefix = key.substr(0, length);
                                           prefix[length - 1 - drawer.Random() % 2] =
                                               drawer.RandomLetter();
                                           return PrefixQuery(prefix);
                                         }));
  }
  workload.kinds.push_back(
      drawer.Draw("one of the last 6 changed", true, [&](const std::string& key) {
        std::string prefix = key;
        prefix[key.size() - 1 - drawer.Random() % std::min<size_t>(key.size(), 6)] =
            drawer.RandomLetter();
        return PrefixQuery(prefix);
      }));
  workload.kinds.push_back(drawer.Draw("after a key, its directory", true, RestOfDirectory));
  workload.kinds.push_back(drawer.Draw("a present key", false, [](const std::string& key) {
    return RangeQuery{key, key + '\1'};
  }));
  workload.kinds.push_back(drawer.DrawSixteenKeys());
  workload.absent_keys = drawer.DrawAbsentKeys(absent_keys, [&] { return drawer.RandomLetter(); });
  return workload;
}

std::vector<std::string> MadePaths(uint64_t count, uint64_t seed) {
  Generator random(seed);
  NameMaker names(&random);
  std::vector<std::string> directories = {"/usr/lib/", "/usr/share/", "/usr/include/",
                                          "/etc/",     "/var/lib/",   "/var/log/",
                                          "/srv/",     "/opt/",       "/usr/share/doc/"};
  for (int user = 0; user < 40; user++) directories.push_back("/home/" + names.Word() + "/");
  std::unordered_set<std::string> seen;
  std::vector<std::string> paths;
  while (paths.size() < count) {
    const std::string directory = directories[random() % directories.size()];
    if (random() % 4 == 0) {
      directories.push_back(directory + names.Directory() + "/");
      continue;
    }
    for (const std::string& name : names.Files()) {
      if (paths.size() < count && seen.insert(directory + name).second) {
        paths.push_back(directory + name);
      }
    }
  }
  return paths;
}

std::vector<std::string> PathsFrom(const std::string& file, uint64_t count) {
  constexpr size_t kLeast = 1000;
  std::vector<std::string> keys;
  LineReader reader(file);
  reader.LimitLines(1 << 16);
  for (std::string_view line; reader.Next(&line);) {
    if (!line.empty()) keys.emplace_back(line);
  }
  if (!reader.error().empty()) throw std::runtime_error(reader.error());
  MakeDistinct(&keys);
  if (keys.size() < kLeast) {
    throw std::runtime_error(file + " has " + Counted(keys.size(), "distinct line") + ", and " +
                             Thousands(kLeast) +
                             " are needed; leave out --keys to measure with made paths");
  }
  Generator random(1);
  std::shuffle(keys.begin(), keys.end(), random);
  keys.resize(std::min<size_t>(keys.size(), count));
  return keys;
}

}  // namespace rocksieve::bench
