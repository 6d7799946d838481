//! The schedule beside itself with one thing changed: which replies differ, where the two part, and what is so at the end.

use super::view::*;

use web_sys::HtmlDivElement;

use super::browser;
use super::controls::{Button, fresh_id};
use super::desk::Desk;
use super::picture::{BEYOND, draw as draw_shape};
use crate::compare::{Change, Comparison, MOST_COMPARED, Row, Side, choices, compare};
use crate::diagram::{Diagram, LanePlaces};
use crate::session::Msg;
use crate::strokes::{self, ABOVE, BELOW};
use crate::timeline::Timeline;
use crate::words;

/// Below this width of the window the two pictures stand one above the other, and the widest that both are together, in pixels
/// (style/over.css).
const NARROW: f64 = 800.0;
const WIDEST: f64 = 1344.0;

/// What the dialog shows.
pub fn view(desk: Desk) -> AnyView {
    let (text, changes) = desk.look(|session| {
        let text = session.text();
        let changes = choices(&text, session.reading());
        (text, changes)
    });
    if changes.is_empty() {
        return view! {
            <p class="empty">
                "There is nothing to change here: no statement of a protocol compares a watched fence column with a variable, and no protocol of \
                 the text or of the library is like one that somebody runs."
            </p>
        }
        .into_any();
    }
    let chosen = RwSignal::new(0);
    let options = changes.iter().enumerate().map(|(place, change)| {
        let words = words::sentence(&with_its_rival(change, &changes));
        view! { <option value=place.to_string() selected=place == 0>{words}</option> }
    });
    let options = options.collect_view();
    let choose = move |event| chosen.set(event_target_value(&event).parse().unwrap_or_default());
    let show = move || {
        let change = changes.get(chosen.get())?;
        Some(match compare(&text, change) {
            Ok(comparison) => draw(desk, change, comparison),
            Err(errors) => {
                let why = errors.first().map(ToString::to_string).unwrap_or_default();
                view! { <p class="search__said">"With this change the text cannot be read: "{why}</p> }.into_any()
            }
        })
    };
    let id = fresh_id();
    view! {
        <div class="search__goal">
            <label class="share__note" for=id.clone()>"Beside the schedule as it is, the same one with"</label>
            <select class="select" id=id on:change=choose>{options}</select>
        </div>
        <div aria-live="polite">{show}</div>
    }
    .into_any()
}

/// What is changed, and in place of what where several protocols could be replaced.
fn with_its_rival(change: &Change, all: &[Change]) -> String {
    let replaced = |change: &Change| match change {
        Change::Protocol { from, .. } => Some(from.clone()),
        Change::Fence { .. } => None,
    };
    let own = replaced(change);
    let others = all.iter().any(|other| {
        let other = replaced(other);
        other.is_some() && other != own
    });
    match own.filter(|_| others) {
        Some(from) => change.in_words() + " in place of " + &from,
        None => change.in_words(),
    }
}

fn draw(desk: Desk, change: &Change, comparison: Comparison) -> AnyView {
    let Comparison {
        played,
        rows,
        parts_at,
        parts_in,
        ends,
        not_compared,
        text,
    } = comparison;
    let parting = parts_at.and_then(|place| rows.get(place)).cloned();
    let cursor = parting.as_ref().map(|row| row.played[1]);
    let open = Button::new("Open it")
        .label(
            "Open the other one as a scenario of its own; what is open is kept if it was changed",
        )
        .primary(true)
        .does(move || {
            desk.over.set(None);
            let text = text.clone();
            desk.send(Msg::Open { text, cursor });
        });
    let names = ["As it is".to_string(), words::sentence(&change.in_words())];
    let pictures = draw_pictures(played, names.clone(), parting.as_ref());
    let rows = rows.into_iter().enumerate();
    let rows = rows.map(|(place, row)| draw_row(row, parts_at == Some(place)));
    let rows = rows.collect_view();
    let heads = names.map(|name| view! { <th scope="col">{name}</th> });
    let heads = heads.into_iter().collect_view();
    let cut = (not_compared > 0).then(|| {
        view! { <p class="share__note">"Only the first "{MOST_COMPARED}" actions are compared."</p> }
    });
    view! {
        <div class="share__row beside__said"><p class="search__result">{said(desk, parting, &parts_in)}</p>{open.draw(desk)}</div>
        {pictures}
        {draw_ends(ends)}
        <h3 class="help__title">"Line by line"</h3>
        <div class="rows__scroll">
            <table class="rows compare">
                <thead><tr><th scope="col">"Schedule"</th>{heads}</tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
        {cut}
    }
    .into_any()
}

