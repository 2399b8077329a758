// SPDX-License-Identifier: Apache-2.0
// Databases as streams of Arrow for C: the part of rocksieve/c_arrow.h that is in
// librocksieve_join.so.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/strings/str_split.h>
#include <rocksieve/c_arrow.h>
#include <rocksieve/filter.h>
#include <rocksieve/join/input.h>

#include "lib/c_api/any_filter.h"
#include "plugin/join/status.h"
#include "plugin/join_api/c_settings.h"
#include "plugin/join_api/join_impl.h"
#include "plugin/join_api/scan_stream.h"
#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

using rocksdb::Status;

// Of a static or a dynamic filter's bytes. Throws std::invalid_argument for other ones.
std::function<bool(std::string_view key)> OpenAnyFilter(std::string_view bytes) {
  if (OpenFilter(bytes).state == BlockState::kForeign) {
    const auto dynamic =
        std::make_shared<const AnyDynamic>(ReadKind<AnyDynamic>(bytes, kDynamicKinds));
    return std::visit(
        [&](const auto& filter) -> std::function<bool(std::string_view key)> {
          return [dynamic, &filter](std::string_view key) { return filter.MayContain(key); };
        },
        *dynamic);
  }
  return [opened = std::make_shared<const OwnedFilter>(OpenCopy(bytes))](std::string_view key) {
    return opened->filter->MayContain(key);
  };
}

// The smallest key after all that begin with it; nothing if there is none.
std::optional<std::string> EndOfPrefix(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (prefix.empty()) return std::nullopt;
  prefix.back()++;
  return prefix;
}

Status ParseColumns(const std::string& text, std::vector<ScanColumn>* columns) {
  columns->clear();
  const std::vector<std::string> names = absl::StrSplit(text, ',');
  for (const std::string& name : names) {
    const auto* const found =
        std::find(std::begin(kScanColumnNames), std::end(kScanColumnNames), name);
    if (found == std::end(kScanColumnNames)) {
      return Status::InvalidArgument("columns are key, value and join_key, not \"" + name + "\"");
    }
    columns->push_back(static_cast<ScanColumn>(found - std::begin(kScanColumnNames)));
  }
  return Status::OK();
}

// Runs `function`; errno's value for what failed, if it did, whose words are kept.
template <typename Function>
int ForArrow(ArrowArrayStream* stream, const Function& function) {
  ScanStream& scan = *static_cast<ScanStream*>(stream->private_data);
  char* error = nullptr;
  const bool succeeded = Succeeds(&error, [&] { return function(scan); });
  if (succeeded) return 0;
  try {
    scan.last_error = error == nullptr ? "no memory" : error;
  } catch (const std::bad_alloc&) {
    scan.last_error.clear();
  }
  std::free(error);
  return EIO;
}

void GiveStream(std::unique_ptr<ScanStream> scan, ArrowArrayStream* stream) {
  *stream = {};
  stream->get_schema = [](ArrowArrayStream* self, ArrowSchema* out) {
    return ForArrow(self, [out](ScanStream& of) {
      of.GiveSchema(out);
      return Status::OK();
    });
  };
  stream->get_next = [](ArrowArrayStream* self, ArrowArray* out) {
    return ForArrow(self, [out](ScanStream& of) { return of.GiveNext(out); });
  };
  stream->get_last_error = [](ArrowArrayStream* self) {
    return static_cast<ScanStream*>(self->private_data)->last_error.c_str();
  };
  stream->release = [](ArrowArrayStream* self) {
    self->release = nullptr;
    delete static_cast<ScanStream*>(self->private_data);
  };
  stream->private_data = scan.release();
}

}  // namespace

// What is set is kept as it was said, and read when a stream is opened.
struct CScan {
  CScan() {
    settings.Text("db", &directory);
    settings.Text("sorted-text", &sorted_text);
    settings.Text("column-family", &column_family);
    settings.Text("begin", &plan.interval.begin);
    settings.Text("end", &plan.interval.end);
    settings.Other("prefix", [this](const std::string& value) {
      plan.interval = {value, EndOfPrefix(value)};
      return Status::OK();
    });
    settings.Other("on", [this](const std::string& value) {
      const absl::StatusOr<JoinKeyExpression> on = JoinKeyExpressionOf(value, {});
      if (!on.ok()) return ToRocksDb(on.status());
      plan.on = *on;
      return Status::OK();
    });
    settings.Other("columns", [this](const std::string& value) {
      return ParseColumns(value, &plan.columns);
    });
    settings.Other("keep", [this](const std::string& value) {
      plan.keep_absent = value == "absent";
      if (plan.keep_absent || value == "maybe") return Status::OK();
      return Status::InvalidArgument("keep takes maybe or absent, not " + value);
    });
    settings.Number("expect", std::numeric_limits<uint64_t>::max(), &plan.expected_digest, 1, 0);
    settings.Number("most-rows", std::numeric_limits<uint64_t>::max(), &plan.most_rows);
    settings.Number("batch-rows", uint64_t{1} << 24, &plan.batch_rows);
    settings.Number("batch-bytes", uint64_t{1} << 30, &plan.batch_bytes);
  }

