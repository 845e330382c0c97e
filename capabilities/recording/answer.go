package recording

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"strings"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/state/message"
)

// answer is the answer of a model as it is recorded, whatever its pieces were.
type answer struct {
	Content   []message.Part
	Reasoning string
	Calls     []answerCall
	Usage     *message.Usage
	Model     string
	Stop      model.Stop
}

type answerCall struct {
	index    int
	id, name string
	args     string
	extra    map[string]json.RawMessage
}

// add adds a chunk, as a [model.Fold] does.
func (a *answer) add(c model.Chunk) {
	if c.Text != "" {
		if n := len(a.Content); n > 0 && a.Content[n-1].Type == message.TypeText && a.Content[n-1].Extra == nil {
			a.Content[n-1].Text += c.Text
		} else {
			a.Content = append(a.Content, message.Text(c.Text))
		}
	}
	a.Reasoning += c.Reasoning
	if c.Part != nil {
		a.Content = append(a.Content, *c.Part)
	}
	if d := c.Call; d != nil {
		at := -1
		for i := range a.Calls {
			if a.Calls[i].index == d.Index {
				at = i
			}
		}
		if at < 0 || d.ID != "" && a.Calls[at].id != "" && d.ID != a.Calls[at].id {
			at = len(a.Calls)
			a.Calls = append(a.Calls, answerCall{index: d.Index})
		}
		own := &a.Calls[at]
		if d.ID != "" {
			own.id = d.ID
		}
		if own.name == "" {
			own.name = d.Name
		}
		own.args += d.Arguments
		if d.Extra != nil {
			own.extra = d.Extra
		}
	}
	if c.Usage != nil {
		a.Usage = c.Usage
	}
	if c.Model != "" {
		a.Model = c.Model
	}
	if c.Stop != "" {
		a.Stop = c.Stop
	}
}

// value returns the answer; it has no members if there is none.
func (a *answer) value() *value {
	v := &value{kind: object}
	switch {
	case len(a.Content) == 1 && a.Content[0].Type == message.TypeText && a.Content[0].Extra == nil:
		v.setText("text", a.Content[0].Text)
	case len(a.Content) > 0:
		parts := &value{kind: list}
		for _, p := range a.Content {
			p.Text = strings.ToValidUTF8(p.Text, "\uFFFD")
			one, err := valueOf(p)
			if err != nil {
				one = &value{kind: object} // check refuses it
			}
			parts.items = append(parts.items, one)
		}
		v.set("content", parts)
	}
	v.setText("reasoning", a.Reasoning)
	if len(a.Calls) > 0 {
		calls := &value{kind: list}
		for _, c := range a.Calls {
			calls.items = append(calls.items, c.value())
		}
		v.set("calls", calls)
	}
	if a.Usage != nil {
		if usage, err := valueOf(*a.Usage); err == nil {
			v.set("usage", usage)
		}
	}
	v.setText("model", a.Model)
	v.setText("stop", string(a.Stop))
	return v
}

func (c answerCall) value() *value {
	v := &value{kind: object}
	v.setText("id", c.id)
	v.set("name", textOf(c.name))
	args, err := parseJSON([]byte(c.args))
	if err == nil && args.kind == object {
		v.set("arguments", args)
	} else {
		v.set("arguments_text", textOf(c.args))
	}
	if len(c.extra) > 0 {
		if extra, err := valueOf(c.extra); err == nil {
			v.set("extra", extra)
		}
	}
	return v
}

// answer returns the recorded answer; the zero answer if there is none.
func (c *call) answer() (a answer, err error) {
	v := c.result
	if v == nil {
		return a, nil
	}
	if v.kind != object {
		return a, &FileError{Line: v.line, Reason: "answer must be a mapping"}
	}
	for i, key := range v.keys {
		item := v.items[i]
		switch key {
		case "text":
			var s string
			err = into(item, &s)
			a.Content = []message.Part{message.Text(s)}
		case "content":
			err = into(item, &a.Content)
		case "reasoning":
			err = into(item, &a.Reasoning)
		case "usage":
			err = into(item, &a.Usage)
		case "model":
			err = into(item, &a.Model)
		case "stop":
			err = into(item, &a.Stop)
		case "calls":
			a.Calls, err = callsOf(item)
		default:
			err = &FileError{Line: item.line, Reason: fmt.Sprintf("%q is not known in an answer", key)}
		}
		if err != nil {
			return a, err
		}
	}
	return a, nil
}

func callsOf(v *value) (all []answerCall, err error) {
	if v.kind != list {
		return nil, &FileError{Line: v.line, Reason: "calls must be a list"}
	}
	for i, item := range v.items {
		c := answerCall{index: i}
		for _, key := range item.keys {
			of := item.get(key)
			switch key {
			case "id":
				err = into(of, &c.id)
			case "name":
				err = into(of, &c.name)
			case "arguments":
				c.args = string(of.json(nil))
			case "arguments_text":
				err = into(of, &c.args)
			case "extra":
				err = into(of, &c.extra)
			default:
				err = &FileError{Line: of.line, Reason: fmt.Sprintf("%q is not known in a call", key)}
			}
			if err != nil {
				return nil, err
			}
		}
		if item.kind != object {
			return nil, &FileError{Line: item.line, Reason: "a call must be a mapping"}
		}
		all = append(all, c)
	}
	return all, nil
}

// into decodes a value.
func into(v *value, to any) error {
	if err := json.Unmarshal(v.json(nil), to); err != nil {
		return &FileError{Line: v.line, Reason: err.Error()}
	}
	return nil
}

// replay yields the recorded answer word by word.
func (c *call) replay(ctx context.Context, yield func(model.Chunk, error) bool) {
	a, err := c.answer()
	if err != nil {
		yield(model.Chunk{}, err)
		return
	}
	for piece := range a.pieces() {
		if ctx.Err() != nil {
			yield(model.Chunk{}, context.Cause(ctx))
			return
		}
		if !yield(piece, nil) {
			return
		}
	}
	if c.err != nil {
		yield(model.Chunk{}, c.fails(ctx))
	}
}

// pieces returns the answer in pieces, the end last.
func (a *answer) pieces() iter.Seq[model.Chunk] {
	return func(yield func(model.Chunk) bool) {
		words := func(s string, piece func(string) model.Chunk) bool {
			for word := range strings.SplitAfterSeq(s, " ") {
				if word != "" && !yield(piece(word)) {
					return false
				}
			}
			return true
		}
		if !words(a.Reasoning, func(s string) model.Chunk { return model.Chunk{Reasoning: s} }) {
			return
		}
		for _, p := range a.Content {
			if p.Type == message.TypeText && p.Extra == nil {
				if !words(p.Text, func(s string) model.Chunk { return model.Chunk{Text: s} }) {
					return
				}
			} else if !yield(model.Chunk{Part: &p}) {
				return
			}
		}
		for i, c := range a.Calls {
			if !yield(model.Chunk{Call: &model.CallDelta{Index: i, ID: c.id, Name: c.name, Arguments: c.args, Extra: maps.Clone(c.extra)}}) {
				return
			}
		}
		if a.Usage != nil || a.Model != "" || a.Stop != "" {
			yield(model.Chunk{Usage: a.Usage, Model: a.Model, Stop: a.Stop})
		}
	}
}
