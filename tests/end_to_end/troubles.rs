//! When the browser refuses something, or the page meets a mistake of its own, nobody loses their work and the page says so.

use crate::Test;
use crate::browser::{Browser, keys};
use crate::visitor::Visitor;
use serde_json::json;

pub const TESTS: &[Test] = &[
    ("opens_a_file_that_is_dropped", opens_a_dropped_file),
    ("says_when_the_work_is_not_kept", says_when_not_kept),
    (
        "loses_no_scenario_when_the_storage_is_full",
        loses_none_when_full,
    ),
    ("offers_the_link_where_it_cannot_be_copied", offers_the_link),
    ("gives_the_text_back_when_it_stops", gives_the_text_back),
    ("explains_a_link_again_after_a_reload", explains_again),
];

/// Drops a file with this name and text on the picture.
fn drop_file(browser: &Browser, name: &str, text: &str) {
    browser.execute(
        "const files = new DataTransfer();
         files.items.add(new File([arguments[1]], arguments[0], { type: 'text/plain' }));
         document.querySelector('.picture').dispatchEvent(
             new DragEvent('drop', { dataTransfer: files, bubbles: true, cancelable: true }));",
        &json!([name, text]),
    );
}

fn opens_a_dropped_file(browser: &Browser) {
    let visitor = Visitor::opens(browser, "");
    drop_file(browser, "mine.latchkey", "# Mine\n\nclient Z\n");
    visitor.hears("Open: Mine");
    assert_eq!(visitor.text(), "# Mine\n\nclient Z\n");
    drop_file(browser, "letter.txt", "Dear all,\n");
    visitor.hears("letter.txt does not parse");
    assert_eq!(visitor.text(), "Dear all,\n", "with its errors");
    browser.wait_for_text(".picture__band", "The text does not parse");
    visitor.presses("Undo (U)");
    browser.wait_until("the last good text is there again", |_| {
        visitor.text() == "# Mine\n\nclient Z\n"
    });
    assert_eq!(browser.count(".picture__band"), 0);
}

fn says_when_not_kept(browser: &Browser) {
    let full = "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError') }";
    let denied = "for (const name of ['localStorage', 'sessionStorage'])
         Object.defineProperty(window, name, { get() { throw new DOMException('denied', 'SecurityError') } })";
    for (how, why) in [(full, "full or closed"), (denied, "does not allow")] {
        let browser = browser.with_a_fresh_profile();
        browser.before_every_page(how);
        let visitor = Visitor::opens(&browser, "");
        visitor.press_step("A");
        visitor.hears("Your work is not kept over a reload");
        visitor.hears(why);
        browser.wait_for_text(".status__kept", "Not kept over a reload");
        assert_eq!(browser.complaints(), Vec::<String>::new());
    }
}

/// Fills the browser's storage to the last byte.
const FILL: &str = "
    let filler = '';
    for (let size = 1 << 22; size > 0; size >>= 1)
        try { for (;;) { localStorage.setItem('filler', filler + 'x'.repeat(size)); filler += 'x'.repeat(size); } } catch {}";

fn loses_none_when_full(browser: &Browser) {
    let visitor = Visitor::opens(browser, "");
    visitor.begins_anew();
    visitor.adds_client("split-acquire");
    let keeps = |name: &str| {
        browser.click(".masthead__title");
        browser.replace_text(".shelf__name", name);
        browser.press(keys::ENTER);
        visitor.hears(&format!("Kept as “{name}”"));
    };
    let kept = || {
        let names = "return JSON.parse(localStorage.getItem('latchkey.shelf')).map(([name]) => name).join()";
        browser.execute(names, &json!([]))
    };
    keeps("first");
    visitor.waits_a_moment();
    browser.press(keys::ESCAPE);
    browser.execute(FILL, &json!([]));
    keeps("second");
    visitor.hears("Your work is not kept over a reload: ");
    visitor.hears("Save it as a file, or copy the link");
    browser.wait_for_text(".status__kept", "Not kept over a reload");
    assert_eq!(kept(), json!("first"), "what was kept stays");
    let names = visitor.contents(".shelf .branch__name button");
    assert_eq!(
        names,
        ["first", "second"],
        "what is not can be saved as a file"
    );
    // As soon as there is room again, it is kept.
    browser.press(keys::ESCAPE);
    browser.execute("localStorage.removeItem('filler')", &json!([]));
    visitor.press_step("A");
    browser.wait_for_text(".status__kept", "Kept in this browser");
    visitor.reloads();
    assert_eq!(kept(), json!("first,second"));
    visitor.sees_schedule(&["A acquire => OK"]);
}

fn offers_the_link(browser: &Browser) {
    let missing = "Object.defineProperty(navigator, 'clipboard', { value: undefined })";
    let refused = "navigator.clipboard.writeText = () => Promise.reject(new Error('no'))";
    for how in [missing, refused] {
        let browser = browser.with_a_fresh_profile();
        browser.before_every_page(how);
        let visitor = Visitor::opens(&browser, "");
        visitor.presses("Share");
        browser.wait_until("the link can be copied by hand", |browser| {
            let link = browser.execute(
                "return document.querySelector('dialog[open] .share__link')?.value ?? ''",
                &json!([]),
            );
            link.as_str().is_some_and(|link| link.contains("#v1."))
        });
        visitor.presses("Copy the link");
        visitor.hears("select the link and copy it by hand");
        assert_eq!(browser.complaints(), Vec::<String>::new());
    }
}

fn gives_the_text_back(browser: &Browser) {
    let visitor = Visitor::opens(browser, "");
    visitor.begins_anew();
    visitor.adds_client("split-acquire");
    visitor.press_step("A");
    visitor.waits_a_moment();
    let work = visitor.text();
    // The browser fails once where it never does, which the page does not reckon with.
    browser.execute(
        "const real = Document.prototype.createElement;
         Document.prototype.createElement = function () {
             Document.prototype.createElement = real;
             throw new Error('probe');
         };",
        &json!([]),
    );
    visitor.presses("Branches");
    browser.wait_for_text(".stopped", "Latchkey has stopped");
    assert_eq!(browser.value_of(".stopped textarea"), work);
    browser.forget_console_errors();
    visitor.presses("Copy the text");
    browser.wait_until("it says what came of it", |browser| {
        let said = browser.text_of(".stopped button");
        said == "Copied" || said.starts_with("Selected")
    });
    visitor.presses("Load the page again");
    visitor.hears("The page had stopped");
    visitor.presses("Branches 1");
    visitor.presses("Open");
    browser.wait_until("the work is open again", |_| visitor.text() == work);
}

fn explains_again(browser: &Browser) {
    let visitor = Visitor::opens(browser, "");
    visitor.press_step("A");
    // Before the page has written the address of that step.
    browser.look_at(&format!("{}#v1.AAAA", browser.page()));
    visitor.hears("This link cannot be opened");
    let cursor = browser.text_of(".transport__where");
    visitor.reloads();
    visitor.hears("This link cannot be opened");
    assert_eq!(
        browser.text_of(".transport__where"),
        cursor,
        "the work is kept"
    );
}
