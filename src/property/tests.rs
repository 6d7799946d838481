//! Every property: a scenario that breaks it, one that tests it and holds, one that does not test it, and the delicate cases.

use super::{Judge, LedgerEntry, Property, Verdict};
use crate::scenario;
use crate::sim::setup::Setup;
use crate::sim::step::step;
use crate::sim::world::World;

pub(super) const SHOP: &str = "
table inventory (sku VARCHAR(32) PRIMARY KEY, qty INT NOT NULL, fence_token BIGINT NOT NULL)
  'sku-1', 10, 0
  'sku-2', 1, 0
  'sku-3', 10, 5

script acquire
  if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', 10000) then
    return redis.call('INCR', KEYS[2])
  end
  return false

script acquire-late
  -- Draws first and takes the lock afterwards, in one step.
  if redis.call('EXISTS', KEYS[1]) == 1 then
    return false
  end
  local token = redis.call('INCR', KEYS[2])
  redis.call('SET', KEYS[1], ARGV[1], 'PX', 10000)
  return token

script setnx-expire
  if redis.call('SETNX', KEYS[1], ARGV[1]) == 1 then
    redis.call('EXPIRE', KEYS[1], 10)
    return 1
  end
  return 0

script unlock
  if redis.call('GET', KEYS[1]) == ARGV[1] then
    return redis.call('DEL', KEYS[1])
  end
  return 0

protocol atomic
  acquire: EVAL acquire 2 k c {me}
    on nil: retry
    on {token}: holds k for 10000ms
  write: UPDATE inventory SET qty = qty - 1, fence_token = {token} WHERE sku = {sku} AND qty >= 1 AND fence_token < {token}
    on 1 row: sells 1
  release: EVAL unlock 1 k {me}

protocol late
  acquire: EVAL acquire-late 2 k c {me}
    on nil: retry
    on {token}: holds k for 10000ms
  release: EVAL unlock 1 k {me}

protocol split
  acquire: SET k {me} NX PX 10000
    on OK: holds k for 10000ms
    on nil: retry
  token: INCR c
    on {token}
  write: UPDATE inventory SET qty = qty - 1, fence_token = {token} WHERE sku = {sku} AND qty >= 1 AND fence_token < {token}
    on 1 row: sells 1
  release: EVAL unlock 1 k {me}

protocol early
  token: INCR c
    on {token}
  acquire: SET k {me} NX PX 10000
    on OK: holds k for 10000ms
    on nil: retry
  release: EVAL unlock 1 k {me}

protocol drawn
  acquire: SET k {me} NX PX 10000
    on OK: holds k for 10000ms
    on nil: retry
  token: INCR another
    on {token}: draws {token}
  again: GET another
    on {token}: draws {token}
  release: EVAL unlock 1 k {me}

protocol unfenced
  acquire: SET k {me} NX PX 10000
    on OK: holds k for 10000ms
    on nil: retry
  write: UPDATE inventory SET qty = qty - 1 WHERE sku = {sku}
    on 1 row: sells 1
  release: EVAL unlock 1 k {me}

protocol twice
  acquire: EVAL acquire 2 k c {me}
    on nil: retry
    on {token}: holds k for 10000ms
  write: UPDATE inventory SET qty = qty - 1, fence_token = {token} WHERE sku = {sku} AND fence_token < {token}
    on 1 row: sells 1
  again: UPDATE inventory SET qty = qty - 1, fence_token = {token} WHERE sku = {sku} AND fence_token < {token}
    on 1 row: sells 1
  release: EVAL unlock 1 k {me}

protocol careful
  acquire: SET k {me} NX PX 10000
    on OK: holds k for 10000ms
    on nil: retry
  look: CHECK k
    on lapsed: loses k, stop
  release: DEL k

protocol careless
  acquire: SET k {me} NX PX 10000
    on OK: holds k for 10000ms
    on nil: retry
  prolong: PEXPIRE k 10000
  release: DEL k

protocol barge
  acquire: SET k {me} PX 10000
    on OK: holds k for 10000ms
  release: DEL k

protocol endless
  acquire: SETNX k {me}
    on 1: holds k
    on 0: retry
  deadline: EXPIRE k 10
  release: DEL k

protocol endless-in-one
  acquire: EVAL setnx-expire 1 k {me}
    on 1: holds k for 10000ms
    on 0: retry
  release: DEL k

protocol transacted
  acquire: SET k {me} NX PX 10000
    on OK: holds k for 10000ms
    on nil: retry
  token: INCR c
    on {token}
  begin: BEGIN
  write: UPDATE inventory SET qty = qty - 1, fence_token = {token} WHERE sku = {sku} AND qty >= 1 AND fence_token < {token}
    on 1 row: sells 1
  commit: COMMIT
  release: EVAL unlock 1 k {me}

