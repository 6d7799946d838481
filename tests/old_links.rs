//! A link that once worked opens for ever.
//!
//! `tests/links/` holds links as they were made once: NAME.link has the link and the cursor, NAME.latchkey the text. Files are
//! added when links get a new version; none is ever changed or taken away.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

/// How many links there are; fewer is a mistake.
const LINKS: usize = 12;

#[test]
fn old_links_open() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/links");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "link") {
            continue;
        }
        let name = path.display();
        let content = fs::read_to_string(&path).unwrap();
        let (link, cursor) = content.trim_end().split_once('\n').unwrap();
        let opened = latchkey::link::decode(link).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(format!("cursor {}", opened.cursor), cursor, "{name}");
        let text = fs::read_to_string(path.with_extension("latchkey")).unwrap();
        assert_eq!(opened.text, text, "{name}");
        count += 1;
    }
    assert!(count >= LINKS, "only {count} links of {LINKS}");
}
