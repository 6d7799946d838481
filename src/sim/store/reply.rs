//! What the store answers, as RESP2 has it.

/// One reply of the store, mirroring RESP2 (Redis protocol specification, "RESP data types").
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reply {
    /// A simple string such as `OK`.
    Status(String),
    /// An error, with its prefix (`ERR`, `WRONGTYPE`, ...) and without the leading `-`.
    Error(String),
    /// A 64-bit signed integer.
    Integer(i64),
    /// A bulk string, any bytes.
    Bulk(Vec<u8>),
    /// The null bulk string or the null array; redis-cli prints `(nil)` for both.
    Nil,
    /// An array of replies, in order.
    Array(Vec<Reply>),
}
