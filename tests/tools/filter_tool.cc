// SPDX-License-Identifier: Apache-2.0
// Lets another program build and ask filters: the C++ side of tests/python/cross_check.py.
//
// Reads requests from standard input, one per line, and answers each with one line:
//
//   build SPEC KEY...     the block
//   partition SPEC KEY... the block of a filter that is one partition of several
//   unordered SPEC KEY... the block of a filter whose keys have an unknown order
//   query BLOCK KEY...    STATE, then for each key 1 (may be contained) or 0; then the same for
//                         each key's hash, of which range filters often know less
//   ranges BLOCK BEGIN END...   STATE, then for each range [BEGIN, END) 1 (may hold a key) or 0
//   info BLOCK            STATE, and if it is "intact": FAMILY PARAMETER KEY_COUNT SALT PAYLOAD
//                         SMALLEST LARGEST LARGEST_CUT
//   hash BLOCK KEY...     the hashes of the keys, under the block's salt
//
// Words are separated by single spaces. Keys, blocks and other bytes are in hex, or "-" if there
// are none; numbers are decimal; a salt that is not there is "-" too. STATE is intact, foreign,
// damaged or future. A request that cannot be served ends the program with a message and exit
// code 1.
#include <rocksieve/filter.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/filter/builder.h"
#include "support/text.h"
#include "tests/fuzz/target.h"

namespace {

using rocksieve::BlockState;
using rocksieve::OpenedFilter;

[[noreturn]] void Fail(const std::string& message) {
  std::cerr << "filter_tool: " << message << std::endl;
  std::exit(1);
}

std::vector<std::string_view> SplitAtSpaces(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t begin = 0; begin <= line.size();) {
    const size_t end = std::min(line.find(' ', begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::string FromHex(std::string_view hex) {
  std::string bytes;
  if (hex != "-" && !rocksieve::FromHexBytes(hex, &bytes)) {
    Fail("not hex digits: " + std::string(hex));
  }
  return bytes;
}

std::string ToHex(std::string_view bytes) {
  return bytes.empty() ? "-" : rocksieve::HexBytes(bytes);
}

std::vector<std::string> KeysFrom(const std::vector<std::string_view>& words, size_t first) {
  std::vector<std::string> keys;
  for (size_t i = first; i < words.size(); ++i) keys.push_back(FromHex(words[i]));
  return keys;
}

const char* StateName(BlockState state) {
  return state == BlockState::kIntact    ? "intact"
         : state == BlockState::kForeign ? "foreign"
         : state == BlockState::kDamaged ? "damaged"
                                         : "future";
}

std::string Build(const std::vector<std::string_view>& words) {
  rocksieve::FilterSpec spec;
  const std::string error = rocksieve::FilterSpec::Parse(words[1], &spec);
  if (!error.empty()) Fail(error);
  rocksieve::BlockBuilder builder(spec);
  if (words[0] == "partition") builder.SetIsPartition();
  if (words[0] == "unordered") builder.SetAnswersNoRanges();
  for (const std::string& key : KeysFrom(words, 2)) builder.AddKey(key);
  const rocksieve::FilterBlock block = builder.Finish();
  return ToHex(block.view());
}

std::string Query(const std::vector<std::string_view>& words) {
  const rocksieve::fuzz::ExactCopy block(FromHex(words[1]));
  const std::vector<std::string> keys = KeysFrom(words, 2);
  const OpenedFilter opened = rocksieve::OpenFilter(block.view());
  if ((opened.filter != nullptr) != (opened.state == BlockState::kIntact)) {
    Fail("a filter without an intact block, or the reverse");
  }
  std::string answers;
  std::vector<uint64_t> hashes;
  for (const std::string& key : keys) {
    answers.push_back(!opened.filter || opened.filter->MayContain(key) ? '1' : '0');
    if (opened.filter) hashes.push_back(opened.filter->KeyHash(key));
  }

  // Both ways to ask for hashes must agree.
  std::string by_hash(opened.filter ? 0 : keys.size(), '1');
  const auto batch = std::make_unique<bool[]>(hashes.size());
  if (opened.filter) opened.filter->MayContainHashes(hashes.data(), hashes.size(), batch.get());
  for (size_t i = 0; i < hashes.size(); ++i) {
    by_hash.push_back(batch[i] ? '1' : '0');
    if (opened.filter->MayContainHash(hashes[i]) != batch[i]) {
      Fail("MayContainHash and MayContainHashes differ for key " + ToHex(keys[i]));
    }
  }
  return StateName(opened.state) + (" " + answers + " " + by_hash);
}

std::string Ranges(const std::vector<std::string_view>& words) {
  if (words.size() % 2 != 0) Fail("ranges needs pairs of keys");
  const rocksieve::fuzz::ExactCopy block(FromHex(words[1]));
  const std::vector<std::string> bounds = KeysFrom(words, 2);
  const OpenedFilter opened = rocksieve::OpenFilter(block.view());
  std::string answers;
  for (size_t i = 0; i < bounds.size(); i += 2) {
    const bool may = !opened.filter || opened.filter->MayContainRange(bounds[i], bounds[i + 1]);
    answers.push_back(may ? '1' : '0');
  }
  return StateName(opened.state) + (" " + answers);
}

std::string Info(const std::vector<std::string_view>& words) {
  const rocksieve::fuzz::ExactCopy block(FromHex(words[1]));
  const OpenedFilter opened = rocksieve::OpenFilter(block.view());
  std::string answer = StateName(opened.state);
  if (opened.state != BlockState::kIntact) return answer;
  const rocksieve::FilterBlockInfo& info = opened.info;
  answer += " " + std::to_string(static_cast<int>(info.family));
  answer += " " + std::to_string(info.parameter);
  answer += " " + std::to_string(info.key_count);
  answer += " " + (info.salted ? std::to_string(info.salt) : "-");
  answer += " " + ToHex(info.payload) + " " + ToHex(info.smallest) + " " + ToHex(info.largest);
  return answer + (info.largest_cut ? " 1" : " 0");
}

std::string Hash(const std::vector<std::string_view>& words) {
  const rocksieve::fuzz::ExactCopy block(FromHex(words[1]));
  const OpenedFilter opened = rocksieve::OpenFilter(block.view());
  if (!opened.filter) Fail("hash needs an intact block");
  std::string answer;
  for (const std::string& key : KeysFrom(words, 2)) {
    if (!answer.empty()) answer += ' ';
    answer += std::to_string(opened.filter->KeyHash(key));
  }
  return answer;
}

}  // namespace

int main() {
  static const std::map<std::string_view, std::string (*)(const std::vector<std::string_view>&)>
      kRequests = {{"build", Build}, {"partition", Build}, {"unordered", Build}, {"query", Query},
                   {"ranges", Ranges}, {"info", Info}, {"hash", Hash}};
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) {
    const std::vector<std::string_view> words = SplitAtSpaces(line);
    const auto request = kRequests.find(words[0]);
    if (request == kRequests.end()) Fail("unknown request: " + std::string(words[0]));
    if (words.size() < 2) Fail(std::string(words[0]) + " needs a block or a spec");
    std::cout << request->second(words) << std::endl;
  }
}
