//! The client cards: protocol and place in it, latches, belief against the store's truth, and what one can do with a client.

use super::view::*;

use super::browser;
use super::challenge::challenge;
use super::controls::{Button, badge, fresh_id, icon, list, named, token};
use super::desk::Desk;
use crate::export::Library;
use crate::scenario::library;
use crate::session::{Msg, Session};
use crate::sim::ConnectionId;
use crate::sim::action::{Action, ClientId, LatchPoint, Leg, Who};
use crate::sim::client::protocol::{Protocol, Step};
use crate::sim::client::{Client, Place};
use crate::sim::event::{Answer, Fact, Value};
use crate::sim::world::{connection_of, owner_of};
use crate::strokes::hue;
use crate::words;

/// The panel of all clients.
pub fn clients(desk: Desk) -> AnyView {
    let clients = desk.items(|session| {
        let clients = 0..session.world().clients.len();
        clients
            .map(|place| (place as u64, ClientId(place)))
            .collect::<Vec<_>>()
    });
    let is_empty = move || clients.count() == 0;
    view! {
        <section class="clients panel" aria-labelledby="h-clients">
            <header class="panel__head">
                <h2 class="panel__title" id="h-clients">"Clients"</h2>
                <span class="panel__note">"a latch holds a client back"</span>
            </header>
            <div class="panel__body" id="clients-body" tabindex="-1">
                {challenge(desk)}
                {libraries(desk)}
                {list(clients, move |client| card(desk, client))}
                {move || is_empty().then(nobody)}
                {add_client(desk)}
            </div>
        </section>
    }
}

/// Chooses the library whose calls stand under the steps, and asks for them whenever a protocol changes.
fn libraries(desk: Desk) -> AnyView {
    let protocols = desk.read(|session| {
        let protocols = session.reading().layout.protocols.iter();
        let sources = protocols.map(|protocol| protocol.source.clone());
        sources.collect::<Vec<String>>()
    });
    effect(move || {
        let library = desk.library.get();
        if library.is_empty() || protocols.with(Vec::is_empty) {
            return desk.calls.set(Vec::new());
        }
        let text = desk.look(Session::text);
        let put = move |calls: Result<String, String>| match calls {
            Ok(calls) => desk.calls.set(calls_in(&calls)),
            Err(why) => desk.refuse("The calls cannot be shown: ".to_string() + &why),
        };
        browser::export_text(&text, &("calls:".to_string() + &library), false, put);
    });
    let options = Library::ALL.into_iter().map(|library| {
        let [name, words] = library.names();
        view! { <option value=name>{words}</option> }
    });
    let options = options.collect_view();
    let id = fresh_id();
    view! {
        <div class="clients__library">
            <label class="share__note" for=id.clone()>"Steps also in"</label>
            <select class="select" id=id on:change=move |event| desk.library.set(event_target_value(&event))>
                <option value="">"no other language"</option>
                {options}
            </select>
        </div>
    }
    .into_any()
}

/// The calls of each protocol: a line each, with an empty line between protocols.
fn calls_in(told: &str) -> Vec<Vec<String>> {
    let protocols = told.split("\n\n");
    let calls = protocols.map(|calls| calls.lines().map(str::to_string).collect());
    calls.collect()
}

/// The call that a step stands for in the chosen library, where one is chosen.
fn draw_call(desk: Desk, client: ClientId, step: usize) -> AnyView {
    let protocol = desk.look(|session| session.setup().clients.get(client.0)?.protocol);
    let call = move || {
        let call = desk
            .calls
            .with(|calls| calls.get(protocol?)?.get(step).cloned());
        call.map(|call| view! { <code class="step__call">{call}</code> })
    };
    call.into_any()
}

fn nobody() -> AnyView {
    view! {
        <p class="empty">
            "Nobody is here yet. Add a client below: it brings a protocol of the library with the table and the scripts that it needs. \
             Or write your own in the text."
        </p>
    }
    .into_any()
}

/// What the head of a card shows.
#[derive(Clone, PartialEq)]
struct Head {
    client: ClientId,
    name: String,
    protocol: String,
    /// The chip: its kind, its icon, its words.
    state: (&'static str, &'static str, String),
    /// What it waits for at a server.
    waits: Option<String>,
    beliefs: Vec<BeliefLine>,
    variables: Vec<(String, String, bool)>,
}

