//! The printer: a syntax tree as canonical text.
//!
//! Blocks stand in column 1, what stands under them is indented by two, clauses by four, what goes on from a line above by
//! six; `=>` stands in a few columns. Comments and blank lines stay where they are.

use std::fmt::Write;

use crate::search::{Finds, Start};
use crate::sim::action::Leg;
use crate::sim::client::protocol::{Argument, Effect, Element, Pattern};
use crate::sim::event::Value;
use crate::sim::store::reply::quote;

use super::lines::{Quotes, without_comment};
use super::scan::print_word;
use super::syntax::*;

/// The columns of `=>` behind an action, counted from the action's first character: the first one that leaves two blanks is
/// taken. Most steps end before the one, most consoles before the other.
const ARROWS: [usize; 2] = [23, 48];

/// The text that a tree stands for.
pub(super) fn print(text: &Text) -> String {
    let mut printer = Printer::default();
    for item in &text.items {
        match item {
            Entry::Blank => printer.line(0, "", None),
            Entry::Comment(comment) => printer.line(0, &format!("#{comment}"), None),
            Entry::Of(block) => printer.block(block),
        }
    }
    printer.text
}

#[derive(Default)]
struct Printer {
    text: String,
}

impl Printer {
    fn line(&mut self, indent: usize, content: &str, comment: Option<&String>) {
        if !content.is_empty() {
            self.text.extend(std::iter::repeat_n(' ', indent));
        }
        self.text.push_str(content);
        if let Some(comment) = comment {
            self.text.push_str("  #");
            self.text.push_str(comment);
        }
        self.text.push('\n');
    }

    fn entries<T>(
        &mut self,
        indent: usize,
        entries: &[Entry<T>],
        mut print: impl FnMut(&mut Printer, &T),
    ) {
        for entry in entries {
            match entry {
                Entry::Blank => self.line(0, "", None),
                Entry::Comment(comment) => self.line(indent, &format!("#{comment}"), None),
                Entry::Of(thing) => print(self, thing),
            }
        }
    }

    fn written(&mut self, indent: usize, entries: &[Entry<Written>]) {
        self.entries(indent, entries, |printer, line| {
            printer.line(indent, &line.text, line.comment.as_ref());
        });
    }

    /// A first line with something before it, and the lines that go on from it.
    fn passage(&mut self, indent: usize, before: &str, passage: &Passage, deeper: usize) {
        if let Some((Entry::Of(first), others)) = passage.split_first() {
            self.line(
                indent,
                &format!("{before}{}", first.text),
                first.comment.as_ref(),
            );
            self.written(deeper, others);
        }
    }

    fn block(&mut self, block: &Block) {
        let comment = block.comment.as_ref();
        match &block.kind {
            BlockKind::Option { name, value } => {
                let value = value.iter().map(|value| format!(" {}", value.text));
                let line = format!("option {}{}", name.text, value.collect::<String>());
                self.line(0, &line, comment);
            }
            BlockKind::Servers { names, replica_of } => {
                self.line(0, &servers(names, replica_of.as_ref()), comment);
            }
            BlockKind::Table(table) => self.table(table),
            BlockKind::Database(statements) => {
                self.line(0, "database", comment);
                self.entries(2, statements, |printer, passage| {
                    printer.passage(2, "", passage, 6)
                });
            }
            BlockKind::Store(commands) => {
                self.line(0, "store", comment);
                self.written(2, commands);
            }
            BlockKind::Script { name, lines } => {
                self.line(0, &format!("script {}", name.text), comment);
                for line in lines {
                    self.line(2, line, None);
                }
            }
            BlockKind::Watch(roles) => self.line(0, &watch(roles), comment),
            BlockKind::Protocol { name, parts } => {
                self.line(0, &format!("protocol {}", name.text), comment);
                self.entries(2, parts, Printer::protocol_part);
            }
            BlockKind::Clients(declared) => self.line(0, &clients(declared), comment),
            BlockKind::Schedule(entries) => {
                self.line(0, "schedule", comment);
                self.entries(2, entries, |printer, entry| {
                    let content = schedule_line(&entry.choice, entry.expected.as_deref());
                    printer.line(2, &content, entry.comment.as_ref());
                });
            }
            BlockKind::Expect(entries) => {
                self.line(0, "expect", comment);
                self.entries(2, entries, |printer, entry| {
                    printer.line(2, &claim(&entry.claim), entry.comment.as_ref());
                });
            }
            BlockKind::Search(entries) => {
                self.line(0, "search", comment);
                self.entries(2, entries, |printer, entry| {
                    printer.line(2, &search_line(&entry.line), entry.comment.as_ref());
                });
            }
        }
    }

