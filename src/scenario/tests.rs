//! What is read, what is printed, and what is wrong with texts that are wrong.

use super::*;

/// A scenario that uses every part of the grammar.
pub(super) const STORY: &str = "\
# A stalls between SET and INCR. Its token is newer than its lock.
# It shows why a token
# comes with the lock.

option CLIENT_FOUND_ROWS

table inventory (sku VARCHAR(32) PRIMARY KEY, qty INT NOT NULL, fence_token BIGINT NOT NULL)
  'sku-1', 10, 0

table orders (
    id INT PRIMARY KEY,  # the order's number
    state VARCHAR(16)
)

database
  INSERT INTO orders
      VALUES (1, 'new')
  # another one
  INSERT INTO orders VALUES (2, 'it''s')

store
  SET fence:sku-1 5
  EVAL unlock 1 lock:sku-1 nobody

script unlock
  if redis.call('GET', KEYS[1]) == ARGV[1] then
    return redis.call('DEL', KEYS[1])
  end

  -- # of KEYS  # no comment
  return 0

watch lock lock:sku-1, counter fence:sku-1, fence inventory.fence_token, stock inventory.qty

protocol split-acquire  # as many write it
  claims: stale write is never accepted
  # take the lock
  acquire: SET lock:sku-1 {me} NX PX 10000
    # got it
    on OK: holds lock:sku-1 for 10000ms
    on nil: retry after 100ms
  token: INCR fence:sku-1
    on {token}: draws {token}
  charge: CHARGE {order} 100 KEY {order}
    on {charge}
  write: UPDATE inventory SET qty = qty - 1, fence_token = {token}
      WHERE sku = 'sku-1' AND qty >= 1 AND fence_token < {token}
    on 1 row: sells 1 for {order}, done
    on 0 rows: abort with refund, release
    on error 1205: go to write
    on no reply: stop

  release: EVAL unlock 1 lock:sku-1 {me}
    on \"a b\": releases lock:sku-1
    on else: loses lock:sku-1, start over after 5000ms
  compensation refund: REFUND {order}

client A, B: split-acquire x2 order=order-1
client C

schedule
  A acquire              => OK
  pause A before token
  clock +10001ms  # the lease lapses
  clock to next deadline
  B acquire
  lose B token
  pause A after token
  pause B
  resume A before token
  resume A
  # the operator looks
  operator> GET lock:sku-1                        => \"A-1\"
  A> GET {token}         => nil
  C> SELECT qty FROM inventory WHERE sku = 'sku-1'  => 10
  expire lock:sku-1
  wipe \"my key\"
  crash A
  restart A

expect
  broken: a stale write is never accepted after a newer holder's write  # holder's
  inventory 'sku-1': qty 8, fence_token 2
  inventory 'sku-2': none
  key lock:sku-1: \"A-1\" ttl 9000ms
  key fence:sku-1: none
  writes: B accepted; A rejected (fenced), stale
  charges: ch-1 order-1 100; ch-2 order-1 100 refunded
  client A: paused before write, believes lock:sku-1

search
  from: action 3
  # what may happen
  faults: 2, lapses: 1, shifts: 1, expiries: 1 of lock:sku-1, wipes: 1 of fence:sku-1 or \"my key\"
  reseeds: 1, crashes: 1, restarts: 1, lost replies: 2, late requests: 1, steps: 40, attempts: 3, worlds: 100000
  without: ranks, symmetry
  breaks: a stale write is never accepted after a newer holder's write  # holder's
  breaks: tokens are never handed out twice
  finds: 7 steps, 1 fault

search
  from: end
  reaches: inventory 'sku-1': qty 0
  reaches: client A: done
  finds: nothing in 12 worlds
";

fn tree(text: &str) -> syntax::Text {
    parse_only(text).unwrap_or_else(|errors| panic!("{}", shown(&errors)))
}

fn shown(errors: &[TextError]) -> String {
    errors
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<String>>()
        .join("\n")
}

#[test]
fn the_story_reads_and_is_canonical() {
    assert_eq!(format(STORY).as_deref(), Ok(STORY));
    let reading = read(STORY).unwrap_or_else(|errors| panic!("{}", shown(&errors)));
    assert_eq!(
        reading.title,
        "A stalls between SET and INCR. Its token is newer than its lock."
    );
    assert_eq!(
        reading.description,
        "It shows why a token comes with the lock."
    );
    let setup = &reading.setup;
    assert!(setup.found_rows);
    assert_eq!(setup.statements.len(), 5);
    assert_eq!(setup.commands.len(), 2);
    assert!(setup.commands[1].1[1].starts_with(b"if redis.call"));
    let script = String::from_utf8_lossy(&setup.scripts["unlock"]).into_owned();
    assert!(
        script.ends_with("end\n\n-- # of KEYS  # no comment\nreturn 0"),
        "{script}"
    );
    assert_eq!(setup.protocols[0].steps.len(), 6);
    assert_eq!(
        setup
            .clients
            .iter()
            .map(|client| client.rounds)
            .collect::<Vec<_>>(),
        [2, 2, 1]
    );
    assert_eq!(reading.schedule.len(), 17);
    assert_eq!(reading.expectations.len(), 8);
    for line in &reading.schedule {
        let text = STORY.lines().nth(line.line - 1).unwrap_or_default().trim();
        let printed = print_schedule_line(setup, &line.action, line.expected.as_deref());
        assert_eq!(
            text.split("  #").next().unwrap_or_default().trim_end(),
            printed
        );
        let again = read_schedule_line(text, setup).expect("it was read before");
        assert_eq!(
            (again.action, again.expected),
            (line.action.clone(), line.expected.clone())
        );
    }
}

