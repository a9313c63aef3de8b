//! Files that come with a message, or that a tool gives.
//!
//! Decides how many and how large they may be, and which are refused before anything is stored; which bytes nobody
//! refers to any more. Promises: the bytes are put with the entry that has their files, in one commit. Leaves to
//! others: reading the bytes and what they are called by (`browser/`), what a model is sent (`model/`).

use crate::error::{Code, ErrorInfo};
use crate::harness::action::CallKey;
use crate::harness::calls::outcome::{result_text, returned_entry};
use crate::harness::calls::{CallOwner, Owner, RunCall};
use crate::harness::config::Config;
use crate::harness::core::Core;
use crate::harness::runner::Runner;
use crate::journal::Entry;
use crate::list::Listed;
use crate::model::{Block, File, FileKind, Peer};
use crate::ports::{Table, Write};
use crate::protocol::{Args, Members};
use crate::rooms::{Room, enter};
use crate::session::Session;
use crate::tools::ToolText;
use serde_json::Value;

/// How many files may come together.
const COUNT: usize = 20;

/// How many bytes an image may have: Anthropic takes five megabytes of base64.
const IMAGE_BYTES: u64 = 5 * 1024 * 1024 / 4 * 3;

/// How many bytes a file of text may have: a quarter of a million tokens, about.
const TEXT_BYTES: u64 = 1024 * 1024;

/// How many bytes all files of a conversation may have. Each request has them all, and Anthropic takes 32 megabytes of
/// base64 and text.
const ALL_BYTES: u64 = 23 * 1024 * 1024;

/// How long a file's name may be, in characters.
const NAME: usize = 200;

/// The files among the arguments of `sendMessage`, or of a tool's result, `{ mediaType, size, name?, id? }` each. This is asked
/// before their bytes are read.
///
/// # Errors
/// `invalid_arguments`, `file_too_large`.
pub fn files(args: &Value) -> Result<Vec<File>, ErrorInfo> {
    let given = args.get("files").filter(|files| !files.is_null());
    let given = given.map_or(Ok(&[][..]), |files| {
        let error = || ErrorInfo::new(Code::InvalidArguments, "sendMessage needs \"files\" to be a list");
        files.as_array().map(Vec::as_slice).ok_or_else(error)
    })?;
    if given.len() > COUNT {
        let error = ErrorInfo::new(Code::FileTooLarge, format!("{COUNT} files at most may come together"));
        return Err(error.hint("give the others another time"));
    }
    let mut sum = 0_u64;
    let mut files = Vec::new();
    for file in given {
        let file = Args::read(file, "a file", "id? mediaType size?# name?")?;
        let file = File {
            id: file.needed("id").into(),
            media_type: file.needed("mediaType").into(),
            size: file.whole("size").unwrap_or_default(),
            name: file.needed("name").chars().filter(|c| !c.is_control()).take(NAME).collect::<String>(),
            gone: false,
        };
        if file.size == 0 {
            return Err(ErrorInfo::new(Code::InvalidArguments, format!("{} is empty", called(&file))));
        }
        let (most, what) = match file.kind() {
            FileKind::Image => (IMAGE_BYTES, "an image"),
            FileKind::Text => (TEXT_BYTES, "a file of text"),
            _ => (ALL_BYTES, "a file"),
        };
        if file.size > most {
            let error = format!("{} has {} bytes; {what} may have {most}", called(&file), file.size);
            return Err(ErrorInfo::new(Code::FileTooLarge, error).hint(match file.kind() {
                FileKind::Image => "make it smaller: models see no more than about 1600 pixels a side",
                _ => "send the part of it that matters",
            }));
        }
        sum = sum.saturating_add(file.size);
        files.push(file);
    }
    fits(sum, "files that come together")?;
    Ok(files)
}

fn fits(sum: u64, what: &str) -> Result<(), ErrorInfo> {
    if sum <= ALL_BYTES {
        return Ok(());
    }
    let error = format!("{what} may have {ALL_BYTES} bytes together, these have {sum}");
    Err(ErrorInfo::new(Code::FileTooLarge, error)
        .hint("send smaller ones, or clear the conversation: each request has all of its files"))
}