    fn table(&mut self, table: &Table) {
        if let Some((Entry::Of(first), others)) = table.definition.split_first() {
            let content = format!("table {} {}", table.name.text, first.text);
            self.line(0, &content, first.comment.as_ref());
            self.entries(4, others, |printer, line| {
                let indent = if line.text.starts_with(')') { 0 } else { 4 };
                printer.line(indent, &line.text, line.comment.as_ref());
            });
        }
        self.written(2, &table.rows);
    }

    fn protocol_part(&mut self, part: &ProtocolPart) {
        match part {
            ProtocolPart::Claim { sentence, comment } => {
                self.line(2, &format!("claims: {}", sentence.text), comment.as_ref());
            }
            ProtocolPart::Step(step) => {
                let compensation = if step.compensation {
                    "compensation "
                } else {
                    ""
                };
                let before = format!("{compensation}{}: ", step.label.text);
                self.passage(2, &before, &step.request, 6);
                self.entries(4, &step.clauses, |printer, written| {
                    printer.line(4, &clause(written), written.comment.as_ref());
                });
            }
        }
    }
}

/// The line that says which parts keys and columns play.
pub(super) fn watch(roles: &[Role]) -> String {
    let roles: Vec<String> = roles.iter().map(role).collect();
    format!("watch {}", roles.join(", "))
}

fn role(role: &Role) -> String {
    match role {
        Role::Lock(key, servers) if servers.is_empty() => format!("lock {}", print_word(key)),
        Role::Lock(key, servers) => {
            let names: Vec<&str> = servers.iter().map(|name| name.text.as_str()).collect();
            format!("lock {} on {}", print_word(key), names.join(" "))
        }
        Role::Counter(key) => format!("counter {}", print_word(key)),
        Role::Fence(column) => format!("fence {}.{}", column.table.text, column.column.text),
        Role::Stock(column) => format!("stock {}.{}", column.table.text, column.column.text),
    }
}

/// The line that declares servers or replicas.
fn servers(names: &[Named], replica_of: Option<&Named>) -> String {
    let names: Vec<&str> = names.iter().map(|name| name.text.as_str()).collect();
    let names = names.join(", ");
    match replica_of {
        Some(primary) => format!("replica {names} of {}", primary.text),
        None => format!("server {names}"),
    }
}

fn on_server(server: Option<&Named>) -> String {
    server.map_or_else(String::new, |server| format!(" on {}", server.text))
}

/// The line that declares clients.
pub(super) fn clients(clients: &Clients) -> String {
    let names: Vec<&str> = clients
        .names
        .iter()
        .map(|name| name.text.as_str())
        .collect();
    let mut line = format!("client {}", names.join(", "));
    if let Some(protocol) = &clients.protocol {
        let _ = write!(line, ": {}", protocol.text);
    }
    if clients.rounds != 1 {
        let _ = write!(line, " x{}", clients.rounds);
    }
    for (name, value) in &clients.parameters {
        let _ = write!(line, " {}={}", name.text, print_value(value));
    }
    line
}

