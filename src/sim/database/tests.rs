//! Scripts with the replies that they get. A line is `A: statement => reply`, as a scenario prints
//! it; `=> waits` says that there is none yet, `A =>` that one comes now; `+1000` lets time pass.

use super::{
    ConnectionId, Database, DatabaseFact, DatabaseInput, DatabaseOutput, SqlReply, Statement, Value,
};

/// Runs a script on a database and says what is different.
fn run(database: &mut Database, script: &str) -> Vec<DatabaseFact> {
    let mut facts = Vec::new();
    let mut now = 1_767_225_600_000;
    let mut pending: Vec<(ConnectionId, SqlReply)> = Vec::new();
    for line in script
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let (input, expected) = line.rsplit_once("=>").unwrap_or((line, ""));
        let (input, expected) = (input.trim(), expected.trim());
        let mut take = |output: DatabaseOutput| {
            facts.extend(output.facts);
            pending.extend(output.replies);
        };
        if let Some(ms) = input.strip_prefix('+') {
            let ms: u64 = ms.parse().expect("milliseconds");
            now += ms;
            take(database.apply(DatabaseInput::Elapse { ms }));
            continue;
        }
        let (name, text) = input.split_once(':').unwrap_or((input, ""));
        let connection = ConnectionId(u32::from(name.bytes().next().expect("a name") - b'A'));
        if text.trim() == "disconnect" {
            take(database.apply(DatabaseInput::Disconnect { connection }));
            continue;
        }
        if !text.is_empty() {
            match Statement::parse(text.trim()) {
                Ok(statement) => take(database.apply(DatabaseInput::Statement {
                    connection,
                    statement: &statement,
                    parameters: &[],
                    now,
                })),
                Err(error) => pending.push((connection, SqlReply::Error(error))),
            }
        }
        let place = pending.iter().position(|(to, _)| *to == connection);
        let reply = place.map_or("waits".to_string(), |place| {
            pending.remove(place).1.print_short()
        });
        assert_eq!(reply, expected, "{line}");
    }
    assert!(
        pending.is_empty(),
        "replies that nobody expected: {pending:?}"
    );
    facts
}

/// Runs a script on an empty database.
fn check(script: &str) -> Vec<DatabaseFact> {
    run(&mut Database::default(), script)
}

#[test]
fn definitions_are_printed_as_mysql_8_prints_them() {
    let create = "CREATE TABLE lease (id INT UNSIGNED AUTO_INCREMENT, name varchar(8) NOT NULL DEFAULT 'it''s', held BOOL DEFAULT 0, \
        `until` TIMESTAMP(3) NULL ON UPDATE NOW(3), note TEXT, made DATETIME DEFAULT NOW(), price DEC(6,2) DEFAULT 1, spare INT DEFAULT (1+2), \
        PRIMARY KEY (id), UNIQUE (name), INDEX by_name (held, name DESC), \
        CHECK (price > 0 AND name IN ('a', 'b') OR note IS NOT NULL AND held))";
    let mut database = Database::default();
    run(
        &mut database,
        &format!("A: {create} => OK\n A: INSERT INTO lease (name) VALUES ('a') => 1 row"),
    );
    let text = definition_of(&mut database, "lease");
    assert_eq!(
        text,
        "CREATE TABLE `lease` (
  `id` int unsigned NOT NULL AUTO_INCREMENT,
  `name` varchar(8) NOT NULL DEFAULT 'it''s',
  `held` tinyint(1) DEFAULT '0',
  `until` timestamp(3) NULL DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP(3),
  `note` text,
  `made` datetime DEFAULT CURRENT_TIMESTAMP,
  `price` decimal(6,2) DEFAULT '1.00',
  `spare` int DEFAULT ((1 + 2)),
  PRIMARY KEY (`id`),
  UNIQUE KEY `name` (`name`),
  KEY `by_name` (`held`,`name`),
  CONSTRAINT `lease_chk_1` CHECK ((((`price` > 0) and (`name` in ('a','b'))) or ((`note` is not null) and `held`)))
) ENGINE=InnoDB AUTO_INCREMENT=2 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci"
    );
    // What is printed is read again as the same.
    let mut copy = Database::default();
    run(&mut copy, &format!("A: {} => OK", text.replace('\n', " ")));
    assert_eq!(definition_of(&mut copy, "lease"), text);
}

