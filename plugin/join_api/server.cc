// SPDX-License-Identifier: Apache-2.0
#include <rocksieve/join/server.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <rocksdb/comparator.h>
#include <rocksdb/merge_operator.h>

#include "lib/transport/server.h"
#include "plugin/database/snapshot_files.h"
#include "plugin/join/sst_filters.h"
#include "plugin/join/status.h"
#include "plugin/join_api/join_impl.h"
#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

// Opens a column family's rows, as they are when it is called, and says which database that is.
using OpenFamily = std::function<absl::StatusOr<RowsSnapshot>(
    const JoinKeyExpression& expression, const SortOptions& sort, const KeepingStates& keeping)>;

struct Family {
  ColumnFamilyDescription description;
  OpenFamily open;
};

// In the order in which they are served: the first is what is asked for without a name.
using Families = std::vector<Family>;

Families FamiliesOfOpen(const ServedDatabase& served) {
  std::vector<rocksdb::ColumnFamilyHandle*> handles = served.column_families;
  if (handles.empty()) handles.push_back(served.db->DefaultColumnFamily());
  std::string identity;
  served.db->GetDbIdentity(identity).PermitUncheckedError();  // only for messages
  Families families;
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    Family family;
    const auto merge_operator = served.db->GetOptions(handle).merge_operator;
    family.description = {handle->GetName(), handle->GetComparator()->Name(),
                          merge_operator == nullptr ? "" : merge_operator->Name()};
    family.open = [db = served.db, handle, identity, description = family.description](
                      const JoinKeyExpression& expression, const SortOptions& sort,
                      const KeepingStates&) {
      return RowsSnapshot{[=](const Cancellation* cancellation) {
                            return OpenDatabase(db, handle, rocksdb::ReadOptions(), KeyInterval(),
                                                expression, sort, cancellation);
                          },
                          nullptr, identity, description};
    };
    families.push_back(std::move(family));
  }
  return families;
}

absl::StatusOr<Families> FamiliesOfDirectory(const ServedDatabase& served) {
  std::vector<std::string> names = served.column_family_names;
  if (names.empty()) names.push_back(rocksdb::kDefaultColumnFamilyName);
  if (names == std::vector<std::string>{"*"}) {
    rocksdb::DBOptions options;
    options.env = ReadOnlyEnv();
    RETURN_IF_ERROR(FromRocksDb(rocksdb::DB::ListColumnFamilies(options, served.directory, &names),
                                "cannot list the column families of " + served.directory));
  }
  Families families;
  for (const std::string& name : names) {
    Family family;
    family.open = [rows = DirectoryOfRows{served.directory, name, served.rate_limiter}](
                      const JoinKeyExpression& expression, const SortOptions& sort,
                      const KeepingStates& keeping) {
      return SnapshotOfDirectory(rows, expression, sort, keeping);
    };
    // Better now than at the first join.
    ASSIGN_OR_RETURN(const RowsSnapshot there, family.open(JoinKeyExpression(), SortOptions(), {}));
    family.description = there.family;
    families.push_back(std::move(family));
  }
  return families;
}

absl::StatusOr<OpenFamily> FamilyNamed(const Families& families, const std::string& name) {
  if (name.empty()) return families.front().open;
  std::vector<std::string> names;
  for (const Family& family : families) {
    if (family.description.name == name) return family.open;
    names.push_back(family.description.name);
  }
  return absl::PermissionDeniedError(
      absl::StrCat("column family \"", name, "\" is not served, but ", absl::StrJoin(names, ", "),
                   ": ask for one of these"));
}

// As messages of RocksDB and of temporary files may have them.
std::vector<std::string> DirectoriesOf(const ServedDatabase& served) {
  std::error_code unknown;
  const char* const temporary = std::getenv("TMPDIR");
  const std::string database = served.db != nullptr ? served.db->GetName() : served.directory;
  return {std::filesystem::canonical(database, unknown).string(), database,
          served.temporary_directory, served.states_directory,
          temporary == nullptr ? "" : temporary};
}

absl::Status CheckKeeping(const KeepingStates& keeping, const std::string& on) {
  if (!keeping.keep && keeping.since.empty()) return absl::OkStatus();
  if (keeping.states == nullptr) {
    return absl::FailedPreconditionError(
        "this server keeps no states of its database: start it with --states=DIR");
  }
  if (keeping.since.empty() || IsWholeRow(on)) return absl::OkStatus();
  return absl::InvalidArgumentError("what has changed since a state is whole rows");
}

