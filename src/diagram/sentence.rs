//! What each part tells, in one sentence in the past tense.

use std::borrow::Cow;

use crate::sim::action::{ClientId, ClockOf, LatchPoint, Who};
use crate::sim::event::{BeliefEnd, Server};
use crate::sim::setup::Setup;
use crate::sim::time::in_words;
use crate::words::sentence_of;

use super::part::{
    Ended, Fate, Fault, Holder, KeyMark, Kind, Lane, LatchChange, LeaseEnd, Part, PartId, Run,
    TokenPlace, Way,
};
use super::words::{client, compensates, label, percent, point, rows_in_words, somebody};
use super::{Diagram, lane_name};

impl Diagram {
    /// What a part tells, in one sentence in the past tense; empty when there is no such part.
    pub fn sentence(&self, setup: &Setup, part: PartId) -> String {
        let Some(part) = self.part(part) else {
            return String::new();
        };
        let teller = self.teller(setup);
        let end = part
            .end
            .and_then(|end| Some((teller.ending(end.how)?, end.at)));
        match end {
            Some((how, at)) => format!("{}; {how} at {}.", teller.told(part), in_words(at)),
            None => teller.told(part) + ".",
        }
    }

    pub(super) fn teller<'a>(&'a self, setup: &'a Setup) -> Teller<'a> {
        Teller {
            setup,
            locks: &self.locks,
        }
    }
}

/// Whoever tells knows the names.
pub(super) struct Teller<'a> {
    setup: &'a Setup,
    locks: &'a [Vec<u8>],
}

