//! From a statement to its reply: transactions begin and end here, statements wait here and are
//! woken.

use std::cell::RefCell;
use std::sync::Arc;

use super::error::{self, Conditions, Outcome, SqlError, Stop};
use super::expression::{Effects, Scope, evaluate};
use super::fact::DatabaseFact;
use super::function;
use super::lock::{Class, Lock, Span, Target};
use super::reply::SqlReply;
use super::run::{Numbers, Progress, Run};
use super::select;
use super::state::{
    NOBODY, Session, State, Transaction, View, Waiting, Work, Write, set_without_effect,
};
use super::statement::Statement;
use super::syntax::{Command, Isolation, Item, Locking, Patience, Select, Setting};
use super::table::{Key, Table};
use super::value::Value;
use super::{ConnectionId, DatabaseOutput};

/// How a statement that waited goes on.
#[derive(Clone, Debug, Default)]
struct Resumed {
    granted: Option<String>,
    timed_out: Option<String>,
    numbers: Vec<(u64, u64)>,
    progress: Option<Progress>,
    /// See [`Transaction::more_structures`].
    more_structures: usize,
    /// How its transaction had begun.
    begun: Option<(Isolation, bool)>,
}

/// How a statement came out: its reply, the numbers it has reserved, how far it has read, and its own transaction where it is not over.
struct Attempt {
    result: Outcome<SqlReply>,
    numbers: Vec<(u64, u64)>,
    progress: Option<Progress>,
    pending: Option<Transaction>,
    conditions: Conditions,
}

impl State {
    /// A lock is held from now on.
    pub(super) fn hold(&mut self, connection: ConnectionId, lock: Lock) {
        // An intention is used up at once.
        if matches!(lock.span, Span::Insert(_)) {
            return;
        }
        let entry = (connection, lock);
        if self.locks.contains(&entry) {
            return;
        }
        let awaited = self.overtake(connection, &entry.1);
        let alone = self.locks.partition_point(|(_, held)| held.is_alone());
        let at = if entry.1.is_alone() {
            self.locks[..alone].partition_point(|known| *known < entry)
        } else {
            // A lock of a kind that the connection has is added to that one, unless somebody waits here.
            let alike = |(owner, held): &(ConnectionId, Lock)| {
                !awaited && *owner == connection && held.is_alike(&entry.1)
            };
            let mut last = self.locks.len();
            while last > alone && !alike(&self.locks[last - 1]) {
                last -= 1;
            }
            if last > alone { last } else { self.locks.len() }
        };
        self.locks.insert(at, entry);
    }

    /// The gap before an entry that was waited for is held from now on: its place is before those who have overtaken it.
    fn hold_before(&mut self, connection: ConnectionId, gap: Lock, overtaken: &[ConnectionId]) {
        let mut locks = self.locks.iter();
        let at = locks.position(|(owner, held)| overtaken.contains(owner) && held.meets(&gap));
        let entry = (connection, gap);
        if !self.locks.contains(&entry) {
            self.locks.insert(at.unwrap_or(self.locks.len()), entry);
        }
    }

    pub(super) fn statement(
        &mut self,
        connection: ConnectionId,
        statement: &Statement,
        parameters: Vec<Value>,
        now: u64,
        output: &mut DatabaseOutput,
    ) {
        if self.waiting_of(connection).is_some() {
            output
                .replies
                .push((connection, SqlReply::Error(error::out_of_sync())));
            return;
        }
        self.attempt(
            connection,
            statement,
            parameters,
            now,
            Resumed::default(),
            output,
        );
        self.wake(output);
    }

    /// Runs the statement; replies, or puts it into the queue.
    fn attempt(
        &mut self,
        connection: ConnectionId,
        statement: &Statement,
        parameters: Vec<Value>,
        now: u64,
        resumed: Resumed,
        output: &mut DatabaseOutput,
    ) {
        let mut session = self.take_session(connection);
        let before = session
            .transaction
            .as_ref()
            .map(|transaction| transaction.work.clone())
            .unwrap_or_default();
        let Attempt {
            result,
            numbers,
            progress,
            pending,
            conditions,
        } = self.run(
            &mut session,
            connection,
            statement,
            &parameters,
            now,
            resumed,
            output,
        );
        let diagnoses = matches!(statement.command(), Command::ShowConditions { .. });
        match result {
            Ok(mut reply) => {
                if let SqlReply::Rows { warnings, .. } | SqlReply::Done { warnings } = &mut reply {
                    *warnings = conditions.count;
                }
                if let SqlReply::Rows { vertical, .. } = &mut reply {
                    *vertical = statement.is_vertical();
                }
                // A statement that reads no table and has nothing to tell leaves what was told.
                if !diagnoses && (conditions.count > 0 || !statement.tables().is_empty()) {
                    session.conditions = conditions;
                }
                session.row_count = match &reply {
                    SqlReply::Affected { affected, .. } => {
                        i64::try_from(*affected).unwrap_or(i64::MAX)
                    }
                    SqlReply::Rows { .. } => -1,
                    _ => 0,
                };
                self.finish(connection, session, reply, output);
            }
            Err(Stop::Error(error)) => {
                session.fail(conditions, &error);
                let failed = match &mut session.transaction {
                    Some(transaction) => std::mem::replace(&mut transaction.work, before),
                    None => pending.map_or_else(Work::default, |transaction| transaction.work),
                };
                self.vanish(connection, session.transaction.as_ref(), &failed);
                self.finish(connection, session, SqlReply::Error(error), output);
            }
            Err(Stop::Wait(request)) => {
                let transaction = match &mut session.transaction {
                    Some(transaction) => {
                        let pending = transaction.clone();
                        transaction.work = before;
                        pending
                    }
                    None => pending.unwrap_or_default(),
                };
                self.put_session(connection, session);
                let statement = statement.clone();
                let waiting = Waiting {
                    connection,
                    behind: Vec::new(),
                    overtaken: Vec::new(),
                    request: *request,
                    statement,
                    parameters,
                    now,
                    numbers,
                    progress,
                    transaction,
                };
                self.enqueue(waiting, output);
            }
        }
    }