/// A belief, and what the store says of it.
#[derive(Clone, PartialEq)]
struct BeliefLine {
    kind: &'static str,
    key: String,
    until: Option<String>,
    words: String,
    truth: String,
}

fn card(desk: Desk, client: ClientId) -> AnyView {
    let head = desk.read(move |session| head_of(session, client));
    let steps = desk.items(move |session| steps_of(session, client));
    let buttons = desk.read(move |session| buttons_of(session, client));
    let class = move || {
        let kind = match head.with(|head| head.as_ref().map(|head| head.state.0)) {
            Some("paused") => " client--paused",
            Some("crashed") => " client--crashed",
            _ => "",
        };
        "client ".to_string() + &hue(client) + kind
    };
    let label = move || {
        "Client ".to_string()
            + &head.with(|head| {
                head.as_ref()
                    .map_or(String::new(), |head| head.name.clone())
            })
    };
    view! {
        <article class=class aria-label=label>
            {move || head.get().map(|head| draw_head(desk, head))}
            <ol class="steps">{list(steps, move |row| draw_step(desk, row))}</ol>
            <div class="client__buttons">{move || buttons.get().map(|buttons| draw_buttons(desk, client, buttons))}</div>
        </article>
    }
    .into_any()
}

fn head_of(session: &Session, client: ClientId) -> Option<Head> {
    let state = session.world().client(client)?;
    let declared = session.setup().clients.get(client.0)?;
    let protocol = declared
        .protocol
        .and_then(|protocol| session.setup().protocols.get(protocol));
    Some(Head {
        client,
        name: declared.name.clone(),
        protocol: protocol.map_or_else(
            || "console only".to_string(),
            |protocol| protocol.name.clone(),
        ),
        state: state_of(state, session.protocol_of(client)),
        waits: waits_of(session, client, state),
        beliefs: beliefs_of(session, client, state),
        variables: variables_of(session, client, state),
    })
}

fn state_of(client: &Client, protocol: Option<&Protocol>) -> (&'static str, &'static str, String) {
    let (kind, icon, words) = match (&client.place, client.paused_at()) {
        (_, Some(_)) => ("paused", "latch-closed", "paused".to_string()),
        (Place::Crashed, _) => ("crashed", "cross", "crashed".to_string()),
        _ if client.console_waits => ("waiting", "clock", "waiting".to_string()),
        (Place::Ended { finished: true }, _) => ("done", "tick", "done".to_string()),
        (Place::Ended { finished: false }, _) => ("stopped", "cross", "stopped".to_string()),
        (Place::Sleeping { remaining, .. }, _) => {
            ("waiting", "clock", words::milliseconds(*remaining))
        }
        (Place::Blocked { .. }, _) => ("waiting", "clock", "waiting".to_string()),
        (Place::InFlight { .. }, _) => ("waiting", "clock", "reply held".to_string()),
        (Place::ConsoleOnly, _) => ("done", "keys", "console".to_string()),
        (Place::Ready { step }, _) if client.compensation.is_some() => {
            let compensates = protocol
                .and_then(|protocol| protocol.steps.get(*step))
                .is_some_and(|step| step.compensation);
            let words = if compensates {
                "compensating"
            } else {
                "aborting"
            };
            ("waiting", "undo", words.to_string())
        }
        (Place::Ready { .. }, _) => ("running", "play", "running".to_string()),
    };
    (kind, icon, words)
}

/// `Its console waits for inventory, where B has a lock.`
fn waits_of(session: &Session, client: ClientId, state: &Client) -> Option<String> {
    let connection = connection_of(Who::Client(client));
    let world = session.world();
    let stores = world.stores.iter();
    let mut commands = stores.filter_map(|store| store.waits_in(connection));
    let what = match (world.database.waits_for(connection), commands.next()) {
        (Some((what, holders)), _) => {
            let name = |connection: &ConnectionId| match owner_of(*connection) {
                Who::Client(client) => session.client_name(client),
                Who::Operator => "the operator",
            };
            let holders: Vec<&str> = holders.iter().map(name).collect();
            [&what, ": ", &holders.join(", "), " comes first."].concat()
        }
        (None, Some(command)) => {
            let words: Vec<String> = command.iter().map(|word| words::text(word)).collect();
            words::shortened(&words.join(" "), 60)
        }
        (None, None) => return None,
    };
    let who = match state.console_waits {
        true => "Its console waits for ",
        false => "Waits for ",
    };
    Some(who.to_string() + &what)
}

