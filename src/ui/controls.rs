//! What the panels are made of: icons, badges, chips, verdicts, buttons that say why they cannot be pressed now, and the one
//! helper through which every keyed list goes.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::follow::{Held, memo};
use super::view::*;

use super::desk::Desk;
use crate::session::Msg;
use crate::sim::action::{ClientId, Who};
use crate::strokes::hue_number;
use crate::words;

/// An icon of the sprite.
pub fn icon(name: &'static str) -> AnyView {
    let address = "#i-".to_string() + name;
    view! { <svg class="icon" aria-hidden="true"><use_ href=address /></svg> }.into_any()
}

/// A client's hue, shape and letter.
pub fn badge(client: ClientId, name: &str, small: bool) -> AnyView {
    let number = hue_number(client).to_string();
    let size = if small { " badge--small" } else { "" };
    let class = "badge badge--".to_string() + &number + size + " is-client-" + &number;
    let letter = words::initial(name);
    view! { <span class=class aria-hidden="true">{letter}</span> }.into_any()
}

/// Who did something: a client's badge, or the operator's prompt.
pub fn badge_of(who: Who, name: &str) -> AnyView {
    match who {
        Who::Client(client) => badge(client, name, true),
        Who::Operator => {
            view! { <span class="badge badge--small badge--2 is-nobody" aria-hidden="true">">"</span> }.into_any()
        }
    }
}

/// A fencing token.
pub fn token(number: &str) -> AnyView {
    let title = "fencing token ".to_string() + number;
    view! { <span class="token" title=title>{number.to_string()}</span> }.into_any()
}

/// A verdict: mark, colour and word. `kind` is accepted, rejected, stale or untested.
pub fn verdict(kind: &'static str, words: String) -> AnyView {
    let class = "verdict verdict--".to_string() + kind;
    view! { <span class=class>{icon(kind)}{words}</span> }.into_any()
}

/// A sentence in which what stands between backticks is code.
pub fn prose(sentence: &str) -> AnyView {
    let parts = sentence
        .split('`')
        .enumerate()
        .map(|(place, part)| match place % 2 {
            0 => part.to_string().into_any(),
            _ => view! { <code>{part.to_string()}</code> }.into_any(),
        });
    parts.collect::<Vec<AnyView>>().into_any()
}

/// Words that are read and not seen.
pub fn hidden(words: &str) -> AnyView {
    view! { <span class="hidden-but-read">{words.to_string()}</span> }.into_any()
}

/// A button. One that cannot be pressed now stays in its place and in the tab order, and says why.
#[derive(Clone)]
pub struct Button {
    words: String,
    icon: Option<&'static str>,
    class: String,
    label: Option<String>,
    why_not: Option<String>,
    pressed: Option<bool>,
    press: Arc<dyn Fn() + Send + Sync>,
}

impl Button {
    /// A button with these words.
    pub fn new(words: impl Into<String>) -> Button {
        Button {
            words: words.into(),
            icon: None,
            class: "button".to_string(),
            label: None,
            why_not: None,
            pressed: None,
            press: Arc::new(|| {}),
        }
    }

    /// A button that is an icon alone; the label says what it does.
    pub fn icon_only(icon: &'static str, label: impl Into<String>) -> Button {
        Button::new("")
            .icon(icon)
            .label(label)
            .class("button--icon")
    }

    /// With an icon before the words.
    pub fn icon(mut self, icon: &'static str) -> Button {
        self.icon = Some(icon);
        self
    }

    /// What it does in full, for who does not see it or points at it.
    pub fn label(mut self, label: impl Into<String>) -> Button {
        self.label = Some(label.into());
        self
    }

    /// With a further class.
    pub fn class(mut self, class: &str) -> Button {
        self.class.push(' ');
        self.class.push_str(class);
        self
    }

    /// The one that is most likely wanted.
    pub fn primary(self, primary: bool) -> Button {
        if primary {
            self.class("button--primary")
        } else {
            self
        }
    }

    /// Why it cannot be pressed now; `None`: it can.
    pub fn unless(mut self, why_not: Option<String>) -> Button {
        self.why_not = why_not;
        self
    }

    /// Whether it is pressed and stays so.
    pub fn pressed(mut self, pressed: bool) -> Button {
        self.pressed = Some(pressed);
        self
    }

    /// What pressing it does.
    pub fn does(mut self, press: impl Fn() + Send + Sync + 'static) -> Button {
        self.press = Arc::new(press);
        self
    }

    /// Pressing it sends this.
    pub fn sends(self, desk: Desk, msg: Msg) -> Button {
        self.does(move || desk.send(msg.clone()))
    }

