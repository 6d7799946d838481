//! The text: a textarea over a coloured copy of itself, of which only the lines that are seen are drawn, with numbers and marks
//! beside them.

use super::view::*;
use web_sys::HtmlTextAreaElement;

use super::browser::{self, Timer};
use super::completing::Completing;
use super::controls::{Button, Items, Key, icon, list};
use super::desk::{Desk, Dock, Tab};
use super::share;
use crate::scenario::check::Difference;
use crate::scenario::complete::{block_of, top_level_word};
use crate::scenario::highlight::{self, Piece};
use crate::session::{Msg, Session};
use crate::words;

/// After how many milliseconds without a key the text is replayed.
const PAUSE_OF_TYPING: i32 = 250;

/// From this many bytes on the textarea follows clicks a little later.
const LARGE: usize = 20_000;

/// How many milliseconds later.
const LATER: i32 = 400;

/// The most errors that are listed.
const MOST_ERRORS: usize = 20;

/// The element that scrolls.
const BODY: &str = "text-body";

/// What of the text is seen: the scrolled pixels, the height of the window, the height of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Seen {
    top: f64,
    height: f64,
    line: f64,
}

impl Seen {
    fn first(&self) -> usize {
        ((self.top / self.line) as usize).saturating_sub(4)
    }

    fn count(&self) -> usize {
        (self.height / self.line) as usize + 10
    }
}

/// The panel of the text.
pub fn text(desk: Desk) -> AnyView {
    let seen = RwSignal::new(Seen {
        top: 0.0,
        height: 400.0,
        line: 18.0,
    });
    // What has been typed and not been read yet.
    let typed = RwSignal::new(None::<String>);
    let area = NodeRef::<web_sys::HtmlTextAreaElement>::new();
    let timer = Timer::new();
    let read = move || {
        timer.clear();
        if let Some(text) = typed.get_untracked() {
            desk.send(Msg::Edit(text));
            typed.set(None);
        }
    };
    let body = NodeRef::<web_sys::HtmlDivElement>::new();
    let probe = NodeRef::<web_sys::HtmlDivElement>::new();
    let completing = Completing::new(area, probe);
    let typing = move |event: web_sys::Event| {
        typed.set(Some(event_target_value(&event)));
        timer.set(PAUSE_OF_TYPING, read);
        completing.typed(&event);
    };
    follow_session(desk, area, typed);
    follow_cursor(desk, area, seen);
    let size = Memo::new(move || {
        with_lines(desk, typed, |lines| {
            (
                lines.len(),
                lines
                    .iter()
                    .map(|line| line.chars().count())
                    .max()
                    .unwrap_or(0),
            )
        })
    });
    let rows = Items::new(move || {
        // What is printed is the whole.
        let (first, count) = match desk.whole.get() {
            true => (0, usize::MAX),
            false => seen.with(|seen| (seen.first(), seen.count())),
        };
        with_lines(desk, typed, |lines| {
            desk.session.with(|session| {
                desk.unmet
                    .with(|unmet| rows_of(session, unmet, lines, first, count))
            })
        })
    });
    let numbers = Items::new(move || rows.map(Row::number));
    let offset = move || {
        "translateY(".to_string()
            + &(first_shown(rows) as f64 * seen.get().line).to_string()
            + "px)"
    };
    let height = move || (size.get().0.max(1) as f64 * seen.get().line).to_string() + "px";
    let width = move || "calc(".to_string() + &(size.get().1 + 2).to_string() + "ch + 1rem)";
    let measure = move || {
        if let (Some(body), Some(probe)) = (body.get_untracked(), probe.get_untracked()) {
            let line = probe.get_bounding_client_rect().height() / 10.0;
            let (top, height) = (
                f64::from(body.scroll_top()),
                f64::from(body.client_height()),
            );
            if line > 1.0 {
                seen.set(Seen { top, height, line });
            }
            completing.follow();
        }
    };
    effect(move || {
        if let Some(body) = body.get() {
            browser::on_width(&body, move |_, _| measure());
        }
    });
    view! {
        <section class="text panel" id="dock-text" role="tabpanel" aria-label="Text">
            <header class="panel__head panel__head--undocked">
                <h2 class="panel__title">"Text"</h2>
                <span class="panel__tools">{tools(desk)}</span>
            </header>
            <div class="panel__body" id=BODY node_ref=body on:scroll=move |_| measure()>
                <div class="text__probe" node_ref=probe aria-hidden="true"></div>
                <div class="text__gutter" style:height=height aria-hidden="true">
                    <div class="text__numbers" style:transform=offset>{list(numbers, draw_number)}</div>
                </div>
                <div class="text__sheet" style:height=height style:min-width=width>
                    <pre class="text__copy" style:transform=offset aria-hidden="true">{list(rows, draw_row)}</pre>
                    <textarea
                        class="text__area"
                        id="text-area"
                        node_ref=area
                        aria-label="The scenario’s text"
                        aria-describedby="text-state"
                        wrap="off"
                        spellcheck="false"
                        autocomplete="off"
                        autocapitalize="off"
                        aria-autocomplete="list"
                        aria-controls="text-choices"
                        aria-activedescendant=move || completing.active_id()
                        on:input=typing
                        on:keydown=move |event| completing.key(event)
                        on:click=move |_| completing.close()
                        on:blur=move |_| { completing.close(); read() }
                        on:focus=move |_| sync(desk, area, typed)
                    ></textarea>
                </div>
            </div>
            {completing.draw()}
            {state(desk)}
        </section>
    }
}

