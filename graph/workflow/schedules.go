package workflow

import (
	"encoding/json"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/weftrun/weft/state/record"
	"github.com/weftrun/weft/wake"
)

// schedule is one entry of the file's schedules.
type schedule struct {
	test       // its name, input and config, which are written as those of a test
	when       wake.Schedule
	cron, zone *yaml.Node // nil if it is missing
}

func (s *source) schedules(n *yaml.Node) (all []*schedule) {
	o, _ := s.object(n, "schedules")
	if s.tooLong(n, o, "schedules") {
		return nil
	}
	for _, m := range o {
		all = append(all, s.schedule(m))
	}
	return all
}

func (s *source) schedule(m member) *schedule {
	one := &schedule{test: test{ref: ref{m.key.Value, m.key}, inputAt: m.key}}
	if !nodeName.MatchString(one.name) {
		s.fail(m.key, "WF111", "the name %q of a schedule must be letters, digits, _ and -, a letter first", one.name)
	}
	what := "schedule " + one.name
	o, ok := s.record(m.value, what, "cron", "zone", "at", "until", "input", "config")
	if ok && (o.get("cron") == nil) == (o.get("at") == nil) {
		s.fail(m.key, "WF136", "%s must have either at or cron", what)
	}
	if at := o.get("zone"); at != nil && o.get("cron") == nil {
		s.fail(at, "WF136", "%s: zone is that of a cron; at has a zone of its own", what)
	}
	for _, m := range o {
		switch m.key.Value {
		case "cron":
			one.when.Cron, _ = s.string(m.value, what+".cron")
			one.cron = m.value
		case "zone":
			one.when.Zone, _ = s.string(m.value, what+".zone")
			one.zone = m.value
		case "at":
			one.when.At = s.moment(m.value, what+".at")
		case "until":
			one.when.Until = s.moment(m.value, what+".until")
		case "input":
			one.input, _ = s.object(m.value, what+".input")
			one.inputAt = m.value
		case "config":
			one.config, _ = s.object(m.value, what+".config")
		}
	}
	if until := one.when.Until; !until.IsZero() && one.when.At.After(until) {
		s.fail(o.get("until"), "WF136", "%s: until is before at, so no run begins", what)
	}
	return one
}

// moment decodes a time with a zone.
func (s *source) moment(n *yaml.Node, what string) time.Time {
	text, ok := s.string(n, what)
	at, err := time.Parse(time.RFC3339, text)
	if ok && err != nil {
		s.fail(n, "WF136", "%s must be a time such as \"2026-05-04T06:00:00Z\", not %q", what, text)
	}
	return at.UTC()
}

// checkSchedule holds when a schedule is due, and the names and values of its input and its
// settings.
func (c *checker) checkSchedule(s *schedule) {
	c.checkTestConfig(&s.test)
	c.checkTestInput(&s.test)
	if n := len(c.plan.name) + 1 + len(s.name); n > wake.MaxScheduleName {
		c.fail(s.ref.at, "WF136", "the name of the workflow, a slash and that of the schedule must have at most %d bytes, not %d", wake.MaxScheduleName, n)
	}
	if strings.Contains(c.plan.name, "/") { // else the schedules of a would end those of a/b
		c.fail(s.ref.at, "WF136", "the name of a workflow with schedules must not have a slash: %s", c.plan.name)
	}
	if s.cron == nil {
		return
	}
	if _, err := wake.ParseCron("* * * * *", s.when.Zone); err != nil {
		c.fail(s.zone, "WF136", "schedule %s: zone must be the name of a time zone such as Europe/Berlin, not %q", s.name, s.when.Zone)
		return
	}
	if _, err := wake.ParseCron(s.when.Cron, s.when.Zone); err != nil {
		c.fail(s.cron, "WF136", "schedule %s: cron must be the minute, hour, day, month and weekday of a time that comes, such as \"0 8 * * 1-5\", not %q", s.name, s.when.Cron)
	}
}

// Schedules returns when the file has runs begin. The name of each is that of the workflow, a
// slash, and that in the file. See [wake.Timers.Declare].
func (w *Workflow) Schedules() ([]wake.Schedule, error) {
	var all []wake.Schedule
	for _, s := range w.plan.schedules {
		one := s.when
		one.Name, one.Graph = w.Name+"/"+s.name, w.Name
		input := map[string]json.RawMessage{}
		var err error
		for _, m := range s.input {
			if input[m.key.Value], err = w.encoded(m.value); err != nil {
				return nil, err
			}
		}
		if len(s.config) > 0 {
			settings := map[string]json.RawMessage{}
			for _, m := range s.config {
				if settings[m.key.Value], err = w.encoded(m.value); err != nil {
					return nil, err
				}
			}
			if input[configField], err = json.Marshal(settings); err != nil {
				return nil, err
			}
		}
		if one.Input, err = json.Marshal(input); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// encoded returns a constant of the file as JSON.
func (w *Workflow) encoded(n *yaml.Node) (json.RawMessage, error) {
	return record.Type{}.Encode(w.src.plainOf(n))
}
