// lib/pq: database/sql over it, COPY, listeners, cancel by context.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	. "gpudb.test/clients/scenario"

	"github.com/lib/pq"
)

func main() {
	Version("github.com/lib/pq")
	plain := URL("postgres", "sslmode=disable")
	Check("tls", "verify-full", func() error {
		db, err := sql.Open("postgres", URL("postgres", "sslmode=verify-full"))
		Must(err)
		defer db.Close()
		return db.Ping()
	})
	db, err := sql.Open("postgres", plain)
	Must(err)
	defer db.Close()
	db.SetMaxOpenConns(5)
	Check("connect", "with a password", db.Ping)
	one := func(query string, values ...any) any {
		var found any
		Must(db.QueryRow(query, values...).Scan(&found))
		return found
	}
	Check("queries", "rows and parameters", func() error { return Same(one("SELECT $1::int + $2", 1, 2), int64(3)) })
	Check("queries", "errors", func() error {
		_, err := db.Exec("SELECT * FROM missing")
		return Refused(err, "42P01")
	})
	_, err = db.Exec("CREATE TABLE t (id int PRIMARY KEY, name text); INSERT INTO t VALUES (1, 'a')")
	Check("queries", "several statements", func() error { return err })
	values := []struct {
		kind            string
		value, expected any
	}{
		{"boolean", true, true}, {"bigint", int64(-9223372036854775808), int64(-9223372036854775808)}, {"float8", 1e-5, 1e-5},
		{"text", "né \"x' \\ 😀", "né \"x' \\ 😀"}, {"bytea", []byte{0, 255, 92}, []byte{0, 255, 92}}, {"numeric", "1.50", []byte("1.50")},
		{"int[]", pq.Array([]int64{1, 2}), []byte("{1,2}")}, {"text[]", pq.Array([]string{"a", `b "c"`}), []byte(`{a,"b \"c\""}`)}, {"text", nil, nil},
	}
	for _, each := range values {
		Check("types", each.kind, func() error { return Same(one("SELECT $1::"+each.kind, each.value), each.expected) })
	}
	Check("types", "timestamptz", func() error {
		moment := time.Date(2024, 7, 1, 12, 30, 0, 5000, time.UTC)
		return Same(one("SELECT $1::timestamptz", moment).(time.Time).UTC(), moment)
	})
	Check("prepared", "statements", func() error {
		twice, err := db.Prepare("SELECT $1::int * 2")
		Must(err)
		defer twice.Close()
		var found int
		for n := range 5 {
			Must(twice.QueryRow(n).Scan(&found))
			Must(Same(found, 2*n))
		}
		return nil
	})
	Check("prepared", "binary_parameters", func() error {
		binary, err := sql.Open("postgres", URL("postgres", "sslmode=disable&binary_parameters=yes"))
		Must(err)
		defer binary.Close()
		var found string
		Must(binary.QueryRow("SELECT $1::text || $2", "a", "b").Scan(&found))
		return Same(found, "ab")
	})
	Check("transactions", "read only, rollback", func() error {
		tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
		Must(err)
		_, err = tx.Exec("DELETE FROM t")
		Must(Refused(err, "25006"))
		return tx.Rollback()
	})
	Check("copy", "CopyIn", func() error {
		tx, err := db.Begin()
		Must(err)
		in, err := tx.Prepare(pq.CopyIn("t", "id", "name"))
		Must(err)
		for n := range 1000 {
			_, err = in.Exec(n+10, fmt.Sprintf("n\t%d", n))
			Must(err)
		}
		_, err = in.Exec()
		Must(err)
		Must(in.Close())
		Must(tx.Commit())
		return Same(one("SELECT count(*) FROM t WHERE name LIKE E'n\\t%'"), int64(1000))
	})
	Check("metadata", "column types", func() error {
		rows, err := db.Query("SELECT 1::numeric(5,2) AS a, 'x'::varchar(3) AS b")
		Must(err)
		defer rows.Close()
		kinds, err := rows.ColumnTypes()
		Must(err)
		precision, scale, _ := kinds[0].DecimalSize()
		length, _ := kinds[1].Length()
		return Same([]any{kinds[0].DatabaseTypeName(), precision, scale, length}, []any{"NUMERIC", int64(5), int64(2), int64(3)})
	})
	Check("queries", "listener", func() error {
		listener := pq.NewListener(plain, time.Second, time.Minute, nil)
		defer listener.Close()
		Must(listener.Listen("c"))
		_, err := db.Exec("NOTIFY c, 'hello'")
		Must(err)
		select {
		case said := <-listener.Notify:
			return Same(said.Extra, "hello")
		case <-time.After(10 * time.Second):
			return fmt.Errorf("heard nothing")
		}
	})
	Check("cancel", "context", func() error {
		short, end := context.WithTimeout(context.Background(), 500*time.Millisecond)
		defer end()
		_, err := db.ExecContext(short, Endless)
		if short.Err() == nil || err == nil {
			return fmt.Errorf("%v", err)
		}
		return db.Ping()
	})
}
