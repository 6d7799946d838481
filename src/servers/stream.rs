//! The way from a primary to a replica: what the primary writes waits here until the schedule has the replica receive it.
//!
//! ```text
//! primary ──► [SET a][INCR b][DEL a] ──► replica        a gate lets through as many bytes of the primary's stream as it may have
//!         ◄── REPLCONF ACK ◄──                          what comes back says how much the replica has
//! ```
//!
//! A place in the stream is what Redis calls the replication offset ("Redis replication", Redis documentation). Each way begins with a
//! full synchronisation, so that what comes through is known from its first byte.

use std::net::IpAddr;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::store::{Address, frame, packed};
use crate::sim::store::reply::Reply;

/// How long a replica may take to receive what it may have.
const PATIENCE: Duration = Duration::from_secs(20);

/// How far a replica may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    /// It hears nothing.
    Shut,
    /// It hears what was written until this offset.
    Until(u64),
    /// It hears everything at once.
    Open,
}

impl Gate {
    /// How many bytes behind this offset may pass.
    fn lets_through(self, offset: u64) -> u64 {
        match self {
            Gate::Shut => 0,
            Gate::Until(end) => end.saturating_sub(offset),
            Gate::Open => u64::MAX,
        }
    }

    /// Whether a replica may become as the primary was at this offset.
    fn lets_synchronise(self, offset: u64) -> bool {
        match self {
            Gate::Shut => false,
            Gate::Until(end) => offset <= end,
            Gate::Open => true,
        }
    }
}

/// The way to one replica. Dropped, it is cut.
pub(super) struct Stream {
    /// Where the replica finds its primary.
    pub host: IpAddr,
    /// Where the replica finds its primary.
    pub port: u16,
    gate: watch::Sender<Gate>,
    /// Up to which offset the replica has everything; `None`: it has not said so on this way.
    acknowledged: watch::Sender<Option<u64>>,
    /// How often the way was cut.
    cuts: watch::Sender<u64>,
    task: JoinHandle<()>,
}

impl Stream {
    /// A way that is open. `host` is one of this machine's addresses, at which the replica can reach it.
    pub async fn from(primary: Address, host: IpAddr) -> Result<Stream, String> {
        let listener = TcpListener::bind((host, 0)).await;
        let listener = listener.map_err(|error| format!("{host}: {error}"))?;
        let port = listener.local_addr().map_err(|error| error.to_string())?;
        let (gate, watched) = watch::channel(Gate::Open);
        let acknowledged = watch::Sender::new(None);
        let cuts = watch::Sender::new(0);
        let (acknowledges, cut) = (acknowledged.clone(), cuts.subscribe());
        let task = tokio::spawn(async move {
            let mut ways = JoinSet::new();
            while let Ok((replica, _)) = listener.accept().await {
                let way = carry(
                    primary.clone(),
                    replica,
                    watched.clone(),
                    acknowledges.clone(),
                );
                let mut cut = cut.clone();
                cut.mark_unchanged();
                ways.spawn(async move {
                    tokio::select! {
                        biased;
                        _ = cut.changed() => {}
                        _ = way => {}
                    }
                });
            }
        });
        Ok(Stream {
            host,
            port: port.port(),
            gate,
            acknowledged,
            cuts,
            task,
        })
    }

    pub fn set(&self, gate: Gate) {
        self.gate.send_replace(gate);
    }

