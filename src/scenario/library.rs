//! The library: the stories and challenges that are built in, and the protocols that the stories bring along.
//!
//! Every file of `scenarios/stories` is a story and every one of `scenarios/challenges` a challenge; its name is its place in the
//! order.

use std::sync::OnceLock;

/// The files, by path and text, in the order of their names.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/stories.rs"));

/// The challenges, in the same way.
const CHALLENGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/challenges.rs"));

/// A scenario in the library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Story {
    /// The file's name without its ending: `07a-split-acquire`.
    pub name: &'static str,
    /// The first comment line.
    pub title: String,
    /// The comment lines that follow it, as one paragraph: what to look at.
    pub description: String,
    /// The whole text.
    pub text: &'static str,
}

/// A protocol that a story brings along, with everything that it needs to run elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryProtocol {
    /// Its name, unique in the library.
    pub name: &'static str,
    /// The first story that has it.
    pub story: &'static str,
    /// The protocol's block of the text.
    pub block: &'static str,
    /// The scripts that it runs, each with its block.
    pub scripts: Vec<Block>,
    /// The tables that its statements name, each with its block.
    pub tables: Vec<Block>,
    /// The lines that declare the servers which its requests name.
    pub servers: Vec<&'static str>,
    /// The Redis commands that its keys need before the schedule.
    pub store: Vec<&'static str>,
    /// The `watch` lines that give its keys and columns their roles.
    pub watches: Vec<&'static str>,
}

/// A named block of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The name: the word behind the block's keyword.
    pub name: &'static str,
    /// The block's lines, without blank lines at its end, with a line break at its end.
    pub text: &'static str,
}

/// The stories, in order.
pub fn stories() -> &'static [Story] {
    static STORIES: OnceLock<Vec<Story>> = OnceLock::new();
    STORIES.get_or_init(|| all(FILES))
}

/// The challenges, in order: each has a search that says so, and what that finds.
pub fn challenges() -> &'static [Story] {
    static CHALLENGES_READ: OnceLock<Vec<Story>> = OnceLock::new();
    CHALLENGES_READ.get_or_init(|| all(CHALLENGES))
}

fn all(files: &[(&'static str, &'static str)]) -> Vec<Story> {
    files.iter().map(|(path, text)| story(path, text)).collect()
}

/// The story of this name.
pub fn story_named(name: &str) -> Option<&'static Story> {
    stories().iter().find(|story| story.name == name)
}

/// The protocols of all stories, each once, in the order in which the stories bring them.
pub fn protocols() -> &'static [LibraryProtocol] {
    static PROTOCOLS: OnceLock<Vec<LibraryProtocol>> = OnceLock::new();
    PROTOCOLS.get_or_init(|| {
        let mut found: Vec<LibraryProtocol> = Vec::new();
        for story in stories() {
            let blocks = blocks_of(story.text);
            for protocol in protocols_in(story, &blocks) {
                if found.iter().all(|earlier| earlier.name != protocol.name) {
                    found.push(protocol);
                }
            }
        }
        found
    })
}

/// The protocol of this name.
pub fn protocol_named(name: &str) -> Option<&'static LibraryProtocol> {
    protocols().iter().find(|protocol| protocol.name == name)
}

/// The parameters with which the library's story runs a protocol, as they stand behind its name: ` order=order-1`.
pub fn parameters_of(protocol: &str) -> Option<String> {
    let protocol = protocol_named(protocol)?;
    let story = story_named(protocol.story)?;
    let runs_it = |line: &&str| {
        line.starts_with("client ") && line.split([' ', ',']).any(|word| word == protocol.name)
    };
    let line = story.text.lines().find(runs_it)?;
    let words = line.split_whitespace().filter(|word| word.contains('='));
    Some(words.map(|word| format!(" {word}")).collect())
}

fn story(path: &'static str, text: &'static str) -> Story {
    let file = path.rsplit('/').next().unwrap_or(path);
    let mut comments = text
        .lines()
        .map_while(|line| line.strip_prefix('#'))
        .map(str::trim);
    Story {
        name: file.strip_suffix(".latchkey").unwrap_or(file),
        title: comments.next().unwrap_or_default().to_string(),
        description: comments.collect::<Vec<_>>().join(" "),
        text,
    }
}

