//! The third stage: the syntax tree becomes a [`Reading`].
//!
//! Names are looked up, requests are read, and what stands before the schedule is tried on a real store and a real database. A
//! thing that is wrong is reported and, as far as others refer to it, kept, so that one mistake gives one error.

mod expect;
mod protocol;
mod schedule;
mod search;
mod trial;

pub(super) use schedule::{action, known_variables};
pub(super) use trial::Trial;

use std::sync::Arc;

use crate::property::Property;
use crate::sim::action::ServerId;
use crate::sim::client::protocol::{Argument, Request};
use crate::sim::database::SqlError;
use crate::sim::setup::{
    ClientDeclaration, Column, EvictionPolicy, ServerDeclaration, Setup, Watch,
};
use crate::sim::store::script_sha1;

use super::Reading;
use super::error::{Errors, Place, nearest, quoted};
use super::layout::{Layout, Lines, ProtocolLayout};
use super::limits;
use super::lines::Parentheses;
use super::parse::Damage;
use super::request::{Known, Part, request, variables};
use super::syntax::{
    Block, BlockKind, Clients, Entry, Named, Passage, Role, Table, Text, Written, things,
};

/// What is being put together.
struct Compiler<'t, 'e, 'l> {
    text: &'t Text,
    damage: Damage,
    errors: &'e mut Errors<'l>,
    trial: Trial,
    setup: Setup,
    layout: Layout,
    statements: usize,
}

/// Makes a reading of a tree. Where errors were added it is not to be used.
pub(super) fn compile(
    text: &Text,
    damage: Damage,
    lines: &[&str],
    errors: &mut Errors<'_>,
) -> Reading {
    let mut compiler = Compiler {
        text,
        damage,
        errors,
        trial: Trial::default(),
        setup: Setup::default(),
        layout: Layout::default(),
        statements: 0,
    };
    compiler.options();
    compiler.server_names();
    compiler.scripts();
    compiler.servers();
    compiler.watches();
    compiler.protocol_names(lines);
    compiler.clients();
    compiler.protocols();
    let schedule = compiler.schedule();
    let expectations = compiler.expectations();
    let searches = compiler.searches();
    let (title, description) = title_and_description(text);
    Reading {
        title,
        description,
        setup: Arc::new(compiler.setup),
        schedule,
        expectations,
        searches,
        layout: compiler.layout,
    }
}

/// The first comment before any block, and the comments right behind it.
fn title_and_description(text: &Text) -> (String, String) {
    let comments = text
        .items
        .iter()
        .skip_while(|item| matches!(item, Entry::Blank))
        .map_while(|item| match item {
            Entry::Comment(comment) => Some(comment.trim().to_owned()),
            Entry::Blank | Entry::Of(_) => None,
        });
    let mut comments = comments.collect::<Vec<String>>().into_iter();
    let title = comments.next().unwrap_or_default();
    let rest: Vec<String> = comments.filter(|comment| !comment.is_empty()).collect();
    (title, rest.join(" "))
}

impl<'t> Compiler<'t, '_, '_> {
    fn blocks(&self) -> impl Iterator<Item = &'t Block> + use<'t> {
        things(&self.text.items)
    }

    fn options(&mut self) {
        for block in self.blocks() {
            let BlockKind::Option { name, value } = &block.kind else {
                continue;
            };
            match (name.text.as_str(), value) {
                ("maxmemory-policy", value) => self.policy(name, value.as_ref()),
                ("CLIENT_FOUND_ROWS", Some(value)) => {
                    let message = "this option is set to nothing";
                    self.errors.add::<()>(value.place, message, "it alone");
                }
                ("CLIENT_FOUND_ROWS", None) if self.setup.found_rows => {
                    let message = "the option is given twice";
                    self.errors.add::<()>(name.place, message, "it once");
                }
                ("CLIENT_FOUND_ROWS", None) => {
                    self.setup.found_rows = true;
                    self.trial.set_found_rows();
                }
                (other, _) => {
                    let known = ["CLIENT_FOUND_ROWS", "maxmemory-policy"].into_iter();
                    self.errors
                        .unknown::<()>(name.place, "no option is called", other, known);
                }
            }
        }
    }

