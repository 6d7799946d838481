//! Everything that the page does to the browser beside drawing: storage, the address, the clipboard, files, timers, themes.
//!
//! Each of these can be missing or refused (private windows, full disks, pages opened from a file, old browsers): nothing here
//! panics, and what cannot be done says so.

use std::cell::RefCell;

use super::view::*;
use crate::session::Branch;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

/// How long something stays before its timer runs, in milliseconds.
pub type Milliseconds = i32;

const TEXT: &str = "latchkey.text";
const DRAFT: &str = "latchkey.draft";
const CURSOR: &str = "latchkey.cursor";
const BRANCHES: &str = "latchkey.branches";
/// The number and the name of what is open among the branches.
const BRANCH: &str = "latchkey.branch";
/// The scenarios that are kept under names.
const SHELF: &str = "latchkey.shelf";
const THEME: &str = "latchkey.theme";
const STOPPED: &str = "latchkey.stopped";
/// In the tab's own storage: the address as it was when the page was left, a blank, and what it should have been.
const LEFT_AT: &str = "latchkey.left-at";

fn storage() -> Option<web_sys::Storage> {
    window().local_storage().ok().flatten()
}

fn stored(key: &str) -> Option<String> {
    storage()?.get_item(key).ok().flatten()
}

fn store(key: &str, value: &str) -> Result<(), String> {
    let storage = storage().ok_or("the browser does not allow this page to keep anything")?;
    match storage.set_item(key, value) {
        Ok(()) => Ok(()),
        Err(_) => Err("the browser's storage for this page is full or closed".to_string()),
    }
}

fn forget(key: &str) {
    if let Some(storage) = storage() {
        let _ = storage.remove_item(key);
    }
}

/// Work as the browser keeps it over a reload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The text as it was last good.
    pub text: String,
    /// The text as it was being edited, where that does not parse.
    pub draft: Option<String>,
    /// How many actions had been played.
    pub cursor: usize,
    /// The branches.
    pub branches: Vec<Branch>,
    /// The name, where it has one, and the number of what is open among the branches.
    pub branch: (String, u64),
}

/// Keeps the work; says why where the browser refuses.
pub fn keep(kept: &Kept) -> Result<(), String> {
    store(TEXT, &kept.text)?;
    SEEN.set(Some(kept.text.clone()));
    store(CURSOR, &kept.cursor.to_string())?;
    store(BRANCHES, &as_json(&kept.branches))?;
    let (name, born) = &kept.branch;
    store(BRANCH, &(born.to_string() + " " + name))?;
    match &kept.draft {
        Some(draft) => store(DRAFT, draft),
        None => {
            forget(DRAFT);
            Ok(())
        }
    }
}

/// The work that another tab has kept since this one last kept its own or began.
pub fn kept_by_another_tab() -> Option<Kept> {
    let seen = SEEN.take();
    let text = stored(TEXT);
    let is_others = text.is_some() && text != seen;
    SEEN.set(seen);
    is_others.then(kept).flatten()
}

/// The work that was kept; `None` when there is none.
pub fn kept() -> Option<Kept> {
    let text = stored(TEXT)?;
    SEEN.set(Some(text.clone()));
    let cursor = stored(CURSOR).and_then(|cursor| cursor.parse().ok());
    Some(Kept {
        text,
        draft: stored(DRAFT),
        cursor: cursor.unwrap_or(usize::MAX),
        branches: stored(BRANCHES).map_or_else(Vec::new, |text| branches_of(&text)),
        branch: stored(BRANCH)
            .and_then(|branch| {
                let (born, name) = branch.split_once(' ')?;
                Some((name.to_string(), born.parse().ok()?))
            })
            .unwrap_or_default(),
    })
}

/// The scenarios that are kept under names, by whichever tab.
pub fn shelf() -> Vec<Branch> {
    stored(SHELF).map_or_else(Vec::new, |text| branches_of(&text))
}

/// Keeps scenarios under their names; says why where the browser refuses.
pub fn keep_shelf(shelf: &[Branch]) -> Result<(), String> {
    store(SHELF, &as_json(shelf))
}

