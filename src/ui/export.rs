//! The scenario as something else: a picture, a diagram or a remark for a review; and the command that makes a test of it, for
//! whose printers the page has no room.

use super::view::*;

use super::browser;
use super::controls::{Button, fresh_id};
use super::desk::Desk;
use super::share::file_name;
use crate::export;
use crate::scenario;
use crate::session::Session;

/// What the scenario can become here: the words, and the end of its file's name; a format of `latchkey export` has none.
const FORMS: [(&str, &str); 10] = [
    ("Picture (SVG)", ".svg"),
    ("Picture (PNG)", ".png"),
    ("Markdown, a remark for a review", ".md"),
    ("Mermaid, a sequence diagram", ".mmd"),
    ("Frame for an article (iframe)", ".html"),
    ("pytest, against real servers", ""),
    ("vitest, against real servers", ""),
    ("phpunit, against real servers", ""),
    ("rust, against real servers", ""),
    ("go, against real servers", ""),
];

/// The most actions whose picture is saved whole; of a longer schedule the stretch that is seen is saved.
const MOST_ACTIONS: usize = 1000;

/// What stands in the dialog under the link.
pub fn view(desk: Desk) -> AnyView {
    let chosen = RwSignal::new(0_usize);
    let choose = move |event| chosen.set(event_target_value(&event).parse().unwrap_or_default());
    let options = FORMS.iter().enumerate();
    let options = options
        .map(|(place, (words, _))| view! { <option value=place.to_string()>{*words}</option> });
    let id = fresh_id();
    view! {
        <div class="share__row">
            <label for=id.clone()>"Export as"</label>
            <select class="select" id=id on:change=choose>{options.collect_view()}</select>
        </div>
        {move || draw(desk, FORMS[chosen.get().min(FORMS.len() - 1)])}
    }
    .into_any()
}

fn draw(desk: Desk, (words, end): (&'static str, &'static str)) -> AnyView {
    let name = desk.look(|session| file_name(&session.title(), end));
    if matches!(end, ".svg" | ".png") {
        let save = Button::new("Save the picture")
            .icon("save")
            .does(move || save_picture(desk, name.clone()));
        return view! { <div class="share__row">{save.draw(desk)}</div> };
    }
    let text = desk
        .look(|session| exported(session, end))
        .unwrap_or_else(|| command(desk, words));
    let note = match end {
        "" => {
            "The program latchkey writes it; the page has no room for its printers. Save the text as a file, and:"
        }
        ".html" => "Shows picture, verdicts and transport within another page, in whatever size.",
        _ => "GitHub and GitLab draw it where it is pasted.",
    };
    let shown = text.clone();
    let copied = text.clone();
    let copy = Button::new("Copy it").icon("share").does(move || {
        browser::copy(copied.clone(), move |copied| match copied {
            true => desk.say("Copied"),
            false => {
                desk.refuse("The browser did not let the page copy: select it and copy it by hand")
            }
        });
    });
    let save = (!end.is_empty()).then(|| {
        let save = Button::new("Save it").icon("save");
        save.does(move || super::share::save_as(desk, &name, &text))
            .draw(desk)
    });
    view! {
        <p class="share__note">{note}</p>
        <textarea class="field search__reach" readonly rows="6" spellcheck="false" aria-label=words prop:value=shown></textarea>
        <div class="share__row">{copy.draw(desk)} {save}</div>
    }
}

/// The command that makes a test of the file that Save writes.
fn command(desk: Desk, words: &str) -> String {
    let file = desk.look(|session| file_name(&session.title(), super::share::EXTENSION));
    let format = words.split(',').next().unwrap_or_default();
    "latchkey export ".to_string() + &file + " --to " + format
}

/// The text of this kind; `None`: it is none that the page can write.
fn exported(session: &Session, end: &str) -> Option<String> {
    let text = session.text();
    let reading = scenario::read(&text).ok()?;
    match end {
        ".md" => Some(export::markdown(&text, &reading, session.timeline())),
        ".mmd" => Some(export::mermaid(&reading, session.timeline())),
        ".html" => Some(super::share::embedding(session)),
        _ => None,
    }
}

/// Draws the whole picture and hands it to the browser as a file.
fn save_picture(desk: Desk, name: String) {
    desk.whole
        .set(desk.look(|session| session.timeline().len() <= MOST_ACTIONS));
    request_animation_frame(move || {
        request_animation_frame(move || {
            browser::save_picture(name.clone(), move |saved| {
                desk.whole.set(false);
                match saved {
                    true => desk.say("Saved as ".to_string() + &name),
                    false => desk.refuse("The browser could not draw the picture as a file"),
                }
            });
        });
    });
}
