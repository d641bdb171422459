// pgjdbc: types in text and binary, server-prepared statements, batches, cursors, COPY, DatabaseMetaData, cancel.

import java.io.StringReader;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Types;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.UUID;
import org.postgresql.PGConnection;
import org.postgresql.util.PGobject;

final class PgjdbcClient {
  static Connection connection;

  static List<List<Object>> rows(ResultSet found) throws Exception {
    List<List<Object>> made = new ArrayList<>();
    while (found.next()) {
      List<Object> row = new ArrayList<>();
      for (int n = 1; n <= found.getMetaData().getColumnCount(); n++) {
        row.add(found.getObject(n));
      }
      made.add(row);
    }
    found.close();
    return made;
  }

  static List<List<Object>> query(String sql, Object... values) throws Exception {
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      for (int n = 0; n < values.length; n++) {
        statement.setObject(n + 1, values[n]);
      }
      return rows(statement.executeQuery());
    }
  }

  static void execute(String sql) throws Exception {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  static List<Object> column(ResultSet found, String name) throws Exception {
    List<Object> made = new ArrayList<>();
    while (found.next()) {
      made.add(found.getObject(name));
    }
    return made;
  }

  public static void main(String[] arguments) throws Exception {
    Scenario.version(org.postgresql.util.DriverInfo.DRIVER_VERSION);
    Scenario.check("connect", "with a password", () -> DriverManager.getConnection(Scenario.URL, Scenario.login()).close());
    Scenario.check("tls", "verify-full", () -> DriverManager.getConnection(Scenario.TLS, Scenario.login()).close());
    for (String form : new String[] {"text", "binary"}) {
      Properties login = Scenario.login();
      login.setProperty("binaryTransfer", String.valueOf(form.equals("binary")));
      login.setProperty("prepareThreshold", form.equals("binary") ? "-1" : "5");
      connection = DriverManager.getConnection(Scenario.URL, login);
      Object[][] values = {
        {"boolean", true}, {"integer", 42}, {"bigint", Long.MIN_VALUE}, {"double precision", 1e-5}, {"real", 0.5f},
        {"numeric", new BigDecimal("-1234567890123456789012345678901234.5678")}, {"text", "né \"x' \\ 😀"},
        {"uuid", UUID.fromString("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")}, {"bytea", new byte[] {0, -1, 92}},
      };
      for (Object[] each : values) {
        Scenario.check("types", each[0] + ", " + form, () ->
            Scenario.same(query("SELECT ?::" + each[0], each[1]).get(0).get(0), each[1]));
      }
      Scenario.check("types", "java.time, " + form, () -> {
        try (PreparedStatement statement = connection.prepareStatement("SELECT ?::date, ?::timestamp, ?::timestamptz, ?::time")) {
          LocalDateTime moment = LocalDateTime.of(1969, 12, 31, 23, 59, 59, 5000);
          OffsetDateTime zoned = OffsetDateTime.of(2024, 7, 1, 12, 30, 0, 0, ZoneOffset.UTC);
          statement.setObject(1, LocalDate.of(2024, 2, 29));
          statement.setObject(2, moment);
          statement.setObject(3, zoned);
          statement.setObject(4, moment.toLocalTime());
          ResultSet found = statement.executeQuery();
          found.next();
          Scenario.same(found.getObject(1, LocalDate.class), LocalDate.of(2024, 2, 29));
          Scenario.same(found.getObject(2, LocalDateTime.class), moment);
          Scenario.same(found.getObject(3, OffsetDateTime.class), zoned);
          Scenario.same(found.getObject(4, java.time.LocalTime.class), moment.toLocalTime());
        }
      });
      Scenario.check("types", "arrays, " + form, () -> {
        Integer[] numbers = {1, null, 3};
        Object found = query("SELECT ?", connection.createArrayOf("int4", numbers)).get(0).get(0);
        Scenario.same(((java.sql.Array) found).getArray(), numbers);
      });
      Scenario.check("types", "jsonb, " + form, () -> {
        PGobject document = new PGobject();
        document.setType("jsonb");
        document.setValue("{\"a\": [1, null]}");
        Scenario.same(query("SELECT ?", document).get(0).get(0).toString(), document.getValue());
      });
      if (form.equals("text")) {
        connection.close();
      }
    }
    Scenario.check("queries", "rows and parameters", () ->
        Scenario.same(query("SELECT g, 'n' || g FROM generate_series(1, ?) g", 2), List.of(List.of(1, "n1"), List.of(2, "n2"))));
    Scenario.check("queries", "errors", () -> Scenario.refused("42P01", () -> query("SELECT * FROM missing")));
    Scenario.check("queries", "several statements", () -> {
      try (Statement statement = connection.createStatement()) {
        statement.execute("SELECT 1; SELECT 2");
        statement.getMoreResults();
        Scenario.same(rows(statement.getResultSet()), List.of(List.of(2)));
      }
    });
    execute("CREATE TABLE author (id serial PRIMARY KEY, name varchar(80) NOT NULL UNIQUE)");
    execute("CREATE TABLE book (id int PRIMARY KEY, author_id int REFERENCES author (id) ON DELETE CASCADE, price numeric(10,2) DEFAULT 1)");
    execute("CREATE INDEX book_price ON book (price); COMMENT ON TABLE book IS 'what is read'; CREATE VIEW cheap AS SELECT * FROM book");
    execute("CREATE FUNCTION twice(a int) RETURNS int LANGUAGE sql AS 'SELECT $1 * 2'");
    Scenario.check("queries", "generated keys, batches", () -> {
      try (PreparedStatement statement = connection.prepareStatement("INSERT INTO author (name) VALUES (?)", Statement.RETURN_GENERATED_KEYS)) {
        statement.setString(1, "Ann");
        statement.executeUpdate();
        Scenario.same(column(statement.getGeneratedKeys(), "id"), List.of(1));
      }
      try (PreparedStatement statement = connection.prepareStatement("INSERT INTO book (id, author_id) VALUES (?, 1)")) {
        for (int n = 0; n < 100; n++) {
          statement.setInt(1, n);
          statement.addBatch();
        }
        Scenario.same(Arrays.stream(statement.executeBatch()).sum(), 100);
      }
    });
    Scenario.check("queries", "callable statement", () -> {
      try (var call = connection.prepareCall("{? = call twice(?)}")) {
        call.registerOutParameter(1, Types.INTEGER);
        call.setInt(2, 4);
        call.execute();
        Scenario.same(call.getInt(1), 8);
      }
    });
    Scenario.check("queries", "updatable results", () -> {
      try (Statement statement = connection.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE)) {
        ResultSet found = statement.executeQuery("SELECT id, price FROM book WHERE id = 3");
        found.next();
        found.updateBigDecimal("price", new BigDecimal("7.50"));
        found.updateRow();
      }
      Scenario.same(query("SELECT price FROM book WHERE id = 3").get(0).get(0), new BigDecimal("7.50"));
    });
    Scenario.check("prepared", "server-prepared after five uses", () -> {
      Properties login = Scenario.login();
      try (Connection other = DriverManager.getConnection(Scenario.URL, login);
          PreparedStatement statement = other.prepareStatement("SELECT ? * 2")) {
        for (int n = 0; n < 10; n++) {
          statement.setInt(1, n);
          Scenario.same(rows(statement.executeQuery()), List.of(List.of(2 * n)));
        }
      }
    });
    Scenario.check("prepared", "parameter metadata", () -> {
      try (PreparedStatement statement = connection.prepareStatement("SELECT name FROM author WHERE id = ?")) {
        Scenario.same(statement.getParameterMetaData().getParameterType(1), Types.INTEGER);
        Scenario.same(statement.getMetaData().getColumnName(1), "name");
      }
    });
    connection.setAutoCommit(false);
    Scenario.check("prepared", "fetch size", () -> {
      try (Statement statement = connection.createStatement()) {
        statement.setFetchSize(10);
        Scenario.same(rows(statement.executeQuery("SELECT * FROM generate_series(1, 1000)")).size(), 1000);
      }
      connection.commit();
    });
    Scenario.check("transactions", "savepoint, rollback", () -> {
      execute("INSERT INTO author (name) VALUES ('Bob')");
      Savepoint point = connection.setSavepoint("s");
      Scenario.refused("23505", () -> execute("INSERT INTO author (name) VALUES ('Bob')"));
      connection.rollback(point);
      connection.commit();
      execute("DELETE FROM author");
      connection.rollback();
      Scenario.same(query("SELECT count(*) FROM author"), List.of(List.of(2L)));
      connection.rollback();
    });
    Scenario.check("transactions", "isolation, read only", () -> {
      connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
      connection.setReadOnly(true);
      Scenario.refused("25006", () -> execute("DELETE FROM author"));
      connection.rollback();
      connection.setReadOnly(false);
    });
    connection.setAutoCommit(true);
    Scenario.check("copy", "CopyManager", () -> {
      var copy = connection.unwrap(PGConnection.class).getCopyAPI();
      Scenario.same(copy.copyIn("COPY book (id, price) FROM STDIN (FORMAT csv)", new StringReader("500,1.50\n501,2.50\n")), 2L);
      StringWriter out = new StringWriter();
      copy.copyOut("COPY (SELECT id, price FROM book WHERE id >= 500 ORDER BY id) TO STDOUT (FORMAT csv)", out);
      Scenario.same(out.toString(), "500,1.50\n501,2.50\n");
    });
    DatabaseMetaData data = connection.getMetaData();
    Scenario.check("metadata", "tables", () ->
        Scenario.same(column(data.getTables(null, "public", "%", new String[] {"TABLE", "VIEW"}), "TABLE_NAME"), List.of("author", "book", "cheap")));
    Scenario.check("metadata", "columns", () ->
        Scenario.same(column(data.getColumns(null, "public", "book", "%"), "TYPE_NAME"), List.of("int4", "int4", "numeric")));
    Scenario.check("metadata", "primary keys", () ->
        Scenario.same(column(data.getPrimaryKeys(null, "public", "book"), "PK_NAME"), List.of("book_pkey")));
    Scenario.check("metadata", "imported and exported keys", () -> {
      Scenario.same(column(data.getImportedKeys(null, "public", "book"), "PKTABLE_NAME"), List.of("author"));
      Scenario.same(column(data.getExportedKeys(null, "public", "author"), "FKTABLE_NAME"), List.of("book"));
    });
    Scenario.check("metadata", "indexes", () ->
        Scenario.same(column(data.getIndexInfo(null, "public", "book", false, false), "INDEX_NAME"), List.of("book_pkey", "book_price")));
    Scenario.check("metadata", "schemas, catalogs, types, functions, privileges", () -> {
      Scenario.same(column(data.getSchemas(), "TABLE_SCHEM").contains("public"), true);
      Scenario.same(column(data.getCatalogs(), "TABLE_CAT").contains("postgres"), true);
      Scenario.same(column(data.getTypeInfo(), "TYPE_NAME").contains("int4"), true);
      Scenario.same(column(data.getFunctions(null, "public", "%"), "FUNCTION_NAME"), List.of("twice"));
      Scenario.same(column(data.getFunctionColumns(null, "public", "twice", "%"), "COLUMN_NAME"), List.of("returnValue", "a"));
      Scenario.same(column(data.getTablePrivileges(null, "public", "book"), "PRIVILEGE").contains("SELECT"), true);
      Scenario.same(column(data.getBestRowIdentifier(null, "public", "book", 1, false), "COLUMN_NAME"), List.of("id"));
    });
    Scenario.check("cancel", "cancel", () -> {
      try (Statement statement = connection.createStatement()) {
        new Thread(() -> {
          try {
            Thread.sleep(500);
            statement.cancel();
          } catch (Exception error) {
            throw new IllegalStateException(error);
          }
        }).start();
        Scenario.refused("57014", () -> statement.executeQuery(Scenario.ENDLESS));
      }
    });
    Scenario.check("cancel", "query timeout", () -> {
      try (Statement statement = connection.createStatement()) {
        statement.setQueryTimeout(1);
        Scenario.refused("57014", () -> statement.executeQuery(Scenario.ENDLESS));
      }
      Scenario.same(query("SELECT 1"), List.of(List.of(1)));
    });
    connection.close();
  }
}
