#include "tools/help/tree.h"

#include <algorithm>

#include "tools/command/command.h"

namespace rocksieve::tools {
namespace {

constexpr char kExitCodes[] = "Exit codes: ";

std::vector<std::string> Paragraphs(std::string_view text) {
  std::vector<std::string> paragraphs;
  while (!text.empty()) {
    const size_t end = std::min(text.find("\n\n"), text.size());
    if (end > 0) paragraphs.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return paragraphs;
}

std::string FullName(const CLI::App& parser) {
  const CLI::App* parent = parser.get_parent();
  return (parent == nullptr ? "" : FullName(*parent) + " ") + parser.get_name();
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

ParserText TextOf(const CLI::App& parser) {
  ParserText text;
  text.full_name = FullName(parser);
  text.description = Paragraphs(parser.get_description());
  if (!text.description.empty()) {
    text.summary = text.description.front();
    text.description.erase(text.description.begin());
  }
  for (const std::string& paragraph : Paragraphs(parser.get_footer())) {
    if (paragraph.rfind(kExitCodes, 0) == 0) {
      text.exit_codes = paragraph.substr(sizeof(kExitCodes) - 1);
    } else {
      text.example = paragraph;
    }
  }
  return text;
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

}  // namespace rocksieve::tools
