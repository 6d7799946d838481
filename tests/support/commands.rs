//! Random commands: a form for each, filled with keys, numbers and texts that are likely to meet.
//!
//! A form is the command as the documentation writes it: words in capitals stand for themselves,
//! `[a|b]` is one of several or none, `<a|b>` one of several, `...` once more at will, and a word in
//! small letters is a random argument of that kind.

/// The forms; what stands before a colon is how often as many times the form is chosen.
const FORMS: &str = "
6: SET string value [NX|XX] [GET] [EX ttl|PX ttl|EXAT unix|PXAT unixms|KEEPTTL]
2: SET string number [NX|XX|GET|KEEPTTL] [PX ttl]
SETNX string value
SETEX string ttl value
PSETEX string ttl value
2: GET string
GETSET string value
GETDEL string
2: GETEX string [EX ttl|PX ttl|EXAT unix|PXAT unixms|PERSIST]
APPEND string value
STRLEN string
MSET string value ... string value
MSETNX string value string value
MGET string ... any
2: DEL any ... any
UNLINK any
EXISTS any ... any
TOUCH any any
2: INCR string
DECR string
2: INCRBY string number
DECRBY string number
3: INCRBYFLOAT string float
SETRANGE string index value
GETRANGE string index index
SUBSTR string index index
3: EXPIRE any ttl [NX|XX|GT|LT] [XX|GT]
3: PEXPIRE any ttl [NX|XX|GT|LT]
EXPIREAT any unix [NX|XX|GT|LT]
PEXPIREAT any unixms [NX|XX|GT|LT]
EXPIRETIME any
PEXPIRETIME any
TTL any
2: PTTL any
PERSIST any
TYPE any
RENAME any any
RENAMENX any any
COPY any any [REPLACE] [DB 0]
KEYS pattern
SCAN 0 COUNT 9000 [MATCH pattern] [TYPE type]
SCAN <ABC|-|0 COUNT 0|0 TYPE|0 MATCH>
HSCAN hash <ABC|0 COUNT 0|0 COUNT -1|0 COUNT X|0 MATCH|0 TYPE hash>
DBSIZE
TIME
PING [value]
ECHO value
SELECT <0|NONE|99|-1>
WAIT number ttl
CLIENT <GETNAME|SETNAME name|SETNAME value>
3: HSET hash field value ... field value
HMSET hash field value
HSETNX hash field value
HGET hash field
HMGET hash field ... field
2: HDEL hash field ... field
HLEN hash
HSTRLEN hash field
HEXISTS hash field
HKEYS hash
HVALS hash
2: HGETALL hash
2: HINCRBY hash field number
2: HINCRBYFLOAT hash field float
HSCAN hash 0 COUNT 9000 [MATCH pattern]
HRANDFIELD hash 9000 [WITHVALUES]
2: LPUSH list element ... element
3: RPUSH list element ... element
LPUSHX list element
RPUSHX list element element
LPOP list [count]
RPOP list [count]
LLEN list
LINDEX list index
2: LRANGE list index index
LTRIM list index index
LSET list index element
LINSERT list <BEFORE|AFTER> element element
LREM list index element
2: LPOS list element [RANK index|RANK number] [COUNT count] [MAXLEN count]
LMOVE list list <LEFT|RIGHT> <LEFT|RIGHT>
RPOPLPUSH list list
LMPOP 1 list <LEFT|RIGHT> [COUNT count]
LMPOP 2 list list <LEFT|RIGHT> [COUNT count]
BLPOP list [list] timeout
BRPOP list [list] timeout
BLMOVE list list <LEFT|RIGHT> <LEFT|RIGHT> timeout
BRPOPLPUSH list list timeout
BLMPOP timeout 2 list list <LEFT|RIGHT> [COUNT count]
3: SADD set member ... member
SADD set integer ... integer
SADD BIGSET manyintegers
SADD BIGSET member
SMEMBERS BIGSET
SREM BIGSET integer member
SSCAN BIGSET 0 COUNT 9000
SUNIONSTORE BIGSET BIGSET set
SINTERSTORE set BIGSET set
SDIFFSTORE set set BIGSET
HSET hash manypairs
ZADD BIGZSET manypairs
ZADD BIGZSET score member
ZINCRBY BIGZSET score member
ZRANGE BIGZSET index index [REV] [WITHSCORES]
ZRANGEBYSCORE BIGZSET bound bound [WITHSCORES] [LIMIT index index]
ZREMRANGEBYRANK BIGZSET index index
ZSCAN BIGZSET 0 COUNT 9000
ZUNIONSTORE BIGZSET 2 BIGZSET collection [WEIGHTS score score] [AGGREGATE <SUM|MIN|MAX>]
ZINTERSTORE zset 2 BIGZSET zset [WEIGHTS score score] [AGGREGATE <SUM|MIN|MAX>]
RPUSH list manyintegers
2: SREM set member ... member
SCARD set
2: SMEMBERS set
SISMEMBER set member
SMISMEMBER set member ... member
SMOVE set set member
SPOP set <9000|0>
SRANDMEMBER set <9000|0>
SINTER set ... set
SUNION set ... set
SDIFF set ... set
SINTERSTORE set set ... set
SUNIONSTORE set set ... set
SDIFFSTORE set set ... set
SINTERCARD count set ... set [LIMIT count]
SSCAN set 0 COUNT 9000 [MATCH pattern]
4: ZADD zset [NX|XX] [GT|LT] [CH] [INCR] score member ... score member
2: ZADD zset score member ... score member
ZINCRBY zset score member
ZREM zset member ... member
ZCARD zset
ZSCORE zset member
ZMSCORE zset member ... member
ZRANK zset member
ZREVRANK zset member
ZCOUNT zset bound bound
ZLEXCOUNT zset lex lex
2: ZRANGE zset index index [REV] [WITHSCORES]
ZRANGE zset bound bound BYSCORE [REV] [LIMIT index index] [WITHSCORES]
ZRANGE zset lex lex BYLEX [REV] [LIMIT index index]
ZRANGESTORE zset zset index index [REV]
ZRANGESTORE zset zset bound bound BYSCORE [REV] [LIMIT index index]
ZREVRANGE zset index index [WITHSCORES]
ZRANGEBYSCORE zset bound bound [WITHSCORES] [LIMIT index index]
ZREVRANGEBYSCORE zset bound bound [LIMIT index index] [WITHSCORES]
ZRANGEBYLEX zset lex lex [LIMIT index index]
ZREVRANGEBYLEX zset lex lex [LIMIT index index]
ZREMRANGEBYRANK zset index index
ZREMRANGEBYSCORE zset bound bound
ZREMRANGEBYLEX zset lex lex
ZPOPMIN zset [count]
ZPOPMAX zset [count]
ZMPOP 2 zset zset <MIN|MAX> [COUNT count]
BZPOPMIN zset [zset] timeout
BZPOPMAX zset timeout
BZMPOP timeout 2 zset zset <MIN|MAX> [COUNT count]
ZUNION 2 collection collection [WEIGHTS score score] [AGGREGATE <SUM|MIN|MAX>] [WITHSCORES]
ZINTER 2 collection collection [WEIGHTS score score] [AGGREGATE <SUM|MIN|MAX>] [WITHSCORES]
ZDIFF 2 collection collection [WITHSCORES]
ZUNIONSTORE zset 2 collection collection [WEIGHTS score score] [AGGREGATE <SUM|MIN|MAX>]
ZINTERSTORE zset 2 collection collection [WEIGHTS score score] [AGGREGATE <SUM|MIN|MAX>]
ZDIFFSTORE zset 2 collection collection
ZINTERCARD 2 collection collection [LIMIT count]
ZRANDMEMBER zset 9000 [WITHSCORES]
ZSCAN zset 0 COUNT 9000 [MATCH pattern]
4: MULTI
4: EXEC
DISCARD
3: WATCH any ... any
UNWATCH
PUBLISH channel value
SUBSCRIBE channel
PSUBSCRIBE channelpattern
3: UNSUBSCRIBE [channel]
3: PUNSUBSCRIBE [channelpattern]
PUBSUB <CHANNELS|CHANNELS channelpattern|NUMPAT|NUMSUB channel channel>
SCRIPT <EXISTS value digest|FLUSH|FLUSH SYNC|LOAD script|LOAD script>
6: EVAL caller 0 command
EVAL_RO caller 0 command
EVALSHA callerdigest 0 command
4: EVAL script 1 any value
EVAL_RO script 1 any value
2: EVALSHA digest 1 any value
EVALSHA_RO digest 1 any value
EVAL script count any value
RESET
FLUSHALL [SYNC|ASYNC|NOW]
FLUSHDB
NOSUCHCOMMAND value value
SCRIPT NOSUCH value
";

