//! The command table: each command's name, arity, flags, key positions and handler, as the command
//! COMMAND of Redis 7.0 reports them.

use super::call::{Answer, Call};
use super::run::Run;
use super::{
    connection, expiry, hashes, keys, lists, publish, scan, scripting, sets, sorted_sets, strings,
    transactions,
};

/// What runs a command.
pub(super) type Handler = fn(&mut Run<'_>, &Call<'_>) -> Answer;

/// One command of the store.
pub struct Command {
    /// The name in upper case; of a subcommand, only its own word.
    pub name: &'static str,
    /// How many arguments it takes, its name counted; a negative number means "at least".
    pub arity: i32,
    flags: u8,
    keys: Keys,
    /// The command that this is a subcommand of.
    parent: &'static str,
    pub(super) subcommands: &'static [Command],
    pub(super) handler: Handler,
}

const WRITE: u8 = 1;
const READONLY: u8 = 2;
const DENYOOM: u8 = 4;
const NOSCRIPT: u8 = 8;
const BLOCKING: u8 = 16;
const PUBSUB: u8 = 32;

/// Where a command's keys stand among its arguments.
#[derive(Clone, Copy)]
enum Keys {
    None,
    /// The first and the last one, negative from the end, and the step between them.
    Range(i32, i32, usize),
    /// After a number of keys that stands at this place.
    Counted(usize),
    /// The first argument, and more after a number of keys at the second place.
    FirstAndCounted,
}

impl Command {
    /// Whether it may write keys.
    pub fn writes(&self) -> bool {
        self.flags & WRITE != 0
    }

    /// Whether it only reads keys.
    pub fn only_reads(&self) -> bool {
        self.flags & READONLY != 0
    }

    /// Whether it is refused when memory is full.
    pub fn denied_out_of_memory(&self) -> bool {
        self.flags & DENYOOM != 0
    }

    /// Whether scripts may not call it.
    pub fn denied_in_scripts(&self) -> bool {
        self.flags & NOSCRIPT != 0
    }

    /// Whether the connection may have to wait for the reply.
    pub fn blocks(&self) -> bool {
        self.flags & BLOCKING != 0
    }

    /// Whether a connection with subscriptions may still send it.
    pub(super) fn allowed_while_subscribed(&self) -> bool {
        const ALLOWED: [&str; 7] = [
            "PING",
            "SUBSCRIBE",
            "PSUBSCRIBE",
            "UNSUBSCRIBE",
            "PUNSUBSCRIBE",
            "QUIT",
            "RESET",
        ];
        ALLOWED.contains(&self.name)
    }

    /// The places of the keys in these arguments, in order; the command's name has place 0.
    pub fn key_places(&self, argv: &[Vec<u8>]) -> Vec<usize> {
        let length = i64::try_from(argv.len()).unwrap_or(i64::MAX);
        match self.keys {
            Keys::None => Vec::new(),
            Keys::Range(first, last, step) => {
                let last = if last < 0 {
                    length + i64::from(last)
                } else {
                    i64::from(last).min(length - 1)
                };
                (usize::try_from(first).unwrap_or(0)..usize::try_from(last + 1).unwrap_or(0))
                    .step_by(step)
                    .collect()
            }
            Keys::Counted(at) => counted(argv, at).map_or_else(Vec::new, Iterator::collect),
            Keys::FirstAndCounted => counted(argv, 2)
                .map_or_else(Vec::new, |keys| std::iter::once(1).chain(keys).collect()),
        }
    }

    /// The name as error texts show it: in lower case, a subcommand as `script|load`.
    pub(super) fn shown_name(&self) -> String {
        let bar = if self.parent.is_empty() { "" } else { "|" };
        format!("{}{bar}{}", self.parent, self.name).to_ascii_lowercase()
    }

    pub(super) fn takes(&self, arguments: usize) -> bool {
        let wanted = usize::try_from(self.arity.unsigned_abs()).unwrap_or(usize::MAX);
        if self.arity >= 0 {
            arguments == wanted
        } else {
            arguments >= wanted
        }
    }

    pub(super) fn wrong_arity(&self) -> String {
        format!(
            "ERR wrong number of arguments for '{}' command",
            self.shown_name()
        )
    }
}

