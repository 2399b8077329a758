// SPDX-License-Identifier: Apache-2.0
// Comparisons of two databases by the public API, as lines.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <rocksieve/join/diff.h>

#include "integration/join_api.h"

namespace rocksieve::join {

inline std::string Text(std::string_view value) {
  ReadableValue readable;
  EXPECT_TRUE(ReadValue(value, &readable).ok());
  if (!readable.has_columns) return std::string(readable.plain);
  std::string text;
  for (const auto& [name, bytes] : readable.columns) {
    text += "[" + std::string(name) + "=" + std::string(bytes) + "]";
  }
  return text;
}

// "< key=here", "> key=there", "| key=here=there"; a verdict before it, if it was looked at again.
inline std::string LineOf(const DifferentRow& row) {
  std::string line = row.verdict == Verdict::kDiverged    ? "diverged "
                     : row.verdict == Verdict::kTransient ? "transient "
                                                          : "";
  line += row.difference == Difference::kLocalOnly    ? "< "
          : row.difference == Difference::kRemoteOnly ? "> "
                                                      : "| ";
  line += std::string(row.key);
  if (row.local_value) line += "=" + Text(*row.local_value);
  if (row.remote_value) line += "=" + Text(*row.remote_value);
  return line;
}

inline std::vector<std::string> LinesOf(const Rows& here, const Rows& there) {
  std::map<std::string, std::string> lines;
  for (const auto& [key, value] : here) {
    const auto other = there.find(key);
    if (other == there.end()) {
      lines[key] = "< " + key + "=" + value;
    } else if (other->second != value) {
      lines[key] = "| " + key + "=" + value + "=" + other->second;
    }
  }
  for (const auto& [key, value] : there) {
    if (here.count(key) == 0) lines[key] = "> " + key + "=" + value;
  }
  std::vector<std::string> sorted;
  for (const auto& [key, line] : lines) sorted.push_back(line);
  return sorted;
}

class DiffApi : public JoinApi {
 protected:
  Input There() {
    Input input;
    EXPECT_TRUE(Input::OfDatabase(there_db_.get(), nullptr, {}, {}, &input).ok());
    return input;
  }

  template <typename Other>
  static std::vector<std::string> Lines(const Input& input, const Other& other,
                                        const DiffOptions& options = {},
                                        DiffReport* report = nullptr) {
    std::vector<std::string> lines;
    const rocksdb::Status status = Diff(
        input, other, options,
        [&lines](const DifferentRow& row) {
          lines.push_back(LineOf(row));
          return rocksdb::Status::OK();
        },
        report);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return lines;
  }

  void Put(rocksdb::DB* db, const std::string& key, const std::string& value) {
    ASSERT_TRUE(db->Put(rocksdb::WriteOptions(), key, value).ok());
  }

  // As many rows here as there, but for some.
  void MakeAlike() {
    for (const auto& [key, value] : here_) {
      if (there_.count(key) == 0) {
        ASSERT_TRUE(here_db_->Delete(rocksdb::WriteOptions(), key).ok());
      }
    }
    here_ = there_;
    for (const auto& [key, value] : here_) Put(here_db_.get(), key, value);
  }
};

}  // namespace rocksieve::join
