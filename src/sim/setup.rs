//! What a scenario sets up before its schedule begins: tables, keys, scripts, protocols and clients.

use super::action::{ClientId, ServerId};
use super::client::protocol::{Argument, Protocol, Request, Step};
use super::database::Statement;
use super::event::Value;
use crate::sorted::SortedMap;

/// Everything that stands before the schedule. It never changes while the schedule runs, and worlds refer to it
/// by indices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// Statements run before the schedule, in order: the tables and their rows. Each was tried when the text was read,
    /// and succeeds.
    pub statements: Vec<Statement>,
    /// Redis commands run before the schedule, in order, each with its server. Each was tried when the text was read, and gives no
    /// error.
    pub commands: Vec<(ServerId, Vec<Vec<u8>>)>,
    /// The Redis-like servers, in order; [`super::action::ServerId`] is the place here. None is one, which is called the store.
    pub servers: Vec<ServerDeclaration>,
    /// Which keys a server may evict when its memory is full.
    pub policy: EvictionPolicy,
    /// Lua scripts by name, verbatim.
    pub scripts: SortedMap<String, Vec<u8>>,
    /// The protocols in the order of the text.
    pub protocols: Vec<Protocol>,
    /// The clients in the order of the text; [`super::action::ClientId`] is the place here.
    pub clients: Vec<ClientDeclaration>,
    /// Which keys and columns play which part, one entry for each `watch` line.
    pub watches: Vec<Watch>,
    /// Whether drivers report matched rows instead of changed rows (MySQL's CLIENT_FOUND_ROWS flag, C API
    /// documentation of mysql_real_connect).
    pub found_rows: bool,
}

/// A Redis-like server as the text declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerDeclaration {
    /// Its name, which no client has.
    pub name: String,
    /// Of which server it is a replica at first.
    pub replica_of: Option<ServerId>,
}

/// Redis's `maxmemory-policy` (Redis documentation, "Key eviction").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EvictionPolicy(usize);

impl EvictionPolicy {
    /// Every policy, by the name that Redis has for it; the first is the default.
    pub const NAMES: [&str; 8] = [
        "noeviction",
        "allkeys-lru",
        "allkeys-lfu",
        "allkeys-random",
        "volatile-lru",
        "volatile-lfu",
        "volatile-random",
        "volatile-ttl",
    ];

    /// The policy of this name.
    pub fn named(name: &str) -> Option<EvictionPolicy> {
        Self::NAMES
            .iter()
            .position(|other| *other == name)
            .map(EvictionPolicy)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self.0]
    }

    /// Whether it evicts no key at all.
    pub fn evicts_nothing(self) -> bool {
        self.0 == 0
    }

    /// Whether it evicts only keys that have a time to live.
    pub fn spares_keys_without_ttl(self) -> bool {
        self.name().starts_with("volatile")
    }
}

impl Setup {
    /// How many Redis-like servers there are; at least one.
    pub fn server_count(&self) -> usize {
        self.servers.len().max(1)
    }

    /// The servers whose majority says who holds a lock: those that its `watch` line names, or else the first. None for a lock that
    /// only SQL statements take: its truth is in a table.
    pub fn servers_of_lock(&self, key: &[u8]) -> Vec<ServerId> {
        let watch = self
            .watches
            .iter()
            .find(|watch| watch.lock.as_deref() == Some(key));
        if let Some(watch) = watch {
            return watch.servers();
        }
        let mut takers = (0..self.clients.len())
            .map(ClientId)
            .flat_map(|client| self.steps_of(client).iter().map(move |step| (client, step)))
            .filter(|(client, step)| self.locks_of(*client, step).any(|lock| lock == key))
            .map(|(_, step)| matches!(step.request, Request::Database(_)))
            .peekable();
        match takers.peek().is_some() && takers.all(|is_statement| is_statement) {
            true => Vec::new(),
            false => vec![ServerId::FIRST],
        }
    }

