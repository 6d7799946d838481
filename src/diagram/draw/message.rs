//! Requests and replies: to a server and back, at once, late, or never.

use crate::diagram::layout::MOST_DRAWN;
use crate::diagram::part::{Ended, Fate, Fault, Kind, Lane, PartId, Way};
use crate::diagram::{Slot, words};
use crate::sim::action::{ClientId, LatchPoint, Leg, Who};
use crate::sim::database::SqlReply;
use crate::sim::event::{Answer, Event, Fact, Server};

use super::Pen;

impl Pen<'_> {
    pub(super) fn sent(
        &mut self,
        (who, step): (Who, Option<usize>),
        server: Server,
        text: &str,
        way: Way,
        causes: Vec<PartId>,
    ) {
        let first = match server {
            Server::Gateway => Some(&mut self.diagram.first_at_gateway),
            Server::Database => Some(&mut self.diagram.first_at_table),
            _ => None,
        };
        if let Some(first) = first {
            *first = first.or(self.action);
        }
        let lanes = (Lane::of(who), Lane::of_server(server, who));
        let kind = Kind::Request {
            who,
            step,
            server,
            text: text.to_string(),
            way,
        };
        let request = self.arrow(lanes, kind, words::request(server, text), causes);
        let slot = match (way, who, step) {
            (Way::ArrivingLate, Who::Client(client), _) => Slot::Late(client),
            _ => Slot::Asked(who, step.is_some()),
        };
        self.diagram.open(slot, request);
    }

    /// A request that had been under way comes to its server.
    pub(super) fn arrived(
        &mut self,
        client: ClientId,
        step: usize,
        server: Server,
        text: &str,
        late: bool,
    ) {
        let who = Who::Client(client);
        let (slot, way) = match late {
            true => (Slot::GivenUp(client, step), Way::ArrivingLate),
            false => (Slot::Asked(who, true), Way::Arriving),
        };
        let causes = self.diagram.close(slot).into_iter().collect();
        self.sent((who, Some(step)), server, text, way, causes);
    }

    /// A server answers on a connection that the client has closed.
    pub(super) fn answered_nobody(
        &mut self,
        client: ClientId,
        step: usize,
        server: Server,
        answer: &Answer,
    ) {
        let who = Who::Client(client);
        let asked = self.diagram.close(Slot::Late(client));
        let mut causes: Vec<PartId> = asked.into_iter().collect();
        causes.extend(self.done_for(who));
        let text = answer.print_short();
        let label = words::short(&text);
        let kind = Kind::Reply {
            who,
            step: Some(step),
            server,
            answer: text,
            fate: Fate::Unseen,
        };
        self.arrow(
            (Lane::of_server(server, who), Lane::of(who)),
            kind,
            label,
            causes,
        );
        for counter in 0..self.diagram.counters.len() {
            self.diagram.close(Slot::Drawn(client, counter));
        }
    }

    /// A client gives up waiting: what it asked for may still come.
    pub(super) fn timed_out(&mut self, client: ClientId, step: usize, closes: bool) {
        let who = Who::Client(client);
        self.end_bar(Slot::Wait(who, true), Ended::TimedOut);
        let asked = self.diagram.close(Slot::Asked(who, true));
        if let Some(asked) = asked {
            self.diagram.open(Slot::GivenUp(client, step), asked);
        }
        let held = self.diagram.close(Slot::Held(client));
        let token = held.and_then(|held| self.diagram.part(held)?.token);
        if let Some(token) = token {
            self.drop_tokens(client, Some(token));
        }
        self.network_fault(client, Fault::TimeOut(step, closes), "gives up waiting");
    }

    /// A message comes to a client.
    pub(super) fn messaged(
        &mut self,
        client: ClientId,
        server: Server,
        channel: &[u8],
        message: &[u8],
    ) {
        let who = Who::Client(client);
        self.end_bar(Slot::Wait(who, true), Ended::Answered);
        let message = String::from_utf8_lossy(message).into_owned();
        let label = words::short(&message);
        let kind = Kind::Message {
            client,
            server,
            channel: String::from_utf8_lossy(channel).into_owned(),
            message,
        };
        let causes = self.done.iter().map(|(_, part)| *part).collect();
        let arrow = self.arrow(
            (Lane::of_server(server, who), Lane::Client(client)),
            kind,
            label,
            causes,
        );
        self.seen.insert(client, arrow);
    }

    /// A request found its server down.
    pub(super) fn unreachable(&mut self, who: Who, step: Option<usize>, server: Server) {
        let asked = self.diagram.close(Slot::Asked(who, step.is_some()));
        let lane = Lane::of_server(server, who);
        let kind = Kind::Fault(Fault::Unreachable);
        let mark = self.mark(lane, kind, "is down", asked.into_iter().collect());
        self.fault = Some(mark);
        if let Who::Client(client) = who {
            self.seen.insert(client, mark);
        }
    }

    pub(super) fn network_fault(&mut self, client: ClientId, fault: Fault, label: &str) {
        let mark = self.mark(Lane::Client(client), Kind::Fault(fault), label, Vec::new());
        self.fault = Some(mark);
        self.seen.insert(client, mark);
    }

    fn done_for(&mut self, who: Who) -> Vec<PartId> {
        self.done
            .extract_if(.., |(of, _)| *of == who)
            .map(|(_, part)| part)
            .collect()
    }

    pub(super) fn script_called(
        &mut self,
        events: &[Event],
        who: Who,
        argv: &[Vec<u8>],
        reply: String,
    ) {
        self.calls += 1;
        let causes = self.causes(Some(who));
        let call = if self.calls <= MOST_DRAWN {
            let words: Vec<_> = argv
                .iter()
                .map(|word| String::from_utf8_lossy(word))
                .collect();
            let text = words.join(" ");
            let label = words::request(Server::Store(self.server), &text);
            self.mark(
                Lane::Store(self.server),
                Kind::Call { who, text, reply },
                label,
                causes,
            )
        } else if self.calls == MOST_DRAWN + 1 {
            let all = events
                .iter()
                .filter(|event| matches!(event.fact, Fact::ScriptCalled { .. }));
            let more = all.count() - MOST_DRAWN;
            self.mark(
                Lane::Store(self.server),
                Kind::More(more),
                format!("and {more} more"),
                causes,
            )
        } else {
            return;
        };
        self.done.push((who, call));
    }

    pub(super) fn waits(&mut self, who: Who, server: Server) {
        let is_step = !self.diagram.open.contains_key(&Slot::Asked(who, false));
        let kind = Kind::Wait { who, server };
        let causes = self.causes(Some(who));
        self.bar(
            Slot::Wait(who, is_step),
            Lane::of(who),
            kind,
            "waits",
            causes,
        );
    }

    pub(super) fn answered(
        &mut self,
        who: Who,
        step: Option<usize>,
        server: Server,
        answer: &Answer,
        fate: Fate,
    ) {
        let is_step = step.is_some();
        self.end_bar(Slot::Wait(who, is_step), Ended::Answered);
        let asked = self.diagram.close(Slot::Asked(who, is_step));
        let mut causes: Vec<PartId> = asked.into_iter().collect();
        if let Answer::Database(SqlReply::Rows { rows, .. }) = answer {
            causes.push(self.read(who, asked, rows.len(), &answer.print_short()));
        }
        causes.extend(self.done_for(who));
        let text = answer.print_short();
        let label = words::short(&text);
        let lanes = (Lane::of_server(server, who), Lane::of(who));
        let kind = Kind::Reply {
            who,
            step,
            server,
            answer: text,
            fate,
        };
        let reply = self.arrow(lanes, kind, label, causes);
        if let (Who::Client(client), true) = (who, is_step) {
            self.on_its_way(client, reply, fate);
        }
    }

    pub(super) fn read(
        &mut self,
        who: Who,
        asked: Option<PartId>,
        rows: usize,
        answer: &str,
    ) -> PartId {
        let request = asked.and_then(|asked| self.diagram.part(asked));
        let at_once = request.filter(|request| request.action == self.action);
        let y = at_once.map_or(self.y, |request| request.bottom);
        let mut part = self.part(
            Lane::Table,
            Kind::Read { who, rows },
            words::short(answer),
            asked.into_iter().collect(),
        );
        (part.top, part.bottom) = (y, y);
        self.diagram.push(part)
    }

    /// A reply to a step: is it seen, does it carry a token that was just drawn?
    pub(super) fn on_its_way(&mut self, client: ClientId, reply: PartId, fate: Fate) {
        match fate {
            Fate::Seen => {
                self.seen.insert(client, reply);
            }
            Fate::Held | Fate::Delayed => self.diagram.open(Slot::Held(client), reply),
            Fate::Lost | Fate::Unseen => {}
        }
        for counter in 0..self.diagram.counters.len() {
            let Some(drawn) = self.diagram.close(Slot::Drawn(client, counter)) else {
                continue;
            };
            if let (Kind::Token { token, .. }, true) = (
                &self.diagram.parts[drawn.0 as usize].kind,
                fate != Fate::Lost,
            ) {
                let token = *token;
                self.diagram.parts[reply.0 as usize].token = Some(token);
                self.hand(client, counter, token, vec![drawn, reply]);
                if fate == Fate::Seen {
                    self.token_at_client(client, token, reply);
                }
            }
        }
    }

    pub(super) fn delivered(&mut self, client: ClientId, step: usize, answer: &Answer) {
        let lost = *answer == Answer::Lost;
        if lost {
            self.end_bar(Slot::Paused(client), Ended::Lost);
        }
        let held = self.diagram.close(Slot::Held(client));
        let reply = held.and_then(|held| self.diagram.part(held));
        let (lane, token) = reply.map_or((Lane::Client(client), None), |reply| {
            (reply.lane, reply.token)
        });
        let text = answer.print_short();
        let label = if lost {
            String::new()
        } else {
            words::short(&text)
        };
        let kind = Kind::Delivery {
            client,
            step,
            answer: text,
            lost,
        };
        let causes = held.or(self.fault).into_iter().collect();
        let delivery = self.arrow((lane, Lane::Client(client)), kind, label, causes);
        self.seen.insert(client, delivery);
        let Some(token) = token else { return };
        if lost {
            self.drop_tokens(client, Some(token));
        } else {
            self.diagram.parts[delivery.0 as usize].token = Some(token);
            self.token_at_client(client, token, delivery);
        }
    }

    pub(super) fn reply_lost(&mut self, client: ClientId, step: usize) {
        let kind = Kind::Fault(Fault::LoseReply(step));
        let fault = self.mark(Lane::Client(client), kind, "reply lost", Vec::new());
        self.fault = Some(fault);
        self.seen.insert(client, fault);
    }
}