impl Teller<'_> {
    /// What a part tells, without its end and without a full stop.
    pub(super) fn told(&self, part: &Part) -> String {
        sentence_of(
            self.setup,
            &match &part.kind {
                Kind::Lease { .. } | Kind::LeaseEnded { .. } | Kind::Renewed { .. } => {
                    self.lease(part)
                }
                Kind::Belief { .. }
                | Kind::Gap { .. }
                | Kind::Deadline { .. }
                | Kind::BeliefEnded { .. } => self.belief(part),
                Kind::Request { .. }
                | Kind::Reply { .. }
                | Kind::Delivery { .. }
                | Kind::Call { .. }
                | Kind::More(_)
                | Kind::Message { .. }
                | Kind::Wait { .. } => self.message(&part.kind),
                Kind::Paused { .. }
                | Kind::Latch { .. }
                | Kind::Crashed { .. }
                | Kind::Sleep { .. }
                | Kind::Woke(_)
                | Kind::Run(..)
                | Kind::Vote { .. }
                | Kind::Sold { .. } => self.client(&part.kind),
                Kind::Carry { client, token } => {
                    format!("{} had token {token}", self.name(*client))
                }
                Kind::Token {
                    client,
                    token,
                    place,
                } => self.token(*client, *token, *place, &part.label),
                Kind::Key {
                    who,
                    key,
                    counter,
                    how,
                    value,
                } => self.key(*who, key, *counter, *how, value.as_deref()),
                Kind::Write { because, .. } => because.trim_end_matches('.').to_string(),
                Kind::Read { .. }
                | Kind::Transaction { .. }
                | Kind::Charge { .. }
                | Kind::Refund { .. } => self.server(&part.kind),
                Kind::Fault(fault) => {
                    fault_told(self.setup, fault, &lane_name(self.setup, part.lane))
                }
                Kind::Refused { why } => format!("the action was not possible: {why}"),
            },
        )
    }

    fn name(&self, id: ClientId) -> &str {
        client(self.setup, id)
    }

    fn who(&self, who: Who) -> &str {
        somebody(self.setup, who)
    }

    fn step(&self, client: ClientId, step: usize) -> &str {
        label(self.setup, client, step)
    }

    fn point(&self, client: ClientId, at: LatchPoint) -> String {
        point(self.setup, client, at)
    }

    fn lock(&self, lock: usize) -> Cow<'_, str> {
        self.locks
            .get(lock)
            .map_or("the lock".into(), |key| String::from_utf8_lossy(key))
    }

    fn lease(&self, part: &Part) -> String {
        match &part.kind {
            Kind::Lease {
                lock,
                holder,
                deadline,
            } => {
                let holder = match holder {
                    Holder::Client(id) => self.name(*id),
                    Holder::Other => "somebody else",
                };
                let until = deadline.map_or("without a deadline".to_string(), |at| {
                    format!("until {}", in_words(at))
                });
                format!(
                    "{} leased {} to {holder} {until}",
                    server_in_words(self.setup, server_of(part.lane)),
                    self.lock(*lock)
                )
            }
            Kind::LeaseEnded { lock, holder, how } => self.lease_ended(*lock, *holder, *how),
            Kind::Renewed {
                lock,
                holder,
                deadline: Some(deadline),
            } => {
                let lease = self.lease_of(*lock, *holder);
                format!("{lease} was given a new deadline, {}", in_words(*deadline))
            }
            Kind::Renewed { lock, holder, .. } => {
                format!("{} lost its deadline", self.lease_of(*lock, *holder))
            }
            _ => String::new(),
        }
    }

    fn lease_of(&self, lock: usize, holder: Holder) -> String {
        match holder {
            Holder::Client(id) => format!("{}'s lease on {}", self.name(id), self.lock(lock)),
            Holder::Other => format!("the lease on {}", self.lock(lock)),
        }
    }

    fn lease_ended(&self, lock: usize, holder: Holder, how: LeaseEnd) -> String {
        let lease = self.lease_of(lock, holder);
        match how {
            LeaseEnd::Released => format!("{lease} was released"),
            LeaseEnd::Lapsed => format!("{lease} lapsed"),
            LeaseEnd::ClockJumped => {
                format!("{lease} ended, as the server's clock jumped beyond its deadline")
            }
            LeaseEnd::Expired => format!("{lease} ended, as its deadline was made to pass"),
            LeaseEnd::Wiped => format!("{lease} ended, as the key was lost"),
            LeaseEnd::Evicted => format!("{lease} ended, as the key was evicted"),
            LeaseEnd::DataLost => {
                format!("{lease} ended, as the server came back without its data")
            }
            LeaseEnd::Replicated => format!("{lease} ended, as it had on the primary"),
            LeaseEnd::DeletedBy(who) => {
                format!("{lease} ended, as {} deleted the key", self.who(who))
            }
            LeaseEnd::OverwrittenBy(who) => {
                format!("{lease} ended, as {} overwrote the key", self.who(who))
            }
        }
    }

    fn belief(&self, part: &Part) -> String {
        match &part.kind {
            Kind::Belief {
                client,
                lock,
                until,
            } => {
                let until = match until {
                    None => String::new(),
                    Some(until) if *until < part.at => {
                        format!(
                            ", though by its own clock that was over at {}",
                            in_words(*until)
                        )
                    }
                    Some(until) => format!(", until {} by its own clock", in_words(*until)),
                };
                format!(
                    "{} believed that it held {}{until}",
                    self.name(*client),
                    self.lock(*lock)
                )
            }
            Kind::Gap { client, lock } => format!(
                "{} was a stale holder: it believed that it held {}, and the store did not say so",
                self.name(*client),
                self.lock(*lock)
            ),
            Kind::Deadline { client, lock } => format!(
                "by {}'s own clock its time with {} was over; nothing told it to look",
                self.name(*client),
                self.lock(*lock)
            ),
            Kind::BeliefEnded { client, lock, why } => {
                let why = match why {
                    BeliefEnd::Released => "as it gave it up",
                    BeliefEnd::Lost => "as it learned of the loss",
                    BeliefEnd::RunEnded => "as its run ended",
                    BeliefEnd::Crashed => "as it crashed",
                    BeliefEnd::Renewed => "and took it anew",
                };
                format!(
                    "{} no longer believed that it held {}, {why}",
                    self.name(*client),
                    self.lock(*lock)
                )
            }
            _ => String::new(),
        }
    }

    fn message(&self, kind: &Kind) -> String {
        match kind {
            Kind::Request {
                who,
                step,
                server,
                text,
                way,
            } => self.request(*who, *step, *server, text) + way_in_words(*way),
            Kind::Reply {
                who,
                step,
                server,
                answer,
                fate,
            } => self.reply(*who, *step, *server, answer, *fate),
            Kind::Delivery {
                client,
                step,
                lost: true,
                ..
            } => {
                format!(
                    "the reply to {}'s {} was lost",
                    self.name(*client),
                    self.step(*client, *step)
                )
            }
            Kind::Delivery {
                client,
                step,
                answer,
                ..
            } => {
                format!(
                    "{} saw the reply to {}: {answer}",
                    self.name(*client),
                    self.step(*client, *step)
                )
            }
            Kind::Message {
                client,
                channel,
                message,
                ..
            } => format!(
                "a message came to {} on {channel}: {message}",
                self.name(*client)
            ),
            Kind::Call { text, reply, .. } => {
                format!("within it, {text} was answered with {reply}")
            }
            Kind::More(more) => format!("there were {more} more of these"),
            Kind::Wait { who, server } => {
                format!(
                    "{} made {} wait",
                    server_in_words(self.setup, *server),
                    self.who(*who)
                )
            }
            _ => String::new(),
        }
    }

    fn request(&self, who: Who, step: Option<usize>, server: Server, text: &str) -> String {
        let step = match (who, step) {
            (Who::Client(id), Some(step)) => format!("{} ", self.step(id, step)),
            _ => String::new(),
        };
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let text = match text.is_empty() {
            true => "a statement that does not parse".to_string(),
            false => lines.join(" "),
        };
        match server {
            Server::Client => format!("{} asked its own clock: {text}", self.who(who)),
            server => format!(
                "{} sent {step}to {}: {text}",
                self.who(who),
                server_in_words(self.setup, server)
            ),
        }
    }

    fn reply(
        &self,
        who: Who,
        step: Option<usize>,
        server: Server,
        answer: &str,
        fate: Fate,
    ) -> String {
        let fate = match fate {
            Fate::Seen => "",
            Fate::Held => ", and the reply was held at a latch",
            Fate::Delayed => ", and the reply stayed under way",
            Fate::Unseen => ", and nobody saw it, as the connection was closed",
            Fate::Lost => ", and the reply was lost",
        };
        let name = self.who(who);
        match (server, who, step) {
            (Server::Client, _, Some(_)) => {
                format!("{name}'s own clock answered with {answer}{fate}")
            }
            (Server::Client, _, None) => format!("the console answered {name} with {answer}"),
            (server, Who::Client(id), Some(step)) => {
                let step = self.step(id, step);
                format!(
                    "{} answered {name}'s {step} with {answer}{fate}",
                    server_in_words(self.setup, server)
                )
            }
            (server, ..) => format!(
                "{} answered {name} with {answer}",
                server_in_words(self.setup, server)
            ),
        }
    }

    fn client(&self, kind: &Kind) -> String {
        match kind {
            Kind::Paused { client, at } => format!(
                "{} was paused {}",
                self.name(*client),
                self.point(*client, *at)
            ),
            Kind::Latch { client, at, change } => {
                let (name, point) = (self.name(*client), self.point(*client, *at));
                match change {
                    LatchChange::Set => format!("a latch was put {point} of {name}"),
                    LatchChange::Removed => format!("the latch {point} of {name} was taken away"),
                    LatchChange::Opened => format!("{name} was resumed"),
                }
            }
            Kind::Crashed { client } => {
                format!("{} was gone, with all that it knew", self.name(*client))
            }
            Kind::Sleep {
                client,
                milliseconds,
            } => {
                format!(
                    "{} waited on its own timer for {}",
                    self.name(*client),
                    in_words(*milliseconds)
                )
            }
            Kind::Woke(client) => format!("{}'s own timer ran out", self.name(*client)),
            Kind::Run(client, run) => self.run(*client, run),
            Kind::Vote { client, votes } => {
                let votes = match votes {
                    1 => "1 vote".to_string(),
                    votes => format!("{votes} votes"),
                };
                format!("{} counted {votes} for the lock", self.name(*client))
            }
            Kind::Sold {
                client,
                units,
                order,
            } => {
                let order = order
                    .as_ref()
                    .map_or(String::new(), |order| format!(" to {order}"));
                format!("{} counted {units} as sold{order}", self.name(*client))
            }
            _ => String::new(),
        }
    }

    fn run(&self, client: ClientId, run: &Run) -> String {
        let name = self.name(client);
        match run {
            Run::Started(me) => format!("{name} began an attempt as {me}"),
            Run::Finished => format!("{name} came to the end of its run"),
            Run::Stopped(None) => format!("{name} stopped before the end of its run"),
            Run::Stopped(Some(why)) => format!("{name} stopped before the end of its run: {why}"),
            Run::Aborted(steps) => {
                let how = match compensates(self.setup, client, steps) {
                    true => "began to compensate with",
                    false => "went on with",
                };
                let steps: Vec<&str> = steps.iter().map(|step| self.step(client, *step)).collect();
                format!("{name} gave up and {how} {}", steps.join(", "))
            }
        }
    }

    fn token(&self, client: ClientId, token: i64, place: TokenPlace, label: &str) -> String {
        let name = self.name(client);
        match place {
            TokenPlace::Drawn => format!("{name} drew fencing token {token} ({label})"),
            TokenPlace::Client => format!("{name} was handed token {token}"),
            TokenPlace::Row => format!("{name}'s write brought token {token} to the row"),
        }
    }

    fn key(
        &self,
        who: Option<Who>,
        key: &str,
        counter: bool,
        how: KeyMark,
        value: Option<&str>,
    ) -> String {
        let what = if counter {
            "the fencing counter"
        } else {
            "the key"
        };
        let by = who.map_or(String::new(), |who| format!(" by {}", self.who(who)));
        match (how, value) {
            (KeyMark::Preset, value) => {
                format!(
                    "{what} {key} was {} before the schedule",
                    value.unwrap_or("not there")
                )
            }
            (KeyMark::Written, Some(value)) => format!("{what} {key} was set to {value}{by}"),
            (KeyMark::Written, None) => format!("{what} {key} was deleted{by}"),
            (KeyMark::Lapsed, _) => format!("{what} {key} lapsed"),
            (KeyMark::ClockJumped, _) => {
                format!("{what} {key} went, as the server's clock jumped beyond its deadline")
            }
            (KeyMark::Expired, _) => format!("{what} {key} went, as its deadline was made to pass"),
            (KeyMark::Wiped, _) => format!("{what} {key} was lost"),
            (KeyMark::Evicted, _) => format!("{what} {key} was evicted"),
            (KeyMark::DataLost, _) => {
                format!("{what} {key} was lost, as the server came back without its data")
            }
            (KeyMark::Replicated, Some(value)) => {
                format!("{what} {key} was set to {value}, as on the primary")
            }
            (KeyMark::Replicated, None) => format!("{what} {key} was deleted, as on the primary"),
        }
    }

    fn server(&self, kind: &Kind) -> String {
        match kind {
            Kind::Read { who, rows } => format!("{} read {}", self.who(*who), rows_in_words(*rows)),
            Kind::Transaction {
                who,
                committed: true,
            } => {
                format!("the transaction of {} was committed", self.who(*who))
            }
            Kind::Transaction { who, .. } => {
                format!("the transaction of {} was rolled back", self.who(*who))
            }
            Kind::Charge {
                charge,
                order,
                amount: Some(amount),
                ..
            } => {
                format!("the card was charged {amount} for {order} ({charge})")
            }
            Kind::Charge { charge, order, .. } => {
                format!(
                    "the gateway knew the idempotency key and charged nothing more for {order} ({charge})"
                )
            }
            Kind::Refund { charge, order, .. } => {
                format!("the charge {charge} for {order} was given back")
            }
            _ => String::new(),
        }
    }

    /// How a bar ended; `None` where it is no news.
    fn ending(&self, how: Ended) -> Option<String> {
        Some(match how {
            Ended::Lease(LeaseEnd::Released) => "it was released".to_string(),
            Ended::Lease(LeaseEnd::Lapsed) => "it lapsed".to_string(),
            Ended::Lease(LeaseEnd::ClockJumped) => "the server's clock jumped".to_string(),
            Ended::Lease(LeaseEnd::Expired) => "its deadline was made to pass".to_string(),
            Ended::Lease(LeaseEnd::Evicted) => "the key was evicted".to_string(),
            Ended::Lease(LeaseEnd::DataLost) => "the server lost its data".to_string(),
            Ended::Lease(LeaseEnd::Replicated) => "the primary had it no more".to_string(),
            Ended::Lease(LeaseEnd::Wiped) => "the key was lost".to_string(),
            Ended::Lease(LeaseEnd::DeletedBy(who)) => {
                format!("{} deleted the key", self.who(who))
            }
            Ended::Lease(LeaseEnd::OverwrittenBy(who)) => {
                format!("{} overwrote it", self.who(who))
            }
            Ended::Belief(BeliefEnd::Released) => "it gave it up".to_string(),
            Ended::Belief(BeliefEnd::Lost) => "it learned of the loss".to_string(),
            Ended::Belief(BeliefEnd::RunEnded) => "its run ended".to_string(),
            Ended::Belief(BeliefEnd::Crashed) | Ended::Crashed => "it crashed".to_string(),
            Ended::Belief(BeliefEnd::Renewed) => "it took it anew".to_string(),
            Ended::NoBelief => "it stopped believing so".to_string(),
            Ended::LeasedAgain => "it had a lease again".to_string(),
            Ended::Resumed => "it was resumed".to_string(),
            Ended::Lost => "the reply was lost".to_string(),
            Ended::Restarted => "it was restarted".to_string(),
            Ended::Woke | Ended::Used | Ended::ClockMoved => return None,
            Ended::Answered => "the answer came".to_string(),
            Ended::TimedOut => "it gave up waiting".to_string(),
        })
    }
}

