//! Runs wasm tests in a browser. A workspace member and not `cargo install`: it shares what `xtask` has compiled
//! already (a minute instead of four), and Cargo.lock keeps its version equal to the crate's.

fn main() -> anyhow::Result<()> {
    wasm_bindgen_cli::wasm_bindgen_test_runner::run_cli_with_args(std::env::args_os())
}
