//! The way through a schedule: each action becomes what somebody does, and whoever comes next waits for it.

use std::collections::{BTreeMap, BTreeSet};

use crate::export::claim::{Claim, Evidence, claims};
use crate::export::routine::Routine;
use crate::export::words::done;
use crate::export::{Refusal, routine};
use crate::scenario::Reading;
use crate::sim::action::{Action, ClientId, Leg, ServerId, Who};
use crate::sim::client::protocol::{Argument, Request};
use crate::sim::database::{Statement, Value as SqlValue};
use crate::sim::event::{Answer, Fact, Value};
use crate::sim::setup::{ServerDeclaration, Setup};
use crate::sim::time::{START_OF_WALL_CLOCK, in_words};
use crate::sim::world::connection_of;
use crate::sorted::SortedMap;
use crate::timeline::{Entry, Timeline};

use super::clocks::{
    OwnTime, depends_on_time, lasting, reads_database_clock, reads_time, tells_the_time,
    words_of_requests,
};
use super::failures::{asks_for_replicas, sent_to_store, void_transactions, waits_for_replicas};
use super::{Key, Move, OPERATOR, Part, Plan, Seen, Waits};

pub(super) struct Builder<'a> {
    pub(super) reading: &'a Reading,
    pub(super) setup: &'a Setup,
    pub(super) timeline: &'a Timeline,
    pub(super) plan: Plan<'a>,
    /// Who did something last, and what a latch that waits for it is called.
    pub(super) last: Option<(Who, String)>,
    /// How many attempts each client has begun, and in which the plan has it.
    pub(super) attempts: Vec<(usize, usize)>,
    /// The database's clock, in milliseconds since 1970, and what each part's connection was told of it.
    pub(super) database_now: i64,
    pub(super) told: Vec<Option<i64>>,
    /// How each client's own clock goes.
    pub(super) own: Vec<OwnTime>,
    /// The clients whose request waits, what it is called, and where it waits.
    pub(super) blocked: BTreeMap<usize, (&'a str, Waits)>,
    /// The clients who have a request under way, and in which place of the schedule they have sent it.
    pub(super) under_way: BTreeMap<usize, usize>,
    /// At which place the connections are behind which each server is, which changes when a replica takes over.
    pub(super) places: Vec<usize>,
    /// The replies that depend on time.
    pub(super) loose: BTreeSet<usize>,
    /// The places of transactions that a replica refuses as a whole.
    pub(super) void: BTreeSet<usize>,
    /// Whether somebody looks at times to live.
    pub(super) ages: bool,
    /// The keys that have a deadline in the end.
    pub(super) lasting: Vec<Key>,
    pub(super) script_clock: bool,
    pub(super) database_clock: bool,
}

