//! Views: what the panels give, and how it becomes elements and follows the signals.
//!
//! Leptos has a type for every shape of markup, and the compiler makes code for each. Here there is one type, [`AnyView`], and the
//! macro [`view!`] writes a piece of markup as a text, with a list of the values that go into it. The text is read when the
//! elements are made; when the same piece comes again in the same place, only its values are compared, and the elements stay, with
//! their focus and their scrolling. Signals, memos and effects are Leptos's.

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

use leptos::prelude::{LocalStorage, RenderEffect, RwSignal as LargeSignal, untrack};
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{Element, Event, Node};

pub use super::follow::{Memo, RwSignal, effect, effect_with_last};
pub use latchkey_markup::view;
pub use leptos::prelude::{
    Get, GetUntracked, GetValue, Owner, Set, SetValue, StoredValue, Track, Update, With,
    WithUntracked, WithValue, document, event_target, event_target_value, request_animation_frame,
    set_timeout, window,
};

/// What tells a row of a list from the others.
pub type Key = u64;

/// Any view.
pub enum AnyView {
    /// Nothing, in a place where something may come.
    Nothing,
    /// A text.
    Text(Cow<'static, str>),
    /// A piece of markup with its values.
    Filled(&'static str, Vec<Given>),
    /// Views one after another.
    Many(Vec<AnyView>),
    /// What follows the signals that it reads.
    Live(Box<dyn Fn() -> AnyView>),
    /// Rows that keep their elements as long as their keys stay.
    List(List),
}

/// The rows of a list: which there are, and how one is drawn.
pub struct List {
    keys: Box<dyn Fn() -> Vec<Key>>,
    draw: Box<dyn Fn(Key) -> AnyView>,
}

/// What a listener does.
pub type Listen = Rc<dyn Fn(Event)>;

/// A value that goes into a piece of markup.
pub enum Given {
    /// A view in the place of a child.
    Child(AnyView),
    /// The value of an attribute, a property or a style.
    Attribute(Value),
    /// A listener.
    Listener(Listen),
    /// Who wants to know the element.
    Reference(LargeSignal<Option<Element>, LocalStorage>),
}

/// The value of an attribute.
pub enum Value {
    /// There is no such attribute.
    Absent,
    /// A text.
    Text(Cow<'static, str>),
    /// The attribute is there, or not; as a property true or false.
    Flag(bool),
    /// What follows the signals that it reads.
    Live(Box<dyn Fn() -> Value>),
}

/// A piece of markup with its values; what [`view!`] writes.
pub fn filled(markup: &'static str, values: Vec<Given>) -> AnyView {
    AnyView::Filled(markup, values)
}

/// A view in the place of a child.
pub fn child(view: impl IntoAny) -> Given {
    Given::Child(view.into_any())
}

/// The value of an attribute.
pub fn attribute(value: impl IntoValue) -> Given {
    Given::Attribute(value.into_value())
}

/// A listener for events of this type.
pub fn listener<E: JsCast, F: Fn(E) + 'static>(listen: F) -> Given {
    Given::Listener(Rc::new(move |event| listen(event.unchecked_into())))
}

/// A reference that is told the element.
pub fn reference<E>(reference: NodeRef<E>) -> Given {
    Given::Reference(reference.element)
}

/// A list of rows.
pub fn keyed(
    keys: impl Fn() -> Vec<Key> + 'static,
    draw: impl Fn(Key) -> AnyView + 'static,
) -> AnyView {
    AnyView::List(List {
        keys: Box::new(keys),
        draw: Box::new(draw),
    })
}

/// An element of the page, as soon as there is one.
pub struct NodeRef<E> {
    element: LargeSignal<Option<Element>, LocalStorage>,
    of: std::marker::PhantomData<fn() -> E>,
}

impl<E> Clone for NodeRef<E> {
    fn clone(&self) -> NodeRef<E> {
        *self
    }
}

impl<E> Copy for NodeRef<E> {}

impl<E> Default for NodeRef<E> {
    fn default() -> NodeRef<E> {
        NodeRef::new()
    }
}

impl<E> NodeRef<E> {
    /// A reference to an element that is still to come.
    pub fn new() -> NodeRef<E> {
        NodeRef {
            element: LargeSignal::new_local(None),
            of: std::marker::PhantomData,
        }
    }

    /// Is told when the element comes.
    pub fn track(self) {
        self.element.track();
    }
}

impl<E: JsCast> NodeRef<E> {
    /// The element; who asks is told when it comes.
    pub fn get(self) -> Option<E> {
        self.element.get().map(JsCast::unchecked_into)
    }

    /// The element.
    pub fn get_untracked(self) -> Option<E> {
        self.element.get_untracked().map(JsCast::unchecked_into)
    }
}

// ---- what becomes a view, and what becomes the value of an attribute

/// What becomes a view.
pub trait IntoAny {
    /// The view.
    fn into_any(self) -> AnyView;
}

/// What becomes the value of an attribute.
pub trait IntoValue {
    /// The value.
    fn into_value(self) -> Value;
}

impl IntoAny for AnyView {
    fn into_any(self) -> AnyView {
        self
    }
}

impl IntoAny for () {
    fn into_any(self) -> AnyView {
        AnyView::Nothing
    }
}

impl<V: IntoAny> IntoAny for Option<V> {
    fn into_any(self) -> AnyView {
        self.map_or(AnyView::Nothing, V::into_any)
    }
}

impl<V: IntoAny> IntoAny for Vec<V> {
    fn into_any(self) -> AnyView {
        AnyView::Many(self.into_iter().map(V::into_any).collect())
    }
}

impl<V: IntoAny, F: Fn() -> V + 'static> IntoAny for F {
    fn into_any(self) -> AnyView {
        AnyView::Live(Box::new(move || self().into_any()))
    }
}

impl<V: IntoValue> IntoValue for Option<V> {
    fn into_value(self) -> Value {
        self.map_or(Value::Absent, V::into_value)
    }
}

impl<V: IntoValue, F: Fn() -> V + 'static> IntoValue for F {
    fn into_value(self) -> Value {
        Value::Live(Box::new(move || self().into_value()))
    }
}

