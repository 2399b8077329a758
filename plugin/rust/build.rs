// SPDX-License-Identifier: Apache-2.0
//! Compiles the plugin against the headers of the RocksDB that librocksdb-sys builds.
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let rocksdb = env::var("DEP_ROCKSDB_CARGO_MANIFEST_DIR")
        .expect("librocksdb-sys says where the sources of its RocksDB are");
    let headers = PathBuf::from(rocksdb).join("rocksdb").join("include");
    let source = Path::new("source");
    println!("cargo:rerun-if-changed={}", source.display());

    // One line each, "NAME = VALUE": the list that RocksDB's own build reads as well.
    let list = fs::read_to_string(source.join("rocksieve.mk")).expect("source/rocksieve.mk");
    let files: Vec<PathBuf> = list
        .lines()
        .find_map(|line| line.strip_prefix("rocksieve_SOURCES = "))
        .expect("rocksieve.mk names the sources")
        .split_whitespace()
        .map(|file| source.join(file))
        .collect();

    let mut build = cc::Build::new();
    // Fast in debug builds as well, as filters of a program in RocksDB's own crate are not.
    build.cpp(true).std("c++20").opt_level(3).define("NDEBUG", None);
    build.flag_if_supported("-fno-rtti").flag_if_supported("-fvisibility=hidden");
    build.include(headers).include(source).include(source.join("include"));
    build.include(source.join("xxhash")).warnings(false);
    build.files(files).compile("rocksieve");
}
