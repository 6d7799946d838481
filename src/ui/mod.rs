//! The page: shows what the core says, and turns clicks into the core's words.

use leptos::prelude::*;
use wasm_bindgen::JsCast;

/// Puts the page where `index.html` says 'loading'.
///
/// # Panics
///
/// When the document has no element `page`: `index.html` and this function belong together.
pub fn mount() {
    console_error_panic_hook::set_once();
    let place = document()
        .get_element_by_id("page")
        .and_then(|element| element.dyn_into::<web_sys::HtmlElement>().ok())
        .expect("index.html holds the element that the page goes into");
    place.set_inner_html("");
    leptos::mount::mount_to(place, Page).forget();
}

/// The whole page.
#[component]
pub fn Page() -> impl IntoView {
    view! { <h1>"Latchkey"</h1> }
}
