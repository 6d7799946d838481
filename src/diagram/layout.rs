//! Where things stand: the rows downward, the lanes side by side.
//!
//! A row is as high as what its action caused needs: a latch is a low row, a request with its reply a higher one. Within a row the
//! events go downward in their order. A row of the clock is a gap in which each lapse stands where its time falls:
//!
//! ```text
//! clock +10001ms   ┄┄┄┄┄┄┄┄┄┄┄┄┄
//!                  ─ 4000  B wakes
//!
//!                  ─ 10001 A's lease lapses
//!                  ┄┄┄┄┄┄┄┄┄┄┄┄┄
//! ```

use crate::property::LedgerEntry;
use crate::sim::action::{ClientId, LatchPoint, Who};
use crate::sim::event::{Event, Fact};
use crate::timeline::Entry;

use super::part::Lane;

/// The room above the first row.
pub(super) const HEAD: i32 = 6;

/// How many commands of a script, or rows of a statement, are drawn one by one; what is beyond is counted.
pub(super) const MOST_DRAWN: usize = 8;

const QUIET_TOP: i32 = 17;
const TOP: i32 = 22;
const BOTTOM: i32 = 19;
const GAP_EDGE: i32 = 12;
const GAP_LEAST: i32 = 46;
/// The least distance of two moments within a gap, and of all together.
const APART: i32 = 14;
const APART_IN_ALL: i32 = 600;
/// The room of one write's words.
pub(super) const WRITE: i32 = 16;

/// Where the events of one action stand.
pub(super) struct Placed {
    /// The row's height.
    pub height: i32,
    /// Where each event stands.
    pub events: Vec<i32>,
    /// Where each tick stands.
    pub ticks: Vec<i32>,
}

/// Events of one instant, one below the other.
struct Moment {
    at: u64,
    height: i32,
    y: i32,
}

/// Places the events of one action in a row that begins at `top`. `ticks` are further times that have to be shown, in order,
/// each within the time that passes.
pub(super) fn place(top: i32, entry: &Entry, ticks: &[u64]) -> Placed {
    let events = &entry.events;
    match events.first() {
        Some(Event {
            at,
            fact: Fact::TimePassed { milliseconds },
        }) => place_in_gap(top, (*at, *milliseconds), entry, ticks),
        _ => {
            let quiet = !events
                .iter()
                .any(|event| matches!(event.fact, Fact::Sent { .. }));
            let start = top + if quiet { QUIET_TOP } else { TOP };
            let (below, height) = stack(entry, 0..events.len());
            Placed {
                height: start + height + BOTTOM - top,
                events: below.into_iter().map(|y| start + y).collect(),
                ticks: Vec::new(),
            }
        }
    }
}

fn place_in_gap(
    top: i32,
    (start, milliseconds): (u64, u64),
    entry: &Entry,
    ticks: &[u64],
) -> Placed {
    let events = &entry.events;
    let mut moments: Vec<Moment> = Vec::new();
    let mut times: Vec<u64> = events
        .iter()
        .skip(1)
        .map(|event| event.at)
        .chain(ticks.iter().copied())
        .collect();
    crate::sorted::sort(&mut times);
    times.dedup();
    let mut below = vec![0; events.len()];
    for at in times {
        let first = events.partition_point(|event| event.at < at).max(1);
        let end = events.partition_point(|event| event.at <= at).max(first);
        let (ys, height) = stack(entry, first..end);
        below[first..end].copy_from_slice(&ys);
        moments.push(Moment { at, height, y: 0 });
    }
    let inner = spread(&mut moments, top + GAP_EDGE, start, milliseconds);
    let y_of = |at: u64| {
        let place = moments.partition_point(|moment| moment.at < at);
        moments.get(place).map_or(top, |moment| moment.y)
    };
    let mut ys: Vec<i32> = events
        .iter()
        .zip(below)
        .map(|(event, below)| y_of(event.at) + below)
        .collect();
    ys[0] = top;
    Placed {
        height: inner + 2 * GAP_EDGE,
        events: ys,
        ticks: ticks.iter().map(|at| y_of(*at)).collect(),
    }
}

