package workflow

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/exprs"
	"github.com/weftrun/weft/state/record"
)

// setting is one entry of config: what a run is set to do, beside its input.
type setting struct {
	ref
	typ   record.Type
	def   json.RawMessage // nil when there is none
	about string          // its description
}

// configField is the hidden field of the state that holds the settings of the turn. They
// are part of its input, so a resume, another process and a branch see the same.
const configField = "run_config"

// settings decodes the section config.
func (s *source) settings(n *yaml.Node, types map[string]record.Type) (all []setting) {
	o, _ := s.object(n, "config")
	if s.tooLong(n, o, "settings in config") {
		return nil
	}
	for _, m := range o {
		c := setting{ref: ref{m.key.Value, m.key}}
		if !identifier.MatchString(c.name) {
			s.fail(m.key, "WF111", "the name %q in config must be letters, digits and _, not a digit first", c.name)
		}
		if m.value.Kind == yaml.MappingNode {
			s.setting(&c, m, types)
		} else {
			c.typ, _ = s.typ(m.value, types)
		}
		all = append(all, c)
	}
	return all
}

func (s *source) setting(c *setting, m member, types map[string]record.Type) {
	f := field{Field: record.Field{Name: c.name}, untyped: true}
	o, _ := s.record(m.value, "config "+c.name, "type", "default", "description")
	for _, k := range o {
		switch k.key.Value {
		case "type":
			var ok bool
			f.Type, ok = s.typ(k.value, types)
			f.untyped = !ok
		case "description":
			c.about, _ = s.string(k.value, "description")
		}
	}
	if o.get("type") == nil {
		s.fail(m.key, "WF404", "config %s has no type", c.name)
	}
	if n := o.get("default"); n != nil {
		s.defaultOf(&f, n)
	}
	c.typ, c.def = f.Type, f.Default
}

// configType is what expressions see as config.
func (p *plan) configType() exprs.Type {
	fields := map[string]exprs.Type{}
	for _, c := range p.config {
		fields[c.name] = exprType(c.typ)
	}
	return exprs.Object(fields)
}

func (p *plan) setting(name string) *setting {
	for i := range p.config {
		if p.config[i].name == name {
			return &p.config[i]
		}
	}
	return nil
}

func (p *plan) settingNames() (names []string) {
	for _, c := range p.config {
		names = append(names, c.name)
	}
	return names
}

// defaultConfig returns the settings of a run that is given none.
func (p *plan) defaultConfig() map[string]any {
	values := map[string]any{}
	for _, c := range p.config {
		if c.def != nil {
			values[c.name], _ = c.typ.Convert(c.def) // it was checked
		}
	}
	return values
}

// configured returns all settings of a turn: those that are given, and defaults. What is
// wrong is reported to s.
func (w *Workflow) configured(s *source, given map[string]any) map[string]any {
	values := w.plan.defaultConfig()
	for _, name := range slices.Sorted(maps.Keys(given)) {
		c := w.plan.setting(name)
		if c == nil {
			s.failAt(w.plan.at.Line, w.plan.at.Column, "WF804", "", "there is no setting %q in config%s", name, didYouMean(name, w.plan.settingNames()))
			continue
		}
		v, err := c.typ.Convert(given[name])
		if err != nil {
			s.fail(c.at, "WF804", "config %s: %v", name, err)
		}
		values[name] = v
	}
	for _, c := range w.plan.config {
		if _, ok := values[c.name]; !ok {
			s.fail(c.at, "WF804", "config %s is missing, and has no default; want %s", c.name, c.typ)
		}
	}
	return values
}

// configure writes the settings into the input of a turn.
func (w *Workflow) configure(rec *record.Record, values map[string]any) {
	if len(w.plan.config) > 0 {
		_ = rec.Write(configField, values) // any plain value fits
	}
}

// InputWith is [Workflow.Input] for a turn with settings, by the names that the file has
// under config. What is not given has its default. The settings are stored with the turn: a
// resume has the same, whatever the defaults are then.
func (w *Workflow) InputWith(values, config map[string]json.RawMessage) (record.Record, error) {
	return w.fill(anyValues(values), anyValues(config), w.opts.now().Unix())
}

