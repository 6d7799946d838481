//! A real redis-server under a clock that the test sets, and a small client for it.
//!
//! The server runs on a spare loopback port with `fakeclock.c` preloaded: its wall clock is the number
//! of milliseconds in a file of eight bytes.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use latchkey::sim::store::reply::Reply;

/// A server that ends with the test.
pub struct Server {
    child: Child,
    folder: PathBuf,
    clock: File,
    /// Where it listens.
    pub port: u16,
}

impl Server {
    /// Starts a server; an error says what is missing, so that the caller can skip its test.
    pub fn start(name: &str) -> Result<Server, String> {
        let folder = std::env::temp_dir().join(format!("latchkey-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let library = folder.join("fakeclock.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/servers/fakeclock.c");
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(&library)
            .args([source, "-ldl"])
            .status()
            .map_err(|error| format!("cc: {error}"))?;
        if !compiled.success() {
            return Err("cc could not compile fakeclock.c".to_owned());
        }
        let clock_path = folder.join("clock");
        fs::write(&clock_path, [0; 8]).map_err(|error| error.to_string())?;
        let clock = File::options()
            .write(true)
            .open(&clock_path)
            .map_err(|error| error.to_string())?;
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .map_err(|error| error.to_string())?
            .port();
        let child = Command::new("redis-server")
            .args([
                "--port",
                &port.to_string(),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--appendonly",
                "no",
            ])
            .args(["--enable-debug-command", "yes", "--dir"])
            .arg(&folder)
            .env("LD_PRELOAD", &library)
            .env("FAKE_CLOCK_FILE", &clock_path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("redis-server: {error}"))?;
        let server = Server {
            child,
            folder,
            clock,
            port,
        };
        server.set_clock(1);
        server.wait_until_ready()?;
        Ok(server)
    }

    fn wait_until_ready(&self) -> Result<(), String> {
        let give_up = Instant::now() + Duration::from_secs(10);
        while Instant::now() < give_up {
            if let Ok(mut client) = self.connect()
                && matches!(client.ask(&["PING"]), Ok(Reply::Status(_)))
            {
                // Keys go when they are looked at, not some time after their deadline.
                client
                    .ask(&["DEBUG", "SET-ACTIVE-EXPIRE", "0"])
                    .map_err(|error| error.to_string())?;
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err("redis-server did not answer within ten seconds".to_owned())
    }

    /// Sets the server's wall clock, in milliseconds since the Unix epoch.
    pub fn set_clock(&self, ms: u64) {
        self.clock.write_all_at(&ms.to_ne_bytes(), 0).unwrap();
    }

    /// What redis-cli prints for these lines on its input, as on a terminal.
    pub fn redis_cli(&self, lines: &str) -> String {
        let mut child = Command::new("redis-cli")
            .args(["-p", &self.port.to_string(), "--no-raw"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let lines = lines.to_owned();
        let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()).unwrap());
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// A connection to a server that holds nothing and has no other connection: what an earlier one
    /// waited for must not be taken from under a later test.
    pub fn connect_alone(&self) -> io::Result<Client> {
        let mut client = self.connect()?;
        for kind in ["normal", "pubsub"] {
            client.ask(&["CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes"])?;
        }
        client.ask(&["FLUSHALL"])?;
        client.ask(&["SCRIPT", "FLUSH"])?;
        Ok(client)
    }

    pub fn connect(&self) -> io::Result<Client> {
        let stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        Ok(Client {
            input: BufReader::new(stream.try_clone()?),
            output: stream,
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// One connection.
pub struct Client {
    input: BufReader<TcpStream>,
    output: TcpStream,
}

impl Client {
    pub fn send<A: AsRef<[u8]>>(&mut self, argv: &[A]) -> io::Result<()> {
        let mut message = format!("*{}\r\n", argv.len()).into_bytes();
        for argument in argv {
            let argument = argument.as_ref();
            message.extend(format!("${}\r\n", argument.len()).into_bytes());
            message.extend(argument);
            message.extend(b"\r\n");
        }
        self.output.write_all(&message)
    }

    /// Reads the next reply, waiting for it up to five seconds.
    pub fn receive(&mut self) -> io::Result<Reply> {
        let mut line = Vec::new();
        self.input.read_until(b'\n', &mut line)?;
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches("\r\n");
        if text.is_empty() {
            return Err(io::Error::other("the server closed the connection"));
        }
        let (kind, rest) = text.split_at(1);
        let number = || rest.parse::<i64>().map_err(io::Error::other);
        Ok(match kind {
            "+" => Reply::Status(rest.to_owned()),
            "-" => Reply::Error(rest.to_owned()),
            ":" => Reply::Integer(number()?),
            "$" => match usize::try_from(number()?) {
                Err(_) => Reply::Nil,
                Ok(length) => {
                    let mut bytes = vec![0; length + 2];
                    self.input.read_exact(&mut bytes)?;
                    bytes.truncate(length);
                    Reply::Bulk(bytes)
                }
            },
            "*" => match usize::try_from(number()?) {
                Err(_) => Reply::Nil,
                Ok(length) => Reply::Array(
                    (0..length)
                        .map(|_| self.receive())
                        .collect::<io::Result<_>>()?,
                ),
            },
            other => return Err(io::Error::other(format!("no reply begins with {other}"))),
        })
    }

    pub fn ask<A: AsRef<[u8]>>(&mut self, argv: &[A]) -> io::Result<Reply> {
        self.send(argv)?;
        self.receive()
    }

    /// The next reply if it has come already.
    pub fn receive_ready(&mut self) -> io::Result<Option<Reply>> {
        if self.input.buffer().is_empty() {
            self.output.set_nonblocking(true)?;
            let ready = match self.input.fill_buf() {
                Ok(bytes) => !bytes.is_empty(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
                Err(error) => return Err(error),
            };
            self.output.set_nonblocking(false)?;
            if !ready {
                return Ok(None);
            }
        }
        self.receive().map(Some)
    }
}
