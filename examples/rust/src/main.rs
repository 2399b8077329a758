// SPDX-License-Identifier: Apache-2.0
//! rocksieve in a Rust program, by rust-rocksdb with the shared librocksdb:
//!
//!   ROCKSIEVE_LIB_DIR=/usr/local/lib cargo run -- DATABASE
//!
//! rust-rocksdb has no way to set a filter policy by its name when it opens a new database. It is set on
//! the open one (RocksDB 9.8 and later), which writes it into the OPTIONS file; from then on
//! Options::load_latest() brings it along.

use rocksdb::{ColumnFamilyDescriptor, Env, Options, DB};
use std::ffi::{c_char, CStr};

#[link(name = "rocksieve")]
extern "C" {
    fn rocksieve_load(rocksdb: *const c_char, error: *mut *mut c_char) -> u8;
}

/// Makes the names of rocksieve's policies known to the RocksDB of this process.
fn load_rocksieve() -> Result<(), String> {
    let mut error: *mut c_char = std::ptr::null_mut();
    if unsafe { rocksieve_load(std::ptr::null(), &mut error) } != 0 {
        return Ok(());
    }
    // The text is ours to free, and this program ends with it.
    Err(unsafe { CStr::from_ptr(error) }.to_string_lossy().into_owned())
}

const KEYS: u32 = 100_000;
const POLICY: &str = "{filter_policy=rocksieve.ribbon:10}";

fn key(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

/// Even numbers are stored, odd ones are absent.
fn fill(path: &str) -> Result<(), rocksdb::Error> {
    let mut options = Options::default();
    options.create_if_missing(true);
    let db = DB::open(&options, path)?;
    db.set_options(&[("block_based_table_factory", POLICY)])?;
    for number in 0..KEYS {
        db.put(key(2 * number), b"value")?;
    }
    db.flush()
}

fn read(path: &str) -> Result<(), Box<dyn std::error::Error>> {
    let (mut options, families) =
        Options::load_latest(path, Env::new()?, true, rocksdb::Cache::new_lru_cache(8 << 20))?;
    options.enable_statistics();
    let db = DB::open_cf_descriptors(&options, path, families as Vec<ColumnFamilyDescriptor>)?;
    let found = (0..KEYS).filter(|&n| matches!(db.get(key(2 * n)), Ok(Some(_)))).count();
    let absent = (0..KEYS).filter(|&n| matches!(db.get(key(2 * n + 1)), Ok(None))).count();
    let statistics = options.get_statistics().unwrap_or_default();
    let rejected = statistics
        .lines()
        .find_map(|line| line.strip_prefix("rocksdb.bloom.filter.useful COUNT : "))
        .unwrap_or("0");
    println!("{found} of {KEYS} keys found; filters answered {rejected} of {absent} absent lookups");
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("name a directory for the database")?;
    load_rocksieve()?;
    fill(&path)?;
    read(&path)
}
