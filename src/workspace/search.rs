//! Finding pages by words: BM25 over titles and texts.
//!
//! Decides the ranking and the snippets. One word of the query scores a page by
//! `ln(1 + (N - n + 0.5) / (n + 0.5)) * f * (k1 + 1) / (f + k1 * (1 - b + b * length / average))`, where `N`
//! pages are known and `n` of them match. `f` counts the word in the text once and in the title
//! [`TITLE`] times, and words that only begin with it a quarter. `length` is counted the same way. A page's score is
//! the sum over the different words of the query; it need not match all of them.
//!
//! Promises: a change of one page costs what that page costs, and leaves the index as one built anew would be.
//! Equal scores are sorted by slug. Leaves to others: which pages are in it (those not in the trash).

use super::text::words;
use crate::list::Listed;
use crate::maps::{Best, Named};

/// How much a word of the title counts against one of the text.
const TITLE: u32 = 3;
/// How fast more of the same word stops to matter.
const K1: f64 = 1.2;
/// How much long pages are held back.
const B: f64 = 0.75;
/// Shorter words must match whole: half of all pages have a word with this letter.
const SHORTEST_PREFIX: usize = 2;

/// The words of all pages.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// In which pages a word is, and how much it weighs there.
    words: Named<Vec<Posting>>,
    pages: Named<Indexed>,
    total: u64,
}

/// A page with a certain word.
#[derive(Clone, Debug)]
struct Posting {
    /// The page's number in the index; a word's postings are sorted by it.
    page: usize,
    weight: u32,
}

/// A page of the index.
#[derive(Clone, Debug)]
struct Indexed {
    slug: String,
    length: u32,
}

/// By what is in them: the same pages may have other numbers.
impl PartialEq for Index {
    fn eq(&self, other: &Self) -> bool {
        self.total == other.total && self.listed() == other.listed()
    }
}

/// A page that matches.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Which page.
    pub slug: String,
    /// How well it matches.
    pub score: f64,
}

/// The words of a page and what they weigh.
fn weigh(title: &str, text: &str) -> Named<u32> {
    let mut weights = Named::default();
    for (part, weight) in [(title, TITLE), (text, 1)] {
        words(part, &mut |_, word| {
            weights.change(word, |sum: &mut u32| *sum = sum.saturating_add(weight));
            true
        });
    }
    weights
}

/// The different words of a query, in its order.
fn query_words(query: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    words(query, &mut |_, word| {
        if !found.iter().any(|known| known == word) {
            found.push(word.into());
        }
        // What a person or a model asks for is short; a pasted book must not stop the page.
        found.len() < 64
    });
    found
}

/// Whether a word of the query finds words that only begin with it.
fn is_prefix(word: &str) -> bool {
    word.chars().nth(SHORTEST_PREFIX - 1).is_some()
}

impl Index {
    /// Takes a page in.
    pub fn add(&mut self, slug: &str, title: &str, text: &str) {
        self.pages.insert(slug, Indexed { slug: slug.into(), length: 0 });
        let Some(page) = self.pages.number(slug) else { return };
        let mut length = 0_u32;
        for (word, weight) in weigh(title, text).iter() {
            length = length.saturating_add(*weight);
            self.words.change(word, |postings| {
                let at = postings.partition_point(|other| other.page < page);
                postings.insert(at, Posting { page, weight: *weight });
            });
        }
        self.total += u64::from(length);
        self.pages.insert(slug, Indexed { slug: slug.into(), length });
    }

    /// Takes a page out; title and text are those it was taken in with.
    pub fn remove(&mut self, slug: &str, title: &str, text: &str) {
        let Some(page) = self.pages.number(slug) else { return };
        let length = self.pages.remove(slug).map_or(0, |indexed| indexed.length);
        self.total = self.total.saturating_sub(u64::from(length));
        for word in weigh(title, text).keys() {
            let Some(postings) = self.words.get_mut(word) else { continue };
            if let Ok(at) = postings.binary_search_by(|other| other.page.cmp(&page)) {
                postings.remove(at);
            }
            if postings.is_empty() {
                self.words.remove(word);
            }
        }
    }

    /// The number under which a page lies here, until it is taken out.
    pub fn number(&self, slug: &str) -> Option<usize> {
        self.pages.number(slug)
    }

