// SPDX-License-Identifier: Apache-2.0

import java.nio.ByteBuffer;
import java.util.concurrent.Callable;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.Statistics;
import org.rocksdb.TickerType;
import org.rocksieve.RocksieveFilter;

/**
 * Writes a database with the RocksDB of its class loader, a million lookups in it, half of them of keys
 * that are there, and gives the release of RocksDB.
 */
public final class LookupsTask implements Callable<String> {
  private static final int KEYS = 500_000;

  private final String path;

  public LookupsTask(String path) {
    this.path = path;
  }

  @Override
  public String call() throws Exception {
    try (RocksieveFilter filter = new RocksieveFilter("rocksieve.ribbon:10");
        Statistics statistics = new Statistics();
        Options options =
            new Options()
                .setCreateIfMissing(true)
                .setStatistics(statistics)
                .setTableFormatConfig(new BlockBasedTableConfig().setFilterPolicy(filter));
        RocksDB db = RocksDB.open(options, path)) {
      for (int i = 0; i < KEYS; i++) {
        db.put(key(2 * i), key(i));
      }
      db.compactRange();
      for (int i = 0; i < 2 * KEYS; i++) {
        if ((db.get(key(i)) != null) != (i % 2 == 0)) {
          throw new IllegalStateException("key " + i + " is " + (i % 2 == 0 ? "lost" : "a ghost"));
        }
      }
      // A policy of 10 bits per key in a ribbon lets one in a thousand pass; one of RocksDB's, nine.
      final long useful = statistics.getTickerCount(TickerType.BLOOM_FILTER_USEFUL);
      if (useful < KEYS * 0.997 || useful > KEYS) {
        throw new IllegalStateException("filters answered " + useful + " of " + KEYS);
      }
      return RocksDB.rocksdbVersion().toString();
    }
  }

  private static byte[] key(int number) {
    return ByteBuffer.allocate(8).putLong(number).array();
  }
}
