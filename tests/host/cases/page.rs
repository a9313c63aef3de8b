//! Rows of pages that are damaged: the page is shown as that, no other is hidden, and there is a way out.

use crate::support::desk::Desk;
use lodger::error::Code;
use lodger::harness::{Harness, Options};
use lodger::ports::{Commit, Key, MemoryStore, Part, Read, Rows, Table, Write};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// The pages of a disk, each with all texts that it ever had.
type Texts = BTreeMap<&'static str, Vec<&'static str>>;

/// A disk with pages that were written, changed, renamed, moved and deleted; as it was before each page's last change too.
fn disk() -> (MemoryStore, u64, Vec<MemoryStore>, Texts) {
    let mut page = Desk::of("ann");
    let mut texts = Texts::new();
    let mut before = Vec::new();
    for (slug, title) in
        [("guide", "Guide"), ("drinks", "Drinks"), ("tea", "Tea"), ("old", "Old"), ("one", "One")]
    {
        page.must("pages.create", json!({ "title": title, "slug": slug, "content": "first" }));
        texts.insert(slug, vec!["first"]);
    }
    let mut write = |page: &mut Desk, slug: &'static str, text: &'static str| {
        before.push(page.store.clone());
        page.must("pages.update", json!({ "slug": slug, "content": text }));
        texts.get_mut(slug).unwrap().push(text);
    };
    for (slug, text) in
        [("guide", "Read [[Tea]] first."), ("drinks", "hot"), ("tea", "green"), ("old", "gone")]
    {
        write(&mut page, slug, text);
    }
    page.must("pages.move", json!({ "slug": "tea", "parentSlug": "drinks" }));
    page.must("pages.rename", json!({ "slug": "drinks", "title": "Hot drinks" }));
    page.must("pages.delete", json!({ "slug": "old" }));
    write(&mut page, "tea", "black");
    write(&mut page, "guide", "Read [[Tea]] last.");
    before.push(page.store.clone());
    page.must("pages.update", json!({ "slug": "one", "metadata": { "n": 1 } }));
    (page.store, page.now, before, texts)
}

/// What a page says that was made of what lies in the place of a damaged one.
const WAS_DAMAGED: &str = "This page was damaged. ";

const KINDS: [&str; 13] = [
    "letter", "first", "last", "missing", "doubled", "over", "moved", "away", "swapped", "cut", "empty",
    "older", "no hash",
];

/// Damages the row under this key, as the kind says. `None`: there is no such damage to it.
fn damage(
    store: &mut MemoryStore,
    before: &[MemoryStore],
    table: Table,
    key: &Key,
    kind: &str,
) -> Option<()> {
    let mut rows = store.read(&Read::all(table, Vec::new()));
    rows.retain(|(key, _)| *key != vec!["format".into()]);
    let at = rows.iter().position(|(other, _)| other == key).unwrap();
    let text = rows[at].1.clone();
    let put = |key: &Key, value: String| Write::Put { table, key: key.clone(), value };
    let delete = || Write::DeletePrefix { table, prefix: key.clone() };
    let letter = |at: usize| {
        let (head, tail) = text.split_at(text.floor_char_boundary(at));
        let rest = tail.chars().next().map_or(0, char::len_utf8);
        let other = if tail.starts_with('a') { "b" } else { "a" };
        [head, other, &tail[rest..]].concat()
    };
    let next = rows.get(at + 1).or(rows.first()).filter(|(other, _)| other != key);
    let mut elsewhere = key.clone();
    match elsewhere.last_mut().unwrap() {
        Part::Number(number) => *number += 40,
        Part::Text(text) => text.push_str("-x"),
    }
    let writes = match kind {
        "letter" => vec![put(key, letter(text.len() / 2))],
        "first" => vec![put(key, letter(0))],
        "last" => vec![put(key, letter(text.len() - 1))],
        "missing" => vec![delete()],
        "doubled" => vec![put(&elsewhere, text)],
        "over" => vec![put(&next?.0, text)],
        "moved" => vec![delete(), put(&elsewhere, text)],
        "away" => vec![delete(), put(&next?.0, text)],
        "swapped" => vec![put(key, next?.1.clone()), put(&next?.0, text)],
        "cut" => vec![put(key, text[..text.floor_char_boundary(text.len() / 2)].to_owned())],
        "empty" => vec![put(key, String::new())],
        "older" => {
            let was = |store: &MemoryStore| store.read(&Read::all(table, key.clone())).pop();
            let (_, older) = before.iter().rev().filter_map(was).find(|(_, older)| *older != text)?;
            vec![put(key, older)]
        }
        _ => vec![put(key, unsealed(&text)?)],
    };
    store.commit(&Commit { writes, ..Commit::default() }).unwrap();
    Some(())
}

