"""PDO: PHP's driver for PostgreSQL: parameters, streams of large objects, COPY, metadata, notifications."""

from __future__ import annotations

import subprocess
import sys

from scenario import skip

_SCRIPT = r"""
function check($feature, $name, $body) { $error = null; try { $body(); } catch (Throwable $e) { $error = str_replace("\n", " ", $e->getMessage()); }
  echo json_encode(["feature" => $feature, "check" => $name, "error" => $error]), "\n"; }
function same($found, $expected) { if ($found !== $expected) throw new Exception(json_encode($found) . " instead of " . json_encode($expected)); }
function open($mode) { return new PDO("pgsql:host=" . getenv("PGHOST") . ";port=" . getenv("PGPORT") . ";dbname=" . getenv("PGDATABASE") . ";sslmode=$mode", getenv("PGUSER"), getenv("PGPASSWORD"), [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]); }
echo json_encode(["version" => phpversion("pdo_pgsql")]), "\n";
check("connect", "with a password", function () { same(open("disable")->query("SELECT 1")->fetchColumn(), 1); });
check("tls", "verify-full", function () { same(open("verify-full")->query("SELECT 1")->fetchColumn(), 1); });
$d = open("disable");
check("queries", "rows and parameters", function () use ($d) { $q = $d->prepare("SELECT :a::int + 1 AS a, :b::text AS b"); $q->execute(["a" => 2, "b" => "né"]); same($q->fetch(PDO::FETCH_ASSOC), ["a" => 3, "b" => "né"]); });
check("queries", "errors", function () use ($d) { try { $d->query("SELECT * FROM missing"); throw new Exception("no error"); } catch (PDOException $e) { same($e->getCode(), "42P01"); } });
check("types", "values and the last id", function () use ($d) { $d->exec("CREATE TABLE p (id serial PRIMARY KEY, n numeric(5,2), b bytea, e boolean)"); $q = $d->prepare("INSERT INTO p (n, b, e) VALUES (?, ?, ?)"); $q->bindValue(1, "1.50"); $q->bindValue(2, "\0\xff", PDO::PARAM_LOB); $q->bindValue(3, true, PDO::PARAM_BOOL); $q->execute(); same($d->lastInsertId(), "1"); $r = $d->query("SELECT n, b, e FROM p")->fetch(PDO::FETCH_ASSOC); same([$r["n"], bin2hex(stream_get_contents($r["b"])), $r["e"]], ["1.50", "00ff", true]); });
check("types", "large objects as streams", function () use ($d) { $d->beginTransaction(); $o = $d->pgsqlLOBCreate(); $s = $d->pgsqlLOBOpen($o, "w"); fwrite($s, str_repeat("abc\0", 3000)); fclose($s); $d->commit(); $d->beginTransaction(); $s = $d->pgsqlLOBOpen($o, "r"); fseek($s, 4); same(strlen(stream_get_contents($s)), 11996); fclose($s); $d->pgsqlLOBUnlink($o); $d->commit(); });
check("prepared", "emulated, and on the server", function () use ($d) { foreach ([true, false] as $emulated) { $q = $d->prepare("SELECT ?::int * 2", [PDO::ATTR_EMULATE_PREPARES => $emulated]); foreach ([1, 2, 3] as $n) { $q->execute([$n]); same($q->fetchColumn(), $n * 2); } } });
check("copy", "arrays", function () use ($d) { $d->pgsqlCopyFromArray("p (n)", ["2", "3"]); same(count($d->pgsqlCopyToArray("p")), 3); });
check("metadata", "columns of a result", function () use ($d) { $m = $d->query("SELECT n FROM p")->getColumnMeta(0); same([$m["native_type"], $m["table"]], ["numeric", "p"]); });
check("transactions", "rollback", function () use ($d) { $d->beginTransaction(); $d->exec("DELETE FROM p"); $d->rollBack(); same($d->query("SELECT count(*) FROM p")->fetchColumn(), 3); });
check("queries", "a scrolling cursor", function () use ($d) { $d->beginTransaction(); $q = $d->prepare("SELECT g FROM generate_series(1, 5) AS g", [PDO::ATTR_CURSOR => PDO::CURSOR_SCROLL]); $q->execute(); same([$q->fetch(PDO::FETCH_NUM, PDO::FETCH_ORI_LAST), $q->fetch(PDO::FETCH_NUM, PDO::FETCH_ORI_FIRST)], [[5], [1]]); unset($q); $d->commit(); });
check("queries", "a notification", function () use ($d) { $d->exec("LISTEN c"); $d->exec("NOTIFY c, 'x'"); $n = $d->pgsqlGetNotify(PDO::FETCH_NUM, 5000); same([$n[0], $n[2]], ["c", "x"]); });
"""

if "pdo_pgsql" not in subprocess.run(["php", "-m"], capture_output=True, text=True, check=False).stdout:
    skip("pdo_pgsql is not installed")
sys.exit(subprocess.run(["php", "-r", _SCRIPT], check=False).returncode)
