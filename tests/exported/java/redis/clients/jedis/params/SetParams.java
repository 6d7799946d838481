package redis.clients.jedis.params;

import java.util.ArrayList;
import java.util.List;

/** The options of SET. */
public class SetParams {
  private final List<String> words = new ArrayList<>();

  public static SetParams setParams() {
    return new SetParams();
  }

  public SetParams nx() {
    return and("NX");
  }

  public SetParams xx() {
    return and("XX");
  }

  public SetParams ex(long seconds) {
    return and("EX").and("" + seconds);
  }

  public SetParams px(long milliseconds) {
    return and("PX").and("" + milliseconds);
  }

  /** The options as they are sent. */
  public List<String> words() {
    return words;
  }

  private SetParams and(String word) {
    words.add(word);
    return this;
  }
}
