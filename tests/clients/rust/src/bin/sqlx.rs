//! sqlx: pools, typed queries, its migrations with their lock, COPY, listeners.

use std::borrow::Cow;
use std::time::Duration;

use chrono::{DateTime, NaiveDate, TimeZone, Utc};
use futures_util::TryStreamExt;
use gpudb_clients::{ENDLESS, Outcome, check, refused, same, variable, version};
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolCopyExt, PgPoolOptions, PgSslMode};
use sqlx::{Column, Connection, Executor, PgConnection, Row, Statement, TypeInfo};
use uuid::Uuid;

#[derive(sqlx::Type, Debug, PartialEq, Clone, Copy)]
#[sqlx(type_name = "mood", rename_all = "lowercase")]
enum Mood {
    Sad,
    Ok,
}

fn options() -> PgConnectOptions {
    PgConnectOptions::new()
        .host(&variable("PGHOST"))
        .port(variable("PGPORT").parse().unwrap())
        .username(&variable("PGUSER"))
        .password(&variable("PGPASSWORD"))
        .database(&variable("PGDATABASE"))
        .ssl_mode(PgSslMode::Disable)
}

fn code(error: &sqlx::Error) -> Option<String> {
    error
        .as_database_error()
        .and_then(|error| error.code())
        .map(Cow::into_owned)
}

fn migrations() -> Migrator {
    let step = |version, kind, sql: &'static str| {
        Migration::new(
            version,
            Cow::Borrowed("step"),
            kind,
            sqlx::SqlStr::from_static(sql),
            false,
        )
    };
    let (up, down) = (MigrationType::ReversibleUp, MigrationType::ReversibleDown);
    Migrator::with_migrations(vec![
        step(
            1,
            up,
            "CREATE TABLE a (id serial PRIMARY KEY); INSERT INTO a DEFAULT VALUES;",
        ),
        step(1, down, "DROP TABLE a"),
        step(
            2,
            up,
            "ALTER TABLE a ADD COLUMN b text; CREATE INDEX a_b ON a (b)",
        ),
        step(2, down, "ALTER TABLE a DROP COLUMN b"),
    ])
}

