// SPDX-License-Identifier: Apache-2.0
// Makes filter_policy=rocksieve... known to RocksDB's option parser as soon as the library is
// loaded.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <rocksdb/comparator.h>
#include <rocksdb/utilities/object_registry.h>
#include <rocksdb/version.h>

#include <rocksieve/c.h>
#include <rocksieve/filter_policy.h>
#include <rocksieve/listener.h>
#include <rocksieve/range.h>

#include "lib/budget/auto_spec.h"
#include "plugin/auto/listener.h"
#include "plugin/journal/change_journal.h"
#include "plugin/policy.h"
#include "plugin/range/extractors.h"

namespace rocksieve {
namespace {

// Empty if the RocksDB in this process is the one that the plugin was built for; else a sentence
// that names both releases and the remedy.
std::string RocksDbVersionMismatch() {
  const std::string built_for =
      std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR) + ".";
  const std::string loaded = rocksdb::GetRocksVersionAsString(/*with_patch=*/true);
  // Releases that are not what their number says: rocksdb_abi.h.
  for (const char* refused : {"7.0.1", "7.0.2", "10.1.0"}) {
    if (loaded != refused) continue;
    return "rocksieve: it registers nothing in this process, since RocksDB " + loaded +
           " differs from all others in what plugins need; take the next patch release.";
  }
  if (loaded.compare(0, built_for.size(), built_for) == 0) return "";
  return "rocksieve: this plugin was built for RocksDB " + built_for +
         "x, but the RocksDB in this process is " + loaded +
         ". It registers nothing, since the two might not fit together; build rocksieve against "
         "RocksDB " +
         loaded + ", or run the program with RocksDB " + built_for + "x.";
}

// Null, and why, for a spec that cannot be honoured.
std::unique_ptr<const Policy> PolicyFor(std::string_view spec_text, std::string* error) {
  OwnSpec spec;
  *error = ParseOwnSpec(spec_text, &spec);
  if (!error->empty()) return nullptr;
  // std::visit and std::get would export classes of their own from the library.
  const AutoSpec* const automatic = std::get_if<AutoSpec>(&spec);
  return automatic != nullptr ? std::make_unique<const Policy>(*automatic)
                              : std::make_unique<const Policy>(*std::get_if<FilterSpec>(&spec));
}

}  // namespace

std::shared_ptr<rocksdb::EventListener> NewListener() { return std::make_shared<Listener>(); }

std::shared_ptr<rocksdb::EventListener> NewJournal() { return std::make_shared<ChangeJournal>(); }

rocksdb::Status NewFilterPolicy(std::string_view spec_text,
                                std::shared_ptr<const rocksdb::FilterPolicy>* policy) {
  const std::string mismatch = RocksDbVersionMismatch();
  if (!mismatch.empty()) return rocksdb::Status::NotSupported(mismatch);
  std::string error;
  std::unique_ptr<const Policy> made = PolicyFor(spec_text, &error);
  if (!error.empty()) return rocksdb::Status::InvalidArgument(error);
  *policy = std::move(made);
  return rocksdb::Status::OK();
}

rocksdb::Status ConfigureRangeFilters(std::string_view spec, rocksdb::ColumnFamilyOptions* options,
                                      rocksdb::BlockBasedTableOptions* table_options) {
  OwnSpec parsed;
  const std::string error = ParseOwnSpec(spec, &parsed);
  if (!error.empty()) return rocksdb::Status::InvalidArgument(error);
  if (!AnswersRanges(parsed)) {
    return rocksdb::Status::InvalidArgument(
        "\"" + std::string(spec) +
        "\" does not answer for ranges; take rocksieve.range, for example rocksieve.range:12, or "
        "rocksieve.auto:12:range");
  }
  if (options->comparator != rocksdb::BytewiseComparator()) {
    return rocksdb::Status::InvalidArgument(
        std::string("range filters know the bytewise order alone, and the comparator is ") +
        options->comparator->Name() + "; take rocksieve.ribbon:10 for lookups of single keys");
  }
  if (options->prefix_extractor != nullptr &&
      options->prefix_extractor->Name() != std::string_view(kRangeExtractorName)) {
    return rocksdb::Status::InvalidArgument(
        "there is a prefix extractor already, " + options->prefix_extractor->GetId() +
        "; range filters need its place: set it to null first if nothing relies on it, and name "
        "its lengths in the spec, for example rocksieve.range:12:prefixes-8");
  }
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  const rocksdb::Status made = NewFilterPolicy(spec, &policy);
  if (!made.ok()) return made;
  table_options->filter_policy = std::move(policy);
  options->prefix_extractor = std::make_shared<RangeExtractor>();
  return rocksdb::Status::OK();
}

