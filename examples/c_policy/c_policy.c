/* SPDX-License-Identifier: Apache-2.0 */
/* A database with a filter of rocksieve, in C: c_policy SPEC DIRECTORY

     gcc c_policy.c -lrocksieve -lrocksdb -o c_policy && ./c_policy rocksieve.ribbon:10 db

   Writes 10,000 keys, looks up as many that are there and as many that are not, and says how many
   reads of the file the filter saved. What is done here, every language does that can call C. */
#include <rocksdb/c.h>
#include <rocksieve/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kKeys = 10000 };

static void Check(const char* error) {
  if (error == NULL) return;
  fprintf(stderr, "%s\n", error);
  exit(1);
}

static int MakeKey(const char* kind, int number, char key[32]) {
  return snprintf(key, 32, "%s%d", kind, number);
}

static int CountFound(rocksdb_t* db, const char* kind) {
  rocksdb_readoptions_t* options = rocksdb_readoptions_create();
  int found = 0;
  for (int i = 0; i < kKeys; ++i) {
    char key[32], *error = NULL;
    size_t length = 0;
    char* value = rocksdb_get(db, options, key, MakeKey(kind, i, key), &length, &error);
    Check(error);
    found += value != NULL;
    free(value);
  }
  rocksdb_readoptions_destroy(options);
  return found;
}

static void Fill(rocksdb_t* db) {
  char key[32], *error = NULL;
  rocksdb_writeoptions_t* options = rocksdb_writeoptions_create();
  for (int i = 0; i < kKeys; ++i) {
    const size_t length = MakeKey("key", i, key);
    rocksdb_put(db, options, key, length, key, length, &error);
    Check(error);
  }
  rocksdb_writeoptions_destroy(options);
  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  rocksdb_flush(db, flush, &error);
  Check(error);
  rocksdb_flushoptions_destroy(flush);
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: c_policy SPEC DIRECTORY\n");
    return 2;
  }
  char* error = NULL;
  rocksdb_filterpolicy_t* policy = rocksieve_filterpolicy_create(argv[1], &error);
  Check(error);
  rocksdb_block_based_table_options_t* table = rocksdb_block_based_options_create();
  rocksdb_block_based_options_set_filter_policy(table, policy); /* which owns it now */

  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_enable_statistics(options);
  rocksdb_options_set_block_based_table_factory(options, table);
  rocksdb_t* db = rocksdb_open(options, argv[2], &error);
  Check(error);
  Fill(db);
  const int present = CountFound(db, "key"), absent = CountFound(db, "none");

  char* statistics = rocksdb_options_statistics_get_string(options);
  const char* useful = strstr(statistics, "rocksdb.bloom.filter.useful COUNT : ");
  printf("%d of %d keys found, %d that are not there; %s reads saved\n", present, kKeys, absent,
         useful == NULL ? "no" : strtok(strchr(useful, ':') + 2, "\n"));
  free(statistics);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  rocksdb_block_based_options_destroy(table);
  return 0;
}
