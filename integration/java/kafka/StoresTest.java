// SPDX-License-Identifier: Apache-2.0

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import org.apache.kafka.common.serialization.IntegerDeserializer;
import org.apache.kafka.common.serialization.IntegerSerializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.Options;
import org.rocksdb.Statistics;
import org.rocksdb.TickerType;
import org.rocksieve.RocksieveFilter;
import org.rocksieve.kafka.RocksieveConfigSetter;

/** Stores of Kafka Streams with rocksieve's filters, beside a map. */
class StoresTest {
  private static final int UNIVERSE = 200_000;
  private static final int RECORDS = 300_000;

  /** The same, with files small enough for several, and counts that the test can read. */
  public static final class Setter implements org.apache.kafka.streams.state.RocksDBConfigSetter {
    static final Statistics STATISTICS = new Statistics();

    private final RocksieveConfigSetter setter = new RocksieveConfigSetter();

    @Override
    public void setConfig(String storeName, Options options, Map<String, Object> configs) {
      setter.setConfig(storeName, options, configs);
      options.setWriteBufferSize(512 << 10).setStatistics(STATISTICS);
      final BlockBasedTableConfig table = (BlockBasedTableConfig) options.tableFormatConfig();
      assertEquals(RocksieveFilter.class, table.filterPolicy().getClass());
    }

    @Override
    public void close(String storeName, Options options) {
      setter.close(storeName, options);
    }
  }

  // A new value for each record; without one, the key goes. Says what was there before, or -1.
  private static final class Swap implements Processor<Integer, Integer, Integer, Integer> {
    private ProcessorContext<Integer, Integer> context;
    private KeyValueStore<Integer, Integer> store;

    @Override
    public void init(ProcessorContext<Integer, Integer> given) {
      context = given;
      store = context.getStateStore("store");
    }

    @Override
    public void process(Record<Integer, Integer> record) {
      final Integer before = store.get(record.key());
      store.put(record.key(), record.value());
      context.forward(record.withValue(before == null ? -1 : before));
    }
  }

  @TempDir Path directory;

  private final Map<Integer, Integer> oracle = new HashMap<>();
  private final long seed = Long.getLong("seed", System.nanoTime());
  private final Random random = new Random(seed);

  @Test
  void noKeyIsLost() throws Exception {
    final Properties properties = properties(Setter.class);
    properties.put(RocksieveConfigSetter.LAST_LEVEL, "true");
    try (TopologyTestDriver driver = new TopologyTestDriver(topology(), properties)) {
      records(driver);
      check(driver.getKeyValueStore("store"));
      assertTrue(filesHaveOurFilter(), "no file has a filter of rocksieve");
    }
    final long useful = Setter.STATISTICS.getTickerCount(TickerType.BLOOM_FILTER_USEFUL);
    assertTrue(useful > RECORDS / 10, "filters answered " + useful);
  }

  @Test
  void aWrongFilterEndsTheTask() {
    final Properties properties = properties(RocksieveConfigSetter.class);
    properties.put(RocksieveConfigSetter.FILTER, "rocksieve.bloom:x");
    final Exception wrong =
        assertThrows(
            IllegalArgumentException.class, () -> new TopologyTestDriver(topology(), properties));
    assertTrue(wrong.getMessage().contains("rocksieve.bloom:x"), wrong.getMessage());
  }

  private void records(TopologyTestDriver driver) {
    final TestInputTopic<Integer, Integer> input =
        driver.createInputTopic("input", new IntegerSerializer(), new IntegerSerializer());
    final TestOutputTopic<Integer, Integer> output =
        driver.createOutputTopic("output", new IntegerDeserializer(), new IntegerDeserializer());
    for (int i = 0; i < RECORDS; i++) {
      final int key = random.nextInt(UNIVERSE);
      final Integer value = random.nextInt(4) == 0 ? null : i;
      input.pipeInput(key, value);
      assertEquals(oracle.getOrDefault(key, -1), output.readValue(), "key " + key + ", seed " + seed);
      if (value == null) {
        oracle.remove(key);
      } else {
        oracle.put(key, value);
      }
    }
  }

  private void check(KeyValueStore<Integer, Integer> store) {
    for (int key = 0; key < UNIVERSE; key++) {
      assertEquals(oracle.get(key), store.get(key), "key " + key + ", seed " + seed);
    }
    final Map<Integer, Integer> all = new HashMap<>();
    try (KeyValueIterator<Integer, Integer> rows = store.all()) {
      rows.forEachRemaining(row -> all.put(row.key, row.value));
    }
    assertEquals(oracle, all, "seed " + seed);
  }

  private static Topology topology() {
    return new Topology()
        .addSource("source", "input")
        .addProcessor("swap", Swap::new, "source")
        .addStateStore(
            Stores.keyValueStoreBuilder(
                Stores.persistentKeyValueStore("store"), Serdes.Integer(), Serdes.Integer()),
            "swap")
        .addSink("sink", "output", "swap");
  }

  private Properties properties(Class<?> setter) {
    final Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, "test");
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "nowhere:1");
    properties.put(StreamsConfig.STATE_DIR_CONFIG, directory.resolve("state").toString());
    properties.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.Integer().getClass());
    properties.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.Integer().getClass());
    properties.put(StreamsConfig.ROCKSDB_CONFIG_SETTER_CLASS_CONFIG, setter.getName());
    return properties;
  }

  private boolean filesHaveOurFilter() throws Exception {
    try (var files = Files.walk(directory)) {
      for (Path file : (Iterable<Path>) files.filter(f -> f.toString().endsWith(".sst"))::iterator) {
        if (Files.readString(file, StandardCharsets.ISO_8859_1).contains("rocksieve.ribbon")) {
          return true;
        }
      }
    }
    return false;
  }
}
