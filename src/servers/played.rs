//! A schedule, fact by fact: what was sent is sent, what was answered is compared.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::export::plan::CLOCK_KEY;
use crate::scenario::print_action;
use crate::sim::action::{ClientId, ClockOf, Leg, ServerId, Who};
use crate::sim::client::protocol::Request as Asked;
use crate::sim::database::{SqlReply, Value as SqlValue};
use crate::sim::event::{Answer as Told, Event, Fact, Server};
use crate::sim::setup::Setup;
use crate::sim::store::reply::Reply;
use crate::sim::store::{Cause, Store};
use crate::sim::time::{START_OF_WALL_CLOCK, in_words};
use crate::sim::world::World;
use crate::timeline::Entry;

use super::compared::{TOLERANCE, contents, is_same_answer, is_same_reply, sorted};
use super::fleet::Fleet;
use super::link::{Got, Link, PATIENCE, Request, command, done};
use super::stage::{Stage, Time, quoted};
use super::{Compared, Trouble};

/// How long a request that waits is watched, to see that it does.
const GLANCE: Duration = Duration::from_millis(150);
/// A key that is still there is not brought nearer to its deadline than this, in milliseconds: it must not lapse by itself before
/// the playground has it lapse.
const NEAREST: u64 = 1000;
/// Waits that are longer are announced.
const LONG: u64 = 2000;

/// What a connection is for. In RESP2 one that has subscribed takes no other commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Store(ServerId),
    Subscriptions(ServerId),
    Database,
}

impl Kind {
    /// The Redis server that it goes to.
    fn store(self) -> Option<ServerId> {
        match self {
            Kind::Store(server) | Kind::Subscriptions(server) => Some(server),
            Kind::Database => None,
        }
    }
}

/// A connection's place: whose, and what it is for.
type Place = (Who, Kind);

pub(super) struct Play<'s, 'a> {
    stage: &'s Stage<'a>,
    fleet: &'s mut Fleet,
    links: BTreeMap<Place, Link>,
    /// Connections that a client has given up while a request was under way on them.
    left_behind: Vec<(ClientId, usize, Link)>,
    /// Requests that have been sent and have not arrived.
    under_way: Vec<(ClientId, usize, Request, Kind)>,
    /// On which connection to a Redis somebody has asked last.
    asked: BTreeMap<(Who, ServerId), Kind>,
    /// How long a reply may take in this line of the schedule.
    patience: Duration,
    compared: Compared,
    /// By how much the database's clock has jumped, in milliseconds.
    database_jump: i64,
    /// What a place's connection was told of the clock, in milliseconds since 1970.
    behind: BTreeMap<Place, i64>,
    say: &'s mut dyn FnMut(&str),
}

impl<'s, 'a> Play<'s, 'a> {
    pub fn new(
        stage: &'s Stage<'a>,
        fleet: &'s mut Fleet,
        say: &'s mut dyn FnMut(&str),
    ) -> Play<'s, 'a> {
        Play {
            stage,
            fleet,
            links: BTreeMap::new(),
            left_behind: Vec::new(),
            under_way: Vec::new(),
            asked: BTreeMap::new(),
            patience: PATIENCE,
            compared: Compared::default(),
            database_jump: 0,
            behind: BTreeMap::new(),
            say,
        }
    }

    /// Plays the schedule and compares.
    pub async fn all(mut self) -> Result<Compared, Trouble> {
        let timeline = self.stage.timeline;
        for (place, entry) in timeline.entries().iter().enumerate() {
            self.entry(place, entry).await?;
        }
        self.end().await?;
        for (_, link) in std::mem::take(&mut self.links) {
            link.close().await;
        }
        Ok(self.compared)
    }

    async fn entry(&mut self, place: usize, entry: &Entry) -> Result<(), Trouble> {
        let setup = &self.stage.reading.setup;
        let before = self.stage.timeline.moment(place).world;
        let after = self.stage.timeline.moment(place + 1).world;
        self.patience = PATIENCE;
        let held = self.fleet.hold(setup, &before, &after).await;
        held.map_err(|why| self.trouble(place, why))?;
        for (at, event) in entry.events.iter().enumerate() {
            self.fact(place, entry, event, entry.events.get(at + 1))
                .await?;
        }
        let noted = self.fleet.note(setup, &after).await;
        noted.map_err(|why| self.trouble(place, why))
    }

