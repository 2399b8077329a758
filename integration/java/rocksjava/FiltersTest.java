// SPDX-License-Identifier: Apache-2.0

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.ConfigOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.Filter;
import org.rocksdb.FlushOptions;
import org.rocksdb.IndexType;
import org.rocksdb.Options;
import org.rocksdb.OptionsUtil;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.Statistics;
import org.rocksdb.TickerType;
import org.rocksieve.Rocksieve;
import org.rocksieve.RocksieveFilter;

/** Filters in databases of RocksJava, beside a map that knows what every lookup must give. */
class FiltersTest {
  private static final int UNIVERSE = 20_000;
  private static final int STEPS = 9;

  private final Map<Integer, Integer> oracle = new HashMap<>();
  private final long seed = Long.getLong("seed", System.nanoTime());
  private final Random random = new Random(seed);

  @TempDir Path directory;

  /** "name", then what is special about the way that the filter is used. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "rocksieve.bloom:10", "rocksieve.cuckoo:12", "rocksieve.ribbon:10", "rocksieve.auto:10",
        "rocksieve.ribbon:1%", "rocksieve.bloom:10:salted", "rocksieve.bloom:10 partitioned",
        "rocksieve.ribbon:10 partitioned", "rocksieve.auto:10 partitioned",
        "rocksieve.ribbon:10 prefixes", "rocksieve.cuckoo:12 prefixes"
      })
  void noKeyIsLost(String name) throws Exception {
    final String[] words = name.split(" ");
    final String way = words.length > 1 ? words[1] : "";
    long useful = 0;
    for (int step = 0; step < STEPS; step++) {
      // Files of all three kinds lie beside each other.
      final Filter filter =
          step % 3 < 2 ? new RocksieveFilter(words[0]) : step == 2 ? new BloomFilter(10) : null;
      useful += change(filter, way, step % 3 == 1);
      if (step == 0) {
        assertTrue(filesHave("rocksieve."), "no file has a filter of rocksieve");
      }
    }
    assertTrue(useful > 0, "no filter was of use");
  }

  @Test
  void aProgramWithoutRocksieveFindsEveryKey() throws Exception {
    change(new RocksieveFilter("rocksieve.ribbon:10"), "", true);
    final StringBuilder keys = new StringBuilder();
    for (int key = 0; key < UNIVERSE; key++) {
      keys.append(oracle.containsKey(key) ? oracle.get(key) : "-").append('\n');
    }
    Files.writeString(directory.resolve("expected"), keys);
    final String classes = Path.of("target", "test-classes").toString();
    final String rocksdb =
        Path.of(RocksDB.class.getProtectionDomain().getCodeSource().getLocation().toURI()).toString();
    final Process without =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
                classes + ":" + rocksdb, "WithoutRocksieve", directory.resolve("db").toString(),
                directory.resolve("expected").toString())
            .redirectErrorStream(true)
            .start();
    final String said = new String(without.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, without.waitFor(), said);
    assertTrue(said.contains("no rocksieve; " + UNIVERSE + " lookups right"), said);
  }

  @Test
  void aWrongSpecSaysWhatIsAllowed() {
    final IllegalArgumentException wrong =
        assertThrows(IllegalArgumentException.class, () -> new RocksieveFilter("rocksieve.bloom:x"));
    assertTrue(wrong.getMessage().contains("rocksieve.bloom:x"), wrong.getMessage());
    assertTrue(wrong.getMessage().contains("for example rocksieve."), wrong.getMessage());
    assertThrows(IllegalArgumentException.class, () -> new RocksieveFilter(""));
    assertThrows(IllegalArgumentException.class, () -> new RocksieveFilter(null));
    assertThrows(IllegalArgumentException.class, () -> new RocksieveFilter("rocksieve.bloom:\uD83D\uDE00"));
  }

  @Test
  void aDatabaseKeepsAFilterThatWasClosed() throws Exception {
    final Options options = new Options().setCreateIfMissing(true);
    final RocksieveFilter filter = new RocksieveFilter("rocksieve.ribbon:10");
    options.setTableFormatConfig(new BlockBasedTableConfig().setFilterPolicy(filter));
    try (RocksDB db = RocksDB.open(options, directory.resolve("db").toString())) {
      filter.close();
      options.close();
      System.gc();
      for (int round = 0; round < 3; round++) {
        write(db, 5000);
        flush(db);
      }
      db.compactRange();
      check(db);
    }
    assertTrue(filesHave("rocksieve."));
  }

  @Test
  void optionStringsAndFilesKnowTheNames() throws Exception {
    Rocksieve.load();
    final Properties properties = new Properties();
    properties.setProperty(
        "block_based_table_factory", "{filter_policy=rocksieve.ribbon:10}");
    final Properties listener = new Properties();
    listener.setProperty("listeners", "{rocksieve.listener}");
    final String path = directory.resolve("db").toString();
    try (DBOptions dbOptions = DBOptions.getDBOptionsFromProps(listener);
        ColumnFamilyOptions family =
            ColumnFamilyOptions.getColumnFamilyOptionsFromProps(properties);
        Options options = new Options(dbOptions, family);
        RocksDB db = RocksDB.open(options.setCreateIfMissing(true), path)) {
      write(db, 5000);
      flush(db);
      check(db);
    }
    assertTrue(filesHave("rocksieve."));
    final List<ColumnFamilyDescriptor> families = new ArrayList<>();
    final List<ColumnFamilyHandle> handles = new ArrayList<>();
    try (ConfigOptions config = new ConfigOptions();
        DBOptions dbOptions = new DBOptions()) {
      OptionsUtil.loadLatestOptions(config, path, dbOptions, families);
      try (RocksDB db = RocksDB.open(dbOptions, path, families, handles)) {
        check(db);
        write(db, 5000);
        flush(db);
        db.compactRange();
        check(db);
        handles.forEach(ColumnFamilyHandle::close);
      }
    }
    assertTrue(filesHave("rocksieve."));
  }

  private long change(Filter filter, String way, boolean compact) throws Exception {
    final BlockBasedTableConfig table = new BlockBasedTableConfig();
    try (filter;
        Statistics statistics = new Statistics();
        Options options =
            new Options().setCreateIfMissing(true).setStatistics(statistics).setWriteBufferSize(64 << 10)) {
      if (filter != null) {
        table.setFilterPolicy(filter);
      }
      if (way.equals("partitioned")) {
        table.setPartitionFilters(true).setIndexType(IndexType.kTwoLevelIndexSearch);
        table.setMetadataBlockSize(512);
      } else if (way.equals("prefixes")) {
        options.useFixedLengthPrefixExtractor(5);
      }
      options.setTableFormatConfig(table);
      try (RocksDB db = RocksDB.open(options, directory.resolve("db").toString())) {
        check(db);  // what the last one wrote
        write(db, UNIVERSE / 2);
        flush(db);
        check(db);
        if (compact) {
          db.compactRange();
          check(db);
        }
      }
      return statistics.getTickerCount(TickerType.BLOOM_FILTER_USEFUL);
    }
  }

  private void write(RocksDB db, int changes) throws RocksDBException {
    for (int i = 0; i < changes; i++) {
      final int key = random.nextInt(UNIVERSE);
      if (random.nextInt(4) == 0) {
        db.delete(bytesOf(key));
        oracle.remove(key);
      } else {
        db.put(bytesOf(key), Integer.toString(i).getBytes(StandardCharsets.US_ASCII));
        oracle.put(key, i);
      }
    }
  }

  private static void flush(RocksDB db) throws RocksDBException {
    try (FlushOptions options = new FlushOptions()) {
      db.flush(options);
    }
  }

  private void check(RocksDB db) throws RocksDBException {
    final List<byte[]> keys = new ArrayList<>();
    for (int key = 0; key < UNIVERSE; key++) {
      checkOne(key, db.get(bytesOf(key)));
      keys.add(bytesOf(key));
    }
    final List<byte[]> values = db.multiGetAsList(keys);
    for (int key = 0; key < UNIVERSE; key++) {
      checkOne(key, values.get(key));
    }
  }

  private void checkOne(int key, byte[] value) {
    final Integer expected = oracle.get(key);
    if (expected == null) {
      assertNull(value, () -> "key " + key + " was deleted; seed " + seed);
    } else {
      assertNotNull(value, () -> "key " + key + " is lost; seed " + seed);
      assertArrayEquals(Integer.toString(expected).getBytes(StandardCharsets.US_ASCII), value,
          () -> "key " + key + "; seed " + seed);
    }
  }

  private static byte[] bytesOf(int key) {
    return String.format("%06d", key).getBytes(StandardCharsets.US_ASCII);
  }

  private boolean filesHave(String text) throws Exception {
    boolean any = false;
    try (var files = Files.newDirectoryStream(directory.resolve("db"), "*.sst")) {
      for (Path file : files) {
        final String bytes = Files.readString(file, StandardCharsets.ISO_8859_1);
        any = any || bytes.contains(text);
      }
    }
    return any;
  }
}
