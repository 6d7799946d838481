//! What a client's step does: the request at its server, and what the reply means.

use super::super::Refusal;
use super::build::{Build, set};
use super::watch::RowWrite;
use super::{Comparison, Expression, NONE, Name, Statement, fold, lua, sql, when};
use crate::sim::client::protocol::{
    Argument, Clause, Effect, Element, Flow, Pattern, Protocol, Request, Step,
};
use crate::sim::database::Statement as SqlStatement;

/// What a server answers.
#[derive(Clone, Debug)]
enum Answer {
    Ok,
    Nil,
    Integer(Expression),
    Text(Expression),
    /// So many affected rows.
    Rows(i64),
    /// One row.
    Row(Vec<Expression>),
}

impl Answer {
    /// What some local values are made of.
    fn of(locals: &[(String, Answer)]) -> impl Iterator<Item = &Expression> {
        locals.iter().filter_map(|(_, value)| match value {
            Answer::Integer(value) | Answer::Text(value) => Some(value),
            _ => None,
        })
    }
}

/// What a request has done so far.
#[derive(Clone, Debug, Default)]
struct Course {
    /// The script's keys, other arguments and local values.
    keys: Vec<Vec<u8>>,
    arguments: Vec<Operand>,
    locals: Vec<(String, Answer)>,
    /// Keys that it has written, and counters from which it has drawn.
    written: Vec<Vec<u8>>,
    drawn: Vec<Vec<u8>>,
}

/// An argument of a command.
#[derive(Clone, Debug)]
enum Operand {
    /// Written out, as a text or a number.
    Literal(Vec<u8>),
    Text(Expression),
    Number(Expression),
}

type Body = Result<Vec<Statement>, Refusal>;
type Then<'t, 'a> = &'t mut dyn FnMut(&mut Build<'a>, &Course, Answer) -> Body;

impl<'a> Build<'a> {
    /// A move for each step of a client.
    pub fn steps_of(&mut self, client: usize) -> Result<(), Refusal> {
        let protocol = self.protocol(client);
        for (place, step) in protocol.steps.iter().enumerate() {
            let body = self.step(client, place).map_err(|Refusal(why)| {
                Refusal(format!(
                    "the step `{}` of the protocol `{}`: {why}",
                    step.label, protocol.name
                ))
            })?;
            let body = self.where_bound(client, place, body);
            let state = &self.clients[client];
            let mut guard = vec![Expression::of(state.at).equals_number(place as i64)];
            guard.extend(
                state
                    .asleep
                    .map(|asleep| Expression::of(asleep).equals_number(0)),
            );
            let most = Expression::Number(self.attempts(client));
            guard.extend(
                state
                    .attempt
                    .map(|attempt| Expression::of(attempt).at_most(most)),
            );
            let about = format!("{} {}: {}", state.name, step.label, step.source.join(" "));
            self.happens(about, guard, body);
        }
        Ok(())
    }

