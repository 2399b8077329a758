// SPDX-License-Identifier: Apache-2.0
// librocksieve.so from ROCKSIEVE_LIB_DIR, and where programs find it when they run.
fn main() {
    println!("cargo:rerun-if-env-changed=ROCKSIEVE_LIB_DIR");
    if let Ok(directory) = std::env::var("ROCKSIEVE_LIB_DIR") {
        println!("cargo:rustc-link-search=native={directory}");
        println!("cargo:rustc-link-arg=-Wl,-rpath,{directory}");
    }
}
