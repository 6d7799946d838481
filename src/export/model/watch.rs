//! What the properties remember, as variables, and how they judge: the same as [`crate::property`] remembers and judges when it
//! forgets all that no break depends on.

use super::super::Refusal;
use super::build::{Build, Cell, set};
use super::{Expression, Name, Statement, when};
use crate::property::Property;
use crate::sim::client::protocol::{Argument, Flow, Request};
use crate::sim::setup::{Setup, Watch};

/// The most tokens that are told apart.
const MOST_TOKENS: i64 = 40;

/// What the properties remember.
#[derive(Default)]
pub(super) struct Memory {
    /// For each property that is judged: whether it is broken.
    broken: Vec<(Property, Name)>,
    lines: Vec<Line>,
}

/// What is remembered of one `watch` line with a lock.
struct Line {
    watch: Watch,
    /// The order of takings, where a property depends on it.
    order: Option<Order>,
    tokens: Option<Tokens>,
    /// By row: the newest acquisition that wrote it, and the last.
    rows: Vec<(String, Option<Name>, Option<Name>)>,
}

/// Takings of a lock are numbered from 1; 0 is none.
struct Order {
    /// The number of the latest.
    latest: Name,
    /// The one whose key is there, and whose it is, from 1.
    live: Name,
    owner: Name,
    /// Each client's own.
    own: Vec<Name>,
}

/// Tokens that were drawn.
struct Tokens {
    /// The smallest token of those that are told apart.
    first: i64,
    /// Of each: whether it was handed out, and for each client whether it drew it for its taking, or before it.
    handed: Vec<Name>,
    own: Vec<Vec<Name>>,
    early: Vec<Vec<Name>>,
    /// For each taking, from 1: the smallest and the largest token that was drawn for it.
    drawn: Vec<(Name, Name)>,
}

/// A token that a client drew.
struct Draw<'m> {
    client: usize,
    order: &'m Order,
    tokens: &'m Tokens,
    token: &'m Expression,
}

/// A row that a client's statement was about.
pub(super) struct RowWrite<'r> {
    pub table: &'r str,
    pub row: &'r str,
    /// Whether the row matched, and whether it is another one now.
    pub accepted: bool,
    pub changed: bool,
    /// Of a row that did not match: whether all conditions but the fence's held, and the fence's did not.
    pub fenced: Expression,
}

impl Memory {
    pub fn declare(build: &mut Build<'_>) -> Result<Memory, Refusal> {
        let mut memory = Memory::default();
        for property in build.properties.iter().copied() {
            let name = build.declare(&format!("broken {property:?}"), 0);
            memory.broken.push((property, name));
            build
                .model
                .properties
                .push((name, property.sentence().to_string()));
        }
        for watch in build.setup.watches.clone() {
            if watch.lock.is_some() {
                let line = memory.declare_line(build, watch)?;
                memory.lines.push(line);
            }
        }
        Ok(memory)
    }

    fn judges(&self, properties: &[Property]) -> bool {
        self.broken
            .iter()
            .any(|(judged, _)| properties.contains(judged))
    }

    fn declare_line(&self, build: &mut Build<'_>, watch: Watch) -> Result<Line, Refusal> {
        use Property::*;
        let lock = watch.lock.clone().unwrap_or_default();
        let called = String::from_utf8_lossy(&lock).into_owned();
        let clients: Vec<String> = build
            .clients
            .iter()
            .map(|client| client.name.clone())
            .collect();
        let ordered = [
            OwnerOnly,
            NoStaleWrite,
            LiveHolderNotFenced,
            TokensInOrder,
            TokensUnique,
        ];
        let order = self.judges(&ordered).then(|| Order {
            latest: build.declare(&format!("{called} takings"), 0),
            live: build.declare(&format!("{called} live"), 0),
            owner: build.declare(&format!("{called} owner"), 0),
            own: clients
                .iter()
                .map(|client| build.declare(&format!("{client} taking of {called}"), 0))
                .collect(),
        });
        let tokens = match self.judges(&[TokensInOrder, TokensUnique]) {
            true => Some(self.declare_tokens(build, &watch, &clients)?),
            false => None,
        };
        let mut rows = Vec::new();
        for (table, row) in rows_of(&build.cells)
            .into_iter()
            .filter(|(table, _)| guards(&watch, table))
        {
            let called = format!("{table} {}", row.trim_matches('\''));
            let mut declare = |wanted: bool, what: &str| {
                wanted.then(|| build.declare(&format!("{called} {what} writer"), 0))
            };
            let newest = declare(self.judges(&[NoStaleWrite]), "newest");
            let last = declare(self.judges(&[LiveHolderNotFenced]), "last");
            rows.push((format!("{table} {row}"), newest, last));
        }
        Ok(Line {
            watch,
            order,
            tokens,
            rows,
        })
    }