/// A parameter's value: an integer as it is, a text in quotes where it would read as an integer.
fn print_value(value: &Value) -> String {
    match value {
        Value::Integer(integer) => integer.to_string(),
        Value::Null => quote(b""),
        Value::Text(bytes) => {
            let integer = std::str::from_utf8(bytes)
                .ok()
                .and_then(|text| text.parse::<i64>().ok());
            match integer {
                Some(_) => quote(bytes),
                None => print_word(bytes),
            }
        }
    }
}

/// `on PATTERN: EFFECTS`.
fn clause(clause: &WrittenClause) -> String {
    let effects: Vec<String> = clause
        .effects
        .iter()
        .map(effect)
        .chain(clause.flow.as_ref().map(flow))
        .collect();
    match effects.is_empty() {
        true => format!("on {}", pattern(&clause.pattern)),
        false => format!("on {}: {}", pattern(&clause.pattern), effects.join(", ")),
    }
}

/// A pattern as the text writes it.
pub(super) fn pattern(pattern: &Pattern) -> String {
    match pattern {
        Pattern::Status(word) => word.clone(),
        Pattern::Nil => "nil".to_owned(),
        Pattern::Message => "message".to_owned(),
        Pattern::Integer(number) => number.to_string(),
        Pattern::Text(bytes) => quote(bytes),
        Pattern::Rows(1) => "1 row".to_owned(),
        Pattern::Rows(rows) => format!("{rows} rows"),
        Pattern::Bind(elements) => {
            let elements: Vec<String> = elements.iter().map(element).collect();
            elements.join(", ")
        }
        Pattern::Error(None) => "error".to_owned(),
        Pattern::Error(Some(which)) => format!("error {which}"),
        Pattern::NoReply { within: None } => "no reply".to_owned(),
        Pattern::NoReply {
            within: Some(milliseconds),
        } => format!("no reply within {milliseconds}ms"),
        Pattern::Else => "else".to_owned(),
    }
}

fn element(element: &Element) -> String {
    match element {
        Element::Variable(name) => format!("{{{name}}}"),
        Element::Me => "{me}".to_owned(),
        Element::Integer(number) => number.to_string(),
        Element::Text(bytes) => quote(bytes),
        Element::Nil => "nil".to_owned(),
    }
}

fn argument(argument: &Argument) -> String {
    match argument {
        Argument::Literal(bytes) => print_word(bytes),
        Argument::Variable(name) => format!("{{{name}}}"),
        Argument::ScriptSource(name) | Argument::ScriptSha(name) => name.clone(),
    }
}

fn effect(effect: &Effect) -> String {
    match effect {
        Effect::Holds {
            key,
            milliseconds: None,
        } => format!("holds {}", argument(key)),
        Effect::Holds {
            key,
            milliseconds: Some(milliseconds),
        } => {
            format!("holds {} for {}ms", argument(key), argument(milliseconds))
        }
        Effect::Releases(key) => format!("releases {}", argument(key)),
        Effect::Loses(key) => format!("loses {}", argument(key)),
        Effect::Votes(key) => format!("votes for {}", argument(key)),
        Effect::Draws(variable) => format!("draws {{{variable}}}"),
        Effect::Sells { units, order: None } => format!("sells {units}"),
        Effect::Sells {
            units,
            order: Some(order),
        } => {
            format!("sells {units} for {}", argument(order))
        }
    }
}

fn flow(flow: &WrittenFlow) -> String {
    let after = |word: &str, after: &Option<u64>| match after {
        Some(milliseconds) => format!("{word} after {milliseconds}ms"),
        None => word.to_owned(),
    };
    match flow {
        WrittenFlow::Retry(milliseconds) => after("retry", milliseconds),
        WrittenFlow::StartOver(milliseconds) => after("start over", milliseconds),
        WrittenFlow::GoTo(label) => format!("go to {}", label.text),
        WrittenFlow::Abort(labels) => {
            let labels: Vec<&str> = labels.iter().map(|label| label.text.as_str()).collect();
            format!("abort with {}", labels.join(", "))
        }
        WrittenFlow::Stop => "stop".to_owned(),
        WrittenFlow::Done => "done".to_owned(),
    }
}

