//! One statement in the course of running: its transaction, the locks it takes, the rows it reads
//! to write or to lock.
//!
//! A statement that has to wait gives up what it wrote, keeps the locks that it has, and runs again
//! from its start once it is given the one that it lacked. The rows it had written are still locked
//! by it, so it finds them as they were.

use std::cell::RefCell;
use std::sync::Arc;

use super::ConnectionId;
use super::error::{self, Outcome, Stop};
use super::expression::{Context, Effects, Scope, Source, evaluate, is_true};
use super::fact::DatabaseFact;
use super::lock::{Lock, Request, Span, Target};
use super::path::{self, Path};
use super::select;
use super::state::{DEFINITION_WAIT, Session, State, Transaction, View, Write, find_write};
use super::statement::Statement;
use super::syntax::{Conjunct, Isolation, Locking, Patience, Select};
use super::table::{Key, MOST_ROWS, Table};
use super::value::{Value, Values};

pub(super) struct Run<'a> {
    pub(super) state: &'a mut State,
    pub(super) session: &'a mut Session,
    pub(super) transaction: Transaction,
    pub(super) connection: ConnectionId,
    pub(super) statement: &'a Statement,
    pub(super) parameters: &'a [Value],
    pub(super) now: u64,
    pub(super) effects: RefCell<Effects>,
    pub(super) facts: Vec<DatabaseFact>,
    /// Whether locks matter: a transaction of several statements, or others who hold some.
    pub(super) tracks: bool,
    /// Whether a transaction of several statements is open.
    pub(super) open: bool,
    pub(super) numbers: Numbers,
    pub(super) strict: bool,
    /// SET autocommit = 1 commits the open transaction.
    pub(super) commits_after: bool,
}

/// The numbers of AUTO_INCREMENT that a statement has reserved. As in InnoDB it reserves as many as
/// it has rows left, then one, two, four, ... more; what it does not use is lost.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    /// Rows that the statement gives, 0 where it cannot know.
    pub(super) rows: u64,
    /// First and behind the last of each reservation, kept while the statement waits.
    pub(super) reserved: Vec<(u64, u64)>,
    used: usize,
    /// Rows that the last reservation was for, less those written since.
    left: u64,
    next: u64,
    end: u64,
}

impl Numbers {
    pub(super) fn again(reserved: Vec<(u64, u64)>) -> Numbers {
        Numbers {
            reserved,
            ..Numbers::default()
        }
    }

    /// Makes a reservation from this number on, and says where it ends.
    pub(super) fn reserve(&mut self, start: u64) -> u64 {
        if self.left == 0 {
            self.left = match self.reserved.len() {
                0 if self.rows > 0 => self.rows,
                count => 1 << count.min(16),
            };
        }
        let end = start.saturating_add(self.left);
        self.reserved.push((start, end));
        end
    }

    /// The next number of what is reserved.
    pub(super) fn next(&mut self) -> Option<u64> {
        if self.next == 0 || self.next >= self.end {
            (self.next, self.end) = *self.reserved.get(self.used)?;
            self.used += 1;
        }
        self.next += 1;
        Some(self.next - 1)
    }

    /// A number was given by hand: those up to it are not used any more.
    pub(super) fn pass(&mut self, number: u64) {
        if self.next > 0 && number >= self.next {
            self.next = number.saturating_add(1);
        }
    }

    /// What would be next, to come back to.
    pub(super) fn upcoming(&self) -> u64 {
        self.next
    }

    /// A row did not come to be: its number, if it was given one, goes to the next row.
    pub(super) fn give_back(&mut self, upcoming: u64, given: Option<u64>) {
        self.next = if upcoming > 0 {
            upcoming
        } else {
            given.unwrap_or(0)
        };
    }

    /// A row has come as far as the table.
    pub(super) fn row_written(&mut self) {
        self.left = self.left.saturating_sub(1);
    }
}

/// A row that a write or a locking read looked at.
pub(super) struct Examined {
    pub(super) key: Key,
    pub(super) values: Values,
    pub(super) matches: bool,
}

/// What a scan is to do with the rows on its way.
pub(super) struct Scan<'a> {
    pub(super) alias: &'a str,
    pub(super) condition: &'a [Conjunct],
    pub(super) locking: Locking,
    /// Stop when so many rows have matched.
    pub(super) most: Option<usize>,
    /// Whether READ COMMITTED may look at the committed row before it waits, as UPDATE does.
    pub(super) semi_consistent: bool,
}

