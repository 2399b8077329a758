/* SPDX-License-Identifier: Apache-2.0 */
/* Each function of librocksieve_filters.so, called from C11 as its header says, and with nonsense.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rocksieve/c.h>
#include <rocksieve/c_arrow.h>

#include "c_check.h"

static size_t key_of(int number, char* key) { return (size_t)sprintf(key, "key %d", number); }

static void static_filters(void) {
  char key[32];
  rocksieve_builder_t* builder = rocksieve_builder_create("rocksieve.range:14:order-8", &error);
  CHECK(builder != NULL);
  for (int i = 0; i < 1000; i++) rocksieve_builder_add(builder, key, key_of(i, key));
  size_t size = 0;
  char* bytes = rocksieve_builder_finish(builder, &size, &error);
  CHECK(bytes != NULL && size > 1000);
  rocksieve_builder_destroy(builder);
  rocksieve_filter_t* filter = rocksieve_filter_open(bytes, size, &error);
  CHECK(filter != NULL && rocksieve_filter_key_count(filter) == 1000);
  for (int i = 0; i < 1000; i++) {
    CHECK(rocksieve_filter_may_contain(filter, key, key_of(i, key)));
  }
  int passed = 0;
  for (int i = 1000; i < 11000; i++)
    passed += rocksieve_filter_may_contain(filter, key, key_of(i, key));
  CHECK(passed < 500 && rocksieve_filter_false_positive_rate(filter) < 0.05);
  CHECK(rocksieve_filter_may_contain_range(filter, "key", 3, "kez", 3));
  CHECK(!rocksieve_filter_may_contain_range(filter, "key 12x", 7, "key 12y", 7));
  CHECK(rocksieve_filter_may_contain_range(filter, NULL, 1, "y", 1));
  CHECK(rocksieve_filter_may_contain_range(NULL, "x", 1, "y", 1));
  CHECK(rocksieve_filter_false_positive_rate(NULL) == 1 && rocksieve_filter_key_count(NULL) == 0);
  rocksieve_filter_destroy(filter);
  bytes[size / 2] ^= 1;
  CHECK(rocksieve_filter_open(bytes, size, &error) == NULL && said("damaged"));
  free(bytes);
  CHECK(rocksieve_builder_create("rocksieve.blom:10", &error) == NULL && said("blom"));
  CHECK(rocksieve_builder_create(NULL, NULL) == NULL);
  CHECK(rocksieve_filter_open(NULL, 1000000000, NULL) == NULL);
  rocksieve_builder_add(NULL, "key", 3);
  CHECK(rocksieve_builder_finish(NULL, &size, NULL) == NULL);
  builder = rocksieve_builder_create("rocksieve.bloom:10", NULL);
  CHECK(rocksieve_builder_finish(builder, NULL, NULL) == NULL);
  /* A key that could not be taken must not become one that "is not there". */
  rocksieve_builder_add(builder, NULL, 5);
  CHECK(rocksieve_builder_finish(builder, &size, NULL) == NULL);
  bytes = rocksieve_builder_finish(builder, &size, NULL);
  CHECK(bytes != NULL && size > 0);
  free(bytes);
  rocksieve_builder_destroy(builder);
}

