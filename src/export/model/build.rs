//! The world of a scenario as variables, and what happens to it that is no client's step: time, faults, crashes.

use super::super::Refusal;
use super::watch::Memory;
use super::{Expression, Model, Move, NONE, Name, Statement, Variable, when};
use crate::property::Property;
use crate::scenario::Reading;
use crate::search::{Bounds, Budget, Goal, Start};
use crate::sim::client::protocol::{Argument, Effect, Flow, Protocol, Request};
use crate::sim::event::Value;
use crate::sim::setup::Setup;
use crate::sim::store::KeyState;
use crate::sim::world::World;

/// Where a client is that runs no step any more.
pub(super) const STOPPED: i64 = -1;
pub(super) const FINISHED: i64 = -2;
const CRASHED: i64 = -3;

/// More milliseconds than any deadline or timer has.
const FOR_EVER: i64 = 1 << 30;

/// What a model can spend, and judge.
const BUDGETS: [Budget; 5] = [
    Budget::Lapses,
    Budget::Expiries,
    Budget::Wipes,
    Budget::Crashes,
    Budget::Restarts,
];
const PROPERTIES: [Property; 8] = [
    Property::OneBeliever,
    Property::NoStaleWrite,
    Property::TokensInOrder,
    Property::LiveHolderNotFenced,
    Property::TokensUnique,
    Property::OwnerOnly,
    Property::LockHasDeadline,
    Property::StockNotNegative,
];

/// A model in the making.
pub(super) struct Build<'a> {
    pub setup: &'a Setup,
    pub bounds: &'a Bounds,
    pub properties: &'a [Property],
    pub model: Model,
    pub keys: Vec<Key>,
    pub cells: Vec<Cell>,
    pub clients: Vec<Client>,
    /// Scripts that a server may know, and whether it does.
    pub scripts: Vec<(Vec<u8>, Name)>,
    pub memory: Memory,
    /// What is left of each budget.
    budgets: Vec<(Budget, Name)>,
    /// Texts that are no client's name, by number.
    texts: Vec<Vec<u8>>,
    /// How many numbers each client has for its names.
    names: i64,
}

/// A key of the store.
pub(super) struct Key {
    pub key: Vec<u8>,
    pub value: Name,
    /// Milliseconds that it has left, where it ever has a deadline.
    pub left: Option<Name>,
    /// Whether it holds a number, and not a text.
    pub counts: bool,
}

/// A column of a row.
pub(super) struct Cell {
    pub table: String,
    pub column: String,
    /// The row's primary key, as SQL writes it.
    pub row: String,
    pub value: Name,
}

/// A client.
pub(super) struct Client {
    pub place: usize,
    pub name: String,
    /// Its step, or how it ended.
    pub at: Name,
    /// Milliseconds that it still sleeps, where it ever does.
    pub asleep: Option<Name>,
    /// Whether it then begins anew, where it ever does.
    pub begins_anew: Option<Name>,
    /// How many attempts it has begun, where that can be more than one.
    pub attempt: Option<Name>,
    /// Runs that are still to come, where there are any.
    pub rounds: Option<Name>,
    /// What is to come of a compensation: 0, or the place in `rests` from 1.
    pub compensation: Option<Name>,
    pub rests: Vec<Vec<usize>>,
    pub variables: Vec<(String, Name)>,
    /// Whether it believes that it holds a lock, by key: 0, with a deadline 1, without 2.
    pub beliefs: Vec<(Vec<u8>, Name)>,
}

/// The model of a scenario's first search.
///
/// # Errors
/// What in it no model can say exactly, and where it stands.
pub(in super::super) fn model(reading: &Reading) -> Result<Model, Refusal> {
    let refuse = |why: &str| Err(Refusal(why.to_string()));
    let Some(search) = reading.searches.first() else {
        return refuse(
            "the text has no `search` block, whose budgets and properties a model takes over",
        );
    };
    let request = &search.request;
    let Goal::Breaks(properties) = &request.goal else {
        return refuse("its search has something to `reach`, and a model only has properties");
    };
    // `breaks: anything` is whatever a model can judge.
    let properties = match properties.as_slice() {
        [] => &PROPERTIES,
        named => named,
    };
    let is_unknown = |property: &&Property| !PROPERTIES.contains(property);
    if let Some(property) = properties.iter().find(is_unknown) {
        return Err(Refusal(format!(
            "its search breaks what no model judges: {}",
            property.sentence()
        )));
    }
    if request.start != Start::Start {
        return refuse("its search begins in the midst of the schedule");
    }
    if request.bounds.steps.is_some() {
        return refuse("its search has an end of `steps`");
    }
    let known = |budget: &Budget| BUDGETS.contains(budget) || request.bounds.budget(*budget) == 0;
    if let Some(budget) = Budget::ALL.iter().find(|budget| !known(budget)) {
        return Err(Refusal(format!(
            "its search has a budget for {}",
            budget.words()
        )));
    }
    if reading.setup.server_count() > 1 {
        return refuse("it has several Redis servers");
    }
    Build::new(&reading.setup, &request.bounds, properties)?.finish(&reading.title)
}

