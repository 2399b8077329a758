// SPDX-License-Identifier: Apache-2.0
// librocksieve.so: finds the RocksDB in its process, and loads the build of rocksieve that fits it,
// the librocksieve-MAJOR.MINOR.so.1 beside it.
//
// It may be preloaded into any program at all, so it needs libc and nothing else, says nothing
// where there is no RocksDB, and leaves RocksDB alone where no build fits: then it says so in one
// sentence. Everything here may be called by several threads at once.
#pragma once

#include "plugin/loader/loaded_files.h"

namespace rocksieve::loader {

// One sentence, cut where it does not fit.
struct Sentence {
  char text[1024] = "";

  __attribute__((format(printf, 2, 3))) void Format(const char* format, ...);
  // Behind what is there.
  __attribute__((format(printf, 2, 3))) void Append(const char* format, ...);
};

// Loads the build for the RocksDB in the process. `rocksdb` is the path of the file to which its
// code belongs; null for any: the one that every library sees, or the only one there is. True if
// a build is loaded, now or before. If not, `why` says why; it is empty if there is no RocksDB.
bool Load(const char* rocksdb, Sentence* why);

// The error of the C functions where Load() says nothing.
inline constexpr char kNoRocksDb[] = "rocksieve: there is no RocksDB in this process";

// A function of the build that Load() found; null before.
void* BuildSymbol(const char* name);

// Whether the code at the address is the build's.
bool IsInBuild(void* address);

// Whether the function is of the RocksDB that the build serves, or would.
bool IsServed(void* function);

// The spec that RocksDB's Bloom and Ribbon filters are replaced by; null or empty for none.
const char* InsteadOf();

// Of a function that this library has as well, the one that the code at `caller` would call without
// us: its own, or that of the libraries that it needs; else the next in the process. Null if there
// is none.
void* RealFunction(void* caller, const char* name);

// Load() for the RocksDB that the function is of, which may have been loaded after us; not if that
// is part of a library that nobody else sees. Says what is in the way.
bool LoadFor(void* function);

// Says on stderr what is in the way, once in the life of the process; an empty sentence not at all.
void SayOnce(const Sentence& sentence);

}  // namespace rocksieve::loader
