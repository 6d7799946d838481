//! A Redis whose clock is the real one, on a spare loopback port.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A Redis whose clock is the real one, ended when dropped.
pub struct Redis {
    process: Child,
    /// Where it listens.
    pub port: u16,
}

impl Redis {
    /// Starts a server.
    pub fn start() -> Redis {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let process = Command::new("redis-server")
            .args([
                "--port",
                &port.to_string(),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--appendonly",
                "no",
                // What a primary hands to its replica goes over a file.
                "--dbfilename",
                &format!("latchkey-{port}.rdb"),
                "--dir",
            ])
            .arg(std::env::temp_dir())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let end = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < end, "redis-server does not answer");
            std::thread::sleep(Duration::from_millis(20));
        }
        Redis { process, port }
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let file = format!("latchkey-{}.rdb", self.port);
        let _ = std::fs::remove_file(std::env::temp_dir().join(file));
    }
}