fn beliefs_of(session: &Session, client: ClientId, state: &Client) -> Vec<BeliefLine> {
    if state.beliefs.is_empty() {
        return vec![no_belief(session, state)];
    }
    state
        .beliefs
        .keys()
        .map(|key| belief_line(session, client, key))
        .collect()
}

fn belief_line(session: &Session, client: ClientId, key: &[u8]) -> BeliefLine {
    let lease = session.lease(key);
    let holds = lease
        .as_ref()
        .is_some_and(|lease| lease.holder == Some(client));
    let is_looked_at = !session.setup().servers_of_lock(key).is_empty();
    let truth = match &lease {
        None if !is_looked_at => "A row of the database is this lock: see the table.".to_string(),
        Some(lease) if holds => match lease.remaining {
            Some(remaining) => {
                "The store agrees: ".to_string() + &words::milliseconds(remaining) + " left."
            }
            None => "The store agrees, and sets no deadline.".to_string(),
        },
        Some(lease) => match lease.holder {
            Some(holder) => {
                "Stale: the store says ".to_string() + session.client_name(holder) + " holds it."
            }
            None => "Stale: the store holds somebody else's value.".to_string(),
        },
        None => "Stale: in the store the lock is free.".to_string(),
    };
    BeliefLine {
        kind: if !is_looked_at {
            "belief belief--none"
        } else if holds {
            "belief belief--true"
        } else {
            "belief belief--stale"
        },
        key: words::text(key),
        until: session.belief_until(client, key),
        words: "Believes it holds ".to_string(),
        truth,
    }
}

fn no_belief(session: &Session, state: &Client) -> BeliefLine {
    let words = match state.place {
        Place::ConsoleOnly => "Runs no protocol: types at its console.",
        Place::Crashed => "Believes nothing: it has crashed.",
        Place::Ended { .. } => "Believes nothing: its run is over.",
        _ => "Does not believe that it holds a lock.",
    };
    BeliefLine {
        kind: "belief belief--none",
        key: String::new(),
        until: None,
        words: words.to_string(),
        truth: first_lock_in_words(session),
    }
}

/// What the store says of the first watched lock.
fn first_lock_in_words(session: &Session) -> String {
    let Some(lock) = session
        .setup()
        .watches
        .iter()
        .find_map(|watch| watch.lock.as_ref())
    else {
        return String::new();
    };
    match session.lease(lock) {
        None => "The store says: the lock is free.".to_string(),
        Some(lease) => {
            let holder = lease
                .holder
                .map_or("somebody else", |holder| session.client_name(holder));
            let left = lease.remaining.map_or_else(
                || "without a deadline".to_string(),
                |remaining| words::milliseconds(remaining) + " left",
            );
            "The store says: ".to_string() + holder + " holds it, " + &left + "."
        }
    }
}

fn variables_of(
    session: &Session,
    client: ClientId,
    state: &Client,
) -> Vec<(String, String, bool)> {
    let drawn = session.token_variables(client);
    let mut variables: Vec<(String, String, bool)> = state
        .variables
        .iter()
        .map(|(name, value)| {
            (
                name.clone(),
                value_in_words(value),
                drawn.contains(&name.as_str()),
            )
        })
        .collect();
    crate::sorted::sort_by_key(&mut variables, |(name, _, is_token)| {
        (name != "me", *is_token)
    });
    variables
}

fn value_in_words(value: &Value) -> String {
    match value {
        Value::Text(bytes) => words::shortened(&words::text(bytes), 40),
        Value::Integer(number) => number.to_string(),
        Value::Null => "NULL".to_string(),
    }
}

