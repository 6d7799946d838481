//! The space-time picture: the geometry comes from [`crate::diagram`], the strokes from [`crate::strokes`], and only what is seen is
//! drawn.

use std::sync::Arc;

use super::view::*;
use wasm_bindgen::JsCast;

use super::browser;
use super::clients::strip;
use super::controls::{Button, Items, Key, list};
use super::desk::{Desk, Over, Tab};
use super::properties::tally;
use super::search::seek;
use crate::diagram::{Diagram, Lane, LanePlaces, PartId, RowShown};
use crate::session::{Msg, Session, client_of};
use crate::sim::action::Action;
use crate::sim::setup::Setup;
use crate::strokes::ink::{Label, Shape};
use crate::strokes::{self, ABOVE, BELOW, Drawn};
use crate::words;

/// How far beyond the window is drawn, and how far one may scroll before it is drawn again, in pixels.
pub const BEYOND: i32 = 240;

/// The tallest window that is drawn in full, in pixels: no screen is taller, and a page that is printed must not draw everything.
const TALLEST: i32 = 4000;

/// The least and the most that it is enlarged, in percent.
const LEAST_ZOOM: usize = 25;
const MOST_ZOOM: usize = 300;

/// The most room that the sentence at the pointer takes, in pixels (style/over.css).
const WIDTH_OF_TIP: i32 = 384;

/// The most actions that the table tells of.
const MOST_TOLD: usize = 400;

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

impl Window {
    /// Between which heights something is seen.
    fn heights(self) -> (i32, i32) {
        (self.from, self.to)
    }
}

