//! The search beside an enumerator that shares no code with it: every interleaving of some hundred generated protocols, action by
//! action through the ordinary step, without any memory of worlds. Both have to find schedules of the same length, or none; what
//! the search finds has to replay.
//!
//! `LATCHKEY_NAIVE=2000` tries that many protocols, and not only the first ones.
#![cfg(not(target_arch = "wasm32"))]

use latchkey::property::{Judge, Property, Verdict};
use latchkey::scenario;
use latchkey::search::{Bounds, Goal, MOST_TIES, Outcome, Reduction, Search};
use latchkey::sim::action::{Action, ClientId, ClockOf, Leg, ServerId, Who};
use latchkey::sim::client::Place;
use latchkey::sim::client::protocol::Request;
use latchkey::sim::event::{Event, Fact};
use latchkey::sim::setup::Setup;
use latchkey::sim::step::{refusal, step};
use latchkey::sim::store::Cause;
use latchkey::sim::world::World;

/// The longest schedule that is tried.
const STEPS: u32 = 7;

/// The longest where servers fail, and clocks: there is more to do in every world.
const STEPS_OF_SERVERS: u32 = 5;

/// How many protocols are tried, if nobody asks for more.
const PROTOCOLS: u64 = 200;

/// How far a clock jumps where no deadline says it, in milliseconds.
const JUMP: i64 = 3_600_000;

/// How many attempts a client begins beyond its first.
const ATTEMPTS: u32 = 1;

// Protocols.

/// Numbers that look random, the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % sides
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.roll(choices.len())]
    }
}

const HEAD: &str = "\
table inventory (sku VARCHAR(32) PRIMARY KEY, qty INT NOT NULL, fence_token BIGINT NOT NULL)
  'sku-1', 2, 1

store
  SET fence:sku-1 1

script acquire
  if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
    return redis.call('INCR', KEYS[2])
  end
  return false

script unlock
  if redis.call('GET', KEYS[1]) == ARGV[1] then
    return redis.call('DEL', KEYS[1])
  end
  return 0

watch lock lock:sku-1, counter fence:sku-1, fence inventory.fence_token, stock inventory.qty

";

const REFUSED: [&str; 5] = [
    "retry",
    "stop",
    "retry after 100ms",
    "start over",
    "start over after 4000ms",
];

/// A protocol of a few steps.
fn protocol(name: &str, dice: &mut Dice) -> String {
    let mut text = format!("protocol {name}\n");
    let refused = dice.pick(&REFUSED);
    let atomic = dice.roll(3) == 0;
    let has_lock = dice.roll(6) > 0;
    if has_lock && atomic {
        text += &format!(
            "  acquire: EVAL acquire 2 lock:sku-1 fence:sku-1 {{me}} 4000\n    on nil: {refused}\n    on {{token}}: holds lock:sku-1 for 4000ms\n"
        );
    } else if has_lock {
        let command = dice.pick(&["SET lock:sku-1 {me} NX PX 4000", "SET lock:sku-1 {me} NX"]);
        let holds = dice.pick(&["holds lock:sku-1 for 3000ms", "holds lock:sku-1 for 4000ms"]);
        text += &format!("  acquire: {command}\n    on OK: {holds}\n    on nil: {refused}\n");
    }
    let has_token = (has_lock && atomic) || dice.roll(2) == 0;
    if has_token && !(has_lock && atomic) {
        text += "  token: INCR fence:sku-1\n    on {token}\n";
    }
    if has_lock && dice.roll(4) == 0 {
        text += "  look: CHECK lock:sku-1\n    on lapsed: stop\n";
    }
    let charges = dice.roll(4) == 0;
    if charges {
        text += dice.pick(&[
            "  charge: CHARGE order-1 100\n",
            "  charge: CHARGE order-1 100 KEY order-1\n",
            "  charge: CHARGE order-1 100 KEY {me}\n    on no reply: retry\n",
        ]);
    }
    let transaction = dice.roll(4) == 0;
    if transaction {
        text += "  begin: BEGIN\n";
    }
    if dice.roll(3) == 0 {
        text += dice.pick(&[
            "  read: SELECT qty FROM inventory WHERE sku = 'sku-1'\n    on {qty}\n",
            "  read: SELECT qty FROM inventory WHERE sku = 'sku-1' FOR UPDATE\n    on {qty}\n",
        ]);
    }
    let fence = match (has_token, dice.roll(3)) {
        (true, 0) => ", fence_token = {token} WHERE sku = 'sku-1' AND fence_token < {token}",
        (true, 1) => {
            ", fence_token = {token} WHERE sku = 'sku-1' AND qty >= 1 AND fence_token <= {token}"
        }
        _ => " WHERE sku = 'sku-1' AND qty >= 1",
    };
    let qty = dice.pick(&["qty - 1", "qty - 2"]);
    let missed = match charges {
        true => "abort with refund",
        false => dice.pick(&["stop", "start over", "done"]),
    };
    let lost = dice.pick(&["", "    on no reply: retry\n"]);
    text += &format!(
        "  write: UPDATE inventory SET qty = {qty}{fence}\n    on 1 row: sells 1\n    on 0 rows: {missed}\n{lost}"
    );
    if transaction {
        text += "  commit: COMMIT\n";
    }
    if has_lock {
        text += dice.pick(&[
            "",
            "  release: DEL lock:sku-1\n",
            "  release: EVAL unlock 1 lock:sku-1 {me}\n",
        ]);
    }
    if charges {
        text += "  compensation refund: REFUND order-1\n";
    }
    text + "\n"
}

