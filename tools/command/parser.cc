// SPDX-License-Identifier: Apache-2.0
#include "tools/command/parser.h"

#include <CLI/CLI.hpp>

namespace rocksieve::tools {

Option* Option::type_name(const std::string& name) { return option_->type_name(name), this; }
Option* Option::group(const std::string& name) { return option_->group(name), this; }
Option* Option::required() { return option_->required(), this; }
Option* Option::needs(Option* other) { return option_->needs(other->option_), this; }
Option* Option::excludes(Option* other) { return option_->excludes(other->option_), this; }
Option* Option::check(const Check& check) {
  return option_->check(CLI::Validator([check](std::string& text) { return check(text); }, "")),
         this;
}
template <typename Number>
Option* Option::range(Number least, Number most) {
  return option_->check(CLI::Range(least, most)), this;
}
template Option* Option::range(int, int);
template Option* Option::range(double, double);
Option* Option::positive() { return option_->check(CLI::PositiveNumber), this; }
Option* Option::size(uint64_t least, uint64_t most) {
  option_->transform(CLI::AsSizeValue(/*kb_is_1000=*/true) & CLI::Range(least, most));
  return this;
}
Option* Option::one_of(const std::vector<std::string>& choices) {
  return option_->check(CLI::IsMember(choices)), this;
}
size_t Option::count() const { return option_->count(); }

template <typename Value>
Option* Parser::add_option(const std::string& name, Value& value, const std::string& description) {
  return Added(app_->add_option(name, value, description));
}
template Option* Parser::add_option(const std::string&, int&, const std::string&);
template Option* Parser::add_option(const std::string&, uint64_t&, const std::string&);
template Option* Parser::add_option(const std::string&, double&, const std::string&);
template Option* Parser::add_option(const std::string&, std::string&, const std::string&);
template Option* Parser::add_option(const std::string&, std::vector<std::string>&,
                                    const std::string&);

template <typename Value>
Option* Parser::add_flag(const std::string& name, Value& value, const std::string& description) {
  return Added(app_->add_flag(name, value, description));
}
template Option* Parser::add_flag(const std::string&, bool&, const std::string&);
template Option* Parser::add_flag(const std::string&, std::string&, const std::string&);

Parser* Parser::add_subcommand(const std::string& name) {
  return &subcommands_.emplace_back(app_->add_subcommand(name));
}
std::string Parser::get_name() const { return app_->get_name(); }
bool Parser::was_named() const { return app_->parsed(); }
void Parser::group(const std::string& name) { app_->group(name); }

}  // namespace rocksieve::tools