impl IntoValue for bool {
    fn into_value(self) -> Value {
        Value::Flag(self)
    }
}

/// Texts and numbers become both.
macro_rules! texts {
    ($($kind:ty: $text:expr;)*) => {$(
        impl IntoAny for $kind {
            fn into_any(self) -> AnyView {
                AnyView::Text($text(self))
            }
        }

        impl IntoValue for $kind {
            fn into_value(self) -> Value {
                Value::Text($text(self))
            }
        }
    )*};
}

texts! {
    &'static str: Cow::Borrowed;
    String: Cow::Owned;
    Cow<'static, str>: |text| text;
    usize: |number: usize| Cow::Owned(number.to_string());
    u64: |number: u64| Cow::Owned(number.to_string());
    i32: |number: i32| Cow::Owned(number.to_string());
}

/// Puts views one after another.
pub trait CollectView {
    /// The views, one after another.
    fn collect_view(self) -> AnyView;
}

impl<V: IntoAny, I: Iterator<Item = V>> CollectView for I {
    fn collect_view(self) -> AnyView {
        AnyView::Many(self.map(V::into_any).collect())
    }
}

// ---- what stands on the page

/// A view as it stands on the page. Dropping it ends its effects and its listeners; its elements stay until they are removed.
pub struct Built(Standing);

