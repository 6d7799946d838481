//! Scenarios on a real Redis and a real MariaDB: every story and every case is answered as the playground answers it. `./check` runs
//! it in a stage of its own.
#![cfg(unix)]
// A test that cannot reach its server has failed; there is nobody to hand the error to.
#![allow(clippy::unwrap_used)]

#[path = "support/mariadb.rs"]
mod mariadb;
#[path = "support/plain_redis.rs"]
mod plain_redis;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use latchkey::scenario::read;
use latchkey::servers::{Compared, Given, Player, Servers, Trouble};
use latchkey::timeline::Timeline;
use plain_redis::Redis;

struct Both {
    redis: Redis,
    mariadb: mariadb::Server,
}

impl Both {
    fn start(name: &str) -> Both {
        Both {
            redis: Redis::start(),
            mariadb: mariadb::Server::start(name).unwrap(),
        }
    }

    fn addresses(&self, database: &str, lapse: bool) -> Servers {
        Servers {
            redis: vec![self.redis_as("")],
            mysql: Some(format!(
                "mysql://root@127.0.0.1:{}/{database}",
                self.mariadb.port()
            )),
            prefix: Some("latchkey:test:".to_owned()),
            lapse,
            ..Servers::default()
        }
    }

    /// The Redis by a name of the scenario's; an empty one for the only server.
    fn redis_as(&self, name: &str) -> Given {
        given(name, &self.redis)
    }

    fn redis_cli(&self, words: &[&str]) -> String {
        redis_cli(&self.redis, words)
    }

    fn databases(&self) -> Vec<String> {
        let mut connection = self.mariadb.connect(false).unwrap();
        let mariadb::Answer::Rows(rows) = connection.ask("SHOW DATABASES").unwrap() else {
            panic!("no databases");
        };
        rows.into_iter().flatten().flatten().collect()
    }
}

