// SPDX-License-Identifier: Apache-2.0
// Nothing: the library that builds are linked to in RocksDB's place (plugin/CMakeLists.txt).