/// A row as an earlier version would have written it.
fn unsealed(text: &str) -> Option<String> {
    let mut row: Value = serde_json::from_str(text).ok()?;
    for name in ["hash", "rev", "title", "v"] {
        if name != "title" || row.get("slug").is_none() {
            row.as_object_mut()?.remove(name);
        }
    }
    Some(row.to_string()).filter(|row| row != text)
}

fn each(table: Table, look: impl Fn(Desk, &Key, &str, &Texts)) {
    let (disk, now, before, texts) = disk();
    let mut count = 0;
    for (key, _) in disk.read(&Read::all(table, Vec::new())) {
        if table == Table::Meta && key == vec!["format".into()] {
            continue;
        }
        for kind in KINDS {
            let mut store = disk.clone();
            if damage(&mut store, &before, table, &key, kind).is_some() {
                count += 1;
                look(Desk::on(store, now + 1_000, "ann"), &key, kind, &texts);
            }
        }
    }
    assert!(count > 15, "{count} damages");
}

/// What a page can be asked: its text, or that it is damaged; of one in the trash that too.
fn texts_of(page: &mut Desk, slugs: &Texts) -> BTreeMap<&'static str, Result<String, Code>> {
    let trash = page.must("pages.trash", json!({}));
    let read = |slug: &&'static str| {
        let read = page.ask("pages.read", json!({ "slug": slug }));
        let read = read.map(|page| page["content"].as_str().unwrap().to_owned()).map_err(|error| error.code);
        let trashed = trash.as_array().unwrap().iter().find(|page| page["slug"] == **slug);
        (*slug, trashed.map_or(read, |page| Ok(page["content"].as_str().unwrap().into())))
    };
    slugs.keys().map(read).collect()
}

/// The pages of which the page was told.
fn told(page: &Desk) -> Vec<String> {
    let notices =
        page.events.iter().filter(|(name, detail)| *name == "agent:notice" && detail["kind"] == "damaged");
    let pages = notices.flat_map(|(_, detail)| detail["pages"].as_array().unwrap().clone());
    pages.map(|page| page["slug"].as_str().unwrap().to_owned()).collect()
}

/// The damaged nodes of the tree.
fn marked(page: &mut Desk) -> Vec<String> {
    fn walk(nodes: &Value, found: &mut Vec<String>) {
        for node in nodes.as_array().unwrap() {
            if node["damaged"]["why"].is_string() {
                found.push(node["slug"].as_str().unwrap().into());
            }
            walk(&node["children"], found);
        }
    }
    let mut found = Vec::new();
    walk(&page.must("pages.tree", json!({})), &mut found);
    found
}

fn changes(page: &mut Desk, slug: &str, text: &str, why: &str) {
    let update = page.ask("pages.update", json!({ "slug": slug, "content": text }));
    assert_eq!(update.unwrap_or_else(|error| panic!("{why}: {error:?}"))["content"], text, "{why}");
}