impl<'a> Builder<'a> {
    pub(super) fn new(reading: &'a Reading, timeline: &'a Timeline) -> Builder<'a> {
        let setup: &Setup = &reading.setup;
        let mut parts: Vec<Part<'a>> = Vec::new();
        for client in &setup.clients {
            parts.push(Part {
                name: &client.name,
                spoken: client.name.clone(),
                moves: Vec::new(),
            });
        }
        parts.push(Part {
            name: OPERATOR,
            spoken: OPERATOR.to_owned(),
            moves: Vec::new(),
        });
        let start = timeline.moment(0).world;
        let stores = start.stores.iter();
        let mut keys: Vec<Vec<u8>> = stores
            .flat_map(|store| store.keys())
            .map(|(key, _)| key.to_vec())
            .collect();
        for event in timeline.entries().iter().flat_map(|entry| &entry.events) {
            if let Fact::KeyChanged { key, .. } = &event.fact {
                keys.push(key.clone());
            }
        }
        crate::sorted::sort(&mut keys);
        keys.dedup();
        let end = timeline.moment(timeline.len()).world;
        let mut tables: Vec<String> = start
            .database
            .tables()
            .chain(end.database.tables())
            .map(|table| table.name().to_owned())
            .collect();
        crate::sorted::sort(&mut tables);
        tables.dedup();
        let claims = claims(setup, timeline);
        let counts_sales = |claim: &Claim| {
            matches!(
                claim.evidence,
                Evidence::ShrunkBySales(..) | Evidence::PaidIsSold | Evidence::SoldIsPaid
            )
        };
        let sells = claims.iter().any(counts_sales);
        let plan = Plan {
            setup,
            statements: setup.statements.iter().map(tidy).collect(),
            title: reading.title.clone(),
            description: &reading.description,
            link: String::new(),
            scripts: Vec::new(),
            routines: Vec::new(),
            servers: names_of_servers(setup),
            parts,
            latches: Vec::new(),
            seen: Vec::new(),
            keys,
            tables,
            claims,
            rows: Vec::new(),
            final_keys: Vec::new(),
            charges: Vec::new(),
            store: false,
            database: false,
            gateway: false,
            sells,
        };
        let words = words_of_requests(reading);
        Builder {
            reading,
            setup,
            timeline,
            plan,
            last: None,
            attempts: vec![(1, 0); setup.clients.len()],
            database_now: i64::try_from(START_OF_WALL_CLOCK).unwrap_or(i64::MAX),
            told: vec![None; setup.clients.len() + 1],
            own: vec![OwnTime::default(); setup.clients.len()],
            blocked: BTreeMap::new(),
            under_way: BTreeMap::new(),
            places: (0..setup.server_count()).collect(),
            loose: depends_on_time(reading, timeline),
            void: void_transactions(timeline),
            ages: [
                "ttl",
                "pttl",
                "gt",
                "lt",
                "keepttl",
                "expiretime",
                "pexpiretime",
            ]
            .iter()
            .any(|word| words.contains(*word)),
            lasting: lasting(&end),
            script_clock: setup
                .scripts
                .values()
                .any(|source| reads_time(&String::from_utf8_lossy(source))),
            database_clock: reads_database_clock(reading),
        }
    }

    pub(super) fn refused<T>(&self, place: usize, why: &str) -> Result<T, Refusal> {
        let line = self.reading.schedule.get(place).map_or(0, |line| line.line);
        Err(Refusal(format!("line {line}: {why}")))
    }

    pub(super) fn entry(&mut self, place: usize, entry: &'a Entry) -> Result<(), Refusal> {
        if let Some(why) = entry.refusal() {
            return self.refused(place, &format!("this is not possible: {why}"));
        }
        if entry.waits() {
            return self.waits(place, &entry.action);
        }
        match &entry.action {
            Action::Step { client, step }
            | Action::LoseRequest { client, step }
            | Action::LoseReply { client, step }
            | Action::Delay { client, step, .. }
            | Action::Deliver { client, step } => self.step(place, entry, *client, *step)?,
            Action::Command {
                who,
                source,
                request,
            } => self.ask(place, entry, *who, source, request)?,
            Action::Crash { client } => {
                self.told[client.0] = None;
                let phrase = format!("{} has crashed", self.setup.clients[client.0].name);
                let mut moves = self.withdraw(*client);
                moves.push(Move::Crash);
                self.act(Who::Client(*client), moves, phrase);
                self.attempts[client.0].1 = 0;
                self.under_way.remove(&client.0);
            }
            Action::Restart { client } => {
                let phrase = format!("{} has come back", self.setup.clients[client.0].name);
                self.act(Who::Client(*client), vec![Move::Restart], phrase);
            }
            Action::Advance { .. } | Action::AdvanceToNextDeadline => self.time(place, entry),
            Action::ExpireNow { server, key } => {
                let lapse = Move::Lapse(self.at(*server, key));
                self.act(Who::Operator, vec![lapse], self.lapsed(key));
            }
            Action::Wipe { server, key } | Action::Evict { server, key } => {
                let phrase = format!("{} is gone", self.thing(key));
                let wipe = Move::Wipe(self.at(*server, key));
                self.act(Who::Operator, vec![wipe], phrase);
            }
            Action::ClockJump {
                clock,
                milliseconds,
            } => self.jump(place, entry, *clock, *milliseconds)?,
            Action::ClockRate { client, permille } => {
                self.own[client.0].clock.permille = *permille;
            }
            Action::CrashServer { server } => self.crash(place, *server)?,
            Action::RestartServer { server, keeps_data } => {
                self.restart(place, *server, *keeps_data);
            }
            Action::Replicate { to, .. } => self.replicate(place, *to),
            Action::Failover { to } => self.fail_over(place, entry, *to)?,
            Action::Pause { .. } | Action::Resume { .. } => {}
        }
        self.hear(place, entry);
        for event in &entry.events {
            match &event.fact {
                Fact::Started { client, .. } => self.attempts[client.0].0 += 1,
                Fact::Saw {
                    client,
                    step,
                    answer,
                    clause,
                } if !is_step_of(&entry.action, *client) => {
                    self.sees(place, *client, *step, answer, *clause)?;
                }
                _ => {}
            }
        }
        self.look(place);
        Ok(())
    }

    /// A key where the connections find it.
    pub(super) fn at(&self, server: ServerId, key: &[u8]) -> Key {
        Key {
            server: self.places.get(server.0).copied().unwrap_or_default(),
            key: key.to_vec(),
        }
    }

    pub(super) fn label(&self, client: ClientId, step: usize) -> &'a str {
        let protocol = self.setup.clients[client.0]
            .protocol
            .and_then(|place| self.setup.protocols.get(place));
        protocol
            .and_then(|protocol| protocol.steps.get(step))
            .map_or("", |step| &step.label)
    }

    pub(super) fn request(&self, client: ClientId, step: usize) -> &'a Request {
        let protocol = self.setup.clients[client.0].protocol.unwrap_or_default();
        &self.setup.protocols[protocol].steps[step].request
    }

    /// Somebody does something; whoever comes next waits for it.
    pub(super) fn act(&mut self, who: Who, moves: Vec<Move<'a>>, phrase: String) {
        if let Some((before, waited_for)) = self.last.take()
            && before != who
        {
            let latch = self.plan.latches.len();
            let name = self.fresh(waited_for);
            self.plan.latches.push(name);
            self.part(before).push(Move::Open(latch));
            self.part(who).push(Move::Wait(latch));
        }
        self.part(who).extend(moves);
        self.last = Some((who, phrase));
    }

    pub(super) fn part(&mut self, who: Who) -> &mut Vec<Move<'a>> {
        let place = match who {
            Who::Client(client) => client.0,
            Who::Operator => self.setup.clients.len(),
        };
        &mut self.plan.parts[place].moves
    }

    /// A latch's name that no other one has.
    pub(super) fn fresh(&self, name: String) -> String {
        let times = |count: usize| match count {
            0 => name.clone(),
            1 => format!("{name} again"),
            2 => format!("{name} a third time"),
            more => format!("{name} a {}th time", more + 1),
        };
        (0..)
            .map(times)
            .find(|name| !self.plan.latches.contains(name))
            .unwrap_or_default()
    }

    pub(super) fn step(
        &mut self,
        place: usize,
        entry: &'a Entry,
        client: ClientId,
        step: usize,
    ) -> Result<(), Refusal> {
        let who = Who::Client(client);
        let declaration = &self.setup.clients[client.0];
        let label = self.label(client, step);
        if matches!(self.request(client, step), Request::Sleep(_)) {
            return Ok(());
        }
        let routine = self.routine(declaration.protocol.unwrap_or_default())?;
        let mut moves = self.run(client, routine, self.request(client, step));
        let is_told = waits_for_replicas(self.request(client, step));
        let listens = matches!(self.request(client, step), Request::Await(_));
        let mut answered = None;
        let mut is_down = false;
        for event in &entry.events {
            match &event.fact {
                Fact::RequestLost { .. } if self.under_way.remove(&client.0).is_some() => {}
                Fact::RequestLost { .. } => moves.push(Move::Lose(label)),
                Fact::Delayed {
                    leg: Leg::Request, ..
                } => {
                    if self.under_way.insert(client.0, place).is_some() {
                        return self.refused(place, "two requests of one client are under way");
                    }
                    moves.push(Move::Delay(label));
                }
                Fact::Unreachable { who: asking, .. } if *asking == who => is_down = true,
                Fact::Arrived { late, .. } => {
                    let sent = self.under_way.remove(&client.0).unwrap_or(place);
                    let world = self.timeline.moment(sent).world;
                    let values = &world.clients[client.0].variables;
                    moves.push(Move::Deliver {
                        label,
                        request: with_values(self.request(client, step), values),
                        shape: self.plan.routines[routine].shape_of(label),
                        is_late: *late,
                    });
                }
                Fact::Answered {
                    who: asking,
                    answer,
                    ..
                } if *asking == who && !is_told => {
                    answered = Some(answer);
                    if !matches!(moves.last(), Some(Move::Deliver { .. })) {
                        moves.push(Move::Send(label));
                    }
                }
                Fact::AnsweredNobody { answer, .. } => answered = Some(answer),
                Fact::Saw {
                    client: seeing,
                    answer,
                    clause,
                    ..
                } if *seeing == client => match answer {
                    Answer::Lost if is_down && clause.is_some() => {
                        moves.push(Move::FindDown(label));
                    }
                    Answer::Lost => moves.extend(self.gives_up(place, client, step, *clause)?),
                    _ if is_told => moves.push(Move::Told(label, answer)),
                    _ if listens => {
                        moves.push(Move::Step(label));
                        answered = Some(answer);
                    }
                    _ if matches!(moves.last(), Some(Move::Send(_))) => {
                        moves.pop();
                        moves.push(Move::Step(label));
                    }
                    _ => moves.push(Move::See(label)),
                },
                _ => {}
            }
        }
        if moves.is_empty() {
            return Ok(());
        }
        let name = &declaration.name;
        let phrase = match (moves.last(), done(label)) {
            (Some(Move::FindDown(_)), _) => format!("{name} has found a server down"),
            (Some(Move::GiveUp(_)), _) => format!("{name} has given up {label}"),
            (Some(Move::Lose(_) | Move::Delay(_)), _) => format!("{name} has sent {label}"),
            (Some(Move::Deliver { .. }), _) => format!("{label} of {name} has arrived"),
            (_, Some(done)) => format!("{name} has {done}"),
            (_, None) => format!("{name} has done {label}"),
        };
        if let Some(answer) = answered {
            if tells_the_time(answer) && self.loose.contains(&place) {
                return self.refused(place, "this reply tells the time of a real clock");
            }
            if asks_for_replicas(self.request(client, step), answer) {
                return self.refused(place, "this asks what only a replica or its primary knows, and a test's servers are neither");
            }
            let shape = self.plan.routines[routine].shape_of(label);
            self.plan.seen.push(Seen {
                who: name,
                what: label,
                answer,
                // A client's own clock goes on in steps.
                is_loose: self.loose.contains(&place) && !matches!(answer, Answer::Client(_)),
                shape,
            });
        }
        self.act(who, moves, phrase);
        Ok(())
    }

    /// What comes before a client's request: the beginning of an attempt, and what has become of clocks.
    pub(super) fn run(
        &mut self,
        client: ClientId,
        routine: usize,
        request: &Request,
    ) -> Vec<Move<'a>> {
        let mut moves = Vec::new();
        let (attempt, planned) = self.attempts[client.0];
        if planned != attempt {
            let me = crate::sim::client::name_in_attempt(self.setup, client, attempt as u32);
            moves.push(Move::Run {
                routine,
                me,
                parameters: &self.setup.clients[client.0].parameters,
            });
            self.attempts[client.0].1 = attempt;
        }
        moves.extend(self.catch_up(Who::Client(client), request));
        let own = &mut self.own[client.0];
        let (moved, passed) = (
            std::mem::take(&mut own.moved),
            std::mem::take(&mut own.passed),
        );
        if self.plan.routines[routine].clock {
            if moved != i64::try_from(passed).unwrap_or(i64::MAX) {
                let passed = in_words(passed);
                let remark =
                    format!("{passed} have passed; by the client's own clock it is this much.");
                moves.push(Move::Remark(remark));
            }
            if moved != 0 {
                moves.push(Move::Clock(moved));
            }
        }
        moves
    }

    /// The place of a protocol among the routines.
    pub(super) fn routine(&mut self, protocol: usize) -> Result<usize, Refusal> {
        let wanted = &self.setup.protocols[protocol];
        let known = self
            .plan
            .routines
            .iter()
            .position(|routine| std::ptr::eq(routine.protocol, wanted));
        if let Some(place) = known {
            return Ok(place);
        }
        self.plan.routines.push(Routine::new(
            self.setup,
            self.timeline,
            protocol,
            self.plan.sells,
        )?);
        Ok(self.plan.routines.len() - 1)
    }

    pub(super) fn ask(
        &mut self,
        place: usize,
        entry: &'a Entry,
        who: Who,
        source: &'a str,
        request: &Request,
    ) -> Result<(), Refusal> {
        let Some(answer) = entry.answer() else {
            return self.refused(place, "this was not sent");
        };
        if matches!(request, Request::CheckDeadline(_) | Request::Sleep(_)) {
            return self.refused(place, "this asks no server");
        }
        if matches!(request, Request::Store(_, words) if !routine::subscribes_plainly(words)) {
            return self.refused(
                place,
                "this subscribes by a pattern, or to several channels at once",
            );
        }
        let name: &'a str = match who {
            Who::Client(client) => &self.setup.clients[client.0].name,
            Who::Operator => OPERATOR,
        };
        let request = match who {
            Who::Client(client) => with_values(
                request,
                &self.timeline.moment(place).world.clients[client.0].variables,
            ),
            Who::Operator => request.clone(),
        };
        let request = match request {
            Request::Store(Some(server), arguments) => {
                let place = self.places.get(server.0).copied().unwrap_or_default();
                Request::Store(Some(ServerId(place)), arguments)
            }
            other => other,
        };
        let verb = source
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .to_lowercase();
        let is_time = tells_the_time(answer) && self.loose.contains(&place);
        let is_void = self.void.contains(&place);
        if is_time || is_void || asks_for_replicas(&request, answer) {
            if !is_time && !is_void && self.is_in_transaction(place, entry) {
                return self.refused(place, "a replica refuses this, and what was begun on the connection would go on in a test");
            }
            let why = match is_time {
                true => "it tells the time of a real clock",
                false => "in this test no server is the replica of another",
            };
            let remark = format!("{source} is left out: {why}.");
            self.act(
                who,
                vec![Move::Remark(remark)],
                format!("{name} has run {verb}"),
            );
            return Ok(());
        }
        let mut moves = self.catch_up(who, &request);
        moves.push(Move::Ask {
            source,
            request,
            seen: self.plan.seen.len(),
        });
        let shape = routine::shape_of(answer);
        self.plan.seen.push(Seen {
            who: name,
            what: source,
            answer,
            is_loose: self.loose.contains(&place),
            shape,
        });
        self.act(who, moves, format!("{name} has run {verb}"));
        Ok(())
    }

    /// Whether what is sent to a Redis is sent within a transaction.
    pub(super) fn is_in_transaction(&self, place: usize, entry: &Entry) -> bool {
        let world = self.timeline.moment(place).world;
        sent_to_store(entry).is_some_and(|(who, server)| {
            let store = world.store(server);
            store.queued(connection_of(who)).is_some()
        })
    }

    /// The key's part where it is the only one that plays it, else the key.
    pub(super) fn thing(&self, key: &[u8]) -> String {
        let watches = &self.setup.watches;
        let only = watches.len() == 1;
        match watches.iter().find(|watch| {
            watch.lock.as_deref() == Some(key) || watch.counter.as_deref() == Some(key)
        }) {
            Some(watch) if only && watch.lock.as_deref() == Some(key) => "lease".to_owned(),
            Some(_) if only => "counter".to_owned(),
            _ => String::from_utf8_lossy(key).into_owned(),
        }
    }

    /// What a property needs to know of this moment.
    pub(super) fn look(&mut self, place: usize) {
        let Some((who, _)) = self.last else { return };
        let looks: Vec<(Key, bool)> = self
            .plan
            .claims
            .iter()
            .flat_map(|claim| claim.looks_at(place))
            .collect();
        for (key, wants_deadline) in looks {
            let key = self.at(ServerId(key.server), &key.key);
            self.part(who).push(match wants_deadline {
                true => Move::LookForDeadline(key),
                false => Move::LookForKey(key),
            });
        }
    }
}

