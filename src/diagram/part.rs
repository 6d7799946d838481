//! What the picture is made of: bars, arrows and marks, each in a lane, each with its causes.

use crate::property::Reason;
use crate::sim::action::{ClientId, ClockOf, LatchPoint, ServerId, Who};
use crate::sim::event::{BeliefEnd, Server};

/// Names a part: its place in the order in which the parts were drawn. Stable while the diagram grows; a diagram that was
/// truncated gives the places again to what comes then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartId(pub u32);

/// A vertical line of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// A client.
    Client(ClientId),
    /// A Redis-like server.
    Store(ServerId),
    /// The database's table or tables.
    Table,
    /// The card gateway.
    Gateway,
    /// Whoever acts from outside: consoles of the operator, keys wiped and expired.
    Operator,
}

impl Lane {
    /// Where somebody stands.
    pub fn of(who: Who) -> Lane {
        match who {
            Who::Client(client) => Lane::Client(client),
            Who::Operator => Lane::Operator,
        }
    }

    /// Where a server stands; the client's own clock is in the client's lane.
    pub fn of_server(server: Server, who: Who) -> Lane {
        match server {
            Server::Store(server) => Lane::Store(server),
            Server::Database => Lane::Table,
            Server::Gateway => Lane::Gateway,
            Server::Client => Lane::of(who),
        }
    }
}

/// One thing that is drawn.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// What it is.
    pub kind: Kind,
    /// In which lane it stands; an arrow begins here.
    pub lane: Lane,
    /// Where it leads, an arrow or a fault; [`Part::lane`] for everything else, and for a look at one's own clock.
    pub to: Lane,
    /// Where it begins.
    pub top: i32,
    /// Where a mark or an arrow ends. A bar ends at [`Part::end`].
    pub bottom: i32,
    /// The time at its top, in milliseconds since the start.
    pub at: u64,
    /// The place of its action in the schedule, from 0; `None`: it was there before the schedule.
    pub action: Option<usize>,
    /// The place of its event among those of its action.
    pub event: usize,
    /// A few words to draw beside it; may be empty.
    pub label: String,
    /// Which fencing token an arrow carries.
    pub token: Option<i64>,
    /// How a bar ended; `None`: it goes on, or it is no bar.
    pub end: Option<End>,
    /// What brought it about, in the order in which it was drawn.
    pub causes: Vec<PartId>,
}

/// The end of a bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct End {
    /// Where.
    pub y: i32,
    /// When, in milliseconds since the start.
    pub at: u64,
    /// The place of the action that ended it.
    pub action: usize,
    /// How.
    pub how: Ended,
}

/// How a bar ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ended {
    /// A lease: see there.
    Lease(LeaseEnd),
    /// A belief: why.
    Belief(BeliefEnd),
    /// A stale holder no longer believes.
    NoBelief,
    /// A stale holder has a lease again.
    LeasedAgain,
    /// A belief: the client's clock gives it another deadline from there on.
    ClockMoved,
    /// The latch was opened.
    Resumed,
    /// The reply that waited at the latch was lost.
    Lost,
    /// The client crashed.
    Crashed,
    /// The client was restarted.
    Restarted,
    /// The timer ran out.
    Woke,
    /// The server answered.
    Answered,
    /// The client gave up waiting.
    TimedOut,
    /// A token came as far as this write.
    Used,
}

/// How a lease ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeaseEnd {
    /// Its holder gave it up.
    Released,
    /// Its deadline passed.
    Lapsed,
    /// Its deadline passed as the server's clock jumped.
    ClockJumped,
    /// Its deadline was made to pass.
    Expired,
    /// The key was lost.
    Wiped,
    /// The key was evicted.
    Evicted,
    /// The server came back without it.
    DataLost,
    /// The primary had it no more.
    Replicated,
    /// Somebody else deleted the key.
    DeletedBy(Who),
    /// Somebody wrote another value into the key.
    OverwrittenBy(Who),
}

/// Whom the store names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Holder {
    /// A client took the lock, or the value is a client's `{me}`.
    Client(ClientId),
    /// Nobody that the picture has a lane for.
    Other,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// It came to the server at once.
    Straight,
    /// It stayed under way; another part tells its arrival.
    Delayed,
    /// It had been under way, and came now.
    Arriving,
    /// It had been under way, and came now, on a connection that the client had closed.
    ArrivingLate,
    /// It was lost.
    Lost,
}

/// What became of a server's reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// It was seen at once.
    Seen,
    /// It waits at the latch behind its step; a [`Kind::Delivery`] may follow.
    Held,
    /// It stayed under way; a [`Kind::Delivery`] may follow.
    Delayed,
    /// The client had closed the connection.
    Unseen,
    /// It was lost on its way.
    Lost,
}

/// The verdict on a write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WriteVerdict {
    /// A row was written.
    Accepted,
    /// A row was written by a stale holder.
    StaleAccepted,
    /// No row was written, and why.
    Rejected(Vec<Reason>),
    /// A stale holder's write was rejected, and why.
    StaleRejected(Vec<Reason>),
    /// The table is not watched, or the transaction has not been committed.
    Unjudged,
}

