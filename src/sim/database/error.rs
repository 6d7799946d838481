//! What goes wrong, in MySQL's own numbers and words.
//!
//! The truth that tests run against is MariaDB 10.11. Where MySQL 8 words an error differently, or
//! gives it another number, this database answers as MySQL 8; [`WHERE_MYSQL_DIFFERS`] lists every
//! such place.

use std::fmt;

/// One error as the server sends it (MySQL 8 Error Message Reference).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SqlError {
    /// The number, such as 1062.
    pub code: u16,
    /// The five characters of SQLSTATE, such as `23000`.
    pub sqlstate: &'static str,
    /// The text.
    pub message: String,
    /// For a syntax error: the byte in the statement at which it was found.
    pub offset: Option<u32>,
}

impl fmt::Display for SqlError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "ERROR {} ({}): {}",
            self.code, self.sqlstate, self.message
        )
    }
}

/// Where an error is MySQL 8's and not MariaDB 10.11's: MySQL's number, MariaDB's number, and what
/// differs. DATABASE.md has the whole list, with what is no error.
pub const WHERE_MYSQL_DIFFERS: &[(u16, u16, &str)] = &[
    (
        1054,
        1054,
        "the clause is named 'field list', 'where clause', ...; MariaDB says 'SELECT', 'WHERE', ...",
    ),
    (
        1062,
        1062,
        "the key is named with its table, 'inventory.PRIMARY'; MariaDB says 'PRIMARY'",
    ),
    (
        1064,
        1064,
        "'your MySQL server version'; MariaDB says 'your MariaDB server version'",
    ),
    (
        1091,
        1091,
        "'Can't DROP 'x'; check that column/key exists'; MariaDB says 'Can't DROP INDEX `x`; check that it exists'",
    ),
    (1140, 1140, "names the expression that is not aggregated"),
    (1055, 1055, "names the expression that is not in GROUP BY"),
    (
        1292,
        1292,
        "comparing a string with a number names DOUBLE; MariaDB says DECIMAL",
    ),
    (
        1366,
        1366,
        "SQLSTATE HY000 and the bare column name; MariaDB says 22007 and names table and database",
    ),
    (1690, 1690, "the expression stands in parentheses"),
    (1792, 1792, "ends with a full stop"),
    (
        3058,
        1213,
        "GET_LOCK that closes a circle; MariaDB answers as for rows",
    ),
    (
        3572,
        1205,
        "NOWAIT has an error of its own; MariaDB says lock wait timeout",
    ),
    (
        3819,
        4025,
        "'Check constraint ... is violated.'; MariaDB says 'CONSTRAINT ... failed for ...'",
    ),
];

/// How bad a condition is that a statement leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Level {
    Note,
    Warning,
    Error,
}

/// How many conditions are kept, as MySQL's max_error_count comes.
const MOST_CONDITIONS: usize = 1024;

/// What SHOW WARNINGS tells of a statement.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct Conditions {
    pub(super) kept: Vec<(Level, SqlError)>,
    /// Those that are not kept included.
    pub(super) count: u64,
}

impl Conditions {
    pub(super) fn add(&mut self, level: Level, error: SqlError) {
        self.count += 1;
        if self.kept.len() < MOST_CONDITIONS {
            self.kept.push((level, error));
        }
    }

    /// As SHOW WARNINGS tells them, or SHOW ERRORS.
    pub(super) fn rows(&self, errors_only: bool) -> Vec<Vec<super::Value>> {
        let told = |(level, error): &(Level, SqlError)| {
            let word = match level {
                Level::Note => "Note",
                Level::Warning => "Warning",
                Level::Error => "Error",
            };
            let code = super::Value::Unsigned(error.code.into());
            vec![word.into(), code, error.message.as_str().into()]
        };
        let kept = self.kept.iter();
        kept.filter(|(level, _)| !errors_only || *level == Level::Error)
            .map(told)
            .collect()
    }
}

/// Why a statement did not finish.
#[derive(Clone, Debug)]
pub(super) enum Stop {
    /// The user's error.
    Error(SqlError),
    /// Another connection holds what is needed.
    Wait(Box<super::lock::Request>),
}

/// What a part of a statement gives, or why it stopped.
pub(super) type Outcome<T> = Result<T, Stop>;

impl From<SqlError> for Stop {
    fn from(error: SqlError) -> Stop {
        Stop::Error(error)
    }
}

impl SqlError {
    /// An error without a place.
    pub fn new(code: u16, sqlstate: &'static str, message: impl Into<String>) -> SqlError {
        SqlError {
            code,
            sqlstate,
            message: message.into(),
            offset: None,
        }
    }
}

/// The one database, as error texts name it.
pub(super) const DATABASE_NAME: &str = "test";

