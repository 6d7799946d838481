//! The search beside Spin, on one model of a lock: the scenario is benches/search/split.latchkey (or atomic.latchkey) with as many
//! clients, faults and units as a size says; for Spin the same is benches/search/lock.pml.
//!
//! `cargo bench --no-default-features --features cli --bench search -- [SIZE...] [ROUNDS]`, sizes S, M, L, A and A0; S and A0 if none is
//! named, and one round. In each round each program runs once, in a process of its own; what is printed are medians of their CPU
//! time (user and system) and the ratios of these to Spin's depth-first search, where Spin and a C compiler are installed: as they
//! are, and without what a process takes that begins such a search and does nothing. Then worlds a second of searches with faults
//! that the loop in `kernel/` does not try by itself. The word `presets` prints instead what each preset of the page finds in every
//! story, how many worlds that takes and how long.
//!
//! The same in WebAssembly, built as the page is, under node:
//!
//! ```text
//! rustup target add wasm32-wasip1
//! cargo build --profile page --no-default-features --target wasm32-wasip1 --bench search
//! LATCHKEY_SEARCH_WASM=$PWD/$(ls -t target/wasm32-wasip1/page/deps/search-*.wasm | head -1) cargo bench ... -- L 5
//! ```

use std::path::{Path, PathBuf};
use std::process::Command;

use latchkey::property::Property;
use latchkey::scenario::library::stories;
use latchkey::scenario::read;
use latchkey::search::{Bounds, Goal, Outcome, Preset, Reduction, Search};

/// One size of the model, and what every tool counts.
struct Size {
    name: &'static str,
    clients: usize,
    expiries: u32,
    wipes: u32,
    units: u32,
    atomic: bool,
    worlds: u64,
    transitions: u64,
}

const SIZES: [Size; 5] = [
    Size {
        name: "A0",
        clients: 3,
        expiries: 2,
        wipes: 0,
        units: 3,
        atomic: true,
        worlds: 7_984,
        transitions: 21_279,
    },
    Size {
        name: "S",
        clients: 3,
        expiries: 2,
        wipes: 1,
        units: 3,
        atomic: false,
        worlds: 355_715,
        transitions: 976_804,
    },
    Size {
        name: "M",
        clients: 4,
        expiries: 2,
        wipes: 0,
        units: 4,
        atomic: false,
        worlds: 1_752_226,
        transitions: 5_622_224,
    },
    Size {
        name: "L",
        clients: 4,
        expiries: 2,
        wipes: 1,
        units: 4,
        atomic: false,
        worlds: 10_274_946,
        transitions: 33_994_037,
    },
    Size {
        name: "A",
        clients: 4,
        expiries: 3,
        wipes: 1,
        units: 4,
        atomic: true,
        worlds: 2_629_093,
        transitions: 9_691_212,
    },
];

/// How a child is asked for one search.
const ONE: &str = "one";

/// What is measured: a search through every world, one with every reduction, and one that has begun and does nothing: what starting a
/// process takes, and in WebAssembly reading and compiling the module.
const MODES: [&str; 3] = ["every world", "with reductions", "start alone"];

fn main() {
    let asked: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    if asked == ["presets"] {
        return Preset::ALL.into_iter().for_each(tell_preset);
    }
    if let [first, size, mode] = &asked[..]
        && first == ONE
    {
        return run_one(size_named(size).expect("a size"), mode);
    }
    let rounds = asked.iter().find_map(|word| word.parse().ok()).unwrap_or(1);
    let mut sizes: Vec<&Size> = asked.iter().filter_map(|word| size_named(word)).collect();
    if sizes.is_empty() {
        sizes = ["A0", "S"].into_iter().filter_map(size_named).collect();
    }
    for size in sizes {
        compare(size, rounds);
    }
    for (what, bounds) in general() {
        tell_general(what, bounds);
    }
}

// The general path: faults that the loop of the search does not try by itself.

/// Where a search of the general path ends.
const WORLDS: u64 = 200_000;

