//! The page: shows what the session says, and turns what the user does into messages to it.
//!
//! One file per panel; what they share stands in [`desk`], what they are made of in [`controls`], and everything that touches the
//! browser beside drawing in [`browser`]. There is no rule of locks, stores or databases in here.

pub mod browser;
pub mod controls;
pub mod desk;
pub mod follow;
pub mod view;

mod branches;
mod challenge;
mod charges;
mod choices;
mod clients;
mod compare;
mod completing;
mod console;
mod export;
mod guide;
mod header;
mod help;
mod ledger;
mod library;
mod notices;
mod over;
mod palette;
mod picture;
mod properties;
mod rescue;
mod search;
pub mod seeker;
mod share;
mod shelf;
mod shortcuts;
mod sprite;
mod store;
mod table;
mod text;
mod transport;

use view::*;
use wasm_bindgen::JsCast;

use crate::session::{Notice, Session};
pub use picture::Drawing;

use controls::{Button, list};
use desk::{Desk, Dock, Tab};

/// Puts the page where `index.html` says 'loading'.
///
/// # Panics
///
/// When the document has no element `page`: `index.html` and this function belong together.
pub fn mount() {
    rescue::tell_of_panics();
    let place = document()
        .get_element_by_id("page")
        .and_then(|element| element.dyn_into::<web_sys::HtmlElement>().ok())
        .expect("index.html holds the element that the page goes into");
    place.set_inner_html("");
    browser::set_theme(&browser::theme());
    mount_page(place, || {
        let (session, told, is_first) = share::begin();
        let desk = Desk::new(session);
        rescue::watch_over(desk);
        share::follow(desk);
        shortcuts::listen(desk);
        guide::follow(desk);
        if is_first && !desk.embedded {
            guide::tour(desk);
        }
        let tell = move || {
            // All in one, as a notice takes the place of the one before.
            let is_refused = told
                .iter()
                .any(|notice| matches!(notice, Notice::Refused(_)));
            let sentences: Vec<String> = told.into_iter().map(Notice::into_words).collect();
            match (sentences.join(". "), is_refused) {
                (said, _) if said.is_empty() => {}
                (said, false) => desk.say(said),
                (why, true) => desk.refuse(why),
            }
        };
        set_timeout(tell, std::time::Duration::ZERO);
        desk
    });
}

/// Puts a page on this session into an element, and gives its desk: without storage, address and keys, for tests of components.
pub fn mount_on(place: web_sys::HtmlElement, session: Session) -> Desk {
    let owner = Owner::new();
    let desk = owner.with(|| Desk::new(session));
    std::mem::forget(owner);
    mount_page(place, move || desk);
    desk
}

/// Puts a page on this desk into an element, for as long as that is there.
fn mount_page(place: web_sys::HtmlElement, desk: impl FnOnce() -> Desk + 'static) {
    let within = place.clone();
    // To Leptos the page is a view without elements of its own, which owns the signals.
    let mounted =
        leptos::mount::mount_to(place, move || std::mem::forget(page(desk()).mount(&within)));
    mounted.forget();
}

/// The whole page.
fn page(desk: Desk) -> AnyView {
    let tab = move || match desk.tab.get() {
        Tab::Clients => "clients",
        Tab::Picture => "picture",
        Tab::Servers => "servers",
        Tab::Text => "text",
    };
    let dock = move || match desk.dock.get() {
        Dock::Properties => "properties",
        Dock::Text => "text",
        Dock::Consoles => "consoles",
    };
    view! {
        {sprite::sprite()}
        <div class="app" data-tab=tab data-dock=dock data-embedded=desk.embedded.then_some("")>
            {(!desk.embedded).then(|| Button::new("To the picture (I)").class("skip").does(move || picture::go(desk)).draw(desk))}
            {header::header(desk)}
            {phone_tabs(desk)}
            <main class="bench">
                {clients::clients(desk)}
                {picture::picture(desk)}
                <div class="side">
                    {servers(desk)}
                    {dock_tabs(desk)}
                    {properties::properties(desk)}
                    {text::text(desk)}
                    {console::consoles(desk)}
                </div>
            </main>
            {transport::transport(desk)}
            {notices::status(desk)}
            {notices::notice(desk)}
            {over::over_page(desk)}
        </div>
    }
}

fn servers(desk: Desk) -> AnyView {
    let tables = desk.items(table::tables_of);
    view! {
        <section class="servers panel" aria-labelledby="h-servers">
            <h2 class="hidden-but-read" id="h-servers">"Servers"</h2>
            <div class="panel__body" id="servers-body" tabindex="0">
                {store::store(desk)}
                {list(tables, table::draw)}
                {ledger::ledger(desk)}
                {charges::charges(desk)}
            </div>
        </section>
    }
    .into_any()
}

fn phone_tabs(desk: Desk) -> AnyView {
    let tab = move |tab: Tab, words: &'static str| {
        let is_shown = move || {
            if desk.tab.get() == tab {
                "true"
            } else {
                "false"
            }
        };
        view! {
            <button type="button" class="tabs__tab" role="tab" aria-selected=is_shown on:click=move |_| desk.tab.set(tab)>
                {words}
            </button>
        }
        .into_any()
    };
    view! {
        <nav class="phone-tabs" aria-label="Panels">
            <div class="phone-tabs__list" role="tablist">
                {tab(Tab::Clients, "Clients")} {tab(Tab::Picture, "Picture")} {tab(Tab::Servers, "Servers")} {tab(Tab::Text, "Text")}
            </div>
        </nav>
    }
    .into_any()
}

fn dock_tabs(desk: Desk) -> AnyView {
    let tab = move |dock: Dock, words: &'static str, controls: &'static str| {
        let is_shown = move || {
            if desk.dock.get() == dock {
                "true"
            } else {
                "false"
            }
        };
        let order = move || if desk.dock.get() == dock { "0" } else { "-1" };
        view! {
            <button
                type="button"
                class="tabs__tab"
                role="tab"
                aria-selected=is_shown
                aria-controls=controls
                tabindex=order
                on:click=move |_| desk.dock.set(dock)
                on:keydown=move |event| move_among_tabs(&event)
            >
                {words}
            </button>
        }
        .into_any()
    };
    view! {
        <div class="side__tabs">
            <div class="tabs" role="tablist" aria-label="Below the servers">
                {tab(Dock::Properties, "Properties", "dock-properties")}
                {tab(Dock::Text, "Text", "dock-text")}
                {tab(Dock::Consoles, "Console", "dock-consoles")}
            </div>
            <span class="panel__tools side__tools">{text::tools(desk)}</span>
        </div>
    }
    .into_any()
}

/// Left and Right choose the tab beside.
fn move_among_tabs(event: &web_sys::KeyboardEvent) {
    let tab = event_target::<web_sys::HtmlElement>(event);
    let beside = match event.key().as_str() {
        "ArrowRight" => tab.next_element_sibling(),
        "ArrowLeft" => tab.previous_element_sibling(),
        _ => return,
    };
    let Some(beside) = beside.and_then(|beside| beside.dyn_into::<web_sys::HtmlElement>().ok())
    else {
        return;
    };
    if beside.get_attribute("role").as_deref() == Some("tab") {
        beside.click();
        let _ = beside.focus();
        event.prevent_default();
    }
}
