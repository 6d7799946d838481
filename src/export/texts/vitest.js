%title
%header

%if store
import { Redis } from "ioredis";
%end
%if database
import { createConnection } from "mysql2/promise";
%end
import { test as base, expect } from "vitest";

%scripts
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
%if store

function connectToRedis() {
  return new Redis(process.env.REDIS_URL ?? "redis://127.0.0.1:6379/0");
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
  }

  /** Opens connections of its own. */
  async connect() {
%if store
    this.redis = connectToRedis();
%end
%if database
    this.mysql = await connectToMysql();
%end
    return this;
  }

  /** Closes them, as a crash would; what is not committed is rolled back. */
  close() {
%if store
    this.redis.disconnect();
%end
%if database
    this.mysql.destroy();
%end
  }
%if routines

  /** Begins an attempt, and has its first request ready. */
  runs(protocol) {
    this.protocol = protocol;
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
      this.reply = await this.note(label, request);
    }
  }
%end
%if !holds
  /** Sends the next request, which has to be this one, and sees the reply. */
  async step(label) {
    await this.sends(label);
    this.seesTheReply();
  }

  /** Sends the next request, which has to be this one; the reply waits. */
  async sends(label) {
    expect(this.upcoming?.label).toBe(label);
    this.reply = await this.note(label, this.upcoming.request);
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
%if keys
    const takenKeys = await operator.redis.exists(...KEYS);
    expect(takenKeys, "Redis has its keys already").toBe(0);
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
      await operator.redis.del(...KEYS);
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
