// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <rocksieve/join/peer.h>

#include "lib/transport/credentials.h"

namespace rocksieve::join {

// `server_name` is the client's, and may be empty.
Security SecurityOf(const Credentials& credentials, const std::string& server_name);

}  // namespace rocksieve::join
