//! Who holds a lock in truth, who believes that they do, and three properties of that: at most one believer, only the owner
//! releases or prolongs, and every lock has a deadline.
//!
//! A lock is *taken* when a client's request makes its key appear, or puts a value of its own in place of another's. Each taking is
//! an [`Acquisition`], and newer and older go by the order of acquisitions alone. An acquisition is *live* while its key is
//! there; it *is a client's* from the taking until a request of that client deletes the key, its run ends, or it crashes.
//!
//! ```text
//! A takes        A's key lapses     B takes             A's run ends
//! ──┼─────────────────┼──────────────┼────────────────────┼──────▶
//!   A's acquisition:  live           not live             no longer A's
//! ```

use super::Property;
use super::findings::{Findings, Here};
use super::places::{Marks, Places};
use super::told::Told;
use crate::sim::action::{ClientId, ServerId, Who};
use crate::sim::store::{Cause, KeyState, find_command, quote_argument};
use crate::sim::time::in_words;
use crate::sorted::{SortedMap, SortedSet};

/// The place of a taking in the order of takings. Only the order counts: numbers are given anew as soon as nothing
/// can tell them apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Acquisition(pub u32);

/// What is remembered of one watched lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct LockMemory {
    live: Option<Lease>,
    /// On each server where a client's key is: whose it is.
    owners: SortedMap<ServerId, ClientId>,
    /// The servers that count: whoever has the majority of them has the lock.
    counting: Vec<ServerId>,
    current: SortedMap<ClientId, Acquisition>,
    believers: SortedSet<ClientId>,
    next: Acquisition,
    last_believer: Option<ClientId>,
    endings: Told<SortedMap<ClientId, Ending>>,
}

/// An acquisition whose key is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Lease {
    acquisition: Acquisition,
    owner: ClientId,
}

/// How a client's latest lease ended, and when.
#[derive(Clone, Debug)]
struct Ending {
    at: u64,
    how: How,
}

#[derive(Clone, Debug)]
enum How {
    Lapsed,
    ExpiredNow,
    ClockJumped,
    Evicted,
    FailedOver,
    Lost,
    Replaced(Option<Who>),
    Deleted(Option<Who>),
}

/// A change of the lock's key.
pub(super) struct KeyChange<'a> {
    pub server: ServerId,
    pub key: &'a [u8],
    /// Through whose request; `None`: time or a fault.
    pub who: Option<Who>,
    pub before: Option<&'a KeyState>,
    pub after: Option<&'a KeyState>,
    pub cause: Cause,
}

/// A client that holds, or held, the lock when it wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Holder {
    pub client: ClientId,
    pub acquisition: Acquisition,
    /// Whether its key was there.
    pub live: bool,
}

impl LockMemory {
    /// Judges a change of the lock's key and remembers it. Gives the client that took the lock by it.
    pub fn key_changed(
        &mut self,
        here: Here<'_>,
        findings: &mut Findings,
        change: &KeyChange<'_>,
    ) -> Option<ClientId> {
        let server = change.server;
        if change.cause == Cause::Replicated {
            self.replicated(here, change);
            return self.settle(here, How::Lost);
        }
        let Some(Who::Client(client)) = change.who else {
            self.changed_from_outside(here, change);
            return None;
        };
        let Some(before) = change.before else {
            change.after?;
            self.owners.insert(server, client);
            return self.settle(here, How::Lost);
        };
        self.judge_owner(here, findings, client, change);
        let Some(after) = change.after else {
            let was_own = self.owners.remove(&server) == Some(client);
            let was_live = self.live.is_some();
            self.settle(here, How::Deleted(change.who));
            let ended = was_live && self.live.is_none();
            if self.counting.len() < 2 || (was_own && ended) {
                self.current.remove(&client);
            }
            return None;
        };
        let owns_it = self.owners.get(&server) == Some(&client);
        let has_majority = self.live.is_none_or(|lease| lease.owner == client);
        let is_current = self
            .live
            .is_none_or(|lease| self.current.get(&client) == Some(&lease.acquisition));
        let is_own = owns_it && has_majority && is_current;
        if is_own || before.value == after.value {
            return None;
        }
        self.owners.remove(&server);
        self.settle(here, How::Replaced(change.who));
        self.owners.insert(server, client);
        self.settle(here, How::Lost)
    }

