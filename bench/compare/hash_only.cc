#include "bench/compare/hash_only.h"

#include "lib/hash/key_hash.h"
#include "plugin/rocksdb_abi.h"

namespace rocksieve::bench {
namespace {

class Reader final : public rocksdb::FilterBitsReader {
 public:
  using rocksdb::FilterBitsReader::MayMatch;
  bool MayMatch(const rocksdb::Slice& key) override {
    return HashKey({key.data(), key.size()}, kDefaultSalt) != 0;  // true, but no compiler knows
  }
};

class Builder final : public rocksdb::FilterBitsBuilder {
 public:
  void AddKey(const rocksdb::Slice&) override {}
  size_t EstimateEntriesAdded() override { return 0; }
  using rocksdb::FilterBitsBuilder::Finish;
  rocksdb::Slice Finish(std::unique_ptr<const char[]>* buf) override {
    buf->reset(new char[1]());
    return {buf->get(), 1};
  }
  size_t ApproximateNumEntries(size_t bytes) override { return bytes; }
};

class Policy final : public rocksdb::FilterPolicy {
 public:
  const char* Name() const override { return "hash-only"; }
  const char* CompatibilityName() const override { return Name(); }
  rocksdb::FilterBitsBuilder* GetBuilderWithContext(
      const rocksdb::FilterBuildingContext&) const override {
    return new Builder;
  }
  rocksdb::FilterBitsReader* GetFilterBitsReader(const rocksdb::Slice&) const override {
    return new Reader;
  }
};

}  // namespace

std::shared_ptr<const rocksdb::FilterPolicy> NewHashOnlyPolicy() {
  return std::make_shared<Policy>();
}

}  // namespace rocksieve::bench