    fn policy(&mut self, name: &Named, value: Option<&Named>) {
        let known = EvictionPolicy::NAMES.into_iter();
        let policy = value.and_then(|value| EvictionPolicy::named(&value.text));
        match (policy, value) {
            (Some(policy), _) => self.setup.policy = policy,
            (None, Some(value)) => {
                let message = "no policy is called";
                self.errors
                    .unknown::<()>(value.place, message, &value.text, known);
            }
            (None, None) => {
                let message = "the policy is missing";
                let expected = "a policy, such as `option maxmemory-policy allkeys-lru`";
                self.errors.add::<()>(name.place, message, expected);
            }
        }
    }

    /// Notes which servers there are.
    fn server_names(&mut self) {
        for block in self.blocks() {
            let BlockKind::Servers { names, replica_of } = &block.kind else {
                continue;
            };
            let primary = match replica_of {
                Some(name) => match self.primary_named(name) {
                    Some(primary) => Some(primary),
                    None => continue,
                },
                None => None,
            };
            for name in names {
                let is_taken = self
                    .setup
                    .servers
                    .iter()
                    .any(|other| other.name == name.text);
                if self.setup.servers.len() >= limits::SERVERS {
                    self.too_many(name.place, "servers", limits::SERVERS);
                } else if is_taken {
                    self.taken(name, "server");
                } else {
                    self.setup.servers.push(ServerDeclaration {
                        name: name.text.clone(),
                        replica_of: primary,
                    });
                }
            }
        }
        self.trial.set_servers(self.setup.server_count());
    }

    /// The server of which a replica is one. Where the text names no server, the first is the store.
    fn primary_named(&mut self, name: &Named) -> Option<ServerId> {
        if self.setup.servers.is_empty() && name.text == "store" {
            self.setup.servers.push(ServerDeclaration {
                name: name.text.clone(),
                replica_of: None,
            });
        }
        let server = self.server(name)?;
        if self.setup.servers[server.0].replica_of.is_some() {
            let message = format!("{} is a replica itself", quoted(&name.text));
            return self
                .errors
                .add(name.place, message, "a server that is no replica");
        }
        Some(server)
    }

    /// The server of this name.
    fn server(&mut self, name: &Named) -> Option<ServerId> {
        server_of(name, &self.setup, self.errors)
    }

    fn scripts(&mut self) {
        for block in self.blocks() {
            let BlockKind::Script { name, lines } = &block.kind else {
                continue;
            };
            if self.setup.scripts.len() >= limits::SCRIPTS {
                self.too_many(name.place, "scripts", limits::SCRIPTS);
                continue;
            }
            let source = lines.join("\n").into_bytes();
            if self
                .setup
                .scripts
                .insert(name.text.clone(), source)
                .is_some()
            {
                self.taken(name, "script");
            }
            self.layout
                .scripts
                .push((name.text.clone(), Lines::from(block.place)));
        }
    }

    /// Reports that there are too many of something.
    fn too_many(&mut self, place: Place, what: &str, most: usize) {
        self.errors
            .add::<()>(place, format!("too many {what}"), format!("at most {most}"));
    }

    /// Reports that a name is given twice.
    fn taken(&mut self, name: &Named, what: &str) {
        let message = format!("there is another {what} called {}", quoted(&name.text));
        self.errors
            .add::<()>(name.place, message, "a name of its own");
    }

    // What the servers hold before the schedule.

    fn servers(&mut self) {
        for block in self.blocks() {
            match &block.kind {
                BlockKind::Table(table) => self.table(table, block.place),
                BlockKind::Database(statements) => {
                    for passage in things(statements) {
                        self.statement(passage);
                    }
                }
                BlockKind::Store(commands) => {
                    for line in things(commands) {
                        self.command(line);
                    }
                }
                _ => {}
            }
        }
    }

