//! Clients that run the same protocol may change places: worlds that differ in nothing else are one.
//!
//! What tells such clients apart is their names: `A-1` in one's variables and in the store, `B-1` in the other's. As long as names are
//! only ever compared, a world with A and B in each other's places goes on just as the world does. That is so by what the text
//! cannot do (no name of an attempt stands in it, none comes into a statement or a charge) and by trial: whatever a script does with
//! a store is done once more for every other way to place the clients, and has to come out as the same with names changed. Where
//! it does not, the search begins anew and tells all clients apart.

use std::hash::Hasher;

use super::bounds::{Bounds, Budget, Goal, Reduction};

use latchkey_kernel::{MOST_ALIKE, Mixer, Placing, Way, hash_of};

use crate::property::Judge;
use crate::sim::action::ClientId;
use crate::sim::client::Client;
use crate::sim::client::protocol::{Argument, Element, Pattern, Request};
use crate::sim::setup::Setup;
use crate::sim::store::Store;

/// The most ways to place clients.
const MOST_WAYS: usize = 24;

/// Commands to which values are opaque, or numbers.
const OPAQUE: [&str; 18] = [
    "SET", "SETNX", "SETEX", "PSETEX", "GET", "GETDEL", "DEL", "UNLINK", "EXISTS", "EXPIRE",
    "PEXPIRE", "PERSIST", "TTL", "PTTL", "INCR", "DECR", "INCRBY", "DECRBY",
];

/// Which clients may change places, and what that makes of parts.
pub(super) struct Symmetry {
    /// Clients that run the same, each class with at least two.
    classes: Vec<Vec<usize>>,
    names: Vec<Vec<u8>>,
    /// Whether something turned out to go by names.
    pub failed: bool,
}

impl Symmetry {
    /// The symmetry of a scenario, where there is any that can be used.
    pub fn of(setup: &Setup, bounds: &Bounds, goal: &Goal) -> Option<Symmetry> {
        // Messages name their clients, and what a step does after a shift is not tried in other places.
        let has_messages = [
            Budget::LateReplies,
            Budget::LateRequests,
            Budget::LostRequests,
            Budget::Shifts,
        ]
        .into_iter()
        .any(|budget| bounds.budget(budget) > 0);
        let names_clients = matches!(goal, Goal::Reach(_));
        if !bounds.uses(Reduction::Symmetry) || has_messages || names_clients {
            return None;
        }
        let mut classes = classes(setup);
        while ways_of(&classes) > MOST_WAYS {
            classes.pop();
        }
        let names = setup.clients.iter().map(|client| client.name.as_bytes());
        let symmetry = Symmetry {
            names: names.map(<[u8]>::to_vec).collect(),
            failed: false,
            classes,
        };
        if symmetry.classes.is_empty() || symmetry.names_stand_in(setup) {
            return None;
        }
        Some(symmetry)
    }

    /// The tables of places, with nothing in them yet.
    pub fn placing(&mut self) -> Placing {
        Placing::new(self.classes.clone(), self.all_ways())
    }

    /// Notes that something goes by names; a part that cannot be renamed stays what it is.
    pub fn fail(&mut self, number: u32) -> u32 {
        self.failed = true;
        number
    }

    fn all_ways(&self) -> Vec<Way> {
        let mut ways = vec![(0..self.names.len()).collect::<Way>()];
        for class in &self.classes {
            let mut orders = Vec::new();
            permute(&mut class.clone(), 0, &mut orders);
            crate::sorted::sort(&mut orders);
            ways = orders
                .iter()
                .flat_map(|order| {
                    ways.iter().map(move |way| {
                        let mut way = way.clone();
                        for (from, to) in class.iter().zip(order) {
                            way[*from] = *to;
                        }
                        way
                    })
                })
                .collect();
        }
        ways
    }

