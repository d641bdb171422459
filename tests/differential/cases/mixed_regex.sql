-- Regular expressions that mix greedy and non-greedy quantifiers: which text the whole takes, and which its parts.
-- setup
CREATE TABLE mr_t (id int, s text);
INSERT INTO mr_t VALUES (1, 'foobarbaz'), (2, 'abc01234xyz'), (3, 'key=value; other = "quoted value"'), (4, '<a><b>text</b></a>'), (5, ''), (6, NULL), (7, 'aaa bbb aab'), (8, E'line one\nline two'), (9, '2024-02-29T10:11:12Z'), (10, 'user.name+tag@example.co.uk');
CREATE TABLE mr_one AS SELECT 1 AS id, 'abc' AS s;
-- cases
SELECT regexp_match('foobarbaz', 'a.*?b.*'), regexp_match('XY1234Z', 'Y*([0-9]{1,3})'), regexp_match('XY1234Z', 'Y*?([0-9]{1,3})');
SELECT regexp_match('abc01234xyz', '(.*)(\d+)(.*)'), regexp_match('abc01234xyz', '(.*?)(\d+)(.*)'), regexp_match('abc01234xyz', '(?:(.*?)(\d+)(.*)){1,1}');
SELECT regexp_replace('aaa bbb', 'a+?\s*b+', 'X'), substring('foobar' from 'o(.)b*?'), regexp_matches('<a><b>', '<.+?>.*', 'g');
SELECT id, regexp_match(s, '^(.*?)([a-z]+)$') FROM mr_t;
SELECT id, regexp_match(s, '(.+?)=(.*)') FROM mr_t;
SELECT id, regexp_match(s, '<(.+?)>(.*)</\w+>') FROM mr_t;
SELECT id, regexp_match(s, '(a+?)(b*)') FROM mr_t;
SELECT id, regexp_match(s, '(a+)(b*?)') FROM mr_t;
SELECT id, regexp_replace(s, '\w+?(\d*)', '[\1]') FROM mr_t;
SELECT id, regexp_replace(s, '(\w)(\w*?)(\s|$)', '<\1\2>', 'g') FROM mr_t;
SELECT id, regexp_count(s, 'a.*?b|x+') FROM mr_t;
SELECT id, regexp_substr(s, 'a+?b|b+ a') FROM mr_t;
SELECT id, regexp_instr(s, '(b.*?)(a+)', 1, 1, 0, '', 2) FROM mr_t;
SELECT id, regexp_split_to_array(s, '\s*?[;,=]\s*') FROM mr_t;
SELECT id, s ~ '^a.*?b+$', s ~* 'L.*?E\s+', s !~ 'q.+?e.*' FROM mr_t;
SELECT id, regexp_matches(s, '(\d+?)-(\d+)', 'g') FROM mr_t;
SELECT id, substring(s from '(\w+?)@(\w+)'), regexp_match(s, '(.+?)@(.+?)\.(.+)') FROM mr_t;
SELECT regexp_match('abcabc', '(abc)+?(a*)'), regexp_match('abcabc', '(abc){1,2}?(a*)'), regexp_match('abcabc', '((a|b)*?)(c+)');
SELECT regexp_match('xaaab', 'x(a*?)(a*)b'), regexp_match('xaaab', 'x(a*)(a*?)b'), regexp_match('xaaab', '(x?)(a{1,2}?)(a+)');
SELECT regexp_match('aXbXc', '(.*?)X(.*)'), regexp_match('aXbXc', '(.*)X(.*?)'), regexp_match('aXbXc', '^(.*?)X(.*?)$');
SELECT regexp_match('foo bar baz', '(\w+?)\s(\w+)'), regexp_match('foo bar baz', '\m(\w+?)\M.*'), regexp_match('foo bar baz', '\y(b\w*?)\y(.*)');
SELECT regexp_match('abab', '(?:a|ab)(b|.*?)$'), regexp_match('abab', '(a|ab)(c|bcd)*?(d*)'), regexp_match('abcd', '(a|ab)(c|bcd)?(d*?)');
SELECT regexp_match('foobar', 'foo(?=b.*?)(.+)'), regexp_match('foobar', '(.+?)(?=bar)(.*)'), regexp_match('foobar', '(o+?)(?!b)(.*)');
SELECT regexp_matches('a1b22c333', '([a-z]+?)(\d+)', 'g'), regexp_replace('a1b22c333', '([a-z]+?)(\d+)', '\2\1', 'g');
SELECT regexp_match(E'one\ntwo', '^(.*?)(\w+)$', 'n'), regexp_match(E'one\ntwo', '(.*?)(\w+)$', 'w'), regexp_match('ABC', '(a+?)(B*)', 'i');
SELECT regexp_match('aaaa', 'a{2}?a*'), regexp_match('aaaa', '(a{2})?a*?'), regexp_match('aaaa', '(a{1,1}?)(a*)'), regexp_match('aaaa', '(a{1,1})(a*?)');
SELECT regexp_replace('The quick brown fox', '(\w+?) (\w+)', '\2 \1'), regexp_replace('  x  ', '^\s+|\s*?$', '', 'g'), substring('a.b.c' from '(.*?)\..*');
SELECT regexp_match('x', '(y*?)(x*)'), regexp_match('', '(y*?)(x*)'), regexp_match('zzz', '(y+?)(x*)'), regexp_match('ab', '((a)|(b))*?(b*)');
SELECT DISTINCT regexp_replace(s, '(.*?)([aeiou]+)(.*)', '\3\2\1') FROM mr_t WHERE id < 5;
-- patterns that stand for one text
SELECT id, s ~ '^a', s ~ 'b$', s ~ '^aaa bbb aab$', s ~ 'b', s !~ '^a', s !~ 'b', s ~ '', s ~ '^', s ~ '$', s ~ '^$' FROM mr_t;
SELECT id FROM mr_t WHERE s ~ '^ ' OR s ~ 'é' OR s ~ '%' OR s !~ '_';
SELECT id, s ~ '^a.c', s ~ 'a|b', s ~ '^a\d', s ~ '[ab]$', s ~ NULL, s ~ s FROM mr_t WHERE s NOT LIKE '%(%' AND s NOT LIKE '%[%' AND s NOT LIKE '%*%' AND s NOT LIKE '%\\%';
SELECT s SIMILAR TO 'a%', count(*) FROM mr_t GROUP BY 1;
-- patterns outside of what a file's values lie between
SELECT id, s FROM mr_one WHERE s ~ '^a' AND s ~ 'b' AND s ~* 'C$';
SELECT s FROM mr_t WHERE s ~ 'zz|xyz$' OR s ~ '"$';