    fn declare_tokens(
        &self,
        build: &mut Build<'_>,
        watch: &Watch,
        clients: &[String],
    ) -> Result<Tokens, Refusal> {
        let draws = bound_of(build, &["INCR", "INCRBY"], watch.counter.as_ref())?;
        let takings = bound_of(build, &["SET", "SETNX"], watch.lock.as_ref())?;
        let counter = build
            .keys
            .iter()
            .find(|key| Some(&key.key) == watch.counter.as_ref());
        let start = counter.map_or(0, |counter| {
            build.model.variables[counter.value.0].start.max(0)
        });
        let first = if build.bounds.wipes > 0 { 1 } else { start + 1 };
        let most = start + draws - first + 1;
        if most > MOST_TOKENS {
            return Err(Refusal(format!(
                "its search may draw {most} different tokens, and a model can tell {MOST_TOKENS} apart"
            )));
        }
        let numbers: Vec<i64> = (first..first + most).collect();
        let mut flags = |what: &str| -> Vec<Name> {
            numbers
                .iter()
                .map(|token| build.declare(&format!("{what} {token}"), 0))
                .collect()
        };
        let unique = self.judges(&[Property::TokensUnique]);
        let handed = if unique { flags("handed") } else { Vec::new() };
        let own = clients
            .iter()
            .map(|client| flags(&format!("{client} drew")))
            .collect();
        let early = clients
            .iter()
            .map(|client| flags(&format!("{client} drew early")))
            .collect();
        let mut drawn = Vec::new();
        for taking in (1..=takings).filter(|_| self.judges(&[Property::TokensInOrder])) {
            let least = build.declare(&format!("least token of taking {taking}"), 0);
            drawn.push((
                least,
                build.declare(&format!("most token of taking {taking}"), 0),
            ));
        }
        Ok(Tokens {
            first,
            handed,
            own,
            early,
            drawn,
        })
    }

    fn breaks(&self, property: Property) -> Vec<Statement> {
        let judged = self.broken.iter().find(|(judged, _)| *judged == property);
        judged.map(|(_, name)| set(*name, 1)).into_iter().collect()
    }

