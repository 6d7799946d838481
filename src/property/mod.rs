//! Named sentences over events, each with a verdict: holds, broken, or not yet put to the test.
//!
//! A property that nothing has tried to break is not green. Stock that never went negative says nothing about a fence that no
//! stale holder ever ran into; so every property says what puts it to the test, and what it still takes.
//!
//! ```text
//! events ──► Judge ──► lock ──► takings, leases, beliefs        one file for each group of properties
//!              │       token, fence, stock, charge
//!              ├─────► ledger: each write with its verdict
//!              └─────► verdicts, in the order of Property::ALL
//! ```

mod charge;
mod fence;
mod findings;
mod hearing;
mod judge;
mod ledger;
mod lock;
mod places;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod random;
mod shared;
mod stock;
#[cfg(test)]
mod tests;
mod token;
mod told;

use crate::sim::action::{ClientId, Who};
use crate::sim::setup::Setup;

pub use judge::Judge;

/// A named sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Property {
    /// At most one client believes that it holds the lock.
    OneBeliever,
    /// A stale write is never accepted after a newer holder's write.
    NoStaleWrite,
    /// Tokens come in the order in which locks were taken.
    TokensInOrder,
    /// A holder with a live lease is never rejected by the fence.
    LiveHolderNotFenced,
    /// Tokens are never handed out twice.
    TokensUnique,
    /// Only the owner releases or prolongs a lock.
    OwnerOnly,
    /// Every lock has a deadline.
    LockHasDeadline,
    /// Stock is never negative.
    StockNotNegative,
    /// Stock equals what was sold.
    StockEqualsSold,
    /// Nobody is charged for something they did not get.
    NoChargeForNothing,
    /// Nobody is charged twice.
    NoDoubleCharge,
    /// Everything sold is paid.
    SoldIsPaid,
}

impl Property {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Property; 12] = [
        Property::NoStaleWrite,
        Property::TokensInOrder,
        Property::TokensUnique,
        Property::LiveHolderNotFenced,
        Property::OneBeliever,
        Property::OwnerOnly,
        Property::LockHasDeadline,
        Property::StockNotNegative,
        Property::StockEqualsSold,
        Property::NoChargeForNothing,
        Property::NoDoubleCharge,
        Property::SoldIsPaid,
    ];

    /// The sentence, without a capital and a full stop; what the scenario text calls it.
    pub fn sentence(self) -> &'static str {
        match self {
            Property::OneBeliever => "at most one client believes that it holds the lock",
            Property::NoStaleWrite => {
                "a stale write is never accepted after a newer holder's write"
            }
            Property::TokensInOrder => "tokens come in the order in which locks were taken",
            Property::LiveHolderNotFenced => {
                "a holder with a live lease is never rejected by the fence"
            }
            Property::TokensUnique => "tokens are never handed out twice",
            Property::OwnerOnly => "only the owner releases or prolongs a lock",
            Property::LockHasDeadline => "every lock has a deadline",
            Property::StockNotNegative => "stock is never negative",
            Property::StockEqualsSold => "stock equals what was sold",
            Property::NoChargeForNothing => "nobody is charged for something they did not get",
            Property::NoDoubleCharge => "nobody is charged twice",
            Property::SoldIsPaid => "everything sold is paid",
        }
    }

    /// Whether a protocol that somebody runs claims it.
    pub fn is_claimed(self, setup: &Setup) -> bool {
        let run = setup.clients.iter().filter_map(|client| client.protocol);
        run.filter_map(|place| setup.protocols.get(place))
            .any(|protocol| protocol.claims.contains(&self))
    }

    /// Whether nobody claims it, as no lock with a deadline can keep it: a lease ends, and its holder still believes in it.
    pub fn is_unclaimed(self, setup: &Setup) -> bool {
        self == Property::OneBeliever && !self.is_claimed(setup)
    }

    /// The property that a text means: its sentence, or the beginning of it as long as only one sentence begins so. Capitals, a
    /// leading `a`, and a full stop, `…` or `...` at the end make no difference.
    ///
    /// # Errors
    ///
    /// The sentences that could be meant, when several begin so; all of them, when none does.
    pub fn named(text: &str) -> Result<Property, Vec<Property>> {
        let plain = |text: &str| {
            let text = text
                .trim()
                .trim_end_matches(['.', '…', ' '])
                .to_ascii_lowercase();
            text.strip_prefix("a ").unwrap_or(&text).to_string()
        };
        let wanted = plain(text);
        let all = Property::ALL;
        if let Some(property) = all
            .into_iter()
            .find(|property| plain(property.sentence()) == wanted)
        {
            return Ok(property);
        }
        let meant: Vec<Property> = all
            .into_iter()
            .filter(|property| {
                !wanted.is_empty() && plain(property.sentence()).starts_with(&wanted)
            })
            .collect();
        match meant.as_slice() {
            [property] => Ok(*property),
            [] => Err(all.to_vec()),
            _ => Err(meant),
        }
    }
}

/// What can be said of a property at a point of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It was put to the test, and held.
    Holds {
        /// What tested it, in a sentence.
        because: String,
    },
    /// It was broken, and stays so.
    Broken(Break),
    /// Nothing has happened that could have broken it.
    NotTested {
        /// What it would take, in a sentence; where a role is missing, which line to add.
        needs: String,
    },
}

/// How a property was broken, first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Break {
    /// Which property it breaks.
    pub property: Property,
    /// The place in the schedule of the action that did it, from 0.
    pub action: usize,
    /// When, in milliseconds since the start.
    pub at: u64,
    /// The clients involved, the one that did it first.
    pub clients: Vec<ClientId>,
    /// The tokens involved, in the order of the clients.
    pub tokens: Vec<i64>,
    /// What happened, in a sentence that a newcomer understands.
    pub because: String,
}

/// One write on a watched table, with its verdict, for the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// The place in the schedule of the action that did it, from 0.
    pub action: usize,
    /// When, in milliseconds since the start.
    pub at: u64,
    /// Who wrote.
    pub who: Who,
    /// The table.
    pub table: String,
    /// The row, by its key as the statement named it: `sku = 'sku-1'`.
    pub row: String,
    /// The token that was written into the fence column, or compared with it.
    pub token: Option<i64>,
    /// Whether a row was written.
    pub accepted: bool,
    /// Whether the writer believed that it holds the lock while it did not.
    pub stale: bool,
    /// Each condition of the WHERE by itself, on the row as it was.
    pub conditions: Vec<JudgedCondition>,
    /// Why the write was rejected; empty when it was accepted.
    pub reasons: Vec<Reason>,
    /// The verdict in a sentence.
    pub because: String,
}

/// One condition of a write, evaluated by itself on the row as it was.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JudgedCondition {
    /// As it was written, values filled in: `fence_token < 2`.
    pub text: String,
    /// What it is about.
    pub role: Role,
    /// What it says of the row; `None` is NULL.
    pub outcome: Option<bool>,
    /// What stood in the columns that it looks at: `1`, or `qty 0, reserved 2` where it looks at several.
    pub stood: String,
}

/// What a condition is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The column that remembers tokens.
    Fence,
    /// The column that counts stock.
    Stock,
    /// Anything else.
    Other,
}

/// Why a write was rejected.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// A stock condition did not hold.
    NoStock,
    /// A fence condition did not hold.
    Fenced,
    /// No row has this key.
    NoSuchRow,
    /// Another condition did not hold: its text.
    Condition(String),
    /// The database answered with an error: its text.
    Error(String),
}
