//! Random tables and statements: every column type, every kind of expression, values at the edges.

use super::random::{Random, Step};

#[derive(Clone, Copy, PartialEq)]
enum Sort {
    Number,
    Text,
    Time,
}

struct Column {
    name: String,
    sort: Sort,
    /// `INT`, `VARCHAR(8)`, ...
    kind: &'static str,
}

struct Table {
    name: String,
    columns: Vec<Column>,
    /// The columns that put rows in one order.
    order: String,
}

const NUMBERS: [&str; 13] = [
    "TINYINT",
    "TINYINT UNSIGNED",
    "SMALLINT",
    "MEDIUMINT UNSIGNED",
    "INT",
    "INT",
    "INT UNSIGNED",
    "BIGINT",
    "BIGINT UNSIGNED",
    "BOOLEAN",
    "DECIMAL(8,2)",
    "DECIMAL(20,0) UNSIGNED",
    "DOUBLE",
];
const TEXTS: [&str; 4] = ["VARCHAR(8)", "VARCHAR(20)", "CHAR(5)", "TEXT"];
const TIMES: [&str; 3] = ["DATETIME", "DATETIME(3)", "TIMESTAMP(6)"];

pub struct Writer {
    random: Random,
    tables: Vec<Table>,
    /// Whether strings may be compared with numbers: in statements that write, MariaDB forgives a
    /// lossy comparison that it works out beforehand, and every one in a DELETE; MySQL does not.
    mixes: bool,
    /// Whether to divide: by zero it is an error in a statement that writes, but in MariaDB not in a
    /// WHERE.
    divides: bool,
}

impl Writer {
    pub fn new(seed: u64) -> Writer {
        Writer {
            random: Random::new(seed),
            tables: Vec::new(),
            mixes: false,
            divides: false,
        }
    }

    /// Tables with rows, then statements about them, all on one connection.
    pub fn sequence(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        for number in 0..=self.random.below(2) {
            steps.push(self.create(number));
            for _ in 0..=self.random.below(4) {
                let table = self.tables.len() - 1;
                steps.push(self.insert(table));
            }
        }
        for _ in 0..40 {
            steps.push(self.statement());
        }
        steps
            .into_iter()
            .map(|sql| Step { connection: 0, sql })
            .collect()
    }