fn scenario_text(dice: &mut Dice) -> String {
    let mut text = HEAD.to_owned();
    text += &protocol("p", dice);
    if dice.roll(3) == 0 {
        text += &protocol("q", dice);
        return text + "client A: p\nclient B: q\n";
    }
    text + dice.pick(&[
        "client A, B: p\n",
        "client A, B: p\n",
        "client A: p x2\nclient B: p\n",
    ])
}

fn bounds(dice: &mut Dice) -> Bounds {
    let mut bounds = Bounds {
        steps: Some(STEPS),
        attempts: ATTEMPTS,
        ..Bounds::none()
    };
    for _ in 0..dice.roll(3) {
        match dice.roll(10) {
            0 | 1 => bounds.lapses = 1,
            2 => bounds.expiries = 1,
            3 => bounds.wipes = 1,
            4 => bounds.reseeds = 1,
            5 => (bounds.crashes, bounds.restarts) = (1, 1),
            6 => bounds.lost_requests = 1,
            7 => bounds.late_requests = 1,
            8 => bounds.late_replies = 1,
            _ => bounds.lost_replies = 1,
        }
    }
    if dice.roll(4) == 0 {
        bounds.faults = Some(1);
    }
    bounds
}

/// Protocols in which servers fail: alone, with a replica, or with another server of which nobody knows anything.
fn scenario_of_servers(dice: &mut Dice) -> String {
    let servers = dice.pick(&[
        "",
        "server main\n\n",
        "server main\nreplica copy of main\n\n",
        "server main\nreplica copy of main\n\n",
        "server main, other\n\n",
    ]);
    let policy = dice.pick(&[
        "",
        "option maxmemory-policy allkeys-lru\n\n",
        "option maxmemory-policy volatile-lru\n\n",
    ]);
    servers.to_owned() + policy + &scenario_text(dice)
}

fn bounds_of_servers(dice: &mut Dice) -> Bounds {
    let mut bounds = Bounds {
        steps: Some(STEPS_OF_SERVERS),
        attempts: ATTEMPTS,
        ..Bounds::none()
    };
    for _ in 0..=dice.roll(2) {
        match dice.roll(6) {
            0 => bounds.evictions = 1,
            1 => (bounds.server_crashes, bounds.server_restarts) = (1, 1),
            2 => bounds.failovers = 1,
            3 => bounds.clock_jumps = 1,
            4 => bounds.lapses = 1,
            _ => (bounds.shifts, bounds.lapses) = (1, 1),
        }
    }
    bounds
}

