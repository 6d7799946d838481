//! A visitor plays a story with the page's buttons, and somebody else opens the link to what came of it.

use crate::Test;
use crate::browser::Browser;
use crate::visitor::Visitor;

pub const TESTS: &[Test] = &[
    (
        "plays_a_story_to_its_stale_write_and_shares_it",
        plays_and_shares,
    ),
    ("follows_a_story_by_step_alone", follows_by_step_alone),
    ("acts_by_keys_alone", acts_by_keys),
];

const STORY: &str = "Split acquire: a token that is newer than its lock";

const STALE: &str = "a stale write is never accepted after a newer holder's write";

fn follows_by_step_alone(browser: &Browser) {
    let visitor = Visitor::opens(browser, "");
    visitor.opens_story(STORY);
    visitor.sees_cursor(0, 12);
    let text = visitor.text();
    for played in 1..=12 {
        browser.click(".transport__step");
        visitor.sees_cursor(played, 12);
    }
    // A story says `pause A before token` where the card says `pause A`.
    visitor.presses("To the start (Home)");
    visitor.press_step("A");
    visitor.presses_of("A", "Pause");
    visitor.sees_cursor(2, 12);
    assert_eq!(visitor.text(), text, "nothing was left");
    assert_eq!(browser.count(".masthead__title .chip"), 0);
    visitor.presses_of("A", "Crash");
    visitor.sees_cursor(3, 3);
    browser.wait_for_text(".masthead__title .chip", "a branch");
}

fn acts_by_keys(browser: &Browser) {
    let visitor = Visitor::opens(browser, "");
    visitor.opens_story(STORY);
    // The story was chosen by a script, and the button that opened the library has the focus again: keys rest there.
    browser.execute("document.activeElement.blur()", &serde_json::json!([]));
    let keys = ["s", "p", "c", "2", "x", "x", "!"];
    for key in keys {
        browser.press(key);
    }
    visitor.sees_schedule(&[
        "A acquire => OK",
        "pause A before token",
        "clock +10001ms",
        "B acquire => OK",
        "crash B",
        "restart B",
        "resume A",
    ]);
}

fn plays_and_shares(browser: &Browser) {
    let visitor = Visitor::opens(browser, "");
    visitor.opens_story(STORY);
    visitor.presses("To the start (Home)");
    visitor.sees_cursor(0, 12);
    visitor.sees_writes(&[]);
    visitor.sees_verdict(STALE, "not tested");

    // The story's first actions as they are recorded, and from there on by hand: doing what is recorded begins no branch.
    visitor.goes_forward(3);
    visitor.sees_cursor(3, 12);
    visitor.sees_state("A", "paused");
    visitor.press_step("B");
    visitor.sees_cursor(4, 12);
    visitor.sees_holder("B");
    visitor.press_step("B");
    visitor.press_step("B");
    visitor.sees_writes(&["accepted"]);
    visitor.presses_of("A", "Resume");
    visitor.press_step("A");
    visitor.sees_verdict(STALE, "not tested");
    visitor.press_step("A");

    visitor.sees_cursor(9, 12);
    visitor.sees_writes(&["accepted", "stale, accepted"]);
    assert_eq!(
        browser.count(".write--stale"),
        1,
        "it is flagged in the ledger"
    );
    browser.wait_until("the picture marks the stale write", |browser| {
        browser.count(".picture__time .p-mark--stale") == 1
            && browser.count(".picture__time .p-word--stale") > 0
    });
    visitor.sees_verdict(STALE, "broken");
    visitor.sees_schedule(&[
        "A acquire => OK",
        "pause A before token",
        "clock +10001ms",
        "B acquire => OK",
        "B token => 1",
        "B write => 1 row",
        "resume A",
        "A token => 2",
        "A write => 1 row",
        "operator> GET lock:sku-1 => \"B-1\"",
        "A release => 0",
        "B release => 1",
    ]);

    let link = visitor.takes_the_link();
    browser.wait_until("the address is the link", |browser| {
        browser.address() == link
    });
    let sent = visitor.everything();
    let another = browser.with_a_fresh_profile();
    let address = link
        .strip_prefix(browser.page())
        .expect("the page's own address");
    let received = Visitor::opens(&another, address).everything();
    assert_eq!(received, sent);
    assert_eq!(another.complaints(), Vec::<String>::new());
}
