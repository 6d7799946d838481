//! A model in Promela, for Spin.

use super::model::{Comparison, Expression, Model, Name, Statement};

/// What the header says of how to run it, with the name of the file.
const USE: &str = "\
   spin -o2 -a FILE && cc -O2 -DSAFETY -DNOREDUCE -o pan pan.c && ./pan -c0 -m1000000
   One stored state is one world of the search without its reductions; -o2 keeps Spin from dropping what is only written.";

/// Prints a model.
pub(super) fn print(model: &Model) -> String {
    let mut text = format!("/* {}\n\n{}\n\n", safe(&model.title), USE);
    for line in &model.legend {
        text.push_str(&format!("   {}\n", safe(line)));
    }
    text.push_str(" */\n\n");
    for variable in &model.variables {
        text.push_str(&format!("int {} = {};\n", variable.name, variable.start));
    }
    for name in &model.interim {
        text.push_str(&format!("hidden int {name};\n"));
    }
    if !model.definitions.is_empty() {
        text.push_str("\n#define MIN(a, b) ((a) <= (b) -> (a) : (b))\n");
    }
    for (name, value) in &model.definitions {
        text.push_str(&format!(
            "#define {name} {}\n",
            expression(model, value, true)
        ));
    }
    text.push_str("\nactive proctype scenario() {\nend:\n  do\n");
    for one in &model.moves {
        text.push_str(&format!("  /* {} */\n  :: d_step {{\n", safe(&one.about)));
        text.push_str(&format!(
            "       {} ->\n",
            expression(model, &one.guard, false)
        ));
        lines(model, &one.body, 7, &mut text);
        for (name, sentence) in &model.properties {
            if sets(&one.body, *name) {
                let name = &model.variables[name.0].name;
                text.push_str(&format!("       assert({name} == 0); /* {sentence} */\n"));
            }
        }
        text.push_str("     }\n");
    }
    text.push_str("  od\n}\n");
    text
}

/// A text that ends no comment.
fn safe(text: &str) -> String {
    text.replace("*/", "* /")
}

fn sets(body: &[Statement], name: Name) -> bool {
    body.iter().any(|statement| match statement {
        Statement::Set(other, _) => *other == name,
        Statement::If(_, then, otherwise) => sets(then, name) || sets(otherwise, name),
    })
}

fn lines(model: &Model, body: &[Statement], indent: usize, text: &mut String) {
    let margin = " ".repeat(indent);
    if body.is_empty() {
        text.push_str(&format!("{margin}skip;\n"));
    }
    for statement in body {
        match statement {
            Statement::Set(name, value) => {
                let value = expression(model, value, false);
                text.push_str(&format!("{margin}{} = {value};\n", model.name(*name)));
            }
            Statement::If(condition, then, otherwise) => {
                let condition = expression(model, condition, false);
                text.push_str(&format!("{margin}if\n{margin}:: {condition} ->\n"));
                lines(model, then, indent + 3, text);
                text.push_str(&format!("{margin}:: else"));
                if otherwise.is_empty() {
                    text.push('\n');
                } else {
                    text.push_str(" ->\n");
                    lines(model, otherwise, indent + 3, text);
                }
                text.push_str(&format!("{margin}fi;\n"));
            }
        }
    }
}

fn expression(model: &Model, whole: &Expression, is_part: bool) -> String {
    use Expression as E;
    let part = |part: &Expression| expression(model, part, true);
    let joined =
        |parts: &[Expression], sign: &str| parts.iter().map(part).collect::<Vec<_>>().join(sign);
    let (text, is_simple) = match whole {
        E::Number(number) => (number.to_string(), true),
        E::Variable(name) => (model.name(*name).to_string(), true),
        E::Truth(truth) => (truth.to_string(), true),
        E::Not(inner) => (format!("!{}", part(inner)), true),
        E::All(parts) => (joined(parts, " && "), false),
        E::Any(parts) => (joined(parts, " || "), false),
        E::Compare(comparison, left, right) => {
            let sign = match comparison {
                Comparison::Equal => "==",
                Comparison::NotEqual => "!=",
                Comparison::Less => "<",
                Comparison::LessOrEqual => "<=",
            };
            (format!("{} {sign} {}", part(left), part(right)), false)
        }
        E::Sum(left, right) => (format!("{} + {}", part(left), part(right)), false),
        E::Difference(left, right) => (format!("{} - {}", part(left), part(right)), false),
        E::Defined(place) => {
            let definition = model.definitions.get(*place);
            (definition.map_or("", |(name, _)| name).to_string(), true)
        }
        E::Least(numbers) => {
            let numbers = numbers.iter().map(part);
            let least = numbers.reduce(|a, b| format!("MIN({a}, {b})"));
            (least.unwrap_or_default(), true)
        }
        E::Choose(parts) => {
            let [condition, then, otherwise] = &**parts;
            let chosen = format!(
                "({} -> {} : {})",
                part(condition),
                part(then),
                part(otherwise)
            );
            (chosen, true)
        }
    };
    match is_part && !is_simple {
        true => format!("({text})"),
        false => text,
    }
}
