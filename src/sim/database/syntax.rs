//! What a statement is once it has been parsed.

use std::sync::Arc;

use super::calendar::Unit;
use super::column::{ColumnSpecification, KeySpecification};
use super::function::Function;
use super::value::Value;

/// A part of the source, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Operators with two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    Xor,
    And,
    Equal,
    NullSafe,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    BitOr,
    BitAnd,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    WholeDivide,
    Modulo,
    BitXor,
}

/// Operators with one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prefix {
    Not,
    Minus,
    BitNot,
}

/// What IS asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Is {
    Null,
    True,
    False,
}

/// Functions over groups of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aggregate {
    Count,
    Sum,
    Average,
    Minimum,
    Maximum,
}

/// What CAST makes of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CastTo {
    Signed,
    Unsigned,
    Decimal(u8, u8),
    Text(Option<u32>),
    Double,
    DateTime(u8),
}

#[derive(Clone, Debug)]
pub(super) enum Expression {
    Literal(Value),
    /// A placeholder, by its number among the occurrences.
    Placeholder(usize),
    Column {
        table: Option<String>,
        name: String,
    },
    UserVariable(String),
    /// `@x := value`
    Assign(String, Box<Expression>),
    SystemVariable(String),
    /// `VALUES(column)` in ON DUPLICATE KEY UPDATE.
    Inserted(String),
    Prefix(Prefix, Box<Expression>),
    Binary(Operator, Box<Expression>, Box<Expression>),
    /// Value, low, high.
    Between {
        negated: bool,
        operands: Box<[Expression; 3]>,
    },
    In {
        negated: bool,
        needle: Box<Expression>,
        list: Vec<Expression>,
    },
    InQuery {
        negated: bool,
        needle: Box<Expression>,
        query: Box<Select>,
    },
    /// Text, pattern.
    Like {
        negated: bool,
        operands: Box<[Expression; 2]>,
        escape: char,
    },
    Is {
        negated: bool,
        what: Is,
        operand: Box<Expression>,
    },
    Case {
        operand: Option<Box<Expression>>,
        arms: Vec<(Expression, Expression)>,
        otherwise: Option<Box<Expression>>,
    },
    Call(Function, Vec<Expression>),
    /// COUNT(*) has no argument.
    Aggregate {
        kind: Aggregate,
        distinct: bool,
        arguments: Vec<Expression>,
    },
    /// Time, amount; the amount is subtracted when `minus`.
    Shift {
        operands: Box<[Expression; 2]>,
        unit: Unit,
        minus: bool,
    },
    Difference {
        operands: Box<[Expression; 2]>,
        unit: Unit,
    },
    Cast(CastTo, Box<Expression>),
    Query(Box<Select>),
    Exists(Box<Select>),
}

/// One of the conditions that AND joins at the top of a WHERE.
#[derive(Clone, Debug)]
pub(super) struct Conjunct {
    pub(super) expression: Expression,
    pub(super) span: Span,
}

