//! The schedule: names become places in the setup.

use crate::sim::action::{Action, ClientId, ClockOf, LatchPoint, ServerId, Who};
use crate::sim::client::protocol::Request;
use crate::sim::setup::Setup;
use crate::sorted::SortedSet;

use super::super::ScheduleLine;
use super::super::error::{Errors, quoted};
use super::super::layout::Lines;
use super::super::limits;
use super::super::parse::Damage;
use super::super::request::{Known, Part, check_variable, request, variables};
use super::super::syntax::{BlockKind, Choice, KeyFault, Named, Side, things};
use super::Compiler;

impl Compiler<'_, '_, '_> {
    /// The actions of the schedule.
    pub(super) fn schedule(&mut self) -> Vec<ScheduleLine> {
        let mut lines = Vec::new();
        for block in self.blocks() {
            let BlockKind::Schedule(entries) = &block.kind else {
                continue;
            };
            if let Some(first) = self.layout.schedule {
                let message = format!("there is another schedule on line {}", first.first);
                self.errors.add::<()>(block.place, message, "one schedule");
                continue;
            }
            self.layout.schedule = Some(Lines::from(block.place));
            let mut known = KnownVariables::default();
            for entry in things(entries) {
                if lines.len() >= limits::ACTIONS {
                    self.too_many(entry.place, "actions", limits::ACTIONS);
                    break;
                }
                let action = action_with(
                    &entry.choice,
                    &self.setup,
                    self.damage,
                    &mut known,
                    self.errors,
                );
                let expected = entry.expected.clone();
                lines.extend(action.map(|action| ScheduleLine {
                    line: entry.place.line,
                    action,
                    expected,
                }));
            }
        }
        lines
    }
}

/// What variables each client's console knows, found once.
#[derive(Default)]
struct KnownVariables {
    of: Vec<Option<SortedSet<String>>>,
}

impl KnownVariables {
    fn of(&mut self, setup: &Setup, who: Who) -> &SortedSet<String> {
        let index = match who {
            Who::Operator => 0,
            Who::Client(client) => client.0 + 1,
        };
        if self.of.len() <= index {
            self.of.resize(index + 1, None);
        }
        self.of[index].get_or_insert_with(|| known_variables(setup, who))
    }
}

/// The variables that can have a value at somebody's console: none at the operator's.
pub(in super::super) fn known_variables(setup: &Setup, who: Who) -> SortedSet<String> {
    let Who::Client(client) = who else {
        return SortedSet::new();
    };
    let Some(declaration) = setup.clients.get(client.0) else {
        return SortedSet::new();
    };
    let mut known: SortedSet<String> = declaration.parameters.keys().cloned().collect();
    let Some(protocol) = declaration
        .protocol
        .and_then(|index| setup.protocols.get(index))
    else {
        return known;
    };
    known.insert("me".to_owned());
    for clause in protocol.steps.iter().flat_map(|step| &step.clauses) {
        known.extend(clause.pattern.variables().into_iter().map(str::to_owned));
    }
    known
}

/// The action that a line of a schedule stands for.
pub(in super::super) fn action(
    choice: &Choice,
    setup: &Setup,
    errors: &mut Errors<'_>,
) -> Option<Action> {
    action_with(
        choice,
        setup,
        Damage::default(),
        &mut KnownVariables::default(),
        errors,
    )
}