fn properties(dice: &mut Dice) -> Vec<Property> {
    match dice.roll(4) {
        0 => Property::ALL.to_vec(),
        1 => vec![Property::ALL[dice.roll(12)], Property::ALL[dice.roll(12)]],
        _ => vec![Property::ALL[dice.roll(12)]],
    }
}

// The enumerator.

/// Faults, and actions.
type Cost = (u32, u32);

/// What of each budget is used.
#[derive(Clone, Copy, Default)]
struct Used {
    lapses: u32,
    expiries: u32,
    wipes: u32,
    reseeds: u32,
    crashes: u32,
    restarts: u32,
    lost_replies: u32,
    lost_requests: u32,
    late_replies: u32,
    late_requests: u32,
    evictions: u32,
    server_crashes: u32,
    server_restarts: u32,
    failovers: u32,
    clock_jumps: u32,
    /// No fault.
    shifts: u32,
}

impl Used {
    fn faults(&self) -> u32 {
        self.lapses
            + self.expiries
            + self.wipes
            + self.reseeds
            + self.crashes
            + self.restarts
            + self.lost_replies
            + self.lost_requests
            + self.late_replies
            + self.late_requests
            + self.evictions
            + self.server_crashes
            + self.server_restarts
            + self.failovers
            + self.clock_jumps
    }

    fn is_within(&self, bounds: &Bounds) -> bool {
        self.lapses <= bounds.lapses
            && self.expiries <= bounds.expiries
            && self.wipes <= bounds.wipes
            && self.reseeds <= bounds.reseeds
            && self.crashes <= bounds.crashes
            && self.restarts <= bounds.restarts
            && self.lost_replies <= bounds.lost_replies
            && self.lost_requests <= bounds.lost_requests
            && self.late_replies <= bounds.late_replies
            && self.late_requests <= bounds.late_requests
            && self.evictions <= bounds.evictions
            && self.server_crashes <= bounds.server_crashes
            && self.server_restarts <= bounds.server_restarts
            && self.failovers <= bounds.failovers
            && self.clock_jumps <= bounds.clock_jumps
            && self.shifts <= bounds.shifts
            && bounds.faults.is_none_or(|most| self.faults() <= most)
    }
}

struct Naive<'a> {
    setup: &'a Setup,
    bounds: &'a Bounds,
    wanted: &'a [Property],
    best: Option<Cost>,
}

#[derive(Clone)]
struct State {
    world: World,
    judge: Judge,
    used: Used,
    steps: u32,
    /// What the operator has read and not put back.
    read: Option<i64>,
}

