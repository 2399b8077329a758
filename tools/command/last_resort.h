// What the command does where its environment gives it less than RocksDB and gRPC take for granted:
// closed streams, no memory, no threads, no room in files.
#pragma once

namespace rocksieve::tools {

// Before anything else is opened or started:
// * takes the numbers of standard streams that are closed, so that no file of a database gets one
//   and what is printed goes into it; printing fails as before.
// * a file that may not grow (ulimit -f) is an error of the write, and does not end the process.
// * under a limit of memory (ulimit -v) threads take little of it in advance.
// * std::terminate(), as by an exception in a thread of RocksDB, removes temporary directories
//   (work_dir.h), says what happened and ends the process with kCannotRun: no core is dumped. So
//   does abort(), as by an assertion of RocksDB.
void PrepareForTheWorst();

// Prints why the command cannot go on, with a remedy. REQUIRES: in a catch block.
void PrintCurrentException();

}  // namespace rocksieve::tools
