#include "tools/command/subcommand.h"

#include "tools/help/help_text.h"

namespace rocksieve::tools {

void DescribeParser(CLI::App* parser, const CommandText& text) {
  parser->name(text.name);
  parser->description(text.summary + "\n\n" + text.description);
  parser->footer("Exit codes: " + text.exit_codes + "\n\n" + text.example);
  parser->set_help_flag("--help", "print this");
  parser->formatter_fn(
      [](const CLI::App* app, const std::string&, CLI::AppFormatMode) { return HelpText(*app); });
}

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

}  // namespace rocksieve::tools
