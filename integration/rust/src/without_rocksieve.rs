// SPDX-License-Identifier: Apache-2.0
//! Opens a database in a program that has no rocksieve: DATABASE, and a file with a line for each key, its
//! value or "-".
use rocksdb::{Options, DB};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let mut options = Options::default();
    let named = "block_based_table_factory={filter_policy=rocksieve.ribbon:10}";
    options = options.get_options_from_string(named)?;
    let db = DB::open(&options, &arguments[1])?;
    let values = std::fs::read_to_string(&arguments[2])?;
    for (key, value) in values.lines().enumerate() {
        let found = db.get(format!("{key:06}"))?.map_or("-".to_owned(), |v| String::from_utf8(v).unwrap());
        assert_eq!(found, value, "key {key}");
    }
    println!("{} lookups right", values.lines().count());
    Ok(())
}