/// Calls when another tab has changed what is kept.
pub fn on_storage(changed: impl Fn() + 'static) {
    let handler = Closure::<dyn Fn()>::new(changed);
    let function = handler.as_ref().unchecked_ref();
    let _ = window().add_event_listener_with_callback("storage", function);
    handler.forget();
}

fn as_json(list: &[Branch]) -> String {
    let array = js_sys::Array::new();
    for branch in list {
        array.push(&js_sys::Array::of4(
            &branch.name.as_str().into(),
            &branch.text.as_str().into(),
            &JsValue::from_f64(branch.cursor as f64),
            &JsValue::from_f64(branch.born as f64),
        ));
    }
    let text = js_sys::JSON::stringify(&array);
    text.map(String::from).unwrap_or_default()
}

fn branches_of(text: &str) -> Vec<Branch> {
    let list = js_sys::JSON::parse(text).ok();
    let list = list.and_then(|list| list.dyn_into::<js_sys::Array>().ok());
    let branches = list.iter().flat_map(js_sys::Array::iter).enumerate();
    branches
        .filter_map(|(place, branch)| {
            let branch = branch.dyn_into::<js_sys::Array>().ok()?;
            Some(Branch {
                name: branch.get(0).as_string()?,
                text: branch.get(1).as_string()?,
                cursor: branch.get(2).as_f64()? as usize,
                // Earlier versions of the page kept no number.
                born: branch
                    .get(3)
                    .as_f64()
                    .map_or(place as u64, |born| born as u64),
            })
        })
        .collect()
}

/// Remembers that the page stopped over a mistake of its own, so that it does not open the same work at once again.
pub fn remember_that_it_stopped() {
    let _ = store(STOPPED, "1");
}

/// Whether the page stopped when it was last open; asks once.
pub fn it_stopped() -> bool {
    let stopped = stored(STOPPED).is_some();
    forget(STOPPED);
    stopped
}

/// `light`, `dark`, or nothing for what the system says.
pub fn theme() -> String {
    stored(THEME)
        .filter(|theme| theme == "light" || theme == "dark")
        .unwrap_or_default()
}

/// Shows this theme and remembers it.
pub fn set_theme(theme: &str) {
    if let Some(root) = document().document_element() {
        let _ = match theme {
            "" => root.remove_attribute("data-theme"),
            theme => root.set_attribute("data-theme", theme),
        };
    }
    match theme {
        "" => forget(THEME),
        theme => {
            let _ = store(THEME, theme);
        }
    }
}

/// What stands behind `#` in the address; empty when nothing does.
pub fn fragment() -> String {
    window()
        .location()
        .hash()
        .unwrap_or_default()
        .trim_start_matches('#')
        .to_string()
}

/// Whether the address asks for the page as a part of another one: `?embed` before the fragment.
pub fn is_embedded() -> bool {
    let search = window().location().search().unwrap_or_default();
    search == "?embed"
}

fn storage_of_tab() -> Option<web_sys::Storage> {
    window().session_storage().ok().flatten()
}

/// Remembers, in this tab and over a reload, which fragment the address was about to get: it is written a moment after what a
/// user does, and a page that is being left cannot write it any more. `None`: the address is as it should be.
pub fn leave_behind(next: Option<&str>) {
    if let Some(storage) = storage_of_tab() {
        let _ = match next {
            Some(next) => storage.set_item(LEFT_AT, &(fragment() + " " + next)),
            None => storage.remove_item(LEFT_AT),
        };
    }
}

/// Writes the fragment that was left behind into the address, where this tab is still at the address at which it was left.
pub fn catch_up() {
    let left = storage_of_tab().and_then(|storage| storage.get_item(LEFT_AT).ok().flatten());
    if let Some((at, next)) = left.as_deref().and_then(|left| left.split_once(' '))
        && at == fragment()
        && at != next
    {
        write_address(next, false);
    }
}

