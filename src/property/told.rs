//! What is only told: words and times for sentences, on which no verdict depends.

use std::hash::{Hash, Hasher};

/// Something that sentences mention and no verdict depends on. It takes no part in equality, so that two judges are equal
/// when nothing that may still happen could tell their verdicts apart.
#[derive(Clone, Debug, Default)]
pub(super) struct Told<T>(pub T);

impl<T> PartialEq for Told<T> {
    fn eq(&self, _other: &Told<T>) -> bool {
        true
    }
}

impl<T> Eq for Told<T> {}

impl<T> Hash for Told<T> {
    fn hash<H: Hasher>(&self, _state: &mut H) {}
}
