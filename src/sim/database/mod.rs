//! The MySQL-like database.
