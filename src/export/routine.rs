//! A protocol as the ordinary code that it stands for: loops, conditions and early returns, in no language yet.
//!
//! `retry` becomes a loop, `go to` a condition around what it passes over, `abort with` the steps written out before a return.
//! `start over` ends this attempt; whoever runs the protocol begins the next one with a fresh `{me}`.

use crate::sim::client::protocol::{
    Argument, Clause, Effect, Element, Flow, Pattern, Protocol, Request, Step,
};
use crate::sim::database::{SqlReply, StatementKind};
use crate::sim::event::{Answer, Fact, Value};
use crate::sim::setup::Setup;
use crate::timeline::Timeline;

use super::Refusal;
use super::words::{done, words};

/// Whether a loop begins with the request whose reply is called so.
pub(super) fn is_sent_first(body: &[Code<'_>], name: &str) -> bool {
    matches!(body.first(), Some(Code::Send(send)) if send.reply == name)
}

/// One attempt of a protocol.
pub(super) struct Routine<'a> {
    /// The protocol.
    pub protocol: &'a Protocol,
    /// What it does.
    pub code: Vec<Code<'a>>,
    /// The variables that it is given: `me` and the parameters that it mentions, in the order in which it does.
    pub given: Vec<String>,
    /// Whether a step asks Redis.
    pub store: bool,
    /// Whether a step asks the database.
    pub database: bool,
    /// Whether a step asks the card gateway.
    pub gateway: bool,
    /// Whether it notes what it sold.
    pub sells: bool,
}

/// A statement.
pub(super) enum Code<'a> {
    /// Sends a request and gets the reply.
    Send(Send<'a>),
    /// Again and again, until a [`Code::Break`].
    Loop(Vec<Code<'a>>),
    /// Leaves the loop.
    Break,
    /// From the loop's beginning.
    Again,
    /// If the test is passed, this; else that.
    If(Test<'a>, Vec<Code<'a>>, Vec<Code<'a>>),
    /// A variable gets the reply, or one element of it.
    Bind {
        /// The variable.
        variable: &'a str,
        /// The reply's name.
        reply: String,
        /// Which element.
        element: Option<usize>,
    },
    /// Notes that so many units went to an order; `None`: to the client itself.
    Sell(u64, Option<&'a Argument>),
    /// Something to know.
    Remark(String),
    /// The attempt ends here.
    Return,
    /// The error goes on to the caller.
    Raise(String),
}

/// A request and what is made of the reply.
pub(super) struct Send<'a> {
    /// The step.
    pub step: &'a Step,
    /// The reply's name, in the scenario's words.
    pub reply: String,
    /// What the reply is like.
    pub shape: Shape,
    /// Whether an error is looked at like any other reply.
    pub catches: bool,
    /// Whether the reply is looked at at all.
    pub is_used: bool,
}

/// What the reply to a request is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// As the server sends it.
    Plain,
    /// Affected rows.
    Affected,
    /// The single value of the first row.
    Value,
    /// The first row.
    Row,
    /// All rows.
    Rows,
}

/// A question about a reply.
#[derive(Clone)]
pub(super) struct Test<'a> {
    /// The reply's name.
    pub reply: String,
    /// What it may be.
    pub is: Is<'a>,
    /// Whether it must not be that.
    pub not: bool,
}

