//! How each part of the diagram is drawn: bars, arrows, marks and the few words beside them.

use super::hue_number;
use super::ink::{Ink, numbers};
use crate::diagram::{
    Fate, Fault, Holder, Kind, Lane, LanePlaces, LatchChange, LeaseEnd, Part, Run, Shown,
    TokenPlace, Way, WriteVerdict,
};
use crate::sim::action::{ClientId, LatchPoint, Who};
use crate::sim::event::BeliefEnd;
use crate::words;

/// How far words within a bar stay from what crosses it, in pixels.
const APART: i32 = 5;

/// After how many pixels the words within a bar are repeated.
const WORDS_AGAIN: i32 = 320;

/// The class that sets the hue of whom the part is about.
pub fn hue(part: &Part) -> String {
    let client = match &part.kind {
        Kind::Lease { holder, .. }
        | Kind::LeaseEnded { holder, .. }
        | Kind::Renewed { holder, .. } => match holder {
            Holder::Client(client) => Some(*client),
            Holder::Other => None,
        },
        _ => match (part.lane, part.to) {
            (Lane::Client(client), _) | (_, Lane::Client(client)) => Some(client),
            _ => None,
        },
    };
    client.map_or_else(|| "is-nobody".to_string(), super::hue)
}

/// Draws a part.
pub fn part(ink: &mut Ink, shown: &Shown, places: &LanePlaces, cursor_y: i32) {
    let part = &shown.part;
    let Some(x) = places.x(part.lane) else { return };
    let at = At {
        x,
        y: shown.top,
        bottom: shown.bottom,
        places,
        cursor_y,
        faint: shown.faint,
    };
    match &part.kind {
        Kind::Lease { lock, .. } => lease(ink, &at, *lock, &part.label),
        Kind::Belief { lock, .. } => belief(ink, &at, part.lane, *lock, &part.label),
        Kind::Gap { lock, .. } => gap(ink, &at, *lock),
        Kind::Paused { at: point, .. } => paused(ink, &at, *point, &part.label),
        Kind::Crashed { .. } => crashed(ink, &at),
        Kind::Sleep { .. } | Kind::Wait { .. } => waits(ink, &at, &part.label),
        Kind::Carry { .. } => carry(ink, &at),
        Kind::Message { .. } => reply(ink, &at, part, Fate::Seen, Who::Operator),
        Kind::Request { way, .. } => request(ink, &at, part, *way),
        Kind::Reply { fate, who, .. } => reply(ink, &at, part, *fate, *who),
        Kind::Delivery { lost, .. } => delivery(ink, &at, part, *lost),
        Kind::Call { .. } | Kind::More(_) => beside_store(ink, &at, "p-mono p-call", &part.label),
        Kind::LeaseEnded { holder, how, lock } => {
            lease_ended(ink, &at, *holder, *how, *lock, &part.label)
        }
        Kind::Renewed { .. } => beside_store(ink, &at, "p-note", &part.label),
        Kind::Deadline { lock, .. } => deadline(ink, &at, *lock),
        Kind::BeliefEnded { why, .. } => belief_ended(ink, &at, *why, &part.label),
        Kind::Token {
            token: number,
            place,
            ..
        } => token(ink, &at, *number, *place, &part.label),
        Kind::Key { who, .. } => key(ink, &at, *who, &part.label),
        Kind::Write {
            verdict, details, ..
        } => write(ink, &at, verdict, &part.label, details),
        Kind::Read { .. } => ink.circle("p-read", at.x, at.y, 4),
        Kind::Transaction { .. } => beside(ink, &at, "p-words", &part.label),
        Kind::Charge { .. } | Kind::Refund { .. } => {
            ink.circle("p-dot", at.x, at.y, 3);
            beside(ink, &at, "p-mono", &part.label);
        }
        Kind::Fault(Fault::Expire(_) | Fault::Wipe(_) | Fault::Evict(_)) => fault(ink, &at, part),
        // What it led to is drawn.
        Kind::Fault(Fault::Crash | Fault::LoseReply(_) | Fault::LoseRequest(_)) => {}
        Kind::Fault(
            Fault::ClockJump { .. }
            | Fault::ClockRate { .. }
            | Fault::CrashServer
            | Fault::RestartServer(_)
            | Fault::Unreachable
            | Fault::Replicate(..)
            | Fault::Failover(..)
            | Fault::TimeOut(..)
            | Fault::TooLate(_),
        ) => {
            // A server's words stand beside its leases.
            let x = match part.lane {
                Lane::Store(_) => at.beside_store(),
                _ => at.x + 14,
            };
            ink.label("p-note", x, at.y + 4, part.label.clone());
        }
        Kind::Latch { change, .. } => latch(ink, &at, *change, &part.label),
        Kind::Woke(_) => ink.label("p-words", at.x + 14, at.y + 4, part.label.clone()),
        Kind::Run(_, run) => ran(ink, &at, run, &part.label),
        Kind::Refused { .. } => refused(ink, &at, &part.label),
        Kind::Sold { .. } => {}
        Kind::Vote { .. } => ink.text("p-halo", at.x + 14, at.y + 4, part.label.clone()),
    }
}