/// An action, without its reply.
pub(super) fn choice(choice: &Choice) -> String {
    let latch = |at: &Option<(Side, Named)>| match at {
        Some((Side::Before, label)) => format!(" before {}", label.text),
        Some((Side::After, label)) => format!(" after {}", label.text),
        None => String::new(),
    };
    match choice {
        Choice::Step { client, label } => format!("{} {}", client.text, label.text),
        Choice::Pause { client, at } => format!("pause {}{}", client.text, latch(at)),
        Choice::Resume { client, at } => format!("resume {}{}", client.text, latch(at)),
        Choice::Crash(client) => format!("crash {}", client.text),
        Choice::Restart(client) => format!("restart {}", client.text),
        Choice::Lose { client, label } => format!("lose {} {}", client.text, label.text),
        Choice::LoseRequest { client, label } => {
            format!("lose request {} {}", client.text, label.text)
        }
        Choice::Delay { client, label, leg } => {
            let what = match leg {
                Leg::Request => "request",
                Leg::Reply => "reply",
            };
            format!("delay {what} {} {}", client.text, label.text)
        }
        Choice::Deliver { client, label } => format!("deliver {} {}", client.text, label.text),
        Choice::Advance(milliseconds) => format!("clock +{milliseconds}ms"),
        Choice::AdvanceToNextDeadline => "clock to next deadline".to_owned(),
        Choice::ClockJump {
            whose,
            milliseconds,
        } => {
            let sign = if *milliseconds < 0 { '-' } else { '+' };
            format!(
                "clock of {} {sign}{}ms",
                whose.text,
                milliseconds.unsigned_abs()
            )
        }
        Choice::ClockRate { client, permille } => {
            let (whole, tenths) = (permille / 10, permille % 10);
            let tenths = match tenths {
                0 => String::new(),
                tenths => format!(".{tenths}"),
            };
            format!("clock of {} runs at {whole}{tenths}%", client.text)
        }
        Choice::OfKey { what, key, server } => {
            let server = on_server(server.as_ref());
            format!("{} {}{server}", what.word(), print_word(key))
        }
        Choice::RestartWithoutData(server) => format!("restart {} without data", server.text),
        Choice::Replicate { to, commands } => match commands {
            None => format!("replicate to {}", to.text),
            Some(1) => format!("replicate 1 command to {}", to.text),
            Some(commands) => format!("replicate {commands} commands to {}", to.text),
        },
        Choice::Failover(to) => format!("failover to {}", to.text),
        Choice::Command {
            who,
            server,
            source,
        } => {
            let server = server.iter().map(|server| format!(" {}", server.text));
            format!(
                "{}{}> {}",
                who.text,
                server.collect::<String>(),
                source.text
            )
        }
    }
}

/// An action and the reply that is expected of it.
pub(super) fn schedule_line(written: &Choice, expected: Option<&str>) -> String {
    with_reply(&choice(written), expected)
}

/// An action's text with `=>` and a reply behind it, in a canonical column where there is room.
pub(super) fn with_reply(action: &str, expected: Option<&str>) -> String {
    let Some(expected) = expected else {
        return action.to_owned();
    };
    let length = action.chars().count();
    let column = ARROWS
        .into_iter()
        .find(|column| *column >= length + 2)
        .unwrap_or(length + 2);
    let room = column - length;
    format!("{action}{:room$}=> {}", "", in_one_line(expected))
}

/// A reply that can stand behind `=>`: without line breaks, and without what would begin a comment.
fn in_one_line(reply: &str) -> String {
    let line = reply.replace(char::is_control, " ");
    let line = line.trim_matches(' ');
    match without_comment(line, Quotes::Reply) {
        (_, None) => line.to_owned(),
        (_, Some(_)) => line
            .split(' ')
            .filter(|word| !word.is_empty())
            .collect::<Vec<&str>>()
            .join(" "),
    }
}

