#include "join_api/served_views.h"

#include <map>
#include <string>
#include <utility>

#include <absl/strings/str_cat.h>

#include "join_api/input_impl.h"
#include "join_api/status.h"

namespace rocksieve::join {
namespace {

using Families = std::map<std::string, rocksdb::ColumnFamilyHandle*>;

std::string NamesOf(const Families& families) {
  std::string names;
  for (const auto& [name, family] : families)
    absl::StrAppend(&names, names.empty() ? "" : ", ", name);
  return names;
}

}  // namespace

absl::StatusOr<OpenView> ViewsOf(const ServedDatabase& served) {
  if (served.db == nullptr) {
    return absl::InvalidArgumentError("a server of joins needs a database that is open");
  }
  rocksdb::ColumnFamilyHandle* const first = served.column_families.empty()
                                                 ? served.db->DefaultColumnFamily()
                                                 : served.column_families.front();
  Families families = {{first->GetName(), first}};
  for (rocksdb::ColumnFamilyHandle* family : served.column_families) {
    families[family->GetName()] = family;
  }
  std::string identity;
  served.db->GetDbIdentity(identity).PermitUncheckedError();  // only for messages
  return [db = served.db, extractors = served.extractors, first, families, identity,
          directory = served.temporary_directory](const ViewRequest& request,
                                                  const ViewTerms& terms) -> absl::StatusOr<View> {
    SortOptions sort;
    sort.memory_bytes = terms.sort_memory_bytes;
    sort.kept_memory_bytes = terms.kept_memory_bytes;
    sort.directory = directory;
    rocksdb::ColumnFamilyHandle* family = first;
    if (!request.column_family.empty()) {
      const auto found = families.find(request.column_family);
      if (found == families.end()) {
        return absl::PermissionDeniedError(absl::StrCat("column family \"", request.column_family,
                                                        "\" is not served, but ", NamesOf(families),
                                                        ": ask for one of these"));
      }
      family = found->second;
    }
    const absl::StatusOr<Attribute> attribute = AttributeOf(request.on, extractors);
    if (!attribute.ok()) return attribute.status();
    absl::StatusOr<std::unique_ptr<Source>> source = OpenDatabase(
        db, family, rocksdb::ReadOptions(), KeyInterval(), *attribute, sort, terms.cancellation);
    if (!source.ok()) return source.status();
    return View{*std::move(source), identity};
  };
}

JoinServiceOptions ServiceOptionsOf(const ServedDatabase& served, const ServeOptions& options) {
  JoinServiceOptions service;
  service.directories = {served.db->GetName(), served.temporary_directory};
  service.most_sessions = options.most_sessions;
  service.most_sessions_per_peer = options.most_sessions_per_peer;
  service.tokens = options.tokens;
  service.session_time = options.session_time;
  service.limits.exchange.silence = options.silence;
  service.memory_bytes = options.memory_bytes;
  service.views.keep = options.keep;
  if (options.report) {
    service.report = [report = options.report](const SessionReport& session) {
      report({session.peer, ToRocksDb(session.status), session.seconds,
              session.counts.bytes_received, session.counts.bytes_sent});
    };
  }
  return service;
}

}  // namespace rocksieve::join
