// SPDX-License-Identifier: Apache-2.0
// ADDRESS:PORT, taken apart and checked before a server sees it.
#pragma once

#include <string>
#include <string_view>

namespace rocksieve {

struct ListenAddress {
  std::string host;  // a number: "127.0.0.1", "::1"
  int port = 0;

  // "127.0.0.1:9435", "[::1]:9435"
  std::string ToString() const;

  // Takes names of this machine too, such as localhost. A sentence if the text is no address.
  static std::string Parse(std::string_view text, ListenAddress* address);

  // Whether it can be listened on; else a sentence that says why. Somebody else may take it
  // afterwards.
  std::string WhyTaken() const;
};

}  // namespace rocksieve
