#include "tools/help/completion.h"

namespace rocksieve::tools {
namespace {

constexpr char kZshBeforeTables[] = R"(#compdef rocksieve
# Completion of rocksieve for zsh; made by: rocksieve completion zsh
_rocksieve() {
  if (( CURRENT == 2 )); then
    local -a commands=(
)";

constexpr char kZshBetweenTables[] = R"(    )
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
)";

constexpr char kZshAfterTables[] = R"(  esac
}
if [[ $funcstack[1] == _rocksieve ]]; then _rocksieve "$@"; else compdef _rocksieve rocksieve; fi
)";

// Within the brackets and fields of _arguments.
std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string Action(const Flag& flag) {
  if (CompletesToFiles(flag)) return "_files";
  if (CompletesToDirectories(flag)) return "_files -/";
  std::string choices;
  for (const std::string& choice : ChoicesOf(flag))
    choices += (choices.empty() ? "" : " ") + choice;
  return choices.empty() ? " " : "(" + choices + ")";
}

std::string Argument(const Flag& flag) {
  const std::string value = ":" + Escaped(flag.value) + ":" + Action(flag);
  if (flag.positional) return Quoted((flag.repeatable ? "*" : "") + value);
  return Quoted((flag.repeatable ? "*" : "") + flag.name + (flag.value.empty() ? "" : "=") + "[" +
                Escaped(FirstSentence(flag.description)) + "]" + (flag.value.empty() ? "" : value));
}

}  // namespace

std::string ZshCompletion(const CLI::App& root) {
  std::string commands, arguments;
  for (const CLI::App* parser : SubcommandsOf(root)) {
    commands +=
        "      " + Quoted(parser->get_name() + ":" + Escaped(TextOf(*parser).summary)) + "\n";
    arguments += "    " + parser->get_name() + ") _arguments";
    for (const Flag& flag : FlagsOf(*parser)) arguments += " \\\n      " + Argument(flag);
    arguments += " ;;\n";
  }
  for (const Flag& flag : FlagsOf(root)) {
    commands += "      " + Quoted(flag.name + ":" + Escaped(flag.description)) + "\n";
  }
  return kZshBeforeTables + commands + kZshBetweenTables + arguments + kZshAfterTables;
}

}  // namespace rocksieve::tools
