#include "tools/inspect/damage.h"

#include "lib/format/block.h"
#include "lib/format/coding.h"
#include "lib/hash/key_hash.h"
#include "tools/inspect/printable.h"

namespace rocksieve::tools {
namespace {

// Places and marks of docs/formats/block.md, the same in all versions.
constexpr size_t kHeadBytes = 4, kTailFromEnd = 9, kTrailerFromEnd = 5, kCheckFromEnd = 17;
constexpr std::string_view kHead("\x8ARKS", 4), kTail("SKR\x8A", 4), kTrailer("\xFFR\0S1", 5);

std::string Mark(const char* name, std::string_view found, std::string_view wanted) {
  if (found == wanted) return "";
  return std::string("its ") + name + " is " + HexBytes(found) + " and should be " +
         HexBytes(wanted) + "\n";
}

}  // namespace

const char* const kDamageRemedy =
    "No key is lost: lookups read the file as if it had no filter there. A compaction of the file "
    "writes a new one.";

uint64_t StoredCheckWord(std::string_view block) {
  return LoadLittleEndian64(block.data() + block.size() - kCheckFromEnd);
}

std::string DescribeDamage(std::string_view block) {
  if (block.size() < kBlockHeaderBytes + kBlockTailBytes) {
    return "it has " + std::to_string(block.size()) + " bytes and should have " +
           std::to_string(kBlockHeaderBytes + kBlockTailBytes) + " at least\n";
  }
  const size_t end = block.size();
  std::string text = Mark("head magic", block.substr(0, kHeadBytes), kHead) +
                     Mark("tail magic", block.substr(end - kTailFromEnd, kTail.size()), kTail) +
                     Mark("trailer", block.substr(end - kTrailerFromEnd), kTrailer);
  const uint64_t stored = StoredCheckWord(block);
  const uint64_t right = XXH3_64bits(block.data(), end - kCheckFromEnd);
  if (stored != right) {
    text += "its check word is " + HexNumber(stored) + " and should be " + HexNumber(right) +
            " for these bytes\n";
  } else if (text.empty()) {
    text =
        "its check word is right, but its lengths or its payload are not as rocksieve writes "
        "them\n";
  }
  return text;
}

}  // namespace rocksieve::tools