pub(super) fn is_step_of(action: &Action, of: ClientId) -> bool {
    matches!(
        action,
        Action::Step { client, .. }
        | Action::LoseRequest { client, .. }
        | Action::LoseReply { client, .. }
        | Action::Delay { client, .. }
        | Action::Deliver { client, .. } if *client == of
    )
}

/// A table's row as one would write it: its parenthesis closes where it ends.
pub(super) fn tidy(statement: &Statement) -> Statement {
    let source = statement.source();
    let whole = source.strip_suffix("\n)").map(|row| format!("{row})"));
    whole
        .and_then(|source| Statement::parse(&source).ok())
        .unwrap_or_else(|| statement.clone())
}

/// A console's request with the client's values in place of its variables.
pub(super) fn with_values(request: &Request, values: &SortedMap<String, Value>) -> Request {
    let fill = |arguments: &[Argument]| {
        let filled = arguments.iter().map(|argument| match argument {
            Argument::Variable(name) => values
                .get(name)
                .map_or_else(|| argument.clone(), routine::argument_of),
            other => other.clone(),
        });
        filled.collect::<Vec<_>>()
    };
    match request {
        Request::Store(server, arguments) => Request::Store(*server, fill(arguments)),
        Request::Gateway(arguments) => Request::Gateway(fill(arguments)),
        Request::Database(Ok(statement)) => {
            let parameters: Vec<(String, SqlValue)> = values
                .iter()
                .map(|(name, value)| (name.clone(), SqlValue::from(value.clone())))
                .collect();
            Request::Database(Statement::parse(&statement.text_with(&parameters)))
        }
        other => other.clone(),
    }
}

/// What the connections to Redis servers are called.
pub(super) fn names_of_servers(setup: &Setup) -> Vec<String> {
    match setup.servers.as_slice() {
        [] | [_] => vec!["redis".to_owned()],
        servers => servers
            .iter()
            .enumerate()
            .map(|(place, server)| {
                let replicates =
                    |other: &ServerDeclaration| other.replica_of == Some(ServerId(place));
                let groups = servers.iter().filter(|server| server.replica_of.is_none());
                match (servers.iter().any(replicates), groups.count()) {
                    (true, 1) => "primary".to_owned(),
                    _ => server.name.clone(),
                }
            })
            .collect(),
    }
}
