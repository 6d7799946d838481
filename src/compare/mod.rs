//! The same schedule under another protocol or another fence, side by side, with the first action where they part.
//!
//! ```text
//! text ──► Change ──► another text without a schedule ──► its own timeline, line by line beside the one that is open
//! ```
//!
//! A line that the other text cannot do is left out and says why: a step that its protocol does not have, a client that has stopped.
//! Where a protocol has more steps than the line of the schedule speaks of, the client takes them first, as late as it can.

mod change;
#[cfg(test)]
mod tests;

pub use change::{Change, Fence};

use crate::scenario::edit::expectations_at_end;
use crate::scenario::{self, Reading, TextError, found, print_action, read_schedule_line};
use crate::sim::action::{Action, ClientId};
use crate::sim::database::Value;
use crate::sim::event::Fact;
use crate::sim::setup::Setup;
use crate::sim::step::{refusal, step};
use crate::sim::world::World;
use crate::timeline::{Entry, Timeline};

/// How many actions of a schedule are compared; what comes after is not played.
pub const MOST_COMPARED: usize = 1_000;

/// How long a schedule is played under every change before one is chosen; a longer one would make the page wait.
const MOST_TRIED: usize = 200;

/// How many steps a client takes that the schedule does not speak of, to come to the one that it does.
const MOST_STEPS_BETWEEN: usize = 8;

/// Two schedules beside each other, the one that is open at the left.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// What was played on both sides.
    pub played: [Timeline; 2],
    /// Every action of either, in order.
    pub rows: Vec<Row>,
    /// The first row after which something that counts is not the same; `None`: they never part.
    pub parts_at: Option<usize>,
    /// What is not the same then, in words.
    pub parts_in: Vec<&'static str>,
    /// What is so at the end and differs, as an `expect` part says it.
    pub ends: Vec<[Option<String>; 2]>,
    /// How many actions of the schedule are left out as there are too many.
    pub not_compared: usize,
    /// The other one as a text that can be opened, with its replies and expectations.
    pub text: String,
}

/// One line of the schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The action as the schedule writes it.
    pub line: String,
    /// What came of it, at the left and at the right.
    pub sides: [Side; 2],
    /// How many actions of each side are played once it has come so far.
    pub played: [usize; 2],
}

/// What came of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// It was done: the reply in its short form with the verdict on what was written; empty where there is neither.
    Done(String),
    /// It was not possible, and why.
    LeftOut(String),
    /// This side's schedule does not have it: a step of the other protocol alone.
    Absent,
}

impl Row {
    /// Whether the two sides are told different things.
    pub fn differs(&self) -> bool {
        let [left, right] = &self.sides;
        left != right && !matches!(left, Side::Done(reply) if reply.is_empty())
    }
}

/// Which action of each side a line is.
struct Pair {
    line: String,
    left: Option<usize>,
    right: Result<usize, String>,
}

impl Pair {
    /// The action's place on each side that has it.
    fn places(&self) -> [Option<usize>; 2] {
        [self.left, self.right.as_ref().ok().copied()]
    }
}

/// Plays the schedule of a text beside the same schedule with a change.
///
/// # Errors
/// The text's own; what cannot be read once the change is made.
pub fn compare(text: &str, change: &Change) -> Result<Comparison, Vec<TextError>> {
    let reading = scenario::read(text)?;
    let actions = reading.schedule.iter().map(|line| line.action.clone());
    let left = Timeline::replay(reading.setup.clone(), actions.take(MOST_COMPARED));
    let bare = titled(&change.apply(text, &reading)?, change);
    let other = scenario::read(&bare)?;
    let mut right = Timeline::new(other.setup.clone());
    let pairs = play(&left, &mut right);
    let rows = rows(&left, &right, &pairs);
    let schedule: Vec<String> = right
        .entries()
        .iter()
        .map(|entry| {
            let reply = entry.reply_in_short();
            scenario::print_schedule_line(&other.setup, &entry.action, reply.as_deref())
        })
        .collect();
    let (parts_at, parts_in) = parting(&left, &right, &pairs);
    let ends = [&left, &right].map(expectations_at_end);
    Ok(Comparison {
        parts_at,
        parts_in,
        rows,
        not_compared: reading.schedule.len() - left.len(),
        text: found::with_schedule(&bare, &other, 0, &schedule, &ends[1]),
        ends: differing(ends),
        played: [left, right],
    })
}

