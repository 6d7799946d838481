//! What a search may do and what it looks for: budgets, limits, goals, and what it is expected to find.

use crate::property::Property;
use crate::scenario::Expectation;
use crate::sim::setup::Setup;

/// Something that costs a search one of a stated number of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Budget {
    /// Time passes the deadline of a key.
    Lapses,
    /// Time moves before a client starts a timer, so that deadlines that would fall together do not.
    Shifts,
    /// A key's deadline passes at once.
    Expiries,
    /// A key is lost.
    Wipes,
    /// The operator reads the largest token from the table and puts it into the counter.
    Reseeds,
    /// A client crashes.
    Crashes,
    /// A crashed client starts again.
    Restarts,
    /// A server does a step, and its reply is lost.
    LostReplies,
    /// The request of a step is lost.
    LostRequests,
    /// The reply to a step stays under way for a while.
    LateReplies,
    /// The request of a step stays under way for a while.
    LateRequests,
    /// A key is evicted, as memory is full.
    Evictions,
    /// A Redis-like server crashes.
    ServerCrashes,
    /// A crashed server starts again, with its data or without.
    ServerRestarts,
    /// A replica becomes the primary.
    Failovers,
    /// The clock of a server, of the database or of a client jumps.
    ClockJumps,
}

impl Budget {
    /// All of them, in the order in which the text prints them.
    pub const ALL: [Budget; 16] = [
        Budget::Lapses,
        Budget::Shifts,
        Budget::Expiries,
        Budget::Wipes,
        Budget::Reseeds,
        Budget::Crashes,
        Budget::Restarts,
        Budget::LostReplies,
        Budget::LostRequests,
        Budget::LateReplies,
        Budget::LateRequests,
        Budget::Evictions,
        Budget::ServerCrashes,
        Budget::ServerRestarts,
        Budget::Failovers,
        Budget::ClockJumps,
    ];

    /// What the text calls it.
    pub fn words(self) -> &'static str {
        match self {
            Budget::Lapses => "lapses",
            Budget::Shifts => "shifts",
            Budget::Expiries => "expiries",
            Budget::Wipes => "wipes",
            Budget::Reseeds => "reseeds",
            Budget::Crashes => "crashes",
            Budget::Restarts => "restarts",
            Budget::LostReplies => "lost replies",
            Budget::LostRequests => "lost requests",
            Budget::LateReplies => "late replies",
            Budget::LateRequests => "late requests",
            Budget::Evictions => "evictions",
            Budget::ServerCrashes => "server crashes",
            Budget::ServerRestarts => "server restarts",
            Budget::Failovers => "failovers",
            Budget::ClockJumps => "clock jumps",
        }
    }

    /// What one of it is, for people.
    pub fn explanation(self) -> &'static str {
        match self {
            Budget::Lapses => "time runs past the next deadline of a key: a lease ends",
            Budget::Shifts => "a little time passes before a client starts a timer; no fault",
            Budget::Expiries => "a watched lock ends early, and no time passes",
            Budget::Wipes => "a watched lock or counter is gone",
            Budget::Reseeds => "the operator sets the counter to MAX of the fence column",
            Budget::Crashes => "a client stops for good, wherever it is",
            Budget::Restarts => "a crashed client begins again",
            Budget::LostReplies => "a server does a step, and the client never hears of it",
            Budget::LostRequests => "a server never hears of a step",
            Budget::LateReplies => "a client hears late what a server did",
            Budget::LateRequests => "a server hears late of a step",
            Budget::Evictions => "a full server throws a key away",
            Budget::ServerCrashes => "a Redis server stops",
            Budget::ServerRestarts => "a crashed server starts again, with its data or without",
            Budget::Failovers => {
                "a replica becomes the primary, and what it had not received is lost"
            }
            Budget::ClockJumps => "the clock of a server or a client jumps, back or forward",
        }
    }

    /// Whether one of it counts as a fault.
    pub fn is_fault(self) -> bool {
        self != Budget::Shifts
    }

    /// Whether the text can say to which keys it may happen.
    pub fn takes_keys(self) -> bool {
        matches!(self, Budget::Expiries | Budget::Wipes | Budget::Evictions)
    }
}

/// A way in which a search takes worlds together that cannot be told apart by what it looks for. None of them changes what is
/// found, or how many steps and faults that takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reduction {
    /// What properties remember of the order of locks is kept as ranks.
    Ranks,
    /// Variables that no later step reads are forgotten.
    DeadVariables,
    /// Clients that run the same protocol, and whose names are only ever compared, may change places.
    Symmetry,
}

