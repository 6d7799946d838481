//! The space-time picture as plain numbers: what happened from left to right, time downward.
//!
//! Each action of the schedule is a row, each client and server a lane. Where the clock moves, the axis is torn, and what time
//! did stands within the gap in its order. Nothing here knows the browser: lanes are named, heights are numbers, and the page
//! draws them.
//!
//! ```text
//!  time        A                       B            store            inventory
//!  0.000       ├─ SET NX ─────────────────────────▶ ┃                   │
//!              ┃◀─ OK ─────────────────────────────  ┃ lease of A        │     Belief | Lease
//!              ⊖ paused before token    │            ┃                   │     Paused
//!  ~~~~~~~~~~~~▒~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~┻ lapsed ~~~~~~~~~~~~~     Gap | LeaseEnded
//!  10.001      ▒                        ├─ SET NX ─▶ ┃ lease of B        │
//!              ▒ stale holder           ┃◀─ OK ───   ┃                   │
//! ```
//!
//! A [`Diagram`] grows by one action at a time, at the price of what that action caused, and forgets actions from the end; it never
//! looks at the whole schedule again. [`Diagram::visible`] gives what a window shows. The page draws it so:
//!
//! ```
//! # use latchkey::diagram::{Diagram, Kind, LanePlaces};
//! # use latchkey::{scenario, timeline::Timeline};
//! # let text = "watch lock l\n\nprotocol p\n  take: SET l {me} NX PX 1000\n    on OK: holds l for 1000ms\n\nclient A: p\n\nschedule\n  A take\n";
//! # let reading = scenario::read(text).unwrap();
//! # let timeline = Timeline::replay(reading.setup, reading.schedule.into_iter().map(|line| line.action));
//! # let (setup, panel_width, scroll_top, panel_height) = (timeline.setup(), 640, 0, 500);
//! let mut diagram = Diagram::new(setup);
//! for entry in timeline.entries() {
//!     diagram.extend(setup, entry); // afterwards once for each action pushed; truncate() when some are taken away
//! }
//! let places = LanePlaces::new(&diagram.lanes(), diagram.locks().len(), panel_width);
//! let picture = diagram.visible(scroll_top, scroll_top + panel_height, timeline.len());
//! for row in &picture.rows {
//!     // A hit target from row.top, row.height high, with row.label as its name; row.time stands at the axis where it is new.
//! }
//! for shown in &picture.parts {
//!     // In drawing order, keyed by shown.key(); drawn faint where shown.faint.
//!     let x = places.x(shown.part.lane);
//!     let to_x = places.x(shown.part.to);
//!     match &shown.part.kind {
//!         Kind::Lease { .. } => {}   // a bar at x from shown.top to shown.bottom, shown.part.label along it
//!         Kind::Request { .. } => {} // an arrow from (x, shown.top) to (to_x, shown.bottom), gilded where part.token is some
//!         _ => {}                    // a mark at (x, shown.top), shown.part.label beside it
//!     }
//!     let tooltip = diagram.sentence(setup, shown.id);
//!     let lit_while_hovered = diagram.related(shown.id);
//! }
//! // The picture is picture.height high, and the cursor's line stands at picture.cursor_y.
//! let for_screen_readers = diagram.as_table(setup, 0..timeline.len());
//! # assert_eq!(for_screen_readers[0].what, "A sent take to the store: SET l A-1 NX PX 1000.");
//! ```

mod draw;
mod layout;
mod part;
mod sentence;
mod table;
mod why;
mod words;

use std::hash::{Hash, Hasher};

use crate::sim::action::{ClientId, ServerId, Who};
use crate::sim::client::protocol::{Argument, Request, Step};
use crate::sim::setup::Setup;
use crate::sorted::{SortedMap, SortedSet};
use crate::timeline::Entry;

pub use layout::LanePlaces;
pub use part::{
    End, Ended, Fate, Fault, Holder, KeyMark, Kind, Lane, LatchChange, LeaseEnd, Part, PartId, Run,
    TokenPlace, Way, WriteVerdict,
};
pub use table::TableRow;

