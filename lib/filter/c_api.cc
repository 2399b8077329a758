// SPDX-License-Identifier: Apache-2.0
// librocksieve_filters.so: filters for C, the part of rocksieve/c.h that needs no RocksDB.
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include <rocksieve/c.h>
#include <rocksieve/filter.h>

struct rocksieve_builder_t {
  rocksieve::FilterBuilder builder;
  bool complete = true;  // every key was taken
};

struct rocksieve_filter_t {
  std::unique_ptr<char[]> bytes;
  std::unique_ptr<rocksieve::Filter> filter;
};

namespace rocksieve {
namespace {

void SetError(const char* text, char** error) {
  if (error == nullptr) return;
  std::free(*error);
  *error = strdup(text);
}

const char* Describe(BlockState state) {
  switch (state) {
    case BlockState::kIntact:
      break;
    case BlockState::kForeign:
      return "these bytes are not a filter of rocksieve";
    case BlockState::kDamaged:
      return "this filter is damaged";
    case BlockState::kFutureVersion:
      return "this filter comes from a later version of rocksieve";
  }
  return "";
}

// Runs `function`; null, and an error, if it throws.
template <typename Function>
auto Catching(char** error, const Function& function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::exception& exception) {
    SetError(exception.what(), error);
    return nullptr;
  }
}

}  // namespace
}  // namespace rocksieve

rocksieve_builder_t* rocksieve_builder_create(const char* spec_text, char** error) {
  return rocksieve::Catching(error, [&]() -> rocksieve_builder_t* {
    rocksieve::FilterSpec spec;
    const std::string problem =
        rocksieve::FilterSpec::Parse(spec_text == nullptr ? "" : spec_text, &spec);
    if (problem.empty()) return new rocksieve_builder_t{rocksieve::FilterBuilder(spec)};
    rocksieve::SetError(problem.c_str(), error);
    return nullptr;
  });
}

void rocksieve_builder_add(rocksieve_builder_t* builder, const char* key, size_t length) {
  if (builder == nullptr) return;
  try {
    if (key == nullptr && length > 0) {
      builder->complete = false;
    } else {
      builder->builder.AddKey({key, length});
    }
  } catch (const std::exception&) {
    builder->complete = false;
  }
}

char* rocksieve_builder_finish(rocksieve_builder_t* builder, size_t* size, char** error) {
  if (builder == nullptr || size == nullptr) {
    rocksieve::SetError("rocksieve_builder_finish needs a builder and a place for the size", error);
    return nullptr;
  }
  return rocksieve::Catching(error, [&]() -> char* {
    const rocksieve::FilterBlock block = builder->builder.Finish();
    const bool complete = builder->complete;
    builder->complete = true;
    char* const bytes = complete ? static_cast<char*>(std::malloc(block.size)) : nullptr;
    if (bytes == nullptr) {
      rocksieve::SetError(complete ? "no memory" : "a key could not be added", error);
      return nullptr;
    }
    std::memcpy(bytes, block.data.get(), block.size);
    *size = block.size;
    return bytes;
  });
}

void rocksieve_builder_destroy(rocksieve_builder_t* builder) { delete builder; }

rocksieve_filter_t* rocksieve_filter_open(const char* bytes, size_t size, char** error) {
  return rocksieve::Catching(error, [&]() -> rocksieve_filter_t* {
    if (bytes == nullptr) size = 0;
    // Looked at where they are: a copy of what is no filter would be made for nothing.
    const rocksieve::BlockState state = rocksieve::OpenFilter({bytes, size}).state;
    if (state != rocksieve::BlockState::kIntact) {
      rocksieve::SetError(rocksieve::Describe(state), error);
      return nullptr;
    }
    auto opened = std::make_unique<rocksieve_filter_t>();
    opened->bytes = std::make_unique<char[]>(size);
    std::memcpy(opened->bytes.get(), bytes, size);
    opened->filter = rocksieve::OpenFilter({opened->bytes.get(), size}).filter;
    return opened.release();
  });
}

unsigned char rocksieve_filter_may_contain(const rocksieve_filter_t* filter, const char* key,
                                           size_t length) {
  if (filter == nullptr || filter->filter == nullptr || (key == nullptr && length > 0)) return 1;
  return filter->filter->MayContain({key, length}) ? 1 : 0;
}

void rocksieve_filter_destroy(rocksieve_filter_t* filter) { delete filter; }
