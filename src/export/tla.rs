//! A model in TLA+, for TLC: every move as its ways, each with what has to hold for it and what it makes of the variables.

use std::collections::BTreeMap;

use super::model::{Comparison, Expression, Model, Move, Name, Statement, folded};

/// How wide a list of names gets.
const WIDTH: usize = 110;

/// One way through a move: its conditions, and the variables that it changes.
#[derive(Clone, Default)]
struct Way {
    conditions: Vec<Expression>,
    values: Values,
}

type Values = BTreeMap<Name, Expression>;

/// Prints a model as a module of this name.
pub(super) fn print(model: &Model, module: &str) -> String {
    let head = format!("{0} MODULE {module} {0}", "-".repeat(20));
    let mut text = format!("{head}\n(* {}\n\n", safe(&model.title));
    text.push_str(
        "   TLC: INIT Init, NEXT Next, INVARIANT Holds, and -deadlock, as a run may end.\n",
    );
    text.push_str("   One distinct state is one world of the search without its reductions.\n\n");
    for line in &model.legend {
        text.push_str(&format!("   {}\n", safe(line)));
    }
    text.push_str("*)\nEXTENDS Integers\n\n");
    let names: Vec<&str> = model
        .variables
        .iter()
        .map(|variable| variable.name.as_str())
        .collect();
    text.push_str(&format!("VARIABLES\n  {}\n\n", list(&names, 2)));
    text.push_str(&format!("vars == <<\n  {}\n  >>\n\n", list(&names, 2)));
    text.push_str(&definitions(model));
    text.push_str("Init ==\n");
    for variable in &model.variables {
        text.push_str(&format!(
            "  /\\ {} = {}\n",
            variable.name,
            number(variable.start)
        ));
    }
    let mut next = String::new();
    for (place, one) in model.moves.iter().enumerate() {
        let name = format!("Move{}", place + 1);
        text.push_str(&format!(
            "\n\\* {}\n{name} ==\n{}",
            one.about,
            move_text(model, one)
        ));
        next.push_str(&format!("  \\/ {name}\n"));
    }
    text.push_str(&format!("\nNext ==\n{next}\nHolds ==\n"));
    for (name, sentence) in &model.properties {
        text.push_str(&format!(
            "  \\* {sentence}\n  /\\ {} = 0\n",
            model.name(*name)
        ));
    }
    text.push_str("\nSpec == Init /\\ [][Next]_vars\n");
    text.push_str(&"=".repeat(head.len()));
    text.push('\n');
    text
}

fn definitions(model: &Model) -> String {
    if model.definitions.is_empty() {
        return String::new();
    }
    let mut text = "Min(a, b) == IF a <= b THEN a ELSE b\n".to_string();
    for (name, value) in &model.definitions {
        text.push_str(&format!("{name} == {}\n", expression(model, value)));
    }
    text.push('\n');
    text
}

/// A text that ends no comment.
fn safe(text: &str) -> String {
    text.replace("*)", "* )")
}

/// Names with commas, in lines that begin behind a margin.
fn list(names: &[&str], margin: usize) -> String {
    let mut text = String::new();
    let mut width = margin;
    for (place, name) in names.iter().enumerate() {
        let comma = if place + 1 < names.len() { "," } else { "" };
        if place > 0 && width + name.len() > WIDTH {
            text.push_str(&format!("\n{}", " ".repeat(margin)));
            width = margin;
        } else if place > 0 {
            text.push(' ');
        }
        text.push_str(&format!("{name}{comma}"));
        width += name.len() + 2;
    }
    text
}

fn move_text(model: &Model, one: &Move) -> String {
    let guards = match &one.guard {
        Expression::All(parts) => parts.clone(),
        other => vec![other.clone()],
    };
    let mut text = String::new();
    for guard in &guards {
        text.push_str(&format!("  /\\ {}\n", expression(model, guard)));
    }
    let mut ways = Vec::new();
    walk(&[&one.body], Way::default(), &mut ways);
    let all = (0..model.variables.len()).map(Name);
    let (changed, same): (Vec<Name>, Vec<Name>) =
        all.partition(|name| ways.iter().any(|way| way.values.contains_key(name)));
    for (place, way) in ways.iter().enumerate() {
        let (mut lead, margin) = match (ways.len(), place) {
            (1, _) => ("  /\\ ", "  "),
            (_, 0) => ("  /\\ \\/ /\\ ", "        "),
            _ => ("     \\/ /\\ ", "        "),
        };
        let behind = format!("{margin}/\\ ");
        for part in parts(model, way, &changed, margin.len()) {
            text.push_str(&format!("{lead}{part}\n"));
            lead = &behind;
        }
    }
    if !same.is_empty() {
        text.push_str(&format!("  /\\ {}\n", unchanged(model, &same, 2)));
    }
    text
}

/// What has to hold for a way, and what it makes of the variables that some way changes.
fn parts(model: &Model, way: &Way, changed: &[Name], margin: usize) -> Vec<String> {
    let conditions = way
        .conditions
        .iter()
        .map(|condition| expression(model, condition));
    let mut parts: Vec<String> = conditions.collect();
    let (set, kept): (Vec<Name>, Vec<Name>) = changed
        .iter()
        .partition(|name| way.values.contains_key(name));
    for name in set {
        let value = way
            .values
            .get(&name)
            .map_or(String::new(), |value| expression(model, value));
        parts.push(format!("{}' = {value}", model.name(name)));
    }
    if !kept.is_empty() {
        parts.push(unchanged(model, &kept, margin));
    }
    parts
}