    /// The statement is over: without an open transaction its locks go.
    fn finish(
        &mut self,
        connection: ConnectionId,
        session: Session,
        reply: SqlReply,
        output: &mut DatabaseOutput,
    ) {
        if session.transaction.is_none() {
            self.release(connection);
        }
        self.put_session(connection, session);
        output.replies.push((connection, reply));
    }

    #[allow(clippy::too_many_arguments)]
    fn run(
        &mut self,
        session: &mut Session,
        connection: ConnectionId,
        statement: &Statement,
        parameters: &[Value],
        now: u64,
        resumed: Resumed,
        output: &mut DatabaseOutput,
    ) -> Attempt {
        let command = statement.command();
        if let Some(result) = self.control(session, connection, command, output) {
            return Attempt {
                result,
                numbers: Vec::new(),
                progress: None,
                pending: None,
                conditions: Conditions::default(),
            };
        }
        let defines = matches!(
            command,
            Command::CreateTable(_)
                | Command::AlterTable(..)
                | Command::DropTable { .. }
                | Command::Truncate(_)
        );
        if defines {
            self.end(session, connection, true, output);
        }
        let uses_tables = !statement.tables().is_empty();
        let exist = |tables: Vec<&str>| tables.iter().all(|name| self.table(name).is_ok());
        if !session.autocommit && uses_tables && !defines && exist(statement.tables()) {
            // A SAVEPOINT alone has not chosen how it reads.
            let mut open = session.transaction.take().unwrap_or_default();
            if !open.active {
                let savepoints = open.savepoints;
                open = Transaction {
                    savepoints,
                    active: true,
                    ..begin(session, None)
                };
            }
            session.transaction = Some(open);
        }
        let open = session.transaction.is_some();
        if let Some(transaction) = &mut session.transaction {
            transaction.joined |= uses_tables;
        }
        let next = session.next;
        let mut transaction = session
            .transaction
            .take()
            .unwrap_or_else(|| begin(session, None));
        if let Some(begun) = resumed.begun {
            (transaction.isolation, transaction.read_only) = begun;
        }
        transaction.more_structures = transaction.more_structures.max(resumed.more_structures);
        if !uses_tables {
            // Said of the next transaction; a statement without tables is none.
            session.next = next;
        }
        let tracks = open || !self.locks.is_empty() || !self.waiting.is_empty();
        let effects = Effects {
            variables: std::mem::take(&mut session.variables),
            named: std::mem::take(&mut self.named),
            granted: resumed.granted,
            timed_out: resumed.timed_out,
            ..Effects::default()
        };
        let mut run = Run {
            state: self,
            session,
            transaction,
            connection,
            statement,
            parameters,
            now,
            effects: RefCell::new(effects),
            facts: Vec::new(),
            tracks,
            open,
            numbers: Numbers::again(resumed.numbers),
            progress: resumed.progress,
            scans: 0,
            strict: false,
            commits_after: false,
        };
        let result = run.command(command);
        let Run {
            transaction,
            facts,
            effects,
            numbers,
            progress,
            commits_after,
            ..
        } = run;
        let effects = effects.into_inner();
        self.named = effects.named;
        session.variables = effects.variables;
        if let (Some(number), Ok(_) | Err(Stop::Error(_))) = (effects.generated, &result) {
            session.last_insert_id = number;
        }
        if result.is_ok() {
            output.facts.extend(facts);
            if let Some(id) = effects.last_insert_id {
                session.last_insert_id = id;
            }
        }
        let mut pending = None;
        if open {
            session.transaction = Some(transaction);
            if commits_after {
                self.end(session, connection, true, output);
            }
        } else if result.is_ok() {
            self.commit(&transaction.work);
            self.release(connection);
            self.vanish(connection, None, &transaction.work);
            self.renumber(&transaction.work.writes);
        } else {
            pending = Some(transaction);
        }
        Attempt {
            result,
            numbers: numbers.reserved,
            progress,
            pending,
            conditions: effects.conditions,
        }
    }

    /// Numbers hidden rows again where nobody holds on to the numbers.
    fn renumber(&mut self, writes: &[Write]) {
        let in_use = |name: &str| {
            let uses = |transaction: &Transaction| {
                transaction.snapshot.is_some()
                    || transaction
                        .work
                        .writes
                        .iter()
                        .any(|write| &*write.table == name)
            };
            self.locks.iter().any(|(_, lock)| &*lock.table == name)
                || self
                    .waiting
                    .iter()
                    .any(|waiting| uses(&waiting.transaction))
                || self
                    .sessions
                    .iter()
                    .any(|(_, session)| session.transaction.as_ref().is_some_and(uses))
        };
        let mut free: Vec<_> = writes.iter().map(|write| write.table.clone()).collect();
        free.dedup();
        free.retain(|name| !in_use(name));
        for name in free {
            let hidden = self
                .table(&name)
                .is_ok_and(|table| !table.definition.clustered);
            if hidden && let Some(table) = self.table_mut(&name) {
                table.renumber();
            }
        }
    }

