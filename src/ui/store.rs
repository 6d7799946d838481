//! The store: its keys with their deadlines running down, and what an operator can do to them.

use super::view::*;

use super::controls::{Button, Key, badge, list};
use super::desk::Desk;
use super::words;
use crate::session::{Msg, Session};
use crate::sim::action::{Action, ClientId, ServerId};
use crate::sim::event::Fact;
use crate::sim::store::KeyState;

/// The most keys that are shown.
const MOST_KEYS: usize = 200;

/// The store's part of the servers.
pub fn store(desk: Desk) -> AnyView {
    let keys = desk.read(keys_of);
    let count = desk.read(|session| session.world().store(ServerId::FIRST).keys().count());
    let note = move || match count.get() {
        0 => "empty".to_string(),
        count => words::count(count, "key", "keys"),
    };
    let hint = move || {
        (count.get() == 0)
            .then(|| view! { <p class="empty">"Keys appear here when a command writes them."</p> })
    };
    let more = move || {
        let more = count.get().saturating_sub(MOST_KEYS);
        (more > 0).then(|| {
            let words = words::count(more, "more key is", "more keys are");
            view! { <p class="empty">{words}" not shown: a console reads them."</p> }
        })
    };
    let reseeds = desk.read(reseeds_of);
    view! {
        <section class="server" aria-labelledby="h-store">
            <header class="server__head">
                <h3 class="server__title" id="h-store">"Store"</h3>
                <span class="server__note">{note}</span>
                <span class="server__tools">{move || reseeds.get().into_iter().map(|reseed| draw_reseed(desk, reseed)).collect_view()}</span>
            </header>
            <ul class="keys">{list(keys, move |row| draw_key(desk, row))}</ul>
            {hint} {more}
        </section>
    }
}

#[derive(Clone, PartialEq)]
struct KeyRow {
    key: Vec<u8>,
    value: String,
    kind: &'static str,
    remaining: Option<u64>,
    whole: u64,
    holder: Option<(ClientId, String)>,
    is_lock: bool,
    is_changed: bool,
    why_no_expire: Option<String>,
    why_no_wipe: Option<String>,
}

fn keys_of(session: &Session) -> Vec<(Key, KeyRow)> {
    let keys = session
        .world()
        .store(ServerId::FIRST)
        .keys()
        .take(MOST_KEYS)
        .map(|(key, state)| (key.to_vec(), state));
    let mut rows: Vec<(Key, KeyRow)> = keys
        .map(|(key, state)| (hash(&key), row_of(session, key, state)))
        .collect();
    crate::sorted::sort_by_key(&mut rows, |(_, row)| !row.is_lock);
    rows
}

