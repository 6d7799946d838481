//! Every story, played action by action from its start to its end: once with a thumb on a small phone, once by keyboard alone.

use crate::Test;
use crate::browser::{Browser, keys};
use crate::stories::{number_of_actions, stories, title_of, wrong_verdicts};
use crate::visitor::Visitor;
use serde_json::json;

pub const TESTS: &[Test] = &[
    ("plays_every_story_with_a_thumb", plays_with_a_thumb),
    ("plays_every_story_by_keyboard_alone", plays_by_keyboard),
    ("shows_all_its_buttons_on_a_phone", shows_all_buttons),
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

/// What of these elements is cut off by the window, too small for a thumb, or covered by another one.
const OUT_OF_REACH: &str = "
    const wrong = it => {
        const { left, right, top, bottom, width, height } = it.getBoundingClientRect();
        const seen = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
        return left < 0 || top < 0 || right > innerWidth || bottom > innerHeight || width < 30 || height < 30
            || it.scrollWidth > it.clientWidth + 1 || !(it.contains(seen) || seen.contains(it));
    };
    return [...document.querySelectorAll(arguments[0])].filter(it => it.offsetParent && wrong(it))
        .map(it => it.title || it.textContent)";

fn shows_all_buttons(browser: &Browser) {
    for (width, height) in [PHONE, (390, 844)] {
        browser.is_a_phone(width, height);
        let visitor = Visitor::opens(browser, "");
        visitor.sees_cursor(8, 12);
        let out_of_reach = |what: &str| {
            assert_eq!(
                browser.execute(OUT_OF_REACH, &json!([what])),
                json!([]),
                "{width} wide: {what}"
            );
        };
        out_of_reach(".transport :is(button, .field, select)");
        out_of_reach(".masthead button");
        browser.tap(".masthead__unfold");
        browser.wait_until("the rest is unfolded", |browser| {
            browser.is_in_view("[title='Copy the link to this']")
        });
        out_of_reach(".masthead button");
        browser.tap(".masthead__unfold");
        // The sentences over the picture and the counts are there in full.
        let cut = "return [...document.querySelectorAll('.guide__words, .picture__verdicts')]
            .filter(it => it.offsetParent && (it.scrollHeight > it.clientHeight + 1 || it.scrollWidth > it.clientWidth + 1)
                || it.getBoundingClientRect().right > innerWidth).map(it => it.textContent)";
        assert_eq!(browser.execute(cut, &json!([])), json!([]), "{width} wide");
        let bars = "return [...document.querySelectorAll('.masthead, .phone-tabs, .transport')]
            .reduce((sum, it) => sum + it.getBoundingClientRect().height, 0)";
        let bars = browser
            .execute(bars, &json!([]))
            .as_f64()
            .unwrap_or(f64::MAX);
        assert!(bars < 225.0, "the bars take {bars} px of {height}");
        browser.tap_nth(".phone-tabs .tabs__tab", 2);
        browser.wait_until("the servers are there", |browser| {
            browser.is_in_view(".servers")
        });
        assert_eq!(browser.execute(cut, &json!([])), json!([]), "{width} wide");
    }
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
