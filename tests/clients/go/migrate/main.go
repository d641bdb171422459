// golang-migrate: up, steps back, a failure that leaves it dirty, force, drop.
package main

import (
	"errors"
	"testing/fstest"

	. "gpudb.test/clients/scenario"

	"github.com/golang-migrate/migrate/v4"
	_ "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	_ "github.com/golang-migrate/migrate/v4/database/postgres"
	"github.com/golang-migrate/migrate/v4/source/iofs"
)

func sql(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

var files = fstest.MapFS{
	"m/1_first.up.sql":    sql("CREATE TABLE a (id serial PRIMARY KEY, name text NOT NULL); INSERT INTO a (name) VALUES ('x');"),
	"m/1_first.down.sql":  sql("DROP TABLE a;"),
	"m/2_second.up.sql":   sql("ALTER TABLE a ADD COLUMN b int; CREATE INDEX a_b ON a (b) WHERE b > 1; CREATE VIEW v AS SELECT * FROM a;"),
	"m/2_second.down.sql": sql("DROP VIEW v; ALTER TABLE a DROP COLUMN b;"),
	"m/3_broken.up.sql":   sql("CREATE TABLE c (id int); SELECT * FROM missing;"),
	"m/3_broken.down.sql": sql("SELECT 1;"),
}

func open(scheme string) *migrate.Migrate {
	from, err := iofs.New(files, "m")
	Must(err)
	made, err := migrate.NewWithSourceInstance("iofs", from, URL(scheme, "sslmode=disable"))
	Must(err)
	return made
}

func main() {
	Version("github.com/golang-migrate/migrate/v4")
	for driver, scheme := range map[string]string{"lib/pq": "postgres", "pgx": "pgx5"} {
		var m *migrate.Migrate
		Check("connect", driver, func() error {
			m = open(scheme)
			return nil
		})
		if m == nil {
			continue
		}
		Check("migrations", "up and back, "+driver, func() error {
			Must(m.Migrate(2))
			Must(Same(m.Migrate(2), error(migrate.ErrNoChange)))
			Must(m.Steps(-1))
			return m.Steps(1)
		})
		Check("migrations", "a failure is known, "+driver, func() error {
			if err := m.Up(); err == nil {
				return errors.New("no error")
			}
			version, dirty, err := m.Version()
			Must(err)
			Must(Same([]any{version, dirty}, []any{uint(3), true}))
			return m.Force(2)
		})
		Check("migrations", "down, drop, "+driver, func() error {
			Must(m.Down())
			return m.Drop()
		})
		m.Close()
	}
}
