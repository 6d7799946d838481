//! A schedule, fact by fact: what was sent is sent, what was answered is compared.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::export::plan::{
    CLOCK_IN_SCRIPTS, CLOCK_KEY, depends_on_time, reads_database_clock, reads_time,
};
use crate::scenario::{Reading, print_action};
use crate::sim::action::{Action, ClientId, ClockOf, Leg, Who};
use crate::sim::client::protocol::{Argument, Request as Asked};
use crate::sim::database::{SqlReply, Value as SqlValue, WHERE_MYSQL_DIFFERS};
use crate::sim::event::{Answer as Told, Event, Fact, Server, Value};
use crate::sim::setup::Setup;
use crate::sim::store::reply::Reply;
use crate::sim::store::{Cause, Value as StoreValue, script_sha1};
use crate::sim::time::{START_OF_WALL_CLOCK, in_words};
use crate::sim::world::World;
use crate::timeline::{Entry, Timeline};

use super::link::{Answer, Got, Link, Request};
use super::prefix::{Prefix, Sent};
use super::{Compared, Servers, Trouble, database, store};

/// By how much a reply may differ that depends on how much time has passed, in milliseconds.
const TOLERANCE: i64 = 2000;
/// How long a request that waits is watched, to see that it does.
const GLANCE: Duration = Duration::from_millis(150);
/// A key that is still there is not brought nearer to its deadline than this, in milliseconds: it must not lapse by itself before
/// the playground has it lapse.
const NEAREST: u64 = 1000;
/// Waits that are longer are announced.
const LONG: u64 = 2000;

/// Plays a scenario and compares.
pub(super) async fn play(
    reading: &Reading,
    timeline: &Timeline,
    servers: &Servers,
    say: &mut dyn FnMut(&str),
) -> Result<Compared, Trouble> {
    let stage = Stage::prepare(reading, timeline, servers, say).await?;
    let mut play = Play {
        stage: &stage,
        links: BTreeMap::new(),
        left_behind: Vec::new(),
        under_way: Vec::new(),
        asked: BTreeMap::new(),
        compared: Compared::default(),
        database_jump: 0,
        behind: BTreeMap::new(),
        say,
    };
    let outcome = play.all().await;
    let compared = play.compared;
    for (_, link) in std::mem::take(&mut play.links) {
        link.close().await;
    }
    let cleaned = stage.clean_up().await;
    outcome?;
    cleaned.map_err(Trouble::Impossible)?;
    Ok(compared)
}

/// What does not change while a schedule is played.
struct Stage<'a> {
    reading: &'a Reading,
    timeline: &'a Timeline,
    store: Option<store::Address>,
    database: Option<database::Address>,
    /// The database that was made for this.
    made: Option<(database::Address, String)>,
    keys: BTreeSet<Vec<u8>>,
    tables: BTreeSet<String>,
    loose: BTreeSet<usize>,
    lapse: bool,
    script_clock: bool,
    database_clock: bool,
}

