package redis.clients.jedis;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.params.SetParams;
import redis.clients.jedis.util.SafeEncoder;

/**
 * As much of Jedis as the exported tests call, for machines where Jedis is not to be had: one connection that sends commands and
 * reads replies of RESP 2.
 */
public class Jedis implements AutoCloseable {
  private final Socket socket;
  private final DataInputStream replies;

  /** Connects to redis://HOST:PORT/DB. */
  public Jedis(String url) {
    URI address = URI.create(url);
    try {
      socket = new Socket(address.getHost(), address.getPort());
      replies = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    ask("SELECT", address.getPath().substring(1));
  }

  @Override
  public void close() {
    try {
      socket.close();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  /** Sends a command; the reply is as Redis sends it, texts in bytes. */
  public Object sendCommand(ProtocolCommand command, String... arguments) {
    return sent(SafeEncoder.encode(command.getRaw()), arguments);
  }

  public long append(String key, String value) {
    return number("APPEND", key, value);
  }

  public long decr(String key) {
    return number("DECR", key);
  }

  public long decrBy(String key, long decrement) {
    return number("DECRBY", key, "" + decrement);
  }

  public long del(String... keys) {
    return number("DEL", keys);
  }

  public long del(String key) {
    return number("DEL", key);
  }

  public Object eval(String script, int keyCount, String... params) {
    return ask("EVAL", with(params, script, "" + keyCount));
  }

  public Object evalsha(String sha1, int keyCount, String... params) {
    return ask("EVALSHA", with(params, sha1, "" + keyCount));
  }

  public long exists(String... keys) {
    return number("EXISTS", keys);
  }

  public boolean exists(String key) {
    return number("EXISTS", key) == 1;
  }

  public long expire(String key, long seconds) {
    return number("EXPIRE", key, "" + seconds);
  }

  public String get(String key) {
    return text("GET", key);
  }

  public String getDel(String key) {
    return text("GETDEL", key);
  }

  public long hdel(String key, String... fields) {
    return number("HDEL", with(fields, key));
  }

  public String hget(String key, String field) {
    return text("HGET", key, field);
  }

  public long hincrBy(String key, String field, long value) {
    return number("HINCRBY", key, field, "" + value);
  }

  public long hlen(String key) {
    return number("HLEN", key);
  }

  public long hset(String key, String field, String value) {
    return number("HSET", key, field, value);
  }

  public long incr(String key) {
    return number("INCR", key);
  }

  public long incrBy(String key, long increment) {
    return number("INCRBY", key, "" + increment);
  }

  public String lindex(String key, long index) {
    return text("LINDEX", key, "" + index);
  }

  public long llen(String key) {
    return number("LLEN", key);
  }

  public String lpop(String key) {
    return text("LPOP", key);
  }

  public long lpush(String key, String... values) {
    return number("LPUSH", with(values, key));
  }

  public List<String> lrange(String key, long start, long stop) {
    return texts("LRANGE", key, "" + start, "" + stop);
  }

  public long persist(String key) {
    return number("PERSIST", key);
  }

  public long pexpire(String key, long milliseconds) {
    return number("PEXPIRE", key, "" + milliseconds);
  }

  public long pttl(String key) {
    return number("PTTL", key);
  }

  public long publish(String channel, String message) {
    return number("PUBLISH", channel, message);
  }

  public String rpop(String key) {
    return text("RPOP", key);
  }

  public long rpush(String key, String... values) {
    return number("RPUSH", with(values, key));
  }

  public long sadd(String key, String... members) {
    return number("SADD", with(members, key));
  }

  public long scard(String key) {
    return number("SCARD", key);
  }

  public String set(String key, String value) {
    return text("SET", key, value);
  }

  public String set(String key, String value, SetParams params) {
    return text("SET", with(params.words().toArray(new String[0]), key, value));
  }

  public long setnx(String key, String value) {
    return number("SETNX", key, value);
  }

  public long strlen(String key) {
    return number("STRLEN", key);
  }

  public long ttl(String key) {
    return number("TTL", key);
  }

  public String type(String key) {
    return text("TYPE", key);
  }

  public long zcard(String key) {
    return number("ZCARD", key);
  }

  public List<String> zrange(String key, long start, long stop) {
    return texts("ZRANGE", key, "" + start, "" + stop);
  }

  /** Blocks until nothing is subscribed to any longer. */
  public void subscribe(JedisPubSub subscriptions, String... channels) {
    subscriptions.proceed(this, "SUBSCRIBE", channels);
  }

  /** The same for patterns. */
  public void psubscribe(JedisPubSub subscriptions, String... patterns) {
    subscriptions.proceed(this, "PSUBSCRIBE", patterns);
  }

  /** Sends a command; what it causes comes as a push. */
  void push(String command, String... arguments) {
    try {
      send(command, arguments);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  /** The next push. */
  List<?> pushed() {
    try {
      return (List<?>) SafeEncoder.encodeObject(read());
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private static String[] with(String[] rest, String... first) {
    List<String> all = new ArrayList<>(List.of(first));
    all.addAll(List.of(rest));
    return all.toArray(new String[0]);
  }

  private Object ask(String command, String... arguments) {
    return SafeEncoder.encodeObject(sent(command, arguments));
  }

  private long number(String command, String... arguments) {
    return (Long) ask(command, arguments);
  }

  private String text(String command, String... arguments) {
    return (String) ask(command, arguments);
  }

  @SuppressWarnings("unchecked")
  private List<String> texts(String command, String... arguments) {
    return (List<String>) ask(command, arguments);
  }

  private Object sent(String command, String... arguments) {
    try {
      send(command, arguments);
      Object reply = read();
      if (reply instanceof JedisDataException error) {
        throw error;
      }
      return reply;
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private void send(String command, String... arguments) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.write(SafeEncoder.encode("*" + (arguments.length + 1) + "\r\n"));
    for (String word : with(arguments, command)) {
      byte[] bytes = SafeEncoder.encode(word);
      out.write(SafeEncoder.encode("$" + bytes.length + "\r\n"));
      out.write(bytes);
      out.write(SafeEncoder.encode("\r\n"));
    }
    out.writeTo(socket.getOutputStream());
  }

  private Object read() throws IOException {
    int kind = replies.readUnsignedByte();
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    for (int next = replies.readUnsignedByte(); next != '\n'; next = replies.readUnsignedByte()) {
      if (next != '\r') {
        line.write(next);
      }
    }
    String rest = line.toString();
    switch (kind) {
      case '+':
        return line.toByteArray();
      case '-':
        return new JedisDataException(rest);
      case ':':
        return Long.valueOf(rest);
      default:
        int length = Integer.parseInt(rest);
        if (length < 0) {
          return null;
        }
        return kind == '$' ? bulk(length) : array(length);
    }
  }

  private byte[] bulk(int length) throws IOException {
    byte[] bytes = new byte[length];
    replies.readFully(bytes);
    replies.readFully(new byte[2]);
    return bytes;
  }

  private List<Object> array(int length) throws IOException {
    List<Object> items = new ArrayList<>();
    while (items.size() < length) {
      items.add(read());
    }
    return items;
  }
}
