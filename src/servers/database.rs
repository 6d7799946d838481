//! A connection to MySQL or MariaDB, with the session as the playground has it.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error, Opts, OptsBuilder, Row, Value};
use tokio::sync::mpsc::unbounded_channel;

use super::link::{Answer, Got, Link, Request};

/// MySQL 8's own modes, UTC, and letters as the playground compares them.
const SESSION: [&str; 2] = [
    "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci",
    "SET SESSION time_zone = '+00:00', SESSION sql_mode = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,\
     ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
];

/// Where the database is.
#[derive(Clone, Debug)]
pub(super) struct Address {
    options: Opts,
}

impl Address {
    /// Reads `mysql://user:password@host:port/database`.
    pub fn read(url: &str, found_rows: bool) -> Result<Address, String> {
        let options = Opts::from_url(url)
            .map_err(|error| format!("`{url}` is no address of a MySQL: {error}"))?;
        let builder = OptsBuilder::from_opts(options)
            .client_found_rows(found_rows)
            .prefer_socket(false)
            .init(SESSION.to_vec());
        Ok(Address {
            options: builder.into(),
        })
    }

    /// The database that the address names.
    pub fn database(&self) -> Option<&str> {
        self.options.db_name().filter(|name| !name.is_empty())
    }

    /// The same server, and this database.
    pub fn with_database(&self, name: &str) -> Address {
        let builder = OptsBuilder::from_opts(self.options.clone()).db_name(Some(name));
        Address {
            options: builder.into(),
        }
    }

    /// Opens a connection.
    pub async fn connect(&self) -> Result<Link, String> {
        let what = format!(
            "MySQL at {}:{}",
            self.options.ip_or_hostname(),
            self.options.tcp_port()
        );
        let mut connection = Conn::new(self.options.clone())
            .await
            .map_err(|error| format!("{what}: {error}"))?;
        let (requests, mut wanted) = unbounded_channel::<Request>();
        let (found, replies) = unbounded_channel();
        let task = tokio::spawn(async move {
            while let Some(request) = wanted.recv().await {
                let Request::Statement(sql) = request else {
                    continue;
                };
                let got = answer(&mut connection, &sql).await;
                let is_over = got.is_err();
                if found.send(got.map(Got::Database)).is_err() || is_over {
                    break;
                }
            }
            let _ = connection.disconnect().await;
        });
        Ok(Link {
            requests,
            replies,
            task,
        })
    }
}

/// The server's answer to a statement; an error when the connection is gone.
async fn answer(connection: &mut Conn, sql: &str) -> Result<Answer, String> {
    let mut result = match connection.query_iter(sql).await {
        Ok(result) => result,
        Err(error) => return failed(error),
    };
    if result.columns_ref().is_empty() {
        let affected = result.affected_rows();
        return match result.drop_result().await {
            Ok(()) => Ok(Answer::Affected(affected)),
            Err(error) => failed(error),
        };
    }
    match result.collect::<Row>().await {
        Ok(rows) => Ok(Answer::Rows(rows.into_iter().map(values).collect())),
        Err(error) => failed(error),
    }
}

fn failed(error: Error) -> Result<Answer, String> {
    match error {
        Error::Server(error) => Ok(Answer::Error {
            code: error.code,
            text: format!("ERROR {} ({}): {}", error.code, error.state, error.message),
        }),
        error => Err(error.to_string()),
    }
}

/// A row as the text protocol has it: everything is text.
fn values(row: Row) -> Vec<Option<String>> {
    let text = |value: Value| match value {
        Value::NULL => None,
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        other => Some(other.as_sql(true)),
    };
    row.unwrap().into_iter().map(text).collect()
}
