//! The pages of a workspace, what is remembered, and the keys of providers.

use super::Workspace;
use crate::error::ErrorInfo;
use crate::shapes::{
    KeyTrial, Memory, MemoryChange, MemoryScope, NewPage, OfferedModel, Page, PageChange, PageLink, PageNode,
    PageVersion, Provider, SearchHit, Shape,
};
use serde_json::json;

/// The pages: here the app does what the agent's page tools do. Needs no running agent.
#[derive(Clone, Debug)]
pub struct Pages(Workspace);

impl Pages {
    pub(super) fn of(workspace: Workspace) -> Pages {
        Pages(workspace)
    }

    /// Makes a page.
    ///
    /// # Errors
    /// `slug_taken`; `page_not_found`: its parent.
    pub async fn create(&self, page: NewPage) -> Result<Page, ErrorInfo> {
        self.0.give("pages.create", json!([page.write()])).await
    }

    /// One page.
    ///
    /// # Errors
    /// `page_not_found`; `corrupt`: it is damaged.
    pub async fn read(&self, slug: &str) -> Result<Page, ErrorInfo> {
        self.0.give("pages.read", json!([slug])).await
    }

    /// All pages, or a page with those below it.
    ///
    /// # Errors
    /// `page_not_found`.
    pub async fn tree(&self, root: Option<&str>) -> Result<Vec<PageNode>, ErrorInfo> {
        self.0.give("pages.tree", super::client::some([root])).await
    }

    /// The pages that match best, the best first.
    ///
    /// # Errors
    /// The database fails.
    pub async fn search(&self, query: &str, limit: Option<u64>) -> Result<Vec<SearchHit>, ErrorInfo> {
        let options = limit.map_or_else(|| json!({}), |limit| json!({ "limit": limit }));
        self.0.give("pages.search", json!([query, options])).await
    }

    /// Changes a page's text or what is kept with it; `expected`: only if it has this version.
    ///
    /// # Errors
    /// `page_not_found`, `version_conflict`.
    pub async fn update(
        &self,
        slug: &str,
        change: PageChange,
        expected: Option<u64>,
    ) -> Result<Page, ErrorInfo> {
        let options = expected.map_or_else(|| json!({}), |version| json!({ "expectedVersion": version }));
        self.0.give("pages.update", json!([slug, change.write(), options])).await
    }

    /// Gives it another title; links to it follow.
    ///
    /// # Errors
    /// `page_not_found`.
    pub async fn rename(&self, slug: &str, title: &str) -> Result<Page, ErrorInfo> {
        self.0.give("pages.rename", json!([slug, title])).await
    }

    /// Puts it below another page, or at the top; `position`: default last.
    ///
    /// # Errors
    /// `page_not_found`, `page_cycle`.
    pub async fn move_to(
        &self,
        slug: &str,
        parent: Option<&str>,
        position: Option<u64>,
    ) -> Result<Page, ErrorInfo> {
        let mut to = json!({ "parentSlug": parent });
        if let (Some(to), Some(position)) = (to.as_object_mut(), position) {
            to.insert("position".into(), position.into());
        }
        self.0.give("pages.move", json!([slug, to])).await
    }

    /// Puts it into the trash.
    ///
    /// # Errors
    /// `page_not_found`.
    pub async fn delete(&self, slug: &str) -> Result<(), ErrorInfo> {
        self.0.done("pages.delete", json!([slug])).await
    }

    /// What is in the trash.
    ///
    /// # Errors
    /// The database fails.
    pub async fn trash(&self) -> Result<Vec<Page>, ErrorInfo> {
        self.0.give("pages.trash", json!([])).await
    }

    /// Takes it out of the trash, or makes a damaged one anew of what is whole.
    ///
    /// # Errors
    /// `page_not_found`; `corrupt`: nothing of it is whole.
    pub async fn restore(&self, slug: &str) -> Result<Page, ErrorInfo> {
        self.0.give("pages.restore", json!([slug])).await
    }

    /// The pages that link to it.
    ///
    /// # Errors
    /// `page_not_found`.
    pub async fn backlinks(&self, slug: &str) -> Result<Vec<Page>, ErrorInfo> {
        self.0.give("pages.backlinks", json!([slug])).await
    }

    /// What it links to.
    ///
    /// # Errors
    /// `page_not_found`.
    pub async fn outgoing_links(&self, slug: &str) -> Result<Vec<PageLink>, ErrorInfo> {
        self.0.give("pages.outgoingLinks", json!([slug])).await
    }

