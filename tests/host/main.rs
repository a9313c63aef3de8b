//! The core, on the host: all its tests, in one program. `cargo test --test host cases::carry` runs a part of them.
//!
//! The unit tests of a module stand in its file, in `src/`. What needs a browser is in `tests/browser`.
#![cfg(not(target_arch = "wasm32"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::unreachable,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::too_many_lines,
    reason = "code of tests: what is not as it should be ends them, and a story is told in one piece"
)]

/// The rules of the sources: who may import whom.
mod house;

/// The table of commands: what is written from it, and that the gate keeps to it.
mod protocol;

/// The words of the documents and of all comments: plain English, and no file named that does not exist.
mod words;

/// The work of a turn does not grow with what came before it. Its allocator counts for each thread, and is everybody's.
mod linear;

/// `examples/host.rs` runs.
mod example;

/// Situations set up by hand, one after another.
mod cases {
    /// Active runs, as another tab's host counts them.
    mod active;
    /// The loop of a run: messages, tool calls, interrupts, lost pages.
    mod agent_loop;
    /// Sessions that are put away, and opened again.
    mod archive;
    /// Activity, output, bench and play.
    mod bench;
    /// Export, import, replay and fork.
    mod carry;
    /// A session is read from where its conversation is empty.
    mod checkpoint;
    /// Rows that are damaged of a session that was cleared.
    mod cleared;
    /// Conversations that become too long for their model.
    pub mod compaction;
    /// What every codec must make of what a model says.
    mod conformance;
    /// Where a conversation is cut, and what must not be lost there.
    mod cut;
    /// Rows that are damaged, and what can be done about it.
    pub mod damage;
    /// What was written down of an answer that streamed.
    mod draft;
    /// Conversations that go on without what is before their window.
    mod earlier;
    /// Files of a message.
    mod file;
    /// What a newer version of the package has stored.
    mod format;
    /// Azure, and the gateways in front of several providers.
    mod gateway;
    /// Databases of earlier versions.
    mod golden;
    /// What was found to be changed, and what may still be done with it.
    mod guard;
    /// Rows that somebody has changed.
    mod integrity;
    /// Trials of keys.
    mod key;
    /// How much is taken of an answer.
    mod limit;
    mod memory;
    /// Model calls that fail, keep silent or cost too much.
    mod model;
    /// Answers that have to fit a schema.
    mod opening;
    mod output;
    /// Text from outside, and what is asked about because of it.
    mod outside;
    /// What a session and a message have otherwise than the agent's configuration.
    mod overrides;
    /// Rows of pages that are damaged.
    mod page;
    /// What a person is asked, in which words, and until when.
    mod question;
    /// Parts of the module that arrive when they are needed.
    mod room;
    /// Tools that a model's provider runs.
    mod served;
    /// Named sessions.
    mod session;
    /// What becomes of a summary where something else happens meanwhile.
    mod summed;
    /// One workspace in several tabs.
    mod tab;
    /// Tasks without a session, and how little is left of them at hand.
    mod task;
    /// Delegates, skills, and tools of a page.
    mod tool;
    /// Older versions that become the conversation again, and messages that are taken out of it.
    mod turned;
    /// Edited messages and answers made anew.
    mod version;
    /// How much of a model's window a conversation has.
    pub mod window;
    /// What of a damaged session is shown and kept.
    pub mod words;
}

/// The cases of the systems that Lodger learned from, with tables of what became of each.
mod origins {
    /// Records, receipts, handoffs and redaction.
    mod craik;
    /// The lifecycle of a run.
    mod openclaw;
    /// The loop and its queue.
    mod pi;
    /// Conversations that are summed up.
    mod pi_compaction;
    /// Activity and output.
    mod purepoint;
}

/// Worlds drawn at random, by seeds: what must hold whatever happens. The long ones run in parts (`support::parts`).
mod worlds {
    /// Rows that are damaged at random.
    mod damage;
    /// The same of pages.
    mod page;
    /// The pump's twin: delays, failures and crashes, with every law at every step.
    mod pump;
    /// Records of sessions under random commands.
    mod session;
    /// Every prefix of every journal gives a request that is accepted.
    mod transcripts;
}

/// What is read from files, and judged by others.
mod corpora {
    /// What the fuzz targets start from and what they have found.
    mod fuzz;
    /// JSON Schema: the official suite, ajv, properties and cases.
    mod schema;
    /// Streams of models, recorded and written by hand.
    mod streams;
}

/// The judges of requests (`support::*_rules`) are judged.
mod rules;

/// What the modules above share: worlds, laws, judges, servers.
mod support;