static void dynamic_filter(const char* kind) {
  char key[32];
  rocksieve_dynamic_t* filter = rocksieve_dynamic_create(kind, 4000, 0.01, 42, &error);
  CHECK(filter != NULL && strcmp(rocksieve_dynamic_kind(filter), kind) == 0);
  for (int i = 0; i < 1000; i++) CHECK(rocksieve_dynamic_add(filter, key, key_of(i, key), &error));
  CHECK(rocksieve_dynamic_add(filter, NULL, 0, &error));
  CHECK(!rocksieve_dynamic_add(filter, NULL, 1, &error) && said("no key"));
  for (int i = 0; i < 1000; i++) {
    CHECK(rocksieve_dynamic_may_contain(filter, key, key_of(i, key)));
    CHECK(rocksieve_dynamic_count(filter, key, key_of(i, key)) >= 1);
  }
  int passed = 0;
  for (int i = 1000; i < 11000; i++)
    passed += rocksieve_dynamic_may_contain(filter, key, key_of(i, key));
  CHECK(passed < 200);
  const double rate = rocksieve_dynamic_false_positive_rate(filter);
  CHECK(rate > 0 && rate <= 0.011 && fabs(passed / 10000.0 - rate) < 0.005);
  CHECK(rocksieve_dynamic_memory_bytes(filter) > 1000);

  size_t size = 0;
  char* bytes = rocksieve_dynamic_serialize(filter, &size, &error);
  CHECK(bytes != NULL);
  rocksieve_dynamic_t* copy = rocksieve_dynamic_deserialize(bytes, size, &error);
  CHECK(copy != NULL && strcmp(rocksieve_dynamic_kind(copy), kind) == 0);
  for (int i = 0; i < 1000; i++) CHECK(rocksieve_dynamic_may_contain(copy, key, key_of(i, key)));
  CHECK(rocksieve_estimator_deserialize(bytes, size, &error) == NULL && said("another type"));
  bytes[size - 20] ^= 1;
  CHECK(rocksieve_dynamic_deserialize(bytes, size, &error) == NULL && said("damaged"));
  free(bytes);

  const int gives_back = strcmp(kind, "counting-bloom") == 0 || strcmp(kind, "cuckoo") == 0;
  if (gives_back) {
    for (int i = 0; i < 1000; i++)
      CHECK(rocksieve_dynamic_remove(copy, key, key_of(i, key), &error));
    CHECK(!rocksieve_dynamic_may_contain(copy, "key 1", 5));
    CHECK(!rocksieve_dynamic_remove(copy, "key 1", 5, &error) && error == NULL);
  } else {
    CHECK(!rocksieve_dynamic_remove(copy, "key 1", 5, &error) && said("counting-bloom or cuckoo"));
  }
  rocksieve_dynamic_destroy(copy);

  rocksieve_dynamic_t* other = rocksieve_dynamic_create(kind, 4000, 0.01, 42, &error);
  CHECK(rocksieve_dynamic_add(other, "other", 5, &error));
  if (strcmp(kind, "scalable-bloom") == 0) {
    CHECK(!rocksieve_dynamic_merge(other, filter, &error) && said("does not merge"));
  } else {
    CHECK(rocksieve_dynamic_merge(other, filter, &error));
    CHECK(rocksieve_dynamic_may_contain(other, "key 1", 5));
    rocksieve_dynamic_t* unlike = rocksieve_dynamic_create(kind, 4000, 0.01, 43, &error);
    CHECK(!rocksieve_dynamic_merge(other, unlike, &error) && said("seed"));
    rocksieve_dynamic_destroy(unlike);
    CHECK(rocksieve_dynamic_merge(filter, filter, &error));
  }
  rocksieve_dynamic_destroy(other);
  rocksieve_dynamic_destroy(filter);
}

static void dynamic_nonsense(void) {
  size_t size = 0;
  CHECK(rocksieve_dynamic_create("blom", 10, 0.01, 0, &error) == NULL);
  CHECK(said("there is no \"blom\"; there are bloom, scalable-bloom, counting-bloom and cuckoo"));
  CHECK(rocksieve_dynamic_create(NULL, 10, 0.01, 0, &error) == NULL && said("there is no \"\""));
  const char* const kinds[] = {"bloom", "scalable-bloom", "counting-bloom", "cuckoo"};
  for (size_t i = 0; i < 4; i++) {
    CHECK(rocksieve_dynamic_create(kinds[i], 10, 0, 0, &error) == NULL && said("rate"));
    CHECK(rocksieve_dynamic_create(kinds[i], 10, NAN, 0, &error) == NULL && said("rate"));
    CHECK(rocksieve_dynamic_create(kinds[i], UINT64_MAX, 0.01, 0, NULL) == NULL);
  }
  /* More memory than there is: no exception crosses the border. */
  CHECK(rocksieve_dynamic_create("bloom", 20000000000000, 0.01, 0, &error) == NULL &&
        said("memory"));
  CHECK(!rocksieve_dynamic_add(NULL, "a", 1, &error) && said("no filter"));
  CHECK(!rocksieve_dynamic_remove(NULL, "a", 1, &error) && said("no filter"));
  CHECK(!rocksieve_dynamic_merge(NULL, NULL, &error) && said("no filter"));
  CHECK(rocksieve_dynamic_may_contain(NULL, "a", 1) && rocksieve_dynamic_count(NULL, "a", 1) > 0);
  CHECK(rocksieve_dynamic_false_positive_rate(NULL) == 1 &&
        rocksieve_dynamic_memory_bytes(NULL) == 0);
  CHECK(rocksieve_dynamic_serialize(NULL, &size, &error) == NULL && said("no filter"));
  CHECK(rocksieve_dynamic_deserialize(NULL, 1000, &error) == NULL && error != NULL);
  CHECK(rocksieve_dynamic_deserialize("nonsense", 8, &error) == NULL && said("RSTB"));
  CHECK(rocksieve_dynamic_kind(NULL)[0] == '\0');
  rocksieve_dynamic_destroy(NULL);
  /* A full one says so, and keeps what it has. */
  rocksieve_dynamic_t* small = rocksieve_dynamic_create("cuckoo", 10, 0.01, 0, &error);
  int added = 0;
  while (added < 1000 && rocksieve_dynamic_add(small, "same", 4, &error)) added++;
  CHECK(added <= 8 && said("no room"));
  CHECK(rocksieve_dynamic_count(small, "same", 4) == (uint64_t)added);
  rocksieve_dynamic_destroy(small);
}