    fn table(&mut self, table: &Table, place: Place) {
        let name = &table.name;
        if self.layout.tables.len() >= limits::TABLES {
            return self.too_many(name.place, "tables", limits::TABLES);
        }
        self.layout
            .tables
            .push((name.text.clone(), Lines::from(place)));
        let before = format!("CREATE TABLE {} ", name.text);
        if self.run(&before, &table.definition, "").is_none() {
            self.damage.tables = true;
            return;
        }
        let before = format!("INSERT INTO {} VALUES (", name.text);
        for row in things(&table.rows) {
            self.run(&before, &vec![Entry::Of(row.clone())], "\n)");
        }
    }

    fn statement(&mut self, passage: &Passage) {
        if self.run("", passage, "").is_none() {
            self.damage.tables = true;
        }
    }

    /// Runs the statement that these lines make with something before and behind them.
    fn run(&mut self, before: &str, passage: &Passage, behind: &str) -> Option<()> {
        let lines: Vec<&Written> = things(passage).collect();
        let first = lines.first()?;
        if self.statements >= limits::INITIAL {
            let expected = format!("at most {}", limits::INITIAL);
            return self.errors.add(
                first.place,
                "too many statements before the schedule",
                expected,
            );
        }
        self.statements += 1;
        let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
        let text = format!("{before}{}{behind}", texts.join("\n"));
        let statement = match crate::sim::database::Statement::parse(&text) {
            Ok(statement) => statement,
            Err(error) => return self.sql_error(&error, before.len(), &lines),
        };
        if let Some(name) = statement.variables().first() {
            let written = format!("{{{name}}}");
            let last = lines
                .last()
                .map_or(first.place.line, |line| line.place.line);
            let place = self.errors.find(
                Place {
                    last,
                    ..first.place
                },
                &written,
            );
            let message = format!("{} has no value before the schedule", quoted(&written));
            return self.errors.add(place, message, "a literal");
        }
        if !behind.is_empty() && !Parentheses::are_balanced(&first.text) {
            let expected = "one row's values with commas between them";
            return self
                .errors
                .add(first.place, "the parentheses are not balanced", expected);
        }
        match self.trial.statement(&statement) {
            Some(Ok(_)) => {
                self.setup.statements.push(statement);
                Some(())
            }
            // After a statement that failed, others fail only because of it.
            Some(Err(_)) if self.damage.tables => None,
            Some(Err(error)) => self.sql_error(&error, before.len(), &lines),
            None => {
                let message = "this statement waits for ever";
                self.errors
                    .add(first.place, message, "a statement that ends")
            }
        }
    }

    /// Reports the database's error at the line and the column that it names.
    fn sql_error<T>(&mut self, error: &SqlError, before: usize, lines: &[&Written]) -> Option<T> {
        let place = place_of_error(error, before, lines);
        self.errors.add(place, error.to_string(), "")
    }

    fn command(&mut self, line: &Written) {
        if self.setup.commands.len() >= limits::INITIAL {
            return self.too_many(line.place, "commands before the schedule", limits::INITIAL);
        }
        let known = Known {
            scripts: &self.setup.scripts,
            scripts_are_damaged: self.damage.scripts,
            is_typed: false,
            setup: &self.setup,
        };
        let part = Part {
            text: &line.text,
            place: line.place,
        };
        let Some(request) = request(&[part], known, self.errors) else {
            return;
        };
        let Request::Store(server, arguments) = &request else {
            let message = "only Redis commands stand under `store`";
            self.errors.add::<()>(
                line.place,
                message,
                "a Redis command; statements stand under `database`",
            );
            return;
        };
        if let Some(name) = variables(&request).first() {
            let written = format!("{{{name}}}");
            let place = self.errors.find(line.place, &written);
            let message = format!("{} has no value before the schedule", quoted(&written));
            self.errors
                .add::<()>(place, message, "a literal; in quotes it stands for itself");
            return;
        }
        let argv: Vec<Vec<u8>> = arguments
            .iter()
            .map(|argument| bytes(argument, &self.setup))
            .collect();
        let server = server.unwrap_or(ServerId::FIRST);
        if self.setup.group_of(server) != server {
            let message = "a replica begins as its primary is";
            self.errors
                .add::<()>(line.place, message, "a command to its primary");
            return;
        }
        match self.trial.command(server, &argv) {
            Some(Ok(_)) => self.setup.commands.push((server, argv)),
            Some(Err(error)) => {
                self.errors
                    .add::<()>(line.place, error, "a command that succeeds");
            }
            None => {
                let message = "this command waits for ever";
                self.errors
                    .add::<()>(line.place, message, "a command that is answered at once");
            }
        }
    }

