//! The library: every story with what it teaches, and the challenges, to be opened.

use super::view::*;

use super::browser;
use super::controls::{Button, icon, prose};
use super::desk::Desk;
use super::share;
use crate::scenario::library::{self, Story};

/// The field for words that stories have.
const FILTER: &str = "library-filter";

/// What the stories are about, each with the number of the first of them.
const THEMES: [(u32, &str); 11] = [
    (1, "A lock, a lease and a fence"),
    (7, "Where the token comes from"),
    (10, "The counter is lost and seeded again"),
    (14, "Taking a lock and letting it go"),
    (16, "Charging a card under a lock"),
    (17, "The locks of well-known libraries"),
    (30, "Clocks that go wrong"),
    (31, "Replies that come late or never"),
    (32, "A majority of servers"),
    (33, "Replicas, failover and eviction"),
    (35, "Waiting for a notice"),
];

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
    let challenges = library::challenges();
    let sought = RwSignal::new(String::new());
    let shown = move || {
        let sought = sought.get();
        let themes = THEMES.iter().enumerate();
        let stories: Vec<AnyView> = themes
            .filter_map(|(place, (_, words))| {
                let those = groups
                    .iter()
                    .filter(|(number, _)| theme_of(number) == place);
                let those: Vec<AnyView> = those
                    .filter_map(|(number, parts)| group(desk, number, parts, &titles, &sought))
                    .collect();
                (!those.is_empty()).then(|| part(words, those))
            })
            .collect();
        let challenges = challenges.iter().filter(|story| has_words(story, &sought));
        let challenges: Vec<AnyView> = challenges
            .map(|story| entry(desk, number_of(story), None, story, &titles))
            .collect();
        let nothing = stories.is_empty() && challenges.is_empty();
        let nothing =
            nothing.then(|| view! { <p class="stories__none">"No story has all these words."</p> });
        let challenges = (!challenges.is_empty()).then(|| part("Challenges", challenges));
        view! { {stories} {challenges} {nothing} }
    };
    // On a phone the keyboard would come up over the stories.
    if browser::window_size().0 > 800.0 {
        request_animation_frame(|| browser::focus(FILTER));
    }
    view! {
        {super::shelf::view(desk)}
        <label class="hidden-but-read" for=FILTER>"Only stories with these words"</label>
        <input
            class="field stories__filter"
            id=FILTER
            placeholder="Only stories with these words: fence, Redlock, duplicate …"
            autocomplete="off"
            on:input=move |event| sought.set(event_target_value(&event).to_ascii_lowercase())
        />
        {shown}
        {new.draw(desk)}
    }
    .into_any()
}

/// A heading, and what stands under it.
fn part(words: &'static str, entries: Vec<AnyView>) -> AnyView {
    view! {
        <h3 class="stories__title">{words}</h3>
        <ol class="stories">{entries.into_any()}</ol>
    }
}

/// The place of the last theme that begins at this number or before it.
fn theme_of(number: &str) -> usize {
    let number: u32 = number.parse().unwrap_or_default();
    let begun = THEMES.iter().take_while(|(first, _)| *first <= number);
    begun.count().saturating_sub(1)
}

/// Whether the story's name, title or description has all these words, in small letters.
fn has_words(story: &Story, sought: &str) -> bool {
    let told = [story.name, &story.title, &story.description]
        .join(" ")
        .to_ascii_lowercase();
    sought.split_whitespace().all(|word| told.contains(word))
}

/// The number with which the story's name begins, without a leading zero.
fn number_of(story: &'static Story) -> &'static str {
    let end = story
        .name
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(story.name.len());
    story.name[..end].trim_start_matches('0')
}

/// The parts of a story that have the words that are sought; `None`: there are none.
fn group(
    desk: Desk,
    number: &'static str,
    parts: &[&'static Story],
    open: &str,
    sought: &str,
) -> Option<AnyView> {
    let many = parts.len() > 1;
    let parts = parts.iter().enumerate();
    let shown = parts.filter(|(_, story)| has_words(story, sought));
    let shown: Vec<AnyView> = shown
        .map(|(place, story)| {
            let letter = many.then(|| char::from(b'a' + (place % 26) as u8).to_string());
            entry(desk, number, letter, story, open)
        })
        .collect();
    (!shown.is_empty())
        .then(|| view! { <li class="stories__group"><ul>{shown.into_any()}</ul></li> }.into_any())
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
