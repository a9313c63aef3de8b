//! What is found where a workspace is opened: whether what it had stored was lost, what is told of that, and how often.

use lodger::error::Code;
use lodger::harness::{Action, By, Found, Harness, Input, Marker, Notice, Options, loss_known};
use lodger::ports::{Commit, MemoryStore, Part, Read, StoreError, Table, Write};
use lodger::protocol::read;
use lodger::rooms::Room;
use serde_json::{Value, json};

/// When the marker was set.
const SINCE: u64 = 7_000;

/// A database, and the marker beside it.
struct Place {
    store: MemoryStore,
    marker: Marker,
    now: u64,
    /// Nothing more can be stored.
    full: bool,
}

/// A page that has opened it.
struct Page {
    harness: Harness,
    /// What it was told of losses.
    told: Vec<Value>,
    /// The last answer.
    answer: Option<Value>,
}

fn meta(key: &str, value: &str) -> Write {
    Write::Put { table: Table::Meta, key: vec![Part::from(key)], value: value.into() }
}

impl Place {
    fn new(marker: Marker) -> Place {
        Place { store: MemoryStore::new(), marker, now: 10_000, full: false }
    }

    /// Where the browser has said that it makes the database in place of one that it has dropped.
    fn emptied(marker: Marker) -> Place {
        let mut place = Place::new(marker);
        place.write(vec![meta("emptied", "9000")]);
        place
    }

    fn write(&mut self, writes: Vec<Write>) {
        self.store.commit(&Commit { writes, ..Commit::default() }).unwrap();
    }

    fn row(&self, key: &str) -> Option<String> {
        let rows = self.store.read(&Read::all(Table::Meta, vec![key.into()]));
        rows.into_iter().next().map(|(_, text)| text)
    }

    /// What a page finds that opens it now.
    fn found(&self) -> Found {
        let [format, lost, emptied] = Found::KEYS.map(|key| self.row(key));
        Found { format, lost, emptied: emptied.is_some(), marker: self.marker }
    }

    fn harness() -> Harness {
        let operator = Options::local_operator();
        Harness::new(Options { name: "w".into(), page_tools: true, holder: "h".into(), operator })
    }

    fn rejected(&mut self) -> Option<StoreError> {
        self.now += 1;
        Place::harness().opened(self.now, &self.found(), true).err()
    }

    fn open(&mut self) -> Page {
        let found = self.found();
        self.open_as(&found)
    }

    /// A page that has looked before something happened that others did.
    fn open_as(&mut self, found: &Found) -> Page {
        self.now += 1;
        let mut page = Page { harness: Place::harness(), told: Vec::new(), answer: None };
        page.harness.opened(self.now, found, false).unwrap();
        self.act(&mut page);
        page
    }

    fn command(&mut self, page: &mut Page, name: &str, args: Value) -> Value {
        let request = read(name, args);
        page.answer = None;
        page.harness.handle(self.now, Input::Command { id: 1, request, fresh: "f".into(), by: By::Here });
        self.act(page);
        page.answer.take().unwrap_or_else(|| panic!("{name} is answered"))
    }

    fn create(&mut self, page: &mut Page) {
        self.command(page, "pages.create", json!({ "title": "T" }));
    }

    fn act(&mut self, page: &mut Page) {
        while let Some(action) = page.harness.poll(self.now) {
            match action {
                Action::Tell(Notice::Lost(detail)) => {
                    page.told.push(serde_json::from_str(&detail).unwrap());
                }
                Action::Reply { result, .. } => {
                    page.answer =
                        Some(serde_json::from_str(&result.unwrap().unwrap_or("null".into())).unwrap());
                }
                Action::Draft { writes } => self.write(writes),
                Action::Commit { id, commit } => {
                    let result = self.store.commit(&commit);
                    page.harness.handle(self.now, Input::Committed { commit: id, result });
                }
                Action::Read { id, reads } => {
                    let rows = reads.iter().map(|read| self.store.read(read)).collect();
                    page.harness.handle(self.now, Input::Read { read: id, result: Ok(rows) });
                }
                Action::Storage { known: true, .. } if self.full => {
                    page.answer = Some(json!("no room"));
                }
                Action::Storage { known, .. } => {
                    if known {
                        self.store.commit(&loss_known()).unwrap();
                    }
                    let lost = self.row("lost").map(|row| serde_json::from_str::<Value>(&row).unwrap());
                    page.answer = Some(json!({ "lost": lost }));
                }
                Action::Mark => {
                    assert!(self.row("format").is_some(), "a marker without anything stored");
                    if !self.marked() {
                        self.marker = Marker::Since(SINCE);
                    }
                }
                Action::Room(room) => page.harness.handle(self.now, Input::Room { room, result: Ok(()) }),
                _ => {}
            }
        }
    }