    /// The button on the page.
    pub fn draw(self, desk: Desk) -> AnyView {
        let Button {
            words,
            icon: name,
            class,
            label,
            why_not,
            pressed,
            press,
        } = self;
        let is_off = why_not.is_some().then_some("true");
        let reason = why_not.clone();
        let reason_id = why_not.as_ref().map(|_| fresh_id());
        let title = why_not.clone().or_else(|| label.clone());
        let label = label.map(|label| name_with(&words, label));
        let pressed = pressed.map(|pressed| if pressed { "true" } else { "false" });
        let pressing = move |_| match &reason {
            Some(why) => desk.refuse(why.clone()),
            None => press(),
        };
        let inner = match (name, words.is_empty()) {
            (None, _) => words.into_any(),
            (Some(name), true) => icon(name),
            (Some(name), false) => {
                view! { {icon(name)} <span class="button__word">{words}</span> }.into_any()
            }
        };
        view! {
            <button
                type="button"
                class=class
                aria-label=label
                title=title
                aria-disabled=is_off
                aria-describedby=reason_id.clone()
                aria-pressed=pressed
                on:click=pressing
            >
                {inner}
            </button>
            {why_not.map(|why| view! { <span class="hidden-but-read" id=reason_id>{why}</span> })}
        }
        .into_any()
    }
}

/// A name that is changed where it stands: a button, and once it is pressed a field, which Enter and leaving it take over and Escape
/// leaves as it was.
pub fn named(
    desk: Desk,
    name: String,
    why_not: Option<String>,
    rename: impl Fn(String) + Clone + Send + Sync + 'static,
) -> AnyView {
    let is_edited = RwSignal::new(false);
    let field = NodeRef::<web_sys::HtmlInputElement>::new();
    effect(move || {
        if let Some(field) = field.get() {
            let _ = field.focus();
            field.select();
        }
    });
    let take = move || {
        if let Some(field) = field.get_untracked().filter(|_| is_edited.get_untracked()) {
            is_edited.set(false);
            rename(field.value().trim().to_string());
        }
    };
    let draw = move || {
        let name = name.clone();
        let label = "Rename ".to_string() + &name;
        if !is_edited.get() {
            return Button::new(name)
                .label(label)
                .class("button--quiet client__name")
                .unless(why_not.clone())
                .does(move || is_edited.set(true))
                .draw(desk);
        }
        let (enter, leave) = (take.clone(), take.clone());
        // Only the field is left by Escape, not the dialog around it.
        let escape = move |event: web_sys::KeyboardEvent| {
            if event.key() == "Escape" {
                event.prevent_default();
                event.stop_propagation();
                is_edited.set(false);
            }
        };
        view! {
            <form on:submit=move |event| { event.prevent_default(); enter() }>
                <input
                    class="field client__field"
                    node_ref=field
                    aria-label=label
                    value=name
                    maxlength="80"
                    autocomplete="off"
                    spellcheck="false"
                    on:blur=move |_| leave()
                    on:keydown=escape
                />
            </form>
        }
        .into_any()
    };
    draw.into_any()
}

/// What a button is called by who does not see it: what it does, and first the words on it, for whoever speaks to press it
/// (WCAG 2.1, "Label in Name").
fn name_with(words: &str, label: String) -> String {
    match label.contains(words) {
        true => label,
        false => words.to_string() + ": " + &label,
    }
}

/// An id that no other element has.
pub fn fresh_id() -> String {
    static LAST: AtomicU32 = AtomicU32::new(0);
    "why-".to_string() + &LAST.fetch_add(1, Ordering::Relaxed).to_string()
}

pub use super::view::Key;

/// The items of a list, each with the key by which it is known again. They follow signals, as a memo does.
pub struct Items<T> {
    held: Memo<Vec<(Key, Held)>>,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Items<T> {
    fn clone(&self) -> Items<T> {
        *self
    }
}

impl<T> Copy for Items<T> {}

impl<T: Clone + PartialEq + Send + Sync + 'static> Items<T> {
    /// What the closure gives.
    pub fn new(items: impl Fn() -> Vec<(Key, T)> + Send + Sync + 'static) -> Items<T> {
        let held = |(key, item)| (key, Held::new(item));
        Items {
            held: Memo::new(move || items().into_iter().map(held).collect()),
            of: PhantomData,
        }
    }

    /// How many there are.
    pub fn count(self) -> usize {
        self.held.with(Vec::len)
    }

    /// A part of each of them, with its key.
    pub fn map<U>(self, part: impl Fn(&T) -> U) -> Vec<(Key, U)> {
        let part = |(key, held): &(Key, Held)| Some((*key, part(held.look()?)));
        self.held
            .with(|items| items.iter().filter_map(part).collect())
    }
}

/// A list that keeps the elements of its items: one whose key stays is drawn again only when it has changed, and then in place.
pub fn list<T>(items: Items<T>, draw: impl Fn(T) -> AnyView + Send + Sync + 'static) -> AnyView
where
    T: Clone + PartialEq + Send + Sync + 'static,
{
    let draw = move |held: &Held| held.look::<T>().map(|item| draw(item.clone()));
    list_of(items.held, Arc::new(draw))
}

/// How an item is drawn.
type Draw = dyn Fn(&Held) -> Option<AnyView>;

/// A list of items whose type is hidden, so that the program holds the code of lists once.
fn list_of(items: Memo<Vec<(Key, Held)>>, draw: Arc<Draw>) -> AnyView {
    let keys = move || items.with(|items| items.iter().map(|(key, _)| *key).collect());
    keyed(keys, move |key| {
        let item = move || {
            items.with(|items| {
                let item = items.iter().find(|(of, _)| *of == key);
                item.map_or_else(|| Held::new(()), |(_, item)| item.clone())
            })
        };
        let draw = draw.clone();
        let item = memo(Box::new(item));
        (move || item.with(|item| draw(item))).into_any()
    })
}
