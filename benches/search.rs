//! The search beside Spin, on one model of a lock: the scenario is benches/search/split.latchkey (or atomic.latchkey) with as many
//! clients, faults and units as a size says; for Spin the same is benches/search/lock.pml.
//!
//! `cargo bench --no-default-features --features cli --bench search -- [SIZE...]`, sizes S, M, L, A and A0; S and A0 if none is named.
//! It prints distinct worlds, transitions, CPU time and bytes for each, and the ratio to Spin's depth-first search where Spin and a C
//! compiler are installed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use latchkey::property::Property;
use latchkey::search::{Bounds, Goal, Reduction, Search};

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

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let named: Vec<&str> = asked
        .iter()
        .map(String::as_str)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let wanted = if named.is_empty() {
        vec!["A0", "S"]
    } else {
        named
    };
    for size in SIZES.iter().filter(|size| wanted.contains(&size.name)) {
        measure(size);
    }
}

fn text_of(size: &Size) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/search");
    let file = if size.atomic {
        "atomic.latchkey"
    } else {
        "split.latchkey"
    };
    let text = std::fs::read_to_string(folder.join(file)).expect("the model is there");
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

fn measure(size: &Size) {
    println!("{}:", size.name);
    let full = run(size, "every world", Reduction::ALL.to_vec());
    let counts = full.0.worlds == size.worlds && full.0.transitions == size.transitions;
    let verdict = if counts { "as" } else { "NOT AS" };
    println!(
        "  {verdict} the model's {} worlds, {} transitions",
        size.worlds, size.transitions
    );
    let reduced = run(size, "with reductions", Vec::new());
    match spin(size) {
        Some(spin) => println!(
            "  Spin, depth first: {spin:.2} s CPU; ratios: every world {:.3}, with reductions {:.4}",
            full.1 / spin,
            reduced.1 / spin
        ),
        None => println!("  Spin: not installed"),
    }
}

fn run(size: &Size, what: &str, without: Vec<Reduction>) -> (latchkey::search::Progress, f64) {
    let before = cpu_seconds();
    let started = Instant::now();
    let mut search = search_of(size, without);
    let mut progress = search.progress();
    while !progress.finished {
        progress = search.run(1 << 14);
    }
    let seconds = match (before, cpu_seconds()) {
        (Some(before), Some(after)) => after - before,
        _ => started.elapsed().as_secs_f64(),
    };
    println!(
        "  {what}: {} worlds, {} transitions, {seconds:.2} s CPU, {:.1} bytes a world",
        progress.worlds,
        progress.transitions,
        progress.bytes as f64 / progress.worlds as f64
    );
    println!("    {}", search.counts());
    (progress, seconds)
}

/// What this process, and the children that have ended, have used.
fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let ticks = |place: usize| fields.get(place)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / 100.0)
}

/// CPU seconds of Spin's depth-first search through the same model; `None` where it is not installed.
fn spin(size: &Size) -> Option<f64> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/search/lock.pml");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("spin-{}", size.name));
    std::fs::create_dir_all(&folder).ok()?;
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
    let script =
        "./pan -c0 -m10000 -w24 > out; grep -E 'states, stored|transitions' out >&2; times";
    let output = Command::new("sh")
        .current_dir(&folder)
        .args(["-c", script])
        .output()
        .ok()?;
    let times = String::from_utf8(output.stdout).ok()?;
    let children = times.lines().nth(1)?;
    let seconds = children.split_whitespace().map(|time| {
        let (minutes, seconds) = time.trim_end_matches('s').split_once('m')?;
        Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
    });
    let counted = String::from_utf8_lossy(&output.stderr).into_owned();
    println!("  Spin counts {}", counted.trim().replace('\n', ", "));
    seconds.sum()
}
