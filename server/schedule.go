package server

import (
	"errors"
	"strings"

	"github.com/weftrun/weft/wake"
)

// parseSchedule reads five fields, and a time zone, which is UTC if it is "".
func parseSchedule(fields, zone string) (wake.Cron, error) {
	c, err := wake.ParseCron(fields, zone)
	if errors.Is(err, wake.ErrCron) {
		return c, invalid("%s", strings.TrimPrefix(err.Error(), wake.ErrCron.Error()+": "))
	}
	return c, err
}
