"""{{title}}.
%header
"""

%if digests
import hashlib
%end
%if servers
import os
%end
%if routines
from collections.abc import Callable
%end
%if starts
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
%end
%if !starts
from concurrent.futures import ThreadPoolExecutor, as_completed
%end
%if gateway
from dataclasses import dataclass
%end
%if times
from datetime import datetime
%end
%if decimals
from decimal import Decimal
%end
%if latches
from threading import Event
%end
%if starts
from time import monotonic
%end
%if routines
from typing import NamedTuple
%end

%if database
import pymysql
%end
import pytest
%if store
from redis import Redis
from redis.exceptions import RedisError
%end
%if settled

%end
%scripts
%if no_reply
# What a client learns that has waited for a reply in vain.
NO_REPLY = object()

%end
%settings
%routines
%if gateway


class GatewayError(Exception):
    """The gateway does not do what it was asked."""


@dataclass
class Charge:
    """One charge to a card."""

    order: str
    amount: int
    refunded: bool = False


class Gateway:
    """A card gateway in memory; with a key that it knows it does not charge again."""

    def __init__(self):
        self.charges = []
        self.names = {}

    def charge(self, order, amount, key=None):
        """Charges a card, and gives the charge's name."""
        if key is not None and key in self.names:
            return self.names[key]
        self.charges.append(Charge(order, amount))
        name = f"ch-{len(self.charges)}"
        if key is not None:
            self.names[key] = name
        return name

    def refund(self, name):
        """Gives a charge back, by its name or by that of its order."""
        for number, charge in reversed(list(enumerate(self.charges, start=1))):
            if name in (f"ch-{number}", charge.order) and not charge.refunded:
                charge.refunded = True
                return "OK"
        raise GatewayError(f"ERR nothing to refund for '{name}'")

    def paid(self):
        """The orders that are paid."""
        return {charge.order for charge in self.charges if not charge.refunded}
%end
%if routines


class Step(NamedTuple):
    """A request that a protocol is about to send."""

    label: str
    request: Callable
%end
%if clock


class Clock:
    """A client's own clock, in milliseconds, and what the client keeps by it."""

    def __init__(self):
        self.now = 0
        self.sent = 0
        self.clear()

    def clear(self):
        """Begins an attempt, which counts on no lock yet."""
%if looks
        self.until = {}
%end
%if votes
        self.ballots = {}
%end

    def passes(self, milliseconds):
        """The schedule says how far it goes."""
        self.now += milliseconds
%if looks

    def holds(self, lock, milliseconds):
        """Counts on a lock for so long, from when the last request was sent."""
        self.until[lock] = self.sent + milliseconds

    def forgets(self, lock):
        """Counts on a lock no longer."""
        self.until.pop(lock, None)

    def look(self, lock):
        """Whether the time is over for which a lock can be counted on."""
        return "held" if self.now < self.until.get(lock, self.now) else "lapsed"
%end
%if votes

    def asks_for(self, lock):
        """The last request was for a vote; the first one of them begins the lease."""
        self.ballots.setdefault(lock, [self.sent, 0])

    def counts_a_vote_for(self, lock):
        """A server has granted the lock."""
        self.ballots[lock][1] += 1

    def quorum(self, votes, lock, lease, drift):
        """What is left of the lease; None where too few have voted, or it is over."""
        began, counted = self.ballots.pop(lock, (self.now, 0))
        left = lease - (self.now - began) - drift
        return left if counted >= votes and left > 0 else None
%end
%end
%if digests


def sha1_of(script):
    """By what EVALSHA knows a script."""
    return hashlib.sha1(script.encode()).hexdigest()
%end
%if store !several


def connect_to_redis():
    url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")
%end
%if store several


def connect_to_redis(variable, database):
    url = os.environ.get(variable, f"redis://127.0.0.1:6379/{database}")
%end
%if store
    connection = Redis.from_url(
        url, decode_responses=True, protocol=2, single_connection_client=True
    )
    # Replies as the server sends them: "OK" and not True.
    connection.response_callbacks.clear()
    return connection
%end
%if listens