#[test]
fn the_layout_says_where_things_stand() {
    let reading = read(STORY).unwrap_or_else(|errors| panic!("{}", shown(&errors)));
    let layout = &reading.layout;
    let line = |number: usize| STORY.lines().nth(number - 1).unwrap_or_default();
    let ends = |lines: Lines| (line(lines.first), line(lines.last));
    assert_eq!(layout.schedule.map(ends), Some(("schedule", "  restart A")));
    assert_eq!(
        layout.expect.map(ends),
        Some((
            "expect",
            "  client A: paused before write, believes lock:sku-1"
        ))
    );
    let protocol = &layout.protocols[0];
    assert_eq!(
        line(protocol.lines.first),
        "protocol split-acquire  # as many write it"
    );
    assert_eq!(
        ends(protocol.steps[3]),
        (
            "  write: UPDATE inventory SET qty = qty - 1, fence_token = {token}",
            "    on no reply: stop"
        )
    );
    assert!(protocol.source.starts_with("protocol split-acquire"));
    assert!(
        protocol
            .source
            .ends_with("compensation refund: REFUND {order}")
    );
    assert_eq!(
        layout
            .clients
            .iter()
            .map(|number| line(*number))
            .collect::<Vec<_>>(),
        [
            "client A, B: split-acquire x2 order=order-1",
            "client A, B: split-acquire x2 order=order-1",
            "client C"
        ]
    );
    assert!(line(layout.watches[0]).starts_with("watch lock"));
    assert_eq!(layout.tables[1].0, "orders");
    assert_eq!(ends(layout.tables[1].1), ("table orders (", ")"));
    assert_eq!(ends(layout.scripts[0].1), ("script unlock", "  return 0"));
}

#[test]
fn texts_become_canonical() {
    let check = |text: &str, expected: &str| {
        assert_eq!(format(text).as_deref(), Ok(expected), "{text}");
        assert_eq!(format(expected).as_deref(), Ok(expected), "{text}");
        assert_eq!(tree(text), tree(expected));
    };
    check("", "");
    check("\u{feff}# a\r\n\r\nclient A\r\n", "# a\n\nclient A\n");
    check(
        "client   A ,B :p   x1  a=1 b=\"1\" c='d e'",
        "client A, B: p a=1 b=\"1\" c=\"d e\"\n",
    );
    check("client A: p x02\n   # why\n", "client A: p x2\n# why\n");
    check(
        "schedule\n # why\n     A one\n A  one  =>  OK   # c",
        "schedule\n  # why\n  A one\n  A one                  => OK  # c\n",
    );
    check(
        "schedule\n  clock +10s\n  clock +1m",
        "schedule\n  clock +10000ms\n  clock +60000ms\n",
    );
    check("schedule\n  A> GET  a   b", "schedule\n  A> GET  a   b\n");
    check(
        "schedule\n  expire 'a'\n  wipe \"a b\\x00\"",
        "schedule\n  expire a\n  wipe \"a b\\x00\"\n",
    );
    check(
        "protocol p\n      one: GET a\n          on  nil : retry  after 1s\n\n       # c\n      two: SELECT 1\n            +  1\n",
        "protocol p\n  one: GET a\n    on nil: retry after 1000ms\n\n  # c\n  two: SELECT 1\n      +  1\n",
    );
    check(
        "protocol p\n  a: GET b\n    on {x} , {y}: holds {k} for {t}ms , draws {x}, sells 2, go to a\n    on 'it': abort with a,b",
        "protocol p\n  a: GET b\n    on {x}, {y}: holds {k} for {t}ms, draws {x}, sells 2, go to a\n    on \"it\": abort with a, b\n",
    );
    check(
        "script s\n      a\n        b\n\n      c  \n",
        "script s\n  a\n    b\n\n  c  \n",
    );
    check(
        "table t(a INT,\n b INT\n)\n 1 , 2\n",
        "table t (a INT,\n    b INT\n)\n  1 , 2\n",
    );
    check(
        "expect\n key  k : \"v\"  no ttl\n t 1: none%\n writes:none\n charges:  a  b  1\n t 1 , 'x' :  a  1,b NULL\n client A:  done",
        "expect\n  key k: \"v\" no ttl\n  t 1: none %\n  writes: none\n  charges: a b 1\n  t 1, 'x': a 1, b NULL\n  client A: done\n",
    );
}

/// What stands around a protocol so that only the protocol can be wrong.
fn protocol(steps: &str) -> String {
    format!("script unlock\n  return 1\nprotocol p\n{steps}\nclient A: p order=o\n")
}

/// What stands around a schedule so that only the schedule can be wrong.
fn schedule(lines: &str) -> String {
    format!(
        "protocol p\n  one: GET a\n    on {{x}}\n  two: GET b\nclient A, B: p\nclient C\nschedule\n{lines}\n"
    )
}

/// Reads a text in which this is wrong: the errors as they are displayed.
fn check(text: &str, expected: &[&str]) {
    let errors = match read(text) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.iter().map(ToString::to_string).collect(),
    };
    assert_eq!(errors, expected, "{text}");
}

