//! What the database holds: tables, sessions with their transactions, locks, and who waits.
//!
//! A transaction keeps what it wrote as a list of rows over the committed tables. A snapshot is the
//! committed tables as they were, shared and not copied. So there are no transaction numbers and no
//! old versions to purge: equal situations are equal values.

use std::borrow::Cow;
use std::sync::Arc;

use super::ConnectionId;
use super::error::{self, Conditions, Level, Outcome, SqlError};
use super::lock::{Class, Lock, NamedLock, Request, Span, Target};
use super::run::Progress;
use super::statement::Statement;
use super::syntax::Isolation;
use super::table::{Key, Table};
use super::value::{Value, Values};

/// No connection of any.
pub(super) const NOBODY: ConnectionId = ConnectionId(u32::MAX);
/// MySQL's innodb_lock_wait_timeout, in seconds.
pub(super) const LOCK_WAIT_SECONDS: u64 = 50;
/// MySQL's lock_wait_timeout, for definitions of tables, in milliseconds.
pub(super) const DEFINITION_WAIT: u64 = 31_536_000_000;

/// A row that a transaction wrote, or removed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Write {
    pub(super) table: Arc<str>,
    pub(super) key: Key,
    pub(super) row: Option<Values>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct Transaction {
    /// Whether BEGIN or a statement with tables has begun it, not a SAVEPOINT alone (SERVER_STATUS_IN_TRANS).
    pub(super) active: bool,
    pub(super) isolation: Isolation,
    pub(super) read_only: bool,
    /// The committed tables as they were at the first read.
    pub(super) snapshot: Option<Vec<Arc<Table>>>,
    /// Rows that have changed since then, whether the snapshot shows them or not: their entries stand while it lasts.
    pub(super) stood: Vec<(Arc<str>, Key, Values)>,
    pub(super) work: Work,
    /// With their names, and whether rows had been asked for by then.
    pub(super) savepoints: Vec<(String, Work, bool)>,
    /// Whether rows have been asked for.
    pub(super) joined: bool,
    /// Lock structures of InnoDB that waiting has made, beside one for each kind of lock.
    pub(super) more_structures: usize,
}

/// What a transaction has done.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct Work {
    /// Sorted by table and key.
    pub(super) writes: Vec<Write>,
    /// How many rows were inserted, updated or deleted, the same ones again and again included.
    pub(super) undo: usize,
    /// Rows of its own that it has written over: their entries stand, marked as deleted, until it ends.
    pub(super) overwritten: Vec<(Arc<str>, Key, Values)>,
    /// The row that is being written, and the last index that holds it.
    pub(super) half: Option<(Arc<str>, Key, usize)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Session {
    pub(super) autocommit: bool,
    pub(super) isolation: Isolation,
    /// SET TRANSACTION without SESSION, for the next transaction only: its isolation, and whether it only reads.
    pub(super) next: (Option<Isolation>, Option<bool>),
    pub(super) read_only: bool,
    pub(super) transaction: Option<Transaction>,
    pub(super) last_insert_id: u64,
    pub(super) row_count: i64,
    pub(super) lock_wait_seconds: u64,
    /// What SHOW WARNINGS tells.
    pub(super) conditions: Conditions,
    pub(super) variables: Vec<(String, Value)>,
    /// CLIENT_FOUND_ROWS; the database's own choice when not set.
    pub(super) found_rows: Option<bool>,
}

impl Default for Session {
    fn default() -> Session {
        Session {
            autocommit: true,
            isolation: Isolation::default(),
            next: (None, None),
            read_only: false,
            transaction: None,
            last_insert_id: 0,
            row_count: 0,
            lock_wait_seconds: LOCK_WAIT_SECONDS,
            conditions: Conditions::default(),
            variables: Vec::new(),
            found_rows: None,
        }
    }
}

impl Session {
    /// The statement has failed.
    pub(super) fn fail(&mut self, conditions: Conditions, error: &SqlError) {
        self.row_count = -1;
        self.conditions = conditions;
        self.conditions.add(Level::Error, error.clone());
    }