/// Puts each moment where its time falls between `top` and the height that it gives back, in order and apart.
fn spread(moments: &mut [Moment], top: i32, start: u64, milliseconds: u64) -> i32 {
    let count = i32::try_from(moments.len()).unwrap_or(i32::MAX);
    let apart = APART.min(APART_IN_ALL / count.max(1));
    let needed: i32 = moments.iter().map(|moment| moment.height + apart).sum();
    let inner = GAP_LEAST.max(needed - apart);
    let mut least = top;
    for moment in moments.iter_mut() {
        let share = (moment.at - start).saturating_mul(inner as u64) / milliseconds.max(1);
        moment.y = least.max(top + share as i32);
        least = moment.y + moment.height + apart;
    }
    let mut most = top + inner;
    for moment in moments.iter_mut().rev() {
        moment.y = moment.y.min(most - moment.height);
        most = moment.y - apart;
    }
    inner
}

/// Stacks the events of one moment: where each stands below the first, and how high all are.
fn stack(entry: &Entry, range: std::ops::Range<usize>) -> (Vec<i32>, i32) {
    let (mut y, mut first, mut calls, mut at_call) = (0, true, 0, false);
    let mut ys = Vec::with_capacity(range.len());
    for place in range.clone() {
        let is_call = matches!(entry.events[place].fact, Fact::ScriptCalled { .. });
        // Looked at once for each run of changes, as there may be many.
        let goes_on = place > range.start && is_change(&entry.events[place - 1]);
        let begins_call =
            !at_call && (is_call || !goes_on && is_change_of_call(&entry.events[place..range.end]));
        calls += usize::from(begins_call);
        at_call = (at_call || begins_call) && !is_call;
        let (lead, height) = match begins_call {
            true if calls <= MOST_DRAWN + 1 => (13, 0),
            true => (0, 0),
            false => room(entry, place),
        };
        if first && lead + height > 0 && !begins_call {
            first = false;
        } else {
            y += lead;
        }
        ys.push(y);
        y += height;
    }
    (ys, y)
}

/// Whether the first of these events is what a command did to a key that a script called and that is told next.
fn is_change_of_call(events: &[Event]) -> bool {
    let changes = events.iter().take_while(|event| is_change(event)).count();
    let next = events.get(changes).map(|event| &event.fact);
    changes > 0 && matches!(next, Some(Fact::ScriptCalled { .. }))
}

fn is_change(event: &Event) -> bool {
    matches!(
        event.fact,
        Fact::KeyChanged { .. } | Fact::BeliefEnded { .. }
    )
}

/// How much room an event takes, above it and for itself.
fn room(entry: &Entry, place: usize) -> (i32, i32) {
    let events = &entry.events;
    match &events[place].fact {
        Fact::Sent { .. } | Fact::Arrived { .. } => (12, 5),
        Fact::Waits { .. } => (8, 0),
        Fact::Wrote { who, .. } => (0, WRITE * judged_of(&entry.ledger, *who).max(1)),
        Fact::Committed { who } if !wrote_before(events, place, *who) => {
            (0, WRITE * (1 + judged_of(&entry.ledger, *who)))
        }
        Fact::RolledBack { .. } => (0, WRITE),
        Fact::Charged { .. } | Fact::ChargeRepeated { .. } | Fact::Refunded { .. } => (0, 6),
        Fact::Answered { .. } | Fact::AnsweredNobody { .. } | Fact::Messaged { .. } => (15, 5),
        Fact::Saw { client, step, .. } if !is_answered_before(events, place, *client, *step) => {
            (8, 5)
        }
        Fact::LatchSet { client, at } if pauses_at_once(events, place, *client, *at) => (0, 0),
        // The reply's arrow ends at this latch.
        Fact::Paused {
            at: LatchPoint::After(_),
            ..
        } => (0, 0),
        Fact::LatchSet { .. }
        | Fact::LatchRemoved { .. }
        | Fact::Paused { .. }
        | Fact::Resumed { .. }
        | Fact::Crashed { .. }
        | Fact::Started { .. }
        | Fact::Slept { .. }
        | Fact::Woke { .. }
        | Fact::Aborted { .. }
        | Fact::ClockRateSet { .. }
        | Fact::TimedOut { .. }
        | Fact::ServerCrashed { .. }
        | Fact::ServerRestarted { .. }
        | Fact::Unreachable { .. }
        | Fact::Replicated { .. }
        | Fact::FailedOver { .. }
        | Fact::Voted { .. }
        | Fact::CameTooLate { .. }
        | Fact::Ended { .. } => (14, 0),
        _ => (0, 0),
    }
}