/// Where a part stands.
struct At<'a> {
    x: i32,
    y: i32,
    bottom: i32,
    places: &'a LanePlaces,
    cursor_y: i32,
    faint: bool,
}

impl At<'_> {
    fn bar(&self) -> i32 {
        self.places.bar
    }

    fn is_narrow(&self) -> bool {
        self.places.is_narrow()
    }

    /// The left edge of a lease's bar, right of the store's line.
    fn lease_x(&self, lock: usize) -> i32 {
        self.x + 6 + lock as i32 * (self.bar() + 5)
    }

    /// The left edge of a belief's bar, left of the client's line.
    fn belief_x(&self, x: i32, lock: usize) -> i32 {
        x - 6 - self.bar() - lock as i32 * (self.bar() + 9)
    }

    /// Where words beside the store begin, right of all leases.
    fn beside_store(&self) -> i32 {
        self.x + 6 + self.bar() + 8
    }

    /// The class, and that it is faint where it stands below the cursor's line.
    fn class_at(&self, class: &str, y: i32) -> String {
        let below = if y > self.cursor_y && !self.faint {
            " p-faint"
        } else {
            ""
        };
        class.to_string() + below
    }

    /// The bar's stretches: what lies above the cursor's line, and what lies below it.
    fn stretches(&self) -> [(i32, i32, bool); 2] {
        if self.faint {
            return [(self.y, self.bottom, false), (0, 0, false)];
        }
        let cut = self.cursor_y.clamp(self.y, self.bottom);
        [(self.y, cut, false), (cut, self.bottom, true)]
    }
}

fn bar(ink: &mut Ink, at: &At<'_>, class: &str, x: i32, width: i32) {
    for (top, bottom, below) in at.stretches() {
        if bottom > top {
            // A bar that is far longer than the window is drawn as far as the window reaches.
            let (top, bottom) = (top.max(ink.window.0 - 20), bottom.min(ink.window.1 + 20));
            if bottom > top {
                let class = if below {
                    class.to_string() + " p-faint"
                } else {
                    class.to_string()
                };
                match class.starts_with("p-gap") {
                    true => ink.hatched(&class, x, top, width, bottom - top),
                    false => ink.rectangle(&class, x, top, width, bottom - top),
                }
            }
        }
    }
}

/// Words within a bar that read upward, again and again where it is long: each time the first of these for which there is room
/// between the messages that cross the bar, or none.
fn words_within(ink: &mut Ink, at: &At<'_>, class: &str, x: i32, bottom: i32, words: [&str; 2]) {
    let crossings = ink.crossings(x);
    let mut y = at.y;
    if y < ink.window.0 {
        y += (ink.window.0 - y) / WORDS_AGAIN * WORDS_AGAIN;
    }
    while y < bottom && y < ink.window.1 {
        let end = bottom.min(y + WORDS_AGAIN);
        for words in words {
            let length = words.chars().count() as i32 * 6 + 14;
            if let Some(top) = free_stretch(&crossings, y, end, length) {
                let class = at.class_at(class, top + length / 2);
                ink.upward(&class, x + 4, top + length - APART, words.to_string());
                break;
            }
        }
        y += WORDS_AGAIN;
    }
}

