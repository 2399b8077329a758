#include <rocksieve/join/input.h>

#include <utility>

#include <absl/strings/str_cat.h>
#include <rocksdb/snapshot.h>

#include "lib/join/text/text_source.h"
#include "plugin/join/sst_source.h"
#include "plugin/join/status.h"
#include "plugin/join_api/input_impl.h"

namespace rocksieve::join {
namespace {

SortOptions SortingOf(const InputOptions& options) {
  SortOptions sort;
  sort.memory_bytes = options.sort_memory_bytes;
  sort.directory = options.temporary_directory;
  return sort;
}

// Of the caller's bounds, which need not live as long as an Input.
KeyInterval IntervalOf(const rocksdb::ReadOptions& read) {
  KeyInterval interval;
  if (read.iterate_lower_bound != nullptr) interval.begin = read.iterate_lower_bound->ToString();
  if (read.iterate_upper_bound != nullptr) interval.end = read.iterate_upper_bound->ToString();
  return interval;
}

// The rows of a file, by an attribute; `open` gives an absl::StatusOr of a unique_ptr to a source.
template <typename OpenFile>
Input::Impl::TakeSnapshot OpeningFile(OpenFile open, const Attribute& attribute,
                                      const SortOptions& sort) {
  const OpenRows rows_of_file =
      [=](const Cancellation* cancellation) -> absl::StatusOr<std::unique_ptr<Source>> {
    auto rows = open();
    if (!rows.ok()) return rows.status();
    return ByAttribute(*std::move(rows), attribute, sort, cancellation);
  };
  return [rows_of_file] { return rows_of_file; };  // files do not change
}

}  // namespace

absl::StatusOr<OpenedInput> Input::Impl::OpenSources(size_t count,
                                                     const Cancellation* cancellation) const {
  absl::StatusOr<OpenRows> frozen = take_snapshot_();
  if (!frozen.ok()) return frozen.status();
  OpenedInput opened;
  opened.open = *std::move(frozen);
  while (opened.sources.size() < count) {
    // Sorted rows do not change any more, and may be scanned by several threads.
    if (sorted_ && !opened.sources.empty()) {
      opened.sources.push_back(opened.sources.front());
      continue;
    }
    absl::StatusOr<std::unique_ptr<Source>> source = opened.open(cancellation);
    if (!source.ok()) return source.status();
    opened.sources.push_back(*std::move(source));
  }
  return opened;
}

Input::Input() = default;
Input::~Input() = default;
Input::Input(const Input&) = default;
Input& Input::operator=(const Input&) = default;

rocksdb::Status Input::OfDatabase(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family,
                                  const rocksdb::ReadOptions& read, const InputOptions& options,
                                  Input* input) {
  if (db == nullptr)
    return rocksdb::Status::InvalidArgument("a join needs a database that is open");
  if (family == nullptr) family = db->DefaultColumnFamily();
  const absl::StatusOr<Attribute> attribute = AttributeOf(options.on, options.extractors);
  if (!attribute.ok()) return ToRocksDb(attribute.status());
  const auto take_snapshot = [db, family, read, interval = IntervalOf(read), attribute = *attribute,
                              sort = SortingOf(options)]() -> absl::StatusOr<OpenRows> {
    std::shared_ptr<rocksdb::ManagedSnapshot> own;
    rocksdb::ReadOptions frozen = read;
    if (frozen.snapshot == nullptr) {
      own = std::make_shared<rocksdb::ManagedSnapshot>(db);
      frozen.snapshot = own->snapshot();
    }
    return [=](const Cancellation* cancellation) {
      static_cast<void>(own);  // held as long as this is
      return OpenDatabase(db, family, frozen, interval, attribute, sort, cancellation);
    };
  };
  input->impl_ = std::make_shared<Impl>(take_snapshot, *attribute);
  return rocksdb::Status::OK();
}

rocksdb::Status Input::OfDirectory(const std::string& directory, const std::string& column_family,
                                   const InputOptions& options, Input* input) {
  const absl::StatusOr<Attribute> attribute = AttributeOf(options.on, options.extractors);
  if (!attribute.ok()) return ToRocksDb(attribute.status());
  const auto take_snapshot = [directory, column_family, attribute = *attribute,
                              sort = SortingOf(options)]() -> absl::StatusOr<OpenRows> {
    absl::StatusOr<RowsSnapshot> snapshot =
        SnapshotOfDirectory(directory, column_family, attribute, sort);
    if (!snapshot.ok()) return snapshot.status();
    return std::move(snapshot->open);
  };
  input->impl_ = std::make_shared<Impl>(take_snapshot, *attribute);
  return rocksdb::Status::OK();
}

rocksdb::Status Input::OfSst(const std::string& path, const rocksdb::Options& rocksdb_options,
                             const InputOptions& options, Input* input) {
  const absl::StatusOr<Attribute> attribute = AttributeOf(options.on, options.extractors);
  if (!attribute.ok()) return ToRocksDb(attribute.status());
  const auto open = [path, rocksdb_options] { return SstSource::Open(path, rocksdb_options); };
  input->impl_ =
      std::make_shared<Impl>(OpeningFile(open, *attribute, SortingOf(options)), *attribute);
  return rocksdb::Status::OK();
}

rocksdb::Status Input::OfSortedText(const std::string& path, const InputOptions& options,
                                    Input* input) {
  const absl::StatusOr<Attribute> attribute = AttributeOf(options.on, options.extractors);
  if (!attribute.ok()) return ToRocksDb(attribute.status());
  const auto open = [path] { return SortedTextSource::Open(path); };
  input->impl_ =
      std::make_shared<Impl>(OpeningFile(open, *attribute, SortingOf(options)), *attribute);
  return rocksdb::Status::OK();
}

}  // namespace rocksieve::join