    /// Where entries that this work brought, or removed, are gone from an index, locks on them
    /// become locks on the gap that is left (lock_rec_inherit_to_gap in InnoDB). `own` is what the
    /// connection's transaction still is.
    pub(super) fn vanish(
        &mut self,
        connection: ConnectionId,
        own: Option<&Transaction>,
        work: &Work,
    ) {
        let written = work.writes.iter().map(|write| &write.table);
        let before = work.overwritten.iter().map(|(table, ..)| table);
        let mut tables: Vec<Arc<str>> = Vec::new();
        for table in written.chain(before) {
            if !tables.contains(table) {
                tables.push(table.clone());
            }
        }
        for name in tables {
            let Ok(table) = self.table(&name).cloned() else {
                continue;
            };
            self.vanish_from_table(connection, own, &table);
        }
    }

    /// The same for one table.
    pub(super) fn vanish_from_table(
        &mut self,
        connection: ConnectionId,
        own: Option<&Transaction>,
        table: &Table,
    ) {
        for index in 0..table.definition.index_count() {
            self.vanish_from(connection, own, table, index);
        }
    }

    fn vanish_from(
        &mut self,
        connection: ConnectionId,
        own: Option<&Transaction>,
        table: &Table,
        index: usize,
    ) {
        let here = |lock: &Lock| {
            lock.index == index
                && lock.table == table.definition.name
                && matches!(lock.span, Span::Record(_) | Span::Gap { .. })
        };
        let held = self.locks.iter().filter(|(_, lock)| here(lock));
        let held: Vec<(ConnectionId, Lock)> = held.cloned().collect();
        let awaited =
            |waiting: &Waiting| matches!(&waiting.request.target, Target::Lock(lock) if here(lock));
        if held.is_empty() && !self.waiting.iter().any(awaited) {
            return;
        }
        let nothing = Transaction::default();
        let view = View {
            state: self,
            transaction: own.unwrap_or(&nothing),
            connection,
        };
        let entries = view.entries(table, index).into_iter();
        let entries: Vec<Key> = entries.map(|(entry, _)| entry).collect();
        let untold: Vec<Lock> = held
            .iter()
            .filter(|(owner, lock)| {
                let implicit = *owner == connection && lock.class == Class::Implicit;
                let entry = lock.span.entry().filter(|_| implicit && own.is_some());
                entry.is_some_and(|entry| !view.tells_of(table, entry))
            })
            .map(|(_, lock)| lock.clone())
            .collect();
        for lock in untold {
            self.let_go(connection, &lock);
        }
        for (owner, lock) in held {
            if let Some(rest) = self.rest_of(owner, own, &lock, &entries) {
                self.let_go(owner, &lock);
                // Of a lock of which only the entry told nothing is left.
                if rest.structure().is_some() {
                    self.hold(owner, rest);
                }
            }
        }
        // Who waits for an entry that is gone waits no longer.
        for place in 0..self.waiting.len() {
            let Target::Lock(lock) = &self.waiting[place].request.target else {
                continue;
            };
            let owner = self.waiting[place].connection;
            if here(lock)
                && let Some(rest) = self.rest_of(owner, own, lock, &entries)
            {
                let request = &mut self.waiting[place].request;
                request.target = Target::Lock(rest);
                request.gap = None;
            }
        }
    }

    /// What is left of a lock when entries are gone; none where it stays as it is.
    fn rest_of(
        &self,
        owner: ConnectionId,
        own: Option<&Transaction>,
        lock: &Lock,
        entries: &[Key],
    ) -> Option<Lock> {
        let span = left_over(entries, &lock.span)?;
        let gap = matches!(lock.span, Span::Gap { .. });
        // The gap before an entry is locked with that one.
        let before = lock.span.entry();
        let stands = gap && before.is_none_or(|entry| entries.binary_search(entry).is_ok());
        let kept = stands || (lock.class != Class::Implicit && self.inherits(owner, own, lock));
        let half = first_half(entries, &span, before).filter(|_| gap && !kept);
        let splits = half.is_some();
        Some(Lock {
            span: half.unwrap_or(if kept { span } else { Span::Rows }),
            class: if splits || (kept && !gap) {
                Class::Gap
            } else {
                lock.class
            },
            ..lock.clone()
        })
    }

    /// READ COMMITTED keeps of locks on entries that are gone only what a check for duplicates took.
    fn inherits(&self, owner: ConnectionId, own: Option<&Transaction>, lock: &Lock) -> bool {
        let waiting = self.waiting_of(owner);
        let open = self
            .session(owner)
            .and_then(|session| session.transaction.as_ref());
        let transaction = waiting.map(|waiting| &waiting.transaction).or(open).or(own);
        let replaces = waiting.is_some_and(|waiting| {
            matches!(waiting.statement.command(), Command::Insert(insert) if insert.replace || !insert.on_duplicate.is_empty())
        });
        lock.exclusive == replaces
            || transaction
                .is_none_or(|transaction| transaction.isolation > Isolation::ReadCommitted)
    }