// configureInput is graph.Config.Configure: it writes the settings of a run into an input as JSON,
// and the time at which its turn begins. Settings that the input has already stay. It leaves out
// fields that the file does not list under input: a client may send back all that it has read. A
// required field may be missing, since the thread may have it.
func (w *Workflow) configureInput(input json.RawMessage, context, configurable map[string]json.RawMessage) (json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(input, &fields); err != nil || fields == nil {
		return input, nil // decoding it reports what is wrong
	}
	s := *w.src
	s.problems = new(problems)
	all := len(fields)
	maps.DeleteFunc(fields, func(name string, _ json.RawMessage) bool {
		own := w.timed && name == timeField || len(w.plan.config) > 0 && name == configField
		return !own && w.inputField(name) == nil
	})
	for _, f := range w.plan.fields {
		if v, ok := fields[f.Name]; ok && f.misses(isNull(v)) {
			s.fail(f.at, "WF803", "input %s is null; want %s", f.Name, f.Type)
		}
	}
	switch {
	case len(s.found) > 0:
		return nil, &InputError{s.sorted()}
	case !w.timed && len(w.plan.config) == 0 && len(fields) == all:
		return input, nil
	}
	if w.timed && fields[timeField] == nil {
		fields[timeField] = strconv.AppendInt(nil, w.opts.now().Unix(), 10)
	}
	if len(w.plan.config) > 0 {
		given := map[string]any{}
		if own := fields[configField]; own != nil {
			if err := json.Unmarshal(own, &given); err != nil {
				return nil, fmt.Errorf("the field %s must be an object", configField)
			}
		} else {
			for _, c := range w.plan.config {
				if v, ok := configurable[c.name]; ok {
					given[c.name] = v
				}
			}
			maps.Copy(given, anyValues(context))
		}
		values := w.configured(&s, given)
		if len(s.found) > 0 {
			return nil, &InputError{s.sorted()}
		}
		data, err := record.Type{}.Encode(values)
		if err != nil {
			return nil, err
		}
		fields[configField] = data
	}
	return json.Marshal(fields)
}

// InputError is returned when a run is given an input, or settings, that its file does not take.
// Its text has no paths of files, since clients of a server read it.
type InputError struct{ Problems []Problem }

func (e *InputError) Error() string {
	var all []string
	for _, p := range e.Problems {
		all = append(all, p.Msg)
	}
	return strings.Join(all, "; ")
}

// described returns cfg with the schemas of the input and of the settings.
func (w *Workflow) described(cfg graph.Config) (graph.Config, error) {
	var input, settings []graph.SchemaField
	for _, f := range w.plan.named(w.plan.input) {
		input = append(input, graph.SchemaField{Name: f.Name, Description: f.about, Required: f.required})
	}
	var fields []record.Field
	for _, c := range w.plan.config {
		fields = append(fields, record.Field{Name: c.name, Type: c.typ, Default: c.def})
		settings = append(settings, graph.SchemaField{Name: c.name, Description: c.about, Required: c.def == nil})
	}
	shape, err := record.NewShape(fields...)
	if err == nil && cfg.Schemas.Input == nil {
		cfg.Schemas.Input, err = graph.SchemaOf(w.shape.Schema(), input...)
	}
	if err == nil && cfg.Schemas.Settings == nil && len(settings) > 0 {
		cfg.Schemas.Settings, err = graph.SchemaOf(shape.Schema(), settings...)
	}
	if cfg.Configure == nil {
		cfg.Configure = w.configureInput
	}
	return cfg, err
}

func anyValues(raw map[string]json.RawMessage) map[string]any {
	values := make(map[string]any, len(raw))
	for name, v := range raw {
		values[name] = v
	}
	return values
}

// Settings returns what a run may be set to, in the order of the file.
func (w *Workflow) Settings() []Field {
	var all []Field
	for _, c := range w.plan.config {
		all = append(all, Field{c.name, c.typ.String(), c.def == nil, slices.Clone(c.def)})
	}
	return all
}

// TakesSetting reports whether the file has a setting of this name that can have the value.
func (w *Workflow) TakesSetting(name string, value json.RawMessage) bool {
	c := w.plan.setting(name)
	if c == nil {
		return false
	}
	_, err := c.typ.Convert(value)
	return err == nil
}

// config returns the settings of the turn. A state that a program filled itself may have none.
func (w *Workflow) config(rec *record.Record) map[string]any {
	if len(w.plan.config) == 0 {
		return nil
	}
	v, _ := rec.Get(configField)
	if values, ok := v.(map[string]any); ok {
		return values
	}
	return w.plan.defaultConfig()
}

// inherited returns the settings that a sub-workflow takes over: those of its names that the
// file around it has too.
func (w *Workflow) inherited(config map[string]any) map[string]any {
	values := map[string]any{}
	for _, c := range w.plan.config {
		if v, ok := config[c.name]; ok {
			values[c.name] = v
		}
	}
	return values
}

// checkSettings holds the settings of a sub-workflow against those of the file.
func (c *checker) checkSettings(n *node, child *Workflow) {
	for _, s := range child.plan.config {
		own := c.plan.setting(s.name)
		switch {
		case own == nil && s.def == nil:
			c.failAt(n.args.Line, n.args.Column, "WF518", "declare it under config in this file too", "%s needs the setting %s, which has no default", child.Path, s.name)
		case own != nil && !sameType(own.typ, s.typ):
			c.fail(n.args, "WF518", "the setting %s has type %s here, but type %s in %s", s.name, own.typ, s.typ, child.Path)
		}
	}
}
