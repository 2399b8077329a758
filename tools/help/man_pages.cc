// Manual pages, in the macros of man(7).
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>

#include "tools/command/command.h"
#include "tools/help/tree.h"

namespace rocksieve::tools {
namespace {

// "rocksieve-demo"
std::string ManPageName(const CLI::App& parser) {
  std::string name = TextOf(parser).full_name;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

// Dashes and backslashes as they are typed; no line becomes a macro.
std::string RoffEscaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (escaped.empty() || escaped.back() == '\n')) escaped += "\\&";
    if (c == '-') {
      escaped += "\\-";
    } else if (c == '\\') {
      escaped += "\\e";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string Section(const std::string& title, const std::string& body) {
  return ".SH " + title + "\n" + body;
}

// Lines that begin with a space are left as they are.
std::string RoffParagraph(const std::string& text) {
  std::istringstream lines(text);
  std::string result = ".PP\n", line;
  bool verbatim = false;
  while (std::getline(lines, line)) {
    const bool indented = line.rfind(' ', 0) == 0;
    if (indented != verbatim) result += indented ? ".PP\n.nf\n" : ".fi\n";
    verbatim = indented;
    result += RoffEscaped(line) + "\n";
  }
  return verbatim ? result + ".fi\n" : result;
}

std::string Bold(const std::string& text) { return "\\fB" + RoffEscaped(text) + "\\fR"; }

std::string Term(const Flag& flag) {
  if (flag.positional) return "\\fI" + RoffEscaped(flag.name) + "\\fR";
  return Bold(flag.name) + (flag.value.empty() ? "" : "=\\fI" + RoffEscaped(flag.value) + "\\fR");
}

std::string Item(const std::string& term, const std::string& meaning) {
  return ".TP\n" + term + "\n" + RoffEscaped(meaning) + "\n";
}

std::string SeeAlso(const CLI::App& parser) {
  std::string names;
  const CLI::App* root = parser.get_parent() == nullptr ? &parser : parser.get_parent();
  const auto add = [&](const CLI::App& other) {
    if (&other == &parser) return;
    names += (names.empty() ? "" : ",\n") + (".BR " + RoffEscaped(ManPageName(other)) + " (1)");
  };
  add(*root);
  for (const CLI::App* command : SubcommandsOf(*root)) add(*command);
  return names;
}

std::string ManPage(const CLI::App& parser, const std::string& version) {
  const ParserText text = TextOf(parser);
  std::string title = ManPageName(parser), description, flags;
  std::transform(title.begin(), title.end(), title.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  for (const std::string& paragraph : text.description) description += RoffParagraph(paragraph);
  for (const CLI::App* command : SubcommandsOf(parser)) {
    description += Item(Bold(command->get_name()), TextOf(*command).summary);
  }
  for (const Flag& flag : FlagsOf(parser)) flags += Item(Term(flag), flag.description);
  // Lines are neither hyphenated nor stretched: specs and flags are typed as they stand.
  return ".\\\" Made by: rocksieve man-pages\n.TH " + RoffEscaped(title) + " 1 \"\" \"rocksieve " +
         version + "\" \"User Commands\"\n.nh\n.ad l\n" +
         Section("NAME", RoffEscaped(ManPageName(parser) + " ") + "\\- " +
                             RoffEscaped(text.summary) + "\n") +
         Section("SYNOPSIS", RoffEscaped(UsageOf(parser)) + "\n") +
         Section("DESCRIPTION", description) + Section("OPTIONS", flags) +
         Section("EXIT STATUS", RoffEscaped(text.exit_codes) + "\n") +
         Section("EXAMPLES", RoffParagraph(text.example)) +
         Section("SEE ALSO", SeeAlso(parser) + "\n");
}

bool WriteManPage(const CLI::App& parser, const std::string& directory) {
  const auto path = std::filesystem::path(directory) / (ManPageName(parser) + ".1");
  std::ofstream file(path);
  file << ManPage(parser, ROCKSIEVE_VERSION);
  file.close();
  if (!file) std::cerr << "rocksieve man-pages: cannot write " << path.string() << "\n";
  return !file.fail();
}

int WriteManPages(const CLI::App& root, const std::string& directory) {
  bool written = WriteManPage(root, directory);
  for (const CLI::App* command : SubcommandsOf(root)) written &= WriteManPage(*command, directory);
  return written ? kDone : kCannotRun;
}

}  // namespace

Command AddManPagesCommand(CLI::App* parent) {
  const auto directory = std::make_shared<std::string>();
  CLI::App* parser = AddParser(parent, {.name = "man-pages",
                                        .summary = "the manual pages of all commands",
                                        .description = "Made from the same source as --help.",
                                        .exit_codes = "0 done; 2 could not run, or bad usage",
                                        .example = "Example:\n  rocksieve man-pages --dir=/tmp"});
  parser->group("");  // hidden
  AddText(parser, "--dir", directory.get(), "DIR", "where to write them: a directory that exists")
      ->required();
  return {parser, [parent, directory] { return WriteManPages(*parent, *directory); }};
}

}  // namespace rocksieve::tools