#[test]
fn a_damaged_page_is_told_of_and_hides_no_other() {
    each(Table::Pages, |mut page, key, kind, texts| {
        let why = format!("{kind} of {key:?}");
        let whole = |slug: &str| texts[slug].last().map(|text| (*text).to_owned());
        let read = texts_of(&mut page, texts);
        let damaged: Vec<String> =
            read.iter().filter(|(_, read)| read.is_err()).map(|(slug, _)| (*slug).into()).collect();
        // A second copy of a row harms nobody.
        assert_eq!(damaged.is_empty(), kind == "doubled", "{why}");
        assert!(damaged.len() < 3, "{why}: {damaged:?}");
        assert_eq!(told(&page), damaged, "{why}");
        assert_eq!(marked(&mut page), damaged, "{why}");
        for (slug, read) in &read {
            match read {
                Ok(text) => assert_eq!(Some(text), whole(slug).as_ref(), "{why}: {slug}"),
                Err(code) => assert_eq!(*code, Code::Corrupt, "{why}: {slug}"),
            }
        }
        page.must("pages.search", json!({ "query": "green" }));
        let other = texts.keys().find(|slug| **slug != "old" && read[**slug].is_ok()).unwrap();
        page.must("pages.backlinks", json!({ "slug": other }));
        for slug in &damaged {
            let error = page.ask("pages.rename", json!({ "slug": slug, "title": "x" })).unwrap_err();
            assert_eq!(error.code, Code::Corrupt, "{why}");
            assert!(error.hint.as_ref().unwrap().contains("pages.delete"), "{why}");
            let taken = page.fails("pages.create", json!({ "title": "x", "slug": slug })).0;
            assert_eq!(taken, Code::SlugTaken, "{why}");
            let versions = page.must("pages.versions", json!({ "slug": slug }));
            assert_eq!(versions[0]["damaged"]["code"], "corrupt", "{why}");
            for version in versions.as_array().unwrap().iter().skip(1) {
                let text = version["content"].as_str().unwrap();
                assert!(texts[slug.as_str()].contains(&text), "{why}: {version}");
            }
        }
    });
}

/// A disk on which nothing but those below it names a page any more; or nothing at all (`leaf`).
fn nameless(leaf: bool, changes: &str) -> Desk {
    let mut page = Desk::of("ann");
    for (slug, parent) in [("root", None), ("leaf", Some("root")), ("deep", Some("leaf")), ("other", None)] {
        page.must("pages.create", json!({ "title": slug, "content": slug, "parentSlug": parent }));
    }
    let delete = |table, prefix: Key| Write::DeletePrefix { table, prefix };
    let put = |key: u64, value: &str| Write::Put {
        table: Table::Changes,
        key: vec![key.into()],
        value: value.to_owned(),
    };
    let rows = page.store.read(&Read::all(Table::Changes, Vec::new()));
    let (gone, number) = if leaf { ("deep", 3) } else { ("root", 1) };
    let mut writes = vec![delete(Table::Pages, vec![gone.into()])];
    match changes {
        "one" => writes.push(delete(Table::Changes, vec![u64::into(number)])),
        "all" => writes.push(delete(Table::Changes, Vec::new())),
        _ => writes.extend([put(number, &rows[3].1), put(4, &rows[number as usize - 1].1)]),
    }
    page.store.commit(&Commit { writes, ..Commit::default() }).unwrap();
    page.crash("ann")
}

/// How many notices there were of damage.
fn notices(page: &Desk) -> usize {
    page.events.iter().filter(|(name, detail)| *name == "agent:notice" && detail["kind"] == "damaged").count()
}

#[test]
fn a_page_that_only_those_below_it_name_is_damaged_and_hides_none_of_them() {
    for changes in ["one", "all", "swapped"] {
        let mut page = nameless(false, changes);
        for _ in 0..2 {
            let tree = page.must("pages.tree", json!({}));
            assert_eq!(tree[0]["slug"], "other", "{changes}: {tree}");
            assert_eq!(tree[1]["damaged"]["why"], "it is missing", "{changes}: {tree}");
            assert_eq!(tree[1]["children"][0]["children"][0]["slug"], "deep", "{changes}: {tree}");
            assert_eq!((told(&page), notices(&page)), (vec!["root".into()], 1), "{changes}");
            // What others write makes nothing of it right.
            page.must("pages.update", json!({ "slug": "deep", "content": "deeper" }));
            page = page.crash("ann");
        }
        assert_eq!(page.fails("pages.restore", json!({ "slug": "root" })).0, Code::Corrupt, "{changes}");
        page.must("pages.delete", json!({ "slug": "root" }));
        let text = page.must("pages.trash", json!({}))[0]["content"].clone();
        assert!(text.as_str().unwrap().starts_with(WAS_DAMAGED), "{changes}: {text}");
        let mut page = page.crash("ann");
        let tree = page.must("pages.tree", json!({}));
        let slugs: Vec<_> = tree.as_array().unwrap().iter().map(|node| node["slug"].clone()).collect();
        assert_eq!(slugs, ["other", "leaf"], "{changes}");
        assert_eq!(notices(&page), 0, "{changes}");
    }
}