fn action_with(
    choice: &Choice,
    setup: &Setup,
    damage: Damage,
    known: &mut KnownVariables,
    errors: &mut Errors<'_>,
) -> Option<Action> {
    let mut names = Names {
        setup,
        damage,
        errors,
    };
    Some(match choice {
        Choice::Step { client, label } => {
            let client = names.client(client)?;
            Action::Step {
                client,
                step: names.step(client, label)?,
            }
        }
        Choice::Pause { client, at } => {
            let client = names.client(client)?;
            Action::Pause {
                client,
                at: names.latch(client, at.as_ref())?,
            }
        }
        Choice::Resume { client, at } => {
            let client = names.client(client)?;
            Action::Resume {
                client,
                at: names.latch(client, at.as_ref())?,
            }
        }
        Choice::Crash(name) => match names.client_or_server(name)? {
            ClientOrServer::Client(client) => Action::Crash { client },
            ClientOrServer::Server(server) => Action::CrashServer { server },
        },
        Choice::Restart(name) => match names.client_or_server(name)? {
            ClientOrServer::Client(client) => Action::Restart { client },
            ClientOrServer::Server(server) => Action::RestartServer {
                server,
                keeps_data: true,
            },
        },
        Choice::RestartWithoutData(name) => Action::RestartServer {
            server: names.server(name)?,
            keeps_data: false,
        },
        Choice::Replicate { to, commands } => Action::Replicate {
            to: names.server(to)?,
            commands: *commands,
        },
        Choice::Failover(to) => Action::Failover {
            to: names.server(to)?,
        },
        Choice::Lose { client, label } => {
            let client = names.client(client)?;
            Action::LoseReply {
                client,
                step: names.step(client, label)?,
            }
        }
        Choice::LoseRequest { client, label } => {
            let client = names.client(client)?;
            let step = names.step(client, label)?;
            Action::LoseRequest { client, step }
        }
        Choice::Delay { client, label, leg } => {
            let client = names.client(client)?;
            let step = names.step(client, label)?;
            let leg = *leg;
            Action::Delay { client, step, leg }
        }
        Choice::Deliver { client, label } => {
            let client = names.client(client)?;
            let step = names.step(client, label)?;
            Action::Deliver { client, step }
        }
        Choice::Advance(milliseconds) => Action::Advance {
            milliseconds: *milliseconds,
        },
        Choice::AdvanceToNextDeadline => Action::AdvanceToNextDeadline,
        Choice::ClockJump {
            whose,
            milliseconds,
        } => Action::ClockJump {
            clock: names.clock(whose)?,
            milliseconds: *milliseconds,
        },
        Choice::ClockRate { client, permille } => Action::ClockRate {
            client: names.client(client)?,
            permille: *permille,
        },
        Choice::OfKey { what, key, server } => {
            if let Some(step) = names.step_of_client_called(what.word(), key, server.as_ref()) {
                return Some(step);
            }
            let server = match server {
                Some(name) => names.server(name)?,
                None => ServerId::FIRST,
            };
            let key = key.clone();
            match what {
                KeyFault::Expire => Action::ExpireNow { server, key },
                KeyFault::Wipe => Action::Wipe { server, key },
                KeyFault::Evict => Action::Evict { server, key },
            }
        }
        Choice::Command {
            who,
            server,
            source,
        } => {
            let who = match who.text.as_str() {
                "operator" => Who::Operator,
                _ => Who::Client(names.client(who)?),
            };
            let scripts = Known {
                scripts: &setup.scripts,
                scripts_are_damaged: damage.scripts,
                is_typed: true,
                setup,
            };
            let part = Part {
                text: &source.text,
                place: source.place,
            };
            let mut request = request(&[part], scripts, errors)?;
            if let Some(name) = server {
                let named = super::server_of(name, setup, errors)?;
                match &mut request {
                    Request::Store(server, _) => *server = Some(named),
                    _ => {
                        let message = format!("{} takes Redis commands alone", quoted(&name.text));
                        return errors.add(source.place, message, "a Redis command");
                    }
                }
            }
            if !damage.protocols && !damage.clients {
                let known = known.of(setup, who);
                for name in variables(&request) {
                    check_variable(name, known, source.place, errors)?;
                }
            }
            Action::Command {
                who,
                source: source.text.clone(),
                request,
            }
        }
    })
}

/// Who is meant by a name in `crash NAME`.
enum ClientOrServer {
    Client(ClientId),
    Server(ServerId),
}

/// Looks names up in a setup.
struct Names<'s, 'e, 'l> {
    setup: &'s Setup,
    damage: Damage,
    errors: &'e mut Errors<'l>,
}