#[tokio::main]
async fn main() -> Outcome {
    version("sqlx");
    check("connect", "with a password", async {
        Ok(PgConnection::connect_with(&options())
            .await?
            .close()
            .await?)
    })
    .await;
    check("tls", "verify-full", async {
        let secure = options()
            .ssl_mode(PgSslMode::VerifyFull)
            .ssl_root_cert(variable("PGSSLROOTCERT"));
        Ok(PgConnection::connect_with(&secure).await?.close().await?)
    })
    .await;
    let pool = PgPoolOptions::new()
        .max_connections(4)
        .connect_with(options())
        .await?;
    check("queries", "rows and parameters", async {
        let found: Vec<(i32, String)> =
            sqlx::query_as("SELECT g, 'n' || g FROM generate_series(1, $1) g")
                .bind(2)
                .fetch_all(&pool)
                .await?;
        same(found, vec![(1, "n1".into()), (2, "n2".into())])
    })
    .await;
    check("queries", "errors", async {
        let failed = sqlx::query("SELECT * FROM missing").execute(&pool).await;
        refused(failed.err().as_ref().and_then(code), "42P01")
    })
    .await;
    check("queries", "streamed", async {
        let rows = sqlx::query("SELECT * FROM generate_series(1, 1000)").fetch(&pool);
        same(
            rows.try_fold(0, |seen, _| async move { Ok(seen + 1) })
                .await?,
            1000,
        )
    })
    .await;
    check("migrations", "run, again, undo, run", async {
        let migrator = migrations();
        migrator.run(&pool).await?;
        migrator.run(&pool).await?;
        migrator.undo(&pool, 0).await?;
        migrator.run(&pool).await?;
        let count: i64 = sqlx::query_scalar("SELECT count(*) FROM a WHERE b IS NULL")
            .fetch_one(&pool)
            .await?;
        same(count, 1)
    })
    .await;
    check("types", "numbers and texts", async {
        let row = sqlx::query("SELECT $1, $2, $3, $4, $5, $6")
            .bind(true)
            .bind(i64::MIN)
            .bind(1e-5_f64)
            .bind("né \"x' \\ 😀")
            .bind(vec![0_u8, 255])
            .bind(None::<i32>)
            .fetch_one(&pool)
            .await?;
        same(row.get::<bool, _>(0), true)?;
        same(row.get::<i64, _>(1), i64::MIN)?;
        same(row.get::<f64, _>(2), 1e-5)?;
        same(row.get::<String, _>(3), "né \"x' \\ 😀".into())?;
        same(row.get::<Vec<u8>, _>(4), vec![0, 255])?;
        same(row.get::<Option<i32>, _>(5), None)
    })
    .await;
    check("types", "dates, uuid, JSON, arrays", async {
        let (day, moment) = (
            NaiveDate::from_ymd_opt(2024, 2, 29).unwrap(),
            Utc.with_ymd_and_hms(2024, 7, 1, 12, 30, 0).unwrap(),
        );
        let row = sqlx::query("SELECT $1, $2, $3, $4, $5")
            .bind(day)
            .bind(moment)
            .bind(Uuid::from_u128(7))
            .bind(serde_json::json!({"a": [1, null]}))
            .bind(vec![1, 2])
            .fetch_one(&pool)
            .await?;
        same(row.get::<NaiveDate, _>(0), day)?;
        same(row.get::<DateTime<Utc>, _>(1), moment)?;
        same(row.get::<Uuid, _>(2), Uuid::from_u128(7))?;
        same(
            row.get::<serde_json::Value, _>(3),
            serde_json::json!({"a": [1, null]}),
        )?;
        same(row.get::<Vec<i32>, _>(4), vec![1, 2])
    })
    .await;
    pool.execute("CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE t (id int PRIMARY KEY, name text NOT NULL, m mood)").await?;
    check("types", "an enum", async {
        let found: Mood = sqlx::query_scalar("SELECT $1")
            .bind(Mood::Ok)
            .fetch_one(&pool)
            .await?;
        same(found, Mood::Ok)?;
        let many: Vec<Mood> = sqlx::query_scalar("SELECT $1")
            .bind(vec![Mood::Sad, Mood::Ok])
            .fetch_one(&pool)
            .await?;
        same(many, vec![Mood::Sad, Mood::Ok])
    })
    .await;
    check("metadata", "types of parameters and columns", async {
        let statement = (&pool)
            .prepare(sqlx::SqlStr::from_static(
                "SELECT id, m FROM t WHERE id = $1",
            ))
            .await?;
        same(
            statement.columns().iter().map(|each| each.name()).collect(),
            vec!["id", "m"],
        )?;
        same(statement.columns()[0].type_info().name(), "INT4")
    })
    .await;
    check("prepared", "reused", async {
        let mut connection = pool.acquire().await?;
        for n in 0..5 {
            same(
                sqlx::query_scalar::<_, i32>("SELECT $1 * 2")
                    .bind(n)
                    .fetch_one(&mut *connection)
                    .await?,
                2 * n,
            )?;
        }
        Ok(())
    })
    .await;
    check("transactions", "nested, rolled back", async {
        let mut transaction = pool.begin().await?;
        sqlx::query("INSERT INTO t VALUES (1, 'a')")
            .execute(&mut *transaction)
            .await?;
        let mut inner = transaction.begin().await?;
        let failed = sqlx::query("INSERT INTO t VALUES (1, 'b')")
            .execute(&mut *inner)
            .await;
        refused(failed.err().as_ref().and_then(code), "23505")?;
        inner.rollback().await?;
        transaction.commit().await?;
        same(
            sqlx::query_scalar::<_, i64>("SELECT count(*) FROM t")
                .fetch_one(&pool)
                .await?,
            1,
        )
    })
    .await;
    check("copy", "in and out", async {
        let mut input = pool.copy_in_raw("COPY t (id, name) FROM STDIN").await?;
        let lines: String = (10..1000).map(|n| format!("{n}\tname {n}\n")).collect();
        input.send(lines.as_bytes()).await?;
        same(input.finish().await?, 990)?;
        let out = pool
            .copy_out_raw("COPY (SELECT id, name FROM t WHERE id >= 10 ORDER BY id) TO STDOUT")
            .await?;
        same(
            out.try_collect::<Vec<_>>().await?.concat(),
            lines.into_bytes(),
        )
    })
    .await;
    check("queries", "listener", async {
        let mut listener = PgListener::connect_with(&pool).await?;
        listener.listen("c").await?;
        sqlx::query("SELECT pg_notify('c', 'hello')")
            .execute(&pool)
            .await?;
        let said = tokio::time::timeout(Duration::from_secs(10), listener.recv()).await??;
        same(said.payload(), "hello")
    })
    .await;
    check("cancel", "statement_timeout", async {
        let mut connection = pool.acquire().await?;
        connection
            .execute("SET statement_timeout = '300ms'")
            .await?;
        let failed = connection.execute(ENDLESS).await;
        refused(failed.err().as_ref().and_then(code), "57014")?;
        connection.execute("RESET statement_timeout").await?;
        Ok(())
    })
    .await;
    Ok(())
}
