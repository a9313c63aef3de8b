//! A file, line by line.
//!
//! Decides whether a line may stand where it stands, and whether the file is whole. Promises: an error names the line.
//! No more than one line and the open file are held besides the conversation. Leaves to others: what is done with a
//! copy (`adopt`), and whether its signatures are good.

use super::{FORMAT, LINE, VERSION, tied};
use crate::error::{Code, ErrorInfo};
use crate::find;
use crate::journal::{Entry, RecordKind, Row, hex};
use crate::json::{self, Reader as Json};
use crate::list::Listed;
use crate::maps::Named;
use crate::model::Usage;
use crate::ports::{Key, PatternEngine, Rows, signed_row};
use crate::session::lifecycle::check_id;
use crate::session::record::{self, Record, storable};
use crate::session::{Difference, Session, again, weight};
use crate::work;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// How much work a file may be, in steps of [`work`], and how much more for each of its bytes. What sessions are that nobody
/// has made up is a hundredth of it.
const WORK: u64 = 20_000_000;
const WORK_PER_BYTE: u64 = 4;

/// How many digits of its hash the id of a file has.
const ID: usize = 40;

/// A member that sets something else than a member, where a page copies what it is told.
const PROTOTYPE: &str = "__proto__";

/// What the first line says.
#[derive(Clone, Debug, Default)]
struct Head {
    /// The head as it was stored.
    text: String,
    value: Value,
    signatures: Vec<String>,
    package: String,
}

/// A file whose bytes are coming.
#[derive(Debug)]
struct Coming {
    id: String,
    media_type: String,
    size: u64,
    had: u64,
    bytes: Sha256,
}

/// Reads a file line by line, holding all that it says against what it must be.
#[derive(Debug)]
pub struct Reader {
    session: Session,
    /// Whether the machine runs again, and is held against what is recorded.
    replays: bool,
    /// How many lines there were.
    line: u64,
    sum: String,
    /// How much work may still be done.
    work: u64,
    head: Option<Head>,
    /// The files that have not come yet.
    missing: Vec<String>,
    files: u64,
    /// The files that are told of and whose bytes are lost.
    gone: Vec<String>,
    coming: Option<Coming>,
    over: bool,
    difference: Option<Difference>,
    /// The hashes of the receipts that have come.
    receipts: Named<()>,
    /// The signed events that have come since they were asked for.
    events: Rows,
    /// An event that is not signed, or by another key.
    unsigned: Rows,
}

/// A whole file.
#[derive(Debug)]
pub struct Carried {
    /// What its rows add up to.
    pub session: Session,
    /// The head as it was stored, its signatures behind it.
    pub head: String,
    /// The version of the package that has written it.
    pub package: String,
    /// The row of an event that is not signed by our key, if there is one: where the head is, each must be.
    pub unsigned: Rows,
    /// Its files whose bytes are lost: none come with it.
    pub gone: Vec<String>,
}

impl Reader {
    /// For a file that has not begun. `replays`: what is recorded is run again.
    pub fn new(engine: &PatternEngine, replays: bool) -> Reader {
        Reader {
            session: Session::with("", engine),
            replays,
            line: 0,
            sum: String::new(),
            work: WORK,
            head: None,
            missing: Vec::new(),
            files: 0,
            gone: Vec::new(),
            coming: None,
            over: false,
            difference: None,
            receipts: Named::default(),
            events: Rows::new(),
            unsigned: Rows::new(),
        }
    }

    /// Takes the next line, without its end.
    ///
    /// # Errors
    /// `invalid_arguments`: it is no such file. `newer_version`: a newer package has written it. `corrupt`: it is not as
    /// it was written. The error names the line; it is no use to go on.
    pub fn line(&mut self, line: &str) -> Result<(), ErrorInfo> {
        self.line += 1;
        self.work += line.len() as u64 * WORK_PER_BYTE;
        if line.starts_with("{\"damaged\"") {
            let error = in_line(self.line, corrupt("the session was damaged here when it was exported"));
            return Err(
                error.hint("sessions.salvage() makes a whole session of it, where it lies: export that one")
            );
        }
        self.take(line).map_err(|error| in_line(self.line, error))
    }

    /// Where the replay went another way; what comes then is not looked at.
    pub fn difference(&self) -> Option<&Difference> {
        self.difference.as_ref()
    }

    /// The rows of the signed events that have come since this was asked, as they are stored. Only a holder of the key can
    /// say whether their signatures are good.
    pub fn events(&mut self) -> Rows {
        std::mem::take(&mut self.events)
    }

    /// One of the signed events that have come is not signed by our key.
    pub fn doubt(&mut self, event: Option<&(Key, String)>) {
        self.unsigned = event.into_iter().cloned().list();
    }

    /// The version of the package that has written it, once the first line has come.
    pub fn package(&self) -> &str {
        self.head.as_ref().map_or("", |head| &head.package)
    }

