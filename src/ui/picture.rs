//! The space-time picture: the geometry comes from [`crate::diagram`], the strokes are made here, and only what is seen is drawn.

use std::sync::Arc;

use leptos::prelude::*;
use wasm_bindgen::JsCast;

use super::browser;
use super::controls::{Key, list};
use super::desk::Desk;
use super::ink::{Ink, Shape, zigzag};
use super::properties::Tally;
use super::strokes;
use super::words;
use crate::diagram::{
    Diagram, Kind, Lane, LanePlaces, PartId, RowKind, RowShown, Shown, lane_name,
};
use crate::session::{Msg, Session};
use crate::sim::setup::Setup;

/// How far beyond the window is drawn, and how far one may scroll before it is drawn again, in pixels.
const BEYOND: i32 = 240;

/// The tallest window that is drawn in full, in pixels: no screen is taller, and a page that is printed must not draw everything.
const TALLEST: i32 = 4000;

/// The room above the first row, for the cursor's flag at the start.
const ABOVE: i32 = 18;

/// The room below the last row, for the cursor's line and the time.
const BELOW: i32 = 40;

/// The element that scrolls.
const BODY: &str = "picture-body";

/// The diagram of a session, kept beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// The geometry.
    pub diagram: Diagram,
    setup: Arc<Setup>,
}

impl Drawing {
    /// The diagram of the whole schedule.
    pub fn of(session: &Session) -> Drawing {
        let mut drawing = Drawing {
            diagram: Diagram::new(session.setup()),
            setup: session.setup().clone(),
        };
        drawing.extend(session);
        drawing
    }

    /// Follows what the session's last change did to the schedule; its price is what changed.
    pub fn follow(&mut self, session: &Session) {
        if !Arc::ptr_eq(&self.setup, session.setup()) {
            *self = Drawing::of(session);
            return;
        }
        self.diagram.truncate(session.unchanged());
        self.extend(session);
    }

    fn extend(&mut self, session: &Session) {
        for entry in &session.timeline().entries()[self.diagram.len()..] {
            self.diagram.extend(&self.setup, entry);
        }
    }
}

/// What of the picture is seen, in pixels, in steps of [`BEYOND`].
#[derive(Clone, Copy, Debug, PartialEq)]
struct Window {
    width: i32,
    from: i32,
    to: i32,
}

