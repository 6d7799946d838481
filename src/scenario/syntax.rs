//! The syntax tree: everything that a text says, comments and blank lines included, and where it says it.
//!
//! Names are not looked up here, requests are not read, and nothing is known to make sense. Places do not count for equality,
//! see [`Place`].

use crate::search::{Budget, Finds, Reduction, Start};
use crate::sim::action::Leg;
use crate::sim::client::protocol::{Effect, Pattern};
use crate::sim::event::Value;

use super::error::Place;

/// A text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// Its blocks, and what stands between them.
    pub items: Vec<Entry<Block>>,
}

/// One line, or a thing of several lines, or what stands between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry<T> {
    /// A blank line.
    Blank,
    /// A line that is a comment: what stands behind the `#`.
    Comment(String),
    /// The thing.
    Of(T),
}

impl<T> Entry<T> {
    /// The thing, where it is one.
    pub fn thing(&self) -> Option<&T> {
        match self {
            Entry::Of(thing) => Some(thing),
            Entry::Blank | Entry::Comment(_) => None,
        }
    }
}

/// The things without what stands between them.
pub fn things<T>(entries: &[Entry<T>]) -> impl Iterator<Item = &T> {
    entries.iter().filter_map(Entry::thing)
}

/// A word that names something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The word.
    pub text: String,
    /// Where it stands.
    pub place: Place,
}

/// A line as it is written, and the comment behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The line without its indentation and its comment.
    pub text: String,
    /// What stands behind the `#`.
    pub comment: Option<String>,
    /// Where the text stands.
    pub place: Place,
}

/// Something that may go on over several lines: a request, a statement, a table's definition. The first entry is a line.
pub type Passage = Vec<Entry<Written>>;

/// A word in column 1, and what stands under it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// What it is.
    pub kind: BlockKind,
    /// The comment behind its first line; a table's stands in its definition.
    pub comment: Option<String>,
    /// All its lines.
    pub place: Place,
}

/// What a block is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// `option CLIENT_FOUND_ROWS`, `option maxmemory-policy volatile-lru`.
    Option {
        /// Its name.
        name: Named,
        /// What it is set to, where something is.
        value: Option<Named>,
    },
    /// `server r1, r2, r3`, `replica a, b of r1`.
    Servers {
        /// Their names.
        names: Vec<Named>,
        /// Of which server they are replicas.
        replica_of: Option<Named>,
    },
    /// `table NAME (COLUMNS)` and a line for each row.
    Table(Table),
    /// `database`: statements before the schedule.
    Database(Vec<Entry<Passage>>),
    /// `store`: Redis commands before the schedule.
    Store(Vec<Entry<Written>>),
    /// `script NAME` and its lines, without their common indentation.
    Script {
        /// Its name.
        name: Named,
        /// Its lines, verbatim; the last one is not blank.
        lines: Vec<String>,
    },
    /// `watch ROLE THING, ...`.
    Watch(Vec<Role>),
    /// `protocol NAME` and its steps.
    Protocol {
        /// Its name.
        name: Named,
        /// Its claims and steps, in order.
        parts: Vec<Entry<ProtocolPart>>,
    },
    /// `client NAMES: PROTOCOL xN NAME=VALUE`.
    Clients(Clients),
    /// `schedule` and its actions.
    Schedule(Vec<Entry<ScheduleEntry>>),
    /// `expect` and its expectations.
    Expect(Vec<Entry<ExpectEntry>>),
    /// `search` and what it may do, looks for and finds.
    Search(Vec<Entry<SearchEntry>>),
}

/// A table before the schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: Named,
    /// What stands behind the name: the columns in parentheses.
    pub definition: Passage,
    /// Its rows as lists of SQL literals.
    pub rows: Vec<Entry<Written>>,
}

/// A part that a key or a column plays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// `lock KEY`, `lock KEY on r1 r2 r3`.
    Lock(Vec<u8>, Vec<Named>),
    /// `counter KEY`.
    Counter(Vec<u8>),
    /// `fence TABLE.COLUMN`.
    Fence(WrittenColumn),
    /// `stock TABLE.COLUMN`.
    Stock(WrittenColumn),
}

