//! The page's components in a real browser, without a server and without the rest of the page.
#![cfg(all(target_arch = "wasm32", feature = "ui"))]
#![allow(clippy::unwrap_used, reason = "clippy knows no tests but `#[test]`")]

use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen_test]
fn mounting_replaces_the_loading_notice() {
    let document = web_sys::window().unwrap().document().unwrap();
    let place = document.create_element("main").unwrap();
    place.set_id("page");
    place.set_text_content(Some("loading"));
    document.body().unwrap().append_child(&place).unwrap();
    latchkey::ui::mount();
    assert!(!place.text_content().unwrap().contains("loading"));
    assert!(place.query_selector("h1").unwrap().is_some());
    place.remove();
}