protocol unsent
  acquire: EVAL acquire 2 k c {me}
    on {token}: holds k for 10000ms
  write: UPDATE inventory SET qty = qty - 1 WHERE sku = {sku} AND qty >= 2
    on 1 row: sells 1

protocol stored
  acquire: EVAL acquire 2 k c {me}
    on {token}: holds k for 10000ms
  write: UPDATE inventory SET qty = qty - 1, fence_token = {token} WHERE sku = {sku} AND qty >= 2
    on 1 row: sells 1

protocol lost-update
  read: SELECT qty FROM inventory WHERE sku = {sku}
    on {qty}
  write: UPDATE inventory SET qty = {qty} - 1 WHERE sku = {sku}
    on 1 row: sells 1

protocol reserve
  write: UPDATE inventory SET qty = qty - 1 WHERE sku = {sku} AND qty >= 1
    on 0 rows: stop
  charge: CHARGE {order} 100
    on no reply: abort with restock
    on {charge}: sells 1
  compensation restock: UPDATE inventory SET qty = qty + 1 WHERE sku = {sku}

protocol pay
  charge: CHARGE {order} 100
    on {charge}
  write: UPDATE inventory SET qty = qty - 1 WHERE sku = {sku} AND qty >= 1
    on 1 row: sells 1
    on 0 rows: stop

protocol pay-or-refund
  charge: CHARGE {order} 100
    on {charge}
  write: UPDATE inventory SET qty = qty - 1 WHERE sku = {sku} AND qty >= 1
    on 1 row: sells 1
    on 0 rows: abort with refund
  compensation refund: REFUND {order}

protocol pay-once
  charge: CHARGE {order} 100 KEY {order}
    on {charge}
  write: UPDATE inventory SET qty = qty - 1 WHERE sku = {sku} AND qty >= 1
    on 1 row: sells 1
    on 0 rows: abort with refund
  compensation refund: REFUND {order}

protocol sell-then-charge
  write: UPDATE inventory SET qty = qty - 1 WHERE sku = {sku} AND qty >= 1
    on 1 row: sells 1 for {order}
    on 0 rows: stop
  charge: CHARGE {order} 100
";

pub(super) const ALL_ROLES: &str =
    "watch lock k, counter c, fence inventory.fence_token, stock inventory.qty";

struct Played {
    setup: std::sync::Arc<Setup>,
    judge: Judge,
    ledger: Vec<LedgerEntry>,
}

/// Plays a schedule, lines divided by `;`, of these clients.
fn play(roles: &str, clients: &str, schedule: &str) -> Played {
    let lines = |text: &str, indent: &str| -> String {
        text.split(';')
            .map(|line| format!("{indent}{}\n", line.trim()))
            .collect()
    };
    let text = format!(
        "{SHOP}\n{roles}\n\n{}\nschedule\n{}",
        lines(clients, "client "),
        lines(schedule, "  ")
    );
    let reading = scenario::read(&text).unwrap_or_else(|errors| panic!("{schedule}: {errors:?}"));
    let setup = reading.setup;
    let (mut world, events) = World::new(&setup);
    let mut judge = Judge::new(&setup);
    let mut ledger = judge.observe(&setup, 0, &events, &world);
    for (place, line) in reading.schedule.iter().enumerate() {
        let (next, events) = step(&setup, &world, &line.action);
        for event in &events {
            if let crate::sim::event::Fact::Refused { why } = &event.fact {
                panic!("{schedule}: {:?}: {why}", line.action);
            }
        }
        ledger.extend(judge.observe(&setup, place, &events, &next));
        world = next;
    }
    Played {
        setup,
        judge,
        ledger,
    }
}

fn in_words(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Holds { because } => format!("holds: {because}"),
        Verdict::Broken(broken) => format!("broken: {}", broken.because),
        Verdict::NotTested { needs } => format!("not tested: {needs}"),
    }
}

/// Plays a schedule with all roles, and compares the property's verdict with `expected`: the verdict, and a part of its sentence.
fn check(property: Property, clients: &str, schedule: &str, expected: &str) {
    check_roles(property, ALL_ROLES, clients, schedule, expected);
}

fn check_roles(property: Property, roles: &str, clients: &str, schedule: &str, expected: &str) {
    let played = play(roles, clients, schedule);
    let verdicts = played.judge.verdicts(&played.setup);
    let order: Vec<Property> = verdicts.iter().map(|(property, _)| *property).collect();
    assert_eq!(order, Property::ALL);
    compare(&verdicts, property, schedule, expected);
}