impl Naive<'_> {
    fn explore(&mut self, state: &State) {
        let cost = (state.used.faults(), state.steps);
        if self.best.is_some_and(|best| best <= cost) {
            return;
        }
        let verdicts = state.judge.verdicts_so_far(self.setup);
        let is_broken = verdicts.iter().any(|(property, verdict)| {
            self.wanted.contains(property) && matches!(verdict, Verdict::Broken(_))
        });
        if is_broken {
            self.best = Some(cost);
            return;
        }
        if Some(state.steps) >= self.bounds.steps {
            return;
        }
        self.clients(state);
        self.time(state);
        self.faults(state);
        self.servers(state);
        self.clocks(state);
        self.shifts(state);
    }

    /// Does an action, and goes on with what a budget says of it.
    fn go(&mut self, state: &State, action: &Action, pay: impl FnOnce(&mut Used, &[Event])) {
        self.go_reading(state, action, state.read, pay);
    }

    fn go_reading(
        &mut self,
        state: &State,
        action: &Action,
        read: Option<i64>,
        pay: impl FnOnce(&mut Used, &[Event]),
    ) {
        if refusal(self.setup, &state.world, action).is_some() {
            return;
        }
        let (world, events) = step(self.setup, &state.world, action);
        let mut next = State {
            judge: state.judge.clone(),
            used: state.used,
            steps: state.steps + 1,
            read,
            world,
        };
        next.judge
            .observe(self.setup, state.steps as usize, &events, &next.world);
        pay(&mut next.used, &events);
        if next.used.is_within(self.bounds) {
            self.explore(&next);
        }
    }

    fn clients(&mut self, state: &State) {
        for place in 0..state.world.clients.len() {
            let client = ClientId(place);
            let declared = &self.setup.clients[place];
            let own = &state.world.clients[place];
            if let Place::Ready { step } = own.place
                && own.attempt <= declared.rounds + ATTEMPTS
            {
                self.go(state, &Action::Step { client, step }, |_, _| {});
                let protocol = &self.setup.protocols[declared.protocol.expect("it runs one")];
                if !matches!(protocol.steps[step].request, Request::CheckDeadline(_)) {
                    let lose = Action::LoseReply { client, step };
                    self.go(state, &lose, |used, _| used.lost_replies += 1);
                    let lose = Action::LoseRequest { client, step };
                    self.go(state, &lose, |used, _| used.lost_requests += 1);
                    let leg = Leg::Request;
                    let delay = Action::Delay { client, step, leg };
                    self.go(state, &delay, |used, _| used.late_requests += 1);
                    let leg = Leg::Reply;
                    let delay = Action::Delay { client, step, leg };
                    self.go(state, &delay, |used, _| used.late_replies += 1);
                }
            }
            if !own.is_over() {
                self.go(state, &Action::Crash { client }, |used, _| {
                    used.crashes += 1
                });
            }
            self.go(state, &Action::Restart { client }, |used, _| {
                used.restarts += 1;
            });
        }
    }

    fn time(&mut self, state: &State) {
        for message in &state.world.network {
            let (client, step) = (message.client, message.step);
            self.go(state, &Action::Deliver { client, step }, |_, _| {});
        }
        self.go(state, &Action::AdvanceToNextDeadline, |used, events| {
            let lapsed = events.iter().any(|event| {
                matches!(
                    event.fact,
                    Fact::KeyChanged {
                        cause: Cause::Lapse,
                        ..
                    }
                )
            });
            used.lapses += u32::from(lapsed);
        });
        let deadline = state.world.next_deadline().unwrap_or(u64::MAX);
        let next = self.next_end_of_belief(state);
        if let Some(milliseconds) = next.filter(|next| *next < deadline) {
            self.go(state, &Action::Advance { milliseconds }, |_, _| {});
        }
    }

    /// Milliseconds until a belief ends, where some protocol looks at its clock.
    fn next_end_of_belief(&self, state: &State) -> Option<u64> {
        let protocols = self.setup.protocols.iter();
        let looks = protocols
            .flat_map(|protocol| &protocol.steps)
            .any(|step| matches!(step.request, Request::CheckDeadline(_)));
        let clients = state.world.clients.iter();
        let beliefs = clients.flat_map(|client| client.beliefs.values());
        let ends = beliefs.filter_map(|belief| belief.remaining);
        ends.filter(|end| *end > 0).min().filter(|_| looks)
    }

    fn faults(&mut self, state: &State) {
        let server = ServerId::FIRST;
        for key in ["lock:sku-1", "fence:sku-1"] {
            let key = key.as_bytes().to_vec();
            let wipe = Action::Wipe {
                server,
                key: key.clone(),
            };
            self.go(state, &wipe, |used, _| used.wipes += 1);
            if key.starts_with(b"lock") {
                let expire = Action::ExpireNow { server, key };
                self.go(state, &expire, |used, _| used.expiries += 1);
            }
        }
        match state.read {
            None => {
                let read = self.typed("SELECT MAX(fence_token) FROM inventory");
                let table = state
                    .world
                    .database
                    .table("inventory")
                    .expect("it is there");
                let largest = table
                    .rows()
                    .filter_map(|row| row.get("fence_token")?.as_i64())
                    .max();
                self.go_reading(state, &read, largest, |used, _| used.reseeds += 1);
            }
            Some(value) => {
                let write = self.typed(&format!("SET fence:sku-1 {value}"));
                self.go_reading(state, &write, None, |_, _| {});
            }
        }
    }

    fn servers(&mut self, state: &State) {
        for server in (0..state.world.stores.len()).map(ServerId) {
            for key in ["lock:sku-1", "fence:sku-1"] {
                let key = key.as_bytes().to_vec();
                let evict = Action::Evict { server, key };
                self.go(state, &evict, |used, _| used.evictions += 1);
            }
            let crash = Action::CrashServer { server };
            self.go(state, &crash, |used, _| used.server_crashes += 1);
            for keeps_data in [false, true] {
                let restart = Action::RestartServer { server, keeps_data };
                self.go(state, &restart, |used, _| used.server_restarts += 1);
            }
            let commands = Some(1);
            let replicate = Action::Replicate {
                to: server,
                commands,
            };
            self.go(state, &replicate, |_, _| {});
            let failover = Action::Failover { to: server };
            self.go(state, &failover, |used, _| used.failovers += 1);
        }
    }

    fn clocks(&mut self, state: &State) {
        let mut jumps = Vec::new();
        for (server, store) in state.world.stores.iter().enumerate() {
            let clock = ClockOf::Server(ServerId(server));
            jumps.push((clock, -JUMP));
            let remaining = store.keys().filter_map(|(_, key)| key.remaining);
            jumps.extend(remaining.map(|remaining| (clock, remaining as i64 + 1)));
        }
        for client in (0..state.world.clients.len()).map(ClientId) {
            let clock = ClockOf::Client(client);
            jumps.extend([(clock, JUMP), (clock, -JUMP)]);
        }
        for (clock, milliseconds) in jumps {
            let jump = Action::ClockJump {
                clock,
                milliseconds,
            };
            self.go(state, &jump, |used, _| used.clock_jumps += 1);
        }
    }

    /// Some time passes before a step, and nothing else happens by it; so much that what the step starts ends before, with or after
    /// what is there.
    fn shifts(&mut self, state: &State) {
        if state.used.shifts >= self.bounds.shifts || Some(state.steps + 2) > self.bounds.steps {
            return;
        }
        let Some(deadline) = state.world.next_deadline() else {
            return;
        };
        let next = self
            .next_end_of_belief(state)
            .unwrap_or(u64::MAX)
            .min(deadline);
        for amount in [7, 93, 500, 1000, 2500, 3000, 3900, 3993, 4000] {
            if amount < next {
                let action = Action::Advance {
                    milliseconds: amount,
                };
                self.shift(state, &action);
            }
        }
    }

    fn shift(&mut self, state: &State, advance: &Action) {
        let (world, events) = step(self.setup, &state.world, advance);
        let mut later = state.clone();
        later
            .judge
            .observe(self.setup, state.steps as usize, &events, &world);
        later.world = world;
        later.steps += 1;
        later.used.shifts += 1;
        self.clients(&later);
    }

    fn typed(&self, source: &str) -> Action {
        Action::Command {
            who: Who::Operator,
            source: source.to_owned(),
            request: scenario::read_request(source, self.setup, Who::Operator).expect("it is one"),
        }
    }
}

