//! What the scenarios in Rust share: checks that print their outcome.

use std::env;
use std::future::Future;

use serde_json::{Value, json};

pub type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// A statement that does not end by itself.
pub const ENDLESS: &str =
    "SELECT sum(a.n % b.n) FROM generate_series(1, 100000) a(n), generate_series(1, 100000) b(n)";

/// A variable of the environment.
pub fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

/// Prints the version of a package, as Cargo.toml pins it.
pub fn version(package: &str) {
    let manifest = include_str!("../Cargo.toml");
    let line = manifest
        .lines()
        .find(|line| line.starts_with(&format!("{package} = ")));
    let pinned = line
        .and_then(|line| line.split("\"=").nth(1))
        .and_then(|rest| rest.split('"').next());
    println!("{}", json!({"version": pinned.unwrap_or("")}));
}

/// Runs a check and prints its outcome.
pub async fn check(feature: &str, name: &str, body: impl Future<Output = Outcome>) {
    let error = match body.await {
        Ok(()) => Value::Null,
        Err(error) => {
            let mut reason = error.to_string();
            let mut source = error.source();
            while let Some(inner) = source {
                reason = format!("{reason}: {inner}");
                source = inner.source();
            }
            json!(reason)
        }
    };
    println!(
        "{}",
        json!({"feature": feature, "check": name, "error": error})
    );
}

/// Fails unless both are equal.
pub fn same<T: PartialEq + std::fmt::Debug>(found: T, expected: T) -> Outcome {
    if found == expected {
        Ok(())
    } else {
        Err(format!("{found:?} instead of {expected:?}").into())
    }
}

/// Fails unless this is the SQLSTATE.
pub fn refused(code: Option<String>, sqlstate: &str) -> Outcome {
    same(code.as_deref(), Some(sqlstate))
}