/// After how many rows it is written down again which bars are open, so that a window finds them.
const CHECKPOINT_EVERY: usize = 32;

/// How many parts [`Diagram::related`] gives at most.
pub const MOST_RELATED: usize = 500;

/// The picture of a schedule, as far as it has been told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagram {
    clients: usize,
    locks: Vec<Vec<u8>>,
    /// How many of the locks were known from the start, so that their leases are.
    tracked: usize,
    /// For each of them: the servers whose majority makes a holder.
    counting: Vec<Vec<ServerId>>,
    servers: usize,
    counters: Vec<Vec<u8>>,
    uses_gateway: bool,
    uses_table: bool,
    first_at_table: Option<usize>,
    first_at_gateway: Option<usize>,
    first_operator: Option<usize>,
    rows: Vec<Row>,
    parts: Vec<Part>,
    /// What each part brought about, in the order in which it was drawn.
    effects: Vec<Vec<PartId>>,
    /// What later events go on with: open bars, requests without a reply, tokens under way.
    open: SortedMap<Slot, PartId>,
    /// How to take changes to `open` and to earlier parts back, in order.
    undo: Vec<Undo>,
    /// The open parts before every [`CHECKPOINT_EVERY`]th row.
    checkpoints: Vec<Vec<PartId>>,
}

/// What an action's row holds.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    top: i32,
    height: i32,
    /// When the action began.
    at: u64,
    /// Whether that is later than when the action before began.
    is_new_time: bool,
    kind: RowKind,
    label: String,
    // How many there were before it.
    parts: usize,
    undo: usize,
    locks: usize,
}

/// What kind of row it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowKind {
    /// An ordinary action.
    Action,
    /// Time passes: a tear in the axis.
    Clock {
        /// How much, in milliseconds.
        milliseconds: u64,
    },
    /// A stale holder's write was accepted.
    Stale,
    /// The action was not possible.
    Refused,
}

/// What later events go on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Slot {
    Lease(usize, ServerId),
    Belief(ClientId, usize),
    Gap(ClientId, usize),
    Paused(ClientId),
    Crashed(ClientId),
    Sleep(ClientId),
    /// Whether it is a step, or typed at a console.
    Wait(Who, bool),
    /// A request without a reply; whether it is a step.
    Asked(Who, bool),
    /// A request of which the client has given up the reply: of which step.
    GivenUp(ClientId, usize),
    /// Such a request that has come to its server.
    Late(ClientId),
    /// The last write of a transaction that has not ended.
    Wrote(Who),
    /// A reply at a latch.
    Held(ClientId),
    /// A token that was drawn and not seen: from which counter.
    Drawn(ClientId, usize),
    /// The last token that the client was handed, by counter; one further place for those that come from no watched counter.
    Carry(ClientId, usize),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Undo {
    Open(Slot, Option<PartId>),
    End(PartId, Option<End>),
    Token(PartId, Option<i64>),
}

/// What a window of the picture shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The rows, from the top.
    pub rows: Vec<RowShown>,
    /// The parts: bars, then arrows, then marks, so that those drawn later stand on top.
    pub parts: Vec<Shown>,
    /// Where the cursor's line stands: below the actions that have been done.
    pub cursor_y: i32,
    /// The height of the whole picture.
    pub height: i32,
}

/// A row in a window.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RowShown {
    /// The place of its action in the schedule, from 0.
    pub action: usize,
    /// Where it begins.
    pub top: i32,
    /// How high it is.
    pub height: i32,
    /// What it is.
    pub kind: RowKind,
    /// The time at its top for the axis, in seconds: `10.001`; `None` where it is the same as in the row before.
    pub time: Option<String>,
    /// The action and its reply in a few words: `A acquire, reply OK`.
    pub label: String,
    /// Whether it comes after the cursor.
    pub faint: bool,
}

