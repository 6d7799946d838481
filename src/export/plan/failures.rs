//! Servers that crash, come back, lag and take over: in a test no server does, and its keys become what they would be.

use std::collections::{BTreeMap, BTreeSet};

use crate::export::Refusal;
use crate::sim::action::{Action, ClientId, ServerId, Who};
use crate::sim::client::protocol::{Argument, Request};
use crate::sim::event::{Answer, Fact, Server};
use crate::sim::store::reply::Reply;
use crate::sim::store::{KeyState, Value as StoreValue};
use crate::sim::world::connection_of;
use crate::timeline::{Entry, Timeline};

use super::Move;
use super::clocks::NEAREST;
use super::schedule::Builder;

impl<'a> Builder<'a> {
    /// A server is down from now on. In the test it goes on, and nobody asks it.
    pub(super) fn crash(&mut self, place: usize, server: ServerId) -> Result<(), Refusal> {
        let clients = (0..self.setup.clients.len()).map(|client| Who::Client(ClientId(client)));
        let mut everybody = clients.chain([Who::Operator]);
        if everybody.any(|who| self.begins_something(who)) {
            return self.refused(
                place,
                "a crash closes connections, and what was begun on them would go on in a test",
            );
        }
        let by_digest = |request: &Request| match request {
            Request::Store(_, arguments) => arguments
                .iter()
                .any(|argument| matches!(argument, Argument::ScriptSha(_))),
            _ => false,
        };
        if self.reading.requests().any(by_digest) {
            return self.refused(
                place,
                "a server forgets its scripts when it crashes, and a test's server keeps them",
            );
        }
        let name = self.setup.server_name(server);
        let remark = format!("{name} crashes: in this test, nobody asks it from now on.");
        self.act(
            Who::Operator,
            vec![Move::Remark(remark)],
            format!("{name} has crashed"),
        );
        Ok(())
    }

    /// A server is there again, without the keys that it has lost; a replica is as its primary is.
    pub(super) fn restart(&mut self, place: usize, server: ServerId, keeps_data: bool) {
        let name = self.setup.server_name(server);
        let after = self.timeline.moment(place + 1).world;
        let remark = match (after.store(server).is_replica(), keeps_data) {
            (true, _) => {
                format!("{name} is there again, as a replica, and has what its primary has.")
            }
            (false, true) => format!("{name} is there again."),
            (false, false) => format!("{name} is there again, without its data."),
        };
        let places = self.places.clone();
        let mut moves = self.as_it_becomes(place, &places);
        moves.insert(0, Move::Remark(remark));
        self.act(Who::Operator, moves, format!("{name} has come back"));
    }

    /// A replica receives what its primary has done.
    pub(super) fn replicate(&mut self, place: usize, to: ServerId) {
        let name = self.setup.server_name(to);
        let places = self.places.clone();
        let mut moves = self.as_it_becomes(place, &places);
        let remark = format!("{name} receives what its primary has done.");
        moves.insert(0, Move::Remark(remark));
        self.act(Who::Operator, moves, format!("{name} has caught up"));
    }

    /// A replica takes over: what it has is what the primary's connections find.
    pub(super) fn fail_over(
        &mut self,
        place: usize,
        entry: &Entry,
        to: ServerId,
    ) -> Result<(), Refusal> {
        let group = self.setup.group_of(to);
        let names_it = |request: &Request| match request {
            Request::Store(Some(server), _) => self.setup.group_of(*server) == group,
            _ => false,
        };
        let protocols = self.setup.protocols.iter();
        let mut steps = protocols.flat_map(|protocol| &protocol.steps);
        if steps.any(|step| names_it(&step.request)) {
            return self.refused(
                place,
                "a protocol names one of the servers that change places",
            );
        }
        let from = entry.events.iter().find_map(|event| match &event.fact {
            Fact::FailedOver { from, .. } => Some(*from),
            _ => None,
        });
        let from = from.unwrap_or(to);
        let mut places = self.places.clone();
        places.swap(from.0, to.0);
        let mut moves = self.as_it_becomes(place, &places);
        let (name, before) = (self.setup.server_name(to), self.setup.server_name(from));
        let [primary, replica] = [to, from].map(|server| &self.plan.servers[places[server.0]]);
        let remark = format!(
            "{name} takes over: the connections to the {primary} find from now on what it has, and those to {replica} what {before} has."
        );
        self.places = places;
        moves.insert(0, Move::Remark(remark));
        self.act(Who::Operator, moves, format!("{name} has taken over"));
        Ok(())
    }

