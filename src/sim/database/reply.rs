//! What the database answers, and how that is printed: in a scenario's text, and as the mysql
//! client prints it.

use super::error::SqlError;
use super::value::Value;

/// The answer to one statement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SqlReply {
    /// What a query found.
    Rows {
        /// The heads of the columns.
        columns: Vec<String>,
        /// The rows, in order.
        rows: Vec<Vec<Value>>,
        /// How many warnings and notes there are.
        warnings: u64,
        /// Whether the statement ended with `\G`: the mysql client then prints a line for each value.
        vertical: bool,
    },
    /// What a write did.
    Affected {
        /// Rows that the WHERE matched; rows given, for INSERT.
        matched: u64,
        /// Rows that are different now.
        changed: u64,
        /// What the driver reports: changed rows, or matched ones with CLIENT_FOUND_ROWS; a row
        /// that ON DUPLICATE KEY UPDATE or REPLACE put in the place of another counts twice.
        affected: u64,
        /// The first number that AUTO_INCREMENT gave, or what LAST_INSERT_ID(expression) was given.
        last_insert_id: u64,
        /// Warnings and notes.
        warnings: u64,
        /// The text that the server sends along, such as `Rows matched: 1  Changed: 1  Warnings: 0`.
        information: String,
    },
    /// A statement that neither finds nor writes rows is done: CREATE TABLE, BEGIN, SET, ...
    Done {
        /// How many warnings and notes there are.
        warnings: u64,
    },
    /// The statement failed and changed nothing.
    Error(SqlError),
}

fn plural(count: u64) -> String {
    format!("{count} {}", if count == 1 { "row" } else { "rows" })
}

impl SqlReply {
    /// Rows under these heads, which `|` separates.
    pub(super) fn table(heads: &str, rows: Vec<Vec<Value>>) -> SqlReply {
        SqlReply::Rows {
            columns: heads.split('|').map(str::to_string).collect(),
            rows,
            warnings: 0,
            vertical: false,
        }
    }

    /// As a scenario's text writes it: `1 row`, `5`, `('sku-1', 8), ('sku-2', 2)`, `no rows`, `OK`,
    /// `ERROR 1062 (23000): ...`.
    pub fn print_short(&self) -> String {
        match self {
            SqlReply::Error(error) => error.to_string(),
            SqlReply::Done { .. } => "OK".into(),
            SqlReply::Affected { affected, .. } => plural(*affected),
            SqlReply::Rows { rows, .. } if rows.is_empty() => "no rows".into(),
            SqlReply::Rows { rows, columns, .. } => {
                let single = rows.len() == 1 && columns.len() == 1;
                let row = |row: &Vec<Value>| {
                    let values = row
                        .iter()
                        .map(Value::to_literal)
                        .collect::<Vec<_>>()
                        .join(", ");
                    if single {
                        values
                    } else {
                        format!("({values})")
                    }
                };
                rows.iter().map(row).collect::<Vec<_>>().join(", ")
            }
        }
    }

    /// As the mysql client prints it, without the time that the statement took.
    pub fn print_mysql(&self) -> String {
        match self {
            SqlReply::Error(error) => error.to_string(),
            SqlReply::Done { warnings } => {
                format!("Query OK, 0 rows affected{}", noted(*warnings))
            }
            SqlReply::Affected {
                affected,
                warnings,
                information,
                ..
            } => {
                let line = if information.is_empty() {
                    String::new()
                } else {
                    format!("\n{information}")
                };
                format!(
                    "Query OK, {} affected{}{line}",
                    plural(*affected),
                    noted(*warnings)
                )
            }
            SqlReply::Rows { rows, warnings, .. } if rows.is_empty() => {
                format!("Empty set{}", noted(*warnings))
            }
            SqlReply::Rows {
                columns,
                rows,
                warnings,
                vertical,
            } => {
                let table = if *vertical { list } else { grid };
                let count = plural(rows.len() as u64);
                format!("{}{count} in set{}", table(columns, rows), noted(*warnings))
            }
        }
    }
}

/// What follows where there are warnings.
fn noted(warnings: u64) -> String {
    match warnings {
        0 => String::new(),
        1 => ", 1 warning".into(),
        many => format!(", {many} warnings"),
    }
}

/// A line for each value, as after `\G`.
fn list(columns: &[String], rows: &[Vec<Value>]) -> String {
    let width = columns.iter().map(|head| head.chars().count()).max();
    let stars = "*".repeat(27);
    let mut out = String::new();
    for (number, row) in rows.iter().enumerate() {
        out.push_str(&format!("{stars} {}. row {stars}\n", number + 1));
        for (head, value) in columns.iter().zip(row) {
            let fill = " ".repeat(width.unwrap_or(0) - head.chars().count());
            out.push_str(&format!("{fill}{head}: {value}\n"));
        }
    }
    out
}

fn is_number(value: &Value) -> bool {
    matches!(
        value,
        Value::Integer(_) | Value::Unsigned(_) | Value::Decimal(_) | Value::Double(_)
    )
}

/// The frame with heads and rows, as `mysql --table` draws it: heads to the left, numbers to the right. A column of nothing but NULL
/// stands to the right too, as mysql has it for what gives a number, such as RELEASE_LOCK, and for NULL itself.
fn grid(columns: &[String], rows: &[Vec<Value>]) -> String {
    let texts: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(Value::to_string).collect())
        .collect();
    let column_of = |index: usize| rows.iter().filter_map(move |row| row.get(index));
    let widths: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(index, head)| {
            let cells = texts.iter().filter_map(|row| row.get(index));
            cells
                .chain([head])
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let right: Vec<bool> = (0..columns.len())
        .map(|index| column_of(index).all(|value| value.is_null() || is_number(value)))
        .collect();
    let border: String = widths
        .iter()
        .map(|width| format!("+{}", "-".repeat(width + 2)))
        .collect::<String>()
        + "+\n";
    let left = vec![false; columns.len()];
    let line = |cells: &[String], right: &[bool]| {
        let mut out = String::new();
        for ((cell, width), right) in cells.iter().zip(&widths).zip(right) {
            let fill = " ".repeat(width - cell.chars().count().min(*width));
            let cell = cell.replace('\n', "\\n");
            out.push_str(&if *right {
                format!("| {fill}{cell} ")
            } else {
                format!("| {cell}{fill} ")
            });
        }
        out + "|\n"
    };
    let body: String = texts.iter().map(|row| line(row, &right)).collect();
    format!("{border}{}{border}{body}{border}", line(columns, &left))
}