fn naive(setup: &Setup, bounds: &Bounds, wanted: &[Property]) -> Option<Cost> {
    let (world, events) = World::new(setup);
    let mut judge = Judge::new(setup);
    judge.observe(setup, 0, &events, &world);
    let mut naive = Naive {
        setup,
        bounds,
        wanted,
        best: None,
    };
    naive.explore(&State {
        world,
        judge,
        used: Used::default(),
        steps: 0,
        read: None,
    });
    naive.best
}

// Both.

fn searched(text: &str, bounds: &Bounds, wanted: &[Property]) -> Outcome {
    let goal = Goal::Breaks(wanted.to_vec());
    let mut search = Search::new(text, 0, bounds.clone(), goal).expect("the text can be read");
    search.finish().clone()
}

fn cost_of(outcome: &Outcome) -> Option<Cost> {
    match outcome {
        Outcome::Found { steps, faults, .. } => Some((*faults, *steps)),
        _ => None,
    }
}

/// What a search found replays with the same verdict, in as many actions.
fn replays(found: &str, steps: u32) {
    let reading = scenario::read(found).expect("what is found can be read");
    assert_eq!(reading.schedule.len(), steps as usize, "{found}");
    assert!(!reading.expectations.is_empty(), "{found}");
    assert_eq!(scenario::check::check(&reading), [], "{found}");
}