fn draw_head(desk: Desk, head: Head) -> AnyView {
    let Head {
        client,
        name,
        protocol,
        state: (kind, sign, words),
        waits,
        beliefs,
        variables,
    } = head;
    let chip = "chip chip--".to_string() + kind;
    let remove = Button::icon_only("cross", "Remove client ".to_string() + &name)
        .class("button--quiet button--small client__remove")
        .unless(desk.look(Session::why_not_writable))
        .sends(desk, Msg::RemoveClient(client));
    view! {
        <header class="client__head">
            {badge(client, &name, false)}
            {draw_name(desk, client, name)}
            <span class="client__protocol" title=protocol.clone()>{protocol.clone()}</span>
            <span class=chip>{icon(sign)}<span class="chip__words">{words}</span></span>
            {remove.draw(desk)}
        </header>
        {waits.map(|waits| view! { <p class="client__waits">{waits}</p> })}
        {beliefs.into_iter().map(draw_belief).collect_view()}
        <dl class="client__vars">{variables.into_iter().map(draw_variable).collect_view()}</dl>
    }
    .into_any()
}

/// The name, which a click turns into a field.
fn draw_name(desk: Desk, client: ClientId, name: String) -> AnyView {
    let frozen = desk.look(Session::why_not_writable);
    named(desk, name, frozen, move |name| {
        desk.send(Msg::RenameClient { client, name });
    })
}

fn draw_belief(belief: BeliefLine) -> AnyView {
    let BeliefLine {
        kind,
        key,
        until,
        words,
        truth,
    } = belief;
    let key = (!key.is_empty()).then(|| view! { <code>{key}</code> {until} "." });
    view! { <p class=kind>{words}{key}" "<span class="belief__truth">{truth}</span></p> }.into_any()
}

fn draw_variable((name, value, is_token): (String, String, bool)) -> AnyView {
    let name = "{".to_string() + &name + "}";
    let value = if is_token {
        token(&value)
    } else {
        value.into_any()
    };
    view! { <div><dt>{name}</dt><dd>{value}</dd></div> }.into_any()
}

/// One step of a card.
#[derive(Clone, PartialEq)]
struct StepRow {
    client: ClientId,
    name: String,
    step: usize,
    label: String,
    command: String,
    is_compensation: bool,
    place: &'static str,
    /// The reply in short form, and how to show it.
    reply: Option<(String, ReplyLook)>,
    latch: Latch,
    reply_latch: Latch,
    frozen: Option<String>,
}

#[derive(Clone, Copy, PartialEq)]
enum ReplyLook {
    Seen,
    Token,
    Held,
    Lost,
    Error,
}

#[derive(Clone, Copy, PartialEq)]
struct Latch {
    is_closed: bool,
    is_holding: bool,
}

fn steps_of(session: &Session, client: ClientId) -> Vec<(u64, StepRow)> {
    let (Some(state), Some(protocol)) =
        (session.world().client(client), session.protocol_of(client))
    else {
        return Vec::new();
    };
    let replies = replies_of(session, client, protocol.steps.len());
    let paused_at = state.paused_at();
    let latch = |at: LatchPoint| Latch {
        is_closed: state.latches.contains(&at),
        is_holding: paused_at == Some(at),
    };
    let steps = protocol.steps.iter().zip(replies).enumerate();
    steps
        .map(|(step, (definition, reply))| {
            let row = StepRow {
                client,
                name: session.client_name(client).to_string(),
                step,
                label: definition.label.clone(),
                command: command_of(definition),
                is_compensation: definition.compensation,
                place: place_of(state, step, reply.is_some()),
                reply,
                latch: latch(LatchPoint::Before(step)),
                reply_latch: latch(LatchPoint::After(step)),
                frozen: session.why_not_writable(),
            };
            (step as u64, row)
        })
        .collect()
}

fn place_of(state: &Client, step: usize, has_reply: bool) -> &'static str {
    match (state.current_step(), has_reply) {
        (Some(current), _) if current == step => "step step--current",
        (_, true) => "step step--done",
        _ => "step step--next",
    }
}

fn command_of(step: &Step) -> String {
    let lines: Vec<&str> = step.source.iter().map(|line| line.trim()).collect();
    lines.join(" ")
}