enum Standing {
    /// A comment keeps the place.
    Nothing(Node),
    Text(Node, Cow<'static, str>),
    Filled {
        markup: &'static str,
        roots: Vec<Root>,
        parts: Vec<Part>,
    },
    /// A comment keeps the place after the last.
    Many(Vec<Built>, Node),
    Live(RenderEffect<Built>),
    List(RenderEffect<Rows>),
}

/// What stands at the top of a piece of markup: an element or a text of its own, or one of its parts.
enum Root {
    Own(Node),
    Part(usize),
}

/// A value of a piece of markup, as it stands on the page.
enum Part {
    Child(Built),
    Attribute(Attribute),
    Listener(Listener),
    Reference(Element),
}

impl AnyView {
    /// Puts the view at the end of an element. The signals that it reads belong to the current owner.
    pub fn mount(self, place: &Element) -> Built {
        let built = build(self);
        built.mount(place, None);
        built
    }
}

fn build(view: AnyView) -> Built {
    Built(match view {
        AnyView::Nothing => Standing::Nothing(placeholder()),
        AnyView::Text(text) => Standing::Text(text_node(&text), text),
        AnyView::Filled(markup, values) => build_markup(markup, values),
        AnyView::Many(views) => {
            Standing::Many(views.into_iter().map(build).collect(), placeholder())
        }
        AnyView::Live(draw) => Standing::Live(live(draw, None)),
        AnyView::List(list) => Standing::List(rows(list)),
    })
}

fn placeholder() -> Node {
    document().create_comment("").into()
}

fn text_node(text: &str) -> Node {
    document().create_text_node(text).into()
}

fn live(draw: Box<dyn Fn() -> AnyView>, before: Option<Built>) -> RenderEffect<Built> {
    let run = move |before: Option<Built>| {
        let view = draw();
        match before {
            None => build(view),
            Some(mut built) => {
                built.become_view(view);
                built
            }
        }
    };
    RenderEffect::new_with_value(run, before)
}

/// The items of a piece of markup, as the macro writes them.
fn items(markup: &'static str) -> impl Iterator<Item = (u8, &'static str)> {
    let mut rest = markup;
    std::iter::from_fn(move || {
        let kind = *rest.as_bytes().first()?;
        let words = &rest[1..];
        let end = words
            .bytes()
            .position(|byte| byte <= END)
            .unwrap_or(words.len());
        let (words, others) = words.split_at(end);
        rest = others;
        Some((kind, words))
    })
}

// The first bytes of items; `markup/src/lib.rs` writes them.
const HTML: u8 = 1;
const SVG: u8 = 2;
const FIXED: u8 = 3;
const GIVEN: u8 = 4;
const CHILD: u8 = 5;
const TEXT: u8 = 6;
const END: u8 = 7;

fn create(kind: u8, name: &str) -> Element {
    let created = match kind {
        SVG => document().create_element_ns(Some("http://www.w3.org/2000/svg"), name),
        _ => document().create_element(name),
    };
    created.expect("the names of elements are written in this program")
}

fn build_markup(markup: &'static str, values: Vec<Given>) -> Standing {
    let mut values = values.into_iter();
    let (mut roots, mut parts) = (Vec::new(), Vec::new());
    let mut open: Vec<Element> = Vec::new();
    for (kind, words) in items(markup) {
        let parent = open.last();
        match kind {
            HTML | SVG => {
                let element = create(kind, words);
                stand(element.clone().into(), parent, &mut roots);
                open.push(element);
            }
            TEXT => stand(text_node(words), parent, &mut roots),
            FIXED => {
                if let (Some(element), Some((name, value))) = (parent, words.split_once('=')) {
                    let _ = element.set_attribute(name, value);
                }
            }
            CHILD | GIVEN => {
                let Some(value) = values.next() else { break };
                let part = build_part(value, words, parent);
                match (&part, parent) {
                    (Part::Child(built), Some(parent)) => built.mount(parent, None),
                    (Part::Child(_), None) => roots.push(Root::Part(parts.len())),
                    _ => {}
                }
                parts.push(part);
            }
            _ => {
                open.pop();
            }
        }
    }
    Standing::Filled {
        markup,
        roots,
        parts,
    }
}

fn stand(node: Node, parent: Option<&Element>, roots: &mut Vec<Root>) {
    match parent {
        Some(parent) => {
            let _ = parent.append_child(&node);
        }
        None => roots.push(Root::Own(node)),
    }
}

fn build_part(value: Given, name: &'static str, element: Option<&Element>) -> Part {
    match (value, element) {
        (Given::Child(view), _) => Part::Child(build(view)),
        (Given::Attribute(value), Some(element)) => {
            Part::Attribute(Attribute::new(element.clone(), name, value))
        }
        (Given::Listener(listen), Some(element)) => {
            Part::Listener(Listener::new(element.clone(), name, listen))
        }
        (Given::Reference(reference), Some(element)) => {
            reference.set(Some(element.clone()));
            Part::Reference(element.clone())
        }
        (_, None) => unreachable!("the macro writes attributes within elements alone"),
    }
}

impl Built {
    /// Shows every top node, in order, until told `false`.
    fn each_node(&self, visit: &mut dyn FnMut(&Node) -> bool) -> bool {
        match &self.0 {
            Standing::Nothing(node) | Standing::Text(node, _) => visit(node),
            Standing::Filled { roots, parts, .. } => roots.iter().all(|root| match root {
                Root::Own(node) => visit(node),
                Root::Part(part) => match &parts[*part] {
                    Part::Child(built) => built.each_node(visit),
                    _ => true,
                },
            }),
            Standing::Many(all, end) => {
                all.iter().all(|built| built.each_node(visit)) && visit(end)
            }
            Standing::Live(effect) => effect
                .with_value_mut(|built| built.each_node(visit))
                .unwrap_or(true),
            Standing::List(effect) => effect
                .with_value_mut(|rows| {
                    rows.rows.iter().all(|row| row.built.each_node(visit)) && visit(&rows.end)
                })
                .unwrap_or(true),
        }
    }

