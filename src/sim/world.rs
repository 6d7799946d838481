//! A world: every part as it is at one moment.

use std::sync::Arc;

use super::ConnectionId;
use super::action::{ClientId, ServerId, Who};
use super::client::Client;
use super::database::{Database, DatabaseInput};
use super::event::Event;
use super::gateway::Gateway;
use super::network::Message;
use super::setup::Setup;
use super::store::{Store, StoreInput};
use super::time::START_OF_WALL_CLOCK;

/// The servers, the clients and the clock at one moment. Cloning it is cheap: parts are shared until
/// one of them changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    /// Milliseconds since the start.
    pub now: u64,
    /// The Redis-like servers, in the order of the setup; [`ServerId`] is the place here. There is always one.
    pub stores: Vec<Store>,
    /// The MySQL-like database.
    pub database: Database,
    /// The card gateway.
    pub gateway: Gateway,
    /// The clients, in the order of the setup.
    pub clients: Vec<Arc<Client>>,
    /// What is under way, the oldest first.
    pub network: Vec<Message>,
}

impl World {
    /// The world before the schedule, and what happened to make it so: each client has begun its first attempt.
    pub fn new(setup: &Setup) -> (World, Vec<Event>) {
        let mut world = World {
            now: 0,
            stores: vec![Store::default(); setup.server_count()],
            database: Database::default(),
            gateway: Gateway::default(),
            clients: setup
                .clients
                .iter()
                .map(|declaration| Arc::new(Client::new(declaration)))
                .collect(),
            network: Vec::new(),
        };
        world.database.set_found_rows(setup.found_rows);
        for statement in &setup.statements {
            world.database.apply(DatabaseInput::Statement {
                connection: connection_of(Who::Operator),
                statement,
                parameters: &[],
                now: START_OF_WALL_CLOCK,
            });
        }
        for (server, argv) in &setup.commands {
            world.stores[server.0].apply(StoreInput::Command {
                connection: connection_of(Who::Operator),
                argv,
                now: START_OF_WALL_CLOCK,
            });
        }
        world.attach_replicas(setup);
        super::step::begin(setup, world)
    }

    /// Replicas begin as their primaries are.
    fn attach_replicas(&mut self, setup: &Setup) {
        for group in (0..setup.server_count()).map(ServerId) {
            let replicas: Vec<usize> = setup
                .members_of(group)
                .into_iter()
                .filter(|member| *member != group)
                .map(|member| member.0)
                .collect();
            if replicas.is_empty() {
                continue;
            }
            let primary = self.stores[group.0].clone();
            for replica in &replicas {
                let replica = &mut self.stores[*replica];
                replica.apply(StoreInput::Follow);
                replica.apply(StoreInput::Synchronise { primary: &primary });
            }
            let replicas = &replicas;
            self.stores[group.0].apply(StoreInput::Lead { replicas });
        }
    }

    /// The primary among these servers.
    pub fn primary_among(&self, members: &[ServerId]) -> Option<ServerId> {
        let is_primary = |server: &&ServerId| !self.store(**server).is_replica();
        members.iter().find(is_primary).copied()
    }

    /// The client, where there is one with this place.
    pub fn client(&self, client: ClientId) -> Option<&Client> {
        self.clients.get(client.0).map(Arc::as_ref)
    }

    /// The Redis-like server with this place; one that there is not holds nothing.
    pub fn store(&self, server: ServerId) -> &Store {
        static NOTHING: std::sync::LazyLock<Store> = std::sync::LazyLock::new(Store::default);
        self.stores.get(server.0).unwrap_or(&NOTHING)
    }

    /// The wall clock as it is right, in milliseconds since the Unix epoch; a server's own may have jumped away from it.
    pub fn wall_clock(&self) -> u64 {
        START_OF_WALL_CLOCK + self.now
    }

    /// Milliseconds until the next thing that time alone will do: a key lapses (one millisecond after its deadline), a client's
    /// timer runs out, a wait for a row lock times out. `None` when nothing will.
    pub fn next_deadline(&self) -> Option<u64> {
        let keys = self
            .stores
            .iter()
            .filter_map(|store| store.next_deadline().map(|remaining| remaining + 1));
        let timers = self.clients.iter().filter_map(|client| client.next_wake());
        let waits = self.database.next_deadline();
        timers.chain(keys).chain(waits).min()
    }
}

/// The connection that somebody has to each server: the operator's is 0, and the clients follow in the order of the setup.
pub fn connection_of(who: Who) -> ConnectionId {
    match who {
        Who::Operator => ConnectionId(0),
        Who::Client(client) => ConnectionId(client.0 as u32 + 1),
    }
}

/// A connection that somebody has left behind: the first free one has number 1.
pub fn left_behind(who: Who, number: u32) -> ConnectionId {
    ConnectionId(connection_of(who).0 | number << OWNER_BITS)
}

/// Whether it is a connection that somebody has left behind.
pub fn is_left_behind(connection: ConnectionId) -> bool {
    (connection.0 & !SUBSCRIBER) >> OWNER_BITS != 0
}

/// The connection on which a client's steps subscribe, as client libraries have a connection of its own for that.
pub fn subscriber_of(client: ClientId) -> ConnectionId {
    ConnectionId(connection_of(Who::Client(client)).0 | SUBSCRIBER)
}

/// Whether it is such a connection.
pub fn is_subscriber(connection: ConnectionId) -> bool {
    connection.0 & SUBSCRIBER != 0
}

/// The bit of a connection's number that says that steps subscribe on it.
const SUBSCRIBER: u32 = 1 << 31;

/// In how many bits of its number a connection names its owner.
const OWNER_BITS: u32 = 16;

/// Whose connection this is, or was.
pub fn owner_of(connection: ConnectionId) -> Who {
    match connection.0 & ((1 << OWNER_BITS) - 1) {
        0 => Who::Operator,
        place => Who::Client(ClientId(place as usize - 1)),
    }
}
