//! The native program as a shell sees it: what it prints and how it ends.

use std::path::{Path, PathBuf};
use std::process::Command;

const RIGHT: &str = "protocol p\n  one: SET k {me}\n\nclient A: p\n\nschedule\n  A one  => OK\n\nexpect\n  key k: \"A-1\" no ttl\n";

/// A folder of this test's own that goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).expect("the folder can be made");
        Folder(path)
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("the file can be written");
        path.to_str().expect("the path is a text").to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs the program: what it printed, on both channels, and its exit status.
fn run(arguments: &[&str]) -> (String, String, i32) {
    let output = Command::new(env!("CARGO_BIN_EXE_latchkey"))
        .args(arguments)
        .output()
        .expect("the program starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it prints text");
    (
        text(output.stdout),
        text(output.stderr),
        output.status.code().expect("it ends by itself"),
    )
}

/// Two clients that take no lock at all.
const UNLOCKED: &str = "table t (id INT PRIMARY KEY, qty INT NOT NULL)\n  1, 1\n\nwatch stock t.qty\n\nprotocol p\n  read: SELECT qty FROM t WHERE id = 1\n    on {qty}\n  write: UPDATE t SET qty = qty - {qty} WHERE id = 1\n    on 1 row: sells 1\n\nclient A, B: p\n\nsearch\n  breaks: stock is never negative\n  finds: 4 steps, 0 faults\n";

#[test]
fn search_prints_the_shortest_schedule_and_what_was_tried() {
    let folder = Folder::new("search");
    let file = folder.file("unlocked.latchkey", UNLOCKED);
    let (out, _, status) = run(&["search", &file]);
    let expected = "search\n  breaks: stock is never negative\n  finds: 4 steps, 0 faults\nfound: 4 steps, 0 faults; ";
    assert!(out.starts_with(expected), "{out}");
    assert!(out.contains("broken: stock is never negative\n"), "{out}");
    let schedule = "schedule\n  A read                 => 1\n  B read                 => 1\n  B write                => 1 row\n  A write                => 1 row\n\nexpect\n  broken: stock is never negative\n";
    assert!(out.contains(schedule), "{out}");
    assert_eq!(status, 0);
    let holds = UNLOCKED.replace(
        "qty - {qty} WHERE id = 1",
        "qty - {qty} WHERE id = 1 AND qty >= {qty}",
    );
    let wrong = folder.file("wrong.latchkey", &holds);
    let (out, _, status) = run(&["search", &wrong]);
    assert!(out.contains("nothing within these bounds; "), "{out}");
    assert_eq!(status, 1);
    let (out, _, status) = run(&["check", &wrong]);
    assert!(
        out.contains(":16: expected 4 steps, 0 faults, got nothing in "),
        "{out}"
    );
    assert_eq!(status, 1);
}

#[test]
fn pin_writes_down_the_replies_and_how_it_ends() {
    let folder = Folder::new("pin");
    let bare = "# Title\n\nclient A\n\nschedule\n  A> SET k v  # why\n  clock +1s\n  A> GET k                   => nil\n";
    let file = folder.file("bare.latchkey", bare);
    let (out, err, status) = run(&["pin", &file]);
    let expected = [
        "  A> SET k v             => OK  # why",
        "  clock +1000ms",
        "  A> GET k               => \"v\"",
        "",
        "expect",
    ];
    let lines: Vec<&str> = out.lines().skip(5).collect();
    assert_eq!(lines[..5], expected);
    assert_eq!((err.as_str(), status), ("", 0));
    assert_eq!(
        run(&["pin", &file, "--write"]),
        (String::new(), String::new(), 0)
    );
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), out);
    assert_eq!(run(&["check", &file]).2, 0);
    let refused = folder.file("refused.latchkey", &format!("{bare}  resume A\n"));
    let (out, err, status) = run(&["pin", &refused]);
    assert!(err.contains(":9:1: not possible: "), "{err}");
    assert_eq!((out.as_str(), status), ("", 1));
}

#[test]
fn check_says_what_differs_and_where() {
    let folder = Folder::new("check");
    let right = folder.file("right.latchkey", RIGHT);
    assert_eq!(
        run(&["check", &right]),
        (
            format!("{right}: ok\n1 passed, 0 failed\n"),
            String::new(),
            0
        )
    );
    let wrong = folder.file(
        "wrong.latchkey",
        &RIGHT.replace("=> OK", "=> nil").replace("A-1", "A-2"),
    );
    let broken = folder.file("broken.latchkey", "client A: q\nschedul\n");
    let missing = folder
        .0
        .join("missing.latchkey")
        .to_str()
        .unwrap()
        .to_owned();
    let (out, err, status) = run(&["check", &right, &wrong, &broken, &missing]);
    let expected = [
        format!("{right}: ok"),
        format!("{wrong}:7: expected nil, got OK"),
        format!("{wrong}:10: expected \"A-2\" no ttl, got \"A-1\" no ttl"),
        "1 passed, 3 failed".to_owned(),
    ];
    assert_eq!(out.lines().collect::<Vec<_>>(), expected);
    let expected = [
        format!(
            "{broken}:2:1: no block begins with `schedul` (did you mean `schedule`?): expected `option`, `server`, `replica`, `table`, `database`, `store`, `script`, `watch`, `protocol`, `client`, `schedule`, `expect` or `search`"
        ),
        format!("{missing}: cannot be read: No such file or directory (os error 2)"),
    ];
    assert_eq!(err.lines().collect::<Vec<_>>(), expected);
    assert_eq!(status, 1);
}

