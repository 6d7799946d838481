%title
%header

%if votes
use std::collections::BTreeMap;
%end
%if looks !votes
use std::collections::BTreeMap;
%end
%if servers
use std::env;
%end
%if routines
use std::future::Future;
%end
%if guards
use std::sync::{Arc, Mutex, MutexGuard};
%end
%if !guards
use std::sync::{Arc, Mutex};
%end
use std::time::Duration;

%if database
use mysql_async::prelude::Queryable;
%if parameters
use mysql_async::{Conn, OptsBuilder, Params, params};
%end
%if !parameters
use mysql_async::{Conn, OptsBuilder, Params};
%end
%end
%if store
use redis::aio::MultiplexedConnection;
use redis::{Cmd, RedisWrite, ToRedisArgs};
%end
%if latches routines
use tokio::sync::{Notify, mpsc, oneshot};
%end
%if latches !routines
use tokio::sync::Notify;
%end
%if !latches routines
use tokio::sync::{mpsc, oneshot};
%end
%if starts
use tokio::task::JoinHandle;
%end

%if lists
macro_rules! list {
    ($($item:expr),* $(,)?) => {
        Reply::List(vec![$(Reply::from($item)),*])
    };
}

%end
%scripts
%settings
%routines

#[tokio::test]
async fn {{test}}() {
    assert_that_nothing_is_there().await;
    let schedule = tokio::time::timeout(Duration::from_secs(30), schedule());
    let outcome = tokio::spawn(schedule).await;
    clean_up().await;
    match outcome {
        Ok(in_time) => in_time.expect("somebody waits for what never comes"),
        Err(failure) => std::panic::resume_unwind(failure.into_panic()),
    }
}

async fn schedule() {
    let notes = Notes::default();
%if uses_operator
    let mut operator = Client::new("operator", &notes).await;
%end
%if sets_up
    set_up(&mut operator).await;
%end
    %latches
    %parts

    %together
%if !holds

    %seen
    assert_eq!(notes.seen(), expected);
    %end_state
%end
    %claims
}

async fn assert_that_nothing_is_there() {
    let mut operator = Client::new("operator", &Notes::default()).await;
%if keys
%each
    let taken = operator.{{server}}("EXISTS", KEYS).await;
    assert_eq!(taken, 0, "Redis has its keys already");
%end
%end
%if tables
    for table in TABLES {
        let query = format!("SHOW TABLES LIKE '{table}'");
        let taken = operator.ask(rows(query, ())).await;
        assert_eq!(taken, list![], "the database has {table} already");
    }
%end
    operator.close().await;
}

%if sets_up
async fn set_up(operator: &mut Client) {
%if statements
    for statement in STATEMENTS {
        let reply = operator.ask(update(*statement, ())).await;
        assert!(!matches!(reply, Reply::Error(_)), "{statement}: {reply:?}");
    }
%end
    %commands
}

%end
/// Takes away what the test has made.
async fn clean_up() {
    let mut operator = Client::new("operator", &Notes::default()).await;
%if tables
    for table in TABLES {
        let drop = format!("DROP TABLE IF EXISTS `{table}`");
        operator.ask(update(drop, ())).await;
    }
%end
%if keys
%each
    operator.{{server}}("DEL", KEYS).await;
%end
%end
    operator.close().await;
}

