//! Closed words: what an entry says by one of a few words.
//!
//! Decides the words and their variants, each set in one table. Promises: a word that this version does not know is read,
//! and written with the same bytes. Leaves to others: what a word means, and what an unknown one means, to the fold that
//! takes the entry.

/// A set of words.
pub trait Words: Copy + 'static {
    /// Its word.
    fn word(self) -> &'static str;
    /// The one with this word.
    fn find(word: &str) -> Option<Self>;
}

/// A word in an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word<T> {
    /// One of its set.
    Known(T),
    /// Another, as it stands there.
    Other(Box<str>),
}

impl<T: Words> Word<T> {
    /// Which one it is; `None`: none of its set.
    pub fn known(&self) -> Option<T> {
        match self {
            Word::Known(known) => Some(*known),
            Word::Other(_) => None,
        }
    }

    /// The word.
    pub fn as_str(&self) -> &str {
        match self {
            Word::Known(known) => known.word(),
            Word::Other(word) => word,
        }
    }
}

impl<T: Words> From<T> for Word<T> {
    fn from(known: T) -> Word<T> {
        Word::Known(known)
    }
}

impl<T: Words> From<&str> for Word<T> {
    fn from(word: &str) -> Word<T> {
        T::find(word).map_or_else(|| Word::Other(word.into()), Word::Known)
    }
}

impl<T: Words + PartialEq> PartialEq<T> for Word<T> {
    fn eq(&self, known: &T) -> bool {
        self.known().as_ref() == Some(known)
    }
}

/// The place of a word among others.
pub(crate) fn place(words: &[&str], word: &str) -> Option<usize> {
    words.iter().position(|other| *other == word)
}