    /// Ends the open transaction, if there is one.
    fn end(
        &mut self,
        session: &mut Session,
        connection: ConnectionId,
        commit: bool,
        output: &mut DatabaseOutput,
    ) {
        if let Some(transaction) = session.transaction.take() {
            if commit {
                self.commit(&transaction.work);
            }
            self.release(connection);
            // What others deleted stood for as long as this snapshot lasted, and stands until those who waited have gone on.
            self.deleted.extend(transaction.stood);
            self.vanish(connection, None, &transaction.work);
            let writes = transaction.work.writes;
            self.renumber(&writes);
            if !writes.is_empty() {
                let fact = if commit {
                    DatabaseFact::Committed { connection }
                } else {
                    DatabaseFact::RolledBack { connection }
                };
                output.facts.push(fact);
            }
        }
    }

    /// Statements about transactions and settings; none for all others.
    fn control(
        &mut self,
        session: &mut Session,
        connection: ConnectionId,
        command: &Command,
        output: &mut DatabaseOutput,
    ) -> Option<Outcome<SqlReply>> {
        let done = Some(Ok(SqlReply::Done { warnings: 0 }));
        match command {
            Command::Begin {
                snapshot,
                read_only,
            } => {
                self.end(session, connection, true, output);
                let mut transaction = begin(session, *read_only);
                transaction.active = true;
                if *snapshot && transaction.isolation >= Isolation::RepeatableRead {
                    transaction.snapshot = Some(self.tables.clone());
                    transaction.joined = true;
                }
                session.transaction = Some(transaction);
                done
            }
            Command::End { commit, chain } => {
                let open = session.transaction.as_ref().filter(|open| open.active);
                let same = open.map(|open| (open.isolation, open.read_only));
                self.end(session, connection, *commit, output);
                if !*chain {
                    // What was said of the next transaction was said of this one, even where none was open.
                    session.next = (None, None);
                } else {
                    let mut next = begin(session, None);
                    (next.isolation, next.read_only) =
                        same.unwrap_or((next.isolation, next.read_only));
                    next.active = true;
                    session.transaction = Some(next);
                }
                done
            }
            Command::Savepoint(name) => {
                if !session.autocommit {
                    session.transaction.get_or_insert_default();
                }
                if let Some(transaction) = &mut session.transaction {
                    transaction
                        .savepoints
                        .retain(|(known, ..)| !known.eq_ignore_ascii_case(name));
                    let (work, joined) = (transaction.work.clone(), transaction.joined);
                    transaction.savepoints.push((name.clone(), work, joined));
                }
                done
            }
            Command::RollbackTo(name) | Command::Release(name) => {
                let found = session.transaction.as_mut().and_then(|transaction| {
                    let at = transaction
                        .savepoints
                        .iter()
                        .position(|(known, ..)| known.eq_ignore_ascii_case(name))?;
                    Some((transaction, at))
                });
                let Some((transaction, at)) = found else {
                    return Some(Err(error::no_savepoint(name).into()));
                };
                if let Command::RollbackTo(_) = command {
                    let (_, kept, joined) = transaction.savepoints[at].clone();
                    let undone = std::mem::replace(&mut transaction.work, kept);
                    transaction.savepoints.truncate(at + 1);
                    if !joined {
                        // All that was done with rows is undone, and their locks are given up.
                        transaction.snapshot = None;
                        self.deleted.append(&mut transaction.stood);
                        transaction.more_structures = 0;
                        transaction.joined = false;
                        self.release(connection);
                    }
                    self.vanish(connection, Some(transaction), &undone);
                } else {
                    transaction.savepoints.truncate(at);
                }
                done
            }
            Command::Use => done,
            _ => None,
        }
    }

    // --- waiting ---

    /// Puts a statement into the queue, and cuts the circle that this may close.
    fn enqueue(&mut self, mut waiting: Waiting, output: &mut DatabaseOutput) {
        let connection = waiting.connection;
        let holders = self.holders(connection, &waiting.request, self.waiting.len());
        let what = waiting.request.target.name();
        waiting.behind.clone_from(&holders);
        output.facts.push(DatabaseFact::Waits {
            connection,
            what,
            holders,
        });
        self.waiting.push(waiting);
        self.cut(connection, output);
    }

    /// Cuts the circle through a waiting connection; false where there is none.
    fn cut(&mut self, start: ConnectionId, output: &mut DatabaseOutput) -> bool {
        let Some(circle) = self.circle(start) else {
            return false;
        };
        let is_named = |waiting: &Waiting| matches!(waiting.request.target, Target::Named(_));
        let mut waits = circle.iter().filter_map(|member| self.waiting_of(*member));
        let named = waits.any(is_named);
        let (victim, error) = if named {
            (start, error::user_lock_deadlock())
        } else {
            (self.victim(&circle), error::deadlock())
        };
        self.stop_waiting(victim);
        let mut session = self.take_session(victim);
        session.fail(Conditions::default(), &error);
        if !named {
            // What was said of the transaction holds for the next one, which may try again (trans_rollback_implicit in MySQL).
            if let Some(lost) = &session.transaction {
                let other = session.isolation != lost.isolation;
                session.next.0 = other.then_some(lost.isolation);
                let other = session.read_only != lost.read_only;
                session.next.1 = other.then_some(lost.read_only);
            }
            self.end(&mut session, victim, false, output);
            output
                .facts
                .push(DatabaseFact::Deadlock { connection: victim });
        }
        self.finish(victim, session, SqlReply::Error(error), output);
        true
    }

