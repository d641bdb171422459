"""DBD::Pg: Perl's driver: parameters, large objects by FunctionCall, COPY, metadata, savepoints."""

from __future__ import annotations

import subprocess
import sys

from scenario import skip

_SCRIPT = r"""
use strict; use warnings; use utf8; use DBI; use JSON::PP;
my $json = JSON::PP->new->ascii->canonical->allow_nonref;
require DBD::Pg; print $json->encode({version => "" . DBD::Pg->VERSION}), "\n";
sub check { my ($feature, $name, $body) = @_; my $error = eval { $body->(); 1 } ? undef : "$@"; $error =~ s/\n.*//s if defined $error;
  print $json->encode({feature => $feature, check => $name, error => $error}), "\n"; }
sub same { my ($found, $expected) = map { $json->encode($_) } @_; die "$found instead of $expected\n" if $found ne $expected; }
my $ssl = "sslmode=disable";
my $d; my $open = sub { DBI->connect("dbi:Pg:$_[0]", undef, undef, {AutoCommit => 0, RaiseError => 1, PrintError => 0}) };
check("connect", "with a password", sub { $d = $open->($ssl) });
check("tls", "verify-full", sub { my $s = $open->("sslmode=verify-full"); same("" . $s->selectrow_array("SELECT 1"), "1"); $s->disconnect });
check("queries", "rows and parameters", sub { my $s = $d->prepare("SELECT ?::int + 1, ?::text, ARRAY[1,2]"); $s->execute(4, "n\x{e9}"); my @r = $s->fetchrow_array; same([0 + $r[0], $r[1], $r[2]], [5, "n\x{e9}", [1, 2]]) });
check("queries", "errors", sub { $d->pg_savepoint("s"); eval { $d->do("SELECT 1/0") }; same($d->state, "22012"); $d->pg_rollback_to("s") });
check("types", "bytea, point, last inserted id", sub { $d->do("CREATE TABLE t (id serial PRIMARY KEY, p point, b bytea)"); my $i = $d->prepare("INSERT INTO t (p, b) VALUES (?, ?)"); $i->bind_param(2, undef, {pg_type => DBD::Pg::PG_BYTEA()}); $i->execute("(1,2)", "\0\xff"); same("" . $d->last_insert_id(undef, undef, "t", undef), "1"); my ($p, $b) = $d->selectrow_array("SELECT p, b FROM t"); same([$p, unpack("H*", $b)], ["(1,2)", "00ff"]) });
check("types", "large objects", sub { my $o = $d->pg_lo_creat(0x60000); my $f = $d->pg_lo_open($o, 0x20000); $d->pg_lo_write($f, "hello\0w", 7); $d->pg_lo_lseek($f, 0, 0); my $b; my $n = $d->pg_lo_read($f, $b, 100); same([0 + $n, $b, 0 + $d->pg_lo_tell($f)], [7, "hello\0w", 7]); $d->pg_lo_truncate($f, 3); $d->pg_lo_lseek($f, 0, 2); same(0 + $d->pg_lo_tell($f), 3); $d->pg_lo_close($f); $d->commit; $d->pg_lo_export($o, "exported"); my $again = $d->pg_lo_import("exported"); same("" . $d->selectrow_array("SELECT convert_from(lo_get($again), 'UTF8')"), "hel"); $d->pg_lo_unlink($o) });
check("copy", "in and out", sub { $d->do("COPY t (p) FROM STDIN"); $d->pg_putcopydata("($_,4)\n") for 1 .. 100; $d->pg_putcopyend; $d->do("COPY t (p) TO STDOUT"); my ($row, $n) = ("", 0); $n++ while $d->pg_getcopydata($row) >= 0; same($n, 101) });
check("metadata", "tables, columns, keys", sub { same([$d->tables(undef, "public", "%", "TABLE")], ["public.t"]); same([map { $_->[3] } @{$d->column_info(undef, "public", "t", "%")->fetchall_arrayref}], ["id", "p", "b"]); same([$d->primary_key(undef, "public", "t")], ["id"]) });
check("metadata", "statistics of indexes", sub { same([map { $_->[5] } grep { defined $_->[5] } @{$d->statistics_info(undef, "public", "t", 0, 0)->fetchall_arrayref}], ["t_pkey"]) });
check("transactions", "rollback", sub { $d->rollback; same([$d->tables(undef, "public", "%", "TABLE")], ["public.t"]); $d->do("DELETE FROM t"); $d->rollback });
check("prepared", "on the server", sub { my $s = $d->prepare("SELECT \$1::int * 2", {pg_server_prepare => 1}); for my $n (1 .. 5) { $s->execute($n); same(0 + $s->fetchrow_arrayref->[0], 2 * $n) } });
check("queries", "a notification", sub { $d->do("LISTEN c"); $d->commit; $d->do("NOTIFY c, 'x'"); $d->commit; my $n = $d->pg_notifies; same([$n->[0], $n->[2]], ["c", "x"]) });
$d->rollback; $d->disconnect;
"""

if subprocess.run(["perl", "-MDBD::Pg", "-MJSON::PP", "-e", "1"], capture_output=True, check=False).returncode:
    skip("DBD::Pg is not installed")
sys.exit(subprocess.run(["perl", "-e", _SCRIPT], check=False).returncode)
