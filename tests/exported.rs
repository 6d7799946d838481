//! What every story is exported to runs green against a real Redis and a real MariaDB, and asserts that properties hold only where
//! they do, or once a broken protocol is repaired. Needs the tools that `set_up_exports` brings; `./check` runs it in a stage of its own.
#![cfg(unix)]
// A test that cannot reach its server has failed; there is nobody to hand the error to.
#![allow(clippy::unwrap_used)]

#[path = "support/mariadb.rs"]
mod mariadb;
#[path = "support/plain_redis.rs"]
mod plain_redis;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use latchkey::export::{Format, Options, export};
use latchkey::property::{Property, Verdict};
use latchkey::scenario::library::{Story, stories};
use latchkey::scenario::read;
use latchkey::timeline::Timeline;
use plain_redis::Redis;

/// Every story, and what no story has: requests that wait for somebody else, of protocols and at consoles, or in vain; and names
/// that are words of the languages, or alike in them; and what goes on that was begun on a connection.
fn scenarios() -> Vec<Story> {
    let others = [
        ("names", include_str!("exported/names.latchkey")),
        ("waits", include_str!("exported/waits.latchkey")),
        ("begun", include_str!("exported/begun.latchkey")),
        ("unended", include_str!("exported/unended.latchkey")),
        (
            "lock-released-before-the-transaction-commits",
            include_str!(
                "../scenarios/cases/lock-released-before-the-transaction-commits-b-b40.latchkey"
            ),
        ),
    ];
    let others = others.map(|(name, text)| {
        let reading = read(text).unwrap();
        Story {
            name,
            title: reading.title.clone(),
            description: reading.description.clone(),
            text,
        }
    });
    let repaired = Story {
        name: REPAIRED,
        title: "Repaired".to_owned(),
        ..story(BROKEN)
    };
    let others = others.into_iter().chain([repaired]);
    stories().iter().cloned().chain(others).collect()
}

/// A story whose protocol breaks a property, one whose protocol does not, and the test of the first with the protocol of the second.
const BROKEN: &str = "07a-split-acquire";
const RIGHT: &str = "08-atomic-acquire";
const REPAIRED: &str = "repaired";

fn story(name: &str) -> Story {
    let mut stories = stories().iter();
    stories.find(|story| story.name == name).unwrap().clone()
}

/// Where the servers are, for what is run.
type Environment = Vec<(String, String)>;

/// The servers for two sets of tests at once, for each set its own: as many of Redis as a story has, as notices go to all databases of
/// one, and a MariaDB, as the names of GET_LOCK hold for all databases of one.
struct Servers {
    redis: [[Redis; 3]; 2],
    mariadb: [mariadb::Server; 2],
}

impl Servers {
    fn start(name: &str) -> Servers {
        Servers {
            redis: std::array::from_fn(|_| std::array::from_fn(|_| Redis::start())),
            mariadb: ["played", "holds"]
                .map(|set| mariadb::Server::start(&format!("{name}-{set}")).unwrap()),
        }
    }

    /// The environment for one of the places.
    fn environment(&self, holds: bool) -> Environment {
        let port = self.mariadb[usize::from(holds)].port().to_string();
        let place = u8::from(holds).to_string();
        let mut environment = vec![
            ("DB_HOST".to_owned(), "127.0.0.1".to_owned()),
            ("DB_PORT".to_owned(), port.clone()),
            ("DB_DATABASE".to_owned(), "test".to_owned()),
            ("MYSQL_HOST".to_owned(), "127.0.0.1".to_owned()),
            ("MYSQL_PORT".to_owned(), port),
            ("MYSQL_DATABASE".to_owned(), "test".to_owned()),
        ];
        for (redis, number) in self.redis[usize::from(holds)].iter().zip(["", "_2", "_3"]) {
            let (host, port) = ("127.0.0.1", redis.port);
            let url = format!("redis://{host}:{port}/{place}");
            environment.extend([
                (format!("REDIS_URL{number}"), url),
                (format!("REDIS_HOST{number}"), host.to_owned()),
                (format!("REDIS_PORT{number}"), port.to_string()),
                (format!("REDIS_DB{number}"), place.clone()),
            ]);
        }
        environment
    }

