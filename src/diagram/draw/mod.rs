//! Reads the events of one action and draws what they tell.
//!
//! Where a client believes that it holds a lock and the store does not say so, a gap is drawn. It is settled after all events
//! that stand at one height, so that giving a lock up, which ends the lease and the belief at once, leaves no gap.

mod belief;
mod client;
mod key;
mod message;
mod token;
mod write;

use crate::property::LedgerEntry;
use crate::sim::action::{Action, ClientId, ClockOf, ServerId, Who};
use crate::sim::event::{Answer, Event, Fact};
use crate::sim::setup::Setup;
use crate::sim::time::in_words;
use crate::sim::world::World;
use crate::sorted::{SortedMap, SortedSet};
use crate::timeline::Entry;

use super::layout;
use super::part::{End, Ended, Fault, KeyMark, Kind, Lane, LatchChange, Part, PartId, Run};
use super::{Diagram, Row, RowKind, Slot, words};

/// Draws the leases and counters that are there before the schedule.
pub(super) fn presets(diagram: &mut Diagram, setup: &Setup) {
    let (world, _) = World::new(setup);
    let mut pen = Pen::new(diagram, setup, None);
    for server in (0..world.stores.len()).map(ServerId) {
        pen.server = server;
        for lock in 0..pen.diagram.locks.len() {
            if let Some(state) = world.store(server).get(&pen.diagram.locks[lock]) {
                pen.begin_lease(lock, None, &state);
            }
        }
        for key in pen.diagram.counters.clone() {
            if let Some(state) = world.store(server).get(&key) {
                pen.key_mark(None, &key, true, KeyMark::Preset, Some(&state));
            }
        }
    }
    diagram.tracked = diagram.locks.len();
    diagram.counting = diagram
        .locks
        .iter()
        .map(|key| setup.servers_of_lock(key))
        .collect();
}

/// Draws one action.
pub(super) fn action(diagram: &mut Diagram, setup: &Setup, entry: &Entry) {
    let place = diagram.rows.len();
    let ticks = ticks_within(diagram, &entry.events);
    let times: Vec<u64> = ticks.iter().map(|(until, ..)| *until).collect();
    let top = diagram.height(place);
    let placed = layout::place(top, entry, &times);
    let before = diagram.rows.last().map(|row| row.at);
    let at = entry
        .events
        .first()
        .map(|event| event.at)
        .or(before)
        .unwrap_or(0);
    diagram.rows.push(Row {
        top,
        height: placed.height,
        at,
        is_new_time: before != Some(at),
        kind: kind_of_row(entry),
        label: words::action(setup, entry),
        parts: diagram.parts.len(),
        undo: diagram.undo.len(),
        locks: diagram.locks.len(),
    });
    let mut pen = Pen::new(diagram, setup, Some(entry));
    pen.at = at;
    pen.y = placed.events.first().copied().unwrap_or(top);
    pen.act_from_outside(entry);
    let mut ticks = ticks.into_iter().zip(placed.ticks).peekable();
    for (place, event) in entry.events.iter().enumerate() {
        while let Some((tick, y)) =
            ticks.next_if(|((until, ..), _)| place > 0 && *until <= event.at)
        {
            pen.tick(tick, y);
        }
        pen.move_to(placed.events[place], event.at);
        pen.event = place;
        pen.draw(entry, place);
    }
    for (tick, y) in ticks {
        pen.tick(tick, y);
    }
    pen.settle();
}

fn kind_of_row(entry: &Entry) -> RowKind {
    match entry.events.first().map(|event| &event.fact) {
        Some(Fact::Refused { .. }) => RowKind::Refused,
        Some(Fact::TimePassed { milliseconds }) => RowKind::Clock {
            milliseconds: *milliseconds,
        },
        _ if entry
            .ledger
            .iter()
            .any(|write| write.stale && write.accepted) =>
        {
            RowKind::Stale
        }
        _ => RowKind::Action,
    }
}

/// The deadlines of beliefs that pass while time does, in order: when, whose, of which lock, and the belief.
type Tick = (u64, ClientId, usize, PartId);

fn ticks_within(diagram: &Diagram, events: &[Event]) -> Vec<Tick> {
    let Some(Event {
        at,
        fact: Fact::TimePassed { milliseconds },
    }) = events.first()
    else {
        return Vec::new();
    };
    let mut ticks: Vec<Tick> = diagram
        .open
        .values()
        .filter_map(|id| match diagram.part(*id)?.kind {
            Kind::Belief {
                client,
                lock,
                until: Some(until),
            } => Some((until, client, lock, *id)),
            _ => None,
        })
        .filter(|(until, ..)| (*at + 1..=*at + *milliseconds).contains(until))
        .collect();
    crate::sorted::sort(&mut ticks);
    ticks
}

