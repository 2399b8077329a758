// SPDX-License-Identifier: Apache-2.0

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.serialization.IntegerSerializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;
import org.apache.kafka.streams.state.Stores;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksieve.kafka.RocksieveConfigSetter;

/** A store that Kafka Streams restores from a broker, with rocksieve's filters, beside a map. */
class RestoreTest {
  private static final int UNIVERSE = 100_000;
  private static final int RECORDS = 300_000;
  private static final int END = -1;  // a key that comes last

  @TempDir Path directory;

  private Process broker;
  private String address;

  @BeforeEach
  void startBroker() throws Exception {
    final int port = freePort();
    final int controller = freePort();
    address = "localhost:" + port;
    final Path configuration = directory.resolve("server.properties");
    Files.writeString(configuration, String.join("\n",
        "process.roles=broker,controller", "node.id=1",
        "controller.quorum.voters=1@localhost:" + controller, "controller.listener.names=CONTROLLER",
        "listeners=PLAINTEXT://localhost:" + port + ",CONTROLLER://localhost:" + controller,
        "log.dirs=" + directory.resolve("broker"), "offsets.topic.replication.factor=1",
        "offsets.topic.num.partitions=1", "transaction.state.log.replication.factor=1",
        "transaction.state.log.min.isr=1", "group.initial.rebalance.delay.ms=0"));
    final Process format = java("kafka.tools.StorageTool", "format", "-t",
        Uuid.randomUuid().toString(), "-c", configuration.toString());
    assertEquals(0, format.waitFor(), () -> log());
    broker = java("kafka.Kafka", configuration.toString());
  }

  @AfterEach
  void stopBroker() throws Exception {
    if (broker != null) {
      broker.destroy();
      if (!broker.waitFor(30, TimeUnit.SECONDS)) {
        broker.destroyForcibly().waitFor();
      }
    }
  }

  @Test
  void aRestoredStoreHasEveryKey() throws Exception {
    final Map<Integer, Integer> oracle = new HashMap<>();
    final long seed = Long.getLong("seed", System.nanoTime());
    final Random random = new Random(seed);
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", (Object) address))) {
      admin.createTopics(List.of(new NewTopic("input", 1, (short) 1))).all().get(2, TimeUnit.MINUTES);
    }
    try (KafkaProducer<Integer, Integer> producer =
        new KafkaProducer<>(
            Map.of("bootstrap.servers", address), new IntegerSerializer(), new IntegerSerializer())) {
      for (int i = 0; i < RECORDS; i++) {
        final int key = random.nextInt(UNIVERSE);
        final boolean goes = random.nextInt(4) == 0;
        producer.send(new ProducerRecord<>("input", key, goes ? null : i));
        if (goes) {
          oracle.remove(key);
        } else {
          oracle.put(key, i);
        }
      }
      producer.send(new ProducerRecord<>("input", END, RECORDS));
      oracle.put(END, RECORDS);
    }
    final Path state = directory.resolve("state");
    check(state, oracle, seed);
    try (Stream<Path> files = Files.walk(state)) {
      files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
    }
    check(state, oracle, seed);  // from the changelog
    check(state, oracle, seed);  // from its files
    assertTrue(filesHaveOurFilter(state), "no file has a filter of rocksieve");
  }

  private void check(Path state, Map<Integer, Integer> oracle, long seed) throws Exception {
    final StreamsBuilder builder = new StreamsBuilder();
    // A table whose changelog is a topic of its own.
    builder.stream("input", Consumed.with(Serdes.Integer(), Serdes.Integer()))
        .toTable(
            Materialized.<Integer, Integer>as(Stores.persistentKeyValueStore("store"))
                .withKeySerde(Serdes.Integer())
                .withValueSerde(Serdes.Integer()));
    final Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, "test");
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, address);
    properties.put(StreamsConfig.STATE_DIR_CONFIG, state.toString());
    properties.put("auto.offset.reset", "earliest");
    properties.put("session.timeout.ms", 6000);  // streams do not say when they leave
    properties.put("heartbeat.interval.ms", 1000);
    properties.put(
        StreamsConfig.ROCKSDB_CONFIG_SETTER_CLASS_CONFIG, RocksieveConfigSetter.class.getName());
    try (KafkaStreams streams = new KafkaStreams(builder.build(), properties)) {
      streams.start();
      final ReadOnlyKeyValueStore<Integer, Integer> store = whenComplete(streams);
      for (int key = END; key < UNIVERSE; key++) {
        assertEquals(oracle.get(key), store.get(key), "key " + key + ", seed " + seed);
      }
      streams.close(Duration.ofMinutes(1));
    }
  }

  private ReadOnlyKeyValueStore<Integer, Integer> whenComplete(KafkaStreams streams)
      throws Exception {
    final long end = System.nanoTime() + TimeUnit.MINUTES.toNanos(3);
    while (System.nanoTime() < end) {
      if (streams.state() == KafkaStreams.State.RUNNING) {
        final ReadOnlyKeyValueStore<Integer, Integer> store =
            streams.store(
                StoreQueryParameters.fromNameAndType("store", QueryableStoreTypes.keyValueStore()));
        if (store.get(END) != null) {
          return store;
        }
      }
      Thread.sleep(100);
    }
    throw new AssertionError("the store is not complete: " + streams.state() + "\n" + log());
  }

  private Process java(String... command) throws Exception {
    final String[] base = {
      Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx512m", "-cp",
      System.getProperty("java.class.path")
    };
    final ProcessBuilder builder =
        new ProcessBuilder(Stream.of(base, command).flatMap(Stream::of).toList());
    return builder
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.appendTo(directory.resolve("log").toFile()))
        .start();
  }

  private String log() {
    try {
      final String text = Files.readString(directory.resolve("log"));
      return text.substring(Math.max(0, text.length() - 4000));
    } catch (java.io.IOException e) {
      return e.toString();
    }
  }

  private static int freePort() throws Exception {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
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
