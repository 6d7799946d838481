//! Changes of a text, for building on the page: each touches the lines that it has to, and leaves every other byte alone.
//!
//! Every change needs a text whose lines can be read; that it still makes sense afterwards is found when it is read again.

use std::sync::Arc;

use crate::sorted::SortedMap;
use crate::timeline::Timeline;

use super::check::End;
use super::error::{Place, TextError, one_of, quoted};
use super::library::{self, LibraryProtocol};
use super::parse::{is_reserved, parts};
use super::scan::is_name;
use super::syntax::*;
use super::{limits, lines, parse_only, print};
use crate::search::{Request, print_request};
use crate::sim::event::Value;

/// What a change gives.
pub type Edited = Result<String, Vec<TextError>>;

/// A line that declares clients, and the comment behind it.
type ClientLine = (Clients, Option<String>, Place);

/// A text as lines and as a tree, and the changes that are to be made.
struct Editor {
    lines: Vec<String>,
    tree: Text,
    /// From which line, up to before which line (from 0), and what stands there instead.
    changes: Vec<(usize, usize, Vec<String>)>,
}

impl Editor {
    fn new(text: &str) -> Result<Editor, Vec<TextError>> {
        let tree = parse_only(text)?;
        let lines = lines::split(text).into_iter().map(str::to_owned).collect();
        Ok(Editor {
            lines,
            tree,
            changes: Vec::new(),
        })
    }

    fn blocks(&self) -> impl Iterator<Item = &Block> {
        things(&self.tree.items)
    }

    /// Replaces a run of lines; `from` and `to` count from 0, and `to` is not replaced.
    fn replace(&mut self, from: usize, to: usize, lines: Vec<String>) {
        self.changes.push((from, to, lines));
    }

    /// Takes away the lines of a place.
    fn remove(&mut self, place: Place) {
        self.replace(place.line.saturating_sub(1), place.last, Vec::new());
    }

    /// Takes away a block, and one of two blank lines that would come together.
    fn remove_block(&mut self, place: Place) {
        let (from, mut to) = (place.line.saturating_sub(1), place.last);
        let is_blank = |line: Option<&String>| line.is_none_or(|line| line.trim().is_empty());
        let before = from
            .checked_sub(1)
            .and_then(|before| self.lines.get(before));
        if is_blank(before) && to < self.lines.len() && is_blank(self.lines.get(to)) {
            to += 1;
        }
        self.replace(from, to, Vec::new());
    }

    /// The text with all changes made.
    fn finish(mut self) -> String {
        // From the end, so that the lines before stay where they are.
        crate::sorted::sort_by_key(&mut self.changes, |(from, to, _)| (*from, *to));
        self.changes.dedup();
        for (from, to, lines) in self.changes.into_iter().rev() {
            let to = to.min(self.lines.len());
            self.lines.splice(from.min(to)..to, lines);
        }
        self.lines
            .iter()
            .flat_map(|line| [line.as_str(), "\n"])
            .collect()
    }

    /// The line (from 0) before which blocks go that stand before the clients and the schedule, above the comments on what
    /// stands there; and whether anything stands behind it.
    fn place_before(&self, words: &[&str]) -> (usize, bool) {
        let line = self.blocks().find_map(|block| {
            let line = block.place.line.checked_sub(1)?;
            let word = self.lines.get(line)?.split(' ').next()?;
            words.contains(&word).then_some(line)
        });
        let Some(mut line) = line else {
            return (self.lines.len(), false);
        };
        while line > 0
            && self
                .lines
                .get(line - 1)
                .is_some_and(|above| above.starts_with('#'))
        {
            line -= 1;
        }
        // The comment at the top is the title.
        if line == 0
            && self
                .lines
                .first()
                .is_some_and(|first| first.starts_with('#'))
        {
            line = self
                .lines
                .iter()
                .take_while(|line| line.starts_with('#'))
                .count();
        }
        (line, true)
    }

    /// Puts blocks of lines there, with blank lines around them.
    fn insert_blocks(&mut self, words: &[&str], blocks: Vec<Vec<String>>) {
        let (at, has_more) = self.place_before(words);
        let mut inserted = Vec::new();
        let above = at.checked_sub(1).and_then(|above| self.lines.get(above));
        if above.is_some_and(|above| !above.trim().is_empty()) {
            inserted.push(String::new());
        }
        for (place, block) in blocks.into_iter().enumerate() {
            if place > 0 {
                inserted.push(String::new());
            }
            inserted.extend(block);
        }
        if has_more {
            inserted.push(String::new());
        }
        self.replace(at, at, inserted);
    }

    /// All lines that declare clients.
    fn client_lines(&self) -> Vec<ClientLine> {
        self.blocks()
            .filter_map(|block| match &block.kind {
                BlockKind::Clients(clients) => {
                    Some((clients.clone(), block.comment.clone(), block.place))
                }
                _ => None,
            })
            .collect()
    }

    fn protocol(&self, name: &str) -> Option<(&[Entry<ProtocolPart>], Place)> {
        self.blocks().find_map(|block| match &block.kind {
            BlockKind::Protocol { name: other, parts } if other.text == name => {
                Some((parts.as_slice(), block.place))
            }
            _ => None,
        })
    }
}

/// One error of a change.
fn refused<T>(line: usize, message: String, expected: String) -> Result<T, Vec<TextError>> {
    Err(vec![TextError {
        line,
        column: 1,
        length: 1,
        message,
        expected,
    }])
}

/// A line and the comment behind it.
fn with_comment(line: String, comment: Option<&String>) -> String {
    match comment {
        Some(comment) => format!("{line}  #{comment}"),
        None => line,
    }
}