/// The panel of the picture.
#[component]
pub fn Picture(desk: Desk) -> impl IntoView {
    let window = RwSignal::new(Window {
        width: 648,
        from: 0,
        to: 1200,
    });
    let body = NodeRef::<leptos::html::Div>::new();
    let measure = move || {
        let Some(body) = body.get_untracked() else {
            return;
        };
        let (top, height, width) = (body.scroll_top(), body.client_height(), body.client_width());
        if width > 0 {
            let from = (top / BEYOND - 1) * BEYOND;
            let to = ((top + height.min(TALLEST)) / BEYOND + 2) * BEYOND;
            let seen = Window { width, from, to };
            if window.get_untracked() != seen {
                window.set(seen);
            }
        }
    };
    Effect::new(move || {
        if let Some(body) = body.get() {
            browser::on_width(&body, move |_, _| measure());
        }
    });
    keep_cursor_in_view(desk);
    let cursor = desk.read(Session::cursor);
    let places = Memo::new(move |_| {
        let width = window.get().width;
        desk.drawing.with(|drawing| {
            LanePlaces::new(
                &drawing.diagram.lanes(),
                drawing.diagram.locks().len(),
                width,
            )
        })
    });
    let shown = Memo::new(move |_| {
        let Window { from, to, .. } = window.get();
        let cursor = cursor.get();
        desk.drawing
            .with(|drawing| drawing.diagram.visible(from - ABOVE, to, cursor))
    });
    let size = Memo::new(move |_| {
        (
            places.with(|places| places.width),
            shown.with(|shown| shown.height + ABOVE + BELOW),
        )
    });
    let rows = Memo::new(move |_| {
        let places = places.get();
        shown.with(|shown| {
            shown
                .rows
                .iter()
                .map(|row| row_of(row, &places, cursor.get()))
                .collect::<Vec<_>>()
        })
    });
    let parts = Memo::new(move |_| {
        let places = places.get();
        let window = window.get();
        shown.with(|shown| {
            let parts = shown.parts.iter();
            let calls = parts
                .clone()
                .filter(|part| matches!(part.part.kind, Kind::Call { .. }))
                .map(|part| part.top);
            let calls: Vec<i32> = calls.collect();
            let draw = |part: &Shown| {
                (
                    Key::from(part.id.0),
                    drawn(part, &places, window, shown.cursor_y, &calls),
                )
            };
            parts.map(draw).collect::<Vec<_>>()
        })
    });
    let lines = Memo::new(move |_| {
        let end = shown.with(|shown| shown.height);
        lanes(
            &places.get(),
            window.get(),
            shown.with(|shown| shown.cursor_y),
            end,
        )
    });
    let heads = Memo::new(move |_| {
        desk.session
            .with(|session| heads_of(session, &places.get()))
    });
    let flag = Memo::new(move |_| {
        desk.session
            .with(|session| flag_of(session, &places.get(), shown.with(|shown| shown.cursor_y)))
    });
    let is_empty = desk.read(|session| session.timeline().is_empty());
    let tip = RwSignal::new(None::<Tip>);
    let drawn_box = move || {
        let (width, height) = size.get();
        [
            "0",
            &(-ABOVE).to_string(),
            &width.to_string(),
            &height.to_string(),
        ]
        .join(" ")
    };
    let label = move || {
        let actions = desk.session.with(|session| session.timeline().len());
        "Space-time picture: ".to_string()
            + &words::count(actions, "action", "actions")
            + ", time downward"
    };
    view! {
        <section class="picture panel" aria-labelledby="h-picture">
            <header class="panel__head">
                <h2 class="panel__title" id="h-picture">"Picture"</h2>
                <Tally desk=desk />
            </header>
            <div
                class="picture__scroll panel__body"
                id=BODY
                node_ref=body
                on:scroll=move |_| { measure(); tip.set(None) }
                on:click=move |event| go_to_row(desk, &event)
                on:keydown=move |event| move_by_key(desk, &event)
                on:mousemove=move |event| tip.set(tip_at(desk, &event))
                on:mouseleave=move |_| tip.set(None)
            >
                <svg
                    class="picture__heads"
                    aria-hidden="true"
                    height="42"
                    width=move || size.get().0.to_string()
                    viewBox=move || ["0 0", &size.get().0.to_string(), "42"].join(" ")
                >
                    {move || heads.get().into_iter().map(Shape::draw).collect_view()}
                </svg>
                <svg
                    class="picture__time"
                    id="picture-time"
                    role="group"
                    aria-label=label
                    width=move || size.get().0.to_string()
                    height=move || size.get().1.to_string()
                    viewBox=drawn_box
                >
                    {list(rows, draw_row)}
                    {move || lines.get().into_iter().map(Shape::draw).collect_view()}
                    {list(parts, draw_part)}
                    {move || flag.get().into_iter().map(Shape::draw).collect_view()}
                </svg>
                {move || is_empty.get().then(nothing_yet)}
            </div>
            {move || tip.get().map(draw_tip)}
        </section>
    }
}

fn nothing_yet() -> AnyView {
    view! {
        <p class="picture__empty">
            "Nothing has happened yet. Step a client, advance the clock, or type at a console: each becomes a row here."
        </p>
    }
    .into_any()
}

/// Scrolls so that the cursor's line is seen whenever the cursor moves.
fn keep_cursor_in_view(desk: Desk) {
    let place = Memo::new(move |_| {
        let cursor = desk.session.with(Session::cursor);
        (
            cursor,
            desk.drawing.with(|drawing| drawing.diagram.height(cursor)),
            desk.tab.get(),
        )
    });
    Effect::new(move || {
        let (_, y, _) = place.get();
        request_animation_frame(move || {
            let Some(body) = browser::element(BODY) else {
                return;
            };
            let (top, height) = (body.scroll_top(), body.client_height());
            // The heads stay at the top, and the row before the cursor is what one wants to see.
            let (least, most) = (y + ABOVE + BELOW + 42 - height, y + ABOVE - 110);
            if top < least || top > most {
                body.set_scroll_top(if top < least { least } else { most.max(0) });
            }
        });
    });
}

// ---- rows

#[derive(Clone, PartialEq)]
struct Row {
    action: usize,
    label: String,
    class: &'static str,
    top: i32,
    height: i32,
    width: i32,
    is_current: bool,
    ground: Vec<Shape>,
    faint: bool,
}