    /// The client whose name of an attempt this is, and the attempt.
    fn client_named<'n>(&self, name: &'n [u8]) -> Option<(usize, &'n [u8])> {
        let dash = name.iter().rposition(|byte| *byte == b'-')?;
        let (begin, attempt) = (&name[..dash], &name[dash + 1..]);
        let is_number = !attempt.is_empty() && attempt.iter().all(u8::is_ascii_digit);
        let mut members = self.classes.iter().flatten();
        let client = members.find(|client| self.names[**client] == begin)?;
        is_number.then_some((*client, attempt))
    }

    /// Whether a text is the name of some attempt.
    pub fn is_name(&self, text: &[u8]) -> bool {
        self.client_named(text).is_some()
    }

    fn renamed(&self, way: &[usize], name: &[u8]) -> Option<Vec<u8>> {
        let (client, attempt) = self.client_named(name)?;
        let mut renamed = self.names[way[client]].clone();
        renamed.push(b'-');
        renamed.extend_from_slice(attempt);
        Some(renamed)
    }

    /// Whether the name of an attempt may stand in the text, or come where values are not only compared.
    fn names_stand_in(&self, setup: &Setup) -> bool {
        let is_in = |text: &[u8]| {
            let mut words =
                text.split(|byte| !byte.is_ascii_alphanumeric() && !b"-_".contains(byte));
            words.any(|word| self.is_name(word))
        };
        let literal = |argument: &Argument| match argument {
            Argument::Literal(bytes) => is_in(bytes),
            _ => false,
        };
        let steps = || setup.protocols.iter().flat_map(|protocol| &protocol.steps);
        let patterns = steps().flat_map(|step| &step.clauses);
        let compares = patterns.into_iter().any(|clause| match &clause.pattern {
            Pattern::Text(text) => is_in(text),
            Pattern::Bind(elements) => elements
                .iter()
                .any(|element| matches!(element, Element::Text(text) if is_in(text))),
            _ => false,
        });
        let asks = steps().any(|step| match &step.request {
            Request::Store(_, arguments) | Request::Gateway(arguments) => {
                arguments.iter().any(literal)
            }
            Request::Database(Ok(statement)) => is_in(statement.text_with(&[]).as_bytes()),
            _ => false,
        });
        compares
            || asks
            || setup.scripts.values().any(|script| is_in(script))
            || setup
                .commands
                .iter()
                .flat_map(|(_, argv)| argv)
                .any(|word| is_in(word))
    }

    // Parts in other places.

    /// The store with clients in other places.
    pub fn place_store(&self, way: &[usize], store: &Store) -> Option<Store> {
        store.renamed(&|name| self.renamed(way, name))
    }

    /// The client with clients in other places.
    pub fn place_client(&self, way: &[usize], client: &Client) -> Option<Client> {
        client.renamed(&|name| self.renamed(way, name))
    }

    /// The judge with clients in other places.
    pub fn place_judge(&self, way: &[usize], judge: &Judge) -> Judge {
        judge.with_places(way)
    }

    // The way to the one world that stands for all.

    /// Looks at a client that has just been given the next number.
    pub fn see_client(&self, place: usize, client: &Client, placing: &mut Placing) {
        let class = self.classes.iter().find(|class| class.contains(&place));
        let shape = class.map_or(0, |class| {
            let mut way: Way = (0..self.names.len()).collect();
            way.swap(class[0], place);
            let renamed = client.renamed(&|name| self.renamed(&way, name));
            renamed.map_or(0, |client| hash_of(&client))
        });
        placing.shapes.push(shape);
    }

    /// Looks at a store that has just been given the next number.
    pub fn see_store(&self, store: &Store, placing: &mut Placing) {
        let first = placing.store_marks.len();
        placing.store_marks.resize(first + self.names.len(), 0);
        for (key, state) in store.keys() {
            let Some(value) = state.value.as_string() else {
                continue;
            };
            if let Some((client, attempt)) = self.client_named(value) {
                let mark = &mut placing.store_marks[first + client];
                *mark ^= hash_of(&(key, attempt)) | 1;
            }
        }
    }

    /// Looks at a judge that has just been given the next number.
    pub fn see_judge(&self, judge: &Judge, placing: &mut Placing) {
        for client in 0..self.names.len() {
            let mut mixer = Mixer::default();
            judge.mark(ClientId(client), &mut mixer);
            placing.judge_marks.push(mixer.finish());
        }
    }

    /// Whether values are opaque to this command, so that no trial is needed.
    pub fn is_opaque(command: &[u8]) -> bool {
        OPAQUE
            .iter()
            .any(|known| command.eq_ignore_ascii_case(known.as_bytes()))
    }
}

/// Clients that run the same protocol with the same parameters as often, by class.
fn classes(setup: &Setup) -> Vec<Vec<usize>> {
    let mut classes: Vec<Vec<usize>> = Vec::new();
    for (place, client) in setup.clients.iter().enumerate() {
        if client.protocol.is_none() {
            continue;
        }
        let is_alike = |class: &Vec<usize>| {
            let first = &setup.clients[class[0]];
            class.len() < MOST_ALIKE
                && (first.protocol, first.rounds) == (client.protocol, client.rounds)
                && first.parameters == client.parameters
        };
        match classes.iter_mut().find(|class| is_alike(class)) {
            Some(class) => class.push(place),
            None => classes.push(vec![place]),
        }
    }
    classes.retain(|class| class.len() > 1);
    classes
}

fn ways_of(classes: &[Vec<usize>]) -> usize {
    let orders = |class: &Vec<usize>| (1..=class.len()).product::<usize>();
    classes.iter().map(orders).product()
}

fn permute(order: &mut Vec<usize>, from: usize, all: &mut Vec<Vec<usize>>) {
    if from == order.len() {
        all.push(order.clone());
    }
    for place in from..order.len() {
        order.swap(from, place);
        permute(order, from + 1, all);
        order.swap(from, place);
    }
}
