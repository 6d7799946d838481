//! Beside others: two tabs leave each other's work alone, a page within another page keeps to itself, and what leaves the page for an
//! article or a review is what it shows.

use crate::Test;
use crate::browser::{Browser, keys};
use crate::visitor::Visitor;
use latchkey::link;
use serde_json::json;

pub const TESTS: &[Test] = &[
    ("keeps_the_work_of_two_tabs", keeps_both),
    ("keeps_scenarios_under_names_of_two_tabs", keeps_under_names),
    ("grows_a_tree_of_branches", grows_branches),
    (
        "stands_within_another_page_and_keeps_to_itself",
        is_embedded,
    ),
    ("exports_as_a_remark_as_tests_and_as_a_picture", exports),
    ("shows_the_steps_in_other_languages", other_languages),
];

fn keeps_both(browser: &Browser) {
    let visitor = Visitor::opens(browser, "");
    visitor.begins_anew();
    visitor.adds_client("split-acquire");
    visitor.waits_a_moment();
    // Another tab keeps its work in the same storage.
    browser.execute(
        "localStorage.setItem('latchkey.text', '# Theirs\\n\\nclient Z\\n'); localStorage.setItem('latchkey.cursor', '0');",
        &json!([]),
    );
    visitor.press_step("A");
    visitor.waits_a_moment();
    visitor.reloads();
    visitor.sees_schedule(&["A acquire => OK"]);
    visitor.presses("What was kept when you acted in the past or opened something else");
    browser.wait_for_text(".over__body", "The work of another tab");
}

fn keeps_under_names(browser: &Browser) {
    let visitor = Visitor::opens(browser, "");
    visitor.begins_anew();
    visitor.adds_client("split-acquire");
    visitor.press_step("A");
    browser.click(".masthead__title");
    browser.replace_text(".shelf__name", "my lock");
    browser.press(keys::ENTER);
    visitor.hears("Kept as “my lock”");
    visitor.waits_a_moment();
    // Another tab keeps one, too.
    browser.execute(
        "const kept = JSON.parse(localStorage.getItem('latchkey.shelf'));
         kept.push(['their lock', '# Theirs\\n', 0, 0]);
         localStorage.setItem('latchkey.shelf', JSON.stringify(kept));",
        &json!([]),
    );
    browser.press(keys::ESCAPE);
    visitor.press_step("A");
    visitor.waits_a_moment();
    visitor.reloads();
    browser.click(".masthead__title");
    assert_eq!(
        visitor.contents(".shelf .branch__name button"),
        ["my lock", "their lock"]
    );
    visitor.presses("Open “my lock”");
    visitor.sees_schedule(&["A acquire => OK"]);
    visitor.sees_cursor(1, 1);
}

fn grows_branches(browser: &Browser) {
    let visitor = Visitor::opens(browser, "");
    let title = "Split acquire: a token that is newer than its lock";
    visitor.opens_story(title);
    visitor.goes_forward(7);
    visitor.presses_of("B", "Crash");
    visitor.sees_cursor(8, 8);
    visitor.presses("What was kept when you acted in the past or opened something else");
    let parts = "parts after action 7: crash B, not A token";
    assert_eq!(visitor.contents(".branch__note"), ["12 actions", parts]);
    visitor.presses("Compare “Split acquire, before action 8” with what is open");
    browser.wait_for_text(".compare__parts", "crash B");
    browser.wait_for_text(".compare__differs", "broken");
    browser.press(keys::ESCAPE);
    visitor.waits_a_moment();
    visitor.reloads();
    visitor.presses("What was kept when you acted in the past or opened something else");
    assert_eq!(visitor.contents(".branch__note"), ["12 actions", parts]);
}

fn is_embedded(browser: &Browser) {
    let visitor = Visitor::opens(browser, "");
    visitor.begins_anew();
    visitor.adds_client("split-acquire");
    visitor.waits_a_moment();
    let kept = "return localStorage.getItem('latchkey.text')";
    let before = browser.execute(kept, &json!([]));
    let text = "# Within\n\nclient A\n\nschedule\n  clock +1ms\n";
    let visitor = Visitor::opens(browser, &format!("?embed{}", link::encode(text, 0)));
    browser.wait_for_text(".masthead__name", "Within");
    // The name of the page is a heading for those who hear it, and one pixel for those who see.
    let hidden = "return [...document.querySelectorAll('.clients, .side, .wordmark')]
        .every(it => it.offsetParent === null || it.offsetWidth <= 1)";
    assert_eq!(browser.execute(hidden, &json!([])), json!(true));
    browser.click(".transport__step");
    visitor.sees_cursor(1, 1);
    visitor.waits_a_moment();
    assert_eq!(
        browser.execute(kept, &json!([])),
        before,
        "the work of the whole page is left alone"
    );
    browser.wait_for_text(".masthead", "Open in Latchkey");
}

fn exports(browser: &Browser) {
    let visitor = Visitor::opens(browser, "");
    visitor.opens_story("Split acquire: a token that is newer than its lock");
    visitor.presses("Save, export, embed");
    let choose = |words: &str| browser.click(&format!(".over option[value='{words}']"));
    let shown = || browser.value_of(".over textarea");
    choose("markdown");
    browser.wait_until("the remark is there", |_| {
        shown().contains("\nsequenceDiagram\n")
    });
    for (format, step) in [
        ("pytest", "a.step(\"acquire\")"),
        ("vitest", "await a.step(\"acquire\");"),
        ("rust", "a.step(\"acquire\").await;"),
        ("junit", "a.step(\"acquire\");"),
    ] {
        choose(format);
        browser.wait_until("the test is there", |_| {
            shown().contains(step) && shown().contains("is not broken: ")
        });
    }
    browser.click(".over input[type='checkbox']");
    browser.wait_until("the test asks for the property", |_| {
        shown().contains("a.step(); // acquire") && !shown().contains("is not broken: ")
    });
    choose("promela");
    browser.wait_for_text(
        ".over",
        "It cannot be written: the text has no `search` block",
    );
    for end in [".svg", ".png"] {
        choose(end);
        visitor.presses("Save the picture");
        visitor.hears(end);
    }
}

fn other_languages(browser: &Browser) {
    let visitor = Visitor::opens(browser, "");
    visitor.opens_story("Split acquire: a token that is newer than its lock");
    for (library, call) in [
        (
            "laravel",
            "Redis::set('lock:sku-1', $me, 'PX', 10000, 'NX');",
        ),
        ("python", "redis.set(\"lock:sku-1\", me, nx=True, px=10000)"),
    ] {
        browser.click(&format!(".clients__library option[value='{library}']"));
        browser.wait_for_text(".client .step__call", call);
    }
    browser.click(".clients__library option[value='']");
    browser.wait_until("only the text's own is there", |browser| {
        browser.count(".step__call") == 0
    });
}