    /// Those who stood in the way when somebody began to wait for a row, and have not let go; of those who wait for a name or
    /// a table's definition, all who stand in the way.
    fn in_the_way(&self, place: usize) -> Vec<ConnectionId> {
        let waiting = &self.waiting[place];
        let mut holders = self.holders(waiting.connection, &waiting.request, place);
        if waiting.request.is_of_rows() {
            let still = |before: &ConnectionId| holders.contains(before);
            holders = waiting.behind.iter().copied().filter(still).collect();
        }
        holders
    }

    /// Whom every wait follows from now on: cuts a circle that a new one closes (lock_rec_dequeue_from_page in InnoDB); whether
    /// there was one.
    fn follow(&mut self, output: &mut DatabaseOutput) -> bool {
        let mut others = Vec::new();
        for place in 0..self.waiting.len() {
            let left = self.in_the_way(place);
            let behind = &mut self.waiting[place].behind;
            if left.first() != behind.first() {
                others.extend(left.first().copied());
            }
            *behind = left;
        }
        let mut found = false;
        for other in others {
            found |= self.cut(other, output);
        }
        found
    }

    /// The circle of waiting connections through this one, from it on. The server looks for circles of
    /// names and tables and for circles of rows; one of both kinds lasts until a wait is too long.
    /// From who waits for a row it follows the first of those in the way alone.
    fn circle(&self, start: ConnectionId) -> Option<Vec<ConnectionId>> {
        let kind = self.waiting_of(start)?.request.is_of_rows();
        let next_of = |connection: ConnectionId| -> Vec<ConnectionId> {
            let place = self.place_of(connection);
            let of_kind = |place: &usize| self.waiting[*place].request.is_of_rows() == kind;
            let Some(place) = place.filter(of_kind) else {
                return Vec::new();
            };
            let mut holders = self.in_the_way(place);
            holders.truncate(if kind { 1 } else { usize::MAX });
            holders.reverse();
            holders
        };
        let mut seen = vec![start];
        // The way so far, with what is still to be tried from each of its members.
        let mut way = vec![(start, next_of(start))];
        while let Some((_, left)) = way.last_mut() {
            match left.pop() {
                Some(next) if next == start => {
                    return Some(way.iter().map(|(member, _)| *member).collect());
                }
                Some(next) if !seen.contains(&next) => {
                    seen.push(next);
                    way.push((next, next_of(next)));
                }
                Some(_) => {}
                None => {
                    way.pop();
                }
            }
        }
        None
    }

    /// Who of a circle loses: the fewest changed rows and lock structures; among equals who began to wait last, or else the last
    /// before it in the circle (lock_wait_choose_victim in MySQL).
    fn victim(&self, circle: &[ConnectionId]) -> ConnectionId {
        let mut latest = 0;
        for at in 0..circle.len() {
            if self.place_of(circle[at]) > self.place_of(circle[latest]) {
                latest = at;
            }
        }
        let mut victim = (circle[latest], usize::MAX);
        for back in 0..circle.len() {
            let member = circle[(latest + circle.len() - back) % circle.len()];
            let weight = self.weight(member);
            if weight < victim.1 {
                victim = (member, weight);
            }
        }
        victim.0
    }

    /// InnoDB's measure of what a transaction has done (TRX_WEIGHT).
    fn weight(&self, connection: ConnectionId) -> usize {
        let waiting = self.waiting_of(connection);
        let (undo, more) = waiting.map_or((0, 0), |waiting| {
            let transaction = &waiting.transaction;
            (transaction.work.undo, transaction.more_structures + 1)
        });
        undo + more + self.structures(connection).len()
    }

    /// What InnoDB would keep of the connection's locks, each kind once.
    pub(super) fn structures(&self, connection: ConnectionId) -> Vec<(&str, usize, bool, Class)> {
        let own = self.locks.iter().filter(|(owner, _)| *owner == connection);
        let mut structures: Vec<_> = own.filter_map(|(_, lock)| lock.structure()).collect();
        crate::sorted::sort(&mut structures);
        structures.dedup();
        structures
    }

    /// Gives locks to those who wait, in the order of the queue, and runs their statements on.
    pub(super) fn wake(&mut self, output: &mut DatabaseOutput) {
        let mut ready = Vec::new();
        loop {
            // All that can be given is given before anybody goes on.
            while let Some(next) =
                (0..self.waiting.len()).find(|place| self.in_the_way(*place).is_empty())
            {
                let waiting = self.waiting.remove(next);
                let mut resumed = Resumed {
                    numbers: waiting.numbers,
                    progress: waiting.progress,
                    more_structures: waiting.transaction.more_structures,
                    begun: Some((waiting.transaction.isolation, waiting.transaction.read_only)),
                    ..Resumed::default()
                };
                let connection = waiting.connection;
                match waiting.request.target {
                    Target::Lock(lock) => {
                        resumed.more_structures += usize::from(self.grant(connection, lock));
                        if let Some(gap) = waiting.request.gap {
                            self.hold_before(connection, gap, &waiting.overtaken);
                        }
                    }
                    Target::Named(name) => {
                        let at = self.named.partition_point(|lock| lock.name < name);
                        let lock = super::lock::NamedLock {
                            name: name.clone(),
                            owner: connection,
                            count: 1,
                        };
                        self.named.insert(at, lock);
                        resumed.granted = Some(name);
                    }
                }
                ready.push((
                    connection,
                    waiting.statement,
                    waiting.parameters,
                    waiting.now,
                    resumed,
                ));
            }
            if self.follow(output) {
                continue;
            }
            if ready.is_empty() && self.deleted.is_empty() {
                return;
            }
            if ready.is_empty() {
                self.purge();
            }
            output.together |= ready.len() > 1;
            for (connection, statement, parameters, now, resumed) in std::mem::take(&mut ready) {
                self.attempt(connection, &statement, parameters, now, resumed, output);
            }
        }
    }

