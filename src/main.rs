//! Mounts the page, nothing else. A worker that runs the same program has no window and gets no page.

fn main() {
    if web_sys::window().is_some() {
        latchkey::ui::mount();
    }
}
