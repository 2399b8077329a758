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

   Errors are RocksDB's: *error must be NULL or allocated by malloc; it is set if something fails, and
   is the caller's to free(). error may be NULL. Nothing throws. Everything is thread-safe, but that a
   builder is for one thread at a time. Specs are those of filter_spec.h. */
#ifndef ROCKSIEVE_C_H_
#define ROCKSIEVE_C_H_

#include <stddef.h>

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

#ifdef __cplusplus
}
#endif

#endif  /* ROCKSIEVE_C_H_ */
