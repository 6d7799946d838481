//! The innermost part of Latchkey's search: worlds as packed numbers, what is known of moves as tables, and the loop over both.
//!
//! It knows nothing of stores, statements and clients. The search (`src/search/`) gives each part of a world a number, carries a
//! move out once for each combination of parts that it reads, and writes down here what came of it; from then on the loop needs
//! nothing but these tables. Where it meets something that is not written down, it hands the world back.
//!
//! ```text
//! turn ──► world ──► fields ──► for each move: tables ──► words, in batches ──► index ──► new worlds, by cost
//!            ▲                                 │
//!            └──── learned by the search ◄─────┴ not known: given back
//! ```
//!
//! It is a crate of its own so that the page, which is built to be small, can have this part built to be fast.

mod explorer;
mod hash;
mod index;
mod known;
mod memo;
mod packed;
mod placing;
mod worlds;

pub use explorer::{Cost, Explorer, Found, Parent, Purse, Wants};
pub use hash::{Mixer, hash_of, mix};
pub use index::Index;
pub use known::{Change, ClientKind, Effect, Known, NOT_POSSIBLE, Places, Strike, WIDE};
pub use memo::{Grid, Memo, PairMemo};
pub use placing::{MOST_ALIKE, Placing, Way};
pub use worlds::{Origin, Worlds, hash_of_words};
