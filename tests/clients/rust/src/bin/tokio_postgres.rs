//! tokio-postgres: statements in binary, pipelining, types, COPY, cancel.

use std::fs;
use std::time::Duration;

use chrono::{NaiveDate, TimeZone, Utc};
use futures_util::{SinkExt, TryStreamExt, pin_mut};
use gpudb_clients::{ENDLESS, Outcome, check, refused, same, variable, version};
use native_tls::{Certificate, TlsConnector};
use postgres_native_tls::MakeTlsConnector;
use rust_decimal::Decimal;
use tokio_postgres::config::SslMode;
use tokio_postgres::types::{FromSqlOwned, ToSql};
use tokio_postgres::{Client, Config, Error, NoTls};
use uuid::Uuid;

fn config() -> Config {
    let mut made = Config::new();
    made.host(variable("PGHOST"))
        .port(variable("PGPORT").parse().unwrap())
        .user(variable("PGUSER"))
        .password(variable("PGPASSWORD"))
        .dbname(variable("PGDATABASE"));
    made
}

async fn connect() -> Result<Client, Error> {
    let (client, connection) = config().connect(NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

fn code(error: &Error) -> Option<String> {
    error.code().map(|code| code.code().to_string())
}

async fn value<T>(client: &Client, kind: &str, value: T)
where
    T: ToSql + FromSqlOwned + PartialEq + std::fmt::Debug + Sync,
{
    check("types", kind, async {
        let row = client
            .query_one(&format!("SELECT $1::{kind}"), &[&value])
            .await?;
        same(row.get::<_, T>(0), value)
    })
    .await;
}

#[tokio::main]
async fn main() -> Outcome {
    version("tokio-postgres");
    check("connect", "with a password", async {
        Ok(drop(connect().await?))
    })
    .await;
    check("tls", "verified", async {
        let authority = Certificate::from_pem(&fs::read(variable("PGSSLROOTCERT"))?)?;
        let tls = MakeTlsConnector::new(
            TlsConnector::builder()
                .add_root_certificate(authority)
                .build()?,
        );
        let (client, connection) = config().ssl_mode(SslMode::Require).connect(tls).await?;
        tokio::spawn(connection);
        same(client.query_one("SELECT 1", &[]).await?.get(0), 1)
    })
    .await;
    let mut client = connect().await?;
    check("queries", "rows and parameters", async {
        let rows = client
            .query(
                "SELECT g, 'n' || g FROM generate_series(1, $1::int) g",
                &[&2],
            )
            .await?;
        same(
            rows.iter().map(|row| (row.get(0), row.get(1))).collect(),
            vec![(1, "n1"), (2, "n2")],
        )
    })
    .await;
    check("queries", "errors", async {
        refused(
            client
                .query("SELECT * FROM missing", &[])
                .await
                .err()
                .as_ref()
                .and_then(code),
            "42P01",
        )
    })
    .await;
    check("queries", "simple protocol", async {
        same(
            client
                .simple_query("SELECT 1 AS a; SELECT 2 AS b")
                .await?
                .len()
                >= 4,
            true,
        )
    })
    .await;
    check("queries", "pipelined", async {
        let asked = (0..20).map(|n| {
            let client = &client;
            async move {
                client
                    .query_one("SELECT $1::int", &[&n])
                    .await
                    .map(|row| row.get::<_, i32>(0))
            }
        });
        same(
            futures_util::future::try_join_all(asked).await?,
            (0..20).collect(),
        )
    })
    .await;
    value(&client, "boolean", true).await;
    value(&client, "smallint", -32768_i16).await;
    value(&client, "bigint", i64::MIN).await;
    value(&client, "real", 0.5_f32).await;
    value(&client, "double precision", 1e-5_f64).await;
    value(&client, "numeric", Decimal::new(123456789012345, 3)).await;
    value(&client, "text", "né \"x' \\ 😀".to_string()).await;
    value(&client, "bytea", vec![0_u8, 255, 92]).await;
    value(&client, "date", NaiveDate::from_ymd_opt(2024, 2, 29)).await;
    value(
        &client,
        "timestamp",
        NaiveDate::from_ymd_opt(1969, 12, 31)
            .unwrap()
            .and_hms_micro_opt(23, 59, 59, 5),
    )
    .await;
    value(
        &client,
        "timestamptz",
        Utc.with_ymd_and_hms(2024, 7, 1, 12, 30, 0).unwrap(),
    )
    .await;
    value(&client, "uuid", Uuid::from_u128(7)).await;
    value(&client, "integer[]", vec![Some(1), None, Some(3)]).await;
    value(&client, "jsonb", serde_json::json!({"a": [1, null]})).await;
    value(&client, "text", None::<String>).await;
    client.batch_execute("CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE t (id int PRIMARY KEY, name text, m mood)").await?;
    check(
        "prepared",
        "types of parameters and columns, an enum among them",
        async {
            let statement = client
                .prepare("SELECT id, m FROM t WHERE id = $1 AND m = $2")
                .await?;
            same(
                statement.params().iter().map(|each| each.name()).collect(),
                vec!["int4", "mood"],
            )?;
            same(
                statement.columns().iter().map(|each| each.name()).collect(),
                vec!["id", "m"],
            )
        },
    )
    .await;
    check("prepared", "portals", async {
        let statement = client
            .prepare("SELECT * FROM generate_series(1, 100)")
            .await?;
        let transaction = client.transaction().await?;
        let portal = transaction.bind(&statement, &[]).await?;
        same(transaction.query_portal(&portal, 40).await?.len(), 40)?;
        same(transaction.query_portal(&portal, 0).await?.len(), 60)?;
        Ok(transaction.commit().await?)
    })
    .await;
    check("transactions", "savepoint, rollback", async {
        let mut transaction = client.transaction().await?;
        transaction
            .execute("INSERT INTO t VALUES (1, 'a', 'ok')", &[])
            .await?;
        let inner = transaction.savepoint("s").await?;
        refused(
            inner
                .execute("INSERT INTO t VALUES (1, 'b')", &[])
                .await
                .err()
                .as_ref()
                .and_then(code),
            "23505",
        )?;
        inner.rollback().await?;
        transaction.commit().await?;
        same(
            client
                .query_one("SELECT count(*) FROM t", &[])
                .await?
                .get(0),
            1_i64,
        )
    })
    .await;
    check("copy", "in and out", async {
        let sink = client.copy_in("COPY t (id, name) FROM STDIN").await?;
        pin_mut!(sink);
        let lines: String = (10..1000).map(|n| format!("{n}\tname {n}\n")).collect();
        sink.send(bytes(&lines)).await?;
        same(sink.finish().await?, 990)?;
        let read = client
            .copy_out("COPY (SELECT id, name FROM t WHERE id >= 10 ORDER BY id) TO STDOUT")
            .await?;
        let parts: Vec<_> = read.try_collect().await?;
        same(parts.concat(), lines.into_bytes())
    })
    .await;
    check("metadata", "tables of columns", async {
        let statement = client.prepare("SELECT id, 1 AS one FROM t").await?;
        same(statement.columns()[0].column_id(), Some(1))?;
        same(statement.columns()[1].table_oid(), None)
    })
    .await;
    check("cancel", "token", async {
        let token = client.cancel_token();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(500)).await;
            token.cancel_query(NoTls).await
        });
        refused(
            client
                .query(ENDLESS, &[])
                .await
                .err()
                .as_ref()
                .and_then(code),
            "57014",
        )?;
        same(client.query_one("SELECT 1", &[]).await?.get(0), 1)
    })
    .await;
    Ok(())
}

fn bytes(text: &str) -> std::io::Cursor<Vec<u8>> {
    std::io::Cursor::new(text.as_bytes().to_vec())
}