/// The panel of the picture.
pub fn picture(desk: Desk) -> AnyView {
    let seen = RwSignal::new(Window {
        width: 648,
        from: 0,
        to: 1200,
    });
    let window = Memo::new(move || match desk.whole.get() {
        true => Window {
            from: 0,
            to: i32::MAX / 4,
            ..seen.get()
        },
        false => seen.get(),
    });
    let body = NodeRef::<web_sys::HtmlDivElement>::new();
    let measure = move || {
        let Some(body) = body.get_untracked() else {
            return;
        };
        let by = scale(desk);
        let [top, height, width, left] = [
            body.scroll_top(),
            body.client_height(),
            body.client_width(),
            body.scroll_left(),
        ]
        .map(|pixels| (f64::from(pixels) / by) as i32);
        // What stands at the left stays there (style/picture.css).
        let style = web_sys::HtmlElement::style(&body);
        let _ = style.set_property("--scrolled", &(left.to_string() + "px"));
        let _ = style.set_property("--grounded", if left > 0 { "1" } else { "0" });
        if width > 0 {
            let from = (top / BEYOND - 1) * BEYOND;
            let to = ((top + height.min(TALLEST)) / BEYOND + 2) * BEYOND;
            let now = Window { width, from, to };
            if seen.get_untracked() != now {
                seen.set(now);
            }
        }
    };
    effect(move || {
        if let Some(body) = body.get() {
            browser::on_width(&body, move |_, _| measure());
        }
    });
    effect(move || {
        desk.zoom.get();
        request_animation_frame(measure);
    });
    let enlarged = move |pixels: i32| {
        desk.zoom.get();
        desk.whole.get();
        (f64::from(pixels) * scale(desk)).to_string()
    };
    let cursor = desk.read(Session::cursor);
    let places = Memo::new(move || {
        let width = window.get().width;
        desk.drawing.with(|drawing| {
            LanePlaces::new(
                &drawing.diagram.lanes(),
                drawing.diagram.locks().len(),
                width,
            )
        })
    });
    keep_cursor_in_view(desk, places);
    let shown = Memo::new(move || {
        let Window { from, to, .. } = window.get();
        let cursor = cursor.get();
        desk.drawing
            .with(|drawing| drawing.diagram.visible(from - ABOVE, to, cursor))
    });
    let size = Memo::new(move || {
        (
            places.with(|places| places.width),
            shown.with(|shown| shown.height + ABOVE + BELOW),
        )
    });
    let rows = Items::new(move || {
        let places = places.get();
        shown.with(|shown| {
            shown
                .rows
                .iter()
                .map(|row| row_of(row, &places, cursor.get()))
                .collect::<Vec<_>>()
        })
    });
    let drawn = Memo::new(move || {
        let window = window.get().heights();
        shown.with(|shown| strokes::parts(shown, &places.get(), window))
    });
    let parts = Items::new(move || {
        let part = |(part, _): &(Drawn, Vec<Label>)| (Key::from(part.id.0), part.clone());
        drawn.with(|drawn| drawn.iter().map(part).collect::<Vec<_>>())
    });
    let labels = Items::new(move || {
        shown.with(|shown| drawn.with(|drawn| strokes::labels(drawn, &shown.rows, &places.get())))
    });
    let lines = Memo::new(move || {
        shown.with(|shown| strokes::lanes(&places.get(), window.get().heights(), shown))
    });
    let axis = Memo::new(move || shown.with(|shown| strokes::axis(shown, &places.get())));
    let heads = Memo::new(move || {
        desk.session
            .with(|session| strokes::heads(session.setup(), &places.get()))
    });
    let cursor_y = Memo::new(move || shown.with(|shown| shown.cursor_y));
    let flag = Memo::new(move || {
        let now = desk.session.with(|session| {
            let is_at_end = session.cursor() == session.timeline().len();
            is_at_end.then_some(session.world().now)
        });
        strokes::flag(&places.get(), cursor_y.get(), now)
    });
    let tab = Memo::new(move || {
        let actions = desk.session.with(|session| session.timeline().len());
        strokes::tab(&places.get(), cursor_y.get(), cursor.get(), actions)
    });
    let is_empty = desk.read(|session| session.timeline().is_empty());
    let frozen = desk.read(Session::why_not_writable);
    let tip = RwSignal::new(None::<Tip>);
    let lit =
        Memo::new(move || tip.with(|tip| tip.as_ref().map_or(Vec::new(), |tip| tip.lit.clone())));
    effect(move || lit.with(|lit| light(lit)));
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
    let table = Button::new("The picture as a table (B)")
        .class("skip")
        .does(move || desk.over.set(Some(Over::Table)));
    let zooms = move |icon, label: &str, does: fn(Desk)| {
        Button::icon_only(icon, label)
            .class("button--small")
            .does(move || does(desk))
    };
    view! {
        <section class="picture panel" aria-labelledby="h-picture">
            <header class="panel__head">
                <h2 class="panel__title" id="h-picture">"Picture"</h2>
                {tally(desk)}
                {seek(desk)}
            </header>
            {super::guide::band(desk)}
            {move || frozen.get().map(|_| old_text(desk))}
            <div
                class="picture__scroll panel__body"
                id=BODY
                node_ref=body
                on:scroll=move |_| { measure(); tip.set(tip_at_focus(desk)) }
                on:click=move |event| go_to_row(desk, &event)
                on:keydown=move |event| move_by_key(desk, &event)
                on:mousemove=move |event| tip.set(tip_at(desk, &event))
                on:mouseleave=move |_| tip.set(None)
                on:focusin=move |_| tip.set(tip_at_focus(desk))
                on:focusout=move |_| tip.set(None)
            >
                {table.draw(desk)}
                <svg
                    class="picture__heads"
                    aria-hidden="true"
                    height=move || enlarged(42)
                    width=move || enlarged(size.get().0)
                    viewBox=move || ["0 0", &size.get().0.to_string(), "42"].join(" ")
                >
                    {move || heads.get().into_iter().map(draw).collect_view()}
                    <g class="p-axis">
                        {move || strokes::corner(&places.get()).into_iter().map(draw).collect_view()}
                    </g>
                </svg>
                <svg
                    class="picture__time"
                    id="picture-time"
                    role="group"
                    aria-label=label
                    width=move || enlarged(size.get().0)
                    height=move || enlarged(size.get().1)
                    viewBox=drawn_box
                >
                    {list(rows, draw_row)}
                    {move || lines.get().into_iter().map(draw).collect_view()}
                    {list(parts, draw_part)}
                    {list(labels, draw_part)}
                    {move || flag.get().into_iter().map(draw).collect_view()}
                    <g class="p-axis">
                        {move || axis.get().into_iter().map(draw).collect_view()}
                        {move || tab.get().into_iter().map(draw).collect_view()}
                    </g>
                </svg>
                {move || is_empty.get().then(nothing_yet)}
            </div>
            <div class="picture__zoom">
                {zooms("less", "Smaller (-)", |desk| zoom(desk, 4, 5)).draw(desk)}
                {zooms("fit", "As much of it as fits (0)", fit).draw(desk)}
                {zooms("add", "Larger (+)", |desk| zoom(desk, 5, 4)).draw(desk)}
            </div>
            {strip(desk)}
            {move || tip.get().map(draw_tip)}
        </section>
    }
}

