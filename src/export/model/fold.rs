//! Makes a model shorter: variables that never change become numbers, and what is then always so, or never, goes.

use super::{Expression, Model, Name, Statement, when};

impl Model {
    /// Drops every variable that keeps the value of the start, whatever happens.
    pub fn drop_constants(&mut self) {
        while let Some(constant) = self.constant() {
            let value = Expression::Number(self.variables[constant.0].start);
            let value_of = |name: Name| match name.0.cmp(&constant.0) {
                std::cmp::Ordering::Less => Expression::Variable(name),
                std::cmp::Ordering::Equal => value.clone(),
                std::cmp::Ordering::Greater => Expression::Variable(Name(name.0 - 1)),
            };
            for (_, definition) in &mut self.definitions {
                *definition = folded(&definition.with(&value_of));
            }
            for one in &mut self.moves {
                one.guard = folded(&one.guard.with(&value_of));
                one.body = body_with(&one.body, constant, &value_of);
            }
            for (name, _) in &mut self.properties {
                if name.0 > constant.0 {
                    name.0 -= 1;
                }
            }
            self.variables.remove(constant.0);
        }
        self.moves
            .retain(|one| one.guard != Expression::Truth(false));
        for one in &mut self.moves {
            one.body = without_the_known(&one.body, &mut Vec::new());
        }
    }

    /// A variable that is only ever set to what it is at the start. Those of properties stay, for they are what is asked for.
    fn constant(&self) -> Option<Name> {
        let is_property = |name: Name| self.properties.iter().any(|(other, _)| *other == name);
        let keeps = |(place, start): (usize, i64)| {
            let stays = |body: &[Statement]| keeps(body, Name(place), start);
            !is_property(Name(place)) && self.moves.iter().all(|one| stays(&one.body))
        };
        let starts = self
            .variables
            .iter()
            .map(|variable| variable.start)
            .enumerate();
        starts
            .into_iter()
            .find(|one| keeps(*one))
            .map(|(place, _)| Name(place))
    }
}

fn keeps(body: &[Statement], name: Name, start: i64) -> bool {
    body.iter().all(|statement| match statement {
        Statement::Set(other, value) => *other != name || *value == Expression::Number(start),
        Statement::If(_, then, otherwise) => {
            keeps(then, name, start) && keeps(otherwise, name, start)
        }
    })
}

fn body_with(
    body: &[Statement],
    constant: Name,
    value_of: &dyn Fn(Name) -> Expression,
) -> Vec<Statement> {
    let mut with = Vec::new();
    for statement in body {
        match statement {
            Statement::Set(name, _) if *name == constant => {}
            Statement::Set(name, value) => {
                let place = if name.0 > constant.0 {
                    name.0 - 1
                } else {
                    name.0
                };
                with.push(Statement::Set(Name(place), folded(&value.with(value_of))));
            }
            Statement::If(condition, then, otherwise) => with.extend(when(
                folded(&condition.with(value_of)),
                body_with(then, constant, value_of),
                body_with(otherwise, constant, value_of),
            )),
        }
    }
    with
}

/// The expression without what is always so, or never.
pub(in super::super) fn folded(expression: &Expression) -> Expression {
    use Expression as E;
    match expression {
        E::Not(inner) => folded(inner).not(),
        E::All(parts) => joined(parts, true),
        E::Any(parts) => joined(parts, false),
        E::Compare(comparison, left, right) => E::compare(*comparison, folded(left), folded(right)),
        E::Choose(parts) => match parts.each_ref().map(folded) {
            [E::Truth(true), then, _] => then,
            [E::Truth(false), _, otherwise] => otherwise,
            parts => E::Choose(Box::new(parts)),
        },
        E::Sum(left, right) => folded(left).plus(folded(right)),
        E::Difference(left, right) => folded(left).minus(folded(right)),
        E::Least(numbers) => least(numbers),
        E::Number(_) | E::Truth(_) | E::Variable(_) | E::Defined(_) => expression.clone(),
    }
}

fn least(numbers: &[Expression]) -> Expression {
    let mut kept: Vec<Expression> = Vec::new();
    for number in numbers.iter().map(folded) {
        if !kept.contains(&number) {
            kept.push(number);
        }
    }
    match kept.len() {
        1 => kept.remove(0),
        _ => Expression::Least(kept),
    }
}

/// A body without what is known to do nothing: what is set already, and conditions that hold, or do not, where they stand.
fn without_the_known(body: &[Statement], known: &mut Vec<Expression>) -> Vec<Statement> {
    let mut kept = Vec::new();
    for statement in body {
        match statement {
            Statement::Set(name, value) => {
                let is_so = Expression::of(*name).equals(value.clone());
                if known.contains(&is_so) {
                    continue;
                }
                known.retain(|fact| !fact.reads(*name));
                if let Expression::Number(_) = value {
                    known.push(is_so);
                }
                kept.push(statement.clone());
            }
            Statement::If(condition, then, otherwise) => match truth_of(condition, known) {
                Some(true) => kept.extend(without_the_known(then, known)),
                Some(false) => kept.extend(without_the_known(otherwise, known)),
                None => kept.extend(decided(condition, then, otherwise, known)),
            },
        }
    }
    kept
}

/// The same for an `if`, behind which only that is known which both of its ways leave so.
fn decided(
    condition: &Expression,
    then: &[Statement],
    otherwise: &[Statement],
    known: &mut Vec<Expression>,
) -> Vec<Statement> {
    let [mut held, mut failed] = [known.clone(), known.clone()];
    held.push(condition.clone());
    failed.push(condition.clone().not());
    let then = without_the_known(then, &mut held);
    let otherwise = without_the_known(otherwise, &mut failed);
    held.retain(|fact| failed.contains(fact));
    *known = held;
    when(condition.clone(), then, otherwise)
}

/// Whether a condition holds where some others do, as far as that is plain to see.
fn truth_of(condition: &Expression, known: &[Expression]) -> Option<bool> {
    let negated = condition.clone().not();
    let is_known = |wanted: &Expression, opposite: &Expression| {
        known.contains(wanted) || known.iter().any(|fact| contradict(fact, opposite))
    };
    match (is_known(condition, &negated), is_known(&negated, condition)) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// Whether both say of the same that it is a number, and not of the same number.
fn contradict(one: &Expression, other: &Expression) -> bool {
    use super::Comparison::Equal;
    use Expression::{Compare, Number};
    match (one, other) {
        (Compare(Equal, a, left), Compare(Equal, b, right)) => match (&**left, &**right) {
            (Number(left), Number(right)) => a == b && left != right,
            _ => false,
        },
        _ => false,
    }
}

/// Truths that all have to hold, or of which one has to; `neutral` is the truth that changes nothing.
fn joined(parts: &[Expression], neutral: bool) -> Expression {
    let mut kept: Vec<Expression> = Vec::new();
    for part in parts.iter().map(folded) {
        match part {
            Expression::Truth(truth) if truth == neutral => {}
            Expression::Truth(_) => return part,
            Expression::All(inner) if neutral => kept.extend(inner),
            part => kept.push(part),
        }
    }
    match kept.len() {
        0 => Expression::Truth(neutral),
        1 => kept.remove(0),
        _ if neutral => Expression::All(kept),
        _ => Expression::Any(kept),
    }
}