/// Both as pictures that scroll as one, with the row where they part at the same height.
fn draw_pictures(played: [Timeline; 2], names: [String; 2], parting: Option<&Row>) -> AnyView {
    let (width, seen) = browser::window_size();
    let width = match width < NARROW {
        true => width * 0.94 - 36.0,
        false => (width * 0.96).min(WIDEST) / 2.0 - 28.0,
    };
    let mut sides = [0, 1].map(|side| Pictured::of(&played[side], side, width as i32, parting));
    let most = |number: fn(&Pictured) -> i32| sides.iter().map(number).max().unwrap_or(0);
    let first = most(|side| side.marked.0);
    let width = most(|side| side.places.width);
    for side in &mut sides {
        side.down = first - side.marked.0;
    }
    let height = sides.iter().map(Pictured::height).max().unwrap_or(0) + ABOVE + BELOW;
    let top = RwSignal::new(0);
    let scrollers = [NodeRef::<HtmlDivElement>::new(), NodeRef::new()];
    if parting.is_some() {
        request_animation_frame(move || scroll(scrollers, (0, first - 80)));
    }
    let scrolled = move |event: web_sys::Event| {
        let by = event_target::<HtmlDivElement>(&event);
        scroll(scrollers, (by.scroll_left(), by.scroll_top()));
        top.set(by.scroll_top() / BEYOND * BEYOND);
    };
    let is_marked = parting.is_some();
    let all = sides.into_iter().zip(played).zip(names).zip(scrollers);
    let all = all.map(|(((side, timeline), name), scroller)| {
        let heads = strokes::heads(timeline.setup(), &side.places);
        let label = words::count(timeline.len(), "action", "actions") + ", line by line below";
        let above = (-ABOVE - side.down).to_string();
        let time = move || {
            let from = top.get() - BEYOND - side.down;
            let window = (from, from + seen as i32 + 2 * BEYOND);
            let mark = is_marked.then(|| strokes::parting(side.marked, width));
            let sheet = strokes::sheet(&side.diagram, &side.places, window, &timeline);
            let groups = mark.into_iter().chain(sheet).map(|(class, shapes)| {
                view! { <g class=class>{shapes.into_iter().map(draw_shape).collect_view()}</g> }
            });
            groups.collect_view()
        };
        let (width, height) = (width.to_string(), height.to_string());
        let shown = ["0", &above, &width, &height].join(" ");
        view! {
            <figure>
                <figcaption>{name}</figcaption>
                <div class="picture beside__scroll" tabindex="0" node_ref=scroller on:scroll=scrolled>
                    <svg class="picture__heads" aria-hidden="true" width=width.clone() height="42" viewBox="0 0 ".to_string() + &width + " 42">
                        {heads.into_iter().map(draw_shape).collect_view()}
                    </svg>
                    <svg class="picture__time" role="img" aria-label=label width=width.clone() height=height viewBox=shown>{time}</svg>
                </div>
            </figure>
        }
    });
    view! { <div class="beside">{all.collect_view()}</div> }.into_any()
}

/// One side's picture.
struct Pictured {
    diagram: Diagram,
    places: LanePlaces,
    /// Between which heights the sides part.
    marked: (i32, i32),
    /// By how much it is moved down, so that this is beside the same of the other.
    down: i32,
}

impl Pictured {
    fn of(timeline: &Timeline, side: usize, width: i32, parting: Option<&Row>) -> Pictured {
        let mut diagram = Diagram::new(timeline.setup());
        for entry in timeline.entries() {
            diagram.extend(timeline.setup(), entry);
        }
        let marked = parting.map_or((0, 0), |row| {
            let is_done = matches!(row.sides[side], Side::Done(_));
            let from = row.played[side] - usize::from(is_done);
            (diagram.height(from), diagram.height(row.played[side]))
        });
        Pictured {
            places: LanePlaces::new(&diagram.lanes(), diagram.locks().len(), width),
            diagram,
            marked,
            down: 0,
        }
    }

    fn height(&self) -> i32 {
        self.down + self.diagram.height(self.diagram.len())
    }
}

/// Scrolls both pictures to the same place.
fn scroll(pictures: [NodeRef<HtmlDivElement>; 2], (left, top): (i32, i32)) {
    for picture in pictures.into_iter().filter_map(NodeRef::get_untracked) {
        picture.set_scroll_left(left);
        picture.set_scroll_top(top);
    }
}

/// Where the two part, with a way there.
fn said(desk: Desk, parting: Option<Row>, parts_in: &[&'static str]) -> AnyView {
    let Some(row) = parting else {
        return "They never part: the rows, the charges, the locks and the beliefs stay the same."
            .into_any();
    };
    let place = row.played[0];
    let go = move |_| {
        desk.over.set(None);
        desk.send(Msg::GoTo(place));
    };
    let what = parts_in.join(" and ");
    view! {
        <span>
            "They part at "
            <button type="button" class="link" title="Close this, and move the cursor there" on:click=go>
                "action "{place}", "<code>{row.line}</code>
            </button>
            ": from there "{what}" are not the same."
        </span>
    }
    .into_any()
}

fn draw_row(row: Row, parts: bool) -> AnyView {
    let class = match (parts, row.differs()) {
        (true, _) => "compare__parts",
        (false, true) => "compare__differs",
        (false, false) => "",
    };
    let sides = row.sides.into_iter().map(draw_side).collect_view();
    let mark = parts.then(|| view! { <span class="chip">"they part"</span> });
    view! { <tr class=class><th scope="row">{row.line}{mark}</th>{sides}</tr> }.into_any()
}

fn draw_side(side: Side) -> AnyView {
    let (class, words) = match side {
        Side::Done(reply) => ("", reply),
        Side::LeftOut(why) => ("compare__left-out", why),
        Side::Absent => ("compare__left-out", "not in this schedule".to_string()),
    };
    view! { <td class=class>{words}</td> }.into_any()
}

/// What is so at the end and differs.
fn draw_ends(ends: Vec<[Option<String>; 2]>) -> Option<AnyView> {
    (!ends.is_empty()).then(|| {
        let rows = ends.into_iter().map(|sides| {
            let cells = sides.into_iter().map(|side| view! { <td>{side}</td> });
            view! { <tr>{cells.collect_view()}</tr> }
        });
        view! {
            <h3 class="help__title">"At the end"</h3>
            <div class="rows__scroll">
                <table class="rows compare">
                    <thead class="hidden-but-read"><tr><th scope="col">"As it is"</th><th scope="col">"Changed"</th></tr></thead>
                    <tbody>{rows.collect_view()}</tbody>
                </table>
            </div>
        }
        .into_any()
    })
}
