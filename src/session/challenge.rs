//! What is asked of whoever plays, and how far they have come.

use crate::search::challenge::{self, Hint, Standing};
use crate::search::{Finds, Request};

use super::Session;

/// A challenge, and where the schedule stands at the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    /// What is asked, within which bounds.
    pub request: Request,
    /// The best that there is: what the search finds.
    pub par: Finds,
    /// How far it has come.
    pub standing: Standing,
}

impl Session {
    /// The challenge of the text: its first search that is one, and says what it finds.
    pub fn challenge(&self) -> Option<Challenge> {
        let mut searches = self.reading().searches.iter();
        let search = searches.find(|search| search.request.is_challenge)?;
        let request = search.request.clone();
        Some(Challenge {
            par: request.finds.filter(|finds| *finds != Finds::Schedule)?,
            standing: challenge::standing(self.timeline(), self.cursor(), &request, &self.moment),
            request,
        })
    }

    /// What leads on from the cursor; `None` where nothing is asked, or the schedule has left the bounds.
    pub fn hint(&self) -> Option<Hint> {
        let Challenge {
            request, standing, ..
        } = self.challenge()?;
        let left = standing.left?;
        Some(challenge::hint(
            &self.text(),
            self.cursor(),
            &request.goal,
            &left,
            standing.operator,
        ))
    }
}