/// Where a token's number stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenPlace {
    /// At the counter that it was drawn from.
    Drawn,
    /// At the client that was handed it.
    Client,
    /// At the row that it was written to or compared with.
    Row,
}

/// What happened to a key without a holder or a token coming of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyMark {
    /// It was there before the schedule.
    Preset,
    /// A command wrote it, or deleted it.
    Written,
    /// Its deadline passed.
    Lapsed,
    /// Its deadline passed as the server's clock jumped.
    ClockJumped,
    /// Its deadline was made to pass.
    Expired,
    /// It was lost.
    Wiped,
    /// It was evicted.
    Evicted,
    /// The server came back without it.
    DataLost,
    /// The primary had written or deleted it.
    Replicated,
}

/// What somebody from outside did to the world.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A key's deadline was made to pass.
    Expire(String),
    /// A key was lost.
    Wipe(String),
    /// A clock jumped.
    ClockJump {
        /// Whose.
        clock: ClockOf,
        /// How far, in milliseconds.
        milliseconds: i64,
    },
    /// A client's clock goes at another rate.
    ClockRate {
        /// How many milliseconds in a second.
        permille: u32,
    },
    /// A key was evicted.
    Evict(String),
    /// A server crashed.
    CrashServer,
    /// A server is there again, with its data or without.
    RestartServer(bool),
    /// A request found its server down.
    Unreachable,
    /// A replica received so many commands of this primary.
    Replicate(ServerId, usize),
    /// A replica took over from this primary, and had not received so many commands.
    Failover(ServerId, usize),
    /// A client crashed.
    Crash,
    /// The reply to the step with this index was lost.
    LoseReply(usize),
    /// The request of the step with this index was lost.
    LoseRequest(usize),
    /// The client gave up waiting for the reply to the step with this index, and closed the connection or not.
    TimeOut(usize, bool),
    /// The reply to the step with this index came to a connection that the client had closed.
    TooLate(usize),
}

/// What a client's run came to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Run {
    /// An attempt began, with this `{me}`.
    Started(String),
    /// It came to its end.
    Finished,
    /// It ended before, and why, where that is known.
    Stopped(Option<String>),
    /// It gave up and went on with these steps, which may compensate for what it did.
    Aborted(Vec<usize>),
}

/// What was done to a latch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LatchChange {
    /// It was put where the client may come.
    Set,
    /// It was taken away before the client came.
    Removed,
    /// It was opened, and the client went on.
    Opened,
}