/// What SHOW CREATE TABLE says.
fn definition_of(database: &mut Database, table: &str) -> String {
    let statement = Statement::parse(&format!("SHOW CREATE TABLE {table}")).expect("a statement");
    let mut output = database.apply(DatabaseInput::Statement {
        connection: ConnectionId(0),
        statement: &statement,
        parameters: &[],
        now: 0,
    });
    match output.replies.pop() {
        Some((_, SqlReply::Rows { rows, .. })) => rows[0][1].to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn columns_change_and_derived_tables_are_asked() {
    check(
        "A: CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9), n INT, CHECK (n < 9)) => OK
         A: INSERT INTO t VALUES (1, 'one', 1), (2, NULL, 2), (3, '3', NULL) => 3 rows
         A: ALTER TABLE t CHANGE n m INT => ERROR 3959 (HY000): Check constraint 't_chk_1' uses column 'n', hence column cannot be dropped or renamed.
         A: ALTER TABLE t DROP n => ERROR 3959 (HY000): Check constraint 't_chk_1' uses column 'n', hence column cannot be dropped or renamed.
         A: ALTER TABLE t MODIFY v INT => ERROR 1366 (HY000): Incorrect integer value: 'one' for column 'v' at row 1
         A: ALTER TABLE t MODIFY v VARCHAR(2) => ERROR 1406 (22001): Data too long for column 'v' at row 1
         A: ALTER TABLE t MODIFY v VARCHAR(9) NOT NULL => ERROR 1138 (22004): Invalid use of NULL value
         A: ALTER TABLE t ADD CHECK (id > 0), CHANGE COLUMN v word TEXT FIRST => OK
         A: SELECT * FROM t WHERE id = 1 => ('one', 1, 1)
         A: INSERT INTO t VALUES ('', 0, 0) => ERROR 3819 (HY000): Check constraint 't_chk_2' is violated.
         # Nobody changes a table that a transaction uses.
         A: BEGIN => OK
         A: SELECT d.m FROM (SELECT MAX(n) AS m FROM t) AS d => 2
         B: ALTER TABLE t MODIFY n BIGINT => waits
         A: COMMIT => OK
         B: => OK
         A: SELECT * FROM (SELECT id FROM t) => ERROR 1248 (42000): Every derived table must have its own alias
         A: SELECT * FROM (SELECT id FROM t FOR UPDATE) AS d => ERROR 1235 (42000): The playground doesn't support 'FOR UPDATE and FOR SHARE in a derived table'
         A: SELECT * FROM (SELECT id FROM t) AS d FOR UPDATE => ERROR 1235 (42000): The playground doesn't support 'FOR UPDATE and FOR SHARE of a derived table'
         # In a statement that writes, a derived table reads what is committed, under shared locks.
         A: BEGIN => OK
         A: UPDATE t SET n = 5 WHERE id = 3 => 1 row
         B: UPDATE t SET word = 'two' WHERE id = (SELECT m FROM (SELECT MIN(id) + 1 AS m FROM t) AS d) => waits
         A: ROLLBACK => OK
         B: => 1 row",
    );
}

#[test]
fn a_transaction_may_begin_where_the_last_one_ends() {
    check(
        "A: CREATE TABLE t (id INT PRIMARY KEY) => OK
         A: SET TRANSACTION ISOLATION LEVEL READ COMMITTED => OK
         A: START TRANSACTION READ ONLY => OK
         A: COMMIT AND CHAIN => OK
         A: INSERT INTO t VALUES (1) => ERROR 1792 (25006): Cannot execute statement in a READ ONLY transaction.
         A: ROLLBACK => OK
         # Without an open one it begins all the same, and COMMIT alone ends it.
         A: COMMIT AND CHAIN => OK
         A: INSERT INTO t VALUES (1) => 1 row
         B: INSERT INTO t VALUES (1) => waits
         A: COMMIT WORK AND NO CHAIN NO RELEASE => OK
         B: => ERROR 1062 (23000): Duplicate entry '1' for key 't.PRIMARY'
         A: ROLLBACK AND CHAIN RELEASE => ERROR 1064 (42000): You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use near 'RELEASE' at line 1
         A: SELECT @@tx_isolation => ERROR 1193 (HY000): Unknown system variable 'tx_isolation'",
    );
}

#[test]
fn statements_answer_as_mysql_does() {
    let scripts = [
        "A: CREATE TABLE inventory (sku VARCHAR(32) PRIMARY KEY, qty INT NOT NULL, fence_token BIGINT NOT NULL DEFAULT 0) => OK
         A: INSERT INTO inventory VALUES ('sku-1', 10, 0) => 1 row
         A: UPDATE inventory SET qty = qty - 1, fence_token = 1 WHERE sku = 'sku-1' AND qty >= 1 AND fence_token < 1 => 1 row
         A: UPDATE inventory SET qty = qty - 1, fence_token = 1 WHERE sku = 'sku-1' AND qty >= 1 AND fence_token < 1 => 0 rows
         A: UPDATE inventory SET qty = 9 WHERE sku = 'sku-1' => 0 rows
         A: SELECT qty FROM inventory WHERE sku = 'sku-1' => 9
         A: SELECT * FROM inventory => ('sku-1', 9, 1)
         A: SELECT MAX(fence_token) FROM inventory => 1
         A: SELECT MAX(fence_token) FROM inventory WHERE sku = 'x' => NULL
         A: SELECT sku FROM inventory WHERE sku = 'x' => no rows
         A: INSERT INTO inventory VALUES ('SKU-1 ', 1, 1) => ERROR 1062 (23000): Duplicate entry 'SKU-1 ' for key 'inventory.PRIMARY'
         A: INSERT INTO inventory (sku, qty) VALUES ('sku-2', NULL) => ERROR 1048 (23000): Column 'qty' cannot be null
         A: INSERT INTO inventory (sku) VALUES ('sku-2') => ERROR 1364 (HY000): Field 'qty' doesn't have a default value
         A: INSERT INTO inventory (sku, qty) VALUES ('sku-2') => ERROR 1136 (21S01): Column count doesn't match value count at row 1
         A: UPDATE inventory SET qty = 3000000000 => ERROR 1264 (22003): Out of range value for column 'qty' at row 1
         A: UPDATE inventory SET nope = 1 => ERROR 1054 (42S22): Unknown column 'nope' in 'field list'
         A: SELECT * FROM nope => ERROR 1146 (42S02): Table 'test.nope' doesn't exist
         A: INSERT INTO inventory VALUES ('sku-1', 5, 7) ON DUPLICATE KEY UPDATE qty = IF(VALUES(fence_token) > fence_token, VALUES(qty), qty), fence_token = GREATEST(fence_token, VALUES(fence_token)) => 2 rows
         A: SELECT qty, fence_token FROM inventory => (5, 7)
         A: REPLACE INTO inventory VALUES ('sku-1', 6, 7) => 2 rows
         A: DELETE FROM inventory WHERE fence_token < 8 => 1 row
         A: TRUNCATE inventory => OK
         A: DROP TABLE inventory => OK",
        "A: SELECT '10' < '9', '10' < 9, 'a' = 'A ', 1 = '1a', NULL <=> NULL => (1, 0, 1, 1, 1)
         A: SELECT 2/3*3, 10/4, 7.50/2, 1e15, 0.1+0.2, 5 DIV 2, -5 % 3, '5'+1 => (2.0000, 2.5000, 3.750000, 1e15, 0.3, 2, -2, 6)
         A: SELECT COALESCE(NULL, 5, 'x'), IF(1,1,2.50), CONCAT(1.50, 2), LPAD(5,3,'0') => ('5', 1.00, '1.502', '005')
         A: SELECT 9223372036854775807 + 1 => ERROR 1690 (22003): BIGINT value is out of range in '(9223372036854775807 + 1)'
         A: SELEC 1 => ERROR 1064 (42000): You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use near 'SELEC 1' at line 1
         A: SELECT 1 2 => ERROR 1064 (42000): You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use near '2' at line 1
         A: SELECT NOW(), NOW(3), NOW() + INTERVAL 1 MONTH => ('2026-01-01 00:00:00', '2026-01-01 00:00:00.000', '2026-02-01 00:00:00')",
    ];
    for script in scripts {
        check(script);
    }
}

#[test]
fn transactions_wait_for_each_other() {
    let table = "A: CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL) => OK
                 A: INSERT INTO t VALUES (1, 10), (2, 20), (5, 50) => 3 rows\n";
    let scripts = [
        "A: BEGIN => OK
         A: UPDATE t SET n = 11 WHERE id = 1 => 1 row
         B: SELECT n FROM t WHERE id = 1 => 10
         B: UPDATE t SET n = n + 1 WHERE id = 1 => waits
         A: COMMIT => OK
         B => 1 row
         B: SELECT n FROM t WHERE id = 1 => 12",
        "A: BEGIN => OK
         A: SELECT n FROM t WHERE id = 1 => 10
         B: UPDATE t SET n = 11 WHERE id = 1 => 1 row
         A: SELECT n FROM t WHERE id = 1 => 10
         A: SELECT n FROM t WHERE id = 1 FOR UPDATE => 11
         A: UPDATE t SET n = n + 1 WHERE id = 1 => 1 row
         A: SELECT n FROM t WHERE id = 1 => 12
         A: ROLLBACK => OK
         A: SELECT n FROM t WHERE id = 1 => 11",
        "A: BEGIN => OK
         A: UPDATE t SET n = 11 WHERE id = 1 => 1 row
         B: BEGIN => OK
         B: UPDATE t SET n = 21 WHERE id = 2 => 1 row
         B: UPDATE t SET n = 22 WHERE id = 1 => waits
         A: UPDATE t SET n = 22 WHERE id = 2 => ERROR 1213 (40001): Deadlock found when trying to get lock; try restarting transaction
         B => 1 row",
        "A: BEGIN => OK
         A: UPDATE t SET n = 11 WHERE id = 1 => 1 row
         B: UPDATE t SET n = 22 WHERE id = 1 => waits
         +49999
         B => waits
         +1
         B => ERROR 1205 (HY000): Lock wait timeout exceeded; try restarting transaction",
        "A: BEGIN => OK
         A: SELECT * FROM t WHERE id = 3 FOR UPDATE => no rows
         B: BEGIN => OK
         B: SELECT * FROM t WHERE id = 4 FOR UPDATE => no rows
         B: INSERT INTO t VALUES (4, 40) => waits
         A: INSERT INTO t VALUES (3, 30) => ERROR 1213 (40001): Deadlock found when trying to get lock; try restarting transaction
         B => 1 row",
        "A: BEGIN => OK
         A: SELECT * FROM t WHERE id = 1 FOR UPDATE => (1, 10)
         B: SELECT * FROM t ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED => (2, 20)
         B: SELECT * FROM t WHERE id = 1 FOR UPDATE NOWAIT => ERROR 3572 (HY000): Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.
         B: SELECT * FROM t WHERE id = 1 LOCK IN SHARE MODE => waits
         A:disconnect
         B => (1, 10)",
        // A search that skips a row goes on to the gap behind it.
        "A: BEGIN => OK
         A: SELECT * FROM t WHERE id = 2 FOR UPDATE => (2, 20)
         B: BEGIN => OK
         B: SELECT * FROM t WHERE id = 2 FOR UPDATE SKIP LOCKED => no rows
         A: INSERT INTO t VALUES (3, 30) => waits
         B: COMMIT => OK
         A => 1 row",
        // What B wrote and then locked with its gap counts once: it has done less than A.
        "A: BEGIN => OK
         A: INSERT INTO t VALUES (4, 40) => 1 row
         A: INSERT INTO t VALUES (5, 51) => ERROR 1062 (23000): Duplicate entry '5' for key 't.PRIMARY'
         B: BEGIN => OK
         B: INSERT INTO t VALUES (0, 0) => 1 row
         B: UPDATE t SET n = n + 1 WHERE n = 7 => waits
         A: SELECT id FROM t WHERE n = 40 FOR UPDATE => 4
         B => ERROR 1213 (40001): Deadlock found when trying to get lock; try restarting transaction",
        // What is said of the next transaction stays said until one looks at a table.
        "A: BEGIN => OK
         A: INSERT INTO t VALUES (4, 40) => 1 row
         B: SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED => OK
         B: SET TRANSACTION ISOLATION LEVEL REPEATABLE READ => OK
         B: SELECT GET_LOCK('b', 0) => 1
         B: UPDATE t SET n = n + 1 WHERE id >= 4 => waits
         A: ROLLBACK => OK
         B => 1 row
         A: BEGIN => OK
         A: INSERT INTO t VALUES (4, 40) => 1 row
         B: UPDATE t SET n = n + 1 WHERE id >= 4 => 1 row",
        // A SAVEPOINT begins no transaction that could not be changed any more, nor does a table that is not there; SESSION is the later word.
        "A: SET autocommit = 0 => OK
         A: SET TRANSACTION ISOLATION LEVEL READ COMMITTED => OK
         A: SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ => OK
         A: SAVEPOINT one => OK
         A: SELECT * FROM w => ERROR 1146 (42S02): Table 'test.w' doesn't exist
         A: SET TRANSACTION ISOLATION LEVEL READ COMMITTED => OK
         A: SELECT n FROM t WHERE id = 1 => 10
         B: UPDATE t SET n = 11 WHERE id = 1 => 1 row
         A: SELECT n FROM t WHERE id = 1 => 11
         A: ROLLBACK TO one => OK
         A: SET TRANSACTION ISOLATION LEVEL READ COMMITTED => ERROR 1568 (25001): Transaction characteristics can't be changed while a transaction is in progress
         A: COMMIT => OK
         A: SET TRANSACTION ISOLATION LEVEL READ COMMITTED => OK
         A: SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ => OK
         A: SELECT n FROM t WHERE id = 1 => 11
         B: UPDATE t SET n = 12 WHERE id = 1 => 1 row
         A: SELECT n FROM t WHERE id = 1 => 11",
        // Nothing is left of the entries of an insert that failed: B has done less than C.
        "A: CREATE TABLE w (id INT PRIMARY KEY, u INT UNIQUE, k INT, v INT, KEY (k)) => OK
         A: INSERT INTO w VALUES (2, 20, 1, 0), (4, 40, 1, 0), (6, 60, 1, 0), (8, 80, 1, 0) => 4 rows
         B: BEGIN => OK
         B: INSERT INTO w VALUES (5, 70, 1, 0), (9, 20, 1, 0) => ERROR 1062 (23000): Duplicate entry '20' for key 'w.u'
         B: INSERT INTO w VALUES (8, 0, 1, 0) => ERROR 1062 (23000): Duplicate entry '8' for key 'w.PRIMARY'
         C: UPDATE w SET v = v + 1 => waits
         B: UPDATE w SET v = v + 1 WHERE id = 2 => ERROR 1213 (40001): Deadlock found when trying to get lock; try restarting transaction
         C => 4 rows",
        // A row that waits for the one that it has met does not see what came meanwhile before it changes that.
        "A: CREATE TABLE w (id INT PRIMARY KEY, u INT UNIQUE) => OK
         A: INSERT INTO w VALUES (4, 40), (6, 60) => 2 rows
         B: BEGIN => OK
         B: SELECT * FROM w WHERE id = 4 FOR UPDATE => (4, 40)
         A: REPLACE INTO w VALUES (1, 40) => waits
         C: INSERT INTO w VALUES (1, 90) => 1 row
         B: COMMIT => OK
         A => ERROR 1062 (23000): Duplicate entry '1' for key 'w.PRIMARY'",
        // READ COMMITTED passes by a row that is deleted and stands for a snapshot alone, whoever has locked it.
        "A: START TRANSACTION WITH CONSISTENT SNAPSHOT => OK
         B: DELETE FROM t WHERE id = 2 => 1 row
         B: BEGIN => OK
         B: SELECT * FROM t WHERE id >= 2 FOR UPDATE => (5, 50)
         C: SELECT * FROM t WHERE id = 2 FOR UPDATE NOWAIT => ERROR 3572 (HY000): Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.
         C: SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED => OK
         C: SELECT * FROM t WHERE id = 2 FOR UPDATE => no rows
         C: SELECT * FROM t WHERE id IN (1, 2) FOR UPDATE => (1, 10)",
        // A row that came and went behind a snapshot's back stands while it lasts.
        "A: START TRANSACTION WITH CONSISTENT SNAPSHOT => OK
         B: INSERT INTO t VALUES (3, 30) => 1 row
         B: DELETE FROM t WHERE id = 3 => 1 row
         B: BEGIN => OK
         B: SELECT * FROM t WHERE id = 3 FOR UPDATE => no rows
         C: INSERT INTO t VALUES (4, 40) => 1 row
         C: SELECT * FROM t WHERE id = 3 FOR UPDATE => waits
         B: COMMIT => OK
         C => no rows",
        // An entry that comes into a gap of its own transaction makes two of it: C has done more than A.
        "A: CREATE TABLE w (id INT PRIMARY KEY, u INT UNIQUE, v INT) => OK
         A: INSERT INTO w VALUES (1, 10, 0), (2, 20, 0), (4, 40, 0), (8, 80, 1) => 4 rows
         C: BEGIN => OK
         C: REPLACE INTO w VALUES (5, 80, 1) => 2 rows
         A: DELETE FROM w WHERE v = 0 => waits
         C: DELETE FROM w WHERE id = 4 => 1 row
         A => ERROR 1213 (40001): Deadlock found when trying to get lock; try restarting transaction",
        // An UPDATE that failed leaves no lock on the entry that it had removed.
        "A: CREATE TABLE w (id INT PRIMARY KEY, u INT UNIQUE) => OK
         A: INSERT INTO w VALUES (6, 60), (8, 80) => 2 rows
         A: BEGIN => OK
         A: UPDATE w SET u = 80 WHERE id = 6 => ERROR 1062 (23000): Duplicate entry '80' for key 'w.u'
         C: INSERT INTO w VALUES (9, 60) => ERROR 1062 (23000): Duplicate entry '60' for key 'w.u'",
        // Of a statement that loses a deadlock outside of a transaction nothing stands, and READ COMMITTED keeps no gap.
        "A: CREATE TABLE w (id INT PRIMARY KEY, u INT UNIQUE, v INT) => OK
         A: INSERT INTO w VALUES (2, 20, 0), (6, 60, 0) => 2 rows
         A: SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED => OK
         A: BEGIN => OK
         A: INSERT INTO w VALUES (1, 90, 0) => 1 row
         B: INSERT INTO w VALUES (4, 90, 0) => waits
         A: UPDATE w SET v = 1 WHERE id > 1 => 2 rows
         A: SELECT id FROM w WHERE v = 7 FOR UPDATE => no rows
         B => ERROR 1213 (40001): Deadlock found when trying to get lock; try restarting transaction
         C: INSERT INTO w VALUES (4, 40, 0) => 1 row",
        // What a transaction had inserted and deleted goes with it, too: those who waited for it go on together.
        "A: BEGIN => OK
         A: INSERT INTO t VALUES (3, 30) => 1 row
         A: DELETE FROM t WHERE id = 3 => 1 row
         B: INSERT INTO t VALUES (3, 31) => waits
         C: INSERT INTO t VALUES (3, 32) => waits
         A: ROLLBACK => OK
         B => 1 row
         C => ERROR 1213 (40001): Deadlock found when trying to get lock; try restarting transaction",
        // Wherever a row waits that has met another, it goes on with that one.
        "A: CREATE TABLE w (id INT PRIMARY KEY, u INT UNIQUE, k INT, KEY (k)) => OK
         A: INSERT INTO w VALUES (2, 20, 20), (8, 80, 20) => 2 rows
         B: BEGIN => OK
         B: SELECT * FROM w WHERE k = 30 FOR UPDATE => no rows
         C: INSERT INTO w VALUES (3, 80, 40) ON DUPLICATE KEY UPDATE k = VALUES(k) => waits
         A: BEGIN => OK
         A: SELECT * FROM w WHERE id = 3 FOR UPDATE => no rows
         B: COMMIT => OK
         C => 2 rows",
        // READ COMMITTED keeps nothing of the lock of a REPLACE on an entry that is gone, nor of the gap before it.
        "A: CREATE TABLE w (id INT PRIMARY KEY, u INT UNIQUE) => OK
         A: INSERT INTO w VALUES (4, 40), (6, 60) => 2 rows
         A: START TRANSACTION WITH CONSISTENT SNAPSHOT => OK
         B: DELETE FROM w WHERE id >= 4 => 2 rows
         B: SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED => OK
         B: BEGIN => OK
         B: REPLACE INTO w VALUES (4, 40) => 1 row
         A: COMMIT => OK
         C: INSERT INTO w VALUES (7, 50) => 1 row",
        // Who waited for a row that stood for a snapshot finds it still when that ends, and writes it in its place.
        "A: START TRANSACTION WITH CONSISTENT SNAPSHOT => OK
         B: DELETE FROM t WHERE id = 5 => 1 row
         B: BEGIN => OK
         B: SELECT * FROM t WHERE id = 4 FOR UPDATE => no rows
         A: SELECT * FROM t WHERE id = 5 FOR UPDATE => no rows
         C: INSERT INTO t VALUES (5, 51) => waits
         A: COMMIT => OK
         C => 1 row",
        "A: CREATE TABLE w (id INT PRIMARY KEY, u INT UNIQUE, k INT) => OK
         A: INSERT INTO w VALUES (3, 10, 0), (4, 40, 0), (6, 60, 0) => 3 rows
         A: BEGIN => OK
         A: SELECT * FROM w WHERE id = 6 FOR UPDATE => (6, 60, 0)
         B: INSERT INTO w VALUES (3, 90, 20), (5, 60, 40) ON DUPLICATE KEY UPDATE k = VALUES(k) => waits
         C: BEGIN => OK
         C: SELECT * FROM w WHERE id = 5 FOR UPDATE => no rows
         A: COMMIT => OK
         B => 4 rows",
        // What was said of the next transaction is true of the whole of it, also where it has waited.
        "A: BEGIN => OK
         A: UPDATE t SET n = 11 WHERE id = 1 => 1 row
         B: SET TRANSACTION ISOLATION LEVEL READ COMMITTED => OK
         B: SELECT id FROM t WHERE n = 7 FOR UPDATE => waits
         C: BEGIN => OK
         C: UPDATE t SET n = 51 WHERE id = 5 => 1 row
         A: COMMIT => OK
         A: INSERT INTO t VALUES (3, 30) => 1 row
         C: COMMIT => OK
         B => no rows",
        // A row that was replaced by itself is locked in every index, whatever else fails.
        "A: CREATE TABLE w (id INT PRIMARY KEY, u INT UNIQUE, k INT) => OK
         A: INSERT INTO w VALUES (4, 40, 7), (6, 60, 7) => 2 rows
         A: BEGIN => OK
         A: REPLACE INTO w VALUES (4, 40, 0) => 2 rows
         A: RELEASE SAVEPOINT a => ERROR 1305 (42000): SAVEPOINT a does not exist
         A: INSERT INTO w VALUES (6, 61, 7) => ERROR 1062 (23000): Duplicate entry '6' for key 'w.PRIMARY'
         B: INSERT INTO w VALUES (9, 40, 20) => waits
         A: ROLLBACK => OK
         B => ERROR 1062 (23000): Duplicate entry '40' for key 'w.u'",
        // A gap before an entry that others wait for is counted by itself: A has done more than B.
        "A: CREATE TABLE w (id INT PRIMARY KEY, k INT NOT NULL, v INT, KEY (k)) => OK
         A: INSERT INTO w VALUES (2, 10, 0), (4, 10, 0), (6, 30, 0) => 3 rows
         B: BEGIN => OK
         B: UPDATE w SET v = 1 WHERE k = 0 => 0 rows
         A: BEGIN => OK
         B: UPDATE w SET v = 1 WHERE id = 6 => 1 row
         A: UPDATE w SET v = 1 WHERE id = 2 => 1 row
         B: DELETE FROM w WHERE k = 10 => waits
         A: SELECT * FROM w WHERE id = 3 FOR UPDATE => no rows
         A: SELECT id FROM w WHERE id >= 0 FOR UPDATE => (2), (4), (6)
         B => ERROR 1213 (40001): Deadlock found when trying to get lock; try restarting transaction",
        // A row that comes back finds its entry of before, and locks it as another's, with the gap behind.
        "A: CREATE TABLE w (id INT PRIMARY KEY, u INT UNIQUE) => OK
         A: INSERT INTO w VALUES (2, 20), (4, 40), (10, 100) => 3 rows
         A: BEGIN => OK
         A: REPLACE INTO w VALUES (4, 40) => 2 rows
         B: INSERT INTO w VALUES (8, 60) => waits
         A: COMMIT => OK
         B => 1 row",
        // The gap before a deleted row reaches over it when the last snapshot that showed it has ended.
        "A: START TRANSACTION WITH CONSISTENT SNAPSHOT => OK
         B: BEGIN => OK
         B: UPDATE t SET n = n + 1 WHERE id = 4 => 0 rows
         C: DELETE FROM t WHERE id >= 5 => 1 row
         A: COMMIT => OK
         A: INSERT INTO t VALUES (5, 1) => waits
         B: COMMIT => OK
         A => 1 row",
        "B: SET TRANSACTION ISOLATION LEVEL READ COMMITTED => OK
         B: ROLLBACK => OK
         B: BEGIN => OK
         B: UPDATE t SET n = n + 1 WHERE id = 4 => 0 rows
         A: INSERT INTO t VALUES (4, 1) => waits
         B: ROLLBACK => OK
         A => 1 row",
        // REPLACE changes the row with the last unique key in place, and locks for itself alone what it meets there.
        "A: CREATE TABLE w (id INT PRIMARY KEY, u INT UNIQUE) => OK
         A: INSERT INTO w VALUES (2, 20), (6, 60), (8, 80) => 3 rows
         A: BEGIN => OK
         A: REPLACE INTO w VALUES (10, 60) => 2 rows
         B: UPDATE w SET u = 80 WHERE id = 2 => waits
         A: ROLLBACK => OK
         B => ERROR 1062 (23000): Duplicate entry '80' for key 'w.u'",
        // At READ COMMITTED a scan passes by what is not committed; a key that is looked up is waited for.
        "A: BEGIN => OK
         A: INSERT INTO t VALUES (7, 70) => 1 row
         B: SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED => OK
         B: UPDATE t SET n = n + 1 WHERE id > 5 => 0 rows
         B: UPDATE t SET n = n + 1 WHERE id IN (7, 1) => waits
         A: ROLLBACK => OK
         B => 1 row",
        // From B the circle is followed along A, whom it met first; it is found when A lets go.
        "A: BEGIN => OK
         A: SELECT * FROM t WHERE id = 3 FOR UPDATE => no rows
         B: BEGIN => OK
         B: UPDATE t SET n = 11 WHERE id = 1 => 1 row
         B: INSERT INTO t VALUES (4, 40) => waits
         C: BEGIN => OK
         C: SELECT * FROM t WHERE id = 4 FOR UPDATE => no rows
         C: UPDATE t SET n = 12 WHERE id = 1 => waits
         A: COMMIT => OK
         C => ERROR 1213 (40001): Deadlock found when trying to get lock; try restarting transaction
         B => 1 row",
        // B has locked the gap after C began to wait for it: A meets C first, and the circle is found at once.
        "A: BEGIN => OK
         A: DELETE FROM t WHERE id = 5 => 1 row
         C: DELETE FROM t WHERE id > 2 => waits
         B: BEGIN => OK
         B: SELECT * FROM t WHERE id = 3 FOR SHARE => no rows
         A: INSERT INTO t VALUES (4, 40) => waits
         C => ERROR 1213 (40001): Deadlock found when trying to get lock; try restarting transaction
         B: COMMIT => OK
         A => 1 row",
        // C, whom B had overtaken, is still before B when it has what it waited for.
        "A: BEGIN => OK
         A: SELECT n FROM t WHERE id = 5 FOR UPDATE => 50
         C: BEGIN => OK
         C: DELETE FROM t WHERE id > 2 => waits
         B: BEGIN => OK
         B: SELECT n FROM t WHERE id = 3 FOR SHARE => no rows
         A: ROLLBACK => OK
         C => 1 row
         A: BEGIN => OK
         A: UPDATE t SET n = 11 WHERE id = 1 => 1 row
         A: INSERT INTO t VALUES (4, 40) => waits
         B: UPDATE t SET n = 12 WHERE id = 1 => waits
         C: COMMIT => OK
         B => ERROR 1213 (40001): Deadlock found when trying to get lock; try restarting transaction
         A => 1 row",
        // A row that came into a locked gap has a gap of its own before it, which READ COMMITTED keeps when the end of the other goes.
        "A: CREATE TABLE w (id INT PRIMARY KEY, u INT UNIQUE) => OK
         A: INSERT INTO w VALUES (4, 40), (10, 100) => 2 rows
         A: SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED => OK
         B: SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED => OK
         B: BEGIN => OK
         A: BEGIN => OK
         A: DELETE FROM w WHERE id > 9 => 1 row
         B: REPLACE INTO w VALUES (5, 100) => waits
         C: INSERT INTO w VALUES (6, 80) => waits
         A: COMMIT => OK
         B => 1 row
         B: COMMIT => OK
         C => 1 row",
        // What stood for a snapshot stands until A, who waited for its transaction, has gone on: then C has locked a gap that is smaller.
        "B: BEGIN => OK
         B: SELECT n FROM t WHERE id = 1 => 10
         C: DELETE FROM t WHERE id = 2 => 1 row
         B: SELECT n FROM t WHERE id = 3 FOR UPDATE => no rows
         B: UPDATE t SET n = 11 WHERE id = 1 => 1 row
         A: INSERT INTO t VALUES (4, 40) => waits
         C: BEGIN => OK
         C: SELECT n FROM t WHERE id = 2 FOR UPDATE => no rows
         B: COMMIT => OK
         A => 1 row
         B: INSERT INTO t VALUES (3, 30) => waits
         C: COMMIT => OK
         B => 1 row",
        // The transaction after one that lost is isolated as that one was, whatever was said for the session meanwhile.
        "A: BEGIN => OK
         A: SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED => OK
         A: UPDATE t SET n = 11 WHERE id = 1 => 1 row
         B: BEGIN => OK
         B: UPDATE t SET n = 21 WHERE id = 2 => 1 row
         B: UPDATE t SET n = 22 WHERE id = 1 => waits
         A: UPDATE t SET n = 22 WHERE id = 2 => ERROR 1213 (40001): Deadlock found when trying to get lock; try restarting transaction
         B => 1 row
         B: COMMIT => OK
         A: BEGIN => OK
         A: SELECT n FROM t WHERE id = 3 FOR UPDATE => no rows
         C: INSERT INTO t VALUES (4, 40) => waits
         A: COMMIT => OK
         C => 1 row
         A: BEGIN => OK
         A: SELECT n FROM t WHERE id = 3 FOR UPDATE => no rows
         C: INSERT INTO t VALUES (3, 30) => 1 row",
        // A waits for B, who had the row first of the others, and C for A: nobody loses before B asks.
        "A: BEGIN => OK
         A: SELECT n FROM t WHERE id = 1 FOR SHARE => 10
         B: BEGIN => OK
         B: SELECT n FROM t WHERE id = 1 FOR SHARE => 10
         C: BEGIN => OK
         C: SELECT n FROM t WHERE id = 1 FOR SHARE => 10
         A: UPDATE t SET n = 11 WHERE id = 1 => waits
         C: UPDATE t SET n = 13 WHERE id = 1 => waits
         B: UPDATE t SET n = 12 WHERE id = 1 => ERROR 1213 (40001): Deadlock found when trying to get lock; try restarting transaction
         C => ERROR 1213 (40001): Deadlock found when trying to get lock; try restarting transaction
         A => 1 row",
        "B: BEGIN => OK
         B: SELECT n FROM t WHERE id = 1 FOR SHARE => 10
         C: BEGIN => OK
         C: SELECT n FROM t WHERE id = 1 FOR SHARE => 10
         A: BEGIN => OK
         A: SELECT n FROM t WHERE id = 1 FOR SHARE => 10
         A: UPDATE t SET n = 11 WHERE id = 1 => waits
         C: UPDATE t SET n = 13 WHERE id = 1 => waits
         B: UPDATE t SET n = 12 WHERE id = 1 => ERROR 1213 (40001): Deadlock found when trying to get lock; try restarting transaction
         C => ERROR 1213 (40001): Deadlock found when trying to get lock; try restarting transaction
         A => 1 row",
        // Two wait for a duplicate that is rolled back: each then keeps the gap from the other.
        "A: BEGIN => OK
         A: INSERT INTO t VALUES (3, 30) => 1 row
         B: INSERT INTO t VALUES (3, 31) => waits
         C: INSERT INTO t VALUES (3, 32) => waits
         A: ROLLBACK => OK
         B => 1 row
         C => ERROR 1213 (40001): Deadlock found when trying to get lock; try restarting transaction",
        // A row is written where it is read: what B did before it waited weighs more than A's lock.
        "A: BEGIN => OK
         A: SELECT * FROM t WHERE id = 5 FOR UPDATE => (5, 50)
         B: DELETE FROM t WHERE id >= 1 => waits
         A: UPDATE t SET n = 0 WHERE id = 1 => ERROR 1213 (40001): Deadlock found when trying to get lock; try restarting transaction
         B => 3 rows",
        // Nobody finds a circle over a row and a name.
        "A: BEGIN => OK
         A: UPDATE t SET n = 11 WHERE id = 1 => 1 row
         B: SELECT GET_LOCK('a', 10) => 1
         B: UPDATE t SET n = 12 WHERE id = 1 => waits
         A: SELECT GET_LOCK('a', 5) => waits
         +5000
         A => 0
         A: ROLLBACK => OK
         B => 1 row",
        "A: SET autocommit = 0 => OK
         A: SAVEPOINT one => OK
         A: UPDATE t SET n = 11 WHERE id = 1 => 1 row
         B: UPDATE t SET n = 12 WHERE id = 1 => waits
         A: ROLLBACK TO one => OK
         B => 1 row",
        "A: SELECT GET_LOCK('a', 10) => 1
         B: SELECT GET_LOCK('a', 0) => 0
         B: SELECT GET_LOCK('a', 10), IS_FREE_LOCK('a') => waits
         C: SELECT GET_LOCK('A', 1) => waits
         +1000
         C => 0
         A: SELECT RELEASE_LOCK('a') => 1
         B => (1, 0)
         A: SELECT RELEASE_LOCK('a'), IS_USED_LOCK('a'), RELEASE_LOCK('b') => (0, 1, NULL)",
        "A: SET autocommit = 0 => OK
         A: INSERT INTO t VALUES (7, 70) => 1 row
         A: SAVEPOINT one => OK
         A: INSERT INTO t VALUES (8, 80) => 1 row
         A: ROLLBACK TO one => OK
         A: ROLLBACK TO two => ERROR 1305 (42000): SAVEPOINT two does not exist
         B: SELECT COUNT(*) FROM t => 3
         A: COMMIT => OK
         B: SELECT COUNT(*) FROM t => 4",
    ];
    for script in scripts {
        check(&format!("{table}{script}"));
    }
}

#[test]
fn replies_are_printed_as_the_mysql_client_prints_them() {
    let mut database = Database::default();
    let mut print = |text: &str| {
        let statement = Statement::parse(text).expect(text);
        let input = DatabaseInput::Statement {
            connection: ConnectionId(0),
            statement: &statement,
            parameters: &[],
            now: 0,
        };
        let replies = database.apply(input).replies;
        replies.first().expect(text).1.print_mysql()
    };
    let cases = [
        (
            "DROP TABLE IF EXISTS t",
            "Query OK, 0 rows affected, 1 warning",
        ),
        (
            "SHOW WARNINGS",
            "+-------+------+------------------------+\n\
             | Level | Code | Message                |\n\
             +-------+------+------------------------+\n\
             | Note  | 1051 | Unknown table 'test.t' |\n\
             +-------+------+------------------------+\n\
             1 row in set",
        ),
        (
            "CREATE TABLE t (id INT PRIMARY KEY, qty TINYINT)",
            "Query OK, 0 rows affected",
        ),
        (
            "INSERT IGNORE INTO t VALUES (1, 300)",
            "Query OK, 1 row affected, 1 warning",
        ),
        ("BEGIN", "Query OK, 0 rows affected"),
        (
            "SELECT @@warning_count",
            "+-----------------+\n| @@warning_count |\n+-----------------+\n|               1 |\n+-----------------+\n1 row in set",
        ),
        (
            "SELECT RELEASE_LOCK('x'), 1 AS number, 'a' AS word",
            "+-------------------+--------+------+\n\
             | RELEASE_LOCK('x') | number | word |\n\
             +-------------------+--------+------+\n\
             |              NULL |      1 | a    |\n\
             +-------------------+--------+------+\n\
             1 row in set",
        ),
        (
            "INSERT IGNORE INTO t VALUES (1, 1), (2, 2)",
            "Query OK, 1 row affected, 1 warning\nRecords: 2  Duplicates: 1  Warnings: 1",
        ),
        (
            "SELECT id, qty FROM t\\G",
            "*************************** 1. row ***************************\n id: 1\nqty: 127\n\
             *************************** 2. row ***************************\n id: 2\nqty: 2\n2 rows in set",
        ),
        ("SELECT id FROM t WHERE 'a' = 1", "Empty set, 2 warnings"),
        (
            "SHOW COUNT(*) ERRORS",
            "+-----------------------+\n| @@session.error_count |\n+-----------------------+\n|                     0 |\n+-----------------------+\n1 row in set",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(print(text), expected, "{text}");
    }
}

#[test]
fn a_write_tells_what_each_condition_said() {
    let mut database = Database::default();
    run(
        &mut database,
        "A: CREATE TABLE inventory (sku VARCHAR(32) PRIMARY KEY, qty INT NOT NULL, fence_token BIGINT) => OK
         A: INSERT INTO inventory VALUES ('sku-1', 10, 2) => 1 row",
    );
    let statement = Statement::parse(
        "UPDATE inventory SET qty = qty - 1, fence_token = {token} WHERE sku = 'sku-1' AND qty >= 1 AND fence_token < {token}",
    )
    .unwrap();
    assert_eq!(statement.variables(), ["token", "token"]);
    let output = database.apply(DatabaseInput::Statement {
        connection: ConnectionId(0),
        statement: &statement,
        parameters: &[("token".into(), Value::Integer(1))],
        now: 0,
    });
    let [DatabaseFact::Write(fact)] = output.facts.as_slice() else {
        panic!("{:?}", output.facts)
    };
    assert_eq!(fact.key_conditions, ["sku = 'sku-1'"]);
    let texts: Vec<_> = fact
        .conditions
        .iter()
        .map(|condition| condition.text.as_str())
        .collect();
    assert_eq!(texts, ["qty >= 1", "fence_token < 1"]);
    assert_eq!(fact.conditions[1].columns, ["fence_token"]);
    let [row] = fact.rows.as_slice() else {
        panic!("{:?}", fact.rows)
    };
    assert_eq!(row.outcomes, [Some(true), Some(false)]);
    assert!(!row.matched && !row.changed);
    assert_eq!(row.before("qty"), Some(&Value::Integer(10)));
    assert_eq!(fact.assigned, ["qty", "fence_token"]);
}

#[test]
fn what_the_playground_lacks_is_refused_by_name_and_nothing_is_done() {
    let mut database = Database::default();
    run(
        &mut database,
        "A: CREATE TABLE t (id INT PRIMARY KEY, n INT, v VARCHAR(9)) => OK
         A: CREATE TABLE u (id INT PRIMARY KEY, n INT) => OK
         A: INSERT INTO t VALUES (1, 2, 'a'), (2, 3, 'b') => 2 rows
         B: BEGIN => OK
         B: UPDATE u SET n = 1 WHERE id = 1 => 0 rows",
    );
    for line in include_str!("../../../tests/cases/refused.txt").lines() {
        let (sql, name) = line.rsplit_once(" => ").expect("a statement and its name");
        for connection in ["A", "B"] {
            run(
                &mut database,
                &format!(
                    "{connection}: {sql} => ERROR 1235 (42000): The playground doesn't support '{name}'"
                ),
            );
        }
    }
    // Tables are as they were, and B's transaction is open: none of these has committed it, as definitions do in MySQL.
    run(
        &mut database,
        "A: SHOW TABLES => ('t'), ('u')
         A: SELECT * FROM t => (1, 2, 'a'), (2, 3, 'b')
         A: INSERT INTO u VALUES (1, 1) => waits
         B: ROLLBACK => OK
         A: => 1 row",
    );
}

#[test]
fn the_manual_lists_every_error_that_mariadb_words_otherwise() {
    let manual = include_str!("../../../DATABASE.md");
    for (mysql, mariadb, what) in super::WHERE_MYSQL_DIFFERS {
        let told = manual.lines().any(|line| {
            let mut cells = line.split('|').skip(1).map(str::trim);
            let has = |cell: Option<&str>, code: &u16| {
                cell.is_some_and(|cell| cell.split(", ").any(|one| one == code.to_string()))
            };
            has(cells.next(), mysql) && has(cells.next(), mariadb)
        });
        assert!(told, "{mysql} {mariadb} {what}");
    }
}

#[test]
fn variables_take_what_a_query_finds() {
    check(
        "A: CREATE TABLE t (id INT PRIMARY KEY, n INT) => OK
         A: INSERT INTO t VALUES (1, 5), (2, 6) => 2 rows
         A: SELECT n, id INTO @n, @ID FROM t WHERE id = 2 FOR UPDATE => 1 row
         A: SELECT @n, @id => (6, 2)
         A: SELECT id FROM t WHERE id = 1 INTO @n => 1 row
         A: SELECT @@warning_count, ROW_COUNT() => (0, 1)
         # As MySQL, and not as MariaDB, which warns of INTO wherever it stands behind FROM.
         A: SELECT id FROM t WHERE id = 1 INTO @n FOR UPDATE => 1 row
         A: SHOW COUNT(*) WARNINGS => 1
         A: SELECT n INTO @n FROM t WHERE id = 3 => 0 rows
         A: SHOW WARNINGS => ('Warning', 1329, 'No data - zero rows fetched, selected, or processed')
         A: SELECT n INTO @n FROM t ORDER BY id => ERROR 1172 (42000): Result consisted of more than one row
         A: SELECT @n => 5
         A: SELECT * INTO @n FROM t => ERROR 1222 (21000): The used SELECT statements have a different number of columns
         A: SELECT 1 INTO n => ERROR 1327 (42000): Undeclared variable: n
         A: SELECT 1 INTO @n FROM t INTO @n => ERROR 3953 (HY000): Multiple INTO clauses in one query block.
         A: SELECT (SELECT 1 INTO @n) => ERROR 3954 (HY000): Misplaced INTO clause, INTO is not allowed inside subqueries, and must be placed at end of UNION clauses.
         # It waits for a lock, and the number of columns is wrong before that.
         B: BEGIN => OK
         B: UPDATE t SET n = n + 1 WHERE id = 1 => 1 row
         A: SELECT * INTO @n FROM t WHERE id = 1 FOR UPDATE => ERROR 1222 (21000): The used SELECT statements have a different number of columns
         A: SELECT n INTO @n FROM t WHERE id = 1 FOR UPDATE => waits
         B: COMMIT => OK
         A: => 1 row
         A: SELECT @n => 6",
    );
}

#[test]
fn a_row_that_was_to_be_inserted_has_a_name_and_its_columns_too() {
    check(
        "A: CREATE TABLE t (id INT PRIMARY KEY, n INT, v VARCHAR(9)) => OK
         A: INSERT INTO t VALUES (1, 5, 'a') => 1 row
         A: INSERT INTO t (id, n) VALUES (1, 2) AS new(a, b) ON DUPLICATE KEY UPDATE n = n + b, v = IF(new.b IN (1, 2), CONCAT(v, a), v) => 2 rows
         A: SELECT * FROM t => (1, 7, 'a1')
         A: INSERT INTO t SET id = 1, n = 3 AS new ON DUPLICATE KEY UPDATE n = new.n + t.n => 2 rows
         A: SELECT n FROM t => 10
         A: INSERT INTO t (id, n) VALUES (1, 2) AS new ON DUPLICATE KEY UPDATE n = n + 1 => ERROR 1052 (23000): Column 'n' in field list is ambiguous
         A: INSERT INTO t (id, n) VALUES (1, 2) AS new ON DUPLICATE KEY UPDATE v = new.v => ERROR 1054 (42S22): Unknown column 'new.v' in 'field list'
         A: INSERT INTO t (id, n) VALUES (1, 2) AS t ON DUPLICATE KEY UPDATE n = 1 => ERROR 1066 (42000): Not unique table/alias: 't'
         A: INSERT INTO t (id, n) VALUES (1, 2) AS new(a) ON DUPLICATE KEY UPDATE n = 1 => ERROR 1353 (HY000): In definition of view, derived table or common table expression, SELECT list and column names list have different column counts",
    );
}

#[test]
fn other_databases_and_variables_are_known_or_not_as_in_mysql() {
    check(
        "A: CREATE TABLE t (id INT PRIMARY KEY, n INT) => OK
         A: USE other => ERROR 1049 (42000): Unknown database 'other'
         A: USE test => OK
         A: SELECT * FROM other.t => ERROR 1049 (42000): Unknown database 'other'
         A: SELECT * FROM TEST.t => ERROR 1049 (42000): Unknown database 'TEST'
         A: SELECT test.t.*, test.t.id FROM test.t => no rows
         A: SELECT other.t.id FROM t => ERROR 1054 (42S22): Unknown column 'other.t.id' in 'field list'
         A: SHOW TABLES FROM test LIKE 't' => 't'
         A: DESC t 'N%' => ('n', 'int', 'YES', '', NULL, '')
         A: EXPLAIN test.t id => ('id', 'int', 'NO', 'PRI', NULL, '')
         A: SET SESSION innodb_lock_wait_timeout = 2 => OK
         A: SELECT @@GLOBAL.innodb_lock_wait_timeout, @@session.innodb_lock_wait_timeout => (50, 2)
         A: SHOW GLOBAL VARIABLES LIKE 'innodb_lock%' => ('innodb_lock_wait_timeout', '50')
         A: SELECT @@SESSION.version => ERROR 1238 (HY000): Variable 'version' is a GLOBAL variable
         A: SELECT @@GLOBAL.warning_count => ERROR 1238 (HY000): Variable 'warning_count' is a SESSION variable
         A: SELECT @@GLOBAL.nope => ERROR 1193 (HY000): Unknown system variable 'nope'
         A: SET innodb_deadlock_detect = 0 => ERROR 1229 (HY000): Variable 'innodb_deadlock_detect' is a GLOBAL variable and should be set with SET GLOBAL
         A: SET SESSION innodb_lock_wait_timeout = 'x' => ERROR 1232 (42000): Incorrect argument type to variable 'innodb_lock_wait_timeout'
         A: SET SESSION innodb_lock_wait_timeout = 0 => OK
         A: SHOW WARNINGS => ('Warning', 1292, 'Truncated incorrect innodb_lock_wait_timeout value: ''0''')
         # Said of the next transaction alone.
         A: SET TRANSACTION READ ONLY => OK
         A: INSERT INTO t VALUES (1, 1) => ERROR 1792 (25006): Cannot execute statement in a READ ONLY transaction.
         A: INSERT INTO t VALUES (1, 1) => 1 row
         A: SET SESSION TRANSACTION READ ONLY => OK
         A: SELECT @@transaction_read_only => 1
         A: START TRANSACTION READ WRITE => OK
         A: INSERT INTO t VALUES (2, 2) => 1 row
         A: COMMIT => OK
         A: SET transaction_read_only = 0 => OK
         # MySQL does not read in a subquery what the statement changes; MariaDB does.
         A: UPDATE t SET n = 5 WHERE id = (SELECT MAX(id) FROM t) => ERROR 1093 (HY000): You can't specify target table 't' for update in FROM clause
         A: DELETE FROM t AS x WHERE id IN (SELECT id FROM t) => ERROR 1093 (HY000): You can't specify target table 'x' for update in FROM clause
         A: INSERT INTO t VALUES ((SELECT MAX(id) + 1 FROM t), 1) => ERROR 1093 (HY000): You can't specify target table 't' for update in FROM clause
         A: INSERT INTO t SELECT MAX(id) + 1, 1 FROM t => 1 row
         A: UPDATE t SET n = 5 WHERE id = (SELECT m FROM (SELECT MAX(id) AS m FROM t) AS d) => 1 row
         A: DELETE FROM t WHERE id IN (SELECT id FROM u LIMIT 1) => ERROR 1235 (42000): This version of MySQL doesn't yet support 'LIMIT & IN/ALL/ANY/SOME subquery'
         # And of a lock's name it does not take NULL.
         A: SELECT RELEASE_LOCK(NULL) => ERROR 3057 (42000): Incorrect user-level lock name 'NULL'.
         A: SELECT UNIX_TIMESTAMP('1969-01-01'), NOW(7) => ERROR 1426 (42000): Too-big precision 7 specified for 'now'. Maximum is 6.",
    );
}
