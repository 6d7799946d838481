//! Requests that wait for somebody else, replies that never come, and who gives up.

use crate::export::{Refusal, routine};
use crate::sim::action::{Action, ClientId, Who};
use crate::sim::client::protocol::{Argument, Request};
use crate::sim::database::{SqlReply, StatementKind};
use crate::sim::event::{Answer, Event, Fact, Value};
use crate::sim::world::connection_of;
use crate::timeline::Entry;

use super::failures::{is_of_server, waits_for_replicas};
use super::schedule::{Builder, with_values};
use super::{Move, Seen, Waits};

impl<'a> Builder<'a> {
    /// A client's request is not answered at once.
    pub(super) fn waits(&mut self, place: usize, action: &'a Action) -> Result<(), Refusal> {
        let (client, step) = match action {
            Action::Step { client, step } => (*client, *step),
            Action::Command {
                who: Who::Client(client),
                source,
                request,
            } => return self.waits_at_console(place, *client, source, request),
            _ => return self.refused(place, "what waits here is no client's request"),
        };
        let who = Who::Client(client);
        let request = self.request(client, step);
        let (name, label) = (&self.setup.clients[client.0].name, self.label(client, step));
        let routine = self.setup.clients[client.0].protocol.unwrap_or_default();
        let routine = self.routine(routine)?;
        let mut moves = self.run(client, routine, request);
        if let Request::Await(channel) = request {
            let values = &self.timeline.moment(place).world.clients[client.0].variables;
            let channel = match channel {
                Argument::Literal(channel) => channel.clone(),
                Argument::Variable(variable) => match values.get(variable) {
                    Some(Value::Text(channel)) => channel.clone(),
                    _ => Vec::new(),
                },
                _ => Vec::new(),
            };
            moves.push(Move::Listen(label, channel));
        } else if !waits_for_replicas(request) {
            let at = self.where_it_waits(request);
            let answer = self.is_answered_later(place, who)?;
            moves.extend(times_out_soon(request, answer));
            moves.push(Move::Start(label, at));
            self.blocked.insert(client.0, (label, at));
        }
        if !moves.is_empty() {
            self.act(who, moves, format!("{name} waits at {label}"));
        }
        Ok(())
    }

    pub(super) fn waits_at_console(
        &mut self,
        place: usize,
        client: ClientId,
        source: &'a str,
        request: &Request,
    ) -> Result<(), Refusal> {
        let who = Who::Client(client);
        let answer = self.is_answered_later(place, who)?;
        let world = self.timeline.moment(place).world;
        let request = with_values(request, &world.clients[client.0].variables);
        let mut moves = self.catch_up(who, &request);
        let at = self.where_it_waits(&request);
        moves.extend(times_out_soon(&request, answer));
        moves.push(Move::StartAsking {
            source,
            at,
            shape: answer.map_or_else(|| shape_unheard(&request), routine::shape_of),
            request,
        });
        self.blocked.insert(client.0, (source, at));
        let name = &self.setup.clients[client.0].name;
        self.act(who, moves, format!("{name} waits"));
        Ok(())
    }

    pub(super) fn where_it_waits(&self, request: &Request) -> Waits {
        match request {
            Request::Store(server, _) => {
                let server = server.map_or(0, |server| server.0);
                Waits::Redis(self.places.get(server).copied().unwrap_or_default())
            }
            _ => Waits::Database,
        }
    }

