//! Tasks without a session, case by case. And sessions that are let go once nobody works in them: a page that has worked for
//! long begins like a new one.

use crate::support::desk::Desk;
use crate::support::media::{SAMPLES, given};
use lodger::error::Code;
use lodger::ports::{Commit, Part, Read, Table, Write};
use serde_json::{Value, json};

impl Desk {
    /// A task that is done, by its run.
    fn done(&mut self, text: &str) -> Value {
        let run = self.runs_once(json!({ "text": text }));
        self.says("done");
        run
    }

    fn runs_once(&mut self, args: Value) -> Value {
        self.must("sessions.runOnce", args)["runId"].clone()
    }

    fn how_it_went(&mut self, run: &Value) -> Value {
        self.must("sessions.left", json!({ "id": run }))["run"]["status"].clone()
    }

    /// The rows of tasks.
    fn task_rows(&mut self) -> Vec<String> {
        self.rows("default");
        self.stored(Table::Meta, "task")
    }

    fn files(&mut self) -> usize {
        self.rows("default");
        self.store.read(&Read::all(Table::Files, Vec::new())).len()
    }

    /// The session of a task, as it is stored.
    fn task_session(&mut self) -> String {
        self.rows("default");
        let heads = self.store.read(&Read::all(Table::Heads, Vec::new()));
        let mut ids = heads.into_iter().filter_map(|(key, _)| match key.into_iter().next() {
            Some(Part::Text(id)) if id.starts_with("once_") => Some(id),
            _ => None,
        });
        ids.next_back().expect("a task")
    }

    /// How many rows there are of a session, and those of tasks.
    fn left_of(&mut self, session: &str) -> (usize, usize, Vec<String>) {
        self.rows(session);
        let [entries, heads] = [Table::Entries, Table::Heads].map(|table| self.stored(table, session).len());
        (entries, heads, self.task_rows())
    }

    /// The store is that of a version that has no rows for tasks.
    fn has_no_rows_for_tasks(&mut self) {
        self.rows("default");
        let gone = |key: &str| Write::DeletePrefix { table: Table::Meta, prefix: vec![key.into()] };
        let writes = vec![gone("task"), gone("tasks")];
        self.store.commit(&Commit { writes, ..Commit::default() }).unwrap();
    }
}

#[test]
fn a_start_and_a_list_read_nothing_of_tasks_that_are_over() {
    let mut page = Desk::started("ann");
    page.launch("docs");
    let runs: Vec<Value> = (0..30).map(|n| page.done(&format!("task {n}"))).collect();
    assert_eq!(page.task_rows(), Vec::<String>::new());
    let session = page.task_session();
    assert!(page.harness.session(&session).is_none(), "nobody holds it");
    let before = page.heads;
    page.must("sessions.list", json!({}));
    assert_eq!(page.heads - before, 2, "that of the agent, and that of docs");

    let mut page = page.crash("ann");
    page.start();
    // All heads once, and that of the agent's own session with its rows.
    assert_eq!(page.heads, 3);
    let list = page.must("sessions.list", json!({}));
    assert_eq!(list.as_array().unwrap().len(), 2);
    for run in &runs {
        assert_eq!(page.how_it_went(run), "completed");
    }
}

#[test]
fn a_task_that_is_not_over_has_a_row_until_it_is() {
    let mut page = Desk::started("ann");
    let run = page.runs_once(json!({ "text": "sort the shelves" }));
    assert_eq!(page.task_rows(), [""]);
    let mut page = page.crash("ann");
    page.start();
    assert_eq!(page.how_it_went(&run), "interrupted");
    assert_eq!(page.task_rows(), Vec::<String>::new());

    // A task that has failed can be resumed by its run, and has its row again.
    let run = page.runs_once(json!({ "text": "sort the shelves" }));
    page.breaks(Code::InvalidConfig);
    assert_eq!((page.how_it_went(&run), page.task_rows()), (json!("failed"), vec![]));
    page.must("resume", json!({ "runId": run }));
    assert_eq!(page.task_rows(), [""]);
    page.says("sorted");
    assert_eq!(page.task_rows(), Vec::<String>::new());
}

