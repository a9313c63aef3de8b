//! What a workspace promises, through its public interface and a store.

use super::*;
use crate::ports::{Commit, Key, MemoryStore, Millis, StoreError};
use serde_json::json;
use std::collections::BTreeMap;

/// A tab: a workspace in memory and the store that it shares with others.
struct Tab {
    tree: PageTree,
    now: Millis,
}

fn load(store: &MemoryStore) -> PageTree {
    let [rev, head, pages] = PageTree::reads();
    PageTree::load(&store.read(&rev), &store.read(&head), &store.read(&pages)).unwrap()
}

fn commit(plan: &Plan) -> Commit {
    Commit { expect: plan.expect.clone(), writes: plan.writes.clone(), ..Commit::default() }
}

fn op(name: &str, args: &Value) -> Result<Op, ErrorInfo> {
    Ok(Op::of(&crate::protocol::read(&["pages.", name].concat(), args.clone())?))
}

impl Tab {
    fn new() -> Tab {
        Tab { tree: PageTree::default(), now: 1000 }
    }

    fn plan(&self, store: &MemoryStore, name: &str, args: &Value) -> Result<Plan, ErrorInfo> {
        match self.tree.plan(&op(name, args)?, self.now)? {
            Outcome::Done(plan) => Ok(plan),
            Outcome::Read(pending) => {
                let rows = store.read(pending.read());
                pending.finish(&rows)
            }
        }
    }

    fn catch_up(&mut self, store: &MemoryStore) {
        let [changes, head] = self.tree.missed();
        if let Some(missed) = Missed::from_rows(&store.read(&changes), self.tree.rev()).unwrap() {
            let rows: Rows = missed.reads.iter().flat_map(|read| store.read(read)).collect();
            self.tree.apply_rows(missed.rev, &rows).unwrap();
            self.tree.agree(&store.read(&head)).unwrap();
        }
    }

    /// As the pump does it: plan, commit, accept; on a conflict catch up and plan again.
    fn try_do(&mut self, store: &mut MemoryStore, name: &str, args: Value) -> Result<Value, ErrorInfo> {
        self.now += 1;
        loop {
            let plan = self.plan(store, name, &args)?;
            match store.commit(&commit(&plan)) {
                Ok(()) => {
                    let value = plan.value.clone();
                    self.tree.accept(plan);
                    return Ok(value);
                }
                Err(StoreError::Conflict(Table::Meta, _)) => self.catch_up(store),
                Err(error) => panic!("{error:?}"),
            }
        }
    }
}

/// One tab with its store.
struct Desk {
    tab: Tab,
    store: MemoryStore,
}

impl Desk {
    fn new() -> Desk {
        Desk { tab: Tab::new(), store: MemoryStore::new() }
    }

    fn with(titles: &[&str]) -> Desk {
        let mut desk = Desk::new();
        for title in titles {
            desk.ok("create", json!({ "title": title }));
        }
        desk
    }

    fn ok(&mut self, name: &str, args: Value) -> Value {
        self.tab.try_do(&mut self.store, name, args).unwrap()
    }

    /// The error, after making sure that nothing has changed.
    fn err(&mut self, name: &str, args: Value) -> ErrorInfo {
        let before = (self.tab.tree.clone(), self.store.clone());
        let error = self.tab.try_do(&mut self.store, name, args).unwrap_err();
        assert_eq!((&self.tab.tree, &self.store), (&before.0, &before.1));
        error
    }

    fn read(&mut self, slug: &str) -> Value {
        self.ok("read", json!({ "slug": slug }))
    }

    /// The tree as a line: `a(b c(d))`.
    fn tree(&mut self) -> String {
        line(&self.ok("tree", json!({})))
    }

    fn put_under(&mut self, slug: &str, parent: &str) {
        self.ok("move", json!({ "slug": slug, "parentSlug": parent }));
    }
}

fn line(nodes: &Value) -> String {
    let node = |node: &Value| {
        let below = line(&node["children"]);
        let slug = node["slug"].as_str().unwrap();
        if below.is_empty() { slug.to_string() } else { format!("{slug}({below})") }
    };
    nodes.as_array().unwrap().iter().map(node).collect::<Vec<_>>().join(" ")
}

fn slugs(pages: &Value) -> Vec<&str> {
    pages.as_array().unwrap().iter().map(|page| page["slug"].as_str().unwrap()).collect()
}

