/* SPDX-License-Identifier: Apache-2.0 */
/* rocksieve in C, and in whatever calls C: Go, Rust, C#, Python.

   Beside RocksDB's own C API, from librocksieve.so:

     char* error = NULL;
     rocksdb_filterpolicy_t* policy = rocksieve_filterpolicy_create("rocksieve.ribbon:10", &error);
     if (policy != NULL) rocksdb_block_based_options_set_filter_policy(table_options, policy);

   Filters without RocksDB, from librocksieve_filters.so:

     rocksieve_builder_t* builder = rocksieve_builder_create("rocksieve.ribbon:1%", &error);
     rocksieve_builder_add(builder, "apple", 5);
     size_t size;
     char* bytes = rocksieve_builder_finish(builder, &size, &error);
     rocksieve_filter_t* filter = rocksieve_filter_open(bytes, size, &error);
     if (!rocksieve_filter_may_contain(filter, "pear", 4)) ...   // "pear" was never added

   Joins with a server (rocksieve serve), from librocksieve_join.so:

     rocksieve_join_t* join = rocksieve_join_create("intersection", &error);
     if (rocksieve_join_set(join, "db", "/data/orders", &error) &&
         rocksieve_join_set(join, "remote", "customers.example:7420", &error) && ... &&
         rocksieve_join_run(join, on_row, state, &counts, &error)) ...

   Errors are RocksDB's: *error must be NULL or allocated by malloc; it is set if something fails, and
   is the caller's to free(). error may be NULL. Nothing throws. Everything is thread-safe, but that a
   builder and a join are for one thread at a time. Specs are those of filter_spec.h. */
#ifndef ROCKSIEVE_C_H_
#define ROCKSIEVE_C_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ROCKSIEVE_C_EXPORT __attribute__((visibility("default")))
#else
#define ROCKSIEVE_C_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct rocksdb_filterpolicy_t;  /* RocksDB's: rocksdb/c.h */

/* A policy for rocksdb_block_based_options_set_filter_policy, which then owns it; until then,
   rocksdb_filterpolicy_destroy destroys it. NULL, and an error that says what is wrong with the spec,
   what is allowed, and an example; or that no build of rocksieve fits the RocksDB in this process. */
ROCKSIEVE_C_EXPORT struct rocksdb_filterpolicy_t* rocksieve_filterpolicy_create(const char* spec,
                                                                                char** error);

/* Only in librocksieve.so, for programs that load a RocksDB after it: 1 once the build that fits the
   RocksDB in this process is loaded and its specs are known to option strings; else 0 and an error.
   rocksdb is the path of the library that RocksDB is in; NULL if there is one RocksDB only. A RocksDB
   that dlopen() made private (RTLD_LOCAL) becomes visible to libraries that are loaded later. */
ROCKSIEVE_C_EXPORT unsigned char rocksieve_load(const char* rocksdb, char** error);

/* Collects keys, in any order and with duplicates, and builds one filter after another. */
typedef struct rocksieve_builder_t rocksieve_builder_t;
/* Answers for the keys that a builder was given. */
typedef struct rocksieve_filter_t rocksieve_filter_t;

/* NULL and an error for a wrong spec. Destroy what is not NULL. */
ROCKSIEVE_C_EXPORT rocksieve_builder_t* rocksieve_builder_create(const char* spec, char** error);
ROCKSIEVE_C_EXPORT void rocksieve_builder_add(rocksieve_builder_t* builder, const char* key,
                                              size_t length);
/* The filter as bytes, *size of them, for a file, the wire or rocksieve_filter_open(); free() them. The
   builder starts afresh. NULL and an error if there is no memory, or was none for one of the keys. */
ROCKSIEVE_C_EXPORT char* rocksieve_builder_finish(rocksieve_builder_t* builder, size_t* size,
                                                  char** error);
ROCKSIEVE_C_EXPORT void rocksieve_builder_destroy(rocksieve_builder_t* builder);

/* Copies the bytes, which may be anything. NULL and an error if they are no intact filter of a version
   that is known: then every key may have been added. Destroy what is not NULL. */
ROCKSIEVE_C_EXPORT rocksieve_filter_t* rocksieve_filter_open(const char* bytes, size_t size,
                                                             char** error);
/* 0 only if the key was not added; 1 for a NULL filter. */
ROCKSIEVE_C_EXPORT unsigned char rocksieve_filter_may_contain(const rocksieve_filter_t* filter,
                                                              const char* key, size_t length);
ROCKSIEVE_C_EXPORT void rocksieve_filter_destroy(rocksieve_filter_t* filter);

/* An exact join of the rows of a database here with those of a server: rocksieve/join/join.h says
   what it does and promises. */
typedef struct rocksieve_join_t rocksieve_join_t;

/* Distinct keys, rows that were received, and bytes of messages. */
typedef struct rocksieve_join_counts_t {
  uint64_t matched_keys, local_only_keys, remote_only_keys;
  uint64_t rows_received, bytes_sent, bytes_received;
} rocksieve_join_counts_t;

/* Gets each row of the result, in the order of what is joined on, from the thread that called
   rocksieve_join_run(). The bytes are valid until it returns. Anything but 0 ends the join. */
typedef int (*rocksieve_join_row_t)(void* state, unsigned char is_local, const char* key,
                                    size_t key_length, const char* value, size_t value_length);

/* operation: "intersection", "difference", "local-only", "symmetric" or "count". Else NULL and an
   error. Destroy what is not NULL. */
ROCKSIEVE_C_EXPORT rocksieve_join_t* rocksieve_join_create(const char* operation, char** error);
/* Sets what the flag of that name sets in `rocksieve join`, without its dashes; "db" and "remote" must
   be. Further: "sorted-text" instead of "db", a file of sorted keys, or keys, TAB and value; "begin" and
   "end", the part of the keys that is joined. The database may be open elsewhere, and is only read.
   0 and an error for a name that is unknown, which lists those that are known, or for a value that is
   none of it. */
ROCKSIEVE_C_EXPORT unsigned char rocksieve_join_set(rocksieve_join_t* join, const char* name,
                                                    const char* value, char** error);
/* Blocks. on_row may be NULL; counts may be NULL, and is filled as far as the join came if there is an
   error. 0 and an error if it is not complete. May be called again. */
ROCKSIEVE_C_EXPORT unsigned char rocksieve_join_run(rocksieve_join_t* join,
                                                    rocksieve_join_row_t on_row, void* state,
                                                    rocksieve_join_counts_t* counts, char** error);
/* Ends the join that runs, and all that are run after it, from any thread. */
ROCKSIEVE_C_EXPORT void rocksieve_join_cancel(rocksieve_join_t* join);
/* REQUIRES: it does not run. */
ROCKSIEVE_C_EXPORT void rocksieve_join_destroy(rocksieve_join_t* join);

#ifdef __cplusplus
}
#endif

#endif  /* ROCKSIEVE_C_H_ */