fn row_of(row: &RowShown, places: &LanePlaces, cursor: usize) -> (Key, Row) {
    let mut ink = Ink::new();
    let right = places.width;
    let is_narrow = places.axis < 40;
    if let RowKind::Clock { milliseconds } = row.kind {
        let (top, bottom) = (row.top + 2, row.top + row.height - 2);
        ink.path("p-break", zigzag(top, right) + &format_v(bottom) + "H0z");
        ink.path("p-break-edge", zigzag(top, right));
        ink.path("p-break-edge", zigzag(bottom + 1, right));
        let x =
            places.lanes.first().map_or(places.axis, |(_, x)| *x) + if is_narrow { 8 } else { 14 };
        let what = if is_narrow { "+" } else { "clock +" };
        ink.text(
            "p-break-label p-halo p-halo--sunk",
            x,
            top + 24,
            what.to_string() + &words::milliseconds(milliseconds),
        );
    } else if row.action > 0 {
        ink.path(
            "p-rule",
            "M".to_string()
                + &places.axis.to_string()
                + " "
                + &row.top.to_string()
                + "H"
                + &right.to_string(),
        );
    }
    let ordinal = (row.action + 1).to_string();
    ink.text(
        "p-ordinal",
        if is_narrow { 24 } else { 22 }.max(ordinal.len() as i32 * 7 + 2),
        row.top + 18,
        ordinal,
    );
    if let (Some(time), false) = (&row.time, is_narrow) {
        let class = if row.action > 999 {
            "p-instant p-instant--below"
        } else {
            "p-instant"
        };
        let (x, y) = if row.action > 999 {
            (6, row.top + 33)
        } else {
            (28, row.top + 18)
        };
        ink.text(class, x, y, time.clone());
    }
    let drawn = Row {
        action: row.action,
        label: (row.action + 1).to_string() + ": " + &row.label,
        class: match row.kind {
            RowKind::Stale => "p-row p-row--stale",
            RowKind::Refused => "p-row p-row--refused",
            _ => "p-row",
        },
        top: row.top,
        height: row.height,
        width: right,
        is_current: row.action + 1 == cursor,
        ground: ink.shapes,
        faint: row.faint,
    };
    (row.action as Key, drawn)
}

fn format_v(y: i32) -> String {
    "V".to_string() + &y.to_string()
}

fn draw_row(row: Row) -> AnyView {
    let Row {
        action,
        label,
        class,
        top,
        height,
        width,
        is_current,
        ground,
        faint,
    } = row;
    let id = "row-".to_string() + &(action + 1).to_string();
    let order = if is_current { "0" } else { "-1" };
    view! {
        <g class=if faint { "p-future" } else { "p-past" }>
            <rect
                class=class
                id=id
                tabindex=order
                role="button"
                aria-label=label
                aria-current=is_current.then_some("true")
                x="0"
                y=top.to_string()
                width=width.to_string()
                height=height.to_string()
            />
            {ground.into_iter().map(Shape::draw).collect_view()}
        </g>
    }
    .into_any()
}

/// The action whose row is at the pointer.
fn row_at(desk: Desk, event: &web_sys::MouseEvent) -> Option<usize> {
    let time = document().get_element_by_id("picture-time")?;
    let y = f64::from(event.client_y()) - time.get_bounding_client_rect().top() - f64::from(ABOVE);
    desk.drawing.with_untracked(|drawing| {
        let height = drawing.diagram.height(drawing.diagram.len());
        (y >= 0.0 && y < f64::from(height)).then(|| drawing.diagram.action_at(y as i32))?
    })
}

fn go_to_row(desk: Desk, event: &web_sys::MouseEvent) {
    if let Some(action) = row_at(desk, event) {
        desk.playing.set(false);
        desk.send(Msg::GoTo(action + 1));
        focus_row(action + 1);
    }
}

fn focus_row(number: usize) {
    request_animation_frame(move || {
        if let Some(row) = document().get_element_by_id(&("row-".to_string() + &number.to_string()))
        {
            // An SVG element has `focus` as an HTML element has.
            let focus = js_sys::Reflect::get(&row, &"focus".into()).ok();
            if let Some(focus) = focus.and_then(|focus| focus.dyn_into::<js_sys::Function>().ok()) {
                let options = js_sys::Object::new();
                let _ = js_sys::Reflect::set(&options, &"preventScroll".into(), &true.into());
                let _ = focus.call1(&row, &options);
            }
        }
    });
}

fn move_by_key(desk: Desk, event: &web_sys::KeyboardEvent) {
    let cursor = desk.look(Session::cursor);
    let to = match event.key().as_str() {
        "ArrowDown" | "ArrowRight" => cursor + 1,
        "ArrowUp" | "ArrowLeft" => cursor.saturating_sub(1).max(1),
        "Home" => 1,
        "End" => desk.look(|session| session.timeline().len()),
        " " => {
            event.prevent_default();
            return super::transport::toggle_play(desk);
        }
        _ => return,
    };
    event.prevent_default();
    desk.playing.set(false);
    desk.send(Msg::GoTo(to));
    focus_row(desk.look(Session::cursor));
}

// ---- parts

#[derive(Clone, PartialEq)]
struct Drawn {
    id: PartId,
    class: String,
    shapes: Vec<Shape>,
}

