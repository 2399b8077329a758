// SPDX-License-Identifier: Apache-2.0
package org.rocksieve;

/** rocksieve in a JVM. */
public final class Rocksieve {
  private Rocksieve() {}

  /**
   * Makes the names of rocksieve's policies and listeners known to RocksDB, for option strings and
   * OPTIONS files, such as {@code OptionsUtil.loadLatestOptions()} reads. {@link RocksieveFilter} calls
   * it. Threads may call it, any number of times.
   *
   * <p>A RocksDB into which it is loaded stays in memory, even if its class loader is closed.
   *
   * @throws UnsupportedOperationException if the jar has nothing for this RocksDB or this machine;
   *     says what it has
   */
  public static void load() {
    NativeLibrary.load();
  }
}
