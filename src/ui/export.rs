//! The scenario as something else: a diagram or a remark for a review, the picture, a test for real servers, or a model. A program of
//! its own writes them, for the page has no room for all those printers.

use super::view::*;

use super::browser;
use super::controls::{Button, fresh_id};
use super::desk::Desk;
use super::share::file_name;
use crate::export::Format;
use crate::session::Session;

/// What the scenario can become here beside texts: what it is called, and in words.
const OTHERS: [(&str, &str); 3] = [
    (".svg", "Picture (SVG)"),
    (".png", "Picture (PNG)"),
    (".html", "Frame for an article (iframe)"),
];

/// What stands in the dialog under the link.
pub fn view(desk: Desk) -> AnyView {
    let chosen = RwSignal::new(OTHERS[0].0.to_string());
    let holds = RwSignal::new(false);
    let option =
        |(name, words): (&'static str, String)| view! { <option value=name>{words}</option> };
    let others = OTHERS.map(|(name, words)| (name, words.to_string()));
    let is_shown = |format: &Format| *format != Format::Svg;
    let texts = Format::ALL.into_iter().filter(is_shown);
    let texts = texts.map(|format| (format.name(), words_of(format)));
    let options: Vec<AnyView> = others.into_iter().chain(texts).map(option).collect();
    let id = fresh_id();
    view! {
        <div class="share__row">
            <label for=id.clone()>"Export as"</label>
            <select class="select" id=id on:change=move |event| chosen.set(event_target_value(&event))>
                {options}
            </select>
        </div>
        {move || draw(desk, &chosen.get(), holds)}
    }
    .into_any()
}

/// `pytest: a test with redis-py and PyMySQL`.
fn words_of(format: Format) -> String {
    [format.name(), ": ", format.purpose()].concat()
}

fn draw(desk: Desk, chosen: &str, holds: RwSignal<bool>) -> AnyView {
    let Some(format) = Format::named(chosen) else {
        let name = desk.look(|session| file_name(&session.title(), chosen));
        if chosen != ".html" {
            return draw_picture(desk, name);
        }
        let note = "Shows picture, verdicts and transport within another page, in whatever size.";
        return draw_text(
            desk,
            OTHERS[2].1.to_string(),
            note,
            name,
            desk.look(super::share::embedding),
        );
    };
    let switch = format.is_test().then(|| switch(holds));
    view! {
        {switch}
        {move || draw_asked(desk, format, holds.get())}
    }
    .into_any()
}

fn name_of(desk: Desk, format: Format) -> String {
    desk.look(|session| format.file_name(&session.title()))
}

/// A text that the other program writes, as soon as it is there.
fn draw_asked(desk: Desk, format: Format, holds: bool) -> AnyView {
    let answer = RwSignal::new(None::<Result<String, String>>);
    let text = desk.look(Session::text);
    browser::export_text(&text, format.name(), holds, move |said| {
        answer.set(Some(said))
    });
    let note = match format {
        Format::Markdown | Format::Mermaid => "GitHub and GitLab draw it where it is pasted.",
        Format::Promela | Format::Tla => {
            "A model of the first search that the text asks for; how it is checked stands at its top."
        }
        _ => "A test against real servers; how it is run stands at its top.",
    };
    let draw = move || match answer.get() {
        None => view! { <p class="share__note">"…"</p> }.into_any(),
        Some(Ok(text)) => draw_text(desk, words_of(format), note, name_of(desk, format), text),
        Some(Err(why)) => {
            view! { <p class="share__note">"It cannot be written: " {why}</p> }.into_any()
        }
    };
    view! { {draw} }.into_any()
}

/// Whether the test asserts that the properties hold.
fn switch(holds: RwSignal<bool>) -> AnyView {
    let turn = move |_| holds.update(|holds| *holds = !*holds);
    view! {
        <label class="share__row">
            <input type="checkbox" prop:checked=move || holds.get() on:change=turn />
            "It fails until the properties hold"
        </label>
    }
    .into_any()
}

fn draw_picture(desk: Desk, name: String) -> AnyView {
    let save = Button::new("Save the picture")
        .icon("save")
        .does(move || save_picture(desk, name.clone()));
    view! { <div class="share__row">{save.draw(desk)}</div> }.into_any()
}

fn draw_text(desk: Desk, words: String, note: &'static str, name: String, text: String) -> AnyView {
    let (shown, copied) = (text.clone(), text.clone());
    let copy = Button::new("Copy it").icon("share").does(move || {
        browser::copy(copied.clone(), move |copied| match copied {
            true => desk.say("Copied"),
            false => {
                desk.refuse("The browser did not let the page copy: select it and copy it by hand")
            }
        });
    });
    let save = Button::new("Save it")
        .icon("save")
        .does(move || super::share::save_as(desk, &name, &text));
    view! {
        <p class="share__note">{note}</p>
        <textarea class="field search__reach" readonly rows="14" spellcheck="false" aria-label=words prop:value=shown></textarea>
        <div class="share__row">{copy.draw(desk)} {save.draw(desk)}</div>
    }
    .into_any()
}

/// The picture in the colours that its reader prefers, as the other program writes it; a PNG is drawn from that.
fn save_picture(desk: Desk, name: String) {
    let text = desk.look(Session::text);
    let save = move |svg: Result<String, String>| match svg {
        Ok(svg) if name.ends_with(".svg") => super::share::save_as(desk, &name, &svg),
        Ok(svg) => browser::save_png(&svg, &name.clone(), move |saved| match saved {
            true => desk.say("Saved as ".to_string() + &name),
            false => desk.refuse("The browser could not draw the picture as a file"),
        }),
        Err(why) => desk.refuse(["It cannot be written: ", &why].concat()),
    };
    browser::export_text(&text, Format::Svg.name(), false, save);
}
