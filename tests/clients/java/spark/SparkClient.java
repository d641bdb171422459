// Spark JDBC: tables to frames and back, in partitions, filters pushed down.

import java.util.Properties;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;

final class SparkClient {
  public static void main(String[] arguments) throws Exception {
    SparkSession spark = SparkSession.builder().master("local[2]").config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC").getOrCreate();
    Scenario.version(spark.version());
    Properties login = Scenario.login();
    login.setProperty("driver", "org.postgresql.Driver");
    Scenario.check("connect", "with a password", () ->
        Scenario.same(spark.read().jdbc(Scenario.URL, "(SELECT 1 AS a) q", login).collectAsList().get(0).getInt(0), 1));
    Scenario.check("tls", "verify-full", () ->
        Scenario.same(spark.read().jdbc(Scenario.TLS, "(SELECT 1 AS a) q", login).count(), 1L));
    Dataset<Row> made = spark.range(1000).selectExpr("id", "concat('n', id) AS name", "id / 8 AS f",
        "CAST(id AS decimal(10,2)) AS price", "id % 2 = 0 AS even", "timestamp '2024-07-01 12:30:00' AS at", "date '2024-02-29' AS day");
    Scenario.check("copy", "write, append, overwrite", () -> {
      made.write().jdbc(Scenario.URL, "frame", login);
      made.write().mode(SaveMode.Append).jdbc(Scenario.URL, "frame", login);
      made.write().mode(SaveMode.Overwrite).option("truncate", "true").jdbc(Scenario.URL, "frame", login);
      Scenario.same(spark.read().jdbc(Scenario.URL, "frame", login).count(), 1000L);
    });
    Scenario.check("types", "there and back", () ->
        Scenario.same(spark.read().jdbc(Scenario.URL, "frame", login).except(made).count(), 0L));
    Scenario.check("types", "arrays and others", () ->
        Scenario.same(spark.read().jdbc(Scenario.URL, "(SELECT ARRAY[1, 2] AS a, '{\"a\": 1}'::jsonb AS j, 'x'::varchar(3) AS v) q", login)
            .collectAsList().get(0).getList(0).size(), 2));
    Scenario.check("queries", "in partitions", () ->
        Scenario.same(spark.read().jdbc(Scenario.URL, "frame", "id", 0, 1000, 4, login).filter("id % 10 = 0").count(), 100L));
    Scenario.check("queries", "filters and aggregates pushed down", () -> {
      Dataset<Row> read = spark.read().format("jdbc").option("url", Scenario.URL).option("dbtable", "frame")
          .option("user", Scenario.USER).option("password", Scenario.PASSWORD).option("pushDownAggregate", "true").load();
      Scenario.same(read.filter("name = 'n7' AND price > 1").count(), 1L);
      Scenario.same(read.groupBy("even").count().count(), 2L);
    });
    Scenario.check("metadata", "schema", () ->
        Scenario.same(spark.read().jdbc(Scenario.URL, "frame", login).schema().apply("price").dataType().simpleString(), "decimal(10,2)"));
    spark.stop();
  }
}
