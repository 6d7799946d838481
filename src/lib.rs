//! Latchkey: an exact, repeatable world of distributed locks.
//!
//! Two clients and a Redis-like store; the lease of the first lapses while it is paused on a latch, the second takes
//! the lock, and from then on the first holds only a belief:
//!
//! ```
//! use latchkey::scenario;
//!
//! let text = "\
//! watch lock lock:sku-1
//!
//! protocol lock-only
//!   acquire: SET lock:sku-1 {me} NX PX 10000
//!     on OK: holds lock:sku-1 for 10000ms
//!     on nil: stop
//!   release: DEL lock:sku-1
//!
//! client A, B: lock-only
//!
//! schedule
//!   A acquire              => OK
//!   pause A before release
//!   clock +10001ms
//!   B acquire              => OK
//!
//! expect
//!   broken: at most one client believes that it holds the lock
//!   key lock:sku-1: \"B-1\"
//! ";
//! let reading = scenario::read(text).expect("the text can be read");
//! assert_eq!(scenario::check::check(&reading), []);
//! ```
//!
//! # A guided tour
//!
//! 1. [`sim`] is the world: a store, a database, a card gateway and clients, as pure values. Only [`sim::step`] changes it, one
//!    [`sim::action::Action`] at a time, and tells what that caused as [`sim::event::Event`]s.
//! 2. [`property`] reads events and gives a verdict on each of its named sentences: holds, broken, or not yet put to the test.
//! 3. [`scenario`] is the text in which all of this is written down, read and checked; [`link`] puts it into an address.
//! 4. [`timeline`] keeps a schedule with its worlds, so that any moment is a few steps away.
//! 5. [`session`] is the whole page without the browser: a message goes in, and the text, the timeline and the cursor change.
//! 6. [`search`] tries every schedule within bounds, and finds the shortest one that breaks a property.
//! 7. [`diagram`] turns a timeline into the space-time picture, as plain numbers; [`strokes`] makes paths and texts of them.
//! 8. [`compare`] plays the same schedule under another protocol or another fence, and tells where the two part.
//! 9. [`export`] turns a scenario into a test for real servers.
//! 10. `servers`, where the feature `servers` is on, plays a scenario on real servers and compares.
//! 11. `ui`, where the feature `ui` is on, shows it all and turns clicks into messages. It holds no rule.

// The macro `view!` names this crate as its users do.
#[cfg(feature = "ui")]
extern crate self as latchkey;

pub mod compare;
pub mod diagram;
pub mod export;
pub mod link;
pub mod property;
pub mod scenario;
pub mod search;
#[cfg(feature = "servers")]
pub mod servers;
pub mod session;
pub mod sim;
pub mod sorted;
pub mod strokes;
pub mod timeline;
#[cfg(feature = "ui")]
pub mod ui;
pub mod words;