/// Scripts that the forms run: the first two call whatever command they are given.
const SCRIPTS: &[(&str, &str)] = &[
    (
        "return redis.call(unpack(ARGV))",
        "3c44b7a40779a5c68a6e3920550ff76660a813aa",
    ),
    (
        "local reply = redis.pcall(unpack(ARGV)) if type(reply) == 'table' and reply.err then return reply.err end return {reply}",
        "e3099bb2a334c22e5e41067e5c9c81f2eb9409ba",
    ),
    (
        "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end",
        "d02e481a9c91ceec59c5822a58a49d5d5d7ac80b",
    ),
    (
        "if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then redis.call('HINCRBY', KEYS[1], ARGV[1], 1) redis.call('PEXPIRE', KEYS[1], 1000) return nil end return redis.call('PTTL', KEYS[1])",
        "b03b21cdda0480b19016e24f6cee3727951d8c8a",
    ),
    (
        "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', 500) then return redis.call('INCR', 's3') else return false end",
        "a56bb20feba0f8c01ff2ea09bc8a7ade9ff4aeae",
    ),
    (
        "redis.call('SET', KEYS[1], ARGV[1]) return {redis.call('GET', KEYS[1]), redis.call('TTL', KEYS[1]), redis.call('TIME')[1]}",
        "f8610d689fffdac62ceb1c3b3fabc480ca4697be",
    ),
    (
        "#!lua flags=no-writes\nreturn redis.call('SET', KEYS[1], ARGV[1])",
        "24a2efd978e9436360caf0445383c3cdc50f0a2c",
    ),
    (
        "#!lua\nreturn redis.call('GET', KEYS[1])",
        "4d25d7b131e1e699e80aef3747613f83c48ead97",
    ),
    (
        "return nosuchvariable",
        "7d12b4f75e90f15e387b2107e3f36308d3117315",
    ),
    (
        "return redis.call('EVAL', 'return 1', 0)",
        "51af7d9e69c8a140be715186c1d9c1fa012744cf",
    ),
    ("return +", "1fd5091818ea327c4e55ed84125fdc6179ae44cf"),
];

