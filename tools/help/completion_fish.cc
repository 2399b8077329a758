#include "tools/help/completion.h"

namespace rocksieve::tools {
namespace {

// Fish knows one escape within single quotes, and needs it for backslashes too.
std::string FishQuoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

std::string Line(const std::string& condition, const std::string& what, const std::string& text) {
  return "complete -c rocksieve -n " + FishQuoted(condition) + " " + what + " -d " +
         FishQuoted(FirstSentence(text)) + "\n";
}

// -F: files, -f: none.
std::string Values(const Flag& flag) {
  if (CompletesToFiles(flag)) return "-F";
  if (CompletesToDirectories(flag)) {
    return "-f -a '(__fish_complete_directories (commandline -ct | string replace -r "
           "\"^--[^=]*=\" \"\"))'";
  }
  std::string choices;
  for (const std::string& choice : ChoicesOf(flag))
    choices += (choices.empty() ? "" : " ") + choice;
  return choices.empty() ? "-f" : "-f -a " + FishQuoted(choices);
}

std::string What(const Flag& flag) {
  if (flag.positional) return Values(flag);
  const std::string name = "-l " + flag.name.substr(2);
  return flag.value.empty() ? name : name + " -r " + Values(flag);
}

}  // namespace

std::string FishCompletion(const CLI::App& root) {
  std::string script =
      "# Completion of rocksieve for fish; made by: rocksieve completion fish\n"
      "complete -c rocksieve -f\n";
  for (const Flag& flag : FlagsOf(root)) {
    script += Line("__fish_use_subcommand", What(flag), flag.description);
  }
  for (const CLI::App* parser : SubcommandsOf(root)) {
    script += Line("__fish_use_subcommand", "-a " + parser->get_name(), TextOf(*parser).summary);
    for (const Flag& flag : FlagsOf(*parser)) {
      script +=
          Line("__fish_seen_subcommand_from " + parser->get_name(), What(flag), flag.description);
    }
  }
  return script;
}

}  // namespace rocksieve::tools
