"""Single values: read and written as PostgreSQL 16 does, errors included."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import pq

from gpudb.errors import GpudbError
from gpudb.types import SqlType, numeric
from gpudb.values import format_text, parse_text
from tests.support.oracle.server import Oracle

ZONES = ("UTC", "America/New_York", "Asia/Kolkata")

# One line for each type; texts are separated by bars.
DATETIMES = """2020-01-31|2020-1-3|1/2/2020|13/1/2020|1/2/20|1-2-69|1-2-70|2020.01.02|01.02.2020|20200131|200131
|Jan 3 2020|3 Jan 2020|2020 Jan 3|Jan-03-2020|03-Jan-2020|2020-Jan-03|January 8, 1999|Jan 8 99|99-Jan-08|08-Jan-99
|J2451187|2451187|2020-060|2020-366|2019-366|infinity|-infinity|+infinity|epoch|2020-02-29|2019-02-29|0000-01-01
|0001-01-01|0044-03-15 BC|2020-01-01 AD|12000-01-01|5874897-12-31|5874898-01-01|4713-01-01 BC|4715-01-01 BC
|2020-13-01|2020-00-01|2020-01-32|2020-01-00|2020-01|2020|01-02|foo||   |2020-01-01 04:05:06|2020-01-01 04:05
|2020-01-01 24:00:00|2020-01-01 24:00:01|2020-01-01 23:59:60|2020-01-01 23:59:61|2020-01-01 04:60
|2020-01-01T04:05:06Z|2020-01-01T04:05:06.123456789Z|2020-01-01t04:05|20200101T040506|20200101T0405
|20200101 040506|20200101 040506.789|20200101T040506+05|20200101T040506-0530|2020-01-01 04:05:06+05
|2020-01-01 04:05:06 +05:30|2020-01-01 04:05:06-03:30:52|2020-01-01 04:05:06+0530|2020-01-01 04:05 PM
|2020-01-01 12:05 AM|2020-01-01 13:05 PM|2020-01-01 12:05 pm|2020-01-01 04:05 EST|2020-01-01 04:05 PST
|2020-01-01 04:05 America/New_York|2020-07-01 04:05 america/new_york|2020-07-01 04:05 Europe/Berlin
|2020-03-08 02:30 America/New_York|2020-11-01 01:30 America/New_York|2020-03-08 02:30|2020-11-01 01:30
|2020-01-01 04:05 Foo/Bar|2020-01-01 04:05 XYZ|2020-01-01 04:05 UTC|2020-01-01 04:05 GMT+3|2020-01-01 04:05+16
|2020-01-01 04:05+15:59|Wed Jan 1 04:05:06 2020 PST|Wed, 01 Jan 2020 04:05:06 +0100|Jan 1 04:05:06 2020
|2020-01-01 .5|2020-01-01 04|2020-01-01 0405|04:05:06 2020-01-01|04:05:06|2020-01-01 04:05:06.5
|2020-01-01 04:05:06.|2020-01-01 04:05:06,5|2020-01-01 04:05.5|2020-01-01 4:5:6|2020-01-01 foo
|2020-01-01 04:05:06 04:05:06|2020-01-01 00:00:00.9999999|2020-01-01  at 04:05|4:05 pm 2020-01-01
|1999-01-08 04:05:06 -8:00|19990108T040506|1999-01-08 040506-08|allballs|04:05:06.789-8|040506|0405|04:05 AM
|04:05-08:00|04:05:06 PST|2003-04-12 04:05:06 America/New_York|24:00|24:00:00.1|25:00|12:60|3 pm|04|4:05:06.7891234
|T040506|T04:05:06|99999-01-01|123456|1234567|12345678901234567890|2020-01-01T|2020-1-1-1|2020-01-01 04:05:06+
|é|2020-01-01 é|２０２０-01-01|mon tuesday jan 1 2020|2020-01-01 z|2020-01-01 04:05z|2020-01-01 utc|2020-01-01 -3
|01 02 03|2 3 2004|may|may 4|May 4 5|5 4 may|2020/01/02|1/2|2020-01-02-03|epoch 1|infinity 2|-1|+5
|2020-01-01 infinity|J0|J5373484|2020-01-01 04:05:06 BC|0044-03-15 01:02:03.5 BC|1800-01-01 12:00|2050-07-01 12:00"""

INTERVALS = """1 day|1 year 2 mons 3 days 04:05:06.5|-1 year -2 mons +3 days -04:05:06|1-2|+1-2|-1-2|1-2 3 4:05:06
|1-2 -3 -4:05:06|3 4:05:06|4:05:06|-4:05:06|4:05|4:05.5|1.5 months|1.5 days|1.5 years|-1.5 months|1.33 months
|0.5 weeks|1 week|2 weeks 3 days|1 quarter|1 decade|1 century|1 millennium|1.5 hours|90 minutes|100 seconds|1000 ms
|1 us|1.5 us|@ 1 minute ago|@ 1 year 2 days ago|P1Y2M3DT4H5M6.5S|P0001-02-03T04:05:06|P2W|PT36H|P-1Y2M|P1.5Y|PT0.5S
|P|PT|P1Y2|p1y|10|10.5|-10|1 2|1 day 2 day|1 day 2 days|year 1|year|foo|||1 fortnight|99999999999 years
|2147483647 months|2147483648 months|1e3 days|1day|1d2h3m4s|1y|1 mon|12 mons|-12 mons|13 mons|-13 mons|0|1 h|1 hour 5
|5 1 hour|1:2:3:4|24:00:00|100:00:00|1:60|1:59:60|1:59:61|infinity|1 day infinity|1 year, 2 months|- 1 day|+ 1 day
|1 day -00:00:01|-1 day 00:00:01|1 mon -1 day|.5 day|5. days|1.0e1 days|2562047788:00:54|2562047789:00|1 day 10|1-13
|1.000001 s|1.0000005 s|1.0000015 s|0.1 months|0.123456789 years|-0.5 days|1 minute 1 min|3 days 3 weeks|1 sec 1 ms
|1 msec 1 usec|6.5 decade|1.1 century|1 dec"""

TEXTS = {
    "bool": "t|T|tr|TRUE|y|yes|on|1|f|fa|off|of|o|0|n|no|| t |tx|10",
    "int4": "1|-1|+1| 42 |0x1F|-0x1F|0b101|0o17|1_000|1__0|_1|1_|0x_1F|2147483647|2147483648|-2147483648|-2147483649"
    "|1.0|1e3||abc|0x|99999999999999999999999999|--1|+ 1|٣|0b2|1 2|-0x80000000",
    "int8": "9223372036854775807|9223372036854775808|-9223372036854775808|0x7fffffffffffffff",
    "int2": "32767|32768|-32768|-32769",
    "oid": "1|-1|4294967295|4294967296|abc",
    "float8": "1|1.5|.5|5.|1e10|1E-5|1e400|1e-400|-1e400|nan|NAN|inf|-inf|+Infinity|infinit|0x1p3|0x.8|1e|e1|.||1_0"
    "|1e5 |-0|0e999|1d5|0x1p5000|5e-324|2e-324|123456789012345678|0.1|1e15|1e14|123456789012345|1e-4|0.00001234|+nan"
    "|-nan|++1|1e23|9007199254740993",
    "float4": "1|1.5|0.1|1e6|123456|1234567|1e38|1e39|1e-45|1e-46|0.0001|0.00001|3.4028235e38|16777217|33554433|1e10",
    "numeric": "1|1.50|-0|.5|5.|1e5|1.5e-3|1_000.000_1|0x1F|00012.3400| 1 |1e|.|abc||1__0|1_|1e+5|-1.5e2|1E2|1.e2|0e10"
    "|0.00000000000000000001|12345678901234567890.123456789",
    "bytea": r"\xDEADbeef|\x|\x de ad|\xd|\xzz|abc|a\\b|a\000b|a\400|a\1|é|\\|\x d",
    "inet": "1.2.3.4|1.2.3.4/32|1.2.3.4/0|10.1/16|10/8|10/16|001.02.3.4|1.2.3.4/08|1.2.3.4.|1.2.3.4./8|1.2.3|1.2.3.256|1..2.3"
    "|1.2.3.4/33|1.2.3.4.5|1.2.3.4/| 1.2.3.4|1.2.3.4 ||abc|::|::1/128|1::|1:2:3:4:5:6:7:8|1:0:0:4:0:0:0:8/96|0:0:1::|::2"
    "|FE80::ABCD/10|::1.2.3.4|::ffff:1.2.3.4/100|1::1.2.3.4|::1:2|::ffff:0:0|::1.2.3|::1/129|::1/08|1:2:3:4:5:6:7|1::2::3"
    "|fe80::1%eth0|12345::|::1.02.3.4|:1:2|1:2:|1:2:3:4:5:6:7::|::1/|0x0a.1.2.3|.1.2.3.4|٣.1.2.3|1.2.3.4/-1|10./8|1:2:3:4:5:6:1.2.3.4",
    "cidr": "10|10.1|172|192.168|192.168.1|224|225|240|1.2.3.4|10.1.2.0/24|0/0|0x0a01|0x0A/8|0xa|0x|10.|10./8|::1|2001:db8::/32"
    "|::/0|1.2.3.4/8|2001:db8::1/64|300|1.2.3.4.5|10/33|0x0102030405||ä|10/|::1.2/128",
    "macaddr8": "08:00:2b:01:02:03:04:05|08002b0102030405|08:00:2b:01:02:03|0800.2b01.0203.0405|0800-2b01-0203|08002b:010203"
    "|08:00:2b:01:02:03:4|08:00-2b:01:02:03:04:05|08:00:2b:01:02|08:00:2b:01:02:03:04:05:06|08:00:2b:01:02:0g||ä| 080020010203 "
    "|08002b010203 x|08002b01020304|08:00:2b:01:02:03:04:05 |08:00:2b:01:02:03:04:05:|08::00:2b:01:02:03|0 8002b010203",
    "macaddr": "08:00:2b:01:02:03|8:0:2B:1:2:3|08-00-2b-01-02-03|08002b:010203|08002b-010203|0800.2b01.0203|0800-2b01-0203"
    "|08002b010203| 08:00:2b:01:02:03 |08:00:2b:01:02|08:00:2b:01:02:03:04|08:00:2b:01:02:0g|08:00:2b:01:02:1ff|"
    "|08:00-2b:01:02:03|08 00 2b 01 02 03|08002b01020|08:00:2b:01:02:03x|ä",
    "money": "1|-1|$1|$-1|-$1|- $ 1| $ 1.5 |(1.5)|+1|1-|1,2,3.4|1 $|.5|5.|0.005|-0.005|1.994999|1.999|12345.678|,1|"
    "|$|-|1.2,3|1.23,4|()|-(1)|92233720368547758.07|92233720368547758.08|-92233720368547758.08|-92233720368547758.09"
    "|abc|1.2.3|1e5|€1|1 2|--1|1)|+-1|1.,2|1.2345,6|1..|$ $1|$$1|1.23456|(1|9223372036854775807|0.0049999",
    "varbit": "101|b101|B101|x1F|X1f|b|x||102|x1g| 101|é|0x1|1 0",
    "int4range": "[1,5)|(1,5]|[1,5]|(1,2)|[3,3)|(,)|[,5]| [ 1 ,5 ) |empty| EMPTY |empty x|[1,2,3)|[1|[1,|[1,2|[1)|1,2"
    '|["1","5")|[1""1,5)|[\\1,5)|[1,2) x||[a,2)|[5,1)|[1,2147483647]|(2147483647,)|[1,2147483648)|["",5)|[1\\',
    "int8range": "[9223372036854775806,9223372036854775807)|(1,9223372036854775807]|[-9223372036854775808,)",
    "numrange": "[1.50,2)|(1.0,1.00]|[1,1.0]|[,)|[0.5,|[1e3,0x10000]|(2.5,1)|[x,1)",
    "daterange": "[2020-01-01,2020-02-29]|(2020-01-01,)|[infinity,)|(-infinity,infinity)|[-infinity,infinity]"
    "|[0044-03-15 BC,2020-01-01)|[2020-02-30,)|[2020-01-02,2020-01-01]|[,5874897-12-31]|(infinity,infinity]",
    "tsrange": '["2020-01-01 10:00",2020-01-01 11:00:00.5]|[infinity,)|(,2020-01-01)|[2020-01-01,2019-12-31)',
    "tstzrange": '["2020-07-01 10:00+02",2021-01-01 11:00]|[-infinity,infinity)|(,2020-01-01)',
    "int4multirange": "{}|{[1,5)}| { [1,3] , (2,5) } |{[1,2),[2,3),[7,9)}|{empty,[1,2)}|{(,)}|{[3,4),[1,2)}|{|[1,2)|{[1,2)} x"
    '|{[1,2) [3,4)}|{,}|{[1,2),}||{1}|{[2,1)}|{[a,1)}|{["1","5")}|{[1,2147483647]}|{[1|{[1,|{"[1,2)"}|{emptyx}|{[1,2)}}',
    "nummultirange": "{[1.50,2),[2.0,3]}|{[1,1.0],[1.00,2)}|{(2,3),(1.0,2)}|{(1,2),[2,3.0)}",
    "_int4multirange": '{"{[1,3),[5,6)}",NULL,"{}"}|{{[1\\,2]}}',
    "_int4range": '{"[1,3)",empty,NULL,"(,)"}|{[1\\,2]}',
    "_tsrange": '{"[\\"2020-01-01 10:00\\",)"}',
    "uuid": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11|A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"
    "|{a0eebc99-9c0b4ef8-bb6d6bb9-bd380a11}|a0eebc999c0b4ef8bb6d6bb9bd380a11|a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11"
    "|{a0eebc99-9c0b4ef8-bb6d6bb9-bd380a11| a0eebc999c0b4ef8bb6d6bb9bd380a11|a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1"
    "|a-0eebc999c0b4ef8bb6d6bb9bd380a11|a0eebc999c0b4ef8bb6d6bb9bd380a11-",
    "json": '{"a":1}|[1, 2 ,3]|"x"|nul|null| 1 |{"a":}|{a:1}|[1,]|NaN|01|1.|-1.5e10|"\\u00e9"|"a\nb"||{"a":1}x|\t[]\n'
    '|\xa0[]|"é"|1e999|-|{"a":1,"a":2}',
    "jsonb": '{"b":1,"a":1.50,"aa":[1 ,2],"b":null}|1e2|1.0e-2|"\\u00e9"|"\\u0000"|"\\ud83d\\ude00"|"\\ud83d"'
    '|"a\\/b\\n\\u0001"|true|[]|{}|-0|-0.0|{"é":1,"zz":2,"a":{"b":[]}}',
    "_int4": '{1,2,3}|{}|{ 1 , 2 }|{1,NULL}|{1,null,"3"}|{{1,2},{3,4}}|{{1,2},{3}}|{1,2|1,2|{1,,2}|{1,}|{,1}|{1}x|{1} '
    '|[1:2]={1,2}|{{}}|{{},{}}|{1 2}|{{{{{{1}}}}}}|{{{{{{{1}}}}}}}||{"1" "2"}|{a}',
    "_text": r'{a,b c," d ",e\"f,"g\"h",NULL,"NULL",null,"",a\ ,\ b,"x\\y"}|{a"b"}|{"a"b}|{a\}|{"a}|{\,}|{é,"{"}|{ a b }'
    '|{a,"b",}|{{a,b},{c,NULL}}|{\t\n}',
    "_float8": "{1,NaN,-Infinity,0.1,1e20}",
    "_bool": "{t,f,NULL,true}",
    "_date": "{2020-01-01,infinity}",
    "_timestamptz": '{"2020-01-01 00:00:00+00",infinity}',
    "_interval": '{1 day,"1 day 2 hours"}',
    "_bytea": r'{"\\x6162","a"}',
    "_numeric": "{1.50,-0.001}",
    "name": "abc|" + "x" * 70 + "|" + "é" * 40,
    "char": "a|ab|",
    "int2vector": "1 2 3|",
    "interval": INTERVALS.replace("\n", ""),
    **dict.fromkeys(("date", "time", "timetz", "timestamp", "timestamptz"), DATETIMES.replace("\n", "")),
}

# Cases with PostgreSQL's SQLSTATE but another message, or without a value in gpudb.
OTHER_WORDS = {("json", text) for text in ('{"a":}', "[1,]", "01", "1.", '"a\nb"', "\xa0[]")}
OTHER_WORDS |= {("time", "2020--1")}


@pytest.fixture(scope="module")
def postgres(oracle: Oracle) -> Iterator[psycopg.Connection]:
    with psycopg.connect(oracle.dsn, autocommit=True) as connection:
        yield connection


def asked(postgres: psycopg.Connection, sql: str, text: str) -> str:
    """PostgreSQL's text for a value, or its SQLSTATE, message and detail."""
    result = postgres.pgconn.exec_params(sql.encode(), [text.encode()])
    if result.status == pq.ExecStatus.TUPLES_OK:
        value = result.get_value(0, 0)
        assert value is not None
        return value.decode()
    fields = (pq.DiagnosticField.SQLSTATE, pq.DiagnosticField.MESSAGE_PRIMARY, pq.DiagnosticField.MESSAGE_DETAIL)
    return " | ".join((result.error_field(field) or b"").decode() for field in fields)


