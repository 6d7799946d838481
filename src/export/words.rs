//! Words that the tests of all languages share: names of the scenario in the case that a language writes them in, and the sentences of
//! the header.

use crate::sim::database::Statement;

/// How to see the schedule on the page; the link follows.
pub(super) const SEE_IT: &str = "Put this behind the address of Latchkey to see it step by step:";

/// Where the test looks for Redis.
pub(super) const WHERE_REDIS_IS: &str =
    "REDIS_URL says where Redis is (redis://127.0.0.1:6379/0 if it is not set).";

/// Where the test looks for several Redis servers.
pub(super) const WHERE_SEVERAL_ARE: &str = "{variables} say where {servers} are (the databases {databases} of redis://127.0.0.1:6379, where they are not \
     set).";

/// Where the test looks for the database.
pub(super) const WHERE_MYSQL_IS: &str = "MYSQL_HOST, MYSQL_PORT, MYSQL_USER, MYSQL_PASSWORD and MYSQL_DATABASE say where MySQL or MariaDB is (127.0.0.1, 3306, root, no \
     password, test).";

/// What the test does not touch.
pub(super) const LEAVES_ALONE: &str =
    "The test leaves alone what it did not make: it fails where its keys or tables exist.";

/// What it means that the test passes, or fails.
pub(super) fn aim(holds: bool) -> &'static str {
    match holds {
        false => "This test passes as long as the servers do what Latchkey says of this schedule.",
        true => "This test fails until the protocol keeps what is asserted at its end.",
    }
}

/// A line of the test; an empty one is not indented.
pub(super) fn push_line(out: &mut String, indent: usize, text: &str) {
    if !text.is_empty() {
        out.push_str(&" ".repeat(indent));
        out.push_str(text);
    }
    out.push('\n');
}

