// Liquibase: update, status, rollback, generated changelog, diff of the database with itself.

import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import liquibase.Contexts;
import liquibase.LabelExpression;
import liquibase.Liquibase;
import liquibase.database.Database;
import liquibase.database.DatabaseFactory;
import liquibase.database.jvm.JdbcConnection;
import liquibase.diff.compare.CompareControl;
import liquibase.resource.DirectoryResourceAccessor;
import liquibase.snapshot.DatabaseSnapshot;
import liquibase.snapshot.SnapshotControl;
import liquibase.snapshot.SnapshotGeneratorFactory;
import liquibase.structure.core.ForeignKey;
import liquibase.structure.core.Index;
import liquibase.structure.core.Table;

final class LiquibaseClient {
  static Liquibase changes;

  static void open(String url) throws Exception {
    Connection connection = DriverManager.getConnection(url, Scenario.login());
    Database database = DatabaseFactory.getInstance().findCorrectDatabaseImplementation(new JdbcConnection(connection));
    changes = new Liquibase("changes.sql", new DirectoryResourceAccessor(Path.of(".")), database);
  }

  public static void main(String[] arguments) throws Exception {
    Scenario.version(liquibase.util.LiquibaseUtil.getBuildVersion());
    Files.writeString(Path.of("changes.sql"), String.join("\n",
        "--liquibase formatted sql",
        "--changeset ann:1",
        "CREATE TABLE author (id serial PRIMARY KEY, name varchar(80) NOT NULL UNIQUE);",
        "--rollback DROP TABLE author;",
        "--changeset ann:2",
        "CREATE TABLE book (id int PRIMARY KEY, author_id int REFERENCES author (id), price numeric(10,2));",
        "CREATE INDEX book_price ON book (price);",
        "--rollback DROP TABLE book;"));
    Scenario.check("tls", "verify-full", () -> {
      open(Scenario.TLS);
      changes.close();
    });
    Scenario.check("connect", "with a password", () -> open(Scenario.URL));
    Contexts all = new Contexts();
    Scenario.check("migrations", "update", () -> {
      changes.update(all);
      Scenario.same(changes.listUnrunChangeSets(all, new LabelExpression()).size(), 0);
    });
    Scenario.check("migrations", "SQL for rollback, rollback, update", () -> {
      changes.tag("two");
      StringWriter out = new StringWriter();
      changes.rollback(1, null, all, new LabelExpression(), out);
      Scenario.same(out.toString().contains("DROP TABLE book"), true);
      changes.rollback(1, all, new LabelExpression());
      changes.update(all);
    });
    Scenario.check("metadata", "snapshot", () -> {
      Database database = changes.getDatabase();
      DatabaseSnapshot seen = SnapshotGeneratorFactory.getInstance()
          .createSnapshot(CompareControl.STANDARD.getSchemas(CompareControl.DatabaseRole.REFERENCE)[0], database, new SnapshotControl(database));
      Scenario.same(seen.get(Table.class).stream().map(Table::getName).filter(name -> !name.startsWith("database")).sorted().toList().toString(), "[author, book]");
      Scenario.same(seen.get(ForeignKey.class).size(), 1);
      Scenario.same(seen.get(Index.class).stream().anyMatch(each -> "book_price".equals(each.getName())), true);
    });
    Scenario.check("migrations", "drop all", () -> changes.dropAll());
    changes.close();
  }
}