/// Sometimes changes the quotes of a line, rightly or wrongly.
pub fn misquote(random: &mut Random, line: String) -> String {
    match random.below(16) {
        0 => line.replace('"', "'"),
        1 => line + "\"",
        2 => line.replacen(' ', "  \t ", 1),
        3 => format!("{line} \"\\x41\\n\\q\\xg\""),
        4 => format!("{line} 'it\\'s \\n'"),
        5 => format!("{line} pre\"post\""),
        6 => format!("{line} \"a\"b"),
        _ => line,
    }
}

/// Whether a script calls the command that it is given.
pub fn calls_its_arguments(script: &[u8]) -> bool {
    SCRIPTS[..2]
        .iter()
        .any(|(source, digest)| [source.as_bytes(), digest.as_bytes()].contains(&script))
}

/// A splitmix64 generator: the same seed, the same commands, on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        // Mixed, because neighbours would walk through one and the same stream.
        Random(mix(seed))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    fn of<'a>(&mut self, words: &'a str) -> &'a str {
        let words: Vec<&str> = words.split(' ').collect();
        words[self.below(words.len())]
    }
}

fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// One step of a sequence.
#[derive(Clone, Debug)]
pub enum Step {
    Elapse(u64),
    Command { connection: u32, argv: Vec<Vec<u8>> },
}

/// A sequence of up to a hundred steps on four connections.
pub fn sequence(random: &mut Random) -> Vec<Step> {
    let length = 20 + random.below(80);
    let mut steps = Vec::new();
    while steps.len() < length {
        if random.one_in(12) {
            steps.push(Step::Elapse(elapse(random)));
            continue;
        }
        // Mostly one connection, so that transactions fill up; the others meddle.
        let connection = if random.one_in(2) {
            0
        } else {
            random.below(4) as u32
        };
        steps.push(Step::Command {
            connection,
            argv: argv_of(random),
        });
    }
    steps
}

