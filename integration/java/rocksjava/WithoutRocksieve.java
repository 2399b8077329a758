// SPDX-License-Identifier: Apache-2.0

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;

/** Opens a database in a JVM that has no rocksieve: DATABASE and a file with each key's value or "-". */
final class WithoutRocksieve {
  public static void main(String[] arguments) throws Exception {
    try {
      Class.forName("org.rocksieve.Rocksieve");
      throw new IllegalStateException("rocksieve is in the class path");
    } catch (ClassNotFoundException expected) {
      System.out.print("no rocksieve; ");
    }
    final List<String> values = Files.readAllLines(Path.of(arguments[1]));
    try (Options options = new Options();
        RocksDB db = RocksDB.open(options, arguments[0])) {
      for (int key = 0; key < values.size(); key++) {
        final byte[] value = db.get(String.format("%06d", key).getBytes(StandardCharsets.US_ASCII));
        final String found = value == null ? "-" : new String(value, StandardCharsets.US_ASCII);
        if (!found.equals(values.get(key))) {
          throw new IllegalStateException("key " + key + ": " + found + " instead of " + values.get(key));
        }
      }
    }
    System.out.println(values.size() + " lookups right");
  }
}
