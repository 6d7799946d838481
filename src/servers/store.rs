//! A connection to Redis, in RESP2 as it goes over the wire ("RESP protocol description", Redis documentation).
//!
//! A client crate would match replies to requests by itself; here every frame counts, also those that nobody has asked for.

use std::net::IpAddr;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc::unbounded_channel;

use super::link::{Got, Link, Request};
use super::prefix::Prefix;
use crate::sim::store::reply::Reply;

/// Where Redis is, and as whom one goes in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    host: String,
    port: u16,
    user: Option<String>,
    password: Option<String>,
    database: u32,
    prefix: Option<Prefix>,
}

impl Address {
    /// Reads `redis://user:password@host:port/database`; everything but the host may be left out.
    pub fn read(url: &str) -> Result<Address, String> {
        let wrong = || {
            format!(
                "`{url}` is no address of a Redis: redis://user:password@host:port/database is expected"
            )
        };
        let rest = url.strip_prefix("redis://").ok_or_else(wrong)?;
        let (place, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (credentials, place) = match place.rsplit_once('@') {
            Some((credentials, place)) => (Some(credentials), place),
            None => (None, place),
        };
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().map_err(|_| wrong())?),
            None => (place, 6379),
        };
        let (user, password) = match credentials.map(|credentials| credentials.split_once(':')) {
            None => (None, None),
            Some(Some((user, password))) => {
                (Some(user).filter(|user| !user.is_empty()), Some(password))
            }
            Some(None) => (None, credentials),
        };
        let database = if database.is_empty() {
            0
        } else {
            database.parse().map_err(|_| wrong())?
        };
        if host.is_empty() {
            return Err(wrong());
        }
        let owned = |text: &str| text.to_owned();
        Ok(Address {
            host: host.trim_matches(['[', ']']).to_owned(),
            port,
            user: user.map(owned),
            password: password.map(owned),
            database,
            prefix: None,
        })
    }

    /// A Redis of this machine.
    pub fn local(port: u16) -> Address {
        Address {
            host: "127.0.0.1".to_owned(),
            port,
            user: None,
            password: None,
            database: 0,
            prefix: None,
        }
    }

    /// Whether both are the same server, by what they are called.
    pub fn is_same_server(&self, other: &Address) -> bool {
        (&self.host, self.port) == (&other.host, other.port)
    }

    /// The same Redis, with a prefix before every key.
    pub fn under(self, prefix: Option<Prefix>) -> Address {
        Address { prefix, ..self }
    }

    fn what(&self) -> String {
        format!("Redis at {}:{}", self.host, self.port)
    }

    /// The address of this machine at which the server can reach it.
    pub async fn reached_from(&self) -> Result<IpAddr, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", self.what());
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await;
        let address = stream.map_err(failed)?.local_addr().map_err(failed)?;
        Ok(address.ip())
    }

    /// Opens a connection on which nobody has asked anything but to be let in.
    pub async fn open(&self) -> Result<(BufReader<OwnedReadHalf>, OwnedWriteHalf), String> {
        let failed = |error: std::io::Error| format!("{}: {error}", self.what());
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await;
        let stream = stream.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        let (reader, mut writer) = stream.into_split();
        let mut reader = BufReader::new(reader);
        let Some(password) = &self.password else {
            return Ok((reader, writer));
        };
        let words = [Some("AUTH"), self.user.as_deref(), Some(password)];
        let argv: Vec<Vec<u8>> = words
            .into_iter()
            .flatten()
            .map(|word| word.as_bytes().to_vec())
            .collect();
        writer.write_all(&packed(&argv)).await.map_err(failed)?;
        match frame(&mut reader).await {
            Ok(Reply::Error(error)) | Err(error) => Err(format!("{}: {error}", self.what())),
            Ok(_) => Ok((reader, writer)),
        }
    }

    /// Opens a connection to the database.
    pub async fn connect(&self) -> Result<Link, String> {
        let (mut reader, mut writer) = self.open().await?;
        let (requests, mut wanted) = unbounded_channel::<Request>();
        let (found, replies) = unbounded_channel();
        let (before_keys, in_replies) = (self.prefix.clone(), self.prefix.clone());
        let bare = move |reply: Reply| match &in_replies {
            Some(prefix) => prefix.reply(reply),
            None => reply,
        };
        let task = tokio::spawn(async move {
            let read = async {
                loop {
                    let got = frame(&mut reader).await;
                    let is_over = got.is_err();
                    if found.send(got.map(&bare).map(Got::Store)).is_err() || is_over {
                        return;
                    }
                }
            };
            let write = async {
                while let Some(request) = wanted.recv().await {
                    let Request::Command(argv) = request else {
                        continue;
                    };
                    let argv = match &before_keys {
                        Some(prefix) => prefix.request(&argv),
                        None => argv,
                    };
                    if writer.write_all(&packed(&argv)).await.is_err() {
                        // What the server has said before it went is read.
                        std::future::pending::<()>().await;
                    }
                }
            };
            tokio::select! { () = read => {}, () = write => {} }
        });
        let mut link = Link {
            requests,
            replies,
            task,
        };
        if self.database != 0 {
            let database = self.database.to_string().into_bytes();
            let select = Request::Command(vec![b"SELECT".to_vec(), database]);
            match link.ask(select).await {
                Ok(Got::Store(Reply::Error(error))) | Err(error) => {
                    return Err(format!("{}: {error}", self.what()));
                }
                Ok(_) => {}
            }
        }
        Ok(link)
    }
}

