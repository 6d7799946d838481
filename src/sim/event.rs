//! Facts that an action caused, in the past tense, in the order in which they happened.

use super::action::{ClientId, ClockOf, LatchPoint, Leg, ServerId, Who};
use super::database::{SqlReply, Value as SqlValue, WriteFact};
use super::store::reply::Reply;
use super::store::{Cause, KeyState};

/// A fact, and when it happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// Milliseconds since the start of the scenario.
    pub at: u64,
    /// What happened.
    pub fact: Fact,
}

/// Which server did something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Server {
    /// A Redis-like server.
    Store(ServerId),
    /// The MySQL-like database.
    Database,
    /// The card gateway.
    Gateway,
    /// No server: the client's own clock.
    Client,
}

/// What a request was answered with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The store's reply.
    Store(Reply),
    /// The database's reply.
    Database(SqlReply),
    /// The gateway's reply, in the store's form.
    Gateway(Reply),
    /// What the client's own clock says, in the store's form.
    Client(Reply),
    /// Nothing came back.
    Lost,
}

impl Answer {
    /// The answer as the scenario text writes it behind `=>`.
    pub fn print_short(&self) -> String {
        match self {
            Answer::Store(reply) | Answer::Gateway(reply) | Answer::Client(reply) => {
                reply.print_short()
            }
            Answer::Database(reply) => reply.print_short(),
            Answer::Lost => "no reply".to_string(),
        }
    }
}

impl Answer {
    /// Whether a server answered with an error.
    pub fn is_error(&self) -> bool {
        match self {
            Answer::Store(reply) | Answer::Gateway(reply) | Answer::Client(reply) => {
                matches!(reply, Reply::Error(_))
            }
            Answer::Database(reply) => matches!(reply, SqlReply::Error(_)),
            Answer::Lost => false,
        }
    }

    /// The answer as redis-cli or mysql print it.
    pub fn print_long(&self) -> String {
        match self {
            Answer::Store(reply) | Answer::Gateway(reply) | Answer::Client(reply) => {
                reply.print_redis_cli()
            }
            Answer::Database(reply) => reply.print_mysql(),
            Answer::Lost => "no reply".to_string(),
        }
    }
}

/// A value that a client's variable holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// Bytes: parameters, `{me}`, bulk strings.
    Text(Vec<u8>),
    /// An integer reply or column.
    Integer(i64),
    /// NULL from a column.
    Null,
}

