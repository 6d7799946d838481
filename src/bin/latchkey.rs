//! The native program: checks scenario files, formats them, and turns them into links and back.
//!
//! Arguments are read by hand: a handful of commands and options do not need a crate.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use latchkey::export::{Format, Options, export};
use latchkey::link;
use latchkey::scenario::{self, TextError, limits};
use latchkey::search::{self, Search};
use latchkey::timeline::Timeline;

const HELP: &str = "\
Latchkey: an exact, repeatable world of distributed locks.

Usage: latchkey COMMAND ...

Commands:
  check FILE...            runs scenarios and compares replies (`=>`), expectations (`expect`) and searches
  search FILE [--ties]     tries every schedule within the bounds of each `search` block, and prints the scenario with
                           the shortest one that it looks for; with --ties, all that are as short
  format FILE [--write]    prints a scenario in its canonical form; with --write, into the file
  pin FILE [--write]       prints a scenario with the replies and the expectations that it has now
  link FILE [--cursor N]   prints the link of a scenario, with N actions played (all, if not said)
  export FILE --to FORMAT [--holds]
                           prints a scenario as a test for real servers, or as a picture; with --holds, a test that
                           fails until the properties hold
  run FILE... [--redis URL] [--mysql URL] [--prefix TEXT] [--lapse] [--may-replicate] [--start]
                           plays scenarios on real Redis servers and a real MySQL or MariaDB, and compares every reply;
                           --redis NAME=URL for each of several servers; keys and channels have a prefix
                           (latchkey:NUMBER: if not said; '' for none); with --lapse, keys are made to lapse where the
                           schedule lets time pass; with --may-replicate, servers that are given and empty are made
                           replicas for a while; with --start, redis-servers are started on spare ports, and a MariaDB
                           where no --mysql is given: those can crash, lag, take over, and have clocks that jump
  show LINK                prints the scenario of a link: a whole address or the part from # on

Formats of export, and how their files' names end:
FORMATS

Options:
  -h, --help               prints this
  -V, --version            prints the version

The exit status is 0 when all is well, 1 when a scenario is wrong or cannot be read, and 2 when the arguments are
not understood.
";

/// What a command ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// All is well.
    Well = 0,
    /// A scenario is wrong, or cannot be read.
    Wrong = 1,
    /// The arguments are not understood.
    Usage = 2,
}

/// Where to print: results, and everything else.
struct Console<'c> {
    out: &'c mut dyn Write,
    err: &'c mut dyn Write,
}

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let arguments: Vec<&OsStr> = arguments.iter().map(OsString::as_os_str).collect();
    let (mut out, mut err) = (io::stdout().lock(), io::stderr().lock());
    let mut console = Console {
        out: &mut out,
        err: &mut err,
    };
    match run(&arguments, &mut console) {
        Ok(outcome) => ExitCode::from(outcome as u8),
        // Whoever read what is printed has gone, as `head` does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "latchkey: cannot print: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&OsStr], console: &mut Console<'_>) -> io::Result<Outcome> {
    let Some((command, rest)) = arguments.split_first() else {
        return usage(console, "a command is missing");
    };
    let wants_help = arguments
        .iter()
        .any(|argument| *argument == "--help" || *argument == "-h");
    if wants_help || *command == "help" {
        write!(console.out, "{}", help())?;
        return Ok(Outcome::Well);
    }
    match command.to_string_lossy().as_ref() {
        "check" => check_files(rest, console),
        "search" => search_file(rest, console),
        "format" => rewrite_file("format", scenario::format, rest, console),
        "pin" => rewrite_file("pin", scenario::edit::pin, rest, console),
        "link" => link_of_file(rest, console),
        "export" => export_file(rest, console),
        "run" => run_files(rest, console),
        "show" => show_link(rest, console),
        "-V" | "--version" => {
            writeln!(console.out, "latchkey {}", env!("CARGO_PKG_VERSION"))?;
            Ok(Outcome::Well)
        }
        other => usage(console, &format!("there is no command `{other}`")),
    }
}

fn usage(console: &mut Console<'_>, wrong: &str) -> io::Result<Outcome> {
    writeln!(
        console.err,
        "latchkey: {wrong}; `latchkey --help` lists the commands"
    )?;
    Ok(Outcome::Usage)
}

/// The option that no command has, if one is among the arguments.
fn unknown_option<'a>(arguments: &[&'a OsStr]) -> Option<&'a OsStr> {
    arguments.iter().copied().find(|argument| {
        let text = argument.to_string_lossy();
        text.starts_with('-') && text.len() > 1
    })
}