fn compare(verdicts: &[(Property, Verdict)], property: Property, schedule: &str, expected: &str) {
    let (_, verdict) = verdicts
        .iter()
        .find(|(other, _)| *other == property)
        .unwrap();
    let got = in_words(verdict);
    let (kind, part) = expected.split_once(": ").unwrap_or((expected, ""));
    assert!(
        got.starts_with(kind) && got.contains(part),
        "{property:?} after {schedule}\n  expected {expected}\n  got      {got}"
    );
}

#[test]
fn a_stale_write_after_a_newer_holders() {
    let property = Property::NoStaleWrite;
    check(
        property,
        "A, B: split sku=sku-1",
        "A acquire; pause A before token; clock +10001ms; B acquire; B token; B write; resume A; A token; A write",
        "broken: A wrote with token 2 at 10.001 s although its lease had lapsed at 10 s and B, who took the lock after A, had \
         already written with token 1; the fence let it pass because 2 is greater than 1.",
    );
    check(
        property,
        "A, B: atomic sku=sku-1",
        "A acquire; clock +10001ms; B acquire; B write; A write",
        "holds: A came with token 1 after B, a newer holder, had written, and the fence rejected it: the row held 2.",
    );
    // In order, though late.
    check(
        property,
        "A, B: atomic sku=sku-1",
        "A acquire; clock +10001ms; B acquire; A write; B write",
        "not tested: It takes a write by an older holder",
    );
    // Missing stock stopped it.
    check(
        property,
        "A, B: split sku=sku-2",
        "A acquire; clock +10001ms; B acquire; B token; B write; A token; A write",
        "not tested",
    );
    // Another row.
    check(
        property,
        "A: split sku=sku-1; B: split sku=sku-3",
        "A acquire; clock +10001ms; B acquire; B token; B write; A token; A write",
        "not tested",
    );
    // The newer holder's write was rejected.
    check(
        property,
        "A: split sku=sku-3; B: split sku=sku-3",
        "A acquire; clock +10001ms; B acquire; B token; B write; operator> SET c 7; A token; A write",
        "not tested",
    );
    // Nothing compares.
    check(
        property,
        "A, B: unfenced sku=sku-1",
        "A acquire; clock +10001ms; B acquire; B write; A write",
        "broken: nothing in the statement compares tokens",
    );
    // A client that has learned of the loss is an older holder all the same.
    check(
        property,
        "A, B: split sku=sku-1",
        "A acquire; expire k; B acquire; B token; B write; B release; A token; A write",
        "broken: although its lease had been made to lapse at 0 s and B",
    );
    // A lock of stock alone protects the stock's table.
    check_roles(
        property,
        "watch lock k, stock inventory.qty",
        "A, B: unfenced sku=sku-1",
        "A acquire; clock +10001ms; B acquire; B write; A write",
        "broken",
    );
    check_roles(
        property,
        "watch counter c",
        "A, B: unfenced sku=sku-1",
        "A acquire; clock +10001ms; B acquire; B write; A write",
        "not tested: add `watch lock KEY, fence TABLE.COLUMN`",
    );
    // Two resources: each watch line has its own order of locks.
    check_roles(
        property,
        "watch lock other, fence inventory.fence_token\nwatch lock k, fence inventory.fence_token",
        "A, B: split sku=sku-1",
        "A acquire; clock +10001ms; B acquire; B token; B write; A token; A write",
        "broken",
    );
    // A new attempt's lock is a new one.
    check(
        property,
        "A, B: atomic sku=sku-1; C: atomic sku=sku-1 x2",
        "C acquire; C write; C release; A acquire; A write; A release; C acquire; C write",
        "not tested",
    );
    // A crash ends the acquisition.
    check(
        property,
        "A, B: split sku=sku-1",
        "A acquire; crash A; restart A; clock +10001ms; B acquire; B token; B write; B release; A acquire; A token; A write",
        "not tested",
    );
}