/// Where the first stretch of this length begins that nothing crosses.
fn free_stretch(crossings: &[i32], from: i32, to: i32, length: i32) -> Option<i32> {
    let mut top = from;
    for crossing in crossings {
        if crossing - APART < top + length && crossing + APART > top {
            top = crossing + APART;
        }
    }
    (top + length <= to).then_some(top)
}

fn lease(ink: &mut Ink, at: &At<'_>, lock: usize, label: &str) {
    let x = at.lease_x(lock);
    bar(ink, at, "p-lease", x, at.bar());
    let holder = label.rsplit(' ').next().unwrap_or(label);
    let middle = x + at.bar() / 2;
    words_within(ink, at, "p-lease-word", middle, at.bottom, [label, holder]);
}

fn belief(ink: &mut Ink, at: &At<'_>, lane: Lane, lock: usize, label: &str) {
    let x = at.belief_x(at.x, lock);
    bar(ink, at, "p-belief", x, at.bar());
    // What is stale is drawn over the rest of the bar.
    let is_within = |top: &i32| (at.y..at.bottom).contains(top);
    let gaps = ink.gaps.iter().filter(|gap| (gap.0, gap.1) == (lane, lock));
    let bottom = gaps.map(|gap| gap.2).filter(is_within).min();
    let (middle, bottom) = (x + at.bar() / 2, bottom.unwrap_or(at.bottom));
    words_within(
        ink,
        at,
        "p-belief-word",
        middle,
        bottom,
        [label, "believes"],
    );
}

fn gap(ink: &mut Ink, at: &At<'_>, lock: usize) {
    let (more, wider) = if at.is_narrow() { (4, 6) } else { (8, 10) };
    let x = at.belief_x(at.x, lock) - more;
    let width = at.bar() + wider;
    // The belief's bar beneath does not shine through where the gap is faint.
    let (top, bottom) = (
        at.y.max(ink.window.0 - 20),
        at.bottom.min(ink.window.1 + 20),
    );
    if bottom > top {
        ink.rectangle("p-gap-ground", x, top, width, bottom - top);
    }
    bar(ink, at, "p-gap", x, width);
    const PLATE: i32 = 96;
    let mut y = at.y + 22;
    if y + PLATE < ink.window.0 {
        y += (ink.window.0 - y - PLATE) / WORDS_AGAIN * WORDS_AGAIN;
    }
    if at.bottom - at.y < PLATE + 24 && at.bottom - at.y > PLATE / 2 + 6 {
        ink.upward(
            "p-gap-short",
            x + width / 2 + 4,
            at.bottom - 8,
            "stale".to_string(),
        );
    }
    while y + PLATE < at.bottom && y < ink.window.1 {
        ink.rectangle(
            &at.class_at("p-gap-plate", y + PLATE / 2),
            x,
            y,
            width,
            PLATE,
        );
        ink.upward(
            &at.class_at("p-gap-word p-middle", y + PLATE / 2),
            x + width / 2 + 4,
            y + PLATE / 2,
            "stale holder".to_string(),
        );
        y += WORDS_AGAIN;
    }
}

/// A client's line in another stroke.
fn line(ink: &mut Ink, at: &At<'_>, class: &str) {
    let (top, bottom) = (
        at.y.max(ink.window.0 - 20),
        at.bottom.min(ink.window.1 + 20),
    );
    if bottom > top {
        let way = numbers(&[("M", at.x), (" ", top), ("V", bottom)]);
        ink.path("p-erased", way.clone());
        ink.path(class, way);
    }
}

