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
     if (!rocksieve_filter_may_contain(filter, "pear", 4)) ...   // never added

   Estimators, and filters that take keys one by one, from there as well:

     rocksieve_estimator_t* visitors = rocksieve_estimator_create("k-minimum-values", 0.01, 0, &error);
     rocksieve_estimator_add(visitors, "192.0.2.1", 9, 1, &error);
     rocksieve_estimate_t count;
     if (rocksieve_estimator_distinct(visitors, &count, &error)) ...   // count.value

   Joins with a server (rocksieve serve), from librocksieve_join.so:

     rocksieve_join_t* join = rocksieve_join_create("intersection", &error);
     if (rocksieve_join_set(join, "db", "/data/orders", &error) &&
         rocksieve_join_set(join, "remote", "customers:7420", &error) && ... &&
         rocksieve_join_run(join, on_row, state, &counts, &error)) ...

   Errors are RocksDB's: *error must be NULL or allocated by malloc; it is set if something fails, and
   is the caller's to free() (it is NULL if there is no memory for it either). error may be NULL.
   Nothing throws. What a function creates is the caller's to destroy, with the function that says so;
   destroying NULL does nothing. Keys and bytes are copied, or only read, before a function returns;
   they may hold any bytes, and be NULL if their length is 0. A NULL handle is an error, or what a filter
   of all keys would answer.

   Thread safety: functions that take an object as const may be called from any number of threads at
   once; others of the same object from one thread, while no other thread uses it, but for
   rocksieve_join_cancel(). Specs are those of filter_spec.h. */
#ifndef ROCKSIEVE_C_H_
#define ROCKSIEVE_C_H_

#include <stddef.h>
#include <stdint.h>

#include "c_load.h" /* RocksDB installs both under another name */