#[test]
fn a_page_is_created_and_read() {
    let mut desk = Desk::new();
    let created = desk.ok("create", json!({ "title": " Dragon\n Lore ", "content": "Fire." }));
    assert_eq!(
        created,
        json!({ "slug": "dragon-lore", "title": "Dragon Lore", "content": "Fire.", "parentSlug": null,
            "position": 0, "version": 1, "metadata": {}, "createdAt": 1001, "updatedAt": 1001 })
    );
    assert_eq!(desk.read("dragon-lore"), created);
    let below = desk.ok("create", json!({ "title": "Eggs", "parentSlug": "dragon-lore", "slug": "egg-1" }));
    assert_eq!((&below["slug"], &below["parentSlug"]), (&json!("egg-1"), &json!("dragon-lore")));
    assert_eq!(desk.tree(), "dragon-lore(egg-1)");
    assert_eq!(line(&desk.ok("tree", json!({ "rootSlug": "egg-1" }))), "egg-1");
}

#[test]
fn slugs_are_unique_over_the_trash_too() {
    let mut desk = Desk::with(&["A", "a", "A!", "???"]);
    assert_eq!(desk.tree(), "a a-2 a-3 page");
    desk.ok("delete", json!({ "slug": "a-2" }));
    assert_eq!(desk.ok("create", json!({ "title": "A" }))["slug"], "a-4");
    let error = desk.err("create", json!({ "title": "x", "slug": "a" }));
    assert_eq!((error.code, error.message.as_str()), (Code::SlugTaken, "a page has the slug 'a' already"));
    let error = desk.err("create", json!({ "title": "x", "slug": "a-2" }));
    assert_eq!(error.message, "a page in the trash has the slug 'a-2' already");
}

#[test]
fn what_cannot_be_created_is_refused() {
    let mut desk = Desk::with(&["A"]);
    for (args, code, message) in [
        (json!({ "title": " \n" }), Code::InvalidArguments, "the title is empty"),
        (json!({ "title": "x", "slug": "A b" }), Code::InvalidArguments, "'A b' is no slug"),
        (json!({ "title": "x", "slug": "" }), Code::InvalidArguments, "'' is no slug"),
        (json!({ "title": "x", "parentSlug": "no" }), Code::PageNotFound, "no page has the slug 'no'"),
    ] {
        let error = desk.err("create", args);
        assert_eq!((error.code, error.message.as_str()), (code, message));
    }
}

#[test]
fn a_missing_page_is_named_by_every_operation() {
    let mut desk = Desk::with(&["Dragon Lore", "Gone"]);
    desk.ok("delete", json!({ "slug": "gone" }));
    for (name, mut args) in [
        ("read", json!({})),
        ("update", json!({ "content": "x" })),
        ("rename", json!({ "title": "x" })),
        ("move", json!({ "parentSlug": null })),
        ("delete", json!({})),
        ("restore", json!({})),
        ("backlinks", json!({})),
        ("outgoingLinks", json!({})),
        ("versions", json!({})),
    ] {
        args["slug"] = "nowhere".into();
        let error = desk.err(name, args.clone());
        assert_eq!(error.code, Code::PageNotFound, "{name}");
        assert_eq!(error.message, "no page has the slug 'nowhere'", "{name}");
        if name != "restore" {
            args["slug"] = "gone".into();
            assert_eq!(desk.err(name, args).message, "the page 'gone' is in the trash", "{name}");
        }
    }
    assert_eq!(desk.err("tree", json!({ "rootSlug": "nowhere" })).code, Code::PageNotFound);
    assert_eq!(
        desk.err("move", json!({ "slug": "dragon-lore", "parentSlug": "gone" })).code,
        Code::PageNotFound
    );
    assert_eq!(
        desk.err("restore", json!({ "slug": "dragon-lore" })).message,
        "the page 'dragon-lore' is not in the trash"
    );
    let error = desk.err("read", json!({ "slug": "Dragon lore" }));
    assert_eq!(error.hint.as_deref(), Some("the page titled 'Dragon Lore' has the slug 'dragon-lore'"));
}