#[derive(Clone, Debug)]
pub(super) enum Item {
    /// `*` or `table.*`
    All(Option<String>),
    One {
        expression: Expression,
        name: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    Inner,
    Left,
}

#[derive(Clone, Debug)]
pub(super) struct From {
    /// The table's name; of a derived table its alias.
    pub(super) table: String,
    pub(super) alias: String,
    /// The query that makes a derived table.
    pub(super) query: Option<Box<Select>>,
    pub(super) join: Join,
    pub(super) on: Option<Expression>,
}

#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) expression: Expression,
    pub(super) descending: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Limit {
    pub(super) count: Expression,
    pub(super) offset: Option<Expression>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    Wait,
    NoWait,
    SkipLocked,
}

/// FOR UPDATE, FOR SHARE, LOCK IN SHARE MODE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Locking {
    pub(super) exclusive: bool,
    pub(super) patience: Patience,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Select {
    pub(super) distinct: bool,
    pub(super) items: Vec<Item>,
    pub(super) from: Vec<From>,
    pub(super) condition: Vec<Conjunct>,
    pub(super) group: Vec<Expression>,
    pub(super) having: Option<Expression>,
    pub(super) order: Vec<Order>,
    pub(super) limit: Option<Limit>,
    pub(super) locking: Option<Locking>,
    /// The user variables that take what is found.
    pub(super) into: Vec<String>,
    /// Whether INTO stands before FOR UPDATE, which MySQL warns of.
    pub(super) inner_into: bool,
}

/// A column and its new value; none stands for DEFAULT.
pub(super) type Assignment = (String, Option<Expression>);

#[derive(Clone, Debug)]
pub(super) enum InsertSource {
    /// A value left out stands for DEFAULT.
    Rows(Vec<Vec<Option<Expression>>>),
    Query(Box<Select>),
}

#[derive(Clone, Debug)]
pub(super) struct Insert {
    pub(super) replace: bool,
    pub(super) ignore: bool,
    pub(super) table: String,
    pub(super) columns: Option<Vec<String>>,
    pub(super) source: InsertSource,
    /// `AS new(a, b)`, MySQL 8.0.19.
    pub(super) alias: Option<String>,
    pub(super) alias_columns: Vec<String>,
    pub(super) on_duplicate: Vec<Assignment>,
}

#[derive(Clone, Debug)]
pub(super) struct Update {
    pub(super) ignore: bool,
    pub(super) table: String,
    pub(super) alias: String,
    pub(super) assignments: Vec<Assignment>,
    pub(super) condition: Vec<Conjunct>,
    pub(super) order: Vec<Order>,
    pub(super) limit: Option<Limit>,
}

#[derive(Clone, Debug)]
pub(super) struct Delete {
    pub(super) table: String,
    pub(super) alias: String,
    pub(super) condition: Vec<Conjunct>,
    pub(super) order: Vec<Order>,
    pub(super) limit: Option<Limit>,
}

#[derive(Clone, Debug)]
pub(super) struct Check {
    pub(super) name: Option<String>,
    pub(super) expression: Arc<Expression>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct CreateTable {
    pub(super) if_not_exists: bool,
    pub(super) table: String,
    pub(super) columns: Vec<ColumnSpecification>,
    pub(super) keys: Vec<KeySpecification>,
    pub(super) checks: Vec<Check>,
    pub(super) auto_increment: u64,
}

/// Behind which column a column comes; first without one.
pub(super) type Place = Option<String>;

/// What ALTER TABLE does.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// A column, an index or a check; a column may come first, or after another one.
    Add {
        part: CreateTable,
        place: Option<Place>,
    },
    /// MODIFY or CHANGE of a column.
    Modify {
        name: String,
        part: CreateTable,
        place: Option<Place>,
    },
    DropColumn(String),
    DropIndex(String),
}

/// How much of others' work a transaction sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) enum Isolation {
    ReadUncommitted,
    ReadCommitted,
    #[default]
    RepeatableRead,
    Serializable,
}

#[derive(Clone, Debug)]
pub(super) enum Setting {
    User(String, Expression),
    System(String, Expression),
    /// `SET [SESSION] TRANSACTION`; for the next transaction only unless `session`.
    Transaction {
        session: bool,
        isolation: Option<Isolation>,
        read_only: Option<bool>,
    },
    /// SET NAMES and the like: accepted, no effect.
    Nothing,
}

#[derive(Clone, Debug)]
pub(super) enum Command {
    Select(Select),
    Insert(Insert),
    Update(Update),
    Delete(Delete),
    CreateTable(CreateTable),
    DropTable {
        if_exists: bool,
        tables: Vec<String>,
    },
    Truncate(String),
    /// Without READ ONLY or READ WRITE the session says which it is.
    Begin {
        snapshot: bool,
        read_only: Option<bool>,
    },
    /// COMMIT or ROLLBACK; with AND CHAIN the next transaction begins at once, as this one was.
    End {
        commit: bool,
        chain: bool,
    },
    Savepoint(String),
    RollbackTo(String),
    Release(String),
    Set(Vec<Setting>),
    Do(Vec<Expression>),
    AlterTable(String, Vec<Change>),
    /// With the pattern that names have to be like.
    ShowTables(String),
    ShowVariables {
        global: bool,
        pattern: String,
    },
    ShowIndex(String),
    /// SHOW WARNINGS, SHOW ERRORS, and how many there are.
    ShowConditions {
        errors: bool,
        count: bool,
    },
    /// A table, and the pattern that its columns have to be like.
    Describe(String, String),
    ShowCreate(String),
    /// USE: there is one database.
    Use,
}

