/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of Arrow for filters, and databases as streams of Arrow; no Arrow library is needed.

     struct ArrowArrayStream rows;             // of https://arrow.apache.org/docs/format/CStreamInterface.html
     rocksieve_scan_t* scan = rocksieve_scan_create(&error);
     if (rocksieve_scan_set(scan, "db", "/data/orders", 12, &error) &&
         rocksieve_scan_filter(scan, filter_bytes, filter_size, &error) &&
         rocksieve_scan_open(scan, &rows, &error)) ...   // rows.get_next(&rows, &batch)

   Errors, ownership of handles and threads are as in c.h. What is given is the consumer's, as Arrow says,
   and is his to release. Arrays that are taken are only read.

   Columns of keys are binary, utf8, either of them large or as views, or fixed-size binary: those of the
   array itself, or, if it is a struct, those of its child of that name (NULL: of its only one). A null is
   no key: it is not added, and matches nothing. */
#ifndef ROCKSIEVE_C_ARROW_H_
#define ROCKSIEVE_C_ARROW_H_

#include <stddef.h>
#include <stdint.h>

#include "c.h"

#ifdef __cplusplus
extern "C" {
#endif

/* By Arrow's specification, which says how they are to be declared. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};

#endif /* ARROW_C_DATA_INTERFACE */

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};

#endif /* ARROW_C_STREAM_INTERFACE */

/* From librocksieve_filters.so. 0 and an error if the column is none of keys: nothing is added then, or
   written. */

ROCKSIEVE_C_EXPORT unsigned char rocksieve_builder_add_arrow(rocksieve_builder_t* builder,
                                                             const struct ArrowSchema* schema,
                                                             const struct ArrowArray* array,
                                                             const char* column, char** error);
/* Sets bits[first_bit + i], counted from the lowest bit of each byte, to whether key i may have been
   added: array->length of them. */
ROCKSIEVE_C_EXPORT unsigned char rocksieve_filter_may_contain_arrow(
    const rocksieve_filter_t* filter, const struct ArrowSchema* schema,
    const struct ArrowArray* array, const char* column, uint8_t* bits, size_t first_bit, char** error);
/* If there is no room for one of the keys, those before it are added. */
ROCKSIEVE_C_EXPORT unsigned char rocksieve_dynamic_add_arrow(rocksieve_dynamic_t* dynamic,
                                                             const struct ArrowSchema* schema,
                                                             const struct ArrowArray* array,
                                                             const char* column, char** error);
ROCKSIEVE_C_EXPORT unsigned char rocksieve_dynamic_may_contain_arrow(
    const rocksieve_dynamic_t* dynamic, const struct ArrowSchema* schema,
    const struct ArrowArray* array, const char* column, uint8_t* bits, size_t first_bit, char** error);
/* Such bits, from the first one on, as a boolean array without nulls; they are copied. */
ROCKSIEVE_C_EXPORT unsigned char rocksieve_arrow_booleans(const uint8_t* bits, size_t count,
                                                          struct ArrowSchema* schema,
                                                          struct ArrowArray* array, char** error);

/* A PyCapsule_Destructor, for capsules of Python by the names of Arrow's PyCapsule interface: releases the
   struct that is in it, if nobody has taken it, and frees it. REQUIRES: it was made by malloc(). */
ROCKSIEVE_C_EXPORT void rocksieve_arrow_capsule_destructor(void* capsule);

/* The rows of a database as batches; from librocksieve_join.so. */
typedef struct rocksieve_scan_t rocksieve_scan_t;

typedef struct rocksieve_scan_counts_t {
  uint64_t rows_read, rows_given;
  /* Of the join keys of all rows that were read, in any order: the sum of their XXH3-64, with "on" each
     seeded by that of the row's key. Scans of the same have the same one; of others, one in 2^64. */
  uint64_t digest;
  /* That there are, whatever part of them is scanned, as far as files say it without being read. */
  uint64_t rows_estimated;
} rocksieve_scan_counts_t;

ROCKSIEVE_C_EXPORT rocksieve_scan_t* rocksieve_scan_create(char** error);
/* Sets, by its name:
     db             directory of the database, which may be in use, and is only read; or
     sorted-text    a file of sorted keys, or keys, TAB and value
     column-family
     begin, end     the rows from the key `begin` on, up to but without `end`
     prefix         the rows whose keys begin with it
     on             what filters are asked for, such as "value.json(/customer/id)", instead of the key
                    (docs/join_keys.md)
     columns        of the batches, by default "key,value"; further, "join_key": by `on`
     keep           with filters: "maybe", rows whose join key one of them may contain (the default), or
                    "absent", rows whose join key none of them contains, nulls among them
     expect         the digest of an earlier scan, in decimal digits: the stream ends with an error if its
                    own is another one
     most-rows      that are read, from 1 on; by default all
     batch-rows     at most, 1 to 2^24; by default 65,536
     batch-bytes    of keys and values, after which a batch ends, 1 to 2^30; by default 8 MiB
   0 and an error for a name that is unknown, which lists those that are known, or for a value that is none
   of it. */
ROCKSIEVE_C_EXPORT unsigned char rocksieve_scan_set(rocksieve_scan_t* scan, const char* name,
                                                    const char* value, size_t length, char** error);
/* Adds a filter: the bytes of rocksieve_builder_finish() or rocksieve_dynamic_serialize(), which are
   copied. 0 and an error if they are damaged, or something else. */
ROCKSIEVE_C_EXPORT unsigned char rocksieve_scan_filter(rocksieve_scan_t* scan, const char* bytes,
                                                       size_t size, char** error);
/* Begins a scan of the rows as they are now; may be called again. The stream is for one thread at a time,
   and may outlive the scan. Its columns are binary; only join_key has nulls. An error in its course names
   the database; the batches before it are right. Memory: two batches, and the filters. */
ROCKSIEVE_C_EXPORT unsigned char rocksieve_scan_open(rocksieve_scan_t* scan,
                                                     struct ArrowArrayStream* stream, char** error);
/* Gets a key, which is valid until it returns. */
typedef void (*rocksieve_scan_cut_t)(void* state, const char* key, size_t length);
/* Calls on_cut for rising keys, those at which parts of the scanned rows begin, all parts but the first: at
   most so many parts, of about equal size, as far as files say it without being read. Few files, few parts. */
ROCKSIEVE_C_EXPORT unsigned char rocksieve_scan_cuts(const rocksieve_scan_t* scan, size_t parts,
                                                     rocksieve_scan_cut_t on_cut, void* state, char** error);
/* Of the stream that was opened last, also while it goes on. The digest is complete at its end. */
ROCKSIEVE_C_EXPORT void rocksieve_scan_counts(const rocksieve_scan_t* scan,
                                              rocksieve_scan_counts_t* counts);
ROCKSIEVE_C_EXPORT void rocksieve_scan_destroy(rocksieve_scan_t* scan);

#ifdef __cplusplus
}
#endif

#endif /* ROCKSIEVE_C_ARROW_H_ */