static void sum_top(void* state, const char* key, size_t length, uint64_t count, uint64_t excess) {
  CHECK(length >= 5 && memcmp(key, "key ", 4) == 0 && excess <= count);
  *(uint64_t*)state += count;
}

static void estimator(const char* kind, double wanted) {
  char key[32];
  rocksieve_estimator_t* all = rocksieve_estimator_create(kind, wanted, 7, &error);
  rocksieve_estimator_t* half = rocksieve_estimator_create(kind, wanted, 7, &error);
  CHECK(all != NULL && half != NULL && strcmp(rocksieve_estimator_kind(all), kind) == 0);
  /* Key i comes 3000 / (i + 1) + 1 times. */
  uint64_t sum = 0;
  for (int i = 0; i < 3000; i++) {
    const uint64_t count = (uint64_t)(3000 / (i + 1) + 1);
    sum += count;
    CHECK(rocksieve_estimator_add(all, key, key_of(i, key), count, &error));
    if (i % 2 == 0) CHECK(rocksieve_estimator_add(half, key, key_of(i, key), 1, &error));
  }
  CHECK(rocksieve_estimator_add(all, "never", 5, 0, &error));
  CHECK(!rocksieve_estimator_add(all, NULL, 5, 1, &error) && said("no key"));
  CHECK(rocksieve_estimator_memory_bytes(all) > 100);

  rocksieve_estimate_t found = {0, 0};
  const int counts_distinct =
      strcmp(kind, "hyper-log-log") == 0 || strcmp(kind, "k-minimum-values") == 0;
  if (counts_distinct) {
    CHECK(rocksieve_estimator_distinct(all, &found, &error));
    CHECK(fabs(found.value - 3000) <= 4 * wanted * 3000 &&
          found.standard_error < 3000 * wanted * 1.1);
  } else {
    CHECK(!rocksieve_estimator_distinct(all, &found, &error) && said("hyper-log-log or k-minimum"));
  }
  uint64_t count = 0, excess = 0, top = 0;
  const int counts = strcmp(kind, "count-min-sketch") == 0 || strcmp(kind, "top-k") == 0;
  if (counts) {
    CHECK(rocksieve_estimator_count(all, "key 0", 5, &count, &excess, &error));
    CHECK(count >= 3001 && count - excess <= 3001 && excess <= wanted * (double)sum + 1);
    CHECK(rocksieve_estimator_count(all, "key 0", 5, &count, NULL, &error));
  } else {
    CHECK(!rocksieve_estimator_count(all, "key 0", 5, &count, NULL, &error) && said("or top-k"));
  }
  if (strcmp(kind, "top-k") == 0) {
    CHECK(rocksieve_estimator_top(all, 3, sum_top, &top, &error));
    CHECK(top >= 3001 + 1501 + 1001);
    CHECK(!rocksieve_estimator_top(all, 3, NULL, &top, &error) && said("no place"));
  } else {
    CHECK(!rocksieve_estimator_top(all, 3, sum_top, &top, &error) && said("take top-k"));
  }
  const int compares = strcmp(kind, "min-hash") == 0 || strcmp(kind, "k-minimum-values") == 0;
  if (compares) {
    CHECK(rocksieve_estimator_similarity(all, half, &found, &error));
    CHECK(fabs(found.value - 0.5) < 5 * wanted);
  } else {
    CHECK(!rocksieve_estimator_similarity(all, half, &found, &error) && said("take min-hash or"));
  }
  if (strcmp(kind, "k-minimum-values") == 0) {
    CHECK(rocksieve_estimator_intersection(all, half, &found, &error));
    CHECK(fabs(found.value - 1500) < 5 * wanted * 3000);
  } else {
    CHECK(!rocksieve_estimator_intersection(all, half, &found, &error) && said("take k-minimum"));
  }

  size_t size = 0;
  char* bytes = rocksieve_estimator_serialize(all, &size, &error);
  CHECK(bytes != NULL);
  rocksieve_estimator_t* copy = rocksieve_estimator_deserialize(bytes, size, &error);
  CHECK(copy != NULL && strcmp(rocksieve_estimator_kind(copy), kind) == 0);
  CHECK(rocksieve_dynamic_deserialize(bytes, size, &error) == NULL && said("another type"));
  CHECK(rocksieve_estimator_deserialize(bytes, size - 1, &error) == NULL && said("cut off"));
  free(bytes);
  CHECK(rocksieve_estimator_merge(copy, half, &error));
  CHECK(rocksieve_estimator_merge(copy, copy, &error));
  rocksieve_estimator_t* unlike = rocksieve_estimator_create(kind, wanted, 8, &error);
  CHECK(!rocksieve_estimator_merge(copy, unlike, &error) && said("seed"));
  rocksieve_estimator_destroy(unlike);
  unlike = rocksieve_estimator_create(counts_distinct ? "top-k" : "hyper-log-log", 0.1, 7, &error);
  CHECK(!rocksieve_estimator_merge(copy, unlike, &error) && said("of one kind"));
  if (compares)
    CHECK(!rocksieve_estimator_similarity(copy, unlike, &found, &error) && said("of one kind"));
  rocksieve_estimator_destroy(unlike);
  if (counts) CHECK(!rocksieve_estimator_add(copy, "a", 1, UINT64_MAX, &error) && said("2^64"));
  rocksieve_estimator_destroy(copy);
  rocksieve_estimator_destroy(half);
  rocksieve_estimator_destroy(all);

  CHECK(rocksieve_estimator_create(kind, 0, 0, &error) == NULL && said("error"));
  CHECK(rocksieve_estimator_create(kind, 1, 0, &error) == NULL && said("error"));
  CHECK(rocksieve_estimator_create(kind, NAN, 0, &error) == NULL && said("error"));
  CHECK(rocksieve_estimator_create(kind, 1e-300, 0, NULL) == NULL);
}

