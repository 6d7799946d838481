//! Writing in the editor, and whatever else somebody does by typing.

use crate::Test;
use crate::browser::{Browser, keys};
use crate::visitor::Visitor;
use serde_json::json;

pub const TESTS: &[Test] = &[("completes_what_is_typed_in_the_editor", completes)];

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
    // Where nothing is offered, Tab leads out of the editor.
    browser.press(keys::TAB);
    let is_out = "return !document.activeElement.matches('.text__area')";
    assert_eq!(browser.execute(is_out, &json!([])), json!(true));
}
