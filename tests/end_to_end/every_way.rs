//! Every story, played action by action from its start to its end: once with a thumb on a small phone, once by keyboard alone.

use crate::Test;
use crate::browser::{Browser, keys};
use crate::stories::{number_of_actions, stories, title_of, wrong_verdicts};
use crate::visitor::Visitor;
use serde_json::json;

pub const TESTS: &[Test] = &[
    ("plays_every_story_with_a_thumb", plays_with_a_thumb),
    ("plays_every_story_by_keyboard_alone", plays_by_keyboard),
];

/// The smallest phone that the page is made for, in CSS pixels.
const PHONE: (u32, u32) = (360, 640);

/// More presses of Tab than a visitor would put up with.
const FAR: usize = 12;

fn plays_with_a_thumb(browser: &Browser) {
    browser.is_a_phone(PHONE.0, PHONE.1);
    let visitor = Visitor::opens(browser, "");
    let mut wrong = Vec::new();
    for (name, text) in stories() {
        browser.tap(".masthead__title");
        browser.wait_until("the library is open", |browser| {
            browser.count(".over .story") > 0
        });
        browser.tap_nth(".over .story", place_of(browser, title_of(&text)));
        let actions = number_of_actions(&text);
        visitor.sees_cursor(0, actions);
        for played in 1..=actions {
            browser.tap("[aria-label='Forward one action (Right)']");
            visitor.sees_cursor(played, actions);
        }
        let sideways = browser.execute(
            "return document.documentElement.scrollWidth - innerWidth",
            &json!([]),
        );
        if sideways.as_i64() != Some(0) {
            wrong.push(format!("{name}: the page is {sideways} px too wide"));
        }
        wrong.extend(named(&name, wrong_verdicts(&visitor, &text)));
    }
    // Each panel is a tap away.
    for (place, panel) in [".clients", ".picture", ".servers", ".text__area"]
        .iter()
        .enumerate()
    {
        browser.tap_nth(".phone-tabs .tabs__tab", place);
        browser.wait_until(&format!("{panel} is in view"), |browser| {
            browser.is_in_view(panel)
        });
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn plays_by_keyboard(browser: &Browser) {
    let visitor = Visitor::opens(browser, "");
    let mut wrong = Vec::new();
    for (name, text) in stories() {
        browser.press("l");
        browser.wait_until("the library is open", |browser| {
            browser.count(".over .story") > 0
        });
        let title = title_of(&text);
        goes_to(browser, "the library's filter", || is_on_filter(browser));
        browser.press(title);
        goes_to(browser, &format!("the story '{title}'"), || {
            is_on_story(browser, title)
        });
        browser.press(keys::ENTER);
        let actions = number_of_actions(&text);
        visitor.sees_cursor(0, actions);
        for played in 1..=actions {
            browser.press(keys::RIGHT);
            visitor.sees_cursor(played, actions);
        }
        wrong.extend(named(&name, wrong_verdicts(&visitor, &text)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn named(name: &str, wrong: Vec<String>) -> impl Iterator<Item = String> {
    wrong.into_iter().map(move |what| format!("{name}: {what}"))
}

/// The story's place among those that the library shows.
fn place_of(browser: &Browser, title: &str) -> usize {
    let place = browser.execute(
        "return [...document.querySelectorAll('.over .story')]
            .findIndex(it => it.querySelector('.story__title').firstChild.textContent === arguments[0])",
        &json!([title]),
    );
    let place = place.as_i64().and_then(|place| usize::try_from(place).ok());
    place.unwrap_or_else(|| panic!("the library has no story '{title}'"))
}

/// Whether the focus is on the field that words are typed into.
fn is_on_filter(browser: &Browser) -> bool {
    let focused = browser.execute(
        "return document.activeElement.matches('.stories__filter')",
        &json!([]),
    );
    focused == json!(true)
}

/// Whether the focus is on this story of the library.
fn is_on_story(browser: &Browser, title: &str) -> bool {
    let focused = browser.execute(
        "return document.activeElement.closest('.story')?.querySelector('.story__title').firstChild.textContent ?? ''",
        &json!([]),
    );
    focused == title
}

/// Presses Tab until the focus is there.
fn goes_to(browser: &Browser, what: &str, is_there: impl Fn() -> bool) {
    for _ in 0..FAR {
        if is_there() {
            return;
        }
        browser.press(keys::TAB);
    }
    panic!("after {FAR} presses of Tab the focus is not on {what}");
}
