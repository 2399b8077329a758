#include "lib/transport/guarded.h"

#include <exception>
#include <new>
#include <stdexcept>
#include <system_error>

#include <absl/strings/str_cat.h>

namespace rocksieve::join {

namespace {

absl::Status OutOfMemory() {
  return absl::ResourceExhaustedError(
      "the memory of this machine, or what this process may have of it, is used up: allow more, or "
      "join fewer keys at once");
}

}  // namespace

absl::Status Guarded(absl::FunctionRef<absl::Status()> work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  } catch (const std::length_error&) {  // more than any vector or string can have
    return OutOfMemory();
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again) {
      return absl::ResourceExhaustedError(
          "the system has no more threads for this process: allow more, or fewer sessions");
    }
    return absl::InternalError(absl::StrCat("an unexpected error: ", error.what()));
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("an unexpected error: ", error.what()));
  } catch (...) {
    return absl::InternalError("an unexpected error, of a kind that says nothing about itself");
  }
}

}  // namespace rocksieve::join
