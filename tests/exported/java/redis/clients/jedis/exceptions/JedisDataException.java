package redis.clients.jedis.exceptions;

/** An error that the server sent. */
public class JedisDataException extends RuntimeException {
  public JedisDataException(String message) {
    super(message);
  }
}