#[test]
fn writes_count_when_they_are_committed() {
    let clients = "A, B: transacted sku=sku-1";
    let begun = "A acquire; clock +10001ms; B acquire; B token; B begin; B write; B commit; A token; A begin; A write";
    let property = Property::NoStaleWrite;
    check(property, clients, begun, "not tested");
    check(
        property,
        clients,
        &format!("{begun}; A commit"),
        "broken: A wrote with token 2",
    );
    check(
        property,
        clients,
        &format!("{begun}; A> ROLLBACK"),
        "not tested",
    );
    check(
        property,
        clients,
        &format!("{begun}; crash A"),
        "not tested",
    );
    // What the writer was when it wrote is what counts, though it had given the lock back before it committed.
    check(
        property,
        clients,
        "A acquire; A token; A begin; A write; A> DEL k; B acquire; B token; A commit; B begin; B write; B commit",
        "not tested",
    );
    let property = Property::StockEqualsSold;
    let written = "A acquire; A token; A begin; A write";
    check(property, clients, written, "not tested: Not yet");
    check(property, clients, &format!("{written}; A commit"), "holds");
    check(
        property,
        clients,
        &format!("{written}; A> ROLLBACK"),
        "broken: 1 unit was sold, and the stock is what it was: A sold 1 unit more than it took.",
    );
    assert!(play(ALL_ROLES, clients, written).ledger.is_empty());
    assert!(
        play(ALL_ROLES, clients, &format!("{written}; A> ROLLBACK"))
            .ledger
            .is_empty()
    );
    let ledger = play(
        ALL_ROLES,
        clients,
        &format!("{written}; clock +3ms; A commit"),
    )
    .ledger;
    let places: Vec<(usize, u64)> = ledger
        .iter()
        .map(|entry| (entry.action, entry.at))
        .collect();
    assert_eq!(places, [(5, 3)]);
}

#[test]
fn tokens_in_the_order_of_locks() {
    let property = Property::TokensInOrder;
    check(
        property,
        "A, B: split sku=sku-1",
        "A acquire; clock +10001ms; B acquire; B token; A token",
        "broken: A drew token 2 at 10.001 s, though B, who took the lock after A, had drawn token 1 before",
    );
    check(
        property,
        "A, B: atomic sku=sku-1",
        "operator> SET c 5; A acquire; clock +10001ms; wipe c; B acquire",
        "broken: B drew token 1 at 10.001 s, though A, whose lock is older, holds token 6",
    );
    check(
        property,
        "A, B: atomic sku=sku-1",
        "A acquire; A write; A release; B acquire",
        "holds: A took the lock first and drew 1, B took it later and drew 2.",
    );
    // What stood there before is no history.
    check(
        property,
        "A, B: atomic sku=sku-3",
        "operator> SET c 5; wipe c; A acquire",
        "not tested",
    );
    // Equal tokens are another property's business.
    check(
        property,
        "A, B: atomic sku=sku-1",
        "A acquire; clock +10001ms; wipe c; B acquire",
        "not tested",
    );
    // A script that draws before it takes the lock draws for that lock.
    check(
        property,
        "A, B: late",
        "A acquire; clock +10001ms; B acquire",
        "holds",
    );
    // So does a client.
    check(
        property,
        "A, B: early",
        "A token; B token; B acquire; clock +10001ms; A acquire",
        "broken: A drew token 1 at 10.001 s, though B, whose lock is older, holds token 2",
    );
    check(
        property,
        "A, B: early",
        "A token; B token; A acquire; clock +10001ms; B acquire",
        "holds",
    );
    // `draws` instead of a counter.
    check_roles(
        property,
        "watch lock k",
        "A, B: drawn",
        "A acquire; A token; clock +10001ms; B acquire; B token",
        "holds: B took it later and drew 2",
    );
    check_roles(
        property,
        "watch lock k",
        "A, B: split sku=sku-1",
        "A acquire; A token",
        "not tested: add `watch counter KEY`",
    );
    // The operator draws for nobody.
    check(
        property,
        "A, B: atomic sku=sku-1",
        "operator> INCR c; A acquire",
        "not tested",
    );
}

#[test]
fn tokens_once_each() {
    let property = Property::TokensUnique;
    check(
        property,
        "A, B: atomic sku=sku-1",
        "A acquire; clock +10001ms; wipe c; B acquire",
        "broken: B was handed token 1 at 10.001 s, and A had been handed 1 before.",
    );
    check(
        property,
        "A: atomic sku=sku-1 x2",
        "A acquire; A write; A release; wipe c; A acquire",
        "broken: A was handed token 1 at 0 s, and it had been handed 1 before.",
    );
    check(
        property,
        "A, B: atomic sku=sku-1",
        "A acquire; A write; A release; B acquire",
        "holds: A was handed 1, and B was handed 2.",
    );
    check(
        property,
        "A, B: atomic sku=sku-1",
        "A acquire",
        "not tested: It takes two tokens",
    );
    // Told twice of the same token for the same lock.
    check_roles(
        property,
        "watch lock k",
        "A: drawn",
        "A acquire; A token; A again",
        "not tested",
    );
}

