// SPDX-License-Identifier: Apache-2.0
#include "bench/compare/candidate.h"

#include <rocksieve/filter.h>

#include <cstdlib>
#include <utility>

#include "lib/hash/key_hash.h"
#include "plugin/database/policy_spec.h"
#include "plugin/tables/builtin_model.h"
#include "plugin/tables/decoded_filter.h"

namespace rocksieve::bench {
namespace {

constexpr std::string_view kBloom = "bloomfilter:", kRibbon = "ribbonfilter:", kOurs = "rocksieve.";
constexpr std::string_view kHashOnly = "hash-only";

bool BeginsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// False if it is not a number, perhaps with a percent sign.
bool ParseAmount(const std::string& text, double* amount, bool* is_rate) {
  char* end = nullptr;
  *amount = std::strtod(text.c_str(), &end);
  *is_rate = *end == '%';
  if (*is_rate) *amount /= 100;
  return end != text.c_str() && end[*is_rate ? 1 : 0] == '\0' && *amount > 0 &&
         *amount < (*is_rate ? 1 : 100);
}

// A filter that only hashes, whose time is in that of every other one: its readers hash a key as
// rocksieve does, and answer "may match".
class HashOnlyReader final : public rocksdb::FilterBitsReader {
 public:
  using rocksdb::FilterBitsReader::MayMatch;
  bool MayMatch(const rocksdb::Slice& entry) override {
    const std::string_view key(entry.data(), entry.size());
    const uint64_t hash =
        KeyHasher::IsShort(key.size()) ? hasher_.HashShort(key) : HashKey(key, kDefaultSalt);
    return hash != 0;  // true, but no compiler knows
  }

 private:
  const KeyHasher hasher_{kDefaultSalt};
};

class HashOnlyBuilder final : public rocksdb::FilterBitsBuilder {
 public:
  void AddKey(const rocksdb::Slice&) override {}
#if ROCKSIEVE_ROCKSDB >= 90600
  void AddKeyAndAlt(const rocksdb::Slice&, const rocksdb::Slice&) override {}
#endif
#if ROCKSIEVE_ROCKSDB >= 100900
  size_t CalculateSpace(size_t) override { return 1; }
  double EstimatedFpRate(size_t, size_t) override { return 1; }
#endif
  size_t EstimateEntriesAdded() override { return 0; }
  using rocksdb::FilterBitsBuilder::Finish;
  rocksdb::Slice Finish(std::unique_ptr<const char[]>* buf) override {
    buf->reset(new char[1]());
    return {buf->get(), 1};
  }
  size_t ApproximateNumEntries(size_t bytes) override { return bytes; }
};

class HashOnlyPolicy final : public rocksdb::FilterPolicy {
 public:
  const char* Name() const override { return "hash-only"; }
  const char* CompatibilityName() const override { return Name(); }
  rocksdb::FilterBitsBuilder* GetBuilderWithContext(
      const rocksdb::FilterBuildingContext&) const override {
    return new HashOnlyBuilder;
  }
  rocksdb::FilterBitsReader* GetFilterBitsReader(const rocksdb::Slice&) const override {
    return new HashOnlyReader;
  }
};

}  // namespace

std::string Candidate::Make(const std::string& spec, Candidate* candidate) {
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  if (spec == kHashOnly) {
    policy = std::make_shared<HashOnlyPolicy>();
  } else {
    const bool ribbon = BeginsWith(spec, kRibbon);
    std::string text = spec;
    double amount = 0;
    bool is_rate = false;
    if (!BeginsWith(spec, kOurs)) {
      if ((!ribbon && !BeginsWith(spec, kBloom)) ||
          !ParseAmount(spec.substr(spec.find(':') + 1), &amount, &is_rate)) {
        return "\"" + spec + "\" is neither rocksieve.FAMILY:AMOUNT nor bloomfilter:AMOUNT nor " +
               "ribbonfilter:AMOUNT; for example bloomfilter:10 or ribbonfilter:0.1%";
      }
      if (is_rate) {
        amount = ribbon ? BuiltinRibbonBitsForRate(amount) : BuiltinBloomBitsForRate(amount);
      }
      text = (ribbon ? "ribbonfilter:" : "bloomfilter:") + std::to_string(amount) +
             (ribbon ? ":-1" : ":false");
    }
    const rocksdb::Status status = NewPolicy(text, &policy);
    if (!status.ok()) return status.getState() != nullptr ? status.getState() : status.ToString();
  }
  candidate->spec_ = spec;
  candidate->policy_ = std::move(policy);
  return "";
}

bool Candidate::is_ours() const { return BeginsWith(spec_, kOurs); }

bool Candidate::is_ribbon() const { return BeginsWith(spec_, kRibbon); }

std::unique_ptr<rocksdb::FilterBitsBuilder> Candidate::NewBuilder() const {
  static const rocksdb::BlockBasedTableOptions table_options;
  static const rocksdb::FilterBuildingContext context(table_options);
  return std::unique_ptr<rocksdb::FilterBitsBuilder>(policy_->GetBuilderWithContext(context));
}

BuiltFilter Candidate::Open(std::unique_ptr<const char[]> memory, rocksdb::Slice block) const {
  BuiltFilter filter;
  filter.memory = std::move(memory);
  filter.block = block;
  filter.reader.reset(policy_->GetFilterBitsReader(block));
  return filter;
}

BuiltFilter Candidate::Build(const KeySet& keys) const {
  const auto builder = NewBuilder();
  KeyChunk chunk(keys);
  AddAllKeys(&chunk, builder.get());
  std::unique_ptr<const char[]> memory;
  const rocksdb::Slice block = builder->Finish(&memory);
  return Open(std::move(memory), block);
}

double Candidate::ModelRate(std::string_view block, uint64_t keys) const {
  return DecodedFilter::Decode(block, kBuiltinStoredName).PredictedRate(keys);
}

size_t Candidate::RangeBytes(std::string_view block) const {
  if (!is_ours()) return 0;
  const FilterBlockInfo info = OpenFilter(block).info;
  return info.smallest.size() + info.largest.size();
}

}  // namespace rocksieve::bench
