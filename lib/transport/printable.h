// SPDX-License-Identifier: Apache-2.0
// What the other side says, for logs, terminals and messages: it must not be able to forge a line
// of a log, or to tell a terminal what to do.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>

namespace rocksieve::join {

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
// Those of `known` are found wherever they stand, with spaces in their names and as relative paths.
std::string WithoutDirectories(std::string_view text, const std::vector<std::string>& known = {});
absl::Status WithoutDirectories(const absl::Status& status,
                                const std::vector<std::string>& known = {});

}  // namespace rocksieve::join