impl Reduction {
    /// All of them.
    pub const ALL: [Reduction; 3] = [
        Reduction::Ranks,
        Reduction::DeadVariables,
        Reduction::Symmetry,
    ];

    /// What the text calls it.
    pub fn words(self) -> &'static str {
        match self {
            Reduction::Ranks => "ranks",
            Reduction::DeadVariables => "dead variables",
            Reduction::Symmetry => "symmetry",
        }
    }
}

/// How much a search may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Faults of all kinds together; `None`: as many as the budgets allow.
    pub faults: Option<u32>,
    /// How often time may pass the deadline of a key.
    pub lapses: u32,
    /// How often time may move before a client starts a timer.
    pub shifts: u32,
    /// How many keys' deadlines may pass at once.
    pub expiries: u32,
    /// How many keys may be lost.
    pub wipes: u32,
    /// How often the counter may be set to the largest token in the table.
    pub reseeds: u32,
    /// How many clients may crash.
    pub crashes: u32,
    /// How many crashed clients may start again.
    pub restarts: u32,
    /// How many replies may be lost.
    pub lost_replies: u32,
    /// How many requests may be lost.
    pub lost_requests: u32,
    /// How many replies may come late.
    pub late_replies: u32,
    /// How many requests may come late.
    pub late_requests: u32,
    /// How many keys may be evicted.
    pub evictions: u32,
    /// How many servers may crash.
    pub server_crashes: u32,
    /// How many crashed servers may start again.
    pub server_restarts: u32,
    /// How often a replica may become the primary.
    pub failovers: u32,
    /// How often a clock may jump.
    pub clock_jumps: u32,
    /// The keys that may expire at once; empty: every watched lock.
    pub expiring_keys: Vec<Vec<u8>>,
    /// The keys that may be lost; empty: every watched lock and counter.
    pub wiped_keys: Vec<Vec<u8>>,
    /// The keys that may be evicted; empty: every watched lock and counter.
    pub evicted_keys: Vec<Vec<u8>>,
    /// The longest schedule; `None`: however long.
    pub steps: Option<u32>,
    /// How many attempts a client may begin beyond one for each of its runs.
    pub attempts: u32,
    /// After how many distinct worlds the search gives up.
    pub worlds: u64,
    /// How many bytes its tables may take before it gives up.
    pub bytes: u64,
    /// Reductions that are not used.
    pub without: Vec<Reduction>,
}

/// Attempts beyond one for each run, where the text does not say.
pub const ATTEMPTS: u32 = 2;

/// Distinct worlds, where the text does not say.
pub const WORLDS: u64 = 2_000_000;

/// Bytes of a search's tables, where nobody says.
pub const BYTES: u64 = 1 << 30;

/// The most of one thing that a text can allow.
pub const MOST: u64 = 100;

impl Default for Bounds {
    /// Two lapses and nothing else: what the page offers first.
    fn default() -> Bounds {
        Bounds {
            lapses: 2,
            ..Bounds::none()
        }
    }
}

impl Bounds {
    /// No fault at all: what a text means that names none.
    pub fn none() -> Bounds {
        Bounds {
            faults: None,
            lapses: 0,
            shifts: 0,
            expiries: 0,
            wipes: 0,
            reseeds: 0,
            crashes: 0,
            restarts: 0,
            lost_replies: 0,
            lost_requests: 0,
            late_replies: 0,
            late_requests: 0,
            evictions: 0,
            server_crashes: 0,
            server_restarts: 0,
            failovers: 0,
            clock_jumps: 0,
            expiring_keys: Vec::new(),
            wiped_keys: Vec::new(),
            evicted_keys: Vec::new(),
            steps: None,
            attempts: ATTEMPTS,
            worlds: WORLDS,
            bytes: BYTES,
            without: Vec::new(),
        }
    }

    /// How many of this there may be.
    pub fn budget(&self, budget: Budget) -> u32 {
        match budget {
            Budget::Lapses => self.lapses,
            Budget::Shifts => self.shifts,
            Budget::Expiries => self.expiries,
            Budget::Wipes => self.wipes,
            Budget::Reseeds => self.reseeds,
            Budget::Crashes => self.crashes,
            Budget::Restarts => self.restarts,
            Budget::LostReplies => self.lost_replies,
            Budget::LostRequests => self.lost_requests,
            Budget::LateReplies => self.late_replies,
            Budget::LateRequests => self.late_requests,
            Budget::Evictions => self.evictions,
            Budget::ServerCrashes => self.server_crashes,
            Budget::ServerRestarts => self.server_restarts,
            Budget::Failovers => self.failovers,
            Budget::ClockJumps => self.clock_jumps,
        }
    }