impl std::fmt::Debug for Command {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name)
    }
}

/// The places of the keys whose number stands at a place; `None` where there are not as many.
fn counted(argv: &[Vec<u8>], at: usize) -> Option<std::ops::Range<usize>> {
    let number = usize::try_from(super::number::parse_integer(argv.get(at)?)?).ok()?;
    let end = number.checked_add(at + 1)?;
    (number > 0 && end <= argv.len()).then_some(at + 1..end)
}

/// The command of this name, in whatever case; a container such as SCRIPT stands for its
/// subcommands.
pub fn find_command(name: &[u8]) -> Option<&'static Command> {
    find_in(COMMANDS, name)
}

pub(super) fn find_in(commands: &'static [Command], name: &[u8]) -> Option<&'static Command> {
    let name = name.to_ascii_uppercase();
    let at = commands
        .binary_search_by(|command| command.name.as_bytes().cmp(&name))
        .ok()?;
    commands.get(at)
}

/// The command that runs these arguments, subcommands resolved.
pub fn command_of(argv: &[Vec<u8>]) -> Option<&'static Command> {
    let command = find_command(argv.first()?)?;
    match argv.get(1).filter(|_| !command.subcommands.is_empty()) {
        None => Some(command),
        Some(word) => find_in(command.subcommands, word),
    }
}

/// Every command of the store, in the order of the names; a container counts once.
pub fn all_commands() -> impl Iterator<Item = &'static Command> {
    COMMANDS.iter()
}

/// The command or subcommand that these arguments call, where Redis 7.0 has it and the store lacks it: `CONFIG`, `CLIENT LIST`.
pub fn left_out(argv: &[Vec<u8>]) -> Option<String> {
    let name = argv.first()?;
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).to_ascii_uppercase();
    if is_left_out(name) {
        return Some(shown(name));
    }
    let whole = shown(name) + " " + &shown(argv.get(1)?);
    SUBCOMMANDS_LEFT_OUT
        .split(", ")
        .any(|other| other == whole)
        .then_some(whole)
}

const SUBCOMMANDS_LEFT_OUT: &str = "CLIENT CACHING, CLIENT GETREDIR, CLIENT HELP, CLIENT INFO, CLIENT KILL, CLIENT LIST, \
    CLIENT NO-EVICT, CLIENT PAUSE, CLIENT REPLY, CLIENT TRACKING, CLIENT TRACKINGINFO, CLIENT UNBLOCK, CLIENT UNPAUSE, \
    PUBSUB HELP, PUBSUB SHARDCHANNELS, PUBSUB SHARDNUMSUB, SCRIPT DEBUG, SCRIPT HELP, SCRIPT KILL";

/// Whether Redis 7.0 has a command of this name that the store lacks.
pub(super) fn is_left_out(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    LEFT_OUT
        .split_ascii_whitespace()
        .any(|word| word.as_bytes() == name)
}

const LEFT_OUT: &str = "acl asking auth bgrewriteaof bgsave bitcount bitfield bitfield_ro bitop bitpos cluster command config \
    debug dump failover fcall fcall_ro function geoadd geodist geohash geopos georadius georadius_ro georadiusbymember \
    georadiusbymember_ro geosearch geosearchstore getbit hello info lastsave latency lcs lolwut memory migrate module \
    monitor move object pfadd pfcount pfdebug pfmerge pfselftest psync readonly readwrite replconf replicaof restore \
    restore-asking role save setbit shutdown slaveof slowlog sort sort_ro spublish ssubscribe sunsubscribe swapdb sync \
    xack xadd xautoclaim xclaim xdel xgroup xinfo xlen xpending xrange xread xreadgroup xrevrange xsetid xtrim";

const fn command(
    name: &'static str,
    arity: i32,
    flags: u8,
    keys: Keys,
    handler: Handler,
) -> Command {
    Command {
        name,
        arity,
        flags,
        keys,
        parent: "",
        subcommands: &[],
        handler,
    }
}

const fn sub(
    parent: &'static str,
    name: &'static str,
    arity: i32,
    flags: u8,
    handler: Handler,
) -> Command {
    Command {
        name,
        arity,
        flags,
        keys: Keys::None,
        parent,
        subcommands: &[],
        handler,
    }
}

