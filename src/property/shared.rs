//! What judges hold together until one of them changes it.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A part of a judge's memory; a search clones judges for every move, and a move changes few of their parts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Shared<T>(Arc<T>);

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> Shared<T> {
    /// Changes it; if asked for, only where nobody else has it too.
    pub fn change(&mut self, only_own: bool, change: impl FnOnce(&mut T)) {
        match Arc::get_mut(&mut self.0) {
            Some(own) => change(own),
            None if only_own => {}
            None => change(self),
        }
    }
}

/// Whoever may change it has it alone from then on.
impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}
