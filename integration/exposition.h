// SPDX-License-Identifier: Apache-2.0
// A strict reader of Prometheus' text exposition format 0.0.4, written from its description alone:
// https://prometheus.io/docs/instrumenting/exposition_formats/
#pragma once

#include <cstdlib>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace rocksieve {

using Labels = std::map<std::string, std::string>;

struct ExposedMetric {
  std::string help, type;
  std::map<Labels, double> samples;
};

class ExpositionReader {
 public:
  // Throws std::runtime_error, with the line, for whatever is not allowed, or not usual.
  static std::map<std::string, ExposedMetric> Read(const std::string& text) {
    ExpositionReader reader;
    if (!text.empty() && text.back() != '\n') throw std::runtime_error("no newline at the end");
    std::istringstream lines(text);
    while (std::getline(lines, reader.line_)) {
      reader.at_ = 0;
      reader.ReadLine();
    }
    return std::move(reader.metrics_);
  }

 private:
  void ReadLine() {
    if (Take("# HELP ")) {
      name_ = Name(/*colons=*/true);
      Expect(" ");
      Check(metrics_.count(name_) == 0, "a metric that was there before");
      metrics_[name_].help = Unescaped(line_.substr(at_), "\\n");
    } else if (Take("# TYPE ")) {
      Check(Name(true) == name_ && metrics_[name_].type.empty(), "a TYPE without its HELP");
      Expect(" ");
      metrics_[name_].type = line_.substr(at_);
      Check(metrics_[name_].type == "counter" || metrics_[name_].type == "gauge", "an odd type");
    } else {
      ReadSample();
    }
  }

  void ReadSample() {
    const std::string name = Name(true);
    Check(name == name_ && !metrics_[name].type.empty(), "a sample apart from its metric");
    Labels labels;
    if (Take("{")) {
      do {
        const std::string label = Name(false);
        Expect("=\"");
        Check(labels.emplace(label, LabelValue()).second, "a label twice");
      } while (Take(","));
      Expect("}");
    }
    Expect(" ");
    char* end = nullptr;
    const double value = std::strtod(line_.c_str() + at_, &end);
    Check(end != line_.c_str() + at_ && *end == '\0', "no number");
    Check(metrics_[name].samples.emplace(labels, value).second, "a sample twice");
  }

  std::string Name(bool colons) {
    std::string name;
    for (; at_ < line_.size(); at_++) {
      const char c = line_[at_];
      const bool letter =
          (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (colons && c == ':');
      if (!letter && !(c >= '0' && c <= '9' && !name.empty())) break;
      name += c;
    }
    Check(!name.empty(), "no name");
    return name;
  }

  std::string LabelValue() {
    const size_t begin = at_;
    while (at_ < line_.size() && line_[at_] != '"') at_ += line_[at_] == '\\' ? 2 : 1;
    Check(at_ < line_.size(), "an open quote");
    return Unescaped(line_.substr(begin, at_++ - begin), "\\n\"");
  }

  std::string Unescaped(const std::string& escaped, const std::string& allowed) {
    std::string text;
    for (size_t i = 0; i < escaped.size(); i++) {
      if (escaped[i] != '\\') {
        text += escaped[i];
        continue;
      }
      Check(++i < escaped.size() && allowed.find(escaped[i]) != std::string::npos,
            "an unknown escape");
      text += escaped[i] == 'n' ? '\n' : escaped[i];
    }
    return text;
  }

  bool Take(const std::string& word) {
    if (line_.compare(at_, word.size(), word) != 0) return false;
    at_ += word.size();
    return true;
  }
  void Expect(const std::string& word) { Check(Take(word), "not " + word); }
  void Check(bool right, const std::string& wrong) {
    if (!right) throw std::runtime_error(wrong + " in line: " + line_);
  }

  std::map<std::string, ExposedMetric> metrics_;
  std::string line_, name_;
  size_t at_ = 0;
};

}  // namespace rocksieve
