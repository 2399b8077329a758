// SPDX-License-Identifier: Apache-2.0
// Completion scripts for shells, made from the tree of parsers.
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <string>

#include "support/text.h"
#include "tools/command/command.h"
#include "tools/command/help.h"

namespace rocksieve::tools {
namespace {

// What the value of a flag completes to, by its type name (AddParser() says which).
bool CompletesToFiles(const Flag& flag) { return flag.value.rfind("FILE", 0) == 0; }

bool CompletesToDirectories(const Flag& flag) { return flag.value == "DIR"; }

// "a b" of "a|b"; else nothing.
std::string ChoicesOf(const Flag& flag) {
  std::string choices = flag.value.find('|') == std::string::npos ? "" : flag.value;
  std::replace(choices.begin(), choices.end(), '|', ' ');
  return choices;
}

// The first sentence of a description, for lists of flags.
std::string FirstSentence(const std::string& text) {
  return text.substr(0, std::min({text.find(". "), text.find("; "), text.size()}));
}

// In single quotes, for any shell but fish, which wants \' within them.
std::string Quoted(const std::string& text) { return "'" + Escaped(text, {{'\'', "'\\''"}}) + "'"; }

// Bash breaks words at a = as well, so the script looks at the line itself, and answers with what
// belongs behind the =.
constexpr char kBashBeforeTables[] =
    R"(# Completion for bash; made by: rocksieve completion bash
_rocksieve() {
  local typed=${COMP_LINE:0:COMP_POINT} command='' words='' kind='' before=''
  typed=${typed##*[[:space:]]}
  if [[ $COMP_CWORD -gt 1 ]]; then command=${COMP_WORDS[1]}; fi
  case $command in
)";

constexpr char kBashBetweenTables[] = R"(  esac
  if [[ $typed == --*=* ]]; then
    words=''
    case $command:${typed%%=*} in
)";

constexpr char kBashAfterTables[] = R"(    esac
    if [[ $COMP_WORDBREAKS != *=* ]]; then before=${typed%%=*}=; fi
    typed=${typed#*=}
  elif [[ $typed == -* ]]; then
    kind=''
  fi
  COMPREPLY=()
  case $kind in
    file) mapfile -t COMPREPLY < <(compgen -P "$before" -f -- "$typed") && compopt -o filenames ;;
    directory)
      mapfile -t COMPREPLY < <(compgen -P "$before" -d -- "$typed") && compopt -o filenames ;;
    *) mapfile -t COMPREPLY < <(compgen -P "$before" -W "$words" -- "$typed") ;;
  esac
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == --*= ]]; then compopt -o nospace; fi
}
complete -F _rocksieve rocksieve
)";

std::string Words(const CLI::App& parser) {
  std::string words;
  for (const CLI::App* command : SubcommandsOf(parser)) words += command->get_name() + " ";
  for (const Flag& flag : FlagsOf(parser)) {
    if (flag.positional) {
      if (!ChoicesOf(flag).empty()) words += ChoicesOf(flag) + " ";
    } else {
      words += flag.name + (flag.value.empty() ? " " : "= ");
    }
  }
  words.pop_back();  // there is always --help
  return words;
}

// The shell's assignment that says what a value completes to; empty if to nothing.
std::string Assignment(const Flag& flag) {
  if (CompletesToFiles(flag)) return "kind=file";
  if (CompletesToDirectories(flag)) return "kind=directory";
  return ChoicesOf(flag).empty() ? "" : "words=" + Quoted(ChoicesOf(flag));
}

std::string Row(const std::string& pattern, const std::string& action) {
  return "    " + pattern + ") " + action + " ;;\n";
}

std::string BashCompletion(const CLI::App& root) {
  std::string commands = Row("''", "words=" + Quoted(Words(root))), values;
  for (const CLI::App* parser : SubcommandsOf(root)) {
    std::string action = "words=" + Quoted(Words(*parser));
    for (const Flag& flag : FlagsOf(*parser)) {
      const std::string assignment = Assignment(flag);
      if (assignment.empty()) continue;
      if (!flag.positional) {
        values += "  " + Row(parser->get_name() + ":" + flag.name, assignment);
      } else if (ChoicesOf(flag).empty()) {
        action += " " + assignment;
      }
    }
    commands += Row(parser->get_name(), action);
  }
  return kBashBeforeTables + commands + kBashBetweenTables + values + kBashAfterTables;
}

// Fish knows one escape within single quotes, and needs it for backslashes too.
std::string FishQuoted(const std::string& text) {
  return "'" + Escaped(text, {{'\'', "\\'"}, {'\\', "\\\\"}}) + "'";
}