#[test]
fn errors_of_a_text_are_no_results() {
    let folder = Folder::new("errors");
    let broken = folder.file("broken.latchkey", "client\n");
    for arguments in [
        ["check", &broken].as_slice(),
        &["search", &broken],
        &["format", &broken],
        &["pin", &broken],
        &["link", &broken],
        &["export", &broken, "--to", "pytest"],
    ] {
        let (out, err, status) = run(arguments);
        let wrong = format!("{broken}:1:7: the client's name is missing");
        assert!(err.starts_with(&wrong), "{arguments:?}: {err}");
        let result = match arguments[0] {
            "check" => "0 passed, 1 failed\n",
            _ => "",
        };
        assert_eq!((out.as_str(), status), (result, 1), "{arguments:?}");
    }
}

#[test]
fn what_cannot_work_is_warned_of() {
    let folder = Folder::new("warnings");
    let file = folder.file(
        "warned.latchkey",
        "watch lock a\n\nprotocol p\n  one: GTE k\n  two: SET b {me} NX\n    on OK: holds b\n\nclient A: p\n\nschedule\n  A one\n",
    );
    let warned = [
        format!(
            "{file}:4:8: warning: ERR unknown command 'GTE', with args beginning with: 'k' (did you mean `GET`?)"
        ),
        format!(
            "{file}:5:8: warning: the client holds `b` and no `watch lock` line names that key: nothing is said of its holders"
        ),
    ];
    for arguments in [
        ["check", &file].as_slice(),
        &["pin", &file],
        &["export", &file, "--to", "pytest"],
        &["export", &file, "--to", "mermaid"],
    ] {
        let (out, err, status) = run(arguments);
        assert_eq!(err.lines().collect::<Vec<_>>(), warned, "{arguments:?}");
        assert_eq!((out.is_empty(), status), (false, 0), "{arguments:?}");
    }
}

#[test]
fn what_is_not_possible_is_said_in_a_sentence() {
    let folder = Folder::new("possible");
    let file = folder.file(
        "a.latchkey",
        "client A\n\nschedule\n  restart A\n  A> SELEC a FROM t\n",
    );
    let (out, err, status) = run(&["check", &file]);
    let begin = format!("{file}:4: not possible: ");
    assert!(
        out.starts_with(&begin) && !out.contains("expected"),
        "{out}"
    );
    let hint = "(did you mean `SELECT`, a statement of SQL?)\n";
    let begin = format!("{file}:5:6: warning: ERR unknown command 'SELEC'");
    assert!(err.starts_with(&begin) && err.ends_with(hint), "{err}");
    assert_eq!(status, 1);
}

#[test]
fn a_file_that_checks_nothing_says_so() {
    let folder = Folder::new("nothing");
    let says = |name: &str, text: &str, verdict: &str| {
        let file = folder.file(name, text);
        let out = format!("{file}: {verdict}\n1 passed, 0 failed\n");
        assert_eq!(run(&["check", &file]), (out, String::new(), 0));
    };
    let nothing = "nothing to check: it has no `schedule`, no `expect` and no `search`";
    says("empty.latchkey", "", nothing);
    says("client.latchkey", "client A\n", nothing);
    says("expect.latchkey", "expect\n  key k: none\n", "ok");
}

#[test]
fn format_prints_or_writes() {
    let folder = Folder::new("format");
    let file = folder.file("a.latchkey", RIGHT);
    let formatted = RIGHT.replace("A one  => OK", "A one                  => OK");
    assert_eq!(
        run(&["format", &file]),
        (formatted.clone(), String::new(), 0)
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), RIGHT);
    assert_eq!(
        run(&["format", &file, "--write"]),
        (String::new(), String::new(), 0)
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), formatted);
    let broken = folder.file("b.latchkey", "client\n");
    let (out, err, status) = run(&["format", &broken, "--write"]);
    assert!(
        err.starts_with(&format!("{broken}:1:7: the client's name is missing")),
        "{err}"
    );
    assert_eq!((out.as_str(), status), ("", 1));
    assert_eq!(std::fs::read_to_string(&broken).unwrap(), "client\n");
}

