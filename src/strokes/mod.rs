//! The picture as strokes: the geometry comes from [`crate::diagram`], and what is made of it here are paths and texts with
//! classes, whose looks the style sheets say. The page draws them, and an export writes them into a file.

pub mod ink;
mod part;

use ink::{Ink, Label, Shape, keep_apart, numbers, zigzag};

use crate::diagram::{
    Diagram, Kind, Lane, LanePlaces, PartId, Picture, RowKind, RowShown, Shown, lane_name,
};
use crate::sim::action::ClientId;
use crate::sim::setup::Setup;
use crate::timeline::Timeline;
use crate::words;

/// The room above the first row, for the cursor's flag at the start.
pub const ABOVE: i32 = 18;

/// The room below the last row, for the cursor's line and the time.
pub const BELOW: i32 = 40;

/// How high the heads of the lanes are.
pub const HEADS: i32 = 42;

/// The class that sets a client's hue: six hues, which start over.
pub fn hue(client: ClientId) -> String {
    "is-client-".to_string() + &hue_number(client).to_string()
}

/// The hue's number, 1 to 6; also the number of the client's shape.
pub fn hue_number(client: ClientId) -> usize {
    client.0 % 6 + 1
}

/// The class of a row's ground, which is what a click hits.
pub fn row_class(kind: RowKind) -> &'static str {
    match kind {
        RowKind::Stale => "p-row p-row--stale",
        RowKind::Refused => "p-row p-row--refused",
        _ => "p-row",
    }
}

/// What lies on a row's ground: the rule above it, or the torn axis where time passes.
pub fn row_ground(row: &RowShown, places: &LanePlaces) -> Vec<Shape> {
    let mut ink = Ink::new();
    let right = places.width;
    if let RowKind::Clock { .. } = row.kind {
        let (top, bottom) = (row.top + 2, row.top + row.height - 2);
        ink.path(
            "p-break",
            zigzag(top, right) + &numbers(&[("V", bottom)]) + "H0z",
        );
        ink.path("p-break-edge", zigzag(top, right));
        ink.path("p-break-edge", zigzag(bottom + 1, right));
    } else if row.action > 0 {
        let way = numbers(&[("M", places.axis), (" ", row.top), ("H", right)]);
        ink.path("p-rule", way);
    }
    ink.shapes
}

/// A group of shapes, with its classes.
pub type Group = (String, Vec<Shape>);

/// All that stands below the heads when the whole schedule is played, from below to above: what is seen between two heights.
pub fn sheet(
    diagram: &Diagram,
    places: &LanePlaces,
    window: (i32, i32),
    timeline: &Timeline,
) -> Vec<Group> {
    let actions = timeline.len();
    let shown = diagram.visible(window.0 - ABOVE, window.1, actions);
    let ground = |row: &RowShown| {
        let way = numbers(&[
            ("M0 ", row.top),
            ("h", places.width),
            ("v", row.height),
            ("H", 0),
        ]);
        let class = row_class(row.kind).to_owned();
        let mut ground = vec![Shape::Path {
            class,
            way: way + "z",
        }];
        ground.extend(row_ground(row, places));
        ("p-past".to_owned(), ground)
    };
    let mut groups: Vec<Group> = shown.rows.iter().map(ground).collect();
    groups.push((String::new(), lanes(places, window, &shown)));
    let drawn = parts(&shown, places, window);
    let as_group = |part: Drawn| (part.class, part.shapes);
    groups.extend(drawn.iter().map(|(part, _)| as_group(part.clone())));
    let labels = labels(&drawn, &shown.rows, places).into_iter();
    groups.extend(labels.map(|(_, part)| as_group(part)));
    let now = timeline.moment(actions).world.now;
    groups.push((String::new(), flag(places, shown.cursor_y, Some(now))));
    let mut at_axis = axis(&shown, places);
    at_axis.extend(tab(places, shown.cursor_y, actions, actions));
    groups.push(("p-axis".to_owned(), at_axis));
    groups
}

/// The strokes of one part, or its labels.
#[derive(Clone, PartialEq)]
pub struct Drawn {
    /// The part; `u32::MAX`: none.
    pub id: PartId,
    /// The classes of the group.
    pub class: String,
    /// Its shapes, from below to above.
    pub shapes: Vec<Shape>,
}