    fn lines_of<'m>(&'m self, key: &[u8]) -> impl Iterator<Item = &'m Line> + use<'m> {
        let key = key.to_vec();
        self.lines
            .iter()
            .filter(move |line| line.watch.lock.as_ref() == Some(&key))
    }

    // --- the lock's key ---

    /// A client is about to put a value into the key. `present` says whether the key is there, `same` whether with this value.
    pub fn lock_set(
        &self,
        client: usize,
        key: &[u8],
        present: &Expression,
        same: &Expression,
    ) -> Vec<Statement> {
        let mut body = Vec::new();
        for line in self.lines_of(key) {
            let Some(order) = &line.order else { continue };
            let takes = self.takes(client, line, order);
            let own = Expression::All(vec![
                Expression::of(order.owner).equals_number(client as i64 + 1),
                Expression::of(order.own[client]).equals(Expression::of(order.live)),
            ]);
            let keeps = super::fold::folded(&Expression::Any(vec![own, same.clone()]));
            let mut replaces = self.judge_owner(client, order);
            replaces.extend(when(keeps, Vec::new(), takes.clone()));
            body.extend(when(present.clone(), replaces, takes));
        }
        body
    }

    fn takes(&self, client: usize, line: &Line, order: &Order) -> Vec<Statement> {
        let next = Expression::of(order.latest).plus(Expression::Number(1));
        let latest = Expression::of(order.latest);
        let mut body = vec![
            Statement::Set(order.latest, next),
            Statement::Set(order.live, latest.clone()),
            set(order.owner, client as i64 + 1),
            Statement::Set(order.own[client], latest),
        ];
        if let Some(tokens) = &line.tokens {
            body.extend(tokens.own[client].iter().map(|name| set(*name, 0)));
            for (place, early) in tokens.early[client].iter().enumerate() {
                let token = Expression::Number(tokens.first + place as i64);
                let mut drawn = vec![set(*early, 0), set(tokens.own[client][place], 1)];
                drawn.extend(self.judge_order(&Draw {
                    client,
                    order,
                    tokens,
                    token: &token,
                }));
                body.extend(when(
                    Expression::of(*early).equals_number(1),
                    drawn,
                    Vec::new(),
                ));
            }
        }
        body
    }

    fn judge_owner(&self, client: usize, order: &Order) -> Vec<Statement> {
        let owner = Expression::of(order.owner);
        let anothers = Expression::All(vec![
            owner.clone().differs_from(Expression::Number(0)),
            owner.differs_from(Expression::Number(client as i64 + 1)),
        ]);
        when(anothers, self.breaks(Property::OwnerOnly), Vec::new())
    }

    /// A client changes the deadline of the key.
    pub fn lock_touched(&self, client: usize, key: &[u8]) -> Vec<Statement> {
        let orders = self.lines_of(key).filter_map(|line| line.order.as_ref());
        orders
            .flat_map(|order| self.judge_owner(client, order))
            .collect()
    }

    /// A client deletes the key.
    pub fn lock_deleted(&self, client: usize, key: &[u8]) -> Vec<Statement> {
        let mut body = self.lock_touched(client, key);
        body.extend(self.lock_lost(key));
        let orders = self.lines_of(key).filter_map(|line| line.order.as_ref());
        body.extend(orders.map(|order| set(order.own[client], 0)));
        body
    }

    /// The key goes, by nobody's doing.
    pub fn lock_lost(&self, key: &[u8]) -> Vec<Statement> {
        let orders = self.lines_of(key).filter_map(|line| line.order.as_ref());
        orders
            .flat_map(|order| [set(order.live, 0), set(order.owner, 0)])
            .collect()
    }

    /// A client's request has ended, and has written the key, which may have no deadline.
    pub fn lock_left(&self, key: &[u8], stays: Expression) -> Vec<Statement> {
        let is_lock = self.lines_of(key).next().is_some();
        when(
            stays,
            if is_lock {
                self.breaks(Property::LockHasDeadline)
            } else {
                Vec::new()
            },
            Vec::new(),
        )
    }

    /// A client's run is over, or begins anew.
    pub fn run_over(&self, client: usize) -> Vec<Statement> {
        let mut body = Vec::new();
        for line in &self.lines {
            body.extend(line.order.iter().map(|order| set(order.own[client], 0)));
            if let Some(tokens) = &line.tokens {
                let flags = tokens.own[client].iter().chain(&tokens.early[client]);
                body.extend(flags.map(|name| set(*name, 0)));
            }
        }
        body
    }

    /// A client begins to believe that it holds a lock; `beliefs` are those of the others.
    pub fn believed(&self, key: &[u8], beliefs: Vec<Expression>) -> Vec<Statement> {
        if self.lines_of(key).next().is_none() || beliefs.is_empty() {
            return Vec::new();
        }
        when(
            Expression::Any(beliefs),
            self.breaks(Property::OneBeliever),
            Vec::new(),
        )
    }

    // --- tokens ---

    /// Whether tokens count that come from this key.
    pub fn is_counter(&self, key: &[u8]) -> bool {
        self.lines
            .iter()
            .any(|line| line.tokens.is_some() && line.watch.counter.as_deref() == Some(key))
    }

    /// A client drew a token: from this counter, or, where none is named, as its protocol says.
    pub fn drew(
        &self,
        client: usize,
        counter: Option<&[u8]>,
        token: &Expression,
    ) -> Vec<Statement> {
        let mut body = Vec::new();
        for line in &self.lines {
            let (Some(order), Some(tokens)) = (&line.order, &line.tokens) else {
                continue;
            };
            if counter.is_none() || line.watch.counter.as_deref() == counter {
                body.extend(self.drew_for(&Draw {
                    client,
                    order,
                    tokens,
                    token,
                }));
            }
        }
        body
    }

    fn drew_for(&self, draw: &Draw<'_>) -> Vec<Statement> {
        let Draw {
            client,
            order,
            tokens,
            token,
        } = *draw;
        let has_lock = Expression::of(order.own[client]).differs_from(Expression::Number(0));
        let mut each = Vec::new();
        for place in (0..tokens.own[client].len()).rev() {
            let own = tokens.own[client][place];
            let mut body = Vec::new();
            if let Some(handed) = tokens.handed.get(place) {
                let told_again =
                    Expression::All(vec![has_lock.clone(), Expression::of(own).equals_number(1)]);
                let twice = Expression::All(vec![
                    told_again.not(),
                    Expression::of(*handed).equals_number(1),
                ]);
                body.extend(when(twice, self.breaks(Property::TokensUnique), Vec::new()));
                body.push(set(*handed, 1));
            }
            body.extend(when(
                has_lock.clone(),
                vec![set(own, 1)],
                vec![set(tokens.early[client][place], 1)],
            ));
            let is_it = token.clone().equals_number(tokens.first + place as i64);
            each = when(is_it, body, each);
        }
        let judged = self.judge_order(draw);
        each.extend(when(has_lock, judged, Vec::new()));
        each
    }

    /// Compares a token with those of older and newer takings, and counts it to the client's own.
    fn judge_order(&self, draw: &Draw<'_>) -> Vec<Statement> {
        let (drawn, token) = (&draw.tokens.drawn, draw.token);
        let own = Expression::of(draw.order.own[draw.client]);
        let mut each = Vec::new();
        for (place, (least, most)) in drawn.iter().enumerate().rev() {
            let older = drawn[..place].iter();
            let above = older.map(|(_, most)| token.clone().below(Expression::of(*most)));
            let newer = drawn[place + 1..].iter().map(|(least, _)| {
                let least = Expression::of(*least);
                Expression::All(vec![
                    least.clone().differs_from(Expression::Number(0)),
                    least.below(token.clone()),
                ])
            });
            let wrong = super::fold::folded(&Expression::Any(above.chain(newer).collect()));
            let mut body = when(wrong, self.breaks(Property::TokensInOrder), Vec::new());
            let is_less = Expression::Any(vec![
                Expression::of(*least).equals_number(0),
                token.clone().below(Expression::of(*least)),
            ]);
            body.extend(when(
                is_less,
                vec![Statement::Set(*least, token.clone())],
                Vec::new(),
            ));
            let is_more = Expression::of(*most).below(token.clone());
            body.extend(when(
                is_more,
                vec![Statement::Set(*most, token.clone())],
                Vec::new(),
            ));
            each = when(own.clone().equals_number(place as i64 + 1), body, each);
        }
        each
    }

    // --- rows ---

    /// A client's statement was about a row.
    pub fn wrote(&self, client: usize, write: &RowWrite<'_>) -> Vec<Statement> {
        let mut body = Vec::new();
        for line in self
            .lines
            .iter()
            .filter(|line| guards(&line.watch, write.table))
        {
            let identity = format!("{} {}", write.table, write.row);
            let row = line.rows.iter().find(|(known, ..)| *known == identity);
            let (Some(order), Some((_, newest, last))) = (&line.order, row) else {
                continue;
            };
            let own = Expression::of(order.own[client]);
            let nobody = match (write.accepted, last) {
                (true, Some(last)) => vec![set(*last, 0)],
                _ => Vec::new(),
            };
            let held = match write.accepted {
                true => self.judge_accepted(write, &own, *newest, *last),
                false => self.judge_fenced(write, &own, order, *last),
            };
            body.extend(when(own.equals_number(0), nobody, held));
        }
        body
    }

    fn judge_accepted(
        &self,
        write: &RowWrite<'_>,
        own: &Expression,
        newest: Option<Name>,
        last: Option<Name>,
    ) -> Vec<Statement> {
        let mut body = Vec::new();
        if let Some(newest) = newest {
            let stale = if write.changed {
                self.breaks(Property::NoStaleWrite)
            } else {
                Vec::new()
            };
            let is_older = own.clone().below(Expression::of(newest));
            body.extend(when(
                is_older,
                stale,
                vec![Statement::Set(newest, own.clone())],
            ));
        }
        body.extend(last.map(|last| Statement::Set(last, own.clone())));
        body
    }

    fn judge_fenced(
        &self,
        write: &RowWrite<'_>,
        own: &Expression,
        order: &Order,
        last: Option<Name>,
    ) -> Vec<Statement> {
        let Some(last) = last else { return Vec::new() };
        let turned_away = Expression::All(vec![
            write.fenced.clone(),
            own.clone().equals(Expression::of(order.live)),
            own.clone().differs_from(Expression::of(last)),
        ]);
        when(
            super::fold::folded(&turned_away),
            self.breaks(Property::LiveHolderNotFenced),
            Vec::new(),
        )
    }

    /// A column gets another value.
    pub fn stock_changes(&self, setup: &Setup, cell: &Cell, after: &Expression) -> Vec<Statement> {
        let is_stock = |watch: &Watch| {
            watch.stock.as_ref().is_some_and(|stock| {
                stock.table.eq_ignore_ascii_case(&cell.table)
                    && stock.column.eq_ignore_ascii_case(&cell.column)
            })
        };
        if !setup.watches.iter().any(is_stock) {
            return Vec::new();
        }
        let negative = Expression::All(vec![
            after.clone().below(Expression::Number(0)),
            after.clone().differs_from(Expression::of(cell.value)),
        ]);
        when(
            negative,
            self.breaks(Property::StockNotNegative),
            Vec::new(),
        )
    }
}

