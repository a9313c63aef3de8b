//! Damages at random to pages of any past. Whatever is harmed, every other page is as it was, and no text is told that was
//! never written into that page. What is restored or given up is whole from then on.

use crate::support::desk::Desk;
use crate::support::parts::{drawn, quick};
use fastrand::Rng;
use lodger::error::Code;
use lodger::ports::{Commit, Key, Part, Read, Rows, Table, Write};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The texts that each page ever had.
type Texts = BTreeMap<String, BTreeSet<String>>;

const TABLES: [Table; 4] = [Table::Pages, Table::Versions, Table::Changes, Table::Meta];

#[test]
fn no_damage_of_a_page_spreads() {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in 0..drawn(200, 2_000) {
        world(seed, &mut seen);
    }
    for what in ["damaged", "restored", "given up", "nothing left", "version", "unharmed"] {
        assert!(quick() || seen.contains_key(what), "{what} never happened: {seen:?}");
    }
}

fn world(seed: u64, seen: &mut BTreeMap<&'static str, usize>) {
    let rng = &mut Rng::with_seed(seed);
    let mut page = Desk::of("ann");
    let mut texts = Texts::new();
    let before = past(rng, &mut page, &mut texts);
    let whole = all(&mut page);
    let mut touched = BTreeSet::new();
    // A page and the change that names it are not harmed at once: nobody would know then which page is gone.
    let first = if rng.u8(..4) > 0 { Table::Pages } else { Table::Changes };
    for _ in 0..rng.u8(1..4) {
        let table = [first, first, Table::Versions, Table::Meta][rng.usize(..4)];
        harm(rng, &mut page, &before, table, &mut touched);
    }
    let mut page = page.crash("ann");
    let damaged = marked(&mut page);
    *seen.entry(if damaged.is_empty() { "unharmed" } else { "damaged" }).or_default() += 1;
    for (slug, was) in &whole {
        let why = format!("seed {seed}, {slug}");
        if damaged.contains(slug) {
            assert_eq!(page.fails("pages.read", json!({ "slug": slug })).0, Code::Corrupt, "{why}");
        } else {
            assert_eq!(all(&mut page).get(slug), Some(was), "{why}");
        }
        let versions = page.ask("pages.versions", json!({ "slug": slug }));
        for version in versions.iter().flat_map(|versions| versions.as_array().unwrap()) {
            let is_marked = version["damaged"].is_object();
            *seen.entry("version").or_default() += usize::from(is_marked);
            let text = version["content"].as_str().unwrap();
            assert!(is_marked || texts[slug].contains(text), "{why}: {version}");
        }
    }
    page.must("pages.search", json!({ "query": "word" }));
    for slug in &damaged {
        let why = format!("seed {seed}, {slug}");
        if !marked(&mut page).contains(slug) {
            continue;
        }
        let restored =
            if rng.bool() { page.ask("pages.restore", json!({ "slug": slug })) } else { Ok(Value::Null) };
        match restored {
            Ok(Value::Null) => {
                page.must("pages.delete", json!({ "slug": slug }));
                *seen.entry("given up").or_default() += 1;
            }
            Ok(restored) => {
                let text = restored["content"].as_str().unwrap();
                assert!(texts.get(slug).is_some_and(|texts| texts.contains(text)), "{why}: {text}");
                *seen.entry("restored").or_default() += 1;
            }
            Err(error) => {
                assert_eq!(error.code, Code::Corrupt, "{why}");
                page.must("pages.delete", json!({ "slug": slug }));
                *seen.entry("nothing left").or_default() += 1;
            }
        }
    }
    // What was put right stays so, whatever else is done.
    for _ in 0..2 {
        page = page.crash("ann");
        assert!(marked(&mut page).is_empty(), "seed {seed}");
        for (slug, was) in all(&mut page).into_iter().filter(|(slug, _)| !damaged.contains(slug)) {
            assert_eq!(Some(&was), whole.get(&slug), "seed {seed}, {slug}");
        }
    }
    for slug in all(&mut page).into_keys() {
        _ = page.ask("pages.restore", json!({ "slug": slug }));
        page.must("pages.update", json!({ "slug": slug, "content": "the last" }));
    }
    let mut page = page.crash("ann");
    assert!(marked(&mut page).is_empty(), "seed {seed}");
    assert!(all(&mut page).values().all(|text| text == "the last"), "seed {seed}");
}