fn redis_cli(redis: &Redis, words: &[&str]) -> String {
    let output = Command::new("redis-cli")
        .args(["-p", &redis.port.to_string()])
        .args(words)
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn given(name: &str, redis: &Redis) -> Given {
    Given {
        name: Some(name.to_owned()).filter(|name| !name.is_empty()),
        url: format!("redis://127.0.0.1:{}", redis.port),
    }
}

fn play(text: &str, servers: &Servers) -> (Result<Compared, Trouble>, Vec<String>) {
    play_with(text, &mut Player::new(servers.clone()).unwrap())
}

fn play_with(text: &str, player: &mut Player) -> (Result<Compared, Trouble>, Vec<String>) {
    let reading = read(text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let timeline = Timeline::replay(
        reading.setup.clone(),
        reading.schedule.iter().map(|line| line.action.clone()),
    );
    let mut said = Vec::new();
    let outcome = player.play(&reading, &timeline, &mut |what| said.push(what.to_owned()));
    (outcome, said)
}

/// The story's or the case's text.
fn scenario(name: &str) -> String {
    std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("scenarios")
            .join(name),
    )
    .unwrap()
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("scenarios")
        .join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

/// Plays every file of a folder on servers that the program starts: every one is played, and every line is compared.
fn check_folder_on_started(folder: &str) {
    let mut player = Player::new(on_started()).unwrap();
    let mut troubles = Vec::new();
    for file in files(folder) {
        let text = std::fs::read_to_string(&file).unwrap();
        let (outcome, said) = play_with(&text, &mut player);
        if let Err(trouble) = outcome {
            troubles.push(format!("{}:{trouble}", file.display()));
        }
        let waits = said.iter().filter(|what| what.contains("waiting"));
        troubles.extend(waits.map(|what| format!("{}:{what}", file.display())));
    }
    assert!(troubles.is_empty(), "\n{}", troubles.join("\n"));
}

/// Plays every file of a folder on servers that are given, with keys made to lapse; nothing is left behind.
fn check_folder(folder: &str, at_least: usize) {
    let both = Both::start(folder);
    let others = [Redis::start(), Redis::start()];
    let mut servers = both.addresses("", true);
    for name in ["r1", "main"] {
        servers.redis.push(both.redis_as(name));
    }
    for (names, other) in [(["r2", "other"], &others[0]), (["r3", ""], &others[1])] {
        let named = names.iter().filter(|name| !name.is_empty());
        servers.redis.extend(named.map(|name| given(name, other)));
    }
    let mut player = Player::new(servers).unwrap();
    let before = both.databases();
    let mut troubles = Vec::new();
    let (mut played, mut refused, mut own_names) = (0, 0, 0);
    for file in files(folder) {
        let text = std::fs::read_to_string(&file).unwrap();
        let (outcome, said) = play_with(&text, &mut player);
        let keeps_names = |what: &&String| what.contains("keys keep their own names");
        own_names += said.iter().filter(keeps_names).count();
        match outcome {
            Ok(_) => played += 1,
            // No server that others use can be made to go wrong.
            Err(Trouble::Impossible(why)) if why.contains("--start") => refused += 1,
            Err(trouble) => troubles.push(format!("{}:{trouble}", file.display())),
        }
    }
    assert!(troubles.is_empty(), "\n{}", troubles.join("\n"));
    assert!(
        played >= at_least && refused <= 10,
        "{played} played, {refused} refused"
    );
    assert_eq!(own_names, 0, "scripts name keys that are not their KEYS");
    for redis in [&both.redis, &others[0], &others[1]] {
        assert_eq!(redis_cli(redis, &["KEYS", "*"]), "");
    }
    assert_eq!(both.databases(), before);
}

#[test]
fn every_story_is_answered_as_the_playground_answers_it() {
    check_folder_on_started("stories");
}

#[test]
fn every_case_is_answered_as_the_playground_answers_it() {
    check_folder_on_started("cases");
}

#[test]
fn stories_are_played_on_servers_that_are_given() {
    check_folder("stories", 45);
}

#[test]
fn cases_are_played_on_servers_that_are_given() {
    check_folder("cases", 35);
}

#[test]
fn time_passes_really_unless_keys_are_made_to_lapse() {
    let both = Both::start("real-time");
    let text = scenario("stories/16a-charged-then-gone.latchkey");
    let begun = std::time::Instant::now();
    let (outcome, said) = play(&text, &both.addresses("test", false));
    assert_eq!(
        outcome,
        Ok(Compared {
            replies: 7,
            rows: 1,
            keys: 2
        })
    );
    assert!(begun.elapsed().as_millis() >= 2001);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].ends_with(": waiting for 2.001 s"), "{said:?}");
    let (outcome, said) = play(&text, &both.addresses("test", true));
    assert_eq!(
        outcome,
        Ok(Compared {
            replies: 7,
            rows: 1,
            keys: 2
        })
    );
    assert!(
        said[0].ends_with(": 2.001 s are not waited for: lock:sku-1 expired"),
        "{said:?}"
    );
}