fn unchanged(model: &Model, names: &[Name], margin: usize) -> String {
    let names: Vec<&str> = names.iter().map(|name| model.name(*name)).collect();
    format!("UNCHANGED <<{}>>", list(&names, margin + 15))
}

/// Follows the ways through statements that come one behind the other. What is decided on the way to something else stands as IF in
/// the values; the last decision makes two ways.
fn walk(rest: &[&[Statement]], way: Way, ways: &mut Vec<Way>) {
    let Some((first, behind)) = rest.split_first() else {
        return ways.push(way);
    };
    let Some((statement, others)) = first.split_first() else {
        return walk(behind, way, ways);
    };
    let mut left = vec![others];
    left.extend(behind);
    let is_last = left.iter().all(|body| body.is_empty());
    match statement {
        Statement::If(condition, then, otherwise)
            if is_last && sets(then) + sets(otherwise) > 3 =>
        {
            let condition = now(condition, &way.values);
            for (holds, body) in [(condition.clone(), then), (condition.not(), otherwise)] {
                let mut next = way.clone();
                match holds {
                    Expression::Truth(false) => continue,
                    Expression::Truth(true) => {}
                    Expression::All(parts) => next.conditions.extend(parts),
                    holds => next.conditions.push(holds),
                }
                walk(&[body], next, ways);
            }
        }
        statement => {
            let mut next = way;
            after(std::slice::from_ref(statement), &mut next.values);
            walk(&left, next, ways);
        }
    }
}

/// How many variables a body sets.
fn sets(body: &[Statement]) -> usize {
    let sets = body.iter().map(|statement| match statement {
        Statement::Set(..) => 1,
        Statement::If(_, then, otherwise) => sets(then) + sets(otherwise),
    });
    sets.sum()
}

fn now(expression: &Expression, values: &Values) -> Expression {
    folded(&expression.with(&|name| {
        values
            .get(&name)
            .cloned()
            .unwrap_or(Expression::Variable(name))
    }))
}

/// What a body makes of the values.
fn after(body: &[Statement], values: &mut Values) {
    for statement in body {
        match statement {
            Statement::Set(name, value) => {
                let value = now(value, values);
                values.insert(*name, value);
            }
            Statement::If(condition, then, otherwise) => {
                let condition = now(condition, values);
                let [mut yes, mut no] = [values.clone(), values.clone()];
                after(then, &mut yes);
                after(otherwise, &mut no);
                let names: Vec<Name> = yes.keys().chain(no.keys()).copied().collect();
                for name in names {
                    let value = |values: &Values| {
                        values
                            .get(&name)
                            .cloned()
                            .unwrap_or(Expression::Variable(name))
                    };
                    let (then, otherwise) = (value(&yes), value(&no));
                    let value = match then == otherwise {
                        true => then,
                        false => folded(&Expression::Choose(Box::new([
                            condition.clone(),
                            then,
                            otherwise,
                        ]))),
                    };
                    values.insert(name, value);
                }
            }
        }
    }
}

fn number(number: i64) -> String {
    match number {
        0.. => number.to_string(),
        _ => format!("({number})"),
    }
}

fn expression(model: &Model, whole: &Expression) -> String {
    use Expression as E;
    let part = |part: &Expression| expression(model, part);
    let joined = |parts: &[Expression], sign: &str| {
        let parts: Vec<String> = parts.iter().map(part).collect();
        format!("({})", parts.join(sign))
    };
    match whole {
        E::Number(value) => number(*value),
        E::Variable(name) => model.name(*name).to_string(),
        E::Defined(place) => model
            .definitions
            .get(*place)
            .map_or("", |(name, _)| name)
            .to_string(),
        E::Truth(true) => "TRUE".to_string(),
        E::Truth(false) => "FALSE".to_string(),
        E::Not(inner) => format!("~({})", part(inner)),
        E::All(parts) => joined(parts, " /\\ "),
        E::Any(parts) => joined(parts, " \\/ "),
        E::Least(numbers) => {
            let numbers = numbers.iter().map(part);
            numbers
                .reduce(|a, b| format!("Min({a}, {b})"))
                .unwrap_or_default()
        }
        E::Compare(comparison, left, right) => {
            let sign = match comparison {
                Comparison::Equal => "=",
                Comparison::NotEqual => "#",
                Comparison::Less => "<",
                Comparison::LessOrEqual => "<=",
            };
            format!("{} {sign} {}", part(left), part(right))
        }
        E::Sum(left, right) => format!("({} + {})", part(left), part(right)),
        E::Difference(left, right) => format!("({} - {})", part(left), part(right)),
        E::Choose(parts) => {
            let [condition, then, otherwise] = &**parts;
            format!(
                "(IF {} THEN {} ELSE {})",
                part(condition),
                part(then),
                part(otherwise)
            )
        }
    }
}