impl<'a> Build<'a> {
    fn new(
        setup: &'a Setup,
        bounds: &'a Bounds,
        properties: &'a [Property],
    ) -> Result<Build<'a>, Refusal> {
        let most = setup
            .clients
            .iter()
            .map(|client| client.rounds)
            .max()
            .unwrap_or(1);
        let mut build = Build {
            setup,
            bounds,
            properties,
            model: Model::default(),
            keys: Vec::new(),
            cells: Vec::new(),
            clients: Vec::new(),
            scripts: Vec::new(),
            memory: Memory::default(),
            budgets: Vec::new(),
            texts: Vec::new(),
            names: i64::from(most + bounds.attempts + bounds.restarts) + 2,
        };
        let (world, _) = World::new(setup);
        build.declare_keys(&world)?;
        build.declare_scripts();
        build.declare_rows(&world)?;
        for place in 0..setup.clients.len() {
            let client = build.declare_client(place)?;
            build.clients.push(client);
        }
        for budget in BUDGETS {
            let most = bounds.budget(budget);
            if most > 0 {
                let name = build.declare(&format!("{} left", budget.words()), most.into());
                build.budgets.push((budget, name));
            }
        }
        build.memory = Memory::declare(&mut build)?;
        Ok(build)
    }

    fn finish(mut self, title: &str) -> Result<Model, Refusal> {
        self.model.title = title.to_string();
        for client in 0..self.clients.len() {
            self.steps_of(client)?;
            self.crash(client);
        }
        self.time_passes();
        self.keys_are_lost();
        self.explain();
        self.model.drop_constants();
        Ok(self.model)
    }

    // --- variables ---

    /// A new part of the state, called so; a number behind the name where it is taken.
    pub fn declare(&mut self, called: &str, start: i64) -> Name {
        let letters = called.chars().map(|letter| {
            if letter.is_ascii_alphanumeric() {
                letter
            } else {
                '_'
            }
        });
        let base: String = letters.collect();
        let taken = |name: &str| {
            self.model
                .variables
                .iter()
                .any(|variable| variable.name == name)
        };
        let mut name = base.clone();
        for number in 2.. {
            if !taken(&name) {
                break;
            }
            name = format!("{base}_{number}");
        }
        self.model.variables.push(Variable { name, start });
        Name(self.model.variables.len() - 1)
    }

    fn requests(&self) -> impl Iterator<Item = &'a Request> + use<'a> {
        let used = self
            .setup
            .clients
            .iter()
            .filter_map(|client| client.protocol);
        let protocols = used.filter_map(|protocol| self.setup.protocols.get(protocol));
        let protocols: Vec<&Protocol> = protocols.collect();
        protocols
            .into_iter()
            .flat_map(|protocol| &protocol.steps)
            .map(|step| &step.request)
    }

    /// Every key that stands in a request, or before the schedule.
    fn declare_keys(&mut self, world: &World) -> Result<(), Refusal> {
        let store = &world.stores[0];
        let mut keys: Vec<Vec<u8>> = store.keys().map(|(key, _)| key.to_vec()).collect();
        let mut counting: Vec<Vec<u8>> = Vec::new();
        for request in self.requests() {
            let Request::Store(_, arguments) = request else {
                continue;
            };
            for key in keys_of(arguments) {
                if is_command(arguments, &["INCR", "INCRBY", "DECR", "DECRBY"]) {
                    counting.push(key.clone());
                }
                keys.push(key);
            }
        }
        let watches = &self.setup.watches;
        counting.extend(watches.iter().filter_map(|watch| watch.counter.clone()));
        keys.extend(
            watches
                .iter()
                .flat_map(|watch| [&watch.lock, &watch.counter])
                .flatten()
                .cloned(),
        );
        crate::sorted::sort(&mut keys);
        keys.dedup();
        for key in keys {
            let state = store.get(&key);
            let called = String::from_utf8_lossy(&key).into_owned();
            let counts = counting.contains(&key);
            let start = self.start_of(&called, state.as_ref(), counts)?;
            let value = self.declare(&called, start);
            let remaining = state.and_then(|state| state.remaining);
            let expires = remaining.is_some()
                || self
                    .requests()
                    .any(|request| self.may_give_deadline(request, &key));
            let remaining = remaining.map_or(NONE, as_number);
            let left = expires.then(|| self.declare(&format!("{called} left"), remaining));
            self.keys.push(Key {
                key,
                value,
                left,
                counts,
            });
        }
        Ok(())
    }

    /// Whether a request that names the key may give it a deadline.
    fn may_give_deadline(&self, request: &Request, key: &[u8]) -> bool {
        let Request::Store(_, arguments) = request else {
            return false;
        };
        let source_of = |name: &String| self.setup.scripts.get(name);
        let word_of = |argument: &Argument| match argument {
            Argument::Literal(word) => String::from_utf8_lossy(word).to_ascii_uppercase(),
            Argument::ScriptSource(name) => source_of(name).map_or(String::new(), |source| {
                String::from_utf8_lossy(source).to_ascii_uppercase()
            }),
            _ => String::new(),
        };
        let gives = |word: String| {
            ["PX", "EX"].contains(&word.as_str())
                || ["EXPIRE", "'PX'", "'EX'", "\"PX\"", "\"EX\""]
                    .iter()
                    .any(|part| word.contains(part))
        };
        keys_of(arguments).iter().any(|known| known == key)
            && arguments.iter().map(word_of).any(gives)
    }

    fn start_of(
        &mut self,
        called: &str,
        state: Option<&KeyState>,
        counts: bool,
    ) -> Result<i64, Refusal> {
        let Some(state) = state else { return Ok(NONE) };
        let text = state
            .value
            .as_string()
            .ok_or_else(|| Refusal(format!("the key `{called}` holds no string")))?;
        let number = std::str::from_utf8(text)
            .ok()
            .and_then(|text| text.parse().ok());
        match (counts, number) {
            (true, Some(number)) if number >= 0 => Ok(number),
            (true, _) => Err(Refusal(format!(
                "the key `{called}` holds no number from 0 on"
            ))),
            (false, _) => Ok(self.text(text)),
        }
    }

    fn declare_scripts(&mut self) {
        let sources = self.requests().filter_map(|request| match request {
            Request::Store(_, arguments) => arguments.iter().find_map(|argument| match argument {
                Argument::ScriptSource(name) => Some(name.clone()),
                _ => None,
            }),
            _ => None,
        });
        for name in sources.collect::<Vec<_>>() {
            let Some(source) = self.setup.scripts.get(&name).cloned() else {
                continue;
            };
            if self.scripts.iter().all(|(known, _)| *known != source) {
                let argv = self.setup.commands.iter().map(|(_, argv)| argv);
                let is_loaded = argv.into_iter().any(|argv| argv.contains(&source));
                let loaded = self.declare(&format!("knows {name}"), is_loaded.into());
                self.scripts.push((source, loaded));
            }
        }
    }

    /// Every whole number in a table.
    fn declare_rows(&mut self, world: &World) -> Result<(), Refusal> {
        let writes = self
            .requests()
            .any(|request| matches!(request, Request::Database(_)));
        let created = self
            .setup
            .statements
            .iter()
            .map(|statement| statement.source());
        let has = |source: &str, word: &str| source.to_ascii_uppercase().contains(word);
        let mut created = created.filter(|source| has(source, "CREATE TABLE"));
        if writes && created.any(|source| has(source, "UNSIGNED") || has(source, "CHECK")) {
            return Err(Refusal(
                "a table has an UNSIGNED column or a CHECK, whose errors are no part of a model"
                    .to_string(),
            ));
        }
        for table in world.database.tables().filter(|_| writes) {
            let [key] = table.primary_key()[..] else {
                return Err(Refusal(format!(
                    "the table `{}` has no primary key of one column",
                    table.name()
                )));
            };
            for row in table.rows() {
                let row_key = row
                    .get(key)
                    .map(crate::sim::database::Value::to_literal)
                    .unwrap_or_default();
                for (column, value) in row.columns().iter().zip(row.values()) {
                    let Some(number) = value.as_integer().filter(|_| column != key) else {
                        continue;
                    };
                    let called =
                        format!("{} {} {column}", table.name(), row_key.trim_matches('\''));
                    let value = self.declare(&called, number);
                    self.cells.push(Cell {
                        table: table.name().to_string(),
                        column: column.clone(),
                        row: row_key.clone(),
                        value,
                    });
                }
            }
        }
        Ok(())
    }

    fn declare_client(&mut self, place: usize) -> Result<Client, Refusal> {
        let declaration = &self.setup.clients[place];
        let name = declaration.name.clone();
        let protocol = declaration
            .protocol
            .and_then(|protocol| self.setup.protocols.get(protocol));
        let Some((protocol, first)) =
            protocol.and_then(|protocol| Some((protocol, protocol.first_step()?)))
        else {
            return Err(Refusal(format!("the client `{name}` runs no protocol")));
        };
        let clauses = || protocol.steps.iter().flat_map(|step| &step.clauses);
        let starts_over = clauses().any(|clause| matches!(clause.flow, Flow::StartOver { .. }));
        let again = declaration.rounds > 1 || starts_over || self.bounds.restarts > 0;
        let sleeps = |over: bool| {
            clauses().any(|clause| match clause.flow {
                Flow::StartOver { after } => after.is_some_and(|after| after > 0),
                Flow::Retry { after } => !over && after.is_some_and(|after| after > 0),
                _ => false,
            })
        };
        let rests = rests_of(protocol);
        let mut names: Vec<&str> = clauses()
            .flat_map(|clause| clause.pattern.variables())
            .collect();
        crate::sorted::sort(&mut names);
        names.dedup();
        if let Some(name) = names
            .iter()
            .find(|name| declaration.parameters.contains_key(**name))
        {
            return Err(Refusal(format!(
                "`{{{name}}}` is a parameter, and a reply gives it another value"
            )));
        }
        let locks = self.locks_of(place, protocol)?;
        let mut declare = |what: &str, start: i64| self.declare(&format!("{name} {what}"), start);
        Ok(Client {
            place,
            at: declare("at", first as i64),
            asleep: sleeps(false).then(|| declare("asleep", 0)),
            begins_anew: sleeps(true).then(|| declare("begins anew", 0)),
            attempt: again.then(|| declare("attempt", 1)),
            rounds: (declaration.rounds > 1)
                .then(|| declare("runs to come", i64::from(declaration.rounds) - 1)),
            compensation: (!rests.is_empty()).then(|| declare("undoes", 0)),
            rests,
            variables: names
                .iter()
                .map(|variable| (variable.to_string(), declare(variable, NONE)))
                .collect(),
            beliefs: locks
                .into_iter()
                .map(|key| {
                    let called = format!("believes {}", String::from_utf8_lossy(&key));
                    (key, declare(&called, 0))
                })
                .collect(),
            name,
        })
    }

    /// The locks that a client may believe that it holds.
    fn locks_of(&self, client: usize, protocol: &Protocol) -> Result<Vec<Vec<u8>>, Refusal> {
        let mut locks: Vec<Vec<u8>> = Vec::new();
        let clauses = protocol.steps.iter().flat_map(|step| &step.clauses);
        for effect in clauses.flat_map(|clause| &clause.effects) {
            if let Effect::Holds { key, .. } = effect {
                locks.push(self.literal(client, key)?);
            }
        }
        crate::sorted::sort(&mut locks);
        locks.dedup();
        Ok(locks)
    }

    // --- values ---

    /// The number that stands for a text.
    pub fn text(&mut self, text: &[u8]) -> i64 {
        let known = self.texts.iter().position(|known| known == text);
        let place = known.unwrap_or_else(|| {
            self.texts.push(text.to_vec());
            self.texts.len() - 1
        });
        self.setup.clients.len() as i64 * self.names + 1 + place as i64
    }

    /// The number that stands for the client's name in its attempt.
    pub fn me(&self, client: usize) -> Expression {
        let base = client as i64 * self.names;
        match self.clients[client].attempt {
            Some(attempt) => Expression::of(attempt).plus(Expression::Number(base)),
            None => Expression::Number(base + 1),
        }
    }

    /// An argument that is the same whenever the client sends it.
    pub fn literal(&self, client: usize, argument: &Argument) -> Result<Vec<u8>, Refusal> {
        let parameters = &self.setup.clients[client].parameters;
        match argument {
            Argument::Literal(bytes) => Ok(bytes.clone()),
            Argument::Variable(name) => match parameters.get(name) {
                Some(Value::Text(text)) => Ok(text.clone()),
                Some(Value::Integer(number)) => Ok(number.to_string().into_bytes()),
                _ => Err(Refusal(format!(
                    "`{{{name}}}` stands for a key or a time, and has to be a parameter there"
                ))),
            },
            _ => Err(Refusal(
                "a script's text stands where a key or a number should be".to_string(),
            )),
        }
    }

    // --- clients ---

    /// The client's run is over, or begins anew.
    pub fn end_run(&self, client: usize, finished: bool) -> Vec<Statement> {
        let state = &self.clients[client];
        let mut body = self.stop_believing(client);
        body.extend(self.memory.run_over(client));
        body.extend(state.compensation.map(|name| set(name, 0)));
        let mut over = vec![set(state.at, if finished { FINISHED } else { STOPPED })];
        over.extend(self.forget_variables(client));
        let Some(rounds) = state.rounds else {
            body.extend(over);
            return body;
        };
        let left = Expression::of(rounds);
        let mut again = vec![Statement::Set(
            rounds,
            left.clone().minus(Expression::Number(1)),
        )];
        again.extend(self.start_attempt(client));
        body.extend(when(left.equals_number(0), over, again));
        body
    }

    pub fn start_attempt(&self, client: usize) -> Vec<Statement> {
        let state = &self.clients[client];
        let mut body: Vec<Statement> = state
            .attempt
            .map(|name| Statement::Set(name, Expression::of(name).plus(Expression::Number(1))))
            .into_iter()
            .collect();
        body.extend(self.forget_variables(client));
        body.extend(state.compensation.map(|name| set(name, 0)));
        body.extend(self.memory.run_over(client));
        let first = self.protocol(client).first_step().unwrap_or(0);
        body.push(set(state.at, first as i64));
        body
    }

    /// The most attempts that the client can begin and still take a step.
    pub fn attempts(&self, client: usize) -> i64 {
        let rounds = i64::from(self.setup.clients[client].rounds);
        match self.clients[client].attempt {
            Some(_) => rounds + i64::from(self.bounds.attempts),
            None => 1,
        }
    }

    pub fn protocol(&self, client: usize) -> &'a Protocol {
        let protocol = self.setup.clients[client].protocol.unwrap_or_default();
        &self.setup.protocols[protocol]
    }

    pub fn stop_believing(&self, client: usize) -> Vec<Statement> {
        self.clients[client]
            .beliefs
            .iter()
            .map(|(_, name)| set(*name, 0))
            .collect()
    }

    fn forget_variables(&self, client: usize) -> Vec<Statement> {
        self.clients[client]
            .variables
            .iter()
            .map(|(_, name)| set(*name, NONE))
            .collect()
    }

    // --- what no client does ---

    /// Whether a budget has something left, and what takes it away; `None` where there is none.
    fn spend(&self, budget: Budget) -> Option<(Expression, Statement)> {
        let (_, name) = self.budgets.iter().find(|(other, _)| *other == budget)?;
        let left = Expression::of(*name);
        let mut affordable = vec![Expression::Number(0).below(left.clone())];
        if let Some(faults) = self.bounds.faults {
            let all: u32 = self
                .budgets
                .iter()
                .map(|(budget, _)| self.bounds.budget(*budget))
                .sum();
            let lefts = self.budgets.iter().map(|(_, name)| Expression::of(*name));
            if let (true, Some(sum)) = (faults < all, lefts.reduce(Expression::plus)) {
                affordable.push(Expression::Number(i64::from(all) - i64::from(faults)).below(sum));
            }
        }
        Some((
            Expression::All(affordable),
            Statement::Set(*name, left.minus(Expression::Number(1))),
        ))
    }

    fn crash(&mut self, client: usize) {
        let state = &self.clients[client];
        let (at, name) = (Expression::of(state.at), state.name.clone());
        if let Some((affordable, spent)) = self.spend(Budget::Crashes) {
            let mut body = vec![spent, set(state.at, CRASHED)];
            body.extend(
                [state.asleep, state.begins_anew, state.compensation]
                    .into_iter()
                    .flatten()
                    .map(|name| set(name, 0)),
            );
            body.extend(self.stop_believing(client));
            body.extend(self.forget_variables(client));
            body.extend(self.memory.run_over(client));
            let runs = Expression::Number(0).at_most(at.clone());
            self.happens(format!("crash {name}"), vec![affordable, runs], body);
        }
        if let Some((affordable, spent)) = self.spend(Budget::Restarts) {
            let mut body = vec![spent];
            body.extend(self.start_attempt(client));
            self.happens(
                format!("restart {name}"),
                vec![affordable, at.equals_number(CRASHED)],
                body,
            );
        }
    }

    pub fn happens(&mut self, about: String, guard: Vec<Expression>, body: Vec<Statement>) {
        self.model.moves.push(Move {
            about,
            guard: Expression::All(guard),
            body,
        });
    }

    /// Time goes on to the next thing that it does: a key lapses one millisecond after its deadline, a client's timer runs out.
    fn time_passes(&mut self) {
        let for_ever = Expression::Number(FOR_EVER);
        let choose = |never: Expression, time: Expression| {
            Expression::Choose(Box::new([never, Expression::Number(FOR_EVER), time]))
        };
        let lapses = self.keys.iter().filter_map(|key| key.left).map(|left| {
            let left = Expression::of(left);
            choose(
                left.clone().equals_number(NONE),
                left.plus(Expression::Number(1)),
            )
        });
        let lapses: Vec<Expression> = lapses.chain([for_ever.clone()]).collect();
        let sleepers = self.clients.iter().filter_map(|client| client.asleep);
        let wakes = sleepers.map(|asleep| {
            let asleep = Expression::of(asleep);
            choose(asleep.clone().equals_number(0), asleep)
        });
        let wakes: Vec<Expression> = wakes.chain([for_ever.clone()]).collect();
        let lapse = self.define("until_a_key_lapses", Expression::Least(lapses));
        let wake = self.define("until_a_timer_runs_out", Expression::Least(wakes));
        let ends = |time: &Expression| time.clone().below(for_ever.clone());
        if let Some((affordable, spent)) = self.spend(Budget::Lapses) {
            let guard = vec![
                affordable,
                ends(&lapse),
                lapse.clone().at_most(wake.clone()),
            ];
            let body = self.pass(lapse.clone(), Some(spent));
            self.happens("time passes a deadline".to_string(), guard, body);
        }
        let guard = vec![ends(&wake), wake.clone().below(lapse)];
        let body = self.pass(wake, None);
        self.happens(
            "time passes until a timer runs out".to_string(),
            guard,
            body,
        );
    }

    fn define(&mut self, name: &str, value: Expression) -> Expression {
        match super::fold::folded(&value) {
            value @ Expression::Number(_) => value,
            value => {
                self.model.definitions.push((name.to_string(), value));
                Expression::Defined(self.model.definitions.len() - 1)
            }
        }
    }

    fn pass(&mut self, milliseconds: Expression, spent: Option<Statement>) -> Vec<Statement> {
        // All that is part of the state has its place by now.
        let interim = Name(self.model.variables.len());
        self.model.interim = vec!["passed".to_string()];
        let passed = Expression::of(interim);
        let mut body = vec![Statement::Set(interim, milliseconds)];
        body.extend(spent);
        for key in &self.keys {
            let Some(name) = key.left else {
                continue;
            };
            let left = Expression::of(name);
            let mut lapsed = vec![set(key.value, NONE), set(name, NONE)];
            lapsed.extend(self.memory.lock_lost(&key.key));
            let less = Statement::Set(name, left.clone().minus(passed.clone()));
            let stays = when(left.clone().below(passed.clone()), lapsed, vec![less]);
            body.extend(when(left.present(), stays, Vec::new()));
        }
        for client in &self.clients {
            let Some(asleep) = client.asleep else {
                continue;
            };
            let left = Expression::of(asleep);
            let mut awake = vec![set(asleep, 0)];
            if let Some(begins_anew) = client.begins_anew {
                let mut anew = vec![set(begins_anew, 0)];
                anew.extend(self.start_attempt(client.place));
                awake.extend(when(
                    Expression::of(begins_anew).equals_number(1),
                    anew,
                    Vec::new(),
                ));
            }
            let less = Statement::Set(asleep, left.clone().minus(passed.clone()));
            let ends = when(left.clone().at_most(passed.clone()), awake, vec![less]);
            body.extend(when(left.equals_number(0), Vec::new(), ends));
        }
        body
    }

    /// Keys whose deadline passes at once, and keys that are lost.
    fn keys_are_lost(&mut self) {
        for (budget, verb) in [(Budget::Expiries, "expire"), (Budget::Wipes, "wipe")] {
            let Some((affordable, spent)) = self.spend(budget) else {
                continue;
            };
            for key in self.keys_for(budget) {
                let Some(state) = self.keys.iter().find(|state| state.key == key) else {
                    continue;
                };
                let needed = match budget {
                    Budget::Expiries => state.left,
                    _ => Some(state.value),
                };
                let Some(needed) = needed else {
                    continue;
                };
                let guard = vec![affordable.clone(), Expression::of(needed).present()];
                let mut body = vec![spent.clone(), set(state.value, NONE)];
                body.extend(state.left.map(|name| set(name, NONE)));
                body.extend(self.memory.lock_lost(&key));
                let about = format!("{verb} {}", String::from_utf8_lossy(&key));
                self.happens(about, guard, body);
            }
        }
    }

    /// The keys that a budget is for: those that the search names, or the watched ones.
    fn keys_for(&self, budget: Budget) -> Vec<Vec<u8>> {
        let named = self.bounds.keys(budget);
        if !named.is_empty() {
            return named.to_vec();
        }
        let watches = &self.setup.watches;
        let locks = watches.iter().filter_map(|watch| watch.lock.clone());
        let counters = watches.iter().filter_map(|watch| watch.counter.clone());
        match budget {
            Budget::Wipes => locks.chain(counters).collect(),
            _ => locks.collect(),
        }
    }

    /// What numbers stand for.
    fn explain(&mut self) {
        let mut legend = vec![format!(
            "{NONE}: a key that is not there, no deadline, a variable without a value"
        )];
        for client in &self.clients {
            let steps = self.protocol(client.place).steps.iter().enumerate();
            let steps: Vec<String> = steps
                .map(|(place, step)| format!("{place} {}", step.label))
                .collect();
            legend.push(format!(
                "{}_at: {}; {STOPPED} stopped, {FINISHED} done, {CRASHED} crashed",
                client.name,
                steps.join(", ")
            ));
            let base = client.place as i64 * self.names;
            legend.push(format!("{}: {}-1, and so on", base + 1, client.name));
        }
        for text in self.texts.clone() {
            let number = self.text(&text);
            legend.push(format!("{number}: {}", String::from_utf8_lossy(&text)));
        }
        self.model.legend = legend;
    }
}

