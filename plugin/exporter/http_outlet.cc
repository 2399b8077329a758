// SPDX-License-Identifier: Apache-2.0
#include <CivetServer.h>

#include <exception>
#include <string>

#include "plugin/exporter/address.h"
#include "plugin/exporter/outlet.h"
#include "plugin/exporter/quiet_threads.h"

namespace rocksieve {
namespace {

// A client that says nothing, or no whole request, holds a worker until it is given up, and scrapes
// wait in line meanwhile: behind 100 such clients who come again at once for 6 seconds, and
// Prometheus waits for 10. Workers cost 20 KB each, and once they have compressed a page, 200 KB.
constexpr int kWorkers = 32;
constexpr int kThreads = kWorkers + 1;  // and one that takes connections
constexpr char kSilenceMillis[] = "2000";

void* ThreadHasBegun(const mg_context*, int) {
  SigpipeGuard::ThreadHasBegun();
  return nullptr;
}

// civetweb reads all of a body that is announced before it hangs up, as long as a byte of it comes
// now and then: a client could hold a worker for ever. Nobody scrapes with a body. 0: go on.
int RefuseBody(mg_connection* connection) {
  const bool has_body = mg_get_request_info(connection)->content_length > 0 ||
                        mg_get_header(connection, "Transfer-Encoding") != nullptr;
  if (!has_body) return 0;
  constexpr int kTooLarge = 413;
  mg_send_http_error(connection, kTooLarge, "%s", "requests here have no body\n");
  return kTooLarge;
}

}  // namespace

std::string MetricsExporter::HttpOutlet::Start(const std::string& address_text,
                                               std::shared_ptr<Collector> collector) {
  ListenAddress address;
  const std::string error = ListenAddress::Parse(address_text, &address);
  if (!error.empty()) return error;
  const std::string taken = address.WhyTaken();  // the server would only say that it failed
  if (!taken.empty()) {
    return "cannot listen on " + address_text + ": " + taken +
           "; name an address of this machine and a port that is free";
  }
  const QuietThreads quiet;
  const SigpipeGuard sigpipe;
  CivetCallbacks callbacks;
  callbacks.init_thread = ThreadHasBegun;
  callbacks.begin_request = RefuseBody;
  try {
    exposer_ = std::make_unique<prometheus::Exposer>(
        std::vector<std::string>{"listening_ports", address.ToString(), "num_threads",
                                 std::to_string(kWorkers), "request_timeout_ms", kSilenceMillis},
        &callbacks);
    SigpipeGuard::WaitForThreads(kThreads);
    collector_ = std::move(collector);
    exposer_->RegisterCollectable(collector_);
    const std::vector<int> ports = exposer_->GetListeningPorts();
    if (!ports.empty()) address.port = ports.front();
  } catch (const std::exception& exception) {
    const bool six = address.host.find(':') != std::string::npos;
    return "cannot serve metrics on " + address_text + ": " + exception.what() +
           (six ? " Debian's civetweb has no IPv6: name an address of IPv4." : "");
  }
  target = address.ToString();
  return "";
}

}  // namespace rocksieve
