//! One choice of whoever drives the world: everything that can happen, and nothing else can.

use super::client::protocol::Request;

/// The place of a client in the order in which the scenario names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub usize);

/// The place of a Redis-like server in the order in which the scenario names them. A scenario that names none has one, the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerId(pub usize);

impl ServerId {
    /// The first server, which is the only one where the scenario names none.
    pub const FIRST: ServerId = ServerId(0);
}

/// Whose clock is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClockOf {
    /// A Redis-like server's wall clock, by which its keys have their deadlines.
    Server(ServerId),
    /// The database's wall clock, which `NOW()` reads.
    Database,
    /// A client's own clock, by which it counts how long it holds a lock.
    Client(ClientId),
}

/// Where a latch is: on which side of which step (an index into the client's protocol).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LatchPoint {
    /// The request has not been sent.
    Before(usize),
    /// The server has done it, and the client has not seen the reply.
    After(usize),
}

/// One half of a request's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Leg {
    /// From the client to the server.
    Request,
    /// From the server back.
    Reply,
}

/// Who types at a console, or runs a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Who {
    /// A client, on its own connections.
    Client(ClientId),
    /// Somebody from outside, on connections of their own.
    Operator,
}

/// One choice. An action that is not possible now changes nothing and is answered with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// `A acquire`: the client sends its next step, which has this index, and sees the reply, unless a latch or
    /// the server makes it wait.
    Step {
        /// Whose step.
        client: ClientId,
        /// Which step it has to be.
        step: usize,
    },
    /// `pause A before token`, `pause A after token`, `pause A`: the client pauses when it comes there, or where it is.
    Pause {
        /// Who pauses.
        client: ClientId,
        /// Where; `None` is where it is now.
        at: Option<LatchPoint>,
    },
    /// `resume A`, `resume A before token`: opens the latch on which the client waits, or the one that is named.
    Resume {
        /// Who goes on.
        client: ClientId,
        /// Which latch; `None` is the one on which it waits.
        at: Option<LatchPoint>,
    },
    /// `crash A`: the client is gone with all that it knew; its connections close.
    Crash {
        /// Who crashes.
        client: ClientId,
    },
    /// `restart A`: a crashed client starts its protocol from the top, with a fresh `{me}`.
    Restart {
        /// Who restarts.
        client: ClientId,
    },
    /// `lose A token`: the reply to this step is lost, be it in flight or about to be made.
    LoseReply {
        /// Whose reply.
        client: ClientId,
        /// To which step.
        step: usize,
    },
    /// `lose request A token`: the request of this step is lost, be it under way or about to be sent.
    LoseRequest {
        /// Whose request.
        client: ClientId,
        /// Which step.
        step: usize,
    },
    /// `delay request A token`, `delay reply A token`: the client sends this step, and the request, or the reply to it, stays under
    /// way until it is delivered or lost.
    Delay {
        /// Whose.
        client: ClientId,
        /// Which step.
        step: usize,
        /// What is delayed.
        leg: Leg,
    },
    /// `deliver A token`: what is under way for this step arrives, the oldest first.
    Deliver {
        /// Whose.
        client: ClientId,
        /// Which step.
        step: usize,
    },
    /// `clock +10001ms`: time passes for everybody.
    Advance {
        /// How much, in milliseconds.
        milliseconds: u64,
    },
    /// `clock to next deadline`: time passes until one millisecond after the next deadline of a key, or to the end of the
    /// next wait, whichever comes first.
    AdvanceToNextDeadline,
    /// `clock of store +5s`, `clock of A -300ms`: one clock jumps, and no time passes.
    ClockJump {
        /// Whose.
        clock: ClockOf,
        /// How far, in milliseconds; forward where it is positive.
        milliseconds: i64,
    },
    /// `clock of A runs at 90%`: a client's clock goes faster or slower than time from now on.
    ClockRate {
        /// Whose.
        client: ClientId,
        /// How many milliseconds it goes on in a second; 1000 is right.
        permille: u32,
    },
    /// `expire lock:sku-1`: the key's deadline passes now.
    ExpireNow {
        /// On which server.
        server: ServerId,
        /// Which key.
        key: Vec<u8>,
    },
    /// `wipe fence:sku-1`: the key is lost.
    Wipe {
        /// On which server.
        server: ServerId,
        /// Which key.
        key: Vec<u8>,
    },
    /// `evict lock:sku-1`: memory is full, and the server evicts this key.
    Evict {
        /// On which server.
        server: ServerId,
        /// Which key.
        key: Vec<u8>,
    },
    /// `crash r1`: the server is down, and its connections are closed.
    CrashServer {
        /// Which server.
        server: ServerId,
    },
    /// `restart r1`, `restart r1 without data`: the server is there again.
    RestartServer {
        /// Which server.
        server: ServerId,
        /// Whether its disk has all that it had written.
        keeps_data: bool,
    },
    /// `replicate to copy`, `replicate 1 command to copy`: a replica receives what its primary did.
    Replicate {
        /// Which replica.
        to: ServerId,
        /// How many commands; `None`: all.
        commands: Option<u64>,
    },
    /// `failover to copy`: a replica becomes the primary; what it had not received is lost.
    Failover {
        /// Which replica.
        to: ServerId,
    },
    /// `operator> GET k`, `A> GET k`: a command or statement typed at a console.
    Command {
        /// Who types it.
        who: Who,
        /// What is typed, as it is typed.
        source: String,
        /// What is typed, read.
        request: Request,
    },
}
