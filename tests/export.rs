//! What scenarios are exported to: golden files for every format, and every story in every format.
//!
//! `LATCHKEY_REWRITE_GOLDENS=1` writes the golden files anew.
#![cfg(not(target_arch = "wasm32"))]
// A golden file that cannot be read is a failed test.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::Path;

use latchkey::export::{Format, Options, export};
use latchkey::scenario::library::stories;
use latchkey::scenario::read;
use latchkey::timeline::Timeline;

/// The stories that have golden files: the protocol that breaks, a card gateway, a database's own lock, scripts that read TIME, a
/// client's clock, replies that are lost, requests that are late, several servers, a replica that takes over, and notices.
const GOLDEN: [&str; 11] = [
    "03-lock-before-charge",
    "07a-split-acquire",
    "16f-shared-charge-refunded",
    "18b-laravel-database-lock",
    "19b-redisson-fair",
    "30c-client-clock-drifts",
    "31b-whose-lock-is-it",
    "31d-late-write",
    "32d-stays-away-long-enough",
    "33a-failover-loses-the-lock",
    "35a-woken-by-a-notice",
];

fn exported(text: &str, format: Format, options: Options) -> Result<String, String> {
    let reading = read(text).map_err(|errors| format!("{errors:?}"))?;
    let actions = reading.schedule.iter().map(|line| line.action.clone());
    let timeline = Timeline::replay(reading.setup.clone(), actions);
    export(text, &reading, &timeline, format, options).map_err(|refusal| refusal.to_string())
}

#[test]
fn the_test_of_a_found_schedule_tells_what_that_breaks() {
    use latchkey::search::{Bounds, Goal, Outcome, Search};
    let story = stories()
        .iter()
        .find(|story| story.name == "07a-split-acquire")
        .unwrap();
    let bounds = Bounds {
        lapses: 1,
        ..Bounds::none()
    };
    let goal = Goal::Breaks(vec![latchkey::property::Property::NoStaleWrite]);
    let mut search = Search::new(story.text, 0, bounds, goal).unwrap();
    let Outcome::Found { text, .. } = search.finish() else {
        panic!("{:?}", search.outcome());
    };
    let test = exported(text, Format::Pytest, Options::default()).unwrap();
    for part in [
        "def test_broken_in_7_steps_1_fault_a_stale_write",
        "A search found this schedule for the clients of",
        "lapses: 1.",
    ] {
        assert!(test.contains(part), "{part} is not in\n{test}");
    }
    assert!(!test.contains("draws 1 and writes"), "{test}");
}

#[test]
fn a_scenario_without_keys_tables_and_protocols_has_no_blank_line_too_many() {
    let text = "# Nothing\n\nclient A\n\nschedule\n  A> PING\n";
    let test = exported(text, Format::Pytest, Options::default()).unwrap();
    assert!(!test.contains("\n\n\n\n"), "{test}");
    assert!(
        test.contains("RedisError\n\n\ndef connect_to_redis"),
        "{test}"
    );
}

fn check_golden(name: &str, text: &str, format: Format, options: Options) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/goldens/export")
        .join(format.name());
    let holds = if options.holds { ".holds" } else { "" };
    let path = folder.join(format!("{name}{holds}.golden"));
    let got = exported(text, format, options).unwrap();
    if std::env::var_os("LATCHKEY_REWRITE_GOLDENS").is_some() {
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(&path, got).unwrap();
        return;
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    let line = golden
        .lines()
        .zip(got.lines())
        .take_while(|(golden, got)| golden == got)
        .count();
    assert!(
        golden == got,
        "{} differs from line {} on:\n{}",
        path.display(),
        line + 1,
        got.lines()
            .skip(line)
            .take(12)
            .collect::<Vec<_>>()
            .join("\n")
    );
}