/// The last reply to each step in the client's current attempt.
fn replies_of(
    session: &Session,
    client: ClientId,
    steps: usize,
) -> Vec<Option<(String, ReplyLook)>> {
    let mut replies = vec![None; steps];
    let entries = session
        .timeline()
        .entries()
        .iter()
        .take(session.cursor())
        .rev();
    for entry in entries {
        let drew = session.drew(entry, client, None);
        for event in entry.events.iter().rev() {
            let (step, reply) = match &event.fact {
                Fact::Started { client: of, .. } if *of == client => return replies,
                Fact::Saw {
                    client: of,
                    step,
                    answer,
                    ..
                } if *of == client => {
                    let look = match answer {
                        Answer::Lost => ReplyLook::Lost,
                        answer if answer.is_error() => ReplyLook::Error,
                        _ if drew => ReplyLook::Token,
                        _ => ReplyLook::Seen,
                    };
                    (*step, (answer.print_short(), look))
                }
                Fact::ReplyLost { client: of, step } if *of == client => {
                    (*step, ("lost".to_string(), ReplyLook::Lost))
                }
                Fact::Answered {
                    who,
                    step: Some(step),
                    answer,
                    ..
                } if *who == crate::sim::action::Who::Client(client) => {
                    (*step, (answer.print_short(), ReplyLook::Held))
                }
                _ => continue,
            };
            if let Some(slot @ None) = replies.get_mut(step) {
                *slot = Some(reply);
            }
        }
    }
    replies
}

fn draw_step(desk: Desk, row: StepRow) -> AnyView {
    let StepRow {
        client,
        name,
        step,
        label,
        command,
        is_compensation,
        place,
        reply,
        latch,
        reply_latch,
        frozen,
    } = row;
    let is_current = place == "step step--current";
    let before = draw_latch(
        desk,
        "step__latch latch",
        "Latch ".to_string() + &name + " before " + &label,
        latch,
        frozen.clone(),
        Msg::ToggleLatch {
            client,
            at: LatchPoint::Before(step),
        },
    );
    let after = draw_latch(
        desk,
        "latch latch--reply",
        "Latch ".to_string() + &name + " between " + &label + " and its reply",
        reply_latch,
        frozen,
        Msg::ToggleLatch {
            client,
            at: LatchPoint::After(step),
        },
    );
    let mark = match (is_current, is_compensation) {
        (true, _) => Some("next"),
        (false, true) => Some("if aborted"),
        _ => None,
    };
    let has_none = reply.is_none();
    let class = if has_none {
        "step__reply step__reply--none"
    } else {
        "step__reply"
    };
    view! {
        <li class=place aria-current=is_current.then_some("step")>
            {before}
            <span class="step__label">{label}{mark.map(|mark| view! { <span class="step__next">{mark}</span> })}</span>
            <span class=class>{after}{draw_reply(reply)}</span>
            <code class="step__command" title=command.clone()>{highlighted(&command)}</code>
            {draw_call(desk, client, step)}
        </li>
    }
    .into_any()
}

fn draw_reply(reply: Option<(String, ReplyLook)>) -> AnyView {
    let Some((text, look)) = reply else {
        return view! { <span aria-label="no reply yet">"–"</span> }.into_any();
    };
    let shown = words::shortened(&text, 22);
    match look {
        ReplyLook::Token => token(&shown),
        ReplyLook::Seen => view! { <span title=text>{shown}</span> }.into_any(),
        ReplyLook::Held => {
            view! { <span class="step__held" title="the server has done it; the client has not seen the reply">{shown}" held"</span> }
                .into_any()
        }
        ReplyLook::Lost => view! { <span class="step__lost">{icon("lost")}"lost"</span> }.into_any(),
        ReplyLook::Error => view! { <span class="step__error" title=text>{shown}</span> }.into_any(),
    }
}

fn draw_latch(
    desk: Desk,
    class: &'static str,
    label: String,
    latch: Latch,
    frozen: Option<String>,
    msg: Msg,
) -> AnyView {
    let class = class.to_string()
        + if latch.is_holding {
            " latch--holding"
        } else {
            ""
        };
    let sign = if latch.is_closed {
        "latch-closed"
    } else {
        "latch-open"
    };
    let pressed = if latch.is_closed { "true" } else { "false" };
    let is_off = frozen.is_some().then_some("true");
    let title = match &frozen {
        Some(why) => why.clone(),
        None if latch.is_holding => label.clone() + ": it waits here; click to open",
        None => label.clone(),
    };
    view! {
        <button
            type="button"
            class=class
            aria-pressed=pressed
            aria-label=label
            aria-disabled=is_off
            title=title
            on:click=move |_| desk.send(msg.clone())
        >
            {icon(sign)}
        </button>
    }
    .into_any()
}

