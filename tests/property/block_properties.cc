// Blocks with random damage, with and without a right check word: never a lost key, never a read
// outside. Run under the address sanitizer by every ./run test.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <rapidcheck/gtest.h>  // needs the two above

#include <rocksieve/filter.h>

#include "lib/format/coding.h"
#include "lib/hash/key_hash.h"
#include "tests/support.h"

namespace rocksieve {
namespace {

const char* AnySpecText() {
  return *rc::gen::element("rocksieve.bloom:5", "rocksieve.bloom:10", "rocksieve.bloom:20",
                           "rocksieve.cuckoo:8", "rocksieve.cuckoo:12.5", "rocksieve.cuckoo:40",
                           "rocksieve.ribbon:5", "rocksieve.ribbon:10.4", "rocksieve.ribbon:22.5",
                           "rocksieve.bloom:10:salted");
}

// Whoever gets no filter answers "may contain".
bool MayContain(std::string_view block, const std::string& key) {
  const ExactCopy copy(block);
  const OpenedFilter opened = OpenFilter(copy.view());
  return opened.filter == nullptr || opened.filter->MayContain(key);
}

RC_GTEST_PROP(BlockProperties, ChangedBytesLoseNoKey, ()) {
  const std::vector<std::string> keys = NumberedKeys(*rc::gen::inRange<size_t>(1, 300));
  std::string block(BuildFilter(Spec(AnySpecText()), keys).view());
  const int changes = *rc::gen::inRange(1, 4);
  for (int i = 0; i < changes; i++) {
    block[*rc::gen::inRange<size_t>(0, block.size())] = *rc::gen::arbitrary<char>();
  }
  for (const std::string& key : keys) RC_ASSERT(MayContain(block, key));
}

RC_GTEST_PROP(BlockProperties, CutsLoseNoKey, ()) {
  const std::vector<std::string> keys = NumberedKeys(*rc::gen::inRange<size_t>(1, 300));
  const std::string block(BuildFilter(Spec(AnySpecText()), keys).view());
  const std::string head = block.substr(0, *rc::gen::inRange<size_t>(4, block.size()));
  const std::string tail = block.substr(*rc::gen::inRange<size_t>(0, block.size() - 5));
  for (const std::string& key : keys) {
    RC_ASSERT(MayContain(head, key));
    RC_ASSERT(MayContain(tail, key));
  }
}

// A hostile peer computes the check word itself. Answers are then anything, but reads stay inside.
RC_GTEST_PROP(BlockProperties, NoBytesLeadOutside, ()) {
  const std::vector<std::string> keys = NumberedKeys(*rc::gen::inRange<size_t>(1, 3000));
  std::string block(BuildFilter(Spec(AnySpecText()), keys).view());
  const size_t check_at = block.size() - 17;
  const int changes = *rc::gen::inRange(1, 6);
  for (int i = 0; i < changes; i++) {
    // Mostly where the structure is: header, directory, and what stands before the check word.
    const size_t at = *rc::gen::oneOf(rc::gen::inRange<size_t>(4, 60),
                                      rc::gen::inRange<size_t>(check_at - 20, check_at),
                                      rc::gen::inRange<size_t>(4, check_at));
    block[std::min(at, check_at - 1)] = *rc::gen::arbitrary<char>();
  }
  StoreLittleEndian64(block.data() + check_at, XXH3_64bits(block.data(), check_at));
  const ExactCopy copy(block);
  const OpenedFilter opened = OpenFilter(copy.view());
  if (opened.filter == nullptr) return;
  for (const std::string& key : keys) (void)opened.filter->MayContain(key);
  (void)ExpectedFalsePositiveRate(opened.info);
}

RC_GTEST_PROP(BlockProperties, AnyBytesCanBeOpened, (const std::string& bytes)) {
  const ExactCopy copy(bytes);
  const OpenedFilter opened = OpenFilter(copy.view());
  RC_ASSERT((opened.state == BlockState::kIntact) == (opened.filter != nullptr));
}

}  // namespace
}  // namespace rocksieve