    /// `@@name`, `@@session.name`, `@@global.name`; what is said of all sessions is what one begins with.
    pub(super) fn system_variable(&self, name: &str) -> Outcome<Value> {
        if let Some(name) = name.strip_prefix("global.") {
            if is_of_session(name) {
                return Err(error::wrong_scope(name, "SESSION").into());
            }
            return Session::default().system_variable(name);
        }
        let session = name.strip_prefix("session.");
        let name = session.unwrap_or(name);
        if session.is_some() && is_global(name) {
            return Err(error::wrong_scope(name, "GLOBAL").into());
        }
        Ok(match name {
            "autocommit" => Value::from(self.autocommit),
            "transaction_read_only" => Value::from(self.read_only),
            "transaction_isolation" => match self.isolation {
                Isolation::ReadUncommitted => "READ-UNCOMMITTED",
                Isolation::ReadCommitted => "READ-COMMITTED",
                Isolation::RepeatableRead => "REPEATABLE-READ",
                Isolation::Serializable => "SERIALIZABLE",
            }
            .into(),
            "innodb_lock_wait_timeout" => Value::Unsigned(self.lock_wait_seconds),
            "last_insert_id" | "identity" => Value::Unsigned(self.last_insert_id),
            "warning_count" => Value::Unsigned(self.conditions.count),
            "error_count" => Value::Integer(self.conditions.rows(true).len() as i64),
            "version" => "8.4.0".into(),
            "sql_mode" => "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION".into(),
            "time_zone" => "UTC".into(),
            _ => match fixed_variable(name) {
                Some((_, "ON", _)) => Value::from(true),
                Some((_, "OFF", _)) => Value::from(false),
                Some((_, value, _)) => match value.parse() {
                    Ok(number) => Value::Unsigned(number),
                    Err(_) => (*value).into(),
                },
                None if is_mysqls(name) => {
                    return Err(error::not_supported(&["@@", name].concat()).into());
                }
                None => return Err(error::unknown_system_variable(name).into()),
            },
        })
    }
}

/// What SET may do to a variable that never changes here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Settable {
    /// Any value may be set: nothing here depends on it.
    Freely,
    /// Only the value that it has.
    AsItIs,
    /// Not for a session: MySQL has one value for all.
    Globally,
    /// Not while the server runs.
    Never,
}

use Settable::{AsItIs, Freely, Globally, Never};

/// Variables that clients ask for and set.
const FIXED: &[(&str, &str, Settable)] = &[
    ("auto_increment_increment", "1", AsItIs),
    ("auto_increment_offset", "1", AsItIs),
    ("character_set_client", "utf8mb4", Freely),
    ("character_set_connection", "utf8mb4", Freely),
    ("character_set_database", "utf8mb4", AsItIs),
    ("character_set_results", "utf8mb4", Freely),
    ("character_set_server", "utf8mb4", AsItIs),
    ("collation_connection", "utf8mb4_general_ci", Freely),
    ("collation_database", "utf8mb4_general_ci", AsItIs),
    ("collation_server", "utf8mb4_general_ci", AsItIs),
    ("default_storage_engine", "InnoDB", AsItIs),
    ("div_precision_increment", "4", AsItIs),
    ("explicit_defaults_for_timestamp", "ON", AsItIs),
    ("foreign_key_checks", "ON", Freely),
    ("init_connect", "", Globally),
    ("innodb_autoinc_lock_mode", "2", Never),
    ("innodb_deadlock_detect", "ON", Globally),
    ("innodb_rollback_on_timeout", "OFF", Never),
    ("interactive_timeout", "28800", Freely),
    ("license", "GPL", Never),
    ("lock_wait_timeout", "31536000", AsItIs),
    ("lower_case_table_names", "0", Never),
    ("max_allowed_packet", "67108864", Never),
    ("max_error_count", "1024", AsItIs),
    ("max_execution_time", "0", AsItIs),
    ("net_read_timeout", "30", Freely),
    ("net_write_timeout", "60", Freely),
    ("performance_schema", "ON", Never),
    ("read_only", "OFF", Globally),
    ("session_track_schema", "ON", Freely),
    ("sql_auto_is_null", "OFF", AsItIs),
    ("sql_notes", "ON", AsItIs),
    ("sql_safe_updates", "OFF", AsItIs),
    ("sql_select_limit", "18446744073709551615", AsItIs),
    ("super_read_only", "OFF", Globally),
    ("system_time_zone", "UTC", Never),
    ("unique_checks", "ON", Freely),
    ("version_comment", "Latchkey", Never),
    ("wait_timeout", "28800", Freely),
];

