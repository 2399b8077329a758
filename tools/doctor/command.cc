#include "tools/command/command.h"

#include <iostream>
#include <memory>
#include <string>

#include "plugin/database/open_errors.h"
#include "support/interrupt.h"
#include "support/progress.h"
#include "tools/doctor/checks.h"
#include "tools/doctor/report.h"

namespace rocksieve::tools {
namespace {

struct Flags {
  std::string directory;
  int pid = 0;
  bool json = false;
};

int Run(const Flags& flags) {
  Facts facts;
  rocksdb::Status status;
  {
    InterruptGuard guard;
    Progress progress("rocksieve doctor");
    status = GatherFacts(flags.directory, flags.pid, &progress, &facts);
  }
  EndByInterruptSignal();
  if (!status.ok()) {
    std::cerr << "rocksieve doctor: " << MessageOf(status) << "\n";
    return kCannotRun;
  }
  const Findings findings = RunChecks(facts);
  std::cout << (flags.json ? DoctorJson : DoctorText)(facts, findings);
  return findings.empty() ? kDone : kCheckFailed;
}

}  // namespace

Command AddDoctorCommand(CLI::App* parent) {
  const auto flags = std::make_shared<Flags>();
  CLI::App* parser = AddParser(
      parent, {.name = "doctor",
               .summary = "why filters are absent or idle in a database",
               .description =
                   "Looks at the OPTIONS, logs, table files and filters of any RocksDB database, "
                   "open or not, and writes nothing. Each finding has evidence, consequence and "
                   "remedy.",
               .exit_codes = "0 healthy; 1 findings; 2 could not look, or bad usage",
               .example = "Example:\n  rocksieve doctor --db=/var/lib/app/db --pid=$(pidof app)"});
  parser->add_option("--db", flags->directory, "the database's directory")
      ->type_name("DIR")
      ->required()
      ->check(NotEmpty());
  parser
      ->add_option("--pid", flags->pid,
                   "the process that has it open: is the plugin loaded, and does it fit?")
      ->type_name("N")
      ->check([](const std::string& text) {
        const bool number = !text.empty() && text.size() < 10 && text[0] != '0' &&
                            text.find_first_not_of("0123456789") == std::string::npos;
        return number ? std::string() : "\"" + text + "\" is not the number of a process";
      });
  parser->add_flag("--json", flags->json, "print one JSON document, with units in the names");
  return {parser, [flags] { return Run(*flags); }};
}

}  // namespace rocksieve::tools
