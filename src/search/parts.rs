//! The parts of worlds, each with a number, and what moves make of them.
//!
//! A move is carried out by the ordinary [`step`] on a world that is put together from parts, once for each combination of those
//! parts that it reads; from then on the numbers of these parts lead straight to the numbers of the parts that it changes and of
//! what it told the judge. A move of one client reads that client and one server. Where it turns out to reach further, as when a
//! release wakes somebody who waits, it is remembered for all parts together.
//!
//! ```text
//! (move, client 7, store 12) ──► client 9, store 13, facts 4          (judge 5, facts 4) ──► judge 6
//! ```

use std::hash::Hash;
use std::sync::Arc;

use super::bounds::{Bounds, Budget, Goal};
use super::moves::{JUMPS, Move, Operator, Rules, after_operator, next_end_of_belief};
use super::reads::Reads;
use super::symmetry::Symmetry;
use latchkey_kernel::{
    Change, ClientKind, Effect, Index, Known, Memo, NOT_POSSIBLE, PairMemo, Places, WIDE, hash_of,
};

use crate::property::Judge;
use crate::scenario::check;
use crate::sim::action::{Action, ClientId, ClockOf, Who};
use crate::sim::client::protocol::{Argument, Request};
use crate::sim::client::{Client, Place};
use crate::sim::database::Database;
use crate::sim::event::Value::Text;
use crate::sim::event::{Event, Fact};
use crate::sim::gateway::Gateway;
use crate::sim::network::Message;
use crate::sim::setup::Setup;
use crate::sim::step::step;
use crate::sim::store::Store;
use crate::sim::world::World;

/// Fields of a world, each the number of a part: the database.
pub(super) const DATABASE: usize = 0;
/// The gateway.
pub(super) const GATEWAY: usize = 1;
/// What the operator has read.
pub(super) const OPERATOR: usize = 2;
/// The clock, where something reads it.
pub(super) const CLOCK: usize = 3;
/// What is under way.
pub(super) const NETWORK: usize = 4;
/// What the properties remember.
pub(super) const JUDGE: usize = 5;
/// The first Redis-like server; the others follow, then the clients, and then what was used of each budget.
pub(super) const STORES: usize = 6;

/// Different things, each with a number.
struct Numbered<T> {
    index: Index,
    things: Vec<T>,
    hashes: Vec<u64>,
}

impl<T: Hash + Eq> Numbered<T> {
    fn new() -> Numbered<T> {
        Numbered {
            index: Index::default(),
            things: Vec::new(),
            hashes: Vec::new(),
        }
    }

    /// The thing's number: the one that it has, or the next.
    fn number(&mut self, thing: T) -> u32 {
        if self.index.lacks_room(1) {
            self.index.grow(|number| self.hashes[number as usize]);
        }
        let hash = hash_of(&thing);
        let things = &self.things;
        match self
            .index
            .find(hash, |number| things[number as usize] == thing)
        {
            Ok(number) => number,
            Err(slot) => {
                self.things.push(thing);
                self.hashes.push(hash);
                self.index.put(slot, hash)
            }
        }
    }

    fn get(&self, number: u32) -> &T {
        &self.things[number as usize]
    }

    fn largest(&self) -> u32 {
        (self.things.len() as u32).saturating_sub(1)
    }
}

/// What is known of a client without looking into it again.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClientView {
    /// What its next step reads or changes beside it, if it has one.
    pub server: Option<Server>,
    /// Whether that goes to a server, so that it can be lost on its way.
    pub is_sent: bool,
    /// Whether it waits on a latch.
    pub is_paused: bool,
    /// Whether it runs and could crash.
    pub runs: bool,
    /// Whether it has crashed.
    pub crashed: bool,
    /// Whether it has begun more attempts than are looked at.
    pub is_tired: bool,
    /// Milliseconds until its timer runs out, or `u64::MAX`.
    pub wakes: u64,
    /// Whether it waits for a server.
    pub waits: bool,
    /// Whether a belief of it still counts down.
    pub counts_down: bool,
}

impl ClientView {
    fn kind(&self) -> ClientKind {
        if self.is_paused || self.counts_down || self.wakes != u64::MAX {
            return ClientKind::Other;
        }
        match self.server {
            None => ClientKind::Rests,
            Some(_) if self.is_tired => ClientKind::IsTired,
            Some(Server::Store) => ClientKind::Steps(STORES as u8),
            Some(Server::Field(field)) => ClientKind::Steps(field as u8),
            // Nothing is under way where the loop takes steps, so that this is always the same part.
            Some(Server::None) => ClientKind::Steps(NETWORK as u8),
        }
    }
}

/// Where a step goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Server {
    /// To a Redis-like server.
    Store,
    /// To the part of this field.
    Field(usize),
    /// Nowhere.
    None,
}