#[test]
fn blocks_that_are_wrong() {
    check(
        "protocl p\n  a: GET b",
        &[
            "line 1, column 1: no block begins with `protocl` (did you mean `protocol`?): expected `option`, `server`, `replica`, `table`, `database`, `store`, `script`, `watch`, `protocol`, `client`, `schedule`, `expect` or `search`",
        ],
    );
    check(
        "  client A",
        &[
            "line 1, column 3: this line is indented but stands under no block: expected a word such as `protocol`, `client` or `schedule` in column 1 above it",
        ],
    );
    check(
        "client A\n\tx",
        &["line 2, column 1: a tab, whose width nobody knows: expected spaces"],
    );
    check(
        "client A\n  x",
        &[
            "line 2, column 3: nothing can stand under a `client` line: expected the next block in column 1",
        ],
    );
    check(
        "option FOUND_ROWS",
        &[
            "line 1, column 8: no option is called `FOUND_ROWS`: expected `CLIENT_FOUND_ROWS` or `maxmemory-policy`",
        ],
    );
    check(
        "option CLIENT_FOUND_ROW",
        &[
            "line 1, column 8: no option is called `CLIENT_FOUND_ROW` (did you mean `CLIENT_FOUND_ROWS`?): expected `CLIENT_FOUND_ROWS` or `maxmemory-policy`",
        ],
    );
    check(
        "script s",
        &["line 1, column 1: the script is empty: expected indented lines of Lua under it"],
    );
    check(
        "script s\n  a\nscript s\n  b",
        &["line 3, column 8: there is another script called `s`: expected a name of its own"],
    );
    check(
        "schedule now",
        &[
            "line 1, column 10: `now` is not understood: expected nothing behind `schedule`; actions stand under it",
        ],
    );
    check(
        "schedule\nschedule",
        &["line 2, column 1: there is another schedule on line 1: expected one schedule"],
    );
    check(
        "expect\n\nexpect\n",
        &["line 3, column 1: there are other expectations on line 1: expected one `expect` block"],
    );
    check(
        "script",
        &[
            "line 1, column 1: the script is empty: expected indented lines of Lua under it",
            "line 1, column 7: the script's name is missing: expected letters, digits, `_` or `-`, beginning with a letter",
        ],
    );
    check(
        "watch lck a",
        &[
            "line 1, column 7: no role is called `lck` (did you mean `lock`?): expected `lock`, `counter`, `fence` or `stock`",
        ],
    );
    check(
        "watch lock a, lock b",
        &[
            "line 1, column 15: the role `lock` is given twice: expected each role once; a second set of roles stands in a `watch` line of its own",
        ],
    );
    check(
        "watch lock {a}",
        &[
            "line 1, column 12: the variable `{a}` has no value here: expected a key; in double quotes it stands for itself",
        ],
    );
    check(
        "watch fence inventory",
        &[
            "line 1, column 22: the column is missing: expected `.` and a column, such as `inventory.qty`",
        ],
    );
    check(
        "watch",
        &[
            "line 1, column 6: the role is missing: expected a role and what plays it, such as `lock lock:sku-1`",
        ],
    );
    check(
        "watch lock a b",
        &["line 1, column 14: `b` is not understood: expected `,` and another role"],
    );
}

#[test]
fn clients_that_are_wrong() {
    let p = "protocol split\n  a: GET b\n";
    let with = |line: &str, expected: &[&str]| check(&format!("{p}{line}"), expected);
    with(
        "client A: spilt",
        &[
            "line 3, column 11: no protocol is called `spilt` (did you mean `split`?): expected `split`",
        ],
    );
    with(
        "client A, A: split",
        &["line 3, column 11: there is another client called `A`: expected a name of its own"],
    );
    with(
        "client operator",
        &[
            "line 3, column 8: no client can be called `operator`: expected a name that means nothing else in a schedule, such as `A`",
        ],
    );
    with(
        "client pause",
        &[
            "line 3, column 8: no client can be called `pause`: expected a name that means nothing else in a schedule, such as `A`",
        ],
    );
    with(
        "client 1",
        &[
            "line 3, column 8: `1` cannot be the client's name: expected letters, digits, `_` or `-`, beginning with a letter",
        ],
    );
    with(
        "client",
        &[
            "line 3, column 7: the client's name is missing: expected letters, digits, `_` or `-`, beginning with a letter",
        ],
    );
    with(
        "client A:",
        &[
            "line 3, column 10: the protocol's name is missing: expected letters, digits, `_` or `-`, beginning with a letter",
        ],
    );
    with(
        "client A B",
        &[
            "line 3, column 10: `B` is not understood: expected `:` and a protocol, or `,` and another client",
        ],
    );
    with(
        "client A: split x0",
        &["line 3, column 17: `x0` runs cannot be had: expected x1 to x1000"],
    );
    with(
        "client A: split x99999999999999999999",
        &["line 3, column 17: `x99999999999999999999` runs cannot be had: expected x1 to x1000"],
    );
    with(
        "client A: split a=",
        &[
            "line 3, column 19: the value is missing: expected a value, such as `order=order-1`; the empty one is `\"\"`",
        ],
    );
    with(
        "client A: split a=\"b",
        &["line 3, column 19: the quotes are not balanced: expected a closing \""],
    );
    with(
        "client A: split a=1 a=2",
        &["line 3, column 21: `a` is given twice: expected each parameter once"],
    );
    with(
        "client A: split me=1",
        &[
            "line 3, column 17: `me` is given by the client's own attempts: expected `xN` or `name=value`, a name of letters, digits and `_`",
        ],
    );
    with(
        "client A: split foo",
        &[
            "line 3, column 17: `foo` is not understood: expected `xN` or `name=value`, a name of letters, digits and `_`",
        ],
    );
    let many: Vec<String> = (0..65).map(|number| format!("c{number}")).collect();
    let line = format!("client {}", many.join(", "));
    let column = line.rfind('c').expect("it is there") + 1;
    with(
        &line,
        &[&format!(
            "line 3, column {column}: too many clients: expected at most 64"
        )],
    );
}