static void estimator_nonsense(void) {
  size_t size = 0;
  uint64_t count = 0;
  rocksieve_estimate_t found;
  CHECK(rocksieve_estimator_create("luck", 0.1, 0, &error) == NULL);
  CHECK(said("hyper-log-log, k-minimum-values, count-min-sketch, top-k and min-hash"));
  CHECK(!rocksieve_estimator_add(NULL, "a", 1, 1, &error) && said("no estimator"));
  CHECK(!rocksieve_estimator_distinct(NULL, &found, &error) && said("no estimator"));
  CHECK(!rocksieve_estimator_count(NULL, "a", 1, &count, NULL, &error) && said("no estimator"));
  CHECK(!rocksieve_estimator_top(NULL, 1, sum_top, NULL, &error) && said("no estimator"));
  CHECK(!rocksieve_estimator_similarity(NULL, NULL, &found, &error) && said("no estimator"));
  CHECK(!rocksieve_estimator_intersection(NULL, NULL, &found, &error) && said("no estimator"));
  CHECK(!rocksieve_estimator_merge(NULL, NULL, &error) && said("no estimator"));
  CHECK(rocksieve_estimator_serialize(NULL, &size, &error) == NULL && said("no estimator"));
  CHECK(rocksieve_estimator_deserialize(NULL, 1000, NULL) == NULL);
  CHECK(rocksieve_estimator_memory_bytes(NULL) == 0 && rocksieve_estimator_kind(NULL)[0] == '\0');
  rocksieve_estimator_destroy(NULL);
  rocksieve_estimator_t* top = rocksieve_estimator_create("top-k", 0.1, 0, &error);
  CHECK(!rocksieve_estimator_count(top, "a", 1, NULL, NULL, &error) && said("no place"));
  rocksieve_estimator_destroy(top);
}