#[test]
fn what_is_there_already_is_left_alone() {
    let both = Both::start("left-alone");
    let text = scenario("stories/07a-split-acquire.latchkey");
    both.redis_cli(&["SET", "latchkey:test:fence:sku-1", "41"]);
    let impossible = |text: &str, servers: &Servers| match play(text, servers).0 {
        Err(Trouble::Impossible(why)) => why,
        other => panic!("{other:?}"),
    };
    let why = impossible(&text, &both.addresses("test", true));
    assert_eq!(
        why,
        "Redis has the key latchkey:test:fence:sku-1 already, and it is left alone"
    );
    let left = both.redis_cli(&["GET", "latchkey:test:fence:sku-1"]);
    assert_eq!(left, "41");
    both.redis_cli(&["DEL", "latchkey:test:fence:sku-1"]);
    both.redis_cli(&["SET", "fence:sku-1", "41"]);
    let own_names = Servers {
        prefix: None,
        ..both.addresses("test", true)
    };
    let why = impossible(&text, &own_names);
    assert_eq!(
        why,
        "Redis has the key fence:sku-1 already, and it is left alone"
    );
    assert!(play(&text, &both.addresses("test", true)).0.is_ok());
    assert_eq!(both.redis_cli(&["GET", "fence:sku-1"]), "41");
    assert_eq!(both.redis_cli(&["DBSIZE"]), "1");
    let with_space = Servers {
        prefix: Some("my keys:".to_owned()),
        ..both.addresses("test", true)
    };
    assert_eq!(
        impossible(&text, &with_space),
        "`my keys:` is no prefix of keys: letters, digits and : . _ - / { } are expected"
    );
    let mut connection = both.mariadb.connect(false).unwrap();
    connection.ask("CREATE TABLE inventory (mine INT)").unwrap();
    let why = impossible(&text, &both.addresses("test", true));
    assert_eq!(
        why,
        "the database has the table inventory already, and it is left alone"
    );
    assert!(matches!(
        connection.ask("SELECT mine FROM inventory").unwrap(),
        mariadb::Answer::Rows(_)
    ));
    // In a database of its own there is room.
    assert!(play(&text, &both.addresses("", true)).0.is_ok());
    for (servers, expected) in [
        (
            Servers {
                redis: Vec::new(),
                ..both.addresses("", true)
            },
            "the scenario asks Redis: --redis URL is needed, or --start",
        ),
        (
            Servers {
                mysql: None,
                ..both.addresses("", true)
            },
            "the scenario asks the database: --mysql URL is needed, or --start",
        ),
    ] {
        assert_eq!(impossible(&text, &servers), expected);
    }
}

#[test]
fn keys_and_channels_have_a_prefix_and_replies_do_not_show_it() {
    let both = Both::start("prefix");
    both.redis_cli(&["SET", "theirs", "1"]);
    let text = "schedule
  operator> MSET a 1 b 2
  operator> KEYS [at]*
  operator> SCAN 0 MATCH a*
  operator> RPUSH list x
  operator> BLPOP none list 0
  operator> EVAL \"return {KEYS[1], redis.call('GET', KEYS[1])}\" 1 a
  operator> EVAL \"return redis.call('INCR', KEYS[1] .. KEYS[2])\" 2 a :n
  operator> LPUSH a x
  operator> PUBLISH news k
  operator> DEL a b a:n
";
    let (outcome, said) = play(text, &both.addresses("", true));
    // The second script makes a name of two, before each of which stands the prefix.
    assert_eq!(
        said,
        ["8: keys keep their own names: the script of EVAL names keys that are not among its KEYS"]
    );
    assert!(
        matches!(&outcome, Err(Trouble::Difference { line: Some(3), .. })),
        "{outcome:?}"
    );
    let without = text.replace(" .. KEYS[2]", " .. ':n'");
    let (outcome, said) = play(&without, &both.addresses("", true));
    assert!(said.is_empty(), "{said:?}");
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!(both.redis_cli(&["KEYS", "*"]), "theirs");
}

#[test]
fn what_is_about_a_whole_database_is_not_done_to_the_keys_of_others() {
    let both = Both::start("whole");
    let text = "schedule\n  operator> SET a 1\n  operator> FLUSHALL\n  operator> DBSIZE\n";
    assert!(play(text, &both.addresses("", true)).0.is_ok());
    both.redis_cli(&["SET", "theirs", "1"]);
    let (outcome, _) = play(text, &both.addresses("", true));
    let why =
        "3: FLUSHALL is about everything in the database of Redis, and other keys are in this one";
    assert_eq!(outcome, Err(Trouble::Impossible(why.to_owned())));
    assert_eq!(both.redis_cli(&["GET", "theirs"]), "1");
}

