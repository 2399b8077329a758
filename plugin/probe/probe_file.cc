#include "plugin/probe/probe_file.h"

#include "support/line_reader.h"
#include "support/printable.h"

namespace rocksieve {

using rocksdb::Status;

Status ReadProbeKeys(const std::string& path, bool hex, std::vector<std::string>* keys) {
  LineReader lines(path);
  if (!lines.error().empty()) {
    return Status::InvalidArgument(lines.error() +
                                   "\nName a file of missing keys, one per line, with "
                                   "--probes=FILE.");
  }
  std::string_view line;
  std::string key;
  while (lines.Next(&line)) {
    if (line.empty()) continue;
    if (!hex) {
      keys->emplace_back(line);
    } else if (FromHexBytes(line, &key)) {
      keys->push_back(key);
    } else {
      return Status::InvalidArgument("line " + std::to_string(lines.line_number()) + " of " +
                                     lines.name() + " is no key in hexadecimal digits: \"" +
                                     std::string(line) + "\"");
    }
  }
  if (lines.interrupted()) return Status::Aborted(lines.error());
  if (!lines.error().empty()) return Status::InvalidArgument(lines.error());
  if (keys->empty()) {
    return Status::InvalidArgument(lines.name() +
                                   " holds no keys: it has no line that is not empty");
  }
  return Status::OK();
}

}  // namespace rocksieve
