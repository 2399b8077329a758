// The rows with a NULL key of both sides, on their way to the sink of a client (absent_rows.h).
#pragma once

#include <cstdint>
#include <memory>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "lib/join/session/absent_rows.h"
#include "lib/join/session/client_state.h"

namespace rocksieve::join {

class AbsentRowsFetch {
 public:
  // `context` must outlive it.
  explicit AbsentRowsFetch(ClientState* context) : context_(context) {}

  // Once all ranges are done. True when there is no more to do.
  absl::StatusOr<bool> Advance();
  absl::Status Receive(const Rows& rows);

 private:
  absl::Status GiveOwnRows();
  absl::Status Repeat();

  ClientState* const context_;
  bool received_ = false;
  uint32_t attempt_ = 0;
  std::unique_ptr<AbsentRowsReader> reader_;  // while they are received
};

}  // namespace rocksieve::join