// Clients.

/// Adds a client behind the last one. It gets the parameters of another one that runs the same protocol, but an order of its own.
///
/// # Errors
/// The text's own; a name that is taken or cannot be one.
pub fn add_client(text: &str, name: &str, protocol: Option<&str>) -> Edited {
    let mut editor = Editor::new(text)?;
    let lines = editor.client_lines();
    check_new_name(&lines, name)?;
    let runs_it = |clients: &Clients| {
        clients
            .protocol
            .as_ref()
            .map(|protocol| protocol.text.as_str())
            == protocol
    };
    let like = lines.iter().find(|(clients, _, _)| runs_it(clients));
    let named = |text: &str| Named {
        text: text.to_owned(),
        place: Place::default(),
    };
    let new = Clients {
        names: vec![named(name)],
        protocol: protocol.map(named),
        rounds: 1,
        parameters: like
            .map(|(clients, _, _)| editor.with_own_orders(&lines, clients))
            .unwrap_or_default(),
    };
    match lines.last() {
        None => editor.insert_blocks(&["schedule", "expect"], vec![vec![print::clients(&new)]]),
        Some((last, _, place)) if is_alike(last, &new) => {
            let last_name = last.names.last().map(|name| name.place).unwrap_or_default();
            let line = place.line.saturating_sub(1);
            let mut joined = editor.lines.get(line).cloned().unwrap_or_default();
            joined.insert_str(last_name.end.min(joined.len()), &format!(", {name}"));
            editor.replace(line, line + 1, vec![joined]);
        }
        Some((_, _, place)) => {
            let line = place.line;
            editor.replace(line, line, vec![print::clients(&new)]);
        }
    }
    Ok(editor.finish())
}

/// Complains about a name that is taken, or that no client can have.
fn check_new_name(lines: &[ClientLine], name: &str) -> Result<(), Vec<TextError>> {
    if is_reserved(name) {
        let message = format!("{} means something else in a schedule", quoted(name));
        return refused(1, message, "another name, such as `A`".to_owned());
    }
    if !is_name(name) {
        let message = format!("no client can be called {}", quoted(name));
        let expected = format!(
            "letters, digits, `_` or `-`, beginning with a letter, at most {} of them",
            limits::NAME
        );
        return refused(1, message, expected);
    }
    let taken = lines
        .iter()
        .find(|(clients, _, _)| has_client(clients, name));
    match taken {
        Some((_, _, place)) => {
            let message = format!("there is another client called {}", quoted(name));
            refused(place.line, message, "a name of its own".to_owned())
        }
        None => Ok(()),
    }
}

impl Editor {
    /// The parameters of these clients, with the first free number in those that name an order of the protocol.
    fn with_own_orders(&self, lines: &[ClientLine], like: &Clients) -> Vec<(Named, Value)> {
        let place = like
            .protocol
            .as_ref()
            .and_then(|protocol| self.protocol(&protocol.text));
        let steps = place.and_then(|(_, place)| self.lines.get(place.line..place.last));
        let names_order = |parameter: &str| {
            let uses = ["CHARGE {", "REFUND {", " for {"];
            let mut uses = uses.iter().map(|before| format!("{before}{parameter}}}"));
            uses.any(|used| {
                steps
                    .unwrap_or_default()
                    .iter()
                    .any(|line| line.contains(&used))
            })
        };
        let mut parameters = like.parameters.clone();
        for (name, value) in &mut parameters {
            let Value::Text(text) = &*value else { continue };
            if names_order(&name.text) {
                let word = String::from_utf8_lossy(text).into_owned();
                let stem = word.trim_end_matches(|letter: char| letter.is_ascii_digit());
                let free = (1..)
                    .map(|number: u32| Value::Text(format!("{stem}{number}").into_bytes()))
                    .find(|free| {
                        let mut others =
                            lines.iter().flat_map(|(clients, _, _)| &clients.parameters);
                        !others.any(|(_, other)| other == free)
                    });
                *value = free.unwrap_or_else(|| value.clone());
            }
        }
        parameters
    }
}

/// Gives a client another name, in the lines that declare it, that act as it and that expect something of it. The names of its
/// attempts, `"A-1"`, follow where a reply or an expectation has them in quotes; what somebody typed at a console stays.
///
/// # Errors
/// The text's own; a client that is not there; a name that is taken or cannot be one.
pub fn rename_client(text: &str, name: &str, new: &str) -> Edited {
    let mut editor = Editor::new(text)?;
    let lines = editor.client_lines();
    if !lines
        .iter()
        .any(|(clients, _, _)| has_client(clients, name))
    {
        return no_client(&lines, name);
    }
    check_new_name(&lines, new)?;
    let mut names: Vec<Place> = lines
        .iter()
        .flat_map(|(clients, _, _)| &clients.names)
        .filter(|other| other.text == name)
        .map(|other| other.place)
        .collect();
    let (mut replies, mut laid_out) = (Vec::new(), Vec::new());
    for block in editor.blocks() {
        match &block.kind {
            BlockKind::Schedule(entries) => {
                for entry in things(entries) {
                    let client = client_of(&entry.choice).filter(|client| client.text == name);
                    names.extend(client.map(|client| client.place));
                    if client.is_some() {
                        laid_out.extend(
                            entry
                                .expected
                                .clone()
                                .map(|reply| (entry.place.line, reply)),
                        );
                    }
                    replies.push(entry.place.line);
                }
            }
            BlockKind::Expect(entries) => {
                for entry in things(entries) {
                    let whose: Vec<&Named> = match &entry.claim {
                        ExpectedClaim::Client { name, .. } => vec![name],
                        ExpectedClaim::Writes(writes) => {
                            writes.iter().map(|(who, _)| who).collect()
                        }
                        _ => Vec::new(),
                    };
                    let whose = whose.into_iter().filter(|whose| whose.text == name);
                    names.extend(whose.map(|whose| whose.place));
                    replies.push(entry.place.line);
                }
            }
            _ => {}
        }
    }
    // From the end of each line, so that what stands before stays where it is.
    crate::sorted::sort_by_key(&mut names, |place| {
        std::cmp::Reverse((place.line, place.start))
    });
    for place in names {
        if let Some(line) = editor.lines.get_mut(place.line.saturating_sub(1))
            && line.get(place.start..place.end) == Some(name)
        {
            line.replace_range(place.start..place.end, new);
        }
    }
    for (line, reply) in laid_out {
        if let Some(line) = editor.lines.get_mut(line.saturating_sub(1)) {
            *line = set_expected(line, Some(&reply));
        }
    }
    for line in replies {
        if let Some(line) = editor.lines.get_mut(line.saturating_sub(1)) {
            *line = with_attempts_renamed(line, name, new);
        }
    }
    Ok(editor.finish())
}

