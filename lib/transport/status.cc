// SPDX-License-Identifier: Apache-2.0
#include "lib/transport/status.h"

#include <exception>
#include <new>
#include <stdexcept>
#include <system_error>

#include <absl/strings/str_cat.h>

#include "lib/transport/printable.h"

namespace rocksieve::join {
namespace {

absl::Status OutOfMemory() {
  return absl::ResourceExhaustedError(
      "the memory of this machine, or what this process may have of it, is used up: allow more, or "
      "join fewer keys at once");
}

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  // gRPC carries it in a header, which is limited to 8 KB: thrice as long if it is not ASCII.
  const absl::Status printable = Printable(status);
  return {static_cast<grpc::StatusCode>(printable.code()), std::string(printable.message())};
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const std::string message = Printable(status.error_message());
  return {static_cast<absl::StatusCode>(status.error_code()),
          message.empty() ? "the call ended without a reason" : message};
}

absl::Status NamingPeer(std::string_view peer, const absl::Status& status) {
  if (status.ok()) return status;
  return {status.code(),
          absl::StrCat(absl::string_view(peer.data(), peer.size()), ": ", status.message())};
}

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
