-- Dates, times, timestamps and intervals: arithmetic and text forms
'2024-01-31'::date + 1
1 + '2024-01-31'::date
'2024-03-01'::date - 1
'2024-03-01'::date - '2024-02-01'::date
'2024-01-31'::date + interval '1 month'
'2024-03-31'::date - interval '1 month'
'2024-02-29'::date + interval '1 year'
'2024-01-31 12:00'::timestamp + interval '1 month 1 day 1 hour'
'2024-01-31 12:00'::timestamp - interval '90 minutes'
interval '1 day' + '2024-01-01'::date
interval '1 day' + '2024-01-01'::timestamp
'2024-01-31 12:00+00'::timestamptz + interval '1 month'
'2024-01-02'::timestamp - '2024-01-01 12:00'::timestamp
'2024-03-01'::timestamp - '2024-01-01'::timestamp
'2024-01-01'::timestamp - '2024-01-02 12:00'::timestamp
'2024-01-02'::timestamptz - '2024-01-01 12:00'::timestamptz
'2024-01-02'::date - '2024-01-01 12:00'::timestamp
'12:00'::time + interval '2 hours'
'23:00'::time + interval '2 hours'
'01:00'::time - interval '2 hours'
'12:00'::time - '10:30'::time
'10:30'::time - '12:00'::time
'2024-01-01'::date + '12:30'::time
'12:30'::time + '2024-01-01'::date
interval '1 day' + interval '2 hours'
interval '1 day' - interval '2 hours'
- interval '1 day 2 hours'
interval '1 hour' * 2
interval '1 hour' * 1.5
1.5 * interval '1 day'
2 * interval '1 month'
interval '1 month' * 1.5
interval '1 day' / 2
interval '1 month' / 2
interval '1 year' / 5
interval '1 day' / 0
interval '1 day' > interval '23 hours'
'2024-01-01'::date < '2024-01-01 00:00:01'::timestamp
'2024-01-01'::date = '2024-01-01'::timestamp
'2024-01-01 00:00'::timestamp < '2024-01-01 00:00:01+00'::timestamptz
'12:00'::time < '13:00'::time
interval '1 year 2 mons 3 days 04:05:06.789'
interval '-1 year -2 mons +3 days -04:05:06.789'
interval '0'
interval '-1 second'
interval '25 hours'
interval '100 days'
interval '13 months'
interval '1 mon -1 day'
interval '1 week'
interval '1 decade'
interval '1.5 years'
interval '1.5 months'
interval '1.5 weeks'
interval '1.123456789 seconds'
interval '1 day 1 month'
interval '1 ms'
interval '5 us'
interval '1y 2mon 3d 4h 5m 6s'
interval '@ 1 day ago'
interval '1 12:59:10'
'0001-01-01'::date
'9999-12-31'::date
'epoch'::timestamp
'1969-12-31 23:59:59.999999'::timestamp
'2024-02-29'::date
'2023-02-29'::date
extract(year from '2024-07-03 18:43:05.312456'::timestamp)
extract(month from '2024-07-03'::date)
extract(day from '2024-07-03'::date)
extract(hour from '2024-07-03 18:43:05.312456'::timestamp)
extract(minute from '2024-07-03 18:43:05.312456'::timestamp)
extract(second from '2024-07-03 18:43:05.312456'::timestamp)
extract(millisecond from '2024-07-03 18:43:05.312456'::timestamp)
extract(milliseconds from '2024-07-03 18:43:05.312456'::timestamp)
extract(microseconds from '2024-07-03 18:43:05.312456'::timestamp)
extract(epoch from '2024-07-03 18:43:05.312456'::timestamp)
extract(epoch from '2024-07-03 18:43:05.312456+02'::timestamptz)
extract(epoch from '2024-07-03'::date)
extract(epoch from interval '1 year 2 months 3 days 4 hours')
extract(epoch from interval '-1.5 seconds')
extract(epoch from '12:00'::time)
extract(dow from '2024-07-07'::date)
extract(isodow from '2024-07-07'::date)
extract(doy from '2024-07-03'::date)
extract(week from '2024-12-30'::date)
extract(isoyear from '2024-12-30'::date)
extract(quarter from '2024-07-03'::date)
extract(decade from '2024-07-03'::date)
extract(century from '2000-07-03'::date)
extract(century from '2001-07-03'::date)
extract(millennium from '2001-07-03'::date)
extract(julian from '2024-07-03'::date)
extract(hour from '2024-07-03'::date)
extract(timezone from '2024-07-03 00:00+00'::timestamptz)
extract(hour from '18:43:05'::time)
extract(second from '18:43:05.5'::time)
extract(hour from interval '30 hours')
extract(day from interval '40 days 30 hours')
extract(month from interval '14 months')
extract(year from interval '14 months')
extract(second from interval '1 minute 2.5 seconds')
extract(fortnight from '2024-07-03'::date)
extract(day from '18:43:05'::time)
date_part('year', '2024-07-03'::date)
date_part('second', '2024-07-03 18:43:05.5'::timestamp)
date_part('epoch', '2024-07-03 18:43:05.5'::timestamp)
date_part('hour', interval '5 hours')
date_trunc('year', '2024-07-03 18:43:05.312456'::timestamp)
date_trunc('quarter', '2024-08-03 18:43:05'::timestamp)
date_trunc('month', '2024-07-03 18:43:05'::timestamp)
date_trunc('week', '2024-07-03 18:43:05'::timestamp)
date_trunc('day', '2024-07-03 18:43:05'::timestamp)
date_trunc('hour', '2024-07-03 18:43:05'::timestamp)
date_trunc('minute', '2024-07-03 18:43:05'::timestamp)
date_trunc('second', '2024-07-03 18:43:05.7'::timestamp)
date_trunc('milliseconds', '2024-07-03 18:43:05.312456'::timestamp)
date_trunc('decade', '2024-07-03'::timestamp)
date_trunc('century', '2024-07-03'::timestamp)
date_trunc('millennium', '2024-07-03'::timestamp)
date_trunc('day', '2024-07-03 18:43:05+00'::timestamptz)
date_trunc('day', '2024-07-03 18:43:05+00'::timestamptz, 'America/New_York')
date_trunc('month', '2024-07-03'::date)
date_trunc('hour', interval '2 days 03:04:05')
date_trunc('month', interval '14 months 3 days')
date_trunc('fortnight', '2024-07-03'::timestamp)
date_bin('15 minutes', '2024-07-03 18:43:05'::timestamp, '2001-01-01'::timestamp)
date_bin('1 day', '2024-07-03 18:43:05+00'::timestamptz, '2001-01-01 06:00+00'::timestamptz)
date_bin('15 minutes', '2000-07-03 18:43:05'::timestamp, '2001-01-01'::timestamp)
date_bin('1 month', '2024-07-03 18:43:05'::timestamp, '2001-01-01'::timestamp)
date_bin('0 days', '2024-07-03 18:43:05'::timestamp, '2001-01-01'::timestamp)
age('2024-07-03'::timestamp, '2023-05-01'::timestamp)
age('2024-03-31'::timestamp, '2024-02-29'::timestamp)
age('2023-05-01'::timestamp, '2024-07-03 12:00'::timestamp)
age('2024-07-03'::timestamptz, '2023-05-01'::timestamptz)
age('2024-07-03'::date, '2024-07-03'::date)
make_date(2024, 7, 3)
make_date(2024, 13, 3)
make_time(12, 34, 56.5)
make_timestamp(2024, 7, 3, 12, 34, 56.5)
make_timestamptz(2024, 7, 3, 12, 34, 56.5)
make_interval(1, 2, 0, 3, 4, 5, 6.5)
to_timestamp(1720032185.5)
to_timestamp(0)
to_timestamp('2024-07-03 18:43:05', 'YYYY-MM-DD HH24:MI:SS')
to_timestamp('03 Jul 2024', 'DD Mon YYYY')
to_date('2024-07-03', 'YYYY-MM-DD')
to_date('03/07/24', 'DD/MM/YY')
to_char('2024-07-03 18:43:05.312456'::timestamp, 'YYYY-MM-DD HH24:MI:SS')
to_char('2024-07-03 18:43:05.312456'::timestamp, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
to_char('2024-07-03 18:43:05.312456'::timestamp, 'HH12:MI:SS.US AM')
to_char('2024-07-03 08:03:05'::timestamp, 'FMHH12:FMMI am')
to_char('2024-07-03'::date, 'Day, DD Month YYYY')
to_char('2024-07-03'::date, 'FMDay, FMDD FMMonth YYYY')
to_char('2024-07-03'::date, 'Dy DY dy Mon MON mon')
to_char('2024-07-03'::date, 'DAY day MONTH month')
to_char('2024-07-03'::date, 'DDD D ID W WW IW Q CC J')
to_char('2024-07-03'::date, 'YY YYY Y,YYY IYYY IY')
to_char('2024-07-03'::date, 'DDth MMth')
to_char('2024-07-03 18:43:05.312456'::timestamp, 'SSSS FF3')
to_char('2024-07-03 18:43:05+00'::timestamptz, 'YYYY-MM-DD TZ OF')
to_char('2024-07-03 18:43:05'::timestamp, 'HH:MI P.M. B.C.')
to_char(interval '15 hours 2 minutes 12 seconds', 'HH24:MI:SS')
to_char('2024-07-03'::date, 'yyyy-mm-dd')
to_char('2024-07-03'::date, 'RM')
'2024-07-03 12:00'::timestamp AT TIME ZONE 'America/New_York'
'2024-07-03 12:00+00'::timestamptz AT TIME ZONE 'America/New_York'
'2024-07-03 12:00+00'::timestamptz AT TIME ZONE 'UTC'
'2024-07-03 12:00'::timestamp AT TIME ZONE 'UTC'
'2024-07-03 12:00'::timestamp AT TIME ZONE '+02'
'2024-07-03 12:00'::timestamp AT TIME ZONE interval '2 hours'
'2024-07-03 12:00'::timestamp AT TIME ZONE 'Nowhere/Land'
'2024-07-03 12:00'::timestamp AT TIME ZONE 'EST'
timezone('UTC', '2024-07-03 12:00'::timestamp)
justify_hours(interval '27 hours')
justify_hours(interval '-27 hours')
justify_days(interval '35 days')
justify_interval(interval '1 mon -1 hour')
isfinite('2024-07-03'::date)
isfinite(interval '1 day')
date_add('2024-07-03 12:00+00'::timestamptz, interval '1 day')
'2024-07-03'::date + 1.5
'2024-07-03'::date + '2024-07-03'::date
'2024-07-03'::date * 2
'2024-07-03'::date = '2024-07-03'
'2024-07-03' < '2024-07-04'::date
'x' = '2024-07-03'::date
'2147483647 days'::interval + '2147483647 days'::interval
'2024-07-03'::date + 2147483647
now() > '2020-01-01'
current_date > '2020-01-01'
current_timestamp > '2020-01-01'
localtimestamp > '2020-01-01'
clock_timestamp() > '2020-01-01'
('2024-01-01'::date, '2024-02-01'::date) OVERLAPS ('2024-01-15'::date, '2024-03-01'::date)
('2024-01-01'::date, '2024-02-01'::date) OVERLAPS ('2024-02-01'::date, '2024-03-01'::date)
('2024-01-01'::date, interval '10 days') OVERLAPS ('2024-01-05'::date, interval '1 day')
('2024-02-01'::date, '2024-01-01'::date) OVERLAPS ('2024-01-15'::date, '2024-01-15'::date)
make_interval(days => 10, hours => 5)
make_interval(1, secs => 1.5)
make_interval()
interval '30 hours' + time '12:00'
generate_series(1, 3, 0)
interval '1 mon -1 day' / 2
interval '1 year 2 mons 104:05:06' / 3
interval '1 mon 1 day 1 hour' * -1.7
justify_days(interval '1 mon -1 day')
justify_days(interval '-65 days 1 hour')
justify_hours(interval '1 day -1 hour')
justify_hours(interval '-1 day 50 hours')
avg(x) FROM (VALUES (interval '1 year 2 mons'), (interval '3 days'), (interval '100:05:06')) v(x)
age(timestamptz '2020-01-01 00:00+00') = age(timestamp '2020-01-01')
'10:00:00.5555'::time(2)
'23:59:59.9999'::time(3)
('10:00:00.5555'::time)::time(2)
'10:00:00.555'::time(0)
'2024-12-31 23:59:59.9996'::timestamp(3)
('2024-01-05 10:00:00.5555'::timestamp)::timestamp(0)
('2024-01-05 10:00:00.5555+00'::timestamptz)::timestamptz(0)
'today'::date = current_date
'tomorrow'::date - 'yesterday'::date
'now'::timestamptz = now()
localtime IS NOT NULL
date(timestamp '2024-01-05 10:11')
date('2024-01-05')
timestamptz('2024-01-05')
(date '2024-01-01', NULL) OVERLAPS (date '2024-01-15', date '2024-03-01')
(date '2024-01-20', NULL) OVERLAPS (date '2024-01-15', date '2024-03-01')
(date '2024-04-20', NULL) OVERLAPS (date '2024-01-15', date '2024-03-01')
(NULL, date '2024-01-15') OVERLAPS (date '2024-01-15', date '2024-03-01')
(date '2024-01-15', date '2024-01-15') OVERLAPS (date '2024-01-15', date '2024-03-01')
generate_series(timestamp '2024-01-31', timestamp '2024-05-31', interval '1 month')
generate_series(timestamp '2024-05-31', timestamp '2024-01-31', interval '-1 month -1 hour')
generate_series(timestamp '2024-01-03', timestamp '2024-01-01', interval '-1 day')
generate_series(timestamptz '2024-01-01 00:00+00', timestamptz '2024-01-02 00:00+00', interval '10 hours')
generate_series(timestamp '2024-01-03', timestamp '2024-01-01', interval '1 day')
generate_series(timestamp '2024-01-03', timestamp '2024-01-01', interval '0')
generate_series(timestamp '2024-01-03', NULL, interval '1 month')
