//! Lock clients: they run a protocol step by step, and act on what they believe.

pub mod protocol;
