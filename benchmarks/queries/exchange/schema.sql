-- Rows that change workers: t has 30 for each key of d. Types are those of the files that benchmarks.fused.files makes.
CREATE TABLE t (
    k BIGINT NOT NULL,
    g SMALLINT NOT NULL,
    v DOUBLE PRECISION NOT NULL
);
CREATE TABLE d (
    k BIGINT NOT NULL,
    w INTEGER NOT NULL
);
