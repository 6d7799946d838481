//! Sorted sets: members with scores, in the order of the scores and then of the bytes.

use super::call::{Answer, Call};
use super::number;
use super::reply::Reply;
use super::run::Run;
use super::value::Bytes;

/// A score: a double that is never NaN.
#[derive(Clone, Copy, Debug)]
pub struct Score(f64);

impl Score {
    /// The score as ZSCORE prints it, with 17 digits where needed.
    pub fn print(self) -> Vec<u8> {
        number::print_double(self.0).into_bytes()
    }
}

impl PartialEq for Score {
    fn eq(&self, other: &Score) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Score {}

impl std::hash::Hash for Score {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

/// A sorted set's members and scores.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SortedSet {
    /// In order.
    members: Vec<(Score, Bytes)>,
    /// Whether it has become a skip list; Redis shows that in ZSCAN.
    large: bool,
}

impl SortedSet {
    /// Scores and members, the lowest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Score, &Bytes)> {
        self.members.iter().map(|(score, member)| (*score, member))
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are no members; such a set is never kept.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub(super) fn is_packed(&self) -> bool {
        !self.large
    }
}

pub(super) fn serve(_: &mut Run<'_>, _: &Call<'_>, _: &[u8]) -> Answer {
    Ok(Reply::Nil)
}
