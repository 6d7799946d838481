//! Whom the page can be shown to: everybody can read it, no text of a stranger does anything, and nothing leaves the browser.

use crate::Test;
use crate::browser::{Browser, keys};
use crate::offline::has_worker;
use crate::visitor::Visitor;
use latchkey::link;
use serde_json::json;
use std::path::Path;

pub const TESTS: &[Test] = &[
    ("axe_finds_nothing_on_any_view", axe_finds_nothing),
    ("text_of_a_link_is_never_markup", never_markup),
    (
        "asks_the_network_for_nothing_once_it_is_open",
        asks_for_nothing,
    ),
];

const STORY: &str = "Split acquire: a token that is newer than its lock";

// ---- everybody can read it

/// What axe says of the page as it stands, one line for each rule that is broken.
fn violations(browser: &Browser) -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("target/tools/node/node_modules/axe-core/axe.min.js");
    let axe = std::fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("{}: {error}; ./check installs it", file.display()));
    let run = "
        return axe.run(document, { resultTypes: ['violations'] }).then(found => found.violations.map(rule =>
            rule.id + ': ' + rule.help + ': ' + rule.nodes.map(node => node.target.join(' ')).join(', ')));";
    let found = browser.execute(&(axe + run), &json!([]));
    serde_json::from_value(found).expect("a list of sentences")
}

/// What opens dialogs from everywhere on the page.
const OPENERS: &[&str] = &[
    ".masthead__title",
    "[title^='What was kept']",
    "[title='Keys and marks (?)']",
    "[title='Do it by name (Ctrl+K)']",
    "[title='Save, export, embed']",
    "[title='Find a failing schedule (F)']",
    "[title^='The same schedule under']",
];

/// Opens each dialog, looks at it and closes it.
fn looks_at_dialogs(browser: &Browser, mut look: impl FnMut(&str)) {
    let unfold = "const unfold = document.querySelector('.masthead__unfold');
        const is_folded = unfold.offsetParent && unfold.getAttribute('aria-pressed') === 'false';
        if (is_folded) unfold.click();
        return Boolean(is_folded)";
    for (place, opener) in OPENERS.iter().enumerate() {
        // On a phone most of them are folded away.
        if browser.execute(unfold, &json!([])) == json!(true) && place == 0 {
            look("the header, unfolded");
        }
        browser.click(opener);
        browser.wait_until("the dialog is there", |browser| {
            browser.count("dialog[open]") == 1
        });
        look(opener);
        browser.press(keys::ESCAPE);
        browser.wait_until("it has gone", |browser| browser.count("dialog[open]") == 0);
    }
}

fn axe_finds_nothing(browser: &Browser) {
    let mut found = Vec::new();
    browser.open("");
    browser.execute(
        "localStorage.setItem('latchkey.shelf', JSON.stringify([['my lock', '# Mine\\n', 0, 0]]))",
        &json!([]),
    );
    for (width, height, dark) in [
        (1440, 900, false),
        (1440, 900, true),
        (390, 844, false),
        (390, 844, true),
    ] {
        browser.resize(width, height);
        browser.prefer_dark(dark);
        let mut look = |view: &str| {
            let colours = if dark { "dark" } else { "light" };
            let rules = violations(browser).into_iter();
            found.extend(rules.map(|rule| format!("{view}, {width} wide, {colours}: {rule}")));
        };
        let story = latchkey::scenario::library::story_named("07a-split-acquire")
            .expect("it is there")
            .text;
        let is_wide = width > 1000;
        let visitor = Visitor::opens(browser, &link::encode(story, 8));
        let views: &[&str] = match is_wide {
            true => &["Properties", "Text", "Console"],
            // Last the one that has all the buttons which open dialogs.
            false => &["Clients", "Servers", "Text", "Picture"],
        };
        browser.execute(
            "document.querySelectorAll('.properties__fold').forEach(it => it.click())",
            &json!([]),
        );
        for view in views {
            visitor.presses(view);
            look(view);
        }
        looks_at_dialogs(browser, &mut look);
        visitor.asks_for("the picture as a table");
        browser.wait_for_text(".told", "A was a stale holder");
        look("the picture as a table");
        browser.press(keys::ESCAPE);
        looks_at_branches(&visitor, &mut look);
        looks_at_choices(&visitor, &mut look);
        Visitor::opens(browser, &format!("?embed{}", link::encode(story, 8)));
        look("within another page");
    }
    assert_eq!(found, Vec::<String>::new());
}