/// What else MySQL has, as far as those ask for it who look after locks and connections.
const MYSQLS: &str = " binlog_format binlog_row_image character_set_system completion_type connect_timeout datadir default_tmp_storage_engine event_scheduler general_log group_concat_max_len gtid_executed gtid_mode gtid_next hostname information_schema_stats_expiry innodb_buffer_pool_size innodb_file_per_table innodb_flush_log_at_trx_commit innodb_ft_min_token_size innodb_print_all_deadlocks innodb_read_only innodb_status_output innodb_status_output_locks innodb_strict_mode innodb_table_locks innodb_thread_concurrency insert_id join_buffer_size lc_time_names local_infile log_bin log_error long_query_time max_connections max_heap_table_size max_user_connections net_buffer_length optimizer_switch port profiling pseudo_thread_id rand_seed1 rand_seed2 server_id server_uuid session_track_gtids session_track_system_variables session_track_transaction_info session_track_state_change skip_name_resolve slow_query_log socket sort_buffer_size sql_big_selects sql_generate_invisible_primary_key sql_log_bin sql_quote_show_create sql_require_primary_key sql_warnings sync_binlog table_open_cache thread_cache_size timestamp tls_version tmp_table_size updatable_views_with_limit version_compile_machine version_compile_os windowing_use_high_precision ";

fn is_mysqls(name: &str) -> bool {
    MYSQLS.contains(&[" ", name, " "].concat())
}

/// Whether the variable has one value for all sessions.
fn is_global(name: &str) -> bool {
    name == "version"
        || fixed_variable(name).is_some_and(|(.., set)| matches!(set, Globally | Never))
}

/// Whether it has no value but a session's.
fn is_of_session(name: &str) -> bool {
    matches!(
        name,
        "error_count" | "identity" | "last_insert_id" | "warning_count"
    )
}

/// Those that are worked out.
const WORKED_OUT: &str = "autocommit error_count innodb_lock_wait_timeout last_insert_id sql_mode time_zone transaction_isolation transaction_read_only version warning_count";

fn fixed_variable(name: &str) -> Option<&'static (&'static str, &'static str, Settable)> {
    FIXED.iter().find(|(known, ..)| *known == name)
}

/// Sets a variable that never changes here to a value, in capitals, of which nothing may come.
pub(super) fn set_without_effect(name: &str, text: &str) -> Outcome<()> {
    let Some((_, value, set)) = fixed_variable(name) else {
        Session::default().system_variable(name)?;
        return Err(error::wrong_scope(name, "read only").into());
    };
    let same = match *value {
        "ON" => matches!(text, "1" | "TRUE"),
        "OFF" => matches!(text, "0" | "FALSE"),
        _ => false,
    };
    let same = same || text == "DEFAULT" || value.eq_ignore_ascii_case(text);
    match set {
        Globally => Err(error::set_global(name).into()),
        Never => Err(error::wrong_scope(name, "read only").into()),
        AsItIs if !same => Err(error::not_supported(&["SET ", name, " = ", text].concat()).into()),
        _ => Ok(()),
    }
}

/// What SHOW VARIABLES says of a variable.
pub(super) fn shown_variable(session: &Session, name: &str) -> Outcome<Value> {
    if let Some((_, value, _)) = fixed_variable(name) {
        return Ok((*value).into());
    }
    let value = session.system_variable(name)?;
    Ok(match name {
        "autocommit" | "transaction_read_only" => if value == Value::from(true) {
            "ON"
        } else {
            "OFF"
        }
        .into(),
        _ => value.to_string().into(),
    })
}

/// The names of all variables, in order.
pub(super) fn variables(global: bool) -> Vec<&'static str> {
    let fixed = FIXED.iter().map(|(name, ..)| *name);
    let mut names: Vec<&str> = WORKED_OUT.split(' ').chain(fixed).collect();
    names.retain(|name| !global || !is_of_session(name));
    crate::sorted::sort(&mut names);
    names
}

