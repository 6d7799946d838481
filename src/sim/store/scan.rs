//! SCAN, SSCAN, HSCAN and ZSCAN.
//!
//! The cursor is Redis's own (`dictScan`): the number of a bucket with its bits counted from the
//! top, so that a scan which began before the table grew or shrank still returns every element that
//! was there all the time. Which element falls into which bucket is, in Redis, up to a random seed;
//! here it is a fixed hash, and within one reply the elements are in byte order.

use super::call::{Answer, Call, Instead, SYNTAX, at_most};
use super::glob;
use super::reply::Reply;
use super::run::Run;
use super::value::{Bytes, Value};

/// What the options of a scan say.
struct Scan<'a> {
    cursor: u64,
    count: usize,
    pattern: Option<&'a [u8]>,
    type_name: Option<&'a [u8]>,
}

/// The cursor as `strtoul` reads it: a sign is allowed, a negative number wraps, nothing is 0.
fn cursor(call: &Call<'_>, at: usize) -> Result<u64, Instead> {
    let text = call.arg(at);
    let text = text.split(|byte| *byte == 0).next().unwrap_or(text);
    let negative = text.first() == Some(&b'-');
    let signed = matches!(text.first(), Some(b'-' | b'+'));
    let digits = if signed { &text[1..] } else { text };
    let number = match std::str::from_utf8(digits) {
        Ok("") if !signed => Some(0),
        Ok(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse::<u64>().ok()
        }
        _ => None,
    };
    let number = number.ok_or("ERR invalid cursor")?;
    Ok(if negative {
        number.wrapping_neg()
    } else {
        number
    })
}

fn options<'a>(
    call: &Call<'a>,
    first: usize,
    of_keys: bool,
    cursor: u64,
) -> Result<Scan<'a>, Instead> {
    let mut scan = Scan {
        cursor,
        count: 10,
        pattern: None,
        type_name: None,
    };
    let mut at = first;
    while at < call.len() {
        if at + 1 >= call.len() {
            return Err(SYNTAX.into());
        }
        if call.is(at, "COUNT") {
            let count = call.integer(at + 1)?;
            if count < 1 {
                return Err(SYNTAX.into());
            }
            scan.count = at_most(count);
        } else if call.is(at, "MATCH") {
            scan.pattern = Some(call.arg(at + 1)).filter(|pattern| *pattern != b"*");
        } else if call.is(at, "TYPE") && of_keys {
            scan.type_name = Some(call.arg(at + 1));
        } else {
            return Err(SYNTAX.into());
        }
        at += 2;
    }
    Ok(scan)
}

pub(super) fn scan(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    let scan = options(call, 2, true, cursor(call, 1)?)?;
    let keys: Vec<&Bytes> = run.store.keyspace.iter().map(|(key, _)| key).collect();
    let (next, page) = page(&scan, &keys);
    let is_wanted = |key: &Bytes| {
        scan.type_name.is_none_or(|name| {
            run.value(key)
                .is_some_and(|value| name.eq_ignore_ascii_case(value.type_name().as_bytes()))
        })
    };
    let fits = |key: &&&Bytes| {
        scan.pattern
            .is_none_or(|pattern| glob::matches(pattern, key))
            && is_wanted(key)
    };
    let found = page.iter().filter(fits).map(Reply::bulk).collect();
    Ok(Reply::Array(vec![
        Reply::bulk(next.to_string()),
        Reply::Array(found),
    ]))
}

pub(super) fn sscan(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    scan_value(run, call, |value| matches!(value, Value::Set(_)))
}

pub(super) fn hscan(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    scan_value(run, call, |value| matches!(value, Value::Hash(_)))
}

pub(super) fn zscan(run: &mut Run<'_>, call: &Call<'_>) -> Answer {
    scan_value(run, call, |value| matches!(value, Value::SortedSet(_)))
}

/// Scans the elements of a value; one that Redis packs closely it returns whole, whatever the
/// cursor and the count.
fn scan_value(run: &mut Run<'_>, call: &Call<'_>, is_type: fn(&Value) -> bool) -> Answer {
    let cursor = cursor(call, 2)?;
    let empty = || {
        Ok(Reply::Array(vec![
            Reply::bulk("0"),
            Reply::Array(Vec::new()),
        ]))
    };
    let Some(value) = run.value(call.arg(1)) else {
        return empty();
    };
    if !is_type(value) {
        return Err(super::call::WRONG_TYPE.into());
    }
    let scan = options(call, 3, false, cursor)?;
    let parts = value.parts();
    let (width, packed) = match value {
        Value::Hash(hash) => (2, hash.is_packed()),
        Value::Set(set) => (1, set.is_packed()),
        Value::SortedSet(set) => (2, set.is_packed()),
        _ => return empty(),
    };
    let elements: Vec<&[Bytes]> = parts.chunks_exact(width).collect();
    let names: Vec<&Bytes> = elements
        .iter()
        .filter_map(|element| element.first())
        .collect();
    let (next, page) = if packed {
        (0, names.clone())
    } else {
        page(&scan, &names)
    };
    let wanted = |name: &Bytes| {
        page.contains(&name)
            && scan
                .pattern
                .is_none_or(|pattern| glob::matches(pattern, name))
    };
    let found = elements
        .iter()
        .filter(|element| element.first().is_some_and(wanted))
        .flat_map(|element| element.iter().map(Reply::bulk));
    Ok(Reply::Array(vec![
        Reply::bulk(next.to_string()),
        Reply::Array(found.collect()),
    ]))
}

/// One step of a scan over a table of these names: the next cursor, 0 at the end, and the names.
fn page<'n>(scan: &Scan<'_>, names: &[&'n Bytes]) -> (u64, Vec<&'n Bytes>) {
    let buckets = names.len().next_power_of_two().max(4) as u64;
    let mask = buckets - 1;
    let mut placed: Vec<(u64, &Bytes)> = names
        .iter()
        .map(|name| ((hash(name) & mask).reverse_bits(), *name))
        .collect();
    crate::sorted::sort(&mut placed);
    // Counted from the top bit, the buckets come in rising order.
    let first = (scan.cursor & mask).reverse_bits();
    let step = mask.reverse_bits() & mask.reverse_bits().wrapping_neg();
    let mut page = Vec::new();
    let mut rest = placed
        .iter()
        .skip_while(|(bucket, _)| *bucket < first)
        .peekable();
    let mut bucket = first;
    for _ in 0..scan.count.saturating_mul(10) {
        while let Some((_, name)) = rest.next_if(|(place, _)| *place == bucket) {
            page.push(*name);
        }
        bucket = bucket.wrapping_add(step);
        if bucket == 0 || page.len() >= scan.count {
            break;
        }
    }
    crate::sorted::sort(&mut page);
    (bucket.reverse_bits(), page)
}

/// FNV-1a: short, and the same everywhere.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
    })
}
