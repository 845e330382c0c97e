package checkpoint

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/weftrun/weft/internal/compact"
)

// appendJSON appends the JSON of r in one pass, with the same bytes as encoding/json. It calls
// encoding/json for parts that few records have.
func (r *Record) appendJSON(b []byte) (_ []byte, err error) {
	o := object{b: append(b, '{')}
	o.text("graph", r.Graph)
	o.text("program", r.Program)
	o.text("run", r.Run)
	o.text("origin", r.Origin)
	o.time("time", r.Time)
	o.text("source", string(r.Source))
	o.number("turn", int64(r.Turn))
	o.number("step", int64(r.Step))
	o.optional("parent", r.Parent)
	o.optional("branch", r.Branch)
	appendList(&o, "ran", r.Ran, (*object).ran)
	if r.Recovered {
		o.any(nameRecovered, true)
	}
	appendList(&o, "next", r.Next, (*object).task)
	o.texts("waiting", r.Waiting)
	if len(r.Joins) > 0 {
		o.any("joins", r.Joins)
	}
	o.optionalText("input", r.Input)
	o.optional("taken", r.Taken)
	if len(r.Answered) > 0 {
		o.any("answered", r.Answered)
	}
	if len(r.Metadata) > 0 {
		o.any("metadata", r.Metadata)
	}
	if len(r.Trace) > 0 {
		o.any("trace", r.Trace)
	}
	if r.Within != nil {
		o.any("within", r.Within)
	}
	if r.Rewind != nil {
		o.any("rewind", r.Rewind)
	}
	if len(r.Fields) > 0 {
		appendList(&o, "fields", r.Fields, (*object).field)
	} else {
		o.any("fields", r.Fields) // null or []
	}
	return append(o.b, '}'), o.err
}

func (o *object) ran(r *Ran) {
	o.optionalText("node", r.Node)
	o.texts("wrote", r.Wrote)
	appendList(o, "ways", r.Ways, (*object).way)
}

func (o *object) way(w *Way) {
	o.text("to", w.To)
	if w.Send {
		o.any("send", true)
	}
	o.optionalInt("branch", w.Branch)
	o.optionalText("why", w.Why)
}

func (o *object) task(t *Task) {
	o.text("id", t.ID)
	o.text("node", t.Node)
	if t.Send {
		o.any("send", true)
	}
	if len(t.Payload) > 0 {
		o.any("payload", t.Payload)
	}
	if t.Timeout != 0 {
		o.number("timeout", int64(t.Timeout))
	}
}

func (o *object) field(f *Field) {
	o.text("n", f.Name)
	o.optional("b", f.Base)
	o.optionalInt("c", f.Chunks)
	o.optionalInt("bb", f.BaseBytes)
	o.optionalInt("cb", f.ChunkBytes)
	o.optionalInt("v", f.Version)
	o.optionalInt("i", f.Items)
	o.optionalText("k", string(f.Kind))
	o.optionalText("t", f.Tag)
}

// object appends the members of a JSON object. The first error stays.
type object struct {
	b   []byte
	err error
}

// name appends the name of a member, which needs no escapes.
func (o *object) name(name string) {
	if o.b[len(o.b)-1] != '{' {
		o.b = append(o.b, ',')
	}
	o.b = append(o.b, '"')
	o.b = append(o.b, name...)
	o.b = append(o.b, '"', ':')
}

func (o *object) text(name, s string) {
	o.name(name)
	o.b = compact.String(o.b, s)
}

func (o *object) optionalText(name, s string) {
	if s != "" {
		o.text(name, s)
	}
}

func (o *object) number(name string, n int64) {
	o.name(name)
	o.b = strconv.AppendInt(o.b, n, 10)
}

func (o *object) optional(name string, n uint64) {
	if n != 0 {
		o.name(name)
		o.b = strconv.AppendUint(o.b, n, 10)
	}
}

func (o *object) optionalInt(name string, n int) {
	if n != 0 {
		o.number(name, int64(n))
	}
}

// texts appends a list of texts unless it is empty.
func (o *object) texts(name string, all []string) {
	if len(all) == 0 {
		return
	}
	o.name(name)
	o.b = append(o.b, '[')
	for i, s := range all {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = compact.String(o.b, s)
	}
	o.b = append(o.b, ']')
}

// time appends a time. It calls encoding/json for unusual times, some of which are errors there.
func (o *object) time(name string, t time.Time) {
	if y := t.Year(); y < 0 || y > 9999 || t.Location() != time.UTC {
		o.any(name, t)
		return
	}
	o.name(name)
	o.b = append(o.b, '"')
	o.b = append(t.AppendFormat(o.b, time.RFC3339Nano), '"')
}

// any appends a value by encoding/json.
func (o *object) any(name string, v any) {
	o.name(name)
	data, err := json.Marshal(v)
	if err != nil && o.err == nil {
		o.err = err
	}
	o.b = append(o.b, data...)
}

// appendList appends a list of objects unless it is empty.
func appendList[T any](o *object, name string, all []T, add func(*object, *T)) {
	if len(all) == 0 {
		return
	}
	o.name(name)
	o.b = append(o.b, '[')
	for i := range all {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = append(o.b, '{')
		add(o, &all[i])
		o.b = append(o.b, '}')
	}
	o.b = append(o.b, ']')
}
