// Makes filter_policy=rocksieve... known to RocksDB's option parser as soon as the library is
// loaded.
#include <cstdio>
#include <memory>
#include <string>

#include <rocksdb/utilities/object_registry.h>

#include <rocksieve/filter_policy.h>

#include "policy.h"
#include "rocksdb_version.h"

namespace rocksieve {

rocksdb::Status NewFilterPolicy(std::string_view spec_text,
                                std::shared_ptr<const rocksdb::FilterPolicy>* policy) {
  const std::string mismatch = RocksDbVersionMismatch();
  if (!mismatch.empty()) return rocksdb::Status::NotSupported(mismatch);
  FilterSpec spec;
  const std::string error = FilterSpec::Parse(spec_text, &spec);
  if (!error.empty()) return rocksdb::Status::InvalidArgument(error);
  *policy = std::make_shared<const Policy>(spec);
  return rocksdb::Status::OK();
}

namespace {

const rocksdb::FilterPolicy* MakePolicy(const std::string& spec_text,
                                        std::unique_ptr<const rocksdb::FilterPolicy>* guard,
                                        std::string* /*error*/) {
  FilterSpec spec;
  const std::string error = FilterSpec::Parse(spec_text, &spec);
  guard->reset(error.empty() ? new Policy(spec) : new Policy(spec_text, error));
  return guard->get();
}

bool Register() {
  const std::string mismatch = RocksDbVersionMismatch();
  if (!mismatch.empty()) {
    std::fprintf(stderr, "%s\n", mismatch.c_str());
    return false;
  }
  // Everything that begins with our name, so that what cannot be honoured becomes an error:
  // RocksDB ignores the name of a policy that nobody claims, and works on without a filter.
  rocksdb::ObjectLibrary::Default()->AddFactory<const rocksdb::FilterPolicy>(
      rocksdb::ObjectLibrary::PatternEntry("rocksieve", true).AddSeparator("", false), MakePolicy);
  return true;
}

const bool registered = Register();

}  // namespace
}  // namespace rocksieve
