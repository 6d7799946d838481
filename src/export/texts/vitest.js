%title
%header

%if digests
import { createHash } from "node:crypto";
%end
%if listens
import { once } from "node:events";
%end
%if node

%end
%if store
import { Redis } from "ioredis";
%end
%if database
import { createConnection } from "mysql2/promise";
%end
%if starts
import { test as base, expect, vi } from "vitest";
%end
%if !starts
import { test as base, expect } from "vitest";
%end

%scripts
%if no_reply
/** What a client learns that has waited for a reply in vain. */
const NO_REPLY = Symbol("no reply");

%end
%settings
%routines
%if gateway

/** A card gateway in memory; with a key that it knows it does not charge again. */
class Gateway {
  charges = [];
  names = new Map();

  /** Charges a card, and gives the charge's name. */
  charge(order, amount, key) {
    if (this.names.has(key)) {
      return this.names.get(key);
    }
    this.charges.push({ order, amount, refunded: false });
    const name = `ch-${this.charges.length}`;
    if (key !== undefined) {
      this.names.set(key, name);
    }
    return name;
  }

  /** Gives a charge back, by its name or by that of its order. */
  refund(name) {
    const charge = this.charges.findLast(
      ({ order, refunded }, place) =>
        !refunded && [order, `ch-${place + 1}`].includes(name),
    );
    if (charge === undefined) {
      throw new Error(`ERR nothing to refund for '${name}'`);
    }
    charge.refunded = true;
    return "OK";
  }

  /** The orders that are paid, once for each charge. */
  paid() {
    return this.charges
      .filter(({ refunded }) => !refunded)
      .map(({ order }) => order);
  }
}
%end
%if routines

/** A request that a protocol is about to send. */
function step(label, request) {
  return { label, request };
}
%end
%if clock

/** A client's own clock, in milliseconds, and what the client keeps by it. */
class Clock {
  now = 0;
  sent = 0;
%if looks
  until = new Map();
%end
%if votes
  ballots = new Map();
%end

  /** Begins an attempt, which counts on no lock yet. */
  clear() {
%if looks
    this.until.clear();
%end
%if votes
    this.ballots.clear();
%end
  }

  /** The schedule says how far it goes. */
  passes(milliseconds) {
    this.now += milliseconds;
  }
%if looks

  /** Counts on a lock for so long, from when the last request was sent. */
  holds(lock, milliseconds) {
    this.until.set(lock, this.sent + milliseconds);
  }

  /** Counts on a lock no longer. */
  forgets(lock) {
    this.until.delete(lock);
  }

  /** Whether the time is over for which a lock can be counted on. */
  look(lock) {
    return this.now < this.until.get(lock) ? "held" : "lapsed";
  }
%end
%if votes

  /** The last request was for a vote; the first one of them begins the lease. */
  asksFor(lock) {
    if (!this.ballots.has(lock)) {
      this.ballots.set(lock, { began: this.sent, counted: 0 });
    }
  }

  /** A server has granted the lock. */
  countsAVoteFor(lock) {
    this.ballots.get(lock).counted += 1;
  }

  /** What is left of the lease; null where too few have voted, or it is over. */
  quorum(votes, lock, lease, drift) {
    const { began, counted } = this.ballots.get(lock) ?? { counted: 0 };
    this.ballots.delete(lock);
    const left = lease - (this.now - began) - drift;
    return counted >= votes && left > 0 ? left : null;
  }
%end
}
%end
%if digests

/** By what EVALSHA knows a script. */
function sha1Of(script) {
  return createHash("sha1").update(script).digest("hex");
}
%end
%if store !several

function connectToRedis() {
  return new Redis(process.env.REDIS_URL ?? "redis://127.0.0.1:6379/0");
}
%end
%if store several

function connectToRedis(variable, database) {
  const usual = `redis://127.0.0.1:6379/${database}`;
  return new Redis(process.env[variable] ?? usual);
}
%end
%if listens

/** A client's subscriptions, on a connection of their own, and what has come. */
class Inbox {
  messages = [];

  constructor(redis) {
    this.redis = redis;
    redis.on("message", (channel, text) => {
      this.messages.push({ channel, text });
    });
  }

  /** Hears nothing any longer. */
  disconnect() {
    this.redis.disconnect();
  }