/// How many lines somebody's judged writes take.
fn judged_of(ledger: &[LedgerEntry], who: Who) -> i32 {
    ledger
        .iter()
        .filter(|entry| entry.who == who)
        .take(MOST_DRAWN + 1)
        .count() as i32
}

/// Whether the writes that a commit makes count were told by the same action: a statement outside of a transaction.
pub(super) fn wrote_before(events: &[Event], place: usize, who: Who) -> bool {
    events[..place]
        .iter()
        .any(|event| matches!(&event.fact, Fact::Wrote { who: of, .. } if *of == who))
}

/// Whether the reply that is seen here was made by the same action, so that its arrow is one.
pub(super) fn is_answered_before(
    events: &[Event],
    place: usize,
    client: ClientId,
    step: usize,
) -> bool {
    let asking = Who::Client(client);
    events[..place].iter().rev().any(|event| {
        matches!(&event.fact, Fact::Answered { who, step: of, .. } if *who == asking && *of == Some(step))
    })
}

/// Whether the client stands where the latch is put, so that the pause says it all.
pub(super) fn pauses_at_once(
    events: &[Event],
    place: usize,
    client: ClientId,
    at: LatchPoint,
) -> bool {
    events
        .get(place + 1)
        .is_some_and(|event| event.fact == Fact::Paused { client, at })
}

/// Where the lanes stand in a picture of some width. Rows do not depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanePlaces {
    /// The width, which is more than was asked for when the lanes need more.
    pub width: i32,
    /// The width of the axis at the left.
    pub axis: i32,
    /// Each lane, and where its line stands.
    pub lanes: Vec<(Lane, i32)>,
    /// The width of a bar.
    pub bar: i32,
}

impl LanePlaces {
    /// Shares a width among the lanes; the store takes more for each further lock.
    pub fn new(lanes: &[Lane], locks: usize, width: i32) -> LanePlaces {
        let narrow = width < 520;
        let (axis, bar) = if narrow { (30, 18) } else { (74, 22) };
        let further_locks = i32::try_from(locks.saturating_sub(1))
            .unwrap_or(i32::MAX)
            .min(100);
        // In tenths: how many units a lane takes, and how much of it lies left of its line.
        let share = |lane: Lane| match lane {
            Lane::Client(_) => (10 + 3 * further_locks, 4 + 3 * further_locks),
            Lane::Store(_) => (13 + 3 * further_locks, 5),
            Lane::Table => (14, 5),
            Lane::Gateway => (11, 4),
            Lane::Operator => (8, 4),
        };
        // Where the last lane's line stands in tenths, and the room that the words right of it need.
        let all: i32 = lanes.iter().map(|lane| share(*lane).0).sum::<i32>().max(1);
        let (last, beyond) = lanes.last().map_or((1, 0), |last| {
            let (own, left) = share(*last);
            (all - own + left, room_right_of(*last, narrow))
        });
        let fits = (width - axis).min((width - axis - beyond) * all / last);
        let room = fits.max(all * UNIT_LEAST / 10);
        let mut tenths = 0;
        let places = lanes
            .iter()
            .map(|lane| {
                let (own, left) = share(*lane);
                let x = axis + room * (tenths + left) / all;
                tenths += own;
                (*lane, x)
            })
            .collect();
        LanePlaces {
            width: width
                .max(axis + room)
                .max(axis + room * last / all + beyond),
            axis,
            lanes: places,
            bar,
        }
    }

    /// Whether there is only so much room as on a phone: words are shorter, and times are left out.
    pub fn is_narrow(&self) -> bool {
        self.axis < 40
    }

    /// Where a lane's line stands; `None`: the picture has no such lane.
    pub fn x(&self, lane: Lane) -> Option<i32> {
        self.lanes
            .iter()
            .find(|(other, _)| *other == lane)
            .map(|(_, x)| *x)
    }
}

/// The least room of a lane, in pixels: more lanes than fit are reached by scrolling.
const UNIT_LEAST: i32 = 70;

/// The room that words right of the last lane need, in pixels.
fn room_right_of(lane: Lane, narrow: bool) -> i32 {
    match (lane, narrow) {
        (Lane::Table, false) => 152,
        (Lane::Table, true) => 104,
        (Lane::Store(_), false) => 180,
        (Lane::Store(_), true) | (Lane::Client(_), _) => 110,
        (Lane::Gateway, _) => 84,
        (Lane::Operator, _) => 40,
    }
}
