// Decides what filter to build when its keys are known.
#pragma once

#include <cstdint>

#include <rocksdb/slice.h>

#include <rocksieve/filter_spec.h>

namespace rocksieve {

// Belongs to one builder, and so to one table file.
class SpecDecider {
 public:
  virtual ~SpecDecider() = default;

  // Sees every key of the filter.
  virtual void AddKey(const rocksdb::Slice& key) = 0;

  // The filter of `keys` distinct keys is due. False if there should be none; else sets all of
  // *spec but `salted`.
  virtual bool Decide(uint64_t keys, FilterSpec* spec) = 0;

  // It was built, and takes so many bytes.
  virtual void Built(uint64_t keys, uint64_t bytes) = 0;
};

}  // namespace rocksieve
