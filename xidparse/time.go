package xidparse

import (
	"bytes"
	"strconv"
	"time"
)

// Clock says what a time counts from. Times of different clocks cannot be
// compared.
type Clock uint8

// The clocks. The zero value is no time.
const (
	ClockNone Clock = iota
	// ClockBoot counts from the boot of the kernel. It does not jump.
	ClockBoot
	// ClockWall is the host's calendar: it is set, and it drifts.
	ClockWall
	// ClockYearless is a calendar without a year, as in classic syslog; it
	// counts from the first of January.
	ClockYearless
	// ClockLocal is a calendar without a zone, as of dmesg -T; it counts from
	// 1970 as if it were UTC.
	ClockLocal
)

// Time is a time that a log's prefix gave.
type Time struct {
	Clock Clock
	Since time.Duration
}

// Time reads the line's stamp. What cannot be read has ClockNone.
func (l Line) Time() Time {
	if t := plainTime(l.Stamp); t.Clock != ClockNone {
		return t
	}
	return calendarTime(l.Stamp)
}

// thirtyYears divides what counts from boot from what counts from 1970; no
// kernel runs so long, and no driver of ours is older than 2000.
const thirtyYears = 30 * 365 * 24 * time.Hour

// plainTime reads seconds with a fraction, "14.650646", or microseconds,
// "14650646". A difference may stand
// behind the former.
func plainTime(s []byte) Time {
	s = bytes.TrimLeft(s, " ")
	end := bytes.IndexByte(s, ' ')
	if end >= 0 {
		s = s[:end]
	}
	whole, n := decimal(s)
	if n == 0 || whole > uint64(1)<<62/1000 {
		return Time{}
	}
	if n == len(s) && end >= 0 {
		return Time{} // the year of a date
	}
	t := Time{Clock: ClockBoot, Since: time.Duration(whole) * time.Microsecond}
	if n < len(s) {
		if s[n] != '.' || whole > uint64(1)<<62/uint64(time.Second) {
			return Time{}
		}
		t.Since = time.Duration(whole)*time.Second + fraction(s[n+1:])
	}
	if t.Since >= thirtyYears {
		t.Clock = ClockWall
	}
	return t
}

// fraction reads the digits behind a second's point, to the nanosecond.
func fraction(s []byte) time.Duration {
	var d time.Duration
	unit := time.Second
	for _, c := range s {
		if unit /= 10; !isDigit(c) || unit == 0 {
			break
		}
		d += time.Duration(c-'0') * unit
	}
	return d
}

// calendarTime reads a clock with seconds and a date around it: "2025-01-21",
// "2025/01/21" or "Jan 21", and with the latter perhaps a year behind the
// clock. A zone whose name is not UTC's is not known, and so is the time: names
// are ambiguous, and no time is better than one that is hours off.
func calendarTime(s []byte) Time {
	at := clock(s)
	if at < 0 || at+8 > len(s) || s[at+5] != ':' || !isDigit(s[at+6]) || !isDigit(s[at+7]) {
		return Time{}
	}
	year, month, day := date(s[:at])
	if month == 0 || day == 0 {
		return Time{}
	}
	rest := s[at+8:]
	offset := time.Duration(two(s[at:]))*time.Hour + time.Duration(two(s[at+3:]))*time.Minute + time.Duration(two(s[at+6:]))*time.Second
	if len(rest) > 0 && (rest[0] == '.' || rest[0] == ',') {
		offset += fraction(rest[1:])
		rest = bytes.TrimLeft(rest[1:], "0123456789")
	}
	clock, east := zone(bytes.TrimLeft(rest, " "))
	if clock == ClockNone {
		return Time{}
	}
	offset -= east
	if year == 0 {
		year = yearBehind(rest)
	}
	if year == 0 {
		return Time{Clock: ClockYearless, Since: sinceYear(leapYear, leapYear, month, day) + offset}
	}
	const first, last = 1970, 2200 // a Duration holds 292 years
	if year < first || year > last {
		return Time{}
	}
	return Time{Clock: clock, Since: sinceYear(first, year, month, day) + offset}
}

// leapYear has every day that a date without a year can name.
const leapYear = 1972

// sinceYear gives the time from the begin of a year to a day.
func sinceYear(begin, year, month, day int) time.Duration {
	date := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	return date.Sub(time.Date(begin, time.January, 1, 0, 0, 0, 0, time.UTC))
}

// date reads the words in front of a clock. What is missing is 0.
func date(s []byte) (year, month, day int) {
	for word := range bytes.FieldsSeq(s) {
		if len(word) >= len("2025-01-21") && (word[4] == '-' || word[4] == '/') && word[7] == word[4] {
			return four(word), two(word[5:]), two(word[8:])
		}
		if n, end := decimal(word); end == len(word) && n <= 31 {
			day = int(n)
		} else if end == 4 && end == len(word) {
			year = int(n)
		} else if m := monthNamed(word); m > 0 {
			month = m
		}
	}
	return year, month, day
}

func monthNamed(word []byte) int {
	const names = "JanFebMarAprMayJunJulAugSepOctNovDec"
	if len(word) != 3 {
		return 0
	}
	for i := 0; i < len(names); i += 3 {
		if string(word) == names[i:i+3] {
			return i/3 + 1
		}
	}
	return 0
}

// zone reads "+02", "+0200", "+02:00", "Z" and "UTC", and how far east that is.
// Where there is none, and perhaps a year in its place, the clock is local.
func zone(s []byte) (c Clock, east time.Duration) {
	switch s = bytes.TrimRight(s, " "); {
	case len(s) == 0 || isDigit(s[0]):
		return ClockLocal, 0
	case string(s) == "Z" || string(s) == "UTC" || string(s) == "GMT":
		return ClockWall, 0
	case len(s) < 3 || s[0] != '+' && s[0] != '-':
		return ClockNone, 0
	}
	east = time.Duration(two(s[1:])) * time.Hour
	if minutes := bytes.TrimPrefix(s[3:], []byte(":")); len(minutes) >= 2 {
		east += time.Duration(two(minutes)) * time.Minute
	}
	if s[0] == '-' {
		east = -east
	}
	return ClockWall, east
}

// yearBehind reads the year that dmesg -T prints last.
func yearBehind(s []byte) int {
	s = bytes.TrimSpace(s)
	if len(s) < 4 {
		return 0
	}
	return four(s[len(s)-4:])
}

// four reads four digits, two two of them; 0 for anything else.
func four(s []byte) int {
	if century := two(s); century > 0 {
		return century*100 + two(s[2:])
	}
	return 0
}

func two(s []byte) int {
	if len(s) < 2 || !isDigit(s[0]) || !isDigit(s[1]) {
		return 0
	}
	return int(s[0]-'0')*10 + int(s[1]-'0')
}

// String gives seconds since boot, or the calendar, in UTC or without a zone; empty for no time.
func (t Time) String() string {
	switch t.Clock {
	case ClockBoot:
		return strconv.FormatFloat(t.Since.Seconds(), 'f', 6, 64)
	case ClockWall:
		return time.Unix(0, 0).UTC().Add(t.Since).Format("2006-01-02T15:04:05.999999Z07:00")
	case ClockLocal:
		return time.Unix(0, 0).UTC().Add(t.Since).Format("2006-01-02T15:04:05.999999")
	case ClockYearless:
		return time.Date(leapYear, time.January, 1, 0, 0, 0, 0, time.UTC).Add(t.Since).Format("Jan _2 15:04:05.999999")
	}
	return ""
}