#[test]
fn a_live_holder_and_the_fence() {
    let property = Property::LiveHolderNotFenced;
    check(
        property,
        "A: atomic sku=sku-3",
        "A acquire; A write",
        "broken: A held a live lease when it came with token 1 at 0 s, and the fence rejected it: the row held 5.",
    );
    check(
        property,
        "A, B: split sku=sku-1",
        "A acquire; clock +10001ms; B acquire; B token; A token; A write; B write",
        "broken: B held a live lease when it came with token 1 at 10.001 s, and the fence rejected it: the row held 2, which \
         another holder's write had put there.",
    );
    check(
        property,
        "A, B: atomic sku=sku-1",
        "A acquire; A write; A release; B acquire; B write",
        "holds: B held a live lease and wrote with token 2 over the stored token 1.",
    );
    // Its own token.
    check(
        property,
        "A: twice sku=sku-1",
        "A acquire; A write; A again",
        "not tested",
    );
    // Stock stopped it too.
    check(
        property,
        "A: atomic sku=sku-2; B: atomic sku=sku-2",
        "operator> SET c 5; A acquire; A write; A release; wipe c; B acquire; B write",
        "not tested",
    );
    // The first token on a row.
    check(
        property,
        "A: atomic sku=sku-1",
        "A acquire; A write",
        "not tested",
    );
    // Without a lease it may be rejected.
    check(
        property,
        "A: atomic sku=sku-3",
        "A acquire; clock +10001ms; A write",
        "not tested",
    );
}

#[test]
fn believers() {
    let property = Property::OneBeliever;
    check(
        property,
        "A, B: split sku=sku-1",
        "A acquire; clock +10001ms; B acquire",
        "broken: From 10.001 s on both A and B believed that they held k, though A's lease had lapsed at 10 s.",
    );
    check(
        property,
        "A, B: split sku=sku-1",
        "A acquire; B acquire",
        "holds: B asked for k while A held it, and was turned away.",
    );
    check(
        property,
        "A, B: careful",
        "A acquire; clock +10001ms; A look; B acquire",
        "holds: B came to believe that it holds k only after A had stopped believing it.",
    );
    check(
        property,
        "A, B: split sku=sku-1",
        "A acquire",
        "not tested: It takes a second client",
    );
    // An error is no refusal.
    check(
        property,
        "A, B: split sku=sku-1",
        "A acquire; lose B acquire",
        "not tested",
    );
}

#[test]
fn owners() {
    let property = Property::OwnerOnly;
    check(
        property,
        "A, B: careless",
        "A acquire; A prolong; clock +10001ms; B acquire; A release",
        "broken: A's DEL deleted k at 10.001 s, and the lock was B's by then: A's own lease had lapsed at 10 s.",
    );
    check(
        property,
        "A, B: careless",
        "A acquire; clock +10001ms; B acquire; clock +1ms; A prolong",
        "broken: A's PEXPIRE changed the deadline of k at 10.002 s, and the lock was B's",
    );
    check(
        property,
        "A, B: barge",
        "A acquire; B acquire",
        "broken: B's SET put a value of its own into k at 0 s, and the lock was A's",
    );
    check(
        property,
        "A, B: split sku=sku-1",
        "A acquire; clock +10001ms; B acquire; A token; A write; A release",
        "holds: A's `EVAL unlock 1 k A-1` found that the lock was B's, and left it alone.",
    );
    // Its own lock.
    check(
        property,
        "A: careless",
        "A acquire; clock +5000ms; A prolong; A release",
        "not tested",
    );
    // Nobody's lock.
    check(
        property,
        "A, B: careless",
        "A acquire; clock +10001ms; A prolong; A release",
        "not tested",
    );
    // Asking for the lock, and looking at it, is neither.
    check(
        property,
        "A, B: split sku=sku-1",
        "A acquire; B acquire; B> GET k",
        "not tested",
    );
    // Somebody from outside, and faults.
    check(
        property,
        "A, B: careless",
        "A acquire; operator> DEL k; B acquire; wipe k",
        "not tested",
    );
    check(
        property,
        "A, B: careless",
        "A acquire; operator> PEXPIRE k 1; operator> SET k x",
        "not tested",
    );
    // A console is the client's.
    check(
        property,
        "A, B: careless",
        "A acquire; B> DEL k",
        "broken: B's DEL deleted k",
    );
}