    fn mount(&self, parent: &Node, before: Option<&Node>) {
        self.each_node(&mut |node| {
            let _ = parent.insert_before(node, before);
            true
        });
    }

    fn remove(&self) {
        self.each_node(&mut |node| {
            if let Some(parent) = node.parent_node() {
                let _ = parent.remove_child(node);
            }
            true
        });
    }

    fn first_node(&self) -> Option<Node> {
        let mut first = None;
        self.each_node(&mut |node| {
            first = Some(node.clone());
            false
        });
        first
    }

    /// Puts this before what stands there already, where that stands somewhere.
    fn mount_before(&self, node: Option<&Node>) {
        if let Some(parent) = node.and_then(Node::parent_node) {
            self.mount(&parent, node);
        }
    }

    /// Becomes another view, and keeps the elements where that is of the same piece of markup.
    fn become_view(&mut self, view: AnyView) {
        match (&mut self.0, view) {
            (Standing::Nothing(_), AnyView::Nothing) => {}
            (Standing::Text(node, old), AnyView::Text(text)) => {
                if *old != text {
                    node.set_node_value(Some(&text));
                    *old = text;
                }
            }
            (Standing::Filled { markup, parts, .. }, AnyView::Filled(same, values))
                if *markup == same =>
            {
                for (part, value) in parts.iter_mut().zip(values) {
                    part.become_value(value);
                }
            }
            (Standing::Many(all, end), AnyView::Many(views)) => become_many(all, end, views),
            (Standing::Live(effect), AnyView::Live(draw)) => {
                let before = effect.take_value();
                *effect = live(draw, before);
            }
            (_, view) => {
                let other = build(view);
                other.mount_before(self.first_node().as_ref());
                self.remove();
                *self = other;
            }
        }
    }
}

fn become_many(all: &mut Vec<Built>, end: &Node, views: Vec<AnyView>) {
    for gone in all.drain(views.len().min(all.len())..) {
        gone.remove();
    }
    let stay = all.len();
    for (place, view) in views.into_iter().enumerate() {
        if place < stay {
            all[place].become_view(view);
        } else {
            let built = build(view);
            built.mount_before(Some(end));
            all.push(built);
        }
    }
}

impl Part {
    fn become_value(&mut self, value: Given) {
        match (self, value) {
            (Part::Child(built), Given::Child(view)) => built.become_view(view),
            (Part::Attribute(attribute), Given::Attribute(value)) => attribute.become_value(value),
            (Part::Listener(listener), Given::Listener(listen)) => {
                *listener.listen.borrow_mut() = listen;
            }
            (Part::Reference(element), Given::Reference(reference)) => {
                reference.set(Some(element.clone()));
            }
            _ => unreachable!("the same piece of markup has the same kinds of values"),
        }
    }
}

// ---- attributes

/// An attribute, a property or a style of an element.
struct Attribute {
    element: Element,
    name: &'static str,
    now: Now,
}

enum Now {
    Fixed(Value),
    Live(RenderEffect<Value>),
}

impl Attribute {
    fn new(element: Element, name: &'static str, value: Value) -> Attribute {
        let mut attribute = Attribute {
            element,
            name,
            now: Now::Fixed(Value::Absent),
        };
        attribute.become_value(value);
        attribute
    }

    fn become_value(&mut self, value: Value) {
        let before = match &mut self.now {
            Now::Fixed(value) => Some(std::mem::replace(value, Value::Absent)),
            Now::Live(effect) => effect.take_value(),
        };
        self.now = match value {
            Value::Live(read) => {
                let (element, name) = (self.element.clone(), self.name);
                let run = move |before: Option<Value>| {
                    let value = read().settled();
                    value.set(&element, name, before);
                    value
                };
                Now::Live(RenderEffect::new_with_value(run, before))
            }
            value => {
                value.set(&self.element, self.name, before);
                Now::Fixed(value)
            }
        };
    }
}

impl Value {
    /// The value of a closure, until it is none.
    fn settled(self) -> Value {
        match self {
            Value::Live(read) => read().settled(),
            value => value,
        }
    }

