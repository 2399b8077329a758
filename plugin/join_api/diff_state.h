// SPDX-License-Identifier: Apache-2.0
// What a comparison leaves behind for the next one of the same column family.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

namespace rocksieve::join {

// Rows of the two states that are not among `different` are equal in both.
struct DiffState {
  // A digest: the last bytes of a side's whole-row join key, or those of kNoRow.
  struct DifferentRow {
    std::string key, local_digest, remote_digest;
  };

  std::string local, remote;            // under which names each side keeps its state
  std::vector<DifferentRow> different;  // by their keys
  uint64_t full_at_seconds = 0;         // when all was compared, since 1970

  // A file in the directory. NotFound if there is none, or it is damaged.
  static absl::StatusOr<DiffState> Load(const std::string& directory,
                                        const std::string& column_family);
  // In place of the one before, all or nothing.
  absl::Status Save(const std::string& directory, const std::string& column_family) const;
};

}  // namespace rocksieve::join
