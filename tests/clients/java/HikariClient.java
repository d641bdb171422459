// HikariCP: a pool over pgjdbc, its validation, leases by many threads.

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;

final class HikariClient {
  static HikariDataSource open(String url) {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(url);
    config.setUsername(Scenario.USER);
    config.setPassword(Scenario.PASSWORD);
    config.setMaximumPoolSize(4);
    config.setAutoCommit(false);
    config.setReadOnly(false);
    config.setTransactionIsolation("TRANSACTION_REPEATABLE_READ");
    return new HikariDataSource(config);
  }

  static Object one(HikariDataSource pool, String sql, Object... values) throws Exception {
    try (Connection connection = pool.getConnection(); PreparedStatement statement = connection.prepareStatement(sql)) {
      for (int n = 0; n < values.length; n++) {
        statement.setObject(n + 1, values[n]);
      }
      try (ResultSet found = statement.executeQuery()) {
        found.next();
        return found.getObject(1);
      }
    }
  }

  public static void main(String[] arguments) throws Exception {
    String file = HikariDataSource.class.getProtectionDomain().getCodeSource().getLocation().getPath();
    Scenario.version(file.replaceAll(".*-|\\.jar$", ""));
    Scenario.check("connect", "with a password", () -> open(Scenario.URL).close());
    Scenario.check("tls", "verify-full", () -> {
      try (HikariDataSource secure = open(Scenario.TLS)) {
        Scenario.same(one(secure, "SELECT 1"), 1);
      }
    });
    try (HikariDataSource pool = open(Scenario.URL)) {
      Scenario.check("queries", "many threads", () -> {
        var threads = Executors.newFixedThreadPool(8);
        List<Callable<Object>> asked = IntStream.range(0, 40).mapToObj(n -> (Callable<Object>) () -> one(pool, "SELECT ?::int", n)).toList();
        int n = 0;
        for (var each : threads.invokeAll(asked)) {
          Scenario.same(each.get(), n++);
        }
        threads.shutdown();
      });
      Scenario.check("transactions", "an open one is rolled back on return", () -> {
        try (Connection connection = pool.getConnection()) {
          connection.createStatement().execute("CREATE TABLE gone (id int)");
        }
        Scenario.same(one(pool, "SELECT to_regclass('gone')::text"), null);
      });
      Scenario.check("transactions", "isolation", () ->
          Scenario.same(one(pool, "SHOW transaction_isolation"), "repeatable read"));
      Scenario.check("cancel", "a broken connection is replaced", () -> {
        try (Connection connection = pool.getConnection()) {
          connection.createStatement().execute("SELECT pg_terminate_backend(pg_backend_pid())");
        } catch (java.sql.SQLException error) {
          Scenario.same(one(pool, "SELECT 1"), 1);
          return;
        }
        throw new AssertionError("no error");
      });
    }
  }
}