/// A block and its keyword.
struct Found {
    keyword: &'static str,
    block: Block,
}

/// The blocks of a text: each begins with a line that is not indented, and goes on to the next such line.
fn blocks_of(text: &'static str) -> Vec<Found> {
    let mut begins = Vec::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with(|character: char| !character.is_whitespace()) {
            begins.push(offset);
        }
        offset += line.len();
    }
    begins.push(text.len());
    begins
        .windows(2)
        .filter_map(|ends| text.get(*ends.first()?..*ends.last()?))
        .map(|block| {
            let kept = block.trim_end().len();
            let text = block.get(..kept + 1).unwrap_or(block);
            let mut words = text.split_whitespace();
            Found {
                keyword: words.next().unwrap_or_default(),
                block: Block {
                    name: words.next().unwrap_or_default(),
                    text,
                },
            }
        })
        .collect()
}

fn protocols_in(story: &'static Story, blocks: &[Found]) -> Vec<LibraryProtocol> {
    let of = |keyword: &'static str| {
        blocks
            .iter()
            .filter(move |found| found.keyword == keyword)
            .map(|found| found.block)
    };
    of("protocol")
        .map(|protocol| LibraryProtocol {
            name: protocol.name,
            story: story.name,
            block: protocol.text,
            scripts: of("script")
                .filter(|script| names(protocol.text, script.name))
                .collect(),
            tables: of("table")
                .filter(|table| names(protocol.text, table.name))
                .collect(),
            servers: of_keyword(blocks, "server")
                .chain(of_keyword(blocks, "replica"))
                .filter(|line| {
                    let names = line.split([' ', ',']).skip(1);
                    names
                        .filter(|name| !name.is_empty())
                        .any(|name| protocol.text.contains(&(" ".to_string() + name + "> ")))
                })
                .collect(),
            store: of("store")
                .flat_map(|store| store.text.lines().skip(1))
                .map(str::trim)
                .filter(|line| {
                    line.split_whitespace()
                        .nth(1)
                        .is_some_and(|key| names(protocol.text, key))
                })
                .collect(),
            watches: of("watch").map(|watch| watch.text.trim_end()).collect(),
        })
        .collect()
}

/// The lines of the blocks that begin with this keyword.
fn of_keyword<'b>(
    blocks: &'b [Found],
    keyword: &'static str,
) -> impl Iterator<Item = &'static str> + use<'b> {
    blocks
        .iter()
        .filter(move |found| found.keyword == keyword)
        .map(|found| found.block.text.trim_end())
}

