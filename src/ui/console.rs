//! The consoles: whatever an operator or a client types, and what the server prints, as redis-cli and mysql do.

use super::view::*;

use super::browser;
use super::controls::{Button, Key, fresh_id, list};
use super::desk::Desk;
use crate::scenario;
use crate::session::{Msg, Session};
use crate::sim::action::{Action, ClientId, Who};
use crate::sim::client::protocol::{Argument, Request};
use crate::sim::database::SqlReply;
use crate::sim::event::{Answer, Fact};
use crate::sim::store;
use crate::timeline::Entry;
use crate::words;

/// The most commands that are shown; the latest of them.
const MOST_COMMANDS: usize = 100;

/// The panel of consoles.
pub fn consoles(desk: Desk) -> AnyView {
    let said = desk.items(said_of);
    let earlier = desk.read(|session| {
        let typed = session.played();
        typed
            .filter(|entry| is_typed(&entry.action))
            .count()
            .saturating_sub(MOST_COMMANDS)
    });
    let more = move || {
        let earlier = earlier.get();
        (earlier > 0).then(|| {
            let words = words::count(earlier, "earlier command is", "earlier commands are");
            view! { <p class="empty">{words}" not shown: move the cursor back to see them."</p> }
        })
    };
    let names = desk.read(|session| {
        let clients = session.setup().clients.iter();
        clients
            .map(|client| client.name.clone())
            .collect::<Vec<_>>()
    });
    let who = RwSignal::new(0_usize);
    // Why what stands in the field cannot be sent.
    let why = RwSignal::new(String::new());
    let example = desk.read(example_of);
    // Which of the commands typed before stands in the field; the number of commands when it is a new one.
    let recalled = RwSignal::new(usize::MAX);
    let field = NodeRef::<web_sys::HtmlInputElement>::new();
    let log = NodeRef::<web_sys::HtmlDivElement>::new();
    effect(move || {
        said.count();
        if let Some(log) = log.get() {
            browser::scroll_to_end(log.into());
        }
    });
    let send = move || {
        let Some(field) = field.get_untracked() else {
            return;
        };
        let source = field.value();
        if source.trim().is_empty() {
            return;
        }
        let before = desk.look(|session| session.timeline().len());
        if who.get_untracked() == ACTION {
            desk.send(Msg::TypeAction(source));
        } else {
            desk.send(Msg::Type {
                who: who_of(who.get_untracked()),
                source,
            });
            if desk.look(|session| session.timeline().len()) != before
                || desk.look(Session::cursor) == before
            {
                recalled.set(usize::MAX);
            }
        }
        let refused = desk.said.get_untracked();
        why.set(if refused.refused {
            refused.words
        } else {
            field.set_value("");
            String::new()
        });
    };
    let recall = move |event: web_sys::KeyboardEvent| {
        let step = match event.key().as_str() {
            "ArrowUp" => -1,
            "ArrowDown" => 1,
            _ => return,
        };
        let Some(field) = field.get_untracked() else {
            return;
        };
        event.prevent_default();
        let typed = desk.look(|session| typed_by(session, who_of(who.get_untracked())));
        let place = (recalled.get_untracked().min(typed.len()) as isize + step)
            .clamp(0, typed.len() as isize) as usize;
        recalled.set(place);
        field.set_value(typed.get(place).map_or("", String::as_str));
    };
    let options = move || {
        let clients = names.get().into_iter().enumerate();
        let clients = clients
            .map(|(place, name)| view! { <option value=(place + 1).to_string()>{name}</option> });
        let action = ACTION.to_string();
        view! { <option value="0">"operator"</option> {clients.collect_view()} <option value=action>"an action"</option> }
    };
    let choose = move |event| {
        who.set(event_target_value(&event).parse().unwrap_or(0));
        recalled.set(usize::MAX);
    };
    let who_id = fresh_id();
    let hint = move || {
        (said.count() == 0).then(|| {
            view! {
                <p class="empty">
                    "Type any Redis command or SQL statement. It becomes an action of the schedule, and time does not move. Its first word says which server is meant, or redis or mysql in front of it. With “an action” chosen, type any line of a schedule: clock of store +5s."
                </p>
            }
        })
    };
    let frozen = desk.read(Session::why_not_writable);
    let button = move || {
        Button::new("Send")
            .unless(frozen.get())
            .does(send)
            .draw(desk)
    };
    view! {
        <section class="consoles panel" id="dock-consoles" role="tabpanel" aria-label="Console">
            <header class="panel__head panel__head--undocked"><h2 class="panel__title">"Console"</h2></header>
            <div class="panel__body console" role="log" tabindex="0" node_ref=log>
                {hint} {more}
                {list(said, draw)}
            </div>
            {move || (!why.with(String::is_empty)).then(|| view! { <p class="consoles__why" id=WHY>{why.get()}</p> })}
            <form class="consoles__prompt" on:submit=move |event| { event.prevent_default(); send() }>
                <label class="hidden-but-read" for=who_id.clone()>"Who types"</label>
                <select class="select" id=who_id on:change=choose>{options}</select>
                <label class="hidden-but-read" for=FIELD>"Command or statement"</label>
                <input
                    class="field"
                    id=FIELD
                    node_ref=field
                    placeholder=move || example.get()
                    aria-invalid=move || (!why.with(String::is_empty)).then_some("true")
                    aria-describedby=WHY
                    on:input=move |_| why.set(String::new())
                    autocomplete="off"
                    autocapitalize="off"
                    spellcheck="false"
                    on:keydown=recall
                />
                {button}
            </form>
        </section>
    }
}

