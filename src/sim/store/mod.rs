//! The Redis-like store.

pub mod reply;