fn old_text(desk: Desk) -> AnyView {
    let show = move |_| super::text::show_first_error(desk);
    view! {
        <p class="picture__band">
            "The text does not parse: this shows the last one that did. "
            <button type="button" class="link" on:click=show>"See the errors"</button>
        </p>
    }
    .into_any()
}

fn nothing_yet() -> AnyView {
    view! {
        <p class="picture__empty">
            "Nothing has happened yet. Step a client, advance the clock, or type at a console: each becomes a row here."
        </p>
    }
    .into_any()
}

// ---- larger and smaller

/// By how much the picture is enlarged; a file and paper get it as it is.
fn scale(desk: Desk) -> f64 {
    match desk.whole.get_untracked() {
        true => 1.0,
        false => desk.zoom.get_untracked() as f64 / 100.0,
    }
}

/// Makes the picture larger or smaller by a fraction. Its lanes fill the panel all the same.
pub fn zoom(desk: Desk, by: usize, of: usize) {
    desk.zoom
        .update(|zoom| *zoom = (*zoom * by / of).clamp(LEAST_ZOOM, MOST_ZOOM));
}

/// Makes the picture as small as it takes to see all of it, where that can still be read.
pub fn fit(desk: Desk) {
    let Some(body) = browser::element(BODY) else {
        return;
    };
    let (width, height) = desk.drawing.with_untracked(|drawing| {
        let diagram = &drawing.diagram;
        let places = LanePlaces::new(&diagram.lanes(), diagram.locks().len(), 0);
        let height = diagram.height(diagram.len()) + ABOVE + BELOW + strokes::HEADS;
        (places.width, height)
    });
    let fits = |seen: i32, all: i32| (seen.max(0) * 100 / all.max(1)) as usize;
    let fits = fits(body.client_width(), width).min(fits(body.client_height(), height));
    desk.zoom.set(fits.clamp(LEAST_ZOOM, 100));
}

// ---- as a table

/// What the dialog shows: the picture's equal in words, around the cursor where it is long.
pub fn as_table(desk: Desk) -> AnyView {
    let cursor = desk.look(Session::cursor);
    let from = cursor.saturating_sub(MOST_TOLD / 2);
    let rows = desk.drawing.with_untracked(|drawing| {
        drawing
            .diagram
            .as_table(&drawing.setup, from..from + MOST_TOLD)
    });
    let all = desk.look(|session| session.timeline().len());
    let note = (all > MOST_TOLD).then(|| {
        let told = "Actions ".to_string() + &(from + 1).to_string() + " to ";
        let told = told + &(from + MOST_TOLD).min(all).to_string() + " of " + &all.to_string();
        view! { <p class="share__note">{told}", those around the cursor."</p> }
    });
    let rows = rows.into_iter().map(|row| {
        let to = row.action + 1;
        let go = move |_| {
            desk.over.set(None);
            desk.send(Msg::GoTo(to));
        };
        let label = "Move the cursor to action ".to_string() + &to.to_string();
        view! {
            <tr aria-current=(to == cursor).then_some("true")>
                <td><button type="button" class="link" aria-label=label on:click=go>{to}</button></td>
                <td>{row.time}</td>
                <td>{row.who}</td>
                <td>{row.what}</td>
                <td>{row.verdict}</td>
            </tr>
        }
    });
    view! {
        {note}
        <div class="rows__scroll">
            <table class="rows told">
                <thead><tr>
                    <th scope="col">"Action"</th><th scope="col">"Time, s"</th><th scope="col">"Who"</th><th scope="col">"What"</th>
                    <th scope="col">"Verdict"</th>
                </tr></thead>
                <tbody>{rows.collect_view()}</tbody>
            </table>
        </div>
    }
    .into_any()
}