macro_rules! errors {
    ($($(#[$doc:meta])* $name:ident ( $($argument:ident),* ) = $code:literal $state:literal $text:literal;)*) => {
        $($(#[$doc])*
        pub(super) fn $name($($argument: &str),*) -> SqlError {
            SqlError::new($code, $state, join($text, &[$($argument),*]))
        })*
    };
}

/// Fills the `%` of a message in turn. One function for all messages keeps the page small.
fn join(text: &str, arguments: &[&str]) -> String {
    let mut arguments = arguments.iter();
    let mut out = String::with_capacity(text.len() + 32);
    for part in text.split_inclusive('%') {
        match part.strip_suffix('%') {
            Some(part) => {
                out.push_str(part);
                out.push_str(arguments.next().unwrap_or(&"%"));
            }
            None => out.push_str(part),
        }
    }
    out
}

errors! {
    null_in(column) = 1048 "23000" "Column '%' cannot be null";
    unknown_database(name) = 1049 "42000" "Unknown database '%'";
    table_exists(table) = 1050 "42S01" "Table '%' already exists";
    unknown_table(table) = 1051 "42S02" "Unknown table '%'";
    ambiguous(column, clause) = 1052 "23000" "Column '%' in % is ambiguous";
    unknown_column(column, clause) = 1054 "42S22" "Unknown column '%' in '%'";
    duplicate_column(column) = 1060 "42S21" "Duplicate column name '%'";
    duplicate_key_name(name) = 1061 "42000" "Duplicate key name '%'";
    duplicate_entry(entry, key) = 1062 "23000" "Duplicate entry '%' for key '%'";
    empty_query() = 1065 "42000" "Query was empty";
    not_unique(alias) = 1066 "42000" "Not unique table/alias: '%'";
    invalid_default(column) = 1067 "42000" "Invalid default value for '%'";
    several_primary() = 1068 "42000" "Multiple primary key defined";
    no_key_column(column) = 1072 "42000" "Key column '%' doesn't exist in table";
    column_too_big(column, most) = 1074 "42000" "Column length too big for column '%' (max = %); use BLOB or TEXT instead";
    auto_column() = 1075 "42000" "Incorrect table definition; there can be only one auto column and it must be defined as a key";
    column_twice(column) = 1110 "42000" "Column '%' specified twice";
    group_function() = 1111 "HY000" "Invalid use of group function";
    no_such_table(table) = 1146 "42S02" "Table 'test.%' doesn't exist";
    wrong_specifier(column) = 1063 "42000" "Incorrect column specifier for column '%'";
    column_count(row) = 1136 "21S01" "Column count doesn't match value count at row %";
    derived_without_alias() = 1248 "42000" "Every derived table must have its own alias";
    select_columns(count) = 1241 "21000" "Operand should contain % column(s)";
    several_rows() = 1242 "21000" "Subquery returns more than 1 row";
    text_key(column) = 1170 "42000" "BLOB/TEXT column '%' used in key specification without a key length";
    primary_null() = 1171 "42000" "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE instead";
    unknown_system_variable(name) = 1193 "HY000" "Unknown system variable '%'";
    several_found() = 1172 "42000" "Result consisted of more than one row";
    lock_wait_timeout() = 1205 "HY000" "Lock wait timeout exceeded; try restarting transaction";
    wrong_arguments(name) = 1210 "HY000" "Incorrect arguments to %";
    deadlock() = 1213 "40001" "Deadlock found when trying to get lock; try restarting transaction";
    different_columns() = 1222 "21000" "The used SELECT statements have a different number of columns";
    set_global(name) = 1229 "HY000" "Variable '%' is a GLOBAL variable and should be set with SET GLOBAL";
    wrong_value_for_variable(name, value) = 1231 "42000" "Variable '%' can't be set to the value of '%'";
    wrong_type_for_variable(name) = 1232 "42000" "Incorrect argument type to variable '%'";
    limit_in_subquery() = 1235 "42000" "This version of MySQL doesn't yet support 'LIMIT & IN/ALL/ANY/SOME subquery'";
    not_supported(what) = 1235 "42000" "The playground doesn't support '%'";
    wrong_scope(name, scope) = 1238 "HY000" "Variable '%' is a % variable";
    out_of_range_column(column, row) = 1264 "22003" "Out of range value for column '%' at row %";
    truncated_column(column, row) = 1265 "01000" "Data truncated for column '%' at row %";
    truncated_value(kind, value) = 1292 "22007" "Truncated incorrect % value: '%'";
    incorrect_datetime(value, column, row) = 1292 "22007" "Incorrect datetime value: '%' for column '%' at row %";
    no_savepoint(name) = 1305 "42000" "SAVEPOINT % does not exist";
    no_function(name) = 1305 "42000" "FUNCTION test.% does not exist";
    text_too_long(what, most) = 1301 "HY000" "Result of %() was larger than max_allowed_packet (%) - truncated";
    undeclared_variable(name) = 1327 "42000" "Undeclared variable: %";
    nothing_found() = 1329 "02000" "No data - zero rows fetched, selected, or processed";
    view_columns() = 1353 "HY000" "In definition of view, derived table or common table expression, SELECT list and column names list have different column counts";
    no_default(column) = 1364 "HY000" "Field '%' doesn't have a default value";
    division_by_zero() = 1365 "22012" "Division by 0";
    incorrect_value(kind, value, column, row) = 1366 "HY000" "Incorrect % value: '%' for column '%' at row %";
    too_long(column, row) = 1406 "22001" "Data too long for column '%' at row %";
    too_big_precision(digits, name) = 1426 "42000" "Too-big precision % specified for '%'. Maximum is 6.";
    bad_scale(column) = 1427 "42000" "For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '%').";
    stack_overrun(most) = 1436 "HY000" "Thread stack overrun: an expression nests deeper than %";
    parameter_count(name) = 1582 "42000" "Incorrect parameter count in the call to native function '%'";
    out_of_range(kind, expression) = 1690 "22003" "% value is out of range in '%'";
    read_only_transaction() = 1792 "25006" "Cannot execute statement in a READ ONLY transaction.";
    transaction_characteristics() = 1568 "25001" "Transaction characteristics can't be changed while a transaction is in progress";
    out_of_sync() = 2014 "HY000" "Commands out of sync; you can't run this command now";
    wrong_lock_name(name) = 3057 "42000" "Incorrect user-level lock name '%'.";
    user_lock_deadlock() = 3058 "HY000" "Deadlock found when trying to get user-level lock; try rolling back transaction/releasing locks and restarting lock acquisition.";
    nowait() = 3572 "HY000" "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.";
    check_violated(name) = 3819 "HY000" "Check constraint '%' is violated.";
    several_into() = 3953 "HY000" "Multiple INTO clauses in one query block.";
    misplaced_into() = 3954 "HY000" "Misplaced INTO clause, INTO is not allowed inside subqueries, and must be placed at end of UNION clauses.";
    inner_into() = 3962 "HY000" "The INTO clause is deprecated inside query blocks of query expressions and will be removed in a future release. Please move the INTO clause to the end of statement instead.";
    checked_column(check, column) = 3959 "HY000" "Check constraint '%' uses column '%', hence column cannot be dropped or renamed.";
    table_full(table) = 1114 "HY000" "The table '%' is full";
    too_many_tables(most) = 1030 "HY000" "Got error 168 from storage engine: this database holds at most % tables";
    too_many_rows(most) = 1104 "42000" "The SELECT would examine more than % rows; check your WHERE";
    statement_too_long(most) = 1153 "08S01" "Got a packet bigger than 'max_allowed_packet' bytes (%)";
    reads_what_it_writes(table) = 1093 "HY000" "You can't specify target table '%' for update in FROM clause";
    no_tables_used() = 1096 "HY000" "No tables used";
    not_in_group_by(number, place, column) = 1055 "42000" "Expression #% of % is not in GROUP BY clause and contains nonaggregated column '%' which is not functionally dependent on columns in GROUP BY clause; this is incompatible with sql_mode=only_full_group_by";
    mixed_groups(number, place, column) = 1140 "42000" "In aggregated query without GROUP BY, expression #% of % contains nonaggregated column '%'; this is incompatible with sql_mode=only_full_group_by";
    cannot_drop(name) = 1091 "42000" "Can't DROP '%'; check that column/key exists";
    null_in_key() = 1138 "22004" "Invalid use of NULL value";
    unresolved_table(name) = 3568 "HY000" "Unresolved table name `%` in locking clause.";
    time_overflow() = 1441 "22008" "Datetime function: datetime field overflow";
    auto_read_failed() = 1467 "HY000" "Failed to read auto-increment value from storage engine";
}

/// A syntax error as MySQL words it; `near` is at most 80 characters from the place on.
pub(super) fn syntax(source: &str, offset: usize) -> SqlError {
    let rest = source.get(offset..).unwrap_or("");
    let near: String = rest.chars().take(80).collect();
    let line = 1 + source
        .bytes()
        .take(offset)
        .filter(|byte| *byte == b'\n')
        .count();
    let mut error = SqlError::new(
        1064,
        "42000",
        join(
            "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use near '%' at line %",
            &[&near, &line.to_string()],
        ),
    );
    error.offset = Some(offset as u32);
    error
}