const fn container(name: &'static str, subcommands: &'static [Command]) -> Command {
    Command {
        name,
        arity: -2,
        flags: 0,
        keys: Keys::None,
        parent: "",
        subcommands,
        handler: connection::container,
    }
}

const ONE: Keys = Keys::Range(1, 1, 1);
const TWO: Keys = Keys::Range(1, 2, 1);
const ALL: Keys = Keys::Range(1, -1, 1);
const ALL_BUT_LAST: Keys = Keys::Range(1, -2, 1);

/// In the order of the names, for the binary search; a test compares every line with a real server.
#[rustfmt::skip]
static COMMANDS: &[Command] = &[
    command("APPEND", 3, WRITE | DENYOOM, ONE, strings::append),
    command("BLMOVE", 6, WRITE | DENYOOM | NOSCRIPT | BLOCKING, TWO, lists::blmove),
    command("BLMPOP", -5, WRITE | BLOCKING, Keys::Counted(2), lists::blmpop),
    command("BLPOP", -3, WRITE | NOSCRIPT | BLOCKING, ALL_BUT_LAST, lists::blpop),
    command("BRPOP", -3, WRITE | NOSCRIPT | BLOCKING, ALL_BUT_LAST, lists::brpop),
    command("BRPOPLPUSH", 4, WRITE | DENYOOM | NOSCRIPT | BLOCKING, TWO, lists::brpoplpush),
    command("BZMPOP", -5, WRITE | BLOCKING, Keys::Counted(2), sorted_sets::bzmpop),
    command("BZPOPMAX", -3, WRITE | NOSCRIPT | BLOCKING, ALL_BUT_LAST, sorted_sets::bzpopmax),
    command("BZPOPMIN", -3, WRITE | NOSCRIPT | BLOCKING, ALL_BUT_LAST, sorted_sets::bzpopmin),
    container("CLIENT", CLIENT),
    command("COPY", -3, WRITE | DENYOOM, TWO, keys::copy),
    command("DBSIZE", 1, READONLY, Keys::None, keys::dbsize),
    command("DECR", 2, WRITE | DENYOOM, ONE, strings::decr),
    command("DECRBY", 3, WRITE | DENYOOM, ONE, strings::decrby),
    command("DEL", -2, WRITE, ALL, keys::del),
    command("DISCARD", 1, NOSCRIPT, Keys::None, transactions::discard),
    command("ECHO", 2, 0, Keys::None, connection::echo),
    command("EVAL", -3, NOSCRIPT, Keys::Counted(2), scripting::eval),
    command("EVALSHA", -3, NOSCRIPT, Keys::Counted(2), scripting::evalsha),
    command("EVALSHA_RO", -3, NOSCRIPT | READONLY, Keys::Counted(2), scripting::evalsha_ro),
    command("EVAL_RO", -3, NOSCRIPT | READONLY, Keys::Counted(2), scripting::eval_ro),
    command("EXEC", 1, NOSCRIPT, Keys::None, transactions::exec),
    command("EXISTS", -2, READONLY, ALL, keys::exists),
    command("EXPIRE", -3, WRITE, ONE, expiry::expire),
    command("EXPIREAT", -3, WRITE, ONE, expiry::expireat),
    command("EXPIRETIME", 2, READONLY, ONE, expiry::expiretime),
    command("FLUSHALL", -1, WRITE, Keys::None, keys::flush),
    command("FLUSHDB", -1, WRITE, Keys::None, keys::flush),
    command("GET", 2, READONLY, ONE, strings::get),
    command("GETDEL", 2, WRITE, ONE, strings::getdel),
    command("GETEX", -2, WRITE, ONE, strings::getex),
    command("GETRANGE", 4, READONLY, ONE, strings::getrange),
    command("GETSET", 3, WRITE | DENYOOM, ONE, strings::getset),
    command("HDEL", -3, WRITE, ONE, hashes::hdel),
    command("HEXISTS", 3, READONLY, ONE, hashes::hexists),
    command("HGET", 3, READONLY, ONE, hashes::hget),
    command("HGETALL", 2, READONLY, ONE, hashes::hgetall),
    command("HINCRBY", 4, WRITE | DENYOOM, ONE, hashes::hincrby),
    command("HINCRBYFLOAT", 4, WRITE | DENYOOM, ONE, hashes::hincrbyfloat),
    command("HKEYS", 2, READONLY, ONE, hashes::hkeys),
    command("HLEN", 2, READONLY, ONE, hashes::hlen),
    command("HMGET", -3, READONLY, ONE, hashes::hmget),
    command("HMSET", -4, WRITE | DENYOOM, ONE, hashes::hmset),
    command("HRANDFIELD", -2, READONLY, ONE, hashes::hrandfield),
    command("HSCAN", -3, READONLY, ONE, scan::hscan),
    command("HSET", -4, WRITE | DENYOOM, ONE, hashes::hset),
    command("HSETNX", 4, WRITE | DENYOOM, ONE, hashes::hsetnx),
    command("HSTRLEN", 3, READONLY, ONE, hashes::hstrlen),
    command("HVALS", 2, READONLY, ONE, hashes::hvals),
    command("INCR", 2, WRITE | DENYOOM, ONE, strings::incr),
    command("INCRBY", 3, WRITE | DENYOOM, ONE, strings::incrby),
    command("INCRBYFLOAT", 3, WRITE | DENYOOM, ONE, strings::incrbyfloat),
    command("KEYS", 2, READONLY, Keys::None, keys::keys),
    command("LINDEX", 3, READONLY, ONE, lists::lindex),
    command("LINSERT", 5, WRITE | DENYOOM, ONE, lists::linsert),
    command("LLEN", 2, READONLY, ONE, lists::llen),
    command("LMOVE", 5, WRITE | DENYOOM, TWO, lists::lmove),
    command("LMPOP", -4, WRITE, Keys::Counted(1), lists::lmpop),
    command("LPOP", -2, WRITE, ONE, lists::lpop),
    command("LPOS", -3, READONLY, ONE, lists::lpos),
    command("LPUSH", -3, WRITE | DENYOOM, ONE, lists::lpush),
    command("LPUSHX", -3, WRITE | DENYOOM, ONE, lists::lpushx),
    command("LRANGE", 4, READONLY, ONE, lists::lrange),
    command("LREM", 4, WRITE, ONE, lists::lrem),
    command("LSET", 4, WRITE | DENYOOM, ONE, lists::lset),
    command("LTRIM", 4, WRITE, ONE, lists::ltrim),
    command("MGET", -2, READONLY, ALL, strings::mget),
    command("MSET", -3, WRITE | DENYOOM, Keys::Range(1, -1, 2), strings::mset),
    command("MSETNX", -3, WRITE | DENYOOM, Keys::Range(1, -1, 2), strings::msetnx),
    command("MULTI", 1, NOSCRIPT, Keys::None, transactions::multi),
    command("PERSIST", 2, WRITE, ONE, expiry::persist),
    command("PEXPIRE", -3, WRITE, ONE, expiry::pexpire),
    command("PEXPIREAT", -3, WRITE, ONE, expiry::pexpireat),
    command("PEXPIRETIME", 2, READONLY, ONE, expiry::pexpiretime),
    command("PING", -1, 0, Keys::None, connection::ping),
    command("PSETEX", 4, WRITE | DENYOOM, ONE, strings::psetex),
    command("PSUBSCRIBE", -2, NOSCRIPT | PUBSUB, Keys::None, publish::psubscribe),
    command("PTTL", 2, READONLY, ONE, expiry::pttl),
    command("PUBLISH", 3, PUBSUB, Keys::None, publish::publish),
    container("PUBSUB", PUBSUB_COMMANDS),
    command("PUNSUBSCRIBE", -1, NOSCRIPT | PUBSUB, Keys::None, publish::punsubscribe),
    command("QUIT", -1, NOSCRIPT, Keys::None, connection::quit),
    command("RANDOMKEY", 1, READONLY, Keys::None, keys::randomkey),
    command("RENAME", 3, WRITE, TWO, keys::rename),
    command("RENAMENX", 3, WRITE, TWO, keys::renamenx),
    command("RESET", 1, NOSCRIPT, Keys::None, connection::reset),
    command("RPOP", -2, WRITE, ONE, lists::rpop),
    command("RPOPLPUSH", 3, WRITE | DENYOOM, TWO, lists::rpoplpush),
    command("RPUSH", -3, WRITE | DENYOOM, ONE, lists::rpush),
    command("RPUSHX", -3, WRITE | DENYOOM, ONE, lists::rpushx),
    command("SADD", -3, WRITE | DENYOOM, ONE, sets::sadd),
    command("SCAN", -2, READONLY, Keys::None, scan::scan),
    command("SCARD", 2, READONLY, ONE, sets::scard),
    container("SCRIPT", SCRIPT),
    command("SDIFF", -2, READONLY, ALL, sets::sdiff),
    command("SDIFFSTORE", -3, WRITE | DENYOOM, ALL, sets::sdiffstore),
    command("SELECT", 2, 0, Keys::None, connection::select),
    command("SET", -3, WRITE | DENYOOM, ONE, strings::set),
    command("SETEX", 4, WRITE | DENYOOM, ONE, strings::setex),
    command("SETNX", 3, WRITE | DENYOOM, ONE, strings::setnx),
    command("SETRANGE", 4, WRITE | DENYOOM, ONE, strings::setrange),
    command("SINTER", -2, READONLY, ALL, sets::sinter),
    command("SINTERCARD", -3, READONLY, Keys::Counted(1), sets::sintercard),
    command("SINTERSTORE", -3, WRITE | DENYOOM, ALL, sets::sinterstore),
    command("SISMEMBER", 3, READONLY, ONE, sets::sismember),
    command("SMEMBERS", 2, READONLY, ONE, sets::smembers),
    command("SMISMEMBER", -3, READONLY, ONE, sets::smismember),
    command("SMOVE", 4, WRITE, TWO, sets::smove),
    command("SPOP", -2, WRITE, ONE, sets::spop),
    command("SRANDMEMBER", -2, READONLY, ONE, sets::srandmember),
    command("SREM", -3, WRITE, ONE, sets::srem),
    command("SSCAN", -3, READONLY, ONE, scan::sscan),
    command("STRLEN", 2, READONLY, ONE, strings::strlen),
    command("SUBSCRIBE", -2, NOSCRIPT | PUBSUB, Keys::None, publish::subscribe),
    command("SUBSTR", 4, READONLY, ONE, strings::getrange),
    command("SUNION", -2, READONLY, ALL, sets::sunion),
    command("SUNIONSTORE", -3, WRITE | DENYOOM, ALL, sets::sunionstore),
    command("TIME", 1, 0, Keys::None, connection::time),
    command("TOUCH", -2, READONLY, ALL, keys::exists),
    command("TTL", 2, READONLY, ONE, expiry::ttl),
    command("TYPE", 2, READONLY, ONE, keys::type_of),
    command("UNLINK", -2, WRITE, ALL, keys::del),
    command("UNSUBSCRIBE", -1, NOSCRIPT | PUBSUB, Keys::None, publish::unsubscribe),
    command("UNWATCH", 1, NOSCRIPT, Keys::None, transactions::unwatch),
    command("WAIT", 3, NOSCRIPT, Keys::None, connection::wait),
    command("WATCH", -2, NOSCRIPT, ALL, transactions::watch),
    command("ZADD", -4, WRITE | DENYOOM, ONE, sorted_sets::zadd),
    command("ZCARD", 2, READONLY, ONE, sorted_sets::zcard),
    command("ZCOUNT", 4, READONLY, ONE, sorted_sets::zcount),
    command("ZDIFF", -3, READONLY, Keys::Counted(1), sorted_sets::zdiff),
    command("ZDIFFSTORE", -4, WRITE | DENYOOM, Keys::FirstAndCounted, sorted_sets::zdiffstore),
    command("ZINCRBY", 4, WRITE | DENYOOM, ONE, sorted_sets::zincrby),
    command("ZINTER", -3, READONLY, Keys::Counted(1), sorted_sets::zinter),
    command("ZINTERCARD", -3, READONLY, Keys::Counted(1), sorted_sets::zintercard),
    command("ZINTERSTORE", -4, WRITE | DENYOOM, Keys::FirstAndCounted, sorted_sets::zinterstore),
    command("ZLEXCOUNT", 4, READONLY, ONE, sorted_sets::zlexcount),
    command("ZMPOP", -4, WRITE, Keys::Counted(1), sorted_sets::zmpop),
    command("ZMSCORE", -3, READONLY, ONE, sorted_sets::zmscore),
    command("ZPOPMAX", -2, WRITE, ONE, sorted_sets::zpopmax),
    command("ZPOPMIN", -2, WRITE, ONE, sorted_sets::zpopmin),
    command("ZRANDMEMBER", -2, READONLY, ONE, sorted_sets::zrandmember),
    command("ZRANGE", -4, READONLY, ONE, sorted_sets::zrange),
    command("ZRANGEBYLEX", -4, READONLY, ONE, sorted_sets::zrangebylex),
    command("ZRANGEBYSCORE", -4, READONLY, ONE, sorted_sets::zrangebyscore),
    command("ZRANGESTORE", -5, WRITE | DENYOOM, TWO, sorted_sets::zrangestore),
    command("ZRANK", 3, READONLY, ONE, sorted_sets::zrank),
    command("ZREM", -3, WRITE, ONE, sorted_sets::zrem),
    command("ZREMRANGEBYLEX", 4, WRITE, ONE, sorted_sets::zremrangebylex),
    command("ZREMRANGEBYRANK", 4, WRITE, ONE, sorted_sets::zremrangebyrank),
    command("ZREMRANGEBYSCORE", 4, WRITE, ONE, sorted_sets::zremrangebyscore),
    command("ZREVRANGE", -4, READONLY, ONE, sorted_sets::zrevrange),
    command("ZREVRANGEBYLEX", -4, READONLY, ONE, sorted_sets::zrevrangebylex),
    command("ZREVRANGEBYSCORE", -4, READONLY, ONE, sorted_sets::zrevrangebyscore),
    command("ZREVRANK", 3, READONLY, ONE, sorted_sets::zrevrank),
    command("ZSCAN", -3, READONLY, ONE, scan::zscan),
    command("ZSCORE", 3, READONLY, ONE, sorted_sets::zscore),
    command("ZUNION", -3, READONLY, Keys::Counted(1), sorted_sets::zunion),
    command("ZUNIONSTORE", -4, WRITE | DENYOOM, Keys::FirstAndCounted, sorted_sets::zunionstore),
];