    /// How many of this there may be, to be changed.
    pub fn budget_mut(&mut self, budget: Budget) -> &mut u32 {
        match budget {
            Budget::Lapses => &mut self.lapses,
            Budget::Shifts => &mut self.shifts,
            Budget::Expiries => &mut self.expiries,
            Budget::Wipes => &mut self.wipes,
            Budget::Reseeds => &mut self.reseeds,
            Budget::Crashes => &mut self.crashes,
            Budget::Restarts => &mut self.restarts,
            Budget::LostReplies => &mut self.lost_replies,
            Budget::LostRequests => &mut self.lost_requests,
            Budget::LateReplies => &mut self.late_replies,
            Budget::LateRequests => &mut self.late_requests,
            Budget::Evictions => &mut self.evictions,
            Budget::ServerCrashes => &mut self.server_crashes,
            Budget::ServerRestarts => &mut self.server_restarts,
            Budget::Failovers => &mut self.failovers,
            Budget::ClockJumps => &mut self.clock_jumps,
        }
    }

    /// The keys to which this may happen, as far as they are said.
    pub fn keys(&self, budget: Budget) -> &[Vec<u8>] {
        match budget {
            Budget::Expiries => &self.expiring_keys,
            Budget::Wipes => &self.wiped_keys,
            Budget::Evictions => &self.evicted_keys,
            _ => &[],
        }
    }

    /// Says to which keys this may happen.
    pub fn set_keys(&mut self, budget: Budget, keys: Vec<Vec<u8>>) {
        match budget {
            Budget::Expiries => self.expiring_keys = keys,
            Budget::Wipes => self.wiped_keys = keys,
            Budget::Evictions => self.evicted_keys = keys,
            _ => {}
        }
    }

    /// Faults of all kinds together.
    pub fn most_faults(&self) -> u32 {
        let all = Budget::ALL
            .into_iter()
            .filter(|budget| budget.is_fault())
            .map(|budget| self.budget(budget))
            .sum();
        self.faults.map_or(all, |faults| faults.min(all))
    }

    /// Whether the reduction is used.
    pub fn uses(&self, reduction: Reduction) -> bool {
        !self.without.contains(&reduction)
    }
}

/// What a search looks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Goal {
    /// A schedule that breaks one of these properties; empty: any, but for what [nobody claims](Property::is_unclaimed).
    Breaks(Vec<Property>),
    /// A schedule after which all of these are so: rows, keys, charges, and where clients are.
    Reach(Vec<Expectation>),
}

impl Goal {
    /// The same with the properties that are meant where it says any.
    pub fn spelled_out(self, setup: &Setup) -> Goal {
        match self {
            Goal::Breaks(properties) if properties.is_empty() => {
                let mut all = Property::ALL.to_vec();
                all.retain(|property| !property.is_unclaimed(setup));
                Goal::Breaks(all)
            }
            goal => goal,
        }
    }
}

/// From where a search starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// The world before the schedule.
    #[default]
    Start,
    /// The world after so many actions of the schedule.
    After(usize),
    /// The world after the schedule.
    End,
}

impl Start {
    /// How many actions of a schedule of this length come before.
    pub fn actions(self, len: usize) -> usize {
        match self {
            Start::Start => 0,
            Start::After(actions) => actions.min(len),
            Start::End => len,
        }
    }
}

/// What a search is expected to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finds {
    /// `finds: nothing`, `finds: nothing in 7984 worlds`: there is no such schedule within the bounds, and so many distinct worlds.
    Nothing {
        /// How many distinct worlds there are; `None`: not said.
        worlds: Option<u64>,
    },
    /// `finds: 7 steps, 1 fault`: the shortest has so many steps, so many of them faults.
    Steps {
        /// Actions, faults among them.
        steps: u32,
        /// Faults.
        faults: u32,
    },
    /// `finds: the schedule`: the schedule of the text itself is what it shows first.
    Schedule,
}

/// A `search` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What it may do.
    pub bounds: Bounds,
    /// What it looks for.
    pub goal: Goal,
    /// From where.
    pub start: Start,
    /// What it is expected to find, if that is said.
    pub finds: Option<Finds>,
    /// Whether the reader is asked to find it first.
    pub is_challenge: bool,
}

impl Default for Request {
    fn default() -> Request {
        Request {
            bounds: Bounds::default(),
            goal: Goal::Breaks(Vec::new()),
            start: Start::default(),
            finds: None,
            is_challenge: false,
        }
    }
}
