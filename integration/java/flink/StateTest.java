// SPDX-License-Identifier: Apache-2.0

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.state.rocksdb.ConfigurableRocksDBOptionsFactory;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.CloseableIterator;
import org.apache.flink.util.Collector;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.Statistics;
import org.rocksdb.TickerType;
import org.rocksieve.flink.RocksieveOptionsFactory;

/** State of Flink in RocksDB with rocksieve's filters, beside a map, over a failure and a restart. */
class StateTest {
  private static final int UNIVERSE = 100_000;
  private static final int RECORDS = 400_000;

  private static final AtomicInteger CHECKPOINTS = new AtomicInteger();
  private static final AtomicBoolean FAILED = new AtomicBoolean();
  private static final AtomicBoolean FILES_ARE_OURS = new AtomicBoolean();
  private static final Statistics[] STATISTICS = new Statistics[1];

  private static int keyOf(long record) {
    return (int) Math.floorMod(record * 0x9E3779B97F4A7C15L >>> 20, (long) UNIVERSE);
  }

  private static boolean goes(long record) {
    return (record * 0xD1B54A32D192ED03L >>> 40) % 4 == 0;
  }

  /** The same, with counts that the test can read. */
  public static final class Factory implements ConfigurableRocksDBOptionsFactory {
    private static final long serialVersionUID = 1L;

    private RocksieveOptionsFactory factory = new RocksieveOptionsFactory();

    @Override
    public Factory configure(ReadableConfig configuration) {
      factory = factory.configure(configuration);
      return this;
    }

    @Override
    public DBOptions createDBOptions(DBOptions options, Collection<AutoCloseable> handlesToClose) {
      synchronized (STATISTICS) {
        if (STATISTICS[0] == null) {
          STATISTICS[0] = new Statistics();
        }
        return factory.createDBOptions(options, handlesToClose).setStatistics(STATISTICS[0]);
      }
    }

    @Override
    public ColumnFamilyOptions createColumnOptions(
        ColumnFamilyOptions options, Collection<AutoCloseable> handlesToClose) {
      return factory.createColumnOptions(options, handlesToClose).setWriteBufferSize(256 << 10);
    }
  }

  /** A new value for each record; a key may go. Gives what was there before, or -1. Fails once. */
  private static final class Swap extends KeyedProcessFunction<Integer, Long, Tuple2<Long, Long>>
      implements CheckpointListener {
    private static final long serialVersionUID = 1L;

    private final String directory;
    private transient ValueState<Long> state;

    Swap(String directory) {
      this.directory = directory;
    }

    @Override
    public void open(OpenContext context) {
      state = getRuntimeContext().getState(new ValueStateDescriptor<>("last", Types.LONG));
    }

    @Override
    public void notifyCheckpointComplete(long checkpoint) {
      CHECKPOINTS.incrementAndGet();
    }

    @Override
    public void processElement(Long record, Context context, Collector<Tuple2<Long, Long>> out)
        throws Exception {
      if (record >= RECORDS / 2 && !FAILED.get()) {
        if (CHECKPOINTS.get() > 0) {
          FAILED.set(true);
          throw new IllegalStateException("on purpose, after a checkpoint");
        }
        Thread.sleep(1);
      }
      final Long before = state.value();
      if (goes(record)) {
        state.clear();
      } else {
        state.update(record);
      }
      if (record == RECORDS - 1) {
        FILES_ARE_OURS.set(filesHaveOurFilter(Path.of(directory)));
      }
      out.collect(Tuple2.of(record, before == null ? -1L : before));
    }
  }

  @TempDir Path directory;

  @Test
  void noKeyIsLost() throws Exception {
    final Map<Long, Long> found = new HashMap<>();
    try (StreamExecutionEnvironment environment = environment(Factory.class, "rocksieve.ribbon:10");
        CloseableIterator<Tuple2<Long, Long>> rows = results(environment)) {
      rows.forEachRemaining(row -> found.put(row.f0, row.f1));
    }
    assertTrue(FAILED.get(), "no failure came about");
    assertEquals(RECORDS, found.size());
    final Map<Integer, Long> oracle = new HashMap<>();
    for (long record = 0; record < RECORDS; record++) {
      assertEquals(oracle.getOrDefault(keyOf(record), -1L), found.get(record), "record " + record);
      if (goes(record)) {
        oracle.remove(keyOf(record));
      } else {
        oracle.put(keyOf(record), record);
      }
    }
    assertTrue(FILES_ARE_OURS.get(), "no file has a filter of rocksieve");
    final long useful = STATISTICS[0].getTickerCount(TickerType.BLOOM_FILTER_USEFUL);
    assertTrue(useful > RECORDS / 10, "filters answered " + useful);
  }

  @Test
  void aWrongFilterEndsTheJob() {
    final Exception wrong =
        assertThrows(
            Exception.class,
            () -> {
              try (StreamExecutionEnvironment environment =
                      environment(RocksieveOptionsFactory.class, "rocksieve.bloom:x");
                  CloseableIterator<Tuple2<Long, Long>> rows = results(environment)) {
                rows.next();
              }
            });
    final StringBuilder causes = new StringBuilder();
    for (Throwable cause = wrong; cause != null; cause = cause.getCause()) {
      causes.append(cause).append('\n');
    }
    assertTrue(causes.indexOf("\"rocksieve.bloom:x\" is not a rocksieve filter spec") > 0, causes::toString);
  }

  private StreamExecutionEnvironment environment(Class<?> factory, String spec) {
    final Configuration configuration = new Configuration();
    configuration.setString("state.backend.type", "rocksdb");
    configuration.setString("state.backend.rocksdb.options-factory", factory.getName());
    configuration.setString("state.backend.rocksdb.localdir", directory.resolve("state").toString());
    configuration.setString("execution.checkpointing.dir", directory.resolve("checkpoints").toUri().toString());
    configuration.setString("execution.checkpointing.incremental", "true");
    configuration.setString("restart-strategy.type", spec.endsWith("x") ? "none" : "fixed-delay");
    configuration.setString("restart-strategy.fixed-delay.delay", "100 ms");
    configuration.set(RocksieveOptionsFactory.FILTER, spec);
    final StreamExecutionEnvironment environment =
        StreamExecutionEnvironment.createLocalEnvironment(1, configuration);
    environment.enableCheckpointing(Duration.ofMillis(300).toMillis());
    return environment;
  }

  private CloseableIterator<Tuple2<Long, Long>> results(StreamExecutionEnvironment environment)
      throws Exception {
    return environment
        .fromSequence(0, RECORDS - 1)
        .keyBy(StateTest::keyOf, Types.INT)
        .process(new Swap(directory.resolve("state").toString()), Types.TUPLE(Types.LONG, Types.LONG))
        .executeAndCollect();
  }

  private static boolean filesHaveOurFilter(Path directory) throws Exception {
    try (Stream<Path> files = Files.walk(directory)) {
      for (Path file : (Iterable<Path>) files.filter(f -> f.toString().endsWith(".sst"))::iterator) {
        if (Files.readString(file, StandardCharsets.ISO_8859_1).contains("rocksieve.ribbon")) {
          return true;
        }
      }
    }
    return false;
  }
}
