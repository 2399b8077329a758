#include "tools/help/completion.h"

namespace rocksieve::tools {
namespace {

// Bash breaks words at a = as well, so the script looks at the line itself, and answers with what
// belongs behind the =.
constexpr char kBeforeTables[] =
    R"(# Completion for bash; made by: rocksieve completion bash
_rocksieve() {
  local typed=${COMP_LINE:0:COMP_POINT} command='' words='' kind='' before=''
  typed=${typed##*[[:space:]]}
  if [[ $COMP_CWORD -gt 1 ]]; then command=${COMP_WORDS[1]}; fi
  case $command in
)";

constexpr char kBetweenTables[] = R"(  esac
  if [[ $typed == --*=* ]]; then
    words=''
    case $command:${typed%%=*} in
)";

constexpr char kAfterTables[] = R"(    esac
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
      for (const std::string& choice : ChoicesOf(flag)) words += choice + " ";
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
  std::string words;
  for (const std::string& choice : ChoicesOf(flag)) words += (words.empty() ? "" : " ") + choice;
  return words.empty() ? "" : "words=" + Quoted(words);
}

std::string Row(const std::string& pattern, const std::string& action) {
  return "    " + pattern + ") " + action + " ;;\n";
}

}  // namespace

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
  return kBeforeTables + commands + kBetweenTables + values + kAfterTables;
}

}  // namespace rocksieve::tools