/// Draws in one row.
struct Pen<'a> {
    diagram: &'a mut Diagram,
    setup: &'a Setup,
    /// The writes that the action added to the ledger and that are not drawn yet, and their places.
    ledger: Vec<(usize, &'a LedgerEntry)>,
    action: Option<usize>,
    event: usize,
    /// The Redis-like server of which it is told.
    server: ServerId,
    y: i32,
    at: u64,
    /// What servers did for somebody and have not told them yet.
    done: Vec<(Who, PartId)>,
    /// The reply that a client saw last.
    seen: SortedMap<ClientId, PartId>,
    /// What somebody from outside did.
    fault: Option<PartId>,
    /// The ends of leases, by lock.
    ended: SortedMap<usize, PartId>,
    /// The locks whose gaps are to be settled at this height.
    unsettled: SortedSet<usize>,
    calls: usize,
}

impl<'a> Pen<'a> {
    fn new(diagram: &'a mut Diagram, setup: &'a Setup, entry: Option<&'a Entry>) -> Pen<'a> {
        let ledger = entry.map_or(&[][..], |entry| &entry.ledger);
        Pen {
            action: entry.map(|_| diagram.rows.len() - 1),
            diagram,
            setup,
            ledger: ledger.iter().enumerate().collect(),
            event: 0,
            server: ServerId::FIRST,
            y: 0,
            at: 0,
            done: Vec::new(),
            seen: SortedMap::new(),
            fault: None,
            ended: SortedMap::new(),
            unsettled: SortedSet::new(),
            calls: 0,
        }
    }

    fn draw(&mut self, entry: &Entry, place: usize) {
        let events = &entry.events;
        match &events[place].fact {
            Fact::Sent {
                who,
                step,
                server,
                text,
            } => {
                let way = message::way_of(events, place);
                self.sent((*who, *step), *server, text, way, Vec::new());
            }
            Fact::Arrived {
                client,
                step,
                server,
                text,
                late,
            } => self.arrived(*client, *step, *server, text, *late),
            Fact::AnsweredNobody {
                client,
                step,
                server,
                answer,
            } => self.answered_nobody(*client, *step, *server, answer),
            Fact::TimedOut {
                client,
                step,
                closes,
            } => self.timed_out(*client, *step, *closes),
            Fact::Messaged {
                client,
                server,
                channel,
                message,
            } => self.messaged(*client, *server, channel, message),
            Fact::RequestLost { client, step } => {
                self.network_fault(*client, Fault::LoseRequest(*step), "request lost");
            }
            Fact::CameTooLate { client, step } => {
                self.network_fault(*client, Fault::TooLate(*step), "reply too late");
            }
            Fact::Delayed { .. } => {}
            Fact::KeyChanged {
                server,
                who,
                key,
                before,
                after,
                cause,
            } => {
                self.server = *server;
                self.key_changed(*who, key, before.as_ref(), after.as_ref(), *cause);
            }
            Fact::ScriptCalled {
                server,
                who,
                argv,
                reply,
            } => {
                self.server = *server;
                self.script_called(events, *who, argv, reply.print_short());
            }
            Fact::Wrote { who, write } => self.wrote(*who, write),
            Fact::Committed { who } if layout::wrote_before(events, place, *who) => {}
            Fact::Committed { who } => self.transaction(*who, true),
            Fact::RolledBack { who } => self.transaction(*who, false),
            Fact::Waits { who, server } => self.waits(*who, *server),
            Fact::Charged {
                who,
                charge,
                order,
                amount,
            } => self.charged(*who, charge, order, Some(*amount)),
            Fact::ChargeRepeated { who, charge, order } => self.charged(*who, charge, order, None),
            Fact::Refunded { who, charge, order } => self.refunded(*who, charge, order),
            Fact::Answered {
                who,
                step,
                server,
                answer,
            } => {
                let fate = message::fate_of(events, place, *who, *step);
                self.answered(*who, *step, *server, answer, fate);
            }
            Fact::Saw {
                client,
                step,
                answer,
                ..
            } => {
                let is_told =
                    *answer == Answer::Lost && message::is_given_up(events, place, *client);
                if !is_told && !layout::is_answered_before(events, place, *client, *step) {
                    self.delivered(*client, *step, answer);
                }
            }
            Fact::ReplyLost { client, step } => self.reply_lost(*client, *step),
            Fact::Believed {
                client, key, until, ..
            } => self.believed(*client, key, *until),
            Fact::BeliefEnded { client, key, why } => self.belief_ended(*client, key, *why),
            Fact::Drew { client, token } => self.drew(*client, token),
            Fact::Sold {
                client,
                units,
                order,
            } => {
                let kind = Kind::Sold {
                    client: *client,
                    units: *units,
                    order: order.clone(),
                };
                self.client_mark(*client, kind, format!("sells {units}"));
            }
            Fact::LatchSet { client, at } => {
                if !layout::pauses_at_once(events, place, *client, *at) {
                    self.latch(*client, *at, LatchChange::Set);
                }
            }
            Fact::LatchRemoved { client, at } => self.latch(*client, *at, LatchChange::Removed),
            Fact::Paused { client, at } => self.paused(*client, *at),
            Fact::Resumed { client } => self.resumed(*client),
            Fact::Crashed { client } => self.crashed(*client),
            Fact::Started { client, me } => self.started(*client, me),
            Fact::Slept {
                client,
                milliseconds,
            } => self.slept(*client, *milliseconds),
            Fact::Woke { client } => self.woke(*client),
            Fact::Aborted { client, steps } => {
                let compensates = words::compensates(self.setup, *client, steps);
                let label = if compensates { "compensates" } else { "aborts" };
                self.run(*client, Run::Aborted(steps.clone()), label)
            }
            Fact::Ended {
                client,
                finished: true,
                ..
            } => self.run(*client, Run::Finished, "done"),
            Fact::Ended {
                client,
                finished: false,
                why,
            } => {
                self.run(*client, Run::Stopped(why.clone()), "stopped");
            }
            Fact::Refused { why } => self.refused(&entry.action, why),
            Fact::ClockRateSet { client, permille } => {
                let fault = Fault::ClockRate {
                    permille: *permille,
                };
                let label = "runs at ".to_string() + &words::percent(*permille);
                self.mark(Lane::Client(*client), Kind::Fault(fault), label, Vec::new());
            }
            Fact::UntilMoved { client, key, until } => self.until_moved(*client, key, *until),
            Fact::Unreachable { who, step, server } => self.unreachable(*who, *step, *server),
            Fact::ServerCrashed { server } => {
                self.server_fault(*server, Fault::CrashServer, "crashed");
            }
            Fact::ServerRestarted { server, keeps_data } => {
                let label = match keeps_data {
                    true => "restarted",
                    false => "restarted, data lost",
                };
                self.server_fault(*server, Fault::RestartServer(*keeps_data), label);
            }
            Fact::Replicated { from, to, commands } => {
                let fault = Fault::Replicate(*from, *commands);
                let label = format!("{commands} replicated");
                let mark = self.server_fault(*from, fault, &label);
                self.diagram.parts[mark.0 as usize].to = Lane::Store(*to);
            }
            Fact::FailedOver { from, to, lost } => {
                let label = match lost {
                    0 => "takes over".to_string(),
                    lost => format!("takes over, {lost} lost"),
                };
                self.server_fault(*to, Fault::Failover(*from, *lost), &label);
                for place in 0..self.diagram.counting.len() {
                    if let Some(server) = self.diagram.counting[place]
                        .iter_mut()
                        .find(|server| **server == *from)
                    {
                        *server = *to;
                    }
                    self.unsettled.insert(place);
                }
            }
            Fact::Voted { client, votes, .. } => {
                let kind = Kind::Vote {
                    client: *client,
                    votes: *votes,
                };
                self.client_mark(*client, kind, format!("vote {votes}"));
            }
            Fact::ClockJumped { .. }
            | Fact::TimePassed { .. }
            | Fact::Bound { .. }
            | Fact::ScriptLogged { .. } => {}
        }
    }

    // ---- one part ---------------------------------------------------------------------------------------------------

    fn part(&self, lane: Lane, kind: Kind, label: impl Into<String>, causes: Vec<PartId>) -> Part {
        Part {
            kind,
            lane,
            to: lane,
            top: self.y,
            bottom: self.y,
            at: self.at,
            action: self.action,
            event: self.event,
            label: label.into(),
            token: None,
            end: None,
            causes,
        }
    }

    fn mark(
        &mut self,
        lane: Lane,
        kind: Kind,
        label: impl Into<String>,
        causes: Vec<PartId>,
    ) -> PartId {
        if lane == Lane::Operator {
            self.diagram.first_operator = self.diagram.first_operator.or(self.action);
        }
        self.diagram.push(self.part(lane, kind, label, causes))
    }

    fn arrow(
        &mut self,
        lanes: (Lane, Lane),
        kind: Kind,
        label: String,
        causes: Vec<PartId>,
    ) -> PartId {
        let arrow = self.mark(lanes.0, kind, label, causes);
        let part = &mut self.diagram.parts[arrow.0 as usize];
        part.to = lanes.1;
        part.bottom += 5;
        arrow
    }

    /// A mark in a client's lane that comes of what the client saw last.
    fn client_mark(&mut self, client: ClientId, kind: Kind, label: impl Into<String>) -> PartId {
        let causes = self.seen.get(&client).copied().into_iter().collect();
        self.mark(Lane::Client(client), kind, label, causes)
    }

    /// A bar that goes on until its slot is closed.
    fn bar(
        &mut self,
        slot: Slot,
        lane: Lane,
        kind: Kind,
        label: impl Into<String>,
        causes: Vec<PartId>,
    ) {
        let bar = self.mark(lane, kind, label, causes);
        self.diagram.open(slot, bar);
    }

    fn end_bar(&mut self, slot: Slot, how: Ended) -> Option<PartId> {
        let bar = self.diagram.close(slot)?;
        let end = End {
            y: self.y,
            at: self.at,
            action: self.action.unwrap_or(0),
            how,
        };
        self.diagram.end(bar, end);
        Some(bar)
    }

    fn move_to(&mut self, y: i32, at: u64) {
        if y != self.y {
            self.settle();
        }
        (self.y, self.at) = (y, at);
    }

    /// What makes a server do something: somebody's request, or what was done from outside.
    fn causes(&self, who: Option<Who>) -> Vec<PartId> {
        let asked = |who: Who| {
            let open = &self.diagram.open;
            [true, false]
                .into_iter()
                .find_map(|is_step| open.get(&Slot::Asked(who, is_step)))
        };
        who.and_then(asked)
            .copied()
            .or(self.fault)
            .into_iter()
            .collect()
    }

    // ---- actions from outside ---------------------------------------------------------------------------------------

    fn act_from_outside(&mut self, entry: &Entry) {
        let (fault, label, server) = match &entry.action {
            _ if entry.refusal().is_some() => return,
            Action::ClockJump {
                clock,
                milliseconds,
            } => return self.clock_jumps(*clock, *milliseconds),
            Action::Evict { server, key } => (
                Fault::Evict(String::from_utf8_lossy(key).into_owned()),
                "evict",
                *server,
            ),
            Action::ExpireNow { server, key } => (
                Fault::Expire(String::from_utf8_lossy(key).into_owned()),
                "expire",
                *server,
            ),
            Action::Wipe { server, key } => (
                Fault::Wipe(String::from_utf8_lossy(key).into_owned()),
                "wipe",
                *server,
            ),
            _ => return,
        };
        let fault = self.mark(Lane::Operator, Kind::Fault(fault), label, Vec::new());
        self.diagram.parts[fault.0 as usize].to = Lane::Store(server);
        self.fault = Some(fault);
    }

    fn clock_jumps(&mut self, clock: ClockOf, milliseconds: i64) {
        let lane = match clock {
            ClockOf::Server(server) => Lane::Store(server),
            ClockOf::Database => Lane::Table,
            ClockOf::Client(client) => Lane::Client(client),
        };
        let sign = if milliseconds < 0 { '−' } else { '+' };
        let label = format!("clock {sign}{}", in_words(milliseconds.unsigned_abs()));
        let fault = Fault::ClockJump {
            clock,
            milliseconds,
        };
        self.fault = Some(self.mark(lane, Kind::Fault(fault), label, Vec::new()));
    }

    /// What befell a server, in its lane.
    fn server_fault(&mut self, server: ServerId, fault: Fault, label: &str) -> PartId {
        self.server = server;
        let mark = self.mark(Lane::Store(server), Kind::Fault(fault), label, Vec::new());
        self.fault = Some(mark);
        mark
    }

    fn refused(&mut self, action: &Action, why: &str) {
        let kind = Kind::Refused {
            why: why.to_string(),
        };
        self.mark(
            words::actor(action).map_or(Lane::Operator, Lane::of),
            kind,
            "not possible",
            Vec::new(),
        );
    }

    fn tick(&mut self, (until, client, lock, belief): Tick, y: i32) {
        self.move_to(y, until);
        let label = format!("until {}", crate::words::seconds(until));
        self.mark(
            Lane::Client(client),
            Kind::Deadline { client, lock },
            label,
            vec![belief],
        );
    }
}
