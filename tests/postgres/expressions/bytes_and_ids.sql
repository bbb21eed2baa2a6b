-- bytea, uuid, and functions of the session
'\x0a0b'::bytea || '\x0c'::bytea
length('\x0a0b'::bytea)
octet_length('\x0a0b'::bytea)
substring('\x0a0b0c'::bytea from 2 for 1)
substring('\x0a0b0c'::bytea, 2)
position('\x0b'::bytea in '\x0a0b'::bytea)
get_byte('\x0a0b'::bytea, 1)
set_byte('\x0a0b'::bytea, 1, 255)
'\x0a'::bytea < '\x0b'::bytea
'\x0a'::bytea = '\x0a'
'\x0aff'::bytea > '\x0a'::bytea
md5('\x0a'::bytea)
encode(sha224('abc'), 'hex')
encode(sha512('abc'), 'hex')
reverse('\x0a0b'::bytea)
left('abc', 2)::bytea
'abc'::bytea
encode('\x001122'::bytea, 'hex')
'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid = 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'
'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid < 'b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'
gen_random_uuid() IS NOT NULL
gen_random_uuid() = gen_random_uuid()
length(gen_random_uuid()::text)
random() BETWEEN 0 AND 1
uuid_extract_version('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid)
a
t.a
nosuch.thing
nosuch(1)
lower(1, 2)
abs('a')
abs('a'::text)
"Quoted"
x.y.z FROM (VALUES (1)) x(y)
x.y FROM (VALUES (1)) x(y)
X.Y FROM (VALUES (1)) x(y)
"X" FROM (VALUES (1)) x("X")
y FROM (VALUES (1)) a(y), (VALUES (2)) b(y)
* FROM nosuchtable
1 FROM (VALUES (1)) a(x) GROUP BY x HAVING y > 1
x FROM (VALUES (1)) a(x) WHERE sum(x) > 1
x, sum(y) FROM (VALUES (1, 2)) a(x, y)
sum(sum(x)) FROM (VALUES (1)) a(x)
x FROM (VALUES (1)) a(x) ORDER BY 2
x FROM (VALUES (1)) a(x) LIMIT -1
x FROM (VALUES (1)) a(x) WHERE x
x FROM (VALUES (1), ('a')) a(x)
x FROM (VALUES (1), (1, 2)) a(x)
1 UNION SELECT 'a'
1 UNION SELECT 1, 2
x AS y FROM (VALUES (1)) a(x) WHERE y = 1
rank() FROM (VALUES (1)) a(x)
x FROM (VALUES (1)) a(x) WHERE rank() OVER () = 1
sum(x) OVER (ORDER BY x ROWS BETWEEN 1 FOLLOWING AND 1 PRECEDING) FROM (VALUES (1)) a(x)
(SELECT a.x) FROM (VALUES (1)) a(x)
count(DISTINCT *) FROM (VALUES (1)) a(x)
lower(DISTINCT 'a')
1 AS a, 2 AS a
1 +
$1
