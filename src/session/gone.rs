//! Files of a conversation whose bytes are lost.
//!
//! Decides which of a conversation's files count as gone: those of which a model call has put on record that they are. They
//! are there again when a message or a tool brings the same file. Promises: it follows from the entries alone, wherever they are read. Leaves to
//! others: whether the bytes are there (the pump), what a model is told in their place (`model::files`).

use super::Session;
use crate::json;
use crate::model::{Block, File};
use crate::rooms::{Room, enter};
use serde_json::Value;

impl Session {
    /// Whether the conversation has this file, and it is gone or is not. A door of the room `past`.
    #[inline(never)]
    pub(crate) fn has_file(&self, id: &str, gone: bool) -> bool {
        enter(Room::Past);
        self.files().any(|file| file.gone == gone && file.id == id)
    }

    /// A model call has missed these files. A door of the room `past`.
    #[inline(never)]
    pub(super) fn files_go(&mut self, ids: &Value) {
        enter(Room::Past);
        let ids = json::items(ids);
        self.change_files(true, &|file| ids.iter().any(|id| id.as_str() == Some(&file.id)));
    }

    /// A message or a tool brings these files. Those of a copy are as they were where they stood. A door of the room `past`.
    #[inline(never)]
    pub(super) fn files_come(&mut self, files: &[Block]) {
        enter(Room::Past);
        let is_it = |block: &Block, known: &File| matches!(block, Block::File(file) if !file.gone && file.id == known.id);
        self.change_files(false, &|file| files.iter().any(|block| is_it(block, file)));
    }

    /// Says of these files that they are gone, or are not, in all versions of the conversation and in what waits.
    fn change_files(&mut self, gone: bool, these: &dyn Fn(&File) -> bool) {
        let mut changed = false;
        let mut change = |blocks: &mut [Block]| {
            for block in blocks {
                if let Block::File(file) = block
                    && file.gone != gone
                    && these(file)
                {
                    (file.gone, changed) = (gone, true);
                }
            }
        };
        for run in self.runs.iter_mut().chain(self.versions.runs_mut()) {
            run.change_files(&mut change);
        }
        for queued in &mut self.queue {
            change(queued.files_mut());
        }
        self.files_told += u64::from(changed);
    }
}
