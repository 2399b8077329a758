#include "lib/join/join_key/json_pointer.h"

#include <cstdint>
#include <nlohmann/json.hpp>

#include "lib/join/join_key/decimal.h"
#include "lib/join/join_key/json_numbers.h"

namespace rocksieve::join {
namespace {

using Json = nlohmann::json;

constexpr int kNumberOverflow = 406;  // the parser's id of the error

// Follows a pointer through the events of the parser, which hands over the text of numbers: as
// doubles, different ones would become equal.
class Finder final : public nlohmann::json_sax<Json> {
 public:
  // With `numbers`, a number is what comes next there, and not what the parser says.
  Finder(const std::vector<std::string>& names, std::string* scalar, JsonNumbers* numbers = nullptr)
      : names_(names), scalar_(scalar), numbers_(numbers) {}
  bool found() const { return found_; }
  // Whether the parser gave up at a number that is no finite double.
  bool overflowed() const { return overflowed_; }

  bool null() override {
    return Value([] { return false; });
  }
  bool boolean(bool value) override {
    return Value([&] { return Found(value ? "true" : "false"); });
  }
  bool number_integer(number_integer_t value) override {
    return Number([&] { return Found(std::to_string(value)); });
  }
  bool number_unsigned(number_unsigned_t value) override {
    return Number([&] { return Found(std::to_string(value)); });
  }
  bool number_float(number_float_t, const std::string& text) override {
    return Number([&] { return CanonicalDecimal(text, scalar_); });
  }
  bool string(std::string& value) override {
    return Value([&] { return Found(value); });
  }
  bool binary(binary_t&) override { return false; }

  bool start_object(size_t) override { return Start(/*array=*/false); }
  bool start_array(size_t) override { return Start(/*array=*/true); }
  bool end_object() override { return End(); }
  bool end_array() override { return End(); }
  bool key(std::string& name) override {
    if (depth_ == path_.size()) path_.back().at_member = name == names_[depth_ - 1];
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) override {
    overflowed_ = error.id == kNumberOverflow;
    return false;
  }

 private:
  // An object or array on the path, whose member the path goes on with is known by the name or the
  // index that comes next.
  struct Level {
    bool array = false;
    bool at_member = false;
    uint64_t index = 0;
  };

  bool Found(std::string_view value) {
    scalar_->assign(value);
    return true;
  }

  // Whether the value that comes is the document itself, or what the path goes on with.
  bool IsOnPath() {
    if (depth_ == 0) return true;
    if (depth_ != path_.size()) return false;
    Level& level = path_.back();
    if (level.array) level.at_member = std::to_string(level.index++) == names_[depth_ - 1];
    return level.at_member;
  }

  // What comes later counts, so an earlier member of the same name is forgotten.
  template <typename Take>
  bool Value(const Take& take) {
    if (IsOnPath()) found_ = depth_ == names_.size() && take();
    return true;
  }

  template <typename Take>
  bool Number(const Take& take) {
    if (numbers_ == nullptr) return Value(take);
    const std::string_view text = numbers_->Next();
    return Value([&] { return CanonicalDecimal(text, scalar_); });
  }

  bool Start(bool array) {
    if (IsOnPath()) {
      found_ = false;
      if (depth_ < names_.size()) path_.push_back({array});
    }
    depth_++;
    return true;
  }

  bool End() {
    depth_--;
    if (path_.size() > depth_) path_.pop_back();
    return true;
  }

  const std::vector<std::string>& names_;
  std::string* const scalar_;
  JsonNumbers* const numbers_;
  bool found_ = false, overflowed_ = false;
  size_t depth_ = 0;  // of all objects and arrays that are open
  std::vector<Level> path_;
};

}  // namespace

absl::StatusOr<JsonPointer> JsonPointer::Parse(std::string_view text) {
  JsonPointer pointer;
  if (text.empty()) return pointer;
  if (text.front() != '/') {
    return absl::InvalidArgumentError(
        "takes a JSON pointer, which begins with a slash (/customer/id) or is empty");
  }
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] == '/') {
      pointer.names_.emplace_back();
    } else if (text[i] != '~') {
      pointer.names_.back().push_back(text[i]);
    } else if (i + 1 < text.size() && (text[i + 1] == '0' || text[i + 1] == '1')) {
      pointer.names_.back().push_back(text[++i] == '0' ? '~' : '/');
    } else {
      return absl::InvalidArgumentError(
          "takes a JSON pointer, in which a tilde is written ~0, and a slash in a name ~1");
    }
  }
  return pointer;
}

bool JsonPointer::Find(std::string_view json, std::string* scalar) const {
  Finder finder(names_, scalar);
  if (Json::sax_parse(json.begin(), json.end(), &finder)) return finder.found();
  if (!finder.overflowed()) return false;
  // The parser has no way around a number beyond doubles, so it gets the text without numbers.
  const std::string without = WithoutNumbers(json);
  JsonNumbers numbers(json);
  Finder again(names_, scalar, &numbers);
  return Json::sax_parse(without.begin(), without.end(), &again) && again.found();
}

}  // namespace rocksieve::join