/// The parts that are seen between two heights, with their labels, which are kept apart.
pub fn parts(shown: &Picture, places: &LanePlaces, window: (i32, i32)) -> Vec<(Drawn, Vec<Label>)> {
    let is_call = |part: &&Shown| matches!(part.part.kind, Kind::Call { .. });
    let calls = shown.parts.iter().filter(is_call).map(|part| part.top);
    let calls: Vec<i32> = calls.collect();
    let messages: Vec<_> = shown
        .parts
        .iter()
        .filter_map(|part| message(part, places))
        .collect();
    let gap = |part: &Shown| match part.part.kind {
        Kind::Gap { lock, .. } => Some((part.part.lane, lock, part.top)),
        _ => None,
    };
    let gaps: Vec<_> = shown.parts.iter().filter_map(gap).collect();
    let draw = |part: &Shown| {
        let mut ink = Ink::new();
        ink.calls = calls.clone();
        // Only within a bar do words make way for what crosses it.
        if matches!(part.part.kind, Kind::Lease { .. } | Kind::Belief { .. }) {
            let crosses = |[from, to]: &&[(i32, i32); 2]| from.1 < part.bottom && to.1 > part.top;
            ink.messages = messages.iter().filter(crosses).copied().collect();
            ink.gaps = gaps.clone();
        }
        drawn_part(ink, part, places, window, shown.cursor_y)
    };
    let mut drawn: Vec<(Drawn, Vec<Label>)> = shown.parts.iter().map(draw).collect();
    keep_apart(drawn.iter_mut().flat_map(|(_, labels)| labels).collect());
    drawn
}

/// Between which two points a message goes.
fn message(shown: &Shown, places: &LanePlaces) -> Option<[(i32, i32); 2]> {
    if !matches!(
        shown.part.kind,
        Kind::Message { .. } | Kind::Request { .. } | Kind::Reply { .. }
    ) {
        return None;
    }
    let (from, to) = (places.x(shown.part.lane)?, places.x(shown.part.to)?);
    Some([(from, shown.top), (to, shown.bottom)])
}

/// A part's strokes. What of a bar lies below the cursor is faint.
fn drawn_part(
    mut ink: Ink,
    shown: &Shown,
    places: &LanePlaces,
    (from, to): (i32, i32),
    cursor_y: i32,
) -> (Drawn, Vec<Label>) {
    ink.window = (from - ABOVE, to);
    part::part(&mut ink, shown, places, cursor_y);
    let faint = if shown.faint {
        "p-part p-future "
    } else {
        "p-part "
    };
    let drawn = Drawn {
        id: shown.id,
        class: faint.to_string() + &part::hue(&shown.part),
        shapes: ink.shapes,
    };
    (drawn, ink.labels)
}

/// The labels of the parts that have some, as parts of their own that stand above all strokes; and how much time passes in the
/// rows of the clock.
/// Each has a number that no other has.
pub fn labels(
    drawn: &[(Drawn, Vec<Label>)],
    rows: &[RowShown],
    places: &LanePlaces,
) -> Vec<(u64, Drawn)> {
    let labelled = drawn.iter().filter(|(_, labels)| !labels.is_empty());
    let labels_of = |(part, labels): &(Drawn, Vec<Label>)| {
        let on_ground = |label: &Label| label.shapes(ground_at(rows, label.y()));
        let part = Drawn {
            shapes: labels.iter().flat_map(on_ground).collect(),
            ..part.clone()
        };
        (u64::from(part.id.0), part)
    };
    let x = places.lanes.first().map_or(places.axis, |(_, x)| *x);
    let (right, what) = match places.is_narrow() {
        true => (8, "+"),
        false => (14, "clock +"),
    };
    let others: Vec<&Label> = drawn.iter().flat_map(|(_, labels)| labels).collect();
    let clock = |row: &RowShown| {
        let RowKind::Clock { milliseconds } = row.kind else {
            return None;
        };
        let mut ink = Ink::new();
        let words = what.to_string() + &words::milliseconds(milliseconds);
        ink.label("p-break-label p-mono", x + right, row.top + 26, words);
        ink.labels[0].make_way(&others);
        let part = Drawn {
            id: PartId(u32::MAX),
            class: if row.faint { "p-future" } else { "" }.to_string(),
            shapes: ink.labels[0].shapes("p-ground p-ground--sunk").to_vec(),
        };
        Some((u64::MAX - row.action as u64, part))
    };
    labelled
        .map(labels_of)
        .chain(rows.iter().filter_map(clock))
        .collect()
}

/// The class of the ground on which words at this height stand.
fn ground_at(rows: &[RowShown], y: i32) -> &'static str {
    let row = rows.iter().find(|row| row.top + row.height > y - 4);
    match row.map(|row| row.kind) {
        Some(RowKind::Clock { .. }) => "p-ground p-ground--sunk",
        Some(RowKind::Stale) => "p-ground p-ground--stale",
        _ => "p-ground",
    }
}

