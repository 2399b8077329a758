// SPDX-License-Identifier: Apache-2.0
#include "tools/join/resume_state.h"

#include <unistd.h>

#include <algorithm>

#include <absl/strings/escaping.h>

#include "support/files.h"
#include "support/return_if_error.h"
#include "support/text.h"

namespace rocksieve::tools {
namespace {

using join::Difference;
using join::DifferentRow;
using rocksdb::Status;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenSaves(200);
constexpr int kSavesShare = 20;  // at most one part in so many of the time

constexpr const char* kCounts[] = {"equal_rows",   "local_only_rows", "remote_only_rows",
                                   "changed_rows", "wire_sent_bytes", "wire_received_bytes"};

// Whether there is what `pattern` has, of the same kinds: all members of an object, and each
// element of an array as its first one. A number with a point stands for any.
bool Fits(const Json& json, const Json& pattern) {
  if (pattern.is_number_float()) return json.is_number();
  if (json.type() != pattern.type()) return false;
  for (const auto& [name, value] : pattern.items()) {
    if (pattern.is_object() && !(json.contains(name) && Fits(json[name], value))) return false;
    if (!pattern.is_array()) continue;
    for (const Json& element : json) {
      if (!Fits(element, value)) return false;
    }
  }
  return true;
}

Json NewFamily(const std::string& name) {
  Json family = {{"name", name}, {"next_key", ""}, {"found_bytes", 0u}, {"seconds", 0.0}};
  for (const char* count : kCounts) family[count] = 0u;
  return family;
}

Json NewDocument(const Json& comparison) {
  return {{"comparison", comparison},
          {"parts", Json::array()},
          {"there", Json::array()},
          {"done", Json::array()},
          {"family", nullptr},
          {"output_bytes", 0u},
          {"heading", ""},
          {"complete", false}};
}

// Of a column family that is done: as FamilyJson() and others make it.
bool IsDone(const Json& family) {
  if (!Fits(family, {{"name", ""}, {"verdict", ""}}) || !family.contains("reason")) return false;
  for (const auto& [name, value] : family.items()) {
    const bool is_text = name == "name" || name == "verdict" || name == "reason";
    const bool is_of_states = name == "only_changes" || name == "by_journal" ||
                              name == "why_full" || name == "full_at_seconds";
    // States and this do not go together.
    if (is_of_states ? !(value.is_null() || value == false)
        : is_text    ? !(value.is_string() || (name == "reason" && value.is_null()))
                     : !(value.is_number_unsigned() || (name == "seconds" && value.is_number()))) {
      return false;
    }
  }
  return true;
}

bool IsWhole(const Json& json) {
  Json pattern = NewDocument(Json::object());
  pattern["parts"].push_back({{"began", ""}, {"column_family", ""}, {"next_key", ""}});
  pattern["there"].push_back({{"name", ""}, {"comparator", ""}, {"merge_operator", ""}});
  if (json.contains("family") && !json["family"].is_null()) pattern["family"] = NewFamily("");
  return Fits(json, pattern) && std::all_of(json["done"].begin(), json["done"].end(), IsDone);
}

Json ValueJson(const std::optional<std::string_view>& value) {
  if (!value) return nullptr;
  return absl::Base64Escape(std::string(*value));
}

// False if it is none.
bool ReadValueJson(const Json& json, std::string* bytes, std::optional<std::string_view>* value) {
  if (json.is_null()) return true;
  if (!json.is_string() || !absl::Base64Unescape(json.get<std::string>(), bytes)) return false;
  *value = *bytes;
  return true;
}

}  // namespace

ResumeState::ResumeState(const std::string& path, RowOutput* rows)
    : file_(path), rows_(rows), begun_(Clock::now()), saved_(begun_) {}

Status ResumeState::Open(const std::string& path, const Json& comparison, RowOutput* rows,
                         std::unique_ptr<ResumeState>* state) {
  state->reset(new ResumeState(path, rows));
  RETURN_IF_ERROR((*state)->file_.Open(&(*state)->json_));
  if (!(*state)->json_.is_null()) {
    (*state)->is_new_ = false;
    RETURN_IF_ERROR((*state)->CheckDocument(comparison));
    (*state)->heading_ = (*state)->json_["heading"].get<std::string>();
    return Status::OK();
  }
  (*state)->json_ = NewDocument(comparison);
  return Status::OK();
}

Status ResumeState::CheckDocument(const Json& comparison) const {
  if (!IsWhole(json_)) {
    return Status::InvalidArgument(file_.path() +
                                   " is damaged, and is left as it is: begin anew with another "
                                   "file");
  }
  for (const auto& [name, value] : comparison.items()) {
    const Json& theirs = json_["comparison"];
    if (theirs.contains(name) && theirs[name] == value) continue;
    return Status::InvalidArgument(file_.path() + " is of another comparison: " + name + " is " +
                                   (theirs.contains(name) && theirs[name].is_string()
                                        ? theirs[name].get<std::string>()
                                        : "something else") +
                                   " there, and " + value.get<std::string>() +
                                   " here.\nName another file, or remove that one to begin anew.");
  }
  return Status::OK();
}

// The file is made before the rows are: who goes on knows whose they are.
Status ResumeState::OpenRows(const std::string& output) {
  Status status;
  if (is_new_ && !output.empty()) status = RowOutput::CheckNew(output);
  if (!status.ok()) {
    file_.Remove().PermitUncheckedError();  // it is empty
    return status;
  }
  if (is_new_) status = file_.Write(json_);
  if (!status.ok() || output.empty()) return status;
  return rows_->Continue(output, json_["output_bytes"].get<uint64_t>(),
                         json_["complete"].get<bool>());
}

std::string ResumeState::GoingOn() const {
  if (is_new_) return "";
  std::string text = "going on with " + file_.path() + ": " +
                     Counted(json_["done"].size(), "column family") + " done";
  const Json& family = json_["family"];
  if (!family.is_null()) {
    std::string key = family["next_key"];
    const bool after = !key.empty() && key.back() == '\0';
    if (after) key.pop_back();
    text += ", " + PrintableKey(family["name"].get<std::string>()) +
            (after ? " after key " : " from key ") + PrintableKey(key) + " on";
  }
  return text;
}

const Json* ResumeState::Done(const std::string& name) const {
  for (const Json& family : json_["done"]) {
    if (family["name"] == name) return &family;
  }
  return nullptr;
}

std::string ResumeState::UnderWay() const {
  const Json& family = json_["family"];
  return family.is_null() ? "" : family["name"].get<std::string>();
}

// Everything up to here is proven.
void ResumeState::TakePosition() {
  json_["output_bytes"] = rows_->bytes();
  json_["heading"] = heading_;
  changed_ = true;
}

Status ResumeState::Begin(const std::string& name, join::DiffOptions* options) {
  Json& family = json_["family"];
  if (family.is_null() || family["name"] != name) family = NewFamily(name);
  earlier_ = family;
  begun_ = Clock::now();
  if (!part_is_in_) {
    json_["parts"].push_back(
        {{"began", UtcNow()}, {"column_family", name}, {"next_key", family["next_key"]}});
    part_is_in_ = true;
  }
  options->join.begin = family["next_key"].get<std::string>();
  options->proven = [this](const join::DiffProgress& progress) { return Proven(progress); };
  rechecks_ = options->recheck.count() > 0;
  if (rechecks_) {
    RETURN_IF_ERROR(found_.emplace().Keep(RowsPath(), family["found_bytes"].get<uint64_t>()));
    options->found = [this](const DifferentRow& row) { return KeepFound(row); };
    options->found_before = [this](const join::DifferenceCallback& take) {
      return VisitFound(take);
    };
  }
  return Status::OK();
}

Status ResumeState::Proven(const join::DiffProgress& progress) {
  Json& family = json_["family"];
  family["next_key"] = progress.next_key;
  const uint64_t counts[] = {progress.equal_rows,       progress.local_only_rows,
                             progress.remote_only_rows, progress.changed_rows,
                             progress.bytes_sent,       progress.bytes_received};
  for (size_t i = 0; i < std::size(kCounts); i++) {
    family[kCounts[i]] = earlier_[kCounts[i]].get<uint64_t>() + counts[i];
  }
  family["seconds"] = earlier_["seconds"].get<double>() +
                      std::chrono::duration<double>(Clock::now() - begun_).count();
  family["found_bytes"] = found_ ? found_->bytes() : 0;
  TakePosition();
  const auto pause = std::max<Clock::duration>(kBetweenSaves, kSavesShare * saving_);
  return Clock::now() - saved_ < pause ? Status::OK() : Save();
}

Status ResumeState::Save() {
  if (!changed_) return Status::OK();
  const Clock::time_point begin = Clock::now();
  Status status = rows_->Sync();
  if (status.ok() && found_) status = found_->Sync();
  if (status.ok()) status = file_.Write(json_);
  if (!status.ok()) return status;
  changed_ = false;
  saved_ = Clock::now();
  saving_ = saved_ - begin;
  return status;
}

// Rows that will be looked at again are counted by who looks at them.
void ResumeState::AddEarlier(join::DiffReport* report) const {
  const auto count = [this](const char* name) { return earlier_[name].get<uint64_t>(); };
  report->equal_rows += count("equal_rows");
  report->join.wire_bytes_sent += count("wire_sent_bytes");
  report->join.wire_bytes_received += count("wire_received_bytes");
  report->join.seconds += earlier_["seconds"].get<double>();
  if (rechecks_) return;
  report->local_only_rows += count("local_only_rows");
  report->remote_only_rows += count("remote_only_rows");
  report->changed_rows += count("changed_rows");
  if (report->local_only_rows + report->remote_only_rows + report->changed_rows > 0) {
    report->verdict = join::Verdict::kDifferent;
  }
}

Status ResumeState::Finish(const Json& family, const Json& there) {
  json_["done"].push_back(family);
  json_["family"] = nullptr;
  if (!there.empty()) json_["there"] = there;
  TakePosition();
  return Save();
}

Status ResumeState::FinishAll() {
  json_["complete"] = true;
  TakePosition();
  return Save();
}

Status ResumeState::Remove() {
  found_.reset();
  unlink(RowsPath().c_str());
  return file_.Remove();
}

Status ResumeState::KeepFound(const DifferentRow& row) {
  const Json json = {{"difference", static_cast<unsigned>(row.difference)},
                     {"key", absl::Base64Escape(std::string(row.key))},
                     {"local", ValueJson(row.local_value)},
                     {"remote", ValueJson(row.remote_value)},
                     {"local_hash", row.local_hash},
                     {"remote_hash", row.remote_hash}};
  return found_->Write(json.dump() + "\n");
}

Status ResumeState::VisitFound(const join::DifferenceCallback& take) const {
  LineReader reader(RowsPath());
  std::string_view line;
  std::string local, remote;
  while (reader.Next(&line)) {
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    DifferentRow row;
    std::string key;
    std::optional<std::string_view> whole_key;
    const Json pattern = {{"difference", 0u}, {"key", ""}, {"local_hash", 0u}, {"remote_hash", 0u}};
    const bool read = Fits(json, pattern) && json["difference"] <= 2u &&
                      ReadValueJson(json["key"], &key, &whole_key) &&
                      ReadValueJson(json.value("local", Json(0)), &local, &row.local_value) &&
                      ReadValueJson(json.value("remote", Json(0)), &remote, &row.remote_value);
    if (!read) {
      return Status::InvalidArgument(RowsPath() +
                                     " is damaged: begin anew with another file for --resume");
    }
    row.difference = static_cast<Difference>(json["difference"].get<unsigned>());
    row.key = *whole_key;
    row.local_hash = json["local_hash"].get<uint64_t>();
    row.remote_hash = json["remote_hash"].get<uint64_t>();
    RETURN_IF_ERROR(take(row));
  }
  if (!reader.error().empty()) return Status::InvalidArgument(reader.error());
  return Status::OK();
}

}  // namespace rocksieve::tools
