// SPDX-License-Identifier: Apache-2.0
#![doc = include_str!("../README.md")]

use librocksdb_sys as ffi;
use rocksdb::{AsRawPtr, Options};
use std::ffi::{c_char, CStr, CString};
use std::fmt;

extern "C" {
    fn rocksieve_filterpolicy_create(
        spec: *const c_char,
        error: *mut *mut c_char,
    ) -> *mut ffi::rocksdb_filterpolicy_t;
}

/// A spec that cannot be honoured. Its text says what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidSpec(String);

impl fmt::Display for InvalidSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for InvalidSpec {}

/// Gives the files that are written with the options filters of rocksieve: `spec` is a family and its
/// bits per key, such as `rocksieve.bloom:10`, `rocksieve.ribbon:10`, `rocksieve.cuckoo:12` or
/// `rocksieve.auto:10`. All other options stay as they are, those of the block-based table as well.
///
/// Files that have other filters keep them, and both are used. A program without rocksieve opens the
/// database as well, and reads as if the files had no filters.
///
/// `Options::set_block_based_table_factory` takes the filter of its argument, so it comes before.
///
/// # Errors
///
/// [`InvalidSpec`]; the options are as before then.
pub fn set_filter(options: &mut Options, spec: &str) -> Result<(), InvalidSpec> {
    check(spec)?;
    // No spec has a brace or a semicolon, nor a NUL.
    let text = CString::new(format!("block_based_table_factory={{filter_policy={spec}}}"))
        .map_err(|error| InvalidSpec(error.to_string()))?;
    let mut error: *mut c_char = std::ptr::null_mut();
    // SAFETY: the options are ours to change, and stay what they are: what they refer to, the caller's
    // Options keep alive. RocksDB reads the first before it writes the last (GetOptionsFromString).
    unsafe {
        let raw = options.as_raw_ptr();
        ffi::rocksdb_get_options_from_string(raw, text.as_ptr(), raw, &mut error);
    }
    taken(error).map_or(Ok(()), |message| Err(InvalidSpec(message)))
}

/// The text of an error of the C interfaces, if there is one; it is freed.
fn taken(error: *mut c_char) -> Option<String> {
    if error.is_null() {
        return None;
    }
    // SAFETY: it ends in NUL, and was allocated by malloc(), which rocksdb_free() frees.
    unsafe {
        let message = CStr::from_ptr(error).to_string_lossy().into_owned();
        ffi::rocksdb_free(error.cast());
        Some(message)
    }
}

/// Makes the names of rocksieve's policies and listeners known to RocksDB, for option strings and for
/// OPTIONS files, as [`Options::load_latest`] reads. Where [`set_filter`] is called, nobody needs it. It
/// costs nothing.
pub fn load() {
    // A static library loses what nobody names, and with it what registers the names before main().
    std::hint::black_box(rocksieve_filterpolicy_create as *const ());
}

fn check(spec: &str) -> Result<(), InvalidSpec> {
    let text = CString::new(spec)
        .map_err(|_| InvalidSpec(format!("{spec:?} is not a rocksieve filter spec: it has a NUL")))?;
    let mut error: *mut c_char = std::ptr::null_mut();
    // SAFETY: both are as include/rocksieve/c.h asks: a text that ends in NUL, and a place for an error,
    // which is ours to free.
    let policy = unsafe { rocksieve_filterpolicy_create(text.as_ptr(), &mut error) };
    if !policy.is_null() {
        // SAFETY: nobody else has it.
        unsafe { ffi::rocksdb_filterpolicy_destroy(policy) };
        return Ok(());
    }
    Err(InvalidSpec(taken(error).unwrap_or_else(|| "rocksieve: no memory".to_owned())))
}