/// Jumps that meet the deadlines of `ttl` and `timeout` exactly, or miss them by one.
fn elapse(random: &mut Random) -> u64 {
    let exact: u64 = random
        .of("1 2 5 10 50 100 499 500 501 1000 2000 10000")
        .parse()
        .unwrap();
    match random.below(4) {
        0 => exact + 1,
        1 => exact - 1,
        _ => exact,
    }
}

/// One random command.
pub fn argv_of(random: &mut Random) -> Vec<Vec<u8>> {
    let forms: Vec<(usize, &str)> = FORMS
        .lines()
        .filter(|line| !line.is_empty())
        .map(weighted)
        .collect();
    let mut place = random.below(forms.iter().map(|(weight, _)| weight).sum());
    let form = forms.iter().find(|(weight, _)| {
        let found = place < *weight;
        place = place.wrapping_sub(*weight);
        found
    });
    let mut argv = fill(random, form.unwrap().1);
    // What draws at random must not be asked to draw, the buckets of a scan are Redis's own, and of
    // Redis's sixteen databases the store has one.
    let draws = |word: &Vec<u8>| {
        [
            &b"SELECT"[..],
            b"SPOP",
            b"SRANDMEMBER",
            b"HRANDFIELD",
            b"ZRANDMEMBER",
            b"SCAN",
            b"HSCAN",
            b"SSCAN",
            b"ZSCAN",
        ]
        .contains(&&word.to_ascii_uppercase()[..])
    };
    if random.one_in(40) && !argv.iter().any(draws) {
        spoil(random, &mut argv);
    }
    if random.one_in(10) {
        argv[0].make_ascii_lowercase();
    }
    argv
}

fn weighted(line: &str) -> (usize, &str) {
    match line.split_once(": ") {
        Some((weight, form)) => (weight.parse().unwrap(), form),
        None => (1, line),
    }
}

/// Makes a mistake: an argument too few, too many, or a strange one.
fn spoil(random: &mut Random, argv: &mut Vec<Vec<u8>>) {
    let at = random.below(argv.len());
    match random.below(3) {
        0 if argv.len() > 1 && at > 0 => drop(argv.remove(at)),
        1 => argv.insert(at + 1, argument(random, "value")),
        _ if at > 0 => argv[at] = argument(random, "value"),
        _ => {}
    }
}

fn fill(random: &mut Random, form: &str) -> Vec<Vec<u8>> {
    let mut argv = Vec::new();
    let mut rest = form.trim();
    while !rest.is_empty() {
        let first = &rest[..1];
        if first == "[" || first == "<" {
            let close = matching(rest);
            let choices = split_choices(&rest[1..close]);
            if first == "<" || random.one_in(2) {
                let choice = choices[random.below(choices.len())];
                argv.extend(fill(random, choice));
            }
            rest = rest[close + 1..].trim_start();
            continue;
        }
        let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
        if word == "..." {
            // What follows the dots, none to three times.
            let again = after.split(['[', '<']).next().unwrap().trim();
            for _ in 0..random.below(4) {
                argv.extend(fill(random, again));
            }
            rest = after[again.len()..].trim_start();
            continue;
        }
        if word.starts_with("many") {
            // More than Redis packs closely.
            let first = random.below(1000);
            let number = [40, 200, 600, 1200][random.below(4)];
            argv.extend((first..first + number).map(|number| number.to_string().into_bytes()));
            rest = after.trim_start();
            continue;
        }
        if word == "command" {
            argv.extend(argv_of(random));
            rest = after.trim_start();
            continue;
        }
        argv.push(
            if word.starts_with(|letter: char| letter.is_ascii_lowercase()) {
                argument(random, word)
            } else {
                word.as_bytes().to_vec()
            },
        );
        rest = after.trim_start();
    }
    argv
}

/// Where the bracket that the text begins with is closed.
fn matching(text: &str) -> usize {
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '[' | '<' => depth += 1,
            ']' | '>' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    panic!("a bracket is never closed: {text}");
}

