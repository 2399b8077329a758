// How many files this process may have open.
#pragma once

#include <cstdint>

namespace rocksieve {

// That a process may have open beside the tables of a database that it looks at.
inline constexpr uint64_t kOtherOpenFiles = 100;

// Raises the limit as far as it goes without privileges (the hard limit), and returns it.
uint64_t RaiseOpenFilesLimit();

}  // namespace rocksieve