#[test]
fn exports_are_as_the_golden_files_say() {
    for name in GOLDEN {
        let story = stories().iter().find(|story| story.name == name).unwrap();
        for format in Format::ALL.into_iter().filter(|format| !format.is_model()) {
            check_golden(name, story.text, format, Options::default());
        }
    }
    let waits = include_str!("exported/waits.latchkey");
    for format in Format::ALL.into_iter().filter(|format| format.is_test()) {
        check_golden("waits", waits, format, Options::default());
    }
    let split = stories()
        .iter()
        .find(|story| story.name == "07a-split-acquire")
        .unwrap();
    for format in Format::ALL.into_iter().filter(|format| format.is_test()) {
        check_golden(split.name, split.text, format, Options { holds: true });
    }
}

#[test]
fn every_story_can_be_exported_to_every_format() {
    for story in stories() {
        // Models are of searches, and stories have none.
        for format in Format::ALL.into_iter().filter(|format| !format.is_model()) {
            for holds in [false, true] {
                let export = exported(story.text, format, Options { holds })
                    .unwrap_or_else(|why| panic!("{}: {}: {why}", format.name(), story.name));
                assert!(
                    export.ends_with('\n') && !export.contains(" \n"),
                    "{}: {}",
                    format.name(),
                    story.name
                );
                assert_eq!(
                    export,
                    exported(story.text, format, Options { holds }).unwrap()
                );
            }
        }
    }
}

#[test]
fn no_text_ends_a_remark_of_java_or_is_read_as_an_escape() {
    let text = "# It */ ends \\u002a early.\n# And \\\\u0022 goes */ on.\n\nprotocol p\n  read: GET \"\\\\u0022*/\"\n\nclient A: p\n\nschedule\n  A read\n";
    let java = exported(text, Format::Junit, Options::default()).unwrap();
    let (remark, code) = java.split_once("*/").unwrap();
    assert!(code.starts_with("\n\nimport "), "{code}");
    assert!(code.contains("redis.get(\"\\\\u0022*/\")"), "{code}");
    assert!(remark.contains("It * / ends \\\\u002a early."), "{remark}");
    assert!(remark.contains("And \\\\u0022 goes * / on."), "{remark}");
}

/// Reads a text as XML with elements, attributes and texts; gives what is wrong with it.
fn wrong_with_xml(xml: &str) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = xml;
    while let Some((text, behind)) = rest.split_once('<') {
        let wrong = |what: &str| Some(format!("{what}: {text}<{:.80}", behind));
        let is_blank = text.trim().is_empty();
        if open.is_empty() && !is_blank || text.contains('>') || has_bare_ampersand(text) {
            return wrong("text");
        }
        let Some((tag, behind)) = behind.split_once('>') else {
            return wrong("no end");
        };
        rest = behind;
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return wrong("closes another element");
            }
            continue;
        }
        let tag_only = tag.trim_end_matches('/');
        let (name, attributes) = tag_only.split_once(' ').unwrap_or((tag_only, ""));
        let mut names = BTreeSet::new();
        let mut pieces = attributes.split('"');
        while let Some(attribute) = pieces.next().filter(|attribute| !attribute.is_empty()) {
            let value = pieces.next();
            let is_fine = attribute.ends_with('=')
                && value.is_some_and(|value| !value.contains('<') && !has_bare_ampersand(value))
                && names.insert(attribute.trim());
            if !is_fine {
                return wrong("attribute");
            }
        }
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    (!open.is_empty() || !rest.trim().is_empty()).then(|| format!("left open: {open:?} {rest}"))
}

fn has_bare_ampersand(text: &str) -> bool {
    let known = ["&amp;", "&lt;", "&gt;"];
    let mut ampersands = text.match_indices('&');
    ampersands.any(|(place, _)| !known.iter().any(|name| text[place..].starts_with(name)))
}

