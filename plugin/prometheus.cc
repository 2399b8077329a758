#include "plugin/prometheus.h"

#include <charconv>

namespace rocksieve {
namespace {

// Label values are quoted, help is not: it keeps its quotes.
std::string Escaped(std::string_view text, bool quoted) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\n') {
      escaped += "\\n";
      continue;
    }
    if (c == '\\' || (quoted && c == '"')) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// The shortest text that reads back as the same number, in every locale. Counts are exact up to
// 2^53, as they are in Prometheus.
std::string Number(double value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  return {text, end};
}

bool IsAsciiLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

bool IsLabelName(std::string_view name) {
  if (name.empty() || IsDigit(name[0]) || name.substr(0, 2) == "__") return false;
  for (const char c : name) {
    if (!IsAsciiLetter(c) && !IsDigit(c) && c != '_') return false;
  }
  return true;
}

void PrometheusWriter::Metric(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  text_ += "# HELP " + name_ + " " + Escaped(help, /*quoted=*/false) + "\n";
  text_ += "# TYPE " + name_ + " " + std::string(type) + "\n";
}

void PrometheusWriter::Sample(const MetricLabels& labels, double value) {
  text_ += name_;
  char separator = '{';
  for (const auto& [label, label_value] : labels) {
    text_ += separator + label + "=\"" + Escaped(label_value, /*quoted=*/true) + "\"";
    separator = ',';
  }
  if (!labels.empty()) text_ += "}";
  text_ += " " + Number(value) + "\n";
}

}  // namespace rocksieve
