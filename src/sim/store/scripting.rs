//! Scripts: EVAL and EVALSHA with their read-only forms, and the script cache.
//!
//! A script runs as one command: nothing else happens meanwhile, the clock stands still, and every
//! command that it calls is a fact of its own. The interpreter is in [`super::lua`]; here is what it
//! may reach.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::StoreFact;
use super::call::{Answer, Call, Instead};
use super::dispatch;
use super::lua::{self, Host, Limits, Script};
use super::reply::Reply;
use super::run::Run;
use super::sha1;

/// The script cache: the compiled scripts in the order of their SHA-1 digests, which also decide
/// equality.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Scripts(Arc<Vec<Cached>>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Cached {
    script: Script,
    /// Whether it begins with `#!lua`; without that, it runs by the rules from before Redis 7.
    has_shebang: bool,
}

impl Hash for Scripts {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for cached in self.0.iter() {
            cached.script.sha1().hash(state);
        }
    }
}

impl Scripts {
    /// Where the script of this digest stands, or where it would go.
    fn place(&self, digest: &str) -> Result<usize, usize> {
        self.0
            .binary_search_by(|cached| cached.script.sha1().cmp(digest))
    }

    fn get(&self, digest: &str) -> Option<&Cached> {
        self.place(digest).ok().and_then(|place| self.0.get(place))
    }
}

pub(super) fn eval(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    evaluate(run, call, Named::BySource, false)
}

pub(super) fn eval_ro(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    evaluate(run, call, Named::BySource, true)
}

pub(super) fn evalsha(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    evaluate(run, call, Named::ByDigest, false)
}

pub(super) fn evalsha_ro(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    evaluate(run, call, Named::ByDigest, true)
}

const NO_SCRIPT: &str = "NOSCRIPT No matching script. Please use EVAL.";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    BySource,
    ByDigest,
}

fn evaluate(run: &mut Run<'_>, call: &Call<'_>, named: Named, read_only: bool) -> Answer {
    if named == Named::ByDigest && call.arg(1).len() != 40 {
        return Err(NO_SCRIPT.into());
    }
    let number = call.integer(2)?;
    if number > i64::try_from(call.len()).unwrap_or(i64::MAX) - 3 {
        return Err("ERR Number of keys can't be greater than number of args".into());
    }
    let number = usize::try_from(number).map_err(|_| "ERR Number of keys can't be negative")?;
    let digest = match named {
        Named::BySource => sha1::hex_digest(call.arg(1)),
        Named::ByDigest => String::from_utf8_lossy(call.arg(1)).to_ascii_lowercase(),
    };
    let cached = match (run.store.scripts.get(&digest).cloned(), named) {
        (Some(cached), _) => cached,
        (None, Named::BySource) => load(run, &digest, call.arg(1))?,
        (None, Named::ByDigest) => return Err(NO_SCRIPT.into()),
    };
    let (keys, arguments) = call.from(3).split_at(number);
    let rules = Rules::of(run, &cached, read_only)?;
    run.depth += 1;
    let mut host = ScriptHost { run, rules };
    let reply = lua::run(
        &cached.script,
        keys,
        arguments,
        &mut host,
        Limits::default(),
    );
    run.depth -= 1;
    match reply {
        Reply::Error(text) => Err(text.into()),
        reply => Ok(reply),
    }
}

/// What a script may do.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    pub(super) read_only: bool,
    /// Whether it may write although memory is full.
    pub(super) may_exceed_memory: bool,
}

impl Rules {
    /// What the flags of the script allow; only one with a shebang can be refused for them.
    fn of(run: &Run<'_>, cached: &Cached, read_only: bool) -> Result<Rules, Instead> {
        let has = |name: &str| cached.script.flags().iter().any(|flag| flag == name);
        let (no_writes, allow_oom) = (has("no-writes"), has("allow-oom"));
        if cached.has_shebang && !no_writes {
            if read_only {
                return Err(
                    "ERR Can not execute a script with write flag using *_ro command.".into(),
                );
            }
            if run.store.is_replica() {
                return Err(
                    "READONLY You can not run script with write flag on readonly replica.".into(),
                );
            }
            if run.memory_is_full() && !allow_oom {
                return Err("OOM allow-oom flag is not set on the script, can not run it when used memory > 'maxmemory'".into());
            }
        }
        Ok(Rules {
            read_only: read_only || no_writes,
            may_exceed_memory: allow_oom,
        })
    }
}

/// The store as a running script reaches it.
struct ScriptHost<'a, 'r> {
    run: &'a mut Run<'r>,
    rules: Rules,
}

impl Host for ScriptHost<'_, '_> {
    fn call(&mut self, argv: Vec<Vec<u8>>) -> Reply {
        dispatch::command_of_script(self.run, &argv, self.rules)
    }

    fn log(&mut self, level: i64, message: Vec<u8>) {
        self.run.tell(StoreFact::Log { level, message });
    }
}

/// Compiles a script and puts it into the cache.
fn load(run: &mut Run<'_>, digest: &str, source: &[u8]) -> Result<Cached, Instead> {
    let script = Script::parse_or_reply(source).map_err(|error| match error {
        Reply::Error(text) => Instead::from(text),
        other => Instead::from(other.print_short()),
    })?;
    let cached = Cached {
        script,
        has_shebang: source.starts_with(b"#!"),
    };
    if let Err(place) = run.store.scripts.place(digest) {
        Arc::make_mut(&mut run.store.scripts.0).insert(place, cached.clone());
    }
    Ok(cached)
}

pub(super) fn script_load(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let digest = sha1::hex_digest(call.arg(2));
    if run.store.scripts.get(&digest).is_none() {
        load(run, &digest, call.arg(2))?;
    }
    Ok(Reply::bulk(digest))
}

pub(super) fn script_exists(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let known = |digest: &Vec<u8>| {
        let digest = String::from_utf8_lossy(digest).to_ascii_lowercase();
        Reply::yes(run.store.scripts.get(&digest).is_some())
    };
    Ok(Reply::Array(call.from(2).iter().map(known).collect()))
}

pub(super) fn script_flush(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    if call.len() > 3 || (call.len() == 3 && !call.is(2, "SYNC") && !call.is(2, "ASYNC")) {
        return Err("ERR SCRIPT FLUSH only support SYNC|ASYNC option".into());
    }
    run.store.scripts = Scripts::default();
    Ok(Reply::ok())
}