/// What is sent to a server.
enum Request {
%if store !several
    Redis(Cmd),
%end
%if store several
    Redis(usize, Cmd),
%end
%if database
    Update(String, Params),
    Query(String, Params, fn(Vec<Reply>) -> Reply),
%end
%if gateway
    Charge(String, i64, Option<String>),
%end
%if refunds
    Refund(String),
%end
%if listens
    Subscribe(&'static str, String),
%end
%if awaits
    Message(String),
%end
%if looks
    Look(String),
%end
%if votes
    Quorum(i64, String, i64, i64),
%end
}
%if store !several

fn command(name: &str, arguments: impl ToRedisArgs) -> Request {
    Request::Redis(redis::cmd(name).arg(arguments).to_owned())
}
%end
%if store several
%each

fn {{server}}(name: &str, arguments: impl ToRedisArgs) -> Request {
    Request::Redis({{place}}, redis::cmd(name).arg(arguments).to_owned())
}
%end
%end
%if digests

/// By what EVALSHA knows a script.
fn sha1_of(script: &str) -> String {
    redis::Script::new(script).get_hash().to_owned()
}
%end
%if database

/// A statement whose affected rows count.
fn update(statement: impl Into<String>, values: impl Into<Params>) -> Request {
    Request::Update(statement.into(), values.into())
}

fn rows(query: impl Into<String>, values: impl Into<Params>) -> Request {
    Request::Query(query.into(), values.into(), Reply::List)
}
%end
%if database single_rows

/// The first row; nil where there is none.
fn row(query: impl Into<String>, values: impl Into<Params>) -> Request {
    Request::Query(query.into(), values.into(), |rows| first(Reply::List(rows)))
}
%end
%if database one_row

fn first(list: Reply) -> Reply {
    match list {
        Reply::List(items) => items.into_iter().next().unwrap_or(Reply::Nil),
        _ => Reply::Nil,
    }
}
%end
%if database values

/// The first value of the first row; nil where there is none.
fn value(query: impl Into<String>, values: impl Into<Params>) -> Request {
    Request::Query(query.into(), values.into(), |rows| {
        first(first(Reply::List(rows)))
    })
}
%end
%if charges

fn charge(order: impl Into<String>, amount: i64) -> Request {
    Request::Charge(order.into(), amount, None)
}
%end
%if charges_once

/// A charge that is not made again where the key is known.
fn charge_once(order: impl Into<String>, amount: i64, key: impl Into<String>) -> Request {
    Request::Charge(order.into(), amount, Some(key.into()))
}
%end
%if refunds

fn refund(name: impl Into<String>) -> Request {
    Request::Refund(name.into())
}
%end

%if subscribes
/// Begins to listen to a channel.
fn subscribe(channel: impl Into<String>) -> Request {
    Request::Subscribe("subscribe", channel.into())
}

%end
%if unsubscribes
/// Listens to a channel no longer.
fn unsubscribe(channel: impl Into<String>) -> Request {
    Request::Subscribe("unsubscribe", channel.into())
}

%end
%if awaits
/// The next message of a channel: one that has come, or the next to come.
fn message(channel: impl Into<String>) -> Request {
    Request::Message(channel.into())
}

%end
%if looks
/// Whether the client may still count on a lock, by its own clock.
fn look(lock: impl Into<String>) -> Request {
    Request::Look(lock.into())
}

%end
%if votes
/// What is left of a lease for which so many servers have voted.
fn quorum(votes: i64, lock: impl Into<String>, lease: i64, drift: i64) -> Request {
    Request::Quorum(votes, lock.into(), lease, drift)
}

%end
/// What a server answers; an error by the word or the number that names it.
#[derive(Clone, Debug)]
enum Reply {
    Nil,
    Integer(i64),
    Text(String),
    List(Vec<Reply>),
    Error(String),
%if no_reply
    /// There is none: the client has waited in vain.
    Lost,
%end
%if loose
    /// In what a test expects: a number within a second of this one.
    Near(i64),
%end
}
%if numbers

impl Reply {
    fn number(&self) -> i64 {
        match self {
            Reply::Integer(number) => *number,
            Reply::Text(digits) => digits.parse().expect("a number"),
            other => panic!("{other:?} is no number"),
        }
    }
}
%end

impl PartialEq for Reply {
    fn eq(&self, other: &Reply) -> bool {
        match (self, other) {
            (Reply::Nil, Reply::Nil) => true,
            (Reply::Integer(one), Reply::Integer(other)) => one == other,
            (Reply::Text(one), Reply::Text(other)) => one == other,
            (Reply::List(one), Reply::List(other)) => one == other,
            (Reply::Error(one), Reply::Error(other)) => one == other,
%if no_reply
            (Reply::Lost, Reply::Lost) => true,
%end
%if loose
            (Reply::Integer(one), Reply::Near(other)) => one.abs_diff(*other) <= 1000,
%end
            _ => false,
        }
    }
}

impl PartialEq<i64> for Reply {
    fn eq(&self, other: &i64) -> bool {
        *self == Reply::Integer(*other)
    }
}

impl PartialEq<&str> for Reply {
    fn eq(&self, other: &&str) -> bool {
        *self == Reply::from(*other)
    }
}

impl From<i64> for Reply {
    fn from(number: i64) -> Reply {
        Reply::Integer(number)
    }
}

impl From<&str> for Reply {
    fn from(text: &str) -> Reply {
        Reply::Text(text.to_owned())
    }
}

impl From<&Reply> for String {
    fn from(reply: &Reply) -> String {
        match reply {
            Reply::Integer(number) => number.to_string(),
            Reply::Text(text) => text.clone(),
            other => panic!("{other:?} is no text"),
        }
    }
}
%if store

impl From<redis::Value> for Reply {
    fn from(value: redis::Value) -> Reply {
        match value {
            redis::Value::Nil => Reply::Nil,
            redis::Value::Int(number) => Reply::Integer(number),
            redis::Value::BulkString(bytes) => Reply::Text(String::from_utf8_lossy(&bytes).into()),
            redis::Value::SimpleString(word) => Reply::Text(word),
            redis::Value::Okay => Reply::from("OK"),
            redis::Value::Array(items) => Reply::List(items.into_iter().map(Reply::from).collect()),
            other => panic!("{other:?} is not expected"),
        }
    }
}

impl From<redis::RedisError> for Reply {
    fn from(error: redis::RedisError) -> Reply {
        match error.code() {
            Some(code) => Reply::Error(code.to_owned()),
            None => panic!("{error}"),
        }
    }
}

impl ToRedisArgs for Reply {
    fn write_redis_args<W: ?Sized + RedisWrite>(&self, out: &mut W) {
        String::from(self).write_redis_args(out)
    }
}
%end
%if database

impl From<mysql_async::Row> for Reply {
    fn from(row: mysql_async::Row) -> Reply {
        let columns = row.columns();
        let values = columns.iter().zip(row.unwrap());
        Reply::List(values.map(|(column, value)| cell(column, value)).collect())
    }
}

/// A value of the database: a whole number as one, anything else as its text.
fn cell(column: &mysql_async::Column, value: mysql_async::Value) -> Reply {
    let text = match value {
        mysql_async::Value::NULL => return Reply::Nil,
        mysql_async::Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        other => other.as_sql(false).trim_matches('\'').to_owned(),
    };
    let kind = column.column_type();
    match text.parse() {
        Ok(number) if kind.is_numeric_type() && !is_decimal(kind) => Reply::Integer(number),
        _ => Reply::Text(text),
    }
}

fn is_decimal(kind: mysql_async::consts::ColumnType) -> bool {
    kind == mysql_async::consts::ColumnType::MYSQL_TYPE_NEWDECIMAL
}

impl From<mysql_async::Error> for Reply {
    fn from(error: mysql_async::Error) -> Reply {
        match error {
            mysql_async::Error::Server(error) => Reply::Error(format!("ERROR {}", error.code)),
            other => panic!("{other}"),
        }
    }
}

impl From<&Reply> for mysql_async::Value {
    fn from(reply: &Reply) -> mysql_async::Value {
        match reply {
            Reply::Integer(number) => (*number).into(),
            Reply::Text(text) => text.into(),
            _ => mysql_async::Value::NULL,
        }
    }
}
%end
%if gateway

/// One charge to a card.
#[derive(Clone, Debug, PartialEq)]
struct Charge {
    order: String,
    amount: i64,
    refunded: bool,
}

/// A card gateway in memory; with a key that it knows it does not charge again.
#[derive(Default)]
struct Gateway {
    charges: Vec<Charge>,
    names: Vec<(String, String)>,
}

impl Gateway {
    /// Charges a card, and gives the charge's name.
    fn charge(&mut self, order: String, amount: i64, key: Option<String>) -> Reply {
        let known = |(known, _): &&(String, String)| Some(known) == key.as_ref();
        if let Some((_, name)) = self.names.iter().find(known) {
            return Reply::from(name.as_str());
        }
        self.charges.push(Charge {
            order,
            amount,
            refunded: false,
        });
        let name = format!("ch-{}", self.charges.len());
        self.names.extend(key.map(|key| (key, name.clone())));
        Reply::Text(name)
    }
%if refunds

