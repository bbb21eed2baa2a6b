"""Dates, times, timestamps and intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unit.plan.conftest import Meanings


def test_text_forms(means: Meanings) -> None:
    means(
        {
            "date '2024-07-03'": "2024-07-03",
            "time '18:43:05.3'": "18:43:05.3",
            "timestamp '2024-07-03 18:43:05.312456'": "2024-07-03 18:43:05.312456",
            "timestamp '2024-07-03 18:43:05.300'": "2024-07-03 18:43:05.3",
            "timestamptz '2024-07-03 18:43:05+02'": "2024-07-03 16:43:05+00",
            "timestamp '2024-07-03 18:43:05.6'::timestamp(0)": "2024-07-03 18:43:06",
            "interval '1 year 2 mons 3 days 04:05:06.7'": "1 year 2 mons 3 days 04:05:06.7",
            "interval '-1 second'": "-00:00:01",
            "interval '0'": "00:00:00",
            "interval '1' day": "1 day",
            "interval '90' day (3)": "90 days",
            "interval '-1 month 3 days'": "-1 mons +3 days",
            "interval '100 hours'": "100:00:00",
        }
    )


def test_from_text_at_run_time(means: Meanings) -> None:
    means(
        {
            "'2024-07-03'::text::date": "2024-07-03",
            "'12:34:56'::text::time": "12:34:56",
            "'2024-07-03 01:02:03'::text::timestamp": "2024-07-03 01:02:03",
            "'2024-07-03 01:02:03+02'::text::timestamptz": "2024-07-02 23:02:03+00",
            "'1 day 02:03:04'::text::interval": "1 day 02:03:04",
            "'2 mons'::text::interval": "2 mons",
            "'-00:00:01'::text::interval": "-00:00:01",
        }
    )


def test_arithmetic(means: Meanings) -> None:
    means(
        {
            "date '2024-07-03' + 1": "2024-07-04",
            "date '2024-07-03' - date '2024-07-01'": "2",
            "date '2024-07-03' + interval '1 hour'": "2024-07-03 01:00:00",
            "date '2024-07-03' + time '01:02'": "2024-07-03 01:02:00",
            "timestamp '2024-01-31' + interval '1 month'": "2024-02-29 00:00:00",
            "timestamp '2024-03-01' - interval '1 day'": "2024-02-29 00:00:00",
            "timestamp '2024-07-03 18:43:05' - timestamp '2024-07-01 20:00:00'": "1 day 22:43:05",
            "timestamp '2024-07-01' - timestamp '2024-07-03 01:00:00'": "-2 days -01:00:00",
            "interval '1 day' * 2": "2 days",
            "interval '1 day' / 2": "12:00:00",
            "2 * interval '1 month'": "2 mons",
            "interval '1 day' + interval '2 hours'": "1 day 02:00:00",
            "-interval '1 day'": "-1 days",
            "time '23:00' + interval '2 hours'": "01:00:00",
            "time '03:00' - time '01:00'": "02:00:00",
            "timestamp '2024-07-03 18:43:05'::time": "18:43:05",
            "timestamp '2024-07-03 18:43:05'::date": "2024-07-03",
        }
    )


def test_fields(means: Meanings) -> None:
    means(
        {
            "extract(epoch from timestamp '2024-07-03 18:43:05.312')": "1720032185.312",
            "extract(year from date '2024-07-03')": "2024",
            "extract(dow from date '2024-07-03')": "3",
            "extract(isodow from date '2024-07-07')": "7",
            "extract(doy from date '2024-02-01')": "32",
            "extract(second from timestamp '2024-07-03 18:43:05.312')": "5.312",
            "extract(milliseconds from timestamp '2024-07-03 18:43:05.312')": "5312",
            "extract(week from date '2024-01-01')": "1",
            "extract(quarter from date '2024-07-03')": "3",
            "extract(century from date '2000-07-03')": "20",
            "extract(hour from time '18:43:05')": "18",
            "extract(epoch from interval '1 day 1 second')": "86401",
            "extract(month from interval '14 months')": "2",
            "date_part('hour', timestamp '2024-07-03 18:43:05')": "18",
        }
    )


def test_truncation_zones_and_making(means: Meanings) -> None:
    means(
        {
            "date_trunc('month', timestamp '2024-07-03 18:43:05')": "2024-07-01 00:00:00",
            "date_trunc('week', timestamp '2024-07-03 18:43:05')": "2024-07-01 00:00:00",
            "date_trunc('decade', timestamp '2024-07-03')": "2020-01-01 00:00:00",
            "date_trunc('century', timestamp '2024-07-03')": "2001-01-01 00:00:00",
            "date_trunc('hour', timestamptz '2024-07-03 18:43:05')": "2024-07-03 18:00:00+00",
            "date_bin(interval '15 minutes', timestamp '2024-07-03 18:43:05', timestamp"
            " '2024-01-01')": "2024-07-03 18:30:00",
            "to_timestamp(1720032185.5)": "2024-07-03 18:43:05.5+00",
            "make_date(2024, 7, 3)": "2024-07-03",
            "make_timestamp(2024, 7, 3, 18, 43, 5.5)": "2024-07-03 18:43:05.5",
            "timestamp '2024-07-03 12:00' at time zone 'America/New_York'": "2024-07-03 16:00:00+00",
            "timestamptz '2024-07-03 12:00+00' at time zone 'America/New_York'": "2024-07-03 08:00:00",
            "to_char(timestamp '2024-07-03 18:43:05.312', 'YYYY-MM-DD HH24:MI:SS.MS')": "2024-07-03 18:43:05.312",
            "to_char(timestamp '2024-07-03 18:43:05', 'DD Mon YYYY HH12:MI AM')": "03 Jul 2024 06:43 PM",
            "justify_hours(interval '27 hours')": "1 day 03:00:00",
            "justify_days(interval '35 days')": "1 mon 5 days",
        }
    )
