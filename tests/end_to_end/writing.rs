//! Writing in the editor, and whatever else somebody does by typing.

use crate::Test;
use crate::browser::{Browser, keys};
use crate::visitor::Visitor;
use latchkey::link;
use latchkey::scenario::library::story_named;
use serde_json::json;

pub const TESTS: &[Test] = &[
    ("completes_what_is_typed_in_the_editor", completes),
    ("does_anything_by_its_name", does_by_name),
    ("goes_to_every_panel_by_a_key", goes_by_keys),
];

fn completes(browser: &Browser) {
    let visitor = Visitor::opens(browser, "");
    visitor.begins_anew();
    visitor.adds_client("split-acquire");
    visitor.presses("Text");
    browser.execute(
        "const area = document.querySelector('.text__area');
         area.focus();
         area.setSelectionRange(area.value.length, area.value.length)",
        &json!([]),
    );
    // What is written out goes on undisturbed, also by Enter.
    browser.press("\nschedule\n  pause A ");
    visitor.sees_choices(&["before", "after"]);
    browser.press("b");
    browser.press(keys::ENTER);
    visitor.sees_choices(&["acquire", "token", "write", "release"]);
    browser.press(keys::DOWN);
    browser.press(keys::DOWN);
    browser.press(keys::TAB);
    visitor.sees_choices(&[]);
    visitor.sees_schedule(&["pause A before token"]);
    visitor.sees_cursor(1, 1);
    // What is put there at once is not covered by a list; the next letter opens one.
    browser.press(&format!("{}\n", keys::ESCAPE));
    for pasted in ["  crash A", "\\n  restart A\\n  res"] {
        let paste = format!("document.execCommand('insertText', false, '{pasted}')");
        browser.execute(&paste, &json!([]));
        visitor.sees_choices(&[]);
    }
    browser.press("u");
    visitor.sees_choices(&["resume"]);
    browser.press(keys::ESCAPE);
    // Where nothing is offered, Tab leads out of the editor.
    browser.press(keys::TAB);
    let is_out = "return !document.activeElement.matches('.text__area')";
    assert_eq!(browser.execute(is_out, &json!([])), json!(true));
}

fn does_by_name(browser: &Browser) {
    let visitor = Visitor::opens(browser, "");
    visitor.begins_anew();
    visitor.adds_client("split-acquire");
    visitor.asks_for("run a");
    visitor.sees_state("A", "done");
    visitor.asks_for("undo");
    visitor.sees_cursor(0, 0);
    // Also while somebody writes, and with the pointer alone.
    visitor.presses("Text");
    browser.click(".text__area");
    visitor.asks_for("atomic acquire: the same");
    browser.wait_until("the story is open", |browser| {
        browser.text_of(".masthead__name") == "Atomic acquire: the same stall, now harmless"
    });
    browser.click("[title='Do it by name (Ctrl+K)']");
    browser.press("theme: dark");
    browser.click(".palette .choice");
    let theme = "return document.documentElement.dataset.theme ?? ''";
    assert_eq!(browser.execute(theme, &json!([])), json!("dark"));
}

fn goes_by_keys(browser: &Browser) {
    let story = story_named("07a-split-acquire").expect("it is there").text;
    let visitor = Visitor::opens(browser, &link::encode(story, 8));
    // The first thing that Tab comes to leads to the picture, where the arrows go from row to row.
    browser.press(keys::TAB);
    browser.press(keys::ENTER);
    visitor.has_focus("row-8");
    browser.press(keys::DOWN);
    visitor.has_focus("row-9");
    visitor.sees_cursor(9, 12);
    for (key, id) in [
        ("e", "servers-body"),
        ("o", "properties-body"),
        ("a", "clients-body"),
        ("t", "text-area"),
    ] {
        browser.press(key);
        visitor.has_focus(id);
    }
    // In a field a letter is a letter; Escape leads out of it.
    browser.press("n");
    visitor.has_focus("text-area");
    browser.press(keys::ESCAPE);
    browser.press(keys::ESCAPE);
    browser.press("n");
    visitor.has_focus("console-field");
    browser.press(keys::ESCAPE);
    browser.press("l");
    visitor.has_focus("library-filter");
}
