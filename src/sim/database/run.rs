//! One statement in the course of running: its transaction, the locks it takes, the rows it reads
//! to write or to lock.
//!
//! A statement that has to wait gives up what it wrote, keeps the locks that it has, and runs again
//! from its start once it is given the one that it lacked. The rows it had written are still locked
//! by it, so it finds them as they were.

use std::cell::RefCell;
use std::sync::Arc;

use super::ConnectionId;
use super::column::KeyKind;
use super::error::{self, Outcome, Stop};
use super::expression::{Context, Effects, Scope, Source, evaluate, is_true};
use super::fact::DatabaseFact;
use super::lock::{Class, Lock, Request, Span, Target};
use super::path::{self, Path};
use super::select;
use super::state::{DEFINITION_WAIT, Session, State, Transaction, View, Write, find_write};
use super::statement::Statement;
use super::syntax::{Command, Conjunct, Isolation, Locking, Patience, Select};
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
    /// How far the statement had read before it waited, then how far it has.
    pub(super) progress: Option<Progress>,
    /// How many scans have begun.
    pub(super) scans: usize,
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

/// How far a statement has read that waits, so that it goes on there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Progress {
    /// Which of the statement's scans this is; 0 where a row of an INSERT has met another.
    pub(super) scan: usize,
    /// Or the index.
    pub(super) interval: usize,
    /// The entry for which it waits.
    pub(super) entry: Key,
    pub(super) examined: Vec<Examined>,
    /// The number of the row of an INSERT, and how much was written before it.
    pub(super) row: (u64, usize),
}

/// What a transaction said of a few rows.
pub(super) struct Mark {
    writes: Vec<(Key, Option<Write>)>,
    undo: usize,
    overwritten: usize,
}

/// A row that a write or a locking read looked at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Examined {
    pub(super) key: Key,
    pub(super) values: Values,
    pub(super) matches: bool,
}

/// What there was to see at an entry.
enum Look {
    Row(Examined),
    /// The row is deleted, or stands elsewhere by now.
    Nothing,
    /// Another holds it.
    Skipped,
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
    /// Whether it is a SELECT's: a row that a unique key gives it reads before it looks at the rest of
    /// the WHERE, and stays locked.
    pub(super) selects: bool,
}

