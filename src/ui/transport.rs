//! Under the panels: start, back, step, play, forward, end; the slider with a tick for each action; the clock.

use super::view::*;

use super::browser::{self, Timer};
use super::controls::{Button, fresh_id};
use super::desk::Desk;
use crate::scenario;
use crate::session::{MOST_ADVANCE, Msg, Session, client_of};
use crate::sim::action::{Action, ClientId, Who};
use crate::sim::event::Fact;
use crate::strokes::hue_number;
use crate::timeline::Entry;
use crate::words;

/// How many pixels a tick above the slider takes up; where there is less room, every so manieth place shows its gravest action.
const TICK: i32 = 10;

/// How long one action stays when the schedule plays at single speed, in milliseconds.
const ONE_ACTION: u32 = 1200;

/// The longest name on the button, in letters.
const LONGEST_NAME: usize = 12;

const SPEEDS: [(&str, u32, u32); 5] = [
    ("½×", 1, 2),
    ("1×", 1, 1),
    ("2×", 2, 1),
    ("4×", 4, 1),
    ("16×", 16, 1),
];

/// The transport.
pub fn transport(desk: Desk) -> AnyView {
    view! {
        <footer class="transport" aria-label="Transport">
            {buttons(desk)}
            {scrub(desk)}
            {clock(desk)}
        </footer>
    }
}

#[derive(Clone, PartialEq)]
struct Where {
    cursor: usize,
    len: usize,
    now: u64,
    /// The name of who takes the next step, where it is a client, and the line of it.
    next: Option<(String, String)>,
    frozen: Option<String>,
}

fn where_now(session: &Session) -> Where {
    let next = session.step_on().map(|action| {
        let name = client_of(&action).map_or("", |client| session.client_name(client));
        let line = scenario::print_action(session.setup(), &action);
        (words::shortened(name, LONGEST_NAME), line)
    });
    Where {
        cursor: session.cursor(),
        len: session.timeline().len(),
        now: session.world().now,
        next,
        frozen: session.why_not_writable(),
    }
}

fn buttons(desk: Desk) -> AnyView {
    let place = desk.read(where_now);
    let speed = RwSignal::new(1_usize);
    let timer = Timer::new();
    effect(move || {
        if desk.playing.get() {
            play_on(desk, speed, timer);
        } else {
            timer.clear();
        }
    });
    let at_start = "The cursor is at the start already";
    let at_end = "The cursor is after the last action; a step of a client adds one";
    let before = move || {
        let is_start = place.with(|place| place.cursor == 0);
        let why = is_start.then(|| at_start.to_string());
        let start = Button::icon_only("start", "To the start (Home)")
            .unless(why.clone())
            .sends(desk, Msg::GoTo(0));
        let back = Button::icon_only("back", "Back one action (Left)")
            .unless(why)
            .does(move || back(desk));
        view! { {start.draw(desk)} {back.draw(desk)} }
    };
    let step = move || {
        let Where {
            next,
            frozen,
            cursor,
            len,
            ..
        } = place.get();
        let frozen = frozen.filter(|_| cursor == len);
        let button = match next {
            Some((name, line)) => Button::new("Step ".to_string() + &name)
                .label("The next step: ".to_string() + &line + " (S)")
                .unless(frozen)
                .sends(desk, Msg::StepOn),
            None => Button::new("Step")
                .unless(frozen.or_else(|| Some("No client can take a step now".to_string()))),
        };
        button.icon("step").class("transport__step").draw(desk)
    };
    let play = move || {
        let is_end = place.with(|place| place.cursor == place.len);
        let is_empty = place.with(|place| place.len == 0);
        let button = match desk.playing.get() {
            true => Button::new("Stop")
                .icon("pause")
                .label("Stop playing (Space)"),
            false if is_end => Button::new("Play")
                .icon("play")
                .label("Play from the start (Space)"),
            false => Button::new("Play")
                .icon("play")
                .label("Play the recorded schedule on from here (Space)"),
        };
        let why = is_empty.then(|| "There is nothing to play: the schedule is empty".to_string());
        button
            .class("transport__play")
            .unless(why)
            .does(move || toggle_play(desk))
            .draw(desk)
    };
    let after = move || {
        let is_end = place.with(|place| place.cursor == place.len);
        let why = is_end.then(|| at_end.to_string());
        let forward = Button::icon_only("forward", "Forward one action (Right)")
            .unless(why.clone())
            .does(move || forward(desk));
        let end = Button::icon_only("end", "To the end (End)")
            .unless(why)
            .sends(desk, Msg::GoTo(usize::MAX));
        view! { {forward.draw(desk)} {end.draw(desk)} }
    };
    let id = fresh_id();
    let choose = move |event| speed.set(event_target_value(&event).parse().unwrap_or(1));
    let speeds = SPEEDS.iter().enumerate().map(|(place, (words, ..))| {
        view! { <option value=place.to_string() selected=place == 1>{*words}</option> }
    });
    view! {
        <div class="transport__buttons">
            {before} {step} {play}
            <label class="hidden-but-read" for=id.clone()>"Speed"</label>
            <select class="select" id=id on:change=choose>{speeds.collect_view()}</select>
            {after}
        </div>
    }
    .into_any()
}

