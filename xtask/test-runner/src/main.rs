//! Runs wasm tests in a browser. A workspace member and not `cargo install`: it shares what `xtask` has compiled
//! already (a minute instead of four), and Cargo.lock keeps its version equal to the crate's.
//!
//! It also sees to it that the page of the tests always loads. The server inside the runner (tiny_http 0.12) has four
//! threads. While a thread waits, the server gives it the next connection, also when the thread has just been promised to
//! another. Such a connection is answered when a browser lets go of its idle ones, minutes later. Five modules asked for
//! at once were enough. So no thread is left waiting: each connection then gets one of its own.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// By it the runner is told where to serve the page.
const ADDRESS: &str = "WASM_BINDGEN_TEST_ADDRESS";
/// The server's four threads, and one more for each of them that the server may start before they wait.
const IDLE: usize = 8;

fn main() -> anyhow::Result<()> {
    if std::env::var_os(ADDRESS).is_none() {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        // SAFETY: there is no other thread yet.
        unsafe { std::env::set_var(ADDRESS, address.to_string()) };
        thread::spawn(move || occupy(address));
    }
    wasm_bindgen_cli::wasm_bindgen_test_runner::run_cli_with_args(std::env::args_os())
}

/// Holds connections that ask for nothing, from when the server is there until the process ends.
fn occupy(address: SocketAddr) {
    let mut held = Vec::new();
    while held.len() < IDLE {
        thread::sleep(Duration::from_millis(50));
        held.extend(TcpStream::connect(address));
    }
    loop {
        thread::park();
    }
}
