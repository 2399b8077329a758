// SPDX-License-Identifier: Apache-2.0
#include "tools/command/command.h"

#include <unistd.h>

#include <iostream>
#include <memory>
#include <utility>

#include "plugin/database/database.h"
#include "support/progress.h"
#include "support/text.h"

namespace rocksieve::tools {
namespace {

int Run(const std::string& command, bool json, const MakeReport& make) {
  Report report;
  report.json = json;
  rocksdb::Status status;
  {
    InterruptGuard guard;
    Progress progress(command);
    status = make(&progress, &report);
  }
  // An interruption is nothing new to the user; what it leaves behind is.
  const bool is_news = !status.ok() && MessageOf(status) != "interrupted";
  if (is_news) std::cerr << command << ": " << WithoutControls(MessageOf(status)) << "\n";
  EndByInterruptSignal();
  if (!status.ok()) return kCannotRun;
  const Json& document = report.document;
  std::cout << (json ? Document(document)
                     : WithinColumns(WithoutControls(report.words(document)),
                                     TerminalColumns(STDOUT_FILENO)));
  const bool well = document.value("ok", true) && document.value("healthy", true);
  return well && report.found ? kDone : kCheckFailed;
}

}  // namespace

Parser* AddParser(Parser* parent, const CommandText& text) {
  Parser* parser = parent->add_subcommand(text.name);
  DescribeParser(parser, text);
  return parser;
}

std::string NotEmpty(const std::string& text) { return text.empty() ? "must not be empty" : ""; }

void AddJsonFlag(Parser* parser, bool* json) {
  parser->add_flag("--json", *json, "print one JSON document, with units in the names");
}

Command Reporting(Parser* parser, MakeReport make) {
  const auto json = std::make_shared<bool>(false);
  AddJsonFlag(parser, json.get());
  const std::string command = "rocksieve " + parser->get_name();
  return {parser, [=, make = std::move(make)] { return Run(command, *json, make); }};
}

}  // namespace rocksieve::tools