    fn watches(&mut self) {
        for block in self.blocks() {
            let BlockKind::Watch(roles) = &block.kind else {
                continue;
            };
            let mut watch = Watch::default();
            for role in roles {
                match role {
                    Role::Lock(key, servers) => {
                        watch.lock = Some(key.clone());
                        watch.lock_servers = self.lock_servers(servers);
                    }
                    Role::Counter(key) => watch.counter = Some(key.clone()),
                    Role::Fence(column) => watch.fence = self.column(&column.table, &column.column),
                    Role::Stock(column) => watch.stock = self.column(&column.table, &column.column),
                }
            }
            self.setup.watches.push(watch);
            self.layout.watches.push(block.place.line);
        }
    }

    /// The servers on which a lock is taken: each once, and none that is a replica.
    fn lock_servers(&mut self, names: &[Named]) -> Vec<ServerId> {
        let mut servers = Vec::new();
        for name in names {
            let Some(server) = self.server(name) else {
                continue;
            };
            if servers.contains(&server) {
                let message = format!("{} is given twice", quoted(&name.text));
                self.errors
                    .add::<()>(name.place, message, "each server once");
            } else if self.setup.group_of(server) != server {
                let message = format!("{} is a replica", quoted(&name.text));
                let expected = "its primary, for which a replica can take over";
                self.errors.add::<()>(name.place, message, expected);
            } else {
                servers.push(server);
            }
        }
        servers
    }

    /// A column that is there.
    fn column(&mut self, table: &Named, column: &Named) -> Option<Column> {
        let columns = self.columns_of(table)?;
        let is_there = columns
            .iter()
            .any(|other| other.eq_ignore_ascii_case(&unquoted(&column.text)));
        if !is_there {
            let message = format!("the table {} has no column", quoted(&table.text));
            let known = columns.iter().map(String::as_str);
            return self
                .errors
                .unknown(column.place, &message, &column.text, known);
        }
        Some(Column {
            table: unquoted(&table.text),
            column: unquoted(&column.text),
        })
    }

    /// The columns of a table that is there.
    fn columns_of(&mut self, table: &Named) -> Option<Vec<String>> {
        let columns = self.trial.columns(&unquoted(&table.text));
        if columns.is_none() && !self.damage.tables {
            let tables: Vec<String> = self.trial.tables();
            let known = tables.iter().map(String::as_str);
            return self
                .errors
                .unknown(table.place, "no table is called", &table.text, known);
        }
        columns
    }

    // Protocols and clients.

    /// Notes which protocols there are, before anything refers to them.
    fn protocol_names(&mut self, lines: &[&str]) {
        for block in self.blocks() {
            let BlockKind::Protocol { name, parts } = &block.kind else {
                continue;
            };
            if self.setup.protocols.len() >= limits::PROTOCOLS {
                self.too_many(name.place, "protocols", limits::PROTOCOLS);
                continue;
            }
            if self
                .setup
                .protocols
                .iter()
                .any(|other| other.name == name.text)
            {
                self.taken(name, "protocol");
                continue;
            }
            self.setup.protocols.push(protocol::skeleton(name, parts));
            let Place { line, last, .. } = block.place;
            let source = lines
                .get(line.saturating_sub(1)..last)
                .unwrap_or_default()
                .join("\n");
            let steps = protocol::steps(parts)
                .map(|step| Lines::from(step.place))
                .collect();
            let lines = Lines::from(block.place);
            self.layout.protocols.push(ProtocolLayout {
                lines,
                steps,
                source,
            });
        }
    }

