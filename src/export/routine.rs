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
    /// What the name is made of that it has in the test.
    pub name: String,
    /// What it does.
    pub code: Vec<Code<'a>>,
    /// The variables that it is given: `me` and the parameters that it mentions, in the order in which it does.
    pub given: Vec<String>,
    /// The places of the Redis servers that steps ask, in the order of the text.
    pub stores: Vec<usize>,
    /// Whether a step asks the database.
    pub database: bool,
    /// Whether a step asks the card gateway.
    pub gateway: bool,
    /// Whether it notes what it sold.
    pub sells: bool,
    /// Whether it looks at the client's own clock.
    pub clock: bool,
    /// Whether it subscribes to channels, or waits for messages.
    pub listens: bool,
}

/// A statement.
#[derive(Clone, PartialEq)]
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
    /// Notes something by the client's own clock.
    Clock(ByClock<'a>),
    /// Something to know.
    Remark(String),
    /// The attempt ends here.
    Return,
    /// The error goes on to the caller.
    Raise(String),
}

/// What a client keeps by its own clock.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum ByClock<'a> {
    /// It may count on a lock for so many milliseconds from when it sent the last request.
    Holds(&'a Argument, &'a Argument),
    /// It no longer counts on a lock.
    Forgets(&'a Argument),
    /// The last request was for a server's vote for a lock; the first of them begins its lease.
    Asked(&'a Argument),
    /// A server has voted for a lock.
    Voted(&'a Argument),
}

impl<'a> ByClock<'a> {
    /// The variables that it needs.
    pub fn variables(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let (lock, other) = match self {
            ByClock::Holds(lock, milliseconds) => (*lock, Some(*milliseconds)),
            ByClock::Forgets(lock) | ByClock::Asked(lock) | ByClock::Voted(lock) => (*lock, None),
        };
        let all = std::iter::once(lock).chain(other);
        all.filter_map(super::variable)
    }
}

/// What [`Is::Error`] calls a reply that never comes.
pub(super) const NO_REPLY: &str = "no reply";

/// A request and what is made of the reply.
#[derive(Clone, PartialEq)]
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

impl Shape {
    /// The function that asks for such a reply; the one that counts affected rows is called otherwise in each language.
    pub fn function(self, affected: &'static str) -> &'static str {
        match self {
            Shape::Value => "value",
            Shape::Row => "row",
            Shape::Rows => "rows",
            Shape::Affected | Shape::Plain => affected,
        }
    }
}

/// A question about a reply.
#[derive(Clone, PartialEq)]
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
    Back,
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
    /// A step that waits for somebody else, or jumps where no loop or condition can.
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
        let asks =
            |wanted: fn(&Request) -> bool| protocol.steps.iter().any(|step| wanted(&step.request));
        let looks = asks(|request| matches!(request, Request::CheckDeadline(_)));
        let counts = asks(|request| matches!(request, Request::Quorum { .. }));
        let lower = Lower {
            protocol,
            place,
            timeline,
            notes_sales,
            looks,
            counts,
            steps,
            around: None,
        };
        let mut code = lower.block(0, lower.steps.len())?;
        trim(&mut code, true);
        let mut routine = Routine {
            protocol,
            name: protocol.name.clone(),
            code,
            given: Vec::new(),
            stores: Vec::new(),
            database: false,
            gateway: false,
            sells: false,
            clock: looks || counts,
            listens: false,
        };
        let bound: Vec<&str> = protocol
            .steps
            .iter()
            .flat_map(|step| &step.clauses)
            .flat_map(|clause| clause.pattern.variables())
            .collect();
        for step in &protocol.steps {
            match &step.request {
                Request::Store(_, words) if subscribes(words) => routine.listens = true,
                Request::Await(_) => routine.listens = true,
                Request::Store(server, _) => {
                    let server = server.map_or(0, |server| server.0);
                    if !routine.stores.contains(&server) {
                        routine.stores.push(server);
                    }
                }
                Request::Database(_) => routine.database = true,
                Request::Gateway(_) => routine.gateway = true,
                Request::CheckDeadline(_) | Request::Quorum { .. } | Request::Sleep(_) => {}
            }
            for name in super::variables(&step.request) {
                routine.give(name, &bound);
            }
            if step.clauses.iter().any(|clause| clause.pattern.names_me()) {
                routine.give("me", &bound);
            }
            for effect in step.effects() {
                for name in lower.by_clock(effect).iter().flat_map(ByClock::variables) {
                    routine.give(name, &bound);
                }
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

    /// What it is handed: connections to the Redis servers that it asks, of these names, and of the database, the gateway, the list
    /// of sales, the client's clock and its inbox what it needs. What is called nothing is left out.
    pub fn handed(
        &self,
        stores: &[String],
        [mysql, gateway, sales, clock, inbox]: [&str; 5],
    ) -> Vec<String> {
        let mut handed: Vec<String> = Vec::new();
        let mut places = self.stores.clone();
        places.sort_unstable();
        handed.extend(
            places
                .iter()
                .filter_map(|place| stores.get(*place))
                .cloned(),
        );
        let others = [
            (mysql, self.database),
            (gateway, self.gateway),
            (sales, self.sells),
            (clock, self.clock),
            (inbox, self.listens),
        ];
        let others = others
            .iter()
            .filter(|(name, needed)| *needed && !name.is_empty());
        handed.extend(others.map(|(name, _)| (*name).to_owned()));
        handed
    }

    /// Whether a request is of this kind.
    pub fn sends(&self, wanted: &dyn Fn(&Send<'_>) -> bool) -> bool {
        is_sent(&self.code, wanted)
    }

    /// Whether it notes that it no longer counts on a lock.
    pub fn forgets(&self) -> bool {
        has(&self.code, &|code| {
            matches!(code, Code::Clock(ByClock::Forgets(_)))
        })
    }

    /// Whether a step says what to do when no reply comes.
    pub fn knows_of_lost(&self) -> bool {
        self.sends(&|send| send.step.knows_of_lost())
    }

    /// Whether it asks whether a reply has come at all.
    pub fn asks_for_lost(&self) -> bool {
        has(
            &self.code,
            &|code| matches!(code, Code::If(asked, ..) if asked.is == Is::Error(Some(NO_REPLY))),
        )
    }

    /// Whether it counts on a lock for as long as a reply says.
    pub fn counts_on_replies(&self) -> bool {
        has(&self.code, &|code| match code {
            Code::Clock(ByClock::Holds(_, Argument::Variable(name))) => !self.given.contains(name),
            _ => false,
        })
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
    /// Whether a step looks whether a lock is still held by the client's clock.
    looks: bool,
    /// Whether a step counts votes.
    counts: bool,
    /// The steps that follow one another here.
    steps: Vec<usize>,
    /// The place of the step that begins the loop around these, where they are all in one.
    around: Option<usize>,
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
            let (more, next) = match self.last_to_go_back(at, until) {
                Some(last) => (self.loop_of(at, last + 1)?, Some(last + 1)),
                None => self.step(at, until)?,
            };
            code.extend(more);
            match next {
                Some(next) => at = next,
                None => break,
            }
        }
        Ok(code)
    }

    /// The last of the steps up to `until` that goes back to this earlier one; none where this is the loop already.
    fn last_to_go_back(&self, at: usize, until: usize) -> Option<usize> {
        let goes_back = |place: &usize| {
            let step = &self.protocol.steps[self.steps[*place]];
            let mut flows = step.clauses.iter().map(|clause| &clause.flow);
            flows.any(|flow| matches!(flow, Flow::GoTo(to) if *to == self.steps[at]))
        };
        let last = (at + 1..until).rev().find(goes_back);
        last.filter(|_| self.around != Some(at))
    }

    /// The steps from one up to another, again and again.
    fn loop_of(&self, from: usize, until: usize) -> Result<Vec<Code<'a>>, Refusal> {
        let inside = Lower {
            steps: self.steps.clone(),
            around: Some(from),
            ..*self
        };
        let mut body = inside.block(from, until)?;
        if !ends(&body) {
            body.push(Code::Break);
        }
        Ok(vec![Code::Loop(tidy_loop(body))])
    }

    /// The code of one step and of what lies between it and the place where all its ways meet again; `None`: they never do.
    fn step(&self, at: usize, until: usize) -> Result<(Vec<Code<'a>>, Option<usize>), Refusal> {
        let index = self.steps[at];
        let step = &self.protocol.steps[index];
        match &step.request {
            Request::Store(_, words) if !subscribes_plainly(words) => {
                return self.refused(
                    index,
                    "subscribes by a pattern, or to several channels at once",
                );
            }
            Request::Sleep(_) if step.clauses.is_empty() => {
                return Ok((remark(step).into_iter().collect(), Some(at + 1)));
            }
            Request::Sleep(_) => {
                return self.refused(index, "sleeps and then looks at how it went");
            }
            Request::Quorum {
                lease: Argument::Variable(_),
                drift: None,
                ..
            } => {
                return self.refused(
                    index,
                    "takes the usual margin of a lease that is a variable",
                );
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
            is_open &= clause.pattern != Pattern::Else;
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
        let mut code: Vec<Code<'a>> = remark(step).into_iter().collect();
        let retries = |branch: &Branch<'_>| matches!(branch.target, Target::Again);
        let is_loop = branches.iter().any(retries) && self.around != Some(at);
        if is_loop && self.around.is_some() {
            // What goes round in the outer loop is asked behind the inner one.
            let mut asked: Vec<Branch<'a>> = Vec::new();
            for branch in &branches {
                let code = if retries(branch) {
                    Code::Again
                } else {
                    Code::Break
                };
                asked.push(Branch {
                    test: branch.test.clone(),
                    target: Target::Never,
                    body: vec![code],
                });
            }
            branches.retain(|branch| !retries(branch));
            let is_over = branches.is_empty();
            let mut body = vec![Code::Send(send.clone())];
            body.extend(asked_after(
                voting(step, self.counts),
                &send,
                asked,
                vec![Code::Break],
                step,
            ));
            code.push(Code::Loop(tidy_loop(body)));
            if is_over && meet.is_none() {
                return Ok((code, meet));
            }
        }
        let is_own_loop = is_loop && self.around.is_none();
        let is_split = is_loop && !is_own_loop;
        let falls = |code: &mut Vec<Code<'a>>, place: usize| -> Result<(), Refusal> {
            if let Some(meet) = meet {
                code.extend(self.block(place, meet)?);
            }
            if is_own_loop {
                code.push(Code::Break);
            }
            Ok(())
        };
        for branch in &mut branches {
            match branch.target {
                Target::To(place) => falls(&mut branch.body, place)?,
                Target::Again | Target::Back => branch.body.push(Code::Again),
                Target::Never => {}
            }
        }
        let mut last = Vec::new();
        if is_open {
            falls(&mut last, at + 1)?;
        }
        let asks = if is_split {
            Vec::new()
        } else {
            voting(step, self.counts)
        };
        let after = asked_after(asks, &send, branches, last, step);
        if is_own_loop {
            let mut body = vec![Code::Send(send)];
            body.extend(tidy_loop(after));
            code.push(Code::Loop(body));
        } else {
            if !is_split {
                code.push(Code::Send(send));
            }
            code.extend(after);
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
                Some(place) if self.around == Some(place) => Target::Back,
                _ => return self.refused(index, "goes back into what another step goes back over"),
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
            body.extend(self.by_clock(effect).map(Code::Clock));
        }
        match &clause.flow {
            Flow::Abort(steps) => {
                let inner = Lower {
                    steps: steps.clone(),
                    around: None,
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

    /// What an effect is to the client's own clock, where somebody looks at it.
    fn by_clock(&self, effect: &'a Effect) -> Option<ByClock<'a>> {
        match effect {
            Effect::Holds {
                key,
                milliseconds: Some(milliseconds),
            } if self.looks => Some(ByClock::Holds(key, milliseconds)),
            Effect::Releases(key) | Effect::Loses(key) if self.looks => Some(ByClock::Forgets(key)),
            Effect::Votes(key) if self.counts => Some(ByClock::Voted(key)),
            _ => None,
        }
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

/// Whether a command begins or ends a subscription.
pub(super) fn subscribes(words: &[Argument]) -> bool {
    let Some(Argument::Literal(name)) = words.first() else {
        return false;
    };
    name.to_ascii_lowercase().ends_with(b"subscribe")
}

/// Whether a command that does is one that a test can send.
pub(super) fn subscribes_plainly(words: &[Argument]) -> bool {
    let is_pattern = matches!(words.first(), Some(Argument::Literal(name)) if name.to_ascii_lowercase().starts_with(b"p"));
    !subscribes(words) || (words.len() == 2 && !is_pattern)
}

/// What a step whose reply may be a vote notes, whatever the reply is.
fn voting(step: &Step, counts: bool) -> Vec<Code<'_>> {
    let votes = step.effects().filter_map(|effect| match effect {
        Effect::Votes(key) if counts => Some(Code::Clock(ByClock::Asked(key))),
        _ => None,
    });
    votes.collect()
}

/// What is done with a reply: what is noted in any case, the branches by what it may be, and the rest.
fn asked_after<'a>(
    mut code: Vec<Code<'a>>,
    send: &Send<'a>,
    branches: Vec<Branch<'a>>,
    last: Vec<Code<'a>>,
    step: &Step,
) -> Vec<Code<'a>> {
    let (errors, mut others): (Vec<_>, Vec<_>) = branches
        .into_iter()
        .partition(|branch| matches!(branch.test.is, Is::Error(_)));
    let (lost, errors): (Vec<_>, Vec<_>) = errors
        .into_iter()
        .partition(|branch| branch.test.is == Is::Error(Some(NO_REPLY)));
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
            let raise = Code::Raise(send.reply.clone());
            chained.insert(0, Code::If(test, vec![raise], Vec::new()));
        }
        chained = chain(errors, chained);
    }
    code.extend(chain(lost, chained));
    code
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
        Pattern::NoReply { .. } => Is::Error(Some(NO_REPLY)),
        Pattern::Message | Pattern::Else => Is::Anything,
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
    if excludes && is_open && first.body == rest {
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
        if is_passed_over(&test.is, &rest) {
            return rest;
        }
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

/// Whether a reply that is this passes over all of this code anyway.
fn is_passed_over(is: &Is<'_>, rest: &[Code<'_>]) -> bool {
    let is_asked =
        |asked: &Test<'_>| asked.not || asked.is == Is::Anything || !are_disjoint(is, &asked.is);
    matches!(rest, [Code::If(asked, _, otherwise)] if otherwise.is_empty() && !is_asked(asked))
}

/// Whether nothing behind this code is ever reached.
pub(super) fn ends(code: &[Code<'_>]) -> bool {
    matches!(
        code.last(),
        Some(Code::Return | Code::Again | Code::Break | Code::Raise(_))
    )
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

/// `if A: ...; continue; break` is `if not A: break; ...`.
fn tidy_loop(mut code: Vec<Code<'_>>) -> Vec<Code<'_>> {
    match code.as_slice() {
        [.., Code::If(_, body, rest), Code::Break]
            if matches!(body.as_slice(), [.., Code::Again]) && rest.is_empty() =>
        {
            code.pop();
            if let Some(Code::If(test, mut body, _)) = code.pop() {
                let not = !test.not;
                let leave = Code::If(Test { not, ..test }, vec![Code::Break], Vec::new());
                body.pop();
                code.push(leave);
                code.extend(body);
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
            Code::Clock(by_clock) => names.extend(by_clock.variables().map(str::to_owned)),
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

/// Whether such a statement is among these, or inside of them.
fn has(code: &[Code<'_>], wanted: &dyn Fn(&Code<'_>) -> bool) -> bool {
    code.iter().any(|statement| {
        let is_inside = match statement {
            Code::Loop(body) => has(body, wanted),
            Code::If(_, then, otherwise) => has(then, wanted) || has(otherwise, wanted),
            _ => false,
        };
        is_inside || wanted(statement)
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
