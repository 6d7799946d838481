//! Serves the built page on a spare loopback port, from a folder deep inside the server, because a
//! page that only works from the root of a server is broken for most who would publish it.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// A running file server; it ends with the program, or when it is told to.
pub struct FileServer {
    address: String,
    is_closed: Arc<AtomicBool>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl FileServer {
    /// Serves `folder` under `prefix`, which begins and ends with a slash.
    pub fn start(folder: &Path, prefix: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a spare loopback port");
        let port = listener.local_addr().expect("a bound port").port();
        let folder = folder.to_owned();
        let is_closed = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&is_closed);
        let asked = Arc::new(Mutex::new(Vec::new()));
        let paths = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let paths = Arc::clone(&paths);
                let folder = folder.clone();
                // A browser that goes away in the middle of an answer is not this test's concern.
                thread::spawn(move || {
                    let _ = answer(stream, &folder, prefix, &paths);
                });
            }
        });
        Self {
            address: format!("http://127.0.0.1:{port}{prefix}"),
            is_closed,
            asked,
        }
    }

    /// What anybody has asked for up to now, the page or its service worker.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no answer panics").clone()
    }

    /// Answers nobody any more: whoever asks is refused.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        // The one that waits for the next caller sees the mark only when somebody calls.
        let host = self.address.split('/').nth(2).unwrap_or_default();
        let _ = TcpStream::connect(host);
    }

    /// The page's address, ending in a slash.
    pub fn address(&self) -> &str {
        &self.address
    }
}

fn answer(
    mut stream: TcpStream,
    folder: &Path,
    prefix: &str,
    paths: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    while lines
        .next()
        .transpose()?
        .is_some_and(|line| !line.is_empty())
    {}
    let path = request.split(' ').nth(1).unwrap_or_default();
    if let Ok(mut paths) = paths.lock() {
        paths.push(path.to_owned());
    }
    let found =
        file_for(path, folder, prefix).and_then(|file| Some((std::fs::read(&file).ok()?, file)));
    match found {
        Some((body, file)) => {
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                content_type(&file),
                body.len()
            );
            stream.write_all(head.as_bytes())?;
            stream.write_all(&body)
        }
        None => stream
            .write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
    }
}

/// The file that a request's path names, when it stays inside the folder.
fn file_for(path: &str, folder: &Path, prefix: &str) -> Option<PathBuf> {
    let name = path.split(['?', '#']).next()?.strip_prefix(prefix)?;
    let name = if name.is_empty() { "index.html" } else { name };
    let inside = Path::new(name)
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    inside.then(|| folder.join(name))
}

fn content_type(file: &Path) -> &'static str {
    match file.extension().and_then(|end| end.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("wasm") => "application/wasm",
        Some("json" | "webmanifest") => "application/json",
        _ => "application/octet-stream",
    }
}