    /// The protocol that a client runs; none for one that only speaks at its console.
    pub fn protocol_of(&self, client: ClientId) -> Option<&Protocol> {
        self.protocols.get(self.clients.get(client.0)?.protocol?)
    }

    /// The steps of the client's protocol, in order; none for a client that has no protocol.
    pub fn steps_of(&self, client: ClientId) -> &[Step] {
        self.protocol_of(client).map_or(&[], |it| &it.steps)
    }

    /// The locks that a step asks for when this client takes it: those that its clauses name in `holds`, in their order, written out
    /// or by one of the client's parameters.
    pub fn locks_of<'a>(
        &'a self,
        client: ClientId,
        step: &'a Step,
    ) -> impl Iterator<Item = &'a [u8]> {
        step.locks()
            .filter_map(move |lock| self.key_named(client, lock))
    }

    /// The lock that a step asks for when this client takes it, whether its reply is the whole answer (`holds`) or one server's vote.
    pub fn lock_asked_for<'a>(&'a self, client: ClientId, step: &'a Step) -> Option<&'a [u8]> {
        let vote = || step.votes().find_map(|lock| self.key_named(client, lock));
        self.locks_of(client, step).next().or_else(vote)
    }

    /// A key that is written out, or by one of the client's parameters.
    fn key_named<'a>(&'a self, client: ClientId, key: &'a Argument) -> Option<&'a [u8]> {
        match key {
            Argument::Literal(key) => Some(key),
            Argument::Variable(name) => match self.clients.get(client.0)?.parameters.get(name)? {
                Value::Text(key) => Some(key),
                _ => None,
            },
            _ => None,
        }
    }

    /// The server's name; `store` where the scenario names none.
    pub fn server_name(&self, server: ServerId) -> &str {
        match self.servers.get(server.0) {
            Some(declaration) => &declaration.name,
            None => "store",
        }
    }

    /// The server of this name; where none is called `store`, the first is meant.
    pub fn server_named(&self, name: &str) -> Option<ServerId> {
        (0..self.server_count())
            .map(ServerId)
            .find(|server| self.server_name(*server) == name)
            .or((name == "store").then_some(ServerId::FIRST))
    }

    /// The server that stands for itself and its replicas.
    pub fn group_of(&self, server: ServerId) -> ServerId {
        let declaration = self.servers.get(server.0);
        declaration
            .and_then(|declaration| declaration.replica_of)
            .unwrap_or(server)
    }

    /// The servers that belong together with this one, itself included, in order.
    pub fn members_of(&self, group: ServerId) -> Vec<ServerId> {
        (0..self.server_count())
            .map(ServerId)
            .filter(|server| self.group_of(*server) == group)
            .collect()
    }
}

/// A client as the text declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientDeclaration {
    /// Its name, unique in the scenario; never `operator`.
    pub name: String,
    /// Which protocol it runs, as an index; `None`: it only types at its console.
    pub protocol: Option<usize>,
    /// How many times it runs the protocol, one after the other; at least 1.
    pub rounds: u32,
    /// Its parameters, which are variables from the start.
    pub parameters: SortedMap<String, Value>,
}

/// The parts that keys and columns play: roles are written, never guessed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// The lock's key.
    pub lock: Option<Vec<u8>>,
    /// On which servers the lock is taken: whoever has the majority of them holds it. Empty is the first server.
    pub lock_servers: Vec<ServerId>,
    /// The fencing counter's key.
    pub counter: Option<Vec<u8>>,
    /// The column that remembers the token of the last write.
    pub fence: Option<Column>,
    /// The column that counts units on stock.
    pub stock: Option<Column>,
}

impl Watch {
    /// The servers on which the lock is taken, at least one.
    pub fn servers(&self) -> Vec<ServerId> {
        match self.lock_servers.as_slice() {
            [] => vec![ServerId::FIRST],
            servers => servers.to_vec(),
        }
    }
}

/// A column of a table, `inventory.qty`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Column {
    /// The table's name as it is written.
    pub table: String,
    /// The column's name as it is written.
    pub column: String,
}
