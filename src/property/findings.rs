//! What has been found so far: which properties are broken, and which were put to the test.

use super::told::Told;
use super::{Break, Property};
use crate::sim::action::{ClientId, Who};
use crate::sim::setup::Setup;
use crate::sim::time::in_words;
use crate::sim::world::World;
use crate::sorted::SortedMap;

/// The moment that is looked at, and the names for what is seen.
#[derive(Clone, Copy)]
pub(super) struct Here<'a> {
    pub setup: &'a Setup,
    /// The world after the action.
    pub world: &'a World,
    /// The place of the action in the schedule.
    pub action: usize,
    /// Milliseconds since the start.
    pub at: u64,
}

impl<'a> Here<'a> {
    /// The client's name.
    pub fn name(&self, client: ClientId) -> &'a str {
        name_of(self.setup, client)
    }

    /// A client's name, or `the operator`.
    pub fn who(&self, who: Who) -> &'a str {
        match who {
            Who::Client(client) => self.name(client),
            Who::Operator => "the operator",
        }
    }

    /// Now, in words.
    pub fn time(&self) -> String {
        in_words(self.at)
    }
}

/// The client's name.
pub(super) fn name_of(setup: &Setup, client: ClientId) -> &str {
    setup
        .clients
        .get(client.0)
        .map_or("?", |client| client.name.as_str())
}

/// The first break of each property, and what first put it to the test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Findings {
    broken: SortedMap<Property, Told<Break>>,
    tested: SortedMap<Property, Told<String>>,
}

impl Findings {
    /// Keeps a break, unless the property was broken before.
    pub fn broke(
        &mut self,
        here: Here<'_>,
        property: Property,
        clients: Vec<ClientId>,
        tokens: Vec<i64>,
        because: String,
    ) {
        self.broken.or_insert_with(property, || {
            Told(Break {
                property,
                action: here.action,
                at: here.at,
                clients,
                tokens,
                because,
            })
        });
    }

    /// Keeps what put the property to the test, unless something did before.
    pub fn tested(&mut self, property: Property, because: impl FnOnce() -> String) {
        self.tested.or_insert_with(property, || Told(because()));
    }

    /// Forgets breaks of other properties, and what put any to the test.
    pub fn keep_breaks_of(&mut self, properties: &[Property]) {
        self.broken
            .retain(|property, _| properties.contains(property));
        self.tested.clear();
    }

    /// The first break.
    pub fn break_of(&self, property: Property) -> Option<&Break> {
        self.broken.get(&property).map(|told| &told.0)
    }

    /// What first put the property to the test.
    pub fn test_of(&self, property: Property) -> Option<&str> {
        self.tested.get(&property).map(|told| told.0.as_str())
    }
}