    fn marked(&self) -> bool {
        matches!(self.marker, Marker::Since(_))
    }

    /// Something else than lodger deletes the database.
    fn lose(&mut self) {
        self.store = MemoryStore::new();
    }
}

#[test]
fn a_workspace_that_had_something_is_told_as_lost_at_each_opening_until_it_is_acknowledged() {
    let mut place = Place::new(Marker::Absent);
    let mut first = place.open();
    assert!(first.told.is_empty());
    assert_eq!(place.marker, Marker::Absent, "an opening alone sets no marker");
    place.create(&mut first);
    assert_eq!(place.marker, Marker::Since(SINCE));

    place.lose();
    place.now = 20_000;
    let mut page = place.open();
    let lost = json!({ "at": 20_001, "since": SINCE });
    assert_eq!(page.told, std::slice::from_ref(&lost));
    assert_eq!(place.command(&mut page, "storage", json!({}))["lost"], lost);

    // Nobody has heard it, and then something is stored: it is told as what it was.
    for _ in 0..2 {
        let mut again = place.open();
        assert_eq!(again.told[0], lost);
        place.create(&mut again);
    }
    let mut last = place.open();
    assert_eq!(place.command(&mut last, "acknowledgeLoss", json!({}))["lost"], Value::Null);
    assert!(place.open().told.is_empty());
    assert_eq!(place.command(&mut page, "storage", json!({}))["lost"], Value::Null, "in every tab");

    // The next loss is another one.
    place.lose();
    assert_eq!(place.open().told.len(), 1);
}

#[test]
fn a_loss_that_is_acknowledged_before_anything_is_stored_is_told_no_more() {
    let mut place = Place::new(Marker::Since(SINCE));
    let mut page = place.open();
    assert_eq!(page.told.len(), 1);
    place.command(&mut page, "acknowledgeLoss", json!({}));
    assert!(place.open().told.is_empty());
    assert_eq!(place.rejected(), None);
    // Twice, or where nothing was lost, it stores nothing.
    let mut fresh = Place::new(Marker::Absent);
    let mut page = fresh.open();
    fresh.command(&mut page, "acknowledgeLoss", json!({}));
    assert_eq!(fresh.row("format"), None);
}

#[test]
fn a_loss_whose_acknowledgement_finds_no_room_is_told_until_it_does() {
    let mut place = Place::new(Marker::Since(SINCE));
    let mut page = place.open();
    place.full = true;
    for _ in 0..2 {
        assert_eq!(place.command(&mut page, "acknowledgeLoss", json!({})), "no room");
        assert_ne!(place.command(&mut page, "storage", json!({}))["lost"], Value::Null);
    }
    place.full = false;
    assert_eq!(place.command(&mut page, "acknowledgeLoss", json!({}))["lost"], Value::Null);
    assert!(place.open().told.is_empty());
}

#[test]
fn who_acknowledges_a_loss_lowers_no_format() {
    let mut place = Place::new(Marker::Since(SINCE));
    let mut page = place.open();
    // A newer version has taken the workspace since.
    place.write(vec![meta("format", "99=99")]);
    place.command(&mut page, "acknowledgeLoss", json!({}));
    assert_eq!((place.row("format").as_deref(), place.row("lost")), (Some("99=99"), None));
}

#[test]
fn what_never_stored_anything_is_not_lost() {
    for marker in [Marker::Unknown, Marker::Absent] {
        let mut place = Place::new(marker);
        for _ in 0..2 {
            assert!(place.open().told.is_empty());
        }
        assert_eq!(place.rejected(), None);
        assert_eq!(place.row("lost"), None);
    }
}

