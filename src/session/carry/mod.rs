//! A session in a file: taken along, sent with a bug report, run again elsewhere.
//!
//! A file is lines of JSON, each ended by a line feed:
//!
//! ```text
//! {"lodger":"session","v":1,"package":"0.1.0","session":"agent_docs","head":{…},"signatures":["…"]}
//! {"row":{"at":…,"kind":"commanded","seq":1,"v":1},"entry":{…},"contentHash":"…","hash":"…"}
//! …a row for each entry; `entry` is absent where it was erased, `mac` is there where it is signed…
//! {"file":"file_…","mediaType":"image/png","size":70}
//! {"bytes":"iVBORw0…"}
//! …as many pieces as it takes, then the next file…
//! {"end":{"rows":12,"files":1,"hash":"…"}}
//! ```
//!
//! Where the bytes of a file are lost, `{"file":"file_…","gone":"why"}` stands alone. An import takes that where the journal
//! says of the same file that it is lost (`files_gone`), and nowhere else: then the file was made shorter.
//!
//! Where a row is damaged or missing, `{"damaged":{"from":45,"to":45,"why":"…"},"stored":["…"]}` stands, with what is stored in its
//! place. Where the head is not believed, the first line has `null` for it, and what is stored of it stands behind the last
//! row in the same way. Such a file is for people, and for who repairs it: no import takes it.
//!
//! Rows and head stand in it byte for byte as they are stored. So receipts, handoffs, events and hashes are in it, and
//! signatures can be judged where the key is. Keys of providers are in no journal, so they are in no file. The last
//! line has counts and a hash over the lines before it: a file that was cut off is told from a whole one. Bytes of
//! files are covered by the file's id, which is a hash of them, and the head names all ids.
//!
//! Decides what such a file is ([`begin`], [`page`], [`end`], [`Reader`]) and how a copy of a session becomes one of
//! its own ([`adopt`]). Promises: nothing is taken of a file that is not whole, not what it says, or not one that this
//! machine could have written. The error names the line; memory for one line, and for the conversation that is
//! open. Leaves to others: where rows come from and go to (`harness/`), and whose signatures are good.

mod adopt;
mod read;
mod salvage;
mod write;

pub use adopt::adopt;
pub use read::{Carried, Reader};
pub use salvage::{Salvaged, salvage, take_along};
pub use write::{begin, end, page, page_in_part};

use crate::journal::sha256;

/// What the first line says that it is.
const FORMAT: &str = "session";

/// The version of the format. A file with a higher one was written by a newer package.
const VERSION: u64 = 1;

/// How long a line may be, in bytes. A message of five megabytes fits in, also where each letter is an escape.
pub const LINE: usize = 32 * 1024 * 1024;

/// What the lines so far come to, with this one.
fn tied(before: &str, line: &str) -> String {
    sha256(&[before, "\n", line])
}