/// What a reply may be.
#[derive(Clone, PartialEq)]
pub(super) enum Is<'a> {
    /// Null, or no row.
    Nil,
    /// This status or string.
    Text(&'a [u8]),
    /// The client's own name.
    Me,
    /// This number, also of rows.
    Integer(i64),
    /// So many rows that a query gave.
    RowCount(u64),
    /// Something with these elements.
    Elements(&'a [Element]),
    /// An error, by its first word or its number.
    Error(Option<&'a str>),
    /// Whatever it is.
    Anything,
}

/// Where a clause leads.
enum Target {
    To(usize),
    Again,
    Never,
}

struct Branch<'a> {
    test: Test<'a>,
    target: Target,
    body: Vec<Code<'a>>,
}

impl<'a> Routine<'a> {
    /// The protocol with this place.
    ///
    /// What it sells is only noted where somebody counts it.
    ///
    /// # Errors
    /// A step that goes back to an earlier one, or waits on the client's own clock.
    pub fn new(
        setup: &'a Setup,
        timeline: &'a Timeline,
        place: usize,
        notes_sales: bool,
    ) -> Result<Routine<'a>, Refusal> {
        let protocol = &setup.protocols[place];
        let steps: Vec<usize> = (0..protocol.steps.len())
            .filter(|step| !protocol.steps[*step].compensation)
            .collect();
        let lower = Lower {
            protocol,
            place,
            timeline,
            notes_sales,
            steps,
        };
        let mut code = lower.block(0, lower.steps.len())?;
        trim(&mut code, true);
        let mut routine = Routine {
            protocol,
            code,
            given: Vec::new(),
            store: false,
            database: false,
            gateway: false,
            sells: false,
        };
        let bound: Vec<&str> = protocol
            .steps
            .iter()
            .flat_map(|step| &step.clauses)
            .flat_map(|clause| clause.pattern.variables())
            .collect();
        for step in &protocol.steps {
            match &step.request {
                Request::Store(..) => routine.store = true,
                Request::Database(_) => routine.database = true,
                Request::Gateway(_) => routine.gateway = true,
                Request::CheckDeadline(_)
                | Request::Quorum { .. }
                | Request::Await(_)
                | Request::Sleep(_) => {}
            }
            for name in super::variables(&step.request) {
                routine.give(name, &bound);
            }
            if step.clauses.iter().any(|clause| clause.pattern.names_me()) {
                routine.give("me", &bound);
            }
            for effect in step.clauses.iter().flat_map(|clause| &clause.effects) {
                if let (Effect::Sells { order, .. }, true) = (effect, notes_sales) {
                    routine.sells = true;
                    match order.as_ref().or(lower.charged()) {
                        Some(Argument::Variable(name)) => routine.give(name, &bound),
                        Some(_) => {}
                        None => routine.give("me", &bound),
                    }
                }
            }
        }
        mark_used(&mut routine.code);
        Ok(routine)
    }

    /// What it is handed, of Redis, the database, the gateway and the list of sales.
    pub fn handed<'n>(
        &self,
        [redis, mysql, gateway, sales]: [&'n str; 4],
    ) -> impl Iterator<Item = &'n str> {
        let handed = [
            (redis, self.store),
            (mysql, self.database),
            (gateway, self.gateway),
            (sales, self.sells),
        ];
        let handed = handed.into_iter().filter(|(_, is_needed)| *is_needed);
        handed.map(|(name, _)| name)
    }

    /// Whether a request is of this kind.
    pub fn sends(&self, wanted: &dyn Fn(&Send<'_>) -> bool) -> bool {
        is_sent(&self.code, wanted)
    }

    /// Whether elements of a reply are looked at.
    pub fn takes_elements(&self) -> bool {
        takes_elements(&self.code)
    }

    /// Whether a reply is of this shape.
    pub fn asks_for(&self, shape: Shape) -> bool {
        is_sent(&self.code, &|send| send.shape == shape)
    }

    /// What the reply to the step with this label is like.
    pub fn shape_of(&self, label: &str) -> Shape {
        find_shape(&self.code, label).unwrap_or(Shape::Plain)
    }

    fn give(&mut self, name: &str, bound: &[&str]) {
        if !bound.contains(&name) && !self.given.iter().any(|given| given == name) {
            self.given.push(name.to_owned());
        }
    }
}

struct Lower<'a> {
    protocol: &'a Protocol,
    place: usize,
    timeline: &'a Timeline,
    notes_sales: bool,
    /// The steps that follow one another here.
    steps: Vec<usize>,
}

impl<'a> Lower<'a> {
    fn refused<T>(&self, step: usize, why: &str) -> Result<T, Refusal> {
        let label = &self.protocol.steps[step].label;
        Err(Refusal(format!(
            "the step `{label}` of the protocol `{}` {why}",
            self.protocol.name
        )))
    }