    /// Gives a charge back, by its name or by that of its order.
    fn refund(&mut self, name: &str) -> Reply {
        for (place, charge) in self.charges.iter_mut().enumerate().rev() {
            let is_meant = charge.order == name || format!("ch-{}", place + 1) == name;
            if is_meant && !charge.refunded {
                charge.refunded = true;
                return Reply::from("OK");
            }
        }
        Reply::Error("ERR".to_owned())
    }
%end
}
%if !holds

fn kept(order: &str, amount: i64) -> Charge {
    Charge {
        order: order.to_owned(),
        amount,
        refunded: false,
    }
}
%end
%if refunded !holds

fn refunded(order: &str, amount: i64) -> Charge {
    Charge {
        refunded: true,
        ..kept(order, amount)
    }
}
%end
%end

/// What somebody was told.
#[derive(Clone, Debug, PartialEq)]
struct Saw {
    who: &'static str,
    what: &'static str,
    reply: Reply,
}
%if !holds

fn saw(who: &'static str, what: &'static str, reply: impl Into<Reply>) -> Saw {
    let reply = reply.into();
    Saw { who, what, reply }
}
%end

/// What all of them have noted.
#[derive(Clone, Default)]
struct Notes {
    seen: Arc<Mutex<Vec<Saw>>>,
%if gateway
    gateway: Arc<Mutex<Gateway>>,
%end
%if sells
    sales: Arc<Mutex<Vec<String>>>,
%end
%if left
    left: Arc<Mutex<Vec<Reply>>>,
%end
%if deadlines
    times_to_live: Arc<Mutex<Vec<Reply>>>,
%end
}

impl Notes {
%if reads_seen
    fn seen(&self) -> Vec<Saw> {
        self.seen.lock().unwrap().clone()
    }
%end
%if replies

    /// The replies that a client got to a step.
    fn replies(&self, client: &str, step: &str) -> Vec<Reply> {
        let seen = self.seen().into_iter();
        let of_step = seen.filter(|saw| saw.who == client && saw.what == step);
        of_step.map(|saw| saw.reply).collect()
    }
%end
%if sells

    fn sales(&self) -> Vec<String> {
        self.sales.lock().unwrap().clone()
    }
%end
%if left

    /// Notes whether a key is there.
    fn keeps(&self, left: Reply) {
        self.left.lock().unwrap().push(left);
    }
%end
%if deadlines

    /// Notes how long a key will be there.
    fn keeps_time_to_live(&self, time_to_live: Reply) {
        self.times_to_live.lock().unwrap().push(time_to_live);
    }
%end
%if gateway

    fn gateway(&self) -> MutexGuard<'_, Gateway> {
        self.gateway.lock().unwrap()
    }
%end
%if gateway reads_charges

    fn charges(&self) -> Vec<Charge> {
        self.gateway().charges.clone()
    }
%end
%if gateway paid

    /// The orders that are paid, once for each charge.
    fn paid(&self) -> Vec<String> {
        let charges = self.charges().into_iter();
        let kept = charges.filter(|charge| !charge.refunded);
        kept.map(|charge| charge.order).collect()
    }
%end
}
%if tokens

/// Tokens, which are numbers.
fn numbers(replies: &[Vec<Reply>]) -> Vec<i64> {
    replies.concat().iter().map(Reply::number).collect()
}
%end
%if elements

