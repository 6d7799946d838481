//! A scenario's protocols as a model for a model checker, in no checker's language yet: whole numbers, and moves that are possible
//! or not.
//!
//! ```text
//! Reading ──► build: the world and its moves ──► Model ──► promela, tla: printers over it
//!               │ steps: requests and clauses      │
//!               │ lua, sql: what servers do        └─ Variable, Move { guard, body }
//!               │ watch: what the properties remember
//! ```
//!
//! The model has a state for every world that the search tells apart when none of its reductions is used, and no other: keys with the
//! milliseconds that they have left, rows, clients with their variables and beliefs, what is left of each budget, and what the
//! properties remember. What it cannot say exactly is refused.

mod build;
mod fold;
mod lua;
mod sql;
mod steps;
mod watch;

pub(super) use build::model;
pub(super) use fold::folded;

/// The number that stands for a key that is not there, a variable without a value, a deadline that is none.
pub(super) const NONE: i64 = -1;

/// A model: its variables at the start, and what can happen.
#[derive(Debug, Default)]
pub(super) struct Model {
    /// The scenario's title.
    pub title: String,
    /// Part of the state, in the order in which they are printed.
    pub variables: Vec<Variable>,
    /// Values that a move works out on its way; no part of the state.
    pub interim: Vec<String>,
    /// What is worked out of the state as it is before a move.
    pub definitions: Vec<(String, Expression)>,
    /// What can happen.
    pub moves: Vec<Move>,
    /// For each property that the search is about: the variable that says that it is broken, and the sentence.
    pub properties: Vec<(Name, String)>,
    /// What numbers stand for, one line each.
    pub legend: Vec<String>,
}

/// A variable's place in [`Model::variables`], or behind them in [`Model::interim`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name(pub usize);

/// A whole number that is part of the state.
#[derive(Debug)]
pub(super) struct Variable {
    pub name: String,
    pub start: i64,
}

/// Something that can happen, at once.
#[derive(Debug)]
pub(super) struct Move {
    /// In the words of the scenario.
    pub about: String,
    pub guard: Expression,
    pub body: Vec<Statement>,
}

/// What a move does.
#[derive(Clone, Debug)]
pub(super) enum Statement {
    Set(Name, Expression),
    If(Expression, Vec<Statement>, Vec<Statement>),
}

/// A whole number or a truth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expression {
    Number(i64),
    Variable(Name),
    Truth(bool),
    Not(Box<Expression>),
    All(Vec<Expression>),
    Any(Vec<Expression>),
    Compare(Comparison, Box<Expression>, Box<Expression>),
    Sum(Box<Expression>, Box<Expression>),
    Difference(Box<Expression>, Box<Expression>),
    /// Condition, then, else.
    Choose(Box<[Expression; 3]>),
    /// The smallest of some numbers.
    Least(Vec<Expression>),
    /// One of [`Model::definitions`], as it was before the move.
    Defined(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
}

impl Model {
    /// What a variable is called.
    pub fn name(&self, name: Name) -> &str {
        let interim = name
            .0
            .checked_sub(self.variables.len())
            .and_then(|place| self.interim.get(place));
        let variable = self.variables.get(name.0).map(|variable| &variable.name);
        variable.or(interim).map_or("", String::as_str)
    }
}

impl Expression {
    pub fn of(name: Name) -> Expression {
        Expression::Variable(name)
    }

    /// A comparison; one of two numbers is worked out at once.
    pub fn compare(comparison: Comparison, left: Expression, right: Expression) -> Expression {
        let (Expression::Number(a), Expression::Number(b)) = (&left, &right) else {
            return Expression::Compare(comparison, Box::new(left), Box::new(right));
        };
        Expression::Truth(match comparison {
            Comparison::Equal => a == b,
            Comparison::NotEqual => a != b,
            Comparison::Less => a < b,
            Comparison::LessOrEqual => a <= b,
        })
    }

    pub fn equals(self, other: Expression) -> Expression {
        Expression::compare(Comparison::Equal, self, other)
    }

    pub fn equals_number(self, number: i64) -> Expression {
        self.equals(Expression::Number(number))
    }

    pub fn differs_from(self, other: Expression) -> Expression {
        Expression::compare(Comparison::NotEqual, self, other)
    }

    pub fn below(self, other: Expression) -> Expression {
        Expression::compare(Comparison::Less, self, other)
    }

    pub fn at_most(self, other: Expression) -> Expression {
        Expression::compare(Comparison::LessOrEqual, self, other)
    }

    /// Whether it is not [`NONE`].
    pub fn present(self) -> Expression {
        self.differs_from(Expression::Number(NONE))
    }

    pub fn plus(self, other: Expression) -> Expression {
        match (self, other) {
            (Expression::Number(a), Expression::Number(b)) => Expression::Number(a + b),
            (left, Expression::Number(0)) => left,
            (left, right) => Expression::Sum(Box::new(left), Box::new(right)),
        }
    }

    pub fn minus(self, other: Expression) -> Expression {
        Expression::Difference(Box::new(self), Box::new(other))
    }

    pub fn not(self) -> Expression {
        match self {
            Expression::Truth(truth) => Expression::Truth(!truth),
            Expression::Not(inner) => *inner,
            Expression::Compare(comparison, left, right) => match comparison {
                Comparison::Equal => left.differs_from(*right),
                Comparison::NotEqual => left.equals(*right),
                Comparison::Less => right.at_most(*left),
                Comparison::LessOrEqual => right.below(*left),
            },
            other => Expression::Not(Box::new(other)),
        }
    }

    /// Whether the variable stands in it.
    pub fn reads(&self, name: Name) -> bool {
        let found = std::cell::Cell::new(false);
        self.with(&|other| {
            found.set(found.get() || other == name);
            Expression::Variable(other)
        });
        found.get()
    }

    /// The expression with other expressions in place of variables.
    pub fn with(&self, value_of: &dyn Fn(Name) -> Expression) -> Expression {
        use Expression as E;
        let part = |part: &Expression| Box::new(part.with(value_of));
        let parts = |parts: &[Expression]| parts.iter().map(|part| part.with(value_of)).collect();
        match self {
            E::Number(_) | E::Truth(_) | E::Defined(_) => self.clone(),
            E::Variable(name) => value_of(*name),
            E::Not(inner) => E::Not(part(inner)),
            E::All(all) => E::All(parts(all)),
            E::Any(any) => E::Any(parts(any)),
            E::Least(numbers) => E::Least(parts(numbers)),
            E::Compare(comparison, left, right) => E::Compare(*comparison, part(left), part(right)),
            E::Sum(left, right) => left.with(value_of).plus(right.with(value_of)),
            E::Difference(left, right) => E::Difference(part(left), part(right)),
            E::Choose(parts) => {
                let [condition, then, otherwise] = &**parts;
                let with = |part: &Expression| part.with(value_of);
                E::Choose(Box::new([with(condition), with(then), with(otherwise)]))
            }
        }
    }
}

/// A statement that does something only where a condition holds; nothing where it never can.
pub(super) fn when(
    condition: Expression,
    then: Vec<Statement>,
    otherwise: Vec<Statement>,
) -> Vec<Statement> {
    match condition {
        Expression::Truth(true) => then,
        Expression::Truth(false) => otherwise,
        _ if then.is_empty() && otherwise.is_empty() => Vec::new(),
        condition if then.is_empty() => vec![Statement::If(condition.not(), otherwise, then)],
        condition => vec![Statement::If(condition, then, otherwise)],
    }
}
