//! How strings compare: utf8mb4_general_ci, MariaDB's default. Case and the accents of Latin-1 do
//! not count, and trailing spaces do not either (PAD SPACE). Greek and Cyrillic letters fold their
//! case; other letters are equal only to themselves.

use std::cmp::Ordering;

/// The base letters of U+00C0 to U+00DF; U+00E0 to U+00FF fold to the same, but for U+00FF.
const LATIN_1: [u16; 32] = [
    b'A' as u16,
    b'A' as u16,
    b'A' as u16,
    b'A' as u16,
    b'A' as u16,
    b'A' as u16,
    0xC6,
    b'C' as u16,
    b'E' as u16,
    b'E' as u16,
    b'E' as u16,
    b'E' as u16,
    b'I' as u16,
    b'I' as u16,
    b'I' as u16,
    b'I' as u16,
    0xD0,
    b'N' as u16,
    b'O' as u16,
    b'O' as u16,
    b'O' as u16,
    b'O' as u16,
    b'O' as u16,
    0xD7,
    0xD8,
    b'U' as u16,
    b'U' as u16,
    b'U' as u16,
    b'U' as u16,
    b'Y' as u16,
    0xDE,
    b'S' as u16,
];

/// What a character weighs in a comparison.
pub(super) fn weight(character: char) -> u16 {
    let code = u32::from(character);
    match code {
        0x61..=0x7A => code as u16 - 32,
        0..=0xBF => code as u16,
        0xC0..=0xDF => LATIN_1[code as usize - 0xC0],
        0xF7 => 0xF7,
        0xFF => u16::from(b'Y'),
        0xE0..=0xFE => LATIN_1[code as usize - 0xE0],
        0x3B1..=0x3C9 | 0x430..=0x44F => code as u16 - 32,
        0x450..=0x45F => code as u16 - 80,
        0x1_0000.. => 0xFFFD,
        _ => code as u16,
    }
}

fn weights(text: &str) -> impl Iterator<Item = u16> {
    text.chars().map(weight)
}

/// Compares two strings; the shorter counts as filled up with spaces.
pub(super) fn compare(left: &str, right: &str) -> Ordering {
    let (mut left, mut right) = (weights(left), weights(right));
    loop {
        let pair = (left.next(), right.next());
        let order = match pair {
            (None, None) => return Ordering::Equal,
            (a, b) => a.unwrap_or(0x20).cmp(&b.unwrap_or(0x20)),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// Appends bytes that sort as the string compares.
pub(super) fn encode(text: &str, out: &mut Vec<u8>) {
    for weight in weights(text.trim_end_matches(' ')) {
        out.extend(weight.max(1).to_be_bytes());
    }
    // The end counts as a space, so that a control character sorts before it.
    out.extend([0, 0x20, 0, 0]);
}

/// LIKE: `%` any characters, `_` one character. The work is bounded by the product of the lengths.
pub(super) fn like(text: &str, pattern: &str, escape: char) -> bool {
    #[derive(Clone, Copy, PartialEq)]
    enum Piece {
        Any,
        One,
        Exactly(u16),
    }
    let mut pieces = Vec::new();
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        pieces.push(match character {
            _ if character == escape => Piece::Exactly(weight(characters.next().unwrap_or(escape))),
            '%' => Piece::Any,
            '_' => Piece::One,
            _ => Piece::Exactly(weight(character)),
        });
    }
    let text: Vec<u16> = weights(text).collect();
    let (mut at, mut piece) = (0, 0);
    let mut retry = None;
    while at < text.len() {
        match pieces.get(piece) {
            Some(Piece::Any) => {
                retry = Some((piece, at));
                piece += 1;
            }
            Some(Piece::One) => (at, piece) = (at + 1, piece + 1),
            Some(Piece::Exactly(weight)) if *weight == text[at] => {
                (at, piece) = (at + 1, piece + 1)
            }
            _ => match retry {
                Some((any, from)) => {
                    retry = Some((any, from + 1));
                    (at, piece) = (from + 1, any + 1);
                }
                None => return false,
            },
        }
    }
    pieces[piece.min(pieces.len())..]
        .iter()
        .all(|piece| *piece == Piece::Any)
}