#[test]
fn a_task_of_a_version_without_such_rows_is_found_by_its_head() {
    let mut page = Desk::started("ann");
    let done = page.done("a task with nothing to keep");
    let with_file = page.runs_once(json!({ "text": "look", "files": [given(&SAMPLES[0])] }));
    page.says("seen");
    let open = page.runs_once(json!({ "text": "sort the shelves" }));
    page.has_no_rows_for_tasks();
    let mut page = page.crash("ann");
    page.start();
    let all = [&done, &with_file, &open].map(|run| page.how_it_went(run));
    assert_eq!(all, ["completed", "completed", "interrupted"]);
    assert_eq!(page.files(), 1, "its file is there");
    assert_eq!(page.task_rows().len(), 1, "the one with a file");

    // From now on the rows say it.
    let mut page = page.crash("ann");
    page.start();
    assert_eq!(page.files(), 1);

    // A version without them held it once more: its row of the epoch is another.
    let open = page.runs_once(json!({ "text": "sort the shelves" }));
    page.rows("default");
    let write = Write::DeletePrefix { table: Table::Meta, prefix: vec!["task".into()] };
    let epoch = Write::Put { table: Table::Meta, key: vec!["tasks".into()], value: "1".into() };
    page.store.commit(&Commit { writes: vec![write, epoch], ..Commit::default() }).unwrap();
    let mut page = page.crash("ann");
    page.start();
    assert_eq!((page.how_it_went(&open), page.files()), (json!("interrupted"), 1));
}

#[test]
fn files_of_a_task_stay_as_long_as_it_is_known() {
    let mut page = Desk::started("ann");
    let run = page.runs_once(json!({ "text": "look", "files": [given(&SAMPLES[0])] }));
    page.says("seen");
    for _ in 0..3 {
        page = page.crash("ann");
        page.start();
        assert_eq!((page.files(), page.how_it_went(&run)), (1, json!("completed")));
    }
}

#[test]
fn the_row_of_a_task_may_be_lost_or_changed() {
    for text in ["", "{", "nothing that it says", "[]", "7"] {
        let mut page = Desk::started("ann");
        let done = page.runs_once(json!({ "text": "look", "files": [given(&SAMPLES[0])] }));
        page.says("seen");
        let open = page.runs_once(json!({ "text": "sort the shelves" }));
        page.rows("default");
        // The row of the finished task is lost or says nothing. The row of the other says what no version has written.
        page.edits(Table::Meta, "task", |_, row| match row.is_empty() {
            true => Some(if text.is_empty() { "?".into() } else { text.into() }),
            false => Some(text.into()),
        });
        let mut page = page.crash("ann");
        page.start();
        assert_eq!([&done, &open].map(|run| page.how_it_went(run)), ["completed", "interrupted"], "{text}");
        assert_eq!(page.files(), 1, "{text}");
    }
}

#[test]
fn a_task_that_was_refused_leaves_nothing() {
    let mut page = Desk::started("ann");
    page.fails("sessions.runOnce", json!({ "text": " " }));
    assert_eq!(page.task_rows(), [""]);
    let session = page.task_session();
    // The page goes before it is erased.
    let mut page = page.crash("ann");
    page.start();
    page.now += 20_000;
    page.rows(&session);
    let left = [Table::Entries, Table::Heads].map(|table| page.stored(table, &session).len());
    assert_eq!((left, page.task_rows()), ([0, 0], Vec::<String>::new()));
}

#[test]
fn nothing_stays_of_a_task_that_is_not_kept() {
    for lost in [false, true] {
        let mut page = Desk::started("ann");
        let run = page.runs_once(json!({ "text": "name the shelves", "keep": false }));
        let id = page.task_session();
        if lost {
            page = page.crash("ann");
            page.start();
        } else {
            page.says("shelves");
        }
        assert_eq!(page.how_it_went(&run), if lost { "interrupted" } else { "completed" });
        assert_eq!(page.task_rows(), [""], "a start knows that it has to go");
        page.now += 20_000;
        assert_eq!(page.left_of(&id), (0, 0, Vec::new()), "lost: {lost}");
        assert_eq!(page.fails("sessions.left", json!({ "id": run })).0, Code::RecordNotFound);
    }
}

#[test]
fn a_task_that_is_removed_by_the_id_of_its_session_goes_at_once() {
    let mut page = Desk::started("ann");
    page.runs_once(json!({ "text": "name the shelves", "keep": false }));
    page.says("shelves");
    let id = page.task_session();
    page.must("sessions.remove", json!({ "id": id }));
    assert_eq!(page.left_of(&id), (0, 0, Vec::new()));
    assert_eq!(page.fails("sessions.undoRemove", json!({ "id": id })).0, Code::SessionNotFound);
}

#[test]
fn a_name_that_was_made_of_an_answer_goes_with_it() {
    let name = |page: &mut Desk| page.status("docs")["display_name"].clone();
    for way in ["clearConversation", "first", "answer", "other", "renamed"] {
        let mut page = Desk::started("ann");
        page.launch("docs");
        for text in ["one", "two", "three"] {
            page.prompt("docs", text);
            page.says("said");
        }
        let said = page.must("history", json!({ "sessionId": "docs" }));
        let of = said[3]["runId"].clone();
        page.must("sessions.rename", json!({ "id": "docs", "displayName": "Shelves", "of": of }));
        if way == "renamed" {
            page.must("sessions.rename", json!({ "id": "docs", "displayName": "Mine" }));
        }
        let at = match way {
            "first" => 0,
            "answer" => 2,
            _ => 4,
        };
        if matches!(way, "clearConversation" | "renamed") {
            page.must("clearConversation", json!({ "sessionId": "docs" }));
        } else {
            page.must("removeMessage", json!({ "sessionId": "docs", "messageId": said[at]["id"] }));
        }
        let wanted = match way {
            "other" => json!("Shelves"),
            "renamed" => json!("Mine"),
            _ => Value::Null,
        };
        assert_eq!(name(&mut page), wanted, "{way}");
        if way == "clearConversation" {
            let late = json!({ "id": "docs", "displayName": "Shelves", "of": of });
            assert_eq!(page.fails("sessions.rename", late).0, Code::RunNotFound, "it comes too late");
        }
        page.holds("docs");
    }
}

