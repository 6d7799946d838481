/*
 * {{title}}.
%header
 */

import static java.util.Arrays.asList;
import static java.util.Collections.nCopies;
import static java.util.Collections.singletonList;
import static java.util.Collections.synchronizedList;
import static java.util.concurrent.TimeUnit.SECONDS;
import static java.util.stream.Collectors.toList;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static redis.clients.jedis.params.SetParams.setParams;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.SafeEncoder;

class {{class}} {
  %scripts
  %settings

  /** What they were told, in the order in which they were. */
  private final List<Saw> seen = synchronizedList(new ArrayList<>());

%if gateway
  private final Gateway gateway = new Gateway();
%end
%if sells
  private final List<String> sales = synchronizedList(new ArrayList<>());
%end
%if left
  private final List<Boolean> left = synchronizedList(new ArrayList<>());
%end
%if deadlines
  private final List<Long> timesToLive = synchronizedList(new ArrayList<>());
%end
  private Client operator;
  private boolean isOurs;

  %latches

  @BeforeEach
  void setUp() throws Exception {
    operator = new Client("operator");
%if keys !several
    long taken = operator.redis.exists(KEYS);
    assertEquals(0, taken, "Redis has its keys already");
%end
%if keys several
    long taken = 0;
%each
    taken += operator.{{server}}.exists(KEYS);
%end
    assertEquals(0, taken, "Redis has its keys already");
%end
%if tables
    for (String table : TABLES) {
      Object tables = rows(operator.mysql, "SHOW TABLES LIKE '" + table + "'");
      assertEquals(list(), tables, "the database has its tables already");
    }
%end
    isOurs = true;
%if statements
    for (String statement : STATEMENTS) {
      update(operator.mysql, statement);
    }
%end
    %commands
  }

  @AfterEach
  void cleanUp() throws Exception {
    if (isOurs) {
%if tables
      for (String table : TABLES) {
        update(operator.mysql, "DROP TABLE IF EXISTS `" + table + "`");
      }
%end
%if keys
%each
      operator.{{server}}.del(KEYS);
%end
%end
    }
    operator.close();
  }

  %routines
  %parts

  @Test
  void {{test}}() throws Exception {
    %together
%if !holds

    %seen
    assertArrayEquals(expected, seen.toArray());
    %end_state
%end
    %claims
  }

