// Package scenario is what the scenarios in Go share: checks that print their outcome.
package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"reflect"
	"runtime/debug"
)

// Endless is a statement that does not end by itself.
const Endless = "SELECT sum(a.n % b.n) FROM generate_series(1, 100000) a(n), generate_series(1, 100000) b(n)"

// URL is the server's, for a scheme and options.
func URL(scheme, options string) string {
	user := url.UserPassword(os.Getenv("PGUSER"), os.Getenv("PGPASSWORD"))
	return fmt.Sprintf("%s://%s@%s:%s/%s?%s", scheme, user, os.Getenv("PGHOST"), os.Getenv("PGPORT"), os.Getenv("PGDATABASE"), options)
}

// Version prints the version of a module that the program is built from.
func Version(module string) {
	info, _ := debug.ReadBuildInfo()
	for _, each := range info.Deps {
		if each.Path == module {
			say(map[string]any{"version": each.Version[1:]})
		}
	}
}

// Check runs a check and prints its outcome; a panic counts as an error.
func Check(feature, name string, body func() error) {
	var reason any
	func() {
		defer func() {
			if raised := recover(); raised != nil {
				reason = fmt.Sprint(raised)
			}
		}()
		if err := body(); err != nil {
			reason = err.Error()
		}
	}()
	say(map[string]any{"feature": feature, "check": name, "error": reason})
}

func say(what map[string]any) {
	line, _ := json.Marshal(what)
	fmt.Println(string(line))
}

// Same returns an error unless both are equal.
func Same(found, expected any) error {
	if !reflect.DeepEqual(found, expected) {
		return fmt.Errorf("%#v instead of %#v", found, expected)
	}
	return nil
}

// Refused returns an error unless err has this SQLSTATE.
func Refused(err error, sqlstate string) error {
	var coded interface{ SQLState() string }
	if errors.As(err, &coded) && coded.SQLState() == sqlstate {
		return nil
	}
	return fmt.Errorf("%v instead of %s", err, sqlstate)
}

// Must panics with an error.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}