impl<'a> Stage<'a> {
    /// Looks whether everything can be played, and sets the servers up.
    async fn prepare(
        reading: &'a Reading,
        timeline: &'a Timeline,
        servers: &Servers,
        say: &mut dyn FnMut(&str),
    ) -> Result<Stage<'a>, Trouble> {
        let setup: &Setup = &reading.setup;
        let start = timeline.moment(0).world;
        let end = timeline.moment(timeline.len()).world;
        let asks = Needs::of(reading, &start);
        let store = match (&servers.redis, asks.store) {
            (Some(url), _) => Some(store::Address::read(url).map_err(Trouble::Impossible)?),
            (None, false) => None,
            (None, true) => return impossible("the scenario asks Redis: --redis URL is needed"),
        };
        let named = match (&servers.mysql, asks.database) {
            (Some(url), _) => {
                Some(database::Address::read(url, setup.found_rows).map_err(Trouble::Impossible)?)
            }
            (None, false) => None,
            (None, true) => {
                return impossible("the scenario asks the database: --mysql URL is needed");
            }
        };
        if start.stores.len() > 1 {
            return impossible("the scenario has several Redis servers, and only one can be given");
        }
        let mut keys: BTreeSet<Vec<u8>> = start
            .stores
            .iter()
            .flat_map(|store| store.keys())
            .map(|(key, _)| key.to_vec())
            .collect();
        for event in timeline.entries().iter().flat_map(|entry| &entry.events) {
            if let Fact::KeyChanged { key, .. } = &event.fact {
                keys.insert(key.clone());
            }
        }
        let script_clock = servers.lapse
            && setup
                .scripts
                .values()
                .any(|source| reads_time(&String::from_utf8_lossy(source)));
        if script_clock {
            keys.insert(CLOCK_KEY.as_bytes().to_vec());
        }
        let tables = start
            .database
            .tables()
            .chain(end.database.tables())
            .map(|table| table.name().to_owned())
            .collect();
        let mut stage = Stage {
            reading,
            timeline,
            store,
            database: named,
            made: None,
            keys,
            tables,
            loose: depends_on_time(reading, timeline),
            lapse: servers.lapse,
            // Scripts are tried as they are written.
            script_clock: false,
            database_clock: reads_database_clock(reading),
        };
        stage.possible()?;
        if let Some(prefix) = &servers.prefix {
            let prefix = Prefix::read(prefix).map_err(Trouble::Impossible)?;
            match stage.no_prefix(&prefix) {
                None => stage.store = stage.store.map(|store| store.under(Some(prefix))),
                Some(why) => say(&why),
            }
        }
        stage.script_clock = script_clock;
        stage
            .make_database(asks.database)
            .await
            .map_err(Trouble::Impossible)?;
        if let Err(why) = stage.refuse_what_is_there().await {
            stage.drop_database().await.map_err(Trouble::Impossible)?;
            return Err(Trouble::Impossible(why));
        }
        if let Err(why) = stage.set_up().await {
            stage.clean_up().await.map_err(Trouble::Impossible)?;
            return Err(Trouble::Impossible(why));
        }
        Ok(stage)
    }

    fn line(&self, place: usize) -> Option<usize> {
        self.reading.schedule.get(place).map(|line| line.line)
    }

    /// What no real server can do is said before anything is done.
    fn possible(&self) -> Result<(), Trouble> {
        for (place, entry) in self.timeline.entries().iter().enumerate() {
            let why = match (&entry.action, entry.refusal()) {
                (_, Some(why)) => why,
                (
                    Action::ClockJump {
                        clock: ClockOf::Server(_),
                        ..
                    },
                    None,
                ) => "no real Redis lets its clock be moved",
                (action, None) if is_playable(action) => continue,
                _ => "no real server can be made to do this",
            };
            let line = self.line(place).unwrap_or_default();
            return Err(Trouble::Impossible(format!(
                "{line}: this cannot be played: {why}"
            )));
        }
        Ok(())
    }

    /// Every command that is sent to Redis, in order.
    fn commands(&self) -> Vec<Sent> {
        let setup: &Setup = &self.reading.setup;
        let store = |place: usize| {
            let world = self.timeline.moment(place).world;
            world.stores.first().cloned().unwrap_or_default()
        };
        let before = setup.commands.iter().map(|(_, argv)| Sent {
            line: None,
            argv: argv.clone(),
            store: store(0),
            now: START_OF_WALL_CLOCK,
        });
        let mut all: Vec<Sent> = before.collect();
        for (place, entry) in self.timeline.entries().iter().enumerate() {
            for event in &entry.events {
                let Fact::Sent { who, step, .. } = &event.fact else {
                    continue;
                };
                if let Ok(Request::Command(argv)) = self.request(place, entry, *who, *step) {
                    all.push(Sent {
                        line: self.line(place),
                        argv,
                        store: store(place),
                        now: START_OF_WALL_CLOCK + event.at,
                    });
                }
            }
        }
        all
    }

    /// Why keys cannot have a prefix, and in which line that is seen.
    fn no_prefix(&self, prefix: &Prefix) -> Option<String> {
        let commands = self.commands();
        let mut why = commands
            .iter()
            .filter_map(|sent| Some((sent, prefix.refusal(sent)?)));
        let (sent, why) = why.next()?;
        Some(format!("{}keys keep their own names: {why}", sent.place()))
    }

    /// A key as it is called in Redis.
    fn named(&self, key: &[u8]) -> Vec<u8> {
        let prefix = self.store.as_ref().and_then(store::Address::prefix);
        prefix.map_or_else(|| key.to_vec(), |prefix| prefix.before(key))
    }

    /// What is sent, with values in place of variables.
    fn request(
        &self,
        place: usize,
        entry: &Entry,
        who: Who,
        step: Option<usize>,
    ) -> Result<Request, String> {
        let setup: &Setup = &self.reading.setup;
        let world = self.timeline.moment(place).world;
        let (asked, values) = match (who, step, &entry.action) {
            (Who::Client(client), Some(step), _) => {
                let protocol = setup.clients[client.0]
                    .protocol
                    .ok_or("the client runs no protocol")?;
                (
                    &setup.protocols[protocol].steps[step].request,
                    Some(&world.clients[client.0].variables),
                )
            }
            (Who::Client(client), None, Action::Command { request, .. }) => {
                (request, Some(&world.clients[client.0].variables))
            }
            (Who::Operator, _, Action::Command { request, .. }) => (request, None),
            _ => return Err("nobody knows what was sent".to_owned()),
        };
        let value_of = |name: &str| {
            values
                .and_then(|values| values.get(name))
                .cloned()
                .ok_or_else(|| format!("{{{name}}} has no value"))
        };
        match asked {
            Asked::Store(_, arguments) => {
                let argv = arguments
                    .iter()
                    .map(|argument| self.bytes(argument, &value_of))
                    .collect::<Result<_, String>>()?;
                Ok(Request::Command(argv))
            }
            Asked::Database(Ok(statement)) => {
                let mut parameters = Vec::new();
                for name in statement.variables() {
                    parameters.push((name.clone(), SqlValue::from(value_of(name)?)));
                }
                Ok(Request::Statement(statement.text_with(&parameters)))
            }
            Asked::Database(Err(_)) => {
                Err("a statement that could not be read was not kept".to_owned())
            }
            _ => Err("this goes to no server".to_owned()),
        }
    }

    fn bytes(
        &self,
        argument: &Argument,
        value_of: &dyn Fn(&str) -> Result<Value, String>,
    ) -> Result<Vec<u8>, String> {
        let script = |name: &String| {
            let source = self
                .reading
                .setup
                .scripts
                .get(name)
                .ok_or_else(|| format!("there is no script {name}"))?;
            let reads = self.script_clock && reads_time(&String::from_utf8_lossy(source));
            Ok::<_, String>(if reads {
                let key = String::from_utf8_lossy(&self.named(CLOCK_KEY.as_bytes())).into_owned();
                let clock = CLOCK_IN_SCRIPTS.replace(CLOCK_KEY, &key);
                [clock.as_bytes(), source].concat()
            } else {
                source.clone()
            })
        };
        match argument {
            Argument::Literal(bytes) => Ok(bytes.clone()),
            Argument::Variable(name) => match value_of(name)? {
                Value::Text(bytes) => Ok(bytes),
                Value::Integer(number) => Ok(number.to_string().into_bytes()),
                Value::Null => Err(format!("{{{name}}} is NULL")),
            },
            Argument::ScriptSource(name) => script(name),
            Argument::ScriptSha(name) => Ok(script_sha1(&script(name)?).into_bytes()),
        }
    }

    async fn make_database(&mut self, is_asked: bool) -> Result<(), String> {
        let Some(named) = self
            .database
            .clone()
            .filter(|named| is_asked && named.database().is_none())
        else {
            return Ok(());
        };
        let name = format!("latchkey_{}", std::process::id());
        let mut link = named.connect().await?;
        done(
            link.ask(Request::Statement(format!("CREATE DATABASE {name}")))
                .await?,
        )?;
        link.close().await;
        self.database = Some(named.with_database(&name));
        self.made = Some((named, name));
        Ok(())
    }

    async fn drop_database(&self) -> Result<(), String> {
        if let Some((named, name)) = &self.made {
            let mut link = named.connect().await?;
            done(
                link.ask(Request::Statement(format!("DROP DATABASE {name}")))
                    .await?,
            )?;
            link.close().await;
        }
        Ok(())
    }

    async fn refuse_what_is_there(&self) -> Result<(), String> {
        self.refuse_to_touch_all().await?;
        if let (Some(address), false) = (&self.store, self.keys.is_empty()) {
            let mut link = address.connect().await?;
            for key in &self.keys {
                let got = link.ask(command(&[b"EXISTS", key])).await?;
                if !matches!(got, Got::Store(Reply::Integer(0))) {
                    return Err(format!(
                        "Redis has the key {} already, and it is left alone",
                        String::from_utf8_lossy(&self.named(key))
                    ));
                }
            }
            link.close().await;
        }
        if let (Some(address), false) = (&self.database, self.tables.is_empty()) {
            let mut link = address.connect().await?;
            if let Got::Database(Answer::Rows(rows)) = link
                .ask(Request::Statement("SHOW TABLES".to_owned()))
                .await?
            {
                let there = |name: &&String| {
                    self.tables
                        .iter()
                        .any(|table| table.eq_ignore_ascii_case(name))
                };
                let names: Vec<String> = rows.into_iter().flatten().flatten().collect();
                if let Some(table) = names.iter().find(there) {
                    return Err(format!(
                        "the database has the table {table} already, and it is left alone"
                    ));
                }
            }
            link.close().await;
        }
        Ok(())
    }

    /// What is about a whole database of Redis is only sent where nothing is in it.
    async fn refuse_to_touch_all(&self) -> Result<(), String> {
        let Some(address) = &self.store else {
            return Ok(());
        };
        let commands = self.commands();
        let everything = |sent: &Sent| Some(sent.place() + &sent.about_everything()?);
        let Some(name) = commands.iter().find_map(everything) else {
            return Ok(());
        };
        let mut link = address.connect().await?;
        let got = link.ask(command(&[b"DBSIZE"])).await?;
        link.close().await;
        match got {
            Got::Store(Reply::Integer(0)) => Ok(()),
            _ => Err(format!(
                "{name} is about everything in the database of Redis, and other keys are in this one"
            )),
        }
    }

    async fn set_up(&self) -> Result<(), String> {
        let setup: &Setup = &self.reading.setup;
        if let (Some(address), false) = (&self.database, setup.statements.is_empty()) {
            let mut link = address.connect().await?;
            for statement in &setup.statements {
                done(
                    link.ask(Request::Statement(statement.source().to_owned()))
                        .await?,
                )?;
            }
            link.close().await;
        }
        if let (Some(address), false) = (&self.store, setup.commands.is_empty()) {
            let mut link = address.connect().await?;
            for (_, argv) in &setup.commands {
                done(link.ask(Request::Command(argv.clone())).await?)?;
            }
            link.close().await;
        }
        Ok(())
    }

    /// Takes away what was made.
    async fn clean_up(&self) -> Result<(), String> {
        if let (Some(address), false) = (&self.store, self.keys.is_empty()) {
            let mut link = address.connect().await?;
            let mut argv = vec![b"DEL".to_vec()];
            argv.extend(self.keys.iter().cloned());
            done(link.ask(Request::Command(argv)).await?)?;
            link.close().await;
        }
        if self.made.is_some() {
            return self.drop_database().await;
        }
        if let (Some(address), false) = (&self.database, self.tables.is_empty()) {
            let mut link = address.connect().await?;
            done(
                link.ask(Request::Statement("SET FOREIGN_KEY_CHECKS = 0".to_owned()))
                    .await?,
            )?;
            for table in &self.tables {
                done(
                    link.ask(Request::Statement(format!(
                        "DROP TABLE IF EXISTS {}",
                        quoted(table)
                    )))
                    .await?,
                )?;
            }
            link.close().await;
        }
        Ok(())
    }
}