class Inbox:
    """A client's subscriptions, on a connection of their own, and what has come."""

    def __init__(self, redis):
        self.redis = redis
        self.pubsub = redis.pubsub()
        self.messages = []

    def close(self):
        """Hears nothing any longer."""
        self.pubsub.close()
        self.redis.close()

    def subscribe(self, channel):
        """Begins to listen; the reply as the server sends it."""
        self.pubsub.subscribe(channel)
        return self.next("subscribe")

    def unsubscribe(self, channel):
        """Ends it."""
        self.pubsub.unsubscribe(channel)
        return self.next("unsubscribe")

    def message(self, channel):
        """The next message of a channel: one that has come, or the next to come."""
        of_channel = [message for message in self.messages if message[1] == channel]
        if of_channel:
            self.messages.remove(of_channel[0])
            return of_channel[0][2]
        while (message := self.next("message"))[1] != channel:
            self.messages.append(message)
        return message[2]

    def is_empty(self, channel):
        """Whether no message of a channel has come."""
        # Whatever had come before the answer to this is read then.
        self.pubsub.ping()
        self.next("pong")
        return channel not in [message[1] for message in self.messages]

    def next(self, kind):
        """The next of this kind; messages before it are kept."""
        while True:
            got = self.pubsub.get_message(timeout=10)
            assert got is not None, f"no {kind} has come"
            got = [got["type"], got["channel"], got["data"]]
            if got[0] == kind:
                return got
            self.messages.append(got)
%end
%if database


def connect_to_mysql():
    return pymysql.connect(
        host=os.environ.get("MYSQL_HOST", "127.0.0.1"),
        port=int(os.environ.get("MYSQL_PORT", "3306")),
        user=os.environ.get("MYSQL_USER", "root"),
        password=os.environ.get("MYSQL_PASSWORD", ""),
        database=os.environ.get("MYSQL_DATABASE", "test"),
        autocommit=True,
%if found_rows
        client_flag=pymysql.constants.CLIENT.FOUND_ROWS,
%end
    )


def affected_rows(mysql, statement, **values):
    with mysql.cursor() as cursor:
        return cursor.execute(statement, values or None)


def rows(mysql, query, **values):
    with mysql.cursor() as cursor:
        cursor.execute(query, values or None)
        return list(cursor.fetchall())
%end
%if database one_row


def row(mysql, query, **values):
    """The first row; None where there is none."""
    return next(iter(rows(mysql, query, **values)), None)
%end
%if database values


def value(mysql, query, **values):
    """The first value of the first row; None where there is none."""
    first = row(mysql, query, **values)
    return first[0] if first else None
%end
%if starts_in_redis


def is_blocked(redis, number):
    """Whether Redis has a request of the connection with this number waiting."""
    found = redis.execute_command("CLIENT", "LIST", "ID", number)
    return "b" in found.split("flags=")[1].split()[0]
%each


def waits_at_{{server}}(client):
    with Client("operator", seen=[]) as operator:
        return is_blocked(operator.{{server}}, client.{{server}}_number)
%end
%end
%if starts_in_mysql


def waits_at_mysql(client):
    """Whether the database has a client's statement waiting for a lock."""
    number = client.mysql.thread_id()
    of_client = "SELECT state FROM information_schema.processlist WHERE id = %(number)s"
    with Client("operator", seen=[]) as operator:
        states = rows(operator.mysql, of_client, number=number)
        status = rows(operator.mysql, "SHOW ENGINE INNODB STATUS")[0][2]
    waiting = [part for part in status.split("---TRANSACTION") if "LOCK WAIT" in part]
    is_waiting = any(f"thread id {number}," in part for part in waiting)
    return is_waiting or ("User lock",) in states
%end
%if withdraws starts_in_redis
%each


def end_wait_at_{{server}}(client):
    with Client("operator", seen=[]) as operator:
        end = ("CLIENT", "UNBLOCK", client.{{server}}_number, "ERROR")
        operator.{{server}}.execute_command(*end)
%end
%end
%if withdraws starts_in_mysql


def end_wait_at_mysql(client):
    with Client("operator", seen=[]) as operator:
        affected_rows(operator.mysql, f"KILL QUERY {client.mysql.thread_id()}")
%end


def error_code(reply):
    """The word or the number that names an error; None for a reply that is none."""
%if database
    if isinstance(reply, pymysql.MySQLError):
        return f"ERROR {reply.args[0]}"