/// Why a belief ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BeliefEnd {
    /// The client gave the lock up.
    Released,
    /// The client learned that it had lost the lock.
    Lost,
    /// The client's run ended.
    RunEnded,
    /// The client crashed.
    Crashed,
    /// The client took the lock anew; a new belief follows.
    Renewed,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Fact {
    /// A request went out. `text` is what the server got: variables filled in, scripts by their names.
    Sent {
        /// From whom.
        who: Who,
        /// As which step; `None` at a console.
        step: Option<usize>,
        /// To which server.
        server: Server,
        /// The request.
        text: String,
    },
    /// A key's value or deadline changed.
    KeyChanged {
        /// On which server.
        server: ServerId,
        /// Through whose request; `None` when time or an action did it.
        who: Option<Who>,
        /// Which key.
        key: Vec<u8>,
        /// What it was; `None`: it was not there.
        before: Option<KeyState>,
        /// What it is; `None`: it is gone.
        after: Option<KeyState>,
        /// The command, or what else it was.
        cause: Cause,
    },
    /// A script called a command.
    ScriptCalled {
        /// On which server.
        server: ServerId,
        /// Whose script.
        who: Who,
        /// The command as the script gave it.
        argv: Vec<Vec<u8>>,
        /// The command's reply.
        reply: Reply,
    },
    /// A script wrote to the log.
    ScriptLogged {
        /// Whose script.
        who: Who,
        /// What it wrote.
        message: Vec<u8>,
    },
    /// A statement that writes was executed.
    Wrote {
        /// Whose statement.
        who: Who,
        /// What it did to each row that it was about, and why.
        write: WriteFact,
    },
    /// A transaction was committed; the writes in it count from now on.
    Committed {
        /// Whose transaction.
        who: Who,
    },
    /// A transaction was rolled back; the writes in it never happened.
    RolledBack {
        /// Whose transaction.
        who: Who,
    },
    /// A request waits at a server for something that somebody else holds.
    Waits {
        /// Who waits.
        who: Who,
        /// Where.
        server: Server,
    },
    /// The gateway charged a card.
    Charged {
        /// Who asked.
        who: Who,
        /// The gateway's name for the charge.
        charge: String,
        /// The order that was named.
        order: String,
        /// How much, in the currency's smallest unit.
        amount: u64,
    },
    /// The gateway recognised an idempotency key and gave the earlier charge back without charging again.
    ChargeRepeated {
        /// Who asked.
        who: Who,
        /// The earlier charge.
        charge: String,
        /// Its order.
        order: String,
    },
    /// The gateway gave a charge back.
    Refunded {
        /// Who asked.
        who: Who,
        /// Which charge.
        charge: String,
        /// Its order.
        order: String,
    },
    /// A server answered.
    Answered {
        /// Whom.
        who: Who,
        /// The request's step; `None` at a console.
        step: Option<usize>,
        /// Which server.
        server: Server,
        /// The answer.
        answer: Answer,
    },
    /// A client saw the reply to a step, or saw that none will come.
    Saw {
        /// Which client.
        client: ClientId,
        /// To which step.
        step: usize,
        /// What it saw.
        answer: Answer,
        /// Which clause fitted; `None`: none did.
        clause: Option<usize>,
    },
    /// A reply was lost on its way.
    ReplyLost {
        /// Whose.
        client: ClientId,
        /// To which step.
        step: usize,
    },
    /// A request was lost on its way.
    RequestLost {
        /// Whose.
        client: ClientId,
        /// Of which step.
        step: usize,
    },
    /// A request that was just sent, or the reply that was just made to it, stays under way.
    Delayed {
        /// Whose.
        client: ClientId,
        /// Of which step.
        step: usize,
        /// What is under way.
        leg: Leg,
    },
    /// A request that had been under way came to its server.
    Arrived {
        /// Whose.
        client: ClientId,
        /// Of which step.
        step: usize,
        /// Which server.
        server: Server,
        /// The request.
        text: String,
        /// Whether the client had closed the connection before.
        late: bool,
    },
    /// A server answered on a connection that the client had closed: nobody sees it.
    AnsweredNobody {
        /// Whose request it was.
        client: ClientId,
        /// Of which step.
        step: usize,
        /// Which server.
        server: Server,
        /// The answer.
        answer: Answer,
    },
    /// A reply that had been under way came to a connection that the client had closed.
    CameTooLate {
        /// Whose.
        client: ClientId,
        /// To which step.
        step: usize,
    },
    /// A client gave up waiting for a reply or a message.
    TimedOut {
        /// Which client.
        client: ClientId,
        /// For the reply to which step it waited.
        step: usize,
        /// Whether it closed the connection and opened another one; waiting for a message it keeps it.
        closes: bool,
    },
    /// A message came to a client that has subscribed to its channel.
    Messaged {
        /// Which client.
        client: ClientId,
        /// From which server.
        server: Server,
        /// The channel.
        channel: Vec<u8>,
        /// The message.
        message: Vec<u8>,
    },
    /// A client began to believe that it holds a lock.
    Believed {
        /// Which client.
        client: ClientId,
        /// Which lock.
        key: Vec<u8>,
        /// When it sent the request from which it counts, in milliseconds since the start.
        sent: u64,
        /// Until when, by its own clock; `None`: without end. The client itself believes on beyond it, until it looks.
        until: Option<u64>,
    },
    /// A client no longer believes that it holds a lock.
    BeliefEnded {
        /// Which client.
        client: ClientId,
        /// Which lock.
        key: Vec<u8>,
        /// Why.
        why: BeliefEnd,
    },
    /// A variable took a value.
    Bound {
        /// Whose variable.
        client: ClientId,
        /// Its name.
        variable: String,
        /// Its value.
        value: Value,
    },
    /// A client was handed a fencing token, as a `draws` says.
    Drew {
        /// Which client.
        client: ClientId,
        /// The token.
        token: Value,
    },
    /// A client counts units as sold to an order.
    Sold {
        /// Which client.
        client: ClientId,
        /// How many.
        units: u64,
        /// To which order, where one is known.
        order: Option<String>,
    },
    /// A latch was put where the client is or may come.
    LatchSet {
        /// Whose.
        client: ClientId,
        /// Where.
        at: LatchPoint,
    },
    /// A latch that the client had not reached was taken away.
    LatchRemoved {
        /// Whose.
        client: ClientId,
        /// Where.
        at: LatchPoint,
    },
    /// A client paused on a latch.
    Paused {
        /// Which client.
        client: ClientId,
        /// Where.
        at: LatchPoint,
    },
    /// A client's latch was opened.
    Resumed {
        /// Which client.
        client: ClientId,
    },
    /// A client crashed.
    Crashed {
        /// Which client.
        client: ClientId,
    },
    /// A client began a run or an attempt from the top.
    Started {
        /// Which client.
        client: ClientId,
        /// What `{me}` is in this attempt.
        me: String,
    },
    /// A client waits on its own timer before it goes on.
    Slept {
        /// Which client.
        client: ClientId,
        /// How long, in milliseconds.
        milliseconds: u64,
    },
    /// A client's own timer ran out.
    Woke {
        /// Which client.
        client: ClientId,
    },
    /// A client gave its run up and goes on with these steps, which may compensate for what it did.
    Aborted {
        /// Which client.
        client: ClientId,
        /// The steps that it will take.
        steps: Vec<usize>,
    },
    /// A client's run ended; `finished` tells whether it came to its end or stopped before.
    Ended {
        /// Which client.
        client: ClientId,
        /// Whether the run was finished.
        finished: bool,
        /// Why a run ended that was not, in a few words.
        why: Option<String>,
    },
    /// A server crashed; its connections are closed.
    ServerCrashed {
        /// Which server.
        server: ServerId,
    },
    /// A server is there again.
    ServerRestarted {
        /// Which server.
        server: ServerId,
        /// Whether with its data.
        keeps_data: bool,
    },
    /// A request found its server down: nothing came back.
    Unreachable {
        /// Whose.
        who: Who,
        /// As which step; `None` at a console.
        step: Option<usize>,
        /// Which server.
        server: Server,
    },
    /// A replica received what its primary did; the changes of keys follow.
    Replicated {
        /// The primary.
        from: ServerId,
        /// The replica.
        to: ServerId,
        /// How many commands.
        commands: usize,
    },
    /// A replica became the primary.
    FailedOver {
        /// The primary that was.
        from: ServerId,
        /// The primary that is.
        to: ServerId,
        /// How many commands the new one had not received.
        lost: usize,
    },
    /// A client counted a server's vote for a lock.
    Voted {
        /// Which client.
        client: ClientId,
        /// For which lock.
        key: Vec<u8>,
        /// How many it has now.
        votes: usize,
    },
    /// A clock jumped, and no time passed.
    ClockJumped {
        /// Whose.
        clock: ClockOf,
        /// How far, in milliseconds; forward where it is positive.
        milliseconds: i64,
    },
    /// A client's clock goes at another rate from now on.
    ClockRateSet {
        /// Whose.
        client: ClientId,
        /// How many milliseconds it goes on in a second.
        permille: u32,
    },
    /// By the client's own clock, which jumped or goes at another rate, a belief has another deadline.
    UntilMoved {
        /// Whose belief.
        client: ClientId,
        /// In which lock.
        key: Vec<u8>,
        /// When its own clock will say that the deadline has come, in milliseconds since the start, if it goes on as it does now.
        until: u64,
    },
    /// Time passed for everybody.
    TimePassed {
        /// How much, in milliseconds.
        milliseconds: u64,
    },
    /// The action was not possible and changed nothing.
    Refused {
        /// Why, in a sentence.
        why: String,
    },
}

impl From<SqlValue> for Value {
    fn from(value: SqlValue) -> Value {
        match value {
            SqlValue::Null => Value::Null,
            other => match other.as_integer() {
                Some(integer) => Value::Integer(integer),
                None => Value::Text(other.to_string().into_bytes()),
            },
        }
    }
}

impl From<Value> for SqlValue {
    /// As drivers send it: text as text, also where it looks like a number.
    fn from(value: Value) -> SqlValue {
        match value {
            Value::Null => SqlValue::Null,
            Value::Integer(integer) => SqlValue::Integer(integer),
            Value::Text(bytes) => SqlValue::Text(String::from_utf8_lossy(&bytes).as_ref().into()),
        }
    }
}