/// One element of each of these replies.
fn elements(replies: Vec<Reply>, place: usize) -> Vec<Reply> {
    let element = |reply: Reply| match reply {
        Reply::List(items) => items[place].clone(),
        other => panic!("{other:?} is no list"),
    };
    replies.into_iter().map(element).collect()
}
%end
%if indexes

impl std::ops::Index<usize> for Reply {
    type Output = Reply;

    fn index(&self, place: usize) -> &Reply {
        match self {
            Reply::List(items) => &items[place],
            other => panic!("{other:?} is no list"),
        }
    }
}
%end
%if different

fn are_different<T: Ord>(items: &[T]) -> bool {
    let mut sorted: Vec<&T> = items.iter().collect();
    sorted.sort();
    sorted.windows(2).all(|pair| pair[0] != pair[1])
}
%end
%if clock

/// A client's own clock, in milliseconds, and what the client keeps by it.
#[derive(Default)]
struct Clock {
    now: i64,
    sent: i64,
%if looks
    until: BTreeMap<String, i64>,
%end
%if votes
    /// When the first vote for a lock was asked for, and how many have come.
    ballots: BTreeMap<String, (i64, i64)>,
%end
}

impl Clock {
    /// Begins an attempt, which counts on no lock yet.
    fn clear(&mut self) {
%if looks
        self.until.clear();
%end
%if votes
        self.ballots.clear();
%end
    }
%if passes

    /// The schedule says how far it goes.
    fn passes(&mut self, milliseconds: i64) {
        self.now += milliseconds;
    }
%end
%if looks

    /// Counts on a lock for so long, from when the last request was sent.
    fn holds(&mut self, lock: &str, milliseconds: i64) {
        self.until.insert(lock.to_owned(), self.sent + milliseconds);
    }

    /// Whether the time is over for which a lock can be counted on.
    fn look(&self, lock: &str) -> Reply {
        let until = self.until.get(lock);
        let is_held = until.is_some_and(|until| self.now < *until);
        Reply::from(if is_held { "held" } else { "lapsed" })
    }
%end
%if forgets

    /// Counts on a lock no longer.
    fn forgets(&mut self, lock: &str) {
        self.until.remove(lock);
    }
%end
%if votes

    /// The last request was for a vote; the first one of them begins the lease.
    fn asks_for(&mut self, lock: &str) {
        let ballot = self.ballots.entry(lock.to_owned());
        ballot.or_insert((self.sent, 0));
    }

    /// A server has granted the lock.
    fn counts_a_vote_for(&mut self, lock: &str) {
        if let Some((_, counted)) = self.ballots.get_mut(lock) {
            *counted += 1;
        }
    }

    /// What is left of the lease; nil where too few have voted, or it is over.
    fn quorum(&mut self, votes: i64, lock: &str, lease: i64, drift: i64) -> Reply {
        let (began, counted) = self.ballots.remove(lock).unwrap_or_default();
        let left = lease - (self.now - began) - drift;
        match counted >= votes && left > 0 {
            true => Reply::from(left),
            false => Reply::Nil,
        }
    }
%end
}
%end
%if listens

/// A client's subscriptions, on a connection of their own, and what has come.
struct Inbox {
    redis: redis::Connection,
    messages: Vec<(Reply, Reply)>,
}

impl Inbox {
    fn connect() -> Inbox {
        let url = env::var("REDIS_URL").unwrap_or_else(|_| "redis://127.0.0.1:6379/0".to_owned());
        let client = redis::Client::open(url).expect("REDIS_URL");
        let redis = client.get_connection().expect("a connection to Redis");
        let limit = Some(Duration::from_secs(10));
        redis.set_read_timeout(limit).expect("a limit");
        let messages = Vec::new();
        Inbox { redis, messages }
    }

    /// Begins to listen to a channel, or ends it; the reply as the server sends it.
    fn ask(&mut self, command: &str, channel: &str) -> Reply {
        self.send(redis::cmd(command).arg(channel));
        let [channel, count] = self.next(command);
        list![command, channel, count]
    }
%if awaits

    /// The next message of a channel.
    fn message(&mut self, channel: &str) -> Reply {
        loop {
            let mut messages = self.messages.iter();
            if let Some(place) = messages.position(|(of, _)| *of == channel) {
                return self.messages.remove(place).1;
            }
            let [of, text] = self.next("message");
            self.messages.push((of, text));
        }
    }
%end
%if waits

    /// Whether no message of a channel has come.
    fn is_empty(&mut self, channel: &str) -> bool {
        // Whatever had come before the answer to this is read then.
        self.send(&redis::cmd("PING"));
        self.next("pong");
        self.messages.iter().all(|(of, _)| *of != channel)
    }
%end

    fn send(&mut self, command: &Cmd) {
        let packed = command.get_packed_command();
        self.redis.send_packed_command(&packed).expect("sent");
    }

    /// The next of this kind; messages before it are kept.
    fn next(&mut self, kind: &str) -> [Reply; 2] {
        loop {
            let got = Reply::from(self.redis.recv_response().expect("something comes"));
            let Reply::List(mut got) = got else {
                panic!("{got:?} is not expected");
            };
            got.resize(3, Reply::Nil);
            let rest = [got[1].clone(), got[2].clone()];
            if got[0] == kind {
                return rest;
            }
            self.messages.push(rest.into());
        }
    }
}
%end
%if store several