/// Whether an action is about clients, time and keys, and not about what becomes of a server.
fn is_playable(action: &Action) -> bool {
    use Action as A;
    matches!(
        action,
        A::Step { .. }
            | A::Pause { .. }
            | A::Resume { .. }
            | A::Crash { .. }
            | A::Restart { .. }
            | A::LoseReply { .. }
            | A::LoseRequest { .. }
            | A::Delay { .. }
            | A::Deliver { .. }
            | A::Advance { .. }
            | A::AdvanceToNextDeadline
            | A::ClockJump { .. }
            | A::ClockRate { .. }
            | A::ExpireNow { .. }
            | A::Wipe { .. }
            | A::Evict { .. }
            | A::Command { .. }
    )
}

/// Which servers a scenario asks.
struct Needs {
    store: bool,
    database: bool,
}

impl Needs {
    fn of(reading: &Reading, start: &World) -> Needs {
        let setup: &Setup = &reading.setup;
        let mut needs = Needs {
            store: start
                .stores
                .iter()
                .any(|store| store.keys().next().is_some()),
            database: !setup.statements.is_empty(),
        };
        for request in reading.requests() {
            needs.store |= matches!(request, Asked::Store(..));
            needs.database |= matches!(request, Asked::Database(_));
        }
        needs
    }
}