#[test]
fn deadlines() {
    let property = Property::LockHasDeadline;
    check(
        property,
        "A: endless",
        "A acquire",
        "broken: A's request at 0 s left k without a deadline: should A crash before it sets one, the lock stays for ever.",
    );
    // Too late.
    check(
        property,
        "A: endless",
        "A acquire; A deadline; A release",
        "broken",
    );
    check(
        property,
        "A: endless-in-one",
        "A acquire",
        "holds: A took k and gave it a deadline of 10 s in one request.",
    );
    check(property, "A: careless", "A acquire; A> PERSIST k", "broken");
    check(property, "A: careless", "operator> SET k x", "not tested");
    check_roles(
        property,
        "watch counter c",
        "A: endless",
        "A acquire",
        "not tested: add `watch lock KEY`",
    );
}

#[test]
fn negative_stock() {
    let property = Property::StockNotNegative;
    check(
        property,
        "A, B: unfenced sku=sku-2",
        "A acquire; A write; A release; B acquire; B write",
        "broken: B's write at 0 s took the stock of sku = 'sku-2' from 0 to -1.",
    );
    check(
        property,
        "A, B: pay sku=sku-2 order=o",
        "A charge; A write",
        "holds: A took the last unit of sku = 'sku-2', and nobody got one more.",
    );
    check(
        property,
        "A: pay sku=sku-2 order=o",
        "A> UPDATE inventory SET qty = 0 WHERE sku = 'sku-2'; A charge; A write",
        "holds",
    );
    check(
        property,
        "A: pay sku=sku-1 order=o",
        "operator> UPDATE inventory SET qty = qty - 11 WHERE sku = 'sku-1'",
        "broken: the operator's write at 0 s took the stock of sku = 'sku-1' from 10 to -1.",
    );
    check(
        property,
        "A: pay sku=sku-1 order=o",
        "A charge; A write",
        "not tested: It takes the last unit",
    );
}

#[test]
fn stock_and_sales() {
    let property = Property::StockEqualsSold;
    check(
        property,
        "A: lost-update sku=sku-1; B: lost-update sku=sku-1 x2",
        "A read; B read; B write; B read; B write; A write",
        "broken: 3 units were sold, and the stock is lower by 1: A sold 2 units more than it took.",
    );
    check(
        property,
        "A: pay sku=sku-1 order=o",
        "A charge; A write",
        "holds: 1 unit was sold, and the stock is lower by as many.",
    );
    // The write that sells, its reply lost: the unit is gone and nobody has sold it.
    check(
        property,
        "A: pay sku=sku-1 order=o",
        "A charge; lose A write",
        "broken: 0 units were sold, and the stock is lower by 1: A took 1 unit more than it sold.",
    );
    // Between the write and its reply.
    check(
        property,
        "A: pay sku=sku-1 order=o",
        "A charge; pause A after write; A write",
        "not tested: Not yet: A is between a write and its sale.",
    );
    check(
        property,
        "A: pay sku=sku-1 order=o",
        "A charge; pause A after write; A write; resume A",
        "holds",
    );
    check(
        property,
        "A: pay sku=sku-1 order=o",
        "A charge; pause A after write; A write; crash A",
        "broken",
    );
    // Sold by a later step.
    check(
        property,
        "A: reserve sku=sku-1 order=o",
        "A write",
        "not tested: Not yet",
    );
    check(
        property,
        "A: reserve sku=sku-1 order=o",
        "A write; A charge",
        "holds",
    );
    check(
        property,
        "A: reserve sku=sku-1 order=o",
        "A write; lose A charge; A restock",
        "holds: 0 units were sold",
    );
    // Deliveries.
    check(
        property,
        "A: pay sku=sku-1 order=o",
        "A charge; operator> UPDATE inventory SET qty = qty + 90 WHERE sku = 'sku-1'; A write",
        "holds: (not counting 90 that somebody put there at a console)",
    );
    check(
        property,
        "A: pay sku=sku-1 order=o",
        "A charge",
        "not tested: It takes a unit",
    );
    check_roles(
        property,
        "watch lock k",
        "A: pay sku=sku-1 order=o",
        "A charge; A write",
        "not tested: add `watch stock TABLE.COLUMN`",
    );
}

