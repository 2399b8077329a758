// SPDX-License-Identifier: Apache-2.0
#include "tools/command/help.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/text.h"
#include "tools/command/command.h"

namespace rocksieve::tools {
namespace {

std::vector<std::string> Paragraphs(std::string_view text) {
  std::vector<std::string> paragraphs;
  while (!text.empty()) {
    const size_t end = std::min(text.find("\n\n"), text.size());
    if (end > 0) paragraphs.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return paragraphs;
}

Flag FlagOf(const CLI::Option& option) {
  Flag flag;
  flag.positional = option.get_positional();
  const bool takes_value = option.get_items_expected_max() > 0;
  // Behind a colon are the words of checks.
  const std::string type = option.get_type_name();
  if (takes_value) flag.value = type.substr(0, type.find(':'));
  flag.name = flag.positional ? flag.value : "--" + option.get_lnames().at(0);
  flag.description = option.get_description();
  flag.required = option.get_required();
  flag.rare = option.get_group() == kRareFlags;
  flag.repeatable = takes_value && option.get_items_expected_max() > 1;
  return flag;
}

constexpr size_t kColumns = 79;
constexpr size_t kWidestTerm = 20;  // wider ones have a line of their own

std::string Indented(const std::string& text, size_t columns) {
  std::istringstream lines(text);
  std::string result, line;
  while (std::getline(lines, line)) {
    if (!result.empty()) result += "\n" + std::string(columns, ' ');
    result += line;
  }
  return result;
}

// Breaks lines anew, but for those that begin with a space.
std::string Paragraph(const std::string& text) {
  std::istringstream lines(text);
  std::string result, flowing, line;
  const auto end_flowing = [&] {
    if (!flowing.empty()) result += Wrapped(flowing, kColumns) + "\n";
    flowing.clear();
  };
  while (std::getline(lines, line)) {
    if (line.rfind(' ', 0) == 0) {
      end_flowing();
      result += line + "\n";
    } else {
      flowing += line + "\n";
    }
  }
  end_flowing();
  return result;
}

using Terms = std::vector<std::pair<std::string, std::string>>;  // what, and what it means

std::string List(const Terms& terms) {
  size_t width = 0;
  for (const auto& [term, meaning] : terms) {
    if (term.size() <= kWidestTerm) width = std::max(width, term.size());
  }
  const size_t column = width + 5;
  std::string result;
  for (const auto& [term, meaning] : terms) {
    const bool fits = term.size() <= width;
    result +=
        "  " + term +
        (fits ? std::string(column - 2 - term.size(), ' ') : "\n" + std::string(column, ' ')) +
        Indented(Wrapped(meaning, kColumns - column), column) + "\n";
  }
  return result;
}

std::string HelpText(const CLI::App& parser, const CommandText& text) {
  std::string help = FullName(parser) + ": " + text.summary + "\n\n";
  for (const std::string& paragraph : Paragraphs(text.description))
    help += Paragraph(paragraph) + "\n";
  help +=
      "Usage: " + Indented(Wrapped(UsageOf(parser, /*is_short=*/true), kColumns - 9), 9) + "\n\n";
  Terms terms;
  for (const CLI::App* command : SubcommandsOf(parser)) {
    terms.emplace_back(command->get_name(), TextOf(*command).summary);
  }
  if (!terms.empty()) help += "Commands:\n" + List(terms) + "\nFlags:\n";
  terms.clear();
  std::string rare;
  for (const Flag& flag : FlagsOf(parser)) {
    if (flag.rare) {
      rare += (rare.empty() ? "" : ", ") + flag.Spelled();
    } else {
      terms.emplace_back(flag.Spelled(), flag.description);
    }
  }
  help += List(terms);
  if (!rare.empty()) help += Paragraph("More, in the manual page: " + rare);
  return help + "\n" + Paragraph("Exit codes: " + text.exit_codes) + "\n" + Paragraph(text.example);
}

// Knows what CLI11 does not: what it prints for --help is made of the text.
struct Helper : CLI::FormatterBase {
  explicit Helper(CommandText described) : text(std::move(described)) {}
  std::string make_help(const CLI::App* parser, std::string, CLI::AppFormatMode) const override {
    return HelpText(*parser, text);
  }

  const CommandText text;
};

// "rocksieve-demo"
std::string ManPageName(const CLI::App& parser) {
  std::string name = FullName(parser);
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
  const CommandText& text = TextOf(parser);
  std::string title = ManPageName(parser), description, flags;
  std::transform(title.begin(), title.end(), title.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  for (const std::string& paragraph : Paragraphs(text.description))
    description += RoffParagraph(paragraph);
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

std::string Flag::Spelled() const {
  return positional || value.empty() ? name : name + "=" + value;
}

std::string Flag::InUsage() const {
  const std::string spelled = required ? Spelled() : "[" + Spelled() + "]";
  return repeatable ? spelled + "..." : spelled;
}

std::vector<Flag> FlagsOf(const CLI::App& parser) {
  std::vector<Flag> flags;
  for (const CLI::Option* option : parser.get_options([](const CLI::Option*) { return true; })) {
    if (option != parser.get_help_ptr()) flags.push_back(FlagOf(*option));
  }
  std::stable_partition(flags.begin(), flags.end(), [](const Flag& f) { return f.positional; });
  if (parser.get_help_ptr() != nullptr) flags.push_back(FlagOf(*parser.get_help_ptr()));
  return flags;
}

const CommandText& TextOf(const CLI::App& parser) {
  return static_cast<const Helper&>(*parser.get_formatter()).text;
}

std::string FullName(const CLI::App& parser) {
  const CLI::App* parent = parser.get_parent();
  return (parent == nullptr ? "" : FullName(*parent) + " ") + parser.get_name();
}

std::vector<const CLI::App*> SubcommandsOf(const CLI::App& parser) {
  return parser.get_subcommands([](const CLI::App* app) { return !app->get_group().empty(); });
}

std::string UsageOf(const CLI::App& parser, bool is_short) {
  std::string usage = FullName(parser);
  if (!SubcommandsOf(parser).empty()) return usage + " COMMAND [--flag=value]...";
  const std::vector<Flag> flags = FlagsOf(parser);
  const bool required_only =
      is_short && std::any_of(flags.begin(), flags.end(), [](const Flag& f) { return f.rare; });
  for (const Flag& flag : flags) {
    if (required_only && !flag.required) continue;
    if (flag.name != "--help") usage += " " + flag.InUsage();
  }
  return required_only ? usage + " [--flag=value]..." : usage;
}

void DescribeParser(Parser* parser, const CommandText& text) {
  parser->name(text.name);
  parser->set_help_flag("--help", "print this");
  parser->formatter(std::make_shared<Helper>(text));
}

Command AddManPagesCommand(Parser* parent) {
  const auto directory = std::make_shared<std::string>();
  Parser* parser = AddParser(parent, {.name = "man-pages",
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