#[test]
fn protocols_that_are_wrong() {
    let with = |steps: &str, expected: &[&str]| check(&protocol(steps), expected);
    with(
        "",
        &[
            "line 3, column 10: the protocol `p` has no steps: expected indented steps under it, such as `acquire: SET lock:sku-1 {me} NX PX 10000`",
        ],
    );
    with(
        "  compensation a: GET b",
        &[
            "line 3, column 10: the protocol `p` has no steps: expected indented steps under it, such as `acquire: SET lock:sku-1 {me} NX PX 10000`",
        ],
    );
    with(
        "  a GET b",
        &[
            "line 4, column 5: the label has no `:`: expected `:` right behind the label, and the request",
        ],
    );
    with(
        "  a:",
        &[
            "line 4, column 5: the request is missing: expected a Redis command, an SQL statement, CHARGE, REFUND, CHECK or SLEEP",
        ],
    );
    with(
        "  a: GET b\n  a: GET c",
        &["line 5, column 3: there is another step called `a`: expected a name of its own"],
    );
    with(
        "  a: GET b\n  on OK: stop",
        &[
            "line 5, column 3: this clause stands under no step: expected a label and a request; clauses stand deeper than their step",
        ],
    );
    with(
        "  a: GET b\n    GET c",
        &[
            "line 5, column 5: only an SQL statement goes on on the next line: expected what a reply means, as in `on OK: stop`, or the next step",
        ],
    );
    with(
        "  a: SELECT 1\n    on 1 row\n    + 1",
        &[
            "line 6, column 5: a request cannot go on behind its first clause: expected what a reply means, as in `on OK: stop`, or the next step, less indented",
        ],
    );
    with(
        "  a: GET {tokn}\n    on {token}",
        &[
            "line 4, column 10: no variable is called `{tokn}` (did you mean `{token}`?): expected `{me}`, `{order}` or `{token}`",
        ],
    );
    with(
        "  a: UPDATE t SET a = 1\n     WHERE b = {tokn}\n    on {token}",
        &[
            "line 5, column 16: no variable is called `{tokn}` (did you mean `{token}`?): expected `{me}`, `{order}` or `{token}`",
        ],
    );
    with(
        "  a: GET b\n    on OK: holds k for {ttl}ms, draws {t}",
        &[
            "line 5, column 24: no variable is called `{ttl}`: expected `{me}` or `{order}`",
            "line 5, column 39: no variable is called `{t}`: expected `{me}` or `{order}`",
        ],
    );
    with(
        "  a: EVAL unlck 0",
        &[
            "line 4, column 11: no script is called `unlck` (did you mean `unlock`?): expected `unlock`",
        ],
    );
    with(
        "  a: EVALSHA 0123 0",
        &["line 4, column 14: no script is called `0123`: expected `unlock`"],
    );
    with(
        "  a: GET \"b",
        &["line 4, column 10: the quotes are not balanced: expected a closing \""],
    );
    with(
        "  a: GET b\n    on OK: go to c",
        &["line 5, column 18: the protocol `p` has no step `c`: expected `a`"],
    );
    with(
        "  a: GET b\n    on OK: abort with relase\n  release: DEL b",
        &[
            "line 5, column 23: the protocol `p` has no step `relase` (did you mean `release`?): expected `a` or `release`",
        ],
    );
    with(
        "  a: GET b\n    on OK: go to r\n  compensation r: DEL b",
        &["line 5, column 18: `r` is a compensation: expected another step, or `abort with r`"],
    );
    with(
        "  a: GET b\n    on OK: abort",
        &[
            "line 5, column 17: `abort` names no steps: expected `with` and the steps to run, or `stop` to run none",
        ],
    );
    with(
        "  a: GET b\n    on OK: stop, draws {order}",
        &[
            "line 5, column 18: nothing can follow where the client goes: expected the end of the line; effects stand before it",
        ],
    );
    with(
        "  a: GET b\n    on OK: sels 1",
        &[
            "line 5, column 12: no reply can mean `sels` (did you mean `sells`?): expected what the client then knows, as in `on OK: holds lock:sku-1 for 10s` (also `releases`, `loses` or `votes for` a lock, `draws {token}`, `sells 1`), or does, as in `on nil: retry after 100ms` (also `start over`, `go to` or `abort with` a step, `stop`, `done`)",
        ],
    );
    with(
        "  a: GET b\n    on OK: sells 0",
        &[
            "line 5, column 18: `0` units cannot be sold: expected a whole number from 1 on, as in `sells 1`",
        ],
    );
    with(
        "  a: GET b\n    on OK: holds k for 10",
        &[
            "line 5, column 24: `10` is no duration: expected a whole number with ms, s or m behind it, such as 100ms",
        ],
    );
    with(
        "  a: GET b\n    on OK: retry after 9999999999999s",
        &["line 5, column 24: `9999999999999s` is too long: expected at most 1000000000000ms"],
    );
    with(
        "  a: GET b\n    on OK: holds k for {order}",
        &["line 5, column 31: `{order}` has no unit: expected `{order}ms`"],
    );
    with(
        "  a: GET b\n    on {token} -> goto b\n  b: GET c\n    on OK: goto b\n  c: GET d\n    on OK: holds\n  d: GET e\n    on OK: retry, sells",
        &[
            "line 5, column 16: `-> goto b` is not understood: expected `:` and what the client then knows or does, as in `on OK: holds lock:sku-1 for 10s`, or the end of the line, as in `on {token}`",
            "line 7, column 12: no reply can mean `goto` (did you mean `go to`?): expected what the client then knows, as in `on OK: holds lock:sku-1 for 10s` (also `releases`, `loses` or `votes for` a lock, `draws {token}`, `sells 1`), or does, as in `on nil: retry after 100ms` (also `start over`, `go to` or `abort with` a step, `stop`, `done`)",
            "line 9, column 17: the lock is missing: expected its key, as in `holds lock:sku-1 for 10s`",
            "line 11, column 19: nothing can follow where the client goes: expected the end of the line; effects stand before it",
        ],
    );
    with(
        "  a: GET b\n    on OK:",
        &[
            "line 5, column 11: what the reply means is missing: expected what the client then knows, as in `on OK: holds lock:sku-1 for 10s` (also `releases`, `loses` or `votes for` a lock, `draws {token}`, `sells 1`), or does, as in `on nil: retry after 100ms` (also `start over`, `go to` or `abort with` a step, `stop`, `done`)",
        ],
    );
    with(
        "  a: GET b\n    on : stop",
        &[
            "line 5, column 8: the pattern of the reply is missing: expected the reply that it is about, as in `on nil: retry`: `OK`, `nil`, a number, `\"text\"`, `1 row`, `{variable}`, `error`, `no reply` or `else`",
        ],
    );
    with(
        "  a: GET b\n    on -1 rows",
        &[
            "line 5, column 8: rows cannot be fewer than none: expected the reply that it is about, as in `on nil: retry`: `OK`, `nil`, a number, `\"text\"`, `1 row`, `{variable}`, `error`, `no reply` or `else`",
        ],
    );
    with(
        "  a: GET b\n    on {a}, {a}",
        &["line 5, column 13: `{a}` is bound twice: expected each variable once"],
    );
    with(
        "  a: GET b\n    on {a-b}",
        &[
            "line 5, column 8: this is no variable: expected a variable, such as `{token}`: letters, digits and `_` in braces",
        ],
    );
    with(
        "  a: GET b\n    on OK OK",
        &[
            "line 5, column 11: `OK` is not understood: expected `:` and what the client then knows or does, as in `on OK: holds lock:sku-1 for 10s`, or the end of the line, as in `on {token}`",
        ],
    );
    with(
        "  a: GET b\n    on nil: stop\n    on nil: done",
        &[
            "line 6, column 5: no reply comes to this clause: line 5 takes it before: expected each pattern once, and `else` last",
        ],
    );
    with(
        "  a: CHARGE {order}",
        &[
            "line 4, column 6: CHARGE takes an order and an amount: expected `CHARGE ORDER AMOUNT` or `CHARGE ORDER AMOUNT KEY IDEMPOTENCY-KEY`",
        ],
    );
    with(
        "  a: CHARGE {order} much",
        &[
            "line 4, column 6: `much` is no amount: expected a whole number from 1 on, in the currency's smallest unit",
        ],
    );
    with(
        "  a: REFUND a b",
        &["line 4, column 6: REFUND takes an order or a charge: expected `REFUND ORDER`"],
    );
    with(
        "  a: CHECK",
        &["line 4, column 6: CHECK looks at one lock: expected `CHECK KEY`"],
    );
    with(
        "  a: SLEEP long",
        &[
            "line 4, column 12: `long` is no duration: expected a whole number with ms, s or m behind it, such as 100ms",
        ],
    );
    with(
        "  claims: everything is fine\n  a: GET b",
        &[
            "line 4, column 11: no property says `everything is fine`: expected `a stale write is never accepted after a newer holder's write`, `tokens come in the order in which locks were taken`, `tokens are never handed out twice`, `a holder with a live lease is never rejected by the fence`, `at most one client believes that it holds the lock`, `only the owner releases or prolongs a lock`, `every lock has a deadline`, `stock is never negative`, `stock equals what was sold`, `nobody is charged for something they did not get`, `nobody is charged twice` or `everything sold is paid`",
        ],
    );
    with(
        "  claims: tokens\n  a: GET b",
        &[
            "line 4, column 11: several properties begin with `tokens`: expected `tokens come in the order in which locks were taken` or `tokens are never handed out twice`",
        ],
    );
    check(
        "protocol p\n  a: GET b\nprotocol p\n  a: GET b",
        &["line 3, column 10: there is another protocol called `p`: expected a name of its own"],
    );
    check(
        "protocol p\n  a: GET {order}\nclient A: p order=1\nclient B: p",
        &[
            "line 2, column 10: the client `B` has no parameter `order`: expected `order=...` behind every client that runs the protocol",
        ],
    );
    check("protocol p\n  a: GET {order}\n", &[]);
}