    fn of<'a>(&mut self, words: &'a str) -> &'a str {
        self.random.of(words)
    }

    fn create(&mut self, number: usize) -> String {
        let name = format!("t{number}");
        let mut columns = Vec::new();
        let mut lines = Vec::new();
        let key = self.random.below(7);
        let mut order = "id".to_string();
        match key {
            0 => lines.push("id INT AUTO_INCREMENT PRIMARY KEY".to_string()),
            1 => lines.push("id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT".to_string()),
            2 => lines.push("id VARCHAR(6) PRIMARY KEY".to_string()),
            3 => lines.push("id SMALLINT NOT NULL".to_string()),
            4 => lines.push("id INT NOT NULL UNIQUE".to_string()),
            _ => lines.push("id INT PRIMARY KEY".to_string()),
        }
        let sort = if key == 2 { Sort::Text } else { Sort::Number };
        columns.push(Column {
            name: "id".into(),
            sort,
            kind: if key == 2 { "VARCHAR(6)" } else { "INT" },
        });
        for column in 0..2 + self.random.below(4) {
            let name = format!("c{column}");
            let (kind, sort) = match self.random.below(8) {
                0 | 1 => (TEXTS[self.random.below(TEXTS.len())], Sort::Text),
                2 => (TIMES[self.random.below(TIMES.len())], Sort::Time),
                _ => (NUMBERS[self.random.below(NUMBERS.len())], Sort::Number),
            };
            let mut line = format!("{name} {kind}");
            line.push_str(match self.random.below(3) {
                _ if kind.starts_with("TIMESTAMP") => " NULL",
                0 => " NOT NULL",
                1 => " NULL",
                _ => "",
            });
            if kind != "TEXT" && self.random.one_in(3) {
                line.push_str(match sort {
                    Sort::Number => " DEFAULT 1",
                    Sort::Text => " DEFAULT 'd'",
                    Sort::Time => " DEFAULT '2026-01-01 10:00:00'",
                });
            }
            lines.push(line);
            columns.push(Column { name, sort, kind });
        }
        match key {
            1 => lines.push("PRIMARY KEY (id)".into()),
            3 => {
                lines.push("PRIMARY KEY (id, c0)".into());
                order = "id, c0".into();
                if lines[1].contains("TEXT") || lines[1].contains("TIMESTAMP") {
                    lines[1] = "c0 INT NOT NULL".into();
                    columns[1] = Column {
                        name: "c0".into(),
                        sort: Sort::Number,
                        kind: "INT",
                    };
                }
                lines[1] = lines[1]
                    .replace(" NULL", " NOT NULL")
                    .replace(" NOT NOT", " NOT");
            }
            _ => {}
        }
        if self.random.one_in(3) && columns[1].kind != "TEXT" && key != 3 {
            lines.push("UNIQUE KEY u (c0)".into());
        }
        if self.random.one_in(3) && columns[2].kind != "TEXT" {
            lines.push("KEY k (c1)".into());
        }
        if self.random.one_in(4) && columns[2].sort == Sort::Number {
            lines.push("CHECK (c1 < 100)".into());
        }
        self.tables.push(Table {
            name: name.clone(),
            columns,
            order,
        });
        format!("CREATE TABLE {name} ({})", lines.join(", "))
    }

    // --- values ---

    fn number(&mut self) -> String {
        match self.random.below(14) {
            0 => self.of("127|128|-128|-129|255|256|32767|65535|8388607|16777216"),
            1 => self.of("2147483647|-2147483648|2147483648|4294967295|4294967296"),
            2 => self.of(
                "9223372036854775807|-9223372036854775808|9223372036854775808|18446744073709551615",
            ),
            3 => self.of("1.5|-2.25|0.005|12345.678|-0.5|2.5|99.99"),
            4 => self.of("1e3|-2.5e0|1e-3|1.5e2"),
            5 => "NULL",
            6 => self.of("TRUE|FALSE"),
            _ => return format!("{}", self.random.below(8) as i64 - 2),
        }
        .to_string()
    }

    /// One for expressions: that arithmetic does not take out of range at once, and whose type
    /// MariaDB and MySQL agree on.
    fn small_number(&mut self) -> String {
        loop {
            let number = self.number();
            if number.len() < 16 && !number.contains(['e', 'U', 'S']) {
                return number;
            }
        }
    }

    fn text(&mut self) -> String {
        self.of("'a'|'A'|'b'|'ab'|'a '|' a'|''|'10'|'9'|'0'|'-1'|'1.5'|'7up'|'x1'|'abcdefghi'|'sku-1'|'SKU-1'|'1e2'|'%a_'|'é'|'O''Neil'|NULL")
            .to_string()
    }

    fn time(&mut self) -> String {
        self.of("'2026-01-01 10:00:00'|'2026-01-31 23:59:59'|'2026-02-28'|'2025-12-31 00:00:00'|NOW()|NOW()|NULL|'2026-01-01T10:00:01'|'nonsense'|'2026-02-30'|20260101100000")
            .to_string()
    }

    fn value(&mut self, sort: Sort) -> String {
        // Now and then a value of another sort.
        match (sort, self.random.below(12)) {
            (Sort::Number, 0) => self
                .of("'5'|'12'|'-3'|'1.5'|'abc'|'7up'|''|' 4'")
                .to_string(),
            (Sort::Text, 0) => self.number(),
            (Sort::Number, _) => self.number(),
            (Sort::Text, _) => self.text(),
            (Sort::Time, _) => self.time(),
        }
    }

    // --- expressions ---

    fn column_of(&mut self, table: usize, sort: Sort) -> Option<String> {
        let fitting: Vec<String> = self
            .tables
            .get(table)?
            .columns
            .iter()
            .filter(|column| column.sort == sort)
            .map(|column| column.name.clone())
            .collect();
        if fitting.is_empty() {
            None
        } else {
            Some(fitting[self.random.below(fitting.len())].clone())
        }
    }

    /// A number, from the columns of the table if there is one.
    fn numeric(&mut self, table: usize, depth: usize) -> String {
        if depth == 0 || self.random.one_in(4) {
            let column = self.column_of(table, Sort::Number);
            return match column {
                Some(column) if !self.random.one_in(3) => column,
                _ => self.small_number(),
            };
        }
        let depth = depth - 1;
        let n = |writer: &mut Writer| writer.numeric(table, depth);
        match self.random.below(22) {
            0..=2 => format!("({} {} {})", n(self), self.of("+|-|*"), n(self)),
            3 => format!(
                "{} {} {}",
                n(self),
                if self.divides {
                    self.of("+|-|*|DIV")
                } else {
                    "+"
                },
                n(self)
            ),
            // MariaDB has quotients of -0 where every digit that is held is 0.
            4 if self.divides => loop {
                let divisor = self.small_number();
                if divisor.len() < 9 {
                    break format!("({} / {divisor})", n(self));
                }
            },
            5 => format!("-({})", n(self)),
            6 => format!("ABS({})", n(self)),
            7 => format!("GREATEST({}, {})", n(self), n(self)),
            8 => format!("LEAST({}, {}, {})", n(self), n(self), n(self)),
            9 => format!("COALESCE({}, {})", n(self), n(self)),
            10 => format!("IFNULL({}, {})", n(self), n(self)),
            11 => format!(
                "IF({}, {}, {})",
                self.boolean(table, depth),
                n(self),
                n(self)
            ),
            12 => format!(
                "CASE WHEN {} THEN {} ELSE {} END",
                self.boolean(table, depth),
                n(self),
                n(self)
            ),
            13 => format!("CASE {} WHEN {} THEN {} END", n(self), n(self), n(self)),
            14 if self.mixes => {
                format!(
                    "{}(CAST(ABS({}) AS DECIMAL(10,2)))",
                    self.of("FLOOR|CEIL|ROUND"),
                    n(self)
                )
            }
            14 => format!("SIGN({})", n(self)),
            15 if self.mixes => {
                let digits = self.of("0|1|2|-1").to_string();
                format!(
                    "{}(CAST(ABS({}) AS DECIMAL(10,2)), {digits})",
                    self.of("ROUND|TRUNCATE"),
                    n(self)
                )
            }
            15 => format!(
                "{}(12.375, {})",
                self.of("ROUND|TRUNCATE"),
                self.of("0|1|2|-1")
            ),
            16 => format!(
                "CAST(ABS({}) AS {})",
                n(self),
                if self.mixes {
                    self.of("SIGNED|DECIMAL(10,2)|DECIMAL(6,1)")
                } else {
                    "SIGNED"
                }
            ),
            17 => format!(
                "{}({})",
                self.of("LENGTH|CHAR_LENGTH"),
                self.textual(table, depth)
            ),
            18 => format!(
                "({} {} {})",
                self.random.below(99),
                self.of("&|^"),
                self.random.below(99)
            ),
            19 => format!("NULLIF({}, {})", n(self), n(self)),
            20 => format!("({})", self.boolean(table, depth)),
            // MariaDB's remainder of a negative decimal can be -0.00, which it then finds unequal to 0.
            // Adding 0 makes it an ordinary zero.
            _ if self.divides => match self.of("%|MOD") {
                "%" => format!("({} % {} + 0)", n(self), n(self)),
                _ => format!("(MOD({}, {}) + 0)", n(self), n(self)),
            },
            _ => n(self),
        }
    }

    fn textual(&mut self, table: usize, depth: usize) -> String {
        if depth == 0 || self.random.one_in(3) {
            let column = self.column_of(table, Sort::Text);
            return match column {
                Some(column) if !self.random.one_in(3) => column,
                _ => self.text(),
            };
        }
        let depth = depth - 1;
        let t = |writer: &mut Writer| writer.textual(table, depth);
        match self.random.below(13) {
            0 | 1 => format!("CONCAT({}, {})", t(self), t(self)),
            2 => format!("CONCAT({}, {})", t(self), self.numeric(table, depth)),
            3 => format!(
                "{}({}, {}, {})",
                self.of("LPAD|RPAD"),
                t(self),
                self.random.below(6),
                self.of("'0'|'ab'|' '")
            ),
            4 => format!("{}({})", self.of("UPPER|LOWER|TRIM|LTRIM|RTRIM"), t(self)),
            5 => format!("SUBSTRING({}, {})", t(self), self.of("1|2|-1|0|9")),
            6 => format!(
                "SUBSTRING({}, {}, {})",
                t(self),
                self.of("1|2|-2"),
                self.of("0|1|2|-1")
            ),
            7 => format!(
                "{}({}, {})",
                self.of("LEFT|RIGHT|REPEAT"),
                t(self),
                self.of("0|1|2|-1")
            ),
            8 => format!("COALESCE({}, {})", t(self), self.numeric(table, depth)),
            9 => format!(
                "IF({}, {}, {})",
                self.boolean(table, depth),
                t(self),
                t(self)
            ),
            10 => format!(
                "REPLACE({}, {}, {})",
                t(self),
                self.of("'a'|'1'"),
                self.of("'bb'|''")
            ),
            11 => format!("CONCAT_WS('-', {}, {})", t(self), t(self)),
            _ => format!("IFNULL({}, {})", t(self), t(self)),
        }
    }

    fn temporal(&mut self, table: usize) -> String {
        let column = self.column_of(table, Sort::Time);
        let base = match column {
            Some(column) if !self.random.one_in(4) => column,
            _ => self
                .of("NOW()|NOW()|TIMESTAMP '2026-01-31 10:00:00'")
                .to_string(),
        };
        match self.random.below(4) {
            // What a column has no digits for MySQL rounds and MariaDB cuts, so nothing of the kind is written.
            1 if self.mixes => format!(
                "{base} {} INTERVAL {} SECOND",
                self.of("+|-"),
                self.of("0.5|1.25|'2'|'0.001'|-1.5|3e0|0.1234567")
            ),
            0 if self.divides => {
                let unit = self
                    .of("SECOND|MINUTE|HOUR|DAY|WEEK|MONTH|YEAR")
                    .to_string();
                format!(
                    "{base} {} INTERVAL {} {unit}",
                    self.of("+|-"),
                    self.of("1|30|-5|13")
                )
            }
            _ => base,
        }
    }

    fn boolean(&mut self, table: usize, depth: usize) -> String {
        let depth = depth.saturating_sub(1);
        let compare = "=|<>|<|<=|>|>=|<=>|!=";
        match self.random.below(17) {
            0..=3 => format!(
                "{} {} {}",
                self.numeric(table, depth),
                self.of(compare),
                self.numeric(table, depth)
            ),
            4 | 5 => format!(
                "{} {} {}",
                self.textual(table, depth),
                self.of(compare),
                self.textual(table, depth)
            ),
            6 => format!(
                "{} {} {}",
                self.temporal(table),
                self.of("=|<|>=|<>"),
                self.temporal(table)
            ),
            7 if depth > 0 => format!(
                "({} AND {})",
                self.boolean(table, depth),
                self.boolean(table, depth)
            ),
            8 if depth > 0 => format!(
                "({} OR {})",
                self.boolean(table, depth),
                self.boolean(table, depth)
            ),
            9 if depth > 0 => format!("NOT ({})", self.boolean(table, depth)),
            10 => format!(
                "{} {}BETWEEN {} AND {}",
                self.numeric(table, depth),
                self.of("|NOT "),
                self.small_number(),
                self.small_number()
            ),
            11 => format!(
                "{} {}IN ({}, {})",
                self.numeric(table, 0),
                self.of("|NOT "),
                self.small_number(),
                self.small_number()
            ),
            12 => format!(
                "{} {}LIKE {}",
                self.textual(table, depth),
                self.of("|NOT "),
                self.of("'a%'|'%'|'_'|'%1%'|'A_'|'\\%a%'|'sku-_'")
            ),
            13 => format!("{} IS {}NULL", self.numeric(table, depth), self.of("|NOT ")),
            14 => format!(
                "({}) IS {}{}",
                self.numeric(table, depth),
                self.of("|NOT "),
                self.of("TRUE|FALSE")
            ),
            15 => format!(
                "{} IN ({}, {})",
                self.textual(table, depth),
                self.text(),
                self.text()
            ),
            _ if depth > 0 => format!(
                "({} XOR {})",
                self.boolean(table, depth),
                self.boolean(table, depth)
            ),
            _ if self.mixes => format!(
                "{} {} {}",
                self.textual(table, depth),
                self.of("=|<"),
                self.random.below(10)
            ),
            _ => "TRUE".into(),
        }
    }

    fn expression(&mut self, table: usize, sort: Sort) -> String {
        match sort {
            Sort::Number => self.numeric(table, 2),
            Sort::Text => self.textual(table, 2),
            Sort::Time => self.temporal(table),
        }
    }

    // --- statements ---

    fn condition(&mut self, table: usize) -> String {
        match self.random.below(10) {
            0 => String::new(),
            1..=4 => {
                let column = &self.tables[table].columns[0];
                let (name, sort) = (column.name.clone(), column.sort);
                let value = self.key(sort);
                let more = if self.random.one_in(2) {
                    format!(" AND {}", self.boolean(table, 2))
                } else {
                    String::new()
                };
                format!(" WHERE {name} = {value}{more}")
            }
            5 => {
                let sort = self.tables[table].columns[0].sort;
                format!(" WHERE id {} {}", self.of("<|>|<=|>=|<>"), self.key(sort))
            }
            _ => format!(" WHERE {}", self.boolean(table, 3)),
        }
    }

    /// A value that a first column is likely to hold.
    fn key(&mut self, sort: Sort) -> String {
        match sort {
            Sort::Text => self.of("'a'|'A'|'b'|'ab'|'10'|'9'").to_string(),
            _ => format!("{}", self.random.below(6)),
        }
    }

    fn insert(&mut self, table: usize) -> String {
        let (name, sorts): (String, Vec<Sort>) = {
            let table = &self.tables[table];
            (
                table.name.clone(),
                table.columns.iter().map(|column| column.sort).collect(),
            )
        };
        let names: Vec<String> = self.tables[table]
            .columns
            .iter()
            .map(|column| column.name.clone())
            .collect();
        // Some columns may be left out.
        let updates = self.random.one_in(5);
        let chosen: Vec<usize> = (0..sorts.len())
            .filter(|_| updates || !self.random.one_in(12))
            .collect();
        let all = chosen.len() == sorts.len() && self.random.one_in(2);
        let mut rows = Vec::new();
        for _ in 0..=self.random.below(3) {
            let mut values = Vec::new();
            for column in &chosen {
                let value = match column {
                    0 => match self.random.below(8) {
                        0 => "DEFAULT".to_string(),
                        1 => "NULL".to_string(),
                        _ => self.key(sorts[0]),
                    },
                    _ if self.random.one_in(12) => "DEFAULT".to_string(),
                    _ if self.random.one_in(10) => self.expression(usize::MAX, sorts[*column]),
                    _ => self.value(sorts[*column]),
                };
                values.push(value);
            }
            rows.push(format!("({})", values.join(", ")));
        }
        let list = if all {
            String::new()
        } else {
            format!(
                " ({})",
                chosen
                    .iter()
                    .map(|column| names[*column].clone())
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        };
        let verb = self
            .of("INSERT INTO|INSERT INTO|INSERT INTO|INSERT INTO|INSERT IGNORE INTO|REPLACE INTO")
            .to_string();
        let mut sql = format!("{verb} {name}{list} VALUES {}", rows.join(", "));
        if verb == "INSERT INTO" && updates && self.random.one_in(2) {
            sql.push_str(&self.row_alias(&name, &names));
            return sql;
        }
        if verb == "INSERT INTO" && updates {
            let column = 1 + self.random.below(sorts.len() - 1);
            let value = match self.random.below(3) {
                0 => format!("VALUES({})", names[column]),
                1 if sorts[column] == Sort::Number => {
                    format!("GREATEST({0}, VALUES({0}))", names[column])
                }
                _ => self.expression(table, sorts[column]),
            };
            sql.push_str(&format!(
                " ON DUPLICATE KEY UPDATE {} = {value}",
                names[column]
            ));
        }
        sql
    }

    /// MySQL's name for the row that was to be inserted, with names for its columns or without.
    fn row_alias(&mut self, name: &str, columns: &[String]) -> String {
        let renamed = self.random.one_in(2);
        let list: Vec<String> = columns.iter().map(|it| format!("new_{it}")).collect();
        let (list, prefix) = match renamed {
            true => (format!("({})", list.join(", ")), "new_"),
            false => (String::new(), ""),
        };
        let column = &columns[1 + self.random.below(columns.len() - 1)];
        let (own, new) = (format!("{name}.{column}"), format!("new.{prefix}{column}"));
        let value = match self.random.below(5) {
            0 if renamed => format!("new_{column}"),
            0 | 1 => new,
            2 => format!("COALESCE({new}, {own})"),
            3 => format!("IF({new} IS NULL OR {new} IN ({own}, {new}), {own}, {new})"),
            _ => format!("CASE WHEN {own} <=> {new} THEN {new} ELSE {own} END"),
        };
        format!(" AS new{list} ON DUPLICATE KEY UPDATE {column} = {value}")
    }

    /// What a query finds becomes the variables' values; and what is known of them.
    fn query_into_variables(&mut self, table: usize) -> String {
        let (name, order) = (
            self.tables[table].name.clone(),
            self.tables[table].order.clone(),
        );
        let count = self.tables[table].columns.len();
        let mut column = || {
            let at = self.random.below(count);
            self.tables[table].columns[at].name.clone()
        };
        let (first, second) = (column(), column());
        let number = self.column_of(table, Sort::Number);
        let number = number.unwrap_or_else(|| "NULL".into());
        let condition = self.condition(table);
        let lock = self.of("||| FOR UPDATE| LOCK IN SHARE MODE");
        match self.random.below(8) {
            0 => format!("SELECT COUNT(*), MAX({second}) INTO @a, @b FROM {name}{condition}"),
            1 => format!("SELECT * INTO @a, @b FROM {name}{condition}"),
            2 => format!("SELECT id INTO @a FROM {name}{condition} ORDER BY {order}{lock}"),
            3 => {
                format!("SELECT {first}, {second} FROM {name} ORDER BY {order} LIMIT 1 INTO @a, @b")
            }
            4 => format!(
                "SELECT {first}, {second} FROM {name}{condition} ORDER BY {order} LIMIT 1{lock} INTO @a, @b"
            ),
            5 => format!(
                "SELECT {number} {}, {second} INTO @a, @b FROM {name} ORDER BY {order} LIMIT 1",
                self.of("/ 4|/ 7|* 1.5|<=> 1")
            ),
            _ => format!(
                "SELECT {first}, {second} INTO @a, @b FROM {name}{condition} ORDER BY {order} LIMIT 1{lock}"
            ),
        }
    }

    /// What variables hold.
    fn variables(&mut self, table: usize) -> String {
        let (name, order) = (
            self.tables[table].name.clone(),
            self.tables[table].order.clone(),
        );
        match self.random.below(4) {
            0 => format!("SELECT *, @a IS NULL FROM test.{name} WHERE id = @a ORDER BY {order}"),
            1 => format!("SELECT test.{name}.*, @b FROM {name} ORDER BY {order}"),
            _ => "SELECT @a, @b".into(),
        }
    }

    fn update(&mut self, table: usize) -> String {
        let ignore = if self.random.one_in(8) { "IGNORE " } else { "" };
        let mut assignments = Vec::new();
        for _ in 0..=self.random.below(2) {
            let count = self.tables[table].columns.len();
            let at = if self.random.one_in(8) {
                0
            } else {
                1 + self.random.below(count - 1)
            };
            let (name, sort) = {
                let column = &self.tables[table].columns[at];
                (column.name.clone(), column.sort)
            };
            let value = match self.random.below(6) {
                0 => self.value(sort),
                1 if sort == Sort::Number => format!("{name} {} 1", self.of("+|-")),
                2 if ignore.is_empty() => "DEFAULT".to_string(),
                3 if sort == Sort::Text => self.numeric(table, 2),
                _ => {
                    self.divides = true;
                    let value = self.expression(table, sort);
                    self.divides = false;
                    value
                }
            };
            assignments.push(format!("{name} = {value}"));
        }
        let (name, order) = (
            self.tables[table].name.clone(),
            self.tables[table].order.clone(),
        );

        let condition = self.condition(table);
        let tail = match self.random.below(5) {
            // Which of two rows comes first to a place that both want depends on the index that is read.
            _ if !ignore.is_empty() => format!(" ORDER BY {order}"),
            0 => format!(" ORDER BY {order} LIMIT {}", self.random.below(3)),
            1 => format!(
                " ORDER BY {}{}",
                order.replace(',', " DESC,"),
                self.of("| DESC")
            ),
            _ => String::new(),
        };
        format!(
            "UPDATE {ignore}{name} SET {}{condition}{tail}",
            assignments.join(", ")
        )
    }

    fn select(&mut self, table: usize) -> String {
        let (name, order) = (
            self.tables[table].name.clone(),
            self.tables[table].order.clone(),
        );
        let count = self.tables[table].columns.len();
        match self.random.below(10) {
            8 | 9 => self.derived(table),
            0 => format!("SELECT * FROM {name}{}", self.condition(table)),
            1 => {
                let aggregate = self.of("COUNT(*)|COUNT({})|COUNT(DISTINCT {})|SUM({})|AVG({})|MIN({})|MAX({})|SUM(DISTINCT {})").to_string();
                let column = self
                    .column_of(table, Sort::Number)
                    .unwrap_or_else(|| "1".into());
                let other = self.of("MAX|MIN").to_string();
                let at = self.random.below(count);
                let second = self.tables[table].columns[at].name.clone();
                format!(
                    "SELECT {}, {other}({second}) FROM {name}{}",
                    aggregate.replace("{}", &column),
                    self.condition(table)
                )
            }
            2 => {
                let at = self.random.below(count);
                let column = self.tables[table].columns[at].name.clone();
                let number = self
                    .column_of(table, Sort::Number)
                    .unwrap_or_else(|| "1".into());
                let having = self.of("| HAVING COUNT(*) > 1| HAVING n < 2").to_string();
                format!(
                    "SELECT {column} IS NULL, MIN({column}), COUNT(*) AS n, MAX({number}) FROM {name}{} GROUP BY {column}{having} ORDER BY MIN({column}) {}",
                    self.condition(table),
                    self.of("ASC|DESC")
                )
            }
            3 => {
                let at = self.random.below(count);
                let column = self.tables[table].columns[at].name.clone();
                format!(
                    "SELECT DISTINCT {column} IS NULL, {} FROM {name}",
                    self.boolean(table, 1)
                )
            }
            4 => {
                let at = self.random.below(count);
                let column = self.tables[table].columns[at].name.clone();
                format!(
                    "SELECT {column}, {} AS x FROM {name}{} ORDER BY {column} {}, {order} LIMIT {}",
                    self.numeric(table, 2),
                    self.condition(table),
                    self.of("|DESC"),
                    1 + self.random.below(4)
                )
            }
            5 => format!(
                "SELECT id, (SELECT COUNT(*) FROM t0 AS x WHERE x.id {} y.id) FROM {name} AS y",
                self.of("<|=|>")
            ),
            6 => format!(
                "SELECT x.id, y.id FROM {name} AS x {} t0 AS y ON x.id = y.id ORDER BY 1, 2",
                self.of("JOIN|LEFT JOIN")
            ),
            _ => format!(
                "SELECT {}, {} FROM {name}{}",
                self.numeric(table, 3),
                self.textual(table, 2),
                self.condition(table)
            ),
        }
    }

    /// A query over a derived table.
    fn derived(&mut self, table: usize) -> String {
        let name = self.tables[table].name.clone();
        let at = self.random.below(self.tables[table].columns.len());
        let column = self.tables[table].columns[at].name.clone();
        let inner = format!(
            "SELECT {column} AS x, {} AS y, {} AS z FROM {name}{}",
            self.numeric(table, 1),
            self.textual(table, 1),
            self.condition(table)
        );
        match self.random.below(4) {
            0 => format!("SELECT * FROM ({inner}) AS d"),
            1 => format!(
                "SELECT COALESCE(x, y), d.z, IFNULL(y, z) FROM ({inner}) AS d WHERE y {} 1",
                self.of("<|>|=|<>")
            ),
            2 => format!(
                "SELECT d.n, d.m + 1 FROM (SELECT {column} IS NULL AS n, COUNT(*) AS m FROM {name} \
                 GROUP BY {column} IS NULL) d WHERE d.m > {} ORDER BY n",
                self.random.below(2)
            ),
            // MariaDB looks a number up in a key as one of the key's type, where it may find what is not equal.
            // In a LEFT JOIN MariaDB shows a constant of the derived table where no row of it matches.
            _ => format!(
                "SELECT a.id, MAX(d.y), COUNT(d.z) FROM {name} AS a JOIN ({inner}) AS d ON a.id + 0 = d.y + 0 \
                 GROUP BY a.id ORDER BY a.id"
            ),
        }
    }

    /// MODIFY of the last column to another type for values of its sort.
    fn modify(&mut self, table: usize) -> String {
        let last = self.tables[table].columns.len() - 1;
        let column = &mut self.tables[table].columns[last];
        let kinds: &[&str] = match column.sort {
            Sort::Number => &NUMBERS,
            // An index may be on one of the first three, and cannot be on a TEXT.
            Sort::Text if last < 3 => &TEXTS[..3],
            Sort::Text => &TEXTS,
            Sort::Time => &TIMES[..2],
        };
        let (sort, column) = (column.sort, column.name.clone());
        let kind = kinds[self.random.below(kinds.len())];
        let null = match self.random.below(4) {
            0 => " NOT NULL",
            1 if kind != "TEXT" && sort == Sort::Number => " NULL DEFAULT 2",
            _ => "",
        };
        let name = &self.tables[table].name;
        format!("ALTER TABLE {name} MODIFY {column} {kind}{null}")
    }

    fn statement(&mut self) -> String {
        let table = self.random.below(self.tables.len());
        let name = self.tables[table].name.clone();
        let which = self.random.below(28);
        self.mixes = which > 13;
        self.divides = which > 13;
        match which {
            0..=4 => self.insert(table),
            5..=11 => self.update(table),
            12 => format!("DELETE FROM {name}{}", self.condition(table)),
            13 => format!(
                "DELETE FROM {name} ORDER BY {} LIMIT 1",
                self.tables[table].order
            ),
            14 => format!(
                "SELECT {}, {}, {}",
                self.numeric(usize::MAX, 3),
                self.textual(usize::MAX, 3),
                self.boolean(usize::MAX, 3)
            ),
            15 => "SELECT ROW_COUNT()".into(),
            16 if self.random.one_in(2) => "SELECT LAST_INSERT_ID()".into(),
            16 if self.random.one_in(3) => format!("TRUNCATE TABLE {name}"),
            16 if self.random.one_in(2) => format!("SHOW CREATE TABLE {name}"),
            17 if self.random.one_in(4) => self.modify(table),
            17 => format!(
                "SELECT {} AS d, TIMESTAMPDIFF({}, {}, {})",
                self.temporal(usize::MAX),
                self.of("SECOND|DAY|MONTH|HOUR"),
                self.temporal(usize::MAX),
                self.temporal(usize::MAX)
            ),
            24 | 25 => self.query_into_variables(table),
            26 => self.variables(table),
            27 if self.random.one_in(2) => self
                .of("USE test|SHOW TABLES FROM test LIKE 't_'|SELECT @@GLOBAL.autocommit, @@SESSION.autocommit|SELECT @@session.innodb_lock_wait_timeout|SELECT @@global.nope|SELECT nope.t0.id FROM t0|SHOW VARIABLES LIKE 'unique_checks'")
                .into(),
            _ => self.select(table),
        }
    }
}
