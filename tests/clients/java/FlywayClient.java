// Flyway: migrate, validate, info, repeatable migrations, a failure that is rolled back, clean.

import java.nio.file.Files;
import java.nio.file.Path;
import org.flywaydb.core.Flyway;

final class FlywayClient {
  static Flyway flyway(String folder) {
    return Flyway.configure().dataSource(Scenario.URL, Scenario.USER, Scenario.PASSWORD)
        .locations("filesystem:" + folder).cleanDisabled(false).load();
  }

  static void write(String name, String text) throws Exception {
    Files.writeString(Path.of("sql", name), text);
  }

  public static void main(String[] arguments) throws Exception {
    String file = Flyway.class.getProtectionDomain().getCodeSource().getLocation().getPath();
    Scenario.version(file.replaceAll(".*-|\\.jar$", ""));
    Files.createDirectories(Path.of("sql"));
    write("V1__first.sql", "CREATE TABLE a (id serial PRIMARY KEY, name text NOT NULL); INSERT INTO a (name) VALUES ('x');");
    write("V2__second.sql", "ALTER TABLE a ADD COLUMN b int DEFAULT 1; CREATE INDEX a_b ON a (b);\n"
        + "CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END; $$;");
    write("R__view.sql", "CREATE OR REPLACE VIEW v AS SELECT * FROM a;");
    Scenario.check("connect", "with a password", () -> Scenario.same(flyway("sql").info().pending().length, 3));
    Scenario.check("tls", "verify-full", () ->
        Flyway.configure().dataSource(Scenario.TLS, Scenario.USER, Scenario.PASSWORD).locations("filesystem:sql").load().info());
    Scenario.check("migrations", "migrate", () -> Scenario.same(flyway("sql").migrate().migrationsExecuted, 3));
    Scenario.check("migrations", "again, validate, info", () -> {
      Scenario.same(flyway("sql").migrate().migrationsExecuted, 0);
      flyway("sql").validate();
      Scenario.same(flyway("sql").info().current().getVersion().toString(), "2");
    });
    Scenario.check("migrations", "a failure is rolled back", () -> {
      write("V3__broken.sql", "CREATE TABLE c (id int); SELECT * FROM missing;");
      try {
        flyway("sql").migrate();
      } catch (org.flywaydb.core.api.FlywayException error) {
        Files.delete(Path.of("sql/V3__broken.sql"));
        flyway("sql").validate();
        return;
      }
      throw new AssertionError("no error");
    });
    Scenario.check("migrations", "baseline, repair, clean", () -> {
      flyway("sql").repair();
      flyway("sql").clean();
      Flyway fresh = Flyway.configure().dataSource(Scenario.URL, Scenario.USER, Scenario.PASSWORD)
          .locations("filesystem:sql").baselineVersion("1").load();
      fresh.baseline();
      Scenario.same(fresh.info().current().getVersion().toString(), "1");
    });
  }
}