    /// What makes the keys behind each connection what they are after an action, where the servers are at these places then.
    pub(super) fn as_it_becomes(&self, place: usize, places: &[usize]) -> Vec<Move<'a>> {
        let before = self.timeline.moment(place).world;
        let after = self.timeline.moment(place + 1).world;
        let mut moves = Vec::new();
        for at in 0..places.len() {
            let server_at = |places: &[usize]| places.iter().position(|other| *other == at);
            let (Some(old), Some(new)) = (server_at(&self.places), server_at(places)) else {
                continue;
            };
            for key in &self.plan.keys {
                let is = before.store(ServerId(old)).get(key);
                let becomes = after.store(ServerId(new)).get(key);
                if is != becomes {
                    let words = becomes.map_or_else(Vec::new, |state| made(key, &state));
                    let is_there = is.is_some() && words.len() != 1;
                    let delete = is_there.then(|| vec![b"DEL".to_vec(), key.clone()]);
                    let tell = |words: Vec<Vec<u8>>| {
                        let words = words.into_iter().map(Argument::Literal).collect();
                        Move::Tell(Request::Store(Some(ServerId(at)), words))
                    };
                    moves.extend(delete.into_iter().chain(words).map(tell));
                }
            }
        }
        moves
    }
}

/// The commands that make a key what it is, where it is not there.
pub(super) fn made(key: &[u8], state: &KeyState) -> Vec<Vec<Vec<u8>>> {
    let remaining = state.remaining.map(|remaining| remaining.max(NEAREST));
    let remaining = remaining.map(|remaining| remaining.to_string().into_bytes());
    let parts = state.value.parts().into_iter().map(|part| part.to_vec());
    let command = match &state.value {
        StoreValue::String(value) => {
            let mut words = vec![b"SET".to_vec(), key.to_vec(), value.to_vec()];
            words.extend(
                remaining
                    .into_iter()
                    .flat_map(|left| [b"PX".to_vec(), left]),
            );
            return vec![words];
        }
        StoreValue::List(_) => "RPUSH",
        StoreValue::Hash(_) => "HSET",
        StoreValue::Set(_) => "SADD",
        StoreValue::SortedSet(_) => "ZADD",
    };
    let mut words = vec![command.as_bytes().to_vec(), key.to_vec()];
    match &state.value {
        StoreValue::SortedSet(_) => {
            let parts: Vec<Vec<u8>> = parts.collect();
            words.extend(parts.chunks(2).flat_map(|pair| pair.iter().rev().cloned()));
        }
        _ => words.extend(parts),
    }
    let mut commands = vec![words];
    commands.extend(remaining.map(|left| vec![b"PEXPIRE".to_vec(), key.to_vec(), left]));
    commands
}

/// Whether an action is about what becomes of a server.
pub(super) fn is_of_server(action: &Action) -> bool {
    use Action::{CrashServer, Failover, Replicate, RestartServer};
    matches!(
        action,
        CrashServer { .. } | RestartServer { .. } | Replicate { .. } | Failover { .. }
    )
}

/// Whether a request asks how many replicas have what was written: in a test, no server is the replica of another.
pub(super) fn waits_for_replicas(request: &Request) -> bool {
    match request {
        Request::Store(_, arguments) => {
            matches!(arguments.first(), Some(Argument::Literal(word)) if word.eq_ignore_ascii_case(b"WAIT"))
        }
        _ => false,
    }
}

/// Whether a request is answered as only a replica or its primary does.
pub(super) fn asks_for_replicas(request: &Request, answer: &Answer) -> bool {
    let is_refused =
        matches!(answer, Answer::Store(Reply::Error(error)) if error.starts_with("READONLY"));
    is_refused || waits_for_replicas(request)
}

/// Who has sent something to which Redis.
pub(super) fn sent_to_store(entry: &Entry) -> Option<(Who, ServerId)> {
    entry.events.iter().find_map(|event| match &event.fact {
        Fact::Sent {
            who,
            server: Server::Store(server),
            ..
        } => Some((*who, *server)),
        _ => None,
    })
}

/// The places of what is typed in transactions in which a replica has refused a command: nothing of them is ever done, so that a
/// test can leave them out. One that watches keys would stop to do so.
pub(super) fn void_transactions(timeline: &Timeline) -> BTreeSet<usize> {
    let mut open: BTreeMap<(Who, ServerId), (Vec<usize>, bool)> = BTreeMap::new();
    let mut void = BTreeSet::new();
    for (place, entry) in timeline.entries().iter().enumerate() {
        let Action::Command { request, .. } = &entry.action else {
            continue;
        };
        let Some((who, server)) = sent_to_store(entry) else {
            continue;
        };
        let is = |word: &[u8]| {
            matches!(request, Request::Store(_, words)
                if matches!(words.first(), Some(Argument::Literal(name)) if name.eq_ignore_ascii_case(word)))
        };
        if is(b"MULTI") {
            let world = timeline.moment(place).world;
            let store = world.store(server);
            let connection = connection_of(who);
            if store.queued(connection).is_none() && store.watched(connection).0.is_empty() {
                open.insert((who, server), (Vec::new(), false));
            }
        }
        if let Some((places, is_refused)) = open.get_mut(&(who, server)) {
            places.push(place);
            *is_refused |= entry
                .answer()
                .is_some_and(|answer| asks_for_replicas(request, answer));
            if is(b"EXEC") || is(b"DISCARD") {
                let ended = open.remove(&(who, server));
                void.extend(ended.into_iter().filter(|it| it.1).flat_map(|it| it.0));
            }
        }
    }
    let ends = open.into_values().filter(|it| it.1);
    void.extend(ends.flat_map(|it| it.0));
    void
}
