//! `docs/measured.md`: what `build` and `bench` have measured, each in a block of its own.
//!
//! Decides where the figures go in the page. Promises: what stands outside the block stays as it is. Nothing is written
//! unless a person asks for it (`--record`), because every machine has other figures.

use crate::project::Project;
use anyhow::{Context, Result};
use std::fs;

const PAGE: &str = "docs/measured.md";

/// Puts the figures, as they were printed, in place of those that the block of this name has.
pub fn record(project: &Project, block: &str, figures: &str) -> Result<()> {
    let path = project.root.join(PAGE);
    let page = fs::read_to_string(&path).with_context(|| format!("{PAGE} is missing"))?;
    let page = put(&page, block, figures).with_context(|| format!("{PAGE} has no block \"{block}\""))?;
    fs::write(&path, page)?;
    println!("recorded in {PAGE}");
    Ok(())
}

fn put(page: &str, block: &str, figures: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- {block} -->\n"), format!("<!-- /{block} -->"));
    let (before, rest) = page.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    let figures: Vec<&str> = figures.trim_matches('\n').lines().map(str::trim_end).collect();
    Some(format!("{before}{begin}```text\n{}\n```\n{end}{after}", figures.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_block_of_that_name_is_changed() {
        let page = "a\n<!-- size -->\nold\n<!-- /size -->\nb\n<!-- speed -->\n<!-- /speed -->\n";
        let with = put(page, "size", "\n x  1 \n\n y  2\n").unwrap();
        assert_eq!(
            with,
            "a\n<!-- size -->\n```text\n x  1\n\n y  2\n```\n<!-- /size -->\nb\n<!-- speed -->\n<!-- /speed -->\n"
        );
        assert_eq!(put(&with, "size", " x  1\n\n y  2").as_deref(), Some(with.as_str()));
        assert_eq!(put(page, "time", "1"), None);
    }
}
