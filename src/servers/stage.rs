//! What stands around a schedule: whether it can be played, the servers, what was there before, and what is taken away in the end.

use std::collections::BTreeSet;

use crate::export::plan::{
    CLOCK_IN_SCRIPTS, CLOCK_KEY, depends_on_time, reads_database_clock, reads_time,
};
use crate::scenario::Reading;
use crate::sim::action::{Action, ClockOf, ServerId, Who};
use crate::sim::client::protocol::{Argument, Request as Asked};
use crate::sim::database::Value as SqlValue;
use crate::sim::event::{Fact, Server, Value};
use crate::sim::setup::Setup;
use crate::sim::store::reply::Reply;
use crate::sim::store::script_sha1;
use crate::sim::time::START_OF_WALL_CLOCK;
use crate::sim::world::{World, connection_of};
use crate::timeline::{Entry, Timeline};

use super::fleet::Fleet;
use super::link::{Answer, Got, Request, command, done};
use super::played::Play;
use super::prefix::{Prefix, Sent};
use super::started::{ClockLibrary, MariaDb};
use super::{Compared, Servers, Started, Trouble, database};

/// Plays a scenario and compares; whatever comes of it, what was made for it is taken away, and what was started for it is ended.
pub(super) async fn play(
    reading: &Reading,
    timeline: &Timeline,
    servers: &Servers,
    started: &mut Started,
    say: &mut dyn FnMut(&str),
) -> Result<Compared, Trouble> {
    let mut stage = Stage::of(reading, timeline, servers);
    let mut fleet = Fleet::default();
    let outcome = tokio::select! {
        biased;
        () = interrupted() => Err(Trouble::Interrupted),
        outcome = stage.act(servers, &mut fleet, started, say) => outcome,
    };
    let cleaned = stage.clean_up(&fleet).await;
    let disbanded = fleet.disband(say).await;
    let compared = outcome?;
    cleaned.and(disbanded).map_err(Trouble::Impossible)?;
    Ok(compared)
}

/// Ends when somebody wants the program to end.
async fn interrupted() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminated) = signal(SignalKind::terminate()) {
            return tokio::select! {
                Ok(()) = tokio::signal::ctrl_c() => {}
                Some(()) = terminated.recv() => {}
                else => std::future::pending().await,
            };
        }
    }
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}

/// How time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Time {
    /// Really.
    Real,
    /// Keys are made to lapse.
    Lapse,
    /// The clocks of the servers are set.
    Set,
}

/// What a schedule is played on.
pub(super) struct Stage<'a> {
    pub reading: &'a Reading,
    pub timeline: &'a Timeline,
    pub database: Option<database::Address>,
    /// The database that was made for this.
    made: Option<(database::Address, String)>,
    /// The keys that the scenario has at any time, each with its server.
    pub keys: BTreeSet<(ServerId, Vec<u8>)>,
    pub tables: BTreeSet<String>,
    /// The places in the schedule at which replies depend on how much time passes.
    pub loose: BTreeSet<usize>,
    pub time: Time,
    /// Whether TIME in scripts is read with what the schedule has moved it by.
    pub script_clock: bool,
    pub database_clock: bool,
    prefix: Option<Prefix>,
    /// Whether anything was done to servers that were given.
    is_set_up: bool,
}