/// Whether a watch line's lock protects the table.
fn guards(watch: &Watch, table: &str) -> bool {
    let column = watch.fence.as_ref().or(watch.stock.as_ref());
    column.is_some_and(|column| column.table.eq_ignore_ascii_case(table))
}

/// Tables with the keys of their rows, each once.
fn rows_of(cells: &[Cell]) -> Vec<(String, String)> {
    let mut rows: Vec<(String, String)> = cells
        .iter()
        .map(|cell| (cell.table.clone(), cell.row.clone()))
        .collect();
    rows.dedup();
    rows
}

/// How often steps that may run one of these commands on a key can run in all: each client runs each of them once in each attempt.
fn bound_of(build: &Build<'_>, commands: &[&str], key: Option<&Vec<u8>>) -> Result<i64, Refusal> {
    let mut most = 0;
    for client in &build.clients {
        let steps = build.protocol(client.place).steps.iter().enumerate();
        for (place, step) in steps.filter(|(_, step)| may_run(build, &step.request, commands, key))
        {
            let goes_back = step.clauses.iter().any(|clause| match clause.flow {
                Flow::GoTo(to) => to <= place,
                Flow::Retry { .. } => !clause.effects.is_empty(),
                _ => false,
            });
            if goes_back {
                return Err(Refusal(format!(
                    "the step `{}` goes back to an earlier one, and the tokens that are drawn have no end",
                    step.label
                )));
            }
            most += build.attempts(client.place);
        }
    }
    Ok(most)
}

fn may_run(build: &Build<'_>, request: &Request, commands: &[&str], key: Option<&Vec<u8>>) -> bool {
    let Request::Store(_, arguments) = request else {
        return false;
    };
    let names_key = arguments
        .iter()
        .any(|argument| matches!(argument, Argument::Literal(bytes) if Some(bytes) == key));
    let runs = |argument: &Argument| match argument {
        Argument::Literal(word) => commands
            .iter()
            .any(|command| command.as_bytes().eq_ignore_ascii_case(word)),
        Argument::ScriptSource(name) => {
            let source = build
                .setup
                .scripts
                .get(name)
                .map(|source| String::from_utf8_lossy(source).to_ascii_uppercase());
            source.is_some_and(|source| commands.iter().any(|command| source.contains(command)))
        }
        _ => false,
    };
    names_key && arguments.iter().take(2).any(runs)
}
