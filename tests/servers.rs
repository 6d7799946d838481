//! Scenarios on a real Redis and a real MariaDB: every story and every case is answered as the playground answers it. `./check` runs
//! it in a stage of its own.
#![cfg(unix)]
// A test that cannot reach its server has failed; there is nobody to hand the error to.
#![allow(clippy::unwrap_used)]

#[path = "support/mariadb.rs"]
mod mariadb;
#[path = "support/plain_redis.rs"]
mod plain_redis;

use std::path::{Path, PathBuf};
use std::process::Command;

use latchkey::scenario::read;
use latchkey::servers::{Compared, Servers, Trouble, run};
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
            redis: Some(format!("redis://127.0.0.1:{}", self.redis.port)),
            mysql: Some(format!(
                "mysql://root@127.0.0.1:{}/{database}",
                self.mariadb.port()
            )),
            prefix: Some("latchkey:test:".to_owned()),
            lapse,
        }
    }

    fn redis_cli(&self, words: &[&str]) -> String {
        let output = Command::new("redis-cli")
            .args(["-p", &self.redis.port.to_string()])
            .args(words)
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn databases(&self) -> Vec<String> {
        let mut connection = self.mariadb.connect(false).unwrap();
        let mariadb::Answer::Rows(rows) = connection.ask("SHOW DATABASES").unwrap() else {
            panic!("no databases");
        };
        rows.into_iter().flatten().flatten().collect()
    }
}

fn play(text: &str, servers: &Servers) -> (Result<Compared, Trouble>, Vec<String>) {
    let reading = read(text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let timeline = Timeline::replay(
        reading.setup.clone(),
        reading.schedule.iter().map(|line| line.action.clone()),
    );
    let mut said = Vec::new();
    let outcome = run(&reading, &timeline, servers, &mut |what| {
        said.push(what.to_owned())
    });
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

/// Plays every file of a folder with keys made to lapse; nothing is left behind.
fn check_folder(folder: &str, at_least: usize) {
    let both = Both::start(folder);
    let servers = both.addresses("", true);
    let before = both.databases();
    let mut troubles = Vec::new();
    let (mut played, mut refused, mut own_names) = (0, 0, 0);
    for file in files(folder) {
        let text = std::fs::read_to_string(&file).unwrap();
        let (outcome, said) = play(&text, &servers);
        let keeps_names = |what: &&String| what.contains("keys keep their own names");
        own_names += said.iter().filter(keeps_names).count();
        match outcome {
            Ok(_) => played += 1,
            // No server that others use can be made to go wrong, and one Redis is not several.
            Err(Trouble::Impossible(why))
                if why.contains("this cannot be played")
                    || why.contains("several Redis servers") =>
            {
                refused += 1
            }
            Err(trouble) => troubles.push(format!("{}:{trouble}", file.display())),
        }
    }
    assert!(troubles.is_empty(), "\n{}", troubles.join("\n"));
    assert!(
        played >= at_least && refused < played / 2,
        "{played} played, {refused} refused"
    );
    assert_eq!(own_names, 0, "scripts name keys that are not their KEYS");
    assert_eq!(both.redis_cli(&["DBSIZE"]), "0");
    assert_eq!(both.databases(), before);
}

#[test]
fn every_story_is_answered_as_the_playground_answers_it() {
    check_folder("stories", 40);
}

#[test]
fn every_case_is_answered_as_the_playground_answers_it() {
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
                redis: None,
                ..both.addresses("", true)
            },
            "the scenario asks Redis: --redis URL is needed",
        ),
        (
            Servers {
                mysql: None,
                ..both.addresses("", true)
            },
            "the scenario asks the database: --mysql URL is needed",
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
