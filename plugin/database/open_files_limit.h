// How many files this process may have open.
#pragma once

#include <cstdint>

namespace rocksieve {

// Raises the limit as far as it goes without privileges (the hard limit), and returns it.
uint64_t RaiseOpenFilesLimit();

}  // namespace rocksieve
