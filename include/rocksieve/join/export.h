// SPDX-License-Identifier: Apache-2.0
// What librocksieve_join.so exports.
#pragma once

#ifndef ROCKSIEVE_EXPORT
#if defined(__GNUC__)
#define ROCKSIEVE_EXPORT __attribute__((visibility("default")))
#else
#define ROCKSIEVE_EXPORT
#endif
#endif