    /// The answer that a request that waits gets later on; `None` where its client crashes before, or the schedule is over.
    pub(super) fn is_answered_later(
        &self,
        place: usize,
        who: Who,
    ) -> Result<Option<&'a Answer>, Refusal> {
        for entry in &self.timeline.entries()[place + 1..] {
            if matches!(entry.action, Action::Crash { client } if Who::Client(client) == who) {
                break;
            }
            let answer = entry.events.iter().find_map(|event| match &event.fact {
                Fact::Answered {
                    who: asking,
                    answer,
                    ..
                } if *asking == who => Some(answer),
                _ => None,
            });
            let takes_time = matches!(
                entry.action,
                Action::Advance { .. } | Action::AdvanceToNextDeadline
            );
            match answer {
                Some(_) if is_of_server(&entry.action) => {
                    return self.refused(place, "this waits until a server crashes or another takes over, which no server of a test does");
                }
                Some(answer) if takes_time && !is_lock_wait_timeout(answer) => {
                    return self.refused(
                        place,
                        "this waits until its time is over, and a real server takes that long",
                    );
                }
                Some(answer) => return Ok(Some(answer)),
                None => {}
            }
        }
        Ok(None)
    }

    /// What of a client waits is given up, if anything does.
    pub(super) fn withdraw(&mut self, client: ClientId) -> Vec<Move<'a>> {
        let waits = self.blocked.remove(&client.0);
        waits
            .map(|(what, at)| Move::Withdraw(what, at))
            .into_iter()
            .collect()
    }

    /// The schedule is over, and so is whatever waits.
    pub(super) fn withdraw_all(&mut self) {
        let blocked: Vec<usize> = self.blocked.keys().copied().collect();
        for client in blocked {
            let phrase = format!("{} waits no longer", self.setup.clients[client].name);
            let moves = self.withdraw(ClientId(client));
            self.act(Who::Client(ClientId(client)), moves, phrase);
        }
    }

    /// Whoever has begun something that others could wait for stays connected until all is done.
    pub(super) fn stay_connected(&mut self) {
        let world = self.timeline.moment(self.timeline.len()).world;
        for (client, declaration) in self.setup.clients.iter().enumerate() {
            let who = Who::Client(ClientId(client));
            let is_last = self.last.as_ref().is_some_and(|(last, _)| *last == who);
            if !is_last && world.database.keeps_locks(connection_of(who)) {
                let remark = "Until here the connection keeps what was begun on it.";
                let phrase = format!("{} is done", declaration.name);
                self.act(who, vec![Move::Remark(remark.to_owned())], phrase);
            }
        }
    }

    /// The replies that come to others by what somebody has done.
    pub(super) fn hear(&mut self, place: usize, entry: &'a Entry) {
        for event in &entry.events {
            let Fact::Answered {
                who: Who::Client(client),
                step,
                answer,
                ..
            } = &event.fact
            else {
                continue;
            };
            let Some((what, _)) = self.blocked.remove(&client.0) else {
                continue;
            };
            let name = &self.setup.clients[client.0].name;
            let routine = self.setup.clients[client.0]
                .protocol
                .filter(|_| step.is_some())
                .and_then(|protocol| self.routine(protocol).ok());
            let shape = match routine {
                Some(routine) => self.plan.routines[routine].shape_of(what),
                None => routine::shape_of(answer),
            };
            self.plan.seen.push(Seen {
                who: name,
                what,
                answer,
                is_loose: self.loose.contains(&place),
                shape,
            });
            let phrase = format!("{name} has heard");
            self.act(Who::Client(*client), vec![Move::Hear(what)], phrase);
        }
    }

    /// A client sees the reply to an earlier request, or that there will be none.
    pub(super) fn sees(
        &mut self,
        place: usize,
        client: ClientId,
        step: usize,
        answer: &'a Answer,
        clause: Option<usize>,
    ) -> Result<(), Refusal> {
        let (name, label) = (&self.setup.clients[client.0].name, self.label(client, step));
        if matches!(self.request(client, step), Request::Sleep(_)) {
            return Ok(());
        }
        if *answer != Answer::Lost {
            let phrase = format!("{name} has seen the reply to {label}");
            let request = self.request(client, step);
            let act = match request {
                Request::Await(_) => {
                    self.plan.seen.push(Seen {
                        who: name,
                        what: label,
                        answer,
                        is_loose: false,
                        shape: routine::Shape::Plain,
                    });
                    Move::Step(label)
                }
                _ if waits_for_replicas(request) => Move::Told(label, answer),
                _ => Move::See(label),
            };
            self.act(Who::Client(client), vec![act], phrase);
            return Ok(());
        }
        let moves = self.gives_up(place, client, step, clause)?;
        if !moves.is_empty() {
            let phrase = format!("{name} has given up {label}");
            self.act(Who::Client(client), moves, phrase);
        }
        Ok(())
    }

    /// What a client does who learns that no reply will come. Where it has waited so long by its own timer, its connection is another
    /// one then, which makes a difference where something was begun on it.
    pub(super) fn gives_up(
        &self,
        place: usize,
        client: ClientId,
        step: usize,
        clause: Option<usize>,
    ) -> Result<Vec<Move<'a>>, Refusal> {
        if self.blocked.contains_key(&client.0) {
            return self.refused(
                place,
                "who gives up while a server has the request waiting leaves it there",
            );
        }
        let closes = |event: &Event| match &event.fact {
            Fact::TimedOut {
                client: who,
                closes,
                ..
            } => *who == client && *closes,
            _ => false,
        };
        let entry = self.timeline.entries().get(place);
        let is_closed = entry.is_some_and(|entry| entry.events.iter().any(closes));
        if is_closed && self.begins_something(Who::Client(client)) {
            return self.refused(place, "who gives up waiting gets a new connection, and what was begun on the old one would go on in a test");
        }
        Ok(match clause {
            Some(_) => vec![Move::GiveUp(self.label(client, step))],
            None => Vec::new(),
        })
    }

    /// Whether somebody sends what a connection remembers: transactions, watched keys, locks and settings of a session.
    pub(super) fn begins_something(&self, who: Who) -> bool {
        const REMEMBERED: [&str; 8] = [
            "multi",
            "watch",
            "begin",
            "start",
            "get_lock",
            "autocommit",
            "subscribe",
            "psubscribe",
        ];
        let mut sources: Vec<&str> = Vec::new();
        if let Who::Client(client) = who {
            let steps = self.setup.steps_of(client).iter();
            sources.extend(steps.flat_map(|step| &step.source).map(String::as_str));
        }
        for line in &self.reading.schedule {
            if let Action::Command {
                who: typing,
                source,
                ..
            } = &line.action
                && *typing == who
            {
                sources.push(source);
            }
        }
        let words = sources.iter().flat_map(|text| {
            text.split(|other: char| !other.is_ascii_alphanumeric() && other != '_')
        });
        let mut words = words.map(str::to_ascii_lowercase);
        words.any(|word| REMEMBERED.contains(&word.as_str()))
    }
}