    fn name(&self, place: usize) -> String {
        let setup = &self.stage.reading.setup;
        self.stage
            .timeline
            .entries()
            .get(place)
            .map_or_else(String::new, |entry| print_action(setup, &entry.action))
    }

    fn trouble(&self, place: usize, why: String) -> Trouble {
        let line = self.stage.line(place).unwrap_or_default();
        Trouble::Impossible(format!("{line}: {}: {why}", self.name(place)))
    }

    async fn link(&mut self, place: Place) -> Result<&mut Link, String> {
        if !self.links.contains_key(&place) {
            let link = match (place.1.store(), &self.stage.database) {
                (Some(server), _) => self.fleet.connect(server).await?,
                (None, Some(address)) => address.connect().await?,
                (None, None) => return Err("no address is given for this server".to_owned()),
            };
            self.links.insert(place, link);
        }
        self.links
            .get_mut(&place)
            .ok_or_else(|| "there is no connection".to_owned())
    }

    async fn fact(
        &mut self,
        place: usize,
        entry: &Entry,
        event: &Event,
        next: Option<&Event>,
    ) -> Result<(), Trouble> {
        match &event.fact {
            Fact::Sent {
                who, step, server, ..
            } => {
                if kind(*server, None).is_none() {
                    return Ok(());
                }
                let request = self
                    .stage
                    .request(place, entry, *who, *step)
                    .map_err(|why| self.trouble(place, why))?;
                let Some(on) = kind(*server, Some(&request)) else {
                    return Ok(());
                };
                if let Some(server) = on.store() {
                    self.asked.insert((*who, server), on);
                }
                match (next.map(|next| &next.fact), who, step) {
                    (Some(Fact::RequestLost { .. }), ..) => {}
                    (Some(Fact::Unreachable { .. }), ..) => {}
                    (
                        Some(Fact::Delayed {
                            leg: Leg::Request, ..
                        }),
                        Who::Client(client),
                        Some(step),
                    ) => {
                        self.under_way.push((*client, *step, request, on));
                    }
                    _ => self
                        .send((*who, on), request, event.at)
                        .await
                        .map_err(|why| self.trouble(place, why))?,
                }
            }
            Fact::Answered {
                who,
                server,
                answer,
                ..
            } => {
                let Some(on) = self.answers(*who, *server) else {
                    return Ok(());
                };
                let patience = self.patience;
                let link = self.link((*who, on)).await;
                let got = match link {
                    Ok(link) => link.receive_within(patience).await,
                    Err(why) => Err(why),
                };
                match (answer, got) {
                    // The server has crashed, and the connection is gone with it.
                    (Told::Lost, Err(_)) => self.compared.replies += 1,
                    (_, Err(why)) => return Err(self.trouble(place, why)),
                    (_, Ok(got)) => self.compare(place, answer, &got)?,
                }
                // Redis closes the connection of whoever it has told that its wait is over.
                let is_unblocked = matches!(answer,
                    Told::Store(Reply::Error(error)) if error.starts_with("UNBLOCKED"));
                if is_unblocked {
                    self.links.remove(&(*who, on));
                }
            }
            Fact::Unreachable { server, .. } => {
                let Server::Store(server) = *server else {
                    return Ok(());
                };
                if self.fleet.connect(server).await.is_ok() {
                    let (told, got) = (Told::Lost.print_short(), "a connection".to_owned());
                    return Err(self.difference(place, told, got));
                }
                self.compared.replies += 1;
            }
            Fact::Waits { who, server, .. } => {
                let Some(on) = self.answers(*who, *server) else {
                    return Ok(());
                };
                let Ok(link) = self.link((*who, on)).await else {
                    return Ok(());
                };
                if let Some(got) = link.glance(GLANCE).await {
                    let servers = got.map_or_else(|why| why, |got| got.print());
                    return Err(self.difference(place, "waits".to_owned(), servers));
                }
            }
            Fact::RequestLost { client, step, .. } => self
                .under_way
                .retain(|(whose, of, ..)| (whose, of) != (client, step)),
            Fact::Arrived {
                client, step, late, ..
            } => {
                let Some(at) = self
                    .under_way
                    .iter()
                    .position(|(whose, of, ..)| (whose, of) == (client, step))
                else {
                    return Ok(());
                };
                let (_, _, request, on) = self.under_way.remove(at);
                if matches!(next.map(|next| &next.fact), Some(Fact::Unreachable { .. })) {
                    return Ok(());
                }
                let sent = match self
                    .left_behind
                    .iter()
                    .find(|(whose, of, _)| *late && (whose, of) == (client, step))
                {
                    Some((_, _, link)) => link.send(request),
                    None => {
                        self.send((Who::Client(*client), on), request, event.at)
                            .await
                    }
                };
                sent.map_err(|why| self.trouble(place, why))?;
            }
            Fact::AnsweredNobody {
                client,
                step,
                answer,
                server,
            } => {
                if kind(*server, None).is_none() {
                    return Ok(());
                }
                let Some(at) = self
                    .left_behind
                    .iter()
                    .position(|(whose, of, _)| (whose, of) == (client, step))
                else {
                    return Ok(());
                };
                let (_, _, mut link) = self.left_behind.remove(at);
                let got = link
                    .receive()
                    .await
                    .map_err(|why| self.trouble(place, why))?;
                self.compare(place, answer, &got)?;
                link.close().await;
            }
            Fact::TimedOut {
                client,
                step,
                closes,
                ..
            } => {
                if !closes {
                    return Ok(());
                }
                let on = self.asked_by(place, *client, *step);
                let is_under_way = self
                    .under_way
                    .iter()
                    .any(|(whose, of, ..)| (whose, of) == (client, step));
                self.behind.remove(&(Who::Client(*client), on));
                match (self.links.remove(&(Who::Client(*client), on)), is_under_way) {
                    (Some(link), true) => self.left_behind.push((*client, *step, link)),
                    (Some(link), false) => link.close().await,
                    (None, _) => {}
                }
            }
            Fact::Messaged {
                client,
                channel,
                message,
                server,
            } => {
                let got = self.message(*client, *server).await;
                let got = got.map_err(|why| self.trouble(place, why))?;
                let told = [Reply::bulk(channel), Reply::bulk(message)];
                if !matches!(&got, Got::Store(Reply::Array(parts)) if parts.ends_with(&told)) {
                    let told = Reply::Array(told.to_vec()).print_short();
                    return Err(self.difference(place, told, got.print()));
                }
            }
            Fact::Crashed { client, .. } => {
                self.close(&|(who, _)| who == Who::Client(*client)).await;
            }
            Fact::ServerCrashed { server } => {
                let (setup, after) = (&self.stage.reading.setup, self.after(place));
                self.fleet.crash(setup, &after, *server).await;
            }
            Fact::ServerRestarted { server, keeps_data } => {
                self.close(&|(_, on)| on.store() == Some(*server)).await;
                let (setup, after) = (&self.stage.reading.setup, self.after(place));
                let restarted = self
                    .fleet
                    .restart(setup, &after, *server, *keeps_data, self.say);
                let restarted = restarted.await;
                restarted.map_err(|why| self.trouble(place, why))?;
            }
            Fact::Replicated { from, to, commands } => {
                let replicated = self.fleet.replicate(*from, *to, *commands).await;
                replicated.map_err(|why| self.trouble(place, why))?;
            }
            Fact::FailedOver { to, .. } => {
                let (setup, after) = (&self.stage.reading.setup, self.after(place));
                let failed_over = self.fleet.fail_over(setup, &after, *to).await;
                failed_over.map_err(|why| self.trouble(place, why))?;
            }
            Fact::ClockJumped {
                clock: ClockOf::Server(server),
                milliseconds,
            } => {
                let jumped = self.fleet.jump(*server, *milliseconds);
                jumped.map_err(|why| self.trouble(place, why))?;
                self.touch_lapsed(place, entry).await?;
            }
            Fact::ClockJumped {
                clock: ClockOf::Database,
                milliseconds,
            } => self.database_jump += milliseconds,
            Fact::TimePassed { milliseconds, .. } => self.pass(place, entry, *milliseconds).await?,
            Fact::KeyChanged {
                server, key, cause, ..
            } => {
                let request = match cause {
                    Cause::ExpiredNow => command(&[b"PEXPIRE", key, b"0"]),
                    Cause::Wiped | Cause::Evicted => command(&[b"DEL", key]),
                    _ => return Ok(()),
                };
                let asked = self.fleet.ask(*server, vec![request]).await;
                asked.map_err(|why| self.trouble(place, why))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// The next message to a client, behind what confirms its subscriptions to more than one channel.
    async fn message(&mut self, client: ClientId, server: Server) -> Result<Got, String> {
        let on = match server {
            Server::Store(server) => Kind::Subscriptions(server),
            _ => return Err("only a Redis has messages".to_owned()),
        };
        let link = self.link((Who::Client(client), on)).await?;
        loop {
            let got = link.receive().await?;
            let confirms = matches!(&got, Got::Store(Reply::Array(parts))
                if matches!(parts.first(), Some(Reply::Bulk(word)) if word.ends_with(b"subscribe")));
            if !confirms {
                return Ok(got);
            }
        }
    }

    /// On which connection an answer is expected.
    fn answers(&self, who: Who, server: Server) -> Option<Kind> {
        let on = kind(server, None)?;
        let asked = on.store().and_then(|server| self.asked.get(&(who, server)));
        Some(asked.copied().unwrap_or(on))
    }

    /// On which connection a client has sent a step.
    fn asked_by(&self, place: usize, client: ClientId, step: usize) -> Kind {
        let setup: &Setup = &self.stage.reading.setup;
        let steps = setup.steps_of(client);
        let server = match steps.get(step).map(|step| &step.request) {
            Some(Asked::Database(_)) => return Kind::Database,
            Some(Asked::Store(Some(server), _)) => *server,
            _ => {
                let before = self.stage.timeline.moment(place).world;
                let members = setup.members_of(setup.group_of(ServerId::FIRST));
                before.primary_among(&members).unwrap_or(ServerId::FIRST)
            }
        };
        let asked = self.asked.get(&(Who::Client(client), server)).copied();
        asked.unwrap_or(Kind::Store(server))
    }

    fn after(&self, place: usize) -> World {
        self.stage.timeline.moment(place + 1).world
    }

    /// Closes connections.
    async fn close(&mut self, which: &dyn Fn(Place) -> bool) {
        let closed: Vec<Place> = self.links.keys().copied().filter(|it| which(*it)).collect();
        for place in closed {
            self.behind.remove(&place);
            if let Some(link) = self.links.remove(&place) {
                link.close().await;
            }
        }
    }

    /// Primaries look at the keys whose time is over, and tell their replicas that they are gone; by themselves they come to it later.
    async fn touch_lapsed(&mut self, place: usize, entry: &Entry) -> Result<(), Trouble> {
        let after = self.after(place);
        for event in &entry.events {
            if let Fact::KeyChanged {
                server,
                key,
                cause: Cause::Lapse | Cause::ClockJump,
                ..
            } = &event.fact
                && !after.store(*server).is_down()
            {
                let asked = self.fleet.ask(*server, vec![command(&[b"EXISTS", key])]);
                asked.await.map_err(|why| self.trouble(place, why))?;
            }
        }
        Ok(())
    }

    /// Time passes: really, by making keys lapse, or by setting clocks.
    async fn pass(
        &mut self,
        place: usize,
        entry: &Entry,
        milliseconds: u64,
    ) -> Result<(), Trouble> {
        let line = self.stage.line(place).unwrap_or_default();
        if self.stage.time == Time::Real {
            if milliseconds >= LONG {
                (self.say)(&format!("{line}: waiting for {}", in_words(milliseconds)));
            }
            tokio::time::sleep(Duration::from_millis(milliseconds)).await;
            return Ok(());
        }
        let is_statement = |event: &Event| {
            let server = Server::Database;
            matches!(&event.fact, Fact::Answered { server: of, .. } if *of == server)
        };
        if entry.events.iter().any(is_statement) {
            let most = in_words(milliseconds);
            (self.say)(&format!(
                "{line}: waiting for {most} at most: a statement waits in the database until its time is over"
            ));
            self.patience += Duration::from_millis(milliseconds);
        }
        if self.stage.time == Time::Set {
            let passed = self.fleet.pass(milliseconds);
            passed.map_err(|why| self.trouble(place, why))?;
            return self.touch_lapsed(place, entry).await;
        }
        for server in self.fleet.servers() {
            let lapsed = self.lapse(place, entry, server, milliseconds).await;
            lapsed.map_err(|why| self.trouble(place, why))?;
        }
        Ok(())
    }

    /// Has the keys of a server lapse that do so within a time, and brings the others so much nearer to it.
    async fn lapse(
        &mut self,
        place: usize,
        entry: &Entry,
        server: ServerId,
        milliseconds: u64,
    ) -> Result<(), String> {
        let lapsed = entry.events.iter().filter_map(|event| match &event.fact {
            Fact::KeyChanged {
                server: of,
                key,
                cause: Cause::Lapse,
                ..
            } if *of == server => Some(key),
            _ => None,
        });
        let lapsed: Vec<&Vec<u8>> = lapsed.collect();
        let mut requests: Vec<Request> = lapsed
            .iter()
            .map(|key| command(&[b"PEXPIRE", key, b"0"]))
            .collect();
        for (key, state) in self.after(place).store(server).keys() {
            requests.extend(state.remaining.map(|remaining| {
                let remaining = remaining.max(NEAREST).to_string();
                command(&[b"PEXPIRE", key, remaining.as_bytes()])
            }));
        }
        if self.stage.script_clock {
            let passed = milliseconds.to_string();
            requests.push(command(&[
                b"INCRBY",
                CLOCK_KEY.as_bytes(),
                passed.as_bytes(),
            ]));
        }
        if !lapsed.is_empty() {
            let keys: Vec<_> = lapsed
                .iter()
                .map(|key| String::from_utf8_lossy(key))
                .collect();
            let line = self.stage.line(place).unwrap_or_default();
            let on = match self.fleet.servers().count() {
                1 => String::new(),
                _ => format!(" on {}", self.fleet.name(server)),
            };
            (self.say)(&format!(
                "{line}: {} are not waited for: {} expired{on}",
                in_words(milliseconds),
                keys.join(", ")
            ));
        }
        self.fleet.ask(server, requests).await
    }

    async fn send(&mut self, place: Place, request: Request, at: u64) -> Result<(), String> {
        let clock = (START_OF_WALL_CLOCK + at) as i64 + self.database_jump;
        let knows = self.behind.get(&place) == Some(&clock);
        let tells = place.1 == Kind::Database && self.stage.database_clock && !knows;
        let link = self.link(place).await?;
        if tells {
            let statement = format!(
                "SET timestamp = {}.{:03}",
                clock.div_euclid(1000),
                clock.rem_euclid(1000)
            );
            done(link.ask(Request::Statement(statement)).await?)?;
        }
        if matches!(place.1, Kind::Subscriptions(_)) {
            // One answer is compared; a request about several channels is answered for each.
            while link.glance(GLANCE).await.is_some_and(|got| got.is_ok()) {}
        }
        link.send(request)?;
        self.behind.insert(place, clock);
        Ok(())
    }

    fn difference(&self, place: usize, playground: String, servers: String) -> Trouble {
        Trouble::Difference {
            line: self.stage.line(place),
            what: self.name(place),
            playground,
            servers,
        }
    }

    fn compare(&mut self, place: usize, answer: &Told, got: &Got) -> Result<(), Trouble> {
        let is_loose = self.stage.time != Time::Set && self.stage.loose.contains(&place);
        let is_same = match (answer, got) {
            (Told::Store(reply), Got::Store(got)) => {
                is_same_reply(reply, got, is_loose, self.stage.script_clock)
            }
            (Told::Database(reply), Got::Database(got)) => is_same_answer(reply, got),
            _ => false,
        };
        if !is_same {
            return Err(self.difference(place, answer.print_short(), got.print()));
        }
        self.compared.replies += 1;
        Ok(())
    }

    /// Compares what is there at the end.
    async fn end(&mut self) -> Result<(), Trouble> {
        let world = self.stage.timeline.moment(self.stage.timeline.len()).world;
        if let (Some(address), false) = (&self.stage.database, self.stage.tables.is_empty()) {
            let mut link = address.connect().await.map_err(Trouble::Impossible)?;
            for table in world.database.tables() {
                let order: Vec<String> = table.primary_key().into_iter().map(quoted).collect();
                let order = if order.is_empty() {
                    String::new()
                } else {
                    format!(" ORDER BY {}", order.join(", "))
                };
                let query = format!("SELECT * FROM {}{order}", quoted(table.name()));
                let got = link
                    .ask(Request::Statement(query))
                    .await
                    .map_err(Trouble::Impossible)?;
                let rows: Vec<Vec<SqlValue>> =
                    table.rows().map(|row| row.values().to_vec()).collect();
                let told = SqlReply::Rows {
                    vertical: false,
                    warnings: 0,
                    columns: table.columns().to_vec(),
                    rows,
                };
                let is_same = matches!(&got, Got::Database(got) if is_same_answer(&told, got));
                if !is_same {
                    return Err(at_end(
                        format!("the rows of {}", table.name()),
                        told.print_short(),
                        got.print(),
                    ));
                }
                self.compared.rows += table.rows().count();
            }
            link.close().await;
        }
        for server in self.fleet.servers() {
            if !world.store(server).is_down() {
                self.keys_at_end(world.store(server), server).await?;
            }
        }
        Ok(())
    }

    /// Compares the keys that a server has at the end.
    async fn keys_at_end(&mut self, store: &Store, server: ServerId) -> Result<(), Trouble> {
        let on = match self.fleet.servers().count() {
            1 => String::new(),
            _ => format!(" on {}", self.fleet.name(server)),
        };
        let tolerance = match self.stage.time {
            Time::Set => 0,
            Time::Real | Time::Lapse => TOLERANCE,
        };
        let mut link = self
            .fleet
            .connect(server)
            .await
            .map_err(Trouble::Impossible)?;
        for (of, key) in &self.stage.keys {
            if *of != server || key == CLOCK_KEY.as_bytes() {
                continue;
            }
            let name = String::from_utf8_lossy(key).into_owned();
            let state = store.get(key);
            let (read, told) = contents(key, state.as_ref().map(|state| &state.value));
            let got = link.ask(read).await.map_err(Trouble::Impossible)?;
            let is_same = matches!(&got, Got::Store(got) if sorted(got) == sorted(&told));
            if !is_same {
                let what = format!("the key {name}{on}");
                return Err(at_end(what, told.print_short(), got.print()));
            }
            let remaining = state.map_or(-2, |state| {
                state.remaining.map_or(-1, |remaining| remaining as i64)
            });
            let got = link.ask(command(&[b"PTTL", key])).await;
            let got = got.map_err(Trouble::Impossible)?;
            let is_near = match &got {
                Got::Store(Reply::Integer(got)) if remaining < 0 => *got == remaining,
                Got::Store(Reply::Integer(got)) => {
                    *got >= 0 && (got - remaining).abs() <= tolerance
                }
                _ => false,
            };
            if !is_near {
                let what = format!("the time to live of {name}{on}");
                return Err(at_end(what, remaining.to_string(), got.print()));
            }
            self.compared.keys += 1;
        }
        link.close().await;
        Ok(())
    }
}

fn at_end(what: String, playground: String, servers: String) -> Trouble {
    Trouble::Difference {
        line: None,
        what,
        playground,
        servers,
    }
}

/// On which kind of connection a request goes to a server; `None`: it goes to none.
fn kind(server: Server, request: Option<&Request>) -> Option<Kind> {
    const SUBSCRIPTIONS: [&str; 4] = ["SUBSCRIBE", "PSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE"];
    match (server, request) {
        (Server::Store(server), Some(Request::Command(argv))) => {
            let name = argv
                .first()
                .map(|name| String::from_utf8_lossy(name).to_ascii_uppercase());
            let subscribes = name.is_some_and(|name| SUBSCRIPTIONS.contains(&name.as_str()));
            Some(if subscribes {
                Kind::Subscriptions(server)
            } else {
                Kind::Store(server)
            })
        }
        (Server::Store(server), _) => Some(Kind::Store(server)),
        (Server::Database, _) => Some(Kind::Database),
        (Server::Gateway | Server::Client, _) => None,
    }
}
