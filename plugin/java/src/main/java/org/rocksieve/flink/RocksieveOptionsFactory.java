// SPDX-License-Identifier: Apache-2.0
package org.rocksieve.flink;

import java.util.Collection;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.state.rocksdb.ConfigurableRocksDBOptionsFactory;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.TableFormatConfig;
import org.rocksieve.RocksieveFilter;

/**
 * rocksieve's filters in the state of Flink 2:
 *
 * <pre>
 * state.backend.rocksdb.options-factory: org.rocksieve.flink.RocksieveOptionsFactory
 * </pre>
 *
 * <p>Where {@link #FILTER} does not fit, it is set in the same configuration.
 *
 * <p>Flink puts its own Bloom filter in place of any other where
 * {@code state.backend.rocksdb.memory.partitioned-index-filters} is on.
 */
public final class RocksieveOptionsFactory implements ConfigurableRocksDBOptionsFactory {
  private static final long serialVersionUID = 1L;

  /** The filter, see {@link RocksieveFilter}; by default {@code rocksieve.ribbon:10}. */
  public static final ConfigOption<String> FILTER =
      ConfigOptions.key("rocksieve.filter").stringType().defaultValue("rocksieve.ribbon:10");

  /** The spec of the filter. */
  private String spec = FILTER.defaultValue();

  /** For Flink, which makes it by its name. */
  public RocksieveOptionsFactory() {}

  @Override
  public RocksieveOptionsFactory configure(ReadableConfig configuration) {
    spec = configuration.get(FILTER);
    return this;
  }

  @Override
  public DBOptions createDBOptions(DBOptions options, Collection<AutoCloseable> handlesToClose) {
    return options;
  }

  /**
   * @throws IllegalArgumentException if the filter cannot be honoured; says what is allowed
   * @throws UnsupportedOperationException if the jar has nothing for this RocksDB or this machine
   */
  @Override
  public ColumnFamilyOptions createColumnOptions(
      ColumnFamilyOptions options, Collection<AutoCloseable> handlesToClose) {
    final TableFormatConfig set = options.tableFormatConfig();
    final BlockBasedTableConfig table =
        set instanceof BlockBasedTableConfig config ? config : new BlockBasedTableConfig();
    final RocksieveFilter filter = new RocksieveFilter(spec);
    handlesToClose.add(filter);
    return options.setTableFormatConfig(table.setFilterPolicy(filter));
  }
}
