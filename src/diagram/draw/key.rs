//! Keys that change: leases that begin and end, counters that hand out tokens or are lost.

use crate::diagram::part::{Ended, Holder, KeyMark, Kind, Lane, LeaseEnd, PartId};
use crate::diagram::{Slot, words};
use crate::sim::action::{ClientId, Who};
use crate::sim::store::{Cause, KeyState};

use super::Pen;
use super::token::token_made;

impl Pen<'_> {
    pub(super) fn key_changed(
        &mut self,
        who: Option<Who>,
        key: &[u8],
        before: Option<&KeyState>,
        after: Option<&KeyState>,
        cause: Cause,
    ) {
        if let Some(lock) = self.diagram.locks[..self.diagram.tracked]
            .iter()
            .position(|lock| lock == key)
        {
            return self.lock_changed(who, lock, before, after, cause);
        }
        let counter = self
            .diagram
            .counters
            .iter()
            .position(|counter| counter == key);
        if let (Some(counter), Some(Who::Client(client)), Some(token)) =
            (counter, who, token_made(after, cause))
        {
            return self.token_drawn(client, counter, token, before);
        }
        let how = match cause {
            Cause::Command(_) if counter.is_none() => return,
            Cause::Command(_) => KeyMark::Written,
            Cause::Lapse => KeyMark::Lapsed,
            Cause::ClockJump => KeyMark::ClockJumped,
            Cause::ExpiredNow => KeyMark::Expired,
            Cause::Wiped => KeyMark::Wiped,
            Cause::Evicted => KeyMark::Evicted,
            Cause::DataLost => KeyMark::DataLost,
            Cause::Replicated if counter.is_none() => return,
            Cause::Replicated => KeyMark::Replicated,
        };
        self.key_mark(who, key, counter.is_some(), how, after);
    }

    pub(super) fn key_mark(
        &mut self,
        who: Option<Who>,
        key: &[u8],
        counter: bool,
        how: KeyMark,
        after: Option<&KeyState>,
    ) {
        let key = String::from_utf8_lossy(key).into_owned();
        let value = after.map(words::value_in_short);
        let label = words::key(&key, how, value.as_deref());
        let causes = self.causes(who);
        let mark = self.mark(
            Lane::Store(self.server),
            Kind::Key {
                who,
                key,
                counter,
                how,
                value,
            },
            label,
            causes,
        );
        self.done.extend(who.map(|who| (who, mark)));
    }

    pub(super) fn lock_changed(
        &mut self,
        who: Option<Who>,
        lock: usize,
        before: Option<&KeyState>,
        after: Option<&KeyState>,
        cause: Cause,
    ) {
        let lease = self
            .diagram
            .open
            .get(&Slot::Lease(lock, self.server))
            .copied();
        match (lease, after) {
            (None, None) => {}
            (None, Some(after)) => self.begin_lease(lock, who, after),
            (Some(lease), None) => {
                let how = self.how_it_ended(lease, who, cause);
                self.end_lease(lock, who, how);
            }
            (Some(lease), Some(after)) if self.is_same_lease(lease, who, before, after) => {
                if before.map(|state| state.remaining) != Some(after.remaining) {
                    self.renewed(lock, lease, who, after);
                }
            }
            (Some(_), Some(after)) => {
                self.end_lease(
                    lock,
                    who,
                    LeaseEnd::OverwrittenBy(who.unwrap_or(Who::Operator)),
                );
                self.begin_lease(lock, who, after);
            }
        }
    }

    pub(super) fn begin_lease(&mut self, lock: usize, who: Option<Who>, state: &KeyState) {
        let holder = self.holder(who, state);
        let deadline = state
            .remaining
            .map(|remaining| self.at.saturating_add(remaining));
        let label = match holder {
            Holder::Client(client) => format!("leased to {}", words::client(self.setup, client)),
            Holder::Other => format!("leased to {}", words::value_in_short(state)),
        };
        let causes = self.causes(who);
        self.bar(
            Slot::Lease(lock, self.server),
            Lane::Store(self.server),
            Kind::Lease {
                lock,
                holder,
                deadline,
            },
            label,
            causes,
        );
        let lease = self
            .diagram
            .open
            .get(&Slot::Lease(lock, self.server))
            .copied();
        self.done.extend(who.zip(lease));
        self.unsettled.insert(lock);
    }

    pub(super) fn end_lease(&mut self, lock: usize, who: Option<Who>, how: LeaseEnd) {
        let Some(lease) = self.end_bar(Slot::Lease(lock, self.server), Ended::Lease(how)) else {
            return;
        };
        let holder = self.holder_of(lease);
        let mut causes = vec![lease];
        causes.extend(self.causes(who));
        let label = words::lease_end(self.setup, how, self.at);
        let mark = self.mark(
            Lane::Store(self.server),
            Kind::LeaseEnded { lock, holder, how },
            label,
            causes,
        );
        self.done.extend(who.map(|who| (who, mark)));
        self.ended.insert(lock, mark);
        self.unsettled.insert(lock);
    }

    pub(super) fn renewed(
        &mut self,
        lock: usize,
        lease: PartId,
        who: Option<Who>,
        state: &KeyState,
    ) {
        let deadline = state
            .remaining
            .map(|remaining| self.at.saturating_add(remaining));
        let mut causes = vec![lease];
        causes.extend(self.causes(who));
        let label = deadline.map_or("no deadline".to_string(), |until| {
            format!("until {}", crate::words::seconds(until))
        });
        let holder = self.holder_of(lease);
        let mark = self.mark(
            Lane::Store(self.server),
            Kind::Renewed {
                lock,
                holder,
                deadline,
            },
            label,
            causes,
        );
        self.done.extend(who.map(|who| (who, mark)));
    }

    pub(super) fn holder_of(&self, lease: PartId) -> Holder {
        match self.diagram.parts[lease.0 as usize].kind {
            Kind::Lease { holder, .. } => holder,
            _ => Holder::Other,
        }
    }

    /// Whom the store names: the client that wrote the key, else the one whose `{me}` its value is.
    pub(super) fn holder(&self, who: Option<Who>, state: &KeyState) -> Holder {
        if let Some(Who::Client(client)) = who {
            return Holder::Client(client);
        }
        let value = state
            .value
            .as_string()
            .and_then(|value| std::str::from_utf8(value).ok());
        let name = value
            .and_then(|value| value.rsplit_once('-'))
            .filter(|(_, attempt)| attempt.bytes().all(|byte| byte.is_ascii_digit()))
            .map(|(name, _)| name);
        let place = name.and_then(|name| {
            self.setup
                .clients
                .iter()
                .position(|client| client.name == name)
        });
        place.map_or(Holder::Other, |place| Holder::Client(ClientId(place)))
    }

    pub(super) fn is_same_lease(
        &self,
        lease: PartId,
        who: Option<Who>,
        before: Option<&KeyState>,
        after: &KeyState,
    ) -> bool {
        let same_value = before.is_some_and(|before| before.value == after.value);
        // A lock that counts how often its holder took it, in a hash, stays the same lease.
        let counts =
            after.value.as_string().is_none() && self.holder(who, after) == self.holder_of(lease);
        same_value || counts
    }

    pub(super) fn how_it_ended(&self, lease: PartId, who: Option<Who>, cause: Cause) -> LeaseEnd {
        match (cause, who) {
            (Cause::Lapse, _) => LeaseEnd::Lapsed,
            (Cause::ClockJump, _) => LeaseEnd::ClockJumped,
            (Cause::ExpiredNow, _) => LeaseEnd::Expired,
            (Cause::Wiped, _) => LeaseEnd::Wiped,
            (Cause::Evicted, _) => LeaseEnd::Evicted,
            (Cause::DataLost, _) => LeaseEnd::DataLost,
            (Cause::Replicated, _) => LeaseEnd::Replicated,
            (Cause::Command(_), Some(Who::Client(client)))
                if self.holder_of(lease) == Holder::Client(client) =>
            {
                LeaseEnd::Released
            }
            (Cause::Command(_), who) => LeaseEnd::DeletedBy(who.unwrap_or(Who::Operator)),
        }
    }
}