    /// How well each page matches, by its number; 0: it does not.
    pub fn scores(&self, query: &str) -> Vec<f64> {
        let mut scores = vec![0.0; self.pages.numbers()];
        let pages = self.pages.len() as f64;
        let average = self.total as f64 / pages.max(1.0);
        for word in query_words(query) {
            // Counted in quarters, so that the sum is exact in any order.
            let mut quarters = vec![0_u32; self.pages.numbers()];
            for (found, postings) in self.matching(&word) {
                let factor = if found == word { 4 } else { 1 };
                for posting in postings {
                    if let Some(sum) = quarters.get_mut(posting.page) {
                        *sum = sum.saturating_add(posting.weight.saturating_mul(factor));
                    }
                }
            }
            let matching = quarters.iter().filter(|quarters| **quarters > 0).count() as f64;
            let rarity = ((pages - matching + 0.5) / (matching + 0.5)).ln_1p();
            for (page, (quarters, score)) in quarters.iter().zip(&mut scores).enumerate() {
                if let (1.., Some(page)) = (*quarters, self.pages.at(page)) {
                    let often = f64::from(*quarters) / 4.0;
                    let held = K1 * (1.0 - B + B * f64::from(page.length) / average);
                    *score += rarity * often * (K1 + 1.0) / (often + held);
                }
            }
        }
        scores
    }

    /// The pages that match, the best first.
    pub fn search(&self, query: &str, limit: usize) -> Vec<Hit> {
        let scores = self.scores(query);
        // By slug, in which those with the same score stay.
        let hits: Vec<(&str, f64)> = self
            .pages
            .numbered()
            .filter_map(|(number, page)| Some((page.slug.as_str(), *scores.get(number)?)))
            .filter(|(_, score)| *score > 0.0)
            .list();
        // The bits of positive numbers are in the order of the numbers.
        let best = Best::of(hits.iter().map(|(_, score)| score.to_bits()).list());
        let hit =
            |place: usize| hits.get(place).map(|(slug, score)| Hit { slug: (*slug).into(), score: *score });
        best.filter_map(hit).take(limit).list()
    }

    /// The words of the index that a word of the query finds.
    fn matching(&self, word: &str) -> impl Iterator<Item = (&str, &Vec<Posting>)> {
        let prefix = is_prefix(word);
        self.words
            .from(word)
            .take_while(move |(found, _)| if prefix { found.starts_with(word) } else { *found == word })
    }

    /// Every word with the slugs of its pages and what it weighs there, in order.
    fn listed(&self) -> Vec<(&str, &str, u32)> {
        let mut listed = Vec::new();
        for (word, postings) in self.words.iter() {
            for posting in postings {
                let slug = self.pages.at(posting.page).map_or("", |page| page.slug.as_str());
                listed.push((word, slug, posting.weight));
            }
        }
        listed.sort_unstable();
        listed
    }
}

/// How much of the text stands before the first hit in a snippet, in characters.
const BEFORE: usize = 60;
/// How long a snippet is at most, in characters, without the marks where it is cut.
const SNIPPET: usize = 200;

