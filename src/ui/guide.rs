//! A walk over the picture, one sentence at a time: why a property is broken, from cause to effect; and the first visit's tour, whose
//! steps are things that one does. It can be left at any time.

use super::view::*;

use super::controls::{Button, icon, prose};
use super::desk::{Desk, Over, Tab};
use crate::property::Break;
use crate::session::{Msg, Session};

/// A walk, and how far it has come.
#[derive(Clone, PartialEq)]
pub struct Guide {
    stops: Vec<Stop>,
    at: usize,
    /// The text that it speaks of.
    of: String,
}

/// A sentence, and what takes one on from it.
#[derive(Clone, PartialEq)]
struct Stop {
    words: String,
    on: On,
}

#[derive(Clone, Copy, PartialEq)]
enum On {
    /// Next; the cursor stands after so many actions meanwhile.
    Next(usize),
    /// Coming to after so many actions.
    Cursor(usize),
    /// Walking from cause to effect.
    Why,
    /// Opening the search.
    Search,
}

/// Walks from the causes of a break to it.
pub fn why(desk: Desk, found: &Break) {
    let causes = desk.look(|session| {
        desk.drawing
            .with_untracked(|drawing| drawing.diagram.why(session.setup(), found))
    });
    let stops = causes.into_iter().map(|(action, words)| Stop {
        words,
        on: On::Next(action + 1),
    });
    begin(desk, stops.collect());
}

/// One sentence or several over the picture, until they are closed.
pub fn tell(desk: Desk, words: String) {
    let cursor = desk.look(Session::cursor);
    let stop = Stop {
        words,
        on: On::Next(cursor),
    };
    begin(desk, vec![stop]);
}

/// The first visit's tour, which begins before the write that breaks the first story's claims.
pub fn tour(desk: Desk) {
    let cursor = desk.look(Session::cursor);
    let stop = |words: &str, on: On| Stop {
        words: words.to_string(),
        on,
    };
    begin(
        desk,
        vec![
            stop(
                "Press Step A. A stalled, its lease lapsed, B took the lock and wrote, and A still believes that it holds the lock: \
                 this is a playground for distributed locks, in the middle of a story.",
                On::Cursor(cursor + 1),
            ),
            stop(
                "The table accepted a stale write. Under Properties stands what is broken by it: press Why there.",
                On::Why,
            ),
            stop(
                "That is a lock without a working fence. Press Find a failing schedule: it tries every order of steps, and opens the shortest that breaks something.",
                On::Search,
            ),
        ],
    );
}

fn begin(desk: Desk, stops: Vec<Stop>) {
    desk.playing.set(false);
    desk.tab.set(Tab::Picture);
    // The tour goes on behind the walk that it asks for.
    let rest = desk
        .guide
        .get_untracked()
        .filter(|guide| guide.is_at(On::Why));
    let rest = rest.map_or(Vec::new(), |guide| guide.stops[guide.at + 1..].to_vec());
    let stops = stops.into_iter().chain(rest).collect();
    let of = desk.look(Session::text);
    go_to(desk, Guide { stops, at: 0, of });
}

impl Guide {
    fn is_at(&self, on: On) -> bool {
        self.stops.get(self.at).is_some_and(|stop| stop.on == on)
    }
}

/// Shows a stop, or ends where there is none.
fn go_to(desk: Desk, guide: Guide) {
    let on = guide.stops.get(guide.at).map(|stop| stop.on);
    if let Some(On::Next(cursor)) = on
        && cursor != desk.look(Session::cursor)
    {
        desk.send(Msg::GoTo(cursor));
    }
    desk.guide.set(on.is_some().then_some(guide));
}

/// Goes so many stops on.
fn walk(desk: Desk, stops: isize) {
    if let Some(guide) = desk.guide.get_untracked() {
        let at = guide.at.saturating_add_signed(stops);
        go_to(desk, Guide { at, ..guide });
    }
}

/// Takes the walk on whenever what it asks for is done.
pub fn follow(desk: Desk) {
    let done = Memo::new(move || {
        let guide = desk.guide.get();
        let stop = guide.as_ref().and_then(|guide| guide.stops.get(guide.at));
        match stop.map(|stop| stop.on) {
            Some(On::Cursor(cursor)) => desk.session.with(Session::cursor) == cursor,
            Some(On::Search) => desk.over.get() == Some(Over::Search),
            _ => false,
        }
    });
    effect(move || {
        if done.get() {
            walk(desk, 1);
        }
    });
    // Of another text, or a branch, it would say what is not so.
    let is_of_another = Memo::new(move || {
        let of = desk
            .guide
            .with(|guide| guide.as_ref().map(|guide| guide.of.clone()));
        of.is_some_and(|of| desk.session.with(Session::text) != of)
    });
    effect(move || {
        if is_of_another.get() {
            desk.guide.set(None);
        }
    });
}

/// The band over the picture.
pub fn band(desk: Desk) -> AnyView {
    let draw = move || {
        let guide = desk.guide.get()?;
        let stop = guide.stops.get(guide.at)?.clone();
        let stops = guide.stops.len();
        let count = (stops > 1).then(|| (guide.at + 1).to_string() + " of " + &stops.to_string());
        let is_walk = stops > 1 && matches!(stop.on, On::Next(_));
        let back = Button::icon_only("back", "The sentence before")
            .unless((guide.at == 0).then(|| "This is the first".to_string()))
            .does(move || walk(desk, -1));
        let next = Button::new("Next")
            .primary(true)
            .does(move || walk(desk, 1));
        let walk = is_walk.then(|| view! { {back.draw(desk)} {next.draw(desk)} });
        let leave = Button::icon_only("cross", "Leave this walk")
            .class("button--quiet")
            .does(move || desk.guide.set(None));
        Some(view! {
            <div class="guide" role="status">
                {icon("step")}
                <span class="guide__count">{count}</span>
                <p class="guide__words" tabindex="0">{prose(&stop.words)}</p>
                {walk}
                {leave.draw(desk)}
            </div>
        })
    };
    draw.into_any()
}