/// A line in which `"A-1"` has become `"B-1"`, and so every attempt.
fn with_attempts_renamed(line: &str, name: &str, new: &str) -> String {
    let before = format!("\"{name}-");
    let mut pieces = line.split(&before);
    let mut renamed = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let digits = piece.bytes().take_while(u8::is_ascii_digit).count();
        let is_attempt = digits > 0
            && piece
                .get(digits..)
                .is_some_and(|rest| rest.starts_with('"'));
        renamed.push('"');
        renamed.push_str(if is_attempt { new } else { name });
        renamed.push('-');
        renamed.push_str(piece);
    }
    renamed
}

fn no_client<T>(lines: &[ClientLine], name: &str) -> Result<T, Vec<TextError>> {
    let names = lines.iter().flat_map(|(clients, _, _)| &clients.names);
    let known: Vec<&str> = names.map(|name| name.text.as_str()).collect();
    refused(
        1,
        format!("no client is called {}", quoted(name)),
        one_of(&known),
    )
}

fn has_client(clients: &Clients, name: &str) -> bool {
    clients.names.iter().any(|other| other.text == name)
}

/// Whether two lines declare clients that do the same.
fn is_alike(one: &Clients, other: &Clients) -> bool {
    one.protocol == other.protocol
        && one.rounds == other.rounds
        && one.parameters == other.parameters
}

/// Takes a client away, with its lines in the schedule and the expectations that name it.
///
/// # Errors
/// The text's own; a client that is not there.
pub fn remove_client(text: &str, name: &str) -> Edited {
    let mut editor = Editor::new(text)?;
    remove_client_from(&mut editor, name)?;
    Ok(editor.finish())
}

fn remove_client_from(editor: &mut Editor, name: &str) -> Result<(), Vec<TextError>> {
    let lines = editor.client_lines();
    let Some((clients, _, place)) = lines
        .iter()
        .find(|(clients, _, _)| has_client(clients, name))
    else {
        return no_client(&lines, name);
    };
    let kept: Vec<&str> = clients
        .names
        .iter()
        .map(|other| other.text.as_str())
        .filter(|other| *other != name)
        .collect();
    match (clients.names.first(), clients.names.last()) {
        (Some(first), Some(last)) if !kept.is_empty() => {
            let line = place.line.saturating_sub(1);
            let mut changed = editor.lines.get(line).cloned().unwrap_or_default();
            if changed.get(first.place.start..last.place.end).is_some() {
                changed.replace_range(first.place.start..last.place.end, &kept.join(", "));
            }
            editor.replace(line, line + 1, vec![changed]);
        }
        _ => editor.remove_block(*place),
    }
    for place in lines_that_name(editor, name) {
        editor.remove(place);
    }
    Ok(())
}

/// The lines of the schedule and of the expectations that are about a client.
fn lines_that_name(editor: &Editor, name: &str) -> Vec<Place> {
    let mut places = Vec::new();
    for block in editor.blocks() {
        match &block.kind {
            BlockKind::Schedule(entries) => {
                let entries = things(entries).filter(|entry| names_client(&entry.choice, name));
                places.extend(entries.map(|entry| entry.place));
            }
            BlockKind::Expect(entries) => {
                let entries = things(entries).filter(|entry| match &entry.claim {
                    ExpectedClaim::Client { name: other, .. } => other.text == name,
                    ExpectedClaim::Writes(writes) => writes.iter().any(|(who, _)| who.text == name),
                    _ => false,
                });
                places.extend(entries.map(|entry| entry.place));
            }
            _ => {}
        }
    }
    places
}

fn names_client(choice: &Choice, name: &str) -> bool {
    client_of(choice).is_some_and(|client| client.text == name)
}

/// The client that a line of the schedule is about; also the operator, where it types.
fn client_of(choice: &Choice) -> Option<&Named> {
    match choice {
        Choice::Step { client, .. }
        | Choice::Pause { client, .. }
        | Choice::Resume { client, .. }
        | Choice::Crash(client)
        | Choice::Restart(client)
        | Choice::Lose { client, .. }
        | Choice::LoseRequest { client, .. }
        | Choice::Delay { client, .. }
        | Choice::Deliver { client, .. }
        | Choice::ClockJump { whose: client, .. }
        | Choice::ClockRate { client, .. }
        | Choice::Command { who: client, .. } => Some(client),
        Choice::Advance(_)
        | Choice::AdvanceToNextDeadline
        | Choice::OfKey { .. }
        | Choice::RestartWithoutData(_)
        | Choice::Replicate { .. }
        | Choice::Failover(_) => None,
    }
}