#[test]
fn schedules_that_are_wrong() {
    let with = |lines: &str, expected: &[&str]| check(&schedule(lines), expected);
    with(
        "  clok +5s",
        &[
            "line 8, column 3: no action begins with `clok` (did you mean `clock`?): expected `pause`, `resume`, `crash`, `restart`, `replicate`, `failover`, `lose`, `delay`, `deliver`, `clock`, `expire` or `wipe`",
        ],
    );
    with(
        "  D one",
        &["line 8, column 3: no client is called `D`: expected `A`, `B` or `C`"],
    );
    with(
        "  a one",
        &[
            "line 8, column 3: no client is called `a` (did you mean `A`?): expected `A`, `B` or `C`",
        ],
    );
    with(
        "  A tow",
        &[
            "line 8, column 5: the protocol `p` has no step `tow` (did you mean `two`?): expected `one` or `two`",
        ],
    );
    with(
        "  C one",
        &[
            "line 8, column 5: the client `C` runs no protocol: expected a command at its console, such as `C> GET lock:sku-1`",
        ],
    );
    with(
        "  A one two",
        &["line 8, column 9: `two` is not understood: expected the end of the action"],
    );
    with(
        "  A one =>",
        &[
            "line 8, column 11: the reply behind `=>` is missing: expected a reply in short form, such as `OK`, `nil`, `1` or `\"A-1\"`",
        ],
    );
    with(
        "  pause A => OK",
        &[
            "line 8, column 14: no reply comes to this action: expected `=>` behind a step, a command or a `lose` alone",
        ],
    );
    with(
        "  pause A at one",
        &[
            "line 8, column 11: `at one` is not understood: expected `before STEP`, `after STEP` or the end of the action",
        ],
    );
    with(
        "  pause A before",
        &[
            "line 8, column 17: the step's label is missing: expected letters, digits, `_` or `-`, beginning with a letter",
        ],
    );
    with(
        "  clock 10s",
        &[
            "line 8, column 9: the clock moves by a duration: expected `+` and a duration, such as `clock +10s`, `to next deadline` or `of` and a clock",
        ],
    );
    with(
        "  clock +10",
        &[
            "line 8, column 10: `10` is no duration: expected a whole number with ms, s or m behind it, such as 100ms",
        ],
    );
    with(
        "  A> GET {y}",
        &["line 8, column 10: no variable is called `{y}`: expected `{me}` or `{x}`"],
    );
    with(
        "  operator> GET {x}",
        &[
            "line 8, column 17: `{x}` has no value here: expected quotes around it, where it stands for itself",
        ],
    );
    with(
        "  operator>",
        &["line 8, column 12: nothing is typed: expected a Redis command or an SQL statement"],
    );
    with(
        "  operator> EVAL x 0",
        &[
            "line 8, column 18: no script is called `x`: expected a `script` block with this name, or Lua in quotes",
        ],
    );
    with(
        "  expire",
        &["line 8, column 9: a key is missing: expected a key"],
    );
    with(
        "  wipe a b",
        &["line 8, column 10: `b` is not understood: expected the end of the action"],
    );
    with(
        "  nonsense",
        &[
            "line 8, column 3: `nonsense` does nothing here: expected `CLIENT STEP`, `CLIENT> COMMAND`, or an action such as `pause CLIENT before STEP`, `resume CLIENT`, `clock +10s`, `crash CLIENT`, `lose CLIENT STEP` or `expire KEY`; SCENARIOS.md has them all",
        ],
    );
    // All errors at once, in the order of the text, and none that only follows from another one.
    with(
        "  D one\n  A one\n  A tow\n\n  clock 1",
        &[
            "line 8, column 3: no client is called `D`: expected `A`, `B` or `C`",
            "line 10, column 5: the protocol `p` has no step `tow` (did you mean `two`?): expected `one` or `two`",
            "line 12, column 9: the clock moves by a duration: expected `+` and a duration, such as `clock +10s`, `to next deadline` or `of` and a clock",
        ],
    );
    check(
        "protocol p\n  one GET a\nclient A: p\nschedule\n  A one",
        &[
            "line 2, column 7: the label has no `:`: expected `:` right behind the label, and the request",
        ],
    );
    check(
        "client A: p\nschedule\n  A one",
        &["line 1, column 11: no protocol is called `p`"],
    );
    check(
        "client 1\nschedule\n  A one",
        &[
            "line 1, column 8: `1` cannot be the client's name: expected letters, digits, `_` or `-`, beginning with a letter",
        ],
    );
    check(
        "schedule\n  A one",
        &["line 2, column 3: no client is called `A`: expected a `client` line that declares it"],
    );
}