/// Scrolls so that the cursor's line, and the lane of whoever acted last, are seen whenever the cursor moves.
fn keep_cursor_in_view(desk: Desk, places: Memo<LanePlaces>) {
    let place = Memo::new(move || {
        let cursor = desk.session.with(Session::cursor);
        (
            cursor,
            desk.drawing.with(|drawing| drawing.diagram.height(cursor)),
            desk.tab.get(),
            desk.zoom.get(),
        )
    });
    effect(move || {
        let (_, y, ..) = place.get();
        let actor =
            desk.look(|session| session.last_entry().and_then(|entry| actor(&entry.action)));
        let x = actor.and_then(|lane| places.with_untracked(|places| places.x(lane)));
        request_animation_frame(move || {
            let Some(body) = browser::element(BODY) else {
                return;
            };
            let by = scale(desk);
            let to = |pixels: i32| (f64::from(pixels) * by) as i32;
            let (top, height) = (body.scroll_top(), body.client_height());
            // The heads stay at the top, and the row before the cursor is what one wants to see.
            let (least, most) = (to(y + ABOVE + BELOW + 42) - height, to(y + ABOVE - 110));
            if top < least || top > most {
                body.set_scroll_top(if top < least { least } else { most.max(0) });
            }
            // The axis stays at the left, and beside a lane stand its belief and its words.
            if let Some(x) = x {
                let (left, width) = (body.scroll_left(), body.client_width());
                let (least, most) = (to(x + 110) - width, to(x - 130));
                if left < least || left > most.max(0) {
                    body.set_scroll_left(if left < least { least } else { most });
                }
            }
        });
    });
}

/// The lane where an action is seen: that of whoever acts, or of the server that it is done to.
fn actor(action: &Action) -> Option<Lane> {
    match action {
        Action::Advance { .. } | Action::AdvanceToNextDeadline => None,
        // What is done to a server is drawn at the server.
        Action::CrashServer { server } | Action::RestartServer { server, .. } => {
            Some(Lane::Store(*server))
        }
        Action::Replicate { to, .. } | Action::Failover { to } => Some(Lane::Store(*to)),
        action => Some(client_of(action).map_or(Lane::Operator, Lane::Client)),
    }
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
    let drawn = Row {
        action: row.action,
        label: (row.action + 1).to_string() + ": " + &row.label,
        class: strokes::row_class(row.kind),
        top: row.top,
        height: row.height,
        width: places.width,
        is_current: row.action + 1 == cursor,
        ground: strokes::row_ground(row, places),
        faint: row.faint,
    };
    (row.action as Key, drawn)
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
            {ground.into_iter().map(draw).collect_view()}
        </g>
    }
    .into_any()
}