fn general() -> [(&'static str, Bounds); 4] {
    let bounds = Bounds {
        worlds: WORLDS,
        without: vec![Reduction::Symmetry],
        ..Bounds::none()
    };
    [
        (
            "lapses",
            Bounds {
                lapses: 9,
                ..bounds.clone()
            },
        ),
        (
            "crashes and restarts",
            Bounds {
                crashes: 4,
                restarts: 4,
                ..bounds.clone()
            },
        ),
        (
            "lost replies",
            Bounds {
                lost_replies: 6,
                ..bounds.clone()
            },
        ),
        (
            "late requests",
            Bounds {
                late_requests: 2,
                ..bounds
            },
        ),
    ]
}

/// Prints how many worlds a second of wall time such a search tries, on the model with three clients.
fn tell_general(what: &str, bounds: Bounds) {
    let goal = Goal::Breaks(vec![Property::NoStaleWrite]);
    let text = text_of(&SIZES[1]);
    let mut search = Search::new(&text, 0, bounds, goal).expect("the model can be read");
    search.explore_all();
    let begun = std::time::Instant::now();
    search.finish();
    let (worlds, transitions) = (search.progress().worlds, search.progress().transitions);
    println!(
        "{what}: {worlds} worlds, {transitions} transitions, {:.0} worlds a second; {}",
        worlds as f64 / begun.elapsed().as_secs_f64(),
        search.counts()
    );
}

/// Prints what a preset of the page finds in every story, begun anew.
fn tell_preset(preset: Preset) {
    for story in stories() {
        let setup = read(story.text).expect("a story can be read").setup;
        let bounds = preset.bounds(&setup, &Bounds::none());
        let goal = Goal::Breaks(Vec::new());
        let mut search = Search::new(story.text, 0, bounds, goal).expect("a story can be read");
        let begun = std::time::Instant::now();
        let outcome = match search.finish() {
            Outcome::Found {
                steps,
                faults,
                breaks,
                ..
            } => format!("{breaks:?} after {steps} actions, {faults} of them faults"),
            Outcome::Nothing { .. } => "nothing".to_owned(),
            Outcome::LimitReached { faults, depth, .. } => {
                format!(
                    "a limit; nothing with fewer than {faults} faults, nor with as many and fewer than {depth} actions"
                )
            }
        };
        let (seconds, worlds) = (begun.elapsed().as_secs_f64(), search.progress().worlds);
        println!(
            "{preset:?}, {}: {outcome}; {worlds} worlds in {seconds:.2} s",
            story.name
        );
    }
}

fn size_named(name: &str) -> Option<&'static Size> {
    SIZES.iter().find(|size| size.name == name)
}

// One search, in a process of its own.

fn run_one(size: &Size, mode: &str) {
    let without = match mode == MODES[0] {
        true => Reduction::ALL.to_vec(),
        false => Vec::new(),
    };
    let mut search = search_of(size, without);
    let mut progress = search.progress();
    let mut most_bytes = 0;
    while !progress.finished && mode != MODES[2] {
        progress = search.run(1 << 14);
        most_bytes = progress.bytes.max(most_bytes);
    }
    println!(
        "{} {} {most_bytes} {}",
        progress.worlds,
        progress.transitions,
        search.counts()
    );
}

fn text_of(size: &Size) -> String {
    let text = match size.atomic {
        true => include_str!("search/atomic.latchkey"),
        false => include_str!("search/split.latchkey"),
    };
    let names = ["A", "B", "C", "D"][..size.clients].join(", ");
    text.replace("'sku-1', 3, 0", &format!("'sku-1', {}, 0", size.units))
        .replace("client A, B, C:", &format!("client {names}:"))
}

fn search_of(size: &Size, without: Vec<Reduction>) -> Search {
    let bounds = Bounds {
        expiries: size.expiries,
        wipes: size.wipes,
        expiring_keys: vec![b"lock:sku-1".to_vec()],
        wiped_keys: vec![b"fence:sku-1".to_vec()],
        worlds: u64::MAX,
        bytes: u64::MAX,
        without,
        ..Bounds::none()
    };
    let goal = Goal::Breaks(vec![Property::NoStaleWrite]);
    let mut search = Search::new(&text_of(size), 0, bounds, goal).expect("the model can be read");
    search.explore_all();
    search
}

// All of them beside each other.

/// A program that goes through a size of the model, and how long it took each time.
struct Contestant {
    build: &'static str,
    what: String,
    command: Vec<String>,
    folder: PathBuf,
    /// The mode of a search; `None`: it is Spin.
    mode: Option<&'static str>,
    seconds: Vec<f64>,
}

fn compare(size: &Size, rounds: usize) {
    let mut contestants = contestants(size);
    for round in 0..rounds {
        for contestant in &mut contestants {
            let (seconds, said) = timed(contestant);
            contestant.seconds.push(seconds);
            if round == 0 {
                tell_counts(size, contestant, &said);
            }
        }
    }
    for contestant in &mut contestants {
        contestant.seconds.sort_by(f64::total_cmp);
    }
    println!("{}, CPU seconds, medians of {rounds}:", size.name);
    let spin = contestants.iter().find(|one| one.mode.is_none());
    for contestant in &contestants {
        let seconds = contestant.median();
        let start = contestants
            .iter()
            .find(|one| one.build == contestant.build && one.mode == Some(MODES[2]));
        let start = start.map_or(0.0, Contestant::median);
        let ratio = spin.map_or_else(
            || "(Spin is not installed)".to_owned(),
            |spin| {
                let (whole, search) = (seconds / spin.median(), (seconds - start) / spin.median());
                format!("ratio {whole:.4}, without the start {search:.4}")
            },
        );
        let all = contestant.seconds.iter().map(|each| format!("{each:.3}"));
        let all: Vec<String> = all.collect();
        println!(
            "  {:<26} {seconds:>7.3}  {ratio}  ({})",
            contestant.what,
            all.join(" ")
        );
    }
}