/// A statement that waits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Waiting {
    pub(super) connection: ConnectionId,
    /// Who stood in the way when it began, and has not let go. A circle of rows is looked for along the first of them.
    pub(super) behind: Vec<ConnectionId>,
    /// Who has locked the gap before the entry since it began: in InnoDB's queue they come after it.
    pub(super) overtaken: Vec<ConnectionId>,
    pub(super) request: Request,
    pub(super) statement: Statement,
    pub(super) parameters: Vec<Value>,
    pub(super) now: u64,
    /// Numbers that AUTO_INCREMENT has given it already.
    pub(super) numbers: Vec<(u64, u64)>,
    /// How far it has read.
    pub(super) progress: Option<Progress>,
    /// The statement's transaction as it is while it waits; what the statement itself wrote is taken back when it goes on.
    pub(super) transaction: Transaction,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct State {
    /// In the order of their definition.
    pub(super) tables: Vec<Arc<Table>>,
    /// Sorted by connection; a session as it was at the start is left out.
    pub(super) sessions: Vec<(ConnectionId, Arc<Session>)>,
    /// Sorted those for which the order is of no matter; then the others, in the order of InnoDB's queue.
    pub(super) locks: Vec<(ConnectionId, Lock)>,
    /// In the order of the queue.
    pub(super) waiting: Vec<Waiting>,
    /// Rows as they were before a commit, whose entries stand until those who waited have gone on; empty between statements.
    pub(super) deleted: Vec<(Arc<str>, Key, Values)>,
    /// Sorted by name.
    pub(super) named: Vec<NamedLock>,
    /// CLIENT_FOUND_ROWS where a connection does not say.
    pub(super) found_rows: bool,
    /// How far the server's wall clock is ahead of the right time, in milliseconds.
    pub(super) clock: i64,
}

impl State {
    pub(super) fn table(&self, name: &str) -> Result<&Arc<Table>, SqlError> {
        self.tables
            .iter()
            .find(|table| &*table.definition.name == name)
            .ok_or_else(|| error::no_such_table(name))
    }

    pub(super) fn table_mut(&mut self, name: &str) -> Option<&mut Table> {
        self.tables
            .iter_mut()
            .find(|table| &*table.definition.name == name)
            .map(Arc::make_mut)
    }

    pub(super) fn session(&self, connection: ConnectionId) -> Option<&Arc<Session>> {
        let at = self
            .sessions
            .binary_search_by_key(&connection, |(known, _)| *known)
            .ok()?;
        self.sessions.get(at).map(|(_, session)| session)
    }

    /// Takes the session out; it comes back by [`State::put_session`].
    pub(super) fn take_session(&mut self, connection: ConnectionId) -> Session {
        match self
            .sessions
            .binary_search_by_key(&connection, |(known, _)| *known)
        {
            Ok(at) => Arc::unwrap_or_clone(self.sessions.remove(at).1),
            Err(_) => Session::default(),
        }
    }

    pub(super) fn put_session(&mut self, connection: ConnectionId, session: Session) {
        if session != Session::default() {
            let at = self
                .sessions
                .partition_point(|(known, _)| *known < connection);
            self.sessions.insert(at, (connection, Arc::new(session)));
        }
    }

    /// See [`super::Database::forget_unread`].
    pub(super) fn forget_unread(&mut self, row_count: bool, last_insert_id: bool) {
        for (connection, session) in std::mem::take(&mut self.sessions) {
            let mut session = Arc::unwrap_or_clone(session);
            if row_count {
                session.row_count = 0;
            }
            if last_insert_id {
                session.last_insert_id = 0;
            }
            self.put_session(connection, session);
        }
    }

    /// Where in the queue the connection waits.
    pub(super) fn place_of(&self, connection: ConnectionId) -> Option<usize> {
        let mut waiting = self.waiting.iter();
        waiting.position(|waiting| waiting.connection == connection)
    }

    /// The statement of the connection that waits.
    pub(super) fn waiting_of(&self, connection: ConnectionId) -> Option<&Waiting> {
        self.place_of(connection).map(|place| &self.waiting[place])
    }

    /// Every transaction but that of the connection; that of a statement that waits as it is while it waits.
    fn others(&self, connection: ConnectionId) -> Vec<&Transaction> {
        let mut others = Vec::new();
        for waiting in &self.waiting {
            if waiting.connection != connection {
                others.push(&waiting.transaction);
            }
        }
        for (owner, session) in &self.sessions {
            if let Some(open) = &session.transaction
                && *owner != connection
                && self.place_of(*owner).is_none()
            {
                others.push(open);
            }
        }
        others
    }

