// SPDX-License-Identifier: Apache-2.0
#include "plugin/database/column_family.h"

#include <algorithm>
#include <sstream>

#include <rocksdb/convenience.h>
#include <rocksdb/utilities/options_util.h>

#include "support/return_if_error.h"

namespace rocksieve {
namespace {

std::string Trimmed(const std::string& text) {
  const char* const kBlanks = " \t\r";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// A comment begins at a # that has no \ before it (RocksDBOptionsParser::TrimAndRemoveComment).
std::string WithoutComment(const std::string& line) {
  for (size_t i = 0; i < line.size(); i++) {
    if (line[i] == '#' && (i == 0 || line[i - 1] != '\\')) return line.substr(0, i);
  }
  return line;
}

// RocksDB writes \ : # and line ends with a \ before them (EscapeOptionString).
std::string Unescaped(const std::string& text) {
  std::string result;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      result += text[i];
      continue;
    }
    i++;
    result += text[i] == 'n' ? '\n' : text[i] == 'r' ? '\r' : text[i];
  }
  return result;
}

using rocksdb::Slice;

// Orders keys as another comparator does those that have no timestamps, and has a name.
//
// That of a comparator that is in another program only, where the order does not matter: RocksDB
// opens a database, for listing its files, only with one of the right name. Or that of one with
// timestamps: with this any release reads keys that were stripped of them. Those before 8.5 would
// cut off the ends of keys in their place, and later ones want the option too.
class NamedOrder final : public rocksdb::Comparator {
 public:
  NamedOrder(std::string name, std::shared_ptr<const rocksdb::Comparator> base)
      : name_(std::move(name)), base_(std::move(base)) {}
  const char* Name() const override { return name_.c_str(); }
  int Compare(const Slice& a, const Slice& b) const override {
    return base_->CompareWithoutTimestamp(a, /*a_has_ts=*/false, b, /*b_has_ts=*/false);
  }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

 private:
  const std::string name_;
  const std::shared_ptr<const rocksdb::Comparator> base_;
};

std::shared_ptr<const rocksdb::Comparator> Unowned(const rocksdb::Comparator* comparator) {
  return {comparator, [](const rocksdb::Comparator*) {}};
}

bool IsFalse(const std::string& value) { return value == "false" || value == "0"; }
bool IsTrue(const std::string& value) { return value == "true" || value == "1"; }

}  // namespace

OptionsFile OptionsFile::Parse(const std::string& text) {
  OptionsFile file;
  std::istringstream lines(text);
  std::string line, section;
  while (std::getline(lines, line)) {
    line = Trimmed(WithoutComment(line));
    if (line.size() >= 2 && line.front() == '[' && line.back() == ']') {
      section = Unescaped(line.substr(1, line.size() - 2));
      file.sections_[section];
      continue;
    }
    const size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    file.sections_[section][Trimmed(line.substr(0, equals))] =
        Unescaped(Trimmed(line.substr(equals + 1)));
  }
  return file;
}

rocksdb::Status OptionsFile::Load(const std::string& directory, rocksdb::Env* env,
                                  OptionsFile* file) {
  std::string name, text;
  RETURN_IF_ERROR(rocksdb::GetLatestOptionsFileName(directory, env, &name));
  RETURN_IF_ERROR(rocksdb::ReadFileToString(env, directory + "/" + name, &text));
  *file = Parse(text);
  file->file_name_ = name;
  return rocksdb::Status::OK();
}

std::string OptionsFile::Value(const std::string& section, const std::string& name) const {
  const auto found = sections_.find(section);
  if (found == sections_.end()) return "";
  const auto value = found->second.find(name);
  return value == found->second.end() ? "" : value->second;
}

std::string OptionsFile::ColumnFamilyValue(const std::string& column_family,
                                           const std::string& name) const {
  return Value("CFOptions \"" + column_family + "\"", name);
}

std::string OptionsFile::TableValue(const std::string& column_family,
                                    const std::string& name) const {
  return Value("TableOptions/BlockBasedTable \"" + column_family + "\"", name);
}