%end
    if isinstance(reply, Exception):
        word = str(reply).split()[0]
        return word if word.isupper() else "ERR"
    return None


class Client:
    """Somebody with connections of their own; whatever they are told is noted."""

    def __init__(self, name, seen):
        self.name = name
        self.seen = seen
%if clock
        self.clock = Clock()
%end
        self.connect()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def connect(self):
        """Opens connections of its own."""
%if store !several
        self.redis = connect_to_redis()
%end
%if store several
%each
        self.{{server}} = connect_to_redis("REDIS_URL{{suffix}}", {{place}})
%end
%end
%if starts_in_redis
%each
        self.{{server}}_number = self.{{server}}.execute_command("CLIENT", "ID")
%end
%end
%if listens !several
        self.inbox = Inbox(connect_to_redis())
%end
%if listens several
        self.inbox = Inbox(connect_to_redis("REDIS_URL", 0))
%end
%if database
        self.mysql = connect_to_mysql()
%end
%if !store !database
        self.upcoming = None
%end

    def close(self):
        """Closes them, as a crash would; what is not committed is rolled back."""
%if store
%each
        self.{{server}}.close()
%end
%end
%if listens
        self.inbox.close()
%end
%if database
        if self.mysql.open:
            self.mysql.close()
%end
%if !store !database
        self.upcoming = None
%end
%if routines

    def runs(self, protocol):
        """Begins an attempt, and has its first request ready."""
        self.protocol = protocol
%if clock
        self.clock.clear()
%end
%if holds
        self.upcoming = next(protocol, None)

    def step(self):
        """Sends the next request, if there is one, and sees the reply."""
        self.sends()
        self.sees_the_reply()

    def sends(self):
        """Sends the next request, if there is one; the reply waits."""
        if self.upcoming is not None:
%if clock
            self.clock.sent = self.clock.now
%end
            self.reply = self.note(self.upcoming.label, self.upcoming.request)
%if loses

    def loses(self):
        """The next request gets lost."""
%if clock
        self.clock.sent = self.clock.now
%end
        self.reply = None
%end
%if delays

    def delays(self):
        """The next request stays under way."""
%if clock
        self.clock.sent = self.clock.now
%end
        self.under_way = self.upcoming
%end
%if finds_down

    def finds_it_down(self):
        """The next request finds its server down."""
        self.loses()
        self.gives_up()
%end
%end
%if !holds
        self.upcoming = next(protocol)

    def step(self, label):
        """Sends the next request, which has to be this one, and sees the reply."""
        self.sends(label)
        self.sees_the_reply()

    def sends(self, label):
        """Sends the next request, which has to be this one; the reply waits."""
        self.expects(label)
        self.reply = self.note(label, self.upcoming.request)

    def expects(self, label):
        """The next request has to be this one."""
        assert self.upcoming is not None, f"{self.name} is done before {label}"
        assert self.upcoming.label == label
%if clock
        self.clock.sent = self.clock.now
%end
%if loses

    def loses(self, label):
        """The next request, which has to be this one, gets lost."""
        self.expects(label)
%end
%if delays

    def delays(self, label):
        """The next request, which has to be this one, stays under way."""
        self.expects(label)
        self.under_way = self.upcoming
%end
%if finds_down

    def finds_it_down(self, label):
        """The next request, which has to be this one, finds its server down."""
        self.loses(label)
        self.gives_up()
%end
%end
%if delivers

    def delivers(self):
        """What has been under way comes to its server; the reply waits."""
        self.reply = self.note(self.under_way.label, self.under_way.request)
%end
%if waits

    def waits_for_a_message(self, label, channel):
        """The next request, which has to be this one, waits: no message has come."""
        self.expects(label)
        assert self.inbox.is_empty(channel)
%end
%if told holds

    def is_told(self, reply):
        """The next request is answered by the schedule."""
        self.reply = reply
        self.sees_the_reply()
%end
%if told !holds

    def is_told(self, label, reply):
        """The next request, which has to be this one, is answered by the schedule."""
        self.expects(label)
        self.reply = reply
        self.sees_the_reply()
%end
%if gives_up

    def gives_up(self):
        """Waits no longer for the reply."""
        self.reply = NO_REPLY
        self.sees_the_reply()
