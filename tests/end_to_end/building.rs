//! A visitor builds a scenario of their own from an empty page, and finds it again.

use crate::Test;
use crate::browser::Browser;
use crate::visitor::Visitor;

pub const TESTS: &[Test] = &[
    ("builds_a_scenario_from_an_empty_page_and_keeps_it", builds),
    (
        "keeps_what_was_done_just_before_a_reload",
        keeps_the_last_click,
    ),
];

const DONE: &[&str] = &[
    "A acquire => OK",
    "pause A before token",
    "clock +10001ms",
    "B acquire => OK",
    "resume A",
];

fn builds(browser: &Browser) {
    let visitor = Visitor::opens(browser, "");
    visitor.begins_anew();
    assert_eq!(visitor.text(), "");
    visitor.adds_client("split-acquire");
    visitor.sees_state("A", "running");
    visitor.adds_client("split-acquire");
    visitor.sees_state("B", "running");
    let text = visitor.text();
    for part in [
        "protocol split-acquire\n",
        "table inventory (",
        "script unlock\n",
    ] {
        assert!(text.contains(part), "the protocol brings '{part}':\n{text}");
    }

    visitor.press_step("A");
    visitor.sees_holder("A");
    visitor.presses_latch("Latch A before token");
    visitor.sees_state("A", "paused");
    visitor.advances("10001");
    visitor.sees_now("10.001 s");
    visitor.press_step("B");
    visitor.sees_holder("B");
    visitor.presses_of("A", "Resume");
    visitor.sees_state("A", "running");
    visitor.sees_schedule(DONE);

    visitor.presses("Undo (U)");
    visitor.sees_state("A", "paused");
    visitor.presses("Undo (U)");
    visitor.sees_schedule(&DONE[..3]);
    visitor.presses("Redo (R)");
    visitor.sees_holder("B");
    visitor.presses("Redo (R)");
    visitor.sees_schedule(DONE);

    visitor.waits_a_moment();
    let before = visitor.everything();
    visitor.reloads();
    visitor.sees_cursor(5, 5);
    assert_eq!(visitor.everything(), before, "after a reload");
    // Also where nothing but the browser's storage remembers it: at the page's plain address.
    browser.look_at("about:blank");
    let again = Visitor::opens(browser, "");
    assert_eq!(again.everything(), before, "at the plain address");
}

fn keeps_the_last_click(browser: &Browser) {
    let visitor = Visitor::opens(browser, "");
    visitor.begins_anew();
    visitor.adds_client("split-acquire");
    visitor.press_step("A");
    visitor.waits_a_moment();
    visitor.press_step("A");
    visitor.sees_cursor(2, 2);
    visitor.reloads();
    visitor.sees_cursor(2, 2);
    visitor.sees_schedule(&["A acquire => OK", "A token => 1"]);
}