/// A command as an array of bulk strings.
pub(super) fn packed(argv: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", argv.len()).into_bytes();
    for argument in argv {
        bytes.extend(format!("${}\r\n", argument.len()).into_bytes());
        bytes.extend(argument);
        bytes.extend(b"\r\n");
    }
    bytes
}

/// The next reply.
pub(super) async fn frame(reader: &mut BufReader<OwnedReadHalf>) -> Result<Reply, String> {
    // Arrays that are not complete yet, the outermost first, and how many elements each still lacks.
    let mut open: Vec<(usize, Vec<Reply>)> = Vec::new();
    loop {
        let mut line = Vec::new();
        let count = reader
            .read_until(b'\n', &mut line)
            .await
            .map_err(|error| error.to_string())?;
        if count == 0 || !line.ends_with(b"\r\n") {
            return Err("the connection is closed".to_owned());
        }
        line.truncate(line.len() - 2);
        let (kind, rest) = line.split_first().ok_or("an empty reply")?;
        let text = String::from_utf8_lossy(rest).into_owned();
        let number = || {
            text.parse::<i64>()
                .map_err(|_| format!("`{text}` where a number is expected"))
        };
        let mut reply = match kind {
            b'+' => Reply::Status(text),
            b'-' => Reply::Error(text),
            b':' => Reply::Integer(number()?),
            b'$' => match usize::try_from(number()?) {
                Err(_) => Reply::Nil,
                Ok(length) => {
                    let mut bytes = vec![0; length + 2];
                    reader
                        .read_exact(&mut bytes)
                        .await
                        .map_err(|error| error.to_string())?;
                    bytes.truncate(length);
                    Reply::Bulk(bytes)
                }
            },
            b'*' => match usize::try_from(number()?) {
                Err(_) => Reply::Nil,
                Ok(0) => Reply::Array(Vec::new()),
                Ok(length) => {
                    open.push((length, Vec::new()));
                    continue;
                }
            },
            _ => return Err(format!("a reply that begins with `{}`", char::from(*kind))),
        };
        loop {
            let Some((lacks, mut elements)) = open.pop() else {
                return Ok(reply);
            };
            elements.push(reply);
            if lacks > 1 {
                open.push((lacks - 1, elements));
                break;
            }
            reply = Reply::Array(elements);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let check = |url: &str, expected: Option<&str>| {
            let got = Address::read(url).ok().map(|address| {
                let Address {
                    host,
                    port,
                    user,
                    password,
                    database,
                    ..
                } = address;
                format!(
                    "{host} {port} {} {} {database}",
                    user.unwrap_or_default(),
                    password.unwrap_or_default()
                )
            });
            assert_eq!(got.as_deref(), expected, "{url}");
        };
        check("redis://localhost", Some("localhost 6379   0"));
        check("redis://127.0.0.1:7000/3", Some("127.0.0.1 7000   3"));
        check(
            "redis://me:secret@redis:6380",
            Some("redis 6380 me secret 0"),
        );
        check("redis://:secret@redis/1", Some("redis 6379  secret 1"));
        check("redis://[::1]:6379", Some("::1 6379   0"));
        for wrong in [
            "localhost:6379",
            "rediss://localhost",
            "redis://",
            "redis://localhost:many",
            "redis://localhost/first",
        ] {
            check(wrong, None);
        }
    }
}