    fn step(&mut self, client: usize, step: usize) -> Body {
        let request = &self.protocol(client).steps[step].request;
        let mut then = |build: &mut Build<'a>, course: &Course, answer: Answer| {
            let mut body = build.request_ended(client, course);
            body.extend(build.deliver(client, step, &answer, 0)?);
            Ok(body)
        };
        match request {
            Request::Store(None, arguments) => {
                let operands = self.operands(client, arguments)?;
                match arguments.as_slice() {
                    [Argument::Literal(name), Argument::ScriptSource(script), ..]
                        if name.eq_ignore_ascii_case(b"EVAL") =>
                    {
                        self.script(client, script, &operands[2..], &mut then)
                    }
                    _ => self.command(client, &Course::default(), &operands, &mut then),
                }
            }
            Request::Database(Ok(statement)) => self.statement(client, statement, &mut then),
            Request::Gateway(_) => refuse("the card gateway is no part of a model"),
            _ => refuse(
                "it looks at a clock, counts votes, waits for a message or sleeps, which is no part of a model",
            ),
        }
    }

    /// A step ends the run where its request has a variable without a value.
    fn where_bound(&self, client: usize, step: usize, body: Vec<Statement>) -> Vec<Statement> {
        let protocol = self.protocol(client);
        let names = super::super::variables(&protocol.steps[step].request);
        let unbound = names.filter(|name| !is_surely_bound(protocol, name, step));
        let unbound = unbound.filter_map(|name| self.variable(client, name));
        let unbound = unbound.map(|name| Expression::of(name).equals_number(NONE));
        let unbound = fold::folded(&Expression::Any(unbound.collect()));
        when(unbound, self.end_run(client, false), body)
    }

    fn operands(&mut self, client: usize, arguments: &[Argument]) -> Result<Vec<Operand>, Refusal> {
        arguments
            .iter()
            .map(|argument| match argument {
                Argument::Variable(name) if name == "me" => Ok(Operand::Text(self.me(client))),
                Argument::Variable(name) => match self.variable(client, name) {
                    Some(name) => Ok(Operand::Number(Expression::of(name))),
                    None => self.literal(client, argument).map(Operand::Literal),
                },
                Argument::Literal(bytes) => Ok(Operand::Literal(bytes.clone())),
                Argument::ScriptSource(_) => Ok(Operand::Literal(Vec::new())),
                Argument::ScriptSha(_) => refuse("EVALSHA is no part of a model; EVAL is"),
            })
            .collect()
    }

    fn variable(&self, client: usize, name: &str) -> Option<Name> {
        let variables = &self.clients[client].variables;
        variables
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, name)| *name)
    }

    // --- the store ---

    fn command(
        &mut self,
        client: usize,
        course: &Course,
        operands: &[Operand],
        then: Then<'_, 'a>,
    ) -> Body {
        let Some((Operand::Literal(name), operands)) = operands.split_first() else {
            return refuse("the command is no word");
        };
        let name = String::from_utf8_lossy(name).to_ascii_uppercase();
        let Some((Operand::Literal(key), rest)) = operands.split_first() else {
            return refuse("a key is not written out");
        };
        let Some(place) = self.keys.iter().position(|known| known.key == *key) else {
            return refuse("a key is not named in the step");
        };
        let mut read = Answer::of(&course.locals);
        if name != "GET"
            && name != "EXISTS"
            && read.any(|value| value.reads(self.keys[place].value))
        {
            return refuse(
                "its script keeps what it read from a key and writes the key before it uses it",
            );
        }
        match (name.as_str(), rest) {
            ("SET", [value, options @ ..]) => {
                self.set_key(client, course, place, value, options, then)
            }
            ("SETNX", [value]) => {
                let options = [Operand::Literal(b"NX".to_vec())];
                self.set_key(
                    client,
                    course,
                    place,
                    value,
                    &options,
                    &mut |build, course, answer| {
                        let number = if matches!(answer, Answer::Ok) { 1 } else { 0 };
                        then(build, course, Answer::Integer(Expression::Number(number)))
                    },
                )
            }
            ("GET", []) => self.get_key(course, place, then),
            ("EXISTS", []) => self.whether_present(course, place, then, |_, _| Vec::new()),
            ("DEL", []) => self.delete_key(client, course, place, then),
            ("INCR", []) => self.count(course, place, then),
            ("PEXPIRE" | "EXPIRE", [time]) => {
                let unit = if name == "EXPIRE" { 1000 } else { 1 };
                let time = milliseconds(time, unit)?;
                self.touch_key(client, course, place, time, then)
            }
            _ => Err(Refusal(format!(
                "{name} in this form is no part of a model"
            ))),
        }
    }

    fn delete_key(
        &mut self,
        client: usize,
        course: &Course,
        place: usize,
        then: Then<'_, 'a>,
    ) -> Body {
        self.whether_present(course, place, then, |build, _| {
            let key = &build.keys[place];
            let mut body = build.memory.lock_deleted(client, &key.key);
            body.push(set(key.value, NONE));
            body.extend(key.left.map(|name| set(name, NONE)));
            body.extend(build.belief(client, &key.key).map(|name| set(name, 0)));
            body
        })
    }

    /// Gives the key a deadline.
    fn touch_key(
        &mut self,
        client: usize,
        course: &Course,
        place: usize,
        time: i64,
        then: Then<'_, 'a>,
    ) -> Body {
        self.whether_present(course, place, then, |build, course| {
            let key = &build.keys[place];
            course.written.push(key.key.clone());
            let mut body = build.memory.lock_touched(client, &key.key);
            body.extend(key.left.map(|name| set(name, time)));
            body
        })
    }

    /// Does something where the key is there, and answers 1 then, else 0.
    fn whether_present(
        &mut self,
        course: &Course,
        place: usize,
        then: Then<'_, 'a>,
        act: impl Fn(&Build<'a>, &mut Course) -> Vec<Statement>,
    ) -> Body {
        let present = Expression::of(self.keys[place].value).present();
        let mut acting = course.clone();
        let mut body = act(self, &mut acting);
        body.extend(then(self, &acting, one(1))?);
        let otherwise = then(self, course, one(0))?;
        Ok(when(present, body, otherwise))
    }

    fn set_key(
        &mut self,
        client: usize,
        course: &Course,
        place: usize,
        value: &Operand,
        options: &[Operand],
        then: Then<'_, 'a>,
    ) -> Body {
        let counts = self.keys[place].counts;
        let value = self.value(value, counts)?;
        let (mut only, mut left) = (None, NONE);
        let mut words = options.iter();
        while let Some(Operand::Literal(word)) = words.next() {
            match word.to_ascii_uppercase().as_slice() {
                b"NX" => only = Some(false),
                b"XX" => only = Some(true),
                unit @ (b"PX" | b"EX") => {
                    let unit = if unit == b"EX" { 1000 } else { 1 };
                    let Some(time) = words.next() else {
                        return refuse("a time is missing");
                    };
                    left = milliseconds(time, unit)?;
                }
                other => {
                    return Err(Refusal(format!(
                        "SET with {} is no part of a model",
                        String::from_utf8_lossy(other)
                    )));
                }
            }
        }
        let key = &self.keys[place];
        let (name, deadline, key) = (key.value, key.left, key.key.clone());
        let present = Expression::of(name).present();
        let known = only.map_or(present.clone(), Expression::Truth);
        let same = Expression::of(name).equals(value.clone());
        let mut body = self.memory.lock_set(client, &key, &known, &same);
        body.push(Statement::Set(name, value));
        body.extend(deadline.map(|name| set(name, left)));
        let mut written = course.clone();
        written.written.push(key);
        body.extend(then(self, &written, Answer::Ok)?);
        Ok(match only {
            None => body,
            Some(wanted) => {
                let otherwise = then(self, course, Answer::Nil)?;
                when(
                    if wanted { present } else { present.not() },
                    body,
                    otherwise,
                )
            }
        })
    }

    fn get_key(&mut self, course: &Course, place: usize, then: Then<'_, 'a>) -> Body {
        let key = &self.keys[place];
        if key.counts {
            return refuse("GET of a counter is no part of a model");
        }
        let value = Expression::of(key.value);
        let body = then(self, course, Answer::Text(value.clone()))?;
        let otherwise = then(self, course, Answer::Nil)?;
        Ok(when(value.present(), body, otherwise))
    }

    fn count(&mut self, course: &Course, place: usize, then: Then<'_, 'a>) -> Body {
        let key = &self.keys[place];
        if !key.counts {
            return refuse("INCR of a key that is set to texts is no part of a model");
        }
        let (value, name) = (Expression::of(key.value), key.value);
        let mut drawn = course.clone();
        if drawn.drawn.contains(&key.key) {
            return refuse("two INCR in one request are no part of a model");
        }
        drawn.drawn.push(key.key.clone());
        let first = when(value.clone().present(), Vec::new(), vec![set(name, 0)]);
        let mut body = first;
        body.push(Statement::Set(
            name,
            value.clone().plus(Expression::Number(1)),
        ));
        body.extend(then(self, &drawn, Answer::Integer(value))?);
        Ok(body)
    }

    /// A value as the number that the model has for it.
    fn value(&mut self, operand: &Operand, counts: bool) -> Result<Expression, Refusal> {
        match (operand, counts) {
            (Operand::Text(text), false) => Ok(text.clone()),
            (Operand::Number(number), true) => Ok(number.clone()),
            (Operand::Literal(bytes), false) => Ok(Expression::Number(self.text(bytes))),
            (Operand::Literal(bytes), true) => number(bytes).map(Expression::Number),
            _ => refuse(
                "a key holds texts at one time and numbers at another, which is no part of a model",
            ),
        }
    }

    fn belief(&self, client: usize, key: &[u8]) -> Option<Name> {
        let beliefs = &self.clients[client].beliefs;
        beliefs
            .iter()
            .find(|(known, _)| known == key)
            .map(|(_, name)| *name)
    }

    /// What the properties make of a request to the store as a whole.
    fn request_ended(&mut self, client: usize, course: &Course) -> Vec<Statement> {
        let mut body = Vec::new();
        let draws = self
            .protocol(client)
            .steps
            .iter()
            .flat_map(|step| &step.clauses);
        let says_draws = draws
            .flat_map(|clause| &clause.effects)
            .any(|effect| matches!(effect, Effect::Draws(_)));
        for key in course
            .drawn
            .iter()
            .filter(|key| !says_draws && self.memory.is_counter(key))
        {
            let counter = self.keys.iter().find(|known| known.key == **key);
            if let Some(counter) = counter {
                let token = Expression::of(counter.value);
                body.extend(self.memory.drew(client, Some(key), &token));
            }
        }
        let mut written = course.written.clone();
        written.dedup();
        for state in self
            .keys
            .iter()
            .filter(|state| written.contains(&state.key))
        {
            let mut stays = vec![Expression::of(state.value).present()];
            stays.extend(
                state
                    .left
                    .map(|left| Expression::of(left).equals_number(NONE)),
            );
            let stays = fold::folded(&Expression::All(stays));
            body.extend(self.memory.lock_left(&state.key, stays));
        }
        body
    }

    // --- scripts ---

    fn script(
        &mut self,
        client: usize,
        name: &str,
        operands: &[Operand],
        then: Then<'_, 'a>,
    ) -> Body {
        let Some(source) = self.setup.scripts.get(name) else {
            return refuse("there is no such script");
        };
        let lines = lua::read(&String::from_utf8_lossy(source))?;
        let Some((Operand::Literal(count), rest)) = operands.split_first() else {
            return refuse("the number of keys is not written out");
        };
        let count = usize::try_from(number(count)?)
            .unwrap_or(usize::MAX)
            .min(rest.len());
        let (keys, arguments) = rest.split_at(count);
        let keys = keys.iter().map(|key| match key {
            Operand::Literal(key) => Ok(key.clone()),
            _ => refuse("a key is not written out"),
        });
        let course = Course {
            keys: keys.collect::<Result<_, _>>()?,
            arguments: arguments.to_vec(),
            ..Course::default()
        };
        let loaded = self
            .scripts
            .iter()
            .find(|(known, _)| known == source)
            .map(|(_, name)| *name);
        let mut body: Vec<Statement> = loaded.map(|name| set(name, 1)).into_iter().collect();
        let lines: Vec<&lua::Line> = lines.iter().collect();
        body.extend(
            self.lines(client, &course, &lines, &mut |build, course, answer| {
                let answer = match answer {
                    Answer::Ok | Answer::Nil | Answer::Integer(_) | Answer::Text(_) => answer,
                    _ => return refuse("its script returns what is no part of a model"),
                };
                then(build, course, answer)
            })?,
        );
        Ok(body)
    }

    /// Runs the lines of a script; what comes behind an `if` belongs to both of its ways.
    fn lines(
        &mut self,
        client: usize,
        course: &Course,
        lines: &[&lua::Line],
        then: Then<'_, 'a>,
    ) -> Body {
        let Some((line, rest)) = lines.split_first() else {
            return then(self, course, Answer::Nil);
        };
        match line {
            lua::Line::Return(value) => self.evaluate(client, course, value, then),
            lua::Line::Call(value) => {
                self.evaluate(client, course, value, &mut |build, course, _| {
                    build.lines(client, course, rest, then)
                })
            }
            lua::Line::Local(name, value) => {
                self.evaluate(client, course, value, &mut |build, course, answer| {
                    let mut course = course.clone();
                    course.locals.push((name.clone(), answer));
                    build.lines(client, &course, rest, then)
                })
            }
            lua::Line::If(condition, yes, no) => {
                self.truth(client, course, condition, &mut |build, course, truth| {
                    let chosen = if truth { yes } else { no };
                    let lines: Vec<&lua::Line> =
                        chosen.iter().chain(rest.iter().copied()).collect();
                    build.lines(client, course, &lines, then)
                })
            }
        }
    }

    /// Whether a value counts as true, on every way.
    fn truth(
        &mut self,
        client: usize,
        course: &Course,
        value: &lua::Value,
        then: &mut dyn FnMut(&mut Build<'a>, &Course, bool) -> Body,
    ) -> Body {
        match value {
            lua::Value::Not(inner) => {
                self.truth(client, course, inner, &mut |build, course, truth| {
                    then(build, course, !truth)
                })
            }
            lua::Value::Compare(wanted, left, right) => {
                self.evaluate(client, course, left, &mut |build, course, left| {
                    build.evaluate(client, course, right, &mut |build, course, right| {
                        let equal = build.equal(&left, &right)?;
                        let yes = then(build, course, *wanted)?;
                        let no = then(build, course, !*wanted)?;
                        Ok(when(equal, yes, no))
                    })
                })
            }
            other => self.evaluate(client, course, other, &mut |build, course, answer| {
                then(build, course, !matches!(answer, Answer::Nil))
            }),
        }
    }

    /// Whether two values of a script are equal. A literal is a text.
    fn equal(&mut self, left: &Answer, right: &Answer) -> Result<Expression, Refusal> {
        match (left, right) {
            (Answer::Text(left), Answer::Text(right))
            | (Answer::Integer(left), Answer::Integer(right)) => {
                Ok(left.clone().equals(right.clone()))
            }
            (Answer::Nil, Answer::Nil) => Ok(Expression::Truth(true)),
            _ => Ok(Expression::Truth(false)),
        }
    }

    fn evaluate(
        &mut self,
        client: usize,
        course: &Course,
        value: &lua::Value,
        then: Then<'_, 'a>,
    ) -> Body {
        let answer = match value {
            lua::Value::Nil | lua::Value::Truth(false) => Answer::Nil,
            lua::Value::Truth(true) => one(1),
            lua::Value::Number(number) => one(*number),
            lua::Value::Text(text) => Answer::Text(Expression::Number(self.text(text.as_bytes()))),
            lua::Value::Local(name) => {
                let known = course.locals.iter().rev().find(|(known, _)| known == name);
                match known {
                    Some((_, answer)) => answer.clone(),
                    None => {
                        return Err(Refusal(format!(
                            "its script reads `{name}`, which it has not set"
                        )));
                    }
                }
            }
            lua::Value::Key(_) | lua::Value::Argument(_) => match self.operand(course, value)? {
                Operand::Literal(bytes) => Answer::Text(Expression::Number(self.text(&bytes))),
                Operand::Text(text) => Answer::Text(text),
                Operand::Number(_) => {
                    return refuse("its script compares a number that was sent as a text");
                }
            },
            lua::Value::Call(arguments) => {
                let operands = arguments
                    .iter()
                    .map(|argument| self.operand(course, argument));
                let operands: Vec<Operand> = operands.collect::<Result<_, _>>()?;
                return self.command(client, course, &operands, then);
            }
            lua::Value::Compare(..) | lua::Value::Not(_) => {
                return self.truth(client, course, value, &mut |build, course, truth| {
                    then(build, course, if truth { one(1) } else { Answer::Nil })
                });
            }
        };
        then(self, course, answer)
    }

    /// A value of a script as an argument of a command.
    fn operand(&mut self, course: &Course, value: &lua::Value) -> Result<Operand, Refusal> {
        let missing =
            || Refusal("its script reads a key or an argument that is not sent".to_string());
        Ok(match value {
            lua::Value::Key(place) => {
                Operand::Literal(course.keys.get(*place).cloned().ok_or_else(missing)?)
            }
            lua::Value::Argument(place) => {
                course.arguments.get(*place).cloned().ok_or_else(missing)?
            }
            lua::Value::Text(text) => Operand::Literal(text.clone().into_bytes()),
            lua::Value::Number(number) => Operand::Literal(number.to_string().into_bytes()),
            lua::Value::Local(name) => {
                match course.locals.iter().rev().find(|(known, _)| known == name) {
                    Some((_, Answer::Text(text))) => Operand::Text(text.clone()),
                    Some((_, Answer::Integer(number))) => Operand::Number(number.clone()),
                    _ => return refuse("its script sends a value that is no text and no number"),
                }
            }
            _ => return refuse("its script nests calls"),
        })
    }

    // --- the database ---

    fn statement(&mut self, client: usize, statement: &SqlStatement, then: Then<'_, 'a>) -> Body {
        let written = sql::read(statement)?;
        let row = self.row_of(&written)?;
        let is_key = |condition: &&sql::Condition| !self.names_row(condition, &row);
        let conditions: Vec<&sql::Condition> = written.conditions.iter().filter(is_key).collect();
        let mut held = Vec::new();
        let (mut fence, mut others) = (Vec::new(), Vec::new());
        for condition in conditions {
            let left = self.sum(client, &written.table, &row, &condition.left)?;
            let right = self.sum(client, &written.table, &row, &condition.right)?;
            let holds = Expression::compare(condition.comparison, left, right);
            match self.is_about_fence(&written.table, condition) {
                true => fence.push(holds.clone()),
                false => others.push(holds.clone()),
            }
            held.push(holds);
        }
        let matched = fold::folded(&Expression::All(held));
        let course = Course::default();
        if let Some(columns) = &written.selected {
            let values = columns
                .iter()
                .map(|column| self.cell(&written.table, &row, column).map(Expression::of));
            let values = values.collect::<Result<Vec<_>, _>>()?;
            let found = then(self, &course, Answer::Row(values))?;
            let missing = then(self, &course, Answer::Rows(0))?;
            return Ok(when(matched, found, missing));
        }
        let fails = fence.iter().cloned().map(Expression::not).collect();
        others.push(Expression::Any(fails));
        let fenced = fold::folded(&Expression::All(others));
        let wrote = |accepted, changed| RowWrite {
            table: &written.table,
            row: &row,
            accepted,
            changed,
            fenced: fenced.clone(),
        };
        let (changed, assignments) = self.assignments(client, &written, &row)?;
        let mut writes = self.memory.wrote(client, &wrote(true, true));
        writes.extend(assignments);
        writes.extend(then(self, &course, Answer::Rows(1))?);
        let mut stays = self.memory.wrote(client, &wrote(true, false));
        let counted = i64::from(self.setup.found_rows);
        stays.extend(then(self, &course, Answer::Rows(counted))?);
        let mut rejected = self.memory.wrote(client, &wrote(false, false));
        rejected.extend(then(self, &course, Answer::Rows(0))?);
        Ok(when(matched, when(changed, writes, stays), rejected))
    }

    /// The key of the row that a statement names.
    fn row_of(&self, written: &sql::Written) -> Result<String, Refusal> {
        let rows = self
            .cells
            .iter()
            .filter(|cell| cell.table.eq_ignore_ascii_case(&written.table));
        let row = rows.map(|cell| &cell.row).find(|row| {
            written
                .conditions
                .iter()
                .any(|condition| self.names_row(condition, row))
        });
        row.cloned()
            .ok_or_else(|| Refusal("WHERE does not name one row by its primary key".to_string()))
    }

    /// Whether it is `sku = 'sku-1'`, of the row with this key.
    fn names_row(&self, condition: &sql::Condition, row: &str) -> bool {
        let (left, right) = (condition.left.as_slice(), condition.right.as_slice());
        let [(_, sql::Term::Column(column))] = left else {
            return false;
        };
        let literal = match right {
            [(_, sql::Term::Text(text))] => format!("'{text}'"),
            [(_, sql::Term::Number(number))] => number.to_string(),
            _ => return false,
        };
        let is_value = self
            .cells
            .iter()
            .any(|cell| cell.column.eq_ignore_ascii_case(column));
        condition.comparison == Comparison::Equal && !is_value && literal == row
    }

    fn is_about_fence(&self, table: &str, condition: &sql::Condition) -> bool {
        let fences = self
            .setup
            .watches
            .iter()
            .filter_map(|watch| watch.fence.as_ref());
        let columns: Vec<&str> = fences
            .filter(|fence| fence.table.eq_ignore_ascii_case(table))
            .map(|fence| fence.column.as_str())
            .collect();
        let mut terms = condition.left.iter().chain(&condition.right);
        terms.any(|(_, term)| matches!(term, sql::Term::Column(name) if columns.iter().any(|column| column.eq_ignore_ascii_case(name))))
    }

    fn cell(&self, table: &str, row: &str, column: &str) -> Result<Name, Refusal> {
        let is_it = |cell: &&super::build::Cell| {
            cell.table.eq_ignore_ascii_case(table)
                && cell.row == row
                && cell.column.eq_ignore_ascii_case(column)
        };
        let found = self.cells.iter().find(is_it).map(|cell| cell.value);
        found.ok_or_else(|| Refusal(format!("`{column}` is no whole number in the row")))
    }

    fn sum(
        &self,
        client: usize,
        table: &str,
        row: &str,
        sum: &sql::Sum,
    ) -> Result<Expression, Refusal> {
        let mut total: Option<Expression> = None;
        for (is_added, term) in sum {
            let value = match term {
                sql::Term::Number(number) => Expression::Number(*number),
                sql::Term::Column(column) => Expression::of(self.cell(table, row, column)?),
                sql::Term::Variable(name) => match self.variable(client, name) {
                    Some(variable) => Expression::of(variable),
                    None => Expression::Number(number(
                        &self.literal(client, &Argument::Variable(name.clone()))?,
                    )?),
                },
                sql::Term::Text(text) => {
                    return Err(Refusal(format!("`{text}` is no whole number")));
                }
            };
            total = Some(match total {
                None => value,
                Some(total) if *is_added => total.plus(value),
                Some(total) => total.minus(value),
            });
        }
        Ok(total.unwrap_or(Expression::Number(0)))
    }

    /// Whether an UPDATE changes anything, and what it sets, from left to right.
    fn assignments(
        &self,
        client: usize,
        written: &sql::Written,
        row: &str,
    ) -> Result<(Expression, Vec<Statement>), Refusal> {
        let mut now: Vec<(Name, Expression)> = Vec::new();
        let (mut changes, mut body) = (Vec::new(), Vec::new());
        for (column, sum) in &written.assigned {
            let name = self.cell(&written.table, row, column)?;
            let after = self.sum(client, &written.table, row, sum)?;
            let before_all = after.with(&|known| {
                let set = now.iter().rev().find(|(other, _)| *other == known);
                set.map_or(Expression::of(known), |(_, value)| value.clone())
            });
            changes.push(differs(name, &before_all));
            now.push((name, before_all));
            let cell = self.cells.iter().find(|cell| cell.value == name);
            body.extend(
                cell.into_iter()
                    .flat_map(|cell| self.memory.stock_changes(self.setup, cell, &after)),
            );
            body.push(Statement::Set(name, after));
        }
        Ok((fold::folded(&Expression::Any(changes)), body))
    }

    // --- the reply ---

    /// The client sees the answer: the first clause from this one on that takes it decides.
    fn deliver(&mut self, client: usize, step: usize, answer: &Answer, from: usize) -> Body {
        let Some(clause) = self.protocol(client).steps[step].clauses.get(from) else {
            return Ok(self.next(client, step));
        };
        let fits = self.fits(client, &clause.pattern, answer)?;
        let mut taken = Vec::new();
        if fits != Expression::Truth(false) {
            taken.extend(self.bind(client, &clause.pattern, answer)?);
            taken.extend(self.take_effect(client, clause)?);
            taken.extend(self.go_on(client, step, &clause.flow));
        }
        let other = match fits {
            Expression::Truth(true) => Vec::new(),
            _ => self.deliver(client, step, answer, from + 1)?,
        };
        Ok(when(fits, taken, other))
    }

    fn fits(
        &mut self,
        client: usize,
        pattern: &Pattern,
        answer: &Answer,
    ) -> Result<Expression, Refusal> {
        let truth = |truth| Ok(Expression::Truth(truth));
        match (pattern, answer) {
            (Pattern::Else, _) => truth(true),
            (Pattern::Status(text), Answer::Ok) => truth(text == "OK"),
            (Pattern::Nil, Answer::Nil) => truth(true),
            (Pattern::Integer(wanted), Answer::Integer(number)) => {
                Ok(number.clone().equals_number(*wanted))
            }
            (Pattern::Integer(wanted), Answer::Row(values)) => match values.as_slice() {
                [value] => Ok(value.clone().equals_number(*wanted)),
                _ => truth(false),
            },
            (Pattern::Text(wanted), Answer::Text(text)) => {
                Ok(text.clone().equals_number(self.text(wanted)))
            }
            (Pattern::Rows(wanted), Answer::Rows(rows)) => {
                truth(i64::try_from(*wanted) == Ok(*rows))
            }
            (Pattern::Rows(wanted), Answer::Row(_)) => truth(*wanted == 1),
            (Pattern::Bind(elements), _) => {
                let values = values_in(answer);
                if values.len() < elements.len() {
                    return truth(false);
                }
                let fitting =
                    elements
                        .iter()
                        .zip(values)
                        .map(|(element, value)| match (element, value) {
                            (Element::Variable(_), _) => Expression::Truth(true),
                            (Element::Me, Answer::Text(text)) => text.equals(self.me(client)),
                            (Element::Integer(wanted), Answer::Integer(number)) => {
                                number.equals_number(*wanted)
                            }
                            (Element::Text(wanted), Answer::Text(text)) => {
                                text.equals_number(self.text(wanted))
                            }
                            _ => Expression::Truth(false),
                        });
                Ok(fold::folded(&Expression::All(fitting.collect())))
            }
            _ => truth(false),
        }
    }

    fn bind(&self, client: usize, pattern: &Pattern, answer: &Answer) -> Body {
        let Pattern::Bind(elements) = pattern else {
            return Ok(Vec::new());
        };
        let mut body = Vec::new();
        for (element, value) in elements.iter().zip(values_in(answer)) {
            let Element::Variable(name) = element else {
                continue;
            };
            let Some(variable) = self.variable(client, name) else {
                continue;
            };
            match value {
                Answer::Integer(value) => body.push(Statement::Set(variable, value)),
                _ => {
                    return Err(Refusal(format!(
                        "`{{{name}}}` is bound to what is no number"
                    )));
                }
            }
        }
        Ok(body)
    }

    fn take_effect(&mut self, client: usize, clause: &Clause) -> Body {
        let mut body = Vec::new();
        for effect in &clause.effects {
            match effect {
                Effect::Holds { key, milliseconds } => {
                    let key = self.literal(client, key)?;
                    let believers = (0..self.clients.len()).filter(|other| *other != client);
                    let others: Vec<Expression> = believers
                        .filter_map(|other| self.belief(other, &key))
                        .map(|name| Expression::of(name).differs_from(Expression::Number(0)))
                        .collect();
                    body.extend(self.memory.believed(&key, others));
                    let with = if milliseconds.is_some() { 1 } else { 2 };
                    body.extend(self.belief(client, &key).map(|name| set(name, with)));
                }
                Effect::Releases(key) | Effect::Loses(key) => {
                    let key = self.literal(client, key)?;
                    body.extend(self.belief(client, &key).map(|name| set(name, 0)));
                }
                Effect::Draws(variable) => {
                    let Some(variable) = self.variable(client, variable) else {
                        return refuse("a token is drawn from what is bound to no reply");
                    };
                    body.extend(self.memory.drew(client, None, &Expression::of(variable)));
                }
                // Only properties that a model does not judge ask for what is sold.
                Effect::Sells { .. } => {}
                Effect::Votes(_) => return refuse("votes are no part of a model"),
            }
        }
        Ok(body)
    }

    fn go_on(&self, client: usize, step: usize, flow: &Flow) -> Vec<Statement> {
        let state = &self.clients[client];
        match flow {
            Flow::Next => self.next(client, step),
            Flow::Retry { after } => {
                let asleep = state.asleep.zip(after.filter(|after| *after > 0));
                let mut body = vec![set(state.at, step as i64)];
                body.extend(asleep.map(|(name, after)| set(name, after as i64)));
                body
            }
            Flow::StartOver { after } => {
                let mut body = self.stop_believing(client);
                let Some(after) = after.filter(|after| *after > 0) else {
                    body.extend(self.start_attempt(client));
                    return body;
                };
                let first = self.protocol(client).first_step().unwrap_or(0);
                body.push(set(state.at, first as i64));
                body.extend(state.asleep.map(|name| set(name, after as i64)));
                body.extend(state.begins_anew.map(|name| set(name, 1)));
                body
            }
            Flow::GoTo(target) => {
                let mut body: Vec<Statement> = state
                    .compensation
                    .map(|name| set(name, 0))
                    .into_iter()
                    .collect();
                body.push(set(state.at, *target as i64));
                body
            }
            Flow::Abort(steps) => self.undo(client, steps),
            Flow::Stop => self.end_run(client, false),
            Flow::Done => self.end_run(client, true),
        }
    }

    /// Goes to the first of these steps of a compensation, and keeps the others in mind.
    fn undo(&self, client: usize, steps: &[usize]) -> Vec<Statement> {
        let state = &self.clients[client];
        let Some((first, rest)) = steps.split_first() else {
            return self.end_run(client, false);
        };
        let place = state
            .rests
            .iter()
            .position(|known| known == rest)
            .map_or(0, |place| place as i64 + 1);
        let mut body: Vec<Statement> = state
            .compensation
            .map(|name| set(name, place))
            .into_iter()
            .collect();
        body.push(set(state.at, *first as i64));
        body
    }

    fn next(&self, client: usize, step: usize) -> Vec<Statement> {
        let state = &self.clients[client];
        let mut body = match self.protocol(client).following(Some(step)) {
            Some(next) => vec![set(state.at, next as i64)],
            None => self.end_run(client, true),
        };
        let Some(compensation) = state.compensation else {
            return body;
        };
        for (place, rest) in state.rests.iter().enumerate() {
            let undoes = Expression::of(compensation).equals_number(place as i64 + 1);
            body = when(undoes, self.undo(client, rest), body);
        }
        body
    }
}

/// Whether an earlier step that no way leads around always leaves a value in the variable.
fn is_surely_bound(protocol: &Protocol, name: &str, step: usize) -> bool {
    let leads_around = |step: &Step| {
        let mut flows = step.clauses.iter().map(|clause| &clause.flow);
        flows.any(|flow| matches!(flow, Flow::GoTo(_) | Flow::Abort(_)))
    };
    let before = protocol.steps[..step].iter();
    let mut sure = before.take_while(|step| !leads_around(step));
    sure.any(|step| !step.compensation && always_binds(step, name))
}

/// Whether a client goes on behind the step only with a value in the variable.
fn always_binds(step: &Step, name: &str) -> bool {
    let binds = |clause: &Clause| match &clause.pattern {
        Pattern::Bind(elements) => {
            let names = clause.pattern.variables();
            names.len() == elements.len() && names.contains(&name)
        }
        _ => false,
    };
    let leaves = |clause: &Clause| {
        let flow = &clause.flow;
        let again = matches!(flow, Flow::Retry { .. } | Flow::StartOver { .. });
        again || matches!(flow, Flow::Stop | Flow::Done)
    };
    let is_else = |clause: &Clause| {
        matches!(
            clause.pattern,
            Pattern::Nil | Pattern::Rows(0) | Pattern::Else
        )
    };
    let counts = matches!(&step.request, Request::Store(_, arguments)
        if matches!(arguments.first(), Some(Argument::Literal(word)) if word.eq_ignore_ascii_case(b"INCR")));
    let clauses = &step.clauses;
    (counts || clauses.iter().any(is_else))
        && clauses.iter().any(binds)
        && clauses.iter().all(|clause| binds(clause) || leaves(clause))
}

/// An integer as an answer.
fn one(number: i64) -> Answer {
    Answer::Integer(Expression::Number(number))
}

fn refuse<T>(why: &str) -> Result<T, Refusal> {
    Err(Refusal(why.to_string()))
}

fn number(bytes: &[u8]) -> Result<i64, Refusal> {
    let text = String::from_utf8_lossy(bytes);
    text.parse()
        .map_err(|_| Refusal(format!("`{text}` is no whole number")))
}

fn milliseconds(operand: &Operand, unit: i64) -> Result<i64, Refusal> {
    match operand {
        Operand::Literal(bytes) => match number(bytes)? {
            time @ 1.. => Ok(time * unit),
            _ => refuse("a time that is not above 0 is no part of a model"),
        },
        _ => refuse("a time is not written out"),
    }
}

/// What an answer gives to variables.
fn values_in(answer: &Answer) -> Vec<Answer> {
    match answer {
        Answer::Ok | Answer::Integer(_) | Answer::Text(_) => vec![answer.clone()],
        Answer::Row(values) => values.iter().cloned().map(Answer::Integer).collect(),
        Answer::Nil | Answer::Rows(_) => Vec::new(),
    }
}

/// Whether a variable is another than it was, once it has this value.
fn differs(name: Name, after: &Expression) -> Expression {
    let moves = |part: &Expression, other: &Expression| {
        *part == Expression::of(name) && matches!(other, Expression::Number(number) if *number != 0)
    };
    match after {
        Expression::Sum(left, right) | Expression::Difference(left, right)
            if moves(left, right) =>
        {
            Expression::Truth(true)
        }
        after => Expression::of(name).differs_from(after.clone()),
    }
}
