// SPDX-License-Identifier: Apache-2.0
// One attempt to run a session with a server.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <grpcpp/channel.h>

#include "lib/join/session/session.h"
#include "lib/transport/cancellation.h"
#include "lib/transport/credentials.h"
#include "lib/transport/drive.h"
#include "lib/transport/view_registry.h"

namespace rocksieve::join {

struct Remote {
  std::string address;  // host:port, or what gRPC resolves, as in dns:///name:port
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  std::string server_name;  // that its certificate must have, if not that of the address
  std::string token;        // empty: none
  bool insecure = false;    // the credentials are without TLS
};

// What the server says before the session begins.
struct ServerView {
  std::string name;
  bool resumed = false;
  std::string database;
  std::vector<FamilyDescription> families;  // if it was asked for them
  std::string kept;                         // the name of the state, if it was asked to keep it
};

class RemoteSession {
 public:
  struct Wish {
    std::string view;       // of a name that the server may still have; empty: a new one
    std::string strategy;   // empty: the planner's choice
    bool describe = false;  // to be told which column families are served
  };

  // Connects, and asks for a view.
  static absl::StatusOr<std::unique_ptr<RemoteSession>> Start(const Remote& remote,
                                                              const ViewRequest& request,
                                                              const Wish& wish,
                                                              const Cancellation* cancellation,
                                                              const DriveLimits& limits);
  ~RemoteSession();

  const ServerView& view() const { return view_; }

  // Once.
  absl::Status Run(Session* session, WireCounts* counts);

 private:
  struct Call;
  RemoteSession(std::unique_ptr<Call> call, const Cancellation* cancellation,
                const DriveLimits& limits);
  absl::Status Greet(const Remote& remote, const ViewRequest& request, const Wish& wish);

  const std::unique_ptr<Call> call_;
  const Cancellation* const cancellation_;
  const DriveLimits limits_;
  ServerView view_;
};

}  // namespace rocksieve::join