/// The server in whose lane a part stands.
fn server_of(lane: Lane) -> Server {
    match lane {
        Lane::Store(server) => Server::Store(server),
        _ => Server::Client,
    }
}

fn clock_in_words(setup: &Setup, clock: ClockOf) -> String {
    match clock {
        ClockOf::Server(server) => {
            "the wall clock of ".to_string() + &server_in_words(setup, Server::Store(server))
        }
        ClockOf::Database => "the wall clock of the database".to_string(),
        ClockOf::Client(id) => format!("the clock of {}", client(setup, id)),
    }
}

fn way_in_words(way: Way) -> &'static str {
    match way {
        Way::Straight => "",
        Way::Delayed => "; it stayed under way",
        Way::Arriving => "; it had been under way, and came now",
        Way::ArrivingLate => {
            "; it had been under way, and came now, when nobody waited for it any more"
        }
        Way::Lost => "; it was lost on its way",
    }
}

fn server_in_words(setup: &Setup, server: Server) -> String {
    match server {
        Server::Store(server) if setup.servers.is_empty() => {
            "the ".to_string() + setup.server_name(server)
        }
        Server::Store(server) => setup.server_name(server).to_string(),
        Server::Database => "the database".to_string(),
        Server::Gateway => "the gateway".to_string(),
        Server::Client => "its own clock".to_string(),
    }
}