/// A part's strokes. What of a bar lies below the cursor is faint.
fn drawn(
    shown: &Shown,
    places: &LanePlaces,
    window: Window,
    cursor_y: i32,
    calls: &[i32],
) -> Drawn {
    let (from, to) = (window.from - ABOVE, window.to);
    let mut ink = Ink::new();
    ink.window = (from, to);
    ink.calls = calls.to_vec();
    strokes::part(&mut ink, shown, places, cursor_y);
    let faint = if shown.faint {
        "p-part p-future "
    } else {
        "p-part "
    };
    Drawn {
        id: shown.id,
        class: faint.to_string() + &strokes::hue(&shown.part),
        shapes: ink.shapes,
    }
}

fn draw_part(part: Drawn) -> AnyView {
    let Drawn { id, class, shapes } = part;
    view! { <g class=class data-part=id.0.to_string()>{shapes.into_iter().map(Shape::draw).collect_view()}</g> }.into_any()
}

/// The lanes' lines.
fn lanes(places: &LanePlaces, window: Window, cursor_y: i32, end: i32) -> Vec<Shape> {
    let mut ink = Ink::new();
    let (top, bottom) = ((-ABOVE).max(window.from - ABOVE), end.min(window.to));
    for (lane, x) in &places.lanes {
        let hue = match lane {
            Lane::Client(client) => " p-line--client ".to_string() + &super::controls::hue(*client),
            _ => String::new(),
        };
        let line = |from: i32, to: i32| {
            [
                "M",
                &x.to_string(),
                " ",
                &from.to_string(),
                "V",
                &to.to_string(),
            ]
            .concat()
        };
        if top < cursor_y {
            ink.path_in("p-line".to_string() + &hue, line(top, bottom.min(cursor_y)));
        }
        if bottom > cursor_y {
            ink.path_in(
                "p-line p-faint".to_string() + &hue,
                line(top.max(cursor_y), bottom),
            );
        }
    }
    ink.shapes
}

/// The heads of the lanes, which stay at the top.
fn heads_of(session: &Session, places: &LanePlaces) -> Vec<Shape> {
    let mut ink = Ink::new();
    if places.axis > 40 {
        ink.text("p-lane-note", 8, 26, "time, s".to_string());
    }
    let setup = session.setup();
    for (lane, x) in &places.lanes {
        let name = lane_name(setup, *lane);
        match lane {
            Lane::Client(client) => {
                strokes::client_badge(&mut ink, *x, 14, *client, &name);
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

/// The cursor's line with its flag, and what time it is.
fn flag_of(session: &Session, places: &LanePlaces, y: i32) -> Vec<Shape> {
    let mut ink = Ink::new();
    let (cursor, len) = (session.cursor(), session.timeline().len());
    let is_narrow = places.axis < 40;
    let words = match is_narrow {
        true => cursor.to_string(),
        false => cursor.to_string() + " of " + &len.to_string(),
    };
    let width = (words.len() as i32 * 7 + 10).max(if is_narrow { 28 } else { 72 });
    let y = y + 1;
    ink.path(
        "p-cursor",
        ["M0 ", &y.to_string(), "H", &places.width.to_string()].concat(),
    );
    ink.path(
        "p-cursor-tab",
        [
            "M0 ",
            &y.to_string(),
            "h",
            &width.to_string(),
            "v-16h-",
            &width.to_string(),
            "z",
        ]
        .concat(),
    );
    ink.text("p-cursor-word", width / 2, y - 4, words);
    if cursor == len {
        ink.text(
            "p-mono",
            places.axis + 6,
            y + 15,
            "now ".to_string() + &super::words::seconds(session.world().now) + " s",
        );
    }
    ink.shapes
}

// ---- the sentence of what is pointed at

#[derive(Clone, PartialEq)]
struct Tip {
    x: i32,
    y: i32,
    words: String,
}

fn tip_at(desk: Desk, event: &web_sys::MouseEvent) -> Option<Tip> {
    let target = event.target()?.dyn_into::<web_sys::Element>().ok()?;
    let part = target.closest("[data-part]").ok().flatten()?;
    let id = PartId(part.get_attribute("data-part")?.parse().ok()?);
    let words = desk
        .drawing
        .with_untracked(|drawing| drawing.diagram.sentence(&drawing.setup, id));
    (!words.is_empty()).then(|| Tip {
        x: event.client_x(),
        y: event.client_y(),
        words,
    })
}

fn draw_tip(tip: Tip) -> AnyView {
    let Tip { x, y, words } = tip;
    let pixels = |value: i32| value.to_string() + "px";
    view! { <div class="picture__tip" style:left=pixels(x) style:top=pixels(y) aria-hidden="true">{words}</div> }.into_any()
}
