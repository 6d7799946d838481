//! The WebDriver protocol, as much of it as a test needs: JSON over HTTP to a driver on this machine.
//!
//! Written out rather than taken from a crate: the crates that speak it bring an async runtime and a
//! TLS stack, and this is one request, one answer, always to the loopback address.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// The name under which an element's reference stands in an answer, fixed by the standard.
pub const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// No single answer takes longer than this, or the driver hangs.
const LONGEST_ANSWER: Duration = Duration::from_secs(60);

/// One browser session of a driver.
pub struct Session {
    port: u16,
    path: String,
}

impl Session {
    /// Starts a browser with the given capabilities.
    pub fn start(port: u16, capabilities: &Value) -> Self {
        let answer = request(
            port,
            "POST",
            "/session",
            &json!({ "capabilities": { "alwaysMatch": capabilities } }),
        )
        .unwrap_or_else(|error| panic!("the browser did not start: {error}"));
        let id = answer["sessionId"].as_str().expect("a session has an id");
        Self {
            port,
            path: format!("/session/{id}"),
        }
    }

    /// Sends a command and gives its value, or the driver's error in words.
    pub fn post(&self, command: &str, body: &Value) -> Result<Value, String> {
        request(self.port, "POST", &format!("{}/{command}", self.path), body)
    }

    /// Takes something away.
    pub fn delete(&self, command: &str) -> Result<Value, String> {
        request(
            self.port,
            "DELETE",
            &format!("{}/{command}", self.path),
            &Value::Null,
        )
    }

    /// Asks for a value.
    pub fn get(&self, command: &str) -> Result<Value, String> {
        request(
            self.port,
            "GET",
            &format!("{}/{command}", self.path),
            &Value::Null,
        )
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Nothing to be done about a browser that is gone already.
        let _ = request(self.port, "DELETE", &self.path, &Value::Null);
    }
}

fn request(port: u16, method: &str, path: &str, body: &Value) -> Result<Value, String> {
    let broken =
        |error: std::io::Error| format!("{method} {path}: no answer from the driver: {error}");
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let mut stream = TcpStream::connect(("127.0.0.1", port)).map_err(broken)?;
    stream
        .set_read_timeout(Some(LONGEST_ANSWER))
        .map_err(broken)?;
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .map_err(broken)?;
    let answer = read_answer(BufReader::new(stream)).map_err(broken)?;
    let mut answer: Value = serde_json::from_slice(&answer)
        .map_err(|error| format!("{method} {path}: the driver's answer is not JSON: {error}"))?;
    let value = answer["value"].take();
    match value["error"].as_str() {
        Some(kind) => {
            let message = value["message"].as_str().unwrap_or_default();
            Err(format!(
                "{kind}: {}",
                message.lines().next().unwrap_or_default()
            ))
        }
        None => Ok(value),
    }
}

/// The body of an HTTP answer, whose length its head gives.
fn read_answer(mut stream: BufReader<TcpStream>) -> std::io::Result<Vec<u8>> {
    let mut length = 0;
    let mut line = String::new();
    loop {
        line.clear();
        stream.read_line(&mut line)?;
        let header = line.trim_end();
        if header.is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().map_err(std::io::Error::other)?;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(body)
}
