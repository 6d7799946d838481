//! What a client runs: a named list of labelled steps, and what each reply means to it.
//!
//! A step holds one request as it could be pasted into redis-cli or mysql, and under it the clauses that
//! say what a reply means. Nothing is guessed from a command's name: that a client holds a lock, sells a
//! unit or has to try again is written in a clause.
//!
//! ```text
//! protocol split-acquire
//!   acquire: SET lock:sku-1 {me} NX PX 10000     <- label, request
//!     on OK: holds lock:sku-1 for 10000ms        <- pattern, effects
//!     on nil: retry                              <- pattern, what comes next
//! ```

use crate::sim::action::ServerId;
use crate::sim::database::{SqlError, Statement};

/// A named list of steps that clients run from the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// Its name, unique in the scenario.
    pub name: String,
    /// The steps, in the order in which they run. Never empty, labels are unique.
    pub steps: Vec<Step>,
    /// The properties that it claims, as indices into [`crate::property::Property::ALL`].
    pub claims: Vec<crate::property::Property>,
}

impl Protocol {
    /// The index of the step with this label.
    pub fn step_named(&self, label: &str) -> Option<usize> {
        self.steps.iter().position(|step| step.label == label)
    }

    /// The first step of an ordinary run, which is the first that is no compensation.
    pub fn first_step(&self) -> Option<usize> {
        self.following(None)
    }

    /// The step that an ordinary run takes after `step` (`None`: before the first), or `None` at the end.
    /// Compensation steps are passed over; only `abort with` runs them.
    pub fn following(&self, step: Option<usize>) -> Option<usize> {
        let from = step.map_or(0, |index| index + 1);
        (from..self.steps.len()).find(|index| !self.steps[*index].compensation)
    }
}

/// One step: a label, a request, and what its replies mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Names the step within its protocol; client and label name it for ever.
    pub label: String,
    /// Whether only `abort with` runs it.
    pub compensation: bool,
    /// The request as it is written, one entry a line, without the indentation and without comments.
    pub source: Vec<String>,
    /// The request, read.
    pub request: Request,
    /// What replies mean, tried from the top; the first that fits decides.
    pub clauses: Vec<Clause>,
}

impl Step {
    /// How long a client waits for the reply, in milliseconds of its own timer; `None`: as long as it takes.
    pub fn patience(&self) -> Option<u64> {
        self.clauses.iter().find_map(|clause| match clause.pattern {
            Pattern::NoReply { within } => within,
            _ => None,
        })
    }

    /// Whether a clause says what becomes of a client that no reply comes to.
    pub fn knows_of_lost(&self) -> bool {
        let is_lost = |clause: &Clause| matches!(clause.pattern, Pattern::NoReply { .. });
        self.clauses.iter().any(is_lost)
    }

    /// What its clauses say that the client knows by their replies, in their order.
    pub fn effects(&self) -> impl Iterator<Item = &Effect> {
        self.clauses.iter().flat_map(|clause| &clause.effects)
    }

    /// The locks that its clauses name in `holds`, in their order; a client's parameter may stand for one.
    pub fn locks(&self) -> impl Iterator<Item = &Argument> {
        self.effects().filter_map(|effect| match effect {
            Effect::Holds { key, .. } => Some(key),
            _ => None,
        })
    }

    /// The locks that it asks one server of several for: those that its clauses name in `votes for`.
    pub fn votes(&self) -> impl Iterator<Item = &Argument> {
        self.effects().filter_map(|effect| match effect {
            Effect::Votes(key) => Some(key),
            _ => None,
        })
    }
}

/// What is sent, and to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// A Redis command; the first argument is its name. To the server that is named, or else to the first server's primary.
    Store(Option<ServerId>, Vec<Argument>),
    /// An SQL statement. One that does not parse is sent all the same, and answered with ERROR 1064.
    Database(Result<Statement, SqlError>),
    /// A request to the card gateway: `CHARGE` or `REFUND` and its arguments.
    Gateway(Vec<Argument>),
    /// A look at the client's own clock, without any server: is the belief in this lock still before its
    /// deadline? Answers `held` or `lapsed`.
    CheckDeadline(Argument),
    /// `QUORUM 2 KEY PX 10000 DRIFT 102`: the client counts the servers' votes for this lock. Where there are so many, and of the lease
    /// something is left beyond the time since the first request for it was sent and a margin for clocks that drift, it answers
    /// with what is left in milliseconds, and else with nil. The margin is a hundredth of the lease and 2 ms where none is
    /// given, as in Redlock's libraries.
    Quorum {
        /// How many votes it takes.
        votes: u64,
        /// For which lock.
        key: Argument,
        /// The lease, in milliseconds.
        lease: Argument,
        /// The margin, in milliseconds.
        drift: Option<Argument>,
    },
    /// `AWAIT channel`: the next message of a channel to which the client has subscribed: one that has come already, or the next to come.
    Await(Argument),
    /// The client's own timer, in milliseconds. Answers `OK` once that much time has passed.
    Sleep(Argument),
}

