// SPDX-License-Identifier: Apache-2.0

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.RocksDB;
import org.rocksieve.Rocksieve;

/**
 * One JVM may have several RocksDBs, each with rocksieve: one for each class loader. They are of the same
 * release, since two of different ones crash each other, without rocksieve as well: their symbols that are
 * unique in a process, STB_GNU_UNIQUE, are mixed.
 */
class TwoRocksDbsTest {
  @TempDir Path directory;

  @Test
  void eachHasItsOwnFilters() throws Exception {
    final URL[] jars = {jarOf(RocksDB.class), jarOf(Rocksieve.class), jarOf(LookupsTask.class)};
    try (URLClassLoader loader = new URLClassLoader(jars, ClassLoader.getPlatformClassLoader())) {
      final Class<?> other = loader.loadClass("LookupsTask");
      assertNotEquals(LookupsTask.class, other);
      final String release = run(LookupsTask.class, "first");
      assertEquals(release, run(other, "second"));
      assertEquals(release, run(LookupsTask.class, "third"));
      assertEquals(release, run(other, "fourth"));
    }
  }

  private String run(Class<?> task, String database) throws Exception {
    final Object made =
        task.getConstructor(String.class).newInstance(directory.resolve(database).toString());
    return (String) ((Callable<?>) made).call();
  }

  private static URL jarOf(Class<?> type) {
    return type.getProtectionDomain().getCodeSource().getLocation();
  }
}