/// A request with its variables set off.
pub fn highlighted(command: &str) -> AnyView {
    let mut pieces: Vec<AnyView> = Vec::new();
    let mut rest = command;
    while let Some(open) = rest.find('{') {
        let Some(close) = rest[open..].find('}').map(|close| open + close + 1) else {
            break;
        };
        pieces.push(rest[..open].to_string().into_any());
        let variable = rest[open..close].to_string();
        pieces.push(view! { <b>{variable}</b> }.into_any());
        rest = &rest[close..];
    }
    pieces.push(rest.to_string().into_any());
    pieces.into_any()
}

/// What can be done with a client: why each is not possible now.
#[derive(Clone, PartialEq)]
struct Buttons {
    name: String,
    step: Option<String>,
    run: Option<String>,
    pause: Option<String>,
    crash: Option<String>,
    lose: Option<String>,
    delay: Option<String>,
    step_index: usize,
    /// What is under way, the oldest first: which step, and its label.
    under_way: Option<(usize, String)>,
    is_paused: bool,
    is_crashed: bool,
    is_over: bool,
}

fn buttons_of(session: &Session, client: ClientId) -> Option<Buttons> {
    let state = session.world().client(client)?;
    let step = state.current_step().unwrap_or(0);
    let is_paused = state.paused_at().is_some();
    let is_crashed = state.place == Place::Crashed;
    let is_over = matches!(state.place, Place::Ended { .. });
    let why_no_step = session.why_not(&Action::Step { client, step });
    let pause = session.pause_or_resume(client);
    let crash = session.crash_or_restart(client);
    Some(Buttons {
        name: session.client_name(client).to_string(),
        run: why_no_step.clone(),
        step: why_no_step,
        pause: session.why_not(&pause),
        crash: session.why_not(&crash),
        lose: session.why_not(&Action::LoseReply { client, step }),
        delay: session.why_not(&Action::Delay {
            client,
            step,
            leg: Leg::Request,
        }),
        step_index: step,
        under_way: under_way(session, client),
        is_paused,
        is_crashed,
        is_over,
    })
}

/// What is under way of a client, the oldest first.
fn under_way(session: &Session, client: ClientId) -> Option<(usize, String)> {
    let mut network = session.world().network.iter();
    let step = network.find(|message| message.client == client)?.step;
    let label = &session.protocol_of(client)?.steps.get(step)?.label;
    Some((step, label.clone()))
}

fn draw_buttons(desk: Desk, client: ClientId, buttons: Buttons) -> AnyView {
    let Buttons {
        name,
        step,
        run,
        pause,
        crash,
        lose,
        delay,
        step_index,
        under_way,
        is_paused,
        is_crashed,
        is_over,
    } = buttons;
    let say = |what: &str| what.to_string() + " " + &name;
    let can_step = step.is_none();
    let step = Button::new("Step")
        .label(say("The next step of") + " (" + &(client.0 + 1).to_string() + ")")
        .primary(can_step)
        .unless(step)
        .does(move || step_client(desk, client));
    let run = Button::new("Run")
        .label("Steps of ".to_string() + &name + " until it is paused, blocked or done")
        .unless(run)
        .sends(desk, Msg::Run(client));
    let pausing = match is_paused {
        true => Button::new("Resume")
            .label(say("Resume"))
            .primary(pause.is_none()),
        false => Button::new("Pause").label(say("Pause") + " where it is"),
    };
    let pause = pausing
        .unless(pause)
        .does(move || pause_or_resume(desk, client));
    let crashing = match (is_crashed, is_over) {
        (true, _) => Button::new("Restart")
            .label(say("Restart"))
            .primary(crash.is_none()),
        (false, true) => Button::new("Start again")
            .label("A crash of ".to_string() + &name + ", whose run is over, and a restart"),
        (false, false) => Button::new("Crash").label(say("Crash")),
    };
    let crash = crashing.unless(crash).does(move || {
        crash_or_restart(desk, client);
        if is_over {
            crash_or_restart(desk, client);
        }
    });
    let lose = Button::new("Lose reply")
        .label("The next step of ".to_string() + &name + ", with its reply lost on the way")
        .unless(lose)
        .sends(desk, Msg::LoseReply(client));
    let delay = Button::new("Delay request")
        .label("The next step of ".to_string() + &name + ", with its request staying under way")
        .unless(delay)
        .sends(
            desk,
            Msg::Act(Action::Delay {
                client,
                step: step_index,
                leg: Leg::Request,
            }),
        );
    let deliver = under_way.map(|(step, label)| {
        Button::new("Deliver ".to_string() + &label)
            .label("What is under way of ".to_string() + &name + "’s " + &label + " arrives")
            .sends(desk, Msg::Act(Action::Deliver { client, step }))
            .draw(desk)
    });
    view! { {step.draw(desk)} {run.draw(desk)} {pause.draw(desk)} {crash.draw(desk)} {lose.draw(desk)} {delay.draw(desk)} {deliver} }.into_any()
}

