//! How much a text may hold. Each limit has an error of its own; none is near what a person writes.

/// Bytes of a text.
pub const TEXT: usize = 1 << 20;

/// Lines of a text.
pub const LINES: usize = 20_000;

/// Bytes of one line.
pub const LINE: usize = 8_192;

/// Clients of a scenario.
pub const CLIENTS: usize = 64;

/// Protocols of a scenario.
pub const PROTOCOLS: usize = 64;

/// Scripts of a scenario.
pub const SCRIPTS: usize = 64;

/// Tables of a scenario.
pub const TABLES: usize = 64;

/// Statements before the schedule, rows of tables among them, and commands before the schedule.
pub const INITIAL: usize = 2_000;

/// Steps of a protocol.
pub const STEPS: usize = 200;

/// Clauses of a step.
pub const CLAUSES: usize = 50;

/// Variables, effects, keys, roles or labels in one line.
pub const ITEMS: usize = 32;

/// Actions of a schedule.
pub const ACTIONS: usize = 10_000;

/// Expectations of a scenario.
pub const EXPECTATIONS: usize = 1_000;

/// Runs of a protocol by one client.
pub const ROUNDS: u32 = 1_000;

/// Characters of a name.
pub const NAME: usize = 64;

/// Milliseconds of one duration: about 31 years.
pub const DURATION: u64 = 1_000_000_000_000;

/// Units that one clause sells.
pub const UNITS: u64 = 1_000_000_000;

/// Searches of a scenario.
pub const SEARCHES: usize = 32;

/// Distinct worlds of a search.
pub const WORLDS: u64 = 1_000_000_000;

/// Redis-like servers of a scenario.
pub const SERVERS: usize = 16;