  /** Begins to listen; the reply as the server sends it. */
  async subscribe(channel) {
    return ["subscribe", channel, await this.redis.subscribe(channel)];
  }

  /** Ends it. */
  async unsubscribe(channel) {
    return ["unsubscribe", channel, await this.redis.unsubscribe(channel)];
  }

  /** The next message of a channel: one that has come, or the next to come. */
  async message(channel) {
    const place = this.messages.findIndex((it) => it.channel === channel);
    if (place >= 0) {
      return this.messages.splice(place, 1)[0].text;
    }
    await once(this.redis, "message");
    return this.message(channel);
  }

  /** Whether no message of a channel has come. */
  async isEmpty(channel) {
    // Whatever had come before the answer to this is there then.
    await this.redis.ping();
    return !this.messages.some((it) => it.channel === channel);
  }
}
%end
%if database

function connectToMysql() {
  return createConnection({
    host: process.env.MYSQL_HOST ?? "127.0.0.1",
    port: Number(process.env.MYSQL_PORT ?? 3306),
    user: process.env.MYSQL_USER ?? "root",
    password: process.env.MYSQL_PASSWORD ?? "",
    database: process.env.MYSQL_DATABASE ?? "test",
    namedPlaceholders: true,
    rowsAsArray: true,
    decimalNumbers: true,
%if times
    dateStrings: true,
%end
%if !found_rows
    flags: ["-FOUND_ROWS"],
%end
  });
}

async function affectedRows(mysql, statement, values) {
  const [result] = await mysql.query(statement, values);
  return result.affectedRows;
}
%end
%if database many_rows

async function rows(mysql, query, values) {
  const [found] = await mysql.query(query, values);
  return found;
}
%end
%if database one_row

/** The first row; null where there is none. */
async function row(mysql, query, values) {
  return (await rows(mysql, query, values))[0] ?? null;
}
%end
%if database values

/** The first value of the first row; null where there is none. */
async function value(mysql, query, values) {
  return (await row(mysql, query, values))?.[0] ?? null;
}
%end
%if starts_in_redis

/** Whether Redis has a request of the connection with this number waiting. */
async function isBlocked(redis, number) {
  const found = await redis.client("LIST", "ID", number);
  return /flags=\S*b/.test(found);
}
%end
%if starts_in_mysql

/** Whether the database has a statement of this connection waiting for a lock. */
async function waitsForLock(mysql, number) {
  const ofClient =
    "SELECT state FROM information_schema.processlist WHERE id = :number";
  const states = await rows(mysql, ofClient, { number });
  const [[, , status]] = await rows(mysql, "SHOW ENGINE INNODB STATUS");
  const isWaiting = (part) =>
    part.includes("LOCK WAIT") && part.includes(`thread id ${number},`);
  return (
    status.split("---TRANSACTION").some(isWaiting) ||
    states.flat().includes("User lock")
  );
}
%end

/** The word or the number that names an error; null for a reply that is none. */
function errorCode(reply) {
  if (!(reply instanceof Error)) {
    return null;
  }
  return reply.sqlState ? `ERROR ${reply.errno}` : reply.message.split(" ")[0];
}

/** Somebody with connections of their own; whatever they are told is noted. */
class Client {
  constructor(name, seen) {
    this.name = name;
    this.seen = seen;
%if clock
    this.clock = new Clock();
%end
  }

  /** Opens connections of its own. */
  async connect() {
%if store !several
    this.redis = connectToRedis();
%end
%if store several
%each
    this.{{server}} = connectToRedis("REDIS_URL{{suffix}}", {{place}});
%end
%end
%if starts_in_redis
    this.numbers = {
%each
      {{server}}: await this.{{server}}.client("ID"),
%end
    };
%end
%if listens !several
    this.inbox = new Inbox(connectToRedis());
%end
%if listens several
    this.inbox = new Inbox(connectToRedis("REDIS_URL", 0));
%end
%if database
    this.mysql = await connectToMysql();
%end
    return this;
  }

  /** Closes them, as a crash would; what is not committed is rolled back. */
  close() {
%if store
%each
    this.{{server}}.disconnect();
%end
%end
%if listens
    this.inbox.disconnect();
%end
%if database
    this.mysql.destroy();
%end
  }
%if routines

