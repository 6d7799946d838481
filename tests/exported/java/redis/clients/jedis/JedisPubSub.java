package redis.clients.jedis;

import java.util.List;

/** As much of Jedis' subscriptions as the exported tests call. */
public abstract class JedisPubSub {
  private volatile Jedis redis;
  private volatile int subscribedChannels;

  public void onMessage(String channel, String message) {}

  public void onPMessage(String pattern, String channel, String message) {}

  public void onSubscribe(String channel, int subscribedChannels) {}

  public void onUnsubscribe(String channel, int subscribedChannels) {}

  public void onPSubscribe(String pattern, int subscribedChannels) {}

  public void onPUnsubscribe(String pattern, int subscribedChannels) {}

  public void onPong(String pattern) {}

  public void subscribe(String... channels) {
    send("SUBSCRIBE", channels);
  }

  public void unsubscribe(String... channels) {
    send("UNSUBSCRIBE", channels);
  }

  public void unsubscribe() {
    send("UNSUBSCRIBE");
  }

  public void psubscribe(String... patterns) {
    send("PSUBSCRIBE", patterns);
  }

  public void punsubscribe(String... patterns) {
    send("PUNSUBSCRIBE", patterns);
  }

  public void punsubscribe() {
    send("PUNSUBSCRIBE");
  }

  public void ping() {
    send("PING");
  }

  public boolean isSubscribed() {
    return subscribedChannels > 0;
  }

  /** Subscribes by this command, and hands on what comes until nothing is subscribed to. */
  void proceed(Jedis redis, String command, String... names) {
    this.redis = redis;
    send(command, names);
    do {
      List<?> pushed = redis.pushed();
      String name = (String) pushed.get(1);
      switch ((String) pushed.get(0)) {
        case "message" -> onMessage(name, (String) pushed.get(2));
        case "pmessage" -> onPMessage(name, (String) pushed.get(2), (String) pushed.get(3));
        case "pong" -> onPong(name);
        case "subscribe" -> onSubscribe(name, count(pushed));
        case "unsubscribe" -> onUnsubscribe(name, count(pushed));
        case "psubscribe" -> onPSubscribe(name, count(pushed));
        default -> onPUnsubscribe(name, count(pushed));
      }
    } while (isSubscribed());
    this.redis = null;
  }

  private int count(List<?> pushed) {
    subscribedChannels = ((Long) pushed.get(2)).intValue();
    return subscribedChannels;
  }

  private void send(String command, String... names) {
    if (redis == null) {
      throw new IllegalStateException(this + " is not subscribed to a Jedis instance.");
    }
    redis.push(command, names);
  }
}