static CLIENT: &[Command] = &[
    sub("CLIENT", "GETNAME", 2, NOSCRIPT, connection::client_getname),
    sub("CLIENT", "ID", 2, NOSCRIPT, connection::client_id),
    sub("CLIENT", "SETNAME", 3, NOSCRIPT, connection::client_setname),
];

static PUBSUB_COMMANDS: &[Command] = &[
    sub("PUBSUB", "CHANNELS", -2, PUBSUB, publish::pubsub_channels),
    sub("PUBSUB", "NUMPAT", 2, PUBSUB, publish::pubsub_numpat),
    sub("PUBSUB", "NUMSUB", -2, PUBSUB, publish::pubsub_numsub),
];

static SCRIPT: &[Command] = &[
    sub("SCRIPT", "EXISTS", -3, NOSCRIPT, scripting::script_exists),
    sub("SCRIPT", "FLUSH", -2, NOSCRIPT, scripting::script_flush),
    sub("SCRIPT", "LOAD", 3, NOSCRIPT, scripting::script_load),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order() {
        for table in [COMMANDS, CLIENT, PUBSUB_COMMANDS, SCRIPT] {
            assert!(table.is_sorted_by(|a, b| a.name < b.name));
        }
        assert!(all_commands().all(|command| !is_left_out(command.name.as_bytes())));
    }

    #[test]
    fn keys_are_found_where_the_command_has_them() {
        for (line, places) in [
            ("SET k v", vec![1]),
            ("MSET a 1 b 2", vec![1, 3]),
            ("DEL a b c", vec![1, 2, 3]),
            ("EVAL script 2 a b x", vec![3, 4]),
            ("EVAL script 9 a", vec![]),
            ("EVAL script x a", vec![]),
            ("PING", vec![]),
        ] {
            let argv: Vec<Vec<u8>> = line
                .split(' ')
                .map(|word| word.as_bytes().to_vec())
                .collect();
            let command = find_command(&argv[0]).unwrap();
            assert_eq!(command.key_places(&argv), places, "{line}");
        }
    }
}
