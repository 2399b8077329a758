// SPDX-License-Identifier: Apache-2.0

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.Filter;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.Statistics;
import org.rocksdb.TickerType;
import org.rocksieve.RocksieveFilter;

/** What lookups of absent keys cost in RocksJava, with its own Bloom filter and with rocksieve's. */
public final class Example {
  private static final int KEYS = 1_000_000;
  private static final int LOOKUPS = 1_000_000;

  public static void main(String[] arguments) throws Exception {
    RocksDB.loadLibrary();
    System.out.println("RocksDB " + RocksDB.rocksdbVersion() + ", " + KEYS + " keys, " + LOOKUPS
        + " lookups of absent keys for each filter");
    System.out.printf("%-20s %30s %15s%n", "filter", "data blocks per 1,000 lookups", "µs per lookup");
    measure("BloomFilter(10)", new BloomFilter(10));
    // This is all: the name of a filter of rocksieve in the place of a BloomFilter.
    for (String spec : new String[] {"rocksieve.bloom:10", "rocksieve.ribbon:10"}) {
      measure(spec, new RocksieveFilter(spec));
    }
  }

  private static void measure(String name, Filter filter) throws Exception {
    final Path directory = Files.createTempDirectory("example");
    try (filter;
        Statistics statistics = new Statistics();
        Options options =
            new Options()
                .setCreateIfMissing(true)
                .setStatistics(statistics)
                .setTableFormatConfig(new BlockBasedTableConfig().setFilterPolicy(filter));
        RocksDB db = RocksDB.open(options, directory.toString())) {
      for (int i = 0; i < KEYS; i++) {
        db.put(key(2 * i), key(i));
      }
      db.compactRange();
      final long blocksBefore = dataBlocks(statistics);
      final long start = System.nanoTime();
      for (int i = 0; i < LOOKUPS; i++) {
        if (db.get(key(2 * (int) (i * 7919L % KEYS) + 1)) != null) {
          throw new IllegalStateException("found what was never written");
        }
      }
      final double microseconds = (System.nanoTime() - start) / 1e3 / LOOKUPS;
      final double blocks = 1e3 * (dataBlocks(statistics) - blocksBefore) / LOOKUPS;
      System.out.printf("%-20s %30.2f %15.2f%n", name, blocks, microseconds);
    } finally {
      try (Stream<Path> files = Files.walk(directory)) {
        files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
      }
    }
  }

  private static long dataBlocks(Statistics statistics) {
    return statistics.getTickerCount(TickerType.BLOCK_CACHE_DATA_HIT)
        + statistics.getTickerCount(TickerType.BLOCK_CACHE_DATA_MISS);
  }

  private static byte[] key(int number) {
    return ByteBuffer.allocate(8).putLong(number).array();
  }
}
