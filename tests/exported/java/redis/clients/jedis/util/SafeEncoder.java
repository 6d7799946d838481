package redis.clients.jedis.util;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Texts as bytes, and back. */
public final class SafeEncoder {
  private SafeEncoder() {}

  public static byte[] encode(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  public static String encode(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  /** A reply with texts in place of bytes. */
  public static Object encodeObject(Object reply) {
    if (reply instanceof byte[] bytes) {
      return encode(bytes);
    }
    if (reply instanceof List<?> items) {
      List<Object> texts = new ArrayList<>();
      items.forEach(item -> texts.add(encodeObject(item)));
      return texts;
    }
    return reply;
  }
}