    /// The code from one step up to another.
    fn block(&self, from: usize, until: usize) -> Result<Vec<Code<'a>>, Refusal> {
        let mut code = Vec::new();
        let mut at = from;
        while at < until {
            let (more, next) = self.step(at, until)?;
            code.extend(more);
            match next {
                Some(next) => at = next,
                None => break,
            }
        }
        Ok(code)
    }

    /// The code of one step and of what lies between it and the place where all its ways meet again; `None`: they never do.
    fn step(&self, at: usize, until: usize) -> Result<(Vec<Code<'a>>, Option<usize>), Refusal> {
        let index = self.steps[at];
        let step = &self.protocol.steps[index];
        match step.request {
            Request::CheckDeadline(_) => {
                return self.refused(
                    index,
                    "looks at the client's own clock, which no server can move",
                );
            }
            Request::Await(_) => {
                return self.refused(index, "waits for a message of somebody else");
            }
            Request::Quorum { .. } => {
                return self.refused(index, "counts the votes of several servers");
            }
            Request::Sleep(_) if step.clauses.is_empty() => {
                return Ok((remark(step).into_iter().collect(), Some(at + 1)));
            }
            Request::Sleep(_) => {
                return self.refused(index, "sleeps and then looks at how it went");
            }
            _ => {}
        }
        let send = Send {
            step,
            reply: reply_name(step),
            shape: self.shape(index),
            catches: step
                .clauses
                .iter()
                .any(|clause| matches!(clause.pattern, Pattern::Error(_))),
            is_used: false,
        };
        let mut branches = Vec::new();
        let mut is_open = true;
        for clause in &step.clauses {
            match clause.pattern {
                Pattern::NoReply { .. } => return self.refused(index, "means to go on when a reply is lost, and no client library loses one on purpose"),
                Pattern::Else => is_open = false,
                _ => {}
            }
            branches.push(self.branch(at, clause, &send)?);
        }
        let targets = branches.iter().filter_map(|branch| match branch.target {
            Target::To(place) => Some(place),
            _ => None,
        });
        let meet = targets.chain(is_open.then_some(at + 1)).max();
        if meet.is_some_and(|meet| meet > until) {
            return self.refused(index, "jumps out of what another step jumps over");
        }
        let is_loop = branches
            .iter()
            .any(|branch| matches!(branch.target, Target::Again));
        let falls = |code: &mut Vec<Code<'a>>, place: usize| -> Result<(), Refusal> {
            if let Some(meet) = meet {
                code.extend(self.block(place, meet)?);
            }
            if is_loop {
                code.push(Code::Break);
            }
            Ok(())
        };
        for branch in &mut branches {
            match branch.target {
                Target::To(place) => falls(&mut branch.body, place)?,
                Target::Again => branch.body.push(Code::Again),
                Target::Never => {}
            }
        }
        let mut last = Vec::new();
        if is_open {
            falls(&mut last, at + 1)?;
        }
        let (errors, mut others): (Vec<_>, Vec<_>) = branches
            .into_iter()
            .partition(|branch| matches!(branch.test.is, Is::Error(_)));
        if let (Request::Database(Ok(statement)), Some(last)) = (&step.request, others.last_mut())
            && statement.kind() == StatementKind::Insert
            && matches!(last.test.is, Is::Integer(_))
        {
            // A row is inserted, or there is an error.
            last.test.is = Is::Anything;
        }
        let mut chained = chain(others, last);
        if send.catches {
            if !errors
                .iter()
                .any(|branch| branch.test.is == Is::Error(None))
            {
                let test = Test {
                    reply: send.reply.clone(),
                    is: Is::Error(None),
                    not: false,
                };
                chained.insert(
                    0,
                    Code::If(test, vec![Code::Raise(send.reply.clone())], Vec::new()),
                );
            }
            chained = chain(errors, chained);
        }
        let mut code = Vec::new();
        code.extend(remark(step));
        if is_loop {
            let mut body = vec![Code::Send(send)];
            body.extend(tidy_loop(chained));
            code.push(Code::Loop(body));
        } else {
            code.push(Code::Send(send));
            code.extend(chained);
        }
        Ok((code, meet))
    }

    fn branch(
        &self,
        at: usize,
        clause: &'a Clause,
        send: &Send<'a>,
    ) -> Result<Branch<'a>, Refusal> {
        let index = self.steps[at];
        let mut body = Vec::new();
        let target = match &clause.flow {
            Flow::Next => Target::To(at + 1),
            Flow::Retry { .. } => Target::Again,
            Flow::GoTo(step) => match self.steps.iter().position(|other| other == step) {
                Some(place) if place > at => Target::To(place),
                Some(place) if place == at => Target::Again,
                _ => return self.refused(index, "goes back to an earlier step"),
            },
            Flow::Abort(_) | Flow::StartOver { .. } | Flow::Stop | Flow::Done => Target::Never,
        };
        if let Pattern::Bind(elements) = &clause.pattern {
            for (place, element) in elements.iter().enumerate() {
                let Element::Variable(variable) = element else {
                    continue;
                };
                let is_alone = elements.len() == 1 && send.shape != Shape::Row;
                if *variable != send.reply {
                    body.push(Code::Bind {
                        variable,
                        reply: send.reply.clone(),
                        element: (!is_alone).then_some(place),
                    });
                }
            }
        }
        for effect in &clause.effects {
            if let (Effect::Sells { units, order }, true) = (effect, self.notes_sales) {
                body.push(Code::Sell(*units, order.as_ref().or(self.charged())));
            }
        }
        match &clause.flow {
            Flow::Abort(steps) => {
                let inner = Lower {
                    steps: steps.clone(),
                    ..*self
                };
                body.extend(inner.block(0, steps.len())?);
                body.push(Code::Return);
            }
            Flow::StartOver { after } => {
                let wait = after.map_or(String::new(), |after| format!(" after {after} ms"));
                body.push(Code::Remark(format!(
                    "Starts over{wait}: a new attempt, with a fresh name."
                )));
                body.push(Code::Return);
            }
            Flow::Stop | Flow::Done => body.push(Code::Return),
            _ => {}
        }
        let test = Test {
            reply: send.reply.clone(),
            is: question(&clause.pattern, send.shape),
            not: false,
        };
        Ok(Branch { test, target, body })
    }

    /// The order that the protocol's CHARGE names.
    fn charged(&self) -> Option<&'a Argument> {
        self.protocol
            .steps
            .iter()
            .find_map(|step| match &step.request {
                Request::Gateway(words) => match words.as_slice() {
                    [Argument::Literal(verb), order, ..]
                        if verb.eq_ignore_ascii_case(b"CHARGE") =>
                    {
                        Some(order)
                    }
                    _ => None,
                },
                _ => None,
            })
    }

    /// What the reply to a step is like, going by what the schedule got and what the clauses ask.
    fn shape(&self, index: usize) -> Shape {
        let step = &self.protocol.steps[index];
        let Request::Database(Ok(statement)) = &step.request else {
            return Shape::Plain;
        };
        if statement.kind() != StatementKind::Select {
            return Shape::Affected;
        }
        if step
            .clauses
            .iter()
            .any(|clause| matches!(clause.pattern, Pattern::Rows(_)))
        {
            return Shape::Rows;
        }
        let setup = self.timeline.setup();
        let of_step = |client: usize, seen: usize| {
            setup.clients[client].protocol == Some(self.place) && seen == index
        };
        let facts = self
            .timeline
            .entries()
            .iter()
            .flat_map(|entry| &entry.events);
        let mut shapes = facts.filter_map(|event| match &event.fact {
            Fact::Saw {
                client,
                step,
                answer,
                ..
            } if of_step(client.0, *step) => Some(shape_of(answer)),
            _ => None,
        });
        let first = shapes.next();
        match first {
            Some(shape) if shapes.all(|other| other == shape) => shape,
            Some(_) => Shape::Rows,
            None => match step
                .clauses
                .iter()
                .find_map(|clause| match &clause.pattern {
                    Pattern::Bind(elements) => Some(elements.len()),
                    Pattern::Integer(_) | Pattern::Text(_) => Some(1),
                    _ => None,
                }) {
                Some(1) => Shape::Value,
                Some(_) => Shape::Row,
                None => Shape::Rows,
            },
        }
    }
}

