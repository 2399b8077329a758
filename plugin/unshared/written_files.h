// SPDX-License-Identifier: Apache-2.0
// The files that were written between two states of a database, by its journal
// (plugin/journal/journal_format.h), in place of those that compactions have made of them.
//
// A compaction shows the same rows before and after it, unless a compaction filter has its say, or
// a merge operator, which may be another one than later on, or know the time. So where neither is,
// if each file that only the later state has came out of compactions of files that the earlier one
// has, and of files that were flushed or ingested meanwhile; and if nothing else became of what
// went into them: then only what was flushed and ingested has changed rows. That is proven from the
// journal's lines, file by file. What is not in them - another process had the database open, the
// journal was off, a line was lost in a crash, files were dropped (DeleteFilesInRange, FIFO), a
// backup was restored - leaves a file of unknown origin or unknown end, and then the journal says
// nothing.
#pragma once

#include <string>

#include <rocksdb/status.h>

#include "plugin/database/read_only_snapshot.h"
#include "plugin/unshared/state_files.h"

namespace rocksieve {

// Of a column family: `files` are those of two states of the database in the directory, and become
// those that were written (StateFiles::are_written), without their keys. NotFound, and why, if the
// journal does not tell, or there is none; then nothing is changed.
rocksdb::Status FindWrittenFiles(const std::string& database, const ReadOnlySnapshot& earlier,
                                 const ReadOnlySnapshot& later, StateFiles* files);

}  // namespace rocksieve