#[test]
fn contents_are_versioned_and_metadata_is_merged() {
    let mut desk = Desk::with(&["A"]);
    let at = |desk: &Desk| desk.tab.now;
    let created = at(&desk);
    let page = desk.ok("update", json!({ "slug": "a", "content": "one", "metadata": { "x": 1, "y": [2] } }));
    assert_eq!((&page["version"], &page["metadata"]), (&json!(2), &json!({ "x": 1, "y": [2] })));
    let second = at(&desk);
    let page =
        desk.ok("update", json!({ "slug": "a", "metadata": { "x": null, "z": true }, "expectedVersion": 2 }));
    assert_eq!((&page["version"], &page["metadata"]), (&json!(2), &json!({ "y": [2], "z": true })));
    assert_eq!(page["updatedAt"], at(&desk));
    desk.ok("update", json!({ "slug": "a", "content": "two" }));
    let third = at(&desk);
    let all = desk.ok("versions", json!({ "slug": "a" }));
    assert_eq!(
        all,
        json!([{ "version": 3, "at": third, "content": "two" }, { "version": 2, "at": second, "content": "one" },
            { "version": 1, "at": created, "content": "" }])
    );
    let two = desk.ok("versions", json!({ "slug": "a", "limit": 2 }));
    assert_eq!(two.as_array().unwrap()[..], all.as_array().unwrap()[..2]);
    assert_eq!(desk.ok("versions", json!({ "slug": "a", "limit": 1 })).as_array().unwrap().len(), 1);
}

#[test]
fn reading_versions_asks_for_no_more_rows_than_it_gives() {
    let mut desk = Desk::with(&["A"]);
    for n in 0..10 {
        desk.ok("update", json!({ "slug": "a", "content": n.to_string() }));
    }
    let op = Op::Versions { slug: "a".into(), limit: 4 };
    let Outcome::Read(pending) = desk.tab.tree.plan(&op, 0).unwrap() else { panic!("no read") };
    assert_eq!(desk.store.read(pending.read()).len(), 3);
    // Another tab has written on before the rows were read: the answer is still of the moment it was asked.
    desk.ok("update", json!({ "slug": "a", "content": "later" }));
    let plan = pending.finish(&desk.store.read(&Read::all(Table::Versions, vec!["a".into()]))).unwrap();
    let versions: Vec<_> = plan.value.as_array().unwrap().iter().map(|row| row["version"].clone()).collect();
    assert_eq!(versions, [11, 10, 9, 8]);
    assert!(plan.writes.is_empty() && plan.expect.is_empty());
}

#[test]
fn an_unexpected_version_and_an_empty_change_are_refused() {
    let mut desk = Desk::with(&["A"]);
    let error = desk.err("update", json!({ "slug": "a", "content": "x", "expectedVersion": 2 }));
    assert_eq!(
        (error.code, error.message.as_str()),
        (Code::VersionConflict, "the page 'a' has version 1, not 2")
    );
    assert_eq!(desk.err("update", json!({ "slug": "a" })).code, Code::InvalidArguments);
}

#[test]
fn what_changes_nothing_writes_nothing() {
    let mut desk = Desk::with(&["A", "B"]);
    desk.ok("update", json!({ "slug": "a", "content": "x", "metadata": { "k": 1 } }));
    for (name, args) in [
        ("update", json!({ "slug": "a", "content": "x", "metadata": { "k": 1, "none": null } })),
        ("rename", json!({ "slug": "a", "title": " A " })),
        ("move", json!({ "slug": "a", "parentSlug": null, "position": 0 })),
        ("move", json!({ "slug": "b", "parentSlug": null })),
        ("move", json!({ "slug": "b", "parentSlug": null, "position": 99 })),
        ("read", json!({ "slug": "a" })),
    ] {
        let plan = desk.tab.plan(&desk.store, name, &args).unwrap();
        assert!(plan.writes.is_empty() && plan.expect.is_empty() && plan.rev() == 0, "{name}");
        assert!(plan.value["slug"].is_string());
    }
}