#[test]
fn the_picture_of_every_story_is_well_formed() {
    for story in stories() {
        let svg = exported(story.text, Format::Svg, Options::default()).unwrap();
        assert_eq!(wrong_with_xml(&svg), None, "{}", story.name);
        assert!(!svg.contains("var("), "{}", story.name);
        assert!(!svg.contains("NaN"), "{}", story.name);
    }
}

#[test]
fn names_in_a_picture_are_text_and_nothing_else() {
    let hostile = "<script>alert(1)</script>&\"'";
    let text = format!(
        "# {hostile}\n\nprotocol p\n  read: GET k\n\nclient A: p\n\nschedule\n  A read\n  operator> GET \"{}\"\n  operator> SET \"<b>&\" \"]]>&amp;</text>\\x01\"\n  operator> GET \"<b>&\"\n",
        hostile.replace('"', "")
    );
    let svg = exported(&text, Format::Svg, Options::default()).unwrap();
    assert_eq!(wrong_with_xml(&svg), None, "{svg}");
    assert!(!svg.contains("<script"), "{svg}");
    let title = "<title>&lt;script&gt;alert(1)&lt;/script&gt;&amp;\"'</title>";
    assert!(svg.contains(title), "{svg}");
    assert!(!svg.contains('\u{1}'), "{svg}");
    assert_eq!(
        wrong_with_xml("<a><b></a></b>").as_deref(),
        Some("closes another element: </a></b>")
    );
    assert!(wrong_with_xml("<a>&nbsp;</a>").is_some());
    assert!(wrong_with_xml("<a b=\"1\" b=\"2\"/>").is_some());
}

#[test]
fn the_description_of_exports_lists_every_format_as_the_program_does() {
    let description = include_str!("../EXPORTS.md");
    let (table, _) = description.split_once("\n## ").unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let rows: Vec<&str> = rows.collect();
    assert_eq!(rows.len(), Format::ALL.len());
    for (row, format) in rows.iter().zip(Format::ALL) {
        let begin = format!("| `{}` | {}", format.name(), format.purpose());
        assert!(row.starts_with(&begin), "{row}\nshould begin with {begin}");
        let name = format.file_name("A: then B");
        assert!(name.ends_with(format.ending()), "{name}");
    }
}

#[test]
fn replicas_begin_with_what_their_primary_has() {
    let text = "server main\nreplica copy of main\n\nstore\n  SET n 1\n\nclient A\n\nschedule\n  A copy> GET n\n";
    let pytest = exported(text, Format::Pytest, Options::default()).unwrap();
    for name in ["primary", "copy"] {
        let set = format!("operator.{name}.set(\"n\", 1)");
        assert!(pytest.contains(&set), "{pytest}");
    }
}

#[test]
fn scripts_are_known_by_digests_that_the_test_makes() {
    let text = "script add\n  return redis.call('INCR', KEYS[1])\n\nprotocol p\n  sum: EVALSHA add 1 a\n    on error NOSCRIPT: go to load\n  load: EVAL add 1 a\n\nclient A: p\n\nschedule\n  A sum\n  A load\n";
    for (format, defined, asked) in [
        (Format::Pytest, "def sha1_of(script):", "sha1_of(ADD)"),
        (Format::Vitest, "function sha1Of(script) {", "sha1Of(ADD)"),
        (Format::Phpunit, "const ADD = ", "sha1(self::ADD)"),
        (Format::Rust, "fn sha1_of(script: &str)", "sha1_of(ADD)"),
        (Format::Junit, "String sha1Of(String script)", "sha1Of(ADD)"),
        (
            Format::Go,
            "func sha1Of(script string)",
            "sha1Of(addScript)",
        ),
    ] {
        let export = exported(text, format, Options::default()).unwrap();
        assert!(export.contains(defined), "{}: {export}", format.name());
        assert!(export.contains(asked), "{}: {export}", format.name());
    }
}

