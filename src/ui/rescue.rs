//! When the page meets a mistake of its own, it stops, says so, and gives the user's text back.

use std::sync::atomic::{AtomicBool, Ordering};

use super::view::*;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};

use super::browser;
use super::desk::Desk;

/// From now on a mistake of the page's own shows the user's text in place of the page, and the next start does not open it by itself.
///
/// In a build for development panics are heard here, with what they say. The release page has them compiled to a bare trap, which is
/// 24 kB less: the browser tells of that as an error of WebAssembly, with the places in the program.
pub fn watch_over(desk: Desk) {
    if cfg!(debug_assertions) {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            before(panic);
            stop(desk, &panic.to_string());
        }));
    }
    let trapped = Closure::<dyn Fn(JsValue)>::new(move |event: JsValue| {
        let of = |name: &str| js_sys::Reflect::get(&event, &name.into()).ok();
        let thrown = of("error").or_else(|| of("reason")).unwrap_or_default();
        if let Some(error) = thrown.dyn_ref::<js_sys::WebAssembly::RuntimeError>() {
            let stack = js_sys::Reflect::get(error, &"stack".into());
            let stack = stack.ok().and_then(|stack| stack.as_string());
            stop(desk, &stack.unwrap_or_default());
        }
    });
    for event in ["error", "unhandledrejection"] {
        let listener = trapped.as_ref().unchecked_ref();
        let _ = window().add_event_listener_with_callback(event, listener);
    }
    trapped.forget();
}

/// Has the browser's console tell of panics, in a build for development; a bare trap tells nothing that it could pass on.
pub fn tell_of_panics() {
    if cfg!(debug_assertions) {
        console_error_panic_hook::set_once();
    }
}

/// Whether it has stopped: what goes wrong after the first mistake is its consequence.
static HAS_STOPPED: AtomicBool = AtomicBool::new(false);

fn stop(desk: Desk, reason: &str) {
    if HAS_STOPPED.swap(true, Ordering::Relaxed) {
        return;
    }
    browser::remember_that_it_stopped();
    // The session cannot be read where the mistake was made within it; then what was kept last is given back.
    let text = desk
        .session
        .try_with_untracked(|session| session.edited_text());
    let text = text.or_else(|| browser::kept().map(|kept| kept.draft.unwrap_or(kept.text)));
    let _ = show(&text.unwrap_or_default(), reason);
}

/// Plain DOM, as nothing of the page can be trusted now.
fn show(text: &str, reason: &str) -> Result<(), JsValue> {
    let document = document();
    let add =
        |parent: &web_sys::Element, tag: &str, words: &str| -> Result<web_sys::Element, JsValue> {
            let element = document.create_element(tag)?;
            element.set_text_content(Some(words));
            parent.append_child(&element)?;
            Ok(element)
        };
    let sheet = document.create_element("section")?;
    sheet.set_class_name("stopped");
    sheet.set_attribute("role", "alert")?;
    add(&sheet, "h1", "Latchkey has stopped")?;
    add(
        &sheet,
        "p",
        "It met a mistake of its own, which should not happen. Nothing of yours is lost: this is your text.",
    )?;
    let area: web_sys::HtmlTextAreaElement = add(&sheet, "textarea", "")?.unchecked_into();
    area.set_value(text);
    area.set_read_only(true);
    area.set_attribute("aria-label", "Your text")?;
    let row = add(&sheet, "p", "")?;
    let copy = add(&row, "button", "Copy the text")?;
    copy.set_class_name("button button--primary");
    let copied = copy.clone();
    let pressed = Closure::<dyn Fn()>::new(move || {
        area.select();
        let told = copied.clone();
        browser::copy(area.value(), move |done| {
            told.set_text_content(Some(if done {
                "Copied"
            } else {
                "Selected: press Ctrl+C"
            }));
        });
    });
    copy.add_event_listener_with_callback("click", pressed.as_ref().unchecked_ref())?;
    pressed.forget();
    let again: web_sys::HtmlAnchorElement = add(&row, "a", "Load the page again")?.unchecked_into();
    again.set_class_name("button");
    again.set_href("./");
    add(&sheet, "p", "Whoever mends it will want to know this:")?;
    add(&sheet, "pre", reason)?;
    if let Some(place) = document.get_element_by_id("page") {
        place.replace_children_with_node_1(&sheet);
    }
    Ok(())
}
