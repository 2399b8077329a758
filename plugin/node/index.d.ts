// SPDX-License-Identifier: Apache-2.0

export interface LoadOptions {
  /**
   * A filter, such as "rocksieve.ribbon:10", for addons that have no way to name one: each Bloom or
   * Ribbon filter that they make becomes that one. load() must come before any addon with a RocksDB is
   * required then. What is wrong with the amount, stderr says when the filter is made.
   */
  insteadOf?: string;
  /** The path of the addon, the .node file, where the process has several with a RocksDB. */
  addon?: string;
}

/**
 * Makes the names of rocksieve's filters known to the RocksDB of an addon, such as "rocksieve.bloom:10",
 * "rocksieve.ribbon:10", "rocksieve.cuckoo:12" or "rocksieve.auto:10". The addon may be required before
 * or after. One RocksDB in a process is served; others in it work as they would.
 *
 * Throws an Error that says why, if the addon's RocksDB cannot be served, such as one of a release for
 * which the package has no build, or insteadOf comes too late; a TypeError for wrong options.
 */
export function load(options?: LoadOptions): void;

/** The path of librocksieve.so, to be preloaded into other programs. */
export const library: string;