def ours(type_: SqlType, text: str, zone: str = "UTC") -> str:
    try:
        return format_text(type_, parse_text(type_, text, zone), zone)
    except GpudbError as error:
        return f"{error.sqlstate} | {error.message} | {error.detail or ''}"


@pytest.mark.parametrize("name", TEXTS)
def test_texts_are_read_and_written_as_postgresql_does(postgres: psycopg.Connection, name: str) -> None:
    wrong = []
    zones = ZONES if name.startswith(("time", "tstz")) else ZONES[-1:]
    for zone in zones:
        postgres.execute(f"SET TimeZone = '{zone}'")
        for text in TEXTS[name].split("|"):
            spoken = '"char"' if name == "char" else name
            expected, got = asked(postgres, f"SELECT $1::{spoken}", text), ours(SqlType(name), text, zone)
            if (name, text) in OTHER_WORDS:
                expected, got = expected[:5], got[:5]
            if expected != got:
                wrong.append(f"{zone} {text!r}: PostgreSQL {expected}, gpudb {got}")
    assert wrong == []


MODIFIED = (
    ("numeric_in", numeric(5, 2)),
    ("numeric_in", numeric(4, 0)),
    ("numeric_in", numeric(3, 3)),
    ("varcharin", SqlType("varchar", 7)),
    ("bpcharin", SqlType("bpchar", 7)),
    ("timestamp_in", SqlType("timestamp", 0)),
    ("timestamp_in", SqlType("timestamp", 3)),
    ("time_in", SqlType("time", 2)),
)


