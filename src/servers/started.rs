//! Servers that the program starts itself, on spare ports of this machine, and that nobody else uses: what must not be done to others
//! can be done to them.

use std::fs::{self, File};
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::process::{Child, Command};

use super::link::Request;
use super::{database, store};

/// How long a server may take until it answers.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long one waits before one asks again.
const MOMENT: Duration = Duration::from_millis(10);
/// What makes a server's wall clock one that is set.
const CLOCK: &str = include_str!("fakeclock.c");
const COMPILERS: [&str; 3] = ["cc", "gcc", "clang"];
/// Where Debian has the server, besides the search path.
const DATABASES: [&str; 3] = ["mariadbd", "/usr/sbin/mariadbd", "/usr/local/sbin/mariadbd"];
/// What a server says while it starts and runs.
const LOG: &str = "log";

/// A folder that is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    /// A folder among the temporary files, which nobody has yet.
    pub fn new(name: &str) -> Result<Folder, String> {
        let base = std::env::temp_dir();
        for number in 0.. {
            let path = base.join(format!("latchkey-{}-{name}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Folder(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(format!("{}: {error}", path.display())),
            }
        }
        Err("there is no name left for a folder".to_owned())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The library that is preloaded into servers so that their clocks can be set.
#[derive(Debug)]
pub(super) struct ClockLibrary {
    folder: Folder,
}

impl ClockLibrary {
    /// Compiles it; an error says what is missing.
    pub async fn compile() -> Result<ClockLibrary, String> {
        if !cfg!(target_os = "linux") {
            return Err(
                "clocks of servers can only be set on Linux, where a library is preloaded"
                    .to_owned(),
            );
        }
        let library = ClockLibrary {
            folder: Folder::new("clock")?,
        };
        let source = library.folder.path().join("clock.c");
        fs::write(&source, CLOCK).map_err(|error| error.to_string())?;
        for compiler in COMPILERS {
            let compiled = Command::new(compiler)
                .args(["-shared", "-fPIC", "-O1", "-o"])
                .arg(library.path())
                .arg(&source)
                .arg("-ldl")
                .stdin(Stdio::null())
                .kill_on_drop(true)
                .output()
                .await;
            match compiled {
                Ok(output) if output.status.success() => return Ok(library),
                Ok(output) => {
                    let said = String::from_utf8_lossy(&output.stderr).into_owned();
                    return Err(format!(
                        "{compiler} cannot compile a small library for clocks: {said}"
                    ));
                }
                Err(_) => {}
            }
        }
        Err(
            "a C compiler (cc) is needed to set the clocks of servers, and none is installed"
                .to_owned(),
        )
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("clock.so")
    }
}

/// A port that is free now.
fn spare_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    Ok(address.port())
}

/// A process that is killed when this is dropped.
#[derive(Debug)]
struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    fn start(command: &mut Command, folder: &Folder) -> Result<Process, String> {
        let log = folder.path().join(LOG);
        let file = File::create(&log).map_err(|error| error.to_string())?;
        let errors = file.try_clone().map_err(|error| error.to_string())?;
        let child = command
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(errors)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| error.to_string())?;
        Ok(Process { child, log })
    }

    fn id(&self) -> u32 {
        self.child.id().unwrap_or_default()
    }

    /// What it said, if it has ended.
    fn last_words(&mut self) -> Option<String> {
        let has_ended = !matches!(self.child.try_wait(), Ok(None));
        has_ended.then(|| fs::read_to_string(&self.log).unwrap_or_default())
    }

    async fn kill(mut self) {
        let _ = self.child.kill().await;
    }
}

/// A redis-server of the program's own.
#[derive(Debug)]
pub(super) struct Redis {
    port: u16,
    clock: Option<(File, PathBuf)>,
    library: Option<PathBuf>,
    /// Whether what it writes is on its disk at once, and so is there when it comes back.
    keeps_data: bool,
    process: Option<Process>,
    // Removed last.
    folder: Folder,
}

impl Redis {
    /// A server that does not run yet. `keeps_data`: it will be asked to come back with what it had. With a library its clock can
    /// be set.
    pub fn new(
        name: &str,
        keeps_data: bool,
        library: Option<&ClockLibrary>,
    ) -> Result<Redis, String> {
        let folder = Folder::new(name)?;
        let clock = match library {
            None => None,
            Some(_) => {
                let path = folder.path().join("clock");
                fs::write(&path, [0; 8]).map_err(|error| error.to_string())?;
                let file = File::options().write(true).open(&path);
                Some((file.map_err(|error| error.to_string())?, path))
            }
        };
        Ok(Redis {
            port: spare_port()?,
            clock,
            library: library.map(ClockLibrary::path),
            keeps_data,
            process: None,
            folder,
        })
    }

