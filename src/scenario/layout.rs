//! Where things stand in a text, for whoever changes or shows parts of it.

use super::error::Place;

/// A run of lines, both ends included, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lines {
    /// The first line.
    pub first: usize,
    /// The last line.
    pub last: usize,
}

impl Lines {
    /// Whether this line is one of them.
    pub fn contains(self, line: usize) -> bool {
        (self.first..=self.last).contains(&line)
    }
}

impl From<Place> for Lines {
    fn from(place: Place) -> Lines {
        Lines {
            first: place.line,
            last: place.last,
        }
    }
}

/// Where the blocks of a text stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The schedule's header and what stands under it.
    pub schedule: Option<Lines>,
    /// The expectations' header and what stands under it.
    pub expect: Option<Lines>,
    /// The protocols, in the order of [`crate::sim::setup::Setup::protocols`].
    pub protocols: Vec<ProtocolLayout>,
    /// The line of each client, in the order of [`crate::sim::setup::Setup::clients`].
    pub clients: Vec<usize>,
    /// The line of each `watch`, in the order of [`crate::sim::setup::Setup::watches`].
    pub watches: Vec<usize>,
    /// The tables with their names, in the order of the text.
    pub tables: Vec<(String, Lines)>,
    /// The scripts with their names, in the order of the text.
    pub scripts: Vec<(String, Lines)>,
}

/// Where a protocol stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtocolLayout {
    /// Its header and what stands under it.
    pub lines: Lines,
    /// The lines of each step, in order.
    pub steps: Vec<Lines>,
    /// Its text as it stands there, header included.
    pub source: String,
}
