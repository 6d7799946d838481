package redis.clients.jedis.commands;

/** The name of a command. */
public interface ProtocolCommand {
  byte[] getRaw();
}