/// An expectation.
pub(super) fn claim(claim: &ExpectedClaim) -> String {
    match claim {
        ExpectedClaim::Property { verdict, sentence } => {
            let verdict = match verdict {
                ExpectedVerdict::Holds => "holds",
                ExpectedVerdict::Broken => "broken",
                ExpectedVerdict::NotTested => "not tested",
            };
            format!("{verdict}: {}", sentence.text)
        }
        ExpectedClaim::Row {
            table,
            key,
            columns,
        } => {
            let columns = columns.as_ref().map(|columns| {
                let column = |(name, value): &(Named, String)| format!("{} {value}", name.text);
                columns
                    .iter()
                    .map(column)
                    .collect::<Vec<String>>()
                    .join(", ")
            });
            let columns = columns.unwrap_or_else(|| "none".to_owned());
            format!("{} {}: {columns}", table.text, key.join(", "))
        }
        ExpectedClaim::Key {
            key,
            server,
            value,
            ttl,
        } => {
            let server = on_server(server.as_ref());
            let value = value.as_deref().unwrap_or("none");
            let ttl = match ttl {
                None => String::new(),
                Some(None) => " no ttl".to_owned(),
                Some(Some(milliseconds)) => format!(" ttl {milliseconds}ms"),
            };
            format!("key {}{server}: {value}{ttl}", print_word(key))
        }
        ExpectedClaim::Writes(writes) => {
            let write = |(who, verdict): &(Named, String)| format!("{} {verdict}", who.text);
            format!("writes: {}", list(writes.iter().map(write).collect()))
        }
        ExpectedClaim::Charges(charges) => format!("charges: {}", list(charges.clone())),
        ExpectedClaim::Client { name, state } => format!("client {}: {state}", name.text),
    }
}

/// A line of a search.
pub(super) fn search_line(line: &SearchLine) -> String {
    match line {
        SearchLine::Limits(limits) => {
            let limits: Vec<String> = limits.iter().map(search_limit).collect();
            limits.join(", ")
        }
        SearchLine::Without(reductions) => {
            let words: Vec<&str> = reductions.iter().map(|one| one.words()).collect();
            format!("without: {}", words.join(", "))
        }
        SearchLine::From(Start::Start) => "from: start".to_owned(),
        SearchLine::From(Start::End) => "from: end".to_owned(),
        SearchLine::From(Start::After(actions)) => format!("from: action {actions}"),
        SearchLine::Breaks(None) => "breaks: anything".to_owned(),
        SearchLine::Breaks(Some(sentence)) => format!("breaks: {}", sentence.text),
        SearchLine::Reaches(reached) => format!("reaches: {}", claim(reached)),
        SearchLine::Finds(found) => format!("finds: {}", finds(*found)),
        SearchLine::Challenge => "challenge".to_owned(),
    }
}

fn search_limit(limit: &SearchLimit) -> String {
    let mut text = format!("{}: {}", limit.limit.words(), limit.count);
    for (place, key) in limit.keys.iter().enumerate() {
        text.push_str(if place == 0 { " of " } else { " or " });
        text.push_str(&print_word(key));
    }
    text
}

/// What a search finds, as the text writes it.
pub(super) fn finds(finds: Finds) -> String {
    let counted = |count: u64, one: &str, many: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    };
    match finds {
        Finds::Nothing { worlds: None } => "nothing".to_owned(),
        Finds::Nothing {
            worlds: Some(worlds),
        } => format!("nothing in {}", counted(worlds, "world", "worlds")),
        Finds::Steps { steps, faults } => format!(
            "{}, {}",
            counted(steps.into(), "step", "steps"),
            counted(faults.into(), "fault", "faults")
        ),
        Finds::Schedule => "the schedule".to_owned(),
    }
}

/// `a; b`, or `none`.
fn list(entries: Vec<String>) -> String {
    match entries.is_empty() {
        true => "none".to_owned(),
        false => entries.join("; "),
    }
}