fn paused(ink: &mut Ink, at: &At<'_>, point: LatchPoint, label: &str) {
    line(ink, at, "p-line p-line--paused");
    gate(ink, at.x, at.y, true);
    // Below the reply that is held there.
    let down = match point {
        LatchPoint::Before(_) => 4,
        LatchPoint::After(_) => 17,
    };
    let label = if at.is_narrow() {
        label.trim_start_matches("paused ")
    } else {
        label
    };
    ink.label("p-words", at.x + 14, at.y + down, label.to_string());
}

fn crashed(ink: &mut Ink, at: &At<'_>) {
    line(ink, at, "p-line p-line--crashed");
    cross(ink, at.x, at.y);
    ink.label(
        "p-word--rejected",
        at.x + 14,
        at.y + 5,
        "crashed".to_string(),
    );
}

fn waits(ink: &mut Ink, at: &At<'_>, label: &str) {
    line(ink, at, "p-line p-line--paused");
    ink.label("p-words", at.x + 14, at.y + 4, label.to_string());
}

fn carry(ink: &mut Ink, at: &At<'_>) {
    if at.bottom > at.y {
        ink.path(
            "p-thread",
            numbers(&[("M", at.x), (" ", at.y), ("V", at.bottom)]),
        );
    }
}

fn gate(ink: &mut Ink, x: i32, y: i32, closed: bool) {
    ink.circle(
        if closed {
            "p-gate p-gate--closed"
        } else {
            "p-gate"
        },
        x,
        y,
        8,
    );
    let bar = match closed {
        true => numbers(&[("M", x - 3), (" ", y), ("h", 7)]),
        false => numbers(&[("M", x - 3), (" ", y + 2), ("l", 5), (" ", -5)]),
    };
    ink.path("p-gate-bar", bar);
}

fn cross(ink: &mut Ink, x: i32, y: i32) {
    ink.path(
        "p-crash",
        numbers(&[("M", x - 5), (" ", y - 5)]) + "l10 10m0-10l-10 10",
    );
}

/// An arrow with a halo, from one point to another.
fn arrow(ink: &mut Ink, from: (i32, i32), to: (i32, i32), class: &str, head: &str) {
    let forward = if to.0 >= from.0 { 1 } else { -1 };
    ink.path(
        "p-under",
        numbers(&[
            ("M", from.0 + forward * 6),
            (" ", from.1),
            ("L", to.0 - forward * 8),
            (" ", to.1),
        ]),
    );
    ink.path(
        class,
        numbers(&[
            ("M", from.0),
            (" ", from.1),
            ("L", to.0 - forward * 7),
            (" ", to.1),
        ]),
    );
    ink.path(
        head,
        numbers(&[("M", to.0), (" ", to.1), ("l", -forward * 8)]) + " -3.6v7.2z",
    );
}

/// Words beside a lane, on the side where the other lane is.
fn words_towards(ink: &mut Ink, class: &str, x: i32, other: i32, y: i32, words: String) {
    match other >= x {
        true => ink.label(class, x + 9, y, words),
        false => ink.label(&(class.to_string() + " p-end"), x - 9, y, words),
    }
}

fn request(ink: &mut Ink, at: &At<'_>, part: &Part, way: Way) {
    let Some(to) = at.places.x(part.to) else {
        return;
    };
    if to == at.x {
        // A look at its own clock.
        ink.circle("p-dot", at.x, at.y, 3);
        return ink.label("p-mono", at.x + 9, at.y + 4, part.label.clone());
    }
    if part.lane == Lane::Operator {
        prompt(ink, at.x, at.y);
    }
    if part.token.is_some() {
        thread(ink, (at.x, at.y), (to - 8, at.bottom));
    }
    match way {
        Way::Straight | Way::Arriving => {
            arrow(ink, (at.x, at.y), (to, at.bottom), "p-message", "p-head");
        }
        Way::ArrivingLate => arrow(
            ink,
            (at.x, at.y),
            (to, at.bottom),
            "p-message p-message--lost",
            "p-head p-head--fault",
        ),
        Way::Delayed | Way::Lost => short_request(ink, at, to, way == Way::Lost),
    }
    let x = if part.lane == Lane::Operator {
        at.x - 6
    } else {
        at.x
    };
    words_towards(ink, "p-mono", x, to, at.y - 5, part.label.clone());
}