#[test]
fn links_go_there_and_back() {
    let folder = Folder::new("link");
    let file = folder.file("a.latchkey", RIGHT);
    let (link, _, status) = run(&["link", &file]);
    assert!(link.starts_with("#v1.") && link.len() < 150, "{link}");
    assert_eq!(status, 0);
    assert_eq!(
        run(&["show", link.trim()]),
        (RIGHT.to_owned(), String::new(), 0)
    );
    let address = format!("https://example.org/latchkey/{}", link.trim());
    assert_eq!(
        run(&["show", &address]),
        (RIGHT.to_owned(), String::new(), 0)
    );
    let (start, _, _) = run(&["link", "--cursor", "0", &file]);
    assert_eq!(latchkey::link::decode(&start).unwrap().cursor, 0);
    assert_eq!(latchkey::link::decode(&link).unwrap().cursor, 1);
    let (_, err, status) = run(&["show", "#v9.abc"]);
    assert!(err.contains("newer Latchkey (v9)"), "{err}");
    assert_eq!(status, 1);
}

#[test]
fn arguments_that_are_not_understood_are_explained() {
    let check = |arguments: &[&str], expected: &str| {
        let (out, err, status) = run(arguments);
        assert_eq!(
            err,
            format!("latchkey: {expected}; `latchkey --help` lists the commands\n")
        );
        assert_eq!((out.as_str(), status), ("", 2));
    };
    check(&[], "a command is missing");
    check(&["chek"], "there is no command `chek`");
    check(&["check"], "check needs at least one file");
    check(&["check", "--all"], "check has no option `--all`");
    check(&["format"], "format needs one file");
    check(&["format", "a", "b"], "format needs one file");
    check(&["format", "a", "--wrte"], "format has no option `--wrte`");
    check(
        &["link"],
        "link needs one file, and a number behind --cursor if that is given",
    );
    check(
        &["link", "--cursor", "x", "a"],
        "`x` is no number of actions",
    );
    check(&["link", "--all"], "link has no option `--all`");
    check(&["show"], "show needs one link");
    let folder = Folder::new("arguments");
    let file = folder.file("a.latchkey", RIGHT);
    check(
        &["link", &file, "--cursor", "2"],
        "--cursor 2 is beyond the end of the schedule, which is 1",
    );
}

#[test]
fn help_and_version() {
    for arguments in [&["--help"][..], &["-h"], &["help"], &["check", "--help"]] {
        let (out, _, status) = run(arguments);
        assert!(
            out.contains("Usage: latchkey COMMAND") && status == 0,
            "{out}"
        );
        let lacks_servers = out.contains("built without the feature `servers`");
        assert_eq!(lacks_servers, !cfg!(feature = "servers"), "{out}");
    }
    assert_eq!(
        run(&["--version"]).0,
        format!("latchkey {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn export_prints_a_test_or_says_why_not() {
    let folder = Folder::new("export");
    let right = folder.file("right.latchkey", RIGHT);
    let (out, err, status) = run(&["export", &right, "--to", "pytest"]);
    assert!(
        out.contains("def test_a_schedule_of_lock_clients(operator):")
            && out.contains("(\"A\", \"one\", \"OK\")"),
        "{out}"
    );
    assert_eq!((err.as_str(), status), ("", 0));
    let (out, _, status) = run(&["export", "--holds", "--to", "pytest", &right]);
    assert!(!out.contains("(\"A\", \"one\", \"OK\")"), "{out}");
    assert_eq!(status, 0);
    let impossible = folder.file(
        "impossible.latchkey",
        &RIGHT.replace("  A one", "  resume A\n  A one"),
    );
    for format in ["pytest", "mermaid", "svg", "markdown"] {
        let (out, err, status) = run(&["export", &impossible, "--to", format]);
        assert_eq!((out.as_str(), status), ("", 1));
        let why = format!("cannot be exported to {format}: line 7: this is not possible: ");
        assert!(err.contains(&why), "{err}");
    }
    let wrong: [&[&str]; 5] = [
        &[],
        &[&right],
        &[&right, "--to"],
        &[&right, "--to", "cobol"],
        &[&right, &right, "--to", "pytest"],
    ];
    for arguments in wrong {
        let (out, err, status) = run(&[&["export"], arguments].concat());
        assert_eq!((out.as_str(), status), ("", 2), "{arguments:?}");
        assert!(err.starts_with("latchkey: "), "{err}");
    }
}

#[test]
#[cfg(not(feature = "servers"))]
fn run_says_with_which_feature_it_is_built() {
    let (out, err, status) = run(&["run", "any.latchkey"]);
    assert_eq!((out.as_str(), status), ("", 2));
    assert!(err.contains("--features cli,servers"), "{err}");
}

#[test]
#[cfg(feature = "servers")]
fn run_needs_files_and_addresses() {
    let folder = Folder::new("run");
    let right = folder.file("right.latchkey", RIGHT);
    let (out, _, status) = run(&["run", &right]);
    assert_eq!(status, 1);
    assert!(
        out.ends_with("the scenario asks Redis: --redis URL is needed, or --start\n"),
        "{out}"
    );
    let wrong: [&[&str]; 5] = [
        &[],
        &["--lapse"],
        &[&right, "--redis"],
        &[&right, "--fast"],
        &[&right, "--start", "--redis", "redis://127.0.0.1"],
    ];
    for arguments in wrong {
        let (out, err, status) = run(&[&["run"], arguments].concat());
        assert_eq!((out.as_str(), status), ("", 2), "{arguments:?}");
        assert!(err.starts_with("latchkey: "), "{err}");
    }
}
