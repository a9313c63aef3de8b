//! The pages of a workspace, and what is remembered.

use super::shapes;
use crate::journal::words::words;
use serde_json::{Map, Value};

words! {
    /// What is wrong with a page.
    PageFault {
        /// Its stored row is not what was written last.
        Corrupt = "corrupt",
        /// A newer version of lodger has written it.
        NewerVersion = "newer_version",
    }
}

shapes! {
    /// A page.
    told Page {
        /// Its address: lower case, unique in the workspace, stays when the title changes.
        slug: String;
        /// What it is called.
        title: String;
        /// Text; `[[Title]]` is a link.
        content: String;
        /// The page that it is below; null: it is at the top.
        parent_slug = "parentSlug" or null: Option<String>;
        /// Its place among its siblings, from 0.
        position: u64;
        /// Counts its contents: grows by one with each change of the content; a new title, place or metadata leave it.
        version: u64;
        /// What an app keeps with it.
        metadata: Map<String, Value>;
        /// When it was made.
        created_at = "createdAt": u64;
        /// When it was changed last.
        updated_at = "updatedAt": u64;
    }

    /// A page in the tree, with those below it.
    told PageNode {
        /// Its address.
        slug: String;
        /// What it is called; of a damaged page its slug, where no title is known any more.
        title: String;
        /// The pages below it.
        children: Vec<PageNode>;
        /// It is damaged: whatever needs its text rejects with this code. Such pages stand last, at the top.
        damaged: Option<PageDamage>;
    }

    /// What is wrong with a page.
    told PageDamage {
        /// `corrupt`: its stored row is not what was written last. `newer_version`: a newer version of lodger has written it.
        code: PageFault;
        /// What is wrong with it.
        why: String;
    }

    /// A content that a page has had.
    told PageVersion {
        /// Which one.
        version: u64;
        /// When it was written; 0 where it is damaged.
        at: u64;
        /// The text; empty where it is damaged.
        content: String;
        /// It is damaged.
        damaged: Option<PageDamage>;
    }

    /// A page that was found.
    told SearchHit {
        /// Its address.
        slug: String;
        /// What it is called.
        title: String;
        /// Its text around what was found.
        snippet: String;
        /// How well it fits; the best has the most.
        score: f64;
    }

    /// Something that is remembered.
    told Memory {
        /// Its id.
        id: String;
        /// What is remembered.
        text: String;
        /// How important that is, from 0 to 1.
        importance: f64;
        /// Words under which it is found besides.
        tags: Vec<String>;
        /// When it was made.
        created_at = "createdAt": u64;
        /// When its text, importance or tags were changed last.
        updated_at = "updatedAt": u64;
        /// When a model has read it last.
        read_at = "readAt": Option<u64>;
        /// How often a model has read it.
        reads: u64;
        /// It was made of text from outside.
        outside: Option<bool>;
        /// Its row is not what was written, and this is what can be read of it: a model gets it nowhere. It is whole again with
        /// the next text, and goes with a removal.
        damaged: Option<bool>;
    }

    /// What a page links to.
    told PageLink {
        /// The title that the link names.
        title: String;
        /// The page of this title; null: there is none.
        slug or null: Option<String>;
    }
}