/// The buttons of the text.
pub fn tools(desk: Desk) -> AnyView {
    let frozen = desk.read(Session::why_not_writable);
    let file = NodeRef::<web_sys::HtmlInputElement>::new();
    let chosen = move |_| {
        let Some(input) = file.get_untracked() else {
            return;
        };
        if let Some(chosen) = input.files().and_then(|files| files.get(0)) {
            share::open_file(desk, chosen);
        }
        input.set_value("");
    };
    let choose = move || {
        if let Some(input) = file.get_untracked() {
            input.click();
        }
    };
    let buttons = move || {
        let frozen = frozen.get();
        let format = Button::new("Format")
            .label("Write the text as the canonical printer does")
            .class("button--small")
            .unless(frozen.clone())
            .sends(desk, Msg::Format);
        let pin = Button::new("Pin")
            .label("Write an expect part that pins what is so at the end of the schedule")
            .class("button--small")
            .unless(frozen)
            .sends(desk, Msg::PinExpectations);
        let save = Button::new("Save")
            .label("Save the text as a file")
            .class("button--small")
            .does(move || share::save_file(desk));
        let open = Button::new("Open")
            .label("Open a scenario file")
            .class("button--small")
            .does(choose);
        view! { {format.draw(desk)} {pin.draw(desk)} {save.draw(desk)} {open.draw(desk)} }
    };
    view! {
        {buttons}
        <input class="hidden-but-read" type="file" tabindex="-1" aria-hidden="true" accept=".latchkey,text/plain" node_ref=file on:change=chosen />
    }
}

/// Shows this line (from 1) of the text.
pub fn show_line(desk: Desk, line: usize) {
    desk.dock.set(Dock::Text);
    desk.tab.set(Tab::Text);
    // The panel that comes up shows the cursor's line first.
    request_animation_frame(move || request_animation_frame(move || scroll_to(line, 18.0)));
}

/// Shows the first line that is wrong.
pub fn show_first_error(desk: Desk) {
    let line = desk.look(|session| session.errors().first().map(|error| error.line));
    show_line(desk, line.unwrap_or(1));
}

fn scroll_to(line: usize, height: f64) {
    if let Some(body) = browser::element(BODY) {
        let middle = f64::from(body.client_height()) / 2.0;
        body.set_scroll_top((line as f64 * height - middle).max(0.0) as i32);
    }
}

/// Keeps the textarea on the session's text: at once while it is small, a moment later when it is large.
fn follow_session(
    desk: Desk,
    area: NodeRef<web_sys::HtmlTextAreaElement>,
    typed: RwSignal<Option<String>>,
) {
    let revision = desk.read(|session| (session.revision(), session.document().bytes()));
    let timer = Timer::new();
    effect(move || {
        let (_, bytes) = revision.get();
        area.track();
        match bytes < LARGE {
            true => sync(desk, area, typed),
            false => timer.set(LATER, move || sync(desk, area, typed)),
        }
    });
}