    pub fn address(&self) -> store::Address {
        store::Address::local(self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its process's number, while it runs.
    pub fn id(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
    }

    pub fn has_settable_clock(&self) -> bool {
        self.clock.is_some()
    }

    /// Sets its wall clock, in milliseconds since 1970.
    pub fn set_clock(&self, milliseconds: u64) -> Result<(), String> {
        match &self.clock {
            Some((file, _)) => write_at_start(file, milliseconds.to_ne_bytes())
                .map_err(|error| format!("the clock cannot be set: {error}")),
            None => Ok(()),
        }
    }

    /// Starts it, and waits until it answers.
    pub async fn start(&mut self) -> Result<(), String> {
        let mut command = Command::new("redis-server");
        command
            .args(["--port", &self.port.to_string(), "--bind", "127.0.0.1"])
            .args(["--save", "", "--appendfsync", "always"])
            .args(["--appendonly", if self.keeps_data { "yes" } else { "no" }])
            // Waits end when the clock says so, replicas hear at once, and no time that is set makes a link too old.
            .args(["--hz", "500", "--repl-diskless-sync-delay", "0"])
            .args(["--repl-timeout", "2000000000"])
            .args(["--repl-ping-replica-period", "2000000000"])
            .arg("--dir")
            .arg(self.folder.path());
        if let (Some((_, clock)), Some(library)) = (&self.clock, &self.library) {
            command
                .env("LD_PRELOAD", library)
                .env("FAKE_CLOCK_FILE", clock);
        }
        let process = Process::start(&mut command, &self.folder);
        let process =
            process.map_err(|error| format!("redis-server cannot be started: {error}"))?;
        let process = self.process.insert(process);
        let address = store::Address::local(self.port);
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(said) = process.last_words() {
                return Err(format!("redis-server has ended at once: {}", said.trim()));
            }
            if let Ok(mut link) = address.connect().await
                && let Ok(got) = link.ask(Request::Command(vec![b"PING".to_vec()])).await
                && got.print() == "PONG"
            {
                return Ok(());
            }
            if Instant::now() > end {
                return Err("redis-server does not answer".to_owned());
            }
            tokio::time::sleep(MOMENT).await;
        }
    }

    /// Kills it, as a crash would.
    pub async fn kill(&mut self) {
        if let Some(process) = self.process.take() {
            process.kill().await;
        }
    }

    /// Takes away what is on the disk of a server that does not run.
    pub fn forget(&self) -> Result<(), String> {
        let entries = fs::read_dir(self.folder.path()).map_err(|error| error.to_string())?;
        for entry in entries.flatten() {
            let path = entry.path();
            if self.clock.as_ref().is_some_and(|(_, clock)| *clock == path) {
                continue;
            }
            let removed = match path.is_dir() {
                true => fs::remove_dir_all(&path),
                false => fs::remove_file(&path),
            };
            removed.map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(())
    }
}

#[cfg(unix)]
fn write_at_start(file: &File, bytes: [u8; 8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, &bytes, 0)
}

#[cfg(not(unix))]
fn write_at_start(_: &File, _: [u8; 8]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A MariaDB of the program's own.
#[derive(Debug)]
pub(super) struct MariaDb {
    port: u16,
    process: Process,
    // Removed last.
    _folder: Folder,
}

impl MariaDb {
    /// Starts it with an empty data directory, and waits until it answers.
    pub async fn start() -> Result<MariaDb, String> {
        let folder = Folder::new("mariadb")?;
        let data = format!("--datadir={}", folder.path().join("data").display());
        let user = as_root(&folder).then_some("--user=root");
        install(&folder, &data, user).await?;
        let port = spare_port()?;
        let program = program_of(&DATABASES).await.ok_or_else(no_mariadb)?;
        let mut command = Command::new(program);
        command
            .arg("--no-defaults")
            .args(user)
            .args([
                "--innodb-use-native-aio=0",
                "--bind-address=127.0.0.1",
                "--innodb-buffer-pool-size=32M",
                "--innodb-flush-log-at-trx-commit=0",
                "--innodb-doublewrite=0",
                "--character-set-server=utf8mb4",
                "--collation-server=utf8mb4_general_ci",
                "--skip-log-bin",
                &data,
                &format!("--port={port}"),
            ])
            .arg(format!(
                "--socket={}",
                folder.path().join("socket").display()
            ));
        let process = Process::start(&mut command, &folder);
        let mut process =
            process.map_err(|error| format!("mariadbd cannot be started: {error}"))?;
        let address = database::Address::read(&url(port), false)?;
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(said) = process.last_words() {
                return Err(format!("mariadbd has ended at once: {}", said.trim()));
            }
            match address.connect().await {
                Ok(link) => {
                    link.close().await;
                    break;
                }
                Err(error) if Instant::now() > end => return Err(error),
                Err(_) => tokio::time::sleep(MOMENT).await,
            }
        }
        Ok(MariaDb {
            port,
            process,
            _folder: folder,
        })
    }

    /// Where it is, without a database.
    pub fn url(&self) -> String {
        url(self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its process's number.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Ends it.
    pub async fn stop(self) {
        self.process.kill().await;
    }
}

fn url(port: u16) -> String {
    format!("mysql://root@127.0.0.1:{port}")
}

fn no_mariadb() -> String {
    "the scenario asks the database, and MariaDB is not installed: --mysql URL is needed, or the programs mariadbd and \
     mariadb-install-db"
        .to_owned()
}

/// Makes the system tables.
async fn install(folder: &Folder, data: &str, user: Option<&str>) -> Result<(), String> {
    let output = Command::new("mariadb-install-db")
        .env("TMPDIR", folder.path())
        .args([
            "--no-defaults",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            "--innodb-use-native-aio=0",
            data,
        ])
        .args(user)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .map_err(|_| no_mariadb())?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said).trim().to_owned();
            Err(format!("mariadb-install-db fails: {said}"))
        }
    }
}

/// The first of these programs that there is.
async fn program_of(names: &[&'static str]) -> Option<&'static str> {
    for name in names {
        let mut command = Command::new(name);
        command.arg("--version").stdin(Stdio::null());
        if command.output().await.is_ok() {
            return Some(name);
        }
    }
    None
}

/// Whether the superuser runs this, as whom MariaDB refuses to run unless it is told to.
#[cfg(unix)]
fn as_root(folder: &Folder) -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(folder.path()).is_ok_and(|metadata| metadata.uid() == 0)
}

#[cfg(not(unix))]
fn as_root(_: &Folder) -> bool {
    false
}
