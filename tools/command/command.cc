#include "tools/command/command.h"

#include <iostream>

#include "plugin/database/open_errors.h"
#include "support/progress.h"

namespace rocksieve::tools {

CLI::App* AddParser(CLI::App* parent, const CommandText& text) {
  CLI::App* parser = parent->add_subcommand(text.name);
  DescribeParser(parser, text);
  return parser;
}

CLI::Validator NotEmpty() {
  return CLI::Validator(
      [](const std::string& text) {
        return text.empty() ? std::string("must not be empty") : std::string();
      },
      "");
}

void AddJsonFlag(CLI::App* parser, bool* json) {
  parser->add_flag("--json", *json, "print one JSON document, with units in the names");
}

int Print(const std::string& command, bool json, const rocksdb::Status& status,
          const Report& report) {
  if (!status.ok()) {
    std::cerr << "rocksieve " << command << ": " << MessageOf(status) << "\n";
    return kCannotRun;
  }
  std::cout << (json ? Document(report.document) : report.words(report.document));
  return report.ok ? kDone : kCheckFailed;
}

int RunAndPrint(const std::string& command, bool json,
                const std::function<rocksdb::Status(Progress*, Report*)>& make) {
  Report report;
  rocksdb::Status status;
  {
    InterruptGuard guard;
    Progress progress("rocksieve " + command);
    status = make(&progress, &report);
  }
  EndByInterruptSignal();
  return Print(command, json, status, report);
}

}  // namespace rocksieve::tools
