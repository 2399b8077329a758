#include "plugin/auto/auto_builders.h"

#include <rocksdb/env.h>
#include <rocksdb/table.h>

#include "plugin/auto/announcement.h"
#include "plugin/auto/decider.h"

namespace rocksieve {
namespace {

// A file that a listener has announced.
class AnnouncedFile final : public FileTracker {
 public:
  explicit AnnouncedFile(Announcement announcement) : announcement_(std::move(announcement)) {}

  Surroundings Look(const LedgerFile& self, bool complete) override {
    return announcement_.ledger->Look(announcement_.column_family, announcement_.job,
                                      Numbered(self), complete);
  }
  void Update(const LedgerFile& self) override {
    announcement_.ledger->Register(announcement_.column_family, announcement_.job, Numbered(self));
  }

 private:
  LedgerFile Numbered(LedgerFile self) const {
    self.number = announcement_.file_number;
    return self;
  }
  const Announcement announcement_;
};

}  // namespace

AutoBuilders::AutoBuilders(const AutoSpec& spec)
    : spec_(spec),
      name_(spec.ToString()),
      maker_(MakerOf(name_)),
      allocator_(spec.ForAllocator()),
      usual_spec_(spec.options) {
  const FilterChoice choice = allocator_.HullFor(uint64_t{1} << 20).Choose(spec.bits_per_entry);
  if (choice.family == Family::kNone) {
    usual_spec_.family = spec.families.front();
    usual_spec_.amount = 3;  // which every family can serve
  } else {
    usual_spec_ = spec.SpecFor(choice);
  }
}

std::unique_ptr<SpecDecider> AutoBuilders::NewDecider(
    const rocksdb::FilterBuildingContext& context) {
  Announcement announcement = TakeAnnouncement();
  std::unique_ptr<FileTracker> tracker;
  // Otherwise it is a file outside of any tree, such as an SstFileWriter's.
  if (context.reason != rocksdb::TableFileCreationReason::kMisc) {
    const bool announced =
        announcement.ledger != nullptr && announcement.column_family == context.column_family_name;
    LogOnce(context, announced);
    if (announced) {
      tracker = std::make_unique<AnnouncedFile>(std::move(announcement));
    } else {
      tracker = history_.NewTracker(context);
    }
  }
  return std::make_unique<AutoDecider>(spec_, allocator_, maker_,
                                       context.table_options.partition_filters, std::move(tracker));
}

void AutoBuilders::LogOnce(const rocksdb::FilterBuildingContext& context, bool announced) {
  if (context.info_log == nullptr) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!logged_.insert({context.info_log, context.column_family_name}).second) return;
  }
  rocksdb::Info(context.info_log, "rocksieve: column family %s: %s follows %s",
                context.column_family_name.c_str(), name_.c_str(),
                announced ? "the live files, through rocksieve.listener"
                          : "its own history of built filters, since nothing announces its files; "
                            "listeners={rocksieve.listener} makes it exact");
}

void AutoBuilders::ForgetWhatWasLogged() {
  std::lock_guard<std::mutex> lock(mutex_);
  logged_.clear();
}

}  // namespace rocksieve
