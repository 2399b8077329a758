/* rocksieve in C, and in whatever calls C: Go, Rust, C#, Python. Beside RocksDB's own C API:

     char* error = NULL;
     rocksdb_filterpolicy_t* policy = rocksieve_filterpolicy_create("rocksieve.ribbon:10", &error);
     if (policy != NULL) rocksdb_block_based_options_set_filter_policy(table_options, policy);

   Errors are RocksDB's: *error must be NULL or allocated by malloc; it is set if something fails, and
   is the caller's to free(). error may be NULL. Nothing throws, and everything is thread-safe. */
#ifndef ROCKSIEVE_C_H_
#define ROCKSIEVE_C_H_

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
   what is allowed, and an example; or that no build of rocksieve fits the RocksDB in this process.
   Specs are those of filter_spec.h. */
ROCKSIEVE_C_EXPORT struct rocksdb_filterpolicy_t* rocksieve_filterpolicy_create(const char* spec,
                                                                                char** error);

/* Only in librocksieve.so, for programs that load a RocksDB after it: 1 once the build that fits the
   RocksDB in this process is loaded and its specs are known to option strings; else 0 and an error.
   rocksdb is the path of the library that RocksDB is in; NULL if there is one RocksDB only. A RocksDB
   that dlopen() made private (RTLD_LOCAL) becomes visible to libraries that are loaded later. */
ROCKSIEVE_C_EXPORT unsigned char rocksieve_load(const char* rocksdb, char** error);

#ifdef __cplusplus
}
#endif

#endif  /* ROCKSIEVE_C_H_ */
