//! Lock clients: they run a protocol step by step, and act on what they believe.
//!
//! A client knows only what its replies told it. Its belief that it holds a lock begins with the reply, and its deadline is
//! counted from the moment of sending, on its own clock; the belief goes on beyond that deadline until the client releases
//! the lock, learns of the loss, or a step of its own looks at the deadline.
//!
//! ```text
//! time      0                        10000   10001
//! store     |== lease of A ==============|
//! A         SET → OK
//! belief    |== until 10000 =============|~~~~ stale: belief without lease ~~~~
//! ```

pub mod protocol;

use std::hash::{Hash, Hasher};

use super::action::LatchPoint;
use super::event::{Answer, Value};
use super::setup::{ClientDeclaration, Setup};
use crate::sorted::{SortedMap, SortedSet};
use protocol::Protocol;

/// A client: where it is in its protocol, its latches, its variables and its beliefs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Client {
    /// How many attempts it has begun; the current one is the last. 0 for a client without a protocol.
    pub attempt: u32,
    /// How many runs are still to come after the current one.
    pub rounds_left: u32,
    /// Where it is.
    pub place: Place,
    /// The latches that are set and not opened yet.
    pub latches: SortedSet<LatchPoint>,
    /// Its variables: parameters, `me`, and what replies bound.
    pub variables: SortedMap<String, Value>,
    /// The locks that it believes it holds, by key.
    pub beliefs: SortedMap<Vec<u8>, Belief>,
    /// The votes that it counts, by lock.
    pub ballots: SortedMap<Vec<u8>, Ballot>,
    /// The messages that have come to it and that no AWAIT has taken, the oldest first: channel and text.
    pub inbox: Vec<(Vec<u8>, Vec<u8>)>,
    /// The steps that are still to come of a compensation; `None` in an ordinary run.
    pub compensation: Option<Vec<usize>>,
    /// The order that its last CHARGE of this run named.
    pub order: Option<String>,
    /// Whether a command typed at its console still waits for its reply.
    pub console_waits: bool,
    /// How its own clock goes.
    pub clock: OwnClock,
}

/// Where a client is in its protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// It has no protocol.
    ConsoleOnly,
    /// It is about to send this step.
    Ready {
        /// The step.
        step: usize,
    },
    /// The server has answered, and the reply waits at a latch.
    InFlight {
        /// The step.
        step: usize,
        /// The answer that it has not seen.
        answer: Answer,
        /// Milliseconds since the request was sent, by its own clock; negative when that has jumped back since.
        age: i64,
    },
    /// No reply has come: something that another one holds is in the way at the server, or the request or the reply is under way or
    /// lost.
    Blocked {
        /// The step.
        step: usize,
        /// Milliseconds since the request was sent, by its own clock; negative when that has jumped back since.
        age: i64,
        /// Milliseconds of its own timer until it gives up waiting; `None`: it never does.
        patience: Option<u64>,
    },
    /// It waits on its own timer.
    Sleeping {
        /// Milliseconds to go.
        remaining: u64,
        /// What it does then.
        then: AfterSleep,
    },
    /// Its last run ended.
    Ended {
        /// Whether it came to its end, or stopped before.
        finished: bool,
    },
    /// It is gone, with all that it knew.
    Crashed,
}

/// What a client does when its timer runs out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AfterSleep {
    /// It is about to send this step.
    Step(usize),
    /// It begins a new attempt from the first step.
    StartOver {
        /// The protocol's first step.
        first: usize,
    },
    /// It sees the reply `OK` to this step, which was a SLEEP.
    Answer(usize),
}

/// What a client believes of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Belief {
    /// Milliseconds until its deadline by the client's own clock, 0 from the deadline on; `None`: it has none.
    pub remaining: Option<u64>,
    /// How long the deadline has been over.
    overdue: Overdue,
}

/// Milliseconds since a deadline. Only a client's clock that jumps back ever asks for it, so it takes no part in equality: two
/// worlds that differ in nothing else are one to whoever never moves a client's clock.
#[derive(Clone, Copy, Debug, Default)]
struct Overdue(u64);

impl PartialEq for Overdue {
    fn eq(&self, _: &Overdue) -> bool {
        true
    }
}

impl Eq for Overdue {}

impl Hash for Overdue {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Belief {
    /// A belief whose deadline is so far away, or over for as long where that is negative.
    pub fn with(left: Option<i64>) -> Belief {
        Belief {
            remaining: left.map(|left| left.max(0).unsigned_abs()),
            overdue: Overdue(left.map_or(0, |left| left.min(0).unsigned_abs())),
        }
    }