/// A scenario file's text, or why it cannot be had.
fn read_file(path: &OsStr) -> Result<String, String> {
    let size = std::fs::metadata(path)
        .map_err(|error| format!("cannot be read: {error}"))?
        .len();
    if size > limits::TEXT as u64 {
        return Err(format!(
            "is {size} bytes long: expected at most {}",
            limits::TEXT
        ));
    }
    let bytes = std::fs::read(path).map_err(|error| format!("cannot be read: {error}"))?;
    String::from_utf8(bytes).map_err(|_| "is not a text in UTF-8".to_owned())
}

/// Prints what is wrong with a text, beside the results: whoever keeps those in a file still sees it.
fn report(console: &mut Console<'_>, path: &OsStr, errors: &[TextError]) -> io::Result<()> {
    report_as("", console, path, errors)
}

/// Prints what can be read and cannot work.
fn warn(
    console: &mut Console<'_>,
    path: &OsStr,
    text: &str,
    reading: &scenario::Reading,
) -> io::Result<()> {
    report_as(
        "warning: ",
        console,
        path,
        &scenario::warnings(text, reading),
    )
}

fn report_as(
    kind: &str,
    console: &mut Console<'_>,
    path: &OsStr,
    errors: &[TextError],
) -> io::Result<()> {
    let path = Path::new(path).display();
    for error in errors {
        let TextError {
            line,
            column,
            message,
            expected,
            ..
        } = error;
        match expected.as_str() {
            "" => writeln!(console.err, "{path}:{line}:{column}: {kind}{message}")?,
            expected => {
                writeln!(
                    console.err,
                    "{path}:{line}:{column}: {kind}{message}: expected {expected}"
                )?;
            }
        }
    }
    Ok(())
}

// Commands.

fn check_files(files: &[&OsStr], console: &mut Console<'_>) -> io::Result<Outcome> {
    if let Some(option) = unknown_option(files) {
        return usage(
            console,
            &format!("check has no option `{}`", option.to_string_lossy()),
        );
    }
    if files.is_empty() {
        return usage(console, "check needs at least one file");
    }
    let mut failed = 0;
    for file in files {
        failed += usize::from(!check_file(file, console)?);
    }
    writeln!(
        console.out,
        "{} passed, {failed} failed",
        files.len() - failed
    )?;
    Ok(if failed == 0 {
        Outcome::Well
    } else {
        Outcome::Wrong
    })
}

/// Checks one file, and says whether it passed.
fn check_file(file: &OsStr, console: &mut Console<'_>) -> io::Result<bool> {
    let path = Path::new(file).display();
    let text = match read_file(file) {
        Ok(text) => text,
        Err(why) => {
            writeln!(console.err, "{path}: {why}")?;
            return Ok(false);
        }
    };
    let checked = scenario::read(&text).and_then(|reading| Ok((scenario::check(&text)?, reading)));
    let (differences, reading) = match checked {
        Ok(checked) => checked,
        Err(errors) => {
            report(console, file, &errors)?;
            return Ok(false);
        }
    };
    warn(console, file, &text, &reading)?;
    for difference in &differences {
        writeln!(console.out, "{path}:{difference}")?;
    }
    if differences.is_empty() {
        let is_bare = reading.schedule.is_empty() && reading.expectations.is_empty();
        let verdict = match is_bare && reading.searches.is_empty() {
            true => "nothing to check: it has no `schedule`, no `expect` and no `search`",
            false => "ok",
        };
        writeln!(console.out, "{path}: {verdict}")?;
    }
    Ok(differences.is_empty())
}

fn search_file(arguments: &[&OsStr], console: &mut Console<'_>) -> io::Result<Outcome> {
    let OneFile {
        file,
        has_option: with_ties,
        text,
    } = match one_file("search", "--ties", arguments, console)? {
        Ok(one) => one,
        Err(outcome) => return Ok(outcome),
    };
    let reading = match scenario::read(&text) {
        Ok(reading) => reading,
        Err(errors) => {
            report(console, file, &errors)?;
            return Ok(Outcome::Wrong);
        }
    };
    let mut requests: Vec<search::Request> = reading
        .searches
        .iter()
        .map(|search| search.request.clone())
        .collect();
    if requests.is_empty() {
        requests.push(search::Request::default());
    }
    let mut outcome = Outcome::Well;
    for request in &requests {
        write!(console.out, "{}", search::print_request(request))?;
        match Search::of_request(&text, request) {
            Ok(mut running) => {
                let started = std::time::Instant::now();
                let found = running.finish().clone();
                let bytes = running.progress().bytes;
                print_found(&found, with_ties, console)?;
                writeln!(
                    console.err,
                    "{:.2} s, {:.1} MiB",
                    started.elapsed().as_secs_f64(),
                    bytes as f64 / f64::from(1 << 20)
                )?;
                let differs = request
                    .finds
                    .is_some_and(|finds| search::difference(finds, &found, &reading).is_some());
                if differs {
                    outcome = Outcome::Wrong;
                }
            }
            Err(errors) => {
                report(console, file, &errors)?;
                return Ok(Outcome::Wrong);
            }
        }
    }
    Ok(outcome)
}