    /// Writes what a transaction wrote into the tables.
    pub(super) fn commit(&mut self, work: &Work) {
        let mut gone = work.overwritten.clone();
        for write in &work.writes {
            let Some(table) = self.table_mut(&write.table) else {
                continue;
            };
            if let Some(before) = table.get(&write.key) {
                let stays = |row: &Values| {
                    let of = |row: &Values, index| table.definition.entry(index, row, &write.key);
                    (1..table.definition.index_count())
                        .all(|index| of(row, index) == of(before, index))
                };
                if !write.row.as_ref().is_some_and(stays) {
                    gone.push((write.table.clone(), write.key.clone(), before.clone()));
                }
            }
            table.put(&write.key, write.row.clone());
        }
        let keep = |transaction: &mut Transaction| {
            if transaction.snapshot.is_some() {
                transaction.stood.extend_from_slice(&gone);
            }
        };
        for waiting in &mut self.waiting {
            keep(&mut waiting.transaction);
        }
        for (_, session) in &mut self.sessions {
            if session
                .transaction
                .as_ref()
                .is_some_and(|open| open.snapshot.is_some())
            {
                Arc::make_mut(session).transaction.iter_mut().for_each(keep);
            }
        }
        if !self.waiting.is_empty() {
            self.deleted.extend(gone);
        }
    }

    /// Gives up all row locks of a connection.
    pub(super) fn release(&mut self, connection: ConnectionId) {
        self.locks.retain(|(owner, _)| *owner != connection);
        for waiting in &mut self.waiting {
            waiting.overtaken.retain(|owner| *owner != connection);
        }
    }

    /// A lock comes behind those who wait for its entry; whether there are any.
    pub(super) fn overtake(&mut self, connection: ConnectionId, lock: &Lock) -> bool {
        let mut own = self.locks.iter().filter(|(owner, _)| *owner == connection);
        if !own.any(|(_, held)| held.meets(lock)) {
            for waiting in &mut self.waiting {
                if waiting
                    .request
                    .gap
                    .as_ref()
                    .is_some_and(|gap| gap.meets(lock))
                    && !waiting.overtaken.contains(&connection)
                {
                    waiting.overtaken.push(connection);
                }
            }
        }
        self.is_awaited(lock, None)
    }

    /// Gives up one lock.
    pub(super) fn let_go(&mut self, connection: ConnectionId, lock: &Lock) {
        let mut locks = self.locks.iter();
        if let Some(at) = locks.position(|(owner, held)| *owner == connection && held == lock) {
            self.locks.remove(at);
        }
    }

    /// What InnoDB has made for an entry that was locked for nothing stays.
    pub(super) fn leave_structure(&mut self, connection: ConnectionId, lock: &Lock) {
        let span = Span::Rows;
        self.hold(
            connection,
            Lock {
                span,
                ..lock.clone()
            },
        );
    }

    /// The connection waits no longer, and what its statement wrote is gone.
    pub(super) fn stop_waiting(&mut self, connection: ConnectionId) {
        if let Some(place) = self.place_of(connection) {
            let waiting = self.waiting.remove(place);
            self.vanish(NOBODY, None, &waiting.transaction.work);
        }
    }

    /// Whether the connection has a lock of the same kind.
    pub(super) fn has_alike(&self, connection: ConnectionId, lock: &Lock) -> bool {
        let mut locks = self.locks.iter();
        locks.any(|(owner, held)| *owner == connection && held.is_alike(lock))
    }

    /// Whether somebody waits for the entry that a lock is on, or for a place in the gap before it.
    pub(super) fn is_awaited(&self, lock: &Lock, gap: Option<&Lock>) -> bool {
        self.waiting.iter().any(|waiting| {
            let Target::Lock(own) = &waiting.request.target else {
                return false;
            };
            let here = own.index == lock.index && own.table == lock.table;
            let entry = own.span.entry().filter(|_| here);
            own.conflicts_with(gap.unwrap_or(lock))
                || (entry.is_some() && entry == lock.span.entry())
        })
    }