/// What an answer is like, by itself.
pub(super) fn shape_of(answer: &Answer) -> Shape {
    match answer {
        Answer::Database(SqlReply::Rows { columns, rows, .. }) => match (columns.len(), rows.len())
        {
            (1, 0 | 1) => Shape::Value,
            (_, 1) => Shape::Row,
            _ => Shape::Rows,
        },
        Answer::Database(_) => Shape::Affected,
        _ => Shape::Plain,
    }
}

/// What a reply is called: the variable that it is bound to, what its step has done, or the step's own name.
fn reply_name(step: &Step) -> String {
    let mut bound = step
        .clauses
        .iter()
        .filter_map(|clause| match &clause.pattern {
            Pattern::Bind(elements) => match elements.as_slice() {
                [Element::Variable(name)] => Some(name.clone()),
                _ => None,
            },
            _ => None,
        });
    bound
        .next()
        .or_else(|| done(&step.label))
        .unwrap_or_else(|| words(&step.label).join(" "))
}

fn remark(step: &Step) -> Option<Code<'static>> {
    let after = step.clauses.iter().find_map(|clause| match clause.flow {
        Flow::Retry { after } => after,
        _ => None,
    });
    let text = match (after, &step.request) {
        (Some(after), _) => {
            format!("Tries again every {after} ms; in this test, when the schedule says so.")
        }
        (None, Request::Sleep(_)) => "Sleeps; in this test, until the schedule goes on.".to_owned(),
        _ => return None,
    };
    Some(Code::Remark(text))
}

