//! The API for apps in Rust: a workspace by plain structs, async methods and streams, without the npm package.
//!
//! Decides how the client looks in Rust. The client itself is the page's own (`js/client`), so tabs, views and events are the same
//! in both languages. Promises: a closure may call any method. A tool whose call is given up is dropped where it awaits, as
//! futures are. When a workspace is closed every call that waits is answered. Leaves to others: what structs there are (`shapes`),
//! what commands mean (`harness`), and when what is told (`js/client/workspace.js`).
//!
//! | file | |
//! |---|---|
//! | `client` | the client's functions, and how values get to it and back |
//! | `functions` | async closures as functions of the client |
//! | `workspace` | the workspace, its tools, and how it is opened |
//! | `runs` | a run, and the text that streams to it |
//! | `views` | conversations, lists and journals as streams |
//! | `sessions`, `pages` | sessions and the queue; pages and keys |

mod client;
mod functions;
mod pages;
mod runs;
mod sessions;
mod views;
mod workspace;

pub use crate::journal::{Answer as PermissionAnswer, Integrity, Mode, Outcome, Word};
pub use crate::ports::Durability;
pub use crate::session::operator::Operator;
pub use crate::session::transitions::Status as SessionStatus;
pub use crate::shapes::*;
pub use functions::{Answer, ToolContext};
pub use pages::{Keys, Memories, Pages};
pub use runs::{Run, TextStream};
pub use sessions::{Queue, Sessions};
pub use views::{Entries, SessionsView, View};
pub use workspace::{Listener, Said, Tools, Workspace, WorkspaceOptions, delete_workspace};