impl<'a> Stage<'a> {
    fn of(reading: &'a Reading, timeline: &'a Timeline, servers: &Servers) -> Stage<'a> {
        let start = timeline.moment(0).world;
        let end = timeline.moment(timeline.len()).world;
        let mut keys: BTreeSet<(ServerId, Vec<u8>)> = BTreeSet::new();
        for (place, store) in start.stores.iter().enumerate() {
            keys.extend(store.keys().map(|(key, _)| (ServerId(place), key.to_vec())));
        }
        for event in timeline.entries().iter().flat_map(|entry| &entry.events) {
            if let Fact::KeyChanged { server, key, .. } = &event.fact {
                keys.insert((*server, key.clone()));
            }
        }
        let tables = start
            .database
            .tables()
            .chain(end.database.tables())
            .map(|table| table.name().to_owned())
            .collect();
        Stage {
            reading,
            timeline,
            database: None,
            made: None,
            keys,
            tables,
            loose: depends_on_time(reading, timeline),
            time: match servers.lapse {
                true => Time::Lapse,
                false => Time::Real,
            },
            script_clock: false,
            database_clock: reads_database_clock(reading),
            prefix: None,
            is_set_up: false,
        }
    }

    /// Gathers the servers, sets them up, plays and compares.
    async fn act(
        &mut self,
        servers: &Servers,
        fleet: &mut Fleet,
        started: &mut Started,
        say: &mut dyn FnMut(&str),
    ) -> Result<Compared, Trouble> {
        let needs = Needs::of(self.reading, &self.timeline.moment(0).world);
        self.possible(servers)?;
        if needs.store {
            let gathered = self.gather(servers, fleet, started, say).await;
            gathered.map_err(Trouble::Impossible)?;
        } else if servers.start {
            // Statements are told the time.
            self.time = Time::Set;
        }
        let prepared = async {
            if needs.database {
                self.find_database(servers, &mut started.mariadb, say)
                    .await?;
            }
            if !servers.start {
                self.refuse_what_is_there(fleet).await?;
            }
            self.is_set_up = true;
            self.set_up(fleet).await
        };
        prepared.await.map_err(Trouble::Impossible)?;
        Play::new(self, fleet, say).all().await
    }

    /// The Redis servers, which were given or are started.
    async fn gather(
        &mut self,
        servers: &Servers,
        fleet: &mut Fleet,
        started: &mut Started,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), String> {
        let setup: &Setup = &self.reading.setup;
        if servers.start {
            if started.clocks.is_none() {
                let clocks = ClockLibrary::compile().await;
                if let Err(why) = &clocks {
                    say(&format!("time passes really: {why}"));
                }
                started.clocks = Some(clocks);
            }
            let library = started.clocks.as_ref().and_then(|it| it.as_ref().ok());
            let jumps = self.first(&|action| {
                matches!(
                    action,
                    Action::ClockJump {
                        clock: ClockOf::Server(_),
                        ..
                    }
                )
            });
            if let (Some(line), Some(Err(why))) = (jumps, &started.clocks) {
                return Err(format!("{line}: this cannot be played: {why}"));
            }
            let keeps_data = |server: ServerId| {
                let returns = |entry: &Entry| {
                    entry.action
                        == Action::RestartServer {
                            server,
                            keeps_data: true,
                        }
                };
                self.timeline.entries().iter().any(returns)
            };
            fleet.start(setup, &keeps_data, library, say).await?;
            if fleet.has_settable_clocks() {
                self.time = Time::Set;
            } else if self.time == Time::Lapse && has_replicas(setup) {
                return Err(LAPSING_REPLICAS.to_owned());
            }
        } else {
            *fleet = Fleet::given(setup, &servers.redis)?;
        }
        if let (Some(prefix), false) = (&servers.prefix, servers.start) {
            let prefix = Prefix::read(prefix)?;
            match self.no_prefix(&prefix) {
                None => {
                    fleet.under(&prefix);
                    self.prefix = Some(prefix);
                }
                Some(why) => say(&why),
            }
        }
        let mut scripts = setup.scripts.values();
        let reads_time = scripts.any(|source| reads_time(&String::from_utf8_lossy(source)));
        if self.time == Time::Lapse && reads_time {
            self.script_clock = true;
            let clock = |server| (server, CLOCK_KEY.as_bytes().to_vec());
            self.keys.extend(fleet.servers().map(clock));
        }
        Ok(())
    }

    pub fn line(&self, place: usize) -> Option<usize> {
        self.reading.schedule.get(place).map(|line| line.line)
    }

    /// The line of the first such action.
    fn first(&self, is_meant: &dyn Fn(&Action) -> bool) -> Option<usize> {
        let entries = self.timeline.entries();
        let place = entries.iter().position(|entry| is_meant(&entry.action))?;
        self.line(place)
    }

    /// What cannot be played on the servers is said before anything is done.
    fn possible(&self, servers: &Servers) -> Result<(), Trouble> {
        for (place, entry) in self.timeline.entries().iter().enumerate() {
            let why = match (&entry.action, entry.refusal()) {
                (_, Some(why)) => why,
                (action, None) => match only_for_own_servers(action) {
                    Some(why) if !servers.start => why,
                    _ => continue,
                },
            };
            let line = self.line(place).unwrap_or_default();
            return Err(Trouble::Impossible(format!(
                "{line}: this cannot be played: {why}"
            )));
        }
        let setup: &Setup = &self.reading.setup;
        let impossible = |why: &str| Err(Trouble::Impossible(why.to_owned()));
        match has_replicas(setup) && !servers.start {
            true if !servers.may_replicate => impossible(
                "the scenario has replicas: with --may-replicate servers that are given and empty are made replicas for a while; with \
                 --start the program has servers of its own",
            ),
            true if servers.lapse => impossible(LAPSING_REPLICAS),
            _ => Ok(()),
        }
    }

    /// Every command that is sent to Redis, in order.
    fn commands(&self) -> Vec<Sent> {
        let setup: &Setup = &self.reading.setup;
        let start = self.timeline.moment(0).world;
        let before = setup.commands.iter().map(|(server, argv)| Sent {
            line: None,
            server: *server,
            argv: argv.clone(),
            queued: None,
            store: start.store(*server).clone(),
            now: start.wall_clock(),
        });
        let mut all: Vec<Sent> = before.collect();
        for (place, entry) in self.timeline.entries().iter().enumerate() {
            let world = self.timeline.moment(place).world;
            for event in &entry.events {
                let Fact::Sent {
                    who,
                    step,
                    server: Server::Store(server),
                    ..
                } = event.fact
                else {
                    continue;
                };
                if let Ok(Request::Command(argv)) = self.request(place, entry, who, step) {
                    let store = world.store(server).clone();
                    let connection = connection_of(who);
                    let queued = store.queued(connection).map(<[_]>::to_vec);
                    let is_touched = store.watched(connection).1;
                    all.push(Sent {
                        line: self.line(place),
                        server,
                        argv,
                        queued: queued.map(|queued| if is_touched { Vec::new() } else { queued }),
                        store,
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
        let prefix = self.prefix.as_ref();
        prefix.map_or_else(|| key.to_vec(), |prefix| prefix.before(key))
    }

    /// What is sent, with values in place of variables.
    pub fn request(
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

    /// The database, which was given or is started.
    async fn find_database(
        &mut self,
        servers: &Servers,
        mariadb: &mut Option<MariaDb>,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), String> {
        let url = match (&servers.mysql, servers.start) {
            (Some(url), _) => url.clone(),
            (None, true) => {
                if mariadb.is_none() {
                    let own = MariaDb::start().await?;
                    let (port, id) = (own.port(), own.id());
                    say(&format!(
                        "the database is a MariaDB at 127.0.0.1:{port} (process {id})"
                    ));
                    *mariadb = Some(own);
                }
                mariadb.as_ref().map(MariaDb::url).unwrap_or_default()
            }
            (None, false) => {
                return Err(
                    "the scenario asks the database: --mysql URL is needed, or --start".to_owned(),
                );
            }
        };
        let named = database::Address::read(&url, self.reading.setup.found_rows)?;
        if named.database().is_some() {
            self.database = Some(named);
            return Ok(());
        }
        let name = format!("latchkey_{}", std::process::id());
        let mut link = named.connect().await?;
        self.made = Some((named.clone(), name.clone()));
        let create = Request::Statement(format!("CREATE DATABASE {name}"));
        let created = link.ask(create).await.and_then(done);
        if created.is_err() {
            self.made = None;
        }
        link.close().await;
        self.database = Some(named.with_database(&name));
        created
    }

    async fn refuse_what_is_there(&self, fleet: &Fleet) -> Result<(), String> {
        let start = self.timeline.moment(0).world;
        self.refuse_to_touch_all(fleet).await?;
        fleet.refuse_full_replicas(&start).await?;
        for server in fleet.servers() {
            let mut link = fleet.connect(server).await?;
            for (_, key) in self.keys.iter().filter(|(of, _)| *of == server) {
                let got = link.ask(command(&[b"EXISTS", key])).await?;
                if !matches!(got, Got::Store(Reply::Integer(0))) {
                    let name = self.named(key);
                    let name = String::from_utf8_lossy(&name);
                    return Err(match fleet.servers().count() {
                        1 => format!("Redis has the key {name} already, and it is left alone"),
                        _ => format!(
                            "{} has the key {name} already, and it is left alone",
                            fleet.name(server)
                        ),
                    });
                }
            }
            link.close().await;
        }
        if let (Some(address), false) = (&self.database, self.tables.is_empty()) {
            let mut link = address.connect().await?;
            let tables = Request::Statement("SHOW TABLES".to_owned());
            if let Got::Database(Answer::Rows(rows)) = link.ask(tables).await? {
                let mut tables = self.tables.iter();
                let names: Vec<String> = rows.into_iter().flatten().flatten().collect();
                let is_there = |name: &String| tables.any(|table| table.eq_ignore_ascii_case(name));
                if let Some(table) = names.into_iter().find(is_there) {
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
    async fn refuse_to_touch_all(&self, fleet: &Fleet) -> Result<(), String> {
        if fleet.is_empty() {
            return Ok(());
        }
        for sent in self.commands() {
            let Some(name) = sent.about_everything() else {
                continue;
            };
            let mut link = fleet.connect(sent.server).await?;
            let got = link.ask(command(&[b"DBSIZE"])).await?;
            link.close().await;
            if !matches!(got, Got::Store(Reply::Integer(0))) {
                return Err(format!(
                    "{}{name} is about everything in the database of Redis, and other keys are in this one",
                    sent.place()
                ));
            }
        }
        Ok(())
    }

    async fn set_up(&self, fleet: &mut Fleet) -> Result<(), String> {
        let setup: &Setup = &self.reading.setup;
        let statements = setup.statements.iter();
        self.tell_database(statements.map(|it| it.source().to_owned()).collect())
            .await?;
        for server in fleet.servers() {
            let commands = setup.commands.iter().filter(|(of, _)| *of == server);
            let commands = commands.map(|(_, argv)| Request::Command(argv.clone()));
            fleet.ask(server, commands.collect()).await?;
        }
        fleet.bind(setup, &self.timeline.moment(0).world).await
    }

    async fn tell_database(&self, statements: Vec<String>) -> Result<(), String> {
        let (Some(address), false) = (&self.database, statements.is_empty()) else {
            return Ok(());
        };
        let mut link = address.connect().await?;
        for statement in statements {
            done(link.ask(Request::Statement(statement)).await?)?;
        }
        link.close().await;
        Ok(())
    }

    /// Takes away what was made. Servers of the program's own are ended anyway.
    async fn clean_up(&mut self, fleet: &Fleet) -> Result<(), String> {
        let start = self.timeline.moment(0).world;
        for server in fleet.servers() {
            // A replica has what its primary has.
            let is_given = fleet.is_given(server) && !start.store(server).is_replica();
            let keys = self.keys.iter().filter(|(of, _)| *of == server);
            let keys: Vec<Vec<u8>> = keys.map(|(_, key)| key.clone()).collect();
            if self.is_set_up && is_given && !keys.is_empty() {
                let argv = [vec![b"DEL".to_vec()], keys].concat();
                fleet.ask(server, vec![Request::Command(argv)]).await?;
            }
        }
        if let Some((named, name)) = self.made.take() {
            let mut link = named.connect().await?;
            let drop = Request::Statement(format!("DROP DATABASE IF EXISTS {name}"));
            done(link.ask(drop).await?)?;
            link.close().await;
        } else if self.is_set_up && !self.tables.is_empty() {
            let mut statements = vec!["SET FOREIGN_KEY_CHECKS = 0".to_owned()];
            let drop = |table: &String| format!("DROP TABLE IF EXISTS {}", quoted(table));
            statements.extend(self.tables.iter().map(drop));
            self.tell_database(statements).await?;
        }
        Ok(())
    }
}

const LAPSING_REPLICAS: &str = "with --lapse deadlines are brought nearer, which a replica takes from nobody but its primary: without it time \
     passes really";

fn has_replicas(setup: &Setup) -> bool {
    setup
        .servers
        .iter()
        .any(|declaration| declaration.replica_of.is_some())
}

/// Why an action is done to no server that others may use.
fn only_for_own_servers(action: &Action) -> Option<&'static str> {
    match action {
        Action::ClockJump {
            clock: ClockOf::Server(_),
            ..
        } => Some(
            "no Redis that is given lets its clock be moved: with --start the program has servers of its own",
        ),
        Action::CrashServer { .. } | Action::RestartServer { .. } | Action::Failover { .. } => {
            Some(
                "this is done to no server that is given: with --start the program has servers of its own",
            )
        }
        _ => None,
    }
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

/// A name as SQL quotes it.
pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}
