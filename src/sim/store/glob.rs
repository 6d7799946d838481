//! Patterns as KEYS, SCAN MATCH and PSUBSCRIBE take them (`stringmatchlen`): `*`, `?`, `[abc]`,
//! `[^a-z]`, and `\` before a character that is meant as it is.

/// Whether the whole text fits the pattern.
///
/// Takes at most as many steps as pattern and text have bytes together, multiplied: a star that
/// follows makes up for every choice of the one before it.
pub(super) fn matches(pattern: &[u8], text: &[u8]) -> bool {
    if text.is_empty() {
        // Redis compares nothing with an empty text, not even a star.
        return pattern.is_empty();
    }
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p + 1, t));
            p += 1;
            continue;
        }
        if t == text.len() && p >= pattern.len() {
            return true;
        }
        match text
            .get(t)
            .and_then(|byte| one(&pattern[p.min(pattern.len())..], *byte))
        {
            Some(used) => {
                p += used;
                t += 1;
            }
            None => {
                let Some((after, from)) = star.filter(|(_, from)| *from < text.len()) else {
                    return false;
                };
                star = Some((after, from + 1));
                p = after;
                t = from + 1;
            }
        }
    }
}

/// How many bytes of the pattern stand for this one byte of the text, if they fit it.
fn one(pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern {
        [] => None,
        [b'?', ..] => Some(1),
        [b'[', ..] => class(pattern, byte),
        [b'\\', escaped, ..] => (*escaped == byte).then_some(2),
        [literal, ..] => (*literal == byte).then_some(1),
    }
}

/// A class; one that is never closed ends with the pattern.
fn class(pattern: &[u8], byte: u8) -> Option<usize> {
    let mut at = 1;
    let negated = pattern.get(at) == Some(&b'^');
    at += usize::from(negated);
    let mut found = false;
    loop {
        match &pattern[at.min(pattern.len())..] {
            [] => break,
            [b'\\', escaped, ..] => {
                found |= *escaped == byte;
                at += 2;
            }
            [b']', ..] => {
                at += 1;
                break;
            }
            [from, b'-', to, ..] => {
                found |= (*from.min(to)..=*from.max(to)).contains(&byte);
                at += 3;
            }
            [literal, ..] => {
                found |= *literal == byte;
                at += 1;
            }
        }
    }
    (found != negated).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_fit_whole_texts() {
        for (pattern, text, fits) in [
            ("*", "anything", true),
            ("*", "", false),
            ("", "", true),
            ("h?llo", "hello", true),
            ("h?llo", "hllo", false),
            ("h*llo", "heeeello", true),
            ("h[ae]llo", "hallo", true),
            ("h[^e]llo", "hello", false),
            ("h[b-a]llo", "hallo", true),
            ("h[a-", "ha", true),
            ("[", "[", false),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("\\", "\\", true),
            ("a*b*c", "axxbxxbc", true),
            ("a*b*c", "axxbxxb", false),
            ("lock:*", "lock:", true),
            ("a**", "a", true),
            ("[\\]]", "]", true),
        ] {
            assert_eq!(
                matches(pattern.as_bytes(), text.as_bytes()),
                fits,
                "{pattern} {text}"
            );
        }
        let stars = "a*".repeat(500);
        assert!(!matches(stars.as_bytes(), "a".repeat(499).as_bytes()));
    }
}
