//! Random transactions: a table or two with every kind of index, and three connections that read,
//! lock and write a few rows which lie close together, so that they meet.

use super::random::{Random, Step};

/// How many connections take part.
pub const CONNECTIONS: usize = 3;

/// The tables to choose from. Each has an `id`, a `u`, a `k` and a `v`, all of them numbers.
const TABLES: [&str; 6] = [
    "id INT PRIMARY KEY, u INT, k INT, v INT NOT NULL DEFAULT 0",
    "id INT PRIMARY KEY, u INT NOT NULL, k INT, v INT NOT NULL DEFAULT 0, UNIQUE KEY u (u)",
    "id INT PRIMARY KEY, u INT, k INT NOT NULL, v INT NOT NULL DEFAULT 0, KEY k (k)",
    "id INT PRIMARY KEY, u INT, k INT, v INT, UNIQUE KEY u (u), KEY k (k)",
    "id INT NOT NULL, u INT NOT NULL, k INT, v INT NOT NULL DEFAULT 0, PRIMARY KEY (id, u)",
    "id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, u INT, k INT, v INT NOT NULL DEFAULT 0, UNIQUE KEY u (u)",
];

pub struct Transactions {
    random: Random,
    table: usize,
    /// Whether to hold rows by reading them in different orders, or to keep to what real code does.
    tame: bool,
    /// Whether everybody reads what is committed, throughout.
    committed: bool,
    /// How long GET_LOCK waits, in seconds.
    patience: u64,
}

impl Transactions {
    pub fn new(seed: u64, patience: u64) -> Transactions {
        let mut random = Random::new(seed);
        let table = random.below(TABLES.len());
        let tame = random.one_in(2);
        let committed = random.one_in(3);
        Transactions {
            random,
            table,
            tame,
            committed,
            patience,
        }
    }

    /// The table with its rows, by the first connection, then steps of all.
    pub fn sequence(&mut self) -> Vec<Step> {
        let mut steps = vec![Step {
            connection: 0,
            sql: format!("CREATE TABLE t ({})", TABLES[self.table]),
        }];
        let mut rows = Vec::new();
        for number in 1..6 {
            let k = 10 * self.random.below(5);
            if number < 3 || !self.random.one_in(4) {
                rows.push(format!("({}, {}, {k}, 0)", number * 2, number * 20));
            }
        }
        // So many others that an index is worth its while.
        rows.extend((50..60).map(|number| format!("({number}, {number}0, {number}0, 9)")));
        steps.push(Step {
            connection: 0,
            sql: format!("INSERT INTO t VALUES {}", rows.join(", ")),
        });
        for connection in 0..CONNECTIONS {
            if self.committed || self.random.one_in(6) {
                let level = "READ COMMITTED";
                steps.push(Step {
                    connection,
                    sql: format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"),
                });
            }
            if self.random.one_in(4) {
                steps.push(Step {
                    connection,
                    sql: "SET autocommit = 0".into(),
                });
            }
        }
        for _ in 0..26 {
            let connection = self.random.below(CONNECTIONS);
            let mut sql = self.statement();
            // Where one reads what is committed MariaDB takes a snapshot that nobody sees but purge.
            let before = steps.iter().filter(|step| step.connection == connection);
            let mut levels = before.filter(|step| step.sql.ends_with("READ COMMITTED"));
            if sql.ends_with("SNAPSHOT") && levels.next().is_some() {
                sql = "START TRANSACTION".into();
            }
            steps.push(Step { connection, sql });
        }
        steps
    }

    fn statement(&mut self) -> String {
        match self.random.below(40) {
            0..=5 => self
                .random
                .of("BEGIN|BEGIN|BEGIN|START TRANSACTION|START TRANSACTION WITH CONSISTENT SNAPSHOT")
                .into(),
            6..=8 => self
                .random
                .of("COMMIT|COMMIT|COMMIT|COMMIT AND CHAIN")
                .into(),
            9 | 10 => self
                .random
                .of("ROLLBACK|ROLLBACK|ROLLBACK AND CHAIN")
                .into(),
            11 => self
                .random
                .of("SAVEPOINT a|SAVEPOINT b|ROLLBACK TO a|ROLLBACK TO SAVEPOINT b|RELEASE SAVEPOINT a")
                .into(),
            12 if self.committed => self.random.of("SET autocommit = 0|SET autocommit = 1").into(),
            12 => self
                .random
                .of("SET autocommit = 0|SET autocommit = 1|SET TRANSACTION ISOLATION LEVEL READ COMMITTED|SET TRANSACTION ISOLATION LEVEL REPEATABLE READ|SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED|SET @@session.transaction_isolation = 'REPEATABLE-READ'")
                .into(),
            13 | 14 => self.named_lock(),
            15 => self
                .random
                .of("SELECT ROW_COUNT()|SELECT LAST_INSERT_ID()|SELECT @@autocommit")
                .into(),
            16..=18 => format!("SELECT * FROM t{}", self.condition(false)),
            19..=25 => self.locking_read(),
            26..=31 => self.insert(),
            32..=36 => self.update(),
            _ => format!("DELETE FROM t{}", self.condition(true)),
        }
    }

