//! What a text was before it was changed, and how far its schedule is still that one's: what a title and a description say holds
//! for the schedule that they were written for.

use super::Document;
use crate::scenario::library;

/// A text as it was opened; of a story, as the library has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    title: String,
    lines: Vec<String>,
    schedule: Vec<String>,
}

/// How a text stands to what its title and its description were written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is that text.
    Itself,
    /// The schedule is the same as far as that one goes; something else differs.
    Changed,
    /// The schedule goes another way after so many actions.
    Branch {
        /// How many actions the two have in common.
        after: usize,
    },
    /// A search found its schedule.
    Found,
}

impl Origin {
    /// The origin of a text that is opened: the story of its title, else the text itself.
    pub(super) fn of(title: &str, document: &Document) -> Origin {
        let story = library::stories().iter().find(|story| story.title == title);
        let document = match story {
            Some(story) => &super::read_document(story.text).unwrap_or_else(|| document.clone()),
            None => document,
        };
        Origin {
            title: title.to_string(),
            lines: document.lines().to_vec(),
            schedule: document.schedule().map(str::to_string).collect(),
        }
    }

    /// Whether this is the origin of a text of this title.
    pub(super) fn is_of(&self, title: &str) -> bool {
        self.title == title
    }

    /// How a text of this origin stands to it. One without a title promises nothing.
    pub(super) fn standing(&self, document: &Document) -> Standing {
        if self.title.is_empty() || document.lines() == self.lines {
            return Standing::Itself;
        }
        let same = document.schedule().zip(&self.schedule);
        let after = same.take_while(|(line, other)| line == other).count();
        match after == self.schedule.len() {
            true => Standing::Changed,
            false => Standing::Branch { after },
        }
    }
}
