// A sink for results that may have to begin anew.
#pragma once

#include "lib/join/rows/sink.h"

namespace rocksieve::join {

class ResultSink : public Sink {
 public:
  // Takes everything back, what was committed as well; FailedPrecondition if that cannot be, since
  // others have seen it.
  virtual absl::Status Restart() = 0;
};

}  // namespace rocksieve::join