/// A part in a window.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shown {
    /// Which part.
    pub id: PartId,
    /// Where it begins, which may be above the window.
    pub top: i32,
    /// Where it ends, which may be below the window.
    pub bottom: i32,
    /// Whether it comes after the cursor. A bar that the cursor's line crosses is not faint above it.
    pub faint: bool,
    /// The part.
    pub part: Part,
}

impl Shown {
    /// A key for keyed lists: another one as soon as something about the part has to be drawn anew.
    pub fn key(&self) -> u64 {
        let mut hasher = std::hash::DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

impl Diagram {
    /// The picture before the first action: lanes, and the locks and counters that are there already.
    pub fn new(setup: &Setup) -> Diagram {
        let mut diagram = Diagram {
            clients: setup.clients.len(),
            locks: Vec::new(),
            tracked: 0,
            counting: Vec::new(),
            servers: setup.server_count(),
            counters: Vec::new(),
            uses_gateway: false,
            uses_table: !setup.statements.is_empty(),
            first_at_table: None,
            first_at_gateway: None,
            first_operator: None,
            rows: Vec::new(),
            parts: Vec::new(),
            effects: Vec::new(),
            open: SortedMap::new(),
            undo: Vec::new(),
            checkpoints: Vec::new(),
        };
        for watch in &setup.watches {
            watch.lock.iter().for_each(|key| {
                diagram.lock(key);
            });
            diagram.counters.extend(
                watch
                    .counter
                    .clone()
                    .filter(|key| !diagram.counters.contains(key)),
            );
        }
        let steps = || setup.protocols.iter().flat_map(|protocol| &protocol.steps);
        diagram.uses_gateway = steps().any(|step| matches!(step.request, Request::Gateway(_)));
        diagram.uses_table |= steps().any(|step| matches!(step.request, Request::Database(_)));
        for lock in steps().flat_map(Step::locks) {
            if let Argument::Literal(key) = lock {
                diagram.lock(key);
            }
        }
        draw::presets(&mut diagram, setup);
        diagram
    }

    /// Draws one more action at the end, with what it caused.
    pub fn extend(&mut self, setup: &Setup, entry: &Entry) {
        if self.rows.len().is_multiple_of(CHECKPOINT_EVERY) {
            self.checkpoints.push(self.open.values().copied().collect());
        }
        draw::action(self, setup, entry);
    }

    /// Forgets all actions from this place on.
    pub fn truncate(&mut self, actions: usize) {
        let Some(row) = self.rows.get(actions) else {
            return;
        };
        let (parts, undo, locks) = (row.parts, row.undo, row.locks);
        for change in self.undo.drain(undo..).rev() {
            match change {
                Undo::Open(slot, Some(part)) => {
                    self.open.insert(slot, part);
                }
                Undo::Open(slot, None) => {
                    self.open.remove(&slot);
                }
                Undo::End(part, end) => self.parts[part.0 as usize].end = end,
                Undo::Token(part, token) => self.parts[part.0 as usize].token = token,
            }
        }
        for part in self.parts.drain(parts..).rev() {
            for cause in part.causes {
                self.effects[cause.0 as usize].pop();
            }
        }
        self.effects.truncate(parts);
        self.locks.truncate(locks);
        self.rows.truncate(actions);
        self.checkpoints
            .truncate(actions.div_ceil(CHECKPOINT_EVERY));
        self.first_at_table = self.first_at_table.filter(|first| *first < actions);
        self.first_at_gateway = self.first_at_gateway.filter(|first| *first < actions);
        self.first_operator = self.first_operator.filter(|first| *first < actions);
    }

    /// How many actions it shows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether it shows no action.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The lanes from left to right: the clients, the store, the tables and the gateway where the scenario uses them, and the operator
    /// once there is something of theirs to draw.
    pub fn lanes(&self) -> Vec<Lane> {
        let mut lanes: Vec<Lane> = (0..self.clients)
            .map(|place| Lane::Client(ClientId(place)))
            .collect();
        lanes.extend((0..self.servers).map(|place| Lane::Store(ServerId(place))));
        if self.uses_table || self.first_at_table.is_some() {
            lanes.push(Lane::Table);
        }
        if self.uses_gateway || self.first_at_gateway.is_some() {
            lanes.push(Lane::Gateway);
        }
        if self.first_operator.is_some() {
            lanes.push(Lane::Operator);
        }
        lanes
    }

    /// The locks that have a column for their leases: those that are watched, those that a step's `holds` names, and those that a
    /// client came to believe in.
    pub fn locks(&self) -> &[Vec<u8>] {
        &self.locks
    }

    /// All parts in the order in which they were drawn.
    pub fn parts(&self) -> impl Iterator<Item = (PartId, &Part)> {
        self.parts
            .iter()
            .enumerate()
            .map(|(place, part)| (PartId(place as u32), part))
    }

    /// The part with this id, if it is still there.
    pub fn part(&self, id: PartId) -> Option<&Part> {
        self.parts.get(id.0 as usize)
    }

    /// How high the first so many actions are; all of them when there are fewer.
    pub fn height(&self, actions: usize) -> i32 {
        let last = self.rows.get(..actions).unwrap_or(&self.rows).last();
        last.map_or(layout::HEAD, |row| row.top + row.height)
    }

    /// Where the row of this action begins and ends.
    pub fn row_of(&self, action: usize) -> Option<(i32, i32)> {
        self.rows
            .get(action)
            .map(|row| (row.top, row.top + row.height))
    }

    /// Which action's row is at this height: the first above the first row, the last below the last; `None` without any.
    pub fn action_at(&self, y: i32) -> Option<usize> {
        let below = self.rows.partition_point(|row| row.top <= y);
        (!self.rows.is_empty()).then(|| below.saturating_sub(1))
    }

    /// What stands between two heights when the cursor stands behind so many actions. The price is what is shown, and at most
    /// a few rows more.
    pub fn visible(&self, from_y: i32, to_y: i32, cursor: usize) -> Picture {
        let height = self.height(self.rows.len());
        let first = self
            .rows
            .partition_point(|row| row.top + row.height < from_y);
        let end = self.rows.partition_point(|row| row.top <= to_y).max(first);
        let mut parts: Vec<Shown> = self
            .candidates(first, end)
            .filter_map(|id| {
                let part = self.part(id)?;
                let (top, bottom) = (part.top, part.bottom_in(height));
                (top <= to_y && bottom >= from_y).then(|| Shown {
                    id,
                    top,
                    bottom,
                    faint: part.action.is_some_and(|action| action >= cursor),
                    part: part.clone(),
                })
            })
            .collect();
        crate::sorted::sort_by_key(&mut parts, |shown| {
            (!shown.part.is_bar(), !shown.part.is_arrow(), shown.id)
        });
        Picture {
            rows: (first..end)
                .map(|action| self.row_shown(action, cursor))
                .collect(),
            parts,
            cursor_y: self.height(cursor),
            height,
        }
    }

    /// Every part that may stand in these rows: what was open at the checkpoint before, and all that was drawn since.
    fn candidates(&self, first: usize, end: usize) -> impl Iterator<Item = PartId> {
        let checkpoint = first / CHECKPOINT_EVERY;
        let parts_before =
            |row: usize| self.rows.get(row).map_or(self.parts.len(), |row| row.parts);
        let from = match checkpoint {
            0 => 0,
            checkpoint => parts_before(checkpoint * CHECKPOINT_EVERY),
        };
        let open = match checkpoint {
            0 => &[][..],
            checkpoint => self
                .checkpoints
                .get(checkpoint)
                .map_or(&[][..], Vec::as_slice),
        };
        let open: SortedSet<PartId> = open.iter().copied().collect();
        open.into_iter()
            .chain((from..parts_before(end)).map(|place| PartId(place as u32)))
    }

    fn row_shown(&self, action: usize, cursor: usize) -> RowShown {
        let row = &self.rows[action];
        RowShown {
            action,
            top: row.top,
            height: row.height,
            kind: row.kind,
            time: row.is_new_time.then(|| crate::words::seconds(row.at)),
            label: row.label.clone(),
            faint: action >= cursor,
        }
    }

    /// A part's causes and their causes, its effects and theirs, and itself, in the order in which they were drawn; from a
    /// request over the lease and the reply to the belief, the gap and the stale write. At most [`MOST_RELATED`].
    pub fn related(&self, part: PartId) -> Vec<PartId> {
        let mut found = SortedSet::new();
        self.follow(part, &mut found, |id| &self.parts[id.0 as usize].causes);
        let causes = std::mem::take(&mut found);
        self.follow(part, &mut found, |id| &self.effects[id.0 as usize]);
        found.extend(causes);
        found.into_iter().take(MOST_RELATED).collect()
    }

    /// What is related to anything that an action brought about.
    pub fn related_to_row(&self, action: usize) -> Vec<PartId> {
        let begins = |action: usize| {
            self.rows
                .get(action)
                .map_or(self.parts.len(), |row| row.parts)
        };
        let parts = begins(action)..begins(action + 1);
        let all = parts.flat_map(|part| self.related(PartId(part as u32)));
        let all: SortedSet<PartId> = all.collect();
        all.into_iter().take(MOST_RELATED).collect()
    }

    fn follow<'a>(
        &'a self,
        from: PartId,
        found: &mut SortedSet<PartId>,
        next: impl Fn(PartId) -> &'a [PartId],
    ) {
        let mut ahead = vec![from];
        while let Some(id) = ahead.pop() {
            if self.part(id).is_some() && found.len() < MOST_RELATED && found.insert(id) {
                ahead.extend(next(id));
            }
        }
    }

    // ---- growing ----------------------------------------------------------------------------------------------------

    /// The column of a lock, a new one if it has none.
    fn lock(&mut self, key: &[u8]) -> usize {
        match self.locks.iter().position(|lock| lock == key) {
            Some(lock) => lock,
            None => {
                self.locks.push(key.to_vec());
                self.locks.len() - 1
            }
        }
    }

    fn push(&mut self, part: Part) -> PartId {
        let id = PartId(self.parts.len() as u32);
        for cause in &part.causes {
            self.effects[cause.0 as usize].push(id);
        }
        self.parts.push(part);
        self.effects.push(Vec::new());
        id
    }

    fn open(&mut self, slot: Slot, part: PartId) {
        let before = self.open.insert(slot, part);
        self.undo.push(Undo::Open(slot, before));
    }

    fn close(&mut self, slot: Slot) -> Option<PartId> {
        let before = self.open.remove(&slot)?;
        self.undo.push(Undo::Open(slot, Some(before)));
        Some(before)
    }

    fn end(&mut self, part: PartId, end: End) {
        let before = self.parts[part.0 as usize].end.replace(end);
        self.undo.push(Undo::End(part, before));
    }

    fn carry(&mut self, arrow: PartId, token: i64) {
        let before = self.parts[arrow.0 as usize].token.replace(token);
        self.undo.push(Undo::Token(arrow, before));
    }
}

/// What stands at the head of a lane: a client's name, `store`, `table`, `gateway`, `operator`.
pub fn lane_name(setup: &Setup, lane: Lane) -> String {
    match lane {
        Lane::Client(client) => words::client(setup, client).to_string(),
        Lane::Store(server) => setup.server_name(server).to_string(),
        Lane::Table => table_names(setup).unwrap_or_else(|| "table".to_string()),
        Lane::Gateway => "gateway".to_string(),
        Lane::Operator => "operator".to_string(),
    }
}

/// The watched tables, each once.
fn table_names(setup: &Setup) -> Option<String> {
    let columns = setup
        .watches
        .iter()
        .flat_map(|watch| [&watch.fence, &watch.stock]);
    let mut names: Vec<&str> = columns
        .flatten()
        .map(|column| column.table.as_str())
        .collect();
    crate::sorted::sort(&mut names);
    names.dedup();
    (!names.is_empty()).then(|| names.join(", "))
}