    /// Whoever reads an entry, or locks the gap before it, makes the lock of which only the entry
    /// tells one like others.
    pub(super) fn make_explicit(&mut self, connection: ConnectionId, lock: &Lock) {
        let Some(entry) = lock.span.entry() else {
            return;
        };
        let here = |held: &Lock| held.index == lock.index && held.table == lock.table;
        let on_entry =
            |held: &Lock| here(held) && matches!(&held.span, Span::Record(own) if own == entry);
        // Who has locked what it wrote together with the gap before it needs no other lock.
        let with_gap = |held: &Lock| {
            let before = matches!(&held.span, Span::Gap { before: Some(own), .. } if own == entry);
            before && held.exclusive && held.class == Class::NextKey && here(held)
        };
        let has_one: Vec<ConnectionId> = self
            .locks
            .iter()
            .filter(|(_, held)| with_gap(held))
            .map(|(owner, _)| *owner)
            .collect();
        let mut found = false;
        for (owner, held) in &mut self.locks {
            let is_another = *owner != connection && !has_one.contains(owner);
            if is_another && held.class == Class::Implicit && on_entry(held) {
                held.class = Class::Record;
                found = true;
            }
        }
        if found {
            self.sort_locks();
        }
    }

    /// Sorts what is to be sorted of the locks.
    pub(super) fn sort_locks(&mut self) {
        let alone = self.locks.partition_point(|(_, held)| held.is_alone());
        crate::sorted::sort(&mut self.locks[..alone]);
    }

    /// Who stands in the way of a request, each once, in the order in which they came: those who hold
    /// the lock, and those before it in the queue (`ahead` of them).
    pub(super) fn holders(
        &self,
        connection: ConnectionId,
        request: &Request,
        ahead: usize,
    ) -> Vec<ConnectionId> {
        let mut holders: Vec<ConnectionId> = Vec::new();
        match &request.target {
            Target::Lock(lock) => {
                let held = self
                    .locks
                    .iter()
                    .filter(|(_, held)| lock.conflicts_with(held));
                holders.extend(held.map(|(owner, _)| *owner));
            }
            Target::Named(name) => {
                holders.extend(
                    self.named
                        .iter()
                        .filter(|lock| lock.name == *name)
                        .map(|lock| lock.owner),
                );
            }
        }
        let earlier = self
            .waiting
            .iter()
            .take(ahead)
            .filter(|earlier| request.queues_behind(&earlier.request));
        for earlier in earlier {
            let mut known = holders.iter();
            let at = known.position(|holder| earlier.overtaken.contains(holder));
            holders.insert(at.unwrap_or(holders.len()), earlier.connection);
        }
        let mut each: Vec<ConnectionId> = Vec::new();
        for holder in holders {
            if holder != connection && !each.contains(&holder) {
                each.push(holder);
            }
        }
        each
    }
}

/// The database as one connection's statement sees it.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) state: &'a State,
    pub(super) transaction: &'a Transaction,
    pub(super) connection: ConnectionId,
}

type Rows<'a> = Cow<'a, [(Key, Values)]>;

fn overlay<'a>(rows: Rows<'a>, writes: &[Write], table: &str) -> Rows<'a> {
    let mut rows = rows;
    for write in writes.iter().filter(|write| &*write.table == table) {
        let rows = rows.to_mut();
        match (
            rows.binary_search_by(|(key, _)| key.cmp(&write.key)),
            &write.row,
        ) {
            (Ok(at), Some(row)) => rows[at].1 = row.clone(),
            (Ok(at), None) => {
                rows.remove(at);
            }
            (Err(at), Some(row)) => rows.insert(at, (write.key.clone(), row.clone())),
            (Err(_), None) => {}
        }
    }
    rows
}

