//! The world: pure, ordered, without wall clock, randomness or browser.

pub mod action;
pub mod client;
pub mod database;
pub mod event;
pub mod gateway;
pub mod network;
pub mod setup;
pub mod step;
pub mod store;
pub mod time;
pub mod world;

/// Names one connection to a server; every client and every console has one of its own, numbered
/// in the order in which the scenario names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u32);