#[test]
fn charges_for_nothing() {
    let property = Property::NoChargeForNothing;
    check(
        property,
        "A: pay sku=sku-2 order=o-1; B: pay sku=sku-2 order=o-2",
        "A charge; B charge; A write; clock +5ms; B write",
        "broken: B charged o-2 at 0 s (ch-2); when B ended at 5 ms, o-2 had got nothing, and the charge still stood.",
    );
    check(
        property,
        "A: pay-or-refund sku=sku-2 order=o-1; B: pay-or-refund sku=sku-2 order=o-2",
        "B charge; A charge; A write; B write; B refund",
        "holds",
    );
    check(
        property,
        "A: pay sku=sku-1 order=o",
        "A charge; A write",
        "holds: ch-1 was charged for o, and o was sold.",
    );
    // The schedule ends before the client.
    check(
        property,
        "A: pay sku=sku-1 order=o",
        "A charge",
        "broken: o was charged (ch-1) and has got nothing, and A has not finished.",
    );
    // Somebody else may still deliver the order.
    check(
        property,
        "A: pay sku=sku-2 order=o; B: pay-once sku=sku-1 order=o",
        "operator> UPDATE inventory SET qty = 0 WHERE sku = 'sku-2'; A charge; B charge; A write; B write",
        "holds",
    );
    check(
        property,
        "A: pay sku=sku-1 order=o",
        "clock +1ms",
        "not tested: It takes a charge.",
    );
    check(
        property,
        "A: atomic sku=sku-1",
        "A acquire",
        "not tested: It takes a client that charges",
    );
}

#[test]
fn what_a_living_client_may_still_put_right_is_not_judged_in_the_midst() {
    let property = Property::NoChargeForNothing;
    for (schedule, expected) in [
        ("A charge", "not tested: Not yet: A is at work on an order."),
        ("A charge; pause A before write", "not tested: Not yet"),
        (
            "A charge; crash A",
            "broken: o was charged (ch-1) and has got nothing",
        ),
        ("A charge; crash A; restart A", "not tested: Not yet"),
        ("A charge; A write", "holds"),
    ] {
        let played = play(ALL_ROLES, "A: pay sku=sku-1 order=o", schedule);
        let verdicts = played.judge.verdicts_so_far(&played.setup);
        compare(&verdicts, property, schedule, expected);
    }
}

#[test]
fn double_charges() {
    let property = Property::NoDoubleCharge;
    check(
        property,
        "A, B: pay sku=sku-1 order=o",
        "A charge; clock +7ms; B charge",
        "broken: o was charged twice: A made ch-1 at 0 s, and B made ch-2 at 7 ms while ch-1 still stood.",
    );
    // Given back later, but both stood.
    check(
        property,
        "A, B: pay sku=sku-1 order=o",
        "A charge; B charge; operator> REFUND ch-2",
        "broken",
    );
    check(
        property,
        "A, B: pay-once sku=sku-1 order=o",
        "A charge; B charge",
        "holds: B asked to charge o again, and by the idempotency key the gateway gave it the earlier ch-1.",
    );
    check(
        property,
        "A, B: pay sku=sku-1 order=o",
        "A charge; operator> REFUND ch-1; B charge",
        "holds: B charged o again only after the earlier charge had been given back.",
    );
    check(
        property,
        "A: pay sku=sku-1 order=o-1; B: pay sku=sku-1 order=o-2",
        "A charge; B charge",
        "not tested: It takes a second charge",
    );
}

#[test]
fn sold_and_paid() {
    let property = Property::SoldIsPaid;
    // A shared charge, given back by the one that did not sell.
    check(
        property,
        "A: pay-once sku=sku-2 order=o; B: pay-once sku=sku-2 order=o",
        "A charge; B charge; B write; A write; clock +3ms; A refund",
        "broken: A gave ch-1 back at 3 ms, but o had been sold by then, and no other charge pays for it.",
    );
    // Given back before it is sold.
    check(
        property,
        "A, B: pay sku=sku-1 order=o",
        "A charge; operator> REFUND ch-1; A write",
        "broken: o was sold, and when A ended at 0 s no charge paid for it.",
    );
    check(
        property,
        "A: pay sku=sku-1 order=o",
        "A charge; A write",
        "holds: ch-1 was charged for o, and o was sold.",
    );
    check(
        property,
        "A: sell-then-charge sku=sku-1 order=o",
        "A write; A charge",
        "holds",
    );
    check(
        property,
        "A: sell-then-charge sku=sku-1 order=o",
        "A write",
        "broken: o was sold and no charge pays for it, and A has not finished.",
    );
    check(
        property,
        "A: pay sku=sku-1 order=o",
        "A charge",
        "not tested: It takes a unit",
    );
    check(
        property,
        "A: lost-update sku=sku-1",
        "A read; A write",
        "not tested: It takes a client that charges",
    );
}