@pytest.mark.parametrize(("function", "type_"), MODIFIED, ids=[str(type_) for _, type_ in MODIFIED])
def test_type_modifiers_round_and_refuse(postgres: psycopg.Connection, function: str, type_: SqlType) -> None:
    texts = (
        "1|123.456|999.99|999.995|1000|0.005|-0.005|1234|9999.5|9999|0.9994|0.9995|abc|abcd|abc  |a "
        "|2020-01-01 00:00:00.5|2020-01-01 00:00:01.4999|1969-01-01 00:00:00.5|12:34:56.789|23:59:59.999"
    )
    for text in texts.split("|"):
        if type_.name == "time" and "." in text and ":" not in text:
            continue
        expected = asked(postgres, f"SELECT {function}($1::cstring, 0, {type_.modifier})", text)
        assert ours(type_, text) == expected, text


@pytest.mark.parametrize("name", ["float8", "float4"])
def test_floats_are_written_with_the_shortest_digits(postgres: psycopg.Connection, name: str) -> None:
    random_ = random.Random(1)
    numbers = []
    for at in range(2000):
        match at % 4:
            case 0:
                form = "d" if name == "float8" else "f"
                numbers.append(struct.unpack(form, random_.randbytes(struct.calcsize(form)))[0])
            case 1:
                numbers.append(random_.uniform(-1, 1) * 10 ** random_.randint(-8, 25))
            case 2:
                numbers.append(
                    float(random_.randint(2**53, 10**24) if name == "float8" else random_.randint(2**24, 2**34))
                )
            case 3:
                numbers.append(float(10 ** random_.randint(0, 24) * random_.randint(1, 99)))
    texts = [repr(number) for number in numbers]
    rows = postgres.execute(f"SELECT t, t::{name}::text FROM unnest(%s::text[]) AS u(t)", [texts]).fetchall()
    wrong = [(text, expected) for text, expected in rows if ours(SqlType(name), text) != expected]
    assert wrong == []