/// The page's address with this fragment (none when it is empty).
pub fn address_with(fragment: &str) -> String {
    let whole = window().location().href().unwrap_or_default();
    let page = whole.split('#').next().unwrap_or_default();
    match fragment {
        "" => page.to_string(),
        fragment => page.to_string() + "#" + fragment,
    }
}

/// Writes the fragment into the address, in place of what is there or as a new entry of the history.
pub fn write_address(fragment: &str, new_entry: bool) {
    let address = address_with(fragment);
    if let Ok(history) = window().history() {
        let _ = match new_entry {
            true => history.push_state_with_url(&JsValue::NULL, "", Some(&address)),
            false => history.replace_state_with_url(&JsValue::NULL, "", Some(&address)),
        };
    }
}

/// Names the page in the browser's tab and history.
pub fn set_title(title: &str) {
    document().set_title(title);
}

/// Calls whenever the address changes without a reload: Back, Forward, a link put into the address.
pub fn on_address(changed: impl Fn() + 'static) {
    let handler = Closure::<dyn Fn()>::new(changed);
    let function = handler.as_ref().unchecked_ref();
    let _ = window().add_event_listener_with_callback("popstate", function);
    let _ = window().add_event_listener_with_callback("hashchange", function);
    handler.forget();
}

/// Calls for every key that is pressed anywhere on the page.
pub fn on_key(pressed: impl Fn(web_sys::KeyboardEvent) + 'static) {
    let handler = Closure::<dyn Fn(web_sys::KeyboardEvent)>::new(pressed);
    let _ = window().add_event_listener_with_callback("keydown", handler.as_ref().unchecked_ref());
    handler.forget();
}

/// Takes the focus from a button that a pointer has pressed, so that the page's keys work at once; a button that was pressed by a key
/// keeps it.
pub fn leave_buttons_after_a_pointer() {
    let handler = Closure::<dyn Fn(web_sys::MouseEvent)>::new(|event: web_sys::MouseEvent| {
        if event.detail() > 0 {
            leave_button();
            // A dialog that closes gives the focus back to the button that opened it.
            request_animation_frame(leave_button);
        }
    });
    let _ = window().add_event_listener_with_callback("click", handler.as_ref().unchecked_ref());
    handler.forget();
}

fn leave_button() {
    let focused = document()
        .active_element()
        .filter(|element| element.closest("dialog").is_ok_and(|over| over.is_none()))
        .filter(|element| element.tag_name() == "BUTTON");
    let button = focused.and_then(|element| element.dyn_into::<web_sys::HtmlElement>().ok());
    if let Some(button) = button {
        let _ = button.blur();
    }
}

/// Calls when the page may be about to go: it is hidden or left.
pub fn on_leave(leaving: impl Fn() + 'static) {
    let handler = Closure::<dyn Fn()>::new(leaving);
    let function = handler.as_ref().unchecked_ref();
    let _ = window().add_event_listener_with_callback("pagehide", function);
    let _ = document().add_event_listener_with_callback("visibilitychange", function);
    handler.forget();
}

/// Calls when the page is about to be printed, and when it has been.
pub fn on_print(print: impl Fn(bool) + 'static) {
    let handler = Closure::<dyn Fn(web_sys::Event)>::new(move |event: web_sys::Event| {
        print(event.type_() == "beforeprint");
    });
    for name in ["beforeprint", "afterprint"] {
        let _ = window().add_event_listener_with_callback(name, handler.as_ref().unchecked_ref());
    }
    handler.forget();
}

/// Calls with the files that are dropped anywhere on the page.
pub fn on_drop(dropped: impl Fn(web_sys::FileList) + 'static) {
    let over = Closure::<dyn Fn(web_sys::DragEvent)>::new(|event: web_sys::DragEvent| {
        event.prevent_default()
    });
    let drop = Closure::<dyn Fn(web_sys::DragEvent)>::new(move |event: web_sys::DragEvent| {
        let files = event.data_transfer().and_then(|data| data.files());
        if let Some(files) = files.filter(|files| files.length() > 0) {
            event.prevent_default();
            dropped(files);
        }
    });
    let _ = window().add_event_listener_with_callback("dragover", over.as_ref().unchecked_ref());
    let _ = window().add_event_listener_with_callback("drop", drop.as_ref().unchecked_ref());
    over.forget();
    drop.forget();
}