/// The part of a text around the first word that the query finds; its beginning where it finds none. One
/// line, with "…" where it is cut.
pub(super) fn snippet(text: &str, query: &str) -> String {
    let wanted = query_words(query);
    let mut hit = 0;
    words(text, &mut |at, word| {
        let found = wanted
            .iter()
            .any(|wanted| word == wanted || is_prefix(wanted) && word.starts_with(wanted.as_str()));
        if found {
            hit = at;
        }
        !found
    });
    let (head, tail) = text.split_at_checked(hit).unwrap_or(("", text));
    let back = head.char_indices().rev().take(BEFORE).last().map_or(hit, |(at, _)| at);
    let before = head.get(back..).unwrap_or_default();
    let mut line = String::new();
    if back > 0 {
        line.push('…');
    }
    // The snippet begins and ends between two words where there is a space to do so.
    let begun = if back > 0 {
        before.split_once(char::is_whitespace).map_or(before, |(_, rest)| rest)
    } else {
        before
    };
    let room = SNIPPET.saturating_sub(begun.chars().count());
    let end = tail.char_indices().nth(room).map_or(tail.len(), |(at, _)| at);
    let after = tail.get(..end).unwrap_or_default();
    let ended = if end < tail.len() {
        after.rsplit_once(char::is_whitespace).map_or(after, |(rest, _)| rest)
    } else {
        after
    };
    let shown = format!("{begun}{ended}");
    line.push_str(&super::text::one_line(&shown));
    if end < tail.len() {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn index(pages: &[(&str, &str, &str)]) -> Index {
        let mut index = Index::default();
        for (slug, title, text) in pages {
            index.add(slug, title, text);
        }
        index
    }

    fn scores(index: &Index, query: &str) -> Vec<(String, f64)> {
        index.search(query, 100).into_iter().map(|hit| (hit.slug.to_string(), hit.score)).collect()
    }

    fn near(found: &[(String, f64)], expected: &[(&str, f64)]) {
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert_eq!(found.0, expected.0, "{found:?}");
            assert!((found.1 - expected.1).abs() < 5e-6, "{found:?} {expected:?}");
        }
    }

    /// Lengths: a = 3 + 3 = 6, b = 3 + 1 = 4, c = 3 + 2 = 5; average 5. So the part that holds long pages
    /// back, `1.2 * (0.25 + 0.75 * length / 5)`, is 1.38, 1.02 and 1.2.
    const THREE: &[(&str, &str, &str)] =
        &[("a", "Lore", "dragon fire dragon"), ("b", "Dragon", "fire"), ("c", "Sea", "dragonfly water")];

    #[test]
    fn scores_are_as_worked_out_by_hand() {
        let index = index(THREE);
        // "fire": in two of three, rarity ln(1 + 1.5 / 2.5) = ln 1.6 = 0.4700036.
        // a: 0.4700036 * 2.2 / 2.38 = 0.4344571; b: 0.4700036 * 2.2 / 2.02 = 0.5118851.
        near(&scores(&index, "fire"), &[("b", 0.511_885_1), ("a", 0.434_457_1)]);
        // "dragon": whole in a (2) and b (3, by its title), as a beginning in c (0.25).
        // Rarity ln(1 + 0.5 / 3.5) = ln 1.142857 = 0.1335314.
        // a: 0.1335314 * 4.4 / 3.38 = 0.1738278; b: 0.1335314 * 6.6 / 4.02 = 0.2192307;
        // c: 0.1335314 * 0.55 / 1.45 = 0.0506498.
        near(&scores(&index, "Dragon"), &[("b", 0.219_230_7), ("a", 0.173_827_8), ("c", 0.050_649_8)]);
        // Both words: the sums.
        near(
            &scores(&index, "dragon fire dragon"),
            &[("b", 0.731_115_8), ("a", 0.608_284_9), ("c", 0.050_649_8)],
        );
    }

    #[test]
    fn beginnings_of_words_are_found_and_a_single_letter_is_not_one() {
        let index = index(THREE);
        assert_eq!(scores(&index, "dr").len(), 3);
        assert_eq!(scores(&index, "wat")[0].0, "c");
        assert!(scores(&index, "d").is_empty());
        assert!(scores(&index, "ragon").is_empty());
        assert!(scores(&index, "").is_empty() && scores(&index, "?!").is_empty());
    }

    #[test]
    fn a_single_ideograph_is_found() {
        let index = index(&[("a", "東京", "塔"), ("b", "Tokyo", "京都")]);
        assert_eq!(scores(&index, "京").len(), 2);
        assert_eq!(scores(&index, "東")[0].0, "a");
        assert_eq!(scores(&index, "東京")[0].0, "a");
    }

    #[test]
    fn equal_scores_are_sorted_by_slug_and_the_limit_holds() {
        let index = index(&[("c", "x", "same"), ("a", "x", "same"), ("b", "x", "same")]);
        let found: Vec<_> = scores(&index, "same").into_iter().map(|hit| hit.0).collect();
        assert_eq!(found, ["a", "b", "c"]);
        assert_eq!(index.search("same", 2).len(), 2);
    }

    #[test]
    fn what_is_taken_out_leaves_nothing() {
        let mut index = index(THREE);
        index.remove("nowhere", "Sea", "water");
        for (slug, title, text) in THREE {
            index.remove(slug, title, text);
        }
        assert_eq!(index, Index::default());
        assert!(index.search("dragon", 10).is_empty());
    }

    /// The same ranking by the words of this module's first lines, with nothing kept between two searches.
    fn brute(pages: &BTreeMap<String, (String, String)>, query: &str) -> Vec<(String, f64)> {
        let list = |text: &str| {
            let mut all = Vec::new();
            words(text, &mut |_, word| {
                all.push(word.to_string());
                true
            });
            all
        };
        let length = |page: &(String, String)| (3 * list(&page.0).len() + list(&page.1).len()) as f64;
        let average = pages.values().map(length).sum::<f64>() / pages.len() as f64;
        let mut wanted = list(query);
        let mut seen = Vec::new();
        wanted.retain(|word| {
            !seen.contains(word) && {
                seen.push(word.clone());
                true
            }
        });
        let often = |page: &(String, String), wanted: &str| {
            let one = |word: &String| match word {
                word if word == wanted => 1.0,
                word if wanted.chars().count() >= 2 && word.starts_with(wanted) => 0.25,
                _ => 0.0,
            };
            3.0 * list(&page.0).iter().map(one).sum::<f64>() + list(&page.1).iter().map(one).sum::<f64>()
        };
        let mut found = Vec::new();
        for (slug, page) in pages {
            let mut score = 0.0;
            for word in &wanted {
                let matching = pages.values().filter(|page| often(page, word) > 0.0).count() as f64;
                let rarity = (1.0 + (pages.len() as f64 - matching + 0.5) / (matching + 0.5)).ln();
                let f = often(page, word);
                score += rarity * f * 2.2 / (f + 1.2 * (0.25 + 0.75 * length(page) / average));
            }
            if wanted.iter().any(|word| often(page, word) > 0.0) {
                found.push((slug.clone(), score));
            }
        }
        found
    }

    #[test]
    fn it_agrees_with_brute_force_through_random_edits() {
        const WORDS: &[&str] = &[
            "dragon",
            "dragons",
            "dragonfly",
            "drag",
            "fire",
            "fir",
            "sea",
            "a",
            "b",
            "über",
            "Über",
            "東",
            "京",
            "東京",
            "история",
            "x1",
            "x12",
        ];
        let mut random = fastrand::Rng::with_seed(4);
        let text = |random: &mut fastrand::Rng, most: usize| {
            let count = random.usize(..=most);
            (0..count).map(|_| WORDS[random.usize(..WORDS.len())]).collect::<Vec<_>>().join(" ")
        };
        let mut index = Index::default();
        let mut pages: BTreeMap<String, (String, String)> = BTreeMap::new();
        let mut compared = 0;
        for step in 0..1500 {
            let slug = format!("p{}", random.u8(..20));
            if let Some((title, content)) = pages.remove(&slug) {
                index.remove(&slug, &title, &content);
            }
            if random.u8(..4) > 0 {
                let page = (text(&mut random, 3), text(&mut random, 30));
                index.add(&slug, &page.0, &page.1);
                pages.insert(slug, page);
            }
            if step % 10 != 0 {
                continue;
            }
            let mut anew = Index::default();
            for (slug, (title, content)) in pages.iter().rev() {
                anew.add(slug, title, content);
            }
            assert_eq!(index, anew);
            let query = text(&mut random, 3);
            let mut expected = brute(&pages, &query);
            let mut found = scores(&index, &query);
            for pair in found.windows(2) {
                assert!(pair[0].1 > pair[1].1 || pair[0].1 == pair[1].1 && pair[0].0 < pair[1].0);
            }
            found.sort_by(|a, b| a.0.cmp(&b.0));
            expected.sort_by(|a, b| a.0.cmp(&b.0));
            let close = |(a, b): (&(String, f64), &(String, f64))| a.0 == b.0 && (a.1 - b.1).abs() < 1e-9;
            assert!(
                found.len() == expected.len() && found.iter().zip(&expected).all(close),
                "{query}: {found:?} {expected:?}"
            );
            compared += found.len();
        }
        assert!(compared > 500, "{compared}");
    }

    #[test]
    fn snippets_show_the_first_hit() {
        assert_eq!(snippet("Dragons breathe\n fire.", "dragon"), "Dragons breathe fire.");
        assert_eq!(snippet("only text", "title"), "only text");
        assert_eq!(snippet("", "x"), "");
        let long = format!("{}here is gold {}", "lorem ipsum ".repeat(30), "dolor sit ".repeat(50));
        let cut = snippet(&long, "gold");
        assert!(
            cut.starts_with("…lorem ipsum") && cut.ends_with("dolor…") && cut.contains("here is gold dolor"),
            "{cut}"
        );
        assert!(cut.chars().count() <= SNIPPET + 2);
    }

    #[test]
    fn snippets_are_cut_between_characters_anywhere() {
        let mut random = fastrand::Rng::with_seed(9);
        let alphabet: Vec<char> = "aé東\u{1f409} \n\u{301}İ".chars().collect();
        for _ in 0..2000 {
            let length = random.usize(..600);
            let text: String = (0..length).map(|_| alphabet[random.usize(..alphabet.len())]).collect();
            let cut = snippet(&text, "aé 東");
            assert!(cut.chars().count() <= SNIPPET + 2 && !cut.contains('\n'));
        }
    }
}