/// The field that one types into.
pub const FIELD: &str = "console-field";

/// The sentence above it that says what is wrong with it.
const WHY: &str = "console-why";

/// What could be typed now, of the keys and tables that are there.
fn example_of(session: &Session) -> String {
    let watches = session.setup().watches.iter();
    let lock = watches.filter_map(|watch| watch.lock.as_deref()).next();
    let stores = session.world().stores.iter();
    let mut keys = stores.flat_map(|store| store.keys());
    let key = lock
        .map(words::text)
        .or_else(|| Some(words::text(keys.next()?.0)));
    let key = key.map(|key| "PTTL ".to_string() + &key);
    let table = session.tables().into_iter().next();
    let table = table.map(|table| "SELECT * FROM ".to_string() + &table.name);
    match (key, table) {
        (Some(key), Some(table)) => key + " or " + &table,
        (key, table) => key
            .or(table)
            .unwrap_or_else(|| "A Redis command or an SQL statement".to_string()),
    }
}

/// In place of somebody who types: the line is an action, as it stands in the schedule.
const ACTION: usize = usize::MAX;

fn who_of(place: usize) -> Who {
    match place.checked_sub(1) {
        None => Who::Operator,
        Some(client) => Who::Client(ClientId(client)),
    }
}

/// What somebody typed before, the earliest first, each once in a row.
fn typed_by(session: &Session, by: Who) -> Vec<String> {
    let mut typed: Vec<String> = session
        .played()
        .filter_map(|entry| match &entry.action {
            Action::Command { who, source, .. } if *who == by => Some(source.clone()),
            _ => None,
        })
        .collect();
    typed.dedup();
    typed
}

fn is_typed(action: &Action) -> bool {
    matches!(action, Action::Command { .. })
}

#[derive(Clone, PartialEq)]
struct Said {
    name: String,
    is_sql: bool,
    source: String,
    answer: String,
    is_error: bool,
    /// What only this page could say, where the answer is Redis's.
    note: Option<String>,
}

fn said_of(session: &Session) -> Vec<(Key, Said)> {
    let played = session.timeline().entries()[..session.cursor()]
        .iter()
        .enumerate()
        .rev();
    let commands =
        played.filter_map(|(place, entry)| Some((place as Key, said_by(session, place, entry)?)));
    let mut said: Vec<(Key, Said)> = commands.take(MOST_COMMANDS).collect();
    said.reverse();
    said
}