    /// Nothing is left of any test.
    fn assert_clean(&self) {
        for mariadb in &self.mariadb {
            let mut connection = mariadb.connect(false).unwrap();
            let tables = connection.ask("SHOW TABLES FROM test").unwrap();
            assert_eq!(tables, mariadb::Answer::Rows(Vec::new()), "left in MariaDB");
        }
        for redis in self.redis.as_flattened() {
            let keys = Command::new("redis-cli")
                .args(["-p", &redis.port.to_string(), "INFO", "keyspace"])
                .output()
                .unwrap();
            let keys = String::from_utf8_lossy(&keys.stdout).into_owned();
            assert!(
                !keys.contains("db0") && !keys.contains("db1"),
                "left in Redis: {keys}"
            );
        }
    }
}

/// Where a set of exports is kept, with nothing in it.
fn folder(format: Format, holds: bool) -> PathBuf {
    let name = format!(
        "{}-{}",
        format.name(),
        if holds { "holds" } else { "played" }
    );
    // Below the folder of Node's packages, so that they are found.
    let folder = tools().join("node/exported").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn timeline(story: &Story) -> Timeline {
    let reading = read(story.text).unwrap();
    Timeline::replay(
        reading.setup.clone(),
        reading.schedule.into_iter().map(|line| line.action),
    )
}

/// What the file of a story's export is called.
fn file_name(story: &Story, format: Format) -> String {
    // PHPUnit and Java find a class by its file, and the class is called by the title.
    format.file_name(match format {
        Format::Phpunit | Format::Junit => &story.title,
        _ => story.name,
    })
}

/// The export of a story; `None` for one that asks for what no test can do.
fn exported(story: &Story, format: Format, holds: bool) -> Option<String> {
    if story.name == REPAIRED {
        // As it was played, the repaired protocol does something else.
        return holds.then(|| repaired(format));
    }
    let reading = read(story.text).unwrap();
    export(
        story.text,
        &reading,
        &timeline(story),
        format,
        Options { holds },
    )
    .ok()
}

/// The test of a broken protocol, in which somebody has repaired the protocol's function, and nothing else.
fn repaired(format: Format) -> String {
    let [broken, right] = [BROKEN, RIGHT].map(|name| exported(&story(name), format, true).unwrap());
    // What stands before the names of protocols and of scripts, what ends a protocol, and what two scripts are called.
    let (function, end, script, [acquire, unlock]) = match format {
        Format::Pytest => ("def ", "\n\n\n", "", ["ACQUIRE = ", "UNLOCK = "]),
        Format::Vitest => ("function* ", "\n}\n", "const ", ["ACQUIRE", "UNLOCK"]),
        Format::Phpunit => (
            "private function ",
            "\n    }\n",
            "private const ",
            ["ACQUIRE", "UNLOCK"],
        ),
        Format::Rust => ("async fn ", "\n}\n", "const ", ["ACQUIRE", "UNLOCK"]),
        Format::Go => (
            "\nfunc ",
            "\n}\n",
            "const ",
            ["acquireScript", "unlockScript"],
        ),
        Format::Junit => (
            "private static void ",
            "\n  }\n",
            "private static final String ",
            ["ACQUIRE", "UNLOCK"],
        ),
        _ => panic!("no test: {}", format.name()),
    };
    let snake_case = matches!(format, Format::Pytest | Format::Rust);
    let [split, atomic] = match snake_case {
        true => ["split_acquire", "atomic_acquire"],
        false => ["splitAcquire", "atomicAcquire"],
    };
    let between = |text: &str, begin: &str, end: &str| {
        let from = text.find(begin).unwrap();
        let to = text[from..].find(end).unwrap();
        text[from..from + to].to_owned()
    };
    let protocol_of = |text: &str, name: &str| between(text, &format!("{function}{name}("), end);
    let script_of = |name: &str| format!("{script}{name}");
    let protocol = protocol_of(&right, atomic).replace(atomic, split);
    let acquire = between(&right, &script_of(acquire), &script_of(unlock));
    let repaired = broken
        .replace(&protocol_of(&broken, split), &protocol)
        .replace(
            &script_of(unlock),
            &format!("{acquire}{}", script_of(unlock)),
        );
    // Two classes in one folder have two names.
    let [class, other] = [&story(BROKEN).title, "Repaired"].map(|title| {
        format
            .file_name(title)
            .replace("Test.php", "")
            .replace("Test.java", "")
    });
    repaired.replace(&class, &other)
}

/// Writes a file, unless it is there already: what is built from it is new otherwise.
fn write(path: &Path, text: &str) {
    if std::fs::read_to_string(path).ok().as_deref() != Some(text) {
        std::fs::write(path, text).unwrap();
    }
}

/// Writes every story's export; gives the names of the files without their ending.
fn write_all(format: Format, holds: bool, folder: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for story in &scenarios() {
        let name = file_name(story, format);
        if let Some(export) = exported(story, format, holds) {
            write(&folder.join(&name), &export);
            names.insert(name);
        }
    }
    names
}

/// The stories whose schedule breaks a property that somebody could promise.
fn broken(format: Format) -> BTreeSet<String> {
    let breaks = |story: &Story| {
        let timeline = timeline(story);
        let verdicts = timeline.verdicts(timeline.len());
        verdicts.iter().any(|(property, verdict)| {
            *property != Property::OneBeliever && matches!(verdict, Verdict::Broken(_))
        })
    };
    scenarios()
        .iter()
        .filter(|story| story.name != REPAIRED && breaks(story))
        .filter(|story| exported(story, format, true).is_some())
        .map(|story| file_name(story, format))
        .collect()
}

/// A program that is run in a folder, and told where the servers are.
fn program(name: impl AsRef<OsStr>, folder: &Path, environment: &Environment) -> Command {
    let mut command = Command::new(name);
    command
        .current_dir(folder)
        .envs(environment.iter().cloned());
    command
}

/// Runs a language's tests; gives what it printed.
fn output_of(mut command: Command) -> String {
    let output = command
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Runs the exports of every story twice at once: as they were played, which all have to pass, and asserting that the properties
/// hold, which have to fail where they are broken and nowhere else. `failed` reads the names of the files that failed.
fn check(
    format: Format,
    run: &(dyn Fn(&Path, &Environment) -> String + Sync),
    failed: &dyn Fn(&str, &BTreeSet<String>) -> BTreeSet<String>,
) {
    let servers = Servers::start(&format!("exported-{}", format.name()));
    let (played, holding) = match format {
        Format::Rust => (package("played"), package("holding")),
        _ => (folder(format, false), folder(format, true)),
    };
    let names = write_all(format, false, &played);
    let names_holding = write_all(format, true, &holding);
    assert!(names_holding.len() > names.len());
    let (output, output_holding) = std::thread::scope(|scope| {
        let other = scope.spawn(|| run(&holding, &servers.environment(true)));
        (
            run(&played, &servers.environment(false)),
            other.join().unwrap(),
        )
    });
    assert_eq!(failed(&output, &names), BTreeSet::new(), "{output}");
    assert_eq!(
        failed(&output_holding, &names_holding),
        broken(format),
        "{output_holding}"
    );
    let why = "a stale write is never accepted after a newer holder";
    assert!(output_holding.contains(why), "{output_holding}");
    servers.assert_clean();
}

fn tools() -> PathBuf {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools");
    // pytest names files by where they really are.
    tools.canonicalize().unwrap()
}

fn pytest(folder: &Path, environment: &Environment) -> String {
    let mut command = program(tools().join("python/bin/pytest"), folder, environment);
    command
        .args(["-q", "-rA", "--tb=short", "-p", "no:cacheprovider"])
        .arg(folder);
    output_of(command)
}

/// The files that pytest does not say have passed.
fn not_passed_by_pytest(output: &str, names: &BTreeSet<String>) -> BTreeSet<String> {
    let passed = |name: &&String| {
        !output
            .lines()
            .any(|line| line.starts_with(&format!("PASSED {name}::")))
    };
    names.iter().filter(passed).cloned().collect()
}

#[test]
#[ignore = "needs Python's client libraries; ./check has them"]
fn pytest_runs_every_story() {
    check(Format::Pytest, &pytest, &not_passed_by_pytest);
}

fn vitest(folder: &Path, environment: &Environment) -> String {
    let mut command = program("node", folder, environment);
    command.arg(tools().join("node/node_modules/vitest/vitest.mjs"));
    // One after the other: they share the names of keys and tables.
    command
        .args([
            "run",
            "--no-file-parallelism",
            "--no-isolate",
            "--reporter=verbose",
            "--root",
        ])
        .arg(folder)
        .env("NO_COLOR", "1");
    output_of(command)
}

/// The files that vitest does not say have passed.
fn not_passed_by_vitest(output: &str, names: &BTreeSet<String>) -> BTreeSet<String> {
    let passed = |name: &&String| {
        !output
            .lines()
            .any(|line| line.trim_start().starts_with(&format!("✓ {name} > ")))
    };
    names.iter().filter(passed).cloned().collect()
}

#[test]
#[ignore = "needs Node's client libraries; ./check has them"]
fn vitest_runs_every_story() {
    check(Format::Vitest, &vitest, &not_passed_by_vitest);
}

fn phpunit(folder: &Path, environment: &Environment) -> String {
    let log = folder.join("log.xml");
    let mut command = program("phpunit", folder, environment);
    command.arg("--log-junit").arg(&log).arg(folder);
    output_of(command) + &std::fs::read_to_string(log).unwrap_or_default()
}

/// The files that a log in JUnit's XML does not say have passed; a case says somewhere in its head what `mark` makes of a file.
fn not_passed_by_log(
    output: &str,
    names: &BTreeSet<String>,
    mark: &dyn Fn(&str) -> String,
) -> BTreeSet<String> {
    let passed = |name: &&String| {
        let mark = mark(name);
        let mut cases = output
            .split("<testcase ")
            .skip(1)
            .filter_map(|case| case.split("</testsuite>").next());
        !cases.any(|case| {
            let head = case.split('>').next().unwrap_or_default();
            head.contains(&mark) && !case.contains("<failure") && !case.contains("<error")
        })
    };
    names.iter().filter(passed).cloned().collect()
}

/// The files that PHPUnit's log does not say have passed.
fn not_passed_by_phpunit(output: &str, names: &BTreeSet<String>) -> BTreeSet<String> {
    not_passed_by_log(output, names, &|name| format!("/{name}\""))
}

#[test]
#[ignore = "needs PHP's client libraries; ./check has them"]
fn phpunit_runs_every_story() {
    check(Format::Phpunit, &phpunit, &not_passed_by_phpunit);
}

/// The files of one set, in a package for cargo that keeps what it has built.
fn package(name: &str) -> PathBuf {
    let package = tools().join("cargo").join(name);
    let folder = package.join("tests/stories");
    std::fs::create_dir_all(&folder).unwrap();
    for file in std::fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        let is_of = |story: &Story| path.ends_with(file_name(story, Format::Rust));
        if !scenarios().iter().any(is_of) {
            std::fs::remove_file(path).unwrap();
        }
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exported/rust");
    for file in ["Cargo.toml", "Cargo.lock"] {
        let text = std::fs::read_to_string(source.join(file)).unwrap();
        // What two packages of one name build is one and the same file.
        let named = text.replace("name = \"exported\"", &format!("name = \"{name}\""));
        write(&package.join(file), &named);
    }
    folder
}

/// One test program with every file as a module of its own, so that it is linked once; the files are as rustfmt writes them.
fn cargo(folder: &Path, environment: &Environment) -> String {
    let mut modules: Vec<String> = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let module = name.strip_suffix(".rs").filter(|name| *name != "main");
        modules.extend(module.map(|name| format!("mod {name};\n")));
    }
    modules.sort();
    let main = folder.join("main.rs");
    write(&main, &modules.concat());
    let mut rustfmt = Command::new("rustfmt");
    rustfmt.args(["--edition", "2024", "--check"]).arg(&main);
    assert_eq!(output_of(rustfmt), "", "not as rustfmt writes it");
    let mut command = program("cargo", folder, environment);
    command
        .args(["test", "--locked", "--color", "never"])
        .args(["--", "--test-threads=1"])
        .env("CARGO_TARGET_DIR", tools().join("cargo/target"));
    let output = output_of(command);
    assert!(!output.contains("warning: "), "{output}");
    output
}

/// The files whose modules cargo does not say have passed.
fn not_passed_by_cargo(output: &str, names: &BTreeSet<String>) -> BTreeSet<String> {
    let passed = |name: &&String| {
        let test = format!("test {}::", name.trim_end_matches(".rs"));
        !output
            .lines()
            .any(|line| line.starts_with(&test) && line.ends_with(" ... ok"))
    };
    names.iter().filter(passed).cloned().collect()
}

#[test]
#[ignore = "builds client libraries; ./check keeps them"]
fn cargo_runs_every_story() {
    check(Format::Rust, &cargo, &not_passed_by_cargo);
}

/// One test program with every file as a package of its own, so that it is linked once; the files are as gofmt writes them.
/// go-redis is the one in tests/exported/go/redis.
fn go(folder: &Path, environment: &Environment) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exported/go");
    std::fs::create_dir_all(folder.join("redis")).unwrap();
    for file in ["go.mod", "redis/go.mod", "redis/redis.go"] {
        std::fs::copy(source.join(file), folder.join(file)).unwrap();
    }
    let (mut imports, mut calls) = (Vec::new(), String::new());
    for story in &scenarios() {
        let file = folder.join(file_name(story, Format::Go));
        let Ok(text) = std::fs::read_to_string(&file) else {
            continue;
        };
        let name = file.file_stem().unwrap().to_str().unwrap();
        let package = folder.join("stories").join(name);
        std::fs::create_dir_all(&package).unwrap();
        std::fs::rename(&file, package.join("story.go")).unwrap();
        let test = text.split("func Test").nth(1).unwrap();
        let test = test.split('(').next().unwrap();
        imports.push(format!("\t{name} \"exported/stories/{name}\"\n"));
        calls += &format!("\tt.Run(\"{name}\", {name}.Test{test})\n");
    }
    imports.sort();
    let imports = imports.concat();
    let main = format!(
        "package exported\n\nimport (\n\t\"testing\"\n\n{imports})\n\nfunc TestStories(t *testing.T) {{\n{calls}}}\n"
    );
    std::fs::write(folder.join("stories_test.go"), main).unwrap();
    let mut gofmt = Command::new("gofmt");
    gofmt.arg("-d").arg(folder);
    assert_eq!(output_of(gofmt), "", "not as gofmt writes it");
    let mut command = program("go", folder, environment);
    command
        .args(["test", "-v", "-count=1", "."])
        .env("GOPROXY", "off");
    output_of(command)
}