  /** Begins an attempt, and has its first request ready. */
  runs(protocol) {
    this.protocol = protocol;
%if clock
    this.clock.clear();
%end
    this.upcoming = protocol.next().value;
  }

%if holds
  /** Sends the next request, if there is one, and sees the reply. */
  async step() {
    await this.sends();
    this.seesTheReply();
  }

  /** Sends the next request, if there is one; the reply waits. */
  async sends() {
    if (this.upcoming !== undefined) {
      const { label, request } = this.upcoming;
%if clock
      this.clock.sent = this.clock.now;
%end
      this.reply = await this.note(label, request);
    }
  }
%if loses

  /** The next request gets lost. */
  async loses() {
%if clock
    this.clock.sent = this.clock.now;
%end
    this.reply = NO_REPLY;
  }
%end
%if delays

  /** The next request stays under way. */
  async delays() {
%if clock
    this.clock.sent = this.clock.now;
%end
    this.underWay = this.upcoming;
  }
%end
%if finds_down

  /** The next request finds its server down. */
  async findsItDown() {
    await this.loses();
    this.givesUp();
  }
%end
%end
%if !holds
  /** Sends the next request, which has to be this one, and sees the reply. */
  async step(label) {
    await this.sends(label);
    this.seesTheReply();
  }

  /** Sends the next request, which has to be this one; the reply waits. */
  async sends(label) {
    this.expects(label);
    this.reply = await this.note(label, this.upcoming.request);
  }

  /** The next request has to be this one. */
  expects(label) {
    expect(this.upcoming?.label).toBe(label);
%if clock
    this.clock.sent = this.clock.now;
%end
  }
%if loses

  /** The next request, which has to be this one, gets lost. */
  async loses(label) {
    this.expects(label);
  }
%end
%if delays

  /** The next request, which has to be this one, stays under way. */
  async delays(label) {
    this.expects(label);
    this.underWay = this.upcoming;
  }
%end
%if finds_down

  /** The next request, which has to be this one, finds its server down. */
  async findsItDown(label) {
    await this.loses(label);
    this.givesUp();
  }
%end
%end
%if delivers

  /** What has been under way comes to its server; the reply waits. */
  async delivers() {
    const { label, request } = this.underWay;
    this.reply = await this.note(label, request);
  }
%end
%if waits

  /** The next request, which has to be this one, waits: no message has come. */
  async waitsForAMessage(label, channel) {
    this.expects(label);
    expect(await this.inbox.isEmpty(channel)).toBe(true);
  }
%end
%if told holds

  /** The next request is answered by the schedule. */
  isTold(reply) {
    this.reply = reply;
    this.seesTheReply();
  }
%end
%if told !holds

  /** The next request, which has to be this one, is answered by the schedule. */
  isTold(label, reply) {
    this.expects(label);
    this.reply = reply;
    this.seesTheReply();
  }
%end
%if gives_up

  /** Waits no longer for the reply. */
  givesUp() {
    this.reply = NO_REPLY;
    this.seesTheReply();
  }
%end

  /** Hands the reply to the protocol, which has its next request ready then. */
  seesTheReply() {
%if holds
    if (this.upcoming === undefined) {
      return;
    }
%end
    try {
      const failed = this.reply instanceof Error;
      const next = failed
        ? this.protocol.throw(this.reply)
        : this.protocol.next(this.reply);
      this.upcoming = next.value;
    } catch (error) {
      if (error !== this.reply) {
        throw error;
      }
      this.upcoming = undefined;
    }
  }
%end
%if asks

  /** Sends what is typed at a console, and notes the reply. */
  async asks(what, request) {
    await this.note(what, request);
  }
%end

%if starts_steps holds
  /** Sends the next request, if there is one, which may have to wait. */
  async starts(server) {
    this.what = undefined;
    if (this.upcoming !== undefined) {
      const { label, request } = this.upcoming;
%if clock
      this.clock.sent = this.clock.now;
%end
      await this.startsAsking(server, label, request);
    }
  }

%end
%if starts_steps !holds
  /** Sends the next request, which has to be this one, and waits for somebody else. */
  async starts(label, server) {
    this.expects(label);
    await this.startsAsking(server, label, this.upcoming.request);
  }

%end
%if starts
  /** Sends a request, and sees that it waits. */
  async startsAsking(server, what, request) {
    this.what = what;
    let isAnswered = false;
    const end = () => {
      isAnswered = true;
    };
    this.answer = request();
    this.answer.then(end, end);
    const operator = await new Client("operator", []).connect();
    const waits = () => isAnswered || this.isWaiting(server, operator);
    await vi.waitUntil(waits, { timeout: 10000 });
    operator.close();
%if !holds
    expect(isAnswered, `${what} does not wait`).toBe(false);
%end
  }