    /// Removes the rows that were deleted, and stood for those who waited.
    fn purge(&mut self) {
        let deleted = std::mem::take(&mut self.deleted);
        let work = Work {
            overwritten: deleted,
            ..Work::default()
        };
        self.vanish(NOBODY, None, &work);
    }

    /// Gives a lock that was waited for; whether waiting has made a structure of its own for it.
    fn grant(&mut self, connection: ConnectionId, lock: Lock) -> bool {
        // An intention, and the gap where the entry was that was waited for, are beside the lock that waited.
        let beside = matches!(lock.span, Span::Insert(_) | Span::Gap { .. });
        let more = beside || self.has_alike(connection, &lock);
        self.hold(connection, lock);
        more
    }

    /// Time passes; waits that have become too long end, the shortest first.
    pub(super) fn elapse(&mut self, ms: u64, output: &mut DatabaseOutput) {
        let mut left = ms;
        loop {
            let next = self
                .waiting
                .iter()
                .map(|waiting| waiting.request.patience)
                .min();
            let step = next.map_or(left, |next| next.min(left));
            for waiting in &mut self.waiting {
                waiting.request.patience -= step;
            }
            left -= step;
            let Some(place) = self
                .waiting
                .iter()
                .position(|waiting| waiting.request.patience == 0)
            else {
                return;
            };
            let waiting = self.waiting.remove(place);
            let connection = waiting.connection;
            output.facts.push(DatabaseFact::WaitEnded { connection });
            match waiting.request.target {
                Target::Named(name) => {
                    let resumed = Resumed {
                        timed_out: Some(name),
                        numbers: waiting.numbers,
                        ..Resumed::default()
                    };
                    self.attempt(
                        connection,
                        &waiting.statement,
                        waiting.parameters,
                        waiting.now,
                        resumed,
                        output,
                    );
                }
                Target::Lock(_) => {
                    self.vanish(NOBODY, None, &waiting.transaction.work);
                    let mut session = self.take_session(connection);
                    let error = error::lock_wait_timeout();
                    session.fail(Conditions::default(), &error);
                    self.finish(connection, session, SqlReply::Error(error), output);
                }
            }
            self.wake(output);
        }
    }

    /// The connection is gone: its transaction is rolled back, its locks are given up.
    /// A connection's session, locks and waits go on under another number.
    pub(super) fn leave_behind(&mut self, connection: ConnectionId, left: ConnectionId) {
        let session = self.take_session(connection);
        self.put_session(left, session);
        let renumber = |owner: &mut ConnectionId| {
            if *owner == connection {
                *owner = left;
            }
        };
        self.locks.iter_mut().for_each(|(owner, _)| renumber(owner));
        self.sort_locks();
        for waiting in &mut self.waiting {
            renumber(&mut waiting.connection);
            waiting.behind.iter_mut().for_each(renumber);
            waiting.overtaken.iter_mut().for_each(renumber);
        }
        for named in &mut self.named {
            renumber(&mut named.owner);
        }
    }

    pub(super) fn disconnect(&mut self, connection: ConnectionId, output: &mut DatabaseOutput) {
        self.stop_waiting(connection);
        let mut session = self.take_session(connection);
        self.end(&mut session, connection, false, output);
        self.release(connection);
        self.named.retain(|lock| lock.owner != connection);
        let kept = Session {
            found_rows: session.found_rows,
            ..Session::default()
        };
        self.put_session(connection, kept);
        self.wake(output);
    }
}

/// Whether a list of modes lets this database answer as it does: strict, and with the usual syntax.
fn is_usual_mode(modes: &str) -> bool {
    let odd = [
        "ANSI",
        "PIPES",
        "BACKSLASH",
        "REAL_AS",
        "UNSIGNED_SUB",
        "HIGH_NOT",
        "PAD_CHAR",
        "ORACLE",
    ];
    modes == "DEFAULT"
        || (modes.contains("STRICT_") && !odd.iter().any(|mode| modes.contains(mode)))
}

/// What a lock spans once entries are gone; none where they are still there.
fn left_over(entries: &[Key], span: &Span) -> Option<Span> {
    let place = |entry: &Key| entries.binary_search(entry).err();
    let before = |at: usize| at.checked_sub(1).map(|at| entries[at].clone());
    match span {
        Span::Record(entry) => place(entry).map(|at| Span::Gap {
            after: before(at),
            before: entries.get(at).cloned(),
        }),
        Span::Gap {
            after: low,
            before: high,
        } => {
            let gone = [low.as_ref().and_then(place), high.as_ref().and_then(place)];
            gone.iter().any(Option::is_some).then(|| Span::Gap {
                after: gone[0].map_or(low.clone(), before),
                before: gone[1].map_or(high.clone(), |at| entries.get(at).cloned()),
            })
        }
        _ => None,
    }
}