bool OptionsFile::HasTable(const std::string& column_family) const {
  return sections_.count("TableOptions/BlockBasedTable \"" + column_family + "\"") > 0;
}

void SetComparator(const std::string& comparator_name, ColumnFamily* family) {
  family->comparator_name = comparator_name;
  const rocksdb::Comparator* found = nullptr;
  const rocksdb::Status status =
      rocksdb::Comparator::CreateFromString(rocksdb::ConfigOptions(), comparator_name, &found);
  family->comparator_known = status.ok() && found != nullptr;
  family->comparator = Unowned(family->comparator_known ? found : rocksdb::BytewiseComparator());
  if (!family->comparator_known) {
    family->comparator =
        std::make_shared<NamedOrder>(comparator_name, std::move(family->comparator));
  }
  family->timestamps_stripped =
      !family->persist_timestamps && family->comparator->timestamp_size() > 0;
  if (family->timestamps_stripped) {
    family->comparator =
        std::make_shared<NamedOrder>(family->comparator->Name(), family->comparator);
  }
}

ColumnFamily DescribeColumnFamily(const std::string& name, const OptionsFile& options) {
  ColumnFamily family;
  family.name = name;
  const std::string comparator = options.ColumnFamilyValue(name, "comparator");
  family.persist_timestamps =
      !IsFalse(options.ColumnFamilyValue(name, "persist_user_defined_timestamps"));
  SetComparator(comparator.empty() ? rocksdb::BytewiseComparator()->Name() : comparator, &family);

  const std::string extractor = options.ColumnFamilyValue(name, "prefix_extractor");
  if (!extractor.empty() && extractor != "nullptr") {
    family.prefix_extractor_name = extractor;
    const rocksdb::Status status = rocksdb::SliceTransform::CreateFromString(
        rocksdb::ConfigOptions(), extractor, &family.prefix_extractor);
    if (!status.ok()) family.prefix_extractor.reset();
    if (family.prefix_extractor) {
      family.prefix_extractor_name = family.prefix_extractor->AsString();
    }
  }
  family.whole_key_filtering = !IsFalse(options.TableValue(name, "whole_key_filtering"));
  family.optimize_filters_for_hits =
      IsTrue(options.ColumnFamilyValue(name, "optimize_filters_for_hits"));
  family.filter_policy = options.TableValue(name, "filter_policy");
  if (family.filter_policy.empty() && options.HasTable(name)) family.filter_policy = "nullptr";
  family.table_factory = options.ColumnFamilyValue(name, "table_factory");
  return family;
}

std::string_view ColumnFamily::WithoutTimestamp(std::string_view user_key) const {
  const size_t timestamp_bytes = comparator->timestamp_size();
  return user_key.substr(0, user_key.size() - std::min(user_key.size(), timestamp_bytes));
}

int ColumnFamily::Compare(std::string_view a, std::string_view b) const {
  return comparator->CompareWithoutTimestamp(a, /*a_has_ts=*/false, b, /*b_has_ts=*/false);
}

// As BlockBasedTable::FullFilterKeyMayMatch(), RocksDB 7.8.
bool ColumnFamily::EntryToAsk(const TableProperties& file, std::string_view key,
                              std::string_view* entry) const {
  *entry = key;
  if (whole_key_filtering && file.whole_keys_filtered) return true;
  if (prefix_extractor == nullptr || !file.prefixes_filtered) return false;
  const Slice whole(key);
  if (!file.HasExtractor(prefix_extractor_name)) return false;
  if (!prefix_extractor->InDomain(whole)) return false;
  *entry = prefix_extractor->Transform(whole).ToStringView();
  return true;
}

std::string MergeOperatorName(const std::string& column_family, const OptionsFile& options) {
  constexpr std::string_view kId = "{id=";
  std::string name = options.ColumnFamilyValue(column_family, "merge_operator");
  if (name == "nullptr") return "";
  if (name.rfind(kId, 0) == 0) {
    name.erase(0, kId.size());
    name.resize(std::min(name.size(), name.find_first_of(";}")));
  }
  return name;
}

}  // namespace rocksieve