    /// The contents that it has had, the present one first.
    ///
    /// # Errors
    /// `page_not_found`.
    pub async fn versions(&self, slug: &str, limit: Option<u64>) -> Result<Vec<PageVersion>, ErrorInfo> {
        let options = limit.map_or_else(|| json!({}), |limit| json!({ "limit": limit }));
        self.0.give("pages.versions", json!([slug, options])).await
    }
}

/// What is remembered from one conversation to the next: of the operator who works here. Needs no running agent.
#[derive(Clone, Debug)]
pub struct Memories(Workspace);

impl Memories {
    pub(super) fn of(workspace: Workspace) -> Memories {
        Memories(workspace)
    }

    /// What is remembered, the newest first; `scope`: as in [`MemoryChange`].
    ///
    /// # Errors
    /// `operator_required`; the database fails.
    pub async fn list(
        &self,
        limit: Option<u64>,
        offset: Option<u64>,
        scope: Option<MemoryScope>,
    ) -> Result<Vec<Memory>, ErrorInfo> {
        let scope = scope.map(MemoryScope::as_str);
        self.0.give("memory.list", json!([{ "limit": limit, "offset": offset, "scope": scope }])).await
    }

    /// What matches, the best first.
    ///
    /// # Errors
    /// As [`list`](Memories::list).
    pub async fn search(
        &self,
        query: &str,
        limit: Option<u64>,
        scope: Option<MemoryScope>,
    ) -> Result<Vec<Memory>, ErrorInfo> {
        let scope = scope.map(MemoryScope::as_str);
        self.0.give("memory.search", json!([query, { "limit": limit, "scope": scope }])).await
    }

    /// Remembers something. What says the same is there once.
    ///
    /// # Errors
    /// `invalid_arguments`; `too_large`: there are as many as one operator may have; as [`list`](Memories::list).
    pub async fn add(&self, memory: MemoryChange) -> Result<Memory, ErrorInfo> {
        self.0.give("memory.add", json!([memory.write()])).await
    }

    /// Changes what is remembered. It keeps the mark of text from outside.
    ///
    /// # Errors
    /// `memory_not_found`, `invalid_arguments`; as [`list`](Memories::list).
    pub async fn update(&self, id: &str, change: MemoryChange) -> Result<Memory, ErrorInfo> {
        self.0.give("memory.update", json!([id, change.write()])).await
    }

    /// Forgets it.
    ///
    /// # Errors
    /// `memory_not_found`; as [`list`](Memories::list).
    pub async fn remove(&self, id: &str, scope: Option<MemoryScope>) -> Result<(), ErrorInfo> {
        let scope = scope.map(MemoryScope::as_str);
        self.0.done("memory.remove", json!([id, { "scope": scope }])).await
    }
}

/// Keys of providers, kept encrypted with the workspace. Needs no running agent.
#[derive(Clone, Debug)]
pub struct Keys(Workspace);

impl Keys {
    pub(super) fn of(workspace: Workspace) -> Keys {
        Keys(workspace)
    }

    /// Keeps a provider's key. It takes the place of an older one.
    ///
    /// # Errors
    /// There is no encryption here, or the database fails.
    pub async fn set(&self, provider: &str, key: &str) -> Result<(), ErrorInfo> {
        self.0.done("keys.set", json!([provider, key])).await
    }

    /// Forgets a key, if there is one.
    ///
    /// # Errors
    /// The database fails.
    pub async fn remove(&self, provider: &str) -> Result<(), ErrorInfo> {
        self.0.done("keys.remove", json!([provider])).await
    }

    /// The names of those there are.
    ///
    /// # Errors
    /// The database fails.
    pub async fn list(&self) -> Result<Vec<String>, ErrorInfo> {
        self.0.give("keys.list", json!([])).await
    }

    /// Tries a provider's key. One that is refused is no error of this call.
    ///
    /// # Errors
    /// `invalid_config`: it is no provider.
    pub async fn validate(&self, provider: Provider) -> Result<KeyTrial, ErrorInfo> {
        self.0.with_functions("keys.validate", json!([provider.write()])).await
    }

    /// The models that a provider offers, in its order.
    ///
    /// # Errors
    /// `invalid_config`, and what `validate` would say.
    pub async fn models(&self, provider: Provider) -> Result<Vec<OfferedModel>, ErrorInfo> {
        self.0.with_functions("keys.models", json!([provider.write()])).await
    }
}
