//! Virtual time: milliseconds since the start of the scenario, moved by actions alone.

/// The servers' wall clock at the start of every scenario, in milliseconds since the Unix epoch: 2026-01-01 00:00:00
/// UTC. Only commands that read absolute time (`TIME`, `EXPIREAT`, `NOW()`) ever see it.
pub const START_OF_WALL_CLOCK: u64 = 1_767_225_600_000;

/// The furthest that a scenario's clock can go, in milliseconds: a hundred years. An action that would pass it is refused.
pub const END_OF_TIME: u64 = 100 * 365 * 24 * 60 * 60 * 1000;

/// Milliseconds as a person reads them: `10.001 s`, `250 ms`, `0 s`.
pub fn in_words(milliseconds: u64) -> String {
    let (seconds, rest) = (milliseconds / 1000, milliseconds % 1000);
    match (seconds, rest) {
        (0, 0) => "0 s".to_string(),
        (0, rest) => format!("{rest} ms"),
        (seconds, 0) => format!("{seconds} s"),
        (seconds, rest) => format!("{seconds}.{rest:03} s"),
    }
}