fn called(file: &File) -> String {
    if file.name.is_empty() { "a file".into() } else { format!("\"{}\"", file.name) }
}

/// Whether some model takes the file, and the one that will be asked, if there is one.
fn supported(config: &Config, file: &File, on: Option<&str>, peer: Option<&Peer>) -> Result<(), ErrorInfo> {
    let kind = match file.kind() {
        FileKind::Other => {
            let error = format!("no model reads {} ({})", called(file), file.media_type);
            return Err(ErrorInfo::new(Code::UnsupportedFile, error)
                .hint("send text, a PDF, or an image as PNG, JPEG, GIF or WebP"));
        }
        FileKind::Image => "images",
        _ => "PDF files",
    };
    if peer.is_none_or(|peer| peer.takes(file)) {
        return Ok(());
    }
    let error = format!("the model {} takes no {kind}: {}", config.model(on), called(file));
    Err(ErrorInfo::new(Code::UnsupportedFile, error).hint("take a model that does, or send it as text"))
}

impl Runner {
    /// The files of a message that can be accepted, each a block. `kept`: how many runs of the conversation stay before it.
    /// `overrides`: what it has otherwise than its session.
    ///
    /// # Errors
    /// `unsupported_file`, and those of [`files`].
    pub(in crate::harness) fn accepted_files(
        &self,
        core: &Core,
        session: &str,
        kept: usize,
        (args, overrides): (&Value, Option<&Value>),
    ) -> Result<Vec<Block>, ErrorInfo> {
        if args.get("files").is_none_or(Value::is_null) {
            return Ok(Vec::new());
        }
        self.looked_at_files(core, session, kept, (args, overrides))
    }

    /// The same where there are any. A door of the room `past`.
    #[inline(never)]
    fn looked_at_files(
        &self,
        core: &Core,
        session: &str,
        kept: usize,
        (args, overrides): (&Value, Option<&Value>),
    ) -> Result<Vec<Block>, ErrorInfo> {
        enter(Room::Past);
        let mut files = files(args)?;
        let had = core.session(session).into_iter().flat_map(|session| session.files_sent(kept));
        let had: u64 = had.map(|file| file.size).sum();
        let sum = files.iter().fold(had, |sum, file| sum.saturating_add(file.size));
        if !files.is_empty() {
            fits(sum, "the files of a conversation")?;
        }
        let folded = core.session(session);
        let overrides = match overrides {
            Some(message) => folded.and_then(|session| session.overrides_with(message)),
            None => folded.and_then(Session::overrides),
        };
        let on = overrides.as_ref().and_then(|of| of.get("provider")?.as_str());
        let config = self.setup.config_with(overrides.as_ref())?;
        let peer = config.peer(on);
        for file in &mut files {
            file.name = core.secrets.scrubbed(std::mem::take(&mut file.name));
            supported(&config, file, on, peer.as_ref())?;
        }
        Ok(files.into_iter().map(Block::File).list())
    }

    /// The tool call that these files belong to, if somebody waits for it.
    ///
    /// # Errors
    /// `file_too_large`; `tool_failed`: the page's own code has called the tool, and no conversation keeps them.
    pub(in crate::harness) fn keeps(
        &self,
        core: &Core,
        call: CallKey,
        files: &[File],
    ) -> Result<Option<&RunCall>, ErrorInfo> {
        let Some(live) = self.calls.functions.get(call) else { return Ok(None) };
        let CallOwner::Tool(Owner::Run(of)) = &live.owner else {
            let error = ErrorInfo::new(Code::ToolFailed, "the tool gave files, which only a run keeps");
            return Err(error.hint("let the agent call it, or call the function itself"));
        };
        let had =
            core.session(&of.session).into_iter().flat_map(|session| session.files_sent(session.runs.len()));
        let sum = had.chain(files).fold(0_u64, |sum, file| sum.saturating_add(file.size));
        fits(sum, "the files of a conversation").map(|()| Some(of))
    }