    /// Milliseconds until its deadline by the client's own clock, negative when that is over.
    pub fn left(&self) -> Option<i64> {
        let remaining = i64::try_from(self.remaining?).unwrap_or(i64::MAX);
        Some(remaining.saturating_sub_unsigned(self.overdue.0))
    }
}

/// How many messages a client keeps; Redis closes a subscriber's connection that reads too slowly, and here further ones are lost.
pub const MOST_MESSAGES: usize = 256;

/// The votes for a lock that has to be granted by several servers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ballot {
    /// Milliseconds since the first request for it was sent, by the client's own clock.
    pub age: i64,
    /// The steps whose replies were votes.
    pub votes: SortedSet<usize>,
}

/// How a client's clock goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OwnClock {
    /// How many milliseconds it goes on in a second; 1000 is right, 0 never comes.
    pub permille: u32,
    /// Thousandths of a millisecond that it has gone on and that have not made a whole one.
    remainder: u32,
}

impl Default for OwnClock {
    fn default() -> OwnClock {
        OwnClock {
            permille: 1000,
            remainder: 0,
        }
    }
}

impl OwnClock {
    /// Lets time pass, and says how far the clock has gone on.
    pub(crate) fn pass(&mut self, milliseconds: u64) -> u64 {
        let thousandths =
            u128::from(milliseconds) * u128::from(self.permille) + u128::from(self.remainder);
        self.remainder = (thousandths % 1000) as u32;
        u64::try_from(thousandths / 1000).unwrap_or(u64::MAX)
    }

    /// How much time has to pass for the clock to go on so far.
    pub fn time_for(&self, milliseconds: u64) -> u64 {
        let thousandths =
            (u128::from(milliseconds) * 1000).saturating_sub(u128::from(self.remainder));
        let time = thousandths.div_ceil(u128::from(self.permille.max(1)));
        u64::try_from(time).unwrap_or(u64::MAX)
    }
}

impl Client {
    /// A client that has not begun; [`crate::sim::world::World::new`] starts its first attempt.
    pub fn new(declaration: &ClientDeclaration) -> Client {
        Client {
            attempt: 0,
            rounds_left: declaration.rounds.saturating_sub(1),
            place: Place::ConsoleOnly,
            latches: SortedSet::new(),
            variables: declaration.parameters.clone(),
            beliefs: SortedMap::new(),
            ballots: SortedMap::new(),
            inbox: Vec::new(),
            compensation: None,
            order: None,
            console_waits: false,
            clock: OwnClock::default(),
        }
    }

    /// The latch on which it waits, if it does. A client that waits for a server or for its own timer has not come to
    /// the latch yet.
    pub fn paused_at(&self) -> Option<LatchPoint> {
        let has_come = matches!(self.place, Place::Ready { .. } | Place::InFlight { .. });
        self.latch_point_here()
            .filter(|point| has_come && self.latches.contains(point))
    }

    /// The place of the latch that would stop it where it is now; `None` when it has ended, crashed or runs nothing.
    pub fn latch_point_here(&self) -> Option<LatchPoint> {
        match self.place {
            Place::Ready { step }
            | Place::Sleeping {
                then: AfterSleep::Step(step),
                ..
            } => Some(LatchPoint::Before(step)),
            Place::InFlight { step, .. }
            | Place::Blocked { step, .. }
            | Place::Sleeping {
                then: AfterSleep::Answer(step),
                ..
            } => Some(LatchPoint::After(step)),
            Place::Sleeping {
                then: AfterSleep::StartOver { first },
                ..
            } => Some(LatchPoint::Before(first)),
            Place::ConsoleOnly | Place::Ended { .. } | Place::Crashed => None,
        }
    }

    /// The step that it is at: about to send, waiting for, or holding an unseen reply to.
    pub fn current_step(&self) -> Option<usize> {
        match self.place {
            Place::Ready { step }
            | Place::InFlight { step, .. }
            | Place::Blocked { step, .. }
            | Place::Sleeping {
                then: AfterSleep::Step(step) | AfterSleep::Answer(step),
                ..
            } => Some(step),
            _ => None,
        }
    }

    /// Whether it has ended its last run, crashed, or runs nothing.
    pub fn is_over(&self) -> bool {
        matches!(
            self.place,
            Place::ConsoleOnly | Place::Ended { .. } | Place::Crashed
        )
    }

    /// How much time has to pass until its own timer runs out, if it waits on one or gives up waiting then, in milliseconds.
    pub fn next_wake(&self) -> Option<u64> {
        match self.place {
            Place::Sleeping { remaining, .. } => Some(self.clock.time_for(remaining)),
            Place::Blocked {
                patience: Some(patience),
                ..
            } => Some(self.clock.time_for(patience)),
            _ => None,
        }
    }

