#include "tools/doctor/report.h"

#include <sstream>

#include <nlohmann/json.hpp>

#include "support/text.h"

namespace rocksieve::tools {
namespace {

constexpr size_t kColumns = 100;
constexpr size_t kIndentation = 15;

const char* NameOf(Severity severity) { return severity == Severity::kError ? "error" : "warning"; }

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

struct Counts {
  explicit Counts(const Facts& facts) {
    for (const FamilyFacts& family : facts.families) {
      files += family.tree.file_count();
      filter_bytes += family.tree.filter_bytes();
      for (const TreeFile* file : family.files()) with_filter += file->filter.exists() ? 1 : 0;
    }
  }
  uint64_t files = 0, with_filter = 0, filter_bytes = 0;
};

std::string Summary(const Facts& facts, const Findings& findings) {
  const Counts counts(facts);
  std::string text = facts.directory + ": ";
  if (findings.empty()) {
    text += "healthy";
  } else {
    text += std::to_string(findings.size()) + (findings.size() == 1 ? " finding" : " findings");
  }
  text += ". Column families: " + Thousands(facts.families.size()) +
          ", files: " + Thousands(counts.files) +
          ", with filters: " + Thousands(counts.with_filter) +
          ", bytes of filters: " + Thousands(counts.filter_bytes) + ".";
  for (const FamilyFacts& family : facts.families) {
    if (!family.policy.works()) continue;
    text += " " + family.name() + ": " + family.policy.spec + ".";
  }
  return Wrapped(text, kColumns) + "\n";
}

}  // namespace

std::string DoctorText(const Facts& facts, const Findings& findings) {
  std::string text = Summary(facts, findings);
  size_t number = 0;
  for (const Finding& finding : findings) {
    text +=
        "\n" + std::to_string(++number) + ". " + NameOf(finding.severity) + " " + finding.id +
        (finding.column_family.empty() ? "" : " (column family " + finding.column_family + ")") +
        ": " + finding.title + "\n";
    std::string label = "seen";
    for (const std::string& line : finding.evidence) {
      text += Labelled(label, line);
      label.assign(label.size(), ' ');
    }
    text += Labelled("consequence", finding.consequence) + Labelled("remedy", finding.remedy);
  }
  if (!facts.process && facts.lock_holder != 0) {
    text += "\nProcess " + std::to_string(facts.lock_holder) +
            " has the database open; to look into it as well: --pid=" +
            std::to_string(facts.lock_holder) + "\n";
  }
  return text;
}

std::string DoctorJson(const Facts& facts, const Findings& findings) {
  using nlohmann::ordered_json;
  const Counts counts(facts);
  ordered_json list = ordered_json::array(), families = ordered_json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"id", finding.id},
                    {"severity", NameOf(finding.severity)},
                    {"column_family", finding.column_family},
                    {"title", finding.title},
                    {"evidence", finding.evidence},
                    {"consequence", finding.consequence},
                    {"remedy", finding.remedy}});
  }
  for (const FamilyFacts& family : facts.families) {
    families.push_back({{"name", family.name()},
                        {"filter_policy", family.tree.family.filter_policy},
                        {"files", family.tree.file_count()},
                        {"entries", family.tree.entries()},
                        {"filter_bytes", family.tree.filter_bytes()}});
  }
  ordered_json report = {{"database", facts.directory},
                         {"healthy", findings.empty()},
                         {"findings", list},
                         {"options_file", facts.options.file_name()},
                         {"log_file", facts.log() == nullptr ? "" : facts.log()->name},
                         {"column_families", families},
                         {"files", counts.files},
                         {"files_with_filter", counts.with_filter},
                         {"filter_bytes", counts.filter_bytes},
                         {"open_in_process", facts.lock_holder},
                         {"process", nullptr}};
  if (facts.process) {
    ordered_json copies = ordered_json::array(), plugins = ordered_json::array();
    for (const LoadedFile& file : facts.process->rocksdb_copies) copies.push_back(file.path);
    for (const LoadedFile& file : facts.process->plugins) plugins.push_back(file.path);
    report["process"] = {{"pid", facts.process->pid},
                         {"program", facts.process->program},
                         {"rocksdb", copies},
                         {"plugins", plugins}};
  }
  return report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace rocksieve::tools