/// Prints what came of a search.
fn print_found(
    found: &search::Outcome,
    with_ties: bool,
    console: &mut Console<'_>,
) -> io::Result<()> {
    let mut left_out: &[String] = &[];
    match found {
        search::Outcome::Found {
            text,
            ties,
            steps,
            faults,
            breaks,
            worlds,
            transitions,
        } => {
            writeln!(
                console.out,
                "found: {}; {worlds} worlds, {transitions} transitions",
                search::print_finds(search::Finds::Steps {
                    steps: *steps,
                    faults: *faults
                })
            )?;
            if let Some(property) = breaks {
                writeln!(console.out, "broken: {}", property.sentence())?;
            }
            match ties.len() {
                0 => {}
                1 => writeln!(console.out, "another schedule is as short")?,
                search::MOST_TIES => writeln!(
                    console.out,
                    "at least {} others are as short",
                    search::MOST_TIES
                )?,
                more => writeln!(console.out, "{more} others are as short")?,
            }
            write!(console.out, "\n{text}")?;
            for tie in ties.iter().filter(|_| with_ties) {
                write!(console.out, "\n{tie}")?;
            }
        }
        search::Outcome::Nothing {
            worlds,
            transitions,
            left_out: beyond,
        } => {
            left_out = beyond;
            writeln!(
                console.out,
                "nothing within these bounds; {worlds} worlds, {transitions} transitions"
            )?;
        }
        search::Outcome::LimitReached {
            worlds,
            transitions,
            faults,
            depth,
            left_out: beyond,
        } => {
            left_out = beyond;
            writeln!(
                console.out,
                "stopped at a limit: nothing with fewer than {faults} faults, nor with {faults} faults and fewer than {depth} steps; \
                 {worlds} worlds, {transitions} transitions"
            )?;
        }
    }
    if !left_out.is_empty() {
        writeln!(console.out, "left out: {}", left_out.join("; "))?;
    }
    Ok(())
}

/// Prints what a command makes of a file's text, or writes it into the file.
fn rewrite_file(
    command: &str,
    rewrite: fn(&str) -> Result<String, Vec<TextError>>,
    arguments: &[&OsStr],
    console: &mut Console<'_>,
) -> io::Result<Outcome> {
    let OneFile {
        file,
        has_option: into_the_file,
        text,
    } = match one_file(command, "--write", arguments, console)? {
        Ok(one) => one,
        Err(outcome) => return Ok(outcome),
    };
    let rewritten = match rewrite(&text) {
        Ok(rewritten) => rewritten,
        Err(errors) => {
            report(console, file, &errors)?;
            return Ok(Outcome::Wrong);
        }
    };
    if command == "pin"
        && let Ok(reading) = scenario::read(&text)
    {
        warn(console, file, &text, &reading)?;
    }
    if !into_the_file {
        write!(console.out, "{rewritten}")?;
        return Ok(Outcome::Well);
    }
    // A file that stays as it is keeps its date.
    let written = if rewritten == text {
        Ok(())
    } else {
        std::fs::write(file, rewritten)
    };
    match written {
        Ok(()) => Ok(Outcome::Well),
        Err(error) => {
            writeln!(
                console.err,
                "{}: cannot be written: {error}",
                Path::new(file).display()
            )?;
            Ok(Outcome::Wrong)
        }
    }
}

/// The one file that a command was given, and whether its one option was.
struct OneFile<'a> {
    file: &'a OsStr,
    has_option: bool,
    text: String,
}

/// Reads the arguments of a command that takes one file and may take one option; what is wrong with them is printed, and `Err` is
/// how the command ends then.
fn one_file<'a>(
    command: &str,
    option: &str,
    arguments: &[&'a OsStr],
    console: &mut Console<'_>,
) -> io::Result<Result<OneFile<'a>, Outcome>> {
    let (options, files): (Vec<&OsStr>, Vec<&OsStr>) =
        arguments.iter().partition(|argument| **argument == option);
    if let Some(option) = unknown_option(&files) {
        let wrong = format!("{command} has no option `{}`", option.to_string_lossy());
        return Ok(Err(usage(console, &wrong)?));
    }
    let [file] = files.as_slice() else {
        return Ok(Err(usage(console, &format!("{command} needs one file"))?));
    };
    Ok(match text_of(file, console)? {
        Some(text) => Ok(OneFile {
            file,
            has_option: !options.is_empty(),
            text,
        }),
        None => Err(Outcome::Wrong),
    })
}