/// The choices between bars, those within further brackets left whole.
fn split_choices(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut choices) = (0, 0, Vec::new());
    for (at, letter) in text.char_indices() {
        match letter {
            '[' | '<' => depth += 1,
            ']' | '>' => depth -= 1,
            '|' if depth == 0 => {
                choices.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    choices.push(&text[from..]);
    choices
}

fn argument(random: &mut Random, kind: &str) -> Vec<u8> {
    let any = "s1 s2 s3 h1 h2 l1 l2 l3 t1 t2 t3 z1 z2 z3";
    let stray = random.one_in(12);
    let text = match kind {
        "any" => random.of(any),
        "string" | "hash" | "list" | "set" | "zset" | "collection" if stray => random.of(any),
        "string" => random.of("s1 s2 s3"),
        "hash" => random.of("h1 h2"),
        "list" => random.of("l1 l2 l3"),
        "set" => random.of("t1 t2 t3"),
        "zset" => random.of("z1 z2 z3"),
        "collection" => random.of("z1 z2 z3 z1 z2 z3 t1 t2"),
        "value" => return value(random),
        "element" | "member" | "field" if stray => return value(random),
        "element" | "field" => random.of("a b c d e 1 2 3"),
        "member" => random.of("a b c d aa ab abc 1 2 3 -5 10"),
        "integer" => random.of("1 2 3 -7 10 100 9223372036854775807 -9223372036854775808"),
        "number" => random.of("0 1 -1 2 3 5 10 -10 100 9223372036854775807 -9223372036854775808 9223372036854775806 1.5 abc"),
        "float" => random.of("0.1 0.2 -0.1 1 3.0 5.0e3 1e-10 1e17 123456789.123456789 -7.25 1e300 0x10 .5 5. +2 inf -inf nan abc 1e400 3.14159265358979323846 17179869184.5 -0 1e4000 0x1p-3 12345678901234567890"),
        "score" => random.of("0 1 2 3 -1 1.5 2.25 -0 0.1 0.2 1e20 1e-5 inf -inf 3.14 +5 nan abc 0x1p4 1e400 17.123456789012345 1000000"),
        "bound" => random.of("0 1 (1 2 (2 3 -1 1.5 (1.5 inf -inf +inf (inf ( x nan (nan 1e400"),
        "lex" => random.of("- + [a (a [b (b [ab (abc [ ( [1 (3 x (zz"),
        "index" => random.of("0 1 2 3 -1 -2 -3 5 100 -100 x 0 1 -1"),
        "count" => random.of("0 1 2 3 100 -1 x 1 2"),
        "ttl" => random.of("1 2 5 10 50 100 500 1000 2000 10000 0 -1 x 9223372036854775807 9223372036854775 -9223372036854775808"),
        "unix" => random.of("1700000000 1700000001 1700000010 1699999999 1 0 -5 9223372036854775807 9223372036854775 x"),
        "unixms" => random.of("1700000000000 1700000000001 1700000000500 1700000001000 1700000010000 1699999999999 1 0 -5 9223372036854775807 x"),
        "timeout" => random.of("0 0.001 0.01 0.05 0.1 0.5 1 2 0.0001 1e-9 -1 x inf -inf nan 1e20 9223372036854775 0x1"),
        "pattern" => random.of("* s* ?1 [st]1 [^s]* [a-z]2 \\s1 s1 *1* a* [ \\ **"),
        "type" => random.of("string list hash set zset stream x"),
        "caller" => SCRIPTS[random.below(2)].0,
        "callerdigest" => SCRIPTS[random.below(2)].1,
        "script" => SCRIPTS[2 + random.below(SCRIPTS.len() - 2)].0,
        "digest" => SCRIPTS[2 + random.below(SCRIPTS.len() - 2)].1,
        "name" => random.of("me you other-name"),
        "channel" => random.of("c1 c2 news"),
        "channelpattern" => random.of("c* * c? news [c]1"),
        other => panic!("no kind of argument is called {other}"),
    };
    text.as_bytes().to_vec()
}

fn value(random: &mut Random) -> Vec<u8> {
    match random.below(12) {
        0 => Vec::new(),
        1 => vec![0, 255, b'\r', b'\n', b'"'],
        2 => vec![b'x'; 70],
        3 => b"hello world".to_vec(),
        _ => random.of("0 1 -1 10 abc 3.14 9223372036854775807 -9223372036854775808 01 +1 nan inf 1e3 0x10 NX EX WITHSCORES COUNT").as_bytes().to_vec(),
    }
}