/// The part of a gap before the last of the entries that have come into it since: a lock of its own in InnoDB.
fn first_half(entries: &[Key], span: &Span, end: Option<&Key>) -> Option<Span> {
    let Span::Gap { after, .. } = span else {
        return None;
    };
    let last = entries[..entries.partition_point(|entry| Some(entry) < end)].last();
    let inside = last.filter(|last| after.as_ref().is_none_or(|after| after < *last));
    inside.map(|last| Span::Gap {
        after: after.clone(),
        before: Some(last.clone()),
    })
}

fn begin(session: &mut Session, read_only: Option<bool>) -> Transaction {
    let next = std::mem::take(&mut session.next);
    Transaction {
        isolation: next.0.unwrap_or(session.isolation),
        read_only: read_only.or(next.1).unwrap_or(session.read_only),
        ..Transaction::default()
    }
}

impl Run<'_> {
    fn command(&mut self, command: &Command) -> Outcome<SqlReply> {
        let writes = self.statement.is_write();
        if writes && self.transaction.read_only {
            return Err(error::read_only_transaction().into());
        }
        if !writes {
            self.check_named_locks(command)?;
        } else if self.names_locks() {
            return Err(error::not_supported(
                "GET_LOCK and RELEASE_LOCK in a statement that reads rows",
            )
            .into());
        }
        match command {
            Command::Select(select) => self.select(select),
            Command::Insert(insert) => self.insert(insert),
            Command::Update(update) => self.update(update),
            Command::Delete(delete) => {
                self.strict = true;
                self.delete(delete)
            }
            other => self.command_about_tables(other),
        }
    }

    /// What neither reads nor writes rows.
    // A browser compiles a large function for speed before it has run often, and all of it.
    #[inline(never)]
    fn command_about_tables(&mut self, command: &Command) -> Outcome<SqlReply> {
        match command {
            Command::CreateTable(create) => self.create_table(create),
            Command::DropTable { if_exists, tables } => self.drop_tables(tables, *if_exists),
            Command::Truncate(table) => self.truncate(table),
            Command::ShowConditions { errors, count } => {
                let conditions = &self.session.conditions;
                let rows = conditions.rows(*errors);
                Ok(match count {
                    false => SqlReply::table("Level|Code|Message", rows),
                    true if *errors => {
                        let number = Value::Integer(rows.len() as i64);
                        SqlReply::table("@@session.error_count", vec![vec![number]])
                    }
                    true => {
                        let number = Value::Unsigned(conditions.count);
                        SqlReply::table("@@session.warning_count", vec![vec![number]])
                    }
                })
            }
            Command::AlterTable(table, changes) => self.alter_table(table, changes),
            Command::ShowTables(pattern) => Ok(self.show_tables(pattern)),
            Command::ShowVariables { global, pattern } => self.show_variables(*global, pattern),
            Command::ShowIndex(table) => self.show_index(table),
            Command::Describe(table, columns) => self.describe(table, columns),
            Command::ShowCreate(table) => self.show_create(table),
            Command::Set(settings) => {
                for setting in settings {
                    self.set(setting)?;
                }
                Ok(SqlReply::Done { warnings: 0 })
            }
            Command::Do(expressions) => {
                let context = self.context();
                let scope = Scope::bare(&context);
                for expression in expressions {
                    super::expression::check(&scope, expression, "field list", false)?;
                    evaluate(&scope, expression)?;
                }
                Ok(SqlReply::Done { warnings: 0 })
            }
            _ => Ok(SqlReply::Done { warnings: 0 }),
        }
    }

    /// Whether GET_LOCK or RELEASE_LOCK stands in one of the statement's queries or expressions.
    fn names_locks(&self) -> bool {
        let source = self.statement.source().to_ascii_uppercase();
        source.contains("GET_LOCK")
            || source.contains("RELEASE_LOCK")
            || source.contains("RELEASE_ALL_LOCKS")
    }

    /// A lock by name is taken once and not once for each row, so that a statement that waits for
    /// it can run again.
    fn check_named_locks(&self, command: &Command) -> Outcome<()> {
        if !self.names_locks() {
            return Ok(());
        }
        let allowed = match command {
            Command::Select(select) => {
                let calls = |item: &&Item| matches!(item, Item::One { expression, .. } if function::locks_by_name(expression));
                select.from.is_empty() || select.items.iter().filter(calls).count() == 0
            }
            _ => true,
        };
        if allowed {
            Ok(())
        } else {
            Err(
                error::not_supported("GET_LOCK and RELEASE_LOCK in a statement that reads rows")
                    .into(),
            )
        }
    }

    fn select(&mut self, query: &Select) -> Outcome<SqlReply> {
        let mut locking = query.locking;
        if locking.is_none() && self.open && self.transaction.isolation == Isolation::Serializable {
            locking = Some(Locking {
                exclusive: false,
                patience: Patience::Wait,
            });
        }
        let tables: Vec<String> = self
            .statement
            .tables()
            .into_iter()
            .map(str::to_string)
            .collect();
        for name in &tables {
            self.open_table(name)?;
        }
        let given = match locking {
            Some(locking) if !query.from.is_empty() => self.locked_rows(query, locking)?,
            _ => {
                let reads =
                    !tables.is_empty() && self.transaction.isolation >= Isolation::RepeatableRead;
                if self.open && reads && self.transaction.snapshot.is_none() {
                    self.transaction.snapshot = Some(self.state.tables.clone());
                }
                None
            }
        };
        let context = self.context();
        let found = select::run(&context, query, None, given)?;
        if !query.into.is_empty() {
            return self.keep_in_variables(query, &found.rows);
        }
        Ok(SqlReply::Rows {
            columns: found.columns,
            rows: found.rows,
            warnings: 0,
            vertical: false,
        })
    }

    /// SELECT ... INTO: the variables take the first row, and there must not be another one.
    fn keep_in_variables(&self, query: &Select, rows: &[Vec<Value>]) -> Outcome<SqlReply> {
        if query.inner_into {
            self.context().warn(error::inner_into());
        }
        for (name, value) in query.into.iter().zip(rows.iter().take(1).flatten()) {
            self.effects.borrow_mut().assign(name, value.clone());
        }
        if rows.is_empty() {
            self.context().warn(error::nothing_found());
        }
        match rows.len() as u64 {
            2.. => Err(error::several_found().into()),
            affected => Ok(SqlReply::Affected {
                matched: affected,
                changed: 0,
                affected,
                last_insert_id: 0,
                warnings: self.effects.borrow().conditions.count,
                information: String::new(),
            }),
        }
    }

    fn set(&mut self, setting: &Setting) -> Outcome<()> {
        let value_of = |expression| {
            let context = self.context();
            evaluate(&Scope::bare(&context), expression)
        };
        match setting {
            Setting::Nothing => {}
            Setting::User(name, expression) => {
                let value = value_of(expression)?;
                self.effects.borrow_mut().assign(name, value);
            }
            Setting::System(name, expression) => {
                let value = value_of(expression)?;
                self.set_system(name, &value)?;
            }
            Setting::Transaction {
                session,
                isolation,
                read_only,
            } => {
                if self.transaction.active && !session {
                    return Err(error::transaction_characteristics().into());
                }
                if let Some(isolation) = isolation {
                    if *session {
                        self.set_isolation(*isolation);
                    } else {
                        self.session.next.0 = Some(*isolation);
                    }
                }
                if let Some(read_only) = read_only {
                    if *session {
                        self.set_read_only(*read_only);
                    } else {
                        self.session.next.1 = Some(*read_only);
                    }
                }
            }
        }
        Ok(())
    }

    /// The isolation of the session's transactions; between two also that of the next, whatever was said of it.
    fn set_isolation(&mut self, isolation: Isolation) {
        self.session.isolation = isolation;
        if !self.transaction.active {
            self.session.next.0 = None;
        }
    }

    /// The same of READ ONLY.
    fn set_read_only(&mut self, read_only: bool) {
        self.session.read_only = read_only;
        if !self.transaction.active {
            self.session.next.1 = None;
        }
    }

    fn set_system(&mut self, name: &str, value: &Value) -> Outcome<()> {
        let text = value.text().to_ascii_uppercase();
        let wrong = || -> SqlError { error::wrong_value_for_variable(name, &value.to_string()) };
        match name {
            "autocommit" => {
                let on = match text.as_str() {
                    "1" | "ON" | "TRUE" | "DEFAULT" => true,
                    "0" | "OFF" | "FALSE" => false,
                    _ => return Err(wrong().into()),
                };
                if on && self.open && !self.session.autocommit {
                    self.commits_after = true;
                }
                self.session.autocommit = on;
            }
            "transaction_read_only" => {
                self.set_read_only(match text.as_str() {
                    "1" | "ON" | "TRUE" => true,
                    "0" | "OFF" | "FALSE" | "DEFAULT" => false,
                    _ => return Err(wrong().into()),
                });
            }
            "transaction_isolation" => {
                self.set_isolation(match text.replace('-', " ").as_str() {
                    "READ UNCOMMITTED" => Isolation::ReadUncommitted,
                    "READ COMMITTED" => Isolation::ReadCommitted,
                    "REPEATABLE READ" | "DEFAULT" => Isolation::RepeatableRead,
                    "SERIALIZABLE" => Isolation::Serializable,
                    _ => return Err(wrong().into()),
                });
            }
            "innodb_lock_wait_timeout" => {
                let default = text == "DEFAULT";
                let seconds = if default { Some(50) } else { value.as_i64() };
                let Some(seconds) = seconds else {
                    return Err(error::wrong_type_for_variable(name).into());
                };
                let fitting = seconds.clamp(1, 1_073_741_824);
                if fitting != seconds {
                    self.context().warn(error::truncated_value(name, &text));
                }
                self.session.lock_wait_seconds = fitting as u64;
            }
            // What is so already may be asked for.
            "sql_mode" if is_usual_mode(&text) => {}
            "time_zone" if matches!(text.as_str(), "UTC" | "+00:00" | "SYSTEM" | "DEFAULT") => {}
            "sql_mode" | "time_zone" => {
                return Err(error::not_supported(&format!("SET {name} = {value}")).into());
            }
            _ => return set_without_effect(name, &text),
        }
        Ok(())
    }
}