#[test]
fn expectations_that_are_wrong() {
    let with = |line: &str, expected: &[&str]| {
        check(
            &format!("table t (a INT PRIMARY KEY, b INT)\nclient A\nexpect\n  {line}"),
            expected,
        );
    };
    let an_expectation = "expected `broken: SENTENCE`, `holds: SENTENCE`, `not tested: SENTENCE`, `TABLE 'KEY': COLUMN VALUE`, `key KEY: VALUE`, `writes: ...`, `charges: ...` or `client NAME: STATE`";
    with(
        "nonsense",
        &[&format!(
            "line 4, column 3: `nonsense` is no expectation: {an_expectation}"
        )],
    );
    with(
        "brokn: stock",
        &[&format!(
            "line 4, column 3: `brokn: stock` is no expectation: {an_expectation}"
        )],
    );
    with(
        "broken:",
        &["line 4, column 10: the property is missing: expected a property's sentence"],
    );
    with(
        "broken: stok is never negative",
        &[
            "line 4, column 11: no property says `stok is never negative` (did you mean `stock is never negative`?): expected `stock is never negative`",
        ],
    );
    with(
        "client B: done",
        &["line 4, column 10: no client is called `B`: expected `A`"],
    );
    with(
        "client A:",
        &[
            "line 4, column 12: the client's state is missing: expected the client's state in words, such as `done` or `paused before write`",
        ],
    );
    with(
        "key a \"b\"",
        &["line 4, column 9: the key has no `:` behind it: expected `:`"],
    );
    with(
        "key a:",
        &[
            "line 4, column 9: the key's value is missing: expected the key's value in short form, such as `\"A-1\"`, or `none` alone",
        ],
    );
    with(
        "key a: \"b\" ttl soon",
        &[
            "line 4, column 18: `soon` is no duration: expected a whole number with ms, s or m behind it, such as 100ms",
        ],
    );
    with(
        "writes: A did",
        &[
            "line 4, column 13: `did` is no verdict on a write: expected `accepted` or `rejected (REASON)`, then `, stale` for a stale writer",
        ],
    );
    with(
        "writes: Ax accepted",
        &["line 4, column 11: no client is called `Ax`: expected `A` or `operator`"],
    );
    with(
        "charges: ch-1 order-1",
        &[
            "line 4, column 12: `ch-1 order-1` is no charge: expected charge, order and amount, such as `ch-1 order-1 100`, then `refunded` if it was; or `none`",
        ],
    );
    with(
        "t 1: a",
        &[
            "line 4, column 9: the column's value is missing: expected an SQL literal, such as 'sku-1', 8 or NULL",
        ],
    );
    with(
        "t 'x: a 1",
        &[
            "line 4, column 5: the quotes are not closed: expected an SQL literal, such as 'sku-1', 8 or NULL",
        ],
    );
    with(
        "t 1 a 1",
        &["line 4, column 7: the primary key has no `:` behind it: expected `:`"],
    );
}