#[test]
fn a_plan_writes_exactly_what_changed() {
    let desk = Desk::with(&["A"]);
    let plan = desk.tab.plan(&desk.store, "update", &json!({ "slug": "a", "content": "x" })).unwrap();
    let meta: Key = vec!["pages_rev".into()];
    assert_eq!(
        plan.expect,
        [crate::ports::Expect { table: Table::Meta, key: meta, value: Some("1".into()) }]
    );
    let rows: Vec<_> = plan
        .writes
        .iter()
        .map(|write| match write {
            crate::ports::Write::Put { table, key, value } => (*table, key.len(), value.as_str()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(rows.len(), 5);
    assert_eq!(rows[0], (Table::Meta, 1, "2"));
    assert!(rows[1].2.starts_with("[\"a\",\"#"));
    assert_eq!((rows[1].0, rows[1].1), (Table::Changes, 1));
    assert_eq!((rows[2].0, rows[2].1), (Table::Versions, 2));
    assert!(
        rows[2]
            .2
            .starts_with("{\"at\":1001,\"content\":\"\",\"outside\":[],\"title\":\"A\",\"v\":2,\"hash\":")
    );
    assert_eq!((rows[3].0, rows[3].1), (Table::Pages, 1));
    assert!(rows[4].2.starts_with("{\"count\":1,\"from\":0,\"rev\":2,\"sum\":2,\"v\":2,\"hash\":"));
    assert_eq!(plan.changed().collect::<Vec<_>>(), ["a"]);
    let first = PageTree::default()
        .plan(&Op::Create { title: "x".into(), content: String::new(), parent: None, slug: None }, 0)
        .unwrap();
    let Outcome::Done(first) = first else { panic!("no plan") };
    assert_eq!(first.expect[0].value, None);
}

#[test]
fn pages_are_moved_to_where_they_should_stand() {
    let mut desk = Desk::with(&["A", "B", "C", "D"]);
    let page = desk.ok("move", json!({ "slug": "d", "parentSlug": null, "position": 0 }));
    assert_eq!(page["position"], 0);
    assert_eq!(desk.tree(), "d a b c");
    assert_eq!(desk.ok("move", json!({ "slug": "d", "parentSlug": null, "position": 2 }))["position"], 2);
    assert_eq!(desk.tree(), "a b d c");
    assert_eq!(desk.ok("move", json!({ "slug": "a", "parentSlug": "b" }))["position"], 0);
    assert_eq!(desk.ok("move", json!({ "slug": "c", "parentSlug": "b", "position": 9 }))["position"], 1);
    assert_eq!(desk.tree(), "b(a c) d");
    assert_eq!(desk.read("d")["position"], 1);
    assert_eq!(desk.read("c")["version"], 1);
}

#[test]
fn there_is_always_room_between_two_pages() {
    let mut desk = Desk::with(&["First", "Last"]);
    let mut expected = vec!["first".to_string(), "last".to_string()];
    for n in 0..60 {
        let slug =
            desk.ok("create", json!({ "title": format!("P{n}") }))["slug"].as_str().unwrap().to_string();
        desk.ok("move", json!({ "slug": slug, "parentSlug": null, "position": 1 }));
        expected.insert(1, slug);
    }
    assert_eq!(desk.tree(), expected.join(" "));
    assert_eq!(load(&desk.store), desk.tab.tree);
}

#[test]
fn a_page_cannot_go_below_itself() {
    let mut desk = Desk::with(&["A", "B", "C"]);
    desk.put_under("b", "a");
    desk.put_under("c", "b");
    for to in ["a", "b", "c"] {
        let error = desk.err("move", json!({ "slug": "a", "parentSlug": to }));
        assert_eq!(error.code, Code::PageCycle);
        assert!(error.message.contains("'a'") && error.message.contains(&format!("'{to}'")));
    }
    assert_eq!(desk.tree(), "a(b(c))");
}

#[test]
fn pages_nest_to_a_stated_depth() {
    let mut desk = Desk::with(&["P1", "Q"]);
    for n in 2..=MAX_DEPTH {
        desk.ok("create", json!({ "title": format!("P{n}"), "parentSlug": format!("p{}", n - 1) }));
    }
    let deepest = format!("p{MAX_DEPTH}");
    assert_eq!(
        desk.err("create", json!({ "title": "x", "parentSlug": deepest })).message,
        "pages can be nested 50 deep at most"
    );
    assert_eq!(desk.err("move", json!({ "slug": "q", "parentSlug": deepest })).code, Code::InvalidArguments);
    assert_eq!(desk.err("move", json!({ "slug": "p1", "parentSlug": "q" })).code, Code::InvalidArguments);
    let tree = desk.ok("tree", json!({}));
    assert!(line(&tree).contains(&deepest));
    // As deep as it is, it can be read back.
    assert_eq!(serde_json::from_str::<Value>(&tree.to_string()).unwrap(), tree);
}

#[test]
fn a_deleted_page_leaves_its_children_in_its_place_and_takes_them_back() {
    let mut desk = Desk::with(&["A", "B", "C", "X", "Y", "Z"]);
    for child in ["x", "y", "z"] {
        desk.put_under(child, "b");
    }
    assert_eq!(desk.tree(), "a b(x y z) c");
    assert_eq!(desk.ok("delete", json!({ "slug": "b" })), Value::Null);
    assert_eq!(desk.tree(), "a x y z c");
    let trash = desk.ok("trash", json!({}));
    assert_eq!(slugs(&trash), ["b"]);
    desk.put_under("y", "c");
    let page = desk.ok("restore", json!({ "slug": "b" }));
    assert_eq!((&page["slug"], &page["position"], &page["version"]), (&json!("b"), &json!(1), &json!(1)));
    assert_eq!(desk.read("b"), page);
    assert_eq!(desk.tree(), "a b(x z) c(y)");
    assert_eq!(desk.ok("trash", json!({})), json!([]));
}

#[test]
fn a_page_whose_parent_is_gone_returns_to_the_next_one_above() {
    let mut desk = Desk::with(&["Top", "Mid", "Low", "Leaf"]);
    desk.put_under("mid", "top");
    desk.put_under("low", "mid");
    desk.put_under("leaf", "low");
    desk.ok("delete", json!({ "slug": "low" }));
    desk.ok("delete", json!({ "slug": "mid" }));
    assert_eq!(desk.tree(), "top(leaf)");
    assert_eq!(slugs(&desk.ok("trash", json!({}))), ["mid", "low"]);
    assert_eq!(desk.ok("restore", json!({ "slug": "low" }))["parentSlug"], "top");
    assert_eq!(desk.tree(), "top(low(leaf))");
    desk.ok("restore", json!({ "slug": "mid" }));
    assert_eq!(desk.tree(), "top(mid low(leaf))");
}

#[test]
fn links_go_both_ways() {
    let mut desk = Desk::with(&["Dragon Lore", "Rome", "Rome"]);
    desk.ok(
        "create",
        json!({ "title": "Index", "content": "[[dragon LORE|them]] [[Rome]] [[rome-2]] [[dragon-lore]] [[Nowhere]] [[index]]" }),
    );
    assert_eq!(
        desk.ok("outgoingLinks", json!({ "slug": "index" })),
        json!([{ "title": "Dragon Lore", "slug": "dragon-lore" }, { "title": "Rome", "slug": "rome" },
            { "title": "Rome", "slug": "rome-2" }, { "title": "Nowhere", "slug": null }, { "title": "Index", "slug": "index" }])
    );
    for slug in ["dragon-lore", "rome", "rome-2"] {
        assert_eq!(slugs(&desk.ok("backlinks", json!({ "slug": slug }))), ["index"], "{slug}");
    }
    // A link to itself is no backlink, and the trash links to nothing.
    assert_eq!(desk.ok("backlinks", json!({ "slug": "index" })), json!([]));
    desk.ok("create", json!({ "title": "nowhere" }));
    assert_eq!(slugs(&desk.ok("backlinks", json!({ "slug": "nowhere" }))), ["index"]);
    desk.ok("delete", json!({ "slug": "index" }));
    assert_eq!(desk.ok("backlinks", json!({ "slug": "rome" })), json!([]));
}

#[test]
fn a_renamed_page_keeps_its_links() {
    let mut desk = Desk::with(&["Rome", "Trash"]);
    desk.ok("create", json!({ "title": "A", "content": "[[ROME]] [[Rome|the city]] [[other]]" }));
    desk.ok("update", json!({ "slug": "trash", "content": "[[Rome]]" }));
    desk.ok("delete", json!({ "slug": "trash" }));
    desk.ok("update", json!({ "slug": "rome", "content": "self: [[Rome]]" }));
    let page = desk.ok("rename", json!({ "slug": "rome", "title": "Roma" }));
    assert_eq!((&page["slug"], &page["title"]), (&json!("rome"), &json!("Roma")));
    assert_eq!((&page["content"], &page["version"]), (&json!("self: [[Roma]]"), &json!(3)));
    let a = desk.read("a");
    assert_eq!((&a["content"], &a["version"]), (&json!("[[Roma]] [[Roma|the city]] [[other]]"), &json!(2)));
    assert_eq!(desk.ok("restore", json!({ "slug": "trash" }))["content"], "[[Roma]]");
    assert_eq!(slugs(&desk.ok("backlinks", json!({ "slug": "rome" }))), ["a", "trash"]);
    // Another case is the same title: links hold as they are.
    desk.ok("rename", json!({ "slug": "rome", "title": "ROMA" }));
    assert_eq!(desk.read("a")["version"], 2);
}

#[test]
fn links_follow_by_the_slug_where_the_new_title_cannot_carry_them() {
    let mut desk = Desk::with(&["Old", "Taken", "Late"]);
    desk.ok("create", json!({ "title": "A", "content": "[[Late]]" }));
    desk.ok("create", json!({ "title": "B", "content": "[[Old]] [[Old|it]]" }));
    desk.ok("rename", json!({ "slug": "late", "title": "taken" }));
    assert_eq!(desk.read("a")["content"], "[[late|taken]]");
    desk.ok("rename", json!({ "slug": "old", "title": "New [1]" }));
    assert_eq!(desk.read("b")["content"], "[[old]] [[old|it]]");
    assert_eq!(slugs(&desk.ok("backlinks", json!({ "slug": "late" }))), ["a"]);
    assert_eq!(slugs(&desk.ok("backlinks", json!({ "slug": "old" }))), ["b"]);
}

#[test]
fn links_of_another_page_of_the_same_title_stay() {
    let mut desk = Desk::with(&["Twin", "Twin"]);
    desk.ok("create", json!({ "title": "A", "content": "[[Twin]]" }));
    desk.ok("rename", json!({ "slug": "twin-2", "title": "Other" }));
    assert_eq!(desk.read("a")["content"], "[[Twin]]");
}

#[test]
fn the_search_follows_every_change() {
    let mut desk = Desk::new();
    desk.ok(
        "create",
        json!({ "title": "Dragon Lore", "content": "Dragons breathe fire and hoard treasure." }),
    );
    desk.ok("create", json!({ "title": "Sea", "content": "Salt water." }));
    let find = |desk: &mut Desk, query: &str| desk.ok("search", json!({ "query": query }));
    let found = find(&mut desk, "dragons");
    assert_eq!(slugs(&found), ["dragon-lore"]);
    assert_eq!(found[0]["title"], "Dragon Lore");
    assert_eq!(found[0]["snippet"], "Dragons breathe fire and hoard treasure.");
    assert!(found[0]["score"].as_f64().unwrap() > 0.0);
    desk.ok("update", json!({ "slug": "sea", "content": "Dragons swim." }));
    assert_eq!(find(&mut desk, "dragons").as_array().unwrap().len(), 2);
    assert_eq!(desk.ok("search", json!({ "query": "dragons", "limit": 1 })).as_array().unwrap().len(), 1);
    assert_eq!(find(&mut desk, "salt"), json!([]));
    desk.ok("rename", json!({ "slug": "sea", "title": "Ocean" }));
    assert_eq!(slugs(&find(&mut desk, "ocean")), ["sea"]);
    desk.ok("delete", json!({ "slug": "sea" }));
    assert_eq!(find(&mut desk, "ocean"), json!([]));
    desk.ok("restore", json!({ "slug": "sea" }));
    assert_eq!(slugs(&find(&mut desk, "ocean")), ["sea"]);
}

#[test]
fn two_tabs_never_overwrite_each_other() {
    let mut store = MemoryStore::new();
    let (mut one, mut two) = (Tab::new(), Tab::new());
    one.try_do(&mut store, "create", json!({ "title": "A" })).unwrap();
    // The second tab knows of nothing yet: its plan conflicts, it catches up, and gets another slug.
    assert_eq!(two.try_do(&mut store, "create", json!({ "title": "A" })).unwrap()["slug"], "a-2");
    two.try_do(&mut store, "update", json!({ "slug": "a", "content": "two" })).unwrap();
    let stale = json!({ "slug": "a", "content": "one", "expectedVersion": 1 });
    assert_eq!(one.try_do(&mut store, "update", stale).unwrap_err().code, Code::VersionConflict);
    assert_eq!(one.tree, two.tree);
    assert_eq!(one.tree, load(&store));
}

#[test]
fn a_plan_that_came_in_from_the_store_first_is_not_taken_over_again() {
    let mut store = MemoryStore::new();
    let (mut one, mut two) = (Tab::new(), Tab::new());
    one.try_do(&mut store, "create", json!({ "title": "A" })).unwrap();
    let plan = one.plan(&store, "update", &json!({ "slug": "a", "content": "one" })).unwrap();
    store.commit(&commit(&plan)).unwrap();
    two.catch_up(&store);
    two.try_do(&mut store, "update", json!({ "slug": "a", "content": "two" })).unwrap();
    one.catch_up(&store);
    one.tree.accept(plan);
    assert_eq!(one.tree, load(&store));
    // Old rows that arrive late are left as well.
    let old = one.tree.clone();
    one.tree.apply_rows(1, &vec![]).unwrap();
    assert_eq!(one.tree, old);
}

#[test]
fn rows_that_cannot_be_read_are_in_doubt_and_change_nothing() {
    let row = |text: &str| vec![(vec!["x".into()], text.to_string())];
    assert_eq!(PageTree::load(&row("many"), &vec![], &vec![]), Err(Doubt));
    assert_eq!(PageTree::load(&vec![], &row("{}"), &vec![]), Err(Doubt));
    assert_eq!(PageTree::load(&vec![], &vec![], &row("{}")), Err(Doubt));
    let mut desk = Desk::with(&["A"]);
    let before = desk.tab.tree.clone();
    assert_eq!(desk.tab.tree.apply_rows(9, &row("[]")), Err(Doubt));
    assert_eq!(desk.tab.tree, before);
    // A change that is missing is in doubt like one that cannot be read.
    for (number, text) in [(3, "{"), (3, "{}"), (3, "[1]"), (4, "[]")] {
        let rows = vec![(vec![number.into()], text.to_string())];
        assert_eq!(Missed::from_rows(&rows, 2), Err(Doubt), "{number} {text}");
    }
    desk.ok("update", json!({ "slug": "a", "content": "x" }));
    let op = Op::Versions { slug: "a".into(), limit: 5 };
    let Outcome::Read(pending) = desk.tab.tree.plan(&op, 0).unwrap() else { panic!("no read") };
    let rows = vec![(vec!["a".into(), 1.into()], "[]".to_string())];
    let versions = pending.finish(&rows).unwrap().value;
    assert_eq!(versions[1]["damaged"], json!({ "code": "corrupt", "why": "it cannot be read" }));
}

#[test]
fn a_circle_in_half_read_rows_stops_no_one() {
    let mut desk = Desk::with(&["A", "B", "C"]);
    let rows: Rows = [("a", "b"), ("b", "a")]
        .iter()
        .map(|(slug, parent)| {
            let page = Page { parent: Some((*parent).into()), ..desk.tab.tree.page(slug).unwrap().clone() };
            (vec![(*slug).into()], page.to_stored())
        })
        .collect();
    desk.tab.tree.apply_rows(3, &rows).unwrap();
    assert_eq!(desk.tree(), "c");
    assert!(line(&desk.ok("tree", json!({ "rootSlug": "a" }))).starts_with("a(b(a"));
    // The walk up from "a" never ends by itself.
    assert_eq!(desk.ok("move", json!({ "slug": "c", "parentSlug": "a" }))["parentSlug"], "a");
    assert_eq!(desk.err("move", json!({ "slug": "a", "parentSlug": "b" })).code, Code::PageCycle);
}

/// Checks everything that must hold of a workspace, each against the plainest way to work it out.
fn check(tree: &PageTree) {
    let live: Vec<&Page> = tree.pages.values().filter(|page| page.is_live()).collect();
    // The tree holds every live page once, and nothing else.
    let whole = tree.tree(tree.siblings(None), 1);
    let mut found = Vec::new();
    let mut queue: Vec<&Value> = whole.as_array().unwrap().iter().collect();
    while let Some(node) = queue.pop() {
        found.push(node["slug"].as_str().unwrap());
        let below = node["children"].as_array().unwrap();
        for child in below {
            let parent = tree.page(child["slug"].as_str().unwrap()).unwrap().parent.as_deref();
            assert_eq!(parent, node["slug"].as_str());
        }
        queue.extend(below);
    }
    found.sort_unstable();
    assert_eq!(found, live.iter().map(|page| page.slug.as_str()).collect::<Vec<_>>());
    // Positions are indexes.
    for siblings in tree.children.values() {
        for (index, (_, slug)) in siblings.iter().enumerate() {
            assert_eq!(tree.position(tree.pages.get(slug).unwrap()), index);
        }
    }
    // Links, by reading every text again.
    let lower = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let meant = |target: &str| {
        let mut titled: Vec<&&Page> = live.iter().filter(|page| lower(&page.title) == target).collect();
        titled.sort_by_key(|page| (page.created_at, page.slug.clone()));
        titled.first().or(live.iter().find(|page| page.slug == target).as_ref()).map(|page| page.slug.clone())
    };
    for page in &live {
        let mut expected: Vec<&str> = live
            .iter()
            .filter(|from| from.slug != page.slug)
            .filter(|from| {
                from.content.split("[[").skip(1).any(|rest| {
                    let Some((inner, _)) = rest.split_once("]]") else { return false };
                    let target = inner.split('|').next().unwrap();
                    !inner.contains(['[', ']']) && meant(&lower(target)).as_deref() == Some(&page.slug)
                })
            })
            .map(|from| from.slug.as_str())
            .collect();
        expected.sort_unstable();
        let backlinks: Vec<&str> = tree.backlinks(page).map(|from| from.slug.as_str()).collect();
        assert_eq!(backlinks, expected, "{}", page.slug);
    }
    // Every index is as one built anew.
    let stored_rev = tree.stored_rev.clone();
    let mut anew = PageTree { rev: tree.rev, stored_rev, ..PageTree::default() };
    anew.put(tree.pages.values().cloned().collect());
    assert_eq!(&anew, tree);
}

#[test]
fn random_operations_keep_every_promise() {
    const TITLES: &[&str] = &[
        "Rome",
        "rome",
        "Dragon Lore",
        "東京",
        "A|b",
        "New [x]",
        "!!!",
        "page-2",
        "Über",
        "Sea",
        "sea water",
    ];
    const NAMES: &[&str] = &[
        "create",
        "create",
        "create",
        "update",
        "update",
        "rename",
        "rename",
        "move",
        "move",
        "move",
        "delete",
        "restore",
        "versions",
        "outgoingLinks",
        "search",
        "trash",
    ];
    let mut random = fastrand::Rng::with_seed(44);
    let (mut done, mut refused) = (0, 0);
    for _ in 0..30 {
        let mut store = MemoryStore::new();
        let mut tabs = [Tab::new(), Tab::new()];
        let mut history: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for step in 0..150 {
            let at = random.usize(..2);
            let tab = &mut tabs[at];
            let known: Vec<String> = tab.tree.pages.keys().map(String::from).collect();
            let mut pick = || match known.len() {
                0 => "nowhere".to_string(),
                _ if random.u8(..20) == 0 => "nowhere".into(),
                count => known[random.usize(..count)].clone(),
            };
            let (slug, parent) = (pick(), pick());
            let title = TITLES[random.usize(..TITLES.len())];
            let linked = TITLES[random.usize(..TITLES.len())];
            let content = match random.u8(..4) {
                0 => format!("See [[{linked}]] and [[{slug}|it]]."),
                1 => format!("[[{parent}]] fire {step}"),
                _ => format!("dragons [[{linked}|x]] [[ {} ]]", linked.to_uppercase()),
            };
            let parent = if random.bool() { json!(parent) } else { Value::Null };
            let name = NAMES[random.usize(..NAMES.len())];
            let args = match name {
                "create" => json!({ "title": title, "content": content, "parentSlug": parent }),
                "update" => json!({ "slug": slug, "content": content, "metadata": { title: step } }),
                "rename" => json!({ "slug": slug, "title": title }),
                "move" => json!({ "slug": slug, "parentSlug": parent, "position": random.usize(..4) }),
                "search" => json!({ "query": "dragons fire" }),
                "trash" => json!({}),
                _ => json!({ "slug": slug }),
            };
            let before = tab.tree.clone();
            match tab.try_do(&mut store, name, args) {
                Ok(value) => {
                    done += 1;
                    if name == "versions" {
                        let contents: Vec<&str> = value
                            .as_array()
                            .unwrap()
                            .iter()
                            .rev()
                            .map(|row| row["content"].as_str().unwrap())
                            .collect();
                        let expected = &history[&slug];
                        let seen = tab.tree.page(&slug).unwrap().version as usize;
                        let from = seen.saturating_sub(VERSIONS_LIMIT);
                        assert_eq!(contents, expected[from..seen]);
                    }
                }
                Err(error) => {
                    refused += 1;
                    assert!(matches!(error.code, Code::PageNotFound | Code::PageCycle), "{error:?}");
                    if before.rev == tab.tree.rev {
                        assert_eq!(tab.tree, before);
                    }
                }
            }
            for page in tab.tree.pages.values() {
                let contents = history.entry(page.slug.clone()).or_default();
                // A tab that lags behind knows fewer contents.
                if contents.len() < page.version as usize {
                    assert_eq!(contents.len() + 1, page.version as usize);
                    contents.push(page.content.clone());
                }
            }
            if step % 5 == 0 {
                check(&tab.tree);
            }
        }
        for tab in &mut tabs {
            tab.catch_up(&store);
            check(&tab.tree);
            assert_eq!(tab.tree, load(&store));
        }
    }
    assert!(done > 2500 && refused > 200, "{done} {refused}");
}
