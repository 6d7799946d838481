//! The link: a text and where its cursor stands, in the fragment of an address; nothing leaves the browser.
//!
//! ```text
//! #v1.  base64url( checksum  deflate( cursor text ) )
//!  │                │           │      │
//!  │                │           │      a number in groups of seven bits, the lowest first
//!  │                │           raw, begun as if the dictionary had just been sent
//!  │                CRC-32 of what is deflated, the lowest byte first
//!  the version, which names the dictionary
//! ```
//!
//! A scenario is mostly words that every scenario uses. So both sides begin with a dictionary of typical text in their window
//! (RFC 1951 lets a match reach back 32 kB), and a link takes half the characters. A dictionary is frozen for ever: a link
//! that once worked opens for ever, and another dictionary needs another version.

use std::fmt;

use miniz_oxide::deflate::core::{
    CompressorOxide, TDEFLFlush, compress_to_output, create_comp_flags_from_zip_params,
};
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

use crate::scenario::limits;

/// What version 1 begins with. Not one byte of it may ever change.
const DICTIONARY_V1: &[u8] = include_bytes!("link/dictionary-v1.txt");

/// What a fragment of version 1 begins with, behind the `#`.
const PREFIX_V1: &str = "v1.";

/// How hard the compressor tries, from 0 to 10.
const LEVEL: i32 = 9;

/// No zlib header and checksum: negative window bits, as in zlib's deflateInit2.
const RAW: i32 = -15;

/// Bytes that the cursor takes at most.
const CURSOR: usize = 5;

/// What a link holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The scenario's text.
    pub text: String,
    /// How many actions of its schedule have been played.
    pub cursor: usize,
}

/// Why a link cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkError {
    /// It does not begin as our links do.
    NotALink,
    /// It was made by a newer Latchkey: its version.
    Newer(String),
    /// Something in it was lost or changed on the way: what was found.
    Damaged(&'static str),
    /// It holds more than a text may.
    TooLarge,
}

impl fmt::Display for LinkError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkError::NotALink => write!(
                formatter,
                "this is no link of Latchkey: expected #v1. and a scenario behind it"
            ),
            LinkError::Newer(version) => write!(
                formatter,
                "this link was made by a newer Latchkey (v{version}): reload the page, or update the program"
            ),
            LinkError::Damaged(what) => write!(
                formatter,
                "this link was damaged on its way, probably cut off or wrapped: {what}"
            ),
            LinkError::TooLarge => write!(
                formatter,
                "this link holds more than {} bytes, which no scenario does",
                limits::TEXT
            ),
        }
    }
}

impl std::error::Error for LinkError {}

/// The fragment for a text and a cursor, `#` included.
pub fn encode(text: &str, cursor: usize) -> String {
    let mut content = Vec::with_capacity(text.len() + CURSOR);
    push_number(&mut content, u32::try_from(cursor).unwrap_or(u32::MAX));
    content.extend_from_slice(text.as_bytes());
    let mut bytes = checksum(&content).to_le_bytes().to_vec();
    bytes.extend(deflate(&content, DICTIONARY_V1));
    format!("#{PREFIX_V1}{}", to_base64(&bytes))
}

/// What a fragment holds; also of a whole address, of which the part behind `#` counts.
///
/// # Errors
/// Why it cannot be read; what it holds is never half read.
pub fn decode(link: &str) -> Result<Opened, LinkError> {
    let link = link.trim();
    let fragment = link.split_once('#').map_or(link, |(_, fragment)| fragment);
    let Some(encoded) = fragment.strip_prefix(PREFIX_V1) else {
        return Err(match newer_version(fragment) {
            Some(version) => LinkError::Newer(version),
            None => LinkError::NotALink,
        });
    };
    // A text does not grow when it is deflated, but for a few bytes; base64 makes four characters of three bytes.
    if encoded.len() / 4 * 3 > limits::TEXT + limits::TEXT / 1024 + 64 {
        return Err(LinkError::TooLarge);
    }
    let bytes = from_base64(encoded)?;
    let Some((expected, deflated)) = bytes.split_first_chunk() else {
        return Err(LinkError::Damaged("it is too short"));
    };
    let content = inflate(deflated, DICTIONARY_V1)?;
    if checksum(&content) != u32::from_le_bytes(*expected) {
        return Err(LinkError::Damaged("its checksum does not fit"));
    }
    let (cursor, text) = take_number(&content).ok_or(LinkError::Damaged("it has no cursor"))?;
    let text = std::str::from_utf8(text).map_err(|_| LinkError::Damaged("it holds no text"))?;
    if text.len() > limits::TEXT {
        return Err(LinkError::TooLarge);
    }
    Ok(Opened {
        text: text.to_owned(),
        cursor: cursor as usize,
    })
}

/// The version of a fragment such as `v12.abc`.
fn newer_version(fragment: &str) -> Option<String> {
    let (version, _) = fragment.strip_prefix('v')?.split_once('.')?;
    let is_number =
        (1..=4).contains(&version.len()) && version.bytes().all(|byte| byte.is_ascii_digit());
    is_number
        .then(|| version.to_owned())
        .filter(|version| version != "0")
}

