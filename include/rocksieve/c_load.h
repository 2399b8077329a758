/* SPDX-License-Identifier: Apache-2.0 */
/* The part of rocksieve/c.h that only librocksieve.so has: rocksieve for a RocksDB that is loaded after
   it, or that other libraries do not see. Errors are as in c.h. Any thread may call these. */
#ifndef ROCKSIEVE_C_LOAD_H_
#define ROCKSIEVE_C_LOAD_H_

#if defined(__GNUC__)
#define ROCKSIEVE_C_EXPORT __attribute__((visibility("default")))
#else
#define ROCKSIEVE_C_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* 1 once the build that fits the
   RocksDB in this process is loaded and its specs are known to option strings; else 0 and an error.
   rocksdb is the path of the library that RocksDB is in; NULL if there is one RocksDB only. A RocksDB
   that dlopen() made private (RTLD_LOCAL) becomes visible to libraries that are loaded later, unless the
   build was made for one that is not installed, as those in packages for other languages are. Where it is
   not there yet, and librocksieve.so is visible (RTLD_GLOBAL), it is served when it comes. */
ROCKSIEVE_C_EXPORT unsigned char rocksieve_load(const char* rocksdb, char** error);

/* The same before there is a RocksDB: each Bloom or Ribbon filter that it will make becomes one of the spec.
   librocksieve.so must be visible (RTLD_GLOBAL). Too late where there is one: 0 and an error. A spec that
   cannot be honoured is found out when the filter is made: RocksDB's own is used then, and stderr says so. */
ROCKSIEVE_C_EXPORT unsigned char rocksieve_load_instead_of(const char* spec, char** error);

#ifdef __cplusplus
}
#endif

#endif /* ROCKSIEVE_C_LOAD_H_ */