    /// Ends what goes on here: the primary has crashed, and what it had under way is gone. The replica comes again by itself.
    pub fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
        self.acknowledged.send_replace(None);
    }

    pub fn is_open(&self) -> bool {
        *self.gate.borrow() == Gate::Open
    }

    /// Waits until the replica has said that it has everything until this offset.
    pub async fn reach(&self, offset: u64) -> Result<(), String> {
        let mut acknowledged = self.acknowledged.subscribe();
        let reached = acknowledged.wait_for(|has| has.is_some_and(|has| has >= offset));
        match tokio::time::timeout(PATIENCE, reached).await {
            Ok(Ok(_)) => Ok(()),
            _ => Err(format!(
                "the replica has not received what it may have within {} s",
                PATIENCE.as_secs()
            )),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

type Failed = std::io::Result<()>;

/// Carries one replica's connection, until one side ends it.
async fn carry(
    primary: Address,
    replica: TcpStream,
    gate: watch::Receiver<Gate>,
    acknowledges: watch::Sender<Option<u64>>,
) -> Failed {
    // Nobody has acknowledged anything on this way; an earlier primary's offsets are other numbers.
    acknowledges.send_replace(None);
    replica.set_nodelay(true)?;
    let (from_primary, to_primary) = primary.open().await.map_err(std::io::Error::other)?;
    let (from_replica, to_replica) = replica.into_split();
    tokio::select! {
        ended = upwards(BufReader::new(from_replica), to_primary, acknowledges) => ended,
        ended = downwards(from_primary, to_replica, gate) => ended,
    }
}

/// What the replica says. It always asks for everything from the beginning, as a file whose length is told.
async fn upwards(
    mut from: BufReader<OwnedReadHalf>,
    mut to: OwnedWriteHalf,
    acknowledges: watch::Sender<Option<u64>>,
) -> Failed {
    loop {
        let Reply::Array(words) = frame(&mut from).await.map_err(std::io::Error::other)? else {
            return Err(std::io::Error::other("a replica speaks in commands"));
        };
        let words: Vec<Vec<u8>> = words
            .into_iter()
            .filter_map(|word| match word {
                Reply::Bulk(bytes) => Some(bytes),
                _ => None,
            })
            .collect();
        to.write_all(&packed(&asked(&words))).await?;
        if let [replconf, ack, offset, ..] = words.as_slice()
            && replconf.eq_ignore_ascii_case(b"REPLCONF")
            && ack.eq_ignore_ascii_case(b"ACK")
            && let Ok(offset) = String::from_utf8_lossy(offset).parse()
        {
            acknowledges.send_replace(Some(offset));
        }
    }
}

/// A replica's command as it goes to the primary.
fn asked(words: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let owned = |words: &[&str]| words.iter().map(|word| word.as_bytes().to_vec()).collect();
    match words {
        [name, ..] if name.eq_ignore_ascii_case(b"PSYNC") => owned(&["PSYNC", "?", "-1"]),
        [name, what, ..]
            if name.eq_ignore_ascii_case(b"REPLCONF") && what.eq_ignore_ascii_case(b"capa") =>
        {
            owned(&["REPLCONF", "capa", "psync2"])
        }
        _ => words.to_vec(),
    }
}

/// What the primary says: greetings, the file with everything, and then its stream as far as the gate lets it through.
async fn downwards(
    mut from: BufReader<OwnedReadHalf>,
    mut to: OwnedWriteHalf,
    mut gate: watch::Receiver<Gate>,
) -> Failed {
    let mut offset = loop {
        let line = line(&mut from).await?;
        let text = String::from_utf8_lossy(&line).into_owned();
        let Some(rest) = text.strip_prefix("+FULLRESYNC ") else {
            to.write_all(&line).await?;
            continue;
        };
        let number = rest
            .split_whitespace()
            .nth(1)
            .and_then(|it| it.parse().ok());
        let offset: u64 = number.ok_or_else(|| std::io::Error::other("no offset"))?;
        let may = gate
            .wait_for(|gate| gate.lets_synchronise(offset))
            .await
            .map(|_| ());
        may.map_err(std::io::Error::other)?;
        to.write_all(&line).await?;
        break offset;
    };
    // While it makes the file, a primary sends empty lines.
    let length = loop {
        let line = line(&mut from).await?;
        to.write_all(&line).await?;
        let text = String::from_utf8_lossy(&line).into_owned();
        if let Some(length) = text.strip_prefix('$') {
            break length
                .trim()
                .parse::<u64>()
                .map_err(std::io::Error::other)?;
        }
    };
    tokio::io::copy(&mut (&mut from).take(length), &mut to).await?;
    loop {
        let chunk = from.fill_buf().await?;
        if chunk.is_empty() {
            return Ok(());
        }
        let (mut written, length) = (0, chunk.len());
        while written < length {
            let passes = gate.borrow_and_update().lets_through(offset);
            let passes = usize::try_from(passes)
                .unwrap_or(usize::MAX)
                .min(length - written);
            if passes == 0 {
                gate.changed().await.map_err(std::io::Error::other)?;
                continue;
            }
            to.write_all(&chunk[written..written + passes]).await?;
            written += passes;
            offset += passes as u64;
        }
        from.consume(length);
    }
}

/// A line with its end.
async fn line(from: &mut BufReader<OwnedReadHalf>) -> std::io::Result<Vec<u8>> {
    let mut line = Vec::new();
    match from.read_until(b'\n', &mut line).await? {
        0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(line),
    }
}