async fn connect_to_redis(variable: &str, database: u8) -> MultiplexedConnection {
    let usual = format!("redis://127.0.0.1:6379/{database}");
    let url = env::var(variable).unwrap_or(usual);
    let client = redis::Client::open(url).expect("a URL of Redis");
%if starts_in_redis
    // Who waits for somebody else may wait for longer than usual.
    let config = redis::AsyncConnectionConfig::new().set_response_timeout(None);
    let connection = client
        .get_multiplexed_async_connection_with_config(&config)
        .await;
%end
%if !starts_in_redis
    let connection = client.get_multiplexed_async_connection().await;
%end
    connection.expect("a connection to Redis")
}
%end
%if store !several

async fn connect_to_redis() -> MultiplexedConnection {
    let url = env::var("REDIS_URL").unwrap_or_else(|_| "redis://127.0.0.1:6379/0".to_owned());
    let client = redis::Client::open(url).expect("REDIS_URL");
%if starts_in_redis
    // Who waits for somebody else may wait for longer than usual.
    let config = redis::AsyncConnectionConfig::new().set_response_timeout(None);
    let connection = client
        .get_multiplexed_async_connection_with_config(&config)
        .await;
%end
%if !starts_in_redis
    let connection = client.get_multiplexed_async_connection().await;
%end
    connection.expect("a connection to Redis")
}
%end
%if database

async fn connect_to_mysql() -> Conn {
    let setting = |name: &str, usual: &str| env::var(name).unwrap_or_else(|_| usual.to_owned());
    let port = setting("MYSQL_PORT", "3306");
    let options = OptsBuilder::default()
        .ip_or_hostname(setting("MYSQL_HOST", "127.0.0.1"))
        .tcp_port(port.parse().expect("MYSQL_PORT"))
        .user(Some(setting("MYSQL_USER", "root")))
        .pass(Some(setting("MYSQL_PASSWORD", "")))
%if found_rows
        .client_found_rows(true)
%end
        .db_name(Some(setting("MYSQL_DATABASE", "test")));
    Conn::new(options).await.expect("a connection to MySQL")
}

/// The rows of a statement. One without values is sent as text, for not all can be prepared.
async fn run(mysql: &mut Conn, statement: String, values: Params) -> Result<Vec<Reply>, Reply> {
    let rows: Vec<mysql_async::Row> = match values {
        Params::Empty => mysql.query(statement).await?,
        values => mysql.exec(statement, values).await?,
    };
    Ok(rows.into_iter().map(Reply::from).collect())
}
%end
%if routines

/// How an attempt of a protocol ends: an error that it does not look at ends it.
type Attempt = Result<(), Reply>;

/// A request that a protocol is about to send.
struct Step {
    label: &'static str,
    request: Request,
    reply: oneshot::Sender<Reply>,
}

/// What a protocol hands its requests to.
struct Steps {
    steps: mpsc::Sender<Step>,
%if sells
    notes: Notes,
%end
%if clock
    clock: Arc<Mutex<Clock>>,
%end
}

impl Steps {
%if catches
    /// The reply to a request, which is sent when the schedule says so.
    async fn ask(&self, label: &'static str, request: Request) -> Result<Reply, Reply> {
        match self.try_to_ask(label, request).await? {
            Reply::Error(name) => Err(Reply::Error(name)),
            reply => Ok(reply),
        }
    }

    /// The same, with an error as a reply like any other.
    async fn try_to_ask(&self, label: &'static str, request: Request) -> Result<Reply, Reply> {
        let gone = || Reply::Error("GONE".to_owned());
        let (reply, replied) = oneshot::channel();
        let step = Step {
            label,
            request,
            reply,
        };
        self.steps.send(step).await.map_err(|_| gone())?;
        replied.await.map_err(|_| gone())
    }
%end
%if !catches
    /// The reply to a request, which is sent when the schedule says so.
    async fn ask(&self, label: &'static str, request: Request) -> Result<Reply, Reply> {
        let gone = || Reply::Error("GONE".to_owned());
        let (reply, replied) = oneshot::channel();
        let step = Step {
            label,
            request,
            reply,
        };
        self.steps.send(step).await.map_err(|_| gone())?;
        match replied.await.map_err(|_| gone())? {
            Reply::Error(name) => Err(Reply::Error(name)),
            reply => Ok(reply),
        }
    }
%end
%if clock

    /// The client's own clock.
    fn clock(&self) -> MutexGuard<'_, Clock> {
        self.clock.lock().unwrap()
    }
%end
%if sells

    /// Notes that so many units are sold to an order.
    fn sells(&self, units: usize, order: impl Into<String>) {
        let orders = vec![order.into(); units];
        self.notes.sales.lock().unwrap().extend(orders);
    }
%end
}
%end