  /** Whether the server has a request of this client waiting. */
  isWaiting(server, operator) {
%if starts_in_mysql
    if (server === "mysql") {
      return waitsForLock(operator.mysql, this.mysql.threadId);
    }
%end
%if starts_in_redis
    return isBlocked(operator[server], this.numbers[server]);
%end
  }

  /** What has waited is answered; the reply is noted, and waits to be seen. */
  async hears() {
%if holds
    if (this.what !== undefined) {
      this.reply = await this.note(this.what, () => this.answer);
    }
%end
%if !holds
    this.reply = await this.note(this.what, () => this.answer);
%end
  }

%end
%if withdraws
  /** Waits no longer: the server gives the request up, and nobody hears of it. */
  async withdraws(server) {
%if holds
    if (this.what === undefined) {
      return;
    }
%end
    const operator = await new Client("operator", []).connect();
%if starts_in_redis starts_in_mysql
    if (server === "mysql") {
      await operator.mysql.query(`KILL QUERY ${this.mysql.threadId}`);
    } else {
      const number = this.numbers[server];
      await operator[server].client("UNBLOCK", number, "ERROR");
    }
%end
%if starts_in_redis !starts_in_mysql
    await operator[server].client("UNBLOCK", this.numbers[server], "ERROR");
%end
%if starts_in_mysql !starts_in_redis
    await operator[server].query(`KILL QUERY ${this.mysql.threadId}`);
%end
    operator.close();
    await Promise.allSettled([this.answer]);
  }

%end
  /** Sends a request, and notes the reply. */
  async note(what, request) {
    let reply;
    try {
      reply = await request();
    } catch (error) {
      reply = error;
    }
    this.seen.push([this.name, what, errorCode(reply) ?? reply]);
    return reply;
  }
}
%if latches

/** A latch: `opened` is a promise that `open()` fulfils. */
function latch() {
  let open;
  const opened = new Promise((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
%end
%if replies

/** The replies that a client got to a step. */
function replies(seen, client, label) {
  return seen
    .filter(([who, what]) => who === client && what === label)
    .map(([, , reply]) => reply);
}
%end

const test = base.extend({
  /** Somebody who sets everything up and cleans up. */
  // eslint-disable-next-line no-empty-pattern
  operator: async ({}, use) => {
    const operator = await new Client("operator", []).connect();
    operator.everybody = [operator];
%if keys !several
    const takenKeys = await operator.redis.exists(...KEYS);
    expect(takenKeys, "Redis has its keys already").toBe(0);
%end
%if keys several
    const takenKeys = [
%each
      await operator.{{server}}.exists(...KEYS),
%end
    ];
    expect(Math.max(...takenKeys), "Redis has its keys already").toBe(0);
%end
%if tables
    const tables = await rows(operator.mysql, "SHOW TABLES");
    const taken = tables.flat().filter((table) => TABLES.includes(table));
    expect(taken, "the database has its tables already").toEqual([]);
%end
    try {
%if statements
      for (const statement of STATEMENTS) {
        await affectedRows(operator.mysql, statement);
      }
%end
      %commands
      await use(operator);
    } finally {
      for (const client of operator.everybody.slice(1)) {
        client.close();
      }
%if tables
      for (const table of TABLES) {
        const drop = `DROP TABLE IF EXISTS \`${table}\``;
        await affectedRows(operator.mysql, drop);
      }
%end
%if keys
%each
      await operator.{{server}}.del(...KEYS);
%end
%end
      operator.close();
    }
  },
});

%head
  const { seen, everybody } = operator;
%if gateway
  const gateway = new Gateway();
%end
%if sells
  const sales = [];
%end
%if left
  const left = [];
%end
%if deadlines
  const timesToLive = [];
%end
  %latches
  %parts

  %together
%if !holds

  %seen
  %end_state
%end
  %claims
});
