//! Links: those that cannot be opened explain themselves and cost no work, and the browser's history goes by links, not by clicks.

use crate::Test;
use crate::browser::Browser;
use crate::visitor::Visitor;
use latchkey::{link, scenario::limits};

pub const TESTS: &[Test] = &[
    (
        "explains_links_that_cannot_be_opened_and_keeps_the_work",
        explains,
    ),
    ("goes_back_and_forward_between_links", goes_back_and_forward),
    ("acting_does_not_fill_the_history", acting_leaves_history),
];

/// Links that cannot be opened, with what the page says of each.
fn unreadable_links() -> Vec<(&'static str, String, &'static str)> {
    let too_large = link::encode(&"# much\n".repeat(limits::TEXT / 7 + 1), 0);
    let good = link::encode("client A\n", 0);
    let cut_off = good[..good.len() - 4].to_owned();
    let no_scenario = link::encode("tabel inventory\n", 0);
    vec![
        (
            "no link",
            "#nonsense".to_owned(),
            "this is no link of Latchkey",
        ),
        (
            "damaged",
            "#v1.AAAAAAAAAAAA".to_owned(),
            "this link was damaged on its way",
        ),
        ("cut off", cut_off, "this link was damaged on its way"),
        (
            "too large",
            too_large,
            "this link holds more than 1048576 bytes",
        ),
        (
            "newer",
            "#v2.R5zZYO2aSwqE".to_owned(),
            "made by a newer Latchkey (v2)",
        ),
        ("no scenario", no_scenario, "line 1"),
    ]
}

fn explains(browser: &Browser) {
    let visitor = Visitor::opens(browser, "");
    visitor.begins_anew();
    visitor.adds_client("split-acquire");
    visitor.press_step("A");
    visitor.sees_cursor(1, 1);
    visitor.waits_a_moment();
    let work = visitor.everything();
    for (name, address, explanation) in unreadable_links() {
        // Put into the address of the open page.
        browser.look_at(&format!("{}{address}", browser.page()));
        visitor.hears(explanation);
        assert_eq!(visitor.everything(), work, "{name}: what was open stays");
        // Opened anew, as from a mail.
        browser.look_at("about:blank");
        let visitor = Visitor::opens(browser, &address);
        visitor.hears(explanation);
        assert_eq!(
            visitor.everything(),
            work,
            "{name}: the saved work is there"
        );
    }
}

const FIRST: (&str, &str) = (
    include_str!("../links/01-everything-right.link"),
    include_str!("../links/01-everything-right.latchkey"),
);
const SECOND: (&str, &str) = (
    include_str!("../links/07a-split-acquire.link"),
    include_str!("../links/07a-split-acquire.latchkey"),
);

/// The address in a file of links, which also holds the cursor.
fn address_in(file: &str) -> &str {
    file.split_whitespace().next().unwrap_or_default()
}

fn goes_back_and_forward(browser: &Browser) {
    let sees = |visitor: &Visitor<'_>, text: &str| {
        browser.wait_until("the link's text is open", |_| visitor.text() == text);
    };
    let visitor = Visitor::opens(browser, address_in(FIRST.0));
    sees(&visitor, FIRST.1);
    browser.look_at(&format!("{}{}", browser.page(), address_in(SECOND.0)));
    sees(&visitor, SECOND.1);
    for _ in 0..2 {
        browser.back();
        sees(&visitor, FIRST.1);
        visitor.waits_a_moment();
        browser.forward();
        sees(&visitor, SECOND.1);
        visitor.waits_a_moment();
    }
}

fn acting_leaves_history(browser: &Browser) {
    let visitor = Visitor::opens(browser, address_in(SECOND.0));
    visitor.waits_a_moment();
    let (length, address) = (visitor.length_of_history(), browser.address());
    for _ in 0..20 {
        visitor.presses("Advance the clock by 1 ms");
    }
    browser.wait_until("the address has followed", |browser| {
        browser.address() != address
    });
    visitor.waits_a_moment();
    assert_eq!(visitor.length_of_history(), length);
    let after = visitor.everything();
    assert_eq!(after.cursor, "25 of 25", "the link's cursor stood at 5");
    visitor.reloads();
    assert_eq!(
        visitor.everything(),
        after,
        "the address holds what was done"
    );
}
