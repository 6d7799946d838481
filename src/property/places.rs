//! Clients that change places: a search in which several run the same protocol need not tell them apart.

use std::hash::{Hash, Hasher};

use crate::sim::action::{ClientId, Who};
use crate::sorted::{SortedMap, SortedSet};

/// Which place each client has afterwards.
#[derive(Clone, Copy)]
pub(super) struct Places<'a>(pub &'a [usize]);

impl Places<'_> {
    pub fn client(self, client: ClientId) -> ClientId {
        ClientId(self.0.get(client.0).copied().unwrap_or(client.0))
    }

    pub fn who(self, who: Who) -> Who {
        match who {
            Who::Client(client) => Who::Client(self.client(client)),
            Who::Operator => Who::Operator,
        }
    }

    pub fn set(self, clients: &mut SortedSet<ClientId>) {
        *clients = clients.iter().map(|client| self.client(*client)).collect();
    }

    pub fn map<T>(self, of: &mut SortedMap<ClientId, T>) {
        *of = std::mem::take(of)
            .into_iter()
            .map(|(client, thing)| (self.client(client), thing))
            .collect();
    }
}

/// Takes up what is remembered of one client, whichever it is.
pub(super) struct Marks<'a>(pub &'a mut dyn Hasher);

impl Marks<'_> {
    pub fn add(&mut self, thing: impl Hash) {
        thing.hash(&mut self.0);
    }
}