/// One action back in the recorded schedule.
pub fn back(desk: Desk) {
    let cursor = desk.look(Session::cursor);
    if cursor > 0 {
        desk.send(Msg::GoTo(cursor - 1));
    }
}

/// One action forward in the recorded schedule.
pub fn forward(desk: Desk) {
    desk.send(Msg::GoTo(desk.look(Session::cursor) + 1));
}

/// Plays, from the start when the cursor is at the end; stops when it plays.
pub fn toggle_play(desk: Desk) {
    if desk.playing.get_untracked() {
        return desk.playing.set(false);
    }
    let (cursor, len) = desk.look(|session| (session.cursor(), session.timeline().len()));
    if cursor == len {
        desk.send(Msg::GoTo(0));
    }
    desk.playing.set(len > 0);
}

fn play_on(desk: Desk, speed: RwSignal<usize>, timer: Timer) {
    let (_, times, per) = SPEEDS
        .get(speed.get_untracked())
        .copied()
        .unwrap_or(SPEEDS[1]);
    timer.set((ONE_ACTION * per / times) as i32, move || {
        if !desk.playing.get_untracked() {
            return;
        }
        forward(desk);
        let is_end = desk.look(|session| session.cursor() == session.timeline().len());
        match is_end {
            true => desk.playing.set(false),
            false => play_on(desk, speed, timer),
        }
    });
}

/// What a tick shows, from the mildest to the gravest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tick {
    Operator,
    Client(ClientId),
    Pause,
    Crash,
    Clock,
    Write,
    Rejected,
    Stale,
}

fn tick_of(entry: &Entry) -> Tick {
    let ledger = entry
        .ledger
        .iter()
        .map(|write| match (write.accepted, write.stale) {
            (true, true) => Tick::Stale,
            (true, false) => Tick::Write,
            (false, _) => Tick::Rejected,
        });
    let action = match &entry.action {
        Action::Step { client, .. }
        | Action::LoseReply { client, .. }
        | Action::LoseRequest { client, .. }
        | Action::Restart { client }
        | Action::Delay { client, .. }
        | Action::Deliver { client, .. } => Tick::Client(*client),
        Action::Command {
            who: Who::Client(client),
            ..
        } => Tick::Client(*client),
        Action::Pause { .. } | Action::Resume { .. } => Tick::Pause,
        Action::Crash { .. } | Action::CrashServer { .. } => Tick::Crash,
        Action::ClockJump { .. }
        | Action::ClockRate { .. }
        | Action::Advance { .. }
        | Action::AdvanceToNextDeadline => Tick::Clock,
        Action::ExpireNow { .. }
        | Action::Wipe { .. }
        | Action::Evict { .. }
        | Action::RestartServer { .. }
        | Action::Replicate { .. }
        | Action::Failover { .. }
        | Action::Command {
            who: Who::Operator, ..
        } => Tick::Operator,
    };
    let refused = entry
        .events
        .iter()
        .any(|event| matches!(event.fact, Fact::Refused { .. }));
    ledger
        .chain([if refused { Tick::Operator } else { action }])
        .max()
        .unwrap_or(action)
}

/// The ticks: after which action each stands, and what it shows.
fn ticks_of(session: &Session, most: usize) -> Vec<(usize, Tick)> {
    let entries = session.timeline().entries();
    let each = entries.len().div_ceil(most).max(1);
    let ticks = entries
        .chunks(each)
        .enumerate()
        .filter_map(|(chunk, entries)| {
            let (place, tick) = entries
                .iter()
                .map(tick_of)
                .enumerate()
                .max_by_key(|(_, tick)| *tick)?;
            Some((chunk * each + place + 1, tick))
        });
    ticks.collect()
}