#[test]
fn pages_that_nothing_names_any_more_are_told_by_their_number() {
    for changes in ["one", "all", "swapped"] {
        let mut page = nameless(true, changes);
        for _ in 0..2 {
            page.must("pages.tree", json!({}));
            let detail = page.events.iter().find(|(name, _)| *name == "agent:notice").unwrap().1.clone();
            assert_eq!((&detail["pages"], &detail["missing"]), (&json!([]), &json!(1)), "{changes}");
            assert_eq!(notices(&page), 1, "{changes}");
            page = page.crash("ann");
        }
        // What is written from then on counts what is there.
        page.must("pages.update", json!({ "slug": "leaf", "content": "on" }));
        let mut page = page.crash("ann");
        page.must("pages.tree", json!({}));
        assert_eq!(notices(&page), 0, "{changes}");
    }
}

#[test]
fn a_damage_that_is_known_is_not_looked_for_with_each_read() {
    for leaf in [false, true] {
        let mut page = nameless(leaf, "one");
        page.must("pages.tree", json!({}));
        // Who reads all rows again finds this.
        let prefix = vec!["other".into()];
        let writes = vec![Write::DeletePrefix { table: Table::Pages, prefix }];
        page.store.commit(&Commit { writes, ..Commit::default() }).unwrap();
        page.must("pages.tree", json!({}));
        assert!(!marked(&mut page).contains(&"other".to_owned()), "{leaf}");
        assert!(marked(&mut page.crash("ann")).contains(&"other".to_owned()), "{leaf}");
    }
}

#[test]
fn a_damage_stays_known_while_others_are_changed_and_is_gone_when_it_is_put_right() {
    for way in ["pages.restore", "pages.delete"] {
        each(Table::Pages, |mut page, key, kind, texts| {
            let why = format!("{way} after {kind} of {key:?}");
            let damaged = marked(&mut page);
            page.must("pages.create", json!({ "title": "New", "content": "new" }));
            let mut page = page.crash("ann");
            assert_eq!(marked(&mut page), damaged, "{why}");
            assert_eq!(page.must("pages.read", json!({ "slug": "new" }))["content"], "new", "{why}");
            let mut lost = Vec::new();
            for slug in &damaged {
                // Rows in each other's places are put right together.
                if !marked(&mut page).contains(slug) {
                    continue;
                }
                if let Err(error) = page.ask(way, json!({ "slug": slug })) {
                    assert_eq!(error.code, Code::Corrupt, "{why}");
                    assert_eq!(texts[slug.as_str()].len(), 1, "{why}: {error:?}");
                    page.must("pages.delete", json!({ "slug": slug }));
                    lost.push(slug.clone());
                }
            }
            for mut page in
                [page.store.clone(), page.store.clone()].map(|store| Desk::on(store, page.now + 9, "ann"))
            {
                assert_eq!(marked(&mut page), Vec::<String>::new(), "{why}");
                assert!(told(&page).is_empty(), "{why}");
                for (slug, read) in texts_of(&mut page, texts) {
                    let text = read.unwrap_or_else(|code| panic!("{why}: {slug}: {code:?}"));
                    let gone = text.starts_with(WAS_DAMAGED) && damaged.iter().any(|one| one == slug);
                    assert!(gone || texts[slug].contains(&text.as_str()), "{why}: {slug}: {text}");
                    if way == "pages.restore" && !damaged.iter().any(|one| one == slug) {
                        assert_eq!(text, *texts[slug].last().unwrap(), "{why}: {slug}");
                    }
                    if way == "pages.restore" && gone {
                        assert!(lost.iter().any(|one| one == slug), "{why}: {slug}");
                    }
                }
                for slug in texts.keys() {
                    _ = page.ask("pages.restore", json!({ "slug": slug }));
                    changes(&mut page, slug, "and on", &why);
                }
            }
        });
    }
}

