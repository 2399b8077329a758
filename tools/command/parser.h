// SPDX-License-Identifier: Apache-2.0
// What a command takes: its flags and arguments, and what their values must be. Behind it is CLI11,
// which only the sources in this folder include: its headers take seconds to compile.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace rocksieve::tools {

// A flag or an argument that was added to a parser. Each call says more of it, and gives it back.
class Option {
 public:
  // What is wrong with a value; empty if nothing is.
  using Check = std::function<std::string(const std::string&)>;

  explicit Option(CLI::Option* option) : option_(option) {}

  Option* type_name(const std::string& name);  // of its value, in --help: "FILE"
  Option* group(const std::string& name);
  Option* required();
  Option* needs(Option* other);
  Option* excludes(Option* other);
  Option* check(const Check& check);
  // The value, a number, is in [least, most]: int, uint64_t or double.
  template <typename Number>
  Option* range(Number least, Number most);
  Option* positive();
  // A number of bytes, with a unit such as kB (1000) or KiB (1024) or none.
  Option* size(uint64_t least, uint64_t most);
  Option* one_of(const std::vector<std::string>& choices);
  template <typename Value>
  Option* one_of(const std::map<std::string, Value>& choices) {
    std::vector<std::string> names;
    for (const auto& [name, value] : choices) names.push_back(name);
    return one_of(names);
  }

  // How often it was given. REQUIRES: the arguments are parsed.
  size_t count() const;

 private:
  CLI::Option* const option_;
};

class Parser {
 public:
  explicit Parser(CLI::App* app) : app_(app) {}
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  // "--name" with a value, or a positional argument "name". Value: bool, int, uint64_t, double,
  // std::string or a vector of strings, which may be given more than once. `value` keeps what it is
  // until the arguments are parsed, and must outlive the parser.
  template <typename Value>
  Option* add_option(const std::string& name, Value& value, const std::string& description);
  // "--name", which takes no value; "--name{usual}" for a string, with or without one.
  template <typename Value>
  Option* add_flag(const std::string& name, Value& value, const std::string& description);

  Parser* add_subcommand(const std::string& name);
  std::string get_name() const;
  bool was_named() const;  // REQUIRES: the arguments are parsed
  void group(const std::string& name);

  CLI::App* app() const { return app_; }

 private:
  Option* Added(CLI::Option* option) { return &options_.emplace_back(option); }

  CLI::App* const app_;  // owned by its parent
  std::deque<Option> options_;
  std::deque<Parser> subcommands_;
};

}  // namespace rocksieve::tools
