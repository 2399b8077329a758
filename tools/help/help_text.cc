// What --help prints, within 79 columns.
#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include "support/text.h"
#include "tools/command/command.h"
#include "tools/help/tree.h"

namespace rocksieve::tools {
namespace {

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

std::string HelpText(const CLI::App& parser) {
  const ParserText text = TextOf(parser);
  std::string help = text.full_name + ": " + text.summary + "\n\n";
  for (const std::string& paragraph : text.description) help += Paragraph(paragraph) + "\n";
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

}  // namespace

void DescribeParser(CLI::App* parser, const CommandText& text) {
  parser->name(text.name);
  parser->description(text.summary + "\n\n" + text.description);
  parser->footer("Exit codes: " + text.exit_codes + "\n\n" + text.example);
  parser->set_help_flag("--help", "print this");
  parser->formatter_fn(
      [](const CLI::App* app, const std::string&, CLI::AppFormatMode) { return HelpText(*app); });
}

}  // namespace rocksieve::tools