fn sync(desk: Desk, area: NodeRef<web_sys::HtmlTextAreaElement>, typed: RwSignal<Option<String>>) {
    let Some(area) = area.get_untracked() else {
        return;
    };
    if typed.with_untracked(Option::is_some) {
        return;
    }
    let area: &HtmlTextAreaElement = &area;
    let text = desk.look(Session::edited_text);
    // The last line may still be without its end where somebody types; to write it again would move the caret.
    if area.value().trim_end() != text.trim_end() {
        area.set_value(&text);
    }
}

/// Shows the cursor's line in the middle whenever the cursor moves, unless somebody types.
fn follow_cursor(desk: Desk, area: NodeRef<web_sys::HtmlTextAreaElement>, seen: RwSignal<Seen>) {
    let line = desk.read(|session| {
        let action = session.cursor().checked_sub(1);
        let line = action.and_then(|action| session.document().line_of(action));
        (
            line.unwrap_or(1),
            session.document().lines().len(),
            session.title(),
        )
    });
    let shown = Memo::new(move || (desk.dock.get(), desk.tab.get()));
    effect(move || {
        let (line, ..) = line.get();
        // A memo that nobody has asked yet knows of no change.
        shown.get();
        let area = area.get();
        let has_focus = area.is_some_and(|area| {
            document()
                .active_element()
                .is_some_and(|active| *active == ***area)
        });
        if !has_focus {
            request_animation_frame(move || scroll_to(line, seen.get_untracked().line));
        }
    });
}

/// The lines of what is seen: what is typed, else the draft, else the text.
fn with_lines<T>(
    desk: Desk,
    typed: RwSignal<Option<String>>,
    look: impl FnOnce(&[&str]) -> T,
) -> T {
    typed.with(|typed| {
        desk.session
            .with(|session| match typed.as_deref().or(session.draft()) {
                Some(text) => look(&text.split('\n').collect::<Vec<_>>()),
                None => {
                    let lines = session.document().lines().iter().map(String::as_str);
                    look(&lines.chain([""]).collect::<Vec<_>>())
                }
            })
    })
}

#[derive(Clone, PartialEq)]
struct Row {
    line: usize,
    pieces: Vec<Piece>,
    mark: Mark,
    message: Option<String>,
}

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    None,
    Met,
    Differs,
    Error,
    Warning,
    Cursor,
}

impl Row {
    fn number(&self) -> (usize, Mark) {
        (self.line, self.mark)
    }
}

fn first_shown(rows: Items<Row>) -> usize {
    let lines = rows.map(|row| row.line);
    lines.first().map_or(0, |(_, line)| line - 1)
}

fn rows_of(
    session: &Session,
    unmet: &[Difference],
    lines: &[&str],
    first: usize,
    count: usize,
) -> Vec<(Key, Row)> {
    let first = first.min(lines.len().saturating_sub(count));
    let mut block = block_of(lines, first);
    let first_error = session.errors().first();
    let mut rows = Vec::new();
    for (place, line) in lines.iter().enumerate().skip(first).take(count) {
        let word = top_level_word(line);
        if !word.is_empty() {
            block = word;
        }
        let number = place + 1;
        let mut told = session.errors().iter().chain(session.warnings());
        let error = told.find(|error| error.line == number);
        let pieces = highlight::pieces(line, block);
        let pieces = match error {
            Some(error) => highlight::mark_wrong(pieces, error.column, error.length),
            None => pieces,
        };
        let is_unmet = unmet.iter().any(|unmet| unmet.line == number);
        // What was expected stands in the list below.
        let message = error
            .filter(|error| first_error == Some(error))
            .map(|error| error.message.clone());
        let row = Row {
            line: number,
            pieces,
            mark: mark_of(session, number, line, is_unmet),
            message,
        };
        rows.push((number as Key, row));
    }
    rows
}

