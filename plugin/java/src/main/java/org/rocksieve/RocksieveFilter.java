// SPDX-License-Identifier: Apache-2.0
package org.rocksieve;

import org.rocksdb.Filter;

/**
 * A filter of rocksieve in the place of RocksJava's {@link org.rocksdb.BloomFilter}:
 *
 * <pre>{@code
 * new BlockBasedTableConfig().setFilterPolicy(new RocksieveFilter("rocksieve.ribbon:10"));
 * }</pre>
 *
 * <p>New files get its filters. Files that have others keep them, and both are used. A program
 * without rocksieve opens the database as well, and reads as if the files had no filters.
 *
 * <p>Threads may share one. Close it when the options that have it are closed; open databases go on
 * using it.
 */
public final class RocksieveFilter extends Filter {
  /**
   * Loads rocksieve into the RocksDB of this class loader, if that has not been done.
   *
   * @param spec the filter, such as {@code rocksieve.bloom:10}, {@code rocksieve.ribbon:10},
   *     {@code rocksieve.cuckoo:12} or {@code rocksieve.auto:10}: a family and its bits per key
   * @throws IllegalArgumentException if the spec cannot be honoured; says what is allowed
   * @throws UnsupportedOperationException if the jar has nothing for this RocksDB or this machine;
   *     says what it has
   */
  public RocksieveFilter(String spec) {
    super(make(spec));
  }

  private static long make(String spec) {
    if (spec == null) {
      throw new IllegalArgumentException("rocksieve: the spec is null");
    }
    Rocksieve.load();
    return newPolicy(spec);
  }

  private static native long newPolicy(String spec);
}