fn question<'a>(pattern: &'a Pattern, shape: Shape) -> Is<'a> {
    match pattern {
        Pattern::Nil => Is::Nil,
        Pattern::Status(text) => Is::Text(text.as_bytes()),
        Pattern::Text(text) => Is::Text(text),
        Pattern::Integer(number) => Is::Integer(*number),
        Pattern::Rows(count) if shape == Shape::Affected => {
            Is::Integer(i64::try_from(*count).unwrap_or(i64::MAX))
        }
        Pattern::Rows(count) => Is::RowCount(*count),
        Pattern::Bind(elements) => match elements.as_slice() {
            [Element::Variable(_)] => Is::Anything,
            [Element::Integer(number)] => Is::Integer(*number),
            [Element::Text(text)] => Is::Text(text),
            [Element::Nil] => Is::Nil,
            [Element::Me] => Is::Me,
            elements
                if elements
                    .iter()
                    .all(|element| matches!(element, Element::Variable(_))) =>
            {
                Is::Anything
            }
            elements => Is::Elements(elements),
        },
        Pattern::Error(name) => Is::Error(name.as_deref()),
        Pattern::NoReply { .. } | Pattern::Message | Pattern::Else => Is::Anything,
    }
}

/// The branches one after the other, and then the rest. What says nothing new is left out.
fn chain<'a>(mut branches: Vec<Branch<'a>>, rest: Vec<Code<'a>>) -> Vec<Code<'a>> {
    if branches.is_empty() {
        return rest;
    }
    let first = branches.remove(0);
    let is_last_word = first.test.is == Is::Anything;
    let excludes = branches
        .iter()
        .all(|other| are_disjoint(&first.test.is, &other.test.is));
    if is_last_word
        && branches
            .iter()
            .all(|other| other.test.is != Is::Nil && !matches!(other.test.is, Is::Error(_)))
    {
        return first.body;
    }
    let is_open = branches.iter().all(|other| other.test.is != Is::Anything);
    if excludes && is_open && is_same(&first.body, &rest) {
        return chain(branches, rest);
    }
    if is_last_word {
        // A variable takes everything but nil; with it last, nothing needs to be asked.
        let anything = Branch {
            test: Test {
                is: Is::Nil,
                not: true,
                ..first.test
            },
            ..first
        };
        return join(anything, chain(branches, rest));
    }
    join(first, chain(branches, rest))
}

