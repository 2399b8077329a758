// SPDX-License-Identifier: Apache-2.0
#include "plugin/exporter/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

namespace rocksieve {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

// The first of a name or number; null, and why, if there is none.
AddressList Resolve(const std::string& host, const std::string& port, std::string* error) {
  addrinfo hints{};
  hints.ai_family = host.find(':') == std::string::npos ? AF_INET : AF_INET6;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (code != 0) *error = gai_strerror(code);
  return {code == 0 ? found : nullptr, &freeaddrinfo};
}

}  // namespace

std::string ListenAddress::ToString() const {
  const bool six = host.find(':') != std::string::npos;
  return (six ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string ListenAddress::Parse(std::string_view text, ListenAddress* address) {
  const std::string no_address = "\"" + std::string(text) +
                                 "\" is no ADDRESS:PORT to listen on, such as 127.0.0.1:9435 "
                                 "or, for all networks, 0.0.0.0:9435";
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return no_address;
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (brackets) host = host.substr(1, host.size() - 2);
  if (brackets != (host.find(':') != std::string_view::npos)) return no_address;
  int port = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port < 0 || port > 65535) {
    return no_address;
  }
  std::string why;
  const AddressList found = Resolve(std::string(host), std::string(digits), &why);
  char number[NI_MAXHOST];
  if (found == nullptr || getnameinfo(found->ai_addr, found->ai_addrlen, number, sizeof(number),
                                      nullptr, 0, NI_NUMERICHOST) != 0) {
    return no_address + (why.empty() ? "" : ": " + why);
  }
  address->host = number;
  address->port = port;
  return "";
}

std::string ListenAddress::WhyTaken() const {
  std::string why;
  const AddressList found = Resolve(host, std::to_string(port), &why);
  if (found == nullptr) return why;
  const int listener = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) return std::strerror(errno);
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  const bool free =
      bind(listener, found->ai_addr, found->ai_addrlen) == 0 && listen(listener, 1) == 0;
  if (!free) why = std::strerror(errno);
  close(listener);
  return why;
}

}  // namespace rocksieve