impl Operator {
    /// The symbol as MySQL prints it in messages.
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Operator::Or => "or",
            Operator::Xor => "xor",
            Operator::And => "and",
            Operator::Equal => "=",
            Operator::NullSafe => "<=>",
            Operator::NotEqual => "<>",
            Operator::Less => "<",
            Operator::LessEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterEqual => ">=",
            Operator::BitOr => "|",
            Operator::BitAnd => "&",
            Operator::ShiftLeft => "<<",
            Operator::ShiftRight => ">>",
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::WholeDivide => "DIV",
            Operator::Modulo => "%",
            Operator::BitXor => "^",
        }
    }
}

impl Select {
    /// The names of the tables that stand in its FROM, derived ones left out.
    pub(super) fn tables(&self) -> impl Iterator<Item = &str> {
        let stored = self.from.iter().filter(|from| from.query.is_none());
        stored.map(|from| from.table.as_str())
    }

    /// Calls back with every query in this one, itself first.
    pub(super) fn each_query<'a>(&'a self, visit: &mut dyn FnMut(&'a Select)) {
        visit(self);
        for item in &self.items {
            if let Item::One { expression, .. } = item {
                expression.each_query(visit);
            }
        }
        for from in &self.from {
            from.query.iter().for_each(|query| query.each_query(visit));
            from.on.iter().for_each(|on| on.each_query(visit));
        }
        self.condition
            .iter()
            .for_each(|conjunct| conjunct.expression.each_query(visit));
        self.group
            .iter()
            .chain(&self.having)
            .for_each(|expression| expression.each_query(visit));
        self.order
            .iter()
            .for_each(|order| order.expression.each_query(visit));
    }
}

impl Expression {
    /// Calls back with the direct parts, in the order of writing.
    pub(super) fn each_part<'a>(&'a self, visit: &mut dyn FnMut(&'a Expression)) {
        use Expression as E;
        match self {
            E::Literal(_) | E::Placeholder(_) | E::Column { .. } | E::UserVariable(_) => {}
            E::SystemVariable(_) | E::Inserted(_) | E::Query(_) | E::Exists(_) => {}
            E::Prefix(_, part) | E::Assign(_, part) | E::Cast(_, part) => visit(part),
            E::Is { operand: part, .. } | E::InQuery { needle: part, .. } => visit(part),
            E::Binary(_, left, right) => {
                visit(left);
                visit(right);
            }
            E::Between { operands, .. } => operands.iter().for_each(visit),
            E::Like { operands, .. }
            | E::Shift { operands, .. }
            | E::Difference { operands, .. } => {
                operands.iter().for_each(visit);
            }
            E::In { needle, list, .. } => {
                visit(needle);
                list.iter().for_each(visit);
            }
            E::Case {
                operand,
                arms,
                otherwise,
            } => {
                operand.iter().for_each(|part| visit(part));
                for (when, then) in arms {
                    visit(when);
                    visit(then);
                }
                otherwise.iter().for_each(|part| visit(part));
            }
            E::Call(_, arguments) | E::Aggregate { arguments, .. } => {
                arguments.iter().for_each(visit)
            }
        }
    }

    /// Calls back with every query in the expression.
    pub(super) fn each_query<'a>(&'a self, visit: &mut dyn FnMut(&'a Select)) {
        match self {
            Expression::Query(query) | Expression::Exists(query) => query.each_query(visit),
            Expression::InQuery { needle, query, .. } => {
                needle.each_query(visit);
                query.each_query(visit);
            }
            other => other.each_part(&mut |part| part.each_query(visit)),
        }
    }

    /// Whether a part, or the expression itself, passes the test; queries inside are not looked into.
    pub(super) fn any(&self, test: &dyn Fn(&Expression) -> bool) -> bool {
        if test(self) {
            return true;
        }
        let mut found = false;
        self.each_part(&mut |part| found = found || part.any(test));
        found
    }

    /// Whether an aggregate stands in it.
    pub(super) fn aggregates(&self) -> bool {
        self.any(&|part| matches!(part, Expression::Aggregate { .. }))
    }
}