    /// A replica has what its primary has, or had: whose it is.
    fn replicated(&mut self, here: Here<'_>, change: &KeyChange<'_>) {
        let group = here.setup.group_of(change.server);
        let mut counting = self.counting.iter();
        let primary = counting.find(|server| here.setup.group_of(**server) == group);
        let owner = match (change.after, change.who) {
            (None, _) => None,
            (Some(_), Some(Who::Client(client))) => Some(client),
            (Some(_), Some(Who::Operator)) => None,
            (Some(_), None) => primary.and_then(|primary| self.owners.get(primary).copied()),
        };
        match owner {
            Some(client) => self.owners.insert(change.server, client),
            None => self.owners.remove(&change.server),
        };
    }

    /// The lock is taken on these servers.
    pub fn set_servers(&mut self, servers: Vec<ServerId>) {
        self.counting = servers;
    }

    /// Another server counts in place of one. What it has not, the lock has not.
    pub fn failed_over(&mut self, here: Here<'_>, from: ServerId, to: ServerId) {
        for server in &mut self.counting {
            if *server == from {
                *server = to;
            }
        }
        self.settle(here, How::FailedOver);
    }

    /// Whoever has the majority of the servers has the lock. Gives the client that took it now.
    fn settle(&mut self, here: Here<'_>, how: How) -> Option<ClientId> {
        let majority = self.counting.len() / 2 + 1;
        let has_majority = |client: ClientId| {
            let owned = self
                .counting
                .iter()
                .filter(|server| self.owners.get(server) == Some(&client));
            owned.count() >= majority
        };
        let holder = self
            .owners
            .values()
            .copied()
            .find(|client| has_majority(*client));
        match (self.live, holder) {
            (Some(lease), holder) if holder == Some(lease.owner) => None,
            (_, holder) => {
                self.end_live(here, how);
                holder.map(|client| self.take(client))
            }
        }
    }

    /// Time, a fault or somebody from outside changed the key: no client's doing.
    fn changed_from_outside(&mut self, here: Here<'_>, change: &KeyChange<'_>) {
        let how = match (change.before, change.after) {
            (_, None) => match change.cause {
                Cause::Command(_) => How::Deleted(change.who),
                Cause::Lapse => How::Lapsed,
                Cause::ClockJump => How::ClockJumped,
                Cause::Evicted => How::Evicted,
                Cause::ExpiredNow => How::ExpiredNow,
                Cause::Wiped | Cause::DataLost | Cause::Replicated => How::Lost,
            },
            (Some(before), Some(after)) if before.value == after.value => return,
            (_, Some(_)) => How::Replaced(change.who),
        };
        self.owners.remove(&change.server);
        self.settle(here, how);
    }

    fn take(&mut self, client: ClientId) -> ClientId {
        self.next = Acquisition(self.next.0 + 1);
        let lease = Lease {
            acquisition: self.next,
            owner: client,
        };
        self.live = Some(lease);
        self.current.insert(client, lease.acquisition);
        self.endings.0.remove(&client);
        client
    }

    fn end_live(&mut self, here: Here<'_>, how: How) {
        let Some(lease) = self.live.take() else {
            return;
        };
        // A key goes one millisecond after its deadline, and the deadline is what people speak of.
        let at = match how {
            How::Lapsed => here.at.saturating_sub(1),
            _ => here.at,
        };
        self.endings.0.insert(lease.owner, Ending { at, how });
    }

    fn judge_owner(
        &self,
        here: Here<'_>,
        findings: &mut Findings,
        client: ClientId,
        change: &KeyChange<'_>,
    ) {
        let owner = self.owners.get(&change.server).copied();
        let Some(owner_id) = owner.filter(|owner| *owner != client) else {
            return;
        };
        let (name, owner) = (here.name(client), here.name(owner_id));
        let key = String::from_utf8_lossy(change.key);
        let command = match change.cause {
            Cause::Command(command) => command,
            _ => "request",
        };
        let same_value = match (change.before, change.after) {
            (Some(before), Some(after)) => before.value == after.value,
            _ => false,
        };
        let did = match (change.after, same_value) {
            (None, _) => format!("deleted {key}"),
            (Some(_), true) => format!("changed the deadline of {key}"),
            (Some(_), false) => format!("put a value of its own into {key}"),
        };
        let own = self
            .lease_end(here, client)
            .map_or(String::new(), |end| format!(": {name}'s own lease {end}"));
        let because = format!(
            "{name}'s {command} {did} at {}, and the lock was {owner}'s by then{own}.",
            here.time()
        );
        findings.broke(
            here,
            Property::OwnerOnly,
            vec![client, owner_id],
            Vec::new(),
            because,
        );
    }

