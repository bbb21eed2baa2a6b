-- LIKE, ILIKE, SIMILAR TO and regular expressions
'abc' LIKE 'a%'
'abc' LIKE '_b_'
'abc' LIKE 'b'
'abc' NOT LIKE 'a%'
'a%c' LIKE 'a\%c'
'abc' LIKE 'a\%c'
'a_c' LIKE 'a#_c' ESCAPE '#'
'a\c' LIKE 'a\\c'
'a\c' LIKE 'a\c' ESCAPE ''
'ABC' ILIKE 'a%'
'ABC' NOT ILIKE 'a%'
'abc' ~~ 'a%'
'abc' !~~ 'a%'
'ABC' ~~* 'a%'
'ABC' !~~* 'b%'
E'a\nb' LIKE 'a%b'
E'a\nb' LIKE 'a_b'
'abc' LIKE NULL
NULL LIKE 'a'
'' LIKE '%'
'' LIKE ''
'a+b' LIKE 'a+b'
'a.c' LIKE 'a.c'
'abc' LIKE 'a.c'
'[a]' LIKE '[a]'
'abc' SIMILAR TO 'abc'
'abc' SIMILAR TO 'a'
'abc' SIMILAR TO '%(b|d)%'
'abc' SIMILAR TO '(b|c)%'
'abc' NOT SIMILAR TO 'x%'
'abbbc' SIMILAR TO 'ab{3}c'
'a.c' SIMILAR TO 'a.c'
'abc' SIMILAR TO 'a.c'
'abc' SIMILAR TO '[a-c]+'
'a%c' SIMILAR TO 'a\%c'
'abc' SIMILAR TO NULL
'a_c' SIMILAR TO 'a#_c' ESCAPE '#'
'abc' ~ 'b'
'abc' ~ '^b'
'abc' ~ '^a.c$'
'ABC' ~ 'abc'
'ABC' ~* 'abc'
'abc' !~ 'x'
'ABC' !~* 'b'
'abc' ~ '(?i)B'
'a1b' ~ '\d'
'a b' ~ '\s'
'ab' ~ '\w+'
'foo bar' ~ '\mbar\M'
'foobar' ~ '\mbar'
'foo bar' ~ '\ybar\y'
'abc' ~ '[[:alpha:]]+'
'a1' ~ '^[[:alnum:]]+$'
'12' ~ '^[[:digit:]]{2}$'
'abc' ~ '('
'abc' ~ NULL
'abc' ~ ''
E'a\nb' ~ 'a.b'
E'a\nb' ~ '^b$'
E'a\nb' ~ 'a$'
regexp_replace('foobarbaz', 'b..', 'X')
regexp_replace('foobarbaz', 'b..', 'X', 'g')
regexp_replace('foobarbaz', 'b(..)', 'X\1Y', 'g')
regexp_replace('foobarbaz', 'B(..)', '[\1]', 'gi')
regexp_replace('abc', 'b', '\&\&')
regexp_replace('abc', 'b', '$1')
regexp_replace('abc', 'x', 'y')
regexp_replace('abc', '(', 'y')
regexp_replace('a.b.c', '\.', '-', 'g')
regexp_replace('foobarbaz', 'a', 'A', 1, 2)
regexp_replace('foobarbaz', 'a', 'A', 5)
regexp_match('foobarbequebaz', '(bar)(beque)')
regexp_match('foobarbequebaz', 'bar.*que')
regexp_match('abc', 'x')
regexp_match('ABC', 'b', 'i')
regexp_match('abc', '(x)?b')
regexp_matches('foobarbequebaz', 'ba.', 'g')
regexp_split_to_array('hello world', '\s+')
regexp_split_to_array('a,b', ',')
regexp_split_to_array('abc', '')
regexp_split_to_array('a1b2c', '\d')
regexp_like('Hello', 'h', 'i')
regexp_like('Hello', 'h')
regexp_count('ABCABC', 'b', 1, 'i')
regexp_instr('ABCABC', 'C')
regexp_substr('foobar', 'o.b')
regexp_substr('foobar', 'x')
'abc' LIKE ANY (array['x%', 'a%'])
'abc' LIKE ALL (array['a%', '%c'])
'abc' NOT LIKE ALL (array['x%', 'y%'])
'ABC' ILIKE ANY (array['a%'])
'abc' ~ ANY (array['x', 'b'])
x LIKE p FROM (VALUES ('abc', 'a%'), ('abc', 'b%'), ('a%', 'a\%')) v(x, p)
x ~ p FROM (VALUES ('abc', '^a'), ('abc', 'c$'), ('abc', 'b$')) v(x, p)
x SIMILAR TO p FROM (VALUES ('abc', 'a%'), ('abc', '(a|b)c')) v(x, p)
regexp_replace(x, p, r) FROM (VALUES ('abc', 'b', '<\&>'), ('abc', '(c)', '\1\1')) v(x, p, r)
'ac' LIKE 'a\c'
x LIKE p FROM (VALUES ('ac', 'a\c'), ('a\c', 'a\\c'), ('a%c', 'a\%c')) v(x, p)
'aXb' ~ '^a[^a-z]b$'
'a]b' ~ '[]]'
'a{b' ~ 'a{b'
'aa' ~ '^(a)\1$'
'a&&b' ~ '[&]{2}'
