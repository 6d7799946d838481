//! The store: its keys with their deadlines running down, and what an operator can do to them.

use super::view::*;

use super::controls::{Button, Key, badge, list};
use super::desk::Desk;
use crate::session::{Msg, Session};
use crate::sim::action::{Action, ClientId, ServerId};
use crate::sim::event::Fact;
use crate::sim::store::KeyState;
use crate::words;

/// The most keys that are shown.
const MOST_KEYS: usize = 200;

/// The store's part of the servers.
pub fn store(desk: Desk) -> AnyView {
    let keys = desk.items(keys_of);
    let count = desk.read(|session| {
        let stores = session.world().stores.iter();
        stores.map(|store| store.keys().count()).sum::<usize>()
    });
    let servers = desk.items(servers_of);
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
            <ul class="keys">{list(servers, move |row| draw_server(desk, row))}</ul>
            <ul class="keys">{list(keys, move |row| draw_key(desk, row))}</ul>
            {hint} {more}
        </section>
    }
}

#[derive(Clone, PartialEq)]
struct KeyRow {
    server: ServerId,
    /// The server's name, where there are several.
    on: Option<String>,
    why_no_evict: Option<String>,
    /// Whether the policy ever evicts anything.
    evicts: bool,
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
    let mut rows: Vec<(Key, KeyRow)> = Vec::new();
    for (place, store) in session.world().stores.iter().enumerate() {
        for (key, state) in store.keys().take(MOST_KEYS - rows.len().min(MOST_KEYS)) {
            let row = row_of(session, ServerId(place), key.to_vec(), state);
            rows.push((hash(key).wrapping_add(place as u64), row));
        }
    }
    crate::sorted::sort_by_key(&mut rows, |(_, row)| !row.is_lock);
    rows
}

/// A key's name as a number (FNV-1a), for the list.
fn hash(bytes: &[u8]) -> Key {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn row_of(session: &Session, server: ServerId, key: Vec<u8>, state: KeyState) -> KeyRow {
    let policy = session.setup().policy;
    let is_lock = session
        .setup()
        .watches
        .iter()
        .any(|watch| watch.lock.as_deref() == Some(&key[..]));
    let holder = session
        .lease_on(server, &key)
        .filter(|_| is_lock)
        .and_then(|lease| lease.holder);
    let of_key =
        |make: fn(ServerId, Vec<u8>) -> Action| session.why_not(&make(server, key.clone()));
    KeyRow {
        server,
        on: (session.setup().server_count() > 1)
            .then(|| session.setup().server_name(server).to_string()),
        why_no_evict: of_key(|server, key| Action::Evict { server, key }),
        evicts: !policy.evicts_nothing(),
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
                .any(|event| matches!(&event.fact, Fact::KeyChanged { server: at, key: of, .. } if *at == server && *of == key))
        }),
        why_no_expire: of_key(|server, key| Action::ExpireNow { server, key }),
        why_no_wipe: of_key(|server, key| Action::Wipe { server, key }),
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
        server,
        on,
        why_no_evict,
        evicts,
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
            crate::strokes::hue(*client)
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
                server,
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
                server,
                key: key.clone(),
            }),
        );
    let evict = Button::new("Evict")
        .label("Evict the key ".to_string() + &name + ", as memory is full")
        .class("button--small")
        .unless(why_no_evict)
        .sends(desk, Msg::Act(Action::Evict { server, key }));
    let on = on.map(|on| view! { <span class="chip">{on}</span> });
    let shows_expire = remaining.is_some() || is_lock;
    view! {
        <li class=class>
            <span class="key__name" title=name.clone()>{name.clone()}</span>
            <span class="key__value"><span title=value.clone()>{value.clone()}</span>{kind}{chip}{on}</span>
            {draw_ttl(&name, remaining, whole, hue)}
            <span class="key__tools">{shows_expire.then(|| expire.draw(desk))}{wipe.draw(desk)}{evicts.then(|| evict.draw(desk))}</span>
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

/// One of several servers: what it is, and what can be done with it.
#[derive(Clone, PartialEq)]
struct ServerRow {
    server: ServerId,
    name: String,
    state: String,
    is_down: bool,
    is_replica: bool,
    why_no_crash: Option<String>,
    why_no_replication: Option<String>,
    why_no_failover: Option<String>,
}

fn servers_of(session: &Session) -> Vec<(Key, ServerRow)> {
    let setup = session.setup();
    if setup.servers.is_empty() {
        return Vec::new();
    }
    let servers = (0..setup.server_count()).map(ServerId);
    servers
        .map(|server| (server.0 as u64, server_row(session, server)))
        .collect()
}

fn server_row(session: &Session, server: ServerId) -> ServerRow {
    let (setup, world) = (session.setup(), session.world());
    let store = world.store(server);
    let members = setup.members_of(setup.group_of(server));
    let primary = world.primary_among(&members).unwrap_or(server);
    let lacks = world.store(primary).lacking(server.0).len();
    let mut state = match (store.is_down(), store.is_replica()) {
        (true, _) => "down".to_string(),
        (false, false) if members.len() > 1 => "primary".to_string(),
        (false, false) => "up".to_string(),
        (false, true) => {
            "replica, lacks ".to_string() + &words::count(lacks, "command", "commands")
        }
    };
    if store.clock() != 0 {
        let sign = if store.clock() < 0 { "−" } else { "+" };
        state += ", clock ";
        state += sign;
        state += &words::milliseconds(store.clock().unsigned_abs());
    }
    let crash = match store.is_down() {
        true => Action::RestartServer {
            server,
            keeps_data: true,
        },
        false => Action::CrashServer { server },
    };
    ServerRow {
        server,
        name: setup.server_name(server).to_string(),
        state,
        is_down: store.is_down(),
        is_replica: store.is_replica(),
        why_no_crash: session.why_not(&crash),
        why_no_replication: session.why_not(&Action::Replicate {
            to: server,
            commands: None,
        }),
        why_no_failover: session.why_not(&Action::Failover { to: server }),
    }
}

fn draw_server(desk: Desk, row: ServerRow) -> AnyView {
    let ServerRow {
        server,
        name,
        state,
        is_down,
        is_replica,
        why_no_crash,
        why_no_replication,
        why_no_failover,
    } = row;
    let button = |words: &'static str, why: Option<String>, action: Action| {
        Button::new(words)
            .label(words.to_string() + ": " + &name)
            .class("button--small")
            .unless(why)
            .sends(desk, Msg::Act(action))
            .draw(desk)
    };
    let mut tools: Vec<AnyView> = Vec::new();
    if is_down {
        for (words, keeps_data) in [("Restart", true), ("Restart without data", false)] {
            let action = Action::RestartServer { server, keeps_data };
            tools.push(button(words, why_no_crash.clone(), action));
        }
    } else {
        tools.push(button(
            "Crash",
            why_no_crash,
            Action::CrashServer { server },
        ));
    }
    if is_replica {
        let replicate = Action::Replicate {
            to: server,
            commands: None,
        };
        tools.push(button("Replicate", why_no_replication, replicate));
        tools.push(button(
            "Fail over",
            why_no_failover,
            Action::Failover { to: server },
        ));
    }
    view! {
        <li class="key">
            <span class="key__name" title=name.clone()>{name.clone()}</span>
            <span class="key__value"><span>{state}</span></span>
            <span class="key__tools">{tools}</span>
        </li>
    }
    .into_any()
}