impl Names<'_, '_, '_> {
    fn client(&mut self, name: &Named) -> Option<ClientId> {
        let clients = &self.setup.clients;
        let place = clients.iter().position(|client| client.name == name.text);
        if place.is_none() && !self.damage.clients {
            if clients.is_empty() {
                let message = format!("no client is called {}", quoted(&name.text));
                let expected = "a `client` line that declares it";
                return self.errors.add(name.place, message, expected);
            }
            let known = clients.iter().map(|client| client.name.as_str());
            return self
                .errors
                .unknown(name.place, "no client is called", &name.text, known);
        }
        place.map(ClientId)
    }

    fn server(&mut self, name: &Named) -> Option<ServerId> {
        super::server_of(name, self.setup, self.errors)
    }

    fn client_or_server(&mut self, name: &Named) -> Option<ClientOrServer> {
        let is_client = self
            .setup
            .clients
            .iter()
            .any(|client| client.name == name.text);
        match self.setup.server_named(&name.text).filter(|_| !is_client) {
            Some(server) => Some(ClientOrServer::Server(server)),
            None => self.client(name).map(ClientOrServer::Client),
        }
    }

    /// A text may have called a client as an action that came later: then `evict token` is its step.
    fn step_of_client_called(
        &mut self,
        word: &str,
        key: &[u8],
        server: Option<&Named>,
    ) -> Option<Action> {
        let clients = &self.setup.clients;
        let client = clients.iter().position(|client| client.name == word)?;
        let declaration = clients.get(client)?;
        let protocol = self.setup.protocols.get(declaration.protocol?)?;
        let step = protocol.step_named(std::str::from_utf8(key).ok()?)?;
        server.is_none().then_some(Action::Step {
            client: ClientId(client),
            step,
        })
    }

    /// Whose clock it is; a client's name comes before the servers'.
    fn clock(&mut self, name: &Named) -> Option<ClockOf> {
        let mut clients = self.setup.clients.iter().map(|client| client.name.as_str());
        if let Some(place) = clients.position(|client| client == name.text) {
            return Some(ClockOf::Client(ClientId(place)));
        }
        match name.text.as_str() {
            "database" => Some(ClockOf::Database),
            other if self.setup.server_named(other).is_some() => {
                self.setup.server_named(other).map(ClockOf::Server)
            }
            _ if self.damage.clients => None,
            other => {
                let clients = self.setup.clients.iter().map(|client| client.name.as_str());
                let servers = (0..self.setup.server_count()).map(ServerId);
                let servers = servers.map(|server| self.setup.server_name(server));
                let known = clients.chain(servers).chain(["database"]);
                self.errors
                    .unknown(name.place, "no clock is that of", other, known)
            }
        }
    }

    fn step(&mut self, client: ClientId, label: &Named) -> Option<usize> {
        let declaration = self.setup.clients.get(client.0)?;
        let protocol = declaration
            .protocol
            .and_then(|index| self.setup.protocols.get(index));
        let Some(protocol) = protocol else {
            if self.damage.protocols {
                return None;
            }
            let name = &declaration.name;
            let message = format!("the client {} runs no protocol", quoted(name));
            let expected = format!("a command at its console, such as `{name}> GET lock:sku-1`");
            return self.errors.add(label.place, message, expected);
        };
        let step = protocol.step_named(&label.text);
        if step.is_none() && !self.damage.protocols {
            let message = format!("the protocol {} has no step", quoted(&protocol.name));
            let known = protocol.steps.iter().map(|step| step.label.as_str());
            return self
                .errors
                .unknown(label.place, &message, &label.text, known);
        }
        step
    }

    fn latch(
        &mut self,
        client: ClientId,
        at: Option<&(Side, Named)>,
    ) -> Option<Option<LatchPoint>> {
        let Some((side, label)) = at else {
            return Some(None);
        };
        let step = self.step(client, label)?;
        Some(Some(match side {
            Side::Before => LatchPoint::Before(step),
            Side::After => LatchPoint::After(step),
        }))
    }
}