    /// Whether time passing changes nothing in it: it waits for nothing and believes nothing.
    pub fn is_timeless(&self) -> bool {
        let waits = matches!(
            self.place,
            Place::InFlight { .. } | Place::Blocked { .. } | Place::Sleeping { .. }
        );
        let counts = self
            .beliefs
            .values()
            .any(|belief| belief.remaining.is_some());
        !waits && !counts && self.ballots.is_empty()
    }

    /// Lets time pass: timers and deadlines come nearer, ages grow. The caller never lets more pass than
    /// [`Client::next_wake`] at once.
    pub fn elapse(&mut self, milliseconds: u64) {
        let own = self.clock.pass(milliseconds);
        if let Place::Sleeping { remaining, .. }
        | Place::Blocked {
            patience: Some(remaining),
            ..
        } = &mut self.place
        {
            *remaining = remaining.saturating_sub(own);
        }
        self.count(i64::try_from(own).unwrap_or(i64::MAX));
    }

    /// Its own clock jumps. A timer goes by another clock, which cannot jump, as those of operating systems do.
    pub fn jump(&mut self, milliseconds: i64) {
        self.count(milliseconds);
    }

    /// Moves what its own clock says of its requests and beliefs.
    fn count(&mut self, milliseconds: i64) {
        if let Place::InFlight { age, .. } | Place::Blocked { age, .. } = &mut self.place {
            *age = age.saturating_add(milliseconds);
        }
        for ballot in self.ballots.values_mut() {
            ballot.age = ballot.age.saturating_add(milliseconds);
        }
        for belief in self.beliefs.values_mut() {
            let left = belief.left();
            *belief = Belief::with(left.map(|left| left.saturating_sub(milliseconds)));
        }
    }

    /// The client with other names in its variables: a text that `rename` knows is replaced. `None` where that is not all that
    /// there is to it: a name is a lock or an order, or it has a reply before it that it has not seen.
    pub fn renamed(&self, rename: &dyn Fn(&[u8]) -> Option<Vec<u8>>) -> Option<Client> {
        let is_known = |name: &[u8]| rename(name).is_some();
        let order = self.order.as_ref().map(|order| order.as_bytes());
        let is_more = self.beliefs.keys().any(|key| is_known(key))
            || order.is_some_and(is_known)
            || self.ballots.keys().any(|key| is_known(key))
            || !self.inbox.is_empty()
            || matches!(self.place, Place::InFlight { .. });
        if is_more {
            return None;
        }
        let mut client = self.clone();
        for value in client.variables.values_mut() {
            if let Value::Text(text) = value
                && let Some(renamed) = rename(text)
            {
                *text = renamed;
            }
        }
        Some(client)
    }

    /// Where it is, in a few words: `before write`, `paused before write`, `paused after write`, `waits at write`,
    /// `sleeps 100 ms`, `done`, `stopped`, `crashed`, `console only`; and `, believes lock:sku-1` for each belief.
    pub fn state_in_words(&self, protocol: Option<&Protocol>) -> String {
        let label = |step: usize| {
            protocol
                .and_then(|protocol| protocol.steps.get(step))
                .map_or("", |step| step.label.as_str())
        };
        let place = match (self.paused_at(), &self.place) {
            (Some(LatchPoint::Before(step)), _) => format!("paused before {}", label(step)),
            (Some(LatchPoint::After(step)), _) => format!("paused after {}", label(step)),
            (None, Place::Ready { step }) => format!("before {}", label(*step)),
            (None, Place::InFlight { step, .. } | Place::Blocked { step, .. }) => {
                format!("waits at {}", label(*step))
            }
            (None, Place::Sleeping { remaining, .. }) => {
                format!("sleeps {}", super::time::in_words(*remaining))
            }
            (None, Place::Ended { finished: true }) => "done".to_string(),
            (None, Place::Ended { finished: false }) => "stopped".to_string(),
            (None, Place::Crashed) => "crashed".to_string(),
            (None, Place::ConsoleOnly) => "console only".to_string(),
        };
        let beliefs: Vec<String> = self
            .beliefs
            .keys()
            .map(|key| format!(", believes {}", String::from_utf8_lossy(key)))
            .collect();
        place + &beliefs.concat()
    }
}

/// What `{me}` is in a client's attempt: `A-1` in the first.
pub fn name_in_attempt(setup: &Setup, client: super::action::ClientId, attempt: u32) -> String {
    let name = setup
        .clients
        .get(client.0)
        .map_or("", |client| client.name.as_str());
    format!("{name}-{attempt}")
}
