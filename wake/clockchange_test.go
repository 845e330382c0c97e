package wake_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/wake"
)

// timesOf returns when a cron is due from a day at 00:00 UTC on, for some days.
func timesOf(t *testing.T, fields, zone, from string, days int) (all []string) {
	t.Helper()
	c, err := wake.ParseCron(fields, zone)
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse(time.DateOnly, from)
	if err != nil {
		t.Fatal(err)
	}
	end := at.AddDate(0, 0, days)
	for at = c.Next(at); at.Before(end) && !at.IsZero(); at = c.Next(at) {
		all = append(all, at.Format("02T15:04"))
	}
	return all
}

func TestCron_ClockChanges(t *testing.T) {
	for _, tt := range []struct{ name, fields, zone, from, want string }{
		// Berlin: 02:00 becomes 03:00 on 28 March at 01:00Z, and 03:00 becomes 02:00 on 31 October.
		{"a time in the gap", "30 2 * * *", "Europe/Berlin", "2027-03-27", "27T01:30 28T01:00 29T00:30"},
		{"a day of the year in the gap", "30 2 28 3 *", "Europe/Berlin", "2027-03-27", "28T01:00"},
		{"a weekday in the gap", "30 2 * * 0", "Europe/Berlin", "2027-03-27", "28T01:00"},
		{"the first and last minute of the gap", "0,59 2 * * *", "Europe/Berlin", "2027-03-28", "28T01:00 29T00:00 29T00:59 30T00:00 30T00:59"},
		{"the end of the gap", "0 2,3 * * *", "Europe/Berlin", "2027-03-28", "28T01:00 29T00:00 29T01:00 30T00:00 30T01:00"},
		{"before the gap", "59 1 * * *", "Europe/Berlin", "2027-03-27", "27T00:59 28T00:59 28T23:59 29T23:59"},
		{"a time that comes twice", "30 2 * * *", "Europe/Berlin", "2027-10-30", "30T00:30 31T00:30 01T01:30"},
		{"after the hour that comes twice", "0 3 * * *", "Europe/Berlin", "2027-10-30", "30T01:00 31T02:00 01T02:00"},
		{"any minute of a fixed hour", "*/30 2 * * *", "Europe/Berlin", "2027-03-28", "28T01:00 29T00:00 29T00:30 30T00:00 30T00:30"},
		{"each hour over the gap", "30 * 28 3 *", "Europe/Berlin", "2027-03-27", "27T23:30 28T00:30 28T01:30 28T02:30"},
		{"a range in the gap", "30 2-2 * * *", "Europe/Berlin", "2027-03-27", "27T01:30 29T00:30"},
		{"a range that comes twice", "30 1-3 * * *", "Europe/Berlin", "2027-10-31", "31T00:30 31T01:30 31T02:30 01T00:30 01T01:30 01T02:30 02T00:30 02T01:30 02T02:30"},
		{"a step over the gap", "0 */2 28 3 *", "Europe/Berlin", "2027-03-27", "27T23:00 28T02:00 28T04:00"},
		// Havana: 00:00 becomes 01:00 on 14 March at 05:00Z, and 01:00 becomes 00:00 on 7 November.
		{"midnight in the gap", "0 0 * * *", "America/Havana", "2027-03-13", "13T05:00 14T05:00 15T04:00"},
		{"the day after midnight in the gap", "0 0 14 3 *", "America/Havana", "2027-03-13", "14T05:00"},
		{"each hour of a day without midnight", "0 * 14 3 *", "America/Havana", "2027-03-13", "14T05:00 14T06:00 14T07:00"},
		{"each hour of the day before", "0 * 13 3 *", "America/Havana", "2027-03-14", "14T01:00 14T02:00 14T03:00 14T04:00"},
		{"midnight that comes twice", "0 0 * * *", "America/Havana", "2027-11-06", "06T04:00 07T04:00 08T05:00"},
		{"each midnight that comes twice", "0 0-0 * * *", "America/Havana", "2027-11-06", "06T04:00 07T04:00 07T05:00 08T05:00"},
		// New York: 02:00 becomes 03:00 on 14 March at 07:00Z, and 01:00 on 7 November.
		{"a time in the gap", "15 2 * * *", "America/New_York", "2027-03-13", "13T07:15 14T07:00 15T06:15"},
		{"a time that comes twice", "15 1 * * *", "America/New_York", "2027-11-06", "06T05:15 07T05:15 08T06:15"},
		// Lord Howe: 02:00 becomes 02:30 on 3 October, at 15:30Z of the 2nd, and 02:00 becomes
		// 01:30 on 4 April, at 15:00Z of the 3rd.
		{"half an hour of gap", "10 2 * * *", "Australia/Lord_Howe", "2027-10-01", "01T15:40 02T15:30 03T15:10"},
		{"after half an hour of gap", "40 2 * * *", "Australia/Lord_Howe", "2027-10-01", "01T16:10 02T15:40 03T15:40"},
		{"half an hour twice", "45 1 * * *", "Australia/Lord_Howe", "2027-04-02", "02T14:45 03T14:45 04T15:15"},
		{"not in the half hour that comes twice", "15 1 * * *", "Australia/Lord_Howe", "2027-04-02", "02T14:15 03T14:15 04T14:45"},
		{"every half hour twice", "45 1-1 * * *", "Australia/Lord_Howe", "2027-04-02", "02T14:45 03T14:45 03T15:15 04T15:15"},
		{"a step over half an hour twice", "0 */2 4 4 *", "Australia/Lord_Howe", "2027-04-03", "03T13:00 03T15:30 03T17:30 03T19:30 03T21:30 03T23:30 04T01:30 04T03:30 04T05:30 04T07:30 04T09:30 04T11:30"},
	} {
		got := timesOf(t, tt.fields, tt.zone, tt.from, 3)
		if want := strings.Fields(tt.want); len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
			t.Errorf("%s: %q in %s:\n got %q\nwant %q", tt.name, tt.fields, tt.zone, got, want)
		}
	}
}