    fn is_as(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Absent, Value::Absent) => true,
            (Value::Text(text), Value::Text(other)) => text == other,
            (Value::Flag(flag), Value::Flag(other)) => flag == other,
            _ => false,
        }
    }

    /// Gives the element this value, unless it is as before.
    fn set(&self, element: &Element, name: &'static str, before: Option<Value>) {
        if before.is_some_and(|before| self.is_as(&before)) {
            return;
        }
        if let Some(property) = name.strip_prefix("prop:") {
            let value = match self {
                Value::Text(text) => text.as_ref().into(),
                Value::Flag(flag) => (*flag).into(),
                _ => wasm_bindgen::JsValue::UNDEFINED,
            };
            let _ = js_sys::Reflect::set(element, &property.into(), &value);
            return;
        }
        if let Some(property) = name.strip_prefix("style:") {
            let style = element.unchecked_ref::<web_sys::HtmlElement>().style();
            let _ = match self {
                Value::Text(text) => style.set_property(property, text),
                _ => style.remove_property(property).map(|_| ()),
            };
            return;
        }
        let _ = match self {
            Value::Text(text) => element.set_attribute(name, text),
            Value::Flag(true) => element.set_attribute(name, ""),
            _ => element.remove_attribute(name),
        };
    }
}

// ---- listeners

/// A listener on an element; what it does can change.
struct Listener {
    element: Element,
    name: &'static str,
    listen: Rc<RefCell<Listen>>,
    closure: Closure<dyn Fn(Event)>,
}

impl Listener {
    fn new(element: Element, name: &'static str, listen: Listen) -> Listener {
        let name = name.trim_start_matches("on:");
        let listen = Rc::new(RefCell::new(listen));
        let now = listen.clone();
        let closure = Closure::<dyn Fn(Event)>::new(move |event| {
            let listen = now.borrow().clone();
            listen(event);
        });
        let _ = element.add_event_listener_with_callback(name, closure.as_ref().unchecked_ref());
        Listener {
            element,
            name,
            listen,
            closure,
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let function = self.closure.as_ref().unchecked_ref();
        let _ = self
            .element
            .remove_event_listener_with_callback(self.name, function);
    }
}

// ---- lists

/// The rows of a list, and a comment after the last.
struct Rows {
    rows: Vec<Row>,
    end: Node,
}

struct Row {
    key: Key,
    built: Built,
    /// The memos and signals of the row end with it.
    _owner: Owner,
}

fn rows(List { keys, draw }: List) -> RenderEffect<Rows> {
    // The rows outlive the runs of the effect.
    let owner = Owner::current().unwrap_or_default();
    RenderEffect::new(move |before: Option<Rows>| {
        let mut rows = before.unwrap_or_else(|| Rows {
            rows: Vec::new(),
            end: placeholder(),
        });
        let keys = keys();
        rows.follow(&keys, &mut |key| {
            let owner = owner.with(Owner::new);
            let built = owner.with(|| untrack(|| build(draw(key))));
            Row {
                key,
                built,
                _owner: owner,
            }
        });
        rows
    })
}

impl Rows {
    /// Removes the rows that are gone, moves those that stand elsewhere and draws those that are new. Lists show some hundred
    /// rows at most, so a row is looked for one by one.
    fn follow(&mut self, keys: &[Key], draw: &mut dyn FnMut(Key) -> Row) {
        self.rows.retain(|row| {
            let stays = keys.contains(&row.key);
            if !stays {
                row.built.remove();
            }
            stays
        });
        for (place, key) in keys.iter().enumerate() {
            if self.rows.get(place).is_some_and(|row| row.key == *key) {
                continue;
            }
            let later = self.rows.iter().skip(place);
            let row = match later.clone().position(|row| row.key == *key) {
                Some(after) => self.rows.remove(place + after),
                None => draw(*key),
            };
            let next = self.rows.get(place).and_then(|row| row.built.first_node());
            row.built
                .mount_before(Some(next.as_ref().unwrap_or(&self.end)));
            self.rows.insert(place, row);
        }
        for extra in self.rows.drain(keys.len()..) {
            extra.built.remove();
        }
    }
}