/// What a command that waited was answered with in the end, by the cursor.
fn late_answer(session: &Session, place: usize, asking: Who) -> Option<&Answer> {
    let later = session.played().skip(place + 1);
    later
        .flat_map(|entry| &entry.events)
        .find_map(|event| match &event.fact {
            Fact::Answered {
                who,
                step: None,
                answer,
                ..
            } if *who == asking => Some(answer),
            _ => None,
        })
}

fn said_by(session: &Session, place: usize, entry: &Entry) -> Option<Said> {
    let Action::Command {
        who,
        source,
        request,
    } = &entry.action
    else {
        return None;
    };
    let waited = entry.refusal().is_none() && entry.answer().is_none();
    let given = match waited {
        true => late_answer(session, place, *who),
        false => entry.answer(),
    };
    let (mut answer, is_error) = match (entry.refusal(), given) {
        (Some(why), _) => (words::sentence_of(session.setup(), why), true),
        (None, Some(answer)) => (answer.print_long(), answer.is_error()),
        (None, None) => ("waits …".to_string(), false),
    };
    if waited && given.is_some() {
        answer.insert_str(0, "waited, and then:\n");
    }
    let left_out = match request {
        Request::Store(_, arguments) => {
            let words = arguments.iter().map_while(|argument| match argument {
                Argument::Literal(bytes) => Some(bytes.clone()),
                _ => None,
            });
            store::left_out(&words.take(2).collect::<Vec<_>>())
        }
        _ => None,
    };
    let is_sql = matches!(request, Request::Database(_));
    let is_unsupported =
        matches!(given, Some(Answer::Database(SqlReply::Error(error))) if error.code == 1235);
    // The word that says which server is meant is the prompt.
    let typed = match is_sql {
        true => source.strip_prefix("mysql ").unwrap_or(source),
        false => source.strip_prefix("redis ").unwrap_or(source),
    };
    Some(Said {
        note: match (left_out, is_unsupported) {
            (Some(command), _) => {
                Some("Redis has ".to_string() + &command + "; the playground’s store does not.")
            }
            (None, true) => Some("MySQL does; the playground’s database does not.".to_string()),
            (None, false) if answer.starts_with("(error) ERR unknown command") => meant(typed),
            (None, false) => None,
        },
        name: match who {
            Who::Operator => "operator".to_string(),
            Who::Client(client) => session.client_name(*client).to_string(),
        },
        is_sql,
        source: typed.trim_start().to_string(),
        answer,
        is_error,
    })
}

/// What a word that Redis does not know was perhaps meant to be.
fn meant(typed: &str) -> Option<String> {
    let word = typed.split_whitespace().next()?;
    if scenario::begins_action(word) {
        return Some(
            "A console takes Redis commands and SQL. ".to_string()
                + word
                + " is an action of the schedule: choose “an action” at the left of the field, as in clock +5s. \
                   The clock’s own buttons stand at the bottom of the page. Undo takes the line away.",
        );
    }
    let meant = scenario::command_meant(word)?;
    Some("Did you mean ".to_string() + meant + "? Undo takes the line away.")
}

fn draw(said: Said) -> AnyView {
    let Said {
        name,
        is_sql,
        source,
        answer,
        is_error,
        note,
    } = said;
    let note = note.map(|note| view! { "\n" <span class="console__note">{note}</span> });
    let class = if is_error {
        "console__error"
    } else if answer.starts_with('+') {
        "console__answer console__answer--table"
    } else {
        "console__answer"
    };
    let prompt = name + if is_sql { " mysql> " } else { "> " };
    view! {
        <p class="console__said">
            <span class="console__asked">{prompt}<b>{source}</b></span>
            "\n"
            <span class=class>{answer}</span>
            {note}
        </p>
    }
    .into_any()
}