/// A request that does not come to its server: it stops at a bar where it stays under way, at a cross where it is lost.
fn short_request(ink: &mut Ink, at: &At<'_>, to: i32, lost: bool) {
    let stop = at.x + (to - at.x) * 3 / 5;
    let class = match lost {
        true => "p-message p-message--lost",
        false => "p-message",
    };
    ink.path(
        class,
        numbers(&[("M", at.x), (" ", at.y), ("L", stop), (" ", at.bottom)]),
    );
    if lost {
        return cross(ink, stop, at.bottom);
    }
    ink.path(
        "p-message",
        numbers(&[("M", stop), (" ", at.bottom - 5), ("v", 10)]),
    );
}

fn thread(ink: &mut Ink, from: (i32, i32), to: (i32, i32)) {
    ink.path(
        "p-thread",
        numbers(&[("M", from.0), (" ", from.1), ("L", to.0), (" ", to.1)]),
    );
}

fn prompt(ink: &mut Ink, x: i32, y: i32) {
    ink.rectangle("p-operator", x - 8, y - 8, 16, 16);
    ink.path(
        "p-operator-sign",
        numbers(&[("M", x - 4), (" ", y - 3)])
            + "l3 3-3 3M"
            + &numbers(&[("", x + 1), (" ", y + 3)])
            + "h4",
    );
}

fn reply(ink: &mut Ink, at: &At<'_>, part: &Part, fate: Fate, who: Who) {
    let Some(to) = at.places.x(part.to) else {
        return;
    };
    if to == at.x {
        return ink.label("p-mono", at.x + 9, at.bottom + 4, part.label.clone());
    }
    let back = if to < at.x { 1 } else { -1 };
    let label = || part.label.clone();
    match fate {
        Fate::Seen => {
            if part.token.is_some() {
                thread(ink, (at.x, at.y), (to, at.bottom));
            }
            arrow(
                ink,
                (at.x, at.y),
                (to, at.bottom),
                "p-message p-message--reply",
                "p-head p-head--reply",
            );
            if part.token.is_none() {
                let x = if who == Who::Operator {
                    to - 6 * back
                } else {
                    to
                };
                words_towards(ink, "p-mono", x, at.x, at.bottom - 5, label());
            }
        }
        Fate::Held | Fate::Delayed => {
            // It stops short of the client; the latch stands on the client's line.
            let stop = to + back * 22;
            ink.path(
                "p-message p-message--reply",
                numbers(&[("M", at.x), (" ", at.y), ("L", stop), (" ", at.bottom)]),
            );
            ink.path(
                "p-message",
                numbers(&[("M", stop), (" ", at.bottom - 5), ("v", 10)]),
            );
            words_towards(
                ink,
                "p-mono",
                stop,
                at.x,
                at.bottom - 5,
                label()
                    + if fate == Fate::Held {
                        " held"
                    } else {
                        " under way"
                    },
            );
        }
        Fate::Lost | Fate::Unseen => {
            let stop = to + (at.x - to) / 3;
            ink.path(
                "p-message p-message--reply p-message--lost",
                numbers(&[
                    ("M", at.x),
                    (" ", at.y),
                    ("L", stop + back * 8),
                    (" ", at.bottom),
                ]),
            );
            cross(ink, stop, at.bottom);
            ink.label(
                "p-word--rejected",
                stop + 12,
                at.bottom + 16,
                match fate {
                    Fate::Unseen => label() + ", for nobody",
                    _ => "reply lost".to_string(),
                },
            );
        }
    }
}

