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
	if len(r.Ran) > 0 {
		o.open("ran")
		for i := range r.Ran {
			o.element(i)
			o.ran(&r.Ran[i])
			o.end()
		}
		o.close()
	}
	if r.Recovered {
		o.any(nameRecovered, true)
	}
	if len(r.Next) > 0 {
		o.open("next")
		for i := range r.Next {
			o.element(i)
			o.task(&r.Next[i])
			o.end()
		}
		o.close()
	}
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
	if len(r.Carrier) > 0 {
		o.any("carrier", r.Carrier)
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
	o.optionalText("pin", r.Pin)
	o.optionalText("prev", r.Prev)
	if len(r.Fields) > 0 {
		o.open("fields")
		for i := range r.Fields {
			o.element(i)
			o.field(&r.Fields[i])
			o.end()
		}
		o.close()
	} else {
		o.any("fields", r.Fields) // null or []
	}
	return append(o.b, '}'), o.err
}

func (o *object) ran(r *Ran) {
	o.optionalText("node", r.Node)
	o.texts("wrote", r.Wrote)
	if len(r.Ways) > 0 {
		o.open("ways")
		for i := range r.Ways {
			o.element(i)
			o.way(&r.Ways[i])
			o.end()
		}
		o.close()
	}
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

// open begins a list of objects, close ends it.
func (o *object) open(name string) {
	o.name(name)
	o.b = append(o.b, '[')
}

func (o *object) close() { o.b = append(o.b, ']') }

// element begins the object with index i of a list, end ends it.
func (o *object) element(i int) {
	if i > 0 {
		o.b = append(o.b, ',')
	}
	o.b = append(o.b, '{')
}

func (o *object) end() { o.b = append(o.b, '}') }
