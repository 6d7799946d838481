//! Keys and channels under a prefix of one's own, so that what others have in the same Redis is not touched.
//!
//! ```text
//! SET lock:sku-1 A-1 NX   ──►   SET latchkey:71:lock:sku-1 A-1 NX
//! "lock:sku-1"            ◄──   "latchkey:71:lock:sku-1"
//! ```

use crate::sim::ConnectionId;
use crate::sim::action::ServerId;
use crate::sim::store::reply::Reply;
use crate::sim::store::{Store, StoreFact, StoreInput, command_of};

/// The connection on which scripts are tried; nobody has it.
const NOBODY: ConnectionId = ConnectionId(u32::MAX);

/// A command, as it is sent somewhere in a schedule.
pub(super) struct Sent {
    /// The line of the text; `None`: it stands before the schedule.
    pub line: Option<usize>,
    /// Where it is sent.
    pub server: ServerId,
    /// The command.
    pub argv: Vec<Vec<u8>>,
    /// The commands that its connection has queued since MULTI; `None` outside of a transaction. None will be run where a key that is
    /// watched has been touched.
    pub queued: Option<Vec<Vec<Vec<u8>>>>,
    /// What the playground's Redis has then.
    pub store: Store,
    /// The wall clock's time in milliseconds since 1970.
    pub now: u64,
}

impl Sent {
    /// `12: `, or nothing.
    pub fn place(&self) -> String {
        self.line
            .map_or_else(String::new, |line| format!("{line}: "))
    }

    /// What is run when it is sent: the command itself, or for EXEC those that wait for it. A command that waits in a transaction is
    /// run later.
    fn run(&self) -> Vec<Vec<Vec<u8>>> {
        match (&self.queued, name_of(&self.argv).as_str()) {
            (None, _) => vec![self.argv.clone()],
            (Some(queued), "EXEC") => queued.clone(),
            (Some(_), _) => Vec::new(),
        }
    }

    /// The commands that scripts call when it is sent.
    fn calls(&self) -> Vec<Vec<Vec<u8>>> {
        called(self.store.clone(), &self.run(), self.now)
    }

    /// A command that is about everything in a database: this one, or one that its script calls.
    pub fn about_everything(&self) -> Option<String> {
        let all = [self.run(), self.calls()].concat();
        let mut names = all.iter().map(|argv| name_of(argv));
        names.find(|name| matches!(&**name, "DBSIZE" | "FLUSHALL" | "FLUSHDB" | "RANDOMKEY"))
    }
}

/// What stands before every key and every channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prefix(String);

impl Prefix {
    /// Reads a prefix. It goes into patterns and into scripts, so that it is made of letters, digits and a few signs.
    pub fn read(text: &str) -> Result<Prefix, String> {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || ":._-/{}".contains(letter);
        match text.chars().all(is_plain) && !text.is_empty() {
            true => Ok(Prefix(text.to_owned())),
            false => Err(format!(
                "`{text}` is no prefix of keys: letters, digits and : . _ - / {{ }} are expected"
            )),
        }
    }

    /// A name behind the prefix.
    pub fn before(&self, name: &[u8]) -> Vec<u8> {
        [self.0.as_bytes(), name].concat()
    }

    /// A command with the prefix before its keys, channels and patterns.
    pub fn request(&self, argv: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut out = argv.to_vec();
        for place in names_in(argv) {
            if let Some(name) = out.get_mut(place) {
                *name = self.before(name);
            }
        }
        // Without a pattern these two look at everybody's.
        match (name_of(argv).as_str(), argv.len()) {
            ("SCAN", _) if pattern_of_scan(argv).is_none() => {
                out.extend([b"MATCH".to_vec(), self.before(b"*")]);
            }
            ("PUBSUB CHANNELS", 2) => out.push(self.before(b"*")),
            _ => {}
        }
        out
    }

    /// A reply without the prefix, wherever it stands in it.
    pub fn reply(&self, reply: Reply) -> Reply {
        match reply {
            Reply::Bulk(bytes) => Reply::Bulk(self.without(&bytes)),
            Reply::Status(text) => Reply::Status(text.replace(&self.0, "")),
            Reply::Error(text) => Reply::Error(text.replace(&self.0, "")),
            Reply::Array(items) => {
                Reply::Array(items.into_iter().map(|item| self.reply(item)).collect())
            }
            other => other,
        }
    }

    fn without(&self, bytes: &[u8]) -> Vec<u8> {
        let prefix = self.0.as_bytes();
        let (mut out, mut rest) = (Vec::new(), bytes);
        while let Some((first, behind)) = rest.split_first() {
            match rest.strip_prefix(prefix) {
                Some(behind) => rest = behind,
                None => {
                    out.push(*first);
                    rest = behind;
                }
            }
        }
        out
    }