  /** Runs each part in a thread of its own; the first that fails ends the test. */
  private static void runTogether(Part... parts) throws Exception {
    ExecutorService threads = Executors.newCachedThreadPool();
    ExecutorCompletionService<Void> done = new ExecutorCompletionService<>(threads);
    try {
      for (Part part : parts) {
        done.submit(
            () -> {
              part.run();
              return null;
            });
      }
      for (Part part : parts) {
        done.take().get();
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private static void waitFor(CountDownLatch latch) throws InterruptedException {
    assertTrue(latch.await(10, SECONDS), "the others never came as far as this waits for");
  }

  private static List<Object> list(Object... items) {
    return items == null ? singletonList(null) : asList(items);
  }

  /** The replies that a client got to a step. */
  private List<Object> replies(String client, String step) {
    return seen.stream()
        .filter(saw -> saw.who().equals(client) && saw.what().equals(step))
        .map(Saw::reply)
        .collect(toList());
  }

  @SafeVarargs
  private static <T> List<T> concat(List<T>... lists) {
    return Stream.of(lists).flatMap(List::stream).collect(toList());
  }

  private static boolean isZero(Object reply) {
    return Objects.equals(reply, 0L);
  }

  private static long number(Object reply) {
    return Long.parseLong(String.valueOf(reply));
  }

  private static List<Long> numbers(List<?> replies) {
    return replies.stream().map(reply -> number(reply)).collect(toList());
  }

  private static boolean isSorted(List<Long> numbers) {
    return numbers.equals(numbers.stream().sorted().collect(toList()));
  }

  private static boolean areDifferent(List<?> items) {
    return new HashSet<>(items).size() == items.size();
  }

  /** One element of each of these replies. */
  private static List<Object> elements(List<Object> replies, int place) {
    return replies.stream().map(reply -> element(reply, place)).collect(toList());
  }

  private static Object element(Object reply, int place) {
    return ((List<?>) reply).get(place);
  }

  /** What was seen there, if it is within a second of what is expected. */
  private Object near(long expected, int place, int... elements) {
    if (place >= seen.size()) {
      return expected;
    }
    Object reply = seen.get(place).reply();
    for (int element : elements) {
      reply = element(reply, element);
    }
    return reply instanceof Long number && Math.abs(number - expected) <= 1000 ? reply : expected;
  }

  private static void assertLapsesAfter(Jedis redis, String key, long milliseconds) {
    long left = redis.pttl(key);
    assertTrue(left > milliseconds, key + " lapses in " + left + " ms");
  }

  private static String sha1Of(String script) throws Exception {
    byte[] source = script.getBytes(StandardCharsets.UTF_8);
    return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-1").digest(source));
  }
%if store !several

  private static Jedis connectToRedis() {
    return new Jedis(setting("REDIS_URL", "redis://127.0.0.1:6379/0"));
  }
%end
%if store several

  private static Jedis connectToRedis(String variable, int database) {
    return new Jedis(setting(variable, "redis://127.0.0.1:6379/" + database));
  }
%end

  /** A command as Redis knows it, and the reply as Redis sends it. */
  private static Object command(Jedis redis, String name, String... arguments) {
    return decoded(redis.sendCommand(() -> SafeEncoder.encode(name), arguments));
  }

  private static Object decoded(Object reply) {
    if (reply instanceof byte[] text) {
      return SafeEncoder.encode(text);
    }
    if (reply instanceof List<?> items) {
      return items.stream().map(item -> decoded(item)).collect(toList());
    }
    return reply instanceof Exception error ? codeOf(error) : reply;
  }
%if database

  private static Connection connectToMySql() throws SQLException {
    String host = setting("MYSQL_HOST", "127.0.0.1");
    String port = setting("MYSQL_PORT", "3306");
    String database = setting("MYSQL_DATABASE", "test");
%if found_rows
    String options = "?tinyInt1isBit=false&useAffectedRows=false";
%end
%if !found_rows
    String options = "?tinyInt1isBit=false&useAffectedRows=true";
%end
    return DriverManager.getConnection(
        "jdbc:mysql://" + host + ":" + port + "/" + database + options,
        setting("MYSQL_USER", "root"),
        setting("MYSQL_PASSWORD", ""));
  }

  private static PreparedStatement prepared(Connection mysql, String statement, Object... values)
      throws SQLException {
    PreparedStatement prepared = mysql.prepareStatement(statement);
    for (int place = 0; place < values.length; place++) {
      prepared.setObject(place + 1, values[place]);
    }
    return prepared;
  }

  /** How many rows a statement changed. */
  private static Object update(Connection mysql, String statement, Object... values)
      throws SQLException {
    try (PreparedStatement prepared = prepared(mysql, statement, values)) {
      return (long) prepared.executeUpdate();
    }
  }

  private static List<Object> rows(Connection mysql, String query, Object... values)
      throws SQLException {
    try (PreparedStatement prepared = prepared(mysql, query, values);
        ResultSet found = prepared.executeQuery()) {
      List<Object> rows = new ArrayList<>();
      while (found.next()) {
        List<Object> row = new ArrayList<>();
        for (int column = 1; column <= found.getMetaData().getColumnCount(); column++) {
          row.add(cell(found, column));
        }
        rows.add(row);
      }
      return rows;
    }
  }

  /** A value of the database: a whole number as one, anything else as its text. */
  private static Object cell(ResultSet row, int column) throws SQLException {
    String text = row.getString(column);
    return switch (row.getMetaData().getColumnType(column)) {
      case Types.TINYINT, Types.SMALLINT, Types.INTEGER, Types.BIGINT ->
          text == null ? null : Long.valueOf(text);
      default -> text;
    };
  }
%end
%if database one_row

  /** The first row; null where there is none. */
  private static Object row(Connection mysql, String query, Object... values) throws SQLException {
    return rows(mysql, query, values).stream().findFirst().orElse(null);
  }
%end
%if database values

  /** The first value of the first row; null where there is none. */
  private static Object value(Connection mysql, String query, Object... values)
      throws SQLException {
    return row(mysql, query, values) instanceof List<?> row ? row.get(0) : null;
  }
%end
%if servers

  private static String setting(String name, String usual) {
    return System.getenv().getOrDefault(name, usual);
  }
%end

  /** The word or the number that names an error. */
  private static String codeOf(Exception error) {
%if database
    if (error instanceof SQLException refused) {
      return "ERROR " + refused.getErrorCode();
    }
%end
    return String.valueOf(error.getMessage()).split(" ")[0];
  }

  private static boolean isRefused(Object reply, String code) {
    return reply instanceof Exception error && codeOf(error).equals(code);
  }

%if listens
  /** A client's subscriptions, on a connection and a thread of their own, and what has come. */
  private static final class Inbox {
%if !several
    private final Jedis redis = connectToRedis();
%end
%if several
    private final Jedis redis = connectToRedis("REDIS_URL", 0);
%end
    private final BlockingQueue<List<Object>> pushed = new LinkedBlockingQueue<>();
    private final List<List<Object>> messages = new ArrayList<>();
    private Thread listener;

    private final JedisPubSub subscriptions =
        new JedisPubSub() {
          @Override
          public void onSubscribe(String channel, int count) {
            pushed.add(list("subscribe", channel, (long) count));
          }

          @Override
          public void onUnsubscribe(String channel, int count) {
            pushed.add(list("unsubscribe", channel, (long) count));
          }

          @Override
          public void onMessage(String channel, String message) {
            pushed.add(list("message", channel, message));
          }

          @Override
          public void onPong(String text) {
            pushed.add(list("pong", text));
          }
        };

    /** Hears nothing any longer. */
    void close() throws InterruptedException {
      if (subscriptions.isSubscribed()) {
        subscriptions.unsubscribe();
        listener.join();
      }
      redis.close();
    }

    /** Begins to listen; the reply as Redis sends it. */
    List<Object> subscribe(String channel) throws InterruptedException {
      if (subscriptions.isSubscribed()) {
        subscriptions.subscribe(channel);
      } else {
        listener = new Thread(() -> redis.subscribe(subscriptions, channel), "subscriptions");
        listener.setDaemon(true);
        listener.start();
      }
      return next("subscribe");
    }
%if unsubscribes

    /** Ends it. */
    List<Object> unsubscribe(String channel) throws InterruptedException {
      if (!subscriptions.isSubscribed()) {
        return list("unsubscribe", channel, 0L);
      }
      subscriptions.unsubscribe(channel);
      List<Object> reply = next("unsubscribe");
      if (!subscriptions.isSubscribed()) {
        listener.join();
      }
      return reply;
    }
%end
%if awaits

    /** The next message of a channel: one that has come, or the next to come. */
    Object message(String channel) throws InterruptedException {
      while (first(channel).isEmpty()) {
        messages.add(next("message"));
      }
      List<Object> message = first(channel).get();
      messages.remove(message);
      return message.get(2);
    }
%end
%if waits

    /** Whether no message of a channel has come. */
    boolean isEmpty(String channel) throws InterruptedException {
      if (subscriptions.isSubscribed()) {
        // Whatever had come before the answer to this is read then.
        subscriptions.ping();
        next("pong");
      }
      return first(channel).isEmpty();
    }
%end
%if awaits

    private Optional<List<Object>> first(String channel) {
      return messages.stream().filter(message -> message.get(1).equals(channel)).findFirst();
    }
%end

    /** The next of this kind; messages before it are kept. */
    private List<Object> next(String kind) throws InterruptedException {
      while (true) {
        List<Object> event = pushed.poll(10, SECONDS);
        assertNotNull(event, "no " + kind + " has come");
        if (event.get(0).equals(kind)) {
          return event;
        }
        messages.add(event);
      }
    }
  }

%end
%if no_reply_clauses
  /** What a client learns that has waited for a reply in vain. */
  private static final class NoReply extends Exception {}

%end
%if clock
  /** A client's own clock, in milliseconds, and what the client keeps by it. */
  private static final class Clock {
    private long now;
    private long sent;
%if looks
    private final Map<String, Long> until = new HashMap<>();
%end
%if votes
    private final Map<String, Ballot> ballots = new HashMap<>();

    private static final class Ballot {
      private final long began;
      private long counted;

      Ballot(long began) {
        this.began = began;
      }
    }
%end

    /** Begins an attempt, which counts on no lock yet. */
    void clear() {
%if looks
      until.clear();
%end
%if votes
      ballots.clear();
%end
    }

    /** The schedule says how far it goes. */
    void passes(long milliseconds) {
      now += milliseconds;
    }
%if looks

    /** Counts on a lock for so long, from when the last request was sent. */
    void holds(String lock, long milliseconds) {
      until.put(lock, sent + milliseconds);
    }

    /** Counts on a lock no longer. */
    void forgets(String lock) {
      until.remove(lock);
    }

    /** Whether the time is over for which a lock can be counted on. */
    String look(String lock) {
      return now < until.getOrDefault(lock, now) ? "held" : "lapsed";
    }
%end
%if votes

    /** The last request was for a vote; the first one of them begins the lease. */
    void asksFor(String lock) {
      ballots.computeIfAbsent(lock, unknown -> new Ballot(sent));
    }

    /** A server has granted the lock. */
    void countsAVoteFor(String lock) {
      ballots.get(lock).counted++;
    }

    /** What is left of the lease; null where too few have voted, or it is over. */
    Long quorum(long votes, String lock, long lease, long drift) {
      Ballot ballot = ballots.remove(lock);
      if (ballot == null || ballot.counted < votes) {
        return null;
      }
      long left = lease - (now - ballot.began) - drift;
      return left > 0 ? left : null;
    }
%end
  }

%end
  /** What somebody was told. */
  private record Saw(String who, String what, Object reply) {}

  private interface Part {
    void run() throws Exception;
  }
%if gateway

  private record Charge(String order, long amount, boolean isRefunded) {}

  private static final class GatewayException extends Exception {
    GatewayException(String message) {
      super(message);
    }
  }

  /** A card gateway in memory; with a key that it knows it does not charge again. */
  private static final class Gateway {
    private final List<Charge> charges = new ArrayList<>();
    private final Map<Object, String> names = new HashMap<>();

    /** Charges a card, and gives the charge's name. */
    synchronized String charge(Object order, long amount) {
      charges.add(new Charge(String.valueOf(order), amount, false));
      return "ch-" + charges.size();
    }

    /** The same, but once for each key. */
    synchronized String charge(Object order, long amount, Object key) {
      return names.computeIfAbsent(key, unknown -> charge(order, amount));
    }

    /** Gives a charge back, by its name or by that of its order. */
    synchronized String refund(Object name) throws GatewayException {
      for (int place = charges.size() - 1; place >= 0; place--) {
        Charge charge = charges.get(place);
        boolean isMeant = name.equals(charge.order()) || name.equals("ch-" + (place + 1));
        if (isMeant && !charge.isRefunded()) {
          charges.set(place, new Charge(charge.order(), charge.amount(), true));
          return "OK";
        }
      }
      throw new GatewayException("ERR nothing to refund for " + name);
    }

    /** The orders that are paid, once for each charge. */
    List<String> paid() {
      return charges.stream()
          .filter(charge -> !charge.isRefunded())
          .map(Charge::order)
          .collect(toList());
    }
  }
%end
%if routines

  private interface Protocol {
    void run(Steps steps) throws Exception;
  }

  /** Where a protocol waits for the schedule: before each request, and before it sees the reply. */
  private final class Steps {
    private final String client;
    private final Semaphore isReady = new Semaphore(0);
    private final Semaphore maySend = new Semaphore(0);
    private final Semaphore isAnswered = new Semaphore(0);
    private final Semaphore maySee = new Semaphore(0);
    private volatile String upcoming;
%if starts_steps
    private final Semaphore mayNote = new Semaphore(0);
    private volatile boolean isHeldBack;
    private volatile boolean isHere;
%end
%if gives_up
    private volatile boolean isLost;
%end
%if told
    private volatile boolean isTold;
    private volatile Object told;
%end

    Steps(String client) {
      this.client = client;
    }

    /** Waits until the schedule sends this request. */
%if no_reply_clauses
    void next(String label) throws InterruptedException, NoReply {
%end
%if !no_reply_clauses
    void next(String label) throws InterruptedException {
%end
      upcoming = label;
      isReady.release();
      maySend.acquire();
%if gives_up
      failIfLost();
%end
    }

    /** Notes the reply, and waits until the schedule has it seen. */
%if no_reply_clauses
    <T> T seen(T reply) throws InterruptedException, NoReply {
%end
%if !no_reply_clauses
    <T> T seen(T reply) throws InterruptedException {
%end
%if starts_steps
      isHere = true;
      if (isHeldBack) {
        mayNote.acquire();
        isHeldBack = false;
      }
%end
%if told
      if (!isTold) {
        note(client, upcoming, reply);
      }
      isTold = false;
%end
%if !told
      note(client, upcoming, reply);
%end
      upcoming = null;
      isAnswered.release();
      maySee.acquire();
%if gives_up
      failIfLost();
%end
      return reply;
    }
%if told

    /** The answer to a command; where the schedule says it, no server is asked. */
    Object answer(Jedis redis, String name, String... arguments) {
      return isTold ? told : command(redis, name, arguments);
    }
%end
%if gives_up

    private void failIfLost() throws NoReply {
      if (isLost) {
        isLost = false;
        upcoming = null;
        throw new NoReply();
      }
    }
%end

    /** Runs a protocol to its end; an error that it does not handle ends it. */
    void run(Protocol protocol) {
      try {
        try {
          protocol.run(this);
        } catch (InterruptedException crashed) {
          throw crashed;
        } catch (Exception error) {
          if (upcoming != null) {
            seen(error);
          }
        }
      } catch (InterruptedException crashed) {
        Thread.currentThread().interrupt();
%if no_reply_clauses
      } catch (NoReply lost) {
        // The attempt ends all the same.
%end
      }
      upcoming = null;
      isReady.release();
    }
  }
%end

  private void note(String who, String what, Object reply) {
    seen.add(new Saw(who, what, reply instanceof Exception error ? codeOf(error) : reply));
  }

  /** Somebody with connections of their own; whatever they are told is noted. */
  private final class Client implements AutoCloseable {
    private final String name;
%if store
%each
    private Jedis {{server}};
%end
%end
%if database
    private Connection mysql;
%end
%if listens
    private Inbox inbox;
%end
%if clock
    private final Clock clock = new Clock();
%end
%if routines
    private Steps steps;
    private Thread attempt;
    private boolean hasReply;
%end
%if starts
    private final Map<String, Object> numbers = new HashMap<>();
    private String what;
    private FutureTask<Object> answer;
%end

    Client(String name) throws Exception {
      this.name = name;
      connect();
    }

    /** Opens connections of its own. */
    void connect() throws Exception {
%if store !several
      redis = connectToRedis();
%end
%if store several
%each
      {{server}} = connectToRedis("REDIS_URL{{suffix}}", {{place}});
%end
%end
%if listens
      inbox = new Inbox();
%end
%if database
      mysql = connectToMySql();
%end
%if starts_in_redis
%each
      numbers.put("{{server}}", command({{server}}, "CLIENT", "ID"));
%end
%end
%if starts_in_mysql
      numbers.put("mysql", element(rows(mysql, "SELECT CONNECTION_ID()").get(0), 0));
%end
    }

    /** Closes them, as a crash would; what is not committed is rolled back. */
    @Override
    public void close() throws Exception {
%if routines
      if (attempt != null) {
        attempt.interrupt();
      }
      steps = null;
      hasReply = false;
%end
%if store
%each
      {{server}}.close();
%end
%end
%if listens
      inbox.close();
%end
%if database
      mysql.close();
%end
    }
%if asks_or_delivers

    /** Sends what is typed at a console; an error is a reply like any other. */
    void asks(String what, Callable<Object> request) {
      Object reply;
      try {
        reply = request.call();
      } catch (Exception error) {
        reply = error;
      }
      note(name, what, reply);
    }
%end
%if starts

    /** Sends what is typed at a console in a thread of its own, and sees that it waits. */
    void startsAsking(String source, String server, Callable<Object> request) throws Exception {
      FutureTask<Object> asked = new FutureTask<>(request);
      new Thread(asked, source).start();
      what = source;
      answer = asked;
      waitsAt(server, asked::isDone);
    }

    private void waitsAt(String server, BooleanSupplier isAnswered) throws Exception {
      long deadline = System.nanoTime() + SECONDS.toNanos(10);
      try (Client operator = new Client("operator")) {
%if holds
        while (!isAnswered.getAsBoolean() && !isWaiting(server, operator)) {
%end
%if !holds
        while (!isWaiting(server, operator)) {
          assertFalse(isAnswered.getAsBoolean(), what + " does not wait");
%end
          assertTrue(System.nanoTime() < deadline, what + " neither waits nor ends");
        }
      }
    }

    /** Whether a server has a request of this client waiting. */
    private boolean isWaiting(String server, Client operator) throws Exception {
      Object number = numbers.get(server);
%if starts_in_mysql
      if (server.equals("mysql")) {
        String ofClient = "SELECT state FROM information_schema.processlist WHERE id = ?";
        List<Object> states = rows(operator.mysql, ofClient, number);
        Object status = element(rows(operator.mysql, "SHOW ENGINE INNODB STATUS").get(0), 2);
        return states.contains(list("User lock"))
            || Stream.of(String.valueOf(status).split("---TRANSACTION"))
                .filter(part -> part.contains("LOCK WAIT"))
                .anyMatch(part -> part.contains("thread id " + number + ","));
      }
%end
%if starts_in_redis
      Object found = null;
%each
      if (server.equals("{{server}}")) {
        found = command(operator.{{server}}, "CLIENT", "LIST", "ID", String.valueOf(number));
      }
%end
      return String.valueOf(found).matches("(?s).*flags=\\S*b.*");
%end
%if !starts_in_redis
      return false;
%end
    }

    /** What has waited is answered; the reply is noted, and waits to be seen. */
    void hears() throws Exception {
      if (what == null) {
        return;
      }
%if starts_steps
      if (answer == null) {
        steps.mayNote.release();
        waitFor(steps.isAnswered);
        hasReply = true;
        what = null;
        return;
      }
%end
      Object reply;
      try {
        reply = answer.get(10, SECONDS);
      } catch (ExecutionException failed) {
        reply = failed.getCause();
      }
      note(name, what, reply);
      answer = null;
      what = null;
    }
%end
%if withdraws

    /** Waits no longer: the server gives the request up, and nobody hears of it. */
    void withdraws(String server) throws Exception {
      if (what == null) {
        return;
      }
      String number = String.valueOf(numbers.get(server));
      try (Client operator = new Client("operator")) {
%if starts_in_mysql
        if (server.equals("mysql")) {
          update(operator.mysql, "KILL QUERY " + number);
        }
%end
%if starts_in_redis
%each
        if (server.equals("{{server}}")) {
          command(operator.{{server}}, "CLIENT", "UNBLOCK", number, "ERROR");
        }
%end
%end
      }
      answer = null;
      what = null;
    }
%end
%if routines

    /** Begins an attempt, and has its first request ready. */
    void runs(Protocol protocol) throws Exception {
%if clock
      clock.clear();
%end
      Steps begun = new Steps(name);
      attempt = new Thread(() -> begun.run(protocol), name);
      attempt.setDaemon(true);
      attempt.start();
      steps = begun;
      waitFor(steps.isReady);
    }

%if holds
    /** Sends the next request, if there is one, and sees the reply. */
    void step() throws Exception {
      sends();
      seesTheReply();
    }

    /** Sends the next request, if there is one; the reply waits. */
    void sends() throws Exception {
      if (steps != null && steps.upcoming != null) {
%if clock
        clock.sent = clock.now;
%end
        steps.maySend.release();
        waitFor(steps.isAnswered);
        hasReply = true;
      }
    }
%if loses

    /** The next request gets lost. */
    void loses() {
%if clock
      clock.sent = clock.now;
%end
    }
%end
%if delays

    /** The next request stays under way. */
    void delays() {
%if clock
      clock.sent = clock.now;
%end
    }
%end
%if finds_down

    /** The next request finds its server down. */
    void findsItDown() throws Exception {
      loses();
      givesUp();
    }
%end
%end
%if !holds
    /** Sends the next request, which has to be this one, and sees the reply. */
    void step(String label) throws Exception {
      sends(label);
      seesTheReply();
    }

    /** Sends the next request, which has to be this one; the reply waits. */
    void sends(String label) throws Exception {
      expects(label);
      steps.maySend.release();
      waitFor(steps.isAnswered);
      hasReply = true;
    }

    /** The next request has to be this one. */
    private void expects(String label) {
      assertEquals(label, steps.upcoming, "what " + name + " sends");
%if clock
      clock.sent = clock.now;
%end
    }
%if loses

    /** The next request, which has to be this one, gets lost. */
    void loses(String label) {
      expects(label);
    }
%end
%if delays

    /** The next request, which has to be this one, stays under way. */
    void delays(String label) {
      expects(label);
    }
%end
%if finds_down

    /** The next request, which has to be this one, finds its server down. */
    void findsItDown(String label) throws Exception {
      loses(label);
      givesUp();
    }
%end
%end
%if waits

    /** The next request, which has to be this one, waits: no message has come. */
    void waitsForAMessage(String label, String channel) throws Exception {
      expects(label);
      assertTrue(inbox.isEmpty(channel), "a message has come");
    }
%end
%if told holds

    /** The next request is answered by the schedule. */
    void isTold(Object reply) throws Exception {
      if (steps != null) {
        steps.told = reply;
        steps.isTold = true;
        step();
      }
    }
%end
%if told !holds

    /** The next request, which has to be this one, is answered by the schedule. */
    void isTold(String label, Object reply) throws Exception {
      steps.told = reply;
      steps.isTold = true;
      step(label);
    }
%end
%if gives_up

    /** Waits no longer for the reply. */
    void givesUp() throws Exception {
      if (steps == null || (steps.upcoming == null && !hasReply)) {
        return;
      }
      steps.isLost = true;
      (hasReply ? steps.maySee : steps.maySend).release();
      hasReply = false;
      waitFor(steps.isReady);
    }
%end

%if starts_steps holds
    /** Sends the next request, if there is one, which may have to wait. */
    void starts(String server) throws Exception {
      if (steps != null && steps.upcoming != null) {
%if clock
        clock.sent = clock.now;
%end
        what = steps.upcoming;
        begins(server);
      }
    }

%end
%if starts_steps !holds
    /** Sends the next request, which has to be this one, and waits for somebody else. */
    void starts(String label, String server) throws Exception {
      expects(label);
      what = label;
      begins(server);
    }

%end
%if starts_steps
    private void begins(String server) throws Exception {
      Steps asked = steps;
      asked.isHere = false;
      asked.isHeldBack = true;
      asked.maySend.release();
      waitsAt(server, () -> asked.isHere);
    }

%end
    /** Hands the reply to the protocol, which has its next request ready then. */
    void seesTheReply() throws Exception {
      if (hasReply) {
        hasReply = false;
        steps.maySee.release();
        waitFor(steps.isReady);
      }
    }

    private void waitFor(Semaphore semaphore) throws InterruptedException {
      assertTrue(semaphore.tryAcquire(10, SECONDS), name + "'s protocol does not go on");
    }
%end
  }
}