fn contestants(size: &Size) -> Vec<Contestant> {
    let this = std::env::current_exe().expect("this program has a path");
    let native = vec![this.to_string_lossy().into_owned()];
    let mut builds = vec![("native", native)];
    if let Ok(module) = std::env::var("LATCHKEY_SEARCH_WASM") {
        let runner = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/search/wasm.mjs");
        let runner = runner.to_string_lossy().into_owned();
        builds.push(("wasm", vec!["node".to_owned(), runner, module]));
    }
    let mut all = Vec::new();
    for (build, program) in builds {
        for mode in MODES {
            let mut command = program.clone();
            command.extend([ONE, size.name, mode].map(str::to_owned));
            all.push(Contestant {
                build,
                what: format!("{build}, {mode}"),
                command,
                folder: scratch("search"),
                mode: Some(mode),
                seconds: Vec::new(),
            });
        }
    }
    all.extend(spin(size));
    all
}

fn tell_counts(size: &Size, contestant: &Contestant, said: &str) {
    let what = &contestant.what;
    if contestant.mode.is_none() {
        let counts = said
            .lines()
            .filter(|line| line.contains("states, stored") || line.contains("transitions"));
        let counts: Vec<&str> = counts.map(str::trim).collect();
        return println!("{} {what}: {}", size.name, counts.join(", "));
    }
    let mut words = said.split_whitespace();
    let mut number = || words.next().and_then(|word| word.parse::<u64>().ok());
    let (worlds, transitions, bytes) = (number(), number(), number());
    let per_world = bytes.unwrap_or(0) as f64 / worlds.unwrap_or(1) as f64;
    let verdict = match contestant.mode == Some(MODES[0]) {
        true if (worlds, transitions) == (Some(size.worlds), Some(size.transitions)) => {
            ", as the model"
        }
        true => ", NOT AS THE MODEL",
        false => "",
    };
    println!(
        "{} {what}: {} worlds, {} transitions{verdict}; at most {per_world:.1} bytes a world; {}",
        size.name,
        worlds.unwrap_or(0),
        transitions.unwrap_or(0),
        words.collect::<Vec<_>>().join(" ")
    );
}

impl Contestant {
    /// The median of its times, which are in order.
    fn median(&self) -> f64 {
        self.seconds[self.seconds.len() / 2]
    }
}

/// User and system time of a program and all its threads, and what it said.
fn timed(contestant: &Contestant) -> (f64, String) {
    let output = Command::new("sh")
        .current_dir(&contestant.folder)
        .args(["-c", "\"$@\" > said.tmp; times", "sh"])
        .args(&contestant.command)
        .output()
        .expect("there is a shell");
    let said = std::fs::read_to_string(contestant.folder.join("said.tmp")).unwrap_or_default();
    let times = String::from_utf8_lossy(&output.stdout).into_owned();
    let children = times.lines().nth(1).unwrap_or_default();
    let seconds = children.split_whitespace().filter_map(|time| {
        let (minutes, seconds) = time.trim_end_matches('s').split_once('m')?;
        Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
    });
    (seconds.sum(), said)
}

/// Spin's depth-first search through the same model; `None` where it is not installed.
fn spin(size: &Size) -> Option<Contestant> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/search/lock.pml");
    let folder = scratch(&format!("spin-{}", size.name));
    let mut spin = Command::new("spin");
    spin.current_dir(&folder).arg("-o2");
    for (name, value) in [
        ("N", size.clients as u32),
        ("E", size.expiries),
        ("W", size.wipes),
        ("Q", size.units),
    ] {
        spin.arg(format!("-D{name}={value}"));
    }
    if size.atomic {
        spin.arg("-DATOMIC");
    }
    let made = spin.arg("-a").arg(source).output().ok()?;
    made.status.success().then_some(())?;
    let gcc = Command::new("gcc")
        .current_dir(&folder)
        .args(["-O3", "-w", "-DSAFETY", "-DNOREDUCE", "-DMEMLIM=8000"])
        .args(["-o", "pan", "pan.c"])
        .status()
        .ok()?;
    gcc.success().then_some(())?;
    let command = ["./pan", "-c0", "-m10000", "-w24"];
    Some(Contestant {
        build: "Spin",
        what: "Spin, depth first".to_owned(),
        command: command.map(str::to_owned).to_vec(),
        folder,
        mode: None,
        seconds: Vec::new(),
    })
}

fn scratch(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    folder
}