/// One argument of a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Argument {
    /// These bytes.
    Literal(Vec<u8>),
    /// The value that the client's variable has when the request is sent; exactly one argument.
    Variable(String),
    /// The text of the script with this name, for EVAL, EVAL_RO and SCRIPT LOAD.
    ScriptSource(String),
    /// The SHA-1 of the script with this name in lower-case hexadecimal digits, for EVALSHA and SCRIPT EXISTS.
    ScriptSha(String),
}

/// `on PATTERN: EFFECTS`: what a reply means to the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// Which replies.
    pub pattern: Pattern,
    /// What the client then knows, in the order in which it is written.
    pub effects: Vec<Effect>,
    /// Where the client goes from here.
    pub flow: Flow,
}

/// Which replies a clause is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// `OK`, `held`, `QUEUED`: a status reply with this text.
    Status(String),
    /// `nil`: Redis's null reply.
    Nil,
    /// `1`: an integer reply, or one row with one column that holds this integer.
    Integer(i64),
    /// `"text"`: a bulk string, or one row with one column that holds this text.
    Text(Vec<u8>),
    /// `1 row`, `0 rows`: affected rows as the driver counts them, or rows that a SELECT gave.
    Rows(u64),
    /// `{token}` or `{qty}, {fence}`: anything but nil, an error and no row; binds the reply, its elements,
    /// or the columns of the first row to these variables. `-1, {token}` is an array or a row that begins with -1.
    Bind(Vec<Element>),
    /// `error` or `error WRONGTYPE` or `error 1062`: an error, with this prefix or number if one is named.
    Error(Option<String>),
    /// `no reply`: the reply was lost, and the client learns of it at once, as from a connection that is reset. `no reply within 500ms`:
    /// the client waits so long for the reply, and then gives up, whatever became of it.
    NoReply {
        /// Milliseconds of the client's own timer.
        within: Option<u64>,
    },
    /// `message`: any message, or the status `message`.
    Message,
    /// `else`: whatever no clause above took.
    Else,
}

/// What a pattern says of one element of an array, or of one column of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Element {
    /// `{token}`: whatever it is; binds it.
    Variable(String),
    /// `{me}`: the client's own name in this attempt.
    Me,
    /// `-1`: this integer.
    Integer(i64),
    /// `"text"`: this string.
    Text(Vec<u8>),
    /// `nil`: null.
    Nil,
}

impl Pattern {
    /// Whether it compares something with the client's own name.
    pub fn names_me(&self) -> bool {
        matches!(self, Pattern::Bind(elements) if elements.contains(&Element::Me))
    }

    /// The variables that it binds, in order.
    pub fn variables(&self) -> Vec<&str> {
        let elements = match self {
            Pattern::Bind(elements) => elements.as_slice(),
            _ => &[],
        };
        let names = elements.iter().filter_map(|element| match element {
            Element::Variable(name) => Some(name.as_str()),
            _ => None,
        });
        names.collect()
    }
}

/// What a reply tells the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// `holds KEY for 10000ms`: from now on the client believes that it holds this lock, until that long
    /// after it sent the request, by its own clock.
    Holds {
        /// The lock's key.
        key: Argument,
        /// Milliseconds from the moment of sending; `None` for a lock without a deadline (`holds KEY`).
        milliseconds: Option<Argument>,
    },
    /// `releases KEY`: the client no longer believes that it holds this lock, as it gave it up.
    Releases(Argument),
    /// `loses KEY`: the client no longer believes that it holds this lock, as it learned of the loss.
    Loses(Argument),
    /// `votes for KEY`: a server has granted the lock; the client holds it when a majority has, as a QUORUM says.
    Votes(Argument),
    /// `draws {token}`: this variable now holds the fencing token that the client was handed.
    Draws(String),
    /// `sells 2` or `sells 1 for ORDER`: so many units went to the order, by default to the one that the client's
    /// last CHARGE of this run named.
    Sells {
        /// How many units.
        units: u64,
        /// Which order, when it is named.
        order: Option<Argument>,
    },
}

/// Where a client goes after a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The next step of the protocol (or of the compensation).
    Next,
    /// `retry`, `retry after 100ms`: the same step again.
    Retry {
        /// Milliseconds to wait first, on the client's own timer.
        after: Option<u64>,
    },
    /// `start over`, `start over after 100ms`: a new attempt from the first step, with a fresh `{me}`.
    StartOver {
        /// Milliseconds to wait first, on the client's own timer.
        after: Option<u64>,
    },
    /// `go to LABEL`: the step with this index.
    GoTo(usize),
    /// `abort with LABEL, LABEL`: these steps in this order, and then no more.
    Abort(Vec<usize>),
    /// `stop`: the run ends, unfinished.
    Stop,
    /// `done`: the run ends, finished.
    Done,
}