/// A file's text; why it cannot be had is printed.
fn text_of(file: &OsStr, console: &mut Console<'_>) -> io::Result<Option<String>> {
    match read_file(file) {
        Ok(text) => Ok(Some(text)),
        Err(why) => {
            writeln!(console.err, "{}: {why}", Path::new(file).display())?;
            Ok(None)
        }
    }
}

fn link_of_file(arguments: &[&OsStr], console: &mut Console<'_>) -> io::Result<Outcome> {
    let (file, cursor) = match arguments {
        [file] => (*file, None),
        [file, option, number] | [option, number, file] if *option == "--cursor" => {
            let number = number.to_string_lossy();
            match number.parse::<u32>() {
                Ok(cursor) => (*file, Some(cursor as usize)),
                Err(_) => return usage(console, &format!("`{number}` is no number of actions")),
            }
        }
        _ => {
            return usage(
                console,
                "link needs one file, and a number behind --cursor if that is given",
            );
        }
    };
    if unknown_option(&[file]).is_some() {
        return usage(
            console,
            &format!("link has no option `{}`", file.to_string_lossy()),
        );
    }
    let Some(text) = text_of(file, console)? else {
        return Ok(Outcome::Wrong);
    };
    let reading = match scenario::read(&text) {
        Ok(reading) => reading,
        Err(errors) => {
            report(console, file, &errors)?;
            return Ok(Outcome::Wrong);
        }
    };
    let all = reading.schedule.len();
    let cursor = cursor.unwrap_or(all);
    if cursor > all {
        let wrong = format!("--cursor {cursor} is beyond the end of the schedule, which is {all}");
        return usage(console, &wrong);
    }
    writeln!(console.out, "{}", link::encode(&text, cursor))?;
    Ok(Outcome::Well)
}

/// The help; a program that cannot `run` says so.
fn help() -> String {
    let help = HELP.replace("FORMATS", &formats());
    match cfg!(feature = "servers") {
        true => help,
        false => help.replace(
            "take over, and have clocks that jump\n",
            "take over, and have clocks that jump\n                           (not in this program: it was built without the feature `servers`)\n",
        ),
    }
}

/// The formats, as the help lists them.
fn formats() -> String {
    let line = |format: &Format| {
        let (name, purpose, ending) = (format.name(), format.purpose(), format.ending());
        format!("  {name:<25}{purpose} ({ending})")
    };
    let lines: Vec<String> = Format::ALL.iter().map(line).collect();
    lines.join("\n")
}

fn export_file(arguments: &[&OsStr], console: &mut Console<'_>) -> io::Result<Outcome> {
    let mut options = Options::default();
    let (mut file, mut format) = (None, None);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.to_string_lossy().as_ref() {
            "--holds" => options.holds = true,
            "--to" => format = rest.next().map(|name| name.to_string_lossy()),
            option if option.starts_with('-') && option.len() > 1 => {
                return usage(console, &format!("export has no option `{option}`"));
            }
            _ if file.is_some() => return usage(console, "export takes one file"),
            _ => file = Some(*argument),
        }
    }
    let (Some(file), Some(format)) = (file, format) else {
        return usage(console, "export needs a file, and a format behind --to");
    };
    let Some(format) = Format::named(&format) else {
        let names = Format::ALL.map(Format::name).join(", ");
        return usage(
            console,
            &format!("there is no format `{format}`, but {names}"),
        );
    };
    let Some(text) = text_of(file, console)? else {
        return Ok(Outcome::Wrong);
    };
    let reading = match scenario::read(&text) {
        Ok(reading) => reading,
        Err(errors) => {
            report(console, file, &errors)?;
            return Ok(Outcome::Wrong);
        }
    };
    warn(console, file, &text, &reading)?;
    let timeline = play(&reading);
    match export(&text, &reading, &timeline, format, options) {
        Ok(test) => {
            write!(console.out, "{test}")?;
            Ok(Outcome::Well)
        }
        Err(refusal) => {
            let file = Path::new(file).display();
            writeln!(
                console.err,
                "{file}: cannot be exported to {}: {refusal}",
                format.name()
            )?;
            Ok(Outcome::Wrong)
        }
    }
}