fn delivery(ink: &mut Ink, at: &At<'_>, part: &Part, lost: bool) {
    let Some(to) = at.places.x(part.to) else {
        return;
    };
    let back = if to < at.x { 1 } else { -1 };
    let from = if to == at.x { to + 40 } else { to + back * 40 };
    if lost {
        cross(ink, from, at.y);
        return ink.label(
            "p-word--rejected",
            from + 12,
            at.y + 4,
            "reply lost".to_string(),
        );
    }
    if part.token.is_some() {
        thread(ink, (from, at.y), (to, at.bottom));
    }
    arrow(
        ink,
        (from, at.y),
        (to, at.bottom),
        "p-message p-message--reply",
        "p-head p-head--reply",
    );
    if part.token.is_none() {
        words_towards(ink, "p-mono", to, from, at.bottom + 13, part.label.clone());
    }
}

/// Words beside a lane: to the right, or below to the left where the picture ends.
fn beside(ink: &mut Ink, at: &At<'_>, class: &str, label: &str) {
    match at.x + 9 + label.chars().count() as i32 * 7 <= at.places.width {
        true => ink.label(class, at.x + 9, at.y + 4, label.to_string()),
        false => ink.label(
            &(class.to_string() + " p-end"),
            at.x - 9,
            at.y + 16,
            label.to_string(),
        ),
    }
}

fn beside_store(ink: &mut Ink, at: &At<'_>, class: &str, label: &str) {
    ink.circle("p-dot", at.x, at.y, 3);
    ink.label(
        class,
        at.beside_store(),
        at.y + 4,
        words::shortened(label, if at.is_narrow() { 10 } else { 24 }),
    );
}

fn lease_ended(
    ink: &mut Ink,
    at: &At<'_>,
    holder: Holder,
    how: LeaseEnd,
    lock: usize,
    label: &str,
) {
    let right = at.lease_x(lock) + at.bar() + 4;
    if how == LeaseEnd::Released {
        // The end of the bar says it.
        return;
    }
    let from = match holder {
        Holder::Client(client) => at
            .places
            .x(Lane::Client(client))
            .map_or(at.x, |x| at.belief_x(x, lock)),
        Holder::Other => at.x,
    };
    ink.path(
        "p-lapse",
        numbers(&[("M", from), (" ", at.y), ("H", right)]),
    );
    let label = if at.is_narrow() {
        label.strip_prefix("lapsed ").unwrap_or(label)
    } else {
        label
    };
    ink.label("p-lapse-word", right + 4, at.y + 4, label.to_string());
}

fn deadline(ink: &mut Ink, at: &At<'_>, lock: usize) {
    let x = at.belief_x(at.x, lock);
    ink.path(
        "p-deadline",
        numbers(&[("M", x - 3), (" ", at.y), ("h", at.bar() + 6)]),
    );
}

fn belief_ended(ink: &mut Ink, at: &At<'_>, why: BeliefEnd, label: &str) {
    if why == BeliefEnd::Lost {
        ink.label("p-note", at.x + 9, at.y + 4, label.to_string());
    }
}

fn token(ink: &mut Ink, at: &At<'_>, number: i64, place: TokenPlace, label: &str) {
    let number = number.to_string();
    let x = match place {
        TokenPlace::Drawn => at.x,
        TokenPlace::Client => at.x + 2,
        TokenPlace::Row => at.x - 22,
    };
    let half = (number.len() as i32 * 4 + 5).max(9);
    let way = numbers(&[("M", x - half + 8), (" ", at.y - 8), ("h", 2 * half - 16)])
        + "a8 8 0 0 1 0 16"
        + &numbers(&[("h", 16 - 2 * half)])
        + "a8 8 0 0 1 0-16z";
    ink.path("p-token", way);
    ink.text("p-token-number", x, at.y + 4, number.clone());
    if place == TokenPlace::Drawn && !at.is_narrow() && label != number {
        let x = at.beside_store()
            + if ink.calls.contains(&at.y) {
                BEHIND_CALL
            } else {
                0
            };
        ink.label("p-mono", x, at.y + 4, label.to_string());
    }
}