/// The files that go does not say have passed.
fn not_passed_by_go(output: &str, names: &BTreeSet<String>) -> BTreeSet<String> {
    let passed = |name: &&String| {
        let test = format!("--- PASS: TestStories/{} (", name.trim_end_matches(".go"));
        !output
            .lines()
            .any(|line| line.trim_start().starts_with(&test))
    };
    names.iter().filter(passed).cloned().collect()
}

#[test]
#[ignore = "needs Go and its driver for MySQL; ./check has them"]
fn go_runs_every_story() {
    check(Format::Go, &go, &not_passed_by_go);
}

/// Debian's archives of Java classes that the tests need.
const JARS: [&str; 8] = [
    "apiguardian-api",
    "junit-jupiter-api",
    "junit-jupiter-engine",
    "junit-platform-commons",
    "junit-platform-console-standalone",
    "mariadb-java-client",
    "opentest4j",
    "picocli",
];

/// Every file is compiled without a warning, and all of them run by JUnit in one Java. Jedis is the one in tests/exported/java.
fn junit(folder: &Path, environment: &Environment) -> String {
    let jars = JARS.map(|jar| format!("/usr/share/java/{jar}.jar"));
    let path = format!("classes:{}", jars.join(":"));
    let mut sources: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    sources.sort();
    let mut javac = program("javac", folder, environment);
    javac
        .args([
            "-encoding",
            "UTF-8",
            "-Xlint:all,-path,-processing,-serial,-try,-varargs",
            "-d",
            "classes",
        ])
        .args(["-proc:none", "-cp", &path, "-sourcepath"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exported/java"))
        .args(sources);
    assert_eq!(output_of(javac), "", "what javac says");
    let mut java = program("java", folder, environment);
    java.args(["-cp", &path, "org.junit.platform.console.ConsoleLauncher"])
        .args(["--scan-classpath", "classes", "--details", "none"])
        .args(["--reports-dir", "reports"]);
    let log = folder.join("reports/TEST-junit-jupiter.xml");
    output_of(java) + &std::fs::read_to_string(log).unwrap_or_default()
}

/// The files that JUnit's log does not say have passed.
fn not_passed_by_junit(output: &str, names: &BTreeSet<String>) -> BTreeSet<String> {
    not_passed_by_log(output, names, &|name| {
        format!("classname=\"{}\"", name.trim_end_matches(".java"))
    })
}

#[test]
#[ignore = "needs Java, JUnit and a driver for MySQL; ./check has them"]
fn junit_runs_every_story() {
    check(Format::Junit, &junit, &not_passed_by_junit);
}
