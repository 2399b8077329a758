// SPDX-License-Identifier: Apache-2.0
#include "tools/join/replica_versions.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include <absl/strings/escaping.h>

#include "support/files.h"
#include "support/text.h"
#include "tools/join/database_diff.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;
using Version = std::optional<LoggedColumns>;  // nothing: the side lacks the row

// What a side has; nothing if it is not known.
using Side = std::optional<Version>;

constexpr char kLacks = '-', kUnknown = '?';
const std::string kTransient = join::VerdictName(join::Verdict::kTransient);
constexpr char kLast = 'Z';  // and all that come after it

// The rows that differ between this side and a server, in a file.
class DifferencesFile {
 public:
  Status Open() {
    const char* const directory = std::getenv("TMPDIR");
    std::string error;
    file_ =
        PendingFile::Create(std::string(directory == nullptr ? "/tmp" : directory) + "/", &error);
    return file_ == nullptr ? Status::InvalidArgument(error) : Status::OK();
  }

  Status Write(const std::string& column_family, const join::DifferentRow& row) {
    std::string error;
    const std::string line = FormatDifference(row, join::DiffFormat::kJson, column_family);
    return file_->Append(line, &error) ? Status::OK() : Status::IOError(error);
  }

  Status Rewind() {
    reader_ = std::make_unique<LineReader>(file_->descriptor(), "the rows that differ");
    return Next();
  }

  Status Next() {
    std::string_view line;
    any_ = reader_->Next(&line);
    if (any_ && !LoggedRow::Read(line, &row_)) return Status::Corruption("a row was not read back");
    return reader_->error().empty() ? Status::OK() : Status::IOError(reader_->error());
  }

  // The server's rows of this column family were not compared, or not all of them.
  void DoesNotKnow(const std::string& column_family) { unknown_.insert(column_family); }
  bool Knows(const std::string& column_family) const { return unknown_.count(column_family) == 0; }

  bool any() const { return any_; }
  const LoggedRow& row() const { return row_; }

 private:
  std::unique_ptr<PendingFile> file_;
  std::unique_ptr<LineReader> reader_;
  std::set<std::string> unknown_;
  LoggedRow row_;
  bool any_ = false;
};

// What is not UTF-8 as base64, as in the lines of a comparison with one server.
void SetBytes(const std::string& name, const std::string& bytes, Json* object) {
  try {
    static_cast<void>(Json(bytes).dump());
    (*object)[name] = bytes;
  } catch (const Json::exception&) {
    (*object)[name + "_base64"] = absl::Base64Escape(bytes);
  }
}

// Letters for what the sides have. REQUIRES: one is known.
RowVersions Lettered(const std::vector<Side>& sides) {
  std::vector<std::pair<Version, size_t>> counts;
  const auto count_of = [&counts](const Version& version) {
    return std::find_if(counts.begin(), counts.end(),
                        [&](const auto& count) { return count.first == version; });
  };
  for (const Side& side : sides) {
    if (!side) continue;
    const auto known = count_of(*side);
    if (known == counts.end()) {
      counts.emplace_back(*side, 1);
    } else {
      known->second++;
    }
  }
  // What most have first; others as they come.
  const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto most = std::max_element(counts.begin(), counts.end(), less);
  std::rotate(counts.begin(), most, most + 1);
  RowVersions row;
  std::vector<char> letters;
  char next = 'A';
  for (const auto& [version, count] : counts) {
    letters.push_back(version ? next : kLacks);
    if (!version) continue;
    row.values.emplace_back(next, *version);
    if (next < kLast) next++;
  }
  if (2 * counts.front().second > sides.size()) row.majority = letters.front();
  for (const Side& side : sides) {
    row.versions.push_back(side ? letters[static_cast<size_t>(count_of(*side) - counts.begin())]
                                : kUnknown);
  }
  return row;
}

class ReplicaMerge {
 public:
  ReplicaMerge(std::vector<DifferencesFile>* files, const TakeVersions& take)
      : files_(files), take_(take), minorities_(files->size() + 1, 0) {}

  // `order`: of the column families.
  Status Run(const std::map<std::string, size_t>& order) {
    const auto place = [&order](const LoggedRow& row) {
      const auto family = order.find(row.column_family);
      return std::tuple(family == order.end() ? order.size() : family->second, row.key);
    };
    Status status;
    for (DifferencesFile& file : *files_) {
      if (status.ok()) status = file.Rewind();
    }
    while (status.ok()) {
      const DifferencesFile* first = nullptr;
      for (const DifferencesFile& file : *files_) {
        if (file.any() && (first == nullptr || place(file.row()) < place(first->row()))) {
          first = &file;
        }
      }
      if (first == nullptr) return status;
      status = TakeRow(LoggedRow(first->row()));
    }
    return status;
  }

  uint64_t rows() const { return rows_; }
  // How often a side has another version than most of them.
  const std::vector<uint64_t>& minorities() const { return minorities_; }

