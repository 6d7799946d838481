//! The search on small scenarios.