#[test]
fn no_other_session_has_the_id_of_a_task() {
    let mut page = Desk::started("ann");
    let (code, message) = page.fails("sessions.launch", json!({ "id": "once_mine" }));
    assert_eq!(
        (code, message.as_str()),
        (Code::InvalidArguments, "ids that begin with \"once_\" are those of tasks")
    );
}

#[test]
fn a_session_that_is_idle_is_let_go_where_many_are() {
    let mut page = Desk::started("ann");
    let ids: Vec<String> = (0..40).map(|n| format!("docs-{n}")).collect();
    for id in &ids {
        page.launch(id);
    }
    let held = |page: &Desk| ids.iter().filter(|id| page.harness.session(id).is_some()).count();
    assert_eq!(held(&page), 15, "and the agent's own");
    for id in &ids {
        page.prompt(id, &format!("the word of {id}"));
        page.says("I keep it");
    }
    assert_eq!(held(&page), 15);
    assert!(page.harness.session(&ids[39]).is_some() && page.harness.session(&ids[0]).is_none());

    // One that was let go goes on where it was.
    page.prompt(&ids[0], "which word was it?");
    assert!(page.asked.to_string().contains("the word of docs-0"), "{}", page.asked);
    page.says("yours");
    assert_eq!(held(&page), 15);
    assert_eq!(page.must("history", json!({ "sessionId": ids[0] })).as_array().unwrap().len(), 4);
    page.holds(&ids[0]);
    assert_eq!(page.must("sessions.list", json!({})).as_array().unwrap().len(), 41);
}

#[test]
fn a_session_that_works_or_is_looked_at_is_not_let_go() {
    let mut page = Desk::started("ann");
    for id in ["works", "seen"] {
        page.launch(id);
    }
    page.prompt("works", "long work");
    page.must("watch", json!({ "sessionId": "seen" }));
    for n in 0..40 {
        let id = format!("docs-{n}");
        page.launch(&id);
        page.prompt(&id, "a word");
        let call = page.models.remove(1);
        page.models.insert(0, call);
        page.says("kept");
    }
    for id in ["default", "works", "seen"] {
        assert!(page.harness.session(id).is_some(), "{id}");
    }
    page.says("done at last");
    assert_eq!(page.status("works")["status"], "idle");
}

/// It is named at each start: so something can be done about it, as about any session.
#[test]
fn a_task_that_is_damaged_before_it_was_over_can_be_kept_salvaged_and_removed() {
    for way in ["sessions.salvage", "sessions.remove"] {
        for started in [false, true] {
            let why = format!("{way}, started: {started}");
            let mut page = Desk::started("ann");
            page.runs_once(json!({ "text": "sort the shelves" }));
            let id = page.task_session();
            page.tampers(Table::Entries, &id, "sort the shelves", "burn the shelves");
            let mut page = page.crash("ann");
            page.start();
            let named = page
                .events
                .iter()
                .filter(|(name, detail)| *name == "agent:notice" && detail["kind"] == "damaged");
            assert_eq!(
                named.map(|(_, detail)| &detail["sessionId"]).collect::<Vec<_>>(),
                [&json!(id)],
                "{why}"
            );
            if !started {
                page.must("stopAgent", json!({}));
            }
            let args = json!({ "id": id });
            assert_eq!(page.must("sessions.status", args.clone())["hmac_status"], "tampered", "{why}");
            assert!(
                page.must("history", json!({ "sessionId": id })).to_string().contains("damaged"),
                "{why}"
            );
            let file = super::carry::export(&mut page, &id);
            assert!(file.contains("damaged"), "{why}: {file}");
            page.must(way, args);
            if way == "sessions.remove" {
                let mut page = page.crash("ann");
                page.start();
                assert!(!page.events.iter().any(|(_, detail)| detail["kind"] == "damaged"), "{why}");
            }
        }
    }
    // One that is whole is no session.
    let mut page = Desk::started("ann");
    page.done("sort the shelves");
    let id = page.task_session();
    assert_eq!(page.fails("sessions.status", json!({ "id": id })).0, Code::SessionNotFound);
}