    /// Why a command cannot be sent under the prefix, where it cannot. A script is tried in the playground: with the prefix before
    /// its KEYS it has to do to the keys behind the prefix what it does to the keys.
    pub fn refusal(&self, sent: &Sent) -> Option<String> {
        if command_of(&sent.argv).is_none() {
            let name = name_of(&sent.argv);
            return Some(format!("nobody knows which arguments of {name} are keys"));
        }
        let run = sent.run();
        let plain = sent.calls();
        let mut moved = sent.store.clone();
        for (key, _) in sent.store.keys() {
            moved.apply(StoreInput::Command {
                connection: NOBODY,
                argv: &[b"RENAME".to_vec(), key.to_vec(), self.before(key)],
                now: sent.now,
            });
        }
        let before_keys: Vec<Vec<Vec<u8>>> = run.iter().map(|argv| self.request(argv)).collect();
        let moved = called(moved, &before_keys, sent.now);
        let is_same = plain.len() == moved.len()
            && plain
                .iter()
                .zip(&moved)
                .all(|(plain, moved)| self.is_moved(plain, moved));
        let of_script = |argv: &&Vec<Vec<u8>>| name_of(argv).starts_with("EVAL");
        let name = run.iter().find(of_script).unwrap_or(&sent.argv);
        let name = name_of(name);
        (!is_same).then(|| format!("the script of {name} names keys that are not among its KEYS"))
    }

    /// Whether a script's call is the same behind the prefix.
    fn is_moved(&self, plain: &[Vec<u8>], moved: &[Vec<u8>]) -> bool {
        let names = names_in(plain);
        let is_same =
            |(place, (plain, moved)): (usize, (&Vec<u8>, &Vec<u8>))| match names.contains(&place) {
                true => *moved == self.before(plain),
                false => *plain == self.without(moved),
            };
        plain.len() == moved.len() && plain.iter().zip(moved).enumerate().all(is_same)
    }
}

/// The commands that scripts call when these commands are run, one after the other.
fn called(mut store: Store, run: &[Vec<Vec<u8>>], now: u64) -> Vec<Vec<Vec<u8>>> {
    let mut calls = Vec::new();
    for argv in run {
        let output = store.apply(StoreInput::Command {
            connection: NOBODY,
            argv,
            now,
        });
        calls.extend(output.facts.into_iter().filter_map(|fact| match fact {
            StoreFact::Command { depth, argv, .. } if depth > 0 => Some(argv),
            _ => None,
        }));
        // What would wait does not in a transaction, and nobody waits here.
        store.apply(StoreInput::Disconnect { connection: NOBODY });
    }
    calls
}

/// The places of keys, channels and patterns in a command.
fn names_in(argv: &[Vec<u8>]) -> Vec<usize> {
    let behind = |place: usize| (place..argv.len()).collect();
    match name_of(argv).as_str() {
        "SUBSCRIBE" | "PSUBSCRIBE" | "UNSUBSCRIBE" | "PUNSUBSCRIBE" => behind(1),
        "PUBSUB NUMSUB" | "PUBSUB CHANNELS" => behind(2),
        "PUBLISH" | "KEYS" => vec![1],
        "SCAN" => pattern_of_scan(argv).into_iter().collect(),
        _ => command_of(argv).map_or_else(Vec::new, |command| command.key_places(argv)),
    }
}

/// Where SCAN has its pattern.
fn pattern_of_scan(argv: &[Vec<u8>]) -> Option<usize> {
    let option = argv.iter().skip(2).step_by(2);
    let place = option
        .enumerate()
        .find(|(_, word)| word.eq_ignore_ascii_case(b"MATCH"))
        .map(|(place, _)| place * 2 + 3)?;
    (place < argv.len()).then_some(place)
}

