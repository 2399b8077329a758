// SPDX-License-Identifier: Apache-2.0
//! What lookups of absent keys cost, with RocksDB's own Bloom filter and with rocksieve's:
//!
//!   cargo run --release --example absent_keys
use rocksdb::statistics::Ticker;
use rocksdb::{BlockBasedOptions, Options, DB};
use std::error::Error;
use std::time::Instant;

const KEYS: u64 = 1_000_000;
const LOOKUPS: u64 = 1_000_000;

fn measure(name: &str) -> Result<(), Box<dyn Error>> {
    let directory = std::env::temp_dir().join(format!("absent_keys-{}", std::process::id()));
    let mut options = Options::default();
    options.create_if_missing(true);
    options.enable_statistics();
    if name.starts_with("rocksieve.") {
        // This line is all.
        rocksieve::set_filter(&mut options, name)?;
    } else {
        let mut table = BlockBasedOptions::default();
        table.set_bloom_filter(10.0, false);
        options.set_block_based_table_factory(&table);
    }
    let db = DB::open(&options, &directory)?;
    for number in 0..KEYS {
        db.put((2 * number).to_be_bytes(), number.to_be_bytes())?;
    }
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    let blocks = || {
        options.get_ticker_count(Ticker::BlockCacheDataHit)
            + options.get_ticker_count(Ticker::BlockCacheDataMiss)
    };
    let (before, start) = (blocks(), Instant::now());
    for i in 0..LOOKUPS {
        let absent = 2 * (i * 7919 % KEYS) + 1;
        assert!(db.get(absent.to_be_bytes())?.is_none(), "found what was never written");
    }
    let microseconds = start.elapsed().as_secs_f64() * 1e6 / LOOKUPS as f64;
    let per_thousand = (blocks() - before) as f64 * 1e3 / LOOKUPS as f64;
    println!("{name:20} {per_thousand:29.2} {microseconds:14.2}");
    drop(db);
    Ok(std::fs::remove_dir_all(&directory)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{:20} {:>29} {:>14}", "filter", "data blocks per 1,000 lookups", "µs per lookup");
    for name in ["Bloom 10", "rocksieve.bloom:10", "rocksieve.ribbon:10"] {
        measure(name)?;
    }
    Ok(())
}