/// What becomes of the reply that is made here.
pub(super) fn fate_of(events: &[Event], place: usize, who: Who, step: Option<usize>) -> Fate {
    let (Who::Client(client), Some(step)) = (who, step) else {
        return Fate::Seen;
    };
    let told = events[place + 1..]
        .iter()
        .find_map(|event| match &event.fact {
            Fact::ReplyLost {
                client: of,
                step: to,
            } if (*of, *to) == (client, step) => Some(Fate::Lost),
            Fact::Delayed {
                client: of,
                step: to,
                leg: Leg::Reply,
            } if (*of, *to) == (client, step) => Some(Fate::Delayed),
            Fact::Saw {
                client: of,
                step: to,
                ..
            } if (*of, *to) == (client, step) => Some(Fate::Seen),
            Fact::Paused {
                client: of,
                at: LatchPoint::After(to),
            } if (*of, *to) == (client, step) => Some(Fate::Held),
            _ => None,
        });
    told.unwrap_or(Fate::Seen)
}

/// What becomes of the request that is sent here.
pub(super) fn way_of(events: &[Event], place: usize) -> Way {
    match events.get(place + 1).map(|event| &event.fact) {
        Some(Fact::Delayed {
            leg: Leg::Request, ..
        }) => Way::Delayed,
        Some(Fact::RequestLost { .. }) => Way::Lost,
        _ => Way::Straight,
    }
}

/// Whether the same action told before why the client hears nothing: it gave up waiting, or the server is down.
pub(super) fn is_given_up(events: &[Event], place: usize, client: ClientId) -> bool {
    events[..place].iter().any(|event| match &event.fact {
        Fact::TimedOut { client: of, .. } => *of == client,
        Fact::Unreachable { who, .. } => *who == Who::Client(client),
        _ => false,
    })
}
