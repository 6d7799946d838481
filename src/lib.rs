//! Latchkey: an exact, repeatable world of distributed locks.

pub mod diagram;
pub mod link;
pub mod property;
pub mod scenario;
pub mod session;
pub mod sim;
pub mod timeline;
#[cfg(feature = "ui")]
pub mod ui;