#[test]
fn what_lies_in_the_place_of_a_damaged_page_is_kept_when_it_is_put_right() {
    let (disk, now, _, texts) = disk();
    for kind in ["letter", "first", "last", "cut", "missing"] {
        for (slug, ways) in [("one", &["pages.delete"][..]), ("tea", &["pages.delete", "pages.restore"])] {
            for way in ways {
                let why = format!("{way} after {kind} of {slug}");
                let mut store = disk.clone();
                damage(&mut store, &[], Table::Pages, &vec![slug.into()], kind).unwrap();
                let stored = store.read(&Read::all(Table::Pages, vec![slug.into()])).pop();
                let mut page = Desk::on(store, now + 1_000, "ann");
                page.must(way, json!({ "slug": slug }));
                _ = page.ask("pages.restore", json!({ "slug": slug }));
                let versions = page.must("pages.versions", json!({ "slug": slug }));
                let kept: Vec<&str> =
                    versions.as_array().unwrap().iter().map(|one| one["content"].as_str().unwrap()).collect();
                let known = texts[slug].iter().rev().skip(1);
                assert!(known.clone().all(|text| kept.contains(text)), "{why}: {kept:?}");
                let is_kept = |stored: &str| {
                    kept.iter().any(|text| text.starts_with(WAS_DAMAGED) && text.ends_with(stored))
                };
                match stored {
                    Some((_, stored)) => assert!(is_kept(&stored), "{why}: {kept:?}"),
                    None if slug == "one" => assert!(is_kept("Nothing of it is stored any more."), "{why}"),
                    None => {}
                }
                let first = kept.first().unwrap();
                assert!(slug == "one" || texts[slug].contains(first), "{why}: {kept:?}");
            }
        }
    }
}

#[test]
fn a_damaged_version_is_marked_and_the_others_are_read() {
    each(Table::Versions, |mut page, key, kind, texts| {
        let why = format!("{kind} of {key:?}");
        assert!(texts_of(&mut page, texts).values().all(Result::is_ok), "{why}");
        let mut marks = 0;
        for (slug, texts) in texts {
            _ = page.ask("pages.restore", json!({ "slug": slug }));
            let versions = page.must("pages.versions", json!({ "slug": slug }));
            let versions = versions.as_array().unwrap();
            assert_eq!(versions.len(), texts.len(), "{why}: {slug}");
            for (version, text) in versions.iter().rev().zip(texts) {
                match version["damaged"]["code"].as_str() {
                    Some(code) => {
                        assert_eq!((code, &version["content"]), ("corrupt", &json!("")), "{why}");
                        marks += 1;
                    }
                    None => assert_eq!(version["content"], *text, "{why}: {slug}"),
                }
            }
        }
        // What an earlier version has written has no hash.
        let harmless = matches!(kind, "doubled" | "no hash");
        assert_eq!(marks == 0, harmless, "{why}");
        assert!(marks < 3, "{why}");
        assert!(told(&page).is_empty(), "{why}");
    });
}

#[test]
fn what_only_counts_pages_can_be_damaged_without_harm() {
    for table in [Table::Changes, Table::Meta] {
        each(table, |mut page, key, kind, texts| {
            let why = format!("{kind} of {key:?}");
            for text in ["more", "and more"] {
                for (slug, read) in texts_of(&mut page, texts) {
                    assert!(read.is_ok(), "{why}: {slug}: {read:?}");
                }
                assert!(told(&page).is_empty(), "{why}: {:?}", told(&page));
                changes(&mut page, "tea", text, &why);
                page = page.crash("ann");
                assert_eq!(page.must("pages.read", json!({ "slug": "tea" }))["content"], text, "{why}");
            }
        });
    }
}