/// Says how many times a client runs its protocol. A line of several clients is taken apart, so that the others stay as they
/// are and the order stays.
///
/// # Errors
/// The text's own; a client that is not there.
pub fn set_rounds(text: &str, name: &str, rounds: u32) -> Edited {
    let mut editor = Editor::new(text)?;
    let lines = editor.client_lines();
    let Some((clients, comment, place)) = lines
        .iter()
        .find(|(clients, _, _)| has_client(clients, name))
    else {
        return no_client(&lines, name);
    };
    let at = clients
        .names
        .iter()
        .position(|other| other.text == name)
        .unwrap_or_default();
    let (before, others) = clients.names.split_at(at);
    let (this, behind) = others.split_at(1.min(others.len()));
    let declared: Vec<Clients> = [
        (before, clients.rounds),
        (this, rounds),
        (behind, clients.rounds),
    ]
    .into_iter()
    .filter(|(names, _)| !names.is_empty())
    .map(|(names, rounds)| Clients {
        names: names.to_vec(),
        rounds,
        ..clients.clone()
    })
    .collect();
    let declared: Vec<String> = declared
        .iter()
        .enumerate()
        .map(|(place, clients)| {
            with_comment(
                print::clients(clients),
                comment.as_ref().filter(|_| place == 0),
            )
        })
        .collect();
    let line = place.line.saturating_sub(1);
    editor.replace(line, line + 1, declared);
    Ok(editor.finish())
}

// Protocols.

/// Adds a protocol of the library, with the tables, keys, scripts and roles that it needs and the text lacks. Where its name or
/// the name of one of its scripts is taken by something else, it gets a number.
///
/// # Errors
/// The text's own; a protocol that the library does not have.
pub fn add_protocol(text: &str, name: &str) -> Edited {
    match library::protocol_named(name) {
        Some(protocol) => add_library_protocol(text, protocol),
        None => {
            let known: Vec<&str> = library::protocols()
                .iter()
                .map(|known| known.name)
                .collect();
            let message = format!("the library has no protocol {}", quoted(name));
            refused(1, message, one_of(&known))
        }
    }
}

fn add_library_protocol(text: &str, protocol: &LibraryProtocol) -> Edited {
    let mut editor = Editor::new(text)?;
    let to_lines = |block: &str| {
        lines::split(block.trim_end())
            .into_iter()
            .map(str::to_owned)
            .collect()
    };
    let mut blocks: Vec<Vec<String>> = Vec::new();
    let mut tables = editor.tables();
    for table in &protocol.tables {
        if !tables.contains_key(table.name) {
            tables.insert(table.name.to_owned(), table.text.to_owned());
            blocks.push(to_lines(table.text));
        }
    }
    let has_line = |line: &str| text.lines().any(|other| other.trim_end() == line);
    let servers = protocol.servers.iter().filter(|line| !has_line(line));
    let servers: Vec<String> = servers.map(|line| (*line).to_owned()).collect();
    if !servers.is_empty() {
        blocks.push(servers);
    }
    // A key that the text knows already begins as the text has it.
    let commands = protocol.store.iter().filter(|command| {
        let key = command.split_whitespace().nth(1).unwrap_or_default();
        !text.split([' ', '\n', ',']).any(|word| word == key)
    });
    let commands: Vec<String> = commands.map(|command| format!("  {command}")).collect();
    if !commands.is_empty() {
        blocks.push(
            std::iter::once("store".to_owned())
                .chain(commands)
                .collect(),
        );
    }
    let mut renamed = SortedMap::new();
    let taken = editor.scripts();
    for script in &protocol.scripts {
        let lines: Vec<String> = to_lines(script.text);
        let new = match taken.get(script.name) {
            Some(other) if Some(other.as_slice()) == lines.get(1..) => continue,
            Some(_) => free_name(script.name, |name| taken.contains_key(name)),
            None => script.name.to_owned(),
        };
        blocks.push(with_header(lines, script.name, &new));
        renamed.insert(script.name.to_owned(), new);
    }
    blocks.extend(
        protocol
            .watches
            .iter()
            .filter_map(|line| editor.watch_line(line, &tables)),
    );
    let new = free_name(protocol.name, |name| editor.protocol(name).is_some());
    let lines = with_header(to_lines(protocol.block), protocol.name, &new);
    blocks.push(
        lines
            .iter()
            .map(|line| with_scripts_renamed(line, &renamed))
            .collect(),
    );
    editor.insert_blocks(&["client", "schedule", "expect"], blocks);
    Ok(editor.finish())
}

impl Editor {
    /// The definition of each table, by its name.
    fn tables(&self) -> SortedMap<String, String> {
        let table = |block: &Block| match &block.kind {
            BlockKind::Table(table) => {
                let lines = things(&table.definition).map(|line| line.text.as_str());
                Some((
                    table.name.text.clone(),
                    lines.collect::<Vec<&str>>().join("\n"),
                ))
            }
            _ => None,
        };
        self.blocks().filter_map(table).collect()
    }

    /// The lines of each script, by its name.
    fn scripts(&self) -> SortedMap<String, Vec<String>> {
        let script = |block: &Block| match &block.kind {
            BlockKind::Script { name, .. } => {
                let lines = self.lines.get(block.place.line..block.place.last);
                Some((name.text.clone(), lines.unwrap_or_default().to_vec()))
            }
            _ => None,
        };
        self.blocks().filter_map(script).collect()
    }