std::string FishLine(const std::string& condition, const std::string& what,
                     const std::string& text) {
  return "complete -c rocksieve -n " + FishQuoted(condition) + " " + what + " -d " +
         FishQuoted(FirstSentence(text)) + "\n";
}

// -F: files, -f: none.
std::string FishValues(const Flag& flag) {
  if (CompletesToFiles(flag)) return "-F";
  if (CompletesToDirectories(flag)) {
    return "-f -a '(__fish_complete_directories (commandline -ct | string replace -r "
           "\"^--[^=]*=\" \"\"))'";
  }
  return ChoicesOf(flag).empty() ? "-f" : "-f -a " + FishQuoted(ChoicesOf(flag));
}

std::string FishWhat(const Flag& flag) {
  if (flag.positional) return FishValues(flag);
  const std::string name = "-l " + flag.name.substr(2);
  return flag.value.empty() ? name : name + " -r " + FishValues(flag);
}

std::string FishCompletion(const CLI::App& root) {
  std::string script =
      "# Completion of rocksieve for fish; made by: rocksieve completion fish\n"
      "complete -c rocksieve -f\n";
  for (const Flag& flag : FlagsOf(root)) {
    script += FishLine("__fish_use_subcommand", FishWhat(flag), flag.description);
  }
  for (const CLI::App* parser : SubcommandsOf(root)) {
    script +=
        FishLine("__fish_use_subcommand", "-a " + parser->get_name(), TextOf(*parser).summary);
    for (const Flag& flag : FlagsOf(*parser)) {
      script += FishLine("__fish_seen_subcommand_from " + parser->get_name(), FishWhat(flag),
                         flag.description);
    }
  }
  return script;
}

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
std::string ZshEscaped(const std::string& text) {
  return Escaped(text, {{'[', "\\["}, {']', "\\]"}, {':', "\\:"}, {'\\', "\\\\"}});
}

std::string ZshAction(const Flag& flag) {
  if (CompletesToFiles(flag)) return "_files";
  if (CompletesToDirectories(flag)) return "_files -/";
  return ChoicesOf(flag).empty() ? " " : "(" + ChoicesOf(flag) + ")";
}

std::string ZshArgument(const Flag& flag) {
  const std::string value = ":" + ZshEscaped(flag.value) + ":" + ZshAction(flag);
  if (flag.positional) return Quoted((flag.repeatable ? "*" : "") + value);
  return Quoted((flag.repeatable ? "*" : "") + flag.name + (flag.value.empty() ? "" : "=") + "[" +
                ZshEscaped(FirstSentence(flag.description)) + "]" +
                (flag.value.empty() ? "" : value));
}

std::string ZshCompletion(const CLI::App& root) {
  std::string commands, arguments;
  for (const CLI::App* parser : SubcommandsOf(root)) {
    commands +=
        "      " + Quoted(parser->get_name() + ":" + ZshEscaped(TextOf(*parser).summary)) + "\n";
    arguments += "    " + parser->get_name() + ") _arguments";
    for (const Flag& flag : FlagsOf(*parser)) arguments += " \\\n      " + ZshArgument(flag);
    arguments += " ;;\n";
  }
  for (const Flag& flag : FlagsOf(root)) {
    commands += "      " + Quoted(flag.name + ":" + ZshEscaped(flag.description)) + "\n";
  }
  return kZshBeforeTables + commands + kZshBetweenTables + arguments + kZshAfterTables;
}

const std::map<std::string, std::string (*)(const CLI::App& root)> kShells = {
    {"bash", BashCompletion}, {"zsh", ZshCompletion}, {"fish", FishCompletion}};

}  // namespace

Command AddCompletionCommand(Parser* parent) {
  const auto shell = std::make_shared<std::string>();
  Parser* parser =
      AddParser(parent, {.name = "completion",
                         .summary = "a script for your shell that completes the flags",
                         .description = "Prints it; what is installed holds it already.",
                         .exit_codes = "0 done; 2 bad usage",
                         .example = "Example, for the shell that is running:\n"
                                    "  source <(rocksieve completion bash)"});
  parser->add_option("shell", *shell, "the shell")
      ->type_name("bash|zsh|fish")
      ->required()
      ->check([](const std::string& text) {
        return kShells.contains(text) ? std::string() : text + " is none of bash, zsh, fish";
      });
  return {parser, [parent, shell] {
            std::cout << kShells.at(*shell)(*parent);
            return kDone;
          }};
}

}  // namespace rocksieve::tools