fn scrub(desk: Desk) -> AnyView {
    let place = desk.read(|session| {
        (
            session.cursor(),
            session.timeline().len(),
            session.world().now,
        )
    });
    let most = RwSignal::new(60_usize);
    let strip = NodeRef::<web_sys::HtmlDivElement>::new();
    effect(move || {
        if let Some(strip) = strip.get() {
            browser::on_width(&strip, move |width, _| {
                most.set((width / TICK).max(1) as usize)
            });
        }
    });
    let ticks = desk.read(move |session| (session.timeline().len(), ticks_of(session, most.get())));
    let draw = move || {
        let (len, ticks) = ticks.get();
        ticks
            .into_iter()
            .map(|(after, tick)| draw_tick(after, tick, len))
            .collect_view()
    };
    let value_words = move || {
        let (cursor, len, now) = place.get();
        "after action ".to_string()
            + &cursor.to_string()
            + " of "
            + &len.to_string()
            + ", "
            + &words::seconds(now)
            + " s"
    };
    let slide = move |event| {
        if let Ok(cursor) = event_target_value(&event).parse() {
            desk.playing.set(false);
            desk.send(Msg::GoTo(cursor));
        }
    };
    view! {
        <div class="scrub" node_ref=strip>
            <svg class="scrub__ticks" aria-hidden="true">{draw}</svg>
            <input
                class="scrub__slider"
                type="range"
                min="0"
                step="1"
                max=move || place.with(|(_, len, _)| len.to_string())
                prop:value=move || place.with(|(cursor, _, _)| cursor.to_string())
                aria-label="Cursor"
                aria-valuetext=value_words
                on:input=slide
            />
        </div>
        <span class="transport__where"><b>{move || place.with(|(cursor, _, _)| *cursor)}</b>" of "{move || place.with(|(_, len, _)| *len)}</span>
    }
    .into_any()
}

fn draw_tick(after: usize, tick: Tick, len: usize) -> AnyView {
    // The thumb of the slider does not reach its edges.
    let x = (1.1 + after as f64 * 97.8 / len.max(1) as f64).to_string() + "%";
    let (class, shape) = match tick {
        Tick::Operator => ("scrub__tick", "M-2 -4l4 4-4 4z"),
        Tick::Pause => (
            "scrub__tick scrub__tick--pause",
            "M-3 -4h2v8h-2zM1 -4h2v8h-2z",
        ),
        Tick::Crash => ("scrub__tick", "M1 -6L-4 1h3L-1 6 4 -1H1z"),
        Tick::Clock => (
            "scrub__tick--clock",
            "M-6 -3l3 3 3-3 3 3 3-3M-6 2l3 3 3-3 3 3 3-3",
        ),
        Tick::Write => ("scrub__tick--write", "M-4.5 -4.5h9v9h-9z"),
        Tick::Rejected => ("scrub__tick--rejected", "M-4 -4l8 8M4 -4l-8 8"),
        Tick::Stale => ("scrub__tick--stale", "M0 -6.5L6.5 5h-13z"),
        Tick::Client(client) => (
            "scrub__tick scrub__tick--client",
            CLIENT_SHAPES[hue_number(client) - 1],
        ),
    };
    let hue = match tick {
        Tick::Client(client) => crate::strokes::hue(client),
        _ => String::new(),
    };
    view! { <svg x=x y="10" overflow="visible" class=hue><path class=class d=shape /></svg> }
        .into_any()
}

/// The clients' shapes, about the origin.
const CLIENT_SHAPES: [&str; 6] = [
    "M-3.5 0a3.5 3.5 0 1 1 7 0a3.5 3.5 0 1 1 -7 0z",
    "M-3.5 -3.5h7v7h-7z",
    "M0 -4.5l4.5 4.5-4.5 4.5-4.5 -4.5z",
    "M-2 -3.5h4l2 3.5-2 3.5h-4l-2 -3.5z",
    "M-3.5 3.5v-3.5a3.5 3.5 0 0 1 7 0v3.5z",
    "M-3.5 -3.5h7v4.5l-3.5 3.5-3.5 -3.5z",
];