/// Acts in the past, and compares what was there with what is open.
fn looks_at_branches(visitor: &Visitor<'_>, mut look: impl FnMut(&str)) {
    visitor.asks_for("crash b");
    visitor.sees_cursor(9, 9);
    visitor.asks_for("branches");
    visitor.presses("Compare “Split acquire, before action 9” with what is open");
    visitor.browser.wait_for_text(".compare__parts", "crash B");
    look("the comparison of branches");
    visitor.browser.press(keys::ESCAPE);
}

/// Goes to the editor by its key, and looks at what it offers, and at what it says of a mistake.
fn looks_at_choices(visitor: &Visitor<'_>, mut look: impl FnMut(&str)) {
    visitor.browser.press("t");
    visitor.has_focus("text-area");
    visitor.browser.press(&format!("{}\u{E010}", keys::CONTROL));
    visitor.browser.press("  cra");
    visitor.sees_choices(&["crash"]);
    look("the choices of the editor");
    visitor.browser.press(keys::ESCAPE);
    visitor.browser.wait_for_text(".text__errors", "1 error");
    look("a mistake in the editor");
}

// ---- no text of a stranger does anything

/// Markup that would run, if any of it were taken for markup.
const MARKUP: &str =
    "<img src=x onerror=window.ran=1><script>window.ran=1</script>\"'><svg/onload=window.ran=1>";

/// A scenario with markup wherever the text can hold it.
fn hostile_text() -> String {
    let sql = MARKUP.replace('\'', "''");
    format!(
        "# {MARKUP}\n# {MARKUP}\n\n\
         table t (k VARCHAR(191) PRIMARY KEY, v INT)\n  '{sql}', 1\n\n\
         store\n  SET \"{quoted}\" \"{quoted}\"\n\n\
         protocol p\n  say: SET \"{quoted}\" {{word}} PX 10000\n    on OK: holds \"{quoted}\" for 10000ms\n  \
         see: SELECT '{sql}', k FROM t\n  fail: NONSENSE \"{quoted}\"\n\n\
         client A: p word=\"{quoted}\"\n\n\
         schedule\n  A say\n  A see\n  A fail\n  operator> GET \"{quoted}\"\n",
        quoted = MARKUP.replace('"', "\\\""),
    )
}

fn never_markup(browser: &Browser) {
    let text = hostile_text();
    let visitor = Visitor::opens(browser, &link::encode(&text, 4));
    visitor.sees_cursor(4, 4);
    let elements = || browser.count("img, script:not([src]), [onerror], [onload]");
    let check = |view: &str| {
        assert_eq!(elements(), 0, "markup came to life in {view}");
        let ran = browser.execute("return 'ran' in window", &json!([]));
        assert_eq!(ran, json!(false), "a script ran in {view}");
    };
    for view in ["Properties", "Text", "Console"] {
        visitor.presses(view);
        check(view);
    }
    looks_at_dialogs(browser, check);
    let page = browser.execute("return document.body.textContent", &json!([]));
    let shown = page.as_str().unwrap_or_default();
    let (tag, _) = MARKUP
        .split_once('"')
        .expect("where quoted text has a backslash");
    assert!(
        shown.matches(tag).count() > 10,
        "it is shown as the text that it is: {shown}"
    );
}

// ---- nothing leaves the browser

fn asks_for_nothing(browser: &Browser) {
    let visitor = Visitor::opens(browser, "");
    browser.wait_until("the page is kept", |browser| has_worker(browser, "active"));
    let before = browser.requests().len();
    visitor.opens_story(STORY);
    visitor.goes_forward(3);
    visitor.press_step("B");
    visitor.takes_the_link();
    browser.press(keys::ESCAPE);
    visitor.waits_a_moment();
    visitor.begins_anew();
    let after = browser.requests();
    assert_eq!(
        after[before..],
        Vec::<String>::new(),
        "it asked for something while it was used"
    );
}
