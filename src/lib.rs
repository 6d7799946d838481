//! Latchkey: an exact, repeatable world of distributed locks.

pub mod sim;