pub(super) const EXCLUSIVE: Locking = Locking {
    exclusive: true,
    patience: Patience::Wait,
};

impl Run<'_> {
    pub(super) fn view(&self) -> View<'_> {
        View {
            state: self.state,
            transaction: &self.transaction,
            connection: self.connection,
        }
    }

    pub(super) fn context(&self) -> Context<'_> {
        Context {
            view: self.view(),
            session: self.session,
            connection: self.connection,
            parameters: self.parameters,
            now: self.now,
            strict: self.strict,
            effects: &self.effects,
        }
    }

    /// Calls with a scope in which one row of the table is known.
    pub(super) fn with_row<T>(
        &self,
        table: &Table,
        alias: &str,
        row: &Values,
        call: impl FnOnce(&Scope<'_>) -> Outcome<T>,
    ) -> Outcome<T> {
        let context = self.context();
        let sources = [Source {
            alias,
            definition: &table.definition,
        }];
        let rows = std::slice::from_ref(row);
        call(&Scope {
            sources: &sources,
            rows,
            ..Scope::bare(&context)
        })
    }

    /// Whether ranges are locked with their gaps.
    pub(super) fn locks_gaps(&self) -> bool {
        self.transaction.isolation >= Isolation::RepeatableRead
    }

    /// The table, its definition locked against DROP while the transaction lasts.
    pub(super) fn open_table(&mut self, name: &str) -> Outcome<Arc<Table>> {
        let table = self.state.table(name)?.clone();
        self.acquire(&table, 0, Span::Definition, false, Patience::Wait)?;
        Ok(table)
    }

    // --- locks ---

    /// Takes a lock. False when it is held by another and the statement is to skip it.
    pub(super) fn acquire(
        &mut self,
        table: &Table,
        index: usize,
        span: Span,
        exclusive: bool,
        patience: Patience,
    ) -> Outcome<bool> {
        if !self.tracks {
            return Ok(true);
        }
        let lock = Lock {
            table: table.definition.name.clone(),
            index,
            span,
            exclusive,
        };
        let own = self
            .state
            .locks
            .iter()
            .any(|(owner, held)| *owner == self.connection && held.covers(&lock));
        if own {
            return Ok(true);
        }
        let definition = lock.span == Span::Definition;
        let patience_ms = if definition {
            DEFINITION_WAIT
        } else {
            self.session.lock_wait_seconds * 1000
        };
        let request = Request {
            target: Target::Lock(lock),
            patience: patience_ms,
        };
        let queue = self.state.waiting.len();
        let free = self
            .state
            .holders(self.connection, &request, queue)
            .is_empty();
        match patience {
            _ if free => {}
            Patience::NoWait => return Err(error::nowait().into()),
            Patience::SkipLocked => return Ok(false),
            Patience::Wait => return Err(Stop::Wait(Box::new(request))),
        }
        if let Target::Lock(lock) = request.target {
            self.state.hold(self.connection, lock);
        }
        Ok(true)
    }

    fn lock_gap(
        &mut self,
        table: &Table,
        index: usize,
        after: Option<&Key>,
        before: Option<&Key>,
        exclusive: bool,
    ) -> Outcome<()> {
        if self.tracks && self.locks_gaps() {
            let span = Span::Gap {
                after: after.cloned(),
                before: before.cloned(),
            };
            self.acquire(table, index, span, exclusive, Patience::Wait)?;
        }
        Ok(())
    }

    // --- reading to write or to lock ---

    /// Reads rows as they are now along the path that WHERE gives, and locks them.
    pub(super) fn scan(
        &mut self,
        table: &Arc<Table>,
        scan: &Scan<'_>,
    ) -> Outcome<(Path, Vec<Examined>)> {
        let path = {
            let context = self.context();
            let sources = [Source {
                alias: scan.alias,
                definition: &table.definition,
            }];
            let scope = Scope {
                sources: &sources,
                ..Scope::bare(&context)
            };
            path::choose(&scope, &table.definition, scan.alias, scan.condition)
        };
        let examined = if self.tracks {
            self.locking_scan(table, scan, &path)?
        } else {
            self.plain_scan(table, scan, &path)?
        };
        Ok((path, examined))
    }

    /// Nobody else is there: no locks.
    fn plain_scan(
        &self,
        table: &Arc<Table>,
        scan: &Scan<'_>,
        path: &Path,
    ) -> Outcome<Vec<Examined>> {
        let rows = self.view().current_rows(table);
        let mut examined = Vec::new();
        let mut matched = 0;
        for interval in &path.intervals {
            let (start, end) = if path.index == 0 {
                let start = rows.partition_point(|(key, _)| **key < *interval.low);
                let end = interval.high.as_ref().map_or(rows.len(), |high| {
                    rows.partition_point(|(key, _)| **key < **high)
                });
                (start, end.max(start))
            } else {
                (0, rows.len())
            };
            for (key, values) in &rows[start..end] {
                let definition = &table.definition;
                if path.index > 0 && !interval.contains(&definition.entry(path.index, values, key))
                {
                    continue;
                }
                if scan.most == Some(matched) {
                    return Ok(examined);
                }
                let matches = self.matches(table, scan, values)?;
                matched += usize::from(matches);
                examined.push(Examined {
                    key: key.clone(),
                    values: values.clone(),
                    matches,
                });
            }
        }
        Ok(examined)
    }

    fn matches(&self, table: &Table, scan: &Scan<'_>, values: &Values) -> Outcome<bool> {
        self.with_row(table, scan.alias, values, |scope| {
            select::passes(scope, scan.condition)
        })
    }

    fn locking_scan(
        &mut self,
        table: &Arc<Table>,
        scan: &Scan<'_>,
        path: &Path,
    ) -> Outcome<Vec<Examined>> {
        let entries = self.view().entries(table, path.index);
        let exclusive = scan.locking.exclusive;
        let mut examined = Vec::new();
        let mut matched = 0;
        for interval in &path.intervals {
            let start = entries.partition_point(|(entry, _)| **entry < *interval.low);
            let mut previous = start
                .checked_sub(1)
                .and_then(|at| entries.get(at))
                .map(|(entry, _)| entry);
            let mut ended = false;
            for (entry, key) in &entries[start..] {
                if !interval.contains(entry) || scan.most == Some(matched) {
                    break;
                }
                if !interval.point {
                    self.lock_gap(table, path.index, previous, Some(entry), exclusive)?;
                }
                previous = Some(entry);
                if let Some(row) = self.locked_row(table, scan, path.index, entry, key)? {
                    ended = interval.point;
                    matched += usize::from(row.matches);
                    examined.push(row);
                }
            }
            if !ended && scan.most != Some(matched) {
                let behind = entries.iter().map(|(entry, _)| entry).find(|entry| {
                    interval
                        .high
                        .as_ref()
                        .is_some_and(|high| ***entry >= **high)
                });
                self.lock_gap(table, path.index, previous, behind, exclusive)?;
            }
        }
        Ok(examined)
    }

    /// Locks an entry and its row and looks at the row; none when there is nothing to see.
    fn locked_row(
        &mut self,
        table: &Arc<Table>,
        scan: &Scan<'_>,
        index: usize,
        entry: &Key,
        key: &Key,
    ) -> Outcome<Option<Examined>> {
        let Locking {
            exclusive,
            patience,
        } = scan.locking;
        let before = self.state.locks.len();
        if !self.locks_gaps() && scan.semi_consistent {
            // READ COMMITTED: UPDATE waits only for rows that would match as they are committed.
            if let Some(values) = self.view().current(table, key)
                && !self.matches(table, scan, &values)?
            {
                return Ok(Some(Examined {
                    key: key.clone(),
                    values,
                    matches: false,
                }));
            }
        }
        if !self.acquire(
            table,
            index,
            Span::Record(entry.clone()),
            exclusive,
            patience,
        )? {
            return Ok(None);
        }
        if index > 0 && !self.acquire(table, 0, Span::Record(key.clone()), exclusive, patience)? {
            return Ok(None);
        }
        let Some(values) = self.view().current(table, key) else {
            return Ok(None);
        };
        if table.definition.entry(index, &values, key) != *entry {
            return Ok(None);
        }
        let matches = self.matches(table, scan, &values)?;
        if !matches && !self.locks_gaps() && self.state.locks.len() > before {
            let owner = self.connection;
            self.state.locks.retain(|(held_by, lock)| {
                let this = (lock.index == index && lock.span == Span::Record(entry.clone()))
                    || (lock.index == 0 && lock.span == Span::Record(key.clone()));
                *held_by != owner || !this || lock.table != table.definition.name
            });
        }
        Ok(Some(Examined {
            key: key.clone(),
            values,
            matches,
        }))
    }

    /// The rows of a locking query: of each table those that its own conditions lead to.
    pub(super) fn locked_rows(
        &mut self,
        query: &Select,
        locking: Locking,
    ) -> Outcome<Option<Vec<Vec<Values>>>> {
        let [from] = query.from.as_slice() else {
            for from in &query.from {
                let table = self.open_table(&from.table)?;
                let all = Scan {
                    alias: &from.alias,
                    condition: &[],
                    locking,
                    most: None,
                    semi_consistent: false,
                };
                self.scan(&table, &all)?;
            }
            return Ok(None);
        };
        let table = self.open_table(&from.table)?;
        self.check_query(query)?;
        let most = self.rows_wanted(query, &table)?;
        let scan = Scan {
            alias: &from.alias,
            condition: &query.condition,
            locking,
            most,
            semi_consistent: false,
        };
        let (_, examined) = self.scan(&table, &scan)?;
        Ok(Some(
            examined
                .into_iter()
                .filter(|row| row.matches)
                .map(|row| vec![row.values])
                .collect(),
        ))
    }

    /// Finds the query's mistakes before a lock is taken: it is run over no rows.
    fn check_query(&self, query: &Select) -> Outcome<()> {
        let context = self.context();
        select::run(&context, query, None, Some(Vec::new())).map(|_| ())
    }

    /// How many rows LIMIT asks for, when the scan comes in the order that ORDER BY asks for.
    fn rows_wanted(&self, query: &Select, table: &Table) -> Outcome<Option<usize>> {
        let Some(limit) = &query.limit else {
            return Ok(None);
        };
        let plain = query.group.is_empty() && query.having.is_none() && !query.distinct;
        let aggregates = query.items.iter().any(|item| {
            matches!(item, super::syntax::Item::One { expression, .. } if expression.aggregates())
        });
        let by_key = self.order_is_key(&query.order, table);
        if !plain || aggregates || !by_key {
            return Ok(None);
        }
        let context = self.context();
        let scope = Scope::bare(&context);
        Ok(Some(select::wanted(&scope, limit)?))
    }

    /// Whether ORDER BY is the order of the clustering key, or absent.
    pub(super) fn order_is_key(&self, orders: &[super::syntax::Order], table: &Table) -> bool {
        let definition = &table.definition;
        let key = definition.indexes.first().filter(|_| definition.clustered);
        let columns = key.map_or(&[][..], |index| &index.columns);
        orders.len() <= columns.len()
            && orders.iter().zip(columns).all(|(order, column)| {
                !order.descending
                    && matches!(&order.expression, super::syntax::Expression::Column { name, .. }
                        if definition.column(name) == Some(*column))
            })
    }

    /// A query in a statement that writes reads what is committed now, and shares locks on it
    /// unless READ COMMITTED lets it go without.
    pub(super) fn lock_queries(&mut self) -> Outcome<()> {
        let mut tables: Vec<&str> = Vec::new();
        let statement = self.statement;
        statement.each_query(&mut |query| {
            tables.extend(query.from.iter().map(|from| from.table.as_str()))
        });
        for name in tables {
            let table = self.open_table(name)?;
            if self.locks_gaps() && self.tracks {
                let locking = Locking {
                    exclusive: false,
                    patience: Patience::Wait,
                };
                let scan = Scan {
                    alias: name,
                    condition: &[],
                    locking,
                    most: None,
                    semi_consistent: false,
                };
                self.scan(&table, &scan)?;
            }
        }
        // Such queries never read from the snapshot.
        Ok(())
    }

    // --- writing ---

    /// Writes the row, or removes it, in the transaction, and locks its entries.
    pub(super) fn write(
        &mut self,
        table: &Arc<Table>,
        key: &Key,
        old: Option<&Values>,
        new: Option<Values>,
    ) -> Outcome<()> {
        if self.tracks {
            for index in 0..table.definition.index_count() {
                let entry = |values: &Values| table.definition.entry(index, values, key);
                let (from, to) = (old.map(entry), new.as_ref().map(entry));
                if index > 0 && from == to {
                    continue;
                }
                for entry in from.into_iter().chain(to) {
                    self.acquire(table, index, Span::Record(entry), true, Patience::Wait)?;
                }
            }
        }
        let name = &table.definition.name;
        match find_write(&self.transaction.writes, name, key) {
            Ok(at) => self.transaction.writes[at].row = new,
            Err(at) => {
                let write = Write {
                    table: name.clone(),
                    key: key.clone(),
                    row: new,
                };
                self.transaction.writes.insert(at, write);
            }
        }
        // A row that came and went within the transaction is not worth remembering.
        if let Ok(at) = find_write(&self.transaction.writes, name, key)
            && self.transaction.writes[at].row.is_none()
            && table.get(key).is_none()
        {
            self.transaction.writes.remove(at);
        }
        Ok(())
    }

    /// The row that already has these values in a unique index, locked.
    pub(super) fn duplicate(
        &mut self,
        table: &Arc<Table>,
        index: usize,
        values: &[Value],
        exclusive: bool,
        except: Option<&Key>,
    ) -> Outcome<Option<(Key, Values)>> {
        let definition = table.definition.clone();
        let Some(unique) = definition.index(index) else {
            return Ok(None);
        };
        if unique
            .columns
            .iter()
            .any(|column| values.get(*column).is_none_or(Value::is_null))
        {
            return Ok(None);
        }
        let prefix = definition.prefix(definition.position(index), values);
        if !self.tracks {
            let view = self.view();
            if index == 0 {
                let key: Key = prefix.into();
                let found = view.current(table, &key);
                return Ok(found.filter(|_| except != Some(&key)).map(|row| (key, row)));
            }
            let rows = view.current_rows(table);
            let found = rows.iter().find(|(key, row)| {
                except != Some(key) && definition.prefix(definition.position(index), row) == prefix
            });
            return Ok(found.cloned());
        }
        let entries = self.view().entries(table, index);
        let start = entries.partition_point(|(entry, _)| **entry < *prefix);
        for (at, (entry, key)) in entries.iter().enumerate().skip(start) {
            if !entry.starts_with(&prefix) || (index == 0 && entry.len() != prefix.len()) {
                break;
            }
            if except == Some(key) {
                continue;
            }
            if index > 0 {
                let previous = at
                    .checked_sub(1)
                    .and_then(|at| entries.get(at))
                    .map(|(entry, _)| entry);
                self.lock_gap(table, index, previous, Some(entry), exclusive)?;
            }
            self.acquire(
                table,
                index,
                Span::Record(entry.clone()),
                exclusive,
                Patience::Wait,
            )?;
            let current = self.view().current(table, key);
            let same = |row: &Values| definition.prefix(definition.position(index), row) == prefix;
            if let Some(row) = current.filter(same) {
                if exclusive && index > 0 {
                    self.acquire(table, 0, Span::Record(key.clone()), true, Patience::Wait)?;
                }
                return Ok(Some((key.clone(), row)));
            }
        }
        Ok(None)
    }

    /// Waits until nobody else has locked the gaps that the row's new entries come to stand in.
    pub(super) fn intend(
        &mut self,
        table: &Arc<Table>,
        key: &Key,
        old: Option<&Values>,
        new: &Values,
    ) -> Outcome<()> {
        if !self.tracks {
            return Ok(());
        }
        for index in 0..table.definition.index_count() {
            let entry = table.definition.entry(index, new, key);
            if old.is_some_and(|old| table.definition.entry(index, old, key) == entry) {
                continue;
            }
            self.acquire(table, index, Span::Insert(entry), true, Patience::Wait)?;
        }
        Ok(())
    }

    /// A key for a new row: from its values, or the next hidden number.
    pub(super) fn new_key(&mut self, table: &Arc<Table>, values: &[Value]) -> Outcome<Key> {
        if table.definition.clustered {
            return Ok(table.definition.prefix(0, values).into());
        }
        let Some(stored) = self.state.table_mut(&table.definition.name) else {
            return Err(error::no_such_table(&table.definition.name).into());
        };
        let number = stored.next_row;
        stored.next_row += 1;
        Ok(number.to_be_bytes().as_slice().into())
    }

    /// Refuses a row too many.
    pub(super) fn check_room(&self, table: &Table) -> Outcome<()> {
        let pending = self
            .transaction
            .writes
            .iter()
            .filter(|write| write.row.is_some())
            .count();
        if table.rows.len() + pending >= MOST_ROWS {
            return Err(error::table_full(&table.definition.name).into());
        }
        Ok(())
    }

    /// Checks NOT NULL and check constraints of a row that is about to be written.
    pub(super) fn check_row(&self, table: &Table, values: &Values) -> Outcome<()> {
        for check in &table.definition.checks {
            let passed = self.with_row(table, &table.definition.name, values, |scope| {
                let value = evaluate(scope, &check.expression)?;
                Ok(value.is_null() || is_true(scope, &value)?)
            })?;
            if !passed {
                return Err(error::check_violated(&check.name).into());
            }
        }
        Ok(())
    }
}