/// What is done with each row of a scan.
pub(super) type EachRow<'a> = &'a mut dyn FnMut(&mut Run<'_>, &Examined) -> Outcome<()>;

/// The first place behind an entry.
fn after_entry(entry: &Key) -> Key {
    [&**entry, &[0]].concat().into()
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
        self.acquire(
            &table,
            0,
            Span::Definition,
            (false, Class::Record),
            Patience::Wait,
        )?;
        Ok(table)
    }

    // --- locks ---

    /// Takes a lock. False when it is held by another and the statement is to skip it.
    pub(super) fn acquire(
        &mut self,
        table: &Table,
        index: usize,
        span: Span,
        strength: (bool, Class),
        patience: Patience,
    ) -> Outcome<bool> {
        self.acquire_with(table, index, span, strength, patience, None)
    }

    fn acquire_with(
        &mut self,
        table: &Table,
        index: usize,
        span: Span,
        (exclusive, class): (bool, Class),
        patience: Patience,
        gap: Option<Lock>,
    ) -> Outcome<bool> {
        if !self.tracks {
            return Ok(true);
        }
        let lock = Lock {
            table: table.definition.name.clone(),
            index,
            span,
            exclusive,
            class,
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
            gap,
            patience: patience_ms,
        };
        let queue = self.state.waiting.len();
        let free = self
            .state
            .holders(self.connection, &request, queue)
            .is_empty();
        if let Target::Lock(lock) = &request.target {
            self.state.make_explicit(self.connection, lock);
        }
        match patience {
            _ if free => {}
            Patience::NoWait => return Err(error::nowait().into()),
            Patience::SkipLocked => return Ok(false),
            Patience::Wait => return Err(Stop::Wait(Box::new(request))),
        }
        if let Target::Lock(lock) = request.target {
            // The gap of a next-key lock comes with its entry.
            let first = lock.class != Class::NextKey
                || !matches!(
                    lock.span,
                    Span::Gap {
                        before: Some(_),
                        ..
                    }
                );
            let more = first
                && self.state.is_awaited(&lock, request.gap.as_ref())
                && self.state.has_alike(self.connection, &lock);
            self.transaction.more_structures += usize::from(more);
            self.state.hold(self.connection, lock);
        }
        Ok(true)
    }

    /// Locks an entry, and the gap before it where the class is that of both.
    fn lock_entry(
        &mut self,
        table: &Table,
        index: usize,
        (after, entry): (Option<&Key>, &Key),
        (exclusive, class): (bool, Class),
        patience: Patience,
    ) -> Outcome<bool> {
        let gap = (class == Class::NextKey).then(|| Lock {
            table: table.definition.name.clone(),
            index,
            span: Span::Gap {
                after: after.cloned(),
                before: Some(entry.clone()),
            },
            exclusive,
            class,
        });
        let record = Span::Record(entry.clone());
        // Who has locked the entry already locks the gap by itself.
        let covers = |gap: &Lock| {
            let span = record.clone();
            let wanted = Lock {
                span,
                ..gap.clone()
            };
            let mut own = self.own_locks().into_iter();
            own.any(|held| held.class == Class::Record && held.covers(&wanted))
        };
        let alone = self.tracks && gap.as_ref().is_some_and(covers);
        let strength = (exclusive, class);
        let locked = self.acquire_with(table, index, record, strength, patience, gap.clone())?;
        if let (Some(gap), true, true) = (gap, locked, self.tracks) {
            let class = if alone { Class::Gap } else { class };
            self.acquire(table, index, gap.span, (exclusive, class), Patience::Wait)?;
        }
        Ok(locked)
    }

    /// Locks the gap between two neighbours; `class` says whether the one behind it is locked too.
    fn lock_gap(
        &mut self,
        table: &Table,
        index: usize,
        (after, before): (Option<&Key>, Option<&Key>),
        (exclusive, class): (bool, Class),
    ) -> Outcome<()> {
        let span = Span::Gap {
            after: after.cloned(),
            before: before.cloned(),
        };
        self.acquire(table, index, span, (exclusive, class), Patience::Wait)?;
        Ok(())
    }

    /// Says that rows of the table will be locked, as InnoDB does first.
    fn lock_rows(&mut self, table: &Table, exclusive: bool) -> Outcome<()> {
        self.acquire(
            table,
            0,
            Span::Rows,
            (exclusive, Class::Implicit),
            Patience::Wait,
        )?;
        Ok(())
    }

    // --- reading to write or to lock ---

    /// Which part of which index the scan leads through.
    pub(super) fn path(&self, table: &Table, scan: &Scan<'_>) -> Path {
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
    }

    /// Reads rows as they are now along the path, and locks them; `each` is called with every one
    /// before the next is looked at.
    pub(super) fn scan(
        &mut self,
        table: &Arc<Table>,
        scan: &Scan<'_>,
        path: &Path,
        each: EachRow<'_>,
    ) -> Outcome<Vec<Examined>> {
        if self.tracks {
            return self.locking_scan(table, scan, path, each);
        }
        let examined = self.plain_scan(table, scan, path)?;
        for row in &examined {
            each(self, row)?;
        }
        Ok(examined)
    }

    /// The same without more to do.
    fn scan_only(&mut self, table: &Arc<Table>, scan: &Scan<'_>) -> Outcome<Vec<Examined>> {
        let path = self.path(table, scan);
        self.scan(table, scan, &path, &mut |_, _| Ok(()))
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
        each: EachRow<'_>,
    ) -> Outcome<Vec<Examined>> {
        let exclusive = scan.locking.exclusive;
        self.lock_rows(table, exclusive)?;
        let entries = self.view().entries(table, path.index);
        self.scans += 1;
        let number = self.scans;
        let before = self.progress.take_if(|progress| progress.scan == number);
        let mut first = (0, None);
        let mut examined = Vec::new();
        if let Some(before) = before {
            first = (before.interval, Some(before.entry));
            examined = before.examined;
            if let Some(Err(stop)) = examined
                .iter()
                .map(|row| each(self, row))
                .find(Result::is_err)
            {
                self.progress = Some(Progress {
                    scan: number,
                    interval: first.0,
                    entry: first.1.unwrap_or_else(|| [].into()),
                    examined,
                    row: (0, 0),
                });
                return Err(stop);
            }
        }
        let mut matched = examined
            .iter()
            .filter(|row: &&Examined| row.matches)
            .count();
        for (place, interval) in path.intervals.iter().enumerate().skip(first.0) {
            let low = match &first.1 {
                Some(entry) if place == first.0 => &**entry,
                _ => interval.low.as_slice(),
            };
            let start = entries.partition_point(|(entry, _)| **entry < *low);
            let mut previous = start
                .checked_sub(1)
                .and_then(|at| entries.get(at))
                .map(|(entry, _)| entry);
            let mut ended = false;
            for (entry, key) in &entries[start..] {
                if !interval.contains(entry) || scan.most == Some(matched) || ended {
                    break;
                }
                let deleted = self.view().is_deleted(table, path.index, entry, key);
                let exact = (interval.point && (path.index == 0 || !deleted))
                    || (interval.inclusive && path.index == 0 && **entry == *interval.low);
                let class = if exact || !self.locks_gaps() {
                    Class::Record
                } else {
                    Class::NextKey
                };
                // The search for one row ends where it stands, or stood.
                ended = interval.point && (path.index == 0 || !deleted);
                match self.locked_row(table, scan, path, (previous, entry, class), key) {
                    Ok(Look::Row(row)) => {
                        matched += usize::from(row.matches);
                        let done = each(self, &row);
                        examined.push(row);
                        if let Err(stop) = done {
                            self.progress = Some(Progress {
                                scan: number,
                                interval: place,
                                entry: after_entry(entry),
                                examined,
                                row: (0, 0),
                            });
                            return Err(stop);
                        }
                    }
                    Ok(Look::Nothing) => {}
                    // The search goes on behind what it skips, to the gap there.
                    Ok(Look::Skipped) => ended = false,
                    Err(stop) => {
                        self.progress = Some(Progress {
                            scan: number,
                            interval: place,
                            entry: entry.clone(),
                            examined,
                            row: (0, 0),
                        });
                        return Err(stop);
                    }
                }
                previous = Some(entry);
            }
            if !ended && scan.most != Some(matched) && self.locks_gaps() {
                let behind = entries.iter().map(|(entry, _)| entry).find(|entry| {
                    interval
                        .high
                        .as_ref()
                        .is_some_and(|high| ***entry >= **high)
                });
                self.lock_gap(
                    table,
                    path.index,
                    (previous, behind),
                    (exclusive, Class::Gap),
                )?;
            }
        }
        self.progress = Some(Progress {
            scan: number,
            interval: path.intervals.len(),
            entry: [].into(),
            examined: examined.clone(),
            row: (0, 0),
        });
        Ok(examined)
    }

    /// Locks an entry and its row and looks at the row.
    fn locked_row(
        &mut self,
        table: &Arc<Table>,
        scan: &Scan<'_>,
        path: &Path,
        (previous, entry, class): (Option<&Key>, &Key, Class),
        key: &Key,
    ) -> Outcome<Look> {
        let Locking {
            exclusive,
            patience,
        } = scan.locking;
        let index = path.index;
        let view = self.view();
        if !self.locks_gaps()
            && view.is_deleted(table, index, entry, key)
            && view.is_long_deleted(table, index, entry, key)
        {
            // READ COMMITTED passes by what is deleted and committed, and stands for a snapshot only.
            return Ok(Look::Nothing);
        }
        let before = self.own_locks();
        let looks_up = path.intervals.iter().any(|interval| interval.point);
        let searches = index == 0 && path.identifying.is_empty() && !looks_up;
        if !self.locks_gaps() && scan.semi_consistent && searches {
            // READ COMMITTED: UPDATE waits only for rows that would match as they are committed, unless it looks them up by key.
            let record = Lock {
                table: table.definition.name.clone(),
                index,
                span: Span::Record(key.clone()),
                exclusive,
                class: Class::Record,
            };
            self.state.make_explicit(self.connection, &record);
            let request = Request {
                target: Target::Lock(record.clone()),
                gap: None,
                patience: 0,
            };
            let queue = self.state.waiting.len();
            let holders = self.state.holders(self.connection, &request, queue);
            if holders.is_empty() {
                self.state.leave_structure(self.connection, &record);
            }
            let Some(values) = self.view().current(table, key) else {
                return Ok(Look::Nothing);
            };
            if !self.matches(table, scan, &values)? {
                return Ok(Look::Row(Examined {
                    key: key.clone(),
                    values,
                    matches: false,
                }));
            }
        }
        let strength = (exclusive, class);
        if !self.lock_entry(table, index, (previous, entry), strength, patience)? {
            return Ok(Look::Skipped);
        }
        // From an entry that is marked as deleted nobody goes on to a row.
        let row = Span::Record(key.clone());
        let holds = |values: &Values| table.definition.entry(index, values, key) == *entry;
        if index > 0
            && self.view().current(table, key).as_ref().is_some_and(holds)
            && !self.acquire(table, 0, row, (exclusive, Class::Record), patience)?
        {
            return Ok(Look::Skipped);
        }
        let current = self.view().current(table, key);
        let found = current.filter(holds);
        let matches = match &found {
            Some(values) => self.matches(table, scan, values)?,
            None => false,
        };
        let stays = scan.selects && !path.identifying.is_empty();
        if !matches && !self.locks_gaps() && !stays {
            // READ COMMITTED gives up at once what it has locked for nothing.
            for lock in self.own_locks() {
                if matches!(lock.span, Span::Record(_)) && !before.contains(&lock) {
                    self.state.let_go(self.connection, &lock);
                    self.state.leave_structure(self.connection, &lock);
                }
            }
        }
        Ok(found.map_or(Look::Nothing, |values| {
            Look::Row(Examined {
                key: key.clone(),
                values,
                matches,
            })
        }))
    }

    fn own_locks(&self) -> Vec<Lock> {
        let locks = self.state.locks.iter();
        locks
            .filter(|(owner, _)| *owner == self.connection)
            .map(|(_, lock)| lock.clone())
            .collect()
    }

    /// The rows of a locking query: of each table those that its own conditions lead to.
    pub(super) fn locked_rows(
        &mut self,
        query: &Select,
        locking: Locking,
    ) -> Outcome<Option<Vec<Vec<Values>>>> {
        let from = match query.from.as_slice() {
            [from] if from.query.is_none() => from,
            several => {
                for from in several {
                    match &from.query {
                        Some(query) => drop(self.locked_rows(query, locking)?),
                        None => self.lock_all(&from.table, &from.alias, locking)?,
                    }
                }
                return Ok(None);
            }
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
            selects: true,
        };
        let examined = self.scan_only(&table, &scan)?;
        Ok(Some(
            examined
                .into_iter()
                .filter(|row| row.matches)
                .map(|row| vec![row.values])
                .collect(),
        ))
    }

    /// Locks every row of a table.
    fn lock_all(&mut self, table: &str, alias: &str, locking: Locking) -> Outcome<()> {
        let table = self.open_table(table)?;
        let scan = Scan {
            alias,
            condition: &[],
            locking,
            most: None,
            semi_consistent: false,
            selects: false,
        };
        self.scan_only(&table, &scan).map(drop)
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
        statement.each_query(&mut |query| tables.extend(query.tables()));
        for name in tables {
            self.open_table(name)?;
            if self.locks_gaps() && self.tracks {
                let locking = Locking {
                    exclusive: false,
                    patience: Patience::Wait,
                };
                self.lock_all(name, name, locking)?;
            }
        }
        // Such queries never read from the snapshot.
        Ok(())
    }

    // --- writing ---

    /// Writes the row, or removes it, in the transaction.
    pub(super) fn put(&mut self, table: &Table, key: &Key, row: Option<Values>) {
        let name = &table.definition.name;
        let work = &mut self.transaction.work;
        work.undo += 1;
        work.half = (row.is_some() && self.tracks).then(|| (name.clone(), key.clone(), 0));
        match find_write(&work.writes, name, key) {
            Ok(at) => {
                let before = std::mem::replace(&mut work.writes[at].row, row);
                if let (Some(before), true) = (before, self.tracks) {
                    let entries = (name.clone(), key.clone(), before);
                    if !work.overwritten.contains(&entries) {
                        work.overwritten.push(entries);
                    }
                }
            }
            Err(at) => {
                let write = Write {
                    table: name.clone(),
                    key: key.clone(),
                    row,
                };
                work.writes.insert(at, write);
            }
        }
        // A row that came and went within the transaction is not worth remembering.
        if let Ok(at) = find_write(&work.writes, name, key)
            && work.writes[at].row.is_none()
            && table.get(key).is_none()
        {
            work.writes.remove(at);
        }
    }

    /// What the transaction says of these rows, to come back to.
    pub(super) fn mark(&self, table: &Table, keys: &[&Key]) -> Mark {
        let work = &self.transaction.work;
        let name = &table.definition.name;
        let write_of = |key: &&Key| {
            let write = find_write(&work.writes, name, key)
                .ok()
                .map(|at| work.writes[at].clone());
            ((*key).clone(), write)
        };
        Mark {
            writes: keys.iter().map(write_of).collect(),
            undo: work.undo,
            overwritten: work.overwritten.len(),
        }
    }

    /// Rows that were being written did not come to be: they are as they were at the mark.
    pub(super) fn take_back(&mut self, table: &Arc<Table>, mark: &Mark) {
        let work = &mut self.transaction.work;
        if work.undo == mark.undo {
            return;
        }
        let name = &table.definition.name;
        for (key, before) in &mark.writes {
            if let Ok(at) = find_write(&work.writes, name, key) {
                work.writes.remove(at);
            }
            if let (Some(before), Err(at)) = (before, find_write(&work.writes, name, key)) {
                work.writes.insert(at, before.clone());
            }
        }
        work.undo = mark.undo;
        work.half = None;
        work.overwritten.truncate(mark.overwritten);
        if self.tracks {
            let own = Some(&self.transaction);
            self.state.vanish_from_table(self.connection, own, table);
        }
    }

    /// The row that is being written stands in this index, too; in all of them after the last.
    pub(super) fn stands_in(&mut self, table: &Table, index: usize) {
        let half = &mut self.transaction.work.half;
        if index + 1 >= table.definition.index_count() {
            *half = None;
        } else if let Some((.., last)) = half {
            *last = index;
        }
    }

    /// Locks a row that was found by another index.
    pub(super) fn lock_row(&mut self, table: &Table, key: &Key) -> Outcome<()> {
        let strength = (true, Class::Record);
        self.acquire(
            table,
            0,
            Span::Record(key.clone()),
            strength,
            Patience::Wait,
        )?;
        Ok(())
    }

    /// Locks an entry that the statement itself writes or removes.
    fn lock_own(&mut self, table: &Table, index: usize, entry: Key) -> Outcome<()> {
        let own = (true, Class::Implicit);
        self.acquire(table, index, Span::Record(entry), own, Patience::Wait)?;
        Ok(())
    }

    /// Removes the row's entries from the indexes behind the rows themselves.
    pub(super) fn remove(&mut self, table: &Arc<Table>, key: &Key, old: &Values) -> Outcome<()> {
        if self.tracks {
            self.lock_own(table, 0, key.clone())?;
        }
        self.put(table, key, None);
        if self.tracks {
            for index in 1..table.definition.index_count() {
                self.lock_own(table, index, table.definition.entry(index, old, key))?;
            }
        }
        Ok(())
    }

    /// Brings the row's entry into an index: waits until nobody else has locked the gap that it comes
    /// to stand in, unless an entry that is marked as deleted has the place.
    pub(super) fn bring(
        &mut self,
        table: &Arc<Table>,
        index: usize,
        key: &Key,
        new: &Values,
    ) -> Outcome<()> {
        if !self.tracks {
            return Ok(());
        }
        self.lock_rows(table, true)?;
        let entry = table.definition.entry(index, new, key);
        let entries = self.view().entries(table, index);
        // The row itself is written before its entries in the other indexes are.
        let stands = entries
            .binary_search_by(|(known, _)| known.cmp(&entry))
            .is_ok()
            && (index == 0 || self.view().is_deleted(table, index, &entry, key));
        if !stands {
            let intention = (true, Class::Record);
            self.acquire(
                table,
                index,
                Span::Insert(entry.clone()),
                intention,
                Patience::Wait,
            )?;
            self.split_gap(table, index, &entry);
        }
        self.lock_own(table, index, entry)
    }

    /// An entry that comes into a gap which its own transaction has locked leaves a lock on each half, which InnoDB counts
    /// (lock_rec_inherit_to_gap_if_gap_lock).
    fn split_gap(&mut self, table: &Table, index: usize, entry: &Key) {
        let intention = Lock {
            table: table.definition.name.clone(),
            index,
            span: Span::Insert(entry.clone()),
            exclusive: true,
            class: Class::Gap,
        };
        for held in self.own_locks() {
            if intention.conflicts_with(&held) {
                let class = Class::Gap;
                self.state
                    .leave_structure(self.connection, &Lock { class, ..held });
            }
        }
    }

    /// Moves a row's entry in one of the indexes behind the rows themselves.
    pub(super) fn move_entry(
        &mut self,
        table: &Arc<Table>,
        index: usize,
        (old_key, old): (&Key, &Values),
        (new_key, new): (&Key, &Values),
    ) -> Outcome<Option<(Key, Values)>> {
        let from = table.definition.entry(index, old, old_key);
        if from == table.definition.entry(index, new, new_key) {
            return Ok(None);
        }
        if self.tracks {
            self.lock_own(table, index, from)?;
        }
        let exclusive = self.may_meet_duplicates();
        let found = self.duplicate(table, index, new, exclusive, Some((new_key, false)))?;
        if found.is_none() {
            self.bring(table, index, new_key, new)?;
        }
        Ok(found)
    }

    /// Whether a row is changed in place of one that was to be inserted: then it locks what it meets for itself alone.
    pub(super) fn may_meet_duplicates(&self) -> bool {
        matches!(self.statement.command(), Command::Insert(_))
    }

    /// The row that already has these values in a unique index, locked; `own` is the new row's place, and whether
    /// an entry of the same values stands there from before it: that one is locked like another's.
    pub(super) fn duplicate(
        &mut self,
        table: &Arc<Table>,
        index: usize,
        values: &[Value],
        exclusive: bool,
        own: Option<(&Key, bool)>,
    ) -> Outcome<Option<(Key, Values)>> {
        let except = own.map(|(key, _)| key);
        let definition = table.definition.clone();
        let unique = definition.index(index).filter(|unique| {
            let given = |column: &usize| values.get(*column).is_some_and(|value| !value.is_null());
            unique.kind != KeyKind::Plain && unique.columns.iter().all(given)
        });
        if unique.is_none() {
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
        self.lock_rows(table, true)?;
        let entries = self.view().entries(table, index);
        let start = entries.partition_point(|(entry, _)| **entry < *prefix);
        let mut previous = start
            .checked_sub(1)
            .and_then(|at| entries.get(at))
            .map(|(entry, _)| entry);
        let mut met = false;
        for (entry, key) in &entries[start..] {
            let same = entry.starts_with(&prefix) && (index > 0 || entry.len() == prefix.len());
            let is_own = same && except == Some(key);
            if is_own && own.is_some_and(|(_, stood)| !stood) {
                continue;
            }
            if !same && (!met || index == 0) {
                return Ok(None);
            }
            met = true;
            let gap = index > 0;
            let class = if gap { Class::NextKey } else { Class::Record };
            let strength = (exclusive, class);
            self.lock_entry(table, index, (previous, entry), strength, Patience::Wait)?;
            previous = Some(entry);
            if is_own {
                continue;
            }
            if !same {
                return Ok(None);
            }
            let current = self.view().current(table, key);
            let is = |row: &Values| definition.prefix(definition.position(index), row) == prefix;
            if let Some(row) = current.filter(is) {
                return Ok(Some((key.clone(), row)));
            }
        }
        if met && index > 0 {
            self.lock_gap(table, index, (previous, None), (exclusive, Class::NextKey))?;
        }
        Ok(None)
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
            .work
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
