// pgx: queries, types in binary, batches, pools, COPY, cancel.
package main

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"time"

	. "gpudb.test/clients/scenario"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

type pair struct {
	ID   int32
	Name string
}

func main() {
	ctx := context.Background()
	Version("github.com/jackc/pgx/v5")
	Check("connect", "with a password", func() error {
		conn, err := pgx.Connect(ctx, "")
		Must(err)
		return conn.Close(ctx)
	})
	Check("tls", "verify-full", func() error {
		conn, err := pgx.Connect(ctx, "sslmode=verify-full")
		Must(err)
		return conn.Close(ctx)
	})
	conn, err := pgx.Connect(ctx, "")
	Must(err)
	Check("queries", "rows and parameters", func() error {
		rows, err := conn.Query(ctx, "SELECT g, 'n' || g FROM generate_series(1, $1::int) g", 2)
		Must(err)
		found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[pair])
		Must(err)
		return Same(found, []pair{{1, "n1"}, {2, "n2"}})
	})
	Check("queries", "errors", func() error {
		_, err := conn.Exec(ctx, "SELECT * FROM missing")
		return Refused(err, "42P01")
	})
	Check("queries", "pool", func() error {
		pool, err := pgxpool.New(ctx, "")
		Must(err)
		defer pool.Close()
		answers := make(chan error, 20)
		for n := range 20 {
			go func() {
				var found int
				if err := pool.QueryRow(ctx, "SELECT $1::int", n).Scan(&found); err != nil {
					answers <- err
				} else {
					answers <- Same(found, n)
				}
			}()
		}
		for range 20 {
			err = errors.Join(err, <-answers)
		}
		return err
	})
	_, err = conn.Exec(ctx, "CREATE TABLE t (id int PRIMARY KEY, name text)")
	Must(err)
	Check("queries", "batch", func() error {
		batch := &pgx.Batch{}
		for n := range 10 {
			batch.Queue("INSERT INTO t VALUES ($1, $2)", n, fmt.Sprint(n))
		}
		var count int
		batch.Queue("SELECT count(*) FROM t").QueryRow(func(row pgx.Row) error { return row.Scan(&count) })
		Must(conn.SendBatch(ctx, batch).Close())
		return Same(count, 10)
	})
	number, _ := new(big.Int).SetString("12345678901234567890123", 10)
	moment := time.Date(2024, 7, 1, 12, 30, 0, 0, time.UTC)
	values := []struct {
		kind  string
		value any
	}{
		{"boolean", true}, {"smallint", int16(-32768)}, {"integer", int32(42)}, {"bigint", int64(-9223372036854775808)},
		{"double precision", 1e-5}, {"real", float32(0.5)}, {"text", "né \"x' \\ 😀"}, {"bytea", []byte{0, 255, 92}},
		{"timestamptz", moment}, {"date", time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)},
		{"numeric", pgtype.Numeric{Int: number, Exp: -3, Valid: true}}, {"uuid", [16]byte{1, 2, 3}},
		{"interval", pgtype.Interval{Microseconds: 5, Days: -3, Months: 1, Valid: true}}, {"integer[]", []any{int32(1), nil, int32(3)}},
		{"jsonb", map[string]any{"a": []any{1.0, nil}}},
		{"inet", netip.MustParsePrefix("10.0.0.1/32")}, {"text", nil},
	}
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		for _, each := range values {
			// pgx has to know the type of these before it encodes them
			if mode != pgx.QueryExecModeCacheStatement && (each.kind == "uuid" || each.kind == "jsonb" || each.kind == "integer[]") {
				continue
			}
			Check("types", fmt.Sprintf("%s, %s", each.kind, mode), func() error {
				rows, err := conn.Query(ctx, "SELECT $1::"+each.kind, mode, each.value)
				Must(err)
				found, err := pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (any, error) {
					read, err := row.Values()
					if err != nil {
						return nil, err
					}
					return read[0], nil
				})
				Must(err)
				if at, ok := found.(time.Time); ok {
					found = at.UTC()
				}
				return Same(found, each.value)
			})
		}
	}
	Check("types", "enum and composite, registered", func() error {
		_, err := conn.Exec(ctx, "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TYPE felt AS (id int, name mood)")
		Must(err)
		known, err := conn.LoadTypes(ctx, []string{"mood", "felt"})
		Must(err)
		conn.TypeMap().RegisterTypes(known)
		var found pair
		Must(conn.QueryRow(ctx, "SELECT $1::felt", pair{1, "ok"}).Scan(&found))
		return Same(found, pair{1, "ok"})
	})
	Check("prepared", "prepare, describe, reuse", func() error {
		described, err := conn.Prepare(ctx, "twice", "SELECT $1::int * 2 AS v")
		Must(err)
		Must(Same(described.ParamOIDs, []uint32{23}))
		var found int
		for n := range 5 {
			Must(conn.QueryRow(ctx, "twice", n).Scan(&found))
			Must(Same(found, 2*n))
		}
		return conn.Deallocate(ctx, "twice")
	})
	Check("prepared", "a table that changes under a cached statement", func() error {
		var id int
		Must(conn.QueryRow(ctx, "SELECT id FROM t WHERE id = $1", 1).Scan(&id))
		_, err := conn.Exec(ctx, "ALTER TABLE t ADD COLUMN more int")
		Must(err)
		Must(conn.QueryRow(ctx, "SELECT id FROM t WHERE id = $1", 1).Scan(&id))
		_, err = conn.Exec(ctx, "ALTER TABLE t DROP COLUMN more")
		Must(err)
		return Same(id, 1)
	})
	Check("transactions", "savepoint, rollback", func() error {
		Must(pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "INSERT INTO t VALUES (50, 'a')")
			Must(err)
			err = pgx.BeginFunc(ctx, tx, func(inner pgx.Tx) error {
				_, err := inner.Exec(ctx, "INSERT INTO t VALUES (50, 'b')")
				return err
			})
			return Refused(err, "23505")
		}))
		var count int
		Must(conn.QueryRow(ctx, "SELECT count(*) FROM t").Scan(&count))
		return Same(count, 11)
	})
	Check("copy", "CopyFrom", func() error {
		count, err := conn.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"id", "name"}, pgx.CopyFromSlice(1000, func(n int) ([]any, error) {
			return []any{n + 1000, fmt.Sprint(n)}, nil
		}))
		Must(err)
		return Same(count, int64(1000))
	})
	Check("metadata", "field descriptions", func() error {
		rows, err := conn.Query(ctx, "SELECT id, name FROM t LIMIT 0")
		Must(err)
		defer rows.Close()
		fields := rows.FieldDescriptions()
		return Same([]any{fields[0].Name, fields[0].DataTypeOID, fields[1].TableAttributeNumber}, []any{"id", uint32(23), uint16(2)})
	})
	Check("queries", "notifications", func() error {
		_, err := conn.Exec(ctx, "LISTEN c")
		Must(err)
		other, err := pgx.Connect(ctx, "")
		Must(err)
		defer other.Close(ctx)
		_, err = other.Exec(ctx, "NOTIFY c, 'hello'")
		Must(err)
		short, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		said, err := conn.WaitForNotification(short)
		Must(err)
		return Same(said.Payload, "hello")
	})
	Check("cancel", "CancelRequest", func() error {
		go func() {
			time.Sleep(500 * time.Millisecond)
			conn.PgConn().CancelRequest(ctx)
		}()
		_, err := conn.Exec(ctx, Endless)
		Must(Refused(err, "57014"))
		return conn.Ping(ctx)
	})
}