    /// A `watch` line without the roles of columns that are not there; nothing where none is left, or the text has it already.
    fn watch_line(&self, line: &str, tables: &SortedMap<String, String>) -> Option<Vec<String>> {
        let tree = parse_only(line).ok()?;
        let BlockKind::Watch(roles) = &things(&tree.items).next()?.kind else {
            return None;
        };
        let is_there = |role: &&Role| match role {
            Role::Lock(..) | Role::Counter(_) => true,
            Role::Fence(column) | Role::Stock(column) => {
                tables.get(&column.table.text).is_some_and(|definition| {
                    definition
                        .split([' ', '(', ',', '\n'])
                        .any(|word| word == column.column.text)
                })
            }
        };
        let roles: Vec<Role> = roles.iter().filter(is_there).cloned().collect();
        let is_known = self.blocks().any(|block| match &block.kind {
            BlockKind::Watch(others) => roles.iter().all(|role| others.contains(role)),
            _ => false,
        });
        (!is_known && !roles.is_empty()).then(|| vec![print::watch(&roles)])
    }
}

/// The name, or the name with the first number from 2 on that makes it free.
fn free_name(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|number: u32| format!("{name}-{number}"));
    std::iter::once(name.to_owned())
        .chain(numbered)
        .find(|name| !is_taken(name))
        .unwrap_or_else(|| name.to_owned())
}

/// A block's lines with another name behind the first word.
fn with_header(mut lines: Vec<String>, old: &str, new: &str) -> Vec<String> {
    let header = lines.first_mut().and_then(|header| {
        let at = header.find(' ')?;
        Some((
            header.get(..at)?.to_owned(),
            header.get(at..)?.replacen(old, new, 1),
            header,
        ))
    });
    if let Some((word, rest, header)) = header {
        *header = word + &rest;
    }
    lines
}

/// A line in which the scripts that EVAL and its like name have their new names.
fn with_scripts_renamed(line: &str, renamed: &SortedMap<String, String>) -> String {
    let mut words: Vec<&str> = line.split(' ').collect();
    let is_before_script = |word: &str| {
        let words = ["EVAL", "EVAL_RO", "EVALSHA", "EVALSHA_RO", "LOAD", "EXISTS"];
        words.iter().any(|other| other.eq_ignore_ascii_case(word))
    };
    for place in 1..words.len() {
        if let Some(new) = renamed
            .get(words[place])
            .filter(|_| is_before_script(words[place - 1]))
        {
            words[place] = new;
        }
    }
    words.join(" ")
}

/// Lets whoever runs one protocol run another one, with the parameters that they have, or with these (` order=order-1`).
///
/// # Errors
/// The text's own.
pub fn run_instead(text: &str, from: &str, to: &str, parameters: Option<&str>) -> Edited {
    let mut editor = Editor::new(text)?;
    for (mut clients, comment, place) in editor.client_lines() {
        let Some(protocol) = clients.protocol.as_mut().filter(|it| it.text == from) else {
            continue;
        };
        to.clone_into(&mut protocol.text);
        if parameters.is_some() {
            clients.parameters.clear();
        }
        let line = print::clients(&clients) + parameters.unwrap_or_default();
        let line = with_comment(line, comment.as_ref());
        editor.replace(place.line.saturating_sub(1), place.line, vec![line]);
    }
    Ok(editor.finish())
}

/// Takes a protocol away, with the clients that run it and their lines.
///
/// # Errors
/// The text's own; a protocol that is not there.
pub fn remove_protocol(text: &str, name: &str) -> Edited {
    let mut editor = Editor::new(text)?;
    let Some((_, place)) = editor.protocol(name) else {
        return no_protocol(&editor, name);
    };
    editor.remove_block(place);
    for (clients, _, place) in editor.client_lines() {
        if clients
            .protocol
            .as_ref()
            .is_some_and(|protocol| protocol.text == name)
        {
            editor.remove_block(place);
            for client in &clients.names {
                for place in lines_that_name(&editor, &client.text) {
                    editor.remove(place);
                }
            }
        }
    }
    Ok(editor.finish())
}

/// Puts other lines in a protocol's place, its header included.
///
/// # Errors
/// The text's own; a protocol that is not there.
pub fn replace_protocol(text: &str, name: &str, source: &str) -> Edited {
    let mut editor = Editor::new(text)?;
    let Some((_, place)) = editor.protocol(name) else {
        return no_protocol(&editor, name);
    };
    let lines = lines::split(source.trim_end())
        .into_iter()
        .map(str::to_owned)
        .collect();
    editor.replace(place.line.saturating_sub(1), place.last, lines);
    Ok(editor.finish())
}

fn no_protocol<T>(editor: &Editor, name: &str) -> Result<T, Vec<TextError>> {
    let known: Vec<&str> = editor
        .blocks()
        .filter_map(|block| match &block.kind {
            BlockKind::Protocol { name, .. } => Some(name.text.as_str()),
            _ => None,
        })
        .collect();
    refused(
        1,
        format!("no protocol is called {}", quoted(name)),
        one_of(&known),
    )
}

// The schedule and the expectations.

/// Puts another reply behind the `=>` of a line of the schedule, or takes it away; a comment behind it stays. The line is given
/// and comes back as it stands in the text.
pub fn set_expected(line: &str, reply: Option<&str>) -> String {
    let content = line.trim_start_matches(' ');
    let indent = line.get(..line.len() - content.len()).unwrap_or_default();
    let parts = parts(content);
    let changed = format!("{indent}{}", print::with_reply(parts.action, reply));
    with_comment(changed, parts.comment.map(str::to_owned).as_ref())
}