#[test]
fn the_ledger() {
    let check = |clients: &str, schedule: &str, expected: &[(&str, &str)]| {
        let played = play(ALL_ROLES, clients, schedule);
        let got: Vec<(String, String)> = played
            .ledger
            .iter()
            .map(|entry| {
                let write = scenario::ExpectedWrite::of(entry, &played.setup);
                (
                    format!("{} {}", write.who, write.verdict),
                    entry.because.clone(),
                )
            })
            .collect();
        assert_eq!(got.len(), expected.len(), "{schedule}: {got:?}");
        for ((verdict, because), (wanted, part)) in got.iter().zip(expected) {
            assert_eq!(verdict, wanted, "{schedule}");
            assert!(
                because.contains(part),
                "{schedule}\n  expected {part}\n  got      {because}"
            );
        }
    };
    check(
        "A, B: split sku=sku-2",
        "A acquire; clock +10001ms; B acquire; B token; B write; A token; A write",
        &[
            ("B accepted", "B's write with token 1 was accepted."),
            (
                "A rejected (no stock), stale, fence would pass",
                "A's write with token 2 was rejected: qty >= 1 did not hold (no stock): qty was 0; the fence would have let it pass, \
                 as fence_token < 2 held; A still believed that it held the lock, but its lease had lapsed at 10 s.",
            ),
        ],
    );
    check(
        "A, B: atomic sku=sku-2",
        "A acquire; clock +10001ms; B acquire; B write; A write",
        &[
            ("B accepted", ""),
            (
                "A rejected (no stock, fenced), stale",
                "qty >= 1 did not hold (no stock): qty was 0, and fence_token < 1 did not hold (fenced): fence_token was 2",
            ),
        ],
    );
    // A token is told of where the statement carries it, be it only to store it, and nowhere else.
    check(
        "A: unsent sku=sku-1; B: stored sku=sku-1; C: unsent sku=sku-2; D: stored sku=sku-2",
        "A acquire; A write; expire k; B acquire; B write; expire k; C acquire; C write; expire k; D acquire; D write",
        &[
            ("A accepted", "A's write was accepted."),
            ("B accepted", "B's write with token 2 was accepted."),
            ("C rejected (no stock)", "C's write was rejected: "),
            (
                "D rejected (no stock)",
                "D's write with token 4 was rejected: ",
            ),
        ],
    );
    check(
        "A: atomic sku=nothing",
        "A acquire; A write",
        &[(
            "A rejected (no such row)",
            "there is no row with sku = 'nothing'",
        )],
    );
    check(
        "A: atomic sku=sku-1",
        "operator> UPDATE inventory SET qty = 1 WHERE sku = 'sku-1'; operator> DELETE FROM inventory WHERE sku = 'sku-2'; \
         operator> INSERT INTO inventory VALUES ('sku-9', 1, 0); operator> INSERT INTO inventory VALUES ('sku-9', 1, 0)",
        &[
            ("operator accepted", ""),
            ("operator accepted", ""),
            ("operator accepted", ""),
            (
                "operator rejected (ERROR 1062 (23000): Duplicate entry 'sku-9' for key 'inventory.PRIMARY')",
                "",
            ),
        ],
    );
}

#[test]
fn judges_keep_no_history() {
    // Round after round of the same thing leaves nothing behind but the tokens.
    let rounds = |count: usize| {
        let schedule = vec!["A acquire; A write; A release"; count].join("; ");
        let reset = "operator> UPDATE inventory SET qty = 10, fence_token = 0 WHERE sku = 'sku-1'";
        play(
            "watch lock k",
            "A: atomic sku=sku-1 x9",
            &format!("{schedule}; {reset}"),
        )
        .judge
    };
    assert_eq!(rounds(3), rounds(5));
    // When it happened, and at which place, is told and not judged.
    let at = |wait: &str| {
        let schedule =
            format!("clock +{wait}ms; A acquire; clock +10001ms; B acquire; B write; A write");
        play(ALL_ROLES, "A, B: atomic sku=sku-1", &schedule).judge
    };
    assert_eq!(at("1"), at("5000"));
    let order = |schedule: &str| play(ALL_ROLES, "A, B: atomic sku=sku-1", schedule).judge;
    assert_ne!(order("A acquire"), order("B acquire"));
}

#[test]
fn sentences_are_names() {
    for property in Property::ALL {
        assert_eq!(Property::named(property.sentence()), Ok(property));
    }
    let check = |text: &str, expected: Result<Property, usize>| {
        assert_eq!(
            Property::named(text).map_err(|meant| meant.len()),
            expected,
            "{text}"
        );
    };
    check(
        "a stale write is never accepted",
        Ok(Property::NoStaleWrite),
    );
    check("Stale write is never…", Ok(Property::NoStaleWrite));
    check("Stock is never negative.", Ok(Property::StockNotNegative));
    check("tokens", Err(2));
    check("nobody is charged", Err(2));
    check("the moon", Err(12));
    check("", Err(12));
}
