//! A real MariaDB for tests: starts one in a directory of its own and speaks its text protocol
//! ("Client/Server Protocol", MariaDB documentation), as far as queries need it. A client crate
//! would bring more dependencies than this has lines.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Where Debian has the server, besides the search path.
const SERVERS: [&str; 3] = ["mariadbd", "/usr/sbin/mariadbd", "/usr/local/sbin/mariadbd"];
/// MySQL 8's own modes.
const SQL_MODE: &str = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,\
                        ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";

/// The kernel's queues for it are few and shared by the whole machine; servers that start side by side find none left.
const NO_NATIVE_AIO: &str = "--innodb-use-native-aio=0";
/// What the server says while it starts and runs.
const LOG: &str = "log";
/// How the directory of every server is named, up to the name of the test.
const DIRECTORY: &str = "latchkey-mariadb-";

/// A running server, ended when dropped.
pub struct Server {
    process: Child,
    directory: PathBuf,
    port: u16,
}

/// What the server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Rows(Vec<Vec<Option<String>>>),
    Done {
        affected: u64,
        last_insert_id: u64,
        warnings: u16,
        information: String,
    },
    Error {
        code: u16,
        sqlstate: String,
        message: String,
    },
}

/// A directory in memory, or else among the temporary files; what servers that were killed have left there goes.
fn new_directory(name: &str) -> Result<PathBuf, String> {
    let memory = PathBuf::from("/dev/shm");
    let base = if memory.is_dir() {
        memory
    } else {
        std::env::temp_dir()
    };
    remove_what_is_left(&base);
    let directory = base.join(format!("{DIRECTORY}{name}-{}", std::process::id()));
    std::fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
    Ok(directory)
}

