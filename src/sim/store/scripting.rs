//! Scripts: EVAL and EVALSHA with their read-only forms, the script cache, and the shebang line that
//! a script may begin with.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::call::{Answer, Call, Instead};
use super::reply::Reply;
use super::run::Run;
use super::sha1;
use super::value::Bytes;

/// The script cache: the sources by their SHA-1 digest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Scripts(Arc<BTreeMap<String, Bytes>>);

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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    BySource,
    ByDigest,
}

fn evaluate(run: &mut Run<'_>, call: &Call<'_>, named: Named, read_only: bool) -> Answer {
    let number = call.integer(2)?;
    if number > i64::try_from(call.len()).unwrap_or(i64::MAX) - 3 {
        return Err("ERR Number of keys can't be greater than number of args".into());
    }
    let number = usize::try_from(number).map_err(|_| "ERR Number of keys can't be negative")?;
    let digest = match named {
        Named::BySource => sha1::hex_digest(call.arg(1)),
        Named::ByDigest => String::from_utf8_lossy(call.arg(1)).to_ascii_lowercase(),
    };
    let source = match (run.store.scripts.0.get(&digest).cloned(), named) {
        (Some(source), _) => source,
        (None, Named::BySource) => load(run, digest.clone(), call.arg(1))?,
        (None, Named::ByDigest) => {
            return Err("NOSCRIPT No matching script. Please use EVAL.".into());
        }
    };
    let (keys, arguments) = call.from(3).split_at(number);
    run_script(run, &source, keys, arguments, read_only)
}

/// Checks a script and puts it into the cache.
fn load(run: &mut Run<'_>, digest: String, source: &[u8]) -> Result<Bytes, Instead> {
    let source = Bytes::from(source);
    Arc::make_mut(&mut run.store.scripts.0).insert(digest, source.clone());
    Ok(source)
}

fn run_script(_: &mut Run<'_>, _: &[u8], _: &[Vec<u8>], _: &[Vec<u8>], _: bool) -> Answer {
    Err("ERR scripts do not run yet".into())
}

pub(super) fn script_load(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let digest = sha1::hex_digest(call.arg(2));
    if !run.store.scripts.0.contains_key(&digest) {
        load(run, digest.clone(), call.arg(2))?;
    }
    Ok(Reply::bulk(digest))
}

pub(super) fn script_exists(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let known = |digest: &Vec<u8>| {
        let digest = String::from_utf8_lossy(digest).to_ascii_lowercase();
        Reply::yes(run.store.scripts.0.contains_key(&digest))
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
