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
	times cron.Schedule
	zone  *time.Location
}

// cronParser reads the standard five fields.
var cronParser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// ParseCron reads five fields, such as "0 8 * * 1-5", and the name of a time zone, which is UTC if
// it is "". It returns an ErrCron if they are never due.
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
	c := Cron{times, at}
	if c.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return Cron{}, fmt.Errorf("%w: schedule must have a time at which it is due (got %.100q)", ErrCron, fields)
	}
	return c, nil
}

// isForeign reports whether a character is in no five fields.
func isForeign(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("*/,-? ", r))
}

// Next returns the first time after t, in UTC; the zero time if there is none within five years.
func (c Cron) Next(t time.Time) time.Time { return c.times.Next(t.In(c.zone)).UTC() }
