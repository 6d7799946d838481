//! A visitor has the page find the schedule that breaks a protocol, and steps through it.

use crate::Test;
use crate::browser::{Browser, keys};
use crate::visitor::Visitor;
use latchkey::link;

pub const TESTS: &[Test] = &[
    ("finds_the_schedule_of_the_split_acquire", finds),
    ("says_that_there_is_none_within_the_bounds", finds_nothing),
    ("pauses_resumes_and_stops_a_search", pauses_and_stops),
    ("meets_a_challenge_with_a_hint", meets_a_challenge),
];

/// A story without its schedule and expectations.
fn without_schedule(story: &str) -> String {
    let text = latchkey::scenario::library::story_named(story).map_or("", |story| story.text);
    let (setup, _) = text
        .split_once("\nschedule")
        .expect("a story has a schedule");
    setup.to_owned() + "\n"
}

/// A text whose search takes longer than anybody waits.
pub fn long_search() -> String {
    let mut text = without_schedule("08-atomic-acquire");
    text += "search\n  lapses: 9, wipes: 9, crashes: 9, restarts: 9, lost replies: 9, worlds: 50000000\n  reaches: inventory 'sku-1': qty 99\n";
    text
}

/// Opens a text, and the dialog of the search.
pub fn opens_search<'b>(browser: &'b Browser, text: &str) -> Visitor<'b> {
    let visitor = Visitor::opens(browser, &link::encode(text, 0));
    visitor.presses("Find a failing schedule (F)");
    visitor
}

fn finds(browser: &Browser) {
    let text = without_schedule("07a-split-acquire");
    let visitor = opens_search(browser, &text);
    visitor.presses("Search within these bounds");
    browser.wait_for_text(".search__result", "5 actions, 1 fault among them");
    assert_eq!(browser.count(".search__schedule"), 2, "both are as short");
    visitor.presses("Close this and see the schedule");
    visitor.sees_schedule(&[
        "A acquire => OK",
        "clock +10001ms",
        "B acquire => OK",
        "B token => 1",
        "A token => 2",
    ]);
    assert!(visitor.text().contains("\nsearch\n  lapses: 2\n"));
    let broken = "tokens come in the order in which locks were taken";
    visitor.sees_cursor(5, 5);
    visitor.sees_verdict(broken, "broken");
    visitor.presses("Back one action (Left)");
    visitor.sees_verdict(broken, "not tested");
    visitor.presses("Branches 1");
    visitor.presses("Open");
    browser.wait_until("the text that was searched is open again", |_| {
        !visitor.text().contains("\nschedule\n") && visitor.text().contains("\nsearch\n")
    });
}

fn finds_nothing(browser: &Browser) {
    let visitor = opens_search(browser, &without_schedule("07a-split-acquire"));
    visitor.presses("Every bound by itself: at most so many of each");
    // The driver empties the field first, which allows no lapse at all.
    for wrong in ["many", "-1", "101"] {
        browser.replace_text(".search__bound input", wrong);
        browser.press(keys::TAB);
        browser.wait_for_text(
            ".search__refused",
            "Expected a whole number from 0 to 100, not “",
        );
        browser.wait_for_text(".search__refused", &format!("{wrong}”. It stays 0"));
        assert_eq!(browser.value_of(".search__bound input"), "0");
    }
    browser.click_nth(".preset", 1);
    browser.wait_until("the preset allows lapses", |browser| {
        browser.value_of(".search__bound input") == "2"
            && browser.text_of(".search__refused").is_empty()
    });
    browser.click(".preset");
    browser.wait_until("the preset has taken the lapses away", |browser| {
        browser.value_of(".search__bound input") == "0"
    });
    visitor.presses("Search within these bounds");
    browser.wait_for_text(".search__result", "None within these bounds: all");
    browser.wait_for_text(".search__left-out", "");
    assert!(
        browser.count(".search__left-out li") > 0,
        "what was left out"
    );
    visitor.presses("Keep as a test");
    visitor.hears("The text says what the search finds");
    let finds = visitor.text();
    let finds = finds
        .lines()
        .find(|line| line.starts_with("  finds: nothing in "));
    assert!(finds.is_some(), "{}", visitor.text());
}

fn pauses_and_stops(browser: &Browser) {
    let visitor = opens_search(browser, &long_search());
    visitor.presses("Search within these bounds");
    let worlds = || browser.text_of(".search__counts dd");
    let grows = |from: &str| worlds() != from;
    browser.wait_until("worlds are counted", |_| grows("0"));
    visitor.presses("Pause the search");
    browser.wait_for_text(".search__said", "Paused");
    visitor.waits_a_moment();
    let paused = worlds();
    visitor.waits_a_moment();
    assert_eq!(worlds(), paused, "it rests");
    visitor.presses("Resume the search");
    browser.wait_until("it goes on", |_| grows(&paused));
    // The page is there meanwhile.
    visitor.presses("Close");
    browser.wait_until("the dialog has gone", |browser| {
        browser.count("dialog[open]") == 0
    });
    browser.wait_for_text(".seek:not(.seek--compare)", "worlds");
    visitor.press_step("A");
    visitor.sees_cursor(1, 1);
    visitor.presses("Find a failing schedule (F)");
    visitor.presses("Stop the search");
    browser.wait_for_text(".search__result", "None up to depth");
    // It says nothing of another scenario.
    browser.press(keys::ESCAPE);
    visitor.opens_story("Atomic acquire: the same stall, now harmless");
    visitor.presses("Find a failing schedule (F)");
    browser.wait_until("nothing was found here yet", |browser| {
        browser.count(".search__bound") > 0 && browser.count(".search__result") == 0
    });
}

fn meets_a_challenge(browser: &Browser) {
    let visitor = Visitor::opens(browser, "");
    visitor.opens_story("Whose lock does DEL free?");
    let asked = "Break this: only the owner releases or prolongs a lock";
    browser.wait_for_text(".challenge", asked);
    browser.wait_for_text(".challenge", "Par: 5 actions, 1 fault");
    visitor.press_step("A");
    browser.wait_for_text(".challenge__standing", "1 action, 0 faults so far");
    visitor.presses("Hint: the next action of the shortest schedule from here");
    let hint = "Next: clock +10001ms. It is the first of 4 actions";
    browser.wait_for_text(".challenge__hint", hint);
    visitor.presses("Play what the hint says");
    visitor.press_step("B");
    visitor.press_step("A");
    visitor.press_step("A");
    browser.wait_for_text(".challenge__standing", "Done in 5 actions, 1 fault: par");
    visitor.sees_verdict("only the owner releases or prolongs a lock", "broken");
    // From here: anew, or to the next one.
    visitor.presses("Start again; what you have played is kept as a branch");
    browser.wait_for_text(".challenge__standing", "0 actions, 0 faults so far");
    visitor.sees_cursor(0, 0);
    visitor.presses_of("A", "Crash");
    let why = "Action 1 is not allowed: more than the bounds allow (crashes: 0)";
    browser.wait_for_text(".challenge__standing", why);
    visitor.presses("Take back what is not allowed, and all behind it");
    browser.wait_for_text(".challenge__standing", "0 actions, 0 faults so far");
}