/// How far to the right the counter's change stands where the name of the command that a script called stands before it.
const BEHIND_CALL: i32 = 46;

fn key(ink: &mut Ink, at: &At<'_>, who: Option<Who>, label: &str) {
    ink.path(
        "p-dot",
        numbers(&[("M", at.x), (" ", at.y - 5)]) + "l5 5-5 5-5 -5z",
    );
    let x = at.beside_store()
        + if ink.calls.contains(&at.y) {
            BEHIND_CALL
        } else {
            0
        };
    // The operator's arrow comes from the right: the words stand above it.
    let up = if who == Some(Who::Operator) { 10 } else { 0 };
    ink.label(
        "p-mono",
        x,
        at.y + 4 - up,
        words::shortened(label, if at.is_narrow() { 10 } else { 26 }),
    );
}

fn write(ink: &mut Ink, at: &At<'_>, verdict: &WriteVerdict, label: &str, details: &[String]) {
    let (kind, class) = match verdict {
        WriteVerdict::Accepted => (Mark::Accepted, "p-word--accepted"),
        WriteVerdict::StaleAccepted => (Mark::Stale, "p-word--stale"),
        WriteVerdict::Rejected(_) | WriteVerdict::StaleRejected(_) => {
            (Mark::Rejected, "p-word--rejected")
        }
        WriteVerdict::Unjudged => (Mark::None, "p-words"),
    };
    let (beside, indent) = if at.is_narrow() { (15, 29) } else { (17, 33) };
    let room = |x: i32| ((at.places.width - x - 4) / 7).max(6) as usize;
    let (x, below) = (at.x + indent, at.x + 9);
    let lines = in_two_lines(label, room(x));
    let mut y = at.y + if lines.len() > 1 { -3 } else { 3 };
    mark(
        ink,
        at.x + beside,
        at.y + if lines.len() > 1 { 3 } else { 6 },
        kind,
    );
    for line in &lines {
        ink.label(class, x, y, words::shortened(line, room(x)));
        y += 13;
    }
    for detail in details {
        // Beside the mark there is less room than below it.
        let (x, lower) = if y < at.y + 18 { (x, 0) } else { (below, 2) };
        ink.label("p-mono", x, y + lower, shorter_name(detail, room(x)));
        y += 13;
    }
}

/// A verdict in one line, or in two where it does not fit.
fn in_two_lines(label: &str, room: usize) -> Vec<&str> {
    let spaces = label.char_indices().filter(|(_, letter)| *letter == ' ');
    let cut = spaces
        .map(|(place, _)| place)
        .rfind(|place| *place <= room.max(11));
    match cut {
        Some(cut) if label.chars().count() > room.min(16) => vec![&label[..cut], &label[cut + 1..]],
        _ => vec![label],
    }
}

