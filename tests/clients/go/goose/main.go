// goose: migrations up, down and by version, with a lock of the session.
package main

import (
	"context"
	"database/sql"
	"testing/fstest"

	. "gpudb.test/clients/scenario"

	_ "github.com/lib/pq"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

var files = fstest.MapFS{
	"1_first.sql": {Data: []byte("-- +goose Up\nCREATE TABLE a (id serial PRIMARY KEY, name text NOT NULL);\nINSERT INTO a (name) VALUES ('x');\n" +
		"-- +goose Down\nDROP TABLE a;\n")},
	"2_second.sql": {Data: []byte("-- +goose Up\nALTER TABLE a ADD COLUMN b int DEFAULT 1;\nCREATE INDEX a_name ON a (name);\n-- +goose StatementBegin\n" +
		"CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END; $$;\n-- +goose StatementEnd\n" +
		"-- +goose Down\nDROP FUNCTION f();\nALTER TABLE a DROP COLUMN b;\n")},
	"3_outside.sql": {Data: []byte("-- +goose NO TRANSACTION\n-- +goose Up\nCREATE INDEX CONCURRENTLY a_b ON a (b);\n-- +goose Down\nDROP INDEX a_b;\n")},
}

func main() {
	ctx := context.Background()
	Version("github.com/pressly/goose/v3")
	db, err := sql.Open("postgres", URL("postgres", "sslmode=disable"))
	Must(err)
	Check("connect", "with a password", db.Ping)
	locker, err := lock.NewPostgresSessionLocker()
	Must(err)
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithSessionLocker(locker))
	Must(err)
	Check("migrations", "up", func() error {
		done, err := provider.Up(ctx)
		Must(err)
		return Same(len(done), 3)
	})
	Check("migrations", "up again, status", func() error {
		done, err := provider.Up(ctx)
		Must(err)
		Must(Same(len(done), 0))
		version, err := provider.GetDBVersion(ctx)
		Must(err)
		return Same(version, int64(3))
	})
	Check("migrations", "down to the beginning", func() error {
		done, err := provider.DownTo(ctx, 0)
		Must(err)
		return Same(len(done), 3)
	})
}