fn fault_told(setup: &Setup, fault: &Fault, client: &str) -> String {
    match fault {
        Fault::ClockJump {
            clock,
            milliseconds,
        } => format!(
            "{} jumped {} by {}",
            clock_in_words(setup, *clock),
            if *milliseconds < 0 { "back" } else { "forward" },
            in_words(milliseconds.unsigned_abs())
        ),
        Fault::Evict(key) => format!("the key {key} was evicted, as memory was full"),
        Fault::CrashServer => format!("{client} crashed, and its connections were closed"),
        Fault::RestartServer(true) => format!("{client} was restarted with its data"),
        Fault::RestartServer(false) => format!("{client} was restarted without its data"),
        Fault::Unreachable => format!("{client} was down, and nothing came back"),
        Fault::Replicate(_, 0) => format!("{client} had nothing that the replica lacked"),
        Fault::Replicate(_, 1) => format!("{client} sent 1 command to the replica"),
        Fault::Replicate(_, commands) => {
            format!("{client} sent {commands} commands to the replica")
        }
        Fault::Failover(from, lost) => {
            let from = lane_name(setup, Lane::Store(*from));
            let lost = match lost {
                0 => "nothing was lost".to_string(),
                1 => "1 command was lost that it had not received".to_string(),
                lost => format!("{lost} commands were lost that it had not received"),
            };
            format!("{client} took over from {from}; {lost}")
        }
        Fault::ClockRate { permille } => format!(
            "the clock of {client} ran at {} of its right speed",
            percent(*permille)
        ),
        Fault::Expire(key) => format!("the deadline of {key} was made to pass"),
        Fault::Wipe(key) => format!("the key {key} was lost"),
        Fault::Crash => format!("{client} crashed"),
        Fault::LoseReply(_) => format!("{client} never saw the reply"),
        Fault::LoseRequest(_) => format!("{client}'s request never came to the server"),
        Fault::TimeOut(_, true) => format!(
            "{client} gave up waiting for the reply, closed the connection and opened another one"
        ),
        Fault::TimeOut(_, false) => format!("{client} gave up waiting for a message"),
        Fault::TooLate(_) => {
            format!("the reply came to a connection that {client} had closed, and nobody saw it")
        }
    }
}