    /// What was read, once all of it was.
    ///
    /// # Errors
    /// `corrupt`: its end is missing.
    pub fn finish(self) -> Result<Carried, ErrorInfo> {
        match self.head {
            Some(head) if self.over => {
                let text = signed_row(&head.text, &head.signatures);
                let Reader { session, unsigned, gone, .. } = self;
                Ok(Carried { session, head: text, package: head.package, unsigned, gone })
            }
            None => Err(in_line(1, no_file())),
            _ => Err(in_line(self.line, corrupt("the end is missing"))),
        }
    }

    fn take(&mut self, line: &str) -> Result<(), ErrorInfo> {
        if self.difference.is_some() {
            return Ok(());
        }
        if line.len() > LINE {
            return Err(corrupt("it is too long"));
        }
        if self.over {
            return Err(corrupt("something comes after the end"));
        }
        if self.head.is_none() {
            return self.begin(line);
        }
        if line.starts_with("{\"row\"") {
            return self.row(line);
        }
        let said = json::parse_within(line, 3).ok_or_else(|| corrupt("it is no line of a session"))?;
        match (said.get("file"), said.get("bytes"), said.get("end")) {
            (Some(Value::String(id)), None, None) => self.file(id, &said),
            (None, Some(Value::String(bytes)), None) => self.bytes(bytes),
            (None, None, Some(end)) => self.end(end),
            _ => Err(corrupt("it is no line of a session")),
        }
    }

    fn begin(&mut self, line: &str) -> Result<(), ErrorInfo> {
        let mut reader = Json::new(line);
        let mut head = Head::default();
        let (mut first, mut kind, mut session) = (true, String::new(), String::new());
        while reader.item(b'{', b'}', first).ok_or_else(no_file)? {
            first = false;
            let name = reader.name().ok_or_else(no_file)?;
            let text = reader.value().ok_or_else(no_file)?;
            let value = json::parse(text).ok_or_else(no_file)?;
            let word = || value.as_str().unwrap_or_default().to_owned();
            match &*name {
                "lodger" => kind = word(),
                "v" if value.as_u64().is_some_and(|version| version > VERSION) => {
                    return Err(ErrorInfo::newer("a newer version of lodger has written it"));
                }
                "package" => head.package = word(),
                "session" => session = word(),
                "head" => (head.text, head.value) = (text.into(), value),
                "signatures" => head.signatures = json::texts(&value).unwrap_or_default(),
                _ => {}
            }
        }
        if reader.space().is_some() || kind != FORMAT {
            return Err(no_file());
        }
        // What is signed stands on lines of its own.
        if head.signatures.iter().any(|signature| signature.chars().any(char::is_control)) {
            return Err(corrupt("a signature is none"));
        }
        if session.is_empty() || check_id(&session).is_err() {
            return Err(corrupt("no session can have this id"));
        }
        self.missing = head.value.get("files").and_then(json::texts).unwrap_or_default();
        self.session.id = session;
        self.sum = tied(&self.sum, line);
        self.head = Some(head);
        Ok(())
    }

    fn row(&mut self, line: &str) -> Result<(), ErrorInfo> {
        if self.files > 0 {
            return Err(corrupt("a row comes after a file"));
        }
        // Few lines need a closer look. The letters of a name may be escaped.
        let suspect = find::has(line, PROTOTYPE) || find::has(line, "\\u00");
        if suspect && json::parse(line).is_none_or(|said| names_prototype(&said)) {
            return Err(corrupt("a member has a name that nobody here gives to one"));
        }
        let row = Row::from_line(line).ok_or_else(|| corrupt("it is no row of a journal"))?;
        if !row.follows(self.session.hash()) {
            return Err(corrupt("the row does not follow the one before it"));
        }
        let before = work::done();
        if self.replays {
            self.pay(weight(&self.session))?;
            self.difference = again(&mut self.session, &row)?;
        } else {
            let (header, entry) = row.read()?;
            if let Some(entry) = &entry {
                self.check(entry, header.run.as_deref(), &row).map_err(|error| corrupt(&error.message))?;
            }
            self.session.read(&header, entry.as_ref(), &row)?;
        }
        self.pay(work::done() - before)?;
        self.sum = tied(&self.sum, line);
        Ok(())
    }

    /// Does so much work. It is counted, not timed, so a file is refused at the same line everywhere.
    fn pay(&mut self, work: u64) -> Result<(), ErrorInfo> {
        let left = self.work.checked_sub(work).ok_or_else(|| {
            corrupt("it is more work to read than a session can be")
                .hint("the file was made to keep its reader busy: ask where it comes from")
        })?;
        self.work = left;
        Ok(())
    }

