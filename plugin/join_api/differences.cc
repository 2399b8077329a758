// SPDX-License-Identifier: Apache-2.0
#include "plugin/join_api/differences.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include <rocksieve/join/diff.h>

#include "lib/join/join_key/join_key_source.h"
#include "lib/join/text/text_rows.h"
#include "support/text.h"

namespace rocksieve::join {

absl::Status DifferencePairs::Add(const Row& row, Side from) {
  if (!KeyOfWholeRow(row.key, &key_)) {
    return absl::InvalidArgumentError("the other side sent a row that is not joined on all of it");
  }
  const std::string_view digest = row.key.substr(row.key.size() - kWholeRowDigestBytes);
  if (kept_ && kept_->key == key_ && kept_->from != from) {
    const DifferencePair::Side first{kept_->value, kept_->digest}, second{row.value, digest};
    const bool local_first = kept_->from == Side::kClient;
    const absl::Status status =
        take_({key_, local_first ? first : second, local_first ? second : first});
    kept_.reset();
    return status;
  }
  const absl::Status status = Finish();
  kept_ = Kept{std::string(key_), std::string(row.value), std::string(digest), from};
  return status;
}

absl::Status DifferencePairs::Finish() {
  if (!kept_) return absl::OkStatus();
  DifferencePair pair{kept_->key, {}, {}};
  (kept_->from == Side::kClient ? pair.local : pair.remote) =
      DifferencePair::Side{kept_->value, kept_->digest};
  const absl::Status status = take_(pair);
  kept_.reset();
  return status;
}

namespace {

std::optional<std::string> DigestOf(const std::optional<DifferencePair::Side>& side) {
  if (!side) return std::nullopt;
  return std::string(side->digest);
}

}  // namespace

void Recheck::Add(const DifferencePair& pair) {
  if (rows_.size() == most_rows_) return;
  Seen seen;
  seen.key = pair.key;
  seen.local = DigestOf(pair.local);
  seen.remote = DigestOf(pair.remote);
  rows_.push_back(std::move(seen));
}

std::vector<KeyInterval> Recheck::Suspects() const {
  std::vector<KeyInterval> parts;
  for (const Seen& seen : rows_) {
    if (seen.suspect) parts.push_back({seen.key, seen.key + '\0'});
  }
  return parts;
}

void Recheck::BeginLook() {
  next_ = 0;
  for (Seen& seen : rows_) seen.differs = false;
}

void Recheck::Look(const DifferencePair& pair) {
  while (next_ < rows_.size() && rows_[next_].key != pair.key) next_++;
  if (next_ == rows_.size()) return;
  Seen* const seen = &rows_[next_];
  seen->differs = seen->local == DigestOf(pair.local) && seen->remote == DigestOf(pair.remote);
}

void Recheck::EndLook() {
  looks_++;
  for (Seen& seen : rows_) seen.suspect &= seen.differs;
}

Verdict Recheck::VerdictOf(size_t row) const {
  if (row >= rows_.size() || looks_ == 0) return Verdict::kDifferent;
  return rows_[row].suspect ? Verdict::kDiverged : Verdict::kTransient;
}

namespace {

// By Difference.
constexpr const char* kWords[] = {"local-only", "remote-only", "changed"};
constexpr char kMarks[] = {'<', '>', '|'};

ReadableValue Readable(std::string_view value) {
  ReadableValue readable;
  if (!ReadValue(value, &readable).ok()) readable.plain = value;
  return readable;
}

void AppendTsvValue(const std::optional<std::string_view>& value, std::string* line) {
  line->push_back('\t');
  if (!value) return;
  const ReadableValue readable = Readable(*value);
  AppendEscapedText(readable.plain, line);
  const char* comma = "";
  for (const auto& [name, bytes] : readable.columns) {
    line->append(comma);
    AppendEscapedText(name, line);
    line->push_back('=');
    AppendEscapedText(bytes, line);
    comma = ",";
  }
}

void AppendJsonValue(const std::string& side, const std::optional<std::string_view>& value,
                     std::string* line) {
  if (!value) return;
  const ReadableValue readable = Readable(*value);
  if (!readable.has_columns) {
    AppendJsonMember(side + "_value", readable.plain, line);
    return;
  }
  line->append(",\"").append(side).append("_columns\":[");
  const char* comma = "";
  for (const auto& [name, bytes] : readable.columns) {
    line->append(comma).append("{");
    AppendJsonMember("name", name, line);
    AppendJsonMember("value", bytes, line);
    line->append("}");
    comma = ",";
  }
  line->append("]");
}

}  // namespace

std::string VerdictName(Verdict verdict) {
  constexpr const char* kNames[] = {"match", "different", "transient", "diverged"};
  const auto index = static_cast<size_t>(verdict);
  return kNames[index < std::size(kNames) ? index : 1];
}

std::string FormatDifference(const DifferentRow& row, DiffFormat format,
                             std::string_view column_family) {
  const size_t difference = std::min(static_cast<size_t>(row.difference), std::size(kWords) - 1);
  std::string line;
  if (format == DiffFormat::kJson) {
    line = "{";
    AppendJsonMember("column_family", column_family, &line);
    AppendJsonMember("difference", kWords[difference], &line);
    AppendJsonMember("verdict", VerdictName(row.verdict), &line);
    AppendJsonMember("key", row.key, &line);
    AppendJsonValue("local", row.local_value, &line);
    AppendJsonValue("remote", row.remote_value, &line);
    return line + "}\n";
  }
  if (format == DiffFormat::kText) {
    line = {kMarks[difference], ' '};
    AppendEscapedText(row.key, &line);
    return line + "\n";
  }
  AppendEscapedText(column_family, &line);
  line.append("\t").append(kWords[difference]);
  line.append("\t").append(VerdictName(row.verdict)).append("\t");
  AppendEscapedText(row.key, &line);
  AppendTsvValue(row.local_value, &line);
  AppendTsvValue(row.remote_value, &line);
  return line + "\n";
}

}  // namespace rocksieve::join
