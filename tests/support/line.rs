//! The line between a replica and its primary: a proxy on a loopback port that the test can hold up, so that the replica lags, and cut,
//! so that what it has not received is lost.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// How long a thread sleeps before it looks again.
const MOMENT: Duration = Duration::from_millis(1);

/// A line that is up until it is dropped.
pub struct Line {
    /// Where the replica finds its primary.
    pub port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// Whether nothing comes through from the primary.
    is_held: AtomicBool,
    is_cut: AtomicBool,
    streams: Mutex<Vec<TcpStream>>,
}

impl Line {
    /// A line to the server that listens on this port.
    pub fn to(primary: u16) -> io::Result<Line> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        listener.set_nonblocking(true)?;
        let state = Arc::new(State::default());
        let accepting = state.clone();
        thread::spawn(move || {
            while !accepting.is_cut.load(Ordering::SeqCst) {
                match listener.accept() {
                    Ok((replica, _)) => drop(connect(replica, primary, &accepting)),
                    Err(_) => thread::sleep(MOMENT),
                }
            }
        });
        Ok(Line { port, state })
    }

    /// Holds back what the primary sends, or lets it through.
    pub fn hold(&self, is_held: bool) {
        self.state.is_held.store(is_held, Ordering::SeqCst);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.state.is_cut.store(true, Ordering::SeqCst);
        for stream in self.state.streams.lock().unwrap().iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn connect(replica: TcpStream, primary: u16, state: &Arc<State>) -> io::Result<()> {
    replica.set_nonblocking(false)?;
    let primary = TcpStream::connect(("127.0.0.1", primary))?;
    for stream in [&replica, &primary] {
        stream.set_nodelay(true)?;
        state.streams.lock().unwrap().push(stream.try_clone()?);
    }
    let (from_replica, to_primary) = (replica.try_clone()?, primary.try_clone()?);
    thread::spawn(move || copy(from_replica, to_primary, || false));
    let state = state.clone();
    let is_held =
        move || state.is_held.load(Ordering::SeqCst) && !state.is_cut.load(Ordering::SeqCst);
    thread::spawn(move || copy(primary, replica, is_held));
    Ok(())
}

/// Copies until one side ends. While it is held, what has been read waits.
fn copy(mut from: TcpStream, mut to: TcpStream, is_held: impl Fn() -> bool) {
    let mut buffer = [0; 1 << 14];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        while is_held() {
            thread::sleep(MOMENT);
        }
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
