//! Numbers and bytes as the page writes them.

use crate::sim::setup::Setup;

/// Seconds with three digits, `10.001`: the axis and the clock.
pub fn seconds(milliseconds: u64) -> String {
    let rest = (milliseconds % 1000 + 1000).to_string();
    (milliseconds / 1000).to_string() + "." + &rest[1..]
}

/// Milliseconds, `10 000 ms`: what remains.
pub fn milliseconds(milliseconds: u64) -> String {
    grouped(milliseconds) + " ms"
}

/// A number with narrow spaces between groups of three digits, `10 000`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

/// So many of something: `1 row`, `2 rows`.
pub fn count(number: usize, one: &str, many: &str) -> String {
    number.to_string() + " " + if number == 1 { one } else { many }
}

/// Bytes as text; what is no UTF-8 shows as replacement characters.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What stands for a client in its badge: the first letter of its name, and the digit at its end, which tells `worker-1` from `worker-2`.
pub fn initial(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next();
    let digit = letters.next_back().filter(char::is_ascii_digit);
    first.into_iter().chain(digit).collect()
}

/// The beginning of a long text, with an ellipsis where something was left out.
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => text[..end].to_string() + "…",
        None => text.to_string(),
    }
}

/// With a capital at the front, as a sentence of its own.
pub fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_ascii_uppercase().to_string() + letters.as_str()
    })
}

/// The same for what may begin with a name or a key of the scenario, which stays as it is written.
pub fn sentence_of(setup: &Setup, words: &str) -> String {
    let end = words.find(|letter: char| !letter.is_ascii_alphabetic());
    let (first, rest) = words.split_at(end.unwrap_or(words.len()));
    let is_a_word = rest.is_empty() || rest.starts_with([' ', ',', '\'']);
    let clients = setup.clients.iter().map(|client| &client.name);
    let servers = setup.servers.iter().map(|server| &server.name);
    let is_a_name = clients.chain(servers).any(|name| name == first);
    match is_a_word && !is_a_name {
        true => sentence(words),
        false => words.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(seconds(0), "0.000");
        assert_eq!(seconds(10_001), "10.001");
        assert_eq!(seconds(20), "0.020");
        assert_eq!(milliseconds(7), "7 ms");
        assert_eq!(milliseconds(10_000), "10\u{202f}000 ms");
        assert_eq!(milliseconds(1_234_567), "1\u{202f}234\u{202f}567 ms");
        assert_eq!(count(1, "row", "rows"), "1 row");
        assert_eq!(shortened("größer", 3), "grö…");
        assert_eq!(sentence("every lock"), "Every lock");
        let badges = ["A", "worker-1", "worker-2", "7", "é2", ""].map(initial);
        assert_eq!(badges, ["A", "w1", "w2", "7", "é2", ""]);
    }
}