fn join<'a>(first: Branch<'a>, rest: Vec<Code<'a>>) -> Vec<Code<'a>> {
    let Branch { test, body, .. } = first;
    if body.is_empty() {
        return match rest.is_empty() {
            true => Vec::new(),
            false => vec![Code::If(
                Test {
                    not: !test.not,
                    ..test
                },
                rest,
                Vec::new(),
            )],
        };
    }
    if ends(&body) || rest.is_empty() {
        let mut code = vec![Code::If(test, body, Vec::new())];
        code.extend(rest);
        return code;
    }
    if ends(&rest) {
        let mut code = vec![Code::If(
            Test {
                not: !test.not,
                ..test
            },
            rest,
            Vec::new(),
        )];
        code.extend(body);
        return code;
    }
    vec![Code::If(test, body, rest)]
}

/// Whether nothing behind this code is ever reached.
pub(super) fn ends(code: &[Code<'_>]) -> bool {
    matches!(
        code.last(),
        Some(Code::Return | Code::Again | Code::Break | Code::Raise(_))
    )
}

fn is_same(one: &[Code<'_>], other: &[Code<'_>]) -> bool {
    matches!((one, other), ([], []) | ([Code::Break], [Code::Break]))
}

fn are_disjoint(one: &Is<'_>, other: &Is<'_>) -> bool {
    use Is::{Anything, Elements, Error, Nil, RowCount};
    match (one, other) {
        (Anything, Nil | Error(_)) | (Nil | Error(_), Anything) => true,
        (Anything, _) | (_, Anything) => false,
        (Elements(one), Elements(other)) => one.iter().zip(*other).any(|(one, other)| {
            !matches!(one, Element::Variable(_))
                && !matches!(other, Element::Variable(_))
                && one != other
        }),
        (Error(None), Error(_)) | (Error(_), Error(None)) => false,
        (RowCount(_), RowCount(_)) => one != other,
        _ => one != other,
    }
}

/// `if A: continue; break` is `if not A: break`.
fn tidy_loop(mut code: Vec<Code<'_>>) -> Vec<Code<'_>> {
    match code.as_slice() {
        [.., Code::If(_, body, rest), Code::Break]
            if matches!(body.as_slice(), [Code::Again]) && rest.is_empty() =>
        {
            code.pop();
            if let Some(Code::If(test, ..)) = code.pop() {
                code.push(Code::If(
                    Test {
                        not: !test.not,
                        ..test
                    },
                    vec![Code::Break],
                    Vec::new(),
                ));
            }
        }
        [.., Code::Again] => {
            code.pop();
        }
        _ => {}
    }
    code
}

/// Takes away returns after which nothing would come, and questions whose answer makes no difference then.
fn trim(code: &mut Vec<Code<'_>>, is_end: bool) {
    let mut returns = is_end;
    if is_end && matches!(code.last(), Some(Code::Return)) {
        code.pop();
    }
    returns |= matches!(code.last(), Some(Code::Return));
    let last = code.len() - usize::from(returns && !is_end && !code.is_empty());
    if let (true, Some(place)) = (returns, last.checked_sub(1)) {
        match &mut code[place] {
            Code::If(_, then, otherwise) => {
                trim(then, is_end);
                trim(otherwise, is_end);
                let says_nothing = |body: &[Code<'_>]| matches!(body, [] | [Code::Return]);
                if says_nothing(then) && says_nothing(otherwise) {
                    code.remove(place);
                }
            }
            Code::Remark(_) if is_end => {}
            _ => {}
        }
    }
    for statement in code {
        match statement {
            Code::Loop(body) => trim(body, false),
            Code::If(_, then, otherwise) => {
                trim(then, false);
                trim(otherwise, false);
            }
            _ => {}
        }
    }
}

/// Finds out which replies are looked at, and takes away what binds a variable that is not.
fn mark_used(code: &mut Vec<Code<'_>>) {
    let mut names = Vec::new();
    collect_names(code, &mut names);
    unbind(code, &names);
    names.clear();
    collect_names(code, &mut names);
    mark(code, &names);
}

fn unbind(code: &mut Vec<Code<'_>>, names: &[String]) {
    code.retain(|statement| match statement {
        Code::Bind { variable, .. } => names.iter().any(|name| name == variable),
        _ => true,
    });
    for statement in code {
        match statement {
            Code::Loop(body) => unbind(body, names),
            Code::If(_, then, otherwise) => {
                unbind(then, names);
                unbind(otherwise, names);
            }
            _ => {}
        }
    }
}

fn collect_names(code: &[Code<'_>], names: &mut Vec<String>) {
    for statement in code {
        match statement {
            Code::Send(send) => {
                names.extend(super::variables(&send.step.request).map(str::to_owned))
            }
            Code::Loop(body) => collect_names(body, names),
            Code::If(test, then, otherwise) => {
                names.push(test.reply.clone());
                collect_names(then, names);
                collect_names(otherwise, names);
            }
            Code::Bind { reply, .. } | Code::Raise(reply) => names.push(reply.clone()),
            Code::Sell(_, Some(Argument::Variable(name))) => names.push(name.clone()),
            _ => {}
        }
    }
}

fn mark(code: &mut [Code<'_>], names: &[String]) {
    for statement in code {
        match statement {
            Code::Send(send) => send.is_used = names.contains(&send.reply),
            Code::Loop(body) => mark(body, names),
            Code::If(_, then, otherwise) => {
                mark(then, names);
                mark(otherwise, names);
            }
            _ => {}
        }
    }
}

/// A client's parameter as an argument.
pub(super) fn argument_of(value: &Value) -> Argument {
    Argument::Literal(match value {
        Value::Text(text) => text.clone(),
        Value::Integer(number) => number.to_string().into_bytes(),
        Value::Null => Vec::new(),
    })
}

fn takes_elements(code: &[Code<'_>]) -> bool {
    code.iter().any(|statement| match statement {
        Code::Bind { element, .. } => element.is_some(),
        Code::Loop(body) => takes_elements(body),
        Code::If(test, then, otherwise) => {
            matches!(test.is, Is::Elements(_)) || takes_elements(then) || takes_elements(otherwise)
        }
        _ => false,
    })
}

fn is_sent(code: &[Code<'_>], wanted: &dyn Fn(&Send<'_>) -> bool) -> bool {
    code.iter().any(|statement| match statement {
        Code::Send(send) => wanted(send),
        Code::Loop(body) => is_sent(body, wanted),
        Code::If(_, then, otherwise) => is_sent(then, wanted) || is_sent(otherwise, wanted),
        _ => false,
    })
}

fn find_shape(code: &[Code<'_>], label: &str) -> Option<Shape> {
    code.iter().find_map(|statement| match statement {
        Code::Send(send) if send.step.label == label => Some(send.shape),
        Code::Loop(body) => find_shape(body, label),
        Code::If(_, then, otherwise) => {
            find_shape(then, label).or_else(|| find_shape(otherwise, label))
        }
        _ => None,
    })
}

/// The variables that get a value somewhere in this code.
pub(super) fn assigned_in(code: &[Code<'_>], names: &mut Vec<String>) {
    for statement in code {
        match statement {
            Code::Send(send) if send.is_used => names.push(send.reply.clone()),
            Code::Bind { variable, .. } => names.push((*variable).to_owned()),
            Code::Loop(body) => assigned_in(body, names),
            Code::If(_, then, otherwise) => {
                assigned_in(then, names);
                assigned_in(otherwise, names);
            }
            _ => {}
        }
    }
}

/// Which variables have to be declared before the statement at this place of a block, in languages where a variable ends with its
/// block: those that get their value inside of it and are looked at behind it.
pub(super) fn outliving(block: &[Code<'_>], place: usize) -> Vec<String> {
    let (mut inside, mut behind) = (Vec::new(), Vec::new());
    match &block[place] {
        Code::Loop(body) => assigned_in(body, &mut inside),
        Code::If(_, then, otherwise) => {
            assigned_in(then, &mut inside);
            assigned_in(otherwise, &mut inside);
        }
        _ => {}
    }
    collect_names(&block[place + 1..], &mut behind);
    inside.retain(|name| behind.contains(name));
    inside.sort();
    inside.dedup();
    inside
}