    /// Clients change places.
    pub fn change_places(&mut self, places: Places<'_>) {
        if let Some(lease) = &mut self.live {
            lease.owner = places.client(lease.owner);
        }
        for owner in self.owners.values_mut() {
            *owner = places.client(*owner);
        }
        places.map(&mut self.current);
        places.set(&mut self.believers);
        self.last_believer = self.last_believer.map(|client| places.client(client));
        self.endings.0.clear();
    }

    /// Takes up what is remembered of a client.
    pub fn mark(&self, client: ClientId, marks: &mut Marks<'_>) {
        marks.add(self.live.map(|lease| lease.owner == client));
        for (server, owner) in self.owners.iter() {
            marks.add((*owner == client).then_some(server));
        }
        marks.add(self.current.get(&client));
        marks.add(self.believers.contains(&client));
    }

    /// Forgets the order of takings, or who believes, where nothing depends on it.
    pub fn remember_only(&mut self, order: bool, believers: bool) {
        if !order {
            self.live = None;
            self.owners.clear();
            self.current.clear();
            self.next = Acquisition::default();
        }
        if !believers {
            self.believers.clear();
        }
        self.last_believer = None;
    }

    /// A client's request ended. `left` is what it left of the lock's key, where it changed the key.
    pub fn request_ended(
        &self,
        here: Here<'_>,
        findings: &mut Findings,
        client: ClientId,
        key: &[u8],
        left: &KeyState,
    ) {
        let key = String::from_utf8_lossy(key);
        let name = here.name(client);
        match left.remaining {
            None => findings.broke(
                here,
                Property::LockHasDeadline,
                vec![client],
                Vec::new(),
                format!(
                    "{name}'s request at {} left {key} without a deadline: should {name} crash before it sets one, the lock stays \
                     for ever.",
                    here.time()
                ),
            ),
            Some(remaining) => findings.tested(Property::LockHasDeadline, || {
                format!("{name} took {key} and gave it a deadline of {} in one request.", in_words(remaining))
            }),
        }
    }

    /// A client's request named the lock's key and left it as it was. Such a request puts the owner's rights to the test
    /// when the lock is somebody else's, and the request neither only reads nor asks for the lock.
    pub fn request_left_it(
        &self,
        here: Here<'_>,
        findings: &mut Findings,
        client: ClientId,
        key: &[u8],
        text: &str,
    ) {
        let Some(lease) = self.live.filter(|lease| lease.owner != client) else {
            return;
        };
        let mut words = text.split_whitespace();
        let command = words.next().unwrap_or_default();
        let key_word = quote_argument(key);
        if only_reads(command) || !words.any(|word| word == key_word) {
            return;
        }
        findings.tested(Property::OwnerOnly, || {
            format!(
                "{}'s `{text}` found that the lock was {}'s, and left it alone.",
                here.name(client),
                here.name(lease.owner)
            )
        });
    }

    /// Whether the client believes that it holds the lock.
    pub fn believes(&self, client: ClientId) -> bool {
        self.believers.contains(&client)
    }

    /// A client began to believe that it holds the lock.
    pub fn believed(
        &mut self,
        here: Here<'_>,
        findings: &mut Findings,
        client: ClientId,
        key: &[u8],
    ) {
        let key = String::from_utf8_lossy(key);
        let name = here.name(client);
        let other = self.believers.iter().find(|other| **other != client);
        if let Some(&other) = other {
            let ended: Vec<String> = [other, client]
                .into_iter()
                .filter_map(|client| Some((client, self.lease_end(here, client)?)))
                .map(|(client, end)| format!("{}'s lease {end}", here.name(client)))
                .collect();
            let though = match ended.as_slice() {
                [] => String::new(),
                ended => format!(", though {}", ended.join(" and ")),
            };
            let because = format!(
                "From {} on both {} and {name} believed that they held {key}{though}.",
                here.time(),
                here.name(other)
            );
            findings.broke(
                here,
                Property::OneBeliever,
                vec![other, client],
                Vec::new(),
                because,
            );
        } else if let Some(last) = self.last_believer.filter(|last| *last != client) {
            findings.tested(Property::OneBeliever, || {
                format!(
                    "{name} came to believe that it holds {key} only after {} had stopped believing it.",
                    here.name(last)
                )
            });
        }
        self.believers.insert(client);
        self.last_believer = Some(client);
    }