    /// A tool is over, and gave files. A door of the room `past`.
    #[inline(never)]
    pub(in crate::harness) fn gave(
        &mut self,
        core: &mut Core,
        call: CallKey,
        json: Option<String>,
        (files, texts): (Vec<File>, Vec<(usize, String)>),
    ) {
        enter(Room::Past);
        let RunCall { session, run, tool_call } = match self.keeps(core, call, &files) {
            Ok(Some(of)) => of.clone(),
            Ok(None) => return core.runs.late(call),
            Err(error) => return self.returned(core, call, Err(error)),
        };
        self.calls.functions.remove(call);
        let (mut text, mut is_json) = result_text(json);
        for (at, inside) in texts {
            if let Some(file) = files.get(at) {
                let gap = if text.is_empty() { "" } else { "\n\n" };
                text = [&text, gap, &file.lead(), &inside].concat();
                is_json = false;
            }
        }
        let text = ToolText::new(core.secrets.scrubbed(text));
        let is_json = is_json && text.truncated.is_none();
        let mut entry = returned_entry(&tool_call, text, is_json);
        if let Entry::Returned { files: given, .. } = &mut entry {
            let named = |file: File| File { name: core.secrets.scrubbed(file.name), ..file };
            *given = files.into_iter().map(named).map(Block::File).list();
            self.write_files(core, given);
        }
        self.settle(core, &session, &run, &entry);
    }

    /// Writes the bytes of files, with the next commit. Those that a conversation refers to are there, unless
    /// they were lost: so each is written.
    pub(in crate::harness) fn write_files(&mut self, core: &mut Core, files: &[Block]) {
        for file in files {
            if let Block::File(file) = file {
                let key = vec![file.id.as_str().into()];
                core.outbox.write(Write::Put { table: Table::Files, key, value: String::new() });
            }
        }
    }

    /// The request of a model call was not sent, because these files are gone. A door of the room `past`.
    #[inline(never)]
    pub(in crate::harness) fn files_gone(&mut self, core: &mut Core, call: CallKey, mut files: Vec<String>) {
        enter(Room::Past);
        let Some(model) = self.calls.models.get(call) else { return core.runs.late(call) };
        let (session, run, number) = (model.session.clone(), model.run.clone(), model.call);
        // What no message has, or is told of already, no request has.
        files.retain(|id| core.session(&session).is_some_and(|session| session.has_file(id, false)));
        if files.is_empty() {
            let error = ErrorInfo::new(Code::StorageFailed, "a file of the conversation cannot be read");
            return self.answered(core, call, Err((error, None)));
        }
        self.calls.models.remove(call);
        let files = files.iter().map(|id| id.as_str().into()).list();
        self.settle(core, &session, &run, &Entry::FilesGone { call: number, files: Value::Array(files) });
    }

    /// Tells those who watch what is shown of files, wherever they stand, if some have gone or come back. A door of the room
    /// `past`.
    #[inline(never)]
    pub(in crate::harness) fn tell_files(&mut self, core: &mut Core, session: &str) {
        enter(Room::Past);
        let Some(slot) = core.sessions.get_mut(session) else { return };
        let now = (slot.session.generation, slot.session.files_told);
        if std::mem::replace(&mut slot.files_told, now) != now && core.sessions.is_watched(session) {
            core.outbox.tell_after_commit(self.calls.history_notice(core, session));
        }
    }

    /// Tells that files are gone: what is shown of them changes, wherever they stand. A door of the room `past`.
    #[inline(never)]
    pub(in crate::harness) fn tell_gone(&mut self, core: &mut Core, session: &str, run: &str, files: &Value) {
        enter(Room::Past);
        self.tell_files(core, session);
        let Some(mut detail) = core.detail_of(session, run) else { return };
        let error =
            ErrorInfo::new(Code::FileNotFound, "files of the conversation are lost: the model is told so")
                .hint("send them again with a new message, if they matter");
        detail.text("kind", "files").value("files", files.clone()).value("error", error.to_json());
        core.send("agent:notice", detail, true);
    }
}

/// Whether files come with a message.
pub(in crate::harness) fn has_files(args: Members<'_>) -> bool {
    args.get("files").and_then(Value::as_array).is_some_and(|files| !files.is_empty())
}