/// Somebody with connections of their own; whatever they are told is noted.
struct Client {
    name: &'static str,
    notes: Notes,
%if store !several
    redis: Option<MultiplexedConnection>,
%end
%if store several
    redis: Vec<MultiplexedConnection>,
%end
%if database
    mysql: Option<Conn>,
%end
%if routines
    steps: mpsc::Receiver<Step>,
    upcoming: Option<Step>,
    waiting: Option<(oneshot::Sender<Reply>, Reply)>,
%end
%if listens
    inbox: Option<Inbox>,
%end
%if delays
    under_way: Option<Step>,
%end
%if starts
    /// The numbers by which the servers know its connections.
    numbers: Vec<(&'static str, i64)>,
    pending: Option<(&'static str, JoinHandle<(Client, Reply)>)>,
%end
%if clock
    clock: Arc<Mutex<Clock>>,
%end
}

impl Client {
    async fn new(name: &'static str, notes: &Notes) -> Client {
%if starts
        let mut client = Client::unconnected(name, notes);
        client.connect().await;
        client
    }

    fn unconnected(name: &'static str, notes: &Notes) -> Client {
        Client {
%end
%if !starts
        let mut client = Client {
%end
            name,
            notes: notes.clone(),
%if store !several
            redis: None,
%end
%if store several
            redis: Vec::new(),
%end
%if database
            mysql: None,
%end
%if routines
            steps: mpsc::channel(1).1,
            upcoming: None,
            waiting: None,
%end
%if listens
            inbox: None,
%end
%if delays
            under_way: None,
%end
%if starts
            numbers: Vec::new(),
            pending: None,
%end
%if clock
            clock: Arc::default(),
%end
%if starts
        }
    }
%end
%if !starts
        };
        client.connect().await;
        client
    }
%end

    /// Opens connections of its own.
    async fn connect(&mut self) {
%if store !several
        self.redis = Some(connect_to_redis().await);
%end
%if store several
        self.redis = vec![
%each
            connect_to_redis("REDIS_URL{{suffix}}", {{place}}).await,
%end
        ];
%end
%if starts_in_redis
%each
        let number = self.{{server}}("CLIENT", "ID").await.number();
        self.numbers.push(("{{server}}", number));
%end
%end
%if listens
        self.inbox = Some(Inbox::connect());
%end
%if database
        self.mysql = Some(connect_to_mysql().await);
%end
%if starts_in_mysql
        let number = self.ask(rows("SELECT CONNECTION_ID()", ())).await[0][0].number();
        self.numbers.push(("mysql", number));
%end
    }

    /// Closes them, as a crash would; what is not committed is rolled back.
    async fn close(&mut self) {
%if store !several
        self.redis = None;
%end
%if store several
        self.redis.clear();
%end
%if listens
        self.inbox = None;
%end
%if database
        if let Some(mysql) = self.mysql.take() {
            let _ = mysql.disconnect().await;
        }
%end
    }
%if routines

    /// Begins an attempt, and has its first request ready.
    async fn runs<A>(&mut self, protocol: impl FnOnce(Steps) -> A)
    where
        A: Future<Output = Attempt> + Send + 'static,
    {
        let (steps, requests) = mpsc::channel(1);
        self.steps = requests;
%if clock
        self.clock.lock().unwrap().clear();
        let clock = self.clock.clone();
%end
%if sells
        let notes = self.notes.clone();
%end
%if sells !clock
        tokio::spawn(protocol(Steps { steps, notes }));
%end
%if !sells !clock
        tokio::spawn(protocol(Steps { steps }));
%end
%if sells clock
        let steps = Steps {
            steps,
            notes,
            clock,
        };
        tokio::spawn(protocol(steps));
%end
%if !sells clock
        tokio::spawn(protocol(Steps { steps, clock }));
%end
        self.upcoming = self.steps.recv().await;
    }

%if holds
    /// Sends the next request, if there is one, and sees the reply.
    async fn step(&mut self) {
        self.sends().await;
        self.sees_the_reply().await;
    }

    /// Sends the next request, if there is one; the reply waits.
    async fn sends(&mut self) {
        if let Some(step) = self.upcoming.take() {
%if clock
            self.has_sent();
%end
            let reply = self.note(step.label, step.request).await;
            self.waiting = Some((step.reply, reply));
        }
    }
%if clock

    fn has_sent(&self) {
        let mut clock = self.clock.lock().unwrap();
        clock.sent = clock.now;
    }
%end
%if loses

    /// The next request gets lost.
    async fn loses(&mut self) {
        if let Some(step) = self.upcoming.take() {
%if clock
            self.has_sent();
%end
            self.waiting = Some((step.reply, Reply::Lost));
        }
    }
%end
%if delays

    /// The next request stays under way.
    async fn delays(&mut self) {
        if let Some(step) = self.upcoming.take() {
%if clock
            self.has_sent();
%end
            self.stays_under_way(step);
        }
    }
%end
%if finds_down

    /// The next request finds its server down.
    async fn finds_it_down(&mut self) {
        self.loses().await;
        self.gives_up().await;
    }
%end
%end
%if !holds
    /// Sends the next request, which has to be this one, and sees the reply.
    async fn step(&mut self, label: &str) {
        self.sends(label).await;
        self.sees_the_reply().await;
    }

    /// Sends the next request, which has to be this one; the reply waits.
    async fn sends(&mut self, label: &str) {
        let step = self.next(label);
        let reply = self.note(step.label, step.request).await;
        self.waiting = Some((step.reply, reply));
    }

    /// The next request, which has to be this one.
    fn next(&mut self, label: &str) -> Step {
        let name = self.name;
        let step = self.upcoming.take();
        let step = step.unwrap_or_else(|| panic!("{name} is done before {label}"));
        assert_eq!(step.label, label);
%if clock
        let mut clock = self.clock.lock().unwrap();
        clock.sent = clock.now;
%end
        step
    }
%if loses

    /// The next request, which has to be this one, gets lost.
    async fn loses(&mut self, label: &str) {
        let step = self.next(label);
        self.waiting = Some((step.reply, Reply::Lost));
    }
%end
%if delays

    /// The next request, which has to be this one, stays under way.
    async fn delays(&mut self, label: &str) {
        let step = self.next(label);
        self.stays_under_way(step);
    }
%end
%if finds_down

    /// The next request, which has to be this one, finds its server down.
    async fn finds_it_down(&mut self, label: &str) {
        self.loses(label).await;
        self.gives_up().await;
    }
%end
%end
%if delays

    fn stays_under_way(&mut self, step: Step) {
        self.waiting = Some((step.reply, Reply::Lost));
        self.under_way = Some(Step {
            reply: oneshot::channel().0,
            ..step
        });
    }
%end
%if delivers

    /// What has been under way comes to its server; the reply waits.
    async fn delivers(&mut self) {
        if let Some(step) = self.under_way.take() {
            let reply = self.note(step.label, step.request).await;
            if let Some((_, waiting)) = &mut self.waiting {
                *waiting = reply;
            }
        }
    }
%end
%if waits

    /// The next request, which has to be this one, waits: no message has come.
    async fn waits_for_a_message(&mut self, label: &str, channel: &str) {
        let upcoming = self.upcoming.as_ref().map(|step| step.label);
        assert_eq!(upcoming, Some(label));
        let inbox = self.inbox.as_mut().expect("a connection to Redis");
        assert!(inbox.is_empty(channel), "a message has come");
    }
%end
%if told holds

    /// The next request is answered by the schedule.
    async fn is_told(&mut self, reply: impl Into<Reply>) {
        if let Some(step) = self.upcoming.take() {
            self.waiting = Some((step.reply, reply.into()));
            self.sees_the_reply().await;
        }
    }
%end
%if told !holds

    /// The next request, which has to be this one, is answered by the schedule.
    async fn is_told(&mut self, label: &str, reply: impl Into<Reply>) {
        let step = self.next(label);
        self.waiting = Some((step.reply, reply.into()));
        self.sees_the_reply().await;
    }
%end
%if gives_up

    /// Waits no longer for the reply.
    async fn gives_up(&mut self) {
%if listens
        if let Some(step) = self.upcoming.take() {
            self.waiting = Some((step.reply, Reply::Lost));
        }
%end
        if let Some((_, waiting)) = &mut self.waiting {
            *waiting = Reply::Lost;
        }
        self.sees_the_reply().await;
    }
%end

    /// Hands the reply to the protocol, which has its next request ready then.
    async fn sees_the_reply(&mut self) {
        if let Some((protocol, reply)) = self.waiting.take() {
            let _ = protocol.send(reply);
            self.upcoming = self.steps.recv().await;
        }
    }
%end
%if asks

    /// Sends what is typed at a console, and notes the reply.
    async fn asks(&mut self, what: &'static str, request: Request) {
        self.note(what, request).await;
    }
%end

    /// Sends a request, and notes the reply.
    async fn note(&mut self, what: &'static str, request: Request) -> Reply {
        let reply = self.ask(request).await;
        self.keep(what, &reply);
        reply
    }

    fn keep(&self, what: &'static str, reply: &Reply) {
        let noted = match reply {
            Reply::Error(name) => Reply::from(name.as_str()),
            reply => reply.clone(),
        };
        self.notes.seen.lock().unwrap().push(Saw {
            who: self.name,
            what,
            reply: noted,
        });
    }
%if starts_steps holds

    /// Sends the next request, if there is one, which may have to wait.
    async fn starts(&mut self, server: &str) {
        if let Some(step) = self.upcoming.take() {
%if clock
            self.has_sent();
%end
            self.waiting = Some((step.reply, Reply::Nil));
            self.starts_asking(step.label, server, step.request).await;
        }
    }
%end
%if starts_steps !holds

    /// Sends the next request, which has to be this one, and waits for somebody else.
    async fn starts(&mut self, label: &str, server: &str) {
        let step = self.next(label);
        self.waiting = Some((step.reply, Reply::Nil));
        self.starts_asking(step.label, server, step.request).await;
    }
%end
%if starts

    /// Sends a request in a task of its own, and sees that it waits.
    async fn starts_asking(&mut self, what: &'static str, server: &str, request: Request) {
        let mut asking = Client::unconnected(self.name, &self.notes);
%if store
        std::mem::swap(&mut asking.redis, &mut self.redis);
%end
%if database
        std::mem::swap(&mut asking.mysql, &mut self.mysql);
%end
        let answer = tokio::spawn(async move {
            let reply = asking.ask(request).await;
            (asking, reply)
        });
        let mut operator = Client::new("operator", &self.notes).await;
%if holds
        while !answer.is_finished() && !self.is_waiting(server, &mut operator).await {}
%end
%if !holds
        while !self.is_waiting(server, &mut operator).await {
            assert!(!answer.is_finished(), "{what} does not wait");
        }
%end
        operator.close().await;
        self.pending = Some((what, answer));
    }

    /// By what a server knows this client's connection.
    fn number_at(&self, server: &str) -> i64 {
        let mut numbers = self.numbers.iter().rev();
        let number = numbers.find(|(of, _)| *of == server);
        number.map_or(0, |(_, number)| *number)
    }

    /// Whether a server has a request of this client waiting.
    async fn is_waiting(&self, server: &str, operator: &mut Client) -> bool {
        let number = self.number_at(server);
        let found = match server {
%if starts_in_redis
%each
            "{{server}}" => operator.{{server}}("CLIENT", ("LIST", "ID", number)).await,
%end
%end
%if starts_in_mysql
            "mysql" => {
                let of_client = "SELECT state FROM information_schema.processlist WHERE id = ";
                let states = rows(format!("{of_client}{number}"), ());
                let states = operator.ask(states).await;
                let status = rows("SHOW ENGINE INNODB STATUS", ());
                let status = String::from(&operator.ask(status).await[0][2]);
                let is_waiting = |part: &str| {
                    part.contains("LOCK WAIT") && part.contains(&format!("thread id {number},"))
                };
                return status.split("---TRANSACTION").any(is_waiting)
                    || states[0][0] == "User lock";
            }
%end
            _ => Reply::Nil,
        };
        let Reply::Text(found) = found else {
            return false;
        };
        let flags = found.split("flags=").nth(1).unwrap_or_default();
        let mut flags = flags.split_whitespace();
        flags.next().is_some_and(|flags| flags.contains('b'))
    }

    /// What has waited is answered; the reply is noted, and waits to be seen.
    async fn hears(&mut self) {
        let Some((what, answer)) = self.pending.take() else {
            return;
        };
        let answer = tokio::time::timeout(Duration::from_secs(10), answer).await;
        let (asked, reply) = answer.expect("answered in time").expect("answered");
%if store
        self.redis = asked.redis;
%end
%if database
        self.mysql = asked.mysql;
%end
        self.keep(what, &reply);
%if starts_steps
        if let Some((_, waiting)) = &mut self.waiting {
            *waiting = reply;
        }
%end
    }
%end
%if withdraws

    /// Waits no longer: the server gives the request up, and nobody hears of it.
    async fn withdraws(&mut self, server: &str) {
        let Some((_, answer)) = self.pending.take() else {
            return;
        };
        let number = self.number_at(server);
        let mut operator = Client::new("operator", &self.notes).await;
        match server {
%if starts_in_redis
%each
            "{{server}}" => operator.{{server}}("CLIENT", ("UNBLOCK", number, "ERROR")).await,
%end
%end
%if starts_in_mysql
            "mysql" => {
                let end = format!("KILL QUERY {number}");
                operator.ask(update(end, ())).await
            }
%end
            _ => Reply::Nil,
        };
        operator.close().await;
        let (asked, _) = answer.await.expect("an answer");
%if store
        self.redis = asked.redis;
%end
%if database
        self.mysql = asked.mysql;
%end
%if starts_steps
        self.waiting = None;
%end
    }
%end
%if store !several

    async fn redis(&mut self, name: &str, arguments: impl ToRedisArgs) -> Reply {
        self.ask(command(name, arguments)).await
    }
%end
%if store several
%each

    async fn {{server}}(&mut self, name: &str, arguments: impl ToRedisArgs) -> Reply {
        self.ask({{server}}(name, arguments)).await
    }
%end
%end

    async fn ask(&mut self, request: Request) -> Reply {
        let reply = match request {
%if store several
            Request::Redis(server, command) => {
                let redis = &mut self.redis[server];
                let reply = command.query_async::<redis::Value>(redis).await;
                reply.map(Reply::from).map_err(Reply::from)
            }
%end
%if store !several
            Request::Redis(command) => {
                let redis = self.redis.as_mut().expect("a connection to Redis");
                let reply = command.query_async::<redis::Value>(redis).await;
                reply.map(Reply::from).map_err(Reply::from)
            }
%end
%if database
            Request::Update(statement, values) => {
                let mysql = self.mysql.as_mut().expect("a connection to MySQL");
                let done = run(mysql, statement, values).await;
                done.map(|_| Reply::Integer(mysql.affected_rows().cast_signed()))
            }
            Request::Query(query, values, part) => {
                let mysql = self.mysql.as_mut().expect("a connection to MySQL");
                run(mysql, query, values).await.map(part)
            }
%end
%if gateway
            Request::Charge(order, amount, key) => {
                Ok(self.notes.gateway().charge(order, amount, key))
            }
%end
%if refunds
            Request::Refund(name) => Ok(self.notes.gateway().refund(&name)),
%end
%if listens
            Request::Subscribe(command, channel) => {
                let inbox = self.inbox.as_mut().expect("a connection to Redis");
                Ok(inbox.ask(command, &channel))
            }
%end
%if awaits
            Request::Message(channel) => {
                let inbox = self.inbox.as_mut().expect("a connection to Redis");
                Ok(inbox.message(&channel))
            }
%end
%if looks
            Request::Look(lock) => Ok(self.clock.lock().unwrap().look(&lock)),
%end
%if votes
            Request::Quorum(votes, lock, lease, drift) => {
                let mut clock = self.clock.lock().unwrap();
                Ok(clock.quorum(votes, &lock, lease, drift))
            }
%end
        };
        reply.unwrap_or_else(|error| error)
    }
}