impl<'a> View<'a> {
    /// What a plain SELECT reads: the snapshot, or what is committed, with the own writes over it.
    pub(super) fn consistent_rows(self, table: &'a Arc<Table>) -> Outcome<Rows<'a>> {
        let name = &*table.definition.name;
        let base = match &self.transaction.snapshot {
            None => table,
            Some(snapshot) => {
                let then = snapshot
                    .iter()
                    .find(|then| then.definition == table.definition);
                then.ok_or_else(|| {
                    SqlError::new(
                        1412,
                        "HY000",
                        "Table definition has changed, please retry transaction",
                    )
                })?
            }
        };
        let mut rows = Cow::Borrowed(base.rows.as_slice());
        if self.transaction.isolation == Isolation::ReadUncommitted {
            for other in self.state.others(self.connection) {
                rows = overlay(rows, &other.work.writes, name);
            }
        }
        Ok(overlay(rows, &self.transaction.work.writes, name))
    }

    /// What a locking read or a write sees: what is committed now, with the own writes over it.
    pub(super) fn current_rows(self, table: &'a Table) -> Rows<'a> {
        overlay(
            Cow::Borrowed(table.rows.as_slice()),
            &self.transaction.work.writes,
            &table.definition.name,
        )
    }

    /// The same for one row.
    pub(super) fn current(self, table: &Table, key: &Key) -> Option<Values> {
        match find_write(&self.transaction.work.writes, &table.definition.name, key) {
            Ok(at) => self
                .transaction
                .work
                .writes
                .get(at)
                .and_then(|write| write.row.clone()),
            Err(_) => table.get(key).cloned(),
        }
    }

    /// Every entry that an index physically holds, others' uncommitted ones, those marked as deleted
    /// and those that a snapshot still needs too, in order, with the key of the row that it belongs to.
    pub(super) fn entries(self, table: &Table, index: usize) -> Vec<(Key, Key)> {
        let definition = &table.definition;
        let mut entries: Vec<(Key, Key)> = Vec::with_capacity(table.rows.len());
        let mut add = |values: &Values, key: &Key| {
            entries.push((definition.entry(index, values, key), key.clone()))
        };
        table.rows.iter().for_each(|(key, values)| add(values, key));
        let own = std::iter::once(self.transaction);
        let deleted = self.state.deleted.iter();
        for (_, key, row) in deleted.filter(|(table, ..)| *table == definition.name) {
            add(row, key);
        }
        for transaction in own.chain(self.state.others(self.connection)) {
            for write in transaction
                .work
                .writes
                .iter()
                .filter(|write| write.table == definition.name)
            {
                let half = transaction
                    .work
                    .half
                    .as_ref()
                    .filter(|(table, key, _)| *table == write.table && *key == write.key);
                if let Some(row) = &write.row
                    && half.is_none_or(|(.., last)| index <= *last)
                {
                    add(row, &write.key);
                }
            }
            for (table, key, row) in &transaction.work.overwritten {
                if *table == definition.name {
                    add(row, key);
                }
            }
            for (table, key, row) in &transaction.stood {
                if *table == definition.name {
                    add(row, key);
                }
            }
        }
        crate::sorted::sort(&mut entries);
        entries.dedup();
        entries
    }
}

impl View<'_> {
    /// Whether an entry is only marked as deleted: whoever wrote its row last has it elsewhere, or nowhere.
    pub(super) fn is_deleted(self, table: &Table, index: usize, entry: &Key, key: &Key) -> bool {
        let name = &table.definition.name;
        let own = std::iter::once(self.transaction);
        let written = own
            .chain(self.state.others(self.connection))
            .find_map(|transaction| {
                let writes = &transaction.work.writes;
                let at = find_write(writes, name, key).ok()?;
                writes.get(at).map(|write| write.row.as_ref())
            });
        let latest = written.unwrap_or_else(|| table.get(key));
        latest.is_none_or(|row| table.definition.entry(index, row, key) != *entry)
    }

    /// Whether the transaction itself has written the row that an entry is of.
    pub(super) fn tells_of(self, table: &Table, entry: &Key) -> bool {
        let work = &self.transaction.work;
        let written = work.writes.iter().map(|write| (&write.table, &write.key));
        let before = work.overwritten.iter().map(|(of, key, _)| (of, key));
        let mut rows = written.chain(before);
        rows.any(|(of, key)| *of == table.definition.name && entry.ends_with(key))
    }

    /// Whether no transaction that is open has marked a deleted entry so.
    pub(super) fn is_long_deleted(
        self,
        table: &Table,
        index: usize,
        entry: &Key,
        key: &Key,
    ) -> bool {
        let name = &table.definition.name;
        let holds = |row: &Values| table.definition.entry(index, row, key) == *entry;
        let stood = table.get(key).is_some_and(holds);
        let own = std::iter::once(self.transaction);
        !own.chain(self.state.others(self.connection))
            .any(|transaction| {
                let Work {
                    writes,
                    overwritten,
                    ..
                } = &transaction.work;
                (stood && find_write(writes, name, key).is_ok())
                    || overwritten
                        .iter()
                        .any(|(of, at, row)| of == name && at == key && holds(row))
            })
    }
}

/// Where a write to the row is in the list, or would be.
pub(super) fn find_write(writes: &[Write], table: &str, key: &Key) -> Result<usize, usize> {
    writes.binary_search_by(|write| (&*write.table, &write.key).cmp(&(table, key)))
}