#[test]
fn a_change_of_another_tab_is_seen_though_the_row_that_names_it_is_damaged() {
    let (store, now, before, _) = disk();
    for kind in KINDS {
        let mut here = Desk::on(store.clone(), now + 1_000, "ann");
        assert_eq!(here.must("pages.read", json!({ "slug": "tea" }))["content"], "black");
        let mut there = Desk::on(store.clone(), now + 2_000, "ann");
        there.must("pages.update", json!({ "slug": "tea", "content": "white" }));
        let last = there.store.read(&Read::all(Table::Changes, Vec::new())).pop().unwrap().0;
        if damage(&mut there.store, &before, Table::Changes, &last, kind).is_none() {
            continue;
        }
        here.store = there.store;
        assert_eq!(here.must("pages.read", json!({ "slug": "tea" }))["content"], "white", "{kind}");
        changes(&mut here, "tea", "red", kind);
        assert_eq!(here.must("pages.versions", json!({ "slug": "tea" }))[1]["content"], "white", "{kind}");
    }
}

/// The disk as an earlier version of the package would have written it.
fn earlier() -> (MemoryStore, u64, Texts) {
    let (mut store, now, _, texts) = disk();
    let mut writes = vec![Write::DeletePrefix { table: Table::Meta, prefix: vec!["pages_head".into()] }];
    for table in [Table::Pages, Table::Versions] {
        for (key, text) in store.read(&Read::all(table, Vec::new())) {
            writes.push(Write::Put { table, key, value: unsealed(&text).unwrap() });
        }
    }
    store.commit(&Commit { writes, ..Commit::default() }).unwrap();
    (store, now, texts)
}

#[test]
fn what_an_earlier_version_has_written_is_read_and_stays_as_it_is() {
    let (store, now, texts) = earlier();
    let rows = |store: &MemoryStore| -> Rows { store.read(&Read::all(Table::Pages, Vec::new())) };
    let mut page = Desk::on(store.clone(), now + 1_000, "ann");
    for (slug, read) in texts_of(&mut page, &texts) {
        assert_eq!(read.as_deref(), Ok(*texts[slug].last().unwrap()));
    }
    changes(&mut page, "tea", "white", "an earlier page");
    let versions = page.must("pages.versions", json!({ "slug": "tea" }));
    assert_eq!(versions.as_array().unwrap().iter().filter(|version| version["damaged"].is_null()).count(), 4);
    // Only the row of the page that was changed is a new one.
    let changed: Vec<_> =
        rows(&store).into_iter().zip(rows(&page.store)).filter(|(old, new)| old != new).collect();
    assert_eq!(changed.len(), 1);
    let mut page = page.crash("ann");
    assert!(texts_of(&mut page, &texts).values().all(Result::is_ok) && told(&page).is_empty());
    // An earlier version works beside this one.
    let mut there = page.store.clone();
    let row = rows(&store).into_iter().find(|(key, _)| *key == vec!["one".into()]).unwrap().1;
    let rev = page.store.read(&Read::all(Table::Changes, Vec::new())).len() as u64 + 1;
    let put = |table, key: Part, value: String| Write::Put { table, key: vec![key], value };
    let writes = vec![
        put(Table::Meta, "pages_rev".into(), rev.to_string()),
        put(Table::Changes, rev.into(), r#"["one"]"#.into()),
        put(Table::Pages, "one".into(), row.replace("first", "by the other")),
    ];
    there.commit(&Commit { writes, ..Commit::default() }).unwrap();
    page.store = there;
    for _ in 0..2 {
        assert_eq!(page.must("pages.read", json!({ "slug": "one" }))["content"], "by the other");
        changes(&mut page, "guide", "on", "beside an earlier one");
        page = page.crash("ann");
        assert!(marked(&mut page).is_empty() && told(&page).is_empty());
    }
}

#[test]
fn a_page_of_an_earlier_version_that_is_gone_or_cannot_be_read_is_damaged() {
    let (disk, now, texts) = earlier();
    for (kind, harmed) in [("cut", 1), ("empty", 1), ("swapped", 2), ("missing", 0)] {
        let mut store = disk.clone();
        damage(&mut store, &[], Table::Pages, &vec!["tea".into()], kind).unwrap();
        let mut page = Desk::on(store, now + 1_000, "ann");
        let read = texts_of(&mut page, &texts);
        // Nothing says how many pages an earlier version has written.
        assert_eq!(told(&page).len(), harmed, "{kind}");
        for (slug, read) in read {
            assert!(
                read.is_ok() || told(&page).iter().any(|one| one == slug) || slug == "tea",
                "{kind}: {slug}"
            );
        }
    }
}

fn sealed(place: &str, row: &str) -> String {
    let hash: String =
        Sha256::digest(format!("{place}\n{row}")).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{},\"hash\":\"{hash}\"}}", row.strip_suffix('}').unwrap())
}