    /// A client no longer believes that it holds the lock.
    pub fn belief_ended(&mut self, client: ClientId) {
        self.believers.remove(&client);
    }

    /// A client asked for the lock and did not get it.
    pub fn refused(&self, here: Here<'_>, findings: &mut Findings, client: ClientId, key: &[u8]) {
        let Some(&holder) = self.believers.iter().find(|other| **other != client) else {
            return;
        };
        findings.tested(Property::OneBeliever, || {
            format!(
                "{} asked for {} while {} held it, and was turned away.",
                here.name(client),
                String::from_utf8_lossy(key),
                here.name(holder)
            )
        });
    }

    /// A client's run ended, it crashed, or it begins anew: no acquisition is its own any more.
    pub fn run_over(&mut self, client: ClientId) {
        self.current.remove(&client);
    }

    /// The client's acquisition, if it has one.
    pub fn current(&self, client: ClientId) -> Option<Acquisition> {
        self.current.get(&client).copied()
    }

    /// The client as a holder of the lock, if it has an acquisition.
    pub fn holder(&self, client: ClientId) -> Option<Holder> {
        self.current(client).map(|acquisition| Holder {
            client,
            acquisition,
            live: self
                .live
                .is_some_and(|lease| lease.acquisition == acquisition),
        })
    }

    /// What somebody is now who was this when they sent a request that has been under way since: as a holder, and whether their
    /// lease is over.
    pub fn standing_since(&self, (sent, _): (Option<Holder>, bool)) -> (Option<Holder>, bool) {
        let holder = sent.map(|holder| Holder {
            live: self
                .live
                .is_some_and(|lease| lease.acquisition == holder.acquisition),
            ..holder
        });
        (holder, holder.is_some_and(|holder| !holder.live))
    }

    /// Whether the client believes that it holds the lock while it does not.
    pub fn is_stale(&self, client: ClientId) -> bool {
        self.believers.contains(&client) && !self.holder(client).is_some_and(|holder| holder.live)
    }

    /// How the client's latest lease ended: `had lapsed at 10 s`. `None` while it is live, and when it never had one.
    pub fn lease_end(&self, here: Here<'_>, client: ClientId) -> Option<String> {
        let ending = self.endings.0.get(&client)?;
        let at = in_words(ending.at);
        let by = |who: &Option<Who>| who.map_or("somebody", |who| here.who(who));
        Some(match &ending.how {
            How::Lapsed => format!("had lapsed at {at}"),
            How::ExpiredNow => format!("had been made to lapse at {at}"),
            How::ClockJumped => format!("had ended as the server's clock jumped at {at}"),
            How::Evicted => format!("had been evicted at {at}"),
            How::FailedOver => {
                format!("had been lost at {at}, when a replica took over that had not received it")
            }
            How::Lost => format!("had been lost at {at}"),
            How::Replaced(who) => format!("had been taken over by {} at {at}", by(who)),
            How::Deleted(Some(Who::Client(other))) if *other == client => {
                format!("had been given back at {at}")
            }
            How::Deleted(who) => format!("had been deleted by {} at {at}", by(who)),
        })
    }

    /// The acquisitions that may still be compared with others: the live one, and those that are a client's.
    pub fn acquisitions_in_play(&self) -> SortedSet<Acquisition> {
        let live = self.live.map(|lease| lease.acquisition);
        self.current.values().copied().chain(live).collect()
    }

    /// Whether the next acquisition will get this number.
    pub fn next_is(&self, next: Acquisition) -> bool {
        self.next == next
    }

    /// Gives every acquisition in play its new number.
    pub fn renumber(&mut self, next: Acquisition, new: impl Fn(Acquisition) -> Acquisition) {
        self.next = next;
        if let Some(lease) = &mut self.live {
            lease.acquisition = new(lease.acquisition);
        }
        for acquisition in self.current.values_mut() {
            *acquisition = new(*acquisition);
        }
    }
}

/// Whether the command cannot change a key.
fn only_reads(command: &str) -> bool {
    find_command(command.as_bytes()).is_some_and(|command| command.only_reads())
}