/// Removes the directories of processes that run no more; their number is the name's last word.
fn remove_what_is_left(base: &Path) {
    if !Path::new("/proc/self").exists() {
        return;
    }
    for entry in std::fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name
            .strip_prefix(DIRECTORY)
            .and_then(|it| it.rsplit_once('-'));
        if process.is_some_and(|(_, id)| !Path::new("/proc").join(id).exists()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn log(directory: &Path) -> Result<std::fs::File, String> {
    std::fs::File::create(directory.join(LOG)).map_err(|error| error.to_string())
}

/// Makes the system tables.
fn install(directory: &Path, data: &str) -> Result<(), String> {
    let output = Command::new("mariadb-install-db")
        .env("TMPDIR", directory)
        .args([
            "--no-defaults",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            "--user=root",
            NO_NATIVE_AIO,
            data,
        ])
        .output()
        .map_err(|_| "mariadb-install-db is not installed")?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(String::from_utf8_lossy(&said).into_owned())
}

impl Server {
    /// Starts a server, or says why there is none.
    pub fn start(name: &str) -> Result<Server, String> {
        let program = SERVERS
            .iter()
            .find(|program| Command::new(program).arg("--version").output().is_ok())
            .ok_or("mariadbd is not installed")?;
        let directory = new_directory(name)?;
        let data = format!("--datadir={}", directory.join("data").display());
        install(&directory, &data)?;
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
        let port = listener
            .local_addr()
            .map_err(|error| error.to_string())?
            .port();
        drop(listener);
        let socket = directory.join("socket");
        let process = Command::new(program)
            .args([
                "--no-defaults",
                "--user=root",
                NO_NATIVE_AIO,
                "--bind-address=127.0.0.1",
                "--innodb-buffer-pool-size=32M",
                "--innodb-flush-log-at-trx-commit=0",
                "--innodb-doublewrite=0",
                "--innodb-stats-persistent=0",
                "--innodb-purge-rseg-truncate-frequency=1",
                "--character-set-server=utf8mb4",
                "--collation-server=utf8mb4_general_ci",
                "--skip-log-bin",
                "--default-time-zone=+00:00",
                &data,
                &format!("--port={port}"),
                &format!("--socket={}", socket.display()),
                &format!("--sql-mode={SQL_MODE}"),
            ])
            .stdout(Stdio::null())
            .stderr(log(&directory)?)
            .spawn()
            .map_err(|error| error.to_string())?;
        let mut server = Server {
            process,
            directory,
            port,
        };
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            match server.connect_to("", false) {
                Ok(mut client) => {
                    client
                        .ask("CREATE DATABASE test")
                        .map_err(|error| error.to_string())?;
                    return Ok(server);
                }
                Err(error) if Instant::now() > end || server.has_ended() => {
                    let log = std::fs::read_to_string(server.directory.join(LOG));
                    return Err(format!("no answer: {error}\n{}", log.unwrap_or_default()));
                }
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.process.try_wait(), Ok(None))
    }

    /// Where it listens.
    #[allow(dead_code)]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A connection to the database `test`.
    pub fn connect(&self, found_rows: bool) -> io::Result<Client> {
        self.connect_to("test", found_rows)
    }

    fn connect_to(&self, database: &str, found_rows: bool) -> io::Result<Client> {
        let stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_nodelay(true)?;
        let mut client = Client {
            stream,
            buffer: Vec::new(),
            sequence: 0,
            heads: Vec::new(),
        };
        client.greet(database, found_rows)?;
        Ok(client)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// One connection.
pub struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
    sequence: u8,
    /// The heads of the columns of the last rows.
    #[allow(dead_code)]
    pub heads: Vec<String>,
}

// Capabilities.
const FOUND_ROWS: u32 = 2;
const WITH_DATABASE: u32 = 8;
const BASE: u32 = 1 | 4 | 0x200 | 0x2000 | 0x8000 | 0x8_0000;

impl Client {
    fn greet(&mut self, database: &str, found_rows: bool) -> io::Result<()> {
        self.stream
            .set_read_timeout(Some(Duration::from_secs(10)))?;
        self.packet()?;
        let mut capabilities = BASE;
        capabilities |= if found_rows { FOUND_ROWS } else { 0 };
        capabilities |= if database.is_empty() {
            0
        } else {
            WITH_DATABASE
        };
        let mut reply = Vec::new();
        reply.extend(capabilities.to_le_bytes());
        reply.extend((1_u32 << 24).to_le_bytes());
        reply.push(45);
        reply.extend([0; 23]);
        reply.extend(b"root\0\0");
        if !database.is_empty() {
            reply.extend(database.as_bytes());
            reply.push(0);
        }
        reply.extend(b"mysql_native_password\0");
        self.send(&reply)?;
        let answer = self.packet()?;
        if answer.first() == Some(&0xFE) {
            self.send(&[])?;
            self.packet()?;
        }
        Ok(())
    }

    fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        let mut packet = (payload.len() as u32).to_le_bytes()[..3].to_vec();
        packet.push(self.sequence);
        packet.extend(payload);
        self.sequence = self.sequence.wrapping_add(1);
        self.stream.write_all(&packet)
    }

    /// The next packet; what has come so far is kept when the time is over.
    fn packet(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(head) = self.buffer.get(..4) {
                let length =
                    usize::from(head[0]) | usize::from(head[1]) << 8 | usize::from(head[2]) << 16;
                let sequence = head[3];
                if self.buffer.len() >= 4 + length {
                    let rest = self.buffer.split_off(4 + length);
                    let packet = std::mem::replace(&mut self.buffer, rest);
                    self.sequence = sequence.wrapping_add(1);
                    return Ok(packet[4..].to_vec());
                }
            }
            let mut chunk = [0; 16_384];
            match self.stream.read(&mut chunk)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => self.buffer.extend(&chunk[..count]),
            }
        }
    }

    /// Sends a statement; [`Client::answer`] waits for its answer.
    pub fn ask_later(&mut self, sql: &str) -> io::Result<()> {
        self.sequence = 0;
        let mut payload = vec![3];
        payload.extend(sql.as_bytes());
        self.send(&payload)
    }

    /// The answer, or none when it has not come in this time.
    pub fn answer(&mut self, time: Duration) -> io::Result<Option<Answer>> {
        self.stream.set_read_timeout(Some(time))?;
        let first = match self.packet() {
            Ok(packet) => packet,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                ) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        self.stream
            .set_read_timeout(Some(Duration::from_secs(10)))?;
        let mut at = Cursor(&first);
        match at.byte() {
            0x00 => {
                let affected = at.number().unwrap_or(0);
                let last_insert_id = at.number().unwrap_or(0);
                at.byte();
                at.byte();
                let warnings = u16::from(at.byte()) | u16::from(at.byte()) << 8;
                let information = at.text().unwrap_or_default();
                Ok(Some(Answer::Done {
                    affected,
                    last_insert_id,
                    warnings,
                    information,
                }))
            }
            0xFF => {
                let code = u16::from(at.byte()) | u16::from(at.byte()) << 8;
                let text = String::from_utf8_lossy(at.0).into_owned();
                let (sqlstate, message) = text.trim_start_matches('#').split_at(5);
                Ok(Some(Answer::Error {
                    code,
                    sqlstate: sqlstate.into(),
                    message: message.into(),
                }))
            }
            columns => {
                self.heads.clear();
                for _ in 0..columns {
                    let packet = self.packet()?;
                    let mut at = Cursor(&packet);
                    // Behind catalogue, database, and the table's two names.
                    let head = (0..5).filter_map(|_| at.text()).last();
                    self.heads.push(head.unwrap_or_default());
                }
                self.packet()?;
                let mut rows = Vec::new();
                loop {
                    let packet = self.packet()?;
                    if packet.first() == Some(&0xFE) && packet.len() < 9 {
                        return Ok(Some(Answer::Rows(rows)));
                    }
                    if packet.first() == Some(&0xFF) {
                        let text = String::from_utf8_lossy(&packet[3..]).into_owned();
                        let code = u16::from(packet[1]) | u16::from(packet[2]) << 8;
                        let (sqlstate, message) = text.trim_start_matches('#').split_at(5);
                        return Ok(Some(Answer::Error {
                            code,
                            sqlstate: sqlstate.into(),
                            message: message.into(),
                        }));
                    }
                    let mut at = Cursor(&packet);
                    rows.push((0..columns).map(|_| at.text()).collect());
                }
            }
        }
    }

    /// Sends a statement and waits for its answer.
    pub fn ask(&mut self, sql: &str) -> io::Result<Answer> {
        self.ask_later(sql)?;
        self.answer(Duration::from_secs(20))?
            .ok_or_else(|| io::ErrorKind::TimedOut.into())
    }
}

/// Reads a packet from its start.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    /// A number of variable length; none for NULL.
    fn number(&mut self) -> Option<u64> {
        let bytes = match self.byte() {
            0xFB => return None,
            0xFC => 2,
            0xFD => 3,
            0xFE => 8,
            small => return Some(small.into()),
        };
        Some((0..bytes).fold(0, |number, byte| {
            number | u64::from(self.byte()) << (8 * byte)
        }))
    }

    /// A string with its length before it; none for NULL.
    fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.number()?)
            .unwrap_or(0)
            .min(self.0.len());
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(String::from_utf8_lossy(text).into_owned())
    }
}