/// What is so at the end of a schedule, a line of an `expect` block each.
pub fn expectations_at_end(timeline: &Timeline) -> Vec<String> {
    End::of(timeline).lines()
}

/// Writes an `expect` block that says what is so at the end of a schedule, in the place of the one that is there; comments in
/// it stay, above the lines.
///
/// # Errors
/// The text's own.
pub fn pin_expectations(text: &str, timeline: &Timeline) -> Edited {
    let mut editor = Editor::new(text)?;
    let lines = expectations_at_end(timeline)
        .into_iter()
        .map(|line| format!("  {line}"));
    let block = editor.blocks().find_map(|block| match &block.kind {
        BlockKind::Expect(entries) => Some((entries.clone(), block.place)),
        _ => None,
    });
    match block {
        None => {
            let block = std::iter::once("expect".to_owned()).chain(lines).collect();
            editor.insert_blocks(&[], vec![block]);
        }
        Some((entries, place)) => {
            let comments = entries.iter().filter_map(|entry| match entry {
                Entry::Comment(comment) => Some(format!("  #{comment}")),
                _ => None,
            });
            let lines = comments.chain(lines).collect();
            editor.replace(place.line, place.last, lines);
        }
    }
    Ok(editor.finish())
}

/// Plays a text and writes down what came of it: the reply behind every line of the schedule that has one, and an `expect` block
/// as [`pin_expectations`] writes it.
///
/// # Errors
/// The text's own, and the first action of the schedule that is not possible.
pub fn pin(text: &str) -> Edited {
    let reading = super::read(text)?;
    let actions = reading.schedule.iter().map(|line| line.action.clone());
    let timeline = Timeline::replay(Arc::clone(&reading.setup), actions);
    let mut lines: Vec<String> = lines::split(text).into_iter().map(str::to_owned).collect();
    for (line, entry) in reading.schedule.iter().zip(timeline.entries()) {
        if let Some(written) = lines.get_mut(line.line.saturating_sub(1)) {
            *written = set_expected(written, entry.reply_in_short().as_deref());
        }
        if let Some(why) = entry.refusal() {
            return refused(line.line, format!("not possible: {why}"), String::new());
        }
    }
    super::format(&pin_expectations(&(lines.join("\n") + "\n"), &timeline)?)
}