#ifdef __cplusplus
extern "C" {
#endif

struct rocksdb_filterpolicy_t;  /* RocksDB's: rocksdb/c.h */

/* A policy for rocksdb_block_based_options_set_filter_policy, which then owns it; until then,
   rocksdb_filterpolicy_destroy destroys it. NULL, and an error that says what is wrong with the spec,
   what is allowed, and an example; or that no build of rocksieve fits the RocksDB in this process. */
ROCKSIEVE_C_EXPORT struct rocksdb_filterpolicy_t* rocksieve_filterpolicy_create(const char* spec,
                                                                                char** error);

/* Collects keys, in any order and with duplicates, and builds one filter after another. */
typedef struct rocksieve_builder_t rocksieve_builder_t;
/* Answers for the keys that a builder was given. */
typedef struct rocksieve_filter_t rocksieve_filter_t;

/* NULL and an error for a wrong spec. Destroy what is not NULL. */
ROCKSIEVE_C_EXPORT rocksieve_builder_t* rocksieve_builder_create(const char* spec, char** error);
ROCKSIEVE_C_EXPORT void rocksieve_builder_add(rocksieve_builder_t* builder, const char* key,
                                              size_t length);
/* The filter as bytes, *size of them, for a file, the wire or rocksieve_filter_open(); free() them. The
   builder starts afresh. NULL and an error if there is no memory, or was none for one of the keys; the
   keys are lost then, and it is an error too to finish again before any is added. */
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
/* 0 only if no key was added that lies in [begin, end), in bytewise order; 1 for a NULL filter. Only
   filters of rocksieve.range ever say 0. */
ROCKSIEVE_C_EXPORT unsigned char rocksieve_filter_may_contain_range(const rocksieve_filter_t* filter,
                                                                    const char* begin,
                                                                    size_t begin_length,
                                                                    const char* end,
                                                                    size_t end_length);
/* Keys that were added, adjacent duplicates counted once; 0 for a NULL filter. */
ROCKSIEVE_C_EXPORT uint64_t rocksieve_filter_key_count(const rocksieve_filter_t* filter);
/* The rate at which keys that were not added pass, 0 to 1, as the filter promises it. */
ROCKSIEVE_C_EXPORT double rocksieve_filter_false_positive_rate(const rocksieve_filter_t* filter);
ROCKSIEVE_C_EXPORT void rocksieve_filter_destroy(rocksieve_filter_t* filter);

/* A filter in memory that takes its keys one by one, and can be asked in between:
     bloom            never full: beyond the keys that it was made for, its rate rises (dynamic/bloom_filter.h)
     scalable-bloom   keeps its rate for any number of keys, in more memory (dynamic/scalable_bloom_filter.h)
     counting-bloom   knows how often a key was added, up to 15, and gives keys back (dynamic/counting_bloom_filter.h)
     cuckoo           gives keys back; refuses keys when full (dynamic/cuckoo_filter.h) */
typedef struct rocksieve_dynamic_t rocksieve_dynamic_t;

/* Made for so many distinct keys (scalable-bloom: a guess) at that rate of false positives, above 0 and
   below 1. seed: of the hash of keys; a secret random one keeps people from choosing keys that collide.
   NULL and an error that says what is allowed. */
ROCKSIEVE_C_EXPORT rocksieve_dynamic_t* rocksieve_dynamic_create(const char* kind, uint64_t keys,
                                                                 double false_positive_rate,
                                                                 uint64_t seed, char** error);
/* "bloom", ...; "" for NULL. Valid for ever. */
ROCKSIEVE_C_EXPORT const char* rocksieve_dynamic_kind(const rocksieve_dynamic_t* dynamic);
/* 0 and an error, and nothing is changed, if a cuckoo filter has no room for the key, or there is no
   memory. */
ROCKSIEVE_C_EXPORT unsigned char rocksieve_dynamic_add(rocksieve_dynamic_t* dynamic, const char* key,
                                                       size_t length, char** error);
/* 0 only if the key is not there; 1 for a NULL filter. */
ROCKSIEVE_C_EXPORT unsigned char rocksieve_dynamic_may_contain(const rocksieve_dynamic_t* dynamic,
                                                               const char* key, size_t length);
/* Takes back what was added once. 0 without an error: the key was certainly not there. 0 and an error:
   this kind gives nothing back. Removing what was never added may lose another key. */
ROCKSIEVE_C_EXPORT unsigned char rocksieve_dynamic_remove(rocksieve_dynamic_t* dynamic,
                                                          const char* key, size_t length,
                                                          char** error);
/* At least how often the key is there, as far as the kind can count: bloom and scalable-bloom to 1,
   cuckoo to 8, counting-bloom to 15. */
ROCKSIEVE_C_EXPORT uint64_t rocksieve_dynamic_count(const rocksieve_dynamic_t* dynamic,
                                                    const char* key, size_t length);
/* Adds all that is in the other one. 0 and an error, and nothing is changed, unless both were created
   alike; scalable-bloom never merges. */
ROCKSIEVE_C_EXPORT unsigned char rocksieve_dynamic_merge(rocksieve_dynamic_t* dynamic,
                                                         const rocksieve_dynamic_t* other,
                                                         char** error);
/* The rate at which other keys pass now, 0 to 1. Reads the whole filter. */
ROCKSIEVE_C_EXPORT double rocksieve_dynamic_false_positive_rate(const rocksieve_dynamic_t* dynamic);
ROCKSIEVE_C_EXPORT size_t rocksieve_dynamic_memory_bytes(const rocksieve_dynamic_t* dynamic);
/* As bytes (docs/formats/toolbox.md), *size of them, the same on every machine; free() them. */
ROCKSIEVE_C_EXPORT char* rocksieve_dynamic_serialize(const rocksieve_dynamic_t* dynamic, size_t* size,
                                                     char** error);
/* The bytes may be anything. NULL and an error if they are no intact filter of one of these kinds. */
ROCKSIEVE_C_EXPORT rocksieve_dynamic_t* rocksieve_dynamic_deserialize(const char* bytes, size_t size,
                                                                      char** error);
ROCKSIEVE_C_EXPORT void rocksieve_dynamic_destroy(rocksieve_dynamic_t* dynamic);

/* What tells numbers of a stream of keys from far fewer bytes than it has. By kind, what the error of
   rocksieve_estimator_create() means, and what it knows:
     hyper-log-log      standard error of the distinct count, from 0.0021, below 1 (estimate/hyper_log_log.h)
     k-minimum-values   the same, from 0.001, below 1; also what two sets share; exact for small sets (estimate/k_minimum_values.h)
     count-min-sketch   counts exceed the truth by at most that share of all, in 99 % of cases (estimate/count_min_sketch.h)
     top-k              counts exceed the truth by at most that share of all; knows the most frequent keys (estimate/top_k.h)
     min-hash           standard error of the similarity of two sets, from 0.0079, below 1 (estimate/min_hash.h) */
typedef struct rocksieve_estimator_t rocksieve_estimator_t;

/* The truth lies within one standard error in about two cases of three; 0: the value is exact. */
typedef struct rocksieve_estimate_t {
  double value, standard_error;
} rocksieve_estimate_t;

/* seed: of the hash of keys; what merges must have the same. NULL and an error that says what is
   allowed. */
ROCKSIEVE_C_EXPORT rocksieve_estimator_t* rocksieve_estimator_create(const char* kind, double error,
                                                                     uint64_t seed,
                                                                     char** error_text);
/* "hyper-log-log", ...; "" for NULL. Valid for ever. */
ROCKSIEVE_C_EXPORT const char* rocksieve_estimator_kind(const rocksieve_estimator_t* estimator);
/* The key came so often; 0 times changes nothing. Kinds that do not count take it once. 0 and an error,
   and nothing is changed, if the sum of all counts would exceed 2^64 - 1, or there is no memory. */
ROCKSIEVE_C_EXPORT unsigned char rocksieve_estimator_add(rocksieve_estimator_t* estimator,
                                                         const char* key, size_t length,
                                                         uint64_t count, char** error);
/* How many distinct keys came. This and those below: 0 and an error that names the kinds that know. */
ROCKSIEVE_C_EXPORT unsigned char rocksieve_estimator_distinct(const rocksieve_estimator_t* estimator,
                                                              rocksieve_estimate_t* distinct,
                                                              char** error);
/* How often the key came: at most *count, and (count-min-sketch: in 99 % of cases) at least
   *count - *excess. excess may be NULL. */
ROCKSIEVE_C_EXPORT unsigned char rocksieve_estimator_count(const rocksieve_estimator_t* estimator,
                                                           const char* key, size_t length,
                                                           uint64_t* count, uint64_t* excess,
                                                           char** error);
/* Gets a key, which came at most `count` and at least `count - excess` times. The key is valid until it
   returns. */
typedef void (*rocksieve_top_t)(void* state, const char* key, size_t length, uint64_t count,
                                uint64_t excess);
/* Calls on_key for the most frequent keys, at most so many, the most frequent first. */
ROCKSIEVE_C_EXPORT unsigned char rocksieve_estimator_top(const rocksieve_estimator_t* estimator,
                                                         size_t most, rocksieve_top_t on_key,
                                                         void* state, char** error);
/* The Jaccard similarity of two sets: keys in both over keys in either, 0 to 1. */
ROCKSIEVE_C_EXPORT unsigned char rocksieve_estimator_similarity(const rocksieve_estimator_t* a,
                                                                const rocksieve_estimator_t* b,
                                                                rocksieve_estimate_t* jaccard,
                                                                char** error);
/* How many distinct keys are in both sets. */
ROCKSIEVE_C_EXPORT unsigned char rocksieve_estimator_intersection(const rocksieve_estimator_t* a,
                                                                  const rocksieve_estimator_t* b,
                                                                  rocksieve_estimate_t* both,
                                                                  char** error);
/* Now knows both streams. 0 and an error, and nothing is changed, unless both were created alike;
   of k-minimum-values the errors may differ, and the larger one holds from then on. */
ROCKSIEVE_C_EXPORT unsigned char rocksieve_estimator_merge(rocksieve_estimator_t* estimator,
                                                           const rocksieve_estimator_t* other,
                                                           char** error);
ROCKSIEVE_C_EXPORT size_t rocksieve_estimator_memory_bytes(const rocksieve_estimator_t* estimator);
/* As those of a filter. */
ROCKSIEVE_C_EXPORT char* rocksieve_estimator_serialize(const rocksieve_estimator_t* estimator,
                                                       size_t* size, char** error);
ROCKSIEVE_C_EXPORT rocksieve_estimator_t* rocksieve_estimator_deserialize(const char* bytes,
                                                                          size_t size, char** error);
ROCKSIEVE_C_EXPORT void rocksieve_estimator_destroy(rocksieve_estimator_t* estimator);

/* An exact join of the rows of a database here with those of a server: rocksieve/join/join.h says
   what it does and promises. */
typedef struct rocksieve_join_t rocksieve_join_t;

/* Of several servers, only the operation
   "count" knows how many keys matched, or are here alone; else these two are ROCKSIEVE_UNKNOWN_COUNT. A
   key that several servers have counts for each of them in remote_only_keys. */
#define ROCKSIEVE_UNKNOWN_COUNT UINT64_MAX
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
/* Blocks. on_row and counts may be NULL. After an error, counts is filled as far as the join came.
   0 and an error if it is not complete. May be called again. */
ROCKSIEVE_C_EXPORT unsigned char rocksieve_join_run(rocksieve_join_t* join,
                                                    rocksieve_join_row_t on_row, void* state,
                                                    rocksieve_join_counts_t* counts, char** error);
/* Ends the join that runs, and all later ones, from any thread. */
ROCKSIEVE_C_EXPORT void rocksieve_join_cancel(rocksieve_join_t* join);
/* REQUIRES: it does not run. */
ROCKSIEVE_C_EXPORT void rocksieve_join_destroy(rocksieve_join_t* join);

/* Answers joins with the rows of a database: rocksieve/join/server.h says what it does and promises. Its
   sessions have threads of their own. */
typedef struct rocksieve_server_t rocksieve_server_t;

/* Since the start: sessions under way, those that ended as they should, that failed, and that were
   refused; rows and bytes of messages of sessions that have ended. */
typedef struct rocksieve_server_counts_t {
  uint64_t sessions, done, failed, refused;
  uint64_t rows_sent, bytes_sent, bytes_received;
} rocksieve_server_counts_t;

/* NULL and an error if there is no memory. Destroy what is not NULL. */
ROCKSIEVE_C_EXPORT rocksieve_server_t* rocksieve_server_create(char** error);
/* Sets what the flag of that name sets in `rocksieve serve`, without its dashes; "db" and "listen" (port
   0: any that is free) must be. "column-family" adds one each time. The database may be open elsewhere,
   and is only read. 0 and an error for a name that is unknown, which lists those that are known, for a
   value that is none of it, and after the start. */
ROCKSIEVE_C_EXPORT unsigned char rocksieve_server_set(rocksieve_server_t* server, const char* name,
                                                      const char* value, char** error);
/* From now on it can be joined with. 0 and an error: then it may be set otherwise, and started again. */
ROCKSIEVE_C_EXPORT unsigned char rocksieve_server_start(rocksieve_server_t* server, char** error);
/* Where it listens, with the port: "127.0.0.1:7420"; "" before the start. Valid until it is destroyed. */
ROCKSIEVE_C_EXPORT const char* rocksieve_server_address(const rocksieve_server_t* server);
ROCKSIEVE_C_EXPORT unsigned char rocksieve_server_counts(const rocksieve_server_t* server,
                                                         rocksieve_server_counts_t* counts,
                                                         char** error);
/* Takes no new sessions, lets those that are under way go on for so long, and cuts them off then.
   Blocks. It is not started again. */
ROCKSIEVE_C_EXPORT void rocksieve_server_stop(rocksieve_server_t* server,
                                              uint64_t grace_milliseconds);
/* Cuts off what is under way. */
ROCKSIEVE_C_EXPORT void rocksieve_server_destroy(rocksieve_server_t* server);

#ifdef __cplusplus
}
#endif

#endif  /* ROCKSIEVE_C_H_ */