/// What a connection is for. In RESP2 one that has subscribed takes no other commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Store,
    Subscriptions,
    Database,
}

/// A connection's place: whose, and what it is for.
type Place = (Who, Kind);

struct Play<'s, 'a> {
    stage: &'s Stage<'a>,
    links: BTreeMap<Place, Link>,
    /// Connections that a client has given up while a request was under way on them.
    left_behind: Vec<(ClientId, usize, Link)>,
    /// Requests that have been sent and have not arrived.
    under_way: Vec<(ClientId, usize, Request, Kind)>,
    /// On which connection to Redis somebody has asked last.
    asked: BTreeMap<Who, Kind>,
    compared: Compared,
    /// By how much the database's clock has jumped, in milliseconds.
    database_jump: i64,
    /// What a place's connection was told of the clock, in milliseconds since 1970.
    behind: BTreeMap<Place, i64>,
    say: &'s mut dyn FnMut(&str),
}

impl Play<'_, '_> {
    async fn all(&mut self) -> Result<(), Trouble> {
        for (place, entry) in self.stage.timeline.entries().iter().enumerate() {
            self.entry(place, entry).await?;
        }
        self.end().await
    }

    async fn entry(&mut self, place: usize, entry: &Entry) -> Result<(), Trouble> {
        for (at, event) in entry.events.iter().enumerate() {
            self.fact(place, entry, event, entry.events.get(at + 1))
                .await?;
        }
        Ok(())
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
            let link = match (place.1, &self.stage.store, &self.stage.database) {
                (Kind::Store | Kind::Subscriptions, Some(address), _) => address.connect().await?,
                (Kind::Database, _, Some(address)) => address.connect().await?,
                _ => return Err("no address is given for this server".to_owned()),
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
                if on != Kind::Database {
                    self.asked.insert(*who, on);
                }
                match (next.map(|next| &next.fact), who, step) {
                    (Some(Fact::RequestLost { .. }), ..) => {}
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
                let link = self.link((*who, on)).await;
                let got = match link {
                    Ok(link) => link.receive().await,
                    Err(why) => Err(why),
                };
                let got = got.map_err(|why| self.trouble(place, why))?;
                self.compare(place, answer, &got)?;
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
                let request =
                    &self.stage.reading.setup.clients[client.0]
                        .protocol
                        .map(|protocol| {
                            &self.stage.reading.setup.protocols[protocol].steps[*step].request
                        });
                if !closes {
                    return Ok(());
                }
                let on = match request {
                    Some(Asked::Database(_)) => Kind::Database,
                    _ => self
                        .asked
                        .get(&Who::Client(*client))
                        .copied()
                        .unwrap_or(Kind::Store),
                };
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
                ..
            } => {
                let got = self.message(*client).await;
                let got = got.map_err(|why| self.trouble(place, why))?;
                let told = [Reply::bulk(channel), Reply::bulk(message)];
                if !matches!(&got, Got::Store(Reply::Array(parts)) if parts.ends_with(&told)) {
                    let told = Reply::Array(told.to_vec()).print_short();
                    return Err(self.difference(place, told, got.print()));
                }
            }
            Fact::Crashed { client, .. } => {
                for on in [Kind::Store, Kind::Subscriptions, Kind::Database] {
                    self.behind.remove(&(Who::Client(*client), on));
                    if let Some(link) = self.links.remove(&(Who::Client(*client), on)) {
                        link.close().await;
                    }
                }
            }
            Fact::ClockJumped {
                clock: ClockOf::Database,
                milliseconds,
            } => self.database_jump += milliseconds,
            Fact::TimePassed { milliseconds, .. } => self
                .pass(place, entry, *milliseconds)
                .await
                .map_err(|why| self.trouble(place, why))?,
            Fact::KeyChanged { key, cause, .. } => {
                let request = match cause {
                    Cause::ExpiredNow => command(&[b"PEXPIRE", key, b"0"]),
                    Cause::Wiped | Cause::Evicted => command(&[b"DEL", key]),
                    _ => return Ok(()),
                };
                self.outsider(vec![request])
                    .await
                    .map_err(|why| self.trouble(place, why))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// The next message to a client, behind what confirms its subscriptions to more than one channel.
    async fn message(&mut self, client: ClientId) -> Result<Got, String> {
        let link = self
            .link((Who::Client(client), Kind::Subscriptions))
            .await?;
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
        match kind(server, None)? {
            Kind::Database => Some(Kind::Database),
            _ => Some(self.asked.get(&who).copied().unwrap_or(Kind::Store)),
        }
    }

    /// Somebody from outside does something to Redis.
    async fn outsider(&self, requests: Vec<Request>) -> Result<(), String> {
        let Some(address) = &self.stage.store else {
            return Ok(());
        };
        let mut link = address.connect().await?;
        for request in requests {
            done(link.ask(request).await?)?;
        }
        link.close().await;
        Ok(())
    }

    /// Time passes: really, or by making keys lapse.
    async fn pass(&mut self, place: usize, entry: &Entry, milliseconds: u64) -> Result<(), String> {
        if !self.stage.lapse {
            if milliseconds >= LONG {
                let line = self.stage.line(place).unwrap_or_default();
                (self.say)(&format!("{line}: waiting for {}", in_words(milliseconds)));
            }
            tokio::time::sleep(Duration::from_millis(milliseconds)).await;
            return Ok(());
        }
        let lapsed = entry.events.iter().filter_map(|event| match &event.fact {
            Fact::KeyChanged {
                key,
                cause: Cause::Lapse,
                ..
            } => Some(key),
            _ => None,
        });
        let lapsed: Vec<&Vec<u8>> = lapsed.collect();
        let mut requests: Vec<Request> = lapsed
            .iter()
            .map(|key| command(&[b"PEXPIRE", key, b"0"]))
            .collect();
        let after = self.stage.timeline.moment(place + 1).world;
        for (key, state) in after.stores.iter().flat_map(|store| store.keys()) {
            requests.extend(state.remaining.map(|remaining| {
                command(&[
                    b"PEXPIRE",
                    key,
                    remaining.max(NEAREST).to_string().as_bytes(),
                ])
            }));
        }
        if self.stage.script_clock {
            requests.push(command(&[
                b"INCRBY",
                CLOCK_KEY.as_bytes(),
                milliseconds.to_string().as_bytes(),
            ]));
        }
        if !lapsed.is_empty() {
            let keys: Vec<_> = lapsed
                .iter()
                .map(|key| String::from_utf8_lossy(key))
                .collect();
            let line = self.stage.line(place).unwrap_or_default();
            (self.say)(&format!(
                "{line}: {} are not waited for: {} expired",
                in_words(milliseconds),
                keys.join(", ")
            ));
        }
        self.outsider(requests).await
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
        if place.1 == Kind::Subscriptions {
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
        let is_loose = self.stage.loose.contains(&place);
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
        let at_end = |what: String, playground: String, servers: String| Trouble::Difference {
            line: None,
            what,
            playground,
            servers,
        };
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
        if let (Some(address), false) = (&self.stage.store, self.stage.keys.is_empty()) {
            let mut link = address.connect().await.map_err(Trouble::Impossible)?;
            for key in self
                .stage
                .keys
                .iter()
                .filter(|key| key.as_slice() != CLOCK_KEY.as_bytes())
            {
                let name = String::from_utf8_lossy(key).into_owned();
                let state = world.stores.first().and_then(|store| store.get(key));
                let (read, told) = contents(key, state.as_ref().map(|state| &state.value));
                let got = link.ask(read).await.map_err(Trouble::Impossible)?;
                let is_same = matches!(&got, Got::Store(got) if sorted(got) == sorted(&told));
                if !is_same {
                    return Err(at_end(
                        format!("the key {name}"),
                        told.print_short(),
                        got.print(),
                    ));
                }
                let remaining = state.map_or(-2, |state| {
                    state.remaining.map_or(-1, |remaining| remaining as i64)
                });
                let got = link
                    .ask(command(&[b"PTTL", key]))
                    .await
                    .map_err(Trouble::Impossible)?;
                let is_near = match &got {
                    Got::Store(Reply::Integer(got)) if remaining < 0 => *got == remaining,
                    Got::Store(Reply::Integer(got)) => {
                        *got >= 0 && (got - remaining).abs() <= TOLERANCE
                    }
                    _ => false,
                };
                if !is_near {
                    return Err(at_end(
                        format!("the time to live of {name}"),
                        remaining.to_string(),
                        got.print(),
                    ));
                }
                self.compared.keys += 1;
            }
            link.close().await;
        }
        Ok(())
    }
}

/// On which kind of connection a request goes to a server; `None`: it goes to none.
fn kind(server: Server, request: Option<&Request>) -> Option<Kind> {
    const SUBSCRIPTIONS: [&str; 4] = ["SUBSCRIBE", "PSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE"];
    match (server, request) {
        (Server::Store(_), Some(Request::Command(argv))) => {
            let name = argv
                .first()
                .map(|name| String::from_utf8_lossy(name).to_ascii_uppercase());
            let subscribes = name.is_some_and(|name| SUBSCRIPTIONS.contains(&name.as_str()));
            Some(if subscribes {
                Kind::Subscriptions
            } else {
                Kind::Store
            })
        }
        (Server::Store(_), _) => Some(Kind::Store),
        (Server::Database, _) => Some(Kind::Database),
        (Server::Gateway | Server::Client, _) => None,
    }
}

fn impossible<T>(why: &str) -> Result<T, Trouble> {
    Err(Trouble::Impossible(why.to_owned()))
}

fn command(words: &[&[u8]]) -> Request {
    Request::Command(words.iter().map(|word| word.to_vec()).collect())
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Nothing, where it is no error.
fn done(got: Got) -> Result<(), String> {
    match got {
        Got::Store(Reply::Error(error)) | Got::Database(Answer::Error { text: error, .. }) => {
            Err(error)
        }
        _ => Ok(()),
    }
}

/// How a key is read, and what the playground has in it.
fn contents(key: &[u8], value: Option<&StoreValue>) -> (Request, Reply) {
    let parts = |value: &StoreValue| Reply::Array(value.parts().iter().map(Reply::bulk).collect());
    match value {
        None => (command(&[b"EXISTS", key]), Reply::Integer(0)),
        Some(StoreValue::String(bytes)) => (command(&[b"GET", key]), Reply::bulk(bytes)),
        Some(value @ StoreValue::List(_)) => {
            (command(&[b"LRANGE", key, b"0", b"-1"]), parts(value))
        }
        Some(value @ StoreValue::Hash(_)) => (command(&[b"HGETALL", key]), parts(value)),
        Some(value @ StoreValue::Set(_)) => (command(&[b"SMEMBERS", key]), parts(value)),
        // Scores may be times.
        Some(StoreValue::SortedSet(set)) => {
            let members = set.iter().map(|(_, member)| Reply::bulk(member));
            (
                command(&[b"ZRANGE", key, b"0", b"-1"]),
                Reply::Array(members.collect()),
            )
        }
    }
}

/// A reply whose elements are in an order of their own.
fn sorted(reply: &Reply) -> Reply {
    match reply {
        Reply::Array(elements) => {
            let mut elements = elements.clone();
            elements.sort();
            Reply::Array(elements)
        }
        other => other.clone(),
    }
}

/// Whether a reply tells that a channel has been left.
fn leaves(reply: &[Reply]) -> bool {
    matches!(reply.first(), Some(Reply::Bulk(word)) if word.ends_with(b"unsubscribe"))
}

fn is_same_reply(told: &Reply, got: &Reply, is_loose: bool, scripts_differ: bool) -> bool {
    match (told, got) {
        // In which order UNSUBSCRIBE without names leaves its channels is Redis's own affair.
        (Reply::Array(told), Reply::Array(got)) if leaves(told) && leaves(got) => {
            told.first() == got.first() && told.last() == got.last()
        }
        (Reply::Integer(told), Reply::Integer(got)) if is_loose => (told - got).abs() <= TOLERANCE,
        (Reply::Array(told), Reply::Array(got)) => {
            told.len() == got.len()
                && told
                    .iter()
                    .zip(got)
                    .all(|(told, got)| is_same_reply(told, got, is_loose, scripts_differ))
        }
        // Errors of scripts name the line, which is another one behind the lines of the clock.
        (Reply::Error(told), Reply::Error(got)) if scripts_differ => {
            told.split(' ').next() == got.split(' ').next()
        }
        (told, got) => told == got,
    }
}

fn is_same_answer(told: &SqlReply, got: &Answer) -> bool {
    match (told, got) {
        (SqlReply::Done { .. }, Answer::Affected(0)) => true,
        (SqlReply::Affected { affected, .. }, Answer::Affected(got)) => affected == got,
        (SqlReply::Error(error), Answer::Error { code, .. }) => {
            error.code == *code
                || WHERE_MYSQL_DIFFERS
                    .iter()
                    .any(|(mysql, mariadb, _)| *mysql == error.code && mariadb == code)
        }
        (SqlReply::Rows { rows, .. }, Answer::Rows(got)) => {
            let text = |value: &SqlValue| (!value.is_null()).then(|| value.to_string());
            let told = rows
                .iter()
                .map(|row| row.iter().map(text).collect::<Vec<_>>());
            told.eq(got.iter().cloned())
        }
        _ => false,
    }
}
