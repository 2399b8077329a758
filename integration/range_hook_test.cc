// SPDX-License-Identifier: Apache-2.0
// HeardBounds: whatever is called in whatever order, a range is taken only if its two bounds were
// heard right before, from one extractor.
#include "plugin/range/extractors.h"

#include <optional>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>


namespace rocksieve {
namespace {

using rocksdb::Slice;

// A call to one of two extractors about one of two keys.
struct Call {
  bool transforms = false;
  int extractor = 0;
  int key = 0;

  bool operator==(const Call& other) const {
    return transforms == other.transforms && extractor == other.extractor && key == other.key;
  }
};

std::vector<Call> AllCalls() {
  std::vector<Call> calls;
  for (const bool transforms : {false, true}) {
    for (const int extractor : {0, 1}) {
      for (const int key : {0, 1}) calls.push_back({transforms, extractor, key});
    }
  }
  return calls;
}

class Sequence {
 public:
  void Add(const Call& call) {
    const void* const extractor = &extractors_[call.extractor];
    if (call.transforms) {
      marks_.push_back(heard_.Transform(extractor, keys_[call.key]));
    } else {
      heard_.InDomain(extractor, keys_[call.key]);
      marks_.push_back(std::nullopt);
    }
    calls_.push_back(call);
  }

  // What is asked with the mark that the call at `at` returned.
  void Take(size_t at) {
    std::string_view begin, end;
    const bool taken = heard_.Take(*marks_[at], &begin, &end);
    if (!taken) return;
    taken_++;
    // The proof: these four calls in a row, of one extractor, and the mark is that of the seek.
    ASSERT_GE(calls_.size(), 4u);
    const size_t last = calls_.size() - 1;
    const Call &asked_seek = calls_[last - 3], &seek = calls_[last - 2],
               &asked_bound = calls_[last - 1], &bound = calls_[last];
    EXPECT_TRUE(!asked_seek.transforms && seek.transforms && !asked_bound.transforms &&
                bound.transforms);
    EXPECT_TRUE(asked_seek.extractor == seek.extractor && seek.extractor == bound.extractor &&
                asked_bound.extractor == bound.extractor);
    EXPECT_TRUE(asked_seek.key == seek.key && asked_bound.key == bound.key);
    EXPECT_EQ(at, last - 2);
    EXPECT_EQ(begin.data(), keys_[seek.key].data());
    EXPECT_EQ(end.data(), keys_[bound.key].data());
    // Once only.
    EXPECT_FALSE(heard_.Take(*marks_[at], &begin, &end));
  }

  bool HasMark(size_t at) const { return marks_[at].has_value(); }
  uint64_t taken() const { return taken_; }

 private:
  const Slice keys_[2] = {Slice("b1"), Slice("b2")};
  const int extractors_[2] = {};
  HeardBounds heard_;
  std::vector<Call> calls_;
  std::vector<std::optional<Slice>> marks_;
  uint64_t taken_ = 0;
};

// All sequences of up to six calls, each followed by a question with each mark that was returned.
TEST(HeardBounds, AreTakenOnlyAfterTheCallsThatProveThem) {
  constexpr size_t kLongest = 6;
  const std::vector<Call> calls = AllCalls();
  uint64_t sequences = 0, taken = 0;
  for (size_t length = 1; length <= kLongest; length++) {
    uint64_t count = 1;
    for (size_t i = 0; i < length; i++) count *= calls.size();
    for (uint64_t number = 0; number < count; number++) {
      for (size_t mark = 0; mark < length; mark++) {
        Sequence sequence;
        uint64_t rest = number;
        for (size_t i = 0; i < length; i++, rest /= calls.size()) {
          sequence.Add(calls[rest % calls.size()]);
        }
        if (!sequence.HasMark(mark)) continue;
        sequence.Take(mark);
        if (testing::Test::HasFailure()) return;
        taken += sequence.taken();
        sequences++;
      }
    }
  }
  EXPECT_GT(sequences, 500'000u);
  EXPECT_GT(taken, 0u);
}

// What RocksDB calls for a seek, whatever was called before it.
TEST(HeardBounds, AreHeardFromEveryState) {
  const std::vector<Call> calls = AllCalls();
  for (uint64_t number = 0; number < calls.size() * calls.size() * calls.size(); number++) {
    Sequence sequence;
    sequence.Add(calls[number % calls.size()]);
    sequence.Add(calls[number / calls.size() % calls.size()]);
    sequence.Add(calls[number / calls.size() / calls.size()]);
    for (const Call& call : {Call{false, 0, 0}, Call{false, 0, 0}, Call{true, 0, 0},
                             Call{false, 0, 1}, Call{true, 0, 1}}) {
      sequence.Add(call);
    }
    sequence.Take(5);
    EXPECT_EQ(sequence.taken(), 1u);
  }
}

TEST(HeardBounds, KnowNoEntryButTheirMarks) {
  HeardBounds heard;
  const Slice seek("b1"), bound("b2");
  const auto hear = [&] {
    heard.InDomain(&heard, seek);
    const Slice mark = heard.Transform(&heard, seek);
    heard.InDomain(&heard, bound);
    return std::make_pair(mark, heard.Transform(&heard, bound));
  };
  std::string_view begin, end;
  hear();
  EXPECT_FALSE(heard.Take(Slice("", 0), &begin, &end)) << "an empty user key";
  const auto [old_mark, bound_mark] = hear();
  EXPECT_FALSE(heard.Take(bound_mark, &begin, &end)) << "the bound's own mark";
  const auto [mark, unused] = hear();
  EXPECT_FALSE(heard.Take(old_mark, &begin, &end)) << "the mark of an earlier seek";
  hear();
  EXPECT_FALSE(heard.Take(Slice(mark.data(), 1), &begin, &end)) << "a key at its address";
  const Slice last = hear().first;
  EXPECT_TRUE(heard.Take(last, &begin, &end));
  EXPECT_EQ(begin, "b1");
  EXPECT_EQ(end, "b2");
}

// The name of files is given away once, after a filter, and not if another one is being built.
TEST(RangeExtractor, NamesFilesOnceAfterAFilter) {
  const RangeExtractor extractor;
  EXPECT_EQ(extractor.GetId(), kRangeExtractorName);
  RangeExtractor::FilterWasFinished();
  EXPECT_EQ(extractor.GetId(), kRangeFileExtractorName);
  EXPECT_EQ(extractor.GetId(), kRangeExtractorName);
  RangeExtractor::FilterWasFinished();
  RangeExtractor::FilterIsBuilt();
  EXPECT_EQ(extractor.GetId(), kRangeExtractorName);
}

}  // namespace
}  // namespace rocksieve