/// A timer that runs once. Setting it again puts it off; where it waits already, [`Timer::unless_set`] leaves it.
#[derive(Clone, Copy)]
pub struct Timer {
    handle: StoredValue<Option<i32>>,
}

impl Timer {
    /// A timer that is not set.
    pub fn new() -> Timer {
        Timer {
            handle: StoredValue::new(None),
        }
    }

    /// Runs this after so long, in place of what it was set to.
    pub fn set(self, after: Milliseconds, run: impl FnOnce() + 'static) {
        self.clear();
        let handle = self.handle;
        let function = Closure::once_into_js(move || {
            handle.set_value(None);
            run();
        });
        let set = window()
            .set_timeout_with_callback_and_timeout_and_arguments_0(function.unchecked_ref(), after);
        self.handle.set_value(set.ok());
    }

    /// Runs this after so long, unless it is set already.
    pub fn unless_set(self, after: Milliseconds, run: impl FnOnce() + 'static) {
        if self.handle.get_value().is_none() {
            self.set(after, run);
        }
    }

    /// Whether it will run.
    pub fn is_set(self) -> bool {
        self.handle.with_value(Option::is_some)
    }

    /// Runs nothing.
    pub fn clear(self) {
        if let Some(handle) = self.handle.get_value() {
            window().clear_timeout_with_handle(handle);
            self.handle.set_value(None);
        }
    }
}

impl Default for Timer {
    fn default() -> Timer {
        Timer::new()
    }
}

/// Calls with what a promise gives; `None` where it is broken.
fn when_settled(promise: js_sys::Promise, then: Box<dyn FnOnce(Option<JsValue>)>) {
    leptos::task::spawn_local(async move { then(JsFuture::from(promise).await.ok()) });
}

/// Copies to the clipboard, and says whether the browser let it.
pub fn copy(text: String, copied: impl FnOnce(bool) + 'static) {
    let navigator: JsValue = window().navigator().into();
    let has_clipboard = js_sys::Reflect::get(&navigator, &"clipboard".into())
        .is_ok_and(|clipboard| clipboard.is_object());
    if !has_clipboard {
        return copied(false);
    }
    let promise = window().navigator().clipboard().write_text(&text);
    when_settled(promise, Box::new(move |value| copied(value.is_some())));
}

/// Hands a text to the browser as a file to save.
pub fn save_file(name: &str, text: &str) -> bool {
    let parts = js_sys::Array::of1(&text.into());
    let kind = web_sys::BlobPropertyBag::new();
    kind.set_type("text/plain;charset=utf-8");
    let saved = web_sys::Blob::new_with_str_sequence_and_options(&parts, &kind).and_then(|blob| {
        let address = web_sys::Url::create_object_url_with_blob(&blob)?;
        let link: web_sys::HtmlAnchorElement = document().create_element("a")?.unchecked_into();
        link.set_href(&address);
        link.set_download(name);
        link.click();
        web_sys::Url::revoke_object_url(&address)
    });
    saved.is_ok()
}

#[wasm_bindgen]
extern "C" {
    /// `export.js` has it.
    #[wasm_bindgen(catch, js_name = savePng)]
    fn png_as_file(svg: &str, name: &str) -> Result<js_sys::Promise, JsValue>;
}

/// Hands a picture in SVG to the browser as a PNG to save.
pub fn save_png(svg: &str, name: &str, saved: impl FnOnce(bool) + 'static) {
    match png_as_file(svg, name) {
        Ok(promise) => when_settled(promise, Box::new(move |value| saved(value.is_some()))),
        Err(_) => saved(false),
    }
}

#[wasm_bindgen]
extern "C" {
    /// `export.js` has it.
    #[wasm_bindgen(catch, js_name = exportText)]
    fn text_in_format(text: &str, format: &str, holds: bool) -> Result<js_sys::Promise, JsValue>;
}