/// `TABLE.COLUMN`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenColumn {
    /// The table's name.
    pub table: Named,
    /// The column's name.
    pub column: Named,
}

/// What stands under a protocol's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProtocolPart {
    /// `claims: SENTENCE`.
    Claim {
        /// The sentence or how it begins.
        sentence: Named,
        /// The comment behind it.
        comment: Option<String>,
    },
    /// A step.
    Step(WrittenStep),
}

/// A step as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenStep {
    /// Its label.
    pub label: Named,
    /// Whether `compensation` stands before it.
    pub compensation: bool,
    /// Its request.
    pub request: Passage,
    /// Its clauses; the last entry is one.
    pub clauses: Vec<Entry<WrittenClause>>,
    /// All its lines.
    pub place: Place,
}

/// A clause as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenClause {
    /// Which replies.
    pub pattern: Pattern,
    /// What the client then knows.
    pub effects: Vec<Effect>,
    /// Where it goes from here; `None`: on.
    pub flow: Option<WrittenFlow>,
    /// The comment behind it.
    pub comment: Option<String>,
    /// Its line.
    pub place: Place,
}

/// Where a client goes, labels by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WrittenFlow {
    /// `retry`, `retry after 100ms`.
    Retry(Option<u64>),
    /// `start over`, `start over after 100ms`.
    StartOver(Option<u64>),
    /// `go to LABEL`.
    GoTo(Named),
    /// `abort with LABEL, LABEL`.
    Abort(Vec<Named>),
    /// `stop`.
    Stop,
    /// `done`.
    Done,
}

/// A line that declares clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clients {
    /// Their names.
    pub names: Vec<Named>,
    /// The protocol that they run, if they run one.
    pub protocol: Option<Named>,
    /// How many times.
    pub rounds: u32,
    /// Their parameters, in order.
    pub parameters: Vec<(Named, Value)>,
}

/// A line of the schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleEntry {
    /// The action.
    pub choice: Choice,
    /// What stands behind `=>`.
    pub expected: Option<String>,
    /// The comment behind it.
    pub comment: Option<String>,
    /// Its line.
    pub place: Place,
}

/// On which side of a step a latch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The request has not been sent.
    Before,
    /// The reply has not been seen.
    After,
}

/// What is done to a key from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFault {
    /// Its deadline passes now.
    Expire,
    /// It is lost.
    Wipe,
    /// It is evicted.
    Evict,
}

impl KeyFault {
    /// All, by their words.
    pub const ALL: [(&str, KeyFault); 3] = [
        ("expire", KeyFault::Expire),
        ("wipe", KeyFault::Wipe),
        ("evict", KeyFault::Evict),
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        Self::ALL
            .into_iter()
            .find(|(_, fault)| *fault == self)
            .map_or("", |(word, _)| word)
    }
}

/// An action, clients and steps by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// `A acquire`.
    Step {
        /// `A`.
        client: Named,
        /// `acquire`.
        label: Named,
    },
    /// `pause A before token`, `pause A`.
    Pause {
        /// `A`.
        client: Named,
        /// `before token`.
        at: Option<(Side, Named)>,
    },
    /// `resume A`, `resume A before token`.
    Resume {
        /// `A`.
        client: Named,
        /// `before token`.
        at: Option<(Side, Named)>,
    },
    /// `crash A`.
    Crash(Named),
    /// `restart A`.
    Restart(Named),
    /// `lose A token`.
    Lose {
        /// `A`.
        client: Named,
        /// `token`.
        label: Named,
    },
    /// `lose request A token`.
    LoseRequest {
        /// `A`.
        client: Named,
        /// `token`.
        label: Named,
    },
    /// `delay request A token`, `delay reply A token`.
    Delay {
        /// `A`.
        client: Named,
        /// `token`.
        label: Named,
        /// Which half of the way.
        leg: Leg,
    },
    /// `deliver A token`.
    Deliver {
        /// `A`.
        client: Named,
        /// `token`.
        label: Named,
    },
    /// `clock +10001ms`.
    Advance(u64),
    /// `clock to next deadline`.
    AdvanceToNextDeadline,
    /// `clock of store +5s`, `clock of A -300ms`.
    ClockJump {
        /// Whose.
        whose: Named,
        /// How far, in milliseconds.
        milliseconds: i64,
    },
    /// `clock of A runs at 90%`.
    ClockRate {
        /// `A`.
        client: Named,
        /// 900.
        permille: u32,
    },
    /// `expire lock:sku-1`, `wipe fence:sku-1 on r1`, `evict k`.
    OfKey {
        /// What is done to it.
        what: KeyFault,
        /// Which key.
        key: Vec<u8>,
        /// On which server.
        server: Option<Named>,
    },
    /// `restart r1 without data`.
    RestartWithoutData(Named),
    /// `replicate to copy`, `replicate 1 command to copy`.
    Replicate {
        /// `copy`.
        to: Named,
        /// How many commands; `None`: all.
        commands: Option<u64>,
    },
    /// `failover to copy`.
    Failover(Named),
    /// `operator> GET lock:sku-1`, `A> GET lock:sku-1`.
    Command {
        /// `operator` or `A`.
        who: Named,
        /// The server, in `operator r1> GET lock:sku-1`.
        server: Option<Named>,
        /// `GET lock:sku-1`.
        source: Named,
    },
}