/// What this text can be compared with: what makes the two schedules part first, and else as [`Change::all`] has it. A protocol under
/// which nobody comes to hold, write or charge anything is not for this scenario: what it needs is not there. A long schedule is not
/// tried.
pub fn choices(text: &str, reading: &Reading) -> Vec<Change> {
    let all = Change::all(text, reading);
    if reading.schedule.len() > MOST_TRIED {
        return all;
    }
    let mut choices = Vec::new();
    for change in all {
        let Ok(comparison) = compare(text, &change) else {
            continue;
        };
        let [left, right] = comparison.played.each_ref().map(does_anything);
        if right || !left {
            choices.push((comparison.parts_at.is_none(), change));
        }
    }
    crate::sorted::sort_by_key(&mut choices, |(is_same, _)| *is_same);
    choices.into_iter().map(|(_, change)| change).collect()
}

fn does_anything(timeline: &Timeline) -> bool {
    let mut events = timeline.entries().iter().flat_map(|entry| &entry.events);
    events.any(|event| {
        matches!(
            event.fact,
            Fact::Believed { .. } | Fact::Wrote { .. } | Fact::Charged { .. }
        )
    })
}

/// The text with the change in its title.
fn titled(text: &str, change: &Change) -> String {
    let words = change.in_words();
    match text.strip_prefix('#') {
        Some(rest) => {
            let (title, below) = rest.split_once('\n').unwrap_or((rest, ""));
            format!("#{title}, with {words}\n{below}")
        }
        None => format!("# With {words}\n\n{text}"),
    }
}

/// Plays what the other side can do of each action.
fn play(left: &Timeline, right: &mut Timeline) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (place, entry) in left.entries().iter().enumerate() {
        let line = print_action(left.setup(), &entry.action);
        let setup = right.setup().clone();
        let before = right.len();
        let done = read_schedule_line(&line, &setup)
            .map_err(|_| "not in this protocol".to_owned())
            .and_then(|read| push(right, read.action));
        let between = before..done.as_ref().copied().unwrap_or(right.len());
        pairs.extend(between.map(|place| Pair {
            line: print_action(&setup, &right.entries()[place].action),
            left: None,
            right: Ok(place),
        }));
        pairs.push(Pair {
            line,
            left: Some(place),
            right: done,
        });
    }
    pairs
}

/// Adds an action where it is possible, behind the steps that its client has to take before it; gives its place. A client that stops
/// on the way has taken its steps all the same.
fn push(timeline: &mut Timeline, action: Action) -> Result<usize, String> {
    let setup = timeline.setup().clone();
    for _ in 0..MOST_STEPS_BETWEEN {
        let world = timeline.moment(timeline.len()).world;
        let action = latch_to_come(&world, &action).unwrap_or_else(|| action.clone());
        let Some(why) = refusal(&setup, &world, &action) else {
            timeline.push(action);
            return Ok(timeline.len() - 1);
        };
        match step_before(&world, &action).filter(|step| refusal(&setup, &world, step).is_none()) {
            Some(step) => timeline.push(step),
            None => return Err(why),
        };
    }
    Err("too many steps come before it".to_owned())
}

/// `resume A`, where A has not come to its latch yet on this side: the same latch, taken away.
fn latch_to_come(world: &World, action: &Action) -> Option<Action> {
    let Action::Resume { client, at: None } = *action else {
        return None;
    };
    let client_now = world.client(client)?;
    let at = client_now.latches.first().copied();
    (client_now.paused_at().is_none() && at.is_some()).then_some(Action::Resume { client, at })
}

/// The client's next step, where that stands before the one that an action is about.
fn step_before(world: &World, action: &Action) -> Option<Action> {
    let (Action::Step { client, step }
    | Action::LoseReply { client, step }
    | Action::LoseRequest { client, step }
    | Action::Delay { client, step, .. }) = *action
    else {
        return None;
    };
    let now = world.client(client)?.current_step()?;
    (now < step).then_some(Action::Step { client, step: now })
}

fn rows(left: &Timeline, right: &Timeline, pairs: &[Pair]) -> Vec<Row> {
    let mut played = [0, 0];
    let row = |pair: &Pair| {
        for (played, place) in played.iter_mut().zip(pair.places()) {
            *played = place.map_or(*played, |place| place + 1);
        }
        let on_left = match pair.left {
            Some(place) => done(&left.entries()[place]),
            None => Side::Absent,
        };
        let on_right = match &pair.right {
            Ok(place) => done(&right.entries()[*place]),
            Err(why) => Side::LeftOut(why.clone()),
        };
        Row {
            line: pair.line.clone(),
            sides: [on_left, on_right],
            played,
        }
    };
    pairs.iter().map(row).collect()
}