%end

    def sees_the_reply(self):
        """Hands the reply to the protocol, which has its next request ready then."""
%if holds
        if self.upcoming is None:
            return
%end
        failed = isinstance(self.reply, Exception)
        proceed = self.protocol.throw if failed else self.protocol.send
        try:
            self.upcoming = proceed(self.reply)
        except StopIteration:
            self.upcoming = None
        except Exception as error:
            if error is not self.reply:
                raise
            self.upcoming = None
%end
%if asks

    def asks(self, what, request):
        """Sends what is typed at a console, and notes the reply."""
        self.note(what, request)
%end
%if starts_steps holds

    def starts(self, is_waiting):
        """Sends the next request, if there is one, which may have to wait."""
        self.what = None
        if self.upcoming is not None:
%if clock
            self.clock.sent = self.clock.now
%end
            self.starts_asking(self.upcoming.label, self.upcoming.request, is_waiting)
%end
%if starts_steps !holds

    def starts(self, label, is_waiting):
        """Sends the next request, which has to be this one; it waits for somebody."""
        self.expects(label)
        self.starts_asking(label, self.upcoming.request, is_waiting)
%end
%if starts

    def starts_asking(self, what, request, is_waiting):
        """Sends a request in a thread of its own, and sees that it waits."""
        self.what = what
        self.thread = ThreadPoolExecutor(max_workers=1)
        self.answer = self.thread.submit(request)
        deadline = monotonic() + 10
        while not is_waiting(self):
%if holds
            if wait([self.answer], timeout=0.05).done:
                break
%end
%if !holds
            assert not wait([self.answer], timeout=0.05).done, f"{what} does not wait"
%end
            assert monotonic() < deadline, f"{what} does neither wait nor end"

    def hears(self):
        """What has waited is answered; the reply is noted, and waits to be seen."""
%if holds
        if self.what is None:
            return
%end
        self.reply = self.note(self.what, lambda: self.answer.result(timeout=10))
        self.thread.shutdown()
%end
%if withdraws

    def withdraws(self, end_wait):
        """Waits no longer: the server gives the request up, and nobody hears of it."""
%if holds
        if self.what is None:
            return
%end
        end_wait(self)
        self.thread.shutdown()
%end

    def note(self, what, request):
        """Sends a request, and notes the reply."""
        try:
            reply = request()
        except {{errors}} as error:
            reply = error
        self.seen.append((self.name, what, error_code(reply) or reply))
        return reply
%if replies


def replies(seen, client, step, element=None):
    """The replies that a client got to a step, or one element of each."""
    found = [reply for who, what, reply in seen if (who, what) == (client, step)]
    return found if element is None else [reply[element] for reply in found]
%end
%if latches


def wait_for(latch):
    assert latch.wait(timeout=10), "the others never came as far as this waits for"
%end


def run_together(*parts):
    """Runs each part in a thread of its own; the first failure is raised."""
    with ThreadPoolExecutor(max_workers=len(parts)) as threads:
        for part in as_completed([threads.submit(part) for part in parts]):
            part.result()


@pytest.fixture
def operator():
    """Somebody with connections of their own, who sets everything up and cleans up."""
    with Client("operator", seen=[]) as operator:
%if keys
%each
        taken = [key for key in KEYS if operator.{{server}}.exists(key)]
        assert not taken, f"Redis has these keys already: {taken}"
%end
%end
%if tables
        present = {table for (table,) in rows(operator.mysql, "SHOW TABLES")}
        taken = present.intersection(TABLES)
        assert not taken, f"the database has these tables already: {taken}"
%end
        try:
%if statements
            for statement in STATEMENTS:
                affected_rows(operator.mysql, statement)
%end
            %commands
            yield operator
        finally:
%if tables
            for table in TABLES:
                affected_rows(operator.mysql, f"DROP TABLE IF EXISTS `{table}`")
%end
%if keys
%each
            operator.{{server}}.delete(*KEYS)
%end
%end
%if !tables !keys
            pass
%end


def test_{{test}}(operator):
    seen = operator.seen
%if gateway
    gateway = Gateway()
%end
%if sells
    sales = []
%end
%if left
    left = []
%end
%if deadlines
    times_to_live = []
%end
    %latches
    %parts

    %together
%if !holds

    %seen
    %end_state
%end
    %claims
