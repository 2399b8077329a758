/* SPDX-License-Identifier: Apache-2.0 */
/* Each function of librocksieve_join.so, from C11: c_join DATABASE SERVED serves one database and
   counts the keys that it has in common with the other, in a join and in one that on_row ends;
   then passes nonsense. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rocksieve/c.h>
#include <rocksieve/c_arrow.h>

#include "c_check.h"

struct rows {
  uint64_t count, most;
};

static int on_row(void* state, unsigned char is_local, const char* key, size_t key_length,
                  const char* value, size_t value_length) {
  struct rows* const rows = state;
  (void)value;
  CHECK(!is_local && key != NULL && key_length > 0 && value_length > 0);
  return ++rows->count == rows->most;
}

static void on_cut(void* state, const char* key, size_t length) {
  CHECK(key != NULL && length > 0);
  ++*(size_t*)state;
}

static void scans(const char* database) {
  rocksieve_scan_t* scan = rocksieve_scan_create(&error);
  struct ArrowArrayStream rows;
  CHECK(!rocksieve_scan_open(scan, &rows, &error) && said("set either db or"));
  CHECK(rocksieve_scan_set(scan, "db", database, strlen(database), &error));
  CHECK(rocksieve_scan_set(scan, "batch-rows", "1000", 4, &error));
  CHECK(!rocksieve_scan_set(scan, "batch-rows", "0", 1, &error) && said("from 1 to"));
  CHECK(!rocksieve_scan_set(scan, "luck", NULL, 0, &error) && said("it has batch-bytes, "));
  CHECK(!rocksieve_scan_filter(scan, "luck", 4, &error) && said(""));
  size_t cuts = 0;
  CHECK(rocksieve_scan_cuts(scan, 5, on_cut, &cuts, &error) && cuts < 5);
  CHECK(!rocksieve_scan_cuts(scan, 0, on_cut, &cuts, &error) && said("one part"));
  CHECK(!rocksieve_scan_cuts(scan, 5, NULL, &cuts, &error) && said("nothing to call"));
  CHECK(rocksieve_scan_open(scan, &rows, &error));
  rocksieve_scan_counts_t counts;
  uint64_t given = 0;
  for (struct ArrowArray batch; rows.get_next(&rows, &batch) == 0 && batch.release != NULL;) {
    CHECK(batch.length <= 1000 && batch.n_children == 2);
    given += (uint64_t)batch.length;
    batch.release(&batch);
    rocksieve_scan_counts(scan, &counts);
    CHECK(counts.rows_given == given);
  }
  CHECK(given > 1000 && counts.rows_read == given && counts.digest != 0);
  rows.release(&rows);
  CHECK(rocksieve_scan_set(scan, "expect", "1", 1, &error));
  CHECK(rocksieve_scan_open(scan, &rows, &error));
  rocksieve_scan_destroy(scan); /* the stream goes on */
  struct ArrowArray batch;
  while (rows.get_next(&rows, &batch) == 0) batch.release(&batch);
  CHECK(strstr(rows.get_last_error(&rows), database) != NULL);
  rows.release(&rows);

  CHECK(!rocksieve_scan_set(NULL, "db", "x", 1, &error) && said("no scan"));
  CHECK(!rocksieve_scan_filter(NULL, "x", 1, &error) && said("no scan"));
  CHECK(!rocksieve_scan_open(NULL, &rows, &error) && said("no scan"));
  rocksieve_scan_counts(NULL, &counts);
  CHECK(counts.rows_read == 0);
  rocksieve_scan_destroy(NULL);
}

int main(int count, char** arguments) {
  CHECK(count == 3);
  scans(arguments[1]);
  rocksieve_server_t* server = rocksieve_server_create(&error);
  CHECK(server != NULL && rocksieve_server_address(server)[0] == '\0');
  CHECK(!rocksieve_server_start(server, &error) && said("set db"));
  CHECK(rocksieve_server_set(server, "db", arguments[2], &error));
  CHECK(!rocksieve_server_start(server, &error) && said("set listen"));
  CHECK(rocksieve_server_set(server, "listen", "127.0.0.1:0", &error));
  CHECK(!rocksieve_server_set(server, "sessions", "0", &error) && said("from 1 to 1000, not 0"));
  CHECK(!rocksieve_server_set(server, "luck", "1", &error) &&
        said("it has ca, cert, column-family"));
  CHECK(!rocksieve_server_start(server, &error) && said("")); /* neither TLS nor insecure */
  CHECK(rocksieve_server_set(server, "insecure", "true", &error));
  CHECK(rocksieve_server_start(server, &error));
  CHECK(!rocksieve_server_start(server, &error) && said("already"));
  CHECK(!rocksieve_server_set(server, "sessions", "2", &error) && said("already"));
  const char* address = rocksieve_server_address(server);
  CHECK(strncmp(address, "127.0.0.1:", 10) == 0 && strcmp(address, "127.0.0.1:0") != 0);

  rocksieve_join_t* join = rocksieve_join_create("intersection", &error);
  CHECK(join != NULL && rocksieve_join_set(join, "db", arguments[1], &error));
  CHECK(rocksieve_join_set(join, "remote", address, &error));
  CHECK(rocksieve_join_set(join, "insecure", "true", &error));
  struct rows rows = {0, 0};
  rocksieve_join_counts_t counts;
  CHECK(rocksieve_join_run(join, on_row, &rows, &counts, &error));
  CHECK(rows.count == counts.matched_keys && counts.rows_received == rows.count);
  printf("%llu\n", (unsigned long long)rows.count);
  rows.count = 0;
  rows.most = 3;
  CHECK(!rocksieve_join_run(join, on_row, &rows, NULL, &error) && said("on_row"));
  CHECK(rows.count == 3);
  rocksieve_server_counts_t served;
  /* The server sees the end of a session a little later than the client. */
  const struct timespec moment = {0, 10000000};
  for (int tries = 0; tries < 1000; tries++) {
    CHECK(rocksieve_server_counts(server, &served, &error));
    if (served.sessions == 0 && served.done >= 1) break;
    nanosleep(&moment, NULL);
  }
  CHECK(served.done >= 1 && served.rows_sent >= counts.rows_received && served.bytes_sent > 0);
  CHECK(!rocksieve_server_counts(server, NULL, &error) && said("no place"));
  rocksieve_join_cancel(join);
  CHECK(!rocksieve_join_run(join, NULL, NULL, NULL, &error) && error != NULL);
  free(error);
  error = NULL;
  rocksieve_join_destroy(join);
  rocksieve_server_stop(server, 100);
  rocksieve_server_stop(server, 0);
  rocksieve_server_destroy(server);

  CHECK(!rocksieve_server_set(NULL, "db", "x", &error) && said("there is no server"));
  CHECK(!rocksieve_server_start(NULL, &error) && said("there is no server"));
  CHECK(!rocksieve_server_counts(NULL, &served, &error) && said("there is no server"));
  CHECK(rocksieve_server_address(NULL)[0] == '\0');
  rocksieve_server_stop(NULL, 0);
  rocksieve_server_destroy(NULL);
  CHECK(rocksieve_join_create("luck", &error) == NULL && said("luck"));
  CHECK(!rocksieve_join_set(NULL, "db", "x", &error) && said("there is no join"));
  CHECK(!rocksieve_join_run(NULL, NULL, NULL, &counts, &error) && said("there is no join"));
  rocksieve_join_cancel(NULL);
  rocksieve_join_destroy(NULL);
  return 0;
}