fn deflate(content: &[u8], dictionary: &[u8]) -> Vec<u8> {
    let flags = create_comp_flags_from_zip_params(LEVEL, RAW, 0);
    let mut compressor = CompressorOxide::new(flags);
    // The dictionary goes into the window and ends on a byte; what it is deflated to is not sent.
    compress_to_output(&mut compressor, dictionary, TDEFLFlush::Sync, |_| true);
    let mut deflated = Vec::new();
    compress_to_output(&mut compressor, content, TDEFLFlush::Finish, |part| {
        deflated.extend_from_slice(part);
        true
    });
    deflated
}

/// Inflates behind the dictionary, with a limit that holds while inflating.
fn inflate(deflated: &[u8], dictionary: &[u8]) -> Result<Vec<u8>, LinkError> {
    let most = dictionary.len() + limits::TEXT + CURSOR;
    let mut window = dictionary.to_vec();
    window.resize((dictionary.len() + 16 * 1024).min(most), 0);
    let mut state = DecompressorOxide::new();
    let (mut read, mut end) = (0, dictionary.len());
    loop {
        let rest = deflated.get(read..).unwrap_or_default();
        let flags = TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        let (status, taken, written) = decompress(&mut state, rest, &mut window, end, flags);
        read += taken;
        end += written;
        match status {
            TINFLStatus::Done if read == deflated.len() => {
                window.truncate(end);
                return Ok(window.split_off(dictionary.len()));
            }
            TINFLStatus::Done => return Err(LinkError::Damaged("something stands behind its end")),
            TINFLStatus::HasMoreOutput if window.len() < most => {
                window.resize((window.len() * 4).min(most), 0);
            }
            TINFLStatus::HasMoreOutput => return Err(LinkError::TooLarge),
            TINFLStatus::FailedCannotMakeProgress => {
                return Err(LinkError::Damaged("its end is missing"));
            }
            _ => return Err(LinkError::Damaged("it cannot be inflated")),
        }
    }
}

/// Puts a number in groups of seven bits, the lowest first; the highest bit says that more follow.
fn push_number(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads such a number, and gives what stands behind it.
fn take_number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let mut number = 0_u64;
    for (place, byte) in bytes.iter().take(CURSOR).enumerate() {
        number |= u64::from(byte & 0x7F) << (7 * place);
        if byte & 0x80 == 0 {
            let rest = bytes.get(place + 1..)?;
            return Some((u32::try_from(number).ok()?, rest));
        }
    }
    None
}

/// CRC-32 as in zlib and PNG (RFC 1952, section 8), bit by bit: texts are short.
fn checksum(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = (sum >> 1) ^ if sum & 1 == 1 { 0xEDB8_8320 } else { 0 };
        }
    }
    !sum
}

/// The alphabet of base64url (RFC 4648, section 5).
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Base64url without padding.
fn to_base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for part in bytes.chunks(3) {
        let byte = |place: usize| u32::from(part.get(place).copied().unwrap_or(0));
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..=part.len() {
            let digit = group >> (18 - 6 * place) & 0x3F;
            text.push(char::from(ALPHABET[digit as usize]));
        }
    }
    text
}