namespace {

const rocksdb::FilterPolicy* MakePolicy(const std::string& spec_text,
                                        std::unique_ptr<const rocksdb::FilterPolicy>* guard,
                                        std::string* /*error*/) {
  std::string error;
  std::unique_ptr<const Policy> policy = PolicyFor(spec_text, &error);
  if (policy == nullptr) policy = std::make_unique<const Policy>(spec_text, error);
  *guard = std::move(policy);
  return guard->get();
}

// Our name with a character too few or too many, or two exchanged; and families without it. RocksDB
// would ignore them, as it does every name that nobody claims.
void ClaimNearMisses(rocksdb::ObjectLibrary* library) {
  using Pattern = rocksdb::ObjectLibrary::PatternEntry;
  const auto claim = [&](const std::string& name, const std::string& separator) {
    library->AddFactory<const rocksdb::FilterPolicy>(
        Pattern(name, false).AddSeparator(separator, /*at_least_one=*/false), MakePolicy);
  };
  const std::string name = "rocksieve";
  for (size_t i = 0; i < name.size(); i++) {
    std::string miss = name;
    claim(miss.erase(i, 1), ".");
    miss = name;
    claim(miss.insert(i, 1, name[i]), ".");
    miss = name;
    if (i > 0) std::swap(miss[i - 1], miss[i]);
    if (i > 0) claim(miss, ".");
  }
  for (const char* family : {"bloom", "cuckoo", "range", "ribbon"}) claim(family, ":");
}

template <typename Object, typename Own>
Object* Make(const std::string& /*name*/, std::unique_ptr<Object>* guard, std::string* /*error*/) {
  guard->reset(new Own());
  return guard->get();
}

}  // namespace
}  // namespace rocksieve

// Makes a library of objects know ours; returns how many kinds. The name is RocksDB's convention
// for plugins; what is linked statically is kept by it (-u rocksieve_reg), as nothing else names
// us.
extern "C" int rocksieve_reg(rocksdb::ObjectLibrary& library, const std::string& /*argument*/) {
  // Everything that begins with our name, so that what cannot be honoured becomes an error:
  // RocksDB ignores the name of a policy that nobody claims, and works on without a filter.
  library.AddFactory<const rocksdb::FilterPolicy>(
      rocksdb::ObjectLibrary::PatternEntry("rocksieve", true).AddSeparator("", false),
      rocksieve::MakePolicy);
  rocksieve::ClaimNearMisses(&library);
  using rocksdb::EventListener;
  using Extractor = const rocksdb::SliceTransform;
  library.AddFactory<EventListener>(rocksieve::kListenerName,
                                    rocksieve::Make<EventListener, rocksieve::Listener>);
  library.AddFactory<EventListener>(rocksieve::kJournalName,
                                    rocksieve::Make<EventListener, rocksieve::ChangeJournal>);
  library.AddFactory<Extractor>(rocksieve::kRangeExtractorName,
                                rocksieve::Make<Extractor, rocksieve::RangeExtractor>);
  library.AddFactory<Extractor>(rocksieve::kRangeFileExtractorName,
                                rocksieve::Make<Extractor, rocksieve::RangeFileExtractor>);
  return 3;
}

#ifndef ROCKSIEVE_IN_TREE  // where rocksieve.mk names the function above
namespace rocksieve {
namespace {

bool Register() {
  const std::string mismatch = RocksDbVersionMismatch();
  if (!mismatch.empty()) {
    std::fprintf(stderr, "%s\n", mismatch.c_str());
    return false;
  }
  rocksieve_reg(*rocksdb::ObjectLibrary::Default(), "");
  return true;
}

const bool registered = Register();

}  // namespace
}  // namespace rocksieve
#endif

#define ROCKSIEVE_STRING_OF(value) #value
#define ROCKSIEVE_SERIES(major, minor) ROCKSIEVE_STRING_OF(major) "." ROCKSIEVE_STRING_OF(minor)

// By this librocksieve.so knows that a build is in the process, and `rocksieve doctor` for what.
extern "C" ROCKSIEVE_EXPORT const char rocksieve_built_for[];
const char rocksieve_built_for[] =
    "rocksieve_built_for:" ROCKSIEVE_SERIES(ROCKSDB_MAJOR, ROCKSDB_MINOR);

rocksdb_filterpolicy_t* rocksieve_filterpolicy_create(const char* spec, char** error) {
  std::string problem;
  try {
    problem = rocksieve::RocksDbVersionMismatch();
    std::unique_ptr<const rocksieve::Policy> policy;
    if (problem.empty()) policy = rocksieve::PolicyFor(spec == nullptr ? "" : spec, &problem);
    // A rocksdb_filterpolicy_t is a FilterPolicy (db/c.cc, all releases), and is used as no more.
    if (problem.empty()) {
      const rocksdb::FilterPolicy* const made = policy.release();
      return reinterpret_cast<rocksdb_filterpolicy_t*>(const_cast<rocksdb::FilterPolicy*>(made));
    }
  } catch (const std::exception& exception) {
    problem = exception.what();
  }
  if (error == nullptr) return nullptr;
  std::free(*error);
  *error = strdup(problem.c_str());
  return nullptr;
}
