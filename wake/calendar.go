package wake

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// ErrCron is returned for a time zone or five fields that cannot be read.
var ErrCron = errors.New("wake: invalid cron")

// Cron has the times of five fields: minute, hour, day of the month, month and weekday.
type Cron struct {
	times *cron.SpecSchedule
	zone  *time.Location
	fixed bool // the hour field has numbers only
}

// cronParser reads the standard five fields.
var cronParser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// ParseCron reads five fields, such as "0 8 * * 1-5", and the name of a time zone, which is UTC if
// it is "". It returns an ErrCron if they are never due.
//
// Where a clock is set forward or back, the hour field decides. If it has numbers only, such as "2"
// or "2,14", each of its times comes once on each day: a time that the clock skips comes at the
// first moment after the gap, and one that the clock shows twice comes the first time only. Times
// that fall on one moment so are one. With a "*", a range or a step in the hour field, each minute
// that the clock shows counts: what it skips does not come, and what it repeats comes twice.
func ParseCron(fields, zone string) (Cron, error) {
	at, err := time.LoadLocation(zone)
	if err != nil || zone == "Local" {
		return Cron{}, fmt.Errorf("%w: timezone must be the name of a time zone (got %.100q)", ErrCron, zone)
	}
	// The parser panics on some texts that begin with a zone of their own.
	if len(fields) > 256 || strings.ContainsFunc(fields, isForeign) {
		return Cron{}, fmt.Errorf("%w: schedule must have five fields: minute, hour, day, month and weekday (got %.100q)", ErrCron, fields)
	}
	times, err := cronParser.Parse(fields)
	if err != nil {
		return Cron{}, fmt.Errorf("%w: schedule must have five fields: minute, hour, day, month and weekday (got %.100q)", ErrCron, fields)
	}
	spec, ok := times.(*cron.SpecSchedule)
	if !ok {
		return Cron{}, fmt.Errorf("%w: schedule must have five fields (got %.100q)", ErrCron, fields)
	}
	c := Cron{times: spec, zone: at, fixed: !strings.ContainsAny(strings.Fields(fields)[1], "*?-/")}
	if c.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return Cron{}, fmt.Errorf("%w: schedule must have a time at which it is due (got %.100q)", ErrCron, fields)
	}
	return c, nil
}

// isForeign reports whether a character is in no five fields.
func isForeign(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("*/,-? ", r))
}

// years is how far Next looks ahead.
const years = 5

// Next returns the first time after t, in UTC; the zero time if there is none within five years.
func (c Cron) Next(t time.Time) time.Time {
	t = t.In(c.zone)
	if c.fixed {
		return c.nextFixed(t)
	}
	return c.nextShown(t.Add(1))
}

// nextShown returns the first minute from t on that the clock shows and the fields have.
func (c Cron) nextShown(t time.Time) time.Time {
	for last := t.Year() + years; t.Year() <= last; {
		now := shown(t)
		day := now.Truncate(24 * time.Hour)
		next := now.Truncate(time.Minute)
		switch {
		case c.times.Month>>now.Month()&1 == 0:
			next = day.AddDate(0, 1, 1-day.Day())
		case !c.hasDay(now):
			next = day.AddDate(0, 0, 1)
		case c.times.Hour>>now.Hour()&1 == 0:
			next = now.Truncate(time.Hour).Add(time.Hour)
		case c.times.Minute>>now.Minute()&1 == 0 || next.Before(now):
			next = next.Add(time.Minute)
		default:
			return t.UTC()
		}
		t = towards(t, next)
	}
	return time.Time{}
}

// nextFixed returns the first moment after t at which the clock comes to a time of the fields.
func (c Cron) nextFixed(t time.Time) time.Time {
	now := shown(t)
	day := now.Truncate(24 * time.Hour)
	for last := day.Year() + years; day.Year() <= last; day = day.AddDate(0, 0, 1) {
		if c.times.Month>>day.Month()&1 == 0 || !c.hasDay(day) {
			continue
		}
		for minute := range 24 * 60 {
			if c.times.Hour>>(minute/60)&1 == 0 || c.times.Minute>>(minute%60)&1 == 0 {
				continue
			}
			at := day.Add(time.Duration(minute) * time.Minute)
			if !at.After(now) {
				continue // what the clock shows at t, and all before that, has come
			}
			if came := c.firstAt(at); came.After(t) {
				return came.UTC()
			}
		}
	}
	return time.Time{}
}

// firstAt returns the first moment at which the clock shows a time, or a later one.
func (c Cron) firstAt(clock time.Time) time.Time {
	t := clock.Add(-26 * time.Hour).In(c.zone) // before it in every zone
	for shown(t).Before(clock) {
		t = towards(t, clock)
	}
	return t
}

// hasDay reports whether the fields have a day. One of the two fields for days is enough if neither
// has a "*".
func (c Cron) hasDay(day time.Time) bool {
	const star = 1 << 63 // as the parser marks a "*"
	inMonth, inWeek := c.times.Dom>>day.Day()&1 == 1, c.times.Dow>>day.Weekday()&1 == 1
	if (c.times.Dom|c.times.Dow)&star != 0 {
		return inMonth && inWeek
	}
	return inMonth || inWeek
}

// shown returns what the clock shows at t, as a time in UTC.
func shown(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// towards returns when the clock, which shows less at t, shows a time, or when it is next set
// forward or back, if that comes first.
func towards(t, clock time.Time) time.Time {
	at := t.Add(clock.Sub(shown(t)))
	if _, change := t.ZoneBounds(); !change.IsZero() && change.Before(at) {
		return change
	}
	return at
}