/// `fence_token 1 → 2` with so much of the name as there is room for.
fn shorter_name(detail: &str, room: usize) -> String {
    let Some((name, change)) = detail.split_once(' ') else {
        return words::shortened(detail, room);
    };
    let left = room.saturating_sub(change.chars().count() + 1);
    match name.chars().count() <= left {
        true => detail.to_string(),
        false if left < 3 => change.to_string(),
        false => words::shortened(name, left - 1) + " " + change,
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    Accepted,
    Rejected,
    Stale,
    None,
}

fn mark(ink: &mut Ink, x: i32, y: i32, kind: Mark) {
    match kind {
        Mark::Accepted => {
            ink.circle("p-mark-ground p-mark--accepted", x, y, 9);
            ink.path(
                "p-mark p-mark--accepted",
                numbers(&[("M", x - 4), (" ", y)]) + "l3 3.4 5.2-6.6",
            );
        }
        Mark::Rejected => {
            ink.rectangle("p-mark-ground p-mark--rejected", x - 8, y - 8, 17, 17);
            ink.path(
                "p-mark p-mark--rejected",
                numbers(&[("M", x - 4), (" ", y - 4)]) + "l8 8m0-8l-8 8",
            );
        }
        Mark::Stale => {
            ink.path(
                "p-mark p-mark--stale",
                numbers(&[("M", x), (" ", y - 12)]) + "l12 21h-24z",
            );
            ink.path(
                "p-mark-bang",
                numbers(&[("M", x), (" ", y - 4)])
                    + "v6"
                    + &numbers(&[("M", x), (" ", y + 6)])
                    + "v.1",
            );
        }
        Mark::None => ink.circle("p-dot", x, y, 3),
    }
}

fn fault(ink: &mut Ink, at: &At<'_>, part: &Part) {
    prompt(ink, at.x, at.y);
    if let Some(to) = at.places.x(part.to).filter(|to| *to != at.x) {
        arrow(
            ink,
            (at.x, at.y),
            (to, at.y + 4),
            "p-message p-message--lost",
            "p-head p-head--fault",
        );
        words_towards(
            ink,
            "p-word--rejected",
            at.x - 6,
            to,
            at.y - 6,
            part.label.clone(),
        );
    } else {
        ink.label("p-word--rejected", at.x + 12, at.y + 4, part.label.clone());
    }
}

fn latch(ink: &mut Ink, at: &At<'_>, change: LatchChange, label: &str) {
    gate(ink, at.x, at.y, change == LatchChange::Set);
    ink.label("p-words", at.x + 14, at.y + 4, label.to_string());
}

fn ran(ink: &mut Ink, at: &At<'_>, run: &Run, label: &str) {
    match run {
        Run::Started(_) => {}
        Run::Finished => ink.label("p-note", at.x + 9, at.y + 4, label.to_string()),
        Run::Stopped(_) | Run::Aborted(_) => {
            ink.label("p-word--rejected", at.x + 9, at.y + 4, label.to_string())
        }
    }
}

fn refused(ink: &mut Ink, at: &At<'_>, label: &str) {
    cross(ink, at.x, at.y);
    ink.label("p-word--rejected", at.x + 14, at.y + 4, label.to_string());
}

/// A client's shape and letter, as a head of its lane.
pub fn client_badge(ink: &mut Ink, x: i32, y: i32, client: ClientId, name: &str, narrow: bool) {
    let number = hue_number(client);
    let class = "p-badge ".to_string() + &super::hue(client);
    let corners = |points: &str| numbers(&[("M", x), (" ", y)]) + points;
    match number {
        1 => ink.circle(&class, x, y, 10),
        2 => ink.rectangle(&class, x - 10, y - 10, 20, 20),
        3 => ink.path_in(class, corners("m0-12l12 12-12 12-12-12z")),
        4 => ink.path_in(class, corners("m-6-10h12l6 10-6 10h-12l-6-10z")),
        5 => ink.path_in(class, corners("m-10 10v-10a10 10 0 0 1 20 0v10z")),
        _ => ink.path_in(class, corners("m-10-10h20v13l-10 8-10-8z")),
    }
    let letter = words::initial(name);
    ink.text("p-badge-letter", x, y + 4, letter);
    if name.chars().count() > 1 {
        ink.text(
            "p-lane-note",
            x + 14,
            y + 4,
            words::shortened(name, if narrow { 5 } else { 8 }),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::free_stretch;

    #[test]
    fn words_within_a_bar_make_way_for_what_crosses_it() {
        assert_eq!(free_stretch(&[], 0, 50, 50), Some(0));
        assert_eq!(free_stretch(&[30], 0, 100, 50), Some(35));
        assert_eq!(free_stretch(&[30, 60], 0, 100, 50), None);
        assert_eq!(free_stretch(&[30, 60], 0, 115, 50), Some(65));
        assert_eq!(free_stretch(&[90], 0, 100, 50), Some(0));
        assert_eq!(free_stretch(&[], 0, 49, 50), None, "shorter than the words");
    }
}
