// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <sstream>
#include <string>

#include "support/text.h"
#include "tools/command/command.h"
#include "tools/doctor/checks.h"

namespace rocksieve::tools {
namespace {

constexpr size_t kColumns = 100;
constexpr size_t kIndentation = 15;

Json ProcessJson(const ProcessFacts& process) {
  Json copies = Json::array(), plugins = Json::array();
  for (const LoadedFile& file : process.rocksdb_copies) copies.push_back(file.path);
  for (const LoadedFile& file : process.plugins) plugins.push_back(file.path);
  return {{"pid", process.pid},
          {"program", process.program},
          {"rocksdb", copies},
          {"plugins", plugins}};
}

Json DocumentOf(const Facts& facts, const Findings& findings) {
  Json list = Json::array(), families = Json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"id", finding.id},
                    {"severity", NameOf(finding.severity)},
                    {"column_family", finding.column_family},
                    {"title", finding.title},
                    {"evidence", finding.evidence},
                    {"consequence", finding.consequence},
                    {"remedy", finding.remedy}});
  }
  uint64_t files = 0, with_filter = 0, filter_bytes = 0;
  for (const FamilyFacts& family : facts.families) {
    files += family.tree.file_count();
    filter_bytes += family.tree.filter_bytes();
    for (const TreeFile* file : family.files()) with_filter += file->filter.exists() ? 1 : 0;
    families.push_back({{"name", family.name()},
                        {"filter_policy", family.tree.family.filter_policy},
                        {"files", family.tree.file_count()},
                        {"entries", family.tree.entries()},
                        {"filter_bytes", family.tree.filter_bytes()}});
  }
  return {{"database", facts.directory},
          {"healthy", findings.empty()},
          {"findings", list},
          {"options_file", facts.options.file_name()},
          {"log_file", facts.log() == nullptr ? "" : facts.log()->name},
          {"column_families", families},
          {"files", files},
          {"files_with_filter", with_filter},
          {"filter_bytes", filter_bytes},
          {"open_in_process", facts.lock_holder},
          {"process", facts.process ? ProcessJson(*facts.process) : Json()}};
}

// Those that work: " default: rocksieve.bloom:10."
std::string PoliciesOf(const Facts& facts) {
  std::string text;
  for (const FamilyFacts& family : facts.families) {
    if (family.policy.works()) text += " " + family.name() + ": " + family.policy.spec + ".";
  }
  return text;
}

// "   seen        ..." with the lines below aligned.
std::string Labelled(const std::string& label, const std::string& text) {
  std::istringstream lines(Wrapped(text, kColumns - kIndentation));
  std::string result, line;
  while (std::getline(lines, line)) {
    const std::string before = result.empty() ? "   " + label : "";
    result += before + std::string(kIndentation - before.size(), ' ') + line + "\n";
  }
  return result;
}

std::string FindingInWords(const Json& finding) {
  std::string text =
      Filled(finding["column_family"] == "" ? "{severity} {id}: {title}\n"
                                            : "{severity} {id} (column family {column_family}): "
                                              "{title}\n",
             finding);
  std::string label = "seen";
  for (const Json& line : finding["evidence"]) {
    text += Labelled(label, line);
    label.assign(label.size(), ' ');
  }
  return text + Labelled("consequence", finding["consequence"]) +
         Labelled("remedy", finding["remedy"]);
}

std::string InWords(const std::string& policies, const Json& document) {
  const Json& findings = document["findings"];
  const std::string count = std::to_string(findings.size());
  std::string text =
      Wrapped(Filled("{database}: ", document) +
                  (findings.empty() ? "healthy"
                                    : count + (findings.size() == 1 ? " finding" : " findings")) +
                  ". Column families: " + Thousands(document["column_families"].size()) +
                  Filled(", files: {files}, with filters: {files_with_filter}, bytes of filters: "
                         "{filter_bytes}.",
                         document) +
                  policies,
              kColumns) +
      "\n";
  for (size_t i = 0; i < findings.size(); i++) {
    text += "\n" + std::to_string(i + 1) + ". " + FindingInWords(findings[i]);
  }
  if (document["process"].is_null() && document["open_in_process"] != 0) {
    const std::string process = document["open_in_process"].dump();
    text += "\nProcess " + process +
            " has the database open; to look into it as well: --pid=" + process + "\n";
  }
  return text;
}

}  // namespace

Command AddDoctorCommand(Parser* parent) {
  const auto directory = std::make_shared<std::string>();
  const auto pid = std::make_shared<int>(0);
  Parser* parser = AddParser(
      parent, {.name = "doctor",
               .summary = "why filters are absent or idle in a database",
               .description =
                   "Looks at the OPTIONS, logs, table files and filters of any RocksDB database, "
                   "open or not, and writes nothing. Each finding has evidence, consequence and "
                   "remedy.",
               .exit_codes = "0 healthy; 1 findings; 2 could not look, or bad usage",
               .example = "Example:\n  rocksieve doctor --db=/var/lib/app/db --pid=$(pidof app)"});
  AddText(parser, "--db", directory.get(), "DIR", "the database's directory")->required();
  parser
      ->add_option("--pid", *pid,
                   "the process that has it open: is the plugin loaded, and does it fit?")
      ->type_name("N")
      ->check([](const std::string& text) {
        const bool number = !text.empty() && text.size() < 10 && text[0] != '0' &&
                            text.find_first_not_of("0123456789") == std::string::npos;
        return number ? std::string() : "\"" + text + "\" is not the number of a process";
      });
  return Reporting(parser, [=](Progress* progress, Report* report) {
    Facts facts;
    const rocksdb::Status status = GatherFacts(*directory, *pid, progress, &facts);
    if (!status.ok()) return status;
    report->document = DocumentOf(facts, RunChecks(facts));
    report->words = [policies = PoliciesOf(facts)](const Json& document) {
      return InWords(policies, document);
    };
    return status;
  });
}

}  // namespace rocksieve::tools
