#include "lib/transport/private_file.h"

#include <sys/stat.h>

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

namespace rocksieve::join {

absl::Status CheckIsPrivate(const std::string& path) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return absl::OkStatus();
  const unsigned mode = file.st_mode & 0777;
  if ((mode & 077) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(path, " has a secret, and other users may use the file (mode ",
                   absl::StrFormat("%04o", mode), "): chmod 600 ", path));
}

}  // namespace rocksieve::join