#[test]
fn what_stands_before_the_schedule_is_tried() {
    let near = "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use near";
    check(
        "table t",
        &[
            "line 1, column 8: the columns are missing: expected `(` and the columns as in CREATE TABLE, such as `(sku VARCHAR(32) PRIMARY KEY)`",
        ],
    );
    check(
        "table",
        &["line 1, column 6: the name is missing: expected a name as in SQL"],
    );
    check(
        "table t (a INT,\n  b INT\n",
        &["line 1, column 15: the columns' parenthesis is never closed: expected `)`"],
    );
    check(
        "table t (a INT, b INTT)",
        &[&format!(
            "line 1, column 19: ERROR 1064 (42000): {near} 'INTT)' at line 1"
        )],
    );
    check(
        "table t (a INT,\n  b INTT\n)\n",
        &[&format!(
            "line 2, column 5: ERROR 1064 (42000): {near} 'INTT\n)' at line 2"
        )],
    );
    check(
        "table t (a INT)\n  1\n\n  'x'\n  1, 2\n  1), (2\n",
        &[
            "line 4, column 3: ERROR 1366 (HY000): Incorrect integer value: 'x' for column 'a' at row 1",
            "line 5, column 3: ERROR 1136 (21S01): Column count doesn't match value count at row 1",
            "line 6, column 3: the parentheses are not balanced: expected one row's values with commas between them",
        ],
    );
    check(
        "table t (a INT PRIMARY KEY)\n  1\n  1\n",
        &["line 3, column 3: ERROR 1062 (23000): Duplicate entry '1' for key 't.PRIMARY'"],
    );
    check(
        "table t (a INT)\n  {x}\n",
        &["line 2, column 3: `{x}` has no value before the schedule: expected a literal"],
    );
    check(
        "table t (a INT)\ntable t (a INT)\n",
        &["line 2, column 9: ERROR 1050 (42S01): Table 't' already exists"],
    );
    check(
        "database\n  INSERT INTO t VALUES (1)\n  DELETE FROM t\n",
        &["line 2, column 3: ERROR 1146 (42S02): Table 'test.t' doesn't exist"],
    );
    check(
        "table t (a INT)\ndatabase\n  INSERT INTO t\n    VALUES (1\n",
        &[&format!(
            "line 4, column 14: ERROR 1064 (42000): {near} '' at line 2"
        )],
    );
    check(
        "store\n  SET k\n  NONSENSE\n  INCR k",
        &[
            "line 2, column 3: ERR wrong number of arguments for 'set' command: expected a command that succeeds",
            "line 3, column 3: ERR unknown command 'NONSENSE', with args beginning with: : expected a command that succeeds",
        ],
    );
    check(
        "store\n  BLPOP k 0\n",
        &[
            "line 2, column 3: this command waits for ever: expected a command that is answered at once",
        ],
    );
    check(
        "store\n  SELECT 1\n",
        &[
            "line 2, column 3: only Redis commands stand under `store`: expected a Redis command; statements stand under `database`",
        ],
    );
    check(
        "store\n  SET k {me}\n",
        &[
            "line 2, column 9: `{me}` has no value before the schedule: expected a literal; in quotes it stands for itself",
        ],
    );
    check("store\n  SET k \"{me}\"\n", &[]);
    let t = "table t (a INT PRIMARY KEY, b INT)\n";
    let with = |line: &str, expected: &[&str]| check(&format!("{t}{line}"), expected);
    with(
        "watch fence s.a",
        &["line 2, column 13: no table is called `s`: expected `t`"],
    );
    with(
        "watch stock t.c",
        &["line 2, column 15: the table `t` has no column `c`: expected `a` or `b`"],
    );
    with("watch stock t.B", &[]);
    with(
        "expect\n  s 1: b 2",
        &["line 3, column 3: no table is called `s`: expected `t`"],
    );
    with(
        "expect\n  t 1: c 2",
        &["line 3, column 8: the table `t` has no column `c`: expected `a` or `b`"],
    );
    with(
        "expect\n  t 1, 2: b 2",
        &["line 3, column 3: the primary key of `t` has 1 and not 2 columns: expected a"],
    );
    with(
        "expect\n  t 1: b two",
        &[
            "line 3, column 10: `two` is no literal: expected an SQL literal, such as 'sku-1', 8 or NULL",
        ],
    );
    with(
        "table u (a INT)\nexpect\n  u 1: a 1",
        &[
            "line 4, column 3: the table `u` has no primary key: expected a table whose rows have a name",
        ],
    );
}

#[test]
fn searches_that_are_wrong() {
    let with =
        |lines: &str, expected: &[&str]| check(&format!("client A\nsearch\n  {lines}"), expected);
    let limits = "`faults: 2`, `lapses: 1`, `wipes: 1 of KEY`, `breaks: SENTENCE`, `breaks: anything`, `reaches: EXPECTATION`, `from: end`, `finds: nothing` or `challenge`; limits are faults, lapses, shifts, expiries, wipes, reseeds, crashes, restarts, lost replies, lost requests, late replies, late requests, evictions, server crashes, server restarts, failovers, clock jumps, steps, attempts, worlds";
    with(
        "fault: 2",
        &[&format!(
            "line 3, column 3: `fault: 2` is not understood: expected {limits}"
        )],
    );
    with(
        "wipes: 1,",
        &[&format!(
            "line 3, column 12: a limit is missing: expected {limits}"
        )],
    );
    with(
        "wipes: x\n  crashes 1\n  lapses: 101\n  lost replies:",
        &[
            "line 3, column 10: `x` is no number: expected a whole number",
            "line 4, column 11: crashes has no `:` behind it: expected `:` and a number",
            "line 5, column 11: `101` is too many: expected at most 100",
            "line 6, column 16: the number is missing: expected a whole number",
        ],
    );
    with(
        "crashes: 1 of A",
        &["line 3, column 17: crashes are not of a key: expected `,` and another limit"],
    );
    with(
        "wipes: 1 of {me}",
        &[
            "line 3, column 15: the variable `{me}` has no value here: expected a key; in double quotes it stands for itself",
        ],
    );
    with(
        "breaks:",
        &[
            "line 3, column 10: the property is missing: expected a property's sentence, or `anything`",
        ],
    );
    with(
        "reaches: holds: stock is never negative\n  reaches: client B: done",
        &[
            "line 3, column 12: `holds: stock is never negative` is nothing that a world shows: expected `TABLE 'KEY': COLUMN VALUE`, `key KEY: VALUE`, `charges: ...` or `client NAME: STATE`",
            "line 4, column 19: no client is called `B`: expected `A`",
        ],
    );
    with(
        "breaks: anything\n  reaches: client A: done",
        &[
            "line 3, column 3: a search looks for one thing: `breaks` and `reaches` exclude each other: expected one of the two",
        ],
    );
    with(
        "from: now\n  finds: something\n  finds: 7 steps\n  finds: nothing in 3",
        &[
            "line 3, column 9: `now` is no moment of the schedule: expected `start`, `end` or `action N`",
            "line 4, column 10: `something` is nothing that can be found: expected `nothing`, `nothing in N worlds`, `N steps, M faults` or `the schedule`",
            "line 5, column 17: the faults are missing: expected `nothing`, `nothing in N worlds`, `N steps, M faults` or `the schedule`",
            "line 6, column 22: the word `worlds` is missing: expected `nothing`, `nothing in N worlds`, `N steps, M faults` or `the schedule`",
        ],
    );
    with(
        "without: symmetri\n  lapses: 1\n  lapses: 2",
        &[
            "line 3, column 12: `symmetri` is no reduction: expected `ranks`, `dead variables` or `symmetry`",
            "line 5, column 3: `lapses` stands on line 4 already: expected it once",
        ],
    );
}

