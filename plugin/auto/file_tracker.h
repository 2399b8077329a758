// Where a builder learns which other files there are, and tells what it made.
#pragma once

#include "plugin/auto/registered_file.h"

namespace rocksieve {

// One per table file that is being built.
class FileTracker {
 public:
  virtual ~FileTracker() = default;

  // `self` is the file as far as it was built, `complete` whether that is all of it.
  virtual Surroundings Look(const RegisteredFile& self, bool complete) = 0;

  // The file has got a filter, or one more partition of it.
  virtual void Update(const RegisteredFile& self) = 0;
};

}  // namespace rocksieve
