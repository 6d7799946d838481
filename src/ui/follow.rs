//! Signals, memos and effects whose values are hidden from Leptos, so that the program holds the code of its reactive graph once, not once
//! for every type that a panel shows.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

use leptos::prelude as leptos;
use leptos::{Get, Set, WithUntracked};

/// A value of any type, which can be compared with others.
#[derive(Clone)]
pub struct Held(Arc<dyn Holds>);

trait Holds: Any + Send + Sync {
    fn is_as(&self, other: &dyn Any) -> bool;
    fn as_any(&self) -> &dyn Any;
}

impl<T: PartialEq + Send + Sync + 'static> Holds for T {
    fn is_as(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Held) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || (*self.0).is_as((*other.0).as_any())
    }
}

impl Held {
    /// Holds a value.
    pub fn new<T: PartialEq + Send + Sync + 'static>(value: T) -> Held {
        Held(Arc::new(value))
    }

    /// The value, where it is of this type.
    pub fn look<T: 'static>(&self) -> Option<&T> {
        (*self.0).as_any().downcast_ref()
    }
}

/// A value that is set, and that others follow. It is looked at and replaced as a whole; what is large and grows, as the session
/// does, has Leptos's own.
pub struct RwSignal<T> {
    held: leptos::RwSignal<Held>,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for RwSignal<T> {
    fn clone(&self) -> RwSignal<T> {
        *self
    }
}

impl<T> Copy for RwSignal<T> {}

impl<T: PartialEq + Send + Sync + 'static> RwSignal<T> {
    /// A signal with this value.
    pub fn new(value: T) -> RwSignal<T> {
        RwSignal {
            held: signal(Held::new(value)),
            of: PhantomData,
        }
    }

    /// Looks at the value, and follows it.
    pub fn with<U>(self, look: impl FnOnce(&T) -> U) -> U {
        look(of_type(&now(self.held)))
    }

    /// Looks at the value as it is.
    pub fn with_untracked<U>(self, look: impl FnOnce(&T) -> U) -> U {
        look(of_type(&as_it_is(self.held)))
    }

    /// Sets the value, and tells whoever follows.
    pub fn set(self, value: T) {
        set(self.held, Held::new(value));
    }
}

impl<T: Clone + PartialEq + Send + Sync + 'static> RwSignal<T> {
    /// The value; who asks follows it.
    pub fn get(self) -> T {
        self.with(T::clone)
    }

    /// The value as it is.
    pub fn get_untracked(self) -> T {
        self.with_untracked(T::clone)
    }

    /// Changes the value, and tells whoever follows.
    pub fn update(self, change: impl FnOnce(&mut T)) {
        let mut value = self.get_untracked();
        change(&mut value);
        self.set(value);
    }
}

// One place each, so that the program holds Leptos's code once.

fn signal(held: Held) -> leptos::RwSignal<Held> {
    leptos::RwSignal::new(held)
}

fn now(signal: leptos::RwSignal<Held>) -> Held {
    signal.get()
}

fn as_it_is(signal: leptos::RwSignal<Held>) -> Held {
    signal.with_untracked(Held::clone)
}

fn set(signal: leptos::RwSignal<Held>, held: Held) {
    signal.set(held);
}

/// A value that follows signals, and is known again only when it has changed.
pub struct Memo<T> {
    held: leptos::Memo<Held>,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Memo<T> {
    fn clone(&self) -> Memo<T> {
        *self
    }
}

impl<T> Copy for Memo<T> {}

/// A memo of a value that nobody names.
pub fn memo(value: Box<dyn Fn() -> Held + Send + Sync>) -> leptos::Memo<Held> {
    leptos::Memo::new(move |_| value())
}

impl<T: PartialEq + Send + Sync + 'static> Memo<T> {
    /// A memo of what the closure gives.
    pub fn new(value: impl Fn() -> T + Send + Sync + 'static) -> Memo<T> {
        Memo {
            held: memo(Box::new(move || Held::new(value()))),
            of: PhantomData,
        }
    }

    /// Looks at the value, and follows it.
    pub fn with<U>(self, look: impl FnOnce(&T) -> U) -> U {
        look(of_type(&self.held.get()))
    }

    /// Looks at the value as it is.
    pub fn with_untracked<U>(self, look: impl FnOnce(&T) -> U) -> U {
        look(of_type(&self.held.with_untracked(Held::clone)))
    }

    /// Follows the value. A memo that nobody has asked knows of no change, so it is asked.
    pub fn track(self) {
        self.held.get();
    }
}

impl<T: Clone + PartialEq + Send + Sync + 'static> Memo<T> {
    /// The value; who asks follows it.
    pub fn get(self) -> T {
        self.with(T::clone)
    }

    /// The value as it is.
    pub fn get_untracked(self) -> T {
        self.with_untracked(T::clone)
    }
}

fn of_type<T: 'static>(held: &Held) -> &T {
    held.look()
        .expect("a memo holds the type that it was made for")
}

/// What an effect does, with what it gave the last time.
type Run = Box<dyn FnMut(Option<u64>) -> u64>;

/// Does this, and again whenever a signal that it reads has changed.
pub fn effect(mut run: impl FnMut() + 'static) {
    effect_with_last(move |_| {
        run();
        0
    });
}

/// Does this, and again with what it gave the last time whenever a signal that it reads has changed.
pub fn effect_with_last(run: impl FnMut(Option<u64>) -> u64 + 'static) {
    let run: Run = Box::new(run);
    leptos::Effect::new(run);
}
