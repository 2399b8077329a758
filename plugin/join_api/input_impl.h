// How the rows of an Input are opened.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <absl/status/statusor.h>
#include <rocksieve/join/input.h>

#include "lib/join/attribute/attribute.h"
#include "lib/join/rows/source.h"
#include "lib/transport/cancellation.h"
#include "plugin/join_api/open_rows.h"

namespace rocksieve::join {

// Sources of the same state of the same rows, each for a thread of its own.
struct OpenedInput {
  OpenRows open;  // what they stand on
  std::vector<std::shared_ptr<Source>> sources;
};

class Input::Impl {
 public:
  // Takes the state of this moment.
  using TakeSnapshot = std::function<absl::StatusOr<OpenRows>()>;

  Impl(TakeSnapshot take_snapshot, const Attribute& attribute)
      : take_snapshot_(std::move(take_snapshot)),
        on_attribute_(!attribute.is_whole_key()),
        sorted_(on_attribute_ && attribute.key_prefix_bytes() == 0) {}

  absl::StatusOr<OpenedInput> OpenSources(size_t count, const Cancellation* cancellation) const;
  // Rows come packed (join/packed_row.h).
  bool on_attribute() const { return on_attribute_; }

 private:
  const TakeSnapshot take_snapshot_;
  const bool on_attribute_;
  const bool sorted_;  // anew
};

}  // namespace rocksieve::join