// Each day has each fixed time once, at the first moment at which the clock shows it or more.
func TestCron_FixedTimesComeOnEachDay(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/Havana", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Beirut", "Atlantic/Azores"} {
		at, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for range 12 {
			hour, minute := r.IntN(4), r.IntN(60)
			fields := fmt.Sprintf("%d %d * * *", minute, hour)
			c, err := wake.ParseCron(fields, zone)
			if err != nil {
				t.Fatal(err)
			}
			now := time.Date(2026, 12, 31, 12, 0, 0, 0, time.UTC)
			for day := time.Date(2027, 1, 1, hour, minute, 0, 0, time.UTC); day.Year() == 2027; day = day.AddDate(0, 0, 1) {
				next := c.Next(now)
				if !next.After(now) {
					t.Fatalf("%q in %s: %v comes after %v", fields, zone, next, now)
				}
				if before, then := clockOf(next.Add(-time.Minute), at), clockOf(next, at); then.Before(day) || !before.Before(day) || then.Sub(day) > time.Hour {
					t.Fatalf("%q in %s: the clock shows %v, and %v a minute before; want the first moment of %v", fields, zone, then, before, day)
				}
				if earlier := c.Next(now.Add(time.Duration(r.Int64N(int64(next.Sub(now)))))); !earlier.Equal(next) {
					t.Fatalf("%q in %s: from a moment between, next is %v, want %v", fields, zone, earlier, next)
				}
				now = next
			}
		}
	}
}

// Other times are those that the clock shows, minute by minute.
func TestCron_OtherTimesFollowTheClock(t *testing.T) {
	for _, zone := range []string{"Europe/Berlin", "America/Havana", "Australia/Lord_Howe"} {
		at, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for fields, fits := range map[string]func(time.Time) bool{
			"*/20 * * * *":   func(t time.Time) bool { return t.Minute()%20 == 0 },
			"10 */3 * * *":   func(t time.Time) bool { return t.Minute() == 10 && t.Hour()%3 == 0 },
			"0 0-2 * * 0":    func(t time.Time) bool { return t.Minute() == 0 && t.Hour() <= 2 && t.Weekday() == time.Sunday },
			"45 * 1-14 4 *":  func(t time.Time) bool { return t.Minute() == 45 && t.Day() <= 14 && t.Month() == time.April },
			"30 0-23 14 * 0": func(t time.Time) bool { return t.Minute() == 30 && (t.Day() == 14 || t.Weekday() == time.Sunday) },
		} {
			c, err := wake.ParseCron(fields, zone)
			if err != nil {
				t.Fatal(err)
			}
			for _, month := range []time.Month{time.March, time.April, time.October, time.November} {
				begin := time.Date(2027, month, 1, 0, 0, 0, 0, time.UTC)
				next := c.Next(begin.Add(-1))
				for now := begin; now.Month() == month; now = now.Add(time.Minute) {
					due := next.Equal(now)
					if due != fits(clockOf(now, at)) {
						t.Fatalf("%q in %s: due at %v is %v, where the clock shows %v; next is %v", fields, zone, now, due, clockOf(now, at), next)
					}
					if due {
						next = c.Next(now)
					}
				}
			}
		}
	}
}

// clockOf returns what the clock of a zone shows, as a time in UTC.
func clockOf(t time.Time, zone *time.Location) time.Time {
	t = t.In(zone)
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}
