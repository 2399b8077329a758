// SPDX-License-Identifier: Apache-2.0
package org.rocksieve;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.rocksdb.BloomFilter;
import org.rocksdb.RocksDB;

/** The plugin in the jar that fits the RocksDB of this class loader, loaded once. */
final class NativeLibrary {
  // What stands in the plugin for the path of RocksDB's library: plugin/CMakeLists.txt.
  private static final byte[] PLACE = "rocksdb//".getBytes(StandardCharsets.US_ASCII);
  private static final int PLACE_BYTES = "rocksdb".length() + 1024;

  private static boolean finderLoaded;
  private static boolean loaded;

  private NativeLibrary() {}

  /**
   * @throws UnsupportedOperationException if nothing in the jar fits; says what would
   */
  static synchronized void load() {
    if (loaded) {
      return;
    }
    RocksDB.loadLibrary();
    final String platform = platform();
    final Object[] rocksdb;
    if (!finderLoaded) {
      loadFrom(platform, "librocksieve_jni.so", null);
      finderLoaded = true;
    }
    try (BloomFilter filter = new BloomFilter()) {
      rocksdb = find(filter.getNativeHandle());
    }
    final String release = (String) rocksdb[1];
    final boolean oldStrings = rocksdb[3] != null;
    final String plugin =
        "librocksieve-" + rocksdb[2] + (oldStrings ? "-old-strings" : "") + ".so";
    if (resource(platform, plugin) == null) {
      throw new UnsupportedOperationException(
          "rocksieve: RocksDB is " + release + (oldStrings ? ", built with old strings," : "")
              + " and this jar has builds for " + builds(platform)
              + ". Use a RocksDB of one of these, or a jar that was made for yours.");
    }
    loadFrom(platform, plugin, (byte[]) rocksdb[0]);
    loaded = true;
  }

  private static String platform() {
    final String system = System.getProperty("os.name");
    final String processor = System.getProperty("os.arch").replace("amd64", "x86_64");
    final String platform = system.toLowerCase() + "-" + processor;
    if (resource(platform, "librocksieve_jni.so") == null) {
      throw new UnsupportedOperationException(
          "rocksieve: this jar has no machine code for " + system + " on " + processor
              + "; it has it for Linux on x86-64");
    }
    return platform;
  }

  private static java.net.URL resource(String platform, String name) {
    return NativeLibrary.class.getResource("native/" + platform + "/" + name);
  }

  private static String builds(String platform) {
    try (InputStream list =
        NativeLibrary.class.getResourceAsStream("native/" + platform + "/builds.txt")) {
      return list == null
          ? "none"
          : new String(list.readAllBytes(), StandardCharsets.UTF_8).strip().replace("\n", ", ");
    } catch (IOException e) {
      return "none: " + e.getMessage();
    }
  }

  // A library can be loaded from a file only. On Linux the file may go at once.
  private static void loadFrom(String platform, String name, byte[] rocksdb) {
    Path directory = null;
    Path file = null;
    try (InputStream in = resource(platform, name).openStream()) {
      final byte[] library = in.readAllBytes();
      if (rocksdb != null) {
        writePath(library, rocksdb);
      }
      directory = Files.createTempDirectory("rocksieve");
      file = directory.resolve(name);
      Files.write(file, library);
      System.load(file.toAbsolutePath().toString());
    } catch (IOException e) {
      throw new UnsupportedOperationException(
          "rocksieve: cannot write " + name + " into " + System.getProperty("java.io.tmpdir")
              + "; -Djava.io.tmpdir=DIRECTORY names another place: " + e, e);
    } catch (UnsatisfiedLinkError e) {
      throw new UnsupportedOperationException(
          "rocksieve: cannot load " + name + ", which needs glibc 2.34 and the libstdc++ of GCC 11, or"
              + " later ones, and a java.io.tmpdir that programs may be run from: "
              + e.getMessage(), e);
    } finally {
      remove(file);
      remove(directory);
    }
  }

  private static void remove(Path path) {
    try {
      if (path != null) {
        Files.deleteIfExists(path);
      }
    } catch (IOException e) {
      path.toFile().deleteOnExit();
    }
  }

  // Visible for tests.
  static void writePath(byte[] library, byte[] rocksdb) {
    if (rocksdb.length >= PLACE_BYTES) {
      throw new UnsupportedOperationException(
          "rocksieve: the path of RocksDB's library has " + rocksdb.length
              + " bytes, and at most " + (PLACE_BYTES - 1) + " can be used");
    }
    final int place = placeIn(library);
    System.arraycopy(rocksdb, 0, library, place, rocksdb.length);
    Arrays.fill(library, place + rocksdb.length, place + PLACE_BYTES, (byte) 0);
  }

  private static int placeIn(byte[] library) {
    for (int i = 0; i + PLACE_BYTES < library.length; i++) {
      if (Arrays.equals(library, i, i + PLACE.length, PLACE, 0, PLACE.length)
          && library[i + PLACE_BYTES] == 0) {
        return i;
      }
    }
    throw new IllegalStateException("rocksieve: this jar was not made by its own build");
  }

  private static native Object[] find(long filter);
}