/// A key's name as a number (FNV-1a), for the list.
fn hash(bytes: &[u8]) -> Key {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn row_of(session: &Session, key: Vec<u8>, state: KeyState) -> KeyRow {
    let is_lock = session
        .setup()
        .watches
        .iter()
        .any(|watch| watch.lock.as_deref() == Some(&key[..]));
    let holder = session
        .lease(&key)
        .filter(|_| is_lock)
        .and_then(|lease| lease.holder);
    KeyRow {
        value: value_in_words(&state),
        kind: state.value.type_name(),
        remaining: state.remaining,
        whole: session.whole_ttl(&key),
        holder: holder.map(|holder| (holder, session.client_name(holder).to_string())),
        is_lock,
        is_changed: session.last_entry().is_some_and(|entry| {
            entry
                .events
                .iter()
                .any(|event| matches!(&event.fact, Fact::KeyChanged { key: of, .. } if *of == key))
        }),
        why_no_expire: session.why_not(&Action::ExpireNow {
            server: ServerId::FIRST,
            key: key.clone(),
        }),
        why_no_wipe: session.why_not(&Action::Wipe {
            server: ServerId::FIRST,
            key: key.clone(),
        }),
        key,
    }
}

/// The value as redis-cli would show it, on one line and shortened.
fn value_in_words(state: &KeyState) -> String {
    use crate::sim::store::reply::quote;
    match state.value.as_string() {
        Some(bytes) => words::shortened(&quote(bytes), 60),
        None => {
            let parts = state.value.parts();
            let shown: Vec<String> = parts.iter().take(8).map(|part| quote(part)).collect();
            words::shortened(&shown.join(" "), 60)
        }
    }
}

fn draw_key(desk: Desk, row: KeyRow) -> AnyView {
    let KeyRow {
        key,
        value,
        kind,
        remaining,
        whole,
        holder,
        is_changed,
        why_no_expire,
        why_no_wipe,
        is_lock,
    } = row;
    let name = words::text(&key);
    let class = if is_changed {
        "key key--changed"
    } else {
        "key"
    };
    let hue = holder
        .as_ref()
        .map_or("is-nobody".to_string(), |(client, _)| {
            super::controls::hue(*client)
        });
    let chip = holder.map(|(client, name)| {
        let title = name.clone() + " holds it";
        view! { <span class="chip" title=title>{badge(client, &name, true)}"holder"</span> }
    });
    let kind = (kind != "string").then(|| view! { <span class="chip">{kind}</span> });
    let expire = Button::new("Expire now")
        .label("Make the deadline of ".to_string() + &name + " pass now")
        .class("button--small")
        .unless(why_no_expire)
        .sends(
            desk,
            Msg::Act(Action::ExpireNow {
                server: ServerId::FIRST,
                key: key.clone(),
            }),
        );
    let wipe = Button::new("Wipe")
        .label("Lose the key ".to_string() + &name)
        .class("button--small")
        .unless(why_no_wipe)
        .sends(
            desk,
            Msg::Act(Action::Wipe {
                server: ServerId::FIRST,
                key,
            }),
        );
    let shows_expire = remaining.is_some() || is_lock;
    view! {
        <li class=class>
            <span class="key__name" title=name.clone()>{name.clone()}</span>
            <span class="key__value"><span title=value.clone()>{value.clone()}</span>{kind}{chip}</span>
            {draw_ttl(&name, remaining, whole, hue)}
            <span class="key__tools">{shows_expire.then(|| expire.draw(desk))}{wipe.draw(desk)}</span>
        </li>
    }
    .into_any()
}

fn draw_ttl(name: &str, remaining: Option<u64>, whole: u64, hue: String) -> AnyView {
    let Some(remaining) = remaining else {
        return view! { <div class="key__ttl key__ttl--none"><span>"no TTL"</span></div> }
            .into_any();
    };
    let class = "key__ttl ".to_string() + &hue;
    let label = "TTL of ".to_string() + name;
    view! {
        <div class=class>
            <progress class="ttl" max=whole.max(remaining).max(1).to_string() value=remaining.to_string() aria-label=label></progress>
            <span>{words::milliseconds(remaining)}" left"</span>
        </div>
    }
    .into_any()
}

/// A `watch` line whose counter can be seeded from its table.
#[derive(Clone, PartialEq)]
struct Reseed {
    watch: usize,
    counter: String,
    fence: String,
    frozen: Option<String>,
}

fn reseeds_of(session: &Session) -> Vec<Reseed> {
    let watches = session.setup().watches.iter().enumerate();
    watches
        .filter_map(|(watch, roles)| {
            let (counter, fence) = (roles.counter.as_ref()?, roles.fence.as_ref()?);
            Some(Reseed {
                watch,
                counter: words::text(counter),
                fence: fence.column.clone(),
                frozen: session.why_not_writable(),
            })
        })
        .collect()
}

fn draw_reseed(desk: Desk, reseed: Reseed) -> AnyView {
    let Reseed {
        watch,
        counter,
        fence,
        frozen,
    } = reseed;
    Button::new("Reseed ".to_string() + &counter)
        .label(
            "SELECT MAX(".to_string()
                + &fence
                + "), then SET "
                + &counter
                + " to it: two actions of the operator",
        )
        .class("button--small")
        .unless(frozen)
        .sends(desk, Msg::Reseed(watch))
        .draw(desk)
}
