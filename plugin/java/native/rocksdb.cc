// SPDX-License-Identifier: Apache-2.0
// Nothing: the library that the plugin is linked to in RocksDB's place (CMakeLists.txt).