/// Whether the text has this word.
fn names(text: &str, word: &str) -> bool {
    text.split(|character: char| {
        character.is_whitespace() || matches!(character, '(' | ')' | ',' | ';')
    })
    .any(|part| part == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::Property;
    use crate::scenario::Expectation;
    use crate::sim::action::Action;

    #[test]
    fn every_story_has_a_title_and_says_what_to_look_at() {
        assert!(stories().len() >= 35);
        for story in stories() {
            assert!(story.title.len() > 10, "{}", story.name);
            assert!(story.description.len() > 100, "{}", story.name);
            assert!(
                story.text.ends_with('\n') && !story.text.ends_with("\n\n"),
                "{}",
                story.name
            );
            let title_is_its_own = stories()
                .iter()
                .filter(|other| other.title == story.title)
                .count();
            assert_eq!(title_is_its_own, 1, "{}", story.title);
        }
        for number in 1..=16 {
            let begins = format!("{number:02}");
            assert!(
                stories()
                    .iter()
                    .any(|story| story.name.starts_with(&begins)),
                "{begins}"
            );
        }
    }

    /// A story says of everything how it ends: every property, write, charge, row, key with a role, and client.
    #[test]
    fn every_story_pins_all_that_it_shows() {
        for story in stories() {
            let name = story.name;
            let reading = crate::scenario::read(story.text)
                .unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
            let has = |wanted: &dyn Fn(&Expectation) -> bool| {
                reading
                    .expectations
                    .iter()
                    .any(|line| wanted(&line.expectation))
            };
            for property in Property::ALL {
                let is_pinned = has(&|expectation| {
                    matches!(expectation, Expectation::Holds(other) | Expectation::Broken(other)
                        | Expectation::NotTested(other) if *other == property)
                });
                assert!(is_pinned, "{name}: {}", property.sentence());
            }
            for client in &reading.setup.clients {
                let is_pinned = has(
                    &|expectation| matches!(expectation, Expectation::Client { name, .. } if *name == client.name),
                );
                assert!(is_pinned, "{name}: client {}", client.name);
            }
            for watch in &reading.setup.watches {
                for watched in [&watch.lock, &watch.counter].into_iter().flatten() {
                    let is_pinned = has(
                        &|expectation| matches!(expectation, Expectation::Key { key, .. } if key == watched),
                    );
                    assert!(is_pinned, "{name}: {}", String::from_utf8_lossy(watched));
                }
                if watch.stock.is_some() {
                    assert!(
                        has(&|expectation| matches!(expectation, Expectation::Row { .. })),
                        "{name}: no row"
                    );
                    assert!(
                        has(&|expectation| matches!(expectation, Expectation::Writes(_))),
                        "{name}: no writes"
                    );
                }
            }
            if story.text.contains(": CHARGE ") {
                assert!(
                    has(&|expectation| matches!(expectation, Expectation::Charges(_))),
                    "{name}: no charges"
                );
            }
            // What the program would write down is what stands there.
            let pinned = crate::scenario::edit::pin(story.text);
            assert_eq!(pinned.as_deref(), Ok(story.text), "{name}");
            // Every request's reply is there.
            for line in &reading.schedule {
                let asks = matches!(
                    line.action,
                    Action::Step { .. }
                        | Action::Command { .. }
                        | Action::LoseReply { .. }
                        | Action::Deliver { .. }
                );
                assert_eq!(asks, line.expected.is_some(), "{name}: line {}", line.line);
            }
        }
    }

    #[test]
    fn a_name_stands_for_one_protocol_and_one_script() {
        for story in stories() {
            let blocks = blocks_of(story.text);
            for protocol in protocols_in(story, &blocks) {
                let known = protocol_named(protocol.name).unwrap();
                assert_eq!(
                    known.block, protocol.block,
                    "{} and {}",
                    known.story, protocol.story
                );
            }
            for script in blocks.iter().filter(|found| found.keyword == "script") {
                let all = stories().iter().flat_map(|story| blocks_of(story.text));
                for other in all.filter(|found| found.keyword == "script") {
                    if other.block.name == script.block.name {
                        assert_eq!(other.block.text, script.block.text, "{}", story.name);
                    }
                }
            }
        }
    }

    #[test]
    fn a_protocol_brings_what_it_needs() {
        let check = |name: &str, scripts: &[&str], tables: &[&str], store: &[&str]| {
            let protocol = protocol_named(name).unwrap();
            let names =
                |blocks: &[Block]| blocks.iter().map(|block| block.name).collect::<Vec<_>>();
            assert_eq!(names(&protocol.scripts), scripts, "{name}");
            assert_eq!(names(&protocol.tables), tables, "{name}");
            assert_eq!(protocol.store, store, "{name}");
            assert!(protocol.block.starts_with("protocol "), "{name}");
            assert!(!protocol.watches.is_empty(), "{name}");
        };
        check("split-acquire", &["unlock"], &["inventory"], &[]);
        check(
            "atomic-acquire",
            &["acquire", "unlock"],
            &["inventory"],
            &[],
        );
        check("charge-then-write", &[], &["inventory"], &[]);
        check("compare-and-delete", &["unlock"], &[], &[]);
        check(
            "reserved-acquire",
            &["reserved-acquire", "unlock"],
            &["inventory"],
            &["SET fence:sku-1 5", "SET ceiling:sku-1 100"],
        );
        assert!(protocol_named("no such protocol").is_none());
    }
}
