// SPDX-License-Identifier: Apache-2.0
#include "plugin/auto/auto_builders.h"

#include <rocksdb/env.h>
#include <rocksdb/listener.h>
#include <rocksdb/table.h>

#include "plugin/auto/listener.h"
#include "plugin/auto/live_file_registry.h"

namespace rocksieve {
namespace {

// A file that a listener has announced.
class FileOfContext final : public FileTracker {
 public:
  explicit FileOfContext(FileContext file_context) : file_context_(std::move(file_context)) {}

  Surroundings Look(const RegisteredFile& self, bool complete) override {
    return file_context_.registry->Look(file_context_.column_family, file_context_.job,
                                        Numbered(self), complete);
  }
  void Update(const RegisteredFile& self) override {
    file_context_.registry->Register(file_context_.column_family, file_context_.job,
                                     Numbered(self));
  }

 private:
  RegisteredFile Numbered(RegisteredFile self) const {
    self.number = file_context_.file_number;
    return self;
  }
  const FileContext file_context_;
};

}  // namespace

AutoBuilders::AutoBuilders(const AutoSpec& spec)
    : spec_(spec),
      name_(spec.ToString()),
      policy_id_(PolicyId(name_)),
      allocator_(spec.ForAllocator()),
      range_allocator_(spec.range_family == Family::kNone
                           ? nullptr
                           : std::make_unique<const Allocator>(spec.ForRangeAllocator())),
      usual_spec_(spec.options),
      lookups_(spec.even || spec.range_family != Family::kNone ? nullptr
                                                               : std::make_unique<LookupRecord>()) {
  const Allocator& usual = answers_ranges() ? *range_allocator_ : allocator_;
  FilterChoice choice = usual.HullFor(uint64_t{1} << 20).Choose(spec.bits_per_entry);
  // Too few bits for any: the smallest that there are.
  if (choice.family == Family::kNone) choice.family = usual.options().families.front();
  usual_spec_ = spec.SpecFor(choice);
}

std::string AutoBuilders::Missing(const rocksdb::DBOptions& options) const {
  if (spec_.bytes == 0) return "";
  for (const std::shared_ptr<rocksdb::EventListener>& listener : options.listeners) {
    if (listener != nullptr && listener->IsInstanceOf(kListenerName)) return "";
  }
  return name_ +
         " has a budget of bytes, which is kept only if the live files are known: set the "
         "database's option listeners={rocksieve.listener}, or in C++ add rocksieve::NewListener() "
         "to its listeners; a budget of bits per entry does without, for example rocksieve.auto:10";
}

std::unique_ptr<AutoDecider> AutoBuilders::NewDecider(const rocksdb::FilterBuildingContext& context,
                                                      bool is_bytewise) {
  FileContext file_context = TakeFileContext();
  std::unique_ptr<FileTracker> tracker;
  LookupRecord* lookups = nullptr;
  // Otherwise it is a file outside of any tree, such as an SstFileWriter's.
  if (context.reason != rocksdb::TableFileCreationReason::kMisc) {
    const bool announced = file_context.registry != nullptr &&
                           file_context.column_family == context.column_family_name;
    bool is_only_tree = false;
    if (NoteTree(context, &is_only_tree)) Log(context, announced);
    // Keys of several trees are not told apart.
    if (is_bytewise && is_only_tree) lookups = lookups_.get();
    if (announced) {
      tracker = std::make_unique<FileOfContext>(std::move(file_context));
    } else {
      tracker = history_.NewTracker(context);
    }
  }
  Outlook outlook;
  outlook.is_flush = context.reason != rocksdb::TableFileCreationReason::kCompaction;
  outlook.rewrites_seldom = context.compaction_style != rocksdb::kCompactionStyleLevel;
  return std::make_unique<AutoDecider>(spec_, allocator_, range_allocator_.get(), policy_id_,
                                       context.table_options.partition_filters, outlook,
                                       std::move(tracker), lookups);
}

bool AutoBuilders::NoteTree(const rocksdb::FilterBuildingContext& context, bool* only) {
  std::lock_guard<std::mutex> lock(mutex_);
  const bool is_new = trees_.insert({context.info_log, context.column_family_name}).second;
  *only = trees_.size() == 1;
  return is_new;
}

void AutoBuilders::Log(const rocksdb::FilterBuildingContext& context, bool announced) {
  if (context.info_log == nullptr) return;
  const char* what = "the live files, through rocksieve.listener";
  if (!announced) {
    what =
        spec_.bytes == 0
            ? "its own history of built filters, since nothing announces its files; "
              "listeners={rocksieve.listener} makes it exact"
            : "its own history of built filters, since nothing announces its files, and does not "
              "count those from before; a budget of bytes needs listeners={rocksieve.listener}";
  }
  rocksdb::Info(context.info_log, "rocksieve: column family %s: %s follows %s",
                context.column_family_name.c_str(), name_.c_str(), what);
}

void AutoBuilders::ForgetTrees() {
  std::lock_guard<std::mutex> lock(mutex_);
  trees_.clear();
}

}  // namespace rocksieve