/// The parts that have numbers, and what moves made of them.
pub(super) struct Parts {
    pub rules: Rules,
    reads: Reads,
    symmetry: Option<Symmetry>,
    bounds: Bounds,
    goal: Goal,
    stores: Numbered<Store>,
    databases: Numbered<Database>,
    gateways: Numbered<Gateway>,
    operators: Numbered<Operator>,
    clocks: Numbered<u64>,
    networks: Numbered<Vec<Message>>,
    clients: Numbered<(usize, Arc<Client>)>,
    judges: Numbered<Judge>,
    told: Numbered<Vec<Vec<Event>>>,
    /// How many Redis-like servers there are.
    store_count: usize,
    /// Whether two numbers can say what a step does: with one store, and where nothing reads the clock.
    has_pairs: bool,
    /// The world after what was told, for each: what the judge may look at.
    after: Vec<Option<World>>,
    views: Vec<ClientView>,
    /// For each store: milliseconds until something of it happens, and until a key lapses.
    store_deadlines: Vec<(u64, u64)>,
    /// For each store: whether a command waits in it.
    store_waits: Vec<bool>,
    database_deadlines: Vec<u64>,
    /// What the loop of the search knows.
    pub known: Known,
    moves: Memo,
    /// By client, or store, and milliseconds: where in `aged` it stands what becomes of it when they pass.
    client_times: PairMemo,
    store_times: PairMemo,
    /// Parts, and the numbers of what they tell.
    aged: Vec<(u32, u32)>,
    /// What several parts tell in one action.
    together: Memo,
    /// The steps that were tried with clients in other places.
    tried: Memo,
    /// For each judge: whether it sees the goal; 2: not known.
    breaks: Vec<u8>,
    reached: PairMemo,
    key: Vec<u32>,
    placed: Vec<u32>,
}

impl Parts {
    /// No parts yet.
    pub fn new(setup: Arc<Setup>, bounds: &Bounds, goal: &Goal) -> Parts {
        let reads = Reads::of(&setup);
        let mut parts = Parts {
            symmetry: Symmetry::of(&setup, bounds, goal),
            rules: Rules::new(setup, bounds, reads.clock),
            reads,
            bounds: bounds.clone(),
            goal: goal.clone(),
            stores: Numbered::new(),
            databases: Numbered::new(),
            gateways: Numbered::new(),
            operators: Numbered::new(),
            clocks: Numbered::new(),
            networks: Numbered::new(),
            clients: Numbered::new(),
            judges: Numbered::new(),
            told: Numbered::new(),
            store_count: 1,
            has_pairs: false,
            after: Vec::new(),
            views: Vec::new(),
            store_deadlines: Vec::new(),
            store_waits: Vec::new(),
            database_deadlines: Vec::new(),
            known: Known::default(),
            moves: Memo::default(),
            client_times: PairMemo::default(),
            store_times: PairMemo::default(),
            aged: Vec::new(),
            together: Memo::default(),
            tried: Memo::default(),
            breaks: Vec::new(),
            reached: PairMemo::default(),
            key: Vec::new(),
            placed: Vec::new(),
        };
        parts.told.number(Vec::new());
        parts.networks.number(Vec::new());
        parts.operators.number(None);
        parts.after.push(None);
        parts.known.effects.push(Effect::default());
        parts.known.placing = parts.symmetry.as_mut().map(Symmetry::placing);
        parts
    }

    fn setup(&self) -> &Arc<Setup> {
        &self.rules.setup
    }

    /// How many Redis-like servers there are.
    pub fn server_count(&self) -> usize {
        self.store_count
    }

    /// How many clients there are.
    pub fn client_count(&self) -> usize {
        self.rules.setup.clients.len()
    }

    /// The field of the first client.
    pub fn clients_at(&self) -> usize {
        STORES + self.store_count
    }