#[cfg(not(feature = "servers"))]
fn run_files(_: &[&OsStr], console: &mut Console<'_>) -> io::Result<Outcome> {
    usage(
        console,
        "this program was built without `run`: build it with --features cli,servers",
    )
}

#[cfg(feature = "servers")]
fn run_files(arguments: &[&OsStr], console: &mut Console<'_>) -> io::Result<Outcome> {
    use latchkey::servers::{Given, Player, Servers, Trouble};
    let mut servers = Servers {
        prefix: Some(format!("latchkey:{}:", std::process::id())),
        ..Servers::default()
    };
    let mut files = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let option = argument.to_string_lossy();
        match option.as_ref() {
            "--lapse" => servers.lapse = true,
            "--start" => servers.start = true,
            "--may-replicate" => servers.may_replicate = true,
            "--redis" | "--mysql" | "--prefix" => {
                let Some(value) = rest.next() else {
                    return usage(console, &format!("a value is missing behind {option}"));
                };
                let value = value.to_string_lossy().into_owned();
                match option.as_ref() {
                    "--redis" => servers.redis.push(Given::read(&value)),
                    "--mysql" => servers.mysql = Some(value),
                    _ => servers.prefix = Some(value).filter(|prefix| !prefix.is_empty()),
                }
            }
            option if option.starts_with('-') && option.len() > 1 => {
                return usage(console, &format!("run has no option `{option}`"));
            }
            _ => files.push(*argument),
        }
    }
    if files.is_empty() {
        return usage(console, "run needs at least one file");
    }
    if servers.start && !servers.redis.is_empty() {
        return usage(
            console,
            "the servers are given by --redis, or started by --start",
        );
    }
    let mut player = match Player::new(servers) {
        Ok(player) => player,
        Err(trouble) => {
            writeln!(console.err, "latchkey: {trouble}")?;
            return Ok(Outcome::Wrong);
        }
    };
    let mut outcome = Outcome::Well;
    for file in files {
        match run_file(file, &mut player, console)? {
            Ok(()) => {}
            Err(Some(Trouble::Interrupted)) => {
                outcome = Outcome::Wrong;
                break;
            }
            Err(_) => outcome = Outcome::Wrong,
        }
    }
    player.stop(&mut |what| {
        let _ = writeln!(console.err, "{what}");
    });
    Ok(outcome)
}

/// Plays one file on real servers, and says whether they agree; `Err(None)`: it could not be read.
#[cfg(feature = "servers")]
fn run_file(
    file: &OsStr,
    player: &mut latchkey::servers::Player,
    console: &mut Console<'_>,
) -> io::Result<Result<(), Option<latchkey::servers::Trouble>>> {
    let path = Path::new(file).display();
    let Some(text) = text_of(file, console)? else {
        return Ok(Err(None));
    };
    let reading = match scenario::read(&text) {
        Ok(reading) => reading,
        Err(errors) => {
            report(console, file, &errors)?;
            return Ok(Err(None));
        }
    };
    let timeline = play(&reading);
    // As a compiler writes it: the line follows at once.
    let after_path = |what: &str| match what.starts_with(|first: char| first.is_ascii_digit()) {
        true => "",
        false => " ",
    };
    let mut say = |what: &str| {
        // Progress is no result: where nobody reads it, nothing is lost.
        let _ = writeln!(console.err, "{path}:{}{what}", after_path(what));
    };
    match player.play(&reading, &timeline, &mut say) {
        Ok(compared) => {
            let latchkey::servers::Compared {
                replies,
                rows,
                keys,
            } = compared;
            writeln!(
                console.out,
                "{path}: the servers agree in {replies} replies, {rows} rows and {keys} keys"
            )?;
            Ok(Ok(()))
        }
        Err(trouble) => {
            let what = trouble.to_string();
            writeln!(console.out, "{path}:{}{what}", after_path(&what))?;
            Ok(Err(Some(trouble)))
        }
    }
}

/// The schedule, played.
fn play(reading: &scenario::Reading) -> Timeline {
    let actions = reading.schedule.iter().map(|line| line.action.clone());
    Timeline::replay(reading.setup.clone(), actions)
}

fn show_link(arguments: &[&OsStr], console: &mut Console<'_>) -> io::Result<Outcome> {
    let [link] = arguments else {
        return usage(console, "show needs one link");
    };
    match link::decode(&link.to_string_lossy()) {
        Ok(opened) => {
            write!(console.out, "{}", opened.text)?;
            Ok(Outcome::Well)
        }
        Err(error) => {
            writeln!(console.err, "latchkey: {error}")?;
            Ok(Outcome::Wrong)
        }
    }
}