/// Sets of words, each a type.
macro_rules! words {
    ($( $(#[doc = $doc:literal])* $name:ident { $( $(#[doc = $word_doc:literal])* $variant:ident = $word:literal, )* } )*) => {
        $(
            $(#[doc = $doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
            pub enum $name { $( $(#[doc = $word_doc])* $variant, )* }

            impl $name {
                /// All of them.
                pub const ALL: [$name; [$($word),*].len()] = [$( $name::$variant ),*];
                /// Their words, in the same order.
                pub const WORDS: [&'static str; [$($word),*].len()] = [$( $word ),*];

                /// Its public word.
                pub fn as_str(self) -> &'static str {
                    match self { $( $name::$variant => $word, )* }
                }

                /// The one with this word.
                pub fn parse(word: &str) -> Option<$name> {
                    $name::ALL.get($crate::journal::words::place(&$name::WORDS, word)?).copied()
                }
            }

            impl $crate::journal::words::Words for $name {
                fn word(self) -> &'static str {
                    self.as_str()
                }
                fn find(word: &str) -> Option<$name> {
                    $name::parse(word)
                }
            }
        )*

        /// The sets by their names, of which the types are written.
        #[cfg(test)]
        pub(crate) const SETS: &[(&str, &[&str])] = &[$( (stringify!($name), &$name::WORDS) ),*];
    };
}

pub(crate) use words;

words! {
    /// How a message waits while a run works.
    Mode {
        /// It begins a run of its own.
        Queue = "queue",
        /// It enters the run at work.
        Steer = "steer",
    }
    /// How a run ended, as everyone is told.
    Outcome {
        /// The model has finished.
        Completed = "completed",
        /// Someone stopped it.
        Interrupted = "interrupted",
        /// It could not go on.
        Failed = "failed",
    }
    /// Whose budget it is.
    Spender {
        /// Of a run, with those that work for it.
        Run = "run",
        /// Of the session.
        Session = "session",
    }
    /// What an agent may do, by its kind of work.
    Process {
        /// Everything, and it may delegate.
        Orchestrator = "Orchestrator",
        /// It only reads.
        Researcher = "Researcher",
        /// Everything but to delegate.
        Worker = "Worker",
        /// It only reads, and writes skills.
        SkillComposer = "SkillComposer",
    }
    /// What a budget limits.
    Limit {
        /// Model calls.
        Turns = "turns",
        /// Tokens that models have read.
        InputTokens = "inputTokens",
        /// Tokens that models have written.
        OutputTokens = "outputTokens",
        /// Money, in nano-dollars.
        Cost = "cost",
        /// Time, in milliseconds.
        WallMs = "wallMs",
    }
    /// What becomes of a call, the freest first.
    Verdict {
        /// It runs.
        Allow = "allow",
        /// A person is asked.
        Ask = "ask",
        /// It is refused.
        Deny = "deny",
    }
    /// Why a person is asked about a call.
    AskReason {
        /// The rules say so.
        Policy = "policy",
        /// It can destroy something.
        Destructive = "destructive",
        /// The conversation holds text from outside, and the call can send something out.
        ExternalText = "external_text",
        /// The page's `decide` says so.
        Decide = "decide",
        /// Nobody knows whether it took effect before its page was lost.
        UnknownOutcome = "unknown_outcome",
        /// The tool has changed since it was allowed.
        DefinitionChanged = "definition_changed",
    }
    /// What a person answers.
    Answer {
        /// This call runs.
        AllowOnce = "allow_once",
        /// This call runs, and all others of the tool.
        AlwaysAllow = "always_allow",
        /// It does not run.
        Deny = "deny",
    }
    /// Who or what has interrupted a run.
    StoppedBy {
        /// A person.
        User = "user",
        /// The agent or its session was stopped.
        Stop = "stop",
        /// A message took the place of one before it.
        Replaced = "replaced",
        /// The conversation was cleared.
        Cleared = "cleared",
        /// The session was copied in the middle of the run.
        Copied = "copied",
        /// The session was removed.
        Removed = "removed",
        /// Its page was lost, and it is not gone on with.
        Lost = "lost",
        /// Its time was over, so it has failed.
        Timeout = "timeout",
    }
    /// Why a conversation is made shorter for the model.
    CompactReason {
        /// It fills the window.
        Window = "window",
        /// The provider has refused a request as too long.
        Refused = "context_length",
        /// A person or a page wants it.
        Asked = "asked",
    }
    /// What is known of a stored record's signature.
    Integrity {
        /// Nobody has changed it who does not have the key.
        Verified = "verified",
        /// Somebody has.
        Tampered = "tampered",
        /// It was written without a signature.
        Unverified = "unverified",
        /// It has one, and the key is gone.
        Unverifiable = "unverifiable",
    }
    /// What is asked of a session itself: `Session::ask` says what comes of it.
    Ask {
        /// It begins, and gets its record.
        Launch = "launch",
        /// It takes a prompt, or an exit word.
        Prompt = "prompt",
        /// It stops.
        Stop = "stop",
        /// It starts again.
        Restart = "restart",
        /// It gets another name.
        Rename = "rename",
        /// It is answered by another provider or model, or otherwise.
        Configure = "configure",
        /// It goes on after a failure, or is said to have failed.
        Recover = "recover",
        /// It is removed.
        Remove = "remove",
        /// It is brought back.
        UndoRemove = "undoRemove",
        /// It is put away, until a run begins in it.
        Archive = "archive",
        /// It is put aside.
        Bench = "bench",
        /// It is taken up again.
        Play = "play",
        /// The key that it waited for is there.
        Ready = "ready",
        /// A run of it goes on.
        GoOn = "go_on",
        /// A copy from a file becomes a session of its own.
        Import = "import",
        /// A copy of another session becomes a session of its own.
        Fork = "fork",
        /// What was whole of a damaged session becomes one of its own, or takes its place.
        Salvage = "salvage",
        /// How it stands. What is found on the way is written down.
        Status = "status",
    }
    /// What is put on record.
    RecordKind {
        /// Something that has happened to the session.
        Event = "event",
        /// Something that was done.
        Receipt = "receipt",
        /// What a run leaves.
        Handoff = "handoff",
        /// A run that is over.
        Run = "run",
        /// The event that a prompt has come, in short.
        Prompt = "prompt",
        /// What the end of a run leaves, in short: receipts, run, handoff and event.
        End = "end",
    }
}

impl RecordKind {
    /// Whether a row of it is an event, so that it is signed.
    pub fn is_event(self) -> bool {
        matches!(self, RecordKind::Event | RecordKind::Prompt | RecordKind::End)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_that_of_its_variant() {
        for (at, verdict) in Verdict::ALL.into_iter().enumerate() {
            assert_eq!(verdict.as_str(), Verdict::WORDS[at]);
            assert_eq!(Verdict::parse(verdict.as_str()), Some(verdict));
        }
        assert_eq!(Verdict::parse("Allow"), None);
    }

    #[test]
    fn an_unknown_word_stays_what_it_is() {
        let word = Word::<Answer>::from("never");
        assert_eq!((word.known(), word.as_str()), (None, "never"));
        assert!(word != Answer::Deny && Word::<Answer>::from("deny") == Answer::Deny);
    }
}