/// A line of the expectations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectEntry {
    /// What is expected.
    pub claim: ExpectedClaim,
    /// The comment behind it.
    pub comment: Option<String>,
    /// Its line.
    pub place: Place,
}

/// Which verdict is expected of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedVerdict {
    /// `holds`.
    Holds,
    /// `broken`.
    Broken,
    /// `not tested`.
    NotTested,
}

/// What is expected, names not looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpectedClaim {
    /// `broken: SENTENCE`.
    Property {
        /// Its verdict.
        verdict: ExpectedVerdict,
        /// The sentence or how it begins.
        sentence: Named,
    },
    /// `inventory 'sku-1': qty 8, fence_token 2`.
    Row {
        /// The table's name.
        table: Named,
        /// The primary key's values as SQL literals.
        key: Vec<String>,
        /// Columns and values as SQL literals; `None`: no such row.
        columns: Option<Vec<(Named, String)>>,
    },
    /// `key lock:sku-1: "A-1" ttl 9000ms`, `key lock:sku-1 on r2: none`.
    Key {
        /// Which key.
        key: Vec<u8>,
        /// On which server.
        server: Option<Named>,
        /// Its value in short form; `None`: no such key.
        value: Option<String>,
        /// Its remaining milliseconds; the outer `None`: not checked.
        ttl: Option<Option<u64>>,
    },
    /// `writes: B accepted; A rejected (fenced)`, `writes: none`.
    Writes(Vec<(Named, String)>),
    /// `charges: ch-1 order-1 100`, `charges: none`.
    Charges(Vec<String>),
    /// `client A: done`.
    Client {
        /// `A`.
        name: Named,
        /// `done`.
        state: String,
    },
}

/// A line of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchEntry {
    /// What it says.
    pub line: SearchLine,
    /// The comment behind it.
    pub comment: Option<String>,
    /// Its line.
    pub place: Place,
}

/// What a line of a search says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchLine {
    /// `faults: 2, wipes: 1 of fence:sku-1`.
    Limits(Vec<SearchLimit>),
    /// `without: symmetry`.
    Without(Vec<Reduction>),
    /// `from: end`.
    From(Start),
    /// `breaks: SENTENCE`; `None`: `breaks: anything`.
    Breaks(Option<Named>),
    /// `reaches: inventory 'sku-1': qty 0`.
    Reaches(ExpectedClaim),
    /// `finds: nothing`.
    Finds(Finds),
    /// `challenge`.
    Challenge,
}

/// How much of one thing a search may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchLimit {
    /// Of what.
    pub limit: Limit,
    /// How much.
    pub count: u64,
    /// To which keys it may happen; empty: not said.
    pub keys: Vec<Vec<u8>>,
}

/// What is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Faults of all kinds together.
    Faults,
    /// Faults of one kind.
    Budget(Budget),
    /// The length of the schedule.
    Steps,
    /// Attempts beyond one for each run.
    Attempts,
    /// Distinct worlds.
    Worlds,
}
