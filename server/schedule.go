package server

import (
	"time"

	"github.com/robfig/cron/v3"
)

// schedule is when a cron is due.
type schedule struct {
	times cron.Schedule
	zone  *time.Location
}

// cronParser reads the standard five fields.
var cronParser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// parseSchedule reads five fields, and a time zone, which is UTC if it is "".
func parseSchedule(fields, zone string) (schedule, error) {
	at, err := time.LoadLocation(zone)
	if err != nil || zone == "Local" {
		return schedule{}, invalid("timezone must be the name of a time zone (got %.100q)", zone)
	}
	// The parser panics on some texts that begin with a zone of their own.
	if len(fields) > 256 || !isSchedule(fields) {
		return schedule{}, invalid("schedule must have five fields: minute, hour, day, month and weekday (got %.100q)", fields)
	}
	times, err := cronParser.Parse(fields)
	if err != nil {
		return schedule{}, invalid("schedule must have five fields: minute, hour, day, month and weekday (got %.100q)", fields)
	}
	s := schedule{times, at}
	if s.next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return schedule{}, invalid("schedule must have a time at which it is due (got %.100q)", fields)
	}
	return s, nil
}

// isSchedule reports whether a text has only characters of the five fields.
func isSchedule(text string) bool {
	for _, r := range text {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '*' || r == '/' || r == ',' || r == '-' || r == '?' || r == ' ') {
			return false
		}
	}
	return true
}

// next returns the first time after t at which the schedule is due.
func (s schedule) next(t time.Time) time.Time { return s.times.Next(t.In(s.zone)).UTC() }