  Status Open(ArrowArrayStream* stream) {
    OpenedInput opened;
    RETURN_IF_ERROR(OpenRows(&opened));
    ScanPlan now = plan;
    now.name = sorted_text.empty() ? directory : sorted_text;
    const auto its = std::make_shared<ScanCounts>();
    GiveStream(std::make_unique<ScanStream>(std::move(now), std::move(opened), its), stream);
    const std::lock_guard<std::mutex> lock(mutex);
    counts = its;
    return Status::OK();
  }

  Status Cut(size_t parts, const std::function<void(std::string_view key)>& on_cut) const {
    if (parts == 0) return Status::InvalidArgument("there is one part at least");
    OpenedInput opened;
    RETURN_IF_ERROR(OpenRows(&opened));
    for (const std::string& key : opened.sources.front()->Cuts(plan.interval, parts)) on_cut(key);
    return Status::OK();
  }

  Status OpenRows(OpenedInput* rows) const {
    if (directory.empty() == sorted_text.empty()) {
      return Status::InvalidArgument("set either db or sorted-text, the rows");
    }
    if (!sorted_text.empty() && !column_family.empty()) {
      return Status::InvalidArgument("a file of sorted text has no column family");
    }
    Input input;
    RETURN_IF_ERROR(sorted_text.empty() ? Input::OfDirectory(directory, column_family, {}, &input)
                                        : Input::OfSortedText(sorted_text, {}, &input));
    // Rows come by their keys, with all of their columns where these are joined on.
    const JoinKeyExpression as =
        plan.on.is_whole_row() ? JoinKeyExpression::KeyOfWholeRow() : JoinKeyExpression();
    absl::StatusOr<OpenedInput> opened = input.impl()->On(as).OpenSources(1, nullptr);
    const std::string& name = sorted_text.empty() ? directory : sorted_text;
    if (!opened.ok()) {
      return Status::Aborted(name + ": " + std::string(opened.status().message()));
    }
    *rows = *std::move(opened);
    return Status::OK();
  }

  std::string directory, sorted_text, column_family;
  ScanPlan plan;
  mutable std::mutex mutex;  // of the counts: several threads may open streams
  std::shared_ptr<ScanCounts> counts = std::make_shared<ScanCounts>();
  CSettings settings;
};

}  // namespace rocksieve::join

struct rocksieve_scan_t : rocksieve::join::CScan {};

rocksieve_scan_t* rocksieve_scan_create(char** error) {
  return rocksieve::WithoutThrowing<rocksieve_scan_t*>(nullptr, error,
                                                       [] { return new rocksieve_scan_t; });
}

unsigned char rocksieve_scan_set(rocksieve_scan_t* scan, const char* name, const char* value,
                                 size_t length, char** error) {
  return rocksieve::join::Succeeds(error, [&] {
    if (scan == nullptr || (value == nullptr && length > 0)) {
      return rocksdb::Status::InvalidArgument("there is no scan, or no value");
    }
    return scan->settings.Set("scan", name, std::string(value == nullptr ? "" : value, length));
  });
}

unsigned char rocksieve_scan_filter(rocksieve_scan_t* scan, const char* bytes, size_t size,
                                    char** error) {
  return rocksieve::join::Succeeds(error, [&] {
    if (scan == nullptr || (bytes == nullptr && size > 0)) {
      return rocksdb::Status::InvalidArgument("there is no scan, or no filter");
    }
    scan->plan.filters.push_back(rocksieve::join::OpenAnyFilter({bytes, size}));
    return rocksdb::Status::OK();
  });
}

unsigned char rocksieve_scan_open(rocksieve_scan_t* scan, ArrowArrayStream* stream, char** error) {
  return rocksieve::join::Succeeds(error, [&] {
    if (scan == nullptr || stream == nullptr) {
      return rocksdb::Status::InvalidArgument("there is no scan, or no place for the stream");
    }
    return scan->Open(stream);
  });
}

unsigned char rocksieve_scan_cuts(const rocksieve_scan_t* scan, size_t parts,
                                  rocksieve_scan_cut_t on_cut, void* state, char** error) {
  return rocksieve::join::Succeeds(error, [&] {
    if (scan == nullptr || on_cut == nullptr) {
      return rocksdb::Status::InvalidArgument("there is no scan, or nothing to call");
    }
    return scan->Cut(parts, [&](std::string_view key) { on_cut(state, key.data(), key.size()); });
  });
}

void rocksieve_scan_counts(const rocksieve_scan_t* scan, rocksieve_scan_counts_t* counts) {
  if (counts == nullptr) return;
  *counts = {};
  if (scan == nullptr) return;
  const std::lock_guard<std::mutex> lock(scan->mutex);
  *counts = {scan->counts->rows_read, scan->counts->rows_given, scan->counts->digest,
             scan->counts->rows_estimated};
}

void rocksieve_scan_destroy(rocksieve_scan_t* scan) { delete scan; }