/// The action whose row is at the pointer.
fn row_at(desk: Desk, event: &web_sys::MouseEvent) -> Option<usize> {
    let time = document().get_element_by_id("picture-time")?;
    let y = f64::from(event.client_y()) - time.get_bounding_client_rect().top();
    let y = y / scale(desk) - f64::from(ABOVE);
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

/// Shows the picture, with the focus on the row before the cursor.
pub fn go(desk: Desk) {
    desk.tab.set(Tab::Picture);
    focus_row(desk.look(Session::cursor).max(1));
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

/// A shape on the page.
pub fn draw(shape: Shape) -> AnyView {
    match shape {
        Shape::Path { class, way } => view! { <path class=class d=way /> }.into_any(),
        Shape::Hatched { class, way } => {
            view! { <path class=class d=way fill="url(#hatch-stale)" /> }.into_any()
        }
        Shape::Text {
            class,
            at: (x, y),
            upward,
            words,
        } => {
            let turn = if upward { " rotate(-90)" } else { "" };
            let place = ["translate(", &x.to_string(), " ", &y.to_string(), ")", turn].concat();
            view! { <text class=class transform=place>{words}</text> }.into_any()
        }
    }
}

fn draw_part(part: Drawn) -> AnyView {
    let Drawn { id, class, shapes } = part;
    let id = (id.0 < u32::MAX).then(|| id.0.to_string());
    view! { <g class=class data-part=id>{shapes.into_iter().map(draw).collect_view()}</g> }
        .into_any()
}

// ---- the sentence of what is pointed at

#[derive(Clone, PartialEq)]
struct Tip {
    x: i32,
    y: i32,
    words: String,
    /// The causes and the effects of what is pointed at.
    lit: Vec<PartId>,
}

/// The most sentences that a row tells at once.
const MOST_SENTENCES: usize = 5;

fn tip_at(desk: Desk, event: &web_sys::MouseEvent) -> Option<Tip> {
    let target = event.target()?.dyn_into::<web_sys::Element>().ok()?;
    let part = target.closest("[data-part]").ok().flatten();
    let (words, lit) = match part.and_then(|part| part_of(&part)) {
        Some(part) => desk.drawing.with_untracked(|drawing| {
            let diagram = &drawing.diagram;
            (
                diagram.sentence(&drawing.setup, part),
                diagram.related(part),
            )
        }),
        None => (told_by_row(desk, row_at(desk, event)?), Vec::new()),
    };
    (!words.is_empty()).then(|| Tip {
        x: event.client_x(),
        y: event.client_y(),
        words,
        lit,
    })
}

fn part_of(element: &web_sys::Element) -> Option<PartId> {
    let id = element.get_attribute("data-part")?;
    id.parse().ok().map(PartId)
}

/// The sentence of the row that the keyboard has come to.
fn tip_at_focus(desk: Desk) -> Option<Tip> {
    let row = document().active_element()?;
    let is_row = row.matches(".p-row:focus-visible") == Ok(true);
    let number = is_row.then(|| row.id())?;
    let action = number.strip_prefix("row-")?.parse::<usize>().ok()? - 1;
    let words = told_by_row(desk, action);
    let place = row.get_bounding_client_rect();
    (!words.is_empty()).then(|| Tip {
        x: place.left() as i32 + 80,
        y: place.bottom() as i32,
        words,
        lit: desk
            .drawing
            .with_untracked(|drawing| drawing.diagram.related_to_row(action)),
    })
}

/// Shows these parts before all others.
fn light(lit: &[PartId]) {
    let Some(time) = document().get_element_by_id("picture-time") else {
        return;
    };
    let mark = |element: &web_sys::Element, is_lit: bool| {
        let _ = element.toggle_attribute_with_force("data-lit", is_lit);
    };
    mark(&time, !lit.is_empty());
    let mut next = time.first_element_child();
    while let Some(element) = next {
        mark(
            &element,
            part_of(&element).is_some_and(|part| lit.contains(&part)),
        );
        next = element.next_element_sibling();
    }
}

/// What an action brought about, in sentences.
fn told_by_row(desk: Desk, action: usize) -> String {
    desk.drawing.with_untracked(|drawing| {
        let told = drawing
            .diagram
            .as_table(&drawing.setup, action..action + 1)
            .into_iter()
            .map(|row| row.what);
        let mut told: Vec<String> = told.collect();
        if told.len() > MOST_SENTENCES {
            told.truncate(MOST_SENTENCES);
            told.push("…".to_string());
        }
        told.join(" ")
    })
}

fn draw_tip(tip: Tip) -> AnyView {
    let Tip { x, y, words, .. } = tip;
    let pixels = |value: i32| value.to_string() + "px";
    let (width, height) = browser::window_size();
    let x = x.min(width as i32 - WIDTH_OF_TIP).max(0);
    let class = match f64::from(y) > height * 0.7 {
        true => "picture__tip picture__tip--above",
        false => "picture__tip",
    };
    view! { <div class=class style:left=pixels(x) style:top=pixels(y) aria-hidden="true">{words}</div> }.into_any()
}
