//! Bounds by a name in plain words: what the page offers above the single ones.

use super::bounds::{Bounds, Budget};
use crate::sim::setup::Setup;

/// What may go wrong, by a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// No fault: the order of steps alone.
    Nothing,
    /// Two lapses.
    Leases,
    /// A lapse, and the loss of a counter, which the operator may seed again.
    Counter,
    /// Two faults of whatever kinds.
    Anything,
}

impl Preset {
    /// All of them, from the fewest faults on.
    pub const ALL: [Preset; 4] = [
        Preset::Nothing,
        Preset::Leases,
        Preset::Counter,
        Preset::Anything,
    ];

    /// What the page calls it.
    pub fn words(self) -> &'static str {
        match self {
            Preset::Nothing => "Nothing goes wrong",
            Preset::Leases => "Leases lapse",
            Preset::Counter => "The counter is lost",
            Preset::Anything => "Any two things go wrong",
        }
    }

    /// What that allows, in a sentence.
    pub fn explanation(self) -> &'static str {
        match self {
            Preset::Nothing => "Only the order of the clients' steps differs.",
            Preset::Leases => {
                "Time runs past the end of a lease twice, whatever its holder is doing."
            }
            Preset::Counter => {
                "A lease lapses, and the counter of the tokens is lost and perhaps seeded again."
            }
            Preset::Anything => {
                "Two faults of any kind: lapses, losses, crashes, messages, clocks. Takes longest."
            }
        }
    }

    /// Whether the scenario has what this loses.
    pub fn is_for(self, setup: &Setup) -> bool {
        self != Preset::Counter || setup.watches.iter().any(|watch| watch.counter.is_some())
    }

    /// The bounds with this in place of all budgets; the other limits stay.
    pub fn bounds(self, setup: &Setup, others: &Bounds) -> Bounds {
        let mut bounds = Bounds {
            steps: others.steps,
            attempts: others.attempts,
            worlds: others.worlds,
            bytes: others.bytes,
            without: others.without.clone(),
            ..Bounds::none()
        };
        match self {
            Preset::Nothing => {}
            Preset::Leases => bounds.lapses = 2,
            Preset::Counter => {
                let mut counters: Vec<Vec<u8>> = Vec::new();
                for counter in setup
                    .watches
                    .iter()
                    .filter_map(|watch| watch.counter.clone())
                {
                    if !counters.contains(&counter) {
                        counters.push(counter);
                    }
                }
                (bounds.lapses, bounds.wipes, bounds.reseeds) = (1, 1, 1);
                bounds.wiped_keys = counters;
            }
            Preset::Anything => {
                for budget in Budget::ALL.into_iter().filter(|budget| budget.is_fault()) {
                    *bounds.budget_mut(budget) = 1;
                }
                bounds.lapses = 2;
                bounds.faults = Some(2);
            }
        }
        bounds
    }
}