absl::StatusOr<OpenView> ViewsOf(const ServedDatabase& served, const ServeOptions& options) {
  if (options.memory_bytes < kLeastServeMemoryBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a session needs more than the ", options.memory_bytes, " bytes of memory that all of "
        "them together may take: at least ", kLeastServeMemoryBytes, " (serve --memory=2)"));
  }
  if (served.db != nullptr && !served.states_directory.empty()) {
    return absl::InvalidArgumentError(
        "states are kept of a database that is served by its directory, not of one that is open");
  }
  if ((served.db == nullptr) == served.directory.empty()) {
    return absl::InvalidArgumentError(
        "a server of joins needs a database that is open, or the directory of one");
  }
  ASSIGN_OR_RETURN(Families families,
                   served.db != nullptr ? FamiliesOfOpen(served) : FamiliesOfDirectory(served));
  std::vector<ColumnFamilyDescription> descriptions;
  for (const Family& family : families) descriptions.push_back(family.description);
  std::shared_ptr<const KeptStates> states;
  if (!served.states_directory.empty()) {
    states = std::make_shared<KeptStates>(served.states_directory);
  }
  return [families = std::move(families), descriptions, extractors = served.extractors, states,
          directory = served.temporary_directory](const ViewRequest& request,
                                                  const ViewTerms& terms) -> absl::StatusOr<View> {
    const KeepingStates keeping{states.get(), request.keep, request.since};
    RETURN_IF_ERROR(CheckKeeping(keeping, request.on));
    ASSIGN_OR_RETURN(const OpenFamily family, FamilyNamed(families, request.column_family));
    ASSIGN_OR_RETURN(const JoinKeyExpression expression,
                     JoinKeyExpressionOf(request.on, extractors));
    SortOptions sort;
    sort.memory_bytes = terms.sort_memory_bytes;
    sort.kept_memory_bytes = terms.kept_memory_bytes;
    sort.directory = directory;
    ASSIGN_OR_RETURN(RowsSnapshot state, family(expression, sort, keeping));
    ASSIGN_OR_RETURN(std::shared_ptr<Source> source, state.open(terms.cancellation));
    // The rows are those of the state, which so lives as long as they do.
    using Held = std::pair<OpenRows, std::shared_ptr<Source>>;
    const auto held = std::make_shared<Held>(std::move(state.open), std::move(source));
    return View{std::shared_ptr<Source>(held, held->second.get()), state.database, descriptions,
                state.kept};
  };
}

JoinServiceOptions ServiceOptionsOf(const ServedDatabase& served, const ServeOptions& options) {
  JoinServiceOptions service;
  service.directories = DirectoriesOf(served);
  service.server.existing.decode_builtin = DecodeBuiltinFilter;
  service.most_sessions = options.most_sessions;
  service.most_sessions_per_peer = options.most_sessions_per_peer;
  service.tokens = options.tokens;
  service.session_time = std::min(options.session_time, kLongest);
  service.limits.exchange.silence = std::min(options.silence, kLongest);
  service.memory_bytes = options.memory_bytes;
  service.threads = options.threads != 0 ? options.threads : std::thread::hardware_concurrency();
  service.views.keep = std::min(options.keep, kLongest);
  if (options.report) {
    service.report = [report = options.report](const SessionReport& session) {
      report({session.peer, ToRocksDb(session.status), session.seconds,
              session.counts.bytes_received, session.counts.bytes_sent, session.admitted,
              session.certificate_name, session.operation, session.rows_sent});
    };
  }
  return service;
}

}  // namespace

class JoinService::Impl {
 public:
  explicit Impl(std::unique_ptr<GrpcJoinService> join_service) : service(std::move(join_service)) {}
  const std::unique_ptr<GrpcJoinService> service;
};

JoinService::JoinService(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JoinService::~JoinService() = default;
grpc::Service* JoinService::service() const { return impl_->service->service(); }
ServerCounters JoinService::counters() const { return impl_->service->counters(); }

rocksdb::Status JoinService::Create(const ServedDatabase& served, const ServeOptions& options,
                                    std::unique_ptr<JoinService>* service) {
  absl::StatusOr<OpenView> views = ViewsOf(served, options);
  if (!views.ok()) return ToRocksDb(views.status());
  auto impl = std::make_unique<Impl>(
      MakeGrpcJoinService(*std::move(views), ServiceOptionsOf(served, options)));
  service->reset(new JoinService(std::move(impl)));
  return rocksdb::Status::OK();
}

class JoinServer::Impl {
 public:
  explicit Impl(std::unique_ptr<GrpcJoinServer> join_server) : server(std::move(join_server)) {}
  const std::unique_ptr<GrpcJoinServer> server;
};

JoinServer::JoinServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JoinServer::~JoinServer() = default;
int JoinServer::port() const { return impl_->server->port(); }
std::string JoinServer::address() const { return impl_->server->address(); }
ServerCounters JoinServer::counters() const { return impl_->server->counters(); }
rocksdb::Status JoinServer::Reload(const Credentials& credentials,
                                   const std::vector<std::string>& tokens) {
  return ToRocksDb(impl_->server->Reload(SecurityOf(credentials), tokens));
}
void JoinServer::Shutdown(std::chrono::milliseconds grace) {
  impl_->server->Shutdown(std::min(grace, kLongest));
}

rocksdb::Status JoinServer::Start(const ServedDatabase& served, const std::string& address,
                                  const Credentials& credentials, const ServeOptions& options,
                                  std::unique_ptr<JoinServer>* server) {
  absl::StatusOr<OpenView> views = ViewsOf(served, options);
  if (!views.ok()) return ToRocksDb(views.status());
  ServerOptions server_options;
  server_options.address = address;
  server_options.security = SecurityOf(credentials);
  server_options.service = ServiceOptionsOf(served, options);
  server_options.reflection = options.reflection;
  server_options.listening = options.listening;
  absl::StatusOr<std::unique_ptr<GrpcJoinServer>> started =
      GrpcJoinServer::Start(*std::move(views), server_options);
  if (!started.ok()) return ToRocksDb(started.status());
  server->reset(new JoinServer(std::make_unique<Impl>(*std::move(started))));
  return rocksdb::Status::OK();
}

}  // namespace rocksieve::join