fn mark_of(session: &Session, number: usize, line: &str, is_unmet: bool) -> Mark {
    if !session.errors().is_empty() {
        let is_wrong = session.errors().iter().any(|error| error.line == number);
        return if is_wrong { Mark::Error } else { Mark::None };
    }
    let action = session.document().action_on(number);
    let differs = action.is_some_and(|action| {
        session
            .mismatches()
            .iter()
            .any(|mismatch| mismatch.action == action)
    });
    let is_cursor = action.is_some_and(|action| action + 1 == session.cursor());
    let is_expectation = session
        .reading()
        .expectations
        .iter()
        .any(|expectation| expectation.line == number);
    let is_warned = session
        .warnings()
        .iter()
        .any(|warning| warning.line == number);
    match (differs || is_unmet, is_cursor) {
        _ if is_warned => Mark::Warning,
        (true, _) => Mark::Differs,
        (false, true) => Mark::Cursor,
        (false, false) if action.is_some() && line.contains("=>") || is_expectation => Mark::Met,
        _ => Mark::None,
    }
}

fn draw_number((line, mark): (usize, Mark)) -> AnyView {
    let (class, sign) = match mark {
        Mark::None => ("text__line", None),
        Mark::Met => ("text__line text__line--met", Some("tick")),
        Mark::Differs => ("text__line text__line--differs", Some("cross")),
        Mark::Error => ("text__line text__line--error", Some("cross")),
        Mark::Warning => ("text__line text__line--differs", Some("stale")),
        Mark::Cursor => ("text__line text__line--cursor", Some("step")),
    };
    let sign = sign.map_or_else(|| view! { <span></span> }.into_any(), icon);
    view! { <div class=class>{sign}<span>{line}</span></div> }.into_any()
}

fn draw_row(row: Row) -> AnyView {
    let Row {
        pieces,
        mark,
        message,
        ..
    } = row;
    let class = if mark == Mark::Cursor {
        "text__row x-cursor"
    } else {
        "text__row"
    };
    let pieces: Vec<AnyView> = pieces.into_iter().map(draw_piece).collect();
    let message = message.map(|words| view! { <span class="text__message">{words}</span> });
    view! { <span class=class>{pieces}{message}</span> }.into_any()
}

fn draw_piece(piece: Piece) -> AnyView {
    let Piece {
        class,
        text,
        is_wrong,
    } = piece;
    let class = class.to_string() + if is_wrong { " x-error" } else { "" };
    view! { <span class=class>{text}</span> }.into_any()
}

/// Under the text: what is wrong with it, or that nothing is.
fn state(desk: Desk) -> AnyView {
    let told = desk.read(|session| match session.warnings() {
        [] => session.errors().to_vec(),
        warnings => warnings.to_vec(),
    });
    let is_good = desk.read(|session| session.errors().is_empty());
    let state = Memo::new(move || {
        desk.session
            .with(|session| state_in_words(session, desk.unmet.with(Vec::len)))
    });
    let show = move || {
        let errors = told.get();
        let state = match is_good.get() {
            true => state.get(),
            false => words::count(errors.len(), "error", "errors") + ":",
        };
        let state = view! { <p class="text__fine">{state}</p> };
        let more = errors.len().saturating_sub(MOST_ERRORS);
        let more = (more > 0).then(|| view! { <li>"and "{more}" more"</li> });
        let shown = errors.into_iter().take(MOST_ERRORS).map(move |error| {
            let line = error.line;
            view! {
                <li>
                    <button type="button" class="link" on:click=move |_| show_line(desk, line)>{error.to_string()}</button>
                </li>
            }
        });
        view! { {state} <ul>{shown.collect_view()}{more}</ul> }
    };
    view! { <div class="text__errors" id="text-state" role="status">{show}</div> }
}

fn state_in_words(session: &Session, unmet: usize) -> String {
    let replies = session
        .reading()
        .schedule
        .iter()
        .filter(|line| line.expected.is_some())
        .count();
    let expectations = session.reading().expectations.len();
    let differing = session.mismatches().len();
    let mut parts = vec![match session.warnings().len() {
        0 => "No errors.".to_string(),
        some => words::count(some, "line", "lines") + " cannot work, see below.",
    }];
    if differing > 0 {
        parts.push(words::count(differing, "line goes", "lines go") + " otherwise than written.");
    } else if replies > 0 {
        parts.push(words::count(replies, "reply", "replies") + " as expected.");
    }
    if unmet > 0 {
        parts.push(
            unmet.to_string()
                + " of "
                + &words::count(expectations, "expectation", "expectations")
                + " not met.",
        );
    } else if expectations > 0 {
        parts.push(words::count(expectations, "expectation", "expectations") + " met.");
    }
    parts.join(" ")
}
