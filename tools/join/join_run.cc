#include "join/join_run.h"

#include <memory>
#include <random>
#include <utility>

#include "join/frozen_source.h"
#include "transport/cancellable_source.h"
#include "transport/status.h"

namespace rocksieve::tools {
namespace {

absl::StatusOr<join::Remote> RemoteAt(const std::string& address, const JoinRunOptions& options) {
  absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> credentials =
      join::ChannelCredentialsFor(address, options.security);
  if (!credentials.ok()) return credentials.status();
  return join::Remote{address, *std::move(credentials), options.security.server_name, options.token,
                      options.security.insecure};
}

}  // namespace

absl::Status RunJoin(const JoinRunOptions& options, join::ResultSink* sink,
                     join::Cancellation* cancellation, JoinResult* result) {
  std::vector<join::Remote> remotes;
  for (const std::string& address : options.addresses) {
    absl::StatusOr<join::Remote> remote = RemoteAt(address, options);
    if (!remote.ok()) return remote.status();
    remotes.push_back(*std::move(remote));
  }
  const absl::StatusOr<FrozenFamily> family =
      FreezeFamily(options.directory, options.column_family);
  if (!family.ok()) return family.status();
  join::SortOptions sort;
  sort.memory_bytes = options.sort_memory_bytes;
  const absl::StatusOr<std::vector<std::shared_ptr<join::Source>>> sources =
      SourcesOf(*family, options.left_on, sort, cancellation, remotes.size());
  if (!sources.ok()) return sources.status();
  return join::JoinShards(remotes, *sources, {options.remote, options.expect}, sink, cancellation,
                          result);
}

absl::Status PlanJoin(const JoinRunOptions& options, const join::Cancellation* cancellation,
                      std::vector<ShardPlan>* plans) {
  const absl::StatusOr<FrozenFamily> family =
      FreezeFamily(options.directory, options.column_family);
  if (!family.ok()) return family.status();
  join::SortOptions sort;
  sort.memory_bytes = options.sort_memory_bytes;
  const absl::StatusOr<std::unique_ptr<join::Source>> rows =
      SourceOf(*family, options.left_on, sort, cancellation);
  if (!rows.ok()) return rows.status();
  join::CancellableSource source(rows->get(), cancellation);
  for (const std::string& address : options.addresses) {
    const absl::StatusOr<join::Remote> at = RemoteAt(address, options);
    if (!at.ok()) return at.status();
    const absl::StatusOr<std::unique_ptr<join::RemoteSession>> remote = join::RemoteSession::Start(
        *at, options.remote.request, "", "", cancellation, options.remote.limits);
    if (!remote.ok()) return join::NamingPeer(address, remote.status());
    PlanSession session(&source, std::random_device()(), options.remote.asking.keys_per_range);
    join::WireCounts counts;
    const absl::Status status = (*remote)->Run(&session, &counts);
    if (!status.ok()) return join::NamingPeer(address, status);
    plans->push_back({address, session.plan()});
  }
  return absl::OkStatus();
}

}  // namespace rocksieve::tools