/// The clients in one row, for a phone that shows the picture: each with its next step and a way to pause it.
pub fn strip(desk: Desk) -> AnyView {
    let clients = desk.items(|session| {
        let clients = (0..session.world().clients.len()).map(ClientId);
        let buttons = clients.map(|client| {
            let step = session.step_label(client).unwrap_or("Step").to_string();
            Some((
                client.0 as u64,
                (client, step, buttons_of(session, client)?),
            ))
        });
        buttons.flatten().collect::<Vec<_>>()
    });
    let draw = move |(client, step, buttons): (ClientId, String, Buttons)| {
        let name = buttons.name.clone();
        let can_step = buttons.step.is_none();
        let next = Button::new(step.clone())
            .label("Step ".to_string() + &name + ": " + &step)
            .primary(can_step)
            .unless(buttons.step)
            .does(move || step_client(desk, client));
        let (sign, word) = match buttons.is_paused {
            true => ("latch-open", "Resume "),
            false => ("pause", "Pause "),
        };
        let pause = Button::icon_only(sign, word.to_string() + &name)
            .unless(buttons.pause)
            .does(move || pause_or_resume(desk, client));
        let class = "strip__client ".to_string() + &hue(client);
        view! { <div class=class>{badge(client, &name, false)}{next.draw(desk)}{pause.draw(desk)}</div> }.into_any()
    };
    view! { <div class="strip" role="group" aria-label="Clients">{list(clients, draw)}</div> }
}

/// Pauses the client where it is, or resumes it.
pub fn pause_or_resume(desk: Desk, client: ClientId) {
    desk.send(Msg::Act(
        desk.look(|session| session.pause_or_resume(client)),
    ));
}

/// Crashes the client, or restarts it.
pub fn crash_or_restart(desk: Desk, client: ClientId) {
    desk.send(Msg::Act(
        desk.look(|session| session.crash_or_restart(client)),
    ));
}

/// The client's next step.
pub fn step_client(desk: Desk, client: ClientId) {
    match desk.look(|session| session.next_step(client)) {
        Some(step) => desk.send(Msg::Act(step)),
        None => {
            let why = desk.look(|session| session.why_not(&Action::Step { client, step: 0 }));
            desk.refuse(why.unwrap_or_else(|| "there is no such client".to_string()));
        }
    }
}

/// What can be added: the next free name, and the protocols that a client can run.
#[derive(Clone, PartialEq)]
struct Offer {
    name: String,
    here: Vec<String>,
    from_library: Vec<String>,
    /// What the last client runs.
    last: Option<String>,
    frozen: Option<String>,
}

impl Offer {
    /// What a new client runs: what was chosen as long as that can be had, else what the last client runs, else the first.
    fn protocol(&self, chosen: Option<String>) -> Option<String> {
        let all = || self.here.iter().chain(&self.from_library);
        let there = |name: &String| name == CONSOLE_ONLY || all().any(|other| other == name);
        let first = || all().next().cloned();
        chosen
            .filter(there)
            .or_else(|| self.last.clone())
            .or_else(first)
    }
}