/// A scenario's text in a format, from the program that is loaded for it; or why there is none.
pub fn export_text(
    text: &str,
    format: &str,
    holds: bool,
    exported: impl FnOnce(Result<String, String>) + 'static,
) {
    let settled = move |value: Option<JsValue>| {
        let parts = value.map_or_else(js_sys::Array::new, |value| js_sys::Array::from(&value));
        let why = || parts.get(1).as_string().unwrap_or_default();
        exported(parts.get(0).as_string().ok_or_else(why));
    };
    match text_in_format(text, format, holds) {
        Ok(promise) => when_settled(promise, Box::new(settled)),
        Err(_) => settled(None),
    }
}

/// The largest file that is read, in bytes.
pub const MOST_FILE_BYTES: f64 = 4_000_000.0;

/// Reads a file as text; says why where that is not possible.
pub fn read_file(file: web_sys::File, read: impl FnOnce(Result<String, String>) + 'static) {
    let name = file.name();
    if file.size() > MOST_FILE_BYTES {
        return read(Err(format!(
            "{name} is larger than 4 MB, too large for a scenario"
        )));
    }
    let read_it = move |value: Option<JsValue>| {
        let text = value.and_then(|text| text.as_string());
        read(text.ok_or_else(|| format!("{name} could not be read")));
    };
    when_settled(file.text(), Box::new(read_it));
}

/// The element with this id.
pub fn element(id: &str) -> Option<web_sys::HtmlElement> {
    document().get_element_by_id(id)?.dyn_into().ok()
}

/// Puts the focus on the element with this id.
pub fn focus(id: &str) {
    if let Some(element) = element(id) {
        let _ = element.focus();
    }
}

/// Scrolls so that the element with this id is seen from its top on.
pub fn bring_into_view(id: &str) {
    if let Some(element) = element(id) {
        element.scroll_into_view();
    }
}

/// Scrolls so that the element with this id is seen with as much above it as there is room for.
pub fn bring_up(id: &str) {
    if let Some(element) = element(id) {
        element.scroll_into_view_with_bool(false);
    }
}

/// Calls with the width of an element, now and whenever it changes.
pub fn on_width(element: &web_sys::Element, changed: impl Fn(i32, i32) + 'static) {
    let watched = element.clone();
    let handler =
        Closure::<dyn Fn()>::new(move || changed(watched.client_width(), watched.client_height()));
    if let Ok(observer) = web_sys::ResizeObserver::new(handler.as_ref().unchecked_ref()) {
        observer.observe(element);
    }
    handler.forget();
}

/// The width and the height of what is seen of the window, in pixels.
pub fn window_size() -> (f64, f64) {
    let side = |name: &str| {
        let side = js_sys::Reflect::get(&window(), &name.into()).ok();
        side.and_then(|side| side.as_f64()).unwrap_or_default()
    };
    (side("innerWidth"), side("innerHeight"))
}

/// Writes a text in place of these units of a textarea, as if it were typed, so that the browser's own undo knows of it.
pub fn write_into(area: &web_sys::HtmlTextAreaElement, start: u32, end: u32, text: &str) {
    let _ = area.focus();
    let _ = area.set_selection_range(start, end);
    let page: web_sys::HtmlDocument = document().unchecked_into();
    let is_typed = page.exec_command_with_show_ui_and_value("insertText", false, text);
    if is_typed != Ok(true) {
        let _ = area.set_range_text_with_start_and_end(text, start, end);
        if let Ok(event) = web_sys::Event::new("input") {
            let _ = area.dispatch_event(&event);
        }
    }
}

/// Shows or closes a dialog, over everything else.
pub fn show_dialog(dialog: &web_sys::HtmlDialogElement, shown: bool) {
    match shown {
        true if !dialog.open() => {
            let _ = dialog.show_modal();
        }
        false if dialog.open() => dialog.close(),
        _ => {}
    }
}