/// What a part is. The first eight are bars: they go on until [`Part::end`], or to the bottom of the picture.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// In the store's lane: the store names a holder. The lock's place is its column among several.
    Lease {
        /// Which lock, a place in [`crate::diagram::Diagram::locks`].
        lock: usize,
        /// Whom the store names.
        holder: Holder,
        /// Until when, in milliseconds since the start, as it was taken; `None`: without end.
        deadline: Option<u64>,
    },
    /// In a client's lane: it believes that it holds a lock.
    Belief {
        /// Which client.
        client: ClientId,
        /// Which lock.
        lock: usize,
        /// Until when by its own clock, in milliseconds since the start; `None`: without end.
        until: Option<u64>,
    },
    /// In a client's lane: it believes that it holds a lock, and the store does not say so. The stale holder.
    Gap {
        /// Which client.
        client: ClientId,
        /// Which lock.
        lock: usize,
    },
    /// In a client's lane: it is paused.
    Paused {
        /// Which client.
        client: ClientId,
        /// On which latch.
        at: LatchPoint,
    },
    /// In a client's lane: it has crashed.
    Crashed {
        /// Which client.
        client: ClientId,
    },
    /// In a client's lane: it waits on its own timer.
    Sleep {
        /// Which client.
        client: ClientId,
        /// How long, in milliseconds.
        milliseconds: u64,
    },
    /// In the lane of whoever asked: a server makes it wait.
    Wait {
        /// Who waits.
        who: Who,
        /// Where.
        server: Server,
    },
    /// In a client's lane: the way of a token down to its last use; nothing to draw before the first.
    Carry {
        /// Which client.
        client: ClientId,
        /// The token.
        token: i64,
    },
    /// An arrow to a server.
    Request {
        /// From whom.
        who: Who,
        /// As which step; `None` at a console.
        step: Option<usize>,
        /// To which server.
        server: Server,
        /// The whole request.
        text: String,
        /// What became of it.
        way: Way,
    },
    /// An arrow from a server back; one that is held stops short of the client, one that is lost ends in a cross.
    Reply {
        /// To whom.
        who: Who,
        /// To which step; `None` at a console.
        step: Option<usize>,
        /// From which server.
        server: Server,
        /// The whole answer, in its short form.
        answer: String,
        /// What became of it.
        fate: Fate,
    },
    /// The rest of the way of a reply that was held.
    Delivery {
        /// To whom.
        client: ClientId,
        /// To which step.
        step: usize,
        /// The whole answer, in its short form.
        answer: String,
        /// Whether it was lost after all, and ends in a cross.
        lost: bool,
    },
    /// An arrow from a server: a message of a channel.
    Message {
        /// To whom.
        client: ClientId,
        /// From which server.
        server: Server,
        /// The channel.
        channel: String,
        /// The message.
        message: String,
    },
    /// Under a request: a command that its script or transaction ran.
    Call {
        /// Whose.
        who: Who,
        /// The whole command.
        text: String,
        /// The command's reply, in its short form.
        reply: String,
    },
    /// In place of what is too much to draw: how many more there were.
    More(usize),
    /// The end of a lease.
    LeaseEnded {
        /// Which lock.
        lock: usize,
        /// Whose lease it was.
        holder: Holder,
        /// How it ended.
        how: LeaseEnd,
    },
    /// A lease's deadline was changed.
    Renewed {
        /// Which lock.
        lock: usize,
        /// Whose lease it is.
        holder: Holder,
        /// Until when now; `None`: without end.
        deadline: Option<u64>,
    },
    /// A tick on a belief: its deadline by the client's own clock.
    Deadline {
        /// Whose belief.
        client: ClientId,
        /// Which lock.
        lock: usize,
    },
    /// The end of a belief.
    BeliefEnded {
        /// Which client.
        client: ClientId,
        /// Which lock.
        lock: usize,
        /// Why.
        why: BeliefEnd,
    },
    /// A token's number, in a badge.
    Token {
        /// Whose token.
        client: ClientId,
        /// The number.
        token: i64,
        /// Where it stands.
        place: TokenPlace,
    },
    /// A key changed, be it a counter that handed out no token, or any key that was lost.
    Key {
        /// Through whose request; `None`: before the schedule, by time, or by a fault.
        who: Option<Who>,
        /// Which key.
        key: String,
        /// Whether it is a watched counter.
        counter: bool,
        /// What happened.
        how: KeyMark,
        /// Its value then; `None`: it is gone.
        value: Option<String>,
    },
    /// A write.
    Write {
        /// Whose.
        who: Who,
        /// The verdict.
        verdict: WriteVerdict,
        /// Its place among the ledger's entries of its action; `None` for a write that is not judged.
        ledger: Option<usize>,
        /// What it did in a sentence.
        because: String,
        /// What changed in the watched columns, `qty 10 → 9`.
        details: Vec<String>,
    },
    /// A read of rows.
    Read {
        /// Whose.
        who: Who,
        /// How many rows.
        rows: usize,
    },
    /// The end of a transaction.
    Transaction {
        /// Whose.
        who: Who,
        /// Whether it was committed, or rolled back.
        committed: bool,
    },
    /// A card was charged.
    Charge {
        /// Who asked.
        who: Who,
        /// The gateway's name for the charge.
        charge: String,
        /// For which order.
        order: String,
        /// How much; `None`: the gateway recognised an idempotency key and charged nothing.
        amount: Option<u64>,
    },
    /// A charge was given back.
    Refund {
        /// Who asked.
        who: Who,
        /// Which charge.
        charge: String,
        /// Of which order.
        order: String,
    },
    /// A client counted a server's vote.
    Vote {
        /// Which client.
        client: ClientId,
        /// How many it had then.
        votes: usize,
    },
    /// Units were sold.
    Sold {
        /// Who counts them as sold.
        client: ClientId,
        /// How many.
        units: u64,
        /// To which order, where one is known.
        order: Option<String>,
    },
    /// What somebody from outside did; what is done to a key leads from the operator's lane to the store's.
    Fault(Fault),
    /// What was done to a latch.
    Latch {
        /// Whose.
        client: ClientId,
        /// Where.
        at: LatchPoint,
        /// What.
        change: LatchChange,
    },
    /// A client's own timer ran out.
    Woke(ClientId),
    /// What a client's run came to.
    Run(ClientId, Run),
    /// An action that was not possible.
    Refused {
        /// Why.
        why: String,
    },
}

impl Part {
    /// Whether it goes on until its end.
    pub fn is_bar(&self) -> bool {
        matches!(
            self.kind,
            Kind::Lease { .. }
                | Kind::Belief { .. }
                | Kind::Gap { .. }
                | Kind::Paused { .. }
                | Kind::Crashed { .. }
                | Kind::Sleep { .. }
                | Kind::Wait { .. }
                | Kind::Carry { .. }
        )
    }

    /// Whether it leads from lane to lane.
    pub fn is_arrow(&self) -> bool {
        matches!(
            self.kind,
            Kind::Request { .. }
                | Kind::Reply { .. }
                | Kind::Delivery { .. }
                | Kind::Message { .. }
        )
    }

    /// Where it ends in a picture of this height.
    pub fn bottom_in(&self, height: i32) -> i32 {
        match (&self.end, &self.kind) {
            (Some(end), _) => end.y,
            (None, Kind::Carry { .. }) => self.top,
            (None, _) if self.is_bar() => height,
            (None, _) => self.bottom,
        }
    }
}