/// A command's name in capitals, with its subcommand where it is PUBSUB's.
fn name_of(argv: &[Vec<u8>]) -> String {
    let upper = |word: &Vec<u8>| String::from_utf8_lossy(word).to_ascii_uppercase();
    let name = argv.first().map(upper).unwrap_or_default();
    match argv.get(1) {
        Some(word) if name == "PUBSUB" => format!("{name} {}", upper(word)),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argv(line: &str) -> Vec<Vec<u8>> {
        let words = line.split(' ');
        words
            .map(|word| word.replace('_', " ").into_bytes())
            .collect()
    }

    #[test]
    fn keys_channels_and_patterns_get_the_prefix_and_nothing_else_does() {
        let prefix = Prefix::read("p:").unwrap_or_else(|why| panic!("{why}"));
        for (plain, prefixed) in [
            ("GET k", "GET p:k"),
            ("set k v PX 10", "set p:k v PX 10"),
            ("MSET a 1 b 2", "MSET p:a 1 p:b 2"),
            ("BLPOP a b 0", "BLPOP p:a p:b 0"),
            ("EVAL return_1 2 a b c", "EVAL return_1 2 p:a p:b c"),
            ("ZUNIONSTORE d 2 a b", "ZUNIONSTORE p:d 2 p:a p:b"),
            ("PUBLISH news k", "PUBLISH p:news k"),
            ("SUBSCRIBE a b", "SUBSCRIBE p:a p:b"),
            ("PSUBSCRIBE n*", "PSUBSCRIBE p:n*"),
            ("PUNSUBSCRIBE", "PUNSUBSCRIBE"),
            ("PUBSUB CHANNELS", "PUBSUB CHANNELS p:*"),
            ("PUBSUB CHANNELS n*", "PUBSUB CHANNELS p:n*"),
            ("PUBSUB NUMSUB a b", "PUBSUB NUMSUB p:a p:b"),
            ("KEYS *", "KEYS p:*"),
            ("SCAN 0", "SCAN 0 MATCH p:*"),
            ("SCAN 0 COUNT 5 match l*", "SCAN 0 COUNT 5 match p:l*"),
            ("SCAN 0 COUNT 5", "SCAN 0 COUNT 5 MATCH p:*"),
            ("PING", "PING"),
            ("SCRIPT LOAD return_1", "SCRIPT LOAD return_1"),
        ] {
            assert_eq!(prefix.request(&argv(plain)), argv(prefixed), "{plain}");
        }
    }

    #[test]
    fn replies_lose_the_prefix_wherever_it_stands() {
        let prefix = Prefix::read("p:").unwrap_or_else(|why| panic!("{why}"));
        let reply = Reply::Array(vec![
            Reply::bulk("p:k"),
            Reply::Array(vec![Reply::bulk("p:"), Reply::Nil, Reply::Integer(3)]),
            Reply::Error("ERR p:k and p:j".to_owned()),
            Reply::bulk("pp:x"),
        ]);
        let bare = Reply::Array(vec![
            Reply::bulk("k"),
            Reply::Array(vec![Reply::bulk(""), Reply::Nil, Reply::Integer(3)]),
            Reply::Error("ERR k and j".to_owned()),
            Reply::bulk("px"),
        ]);
        assert_eq!(prefix.reply(reply), bare);
        for wrong in ["", "a b", "a*", "it's", "ü:"] {
            assert!(Prefix::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_script_that_names_keys_itself_is_refused() {
        let prefix = Prefix::read("p:").unwrap_or_else(|why| panic!("{why}"));
        let mut store = Store::default();
        let set = argv("SET lock A");
        store.apply(StoreInput::Command {
            connection: NOBODY,
            argv: &set,
            now: 0,
        });
        let sent = |argv: Vec<Vec<u8>>| Sent {
            line: None,
            server: ServerId::FIRST,
            argv,
            queued: None,
            store: store.clone(),
            now: 0,
        };
        let refusal = |script: &str| {
            let mut eval = argv("EVAL s 1 lock other");
            eval[1] = script.as_bytes().to_vec();
            prefix.refusal(&sent(eval))
        };
        for fine in [
            "return redis.call('GET', KEYS[1])",
            "redis.call('PUBLISH', KEYS[1] .. ':news', ARGV[1])",
            "if redis.call('GET', KEYS[1]) == 'A' then return redis.call('DEL', KEYS[1]) end",
        ] {
            assert_eq!(refusal(fine), None, "{fine}");
        }
        for wrong in [
            "return redis.call('GET', 'lock')",
            "return redis.call('GET', KEYS[1] .. KEYS[1])",
            "return redis.call('SET', ARGV[1], '1')",
            "redis.call('PUBLISH', 'news', 'free')",
            "if KEYS[1] == 'lock' then return redis.call('DEL', KEYS[1]) end",
        ] {
            assert!(refusal(wrong).is_some(), "{wrong}");
        }
        // In a transaction it is EXEC that runs it, after what stands before it.
        let queued = |script: &str| {
            let mut eval = argv("EVAL s 1 lock");
            eval[1] = script.as_bytes().to_vec();
            prefix.refusal(&Sent {
                queued: Some(vec![argv("SET flag 1"), eval]),
                ..sent(argv("EXEC"))
            })
        };
        let looks =
            "if redis.call('EXISTS', KEYS[1]) == 1 then return redis.call('GET', 'flag') end";
        assert_eq!(
            queued(looks).as_deref(),
            Some("the script of EVAL names keys that are not among its KEYS")
        );
        assert_eq!(queued("return redis.call('GET', KEYS[1])"), None);
        let mut waits = sent(argv("EVAL s 1 lock"));
        waits.queued = Some(Vec::new());
        assert_eq!(prefix.refusal(&waits), None);
        assert!(prefix.refusal(&sent(argv("OBJECT ENCODING k"))).is_some());
        assert_eq!(prefix.refusal(&sent(argv("GET k"))), None);
    }
}