fn clock(desk: Desk) -> AnyView {
    let now = desk.read(|session| session.world().now);
    let controls = desk.read(|session| {
        (
            session.why_not(&Action::AdvanceToNextDeadline),
            session.why_not_writable(),
            session.world().next_deadline(),
        )
    });
    let advance = move |milliseconds: u64| desk.send(Msg::Act(Action::Advance { milliseconds }));
    let field = NodeRef::<web_sys::HtmlInputElement>::new();
    let is_wrong = RwSignal::new(false);
    let advance_by_field = move || {
        let Some(field) = field.get_untracked() else {
            return;
        };
        match milliseconds_in(&field.value()) {
            Some(milliseconds) => {
                is_wrong.set(false);
                advance(milliseconds);
            }
            None => {
                is_wrong.set(true);
                desk.refuse(
                    "The clock advances by a whole number of milliseconds, from 1 to 1 000 000 000 000 (about 31 years): 250, 10001, 2s",
                );
            }
        }
    };
    let buttons = move || {
        let (why_no_deadline, frozen, _) = controls.get();
        let plus = |words: &'static str, milliseconds: u64| {
            let button = Button::new(words)
                .label("Advance the clock by ".to_string() + &words[1..])
                .unless(frozen.clone());
            button.does(move || advance(milliseconds)).draw(desk)
        };
        let label = controls.with(|(_, _, next)| match next {
            Some(next) => {
                let next = words::milliseconds(*next);
                "To the next deadline: +".to_string()
                    + &next
                    + ", for a key goes 1 ms after its own"
            }
            None => "To the next deadline".to_string(),
        });
        let next = Button::new("To the next deadline")
            .label(label)
            .unless(why_no_deadline)
            .sends(desk, Msg::Act(Action::AdvanceToNextDeadline));
        view! { {plus("+1 ms", 1)} {plus("+100 ms", 100)} {plus("+1 s", 1000)} {next.draw(desk)} }
    };
    let id = fresh_id();
    let go = move || {
        Button::new("Advance")
            .unless(controls.with(|(_, frozen, _)| frozen.clone()))
            .does(advance_by_field)
            .draw(desk)
    };
    view! {
        <div class="clock" role="group" aria-label="Clock">
            <output class="clock__now" aria-label="now">{move || words::seconds(now.get()) + " s"}</output>
            {buttons}
            <form class="clock__free" on:submit=move |event| { event.prevent_default(); advance_by_field() }>
                <label class="hidden-but-read" for=id.clone()>"Milliseconds"</label>
                <input
                    class="field field--number"
                    id=id
                    node_ref=field
                    inputmode="numeric"
                    value="10001"
                    autocomplete="off"
                    aria-invalid=move || is_wrong.get().then_some("true")
                />
                <span class="clock__unit">"ms"</span>
                {go}
            </form>
        </div>
    }
    .into_any()
}

/// Milliseconds as somebody types them: `250`, `10 001`, `250ms`, `2s`, `1.5 s`.
pub fn milliseconds_in(typed: &str) -> Option<u64> {
    let typed: String = typed
        .chars()
        .filter(|letter| !letter.is_whitespace() && *letter != '+')
        .collect();
    let (number, factor) = match (typed.strip_suffix("ms"), typed.strip_suffix('s')) {
        (Some(number), _) => (number, 1),
        (None, Some(number)) => (number, 1000),
        (None, None) => (typed.as_str(), 1),
    };
    let milliseconds = match number.split_once('.') {
        Some((whole, part))
            if factor == 1000
                && part.len() <= 3
                && part.bytes().all(|digit| digit.is_ascii_digit()) =>
        {
            let thousandths: u64 = (part.to_string() + "000")[..3].parse().ok()?;
            whole
                .parse::<u64>()
                .ok()?
                .checked_mul(1000)?
                .checked_add(thousandths)?
        }
        Some(_) => return None,
        None => number.parse::<u64>().ok()?.checked_mul(factor)?,
    };
    (1..=MOST_ADVANCE)
        .contains(&milliseconds)
        .then_some(milliseconds)
}

#[cfg(test)]
mod tests {
    use super::milliseconds_in;

    #[test]
    fn milliseconds_are_read_as_people_type_them() {
        for (typed, expected) in [
            ("250", Some(250)),
            ("10 001", Some(10_001)),
            ("+250ms", Some(250)),
            ("2s", Some(2000)),
            ("1.5 s", Some(1500)),
            ("1.5", None),
            ("0", None),
            ("1000000000s", Some(1_000_000_000_000)),
            ("1000000000001", None),
            ("-5", None),
            ("", None),
            ("1.é12s", None),
            ("99999999999999999999", None),
            ("18446744073709551615s", None),
        ] {
            assert_eq!(milliseconds_in(typed), expected, "{typed}");
        }
    }
}