#[test]
fn what_cannot_be_exported_is_refused_with_a_reason() {
    let head = "table t (id INT PRIMARY KEY, n INT)\n  1, 1\n\nprotocol p\n  begin: BEGIN\n  write: UPDATE t SET n = 2 WHERE id = 1\n  commit: COMMIT\n\nclient A, B: p\n\nschedule\n  A begin\n";
    let refused = [
        (
            "client A\n\nschedule\n  A> BLPOP q 50\n  clock +50001ms\n".to_owned(),
            "line 4: this waits until its time is over",
        ),
        (
            format!("{head}  lose A write\n  clock +500ms\n").replace(
                "WHERE id = 1\n",
                "WHERE id = 1\n    on no reply within 500ms: stop\n",
            ),
            "line 15: who gives up waiting gets a new connection",
        ),
        (
            format!("{head}  B write\n"),
            "line 13: this is not possible: ",
        ),
        (
            head.replace(
                "begin: BEGIN",
                "begin: BEGIN\n  look: SELECT 1\n    on nil: go to begin",
            )
            .replace("commit: COMMIT", "commit: COMMIT\n    on else: go to look"),
            "the step `commit` of the protocol `p` goes back into what another step goes back over",
        ),
        (
            "protocol p\n  read: GET k\n\nclient A: p\n\nschedule\n  pause A\n".to_owned(),
            "the schedule does nothing that a test could do",
        ),
        (
            "server main\nreplica copy of main\n\nclient A\n\nschedule\n  A copy> WATCH n\n  A copy> MULTI\n  A copy> INCR n\n".to_owned(),
            "line 9: a replica refuses this",
        ),
        (
            "server main\nreplica copy of main\n\nclient A\n\nschedule\n  A> BLPOP q 0\n  failover to copy\n".to_owned(),
            "line 7: this waits until a server crashes or another takes over",
        ),
        (
            "client A\n\nschedule\n  A> PSUBSCRIBE c*\n".to_owned(),
            "line 4: this subscribes by a pattern",
        ),
        (
            "client A\n\nschedule\n  A> MULTI\n  crash store\n".to_owned(),
            "line 5: a crash closes connections",
        ),
        (
            "protocol p\n  time: TIME\n\nclient A: p\n\nschedule\n  A time\n".to_owned(),
            "line 7: this reply tells the time of a real clock",
        ),
    ];
    let impossible = format!("{head}  B write\n");
    for format in [Format::Mermaid, Format::Svg, Format::Markdown] {
        let got = exported(&impossible, format, Options::default()).unwrap_err();
        assert!(got.starts_with("line 13: this is not possible: "), "{got}");
    }
    for format in Format::ALL.into_iter().filter(|format| format.is_test()) {
        for (text, why) in &refused {
            let got = exported(text, format, Options::default()).unwrap_err();
            assert!(got.starts_with(why), "{got}");
        }
    }
}

#[test]
fn what_a_replica_refuses_and_what_a_connection_outlives_is_exported() {
    let transaction = "server main\nreplica copy of main\n\nclient A\n\nschedule\n  A copy> MULTI\n  A copy> INCR n\n  A copy> EXEC\n  A copy> MULTI\n  A copy> GET n\n  A copy> EXEC\n";
    let lost = "table t (id INT PRIMARY KEY, n INT)\n  1, 1\n\nprotocol p\n  begin: BEGIN\n  write: UPDATE t SET n = 2 WHERE id = 1\n    on no reply\n  commit: COMMIT\n\nclient A: p\n\nschedule\n  A begin\n  lose A write\n  A commit\n";
    for format in Format::ALL.into_iter().filter(|format| format.is_test()) {
        let test = exported(transaction, format, Options::default()).unwrap();
        for left_out in [
            "MULTI is left out",
            "INCR n is left out",
            "EXEC is left out",
        ] {
            assert_eq!(test.matches(left_out).count(), 1, "{left_out}: {test}");
        }
        let test = exported(lost, format, Options::default()).unwrap();
        assert!(test.to_ascii_lowercase().contains("up"), "{test}");
    }
}

