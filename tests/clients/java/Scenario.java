import java.sql.SQLException;
import java.util.Objects;
import java.util.Properties;

/** What the scenarios in Java share: checks that print their outcome. */
final class Scenario {
  static final String ENDLESS =
      "SELECT sum(a.n % b.n) FROM generate_series(1, 100000) a(n), generate_series(1, 100000) b(n)";
  static final String USER = System.getenv("PGUSER");
  static final String PASSWORD = System.getenv("PGPASSWORD");
  static final String URL =
      "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE");
  static final String TLS = URL + "?sslmode=verify-full&sslrootcert=" + System.getenv("PGSSLROOTCERT");

  interface Body {
    void run() throws Exception;
  }

  /** The credentials. */
  static Properties login() {
    Properties made = new Properties();
    made.setProperty("user", USER);
    made.setProperty("password", PASSWORD);
    return made;
  }

  /** Prints the client's version. */
  static void version(String text) {
    System.out.println("{\"version\": " + quote(text) + "}");
  }

  /** Runs a check and prints its outcome. */
  static void check(String feature, String name, Body body) {
    String error = "null";
    try {
      body.run();
    } catch (Throwable raised) {
      Throwable cause = raised;
      while (cause.getCause() != null) {
        cause = cause.getCause();
      }
      error = quote(cause.getClass().getSimpleName() + ": " + cause.getMessage());
    }
    System.out.println("{\"feature\": " + quote(feature) + ", \"check\": " + quote(name) + ", \"error\": " + error + "}");
  }

  /** Fails unless both are equal. */
  static void same(Object found, Object expected) {
    if (!Objects.deepEquals(found, expected)) {
      throw new AssertionError(found + " instead of " + expected);
    }
  }

  /** Fails unless the body is refused with this SQLSTATE. */
  static void refused(String sqlstate, Body body) throws Exception {
    try {
      body.run();
    } catch (SQLException error) {
      same(error.getSQLState(), sqlstate);
      return;
    }
    throw new AssertionError("no error " + sqlstate);
  }

  private static String quote(String text) {
    StringBuilder made = new StringBuilder("\"");
    for (char each : text.toCharArray()) {
      if (each == (char) 34 || each == (char) 92) {
        made.append((char) 92);
      }
      made.append(each < 32 ? String.format("\\u%04x", (int) each) : String.valueOf(each));
    }
    return made.append('"').toString();
  }
}
