//! The Redis servers of a scenario: those that were given, or the program's own, with their clocks, their crashes, and what replicas
//! have received.

use std::collections::VecDeque;

use super::Given;
use super::link::{Got, Link, Request, command, done};
use super::prefix::Prefix;
use super::started::{ClockLibrary, Redis};
use super::store::Address;
use super::stream::{Gate, Stream};
use crate::sim::action::ServerId;
use crate::sim::setup::Setup;
use crate::sim::store::reply::Reply;
use crate::sim::time::START_OF_WALL_CLOCK;
use crate::sim::world::World;

/// All of them, in the scenario's order.
#[derive(Default)]
pub(super) struct Fleet {
    members: Vec<Member>,
    /// How much time has passed, in milliseconds.
    now: u64,
}

/// One server.
struct Member {
    name: String,
    address: Address,
    /// `None`: it was given, and is left as it was.
    own: Option<Redis>,
    /// By how much its clock has jumped, in milliseconds.
    jumped: i64,
    /// Through which it hears of its primary.
    stream: Option<Stream>,
    /// Up to which offset of its primary's stream each entry of the log goes that it lacks; `None`: that cannot be told.
    lacking: VecDeque<Option<u64>>,
    /// Whether it was made a replica here, and has to be set free.
    is_bound: bool,
}

impl Fleet {
    /// The servers that were given for a scenario.
    pub fn given(setup: &Setup, given: &[Given]) -> Result<Fleet, String> {
        let mut members: Vec<Member> = Vec::new();
        for server in (0..setup.server_count()).map(ServerId) {
            let name = setup.server_name(server).to_owned();
            let is_meant = |given: &&Given| match &given.name {
                Some(name) => setup.server_named(name) == Some(server),
                None => setup.server_count() == 1,
            };
            let Some(given) = given.iter().find(is_meant) else {
                return Err(match setup.server_count() {
                    1 => "the scenario asks Redis: --redis URL is needed, or --start".to_owned(),
                    _ => format!(
                        "the scenario asks the Redis server {name}: --redis {name}=URL is needed, or --start"
                    ),
                });
            };
            let address = Address::read(&given.url)?;
            if let Some(other) = members
                .iter()
                .find(|it| it.address.is_same_server(&address))
            {
                let other = &other.name;
                return Err(format!(
                    "{other} and {name} are the same Redis, and the scenario has several"
                ));
            }
            members.push(Member::new(name, address, None));
        }
        Ok(Fleet { members, now: 0 })
    }

    /// Servers of the program's own, which run. `keeps_data` says which of them will have to come back with what they had.
    pub async fn start(
        &mut self,
        setup: &Setup,
        keeps_data: &dyn Fn(ServerId) -> bool,
        library: Option<&ClockLibrary>,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), String> {
        for server in (0..setup.server_count()).map(ServerId) {
            let name = setup.server_name(server).to_owned();
            let own = Redis::new(&name, keeps_data(server), library)?;
            let member = Member::new(name, own.address(), Some(own));
            self.members.push(member);
            self.run(server, say).await?;
        }
        Ok(())
    }

