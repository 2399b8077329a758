// SPDX-License-Identifier: Apache-2.0
// Errors on their way between what we call, gRPC and the peer; and what the other side says, for
// logs, terminals and messages: it must not be able to forge a line of a log, or to tell a terminal
// what to do.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <grpcpp/support/status.h>

namespace rocksieve::join {

// absl::Status and grpc::Status have the same codes. Both ways, the message is made
// printable.
grpc::Status ToGrpc(const absl::Status& status);
absl::Status FromGrpc(const grpc::Status& status);

// "PEER: MESSAGE", with the same code.
absl::Status NamingPeer(std::string_view peer, const absl::Status& status);

// What `work` says, which may throw: nothing of ours does, but what is allocated may, and so may a
// program's source of rows; one session must not end a process that has others. ResourceExhausted
// if it ran out of memory, or the system out of threads; Internal, with its text, if it threw
// something else.
absl::Status Guarded(absl::FunctionRef<absl::Status()> work);

inline constexpr size_t kMostPrintableBytes = 2048;

// The text with \xHH for each byte of control characters (C0, DEL, C1), of line and paragraph
// separators, of what changes the direction of writing, and of what is not UTF-8. Cut short beyond
// so many bytes. Calling it again changes nothing.
std::string Printable(std::string_view text, size_t most_bytes = kMostPrintableBytes);
// The same code, with such a message.
absl::Status Printable(const absl::Status& status);

// A message that says nothing of this machine's directories: of each path in it, the last name. A
// path begins with a slash, "./" or "../", at the start of the text or after a space, a quote, a
// colon, an equals sign or a bracket that is not part of a word.
// Those of `known` are found wherever they stand, with spaces in their names and as relative paths;
// a name without a slash where it is no part of a word.
std::string WithoutDirectories(std::string_view text, const std::vector<std::string>& known = {});
absl::Status WithoutDirectories(const absl::Status& status,
                                const std::vector<std::string>& known = {});

}  // namespace rocksieve::join
