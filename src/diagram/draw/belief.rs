//! What clients believe, and the gap between belief and lease.

use crate::diagram::part::{Ended, Holder, Kind, Lane};
use crate::diagram::{Slot, words};
use crate::sim::action::ClientId;
use crate::sim::event::BeliefEnd;

use super::Pen;

impl Pen<'_> {
    pub(super) fn believed(&mut self, client: ClientId, key: &[u8], until: Option<u64>) {
        let lock = self.diagram.lock(key);
        let causes = self.seen.get(&client).copied().into_iter().collect();
        let kind = Kind::Belief {
            client,
            lock,
            until,
        };
        self.bar(
            Slot::Belief(client, lock),
            Lane::Client(client),
            kind,
            "believes it holds",
            causes,
        );
        self.unsettled.insert(lock);
    }

    /// The client's clock gives the belief another deadline: the bar goes on as another one.
    pub(super) fn until_moved(&mut self, client: ClientId, key: &[u8], until: u64) {
        let lock = self.diagram.lock(key);
        let Some(belief) = self.end_bar(Slot::Belief(client, lock), Ended::ClockMoved) else {
            return;
        };
        let kind = Kind::Belief {
            client,
            lock,
            until: Some(until),
        };
        let causes = vec![belief];
        self.bar(
            Slot::Belief(client, lock),
            Lane::Client(client),
            kind,
            "",
            causes,
        );
    }

    pub(super) fn belief_ended(&mut self, client: ClientId, key: &[u8], why: BeliefEnd) {
        let lock = self.diagram.lock(key);
        let Some(belief) = self.end_bar(Slot::Belief(client, lock), Ended::Belief(why)) else {
            return;
        };
        self.unsettled.insert(lock);
        if why == BeliefEnd::Renewed {
            return;
        }
        let mut causes = vec![belief];
        causes.extend(self.seen.get(&client).copied());
        causes.extend(self.ended.get(&lock).copied());
        let kind = Kind::BeliefEnded { client, lock, why };
        self.mark(Lane::Client(client), kind, words::belief_end(why), causes);
    }

    /// Draws and ends the gaps of the locks that changed at this height.
    pub(super) fn settle(&mut self) {
        for lock in std::mem::take(&mut self.unsettled) {
            if lock >= self.diagram.tracked {
                continue;
            }
            let servers = self.diagram.counting[lock].clone();
            if servers.is_empty() {
                continue;
            }
            let holders: Vec<Holder> = servers
                .iter()
                .filter_map(|server| self.diagram.open.get(&Slot::Lease(lock, *server)))
                .map(|lease| self.holder_of(*lease))
                .collect();
            for client in (0..self.diagram.clients).map(ClientId) {
                let is_its = |holder: &&Holder| **holder == Holder::Client(client);
                let leases = holders.iter().filter(is_its).count();
                self.settle_client(client, lock, leases > servers.len() / 2);
            }
        }
    }

    pub(super) fn settle_client(&mut self, client: ClientId, lock: usize, leased: bool) {
        let belief = self.diagram.open.get(&Slot::Belief(client, lock)).copied();
        let slot = Slot::Gap(client, lock);
        let gap = self.diagram.open.contains_key(&slot);
        match (belief, leased, gap) {
            (Some(belief), false, false) => {
                let mut causes = vec![belief];
                causes.extend(self.ended.get(&lock).copied());
                self.bar(
                    slot,
                    Lane::Client(client),
                    Kind::Gap { client, lock },
                    "stale holder",
                    causes,
                );
            }
            (None, _, true) => {
                self.end_bar(slot, Ended::NoBelief);
            }
            (Some(_), true, true) => {
                self.end_bar(slot, Ended::LeasedAgain);
            }
            _ => {}
        }
    }
}