/// What the functions, clients, latches and scripts of a test are called; `before` stands before such a name in its language, with what
/// follows it.
fn defined<'t>(test: &'t str, before: &[(&str, &str)]) -> Vec<&'t str> {
    let name = |line: &'t str| {
        before.iter().find_map(|(before, behind)| {
            let (name, _) = line.trim().strip_prefix(before)?.split_once(behind)?;
            let is_name = |letter: char| letter.is_ascii_alphanumeric() || "_$".contains(letter);
            name.chars().all(is_name).then_some(name)
        })
    };
    // What stands deeper are members of classes, and what functions keep for themselves.
    let inside = |line: &&str| line.len() - line.trim_start().len() <= 8;
    test.lines().filter(inside).filter_map(name).collect()
}

#[test]
fn names_that_a_language_writes_alike_are_told_apart() {
    let text = include_str!("exported/names.latchkey");
    let protocols = text.matches("\nprotocol ").count();
    let clients = text.matches("\nclient ").count();
    let scripts = text.matches("\nscript ").count();
    // All but the last are waited for.
    let wanted = protocols + clients + scripts + clients - 1;
    for (format, before) in [
        (
            Format::Pytest,
            [
                ("def ", "(redis):"),
                ("def client_", "("),
                ("", " = \"\"\""),
                ("", " = Event()"),
            ]
            .as_slice(),
        ),
        (
            Format::Vitest,
            &[
                ("function* ", "("),
                ("async function client", "("),
                ("const ", " = `"),
                ("const ", " = latch()"),
            ],
        ),
        (
            Format::Phpunit,
            &[
                ("private function ", "(Client $client)"),
                ("$client", " = function"),
                ("private const ", " = <<<"),
                ("$", " = new Latch"),
            ],
        ),
        (
            Format::Rust,
            &[
                ("async fn ", "(steps"),
                ("let client_", " = async"),
                ("const ", ": &str"),
                ("let ", " = Notify::new()"),
            ],
        ),
        (
            Format::Go,
            &[
                ("func ", "(steps"),
                ("client", " := func() {"),
                ("const ", " = `"),
                ("", " := make(chan struct{})"),
            ],
        ),
        (
            Format::Junit,
            &[
                ("private static void ", "(Steps"),
                ("private void client", "("),
                ("private static final String ", " ="),
                ("private final CountDownLatch ", " = "),
            ],
        ),
    ] {
        let test = exported(text, format, Options::default()).unwrap();
        let names = defined(&test, before);
        let mut once: BTreeSet<String> = BTreeSet::new();
        for name in &names {
            let is_new = once.insert(match format {
                Format::Phpunit => name.to_ascii_lowercase(),
                _ => (*name).to_owned(),
            });
            assert!(is_new, "{}: {name} in {names:?}", format.name());
        }
        assert_eq!(names.len(), wanted, "{}: {names:?}", format.name());
    }
    let python = exported(text, Format::Pytest, Options::default()).unwrap();
    assert_eq!(python.matches("\ndef test").count(), 1);
    assert_eq!(python.matches("\ndef wait_for(").count(), 1);
    assert_eq!(python.matches("\ndef run_together(").count(), 1);
    let alike = "protocol p\n  a: GET k\n    on {Token}\n  b: GET k\n    on {token}\n  c: SET {Token} {token}\n\nclient A: p\n\nschedule\n  A a\n";
    for (format, wanted) in [
        (Format::Pytest, "token_2"),
        (Format::Rust, "token_2"),
        (Format::Go, "token2"),
        (Format::Junit, "token2"),
        (Format::Phpunit, "$token2"),
        (Format::Vitest, "token2"),
    ] {
        let test = exported(alike, format, Options::default()).unwrap();
        let name = format.name();
        assert!(test.contains(wanted), "{name}: {wanted} in\n{test}");
    }
}