/// Whether this key means something to the element that has the focus: any key to a field, a slider and a dialog, and those that
/// press or move to a button.
pub fn is_taken(key: &str) -> bool {
    let takers = match key.chars().count() == 1 && key != " " {
        true => "input, textarea, select, dialog",
        false => "input, textarea, select, dialog, button, a, [role=button], [role=tab]",
    };
    focused().is_some_and(|element| element.closest(takers).is_ok_and(|taken| taken.is_some()))
}

/// Takes the focus from a field outside of a dialog, so that the page's keys work.
pub fn leave_field() {
    let field = focused().filter(|element| {
        element
            .matches(":not(dialog *):is(input, textarea, select)")
            .unwrap_or(false)
    });
    if let Some(field) = field.and_then(|element| element.dyn_into::<web_sys::HtmlElement>().ok()) {
        let _ = field.blur();
    }
}

fn focused() -> Option<web_sys::Element> {
    document().active_element()
}

/// Whether this is a Mac, where the command key does what the control key does elsewhere.
pub fn is_mac() -> bool {
    let platform = window().navigator().platform();
    platform.is_ok_and(|platform| platform.starts_with("Mac"))
}

/// Scrolls to the end of what an element holds.
pub fn scroll_to_end(element: web_sys::Element) {
    element.set_scroll_top(element.scroll_height());
}

thread_local! {
    /// The text in the storage when this tab last read or wrote it.
    static SEEN: RefCell<Option<String>> = const { RefCell::new(None) };
    /// The worker of the search that is under way, and what hears it.
    static SEARCH: RefCell<Option<Seeking>> = const { RefCell::new(None) };
}

struct Seeking {
    worker: web_sys::Worker,
    _heard: Closure<dyn Fn(web_sys::MessageEvent)>,
    _failed: Closure<dyn Fn()>,
}

/// Starts a search beside the page, in place of one that is under way: the program that runs here goes over compiled. Calls with
/// every string that it tells, or once when it cannot go on.
pub fn start_search(
    text: &str,
    place: usize,
    heard: impl Fn(String) + 'static,
    failed: impl Fn() + Clone + 'static,
) {
    end_search();
    let address = element_address("program-js");
    let Ok(worker) = web_sys::Worker::new("search.js") else {
        return failed();
    };
    let hear =
        Closure::<dyn Fn(web_sys::MessageEvent)>::new(move |event: web_sys::MessageEvent| {
            if let Some(said) = event.data().as_string() {
                heard(said);
            }
        });
    let could_not_go_on = failed.clone();
    let fail = Closure::<dyn Fn()>::new(move || {
        end_search();
        could_not_go_on();
    });
    worker.set_onmessage(Some(hear.as_ref().unchecked_ref()));
    worker.set_onerror(Some(fail.as_ref().unchecked_ref()));
    let begin = js_sys::Array::of4(
        &wasm_bindgen::module(),
        &address.into(),
        &text.into(),
        &JsValue::from_f64(place as f64),
    );
    if worker.post_message(&begin).is_err() {
        return failed();
    }
    let seeking = Seeking {
        worker,
        _heard: hear,
        _failed: fail,
    };
    SEARCH.set(Some(seeking));
}

/// Tells the search to `pause`, to `resume` or to `stop`.
pub fn tell_search(word: &str) {
    SEARCH.with_borrow(|seeking| {
        if let Some(seeking) = seeking {
            let _ = seeking.worker.post_message(&word.into());
        }
    });
}

/// Ends the search's worker. What heard it goes a moment later, as it may be what is running.
pub fn end_search() {
    if let Some(seeking) = SEARCH.take() {
        seeking.worker.terminate();
        set_timeout(move || drop(seeking), std::time::Duration::ZERO);
    }
}

/// Where the file is that the element with this id names.
fn element_address(id: &str) -> String {
    let element = document().get_element_by_id(id);
    let address = element.and_then(|element| js_sys::Reflect::get(&element, &"href".into()).ok());
    address
        .and_then(|address| address.as_string())
        .unwrap_or_default()
}