/// The words of a name: runs of ASCII letters and digits, in lower case.
pub(super) fn words(name: &str) -> Vec<String> {
    name.split(|other: char| !other.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect()
}

/// `lock_sku_1`.
pub(super) fn snake(name: &str) -> String {
    startable(words(name).join("_"))
}

/// `LOCK_SKU_1`.
pub(super) fn screaming(name: &str) -> String {
    snake(name).to_ascii_uppercase()
}

/// `lockSku1`.
pub(super) fn camel(name: &str) -> String {
    let mut camel = String::new();
    for (place, word) in words(name).iter().enumerate() {
        match place {
            0 => camel.push_str(word),
            _ => push_capital(&mut camel, word),
        }
    }
    startable(camel)
}

/// `LockSku1`.
pub(super) fn pascal(name: &str) -> String {
    let mut pascal = String::new();
    for word in words(name) {
        push_capital(&mut pascal, &word);
    }
    startable(pascal)
}

/// A name, with a line behind it where it is among those that are taken, which stand between blanks.
pub(super) fn unless_taken(name: String, taken: &str) -> String {
    match taken.contains(&format!(" {name} ")) {
        true => name + "_",
        false => name,
    }
}

fn push_capital(name: &mut String, word: &str) {
    let (first, rest) = word.split_at(word.len().min(1));
    name.push_str(&first.to_ascii_uppercase());
    name.push_str(rest);
}

/// No language has names that begin with a digit, or are empty.
fn startable(name: String) -> String {
    match name.bytes().next() {
        Some(first) if !first.is_ascii_digit() => name,
        _ => format!("n{name}"),
    }
}

/// Verbs that steps are called by, and what has happened once they are done.
const DONE: [(&str, &str); 44] = [
    ("abort", "aborted"),
    ("acquire", "acquired"),
    ("begin", "begun"),
    ("cancel", "cancelled"),
    ("charge", "charged"),
    ("check", "checked"),
    ("claim", "claimed"),
    ("commit", "committed"),
    ("confirm", "confirmed"),
    ("count", "counted"),
    ("delete", "deleted"),
    ("draw", "drawn"),
    ("expire", "expired"),
    ("extend", "extended"),
    ("fetch", "fetched"),
    ("free", "freed"),
    ("get", "got"),
    ("insert", "inserted"),
    ("load", "loaded"),
    ("lock", "locked"),
    ("look", "looked"),
    ("obtain", "obtained"),
    ("pay", "paid"),
    ("ping", "pinged"),
    ("publish", "published"),
    ("push", "pushed"),
    ("reacquire", "reacquired"),
    ("read", "read"),
    ("refresh", "refreshed"),
    ("refund", "refunded"),
    ("release", "released"),
    ("renew", "renewed"),
    ("reserve", "reserved"),
    ("rollback", "rolled back"),
    ("save", "saved"),
    ("seed", "seeded"),
    ("sell", "sold"),
    ("set", "set"),
    ("start", "started"),
    ("take", "taken"),
    ("unlock", "unlocked"),
    ("update", "updated"),
    ("wait", "waited"),
    ("write", "written"),
];

/// What has happened once a step is done, where its label begins with a verb that is known: `acquired`, `taken over`.
pub(super) fn done(label: &str) -> Option<String> {
    let words = words(label);
    let (verb, rest) = words.split_first()?;
    let (_, done) = DONE.iter().find(|(known, _)| known == verb)?;
    let rest = rest.iter().map(String::as_str);
    Some(
        std::iter::once(*done)
            .chain(rest)
            .collect::<Vec<_>>()
            .join(" "),
    )
}

/// The lines of a text so far from the left; empty ones stay empty.
pub(super) fn indented(text: &str, indent: usize) -> String {
    let blanks = " ".repeat(indent);
    let lines = text.lines().map(|line| match line {
        "" => String::new(),
        line => format!("{blanks}{line}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The words of a text in lines of at most so many characters; a longer word has a line of its own.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        let length = line.chars().count() + 1 + word.chars().count();
        if line.is_empty() {
            line.push_str(word);
        } else if length <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// The beginning of a title, as far as a name should go.
pub(super) fn short(title: &str) -> String {
    let mut short = String::new();
    for word in title
        .split(|other: char| !other.is_alphanumeric())
        .filter(|word| !word.is_empty())
    {
        if !short.is_empty() && short.len() + word.len() > 60 {
            break;
        }
        short.push_str(word);
        short.push(' ');
    }
    if short.is_empty() {
        "a schedule of lock clients".to_owned()
    } else {
        short
    }
}

/// The name of the class that the test of this title is.
pub(super) fn test_class(title: &str) -> String {
    format!("{}Test", pascal(&short(title)))
}

/// `a, b and c`.
pub(super) fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

/// A time in seconds, with milliseconds only where there are any.
pub(super) fn seconds(milliseconds: u64) -> String {
    match milliseconds % 1000 {
        0 => (milliseconds / 1000).to_string(),
        rest => format!("{}.{rest:03}", milliseconds / 1000),
    }
}

/// An SQL statement with what stands for each of its variables.
pub(super) fn sql_with(statement: &Statement, placeholder: &dyn Fn(&str) -> String) -> String {
    let mut sql = String::new();
    for (piece, name) in statement.pieces() {
        sql.push_str(piece);
        sql.extend(name.map(placeholder));
    }
    sql
}

/// A name as SQL has it, in backticks where it has to be.
pub(super) fn name_in_sql(name: &str) -> String {
    let is_plain = name
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    let is_word = [
        " key ", " order ", " group ", " rows ", " rank ", " index ", " values ",
    ]
    .contains(&format!(" {name} ").as_str());
    if is_plain && !is_word {
        name.to_owned()
    } else {
        format!("`{name}`")
    }
}

/// What the test calls an error: `ERROR 1062`, `WRONGTYPE`.
pub(super) fn error_name(name: &str) -> String {
    match name.bytes().all(|byte| byte.is_ascii_digit()) {
        true => format!("ERROR {name}"),
        false => name.to_owned(),
    }
}