static void release_nothing(struct ArrowSchema* schema) { schema->release = NULL; }
static void release_no_array(struct ArrowArray* array) { array->release = NULL; }

static void columns_of_arrow(void) {
  /* "ab", null, "", "cd" */
  const uint8_t validity[] = {0xd};
  const int32_t offsets[] = {0, 2, 2, 2, 4};
  const void* const buffers[] = {validity, offsets, "abcd"};
  struct ArrowSchema schema = {0};
  struct ArrowArray array = {0};
  schema.format = "z";
  schema.release = release_nothing;
  array.length = 4;
  array.null_count = 1;
  array.n_buffers = 3;
  array.buffers = (const void**)buffers;
  array.release = release_no_array;
  rocksieve_builder_t* builder = rocksieve_builder_create("rocksieve.ribbon:30", &error);
  CHECK(rocksieve_builder_add_arrow(builder, &schema, &array, NULL, &error));
  size_t size = 0;
  char* bytes = rocksieve_builder_finish(builder, &size, &error);
  rocksieve_filter_t* filter = rocksieve_filter_open(bytes, size, &error);
  CHECK(filter != NULL && rocksieve_filter_key_count(filter) == 3);
  uint8_t bits[] = {0xff, 0xff};
  CHECK(rocksieve_filter_may_contain_arrow(filter, &schema, &array, NULL, bits, 6, &error));
  CHECK(bits[0] == 0x7f && bits[1] == 0xff); /* the null's bit alone */
  rocksieve_dynamic_t* dynamic = rocksieve_dynamic_create("bloom", 10, 0.0001, 0, &error);
  CHECK(!rocksieve_dynamic_add_arrow(dynamic, &schema, &array, "key", &error) && said("key"));
  CHECK(rocksieve_dynamic_add_arrow(dynamic, &schema, &array, NULL, &error));
  CHECK(rocksieve_dynamic_may_contain(dynamic, "cd", 2));
  CHECK(rocksieve_dynamic_may_contain_arrow(dynamic, &schema, &array, NULL, bits, 0, &error));
  CHECK((bits[0] & 0xf) == 0xd);
  struct ArrowSchema booleans;
  struct ArrowArray answers;
  CHECK(rocksieve_arrow_booleans(bits, 4, &booleans, &answers, &error));
  CHECK(strcmp(booleans.format, "b") == 0 && answers.length == 4 && answers.null_count == 0);
  CHECK((((const uint8_t*)answers.buffers[1])[0] & 0xf) == 0xd);
  answers.release(&answers);
  booleans.release(&booleans);
  CHECK(answers.release == NULL && booleans.release == NULL);

  array.length = -1;
  CHECK(!rocksieve_builder_add_arrow(builder, &schema, &array, NULL, &error) && said("length"));
  CHECK(!rocksieve_builder_add_arrow(NULL, &schema, &array, NULL, &error) && said("nothing"));
  CHECK(!rocksieve_builder_add_arrow(builder, NULL, &array, NULL, &error) && said("no schema"));
  CHECK(!rocksieve_dynamic_add_arrow(dynamic, &schema, NULL, NULL, &error) && said("released"));
  CHECK(!rocksieve_filter_may_contain_arrow(NULL, &schema, &array, NULL, bits, 0, &error));
  CHECK(said("no filter"));
  CHECK(!rocksieve_dynamic_may_contain_arrow(dynamic, &schema, &array, NULL, NULL, 0, NULL));
  CHECK(!rocksieve_arrow_booleans(NULL, 1, &booleans, &answers, &error) && said("no bits"));
  rocksieve_arrow_capsule_destructor(NULL); /* there is no Python */
  rocksieve_dynamic_destroy(dynamic);
  rocksieve_filter_destroy(filter);
  rocksieve_builder_destroy(builder);
  free(bytes);
}

int main(void) {
  static_filters();
  columns_of_arrow();
  const char* const kinds[] = {"bloom", "scalable-bloom", "counting-bloom", "cuckoo"};
  for (size_t i = 0; i < 4; i++) dynamic_filter(kinds[i]);
  dynamic_nonsense();
  estimator("hyper-log-log", 0.02);
  estimator("k-minimum-values", 0.03);
  estimator("count-min-sketch", 0.001);
  estimator("top-k", 0.001);
  estimator("min-hash", 0.03);
  estimator_nonsense();
  puts("all as promised");
  return 0;
}