 private:
  // A server that names no difference has what this side has, if it was compared.
  Status TakeRow(const LoggedRow& first) {
    std::vector<Side> sides = {first.local};
    bool differs = false;  // and not only while it is written
    for (DifferencesFile& file : *files_) {
      const LoggedRow& row = file.row();
      const bool named =
          file.any() && row.key == first.key && row.column_family == first.column_family;
      if (!file.Knows(first.column_family) || (named && row.verdict == kTransient)) {
        sides.emplace_back();
      } else {
        sides.emplace_back(named ? row.remote : first.local);
        differs |= named;
      }
      const Status status = named ? file.Next() : Status::OK();
      if (!status.ok()) return status;
    }
    if (!differs) return Status::OK();
    RowVersions row = Lettered(sides);
    row.column_family = first.column_family;
    row.key = first.key;
    rows_++;
    for (size_t i = 0; i < sides.size(); i++) {
      minorities_[i] += row.majority != 0 && sides[i] && row.versions[i] != row.majority;
    }
    return take_ ? take_(row) : Status::OK();
  }

  std::vector<DifferencesFile>* const files_;
  const TakeVersions& take_;
  uint64_t rows_ = 0;
  std::vector<uint64_t> minorities_;
};

}  // namespace

std::string FormatVersions(const RowVersions& row, join::DiffFormat format) {
  const std::string majority = row.majority == 0 ? "" : std::string(1, row.majority);
  std::string line;
  if (format == join::DiffFormat::kText) {
    line = row.versions + " ";
    AppendEscapedText(row.key, &line);
    return line + "\n";
  }
  if (format == join::DiffFormat::kTsv) {
    AppendEscapedText(row.column_family, &line);
    line += "\t" + row.versions + "\t" + majority + "\t";
    AppendEscapedText(row.key, &line);
    return line + "\n";
  }
  Json json;
  SetBytes("column_family", row.column_family, &json);
  SetBytes("key", row.key, &json);
  json["versions"] = row.versions;
  json["majority"] = TextOrNull(majority);
  json["values"] = Json::array();
  for (const auto& [letter, columns] : row.values) {
    Json version = {{"version", std::string(1, letter)}};
    if (columns.size() == 1 && columns.front().first.empty()) {
      SetBytes("value", columns.front().second, &version);
    } else {
      version["columns"] = Json::array();
      for (const auto& [name, value] : columns) {
        Json& column = version["columns"].emplace_back();
        SetBytes("name", name, &column);
        SetBytes("value", value, &column);
      }
    }
    json["values"].push_back(version);
  }
  return json.dump() + "\n";
}

Status CompareReplicas(const DatabaseDiffOptions& options, const std::vector<join::Peer>& peers,
                       const TakeVersions& take, Json* document) {
  std::vector<DifferencesFile> files(peers.size());
  Json remotes = Json::array();
  std::map<std::string, size_t> order;
  Status status;
  for (size_t i = 0; i < peers.size() && status.ok(); i++) {
    DatabaseDiffOptions one = options;
    one.peer = peers[i];
    one.diff.values = true;
    status = files[i].Open();
    const TakeDifference keep = [&](const std::string& family, const join::DifferentRow& row) {
      return files[i].Write(family, row);
    };
    if (status.ok()) status = DiffDatabases(one, keep, &remotes.emplace_back());
    if (!status.ok()) break;
    for (const Json& family : remotes.back()["column_families"]) {
      const std::string name = family["name"];
      order.emplace(name, order.size());
      if (family.value("errors", 1) != 0) files[i].DoesNotKnow(name);
    }
  }
  if (!status.ok()) return status;
  ReplicaMerge merge(&files, take);
  status = merge.Run(order);
  Json minorities = Json::array();
  for (size_t i = 0; i < merge.minorities().size(); i++) {
    minorities.push_back({{"side", i == 0 ? "here" : peers[i - 1].addresses.front()},
                          {"rows", merge.minorities()[i]}});
  }
  *document = {{"local", options.directory},
               {"remotes", remotes},
               {"versions", {{"rows", merge.rows()}, {"in_the_minority", minorities}}}};
  return status;
}

std::string VersionsInWords(const Json& document) {
  std::string text;
  for (const Json& remote : document["remotes"]) {
    text += remote["remote"].get<std::string>() + "\n" + DiffInWords(remote) + "\n";
  }
  const Json& versions = document["versions"];
  text += Counted(versions["rows"], "row") + " not alike on all sides.\n";
  if (versions["rows"] == 0) return text;
  text += "Rows of which most sides have one version, and this one another or none:\n";
  return text + ForPeople({{"side", "", "side", Column::Kind::kText},
                           {"rows", "", "rows", Column::Kind::kFixed, 0}},
                          versions["in_the_minority"]);
}

int VersionsExitCode(const Json& document) {
  int worst = 0;
  for (const Json& remote : document["remotes"]) worst = std::max(worst, DiffExitCode(remote));
  return worst;
}

}  // namespace rocksieve::tools