    fn clients(&mut self) {
        for block in self.blocks() {
            let BlockKind::Clients(clients) = &block.kind else {
                continue;
            };
            let protocol = self.protocol_of(clients);
            for name in &clients.names {
                if self.setup.clients.len() >= limits::CLIENTS {
                    self.too_many(name.place, "clients", limits::CLIENTS);
                } else if self
                    .setup
                    .clients
                    .iter()
                    .any(|other| other.name == name.text)
                {
                    self.taken(name, "client");
                } else if self
                    .setup
                    .servers
                    .iter()
                    .any(|server| server.name == name.text)
                {
                    self.taken(name, "server");
                } else {
                    self.layout.clients.push(block.place.line);
                    self.setup.clients.push(ClientDeclaration {
                        name: name.text.clone(),
                        protocol,
                        rounds: clients.rounds,
                        parameters: clients
                            .parameters
                            .iter()
                            .map(|(name, value)| (name.text.clone(), value.clone()))
                            .collect(),
                    });
                }
            }
        }
    }

    fn protocol_of(&mut self, clients: &Clients) -> Option<usize> {
        let name = clients.protocol.as_ref()?;
        let protocols = &self.setup.protocols;
        let index = protocols
            .iter()
            .position(|protocol| protocol.name == name.text);
        if index.is_none() {
            if !self.damage.protocols {
                let known = protocols.iter().map(|protocol| protocol.name.as_str());
                self.errors
                    .unknown::<()>(name.place, "no protocol is called", &name.text, known);
            }
            // Steps of these clients cannot be known.
            self.damage.protocols = true;
        }
        index
    }

    /// The property that a sentence names.
    fn property(&mut self, sentence: &Named) -> Option<Property> {
        let fitting = match Property::named(&sentence.text) {
            Ok(property) => return Some(property),
            Err(fitting) => fitting,
        };
        let sentences: Vec<&str> = fitting.iter().map(|property| property.sentence()).collect();
        if fitting.len() == Property::ALL.len() {
            // Twelve sentences say less than the one that was meant.
            let known: Vec<&str> = match nearest(&sentence.text, &sentences) {
                Some(near) => vec![near],
                None => sentences,
            };
            let known = known.into_iter();
            return self
                .errors
                .unknown(sentence.place, "no property says", &sentence.text, known);
        }
        let message = format!("several properties begin with {}", quoted(&sentence.text));
        self.errors
            .add(sentence.place, message, super::error::one_of(&sentences))
    }
}

/// The server of this name.
fn server_of(name: &Named, setup: &Setup, errors: &mut Errors<'_>) -> Option<ServerId> {
    if let Some(server) = setup.server_named(&name.text) {
        return Some(server);
    }
    let servers = (0..setup.server_count()).map(ServerId);
    let known = servers.map(|server| setup.server_name(server));
    errors.unknown(name.place, "no server is called", &name.text, known)
}

/// A name without its backquotes.
fn unquoted(name: &str) -> String {
    name.trim_matches('`').to_owned()
}

/// An argument's bytes, scripts filled in.
fn bytes(argument: &Argument, setup: &Setup) -> Vec<u8> {
    match argument {
        Argument::Literal(bytes) => bytes.clone(),
        Argument::Variable(name) => name.clone().into_bytes(),
        Argument::ScriptSource(name) => setup.scripts.get(name).cloned().unwrap_or_default(),
        Argument::ScriptSha(name) => {
            script_sha1(setup.scripts.get(name).map_or(&[], Vec::as_slice)).into_bytes()
        }
    }
}

/// Where a database's error lies in the lines of a statement that has `before` bytes of ours before them.
fn place_of_error(error: &SqlError, before: usize, lines: &[&Written]) -> Place {
    let first = lines.first().map(|line| line.place).unwrap_or_default();
    let Some(mut offset) = error
        .offset
        .and_then(|offset| (offset as usize).checked_sub(before))
    else {
        return first;
    };
    for line in lines {
        if offset < line.text.len() {
            let start = line.place.start + offset;
            let rest = line.text.get(offset..).unwrap_or_default();
            let length = rest
                .split([' ', ',', ')'])
                .next()
                .unwrap_or_default()
                .len()
                .max(1);
            return Place::within(line.place.line, start, start + length);
        }
        offset = offset.saturating_sub(line.text.len() + 1);
    }
    lines.last().map_or(first, |line| Place {
        start: line.place.end,
        ..line.place
    })
}