    fn named_lock(&mut self) -> String {
        let patience = self.patience;
        let name = self.random.of("a|b");
        match self.random.below(8) {
            0..=2 => format!("SELECT GET_LOCK('{name}', {patience})"),
            3 => format!("SELECT GET_LOCK('{name}', 0)"),
            4 | 5 => format!("SELECT RELEASE_LOCK('{name}')"),
            6 => format!("SELECT IS_FREE_LOCK('{name}')"),
            _ => "SELECT RELEASE_ALL_LOCKS()".into(),
        }
    }

    fn id(&mut self) -> usize {
        self.random.below(13)
    }

    fn unique(&mut self) -> usize {
        10 * self.random.below(12)
    }

    /// Where rows are locked, two kinds are left out: of a range with an upper end MariaDB locks the row
    /// behind it too, and of a row that is found by a unique key other than the primary one the gap.
    fn condition(&mut self, locks: bool) -> String {
        let id = self.id();
        match self.random.below(16) {
            0..=6 => format!(" WHERE id = {id}"),
            7 => format!(" WHERE id = {id} AND v = {}", self.random.below(3)),
            8 if self.committed || !locks => format!(" WHERE u = {}", self.unique()),
            9 => format!(" WHERE k = {}", 10 * self.random.below(5)),
            10 if !locks => format!(" WHERE id {} {id}", self.random.of("<|<=")),
            11 if !locks => format!(" WHERE id BETWEEN {id} AND {}", id + self.random.below(4)),
            10 | 11 => format!(" WHERE id {} {id}", self.random.of(">|>=")),
            12 => format!(" WHERE id IN ({id}, {})", self.id()),
            13 => format!(" WHERE v = {}", self.random.below(3)),
            14 if !self.tame => String::new(),
            _ => format!(" WHERE id = {id} AND v >= {}", self.random.below(2)),
        }
    }

    fn locking_read(&mut self) -> String {
        let mut condition = self.condition(true);
        let limit = match self.random.below(5) {
            0 => " ORDER BY id LIMIT 1",
            _ => "",
        };
        let lock = self.random.of("FOR UPDATE|FOR UPDATE|FOR UPDATE|FOR SHARE|FOR UPDATE NOWAIT|FOR UPDATE SKIP LOCKED|FOR SHARE SKIP LOCKED|FOR SHARE NOWAIT");
        // A transaction that has written nothing keeps shared locks on rows that did not match, in
        // MariaDB, when those rows are old.
        let searches = ["u ", "k ", "v "]
            .iter()
            .any(|column| condition.contains(column));
        if lock.contains("SHARE") && searches {
            condition = format!(" WHERE id = {}", self.id());
        }
        format!("SELECT * FROM t{condition}{limit} {lock}")
    }

    fn insert(&mut self) -> String {
        let row = |writer: &mut Transactions| {
            let id = match writer.random.below(12) {
                0 if writer.table == 5 => "NULL".to_string(),
                _ => writer.id().max(1).to_string(),
            };
            let u = writer.unique();
            format!("({id}, {u}, {}, 0)", 10 * writer.random.below(5))
        };
        let mut rows = vec![row(self)];
        if self.random.one_in(6) {
            rows.push(row(self));
        }
        let single = rows[0].clone();
        let numbered = single.starts_with("(NULL");
        let rows = rows.join(", ");
        match self.random.below(10) {
            0 => format!("INSERT IGNORE INTO t VALUES {rows}"),
            // MariaDB refuses rows behind one that has taken a number and replaced another.
            1 if numbered => format!("REPLACE INTO t VALUES {single}"),
            1 => format!("REPLACE INTO t VALUES {rows}"),
            2 | 3 => format!("INSERT INTO t VALUES {rows} ON DUPLICATE KEY UPDATE v = v + 1"),
            4 => format!("INSERT INTO t VALUES {rows} ON DUPLICATE KEY UPDATE k = VALUES(k)"),
            _ => format!("INSERT INTO t VALUES {rows}"),
        }
    }

    fn update(&mut self) -> String {
        let mut condition = self.condition(true);
        let assignment = match self.random.below(12) {
            0 if condition.starts_with(" WHERE id = ") => format!("id = {}", self.id()),
            1 if condition.starts_with(" WHERE id = ") => format!("u = {}", self.unique()),
            2 | 3 => format!("k = {}", 10 * self.random.below(5)),
            4 => "k = k + 10".into(),
            5 => "v = v".into(),
            _ => "v = v + 1".into(),
        };
        // The other rows keep their `k`, or the index is worth nothing.
        if assignment.starts_with('k') && (condition.is_empty() || condition.contains('>')) {
            condition += if condition.is_empty() {
                " WHERE"
            } else {
                " AND"
            };
            condition += " v < 9";
        }
        let limit = match self.random.below(6) {
            0 => " ORDER BY id LIMIT 1",
            _ => "",
        };
        format!("UPDATE t SET {assignment}{condition}{limit}")
    }
}