#[test]
fn what_the_browser_says_counts_where_no_marker_can_say_more() {
    // Others have markers, and this workspace has none: what was dropped was theirs.
    assert!(Place::emptied(Marker::Absent).open().told.is_empty());
    let mut place = Place::emptied(Marker::Unknown);
    let page = place.open();
    assert_eq!(page.told[0], json!({ "at": 10_001 }), "since when, nobody knows");
    assert_eq!(place.open().told[0], page.told[0]);
    // From then on it stands, whatever others do meanwhile.
    place.marker = Marker::Absent;
    assert_eq!(place.open().told.len(), 1);
    let both = Place::emptied(Marker::Since(SINCE)).open();
    assert_eq!(both.told[0], json!({ "at": 10_001, "since": SINCE }));
}

#[test]
fn a_page_that_rejects_a_loss_gets_none_of_it_and_can_open_it_later() {
    for mut place in [Place::new(Marker::Since(SINCE)), Place::emptied(Marker::Unknown)] {
        for _ in 0..2 {
            assert_eq!(place.rejected(), Some(StoreError::Lost));
        }
        let error = StoreError::Lost.info();
        assert_eq!((error.code, error.retryable()), (Code::StorageLost, false));
        assert!(error.hint.as_ref().is_some_and(|hint| hint.contains("onStorageLost")));
        let mut page = place.open();
        assert_eq!(page.told.len(), 1);
        // As long as nothing is stored there is nothing to open.
        assert_eq!(place.rejected(), Some(StoreError::Lost));
        place.create(&mut page);
        assert_eq!(place.rejected(), None);
        assert_eq!(place.open().told.len(), 1, "it is told until it is acknowledged");
    }
}

#[test]
fn two_tabs_that_find_a_loss_at_once_both_tell_it_and_the_first_stays() {
    let mut place = Place::new(Marker::Since(SINCE));
    let (one, other) = (place.found(), place.found());
    let mut first = place.open_as(&one);
    place.create(&mut first);
    let mut second = place.open_as(&other);
    assert_eq!((first.told.len(), second.told.len()), (1, 1));
    let stored = json!({ "at": 10_001, "since": SINCE });
    for page in [&mut first, &mut second] {
        assert_eq!(place.command(page, "storage", json!({}))["lost"], stored);
    }
    assert_eq!(place.command(&mut second, "pages.read", json!({ "slug": "t" }))["title"], "T");
}

#[test]
fn the_marker_comes_with_the_first_commit_that_is_stored_and_with_a_used_workspace() {
    let mut place = Place::new(Marker::Absent);
    place.write(vec![meta("format", "1")]);
    place.open();
    assert!(place.marked(), "it was written before there were markers");

    let mut harness = Place::harness();
    let mut place = Place::new(Marker::Absent);
    harness.opened(1, &place.found(), false).unwrap();
    let request = read("pages.create", json!({ "title": "T" }));
    harness.handle(2, Input::Command { id: 1, request, fresh: "f".into(), by: By::Here });
    let mut commit = None;
    let mut marks = 0;
    for fails in [true, false] {
        // What a page changes is read first.
        while let Some(action) = harness.poll(3) {
            match action {
                Action::Read { id, reads } => {
                    let rows = reads.iter().map(|read| place.store.read(read)).collect();
                    harness.handle(3, Input::Read { read: id, result: Ok(rows) });
                }
                Action::Room(room @ Room::Pages) => {
                    harness.handle(3, Input::Room { room, result: Ok(()) });
                }
                Action::Commit { id, commit: what } => commit = Some((id, what)),
                Action::Mark => marks += 1,
                _ => {}
            }
        }
        assert_eq!(marks, 0, "nothing is stored yet");
        let (id, what) = commit.take().expect("a commit");
        let result = if fails {
            Err(StoreError::Conflict(Table::Meta, vec!["pages_rev".into()]))
        } else {
            place.store.commit(&what)
        };
        harness.handle(4, Input::Committed { commit: id, result });
    }
    while let Some(action) = harness.poll(5) {
        marks += usize::from(matches!(action, Action::Mark));
    }
    assert_eq!(marks, 1);
}
