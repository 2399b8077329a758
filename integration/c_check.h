// SPDX-License-Identifier: Apache-2.0
/* What programs that call each function of a C interface check it with. */
#ifndef ROCKSIEVE_INTEGRATION_C_CHECK_H_
#define ROCKSIEVE_INTEGRATION_C_CHECK_H_

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(holds)                                                                      \
  do {                                                                                    \
    if (!(holds)) {                                                                       \
      fprintf(stderr, "line %d: %s: %s\n", __LINE__, #holds, error ? error : "no error"); \
      exit(1);                                                                            \
    }                                                                                     \
  } while (0)

static char* error = NULL;

/* Whether the call before has said something with these words in it; forgets it. */
static int said(const char* words) {
  const int result = error != NULL && strstr(error, words) != NULL;
  if (result) {
    free(error);
    error = NULL;
  }
  return result;
}

#endif