/// Whether the database has given up waiting for a lock.
fn is_lock_wait_timeout(answer: &Answer) -> bool {
    matches!(answer, Answer::Database(SqlReply::Error(error)) if error.to_string().starts_with("ERROR 1205 "))
}

/// Where a wait for a lock lasts until its time is over, that time is made short.
fn times_out_soon<'a>(request: &Request, answer: Option<&Answer>) -> Option<Move<'a>> {
    use StatementKind::{Delete, Insert, Replace, Select, SelectInto, Update};
    let is_of_rows = matches!(request, Request::Database(Ok(statement))
        if matches!(statement.kind(), Select | SelectInto | Insert | Replace | Update | Delete));
    let variable = match is_of_rows {
        true => "innodb_lock_wait_timeout",
        false => "lock_wait_timeout",
    };
    answer
        .is_some_and(is_lock_wait_timeout)
        .then_some(Move::LockWaitTimeout(variable))
}

/// What the reply to a request is like that nobody ever hears.
fn shape_unheard(request: &Request) -> routine::Shape {
    match request {
        Request::Database(Ok(statement)) if statement.kind() == StatementKind::Select => {
            routine::Shape::Rows
        }
        Request::Database(_) => routine::Shape::Affected,
        _ => routine::Shape::Plain,
    }
}