/// The numbers of one protocol.
fn dice_of(seed: u64) -> Dice {
    Dice(0x9E37_79B9_7F4A_7C15 ^ (seed + 1).wrapping_mul(0xD134_2543_DE82_EF95))
}

/// Compares the search with the enumerator, with and without reductions; the text that is found, where there is any.
fn compare(text: &str, bounds: &Bounds, wanted: &[Property]) -> Option<String> {
    let reading = scenario::read(text).unwrap_or_else(|errors| panic!("{text}\n{errors:?}"));
    let expected = naive(&reading.setup, bounds, wanted);
    let mut tied: Option<Vec<String>> = None;
    let mut found = None;
    for without in [
        Vec::new(),
        vec![Reduction::Symmetry],
        Reduction::ALL.to_vec(),
    ] {
        let bounds = Bounds {
            without,
            ..bounds.clone()
        };
        let outcome = searched(text, &bounds, wanted);
        assert_eq!(
            cost_of(&outcome),
            expected,
            "{wanted:?}, {bounds:?}\n{text}\n{outcome:?}"
        );
        if let Outcome::Found {
            text, steps, ties, ..
        } = outcome
        {
            replays(&text, steps);
            let mut all: Vec<String> = ties.iter().chain([&text]).cloned().collect();
            all.sort();
            for tie in &ties {
                replays(tie, steps);
            }
            assert!(
                ties.len() == MOST_TIES || tied.is_none_or(|tied| tied == all),
                "{text}"
            );
            tied = Some(all);
            found = Some(text);
        }
    }
    found
}

fn protocols() -> u64 {
    let asked = std::env::var("LATCHKEY_NAIVE").ok();
    asked.map_or(PROTOCOLS, |count| count.parse().expect("a number"))
}

#[test]
fn the_search_finds_what_an_enumerator_finds() {
    let mut found = 0;
    for seed in 0..protocols() {
        let mut dice = dice_of(seed);
        let text = scenario_text(&mut dice);
        let bounds = bounds(&mut dice);
        let outcome = compare(&text, &bounds, &properties(&mut dice));
        found += u64::from(outcome.is_some());
    }
    // Neither kind is rare.
    assert!(found * 10 > protocols(), "{found} of {}", protocols());
    assert!(found * 10 < protocols() * 9, "{found} of {}", protocols());
}

#[test]
fn the_search_finds_what_an_enumerator_finds_where_servers_and_clocks_fail() {
    let (mut found, mut schedules) = (0, String::new());
    let count = protocols() / 2;
    for seed in 0..count {
        let mut dice = dice_of(seed);
        let text = scenario_of_servers(&mut dice);
        let bounds = bounds_of_servers(&mut dice);
        let wanted = match seed % 2 {
            0 => vec![Property::OneBeliever, Property::TokensUnique],
            _ => properties(&mut dice),
        };
        let outcome = compare(&text, &bounds, &wanted);
        found += u64::from(outcome.is_some());
        schedules.extend(outcome);
    }
    assert!(found * 10 > count, "{found} of {count}");
    assert!(found * 10 < count * 9, "{found} of {count}");
    for fault in ["evict ", "crash ", "restart ", "failover ", "clock of "] {
        let line = format!("\n  {fault}");
        assert!(schedules.contains(&line), "no schedule has {fault}");
    }
}

