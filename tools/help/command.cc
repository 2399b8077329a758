#include "tools/command/command.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include "tools/help/completion.h"
#include "tools/help/man_page.h"
#include "tools/help/tree.h"

namespace rocksieve::tools {
namespace {

int PrintCompletion(const CLI::App& root, const std::string& shell) {
  if (shell == "bash") {
    std::cout << BashCompletion(root);
  } else if (shell == "zsh") {
    std::cout << ZshCompletion(root);
  } else {
    std::cout << FishCompletion(root);
  }
  return kDone;
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

Command AddCompletionCommand(CLI::App* parent) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* parser =
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
        const bool known = text == "bash" || text == "zsh" || text == "fish";
        return known ? std::string() : text + " is none of bash, zsh, fish";
      });
  return {parser, [parent, shell] { return PrintCompletion(*parent, *shell); }};
}

Command AddManPagesCommand(CLI::App* parent) {
  const auto directory = std::make_shared<std::string>();
  CLI::App* parser = AddParser(parent, {.name = "man-pages",
                                        .summary = "the manual pages of all commands",
                                        .description = "Made from the same source as --help.",
                                        .exit_codes = "0 done; 2 could not run, or bad usage",
                                        .example = "Example:\n  rocksieve man-pages --dir=/tmp"});
  parser->group("");  // hidden
  parser->add_option("--dir", *directory, "where to write them: a directory that exists")
      ->type_name("DIR")
      ->required()
      ->check(NotEmpty());
  return {parser, [parent, directory] { return WriteManPages(*parent, *directory); }};
}

}  // namespace rocksieve::tools
