package thread_test

import (
	"encoding/json"
	"testing"

	"github.com/weftrun/weft/conversation/thread"
)

// settings is a configuration with a value of each type.
var settings = thread.Config{
	"historyLimit": 20, "model": "m-1", "enabledTools": []string{"dice"}, "reasoning": map[string]any{"model": "m-2", "depth": 3},
	"a.b": "dotted", "large": json.Number("12345678901234567890"), "nothing": nil,
}

func TestConfigValue_EveryType(t *testing.T) {
	p := newProbe(t)
	s := p.begin(thread.Explicit)
	p.Done("set", s.SetConfig(p.Context(), "t1", settings))
	for key, want := range map[string]string{
		"historyLimit": `20`, "model": `"m-1"`, "enabledTools": `["dice"]`, "reasoning": `{"depth":3,"model":"m-2"}`, "a.b": `"dotted"`,
		"large": `12345678901234567890`, "nothing": `null`,
	} {
		v, found, err := s.ConfigValue(p.Context(), "t1", key)
		p.Done("a value can be read", err)
		p.Same("the value of "+key, string(v), want)
		p.Same("it is there", found, true)
	}
	n, found, err := thread.Value[int](s.ConfigValue(p.Context(), "t1", "historyLimit"))
	p.Done("a value can be decoded", err)
	p.Same("as its type", []any{n, found}, "[20 true]")
	_, _, err = thread.Value[int](s.ConfigValue(p.Context(), "t1", "model"))
	p.Fails("another type is rejected", err, thread.ErrConfig)
}

func TestConfigPath_Nested(t *testing.T) {
	p := newProbe(t)
	s := p.begin(thread.Explicit)
	p.Done("set", s.SetConfig(p.Context(), "t1", settings))
	_, found, err := s.ConfigValue(p.Context(), "t1", "reasoning.model")
	p.Done("a dotted key is no error", err)
	p.Same("ConfigValue does not go into objects", found, false)
	v, found, err := s.ConfigPath(p.Context(), "t1", "reasoning.model")
	p.Done("a path can be read", err)
	p.Same("ConfigPath goes into objects", []any{string(v), found}, `["m-2" true]`)
	v, _, err = s.ConfigPath(p.Context(), "t1", "enabledTools.0")
	p.Done("a path can be read", err)
	p.Same("and into arrays", string(v), `"dice"`)
	_, found, err = s.ConfigPath(p.Context(), "t1", "reasoning.nothing")
	p.Done("a path to nothing is no error", err)
	p.Same("and leads nowhere", found, false)
}

func TestConfigValue_Absent(t *testing.T) {
	p := newProbe(t)
	s := p.begin(thread.Implicit)
	_, found, err := s.ConfigValue(p.Context(), "t1", "absent")
	p.Done("an absent key is no error", err)
	p.Same("it is absent", found, false)
	p.Done("set", s.SetConfig(p.Context(), "t1", thread.Config{}))
	_, found, err = s.ConfigValue(p.Context(), "t1", "historyLimit")
	p.Done("an empty configuration is no error", err)
	p.Same("all is absent from it", found, false)
	v, found, err := thread.Value[int](s.ConfigPath(p.Context(), "t1", "a.b"))
	p.Same("an absent value is the zero value", []any{v, found, err}, "[0 false <nil>]")
}

func TestConfigValue_Failures(t *testing.T) {
	p := newProbe(t)
	s := p.begin(thread.Explicit)
	_, _, err := s.ConfigValue(p.Context(), "unknown", "historyLimit")
	p.Fails("an unknown thread has no values", err, thread.ErrThreadNotFound)
	defer p.down()()
	_, _, err = s.ConfigValue(p.Context(), "t1", "historyLimit")
	p.Fails("the error of the store is returned", err, errDown)
	_, _, err = s.ConfigPath(p.Context(), "t1", "historyLimit")
	p.Fails("the error of the store is returned", err, errDown)
}

func TestSetConfig_ReplacesTheWhole(t *testing.T) {
	p := newProbe(t)
	s := p.begin(thread.Explicit)
	p.Done("set", s.SetConfig(p.Context(), "t1", thread.Config{"model": "m-3"}))
	c, err := p.repo().Config(p.Context(), "t1")
	p.Done("the configuration can be read", err)
	p.Same("a configuration is replaced as a whole", c, thread.Config{"model": "m-3"})
}

func TestSetConfig_RejectsInvalidValues(t *testing.T) {
	p := newProbe(t)
	s := p.begin(thread.Explicit)
	p.quiet("an invalid configuration is rejected without a call", func() {
		p.Fails("an empty thread id is rejected", s.SetConfig(p.Context(), "", thread.Config{}), thread.ErrThreadID)
		p.Fails("a nil configuration is rejected", s.SetConfig(p.Context(), "t1", nil), thread.ErrConfig)
		p.Fails("a value that is not JSON is rejected", s.SetConfig(p.Context(), "t1", thread.Config{"f": func() {}}), thread.ErrConfig)
	})
}

func TestSetConfig_UpdatesALoadedThread(t *testing.T) {
	p := newProbe(t)
	s := p.withState(thread.Implicit)
	th := p.load(s, "t1")
	up := p.down()
	p.Fails("the error of the store is returned", s.SetConfig(p.Context(), "t1", thread.Config{"model": "lost"}), errDown)
	up()
	p.Same("after it the session has what it had", th.Config["historyLimit"], 20)
	mine := thread.Config{"model": "m-3"}
	p.Done("set", s.SetConfig(p.Context(), "t1", mine))
	mine["model"] = "edited afterwards"
	p.Same("after a SetConfig a load gives the new configuration", p.load(s, "t1").Config, thread.Config{"model": "m-3"})
}

func TestSetConfig_KeepsUnsavedEdits(t *testing.T) {
	p := newProbe(t)
	s := p.withState(thread.Implicit)
	th := p.load(s, "t1")
	th.State.Data.Room = "cellar"
	p.Done("set", s.SetConfig(p.Context(), "t1", thread.Config{"model": "m-3"}))
	p.Done("enable", s.EnableTools(p.Context(), "t1", "map"))
	p.stored("edits are not saved by that", "hall v1")
	p.Done("save", s.SaveIfModified(p.Context(), "t1"))
	p.silent("edits are not lost by that")
	p.stored("edits are saved later", "cellar v2")
	p.Same("the instance stays", p.load(s, "t1") == th, true)
}

func TestCreate(t *testing.T) {
	p := newProbe(t)
	r := p.repo()
	p.Done("create", r.Create(p.Context(), "t1"))
	c, err := r.Config(p.Context(), "t1")
	p.Same("a new record", []any{c, err}, "[map[] <nil>]")
	p.Done("set", r.SetConfig(p.Context(), "t1", thread.Config{"a": 1}))
	p.Done("create again", r.Create(p.Context(), "t1"))
	c, err = r.Config(p.Context(), "t1")
	p.Same("it has not changed", []any{c, err}, "[map[a:1] <nil>]")
	p.Fails("an empty thread id is rejected", r.Create(p.Context(), ""), thread.ErrThreadID)
}
