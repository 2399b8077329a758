/* SPDX-License-Identifier: Apache-2.0 */
/* A database with our filters, in plain C: c_program DIRECTORY
   The plugin needs no function of its own in C: an option string names the filter. */
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void Check(char* error) {
  if (error == NULL) return;
  fprintf(stderr, "%s\n", error);
  exit(1);
}

int main(int argc, char** argv) {
  char* error = NULL;
  if (argc != 2) return 2;

  rocksdb_options_t* base = rocksdb_options_create();
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_get_options_from_string(base,
                                  "create_if_missing=true;"
                                  "block_based_table_factory={filter_policy=rocksieve.cuckoo:12.5}",
                                  options, &error);
  Check(error);
  rocksdb_options_enable_statistics(options);
  rocksdb_t* db = rocksdb_open(options, argv[1], &error);
  Check(error);

  enum { kKeys = 10000 };
  char key[16];
  rocksdb_writeoptions_t* write_options = rocksdb_writeoptions_create();
  for (int i = 0; i < kKeys; i += 2) {
    snprintf(key, sizeof(key), "key%d", i);
    rocksdb_put(db, write_options, key, strlen(key), key, strlen(key), &error);
    Check(error);
  }
  rocksdb_flushoptions_t* flush_options = rocksdb_flushoptions_create();
  rocksdb_flush(db, flush_options, &error);
  Check(error);

  rocksdb_readoptions_t* read_options = rocksdb_readoptions_create();
  int found = 0;
  for (int i = 0; i < kKeys; i++) {
    size_t length = 0;
    snprintf(key, sizeof(key), "key%d", i);
    char* value = rocksdb_get(db, read_options, key, strlen(key), &length, &error);
    Check(error);
    found += value != NULL && length == strlen(key) && memcmp(value, key, length) == 0;
    free(value);
  }
  char* statistics = rocksdb_options_statistics_get_string(options);
  const char* useful = strstr(statistics, "rocksdb.bloom.filter.useful COUNT : ");
  printf("%d keys found, %s\n", found, useful ? strtok((char*)useful, "\n") : "no statistics");

  free(statistics);
  rocksdb_readoptions_destroy(read_options);
  rocksdb_flushoptions_destroy(flush_options);
  rocksdb_writeoptions_destroy(write_options);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  rocksdb_options_destroy(base);
  return 0;
}