fn offer(session: &Session) -> Offer {
    let taken = |name: &str| {
        session
            .setup()
            .clients
            .iter()
            .any(|client| client.name == name)
    };
    let letters = ('A'..='Z').map(String::from);
    let numbered = (1..).map(|number| "client".to_string() + &number.to_string());
    let here: Vec<String> = session
        .setup()
        .protocols
        .iter()
        .map(|protocol| protocol.name.clone())
        .collect();
    let from_library = library::protocols()
        .iter()
        .map(|protocol| protocol.name.to_string())
        .filter(|name| !here.contains(name))
        .collect();
    Offer {
        name: letters
            .chain(numbered)
            .find(|name| !taken(name))
            .unwrap_or_default(),
        here,
        from_library,
        last: session.setup().clients.iter().rev().find_map(|client| {
            let protocol = client.protocol?;
            Some(session.setup().protocols.get(protocol)?.name.clone())
        }),
        frozen: session.why_not_writable(),
    }
}

const CONSOLE_ONLY: &str = "";

fn add_client(desk: Desk) -> AnyView {
    let offer = desk.read(offer);
    let (name_id, protocol_id) = (fresh_id(), fresh_id());
    let name = NodeRef::<web_sys::HtmlInputElement>::new();
    let protocol = NodeRef::<web_sys::HtmlSelectElement>::new();
    // The options are drawn anew when a protocol comes or goes; what was chosen stays chosen.
    let chosen = RwSignal::new(None::<String>);
    let choose = move |event| chosen.set(Some(event_target_value(&event)));
    effect(move || {
        let chosen = chosen.get();
        let Some(chosen) = offer.with(|offer| offer.protocol(chosen)) else {
            return;
        };
        request_animation_frame(move || {
            if let Some(select) = protocol.get_untracked() {
                select.set_value(&chosen);
            }
        });
    });
    let add = move || {
        let (Some(name), Some(protocol)) = (name.get_untracked(), protocol.get_untracked()) else {
            return;
        };
        chosen.set(Some(protocol.value()));
        add_this_client(desk, name.value().trim().to_string(), protocol.value());
        name.set_value(&offer.with_untracked(|offer| offer.name.clone()));
    };
    let options = move || {
        let Offer {
            here, from_library, ..
        } = offer.get();
        let option =
            |name: String| view! { <option value=name.clone()>{name.clone()}</option> }.into_any();
        let here = here.into_iter().map(option).collect_view();
        let library = (!from_library.is_empty()).then(|| {
            view! { <optgroup label="from the library">{from_library.into_iter().map(option).collect_view()}</optgroup> }
        });
        view! { {here} {library} <option value=CONSOLE_ONLY>"no protocol, console only"</option> }
    };
    let button = move || {
        let Offer { name, frozen, .. } = offer.get();
        Button::new("Add client ".to_string() + &name)
            .icon("add")
            .class("clients__add")
            .unless(frozen)
            .does(add)
            .draw(desk)
    };
    view! {
        <form class="clients__new" aria-label="Add a client" on:submit=move |event| { event.prevent_default(); add() }>
            <label class="hidden-but-read" for=name_id.clone()>"Name of the new client"</label>
            <input
                class="field clients__name"
                id=name_id
                node_ref=name
                prop:value=move || offer.with(|offer| offer.name.clone())
                maxlength="32"
                autocomplete="off"
                spellcheck="false"
            />
            <label class="hidden-but-read" for=protocol_id.clone()>"Its protocol"</label>
            <select class="select clients__protocols" id=protocol_id node_ref=protocol on:change=choose>
                {options}
            </select>
            {button}
        </form>
    }
    .into_any()
}

fn add_this_client(desk: Desk, name: String, protocol: String) {
    let protocol = (protocol != CONSOLE_ONLY).then_some(protocol);
    let is_here = |session: &Session| match &protocol {
        Some(name) => session
            .setup()
            .protocols
            .iter()
            .any(|protocol| protocol.name == *name),
        None => true,
    };
    if let Some(protocol) = &protocol
        && !desk.look(is_here)
    {
        desk.send(Msg::AddProtocol(protocol.clone()));
    }
    if desk.look(is_here) {
        desk.send(Msg::AddClient { name, protocol });
    }
}