    async fn run(&mut self, server: ServerId, say: &mut dyn FnMut(&str)) -> Result<(), String> {
        let now = self.now;
        let Some(member) = self.members.get_mut(server.0) else {
            return Ok(());
        };
        member.set_clock(now)?;
        if let Some(own) = &mut member.own {
            own.start().await?;
            let (name, port) = (&member.name, own.port());
            let id = own.id().unwrap_or_default();
            say(&format!(
                "{name} is a redis-server at 127.0.0.1:{port} (process {id})"
            ));
        }
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Whether clocks are set instead of waited for.
    pub fn has_settable_clocks(&self) -> bool {
        let is_settable =
            |member: &Member| member.own.as_ref().is_some_and(Redis::has_settable_clock);
        !self.is_empty() && self.members.iter().all(is_settable)
    }

    /// The same servers, with a prefix before every key.
    pub fn under(&mut self, prefix: &Prefix) {
        for member in &mut self.members {
            member.address = member.address.clone().under(Some(prefix.clone()));
        }
    }

    pub fn address(&self, server: ServerId) -> Option<&Address> {
        self.members.get(server.0).map(|member| &member.address)
    }

    /// The servers, in order.
    pub fn servers(&self) -> impl Iterator<Item = ServerId> + use<> {
        (0..self.members.len()).map(ServerId)
    }

    /// Whether it was given, and is not the program's own.
    pub fn is_given(&self, server: ServerId) -> bool {
        self.members
            .get(server.0)
            .is_some_and(|member| member.own.is_none())
    }

    pub fn name(&self, server: ServerId) -> &str {
        self.members
            .get(server.0)
            .map_or("store", |member| &member.name)
    }

    /// Opens a connection to a server.
    pub async fn connect(&self, server: ServerId) -> Result<Link, String> {
        match self.address(server) {
            Some(address) => address.connect().await,
            None => Err("no address is given for this server".to_owned()),
        }
    }

    /// Somebody from outside asks a server one thing after the other, and none of it may fail.
    pub async fn ask(&self, server: ServerId, requests: Vec<Request>) -> Result<(), String> {
        if self.is_empty() || requests.is_empty() {
            return Ok(());
        }
        let mut link = self.connect(server).await?;
        for request in requests {
            done(link.ask(request).await?)?;
        }
        link.close().await;
        Ok(())
    }

    // Clocks.

    /// Time has passed for everybody: clocks that can be set are.
    pub fn pass(&mut self, milliseconds: u64) -> Result<(), String> {
        self.now += milliseconds;
        let now = self.now;
        self.members
            .iter()
            .try_for_each(|member| member.set_clock(now))
    }

    /// One server's clock jumps.
    pub fn jump(&mut self, server: ServerId, milliseconds: i64) -> Result<(), String> {
        let now = self.now;
        match self.members.get_mut(server.0) {
            Some(member) => {
                member.jumped += milliseconds;
                member.set_clock(now)
            }
            None => Ok(()),
        }
    }

    // Replicas.

    /// Makes servers replicas that are given as such and may be; each has to be empty.
    pub async fn refuse_full_replicas(&self, world: &World) -> Result<(), String> {
        for server in self.servers() {
            let member = &self.members[server.0];
            if member.own.is_some() || !world.store(server).is_replica() {
                continue;
            }
            let name = &member.name;
            if self.field(server, "role:").await?.as_deref() != Some("master")
                || self.field(server, "connected_slaves:").await?.as_deref() != Some("0")
            {
                return Err(format!(
                    "{name} is a replica or has one already, and it is left alone"
                ));
            }
            if self.info(server, "keyspace").await?.contains("keys=") {
                return Err(format!(
                    "{name} has keys already, which it would lose as a replica, and it is left alone"
                ));
            }
        }
        Ok(())
    }

    /// Makes every replica of a world one of its primary's.
    pub async fn bind(&mut self, setup: &Setup, world: &World) -> Result<(), String> {
        for server in self.servers() {
            if world.store(server).is_replica() {
                self.follow(setup, world, server).await?;
            }
        }
        Ok(())
    }

    /// Makes a server a replica of its primary, and waits until it is as that is, if that is up.
    async fn follow(
        &mut self,
        setup: &Setup,
        world: &World,
        server: ServerId,
    ) -> Result<(), String> {
        let Some(primary) = primary_of(setup, world, server) else {
            return Ok(());
        };
        let Some(address) = self.address(primary).cloned() else {
            return Ok(());
        };
        let Some(member) = self.members.get_mut(server.0) else {
            return Ok(());
        };
        let host = member.address.reached_from().await?;
        let stream = Stream::from(address, host).await?;
        let (host, port) = (stream.host.to_string(), stream.port.to_string());
        member.stream = Some(stream);
        member.is_bound = true;
        let replicaof = command(&[b"REPLICAOF", host.as_bytes(), port.as_bytes()]);
        self.ask(server, vec![replicaof]).await?;
        match world.store(primary).is_down() {
            true => Ok(()),
            false => self.catch_up(server, primary).await,
        }
    }

    /// Lets a replica have everything, and waits until it does.
    async fn catch_up(&mut self, server: ServerId, primary: ServerId) -> Result<(), String> {
        let offset = self.offset(primary).await?;
        let Some(member) = self.members.get_mut(server.0) else {
            return Ok(());
        };
        member.lacking.clear();
        let Some(stream) = &member.stream else {
            return Ok(());
        };
        stream.set(Gate::Open);
        stream.reach(offset).await
    }

    /// Before an action: a replica that will lack something hears no more from here on.
    pub async fn hold(
        &mut self,
        setup: &Setup,
        before: &World,
        after: &World,
    ) -> Result<(), String> {
        for server in self.servers() {
            let is_open = |stream: &Stream| stream.is_open();
            let was_open = self.members[server.0].stream.as_ref().is_some_and(is_open);
            if !was_open || lack(setup, after, server) == 0 {
                continue;
            }
            let gate = match primary_of(setup, before, server) {
                Some(primary) if !before.store(primary).is_down() => {
                    Gate::Until(self.offset(primary).await?)
                }
                _ => Gate::Shut,
            };
            if let Some(stream) = &self.members[server.0].stream {
                stream.set(gate);
            }
        }
        Ok(())
    }

    /// After an action: what replicas lack is noted.
    pub async fn note(&mut self, setup: &Setup, after: &World) -> Result<(), String> {
        for server in self.servers() {
            let (lacks, known) = (
                lack(setup, after, server),
                self.members[server.0].lacking.len(),
            );
            if lacks <= known {
                self.members[server.0].lacking.drain(..known - lacks);
                continue;
            }
            let offset = match primary_of(setup, after, server) {
                Some(primary) if !after.store(primary).is_down() => {
                    Some(self.offset(primary).await?)
                }
                _ => None,
            };
            let lacking = &mut self.members[server.0].lacking;
            lacking.extend(std::iter::repeat_n(None, lacks - known - 1));
            lacking.push_back(offset);
        }
        Ok(())
    }

    /// A replica receives so many entries of its primary's log.
    pub async fn replicate(
        &mut self,
        from: ServerId,
        to: ServerId,
        entries: usize,
    ) -> Result<(), String> {
        let Some(member) = self.members.get_mut(to.0) else {
            return Ok(());
        };
        let mut received = member.lacking.drain(..entries.min(member.lacking.len()));
        let last = received.next_back();
        drop(received);
        if member.lacking.is_empty() {
            return self.catch_up(to, from).await;
        }
        match (last, &member.stream) {
            (None, _) | (_, None) => Ok(()),
            (Some(Some(offset)), Some(stream)) => {
                stream.set(Gate::Until(offset));
                stream.reach(offset).await
            }
            (Some(None), _) => Err(
                "where the primary has crashed meanwhile, or has done several things in one line of the schedule, a replica receives \
                 all of it or nothing"
                    .to_owned(),
            ),
        }
    }

    /// A replica takes over, and the others follow it.
    pub async fn fail_over(
        &mut self,
        setup: &Setup,
        after: &World,
        to: ServerId,
    ) -> Result<(), String> {
        if let Some(member) = self.members.get_mut(to.0) {
            member.stream = None;
            member.lacking.clear();
        }
        self.ask(to, vec![command(&[b"REPLICAOF", b"NO", b"ONE"])])
            .await?;
        for other in setup.members_of(setup.group_of(to)) {
            if other != to && !after.store(other).is_down() {
                self.follow(setup, after, other).await?;
            }
        }
        Ok(())
    }

    // Crashes.

    /// A server is down from now on.
    pub async fn crash(&mut self, setup: &Setup, after: &World, server: ServerId) {
        if let Some(own) = self.own(server) {
            own.kill().await;
        }
        // Offsets of the one that comes back are other numbers.
        for replica in self.servers() {
            if primary_of(setup, after, replica) == Some(server) {
                let lacking = &mut self.members[replica.0].lacking;
                lacking.iter_mut().for_each(|offset| *offset = None);
                let is_behind = !lacking.is_empty();
                if let Some(stream) = &self.members[replica.0].stream {
                    stream.cut();
                    if is_behind {
                        stream.set(Gate::Shut);
                    }
                }
            }
        }
    }

    /// A server that was down is there again.
    pub async fn restart(
        &mut self,
        setup: &Setup,
        after: &World,
        server: ServerId,
        keeps_data: bool,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), String> {
        if let (Some(own), false) = (self.own(server), keeps_data) {
            own.forget()?;
        }
        self.run(server, say).await?;
        if after.store(server).is_replica() {
            return self.follow(setup, after, server).await;
        }
        for replica in self.servers() {
            let is_up = !after.store(replica).is_down();
            if primary_of(setup, after, replica) == Some(server)
                && is_up
                && lack(setup, after, replica) == 0
            {
                self.catch_up(replica, server).await?;
            }
        }
        Ok(())
    }

    fn own(&mut self, server: ServerId) -> Option<&mut Redis> {
        self.members.get_mut(server.0)?.own.as_mut()
    }

    /// Sets replicas free that were given, which were empty before; ends servers of the program's own, and says so.
    pub async fn disband(&mut self, say: &mut dyn FnMut(&str)) -> Result<(), String> {
        let mut outcome = Ok(());
        let mut ended = Vec::new();
        for server in self.servers() {
            if let Some(own) = self.own(server) {
                ended.extend(own.id());
                own.kill().await;
            } else if self.members[server.0].is_bound {
                let free = [
                    command(&[b"REPLICAOF", b"NO", b"ONE"]),
                    command(&[b"FLUSHALL"]),
                ];
                let freed = self.ask(server, free.to_vec()).await;
                outcome = outcome.and(freed);
            }
        }
        if !ended.is_empty() {
            let ended: Vec<String> = ended.iter().map(u32::to_string).collect();
            say(&format!("stopped: process {}", ended.join(", ")));
        }
        self.members.clear();
        outcome
    }

    // What a server says of itself.

    /// How far a primary's stream goes.
    async fn offset(&self, primary: ServerId) -> Result<u64, String> {
        let offset = self.field(primary, "master_repl_offset:").await?;
        let offset = offset.and_then(|offset| offset.parse().ok());
        offset.ok_or_else(|| "this Redis does not tell its replication offset".to_owned())
    }

    async fn field(&self, server: ServerId, name: &str) -> Result<Option<String>, String> {
        let text = self.info(server, "replication").await?;
        let mut values = text.lines().filter_map(|line| line.strip_prefix(name));
        Ok(values.next().map(|value| value.trim().to_owned()))
    }

    async fn info(&self, server: ServerId, section: &str) -> Result<String, String> {
        let mut link = self.connect(server).await?;
        let got = link.ask(command(&[b"INFO", section.as_bytes()])).await?;
        link.close().await;
        match got {
            Got::Store(Reply::Bulk(text)) => Ok(String::from_utf8_lossy(&text).into_owned()),
            got => Err(format!("INFO {section}: {}", got.print())),
        }
    }
}

impl Member {
    fn new(name: String, address: Address, own: Option<Redis>) -> Member {
        Member {
            name,
            address,
            own,
            jumped: 0,
            stream: None,
            lacking: VecDeque::new(),
            is_bound: false,
        }
    }

    fn set_clock(&self, now: u64) -> Result<(), String> {
        let clock = (START_OF_WALL_CLOCK + now).saturating_add_signed(self.jumped);
        self.own.as_ref().map_or(Ok(()), |own| own.set_clock(clock))
    }
}

/// The primary that a replica has; none for a primary.
fn primary_of(setup: &Setup, world: &World, server: ServerId) -> Option<ServerId> {
    match world.store(server).is_replica() {
        true => world.primary_among(&setup.members_of(setup.group_of(server))),
        false => None,
    }
}

/// How many entries of its primary's log a server lacks.
fn lack(setup: &Setup, world: &World, server: ServerId) -> usize {
    primary_of(setup, world, server)
        .map_or(0, |primary| world.store(primary).lacking(server.0).len())
}