/// Sets a variable to a number.
pub(super) fn set(name: Name, number: i64) -> Statement {
    Statement::Set(name, Expression::Number(number))
}

fn as_number(milliseconds: u64) -> i64 {
    i64::try_from(milliseconds).unwrap_or(i64::MAX)
}

/// What may be left to do of the protocol's compensations.
fn rests_of(protocol: &Protocol) -> Vec<Vec<usize>> {
    let mut rests: Vec<Vec<usize>> = Vec::new();
    for clause in protocol.steps.iter().flat_map(|step| &step.clauses) {
        if let Flow::Abort(steps) = &clause.flow {
            rests.extend((1..=steps.len()).map(|from| steps[from..].to_vec()));
        }
    }
    crate::sorted::sort(&mut rests);
    rests.dedup();
    rests
}

/// Whether a request is one of these commands.
fn is_command(arguments: &[Argument], names: &[&str]) -> bool {
    matches!(arguments.first(), Some(Argument::Literal(name))
        if names.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(name)))
}

/// The keys that a command names, where they are written out.
fn keys_of(arguments: &[Argument]) -> Vec<Vec<u8>> {
    let literal = |argument: &Argument| match argument {
        Argument::Literal(bytes) => Some(bytes.clone()),
        _ => None,
    };
    if is_command(arguments, &["EVAL", "EVALSHA", "EVAL_RO"]) {
        let count = arguments.get(2).and_then(literal);
        let count = count
            .and_then(|digits| String::from_utf8_lossy(&digits).parse().ok())
            .unwrap_or(0);
        return arguments
            .iter()
            .skip(3)
            .take(count)
            .filter_map(literal)
            .collect();
    }
    arguments.get(1).and_then(literal).into_iter().collect()
}