#[test]
fn scenarios_have_limits() {
    let too_many = |text: &str, expected: &str| {
        let errors = read(text).expect_err("it is too much");
        assert_eq!(errors[0].to_string(), expected);
    };
    too_many(
        &"#".repeat(limits::TEXT + 1),
        "line 1, column 1: the text is 1048577 bytes long: expected at most 1048576 bytes",
    );
    too_many(
        &"\n".repeat(limits::LINES + 1),
        "line 20001, column 1: the text has 20001 lines: expected at most 20000",
    );
    too_many(
        &format!("# {}", "x".repeat(limits::LINE)),
        "line 1, column 1: the line is 8194 bytes long: expected at most 8192 bytes",
    );
    let lines = |line: &str, count: usize| format!("{line}\n").repeat(count);
    too_many(
        &format!(
            "client A\nschedule\n{}",
            lines("  A> PING", limits::ACTIONS + 1)
        ),
        "line 10003, column 3: too many actions: expected at most 10000",
    );
    too_many(
        &format!("protocol p\n{}", lines("  s: PING", limits::STEPS + 1)),
        "line 202, column 3: too many steps: expected at most 200",
    );
    too_many(
        &format!(
            "protocol p\n  s: PING\n{}",
            lines("    on 1", limits::CLAUSES + 1)
        ),
        "line 53, column 5: too many clauses: expected at most 50",
    );
    let named = |what: &str, count: usize, body: &str| -> String {
        (0..count)
            .map(|number| format!("{what} n{number}{body}\n"))
            .collect()
    };
    too_many(
        &named("protocol", limits::PROTOCOLS + 1, "\n  a: PING"),
        "line 129, column 10: too many protocols: expected at most 64",
    );
    too_many(
        &named("script", limits::SCRIPTS + 1, "\n  return 1"),
        "line 129, column 8: too many scripts: expected at most 64",
    );
    too_many(
        &named("table", limits::TABLES + 1, " (a INT)"),
        "line 65, column 7: too many tables: expected at most 64",
    );
    too_many(
        &named("client", limits::CLIENTS + 1, ""),
        "line 65, column 8: too many clients: expected at most 64",
    );
    too_many(
        &format!("store\n{}", lines("  PING", limits::INITIAL + 1)),
        "line 2002, column 3: too many commands before the schedule: expected at most 2000",
    );
    too_many(
        &format!("table t (a INT)\n{}", lines("  1", limits::INITIAL)),
        "line 2001, column 3: too many statements before the schedule: expected at most 2000",
    );
    too_many(
        &format!(
            "expect\n{}",
            lines("  key k: none", limits::EXPECTATIONS + 1)
        ),
        "line 1002, column 3: too many expectations: expected at most 1000",
    );
    too_many(
        &format!("client {}", "n".repeat(limits::NAME + 1)),
        "line 1, column 8: the client's name is 65 characters long: expected at most 64",
    );
    let effects = vec!["sells 1"; limits::ITEMS + 1].join(", ");
    too_many(
        &format!("protocol p\n  a: PING\n    on 1: {effects}"),
        "line 3, column 299: too many effects: expected at most 32",
    );
    let wrong = read(&lines("wrong", 300)).expect_err("it is wrong");
    assert_eq!(wrong.len(), 101);
    assert_eq!(wrong[100].message, "200 more errors are not shown");
}

/// Texts of the largest size that would take long if anything looked twice at what it has passed.
#[test]
fn reading_takes_time_in_proportion_to_the_text() {
    let line = |piece: &str| {
        let line = format!("  {}", piece.repeat((limits::LINE - 2) / piece.len()));
        format!("{line}\n").repeat(limits::TEXT / (line.len() + 2))
    };
    let texts = [
        format!("expect\n{}", line("\\'")),
        format!("schedule\n{}", line("=> '")),
        format!("schedule\n{}", line("A> ")),
        format!("protocol p\n{}", line("on {a}, ")),
        format!("store\n{}", line("{a} ")),
        format!("table t (\n{}", line("(")),
        "client a, ".repeat(limits::TEXT / 11),
        "table t (\n".repeat(limits::LINES - 1),
        "x\n\n#\n".repeat(limits::LINES / 3),
        "expect\n".repeat(limits::LINES - 1),
    ];
    for text in texts {
        assert!(text.len() <= limits::TEXT);
        let started = std::time::Instant::now();
        assert!(read(&text).is_err());
        // A few hundred milliseconds without optimization; something that looks twice takes minutes.
        assert!(started.elapsed().as_secs() < 20, "{}", &text[..40]);
    }
}
