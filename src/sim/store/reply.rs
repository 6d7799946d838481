//! What the store answers, as RESP2 has it, and how people write it.
//!
//! Two forms of print: the short one of the scenario text (`=> OK`, `=> "text"`, `=> [1, nil]`) and
//! the one that redis-cli shows on a terminal, with its numbering and indentation.

/// One reply of the store, mirroring RESP2 (Redis protocol specification, "RESP data types").
///
/// Arrays nest only as deep as commands and the depth limit of script results let them.
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

impl Reply {
    /// The status `OK`.
    pub fn ok() -> Reply {
        Reply::Status("OK".to_owned())
    }

    /// A bulk string with a copy of these bytes.
    pub fn bulk(bytes: impl AsRef<[u8]>) -> Reply {
        Reply::Bulk(bytes.as_ref().to_vec())
    }

    /// 1 for true and 0 for false, as Redis answers yes and no.
    pub fn yes(yes: bool) -> Reply {
        Reply::Integer(i64::from(yes))
    }

    /// The reply as the scenario text writes it: `OK`, `nil`, `1`, `"text"` with redis-cli's escapes,
    /// errors as they are, arrays as `[1, "a", nil]`.
    pub fn print_short(&self) -> String {
        match self {
            Reply::Status(text) | Reply::Error(text) => text.clone(),
            Reply::Integer(number) => number.to_string(),
            Reply::Bulk(bytes) => quote(bytes),
            Reply::Nil => "nil".to_owned(),
            Reply::Array(items) => {
                let items: Vec<String> = items.iter().map(Reply::print_short).collect();
                format!("[{}]", items.join(", "))
            }
        }
    }

    /// The reply exactly as redis-cli prints it on a terminal, without the last line break:
    /// `(integer) 1`, `(nil)`, `1) "a"` with nested indentation, `(error) ERR ...`, `(empty array)`.
    pub fn print_redis_cli(&self) -> String {
        let mut text = String::new();
        self.print_lines("", &mut text);
        text.pop();
        text
    }

    fn print_lines(&self, indent: &str, text: &mut String) {
        match self {
            Reply::Status(status) => text.push_str(status),
            Reply::Error(error) => {
                text.push_str("(error) ");
                text.push_str(error);
            }
            Reply::Integer(number) => {
                text.push_str("(integer) ");
                text.push_str(&number.to_string());
            }
            Reply::Bulk(bytes) => text.push_str(&quote(bytes)),
            Reply::Nil => text.push_str("(nil)"),
            Reply::Array(items) if items.is_empty() => text.push_str("(empty array)"),
            Reply::Array(items) => return print_items(items, indent, text),
        }
        text.push('\n');
    }
}

fn print_items(items: &[Reply], indent: &str, text: &mut String) {
    let width = items.len().to_string().len();
    let deeper = format!("{indent}{:width$}  ", "");
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            text.push_str(indent);
        }
        text.push_str(&format!("{:>width$}) ", index + 1));
        item.print_lines(&deeper, text);
    }
}

/// The bytes between double quotes, escaped as redis-cli does it: `\\`, `\"`, `\n`, `\r`, `\t`,
/// `\a`, `\b`, and `\xHH` for everything that is not printable ASCII.
pub fn quote(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() + 2);
    text.push('"');
    for &byte in bytes {
        match byte {
            b'\\' => text.push_str("\\\\"),
            b'"' => text.push_str("\\\""),
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            7 => text.push_str("\\a"),
            8 => text.push_str("\\b"),
            b' '..=b'~' => text.push(char::from(byte)),
            _ => text.push_str(&format!("\\x{byte:02x}")),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(reply: &Reply, short: &str, redis_cli: &str) {
        assert_eq!(reply.print_short(), short);
        assert_eq!(reply.print_redis_cli(), redis_cli);
    }

    #[test]
    fn replies_print_as_people_write_them() {
        check(&Reply::ok(), "OK", "OK");
        check(&Reply::Nil, "nil", "(nil)");
        check(&Reply::Integer(-7), "-7", "(integer) -7");
        check(
            &Reply::bulk("a \"b\"\\\n\r\t\x07\x08\x00\u{e9}"),
            r#""a \"b\"\\\n\r\t\a\b\x00\xc3\xa9""#,
            r#""a \"b\"\\\n\r\t\a\b\x00\xc3\xa9""#,
        );
        check(
            &Reply::Error("ERR no".to_owned()),
            "ERR no",
            "(error) ERR no",
        );
        check(&Reply::Array(vec![]), "[]", "(empty array)");
        let nested = Reply::Array(vec![
            Reply::Integer(1),
            Reply::Array(vec![Reply::bulk("a"), Reply::Nil, Reply::Array(vec![])]),
        ]);
        check(
            &nested,
            r#"[1, ["a", nil, []]]"#,
            "1) (integer) 1\n2) 1) \"a\"\n   2) (nil)\n   3) (empty array)",
        );
        let ten = Reply::Array(
            (0..10)
                .map(|_| Reply::Array(vec![Reply::Nil, Reply::Nil]))
                .collect(),
        );
        assert!(
            ten.print_redis_cli()
                .starts_with(" 1) 1) (nil)\n    2) (nil)\n 2) 1) (nil)\n")
        );
    }
}
