//! Which variables of a client a later step may still read: a backward pass over each protocol.

use crate::sim::client::protocol::{Argument, Clause, Effect, Flow, Protocol, Request};
use crate::sim::client::{AfterSleep, Client, Place};
use crate::sim::setup::Setup;
use crate::sorted::SortedSet;

/// For each client, the variables that may be read from before each step on, and the same for a compensation.
pub(super) struct Liveness {
    /// By client: its protocol's steps, each with the variables that are alive before it.
    before: Vec<Vec<SortedSet<String>>>,
    /// By client and step: the variables that the step's clauses and what follows may read once the reply is there.
    after: Vec<Vec<SortedSet<String>>>,
}

impl Liveness {
    /// The variables of every client of a scenario.
    pub fn of(setup: &Setup) -> Liveness {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for client in &setup.clients {
            let protocol = client.protocol.and_then(|place| setup.protocols.get(place));
            let (own_before, own_after) = protocol.map(of_protocol).unwrap_or_default();
            before.push(own_before);
            after.push(own_after);
        }
        Liveness { before, after }
    }

    /// Whether the client may still read the variable.
    pub fn is_alive(&self, place: usize, client: &Client, name: &str) -> bool {
        let contains = |steps: &[Vec<SortedSet<String>>], step: usize| {
            steps
                .get(place)
                .and_then(|steps| steps.get(step))
                .is_none_or(|alive| alive.contains(name))
        };
        let now = match &client.place {
            Place::Ready { step }
            | Place::Sleeping {
                then: AfterSleep::Step(step),
                ..
            } => contains(&self.before, *step),
            Place::InFlight { step, .. }
            | Place::Blocked { step, .. }
            | Place::Sleeping {
                then: AfterSleep::Answer(step),
                ..
            } => contains(&self.after, *step),
            // A new attempt begins with its parameters alone.
            Place::Sleeping {
                then: AfterSleep::StartOver { .. },
                ..
            } => false,
            Place::ConsoleOnly | Place::Ended { .. } | Place::Crashed => false,
        };
        let later = client.compensation.iter().flatten();
        now || later.into_iter().any(|step| contains(&self.before, *step))
    }
}

type Alive = Vec<SortedSet<String>>;

fn of_protocol(protocol: &Protocol) -> (Alive, Alive) {
    let steps = protocol.steps.len();
    let mut before = vec![SortedSet::new(); steps];
    let mut after = vec![SortedSet::new(); steps];
    // Sets only grow, so that this ends after as many rounds as there are steps and variables.
    loop {
        let mut grew = false;
        for (place, step) in protocol.steps.iter().enumerate().rev() {
            let mut alive = after_reply(protocol, place, &before, None);
            for clause in &step.clauses {
                let follows = after_reply(protocol, place, &before, Some(clause));
                alive.extend(read_by_clause(clause, follows));
            }
            let mut all = alive.clone();
            all.extend(read_by_request(&step.request));
            grew |= after[place] != alive || before[place] != all;
            after[place] = alive;
            before[place] = all;
        }
        if !grew {
            return (before, after);
        }
    }
}

/// What is alive where a clause leads; without a clause, where a reply leads that none takes.
fn after_reply(
    protocol: &Protocol,
    place: usize,
    before: &Alive,
    clause: Option<&Clause>,
) -> SortedSet<String> {
    let targets: Vec<usize> = match clause.map(|clause| &clause.flow) {
        None | Some(Flow::Next) => protocol.following(Some(place)).into_iter().collect(),
        Some(Flow::Retry { .. }) => vec![place],
        Some(Flow::GoTo(step)) => vec![*step],
        Some(Flow::Abort(steps)) => steps.clone(),
        Some(Flow::StartOver { .. } | Flow::Stop | Flow::Done) => Vec::new(),
    };
    let sets = targets.iter().filter_map(|step| before.get(*step));
    sets.flatten().cloned().collect()
}

/// What a clause reads itself or leaves to be read, without what it binds first: a clause that binds takes only answers that give
/// each of its names a value.
fn read_by_clause(clause: &Clause, follows: SortedSet<String>) -> SortedSet<String> {
    let mut alive = follows;
    for effect in &clause.effects {
        match effect {
            Effect::Holds { key, milliseconds } => {
                alive.extend(variable(key));
                alive.extend(milliseconds.as_ref().and_then(variable));
            }
            Effect::Releases(key) | Effect::Loses(key) | Effect::Votes(key) => {
                alive.extend(variable(key))
            }
            Effect::Draws(name) => {
                alive.insert(name.clone());
            }
            Effect::Sells { order, .. } => alive.extend(order.as_ref().and_then(variable)),
        }
    }
    for name in clause.pattern.variables() {
        alive.remove(name);
    }
    if clause.pattern.names_me() {
        alive.insert("me".to_string());
    }
    alive
}

fn read_by_request(request: &Request) -> Vec<String> {
    match request {
        Request::Store(_, arguments) | Request::Gateway(arguments) => {
            arguments.iter().filter_map(variable).collect()
        }
        Request::Database(Ok(statement)) => statement.variables().to_vec(),
        Request::Database(Err(_)) => Vec::new(),
        Request::CheckDeadline(argument) | Request::Await(argument) | Request::Sleep(argument) => {
            variable(argument).into_iter().collect()
        }
        Request::Quorum {
            key, lease, drift, ..
        } => {
            let all = [Some(key), Some(lease), drift.as_ref()];
            all.into_iter().flatten().filter_map(variable).collect()
        }
    }
}

fn variable(argument: &Argument) -> Option<String> {
    match argument {
        Argument::Variable(name) => Some(name.clone()),
        _ => None,
    }
}