fn from_base64(text: &str) -> Result<Vec<u8>, LinkError> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for part in text.as_bytes().chunks(4) {
        let mut group = 0_u32;
        for character in part {
            let digit = ALPHABET.iter().position(|other| other == character);
            let digit = digit.ok_or(LinkError::Damaged(
                "it holds a character that links do not have",
            ))?;
            group = group << 6 | digit as u32;
        }
        group <<= 6 * (4 - part.len());
        let whole = match part.len() {
            1 => return Err(LinkError::Damaged("its last character is missing")),
            length => length - 1,
        };
        let [_, first, second, third] = group.to_be_bytes();
        bytes.extend_from_slice(&[first, second, third][..whole]);
        // The same bytes are always written in the same way.
        if [first, second, third][whole..]
            .iter()
            .any(|bits| *bits != 0)
        {
            return Err(LinkError::Damaged("its last character is another one"));
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(text: &str, cursor: usize) -> String {
        let link = encode(text, cursor);
        assert_eq!(
            decode(&link),
            Ok(Opened {
                text: text.to_owned(),
                cursor
            })
        );
        link
    }

    #[test]
    fn links_give_back_what_was_put_in() {
        for text in [
            "",
            "a",
            "ab",
            "abc",
            "schedule\n  A acquire\n",
            "é ö 😀\r\n\0",
        ] {
            for cursor in [0, 1, 127, 128, 10_000, u32::MAX as usize] {
                round_trip(text, cursor);
            }
        }
        round_trip(&"abcdefghij".repeat(limits::TEXT / 10), 3);
        // Nothing in it repeats: the window outgrows the dictionary and the text does not shrink.
        let mut seed = 1_u32;
        let noise = (0..200_000).map(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from(b' ' + (seed >> 24) as u8 % 95)
        });
        round_trip(&noise.collect::<String>(), 0);
    }

    #[test]
    fn the_dictionary_is_frozen() {
        assert_eq!(
            checksum(b"123456789"),
            0xCBF4_3926,
            "the CRC-32 is another one"
        );
        assert_eq!(
            checksum(DICTIONARY_V1),
            FROZEN,
            "links of version 1 would no longer open"
        );
        assert!(
            DICTIONARY_V1.len() < 32_768,
            "matches reach back no further"
        );
    }

    /// The checksum of the dictionary of version 1.
    const FROZEN: u32 = 2_587_672_070;

    #[test]
    fn the_dictionary_is_used() {
        let tail = std::str::from_utf8(DICTIONARY_V1)
            .unwrap()
            .lines()
            .rev()
            .take(60);
        let text: Vec<&str> = tail.collect();
        let text = text.join("\n");
        let link = encode(&text, 0);
        assert!(
            link.len() * 5 < text.len(),
            "{} characters for {} bytes",
            link.len(),
            text.len()
        );
    }

    #[test]
    fn what_is_no_link_says_why() {
        let check = |link: &str, expected: &str| {
            let error = decode(link).unwrap_err().to_string();
            assert!(error.contains(expected), "{link}: {error}");
        };
        let link = encode("schedule\n  A acquire              => OK\n", 1);
        check("", "no link of Latchkey");
        check("#", "no link of Latchkey");
        check("https://example.org/page", "no link of Latchkey");
        check("#vx.abc", "no link of Latchkey");
        check("#v2.abc", "newer Latchkey (v2)");
        check("#v1.", "too short");
        check("#v1.A", "last character is missing");
        check("#v1.AAAA", "too short");
        check("#v1.AAAAAA", "end is missing");
        check(&format!("{link}="), "links do not have");
        check(&format!("{link}AAAA"), "end");
        check(&link[..link.len() - 4], "end is missing");
        check(
            &format!("#v1.{}", "A".repeat(2 << 20)),
            "more than 1048576 bytes",
        );
        let mut bytes = checksum(b"").to_le_bytes().to_vec();
        bytes.extend(deflate(&vec![b'a'; limits::TEXT * 20], DICTIONARY_V1));
        check(
            &format!("#v1.{}", to_base64(&bytes)),
            "more than 1048576 bytes",
        );
        for place in "#v1.".len()..link.len() {
            for replacement in ["A", "b", "_", "."] {
                let mut other = link.clone();
                other.replace_range(place..=place, replacement);
                if other != link {
                    assert!(decode(&other).is_err(), "{other}");
                }
            }
        }
    }

    #[test]
    fn a_whole_address_will_do() {
        let link = encode("client A\n", 0);
        for around in [
            link.clone(),
            link[1..].to_owned(),
            format!(" https://example.org/a/{link}\n"),
        ] {
            assert_eq!(
                decode(&around).map(|opened| opened.text),
                Ok("client A\n".to_owned())
            );
        }
    }

    #[cfg(not(target_arch = "wasm32"))]
    mod generated {
        use super::*;
        use proptest::prelude::*;

        /// Texts with words of the dictionary in them, and without.
        fn text() -> impl Strategy<Value = String> {
            let piece = prop_oneof![
                (0..DICTIONARY_V1.len(), 0..80_usize).prop_map(|(from, length)| {
                    let to = (from + length).min(DICTIONARY_V1.len());
                    String::from_utf8_lossy(&DICTIONARY_V1[from..to]).into_owned()
                }),
                "\\PC{0,20}",
                any::<String>(),
            ];
            proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
        }

        proptest! {
            #![proptest_config(ProptestConfig::with_cases(500))]

            #[test]
            fn any_text_goes_there_and_back(text in text(), cursor in 0..20_000_usize) {
                let opened = decode(&encode(&text, cursor));
                prop_assert_eq!(opened, Ok(Opened { text, cursor }));
            }

            #[test]
            fn a_changed_link_gives_the_text_or_an_error(
                text in text(),
                at in 0.0..1.0_f64,
                cut in 0..4_usize,
                piece in "[A-Za-z0-9_%. -]{0,4}",
            ) {
                let link = encode(&text, 7);
                let at = (at * link.len() as f64) as usize;
                let mut changed = link.clone();
                changed.replace_range(at..(at + cut).min(link.len()), &piece);
                match decode(&changed) {
                    // A change that hits the checksum by chance is one in four thousand million.
                    Ok(opened) => prop_assert_eq!(opened.text, text),
                    Err(error) => prop_assert!(!error.to_string().is_empty()),
                }
            }

            #[test]
            fn any_bytes_are_read_without_a_panic(bytes in any::<Vec<u8>>(), text in any::<String>()) {
                let _ = decode(&format!("#v1.{}", to_base64(&bytes)));
                let _ = decode(&text);
                prop_assert_eq!(from_base64(&to_base64(&bytes)), Ok(bytes));
            }
        }
    }
}