/// A row as a newer version would write it.
fn newer(store: &mut MemoryStore, table: Table, key: &str, place: &str) {
    let (key, text) = store.read(&Read::all(table, vec![key.into()])).pop().unwrap();
    let (body, _) = text.rsplit_once(",\"hash\"").unwrap();
    let row = [body, "}"].concat().replace("\"v\":2", "\"v\":3");
    let writes = vec![Write::Put { table, key, value: sealed(place, &row) }];
    store.commit(&Commit { writes, ..Commit::default() }).unwrap();
}

#[test]
fn a_newer_format_is_told_as_such_and_hides_no_other() {
    let (disk, now, _, texts) = disk();
    let mut store = disk.clone();
    newer(&mut store, Table::Pages, "tea", "");
    let mut page = Desk::on(store, now + 1_000, "ann");
    for (slug, read) in texts_of(&mut page, &texts) {
        assert_eq!(read.err(), (slug == "tea").then_some(Code::NewerVersion));
    }
    let tree = page.must("pages.tree", json!({ "rootSlug": "tea" }));
    assert_eq!(tree[0]["damaged"]["code"], "newer_version");
    for way in ["restore", "delete", "rename"] {
        let mut args = json!({ "slug": "tea" });
        if way == "rename" {
            args["title"] = "x".into();
        }
        assert_eq!(page.fails(&format!("pages.{way}"), args).0, Code::NewerVersion, "{way}");
    }
    changes(&mut page, "one", "more", "beside a newer page");
    let mut store = disk;
    newer(&mut store, Table::Meta, "pages_head", "pages_head");
    let mut page = Desk::on(store, now + 1_000, "ann");
    assert!(texts_of(&mut page, &texts).values().all(Result::is_ok));
    let update = json!({ "slug": "one", "content": "x" });
    assert_eq!(page.fails("pages.update", update).0, Code::NewerVersion);
}

#[test]
fn a_model_is_told_of_damaged_pages_in_words_and_goes_on_with_the_others() {
    let (mut store, now, before, _) = disk();
    damage(&mut store, &before, Table::Pages, &vec!["tea".into()], "letter").unwrap();
    let mut page = Desk::on(store, now + 1_000, "ann");
    page.harness =
        Harness::new(Options { name: "docs".into(), page_tools: true, holder: "h".into(), operator: None });
    let mut call = |name: &str, args: Value| {
        let result = page.ask("tools.execute", json!({ "name": name, "args": args }));
        result.map(|value| value.to_string())
    };
    for (name, args, words) in [
        (
            "search_pages",
            json!({ "query": "hot" }),
            &["1 page matches", "damaged, so it could not be looked at: tea"][..],
        ),
        ("search_pages", json!({ "query": "green" }), &["No page matches", "could not be looked at: tea"]),
        ("get_page_tree", json!({}), &["Hot drinks", "(slug: tea), damaged: it cannot be read"]),
        ("get_backlinks", json!({ "slug": "one" }), &["No page links", "could not be looked at: tea"]),
        ("get_outgoing_links", json!({ "slug": "guide" }), &["(slug: tea)"]),
        (
            "read_page_history",
            json!({ "slug": "tea" }),
            &["It is damaged and cannot be read.", "green", "first"],
        ),
    ] {
        let text = call(name, args).unwrap();
        for words in words {
            assert!(text.contains(words), "{name}: {text}");
        }
    }
    let error = call("read_page", json!({ "slug": "tea" })).unwrap_err();
    assert!(error.for_model().contains("is damaged") && error.for_model().contains("a person can restore"));
}
