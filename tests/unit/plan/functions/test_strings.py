"""Text and bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unit.plan.conftest import Meanings


def test_matching(means: Meanings) -> None:
    means(
        {
            "'abc' like 'a%'": "true",
            "'abc' ilike 'A_C'": "true",
            "'abc' not like 'b%'": "true",
            "'a%c' like 'a!%c' escape '!'": "true",
            "'abc' ~ '^a.c$'": "true",
            "'ABC' ~* 'b'": "true",
            "'abc' !~ 'x'": "true",
            "'ABC' !~* 'b'": "false",
            "'abc' similar to '(a|x)b%'": "true",
            "'abc' ^@ 'ab'": "true",
            "starts_with('abc', 'ab')": "true",
        }
    )


def test_joining(means: Meanings) -> None:
    means(
        {
            "'a' || 'b'": "ab",
            "'a' || null": None,
            "'a' || 1": "a1",
            "concat('a', null, 1)": "a1",
            "concat_ws(',', 'a', null, 'b')": "a,b",
            "repeat('ab', 2)": "abab",
            "repeat('ab', -1)": "",
            r"'\x01'::bytea || '\x02'": r"\x0102",
        }
    )


def test_parts(means: Meanings) -> None:
    means(
        {
            "substring('hello' from 2 for 3)": "ell",
            "substring('hello', 0, 3)": "he",
            "substring('hello', -1)": "hello",
            "substr('hello', 2)": "ello",
            "substring('hello' for 2)": "he",
            "left('hello', 2)": "he",
            "left('hello', -2)": "hel",
            "right('hello', 2)": "lo",
            "right('hello', -2)": "llo",
            "split_part('a,b,c', ',', 2)": "b",
            "split_part('a,b,c', ',', -1)": "c",
            "split_part('a', ',', 2)": "",
            "strpos('hello', 'l')": "3",
            "position('l' in 'hello')": "3",
            "trim('  x ')": "x",
            "trim(both 'x' from 'xxaxx')": "a",
            "trim(leading 'x' from 'xxaxx')": "axx",
            "ltrim('xxa', 'x')": "a",
            "rtrim('axx', 'x')": "a",
            "btrim('xax', 'x')": "a",
            "lpad('5', 3, '0')": "005",
            "rpad('5', 3)": "5  ",
            "overlay('Txxxxas' placing 'hom' from 2 for 4)": "Thomas",
        }
    )


def test_forms(means: Meanings) -> None:
    means(
        {
            "length('héllo')": "5",
            "octet_length('héllo')": "6",
            "bit_length('a')": "8",
            "upper('é')": "É",
            "lower('ABC')": "abc",
            "initcap('hi there')": "Hi There",
            "reverse('abc')": "cba",
            "replace('aaa', 'a', 'b')": "bbb",
            "translate('12345', '143', 'ax')": "a2x5",
            "chr(65)": "A",
            "ascii('A')": "65",
            "to_hex(255)": "ff",
            "quote_literal('it''s')": "'it''s'",
            "md5('a')": "0cc175b9c0f1b6a831c399e269772661",
            "crc32('abc')": "891568578",
            r"encode('\x0a0b'::bytea, 'hex')": "0a0b",
            "decode('aGk=', 'base64')": r"\x6869",
            r"convert_from('\x6869'::bytea, 'utf8')": "hi",
            "length('ab'::bytea)": "2",
            "left(encode(sha256('abc'::bytea), 'hex'), 16)": "ba7816bf8f01cfea",
        }
    )


def test_regular_expressions(means: Meanings) -> None:
    means(
        {
            "regexp_replace('foobarbaz', 'b..', 'X')": "fooXbaz",
            "regexp_replace('foobarbaz', 'b..', 'X', 'g')": "fooXX",
            r"regexp_replace('foobarbaz', 'b(..)', 'X\1Y', 'g')": "fooXarYXazY",
            r"regexp_replace('foobarbaz', 'b(..)', '[\1$]')": "foo[ar$]baz",
            "regexp_replace('ABC', 'b', 'x', 'i')": "AxC",
            "regexp_match('foobar', '(o)(b)')": "{o,b}",
            "regexp_match('foobar', 'o+')": "{oo}",
            "regexp_match('foobar', 'x')": None,
            "regexp_split_to_array('a1b2c', '[0-9]')": "{a,b,c}",
            "string_to_array('a,b,c', ',')": "{a,b,c}",
            "string_to_array('', ',')": "{}",
            "array_to_string(array[1, null, 3], ',')": "1,3",
            "array_to_string(array[1, null, 3], ',', '*')": "1,*,3",
        }
    )
