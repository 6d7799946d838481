//! From a statement to its reply: transactions begin and end here, statements wait here and are
//! woken.

use std::cell::RefCell;

use super::error::{self, Outcome, SqlError, Stop};
use super::expression::{Effects, Scope, evaluate};
use super::fact::DatabaseFact;
use super::function;
use super::lock::{Lock, Span, Target};
use super::reply::SqlReply;
use super::run::{Numbers, Run};
use super::select;
use super::state::{Session, State, Transaction, Waiting};
use super::statement::Statement;
use super::syntax::{Command, Isolation, Item, Locking, Patience, Select, Setting};
use super::value::Value;
use super::{ConnectionId, DatabaseOutput};

/// How a statement that waited goes on.
#[derive(Clone, Debug, Default)]
struct Resumed {
    granted: Option<String>,
    timed_out: Option<String>,
    numbers: Vec<(u64, u64)>,
}

impl State {
    /// A lock is held from now on.
    pub(super) fn hold(&mut self, connection: ConnectionId, lock: Lock) {
        // An intention is used up at once.
        if matches!(lock.span, Span::Insert(_)) {
            return;
        }
        let entry = (connection, lock);
        if let Err(at) = self.locks.binary_search(&entry) {
            self.locks.insert(at, entry);
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
        if self
            .waiting
            .iter()
            .any(|waiting| waiting.connection == connection)
        {
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
            .map(|transaction| transaction.writes.clone());
        let (result, numbers) = self.run(
            &mut session,
            connection,
            statement,
            &parameters,
            now,
            resumed,
            output,
        );
        let stop = match result {
            Ok(reply) => {
                session.row_count = match &reply {
                    SqlReply::Affected { affected, .. } => {
                        i64::try_from(*affected).unwrap_or(i64::MAX)
                    }
                    SqlReply::Rows { .. } => -1,
                    _ => 0,
                };
                self.finish(connection, session, SqlReply::clone(&reply), output);
                return;
            }
            Err(stop) => stop,
        };
        if let (Some(transaction), Some(before)) = (&mut session.transaction, before) {
            transaction.writes = before;
        }
        match stop {
            Stop::Error(error) => {
                session.row_count = -1;
                self.finish(connection, session, SqlReply::Error(error), output);
            }
            Stop::Wait(request) => {
                let transaction = session.transaction.is_some();
                self.put_session(connection, session);
                let statement = statement.clone();
                let waiting = Waiting {
                    connection,
                    request: *request,
                    statement,
                    parameters,
                    now,
                    numbers,
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
    ) -> (Outcome<SqlReply>, Vec<(u64, u64)>) {
        let command = statement.command();
        if let Some(result) = self.control(session, connection, command, output) {
            return (result, Vec::new());
        }
        let defines = matches!(
            command,
            Command::CreateTable(_) | Command::DropTable { .. } | Command::Truncate(_)
        );
        if defines {
            self.end(session, connection, true, output);
        }
        let uses_tables = !statement.tables().is_empty();
        if !session.autocommit && session.transaction.is_none() && uses_tables && !defines {
            session.transaction = Some(begin(session, false));
        }
        let open = session.transaction.is_some();
        let transaction = session
            .transaction
            .take()
            .unwrap_or_else(|| begin(session, false));
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
            strict: false,
            commits_after: false,
        };
        let result = run.command(command);
        let Run {
            transaction,
            facts,
            effects,
            numbers,
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
        if open {
            session.transaction = Some(transaction);
            if commits_after {
                self.end(session, connection, true, output);
            }
        } else if result.is_ok() {
            let names: Vec<_> = transaction
                .writes
                .iter()
                .map(|write| write.table.clone())
                .collect();
            self.commit(transaction.writes);
            self.renumber(&names);
        }
        (result, numbers.reserved)
    }

    /// Numbers hidden rows again where nobody holds on to the numbers.
    fn renumber(&mut self, names: &[std::sync::Arc<str>]) {
        let in_use = |name: &str| {
            self.locks.iter().any(|(_, lock)| &*lock.table == name)
                || self.sessions.iter().any(|(_, session)| {
                    session.transaction.as_ref().is_some_and(|transaction| {
                        transaction.snapshot.is_some()
                            || transaction.writes.iter().any(|write| &*write.table == name)
                    })
                })
        };
        let free: Vec<_> = names.iter().filter(|name| !in_use(name)).cloned().collect();
        for name in free {
            let hidden = self
                .table(&name)
                .is_ok_and(|table| !table.definition.clustered);
            if hidden && let Some(table) = self.table_mut(&name) {
                table.renumber();
            }
        }
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
            let wrote = !transaction.writes.is_empty();
            let names: Vec<_> = transaction
                .writes
                .iter()
                .map(|write| write.table.clone())
                .collect();
            if commit {
                self.commit(transaction.writes);
            }
            self.release(connection);
            self.renumber(&names);
            if wrote {
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
        let done = Some(Ok(SqlReply::Done));
        match command {
            Command::Begin {
                snapshot,
                read_only,
            } => {
                self.end(session, connection, true, output);
                let mut transaction = begin(session, *read_only);
                if *snapshot && transaction.isolation >= Isolation::RepeatableRead {
                    transaction.snapshot = Some(self.tables.clone());
                }
                session.transaction = Some(transaction);
                done
            }
            Command::Commit | Command::Rollback => {
                self.end(
                    session,
                    connection,
                    matches!(command, Command::Commit),
                    output,
                );
                done
            }
            Command::Savepoint(name) => {
                if session.transaction.is_none() && !session.autocommit {
                    session.transaction = Some(begin(session, false));
                }
                if let Some(transaction) = &mut session.transaction {
                    transaction
                        .savepoints
                        .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
                    transaction
                        .savepoints
                        .push((name.clone(), transaction.writes.clone()));
                }
                done
            }
            Command::RollbackTo(name) | Command::Release(name) => {
                let found = session.transaction.as_mut().and_then(|transaction| {
                    let at = transaction
                        .savepoints
                        .iter()
                        .position(|(known, _)| known.eq_ignore_ascii_case(name))?;
                    Some((transaction, at))
                });
                let Some((transaction, at)) = found else {
                    return Some(Err(error::no_savepoint(name).into()));
                };
                if let Command::RollbackTo(_) = command {
                    transaction.writes = transaction.savepoints[at].1.clone();
                    transaction.savepoints.truncate(at + 1);
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
    fn enqueue(&mut self, waiting: Waiting, output: &mut DatabaseOutput) {
        let connection = waiting.connection;
        let ahead = self.waiting.len();
        let holders = self.holders(connection, &waiting.request, ahead);
        let what = match &waiting.request.target {
            Target::Lock(lock) => lock.table.to_string(),
            Target::Named(name) => name.clone(),
        };
        output.facts.push(DatabaseFact::Waits {
            connection,
            what,
            holders,
        });
        self.waiting.push(waiting);
        if let Some(circle) = self.circle(connection) {
            let named = circle.iter().any(|member| {
                self.waiting.iter().any(|waiting| {
                    waiting.connection == *member
                        && matches!(waiting.request.target, Target::Named(_))
                })
            });
            let victim = if named {
                connection
            } else {
                self.victim(&circle)
            };
            let error = if named {
                error::user_lock_deadlock()
            } else {
                error::deadlock()
            };
            self.waiting.retain(|waiting| waiting.connection != victim);
            let mut session = self.take_session(victim);
            session.row_count = -1;
            if !named {
                self.end(&mut session, victim, false, output);
                output
                    .facts
                    .push(DatabaseFact::Deadlock { connection: victim });
            }
            self.finish(victim, session, SqlReply::Error(error), output);
        }
    }

    /// The circle of waiting connections through this one, from it on.
    fn circle(&self, start: ConnectionId) -> Option<Vec<ConnectionId>> {
        let next_of = |connection: ConnectionId| -> Vec<ConnectionId> {
            let place = self
                .waiting
                .iter()
                .position(|waiting| waiting.connection == connection);
            let Some(place) = place else {
                return Vec::new();
            };
            self.holders(connection, &self.waiting[place].request, place)
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

    /// Who of a circle loses: the fewest changed rows and locks; among equals the first of the
    /// circle, whose request closed it.
    fn victim(&self, circle: &[ConnectionId]) -> ConnectionId {
        let weight = |connection: &ConnectionId| {
            let writes = self
                .session(*connection)
                .and_then(|session| session.transaction.as_ref())
                .map_or(0, |transaction| transaction.writes.len());
            writes
                + self
                    .locks
                    .iter()
                    .filter(|(owner, lock)| owner == connection && lock.span != Span::Definition)
                    .count()
        };
        let mut victim = circle[0];
        for member in circle {
            if weight(member) < weight(&victim) {
                victim = *member;
            }
        }
        victim
    }

    /// Gives locks to those who wait, in the order of the queue, and runs their statements on.
    pub(super) fn wake(&mut self, output: &mut DatabaseOutput) {
        loop {
            let next = (0..self.waiting.len()).find(|place| {
                let waiting = &self.waiting[*place];
                self.holders(waiting.connection, &waiting.request, *place)
                    .is_empty()
            });
            let Some(next) = next else { return };
            let waiting = self.waiting.remove(next);
            let mut resumed = Resumed {
                numbers: waiting.numbers,
                ..Resumed::default()
            };
            match waiting.request.target {
                Target::Lock(lock) => self.hold(waiting.connection, lock),
                Target::Named(name) => {
                    let at = self.named.partition_point(|lock| lock.name < name);
                    let lock = super::lock::NamedLock {
                        name: name.clone(),
                        owner: waiting.connection,
                        count: 1,
                    };
                    self.named.insert(at, lock);
                    resumed.granted = Some(name);
                }
            }
            self.attempt(
                waiting.connection,
                &waiting.statement,
                waiting.parameters,
                waiting.now,
                resumed,
                output,
            );
        }
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
                    let mut session = self.take_session(connection);
                    session.row_count = -1;
                    self.finish(
                        connection,
                        session,
                        SqlReply::Error(error::lock_wait_timeout()),
                        output,
                    );
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
        self.locks.sort();
        for waiting in &mut self.waiting {
            renumber(&mut waiting.connection);
        }
        for named in &mut self.named {
            renumber(&mut named.owner);
        }
    }

    pub(super) fn disconnect(&mut self, connection: ConnectionId, output: &mut DatabaseOutput) {
        self.waiting
            .retain(|waiting| waiting.connection != connection);
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

fn begin(session: &mut Session, read_only: bool) -> Transaction {
    let isolation = session.next_isolation.take().unwrap_or(session.isolation);
    Transaction {
        isolation,
        read_only: read_only || session.read_only,
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
            Command::CreateTable(create) => self.create_table(create),
            Command::DropTable { if_exists, tables } => self.drop_tables(tables, *if_exists),
            Command::Truncate(table) => self.truncate(table),
            Command::ShowTables => Ok(self.show_tables()),
            Command::Describe(table) => self.describe(table),
            Command::ShowCreate(table) => self.show_create(table),
            Command::Set(settings) => {
                for setting in settings {
                    self.set(setting)?;
                }
                Ok(SqlReply::Done)
            }
            Command::Do(expressions) => {
                let context = self.context();
                let scope = Scope::bare(&context);
                for expression in expressions {
                    super::expression::check(&scope, expression, "field list", false)?;
                    evaluate(&scope, expression)?;
                }
                Ok(SqlReply::Done)
            }
            _ => Ok(SqlReply::Done),
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
        Ok(SqlReply::Rows {
            columns: found.columns,
            rows: found.rows,
        })
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
                if self.open && !session {
                    return Err(error::transaction_characteristics().into());
                }
                if let Some(isolation) = isolation {
                    if *session {
                        self.session.isolation = *isolation;
                    } else {
                        self.session.next_isolation = Some(*isolation);
                    }
                }
                if let Some(read_only) = read_only {
                    self.session.read_only = *read_only;
                }
            }
        }
        Ok(())
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
                self.session.autocommit = on;
                if on && self.open {
                    self.commits_after = true;
                }
            }
            "transaction_isolation" | "tx_isolation" => {
                self.session.isolation = match text.replace('-', " ").as_str() {
                    "READ UNCOMMITTED" => Isolation::ReadUncommitted,
                    "READ COMMITTED" => Isolation::ReadCommitted,
                    "REPEATABLE READ" | "DEFAULT" => Isolation::RepeatableRead,
                    "SERIALIZABLE" => Isolation::Serializable,
                    _ => return Err(wrong().into()),
                };
            }
            "innodb_lock_wait_timeout" => {
                let default = text == "DEFAULT";
                let seconds = if default { Some(50) } else { value.as_i64() };
                match seconds.and_then(|seconds| u64::try_from(seconds).ok()) {
                    Some(seconds) => {
                        self.session.lock_wait_seconds = seconds.clamp(1, 1_073_741_824)
                    }
                    None => return Err(error::wrong_arguments("SET").into()),
                }
            }
            "sql_mode" | "time_zone" | "character_set_results" | "sql_safe_updates" => {
                return Err(error::not_supported(&format!("SET {name}")).into());
            }
            _ => {
                self.session.system_variable(name)?;
                return Err(SqlError::new(
                    1238,
                    "HY000",
                    format!("Variable '{name}' is a read only variable"),
                )
                .into());
            }
        }
        Ok(())
    }
}