    /// Whether what is put on record here could have been by this machine.
    fn check(&mut self, entry: &Entry, run: Option<&str>, row: &Row) -> Result<(), ErrorInfo> {
        let is_exact =
            |(usage, cost): (&Usage, Option<u64>)| usage.is_exact() && cost.is_none_or(|cost| cost < 1 << 53);
        let sums = if let Entry::Cleared { sums } = entry { sums.is_exact() } else { true };
        if !sums || !entry.usage().is_none_or(is_exact) {
            return Err(corrupt("more was used up than anybody can count"));
        }
        match entry {
            Entry::Commanded { args, .. } => storable(args, &[]),
            Entry::Recorded { what, record } => {
                record::check(what.known(), record, run, &mut self.receipts, &self.session.tools)?;
                if what.known().is_some_and(RecordKind::is_event) {
                    let stored = (Vec::new(), row.stored());
                    match row.signature() {
                        Some(_) => self.events.push(stored),
                        None => self.unsigned = vec![stored],
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn file(&mut self, id: &str, said: &Value) -> Result<(), ErrorInfo> {
        self.close_file()?;
        self.pay(self.missing.len() as u64)?;
        let at = self.missing.iter().position(|missing| missing == id);
        let at = at.ok_or_else(|| corrupt("the conversation has no such file"))?;
        // A file that came twice with messages is kept once.
        let id = self.missing.swap_remove(at);
        self.missing.retain(|missing| *missing != id);
        self.files += 1;
        if said.get("gone").is_some() {
            // A replay needs no bytes.
            if !self.replays && !self.session.has_file(&id, true) {
                let error = [
                    "the bytes of ",
                    &id,
                    " are missing, and the conversation does not say that they are lost",
                ];
                return Err(corrupt(&error.concat())
                    .hint("send a message in the session, where it lies: that puts the loss down; then export it again"));
            }
            self.gone.push(id);
            return Ok(());
        }
        self.coming = Some(Coming {
            id,
            media_type: said.get("mediaType").and_then(Value::as_str).unwrap_or_default().into(),
            size: said.get("size").and_then(Value::as_u64).unwrap_or_default(),
            had: 0,
            bytes: Sha256::new(),
        });
        Ok(())
    }

    fn bytes(&mut self, text: &str) -> Result<(), ErrorInfo> {
        let file = self.coming.as_mut().ok_or_else(|| corrupt("the bytes belong to no file"))?;
        let bytes = decoded(text).ok_or_else(|| corrupt("the bytes are no base64"))?;
        file.had += bytes.len() as u64;
        file.bytes.update(&bytes);
        Ok(())
    }

    /// Whether the bytes of the file that has come are what its id says.
    fn close_file(&mut self) -> Result<(), ErrorInfo> {
        let Some(file) = self.coming.take() else { return Ok(()) };
        let bytes = hex(&file.bytes.finalize());
        let hash = hex(&Sha256::digest([&file.media_type, " ", &*bytes].concat()));
        let id = hash.get(..ID).map(|hash| ["file_", hash].concat());
        if file.had != file.size || id.as_ref() != Some(&file.id) {
            return Err(corrupt("the file before it is not what its id says"));
        }
        Ok(())
    }

    fn end(&mut self, end: &Value) -> Result<(), ErrorInfo> {
        self.close_file()?;
        self.session.settle();
        let number = |name: &str| end.get(name).and_then(Value::as_u64);
        let session = &self.session;
        let counts = number("rows") == Some(session.seq()) && number("files") == Some(self.files);
        let hash = end.get("hash").and_then(Value::as_str) == Some(&self.sum);
        if !counts || !hash || !self.missing.is_empty() {
            return Err(corrupt("lines are missing, or were changed"));
        }
        // Everything else in a head is made anew from the rows.
        let head = self.head.as_ref().map_or(&Value::Null, |head| &head.value);
        let record = head
            .get("record")
            .filter(|record| !record.is_null())
            .cloned()
            .map(Record::of_head)
            .transpose()?;
        let files = session.files().map(|file| Value::from(file.id.as_str())).list();
        let own = record.as_ref().is_none_or(|record| record.id() == session.id);
        let named = json::items(head.get("files").unwrap_or(&Value::Null));
        if !own || !session.agrees_with(head) || record.as_ref() != session.record() || named != files {
            return Err(corrupt("the head in line 1 does not say what the rows say"));
        }
        self.over = true;
        Ok(())
    }
}

fn names_prototype(said: &Value) -> bool {
    match said {
        Value::Array(items) => items.iter().any(names_prototype),
        Value::Object(members) => {
            members.iter().any(|(name, member)| name == PROTOTYPE || names_prototype(member))
        }
        _ => false,
    }
}

fn in_line(line: u64, mut error: ErrorInfo) -> ErrorInfo {
    error.message = ["line ", &line.to_string(), ": ", &error.message].concat();
    match error.code {
        Code::Corrupt if error.hint.is_none() => {
            error.hint("the file was changed or cut off: export the session again")
        }
        _ => error,
    }
}

fn no_file() -> ErrorInfo {
    ErrorInfo::new(Code::InvalidArguments, "this is no session that lodger has exported")
        .hint("give a file of sessions.export() with the format \"journal\"")
}

fn corrupt(message: &str) -> ErrorInfo {
    ErrorInfo::new(Code::Corrupt, message)
}

/// The bytes of a text in base64.
fn decoded(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let digits = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0);
    for digit in digits.bytes() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Some(bytes)
}