#[test]
fn the_first_difference_is_told_with_its_line() {
    let both = Both::start("difference");
    both.redis_cli(&["CONFIG", "SET", "hash-max-listpack-entries", "1"]);
    let text = "schedule\n  operator> HSET h a 1 b 2 c 3\n  operator> OBJECT ENCODING h\n  operator> GET h\n";
    match play(text, &both.addresses("", true)).0 {
        Err(Trouble::Difference {
            line,
            what,
            servers,
            ..
        }) => {
            assert_eq!(
                (line, what.as_str(), servers.as_str()),
                (Some(3), "operator> OBJECT ENCODING h", "\"hashtable\"")
            );
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(both.redis_cli(&["DBSIZE"]), "0");
}

#[test]
fn servers_that_are_given_become_replicas_where_that_is_allowed_and_they_are_empty() {
    let both = Both::start("replicas");
    let (copy, other) = (Redis::start(), Redis::start());
    let text = "server main
replica copy of main

store
  SET n 1

client A, B

schedule
  A copy> GET n
  A> INCR n
  A> SET k v
  A copy> GET n
  replicate 1 command to copy
  A copy> GET n
  A copy> GET k
  A copy> SET n 9
  A> WAIT 1 0
  B> WAIT 1 0
  replicate to copy
  A copy> GET k
  A> WAIT 1 0
";
    let mut servers = Servers {
        redis: vec![both.redis_as("main"), given("copy", &copy)],
        ..both.addresses("", false)
    };
    let refusal = |servers: &Servers| match play(text, servers).0 {
        Err(Trouble::Impossible(why)) => why,
        other => panic!("{other:?}"),
    };
    assert!(refusal(&servers).contains("--may-replicate"));
    servers.may_replicate = true;
    both.redis_cli(&["SET", "theirs", "1"]);
    let (outcome, said) = play(text, &servers);
    assert!(said.is_empty(), "{said:?}");
    assert!(
        matches!(outcome, Ok(Compared { replies: 11, .. })),
        "{outcome:?}"
    );
    let roles = [&both.redis, &copy].map(|redis| redis_cli(redis, &["ROLE"]));
    assert!(
        roles.iter().all(|role| role.starts_with("master")),
        "{roles:?}"
    );
    assert_eq!(both.redis_cli(&["KEYS", "*"]), "theirs");
    assert_eq!(redis_cli(&copy, &["DBSIZE"]), "0");
    redis_cli(&copy, &["SET", "mine", "1"]);
    assert_eq!(
        refusal(&servers),
        "copy has keys already, which it would lose as a replica, and it is left alone"
    );
    assert_eq!(redis_cli(&copy, &["GET", "mine"]), "1");
    let port = copy.port.to_string();
    redis_cli(&other, &["REPLICAOF", "127.0.0.1", &port]);
    servers.redis[1] = given("copy", &other);
    assert_eq!(
        refusal(&servers),
        "copy is a replica or has one already, and it is left alone"
    );
    servers.redis[1] = both.redis_as("copy");
    assert_eq!(
        refusal(&servers),
        "main and copy are the same Redis, and the scenario has several"
    );
    servers.redis.pop();
    assert_eq!(
        refusal(&servers),
        "the scenario asks the Redis server copy: --redis copy=URL is needed, or --start"
    );
}

fn on_started() -> Servers {
    Servers {
        start: true,
        ..Servers::default()
    }
}

#[test]
fn a_millisecond_makes_a_difference_on_servers_that_are_started() {
    let text = |milliseconds: u64| {
        format!(
            "protocol p\n  one: SET k v PX {milliseconds}\n\nclient A: p\n\nschedule\n  A one\n  clock +999ms\n"
        )
    };
    let read = |milliseconds| read(&text(milliseconds)).unwrap();
    let (asked, told) = (read(5000), read(5001));
    let timeline = Timeline::replay(
        told.setup.clone(),
        told.schedule.iter().map(|line| line.action.clone()),
    );
    let mut player = Player::new(on_started()).unwrap();
    let outcome = player.play(&asked, &timeline, &mut |_| {});
    let expected = Trouble::Difference {
        line: None,
        what: "the time to live of k".to_owned(),
        playground: "4002".to_owned(),
        servers: "4001".to_owned(),
    };
    assert_eq!(outcome, Err(expected));
}

#[test]
fn a_replica_cannot_receive_a_part_of_what_was_written_before_a_crash() {
    let text = "server main\nreplica copy of main\n\nschedule\n  operator> INCR n\n  operator> INCR n\n  crash main\n  restart main\n  PART\n  operator copy> GET n\n";
    let (outcome, _) = play(&text.replace("PART", "replicate to copy"), &on_started());
    assert!(
        matches!(outcome, Ok(Compared { replies: 3, .. })),
        "{outcome:?}"
    );
    let part = text.replace("PART", "replicate 1 command to copy");
    match play(&part, &on_started()).0 {
        Err(Trouble::Impossible(why)) => {
            assert!(
                why.starts_with("9: replicate 1 command to copy: where the primary has crashed"),
                "{why}"
            );
        }
        other => panic!("{other:?}"),
    }
}

/// Where programs are found by those that are started here: redis-server alone.
fn folder_without_compiler(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let paths = std::env::var_os("PATH").unwrap();
    let found = std::env::split_paths(&paths)
        .map(|path| path.join("redis-server"))
        .find(|path| path.exists());
    std::os::unix::fs::symlink(found.unwrap(), folder.join("redis-server")).unwrap();
    folder
}

fn latchkey(file: &Path, path: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_latchkey"));
    command.arg("run").arg(file).arg("--start");
    command.env("PATH", path).env("TMPDIR", path);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn printed(output: Output) -> (String, String, Option<i32>) {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        text(output.stdout),
        text(output.stderr),
        output.status.code(),
    )
}

#[test]
fn without_a_compiler_time_passes_really_and_no_clock_jumps() {
    let path = folder_without_compiler("without-compiler");
    let file = path.join("jumps.latchkey");
    std::fs::write(
        &file,
        "schedule\n  operator> SET k v PX 50\n  clock +51ms\n  operator> GET k\n",
    )
    .unwrap();
    let (out, err, status) = printed(latchkey(&file, &path).output().unwrap());
    assert!(
        out.ends_with(": the servers agree in 2 replies, 0 rows and 1 keys\n"),
        "{out}{err}"
    );
    let why = "a C compiler (cc) is needed to set the clocks of servers, and none is installed";
    assert!(
        err.contains(&format!(" time passes really: {why}\n")),
        "{err}"
    );
    assert_eq!(status, Some(0));
    std::fs::write(&file, "schedule\n  clock of store +5s\n  operator> TIME\n").unwrap();
    let (out, _, status) = printed(latchkey(&file, &path).output().unwrap());
    assert!(
        out.ends_with(&format!(":2: this cannot be played: {why}\n")),
        "{out}"
    );
    assert_eq!(status, Some(1));
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn an_interrupted_run_ends_the_servers_that_it_has_started() {
    let path = folder_without_compiler("interrupted");
    let file = path.join("waits.latchkey");
    let text = "schedule\n  operator> SET k v\n  clock +60s\n";
    std::fs::write(&file, text).unwrap();
    for signal in ["-INT", "-TERM"] {
        let mut running = latchkey(&file, &path).spawn().unwrap();
        let mut lines = BufReader::new(running.stderr.take().unwrap()).lines();
        let mut said = |what: &str| {
            let mut rest = lines.by_ref().map(Result::unwrap);
            rest.find(|line| line.contains(what)).unwrap()
        };
        let line = said("store is a redis-server");
        let id = line.rsplit_once("process ").unwrap().1;
        let id = id.trim_end_matches(')').to_owned();
        let process = Path::new("/proc").join(&id);
        said(":3: waiting for 60 s");
        assert!(process.exists());
        let own = running.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &own])
                .status()
                .unwrap()
                .success()
        );
        said(&format!("stopped: process {id}"));
        let (out, _, status) = printed(running.wait_with_output().unwrap());
        assert!(out.ends_with(": interrupted\n"), "{out}");
        assert_eq!(status, Some(1));
        assert!(!process.exists());
        let left: Vec<_> = std::fs::read_dir(&path)
            .unwrap()
            .flatten()
            .map(|it| it.file_name())
            .filter(|name| name.to_string_lossy().starts_with("latchkey-"))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
    std::fs::remove_dir_all(&path).unwrap();
}