/// The lanes' lines.
pub fn lanes(places: &LanePlaces, (from, to): (i32, i32), shown: &Picture) -> Vec<Shape> {
    let mut ink = Ink::new();
    let (cursor_y, end) = (shown.cursor_y, shown.height);
    let (top, bottom) = ((-ABOVE).max(from - ABOVE), end.min(to));
    for (lane, x) in &places.lanes {
        let colour = match lane {
            Lane::Client(client) => " p-line--client ".to_string() + &hue(*client),
            _ => String::new(),
        };
        let line = |from: i32, to: i32| numbers(&[("M", *x), (" ", from), ("V", to)]);
        if top < cursor_y {
            ink.path_in(
                "p-line".to_string() + &colour,
                line(top, bottom.min(cursor_y)),
            );
        }
        if bottom > cursor_y {
            ink.path_in(
                "p-line p-faint".to_string() + &colour,
                line(top.max(cursor_y), bottom),
            );
        }
    }
    ink.shapes
}

/// What stands at the left and stays there: the actions' numbers and the times.
pub fn axis(shown: &Picture, places: &LanePlaces) -> Vec<Shape> {
    let mut ink = Ink::new();
    ink.rectangle(
        "p-ground",
        0,
        -ABOVE,
        places.axis - 2,
        shown.height + ABOVE + BELOW,
    );
    for row in &shown.rows {
        let ordinal = (row.action + 1).to_string();
        let right = if places.is_narrow() { 24 } else { 22 }.max(ordinal.len() as i32 * 7 + 2);
        ink.text("p-ordinal", right, row.top + 18, ordinal);
        if let (Some(time), false) = (&row.time, places.is_narrow()) {
            let (x, y) = match row.action > 999 {
                true => (6, row.top + 33),
                false => (28, row.top + 18),
            };
            let class = if row.faint {
                "p-instant p-later"
            } else {
                "p-instant"
            };
            ink.text(class, x, y, time.clone());
        }
    }
    ink.shapes
}

/// The head of the axis.
pub fn corner(places: &LanePlaces) -> Vec<Shape> {
    let mut ink = Ink::new();
    ink.rectangle("p-ground", 0, 0, places.axis - 2, 41);
    if !places.is_narrow() {
        ink.text("p-lane-note", 8, 26, "time, s".to_string());
    }
    ink.shapes
}

/// The heads of the lanes, which stay at the top.
pub fn heads(setup: &Setup, places: &LanePlaces) -> Vec<Shape> {
    let mut ink = Ink::new();
    for (lane, x) in &places.lanes {
        let name = lane_name(setup, *lane);
        match lane {
            Lane::Client(client) => {
                part::client_badge(&mut ink, *x, 14, *client, &name, places.is_narrow());
                ink.text("p-lane-note p-middle", *x, 37, "belief".to_string());
            }
            Lane::Store(_) => {
                ink.text("p-lane-name p-middle", *x, 20, name);
                ink.text("p-lane-note p-middle", *x, 36, "lease".to_string());
            }
            _ => {
                let name = words::shortened(&name, 14);
                let half = name.chars().count() as i32 * 4;
                match x + half > places.width {
                    true => ink.text("p-lane-name p-end", places.width - 4, 20, name),
                    false => ink.text("p-lane-name p-middle", *x, 20, name),
                }
            }
        }
    }
    ink.shapes
}

/// The cursor's line, and what time it is in milliseconds, where the schedule ends.
pub fn flag(places: &LanePlaces, y: i32, now: Option<u64>) -> Vec<Shape> {
    let mut ink = Ink::new();
    let y = y + 1;
    ink.path("p-cursor", numbers(&[("M0 ", y), ("H", places.width)]));
    if let Some(now) = now {
        let now = "now ".to_string() + &words::seconds(now) + " s";
        ink.text("p-mono p-now", places.axis + 6, y + 15, now);
    }
    ink.shapes
}

/// The ground of the row at which two schedules part, and words that say so.
pub fn parting((from, to): (i32, i32), width: i32) -> Group {
    let mut ink = Ink::new();
    ink.rectangle("p-parting", 0, from, width, (to - from).max(2));
    let words = "they part".to_string();
    ink.text("p-parting-word p-end", width - 8, from + 14, words);
    (String::new(), ink.shapes)
}

/// The flag of the cursor's line, at the axis: how many of the actions lie above it.
pub fn tab(places: &LanePlaces, y: i32, cursor: usize, actions: usize) -> Vec<Shape> {
    let mut ink = Ink::new();
    let cursor = cursor.to_string();
    let (words, least) = match places.is_narrow() {
        true => (cursor, 28),
        false => {
            let actions = actions.to_string();
            (cursor + " of " + &actions, 72)
        }
    };
    let width = (words.len() as i32 * 7 + 10).max(least);
    let y = y + 1;
    ink.rectangle("p-cursor-tab", 0, y - 16, width, 16);
    ink.text("p-cursor-word", width / 2, y - 4, words);
    ink.shapes
}