/// Pages that were made, changed, moved and deleted. What was stored on the way.
fn past(rng: &mut Rng, page: &mut Desk, texts: &mut Texts) -> Vec<(Table, Rows)> {
    let mut before = Vec::new();
    for word in 0..rng.u8(5..25) {
        if rng.u8(..3) == 0 {
            before.extend(TABLES.map(|table| (table, page.store.read(&Read::all(table, Vec::new())))));
        }
        let known: Vec<String> = texts.keys().cloned().collect();
        let (slug, other) = match known.len() {
            0 => (String::new(), String::new()),
            count => (known[rng.usize(..count)].clone(), known[rng.usize(..count)].clone()),
        };
        let text = format!("word {word} [[{other}]]");
        let done = match rng.u8(..10) {
            _ if known.len() < 2 => {
                page.ask("pages.create", json!({ "title": format!("Page {word}"), "content": text }))
            }
            0..2 => page.ask(
                "pages.create",
                json!({ "title": format!("Page {word}"), "content": text, "parentSlug": other }),
            ),
            2..6 => page.ask("pages.update", json!({ "slug": slug, "content": text })),
            6 => page.ask("pages.rename", json!({ "slug": slug, "title": format!("Name {word}") })),
            7 => page.ask("pages.move", json!({ "slug": slug, "parentSlug": null, "position": 0 })),
            8 => page.ask("pages.delete", json!({ "slug": slug })),
            _ => page.ask("pages.restore", json!({ "slug": slug })),
        };
        _ = done;
        for (slug, text) in all(page) {
            texts.entry(slug).or_default().insert(text);
        }
    }
    before
}

/// The texts of all pages that are whole, the trash included.
fn all(page: &mut Desk) -> BTreeMap<String, String> {
    fn walk(nodes: &Value, slugs: &mut Vec<String>) {
        for node in nodes.as_array().unwrap() {
            if node["damaged"].is_null() {
                slugs.push(node["slug"].as_str().unwrap().into());
            }
            walk(&node["children"], slugs);
        }
    }
    let mut slugs = Vec::new();
    walk(&page.must("pages.tree", json!({})), &mut slugs);
    let mut found = BTreeMap::new();
    for slug in slugs {
        let read = page.must("pages.read", json!({ "slug": slug }));
        found.insert(slug, read["content"].as_str().unwrap().to_owned());
    }
    for trashed in page.must("pages.trash", json!({})).as_array().unwrap() {
        let text = |name: &str| trashed[name].as_str().unwrap().to_owned();
        found.insert(text("slug"), text("content"));
    }
    found
}

fn marked(page: &mut Desk) -> BTreeSet<String> {
    fn walk(nodes: &Value, found: &mut BTreeSet<String>) {
        for node in nodes.as_array().unwrap() {
            if node["damaged"].is_object() {
                found.insert(node["slug"].as_str().unwrap().into());
            }
            walk(&node["children"], found);
        }
    }
    let mut found = BTreeSet::new();
    walk(&page.must("pages.tree", json!({})), &mut found);
    found
}

/// Damages a row of a table. One that was harmed already is left: two damages could make a right row of an old one.
fn harm(
    rng: &mut Rng,
    page: &mut Desk,
    before: &[(Table, Rows)],
    table: Table,
    touched: &mut BTreeSet<(Table, Key)>,
) {
    let rows = page.store.read(&Read::all(table, Vec::new()));
    let rows: Rows = rows.into_iter().filter(|(key, _)| *key != vec!["format".into()]).collect();
    if rows.is_empty() {
        return;
    }
    let (key, text) = rows[rng.usize(..rows.len())].clone();
    let other = rows[rng.usize(..rows.len())].clone();
    if touched.contains(&(table, key.clone())) || touched.contains(&(table, other.0.clone())) {
        return;
    }
    let put = |key: &Key, text: &str| Write::Put { table, key: key.clone(), value: text.into() };
    let delete = Write::DeletePrefix { table, prefix: key.clone() };
    let was = before.iter().filter(|(of, _)| *of == table).flat_map(|(_, rows)| rows);
    let was: Vec<&String> = was.filter(|(of, _)| *of == key).map(|(_, text)| text).collect();
    let mut elsewhere = key.clone();
    match elsewhere.last_mut().unwrap() {
        Part::Number(number) => *number += 100,
        Part::Text(text) => text.push_str("-elsewhere"),
    }
    touched.insert((table, key.clone()));
    let writes = match rng.u8(..9) {
        0 => vec![delete],
        1 => {
            touched.insert((table, other.0.clone()));
            vec![put(&key, &other.1), put(&other.0, &text)]
        }
        2 => vec![put(&key, &other.1)],
        3 => vec![put(&key, &text[..text.floor_char_boundary(rng.usize(..text.len()))])],
        4 => vec![delete, put(&elsewhere, &text)],
        5 if !was.is_empty() => vec![put(&key, was[rng.usize(..was.len())])],
        _ => {
            let at = text.floor_char_boundary(rng.usize(..text.len()));
            let (head, tail) = text.split_at(at);
            let letter = ["x", "7", "\"", "\n", "{", " "][rng.usize(..6)];
            vec![put(&key, &[head, letter, &tail[1..]].concat())]
        }
    };
    page.store.commit(&Commit { writes, ..Commit::default() }).unwrap();
}