/// What came of an action: `1 row · accepted, stale`.
fn done(entry: &Entry) -> Side {
    if let Some(why) = entry.refusal() {
        return Side::LeftOut(why.to_owned());
    }
    let reply = entry.reply_in_short();
    let written = entry.ledger.iter().map(|write| write.verdict());
    let all: Vec<String> = reply.into_iter().chain(written).collect();
    Side::Done(all.join(" · "))
}

/// The first line after which the two worlds differ in something that counts, and in what.
fn parting(
    left: &Timeline,
    right: &Timeline,
    pairs: &[Pair],
) -> (Option<usize>, Vec<&'static str>) {
    let mut worlds = [left, right].map(|timeline| timeline.moment(0).world);
    let tables = worlds[0].database.tables();
    let tables: Vec<String> = tables.map(|table| table.name().to_owned()).collect();
    for (line, pair) in pairs.iter().enumerate() {
        let sides = [left, right].into_iter().zip(pair.places());
        for (world, (timeline, place)) in worlds.iter_mut().zip(sides) {
            if let Some(place) = place {
                let action = &timeline.entries()[place].action;
                *world = step(timeline.setup(), world, action).0;
            }
        }
        let differs = differences(left.setup(), &tables, &worlds);
        if !differs.is_empty() {
            return (Some(line), differs);
        }
    }
    (None, Vec::new())
}

/// What counts of two worlds and is not the same, with the tables and locks of the text that is open.
fn differences(setup: &Setup, tables: &[String], worlds: &[World; 2]) -> Vec<&'static str> {
    let [one, other] = worlds;
    let all = [
        ("the rows", rows_of(one, tables) != rows_of(other, tables)),
        (
            "the charges",
            one.gateway.charges() != other.gateway.charges(),
        ),
        ("the locks", taken(setup, one) != taken(setup, other)),
        ("the beliefs", believers(one) != believers(other)),
    ];
    let differing = all.into_iter().filter(|(_, differs)| *differs);
    differing.map(|(what, _)| what).collect()
}

fn rows_of(world: &World, tables: &[String]) -> Vec<Option<Vec<Vec<Value>>>> {
    let rows = |name: &String| {
        let table = world.database.table(name)?;
        Some(table.rows().map(|row| row.values().to_vec()).collect())
    };
    tables.iter().map(rows).collect()
}

/// Of each watched lock, on each of its servers, whether it is taken.
fn taken(setup: &Setup, world: &World) -> Vec<bool> {
    let locks = setup.watches.iter().filter_map(|watch| {
        let key = watch.lock.as_ref()?;
        Some((key, watch.servers()))
    });
    let on_servers = locks.flat_map(|(key, servers)| {
        let servers = servers.into_iter();
        servers.map(|server| world.store(server).get(key).is_some())
    });
    on_servers.collect()
}

fn believers(world: &World) -> Vec<(ClientId, &[u8])> {
    let clients = world.clients.iter().enumerate();
    let beliefs = clients.flat_map(|(place, client)| {
        let keys = client.beliefs.keys();
        keys.map(move |key| (ClientId(place), key.as_slice()))
    });
    beliefs.collect()
}

/// The lines of both ends that the other does not have, those that speak of the same thing beside each other.
fn differing([left, right]: [Vec<String>; 2]) -> Vec<[Option<String>; 2]> {
    let mut rest: Vec<Option<String>> = right
        .iter()
        .map(|line| (!left.contains(line)).then(|| line.clone()))
        .collect();
    let mut pairs: Vec<[Option<String>; 2]> = Vec::new();
    for line in left.into_iter().filter(|line| !right.contains(line)) {
        let same = rest.iter_mut().find(|other| {
            other
                .as_ref()
                .is_some_and(|other| subject(other) == subject(&line))
        });
        pairs.push([Some(line), same.and_then(Option::take)]);
    }
    pairs.extend(rest.into_iter().flatten().map(|line| [None, Some(line)]));
    pairs
}

/// What an expectation speaks of: a property's sentence, or what stands before the first colon that a blank follows.
fn subject(line: &str) -> &str {
    let (before, after) = line.split_once(": ").unwrap_or((line, ""));
    match before {
        "broken" | "holds" | "not tested" => after,
        _ => before,
    }
}
