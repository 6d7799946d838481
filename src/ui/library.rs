//! The library: every story with what it teaches, and the challenges, to be opened.

use super::view::*;

use super::controls::{Button, icon, prose};
use super::desk::Desk;
use super::share;
use crate::scenario::library::{self, Story};

/// What the dialog shows.
pub fn view(desk: Desk) -> AnyView {
    let stories = library::stories();
    let titles = desk.look(|session| session.title());
    let new = Button::new("Begin with an empty page")
        .icon("new")
        .class("stories__new")
        .does(move || share::open_new(desk, ""));
    let mut groups: Vec<(&str, Vec<&'static Story>)> = Vec::new();
    for story in stories {
        let number = number_of(story);
        match groups.last_mut() {
            Some((of, parts)) if *of == number => parts.push(story),
            _ => groups.push((number, vec![story])),
        }
    }
    let groups = groups
        .into_iter()
        .map(|(number, parts)| group(desk, number, parts, &titles))
        .collect_view();
    let challenges = library::challenges();
    let challenges = challenges
        .iter()
        .map(|story| entry(desk, number_of(story), None, story, &titles))
        .collect_view();
    view! {
        <ol class="stories">{groups}</ol>
        <h3 class="stories__title">"Challenges"</h3>
        <ul class="stories">{challenges}</ul>
        {new.draw(desk)}
    }
    .into_any()
}

/// The number with which the story's name begins, without a leading zero.
fn number_of(story: &'static Story) -> &'static str {
    let end = story
        .name
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(story.name.len());
    story.name[..end].trim_start_matches('0')
}

fn group(desk: Desk, number: &'static str, parts: Vec<&'static Story>, open: &str) -> AnyView {
    let many = parts.len() > 1;
    let parts = parts.into_iter().enumerate().map(|(place, story)| {
        let letter = many.then(|| char::from(b'a' + (place % 26) as u8).to_string());
        entry(desk, number, letter, story, open)
    });
    view! { <li class="stories__group"><ul>{parts.collect_view()}</ul></li> }.into_any()
}

fn entry(
    desk: Desk,
    number: &'static str,
    letter: Option<String>,
    story: &'static Story,
    open: &str,
) -> AnyView {
    let is_open = story.title == open;
    let class = if is_open {
        "story story--open"
    } else {
        "story"
    };
    let mark = is_open.then(|| view! { <span class="chip">{icon("tick")}"open"</span> });
    view! {
        <li>
            <button
                type="button"
                class=class
                aria-current=is_open.then_some("true")
                on:click=move |_| share::open_story(desk, story)
            >
                <span class="story__number">{number}{letter}</span>
                <span class="story__title">{story.title.as_str()}{mark}</span>
                <span class="story__description">{prose(&story.description)}</span>
            </button>
        </li>
    }
    .into_any()
}