@pytest.mark.parametrize(
    ("name", "text", "sqlstate"),
    [
        ("numeric", "nan", "22003"),
        ("numeric", "-Infinity", "22003"),
        ("numeric", "1" * 39, "22003"),
        ("numeric", "1e38", "22003"),
        ("numeric", "1e999999999", "22003"),
        ("_int4", "[0:1]={1,2}", "0A000"),
        ("timestamp", "294276-12-31 23:59:59", "22008"),
        ("json", "[" * 100_000, "54001"),
    ],
)
def test_what_gpudb_does_not_hold_is_refused(name: str, text: str, sqlstate: str) -> None:
    with pytest.raises(GpudbError) as raised:
        parse_text(SqlType(name), text)
    assert raised.value.sqlstate == sqlstate


def test_now_and_today_are_the_transactions(postgres: psycopg.Connection) -> None:
    import datetime as dt

    now = dt.datetime(2024, 3, 1, 2, 30, 0, 5, tzinfo=dt.UTC)
    zone = "America/New_York"

    def read(name: str, text: str) -> str:
        return format_text(SqlType(name), parse_text(SqlType(name), text, zone, now), zone)

    assert read("timestamptz", "now") == "2024-02-29 21:30:00.000005-05"
    assert read("timestamp", "now") == "2024-02-29 21:30:00.000005"
    assert read("date", "today") == "2024-02-29"
    assert read("timestamp", "tomorrow 04:05") == "2024-03-01 04:05:00"
    assert read("date", "yesterday") == "2024-02-28"
    assert read("time", "now") == "21:30:00.000005"