    fn stores_of<'f>(&self, fields: &'f [u32]) -> &'f [u32] {
        &fields[STORES..STORES + self.store_count]
    }

    fn clients_of<'f>(&self, fields: &'f [u32]) -> &'f [u32] {
        &fields[self.clients_at()..self.clients_at() + self.client_count()]
    }

    // Numbers and worlds.

    /// The fields of a world, its judge, and what the operator has read.
    pub fn number(&mut self, mut world: World, mut judge: Judge, operator: Operator) -> Vec<u32> {
        self.store_count = world.stores.len();
        self.has_pairs = self.store_count == 1 && !self.reads.clock;
        self.known.places = Places {
            database: DATABASE,
            judge: JUDGE,
            stores: STORES,
            clients: self.clients_at(),
            client_count: self.client_count(),
        };
        if !world.network.is_empty() {
            self.symmetry = None;
            self.known.placing = None;
        }
        self.forget(&mut world);
        self.forget_told(&mut judge);
        let mut fields = Vec::new();
        self.number_parts(&world, operator, &mut fields);
        fields[JUDGE] = self.number_judge(judge);
        fields
    }

    fn number_parts(&mut self, world: &World, operator: Operator, fields: &mut Vec<u32>) {
        fields.clear();
        fields.resize(STORES, 0);
        fields[DATABASE] = self.databases.number(world.database.clone());
        fields[GATEWAY] = self.gateways.number(world.gateway.clone());
        fields[OPERATOR] = self.operators.number(operator);
        fields[CLOCK] = self.clocks.number(world.now);
        fields[NETWORK] = self.networks.number(world.network.clone());
        for store in &world.stores {
            let number = self.stores.number(store.clone());
            fields.push(number);
        }
        for (place, client) in world.clients.iter().enumerate() {
            let number = self.clients.number((place, client.clone()));
            fields.push(number);
        }
        self.view_new_parts();
    }

    /// The largest number that each field can have until now.
    pub fn largest(&self) -> Vec<u32> {
        let mut largest = vec![0; STORES];
        largest[DATABASE] = self.databases.largest();
        largest[GATEWAY] = self.gateways.largest();
        largest[OPERATOR] = self.operators.largest();
        largest[CLOCK] = self.clocks.largest();
        largest[NETWORK] = self.networks.largest();
        largest[JUDGE] = self.judges.largest();
        largest.resize(self.clients_at(), self.stores.largest());
        largest.resize(largest.len() + self.client_count(), self.clients.largest());
        largest
    }

    fn number_judge(&mut self, judge: Judge) -> u32 {
        let number = self.judges.number(judge);
        if self.breaks.len() < self.judges.things.len() {
            self.breaks.push(2);
            if let (Some(symmetry), Some(placing)) = (&self.symmetry, &mut self.known.placing) {
                symmetry.see_judge(&self.judges.things[number as usize], placing);
            }
        }
        number
    }

    fn view_new_parts(&mut self) {
        for number in self.store_deadlines.len()..self.stores.things.len() {
            let store = &self.stores.things[number];
            let next = store
                .next_deadline()
                .map_or(u64::MAX, |remaining| remaining + 1);
            let keys = store.keys().filter_map(|(_, state)| state.remaining).min();
            let lapse = keys.map_or(u64::MAX, |remaining| remaining + 1);
            self.store_deadlines.push((next, lapse));
            self.store_waits.push(store.has_waits());
            if let (Some(symmetry), Some(placing)) = (&self.symmetry, &mut self.known.placing) {
                symmetry.see_store(&self.stores.things[number], placing);
            }
            let is_lapse = lapse <= next && self.bounds.lapses == 0;
            self.known.stores_age.push(next != u64::MAX && !is_lapse);
        }
        for number in self.database_deadlines.len()..self.databases.things.len() {
            let next = self.databases.things[number].next_deadline();
            self.database_deadlines.push(next.unwrap_or(u64::MAX));
            self.known.databases_age.push(next.is_some());
        }
        for number in self.views.len()..self.clients.things.len() {
            let (place, client) = self.clients.things[number].clone();
            let view = self.view_of(place, &client);
            self.known.clients.push(view.kind());
            self.views.push(view);
            if let (Some(symmetry), Some(placing)) = (&self.symmetry, &mut self.known.placing) {
                symmetry.see_client(place, &client, placing);
            }
        }
    }

    fn view_of(&self, place: usize, client: &Client) -> ClientView {
        let ready = match client.place {
            Place::Ready { step } if !client.console_waits => Some(step),
            _ => None,
        };
        let is_paused = client.paused_at().is_some();
        let step = ready.filter(|_| !is_paused);
        let request = step.and_then(|step| self.rules.request(place, step));
        let rounds = self.rules.setup.clients[place].rounds;
        ClientView {
            server: request.map(|request| match request {
                Request::Store(..) => Server::Store,
                Request::Database(_) => Server::Field(DATABASE),
                Request::Gateway(_) => Server::Field(GATEWAY),
                Request::CheckDeadline(_)
                | Request::Quorum { .. }
                | Request::Await(_)
                | Request::Sleep(_) => Server::None,
            }),
            is_sent: step.is_some_and(|step| self.rules.is_sent(place, step)),
            is_paused,
            runs: !client.is_over(),
            crashed: client.place == Place::Crashed,
            is_tired: client.attempt > rounds.saturating_add(self.bounds.attempts),
            wakes: client.next_wake().unwrap_or(u64::MAX),
            waits: matches!(client.place, Place::Blocked { .. }) || client.console_waits,
            counts_down: self.rules.checks_beliefs
                && client
                    .beliefs
                    .values()
                    .any(|belief| belief.remaining.is_some_and(|remaining| remaining > 0)),
        }
    }

    /// The world that these fields stand for.
    pub fn world(&self, fields: &[u32]) -> World {
        let stores = self.stores_of(fields).iter();
        let clients = self.clients_of(fields);
        World {
            now: *self.clocks.get(fields[CLOCK]),
            stores: stores
                .map(|number| self.stores.get(*number).clone())
                .collect(),
            database: self.databases.get(fields[DATABASE]).clone(),
            gateway: self.gateways.get(fields[GATEWAY]).clone(),
            clients: clients
                .iter()
                .map(|number| self.clients.get(*number).1.clone())
                .collect(),
            network: self.networks.get(fields[NETWORK]).clone(),
        }
    }

    /// How many messages are under way.
    pub fn under_way(&self, fields: &[u32]) -> usize {
        self.networks.get(fields[NETWORK]).len()
    }

    /// What the operator has read.
    pub fn operator(&self, fields: &[u32]) -> Operator {
        *self.operators.get(fields[OPERATOR])
    }

    /// Forgets what nothing in the scenario can ever read.
    pub fn forget(&self, world: &mut World) {
        if !self.reads.clock {
            world.now = 0;
            // How far clocks have jumped only matters between servers that have something of each other.
            if let [store] = &mut world.stores[..] {
                store.forget_clock();
            }
        }
        world
            .database
            .forget_unread(!self.reads.row_count, !self.reads.last_insert_id);
        for (place, client) in world.clients.iter_mut().enumerate() {
            if self
                .reads
                .has_to_forget(place, client, &self.rules, &self.bounds)
            {
                self.reads
                    .forget(place, Arc::make_mut(client), &self.rules, &self.bounds);
            }
        }
    }

    fn forget_told(&self, judge: &mut Judge) {
        if let Goal::Breaks(properties) = &self.goal {
            judge.remember_only(properties);
        } else {
            judge.remember_only(&[]);
        }
    }

    // Views.

    /// What is known of a client.
    pub fn view(&self, number: u32) -> &ClientView {
        &self.views[number as usize]
    }

    /// Milliseconds until time alone does something, and whether a key lapses then; `None` when nothing will.
    pub fn next_deadline(&self, fields: &[u32]) -> Option<(u64, bool)> {
        let mut next = self.database_deadlines[fields[DATABASE] as usize];
        let mut lapse = u64::MAX;
        for number in self.stores_of(fields) {
            let (store, key) = self.store_deadlines[*number as usize];
            next = next.min(store);
            lapse = lapse.min(key);
        }
        for number in self.clients_of(fields) {
            next = next.min(self.views[*number as usize].wakes);
        }
        (next != u64::MAX).then_some((next, lapse <= next))
    }

    /// Whether a belief ends before time does anything else.
    pub fn belief_ends_first(&self, fields: &[u32]) -> bool {
        let clients = self.clients_of(fields);
        let counts_down = |number: &u32| self.views[*number as usize].counts_down;
        clients.iter().any(counts_down) && next_end_of_belief(&self.world(fields)).is_some()
    }

    // Moves.

    /// What a move does in the world of these fields, as the number of its effect among the known ones; `None` where it is not possible.
    pub fn apply(&mut self, chosen: Move, fields: &[u32], shifts: u32) -> Option<u32> {
        let pair = self.pair(chosen, fields);
        let known = match pair {
            Some((row, column)) => self.known.moves.get(row, column),
            None => None,
        };
        match known {
            Some(NOT_POSSIBLE) => None,
            Some(effect) if effect != WIDE => Some(effect),
            _ => self.apply_slowly(chosen, fields, shifts, pair, known),
        }
    }

    /// What two numbers do not say.
    fn apply_slowly(
        &mut self,
        chosen: Move,
        fields: &[u32],
        shifts: u32,
        pair: Option<(u32, u32)>,
        known: Option<u32>,
    ) -> Option<u32> {
        if let Move::Time(kind) = chosen
            && let Some(found) = self.pass_time(kind, fields)
        {
            return Some(found);
        }
        match known.unwrap_or_else(|| self.apply_anew(chosen, fields, shifts, pair)) {
            WIDE => self.apply_widely(chosen, fields, shifts),
            NOT_POSSIBLE => None,
            found => Some(found),
        }
    }

    /// What a move reads, where it is no more than two numbers, as a row and a column: the client, which only does one step, and
    /// the server; or the store and what happens to one of its keys.
    fn pair(&self, chosen: Move, fields: &[u32]) -> Option<(u32, u32)> {
        if !self.has_pairs || fields[NETWORK] != 0 {
            return None;
        }
        match chosen {
            Move::Step(client) => {
                let client = fields[self.clients_at() + client];
                let server = match self.views[client as usize].server? {
                    Server::Store => fields[STORES],
                    Server::Field(field) => fields[field],
                    Server::None => 0,
                };
                Some(Known::step(client, server))
            }
            other => Some(Known::strike(fields[STORES], Parts::column(other)?)),
        }
    }

    /// The column in the table of moves of one that reads the store and nothing else.
    pub fn column(strike: Move) -> Option<u32> {
        match strike {
            Move::Expire(key) => Some(key as u32 * 3),
            Move::Wipe(key) => Some(key as u32 * 3 + 1),
            Move::Evict(key) => Some(key as u32 * 3 + 2),
            _ => None,
        }
    }

    /// Whether two numbers can say what every step does.
    pub fn has_pairs(&self) -> bool {
        self.has_pairs
    }

    fn apply_anew(
        &mut self,
        chosen: Move,
        fields: &[u32],
        shifts: u32,
        pair: Option<(u32, u32)>,
    ) -> u32 {
        let Some(mut narrow) = self.read_by(chosen, fields) else {
            return WIDE;
        };
        if let Some((row, column)) = pair {
            narrow.retain(|field| *field != NETWORK);
            let found = self.compute(chosen, fields, shifts, Some(&narrow));
            self.known.moves.put(row, column, found);
            return found;
        }
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        key.push(u32::from(chosen.code()));
        key.extend(narrow.iter().map(|field| fields[*field]));
        let found = self.moves.get(&key).unwrap_or_else(|| {
            let found = self.compute(chosen, fields, shifts, Some(&narrow));
            self.moves.put(&key, found);
            found
        });
        self.key = key;
        found
    }

    // Time.

    /// Lets time pass for each part by itself, where nothing waits for anything but time; else it is a move like any other. What
    /// it does stands in the first effect until the next time.
    fn pass_time(&mut self, kind: usize, fields: &[u32]) -> Option<u32> {
        let waits = |number: &u32| self.views[*number as usize].waits;
        let store_waits = |number: &u32| self.store_waits[*number as usize];
        let is_simple = self.store_count == 1
            && fields[NETWORK] == 0
            && self.database_deadlines[fields[DATABASE] as usize] == u64::MAX
            && !self.clients_of(fields).iter().any(waits)
            && !self.stores_of(fields).iter().any(store_waits);
        if !is_simple {
            return None;
        }
        let milliseconds = match kind {
            0 => self.next_deadline(fields)?.0,
            _ => next_end_of_belief(&self.world(fields))?,
        };
        let short = u32::try_from(milliseconds).ok()?;
        let mut changes = std::mem::take(&mut self.known.time_changes);
        changes.clear();
        let mut told = std::mem::take(&mut self.key);
        told.clear();
        let parts = self.clients_at() + self.client_count();
        for (field, number) in fields.iter().enumerate().take(parts).skip(STORES) {
            let (after, tells) = self.aged(field, *number, short);
            if after != *number {
                changes.push(Change {
                    field: field as u32,
                    from: *number,
                    to: after,
                });
            }
            if tells != 0 {
                told.push(tells);
            }
        }
        if self.reads.clock {
            let now = *self.clocks.get(fields[CLOCK]) + milliseconds;
            changes.push(Change {
                field: CLOCK as u32,
                from: fields[CLOCK],
                to: self.clocks.number(now),
            });
        }
        let told_together = self.told_together(&told);
        self.key = told;
        self.known.time_changes = changes;
        self.known.effects[0] = Effect {
            told: told_together,
            actions: 1,
            ..Effect::default()
        };
        Some(0)
    }

    /// What becomes of a store or a client when time passes, and what that tells.
    fn aged(&mut self, field: usize, number: u32, milliseconds: u32) -> (u32, u32) {
        let is_store = field < self.clients_at();
        let memo = if is_store {
            &self.store_times
        } else {
            &self.client_times
        };
        if let Some(place) = memo.get(number, milliseconds) {
            return self.aged[place as usize];
        }
        let (after, tells) = self.age(field, number, milliseconds);
        let place = self.aged.len() as u32;
        self.aged.push((after, tells));
        let memo = if is_store {
            &mut self.store_times
        } else {
            &mut self.client_times
        };
        memo.put(number, milliseconds, place);
        (after, tells)
    }

    /// Lets time pass in a world in which it changes nothing but this part.
    fn age(&mut self, field: usize, number: u32, milliseconds: u32) -> (u32, u32) {
        let inert = |declaration| Arc::new(Client::new(declaration));
        let clients_at = self.clients_at();
        let mut world = World {
            now: 0,
            stores: vec![Store::default(); self.store_count],
            database: Database::default(),
            gateway: Gateway::default(),
            clients: self.setup().clients.iter().map(inert).collect(),
            network: Vec::new(),
        };
        match field.checked_sub(clients_at) {
            None => world.stores[field - STORES] = self.stores.get(number).clone(),
            Some(place) => world.clients[place] = self.clients.get(number).1.clone(),
        }
        let milliseconds = u64::from(milliseconds);
        let action = Action::Advance { milliseconds };
        let (mut after, events) = step(self.setup(), &world, &action);
        self.forget(&mut after);
        let tells = self.number_told(vec![events], &after);
        let number = match field.checked_sub(clients_at) {
            None => self.stores.number(after.stores[field - STORES].clone()),
            Some(place) => self.clients.number((place, after.clients[place].clone())),
        };
        self.view_new_parts();
        (number, tells)
    }

    /// The number of what several parts tell, in their order.
    fn told_together(&mut self, told: &[u32]) -> u32 {
        match told {
            [] => 0,
            [one] => *one,
            several => {
                if let Some(known) = self.together.get(several) {
                    return known;
                }
                let parts = several.iter().map(|told| self.told.get(*told));
                let events = parts.flatten().flatten().cloned().collect();
                let number = self.told.number(vec![events]);
                if self.after.len() <= number as usize {
                    self.after.push(self.after[several[0] as usize].clone());
                }
                self.together.put(several, number);
                number
            }
        }
    }

    /// The same by all parts of the world.
    fn apply_widely(&mut self, chosen: Move, fields: &[u32], shifts: u32) -> Option<u32> {
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        key.push(u32::from(chosen.code()));
        key.push(shifts);
        key.extend_from_slice(&fields[..JUDGE]);
        key.extend_from_slice(self.stores_of(fields));
        key.extend_from_slice(self.clients_of(fields));
        let found = self.moves.get(&key).unwrap_or_else(|| {
            let found = self.compute(chosen, fields, shifts, None);
            self.moves.put(&key, found);
            found
        });
        self.key = key;
        (found != NOT_POSSIBLE).then_some(found)
    }

    /// The fields that a move reads and changes; `None`: all of them.
    fn read_by(&self, chosen: Move, fields: &[u32]) -> Option<Vec<usize>> {
        let stores = STORES..STORES + self.store_count;
        let clients = self.clients_at();
        let mut read = match chosen {
            Move::Step(client)
            | Move::Lose(client)
            | Move::LoseRequest(client)
            | Move::DelayRequest(client)
            | Move::DelayReply(client) => {
                let mut read = vec![clients + client];
                match self.views[fields[clients + client] as usize].server? {
                    Server::Store => read.extend(stores),
                    Server::Field(field) => read.push(field),
                    Server::None => {}
                }
                read
            }
            Move::Resume(client) | Move::Restart(client) => vec![clients + client],
            Move::Crash(client) => {
                let mut read = vec![clients + client, DATABASE];
                read.extend(stores);
                read
            }
            Move::Expire(_) | Move::Wipe(_) | Move::Evict(_) => stores.collect(),
            Move::Jump(index) => match self.rules.clocks.get(index / JUMPS)? {
                ClockOf::Server(_) => stores.collect(),
                ClockOf::Client(client) => vec![clients + client.0],
                ClockOf::Database => return None,
            },
            Move::ReseedRead(_) => vec![DATABASE, OPERATOR],
            Move::ReseedWrite => {
                let mut read = vec![OPERATOR];
                read.extend(stores);
                read
            }
            Move::Time(_)
            | Move::Shift(_)
            | Move::Deliver(_)
            | Move::CrashServer(_)
            | Move::RestartServer(_)
            | Move::Replicate(_)
            | Move::Failover(_) => return None,
        };
        read.push(NETWORK);
        if self.reads.clock {
            read.push(CLOCK);
        }
        Some(read)
    }

    fn compute(
        &mut self,
        chosen: Move,
        fields: &[u32],
        shifts: u32,
        narrow: Option<&[usize]>,
    ) -> u32 {
        let before = self.world(fields);
        let operator = self.operator(fields);
        let Some(actions) = self.rules.actions(chosen, &before, operator, shifts) else {
            return NOT_POSSIBLE;
        };
        let mut world = before;
        let mut events = Vec::new();
        for action in &actions {
            let (next, happened) = step(self.setup(), &world, action);
            world = next;
            events.push(happened);
        }
        let refused = |event: &Event| matches!(event.fact, Fact::Refused { .. });
        if events.iter().flatten().any(refused) {
            return NOT_POSSIBLE;
        }
        let operator = after_operator(chosen, operator, events.iter().flatten());
        self.forget(&mut world);
        let mut changed = Vec::new();
        self.number_parts(&world, operator, &mut changed);
        let changes: Vec<Change> = changed
            .iter()
            .enumerate()
            .filter(|(field, number)| *field != JUDGE && **number != fields[*field])
            .map(|(field, number)| Change {
                field: field as u32,
                from: fields[field],
                to: *number,
            })
            .collect();
        if let Some(narrow) = narrow {
            let is_beyond = |change: &Change| !narrow.contains(&(change.field as usize));
            let reaches_further = changes.iter().any(is_beyond);
            if reaches_further || answers_others(&actions, &events) {
                return WIDE;
            }
        }
        if let Move::Step(client) = chosen
            && !self.is_the_same_elsewhere(client, fields, &changed, narrow.is_some())
        {
            self.fail_symmetry();
        }
        let told = self.number_told(events, &world);
        self.known.effects.push(Effect {
            first: self.known.changes.len() as u32,
            count: changes.len() as u16,
            actions: actions.len() as u16,
            told,
        });
        self.known.changes.extend(changes);
        self.known.effects.len() as u32 - 1
    }

    fn number_told(&mut self, events: Vec<Vec<Event>>, world: &World) -> u32 {
        let Goal::Breaks(properties) = &self.goal else {
            return 0;
        };
        let setup = &self.rules.setup;
        let heard = |event: &Event| {
            let fact = Judge::hears(setup, &world.database, properties, &event.fact)?;
            Some(Event { at: 0, fact })
        };
        let told: Vec<Vec<Event>> = events
            .iter()
            .map(|happened| happened.iter().filter_map(heard).collect())
            .collect();
        if told.iter().all(Vec::is_empty) {
            return 0;
        }
        let number = self.told.number(told);
        if self.after.len() <= number as usize {
            self.after.push(Some(world.clone()));
        }
        number
    }

    // Places.

    /// Whether clients that were taken for interchangeable are not.
    pub fn symmetry_failed(&self) -> bool {
        self.symmetry
            .as_ref()
            .is_some_and(|symmetry| symmetry.failed)
    }

    fn fail_symmetry(&mut self) {
        if let Some(symmetry) = &mut self.symmetry {
            symmetry.failed = true;
        }
    }

    /// Puts clients into the places in which the world stands for all that differ in nothing else.
    pub fn place(&mut self, fields: &mut [u32]) {
        let Some(placing) = &self.known.placing else {
            return;
        };
        let way = placing.way_of(&self.known.places, fields);
        if way != 0 {
            self.place_by(way, fields);
            fields[JUDGE] = self.placed_judge(way, fields[JUDGE]);
        }
    }

    /// Puts clients into other places, but not in the judge's memory.
    fn place_by(&mut self, way: u32, fields: &mut [u32]) {
        for place in 0..self.client_count() {
            self.learn_client(way, place, fields[self.clients_at() + place]);
        }
        for number in self.stores_of(fields).to_vec() {
            self.learn_store(way, number);
        }
        if let Some(placing) = &self.known.placing {
            placing.place_by(way, &self.known.places, fields, &mut self.placed);
        }
    }

    fn learn_client(&mut self, way: u32, place: usize, number: u32) {
        let (Some(symmetry), Some(placing)) = (&mut self.symmetry, &mut self.known.placing) else {
            return;
        };
        if placing.clients.get(number, way).is_some() {
            return;
        }
        let to = placing.ways()[way as usize][place];
        let client = &self.clients.get(number).1;
        let placed = match symmetry.place_client(&placing.ways()[way as usize], client) {
            Some(client) => self.clients.number((to, Arc::new(client))),
            None => symmetry.fail(number),
        };
        placing.clients.put(number, way, placed);
        self.view_new_parts();
    }

    fn learn_store(&mut self, way: u32, number: u32) {
        let (Some(symmetry), Some(placing)) = (&mut self.symmetry, &mut self.known.placing) else {
            return;
        };
        if placing.stores.get(number, way).is_some() {
            return;
        }
        let store = self.stores.get(number);
        let placed = match symmetry.place_store(&placing.ways()[way as usize], store) {
            Some(store) => self.stores.number(store),
            None => symmetry.fail(number),
        };
        placing.stores.put(number, way, placed);
        self.view_new_parts();
    }

    fn placed_judge(&mut self, way: u32, number: u32) -> u32 {
        let (Some(symmetry), Some(placing)) = (&self.symmetry, &self.known.placing) else {
            return number;
        };
        if let Some(known) = placing.judges.get(number, way) {
            return known;
        }
        let judge = symmetry.place_judge(&placing.ways()[way as usize], self.judges.get(number));
        let placed = self.number_judge(judge);
        if let Some(placing) = &mut self.known.placing {
            placing.judges.put(number, way, placed);
        }
        placed
    }

    /// Whether a client's step did what it would do in every other place: by the command where values are opaque to it, else
    /// by trial. `after` are the fields that it led to.
    fn is_the_same_elsewhere(
        &mut self,
        client: usize,
        fields: &[u32],
        after: &[u32],
        is_narrow: bool,
    ) -> bool {
        let Some(symmetry) = &self.symmetry else {
            return true;
        };
        let is_name = |text: &[u8]| symmetry.is_name(text);
        let knows_nobody = self.databases.get(after[DATABASE]).knows_nobody(&is_name)
            && self.gateways.get(after[GATEWAY]).knows_nobody(&is_name);
        let state = &self.clients.get(fields[self.clients_at() + client]).1;
        let names_somebody = |variable: &str| match state.variables.get(variable) {
            Some(Text(text)) => is_name(text),
            _ => false,
        };
        let variable_of = |argument: &Argument| match argument {
            Argument::Variable(name) => names_somebody(name),
            _ => false,
        };
        let request = state
            .current_step()
            .and_then(|step| self.rules.request(client, step));
        let (is_wrong, needs_trial) = match request {
            Some(Request::Store(_, arguments)) => {
                let is_opaque = match arguments.first() {
                    Some(Argument::Literal(word)) => Symmetry::is_opaque(word),
                    _ => false,
                };
                (false, !is_opaque)
            }
            Some(Request::Database(Ok(statement))) => {
                let mut variables = statement.variables().iter();
                (variables.any(|name| names_somebody(name)), false)
            }
            Some(Request::Gateway(arguments)) => (arguments.iter().any(variable_of), false),
            _ => (false, false),
        };
        if !knows_nobody || is_wrong {
            return false;
        }
        if !needs_trial || (is_narrow && self.tried.get(&self.trial(client, fields)).is_some()) {
            return true;
        }
        let placing = self.known.placing.as_ref();
        let ways = placing.map_or(0, |placing| placing.ways().len()) as u32;
        (0..ways).all(|way| self.is_the_same_by(way, client, fields, after))
    }

    /// What a trial is of, where the step reads nothing but its client and the stores.
    fn trial(&self, client: usize, fields: &[u32]) -> Vec<u32> {
        let mut trial = vec![fields[self.clients_at() + client], fields[CLOCK]];
        trial.extend_from_slice(self.stores_of(fields));
        trial
    }

    fn is_the_same_by(&mut self, way: u32, client: usize, fields: &[u32], after: &[u32]) -> bool {
        let (mut before, mut expected) = (fields.to_vec(), after.to_vec());
        self.place_by(way, &mut before);
        self.place_by(way, &mut expected);
        let placing = self.known.placing.as_ref();
        let Some(to) = placing.map(|placing| placing.ways()[way as usize][client]) else {
            return true;
        };
        // A trial in one order of the clients tries all others.
        let trial = self.trial(to, &before);
        if self.tried.get(&trial).is_none() {
            self.tried.put(&trial, 0);
        }
        if way == 0 {
            return true;
        }
        let world = self.world(&before);
        let operator = self.operator(&before);
        let actions = self.rules.actions(Move::Step(to), &world, operator, 0);
        let Some([action]) = actions.as_deref() else {
            return false;
        };
        let mut world = step(self.setup(), &world, action).0;
        self.forget(&mut world);
        let mut got = Vec::new();
        self.number_parts(&world, operator, &mut got);
        got[..JUDGE] == expected[..JUDGE] && got[STORES..] == expected[STORES..got.len()]
    }

    // Judges.

    /// What the judge makes of what it is told.
    pub fn judge(&mut self, judge: u32, told: u32) -> u32 {
        if told == 0 {
            return judge;
        }
        match self.known.judged.get(judge, told) {
            Some(after) => after,
            None => self.judge_anew(judge, told),
        }
    }

    fn judge_anew(&mut self, before: u32, told: u32) -> u32 {
        let mut judge = self.judges.get(before).clone();
        if let Some(world) = &self.after[told as usize] {
            for events in self.told.get(told) {
                judge.observe(&self.rules.setup, 0, events, world);
            }
        }
        // A judge is only told anything where properties are asked for.
        if let Goal::Breaks(properties) = &self.goal {
            judge.remember_only_of_new(properties);
        }
        let after = self.number_judge(judge);
        self.known.judged.put(before, told, after);
        after
    }

    /// Whether the world of these fields is what the search looks for.
    pub fn is_goal(&mut self, fields: &[u32]) -> bool {
        match &self.goal {
            Goal::Breaks(_) => self.is_broken(fields[JUDGE]),
            Goal::Reach(_) => self.is_reached(fields),
        }
    }

    /// Whether a judge has seen the goal, where the judge alone decides; `None` where other parts do.
    pub fn judge_decides(&mut self, judge: u32) -> Option<bool> {
        match &self.goal {
            Goal::Breaks(_) => Some(self.is_broken(judge)),
            Goal::Reach(_) => None,
        }
    }

    fn is_broken(&mut self, judge: u32) -> bool {
        match self.breaks[judge as usize] {
            2 => self.look_at(judge),
            known => known == 1,
        }
    }

    fn look_at(&mut self, judge: u32) -> bool {
        let Goal::Breaks(properties) = &self.goal else {
            return false;
        };
        let breaks = self
            .judges
            .get(judge)
            .breaks_any(&self.rules.setup, properties);
        self.breaks[judge as usize] = u8::from(breaks);
        breaks
    }

    fn is_reached(&mut self, fields: &[u32]) -> bool {
        let Goal::Reach(expectations) = &self.goal else {
            return false;
        };
        for (place, expectation) in expectations.iter().enumerate() {
            let field = match check::part_of(expectation, &self.rules.setup) {
                check::Part::Store(server) => STORES + server.0,
                check::Part::Database => DATABASE,
                check::Part::Gateway => GATEWAY,
                check::Part::Client(client) => self.clients_at() + client,
            };
            let known = self.reached.get(place as u32, fields[field]);
            let reached = known.unwrap_or_else(|| {
                let world = self.world(fields);
                let setup = &self.rules.setup;
                u32::from(check::is_so(setup, &world, expectation))
            });
            if known.is_none() {
                self.reached.put(place as u32, fields[field], reached);
            }
            if reached == 0 {
                return false;
            }
        }
        true
    }

    /// Whether the budget of a move in these fields is one that the world decides: a jump of time that lapses a key.
    pub fn budget_of(&self, chosen: Move, fields: &[u32]) -> Option<Budget> {
        match chosen {
            Move::Time(0) => {
                let (_, lapses) = self.next_deadline(fields)?;
                lapses.then_some(Budget::Lapses)
            }
            other => other.budget(),
        }
    }

    /// Bytes of everything here, about.
    pub fn bytes(&self) -> usize {
        const THING: usize = 512;
        let things = self.stores.things.len()
            + self.databases.things.len()
            + self.clients.things.len()
            + self.judges.things.len()
            + self.told.things.len();
        things * THING + self.moves.bytes() + self.known.bytes()
    }
}

/// Whether somebody else than whoever acts was answered.
fn answers_others(actions: &[Action], events: &[Vec<Event>]) -> bool {
    let acting = actions.iter().find_map(|action| match action {
        Action::Step { client, .. }
        | Action::LoseReply { client, .. }
        | Action::LoseRequest { client, .. }
        | Action::Delay { client, .. }
        | Action::Resume { client, .. }
        | Action::Crash { client }
        | Action::Restart { client } => Some(Who::Client(*client)),
        Action::Command { who, .. } => Some(*who),
        _ => None,
    });
    events.iter().flatten().any(|event| match &event.fact {
        Fact::Answered { who, .. } => Some(*who) != acting,
        Fact::Saw { client, .. } => Some(Who::Client(ClientId(client.0))) != acting,
        _ => false,
    })
}

impl Parts {
    /// Counts, for a look at what a search costs.
    pub fn counts(&self) -> String {
        format!(
            "stores {} databases {} clients {} judges {} told {} effects {}",
            self.stores.things.len(),
            self.databases.things.len(),
            self.clients.things.len(),
            self.judges.things.len(),
            self.told.things.len(),
            self.known.effects.len()
        )
    }
}
