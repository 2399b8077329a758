#include <rocksieve/join/server.h>

#include <utility>

#include "lib/transport/server.h"
#include "plugin/join/status.h"
#include "plugin/join_api/credentials.h"
#include "plugin/join_api/served_views.h"

namespace rocksieve::join {

class AnsweringService::Impl {
 public:
  explicit Impl(std::unique_ptr<JoinService> join_service) : service(std::move(join_service)) {}
  const std::unique_ptr<JoinService> service;
};

AnsweringService::AnsweringService(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AnsweringService::~AnsweringService() = default;
grpc::Service* AnsweringService::service() const { return impl_->service->service(); }

rocksdb::Status AnsweringService::Create(const ServedDatabase& served, const ServeOptions& options,
                                         std::unique_ptr<AnsweringService>* service) {
  absl::StatusOr<OpenView> views = ViewsOf(served);
  if (!views.ok()) return ToRocksDb(views.status());
  auto impl =
      std::make_unique<Impl>(MakeJoinService(*std::move(views), ServiceOptionsOf(served, options)));
  service->reset(new AnsweringService(std::move(impl)));
  return rocksdb::Status::OK();
}

class AnsweringServer::Impl {
 public:
  explicit Impl(std::unique_ptr<JoinServer> join_server) : server(std::move(join_server)) {}
  const std::unique_ptr<JoinServer> server;
};

AnsweringServer::AnsweringServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AnsweringServer::~AnsweringServer() = default;
int AnsweringServer::port() const { return impl_->server->port(); }
void AnsweringServer::Shutdown(std::chrono::milliseconds grace) { impl_->server->Shutdown(grace); }

rocksdb::Status AnsweringServer::Start(const ServedDatabase& served, const std::string& address,
                                       const Credentials& credentials, const ServeOptions& options,
                                       std::unique_ptr<AnsweringServer>* server) {
  absl::StatusOr<OpenView> views = ViewsOf(served);
  if (!views.ok()) return ToRocksDb(views.status());
  ServerOptions server_options;
  server_options.address = address;
  server_options.security = SecurityOf(credentials, "");
  server_options.service = ServiceOptionsOf(served, options);
  server_options.reflection = options.reflection;
  absl::StatusOr<std::unique_ptr<JoinServer>> started =
      JoinServer::Start(*std::move(views), server_options);
  if (!started.ok()) return ToRocksDb(started.status());
  server->reset(new AnsweringServer(std::make_unique<Impl>(*std::move(started))));
  return rocksdb::Status::OK();
}

}  // namespace rocksieve::join
