//! Clocks that go wrong: a server's or a client's jumps, a client's goes at another rate.

use super::Stage;
use crate::sim::action::{ClientId, ClockOf};
use crate::sim::database::DatabaseInput;
use crate::sim::event::Fact;
use crate::sim::store::StoreInput;

impl Stage<'_> {
    pub(super) fn clock_jumps(&mut self, clock: ClockOf, milliseconds: i64) {
        self.note(Fact::ClockJumped {
            clock,
            milliseconds,
        });
        match clock {
            ClockOf::Server(server) => {
                self.apply_to_store(None, server, StoreInput::ClockJump { ms: milliseconds });
            }
            ClockOf::Database => {
                let input = DatabaseInput::ClockJump { ms: milliseconds };
                let output = self.world.database.apply(input);
                self.after_database(None, output);
            }
            ClockOf::Client(client) => {
                self.change(client, |state| state.jump(milliseconds));
                self.deadlines_moved(client);
            }
        }
    }

    pub(super) fn set_clock_rate(&mut self, client: ClientId, permille: u32) {
        self.change(client, |state| state.clock.permille = permille);
        self.note(Fact::ClockRateSet { client, permille });
        self.deadlines_moved(client);
    }

    /// Tells the deadlines that the client's clock now gives its beliefs.
    fn deadlines_moved(&mut self, client: ClientId) {
        let Some(state) = self.world.client(client) else {
            return;
        };
        let moved: Vec<(Vec<u8>, u64)> = state
            .beliefs
            .iter()
            .filter_map(|(key, belief)| Some((key.clone(), self.time_of(client, belief.left()?))))
            .collect();
        for (key, until) in moved {
            self.note(Fact::UntilMoved { client, key, until });
        }
    }

    /// When the client's own clock will have gone on so far, in milliseconds since the start, or had, where that is negative.
    pub(super) fn time_of(&self, client: ClientId, left: i64) -> u64 {
        let now = self.world.now;
        match (u64::try_from(left), self.world.client(client)) {
            (Ok(left), Some(state)) => now.saturating_add(state.clock.time_for(left)),
            _ => now.saturating_sub(left.unsigned_abs()),
        }
    }
}