/// Writes a search into the text, in place of the `search` block that stands at this place (from 0), or before the schedule; comments
/// in it stay, above the lines. `reaches` are expectations, one a line, that take the place of what the search looks for.
///
/// # Errors
/// The text's own.
pub fn set_search(text: &str, place: usize, request: &Request, reaches: Option<&str>) -> Edited {
    let mut editor = Editor::new(text)?;
    let printed = print_request(request);
    let goals = |line: &&str| {
        let line = line.trim_start();
        reaches.is_none() || !(line.starts_with("breaks:") || line.starts_with("reaches:"))
    };
    let lines = printed.lines().skip(1).filter(goals).map(str::to_owned);
    let reached = reaches.unwrap_or_default().lines();
    let reached = reached
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|line| format!("  reaches: {line}"));
    let lines = lines.chain(reached);
    let block = editor
        .blocks()
        .filter_map(|block| match &block.kind {
            BlockKind::Search(entries) => Some((entries.clone(), block.place)),
            _ => None,
        })
        .nth(place);
    match block {
        None => {
            let block = std::iter::once("search".to_owned()).chain(lines).collect();
            editor.insert_blocks(&["schedule", "expect"], vec![block]);
        }
        Some((entries, place)) => {
            let comments = entries.iter().filter_map(|entry| match entry {
                Entry::Comment(comment) => Some(format!("  #{comment}")),
                _ => None,
            });
            let lines = comments.chain(lines).collect();
            editor.replace(place.line, place.last, lines);
        }
    }
    Ok(editor.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a change: what it gives, or its first error.
    fn check(edited: Edited, expected: &str) {
        match edited {
            Ok(text) => assert_eq!(text, expected),
            Err(errors) => assert_eq!(errors[0].to_string(), expected),
        }
    }

    #[test]
    fn clients_are_added_behind_the_last_one() {
        let add = |text: &str, name: &str, protocol: Option<&str>, expected: &str| {
            check(add_client(text, name, protocol), expected);
        };
        let p = "protocol p\n  a: GET b\n";
        add(p, "A", Some("p"), &format!("{p}\nclient A: p\n"));
        add("", "A", None, "client A\n");
        add(
            "# t\n\nschedule\n",
            "A",
            None,
            "# t\n\nclient A\n\nschedule\n",
        );
        add(
            "# t\nschedule\n",
            "A",
            None,
            "# t\n\nclient A\n\nschedule\n",
        );
        add(
            "x\n",
            "A",
            None,
            "line 1, column 1: no block begins with `x`: expected `option`, `server`, `replica`, `table`, `database`, `store`, `script`, `watch`, `protocol`, `client`, `schedule`, `expect` or `search`",
        );
        add(
            "client A:  p  # c\n\nschedule",
            "B",
            Some("p"),
            "client A, B:  p  # c\n\nschedule\n",
        );
        add(
            "client A: p x2  # c\n",
            "B",
            Some("p"),
            "client A: p x2  # c\nclient B: p\n",
        );
        add(
            "client A: p o=1\nclient B: q\n",
            "C",
            Some("p"),
            "client A: p o=1\nclient B: q\nclient C: p o=1\n",
        );
        add("client A: p o=1\n", "B", Some("p"), "client A, B: p o=1\n");
        add("client A\n", "B", None, "client A, B\n");
        add(
            "client A\n",
            "A",
            None,
            "line 1, column 1: there is another client called `A`: expected a name of its own",
        );
        add(
            "client A\n",
            "pause",
            None,
            "line 1, column 1: `pause` means something else in a schedule: expected another name, such as `A`",
        );
        add(
            "client A\n",
            "a b",
            None,
            "line 1, column 1: no client can be called `a b`: expected letters, digits, `_` or `-`, beginning with a letter, at most 64 of them",
        );
        let charge =
            "protocol p\n  charge: CHARGE {o} 100\n\nclient A: p o=o-1 k=1\nclient B: q o=o-2\n";
        add(
            charge,
            "C",
            Some("p"),
            &format!("{charge}client C: p o=o-3 k=1\n"),
        );
    }

    const STORY: &str = "\
protocol p
  a: GET b

client A,B ,C: p  # c

schedule
  A a
  # why
  B a   => OK
  pause B before a
  B> GET b
  operator> GET b
  C a

expect
  client B: done
  writes: B accepted
  client A: done
";

    #[test]
    fn clients_go_with_their_lines() {
        let without = |name: &str, expected: &str| check(remove_client(STORY, name), expected);
        without(
            "B",
            "protocol p\n  a: GET b\n\nclient A, C: p  # c\n\nschedule\n  A a\n  # why\n  operator> GET b\n  C a\n\nexpect\n  client A: done\n",
        );
        without(
            "D",
            "line 1, column 1: no client is called `D`: expected `A`, `B` or `C`",
        );
        check(
            remove_client("client A\n\nclient B\n\nschedule\n  A> GET a\n", "A"),
            "client B\n\nschedule\n",
        );
        check(
            remove_protocol(STORY, "p"),
            "schedule\n  # why\n  operator> GET b\n\nexpect\n",
        );
        check(
            remove_protocol(STORY, "q"),
            "line 1, column 1: no protocol is called `q`: expected `p`",
        );
    }

    #[test]
    fn a_client_is_renamed_wherever_it_is_named() {
        let text = "\
protocol p
  a: SET k {me}

client A, B: p  # A and B

schedule
  A a                    => OK  # A first
  pause B
  A> GET k               => \"A-1\"
  operator> EVAL \"return {'A-1', 'A-x'}\" 0  => [\"A-1\", \"A-x\"]

expect
  key k: \"A-1\"
  writes: A accepted; B accepted
  client A: done
";
        let rename = |name: &str, new: &str| rename_client(text, name, new);
        let expected = text
            .replace("client A, B: p", "client Worker, B: p")
            .replace(
                "  A a                    => OK",
                "  Worker a               => OK",
            )
            .replace("  A> GET k               =>", "  Worker> GET k          =>")
            .replace("\"A-1\"", "\"Worker-1\"")
            .replace("writes: A", "writes: Worker")
            .replace("client A: done", "client Worker: done");
        check(rename("A", "Worker"), &expected);
        check(rename_client(&expected, "Worker", "A"), text);
        for (name, new, why) in [
            ("A", "B", "there is another client called `B`"),
            ("A", "clock", "`clock` means something else in a schedule"),
            ("A", "", "no client can be called ``"),
            ("C", "D", "no client is called `C`"),
        ] {
            assert_eq!(rename(name, new).unwrap_err()[0].message, why);
        }
    }

    #[test]
    fn runs_are_set() {
        let set = |name: &str, rounds: u32, expected: &str| {
            let text = set_rounds(STORY, name, rounds).unwrap();
            let lines: Vec<&str> = text
                .lines()
                .filter(|line| line.starts_with("client"))
                .collect();
            assert_eq!(lines.join("\n"), expected);
        };
        set("A", 2, "client A: p x2  # c\nclient B, C: p");
        set("B", 2, "client A: p  # c\nclient B: p x2\nclient C: p");
        set("C", 3, "client A, B: p  # c\nclient C: p x3");
        check(
            set_rounds("client A: p x2 o=1\n", "A", 1),
            "client A: p o=1\n",
        );
        check(
            set_rounds("client A: p\n", "B", 1),
            "line 1, column 1: no client is called `B`: expected `A`",
        );
    }

    #[test]
    fn protocols_bring_what_they_need() {
        let check = |text: &str, expected: &str| {
            let block = |name: &'static str, text: &'static str| library::Block { name, text };
            let protocol = LibraryProtocol {
                name: "p",
                story: "story",
                block: "protocol p  # c\n  # first\n  write: UPDATE inventory SET qty = 1\n  release: EVAL unlock 1 lock:sku-1\n",
                scripts: vec![block("unlock", "script unlock\n  return 1\n")],
                tables: vec![block(
                    "inventory",
                    "table inventory (sku VARCHAR(32) PRIMARY KEY, qty INT)\n  'sku-1', 10\n",
                )],
                servers: Vec::new(),
                store: vec!["SET fence:sku-1 5"],
                watches: vec![
                    "watch lock lock:sku-1, stock inventory.qty",
                    "watch fence orders.token",
                ],
            };
            check(add_library_protocol(text, &protocol), expected);
        };
        let table = "table inventory (sku VARCHAR(32) PRIMARY KEY, qty INT)\n  'sku-1', 10\n";
        let store = "store\n  SET fence:sku-1 5\n";
        let script = "script unlock\n  return 1\n";
        let watch = "watch lock lock:sku-1, stock inventory.qty\n";
        let protocol = "protocol p  # c\n  # first\n  write: UPDATE inventory SET qty = 1\n  release: EVAL unlock 1 lock:sku-1\n";
        let all = format!("{table}\n{store}\n{script}\n{watch}\n{protocol}");
        check("", &all);
        check(
            "# t\n\n# the clients\nclient A\n",
            &format!("# t\n\n{all}\n# the clients\nclient A\n"),
        );
        // What is there is not brought again.
        let again = protocol.replace("protocol p", "protocol p-2");
        check(&all, &format!("{all}\n{again}"));
        let other = "table inventory (qty INT)\nwatch lock lock:sku-1, counter fence:sku-1, stock inventory.qty\nscript unlock\n  return 2\n";
        let renamed = protocol.replace("EVAL unlock", "EVAL unlock-2");
        check(
            other,
            &format!("{other}\nscript unlock-2\n  return 1\n\n{renamed}"),
        );
    }

    #[test]
    fn the_librarys_protocols_can_be_added_to_its_stories() {
        for (place, protocol) in library::protocols().iter().enumerate() {
            // All pairs would take long, and say no more.
            for story in library::stories().iter().skip(place % 7).step_by(7) {
                let text = add_protocol(story.text, protocol.name).unwrap();
                let before = super::super::read(story.text).unwrap();
                let reading = super::super::read(&text).unwrap_or_else(|errors| {
                    panic!("{} in {}: {}\n{text}", protocol.name, story.name, errors[0])
                });
                assert_eq!(
                    reading.setup.protocols.len(),
                    before.setup.protocols.len() + 1
                );
                assert_eq!(reading.schedule.len(), before.schedule.len());
                let client = add_client(&text, "Z", Some(protocol.name)).unwrap();
                let removed = remove_client(&client, "Z").unwrap();
                assert_eq!(removed, text, "{} in {}", protocol.name, story.name);
            }
        }
        let errors = add_protocol("", "split-aquire").unwrap_err();
        assert_eq!(
            errors[0].message,
            "the library has no protocol `split-aquire`"
        );
        assert!(errors[0].expected.contains("`split-acquire`"));
    }

    #[test]
    fn a_search_is_written_where_it_stands_or_before_the_schedule() {
        let mut request = Request::default();
        let set = |text: &str, request: &Request, reaches: Option<&str>, expected: &str| {
            check(set_search(text, 0, request, reaches), expected);
        };
        let block = "search\n  lapses: 2\n  breaks: anything\n";
        set("", &request, None, block);
        set(
            "client A\n\nschedule\n",
            &request,
            None,
            &format!("client A\n\n{block}\nschedule\n"),
        );
        request.bounds.lapses = 1;
        set(
            &format!("{block}  # why\n  finds: nothing\n\nclient A\n"),
            &request,
            Some("key k: none\n\n client A: done"),
            "search\n  # why\n  lapses: 1\n  reaches: key k: none\n  reaches: client A: done\n\nclient A\n",
        );
    }

    #[test]
    fn protocols_are_replaced_in_their_place() {
        check(
            replace_protocol(STORY, "p", "protocol q\n  a: GET c\n    on nil: stop\n\n"),
            &STORY.replace(
                "protocol p\n  a: GET b\n",
                "protocol q\n  a: GET c\n    on nil: stop\n",
            ),
        );
        check(
            replace_protocol(STORY, "q", ""),
            "line 1, column 1: no protocol is called `q`: expected `p`",
        );
    }

    #[test]
    fn replies_are_set_and_comments_stay() {
        let set = |line: &str, reply: Option<&str>, expected: &str| {
            assert_eq!(set_expected(line, reply), expected);
        };
        set("  A a", Some("OK"), "  A a                    => OK");
        set(
            "  A a => nil   # why",
            Some("OK"),
            "  A a                    => OK  # why",
        );
        set("    A a => nil   # why", None, "    A a  # why");
        set(
            "  A> GET '=> x'  =>  1",
            Some("\"2\""),
            "  A> GET '=> x'          => \"2\"",
        );
        set(
            "  A a => nil",
            Some("ERR a\nb  #c"),
            "  A a                    => ERR a b #c",
        );
    }

    #[test]
    fn expectations_are_pinned() {
        let text = "\
table t (a INT PRIMARY KEY, b INT)
  1, 2
store
  SET k v PX 500
protocol p
  one: GET k
client A: p
client C
watch lock lock:a, stock t.b
schedule
  A one
  clock +100ms
";
        let pin = |text: &str| {
            let reading = super::super::read(text).unwrap();
            let actions = reading.schedule.iter().map(|line| line.action.clone());
            let timeline = Timeline::replay(reading.setup.clone(), actions);
            pin_expectations(text, &timeline).unwrap()
        };
        let pinned = pin(text);
        let expected = [
            "t 1: b 2",
            "key lock:a: none",
            "key k: \"v\" ttl 400ms",
            "writes: none",
            "client A: done",
            "client C: console only",
        ];
        let lines: Vec<&str> = pinned.lines().skip(text.lines().count()).collect();
        assert_eq!(&lines[..2], ["", "expect"]);
        let verdicts = lines.len() - 2 - expected.len();
        assert_eq!(verdicts, crate::property::Property::ALL.len());
        let last: Vec<&str> = lines[2 + verdicts..]
            .iter()
            .map(|line| line.trim())
            .collect();
        assert_eq!(last, expected);
        // What was pinned is so, and pinning it again changes nothing.
        assert_eq!(
            super::super::check::check(&super::super::read(&pinned).unwrap()),
            []
        );
        assert_eq!(pin(&pinned), pinned);
        let commented = pinned.replace("  t 1: b 2\n", "  # why\n  t 1: b 7\n");
        assert_eq!(
            pin(&commented),
            pinned.replace("expect\n", "expect\n  # why\n")
        );
    }
}