/// Two clients that run the same, where a name stands somewhere or a script goes by names, so that they are not alike after all: with
/// A's name, and with B's, the search finds what the enumerator finds. Were they taken for alike, one of the two would come out wrong.
#[test]
fn clients_whose_names_matter_are_told_apart() {
    let fixed = Bounds {
        steps: Some(6),
        attempts: 0,
        ..Bounds::none()
    };
    let acquire = "  acquire: SET lock:sku-1 {me} NX\n    on OK: holds lock:sku-1 for 4000ms\n    on nil: stop\n";
    // The second to come has something to look at.
    let second = "  first: SET lock:sku-1 {me} NX\n    on OK: stop\n    on nil\n";
    let look = "  look: EVAL looks 1 lock:sku-1 {me}\n    on 0: stop\n    on 1\n";
    let by_script = |condition: &str| {
        let script =
            format!("script looks\n  if {condition} then\n    return 1\n  end\n  return 0\n\n");
        (script, format!("{second}{look}"))
    };
    let by_steps = |steps: String| (String::new(), steps);
    for (what, (script, steps)) in [
        (
            "the pattern of a clause",
            by_steps(format!("{acquire}  look: GET lock:sku-1\n    on \"NAME\"\n    on else: stop\n")),
        ),
        (
            "one of several patterns",
            by_steps(format!("{acquire}  look: MGET lock:sku-1 fence:sku-1\n    on \"NAME\", {{token}}\n    on else: stop\n")),
        ),
        (
            "an argument",
            by_steps("  mark: SET lock:sku-1 NAME\n  look: EVAL unlock 1 lock:sku-1 {me}\n    on 1\n    on 0: stop\n".to_owned()),
        ),
        (
            "a statement",
            by_steps(format!("{second}  look: SELECT COUNT(*) FROM inventory WHERE {{me}} = 'NAME'\n    on 0: stop\n    on 1\n")),
        ),
        ("a script", by_script("ARGV[1] == 'NAME'")),
        (
            "a script that reads a part of a name",
            by_script("string.sub(ARGV[1], 1, 1) == 'LETTER'"),
        ),
        (
            "a script that puts names in order",
            by_script("(ARGV[1] < redis.call('GET', KEYS[1])) == ('LETTER' == 'A')"),
        ),
    ] {
        for letter in ["A", "B"] {
            let text = format!(
                "{HEAD}{script}protocol p\n{steps}  write: UPDATE inventory SET qty = qty - 3 WHERE sku = 'sku-1'\n    on 1 row: sells 3\n\nclient A, B: p\n"
            );
            let text = text
                .replace("NAME", &format!("{letter}-1"))
                .replace("LETTER", letter);
            let found = compare(&text, &fixed, &[Property::StockNotNegative]);
            let writes = format!("\n  {letter} write");
            assert!(found.is_some_and(|found| found.contains(&writes)), "{what}, {letter}");
        }
    }
}

/// Three clients are too many for the enumerator; here the search is compared with itself.
#[test]
fn reductions_change_how_many_worlds_there_are_and_nothing_else() {
    let (mut fewer, mut found) = (0, 0);
    for seed in 0..40 {
        let mut dice =
            Dice(0x5851_F42D_4C95_7F2D ^ (seed + 1_u64).wrapping_mul(0xD134_2543_DE82_EF95));
        let text = format!("{HEAD}{}client A, B, C: p\n", protocol("p", &mut dice));
        let bounds = Bounds {
            worlds: 20_000,
            ..bounds(&mut dice)
        };
        let wanted = properties(&mut dice);
        let outcomes: Vec<(Outcome, u64)> = [
            Vec::new(),
            vec![Reduction::Symmetry],
            vec![Reduction::Ranks],
            vec![Reduction::DeadVariables],
            Reduction::ALL.to_vec(),
        ]
        .into_iter()
        .map(|without| {
            let bounds = Bounds {
                without,
                ..bounds.clone()
            };
            let goal = Goal::Breaks(wanted.clone());
            let mut search = Search::new(&text, 0, bounds, goal).expect("the text can be read");
            let outcome = search.finish().clone();
            (outcome, search.progress().worlds)
        })
        .collect();
        let costs: Vec<Option<Cost>> = outcomes
            .iter()
            .map(|(outcome, _)| cost_of(outcome))
            .collect();
        if outcomes
            .iter()
            .any(|(outcome, _)| matches!(outcome, Outcome::LimitReached { .. }))
        {
            continue;
        }
        assert!(
            costs.iter().all(|cost| *cost == costs[0]),
            "seed {seed}: {costs:?}\n{text}"
        );
        found += u64::from(costs[0].is_some());
        fewer += u64::from(outcomes[0].1 < outcomes[1].1);
    }
    assert!(fewer > 10 && found > 5, "{fewer}, {found}");
}
