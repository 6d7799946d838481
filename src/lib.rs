//! Latchkey: an exact, repeatable world of distributed locks.

pub mod sim;
#[cfg(feature = "ui")]
pub mod ui;
