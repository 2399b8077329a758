// SPDX-License-Identifier: Apache-2.0
package org.rocksieve.kafka;

import java.util.Map;
import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.Options;
import org.rocksieve.RocksieveFilter;

/**
 * rocksieve's filters in the stores of Kafka Streams:
 *
 * <pre>
 * rocksdb.config.setter=org.rocksieve.kafka.RocksieveConfigSetter
 * </pre>
 *
 * <p>Further properties, where the defaults do not fit: {@value #FILTER}, and {@value #LAST_LEVEL}.
 */
public final class RocksieveConfigSetter implements RocksDBConfigSetter {
  /** The filter, see {@link RocksieveFilter}; by default {@value #DEFAULT_FILTER}. */
  public static final String FILTER = "rocksieve.filter";

  /** What {@link #FILTER} is if it is not set. */
  public static final String DEFAULT_FILTER = "rocksieve.ribbon:10";

  /**
   * Whether files of the last level have filters as well; by default {@code false}, as Kafka Streams has
   * it, for stores that mostly have the keys that they are asked for. {@code true} if many are absent.
   */
  public static final String LAST_LEVEL = "rocksieve.filter.last.level";

  private RocksieveFilter filter;

  /** For Kafka Streams, which makes one for each store. */
  public RocksieveConfigSetter() {}

  /**
   * @throws IllegalArgumentException if the filter cannot be honoured; says what is allowed
   * @throws UnsupportedOperationException if the jar has nothing for this RocksDB or this machine
   */
  @Override
  public void setConfig(String storeName, Options options, Map<String, Object> configs) {
    filter = new RocksieveFilter(String.valueOf(configs.getOrDefault(FILTER, DEFAULT_FILTER)));
    if (Boolean.parseBoolean(String.valueOf(configs.get(LAST_LEVEL)))) {
      options.setOptimizeFiltersForHits(false);
    }
    // Kafka's own, which it asks for its cache.
    final BlockBasedTableConfig table = (BlockBasedTableConfig) options.tableFormatConfig();
    options.setTableFormatConfig(table.setFilterPolicy(filter));
  }

  @Override
  public void close(String storeName, Options options) {
    if (filter != null) {
      filter.close();
    }
  }
}
